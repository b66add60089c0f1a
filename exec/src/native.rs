//! Native code: functions of IRCode compiled with Cranelift, beside the interpreter and with the same results to the
//! last bit.
//!
//! What Julia infers types for runs as machine code: numbers in registers, tuples and structs taken apart, arrays
//! checked at each access. What has no native form — strings, values of type `Any`, classes — is an interpreter's value
//! that the code names by number, and the interpreter's primitives work on it. What cannot be compiled at all is
//! refused, with the statement and the reason; the interpreter runs it.
//!
//! Every failure of a run is the error that the interpreter gives: exceptions, bounds, recursion too deep, memory. Only
//! the number of statements is not counted.

mod arrays;
mod compiler;
mod effort;
mod function;
mod layout;
mod loops;
mod program;
mod runtime;
mod scalars;
mod values;

pub use effort::Effort;
pub use program::{Argument, CallError, Float, NotCompiled, Numbers, Pending, Program};
