//! Law 6 for linearization: the differential is what forward mode computes at once, linear, and the transpose of the
//! pullback, of programs that compute with numbers and of programs that keep floats in memory.

use arbitrary::Unstructured;

use super::LIMITS;
use super::carriers::made;
use crate::laws::Checked;
use crate::linearization::linearization_is_right;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok((module, args)) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    linearization_is_right(&module, "f", &args, LIMITS).map_err(|broken| {
        broken.on(
            &module,
            &args(),
            &["opt - --passes linearization --verify-each".into(), "grad - ARGS --check".into()],
        )
    })
}
