//! Julia's operators, as far as printed code needs them.

use std::ops::RangeInclusive;

/// Operators of ASCII characters and words that Julia prints between their operands. `isa` and `in` are words.
const BINARY: &[&str] = &[
    "+", "-", "*", "/", "%", "^", "//", "\\", "<<", ">>", ">>>", "&", "|", "==", "!=", "===", "!==", "<", "<=", ">",
    ">=", "<:", ">:", "=>", ":", "++", "|>", "<|", "..", "isa", "in",
];

/// The characters that are binary operators, each by itself: those for which `Base.isbinaryoperator` of Julia 1.5 is
/// true.
const BINARY_CHARACTERS: &[RangeInclusive<char>] = &[
    '\u{b1}'..='\u{b1}',
    '\u{d7}'..='\u{d7}',
    '\u{f7}'..='\u{f7}',
    '\u{2026}'..='\u{2026}',
    '\u{205d}'..='\u{205d}',
    '\u{214b}'..='\u{214b}',
    '\u{2190}'..='\u{2194}',
    '\u{219a}'..='\u{219e}',
    '\u{21a0}'..='\u{21a0}',
    '\u{21a2}'..='\u{21a4}',
    '\u{21a6}'..='\u{21a6}',
    '\u{21a9}'..='\u{21ac}',
    '\u{21ae}'..='\u{21ae}',
    '\u{21b6}'..='\u{21b7}',
    '\u{21ba}'..='\u{21bd}',
    '\u{21c0}'..='\u{21c1}',
    '\u{21c4}'..='\u{21c4}',
    '\u{21c6}'..='\u{21c7}',
    '\u{21c9}'..='\u{21c9}',
    '\u{21cb}'..='\u{21d0}',
    '\u{21d2}'..='\u{21d2}',
    '\u{21d4}'..='\u{21d4}',
    '\u{21da}'..='\u{21dd}',
    '\u{21e0}'..='\u{21e0}',
    '\u{21e2}'..='\u{21e2}',
    '\u{21f4}'..='\u{21ff}',
    '\u{2208}'..='\u{220d}',
    '\u{2213}'..='\u{2214}',
    '\u{2217}'..='\u{2219}',
    '\u{221d}'..='\u{221d}',
    '\u{2224}'..='\u{222a}',
    '\u{2237}'..='\u{2238}',
    '\u{223a}'..='\u{223b}',
    '\u{223d}'..='\u{223e}',
    '\u{2240}'..='\u{228b}',
    '\u{228d}'..='\u{229c}',
    '\u{229e}'..='\u{22a3}',
    '\u{22a9}'..='\u{22a9}',
    '\u{22ac}'..='\u{22ac}',
    '\u{22ae}'..='\u{22ae}',
    '\u{22b0}'..='\u{22b7}',
    '\u{22bb}'..='\u{22bd}',
    '\u{22c4}'..='\u{22c7}',
    '\u{22c9}'..='\u{22d3}',
    '\u{22d5}'..='\u{22ff}',
    '\u{25b7}'..='\u{25b7}',
    '\u{27c2}'..='\u{27c2}',
    '\u{27c8}'..='\u{27c9}',
    '\u{27d1}'..='\u{27d2}',
    '\u{27d5}'..='\u{27d7}',
    '\u{27f0}'..='\u{27f1}',
    '\u{27f5}'..='\u{27f7}',
    '\u{27f9}'..='\u{27ff}',
    '\u{2900}'..='\u{2918}',
    '\u{291d}'..='\u{2920}',
    '\u{2944}'..='\u{2970}',
    '\u{29b7}'..='\u{29b8}',
    '\u{29bc}'..='\u{29bc}',
    '\u{29be}'..='\u{29c1}',
    '\u{29e1}'..='\u{29e1}',
    '\u{29e3}'..='\u{29e5}',
    '\u{29f4}'..='\u{29f4}',
    '\u{29f6}'..='\u{29f7}',
    '\u{29fa}'..='\u{29fb}',
    '\u{2a07}'..='\u{2a08}',
    '\u{2a1d}'..='\u{2a1d}',
    '\u{2a1f}'..='\u{2a1f}',
    '\u{2a22}'..='\u{2a2e}',
    '\u{2a30}'..='\u{2a3d}',
    '\u{2a40}'..='\u{2a45}',
    '\u{2a4a}'..='\u{2a58}',
    '\u{2a5a}'..='\u{2a63}',
    '\u{2a66}'..='\u{2a67}',
    '\u{2a6a}'..='\u{2ad9}',
    '\u{2adb}'..='\u{2adb}',
    '\u{2af7}'..='\u{2afa}',
    '\u{2b30}'..='\u{2b44}',
    '\u{2b47}'..='\u{2b4c}',
];

