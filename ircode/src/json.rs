//! The JSON form: versioned, exact for every float and every integer. The schema is in `schema/bbkit.schema.json`.

mod constant;
mod declaration;
mod module;
mod reader;
pub(crate) mod sharing;
mod writer;

pub use module::{Dump, IRCodeForm, JsonError, VERSION, from_json, to_json};
pub use reader::DumpReader;
pub use writer::DumpWriter;
