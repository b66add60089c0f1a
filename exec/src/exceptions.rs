//! The exceptions that primitives throw.

use std::sync::Arc;

use ircode::primitives::{Failure, Primitive, ScalarException};
use ircode::{Name, Type};

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
