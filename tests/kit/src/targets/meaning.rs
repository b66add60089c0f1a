//! Law 6 for every pass alone, and for random sequences of them, on programs that compute with numbers, change memory,
//! throw and print, or ask of which types their values are; with the types of statements and without.

use arbitrary::{Result, Unstructured};
use bbcode::BBCode;
use exec::Value;
use ircode::{IRCode, Module};
use passes::reverse_mode::linear_maps;
use passes::{PASSES, Pass, PassManager, forward_mode, linearization, reverse_mode};

use super::LIMITS;
use crate::dynamic::dynamic;
use crate::laws::{Checked, keeps_meaning};
use crate::memory::memory;
use crate::numeric::numeric;
use crate::untyped::without_types;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    made(&mut Unstructured::new(data)).unwrap_or(Ok(()))
}

fn made(u: &mut Unstructured<'_>) -> Result<Checked> {
    let derivatives = [forward_mode::NAME, linearization::NAME, reverse_mode::NAME, linear_maps::NAME];
    let on_functions: Vec<&'static Pass> =
        PASSES.iter().filter(|pass| pass.is_exact && !derivatives.contains(&pass.name)).collect();
    let sequence: Vec<&'static Pass> =
        (0..u.int_in_range(0..=6)?).map(|_| u.choose(&on_functions).copied()).collect::<Result<_>>()?;
    let forgets = u.ratio(1, 3)?;
    let typed = |module: Module<IRCode>| if forgets { without_types(&module) } else { module };
    Ok(match u.int_in_range(0..=3)? {
        0 => {
            let program = numeric(u)?;
            keep_meaning(&typed(program.module), &|| program.args.clone(), &on_functions, &sequence)
        }
        1 => {
            let program = dynamic(u)?;
            keep_meaning(&typed(program.module), &|| program.args.clone(), &on_functions, &sequence)
        }
        _ => {
            let program = memory(u)?;
            keep_meaning(&typed(program.module.clone()), &|| program.args(), &on_functions, &sequence)
        }
    })
}

/// Each pass keeps the meaning of `f`, and so do they in this sequence.
fn keep_meaning(
    module: &Module<IRCode>,
    args: &dyn Fn() -> Vec<Value>,
    alone: &[&'static Pass],
    sequence: &[&'static Pass],
) -> Checked {
    for passes in alone.iter().map(std::slice::from_ref).chain([sequence]) {
        let run =
            |module: &mut Module<BBCode>| PassManager::new(passes.iter().copied()).verify_each(true).run(module, None);
        keeps_meaning(module, "f", args, LIMITS, &run).map_err(|broken| {
            let names = passes.iter().map(|pass| pass.name).collect::<Vec<_>>().join(",");
            let commands = ["run - ARGS".into(), format!("opt - --passes {names} --verify-each")];
            broken.after(&names).on(module, &args(), &commands)
        })?;
    }
    Ok(())
}
