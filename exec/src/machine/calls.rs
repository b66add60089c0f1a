//! Calls of what is known only when the program runs.

use ircode::primitives::Scope;
use ircode::{Callee, Name, Type};

use super::mapping::{MAPPING, Mapping};
use super::{Fault, Run, Step, named};
use crate::error::RunErrorKind;
use crate::value::{Value, isa};

impl Run<'_, '_> {
    /// Calls a value, known only now.
    pub(super) fn call_value(&mut self, callee: Value, args: Vec<Value>) -> Result<Step, Fault> {
        match callee {
            Value::Function(name) | Value::Text(name) => self.call_function(&name, args),
            Value::Type(ty) => match self.method(&ty.to_string(), &args) {
                Some(function) => Ok(Step::Call(function, None, args)),
                None => Ok(Step::Value(self.construct(&ty, &args)?)),
            },
            Value::Closure(closure) => {
                let captured = closure.0.fields.values().iter().cloned();
                self.call_function(&closure.0.function, args.into_iter().chain(captured).collect())
            }
            other => {
                // A closure of Julia's: its methods are named by its type.
                let of = format!("(::{})", other.type_of());
                if let Some(function) = self.method(&of, &args) {
                    return Ok(Step::Call(function, Some(other), args));
                }
                let what = format!("a call of {other}, a {:?}", other.type_of());
                Err(Fault::Fatal(RunErrorKind::Unsupported(what)))
            }
        }
    }

    /// Calls a function by its name, known only now.
    pub(super) fn call_function(&mut self, name: &Name, args: Vec<Value>) -> Result<Step, Fault> {
        match self.machine.module.function_callee(name) {
            Callee::Function(function) => Ok(Step::Call(function, None, args)),
            Callee::Primitive(primitive) => {
                let is_array = |arg: &Value| matches!(arg, Value::Array(_));
                if primitive.scope == Scope::Arrays
                    && !args.iter().any(is_array)
                    && let Some(function) = self.method(primitive.name, &args)
                {
                    return Ok(Step::Call(function, None, args));
                }
                if MAPPING.contains(&primitive.name) && primitive.takes(args.len()) {
                    let mapping = Mapping::new(primitive.name, args.clone());
                    return mapping.map(Box::new).map(Step::Map).map_err(|fault| named(fault, primitive, &args));
                }
                Ok(Step::Value(self.machine.runtime.call_primitive(primitive, &args)?))
            }
            Callee::Type(ty) => Ok(Step::Value(self.construct(&ty, &args)?)),
            Callee::Unknown(name) => {
                let plain = name.rsplit('.').next().unwrap_or(&name);
                match self.method(&name, &args).or_else(|| self.method(plain, &args)) {
                    Some(function) => Ok(Step::Call(function, None, args)),
                    None => Err(Fault::Fatal(RunErrorKind::UnknownFunction(name))),
                }
            }
        }
    }

    /// The method for arguments of these types: of those that take them, the one whose types are theirs exactly, else the
    /// first.
    pub(super) fn method(&mut self, of: &str, args: &[Value]) -> Option<usize> {
        let mut found = None;
        for &function in self.machine.module.methods(of) {
            let Ok(code) = self.machine.code(function) else { continue };
            let types = code.argtypes.get(1..).unwrap_or_default();
            if types.len() != args.len() || !args.iter().zip(types).all(|(arg, ty)| isa(arg, ty)) {
                continue;
            }
            if args.iter().zip(types).all(|(arg, ty)| arg.type_of() == *ty) {
                return Some(function);
            }
            found = found.or(Some(function));
        }
        found
    }

    pub(super) fn construct(&mut self, ty: &Type, args: &[Value]) -> Result<Value, Fault> {
        self.machine.runtime.construct(ty, args)
    }
}
