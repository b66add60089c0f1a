//! Whether a derivative is right: reverse mode against differences and forward mode, and what it promises of memory.

mod differences;
mod report;
mod subject;

use exec::{Limits, Machine, Value, first_difference, float_place};
use ircode::{IRCode, Module, Name};
use passes::reverse_mode::DerivativeNames;

pub use self::differences::{Differences, compare_with_differences};
pub use self::report::{Check, CheckReport, Outcome};

use self::subject::{ONCE_ONLY, Random, Subject, dot};
use crate::gradient::{Carrier, Derived, Savings, gradient_with, run_error};
use crate::{GradientError, GradientOptions};

/// How a derivative is checked.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckOptions {
    /// In how many random directions, one at least.
    pub directions: usize,
    /// From which number the random numbers come: the same give the same report.
    pub seed: u64,
    /// How far differences may be off, relative to the sum of the magnitudes of what is added. `None` for what the
    /// floats allow that there are: a hundredth where there are small ones among the arguments or inside, else 1e-5.
    pub tolerance: Option<f64>,
    /// How what the pullback needs travels to it.
    pub carrier: Carrier,
    /// Whether loops are checkpointed.
    pub checkpoint: bool,
    /// What makes the derivative small.
    pub savings: Savings,
    /// What each run may use.
    pub limits: Limits,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions {
            directions: 3,
            seed: 1,
            tolerance: None,
            carrier: Carrier::default(),
            checkpoint: false,
            savings: Savings::default(),
            limits: Limits::default(),
        }
    }
}

/// How far apart reverse mode and forward mode may be, which do the same in another order.
const ROUNDING: f64 = 1e-9;

/// The same as a multiple of the epsilon of the smallest floats that there are.
const EPSILONS: f64 = 100.0;

/// What is left where the terms of a derivative cancel, of what differences say of that, as modes round it differently.
const CANCELLED: f64 = 1e-2;

/// Of no more entries than this one is looked for that is to blame.
const MOST_ENTRIES: usize = 200;

/// Checks the reverse-mode derivative of a function at these arguments, which may hold arrays, structs and so on, and
/// whose result may be anything:
///
/// - *differences*: ⟨w, (f(x + hd) − f(x − hd)) / 2h⟩ is ⟨Jᵀw, d⟩ for random directions d, over all floats of all
///   arguments at once; of several steps h that one counts that agrees best, as a large one has an error of its own and
///   a small one drowns in rounding;
/// - *forward mode*: ⟨w, Jd⟩ is ⟨Jᵀw, d⟩, where forward mode computes Jd; w is 1 where the result is a float, else
///   random;
/// - *inputs restored*: the arguments hold the same bits afterwards, and the same objects;
/// - *run twice*: another run gives the same bits, and so does, but for rounding, the function that gives the value
///   together with the gradient, where the result is a float;
/// - *cotangents added*: what shadows held before is still in them, with the gradient added;
/// - *pullback twice*: called again, the pullback adds the gradient again, or says that it can be called only once.
///
/// The checks that need to hand in shadows are made of functions that leave their arguments as they were.
///
/// ```
/// use bbkit::exec::Value;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, y)::Float64
/// └──      return %1
/// end
/// ")?.module;
/// let report = bbkit::check_gradient(&module, "f", &[Value::from(3.0), Value::from(4.0)], &Default::default())?;
/// assert!(report.is_right(), "{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated, or fails at the arguments themselves.
pub fn check_gradient(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &CheckOptions,
) -> Result<CheckReport, GradientError> {
    let gradient_options = GradientOptions::new()
        .limits(options.limits)
        .carrier(options.carrier)
        .checkpoint(options.checkpoint)
        .savings(options.savings);
    let derived = Derived::of(module, name, args, &gradient_options, true)?;
    let name = derived.module.full_name(name);
    let copies = Machine::new(&derived.module).copies(args).map_err(run_error)?;
    // Only of floats there is one.
    let at_once = gradient_with(module, &name, &copies, &gradient_options).ok();
    let at_once = at_once.map(|result| result.gradient);
    checked(&derived.module, &name, &derived.derivative.names, args, options, at_once)
}

/// Checks a derivative that a module has already, made for any result (with [`passes::reverse_mode::Options::vjp`]), as
/// [`check_gradient`] does: one that was made by hand, or changed.
///
/// # Errors
///
/// [`GradientError`] if the function or its derivative fails at the arguments, or the module does not have them.
pub fn check_derived(
    module: &Module<IRCode>,
    name: &str,
    names: &DerivativeNames,
    args: &[Value],
    options: &CheckOptions,
) -> Result<CheckReport, GradientError> {
    let name = module.full_name(name);
    for needed in [&name, &names.vjp] {
        if module.function(needed).is_none() {
            return Err(GradientError::NoSuchFunction(needed.clone()));
        }
    }
    checked(module, &name, names, args, options, None)
}

