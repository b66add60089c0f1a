//! Tangents of values of which only the run tells what they are. What a tangent is says `ircode::tangents`; `nothing`
//! stands for a tangent of zeros wherever one may be dynamic.

mod accumulate;
mod undo;
mod zero;

pub(super) use accumulate::{add_seed, add_shadow, fill_unassigned};
#[cfg(feature = "native")]
pub(crate) use undo::USED_TWICE;
pub(super) use undo::{restore, restore_element, restore_field, saved_element, saved_field, snapshot, use_once};
pub(super) use zero::zero_tangent;
pub(crate) use zero::zero_tangent_of;

use ircode::primitives::{Compute, lookup};
use ircode::{Scalar, ScalarType, Type};

use super::control::position;
use super::{Runtime, expected};
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::value::{MemoryRef, Value};

type Result<T> = std::result::Result<T, Fault>;

/// The float 0.0 of this type.
fn zero_float(ty: ScalarType) -> Value {
    Value::Scalar(Scalar::from_bits(ty, 0))
}

fn float(value: &Value) -> Option<&Scalar> {
    value.as_scalar().filter(|scalar| scalar.scalar_type().is_float())
}

fn has_identity(value: &Value) -> bool {
    matches!(
        value,
        Value::Array(_) | Value::Memory(_) | Value::MemoryRef(_) | Value::Struct(_) | Value::Stack(_) | Value::Slot(_)
    )
}

/// `no_derivative(primitive, operands...)`, or of a function that is called: an error that no handler catches, so that
/// no derivative goes on without what was not derived.
pub(super) fn no_derivative(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (primitive, operands) = match args {
        [Value::String(primitive), operands @ ..] => (primitive, operands),
        [called] => return Err(Fault::Fatal(RunErrorKind::NoDerivativeOfCalled(called.to_string()))),
        _ => return Err(expected("the name of a primitive first")),
    };
    let operands: Vec<String> = operands.iter().map(|operand| operand.type_of().to_string()).collect();
    let (primitive, operands) = (primitive.to_string(), operands.join(", "));
    Err(Fault::Fatal(RunErrorKind::NoDerivative { primitive, operands }))
}

/// `no_method(called)`: an error that no handler catches. In Julia some would, but there the method may be one that is
/// not in the module.
pub(super) fn no_method(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [called] = args else { return Err(expected("what is called")) };
    Err(Fault::Fatal(RunErrorKind::NoMethod(called.to_string())))
}

/// `tangent_field(tangent, k)`: the tangent of the `k`-th field, counted from 1.
pub(super) fn tangent_field(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [tangent, number] = args else { return Err(expected("a tangent and the number of a field")) };
    let at = position(number)?;
    match tangent {
        Value::Nothing => Ok(Value::Nothing),
        Value::Tuple(tuple) => match at.and_then(|at| tuple.0.fields.values().get(at)) {
            Some(field) => Ok(field.clone()),
            None => Err(expected("a tangent and the number of a field")),
        },
        _ => Err(expected("a tangent that is a tuple and the number of a field")),
    }
}

/// `tangent_float(T, tangent)`: the tangent of a float of this type. Zero is -0.0, to which adding is exact.
pub(super) fn tangent_float(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "a type of floats and a tangent of that type";
    let [Value::Type(ty), tangent] = args else { return Err(expected(EXPECTED)) };
    let Some(ty) = ty.as_float() else { return Err(expected(EXPECTED)) };
    match tangent {
        Value::Nothing => Ok(Value::Scalar(Scalar::from_bits(ty, 1 << (8 * ty.bytes() - 1)))),
        Value::Scalar(scalar) if scalar.scalar_type() == ty => Ok(tangent.clone()),
        _ => Err(expected(EXPECTED)),
    }
}

/// What to do next on a walk through tuples: deep ones must not need a deep stack.
enum Step<V> {
    Visit(V),
    /// The results of the last so many visits are the elements of a tuple.
    Join(usize),
}

/// Makes a tuple of the last `count` results.
fn join(runtime: &Runtime<'_>, done: &mut Vec<Value>, count: usize, may_vanish: bool) -> Result<()> {
    let elements = done.split_off(done.len().saturating_sub(count));
    let vanishes = may_vanish && elements.iter().all(|element| matches!(element, Value::Nothing));
    done.push(if vanishes { Value::Nothing } else { runtime.tuple(elements)? });
    Ok(())
}

/// The same tuples around other leaves; `nothing` for tuples of `nothing`, if that is asked for.
fn map_leaves(
    runtime: &Runtime<'_>,
    tangent: &Value,
    may_vanish: bool,
    leaf: impl Fn(&Value) -> Option<Value>,
) -> Result<Value> {
    let mut steps = vec![Step::Visit(tangent.clone())];
    let mut done = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit(Value::Tuple(tuple)) => {
                let elements = tuple.0.fields.values();
                steps.push(Step::Join(elements.len()));
                steps.extend(elements.iter().rev().cloned().map(Step::Visit));
            }
            Step::Visit(value) => done.push(leaf(&value).ok_or_else(|| expected("a tangent"))?),
            Step::Join(count) => join(runtime, &mut done, count, may_vanish)?,
        }
    }
    done.pop().ok_or_else(|| expected("a tangent"))
}

