//! Julia's generic functions on numbers, as far as they are called without having been inlined: operands of different
//! types are promoted first.

use super::{Failure, ScalarException, convert, float, int, math, one};
use crate::scalar::{Scalar, ScalarType};

const NUMBERS: &str = "numbers";

type Result<T> = std::result::Result<T, Failure>;

/// The type to which Julia's `promote_type` takes two number types.
pub fn promoted(a: ScalarType, b: ScalarType) -> Option<ScalarType> {
    if a == b {
        return Some(a);
    }
    if a == ScalarType::Char || b == ScalarType::Char {
        return None;
    }
    if a == ScalarType::Bool {
        return Some(b);
    }
    if b == ScalarType::Bool {
        return Some(a);
    }
    Some(match (a.is_float(), b.is_float()) {
        (true, true) => {
            if a.bits() > b.bits() {
                a
            } else {
                b
            }
        }
        (true, false) => a,
        (false, true) => b,
        // Of two integer types of one width, the unsigned one.
        (false, false) if a.bits() == b.bits() => {
            if a.is_signed_integer() {
                b
            } else {
                a
            }
        }
        (false, false) => {
            if a.bits() > b.bits() {
                a
            } else {
                b
            }
        }
    })
}

fn promote(args: &[Scalar]) -> Result<(ScalarType, Vec<Scalar>)> {
    let mut types = args.iter().map(Scalar::scalar_type);
    let first = types.next().ok_or(Failure::Operands(NUMBERS))?;
    let ty = types.try_fold(first, promoted).ok_or(Failure::Operands(NUMBERS))?;
    let values = args.iter().map(|arg| convert::convert(ty, arg)).collect::<Result<Vec<_>>>()?;
    Ok((ty, values))
}

/// Bools add up as integers.
fn arithmetic(
    args: &[Scalar],
    on_int: fn(&[Scalar]) -> Result<Scalar>,
    on_float: fn(&[Scalar]) -> Result<Scalar>,
) -> Result<Scalar> {
    let (ty, mut values) = promote(args)?;
    if ty == ScalarType::Bool {
        values = values.iter().map(|value| Scalar::Int64(value.to_i128() as i64)).collect();
    }
    let f = if ty.is_float() { on_float } else { on_int };
    let mut rest = values.into_iter();
    let first = rest.next().ok_or(Failure::Operands(NUMBERS))?;
    rest.try_fold(first, |sum, value| f(&[sum, value]))
}

/// A sum, from the left: two integers before a float are added as integers.
pub(super) fn add(args: &[Scalar]) -> Result<Scalar> {
    let of = |args: &[Scalar]| arithmetic(args, int::add_int, float::add_float);
    match args {
        [] | [_] => of(args),
        [first, rest @ ..] => rest.iter().try_fold(first.clone(), |sum, next| of(&[sum, next.clone()])),
    }
}

/// `a - b`, or `-a`.
pub(super) fn sub(args: &[Scalar]) -> Result<Scalar> {
    match args {
        [a] if a.scalar_type().is_float() => float::neg_float(args),
        [a] => arithmetic(&[Scalar::Int64(0), a.clone()], int::sub_int, float::sub_float)
            .and_then(|value| if a.scalar_type().is_integer() { int::neg_int(args) } else { Ok(value) }),
        _ => arithmetic(args, int::sub_int, float::sub_float),
    }
}

/// A product. `false` times a float is a zero with the float's sign, even of NaN and infinities (Julia's "strong zero").
pub(super) fn mul(args: &[Scalar]) -> Result<Scalar> {
    let mut rest = args.iter().cloned();
    let first = rest.next().ok_or(Failure::Operands(NUMBERS))?;
    rest.try_fold(first, |product, factor| match (&product, &factor) {
        (Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(*a && *b)),
        (Scalar::Bool(keep), x) | (x, Scalar::Bool(keep)) if x.scalar_type().is_float() => {
            if *keep {
                Ok(x.clone())
            } else {
                float::copysign_float(&[Scalar::from_bits(x.scalar_type(), 0), x.clone()])
            }
        }
        _ => arithmetic(&[product, factor], int::mul_int, float::mul_float),
    })
}

