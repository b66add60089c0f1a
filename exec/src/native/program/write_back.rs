//! What native code changed in the caller's objects, written back into them.
#![allow(unsafe_code, reason = "reads the memory that machine code works on")]

use std::sync::Arc;

use super::marshal::{Result, out_of_memory, refused, word};
use crate::machine::Fault;
use crate::native::layout::{Layout, Layouts, Shape, array};
use crate::native::runtime::context::Context;
use crate::value::Value;

impl Context {
    /// What native code may have changed in the caller's objects. Once it is had, it can be [written
    /// back](Self::write_back) as a whole.
    pub(crate) fn changes(&mut self, layouts: &mut Layouts) -> Result<Vec<Change>> {
        let given = std::mem::take(&mut self.marshal.given);
        let mut changes = Vec::with_capacity(given.len());
        for (value, object, layout) in given {
            let contents = match scalars_at(layouts, &layout, object) {
                // They can be had, and may be many.
                Some(length) => {
                    self.check_length(length)?;
                    None
                }
                None => Some(self.contents(layouts, &value, object, &layout)?),
            };
            changes.push(Change { value, object, layout, contents });
        }
        Ok(changes)
    }

    /// Writes changes into the caller's objects. An error if these become larger than there is memory for.
    pub(crate) fn write_back(&mut self, layouts: &mut Layouts, changes: Vec<Change>) -> Result<()> {
        for Change { value, object, layout, contents } in changes {
            let contents = match contents {
                Some(contents) => contents,
                None => self.contents(layouts, &value, object, &layout)?,
            };
            contents.write_to(&value).map_err(|_| out_of_memory(self))?;
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
                    let dim = |dim: u32| word(object + array::dimension(dim) as u64) as usize;
                    let dims = (0..*rank).map(dim).collect();
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

/// An object of the caller, and what native code left in it.
pub(crate) struct Change {
    value: Value,
    object: u64,
    layout: Arc<Layout>,
    /// `None` where it is had when it is written.
    contents: Option<Contents>,
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

/// How many numbers are in an array or a stack of numbers.
fn scalars_at(layouts: &mut Layouts, layout: &Layout, object: u64) -> Option<usize> {
    let (Shape::Array(element, _) | Shape::Stack(element)) = &layout.shape else { return None };
    layouts.of(element).scalar()?;
    // SAFETY: the object is one of this layout, whose header has this word.
    Some(unsafe { word(object + array::LENGTH as u64) } as usize)
}
