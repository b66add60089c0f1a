//! Why a pass cannot do its work.

use std::fmt;

use bbcode::{BBCode, BlockId, InstId};
use ircode::text::{StatementPrinter, write_typed};
use ircode::{Name, Style};

/// A pass that failed: where, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassError {
    /// The pass, by its name on the command line.
    pub pass: &'static str,
    /// The function.
    pub function: Name,
    /// The block, as it is printed.
    pub block: Option<String>,
    /// The statement as it is printed, with its name.
    pub statement: Option<String>,
    /// The position of the statement in the function, counted from 1 in layout order.
    pub position: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub help: Option<String>,
}

impl PassError {
    /// A failure that concerns a function as a whole.
    pub fn new(pass: &'static str, function: &Name, message: impl Into<String>) -> Self {
        PassError {
            pass,
            function: function.clone(),
            block: None,
            statement: None,
            position: None,
            message: message.into(),
            help: None,
        }
    }

    /// The same at a statement.
    pub fn at(mut self, bb: &BBCode, inst: InstId) -> Self {
        if let Some((block, data)) = bb.block_of(inst).zip(bb.inst(inst)) {
            let number = bb.blocks().position(|other| other == block).map_or(0, |number| number + 1);
            self.block = Some(format!("#{number}"));
            let position = bb.all_insts().position(|(other, _)| other == inst).map(|position| position + 1);
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = write_typed(&mut text, &StatementPrinter::new(Style::Julia), &data.stmt, &data.ty);
            self.statement = Some(format!("%{} = {text}", position.unwrap_or(0)));
            self.position = position;
        }
        self
    }

    /// The same at a block.
    pub fn at_block(mut self, bb: &BBCode, block: BlockId) -> Self {
        let number = bb.blocks().position(|other| other == block).map_or(0, |number| number + 1);
        self.block = Some(format!("#{number}"));
        self
    }

    /// The same with a hint at what would mend it.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        PassError { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.pass)?;
        f.write_str(&self.message)?;
        let name = if self.function.is_empty() { "the listing" } else { &self.function };
        write!(f, "\n  in {name}")?;
        if let Some(block) = &self.block {
            write!(f, ", block {block}")?;
        }
        if let Some(statement) = &self.statement {
            write!(f, ": {statement}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PassError {}
