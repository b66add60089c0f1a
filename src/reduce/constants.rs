//! Making constants simpler.

use bbcode::Ids;
use ircode::{Constant, Operand, Scalar, ScalarType};

use super::Reducer;
use super::operands::{places, rewrite};

/// Makes numbers 0, or else 1, or else halves them; texts and tuples empty.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    for simpler in [zero as Simpler, one] {
        try_all(reducer, simpler);
    }
    // Halving goes on until it is not interesting any more: once a bit at most.
    while try_all(reducer, half) {}
}

/// Tries the same on all constants. Whether it could be done to one.
fn try_all(reducer: &mut Reducer<'_>, simpler: Simpler) -> bool {
    let places = places(reducer, |operand| operand.as_constant().is_some());
    reducer.each(places, |module, place| {
        rewrite(module, place, |_, old| Some(with_constant(old, simpler(old.as_constant()?)?)))
    })
}

type Simpler = fn(&Constant) -> Option<Constant>;

fn with_constant(old: &Operand<Ids>, new: Constant) -> Operand<Ids> {
    match old {
        Operand::Quote(_) => Operand::Quote(new.into()),
        _ => Operand::Constant(new),
    }
}

/// How far a number is from being simple: 0, 1, and then by size.
fn measure(scalar: &Scalar) -> (u8, u128) {
    let value = match scalar.as_float() {
        Some(float) => float.abs().to_bits().into(),
        None => scalar.to_i128().unsigned_abs(),
    };
    let whole = scalar.as_float().is_none_or(|float| float == float.trunc());
    (u8::from(!whole), value)
}

fn zero(constant: &Constant) -> Option<Constant> {
    match constant {
        Constant::Scalar(scalar) => smaller(scalar, Some(Scalar::from_bits(scalar.scalar_type(), 0))),
        Constant::String(text) if !text.is_empty() => Some(Constant::String("".into())),
        Constant::Tuple(elements) if !elements.is_empty() => Some(Constant::Tuple(Vec::new().into())),
        _ => None,
    }
}

fn one(constant: &Constant) -> Option<Constant> {
    let scalar = constant.as_scalar()?;
    let one = match scalar.scalar_type() {
        ty if ty.is_float() => Scalar::from_float(ty, 1.0),
        ty if ty.is_integer() => Scalar::from_i128(ty, 1),
        _ => None,
    };
    smaller(scalar, one)
}

fn half(constant: &Constant) -> Option<Constant> {
    match constant {
        Constant::String(text) => {
            let half = text.chars().count() / 2;
            (half > 0).then(|| Constant::String(text.chars().take(half).collect::<String>().into()))
        }
        Constant::Scalar(scalar) => {
            let ty = scalar.scalar_type();
            let half = match scalar.as_float() {
                Some(float) if float.abs() >= 2.0 && float.is_finite() => Scalar::from_float(ty, (float / 2.0).trunc()),
                Some(float) if float.fract() != 0.0 => Scalar::from_float(ty, float.trunc()),
                Some(_) => None,
                None if ty == ScalarType::Char => None,
                None => Scalar::from_i128(ty, scalar.to_i128() / 2),
            };
            smaller(scalar, half)
        }
        _ => None,
    }
}

/// The new number, if it is simpler than the old one.
fn smaller(old: &Scalar, new: Option<Scalar>) -> Option<Constant> {
    new.filter(|new| measure(new) < measure(old)).map(Constant::Scalar)
}
