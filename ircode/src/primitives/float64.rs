//! The functions of mathematics on `Float64` that the primitives of these names compute, as plain functions: what runs
//! programs in another way than through [`Scalar`](crate::Scalar)s gets the same bits from them.

pub use libm::{
    acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, erfc, exp, exp2, exp10, expm1, fma, fmod,
    hypot, log, log1p, log2, log10, pow, sin, sinh, tan, tanh,
};
