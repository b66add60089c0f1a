//! Law 7: the same program gives the same derivative, in text and in JSON.

use arbitrary::Unstructured;
use ircode::{Style, print_module, to_json};
use passes::reverse_mode::differentiate;

use crate::laws::{Checked, is_deterministic};
use crate::numeric::numeric;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    is_deterministic(&|| {
        let derived = bbkit::to_bbcode(&program.module).map(|mut module| {
            // One that cannot be differentiated is as it was.
            let _ = differentiate(&mut module, &"f".into());
            module
        });
        match derived.and_then(|module| bbkit::to_ircode(&module)) {
            Ok(module) => print_module(&module, Style::Bbkit) + &to_json(&module).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    })
}
