//! Which objects values share.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::value::Value;

/// Where an object lies.
type Address = *const ();

fn address<T>(object: &Rc<T>) -> Address {
    Rc::as_ptr(object).cast()
}

/// The address of an object that can be changed: of an array, that of its numbers, which others may have, too.
fn changeable(value: &Value) -> Option<Address> {
    match value {
        Value::Array(array) => Some(address(&array.0.place.borrow().0.memory.0)),
        Value::Memory(memory) => Some(address(&memory.0)),
        Value::MemoryRef(place) => Some(address(&place.0.memory.0)),
        Value::Struct(object) if object.0.ty.mutable => Some(address(&object.0)),
        Value::Stack(stack) => Some(address(&stack.0)),
        Value::Slot(slot) => Some(address(&slot.0)),
        _ => None,
    }
}

/// The address of what is in memory, whether it can be changed or not: values share parts.
fn held(value: &Value) -> Option<Address> {
    match value {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => Some(address(&tuple.0)),
        Value::NamedTuple(tuple) => Some(address(&tuple.0)),
        Value::Struct(object) => Some(address(&object.0)),
        Value::Enum(case) => Some(address(&case.0)),
        Value::Closure(closure) => Some(address(&closure.0)),
        Value::DifferentiableFunction(function) => Some(address(&function.0)),
        value => changeable(value),
    }
}

/// What is in a value, numbers left aside.
fn contents(value: &Value) -> Vec<Value> {
    let of = |values: &[Value]| match values.first() {
        // Arrays of numbers hold nothing else.
        Some(Value::Scalar(_)) if changeable(value).is_some() && !matches!(value, Value::Struct(_)) => Vec::new(),
        _ => values.to_vec(),
    };
    match value {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => of(tuple.0.fields.values()),
        Value::NamedTuple(tuple) => of(tuple.0.fields.values()),
        Value::Struct(object) => of(object.0.fields.borrow().values()),
        Value::Enum(case) => of(case.0.fields.values()),
        Value::Closure(closure) => of(closure.0.fields.values()),
        Value::DifferentiableFunction(function) => of(function.0.fields.values()),
        Value::Array(array) => of(array.0.place.borrow().0.memory.0.fields.borrow().values()),
        Value::Memory(memory) => of(memory.0.fields.borrow().values()),
        Value::MemoryRef(place) => of(place.0.memory.0.fields.borrow().values()),
        Value::Stack(stack) => of(stack.0.fields.borrow().values()),
        Value::Slot(slot) => of(slot.0.fields.borrow().values()),
        _ => Vec::new(),
    }
}

/// Whether some object that can be changed is reached from values of both lists. Takes time linear in what is reached,
/// but for a logarithm.
///
/// ```
/// use exec::{Machine, share_objects};
/// use ircode::{IRCode, Module, Type};
///
/// let module: Module<IRCode> = Module::new();
/// let machine = Machine::new(&module);
/// let vector = machine.array(Type::FLOAT64, vec![1], vec![2.0.into()])?;
/// let pair = machine.tuple(vec![vector.clone(), 1.0.into()])?;
/// assert!(share_objects(&[vector.clone()], &[pair]));
/// assert!(!share_objects(&[vector.clone()], &machine.copies(&[vector])?));
/// # Ok::<(), exec::RunErrorKind>(())
/// ```
pub fn share_objects(a: &[Value], b: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    let mut objects = BTreeSet::new();
    let mut work = a.to_vec();
    while let Some(value) = work.pop() {
        objects.extend(changeable(&value));
        if held(&value).is_some_and(|at| seen.insert(at)) {
            work.extend(contents(&value));
        }
    }
    let mut seen = BTreeSet::new();
    let mut work = b.to_vec();
    while let Some(value) = work.pop() {
        if changeable(&value).is_some_and(|object| objects.contains(&object)) {
            return true;
        }
        if held(&value).is_some_and(|at| seen.insert(at)) {
            work.extend(contents(&value));
        }
    }
    false
}

/// The first of the values, counted from 0, in which is an object that has two tangents, or the tangent of another
/// object. Followed are arrays, structs and tuples whose tangents have their form. Takes time as [`share_objects`].
pub fn first_shared_tangent(values: &[Value], tangents: &[Value]) -> Option<usize> {
    let mut seen = BTreeSet::new();
    let mut tangent_of: BTreeMap<Address, Address> = BTreeMap::new();
    let mut object_of: BTreeMap<Address, Address> = BTreeMap::new();
    values.iter().zip(tangents).position(|(value, tangent)| {
        let mut work = vec![(value.clone(), tangent.clone())];
        while let Some((value, tangent)) = work.pop() {
            if let (Some(object), Some(of)) = (changeable(&value), changeable(&tangent))
                && (*tangent_of.entry(object).or_insert(of) != of || *object_of.entry(of).or_insert(object) != object)
            {
                return true;
            }
            if let Some(pair) = held(&value).zip(held(&tangent))
                && seen.insert(pair)
            {
                work.extend(contents(&value).into_iter().zip(contents(&tangent)));
            }
        }
        false
    })
}
