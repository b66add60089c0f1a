//! What passes save: a function run before and after them, and counted.

use std::fmt;

use exec::{Limits, Machine, RunError, Statistics, Value, first_difference, holds_closures};
use ircode::{IRCode, Module};

use crate::gradient::{GradientError, specialized};

/// What a function does before and after passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassStatistics {
    /// Before the first pass.
    pub before: Statistics,
    /// After the last.
    pub after: Statistics,
    /// Whether the values were compared. They are not where they hold closures: passes may put another function, with
    /// other captured values, in the place of one.
    pub compared: bool,
}

/// Why nothing can be said of what passes save.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassStatisticsError {
    /// The code cannot be converted.
    #[error(transparent)]
    Gradient(#[from] GradientError),
    /// The function fails before the passes.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The function fails after the passes only.
    #[error("the passes changed what `{function}` does: it gave {before}, and fails now: {after}")]
    Fails {
        /// The function.
        function: String,
        /// Its value before them.
        before: String,
        /// The failure.
        after: Box<RunError>,
    },
    /// The function does something else after the passes.
    #[error("the passes changed what `{function}` does: {difference}")]
    Differs {
        /// The function.
        function: String,
        /// What is different.
        difference: String,
    },
}

/// A line each for what is counted: before, after, and how much of it was saved, which is less than nothing where there
/// is more after than before. Of the kinds of objects, those of which there are any.
impl fmt::Display for PassStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>14} {:>14} {:>14}", "", "before", "after", "saved")?;
        let mut row = |what: &str, before: u64, after: u64| {
            let saved = i128::from(before) - i128::from(after);
            writeln!(f, "{what:<20} {before:>14} {after:>14} {saved:>14}")
        };
        let (before, after) = (&self.before, &self.after);
        row("statements executed", before.statements, after.statements)?;
        row("values on stacks", before.saved, after.saved)?;
        row("objects made", before.objects, after.objects)?;
        for ((kind, before), (_, after)) in before.allocations.kinds().into_iter().zip(after.allocations.kinds()) {
            // Closures and enums are what is asked for, so that it is said when there are none.
            if before > 0 || after > 0 || matches!(kind, "closures" | "enums") {
                row(&format!("  {kind}"), before, after)?;
            }
        }
        row("allocations", before.allocations.on_heap(), after.allocations.on_heap())?;
        row("bytes taken", before.bytes, after.bytes)?;
        row("most bytes at once", before.peak, after.peak)?;
        if !self.compared {
            writeln!(f, "the values hold closures, and were not compared")?;
        }
        Ok(())
    }
}

/// Runs a function of two versions of a module, each on copies of the arguments, and counts what it does. Its value,
/// what it prints, and what it leaves in the arguments must be the same to the last bit.
///
/// ```
/// use exec::{Limits, Value};
/// use passes::{PassManager, find_pass};
///
/// let before = ircode::parse_module("
/// function f(x::Float64)::Float64
/// 1 ─ %1 = Core.tuple(x, 2.0)::Tuple{Float64, Float64}
/// │   %2 = Core.getfield(%1, 1)::Float64
/// └──      return %2
/// end
/// ")?.module;
/// let mut module = bbkit::to_bbcode(&before)?;
/// let passes = ["scalar-replacement", "dead-code"].map(find_pass).into_iter().collect::<Result<Vec<_>, _>>()?;
/// PassManager::new(passes).run(&mut module, None)?;
/// let after = bbkit::to_ircode(&module)?;
/// let statistics = bbkit::pass_statistics(&before, &after, "f", &[Value::from(1.5)], Limits::default())?;
/// assert_eq!((statistics.before.allocations.tuples, statistics.after.allocations.tuples), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PassStatisticsError`].
pub fn pass_statistics(
    before: &Module<IRCode>,
    after: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
) -> Result<PassStatistics, PassStatisticsError> {
    let function = || if name.is_empty() { "the listing".to_string() } else { name.to_string() };
    let before = Ran::new(&specialized(before, name, args)?, name, args, limits)?;
    let value = before.result.clone()?;
    let after = Ran::new(&specialized(after, name, args)?, name, args, limits)?;
    let other = match after.result {
        Ok(other) => other,
        Err(error) => {
            return Err(PassStatisticsError::Fails {
                function: function(),
                before: value.to_string(),
                after: Box::new(error),
            });
        }
    };
    let compared = !holds_closures(&[value.clone(), other.clone()]);
    let all = |value: &Value, args: &[Value]| -> Vec<Value> {
        // Together, as the value may be one of the objects that the arguments hold.
        args.iter().chain(compared.then_some(value)).cloned().collect()
    };
    let difference = match first_difference(&all(&value, &before.args), &all(&other, &after.args)) {
        _ if before.printed != after.printed => {
            Some(format!("it printed {:?}, and prints {:?}", before.printed, after.printed))
        }
        // The value stands behind the last argument.
        Some(place) if place.starts_with(&format!("_{}", args.len() + 2)) => {
            Some(format!("it gave {value}, and gives {other}"))
        }
        Some(place) => Some(format!("it leaves something else in the argument {place}")),
        None => None,
    };
    match difference {
        Some(difference) => Err(PassStatisticsError::Differs { function: function(), difference }),
        None => Ok(PassStatistics { before: before.statistics, after: after.statistics, compared }),
    }
}

/// What is seen of a run.
struct Ran {
    result: Result<Value, RunError>,
    printed: String,
    args: Vec<Value>,
    statistics: Statistics,
}

impl Ran {
    fn new(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> Result<Ran, RunError> {
        // Values keep the meter of the machine that made them, so that the copies are of a machine of their own.
        let copier = Machine::with_limits(module, limits);
        let args = copier.copies(args).map_err(RunError::from)?;
        let mut printed = String::new();
        let mut machine = Machine::with_limits(module, limits).on_output(|text| printed.push_str(text));
        let result = machine.call(name, &args);
        let statistics = machine.statistics();
        drop(machine);
        Ok(Ran { result, printed, args, statistics })
    }
}
