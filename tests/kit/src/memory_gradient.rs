//! The law for derivatives of programs that keep floats in memory.

use bbcode::BBCode;
use bbkit::{CheckOptions, check_derived};
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module};
use passes::reverse_mode::{DerivativeNames, Options, derive};

use crate::laws::{Broken, Checked, Outcome, all_verify, broken, exact, outcome};

/// Law 6 for a derivative of a program whose arguments, and what it makes of them, hold floats in memory: it can be
/// made, it agrees with forward mode and with differences where the program is smooth, leaves the arguments as they
/// were, and gives the same bits again, also together with the value. What is generated verifies. `changed` may change
/// what was generated, to see that this is found.
///
/// Nothing is said of a program that fails or needs more than a small part of the limits.
///
/// # Errors
///
/// [`Broken`].
pub fn memory_gradient_is_right(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<BBCode>, &DerivativeNames),
) -> Checked {
    const LAW: &str = "reverse mode is right about memory";
    // The derivative needs more, and what the program is given is changed.
    let less = Limits { steps: limits.steps / 20, ..limits };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, &args(), less) else { return Ok(()) };
    let mut derived = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let options = Options { vjp: true, ..Options::default() };
    let names = derive(&mut derived, &name.into(), &options).map_err(|error| broken(LAW, error))?.names;
    changed(&mut derived, &names);
    all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
    let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
    let options = CheckOptions { directions: 2, limits, ..CheckOptions::default() };
    let report = check_derived(&derived, name, &names, &args(), &options).map_err(|error| broken(LAW, error))?;
    if !report.is_right() {
        return Err(broken(LAW, report));
    }
    // Where both passes become one function, that is made otherwise, and gives the same to the last bit.
    let mut joined = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let Ok(derivative) = derive(&mut joined, &name.into(), &Options::default()) else { return Ok(()) };
    changed(&mut joined, &derivative.names);
    let joined = bbkit::to_ircode(&joined).map_err(|error| broken(LAW, error))?;
    let gradient = |module: &Module<IRCode>, name: &str, args: &[Value]| -> Result<Vec<String>, Broken> {
        let result = Machine::with_limits(module, limits).call(name, args).map_err(|error| broken(LAW, error))?;
        Ok(result.as_tuple().unwrap_or_default().iter().map(exact).collect())
    };
    let seeded: Vec<Value> = args().into_iter().chain([Value::from(1.0)]).collect();
    let apart = gradient(&derived, &names.vjp, &seeded)?;
    match gradient(&joined, &derivative.names.value_and_gradient, &args())? {
        at_once if at_once == apart => Ok(()),
        at_once => Err(broken(LAW, format!("{at_once:?} with the value, but {apart:?} by the pullback"))),
    }
}
