//! Tangents made from their numbers.

use std::collections::BTreeSet;
use std::rc::Rc;

use ircode::Scalar;

use crate::error::RunErrorKind;
use crate::machine::Machine;
use crate::value::Value;

enum Step {
    Visit(Value),
    /// The last so many tangents are the elements of a tuple.
    Join(usize),
    /// The last tangent belongs to this place of an object.
    Store(Value, usize),
}

/// The tangents with these numbers, in the order of [`tangent_floats`](crate::tangent_floats). Tuples are made anew,
/// what is in objects is changed in place. Nothing is recursive here: values nest deeper than stacks are.
pub(crate) fn tangents_of_floats(
    machine: &Machine<'_>,
    zeros: &[Value],
    floats: &[f64],
) -> Result<Vec<Value>, RunErrorKind> {
    let mut floats = floats.iter().copied();
    let mut seen: BTreeSet<*const ()> = BTreeSet::new();
    let mut done = Vec::with_capacity(zeros.len());
    let mut steps: Vec<Step> = zeros.iter().rev().cloned().map(Step::Visit).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit(Value::Scalar(zero)) => {
                let float = floats.next().unwrap_or(0.0);
                done.push(Value::Scalar(Scalar::from_float(zero.scalar_type(), float).unwrap_or(zero)));
            }
            Step::Visit(Value::Tuple(tuple)) => {
                let fields = tuple.0.fields.values();
                steps.push(Step::Join(fields.len()));
                steps.extend(fields.iter().rev().cloned().map(Step::Visit));
            }
            Step::Visit(value) => {
                if let Some((address, contents)) = contents(&value)
                    && !contents.is_empty()
                    && seen.insert(address)
                {
                    for (index, part) in contents.into_iter().enumerate().rev() {
                        steps.push(Step::Store(value.clone(), index));
                        steps.push(Step::Visit(part));
                    }
                }
                done.push(value);
            }
            Step::Join(count) => {
                let fields = done.split_off(done.len().saturating_sub(count));
                done.push(machine.tuple(fields)?);
            }
            Step::Store(object, index) => {
                if let Some(tangent) = done.pop() {
                    store(&object, index, tangent);
                }
            }
        }
    }
    Ok(done)
}

/// What is in an object, and the address of the storage that holds it.
fn contents(value: &Value) -> Option<(*const (), Vec<Value>)> {
    match value {
        Value::Array(array) => {
            let address = Rc::as_ptr(&array.0.place.borrow().0.memory.0).cast();
            Some((address, value.array_elements().unwrap_or_default()))
        }
        Value::MemoryRef(place) => contents(&Value::Memory(place.0.memory.clone())),
        Value::Memory(memory) => Some((Rc::as_ptr(&memory.0).cast(), memory.0.fields.borrow().values().to_vec())),
        Value::Struct(object) => Some((Rc::as_ptr(&object.0).cast(), object.0.fields.borrow().values().to_vec())),
        Value::Stack(stack) => Some((Rc::as_ptr(&stack.0).cast(), stack.0.fields.borrow().values().to_vec())),
        Value::Slot(slot) => Some((Rc::as_ptr(&slot.0).cast(), slot.0.fields.borrow().values().to_vec())),
        _ => None,
    }
}

/// Puts a tangent in its place in a shadow.
fn store(object: &Value, index: usize, tangent: Value) {
    let place = match object {
        Value::Array(array) => {
            let place = array.0.place.borrow().clone();
            return store(&Value::Memory(place.0.memory.clone()), place.0.offset + index, tangent);
        }
        Value::MemoryRef(place) => return store(&Value::Memory(place.0.memory.clone()), index, tangent),
        Value::Memory(memory) => &memory.0.fields,
        Value::Struct(object) => &object.0.fields,
        Value::Stack(stack) => &stack.0.fields,
        Value::Slot(slot) => &slot.0.fields,
        _ => return,
    };
    if let Some(place) = place.borrow_mut().values_mut().get_mut(index) {
        *place = tangent;
    }
}

#[cfg(test)]
mod tests {
    use ircode::{IRCode, Module, Type};

    use crate::{Machine, Value, float_places, tangent_floats};

    /// The same array twice, and one of tuples with an integer among them.
    #[test]
    fn numbers_come_back_in_their_order() {
        let module: Module<IRCode> = Module::new();
        let machine = Machine::new(&module);
        let floats = vec![Value::from(1.0), Value::from(2.0)];
        let vector = machine.array(Type::FLOAT64, vec![2], floats).unwrap();
        let pair = machine.tuple(vec![Value::from(3), Value::from(4.0)]).unwrap();
        let ty = Type::parse("Tuple{Int64, Float64}");
        let pairs = machine.array(ty, vec![1, 2], vec![pair.clone(), pair]).unwrap();
        let both = machine.tuple(vec![vector.clone(), Value::from(5.0)]).unwrap();
        let values = [vector, both, Value::from(7), pairs];
        let types: Vec<Type> = values.iter().map(Value::type_of).collect();
        let zeros = machine.zero_tangents(&values, &types).unwrap();
        let places = ["_2[1]", "_2[2]", "_3.2", "_5[1,1].2", "_5[1,2].2"];
        assert_eq!(float_places(&values, &zeros).unwrap(), places);
        let numbers = [0.1, 0.2, 0.3, 0.4, 0.5];
        let fresh = machine.zero_tangents(&values, &types).unwrap();
        let tangents = machine.tangents_of_floats(&fresh, &numbers).unwrap();
        assert_eq!(tangent_floats(&values, &zeros, &tangents).unwrap(), numbers);
    }
}
