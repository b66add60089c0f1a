//! Closures: a function together with values of its last parameters.

use std::rc::Rc;

use ircode::{Callee, Name, Type};

use super::control::{position, unsupported};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::object::Kind;
use crate::value::{ClosureObject, ClosureRef, Value};

type Result<T> = std::result::Result<T, Fault>;

/// `partial_apply(f, captured…)`: what is captured are the last arguments of each call.
pub(super) fn partial_apply(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Function(function), captured @ ..] = args else {
        return Err(expected("a function, and what it captures"));
    };
    runtime.closure(function, captured.to_vec())
}

/// `applies(closure, f)`: whether it is a closure of this function.
pub(super) fn applies(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Closure(closure), Value::Function(function)] => {
            Ok(Value::from(runtime.is_same_function(&closure.0.function, function)))
        }
        // A function is called as it is.
        [_, Value::Function(_)] => Ok(Value::from(false)),
        _ => Err(expected("a closure and a function")),
    }
}

/// `captured(closure, f, i)`: the `i`-th captured value, counted from 1; the closure must be one of `f`.
pub(super) fn captured(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Closure(closure), Value::Function(function), number] = args else {
        return Err(expected("a closure, the function that it applies and a number"));
    };
    let value = position(number)?.and_then(|at| closure.0.fields.values().get(at));
    match value {
        Some(value) if runtime.is_same_function(&closure.0.function, function) => Ok(value.clone()),
        _ => {
            let message = format!("a closure of {} has no captured value {number} of {function}", closure.0.function);
            Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())]))
        }
    }
}

impl Runtime<'_> {
    /// A closure of a function that takes what is captured as its last parameters.
    pub(crate) fn closure(&self, function: &Name, captured: Vec<Value>) -> Result<Value> {
        let Some(ty) = self.module.closure_type_of(function, captured.len()) else {
            let count = captured.len();
            let what = format!("a closure of {function} that captures {count}, which does not take so many,");
            return Err(unsupported(what));
        };
        let types = self.captured_types(function, captured.len());
        if let Some((value, ty)) =
            captured.iter().zip(&types).find(|(value, ty)| self.known_isa(value, ty) == Some(false))
        {
            return Err(unsupported(format!(
                "capturing {value}, {}, where {function} takes {},",
                value.type_of().with_article(),
                ty.with_article()
            )));
        }
        let fields = self.meter.fields(Kind::Closure, captured)?;
        Ok(Value::Closure(ClosureRef(Rc::new(ClosureObject { ty, function: function.clone(), fields }))))
    }

    /// The types of so many of the last parameters of a function.
    pub(crate) fn captured_types(&self, function: &Name, count: usize) -> Vec<Type> {
        self.module.captured_types_of(function, count).unwrap_or_else(|| vec![Type::Any; count])
    }

    fn is_same_function(&self, a: &Name, b: &Name) -> bool {
        a == b
            || match (self.module.function_callee(a), self.module.function_callee(b)) {
                (Callee::Function(a), Callee::Function(b)) => a == b,
                (Callee::Primitive(a), Callee::Primitive(b)) => a.name == b.name,
                _ => false,
            }
    }
}
