//! Dynamic dispatch: the functions that tables of methods have for an object.

use ircode::{DerivativeKey, DerivativeKind, Name, Type};

use super::control::symbol;
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::Value;

type Result<T> = std::result::Result<T, Fault>;

/// `class_method(object, :name)`: the function in the method table of the object's own class. With `:vjp` or `:jvp`
/// behind it, and the numbers of parameters perhaps, that of a derivative.
pub(super) fn class_method(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "an object of a class, and a symbol that names a method";
    let [object, name, derivative @ ..] = args else { return Err(expected(EXPECTED)) };
    let Some(name) = symbol(name) else { return Err(expected(EXPECTED)) };
    let class = match object.type_of() {
        Type::Named(class) if runtime.module.class(&class).is_some() => class,
        other => return Err(missing(runtime, &format!("the type {other} is no class, and has no method {name}"))),
    };
    let derivative = derivative_key(derivative)?;
    match runtime.module.class_method(&class, name, derivative.as_ref()) {
        Some(entry) => Ok(Value::Function(entry.function.clone())),
        None => {
            let what = derivative.map_or(String::new(), |key| format!("{} of ", described(&key)));
            Err(missing(runtime, &format!("the class {class} has no {what}method {name}")))
        }
    }
}

/// `witness_method(object, :protocol, :name)`: the function that satisfies the requirement for objects of this type.
/// The type may be given instead of an object. With `:vjp` or `:jvp` behind it as for `class_method`.
pub(super) fn witness_method(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "an object or a type, and symbols that name a protocol and a requirement";
    let [object, protocol, name, derivative @ ..] = args else { return Err(expected(EXPECTED)) };
    let protocol = match protocol {
        Value::Symbol(name) | Value::Text(name) | Value::Function(name) => name.clone(),
        _ => return Err(expected(EXPECTED)),
    };
    let Some(name) = symbol(name) else { return Err(expected(EXPECTED)) };
    let of = match object {
        Value::Type(ty) => (**ty).clone(),
        object => object.type_of(),
    };
    let derivative = derivative_key(derivative)?;
    if runtime.module.witness(&of, &protocol).is_none() {
        return Err(missing(runtime, &format!("the type {of} does not conform to {protocol}")));
    }
    match runtime.module.witness_method(&of, &protocol, name, derivative.as_ref()) {
        Some(entry) => Ok(Value::Function(entry.function.clone())),
        None => {
            let what = derivative.map_or(String::new(), |key| format!("{} of ", described(&key)));
            Err(missing(runtime, &format!("the table of {of} for {protocol} has no {what}function {name}")))
        }
    }
}

fn missing(runtime: &Runtime<'_>, message: &str) -> Fault {
    runtime.exception("ErrorException", &["msg"], vec![Value::String(Name::from(message))])
}

/// Which derivative the last operands name, if any.
fn derivative_key(operands: &[Value]) -> Result<Option<DerivativeKey>> {
    const EXPECTED: &str = ":vjp or :jvp, and the numbers of parameters in ascending order";
    let Some((kind, numbers)) = operands.split_first() else { return Ok(None) };
    let kind = symbol(kind).and_then(DerivativeKind::of_name).ok_or_else(|| expected(EXPECTED))?;
    let number = |value: &Value| value.as_integer().and_then(|number| u32::try_from(number).ok());
    let with_respect_to: Option<Vec<u32>> = numbers.iter().map(number).collect();
    let with_respect_to = with_respect_to.filter(|numbers| numbers.is_sorted_by(|a, b| a < b));
    let with_respect_to = with_respect_to.ok_or_else(|| expected(EXPECTED))?;
    Ok(Some(DerivativeKey { kind, with_respect_to }))
}

fn described(key: &DerivativeKey) -> String {
    let numbers: String = key.with_respect_to.iter().map(|number| format!(" {number}")).collect();
    match numbers.is_empty() {
        true => key.kind.name().to_string(),
        false => format!("{} wrt{numbers}", key.kind.name()),
    }
}
