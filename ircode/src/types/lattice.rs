//! What the compiler's own lattice stands for.

use super::Type;
use crate::scalar::ScalarType;
use crate::text::balanced::split_depth_0;

impl Type {
    /// The type that an element of the compiler's lattice stands for, where a listing shows one in the place of a type:
    /// `Core.Compiler.MaybeUndef(Float64)` is a `Float64`, `Core.Const(1)` an `Int64`. `None` if it is a type already.
    /// Julia's `widenconst`.
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// assert_eq!(Type::parse("Core.Compiler.MaybeUndef(Float64)").widened(), Some(Type::FLOAT64));
    /// assert_eq!(Type::parse("Core.Const(true)").widened(), Some(Type::BOOL));
    /// assert_eq!(Type::FLOAT64.widened(), None);
    /// ```
    pub fn widened(&self) -> Option<Type> {
        let Type::Named(text) = self else { return None };
        let (path, inside) = text.strip_suffix(')')?.split_once('(')?;
        let name = ["Core.Compiler.", "Compiler.", "Core."].iter().find_map(|prefix| path.strip_prefix(prefix));
        let parts = split_depth_0(inside, ',')?;
        let first = parts.first()?.trim();
        match name.unwrap_or(path) {
            "Const" => constant_type(first),
            "MaybeUndef" | "PartialStruct" | "PartialOpaque" | "LimitedAccuracy" => {
                let ty = Type::parse(first);
                Some(ty.widened().unwrap_or(ty))
            }
            "Conditional" | "InterConditional" => Some(Type::BOOL),
            _ => None,
        }
    }
}

/// The type of a constant as it is printed; `None` if that does not show.
fn constant_type(text: &str) -> Option<Type> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits {
        "true" | "false" => return Some(Type::BOOL),
        "nothing" => return Some(Type::Nothing),
        "Inf" | "NaN" => return Some(Type::FLOAT64),
        "Inf32" | "NaN32" => return Some(ScalarType::Float32.into()),
        _ => {}
    }
    if digits.starts_with('"') {
        return Some(Type::String);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.starts_with("0x") {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse::<i64>().is_ok().then_some(Type::INT64);
    }
    if digits.parse::<f64>().is_ok() {
        return Some(Type::FLOAT64);
    }
    digits.replacen('f', "e", 1).parse::<f64>().is_ok().then(|| ScalarType::Float32.into())
}
