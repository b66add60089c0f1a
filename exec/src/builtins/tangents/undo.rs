//! What undoing mutations takes: copies of objects, elements and fields as they were, and putting them back.

use std::rc::Rc;

use ircode::{Scalar, Type};

use crate::builtins::arrays::element;
use crate::builtins::derivative::{stack_get, stack_set};
use crate::builtins::structs::{field_index, getfield, setfield};
use crate::builtins::{Runtime, expected};
use crate::machine::Fault;
use crate::object::{Fields, Kind};
use crate::value::{PlaceObject, PlaceRef, StackObject, StackRef, Value};

type Result<T> = std::result::Result<T, Fault>;

const OBJECT: &str = "an array, memory, a mutable struct, a reference or a stack";

/// `snapshot(object)`: a copy of the object, as deep as the object itself. Elements that are not assigned are not
/// assigned in the copy.
pub(in crate::builtins) fn snapshot(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [object] = args else { return Err(expected(OBJECT)) };
    let copied = |fields: &Fields| -> Result<Vec<Value>> {
        runtime.meter.would_fit(fields.values().len())?;
        Ok(fields.values().to_vec())
    };
    match object {
        Value::Array(array) => {
            let length = array.length();
            runtime.meter.would_fit(length)?;
            let dims = array.0.dims.borrow().clone();
            let element = array.0.place.borrow().0.memory.0.element.clone();
            runtime.array(element, dims, object.array_elements().unwrap_or_default())
        }
        Value::Memory(memory) => {
            let values = copied(&memory.0.fields.borrow())?;
            Ok(Value::Memory(runtime.memory(memory.0.element.clone(), values)?))
        }
        Value::Struct(object) if object.0.ty.mutable => {
            let values = copied(&object.0.fields.borrow())?;
            runtime.structure(object.0.ty.clone(), values)
        }
        Value::Stack(stack) => {
            let values = copied(&stack.0.fields.borrow())?;
            let fields = runtime.meter.fields(Kind::Stack, values)?.into();
            Ok(Value::Stack(StackRef(Rc::new(StackObject { element: stack.0.element.clone(), fields }))))
        }
        _ => Err(expected(OBJECT)),
    }
}

/// `restore!(object, snapshot)`: the object holds again what it held when the snapshot was made. The snapshot can be
/// used again.
pub(in crate::builtins) fn restore(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "an object and a snapshot of it";
    let [object, saved] = args else { return Err(expected(EXPECTED)) };
    // Made before anything is borrowed: the snapshot could be the object itself.
    let fresh = |fields: &Fields| -> Result<Fields> {
        runtime.meter.would_fit(fields.values().len())?;
        Ok(runtime.meter.contents(fields.kind(), fields.values().to_vec())?)
    };
    match (object, saved) {
        (Value::Array(array), Value::Array(copy)) if object.type_of() == saved.type_of() => {
            let elements = saved.array_elements().unwrap_or_default();
            let dims = copy.0.dims.borrow().clone();
            let place = array.0.place.borrow().clone();
            let fits = place.0.memory.0.fields.borrow().values().len() >= place.0.offset + elements.len();
            if fits {
                let mut memory = place.0.memory.0.fields.borrow_mut();
                for (slot, value) in memory.values_mut().iter_mut().skip(place.0.offset).zip(elements) {
                    *slot = value;
                }
            } else {
                let memory = runtime.memory(place.0.memory.0.element.clone(), elements)?;
                *array.0.place.borrow_mut() = PlaceRef(Rc::new(PlaceObject { memory, offset: 0 }));
            }
            *array.0.dims.borrow_mut() = dims;
        }
        (Value::Memory(memory), Value::Memory(copy)) if memory.0.element == copy.0.element => {
            let fields = fresh(&copy.0.fields.borrow())?;
            *memory.0.fields.borrow_mut() = fields;
        }
        (Value::Struct(object), Value::Struct(copy)) if object.0.ty.mutable && object.0.ty == copy.0.ty => {
            let fields = fresh(&copy.0.fields.borrow())?;
            *object.0.fields.borrow_mut() = fields;
        }
        (Value::Stack(stack), Value::Stack(copy)) if stack.0.element == copy.0.element => {
            let fields = fresh(&copy.0.fields.borrow())?;
            *stack.0.fields.borrow_mut() = fields;
        }
        _ => return Err(expected(EXPECTED)),
    }
    Ok(Value::Nothing)
}

