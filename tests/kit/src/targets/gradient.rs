//! Law 6 for derivatives, against differences and against dual numbers, on programs that compute with numbers, some of
//! several functions that call each other.

use arbitrary::{Result, Unstructured};
use bbcode::BBCode;
use ircode::Module;
use passes::reverse_mode::differentiate;

use super::LIMITS;
use crate::laws::{Checked, gradient_is_dual, gradient_is_right};
use crate::numeric::{Options, Program, numeric_with};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    let derive = |module: &mut Module<BBCode>| differentiate(module, &"f".into());
    gradient_is_dual(&program.module, "f", &program.args, LIMITS, &derive)
        .and_then(|()| gradient_is_right(&program.module, "f", &program.args, LIMITS, &derive))
        .map_err(|broken| broken.on(&program.module, &program.args, &["grad - ARGS --check".into()]))
}

fn made(u: &mut Unstructured<'_>) -> Result<Program> {
    let calls = u.ratio(1, 2)?;
    numeric_with(u, Options { calls })
}
