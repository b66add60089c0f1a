//! Floating-point intrinsics, for all three widths.

use half::f16;

use super::{Failure, one, two};
use crate::scalar::Scalar;

const TWO_FLOATS: &str = "two floats of the same type";
const ONE_FLOAT: &str = "a float";
const THREE_FLOATS: &str = "three floats of the same type";

type Result = std::result::Result<Scalar, Failure>;

/// Computes in the width of the operands. `Float16` is computed in `Float32` and rounded, which is exact for the
/// operations here: a `Float32` has more than twice the digits.
pub(super) fn unary(args: &[Scalar], double: fn(f64) -> f64, single: fn(f32) -> f32) -> Result {
    match one(args, ONE_FLOAT)? {
        Scalar::Float64(a) => Ok(Scalar::Float64(double(*a))),
        Scalar::Float32(a) => Ok(Scalar::Float32(single(*a))),
        Scalar::Float16(a) => Ok(Scalar::Float16(f16::from_f32(single(a.to_f32())))),
        _ => Err(Failure::Operands(ONE_FLOAT)),
    }
}

pub(super) fn binary(args: &[Scalar], double: fn(f64, f64) -> f64, single: fn(f32, f32) -> f32) -> Result {
    match two(args, TWO_FLOATS)? {
        (Scalar::Float64(a), Scalar::Float64(b)) => Ok(Scalar::Float64(double(*a, *b))),
        (Scalar::Float32(a), Scalar::Float32(b)) => Ok(Scalar::Float32(single(*a, *b))),
        (Scalar::Float16(a), Scalar::Float16(b)) => Ok(Scalar::Float16(f16::from_f32(single(a.to_f32(), b.to_f32())))),
        _ => Err(Failure::Operands(TWO_FLOATS)),
    }
}

fn compare(args: &[Scalar], f: fn(f64, f64) -> bool) -> Result {
    let (a, b) = two(args, TWO_FLOATS)?;
    match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) => Ok(Scalar::Bool(f(a, b))),
        _ => Err(Failure::Operands(TWO_FLOATS)),
    }
}

/// Changes the sign bit and nothing else, so that NaNs keep their payload.
fn on_bits(args: &[Scalar], f: fn(u128, u128) -> u128) -> Result {
    let a = one(args, ONE_FLOAT)?;
    let ty = a.scalar_type();
    if !ty.is_float() {
        return Err(Failure::Operands(ONE_FLOAT));
    }
    Ok(Scalar::from_bits(ty, f(a.to_bits(), 1 << (ty.bits() - 1))))
}

pub(super) fn add_float(args: &[Scalar]) -> Result {
    binary(args, |a, b| a + b, |a, b| a + b)
}

pub(super) fn sub_float(args: &[Scalar]) -> Result {
    binary(args, |a, b| a - b, |a, b| a - b)
}

pub(super) fn mul_float(args: &[Scalar]) -> Result {
    binary(args, |a, b| a * b, |a, b| a * b)
}

pub(super) fn div_float(args: &[Scalar]) -> Result {
    binary(args, |a, b| a / b, |a, b| a / b)
}

/// The remainder of truncated division, with the sign of the dividend: C's `fmod`.
pub(super) fn rem_float(args: &[Scalar]) -> Result {
    binary(args, |a, b| a % b, |a, b| a % b)
}

pub(super) fn neg_float(args: &[Scalar]) -> Result {
    on_bits(args, |bits, sign| bits ^ sign)
}

pub(super) fn abs_float(args: &[Scalar]) -> Result {
    on_bits(args, |bits, sign| bits & !sign)
}

pub(super) fn copysign_float(args: &[Scalar]) -> Result {
    let (a, b) = two(args, TWO_FLOATS)?;
    let ty = a.scalar_type();
    if !ty.is_float() {
        return Err(Failure::Operands(TWO_FLOATS));
    }
    let sign = 1 << (ty.bits() - 1);
    Ok(Scalar::from_bits(ty, a.to_bits() & !sign | b.to_bits() & sign))
}

/// Flips the sign of the first if the second is negative.
pub(super) fn flipsign_float(args: &[Scalar]) -> Result {
    let (a, b) = two(args, TWO_FLOATS)?;
    let ty = a.scalar_type();
    if !ty.is_float() {
        return Err(Failure::Operands(TWO_FLOATS));
    }
    let sign = 1 << (ty.bits() - 1);
    Ok(Scalar::from_bits(ty, a.to_bits() ^ b.to_bits() & sign))
}

/// `x * y + z` with one rounding.
pub(super) fn fma_float(args: &[Scalar]) -> Result {
    match args {
        [Scalar::Float64(a), Scalar::Float64(b), Scalar::Float64(c)] => Ok(Scalar::Float64(a.mul_add(*b, *c))),
        [Scalar::Float32(a), Scalar::Float32(b), Scalar::Float32(c)] => Ok(Scalar::Float32(a.mul_add(*b, *c))),
        [Scalar::Float16(a), Scalar::Float16(b), Scalar::Float16(c)] => {
            // As in Julia: the product is exact in Float32, and the sum is rounded there first.
            Ok(Scalar::Float16(f16::from_f32(a.to_f32() * b.to_f32() + c.to_f32())))
        }
        _ => Err(Failure::Operands(THREE_FLOATS)),
    }
}

