//! Law 6 for every pass on functions, on programs that compute.

use arbitrary::Unstructured;
use bbcode::BBCode;
use ircode::Module;
use passes::{PASSES, PassManager, Run};

use super::LIMITS;
use crate::laws::{Checked, keeps_meaning};
use crate::numeric::numeric;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    for pass in PASSES.iter().filter(|pass| matches!(pass.run, Run::Function(_))) {
        let run = |module: &mut Module<BBCode>| PassManager::new([pass]).run(module, None);
        keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &run)?;
    }
    Ok(())
}
