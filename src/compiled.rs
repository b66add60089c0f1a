//! Functions and their derivatives as machine code: objects that are made once and called on slices, again and again,
//! from any thread.
//!
//! [`Differentiate`] starts from a module: `module.gradient("f").wrt([0]).compile()?` gives a [`Gradient`]. What is
//! passed are numbers and slices, one of them alone or several as a tuple ([`Arguments`]); what a derivative is written
//! to are slices, and `&mut f64` for a number ([`Outputs`]). Slices are used where they lie, and from the third call on
//! no memory is asked of the system, but for exceptions, for what the [interpreter helps
//! with](Gradient::helped), and for more than eight arguments.
//!
//! What is differentiated, and with respect to what, are `Float64`s and `Float32`s here, arrays of them, and tuples of
//! `Float64`s; of results that are arrays or tuples there are pullbacks ([`Vjp`]) but no derivatives in a direction.
//! For all else there are [`gradient_with`](crate::gradient_with), [`jvp_with`](crate::jvp_with) and the like, which
//! take any value, and can have it run by machine code, too.
//!
//! Arguments are counted from 0 here. What is named is in the order in which it was named, else in that of the
//! arguments; arguments with respect to which nothing is differentiated have no place among tangents and gradients.

mod arguments;
mod builder;
mod function;
mod gradient;
mod hvp;
mod jvp;
pub mod pipeline;
mod signature;
mod tiered;
mod vjp;

use exec::RunError;
use exec::native::NotCompiled;
use ircode::wording::{by_name, with_article};
use ircode::{IRCode, Module, Name, Type};
use passes::PassError;

pub use self::arguments::{Arguments, IntoArgument, IntoOutput, Output, Outputs};
pub use self::builder::{Builder, ByReverseMode, Compilable, WithRespectTo};
pub use self::function::Function;
pub use self::gradient::Gradient;
pub use self::hvp::Hvp;
pub use self::jvp::Jvp;
pub use self::tiered::Tiered;
pub use self::vjp::{Pullback, Vjp};
pub use exec::native::{Argument, Effort, Numbers};

use crate::GradientError;

/// A module whose functions and their derivatives can be compiled.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function scaled(v::Vector{Float64}, by::Float64)::Float64
/// 1 ─ %1 = Base.getindex(v, 1)::Float64
/// │   %2 = Base.getindex(v, 2)::Float64
/// │   %3 = Base.mul_float(%1, %2)::Float64
/// │   %4 = Base.mul_float(%3, by)::Float64
/// └──      return %4
/// end
/// ")?.module;
/// let gradient = module.gradient("scaled").compile()?;
/// let (mut dv, mut dby) = ([0.0; 2], 0.0);
/// let value = gradient.call((&[2.0, 3.0], 10.0), (&mut dv, &mut dby))?;
/// assert_eq!((value, dv, dby), (60.0, [30.0, 20.0], 6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Differentiate {
    /// The function of this name itself.
    fn primal(&self, name: &str) -> Builder<'_, Function>;

    /// Its value and its gradient, by reverse-mode differentiation.
    fn gradient(&self, name: &str) -> Builder<'_, Gradient>;

    /// Its value and its derivative in a direction, by forward-mode differentiation.
    fn jvp(&self, name: &str) -> Builder<'_, Jvp>;

    /// Its value, and the [`Pullback`] that is called later with a cotangent of the value.
    fn vjp(&self, name: &str) -> Builder<'_, Vjp>;

    /// Its value, its gradient, and the product of its Hessian and a vector, by forward mode over reverse mode.
    fn hvp(&self, name: &str) -> Builder<'_, Hvp>;
}

impl Differentiate for Module<IRCode> {
    fn primal(&self, name: &str) -> Builder<'_, Function> {
        Builder::new(self, name)
    }

    fn gradient(&self, name: &str) -> Builder<'_, Gradient> {
        Builder::new(self, name)
    }

    fn jvp(&self, name: &str) -> Builder<'_, Jvp> {
        Builder::new(self, name)
    }

    fn vjp(&self, name: &str) -> Builder<'_, Vjp> {
        Builder::new(self, name)
    }

    fn hvp(&self, name: &str) -> Builder<'_, Hvp> {
        Builder::new(self, name)
    }
}

