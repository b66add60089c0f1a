//! Quotients and remainders, and the last elements of ranges.

use super::{Result, abs, extended, le, on_integer_or_float, promote, type_of, unit};
use crate::primitives::{Failure, ResultType, ScalarException, float, int, two};
use crate::scalar::{Scalar, ScalarType};

/// Whether one is a signed integer and the other an unsigned one. Julia does not promote these: results have the sign
/// of one of them.
fn is_mixed(x: &Scalar, y: &Scalar) -> bool {
    let (x, y) = (x.scalar_type(), y.scalar_type());
    x.is_integer() && y.is_integer() && x.is_signed_integer() != y.is_signed_integer()
}

/// Whether an integer is negative, and its absolute value.
fn size(value: &Scalar) -> (bool, u128) {
    match value {
        Scalar::UInt128(wide) => (false, **wide),
        other => (other.to_i128() < 0, other.to_i128().unsigned_abs()),
    }
}

/// The remainder with the sign of the dividend.
pub(in crate::primitives) fn rem(args: &[Scalar]) -> Result<Scalar> {
    match args {
        [x, y] if is_mixed(x, y) => {
            let ty = type_of(ResultType::SignedAs(0), args)?;
            let (negative, size) = size(x);
            let rest = size.checked_rem(self::size(y).1).ok_or(Failure::Exception(ScalarException::Divide))?;
            Ok(Scalar::from_bits(ty, if negative { rest.wrapping_neg() } else { rest }))
        }
        _ => on_integer_or_float(args, remainder_of_integers, float::rem_float),
    }
}

fn remainder_of_integers(args: &[Scalar]) -> Result<Scalar> {
    match args.first().map(Scalar::scalar_type) {
        Some(ty) if ty.is_signed_integer() => int::srem_int(args),
        _ => int::urem_int(args),
    }
}

/// The quotient cut toward zero.
pub(in crate::primitives) fn quotient(args: &[Scalar]) -> Result<Scalar> {
    if let [x, y] = args
        && is_mixed(x, y)
    {
        let ty = type_of(ResultType::SignedAs(0), args)?;
        let ((x_negative, x), (y_negative, y)) = (size(x), size(y));
        let quotient = x.checked_div(y).ok_or(Failure::Exception(ScalarException::Divide))?;
        let negative = x_negative != y_negative;
        return Ok(Scalar::from_bits(ty, if negative { quotient.wrapping_neg() } else { quotient }));
    }
    let signed_or_not = |args: &[Scalar]| match args.first().map(Scalar::scalar_type) {
        Some(ty) if ty.is_signed_integer() => int::sdiv_int(args),
        _ => int::udiv_int(args),
    };
    on_integer_or_float(args, signed_or_not, |args| {
        let [x, y] = args else { return Err(Failure::Operands("two numbers")) };
        let rest = float::rem_float(args)?;
        let exact = float::div_float(&[float::sub_float(&[x.clone(), rest])?, y.clone()])?;
        float::rint(&[exact])
    })
}

/// The remainder with the sign of the divisor.
pub(in crate::primitives) fn modulo(args: &[Scalar]) -> Result<Scalar> {
    if let [x, y] = args
        && is_mixed(x, y)
    {
        // `rem(y + rem(x, y), y)` in the type of the divisor, as wide as the wider of the two.
        let ty = type_of(ResultType::SignedAs(1), args)?;
        let [rest, divisor] = [&rem(args)?, y].map(|value| Scalar::from_bits(ty, extended(value)));
        return remainder_of_integers(&[int::add_int(&[divisor.clone(), rest])?, divisor]);
    }
    let (_, values) = promote(args)?;
    let [_, y] = values.as_slice() else { return Err(Failure::Operands("two numbers")) };
    let rest = rem(&values)?;
    if let (Some(r), Some(d)) = (rest.as_float(), y.as_float()) {
        return if r == 0.0 {
            float::copysign_float(&[rest, y.clone()])
        } else if (r > 0.0) != (d > 0.0) {
            float::add_float(&[rest, y.clone()])
        } else {
            Ok(rest)
        };
    }
    let negative = |value: &Scalar| value.scalar_type().is_signed_integer() && value.to_i128() < 0;
    let zero = rest.to_bits() == 0;
    if !zero && negative(&rest) != negative(y) { int::add_int(&[rest, y.clone()]) } else { Ok(rest) }
}