/// A value as it is saved: alone in a tuple, or `nothing` if there is none.
fn saved(runtime: &Runtime<'_>, value: Value) -> Result<Value> {
    match value {
        Value::Undefined => Ok(Value::Nothing),
        value => runtime.tuple(vec![value]),
    }
}

/// The value that was saved; undefined if there was none.
fn unsaved(saved: &Value) -> Result<Value> {
    match saved {
        Value::Nothing => Ok(Value::Undefined),
        Value::Tuple(tuple) => match tuple.0.fields.values() {
            [value] => Ok(value.clone()),
            _ => Err(expected("what was saved")),
        },
        _ => Err(expected("what was saved")),
    }
}

/// `saved_element(array, i…)`, `saved_element(place)` or `saved_element(stack, i)`: the element in a tuple, or
/// `nothing` if it is not assigned.
pub(in crate::builtins) fn saved_element(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, indices @ ..] = args else { return Err(expected("an array and indices, or a MemoryRef")) };
    if let (Value::Stack(_), [number]) = (target, indices) {
        let value = stack_get(runtime, &[target.clone(), number.clone()])?;
        return saved(runtime, value);
    }
    let place = element(runtime, target, indices)?;
    let value = place.0.memory.0.fields.borrow().values().get(place.0.offset).cloned();
    saved(runtime, value.unwrap_or(Value::Undefined))
}

/// `restore_element!(array, saved, i…)`, `restore_element!(place, saved)` or `restore_element!(stack, saved, i)`.
pub(in crate::builtins) fn restore_element(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, saved, indices @ ..] = args else {
        return Err(expected("an array or a MemoryRef, what was saved, and indices"));
    };
    let value = unsaved(saved)?;
    if let (Value::Stack(_), [number]) = (target, indices) {
        return stack_set(runtime, &[target.clone(), value, number.clone()]).map(|_| Value::Nothing);
    }
    let place = element(runtime, target, indices)?;
    if let Some(slot) = place.0.memory.0.fields.borrow_mut().values_mut().get_mut(place.0.offset) {
        *slot = value;
    }
    Ok(Value::Nothing)
}

/// `saved_field(object, field)`: the field in a tuple, or `nothing` if it is not defined. Of an array, too, which from
/// Julia 1.11 on has the fields `ref` and `size`.
pub(in crate::builtins) fn saved_field(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [object, name] = args else { return Err(expected("a mutable struct and a field")) };
    let value = match object {
        Value::Array(_) => getfield(runtime, args)?,
        Value::Struct(structure) => {
            let at = field_index(runtime, object, name)?;
            structure.0.fields.borrow().values().get(at).cloned().unwrap_or(Value::Undefined)
        }
        _ => return Err(expected("a mutable struct and a field")),
    };
    saved(runtime, value)
}

/// `restore_field!(object, saved, field)`.
pub(in crate::builtins) fn restore_field(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "a mutable struct, what was saved, and a field";
    let [object, saved, name] = args else { return Err(expected(EXPECTED)) };
    if !matches!(object, Value::Array(_)) && !matches!(object, Value::Struct(object) if object.0.ty.mutable) {
        return Err(expected(EXPECTED));
    }
    setfield(runtime, &[object.clone(), name.clone(), unsaved(saved)?])?;
    Ok(Value::Nothing)
}

/// What `use_once!` says.
pub(crate) const USED_TWICE: &str = "this pullback undoes mutations and can be called only once";

/// `use_once!(flag)`: an error if the flag is set, and sets it.
pub(in crate::builtins) fn use_once(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "a reference to a Bool";
    let [Value::Struct(object)] = args else { return Err(expected(EXPECTED)) };
    if !matches!(object.0.ty.ty, Type::Ref(_)) {
        return Err(expected(EXPECTED));
    }
    let mut fields = object.0.fields.borrow_mut();
    match fields.values_mut().first_mut() {
        Some(flag @ Value::Scalar(Scalar::Bool(false))) => *flag = Value::from(true),
        Some(Value::Scalar(Scalar::Bool(true))) => {
            return Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(USED_TWICE.into())]));
        }
        _ => return Err(expected(EXPECTED)),
    }
    Ok(Value::Nothing)
}
