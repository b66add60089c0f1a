//! Tuples, structs, references: making them, and getting at their fields.

use std::ops::RangeInclusive;
use std::rc::Rc;

use ircode::{Scalar, Type};

use super::arrays::dimensions;
use super::control::{position, symbol, unsupported};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::object::Kind;
use crate::value::{StructRef, TupleObject, TupleRef, Value};

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn tuple(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    runtime.tuple(args.to_vec())
}

/// `(xs..., ys...)`.
pub(super) fn splat_tuple(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let values = splatted(args)?;
    runtime.tuple(values)
}

/// A range of more numbers is not splatted: unlike the elements of tuples and arrays, they take no memory before that.
const MOST_OF_A_RANGE: i128 = 1 << 16;

/// The elements of tuples, arrays and ranges of integers, one after the other; a number is its only element.
pub(crate) fn splatted(args: &[Value]) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for value in args {
        match value {
            Value::Tuple(tuple) | Value::SimpleVector(tuple) => all.extend(tuple.0.fields.values().iter().cloned()),
            Value::NamedTuple(tuple) => all.extend(tuple.0.fields.values().iter().cloned()),
            Value::Scalar(_) => all.push(value.clone()),
            Value::Struct(object) => match range(object) {
                Some(numbers) => all.extend(numbers.map(Value::from)),
                None => return Err(expected("tuples, arrays, short ranges and numbers")),
            },
            other => match other.array_elements() {
                Some(elements) if elements.iter().any(|element| matches!(element, Value::Undefined)) => {
                    return Err(expected("arrays of which all elements are assigned"));
                }
                Some(elements) => all.extend(elements),
                None => return Err(expected("tuples, arrays, short ranges and numbers")),
            },
        }
    }
    Ok(all)
}

/// The numbers of a `UnitRange{Int64}` or `Base.OneTo{Int64}` that is not too long.
fn range(object: &StructRef) -> Option<RangeInclusive<i64>> {
    let fields = object.0.fields.borrow();
    let number = |value: &Value| match value {
        Value::Scalar(Scalar::Int64(number)) => Some(*number),
        _ => None,
    };
    let Type::Named(name) = &object.0.ty.ty else { return None };
    let (start, stop) = match (name.as_str(), fields.values()) {
        ("UnitRange{Int64}", [start, stop]) => (number(start)?, number(stop)?),
        ("Base.OneTo{Int64}", [stop]) => (1, number(stop)?),
        _ => return None,
    };
    (i128::from(stop) - i128::from(start) < MOST_OF_A_RANGE).then_some(start..=stop)
}

pub(super) fn svec(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let fields = runtime.meter.fields(Kind::Tuple, args.to_vec())?;
    Ok(Value::SimpleVector(TupleRef(Rc::new(TupleObject { fields }))))
}

/// Which field an operand names: by number, counted from 1, or by name.
pub(super) fn field_index(runtime: &Runtime<'_>, object: &Value, field: &Value) -> Result<usize> {
    let count = field_count(object);
    if let Some(name) = symbol(field) {
        let found = match object {
            Value::NamedTuple(tuple) => tuple.0.names.iter().position(|known| *known == name),
            Value::Struct(object) => object.0.ty.names.iter().position(|known| *known == name),
            _ => None,
        };
        return found.ok_or_else(|| {
            let message = format!("type {:?} has no field {name}", object.type_of());
            runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())])
        });
    }
    match position(field)?.filter(|&at| at < count) {
        Some(index) => Ok(index),
        None => Err(runtime.exception("BoundsError", &["a", "i"], vec![object.clone(), field.clone()])),
    }
}

fn field_count(object: &Value) -> usize {
    match object {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => tuple.0.fields.values().len(),
        Value::NamedTuple(tuple) => tuple.0.fields.values().len(),
        Value::Struct(object) => object.0.ty.names.len().max(object.0.fields.borrow().values().len()),
        _ => 0,
    }
}

/// The fields of an immutable value that has some, with `Undefined` for those that are not assigned.
pub(super) fn fields_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Tuple(tuple) => Some(tuple.0.fields.values().to_vec()),
        Value::NamedTuple(tuple) => Some(tuple.0.fields.values().to_vec()),
        Value::Struct(object) if !object.0.ty.mutable => {
            let mut fields = object.0.fields.borrow().values().to_vec();
            fields.resize(object.0.ty.names.len().max(fields.len()), Value::Undefined);
            Some(fields)
        }
        _ => None,
    }
}

