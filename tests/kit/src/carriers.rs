//! The law for the two carriers of reverse mode: they give the same derivative.

use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module};
use passes::reverse_mode::{Carrier, DerivativeNames, Options, Savings, derive};
use passes::{closure_specialization, simplify};

use crate::laws::{Checked, Outcome, all_verify, broken, is_limit, outcome};

/// Closure specialization of a derivative with linear maps, and what comes after it.
///
/// # Panics
///
/// If a pass fails, which it does not on what was derived.
#[allow(clippy::panic, reason = "a test that fails should stop")]
pub fn specialized(module: &mut Module<BBCode>, _: &DerivativeNames) {
    for pass in [closure_specialization::run, simplify::run] {
        if let Err(error) = pass(module, None) {
            panic!("{error}");
        }
    }
}

/// Law 6 for linear maps: value and gradient are those of the carrier with stacks, without loops that are written out,
/// to the last bit, and stay so through what `changed` does to the module of the derivative. What is generated
/// verifies. `changed` may be passes, which keep the meaning, or a planted bug.
///
/// Nothing is said of a program that fails, cannot be differentiated or needs more than a small part of the limits.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub fn carriers_agree(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<BBCode>, &DerivativeNames),
) -> Checked {
    const LAW: &str = "both carriers give the same derivative";
    // The derivative needs more.
    let less = Limits { steps: limits.steps / 20, ..limits };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, &args(), less) else { return Ok(()) };
    let module = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let mut results = Vec::new();
    for carrier in [Carrier::Stacks, Carrier::LinearMaps] {
        let mut derived = module.clone();
        // Loops that are written out, which only stacks do, add up in another order.
        let savings = Savings::default().without("unrolling").unwrap_or_default();
        let options = Options { carrier, savings, ..Options::default() };
        let names = match derive(&mut derived, &name.into(), &options) {
            Ok(derivative) => derivative.names,
            // What cannot be differentiated, no carrier differentiates.
            Err(error) if carrier == Carrier::Stacks => {
                let options = Options { carrier: Carrier::LinearMaps, ..Options::default() };
                return match derive(&mut derived, &name.into(), &options) {
                    Ok(_) => Err(broken(LAW, format!("linear maps take what stacks do not: {error}"))),
                    Err(_) => Ok(()),
                };
            }
            Err(error) => return Err(broken(LAW, error)),
        };
        if carrier == Carrier::LinearMaps {
            changed(&mut derived, &names);
            all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
        }
        let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
        let result = Machine::with_limits(&derived, limits).call(&names.value_and_gradient, &args());
        results.push(match result {
            Ok(value) => Ok(value),
            Err(error) if is_limit(&error.kind) => return Ok(()),
            Err(error) => Err(error.to_string()),
        });
    }
    let same = match results.as_slice() {
        [Ok(stacks), Ok(maps)] => {
            exec::first_difference(std::slice::from_ref(stacks), std::slice::from_ref(maps)).is_none()
        }
        // The error is the same, its place need not be.
        [Err(_), Err(_)] => true,
        _ => false,
    };
    match same {
        true => Ok(()),
        false => {
            Err(broken(LAW, format!("{:?} with stacks, but {:?} with linear maps", results.first(), results.get(1))))
        }
    }
}
