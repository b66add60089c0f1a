//! Functions themselves.

use std::fmt;

use exec::native::{Effort, NotCompiled, Numbers, Program};

use super::arguments::{Arguments, list};
use super::builder::{Builder, private};
use super::signature::Signature;
use super::{CallError, CompileError, pipeline};

/// A function as machine code.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function halved(v::Vector{Float64}, at::Int64)::Float64
/// 1 ─ %1 = Base.getindex(v, at)::Float64
/// │   %2 = Base.mul_float(%1, 0.5)::Float64
/// │        Base.setindex!(v, %2, at)::Vector{Float64}
/// └──      return %2
/// end
/// ")?.module;
/// let halved = module.primal("halved").compile()?;
/// let mut v = [1.0, 3.0];
/// assert_eq!(halved.call((&mut v, 2))?.float(0), Some(1.5));
/// assert_eq!(v, [1.0, 1.5]);
/// // A slice that is not to be changed is copied for a function that changes it.
/// assert_eq!(halved.call((&v, 2))?.float(0), Some(0.75));
/// assert_eq!(v, [1.0, 1.5]);
/// assert!(halved.call((&v, 3)).unwrap_err().to_string().contains("BoundsError"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Function {
    signature: Signature,
    program: Program,
}

/// Which function; not its code.
impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("function", &self.signature.function).finish_non_exhaustive()
    }
}

impl private::Make for Function {
    fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError> {
        let (mut module, signature) = builder.prepared()?;
        pipeline::primal(&mut module, &signature.function)?;
        if builder.settings.effort == Effort::Full {
            pipeline::jammed(&mut module)?;
        }
        Ok(Function { program: builder.program(module, &[&signature.function], &signature)?, signature })
    }
}

impl Function {
    /// Calls it. What it prints goes nowhere. The result must consist of numbers, or is left out; the fields of tuples
    /// and structs come one after the other. An array is given by [`call_array`](Self::call_array).
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call<'a>(&self, args: impl Arguments<'a>) -> Result<Numbers, CallError> {
        Ok(self.program.call_in_place(0, &mut list(args))?)
    }

    /// Calls a function that returns an array of `Float64` or `Float32`, and gives its elements in memory order, the
    /// first dimension running fastest.
    ///
    /// ```
    /// use bbkit::Differentiate;
    /// use bbkit::ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function ends(v::Vector{Float64}, n::Int64)::Vector{Float64}
    /// 1 ─ %1 = BBKit.new_array(Float64, 2)::Vector{Float64}
    /// │   %2 = Base.getindex(v, 1)::Float64
    /// │        Base.setindex!(%1, %2, 1)::Vector{Float64}
    /// │   %4 = Base.getindex(v, n)::Float64
    /// │        Base.setindex!(%1, %4, 2)::Vector{Float64}
    /// └──      return %1
    /// end
    /// ")?.module;
    /// let ends = module.primal("ends").compile()?;
    /// assert_eq!(ends.call_array((&[1.0, 2.0, 5.0], 3))?, [1.0, 5.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallError`]; without a call, if the function returns something else.
    pub fn call_array<'a>(&self, args: impl Arguments<'a>) -> Result<Vec<f64>, CallError> {
        Ok(self.program.call_array_in_place(0, &mut list(args))?)
    }

    /// The statements that the interpreter helps with, which take longer.
    pub fn helped(&self) -> Vec<NotCompiled> {
        self.program.helped()
    }

    /// The bytes that calls have taken for objects, at most.
    pub fn most_memory(&self) -> usize {
        self.program.most_memory()
    }
}
