//! The functions of mathematics on `Float64` that the primitives of these names compute, as plain functions: what runs
//! programs in another way than through [`Scalar`](crate::Scalar)s gets the same bits from them.

mod double_double;
pub mod exponential;
mod tabulated;

pub use tabulated::{erf, tanh};

pub use libm::{
    acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erfc, exp2, exp10, expm1, fma, fmod, hypot, log,
    log1p, log2, log10, pow, sin, sinh, tan,
};

/// e to the power of `x`, off by less than 0.52 units in the last place where the result is normal: see [`exponential`].
pub fn exp(x: f64) -> f64 {
    exponential::exponential(&mut exponential::Numbers, x)
}
