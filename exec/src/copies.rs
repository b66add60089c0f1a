//! Copies of values that share nothing with them, with their floats as they were or changed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use ircode::Scalar;

use crate::object::{Fields, Kind, Meter, OutOfMemory};
use crate::value::{
    ArrayRef, ClosureObject, ClosureRef, DifferentiableFunctionObject, DifferentiableFunctionRef, EnumObject, EnumRef,
    MemoryObject, MemoryRef, NamedTupleObject, NamedTupleRef, PlaceObject, PlaceRef, SlotObject, SlotRef, StackObject,
    StackRef, StructObject, StructRef, TupleObject, TupleRef, Value,
};

type Result<T> = std::result::Result<T, OutOfMemory>;

/// What becomes of a float, given its tangent if there is one.
type FloatMap<'f> = &'f mut dyn FnMut(f64, Option<f64>) -> f64;

/// Copies of values with floats that `float` gives. `tangents` are theirs, as far as there are any.
///
/// The same object, met twice, is copied once, with the tangent with which it was met first. Nothing is recursive here:
/// values nest deeper than stacks are.
pub(crate) fn copies(
    meter: &Rc<Meter>,
    values: &[Value],
    tangents: &[Value],
    float: FloatMap<'_>,
) -> Result<Vec<Value>> {
    let mut copier = Copier { meter, float, objects: BTreeMap::new(), tuples: BTreeMap::new(), to_fill: Vec::new() };
    let copied = copier.contents(paired(values, tangents))?;
    while let Some((object, contents)) = copier.to_fill.pop() {
        let contents = copier.meter.contents(kind(&object), copier.contents(contents)?)?;
        match &object {
            Value::Memory(memory) => *memory.0.fields.borrow_mut() = contents,
            Value::Struct(object) => *object.0.fields.borrow_mut() = contents,
            Value::Stack(stack) => *stack.0.fields.borrow_mut() = contents,
            Value::Slot(slot) => *slot.0.fields.borrow_mut() = contents,
            _ => {}
        }
    }
    Ok(copied)
}

/// A value and its tangent.
type Pair = (Value, Value);

fn paired(values: &[Value], tangents: &[Value]) -> Vec<Pair> {
    let tangent = |at: usize| tangents.get(at).cloned().unwrap_or(Value::Nothing);
    values.iter().enumerate().map(|(at, value)| (value.clone(), tangent(at))).collect()
}

/// The tangents of the fields of an immutable value.
fn field_tangents(tangent: &Value) -> &[Value] {
    tangent.as_tuple().unwrap_or_default()
}

/// The addresses of an immutable value and of its tangent.
type Addresses = (*const (), *const ());

struct Copier<'c, 'f> {
    meter: &'c Rc<Meter>,
    float: FloatMap<'f>,
    /// By the address of the object. All objects are held by the values that are copied.
    objects: BTreeMap<*const (), Value>,
    tuples: BTreeMap<Addresses, Value>,
    /// Objects whose contents are still to be copied.
    to_fill: Vec<(Value, Vec<Pair>)>,
}

enum Step {
    Visit(Pair),
    /// The last so many copies are the fields of this value.
    Join(Value, usize, Addresses),
}

fn address<T>(object: &Rc<T>) -> *const () {
    Rc::as_ptr(object).cast()
}

