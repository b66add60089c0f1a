//! From a module to a gradient, in one step.

use bbcode::{BBCode, ConversionError};
use exec::{Limits, Machine, RunError, Value};
use ircode::{IRCode, Module, Name, Type};
use passes::reverse_mode::{DerivativeNames, differentiate};
use passes::{PassError, infer_types, run_on_function};

/// A module keyed by ID.
///
/// # Errors
///
/// [`ConversionError`], which verified code without pending nodes never gives.
pub fn to_bbcode(module: &Module<IRCode>) -> Result<Module<BBCode>, ConversionError> {
    module.map(|function| BBCode::try_from(&function.body))
}

/// A module numbered by position.
///
/// # Errors
///
/// [`ConversionError`], which verified code never gives.
pub fn to_ircode(module: &Module<BBCode>) -> Result<Module<IRCode>, ConversionError> {
    module.map(|function| IRCode::try_from(&function.body))
}

/// A value with its gradient.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// The value of the function.
    pub value: Value,
    /// One cotangent an argument, from `_2` on; `nothing` where the argument has no tangent.
    pub gradient: Vec<Value>,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What these are called.
    pub names: DerivativeNames,
}

/// Why there is no gradient.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GradientError {
    /// The code cannot be converted.
    #[error("{0}")]
    Conversion(#[from] ConversionError),
    /// The function cannot be differentiated.
    #[error("{0}")]
    Pass(#[from] PassError),
    /// The function fails on these arguments.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The function gives something that is no number, for all that the listing shows: a global of which it does not
    /// say the value.
    #[error("the value is {0}, which is no number")]
    NoNumber(String),
}

/// The value of a function and its gradient, by reverse-mode differentiation. Types of arguments that the function does not
/// declare are taken from `args`.
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
/// let result = bbkit::gradient(&parsed.module, "f", &[Value::from(3.0), Value::from(4.0)], Default::default())?;
/// assert_eq!(result.value.to_string(), "12.0");
/// assert_eq!(result.gradient.iter().map(Value::to_string).collect::<Vec<_>>(), ["4.0", "3.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`].
pub fn gradient(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
) -> Result<Gradient, GradientError> {
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let (derived, names) = derivative(module, name, &types)?;
    if derived.function(&names.value_and_gradient).is_none() {
        // A function that never returns has no derivative: it fails before.
        let value = Machine::with_limits(module, limits).call(name, args)?;
        return Err(GradientError::NoNumber(value.to_string()));
    }
    let module = derived;
    let result = Machine::with_limits(&module, limits).call(&names.value_and_gradient, args)?;
    let mut elements = result.as_tuple().unwrap_or_default().iter().cloned();
    let value = elements.next().unwrap_or(Value::Nothing);
    if value.as_scalar().is_none() {
        return Err(GradientError::NoNumber(value.to_string()));
    }
    Ok(Gradient { value, gradient: elements.collect(), module, names })
}

/// The module with the derivative of a function, and what its functions are called: to be run by a machine of the
/// caller's own, for which [primitives of the host](Machine::define) are defined. `types` are those of the arguments
/// from `_2` on, for those that the function does not declare.
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated.
pub fn derivative(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
) -> Result<(Module<IRCode>, DerivativeNames), GradientError> {
    let mut module = to_bbcode(module)?;
    let name = Name::from(name);
    specialize(&mut module, &name, types)?;
    let names = differentiate(&mut module, &name)?;
    Ok((to_ircode(&module)?, names))
}

/// The module with the types that a function does not show taken from its arguments: what a listing needs to be run, as
/// it does not show the widths of its integer literals.
///
/// # Errors
///
/// [`GradientError`] if the code cannot be converted, which verified code always can.
pub fn specialized(module: &Module<IRCode>, name: &str, args: &[Value]) -> Result<Module<IRCode>, GradientError> {
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let mut module = to_bbcode(module)?;
    specialize(&mut module, &Name::from(name), &types)?;
    Ok(to_ircode(&module)?)
}

/// Takes types that a function does not show from those of its arguments.
pub(crate) fn specialize(module: &mut Module<BBCode>, name: &Name, types: &[Type]) -> Result<(), PassError> {
    let Some(body) = module.body_mut(name) else { return Ok(()) };
    if body.julia.is_some() {
        // A dump of Julia's own code has all types and the widths of all literals.
        return Ok(());
    }
    let mut body = std::mem::take(body);
    let context = passes::Context { module, function: name };
    let result = infer_types::specialize(&mut body, &context, types);
    if let Some(place) = module.body_mut(name) {
        *place = body;
    }
    result?;
    // What the others call is known better now.
    for other in module.functions().iter().map(|function| function.name.clone()).collect::<Vec<_>>() {
        run_on_function(module, &other, passes::type_literals::run)?;
    }
    Ok(())
}
