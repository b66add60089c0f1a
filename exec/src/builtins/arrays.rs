//! Arrays, as programs up to Julia 1.10 use them, and a few of Base's functions on them.

use std::cell::RefCell;
use std::rc::Rc;

use ircode::{Scalar, Type};

use super::control::{index, position, unsupported};
use super::vectors::{append, refuse_shared};
use super::whole_arrays::as_element;
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{ArrayRef, PlaceObject, PlaceRef, Value};

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn array(value: &Value) -> Result<&ArrayRef> {
    match value {
        Value::Array(array) => Ok(array),
        _ => Err(expected("an array")),
    }
}

/// The place of an element: one index counts in memory order, several count one a dimension.
fn offset(runtime: &Runtime<'_>, array: &ArrayRef, indices: &[Value]) -> Result<usize> {
    let dims = array.0.dims.borrow();
    let out_of_bounds = |runtime: &Runtime<'_>| match runtime.tuple(indices.to_vec()) {
        Ok(indices) => runtime.exception("BoundsError", &["a", "i"], vec![Value::Array(array.clone()), indices]),
        Err(fault) => fault,
    };
    let length = array.length();
    if let [only] = indices {
        return position(only)?.filter(|&at| at < length).ok_or_else(|| out_of_bounds(runtime));
    }
    let (mut at, mut stride) = (0usize, 1usize);
    for (i, one) in indices.iter().enumerate() {
        let dim = dims.get(i).copied().unwrap_or(1);
        let one = position(one)?.filter(|&one| one < dim).ok_or_else(|| out_of_bounds(runtime))?;
        at += one * stride;
        stride = stride.saturating_mul(dim);
    }
    if indices.len() < dims.len() && dims.get(indices.len()..).is_some_and(|rest| rest.iter().any(|&dim| dim != 1)) {
        return Err(out_of_bounds(runtime));
    }
    Ok(at)
}

fn get(runtime: &Runtime<'_>, target: &Value, indices: &[Value]) -> Result<Value> {
    let array = array(target)?;
    let at = offset(runtime, array, indices)?;
    let place = array.0.place.borrow();
    let memory = place.0.memory.0.fields.borrow();
    match memory.values().get(place.0.offset + at) {
        Some(Value::Undefined) | None => Err(runtime.exception("UndefRefError", &[], vec![])),
        Some(value) => Ok(value.clone()),
    }
}

/// Whether a value can be stored where elements of this type are: it is of the type, or the program leaves it open.
pub(super) fn may_hold(runtime: &Runtime<'_>, element: &Type, value: &Value) -> bool {
    runtime.known_isa(value, element) != Some(false)
}

fn set(runtime: &Runtime<'_>, target: &Value, value: &Value, indices: &[Value]) -> Result<()> {
    let array = array(target)?;
    let at = offset(runtime, array, indices)?;
    let place = array.0.place.borrow();
    if !may_hold(runtime, &place.0.memory.0.element, value) {
        let what = format!("storing {} in an array of {}", value.type_of().with_article(), place.0.memory.0.element);
        return Err(unsupported(what));
    }
    let mut memory = place.0.memory.0.fields.borrow_mut();
    let slot = memory.values_mut().get_mut(place.0.offset + at);
    *slot.ok_or_else(|| expected("an array that has memory for its elements"))? = value.clone();
    Ok(())
}

/// `arrayref(boundscheck, array, indices…)`. Bounds are checked in any case.
pub(super) fn arrayref(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [_, target, indices @ ..] = args else { return Err(expected("an array and indices")) };
    get(runtime, target, indices)
}

/// `arrayset(boundscheck, array, value, indices…)`; returns the array.
pub(super) fn arrayset(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [_, target, value, indices @ ..] = args else { return Err(expected("an array, a value and indices")) };
    set(runtime, target, value, indices)?;
    Ok(target.clone())
}

pub(super) fn getindex(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [target @ Value::Array(_), indices @ ..] => get(runtime, target, indices),
        [Value::Struct(object)] if matches!(object.0.ty.ty, Type::Ref(_)) => {
            super::structs::getfield(runtime, &[Value::Struct(object.clone()), Value::from(1)])
        }
        [Value::Tuple(tuple), at] => super::structs::getfield(runtime, &[Value::Tuple(tuple.clone()), at.clone()]),
        _ => Err(expected("an array and indices, a tuple and an index, or a reference")),
    }
}