impl Copier<'_, '_> {
    fn contents(&mut self, pairs: Vec<Pair>) -> Result<Vec<Value>> {
        let mut done = Vec::with_capacity(pairs.len());
        let mut steps: Vec<Step> = pairs.into_iter().rev().map(Step::Visit).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit((value, tangent)) => {
                    if let Some(copy) = self.visit(&value, &tangent, &mut steps)? {
                        done.push(copy);
                    }
                }
                Step::Join(value, count, addresses) => {
                    let fields = self.meter.fields(kind(&value), done.split_off(done.len().saturating_sub(count)))?;
                    let copy = joined(&value, fields);
                    self.tuples.insert(addresses, copy.clone());
                    done.push(copy);
                }
            }
        }
        Ok(done)
    }

    /// The copy of a value, if its fields need not be copied before.
    fn visit(&mut self, value: &Value, tangent: &Value, steps: &mut Vec<Step>) -> Result<Option<Value>> {
        let (of, fields) = match value {
            Value::Scalar(scalar) => {
                let moved = scalar.as_float().map(|float| (self.float)(float, tangent.as_float()));
                let moved = moved.and_then(|float| Scalar::from_float(scalar.scalar_type(), float));
                return Ok(Some(Value::Scalar(moved.unwrap_or_else(|| scalar.clone()))));
            }
            Value::Tuple(tuple) | Value::SimpleVector(tuple) => {
                (address(&tuple.0), paired(tuple.0.fields.values(), field_tangents(tangent)))
            }
            Value::NamedTuple(tuple) => (address(&tuple.0), paired(tuple.0.fields.values(), field_tangents(tangent))),
            Value::Enum(object) => (address(&object.0), paired(object.0.fields.values(), field_tangents(tangent))),
            Value::Closure(object) => (address(&object.0), paired(object.0.fields.values(), field_tangents(tangent))),
            Value::DifferentiableFunction(object) => {
                (address(&object.0), paired(object.0.fields.values(), field_tangents(tangent)))
            }
            Value::Struct(object) if !object.0.ty.mutable => {
                (address(&object.0), paired(object.0.fields.borrow().values(), field_tangents(tangent)))
            }
            _ => return self.object(value, tangent).map(Some),
        };
        let of_tangent = match tangent {
            Value::Tuple(tuple) => address(&tuple.0),
            _ => std::ptr::null(),
        };
        if let Some(known) = self.tuples.get(&(of, of_tangent)) {
            return Ok(Some(known.clone()));
        }
        steps.push(Step::Join(value.clone(), fields.len(), (of, of_tangent)));
        steps.extend(fields.into_iter().rev().map(Step::Visit));
        Ok(None)
    }

    /// The copy of an object, whose contents are copied later; other values are their own copies.
    fn object(&mut self, value: &Value, tangent: &Value) -> Result<Value> {
        let at = match value {
            Value::Array(array) => address(&array.0),
            Value::Memory(memory) => return self.memory(memory, tangent).map(Value::Memory),
            Value::MemoryRef(place) => return self.place(place, tangent).map(Value::MemoryRef),
            Value::Struct(object) => address(&object.0),
            Value::Stack(stack) => address(&stack.0),
            Value::Slot(slot) => address(&slot.0),
            other => return Ok(other.clone()),
        };
        if let Some(known) = self.objects.get(&at) {
            return Ok(known.clone());
        }
        let empty = || -> Result<RefCell<Fields>> { Ok(RefCell::new(self.meter.fields(kind(value), Vec::new())?)) };
        let (copy, contents) = match (value, tangent) {
            (Value::Array(array), tangent) => {
                let tangent = match tangent {
                    Value::Array(tangent) => Value::MemoryRef(tangent.0.place.borrow().clone()),
                    _ => Value::Nothing,
                };
                let place = self.place(&array.0.place.borrow(), &tangent)?;
                let copy = ArrayRef::new(place, array.0.dims.borrow().clone());
                copy.0.is_shared.set(array.0.is_shared.get());
                (Value::Array(copy), None)
            }
            (Value::Struct(object), tangent) => {
                let copy = StructObject { ty: object.0.ty.clone(), fields: empty()? };
                let contents = match tangent {
                    Value::Struct(tangent) => {
                        paired(object.0.fields.borrow().values(), tangent.0.fields.borrow().values())
                    }
                    _ => paired(object.0.fields.borrow().values(), &[]),
                };
                (Value::Struct(StructRef(Rc::new(copy))), Some(contents))
            }
            (Value::Stack(stack), _) => {
                let copy = StackObject { element: stack.0.element.clone(), fields: empty()? };
                (Value::Stack(StackRef(Rc::new(copy))), Some(paired(stack.0.fields.borrow().values(), &[])))
            }
            (Value::Slot(slot), _) => {
                let state = Cell::new(slot.0.state.get());
                let copy = SlotObject { ty: slot.0.ty.clone(), fields: empty()?, state, part: slot.0.part };
                (Value::Slot(SlotRef(Rc::new(copy))), Some(paired(slot.0.fields.borrow().values(), &[])))
            }
            (other, _) => return Ok(other.clone()),
        };
        self.objects.insert(at, copy.clone());
        self.to_fill.extend(contents.map(|contents| (copy.clone(), contents)));
        Ok(copy)
    }

    /// A place in the copy of its storage.
    fn place(&mut self, place: &PlaceRef, tangent: &Value) -> Result<PlaceRef> {
        let tangent = match tangent {
            Value::MemoryRef(tangent) => Value::Memory(tangent.0.memory.clone()),
            _ => Value::Nothing,
        };
        let memory = self.memory(&place.0.memory, &tangent)?;
        Ok(PlaceRef(Rc::new(PlaceObject { memory, offset: place.0.offset })))
    }

    fn memory(&mut self, memory: &MemoryRef, tangent: &Value) -> Result<MemoryRef> {
        let at = address(&memory.0);
        if let Some(Value::Memory(known)) = self.objects.get(&at) {
            return Ok(known.clone());
        }
        let fields = RefCell::new(self.meter.fields(Kind::Array, Vec::new())?);
        let copy =
            MemoryRef(Rc::new(MemoryObject { element: memory.0.element.clone(), fields, address: Cell::new(0) }));
        self.objects.insert(at, Value::Memory(copy.clone()));
        let contents = match tangent {
            Value::Memory(tangent) => paired(memory.0.fields.borrow().values(), tangent.0.fields.borrow().values()),
            _ => paired(memory.0.fields.borrow().values(), &[]),
        };
        self.to_fill.push((Value::Memory(copy.clone()), contents));
        Ok(copy)
    }
}

