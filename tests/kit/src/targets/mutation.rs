//! Law 5 on code that was valid before it was changed anyhow, in both representations: whatever the verifier accepts,
//! everything else survives; on anything else it answers with errors.

use arbitrary::{Result, Unstructured};
use exec::Value;
use ircode::Function;

use super::{LIMITS, pipeline, safety_commands};
use crate::anything::{anything, anything_bbcode};
use crate::laws::{Checked, Downstream, bbcode_is_safe, is_safe};
use crate::mutation::{mutate, mutate_bbcode};
use crate::numeric::numeric;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    changed(&mut Unstructured::new(data)).unwrap_or(Ok(()))
}

fn changed(u: &mut Unstructured<'_>) -> Result<Checked> {
    let pipeline = pipeline(u)?;
    Ok(match u.int_in_range(0..=3)? {
        0 => {
            let program = numeric(u)?;
            let Some(function) = program.module.functions().first() else { return Ok(Ok(())) };
            let mut function = function.clone();
            mutate(u, &mut function)?;
            is_safe(&function, &program.args, LIMITS, Downstream::default(), &pipeline)
                .map_err(|broken| broken.on_function(&function, &program.args, &safety_commands(&pipeline)))
        }
        1 => {
            let mut function = anything(u)?;
            mutate(u, &mut function)?;
            let args = arguments(&function);
            is_safe(&function, &args, LIMITS, Downstream::default(), &pipeline)
                .map_err(|broken| broken.on_function(&function, &args, &safety_commands(&pipeline)))
        }
        which => {
            let (mut function, args) = match which {
                2 => {
                    let function = anything_bbcode(u)?;
                    let args = arguments(&function);
                    (function, args)
                }
                _ => {
                    let program = numeric(u)?;
                    let Some(function) = program.bbcode.functions().first() else { return Ok(Ok(())) };
                    (function.clone(), program.args)
                }
            };
            mutate_bbcode(u, &mut function.body)?;
            bbcode_is_safe(&function, &args, LIMITS, passes::PASSES, &pipeline)
        }
    })
}

fn arguments<F>(function: &Function<F>) -> Vec<Value> {
    function.parameters.iter().map(|_| Value::from(1.0)).collect()
}
