//! Integer intrinsics. All widths are computed alike: on the bits, cut to the width of the type.

use super::{Failure, ScalarException, one, two};
use crate::scalar::{Scalar, ScalarType};

const TWO_INTEGERS: &str = "two integers of the same type";
const TWO_OF_A_TYPE: &str = "two numbers of the same type";
const ONE_INTEGER: &str = "an integer";

type Result<T> = std::result::Result<T, Failure>;

/// The width in which a type computes: `Bool` computes in one bit, `Char` in 32.
fn is_bits(ty: ScalarType) -> bool {
    !ty.is_float()
}

fn binary(args: &[Scalar], fast: fn(i64, i64) -> i64, wide: fn(u128, u128) -> u128) -> Result<Scalar> {
    if let [Scalar::Int64(a), Scalar::Int64(b)] = args {
        return Ok(Scalar::Int64(fast(*a, *b)));
    }
    let (a, b) = two(args, TWO_INTEGERS)?;
    let ty = a.scalar_type();
    if !is_bits(ty) {
        return Err(Failure::Operands(TWO_INTEGERS));
    }
    Ok(Scalar::from_bits(ty, wide(a.to_bits(), b.to_bits())))
}

pub(super) fn add_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, i64::wrapping_add, u128::wrapping_add)
}

pub(super) fn sub_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, i64::wrapping_sub, u128::wrapping_sub)
}

pub(super) fn mul_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, i64::wrapping_mul, u128::wrapping_mul)
}

pub(super) fn and_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, |a, b| a & b, |a, b| a & b)
}

pub(super) fn or_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, |a, b| a | b, |a, b| a | b)
}

pub(super) fn xor_int(args: &[Scalar]) -> Result<Scalar> {
    binary(args, |a, b| a ^ b, |a, b| a ^ b)
}

fn unary(args: &[Scalar], f: fn(u128, u32) -> u128) -> Result<Scalar> {
    let a = one(args, ONE_INTEGER)?;
    let ty = a.scalar_type();
    if !is_bits(ty) {
        return Err(Failure::Operands(ONE_INTEGER));
    }
    Ok(Scalar::from_bits(ty, f(a.to_bits(), ty.bits())))
}

pub(super) fn neg_int(args: &[Scalar]) -> Result<Scalar> {
    unary(args, |a, _| a.wrapping_neg())
}

pub(super) fn not_int(args: &[Scalar]) -> Result<Scalar> {
    if let [Scalar::Bool(value)] = args {
        return Ok(Scalar::Bool(!value));
    }
    unary(args, |a, _| !a)
}

pub(super) fn bswap_int(args: &[Scalar]) -> Result<Scalar> {
    unary(args, |a, bits| a.swap_bytes() >> (128 - bits))
}

pub(super) fn ctpop_int(args: &[Scalar]) -> Result<Scalar> {
    unary(args, |a, _| a.count_ones().into())
}

pub(super) fn ctlz_int(args: &[Scalar]) -> Result<Scalar> {
    unary(args, |a, bits| (a.leading_zeros() - (128 - bits)).into())
}

pub(super) fn cttz_int(args: &[Scalar]) -> Result<Scalar> {
    unary(args, |a, bits| a.trailing_zeros().min(bits).into())
}

/// Compares bits, as Julia does: its library sorts floats of one sign by them.
fn compare(args: &[Scalar], fast: fn(i64, i64) -> bool, wide: fn(&Scalar, &Scalar) -> bool) -> Result<Scalar> {
    if let [Scalar::Int64(a), Scalar::Int64(b)] = args {
        return Ok(Scalar::Bool(fast(*a, *b)));
    }
    let (a, b) = two(args, TWO_OF_A_TYPE)?;
    Ok(Scalar::Bool(wide(a, b)))
}

pub(super) fn eq_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| a == b, |a, b| a.to_bits() == b.to_bits())
}

pub(super) fn ne_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| a != b, |a, b| a.to_bits() != b.to_bits())
}

pub(super) fn slt_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| a < b, |a, b| signed(a) < signed(b))
}

pub(super) fn sle_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| a <= b, |a, b| signed(a) <= signed(b))
}

pub(super) fn ult_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| (a as u64) < b as u64, |a, b| a.to_bits() < b.to_bits())
}

pub(super) fn ule_int(args: &[Scalar]) -> Result<Scalar> {
    compare(args, |a, b| a as u64 <= b as u64, |a, b| a.to_bits() <= b.to_bits())
}

/// The bits read as a signed number, whatever the type says.
fn signed(value: &Scalar) -> i128 {
    let shift = 128 - value.scalar_type().bits();
    ((value.to_bits() << shift) as i128) >> shift
}

