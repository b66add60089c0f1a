//! Calls on memory of the caller: numbers, and slices that are arrays to native code without being copied.
#![allow(unsafe_code, reason = "lends slices to machine code")]

use std::sync::Arc;

use ircode::{Scalar, ScalarType, Type};
use smallvec::SmallVec;

use super::compiler::Entry;
use super::context::Context;
use super::layout::{Layout, Shape, array};
use super::program::{CallError, Program};
use crate::error::{RunError, RunErrorKind};

/// What is passed to native code.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A `Float64`.
    Float64(f64),
    /// An `Int64`.
    Int64(i64),
    /// A `Bool`.
    Bool(bool),
    /// A vector of `Float64` that stays as it is. A function that may change it works on a copy.
    Floats(&'a [f64]),
    /// A vector of `Float64` that the function may change. It cannot make it longer or shorter for the caller.
    FloatsMut(&'a mut [f64]),
    /// A vector of `Int64` that stays as it is.
    Integers(&'a [i64]),
    /// An array of `Float64` of these dimensions that stays as it is, the first dimension running fastest.
    Array(&'a [f64], &'a [usize]),
    /// An array of `Float64` of these dimensions that the function may change.
    ArrayMut(&'a mut [f64], &'a [usize]),
    /// An array of zeros of these dimensions, which is made for the call.
    Zeros(&'a [usize]),
    /// A tuple or an immutable struct that consists of these `Float64`s, those of tuples and structs inside of it in their places.
    Fields(&'a [f64]),
    /// The only value of a type that has no other, as `nothing`.
    Nothing,
}

impl Argument<'_> {
    /// What it is, for an error.
    fn described(&self) -> String {
        match self {
            Argument::Float64(_) => Type::FLOAT64.to_string(),
            Argument::Int64(_) => Type::INT64.to_string(),
            Argument::Bool(_) => Type::BOOL.to_string(),
            Argument::Floats(_) | Argument::FloatsMut(_) => Type::array(Type::FLOAT64, 1).to_string(),
            Argument::Integers(_) => Type::array(Type::INT64, 1).to_string(),
            Argument::Array(numbers, dims) => array_of(numbers.len(), dims),
            Argument::ArrayMut(numbers, dims) => array_of(numbers.len(), dims),
            Argument::Zeros(dims) => Type::array(Type::FLOAT64, dims.len() as u32).to_string(),
            Argument::Fields(numbers) => format!("{} fields of Float64", numbers.len()),
            Argument::Nothing => Type::Nothing.to_string(),
        }
    }

    /// Whether it can be passed for a parameter.
    fn fits(&self, layout: &Layout) -> bool {
        let floats = |expected: usize| match layout.shape {
            Shape::Array(Type::Scalar(ScalarType::Float64), rank) => rank as usize == expected,
            _ => false,
        };
        match self {
            Argument::Float64(_) => layout.scalar() == Some(ScalarType::Float64),
            Argument::Int64(_) => layout.scalar() == Some(ScalarType::Int64),
            Argument::Bool(_) => layout.scalar() == Some(ScalarType::Bool),
            Argument::Floats(_) | Argument::FloatsMut(_) => floats(1),
            Argument::Integers(_) => matches!(layout.shape, Shape::Array(Type::Scalar(ScalarType::Int64), 1)),
            Argument::Array(numbers, dims) => floats(dims.len()) && elements(dims) == Some(numbers.len()),
            Argument::ArrayMut(numbers, dims) => floats(dims.len()) && elements(dims) == Some(numbers.len()),
            Argument::Zeros(dims) => floats(dims.len()) && elements(dims).is_some(),
            Argument::Fields(numbers) => {
                let mut all = true;
                collect(layout, &mut |ty| all &= ty == Some(ScalarType::Float64));
                matches!(layout.shape, Shape::Fields(_)) && all && layout.parts.len() == numbers.len()
            }
            Argument::Nothing => matches!(layout.shape, Shape::Unit) || layout.parts.is_empty(),
        }
    }
}

/// The number of elements of an array of these dimensions, if there can be so many.
fn elements(dims: &[usize]) -> Option<usize> {
    let count = dims.iter().try_fold(1_usize, |count, size| count.checked_mul(*size))?;
    count.checked_mul(8).map(|_| count)
}

fn array_of(numbers: usize, dims: &[usize]) -> String {
    let ty = Type::array(Type::FLOAT64, dims.len() as u32);
    match elements(dims) == Some(numbers) {
        true => ty.to_string(),
        false => format!("{numbers} numbers for a {ty} of dimensions {dims:?}"),
    }
}

/// The numbers that a call returned.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Numbers(SmallVec<[Scalar; 4]>);

impl Numbers {
    /// The numbers in the order in which they lie in the result: the fields of a tuple one after the other.
    pub fn scalars(&self) -> &[Scalar] {
        &self.0
    }

    /// The number at this position, counted from 0, if it is a float.
    pub fn float(&self, at: usize) -> Option<f64> {
        self.0.get(at).and_then(Scalar::as_float)
    }
}

/// The bytes of the headers of arrays that are lent: of up to three dimensions.
const HEADER: usize = array::size(3);

/// Arguments as machine code takes them.
pub(super) struct Lent {
    /// The arguments, each at a multiple of 16 bytes.
    pub(super) words: SmallVec<[[u64; 2]; 12]>,
    /// The address of the header of each that is an array, else 0.
    pub(super) headers: SmallVec<[u64; 12]>,
}

impl Program {
    /// The number of a function that was compiled to be called, for [`call_in_place`](Self::call_in_place).
    pub fn number(&self, function: &str) -> Option<usize> {
        self.names().iter().position(|name| name.as_str() == function)
    }

    /// Calls the function of this [number](Self::number) on memory of the caller. From the second call on nothing is asked of the
    /// system. What the function returns must consist of numbers, or is left out.
    ///
    /// ```
    /// use exec::Limits;
    /// use exec::native::{Argument, Program};
    /// use ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function first_doubled(v::Vector{Float64})::Float64
    /// 1 ─ %1 = Base.arrayref(true, v, 1)::Float64
    /// │   %2 = Base.add_float(%1, %1)::Float64
    /// │        Base.arrayset(true, v, %2, 1)::Vector{Float64}
    /// └──      return %2
    /// end
    /// ")?.module;
    /// let program = Program::compile(&module, &["first_doubled"], Limits::default())?;
    /// let function = program.number("first_doubled").unwrap();
    /// let mut v = [1.5, 2.0];
    /// let result = program.call_in_place(function, &mut [Argument::FloatsMut(&mut v)])?;
    /// assert_eq!((result.float(0), v), (Some(3.0), [3.0, 2.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallError`]: what the run gives, or an argument that the function does not take.
    pub fn call_in_place(&self, function: usize, args: &mut [Argument<'_>]) -> Result<Numbers, CallError> {
        let entry = self.entry(function)?;
        self.check_arguments(function, &entry.signature.parameters, args)?;
        self.with_context(|context| self.call_lent(context, entry, args))
    }

    pub(super) fn entry(&self, function: usize) -> Result<&Entry, CallError> {
        let missing = || outside(RunErrorKind::NoSuchFunction(format!("{function}").as_str().into()));
        self.finished.entries.get(function).ok_or_else(missing)
    }

    /// Whether these can be passed for the parameters of a function, or for the last ones of them.
    pub(super) fn check_arguments(
        &self,
        function: usize,
        parameters: &[Arc<Layout>],
        args: &[Argument<'_>],
    ) -> Result<(), CallError> {
        let expected = parameters.len();
        if args.len() != expected {
            let name = self.names().get(function).cloned().unwrap_or_else(|| "".into());
            return Err(outside(RunErrorKind::Arity { function: name, expected, got: args.len() }));
        }
        for (index, (arg, layout)) in args.iter().zip(parameters).enumerate() {
            if !arg.fits(layout) {
                let (expected, got) = (layout.ty.to_string(), arg.described());
                return Err(outside(RunErrorKind::ArgumentType { argument: index + 2, expected, got }));
            }
        }
        Ok(())
    }

    fn call_lent(&self, context: &mut Context, entry: &Entry, args: &mut [Argument<'_>]) -> Result<Numbers, CallError> {
        let lent = self.lend(context, &entry.signature.parameters, &entry.reads_only, args)?;
        let result = self.room(context, &entry.signature.result)?;
        // SAFETY: the arguments are those of the signature, one a multiple of 16 bytes; the slices live until the call is
        // over, and nobody else changes them meanwhile. There is room for the result.
        unsafe { self.run(context, entry, lent.words.as_ptr() as u64, result)? };
        for (arg, header) in args.iter().zip(&lent.headers) {
            let (start, length) = match arg {
                Argument::FloatsMut(numbers) => (numbers.as_ptr() as u64, numbers.len()),
                Argument::ArrayMut(numbers, _) => (numbers.as_ptr() as u64, numbers.len()),
                _ => continue,
            };
            // SAFETY: the header was made by `lend`, in memory that the context holds.
            let (data, now) = unsafe { data_of(*header) };
            if data as u64 != start || now != length {
                return Err(CallError::Refused("a slice that becomes longer or shorter".into()));
            }
        }
        // SAFETY: the call has put its result there.
        Ok(unsafe { numbers_at(&entry.signature.result, result) })
    }

    /// Room for a result, in the memory of the call.
    pub(super) fn room(&self, context: &mut Context, layout: &Layout) -> Result<u64, CallError> {
        let room = context.memory.take((layout.size as usize).max(16));
        room.map(|room| room.as_ptr() as u64).ok_or_else(|| self.out_of_memory())
    }

    fn out_of_memory(&self) -> CallError {
        outside(RunErrorKind::MemoryLimit(self.limits().memory))
    }

    /// Arguments as machine code takes them, which [fit](Argument::fits) the parameters. Arrays that it only reads, and those that the
    /// caller lends to be changed, are used where they lie; of others there are copies in the memory of the call.
    pub(super) fn lend(
        &self,
        context: &mut Context,
        parameters: &[Arc<Layout>],
        reads_only: &[bool],
        args: &mut [Argument<'_>],
    ) -> Result<Lent, CallError> {
        let mut lent = Lent { words: SmallVec::new(), headers: SmallVec::new() };
        for (index, (arg, layout)) in args.iter_mut().zip(parameters).enumerate() {
            let reads_only = reads_only.get(index) == Some(&true);
            // What the function may change, and the caller not, is copied.
            let mut shared = |start: *const u8, length: usize| -> Result<u64, CallError> {
                if reads_only {
                    return Ok(start as u64);
                }
                let copy = context.memory.take((8 * length).max(16)).ok_or_else(|| self.out_of_memory())?.as_ptr();
                // SAFETY: there is room for as many numbers of eight bytes as the slice has.
                unsafe { std::ptr::copy_nonoverlapping(start, copy, 8 * length) };
                Ok(copy as u64)
            };
            lent.headers.push(0);
            let (data, length, dims): (u64, usize, &[usize]) = match arg {
                Argument::Float64(value) => {
                    lent.words.push([value.to_bits(), 0]);
                    continue;
                }
                Argument::Int64(value) => {
                    lent.words.push([*value as u64, 0]);
                    continue;
                }
                Argument::Bool(value) => {
                    lent.words.push([u64::from(*value), 0]);
                    continue;
                }
                Argument::Nothing => {
                    let words = layout.size.div_ceil(16);
                    lent.words.extend(std::iter::repeat_n([0, 0], words as usize));
                    continue;
                }
                // All parts are of eight bytes, one after the other.
                Argument::Fields(numbers) => {
                    let bits = |number: Option<&f64>| number.map_or(0, |number| number.to_bits());
                    lent.words.extend(numbers.chunks(2).map(|pair| [bits(pair.first()), bits(pair.get(1))]));
                    continue;
                }
                Argument::Floats(numbers) => (shared(numbers.as_ptr().cast(), numbers.len())?, numbers.len(), &[]),
                Argument::Integers(numbers) => (shared(numbers.as_ptr().cast(), numbers.len())?, numbers.len(), &[]),
                Argument::Array(numbers, dims) => {
                    (shared(numbers.as_ptr().cast(), numbers.len())?, numbers.len(), dims)
                }
                Argument::FloatsMut(numbers) => (numbers.as_mut_ptr() as u64, numbers.len(), &[]),
                Argument::ArrayMut(numbers, dims) => (numbers.as_mut_ptr() as u64, numbers.len(), dims),
                Argument::Zeros(dims) => {
                    let length = elements(dims).ok_or_else(|| self.out_of_memory())?;
                    let zeros = context.memory.take_zeros((8 * length).max(16)).ok_or_else(|| self.out_of_memory())?;
                    (zeros.as_ptr() as u64, length, dims)
                }
            };
            if dims.len() > 3 {
                return Err(CallError::Refused("an array of more than three dimensions in place".into()));
            }
            let header = context.memory.take(HEADER).ok_or_else(|| self.out_of_memory())?.as_ptr();
            let mut words = [data, length as u64, length as u64, length as u64, 0, 0];
            for (word, size) in words.iter_mut().skip(array::DIMENSIONS as usize / 8).zip(dims) {
                *word = *size as u64;
            }
            // SAFETY: there is room for as many words, and memory of a call is aligned to 16 bytes.
            unsafe { header.cast::<[u64; HEADER / 8]>().write(words) };
            lent.words.push([header as u64, 0]);
            if let Some(known) = lent.headers.last_mut() {
                *known = header as u64;
            }
        }
        Ok(lent)
    }
}

/// An error that no statement has made.
pub(super) fn outside(kind: RunErrorKind) -> CallError {
    CallError::Run(RunError { kind, trace: Vec::new() })
}

/// The address and the number of the elements of an array, from its header.
///
/// # Safety
///
/// A header lies at this address.
pub(super) unsafe fn data_of(header: u64) -> (*mut f64, usize) {
    let header = header as *const u64;
    // SAFETY: as the caller says.
    unsafe {
        let data = header.byte_offset(array::DATA as isize).read();
        let length = header.byte_offset(array::LENGTH as isize).read();
        (data as *mut f64, length as usize)
    }
}

/// The numbers in a value, in the order of its parts.
///
/// # Safety
///
/// A value of this layout lies at this address.
pub(super) unsafe fn numbers_at(layout: &Layout, address: u64) -> Numbers {
    let mut numbers = Numbers::default();
    let bytes = address as *const u8;
    let mut part = 0;
    collect(layout, &mut |ty| {
        if let (Some(ty), Some(offset)) = (ty, layout.offsets.get(part)) {
            let mut bits = [0_u8; 16];
            // SAFETY: the part lies at its offset in the value.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.add(*offset as usize), bits.as_mut_ptr(), ty.bytes());
            }
            numbers.0.push(Scalar::from_bits(ty, u128::from_le_bytes(bits)));
        }
        part += 1;
    });
    numbers
}

/// Visits the parts of a value, with their types where these are numbers.
fn collect(layout: &Layout, visit: &mut impl FnMut(Option<ScalarType>)) {
    match &layout.shape {
        Shape::Scalar(ty) => visit(Some(*ty)),
        Shape::Fields(fields) => fields.iter().for_each(|field| collect(field, visit)),
        _ => layout.parts.iter().for_each(|_| visit(None)),
    }
}
