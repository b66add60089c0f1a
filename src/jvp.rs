//! From a module to a derivative in a direction, in one step.

use std::collections::BTreeSet;

use bbcode::BBCode;
use exec::{Limits, Machine, Value, share_objects};
use ircode::{IRCode, Module, Name, Type};
use passes::forward_mode::{Options, differentiate};

use crate::GradientError;
use crate::directions::Forms;
use crate::engine::{Ran, RunOptions, run};
use crate::gradient::{check_arity, into_ircode, run_error, specialize, verified};

/// A value with its tangents.
#[derive(Clone, Debug)]
pub struct Jvp {
    /// The value of the function.
    pub value: Value,
    /// Its tangents, one a direction; `nothing` for a value that has none.
    pub tangents: Vec<Value>,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What the derivative is called.
    pub name: Name,
    /// What has run it.
    pub ran: Ran,
}

/// The value of a function and its derivatives in some directions, by forward-mode differentiation. A direction has one
/// tangent for each argument, in the form that [`ircode::tangents`] describes: a float for a float, a tuple for a tuple
/// or an immutable struct, an array for an array, `nothing` where the type has none. [`Machine::tangent_from_json`] and
/// [`Machine::zero_tangent`] make them. Types of arguments that the function does not declare are taken from `args`.
///
/// For any argument `nothing` is zero. With respect to a float that is `nothing` in all directions the function is not
/// differentiated: what is done with it needs no derivative.
///
/// Objects among the arguments and tangents are changed in place as the function changes them; a direction that shares
/// objects with the arguments, or with a direction before it, is copied first. Where two arguments are one object,
/// their tangents must be one object, too, and only there.
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
/// let directions = [vec![Value::from(1.0), Value::from(0.0)], vec![Value::from(0.5), Value::from(2.0)]];
/// let result = bbkit::jvp(&parsed.module, "f", &at, &directions, Default::default())?;
/// assert_eq!(result.value.to_string(), "12.0");
/// assert_eq!(result.tangents.iter().map(Value::to_string).collect::<Vec<_>>(), ["4.0", "8.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated, or fails on these arguments;
/// [`GradientError::Direction`] and [`GradientError::Tangent`] for tangents that do not belong to the arguments.
pub fn jvp(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    directions: &[Vec<Value>],
    limits: Limits,
) -> Result<Jvp, GradientError> {
    jvp_with(module, name, args, directions, &limits.into())
}

/// The value of a function and its derivatives in some directions, as [`jvp`] gives them, run as the options say.
///
/// # Errors
///
/// As [`jvp`]; [`GradientError::NotNative`] too.
pub fn jvp_with(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    directions: &[Vec<Value>],
    options: &RunOptions,
) -> Result<Jvp, GradientError> {
    let forms = Forms::of(module, name, args);
    let machine = Machine::with_limits(module, options.limits);
    let completed = directions.iter().map(|direction| forms.complete(&machine, direction));
    let mut completed = completed.collect::<Result<Vec<_>, _>>()?;
    drop(machine);
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let name = &module.full_name(name);
    check_arity(module, name, args.len())?;
    let constants = constants(module, name, args, directions);
    for direction in &mut completed {
        for &index in &constants {
            if let Some(tangent) = direction.get_mut(index) {
                *tangent = Value::Nothing;
            }
        }
    }
    let with_respect_to = (!constants.is_empty()).then(|| with_tangents(module, name, &completed));
    let derived_as = Options { directions: completed.len(), with_respect_to };
    let (derived, derivative) = jvp_function(module, name, &types, &derived_as)?;
    let machine = Machine::with_limits(&derived, options.limits);
    let mut all = packed(&machine, module, name, args)?;
    for direction in completed {
        let given = packed(&machine, module, name, &direction)?;
        // What changes its argument would change the tangent, too, or that of another direction.
        let own = if share_objects(&all, &given) { machine.copies(&given).map_err(run_error)? } else { given };
        all.extend(own);
    }
    drop(machine);
    let (result, ran) = run(&derived, &derivative, &all, options)?;
    let mut elements = result.as_tuple().unwrap_or_default().iter().cloned();
    let value = elements.next().unwrap_or(Value::Nothing);
    let tangents = elements.collect();
    Ok(Jvp { value, tangents, module: derived, name: derivative, ran })
}

/// The floats among the arguments that are left out of all directions, counted from 0.
fn constants(module: &Module<IRCode>, name: &str, args: &[Value], directions: &[Vec<Value>]) -> Vec<usize> {
    let own = first_collected(module, name).unwrap_or(args.len());
    let is_left_out = |index: usize| directions.iter().all(|given| matches!(given.get(index), Some(Value::Nothing)));
    let floats = args.iter().take(own).enumerate().filter(|(_, arg)| arg.as_float().is_some());
    floats.map(|(index, _)| index).filter(|index| is_left_out(*index)).collect()
}

/// The numbers of the parameters that have a tangent in one of the directions: 2 is `_2`.
fn with_tangents(module: &Module<IRCode>, name: &str, directions: &[Vec<Value>]) -> Vec<usize> {
    let last = first_collected(module, name).unwrap_or(usize::MAX);
    let tangents = directions.iter().flat_map(|direction| direction.iter().enumerate());
    let given = tangents.filter(|(_, tangent)| !matches!(tangent, Value::Nothing));
    let numbers: BTreeSet<usize> = given.map(|(index, _)| index.min(last) + 2).collect();
    numbers.into_iter().collect()
}

/// How many arguments a function takes before it collects those that follow, if it collects any.
fn first_collected(module: &Module<IRCode>, name: &str) -> Option<usize> {
    let collecting = module.function(name).filter(|function| function.varargs);
    collecting.map(|function| function.body.argtypes.len().saturating_sub(2))
}

/// Arguments, or their tangents, as a derivative takes them: what the function collects, its derivative takes as a
/// tuple.
pub(crate) fn packed(
    machine: &Machine<'_>,
    module: &Module<IRCode>,
    name: &str,
    values: &[Value],
) -> Result<Vec<Value>, GradientError> {
    let Some(fixed) = first_collected(module, name) else { return Ok(values.to_vec()) };
    let (own, collected) = values.split_at(fixed.min(values.len()));
    let mut all = own.to_vec();
    all.push(machine.tuple(collected.to_vec()).map_err(run_error)?);
    Ok(all)
}

/// The module with the forward-mode derivative of a function, and what that is called: to be run by a machine of the
/// caller's own. `types` are those of the arguments from `_2` on, for those that the function does not declare.
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated.
pub fn jvp_function(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
    options: &Options,
) -> Result<(Module<IRCode>, Name), GradientError> {
    let name = module.full_name(name);
    let mut module: Module<BBCode> = verified(module, &name)?;
    specialize(&mut module, &name, types)?;
    let derivative = differentiate(&mut module, &name, options)?;
    Ok((into_ircode(module)?, derivative))
}
