//! What passes ask of functions before they change them.

pub(crate) mod argument_types;
pub(crate) mod boxes;
pub(crate) mod changed_globals;
mod changes;
pub(crate) mod changing_rules;
pub(crate) mod cheap;
pub(crate) mod disjoint_sets;
pub mod effects;
pub(crate) mod failing;
pub(crate) mod local_arrays;
pub(crate) mod loop_ranges;
pub(crate) mod method_choice;
pub(crate) mod slots;
