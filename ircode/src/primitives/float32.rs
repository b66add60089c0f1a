//! The functions of mathematics on `Float32` that the primitives of these names compute, as plain functions, like those
//! of [`float64`](super::float64): the crate `libm`'s.

pub use libm::{
    acosf as acos, asinf as asin, asinhf as asinh, atanhf as atanh, cbrtf as cbrt, cosf as cos, coshf as cosh,
    erfcf as erfc, erff as erf, exp2f as exp2, exp10f as exp10, expf as exp, expm1f as expm1, hypotf as hypot,
    log1pf as log1p, log2f as log2, log10f as log10, logf as log, powf as pow, remainderf as remainder, sinf as sin,
    sinhf as sinh, tanf as tan, tanhf as tanh,
};

/// The inverse tangent of `x`. Of large numbers it is the `Float32` nearest to π/2, as in Julia.
///
/// ```
/// use ircode::primitives::float32::{atan, atan2};
///
/// assert_eq!(atan(f32::INFINITY), std::f32::consts::FRAC_PI_2);
/// assert_eq!(atan(-1e30), -std::f32::consts::FRAC_PI_2);
/// assert_eq!(atan2(f32::INFINITY, 1.0), std::f32::consts::FRAC_PI_2);
/// assert_eq!(atan(1.0), std::f32::consts::FRAC_PI_4);
/// ```
pub fn atan(x: f32) -> f32 {
    // From 2²⁶ on nothing else is as near.
    if x.abs() >= 67_108_864.0 { std::f32::consts::FRAC_PI_2.copysign(x) } else { libm::atanf(x) }
}

/// The angle of the point (`x`, `y`), from -π to π.
pub fn atan2(y: f32, x: f32) -> f32 {
    if x == 1.0 { atan(y) } else { libm::atan2f(y, x) }
}

/// The inverse hyperbolic cosine of `x`; below 1 NaN, as [`float64::acosh`](super::float64::acosh).
///
/// ```
/// use ircode::primitives::float32::acosh;
///
/// assert_eq!((acosh(1.0), acosh(2.0)), (0.0, 1.316958));
/// assert!(acosh(-1e5).is_nan());
/// ```
pub fn acosh(x: f32) -> f32 {
    if x < 1.0 { f32::NAN } else { libm::acoshf(x) }
}
