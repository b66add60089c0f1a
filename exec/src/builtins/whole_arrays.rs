//! Functions of Julia's library on whole arrays, and what bbkit adds to them: sums, extrema, filling, copying, slices.
//!
//! Sums go from the first element to the last. (Julia adds in pairs; the results differ by rounding.)

use ircode::primitives::{Compute, lookup};
use ircode::{Scalar, Type};

use super::arrays::{array, sizes};
use super::control::{index, position};
use super::floats::{Floats, factor, float_type, rounded, share_memory, update};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{ArrayRef, Value, isa};

type Result<T> = std::result::Result<T, Fault>;

fn element_type(array: &ArrayRef) -> Type {
    array.0.place.borrow().0.memory.0.element.clone()
}

/// So many elements from `first` on, counted from 0.
fn part(value: &Value, first: usize, count: usize) -> Result<Vec<Value>> {
    let array = array(value)?;
    let place = array.0.place.borrow();
    let memory = place.0.memory.0.fields.borrow();
    let start = place.0.offset + first;
    memory.values().get(start..start + count).map(<[Value]>::to_vec).ok_or_else(|| expected("an array"))
}

/// The elements, all of which must be assigned.
fn elements(runtime: &Runtime<'_>, value: &Value) -> Result<Vec<Value>> {
    let elements = part(value, 0, array(value)?.length())?;
    match elements.iter().any(|element| matches!(element, Value::Undefined)) {
        true => Err(runtime.exception("UndefRefError", &[], vec![])),
        false => Ok(elements),
    }
}

/// A scalar primitive of two numbers.
pub(super) fn scalar(runtime: &Runtime<'_>, name: &str, a: &Value, b: &Value) -> Result<Value> {
    let (Value::Scalar(a), Value::Scalar(b)) = (a, b) else { return Err(expected("arrays of numbers")) };
    let operands = [a.clone(), b.clone()];
    match lookup(name).map(|primitive| (primitive, primitive.compute)) {
        Some((primitive, Compute::Scalars(f))) => f(&operands).map(Value::Scalar).map_err(|failure| {
            let args = operands.map(Value::Scalar);
            runtime.failure(primitive, failure, &args)
        }),
        _ => Err(expected("arrays of numbers")),
    }
}

pub(super) fn dimension_mismatch(runtime: &Runtime<'_>, message: String) -> Fault {
    runtime.exception("DimensionMismatch", &["msg"], vec![Value::String(message.into())])
}

/// `sum(a)`; the sum of nothing is zero.
pub(super) fn sum(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target] = args else { return Err(expected("an array")) };
    let array = array(target)?;
    if let Ok(Floats { ty, values, .. }) = Floats::of(target) {
        let sum = values.into_iter().reduce(|sum, value| rounded(ty, sum + value)).unwrap_or(0.0);
        return Scalar::from_float(ty, sum).map(Value::Scalar).ok_or_else(|| expected("an array"));
    }
    let mut rest = elements(runtime, target)?.into_iter();
    match (element_type(array), rest.next()) {
        (Type::Scalar(ty), first) => {
            let zero = Value::Scalar(Scalar::from_bits(ty.summed(), 0));
            first.into_iter().chain(rest).try_fold(zero, |sum, value| scalar(runtime, "+", &sum, &value))
        }
        (_, Some(first)) => rest.try_fold(first, |sum, value| scalar(runtime, "+", &sum, &value)),
        (_, None) => {
            let message = "reducing over an empty collection is not allowed; consider supplying `init` to the reducer";
            Err(runtime.argument_error(message))
        }
    }
}

