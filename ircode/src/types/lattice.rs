//! What the compiler's own lattice stands for.

use super::Type;
use crate::constant::Constant;
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
            "Const" => known_constant(first).map(|constant| constant.ty()),
            "MaybeUndef" | "PartialStruct" | "PartialOpaque" | "LimitedAccuracy" => {
                let ty = Type::parse(first);
                Some(ty.widened().unwrap_or(ty))
            }
            "Conditional" | "InterConditional" => Some(Type::BOOL),
            _ => None,
        }
    }

    /// The value of which the compiler's lattice says that it is always this one: 9.81 for `Core.Const(9.81)`. `None` if
    /// that is no number, string or tuple of such.
    ///
    /// ```
    /// use ircode::{Constant, Type};
    ///
    /// let ty = Type::parse("Core.Compiler.Const(9.81, false)");
    /// assert_eq!(ty.known_value(), Some(Constant::float64(9.81)));
    /// ```
    pub fn known_value(&self) -> Option<Constant> {
        let Type::Named(text) = self else { return None };
        let (path, inside) = text.strip_suffix(')')?.split_once('(')?;
        matches!(path, "Core.Compiler.Const" | "Compiler.Const" | "Core.Const" | "Const").then_some(())?;
        known_constant(split_depth_0(inside, ',')?.first()?.trim())
    }
}

/// A constant as it is printed; `None` if it is nothing but text to us.
fn known_constant(text: &str) -> Option<Constant> {
    fn is_known(constant: &Constant) -> bool {
        match constant {
            Constant::Nothing | Constant::Scalar(_) | Constant::String(_) => true,
            Constant::Tuple(elements) => elements.iter().all(is_known),
            _ => false,
        }
    }
    crate::text::read_constant(text).filter(is_known)
}
