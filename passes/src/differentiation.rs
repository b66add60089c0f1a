//! What reverse and forward mode have in common.

pub(crate) mod additions;
pub(crate) mod base_names;
pub(crate) mod bits;
pub(crate) mod checkpointed;
pub(crate) mod dispatch;
pub(crate) mod exceptions;
pub(crate) mod preparation;
pub(crate) mod refusals;
pub(crate) mod signatures;
pub(crate) mod with_respect_to;
pub(crate) mod witnesses;
