//! Conversions between scalar types: the first operand names the type.

use half::f16;

use super::{Failure, ScalarException};
use crate::scalar::{Scalar, ScalarType};

type Result = std::result::Result<Scalar, Failure>;

/// The same bits as another type of the same width.
pub(super) fn bitcast(ty: ScalarType, value: &Scalar) -> Result {
    if ty.bytes() != value.scalar_type().bytes() || (ty == ScalarType::Bool && value.to_bits() > 1) {
        return Err(Failure::Operands("a type and a value of the same width"));
    }
    Ok(Scalar::from_bits(ty, value.to_bits()))
}

/// Extends an integer with zeros.
pub(super) fn zext_int(ty: ScalarType, value: &Scalar) -> Result {
    if ty.is_float() || value.scalar_type().is_float() || ty.bits() <= value.scalar_type().bits() {
        return Err(Failure::Operands("a wider integer type and an integer"));
    }
    Ok(Scalar::from_bits(ty, value.to_bits()))
}

/// Extends an integer with copies of its sign bit.
pub(super) fn sext_int(ty: ScalarType, value: &Scalar) -> Result {
    let from = value.scalar_type();
    if ty.is_float() || from.is_float() || ty.bits() <= from.bits() {
        return Err(Failure::Operands("a wider integer type and an integer"));
    }
    let shift = 128 - from.bits();
    Ok(Scalar::from_bits(ty, (((value.to_bits() << shift) as i128) >> shift) as u128))
}

/// Cuts an integer to fewer bits.
pub(super) fn trunc_int(ty: ScalarType, value: &Scalar) -> Result {
    if ty.is_float() || value.scalar_type().is_float() || ty.bits() >= value.scalar_type().bits() {
        return Err(Failure::Operands("a narrower integer type and an integer"));
    }
    Ok(Scalar::from_bits(ty, value.to_bits()))
}

fn exact_trunc(ty: ScalarType, value: &Scalar, signed: bool) -> Result {
    let from = value.scalar_type();
    if ty.is_float() || from.is_float() {
        return Err(Failure::Operands("an integer type and an integer"));
    }
    let cut = Scalar::from_bits(ty, value.to_bits());
    let back = if signed && ty.bits() < 128 {
        let shift = 128 - ty.bits();
        Scalar::from_bits(from, (((cut.to_bits() << shift) as i128) >> shift) as u128)
    } else {
        Scalar::from_bits(from, cut.to_bits())
    };
    if back.to_bits() != value.to_bits() {
        let inexact = ScalarException::Inexact { function: "trunc", ty, value: value.clone() };
        return Err(Failure::Exception(inexact));
    }
    Ok(cut)
}

/// Cuts a signed integer, if nothing is lost.
pub(super) fn checked_trunc_sint(ty: ScalarType, value: &Scalar) -> Result {
    exact_trunc(ty, value, true)
}

/// Cuts an unsigned integer, if nothing is lost.
pub(super) fn checked_trunc_uint(ty: ScalarType, value: &Scalar) -> Result {
    exact_trunc(ty, value, false)
}

/// A signed integer as the nearest float.
pub(super) fn sitofp(ty: ScalarType, value: &Scalar) -> Result {
    let from = value.scalar_type();
    if !ty.is_float() || from.is_float() {
        return Err(Failure::Operands("a float type and an integer"));
    }
    let shift = 128 - from.bits();
    let integer = ((value.to_bits() << shift) as i128) >> shift;
    Ok(match ty {
        ScalarType::Float64 => Scalar::Float64(integer as f64),
        ScalarType::Float32 => Scalar::Float32(integer as f32),
        _ => Scalar::Float16(f16::from_f32(integer as f32)),
    })
}

/// An unsigned integer as the nearest float.
pub(super) fn uitofp(ty: ScalarType, value: &Scalar) -> Result {
    if !ty.is_float() || value.scalar_type().is_float() {
        return Err(Failure::Operands("a float type and an integer"));
    }
    Ok(match ty {
        ScalarType::Float64 => Scalar::Float64(value.to_bits() as f64),
        ScalarType::Float32 => Scalar::Float32(value.to_bits() as f32),
        _ => Scalar::Float16(f16::from_f32(value.to_bits() as f32)),
    })
}

/// A float as a signed integer, cut toward zero. What does not fit is undefined in Julia; here it becomes the nearest
/// integer that does, and NaN becomes 0.
pub(super) fn fptosi(ty: ScalarType, value: &Scalar) -> Result {
    let (false, Some(float)) = (ty.is_float(), value.as_float()) else {
        return Err(Failure::Operands("an integer type and a float"));
    };
    let largest = i128::MAX >> (128 - ty.bits());
    Ok(Scalar::from_bits(ty, (float as i128).clamp(-largest - 1, largest) as u128))
}

/// A float as an unsigned integer, cut toward zero. What does not fit becomes the nearest integer that does.
pub(super) fn fptoui(ty: ScalarType, value: &Scalar) -> Result {
    let (false, Some(float)) = (ty.is_float(), value.as_float()) else {
        return Err(Failure::Operands("an integer type and a float"));
    };
    Ok(Scalar::from_bits(ty, (float as u128).min(u128::MAX >> (128 - ty.bits()))))
}

