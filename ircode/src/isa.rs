//! Which values are of which types, as far as types tell.

use crate::fields::is_vararg;
use crate::module::Module;
use crate::name::Name;
use crate::subtypes::{are_one, is_below, open_tuple};
use crate::tangents::shadowed_name;
use crate::three_valued::{all, any};
use crate::types::Type;

impl<F> Module<F> {
    /// Whether all values of the type `given` are also of the type `asked`, as Julia's `isa`: `Some(false)` if none is,
    /// `None` if some may be and others not, or if that cannot be told: values of an abstract type may be of any, and
    /// of a declared type only those are known that it is [declared](crate::TypeDef::supertypes) to be below.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// let (ints, floats) = (Type::array(Type::INT64, 1), Type::array(Type::FLOAT64, 1));
    /// assert_eq!(module.is_a(&floats, &floats), Some(true));
    /// assert_eq!(module.is_a(&floats, &ints), Some(false));
    /// assert_eq!(module.is_a(&Type::tuple([Type::INT64]), &Type::tuple([Type::Any])), Some(true));
    /// assert_eq!(module.is_a(&Type::union([Type::Nothing, floats.clone()]), &ints), Some(false));
    /// assert_eq!(module.is_a(&Type::union([Type::Nothing, ints.clone()]), &ints), None);
    /// assert_eq!(module.is_a(&Type::INT64, &Type::named("Integer")), Some(true));
    /// assert_eq!(module.is_a(&Type::named("Integer"), &Type::INT64), None);
    /// let vector = |name: &str| Type::array(Type::named(name), 1);
    /// assert_eq!(module.is_a(&vector("Point"), &vector("Main.Point")), None);
    /// assert_eq!(module.is_a(&vector("Point"), &floats), Some(false));
    /// assert_eq!(module.is_a(&vector("Main.Disc{Float64}"), &vector("Main.Disc")), Some(false));
    /// assert_eq!(module.is_a(&floats, &Type::parse("Vector{<:Real}")), Some(true));
    /// let unions = [Type::array(Type::union([Type::Nothing, Type::INT64]), 1), Type::array(Type::union([Type::INT64, Type::Nothing]), 1)];
    /// assert_eq!(module.is_a(&unions[0], &unions[1]), Some(true));
    /// // A named tuple is of the types with which it was made.
    /// assert_eq!(module.is_a(&Type::parse("@NamedTuple{k::Int64}"), &Type::parse("@NamedTuple{k::Any}")), Some(false));
    /// ```
    pub fn is_a(&self, given: &Type, asked: &Type) -> Option<bool> {
        match (given, asked) {
            (Type::Untyped | Type::Bottom, _) | (_, Type::Untyped) => None,
            (_, Type::Any) => Some(true),
            (_, Type::Bottom) => Some(false),
            (Type::Union(members), _) => {
                let mut answers = members.iter().map(|member| self.is_a(member, asked));
                let first = answers.next()??;
                answers.all(|answer| answer == Some(first)).then_some(first)
            }
            (_, Type::Union(members)) => any(members.iter().map(|member| self.is_a(given, member))),
            (Type::Tuple(given), Type::Tuple(asked)) => {
                if given.iter().chain(asked.iter()).any(is_vararg) {
                    return None;
                }
                if given.len() != asked.len() {
                    return Some(false);
                }
                self.are_all(given.iter().zip(asked.iter()))
            }
            _ if given == asked => Some(true),
            // That it is this one value of its type is not known.
            (_, Type::Named(_)) if asked.is_known_value() => {
                asked.widened().and_then(|asked| self.is_a(given, &asked)).filter(|is_one| !is_one)
            }
            (_, Type::Named(name)) if self.type_def(name).is_none() => match self.kind(given)? {
                Kind::Tuple => match (given, open_tuple(asked)) {
                    (Type::Tuple(given), Some((first, _))) if given.len() < first.len() => Some(false),
                    (Type::Tuple(given), Some((first, rest))) => {
                        self.are_all(given.iter().zip(first.iter().chain(std::iter::repeat(&rest))))
                    }
                    _ => is_below(given, None, asked),
                },
                Kind::Declared(given) => {
                    is_below(&Type::Named(given.clone()), self.supertypes(given).as_deref(), asked)
                }
                _ => is_below(given, None, asked),
            },
            (Type::Function(given), Type::Function(asked)) => Some(self.are_one_function(given, asked)),
            _ => match (self.kind(given)?, self.kind(asked)?) {
                (Kind::Scalar, Kind::Scalar) => Some(false),
                (Kind::Array, Kind::Array) | (Kind::NamedTuple, Kind::NamedTuple) => self.is_same(given, asked),
                // A type may have a longer name.
                (Kind::Declared(a), Kind::Declared(b)) => Some(a == b),
                (a, b) => (a != b).then_some(false),
            },
        }
    }

    /// Whether all values of each given type are of the one that is asked for.
    fn are_all<'t>(&self, pairs: impl Iterator<Item = (&'t Type, &'t Type)>) -> Option<bool> {
        all(pairs.map(|(given, asked)| self.is_a(given, asked)))
    }

    /// Whether two types are one, though they may name a declared type in two ways; `None` if names that are not
    /// declared leave that open.
    fn is_same(&self, a: &Type, b: &Type) -> Option<bool> {
        match (a, b) {
            (Type::Array(a), Type::Array(b)) if a.rank == b.rank => self.is_same(&a.element, &b.element),
            (Type::NamedTuple(a), Type::NamedTuple(b)) => {
                let same_names = a.iter().map(|(name, _)| name).eq(b.iter().map(|(name, _)| name));
                let types = || all(a.iter().zip(b.iter()).map(|((_, a), (_, b))| self.is_same(a, b)));
                if same_names { types() } else { Some(false) }
            }
            (Type::Union(a), Type::Union(b)) if a.len() == b.len() => {
                all(a.iter().map(|a| any(b.iter().map(|b| self.is_same(a, b)))))
            }
            (Type::Named(a), Type::Named(b)) if a != b => match (self.type_def(a), self.type_def(b)) {
                (Some(a), Some(b)) => Some(a.name == b.name),
                // Of other parameters they are others, whatever declares them.
                _ => are_one(a, b).filter(|one| !one),
            },
            _ if a == b => Some(true),
            _ => (!a.names_declared() || !b.names_declared()).then_some(false),
        }
    }

    /// What a type is, if no value of it is also of another type but abstract ones.
    fn kind(&self, ty: &Type) -> Option<Kind<'_>> {
        match ty {
            Type::Nothing => Some(Kind::Nothing),
            Type::Scalar(_) => Some(Kind::Scalar),
            Type::String => Some(Kind::String),
            Type::Symbol => Some(Kind::Symbol),
            Type::Tuple(_) => Some(Kind::Tuple),
            Type::NamedTuple(fields) => fields.iter().all(|(_, ty)| *ty != Type::Untyped).then_some(Kind::NamedTuple),
            // An array whose elements are of unknown type may be any array.
            Type::Array(array) => (array.element != Type::Untyped).then_some(Kind::Array),
            Type::Function(_) => Some(Kind::Function),
            Type::Named(name) => {
                let def = self.type_def(name)?;
                // Of a class there are objects of others, which inherit from it; so do their tangents.
                let inherits = shadowed_name(&def.name).is_some() || self.class(name).is_some();
                (!inherits && !name.starts_with("BBKit.")).then_some(Kind::Declared(&def.name))
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'m> {
    Nothing,
    Scalar,
    String,
    Symbol,
    Tuple,
    NamedTuple,
    Array,
    Function,
    /// By the name with which it is declared.
    Declared(&'m Name),
}
