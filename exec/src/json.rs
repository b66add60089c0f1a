//! Values in JSON: how arguments are given on the command line, and how results are printed for machines.

mod read;
mod tangent;
mod write;

pub use read::ValueError;
pub use write::value_to_json;
