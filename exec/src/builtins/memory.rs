//! Memory and places in it, as programs from Julia 1.11 on use them.

use std::rc::Rc;

use ircode::Type;

use super::arrays::{may_hold, place_behind, store};
use super::control::{index, position, unsupported};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{PlaceObject, PlaceRef, Value};

type Result<T> = std::result::Result<T, Fault>;

fn place(value: Option<&Value>) -> Result<&PlaceRef> {
    match value {
        Some(Value::MemoryRef(place)) => Ok(place),
        _ => Err(expected("a MemoryRef")),
    }
}

/// `memorynew(Memory{T}, length)`.
pub(super) fn memorynew(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Type(ty), length] = args else { return Err(expected("a type of memory and a length")) };
    let Type::Memory(element) = &**ty else { return Err(expected("a type of memory and a length")) };
    let Ok(length) = usize::try_from(index(length)?) else {
        return Err(runtime.argument_error("invalid GenericMemory size"));
    };
    runtime.meter.would_fit(length)?;
    Ok(Value::Memory(runtime.memory((**element).clone(), vec![runtime.unassigned(element)?; length])?))
}

/// `memoryref(memory)`, the place of the first element; `memoryrefnew(place, i[, boundscheck])`, that of the `i`-th
/// from there. Bounds are checked in any case.
pub(super) fn memoryref(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let start = match args.first() {
        Some(Value::Memory(memory)) => PlaceRef(Rc::new(PlaceObject { memory: memory.clone(), offset: 0 })),
        Some(Value::MemoryRef(place)) => place.clone(),
        _ => return Err(expected("memory or a MemoryRef")),
    };
    let Some(number) = args.get(1) else { return Ok(Value::MemoryRef(start)) };
    let length = start.0.memory.0.fields.borrow().values().len();
    let fits = |delta: &usize| start.0.offset.checked_add(*delta).is_some_and(|at| at < length);
    match position(number)?.filter(fits) {
        Some(delta) => Ok(Value::MemoryRef(place_behind(&start, delta))),
        None => {
            let fields = vec![Value::MemoryRef(start), number.clone()];
            Err(runtime.exception("BoundsError", &["a", "i"], fields))
        }
    }
}

/// `memoryrefget(place, order, boundscheck)`.
pub(super) fn memoryrefget(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let place = place(args.first())?;
    let value = place.0.memory.0.fields.borrow().values().get(place.0.offset).cloned();
    match value {
        Some(Value::Undefined) => Err(runtime.exception("UndefRefError", &[], vec![])),
        Some(value) => Ok(value),
        None => {
            let fields = vec![Value::MemoryRef(place.clone()), Value::from(1)];
            Err(runtime.exception("BoundsError", &["a", "i"], fields))
        }
    }
}

/// `memoryrefset!(place, value, order, boundscheck)`; returns the value.
pub(super) fn memoryrefset(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let place = place(args.first())?;
    let Some(value) = args.get(1) else { return Err(expected("a MemoryRef and a value")) };
    let memory = &place.0.memory.0;
    if !may_hold(runtime, &memory.element, value) {
        return Err(unsupported(format!("storing {} in memory of {}", value.type_of().with_article(), memory.element)));
    }
    match store(&memory.fields, place.0.offset, value.clone()) {
        Some(()) => Ok(value.clone()),
        None => {
            let fields = vec![Value::MemoryRef(place.clone()), Value::from(1)];
            Err(runtime.exception("BoundsError", &["a", "i"], fields))
        }
    }
}

/// The number of the element, counted from 1.
pub(super) fn memoryrefoffset(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(place(args.first())?.0.offset as i64 + 1))
}

pub(super) fn memoryref_isassigned(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let place = place(args.first())?;
    let fields = place.0.memory.0.fields.borrow();
    Ok(Value::from(!matches!(fields.values().get(place.0.offset), None | Some(Value::Undefined))))
}
