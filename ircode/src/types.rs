//! Types: those that bbkit computes with are structural, every other is kept as its text.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashSet;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::sharing;
use crate::name::Name;
use crate::scalar::ScalarType;
use crate::wording::with_article;

mod lattice;
mod parse;

/// Unions of so many members are compared member by member.
const FEW_MEMBERS: usize = 16;

/// A Julia type.
///
/// A type is read from its printed form with [`Type::parse`], and `Type::parse(ty.to_string()) == ty` for every type:
/// what is not understood is a [`Type::Named`] with the text as it stood.
///
/// ```
/// use ircode::{ScalarType, Type};
///
/// let ty = Type::parse("Tuple{Float64,Array{Int64,1}}");
/// assert_eq!(ty, Type::tuple([Type::FLOAT64, Type::array(Type::INT64, 1)]));
/// assert_eq!(ty.to_string(), "Tuple{Float64, Vector{Int64}}");
/// assert_eq!(Type::parse("Dict{Symbol,Any}").to_string(), "Dict{Symbol,Any}");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// No type is known: the listing did not show one. Prints as nothing.
    Untyped,
    /// `Any`.
    Any,
    /// `Union{}`, the type of what never returns.
    Bottom,
    /// `Nothing`.
    Nothing,
    /// A number type, `Bool` or `Char`.
    Scalar(ScalarType),
    /// `String`.
    String,
    /// `Symbol`.
    Symbol,
    /// `Tuple{A, B}`.
    Tuple(Arc<Vec<Type>>),
    /// `@NamedTuple{a::A, b::B}`.
    NamedTuple(Arc<Vec<(Name, Type)>>),
    /// `Union{A, B}`, members in the order in which they were printed; never fewer than two.
    Union(Arc<Vec<Type>>),
    /// `Array{T, N}`.
    Array(Arc<ArrayType>),
    /// `Base.RefValue{T}`, a mutable cell.
    Ref(Arc<Type>),
    /// `Memory{T}`, the storage of arrays from Julia 1.11 on.
    Memory(Arc<Type>),
    /// `MemoryRef{T}`, a place in such storage.
    MemoryRef(Arc<Type>),
    /// `BBKit.Stack{T}`: what a derivative saves on its way forward.
    Stack(Arc<Type>),
    /// `BBKit.Slot{T}`: a local variable, until `mem2reg` turns it into values.
    Slot(Arc<Type>),
    /// `BBKit.Closure{Tuple{A, B}, R}`: a function together with values of its last parameters.
    Closure(Arc<ClosureType>),
    /// `BBKit.DifferentiableFunction{Tuple{A, B}, R}`: a closure together with its derivatives.
    DifferentiableFunction(Arc<ClosureType>),
    /// `Type{T}`, the type of a type.
    TypeOf(Arc<Type>),
    /// `typeof(f)`, the type of a function.
    Function(Name),
    /// Any other type, as its text. A module may declare what it is, see [`Module::types`](crate::Module::types).
    Named(Name),
}

/// The element type and the rank of an array type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArrayType {
    /// The type of the elements.
    pub element: Type,
    /// The number of dimensions.
    pub rank: u32,
}

/// What a closure takes and gives; what it captures is no part of its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClosureType {
    /// The types of the arguments with which it is called.
    pub parameters: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

impl Type {
    /// `Bool`.
    pub const BOOL: Type = Type::Scalar(ScalarType::Bool);
    /// `Int32`.
    pub const INT32: Type = Type::Scalar(ScalarType::Int32);
    /// `Int64`.
    pub const INT64: Type = Type::Scalar(ScalarType::Int64);
    /// `Float32`.
    pub const FLOAT32: Type = Type::Scalar(ScalarType::Float32);
    /// `Float64`.
    pub const FLOAT64: Type = Type::Scalar(ScalarType::Float64);

    /// `Tuple{…}` of these types.
    pub fn tuple(elements: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(Arc::new(elements.into_iter().collect()))
    }

    /// `Array{element, rank}`.
    pub fn array(element: Type, rank: u32) -> Type {
        Type::Array(Arc::new(ArrayType { element, rank }))
    }

