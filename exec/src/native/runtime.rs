//! What machine code works with while it runs: its memory, the helpers that it calls, the processor's mode for floats.

pub(super) mod context;
pub(super) mod helpers;
pub(super) mod memory;
pub(super) mod subnormals;
