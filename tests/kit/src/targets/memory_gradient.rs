//! Law 6 for derivatives through memory: reverse mode, forward mode and differences agree, and what was changed is as
//! it was, on programs that keep floats in arrays, references, structs and tuples.

use arbitrary::Unstructured;

use super::LIMITS;
use crate::laws::Checked;
use crate::memory_gradient::memory_gradient_is_right;
use crate::mutation_programs::mutation_program;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = mutation_program(&mut Unstructured::new(data)) else { return Ok(()) };
    memory_gradient_is_right(&program.module, "f", &|| program.args(), LIMITS, &|_, _| {})
        .map_err(|broken| broken.on(&program.module, &program.args(), &["grad - ARGS --check".into()]))
}