/// `a / b`: integers become `Float64` first.
pub(super) fn div(args: &[Scalar]) -> Result<Scalar> {
    let floats = args.iter().map(to_float).collect::<Result<Vec<_>>>()?;
    let (_, values) = promote(&floats)?;
    float::div_float(&values)
}

fn to_float(value: &Scalar) -> Result<Scalar> {
    if value.scalar_type().is_float() { Ok(value.clone()) } else { convert::convert(ScalarType::Float64, value) }
}

/// Compares numbers by their values, whatever their types.
fn ordering(args: &[Scalar]) -> Result<Option<std::cmp::Ordering>> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    if a.scalar_type() == ScalarType::Char || b.scalar_type() == ScalarType::Char {
        let same = a.scalar_type() == b.scalar_type();
        return if same { Ok(Some(a.to_bits().cmp(&b.to_bits()))) } else { Err(Failure::Operands("two numbers")) };
    }
    Ok(match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        (Some(a), None) => compare_integer(b, a).map(std::cmp::Ordering::reverse),
        (None, Some(b)) => compare_integer(a, b),
        (None, None) => Some(match (a, b) {
            (Scalar::UInt128(a), Scalar::UInt128(b)) => a.cmp(b),
            (Scalar::UInt128(a), _) => i128::try_from(**a).map_or(std::cmp::Ordering::Greater, |a| a.cmp(&b.to_i128())),
            (_, Scalar::UInt128(b)) => i128::try_from(**b).map_or(std::cmp::Ordering::Less, |b| a.to_i128().cmp(&b)),
            _ => a.to_i128().cmp(&b.to_i128()),
        }),
    })
}

fn compare_integer(integer: &Scalar, float: f64) -> Option<std::cmp::Ordering> {
    use std::cmp::Ordering;
    if float.is_nan() {
        return None;
    }
    // Every integer that is not beyond these bounds converts to i128 without loss.
    if float >= 2f64.powi(127) {
        return Some(match integer {
            Scalar::UInt128(wide) => (**wide as f64).partial_cmp(&float).unwrap_or(Ordering::Less),
            _ => Ordering::Less,
        });
    }
    if float < -(2f64.powi(127)) {
        return Some(Ordering::Greater);
    }
    let whole = float.floor();
    let integer = match integer {
        Scalar::UInt128(wide) => i128::try_from(**wide).unwrap_or(i128::MAX),
        other => other.to_i128(),
    };
    Some(match integer.cmp(&(whole as i128)) {
        Ordering::Equal if float > whole => Ordering::Less,
        other => other,
    })
}

pub(super) fn lt(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(ordering(args)?.is_some_and(|o| o.is_lt())))
}

pub(super) fn le(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(ordering(args)?.is_some_and(|o| o.is_le())))
}

pub(super) fn gt(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(ordering(args)?.is_some_and(|o| o.is_gt())))
}

pub(super) fn ge(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(ordering(args)?.is_some_and(|o| o.is_ge())))
}

pub(super) fn eq(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(ordering(args)?.is_some_and(|o| o.is_eq())))
}

pub(super) fn ne(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::Bool(!ordering(args)?.is_some_and(|o| o.is_eq())))
}

/// `x ^ y`: by squaring for integer exponents that Julia computes so, with C's `pow` otherwise.
pub(super) fn power(args: &[Scalar]) -> Result<Scalar> {
    let [x, y] = args else { return Err(Failure::Operands("two numbers")) };
    let (from, to) = (x.scalar_type(), y.scalar_type());
    if from == ScalarType::Char || to == ScalarType::Char {
        return Err(Failure::Operands("two numbers"));
    }
    if from.is_float() && !to.is_float() {
        // Julia converts the exponent: `x^n` is `x^Float64(n)`.
        let exponent = convert::convert(ScalarType::Float64, y)?;
        return match x {
            Scalar::Float64(_) => math::pow(&[x.clone(), exponent]),
            _ => math::pow(&[x.clone(), convert::convert(from, &exponent)?]),
        };
    }
    if to.is_float() {
        let (_, values) = promote(args)?;
        let floats: Vec<f64> = values.iter().filter_map(Scalar::as_float).collect();
        if let [x, y] = floats.as_slice()
            && *x < 0.0
            && y.is_finite()
            && y.trunc() != *y
            && x.is_finite()
        {
            let value = values.first().cloned().unwrap_or(Scalar::Bool(false));
            let message = "Exponentiation yielding a complex result requires a complex argument.";
            return Err(Failure::Exception(ScalarException::Domain { value, message }));
        }
        return math::pow(&values);
    }
    integer_power(x, y)
}

