//! Law 6 for derivatives of both modes, against differences and against dual numbers, on programs that compute with
//! numbers, some of several functions that call each other.

use arbitrary::{Result, Unstructured};
use bbcode::BBCode;
use ircode::Module;
use passes::forward_mode;
use passes::reverse_mode::differentiate;

use super::LIMITS;
use crate::laws::{Checked, gradient_is_dual, gradient_is_right, tangents_are_dual};
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
        .map_err(|broken| broken.on(&program.module, &program.args, &["grad - ARGS --check".into()]))?;
    let derive = |module: &mut Module<BBCode>, directions: usize| {
        forward_mode::differentiate(module, &"f".into(), &forward_mode::Options { with_respect_to: None, directions })
    };
    tangents_are_dual(&program.module, "f", &program.args, LIMITS, &derive)
        .map_err(|broken| broken.on(&program.module, &program.args, &["opt - --passes forward-mode --fn f".into()]))
}

fn made(u: &mut Unstructured<'_>) -> Result<Program> {
    let calls = u.ratio(1, 2)?;
    numeric_with(u, Options { calls })
}
