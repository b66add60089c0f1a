//! Enums: one of several cases, each with a payload.

use std::rc::Rc;

use ircode::{Name, Type, TypeKind};

use super::control::{position, symbol, unsupported};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::object::Kind;
use crate::value::{EnumObject, EnumRef, Value, isa};

type Result<T> = std::result::Result<T, Fault>;

/// `new_case(T, :case, payload…)`.
pub(super) fn new_case(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    const EXPECTED: &str = "an enum type, one of its cases, and the payload";
    let [Value::Type(ty), Value::Symbol(case), payload @ ..] = args else { return Err(expected(EXPECTED)) };
    let Type::Named(name) = &**ty else { return Err(expected(EXPECTED)) };
    let Some(TypeKind::Enum { cases }) = runtime.module.type_def(name).map(|def| &def.kind) else {
        return Err(unsupported(format!("the enum {name}, which the module does not declare,")));
    };
    if cases.iter().all(|(known, _)| known != case) {
        return Err(unsupported(format!("the case {case} of {name}, which has none of that name,")));
    }
    runtime.enum_case(ty, case, payload.to_vec())?.ok_or_else(|| expected(EXPECTED))
}

impl Runtime<'_> {
    /// A case of an enum; `None` if the module declares no such enum or case, or one of another payload.
    pub(crate) fn enum_case(&self, ty: &Type, case: &Name, payload: Vec<Value>) -> Result<Option<Value>> {
        let Type::Named(name) = ty else { return Ok(None) };
        let Some(TypeKind::Enum { cases }) = self.module.type_def(name).map(|def| &def.kind) else { return Ok(None) };
        let Some((_, types)) = cases.iter().find(|(known, _)| known == case) else { return Ok(None) };
        if types.len() != payload.len() || !payload.iter().zip(types).all(|(value, ty)| isa(value, ty)) {
            return Ok(None);
        }
        let fields = self.meter.fields(Kind::Case, payload)?;
        let ty = self.module.as_declared(ty).unwrap_or_else(|| ty.clone());
        Ok(Some(Value::Enum(EnumRef(Rc::new(EnumObject { ty, case: case.clone(), fields })))))
    }
}

/// `is_case(value, :case)`.
pub(super) fn is_case(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Enum(object), case] if symbol(case).is_some() => {
            Ok(Value::from(symbol(case) == Some(object.0.case.as_str())))
        }
        _ => Err(expected("an enum and the name of a case")),
    }
}

/// `payload(value, :case, i)`: the `i`-th part of the payload, counted from 1; the value must be of that case.
pub(super) fn payload(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Enum(object), case, number] = args else {
        return Err(expected("an enum, the name of a case and a number"));
    };
    let part = position(number)?.and_then(|at| object.0.fields.values().get(at));
    match part {
        Some(value) if symbol(case) == Some(object.0.case.as_str()) => Ok(value.clone()),
        _ => {
            // Without the type and what it holds: passes that specialise enums keep errors as they are.
            let is = &object.0.case;
            let message = match symbol(case) {
                Some(asked) if asked != is.as_str() => {
                    format!("an enum of the case {is} is taken for the case {asked}")
                }
                _ => format!("the case {is} has no payload of the number {number}"),
            };
            Err(runtime.exception("ErrorException", &["msg"], vec![Value::String(message.into())]))
        }
    }
}
