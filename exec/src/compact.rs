//! A compact form of code, in which the common statements run fast.
//!
//! It does what the general path of the machine does, or nothing: an instruction looks at what its operands are when it
//! runs, and where they are not what it was made for, control goes back to the general path, *before* the statement. So
//! types that a program claims need not be true, and errors, exceptions, calls and traces are the business of the
//! general path alone.

mod code;
mod moves;
mod run;
mod translate;
mod values;

pub(crate) use code::Compact;
pub(crate) use run::{Steps, run};
pub(crate) use translate::translate;
