//! Enums and closures of the interpreter made native ones, and the other way round.
#![allow(unsafe_code, reason = "reads and writes the memory that machine code works on")]

use std::rc::Rc;
use std::sync::Arc;

use ircode::wording::with_article;
use ircode::{Callee, Name};

use super::marshal::{Result, are_assigned, identity, out_of_memory, refused, set_word, storage_of_any, word};
use crate::native::layout::{Inside, Layout, Layouts, Shape};
use crate::native::runtime::context::Context;
use crate::native::values::cells::CONTENTS;
use crate::value::Value;
use crate::walk::any_inside;

/// Numbers from here on stand for what is called that is no function of the module.
pub(crate) const OTHERS: u64 = 1 << 32;

/// The stack that is there for each value in another one, and what is taken from the system when it is not.
const STACK: (usize, usize) = (32 << 10, 1 << 20);

/// Values in cells and objects in others are followed so deep.
const DEEPEST: u32 = 10_000;

impl Context {
    /// The value in a cell; none where there is no cell.
    ///
    /// # Safety
    ///
    /// A cell of this layout lies at the address, if that is not 0.
    pub(crate) unsafe fn load_cell(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, cell: u64) -> Result<Value> {
        if cell == 0 {
            return Ok(Value::Undefined);
        }
        if let Some(known) = self.marshal.interpreted.get(&cell) {
            return Ok(known.clone());
        }
        // SAFETY: the caller promises that it is one.
        let value = unsafe { self.load_new_cell(layouts, layout, cell)? };
        self.marshal.interpreted.insert(cell, value.clone());
        Ok(value)
    }

    /// # Safety
    ///
    /// A cell of this layout lies at the address.
    unsafe fn load_new_cell(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, cell: u64) -> Result<Value> {
        // SAFETY: a cell starts with two words.
        let (first, count) = unsafe { (word(cell), word(cell + 8)) };
        self.deeper(|context| {
            if let Shape::Enum = layout.shape {
                let Some((case, inside)) = layouts.case(&layout.ty, first as usize) else { return refused("an enum") };
                // SAFETY: the payload lies behind the words.
                let payload = unsafe { context.load_contents(layouts, &inside, cell)? };
                return match context.runtime().enum_case(&layout.ty, &case, payload)? {
                    Some(value) => Ok(value),
                    None => refused(format!("{} of the case {case}", with_article(&layout.ty))),
                };
            }
            let function = usize::try_from(first).ok().filter(|_| first < OTHERS);
            let inside = layouts.captured(function, count as usize);
            // SAFETY: the captured values lie behind the words.
            let captured = unsafe { context.load_contents(layouts, &inside, cell)? };
            let Some(name) = context.applied(first) else { return refused("a closure") };
            Ok(context.runtime().closure(&name, captured)?)
        })
    }

    /// # Safety
    ///
    /// Behind the words of the cell lies what `inside` says.
    unsafe fn load_contents(&mut self, layouts: &mut Layouts, inside: &Inside, cell: u64) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(inside.fields.len());
        for (layout, at) in &inside.fields {
            // SAFETY: as the caller promises.
            values.push(unsafe { self.load(layouts, layout, cell + CONTENTS as u64 + u64::from(*at))? });
        }
        Ok(values)
    }

    /// The name of what a closure applies.
    pub(crate) fn applied(&self, number: u64) -> Option<Name> {
        match number.checked_sub(OTHERS) {
            Some(other) => self.others.get(other as usize).cloned(),
            None => self.shared.module.functions().get(number as usize).map(|function| function.name.clone()),
        }
    }

    /// A cell for a value; 0 for none.
    pub(crate) fn store_cell(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, value: &Value) -> Result<u64> {
        let mismatch = || refused(layout.refusal(&value.type_of()));
        if let Some(&known) = place(value).and_then(|place| self.marshal.native.get(&place)) {
            return Ok(known);
        }
        let (words, inside, contents) = match (value, &layout.shape) {
            (Value::Undefined, _) => return Ok(0),
            (Value::Enum(object), Shape::Enum) if object.0.ty == layout.ty => {
                let number = layouts.case_number(&layout.ty, &object.0.case);
                let case = number.and_then(|number| Some((number, layouts.case(&layout.ty, number)?.1)));
                let Some((number, inside)) = case else { return mismatch() };
                ([number as u64, 0], inside, object.0.fields.values().to_vec())
            }
            (Value::Closure(object), Shape::Closure) => {
                let captured = object.0.fields.values().to_vec();
                let (number, function) = self.number_of(&object.0.function)?;
                let inside = layouts.captured(function, captured.len());
                for ((field, _), value) in inside.fields.iter().zip(&captured) {
                    let is_object = |value: &Value| identity(value).is_some() || storage_of_any(value).is_some();
                    let hides = field.hides_objects
                        && !layout.hides_objects
                        && any_inside(std::slice::from_ref(value), &is_object);
                    if hides || layout.copies() && !field.copies() {
                        return refused("a closure that holds objects, of which the program makes none");
                    }
                }
                ([number, captured.len() as u64], inside, captured)
            }
            _ => return mismatch(),
        };
        if contents.len() != inside.fields.len() {
            return mismatch();
        }
        are_assigned(&contents)?;
        let Some(cell) = self.memory.take(CONTENTS as usize + inside.size as usize) else {
            return Err(out_of_memory(self));
        };
        let cell = cell.as_ptr() as u64;
        // SAFETY: a cell starts with two words.
        unsafe {
            set_word(cell, words[0]);
            set_word(cell + 8, words[1]);
        }
        self.deeper(|context| {
            for ((layout, at), value) in inside.fields.iter().zip(&contents) {
                // SAFETY: the contents lie where `inside` says, in the memory just taken.
                unsafe { context.store(layouts, layout, value, cell + CONTENTS as u64 + u64::from(*at))? };
            }
            Ok(())
        })?;
        if let Some(place) = place(value) {
            self.marshal.native.insert(place, cell);
            self.marshal.interpreted.insert(cell, value.clone());
        }
        Ok(cell)
    }

    /// The number of what a closure applies, and of the function of the module if it is one.
    fn number_of(&mut self, name: &Name) -> Result<(u64, Option<usize>)> {
        let module = self.shared.module.clone();
        if let Callee::Function(number) = module.function_callee(name) {
            return match module.functions().get(number) {
                Some(function) if function.name == *name => Ok((number as u64, Some(number))),
                _ => refused(format!("a closure of `{name}`, which has another name")),
            };
        }
        let known = self.others.iter().position(|other| other == name);
        let other = known.unwrap_or_else(|| {
            self.others.push(name.clone());
            self.others.len() - 1
        });
        Ok((OTHERS + other as u64, None))
    }

    /// Does something with what is in a cell or in an object, which may hold others.
    pub(crate) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.marshal.depth >= DEEPEST {
            return refused("a value that is nested so deep");
        }
        self.marshal.depth += 1;
        let done = stacker::maybe_grow(STACK.0, STACK.1, || work(self));
        self.marshal.depth -= 1;
        done
    }
}

/// Where the interpreter holds an enum or a closure.
fn place(value: &Value) -> Option<usize> {
    match value {
        Value::Enum(object) => Some(Rc::as_ptr(&object.0) as usize),
        Value::Closure(object) => Some(Rc::as_ptr(&object.0) as usize),
        _ => None,
    }
}