/// The first element, counted from 1, that is the largest or smallest; the first NaN, if there is one.
fn extremum(runtime: &Runtime<'_>, args: &[Value], better: &str, of: &str) -> Result<(i64, Value)> {
    let [target] = args else { return Err(expected("an array")) };
    array(target)?;
    let all = elements(runtime, target)?;
    let mut rest = (1..).zip(all);
    let Some(mut best) = rest.next() else {
        let message = match of {
            "argmax" | "argmin" => "collection must be non-empty",
            _ => "reducing over an empty collection is not allowed; consider supplying `init` to the reducer",
        };
        return Err(runtime.argument_error(message));
    };
    let is_nan = |value: &Value| value.as_float().is_some_and(f64::is_nan);
    for (i, value) in rest {
        if is_nan(&best.1) {
            break;
        }
        // Of two zeros, Julia takes the positive one for the larger.
        let zeros = value.as_float() == Some(0.0) && best.1.as_float() == Some(0.0);
        let negative = |value: &Value| value.as_float().is_some_and(f64::is_sign_negative);
        let wins = match zeros {
            true => negative(&value) != negative(&best.1) && negative(&value) == (better == "<"),
            false => matches!(scalar(runtime, better, &value, &best.1)?, Value::Scalar(Scalar::Bool(true))),
        };
        if wins || is_nan(&value) {
            best = (i, value);
        }
    }
    Ok(best)
}

/// `maximum(a)`; NaN if there is one.
pub(super) fn maximum(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(extremum(runtime, args, ">", "maximum")?.1)
}

/// `minimum(a)`; NaN if there is one.
pub(super) fn minimum(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(extremum(runtime, args, "<", "minimum")?.1)
}

/// `argmax(a)`, as a number in memory order, whatever the rank.
pub(super) fn argmax(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(extremum(runtime, args, ">", "argmax")?.0))
}

/// `argmin(a)`, as a number in memory order, whatever the rank.
pub(super) fn argmin(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(extremum(runtime, args, "<", "argmin")?.0))
}

/// `fill(value, dims…)`.
pub(super) fn fill(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value, dims @ ..] = args else { return Err(expected("a value and dimensions")) };
    let dims = match dims {
        [Value::Tuple(dims)] => dims.0.fields.values(),
        dims => dims,
    };
    let (sizes, length) = sizes(runtime, dims)?;
    runtime.meter.would_fit(length)?;
    runtime.array(value.type_of(), sizes, vec![value.clone(); length])
}

/// A value as an element of this type: numbers are converted, as Julia's `setindex!` does.
pub(super) fn as_element(runtime: &mut Runtime<'_>, value: &Value, element: &Type) -> Result<Value> {
    match (value, element) {
        _ if isa(value, element) => Ok(value.clone()),
        (Value::Scalar(_), Type::Scalar(_)) => runtime.construct(element, std::slice::from_ref(value)),
        _ => Err(expected("an array and a value of the type of its elements")),
    }
}

/// `fill!(a, value)`.
pub(super) fn fill_all(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, value] = args else { return Err(expected("an array and a value")) };
    let count = array(target)?.length();
    fill_range(runtime, target, 0, count, value)?;
    Ok(target.clone())
}

fn fill_range(runtime: &mut Runtime<'_>, target: &Value, first: usize, count: usize, value: &Value) -> Result<()> {
    let array = array(target)?;
    let value = as_element(runtime, value, &element_type(array))?;
    let place = array.0.place.borrow();
    let mut memory = place.0.memory.0.fields.borrow_mut();
    let start = place.0.offset + first;
    let slots = start.checked_add(count).and_then(|end| memory.values_mut().get_mut(start..end));
    slots.ok_or_else(|| expected("an array that has memory for its elements"))?.fill(value);
    Ok(())
}

/// Puts values in the place of elements, from `first` on, counted from 0.
fn write(target: &Value, first: usize, values: Vec<Value>) -> Result<()> {
    let array = array(target)?;
    let place = array.0.place.borrow();
    let mut memory = place.0.memory.0.fields.borrow_mut();
    let start = place.0.offset + first;
    let slots = memory.values_mut().get_mut(start..start + values.len());
    for (slot, value) in slots.ok_or_else(|| expected("an array"))?.iter_mut().zip(values) {
        *slot = value;
    }
    Ok(())
}

