//! What a gradient costs, beside the function itself.

use std::fmt;

use exec::{Machine, Statistics, Value};
use ircode::tangents::shadow_name;
use ircode::{IRCode, Module};

use super::{Derived, GradientError, GradientOptions, run_error};

/// What a function does, and its value with gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GradientStatistics {
    /// The function alone.
    pub primal: Statistics,
    /// Its value with gradient.
    pub gradient: Statistics,
}

impl GradientStatistics {
    /// The statements that the gradient takes for each of the function.
    pub fn ratio(&self) -> f64 {
        self.gradient.statements as f64 / self.primal.statements.max(1) as f64
    }
}

/// A line each for statements, values saved, objects and bytes: of the function, of its gradient, and their ratio.
impl fmt::Display for GradientStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>14} {:>14} {:>8}", "", "function", "gradient", "ratio")?;
        let rows = [
            ("statements executed", self.primal.statements, self.gradient.statements),
            ("values saved", self.primal.saved, self.gradient.saved),
            ("objects made", self.primal.objects, self.gradient.objects),
            ("bytes taken", self.primal.bytes, self.gradient.bytes),
            ("most bytes at once", self.primal.peak, self.gradient.peak),
        ];
        for (what, primal, gradient) in rows {
            write!(f, "{what:<20} {primal:>14} {gradient:>14}")?;
            match primal {
                0 => writeln!(f)?,
                primal => writeln!(f, " {:>8.2}", gradient as f64 / primal as f64)?,
            }
        }
        Ok(())
    }
}

/// Runs a function and its gradient, each on copies of the arguments, and counts what they do. The memory of the
/// arguments themselves is not counted.
///
/// # Errors
///
/// [`GradientError`].
pub fn gradient_statistics(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &GradientOptions,
) -> Result<GradientStatistics, GradientError> {
    let name = &module.full_name(name);
    // The listing alone may not say enough to be run.
    let specialized = super::specialized(module, name, args)?;
    // Values keep the meter of the machine that made them, so that copies are of a machine of their own.
    let copier = Machine::with_limits(&specialized, options.limits);
    let mut machine = Machine::with_limits(&specialized, options.limits);
    machine.call(name, &copier.copies(args).map_err(run_error)?)?;
    let primal = machine.statistics();
    Ok(GradientStatistics { primal, gradient: run_gradient(module, name, args, options)? })
}

/// Runs the gradient on copies of the arguments, and counts what it does.
pub(super) fn run_gradient(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &GradientOptions,
) -> Result<Statistics, GradientError> {
    let derived = Derived::of(module, name, args, options, false)?;
    let made_for_it = |def: &&ircode::TypeDef| module.type_def(&def.name).is_none();
    let shadows: Vec<_> = module.types().iter().map(|def| shadow_name(&def.name)).collect();
    let traces = derived.module.types().iter().filter(made_for_it).map(|def| def.name.clone());
    let traces: Vec<_> = traces.filter(|name| !shadows.contains(name)).collect();
    let copier = Machine::with_limits(&derived.module, options.limits);
    let mut machine = Machine::with_limits(&derived.module, options.limits).count_saves_in(traces);
    if derived.module.function(&derived.closed).is_some() {
        let operands = derived.operands(&machine, &copier.copies(args).map_err(run_error)?, None)?;
        machine.call(&derived.closed, &operands)?;
    }
    Ok(machine.statistics())
}
