//! What was typed before a listing, as a session shows it: how a function was defined, and which one's code was asked
//! for. It says in which order the arguments of a listing come.

use super::balanced::{balanced_length, find_depth_0, split_depth_0};
use super::decoration::plain_names;
use crate::name::Name;

/// The definitions of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    defined: Vec<Definition>,
}

/// A method that was defined: of this function, with arguments of these names. `None` if that is not known.
#[derive(Debug)]
struct Definition {
    function: String,
    arguments: Option<Vec<Name>>,
}

impl Session {
    /// Takes a line, which may be a comment. If it asks for code, the names of the arguments of the listing that
    /// follows: none, if they are not known.
    pub(super) fn line(&mut self, line: &str) -> Option<Vec<Name>> {
        let line = line.trim_start_matches(['#', ' ']);
        let typed = line.strip_prefix("julia>").unwrap_or(line).trim();
        if let Some(names) = arguments_of_block(typed) {
            return Some(names);
        }
        if ["@code_", "code_", "Base.code_"].iter().any(|start| typed.starts_with(start)) {
            return Some(
                asked(typed).and_then(|(function, count)| self.arguments(function, count)).unwrap_or_default(),
            );
        }
        self.defined.extend(definition(typed));
        None
    }

    /// The names of the arguments of a function that has but one method, if that takes so many.
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
    if let Some(rest) = typed.strip_prefix("@code_") {
        // Between macro and call there may be options, `optimize=false`.
        let call = rest.split_whitespace().skip(1).find(|word| !word.contains('=') || word.contains('('))?;
        let (function, arguments, behind) = called(typed.get(typed.find(call)?..)?)?;
        // The code of a call with keywords is another method's, and what goes on is another call.
        let arguments = split_depth_0(arguments, ',')?;
        let is_plain = |argument: &&str| !argument.contains(';') && !argument.ends_with("...") && !is_named(argument);
        let alone = behind.trim_start().is_empty() || behind.trim_start().starts_with('#');
        return (alone && arguments.iter().all(is_plain)).then_some((function, arguments.len()));
    }
    let (_, arguments, _) = called(typed.strip_prefix("Base.").unwrap_or(typed))?;
    let arguments = split_depth_0(positional(arguments), ',')?;
    let [function, types, ..] = arguments.as_slice() else { return None };
    let types = types.trim();
    let list = |open: &str, close: char| types.strip_prefix(open)?.strip_suffix(close);
    let types = list("(", ')').or_else(|| list("Tuple{", '}')).or_else(|| list("[", ']'))?;
    let types = split_depth_0(types, ',')?;
    Some((function.trim(), types.iter().filter(|ty| !ty.trim().is_empty()).count()))
}

/// Whether an argument is given by keyword: `x=2`.
fn is_named(argument: &str) -> bool {
    find_depth_0(argument, "=").is_some_and(|at| {
        let compares = |c: char| matches!(c, '=' | '<' | '>' | '!');
        !argument.get(..at).unwrap_or_default().ends_with(compares)
            && !argument.get(at + 1..).unwrap_or_default().starts_with(compares)
    })
}

/// What a line defines: `f(a, x) = a * x`, `function f(a, x)`. What is known to have several methods, or is assigned, has
/// no names that are known.
fn definition(typed: &str) -> Option<Definition> {
    let unknown = |function: &str| Definition { function: function.trim().to_string(), arguments: None };
    if let Some((function, methods)) = typed.split_once("(generic function with ") {
        return (!methods.starts_with("1 method")).then(|| unknown(function));
    }
    let mut typed = typed;
    while let Some((_, rest)) = typed.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        typed = rest.trim_start();
    }
    let head = typed.strip_prefix("function ");
    let Some((function, arguments, behind)) = called(head.unwrap_or(typed)) else {
        let ends = if head.is_some() { "(" } else { " = " };
        return head.unwrap_or(typed).split_once(ends).map(|(function, _)| unknown(function));
    };
    if head.is_none() {
        // `f(a, x)::Int = …`, `f(a::T, x) where T = …`; what is a condition or a comparison is no definition.
        let (declared, body) = behind.split_once('=')?;
        let declared = declared.trim_end();
        let is_type = declared.starts_with("::") && !declared.starts_with(":: ") || declared.starts_with(" where ");
        ((declared.is_empty() || is_type) && !body.starts_with(['=', '>'])).then_some(())?;
    }
    Some(Definition { function: function.to_string(), arguments: plain_names(positional(arguments)) })
}

/// The arguments before those that are given by keyword.
fn positional(arguments: &str) -> &str {
    find_depth_0(arguments, ";").and_then(|end| arguments.get(..end)).unwrap_or(arguments)
}

/// The name that is called at the start of a text, what stands between the parentheses, and what behind.
fn called(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find('(').filter(|&open| open > 0)?;
    let name = text.get(..open)?;
    let plain = !name.contains(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | '"' | '[' | '{' | ':'));
    let inside = text.get(open + 1..)?;
    let end = balanced_length(inside, |_| false);
    let behind = inside.get(end..)?.strip_prefix(')')?;
    plain.then_some((name, inside.get(..end)?, behind))
}

#[cfg(test)]
mod tests {
    use super::Session;
    use crate::parse_function;

    /// The names that the last of these lines gives the arguments of the listing below.
    fn names(lines: &[&str]) -> String {
        let mut session = Session::default();
        let found = lines.iter().map(|line| session.line(line)).last().flatten();
        match found.unwrap_or_default().as_slice() {
            [] => "none".into(),
            names => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" "),
        }
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
            for asked in [
                "julia> @code_typed g(1.0, 2.0)",
                "julia> @code_typed f(1.0)",
                "julia> f(1.0, 2.0)",
                "julia> @code_typed f(1.0, 2.0; by = 3)",
                "julia> @code_typed f(1.0, x=2.0)",
                "julia> @code_typed f(1.0, t...)",
                "julia> @code_typed f(1.0, 2.0) + 1",
                "julia> @code_typed f(1.0, 2.0)[1]",
            ] {
                assert_eq!(names(&[definition, asked]), "none", "{definition} {asked}");
            }
        }
    }

    #[test]
    fn what_does_not_say_it_for_sure_says_nothing() {
        let asked = "julia> @code_typed f(1, 2)";
        for lines in [
            ["julia> f(a::Int, x) = 1", "julia> f(b, y) = 2"].as_slice(),
            &["julia> f(a, x) = 1", "f (generic function with 2 methods)"],
            &["julia> f(a, x) = 1", "julia> @inline f(b::Int, y) = 2"],
            &["julia> f(a, x) = 1", "julia> function f(b::Int,"],
            &["julia> f(a, x) = 1", "julia> f = (b, y) -> 2"],
            &["julia> f(a, x) => 1"],
            &["# f(a, x) :: then some = text"],
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
    fn what_was_asked_for_before_says_nothing_of_what_follows() {
        let code = "CodeInfo(\n1 ─ %1 = Base.sub_float(x, b)::Float64\n└──      return %1\n) => Float64\n";
        let session = "julia> f(b, x) = x - b\n\njulia> @code_typed f(1, 2)\nERROR: no\n\njulia> @code_typed g(1, 2)\n";
        let body = parse_function(&format!("{session}{code}")).unwrap().body.to_string();
        assert!(body.contains("(_2, _3)"), "{body}");
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
