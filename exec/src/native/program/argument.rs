//! What is passed to native code: numbers, and memory of the caller.

use std::fmt;

use ircode::wording::counted;
use ircode::{Scalar, ScalarType, Type};

use super::in_place::element_of;
use crate::native::layout::{Layout, Shape};

/// What is passed to native code.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A `Float64`.
    Float64(f64),
    /// An `Int64`.
    Int64(i64),
    /// A `Bool`.
    Bool(bool),
    /// A number of any type.
    Scalar(Scalar),
    /// A vector of `Float64` that stays as it is. A function that may change it works on a copy.
    Floats(&'a [f64]),
    /// A vector of `Float64` that the function may change. It cannot make it longer or shorter for the caller.
    FloatsMut(&'a mut [f64]),
    /// A vector of `Float32` that stays as it is.
    Floats32(&'a [f32]),
    /// A vector of `Float32` that the function may change.
    Floats32Mut(&'a mut [f32]),
    /// A vector of `Int64` that stays as it is.
    Integers(&'a [i64]),
    /// An array of `Float64` of these dimensions that stays as it is, the first dimension running fastest.
    Array(&'a [f64], &'a [usize]),
    /// An array of `Float64` of these dimensions that the function may change.
    ArrayMut(&'a mut [f64], &'a [usize]),
    /// An array of `Float32` of these dimensions that stays as it is.
    Array32(&'a [f32], &'a [usize]),
    /// An array of `Float32` of these dimensions that the function may change.
    Array32Mut(&'a mut [f32], &'a [usize]),
    /// An array of zeros of these dimensions, of the type of float that the function takes, which is made for the call.
    Zeros(&'a [usize]),
    /// A tuple or an immutable struct that consists of these `Float64`s, those of tuples and structs inside of it in
    /// their places.
    Fields(&'a [f64]),
    /// The only value of a type that has no other, as `nothing`.
    Nothing,
}

/// The types of Rust that are floats of a program: `f64`, a `Float64`, and `f32`, a `Float32`.
pub trait Float: Copy + private::Sealed {
    /// What it is in a program.
    const TYPE: ScalarType;
}

impl Float for f64 {
    const TYPE: ScalarType = ScalarType::Float64;
}

impl Float for f32 {
    const TYPE: ScalarType = ScalarType::Float32;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// The most dimensions that arrays of floats have in place.
pub(crate) const MOST_DIMENSIONS: u32 = 3;

/// Whether there is an [`Argument`] that can be passed for a parameter of this layout.
pub(crate) fn can_be_passed(layout: &Layout) -> bool {
    match &layout.shape {
        Shape::Array(Type::Scalar(ScalarType::Float64 | ScalarType::Float32), rank) => *rank <= MOST_DIMENSIONS,
        Shape::Array(Type::Scalar(ScalarType::Int64), rank) => *rank == 1,
        Shape::Scalar(_) | Shape::Unit => true,
        Shape::Fields(_) | Shape::Record(..) => floats_in(layout).is_some(),
        _ => layout.parts.is_empty(),
    }
}

/// How many numbers a value consists of, if all are `Float64`.
fn floats_in(layout: &Layout) -> Option<usize> {
    match &layout.shape {
        Shape::Scalar(ScalarType::Float64) => Some(1),
        Shape::Fields(fields) | Shape::Record(fields, _) => fields.iter().map(|field| floats_in(field)).sum(),
        _ => layout.parts.is_empty().then_some(0),
    }
}

/// An array of the caller, which lies where it lies.
pub(crate) struct Lent<'a> {
    pub(crate) start: u64,
    pub(crate) length: usize,
    /// Of an array that is not given as a vector.
    pub(crate) dims: Option<&'a [usize]>,
    /// Whether the function may change it.
    pub(crate) may_change: bool,
}

impl<'a> Argument<'a> {
    /// The type of the elements of an array. That of [`Zeros`](Argument::Zeros) is not known.
    pub fn element(&self) -> Option<ScalarType> {
        match self {
            Argument::Floats(_) | Argument::FloatsMut(_) | Argument::Array(..) | Argument::ArrayMut(..) => {
                Some(ScalarType::Float64)
            }
            Argument::Floats32(_) | Argument::Floats32Mut(_) | Argument::Array32(..) | Argument::Array32Mut(..) => {
                Some(ScalarType::Float32)
            }
            Argument::Integers(_) => Some(ScalarType::Int64),
            _ => None,
        }
    }

    /// The type of a number.
    pub fn scalar_type(&self) -> Option<ScalarType> {
        match self {
            Argument::Float64(_) => Some(ScalarType::Float64),
            Argument::Int64(_) => Some(ScalarType::Int64),
            Argument::Bool(_) => Some(ScalarType::Bool),
            Argument::Scalar(scalar) => Some(scalar.scalar_type()),
            _ => None,
        }
    }

    /// The dimensions of an array that is given with them: of a vector they are its [length](Self::numbers).
    pub fn dimensions(&self) -> Option<&'a [usize]> {
        match self {
            Argument::Array(_, dims) | Argument::ArrayMut(_, dims) => Some(dims),
            Argument::Array32(_, dims) | Argument::Array32Mut(_, dims) => Some(dims),
            Argument::Zeros(dims) => Some(dims),
            _ => None,
        }
    }

    /// How many numbers there are in it.
    pub fn numbers(&self) -> usize {
        match self {
            Argument::Float64(_) | Argument::Int64(_) | Argument::Bool(_) | Argument::Scalar(_) => 1,
            Argument::Floats(numbers) | Argument::Array(numbers, _) | Argument::Fields(numbers) => numbers.len(),
            Argument::FloatsMut(numbers) | Argument::ArrayMut(numbers, _) => numbers.len(),
            Argument::Floats32(numbers) | Argument::Array32(numbers, _) => numbers.len(),
            Argument::Floats32Mut(numbers) | Argument::Array32Mut(numbers, _) => numbers.len(),
            Argument::Integers(numbers) => numbers.len(),
            Argument::Zeros(dims) => dims.iter().fold(1, |count, size| size.saturating_mul(count)),
            Argument::Nothing => 0,
        }
    }

    /// The array that the caller lends.
    pub(crate) fn lent(&mut self) -> Option<Lent<'a>> {
        let (length, dims) = (self.numbers(), self.dimensions());
        let (start, may_change) = match self {
            Argument::Floats(numbers) | Argument::Array(numbers, _) => (numbers.as_ptr() as u64, false),
            Argument::Floats32(numbers) | Argument::Array32(numbers, _) => (numbers.as_ptr() as u64, false),
            Argument::Integers(numbers) => (numbers.as_ptr() as u64, false),
            Argument::FloatsMut(numbers) | Argument::ArrayMut(numbers, _) => (numbers.as_mut_ptr() as u64, true),
            Argument::Floats32Mut(numbers) | Argument::Array32Mut(numbers, _) => (numbers.as_mut_ptr() as u64, true),
            _ => return None,
        };
        Some(Lent { start, length, dims, may_change })
    }

    /// Whether it can be passed for a parameter.
    pub(crate) fn fits(&self, layout: &Layout) -> bool {
        if let Some(ty) = self.scalar_type() {
            return layout.scalar() == Some(ty);
        }
        match self {
            Argument::Fields(numbers) => {
                matches!(layout.shape, Shape::Fields(_) | Shape::Record(..)) && floats_in(layout) == Some(numbers.len())
            }
            Argument::Nothing => matches!(layout.shape, Shape::Unit) || layout.parts.is_empty(),
            Argument::Zeros(dims) => {
                let is_float = matches!(element_of(layout), Some(ScalarType::Float64 | ScalarType::Float32));
                is_float && has_rank(layout, dims.len()) && elements(dims).is_some()
            }
            array => {
                let dims = array.dimensions();
                element_of(layout) == array.element()
                    && has_rank(layout, dims.map_or(1, <[_]>::len))
                    && dims.is_none_or(|dims| elements(dims) == Some(array.numbers()))
            }
        }
    }
}

fn has_rank(layout: &Layout, expected: usize) -> bool {
    matches!(layout.shape, Shape::Array(_, rank) if rank as usize == expected)
}

/// What it is, for an error: `a Vector{Float64}`.
impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_dimensions = |dims: &[usize], element: ScalarType| Type::array(Type::Scalar(element), dims.len() as u32);
        match (self, self.element()) {
            (Argument::Scalar(scalar), _) => write!(f, "a number of type {}", scalar.scalar_type()),
            (Argument::Fields(numbers), _) => {
                write!(f, "{} of type {}", counted(numbers.len(), "field"), Type::FLOAT64)
            }
            (Argument::Zeros(dims), _) => match elements(dims) {
                Some(_) => f.write_str(&of_dimensions(dims, ScalarType::Float64).with_article()),
                None => write!(f, "more zeros than any memory holds, of dimensions {dims:?}"),
            },
            (array, Some(element)) => {
                let Some(dims) = array.dimensions() else {
                    return f.write_str(&Type::array(Type::Scalar(element), 1).with_article());
                };
                let (ty, numbers) = (of_dimensions(dims, element).with_article(), array.numbers());
                match elements(dims) == Some(numbers) {
                    true => f.write_str(&ty),
                    false => write!(f, "{numbers} numbers for {ty} of dimensions {dims:?}"),
                }
            }
            (number, None) => match number.scalar_type() {
                Some(ty) => f.write_str(&Type::Scalar(ty).with_article()),
                None => write!(f, "nothing"),
            },
        }
    }
}

/// The number of elements of an array of these dimensions, if there can be so many.
pub(crate) fn elements(dims: &[usize]) -> Option<usize> {
    let count = dims.iter().try_fold(1_usize, |count, size| count.checked_mul(*size))?;
    count.checked_mul(8).map(|_| count)
}
