//! What was typed before a listing, as a session shows it: how a function was defined, and which one's code was asked
//! for. It says in which order the arguments of a listing come.

use super::balanced::{find_depth_0, split_depth_0};
use super::decoration::plain_names;
use crate::name::Name;

/// The definitions of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    defined: Vec<Definition>,
}

/// A method that was defined: of this function, with arguments of these names. `None` if not all have plain names.
#[derive(Debug)]
struct Definition {
    function: String,
    arguments: Option<Vec<Name>>,
}

impl Session {
    /// Takes a line, which may be a comment; the names of the arguments of the listing that follows, if it says how they
    /// are called.
    pub(super) fn line(&mut self, line: &str) -> Option<Vec<Name>> {
        let line = line.trim_start_matches(['#', ' ']);
        let typed = line.strip_prefix("julia>").unwrap_or(line).trim();
        if let Some(names) = arguments_of_block(typed) {
            return Some(names);
        }
        if let Some((function, count)) = asked(typed) {
            return self.arguments(function, count);
        }
        self.defined.extend(definition(typed));
        None
    }

    /// The names of the arguments of the only method of a function that takes so many.
    fn arguments(&self, function: &str, count: usize) -> Option<Vec<Name>> {
        let mut methods = self.defined.iter().filter(|method| method.function == function);
        let names = methods.next()?.arguments.as_ref().filter(|names| names.len() == count)?;
        // Of several, types say which one is meant.
        methods.all(|other| other.arguments.as_ref() == Some(names)).then(|| names.clone())
    }
}

/// How the arguments are called of the function that stands behind the call that prints its code,
/// `code_typed((Bool, Any)) do c, x`. `None` if not all have plain names.
fn arguments_of_block(typed: &str) -> Option<Vec<Name>> {
    let (call, names) = typed.strip_prefix("Base.").unwrap_or(typed).split_once(" do ")?;
    (call.starts_with("code_") && call.contains('(')).then_some(())?;
    plain_names(names)
}

/// The function whose code was asked for, and with how many arguments: `@code_typed f(1, 2.0)`, `code_typed(f, (Int,))`.
fn asked(typed: &str) -> Option<(&str, usize)> {
    let typed = typed.strip_prefix("Base.").unwrap_or(typed);
    if let Some(rest) = typed.strip_prefix("@code_").or_else(|| typed.strip_prefix("@descend")) {
        // Between macro and call there may be options, `optimize=false`.
        let call = rest.split_whitespace().skip(1).find(|word| !word.contains('=') || word.contains('('))?;
        let call = typed.get(typed.find(call)?..)?;
        let (function, arguments) = called(call)?;
        return Some((function, split_depth_0(arguments, ',')?.len()));
    }
    let (printer, arguments) = called(typed)?;
    (printer.starts_with("code_") || printer == "descend").then_some(())?;
    let arguments = split_depth_0(positional(arguments), ',')?;
    let [function, types, ..] = arguments.as_slice() else { return None };
    let types = types.trim();
    let list = |open: &str, close: char| types.strip_prefix(open)?.strip_suffix(close);
    let types = list("(", ')').or_else(|| list("Tuple{", '}')).or_else(|| list("[", ']'))?;
    let types = split_depth_0(types, ',')?;
    Some((function.trim(), types.iter().filter(|ty| !ty.trim().is_empty()).count()))
}

/// A method that a line defines: `f(a, x) = a * x`, `function f(a, x)`.
fn definition(typed: &str) -> Option<Definition> {
    let head = typed.strip_prefix("function ");
    let (function, arguments) = called(head.unwrap_or(typed).trim_start_matches("@noinline ").trim_start())?;
    if head.is_none() {
        let behind = typed.get(typed.find(arguments)? + arguments.len()..)?.strip_prefix(')')?;
        // What is a condition or a comparison is no definition.
        let (_, body) = behind.split_once('=')?;
        let plain = behind.trim_start().starts_with(['=', ':']) || behind.trim_start().starts_with("where ");
        (plain && !body.starts_with('=')).then_some(())?;
    }
    Some(Definition { function: function.to_string(), arguments: plain_names(positional(arguments)) })
}