/// `x ^ p` for a whole number `p`, by Julia's order of squarings and multiplications.
pub(super) fn power_by_squaring(args: &[Scalar]) -> Result<Scalar> {
    let [x, p] = args else { return Err(Failure::Operands("two numbers")) };
    match (x.scalar_type().is_float(), p.scalar_type()) {
        (_, ty) if !ty.is_integer() => Err(Failure::Operands("a number and an integer")),
        (false, _) => integer_power(x, p),
        (true, _) => match u128::try_from(p.to_i128()) {
            Ok(exponent) => float_power(x, exponent),
            Err(_) => match x.as_float() {
                Some(1.0) => Ok(x.clone()),
                Some(-1.0) => float_power(x, p.to_i128().unsigned_abs()),
                _ => {
                    let message = "Cannot raise a number to a negative power by squaring. Make the exponent a float.";
                    Err(Failure::Exception(ScalarException::Domain { value: p.clone(), message }))
                }
            },
        },
    }
}

fn float_power(x: &Scalar, exponent: u128) -> Result<Scalar> {
    let square = |x: Scalar| float::mul_float(&[x.clone(), x]);
    if exponent == 0 {
        return unit(std::slice::from_ref(x));
    }
    let (mut power, mut rest) = (x.clone(), exponent);
    while rest & 1 == 0 {
        power = square(power)?;
        rest >>= 1;
    }
    let mut product = power.clone();
    rest >>= 1;
    while rest > 0 {
        power = square(power)?;
        if rest & 1 == 1 {
            product = float::mul_float(&[product, power.clone()])?;
        }
        rest >>= 1;
    }
    Ok(product)
}

/// The last element of `start:stop`, or `start - 1` where there is none.
pub(super) fn unitrange_last(args: &[Scalar]) -> Result<Scalar> {
    let (start, stop) = super::two(args, "two integers of one type")?;
    if le(&[start.clone(), stop.clone()])? == Scalar::Bool(true) {
        return Ok(stop.clone());
    }
    int::sub_int(&[start.clone(), unit(std::slice::from_ref(start))?])
}

/// The last element of `start:step:stop`, or `start - sign(step)` where there is none.
pub(super) fn steprange_last(args: &[Scalar]) -> Result<Scalar> {
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

fn integer_power(x: &Scalar, y: &Scalar) -> Result<Scalar> {
    let ty = if x.scalar_type() == ScalarType::Bool { ScalarType::Int64 } else { x.scalar_type() };
    let base = convert::convert(ty, x)?;
    let one = convert::convert(ty, &Scalar::Int64(1))?;
    let exponent = match y {
        Scalar::UInt128(wide) => **wide,
        other if other.to_i128() < 0 => {
            let minus_one = Scalar::from_bits(ty, u128::MAX);
            if base == one {
                return Ok(one);
            }
            if ty.is_signed_integer() && base == minus_one {
                return Ok(if other.to_i128() % 2 == 0 { one } else { minus_one });
            }
            let message = "Cannot raise an integer to a negative power. Make the base a float.";
            return Err(Failure::Exception(ScalarException::Domain { value: base, message }));
        }
        other => other.to_i128() as u128,
    };
    let (mut result, mut square, mut rest) = (one, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = int::mul_int(&[result, square.clone()])?;
        }
        rest >>= 1;
        if rest > 0 {
            square = int::mul_int(&[square.clone(), square])?;
        }
    }
    Ok(result)
}