    /// The union of these types: nested unions are flattened, repetitions and `Union{}` dropped; one member is the
    /// member itself, none is [`Type::Bottom`], and `Any` swallows the rest.
    pub fn union(members: impl IntoIterator<Item = Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        // Only of many members: few are compared sooner than hashed.
        let mut hashed: HashSet<Type> = HashSet::new();
        let mut add = |ty: Type| {
            if flat.len() == FEW_MEMBERS {
                hashed.extend(flat.iter().cloned());
            }
            let is_new = if flat.len() < FEW_MEMBERS { !flat.contains(&ty) } else { hashed.insert(ty.clone()) };
            if is_new {
                flat.push(ty);
            }
        };
        for member in members {
            match member {
                Type::Bottom => {}
                Type::Union(inner) => inner.iter().cloned().for_each(&mut add),
                other => add(other),
            }
        }
        if flat.contains(&Type::Any) {
            return Type::Any;
        }
        match flat.len() {
            0 => Type::Bottom,
            1 => flat.swap_remove(0),
            _ => Type::Union(Arc::new(flat)),
        }
    }

    /// `BBKit.Stack{element}`.
    pub fn stack(element: Type) -> Type {
        Type::Stack(Arc::new(element))
    }

    /// `BBKit.Closure{Tuple{parameters}, result}`.
    pub fn closure(parameters: impl IntoIterator<Item = Type>, result: Type) -> Type {
        Type::Closure(Arc::new(ClosureType { parameters: parameters.into_iter().collect(), result }))
    }

    /// `BBKit.Slot{element}`.
    pub fn slot(element: Type) -> Type {
        Type::Slot(Arc::new(element))
    }

    /// `Type{T}`.
    pub fn type_of(ty: Type) -> Type {
        Type::TypeOf(Arc::new(ty))
    }

    /// `typeof(f)`.
    pub fn function(name: impl Into<Name>) -> Type {
        Type::Function(name.into())
    }

    /// A type kept as its text. The text is taken as it is; use [`Type::parse`] for text that may be one of the
    /// structural types.
    pub fn named(text: impl Into<Name>) -> Type {
        Type::Named(text.into())
    }

    /// Reads a type as Julia prints it. What is not understood is kept as its text, so this cannot fail.
    pub fn parse(text: &str) -> Type {
        parse::parse(text)
    }

    /// The scalar type, if this is one.
    pub fn as_scalar(&self) -> Option<ScalarType> {
        match self {
            Type::Scalar(ty) => Some(*ty),
            _ => None,
        }
    }

    /// The float type, if this is one.
    pub fn as_float(&self) -> Option<ScalarType> {
        self.as_scalar().filter(|ty| ty.is_float())
    }

    /// Visits the [names](Type::Named) that stand in the type.
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// let mut names = Vec::new();
    /// Type::parse("Tuple{Float64, Vector{Point}, Line}").for_each_name(&mut |name| names.push(name.to_string()));
    /// assert_eq!(names, ["Point", "Line"]);
    /// ```
    pub fn for_each_name(&self, visit: &mut dyn FnMut(&Name)) {
        if let Type::Named(name) = self {
            visit(name);
        }
        self.any_part(&mut |part| {
            part.for_each_name(visit);
            false
        });
    }

    /// Whether something holds of a type that this one is directly made of.
    pub fn any_part(&self, holds: &mut dyn FnMut(&Type) -> bool) -> bool {
        match self {
            Type::Tuple(types) | Type::Union(types) => types.iter().any(holds),
            Type::NamedTuple(fields) => fields.iter().any(|(_, ty)| holds(ty)),
            Type::Array(array) => holds(&array.element),
            Type::Ref(of)
            | Type::Memory(of)
            | Type::MemoryRef(of)
            | Type::Stack(of)
            | Type::Slot(of)
            | Type::TypeOf(of) => holds(of),
            Type::Closure(ty) | Type::DifferentiableFunction(ty) => ty.parameters.iter().chain([&ty.result]).any(holds),
            _ => false,
        }
    }

    /// Whether the type, written out, is of more than this many types, or nests deeper than [`Type::parse`] reads.
    /// Types share what they are made of: of forty statements, a type can be made that nobody can write down. What
    /// finds types asks this, and settles for [`Type::Any`].
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// let pair = |ty: Type| Type::tuple([ty.clone(), ty]);
    /// assert!(!pair(Type::FLOAT64).is_larger_than(3));
    /// assert!(pair(Type::FLOAT64).is_larger_than(2));
    /// assert!((0..30).fold(Type::FLOAT64, |ty, _| pair(ty)).is_larger_than(1_000_000));
    /// ```
    pub fn is_larger_than(&self, count: usize) -> bool {
        fn exceeds(ty: &Type, depth: usize, left: &mut usize) -> bool {
            if depth > parse::MAX_DEPTH || *left == 0 {
                return true;
            }
            *left -= 1;
            ty.any_part(&mut |part| exceeds(part, depth + 1, left))
        }
        exceeds(self, 0, &mut { count })
    }

