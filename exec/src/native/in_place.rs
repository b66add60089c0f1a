//! Calls on memory of the caller: numbers, and slices that are arrays to native code without being copied.
#![allow(unsafe_code, reason = "lends slices to machine code")]

use ircode::{Scalar, ScalarType, Type};
use smallvec::SmallVec;

use super::compiler::Entry;
use super::context::Context;
use super::layout::{Shape, array};
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
}

impl Argument<'_> {
    /// The type that the function must declare.
    fn ty(&self) -> Type {
        match self {
            Argument::Float64(_) => Type::FLOAT64,
            Argument::Int64(_) => Type::INT64,
            Argument::Bool(_) => Type::BOOL,
            Argument::Floats(_) | Argument::FloatsMut(_) => Type::array(Type::FLOAT64, 1),
            Argument::Integers(_) => Type::array(Type::INT64, 1),
            Argument::Array(_, dims) | Argument::ArrayMut(_, dims) => Type::array(Type::FLOAT64, dims.len() as u32),
        }
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

/// Words of headers that fit without memory of their own.
type Headers = SmallVec<[[u64; 6]; 8]>;

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
        let outside = |kind| CallError::Run(RunError { kind, trace: Vec::new() });
        let entry = self.finished.entries.get(function);
        let entry =
            entry.ok_or_else(|| outside(RunErrorKind::NoSuchFunction(format!("{function}").as_str().into())))?;
        let expected = entry.signature.parameters.len();
        if args.len() != expected {
            let name = self.names().get(function).cloned().unwrap_or_else(|| "".into());
            return Err(outside(RunErrorKind::Arity { function: name, expected, got: args.len() }));
        }
        for (index, (arg, layout)) in args.iter().zip(&entry.signature.parameters).enumerate() {
            let matches = match (arg, &layout.shape) {
                (Argument::Float64(_), Shape::Scalar(ScalarType::Float64))
                | (Argument::Int64(_), Shape::Scalar(ScalarType::Int64))
                | (Argument::Bool(_), Shape::Scalar(ScalarType::Bool)) => true,
                (Argument::Floats(_) | Argument::FloatsMut(_), Shape::Array(Type::Scalar(ScalarType::Float64), 1))
                | (Argument::Integers(_), Shape::Array(Type::Scalar(ScalarType::Int64), 1)) => true,
                (Argument::Array(numbers, dims), Shape::Array(Type::Scalar(ScalarType::Float64), rank)) => {
                    *rank as usize == dims.len() && dims.iter().product::<usize>() == numbers.len()
                }
                (Argument::ArrayMut(numbers, dims), Shape::Array(Type::Scalar(ScalarType::Float64), rank)) => {
                    *rank as usize == dims.len() && dims.iter().product::<usize>() == numbers.len()
                }
                _ => false,
            };
            if !matches {
                let (expected, got) = (layout.ty.to_string(), arg.ty().to_string());
                return Err(outside(RunErrorKind::ArgumentType { argument: index + 2, expected, got }));
            }
        }
        self.with_context(|context| self.call_lent(context, entry, args))
    }

    fn call_lent(&self, context: &mut Context, entry: &Entry, args: &mut [Argument<'_>]) -> Result<Numbers, CallError> {
        let mut headers: Headers = SmallVec::from_elem([0; 6], args.len());
        let mut operands: SmallVec<[[u64; 2]; 8]> = SmallVec::with_capacity(args.len());
        let memory =
            || CallError::Run(RunError { kind: RunErrorKind::MemoryLimit(self.limits().memory), trace: Vec::new() });
        for (index, (arg, header)) in args.iter_mut().zip(headers.iter_mut()).enumerate() {
            let lent = entry.reads_only.get(index) == Some(&true);
            // What the function may change, and the caller not, is copied.
            let shared = |start: *const u8, length: usize, context: &mut Context| -> Option<u64> {
                if lent {
                    return Some(start as u64);
                }
                let copy = context.memory.take((8 * length).max(16))?.as_ptr();
                // SAFETY: there is room for as many numbers of eight bytes as the slice has.
                unsafe { std::ptr::copy_nonoverlapping(start, copy, 8 * length) };
                Some(copy as u64)
            };
            let (data, length, dims): (u64, usize, &[usize]) = match arg {
                Argument::Float64(value) => {
                    operands.push([value.to_bits(), 0]);
                    continue;
                }
                Argument::Int64(value) => {
                    operands.push([*value as u64, 0]);
                    continue;
                }
                Argument::Bool(value) => {
                    operands.push([u64::from(*value), 0]);
                    continue;
                }
                Argument::Floats(numbers) => {
                    (shared(numbers.as_ptr().cast(), numbers.len(), context).ok_or_else(memory)?, numbers.len(), &[])
                }
                Argument::Integers(numbers) => {
                    (shared(numbers.as_ptr().cast(), numbers.len(), context).ok_or_else(memory)?, numbers.len(), &[])
                }
                Argument::Array(numbers, dims) => {
                    (shared(numbers.as_ptr().cast(), numbers.len(), context).ok_or_else(memory)?, numbers.len(), dims)
                }
                Argument::FloatsMut(numbers) => (numbers.as_mut_ptr() as u64, numbers.len(), &[]),
                Argument::ArrayMut(numbers, dims) => (numbers.as_mut_ptr() as u64, numbers.len(), dims),
            };
            let mut word = |at: i32, value: u64| {
                if let Some(word) = header.get_mut(at as usize / 8) {
                    *word = value;
                }
            };
            word(array::DATA, data);
            word(array::LENGTH, length as u64);
            word(array::CAPACITY, length as u64);
            word(array::DIMENSIONS, length as u64);
            if dims.len() > 3 {
                return Err(CallError::Refused("an array of more than three dimensions in place".into()));
            }
            for (dim, size) in dims.iter().enumerate() {
                word(array::DIMENSIONS + 8 * dim as i32, *size as u64);
            }
            operands.push([header.as_ptr() as u64, 0]);
        }
        let mut result = [0_u128; 65];
        // SAFETY: the arguments are those of the signature, one a multiple of 16 bytes; the slices live until the call is
        // over, and nobody else changes them meanwhile. A result has at most 64 parts.
        unsafe { self.run(context, entry, operands.as_ptr() as u64, result.as_mut_ptr() as u64)? };
        for (arg, header) in args.iter().zip(&headers) {
            let (start, length) = match arg {
                Argument::FloatsMut(numbers) => (numbers.as_ptr() as u64, numbers.len()),
                Argument::ArrayMut(numbers, _) => (numbers.as_ptr() as u64, numbers.len()),
                _ => continue,
            };
            if header.first() != Some(&start) || header.get(1) != Some(&(length as u64)) {
                return Err(CallError::Refused("a slice that becomes longer or shorter".into()));
            }
        }
        let mut numbers = Numbers::default();
        let layout = &entry.signature.result;
        let bytes = result.as_ptr().cast::<u8>();
        let mut part = 0;
        collect(layout, &mut |ty| {
            if let (Some(ty), Some(offset)) = (ty, layout.offsets.get(part)) {
                let mut bits = [0_u8; 16];
                // SAFETY: the part lies at its offset in the result.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.add(*offset as usize), bits.as_mut_ptr(), ty.bytes());
                }
                numbers.0.push(Scalar::from_bits(ty, u128::from_le_bytes(bits)));
            }
            part += 1;
        });
        Ok(numbers)
    }
}

/// Visits the parts of a value, with their types where these are numbers.
fn collect(layout: &super::layout::Layout, visit: &mut impl FnMut(Option<ScalarType>)) {
    match &layout.shape {
        Shape::Scalar(ty) => visit(Some(*ty)),
        Shape::Fields(fields) => fields.iter().for_each(|field| collect(field, visit)),
        _ => layout.parts.iter().for_each(|_| visit(None)),
    }
}