fn on_integer_or_float(
    args: &[Scalar],
    on_int: fn(&[Scalar]) -> Result<Scalar>,
    on_float: fn(&[Scalar]) -> Result<Scalar>,
) -> Result<Scalar> {
    let (ty, values) = promote(args)?;
    if ty.is_float() { on_float(&values) } else { on_int(&values) }
}

pub(super) fn min(args: &[Scalar]) -> Result<Scalar> {
    on_integer_or_float(args, |args| pick(args, false), float::min)
}

pub(super) fn max(args: &[Scalar]) -> Result<Scalar> {
    on_integer_or_float(args, |args| pick(args, true), float::max)
}

fn pick(args: &[Scalar], larger: bool) -> Result<Scalar> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    let less = lt(&[a.clone(), b.clone()])? == Scalar::Bool(true);
    Ok(if less == larger { b.clone() } else { a.clone() })
}

pub(super) fn abs(args: &[Scalar]) -> Result<Scalar> {
    let value = one(args, "a number")?;
    match value.scalar_type() {
        ty if ty.is_float() => float::abs_float(args),
        ty if ty.is_signed_integer() && value.to_i128() < 0 => int::neg_int(args),
        ScalarType::Char => Err(Failure::Operands("a number")),
        _ => Ok(value.clone()),
    }
}

pub(super) fn abs2(args: &[Scalar]) -> Result<Scalar> {
    let value = one(args, "a number")?;
    mul(&[value.clone(), value.clone()])
}

pub(super) fn inv(args: &[Scalar]) -> Result<Scalar> {
    let value = to_float(one(args, "a number")?)?;
    let unit = Scalar::from_float(value.scalar_type(), 1.0).ok_or(Failure::Operands("a number"))?;
    float::div_float(&[unit, value])
}

/// -1, 0 or 1 of the same type; zeros and NaN are returned as they are.
pub(super) fn sign(args: &[Scalar]) -> Result<Scalar> {
    let value = one(args, "a number")?;
    let ty = value.scalar_type();
    match value.as_float() {
        Some(x) if x > 0.0 => Scalar::from_float(ty, 1.0).ok_or(Failure::Operands("a number")),
        Some(x) if x < 0.0 => Scalar::from_float(ty, -1.0).ok_or(Failure::Operands("a number")),
        Some(_) => Ok(value.clone()),
        None => convert::convert(
            ty,
            &Scalar::Int64(match value {
                Scalar::UInt128(wide) => i64::from(**wide > 0),
                other => other.to_i128().signum() as i64,
            }),
        ),
    }
}

pub(super) fn signbit(args: &[Scalar]) -> Result<Scalar> {
    let value = one(args, "a number")?;
    let ty = value.scalar_type();
    let has_sign = ty.is_float() || ty.is_signed_integer();
    Ok(Scalar::Bool(has_sign && value.to_bits() >> (ty.bits() - 1) == 1))
}

pub(super) fn copysign(args: &[Scalar]) -> Result<Scalar> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    let negative = signbit(std::slice::from_ref(b))?;
    let magnitude = abs(std::slice::from_ref(a))?;
    if negative == Scalar::Bool(true) { sub(&[magnitude]) } else { Ok(magnitude) }
}

pub(super) fn flipsign(args: &[Scalar]) -> Result<Scalar> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    if signbit(std::slice::from_ref(b))? == Scalar::Bool(true) { sub(std::slice::from_ref(a)) } else { Ok(a.clone()) }
}

fn rounding(args: &[Scalar], f: fn(&[Scalar]) -> Result<Scalar>) -> Result<Scalar> {
    let value = one(args, "a number")?;
    match value.scalar_type() {
        ty if ty.is_float() => f(args),
        ScalarType::Char => Err(Failure::Operands("a number")),
        _ => Ok(value.clone()),
    }
}

pub(super) fn floor(args: &[Scalar]) -> Result<Scalar> {
    rounding(args, float::floor)
}

pub(super) fn ceil(args: &[Scalar]) -> Result<Scalar> {
    rounding(args, float::ceil)
}

pub(super) fn trunc(args: &[Scalar]) -> Result<Scalar> {
    rounding(args, float::trunc)
}

