//! Which primitives take hardly any time.

use ircode::primitives::{Compute, Primitive};

/// Scalar primitives that take about as long as a load.
const CHEAP: &[&str] = &[
    "neg_int",
    "add_int",
    "sub_int",
    "mul_int",
    "and_int",
    "or_int",
    "xor_int",
    "not_int",
    "shl_int",
    "eq_int",
    "ne_int",
    "slt_int",
    "sle_int",
    "ult_int",
    "ule_int",
    "zext_int",
    "sext_int",
    "trunc_int",
    "bitcast",
    "sitofp",
    "uitofp",
    "neg_float",
    "add_float",
    "sub_float",
    "mul_float",
    "abs_float",
    "fpext",
    "eq_float",
    "ne_float",
    "lt_float",
    "le_float",
];

/// Whether a primitive computes a scalar of scalars, in about the time that a load takes.
pub(crate) fn is_cheap(primitive: &Primitive) -> bool {
    matches!(primitive.compute, Compute::Scalars(_) | Compute::Convert(_)) && CHEAP.contains(&primitive.name)
}
