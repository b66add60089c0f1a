//! Matrices of all first derivatives.

use std::fmt;

use exec::{Limits, Machine, Value, tangent_floats};
use ircode::wording::counted;
use ircode::{IRCode, Module, Name, Type};
use passes::{forward_mode, reverse_mode};

use crate::GradientError;
use crate::directions::{Inputs, Prepared, chunk, held_floats};
use crate::engine::{Calls, Engine, Ran, RunOptions, run};
use crate::gradient::{into_ircode, run_error, shape_error};
use crate::hvp::why_it_fails;
use crate::table::table;

/// How a Jacobian is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By columns: several directions of the arguments at once.
    Forward,
    /// By rows: a cotangent of the result after the other.
    Reverse,
}

/// What is asked of a Jacobian or a Hessian.
///
/// ```
/// let options = bbkit::JacobianOptions::new().wrt(["x"]).mode(bbkit::Mode::Reverse);
/// assert_eq!(options.mode, Some(bbkit::Mode::Reverse));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JacobianOptions {
    /// The arguments with respect to which the function is differentiated, by number or name, or fields of these, as in
    /// [`GradientOptions`](crate::GradientOptions::wrt). `None` for all. The columns keep the order of the arguments.
    pub wrt: Option<Vec<String>>,
    /// The mode; `None` for forward mode where the result has as many floats as the arguments or more, and where
    /// reverse mode cannot differentiate the function; else reverse mode. A Hessian has but one.
    pub mode: Option<Mode>,
    /// The most directions that forward mode takes at once; eight, if nothing is said.
    pub chunk: Option<usize>,
    /// What each run may use.
    pub limits: Limits,
    /// What runs the function and its derivative.
    pub engine: Engine,
}

impl JacobianOptions {
    /// Of all arguments, by the interpreter, in forward mode where the result has as many floats as the arguments or
    /// more, else in reverse mode.
    pub fn new() -> Self {
        JacobianOptions::default()
    }

    /// The same with respect to these arguments or fields of arguments.
    pub fn wrt<S: Into<String>>(self, wrt: impl IntoIterator<Item = S>) -> Self {
        JacobianOptions { wrt: Some(wrt.into_iter().map(Into::into).collect()), ..self }
    }

    /// The same in this mode.
    pub fn mode(self, mode: Mode) -> Self {
        JacobianOptions { mode: Some(mode), ..self }
    }

    /// The same with at most so many directions at once.
    pub fn chunk(self, chunk: usize) -> Self {
        JacobianOptions { chunk: Some(chunk), ..self }
    }

    /// The same where each run may use this.
    pub fn limits(self, limits: Limits) -> Self {
        JacobianOptions { limits, ..self }
    }

    /// The same run by this engine.
    pub fn engine(self, engine: Engine) -> Self {
        JacobianOptions { engine, ..self }
    }
}

/// The first derivatives of all floats of a result with respect to all floats of the arguments.
#[derive(Clone, Debug)]
pub struct Jacobian {
    /// The result.
    pub value: Value,
    /// The derivatives, a row for each float of the result, a column for each of the arguments.
    pub matrix: Vec<Vec<f64>>,
    /// Where in the result the floats are: `[3]`, `.y`, `.2` of a tuple; nothing for a result that is a float.
    pub rows: Vec<String>,
    /// Where in the arguments the floats are: `_2`, `_3[4]`, `_4.y`. Arguments come in their order, elements of arrays
    /// as they stand in memory, and each object once, where it is met first.
    pub columns: Vec<String>,
    /// The mode that was used.
    pub mode: Mode,
    /// How many columns, in forward mode, or rows, in reverse mode, were computed at once.
    pub chunk: usize,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What the derivative is called: forward mode's of so many directions, or reverse mode's of a cotangent.
    pub name: Name,
    /// What has run the derivative.
    pub ran: Ran,
}

