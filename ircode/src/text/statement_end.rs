//! Where a statement and its type end, and what stands behind them.

use super::balanced::{balanced_length, find_depth_0};
use super::clean::BARS;
use super::object::operator_alone;
use crate::constant::is_identifier_part;
use crate::scalar::ScalarType;

/// Where what stands at the end of a statement ends: at a comment, at attributes, or where more than one space follows.
pub(super) fn ends_statement(rest: &str) -> bool {
    let (spaces, behind) = spaces(rest);
    let is_gap = spaces > 1 && !behind.is_empty() && !behind.starts_with("where");
    is_annotation(rest) || spaces > 0 && (behind.starts_with('#') || rest.starts_with(" ; ") || is_gap)
}

/// How much of a text is the type at the end of a statement. It ends at a space that is none around a `where`: behind
/// that there may be a variable of Julia's own, `Vector{T} where #s1<:Real`.
pub(super) fn type_length(text: &str) -> usize {
    let before = |rest: &str| text.get(..text.len() - rest.len()).unwrap_or_default();
    let is_around_where = |rest: &str| {
        let (ahead, behind) = (before(rest).rsplit(' ').next(), rest.trim_start().split(' ').next());
        let goes_on = |word: &str| is_where(word) || matches!(word, "<:" | ">:");
        ahead.is_some_and(goes_on) || behind.is_some_and(goes_on)
    };
    balanced_length(text, |rest| {
        let ends = match rest.starts_with(' ') {
            true => !is_around_where(rest),
            false => is_overwritten(before(rest), rest),
        };
        ends || is_annotation(rest)
    })
}

/// The word before the variables of a type, which `code_warntype` may print in capitals.
fn is_where(word: &str) -> bool {
    word.eq_ignore_ascii_case("where")
}

/// Whether what follows is what is left of a name that Julia prints at the right of a listing, where a longer statement
/// stands over it: `::Tuple{Int64}pansion`.
pub(super) fn is_overwritten(before: &str, rest: &str) -> bool {
    // Only the name is left, far behind the statement, or close behind one that was cut there.
    let (spaces, name) = spaces(rest.trim_end());
    if spaces > 0 && !name.is_empty() && !name.contains(' ') {
        let is_name = name.chars().all(is_identifier_part);
        let is_close = spaces > 1 || !before.contains(" where ") && may_be_close(name);
        return is_close && (is_name || operator_alone(name).is_some());
    }
    let is_left = |c: char| is_identifier_part(c) || c == ' ' || BARS.contains(&c);
    let is_operator = |word: &str| is_where(word) || matches!(word, "in" | "isa");
    // A number type, and what follows it begins as no type does; packages have types such as `Float64x2`.
    let goes_on = || {
        let known = ScalarType::from_name(before.rsplit("::").next().unwrap_or(before)).is_some();
        let is_of_several = rest.strip_prefix('x').is_some_and(|count| count.starts_with(|c: char| c.is_ascii_digit()));
        known && before.ends_with(|c: char| c.is_ascii_digit()) && !is_of_several
    };
    (before.ends_with(['}', ')']) || rest.starts_with(char::is_lowercase) && goes_on())
        && !rest.trim_end().is_empty()
        && !rest.split(' ').any(is_operator)
        && rest.trim_end().chars().all(is_left)
}

/// Whether this may be the rest of a name at the right of a listing, though it stands where a statement goes on: it is
/// long enough, and no word of listings.
fn may_be_close(name: &str) -> bool {
    let is_word = matches!(name, "goto" | "invoke" | "return" | "isa" | "not" | "else") || "where".starts_with(name);
    let is_part = matches!(name, "=>" | "<:" | ">:" | "..") || name.starts_with(['.', '…', '⋯', '⋮']);
    let is_long = name.chars().nth(1).is_some() && !name.starts_with(|c: char| c.is_numeric() || c == '_');
    is_long && !is_word && !is_part && name != "if" && name != "in"
}

/// Whether one word follows far behind.
pub(super) fn is_far(rest: &str) -> bool {
    let (spaces, word) = spaces(rest.trim_end());
    spaces > 1 && !word.contains(' ')
}

/// Whether a comment is what follows.
pub(super) fn is_comment(rest: &str) -> bool {
    let (spaces, behind) = spaces(rest);
    spaces > 0 && behind.starts_with('#')
}

/// Whether what follows is what Julia prints at the right of a coloured listing, the names of inlined functions behind
/// bars, or what people write there to point at a statement.
pub(super) fn is_annotation(rest: &str) -> bool {
    let (spaces, behind) = spaces(rest);
    behind.starts_with(BARS)
        || spaces > 0 && (["<-", "←", "// "].iter().any(|mark| behind.starts_with(mark)) || is_of_inference(behind))
}

/// What Julia's inference remarks on calls.
const REMARKS: &[&str] = &[
    "Bounded recursion detected",
    "Call inference reached maximally imprecise information",
    "Could not identify method table",
    "For one of the union split cases, too many methods matched",
    "Skipped call in throw block",
    "Too many methods matched",
];

