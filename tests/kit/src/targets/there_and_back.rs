//! Laws 1 to 3 on functions of every statement kind.

use arbitrary::Unstructured;

use crate::anything::{anything, anything_bbcode};
use crate::laws::{Checked, comes_back, round_trips};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let mut u = Unstructured::new(data);
    if u.ratio(1, 3).unwrap_or(false) {
        return anything_bbcode(&mut u).map_or(Ok(()), |function| comes_back(&function, &bbkit::Ways::default()));
    }
    match anything(&mut u) {
        Ok(function) if function.body.verify().is_ok() => round_trips(&function, &bbkit::Ways::default())
            .map_err(|broken| broken.on_function(&function, &[], &["roundtrip -".into()])),
        _ => Ok(()),
    }
}