/// The value, and a table of the derivatives, with the mode that was used.
impl fmt::Display for Jacobian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, mode) = match self.mode {
            Mode::Forward => (self.columns.len(), "forward"),
            Mode::Reverse => (self.rows.len(), "reverse"),
        };
        // A float has no place in itself.
        let rows: Vec<String> =
            self.rows.iter().map(|row| if row.is_empty() { "value".to_string() } else { row.clone() }).collect();
        let runs = counted(count.div_ceil(self.chunk), "run");
        let matrix = table(&self.matrix, &rows, &self.columns);
        write!(f, "value: {}\n{matrix}{mode} mode, {runs}\n", self.value)
    }
}

/// The first derivatives of all floats of a function's result with respect to all floats of its arguments, which may be
/// arrays, tuples and structs of them. Objects among the arguments are left as they were.
///
/// The function is run once to see how many floats its result has. Forward mode runs it again for every eight columns
/// or fewer, which share what does not depend on the direction; reverse mode for every row, forwards and backwards. If
/// the last columns are fewer than those before, the directions that are left over are zeros.
///
/// ```
/// use exec::Value;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function polar(r::Float64, t::Float64)::Tuple{Float64, Float64}
/// 1 ─ %1 = cos(t)::Float64
/// │   %2 = sin(t)::Float64
/// │   %3 = Base.mul_float(r, %1)::Float64
/// │   %4 = Base.mul_float(r, %2)::Float64
/// │   %5 = Core.tuple(%3, %4)::Tuple{Float64, Float64}
/// └──      return %5
/// end
/// ")?;
/// let at = [Value::from(2.0), Value::from(0.0)];
/// let result = bbkit::jacobian(&parsed.module, "polar", &at, &Default::default())?;
/// assert_eq!(result.matrix, [[1.0, 0.0], [0.0, 2.0]]);
/// assert_eq!(result.columns, ["_2", "_3"]);
/// assert_eq!(result.rows, [".1", ".2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated, or fails on these arguments; [`GradientError::NoFloat`]
/// if there is no float in the result.
pub fn jacobian(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &JacobianOptions,
) -> Result<Jacobian, GradientError> {
    let name = &module.full_name(name);
    let prepared = Prepared::new(module, name, args, options.wrt.as_deref())?;
    let inputs = Inputs::new(&prepared, name, args, options.limits)?;
    let machine = Machine::with_limits(&prepared.module, options.limits);
    let copies = machine.copies(args).map_err(run_error)?;
    let engine = RunOptions { limits: options.limits, engine: options.engine };
    let (value, _) = run(&prepared.module, name, &copies, &engine)?;
    let declared = prepared.module.function(name).map(|function| function.result.clone());
    let ty = declared.filter(|ty| !ty.is_unknown()).unwrap_or_else(|| value.type_of());
    let output = Output::new(&machine, value, ty)?;
    let rows: Vec<String> = output.held.iter().map(|(_, place)| place.clone()).collect();
    let columns = inputs.count();
    if rows.is_empty() {
        return Err(GradientError::NoFloat(output.value.to_string()));
    }
    let by_rows = || reverse(&prepared, name);
    let by_columns = || forward(&prepared, name, chunk(columns, options.chunk));
    let (derived, mode) = match options.mode {
        Some(Mode::Forward) => (by_columns()?, Mode::Forward),
        Some(Mode::Reverse) => (by_rows()?, Mode::Reverse),
        None if columns <= rows.len() => (by_columns()?, Mode::Forward),
        None => match by_rows() {
            Ok(derived) => (derived, Mode::Reverse),
            Err(error) => (by_columns().map_err(|_| error)?, Mode::Forward),
        },
    };
    let (derived, derivative) = derived;
    if derived.function(&derivative).is_none() {
        let error = GradientError::NeverReturns(name.clone());
        return Err(why_it_fails(error, &prepared.module, name, args, options.limits));
    }
    let chunk = if mode == Mode::Forward { chunk(columns, options.chunk) } else { 1 };
    let mut matrix = vec![vec![0.0; columns]; rows.len()];
    let mut output_of_runs = |_: &str| ();
    let mut calls = Calls::new(&derived, &derivative, &engine, &mut output_of_runs)?;
    match mode {
        Mode::Forward => {
            for first in (0..columns).step_by(chunk) {
                let result = calls.call(&inputs.along(first, chunk)?)?;
                let tangents = result.as_tuple().and_then(|elements| elements.get(1..)).unwrap_or_default();
                for (column, tangent) in (first..columns).zip(tangents) {
                    fill_column(&mut matrix, column, &output.floats(tangent)?);
                }
            }
        }
        Mode::Reverse => {
            for (index, row) in matrix.iter_mut().enumerate() {
                let mut operands = inputs.arguments()?;
                operands.push(output.seed(index)?);
                let result = calls.call(&operands)?;
                *row = inputs.floats(result.as_tuple().and_then(|elements| elements.get(1..)).unwrap_or_default())?;
            }
        }
    }
    let (value, columns, ran) = (output.value.clone(), inputs.labels.clone(), calls.ran());
    drop(calls);
    Ok(Jacobian { value, matrix, rows, columns, mode, chunk, module: derived, name: derivative, ran })
}