/// What Cthulhu shows of how a call was inferred: its effects, `(+c,+e,!n,+t,+s,?m,+u)`, what it throws,
/// `(↑::DomainError)`, or a remark, `[constprop] Disabled by entry heuristic`.
fn is_of_inference(text: &str) -> bool {
    let effects = text.strip_prefix('(').is_some_and(|effects| {
        let mut chars = effects.chars();
        let is_known = chars.next().is_some_and(|sign| matches!(sign, '+' | '-' | '!' | '?'));
        is_known && chars.next().is_some_and(char::is_alphabetic) && matches!(chars.next(), Some(',' | '′'))
    });
    let remark = text.strip_prefix('[').and_then(|remark| remark.split_once("] "));
    let throws = text.starts_with("(↑::");
    effects
        || throws
        || REMARKS.iter().any(|remark| text.starts_with(remark))
        || remark.is_some_and(|(of, _)| !of.is_empty() && of.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// The type of a statement: of a variable that is one Julia 1.2 to 1.4 print its own before it, `x::Int64::Int64`.
pub(super) fn type_shown(text: &str) -> &str {
    let behind = find_depth_0(text, "::").and_then(|at| text.get(at + 2..));
    behind.filter(|ty| !ty.is_empty()).unwrap_or(text)
}

/// How many spaces there are, and what is behind them.
fn spaces(rest: &str) -> (usize, &str) {
    // Wider than any terminal, and it bounds the time for text that is all spaces.
    const WIDEST: usize = 500;
    let spaces = rest.bytes().take(WIDEST).take_while(|byte| *byte == b' ').count();
    (spaces, rest.get(spaces..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::parse_function;

    #[test]
    fn a_name_behind_is_no_part_of_a_statement() {
        let text = |behind: &str| format!("1 ─ %1 = Base.slt_int(_2, 1)::Bool{behind}\n└──      return %1\n");
        let plain = parse_function(&text("")).unwrap();
        for behind in ["     <", "  length", "      !=", " setproperty!", " =="] {
            assert_eq!(parse_function(&text(behind)).unwrap(), plain, "{behind}");
        }
        for behind in ["  a b", "  1.0", " in", " <", " wher", " goto", " 12", " =>", " …"] {
            assert!(parse_function(&text(behind)).is_err(), "{behind}");
        }
        // Over the rest of a longer name, at once behind a number type, or behind what has no type.
        for line in ["%1 = Base.slt_int(_2, 1)::UInt64hash", "%1 = $(Expr(:boundscheck))      write"] {
            let read = parse_function(&format!("1 ─ {line}\n└──      return %1\n")).unwrap();
            let plain = line.replace("hash", "").replace("      write", "");
            assert_eq!(read, parse_function(&format!("1 ─ {plain}\n└──      return %1\n")).unwrap());
        }
        // Types that go on as such.
        for ty in ["Integer", "Float64x2", "Int32x4", "Interval", "Charset", "UInteger", "Vector{T} where T"] {
            let read = parse_function(&format!("1 ─ %1 = Main.g(_2)::{ty}\n└──      return %1\n")).unwrap();
            assert_eq!(read.body.stmts.types()[0].to_string(), ty);
        }
        assert!(parse_function("1 ─ %1 = Main.g(_2)::Vector{T} where T <\n└──      return %1\n").is_err());
        for behind in ["foo", " foo bar", " +"] {
            let text = format!("1 ─ %1 = $(Expr(:boundscheck)){behind}\n└──      return %1\n");
            assert!(parse_function(&text).is_err(), "{behind}");
        }
        // What was broken off, and signs that are misspelt, are no statements.
        for line in ["│╻ +", "│││┃   macro expansion", "│   %2 = φ #1 => %1::Int64", "#UNDEF"] {
            let text = text("").replace("└──", &format!("{line}\n└──"));
            assert!(parse_function(&text).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_known_of_how_a_statement_was_inferred_is_no_part_of_it() {
        let plain = parse_function("1 ─ %1 = Main.g(_2)::Int64\n└──      return %1\n").unwrap();
        for behind in [
            "::Int64",
            " (+c,+e,!n,+t,+s,?m,+u)",
            " (+c,?e′)",
            " [constprop] Disabled by entry heuristic",
            " (↑::DomainError)",
            " Too many methods matched",
        ] {
            let text = format!("1 ─ %1 = Main.g(_2)::Int64{behind}\n└──      return %1\n");
            assert_eq!(parse_function(&text).unwrap(), plain, "{text}");
        }
        for behind in [" (x)", " [1]", " (+c)"] {
            let text = format!("1 ─ %1 = Main.g(_2)::Int64{behind}\n└──      return %1\n");
            assert!(parse_function(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn comments_stand_behind_statements() {
        let listing = |stmt: &str, ret: &str| {
            parse_function(&format!("1 ─ %1 = Main.f(_2){stmt}\n│   %2 = Main.a{stmt}\n└──      return %1{ret}\n"))
        };
        let plain = listing("::Vector{#s1} where #s1<:Real", "").unwrap();
        for comment in [" # one", "  # two", " #three", "     #= four =#"] {
            let ty = format!("::Vector{{#s1}} where #s1<:Real{comment}");
            assert_eq!(listing(&ty, comment).unwrap(), plain, "{comment}");
            assert_eq!(listing(comment, comment), listing("", ""), "{comment}");
        }
    }

    #[test]
    fn of_two_types_the_last_is_that_of_the_statement() {
        let plain = parse_function("1 ─ %1 = _2::Int64\n└──      return %1\n").unwrap();
        assert_eq!(parse_function("1 ─ %1 = _2::Int64::Int64\n└──      return %1\n").unwrap(), plain);
    }
}
