//! Laws 1 to 3 on functions of every statement kind.

use arbitrary::Unstructured;

use crate::anything::anything;
use crate::laws::{Checked, round_trips};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    match anything(&mut Unstructured::new(data)) {
        Ok(function) if function.body.verify().is_ok() => round_trips(&function, &bbkit::Ways::default()),
        _ => Ok(()),
    }
}
