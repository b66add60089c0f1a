//! Why a pass cannot do its work.

use std::fmt;

use bbcode::{BBCode, BlockId, ConversionError, EditError, InstId};
use ircode::{BlockNumber, DefinedTwice, Name, Origin, SSAValue};

use crate::rules::RuleError;

/// A pass that failed: where, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassError {
    /// What kind of failure it is.
    pub kind: PassErrorKind,
    /// The pass, by its name on the command line.
    pub pass: &'static str,
    /// The function.
    pub function: Name,
    /// Where in the function, if it is not the function as a whole.
    pub place: Option<Box<PassPlace>>,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub help: Option<String>,
}

/// The kinds of failures of passes, for programs that act on them: of all of them, [`PassError::message`] says more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PassErrorKind {
    /// The pass does not take such code, or there is no derivative of it.
    #[default]
    Unsupported,
    /// There is no derivative rule for this primitive on operands of these types. For a primitive of the host, the host
    /// may register one.
    NoRule(&'static str),
    /// The function catches exceptions in a way that is not differentiated.
    Catches,
    /// The module has no function of this name.
    NoSuchFunction,
    /// What was asked of the pass does not go together with the function: an argument without derivative, no direction,
    /// no function named where there are several.
    Request,
    /// The code was not valid when it was given to the pass manager, or is not valid after a pass: then that is a
    /// defect of the pass.
    Invalid,
    /// The code cannot be changed so.
    Edit(Box<EditError>),
    /// The code has no other representation.
    Conversion(ConversionError),
    /// What the pass makes has the name of something that is there.
    DefinedTwice(DefinedTwice),
    /// A derivative rule cannot be used.
    Rule(Box<RuleError>),
}

macro_rules! kinds {
    ($( $error:ty => $kind:expr; )*) => {
        $( impl From<$error> for PassErrorKind {
            fn from(error: $error) -> Self {
                $kind(error)
            }
        } )*
    };
}

kinds! {
    EditError => |error| PassErrorKind::Edit(Box::new(error));
    ConversionError => PassErrorKind::Conversion;
    DefinedTwice => PassErrorKind::DefinedTwice;
    RuleError => |error| PassErrorKind::Rule(Box::new(error));
}

/// A place in a function, in the numbers that it has as IRCode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassPlace {
    /// The block.
    pub block: BlockNumber,
    /// The statement, if it is not the block as a whole.
    pub statement: Option<SSAValue>,
    /// The statement as it is printed.
    pub text: String,
    /// The statement from which this one was made, if it is part of a derivative.
    pub origin: Option<Origin>,
}

/// The failure of an edit: whoever runs the pass says which pass and which function it was.
impl From<EditError> for PassError {
    fn from(error: EditError) -> Self {
        PassError::because(PassError::EDIT, &Name::from(""), error)
    }
}

impl PassError {
    /// The pass of a failed edit, as long as nobody has said which it was.
    pub(crate) const EDIT: &'static str = "edit";

    /// The same of this pass and this function, if it does not say of which it is.
    pub(crate) fn or_of(self, pass: &'static str, function: &Name) -> Self {
        let pass = if self.pass == PassError::EDIT { pass } else { self.pass };
        let function = if self.function.is_empty() { function.clone() } else { self.function };
        PassError { pass, function, ..self }
    }

    /// A failure that concerns a function as a whole.
    pub fn new(pass: &'static str, function: &Name, message: impl Into<String>) -> Self {
        let kind = PassErrorKind::Unsupported;
        PassError { kind, pass, function: function.clone(), place: None, message: message.into(), help: None }
    }

    /// A failure that another error is the reason of.
    pub fn because(pass: &'static str, function: &Name, error: impl fmt::Display + Into<PassErrorKind>) -> Self {
        PassError::new(pass, function, error.to_string()).of_kind(error)
    }

    /// That there is no function of this name.
    pub fn no_such_function(pass: &'static str, function: &Name) -> Self {
        PassError::new(pass, function, format!("there is no function `{function}`"))
            .of_kind(PassErrorKind::NoSuchFunction)
    }

