//! Values that are known when code is compiled. Tuples of many numbers lie ready in memory; what only the interpreter
//! can hold — a symbol, a string, an object of which the text is known — is named by a number, and made when it is
//! first looked at.
#![allow(unsafe_code, reason = "a value without parts is loaded from where nothing lies")]

use std::sync::Arc;

use ircode::{Constant, Scalar};

use crate::native::function::{FunctionCompiler, Typed};
use crate::native::layout::{Inside, Layout, Layouts, Parts, Shape};
use crate::native::program::marshal::Result;
use crate::native::runtime::context::Context;
use crate::value::Value;

/// The numbers of boxed values from this one on are those of known values: no call holds as many others.
const FIRST: u64 = 1 << 62;

/// A value that is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Known {
    Constant(Constant),
    /// The only value of the layout of this number.
    Only(usize),
}

/// All of them, of a program.
#[derive(Default, Debug)]
pub(crate) struct Constants {
    boxed: Vec<Known>,
    numbers: hashbrown::HashMap<Known, u64>,
    layouts: Vec<Arc<Layout>>,
    /// Tuples of numbers, as they lie in memory: their addresses stay the same.
    tuples: Vec<Box<[u64]>>,
    addresses: hashbrown::HashMap<(ircode::Type, Constant), u64>,
}

impl Constants {
    /// The number of a known value.
    fn number(&mut self, known: Known) -> u64 {
        let next = FIRST + self.boxed.len() as u64;
        match self.numbers.entry(known) {
            hashbrown::hash_map::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_map::Entry::Vacant(entry) => {
                self.boxed.push(entry.key().clone());
                *entry.insert(next)
            }
        }
    }

    /// The number of a constant.
    pub(crate) fn number_of(&mut self, constant: &Constant) -> u64 {
        self.number(Known::Constant(constant.clone()))
    }

    /// The number of the only value of a layout without parts.
    fn number_of_only(&mut self, layout: &Arc<Layout>) -> u64 {
        let known = self.layouts.iter().position(|known| known.ty == layout.ty);
        let number = known.unwrap_or_else(|| {
            self.layouts.push(layout.clone());
            self.layouts.len() - 1
        });
        self.number(Known::Only(number))
    }

    /// The address at which a tuple lies whose fields lie so; `None` if it is not of numbers alone.
    fn address(&mut self, layout: &Layout, inside: &Inside, constant: &Constant) -> Option<u64> {
        if let Some(known) = self.addresses.get(&(layout.ty.clone(), constant.clone())) {
            return Some(*known);
        }
        let Constant::Tuple(fields) = constant else { return None };
        if fields.len() != inside.fields.len() {
            return None;
        }
        let mut bytes = vec![0u8; inside.size as usize];
        for (field, (layout, at)) in fields.iter().zip(&inside.fields) {
            put(field, layout, *at as usize, &mut bytes)?;
        }
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        });
        let words: Box<[u64]> = words.collect();
        let address = words.as_ptr() as u64;
        self.tuples.push(words);
        self.addresses.insert((layout.ty.clone(), constant.clone()), address);
        Some(address)
    }
}

/// Puts a number, or a tuple of numbers, where a value of the layout lies.
fn put(constant: &Constant, layout: &Layout, at: usize, bytes: &mut [u8]) -> Option<()> {
    let mut numbers = Vec::new();
    numbers_in(constant, layout, &mut numbers)?;
    if numbers.len() != layout.parts.len() {
        return None;
    }
    for (number, offset) in numbers.iter().zip(&layout.offsets) {
        let from = at + *offset as usize;
        let place = bytes.get_mut(from..from + number.scalar_type().bytes())?;
        place.iter_mut().zip(number.to_bits().to_le_bytes()).for_each(|(to, byte)| *to = byte);
    }
    Some(())
}

/// The numbers in a constant, in order, if it is of a layout that has them as its parts.
fn numbers_in<'c>(constant: &'c Constant, layout: &Layout, numbers: &mut Vec<&'c Scalar>) -> Option<()> {
    match (constant, &layout.shape) {
        (Constant::Scalar(number), Shape::Scalar(ty)) if number.scalar_type() == *ty => {
            numbers.push(number);
            Some(())
        }
        (Constant::Tuple(elements), Shape::Fields(fields)) if elements.len() == fields.len() => {
            elements.iter().zip(fields).try_for_each(|(element, field)| numbers_in(element, field, numbers))
        }
        _ => None,
    }
}

impl FunctionCompiler<'_, '_> {
    /// A constant that only the interpreter can hold.
    pub(crate) fn boxed_constant(&mut self, constant: Constant, layout: Arc<Layout>) -> Typed {
        let number = self.compiler.constants.number(Known::Constant(constant));
        self.boxed_number(number, layout)
    }

    /// The only value of a layout without parts, as the interpreter holds it.
    pub(crate) fn boxed_only(&mut self, only: &Arc<Layout>, layout: Arc<Layout>) -> Typed {
        let number = self.compiler.constants.number_of_only(only);
        self.boxed_number(number, layout)
    }

    fn boxed_number(&mut self, number: u64, layout: Arc<Layout>) -> Typed {
        let number = self.word(number as i64);
        Typed { layout, parts: Parts::from_slice(&[number]) }
    }

    /// A tuple of so many numbers that it lies in memory; `None` if it is another constant, or does not.
    pub(crate) fn tuple_in_memory(&mut self, layout: &Arc<Layout>, constant: &Constant) -> Option<Typed> {
        let Shape::Record(_, inside) = &layout.shape else { return None };
        let address = self.compiler.constants.address(layout, inside, constant)?;
        let address = self.word(address as i64);
        Some(Typed { layout: layout.clone(), parts: Parts::from_slice(&[address]) })
    }
}

impl Context {
    /// The value of the interpreter of this number.
    pub(crate) fn kept(&mut self, layouts: &mut Layouts, number: u64) -> Result<Value> {
        let Some(known) = number.checked_sub(FIRST).and_then(|index| usize::try_from(index).ok()) else {
            let value = usize::try_from(number).ok().and_then(|at| self.values.get(at));
            return Ok(value.cloned().unwrap_or(Value::Undefined));
        };
        if let Some(made) = self.known.get(&known) {
            return Ok(made.clone());
        }
        let shared = self.shared.clone();
        let value = match shared.constants.boxed.get(known) {
            Some(Known::Constant(constant)) => self.runtime().constant(constant)?,
            Some(Known::Only(layout)) => match shared.constants.layouts.get(*layout) {
                // SAFETY: the value has no parts, so that nothing is read.
                Some(layout) => unsafe { self.load(layouts, layout, [0u64; 2].as_ptr() as u64)? },
                None => Value::Undefined,
            },
            // What was not assigned.
            None => return Ok(Value::Undefined),
        };
        self.known.insert(known, value.clone());
        Ok(value)
    }
}
