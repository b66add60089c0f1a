//! Law 6 for the carriers of reverse mode: the derivative is the same on stacks and with linear maps, specialised or
//! not, of programs that compute with numbers and of programs that keep floats in memory.

use arbitrary::{Result, Unstructured};
use exec::Value;
use ircode::{IRCode, Module};

use super::LIMITS;
use crate::carriers::{carriers_agree, specialized};
use crate::laws::Checked;
use crate::mutation_programs::mutation_program;
use crate::numeric::{Options, numeric_with};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok((module, args)) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    carriers_agree(&module, "f", &args, LIMITS, &|_, _| {})
        .and_then(|()| carriers_agree(&module, "f", &args, LIMITS, &specialized))
        .map_err(|broken| broken.on(&module, &args(), &["grad - ARGS --check --carrier linear-maps".into()]))
}

/// Makes the arguments anew for each run.
pub(super) type Args = Box<dyn Fn() -> Vec<Value>>;

pub(super) fn made(u: &mut Unstructured<'_>) -> Result<(Module<IRCode>, Args)> {
    if u.ratio(1, 2)? {
        let calls = u.ratio(1, 2)?;
        let program = numeric_with(u, Options { calls })?;
        return Ok((program.module, Box::new(move || program.args.clone())));
    }
    let program = mutation_program(u)?;
    Ok((program.module.clone(), Box::new(move || program.args())))
}
