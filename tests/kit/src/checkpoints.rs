//! The law for checkpointing: the derivative stays the same.

use bbcode::BBCode;
use exec::{Limits, Machine, RunErrorKind, Value};
use ircode::{IRCode, Module};
use passes::reverse_mode::{Carrier, DerivativeNames, Options, derive};

use crate::laws::{Broken, Outcome, all_verify, broken, outcome};

/// Law 6 for checkpointing: value and gradient are those without it to the last bit, whatever the carrier. What is
/// generated verifies, and so does the program that consists of segments, which computes what it did. `changed` does
/// nothing to the module of the derivative, or is a planted bug. Tells how many segments there were.
///
/// Nothing is said of a program that fails, cannot be differentiated or needs more than a small part of the limits.
///
/// # Errors
///
/// [`Broken`].
pub fn checkpointing_agrees(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<BBCode>, &DerivativeNames),
) -> Result<usize, Broken> {
    const LAW: &str = "checkpointing keeps the derivative";
    // The derivative needs more.
    let less = Limits { steps: limits.steps / 40, ..limits };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, &args(), less) else { return Ok(0) };
    let module = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let gradient = |carrier: Carrier, checkpoint: bool| {
        let mut derived = module.clone();
        let options = Options { carrier, checkpoint, ..Options::default() };
        let derivative = match derive(&mut derived, &name.into(), &options) {
            Ok(derivative) => derivative,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if checkpoint {
            changed(&mut derived, &derivative.names);
            all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
        }
        let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
        let result = Machine::with_limits(&derived, limits).call(&derivative.names.value_and_gradient, &args());
        match result {
            Ok(value) => Ok(Ok(Some(value))),
            Err(error) => match error.kind {
                RunErrorKind::StepLimit(_) | RunErrorKind::MemoryLimit(_) | RunErrorKind::DepthLimit(_) => Ok(Ok(None)),
                _ => Ok(Err(error.kind.to_string())),
            },
        }
    };
    for carrier in [Carrier::Stacks, Carrier::LinearMaps] {
        let (without, with) = (gradient(carrier, false)?, gradient(carrier, true)?);
        let same = match (&without, &with) {
            (Ok(None), _) | (_, Ok(None)) => true,
            (Ok(Some(without)), Ok(Some(with))) => {
                exec::first_difference(std::slice::from_ref(without), std::slice::from_ref(with)).is_none()
            }
            (Err(without), Err(with)) => without == with,
            _ => false,
        };
        if !same {
            return Err(broken(LAW, format!("{without:?} without checkpoints, but {with:?} with them ({carrier:?})")));
        }
    }
    let mut segmented = module.clone();
    let report =
        passes::checkpoint_loops::checkpoint_loops(&mut segmented, None).map_err(|error| broken(LAW, error))?;
    all_verify(&segmented).map_err(|problem| broken(LAW, problem))?;
    Ok(report.segments.len())
}