pub(super) fn round(args: &[Scalar]) -> Result<Scalar> {
    rounding(args, float::rint)
}

pub(super) fn rem(args: &[Scalar]) -> Result<Scalar> {
    let signed_or_not = |args: &[Scalar]| match args.first().map(Scalar::scalar_type) {
        Some(ty) if ty.is_signed_integer() => int::srem_int(args),
        _ => int::urem_int(args),
    };
    on_integer_or_float(args, signed_or_not, float::rem_float)
}

/// The quotient cut toward zero.
pub(super) fn quotient(args: &[Scalar]) -> Result<Scalar> {
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
pub(super) fn modulo(args: &[Scalar]) -> Result<Scalar> {
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

pub(super) fn clamp(args: &[Scalar]) -> Result<Scalar> {
    let (_, values) = promote(args)?;
    let [x, low, high] = values.as_slice() else { return Err(Failure::Operands("three numbers")) };
    if lt(&[high.clone(), x.clone()])? == Scalar::Bool(true) {
        Ok(high.clone())
    } else if lt(&[x.clone(), low.clone()])? == Scalar::Bool(true) {
        Ok(low.clone())
    } else {
        Ok(x.clone())
    }
}

/// `x * 2^n`, rounded once.
pub(super) fn ldexp(args: &[Scalar]) -> Result<Scalar> {
    const EXPECTED: Failure = Failure::Operands("a float and an integer");
    let [x, n] = args else { return Err(EXPECTED) };
    let (Some(value), true) = (x.as_float(), n.scalar_type().is_integer()) else { return Err(EXPECTED) };
    let exponent = n.to_i128().clamp(-5000, 5000) as i32;
    // Powers of two are exact in the wider type, so that the narrower ones are rounded once too.
    Scalar::from_float(x.scalar_type(), libm::ldexp(value, exponent)).ok_or(EXPECTED)
}

/// Julia's total order of numbers: `-0.0` before `0.0`, NaN last.
pub(super) fn isless(args: &[Scalar]) -> Result<Scalar> {
    let (_, values) = promote(args)?;
    match values.as_slice() {
        [a, b] if a.scalar_type().is_float() => float::fpislt(&[a.clone(), b.clone()]),
        _ => lt(args),
    }
}

/// The greatest common divisor of two integers.
pub(super) fn gcd(args: &[Scalar]) -> Result<Scalar> {
    const EXPECTED: Failure = Failure::Operands("two integers of up to 64 bits");
    let (ty, values) = promote(args)?;
    let [a, b] = values.as_slice() else { return Err(EXPECTED) };
    if !ty.is_integer() || ty.bits() > 64 {
        return Err(EXPECTED);
    }
    let (mut a, mut b) = (a.to_i128().unsigned_abs(), b.to_i128().unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let overflow = Failure::Exception(ScalarException::Overflow("checked arithmetic: cannot store the gcd"));
    i128::try_from(a).ok().and_then(|a| Scalar::from_i128(ty, a)).ok_or(overflow)
}

pub(super) fn zero(args: &[Scalar]) -> Result<Scalar> {
    Ok(Scalar::from_bits(one(args, "a number")?.scalar_type(), 0))
}

pub(super) fn unit(args: &[Scalar]) -> Result<Scalar> {
    convert::convert(one(args, "a number")?.scalar_type(), &Scalar::Bool(true))
}

pub(super) fn to_floating(args: &[Scalar]) -> Result<Scalar> {
    to_float(one(args, "a number")?)
}

fn predicate(args: &[Scalar], f: fn(&Scalar) -> Option<bool>) -> Result<Scalar> {
    f(one(args, "a number")?).map(Scalar::Bool).ok_or(Failure::Operands("a number"))
}

pub(super) fn isnan(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| Some(x.as_float().is_some_and(f64::is_nan)))
}

pub(super) fn isinf(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| Some(x.as_float().is_some_and(f64::is_infinite)))
}

pub(super) fn isfinite(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| Some(x.as_float().is_none_or(f64::is_finite)))
}

