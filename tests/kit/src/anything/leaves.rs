//! What statements are made of: names, types, constants, debug info.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use ircode::{Constant, DebugInfo, LineInfoNode, Name, Scalar, ScalarType, Type};

pub(super) fn name(u: &mut Unstructured<'_>) -> Result<Name> {
    Ok((*u.choose(&["f", "x", "g!", "var\"odd name\"", "+", "#1#2", "αβ", "==", "a b", "\"", "end"])?).into())
}

/// A type, or that there is none.
pub(super) fn statement_type(u: &mut Unstructured<'_>) -> Result<Type> {
    if u.ratio(1, 12)? { Ok(Type::Untyped) } else { random_type(u) }
}

pub(crate) fn random_type(u: &mut Unstructured<'_>) -> Result<Type> {
    const TYPES: &[&str] = &[
        "Any",
        "Union{}",
        "Nothing",
        "Float64",
        "Float32",
        "Float16",
        "Int64",
        "Int32",
        "UInt8",
        "Bool",
        "Char",
        "String",
        "Symbol",
        "Tuple{Int64, Float64}",
        "Tuple{}",
        "@NamedTuple{a::Int64}",
        "Union{Nothing, Float64}",
        "Vector{Float64}",
        "Array{Float32, 3}",
        "Base.RefValue{Int64}",
        "Memory{Float64}",
        "MemoryRef{Float64}",
        "typeof(sin)",
        "Type{Float64}",
        "Dict{Symbol, Any}",
        "BBKit.Closure{Tuple{Float64}, Float64}",
        "BBKit.Closure{Tuple{}, BBKit.Closure{Tuple{Any, Int64}, Any}}",
        "Core.Const(1.5)",
        "Vararg{Int64}",
    ];
    Ok(Type::parse(u.choose(TYPES)?))
}

pub(super) fn constant(u: &mut Unstructured<'_>, depth: usize) -> Result<Constant> {
    const TYPES: &[ScalarType] = &[
        ScalarType::Float64,
        ScalarType::Float32,
        ScalarType::Float16,
        ScalarType::Int64,
        ScalarType::Int32,
        ScalarType::Int128,
        ScalarType::UInt8,
        ScalarType::UInt64,
        ScalarType::UInt128,
        ScalarType::Bool,
    ];
    Ok(match u.int_in_range(0..=9)? {
        0 => Constant::Nothing,
        1..=4 => {
            let ty = *u.choose(TYPES)?;
            let bits: u128 = u.arbitrary()?;
            let mask = if ty.bits() == 128 { u128::MAX } else { (1 << ty.bits()) - 1 };
            Constant::Scalar(Scalar::from_bits(ty, bits & if ty == ScalarType::Bool { 1 } else { mask }))
        }
        5 => Constant::String((*u.choose(&["", "text", "\"quoted\" \\ $x\n\t", "ünïcode ∂"])?).into()),
        6 => {
            // What is a value: the compiler's constants and varargs are none.
            let ty = random_type(u)?;
            Constant::of_type(if ty == Type::parse("Core.Const(1.5)") { Type::FLOAT64 } else { ty })
        }
        7 => Constant::float64(*u.choose(&[
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            5e-324,
            0.1,
        ])?),
        8 if depth < 2 => Constant::Tuple(Arc::new(vec![constant(u, depth + 1)?, constant(u, depth + 1)?])),
        _ => Constant::int64(*u.choose(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 53])?),
    })
}

pub(super) fn debuginfo(u: &mut Unstructured<'_>) -> Result<DebugInfo> {
    let mut info = DebugInfo { def: Some("f".into()), file: Some("file.jl".into()), ..DebugInfo::default() };
    if u.ratio(1, 3)? {
        info.linetable = vec![LineInfoNode {
            method: "f".into(),
            file: "file.jl".into(),
            line: 3,
            inlined_at: u.int_in_range(0..=1)?,
        }];
    }
    Ok(info)
}
