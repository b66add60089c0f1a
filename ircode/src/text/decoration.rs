//! Lines that Julia prints around a listing: headings, tables of variables, places in the source.

use super::balanced::{find_depth_0, is_balanced, split_depth_0};
use super::capitals::parse_type_in_capitals;
use super::cthulhu;
use crate::constant::is_identifier;
use crate::name::Name;
use crate::types::Type;

/// A line that is no statement.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Decoration {
    /// Nothing that says anything about the code.
    Nothing,
    /// `1-element Vector{Any}:`, above the elements of a vector.
    Vector,
    /// `Body::T`: the type of the result, above the statements.
    Body(Type),
    /// `MethodInstance for f(::Int64)`: how many arguments there are.
    MethodInstance(usize),
    /// `f(x::T) in Main at a.jl:1`: how the arguments are called, where all have names.
    Method(Vec<Name>),
    /// `Variables`, `Arguments`: lines `name::T` follow.
    Variables,
    /// `Locals`, `Static Parameters`: lines `name::T` follow that are no arguments.
    Others,
}

/// What the line is, if it is no statement. `line` has no white space around it.
pub(super) fn decoration(line: &str) -> Option<Decoration> {
    if let Some(header) = vector_header(line) {
        return Some(header);
    }
    if let Some(ty) = line.strip_prefix("Body::") {
        return Some(Decoration::Body(parse_type_in_capitals(ty)));
    }
    if let Some(call) = line.strip_prefix("MethodInstance for ") {
        let inside = find_depth_0(call, "(").and_then(|open| call.get(open + 1..)?.strip_suffix(')'));
        let count = inside.and_then(|inside| split_depth_0(inside, ',')).map_or(0, |arguments| arguments.len());
        return Some(Decoration::MethodInstance(count));
    }
    match line {
        "Variables" | "Variables:" | "Arguments" | "Arguments:" => return Some(Decoration::Variables),
        "Locals" | "Locals:" | "Static Parameters" => return Some(Decoration::Others),
        "Code" | "Body" | "Body:" | "```" | "```julia" | "```julia-repl" | "```jldoctest" => {
            return Some(Decoration::Nothing);
        }
        _ => {}
    }
    if let Some(names) = cthulhu::arguments(line) {
        return Some(Decoration::Method(names));
    }
    // What was typed, and where it is told from.
    let heading = [
        "julia>",
        "from ",
        "In [",
        "Out[",
        "@code_",
        "> code_",
        "> @code_",
        "code_typed(",
        "code_warntype(",
        "Base.code_",
    ];
    let heading = heading.iter().any(|start| line.starts_with(start));
    let heading = heading
        || cthulhu::is_around(line)
        || is_definition(line)
        || line.contains(") @ ")
        || is_of_the_verifier(line)
        || is_of_an_error(line)
        || line == "~~~";
    (heading || is_place(line)).then_some(Decoration::Nothing)
}

/// The names in a list of arguments, `c, x::Int64`. `None` if not all have plain names.
pub(super) fn plain_names(arguments: &str) -> Option<Vec<Name>> {
    let name = |argument: &str| {
        let name = argument.split("::").next().unwrap_or_default().trim();
        (is_identifier(name) && name != "_").then(|| Name::from(name))
    };
    split_depth_0(arguments, ',')?.into_iter().map(name).collect()
}

/// What defining a function prints: `f (generic function with 1 method)`. In a table of variables functions are shown
/// so, too.
fn is_definition(line: &str) -> bool {
    let shown = line.find("(generic function with ").and_then(|at| line.get(..at));
    shown.is_some_and(|name| find_depth_0(name, "::").is_none())
}

/// What Julia's verifier says of the listing that follows: `Block 18 successors (…), does not match …`.
fn is_of_the_verifier(line: &str) -> bool {
    let Some(block) = line.strip_prefix("Block ") else { return false };
    let rest = block.trim_start_matches(|c: char| c.is_ascii_digit());
    [" successors ", " predecessors "].iter().any(|what| rest.starts_with(what))
}

/// An error that a listing is part of, and the calls that led to it.
fn is_of_an_error(line: &str) -> bool {
    let frame = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map(|(number, _)| number);
    let is_frame = frame.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()));
    line.starts_with("ERROR: ") || line == "Stacktrace:" || is_frame
}

