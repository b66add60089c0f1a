//! The cotangent of a result from which the pullback starts.

use exec::{Limits, Machine, RunErrorKind, Value, check_tangent};
use ircode::tangents::{Tangent, TangentTypes};
use ircode::{IRCode, Module, Scalar, Type};
use serde_json::Value as Json;

use super::{GradientError, run_error};

/// A tangent of the result of a function.
#[derive(Clone, Copy, Debug)]
pub enum Seed<'s> {
    /// As a value.
    Value(&'s Value),
    /// As JSON, as [`Machine::tangent_from_json`] reads it.
    Json(&'s Json),
}

impl<'s> From<&'s Value> for Seed<'s> {
    fn from(value: &'s Value) -> Self {
        Seed::Value(value)
    }
}

impl<'s> From<&'s Json> for Seed<'s> {
    fn from(json: &'s Json) -> Self {
        Seed::Json(json)
    }
}

/// The seed as a value that has the shape of what the function returns, which is of the type `result`.
pub(super) fn tangent(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    result: &Type,
    seed: Seed<'_>,
    limits: Limits,
) -> Result<Value, GradientError> {
    let mut machine = Machine::with_limits(module, limits);
    let tangent = TangentTypes::new(module).of(result);
    let (value, zero) = match (seed, of_static_shape(&machine, &tangent).map_err(run_error)?) {
        // The type says all.
        (Seed::Value(_), Some(zero)) => (Value::Nothing, zero),
        _ => {
            let copies = machine.copies(args).map_err(run_error)?;
            let value = machine.call(name, &copies)?;
            let zeros = machine.zero_tangents(std::slice::from_ref(&value), std::slice::from_ref(result));
            let zero = zeros.map_err(run_error)?.into_iter().next().unwrap_or(Value::Nothing);
            (value, zero)
        }
    };
    match seed {
        Seed::Value(seed) => {
            check_tangent(&value, &zero, seed).map_err(GradientError::Seed)?;
            // It may be an argument, too, which the function may change.
            let copies = machine.copies(std::slice::from_ref(seed)).map_err(run_error)?;
            Ok(copies.into_iter().next().unwrap_or(Value::Nothing))
        }
        Seed::Json(json) => machine.tangent_from_json(json, &value, &zero).map_err(GradientError::Seed),
    }
}

/// The tangent with all floats zero, if the type alone says what that is.
fn of_static_shape(machine: &Machine<'_>, tangent: &Tangent) -> Result<Option<Value>, RunErrorKind> {
    Ok(match tangent {
        Tangent::None => Some(Value::Nothing),
        Tangent::Float(float) => Scalar::from_float(*float, 0.0).map(Value::Scalar),
        Tangent::Fields(fields) => {
            let mut zeros = Vec::with_capacity(fields.len());
            for field in fields.iter() {
                let Some(zero) = of_static_shape(machine, field)? else { return Ok(None) };
                zeros.push(zero);
            }
            Some(machine.tuple(zeros)?)
        }
        Tangent::Object(_) | Tangent::Dynamic { .. } => None,
    })
}
