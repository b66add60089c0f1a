//! Slots: stack memory, and the addresses of its parts.
//!
//! A slot holds a value until somebody asks for the address of a field of it. From then on it holds a slot for each
//! field, which may be assigned one by one. Nothing is recursive here: values nest deeper than stacks are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ircode::{Constant, Type, field_position};

use super::control::{index, symbol};
use super::structs::fields_of;
use super::{Runtime, expected};
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::object::Kind;
use crate::value::{SlotObject, SlotRef, SlotState, Value};

type Result<T> = std::result::Result<T, Fault>;

impl Runtime<'_> {
    /// A slot that is a part of another one.
    pub(super) fn slot_part(&self, ty: Type, state: SlotState, value: Value) -> Result<Value> {
        self.slot(ty, state, value, true)
    }

    fn slot(&self, ty: Type, state: SlotState, value: Value, part: bool) -> Result<Value> {
        let fields = RefCell::new(self.meter.fields(Kind::Slot, vec![value])?);
        Ok(Value::Slot(SlotRef(Rc::new(SlotObject { ty, fields, state: Cell::new(state), part }))))
    }
}

/// `new_slot(T)`: memory for a value of this type, which is not assigned yet. Swift's `alloc_stack`.
pub(super) fn new_slot(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Type(ty)] => runtime.slot((**ty).clone(), SlotState::Unassigned, Value::Undefined, false),
        _ => Err(expected("a type")),
    }
}

/// `slot_get(slot)`: the value; it is an error if the slot, or a part of it, is not assigned. Swift's `load`.
pub(super) fn slot_get(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Slot(slot)] => load(runtime, slot),
        _ => Err(expected("a slot")),
    }
}

/// `slot_set!(slot, value)`. Swift's `store`.
pub(super) fn slot_set(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Slot(slot), value] => store(slot, value),
        _ => Err(expected("a slot and a value")),
    }
}

/// `slot_copy!(from, to)`: what is in one slot is stored in the other. All is read before anything is written, so that
/// the two may overlap. Swift's `copy_addr`.
pub(super) fn slot_copy(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Slot(from), Value::Slot(to)] => {
            let value = load(runtime, from)?;
            store(to, &value)
        }
        _ => Err(expected("two slots")),
    }
}

/// `slot_element(slot, field)`: the slot that is this field, by number or by name, of the tuple or immutable struct in
/// a slot, which need not be assigned yet. The same field is the same slot each time. Swift's `tuple_element_addr` and
/// `struct_element_addr`.
pub(super) fn slot_element(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Slot(slot), field] = args else { return Err(expected("a slot and a field")) };
    let fields = runtime.module.immutable_fields(&slot.0.ty);
    let fields = fields.ok_or_else(|| expected("a slot of a tuple or immutable struct whose fields are known"))?;
    let constant = match symbol(field) {
        Some(name) => Constant::Symbol(name.into()),
        None => Constant::int64(i64::try_from(index(field)?).unwrap_or(i64::MAX)),
    };
    let position = field_position(&fields, &constant).ok_or_else(|| expected("a field that there is"))?;
    match slot.0.state.get() {
        SlotState::Ended => return Err(ended()),
        SlotState::Parts => {}
        SlotState::Unassigned => {
            let part = |ty: &Type| runtime.slot_part(ty.clone(), SlotState::Unassigned, Value::Undefined);
            let parts = fields.iter().map(|(_, ty)| part(ty)).collect::<Result<Vec<Value>>>()?;
            *slot.0.fields.borrow_mut() = runtime.meter.contents(Kind::Slot, parts)?;
        }
        SlotState::Assigned => {
            let value = slot.0.fields.borrow().values().first().cloned().unwrap_or(Value::Undefined);
            let values = fields_of(&value).filter(|values| values.len() == fields.len()).ok_or_else(of_another_type)?;
            let part = |(ty, value): (&Type, Value)| runtime.slot_part(ty.clone(), SlotState::Assigned, value);
            let types = fields.iter().map(|(_, ty)| *ty);
            let parts = types.zip(values).map(part).collect::<Result<Vec<Value>>>()?;
            *slot.0.fields.borrow_mut() = runtime.meter.contents(Kind::Slot, parts)?;
        }
    }
    slot.0.state.set(SlotState::Parts);
    let part = slot.0.fields.borrow().values().get(position).cloned();
    part.ok_or_else(of_another_type)
}

/// `slot_end!(slot)`: the end of its life. Any use of it or of its parts after that is an error. Swift's
/// `dealloc_stack`.
pub(super) fn slot_end(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Slot(slot)] = args else { return Err(expected("a slot")) };
    if slot.0.part {
        return Err(expected("a slot that is no part of another"));
    }
    if slot.0.state.get() == SlotState::Ended {
        return Err(ended());
    }
    let mut work = vec![slot.clone()];
    while let Some(slot) = work.pop() {
        let contents = std::mem::replace(
            &mut *slot.0.fields.borrow_mut(),
            runtime.meter.contents(Kind::Slot, vec![Value::Undefined])?,
        );
        // A value may be a slot, too, which lives on.
        if slot.0.state.replace(SlotState::Ended) == SlotState::Parts {
            work.extend(contents.values().iter().filter_map(as_slot));
        }
    }
    Ok(Value::Nothing)
}

enum Step {
    Visit(SlotRef),
    /// The last so many values are the fields of what is in this slot.
    Join(SlotRef, usize),
}

