//! The law for what makes derivatives small: it changes nothing about what they give.

use bbcode::BBCode;
use exec::{Limits, Machine, Value, first_difference};
use ircode::{IRCode, Module};
use passes::reverse_mode::{DerivativeNames, Options, Savings, derive};

use crate::laws::{Broken, Checked, Outcome, all_verify, broken, is_limit, outcome};

const LAW: &str = "the derivative is the same whatever is saved";

/// What was found of a derivative.
#[derive(Debug)]
enum Found {
    /// The value and the gradient.
    Gradient(Value),
    /// The function cannot be differentiated.
    Nothing,
    /// Computing it needs too much.
    Limit,
}

/// Law 6 for [`Savings`]: value and gradient are the same to the last bit, whichever techniques are turned off. Those of
/// `some` are compared with all; where loops are written out in both or in neither, as that adds up in another order.
/// What is generated verifies. `changed` may change the derivative with all of them, to see that this is found.
///
/// Nothing is said of a program that fails, cannot be differentiated or needs more than a small part of the limits.
///
/// # Errors
///
/// [`Broken`].
pub fn savings_agree(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    some: &[Savings],
    changed: &dyn Fn(&mut Module<BBCode>, &DerivativeNames),
) -> Checked {
    // The derivative needs more, and most where most is saved.
    let less = Limits { steps: limits.steps / 20, ..limits };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, &args(), less) else { return Ok(()) };
    let module = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let gradient = |savings: Savings, changes: bool| -> Result<Found, Broken> {
        let mut derived = module.clone();
        let options = Options { savings, ..Options::default() };
        let Ok(derivative) = derive(&mut derived, &name.into(), &options) else { return Ok(Found::Nothing) };
        if changes {
            changed(&mut derived, &derivative.names);
        }
        all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
        let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
        let limits = Limits { steps: limits.steps.saturating_mul(5), ..limits };
        let found = Machine::with_limits(&derived, limits).call(&derivative.names.value_and_gradient, &args());
        match found {
            Ok(found) => Ok(Found::Gradient(found)),
            Err(error) if is_limit(&error.kind) => Ok(Found::Limit),
            Err(error) => Err(broken(LAW, error)),
        }
    };
    for savings in some {
        let all = if savings.unrolling { Some(Savings::default()) } else { Savings::default().without("unrolling") };
        let (expected, found) = (gradient(all.unwrap_or_default(), true)?, gradient(*savings, false)?);
        let difference = match (&expected, &found) {
            (Found::Limit, _) | (_, Found::Limit) => None,
            (Found::Gradient(expected), Found::Gradient(found)) => {
                first_difference(std::slice::from_ref(expected), std::slice::from_ref(found))
            }
            (Found::Nothing, Found::Nothing) => None,
            _ => Some("whether there is one".into()),
        };
        if let Some(place) = difference {
            let off: Vec<&str> = Savings::names().filter(|name| savings.without(name) == Some(*savings)).collect();
            let problem = format!("{expected:?}, but {found:?} without {}: {place}", off.join(", "));
            return Err(broken(LAW, problem));
        }
    }
    Ok(())
}
