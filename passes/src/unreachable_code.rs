//! Removes blocks that the entry does not reach.

use bbcode::BBCode;

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "unreachable-code";

/// Removes every block that the entry does not reach, and what the φs and φᶜs of the others take from them. True if
/// there was one.
///
/// A φ that is left with one edge stays a φ.
pub fn run(bb: &mut BBCode, _: &Context<'_>) -> PassResult {
    Ok(bb.remove_unreachable_blocks())
}
