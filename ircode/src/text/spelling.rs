//! How versions of Julia spell types and constants.

use std::fmt::Write;

use super::balanced::split_depth_0;
use crate::constant::Constant;
use crate::types::{Type, uniform};
use crate::version::JuliaVersion;

/// From here on parameters have a space behind the comma, `Array{T,1}` is `Vector{T}`, and the compiler's constants are
/// `Core.Const(…)`.
const SPACED: JuliaVersion = JuliaVersion::new(1, 6);
/// From here on a named tuple's type is `@NamedTuple{…}`.
const NAMED_TUPLE_MACRO: JuliaVersion = JuliaVersion::new(1, 10);

/// A type as this version prints it.
pub(super) fn type_text(ty: &Type, version: JuliaVersion) -> String {
    let spaced = version >= SPACED;
    let comma = if spaced { ", " } else { "," };
    let tuple = |types: &[Type]| match uniform(types) {
        Some(element) => format!("NTuple{{{}{comma}{}}}", types.len(), type_text(element, version)),
        None => {
            let types: Vec<String> = types.iter().map(|ty| type_text(ty, version)).collect();
            format!("Tuple{{{}}}", types.join(comma))
        }
    };
    match ty {
        Type::Tuple(elements) => tuple(elements),
        // Julia 1.5 has the space here already.
        Type::Union(members) => {
            let members: Vec<String> = members.iter().map(|ty| type_text(ty, version)).collect();
            format!("Union{{{}}}", members.join(", "))
        }
        Type::Array(array) => match (array.rank, type_text(&array.element, version)) {
            (1, element) if spaced => format!("Vector{{{element}}}"),
            (2, element) if spaced => format!("Matrix{{{element}}}"),
            (rank, element) => format!("Array{{{element}{comma}{rank}}}"),
        },
        Type::NamedTuple(fields) if version < NAMED_TUPLE_MACRO => {
            let names: Vec<String> = fields.iter().map(|(name, _)| format!(":{name}")).collect();
            let one = if names.len() == 1 { "," } else { "" };
            let types: Vec<Type> = fields.iter().map(|(_, ty)| ty.clone()).collect();
            format!("NamedTuple{{({}{one}){comma}{}}}", names.join(", "), tuple(&types))
        }
        Type::NamedTuple(fields) => {
            let mut text = String::from("@NamedTuple{");
            for (i, (name, ty)) in fields.iter().enumerate() {
                // Writing to a string does not fail.
                let _ = write!(text, "{}{name}::{}", if i > 0 { ", " } else { "" }, type_text(ty, version));
            }
            text + "}"
        }
        Type::Ref(element) => format!("Base.RefValue{{{}}}", type_text(element, version)),
        Type::Memory(element) => format!("Memory{{{}}}", type_text(element, version)),
        Type::MemoryRef(element) => format!("MemoryRef{{{}}}", type_text(element, version)),
        Type::TypeOf(ty) => format!("Type{{{}}}", type_text(ty, version)),
        Type::Named(text) => lattice_text(text, spaced).unwrap_or_else(|| text.to_string()),
        other => other.to_string(),
    }
}

/// The compiler's constants: `Core.Compiler.Const(1, false)`, later `Core.Const(1)`.
fn lattice_text(text: &str, new: bool) -> Option<String> {
    let inside = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix(')');
    match new {
        true => {
            let parts = split_depth_0(inside("Core.Compiler.Const(")?, ',')?;
            let [value, " false" | " true"] = parts.as_slice() else { return None };
            Some(format!("Core.Const({value})"))
        }
        false => Some(format!("Core.Compiler.Const({}, false)", inside("Core.Const(")?)),
    }
}

/// A constant as this version prints it.
pub(super) fn constant_text(constant: &Constant, version: JuliaVersion) -> String {
    let list = |constants: &[Constant]| {
        constants.iter().map(|constant| constant_text(constant, version)).collect::<Vec<_>>().join(", ")
    };
    match constant {
        Constant::Type(ty) => type_text(ty, version),
        Constant::SimpleVector(elements) => format!("svec({})", list(elements)),
        Constant::Tuple(elements) => format!("({}{})", list(elements), if elements.len() == 1 { "," } else { "" }),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_spells_its_own_way_and_all_are_read_as_the_same() {
        let ty = Type::parse("Tuple{Vector{Float64}, @NamedTuple{a::Int64}, Union{Nothing, Int64}}");
        for (minor, expected) in [
            (5, "Tuple{Array{Float64,1},NamedTuple{(:a,),Tuple{Int64}},Union{Nothing, Int64}}"),
            (9, "Tuple{Vector{Float64}, NamedTuple{(:a,), Tuple{Int64}}, Union{Nothing, Int64}}"),
            (10, "Tuple{Vector{Float64}, @NamedTuple{a::Int64}, Union{Nothing, Int64}}"),
        ] {
            let text = type_text(&ty, JuliaVersion::new(1, minor));
            assert_eq!(text, expected);
            assert_eq!(Type::parse(&text), ty);
        }
        assert_eq!(type_text(&Type::parse("Core.Const(1)"), JuliaVersion::new(1, 5)), "Core.Compiler.Const(1, false)");
        assert_eq!(type_text(&Type::parse("Core.Compiler.Const(1, false)"), JuliaVersion::new(1, 10)), "Core.Const(1)");
    }
}
