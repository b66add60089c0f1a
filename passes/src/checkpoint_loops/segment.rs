//! Making a function of some rounds of a loop.

use bbcode::{BBCode, BlockId, EditError, Ids};
use hashbrown::HashMap;
use ircode::{
    Argument, Constant, Function, LineInfo, Name, NewInstruction, Operand, PhiEntries, PhiEntry, Scalar, Stmt, Type,
};

use super::regions::Region;
use crate::differentiation::checkpointed::mark;
use crate::reverse_mode::survey::Surveyed;
use crate::substitution::Substitution;

/// A function of some rounds of a loop.
pub(super) struct Segment {
    /// It takes the number of rounds, what goes around the loop, and its inputs. It gives a tuple: the number of the
    /// exit through which control left the loop, counted from 1, or 0 if it goes on; what goes around; the outputs; and
    /// those inputs that are threaded.
    pub(super) function: Function<BBCode>,
    /// The header of the loop in it.
    pub(super) header: BlockId,
}

/// The number of the argument that says how many rounds there are, `_1` being 0.
const ROUNDS: usize = 1;

/// Makes the function. The region stays as it is.
pub(super) fn segment(
    bb: &BBCode,
    region: &Region,
    surveyed: &Surveyed<'_>,
    name: &Name,
) -> Result<Segment, EditError> {
    let carried_types = region.carried.iter().map(|phi| bb.operand_type(&Operand::Value(*phi)));
    let mut argtypes = vec![Type::function(name.clone()), Type::INT64];
    argtypes.extend(carried_types);
    argtypes.extend(region.inputs.iter().map(|input| input.ty.clone()));
    let mut to = BBCode::new(argtypes);
    (to.debuginfo, to.julia) = (bb.debuginfo.clone(), bb.julia);
    let line = bb.last_line(region.header);
    let start = to.push_block();
    let blocks: HashMap<BlockId, BlockId> = region.blocks.iter().map(|&block| (block, to.push_block())).collect();
    let around = to.push_block();
    let exits: HashMap<(BlockId, BlockId), BlockId> =
        region.exits.iter().map(|&exit| (exit, to.push_block())).collect();
    let end = to.push_block();
    let mut copy =
        Copy { bb, region, to, line, start, around, end, blocks, exits, substitution: Substitution::default() };
    copy.allot()?;
    copy.fill();
    let next = copy.go_around()?;
    let (returned, result) = copy.leave(next, surveyed)?;
    let Copy { mut to, blocks, .. } = copy;
    mark(&mut to, &returned);
    let header = blocks.get(&region.header).copied().unwrap_or(start);
    Ok(Segment { function: Function::new(name.clone(), result, to), header })
}

struct Copy<'r> {
    bb: &'r BBCode,
    region: &'r Region,
    to: BBCode,
    line: LineInfo,
    start: BlockId,
    /// Where a round ends.
    around: BlockId,
    end: BlockId,
    blocks: HashMap<BlockId, BlockId>,
    /// The blocks for the ways out.
    exits: HashMap<(BlockId, BlockId), BlockId>,
    substitution: Substitution,
}