pub(super) fn setindex(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [target @ Value::Array(array), value, indices @ ..] => {
            // A number is converted, as Julia does it.
            let element = match (value, &array.0.place.borrow().0.memory.0.element) {
                (Value::Scalar(scalar), Type::Scalar(ty)) if scalar.scalar_type() != *ty => Some(*ty),
                _ => None,
            };
            match element {
                Some(element) => {
                    let value = as_element(runtime, value, &element.into())?;
                    set(runtime, target, &value, indices)?;
                }
                None => set(runtime, target, value, indices)?,
            }
            Ok(target.clone())
        }
        [reference @ Value::Struct(object), value] if matches!(object.0.ty.ty, Type::Ref(_)) => {
            let value = match &object.0.ty.ty {
                Type::Ref(element) if element.as_scalar().is_some() => as_element(runtime, value, element)?,
                _ => value.clone(),
            };
            super::structs::setfield(runtime, &[reference.clone(), Value::from(1), value])?;
            Ok(reference.clone())
        }
        _ => Err(expected("an array, a value and indices, or a reference and a value")),
    }
}

pub(super) fn arraylen(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(array(args.first().ok_or_else(|| expected("an array"))?)?.length() as i64))
}

/// `arraysize(array, dimension)`; dimensions past the rank have the size 1.
pub(super) fn arraysize(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, dimension] = args else { return Err(expected("an array and a dimension")) };
    let array = array(target)?;
    match position(dimension)? {
        Some(dimension) => Ok(Value::from(array.0.dims.borrow().get(dimension).copied().unwrap_or(1) as i64)),
        None => {
            let message = Value::String("arraysize: dimension out of range".into());
            Err(runtime.exception("ErrorException", &["msg"], vec![message]))
        }
    }
}

/// `jl_array_isassigned(array, i)`: 1 if the element of this number, counted from 0 in memory order, is assigned, else
/// 0, as a C function says it.
pub(super) fn is_assigned(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, number] = args else { return Err(expected("an array and a number")) };
    let array = array(target)?;
    let place = array.0.place.borrow();
    let memory = place.0.memory.0.fields.borrow();
    let at = usize::try_from(index(number)?).ok().filter(|&at| at < array.length());
    let element = at.and_then(|at| memory.values().get(place.0.offset + at));
    let is_assigned = !matches!(element, None | Some(Value::Undefined));
    Ok(Value::Scalar(Scalar::Int32(is_assigned.into())))
}

/// `Base.mightalias(a, b)`: whether two arrays have elements in common.
pub(super) fn mightalias(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err(expected("two arrays")) };
    let (a, b) = (array(a)?, array(b)?);
    let (lengths, places) = ((a.length(), b.length()), (a.0.place.borrow(), b.0.place.borrow()));
    let (from, other) = (places.0.0.offset, places.1.0.offset);
    let meet = from < other + lengths.1 && other < from + lengths.0;
    Ok(Value::from(meet && Rc::ptr_eq(&places.0.0.memory.0, &places.1.0.memory.0)))
}

pub(super) fn length(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Array(_)] => arraylen(runtime, args),
        [Value::Tuple(tuple) | Value::SimpleVector(tuple)] => Ok(Value::from(tuple.0.fields.values().len() as i64)),
        [Value::Memory(memory)] => Ok(Value::from(memory.0.fields.borrow().values().len() as i64)),
        [Value::String(text)] => Ok(Value::from(text.chars().count() as i64)),
        _ => Err(expected("an array, a tuple or a string")),
    }
}

/// `size(array)`, a tuple, or `size(array, dimension)`.
pub(super) fn size(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [target] => {
            let dims = array(target)?.0.dims.borrow().iter().map(|&dim| Value::from(dim as i64)).collect();
            runtime.tuple(dims)
        }
        _ => arraysize(runtime, args),
    }
}