/// The greatest common divisor of two integers. Of one that may be negative and one that may not, the size of the first
/// is taken before they are promoted.
pub(in crate::primitives) fn gcd(args: &[Scalar]) -> Result<Scalar> {
    const EXPECTED: Failure = Failure::Operands("two integers");
    let (ty, values) = match args {
        [a, b] if is_mixed(a, b) => promote(&[abs(std::slice::from_ref(a))?, abs(std::slice::from_ref(b))?])?,
        args => promote(args)?,
    };
    let [a, b] = values.as_slice() else { return Err(EXPECTED) };
    if ty.is_float() || ty == ScalarType::Char {
        return Err(EXPECTED);
    }
    let ((_, mut a), (_, mut b)) = (size(a), size(b));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let divisor = Scalar::from_bits(ty, a);
    match size(&divisor) {
        (true, _) => {
            let message = "checked arithmetic: cannot store the gcd";
            Err(Failure::Exception(ScalarException::Overflow(message)))
        }
        _ => Ok(divisor),
    }
}

/// The last element of `start:stop`, or `start - 1` where there is none.
pub(in crate::primitives) fn unitrange_last(args: &[Scalar]) -> Result<Scalar> {
    let (start, stop) = two(args, "two integers of one type")?;
    if le(&[start.clone(), stop.clone()])? == Scalar::Bool(true) {
        return Ok(stop.clone());
    }
    int::sub_int(&[start.clone(), unit(std::slice::from_ref(start))?])
}

/// The last element of `start:step:stop`, or `start - sign(step)` where there is none.
pub(in crate::primitives) fn steprange_last(args: &[Scalar]) -> Result<Scalar> {
    const EXPECTED: Failure = Failure::Operands("three integers, of which the first and last have one type");
    let [start, step, stop] = args else { return Err(EXPECTED) };
    let ty = start.scalar_type();
    if !ty.is_integer() || stop.scalar_type() != ty || !step.scalar_type().is_integer() || ty.bits() > 64 {
        return Err(EXPECTED);
    }
    let (first, by, last) = (start.to_i128(), step.to_i128(), stop.to_i128());
    let end = match by {
        0 => {
            let message = "step cannot be zero";
            return Err(Failure::Exception(ScalarException::Argument(message)));
        }
        _ if first == last || (by > 0) == (last > first) => first + (last - first) / by * by,
        _ => first - by.signum(),
    };
    Ok(Scalar::from_bits(ty, end as u128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::generic::tests::{double, int};
    use crate::primitives::generic::{clamp, sign};

    #[test]
    fn ranges_end_at_their_last_element() {
        let last = |start, step, stop| steprange_last(&[int(start), int(step), int(stop)]);
        assert_eq!(last(1, 2, 6), Ok(int(5)));
        assert_eq!(last(5, -2, 0), Ok(int(1)));
        assert_eq!(last(5, 1, 1), Ok(int(4)));
        assert_eq!(last(1, -1, 5), Ok(int(2)));
        assert_eq!(last(i64::MIN, i64::MAX, i64::MAX), Ok(int(i64::MAX - 1)));
        assert!(last(1, 0, 5).is_err());
        assert_eq!(unitrange_last(&[int(3), int(1)]), Ok(int(2)));
    }

    #[test]
    fn remainders_follow_their_operand() {
        assert_eq!(rem(&[int(-7), int(2)]), Ok(int(-1)));
        assert_eq!(modulo(&[int(-7), int(2)]), Ok(int(1)));
        assert_eq!(modulo(&[double(-7.5), double(2.0)]), Ok(double(0.5)));
        assert_eq!(quotient(&[double(7.5), double(2.0)]), Ok(double(3.0)));
        assert_eq!(quotient(&[int(-7), int(2)]), Ok(int(-3)));
        assert_eq!(clamp(&[double(2.0), int(0), int(1)]), Ok(double(1.0)));
        assert_eq!(sign(&[double(-0.0)]), Ok(double(-0.0)));
    }

    /// What Julia 1.5 gives.
    #[test]
    fn signed_and_unsigned_integers_divide_as_they_are() {
        let (a, b) = (int(-7), Scalar::UInt64(2));
        assert_eq!(rem(&[a.clone(), b.clone()]), Ok(int(-1)));
        assert_eq!(quotient(&[a.clone(), b.clone()]), Ok(int(-3)));
        assert_eq!(modulo(&[a.clone(), b.clone()]), Ok(Scalar::UInt64(1)));
        assert_eq!(rem(&[b.clone(), a.clone()]), Ok(Scalar::UInt64(2)));
        assert_eq!(quotient(&[Scalar::UInt64(15), a.clone()]), Ok(Scalar::UInt64(2u64.wrapping_neg())));
        assert_eq!(modulo(&[b, a]), Ok(int(-5)));
        assert_eq!(rem(&[Scalar::UInt8(200), int(7)]), Ok(Scalar::UInt64(4)));
        assert!(rem(&[int(1), Scalar::UInt8(0)]).is_err());
    }
}
