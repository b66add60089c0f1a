//! Primitives of the host that work on other things than scalars.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ircode::primitives::{Primitive, ResultType};
use ircode::wording::counted;
use ircode::{Type, TypeKind};

use crate::builtins::Runtime;
use crate::error::RunErrorKind;
use crate::machine::{Fault, wrong_operands};
use crate::prepare::struct_info;
use crate::value::Value;

/// What a primitive of the host does with its operands.
pub(crate) type HostFunction<'m> = Box<dyn FnMut(&[Value], &Objects<'_>) -> Result<Value, HostError> + 'm>;

/// Why a primitive of the host returns no value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostError {
    /// An exception, which the program may catch.
    Throw(Value),
    /// An `ErrorException` of this text, which the program may catch.
    Message(String),
    /// The operands are not what the primitive takes; the text says what that is. This ends the run.
    Operands(&'static str),
    /// The run is over: a limit.
    End(RunErrorKind),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Throw(exception) => write!(f, "{exception}"),
            HostError::Message(text) => f.write_str(text),
            HostError::Operands(expected) => write!(f, "it takes {expected}"),
            HostError::End(kind) => write!(f, "{kind}"),
        }
    }
}

impl std::error::Error for HostError {}

impl From<String> for HostError {
    fn from(message: String) -> Self {
        HostError::Message(message)
    }
}

impl From<&str> for HostError {
    fn from(message: &str) -> Self {
        HostError::Message(message.into())
    }
}

impl From<RunErrorKind> for HostError {
    fn from(kind: RunErrorKind) -> Self {
        HostError::End(kind)
    }
}

/// Makes values that hold others, in the memory that the machine may use.
#[derive(Debug)]
pub struct Objects<'r> {
    runtime: &'r Runtime<'r>,
}

impl Objects<'_> {
    /// A tuple.
    ///
    /// # Errors
    ///
    /// [`HostError::End`] at the memory limit.
    pub fn tuple(&self, values: Vec<Value>) -> Result<Value, HostError> {
        self.runtime.tuple(values).map_err(|fault| self.error(fault))
    }

    /// An array of these dimensions, its elements in memory order.
    ///
    /// # Errors
    ///
    /// [`HostError::End`] at the memory limit, or if there are not as many elements as the dimensions say, or one is of
    /// another type.
    pub fn array(&self, element: Type, dims: Vec<usize>, elements: Vec<Value>) -> Result<Value, HostError> {
        self.runtime.filled_array(element, dims, elements).map_err(|fault| self.error(fault))
    }

    /// A struct of a type that the module declares.
    ///
    /// # Errors
    ///
    /// [`HostError::End`] at the memory limit, or if the type is no struct with as many fields of these types.
    pub fn structure(&self, ty: &Type, fields: Vec<Value>) -> Result<Value, HostError> {
        self.runtime.declared_structure(ty, fields).map_err(|fault| self.error(fault))
    }

    fn error(&self, fault: Fault) -> HostError {
        match fault {
            Fault::Throw(value) => HostError::Throw(value),
            Fault::Fatal(kind) => HostError::End(kind),
            Fault::OutOfMemory => HostError::End(RunErrorKind::MemoryLimit(self.runtime.meter.limit())),
        }
    }
}

impl Runtime<'_> {
    /// An array of these dimensions, which must be those of the elements.
    pub(crate) fn filled_array(&self, element: Type, dims: Vec<usize>, elements: Vec<Value>) -> Result<Value, Fault> {
        // Programs count with `Int64`.
        let is_size = |dim: &usize| i64::try_from(*dim).is_ok();
        let length = dims.iter().try_fold(1, |all: usize, &dim| all.checked_mul(dim));
        if length != Some(elements.len()) || !dims.iter().all(is_size) {
            let what =
                format!("an array of the dimensions {dims:?} was to have {}", counted(elements.len(), "element"));
            return Err(Fault::Fatal(RunErrorKind::BadValue(what)));
        }
        for (index, value) in elements.iter().enumerate() {
            self.check_element(|| format!("the element {}", index + 1), value, &element)?;
        }
        self.array(element, dims, elements)
    }

    /// Whether what the host puts somewhere may be of the type that belongs there.
    fn check_element(&self, element: impl Fn() -> String, value: &Value, ty: &Type) -> Result<(), Fault> {
        // What is not assigned yet is of no type.
        if matches!(value, Value::Undefined) || self.known_isa(value, ty) != Some(false) {
            return Ok(());
        }
        let (expected, got) = (ty.to_string(), value.type_of().to_string());
        Err(Fault::Fatal(RunErrorKind::ElementType { element: element(), expected, got }))
    }

    /// A struct of a type that the module declares, with all its fields.
    pub(crate) fn declared_structure(&self, ty: &Type, fields: Vec<Value>) -> Result<Value, Fault> {
        if let Type::Named(name) = ty
            && let Some(TypeKind::Struct { fields: declared, .. }) = self.module.type_def(name).map(|def| &def.kind)
        {
            for ((name, ty), value) in declared.iter().zip(&fields) {
                self.check_element(|| format!("the field {name}"), value, ty)?;
            }
        }
        match struct_info(self.module, ty, fields.len()) {
            Some(info) if info.names.len() == fields.len() => self.structure(info, fields),
            _ => {
                let what = format!("{ty} is no struct with {}", counted(fields.len(), "field"));
                Err(Fault::Fatal(RunErrorKind::BadValue(what)))
            }
        }
    }

    /// Calls a primitive of the host.
    pub(crate) fn call_host(&mut self, primitive: &'static Primitive, args: &[Value]) -> Result<Value, Fault> {
        // It is taken out while it runs, as it is shown the rest.
        let Some((name, mut f)) = self.host.remove_entry(primitive.name) else {
            return Err(Fault::Fatal(RunErrorKind::NotDefined(primitive.name.into())));
        };
        let result = catch_unwind(AssertUnwindSafe(|| f(args, &Objects { runtime: self })));
        self.host.insert(name, f);
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        if let Ok(value) = &result
            && let Some(expected) = expected_type(primitive, args).filter(|expected| value.type_of() != *expected)
        {
            let what = format!("`{}` is said to give {}, but gave {value}", primitive.name, expected.with_article());
            return Err(Fault::Fatal(RunErrorKind::BadValue(what)));
        }
        result.map_err(|error| match error {
            HostError::Throw(value) => Fault::Throw(value),
            HostError::Message(text) => {
                self.exception("ErrorException", &["msg"], vec![Value::String(text.as_str().into())])
            }
            HostError::Operands(expected) => wrong_operands(primitive, expected, args),
            HostError::End(kind) => Fault::Fatal(kind),
        })
    }
}

/// The type that the result of a primitive certainly has, by what is said of it.
fn expected_type(primitive: &Primitive, args: &[Value]) -> Option<Type> {
    match primitive.result {
        ResultType::Operand(at) => args.get(at).and_then(Value::as_scalar).map(|scalar| scalar.scalar_type().into()),
        ResultType::Bool => Some(Type::BOOL),
        ResultType::Int64 => Some(Type::INT64),
        ResultType::Nothing => Some(Type::Nothing),
        ResultType::String => Some(Type::String),
        _ => None,
    }
}
