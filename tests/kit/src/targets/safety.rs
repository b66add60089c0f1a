//! Law 5 on functions of every statement kind, valid or not.

use arbitrary::Unstructured;
use exec::Value;

use super::{LIMITS, safety_commands};
use crate::anything::anything;
use crate::laws::{Checked, Downstream, is_safe};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(function) = anything(&mut Unstructured::new(data)) else { return Ok(()) };
    let args: Vec<Value> = function.body.argtypes.iter().skip(1).map(|_| Value::from(1.0)).collect();
    is_safe(&function, &args, LIMITS, Downstream::default(), &[])
        .map_err(|broken| broken.on_function(&function, &args, &safety_commands(&[])))
}
