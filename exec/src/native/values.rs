//! How values are made, compared and taken apart in machine code, but for arrays and numbers: aggregates, cells,
//! unions, and what is known when code is compiled.

pub(super) mod addresses;
mod aggregates;
pub(super) mod cells;
pub(super) mod constants;
pub(super) mod globals;
mod placeholders;
pub(super) mod unions;
