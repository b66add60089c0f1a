//! Matrices of all second derivatives.

use std::fmt;

use exec::{Machine, Value};
use ircode::{IRCode, Module};
use passes::forward_mode;

use crate::check::relative;
use crate::directions::{Inputs, Prepared, chunk};
use crate::engine::{Calls, Ran, RunOptions};
use crate::hvp::{HvpNames, second_derivative, why_it_fails};
use crate::jacobian::fill_column;
use crate::table::table;
use crate::{GradientError, JacobianOptions};

/// The second derivatives of a float with respect to all floats of the arguments.
#[derive(Clone, Debug)]
pub struct Hessian {
    /// The value of the function.
    pub value: f64,
    /// Its first derivatives.
    pub gradient: Vec<f64>,
    /// Its second derivatives: a row and a column for each float of the arguments.
    pub matrix: Vec<Vec<f64>>,
    /// Where in the arguments the floats are, as in [`Jacobian`](crate::Jacobian::columns).
    pub labels: Vec<String>,
    /// How many columns were computed at once.
    pub chunk: usize,
    /// The module with the functions of the derivatives.
    pub module: Module<IRCode>,
    /// What these are called.
    pub names: HvpNames,
    /// What has run the derivative.
    pub ran: Ran,
}

/// The value, and tables of the first and the second derivatives.
impl fmt::Display for Hessian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gradient = table(std::slice::from_ref(&self.gradient), &["gradient".to_string()], &self.labels);
        let matrix = table(&self.matrix, &self.labels, &self.labels);
        let (value, asymmetry) = (Value::from(self.value), self.asymmetry());
        write!(f, "value: {value}\n{gradient}\n{matrix}asymmetry: {asymmetry:.1e}\n")
    }
}

impl Hessian {
    /// The largest difference between an element and the one across the diagonal, relative to the larger of the two or
    /// to 1. Both are computed, each in its own column, so that it is a check: where the function is smooth, rounding
    /// alone makes them differ. A mistake that is the same on both sides passes it. NaN if an element is NaN, of which
    /// nothing can be said.
    pub fn asymmetry(&self) -> f64 {
        if self.matrix.iter().flatten().any(|element| element.is_nan()) {
            return f64::NAN;
        }
        let mut worst: f64 = 0.0;
        for (i, row) in self.matrix.iter().enumerate() {
            for (j, a) in row.iter().enumerate().take(i) {
                let b = self.matrix.get(j).and_then(|row| row.get(i)).copied().unwrap_or(f64::NAN);
                worst = worst.max(relative(*a, b, 1.0));
            }
        }
        worst
    }
}

/// The second derivatives of a function whose result is a float, with respect to all floats of its arguments: by
/// forward mode over reverse mode, several columns at once. Objects among the arguments are left as they were.
///
/// ```
/// use exec::Value;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// │   %2 = Base.mul_float(%1, y)::Float64
/// └──      return %2
/// end
/// ")?;
/// let at = [Value::from(3.0), Value::from(4.0)];
/// let result = bbkit::hessian(&parsed.module, "f", &at, &Default::default())?;
/// assert_eq!(result.matrix, [[8.0, 6.0], [6.0, 0.0]]);
/// assert_eq!(result.asymmetry(), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function, or its gradient, cannot be differentiated, if it fails on these arguments, or if
/// its result is no float.
pub fn hessian(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &JacobianOptions,
) -> Result<Hessian, GradientError> {
    let name = &module.full_name(name);
    let prepared = Prepared::new(module, name, args, options.wrt.as_deref())?;
    let inputs = Inputs::new(&prepared, name, args, options.limits)?;
    let columns = inputs.count();
    let chunk = chunk(columns, options.chunk);
    let directional = forward_mode::Options { with_respect_to: prepared.with_respect_to(), directions: chunk };
    let derived = second_derivative(prepared.code.clone(), name, &directional);
    let (derived, names) =
        derived.map_err(|error| why_it_fails(error, &prepared.module, name, args, options.limits))?;
    let machine = Machine::with_limits(&derived, options.limits);
    let engine = RunOptions { limits: options.limits, engine: options.engine };
    let mut output = |_: &str| ();
    let mut calls = Calls::new(&derived, &names.directional, &engine, &mut output)?;
    let mut matrix = vec![vec![0.0; columns]; columns];
    let (mut value, mut gradient) = (f64::NAN, Vec::new());
    // Without a column there is still a value.
    for first in (0..columns.max(1)).step_by(chunk) {
        let result = calls.call(&inputs.along(first, chunk)?)?;
        let mut parts = result.as_tuple().unwrap_or_default().iter().map(|part| part.as_tuple().unwrap_or_default());
        let (found, slopes) = match parts.next() {
            Some([value, slopes @ ..]) => (value.clone(), slopes),
            _ => (Value::Nothing, [].as_slice()),
        };
        value = found.as_float().ok_or_else(|| GradientError::NoFloat(found.to_string()))?;
        gradient = inputs.floats(slopes)?;
        for (column, tangent) in (first..columns).zip(parts) {
            let tangents = tangent.get(1..).unwrap_or_default();
            fill_column(&mut matrix, column, &inputs.floats_of_second(&machine, slopes, tangents)?);
        }
    }
    let (labels, ran) = (inputs.labels.clone(), calls.ran());
    drop((calls, machine));
    Ok(Hessian { value, gradient, matrix, labels, chunk, module: derived, names, ran })
}