    /// The type, or `Any` if there is none: inside of other types there is no way to write that.
    #[must_use]
    pub fn or_any(self) -> Type {
        if self == Type::Untyped { Type::Any } else { self }
    }

    /// Whether nothing is known of the values: untyped or `Any`.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Type::Untyped | Type::Any)
    }

    /// Whether a [named](Type::Named) type stands in the type, which a module may declare.
    ///
    /// ```
    /// use ircode::Type;
    ///
    /// assert!(Type::parse("Vector{Tuple{Point, Int64}}").names_declared());
    /// assert!(!Type::parse("Vector{Tuple{Float64, Int64}}").names_declared());
    /// ```
    pub fn names_declared(&self) -> bool {
        matches!(self, Type::Named(_) | Type::Closure(_) | Type::DifferentiableFunction(_))
            || self.any_part(&mut Type::names_declared)
    }

    /// The members, of a union; the type itself otherwise.
    pub fn members(&self) -> &[Type] {
        match self {
            Type::Union(members) => members,
            other => std::slice::from_ref(other),
        }
    }
}

impl From<ScalarType> for Type {
    fn from(ty: ScalarType) -> Self {
        Type::Scalar(ty)
    }
}

impl Type {
    /// The type as messages word what is of it: `a Float64`, `an Int64`; `a value of unknown type`.
    pub fn with_article(&self) -> String {
        match self {
            Type::Untyped => "a value of unknown type".into(),
            ty => with_article(ty),
        }
    }
}

/// Prints as current Julia does: `Vector{Float64}`, `Tuple{A, B}`, but that a tuple too large to be read as an `NTuple` is
/// printed in full. [`Type::Untyped`] prints as the empty text.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Untyped => Ok(()),
            Type::Any => f.write_str("Any"),
            Type::Bottom => f.write_str("Union{}"),
            Type::Nothing => f.write_str("Nothing"),
            Type::Scalar(ty) => write!(f, "{ty}"),
            Type::String => f.write_str("String"),
            Type::Symbol => f.write_str("Symbol"),
            Type::Tuple(elements) => match uniform(elements) {
                Some(element) => write!(f, "NTuple{{{}, {element}}}", elements.len()),
                None => write_parameters(f, "Tuple", elements),
            },
            Type::NamedTuple(fields) => {
                f.write_str("@NamedTuple{")?;
                for (i, (name, ty)) in fields.iter().enumerate() {
                    write!(f, "{}{name}::{ty}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Type::Union(members) => write_parameters(f, "Union", members),
            Type::Array(array) => match array.rank {
                1 => write!(f, "Vector{{{}}}", array.element),
                2 => write!(f, "Matrix{{{}}}", array.element),
                rank => write!(f, "Array{{{}, {rank}}}", array.element),
            },
            Type::Ref(element) => write!(f, "Base.RefValue{{{element}}}"),
            Type::Memory(element) => write!(f, "Memory{{{element}}}"),
            Type::MemoryRef(element) => write!(f, "MemoryRef{{{element}}}"),
            Type::Stack(element) => write!(f, "BBKit.Stack{{{element}}}"),
            Type::Slot(element) => write!(f, "BBKit.Slot{{{element}}}"),
            Type::Closure(closure) => {
                f.write_str("BBKit.Closure{")?;
                write_parameters(f, "Tuple", &closure.parameters)?;
                write!(f, ", {}}}", closure.result)
            }
            Type::DifferentiableFunction(original) => {
                f.write_str("BBKit.DifferentiableFunction{")?;
                write_parameters(f, "Tuple", &original.parameters)?;
                write!(f, ", {}}}", original.result)
            }
            Type::TypeOf(ty) => write!(f, "Type{{{ty}}}"),
            Type::Function(name) => write!(f, "typeof({name})"),
            Type::Named(text) => f.write_str(text),
        }
    }
}

/// The type of all elements of a tuple of more than three, which Julia prints as an `NTuple`. None of what is so large
/// that an `NTuple` would not be read as a tuple: it is printed in full.
pub(crate) fn uniform(elements: &[Type]) -> Option<&Type> {
    let (first, rest) = elements.split_first()?;
    let is_read = || elements.len() <= parse::LONGEST && !first.is_larger_than((parse::LARGEST - 1) / elements.len());
    (elements.len() > 3 && rest.iter().all(|element| element == first) && is_read()).then_some(first)
}

