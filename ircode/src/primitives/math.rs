//! Math functions: those of the modules `float64` and `float32`, of which most are the crate `libm`'s, so that they
//! give the same bits on every machine.
//!
//! Julia's `sin`, `log` and others throw a `DomainError` where C's return NaN; both are here, the C ones under the
//! prefix `libm.`. Integers are converted to floats first.

use super::generic::{floats, promote};
use super::{Failure, ScalarException, float, float32, float64};
use crate::scalar::Scalar;

type Result = std::result::Result<Scalar, Failure>;

fn unary(args: &[Scalar], double: fn(f64) -> f64, single: fn(f32) -> f32) -> Result {
    float::unary(&floats(args)?, double, single)
}

fn binary(args: &[Scalar], double: fn(f64, f64) -> f64, single: fn(f32, f32) -> f32) -> Result {
    float::binary(&floats(args)?, double, single)
}

macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        $(pub(super) fn $name(args: &[Scalar]) -> Result { unary(args, float64::$name, float32::$name) })*
    };
}

functions!(
    sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp, exp2, exp10, expm1, log, log2, log10,
    log1p, cbrt, erf, erfc
);

/// `f` of `x` turns of a half circle: where the circle is cut into `turn` of them, exact at every quarter.
fn of_turns(x: f64, turn: f64, sine: bool) -> f64 {
    // Exact: a remainder, and a difference of close numbers.
    let rest = libm::remainder(x, 2.0 * turn);
    let quarters = (2.0 * rest / turn).round();
    let angle = (rest - quarters * turn / 2.0) / turn * std::f64::consts::PI;
    let shift = if sine { 0 } else { 1 };
    let value = match (quarters as i64 + shift).rem_euclid(4) {
        0 => float64::sin(angle),
        1 => float64::cos(angle),
        2 => -float64::sin(angle),
        _ => -float64::cos(angle),
    };
    match (value == 0.0, sine) {
        // As in Julia: a zero of the sine has the sign of x, and one of the cosine is positive.
        (true, true) => 0.0_f64.copysign(x),
        (true, false) => 0.0,
        (false, _) => value,
    }
}

/// Integers without whole turns, so that floats hold them; one that is negative stays so.
fn within_a_turn(args: &[Scalar], whole: i128) -> Vec<Scalar> {
    let reduced = |x: &Scalar| match x {
        Scalar::UInt128(wide) => Scalar::Int64((**wide % whole.unsigned_abs()) as i64),
        x if x.scalar_type().is_integer() => match (x.to_i128() % whole, x.to_i128() < 0) {
            (0, true) => Scalar::Int64(-whole as i64),
            (rest, _) => Scalar::Int64(rest as i64),
        },
        x => x.clone(),
    };
    args.iter().map(reduced).collect()
}

macro_rules! turns {
    ($($name:ident = $turn:literal, $sine:literal;)*) => {
        $(fn $name(args: &[Scalar]) -> Result {
            unary(&within_a_turn(args, 2 * $turn as i128), |x| of_turns(x, $turn, $sine), |x| of_turns(f64::from(x), $turn, $sine) as f32)
        })*
    };
}

turns! {
    sinpi = 1.0, true;
    cospi = 1.0, false;
    sind = 180.0, true;
    cosd = 180.0, false;
}

pub(super) fn hypot(args: &[Scalar]) -> Result {
    binary(&promote(args)?.1, float64::hypot, float32::hypot)
}

fn sqrt(args: &[Scalar]) -> Result {
    float::sqrt(&floats(args)?)
}

/// `atan(y, x)`. Julia makes a float of an integer before it promotes: a `Float64`, whatever the other is.
pub(super) fn atan2(args: &[Scalar]) -> Result {
    let has_integer = args.iter().any(|arg| !arg.scalar_type().is_float());
    if has_integer && args.iter().any(|arg| matches!(arg, Scalar::Float32(_) | Scalar::Float16(_))) {
        return Err(Failure::Operands("two floats, or two numbers that become Float64"));
    }
    binary(args, float64::atan2, float32::atan2)
}

/// What is left of division by the nearest whole number, the even one of two: C's `remainder`.
pub(super) fn remainder(args: &[Scalar]) -> Result {
    binary(args, float64::remainder, float32::remainder)
}

pub(super) fn pow(args: &[Scalar]) -> Result {
    binary(args, float64::pow, float32::pow)
}

/// `atan(y)`, or `atan(y, x)`.
pub(super) fn atan_or_atan2(args: &[Scalar]) -> Result {
    if args.len() == 2 { atan2(args) } else { atan(args) }
}

