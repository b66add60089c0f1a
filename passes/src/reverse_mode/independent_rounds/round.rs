//! A round of a loop as a function.

use bbcode::{BBCode, BlockId, EditError, Ids};
use hashbrown::HashMap;
use ircode::{Argument, Function, LineInfo, Name, NewInstruction, Operand, Stmt, Type};

use super::IndependentLoop;
use crate::reverse_mode::plan::Plan;
use crate::substitution::Substitution;

/// Makes the function: it takes the inputs, then the sum, and gives the sum with what the round adds to it.
pub(super) fn round(plan: &Plan<'_>, found: &IndependentLoop, name: &Name) -> Result<Function<BBCode>, EditError> {
    let from = &plan.primal;
    let mut argtypes = vec![Type::function(name.clone())];
    argtypes.extend(found.inputs.iter().map(|input| input.ty.clone()));
    argtypes.push(plan.result.clone());
    let mut to = BBCode::new(argtypes);
    (to.debuginfo, to.julia) = (from.debuginfo.clone(), from.julia);
    let header = to.push_block();
    let mut blocks: HashMap<BlockId, BlockId> = HashMap::from_iter([(found.header, header)]);
    for block in found.round_blocks().filter(|&block| block != found.header) {
        blocks.insert(block, to.push_block());
    }
    let mut copy = Copy { from, found, to, blocks, substitution: Substitution::default() };
    let operands = found.inputs.iter().map(|input| input.operand.clone()).chain([Operand::Value(found.sum)]);
    for (index, operand) in operands.enumerate() {
        let parameter = Operand::Argument(Argument::from_index(index + 1));
        copy.substitution.insert(&operand, parameter);
    }
    copy.allot()?;
    copy.fill()?;
    Ok(Function::new(name.clone(), plan.result.clone(), copy.to))
}

struct Copy<'p> {
    from: &'p BBCode,
    found: &'p IndependentLoop,
    to: BBCode,
    blocks: HashMap<BlockId, BlockId>,
    /// What stands in the copy for what the loop uses.
    substitution: Substitution,
}

impl Copy<'_> {
    fn block(&self, block: BlockId) -> BlockId {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    /// Whether a round starts with this statement as its argument, or ends before it.
    fn is_left_out(&self, block: BlockId, stmt: &Stmt<Ids>) -> bool {
        match stmt {
            Stmt::Phi(_) => block == self.found.header,
            stmt => stmt.is_terminator() && (self.ends(block) || self.goes_on(block).is_some()),
        }
    }

    /// Whether the round is over at the end of a block.
    fn ends(&self, block: BlockId) -> bool {
        block == if self.found.body.is_some() { self.found.latch } else { self.found.leaves }
    }

    /// Where a round goes on behind the question whether there is one.
    fn goes_on(&self, block: BlockId) -> Option<BlockId> {
        self.found.body.filter(|_| block == self.found.header)
    }

    /// Gives names to all that is copied: statements may use what stands behind them.
    fn allot(&mut self) -> Result<(), EditError> {
        for block in self.found.round_blocks() {
            let here = self.block(block);
            let copied = self.from.insts(block).filter(|(_, inst)| !self.is_left_out(block, &inst.stmt));
            for inst in copied.collect::<Vec<_>>() {
                self.substitution.allot(&mut self.to, here, inst)?;
            }
        }
        Ok(())
    }

    /// Writes the statements.
    fn fill(&mut self) -> Result<(), EditError> {
        for block in self.found.round_blocks() {
            let here = self.block(block);
            let from = self.from;
            for (id, inst) in from.insts(block) {
                if self.is_left_out(block, &inst.stmt) {
                    continue;
                }
                let mut filled = inst.clone();
                match &mut filled.stmt {
                    Stmt::Phi(phi) => phi.entries.iter_mut().for_each(|entry| entry.edge = self.block(entry.edge)),
                    stmt => stmt.for_each_target_mut(|target| *target = self.block(*target)),
                }
                self.substitution.fill(&mut self.to, id, filled);
            }
            let line = self.from.last_inst(block).and_then(|last| self.from.inst(last));
            let line = line.map_or(LineInfo::NONE, |last| last.line);
            let ending = match self.goes_on(block) {
                Some(body) => Some(Stmt::goto(self.block(body))),
                None => {
                    self.ends(block).then(|| Stmt::ret(self.substitution.operand(&Operand::Value(self.found.next))))
                }
            };
            match ending {
                Some(stmt) => {
                    self.to.push(here, NewInstruction::new(stmt, Type::Any).with_line(line))?;
                }
                None => {
                    let next = self.from.next(block).map(|next| self.block(next));
                    self.to.set_next(here, next)?;
                }
            }
        }
        Ok(())
    }
}