/// Puts tangents in a column.
pub(crate) fn fill_column(matrix: &mut [Vec<f64>], column: usize, tangents: &[f64]) {
    for (row, tangent) in matrix.iter_mut().zip(tangents) {
        if let Some(place) = row.get_mut(column) {
            *place = *tangent;
        }
    }
}

/// A result, and its tangents.
struct Output<'a> {
    machine: &'a Machine<'a>,
    value: Value,
    ty: Type,
    /// The floats that it holds: their numbers among those of a tangent, and where they are.
    held: Vec<(usize, String)>,
}

impl<'a> Output<'a> {
    fn new(machine: &'a Machine<'a>, value: Value, ty: Type) -> Result<Self, GradientError> {
        let mut output = Output { machine, value, ty, held: Vec::new() };
        output.held = held_floats(output.values(), &output.zeros()?)?;
        // What the walk calls the argument `_2` is the result itself.
        for (_, place) in &mut output.held {
            *place = place.strip_prefix("_2").unwrap_or(place).to_string();
        }
        Ok(output)
    }

    fn values(&self) -> &[Value] {
        std::slice::from_ref(&self.value)
    }

    fn zeros(&self) -> Result<Vec<Value>, GradientError> {
        self.machine.zero_tangents(self.values(), std::slice::from_ref(&self.ty)).map_err(run_error)
    }

    /// The cotangent that is 1 at the float of this row.
    fn seed(&self, row: usize) -> Result<Value, GradientError> {
        let at = self.held.get(row).map_or(0, |(at, _)| *at);
        let mut floats = vec![0.0; at];
        floats.push(1.0);
        let seed = self.machine.tangents_of_floats(&self.zeros()?, &floats).map_err(run_error)?;
        Ok(seed.into_iter().next().unwrap_or(Value::Nothing))
    }

    /// The floats of a tangent, a row each. That of a result of another shape is an error.
    fn floats(&self, tangent: &Value) -> Result<Vec<f64>, GradientError> {
        let all = tangent_floats(self.values(), &self.zeros()?, std::slice::from_ref(tangent)).map_err(shape_error)?;
        Ok(self.held.iter().map(|(at, _)| all.get(*at).copied().unwrap_or(0.0)).collect())
    }
}

fn forward(prepared: &Prepared, name: &str, directions: usize) -> Result<(Module<IRCode>, Name), GradientError> {
    let mut module = prepared.code.clone();
    let options = forward_mode::Options { with_respect_to: prepared.with_respect_to(), directions };
    let derivative = forward_mode::differentiate(&mut module, &name.into(), &options)?;
    Ok((into_ircode(module)?, derivative))
}

fn reverse(prepared: &Prepared, name: &str) -> Result<(Module<IRCode>, Name), GradientError> {
    let mut module = prepared.code.clone();
    let with_respect_to = prepared.with_respect_to();
    let options = reverse_mode::Options { with_respect_to, vjp: true, ..Default::default() };
    let derivative = reverse_mode::derive(&mut module, &name.into(), &options)?;
    Ok((into_ircode(module)?, derivative.names.vjp))
}
