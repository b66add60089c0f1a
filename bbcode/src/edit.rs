//! Inserting, replacing and removing statements and blocks. Nothing here changes the name of anything that it does not
//! remove, and all of it takes constant time (inserting: logarithmic, amortised) but where a verb says otherwise, and
//! but for the statements that compute nothing (`nothing`, constants, π) around the place, which are stepped over. What
//! is looked at is whether a statement may stand where it is put; whether the values that it uses are there is asked by
//! a [`Cursor`](crate::Cursor), by [`BBCode::checked`], and by the verifier.

use ircode::{Instruction, LineInfo, NewInstruction, Operand, Stmt};

use crate::code::{BBCode, BBlock, OddEdges};
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};
use crate::store::{Node, STRIDE};

impl BBCode {
    /// Adds an empty block at the end of the layout.
    pub fn push_block(&mut self) -> BlockId {
        let (first, last) = (self.entry(), self.last_block());
        let block = self.store.add_block(BBlock { before: last, ..BBlock::default() });
        if let Some(last) = last.and_then(|last| self.store.block_mut(last)) {
            last.after = Some(block);
        }
        self.store.set_ends(first.or(Some(block)), Some(block));
        block
    }

    /// Adds an empty block behind `anchor` in the layout. No edge changes: blocks fall through by name.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn insert_block_after(&mut self, anchor: BlockId) -> Result<BlockId, EditError> {
        let after = self.store.block(anchor).ok_or(EditError::NoSuchBlock(anchor))?.after;
        let block = self.store.add_block(BBlock { before: Some(anchor), after, ..BBlock::default() });
        if let Some(anchor) = self.store.block_mut(anchor) {
            anchor.after = Some(block);
        }
        match after.and_then(|after| self.store.block_mut(after)) {
            Some(after) => after.before = Some(block),
            None => self.store.set_ends(self.entry(), Some(block)),
        }
        Ok(block)
    }

    /// Adds an empty block before `anchor` in the layout; before the entry, it becomes the entry.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn insert_block_before(&mut self, anchor: BlockId) -> Result<BlockId, EditError> {
        match self.store.block(anchor).ok_or(EditError::NoSuchBlock(anchor))?.before {
            Some(before) => self.insert_block_after(before),
            None => {
                let block = self.store.add_block(BBlock { after: Some(anchor), ..BBlock::default() });
                if let Some(anchor) = self.store.block_mut(anchor) {
                    anchor.before = Some(block);
                }
                self.store.set_ends(Some(block), self.last_block());
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
            && self.store.block(next).is_none()
        {
            return Err(EditError::NoSuchBlock(next));
        }
        self.store.block_mut(block).ok_or(EditError::NoSuchBlock(block))?.next = next;
        Ok(())
    }

    /// Sets the edges of a block that its terminator does not imply.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn set_odd_edges(&mut self, block: BlockId, edges: OddEdges) -> Result<(), EditError> {
        self.store.set_odd_edges(block, edges).ok_or(EditError::NoSuchBlock(block))
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
        let last = self.store.block(block).ok_or(EditError::NoSuchBlock(block))?.last;
        match last {
            Some(last) => self.insert_after(last, inst),
            None => Ok(self.link(block, None, None, inst.into_instruction(LineInfo::NONE))),
        }
    }

    /// Inserts a statement before another one, whose line it takes if it has none of its own.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{NewInstruction, Operand, Stmt, Type, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("1 ─ return 1")?.body)?;
    /// let end = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// let say = Stmt::call(Operand::global("Main", "println"), [1.into()]);
    /// let said = bb.insert_before(end, NewInstruction::new(say, Type::Nothing))?;
    /// let behind = bb.insert_after(said, NewInstruction::new(Stmt::nothing(), Type::Nothing))?;
    /// assert!(bb.inst_ids(bb.entry().unwrap()).eq([said, behind, end]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::BeforePhi`] if that would put something before a φ, [`EditError::TerminatorInside`],
    /// [`EditError::PhiInside`], [`EditError::NoSuchInst`].
    pub fn insert_before(&mut self, anchor: InstId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let node = self.store.node(anchor).ok_or(EditError::NoSuchInst(anchor))?;
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
        let node = self.store.node(anchor).ok_or(EditError::NoSuchInst(anchor))?;
        let (block, next, line) = (node.block, node.next, node.inst.line);
        self.check_place(Some(anchor), next, &inst.stmt)?;
        Ok(self.link(block, Some(anchor), next, inst.into_instruction(line)))
    }

    /// Inserts a statement before the terminator of a block, or before a last statement that never returns, or at the
    /// end.
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`].
    pub fn insert_before_terminator(&mut self, block: BlockId, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        match self.end_of(block) {
            Some(end) => self.insert_before(end, inst),
            None => self.push(block, inst),
        }
    }

    /// Inserts a statement at the start of a block: a φ before everything else, any other statement behind the φs, in
    /// time linear in their number.
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
    pub(crate) fn check_place(
        &self,
        prev: Option<InstId>,
        next: Option<InstId>,
        stmt: &Stmt<Ids>,
    ) -> Result<(), EditError> {
        let find = |id: Option<InstId>| id.and_then(|id| Some((id, self.stmt(id)?)));
        if let Some((prev, before)) = find(prev) {
            if before.is_terminator() {
                return Err(EditError::BehindTerminator(prev));
            }
            if matches!(stmt, Stmt::Phi(_)) {
                // What may stand among φs may also hide what must not.
                let mut at = Some((prev, before));
                while let Some((id, before)) = at
                    && !matches!(before, Stmt::Phi(_))
                {
                    if !before.may_stand_among_phis() {
                        return Err(EditError::PhiInside(id));
                    }
                    at = find(self.prev_inst(id));
                }
            }
        }
        if let Some((next, after)) = find(next) {
            if stmt.is_terminator() {
                return Err(EditError::TerminatorInside(next));
            }
            if !stmt.may_stand_among_phis() {
                let mut at = Some((next, after));
                while let Some((id, after)) = at
                    && after.may_stand_among_phis()
                {
                    if matches!(after, Stmt::Phi(_)) {
                        return Err(EditError::BeforePhi(id));
                    }
                    at = find(self.next_inst(id));
                }
            }
        }
        Ok(())
    }

    /// Links a statement between two neighbours in a block.
    fn link(&mut self, block: BlockId, prev: Option<InstId>, next: Option<InstId>, inst: Instruction<Ids>) -> InstId {
        let order = self.order_between(prev, next);
        let id = self.store.add_node(Node { inst, block, prev, next, order });
        self.set_neighbours(block, prev, next, Some(id), Some(id));
        id
    }

    /// Makes `after_prev` follow `prev` and `before_next` precede `next`; without neighbours, they are the ends of the
    /// block.
    pub(crate) fn set_neighbours(
        &mut self,
        block: BlockId,
        prev: Option<InstId>,
        next: Option<InstId>,
        after_prev: Option<InstId>,
        before_next: Option<InstId>,
    ) {
        match prev.and_then(|prev| self.store.links_mut(prev)) {
            Some(prev) => prev.next = after_prev,
            None => {
                if let Some(block) = self.store.block_links_mut(block) {
                    block.first = after_prev;
                }
            }
        }
        match next.and_then(|next| self.store.links_mut(next)) {
            Some(next) => next.prev = before_next,
            None => {
                if let Some(block) = self.store.block_mut(block) {
                    block.last = before_next;
                }
            }
        }
    }

    /// An order number for a statement between these two. Where there is none left, statements behind `prev` get new
    /// numbers, so many of them that this costs logarithmic time an insertion (Dietz and Sleator, *Two Algorithms for
    /// Maintaining Order in a List*, 1987).
    pub(crate) fn order_between(&mut self, prev: Option<InstId>, next: Option<InstId>) -> u64 {
        let order = |bb: &BBCode, inst: Option<InstId>| inst.and_then(|inst| Some(bb.store.node(inst)?.order));
        let low = order(self, prev).unwrap_or(0);
        let Some(high) = order(self, next) else { return low.saturating_add(STRIDE) };
        if high - low > 1 {
            return low + (high - low) / 2;
        }
        let mut crowded: Vec<InstId> = Vec::new();
        let mut at = next;
        let high = loop {
            let Some(inst) = at else { break low + STRIDE * (crowded.len() as u64 + 1) };
            let count = crowded.len() as u64 + 1;
            match order(self, at) {
                Some(high) if high - low > count * count => break high,
                _ => crowded.push(inst),
            }
            at = self.next_inst(inst);
        };
        // The first of the new places is the one that is asked for.
        let gap = (high - low) / (crowded.len() as u64 + 2);
        for (place, &inst) in (2..).zip(&crowded) {
            if let Some(node) = self.store.links_mut(inst) {
                node.order = low + gap * place;
            }
        }
        low + gap
    }

    /// Puts another statement in the place of one; its name, type, line and flags stay. Returns what was there.
    ///
    /// A terminator out of which control does not fall, as a `goto`, also ends the block's falling through to the next;
    /// if one that falls is put back, [`BBCode::set_next`] has to say where to.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Stmt, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("1 ─ return 1")?.body)?;
    /// let end = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// assert_eq!(bb.replace(end, Stmt::ret(2))?, Stmt::ret(1));
    /// assert_eq!(bb.to_string(), "1 ─ %1 = return 2\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], and as [`BBCode::insert_before`] if the statement cannot stand there.
    pub fn replace(&mut self, inst: InstId, stmt: Stmt<Ids>) -> Result<Stmt<Ids>, EditError> {
        let node = self.store.node(inst).ok_or(EditError::NoSuchInst(inst))?;
        let block = node.block;
        self.check_place(node.prev, node.next, &stmt)?;
        // Out of a block that ends so control does not fall.
        if !stmt.falls_through()
            && let Some(block) = self.store.block_mut(block)
        {
            block.next = None;
        }
        let inst = self.store.inst_mut(inst).ok_or(EditError::NoSuchInst(inst))?;
        Ok(std::mem::replace(&mut inst.stmt, stmt))
    }

    /// Removes a statement whose value nobody uses. Who uses it is looked up as [`BBCode::users`] does.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// │   %2 = Base.neg_int(%1)::Int64
    /// └──      return %1
    /// ")?.body)?;
    /// let insts: Vec<_> = bb.inst_ids(bb.entry().unwrap()).collect();
    /// let first_user = EditError::InUse { used: insts[0], user: insts[2] };
    /// assert_eq!(bb.remove(insts[0]), Err(first_user));
    /// assert_eq!(bb.remove(insts[1])?.ty, ircode::Type::INT64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], [`EditError::InUse`]; [`EditError::EndsBlock`] for a terminator, which only
    /// [`BBCode::replace`] can change.
    pub fn remove(&mut self, inst: InstId) -> Result<Instruction<Ids>, EditError> {
        self.store.node(inst).ok_or(EditError::NoSuchInst(inst))?;
        if self.ends_block(inst) {
            return Err(EditError::EndsBlock(inst));
        }
        // A φ may use itself.
        let user = self.store.ask_uses(|uses| uses.to(inst).find(|&user| user != inst));
        match user {
            Some(user) => Err(EditError::InUse { used: inst, user }),
            None => self.remove_unchecked(inst),
        }
    }

    /// Removes a statement. Whether it is used is not looked at: the verifier finds uses of what is gone, as its name
    /// never names anything else. This is for passes that put something in the place of all uses later.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`].
    pub fn remove_unchecked(&mut self, inst: InstId) -> Result<Instruction<Ids>, EditError> {
        let removed = self.store.remove_node(inst).ok_or(EditError::NoSuchInst(inst))?;
        let Node { inst: removed, block, prev, next, .. } = removed;
        self.set_neighbours(block, prev, next, next, prev);
        Ok(removed)
    }

    /// Removes a block with its statements, in time linear in their number. Edges to it and uses of its values are not
    /// looked at, nor what φs take from it: [`BBCode::remove_block`] does that.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn remove_block_unchecked(&mut self, block: BlockId) -> Result<(), EditError> {
        let removed = self.store.remove_block(block).ok_or(EditError::NoSuchBlock(block))?;
        let mut at = removed.first;
        while let Some(node) = at.and_then(|inst| self.store.remove_node(inst)) {
            at = node.next;
        }
        self.link_blocks(removed.before, removed.after);
        Ok(())
    }

    /// Makes two blocks neighbours in the layout; where there is none, the other is at its end.
    pub(crate) fn link_blocks(&mut self, before: Option<BlockId>, after: Option<BlockId>) {
        match before.and_then(|before| self.store.block_mut(before)) {
            Some(before) => before.after = after,
            None => self.store.set_ends(after, self.last_block()),
        }
        match after.and_then(|after| self.store.block_mut(after)) {
            Some(after) => after.before = before,
            None => self.store.set_ends(self.entry(), before),
        }
    }

    /// Moves the statements of `block` to the end of `to`, whose goto to it is removed, and removes the block. `to`
    /// ends as `block` did. It is not looked at whether other blocks lead to `block`, nor at φs that name it or stand in
    /// it: [`BBCode::merge`] does that. Takes time linear in the statements moved.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`]; [`EditError::BehindTerminator`] if `to` ends in something else than a goto;
    /// [`EditError::NotMergeable`] if both are the same block, if `to` goes elsewhere, or if one of them has edges that
    /// no terminator implies. Nothing is changed then.
    pub fn append_block_unchecked(&mut self, to: BlockId, block: BlockId) -> Result<(), EditError> {
        let moved = self.store.block(block).ok_or(EditError::NoSuchBlock(block))?.clone();
        let into = self.store.block(to).ok_or(EditError::NoSuchBlock(to))?;
        let refuse = |because| Err(EditError::NotMergeable { block, into: to, because });
        if block == to {
            return refuse("it is the same block");
        }
        if moved.odd_edges().is_some() || into.odd_edges().is_some_and(|odd| odd.leaves()) {
            return refuse("there are edges that no terminator implies");
        }
        let goto = match self.terminator(to) {
            Some((id, inst)) => match inst.stmt {
                Stmt::Goto(goto) if goto.label == block => Some(id),
                Stmt::Goto(_) => return refuse("the other goes elsewhere"),
                _ => return Err(EditError::BehindTerminator(id)),
            },
            None if into.next().is_some_and(|next| next != block) => return refuse("the other goes elsewhere"),
            None => None,
        };
        if let Some(goto) = goto {
            self.remove_unchecked(goto)?;
        }
        self.append_chain(to, moved.first);
        if let Some(to) = self.store.block_mut(to) {
            to.next = moved.next;
        }
        if let Some(emptied) = self.store.block_mut(block) {
            emptied.first = None;
            emptied.last = None;
        }
        self.remove_block_unchecked(block)
    }

    /// Puts a list of statements that belongs to another block at the end of this one.
    pub(crate) fn append_chain(&mut self, to: BlockId, first: Option<InstId>) {
        let mut last = self.last_inst(to);
        let mut order = last.and_then(|last| Some(self.store.node(last)?.order)).unwrap_or(0);
        let mut at = first;
        match last.and_then(|last| self.store.links_mut(last)) {
            Some(last) => last.next = first,
            None => {
                if let Some(to) = self.store.block_mut(to) {
                    to.first = first;
                }
            }
        }
        while let Some(id) = at
            && let Some(node) = self.store.links_mut(id)
        {
            order = order.saturating_add(STRIDE);
            (node.block, node.prev, node.order) = (to, last, order);
            last = at;
            at = node.next;
        }
        if let Some(to) = self.store.block_mut(to) {
            to.last = last;
        }
    }

    /// Rewrites every operand of every statement, in time linear in the function.
    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Operand<Ids>)) {
        for inst in self.store.operands_mut() {
            inst.stmt.for_each_operand_mut(&mut visit);
        }
    }

    /// Puts a statement at the end of a block without looking at what stands there.
    pub(crate) fn append_unchecked(&mut self, block: BlockId, inst: Instruction<Ids>) -> InstId {
        self.link(block, self.last_inst(block), None, inst)
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
            bb.remove_block_unchecked(block).unwrap();
        }
        assert_eq!(bb.blocks().collect::<Vec<_>>(), [b, d]);
        assert_eq!(bb.set_next(b, Some(c)), Err(EditError::NoSuchBlock(c)));
        assert_eq!(bb.remove_block_unchecked(c), Err(EditError::NoSuchBlock(c)));
    }
}
