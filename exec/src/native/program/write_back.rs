//! What native code changed in the caller's objects, written back into them.
#![allow(unsafe_code, reason = "reads the memory that machine code works on")]

use super::marshal::{Result, out_of_memory, refused, word};
use crate::machine::Fault;
use crate::native::layout::{Kind, Layout, Layouts, Shape, array};
use crate::native::runtime::context::Context;
use crate::value::Value;

impl Context {
    /// Writes what native code changed in the caller's objects back into them: all of it, or, if something cannot be had, nothing.
    pub(crate) fn write_back(&mut self, layouts: &mut Layouts) -> Result<()> {
        let given = std::mem::take(&mut self.marshal.given);
        let mut contents = Vec::with_capacity(given.len());
        for (value, object, layout) in &given {
            // Numbers can always be had, and may be many.
            contents.push(match is_of_numbers(layouts, layout) {
                true => None,
                false => Some(self.contents(layouts, value, *object, layout)?),
            });
        }
        for ((value, object, layout), contents) in given.iter().zip(contents) {
            let contents = match contents {
                Some(contents) => contents,
                None => self.contents(layouts, value, *object, layout)?,
            };
            contents.write_to(value).map_err(|_| out_of_memory(self))?;
        }
        Ok(())
    }

    /// What is in an object that was made for a value of the caller.
    fn contents(&mut self, layouts: &mut Layouts, value: &Value, object: u64, layout: &Layout) -> Result<Contents> {
        Ok(match (value, &layout.shape) {
            (Value::Array(_), Shape::Array(element, rank)) => {
                let element = layouts.element(element);
                // SAFETY: the object is an array that was made for this value.
                unsafe {
                    let (data, length) = (word(object), word(object + array::LENGTH as u64) as usize);
                    let dim = |dim: u64| word(object + array::DIMENSIONS as u64 + 8 * dim) as usize;
                    let dims = (0..u64::from(*rank)).map(dim).collect();
                    Contents::Elements(self.load_elements(layouts, &element, data, length)?, dims)
                }
            }
            (Value::Stack(_), Shape::Stack(element)) => {
                let element = layouts.of(element);
                // SAFETY: the object is a stack that was made for this value.
                unsafe {
                    let (data, length) = (word(object), word(object + array::LENGTH as u64) as usize);
                    Contents::Stacked(self.load_elements(layouts, &element, data, length)?)
                }
            }
            (Value::Struct(_), _) => {
                let Some(inside) = layouts.inside(&layout.ty) else { return refused("an object") };
                let mut fields = Vec::with_capacity(inside.fields.len());
                for (field, at) in &inside.fields {
                    // SAFETY: each field lies where `inside` says.
                    fields.push(unsafe { self.load(layouts, field, object + u64::from(*at))? });
                }
                Contents::Fields(fields)
            }
            _ => Contents::Nothing,
        })
    }
}

/// What native code left in an object of the caller.
enum Contents {
    /// In memory order, and the dimensions.
    Elements(Vec<Value>, Vec<usize>),
    Stacked(Vec<Value>),
    Fields(Vec<Value>),
    Nothing,
}

impl Contents {
    /// Writes it into the object that the caller knows; an error if there is no more memory.
    fn write_to(self, value: &Value) -> std::result::Result<(), Fault> {
        match (value, self) {
            (Value::Array(made), Contents::Elements(values, dims)) => {
                let place = made.0.place.borrow().clone();
                let offset = place.0.offset;
                let mut fields = place.0.memory.0.fields.borrow_mut();
                let old = made.length();
                match fields.values_mut().get_mut(offset..offset + values.len()) {
                    // What lies behind the elements of a vector that became shorter stays there.
                    Some(slots) if values.len() <= old => slots.clone_from_slice(&values),
                    _ => {
                        let mut all = fields.values().get(..offset).unwrap_or_default().to_vec();
                        all.extend(values);
                        fields.replace(all)?;
                    }
                }
                *made.0.dims.borrow_mut() = dims;
            }
            (Value::Stack(made), Contents::Stacked(values)) => made.0.fields.borrow_mut().replace(values)?,
            (Value::Struct(made), Contents::Fields(values)) => {
                let mut fields = made.0.fields.borrow_mut();
                for (index, value) in values.into_iter().enumerate() {
                    match fields.values_mut().get_mut(index) {
                        Some(slot) => *slot = value,
                        // It was not assigned before.
                        None => fields.push(value)?,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether an object is an array or a stack of numbers.
fn is_of_numbers(layouts: &mut Layouts, layout: &Layout) -> bool {
    match &layout.shape {
        Shape::Array(element, _) | Shape::Stack(element) => layouts.of(element).kind == Kind::Plain,
        _ => false,
    }
}
