//! Powers, by Julia's order of squarings and multiplications.

use super::{Result, promote, unit};
use crate::primitives::{Failure, ScalarException, convert, float, int, math};
use crate::scalar::{Scalar, ScalarType};

/// `x ^ y`: by squaring for integer exponents that Julia computes so, with C's `pow` otherwise.
pub(in crate::primitives) fn power(args: &[Scalar]) -> Result<Scalar> {
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
pub(in crate::primitives) fn power_by_squaring(args: &[Scalar]) -> Result<Scalar> {
    let [x, p] = args else { return Err(Failure::Operands("two numbers")) };
    match (x.scalar_type().is_float(), p.scalar_type()) {
        (_, ty) if !ty.is_integer() => Err(Failure::Operands("a number and an integer")),
        (false, _) => integer_power(x, p),
        (true, ty) if ty.is_signed_integer() && p.to_i128() < 0 => match x.as_float() {
            Some(1.0) => Ok(x.clone()),
            Some(-1.0) => float_power(x, p.to_i128().unsigned_abs()),
            _ => {
                let message = "Cannot raise a number to a negative power by squaring. Make the exponent a float.";
                Err(Failure::Exception(ScalarException::Domain { value: p.clone(), message }))
            }
        },
        (true, _) => float_power(x, p.to_bits()),
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

fn integer_power(x: &Scalar, y: &Scalar) -> Result<Scalar> {
    let (ty, base) = (x.scalar_type(), x.clone());
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
    if let Scalar::Bool(base) = base {
        return Ok(Scalar::Bool(base || exponent == 0));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::generic::tests::{double, int};

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
    fn powers_of_integers_have_the_type_of_the_base() {
        assert_eq!(power(&[Scalar::UInt8(3), int(5)]), Ok(Scalar::UInt8(243)));
        assert_eq!(power(&[Scalar::Bool(true), int(-3)]), Ok(Scalar::Bool(true)));
        assert_eq!(power(&[Scalar::Bool(false), Scalar::Bool(false)]), Ok(Scalar::Bool(true)));
        assert!(power(&[Scalar::Bool(false), int(-1)]).is_err());
    }
}
