//! What can be passed to compiled functions, and what they write their derivatives to.

use exec::native::Argument;
use ircode::{Scalar, ScalarType};
use smallvec::SmallVec;

/// Arguments as they are passed to native code. So many need no memory of their own: eight with their shadows and the
/// cotangent, and the tangents of all of these.
pub(super) type List<'a> = SmallVec<[Argument<'a>; 34]>;

/// Places for derivatives.
pub(super) type Places<'a> = SmallVec<[Output<'a>; 8]>;

/// An argument: a number, a slice, or whatever else an [`Argument`] is.
///
/// A `&[f64]` is a vector that stays as it is: a function that changes it works on a copy. A `&mut [f64]` is one that
/// the caller sees changed. A `Float32` is an `f32`. An array of two or three dimensions is an [`Argument::Array`], and
/// a tuple of floats an [`Argument::Fields`]. Numbers of other types are [`Scalar`]s: were there `i32` and others here,
/// a literal would not be an `Int64`.
pub trait IntoArgument<'a> {
    /// The argument.
    fn into_argument(self) -> Argument<'a>;
}

impl<'a> IntoArgument<'a> for Argument<'a> {
    fn into_argument(self) -> Argument<'a> {
        self
    }
}

/// The whole list of arguments of a call: one alone, or several as a tuple, an array or a vector of [`Argument`]s.
///
/// ```
/// use bbkit::compiled::{Argument, Arguments};
///
/// let v = vec![1.0, 2.0];
/// assert_eq!((&v, 1.5, 3).count(), 3);
/// assert_eq!((&v).count(), 1);
/// assert_eq!([Argument::Floats(&v), Argument::Array(&v, &[2, 1])].count(), 2);
/// ```
pub trait Arguments<'a>: Sized {
    /// Gives the arguments one after the other.
    fn each(self, take: &mut dyn FnMut(Argument<'a>));

    /// How many there are.
    fn count(self) -> usize {
        let mut count = 0;
        self.each(&mut |_| count += 1);
        count
    }
}

pub(super) fn list<'l, 'a: 'l>(arguments: impl Arguments<'a>) -> List<'l> {
    let mut list = List::new();
    arguments.each(&mut |argument| list.push(argument));
    list
}

/// Each of these can stand alone.
macro_rules! arguments {
    ($([$($generics:tt)*] $ty:ty, $value:ident => $argument:expr;)*) => {$(
        impl<'a, $($generics)*> IntoArgument<'a> for $ty {
            fn into_argument(self) -> Argument<'a> {
                let $value = self;
                $argument
            }
        }

        impl<'a, $($generics)*> Arguments<'a> for $ty {
            fn each(self, take: &mut dyn FnMut(Argument<'a>)) {
                take(self.into_argument());
            }
        }
    )*};
}

arguments! {
    [] f64, value => Argument::Float64(value);
    [] i64, value => Argument::Int64(value);
    [] bool, value => Argument::Bool(value);
    [] f32, value => Argument::Scalar(Scalar::Float32(value));
    [] char, value => Argument::Scalar(Scalar::from_char(value));
    [] Scalar, value => Argument::Scalar(value);
    [] &'a [f64], value => Argument::Floats(value);
    [] &'a Vec<f64>, value => Argument::Floats(value);
    [const N: usize] &'a [f64; N], value => Argument::Floats(value);
    [] &'a mut [f64], value => Argument::FloatsMut(value);
    [] &'a mut Vec<f64>, value => Argument::FloatsMut(value);
    [const N: usize] &'a mut [f64; N], value => Argument::FloatsMut(value);
    [] &'a [f32], value => Argument::Floats32(value);
    [] &'a Vec<f32>, value => Argument::Floats32(value);
    [const N: usize] &'a [f32; N], value => Argument::Floats32(value);
    [] &'a mut [f32], value => Argument::Floats32Mut(value);
    [] &'a mut Vec<f32>, value => Argument::Floats32Mut(value);
    [const N: usize] &'a mut [f32; N], value => Argument::Floats32Mut(value);
    [] &'a [i64], value => Argument::Integers(value);
    [] &'a Vec<i64>, value => Argument::Integers(value);
    [const N: usize] &'a [i64; N], value => Argument::Integers(value);
}

impl<'a> Arguments<'a> for Argument<'a> {
    fn each(self, take: &mut dyn FnMut(Argument<'a>)) {
        take(self);
    }
}

impl<'a> Arguments<'a> for Vec<Argument<'a>> {
    fn each(self, take: &mut dyn FnMut(Argument<'a>)) {
        self.into_iter().for_each(take);
    }
}

