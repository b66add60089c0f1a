//! Products of Hessians and vectors: forward mode over reverse mode.

use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Name, Type};
use passes::forward_mode;
use passes::reverse_mode::{self, DerivativeNames};

use crate::GradientError;
use crate::directions::Forms;
use crate::engine::{Ran, RunOptions, run};
use crate::gradient::{check_arity, into_ircode, run_error, specialize, verified};
use crate::jvp::packed;

/// The value of a function, its gradient, and the product of its Hessian and a vector.
#[derive(Clone, Debug)]
pub struct Hvp {
    /// The value of the function.
    pub value: Value,
    /// One cotangent an argument, from `_2` on; `nothing` where the argument has no tangent.
    pub gradient: Vec<Value>,
    /// The derivative of the gradient in the direction of the vector, in the form of the gradient.
    pub product: Vec<Value>,
    /// The module with the functions of the derivatives.
    pub module: Module<IRCode>,
    /// What these are called, and the function that computes all three.
    pub names: HvpNames,
    /// What has run it.
    pub ran: Ran,
}

/// What the functions of a second derivative are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HvpNames {
    /// Those of the derivative by reverse mode.
    pub reverse: DerivativeNames,
    /// The derivative of `f_value_and_gradient` by forward mode:
    /// `(args…, tangents…) -> ((value, gradient…), (tangent of the value, tangents of the gradient…))`.
    pub directional: Name,
}

/// The value of a function, its gradient, and the product of its Hessian and a vector, by forward mode over reverse
/// mode: what this costs does not depend on the number of arguments, and the Hessian is never made. The vector has one
/// tangent for each argument, as for [`jvp`](crate::jvp()). Types of arguments that the function does not declare are
/// taken from `args`.
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
/// let (at, along) = ([Value::from(3.0), Value::from(4.0)], [Value::from(1.0), Value::from(0.0)]);
/// let result = bbkit::hvp(&parsed.module, "f", &at, &along, Default::default())?;
/// let shown = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>();
/// assert_eq!(shown(&result.gradient), ["24.0", "9.0"]);
/// assert_eq!(shown(&result.product), ["8.0", "6.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function, or its gradient, cannot be differentiated, or if it fails on these arguments;
/// [`GradientError::Direction`] and [`GradientError::Tangent`] for a vector that does not belong to the arguments.
pub fn hvp(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    vector: &[Value],
    limits: Limits,
) -> Result<Hvp, GradientError> {
    hvp_with(module, name, args, vector, &limits.into())
}

/// The value of a function, its gradient, and the product of its Hessian and a vector, as [`hvp`] gives them, run as
/// the options say.
///
/// # Errors
///
/// As [`hvp`]; [`GradientError::NotNative`] too.
pub fn hvp_with(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    vector: &[Value],
    options: &RunOptions,
) -> Result<Hvp, GradientError> {
    let vector = Forms::of(module, name, args).complete(&Machine::with_limits(module, options.limits), vector)?;
    let name = &module.full_name(name);
    check_arity(module, name, args.len())?;
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let limits = options.limits;
    let derived = hvp_function(module, name, &types, &forward_mode::Options::default());
    let (derived, names) = derived.map_err(|error| why_it_fails(error, module, name, args, limits))?;
    let machine = Machine::with_limits(&derived, limits);
    let mut all = packed(&machine, module, name, args)?;
    // The vector may be the arguments themselves, which the function may change.
    let vector = machine.copies(&vector).map_err(run_error)?;
    all.extend(packed(&machine, module, name, &vector)?);
    drop(machine);
    let (result, ran) = run(&derived, &names.directional, &all, options)?;
    let part = |index: usize| {
        let elements = result.as_tuple().and_then(|parts| parts.get(index)).and_then(Value::as_tuple);
        elements.unwrap_or_default().to_vec().into_iter()
    };
    let (mut primal, mut tangent) = (part(0), part(1));
    let value = primal.next().unwrap_or(Value::Nothing);
    tangent.next();
    if value.as_float().is_none() {
        return Err(GradientError::NoFloat(value.to_string()));
    }
    let (gradient, product) = (primal.collect(), tangent.collect());
    Ok(Hvp { value, gradient, product, module: derived, names, ran })
}

/// The error of a function on these arguments, where this one says that it never returns.
pub(crate) fn why_it_fails(
    error: GradientError,
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
) -> GradientError {
    match error {
        GradientError::NeverReturns(_) => match Machine::with_limits(module, limits).call(name, args) {
            Ok(value) => GradientError::NoFloat(value.to_string()),
            Err(error) => error.into(),
        },
        error => error,
    }
}

/// The module with the derivative of a function's gradient in directions, and what its functions are called: to be run
/// by a machine of the caller's own. `types` are those of the arguments from `_2` on, for those that the function does
/// not declare; the gradient is with respect to the arguments of the options, too.
///
/// # Errors
///
/// [`GradientError`] if the function, or its gradient, cannot be differentiated.
pub fn hvp_function(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
    options: &forward_mode::Options,
) -> Result<(Module<IRCode>, HvpNames), GradientError> {
    let name = module.full_name(name);
    let mut module: Module<BBCode> = verified(module, &name)?;
    specialize(&mut module, &name, types)?;
    second_derivative(module, &name, options)
}

/// As [`hvp_function`], for a function whose types are known.
pub(crate) fn second_derivative(
    mut module: Module<BBCode>,
    name: &Name,
    options: &forward_mode::Options,
) -> Result<(Module<IRCode>, HvpNames), GradientError> {
    let with_respect_to = options.with_respect_to.clone();
    let of_gradient = reverse_mode::Options { with_respect_to, ..Default::default() };
    let reverse = reverse_mode::derive(&mut module, name, &of_gradient)?.names;
    if module.function(&reverse.value_and_gradient).is_none() {
        return Err(GradientError::NeverReturns(name.clone()));
    }
    let directional = forward_mode::differentiate(&mut module, &reverse.value_and_gradient, options)?;
    Ok((into_ircode(module)?, HvpNames { reverse, directional }))
}
