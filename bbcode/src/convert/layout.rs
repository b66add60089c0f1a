//! Making the layout order say where control falls through.

use hashbrown::HashSet;
use ircode::{LineInfo, NewInstruction, Stmt, Type};

use super::ConversionError;
use crate::code::BBCode;
use crate::ids::{BlockId, Ids, InstId};
use crate::phi_edges::PhiEdgeChange;

impl BBCode {
    /// Whether conversion to IRCode needs no new blocks or statements: no switch, every fallthrough to the next block
    /// of the layout, and no goto-if-not of which both ways lead to the same block.
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
        if bb.is_laid_out() {
            return Ok(bb);
        }
        bb.name_phi_edges();
        bb.lower_switch_statements();
        let blocks: Vec<BlockId> = bb.blocks().collect();
        let mut moved = Vec::new();
        for block in blocks {
            bb.remove_double_edge(block);
            bb.make_fallthrough_positional(block, &mut moved)?;
        }
        bb.replace_phi_edges(moved);
        Ok(bb)
    }

    /// Replaces every switch by goto-if-nots, as Mooncake does. True if there was one.
    ///
    /// The block falls through to a chain of new blocks, one for each condition and a last one for the fallthrough,
    /// which follow it in the layout. A φ that took a value from the switch takes it from each of these blocks that
    /// goes to it. A block that held nothing but the switch keeps a `nothing`. Takes time linear in the function and in
    /// the φ entries that are made.
    ///
    /// ```
    /// use bbcode::{BBCode, Switch};
    /// use ircode::{Argument, NewInstruction, Stmt, Type};
    ///
    /// let mut bb = BBCode::new(vec![Type::Untyped, Type::BOOL, Type::BOOL]);
    /// let [entry, a, b] = [(); 3].map(|()| bb.push_block());
    /// let switch = Switch::new([(Argument(2).into(), a), (Argument(3).into(), b)], a);
    /// bb.push(entry, NewInstruction::new(Stmt::Switch(switch), Type::Any))?;
    /// for block in [a, b] {
    ///     bb.push(block, NewInstruction::new(Stmt::ret(Argument(2)), Type::Any))?;
    /// }
    /// assert!(bb.lower_switch_statements());
    /// assert!(bb.verify().is_ok());
    /// assert_eq!(bb.block_count(), 6);
    /// assert!(!bb.lower_switch_statements());
    /// # Ok::<(), bbcode::EditError>(())
    /// ```
    pub fn lower_switch_statements(&mut self) -> bool {
        let is_switch = |block: &BlockId| matches!(self.terminator(*block), Some((_, inst)) if matches!(inst.stmt, Stmt::Switch(_)));
        let blocks: Vec<BlockId> = self.blocks().filter(is_switch).collect();
        if blocks.is_empty() {
            return false;
        }
        self.name_phi_edges();
        // A switch has no result, but what is not reached may name it.
        let mut used: HashSet<InstId> = HashSet::new();
        for (_, inst) in self.all_insts() {
            inst.stmt.for_each_use(|value| {
                if matches!(self.stmt(value), Some(Stmt::Switch(_))) {
                    used.insert(value);
                }
            });
        }
        let mut moved = Vec::new();
        for block in blocks {
            self.lower_switch(block, &used, &mut moved);
        }
        self.replace_phi_edges(moved);
        true
    }

    fn lower_switch(&mut self, block: BlockId, used: &HashSet<InstId>, moved: &mut Vec<PhiEdgeChange>) {
        let Some((id, inst)) = self.terminator(block) else { return };
        let (Stmt::Switch(switch), line) = (inst.stmt.clone(), inst.line) else { return };
        // Text cannot show a block without statements as Julia prints it.
        let _ = match self.first_inst(block) == Some(id) || used.contains(&id) {
            true => self.replace(id, Stmt::nothing()).err(),
            false => self.remove_unchecked(id).err(),
        };
        let jump = |stmt: Stmt<Ids>| NewInstruction::new(stmt, Type::Any).into_instruction(line);
        let mut lowered: Vec<(BlockId, BlockId)> = Vec::new();
        let mut at = block;
        for (cond, &dest) in switch.conds().iter().zip(switch.dests()) {
            at = self.chain_block(at);
            self.append_unchecked(at, jump(Stmt::goto_if_not(cond.clone(), dest)));
            lowered.push((at, dest));
        }
        at = self.chain_block(at);
        self.append_unchecked(at, jump(Stmt::goto(switch.fallthrough_dest())));
        lowered.push((at, switch.fallthrough_dest()));
        // Sorted, so that the new edges of one destination stand together.
        lowered.sort_by_key(|&(_, dest)| dest);
        for group in lowered.chunk_by(|a, b| a.1 == b.1) {
            let Some(&(_, dest)) = group.first() else { continue };
            let mut new: Vec<BlockId> = group.iter().map(|&(from, _)| from).collect();
            new.sort_unstable();
            moved.push(PhiEdgeChange { block: dest, old: block, new });
        }
    }

    /// A new block behind `block`, which exists, to which it falls through.
    fn chain_block(&mut self, block: BlockId) -> BlockId {
        let new = self.insert_block_after(block).unwrap_or(block);
        let _ = self.set_next(block, Some(new));
        new
    }

    /// Replaces by a goto every goto-if-not of which both ways lead to the same block: its condition decides nothing.
    /// True if there was one.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Operand, Stmt, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      return 1
    /// 3 ─      return 2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let branch = bb.first_inst(blocks[0]).unwrap();
    /// bb.replace(branch, Stmt::goto_if_not(Operand::argument(2), blocks[1]))?;
    /// assert!(bb.remove_double_edges());
    /// assert_eq!(bb.stmt(branch), Some(&Stmt::goto(blocks[1])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_double_edges(&mut self) -> bool {
        let blocks: Vec<BlockId> = self.blocks().collect();
        let mut changed = false;
        for block in blocks {
            changed |= self.remove_double_edge(block);
        }
        changed
    }

    fn remove_double_edge(&mut self, block: BlockId) -> bool {
        let Some((id, inst)) = self.terminator(block) else { return false };
        if let Stmt::GotoIfNot(goto) = &inst.stmt
            && self.next(block) == Some(goto.dest)
        {
            let label = goto.dest;
            if let Some(inst) = self.inst_mut(id) {
                inst.stmt = Stmt::goto(label);
            }
            let _ = self.set_next(block, None);
            return true;
        }
        false
    }

    fn make_fallthrough_positional(
        &mut self,
        block: BlockId,
        moved: &mut Vec<PhiEdgeChange>,
    ) -> Result<(), ConversionError> {
        let Some(next) = self.next(block) else { return Ok(()) };
        let last = self.last_inst(block).and_then(|last| self.inst(last));
        if last.is_some_and(|last| !last.stmt.falls_through()) || self.layout_next(block) == Some(next) {
            return Ok(());
        }
        if self.block(next).is_none() {
            return Err(ConversionError::NoSuchBlockId(next));
        }
        let line = last.map_or(LineInfo::NONE, |last| last.line);
        // A fallthrough need not be among the successors of IRCode, a goto must.
        let odd = self.block(block).and_then(|block| block.odd_edges());
        if let Some(mut odd) = odd.filter(|odd| odd.missing_succs.contains(&next)).cloned() {
            odd.missing_succs.retain(|&missing| missing != next);
            let _ = self.set_odd_edges(block, odd);
        }
        let last = self.last_inst(block).and_then(|last| self.inst(last));
        let goto = NewInstruction::new(Stmt::goto(next), Type::Any).into_instruction(line);
        match last {
            Some(last) if last.stmt.is_terminator() => {
                let mut also_jumps = false;
                last.stmt.for_each_target(|target| also_jumps |= target == next);
                let new = self.chain_block(block);
                self.append_unchecked(new, goto);
                let kept = also_jumps.then_some(block);
                moved.push(PhiEdgeChange { block: next, old: block, new: kept.into_iter().chain([new]).collect() });
            }
            _ => {
                self.append_unchecked(block, goto);
                let _ = self.set_next(block, None);
            }
        }
        Ok(())
    }
}
