//! Calls on memory of the caller: numbers, and slices that are arrays to native code without being copied.
#![allow(unsafe_code, reason = "lends slices to machine code")]

use std::sync::Arc;

use ircode::{Name, Scalar, ScalarType, Type};
use smallvec::SmallVec;

use super::argument::{Argument, Float, MOST_DIMENSIONS, can_be_passed, elements};
use super::{CallError, Program};
use crate::error::RunErrorKind;
use crate::native::compiler::Entry;
use crate::native::layout::{Layout, Shape, array};
use crate::native::runtime::context::Context;

/// The numbers that a call returned.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Numbers(SmallVec<[Scalar; 16]>);

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

/// The bytes of the headers of arrays that are lent.
const HEADER: usize = array::size(MOST_DIMENSIONS);

impl Program {
    /// The number of a function that was compiled to be called, for [`call_in_place`](Self::call_in_place).
    pub fn number(&self, function: &str) -> Option<usize> {
        self.names().iter().position(|name| name.as_str() == function)
    }

    /// The first parameter of a function, counted from 0, for which there is no [`Argument`] to be passed, and its
    /// type.
    pub fn impassable(&self, function: usize) -> Option<(usize, &Type)> {
        let entry = self.finished.entries.get(function)?;
        let mut parameters = entry.signature.parameters.iter().enumerate();
        parameters.find(|(_, layout)| !can_be_passed(layout)).map(|(index, layout)| (index, &layout.ty))
    }