/// What may follow the characters of an operator in its name, as in `⊕₁`: of Julia's list all but the marks of single
/// scripts.
const SUFFIXES: &[RangeInclusive<char>] = &[
    '\u{b2}'..='\u{b3}',
    '\u{b9}'..='\u{b9}',
    '\u{2b0}'..='\u{2b0}',
    '\u{2b2}'..='\u{2b3}',
    '\u{2b7}'..='\u{2b8}',
    '\u{2e1}'..='\u{2e3}',
    '\u{300}'..='\u{36f}',
    '\u{1d2c}'..='\u{1d2c}',
    '\u{1d2e}'..='\u{1d2e}',
    '\u{1d30}'..='\u{1d31}',
    '\u{1d33}'..='\u{1d3a}',
    '\u{1d3c}'..='\u{1d3c}',
    '\u{1d3e}'..='\u{1d43}',
    '\u{1d47}'..='\u{1d49}',
    '\u{1d4d}'..='\u{1d4d}',
    '\u{1d4f}'..='\u{1d50}',
    '\u{1d52}'..='\u{1d52}',
    '\u{1d56}'..='\u{1d58}',
    '\u{1d5b}'..='\u{1d5b}',
    '\u{1d5d}'..='\u{1d6a}',
    '\u{1d9c}'..='\u{1d9c}',
    '\u{1da0}'..='\u{1da0}',
    '\u{1da5}'..='\u{1da6}',
    '\u{1dab}'..='\u{1dab}',
    '\u{1db0}'..='\u{1db0}',
    '\u{1db8}'..='\u{1db8}',
    '\u{1dbb}'..='\u{1dbb}',
    '\u{1dbf}'..='\u{1dbf}',
    '\u{2032}'..='\u{2037}',
    '\u{2057}'..='\u{2057}',
    '\u{2070}'..='\u{2071}',
    '\u{2074}'..='\u{208e}',
    '\u{2090}'..='\u{2093}',
    '\u{2095}'..='\u{209c}',
    '\u{2c7c}'..='\u{2c7d}',
];

/// Operators that Julia prints before a single operand.
const UNARY: &[&str] = &["-", "+", "!", "~", "√", "∛", "∜", "¬", "±", "∓", "⋆"];

/// Operators whose printed form may have more than two operands: `a + b + c` is one call.
const N_ARY: &[&str] = &["+", "*"];

/// Whether the name is an operator, so that it is written `Base.:+` behind a module.
pub(crate) fn is_operator(name: &str) -> bool {
    is_binary(name) && !matches!(name, "isa" | "in") || UNARY.contains(&name)
}

pub(crate) fn is_binary(name: &str) -> bool {
    BINARY.contains(&name) || operator_of_characters(name).is_some_and(|op| op.len() == name.len())
}

/// The operator that the text starts with, if that is one by its first character, with what follows it.
fn operator_of_characters(text: &str) -> Option<&str> {
    let contains = |ranges: &[RangeInclusive<char>], c: char| ranges.iter().any(|range| range.contains(&c));
    let first = text.chars().next().filter(|c| !c.is_ascii() && contains(BINARY_CHARACTERS, *c))?;
    let rest = text.get(first.len_utf8()..)?;
    let suffix = rest.find(|c: char| c.is_ascii() || !contains(SUFFIXES, c)).unwrap_or(rest.len());
    text.get(..first.len_utf8() + suffix)
}

pub(crate) fn is_unary(name: &str) -> bool {
    UNARY.contains(&name)
}

pub(crate) fn is_n_ary(name: &str) -> bool {
    N_ARY.contains(&name)
}

/// Operators of ASCII characters that bind looser than `+`.
const LOOSE: &[&str] =
    &["==", "!=", "===", "!==", "<", "<=", ">", ">=", "<:", ">:", "=>", ":", "|>", "<|", "..", "isa", "in"];

/// Whether a sum beside the operator is put in parentheses: it binds as closely as `+` or closer. For signs that are no
/// ASCII it is taken that they do, which is right for most.
pub(crate) fn binds_as_plus(name: &str) -> bool {
    !LOOSE.contains(&name)
}

/// Whether the operator is put in parentheses behind a colon: `Base.:(==)`.
pub(crate) fn is_quoted_in_parentheses(name: &str) -> bool {
    matches!(name, ":" | "::" | ":=" | "=" | "==" | "!=" | "===" | "!==" | "=>" | ">=" | "<=")
}