/// What [`check_derived`] finds, if there is something to differentiate. `at_once` is the gradient as it comes together
/// with the value.
fn checked(
    module: &Module<IRCode>,
    name: &Name,
    names: &DerivativeNames,
    args: &[Value],
    options: &CheckOptions,
    at_once: Option<Vec<Value>>,
) -> Result<CheckReport, GradientError> {
    let mut random = Random::new(options.seed);
    let mut report = CheckReport::default();
    let Some(subject) = Subject::new(module, name, names, args, options.limits, &mut random)? else {
        report.skip("differences", "there is nothing to differentiate");
        return Ok(report);
    };
    let known = subject.gradient()?;
    let small = subject.has_small_floats();
    let small_inside = small || subject.epsilon_inside() > f64::EPSILON;
    let tolerance = options.tolerance.unwrap_or(differences::tolerance(small_inside));
    let directions = (0..options.directions.max(1)).map(|_| subject.direction(&mut random));
    let directions = directions.collect::<Result<Vec<_>, _>>()?;
    report.add("differences", differences(&subject, &known.floats, &directions, tolerance)?);
    let forward = if subject.is_scalar() { "forward mode" } else { "⟨Jv, w⟩ = ⟨v, Jᵀw⟩" };
    let allowed = if small { differences::tolerance(small) } else { rounding(&subject) };
    report.add(forward, forward_mode(&subject, &known.floats, &directions, allowed)?);
    report.add(
        "inputs restored",
        match first_difference(&subject.args, &known.args) {
            Some(place) => Outcome::Failed(format!("{place} was changed")),
            None => Outcome::Passed(None),
        },
    );
    let again = subject.gradient()?;
    let same = known.floats.iter().zip(&again.floats).position(|(a, b)| a.to_bits() != b.to_bits());
    let at_once = at_once.map(|gradient| subject.floats(&gradient)).transpose()?;
    report.add(
        "run twice",
        match (same, at_once.map(|found| agree(&subject, &found, &known.floats))) {
            (Some(index), _) => Outcome::Failed(format!("{} differs in the second run", subject.place(index))),
            (None, Some(Outcome::Failed(what))) => Outcome::Failed(format!("together with the value, {what}")),
            (None, _) => Outcome::Passed(None),
        },
    );
    let mutates = directions.first().map(|(direction, _)| subject.mutates(direction)).transpose()?;
    let pulled = match mutates {
        Some(true) => None,
        _ => Some(subject.pull_back_into_filled(&mut random)?).filter(|pulled| !pulled.lost),
    };
    let Some(pulled) = pulled else {
        report.skip("cotangents added", "the function changes its arguments");
        report.skip("pullback twice", "the function changes its arguments");
        return Ok(report);
    };
    let expected = |times: f64| pulled.filled.iter().zip(&known.floats).map(move |(p, g)| p + times * g).collect();
    report.add("cotangents added", agree(&subject, &pulled.once, &expected(1.0)));
    report.add(
        "pullback twice",
        match &pulled.twice {
            Ok(twice) => agree(&subject, twice, &expected(2.0)),
            Err(error) if error == ONCE_ONLY => Outcome::Skipped(error.clone()),
            Err(error) => Outcome::Failed(error.lines().map(str::trim).collect::<Vec<_>>().join(" ")),
        },
    );
    Ok(report)
}

/// Whether numbers agree but for rounding, and if not, where they differ most.
fn agree(subject: &Subject<'_>, found: &[f64], expected: &Vec<f64>) -> Outcome {
    let mut worst = (0.0, 0);
    for (index, (a, b)) in found.iter().zip(expected).enumerate() {
        let error = relative(*a, *b, 1.0);
        if error > worst.0 {
            worst = (error, index);
        }
    }
    match worst {
        (error, _) if error <= rounding(subject) => Outcome::Passed(Some(error)),
        (_, index) => {
            let (found, expected) = (found.get(index).copied(), expected.get(index).copied());
            let (found, expected) = (found.unwrap_or(f64::NAN), expected.unwrap_or(f64::NAN));
            Outcome::Failed(format!("{} is {found}, expected {expected}", subject.place(index)))
        }
    }
}

fn rounding(subject: &Subject<'_>) -> f64 {
    ROUNDING.max(EPSILONS * subject.epsilon().max(subject.epsilon_inside()))
}

