//! Why a run ends without a value.

use std::fmt;

use ircode::wording::{counted, with_article};
use ircode::{BlockNumber, Constant, Name, Origin, SSAValue, Type};

use crate::value::Value;

/// The failure of a run: what went wrong, and where.
#[derive(Clone, Debug)]
pub struct RunError {
    /// What went wrong.
    pub kind: RunErrorKind,
    /// The statement in which it went wrong, and the calls that led there, innermost first. Empty if the function could
    /// not be called at all. Long chains are cut in the middle.
    pub trace: Vec<Place>,
}

/// A statement of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The function.
    pub function: Name,
    /// The block.
    pub block: BlockNumber,
    /// The statement.
    pub statement: SSAValue,
    /// The statement as it is printed.
    pub text: String,
    /// The statement from which this one was made, if it is part of a derivative.
    pub origin: Option<Origin>,
}

/// An exception as it was when it ended a run. It shares nothing with the program, and can go to another thread.
///
/// ```
/// use exec::{Machine, RunErrorKind, Value};
/// use ircode::{Constant, parse_module};
///
/// let module = parse_module("
/// function f(x::Float64)::Float64
/// 1 ─ %1 = Main.log(x)::Float64
/// └──      return %1
/// end
/// ")?.module;
/// let error = Machine::new(&module).call("f", &[Value::from(-2.0)]).unwrap_err();
/// let RunErrorKind::Exception(exception) = error.kind else { return Err(error.into()) };
/// assert_eq!(exception.ty().to_string(), "DomainError");
/// assert_eq!(exception.field("val"), Some(&Constant::float64(-2.0)));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Exception {
    ty: Type,
    message: String,
    value: Option<Constant>,
    fields: Vec<(Name, Constant)>,
}

impl Exception {
    /// What there is to say of a value that was thrown.
    pub(crate) fn of(value: &Value) -> Exception {
        let fields = match value {
            Value::Struct(object) => {
                let values = object.0.fields.borrow();
                let named = object.0.ty.names.iter().zip(values.values());
                named.filter_map(|(name, value)| Some((name.clone(), constant(value)?))).collect()
            }
            _ => Vec::new(),
        };
        Exception {
            ty: value.type_of(),
            message: crate::display::exception_text(value),
            value: constant(value),
            fields,
        }
    }

    /// Its type: `DomainError`; any other type too, as Julia throws any value.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// What was thrown, if it is a number, a text, a symbol, a type or nothing.
    pub fn value(&self) -> Option<&Constant> {
        self.value.as_ref()
    }

    /// A field of what was thrown, if it has one of this name that holds such a constant.
    pub fn field(&self, name: &str) -> Option<&Constant> {
        self.fields.iter().find(|(field, _)| field.as_str() == name).map(|(_, value)| value)
    }
}

/// As Julia says it: `DomainError with -2.0: …`.
impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn constant(value: &Value) -> Option<Constant> {
    Some(match value {
        Value::Nothing => Constant::Nothing,
        Value::Scalar(scalar) => Constant::Scalar(scalar.clone()),
        Value::String(text) => Constant::String(text.clone()),
        Value::Symbol(name) => Constant::Symbol(name.clone()),
        Value::Type(ty) => Constant::of_type((**ty).clone()),
        _ => return None,
    })
}

impl RunError {
    /// That of an exception.
    #[cfg(feature = "native")]
    pub(crate) fn thrown(exception: &Value, trace: Vec<Place>) -> RunError {
        RunError { kind: RunErrorKind::Exception(Exception::of(exception)), trace }
    }
}

/// What can go wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// An exception that the program threw and did not catch. The value itself, with the objects that it holds, is
    /// there [from the machine](crate::Machine::exception).
    Exception(Exception),
    /// A function was called that is neither in the module nor a primitive.
    UnknownFunction(Name),
    /// A primitive was called that the host has registered, and of which this machine was not told what it does.
    NotDefined(Name),
    /// There is no function of the name that was to be run.
    NoSuchFunction(Name),
    /// A function was called with the wrong number of arguments.
    Arity {
        /// The function.
        function: Name,
        /// How many it takes.
        expected: usize,
        /// How many there were.
        got: usize,
    },
    /// An argument is not of the type that the function declares.
    ArgumentType {
        /// The argument, counted from 1: `_2` is the first that is passed.
        argument: usize,
        /// The declared type.
        expected: String,
        /// The type of what was passed.
        got: String,
    },
    /// An element of an array, or a field of a struct, that the host makes is not of the type that this has.
    ElementType {
        /// Which: `the element 2`, `the field re`.
        element: String,
        /// The type of elements, or that which is declared for the field.
        expected: String,
        /// The type of the value.
        got: String,
    },
    /// The host has said what this primitive does, but the module has none of this name that machines define.
    NoSuchPrimitive(Name),
    /// A value is not of the type that its statement declares; only where [types are
    /// checked](crate::Machine::check_types).
    WrongType {
        /// The statement.
        statement: String,
        /// The declared type.
        declared: String,
        /// The value.
        value: String,
        /// The type of the value.
        got: String,
    },
    /// It was asked whether a value is of a type, but the program does not say which types are above that of the value.
    OpenType {
        /// The type of the value.
        value: String,
        /// The type that was asked for.
        asked: String,
    },
    /// A primitive was called with operands that it does not take.
    Operands {
        /// The primitive.
        primitive: &'static str,
        /// What it takes.
        expected: String,
        /// What there was.
        got: String,
    },
    /// A derivative came to a primitive on operands whose types only the run knew, and of which it has none.
    NoDerivative {
        /// The primitive.
        primitive: String,
        /// The operands' types.
        operands: String,
    },
    /// A derivative came to a call of a function as a value, of which there is no derivative.
    NoDerivativeOfCalled(String),
    /// The methods of a function or an object of which the run was to choose do not take what is passed.
    NoMethod(String),
    /// A value was used that is not defined on the way taken.
    Undefined(String),
    /// A condition was no `Bool`.
    NotBool(String),
    /// Something that the interpreter does not run.
    Unsupported(String),
    /// What was asked for from outside of the program has not the shape, the parts or the size that it needs; the text
    /// is the whole message.
    BadValue(String),
    /// A statement was reached that says it cannot be.
    ReachedUnreachable,
    /// Control ran out of the last block.
    FellThrough,
    /// A statement of type `Union{}` returned, which its block says never does.
    ReturnedFromBottom,
    /// More statements were executed than the limit allows.
    StepLimit(u64),
    /// More memory was needed than the limit allows.
    MemoryLimit(usize),
    /// Calls nested deeper than the limit allows.
    DepthLimit(usize),
    /// The code is not valid; verified code always is.
    InvalidCode(String),
}

