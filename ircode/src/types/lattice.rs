//! What the compiler's own lattice stands for.

use super::Type;
use crate::constant::{Constant, is_identifier};
use crate::text::balanced::split_depth_0;

/// Elements of the lattice that are nested deeper tell nothing: the compiler makes none that deep.
const DEEPEST: usize = 32;

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
    /// assert_eq!(Type::parse("Core.Const(IndexLinear())").widened(), Some(Type::parse("IndexLinear")));
    /// assert_eq!(Type::parse("Core.Const(Pair{Int64,Bool}(1, true))").widened(), Some(Type::parse("Pair{Int64,Bool}")));
    /// assert_eq!(Type::parse("Core.Const((First(), :a, 2))").widened(), Some(Type::parse("Tuple{First,Symbol,Int64}")));
    /// assert_eq!(Type::FLOAT64.widened(), None);
    /// ```
    pub fn widened(&self) -> Option<Type> {
        self.widened_by(&|_| None)
    }

    /// The same, where `known` tells the types of some elements.
    pub(crate) fn widened_by(&self, known: &dyn Fn(&Type) -> Option<Type>) -> Option<Type> {
        self.widened_at(known, DEEPEST)
    }

    fn widened_at(&self, known: &dyn Fn(&Type) -> Option<Type>, depth: usize) -> Option<Type> {
        let mut widened = self.widened_once(known, depth)?;
        for _ in 0..DEEPEST {
            match widened.widened_once(known, depth) {
                Some(inner) => widened = inner,
                None => return Some(widened),
            }
        }
        Some(Type::Any)
    }

    /// What stands in an element of the lattice, which may be another.
    fn widened_once(&self, known: &dyn Fn(&Type) -> Option<Type>, depth: usize) -> Option<Type> {
        if let Some(ty) = known(self) {
            return Some(ty);
        }
        let Type::Named(text) = self else { return None };
        let (path, inside) = text.strip_suffix(')')?.split_once('(')?;
        let name = ["Core.Compiler.", "Compiler.", "Core."].iter().find_map(|prefix| path.strip_prefix(prefix));
        let parts = split_depth_0(inside, ',')?;
        let first = parts.first()?.trim();
        match name.unwrap_or(path) {
            "Const" => known_constant(first)
                .map(|constant| constant.ty())
                .or_else(|| shown_type(first))
                .or_else(|| shown_tuple_type(first, known, depth.checked_sub(1)?)),
            "MaybeUndef" | "PartialStruct" | "PartialOpaque" | "LimitedAccuracy" => Some(Type::parse(first)),
            "Conditional" | "InterConditional" => Some(Type::BOOL),
            _ => None,
        }
    }

    /// The function of which the compiler's lattice says that a value is always this one: `sin` for `Core.Const(sin)`.
    /// What is a value of another kind, as `IndexLinear()`, is none.
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// assert_eq!(Type::parse("Core.Compiler.Const(Base.add_sum, false)").known_function(), Some("Base.add_sum"));
    /// assert_eq!(Type::parse("Core.Const(IndexLinear())").known_function(), None);
    /// ```
    pub fn known_function(&self) -> Option<&str> {
        let first = self.known_text()?;
        let path = first.split('.').all(|part| !part.is_empty() && !part.contains(['(', '"', '{', '[', ':', ' ']));
        let named = path && known_constant(first).is_none_or(|constant| matches!(constant, Constant::Function(_)));
        (named && Type::parse(first).is_named()).then_some(first)
    }

    /// Whether the compiler's lattice says that a value is always the same.
    pub fn is_known_value(&self) -> bool {
        self.known_text().is_some()
    }

    fn known_text(&self) -> Option<&str> {
        let Type::Named(text) = self else { return None };
        let (path, inside) = text.strip_suffix(')')?.split_once('(')?;
        matches!(path, "Core.Compiler.Const" | "Compiler.Const" | "Core.Const" | "Const").then_some(())?;
        Some(split_depth_0(inside, ',')?.first()?.trim())
    }

    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Type::Named(_))
    }

    /// The value of which the compiler's lattice says that it is always this one: 9.81 for `Core.Const(9.81)`. `None`
    /// if that is no number, string, type of such or tuple of these.
    ///
    /// ```
    /// use ircode::{Constant, Type};
    ///
    /// let ty = Type::parse("Core.Compiler.Const(9.81, false)");
    /// assert_eq!(ty.known_value(), Some(Constant::float64(9.81)));
    /// let ty = Type::parse("Core.Compiler.Const(Float64, false)");
    /// assert_eq!(ty.known_value(), Some(Constant::of_type(Type::FLOAT64)));
    /// ```
    pub fn known_value(&self) -> Option<Constant> {
        known_constant(self.known_text()?)
    }

    /// The type of which the compiler's lattice says that a value is always this one, where that is a type with
    /// parameters, or one of a name that is a type's: any other name may be that of something else.
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// let ty = Type::parse("Core.Compiler.Const(Layer{typeof(tanh)}, false)");
    /// assert_eq!(ty.known_type(|_| false), Some(Type::named("Layer{typeof(tanh)}")));
    /// let ty = Type::parse("Core.Const(Point)");
    /// assert_eq!(ty.known_type(|name| name == "Point"), Some(Type::named("Point")));
    /// assert_eq!(ty.known_type(|_| false), None);
    /// ```
    pub fn known_type(&self, is_type: impl Fn(&str) -> bool) -> Option<Type> {
        let text = self.known_text()?;
        let has_parameters = text.ends_with('}') && !text.starts_with(['(', '[', '"']);
        (has_parameters || is_type(text)).then(|| Type::parse(text))
    }
}

/// A constant as it is printed; `None` if it is nothing but text to us.
fn known_constant(text: &str) -> Option<Constant> {
    fn is_known(constant: &Constant) -> bool {
        match constant {
            Constant::Nothing | Constant::Scalar(_) | Constant::String(_) => true,
            // Any other name may be that of something else.
            Constant::Type(ty) => !ty.is_named(),
            Constant::Tuple(elements) => elements.iter().all(is_known),
            _ => false,
        }
    }
    crate::text::read_constant(text).filter(is_known)
}

/// The type of an object that is shown as a call of it. The only value of a type is one without arguments. With such,
/// types may show themselves in other ways, `Base.OneTo(5)`, but not where they say their parameters.
fn shown_type(text: &str) -> Option<Type> {
    if text.strip_prefix(':').is_some_and(is_identifier) {
        return Some(Type::Symbol);
    }
    let ty = match text.strip_suffix("()") {
        Some(name) => Type::parse(name),
        None => Constant::Text(text.into()).shown_object()?.0,
    };
    let says_all = text.ends_with("()") || ty.to_string().contains('{');
    (ty.is_named() && says_all).then_some(ty)
}

/// The type of a tuple of which each part is shown in a way that tells its type.
fn shown_tuple_type(text: &str, known: &dyn Fn(&Type) -> Option<Type>, depth: usize) -> Option<Type> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?;
    let parts = split_depth_0(inside.strip_suffix(',').unwrap_or(inside), ',')?;
    let of_part = |part: &&str| Type::named(format!("Core.Const({})", part.trim())).widened_at(known, depth);
    parts.iter().map(of_part).collect::<Option<Vec<Type>>>().map(Type::tuple)
}