impl Copy<'_> {
    fn block(&self, block: BlockId) -> BlockId {
        self.blocks.get(&block).copied().unwrap_or(self.end)
    }

    /// Where an edge of the loop goes.
    fn target(&self, from: BlockId, target: BlockId) -> BlockId {
        match self.exits.get(&(from, target)) {
            Some(&exit) => exit,
            None if target == self.region.header => self.around,
            None => self.block(target),
        }
    }

    fn operand(&self, operand: &Operand<Ids>) -> Operand<Ids> {
        self.substitution.operand(operand)
    }

    fn push(&mut self, block: BlockId, stmt: Stmt<Ids>, ty: Type) -> Result<Operand<Ids>, EditError> {
        let inst = NewInstruction::new(stmt, ty).with_line(self.line);
        self.to.push(block, inst).map(Operand::Value)
    }

    /// Gives names to all that is copied: statements may use what stands behind them.
    fn allot(&mut self) -> Result<(), EditError> {
        let first = ROUNDS + 1;
        for (index, input) in self.region.inputs.iter().enumerate() {
            let copy = Operand::Argument(Argument::from_index(first + self.region.carried.len() + index));
            self.substitution.insert(&input.operand, copy);
        }
        for &block in &self.region.blocks {
            let here = self.block(block);
            for inst in self.bb.insts(block) {
                self.substitution.allot(&mut self.to, here, inst)?;
            }
        }
        Ok(())
    }

    /// Writes the statements.
    fn fill(&mut self) {
        for &block in &self.region.blocks {
            for (id, inst) in self.bb.insts(block) {
                let mut filled = inst.clone();
                match &mut filled.stmt {
                    // Those of the header are written last.
                    Stmt::Phi(_) if block == self.region.header => continue,
                    Stmt::Phi(phi) => phi.entries.iter_mut().for_each(|entry| entry.edge = self.block(entry.edge)),
                    stmt => stmt.for_each_target_mut(|target| *target = self.target(block, *target)),
                }
                self.substitution.fill(&mut self.to, id, filled);
            }
            let next = self.bb.next(block).map(|next| self.target(block, next));
            // The block is there: it was just made.
            let _ = self.to.set_next(self.block(block), next);
        }
    }

    /// Writes the φs of the header, and the end of a round: on to the next one, or to the end of the segment. Gives
    /// what goes around.
    fn go_around(&mut self) -> Result<Vec<Operand<Ids>>, EditError> {
        let region = self.region;
        let header = self.block(region.header);
        let mut around = Vec::new();
        for (index, &phi) in region.carried.iter().enumerate() {
            let Some(Stmt::Phi(node)) = self.bb.stmt(phi) else { continue };
            let ty = self.bb.operand_type(&Operand::Value(phi));
            let from = |latch: &BlockId| {
                let entry = node.entries.iter().find(|entry| entry.edge == *latch);
                let value = entry.and_then(|entry| entry.value.as_ref()).map(|value| self.operand(value));
                PhiEntry { edge: self.block(*latch), value }
            };
            let entries: PhiEntries<Ids> = region.latches.iter().map(from).collect();
            let value = match entries.as_slice() {
                [PhiEntry { value: Some(value), .. }] => value.clone(),
                _ => self.push(self.around, Stmt::Phi(ircode::PhiNode { entries }), ty)?,
            };
            let first = Operand::Argument(Argument::from_index(ROUNDS + 1 + index));
            let entries = [(self.start, Some(first)), (self.around, Some(value.clone()))];
            if let Some(copy) = self.operand(&Operand::Value(phi)).as_value().and_then(|copy| self.to.inst_mut(copy)) {
                copy.stmt = Stmt::phi(entries);
            }
            around.push(value);
        }
        let count = NewInstruction::new(Stmt::phi([]), Type::INT64).with_line(self.line);
        let count = self.to.insert_at_start(header, count)?;
        let (one, zero) = (Operand::from(Constant::int64(1)), Operand::from(Constant::int64(0)));
        let add = Stmt::call(Operand::global("Base", "add_int"), [Operand::Value(count), one]);
        let done = self.push(self.around, add, Type::INT64)?;
        if let Some(inst) = self.to.inst_mut(count) {
            inst.stmt = Stmt::phi([(self.start, Some(zero)), (self.around, Some(done.clone()))]);
        }
        let rounds = Operand::Argument(Argument::from_index(ROUNDS));
        let goes_on = Stmt::call(Operand::global("Base", "slt_int"), [done, rounds]);
        let goes_on = self.push(self.around, goes_on, Type::BOOL)?;
        self.push(self.around, Stmt::goto_if_not(goes_on, self.end), Type::Any)?;
        self.to.set_next(self.around, Some(header))?;
        self.push(self.start, Stmt::goto(header), Type::Any)?;
        Ok(around)
    }

    /// Writes what is returned: gives the numbers of the elements without derivative, and the type.
    fn leave(&mut self, next: Vec<Operand<Ids>>, surveyed: &Surveyed<'_>) -> Result<(Vec<usize>, Type), EditError> {
        let region = self.region;
        let exits: Vec<BlockId> = region.exits.iter().filter_map(|exit| self.exits.get(exit).copied()).collect();
        for &exit in &exits {
            self.push(exit, Stmt::goto(self.end), Type::Any)?;
        }
        let (mut elements, mut types, mut constants) = (Vec::new(), Vec::new(), vec![1]);
        let numbers = (1..).map(|number| Operand::from(Constant::int64(number)));
        let entries =
            std::iter::once((self.around, Constant::int64(0).into())).chain(exits.iter().copied().zip(numbers));
        let exit = self.meet(entries.collect(), Type::INT64)?;
        elements.push(exit);
        types.push(Type::INT64);
        for (&phi, next) in region.carried.iter().zip(next) {
            let ty = self.bb.operand_type(&Operand::Value(phi));
            // Nobody asks what goes around once control has left.
            let others = exits.iter().map(|&exit| (exit, zero(&ty)));
            let entries = std::iter::once((self.around, next)).chain(others).collect();
            elements.push(self.meet(entries, ty.clone())?);
            types.push(ty);
            constants.extend((!surveyed.flows(&Operand::Value(phi))).then_some(elements.len()));
        }
        for output in &region.outputs {
            let operand = Operand::Value(output.value);
            let ty = self.bb.operand_type(&operand);
            let at = |(&exit, &is_there): (&BlockId, &bool)| {
                (exit, if is_there { self.operand(&operand) } else { zero(&ty) })
            };
            let entries =
                std::iter::once((self.around, zero(&ty))).chain(exits.iter().zip(&output.at).map(at)).collect();
            elements.push(self.meet(entries, ty.clone())?);
            types.push(ty);
            constants.extend((!surveyed.flows(&operand)).then_some(elements.len()));
        }
        for input in region.inputs.iter().filter(|input| input.is_threaded) {
            elements.push(self.operand(&input.operand));
            types.push(input.ty.clone());
        }
        let ty = Type::tuple(types);
        let tuple = self.push(self.end, Stmt::call(Operand::global("Core", "tuple"), elements), ty.clone())?;
        self.push(self.end, Stmt::ret(tuple), Type::Any)?;
        Ok((constants, ty))
    }

    fn meet(&mut self, entries: Vec<(BlockId, Operand<Ids>)>, ty: Type) -> Result<Operand<Ids>, EditError> {
        let phi = Stmt::phi(entries.into_iter().map(|(edge, value)| (edge, Some(value))));
        self.push(self.end, phi, ty)
    }
}

/// A value of a scalar type that is not used.
fn zero(ty: &Type) -> Operand<Ids> {
    ty.as_scalar().map_or_else(Operand::nothing, |scalar| Operand::from(Scalar::from_bits(scalar, 0)))
}

/// The place in the tuple that a segment returns, counted from 0.
pub(super) struct Layout {
    /// What goes around.
    pub(super) carried: usize,
    /// The outputs.
    pub(super) outputs: usize,
    /// The inputs that are threaded.
    pub(super) threaded: usize,
}

impl Layout {
    pub(super) fn of(region: &Region) -> Layout {
        let outputs = 1 + region.carried.len();
        Layout { carried: 1, outputs, threaded: outputs + region.outputs.len() }
    }
}