fn divide(args: &[Scalar], quotient: fn(&Scalar, &Scalar) -> Option<u128>) -> Result<Scalar> {
    let (a, b) = two(args, TWO_INTEGERS)?;
    let ty = a.scalar_type();
    if !is_bits(ty) {
        return Err(Failure::Operands(TWO_INTEGERS));
    }
    if b.to_bits() == 0 {
        return Err(Failure::Exception(ScalarException::Divide));
    }
    match quotient(a, b) {
        Some(bits) => Ok(Scalar::from_bits(ty, bits)),
        None => Err(Failure::Exception(ScalarException::Divide)),
    }
}

/// The quotient of the smallest number and -1 does not fit: Julia throws a `DivideError`.
pub(super) fn sdiv_int(args: &[Scalar]) -> Result<Scalar> {
    divide(args, |a, b| {
        let (x, y) = (signed(a), signed(b));
        let smallest = i128::MIN >> (128 - a.scalar_type().bits());
        if x == smallest && y == -1 { None } else { x.checked_div(y).map(|q| q as u128) }
    })
}

pub(super) fn srem_int(args: &[Scalar]) -> Result<Scalar> {
    divide(args, |a, b| Some(signed(a).wrapping_rem(signed(b)) as u128))
}

pub(super) fn udiv_int(args: &[Scalar]) -> Result<Scalar> {
    divide(args, |a, b| a.to_bits().checked_div(b.to_bits()))
}

pub(super) fn urem_int(args: &[Scalar]) -> Result<Scalar> {
    divide(args, |a, b| a.to_bits().checked_rem(b.to_bits()))
}

fn shift(args: &[Scalar], f: fn(&Scalar, u32) -> u128, overflow: fn(&Scalar) -> u128) -> Result<Scalar> {
    const EXPECTED: &str = "an integer and a number of bits";
    let [a, amount] = args else { return Err(Failure::Operands(EXPECTED)) };
    let ty = a.scalar_type();
    if !is_bits(ty) || !is_bits(amount.scalar_type()) {
        return Err(Failure::Operands(EXPECTED));
    }
    let amount = amount.to_bits();
    let bits = if amount >= u128::from(ty.bits()) { overflow(a) } else { f(a, amount as u32) };
    Ok(Scalar::from_bits(ty, bits))
}

pub(super) fn shl_int(args: &[Scalar]) -> Result<Scalar> {
    shift(args, |a, n| a.to_bits() << n, |_| 0)
}

pub(super) fn lshr_int(args: &[Scalar]) -> Result<Scalar> {
    shift(args, |a, n| a.to_bits() >> n, |_| 0)
}

pub(super) fn ashr_int(args: &[Scalar]) -> Result<Scalar> {
    shift(args, |a, n| (signed(a) >> n) as u128, |a| (signed(a) >> 127) as u128)
}

pub(super) fn flipsign_int(args: &[Scalar]) -> Result<Scalar> {
    let (a, b) = two(args, TWO_INTEGERS)?;
    if !a.scalar_type().is_integer() {
        return Err(Failure::Operands(TWO_INTEGERS));
    }
    Ok(if signed(b) < 0 { Scalar::from_bits(a.scalar_type(), a.to_bits().wrapping_neg()) } else { a.clone() })
}

/// An operation that Julia has with a check for overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// `checked_sadd_int`, `checked_uadd_int`.
    Add,
    /// `checked_ssub_int`, `checked_usub_int`.
    Sub,
    /// `checked_smul_int`, `checked_umul_int`.
    Mul,
}