/// Why a derivative is not there as machine code.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// There is no function of this name.
    #[error("there is no function `{0}`")]
    NoSuchFunction(Name),
    /// The function cannot be differentiated.
    #[error(transparent)]
    Derivative(#[from] GradientError),
    /// The derivative has a statement that is not compiled. The interpreter can run it:
    /// [`gradient_with`](crate::gradient_with()).
    #[error(transparent)]
    NotCompiled(#[from] NotCompiled),
    /// The function is differentiated with respect to an argument of this number, counted from 0, that it does not
    /// have, that was named before, or that is of a type that has no derivative or is not passed in slices; or the
    /// function takes an argument there that nothing in [`Argument`](enum@Argument) can be passed for; or a type is
    /// given for an argument that it does not have or declares otherwise.
    #[error("argument {number}{} of `{function}` {problem}", by_name(.name))]
    Argument {
        /// The function.
        function: Name,
        /// The argument.
        number: usize,
        /// Its name, if it has one.
        name: Option<Name>,
        /// What about it.
        problem: String,
    },
    /// The result is not of a type of which this can be had.
    #[error("`{function}` returns {}, but what is compiled gives {expected}", with_article(.ty))]
    Result {
        /// The function.
        function: Name,
        /// What it returns.
        ty: Type,
        /// What it must return.
        expected: &'static str,
    },
}

impl From<PassError> for CompileError {
    fn from(error: PassError) -> Self {
        CompileError::Derivative(error.into())
    }
}

impl From<bbcode::ConversionError> for CompileError {
    fn from(error: bbcode::ConversionError) -> Self {
        CompileError::Derivative(error.into())
    }
}

/// Why a call gives no value. What was written to of the caller's memory until then is not defined.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The run failed as it would in the interpreter: an exception, an index out of bounds, a limit.
    #[error(transparent)]
    Run(RunError),
    /// An argument, its tangent, or what is written to, is not of the type that the function takes.
    #[error("{what} {argument}{} must be {expected}, but is {given}", by_name(.name))]
    Argument {
        /// `argument`, `the tangent of argument`, or `what is written to for argument`.
        what: &'static str,
        /// The argument, counted from 0.
        argument: usize,
        /// Its name, if it has one.
        name: Option<Name>,
        /// What it must be.
        expected: String,
        /// What was passed.
        given: String,
    },
    /// Native code cannot do this on memory of the caller.
    #[error("native code does not take {0}")]
    Refused(String),
    /// There are more or fewer tangents, gradients or numbers of a seed than there must be.
    #[error("{what}: {given}, but there must be {expected}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A slice is longer or shorter than the argument to which it belongs.
    #[error("{given} numbers for the {what} of argument {argument}{}, which has {expected}", by_name(.name))]
    Length {
        /// What the slice is.
        what: &'static str,
        /// The argument, counted from 0.
        argument: usize,
        /// Its name, if it has one.
        name: Option<Name>,
        /// The length of the slice.
        given: usize,
        /// The numbers in the argument.
        expected: usize,
    },
}

impl From<exec::native::CallError> for CallError {
    fn from(error: exec::native::CallError) -> Self {
        match error {
            exec::native::CallError::Run(error) | exec::native::CallError::OutOfMemory(error) => CallError::Run(error),
            exec::native::CallError::Argument { argument, name, expected, given } => {
                CallError::Argument { what: "argument", argument, name, expected: format!("of type {expected}"), given }
            }
            exec::native::CallError::Refused { what, trace } => {
                let place = trace.first().map(|place| format!(", in {place}"));
                CallError::Refused(what + &place.unwrap_or_default())
            }
            other => CallError::Refused(other.to_string()),
        }
    }
}
