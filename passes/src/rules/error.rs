//! Why a rule cannot be used.

use ircode::wording::{by_name, counted, with_article};
use ircode::{Name, Positions, SSAValue, TextError, Type, Violations};

/// Why a rule cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    /// The file, or who else has the rule.
    pub file: String,
    /// The rule, by the name of its function; `None` if the file cannot be read.
    pub rule: Option<Name>,
    /// The statement of the rule at which the error is, if it is at one.
    pub statement: Option<SSAValue>,
    /// What is wrong.
    pub kind: RuleErrorKind,
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the rules in {} cannot be used: ", self.file)?;
        match &self.rule {
            Some(rule) => write!(f, "`{rule}`: {}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}

impl std::error::Error for RuleError {}

/// What is wrong with a rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleErrorKind {
    /// The text cannot be read.
    #[error("{0}")]
    Text(TextError),
    /// The name does not say which derivative it is.
    #[error("the name of a rule ends in `_vjp` or `_jvp`")]
    Name,
    /// What it is the derivative of does not exist.
    #[error("there is neither a function nor a primitive `{0}`")]
    NoTarget(String),
    /// The function has methods of other types only.
    #[error("no method of `{of}` takes what the rule does; there {} {}", if .methods.len() == 1 { "is" } else { "are" },
        .methods.join(", "))]
    NoMethod {
        /// The function.
        of: String,
        /// Its methods.
        methods: Vec<String>,
    },
    /// The function takes any number of arguments.
    #[error("`{0}` takes any number of arguments, which a rule cannot")]
    Varargs(Name),
    /// The function is a method of an object that is called.
    #[error(
        "`{0}` is a method of an object that is called, which cannot have a rule: nothing would flow to what the object holds"
    )]
    Callable(Name),
    /// Derivatives call a rule by a name that a function of the program has.
    #[error("derivatives call it by the name `{0}`, which a function of the program has")]
    NameTaken(Name),
    /// The code is not valid.
    #[error("{0}")]
    Invalid(Violations<Positions>),
    /// It is no function that could be written in the place of the primitive.
    #[error("a rule for a primitive has a single block")]
    SeveralBlocks,
    /// It calls something else than a primitive.
    #[error("a rule for a primitive calls primitives only, not `{0}`")]
    CallsOther(String),
    /// It never returns, or without a value.
    #[error("it does not return")]
    NoReturn,
    /// The number of parameters is wrong.
    #[error("it must take {expected}, but has {}", counted(*.given, "parameter"))]
    Parameters {
        /// What it must take.
        expected: String,
        /// How many it has.
        given: usize,
    },
    /// The primitive takes another number of operands.
    #[error("`{primitive}` does not take {}", counted(*.given, "operand"))]
    Operands {
        /// The primitive.
        primitive: Name,
        /// The number that follows from the parameters of the rule.
        given: usize,
    },
    /// A parameter that is an operand of a primitive has no type.
    #[error("its parameter _{number}{} needs a type: the rule is for operands of that type",
        by_name(.name))]
    Untyped {
        /// The number, as in `_2`.
        number: usize,
        /// The name, if it has one.
        name: Option<Name>,
    },
    /// A parameter that is an operand of a primitive has an abstract type.
    #[error("its parameter _{number}{} is of the abstract type {given}, but a rule is for operands of one type; `T` and `U` \
        stand for any float type, `I` for any integer type, `Any` for any type",
        by_name(.name))]
    Abstract {
        /// The number, as in `_2`.
        number: usize,
        /// The name, if it has one.
        name: Option<Name>,
        /// Its type.
        given: Type,
    },
    /// A parameter has the wrong type.
    #[error("its parameter _{number}{}, {what}, must be {}, but is {}",
        by_name(.name), with_article(.expected), with_article(.given))]
    ParameterType {
        /// The number, as in `_2`.
        number: usize,
        /// The name, if it has one.
        name: Option<Name>,
        /// What it stands for.
        what: &'static str,
        /// The type that it must have.
        expected: Type,
        /// The type that it has.
        given: Type,
    },
    /// What it returns has the wrong type.
    #[error("it must return {expected}, but returns {given}")]
    Returns {
        /// What it must return.
        expected: String,
        /// What it returns.
        given: String,
    },
}
