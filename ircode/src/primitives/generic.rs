//! Julia's generic functions on numbers, as far as they are called without having been inlined: operands of different
//! types are promoted first.

mod division;
mod powers;

pub(super) use division::{gcd, modulo, quotient, rem, steprange_last, unitrange_last};
pub(super) use powers::{power, power_by_squaring};

use super::{Failure, ResultType, convert, float, int, one};
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

pub(super) fn promote(args: &[Scalar]) -> Result<(ScalarType, Vec<Scalar>)> {
    let mut types = args.iter().map(Scalar::scalar_type);
    let first = types.next().ok_or(Failure::Operands(NUMBERS))?;
    let ty = types.try_fold(first, promoted).ok_or(Failure::Operands(NUMBERS))?;
    let values = args.iter().map(|arg| convert::convert(ty, arg)).collect::<Result<Vec<_>>>()?;
    Ok((ty, values))
}

/// The type that a result has for these operands.
fn type_of(result: ResultType, args: &[Scalar]) -> Result<ScalarType> {
    let types: Vec<ScalarType> = args.iter().map(Scalar::scalar_type).collect();
    result.of_numbers(&types).ok_or(Failure::Operands(NUMBERS))
}

/// The bits of an integer of any type, those that it does not have as its sign is.
fn extended(value: &Scalar) -> u128 {
    match value {
        Scalar::UInt128(wide) => **wide,
        other => other.to_i128() as u128,
    }
}

/// Bools add up as integers, and integers of different types wrap around.
fn arithmetic(
    args: &[Scalar],
    on_int: fn(&[Scalar]) -> Result<Scalar>,
    on_float: fn(&[Scalar]) -> Result<Scalar>,
) -> Result<Scalar> {
    let ty = type_of(ResultType::Sum, args)?;
    let (f, values) = match ty.is_float() {
        true => (on_float, promote(args)?.1),
        false => (on_int, args.iter().map(|arg| Scalar::from_bits(ty, extended(arg))).collect()),
    };
    let mut rest = values.into_iter();
    let first = rest.next().ok_or(Failure::Operands(NUMBERS))?;
    rest.try_fold(first, |sum, value| f(&[sum, value]))
}

/// A sum, from the left: two integers before a float are added as integers. Adding `false` to a float leaves it as it
/// is.
pub(super) fn add(args: &[Scalar]) -> Result<Scalar> {
    let of = |args: &[Scalar]| match args {
        [Scalar::Bool(false), x] | [x, Scalar::Bool(false)] if x.scalar_type().is_float() => Ok(x.clone()),
        args => arithmetic(args, int::add_int, float::add_float),
    };
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

/// A product. `false` times a float is a zero with the float's sign, even of NaN and infinities (Julia's "strong
/// zero").
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

/// `a / b`: in the type to which they are promoted; integers become `Float64`.
pub(super) fn div(args: &[Scalar]) -> Result<Scalar> {
    float::div_float(&floats(args)?)
}

/// Numbers in the float type to which they are promoted, `Float64` for integers.
pub(super) fn floats(args: &[Scalar]) -> Result<Vec<Scalar>> {
    let ty = type_of(ResultType::Float, args)?;
    args.iter().map(|arg| convert::convert(ty, arg)).collect()
}

/// `x * y + z` of numbers of one type; floats as [`float::muladd_float`].
pub(super) fn muladd(args: &[Scalar]) -> Result<Scalar> {
    let (ty, values) = promote(args)?;
    if ty.is_float() { float::muladd_float(&values) } else { multiplied_and_added(&values) }
}

/// `x * y + z`, of floats with one rounding.
pub(super) fn fma(args: &[Scalar]) -> Result<Scalar> {
    match args.iter().any(|arg| arg.scalar_type().is_float()) {
        true => float::fma_float(&promote(args)?.1),
        false => multiplied_and_added(args),
    }
}

fn multiplied_and_added(args: &[Scalar]) -> Result<Scalar> {
    match args {
        [x, y, z] if args.iter().any(|arg| arg.scalar_type().is_integer()) => {
            add(&[mul(&[x.clone(), y.clone()])?, z.clone()])
        }
        _ => Err(Failure::Operands("three numbers, not all of type Bool")),
    }
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
    // Between these bounds a float without what is behind the point is an i128.
    if float >= 2f64.powi(127) {
        return Some(match integer {
            Scalar::UInt128(wide) if float < 2f64.powi(128) => (**wide).cmp(&(float as u128)),
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
    let negative = signbit(std::slice::from_ref(b))? == Scalar::Bool(true);
    let magnitude = add(&[abs(std::slice::from_ref(a))?])?;
    if negative { sub(&[magnitude]) } else { Ok(magnitude) }
}

pub(super) fn flipsign(args: &[Scalar]) -> Result<Scalar> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    let negative = signbit(std::slice::from_ref(b))? == Scalar::Bool(true);
    if negative { sub(std::slice::from_ref(a)) } else { add(std::slice::from_ref(a)) }
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

pub(super) fn clamp(args: &[Scalar]) -> Result<Scalar> {
    let (_, values) = promote(args)?;
    let [x, low, high] = values.as_slice() else {
        return Err(Failure::Operands("three numbers"));
    };
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
    let exponent = match n {
        Scalar::UInt128(wide) => (**wide).min(5000) as i32,
        n => n.to_i128().clamp(-5000, 5000) as i32,
    };
    // Powers of two are exact in the wider type, so that the narrower ones are rounded once too.
    Scalar::from_float(x.scalar_type(), libm::ldexp(value, exponent)).ok_or(EXPECTED)
}

/// Julia's total order of numbers: `-0.0` before `0.0`, NaN last.
pub(super) fn isless(args: &[Scalar]) -> Result<Scalar> {
    let [a, b] = args else { return Err(Failure::Operands("two numbers")) };
    let (x, y) = (a.as_float(), b.as_float());
    let is_nan = |x: Option<f64>| x.is_some_and(f64::is_nan);
    let less = lt(args)? == Scalar::Bool(true);
    if x.is_none() && y.is_none() {
        return Ok(Scalar::Bool(less));
    }
    let [minus, plus] = [a, b].map(|value| signbit(std::slice::from_ref(value)));
    let zeros = le(args)? == Scalar::Bool(true) && minus? == Scalar::Bool(true) && plus? == Scalar::Bool(false);
    Ok(Scalar::Bool(less || (!is_nan(x) && (is_nan(y) || zeros))))
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

    pub(super) fn int(value: i64) -> Scalar {
        Scalar::Int64(value)
    }

    pub(super) fn double(value: f64) -> Scalar {
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
    fn false_is_a_strong_zero() {
        assert_eq!(mul(&[Scalar::Bool(false), double(f64::NEG_INFINITY)]), Ok(double(-0.0)));
        assert_eq!(
            mul(&[double(f64::NAN), Scalar::Bool(true)]).map(|x| x.as_float().is_some_and(f64::is_nan)),
            Ok(true)
        );
        assert_eq!(mul(&[Scalar::Bool(true), Scalar::Bool(true)]), Ok(Scalar::Bool(true)));
    }
}
