//! Gradients of numbers against central differences, argument by argument.

use exec::{Limits, Machine, RunError, Value};
use ircode::{IRCode, Module, Scalar, ScalarType};

use super::relative;
use super::subject::epsilon_inside;

/// How far a gradient of numbers is from central differences.
#[derive(Clone, PartialEq, Debug)]
pub struct Differences {
    /// The differences: one an argument, from `_2` on; `None` where the argument is no float, or where the function
    /// cannot be computed nearby.
    pub differences: Vec<Option<f64>>,
    /// How much each cotangent differs, relative to the larger of the two or to 1.
    pub errors: Vec<Option<f64>>,
    /// How far off rounding and the step of the differences explain: a hundredth where the arguments or the function
    /// have floats of less than 64 bits, else 1e-5.
    pub tolerance: f64,
}

impl Differences {
    /// The largest relative difference.
    pub fn worst(&self) -> f64 {
        self.errors.iter().flatten().copied().fold(0.0, f64::max)
    }
}

/// How far off differences may be, where floats of less than 64 bits are computed with, or only `Float64`s.
pub(super) fn tolerance(small: bool) -> f64 {
    if small { 1e-2 } else { 1e-5 }
}

/// Compares a gradient of numbers with central differences of several steps; for each argument that step counts which
/// agrees best, as a large one has an error of its own and a small one drowns in rounding. Where the last bit of the
/// value alone is more than the difference may be off by, a step does not count; if none does, differences say nothing
/// of the argument. Nor do they of one of which the gradient is `nothing`, as it is of what was not asked for; that of
/// a float that is missing, or no number, is off by infinity.
///
/// # Errors
///
/// [`RunError`] if the function fails at the arguments themselves.
pub fn compare_with_differences(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    gradient: &[Value],
    limits: Limits,
) -> Result<Differences, RunError> {
    value_at(module, name, args, limits)?;
    let single = |arg: &Value| matches!(arg.as_scalar(), Some(Scalar::Float32(_) | Scalar::Float16(_)));
    let tolerance_of_all =
        tolerance(args.iter().any(single) || epsilon_inside(module, &module.full_name(name)) > f64::EPSILON);
    let mut report = Differences { differences: Vec::new(), errors: Vec::new(), tolerance: tolerance_of_all };
    for (index, arg) in args.iter().enumerate() {
        let known = gradient.get(index).and_then(Value::as_float);
        let best = match (arg.as_scalar(), known) {
            (Some(scalar), Some(known)) if scalar.scalar_type().is_float() => steps(scalar)
                .filter_map(|step| central(module, name, args, index, step, limits))
                .filter(|(difference, noise)| {
                    // Infinite values say nothing.
                    noise.is_finite()
                        && *noise <= tolerance(scalar.scalar_type() != ScalarType::Float64) * scale(known, *difference)
                })
                .fold(None, |best: Option<(f64, f64)>, (difference, _)| {
                    let error = relative(known, difference, 1.0);
                    match best {
                        Some((_, least)) if least <= error => best,
                        _ => Some((difference, error)),
                    }
                }),
            _ => None,
        };
        // What a gradient has in the place of a number is wrong, whatever differences say.
        let is_wrong = known.is_none() && !matches!(gradient.get(index), Some(Value::Nothing));
        let is_float = arg.as_scalar().is_some_and(|scalar| scalar.scalar_type().is_float());
        let error = if is_float && is_wrong { Some(f64::INFINITY) } else { best.map(|(_, error)| error) };
        report.differences.push(best.map(|(difference, _)| difference));
        report.errors.push(error);
    }
    Ok(report)
}

/// What an error is relative to.
fn scale(a: f64, b: f64) -> f64 {
    a.abs().max(b.abs()).max(1.0)
}

/// Below this, steps that are relative to one are too large.
const SMALL: f64 = 1e-4;

/// Steps from a tenth down, relative to the argument or to one, whichever is more; relative to a small argument, too.
fn steps(x: &Scalar) -> impl Iterator<Item = f64> {
    let size = x.as_float().unwrap_or(1.0).abs();
    let smallest: i32 = match x.scalar_type() {
        ScalarType::Float64 => 8,
        ScalarType::Float32 => 4,
        _ => 2,
    };
    let scales = [size.max(1.0)].into_iter().chain((0.0 < size && size < SMALL).then_some(size));
    scales.flat_map(move |scale| (1..=smallest).map(move |digits| scale * 10f64.powi(-digits)))
}

/// The value at arguments that stay as they are, whatever the function writes into them.
fn value_at(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> Result<Value, RunError> {
    let mut machine = Machine::with_limits(module, limits);
    let copies = machine.copies(args).map_err(RunError::from)?;
    machine.call(name, &copies)
}

/// The difference at this step, and what the last bit of the values makes of it.
fn central(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    index: usize,
    step: f64,
    limits: Limits,
) -> Option<(f64, f64)> {
    let at = |delta: f64| {
        let mut args = args.to_vec();
        let scalar = args.get(index)?.as_scalar()?;
        let moved = Scalar::from_float(scalar.scalar_type(), scalar.as_float()? + delta)?;
        let place = moved.as_float()?;
        *args.get_mut(index)? = Value::Scalar(moved);
        let value = value_at(module, name, &args, limits).ok()?;
        let last_bit = match value.as_scalar().map(Scalar::scalar_type) {
            Some(ScalarType::Float16) => 1.0 / 1024.0,
            Some(ScalarType::Float32) => f64::from(f32::EPSILON),
            _ => f64::EPSILON,
        };
        let value = value.as_float()?;
        Some((place, value, last_bit * value.abs()))
    };
    let ((right, above, one), (left, below, other)) = (at(step)?, at(-step)?);
    let step = right - left;
    (step != 0.0).then(|| ((above - below) / step, one.max(other) / step))
}