/// The wrapped result of an integer operation, and whether it overflowed. `signed_operation` says how the operands are
/// read, whatever their type is.
///
/// # Errors
///
/// [`Failure::Operands`] if the operands are not two integers of the same type.
pub fn overflowing(operation: Overflow, signed_operation: bool, a: &Scalar, b: &Scalar) -> Result<(Scalar, bool)> {
    let ty = a.scalar_type();
    if ty != b.scalar_type() || !ty.is_integer() {
        return Err(Failure::Operands(TWO_INTEGERS));
    }
    let (bits, fits) = if signed_operation {
        let (x, y) = (signed(a), signed(b));
        let (wide, overflow) = match operation {
            Overflow::Add => x.overflowing_add(y),
            Overflow::Sub => x.overflowing_sub(y),
            Overflow::Mul => x.overflowing_mul(y),
        };
        let shift = 128 - ty.bits();
        (wide as u128, !overflow && (wide << shift) >> shift == wide)
    } else {
        let (x, y) = (a.to_bits(), b.to_bits());
        let (wide, overflow) = match operation {
            Overflow::Add => x.overflowing_add(y),
            Overflow::Sub => x.overflowing_sub(y),
            Overflow::Mul => x.overflowing_mul(y),
        };
        let shift = 128 - ty.bits();
        (wide, !overflow && (wide << shift) >> shift == wide)
    };
    Ok((Scalar::from_bits(ty, bits), !fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int8(value: i8) -> Scalar {
        Scalar::Int8(value)
    }

    #[test]
    fn small_widths_wrap() {
        assert_eq!(add_int(&[int8(127), int8(1)]), Ok(int8(-128)));
        assert_eq!(mul_int(&[Scalar::UInt8(200), Scalar::UInt8(2)]), Ok(Scalar::UInt8(144)));
        assert_eq!(neg_int(&[int8(-128)]), Ok(int8(-128)));
        assert_eq!(ashr_int(&[int8(-128), Scalar::Int64(9)]), Ok(int8(-1)));
        assert_eq!(lshr_int(&[int8(-128), Scalar::Int64(7)]), Ok(int8(1)));
        assert_eq!(ctlz_int(&[Scalar::Int16(1)]), Ok(Scalar::Int16(15)));
        assert_eq!(cttz_int(&[Scalar::Int16(0)]), Ok(Scalar::Int16(16)));
        assert_eq!(bswap_int(&[Scalar::UInt16(0x1234)]), Ok(Scalar::UInt16(0x3412)));
        let wide = Scalar::Int128(Box::new(i128::MAX));
        assert_eq!(add_int(&[wide.clone(), wide]), Ok(Scalar::Int128(Box::new(-2))));
    }

    #[test]
    fn signs_are_those_of_the_operation() {
        assert_eq!(slt_int(&[Scalar::UInt8(255), Scalar::UInt8(0)]), Ok(Scalar::Bool(true)));
        assert_eq!(ult_int(&[int8(-1), int8(0)]), Ok(Scalar::Bool(false)));
        assert_eq!(sle_int(&[Scalar::Int64(3), Scalar::Int64(3)]), Ok(Scalar::Bool(true)));
        // Of negative floats, the larger ones have the smaller bits.
        assert_eq!(slt_int(&[Scalar::Float64(-1.0), Scalar::Float64(-2.0)]), Ok(Scalar::Bool(true)));
        assert_eq!(ult_int(&[Scalar::Float32(2.0), Scalar::Float32(1.0)]), Ok(Scalar::Bool(false)));
    }

    #[test]
    fn division_fails_as_in_julia() {
        let divide = Err(Failure::Exception(ScalarException::Divide));
        assert_eq!(sdiv_int(&[int8(1), int8(0)]), divide);
        assert_eq!(sdiv_int(&[int8(-128), int8(-1)]), divide);
        assert_eq!(srem_int(&[int8(-128), int8(-1)]), Ok(int8(0)));
        assert_eq!(sdiv_int(&[Scalar::Int64(-7), Scalar::Int64(2)]), Ok(Scalar::Int64(-3)));
        assert_eq!(urem_int(&[Scalar::UInt64(7), Scalar::UInt64(4)]), Ok(Scalar::UInt64(3)));
    }

    #[test]
    fn overflow_is_seen_at_every_width() {
        let check = |op, signed, a: Scalar, b: Scalar| overflowing(op, signed, &a, &b).unwrap();
        assert_eq!(check(Overflow::Add, true, int8(127), int8(1)), (int8(-128), true));
        assert_eq!(check(Overflow::Sub, false, Scalar::UInt8(0), Scalar::UInt8(1)), (Scalar::UInt8(255), true));
        assert_eq!(check(Overflow::Mul, true, Scalar::Int64(3), Scalar::Int64(4)), (Scalar::Int64(12), false));
        assert_eq!(check(Overflow::Mul, true, Scalar::Int64(i64::MAX), Scalar::Int64(2)), (Scalar::Int64(-2), true));
        let big = Scalar::UInt128(Box::new(u128::MAX));
        assert!(check(Overflow::Add, false, big.clone(), big).1);
    }

    #[test]
    fn operands_of_other_types_are_refused() {
        assert!(matches!(add_int(&[Scalar::Int64(1), Scalar::Int32(1)]), Err(Failure::Operands(_))));
        assert!(matches!(add_int(&[Scalar::Float64(1.0), Scalar::Float64(1.0)]), Err(Failure::Operands(_))));
        assert!(matches!(add_int(&[Scalar::Int64(1)]), Err(Failure::Operands(_))));
    }
}