/// What is in a slot.
fn load(runtime: &Runtime<'_>, slot: &SlotRef) -> Result<Value> {
    let mut done: Vec<Value> = Vec::new();
    let mut steps = vec![Step::Visit(slot.clone())];
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit(slot) => match slot.0.state.get() {
                SlotState::Ended => return Err(ended()),
                SlotState::Unassigned => return Err(Fault::Fatal(RunErrorKind::Undefined("a slot".into()))),
                SlotState::Assigned => done.extend(slot.0.fields.borrow().values().first().cloned()),
                SlotState::Parts => {
                    let fields = slot.0.fields.borrow();
                    steps.push(Step::Join(slot.clone(), fields.values().len()));
                    steps.extend(fields.values().iter().rev().filter_map(as_slot).map(Step::Visit));
                }
            },
            Step::Join(slot, count) => {
                let mut values = done.split_off(done.len().saturating_sub(count));
                // As in a struct that was made with fewer fields.
                while matches!(values.last(), Some(Value::Undefined)) {
                    values.pop();
                }
                done.push(runtime.new_of(&slot.0.ty, values)?);
            }
        }
    }
    match done.pop() {
        // The part of a struct that was made with fewer fields.
        Some(Value::Undefined) | None => Err(runtime.exception("UndefRefError", &[], vec![])),
        Some(value) => Ok(value),
    }
}

/// Puts a value in a slot, and in its parts if it has some.
fn store(slot: &SlotRef, value: &Value) -> Result<Value> {
    let mut work = vec![(slot.clone(), value.clone())];
    while let Some((slot, value)) = work.pop() {
        match slot.0.state.get() {
            SlotState::Ended => return Err(ended()),
            SlotState::Unassigned | SlotState::Assigned => {
                if let Some(field) = slot.0.fields.borrow_mut().values_mut().first_mut() {
                    *field = value;
                }
                slot.0.state.set(SlotState::Assigned);
            }
            SlotState::Parts => {
                let fields = slot.0.fields.borrow();
                let parts = fields.values().iter().filter_map(as_slot);
                let values = fields_of(&value).filter(|values| values.len() == fields.values().len());
                work.extend(parts.zip(values.ok_or_else(of_another_type)?));
            }
        }
    }
    Ok(Value::Nothing)
}

fn as_slot(value: &Value) -> Option<SlotRef> {
    match value {
        Value::Slot(slot) => Some(slot.clone()),
        _ => None,
    }
}

fn ended() -> Fault {
    Fault::Fatal(RunErrorKind::Undefined("a slot that has ended".into()))
}

fn of_another_type() -> Fault {
    expected("a slot and a value of its type")
}

#[cfg(test)]
mod tests {
    use ircode::{Type, parse_module};

    use crate::{Machine, Value};

    /// A slot with a part in a part in a part, deeper than stacks are: loaded, stored and ended.
    #[test]
    fn parts_nest_deep() {
        let text = "
struct List
    x::Float64
    next::List
end
function f(n::Int64, how::Int64)::Int64
1 ─ %1  = BBKit.new_slot(List)::BBKit.Slot{List}
2 ┄ %2  = φ (#1 => 0, #3 => %8)::Int64
│   %3  = φ (#1 => %1, #3 => %7)::BBKit.Slot{List}
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = BBKit.slot_element(%3, :x)::BBKit.Slot{Float64}
│   %7  = BBKit.slot_element(%3, :next)::BBKit.Slot{List}
│   %8  = Base.add_int(%2, 1)::Int64
│         BBKit.slot_set!(%6, 1.5)::Nothing
└──       goto #2
4 ─ %11 = Core.:(===)(how, 0)::Bool
└──       goto #6 if not %11
5 ─       BBKit.slot_end!(%1)::Nothing
└──       return n
6 ─ %15 = %new(List, 2.5)::List
│         BBKit.slot_set!(%3, %15)::Nothing
│   %17 = BBKit.slot_get(%1)::List
│         BBKit.slot_set!(%1, %17)::Nothing
└──       return %2
end
";
        let module = parse_module(text).unwrap().module;
        for how in [0, 1] {
            let result = Machine::new(&module).call("f", &[Value::from(100_000), Value::from(how)]).unwrap();
            assert_eq!(result.to_string(), "100000");
        }
    }

    /// The copies and the tangent of a slot with parts have parts of their own, which are those of the slot.
    #[test]
    fn parts_are_copied_with_the_slot() {
        let text = "
function f()::Tuple{BBKit.Slot{Tuple{Float64, Int64}}, BBKit.Slot{Float64}}
1 ─ %1 = BBKit.new_slot(Tuple{Float64, Int64})::BBKit.Slot{Tuple{Float64, Int64}}
│        BBKit.slot_set!(%1, (1.5, 2))::Nothing
│   %3 = BBKit.slot_element(%1, 1)::BBKit.Slot{Float64}
│   %4 = Core.tuple(%1, %3)::Tuple{BBKit.Slot{Tuple{Float64, Int64}}, BBKit.Slot{Float64}}
└──      return %4
end
";
        let module = parse_module(text).unwrap().module;
        let mut machine = Machine::new(&module);
        let slots = machine.call("f", &[]).unwrap();
        let copy = machine.copies(std::slice::from_ref(&slots)).unwrap().remove(0);
        let tangent = machine.zero_tangents(std::slice::from_ref(&slots), &[Type::Any]).unwrap().remove(0);
        assert_eq!(copy.to_string(), "(Slot(Slot(1.5), Slot(2)), Slot(1.5))");
        assert_eq!(tangent.to_string(), "(Slot(Slot(0.0), Slot(nothing)), Slot(0.0))");
        for made in [copy, tangent] {
            let [Value::Slot(whole), part] = made.as_tuple().unwrap() else { panic!("{made}") };
            assert!(whole.0.fields.borrow().values()[0].egal(part));
            assert!(!slots.as_tuple().unwrap()[1].egal(part));
        }
    }
}
