//! Random scripts of insertions and replacements, compacted, against a naive model.

use arbitrary::Unstructured;
use ircode::IRCode;

use crate::compaction::compaction_is_right;
use crate::laws::Checked;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    compaction_is_right(&mut Unstructured::new(data), &IRCode::compact).unwrap_or(Ok(()))
}
