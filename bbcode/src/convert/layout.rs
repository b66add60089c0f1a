//! Making the layout order say where control falls through.

use ircode::{LineInfo, NewInstruction, Operand, PhiEntry, Stmt, Type};

use super::ConversionError;
use crate::code::BBCode;
use crate::ids::{BlockId, Ids, InstId};

impl BBCode {
    /// Whether conversion to IRCode needs no new blocks or statements: no switch, every fallthrough to the next block of
    /// the layout, and no goto-if-not of which both ways lead to the same block.
    pub fn is_laid_out(&self) -> bool {
        self.blocks().all(|block| {
            let last = self.last_inst(block).and_then(|last| self.stmt(last));
            match last {
                Some(Stmt::Switch(_)) => false,
                Some(Stmt::GotoIfNot(goto)) if Some(goto.dest) == self.next(block) => false,
                Some(last) if !last.falls_through() => true,
                _ => self.next(block).is_none_or(|next| self.layout_next(block) == Some(next)),
            }
        })
    }

    /// The same program laid out, so that it can be converted to IRCode as it stands. Idempotent.
    ///
    /// * A switch is lowered to goto-if-nots, one to a block, and a final goto. A φ that took a value from the switch
    ///   takes it from each of these blocks that goes to it.
    /// * A goto-if-not of which both ways lead to the same block becomes a goto.
    /// * Where control falls through to a block that is not the next of the layout, a goto is appended to the block, or
    ///   a block with nothing but the goto is inserted behind it if the block ends in a terminator; φs take their
    ///   values from that block then.
    ///
    /// # Errors
    ///
    /// [`ConversionError`] if a block is named that does not exist.
    pub fn laid_out(&self) -> Result<BBCode, ConversionError> {
        let mut bb = self.clone();
        let blocks: Vec<BlockId> = bb.blocks().collect();
        for block in blocks {
            bb.lower_switch(block)?;
        }
        let blocks: Vec<BlockId> = bb.blocks().collect();
        for block in blocks {
            bb.remove_double_edge(block);
            bb.make_fallthrough_positional(block)?;
        }
        Ok(bb)
    }

    /// As Mooncake does: the block falls through to a chain of blocks, one for each condition, and a last one for the
    /// fallthrough.
    fn lower_switch(&mut self, block: BlockId) -> Result<(), ConversionError> {
        let Some((id, inst)) = self.terminator(block) else { return Ok(()) };
        let (Stmt::Switch(switch), line) = (inst.stmt.clone(), inst.line) else { return Ok(()) };
        // Text cannot show a block without statements as Julia prints it.
        let _ = match self.first_inst(block) == Some(id) {
            true => self.replace(id, Stmt::nothing()).err(),
            false => self.remove_unchecked(id).err(),
        };
        let jump = |stmt: Stmt<Ids>| NewInstruction::new(stmt, Type::Any).into_instruction(line);
        let mut lowered: Vec<(BlockId, BlockId)> = Vec::new();
        let mut at = block;
        for (cond, &dest) in switch.conds().iter().zip(switch.dests()) {
            at = self.chain_block(at)?;
            self.append_unchecked(at, jump(Stmt::goto_if_not(cond.clone(), dest)));
            lowered.push((at, dest));
        }
        at = self.chain_block(at)?;
        self.append_unchecked(at, jump(Stmt::goto(switch.fallthrough_dest())));
        lowered.push((at, switch.fallthrough_dest()));
        // Sorted, so that the new edges of one destination stand together.
        lowered.sort_by_key(|&(_, dest)| dest);
        for group in lowered.chunk_by(|a, b| a.1 == b.1) {
            let Some(&(_, dest)) = group.first() else { continue };
            let mut from: Vec<BlockId> = group.iter().map(|&(from, _)| from).collect();
            from.sort_unstable();
            self.split_phi_edges(block, dest, &from, false);
        }
        Ok(())
    }

    /// A new block behind `block`, to which it falls through.
    fn chain_block(&mut self, block: BlockId) -> Result<BlockId, ConversionError> {
        let missing = |_| ConversionError::NoSuchBlockId(block);
        let new = self.insert_block_after(block).map_err(missing)?;
        self.set_next(block, Some(new)).map_err(missing)?;
        Ok(new)
    }

    /// In the φs of `dest`, replaces the edge from `from` by edges from each of `new`, keeping the old one if asked.
    fn split_phi_edges(&mut self, from: BlockId, dest: BlockId, new: &[BlockId], keep: bool) {
        let phis: Vec<InstId> = self.phi_nodes(dest).map(|(id, _)| id).collect();
        for phi in phis {
            let Some(Stmt::Phi(phi)) = self.inst_mut(phi).map(|inst| &mut inst.stmt) else { continue };
            let Some(at) = phi.entries.iter().position(|entry| entry.edge == from) else { continue };
            let value: Option<Operand<Ids>> = phi.entries.get(at).and_then(|entry| entry.value.clone());
            let old = keep.then_some(from);
            let edges = old.into_iter().chain(new.iter().copied());
            phi.entries.remove(at);
            phi.entries.insert_many(at, edges.map(|edge| PhiEntry { edge, value: value.clone() }));
        }
    }

    fn remove_double_edge(&mut self, block: BlockId) {
        let Some((id, inst)) = self.terminator(block) else { return };
        if let Stmt::GotoIfNot(goto) = &inst.stmt
            && self.next(block) == Some(goto.dest)
        {
            let label = goto.dest;
            if let Some(inst) = self.inst_mut(id) {
                inst.stmt = Stmt::goto(label);
            }
            let _ = self.set_next(block, None);
        }
    }

    fn make_fallthrough_positional(&mut self, block: BlockId) -> Result<(), ConversionError> {
        let Some(next) = self.next(block) else { return Ok(()) };
        let last = self.last_inst(block).and_then(|last| self.inst(last));
        if last.is_some_and(|last| !last.stmt.falls_through()) || self.layout_next(block) == Some(next) {
            return Ok(());
        }
        if self.block(next).is_none() {
            return Err(ConversionError::NoSuchBlockId(next));
        }
        let line = last.map_or(LineInfo::NONE, |last| last.line);
        let goto = NewInstruction::new(Stmt::goto(next), Type::Any).into_instruction(line);
        match last {
            Some(last) if last.stmt.is_terminator() => {
                let mut also_jumps = false;
                last.stmt.for_each_target(|target| also_jumps |= target == next);
                let new = self.chain_block(block)?;
                self.append_unchecked(new, goto);
                self.split_phi_edges(block, next, &[new], also_jumps);
            }
            _ => {
                self.append_unchecked(block, goto);
                let _ = self.set_next(block, None);
            }
        }
        Ok(())
    }
}
