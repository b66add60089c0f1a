//! JSON of any kind, and dumps with a few bytes changed, are read or refused; what is read and valid obeys laws 1 to 3.

use bbcode::BBCode;
use ircode::{IRCode, from_json, to_json};

use super::read_text::{mutated, read_again};
use crate::laws::{Checked, broken};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let json = mutated(data, &|module| to_json(module).unwrap_or_default());
    let _ = from_json::<BBCode>(&json);
    let Ok(module) = from_json::<IRCode>(&json) else { return Ok(()) };
    read_again(&module, &bbkit::Ways::default())?;
    let again = from_json::<IRCode>(&to_json(&module).unwrap_or_default());
    match again {
        Ok(again) if again == module => Ok(()),
        _ => Err(broken("there and back", "JSON that was read is not read again")),
    }
}