/// The elements from `first` to `last`, counted from 1 in memory order, as an offset and a number. `last` may be one
/// less than `first`: then there are none.
fn range(runtime: &Runtime<'_>, target: &Value, first: &Value, last: &Value) -> Result<(usize, usize)> {
    let length = array(target)?.length();
    let (from, to) = (index(first)?, index(last)?);
    if to < from {
        return Ok((0, 0));
    }
    match (position(first)?, usize::try_from(to)) {
        (Some(from), Ok(to)) if to <= length => Ok((from, to - from)),
        _ => {
            let indices = Value::Text(format!("{from}:{to}").into());
            Err(runtime.exception("BoundsError", &["a", "i"], vec![target.clone(), indices]))
        }
    }
}

/// What Julia says where a negative number of elements is to be copied.
pub(crate) fn negative_count(count: i128) -> String {
    format!("tried to copy n={count} elements, but n should be non-negative")
}

/// `copyto!(to, from)` and `copyto!(to, first, from, from_first, count)`. What is copied is what was there before.
pub(super) fn copyto(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let what = "two arrays, or an array and a place, an array and a place, and a number";
    let (to, to_first, from, from_first, count) = match args {
        [to, from] => (to, 1, from, 1, array(from)?.length() as i128),
        [to, to_first, from, from_first, count] => (to, index(to_first)?, from, index(from_first)?, index(count)?),
        _ => return Err(expected(what)),
    };
    let element = element_type(array(to)?);
    array(from)?;
    if count < 0 {
        return Err(runtime.argument_error(&negative_count(count)));
    }
    if count == 0 {
        return Ok(to.clone());
    }
    let place = |first: i128| -> Result<(Value, Value)> {
        let (first, count) = (i64::try_from(first).ok(), i64::try_from(count).ok());
        let (first, count) = first.zip(count).ok_or_else(|| expected(what))?;
        Ok((Value::from(first), Value::from(first.saturating_add(count - 1))))
    };
    let ((to_first, to_last), (from_first, from_last)) = (place(to_first)?, place(from_first)?);
    let (to_first, _) = range(runtime, to, &to_first, &to_last)?;
    let (from_first, count) = range(runtime, from, &from_first, &from_last)?;
    let mut values = part(from, from_first, count)?;
    // Nothing is there to convert where the types agree, and what is not assigned stays so.
    if element != element_type(array(from)?) {
        for value in &mut values {
            *value = as_element(runtime, value, &element)?;
        }
    }
    write(to, to_first, values)?;
    Ok(to.clone())
}

/// `similar(a)`: an array of the same type and dimensions. What Julia leaves undefined is zero here.
pub(super) fn similar(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target] = args else { return Err(expected("an array")) };
    let array = array(target)?;
    let dims: Vec<Value> = array.0.dims.borrow().iter().map(|&dim| Value::from(dim as i64)).collect();
    super::arrays::undefined_array(runtime, &element_type(array), None, &dims)
}

/// `vcat(a, b)` of two vectors of one element type.
pub(super) fn vcat(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let what = "two vectors of one element type";
    let [a, b] = args else { return Err(expected(what)) };
    let (first, second) = (array(a)?, array(b)?);
    let element = element_type(first);
    if first.0.dims.borrow().len() != 1 || second.0.dims.borrow().len() != 1 || element != element_type(second) {
        return Err(expected(what));
    }
    let length = first.length() + second.length();
    runtime.meter.would_fit(length)?;
    let mut all = a.array_elements().unwrap_or_default();
    all.extend(b.array_elements().unwrap_or_default());
    runtime.array(element, vec![length], all)
}

/// `permutedims(a)`: the transpose of a matrix; a vector becomes a row.
pub(super) fn permutedims(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target] = args else { return Err(expected("a matrix or a vector")) };
    let array = array(target)?;
    let (rows, columns) = match array.0.dims.borrow().as_slice() {
        [rows] => (*rows, 1),
        [rows, columns] => (*rows, *columns),
        _ => return Err(expected("a matrix or a vector")),
    };
    let all = target.array_elements().unwrap_or_default();
    runtime.meter.would_fit(all.len())?;
    // Many rows without columns are no elements.
    let rows_of_elements = if all.is_empty() { 0 } else { rows };
    let turned = (0..rows_of_elements).flat_map(|row| (0..columns).map(move |column| row + column * rows));
    let turned = turned.filter_map(|at| all.get(at).cloned()).collect();
    runtime.array(element_type(array), vec![columns, rows], turned)
}

