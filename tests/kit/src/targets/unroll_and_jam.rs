//! Law 6 for sums of several rounds side by side, and native code of them.

use arbitrary::Unstructured;

use super::LIMITS;
use crate::laws::{Checked, broken};
use crate::native::native_agrees;
use crate::nested_sums::{CALLS, arguments, jam, keeps_meaning_of_sums, nested_sums};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let u = &mut Unstructured::new(data);
    let (Ok(module), Ok(call)) = (nested_sums(u), u.choose_index(CALLS)) else { return Ok(()) };
    let args = || arguments(&module, call);
    let commands = ["run - ARGS".into(), "opt - --passes unroll-and-jam --verify-each".into()];
    keeps_meaning_of_sums(&module, &jam).map_err(|broken| broken.on(&module, &args(), &commands))?;
    const LAW: &str = "native code does what the interpreter does";
    let mut jammed = bbkit::to_bbcode(&module).map_err(|error| broken(LAW, error))?;
    jam(&mut jammed).map_err(|error| broken(LAW, error))?;
    let jammed = bbkit::to_ircode(&jammed).map_err(|error| broken(LAW, error))?;
    match native_agrees(&jammed, "f", &args, LIMITS, &|_| {}) {
        Ok(_) => Ok(()),
        Err(broken) => Err(broken.on(&jammed, &args(), &["run - ARGS --engine native".into()])),
    }
}
