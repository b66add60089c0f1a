//! Copying code of one function into another.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Argument, Instruction, NewInstruction, Operand, Stmt};

/// What stands in a copy for the values and arguments of the function that the code is from.
#[derive(Debug, Default)]
pub(crate) struct Substitution {
    values: HashMap<InstId, Operand<Ids>>,
    arguments: HashMap<Argument, Operand<Ids>>,
}

impl Substitution {
    /// Lets `copy` stand for a value or an argument. Other operands stand for themselves.
    pub(crate) fn insert(&mut self, of: &Operand<Ids>, copy: Operand<Ids>) {
        match of {
            Operand::Value(value) => self.values.insert(*value, copy),
            Operand::Argument(argument) => self.arguments.insert(*argument, copy),
            _ => None,
        };
    }

    /// What stands for an operand.
    pub(crate) fn operand(&self, operand: &Operand<Ids>) -> Operand<Ids> {
        let known = match operand {
            Operand::Value(value) => self.values.get(value),
            Operand::Argument(argument) => self.arguments.get(argument),
            _ => None,
        };
        known.unwrap_or(operand).clone()
    }

    /// Puts an empty statement at the end of a block, to be [filled](Self::fill) when all statements of the copy have a
    /// name: they may use what stands behind them.
    pub(crate) fn allot(
        &mut self,
        to: &mut BBCode,
        block: BlockId,
        (id, inst): (InstId, &Instruction<Ids>),
    ) -> Result<(), EditError> {
        let empty = match inst.stmt {
            Stmt::Phi(_) => Stmt::phi([]),
            _ => Stmt::nothing(),
        };
        let place = to.push(block, NewInstruction::new(empty, inst.ty.clone()).with_line(inst.line))?;
        self.values.insert(id, Operand::Value(place));
        Ok(())
    }

    /// Writes a statement, whose blocks are those of the copy, where its place is, with what stands for its operands.
    pub(crate) fn fill(&self, to: &mut BBCode, id: InstId, mut inst: Instruction<Ids>) {
        inst.stmt.for_each_operand_mut(&mut |operand| *operand = self.operand(operand));
        if let Some(place) = self.operand(&Operand::Value(id)).as_value().and_then(|place| to.inst_mut(place)) {
            *place = inst;
        }
    }
}
