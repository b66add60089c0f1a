//! The exceptions that primitives throw.

use std::sync::Arc;

use ircode::primitives::{Failure, Primitive, ScalarException};
use ircode::{Name, Scalar, Type};

use crate::builtins::Runtime;
use crate::machine::{Fault, wrong_operands};
use crate::value::{StructInfo, Value};

/// A Julia exception for what a scalar primitive refuses.
fn scalar_exception(runtime: &Runtime<'_>, exception: ScalarException) -> Fault {
    match exception {
        ScalarException::Divide => runtime.exception("DivideError", &[], vec![]),
        ScalarException::Domain { value, message } => {
            let fields = vec![Value::Scalar(value), Value::String(message.into())];
            runtime.exception("DomainError", &["val", "msg"], fields)
        }
        ScalarException::Inexact { function, ty, value } => {
            let fields = vec![Value::Symbol(function.into()), Value::Type(Arc::new(ty.into())), Value::Scalar(value)];
            runtime.exception("InexactError", &["func", "T", "val"], fields)
        }
        ScalarException::Argument(message) => runtime.argument_error(message),
        ScalarException::Overflow(message) => {
            runtime.exception("OverflowError", &["msg"], vec![Value::String(message.into())])
        }
    }
}

impl Runtime<'_> {
    /// What a scalar primitive's refusal means.
    pub(crate) fn failure(&self, primitive: &Primitive, failure: Failure, args: &[Value]) -> Fault {
        match failure {
            Failure::Operands(expected) => wrong_operands(primitive, expected, args),
            Failure::Exception(exception) => scalar_exception(self, exception),
        }
    }

    /// What it means that a primitive is given something that is no number. Of what Julia's library has no method for,
    /// a program may catch the exception; what it would do with anything else is not known here.
    pub(crate) fn not_numbers(&self, primitive: &Primitive, expected: &str, args: &[Value]) -> Fault {
        // Converted to `Nothing`, `Any` or a union, `nothing` is what it was.
        let gives_number = match (primitive.name, args) {
            ("convert", [Value::Type(to), ..]) => to.as_scalar().is_some(),
            (name, _) => name != "convert",
        };
        match gives_number && args.iter().any(|arg| primitive.fails_on(&arg.type_of())) {
            true => self.method_error(primitive.name, args),
            false => wrong_operands(primitive, expected, args),
        }
    }

    /// The exception that there is no method of a function for these arguments. It is of the newest world, as Julia has
    /// it where no other is said.
    pub(crate) fn method_error(&self, function: &str, args: &[Value]) -> Fault {
        match self.tuple(args.to_vec()) {
            Ok(args) => {
                let fields = vec![Value::Function(function.into()), args, Value::Scalar(Scalar::UInt64(u64::MAX))];
                self.exception("MethodError", &["f", "args", "world"], fields)
            }
            Err(fault) => fault,
        }
    }

    /// An exception of this type.
    pub(crate) fn exception(&self, name: &str, names: &[&str], fields: Vec<Value>) -> Fault {
        let names = names.iter().map(|&name| Name::from(name)).collect();
        let info = Arc::new(StructInfo { ty: Type::named(name), mutable: false, names, supertypes: None });
        match self.structure(info, fields) {
            Ok(value) => Fault::Throw(value),
            Err(fault) => fault,
        }
    }

    /// An `ArgumentError` that says this.
    pub(crate) fn argument_error(&self, message: &str) -> Fault {
        self.exception("ArgumentError", &["msg"], vec![Value::String(message.into())])
    }
}