/// The longest symbolic operator that the text starts with.
pub(crate) fn operator_prefix(text: &str) -> Option<&str> {
    // Most text is none, and that shows at once. `isa` and `in` are words.
    let none = match text.as_bytes() {
        [] | [b' ' | b'_' | b'$' | b'(' | b')' | b',' | b'"', ..] | [b':', b':', ..] => true,
        [first, ..] => first.is_ascii_alphanumeric() && *first != b'i',
    };
    if none {
        return None;
    }
    // In `Main.:>::T` the operator is `>`, though there is a `>:` too.
    let before_type = |op: &&str| {
        let rest = text.get(op.len()..).unwrap_or_default();
        op.ends_with(':') && rest.starts_with(':') && !rest.starts_with("::")
    };
    let known = BINARY.iter().chain(UNARY).copied().filter(|op| text.starts_with(op) && !before_type(op));
    let longest = known.max_by_key(|op| op.len()).and_then(|op| text.get(..op.len()));
    [longest, operator_of_characters(text)].into_iter().flatten().max_by_key(|op| op.len())
}

/// Operators that are syntax and call nothing. Julia prints their symbols as those of others: `:&&`.
const SYNTACTIC: &[&str] = &["&&", "||", "->", "-->", "<--", "<-->", "--", "$", "?", "'", "="];

/// The longest operator that the text starts with, of which there is a symbol: syntax and updating operators (`+=`),
/// too.
pub(crate) fn operator_symbol(text: &str) -> Option<&str> {
    let called = operator_prefix(text);
    let syntactic = SYNTACTIC.iter().copied().chain(called).filter(|op| text.starts_with(op));
    let updating = syntactic.clone().chain(called).map(|op| (op, text.get(op.len()..).unwrap_or_default()));
    let updating = updating.filter(|(op, rest)| !op.ends_with(['=', ':']) && rest.starts_with('='));
    let lengths = updating.map(|(op, _)| op.len() + 1).chain(syntactic.map(str::len));
    lengths.max().and_then(|length| text.get(..length))
}

/// Whether the name of a symbol is that of an operator, of syntax or of updates, too, also with a point before it, or
/// points alone: `:+=`, `:&&`, `:.+`, `:...`.
pub(crate) fn is_symbol_of_syntax(name: &str) -> bool {
    let behind_point = name.strip_prefix('.').unwrap_or(name);
    is_operator(name)
        || !name.is_empty() && name.chars().all(|c| c == '.')
        || name != "'" && operator_symbol(behind_point) == Some(behind_point)
}

/// Whether the text is an operator that may follow an operand.
pub(super) fn infix_operator(rest: &str) -> Option<&str> {
    if rest.is_empty() || rest.starts_with("::") {
        return None;
    }
    for word in ["isa", "in"] {
        if rest.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')) {
            return Some(word);
        }
    }
    let op = operator_prefix(rest).filter(|op| is_operator(op))?;
    rest.get(op.len()..).is_some_and(|rest| rest.starts_with(' ')).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::{infix_operator, is_operator, operator_prefix};

    #[test]
    fn operators_of_other_characters_are_read_with_what_follows_them() {
        for (text, op) in [("⊕ %2", "⊕"), ("⊕₁ %2", "⊕₁"), ("⋆′ %2", "⋆′"), ("≤ %2", "≤"), ("∉ %2", "∉")]
        {
            assert_eq!(operator_prefix(text), Some(op));
            assert_eq!(infix_operator(text), Some(op));
            assert!(is_operator(op));
        }
        // A letter, a mark that follows nothing, and signs that are names.
        for text in ["α %2", "₁ %2", "∑ %2", "∇f(%2)"] {
            assert_eq!(operator_prefix(text), None);
        }
    }

    #[test]
    fn ranges_are_printed_without_spaces_where_they_come_back() {
        use crate::{Style, parse_function, print_function};
        let printed = |text: &str| {
            let function = parse_function(&format!("1 ─ %1 = {text}\n└──      return %1\n")).unwrap();
            let printed = print_function(&function, Style::Julia);
            assert_eq!(parse_function(&printed).unwrap().body, function.body, "{printed}");
            printed
        };
        for tight in ["1:4", "-1:_2", "(_2:3)::UnitRange{Int64}"] {
            assert!(printed(tight).contains(&format!("= {tight}\n")), "{tight}");
        }
        for wide in ["(_2 : 1:3)::Any", "(1:3 : _2)::Any", "(_2 : 1 + 2im)::Any", "(1//2 : _2)::Any", "(:a : :b)::Any"]
        {
            assert!(printed(wide).contains(&format!("= {wide}\n")), "{wide}");
        }
    }
}
