//! Native code: functions of IRCode compiled with Cranelift, beside the interpreter and with the same results to the last
//! bit.
//!
//! What Julia infers types for runs as machine code: numbers in registers, tuples and structs taken apart, arrays checked
//! at each access. What has no native form — strings, values of type `Any`, classes — is an interpreter's value that the code names by number, and
//! the interpreter's primitives work on it. What cannot be compiled at all is refused, with the statement and the reason; the
//! interpreter runs it.
//!
//! Every failure of a run is the error that the interpreter gives: exceptions, bounds, recursion too deep, memory. Only the
//! number of statements is not counted.

mod addresses;
mod aggregates;
mod arrays;
mod call_graph;
mod calls;
mod cell_values;
mod cells;
mod code;
mod compiler;
mod constants;
mod context;
mod decided;
mod direct_calls;
mod effort;
mod endings;
mod escapes;
mod function;
mod globals;
mod handlers;
mod helpers;
mod in_place;
mod kept;
mod layout;
mod lifted;
mod loops;
mod marshal;
mod mathematics;
mod memory;
mod operations;
mod outlined;
mod overflow;
mod paths;
mod pending;
mod phis;
mod preserving;
mod program;
mod read_only;
mod recursion;
mod residents;
mod resized;
mod scalars;
mod scopes;
mod shadows;
mod sites;
mod slices;
mod stack;
mod stacks;
mod statement;
mod straight;
mod subnormals;
mod turns;
mod unions;
mod variables;
mod vector_ends;
mod vectors;
mod versions;

pub use effort::Effort;
pub use in_place::{Argument, Numbers};
pub use pending::Pending;
pub use program::{CallError, NotCompiled, Program};
