//! Calls that are not over with their result: what they made stays until a second function was called on it.
//!
//! The forward pass of a derivative gives a trace, which its pullback takes later. A trace is objects in the memory of
//! the call, so the call keeps its memory, and the pullback runs in it.
#![allow(unsafe_code, reason = "hands what one piece of machine code made to another")]

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use ircode::ScalarType;
use ircode::wording::with_article;
use smallvec::SmallVec;

use super::argument::{Argument, Float};
use super::in_place::{Numbers, element_of, floats_of, floats_of_mut, numbers_at, outside, places, size_of};
use super::{CallError, Program};
use crate::error::RunErrorKind;
use crate::native::compiler::Entry;
use crate::native::layout::{Layout, Shape};
use crate::native::runtime::context::Context;

/// A call whose result is still there, objects and all. What it works with is kept for other calls when it is dropped.
///
/// It stays on its thread: among what it holds there may be values of the interpreter.
#[derive(Debug)]
pub struct Pending<'p> {
    program: &'p Program,
    /// There until the object is dropped.
    context: Option<Box<Context>>,
    layout: Arc<Layout>,
    /// Where the result lies, in the memory of the call.
    result: u64,
    /// By argument: the array of zeros that was made for it.
    zeros: SmallVec<[Option<Zeros>; 20]>,
    /// Whether a call has failed, which may have left its work half done.
    failed: bool,
    stays_on_its_thread: PhantomData<Rc<()>>,
}