/// How much two numbers differ, relative to the larger or to a scale; 0 if both are the same infinity or no number.
pub(crate) fn relative(a: f64, b: f64, scale: f64) -> f64 {
    if a == b || a.is_nan() && b.is_nan() {
        return 0.0;
    }
    let error = (a - b).abs() / a.abs().max(b.abs()).max(scale);
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The sum of the magnitudes of what is added in a product, so that cancellation is no error.
fn scale(gradient: &[f64], direction: &[f64]) -> f64 {
    gradient.iter().zip(direction).map(|(g, d)| (g * d).abs()).filter(|term| term.is_finite()).sum::<f64>().max(1e-10)
}

fn differences(
    subject: &Subject<'_>,
    gradient: &[f64],
    directions: &[(Vec<Value>, Vec<f64>)],
    tolerance: f64,
) -> Result<Outcome, GradientError> {
    let mut worst: Option<f64> = None;
    for (direction, floats) in directions {
        let product = dot(gradient, floats);
        let scale = scale(gradient, floats).max(subject.noise());
        let Some(error) = best(subject, direction, product, scale, tolerance)? else {
            continue;
        };
        worst = Some(worst.map_or(error, |worst| worst.max(error)));
        if error > tolerance {
            return Ok(Outcome::Failed(blamed(subject, gradient, error, tolerance)?));
        }
    }
    Ok(match worst {
        Some(error) => Outcome::Passed(Some(error)),
        None => Outcome::Skipped("the function gives no float nearby, or cannot be computed there".into()),
    })
}

/// How far a derivative in a direction is from differences of that step that agrees best, or from what Richardson's
/// extrapolation makes of two of them.
fn best(
    subject: &Subject<'_>,
    direction: &[Value],
    product: f64,
    scale: f64,
    tolerance: f64,
) -> Result<Option<f64>, GradientError> {
    // Where rounding is all that there is to see, it may agree with anything.
    let extrapolates = !subject.has_small_floats();
    let mut best: Option<f64> = None;
    let mut before: Option<(f64, f64)> = None;
    for step in subject.steps(tolerance, scale) {
        let Some(difference) = subject.difference(direction, step)? else { continue };
        // The part of a difference that goes with the square of the step is taken out of two of them, of steps that are
        // as far apart as tenths.
        let extrapolated = before.filter(|(longer, _)| extrapolates && *longer > 5.0 * step).map(|(longer, other)| {
            let ratio = (longer / step).powi(2);
            (ratio * difference - other) / (ratio - 1.0)
        });
        before = Some((step, difference));
        let error = [Some(difference), extrapolated.filter(|number| number.is_finite())].into_iter().flatten();
        let error = error.map(|difference| relative(product, difference, scale)).fold(f64::INFINITY, f64::min);
        best = Some(best.map_or(error, |best| best.min(error)));
    }
    Ok(best)
}

/// Which entry of the gradient differs most from differences; where each agrees alone, that the function is not smooth.
fn blamed(subject: &Subject<'_>, gradient: &[f64], error: f64, tolerance: f64) -> Result<String, GradientError> {
    let mut worst: Option<(f64, String)> = None;
    for (index, &known) in gradient.iter().enumerate().take(MOST_ENTRIES) {
        let direction = subject.unit(index)?;
        let mut best: Option<(f64, f64)> = None;
        for step in subject.steps(tolerance, known.abs().max(subject.noise())) {
            let Some(difference) = subject.difference(&direction, step)? else { continue };
            let error = relative(known, difference, 1e-10);
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, difference));
            }
        }
        let Some((error, difference)) = best else { continue };
        if worst.as_ref().is_none_or(|(most, _)| error > *most) {
            let place = float_place(&subject.args, &subject.zeros, index).unwrap_or_default();
            worst = Some((error, format!("{place} is {known}, differences say {difference}")));
        }
    }
    Ok(match worst {
        Some((most, _)) if most <= tolerance => {
            format!("off by {error:.1e}, though each entry alone agrees: the function may have a jump or a kink here")
        }
        Some((_, text)) => text,
        None => format!("off by {error:.1e}"),
    })
}

fn forward_mode(
    subject: &Subject<'_>,
    gradient: &[f64],
    directions: &[(Vec<Value>, Vec<f64>)],
    allowed: f64,
) -> Result<Outcome, GradientError> {
    let mut worst: f64 = 0.0;
    for (direction, floats) in directions {
        let forward = match subject.forward(direction) {
            Ok(forward) => forward,
            Err(GradientError::Pass(error)) => return Ok(Outcome::Skipped(error.message)),
            Err(error) => return Err(error),
        };
        let product = dot(gradient, floats);
        // What cancels in the function leaves what was rounded, also where nothing cancels in the product.
        let scale = scale(gradient, floats).max(subject.noise() * CANCELLED);
        let error = relative(product, forward, scale);
        if error > allowed {
            return Ok(Outcome::Failed(format!("reverse mode says {product}, forward mode {forward}")));
        }
        worst = worst.max(error);
    }
    Ok(Outcome::Passed(Some(worst)))
}

#[cfg(test)]
mod tests {
    use ircode::parse_module;

    use super::*;

    /// x² at 3: 6, and not 5.
    #[test]
    fn a_wrong_gradient_beside_the_value_is_found() {
        let text = "function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└──      return %1\nend\n";
        let module = parse_module(text).unwrap().module;
        let args = [Value::from(3.0)];
        let derived = Derived::of(&module, "f", &args, &GradientOptions::new(), true).unwrap();
        let names = &derived.derivative.names;
        let report = |gradient: f64| {
            let (options, at_once) = (CheckOptions::default(), Some(vec![Value::from(gradient)]));
            checked(&derived.module, &"f".into(), names, &args, &options, at_once).unwrap()
        };
        assert!(report(6.0).is_right());
        let failed = report(5.0);
        let failures: Vec<&str> = failed.failures().map(|check| check.name).collect();
        assert_eq!(failures, ["run twice"], "{failed}");
    }
}