/// A float as a narrower float.
pub(super) fn fptrunc(ty: ScalarType, value: &Scalar) -> Result {
    if !ty.is_float() || ty.bits() >= value.scalar_type().bits() {
        return Err(Failure::Operands("a narrower float type and a float"));
    }
    resize_float(ty, value)
}

/// A float as a wider float.
pub(super) fn fpext(ty: ScalarType, value: &Scalar) -> Result {
    if !ty.is_float() || ty.bits() <= value.scalar_type().bits() {
        return Err(Failure::Operands("a wider float type and a float"));
    }
    resize_float(ty, value)
}

fn resize_float(ty: ScalarType, value: &Scalar) -> Result {
    let Some(float) = value.as_float() else {
        return Err(Failure::Operands("a float type and a float"));
    };
    // A Float16 from a Float32 rounds once: the way through f64 is exact.
    Scalar::from_float(ty, float).ok_or(Failure::Operands("a float type and a float"))
}

/// Julia's `convert(T, x)` on numbers: exact, or an `InexactError`.
pub(super) fn convert(ty: ScalarType, value: &Scalar) -> Result {
    let from = value.scalar_type();
    if from == ty {
        return Ok(value.clone());
    }
    let inexact = || Failure::Exception(ScalarException::Inexact { function: "convert", ty, value: value.clone() });
    if ty == ScalarType::Char || from == ScalarType::Char {
        return Err(Failure::Operands("a number type and a number"));
    }
    if ty.is_float() {
        return match value.as_float() {
            Some(float) => Ok(Scalar::from_float(ty, float).unwrap_or_else(|| value.clone())),
            None if from.is_signed_integer() => sitofp(ty, value),
            None => uitofp(ty, value),
        };
    }
    if let Some(float) = value.as_float() {
        if float.trunc() != float {
            return Err(inexact());
        }
        if ty == ScalarType::UInt128 && (0.0..2f64.powi(128)).contains(&float) {
            return Ok(Scalar::UInt128(Box::new(float as u128)));
        }
        if float >= 2f64.powi(127) || float < -2f64.powi(127) {
            return Err(inexact());
        }
        return in_range(ty, float as i128).ok_or_else(inexact);
    }
    if let Scalar::UInt128(wide) = value {
        return i128::try_from(**wide).ok().and_then(|value| in_range(ty, value)).ok_or_else(inexact);
    }
    match (ty, value.to_i128()) {
        (ScalarType::UInt128, wide) if wide >= 0 => Ok(Scalar::UInt128(Box::new(wide as u128))),
        (_, wide) => in_range(ty, wide).ok_or_else(inexact),
    }
}

fn in_range(ty: ScalarType, value: i128) -> Option<Scalar> {
    match (ty, value) {
        (ScalarType::Bool, 0 | 1) => Some(Scalar::Bool(value == 1)),
        (ScalarType::Bool, _) => None,
        _ => Scalar::from_i128(ty, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_numbers_are_told_apart() {
        assert_eq!(bitcast(ScalarType::Int64, &Scalar::Float64(-0.0)), Ok(Scalar::Int64(i64::MIN)));
        assert!(bitcast(ScalarType::Int32, &Scalar::Float64(1.0)).is_err());
        assert_eq!(sext_int(ScalarType::Int64, &Scalar::UInt8(0xff)), Ok(Scalar::Int64(-1)));
        assert_eq!(zext_int(ScalarType::Int64, &Scalar::Int8(-1)), Ok(Scalar::Int64(255)));
        assert_eq!(zext_int(ScalarType::Int64, &Scalar::Bool(true)), Ok(Scalar::Int64(1)));
        assert_eq!(trunc_int(ScalarType::Int8, &Scalar::Int64(511)), Ok(Scalar::Int8(-1)));
        assert_eq!(sitofp(ScalarType::Float64, &Scalar::Int64(-3)), Ok(Scalar::Float64(-3.0)));
        assert_eq!(uitofp(ScalarType::Float64, &Scalar::UInt8(255)), Ok(Scalar::Float64(255.0)));
        assert_eq!(fptosi(ScalarType::Int64, &Scalar::Float64(-3.9)), Ok(Scalar::Int64(-3)));
        assert_eq!(fptosi(ScalarType::Int8, &Scalar::Float64(1e9)), Ok(Scalar::Int8(127)));
        assert_eq!(fptoui(ScalarType::UInt8, &Scalar::Float64(300.0)), Ok(Scalar::UInt8(255)));
    }

    #[test]
    fn exact_conversions_refuse_what_would_be_lost() {
        assert_eq!(convert(ScalarType::Int64, &Scalar::Float64(3.0)), Ok(Scalar::Int64(3)));
        assert!(convert(ScalarType::Int64, &Scalar::Float64(3.5)).is_err());
        assert!(convert(ScalarType::UInt8, &Scalar::Int64(-1)).is_err());
        assert_eq!(convert(ScalarType::Bool, &Scalar::Int64(1)), Ok(Scalar::Bool(true)));
        assert!(checked_trunc_sint(ScalarType::Int8, &Scalar::Int64(200)).is_err());
        assert_eq!(checked_trunc_sint(ScalarType::Int8, &Scalar::Int64(-5)), Ok(Scalar::Int8(-5)));
        assert_eq!(checked_trunc_uint(ScalarType::UInt8, &Scalar::Int64(200)), Ok(Scalar::UInt8(200)));
    }
}