impl fmt::Display for RunErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunErrorKind::Exception(exception) => write!(f, "{exception}"),
            RunErrorKind::UnknownFunction(name) => {
                write!(f, "`{name}` is called, which is neither a function of this module nor a primitive")
            }
            RunErrorKind::NotDefined(name) => {
                write!(f, "`{name}` is called, a primitive of the host which is not defined for this machine")
            }
            RunErrorKind::NoSuchFunction(name) => write!(f, "there is no function `{name}`"),
            RunErrorKind::Arity { function, expected, got } => {
                write!(f, "`{function}` takes {}, but got {got}", counted(*expected, "argument"))
            }
            RunErrorKind::ArgumentType { argument, expected, got } => {
                write!(f, "the argument _{argument} must be {}, but is {}", with_article(expected), with_article(got))
            }
            RunErrorKind::ElementType { element, expected, got } => {
                write!(f, "{element} must be {}, but is {}", with_article(expected), with_article(got))
            }
            RunErrorKind::NoSuchPrimitive(name) => {
                write!(
                    f,
                    "`{name}` is defined for the machine, but the module has no primitive of this name that a machine defines"
                )
            }
            RunErrorKind::WrongType { statement, declared, value, got } => {
                write!(f, "{statement} declares {declared}, but {value} is of type {got}")
            }
            RunErrorKind::OpenType { value, asked } => {
                write!(
                    f,
                    "it is not known whether {} is {}: the program does not say which types are above it, as `struct {value} <: {asked}` would",
                    with_article(value),
                    with_article(asked)
                )
            }
            RunErrorKind::Operands { primitive, expected, got } => {
                write!(f, "`{primitive}` takes {expected}, but got {got}")
            }
            RunErrorKind::NoDerivative { primitive, operands } => {
                write!(
                    f,
                    "there is no derivative of `{primitive}` of ({operands}) where only the run knows these types"
                )
            }
            RunErrorKind::NoDerivativeOfCalled(called) => {
                write!(f, "no derivative was made of the function that is called: {called}")
            }
            RunErrorKind::NoMethod(called) => {
                write!(f, "none of the methods that are here takes what is passed to: {called}")
            }
            RunErrorKind::Undefined(what) => write!(f, "{what} is used, which is not defined on the way taken"),
            RunErrorKind::NotBool(what) => write!(f, "the condition must be a Bool, but is {what}"),
            RunErrorKind::Unsupported(what) => write!(f, "{what} cannot be run"),
            RunErrorKind::BadValue(message) => f.write_str(message),
            RunErrorKind::ReachedUnreachable => write!(f, "an `unreachable` was reached"),
            RunErrorKind::FellThrough => write!(f, "control ran out of the last block"),
            RunErrorKind::ReturnedFromBottom => write!(f, "what is of type Union{{}}, and never returns, returned"),
            RunErrorKind::StepLimit(limit) => write!(f, "more than {limit} statements were executed"),
            RunErrorKind::MemoryLimit(limit) => write!(f, "more than {limit} bytes of memory were needed"),
            RunErrorKind::DepthLimit(limit) => write!(f, "calls nested deeper than {limit}"),
            RunErrorKind::InvalidCode(what) => write!(f, "the code is not valid: {what}"),
        }
    }
}

/// What failed outside of any function.
impl From<RunErrorKind> for RunError {
    fn from(kind: RunErrorKind) -> RunError {
        RunError { kind, trace: Vec::new() }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, shown_trace(&self.trace))
    }
}

/// Where something failed, and from where that was called, in lines behind the message; nothing if that is not known.
pub(crate) fn shown_trace(trace: &[Place]) -> String {
    trace.first().map(|place| format!("\n  in {place}{}", shown_callers(trace))).unwrap_or_default()
}

fn shown_callers(trace: &[Place]) -> String {
    let callers = trace.get(1..).unwrap_or_default();
    let line = |same: &[Place]| match same {
        // How often it was is not told: a long chain is cut.
        [caller, _, _, ..] => format!("\n  called from {caller}, again and again"),
        callers => callers.iter().map(|caller| format!("\n  called from {caller}")).collect(),
    };
    callers.chunk_by(|a, b| a == b).map(line).collect()
}

impl RunError {
    /// From where the place of the failure was called, as text: a line for each caller, the innermost first, and one
    /// for a function that calls itself more than twice at the same place.
    pub fn callers(&self) -> String {
        shown_callers(&self.trace)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.function.is_empty() { "the listing" } else { &self.function };
        write!(f, "{name}, block {}: {} = {}", self.block, self.statement, self.text)?;
        match &self.origin {
            Some(origin) => write!(f, "  (derived from {origin})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RunError {}

impl std::error::Error for RunErrorKind {}