/// `getfield(object, field)`; a third operand asks for a bounds check, which is made in any case.
pub(super) fn getfield(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [object, field, ..] = args else { return Err(expected("an object and a field")) };
    match (object, symbol(field)) {
        (Value::Array(array), Some("ref")) => return Ok(Value::MemoryRef(array.0.place.borrow().clone())),
        (Value::Array(array), Some("size")) => {
            let dims = array.0.dims.borrow().iter().map(|&dim| Value::from(dim as i64)).collect();
            return runtime.tuple(dims);
        }
        (Value::MemoryRef(place), Some("mem")) => return Ok(Value::Memory(place.0.memory.clone())),
        (Value::Memory(memory), Some("length")) => {
            return Ok(Value::from(memory.0.fields.borrow().values().len() as i64));
        }
        (Value::Type(ty), Some("isbitstype")) => {
            let known = runtime.module.is_bits_type(ty).map(Value::from);
            return known.ok_or_else(|| unsupported(format!("whether {ty} has no references")));
        }
        (Value::Tuple(_) | Value::NamedTuple(_) | Value::SimpleVector(_) | Value::Struct(_), _) => {}
        _ => return Err(unsupported(format!("a field of {}", object.type_of().with_article()))),
    }
    let index = field_index(runtime, object, field)?;
    let value = match object {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => tuple.0.fields.values().get(index).cloned(),
        Value::NamedTuple(tuple) => tuple.0.fields.values().get(index).cloned(),
        Value::Struct(object) => object.0.fields.borrow().values().get(index).cloned(),
        _ => None,
    };
    match value {
        Some(Value::Undefined) | None => Err(runtime.exception("UndefRefError", &[], vec![])),
        Some(value) => Ok(value),
    }
}

pub(super) fn setfield(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [object, field, value, ..] = args else { return Err(expected("an object, a field and a value")) };
    match (object, symbol(field), value) {
        (Value::Array(array), Some("ref"), Value::MemoryRef(place)) => {
            *array.0.place.borrow_mut() = place.clone();
            return Ok(value.clone());
        }
        (Value::Array(array), Some("size"), Value::Tuple(dims)) => {
            // Memory for more elements may come after this.
            let (sizes, _) = dimensions(dims.0.fields.values()).ok_or_else(|| expected("dimensions"))?;
            let mut dims = array.0.dims.borrow_mut();
            if sizes.len() != dims.len() {
                return Err(expected("as many dimensions as the array has"));
            }
            *dims = sizes;
            return Ok(value.clone());
        }
        _ => {}
    }
    let Value::Struct(structure) = object else {
        return Err(unsupported(format!("setting a field of {}", object.type_of().with_article())));
    };
    if !structure.0.ty.mutable {
        let message = format!("setfield!: immutable struct of type {} cannot be changed", structure.0.ty.ty);
        return Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())]));
    }
    let index = field_index(runtime, object, field)?;
    let mut fields = structure.0.fields.borrow_mut();
    while fields.values().len() <= index {
        fields.push(Value::Undefined)?;
    }
    if let Some(slot) = fields.values_mut().get_mut(index) {
        *slot = value.clone();
    }
    Ok(value.clone())
}

/// `isdefined(object, field)`.
pub(super) fn isdefined(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [object, field, ..] = args else { return Err(expected("an object and a field")) };
    match object {
        Value::Tuple(_) | Value::NamedTuple(_) | Value::SimpleVector(_) | Value::Struct(_) => {}
        _ => return Err(unsupported(format!("isdefined of {}", object.type_of().with_article()))),
    }
    let Ok(index) = field_index(runtime, object, field) else { return Ok(Value::from(false)) };
    Ok(Value::from(match object {
        Value::Struct(object) => !matches!(object.0.fields.borrow().values().get(index), None | Some(Value::Undefined)),
        _ => true,
    }))
}

pub(super) fn nfields(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [object] if !matches!(object.type_of(), Type::Untyped) => Ok(Value::from(field_count(object) as i64)),
        _ => Err(expected("an object")),
    }
}