/// What a value that has fields is counted as.
fn kind(value: &Value) -> Kind {
    match value {
        Value::Struct(object) => Kind::of_struct(object.0.ty.mutable),
        Value::Enum(_) => Kind::Case,
        Value::Closure(_) => Kind::Closure,
        Value::Array(_) | Value::Memory(_) => Kind::Array,
        Value::Stack(_) => Kind::Stack,
        Value::Slot(_) => Kind::Slot,
        _ => Kind::Tuple,
    }
}

/// An immutable value like this one, with these fields.
fn joined(value: &Value, fields: Fields) -> Value {
    match value {
        Value::SimpleVector(_) => Value::SimpleVector(TupleRef(Rc::new(TupleObject { fields }))),
        Value::NamedTuple(tuple) => {
            let (names, declared) = (tuple.0.names.clone(), tuple.0.declared.clone());
            Value::NamedTuple(NamedTupleRef(Rc::new(NamedTupleObject { names, declared, fields })))
        }
        Value::Enum(object) => {
            let (ty, case) = (object.0.ty.clone(), object.0.case.clone());
            Value::Enum(EnumRef(Rc::new(EnumObject { ty, case, fields })))
        }
        Value::Closure(object) => {
            let (ty, function) = (object.0.ty.clone(), object.0.function.clone());
            Value::Closure(ClosureRef(Rc::new(ClosureObject { ty, function, fields })))
        }
        Value::DifferentiableFunction(object) => {
            let (ty, with_respect_to) = (object.0.ty.clone(), object.0.with_respect_to.clone());
            let object = DifferentiableFunctionObject { ty, with_respect_to, fields };
            Value::DifferentiableFunction(DifferentiableFunctionRef(Rc::new(object)))
        }
        Value::Struct(object) => {
            let fields = RefCell::new(fields);
            Value::Struct(StructRef(Rc::new(StructObject { ty: object.0.ty.clone(), fields })))
        }
        _ => Value::Tuple(TupleRef(Rc::new(TupleObject { fields }))),
    }
}

#[cfg(test)]
mod tests {
    use ircode::{IRCode, Module, Type};

    use crate::{Machine, Value};

    #[test]
    fn copies_share_nothing_with_what_they_are_copies_of() {
        let module: Module<IRCode> = Module::new();
        let machine = Machine::new(&module);
        let vector = machine.array(Type::FLOAT64, vec![2], vec![Value::from(1.0), Value::from(2.0)]).unwrap();
        let pair = machine.tuple(vec![vector.clone(), vector.clone(), Value::from(3)]).unwrap();
        let copies = machine.copies(&[pair.clone(), vector.clone()]).unwrap();
        let inside = copies[0].as_tuple().unwrap();
        assert!(inside[0].egal(&inside[1]) && inside[0].egal(&copies[1]) && !inside[0].egal(&vector));
        assert_eq!(copies[0].to_string(), "([1.0, 2.0], [1.0, 2.0], 3)");
        let tangent = machine.array(Type::FLOAT64, vec![2], vec![Value::from(10.0), Value::from(-1.0)]).unwrap();
        let tangent = machine.tuple(vec![tangent.clone(), tangent, Value::Nothing]).unwrap();
        let moved = machine.moved(std::slice::from_ref(&pair), &[tangent], 0.5).unwrap();
        assert_eq!(moved[0].to_string(), "([6.0, 1.5], [6.0, 1.5], 3)");
        assert_eq!(pair.to_string(), "([1.0, 2.0], [1.0, 2.0], 3)");
    }

    #[test]
    fn deep_values_need_no_deep_stack() {
        let module: Module<IRCode> = Module::new();
        let machine = Machine::new(&module);
        let mut value = Value::from(1.0);
        for _ in 0..200_000 {
            value = machine.tuple(vec![value]).unwrap();
        }
        assert_eq!(crate::first_difference(&[value.clone()], &machine.copies(&[value]).unwrap()), None);
    }
}
