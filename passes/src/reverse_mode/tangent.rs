//! Which types have tangents.

use ircode::{Module, ScalarType, Type, TypeKind};

/// The float type of the tangents of values of this type; `None` if they have none, or none that is a single float.
///
/// A float is its own tangent type. A union has that of its one float member: where the value is of another member, the
/// tangent is zero and nobody asks for it.
pub fn tangent_type(ty: &Type) -> Option<ScalarType> {
    let mut floats = ty.members().iter().filter_map(Type::as_float);
    let first = floats.next()?;
    let others_hold_none = ty.members().iter().all(|member| member.as_scalar().is_some() || *member == Type::Nothing);
    (others_hold_none && floats.all(|other| other == first)).then_some(first)
}

/// Whether values of this type may hold floats anywhere.
pub(super) fn may_hold_floats<F>(module: &Module<F>, ty: &Type) -> bool {
    holds(module, ty, &mut Vec::new())
}

fn holds<F>(module: &Module<F>, ty: &Type, seen: &mut Vec<Type>) -> bool {
    match ty {
        Type::Scalar(scalar) => scalar.is_float(),
        Type::Bottom | Type::Nothing | Type::String | Type::Symbol | Type::TypeOf(_) | Type::Function(_) => false,
        Type::Untyped | Type::Any => true,
        Type::Tuple(elements) | Type::Union(elements) => elements.iter().any(|element| holds(module, element, seen)),
        Type::NamedTuple(fields) => fields.iter().any(|(_, ty)| holds(module, ty, seen)),
        Type::Array(array) => holds(module, &array.element, seen),
        Type::Ref(element) | Type::Memory(element) | Type::MemoryRef(element) => holds(module, element, seen),
        Type::Stack(element) | Type::Slot(element) => holds(module, element, seen),
        Type::Named(name) => {
            if seen.contains(ty) {
                return false;
            }
            seen.push(ty.clone());
            match module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { fields, .. }) => fields.iter().any(|(_, ty)| holds(module, ty, seen)),
                Some(TypeKind::Enum { cases }) => {
                    cases.iter().flat_map(|(_, payload)| payload).any(|ty| holds(module, ty, seen))
                }
                None => true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ircode::TypeDef;

    #[test]
    fn tangents_are_floats() {
        assert_eq!(tangent_type(&Type::FLOAT64), Some(ScalarType::Float64));
        assert_eq!(tangent_type(&Type::INT64), None);
        assert_eq!(tangent_type(&Type::parse("Union{Nothing, Float32, Int64}")), Some(ScalarType::Float32));
        assert_eq!(tangent_type(&Type::parse("Union{Float64, Float32}")), None);
        assert_eq!(tangent_type(&Type::parse("Union{Float64, Vector{Float64}}")), None);
    }

    #[test]
    fn floats_are_found_inside() {
        let mut module: Module<()> = Module::new();
        let node = Type::named("Node");
        module
            .add_type(TypeDef::structure("Node", [("next".into(), node.clone()), ("n".into(), Type::INT64)]))
            .unwrap();
        assert!(!may_hold_floats(&module, &node));
        assert!(may_hold_floats(&module, &Type::named("Unknown")));
        assert!(may_hold_floats(&module, &Type::parse("Tuple{Int64, Vector{Float64}}")));
        assert!(!may_hold_floats(&module, &Type::parse("Tuple{Int64, typeof(sin)}")));
    }
}
