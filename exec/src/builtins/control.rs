//! Comparing, testing types, throwing; arithmetic that returns a pair.

use std::sync::Arc;

use ircode::primitives::{Failure, Overflow, overflowing};
use ircode::{Scalar, Type};

use super::{Runtime, expected};
use crate::display::printed;
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::value::{Value, open_type};

type Result<T> = std::result::Result<T, Fault>;

fn checked(runtime: &mut Runtime<'_>, args: &[Value], operation: Overflow, signed: bool) -> Result<Value> {
    let [Value::Scalar(a), Value::Scalar(b)] = args else { return Err(expected("two integers")) };
    match overflowing(operation, signed, a, b) {
        Ok((value, overflow)) => runtime.tuple(vec![Value::Scalar(value), Value::from(overflow)]),
        Err(Failure::Operands(what)) => Err(expected(what)),
        Err(Failure::Exception(_)) => Err(expected("two integers")),
    }
}

pub(super) fn checked_sadd(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Add, true)
}

pub(super) fn checked_uadd(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Add, false)
}

pub(super) fn checked_ssub(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Sub, true)
}

pub(super) fn checked_usub(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Sub, false)
}

pub(super) fn checked_smul(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Mul, true)
}

pub(super) fn checked_umul(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    checked(runtime, args, Overflow::Mul, false)
}

pub(super) fn egal(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    are_egal(args).map(Value::from)
}

pub(super) fn not_egal(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    are_egal(args).map(|egal| Value::from(!egal))
}

fn are_egal(args: &[Value]) -> Result<bool> {
    let [a, b] = args else { return Err(expected("two values")) };
    if let (Value::Text(a), Value::Text(b)) = (a, b)
        && a != b
        && [a, b].into_iter().any(|text| !text.ends_with(')'))
    {
        // One of them is known by a name only, and another name may be that of the same object.
        let what = format!("comparing {a} and {b}, of which only the names are known,");
        return Err(Fault::Fatal(RunErrorKind::Unsupported(what)));
    }
    Ok(a.egal(b))
}

pub(super) fn ifelse(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Scalar(Scalar::Bool(condition)), a, b] => Ok(if *condition { a.clone() } else { b.clone() }),
        _ => Err(expected("a Bool and two values")),
    }
}

pub(super) fn identity(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    args.first().cloned().ok_or_else(|| expected("a value"))
}

pub(super) fn isa(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value, asked] = args else { return Err(expected("a value and a type")) };
    answered(runtime, value, &*asked_type(asked)?).map(Value::from)
}

/// The type that a value is, or that it names.
fn asked_type(value: &Value) -> Result<Arc<Type>> {
    match value {
        Value::Type(ty) => Ok(ty.clone()),
        Value::Text(name) => Ok(Arc::new(Type::parse(name))),
        Value::Function(name) => Ok(Arc::new(Type::named(name.clone()))),
        _ => Err(expected("a value and a type")),
    }
}

/// Whether a value is of a type; an error if the program leaves that open.
fn answered(runtime: &Runtime<'_>, value: &Value, ty: &Type) -> Result<bool> {
    runtime.known_isa(value, ty).ok_or_else(|| Fault::Fatal(open_type(value, ty)))
}

pub(super) fn type_of(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [value] => Ok(Value::Type(Arc::new(value.type_of()))),
        _ => Err(expected("a value")),
    }
}

pub(super) fn typeassert(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value, asserted] = args else { return Err(expected("a value and a type")) };
    let ty = asked_type(asserted)?;
    if answered(runtime, value, &ty)? {
        return Ok(value.clone());
    }
    let function = Value::Symbol("typeassert".into());
    let fields = vec![function, Value::String("".into()), Value::Type(ty), value.clone()];
    Err(runtime.exception("TypeError", &["func", "context", "expected", "got"], fields))
}

/// The number that a value is; what is no number has no arithmetic.
pub(super) fn assert_number(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value, asserted] = args else { return Err(expected("a value and a type")) };
    let ty = asked_type(asserted)?;
    if answered(runtime, value, &ty)? {
        return Ok(value.clone());
    }
    Err(runtime.method_error("convert", &[Value::Type(ty), value.clone()]))
}

pub(super) fn throw(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        // An exception of which only the text is known: `ErrorException("message")`.
        [value] => Err(Fault::Throw(value.clone())),
        _ => Err(expected("a value")),
    }
}

pub(super) fn error(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let message: String = args.iter().map(printed).collect();
    Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())]))
}

/// `throw_complex_domainerror(:sqrt, x)`.
pub(super) fn throw_complex_domainerror(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Symbol(function), value] = args else { return Err(expected("the name of a function and a value")) };
    let message = format!("{function} will only return a complex result if called with a complex argument.");
    let fields = vec![value.clone(), Value::String(message.into())];
    Err(runtime.exception("DomainError", &["val", "msg"], fields))
}

pub(super) fn throw_exp_domainerror(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let message = "Exponentiation yielding a complex result requires a complex argument.";
    let fields = args.iter().cloned().chain([Value::String(message.into())]).collect();
    Err(runtime.exception("DomainError", &["val", "msg"], fields))
}

pub(super) fn throw_boundserror(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Err(runtime.exception("BoundsError", &["a", "i"], args.to_vec()))
}

pub(super) fn throw_inexacterror(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    Err(runtime.exception("InexactError", &["func", "T", "val"], args.to_vec()))
}

pub(super) fn throw_overflowerr_binaryop(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [operation, a, b] = args else { return Err(expected("an operation and two values")) };
    let message = format!("{} {} {} overflowed", printed(a), printed(operation), printed(b));
    Err(runtime.exception("OverflowError", &["msg"], vec![Value::String(message.into())]))
}

/// The value of an exception that is made but not thrown.
fn made(fault: Fault) -> Result<Value> {
    match fault {
        Fault::Throw(value) => Ok(value),
        other => Err(other),
    }
}

pub(super) fn error_exception(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    made(runtime.exception("ErrorException", &["msg"], args.to_vec()))
}

pub(super) fn domain_error(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let mut fields = args.to_vec();
    fields.resize(2, Value::Nothing);
    made(runtime.exception("DomainError", &["val", "msg"], fields))
}

pub(super) fn argument_error(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    made(runtime.exception("ArgumentError", &["msg"], args.to_vec()))
}

pub(super) fn bounds_error(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let mut fields = args.to_vec();
    fields.resize(2, Value::Nothing);
    made(runtime.exception("BoundsError", &["a", "i"], fields))
}

pub(super) fn divide_error(runtime: &mut Runtime<'_>, _: &[Value]) -> Result<Value> {
    made(runtime.exception("DivideError", &[], vec![]))
}

/// An index as a program gives it, counted from 1.
pub(super) fn index(value: &Value) -> Result<i128> {
    value.as_integer().ok_or_else(|| expected("an integer as index"))
}

/// The position, counted from 0, that an index names; none where nothing can be.
pub(super) fn position(value: &Value) -> Result<Option<usize>> {
    Ok(index(value)?.checked_sub(1).and_then(|at| usize::try_from(at).ok()))
}

/// The name that a constant operand gives.
pub(super) fn symbol(value: &Value) -> Option<&str> {
    match value {
        Value::Symbol(name) => Some(name),
        _ => None,
    }
}

/// What cannot be done, in words.
pub(crate) fn unsupported(what: String) -> Fault {
    Fault::Fatal(RunErrorKind::Unsupported(what))
}