    /// That what is to be made would have the name of a function that is there.
    pub(crate) fn generated_twice(pass: &'static str, function: &Name, made: &Name) -> Self {
        PassError::new(pass, function, format!("the module has a function `{made}` already, which is to be generated"))
            .of_kind(DefinedTwice(made.clone()))
    }

    /// The same as one of this kind.
    pub fn of_kind(self, kind: impl Into<PassErrorKind>) -> Self {
        PassError { kind: kind.into(), ..self }
    }

    /// The same at a statement. Takes time in proportion to the function, to find the number of the statement.
    pub fn at(self, bb: &BBCode, inst: InstId) -> Self {
        let Some((block, data)) = bb.block_of(inst).zip(bb.inst(inst)) else { return self };
        let Some(position) = bb.all_insts().position(|(other, _)| other == inst) else { return self };
        let place = PassPlace {
            block: number(bb, block),
            statement: Some(SSAValue::from_index(position)),
            text: data.to_string(),
            origin: bb.debuginfo.origins(data.line).into_iter().next(),
        };
        PassError { place: Some(Box::new(place)), ..self }
    }

    /// The same at a block.
    pub fn at_block(self, bb: &BBCode, block: BlockId) -> Self {
        let place = PassPlace { block: number(bb, block), statement: None, text: String::new(), origin: None };
        PassError { place: Some(Box::new(place)), ..self }
    }

    /// The same with a hint at what would mend it.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        PassError { help: Some(help.into()), ..self }
    }
}

fn number(bb: &BBCode, block: BlockId) -> BlockNumber {
    BlockNumber::from_index(bb.blocks().position(|other| other == block).unwrap_or(0))
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.function.is_empty() { "the listing" } else { &self.function };
        write!(f, "{}: {}\n  in {name}", self.pass, self.message)?;
        match self.place.as_deref() {
            Some(PassPlace { block, statement: Some(statement), text, origin }) => {
                write!(f, ", block {block}: {statement} = {text}")?;
                if let Some(origin) = origin {
                    write!(f, "  (derived from {origin})")?;
                }
            }
            Some(PassPlace { block, .. }) => write!(f, ", block {block}")?,
            None => {}
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PassError {}

#[cfg(test)]
mod tests {
    use ircode::{Module, parse_module};

    use super::*;
    use crate::{forward_mode, linearization, reverse_mode};

    fn module() -> Module<BBCode> {
        let text = "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
";
        parse_module(text).unwrap().module.map(|function| BBCode::try_from(&function.body)).unwrap()
    }

    /// The kinds of failure of reverse mode, forward mode and linearization of this function, with respect to these
    /// arguments.
    fn kinds(module: &mut Module<BBCode>, name: &str, numbers: Option<&[usize]>) -> Vec<PassErrorKind> {
        let name = Name::from(name);
        let with_respect_to = || numbers.map(<[usize]>::to_vec);
        let reverse = reverse_mode::Options { with_respect_to: with_respect_to(), ..Default::default() };
        let forward = forward_mode::Options { with_respect_to: with_respect_to(), ..Default::default() };
        let linear = linearization::Options { with_respect_to: with_respect_to() };
        let failures = [
            reverse_mode::derive(module, &name, &reverse).err(),
            forward_mode::differentiate(module, &name, &forward).err(),
            linearization::differentiate(module, &name, &linear).err(),
        ];
        failures.into_iter().flatten().map(|error| error.kind).collect()
    }

    #[test]
    fn all_modes_of_differentiation_fail_in_the_same_ways() {
        let mut module = module();
        assert_eq!(kinds(&mut module, "g", None), vec![PassErrorKind::NoSuchFunction; 3]);
        assert_eq!(kinds(&mut module, "f", Some(&[3])), vec![PassErrorKind::Request; 3]);
        assert_eq!(kinds(&mut module, "f", Some(&[2])), []);
        let twice = kinds(&mut module, "f", Some(&[2]));
        assert!(
            twice.len() == 3 && twice.iter().all(|kind| matches!(kind, PassErrorKind::DefinedTwice(_))),
            "{twice:?}"
        );
    }
}
