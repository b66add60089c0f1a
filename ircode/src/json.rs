//! The JSON form: versioned, exact for every float and every integer. The schema is in `schema/bbkit.schema.json`.

mod constant;
mod module;

pub use module::{Dump, IRCodeForm, JsonError, VERSION, from_json, representation, to_json};
