//! The derivative is the same to the last bit whichever of its savings are turned off, of programs that compute with
//! numbers, keep floats in memory, or add up what rounds give.

use arbitrary::{Result, Unstructured};
use exec::Value;
use ircode::{IRCode, Module};
use passes::reverse_mode::Savings;

use super::LIMITS;
use super::carriers::{self, Args};
use crate::laws::Checked;
use crate::savings::savings_agree;
use crate::sums::sum_of_rounds;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok((some, module, args)) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    savings_agree(&module, "f", &args, LIMITS, &some, &|_, _| {}).map_err(|broken| {
        broken.on(&module, &args(), &["grad - ARGS --check".into(), "grad - ARGS --without all".into()])
    })
}

fn made(u: &mut Unstructured<'_>) -> Result<(Vec<Savings>, Module<IRCode>, Args)> {
    let mut some = Savings::default();
    for name in Savings::names() {
        if u.ratio(1, 3)? {
            some = some.without(name).unwrap_or(some);
        }
    }
    let some = vec![some, Savings::none()];
    if u.ratio(1, 3)? {
        let sum = sum_of_rounds(u)?;
        return Ok((some, sum.module.clone(), Box::new(move || -> Vec<Value> { sum.args() })));
    }
    let (module, args) = carriers::made(u)?;
    Ok((some, module, args))
}