/// `slice(a, first, last)`: a new vector of the elements from `first` to `last`, counted in memory order.
pub(super) fn slice(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, first, last] = args else { return Err(expected("an array and two places")) };
    let (first, count) = range(runtime, target, first, last)?;
    runtime.meter.would_fit(count)?;
    let elements = part(target, first, count)?;
    runtime.array(element_type(array(target)?), vec![count], elements)
}

/// `fill_slice!(a, first, last, value)`.
pub(super) fn fill_slice(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, first, last, value] = args else { return Err(expected("an array, two places and a value")) };
    let (first, count) = range(runtime, target, first, last)?;
    fill_range(runtime, target, first, count, value)?;
    Ok(target.clone())
}

/// `add_scalar!(a, value)`: adds the value to every element.
pub(super) fn add_scalar(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, value] = args else { return Err(expected("an array of floats and a float")) };
    let array = array(target)?;
    let ty = float_type(array)?;
    let value = factor(ty, value)?;
    update(target, 0, array.length(), |_, old| rounded(ty, old + value))?;
    Ok(target.clone())
}

/// `add_at!(a, i, value)`: adds the value to the element `i`, counted in memory order.
pub(super) fn add_at(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, at, value] = args else { return Err(expected("an array of floats, a place and a float")) };
    let ty = float_type(array(target)?)?;
    let value = factor(ty, value)?;
    let (first, count) = range(runtime, target, at, at)?;
    update(target, first, count, |_, old| rounded(ty, old + value))?;
    Ok(target.clone())
}

/// `add_slice!(a, first, b)`: adds the elements of `b` to those of `a` from `first` on, both in memory order. `b` must
/// not be stored in the memory of `a`.
pub(super) fn add_slice(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, first, other] = args else { return Err(expected("an array of floats, a place and such an array")) };
    apart(runtime, target, &[other])?;
    let Floats { ty, values, .. } = Floats::of(other)?;
    if float_type(array(target)?)? != ty {
        return Err(expected("arrays of floats of one type"));
    }
    let last = i64::try_from(index(first)?).ok().map(|first| first.saturating_add(values.len() as i64 - 1));
    let last = last.ok_or_else(|| expected("an array of floats, a place and such an array"))?;
    let (first, count) = range(runtime, target, first, &Value::from(last))?;
    update(target, first, count, |i, old| rounded(ty, old + values.get(i).copied().unwrap_or(0.0)))?;
    Ok(target.clone())
}

/// What is said where what is changed is among what is read.
pub(crate) const CHANGED_OPERAND: &str = "the array that is changed must not be an operand, too";

/// What is changed must not be among what is read.
pub(super) fn apart(runtime: &Runtime<'_>, target: &Value, others: &[&Value]) -> Result<()> {
    if others.iter().any(|other| share_memory(target, other)) {
        return Err(runtime.argument_error(CHANGED_OPERAND));
    }
    Ok(())
}

/// `map` and `broadcast` make calls, which takes the machine (`machine/mapping.rs`); what calls them otherwise cannot.
pub(super) fn mapping(_: &mut Runtime<'_>, _: &[Value]) -> Result<Value> {
    Err(super::control::unsupported("a map that is called by another primitive".into()))
}

/// `same_shape(a, b)`: what a map over both asks first. Where Julia would go as far as the shorter reaches, or repeat
/// what has the size 1, nothing is run.
pub(super) fn same_shape(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err(expected("two arrays")) };
    let (Some(a), Some(b)) = (a.array_dims(), b.array_dims()) else { return Err(expected("two arrays")) };
    if a == b { Ok(Value::Nothing) } else { Err(shapes_differ(&a, &b)) }
}

/// That arrays of these dimensions are not gone over together.
pub(crate) fn shapes_differ(a: &[usize], b: &[usize]) -> Fault {
    super::control::unsupported(format!("a map or broadcast over arrays of the dimensions {a:?} and {b:?}"))
}
