//! Types in capitals: without colours, code_warntype prints those so that are not stable.

use super::words::known_type_names;
use crate::constant::is_identifier_part;
use crate::scalar::ScalarType;
use crate::types::Type;

/// Names that types are written with beside those of types.
const OTHERS: &[&str] =
    &["Any", "Nothing", "String", "Symbol", "Core", "Base", "Main", "Compiler", "Const", "where", "var"];

/// The type of this text, which may be in capitals. Of a type whose names are not all known, nothing is known.
pub(super) fn parse_type_in_capitals(text: &str) -> Type {
    let text = text.trim();
    let is_in_capitals = text.contains(char::is_uppercase) && !text.contains(char::is_lowercase);
    if !is_in_capitals {
        return Type::parse(text);
    }
    let mut spelled = String::with_capacity(text.len());
    let (mut was_other, mut is_unknown) = (false, false);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_identifier_part(first) {
            true => rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        match in_small_letters(word) {
            Some(name) => {
                was_other |= name != word;
                spelled.push_str(name);
            }
            None => {
                // `T` and `_A` are variables.
                is_unknown |= word.chars().filter(|c| c.is_alphabetic()).count() > 1;
                spelled.push_str(word);
            }
        }
        rest = behind;
    }
    match (was_other, is_unknown) {
        (false, _) => Type::parse(text),
        (true, false) => Type::parse(&spelled),
        (true, true) => Type::Any,
    }
}

/// The name that prints in capitals as this word.
fn in_small_letters(word: &str) -> Option<&'static str> {
    let scalars = ScalarType::ALL.iter().map(|ty| ty.name());
    let mut names = known_type_names().iter().chain(OTHERS).copied().chain(scalars);
    names.find(|name| name.len() == word.len() && name.bytes().map(|c| c.to_ascii_uppercase()).eq(word.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_capitals_are_found() {
        for (text, ty) in [
            ("ANY", "Any"),
            ("UNION{FLOAT64, INT64}", "Union{Float64, Int64}"),
            ("TUPLE{FLOAT64,REAL}", "Tuple{Float64,Real}"),
            ("ARRAY{T,1} WHERE T<:REAL", "Array{T,1} where T<:Real"),
            ("UNION{NOTHING, TUPLE{INT64,INT64}}", "Union{Nothing, Tuple{Int64,Int64}}"),
            // Not in capitals, or names that are their own.
            ("Float64", "Float64"),
            ("T", "T"),
            ("LU", "LU"),
            ("IO", "IO"),
        ] {
            assert_eq!(parse_type_in_capitals(text), Type::parse(ty), "{text}");
        }
        assert_eq!(parse_type_in_capitals("VECTOR{MAIN.SHAPE}"), Type::Any);
    }
}
