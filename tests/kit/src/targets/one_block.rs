//! The gradient of a function of one block, which is written as one function at once, is the one that its two passes
//! give.

use arbitrary::Unstructured;

use super::LIMITS;
use crate::laws::Checked;
use crate::one_block::{block_agrees, one_block};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(made) = one_block(&mut Unstructured::new(data)) else { return Ok(()) };
    block_agrees(&made, LIMITS, &|_, _| {})
}
