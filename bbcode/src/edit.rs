//! Inserting, replacing and removing statements and blocks. Nothing here changes the name of anything that it does not
//! remove, and all of it takes constant time but where a verb says otherwise.

use std::sync::Arc;

use ircode::{Instruction, LineInfo, NewInstruction, Operand, Stmt};

use crate::code::{BBCode, BBlock, Node, OddEdges};
use crate::ids::{BlockId, Ids, InstId};

/// Why code cannot be edited so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// There is no such statement, or not any more.
    #[error("there is no statement {0}")]
    NoSuchInst(InstId),
    /// There is no such block, or not any more.
    #[error("there is no block {0}")]
    NoSuchBlock(BlockId),
    /// The block ends with the statement.
    #[error("{0} ends its block: nothing can be inserted behind it")]
    BehindTerminator(InstId),
    /// A terminator can only stand at the end of its block.
    #[error("a terminator can only be the last statement of a block, but {0} would follow")]
    TerminatorInside(InstId),
    /// Only φs may stand before a φ.
    #[error("{0} is a φ: only another φ can stand before it")]
    BeforePhi(InstId),
    /// A φ can only stand at the start of its block.
    #[error("a φ can only stand at the start of a block, not behind {0}")]
    PhiInside(InstId),
}

impl BBCode {
    /// Adds an empty block at the end of the layout.
    pub fn push_block(&mut self) -> BlockId {
        let block = self.blocks.insert(BBlock { before: self.last, ..BBlock::default() });
        match self.last.and_then(|last| self.blocks.get_mut(last)) {
            Some(last) => last.after = Some(block),
            None => self.first = Some(block),
        }
        self.last = Some(block);
        block
    }

