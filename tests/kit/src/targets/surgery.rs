//! Law 4 and the verbs: random scripts of surgery against a naive model, on programs that compute.

use arbitrary::{Result, Unstructured};
use exec::Value;
use ircode::{IRCode, Module};

use super::LIMITS;
use crate::laws::{Checked, broken};
use crate::memory::memory;
use crate::numeric::numeric;
use crate::surgery::{Verbs, callee, surgery_is_right};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    made(&mut Unstructured::new(data)).unwrap_or(Ok(()))
}

fn made(u: &mut Unstructured<'_>) -> Result<Checked> {
    match u.ratio(1, 2)? {
        true => {
            let program = numeric(u)?;
            operate(u, &program.module, &|| program.args.clone())
        }
        false => {
            let program = memory(u)?;
            operate(u, &program.module, &|| program.args())
        }
    }
}

fn operate(u: &mut Unstructured<'_>, module: &Module<IRCode>, args: &dyn Fn() -> Vec<Value>) -> Result<Checked> {
    let mut module = module.clone();
    match callee() {
        // A program has no function of this name.
        Ok(callee) => drop(module.add_function(callee)),
        Err(error) => return Ok(Err(broken("surgery", error))),
    }
    match bbkit::to_bbcode(&module) {
        Ok(module) => surgery_is_right(u, &module, args, LIMITS, &Verbs::default()),
        Err(error) => Ok(Err(broken("surgery", error))),
    }
}