pub(super) fn iszero(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| Some(x.as_float().map_or(x.to_bits() == 0, |x| x == 0.0)))
}

pub(super) fn isone(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| Some(x.as_float().map_or(x.to_bits() == 1, |x| x == 1.0)))
}

pub(super) fn iseven(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| match x.as_float() {
        None => Some(x.to_bits() & 1 == 0),
        Some(x) => Some(x % 2.0 == 0.0),
    })
}

pub(super) fn isodd(args: &[Scalar]) -> Result<Scalar> {
    predicate(args, |x| match x.as_float() {
        None => Some(x.to_bits() & 1 == 1),
        Some(x) => Some((x % 2.0).abs() == 1.0),
    })
}

/// `!x` of a `Bool`.
pub(super) fn not(args: &[Scalar]) -> Result<Scalar> {
    match args {
        [Scalar::Bool(value)] => Ok(Scalar::Bool(!value)),
        _ => Err(Failure::Operands("a Bool")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> Scalar {
        Scalar::Int64(value)
    }

    fn double(value: f64) -> Scalar {
        Scalar::Float64(value)
    }

    #[test]
    fn operands_are_promoted() {
        assert_eq!(add(&[int(1), double(0.5)]), Ok(double(1.5)));
        assert_eq!(add(&[Scalar::Bool(true), Scalar::Bool(true)]), Ok(int(2)));
        assert_eq!(mul(&[Scalar::Int32(3), int(4)]), Ok(int(12)));
        assert_eq!(div(&[int(1), int(2)]), Ok(double(0.5)));
        assert_eq!(add(&[int(1), int(2), int(3)]), Ok(int(6)));
        assert_eq!(sub(&[int(5)]), Ok(int(-5)));
        assert_eq!(promoted(ScalarType::Int64, ScalarType::UInt64), Some(ScalarType::UInt64));
    }

    #[test]
    fn comparisons_are_exact() {
        let big = 1i64 << 53;
        assert_eq!(lt(&[double(big as f64), int(big + 1)]), Ok(Scalar::Bool(true)));
        assert_eq!(eq(&[double(big as f64), int(big + 1)]), Ok(Scalar::Bool(false)));
        assert_eq!(lt(&[int(1), double(1.5)]), Ok(Scalar::Bool(true)));
        assert_eq!(lt(&[int(-1), double(-1.5)]), Ok(Scalar::Bool(false)));
        assert_eq!(ge(&[int(1), double(f64::NAN)]), Ok(Scalar::Bool(false)));
        assert_eq!(lt(&[int(1), double(f64::INFINITY)]), Ok(Scalar::Bool(true)));
    }

    #[test]
    fn powers_are_julias() {
        assert_eq!(power(&[int(3), int(4)]), Ok(int(81)));
        assert_eq!(power(&[double(2.0), int(-1)]), Ok(double(0.5)));
        assert!(power(&[int(2), int(-1)]).is_err());
        assert_eq!(power(&[int(-1), int(-3)]), Ok(int(-1)));
        assert!(power(&[double(-1.0), double(0.5)]).is_err());
        assert_eq!(power(&[double(-2.0), double(3.0)]), Ok(double(-8.0)));
        assert_eq!(power_by_squaring(&[double(-2.0), int(11)]), Ok(double(-2048.0)));
        assert_eq!(power_by_squaring(&[double(3.0), int(12)]), Ok(double(531441.0)));
        assert_eq!(power_by_squaring(&[double(-1.0), int(-3)]), Ok(double(-1.0)));
        assert!(power_by_squaring(&[double(2.0), int(-1)]).is_err());
    }

    #[test]
    fn false_is_a_strong_zero() {
        assert_eq!(mul(&[Scalar::Bool(false), double(f64::NEG_INFINITY)]), Ok(double(-0.0)));
        assert_eq!(
            mul(&[double(f64::NAN), Scalar::Bool(true)]).map(|x| x.as_float().is_some_and(f64::is_nan)),
            Ok(true)
        );
        assert_eq!(mul(&[Scalar::Bool(true), Scalar::Bool(true)]), Ok(Scalar::Bool(true)));
    }

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
}
