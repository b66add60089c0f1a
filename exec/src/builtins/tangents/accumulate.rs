//! Adding to shadows in place.

use std::collections::BTreeSet;

use super::add_tangents;
use crate::builtins::{Runtime, expected};
use crate::machine::Fault;
use crate::value::Value;

type Result<T> = std::result::Result<T, Fault>;

/// The values that are directly in an object.
fn contents(object: &Value) -> Option<Vec<Value>> {
    match object {
        Value::Array(_) => object.array_elements(),
        Value::Memory(memory) => Some(memory.0.fields.borrow().values().to_vec()),
        Value::MemoryRef(place) => Some(place.0.memory.0.fields.borrow().values().to_vec()),
        Value::Struct(object) if object.0.ty.mutable => Some(object.0.fields.borrow().values().to_vec()),
        Value::Stack(stack) => Some(stack.0.fields.borrow().values().to_vec()),
        _ => None,
    }
}

/// Puts back what [`contents`] gave, changed.
fn set_contents(object: &Value, values: Vec<Value>) {
    let put = |slots: &mut [Value]| {
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = value;
        }
    };
    match object {
        Value::Array(array) => {
            let place = array.0.place.borrow().clone();
            let mut memory = place.0.memory.0.fields.borrow_mut();
            put(memory.values_mut().get_mut(place.0.offset..).unwrap_or_default());
        }
        Value::Memory(memory) => put(memory.0.fields.borrow_mut().values_mut()),
        Value::MemoryRef(place) => put(place.0.memory.0.fields.borrow_mut().values_mut()),
        Value::Struct(object) => put(object.0.fields.borrow_mut().values_mut()),
        Value::Stack(stack) => put(stack.0.fields.borrow_mut().values_mut()),
        _ => {}
    }
}

/// A number for the storage of an object, the same for the same storage.
fn identity(object: &Value) -> Option<*const ()> {
    Some(match object {
        Value::Array(array) => std::rc::Rc::as_ptr(&array.0).cast(),
        Value::Memory(memory) => std::rc::Rc::as_ptr(&memory.0).cast(),
        Value::MemoryRef(place) => std::rc::Rc::as_ptr(&place.0.memory.0).cast(),
        Value::Struct(object) => std::rc::Rc::as_ptr(&object.0).cast(),
        Value::Stack(stack) => std::rc::Rc::as_ptr(&stack.0).cast(),
        _ => return None,
    })
}

/// `add_shadow!(shadow, other)`: the floats that are in the second object, also those in tuples, are added to those in
/// the first. What else has identity is left alone.
pub(in crate::builtins) fn add_shadow(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "two shadows of the same shape";
    let [to, from] = args else { return Err(expected(EXPECTED)) };
    if matches!(to, Value::Nothing) || matches!(from, Value::Nothing) {
        return Ok(Value::Nothing);
    }
    let (Some(mut sums), Some(added)) = (contents(to), contents(from)) else { return Err(expected(EXPECTED)) };
    if sums.len() != added.len() {
        return Err(expected(EXPECTED));
    }
    for (sum, added) in sums.iter_mut().zip(added) {
        match (&*sum, &added) {
            (_, Value::Undefined) => {}
            (Value::Undefined, _) => *sum = added,
            _ => *sum = add_tangents(runtime, &[sum.clone(), added])?,
        }
    }
    set_contents(to, sums);
    Ok(Value::Nothing)
}

/// `add_seed!(shadow, seed)`: adds a tangent of the same shape to a shadow, all that is reached from it included; what
/// is reached on several ways, once.
pub(in crate::builtins) fn add_seed(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "a shadow and a tangent of the same shape";
    let [shadow, seed] = args else { return Err(expected(EXPECTED)) };
    let mut work = vec![(shadow.clone(), seed.clone())];
    let mut seen: BTreeSet<*const ()> = BTreeSet::new();
    while let Some((shadow, seed)) = work.pop() {
        match (&shadow, &seed) {
            (Value::Nothing, _) | (_, Value::Nothing | Value::Undefined) => {}
            (Value::Tuple(a), Value::Tuple(b)) => {
                let (a, b) = (a.0.fields.values(), b.0.fields.values());
                if a.len() != b.len() {
                    return Err(expected(EXPECTED));
                }
                work.extend(a.iter().cloned().zip(b.iter().cloned()));
            }
            (Value::Scalar(_), _) => {}
            _ => {
                if identity(&shadow).is_some_and(|identity| !seen.insert(identity)) {
                    continue;
                }
                let dims = |value: &Value| value.array_dims();
                let (Some(inside), Some(of_seed)) = (contents(&shadow), contents(&seed)) else {
                    return Err(expected(EXPECTED));
                };
                if inside.len() != of_seed.len() || dims(&shadow) != dims(&seed) {
                    return Err(expected(EXPECTED));
                }
                add_shadow(runtime, &[shadow.clone(), seed.clone()])?;
                work.extend(inside.into_iter().zip(of_seed));
            }
        }
    }
    Ok(Value::Nothing)
}

/// `fill_unassigned!(object, snapshot)`: elements that are not assigned become those of the snapshot.
pub(in crate::builtins) fn fill_unassigned(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "an object and a snapshot of the same length";
    let [object, snapshot] = args else { return Err(expected(EXPECTED)) };
    let (Some(mut values), Some(saved)) = (contents(object), contents(snapshot)) else {
        return Err(expected(EXPECTED));
    };
    if values.len() != saved.len() {
        return Err(expected(EXPECTED));
    }
    for (value, saved) in values.iter_mut().zip(saved) {
        if matches!(value, Value::Undefined) {
            *value = saved;
        }
    }
    set_contents(object, values);
    Ok(Value::Nothing)
}
