//! Julia's operators, as far as printed code needs them.

/// Binary operators that Julia prints between their operands. `isa` and `in` are words.
const BINARY: &[&str] = &[
    "+", "-", "*", "/", "÷", "%", "^", "//", "\\", "<<", ">>", ">>>", "&", "|", "⊻", "⊽", "⊼", "==", "!=", "===",
    "!==", "<", "<=", ">", ">=", "≤", "≥", "≠", "≡", "≢", "∈", "∉", "∋", "∌", "⊆", "⊈", "⊊", "⊇", "<:", ">:", "=>",
    ":", "++", "∘", "√", "∛", "|>", "<|", "..", "→", "isa", "in", "≈", "≉", "⋅", "×", "∪", "∩", "±", "∓",
];

/// Operators that Julia prints before a single operand.
const UNARY: &[&str] = &["-", "+", "!", "~", "√", "∛", "¬"];

/// Operators whose printed form may have more than two operands: `a + b + c` is one call.
const N_ARY: &[&str] = &["+", "*"];

/// Whether the name is an operator, so that it is written `Base.:+` behind a module.
pub(crate) fn is_operator(name: &str) -> bool {
    is_binary(name) && !matches!(name, "isa" | "in") || UNARY.contains(&name)
}

pub(crate) fn is_binary(name: &str) -> bool {
    BINARY.contains(&name)
}

pub(crate) fn is_unary(name: &str) -> bool {
    UNARY.contains(&name)
}

pub(crate) fn is_n_ary(name: &str) -> bool {
    N_ARY.contains(&name)
}

/// Whether the operator is put in parentheses behind a colon: `Base.:(==)`.
pub(crate) fn is_quoted_in_parentheses(name: &str) -> bool {
    matches!(name, ":" | "::" | ":=" | "=" | "==" | "!=" | "===" | "!==" | "=>" | ">=" | "<=")
}

/// The longest symbolic operator that the text starts with.
pub(crate) fn operator_prefix(text: &str) -> Option<&'static str> {
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
    let found = BINARY.iter().chain(UNARY).copied().filter(|op| text.starts_with(op) && !before_type(op));
    found.max_by_key(|op| op.len())
}

/// Whether the text is an operator that may follow an operand.
pub(super) fn infix_operator(rest: &str) -> Option<&'static str> {
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
