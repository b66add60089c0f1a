//! Law 7: the same program comes out of the same passes, derivatives among them, with the same bytes, in text and in
//! JSON.

use arbitrary::{Result, Unstructured};
use ircode::{Style, print_module, to_json};
use passes::{PASSES, Pass, PassManager};

use crate::dynamic::dynamic;
use crate::laws::{Checked, is_deterministic};
use crate::memory::memory;
use crate::mutation_programs::mutation_program;
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
    let passes: Vec<&'static Pass> = (0..u.int_in_range(1..=4)?)
        .map(|_| u.choose(&PASSES.iter().collect::<Vec<_>>()).copied())
        .collect::<Result<_>>()?;
    let module = match u.int_in_range(0..=4)? {
        0 => numeric(u)?.module,
        1 => dynamic(u)?.module,
        2 => memory(u)?.module,
        3 => without_types(&memory(u)?.module),
        _ => mutation_program(u)?.module,
    };
    Ok(is_deterministic(&|| {
        let Ok(mut changed) = bbkit::to_bbcode(&module) else { return String::new() };
        // What fails leaves the module as it then is.
        let done = PassManager::new(passes.iter().copied()).run(&mut changed, None);
        let module = match bbkit::to_ircode(&changed) {
            Ok(module) => print_module(&module, Style::Bbkit) + &to_json(&module).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        format!("{done:?}\n{module}")
    }))
}