    /// Whether these arguments can be passed for the first parameters of a function.
    ///
    /// # Errors
    ///
    /// [`CallError::Argument`], for the first that cannot.
    pub fn check_first_arguments(&self, function: usize, args: &[Argument<'_>]) -> Result<(), CallError> {
        let parameters = &self.entry(function)?.signature.parameters;
        self.check_arguments(function, parameters.get(..args.len()).unwrap_or(parameters), args, 0)
    }

    /// Calls the function of this [number](Self::number) on memory of the caller. From the third call on nothing is
    /// asked of the system. What the function returns must consist of numbers, or is left out.
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
    /// [`CallError`]: what the run gives, or an argument that the function does not take. Slices are worked on where
    /// they lie: after an error of the run, and where it is refused that the function has made one longer or shorter,
    /// they are as the run has left them.
    pub fn call_in_place(&self, function: usize, args: &mut [Argument<'_>]) -> Result<Numbers, CallError> {
        let entry = self.entry(function)?;
        let layout = &entry.signature.result;
        // SAFETY: the call has put its result there.
        let take = |result| unsafe { numbers_at(layout, result, &layout.offsets) };
        self.check_arguments(function, &entry.signature.parameters, args, 0)?;
        self.with_context(|context| self.call_lent(context, entry, args, take))
    }

    /// As [`call_in_place`](Self::call_in_place), of a function that returns an array of `Float64` or `Float32`: its
    /// elements, in memory order.
    ///
    /// # Errors
    ///
    /// As [`call_in_place`](Self::call_in_place); [`CallError::Refused`], without a call, if the function returns
    /// something else.
    pub fn call_array_in_place(&self, function: usize, args: &mut [Argument<'_>]) -> Result<Vec<f64>, CallError> {
        let entry = self.entry(function)?;
        let layout = &entry.signature.result;
        let (Some(element @ (ScalarType::Float64 | ScalarType::Float32)), [offset]) =
            (element_of(layout), layout.offsets.as_slice())
        else {
            let ty = layout.ty.with_article();
            let (double, single) = (Type::FLOAT64, Type::FLOAT32);
            return Err(CallError::refused(format!("{ty} as a result, which is no array of {double} or {single}")));
        };
        let take = |result: u64| {
            // SAFETY: the call has put the address of a header there, of an array whose elements, of this type, lie one
            // after the other.
            unsafe {
                let header = ((result + u64::from(*offset)) as *const u64).read();
                match element {
                    ScalarType::Float32 => floats_of::<f32>(header).iter().copied().map(f64::from).collect(),
                    _ => floats_of::<f64>(header).to_vec(),
                }
            }
        };
        self.check_arguments(function, &entry.signature.parameters, args, 0)?;
        self.with_context(|context| self.call_lent(context, entry, args, take))
    }

    pub(crate) fn entry(&self, function: usize) -> Result<&Entry, CallError> {
        let missing = || outside(RunErrorKind::NoSuchFunction(format!("{function}").as_str().into()));
        self.finished.entries.get(function).ok_or_else(missing)
    }

    /// Whether these can be passed for the parameters of a function, or for those that follow the first so many.
    pub(crate) fn check_arguments(
        &self,
        function: usize,
        parameters: &[Arc<Layout>],
        args: &[Argument<'_>],
        first: usize,
    ) -> Result<(), CallError> {
        let expected = parameters.len();
        if args.len() != expected {
            let name = self.names().get(function).cloned().unwrap_or_else(|| "".into());
            return Err(outside(RunErrorKind::Arity { function: name, expected, got: args.len() }));
        }
        for (index, (arg, layout)) in args.iter().zip(parameters).enumerate() {
            if !arg.fits(layout) {
                let (expected, given) = (layout.ty.clone(), arg.to_string());
                let name = self.parameter_name(function, first + index).cloned();
                return Err(CallError::Argument { argument: index, name, expected, given });
            }
        }
        Ok(())
    }

    /// The name of a parameter, counted from 0.
    fn parameter_name(&self, function: usize, number: usize) -> Option<&Name> {
        let function = self.finished.shared.module.function(self.names().get(function)?)?;
        function.parameters.get(number)?.as_ref()
    }

    /// Calls, and takes what is wanted of the result, which lies at the address that is passed.
    fn call_lent<T>(
        &self,
        context: &mut Context,
        entry: &Entry,
        args: &mut [Argument<'_>],
        take: impl FnOnce(u64) -> T,
    ) -> Result<T, CallError> {
        let parameters = &entry.signature.parameters;
        let lent = self.room(context, size_of(parameters))?;
        self.lend(context, parameters, &entry.reads_only, args, lent)?;
        let result = self.room(context, entry.signature.result.size as usize)?;
        // SAFETY: the arguments are those of the signature, one a multiple of 16 bytes; the slices live until the call
        // is over, and nobody else changes them meanwhile. There is room for the result.
        unsafe { self.run(context, entry, lent, result)? };
        for (arg, place) in args.iter_mut().zip(places(lent, parameters)) {
            let Some(lent) = arg.lent().filter(|lent| lent.may_change) else { continue };
            // SAFETY: `lend` has put the address of the header there, which is in memory that the context holds, too.
            let (data, now) = unsafe { data_of((place as *const u64).read()) };
            if data as u64 != lent.start || now != lent.length {
                return Err(CallError::refused("a slice that becomes longer or shorter"));
            }
        }
        Ok(take(result))
    }

    /// Room for so many bytes, in the memory of the call.
    pub(crate) fn room(&self, context: &mut Context, bytes: usize) -> Result<u64, CallError> {
        let room = context.memory.take(bytes.max(16));
        room.map(|room| room.as_ptr() as u64).ok_or_else(|| self.out_of_memory())
    }

    fn out_of_memory(&self) -> CallError {
        outside(RunErrorKind::MemoryLimit(self.limits().memory))
    }

    /// Puts arguments, which [fit](Argument::fits) the parameters, at an address as machine code takes them: each at a
    /// multiple of 16 bytes, of an array the address of its header. Arrays that it only reads, and those that the
    /// caller lends to be changed, are used where they lie; of others there are copies in the memory of the call. There
    /// must be [room](size_of) for all of them.
    pub(crate) fn lend(
        &self,
        context: &mut Context,
        parameters: &[Arc<Layout>],
        reads_only: &[bool],
        args: &mut [Argument<'_>],
        address: u64,
    ) -> Result<(), CallError> {
        let all = args.iter_mut().zip(parameters).zip(places(address, parameters)).enumerate();
        for (index, ((arg, layout), place)) in all {
            let place = place as *mut [u64; 2];
            // SAFETY: there is room for the argument, of at least 16 bytes, which is aligned as all memory of a call.
            let put = |pair: usize, words: [u64; 2]| unsafe { place.add(pair).write(words) };
            let element = element_of(layout).map_or(8, ScalarType::bytes);
            let (data, length, dims): (u64, usize, &[usize]) = match arg {
                Argument::Float64(value) => {
                    put(0, [value.to_bits(), 0]);
                    continue;
                }
                Argument::Int64(value) => {
                    put(0, [*value as u64, 0]);
                    continue;
                }
                Argument::Bool(value) => {
                    put(0, [u64::from(*value), 0]);
                    continue;
                }
                Argument::Scalar(scalar) => {
                    let bits = scalar.to_bits();
                    put(0, [bits as u64, (bits >> 64) as u64]);
                    continue;
                }
                Argument::Nothing => {
                    (0..layout.size.div_ceil(16) as usize).for_each(|pair| put(pair, [0, 0]));
                    continue;
                }
                Argument::Fields(numbers) if numbers.len() > layout.parts.len() => {
                    let numbers = &mut numbers.iter().copied();
                    // SAFETY: there is room for a value of this layout.
                    let placed = unsafe { put_floats(context, layout, place as u64, &layout.offsets, numbers) };
                    placed.ok_or_else(|| self.out_of_memory())?;
                    continue;
                }
                // All parts are of eight bytes, one after the other.
                Argument::Fields(numbers) => {
                    let bits = |number: Option<&f64>| number.map_or(0, |number| number.to_bits());
                    for (index, pair) in numbers.chunks(2).enumerate() {
                        put(index, [bits(pair.first()), bits(pair.get(1))]);
                    }
                    continue;
                }
                Argument::Zeros(dims) => {
                    let length = elements(dims).ok_or_else(|| self.out_of_memory())?;
                    let zeros = context.memory.take_zeros((element * length).max(16));
                    (zeros.ok_or_else(|| self.out_of_memory())?.as_ptr() as u64, length, dims)
                }
                array => {
                    let Some(lent) = array.lent() else { continue };
                    let data = match lent.may_change || reads_only.get(index) == Some(&true) {
                        true => lent.start,
                        // What the function may change, and the caller not, is copied.
                        false => {
                            let bytes = element * lent.length;
                            let copy = context.memory.take(bytes.max(16)).ok_or_else(|| self.out_of_memory())?.as_ptr();
                            // SAFETY: there is room for the elements, of which each takes so many bytes.
                            unsafe { std::ptr::copy_nonoverlapping(lent.start as *const u8, copy, bytes) };
                            copy as u64
                        }
                    };
                    (data, lent.length, lent.dims.unwrap_or_default())
                }
            };
            if dims.len() > MOST_DIMENSIONS as usize {
                return Err(CallError::refused(format!("an array of more than {MOST_DIMENSIONS} dimensions in place")));
            }
            let header = context.memory.take(HEADER).ok_or_else(|| self.out_of_memory())?.as_ptr();
            let mut words = [data, length as u64, length as u64, length as u64, 0, 0];
            for (word, size) in words.iter_mut().skip(array::dimension(0) as usize / 8).zip(dims) {
                *word = *size as u64;
            }
            // SAFETY: there is room for as many words, and memory of a call is aligned to 16 bytes.
            unsafe { header.cast::<[u64; HEADER / 8]>().write(words) };
            put(0, [header as u64, 0]);
        }
        Ok(())
    }
}

/// The bytes that arguments take, each at a multiple of 16.
pub(crate) fn size_of(parameters: &[Arc<Layout>]) -> usize {
    parameters.iter().map(|layout| layout.size.next_multiple_of(16) as usize).sum()
}

/// Where each argument lies of those that begin at an address.
pub(crate) fn places(address: u64, parameters: &[Arc<Layout>]) -> impl Iterator<Item = u64> {
    let mut next = address;
    parameters.iter().map(move |layout| {
        let place = next;
        next += u64::from(layout.size.next_multiple_of(16));
        place
    })
}

/// An error that no statement has made.
pub(crate) fn outside(kind: RunErrorKind) -> CallError {
    CallError::Run(kind.into())
}

/// The type of the elements, of an array of numbers.
pub(crate) fn element_of(layout: &Layout) -> Option<ScalarType> {
    match layout.shape {
        Shape::Array(Type::Scalar(element), _) => Some(element),
        _ => None,
    }
}

/// The address and the number of the elements of an array, from its header.
///
/// # Safety
///
/// A header lies at this address.
unsafe fn data_of(header: u64) -> (*mut u8, usize) {
    let header = header as *const u64;
    // SAFETY: as the caller says.
    unsafe {
        let data = header.byte_offset(array::DATA as isize).read();
        let length = header.byte_offset(array::LENGTH as isize).read();
        (data as *mut u8, length as usize)
    }
}

/// The elements of an array of floats.
///
/// # Safety
///
/// Its header lies at this address, and its elements are of this type; header and elements stay for as long as what is
/// returned, and nobody changes them.
pub(crate) unsafe fn floats_of<'a, T: Float>(header: u64) -> &'a [T] {
    // SAFETY: as the caller says. An array without elements need not have an address for them.
    match unsafe { data_of(header) } {
        (_, 0) => &[],
        // SAFETY: so many elements lie there.
        (data, length) => unsafe { std::slice::from_raw_parts(data.cast(), length) },
    }
}

/// As [`floats_of`], to be changed.
///
/// # Safety
///
/// As there; and nobody else reads them meanwhile.
pub(crate) unsafe fn floats_of_mut<'a, T: Float>(header: u64) -> &'a mut [T] {
    // SAFETY: as the caller says.
    match unsafe { data_of(header) } {
        (_, 0) => &mut [],
        // SAFETY: so many elements lie there.
        (data, length) => unsafe { std::slice::from_raw_parts_mut(data.cast(), length) },
    }
}

/// The numbers in a value, in the order of its parts, which lie at offsets from an address.
///
/// # Safety
///
/// A value of this layout lies there.
pub(crate) unsafe fn numbers_at(layout: &Layout, address: u64, offsets: &[u32]) -> Numbers {
    let mut numbers = Numbers::default();
    // SAFETY: as the caller says.
    unsafe { collect(layout, address, offsets, &mut numbers) };
    numbers
}

/// Adds the numbers in a value to others.
///
/// # Safety
///
/// As [`numbers_at`].
unsafe fn collect(layout: &Layout, base: u64, offsets: &[u32], numbers: &mut Numbers) {
    let first = offsets.first().map(|offset| base + u64::from(*offset));
    match (&layout.shape, first) {
        (Shape::Scalar(ty), Some(place)) => {
            let mut bits = [0_u8; 16];
            // SAFETY: the number lies there.
            unsafe { std::ptr::copy_nonoverlapping(place as *const u8, bits.as_mut_ptr(), ty.bytes()) };
            numbers.0.push(Scalar::from_bits(*ty, u128::from_le_bytes(bits)));
        }
        (Shape::Fields(fields), _) => {
            let mut offsets = offsets;
            for field in fields {
                let (own, rest) = offsets.split_at(field.parts.len().min(offsets.len()));
                // SAFETY: the parts of the fields are those of the value, one after the other.
                unsafe { collect(field, base, own, numbers) };
                offsets = rest;
            }
        }
        (Shape::Record(_, inside), Some(place)) => {
            // SAFETY: a record is one part, the address of its fields.
            let record = unsafe { (place as *const u64).read() };
            for (field, at) in &inside.fields {
                // SAFETY: each field lies where `inside` says.
                unsafe { collect(field, record + u64::from(*at), &field.offsets, numbers) };
            }
        }
        _ => {}
    }
}

/// Puts floats in a value that consists of such. `None` if there is no memory for those that lie elsewhere.
///
/// # Safety
///
/// There is room for a value of this layout, whose parts lie at offsets from an address.
unsafe fn put_floats(
    context: &mut Context,
    layout: &Layout,
    base: u64,
    offsets: &[u32],
    floats: &mut dyn Iterator<Item = f64>,
) -> Option<()> {
    let first = offsets.first().map(|offset| base + u64::from(*offset));
    match (&layout.shape, first) {
        // SAFETY: the part lies there.
        (Shape::Scalar(_), Some(place)) => unsafe { (place as *mut f64).write(floats.next()?) },
        (Shape::Fields(fields), _) => {
            let mut offsets = offsets;
            for field in fields {
                let (own, rest) = offsets.split_at(field.parts.len().min(offsets.len()));
                // SAFETY: the parts of the fields are those of the value, one after the other.
                unsafe { put_floats(context, field, base, own, floats)? };
                offsets = rest;
            }
        }
        (Shape::Record(_, inside), Some(place)) => {
            let record = context.memory.take((inside.size as usize).max(16))?.as_ptr() as u64;
            // SAFETY: a record is one part, the address of its fields.
            unsafe { (place as *mut u64).write(record) };
            for (field, at) in &inside.fields {
                // SAFETY: each field lies where `inside` says, and there is room for all.
                unsafe { put_floats(context, field, record + u64::from(*at), &field.offsets, floats)? };
            }
        }
        _ => {}
    }
    Some(())
}
