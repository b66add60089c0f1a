//! Rounds that are reversed one by one give what a loop backwards gives, and so does native code of them.

use arbitrary::Unstructured;
use bbkit::Savings;

use super::LIMITS;
use crate::independent_rounds::{derived, rounds_keep_bits, rounds_keep_sums};
use crate::laws::Checked;
use crate::native::native_agrees;
use crate::sums::sum_of_rounds;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let u = &mut Unstructured::new(data);
    let choices: [&[usize]; 3] = [&[2], &[2, 3], &[2, 3, 4]];
    let (Ok(made), Ok(with_respect_to)) = (sum_of_rounds(u), u.choose(&choices)) else { return Ok(()) };
    rounds_keep_bits(&made, with_respect_to, false)?;
    rounds_keep_sums(&made, with_respect_to)?;
    let derived = derived(&made, with_respect_to, Savings::default(), true)?;
    match native_agrees(&derived.module, &derived.gradient, &|| made.args(), LIMITS, &|_| {}) {
        Ok(_) => Ok(()),
        Err(broken) => Err(broken.on(&made.module, &made.args(), &["grad - ARGS --engine native".into()])),
    }
}
