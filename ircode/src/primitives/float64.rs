//! The functions of mathematics on `Float64` that the primitives of these names compute, as plain functions: what runs
//! programs in another way than through [`Scalar`](crate::Scalar)s gets the same bits from them.
//!
//! Those that programs use most are our own, in [`functions`]: without branches, so that native code can have them
//! where they are called.

mod arithmetic;
mod double_double;
mod exponential;
mod logarithm;
mod tabulated;
mod trigonometric;

pub use libm::{
    acos, asin, asinh, atan, atan2, atanh, cbrt, cosh, erfc, exp2, exp10, expm1, fma, fmod, hypot, log1p, log2, log10,
    pow, remainder, sinh, tan,
};

/// Functions without branches, each written once over an [`Arithmetic`](functions::Arithmetic): for numbers, and for
/// code that computes them of one number or of several at once.
pub mod functions {
    pub use super::arithmetic::{Arithmetic, Numbers, Row};
    pub use super::exponential::exp;
    pub use super::logarithm::log;
    pub use super::tabulated::{erf, tanh};
    pub use super::trigonometric::{LIMIT, NEAR, cos, cos_near_zero, sin, sin_near_zero};
}

/// e to the power of `x`.
///
/// ```
/// use ircode::primitives::float64::exp;
///
/// assert_eq!(exp(1.0), std::f64::consts::E);
/// assert_eq!(exp(-745.1), f64::from_bits(1));
/// assert_eq!(exp(f64::NEG_INFINITY), 0.0);
/// ```
pub fn exp(x: f64) -> f64 {
    functions::exp(&mut functions::Numbers, x)
}

/// The natural logarithm of `x`: of 0 minus infinity, of negative numbers NaN.
///
/// ```
/// use ircode::primitives::float64::log;
///
/// assert_eq!(log(std::f64::consts::E), 1.0);
/// assert_eq!(log(0.0), f64::NEG_INFINITY);
/// ```
pub fn log(x: f64) -> f64 {
    functions::log(&mut functions::Numbers, x)
}

/// The inverse hyperbolic cosine of `x`; below 1 NaN, where that of the crate `libm` gives numbers far below.
///
/// ```
/// use ircode::primitives::float64::acosh;
///
/// assert_eq!((acosh(1.0), acosh(2.0)), (0.0, 1.3169578969248166));
/// assert!(acosh(-1e5).is_nan());
/// ```
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The error function of `x`, 2/√π · ∫₀ˣ e^(−t²) dt.
///
/// ```
/// use ircode::primitives::float64::erf;
///
/// assert_eq!((erf(0.5), erf(-7.0)), (0.5204998778130465, -1.0));
/// ```
pub fn erf(x: f64) -> f64 {
    functions::erf(&mut functions::Numbers, x)
}

/// The hyperbolic tangent of `x`.
///
/// ```
/// use ircode::primitives::float64::tanh;
///
/// assert_eq!((tanh(0.5), tanh(-20.0)), (0.46211715726000976, -1.0));
/// ```
pub fn tanh(x: f64) -> f64 {
    functions::tanh(&mut functions::Numbers, x)
}

/// The sine of `x`; of infinities NaN. Beyond [`LIMIT`](functions::LIMIT) it is that of the crate `libm`.
///
/// ```
/// use ircode::primitives::float64::sin;
///
/// assert_eq!((sin(0.5), sin(1e22)), (0.479425538604203, -0.8522008497671888));
/// ```
pub fn sin(x: f64) -> f64 {
    let (on, size) = (&mut functions::Numbers, x.abs());
    match (size < functions::NEAR, size < functions::LIMIT) {
        (true, _) => functions::sin_near_zero(on, x),
        (_, true) => functions::sin(on, x),
        _ => libm::sin(x),
    }
}

/// The cosine of `x`, likewise.
///
/// ```
/// use ircode::primitives::float64::cos;
///
/// assert_eq!((cos(0.5), cos(1e22)), (0.8775825618903728, 0.523214785395139));
/// ```
pub fn cos(x: f64) -> f64 {
    let (on, size) = (&mut functions::Numbers, x.abs());
    match (size < functions::NEAR, size < functions::LIMIT) {
        (true, _) => functions::cos_near_zero(on, x),
        (_, true) => functions::cos(on, x),
        _ => libm::cos(x),
    }
}