/// The arguments before those that are given by keyword.
pub(super) fn positional(arguments: &str) -> &str {
    find_depth_0(arguments, ";").and_then(|end| arguments.get(..end)).unwrap_or(arguments)
}

/// The name that is called at the start of a text, and what stands between the parentheses.
fn called(text: &str) -> Option<(&str, &str)> {
    let open = text.find('(').filter(|&open| open > 0)?;
    let name = text.get(..open)?;
    let plain = !name.contains(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | '"' | '[' | '{' | ':'));
    let inside = text.get(open + 1..)?;
    let end = super::balanced::balanced_length(inside, |_| false);
    (plain && inside.get(end..)?.starts_with(')')).then_some((name, inside.get(..end)?))
}

#[cfg(test)]
mod tests {
    use super::Session;
    use crate::parse_function;

    /// The names that the last of these lines gives the arguments of the listing below.
    fn names(lines: &[&str]) -> String {
        let mut session = Session::default();
        let found = lines.iter().map(|line| session.line(line)).last().flatten();
        found.map_or("none".into(), |names| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_definition_says_how_arguments_are_called() {
        for definition in [
            "julia> f(a, x) = a - x",
            "# julia> function f(a::T, x) where T",
            "f(a, x::Float64)::Float64 = a - x",
            "julia> f(a, x; by = 1) = a - x",
            "function f(a, x)",
        ] {
            for asked in [
                "julia> @code_typed f(1.0, 2.0)",
                "julia> @code_typed optimize=false f(1.0, g(2.0, 3.0))",
                "# julia> code_typed(f, (Float64, Float64))",
                "Base.code_ircode(f, Tuple{Float64, Float64})",
                "julia> code_typed(f, (Float64, Float64); optimize=false)[1]",
            ] {
                assert_eq!(names(&[definition, asked]), "a x", "{definition} {asked}");
            }
            for asked in ["julia> @code_typed g(1.0, 2.0)", "julia> @code_typed f(1.0)", "julia> f(1.0, 2.0)"] {
                assert_eq!(names(&[definition, asked]), "none", "{definition} {asked}");
            }
        }
    }

    #[test]
    fn what_does_not_say_it_for_sure_says_nothing() {
        let asked = "julia> @code_typed f(1, 2)";
        for lines in [
            ["julia> f(a::Int, x) = 1", "julia> f(b, y) = 2"].as_slice(),
            &["julia> f(a, x) == 1"],
            &["julia> f((a, b), x) = 1"],
            &["julia> f(a, x=2) = 1"],
            &["julia> g = f(a, x)"],
            &["f(a, x) if x = 1"],
        ] {
            let lines: Vec<&str> = lines.iter().copied().chain([asked]).collect();
            assert_eq!(names(&lines), "none", "{lines:?}");
        }
    }

    #[test]
    fn what_was_typed_says_in_which_order_arguments_are() {
        let code = "CodeInfo(\n1 ─ %1 = Base.sub_int(b, x)::Int64\n└──      return %1\n) => Int64\n";
        let of = |typed: &str| parse_function(&format!("{typed}\n{code}")).unwrap().body.to_string();
        assert!(of("# What code_typed shows when we do this").contains("(_3, _2)"));
        let comment = code.replace("└──", "# code_typed(f) shows more if we do that\n└──");
        assert!(parse_function(&comment).is_ok(), "{comment}");
        for prompt in ["", "julia> "] {
            let typed = format!("{prompt}code_typed((Int,Int,Int)) do c, b::Int, x\n           b - x\n       end");
            assert!(of(&typed).contains("(_3, _4)"), "{}", of(&typed));
            assert!(of(&format!("{prompt}map(a) do c, b, x\n           b - x\n       end")).contains("(_3, _2)"));
            assert!(of(&format!("{prompt}@code_typed map(a) do c\n           c\n       end")).contains("(_3, _2)"));
            let defined = "f(b, x) = b - x\nf (generic function with 1 method)\n\n";
            let typed = format!("{prompt}{defined}{prompt}@code_typed f(1, 2)");
            assert!(of(&typed).contains("(_2, _3)"), "{}", of(&typed));
        }
    }
}