/// Computes `f` where `inside` holds of the operand, or it is NaN, and throws Julia's `DomainError` elsewhere.
fn in_domain(args: &[Scalar], inside: fn(f64) -> bool, message: &'static str, f: fn(&[Scalar]) -> Result) -> Result {
    let values = floats(args)?;
    match values.as_slice() {
        [x] if x.as_float().is_some_and(|x| x.is_nan() || inside(x)) => f(args),
        [_] => {
            let value = args.first().cloned().unwrap_or(Scalar::Bool(false));
            Err(Failure::Exception(ScalarException::Domain { value, message }))
        }
        _ => Err(Failure::Operands("a number")),
    }
}

macro_rules! checked {
    ($($name:ident = $f:path, $inside:expr, $message:literal;)*) => {
        $(pub(super) fn $name(args: &[Scalar]) -> Result { in_domain(args, $inside, $message, $f) })*
    };
}

checked! {
    checked_sin = sin, f64::is_finite, "sin(x) is only defined for finite x.";
    checked_cos = cos, f64::is_finite, "cos(x) is only defined for finite x.";
    checked_tan = tan, f64::is_finite, "tan(x) is only defined for finite x.";
    checked_sinpi = sinpi, f64::is_finite, "sinpi(x) is only defined for finite x.";
    checked_cospi = cospi, f64::is_finite, "cospi(x) is only defined for finite x.";
    checked_sind = sind, f64::is_finite, "x must be finite.";
    checked_cosd = cosd, f64::is_finite, "x must be finite.";
    checked_asin = asin, |x| x.abs() <= 1.0, "asin(x) is not defined for |x| > 1.";
    checked_acos = acos, |x| x.abs() <= 1.0, "acos(x) not defined for |x| > 1";
    checked_acosh = acosh, |x| x >= 1.0, "acosh(x) is only defined for x ≥ 1.";
    checked_atanh = atanh, |x| x.abs() <= 1.0, "atanh(x) is only defined for |x| ≤ 1.";
    checked_log = log, |x| x >= 0.0, "log will only return a complex result if called with a complex argument.";
    checked_log2 = log2, |x| x >= 0.0, "log2 will only return a complex result if called with a complex argument.";
    checked_log10 = log10, |x| x >= 0.0, "log10 will only return a complex result if called with a complex argument.";
    checked_log1p = log1p, |x| x >= -1.0, "log1p will only return a complex result if called with a complex argument.";
    checked_sqrt = sqrt, |x| x >= 0.0, "sqrt will only return a complex result if called with a complex argument.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_julias() {
        let at = |f: fn(&[Scalar]) -> Result, x: f64| f(&[Scalar::Float64(x)]);
        assert!(at(checked_sin, f64::INFINITY).is_err());
        assert!(at(sin, f64::INFINITY).unwrap().as_float().unwrap().is_nan());
        assert!(at(checked_log, -1.0).is_err());
        assert_eq!(at(checked_log, 0.0), Ok(Scalar::Float64(f64::NEG_INFINITY)));
        assert!(at(checked_sqrt, f64::NAN).unwrap().as_float().unwrap().is_nan());
        assert_eq!(at(checked_sqrt, -0.0), Ok(Scalar::Float64(-0.0)));
        assert!(at(checked_acosh, 0.5).is_err() && at(checked_atanh, 1.5).is_err() && at(checked_asin, -1.5).is_err());
        for (f, x, expected) in [
            (sinpi as fn(&[Scalar]) -> Result, 1.0, 0.0),
            (sinpi, 2.5, 1.0),
            (cospi, 1.5, 0.0),
            (cospi, -3.0, -1.0),
            (sind, 30.0, 0.5),
            (sind, -810.0, -1.0),
            (cosd, 60.0, 0.5),
            (cosd, 1e17, 0.173_648_177_666_930_35),
        ] {
            let value = at(f, x).unwrap().as_float().unwrap();
            assert!((value - expected).abs() <= 1.2e-16, "{value} instead of {expected} at {x}");
        }
        assert_eq!(checked_sin(&[Scalar::Int64(1)]), at(checked_sin, 1.0));
        assert!(matches!(checked_sin(&[Scalar::from_bits(crate::ScalarType::Char, 1)]), Err(Failure::Operands(_))));
        // What Julia gives: zeros of the sine have the sign of x.
        for (f, x, expected) in [
            (sinpi as fn(&[Scalar]) -> Result, 1.0, 0.0),
            (sinpi, -0.0, -0.0),
            (sinpi, -2.0, -0.0),
            (sinpi, -1.0, -0.0),
            (cospi, -1.5, 0.0),
        ] {
            assert_eq!(at(f, x).unwrap().as_float().unwrap().to_bits(), f64::to_bits(expected), "at {x}");
        }
    }
}