/// `new_array(T, dims…)`: an array of zeros, or of unassigned elements.
pub(super) fn new_array(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Type(element), dims @ ..] = args else { return Err(expected("a type and dimensions")) };
    undefined_array(runtime, element, None, dims)
}

/// What Julia says of dimensions that no array has.
pub(crate) const INVALID_DIMENSIONS: &str = "invalid Array dimensions";

/// Dimensions that a program gives for an array, and how many elements it has.
pub(super) fn sizes(runtime: &Runtime<'_>, dims: &[Value]) -> Result<(Vec<usize>, usize)> {
    for dim in dims {
        index(dim)?;
    }
    dimensions(dims).ok_or_else(|| runtime.argument_error(INVALID_DIMENSIONS))
}

/// Dimensions, and their product; none where one is no size, or there are more elements than can be counted.
pub(crate) fn dimensions(dims: &[Value]) -> Option<(Vec<usize>, usize)> {
    let size = |dim: &Value| i64::try_from(dim.as_integer()?).ok().and_then(|dim| usize::try_from(dim).ok());
    let sizes = dims.iter().map(size).collect::<Option<Vec<usize>>>()?;
    let length = sizes.iter().try_fold(1_usize, |length, &size| length.checked_mul(size))?;
    i64::try_from(length).is_ok().then_some((sizes, length))
}

/// An array whose elements are not assigned. Where Julia leaves bits undefined, they are zero here.
pub(super) fn undefined_array(
    runtime: &Runtime<'_>,
    element: &Type,
    rank: Option<u32>,
    dims: &[Value],
) -> Result<Value> {
    let dims = match dims {
        [Value::Tuple(dims)] => dims.0.fields.values().to_vec(),
        dims => dims.to_vec(),
    };
    if rank.is_some_and(|rank| rank as usize != dims.len()) {
        return Err(expected("one size a dimension"));
    }
    let (sizes, length) = sizes(runtime, &dims)?;
    runtime.meter.would_fit(length)?;
    runtime.array(element.clone(), sizes, vec![runtime.unassigned(element)?; length])
}

/// `push!(vector, value)`.
pub(super) fn push(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, value] = args else { return Err(expected("a vector and a value")) };
    let array = array(target)?;
    // Before anything is borrowed: the value may be the array itself.
    let element = array.0.place.borrow().0.memory.0.element.clone();
    if !may_hold(runtime, &element, value) {
        return Err(unsupported(format!("storing {} in an array of {element}", value.type_of().with_article())));
    }
    refuse_shared(array)?;
    if array.0.dims.borrow().len() != 1 {
        return Err(expected("a vector and a value"));
    }
    append(runtime, array, &element, value, 1)?;
    Ok(target.clone())
}

pub(super) fn copy(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [value @ Value::Array(array)] => {
            let elements = value.array_elements().unwrap_or_default();
            let element = array.0.place.borrow().0.memory.0.element.clone();
            let dims = array.0.dims.borrow().clone();
            runtime.array(element, dims, elements)
        }
        [Value::Scalar(scalar)] => Ok(Value::Scalar(Scalar::clone(scalar))),
        _ => Err(expected("an array")),
    }
}

/// The place of an element of an array, or the place itself.
pub(super) fn element(runtime: &Runtime<'_>, target: &Value, indices: &[Value]) -> Result<PlaceRef> {
    match (target, indices) {
        (Value::MemoryRef(place), []) => Ok(place.clone()),
        (Value::Array(array), _) => {
            let at = offset(runtime, array, indices)?;
            Ok(place_behind(&array.0.place.borrow(), at))
        }
        _ => Err(expected("an array and indices, or a MemoryRef")),
    }
}

/// A place `delta` elements behind another.
pub(super) fn place_behind(place: &PlaceRef, delta: usize) -> PlaceRef {
    PlaceRef(Rc::new(PlaceObject { memory: place.0.memory.clone(), offset: place.0.offset + delta }))
}

/// Puts a value, which is of the element type, in the place of another; `None` if there is no such place.
pub(super) fn store(fields: &RefCell<crate::object::Fields>, at: usize, value: Value) -> Option<()> {
    *fields.borrow_mut().values_mut().get_mut(at)? = value;
    Some(())
}
