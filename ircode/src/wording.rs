//! How messages word numbers and names.

use std::fmt::Display;

/// A number of things: `1 block`, `2 blocks`.
///
/// ```
/// use ircode::wording::counted;
///
/// assert_eq!(format!("{} and {}", counted(1, "block"), counted(0, "statement")), "1 block and 0 statements");
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The name of something that was shown by its number, to stand behind that; nothing if it has none.
///
/// ```
/// use ircode::wording::by_name;
///
/// assert_eq!(format!("argument 0{}", by_name(&Some("rate"))), "argument 0 (`rate`)");
/// assert_eq!(format!("argument 0{}", by_name::<&str>(&None)), "argument 0");
/// ```
pub fn by_name<T: Display>(name: &Option<T>) -> String {
    name.as_ref().map(|name| format!(" (`{name}`)")).unwrap_or_default()
}

/// What is shown, behind the article that it has when it is read out: `a Float64`, `an Int64`, `a UInt8`.
///
/// ```
/// use ircode::{Type, wording::with_article};
///
/// assert_eq!(with_article(Type::INT64), "an Int64");
/// assert_eq!(with_article("UInt8"), "a UInt8");
/// ```
pub fn with_article(shown: impl Display) -> String {
    let shown = shown.to_string();
    let article = match shown.chars().find(|c| c.is_alphabetic()) {
        Some('A' | 'E' | 'I' | 'O' | 'a' | 'e' | 'i' | 'o') => "an",
        _ => "a",
    };
    format!("{article} {shown}")
}