/// `x * y + z`. Julia leaves it open whether it rounds once or twice; here it rounds twice.
pub(super) fn muladd_float(args: &[Scalar]) -> Result {
    match args {
        [a, b, c] => {
            add_float(&[mul_float(&[a.clone(), b.clone()])?, c.clone()]).map_err(|_| Failure::Operands(THREE_FLOATS))
        }
        _ => Err(Failure::Operands(THREE_FLOATS)),
    }
}

pub(super) fn ceil(args: &[Scalar]) -> Result {
    unary(args, f64::ceil, f32::ceil)
}

pub(super) fn floor(args: &[Scalar]) -> Result {
    unary(args, f64::floor, f32::floor)
}

pub(super) fn trunc(args: &[Scalar]) -> Result {
    unary(args, f64::trunc, f32::trunc)
}

/// To the nearest integer, ties to even.
pub(super) fn rint(args: &[Scalar]) -> Result {
    unary(args, f64::round_ties_even, f32::round_ties_even)
}

/// NaN for negative numbers.
pub(super) fn sqrt(args: &[Scalar]) -> Result {
    unary(args, f64::sqrt, f32::sqrt)
}

pub(super) fn eq_float(args: &[Scalar]) -> Result {
    compare(args, |a, b| a == b)
}

pub(super) fn ne_float(args: &[Scalar]) -> Result {
    compare(args, |a, b| a != b)
}

pub(super) fn lt_float(args: &[Scalar]) -> Result {
    compare(args, |a, b| a < b)
}

pub(super) fn le_float(args: &[Scalar]) -> Result {
    compare(args, |a, b| a <= b)
}

/// Julia's `isequal` on floats: NaNs are equal, zeros of different sign are not.
pub(super) fn fpiseq(args: &[Scalar]) -> Result {
    compare(args, |a, b| a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits())
}

/// Julia's `isless`: `-0.0` is less than `0.0`, and every number less than NaN.
pub(super) fn fpislt(args: &[Scalar]) -> Result {
    compare(args, |a, b| {
        let zeros = a == 0.0 && b == 0.0 && a.is_sign_negative() && !b.is_sign_negative();
        a < b || zeros || !a.is_nan() && b.is_nan()
    })
}

/// Julia's `min`: NaN if either is, and `-0.0` is less than `0.0`.
pub(super) fn min(args: &[Scalar]) -> Result {
    binary(
        args,
        |a, b| minimum(a, b, f64::is_nan, f64::is_sign_negative),
        |a, b| minimum(a, b, f32::is_nan, f32::is_sign_negative),
    )
}

/// Julia's `max`: NaN if either is, and `-0.0` is less than `0.0`.
pub(super) fn max(args: &[Scalar]) -> Result {
    binary(
        args,
        |a, b| maximum(a, b, f64::is_nan, f64::is_sign_negative),
        |a, b| maximum(a, b, f32::is_nan, f32::is_sign_negative),
    )
}

fn minimum<T: PartialOrd + Copy>(a: T, b: T, is_nan: fn(T) -> bool, negative: fn(T) -> bool) -> T {
    if is_nan(a) {
        a
    } else if is_nan(b) || b < a || a == b && negative(b) {
        b
    } else {
        a
    }
}

fn maximum<T: PartialOrd + Copy>(a: T, b: T, is_nan: fn(T) -> bool, negative: fn(T) -> bool) -> T {
    if is_nan(a) {
        a
    } else if is_nan(b) || a < b || a == b && negative(a) {
        b
    } else {
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> Scalar {
        Scalar::Float64(value)
    }

    #[test]
    fn signs_and_payloads_survive() {
        let nan = Scalar::from_bits(crate::ScalarType::Float64, 0x7ff8_0000_0000_0123);
        assert_eq!(neg_float(std::slice::from_ref(&nan)).unwrap().to_bits(), 0xfff8_0000_0000_0123);
        assert_eq!(abs_float(&[neg_float(std::slice::from_ref(&nan)).unwrap()]).unwrap(), nan);
        assert_eq!(neg_float(&[double(0.0)]), Ok(double(-0.0)));
        assert_eq!(copysign_float(&[double(1.0), double(-0.0)]), Ok(double(-1.0)));
        assert_eq!(flipsign_float(&[double(-2.0), double(-3.0)]), Ok(double(2.0)));
    }

    #[test]
    fn minimum_and_maximum_are_julias() {
        assert_eq!(min(&[double(0.0), double(-0.0)]), Ok(double(-0.0)));
        assert_eq!(max(&[double(-0.0), double(0.0)]), Ok(double(0.0)));
        assert!(min(&[double(f64::NAN), double(1.0)]).unwrap().as_float().unwrap().is_nan());
        assert!(max(&[double(1.0), double(f64::NAN)]).unwrap().as_float().unwrap().is_nan());
        assert_eq!(max(&[double(1.0), double(2.0)]), Ok(double(2.0)));
    }

    #[test]
    fn every_width_computes() {
        assert_eq!(add_float(&[Scalar::Float32(0.1), Scalar::Float32(0.2)]), Ok(Scalar::Float32(0.1 + 0.2)));
        let h = |v: f32| Scalar::Float16(f16::from_f32(v));
        assert_eq!(mul_float(&[h(3.0), h(0.5)]), Ok(h(1.5)));
        assert_eq!(fma_float(&[h(3.0), h(0.5), h(1.0)]), Ok(h(2.5)));
        assert!(matches!(add_float(&[double(1.0), Scalar::Float32(1.0)]), Err(Failure::Operands(_))));
        assert_eq!(rint(&[double(2.5)]), Ok(double(2.0)));
        assert_eq!(rem_float(&[double(-7.5), double(2.0)]), Ok(double(-1.5)));
    }
}
