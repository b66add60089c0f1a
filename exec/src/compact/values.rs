//! Looking at registers, and writing them, without the cost of what most values have not: something to give back.

use ircode::Scalar;

use super::code::Register;
use crate::value::{ArrayRef, Value};

#[inline(always)]
pub(super) fn float(registers: &[Value], at: Register) -> Option<f64> {
    match &registers[at as usize] {
        Value::Scalar(Scalar::Float64(value)) => Some(*value),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn integer(registers: &[Value], at: Register) -> Option<i64> {
    match &registers[at as usize] {
        Value::Scalar(Scalar::Int64(value)) => Some(*value),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn boolean(registers: &[Value], at: Register) -> Option<bool> {
    match &registers[at as usize] {
        Value::Scalar(Scalar::Bool(value)) => Some(*value),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn scalar(registers: &[Value], at: Register) -> Option<&Scalar> {
    match &registers[at as usize] {
        Value::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

/// Whether two scalars are the same, to the last bit.
#[inline(always)]
pub(super) fn same(registers: &[Value], a: Register, b: Register) -> Option<bool> {
    match (&registers[a as usize], &registers[b as usize]) {
        (Value::Scalar(Scalar::Int64(a)), Value::Scalar(Scalar::Int64(b))) => Some(a == b),
        (Value::Scalar(a), Value::Scalar(b)) => Some(a == b),
        _ => None,
    }
}

/// A copy of a value that is defined.
pub(super) fn defined(registers: &[Value], at: Register) -> Option<Value> {
    match &registers[at as usize] {
        Value::Undefined => None,
        value => Some(value.clone()),
    }
}

/// Copies a register to another. Numbers go by way of the processor's registers, which is faster than by way of its
/// memory.
#[inline(always)]
pub(super) fn copy(registers: &mut [Value], from: Register, to: Register) {
    match &registers[from as usize] {
        Value::Scalar(Scalar::Float64(value)) => put_float(registers, to, *value),
        Value::Scalar(Scalar::Int64(value)) => put_integer(registers, to, *value),
        Value::Scalar(Scalar::Bool(value)) => put_boolean(registers, to, *value),
        other => {
            let value = other.clone();
            put(registers, to, value);
        }
    }
}

/// Whether dropping the value does nothing.
#[inline(always)]
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Nothing => true,
        Value::Scalar(scalar) => !matches!(scalar, Scalar::Int128(_) | Scalar::UInt128(_)),
        _ => false,
    }
}

#[inline(always)]
pub(super) fn put_in(place: &mut Value, value: Value) {
    if is_plain(place) {
        std::mem::forget(std::mem::replace(place, value));
    } else {
        *place = value;
    }
}

#[inline(always)]
pub(super) fn put(registers: &mut [Value], to: Register, value: Value) {
    put_in(&mut registers[to as usize], value);
}

#[inline(always)]
pub(super) fn put_float(registers: &mut [Value], to: Register, value: f64) {
    match &mut registers[to as usize] {
        Value::Scalar(Scalar::Float64(place)) => *place = value,
        place => put_in(place, Value::Scalar(Scalar::Float64(value))),
    }
}

#[inline(always)]
pub(super) fn put_integer(registers: &mut [Value], to: Register, value: i64) {
    match &mut registers[to as usize] {
        Value::Scalar(Scalar::Int64(place)) => *place = value,
        place => put_in(place, Value::Scalar(Scalar::Int64(value))),
    }
}

#[inline(always)]
pub(super) fn put_boolean(registers: &mut [Value], to: Register, value: bool) {
    match &mut registers[to as usize] {
        Value::Scalar(Scalar::Bool(place)) => *place = value,
        place => put_in(place, Value::Scalar(Scalar::Bool(value))),
    }
}

/// The array in a register.
#[inline(always)]
pub(super) fn array(registers: &[Value], at: Register) -> Option<&ArrayRef> {
    match &registers[at as usize] {
        Value::Array(array) => Some(array),
        _ => None,
    }
}

/// The place of an index into a dimension, counted from 0.
#[inline(always)]
fn inside(index: i64, dimension: usize) -> Option<usize> {
    usize::try_from(index.wrapping_sub(1)).ok().filter(|&at| at < dimension)
}

/// Where in memory order the element of this number is.
#[inline(always)]
pub(super) fn place(array: &ArrayRef, index: i64) -> Option<usize> {
    match array.0.dims.borrow().as_slice() {
        [length] => inside(index, *length),
        dims => inside(index, dims.iter().product()),
    }
}

/// Where in memory order the element in this row and column of a matrix is.
#[inline(always)]
pub(super) fn place_in_matrix(array: &ArrayRef, row: i64, column: i64) -> Option<usize> {
    match *array.0.dims.borrow().as_slice() {
        [rows, columns] => Some(inside(row, rows)? + rows * inside(column, columns)?),
        _ => None,
    }
}

/// The element at a place, if it is assigned.
pub(super) fn element(array: &ArrayRef, at: usize) -> Option<Value> {
    let start = array.0.place.borrow();
    let memory = start.0.memory.0.fields.borrow();
    memory.values().get(start.0.offset + at).filter(|value| !matches!(value, Value::Undefined)).cloned()
}

/// The same, if it is a float.
#[inline(always)]
pub(super) fn float_element(array: &ArrayRef, at: usize) -> Option<f64> {
    let start = array.0.place.borrow();
    let memory = start.0.memory.0.fields.borrow();
    match memory.values().get(start.0.offset + at) {
        Some(Value::Scalar(Scalar::Float64(value))) => Some(*value),
        _ => None,
    }
}

/// Stores a number in an array of numbers of its type. False if it is neither, and nothing was done.
#[inline(always)]
pub(super) fn store_scalar(array: &ArrayRef, at: usize, value: &Value) -> bool {
    let Value::Scalar(scalar) = value else { return false };
    let start = array.0.place.borrow();
    let memory = &start.0.memory.0;
    if memory.element.as_scalar() != Some(scalar.scalar_type()) {
        return false;
    }
    match (memory.fields.borrow_mut().values_mut().get_mut(start.0.offset + at), scalar) {
        (Some(Value::Scalar(Scalar::Float64(place))), Scalar::Float64(value)) => *place = *value,
        (Some(place), _) => put_in(place, value.clone()),
        (None, _) => return false,
    }
    true
}

/// Writes an array to a register, which may hold it already.
#[inline(always)]
pub(super) fn put_array(registers: &mut [Value], to: Register, from: Register) {
    if let (Value::Array(old), Value::Array(new)) = (&registers[to as usize], &registers[from as usize])
        && std::rc::Rc::ptr_eq(&old.0, &new.0)
    {
        return;
    }
    let value = registers[from as usize].clone();
    put(registers, to, value);
}

/// A field of a tuple or struct, by number or name, if it is assigned.
#[inline(always)]
pub(super) fn field(object: &Value, field: &Value) -> Option<Value> {
    let at = |names: Option<&[ircode::Name]>| match field {
        Value::Scalar(Scalar::Int64(number)) => usize::try_from(number.wrapping_sub(1)).ok(),
        Value::Symbol(name) => names?.iter().position(|known| known == name),
        _ => None,
    };
    let of = |values: &[Value], at: Option<usize>| match values.get(at?) {
        None | Some(Value::Undefined) => None,
        Some(value) => Some(value.clone()),
    };
    match object {
        Value::Tuple(tuple) => of(tuple.0.fields.values(), at(None)),
        Value::NamedTuple(tuple) => of(tuple.0.fields.values(), at(Some(&tuple.0.names))),
        Value::Struct(object) => of(object.0.fields.borrow().values(), at(Some(&object.0.ty.names))),
        _ => None,
    }
}