/// `add_tangents(a, b)`: floats are added, tuples element by element. Two objects are the same one, the shadow that
/// both have been added to.
pub(super) fn add_tangents(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "two tangents of the same value";
    let [a, b] = args else { return Err(expected(EXPECTED)) };
    let add = match lookup("add_float").map(|primitive| primitive.compute) {
        Some(Compute::Scalars(add)) => add,
        _ => return Err(expected(EXPECTED)),
    };
    let mut steps = vec![Step::Visit((a.clone(), b.clone()))];
    let mut done = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit((Value::Nothing, other) | (other, Value::Nothing)) => done.push(other),
            Step::Visit((Value::Tuple(a), Value::Tuple(b))) => {
                let (a, b) = (a.0.fields.values(), b.0.fields.values());
                if a.len() != b.len() {
                    return Err(expected(EXPECTED));
                }
                steps.push(Step::Join(a.len()));
                steps.extend(a.iter().cloned().zip(b.iter().cloned()).rev().map(Step::Visit));
            }
            Step::Visit((Value::Scalar(a), Value::Scalar(b))) if a.scalar_type().is_float() => {
                done.push(Value::Scalar(add(&[a, b]).map_err(|_| expected(EXPECTED))?));
            }
            Step::Visit((a, b)) if has_identity(&a) && has_identity(&b) => done.push(a),
            Step::Visit(_) => return Err(expected(EXPECTED)),
            Step::Join(count) => join(runtime, &mut done, count, false)?,
        }
    }
    done.pop().ok_or_else(|| expected(EXPECTED))
}

/// `shadow_of(tangent)`: the part that has identity.
pub(super) fn shadow_of(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [tangent] = args else { return Err(expected("a tangent")) };
    map_leaves(runtime, tangent, true, |leaf| match leaf {
        Value::Nothing => Some(Value::Nothing),
        value if float(value).is_some() => Some(Value::Nothing),
        value => has_identity(value).then(|| value.clone()),
    })
}

/// `cotangent_of(tangent)`: the part that has no identity.
pub(super) fn cotangent_of(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [tangent] = args else { return Err(expected("a tangent")) };
    map_leaves(runtime, tangent, true, |leaf| match leaf {
        value if float(value).is_some() => Some(value.clone()),
        value => (has_identity(value) || matches!(value, Value::Nothing)).then_some(Value::Nothing),
    })
}

/// `reset_shadow!(shadow)`: the floats that are in the object, or in the objects of a tuple, become 0.0, also those in
/// tuples there; in what may hold anything they become `nothing`, as what is there when the pullback is called again
/// may be of another shape. What else has identity stays as it is.
pub(super) fn reset_shadow(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [shadow] = args else { return Err(expected("a shadow")) };
    let mut work = vec![shadow.clone()];
    while let Some(shadow) = work.pop() {
        match &shadow {
            Value::Nothing | Value::Scalar(_) => {}
            Value::Tuple(tuple) => work.extend(tuple.0.fields.values().iter().cloned()),
            Value::Array(array) => {
                let length = array.length();
                let place = array.0.place.borrow().clone();
                reset_memory(runtime, &place.0.memory, place.0.offset, length)?;
            }
            Value::Memory(memory) => reset_memory(runtime, memory, 0, usize::MAX)?,
            Value::MemoryRef(place) => reset_memory(runtime, &place.0.memory, 0, usize::MAX)?,
            Value::Struct(object) if object.0.ty.mutable => {
                let mut fields = object.0.fields.borrow_mut();
                if fields.values().iter().any(|value| matches!(value, Value::Scalar(_) | Value::Tuple(_))) {
                    let types = runtime.module.field_types(&object.0.ty.ty);
                    for (at, value) in fields.values_mut().iter_mut().enumerate() {
                        // Of what is in a box nobody knows the type.
                        reset(runtime, value, types.get(at).unwrap_or(&Type::Any))?;
                    }
                }
            }
            Value::Stack(stack) => {
                for value in stack.0.fields.borrow_mut().values_mut() {
                    reset(runtime, value, &stack.0.element)?;
                }
            }
            _ => return Err(expected("a shadow")),
        }
    }
    Ok(Value::Nothing)
}

fn reset_memory(runtime: &Runtime<'_>, memory: &MemoryRef, from: usize, count: usize) -> Result<()> {
    for value in memory.0.fields.borrow_mut().values_mut().iter_mut().skip(from).take(count) {
        reset(runtime, value, &memory.0.element)?;
    }
    Ok(())
}

/// Makes the floats in a place of a shadow zero, where values of this type may be.
fn reset(runtime: &Runtime<'_>, value: &mut Value, ty: &Type) -> Result<()> {
    match (&*value, ty) {
        (Value::Tuple(tuple), Type::Tuple(types)) if types.len() == tuple.0.fields.values().len() => {
            let mut parts = tuple.0.fields.values().to_vec();
            for (part, ty) in parts.iter_mut().zip(types.iter()) {
                reset(runtime, part, ty)?;
            }
            *value = runtime.tuple(parts)?;
        }
        (Value::Tuple(_), _) => {
            let is_anything = ty.is_unknown();
            *value = map_leaves(runtime, value, is_anything, |leaf| Some(zero_or_nothing(leaf, is_anything)))?;
        }
        (leaf, ty) => *value = zero_or_nothing(leaf, ty.is_unknown()),
    }
    Ok(())
}

/// The zero of a part of a tangent that is a float, `nothing` where anything may stand; other parts as they are.
fn zero_or_nothing(leaf: &Value, is_anything: bool) -> Value {
    match float(leaf) {
        Some(_) if is_anything => Value::Nothing,
        Some(scalar) => zero_float(scalar.scalar_type()),
        None => leaf.clone(),
    }
}