/// A place in the source, behind the bars of the places it is inlined in: `││┌ @ boot.jl:425 within `Array'`. Nothing
/// but bars ends such places.
pub(super) fn is_place(line: &str) -> bool {
    let bars = line.trim_start_matches(['│', '┌', '└', '┘', '╎', ' ']);
    bars.starts_with("@ ") || bars.is_empty() && !line.is_empty()
}

/// `1-element Vector{Any}:`, above the elements of a vector.
pub(super) fn vector_header(line: &str) -> Option<Decoration> {
    let count = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let header = count.len() < line.len() && count.starts_with("-element ") && count.ends_with(':');
    header.then_some(Decoration::Vector)
}

/// `name::T` in a table of variables; the type may be missing.
pub(super) fn variable(line: &str) -> Option<(Name, Type)> {
    let (name, ty) = match find_depth_0(line, "::") {
        Some(colon) => {
            let ty = line.get(colon + 2..)?;
            let comment =
                find_depth_0(ty, " #").filter(|&at| ty.get(at + 2..).is_some_and(|rest| rest.starts_with(' ')));
            let ty = ty.get(..comment.unwrap_or(ty.len()))?.trim_end();
            (line.get(..colon)?, is_balanced(ty).then(|| parse_type_in_capitals(ty))?)
        }
        None => (line, Type::Untyped),
    };
    let plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || matches!(c, '│' | '─' | '└' | '┄'));
    plain.then(|| (name.trim_matches('"').into(), ty))
}

/// Whether a line of a table of variables, which starts as a comment would, is of one that the compiler has named:
/// `#self#::T`, `#branch!#94::T`.
pub(super) fn is_hidden_variable(line: &str) -> bool {
    let goes_on = line.strip_prefix('#').is_some_and(|name| !name.starts_with([' ', '#']));
    goes_on && (line == "#self#" || line.contains("::")) && variable(line).is_some()
}

#[cfg(test)]
mod tests {
    use crate::parse_function;

    #[test]
    fn a_function_that_is_an_argument_is_one() {
        let table = "Variables\n  #self#::Core.Compiler.Const(foo (generic function with 1 method), false)\n  f::Core.Const(sin (generic function with 10 methods))\n  x::Float64\n\nBody::Float64\n";
        let code = "1 ─ %1 = (f)(x)::Float64\n└──      return %1\n";
        let body = parse_function(&format!("foo (generic function with 1 method)\n{table}{code}")).unwrap().body;
        assert_eq!(body.argtypes.len(), 3);
        assert!(body.to_string().contains("(_2)(_3)"), "{body}");
    }

    #[test]
    fn tables_may_have_comments_and_empty_lines() {
        let code = "1 ─ %1 = Base.getindex(data, n)::Float64\n└──      return %1\n";
        let listing = |table: &str| parse_function(&format!("{table}\nBody::Float64\n\n{code}")).unwrap();
        let plain = listing("Variables\n  #self#::Core.Const(f)\n  n::Int64\n  data::Vector{Float64}\n");
        assert!(plain.body.to_string().contains("(_3, _2)"));
        for table in [
            "Variables\n  #self#::Core.Const(f)\n  n::Int64  # so many\n  data::Vector{Float64} # numbers\n",
            "Variables\n\n  #self#::Core.Const(f)\n\n  n::Int64\n\n  data::Vector{Float64}\n\n",
        ] {
            assert_eq!(listing(table), plain, "{table}");
        }
    }

    #[test]
    fn arguments_without_a_name_of_their_own_are_counted() {
        let table =
            "Arguments\n  #self#::Core.Const(foo)\n  a::Int64\n  #unused#::Type{Int64}\n  b::Int64\nBody::Int64\n";
        let code = "1 ─ %1 = Base.sub_int(a, b)::Int64\n└──      return %1\n";
        let body = parse_function(&format!("{table}{code}")).unwrap().body.to_string();
        assert!(body.contains("Base.sub_int(_2, _4)"), "{body}");
        let own = "Variables\n  #branch!#94::Core.Const(f)\n  track::Int64\n  repo::Int64\nBody::Any\n";
        let code = "1 ─ %1 = Main.f(track, repo)::Any\n└──      return %1\n";
        let body = parse_function(&format!("{own}{code}")).unwrap().body.to_string();
        assert!(body.contains("Main.f(_2, _3)"), "{body}");
    }
}
