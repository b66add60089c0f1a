//! From a module to a derivative that is applied to directions later, in one step.

use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Name, Type};
use passes::linearization::{LinearizationNames, Options, differentiate};

use crate::GradientError;
use crate::directions::Forms;
use crate::gradient::{check_arity, into_ircode, run_error, specialize, verified};
use crate::jvp::packed;

/// A value with its differential.
#[derive(Clone, Debug)]
pub struct Linearization {
    /// The value of the function.
    pub value: Value,
    /// The differential, a closure that takes a tangent for each argument.
    pub differential: Value,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What these are called.
    pub names: LinearizationNames,
    /// The function.
    function: Name,
    /// The forms of the arguments that it was given.
    forms: Forms,
}

impl Linearization {
    /// The derivative of the value in a direction, which has one tangent for each argument, as [`jvp`](crate::jvp())
    /// takes them. The function does not run again.
    ///
    /// # Errors
    ///
    /// [`GradientError::Direction`] and [`GradientError::Tangent`]; else an error of the run.
    pub fn apply(&self, direction: &[Value], limits: Limits) -> Result<Value, GradientError> {
        let mut machine = Machine::with_limits(&self.module, limits);
        let direction = self.forms.complete(&machine, direction)?;
        // They may be objects that are arguments, too, or are to be used again.
        let direction = machine.copies(&direction).map_err(run_error)?;
        let tangents = packed(&machine, &self.module, &self.function, &direction)?;
        Ok(machine.apply(&self.differential, &tangents)?)
    }
}

/// The value of a function and its differential, which gives the derivative in any direction: [`passes::linearization`]
/// has how. Types of arguments that the function does not declare are taken from `args`.
///
/// Objects among the arguments are changed in place as the function changes them; those among the tangents are copied.
/// Where two arguments are one object, their tangents must be one object, too, and only there.
///
/// ```
/// use exec::Value;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, y)::Float64
/// └──      return %1
/// end
/// ")?;
/// let at = [Value::from(3.0), Value::from(4.0)];
/// let linear = bbkit::linearize(&parsed.module, "f", &at, Default::default())?;
/// assert_eq!(linear.value.to_string(), "12.0");
/// let in_direction = |dx: f64, dy: f64| linear.apply(&[Value::from(dx), Value::from(dy)], Default::default());
/// assert_eq!(in_direction(1.0, 0.0)?.to_string(), "4.0");
/// assert_eq!(in_direction(0.5, 2.0)?.to_string(), "8.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated, or fails on these arguments.
pub fn linearize(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
) -> Result<Linearization, GradientError> {
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let name = &module.full_name(name);
    check_arity(module, name, args.len())?;
    let (derived, names) = linearized_function(module, name, &types, &Options::default())?;
    let mut machine = Machine::with_limits(&derived, limits);
    // Directions belong to the arguments as they are now: the call may change them.
    let forms = Forms::of(module, name, &machine.copies(args).map_err(run_error)?);
    let args = packed(&machine, module, name, args)?;
    let result = machine.call(&names.linearized, &args)?;
    let mut elements = result.as_tuple().unwrap_or_default().iter().cloned();
    let value = elements.next().unwrap_or(Value::Nothing);
    let differential = elements.next().unwrap_or(Value::Nothing);
    drop(machine);
    Ok(Linearization { value, differential, module: derived, names, function: name.clone(), forms })
}

/// The module with the linearization of a function, and what that is called: to be run by a machine of the caller's
/// own. `types` are those of the arguments from `_2` on, for those that the function does not declare.
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated.
pub fn linearized_function(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
    options: &Options,
) -> Result<(Module<IRCode>, LinearizationNames), GradientError> {
    let name = module.full_name(name);
    let mut module: Module<BBCode> = verified(module, &name)?;
    specialize(&mut module, &name, types)?;
    let names = differentiate(&mut module, &name, options)?;
    Ok((into_ircode(module)?, names))
}
