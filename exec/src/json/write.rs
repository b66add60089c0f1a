//! How results are written for machines.

use ircode::Scalar;
use serde_json::{Map, Number, Value as Json};

use crate::error::RunErrorKind;
use crate::value::Value;

/// The members of a closure.
pub(super) const FUNCTION: &str = "function";
pub(super) const CAPTURED: &str = "captured";

/// Values nested deeper than this are not written.
const MAX_DEPTH: usize = 100;

/// Values of more parts are not written: what is shared is written wherever it is.
const MOST: usize = 1 << 24;

/// A value as JSON: numbers as numbers, or as strings where JSON has none; tuples and vectors as lists, arrays of
/// higher rank as lists of the slices along their last dimension; structs as objects; a case of an enum as an object of
/// one member, the list of its payload; a closure as `{"function": "f", "captured": [values]}`; `nothing` as `null`,
/// and so what is not assigned in an object.
///
/// # Errors
///
/// [`RunErrorKind::BadValue`] for values that have no JSON, and for those that nest too deep or are too large.
pub fn value_to_json(value: &Value) -> Result<Json, RunErrorKind> {
    to_json(value, 0, &mut { MOST })
}

fn to_json(value: &Value, depth: usize, left: &mut usize) -> Result<Json, RunErrorKind> {
    count_part(left)?;
    if depth > MAX_DEPTH {
        return Err(RunErrorKind::BadValue(format!("a value nested deeper than {MAX_DEPTH} is not written as JSON")));
    }
    let mut list = |values: &[Value]| -> Result<Json, RunErrorKind> {
        Ok(Json::Array(values.iter().map(|value| to_json(value, depth + 1, left)).collect::<Result<_, _>>()?))
    };
    Ok(match value {
        Value::Nothing | Value::Undefined => Json::Null,
        Value::Scalar(scalar) => scalar_to_json(scalar),
        Value::String(text) | Value::Symbol(text) | Value::Function(text) => Json::String(text.to_string()),
        Value::Type(ty) => Json::String(ty.to_string()),
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => list(tuple.0.fields.values())?,
        Value::NamedTuple(tuple) => {
            let mut members = Map::new();
            for (name, value) in tuple.0.names.iter().zip(tuple.0.fields.values()) {
                members.insert(name.to_string(), to_json(value, depth + 1, left)?);
            }
            Json::Object(members)
        }
        Value::Struct(object) => {
            let fields = object.0.fields.borrow();
            if object.0.ty.names.len() < fields.values().len() {
                return list(fields.values());
            }
            let mut members = Map::new();
            for (name, value) in object.0.ty.names.iter().zip(fields.values()) {
                members.insert(name.to_string(), to_json(value, depth + 1, left)?);
            }
            Json::Object(members)
        }
        Value::Enum(object) => {
            let mut members = Map::new();
            members.insert(object.0.case.to_string(), list(object.0.fields.values())?);
            Json::Object(members)
        }
        Value::Closure(object) => {
            let mut members = Map::new();
            members.insert(FUNCTION.into(), Json::String(object.0.function.to_string()));
            members.insert(CAPTURED.into(), list(object.0.fields.values())?);
            Json::Object(members)
        }
        Value::Array(_) => {
            let elements = value.array_elements().unwrap_or_default();
            slices(&elements, &value.array_dims().unwrap_or_default(), depth, left)?
        }
        Value::Stack(stack) => list(stack.0.fields.borrow().values())?,
        Value::Memory(memory) => list(memory.0.fields.borrow().values())?,
        other => return Err(RunErrorKind::BadValue(format!("{other} has no JSON form"))),
    })
}

fn count_part(left: &mut usize) -> Result<(), RunErrorKind> {
    let too_many = || RunErrorKind::BadValue(format!("a value of more than {MOST} parts is not written as JSON"));
    *left = left.checked_sub(1).ok_or_else(too_many)?;
    Ok(())
}

fn slices(elements: &[Value], dims: &[usize], depth: usize, left: &mut usize) -> Result<Json, RunErrorKind> {
    let Some((last, inner)) = dims.split_last() else {
        return to_json(elements.first().unwrap_or(&Value::Nothing), depth + 1, left);
    };
    let size: usize = inner.iter().product();
    let mut list = Vec::new();
    for slice in 0..*last {
        // There may be any number of slices without elements.
        count_part(left)?;
        let elements = elements.get(slice * size..(slice + 1) * size).unwrap_or_default();
        list.push(slices(elements, inner, depth + 1, left)?);
    }
    Ok(Json::Array(list))
}

fn scalar_to_json(scalar: &Scalar) -> Json {
    if let Scalar::Bool(value) = scalar {
        return Json::Bool(*value);
    }
    if let Some(c) = scalar.as_char() {
        return Json::String(c.to_string());
    }
    if let Scalar::Float32(value) = scalar
        && let Some(number) = serde_json::from_str::<Number>(&format!("{value:?}")).ok().filter(|_| value.is_finite())
    {
        return Json::Number(number);
    }
    match scalar.as_float() {
        Some(float) if float.is_nan() => Json::String("NaN".into()),
        Some(f64::INFINITY) => Json::String("Infinity".into()),
        Some(f64::NEG_INFINITY) => Json::String("-Infinity".into()),
        Some(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
        // What has no number in JSON is a text.
        None if scalar.scalar_type().is_signed_integer() => {
            let value = scalar.to_i128();
            i64::try_from(value)
                .map_or_else(|_| Json::String(value.to_string()), |integer| Json::Number(integer.into()))
        }
        None => {
            let value = scalar.to_bits();
            u64::try_from(value)
                .map_or_else(|_| Json::String(value.to_string()), |integer| Json::Number(integer.into()))
        }
    }
}
