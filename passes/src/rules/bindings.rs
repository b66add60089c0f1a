//! The type variables of rules.

use ircode::{Constant, Names, Operand, Scalar, ScalarType, Type};

/// What the type variables of a rule stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bindings {
    /// The float type `T`.
    pub t: Option<ScalarType>,
    /// The float type `U`.
    pub u: Option<ScalarType>,
    /// The integer type `I`.
    pub i: Option<ScalarType>,
    /// The rank `N` of an array.
    pub n: Option<u32>,
    /// The rank `M` of an array.
    pub m: Option<u32>,
    /// The rank `K` of an array.
    pub k: Option<u32>,
}

/// The element type and the rank that `Array{T, N}` names, which is no type of its own as the rank is a variable.
pub(super) fn ranked(ty: &Type) -> Option<(Type, &str)> {
    let Type::Named(text) = ty else { return None };
    let (element, rank) = text.strip_prefix("Array{")?.strip_suffix('}')?.rsplit_once(',')?;
    let rank = rank.trim();
    matches!(rank, "N" | "M" | "K").then(|| (Type::parse(element), rank))
}

impl Bindings {
    pub(super) fn unify(&mut self, pattern: &Type, ty: &Type) -> Option<()> {
        let bind = |slot: &mut Option<ScalarType>, accept: fn(ScalarType) -> bool| {
            let found = ty.as_scalar().filter(|ty| accept(*ty))?;
            (*slot.get_or_insert(found) == found).then_some(())
        };
        match (pattern, ty) {
            (Type::Named(name), _) if name == "T" => bind(&mut self.t, ScalarType::is_float),
            (Type::Named(name), _) if name == "U" => bind(&mut self.u, ScalarType::is_float),
            (Type::Named(name), _) if name == "I" => bind(&mut self.i, ScalarType::is_integer),
            (Type::TypeOf(pattern), Type::TypeOf(ty)) => self.unify(pattern, ty),
            (Type::Array(pattern), Type::Array(ty)) if pattern.rank == ty.rank => {
                self.unify(&pattern.element, &ty.element)
            }
            (Type::Named(_), Type::Array(array)) => {
                let (element, rank) = ranked(pattern)?;
                let slot = self.rank_mut(rank)?;
                (*slot.get_or_insert(array.rank) == array.rank).then_some(())?;
                self.unify(&element, &array.element)
            }
            (Type::Any, _) => Some(()),
            (pattern, ty) => (pattern == ty).then_some(()),
        }
    }

    fn rank_mut(&mut self, name: &str) -> Option<&mut Option<u32>> {
        match name {
            "N" => Some(&mut self.n),
            "M" => Some(&mut self.m),
            "K" => Some(&mut self.k),
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Option<Type> {
        match name {
            "T" => self.t.map(Type::from),
            "U" => self.u.map(Type::from),
            "I" => self.i.map(Type::from),
            _ => None,
        }
    }

    /// The type with types in the place of type variables.
    pub fn substitute(&self, ty: &Type) -> Type {
        match ty {
            Type::Named(name) => self.variable(name).unwrap_or_else(|| match ranked(ty) {
                Some((element, rank)) => match { *self }.rank_mut(rank) {
                    Some(Some(rank)) => Type::array(self.substitute(&element), *rank),
                    _ => ty.clone(),
                },
                None => ty.clone(),
            }),
            Type::Tuple(elements) => Type::tuple(elements.iter().map(|element| self.substitute(element))),
            Type::Array(array) => Type::array(self.substitute(&array.element), array.rank),
            Type::TypeOf(inner) => Type::type_of(self.substitute(inner)),
            other => other.clone(),
        }
    }

    /// An operand with types in the place of type variables, and literals of the type `T`.
    pub fn substitute_operand<N: Names>(&self, operand: &Operand<N>) -> Operand<N> {
        match operand {
            Operand::Constant(Constant::Function(name)) => match self.variable(name) {
                Some(ty) => Operand::Constant(Constant::of_type(ty)),
                None => operand.clone(),
            },
            Operand::Constant(Constant::Scalar(Scalar::Float64(value))) => {
                let float = self.t.or(self.u).and_then(|ty| Scalar::from_float(ty, *value));
                float.map_or_else(|| operand.clone(), Operand::from)
            }
            other => other.clone(),
        }
    }
}
