//! Words that mean something by themselves.

use half::f16;

use crate::constant::Constant;
use crate::scalar::Scalar;

/// Words that stand for a value.
pub(super) fn word(name: &str) -> Option<Constant> {
    Some(match name {
        "nothing" => Constant::Nothing,
        "true" => Constant::bool(true),
        "false" => Constant::bool(false),
        "missing" => Constant::Text("missing".into()),
        "Inf" => Constant::float64(f64::INFINITY),
        "NaN" => Constant::float64(f64::NAN),
        "Inf32" => Constant::Scalar(Scalar::Float32(f32::INFINITY)),
        "NaN32" => Constant::Scalar(Scalar::Float32(f32::NAN)),
        "Inf16" => Constant::Scalar(Scalar::Float16(f16::INFINITY)),
        "NaN16" => Constant::Scalar(Scalar::Float16(f16::NAN)),
        _ => return None,
    })
}

/// Types of Julia's Base that bbkit does not compute with, but that stand bare among the operands of printed code.
pub(crate) fn is_known_type_name(name: &str) -> bool {
    matches!(
        name,
        "AbstractArray"
            | "AbstractFloat"
            | "AbstractString"
            | "Array"
            | "BigFloat"
            | "BigInt"
            | "Bottom"
            | "Complex"
            | "DataType"
            | "Dict"
            | "Expr"
            | "Function"
            | "Integer"
            | "Matrix"
            | "Method"
            | "Missing"
            | "Module"
            | "NamedTuple"
            | "Number"
            | "Ptr"
            | "Rational"
            | "Real"
            | "Ref"
            | "Signed"
            | "SubString"
            | "Tuple"
            | "Type"
            | "UInt"
            | "Int"
            | "Union"
            | "UnionAll"
            | "Unsigned"
            | "Vararg"
            | "Vector"
    )
}
