//! Differentiable functions: a closure together with its derivatives.

use std::rc::Rc;

use ircode::Type;

use super::closures::partial_apply;
use super::control::unsupported;
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::object::Kind;
use crate::value::{DifferentiableFunctionObject, DifferentiableFunctionRef, Value};

type Result<T> = std::result::Result<T, Fault>;

/// `differentiable_function(f, numbers…)`: the bundle of a function whose derivatives nobody has filled in.
pub(super) fn differentiable_function(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [original, numbers @ ..] => bundle(runtime, original, None, numbers),
        [] => Err(expected("a function or closure, and the numbers of parameters")),
    }
}

/// `differentiable_function_with(f, jvp, vjp, numbers…)`: the bundle of a function and its derivatives.
pub(super) fn differentiable_function_with(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [original, jvp, vjp, numbers @ ..] => bundle(runtime, original, Some([jvp, vjp]), numbers),
        _ => Err(expected("a function or closure, its JVP and VJP, and the numbers of parameters")),
    }
}

/// `original_of(d)`: the closure of which `d` is the bundle.
pub(super) fn original_of(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    part(args, 0)
}

/// `jvp_of(d, numbers…)`: the JVP of a bundle. An exception if the module was not canonicalised, or if it is with
/// respect to other parameters than those that are given, if any are.
pub(super) fn jvp_of(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    derivative(runtime, args, 1, "JVP")
}

/// `vjp_of(d, numbers…)`: the VJP of a bundle, as `jvp_of`.
pub(super) fn vjp_of(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    derivative(runtime, args, 2, "VJP")
}

fn bundle(
    runtime: &mut Runtime<'_>,
    original: &Value,
    derivatives: Option<[&Value; 2]>,
    numbers: &[Value],
) -> Result<Value> {
    let original = closure(runtime, original)?;
    let Type::Closure(ty) = original.type_of() else { return Err(expected("a function or closure")) };
    let count = ty.parameters.len();
    let numbers = parameter_numbers(numbers)?;
    if let Some(missing) = numbers.iter().find(|&&number| number < 2 || number > count + 1) {
        let what = format!("a derivative with respect to _{missing} of {original}, which has no such parameter,");
        return Err(unsupported(what));
    }
    let [jvp, vjp] = match derivatives {
        Some([jvp, vjp]) => [closure(runtime, jvp)?, closure(runtime, vjp)?],
        None => [Value::Nothing, Value::Nothing],
    };
    let fields = runtime.meter.fields(Kind::Struct, vec![original, jvp, vjp])?;
    let object =
        DifferentiableFunctionObject { ty: Type::DifferentiableFunction(ty), with_respect_to: numbers, fields };
    Ok(Value::DifferentiableFunction(DifferentiableFunctionRef(Rc::new(object))))
}

/// A closure as it is, and of a function one that captures nothing.
fn closure(runtime: &mut Runtime<'_>, value: &Value) -> Result<Value> {
    match value {
        Value::Closure(_) => Ok(value.clone()),
        Value::Function(_) => partial_apply(runtime, std::slice::from_ref(value)),
        _ => Err(expected("a function or closure")),
    }
}

fn parameter_numbers(values: &[Value]) -> Result<Vec<usize>> {
    let number = |value: &Value| value.as_integer().and_then(|number| usize::try_from(number).ok());
    let numbers: Option<Vec<usize>> = values.iter().map(number).collect();
    let numbers = numbers.filter(|numbers| numbers.is_sorted_by(|a, b| a < b));
    numbers.ok_or_else(|| expected("the numbers of parameters, in ascending order"))
}

fn part(args: &[Value], index: usize) -> Result<Value> {
    match args {
        [Value::DifferentiableFunction(bundle)] => {
            Ok(bundle.0.fields.values().get(index).cloned().unwrap_or(Value::Nothing))
        }
        _ => Err(expected("a differentiable function")),
    }
}

fn derivative(runtime: &Runtime<'_>, args: &[Value], index: usize, what: &str) -> Result<Value> {
    let [Value::DifferentiableFunction(bundle), numbers @ ..] = args else {
        return Err(expected("a differentiable function, and the numbers of parameters perhaps"));
    };
    let (found, original) = (part(&args[..1], index)?, part(&args[..1], 0)?);
    let numbers = parameter_numbers(numbers)?;
    let has = &bundle.0.with_respect_to;
    let message = if matches!(found, Value::Nothing) {
        format!(
            "the differentiable function {original} has no {what}: the module was not canonicalised, which the pass \
             differentiability does"
        )
    } else if !numbers.is_empty() && numbers != *has {
        format!("the {what} of {original} is with respect to {has:?}, and one with respect to {numbers:?} is wanted")
    } else {
        return Ok(found);
    };
    Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())]))
}