    /// Adds an empty block behind `anchor` in the layout. No edge changes: blocks fall through by name.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn insert_block_after(&mut self, anchor: BlockId) -> Result<BlockId, EditError> {
        let after = self.blocks.get(anchor).ok_or(EditError::NoSuchBlock(anchor))?.after;
        let block = self.blocks.insert(BBlock { before: Some(anchor), after, ..BBlock::default() });
        if let Some(anchor) = self.blocks.get_mut(anchor) {
            anchor.after = Some(block);
        }
        match after.and_then(|after| self.blocks.get_mut(after)) {
            Some(after) => after.before = Some(block),
            None => self.last = Some(block),
        }
        Ok(block)
    }

    /// Adds an empty block before `anchor` in the layout; before the entry, it becomes the entry.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn insert_block_before(&mut self, anchor: BlockId) -> Result<BlockId, EditError> {
        match self.blocks.get(anchor).ok_or(EditError::NoSuchBlock(anchor))?.before {
            Some(before) => self.insert_block_after(before),
            None => {
                let block = self.blocks.insert(BBlock { after: Some(anchor), ..BBlock::default() });
                if let Some(anchor) = self.blocks.get_mut(anchor) {
                    anchor.before = Some(block);
                }
                self.first = Some(block);
                Ok(block)
            }
        }
    }

    /// Sets where control goes that falls out of the block.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn set_next(&mut self, block: BlockId, next: Option<BlockId>) -> Result<(), EditError> {
        if let Some(next) = next
            && !self.blocks.contains_key(next)
        {
            return Err(EditError::NoSuchBlock(next));
        }
        self.blocks.get_mut(block).ok_or(EditError::NoSuchBlock(block))?.next = next;
        Ok(())
    }

    /// Sets the edges of a block that its terminator does not imply.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn set_odd_edges(&mut self, block: BlockId, edges: OddEdges) -> Result<(), EditError> {
        let block = self.blocks.get_mut(block).ok_or(EditError::NoSuchBlock(block))?;
        block.edges = (!edges.is_empty()).then(|| Arc::new(edges));
        Ok(())
    }

    /// Puts a statement at the end of a block.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Argument, NewInstruction, Stmt, Type};
    ///
    /// let mut bb = BBCode::new(vec![Type::Untyped, Type::FLOAT64]);
    /// let block = bb.push_block();
    /// bb.push(block, NewInstruction::new(Stmt::ret(Argument(2)), Type::Any))?;
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), bbcode::EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::BehindTerminator`] if the block has ended, [`EditError::PhiInside`] if a φ would not stand at its
    /// start, [`EditError::NoSuchBlock`].
    pub fn push(&mut self, block: BlockId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let last = self.blocks.get(block).ok_or(EditError::NoSuchBlock(block))?.last;
        match last {
            Some(last) => self.insert_after(last, inst),
            None => Ok(self.link(block, None, None, inst.into_instruction(LineInfo::NONE))),
        }
    }

    /// Inserts a statement before another one.
    ///
    /// # Errors
    ///
    /// [`EditError::BeforePhi`] if that would put something before a φ, [`EditError::TerminatorInside`],
    /// [`EditError::PhiInside`], [`EditError::NoSuchInst`].
    pub fn insert_before(&mut self, anchor: InstId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let node = self.insts.get(anchor).ok_or(EditError::NoSuchInst(anchor))?;
        let (block, prev, line) = (node.block, node.prev, node.inst.line);
        self.check_place(prev, Some(anchor), &inst.stmt)?;
        Ok(self.link(block, prev, Some(anchor), inst.into_instruction(line)))
    }

    /// Inserts a statement behind another one.
    ///
    /// # Errors
    ///
    /// [`EditError::BehindTerminator`] if the block ends there, and as [`BBCode::insert_before`].
    pub fn insert_after(&mut self, anchor: InstId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let node = self.insts.get(anchor).ok_or(EditError::NoSuchInst(anchor))?;
        let (block, next, line) = (node.block, node.next, node.inst.line);
        self.check_place(Some(anchor), next, &inst.stmt)?;
        Ok(self.link(block, Some(anchor), next, inst.into_instruction(line)))
    }

    /// Inserts a statement before the terminator of a block, or at its end if it has none.
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`].
    pub fn insert_before_terminator(&mut self, block: BlockId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        match self.terminator(block).map(|(id, _)| id) {
            Some(terminator) => self.insert_before(terminator, inst),
            None => self.push(block, inst),
        }
    }

    /// Inserts a statement at the start of a block: a φ before everything else, any other statement behind the φs.
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`].
    pub fn insert_at_start(&mut self, block: BlockId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let anchor = match inst.stmt {
            Stmt::Phi(_) => self.first_inst(block),
            _ => {
                let last_phi = self.phi_nodes(block).last().map(|(id, _)| id);
                match last_phi {
                    Some(phi) => return self.insert_after(phi, inst),
                    None => self.first_inst(block),
                }
            }
        };
        match anchor {
            Some(anchor) => self.insert_before(anchor, inst),
            None => self.push(block, inst),
        }
    }

    /// Whether the statement may stand between these two neighbours.
    fn check_place(&self, prev: Option<InstId>, next: Option<InstId>, stmt: &Stmt<Ids>) -> Result<(), EditError> {
        let find = |id: Option<InstId>| id.and_then(|id| Some((id, self.stmt(id)?)));
        if let Some((prev, before)) = find(prev) {
            if before.is_terminator() {
                return Err(EditError::BehindTerminator(prev));
            }
            if matches!(stmt, Stmt::Phi(_)) && !before.may_stand_among_phis() {
                return Err(EditError::PhiInside(prev));
            }
        }
        if let Some((next, after)) = find(next) {
            if stmt.is_terminator() {
                return Err(EditError::TerminatorInside(next));
            }
            if matches!(after, Stmt::Phi(_)) && !stmt.may_stand_among_phis() {
                return Err(EditError::BeforePhi(next));
            }
        }
        Ok(())
    }

    /// Links a statement between two neighbours in a block.
    fn link(&mut self, block: BlockId, prev: Option<InstId>, next: Option<InstId>, inst: Instruction<Ids>) -> InstId {
        let id = self.insts.insert(Node { inst, block, prev, next });
        self.set_neighbours(block, prev, next, Some(id), Some(id));
        id
    }

    /// Makes `after_prev` follow `prev` and `before_next` precede `next`; without neighbours, they are the ends of the
    /// block.
    fn set_neighbours(
        &mut self,
        block: BlockId,
        prev: Option<InstId>,
        next: Option<InstId>,
        after_prev: Option<InstId>,
        before_next: Option<InstId>,
    ) {
        match prev.and_then(|prev| self.insts.get_mut(prev)) {
            Some(prev) => prev.next = after_prev,
            None => {
                if let Some(block) = self.blocks.get_mut(block) {
                    block.first = after_prev;
                }
            }
        }
        match next.and_then(|next| self.insts.get_mut(next)) {
            Some(next) => next.prev = before_next,
            None => {
                if let Some(block) = self.blocks.get_mut(block) {
                    block.last = before_next;
                }
            }
        }
    }

    /// Puts another statement in the place of one; its name, type, line and flags stay.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], and as [`BBCode::insert_before`] if the statement cannot stand there.
    pub fn replace(&mut self, inst: InstId, stmt: Stmt<Ids>) -> Result<Stmt<Ids>, EditError> {
        let node = self.insts.get(inst).ok_or(EditError::NoSuchInst(inst))?;
        self.check_place(node.prev, node.next, &stmt)?;
        let node = self.insts.get_mut(inst).ok_or(EditError::NoSuchInst(inst))?;
        Ok(std::mem::replace(&mut node.inst.stmt, stmt))
    }

    /// Removes a statement. Whether it is used is not looked at: the verifier finds uses of what is gone, as its name
    /// never names anything else.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`].
    pub fn remove(&mut self, inst: InstId) -> Result<Instruction<Ids>, EditError> {
        let Node { inst: removed, block, prev, next } = self.insts.remove(inst).ok_or(EditError::NoSuchInst(inst))?;
        self.set_neighbours(block, prev, next, next, prev);
        Ok(removed)
    }

    /// Removes a block with its statements, in time linear in their number. Edges to it are not looked at.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn remove_block(&mut self, block: BlockId) -> Result<(), EditError> {
        let removed = self.blocks.remove(block).ok_or(EditError::NoSuchBlock(block))?;
        let mut at = removed.first;
        while let Some(node) = at.and_then(|inst| self.insts.remove(inst)) {
            at = node.next;
        }
        match removed.before.and_then(|before| self.blocks.get_mut(before)) {
            Some(before) => before.after = removed.after,
            None => self.first = removed.after,
        }
        match removed.after.and_then(|after| self.blocks.get_mut(after)) {
            Some(after) => after.before = removed.before,
            None => self.last = removed.before,
        }
        Ok(())
    }

    /// Moves the statements of `block` to the end of `to`, whose goto to it is removed, and removes the block. `to` ends as
    /// `block` did. φs that name `block` are not looked at. Takes time linear in the statements moved.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`]; [`EditError::BehindTerminator`] if `to` ends in something else than a goto.
    pub fn append_block(&mut self, to: BlockId, block: BlockId) -> Result<(), EditError> {
        let moved = self.blocks.get(block).ok_or(EditError::NoSuchBlock(block))?.clone();
        self.blocks.get(to).ok_or(EditError::NoSuchBlock(to))?;
        if let Some((id, inst)) = self.terminator(to) {
            if !matches!(inst.stmt, Stmt::Goto(_)) {
                return Err(EditError::BehindTerminator(id));
            }
            self.remove(id)?;
        }
        let mut at = moved.first;
        while let Some(node) = at.and_then(|inst| self.insts.get_mut(inst)) {
            node.block = to;
            at = node.next;
        }
        let last = self.last_inst(to);
        if let Some(last) = last.and_then(|last| self.insts.get_mut(last)) {
            last.next = moved.first;
        }
        if let Some(first) = moved.first.and_then(|first| self.insts.get_mut(first)) {
            first.prev = last;
        }
        if let Some(to) = self.blocks.get_mut(to) {
            to.first = to.first.or(moved.first);
            to.last = moved.last.or(to.last);
            to.next = moved.next;
        }
        if let Some(emptied) = self.blocks.get_mut(block) {
            emptied.first = None;
            emptied.last = None;
        }
        self.remove_block(block)
    }

    /// Rewrites every operand of every statement, in time linear in the function.
    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Operand<Ids>)) {
        for node in self.insts.values_mut() {
            node.inst.stmt.for_each_operand_mut(&mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ircode::{Constant, Type};

    fn value(n: i64) -> NewInstruction<Ids> {
        NewInstruction::new(Stmt::call(Operand::global("", "identity"), [Constant::int64(n).into()]), Type::INT64)
    }

    fn numbers(bb: &BBCode, block: BlockId) -> Vec<String> {
        let text = |stmt: &Stmt<Ids>| match stmt {
            Stmt::Call(call) => format!("{:?}", call.args[0].as_constant().unwrap().as_scalar().unwrap().to_i128()),
            _ => "?".into(),
        };
        bb.insts(block).map(|(_, inst)| text(&inst.stmt)).collect()
    }

    #[test]
    fn statements_keep_their_names_and_order() {
        let mut bb = BBCode::new(vec![]);
        let block = bb.push_block();
        let b = bb.push(block, value(2)).unwrap();
        let a = bb.insert_before(b, value(1)).unwrap();
        let c = bb.insert_after(b, value(3)).unwrap();
        assert_eq!(numbers(&bb, block), ["1", "2", "3"]);
        bb.remove(b).unwrap();
        assert_eq!(bb.remove(b), Err(EditError::NoSuchInst(b)));
        let d = bb.insert_after(a, value(4)).unwrap();
        assert_ne!(d, b, "a removed name is never given again");
        assert!(bb.inst(b).is_none());
        assert_eq!(numbers(&bb, block), ["1", "4", "3"]);
        assert_eq!((bb.first_inst(block), bb.last_inst(block)), (Some(a), Some(c)));
        assert_eq!((bb.prev_inst(c), bb.next_inst(a)), (Some(d), Some(d)));
        for inst in [a, c, d] {
            bb.remove(inst).unwrap();
        }
        assert_eq!((bb.first_inst(block), bb.last_inst(block)), (None, None));
    }

    #[test]
    fn places_are_checked() {
        let mut bb = BBCode::new(vec![]);
        let block = bb.push_block();
        let phi = || NewInstruction::new(Stmt::phi([]), Type::INT64);
        let ret = || NewInstruction::new(Stmt::ret(Operand::nothing()), Type::Any);
        let one = bb.push(block, value(1)).unwrap();
        let end = bb.push(block, ret()).unwrap();
        assert_eq!(bb.push(block, value(2)), Err(EditError::BehindTerminator(end)));
        assert_eq!(bb.insert_before(one, ret()), Err(EditError::TerminatorInside(one)));
        assert_eq!(bb.insert_after(one, phi()), Err(EditError::PhiInside(one)));
        let first = bb.insert_at_start(block, phi()).unwrap();
        assert_eq!(bb.insert_before(first, value(0)), Err(EditError::BeforePhi(first)));
        let after = bb.insert_at_start(block, value(0)).unwrap();
        assert_eq!(bb.prev_inst(after), Some(first));
        let last = bb.insert_before_terminator(block, value(9)).unwrap();
        assert_eq!(bb.next_inst(last), Some(end));
        assert_eq!(bb.replace(one, Stmt::unreachable()), Err(EditError::TerminatorInside(last)));
    }

    #[test]
    fn blocks_are_laid_out_as_asked() {
        let mut bb = BBCode::new(vec![]);
        let b = bb.push_block();
        let d = bb.push_block();
        let c = bb.insert_block_after(b).unwrap();
        let a = bb.insert_block_before(b).unwrap();
        let e = bb.insert_block_after(d).unwrap();
        assert_eq!(bb.blocks().collect::<Vec<_>>(), [a, b, c, d, e]);
        assert_eq!((bb.entry(), bb.last_block()), (Some(a), Some(e)));
        for block in [a, c, e] {
            bb.remove_block(block).unwrap();
        }
        assert_eq!(bb.blocks().collect::<Vec<_>>(), [b, d]);
        assert_eq!(bb.set_next(b, Some(c)), Err(EditError::NoSuchBlock(c)));
        assert_eq!(bb.remove_block(c), Err(EditError::NoSuchBlock(c)));
    }
}
