//! What derivatives need when they run: stacks for what the forward pass saves.

use super::control::position;
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::Value;

type Result<T> = std::result::Result<T, Fault>;

/// `new_stack(T)`.
pub(super) fn new_stack(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Type(element)] => runtime.stack((**element).clone()),
        _ => Err(expected("a type")),
    }
}

/// `stack_push!(stack, value)`.
pub(super) fn stack_push(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Stack(stack), value] => {
            runtime.saved += value.as_tuple().map_or(1, <[Value]>::len) as u64;
            stack.0.fields.borrow_mut().push(value.clone())?;
            Ok(Value::Nothing)
        }
        _ => Err(expected("a stack and a value")),
    }
}

/// `stack_get(stack, i)`: the `i`-th element from the bottom, counted from 1. The stack stays as it is.
pub(super) fn stack_get(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target @ Value::Stack(stack), number] = args else { return Err(expected("a stack and an index")) };
    let at = position(number)?;
    let value = at.and_then(|at| stack.0.fields.borrow().values().get(at).cloned());
    value.ok_or_else(|| runtime.exception("BoundsError", &["a", "i"], vec![target.clone(), number.clone()]))
}

/// `stack_set!(stack, value, i)`: puts a value in the place of the `i`-th element from the bottom, counted from 1.
pub(super) fn stack_set(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target @ Value::Stack(stack), value, number] = args else {
        return Err(expected("a stack, a value and an index"));
    };
    let at = position(number)?;
    let mut fields = stack.0.fields.borrow_mut();
    match at.and_then(|at| fields.values_mut().get_mut(at)) {
        Some(slot) => {
            *slot = value.clone();
            Ok(Value::Nothing)
        }
        None => Err(runtime.exception("BoundsError", &["a", "i"], vec![target.clone(), number.clone()])),
    }
}

/// `stack_pop!(stack)`: takes the last element from the stack.
pub(super) fn stack_pop(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Stack(stack)] = args else { return Err(expected("a stack")) };
    let popped = stack.0.fields.borrow_mut().pop();
    popped.ok_or_else(|| runtime.argument_error("a stack that is empty has no last element"))
}

/// `stack_empty!(stack)`: takes all elements from the stack.
pub(super) fn stack_empty(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Stack(stack)] = args else { return Err(expected("a stack")) };
    // One by one, so that what is dropped may look at the stack.
    loop {
        let popped = stack.0.fields.borrow_mut().pop();
        if popped.is_none() {
            return Ok(Value::Nothing);
        }
    }
}

/// `stack_length(stack)`.
pub(super) fn stack_length(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Stack(stack)] => Ok(Value::from(stack.0.fields.borrow().values().len() as i64)),
        _ => Err(expected("a stack")),
    }
}
