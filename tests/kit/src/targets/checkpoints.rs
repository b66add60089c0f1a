//! Law 6 for checkpointing: the derivative is the same with it, of programs that compute with numbers and of programs
//! that keep floats in memory.

use arbitrary::Unstructured;

use super::LIMITS;
use super::carriers::made;
use crate::checkpoints::checkpointing_agrees;
use crate::laws::Checked;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok((module, args)) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    match checkpointing_agrees(&module, "f", &args, LIMITS, &|_, _| {}) {
        Ok(_) => Ok(()),
        Err(broken) => Err(broken.on(&module, &args(), &["grad - ARGS --check --checkpoint".into()])),
    }
}
