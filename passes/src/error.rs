//! Why a pass cannot do its work.

use std::fmt;

use bbcode::{BBCode, BlockId, EditError, InstId};
use ircode::{BlockNumber, Name, Origin, SSAValue};

/// A pass that failed: where, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassError {
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
        PassError::new(PassError::EDIT, &Name::from(""), error.to_string())
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
        PassError { pass, function: function.clone(), place: None, message: message.into(), help: None }
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