fn write_parameters(f: &mut fmt::Formatter<'_>, head: &str, parameters: &[Type]) -> fmt::Result {
    write!(f, "{head}{{")?;
    for (i, ty) in parameters.iter().enumerate() {
        write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str("}")
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Untyped => f.write_str("Untyped"),
            other => fmt::Display::fmt(other, f),
        }
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TypeVisitor;

        impl Visitor<'_> for TypeVisitor {
            type Value = Type;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the text of a type")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Type, E> {
                if let Some(ty) = sharing::known_type(text) {
                    return Ok(ty);
                }
                if !crate::text::balanced::is_balanced(text) {
                    return Err(E::custom(format_args!("the brackets of the type `{text}` do not match")));
                }
                Ok(sharing::parse_type(text))
            }
        }

        deserializer.deserialize_str(TypeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_survives() {
        for text in [
            "Float64",
            "Tuple{}",
            "Tuple{Float64, Vector{Int64}}",
            "Union{}",
            "Union{Nothing, Int64}",
            "Array{Float64, 3}",
            "Base.RefValue{Float64}",
            "Type{Float64}",
            "typeof(sin)",
            "@NamedTuple{a::Int64, b::Vector{Any}}",
            "@NamedTuple{}",
            "Vector{T} where T",
            "Main.var\"#1#2\"{Float64}",
            "Core.Const((1, \"}\"))",
            "Tuple{Vararg{Int64}}",
            "NTuple{4, Float64}",
            "NTuple{N, Float64} where N",
            "NTuple{257, Float64}",
            "Array{Float64, N} where N",
            "BBKit.Stack{Tuple{Float64, Int32}}",
            "BBKit.Closure{Tuple{Float64}, BBKit.Closure{Tuple{}, Any}}",
            "BBKit.Closure{Any, Any}",
            "BBKit.DifferentiableFunction{Tuple{Float64, Int64}, Float64}",
            "Array{Float64",
            "Tuple{Int64}}",
            "",
        ] {
            let ty = Type::parse(text);
            assert_eq!(ty.to_string(), text);
            assert_eq!(Type::parse(&ty.to_string()), ty);
        }
    }

    #[test]
    fn old_spellings_mean_the_same() {
        assert_eq!(Type::parse("Array{Float64,1}"), Type::parse("Vector{Float64}"));
        assert_eq!(Type::parse("Tuple{Int64,Int64}"), Type::parse("Tuple{Int64, Int64}"));
        assert_eq!(
            Type::parse("NamedTuple{(:a, :b),Tuple{Int64,Float64}}"),
            Type::parse("@NamedTuple{a::Int64, b::Float64}")
        );
        assert_eq!(Type::parse("NamedTuple{(),Tuple{}}"), Type::parse("@NamedTuple{}"));
        assert_eq!(
            Type::parse("NamedTuple{(:a, :b, :c, :d),NTuple{4,Int64}}"),
            Type::parse("@NamedTuple{a::Int64, b::Int64, c::Int64, d::Int64}")
        );
        assert_eq!(Type::parse("NTuple{2,Int64}"), Type::parse("Tuple{Int64, Int64}"));
        assert_eq!(Type::parse("Base.Int64"), Type::named("Base.Int64"));
    }

    #[test]
    fn long_tuples_of_one_type_are_read_as_they_were() {
        for inner in [Type::FLOAT64, Type::tuple(vec![Type::FLOAT64; 256]), Type::tuple(vec![Type::Any; 257])] {
            for length in [4, 256, 257, 300] {
                let ty = Type::tuple(vec![inner.clone(); length]);
                assert_eq!(Type::parse(&ty.to_string()), ty, "{length} of {inner}");
            }
        }
    }

    #[test]
    fn deep_nesting_is_kept_as_text() {
        let text = format!("{}Int64{}", "Tuple{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(Type::parse(&text).to_string(), text);
        assert_eq!(size_of::<Type>(), 16);
    }

    #[test]
    fn unions_are_flat() {
        let ty = Type::union([Type::INT64, Type::union([Type::Nothing, Type::INT64]), Type::Bottom]);
        assert_eq!(ty.to_string(), "Union{Int64, Nothing}");
        assert_eq!(Type::union([Type::INT64]), Type::INT64);
        assert_eq!(Type::union([]), Type::Bottom);
        assert_eq!(Type::union([Type::INT64, Type::Any]), Type::Any);
    }
}
