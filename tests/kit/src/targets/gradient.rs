//! Law 6 for derivatives, on programs that compute.

use arbitrary::Unstructured;
use passes::reverse_mode::differentiate;

use super::LIMITS;
use crate::laws::{Checked, gradient_is_right};
use crate::numeric::numeric;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    gradient_is_right(&program.module, "f", &program.args, LIMITS, &|module| differentiate(module, &"f".into()))
}