impl Program {
    /// Calls the function of this [number](Self::number), and keeps what it made. Of slices, what is not only read is
    /// copied: nothing stays borrowed.
    ///
    /// ```
    /// use exec::Limits;
    /// use exec::native::{Argument, Program};
    /// use ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function halves(x::Float64)::Tuple{Float64, Tuple{Float64, Float64}}
    /// 1 ─ %1 = Base.mul_float(x, 0.5)::Float64
    /// │   %2 = Core.tuple(x, %1)::Tuple{Float64, Float64}
    /// │   %3 = Core.tuple(%1, %2)::Tuple{Float64, Tuple{Float64, Float64}}
    /// └──      return %3
    /// end
    /// function scaled_sum(trace::Tuple{Float64, Float64}, by::Float64)::Float64
    /// 1 ─ %1 = Base.getfield(trace, 1)::Float64
    /// │   %2 = Base.getfield(trace, 2)::Float64
    /// │   %3 = Base.add_float(%1, %2)::Float64
    /// │   %4 = Base.mul_float(%3, by)::Float64
    /// └──      return %4
    /// end
    /// ")?.module;
    /// let program = Program::compile(&module, &["halves", "scaled_sum"], Limits::default())?;
    /// let mut pending = program.begin(0, &mut [Argument::Float64(3.0)])?;
    /// assert_eq!(pending.numbers().float(0), Some(1.5));
    /// assert_eq!(pending.resume(1, 1, &mut [Argument::Float64(10.0)])?.float(0), Some(45.0));
    /// assert_eq!(pending.resume(1, 1, &mut [Argument::Float64(2.0)])?.float(0), Some(9.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallError`]: what the run gives, or an argument that the function does not take. Slices that the function may
    /// change for the caller are among these.
    pub fn begin(&self, function: usize, args: &mut [Argument<'_>]) -> Result<Pending<'_>, CallError> {
        let entry = self.entry(function)?;
        self.check_arguments(function, &entry.signature.parameters, args, 0)?;
        refuse_slices_to_change(args)?;
        let mut pending = Pending {
            program: self,
            context: Some(self.take_context()),
            layout: entry.signature.result.clone(),
            result: 0,
            zeros: SmallVec::new(),
            failed: false,
            stays_on_its_thread: PhantomData,
        };
        if let Some(context) = &mut pending.context {
            let parameters = &entry.signature.parameters;
            let lent = self.room(context, size_of(parameters))?;
            self.lend(context, parameters, &entry.reads_only, args, lent)?;
            let result = self.room(context, entry.signature.result.size as usize)?;
            // SAFETY: the arguments are those of the signature, one a multiple of 16 bytes, and there is room for the
            // result. What the function keeps lies in the memory of the call: of slices it was given copies, unless it
            // only reads them.
            unsafe { self.run(context, entry, lent, result)? };
            self.measure(context);
            pending.result = result;
            let placed = args.iter().zip(parameters).zip(places(lent, parameters));
            pending.zeros = placed
                .map(|((arg, layout), place)| {
                    let element = element_of(layout).filter(|_| matches!(arg, Argument::Zeros(_)))?;
                    // SAFETY: `lend` has put the address of the header there.
                    Some(Zeros { header: unsafe { (place as *const u64).read() }, element })
                })
                .collect();
        }
        Ok(pending)
    }
}

/// Slices to be changed would have to be borrowed for as long as something may come to use them.
fn refuse_slices_to_change(args: &mut [Argument<'_>]) -> Result<(), CallError> {
    match args.iter_mut().any(|arg| arg.lent().is_some_and(|lent| lent.may_change)) {
        true => Err(CallError::refused("a slice to be changed, in a call that goes on later")),
        false => Ok(()),
    }
}

impl Pending<'_> {
    /// The numbers in the result.
    pub fn numbers(&self) -> Numbers {
        // SAFETY: the call has put its result there.
        unsafe { numbers_at(&self.layout, self.result, &self.layout.offsets) }
    }

    /// The numbers in a field of the result, counted from 0, if it lies there and is not an object of its own.
    pub fn numbers_of(&self, field: usize) -> Option<Numbers> {
        let field = field_of(&self.layout, self.result, field)?;
        // SAFETY: as above; these are the offsets of its parts.
        Some(unsafe { numbers_at(field.layout, field.base, field.offsets) })
    }

    /// Calls another function with a field of the result, counted from 0, as its first argument, before `args`. As many
    /// times as wanted: what each call takes of memory is given back with the object.
    ///
    /// # Errors
    ///
    /// As [`Program::begin`]. After a call that failed there is no other.
    pub fn resume(&mut self, function: usize, field: usize, args: &mut [Argument<'_>]) -> Result<Numbers, CallError> {
        if self.failed {
            return Err(CallError::refused("a call after one that failed"));
        }
        let program = self.program;
        let entry = program.entry(function)?;
        let (first, rest) = match entry.signature.parameters.split_first() {
            Some(split) => split,
            None => {
                let name = program.names().get(function).cloned().unwrap_or_else(|| "".into());
                return Err(outside(RunErrorKind::Arity { function: name, expected: 0, got: args.len() + 1 }));
            }
        };
        program.check_arguments(function, rest, args, 1)?;
        refuse_slices_to_change(args)?;
        let given = field_of(&self.layout, self.result, field).filter(|given| given.layout.ty == first.ty);
        let Some(given) = given else {
            return Err(CallError::refused(format!(
                "field {} of {} for {}",
                field + 1,
                with_article(&self.layout.ty),
                with_article(&first.ty)
            )));
        };
        let Some(context) = &mut self.context else {
            return Err(CallError::refused("a call that is over"));
        };
        // A panic of the host goes through here.
        self.failed = true;
        let done = call_on(program, context, entry, &given, rest, args);
        program.measure(context);
        self.failed = done.is_err();
        done
    }

    /// The numbers of an argument that was given as [`Argument::Zeros`] for an array with elements of this type, as
    /// they are now.
    pub fn made_for<T: Float>(&self, argument: usize) -> Option<&[T]> {
        let header = self.zeros_header::<T>(argument)?;
        // SAFETY: the header lies in memory of the context, which lives as long as this object, and so do the numbers.
        Some(unsafe { floats_of(header) })
    }

    /// As [`made_for`](Self::made_for), to be changed.
    pub fn made_for_mut<T: Float>(&mut self, argument: usize) -> Option<&mut [T]> {
        let header = self.zeros_header::<T>(argument)?;
        // SAFETY: as above; no machine code runs while the object is borrowed.
        Some(unsafe { floats_of_mut(header) })
    }

    fn zeros_header<T: Float>(&self, argument: usize) -> Option<u64> {
        self.zeros.get(argument).copied().flatten().filter(|zeros| zeros.element == T::TYPE).map(|zeros| zeros.header)
    }

    /// The numbers of an array with elements of this type that is a field of the result, counted from 0.
    pub fn array<T: Float>(&self, field: usize) -> Option<&[T]> {
        let header = self.array_header::<T>(field)?;
        // SAFETY: what a function returns lies in the memory of the context, which lives as long as this object.
        Some(unsafe { floats_of(header) })
    }

    /// As [`array`](Self::array), to be changed.
    pub fn array_mut<T: Float>(&mut self, field: usize) -> Option<&mut [T]> {
        let header = self.array_header::<T>(field)?;
        // SAFETY: as above; no machine code runs while the object is borrowed.
        Some(unsafe { floats_of_mut(header) })
    }

    fn array_header<T: Float>(&self, field: usize) -> Option<u64> {
        let field = field_of(&self.layout, self.result, field)?;
        let address = field.addresses().next().filter(|_| element_of(field.layout) == Some(T::TYPE))?;
        // SAFETY: the part of an array is the address of its header.
        Some(unsafe { (address as *const u64).read() })
    }
}

/// An array of zeros that was made for an argument.
#[derive(Clone, Copy, Debug)]
struct Zeros {
    header: u64,
    element: ScalarType,
}

/// A field of the result: its parts lie at offsets from an address.
struct Field<'l> {
    layout: &'l Arc<Layout>,
    base: u64,
    offsets: &'l [u32],
}

impl Field<'_> {
    fn addresses(&self) -> impl Iterator<Item = u64> {
        self.offsets.iter().map(|offset| self.base + u64::from(*offset))
    }
}

/// Where a field of a result lies that is at this address.
fn field_of(whole: &Layout, result: u64, field: usize) -> Option<Field<'_>> {
    match &whole.shape {
        Shape::Fields(fields) => {
            let layout = fields.get(field)?;
            let before: usize = fields.iter().take(field).map(|field| field.parts.len()).sum();
            let offsets = whole.offsets.get(before..before + layout.parts.len())?;
            Some(Field { layout, base: result, offsets })
        }
        Shape::Record(_, inside) => {
            let (layout, at) = inside.fields.get(field)?;
            // SAFETY: a record is one part, the address of its fields.
            let record = unsafe { (result as *const u64).read() };
            Some(Field { layout, base: record + u64::from(*at), offsets: &layout.offsets })
        }
        _ => None,
    }
}