impl<'a, const N: usize> Arguments<'a> for [Argument<'a>; N] {
    fn each(self, take: &mut dyn FnMut(Argument<'a>)) {
        self.into_iter().for_each(take);
    }
}

impl<'a> Arguments<'a> for () {
    fn each(self, _: &mut dyn FnMut(Argument<'a>)) {}
}

/// Where a derivative is written to.
#[derive(Debug)]
pub enum Output<'a> {
    /// That of a `Float64`.
    Number(&'a mut f64),
    /// That of an array of `Float64`, its first dimension running fastest, or of a tuple of them, in the order of its
    /// fields.
    Numbers(&'a mut [f64]),
    /// That of a `Float32`.
    Number32(&'a mut f32),
    /// That of an array of `Float32`.
    Numbers32(&'a mut [f32]),
}

/// The numbers of a place.
pub(super) enum Place<'p> {
    Float64(&'p mut [f64]),
    Float32(&'p mut [f32]),
}

impl Output<'_> {
    /// The numbers, to be written.
    pub(super) fn numbers(&mut self) -> Place<'_> {
        match self {
            Output::Number(number) => Place::Float64(std::slice::from_mut(number)),
            Output::Numbers(numbers) => Place::Float64(numbers),
            Output::Number32(number) => Place::Float32(std::slice::from_mut(number)),
            Output::Numbers32(numbers) => Place::Float32(numbers),
        }
    }
}

impl<'p> Place<'p> {
    pub(super) fn len(&self) -> usize {
        match self {
            Place::Float64(numbers) => numbers.len(),
            Place::Float32(numbers) => numbers.len(),
        }
    }

    /// The type of the numbers.
    pub(super) fn ty(&self) -> ScalarType {
        match self {
            Place::Float64(_) => ScalarType::Float64,
            Place::Float32(_) => ScalarType::Float32,
        }
    }

    /// Writes a number, rounded if it does not fit, unless there are not so many.
    pub(super) fn put(&mut self, at: usize, number: f64) {
        match self {
            Place::Float64(numbers) => numbers.get_mut(at).into_iter().for_each(|place| *place = number),
            Place::Float32(numbers) => numbers.get_mut(at).into_iter().for_each(|place| *place = number as f32),
        }
    }

    /// The place full of zeros, as an array of these dimensions, or as a vector.
    pub(super) fn zeros(self, dims: Option<&'p [usize]>) -> Argument<'p> {
        match self {
            Place::Float64(numbers) => {
                numbers.fill(0.0);
                match dims {
                    Some(dims) => Argument::ArrayMut(numbers, dims),
                    None => Argument::FloatsMut(numbers),
                }
            }
            Place::Float32(numbers) => {
                numbers.fill(0.0);
                match dims {
                    Some(dims) => Argument::Array32Mut(numbers, dims),
                    None => Argument::Floats32Mut(numbers),
                }
            }
        }
    }
}

/// A place for a derivative: `&mut f64` or `&mut f32`, or a slice.
pub trait IntoOutput<'a> {
    /// The place.
    fn into_output(self) -> Output<'a>;
}

impl<'a> IntoOutput<'a> for Output<'a> {
    fn into_output(self) -> Output<'a> {
        self
    }
}

/// The places for all derivatives of a call: one alone, or several as a tuple, an array or a vector of [`Output`]s.
pub trait Outputs<'a>: Sized {
    /// Gives the places one after the other.
    fn each(self, take: &mut dyn FnMut(Output<'a>));
}

pub(super) fn places<'a>(outputs: impl Outputs<'a>) -> Places<'a> {
    let mut places = Places::new();
    outputs.each(&mut |output| places.push(output));
    places
}

/// Each of these can stand alone.
macro_rules! outputs {
    ($([$($generics:tt)*] $ty:ty, $value:ident => $output:expr;)*) => {$(
        impl<'a, $($generics)*> IntoOutput<'a> for $ty {
            fn into_output(self) -> Output<'a> {
                let $value = self;
                $output
            }
        }

        impl<'a, $($generics)*> Outputs<'a> for $ty {
            fn each(self, take: &mut dyn FnMut(Output<'a>)) {
                take(self.into_output());
            }
        }
    )*};
}

outputs! {
    [] &'a mut f64, value => Output::Number(value);
    [] &'a mut [f64], value => Output::Numbers(value);
    [] &'a mut Vec<f64>, value => Output::Numbers(value);
    [const N: usize] &'a mut [f64; N], value => Output::Numbers(value);
    [] &'a mut f32, value => Output::Number32(value);
    [] &'a mut [f32], value => Output::Numbers32(value);
    [] &'a mut Vec<f32>, value => Output::Numbers32(value);
    [const N: usize] &'a mut [f32; N], value => Output::Numbers32(value);
}

impl<'a> Outputs<'a> for Output<'a> {
    fn each(self, take: &mut dyn FnMut(Output<'a>)) {
        take(self);
    }
}

impl<'a> Outputs<'a> for Vec<Output<'a>> {
    fn each(self, take: &mut dyn FnMut(Output<'a>)) {
        self.into_iter().for_each(take);
    }
}

impl<'a, const N: usize> Outputs<'a> for [Output<'a>; N] {
    fn each(self, take: &mut dyn FnMut(Output<'a>)) {
        self.into_iter().for_each(take);
    }
}

impl<'a> Outputs<'a> for () {
    fn each(self, _: &mut dyn FnMut(Output<'a>)) {}
}

/// Tuples of what can stand alone.
macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        #[allow(non_snake_case, reason = "the names of types are those of the elements")]
        impl<'a, $($name: IntoArgument<'a>),+> Arguments<'a> for ($($name,)+) {
            fn each(self, take: &mut dyn FnMut(Argument<'a>)) {
                let ($($name,)+) = self;
                $(take($name.into_argument());)+
            }
        }

        #[allow(non_snake_case, reason = "the names of types are those of the elements")]
        impl<'a, $($name: IntoOutput<'a>),+> Outputs<'a> for ($($name,)+) {
            fn each(self, take: &mut dyn FnMut(Output<'a>)) {
                let ($($name,)+) = self;
                $(take($name.into_output());)+
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
