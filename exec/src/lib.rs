#![doc = include_str!("../README.md")]

mod builtins;
mod compact;
mod constants;
mod copies;
mod display;
mod egal;
mod error;
mod exceptions;
mod floats;
mod globals;
mod host;
mod json;
mod limits;
mod machine;
#[cfg(feature = "native")]
pub mod native;
mod object;
mod phi_edges;
mod prepare;
mod sharing;
mod shown_objects;
mod statistics;
mod value;
mod walk;

pub use error::{Exception, Place, RunError, RunErrorKind};
pub use host::{HostError, Objects};
pub use json::{ValueError, value_to_json};
pub use limits::Limits;
pub use machine::Machine;
pub use sharing::{first_shared_tangent, share_objects};
pub use statistics::{Allocations, Statistics};
pub use value::Value;
pub use value::{
    ArrayRef, ClosureRef, DifferentiableFunctionRef, EnumRef, MemoryRef, NamedTupleRef, PlaceRef, SlotRef, StackRef,
    StructRef, TupleRef,
};
pub use walk::{
    check_tangent, first_difference, float_place, float_places, holds_closures, holds_objects, tangent_floats,
    value_floats,
};
// What values are written as.
pub use serde_json;