/// Calls an entry with what was given for its first argument, and the others behind it.
fn call_on(
    program: &Program,
    context: &mut Context,
    entry: &Entry,
    given: &Field<'_>,
    rest: &[Arc<Layout>],
    args: &mut [Argument<'_>],
) -> Result<Numbers, CallError> {
    let own = given.layout.size.next_multiple_of(16);
    let operands = program.room(context, own as usize + size_of(rest))?;
    for ((part, offset), from) in given.layout.parts.iter().zip(&given.layout.offsets).zip(given.addresses()) {
        let to = operands + u64::from(*offset);
        // SAFETY: the part lies at this address, and at its offset there is room for it.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, part.bytes() as usize) };
    }
    let reads_only = entry.reads_only.get(1..).unwrap_or_default();
    program.lend(context, rest, reads_only, args, operands + u64::from(own))?;
    let layout = &entry.signature.result;
    let result = program.room(context, layout.size as usize)?;
    // SAFETY: the arguments are those of the signature, each at a multiple of 16 bytes, and there is room for the
    // result.
    unsafe { program.run(context, entry, operands, result)? };
    // SAFETY: the call has put its result there.
    Ok(unsafe { numbers_at(layout, result, &layout.offsets) })
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            self.program.give_back(context);
        }
    }
}
