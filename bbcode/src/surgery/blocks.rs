//! Removing, splitting and merging blocks.

use ircode::{LineInfo, NewInstruction, Operand, Stmt, Type};

use crate::code::{BBCode, BBlock, OddEdges};
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

impl BBCode {
    /// Removes a block to which nothing leads and whose values nothing else uses; φs of the blocks that it leads to
    /// lose what they take from it. Takes time linear in its statements, in their users, in these φs, and in the number
    /// of blocks.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3
    /// 2 ─      nothing
    /// 3 ┄ %3 = φ (#2 => false, #1 => true)::Bool
    /// └──      return %3
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let reached = EditError::Reached { block: blocks[2], from: Some(blocks[0]) };
    /// bb.remove_block(blocks[1])?;
    /// assert_eq!(bb.remove_block(blocks[2]), Err(reached));
    /// assert_eq!(bb.to_string(), "1 ─ %1 = goto #3\n3 ─ %3 = φ (#1 => true)::Bool\n└── %4 = return %3\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`]; [`EditError::Reached`], of the entry too; [`EditError::InUse`].
    pub fn remove_block(&mut self, block: BlockId) -> Result<(), EditError> {
        if self.block(block).is_none() {
            return Err(EditError::NoSuchBlock(block));
        }
        if self.entry() == Some(block) {
            return Err(EditError::Reached { block, from: None });
        }
        if let Some(from) = self.predecessors(block).into_iter().find(|&from| from != block) {
            return Err(EditError::Reached { block, from: Some(from) });
        }
        let insts: Vec<InstId> = self.inst_ids(block).collect();
        for used in insts {
            let users = self.users(used);
            let stays = |user: &InstId| match self.stmt(*user).and_then(Stmt::as_phi) {
                _ if self.block_of(*user) == Some(block) => false,
                Some(phi) => {
                    phi.entries.iter().any(|entry| entry.edge != block && entry.value == Some(Operand::Value(used)))
                }
                None => true,
            };
            if let Some(user) = users.into_iter().find(stays) {
                return Err(EditError::InUse { used, user });
            }
        }
        let mut succs = self.successors(block);
        succs.sort_unstable();
        succs.dedup();
        for succ in succs.into_iter().filter(|&succ| succ != block) {
            self.forget_edges(succ, |from| from == block);
        }
        // What ends in a return never falls through, whatever stands behind it.
        let before: Vec<BlockId> = self.blocks().filter(|&other| self.next(other) == Some(block)).collect();
        for before in before {
            self.set_next(before, None)?;
        }
        self.remove_block_unchecked(block)
    }

    /// Splits a block before a statement: that and what follows goes to a new block behind it, to which the first one
    /// falls through, or goes if nothing is left in it. φs that took a value from the block take it from the new one.
    /// Takes time linear in what moves.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// │   %2 = Base.neg_int(%1)::Int64
    /// └──      return %2
    /// ")?.body)?;
    /// let second = bb.inst_ids(bb.entry().unwrap()).nth(1).unwrap();
    /// let new = bb.split_block(second)?;
    /// assert_eq!(bb.block_of(second), Some(new));
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └── next #2
    /// 2 ─ %2 = Base.neg_int(%1)::Int64
    /// └── %3 = return %2
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`]; [`EditError::BeforePhi`] before a φ that is not the first statement: φs stay
    /// together, where control comes in.
    pub fn split_block(&mut self, at: InstId) -> Result<BlockId, EditError> {
        let block = self.block_of(at).ok_or(EditError::NoSuchInst(at))?;
        if let Some((phi, _)) = self.phi_nodes(block).last()
            && (phi == at || self.comes_before(at, phi))
        {
            return Err(EditError::BeforePhi(at));
        }
        let mut succs = self.successors(block);
        succs.sort_unstable();
        succs.dedup();
        let named = self.store.phis_named;
        let new = self.insert_block_after(block)?;
        let prev = self.prev_inst(at);
        match prev.and_then(|prev| self.store.links_mut(prev)) {
            Some(prev) => prev.next = None,
            None => {
                if let Some(data) = self.store.block_mut(block) {
                    data.first = None;
                }
            }
        }
        let mut odd = None;
        if let Some(data) = self.store.block_mut(block) {
            data.last = prev;
            odd = data.edges.take();
        }
        self.append_chain(new, Some(at));
        let next = self.next(block);
        self.set_next(new, next)?;
        match prev {
            Some(_) => self.set_next(block, Some(new))?,
            None => {
                let line = self.inst(at).map_or(LineInfo::NONE, |inst| inst.line);
                self.set_next(block, None)?;
                self.push(block, NewInstruction::new(Stmt::goto(new), Type::Any).with_line(line))?;
            }
        }
        if let Some(odd) = odd.as_deref().cloned() {
            // What comes in stays, what goes out moves.
            let OddEdges { virtual_preds, extra_succs, missing_succs, extra_preds, stale_preds } = odd;
            self.set_odd_edges(new, OddEdges { extra_succs, missing_succs, ..OddEdges::default() })?;
            self.set_odd_edges(block, OddEdges { virtual_preds, extra_preds, stale_preds, ..OddEdges::default() })?;
        }
        for succ in succs {
            self.rename_incoming(succ, block, new);
        }
        self.store.phis_named = named;
        Ok(new)
    }

    /// [Splits](Self::split_block) a block before a statement, and leaves the first part open: where it goes is for
    /// what is pushed there to say. Gives both parts. φs that took a value from the block take it from the second part.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └──      return %1
    /// ")?.body)?;
    /// let first = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// let (before, rest) = bb.cut_block(first)?;
    /// assert_eq!((bb.inst_ids(before).count(), bb.next(before), bb.block_of(first)), (0, None, Some(rest)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`split_block`](Self::split_block).
    pub fn cut_block(&mut self, at: InstId) -> Result<(BlockId, BlockId), EditError> {
        let block = self.block_of(at).ok_or(EditError::NoSuchInst(at))?;
        let rest = self.split_block(at)?;
        // A block with nothing else ends with a goto.
        if let Some((goto, _)) = self.terminator(block) {
            self.remove_unchecked(goto)?;
        }
        self.set_next(block, None)?;
        Ok((block, rest))
    }

    /// Puts a new block with nothing but a goto on the edge from one block to another; φs that took a value from `from`
    /// take it from the new block (and edges that φs left out are named first, in time linear in the function unless
    /// that is known to be done). The edge may be critical. If several ways lead from `from` to `to`, as those of a
    /// switch may, all go through the new block: φs do not tell them apart.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      nothing
    /// 3 ┄ %3 = φ (#1 => 1, #2 => 2)::Int64
    /// └──      return %3
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// bb.split_edge(blocks[0], blocks[2])?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1 = goto #4 if not _2
    /// └── next #2
    /// 2 ─ %2 = nothing
    /// └── next #3
    /// 3 ┄ %3 = φ (#4 => 1, #2 => 2)::Int64
    /// └── %4 = return %3
    /// 4 ─ %5 = goto #3
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`], [`EditError::NoSuchEdge`]; [`EditError::FixedEdge`] for an edge that an exception
    /// takes, or no statement.
    pub fn split_edge(&mut self, from: BlockId, to: BlockId) -> Result<BlockId, EditError> {
        self.check_edge(from, to)?;
        self.ensure_phis_named();
        let line = self.last_line(from);
        let new = match self.next(from) == Some(to) {
            true => self.insert_block_after(from)?,
            false => self.push_block(),
        };
        self.push(new, NewInstruction::new(Stmt::goto(to), Type::Any).with_line(line))?;
        self.retarget_unchecked(from, to, new);
        self.rename_incoming(to, from, new);
        self.store.phis_named = true;
        Ok(new)
    }

    /// Puts a new block with these statements on the edge from one block to another, as [`BBCode::split_edge`] does,
    /// and returns it with the names of the statements.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{NewInstruction, Operand, Stmt, Type, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      return 1
    /// 3 ─      return 2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let say = NewInstruction::new(Stmt::call(Operand::global("Main", "println"), [2.into()]), Type::Nothing);
    /// let (_, insts) = bb.insert_block_on_edge(blocks[0], blocks[2], [say])?;
    /// assert_eq!(insts.len(), 1);
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BBCode::split_edge`] and [`BBCode::insert_before`]; then nothing is changed.
    pub fn insert_block_on_edge(
        &mut self,
        from: BlockId,
        to: BlockId,
        insts: impl IntoIterator<Item = NewInstruction<Ids>>,
    ) -> Result<(BlockId, Vec<InstId>), EditError> {
        let mut edit = self.transaction();
        let new = edit.split_edge(from, to)?;
        let mut names = Vec::new();
        for inst in insts {
            names.push(edit.insert_before_terminator(new, inst)?);
        }
        edit.commit();
        Ok((new, names))
    }

    /// Merges a block into its only predecessor, of which it is the only successor. Its φs become what they take from
    /// there. Takes time linear in the statements of the block and in the uses of its φs, and as
    /// [`BBCode::predecessors`].
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └──      goto #2
    /// 2 ─ %3 = φ (#1 => %1)::Int64
    /// └──      return %3
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// assert_eq!(bb.merge(blocks[1])?, blocks[0]);
    /// assert_eq!(bb.to_string(), "1 ─ %1 = Base.neg_int(_2)::Int64\n└── %4 = return %1\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`], [`EditError::NotMergeable`] with the reason.
    pub fn merge(&mut self, block: BlockId) -> Result<BlockId, EditError> {
        let data = self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        let refuse = |into: BlockId, because| Err(EditError::NotMergeable { block, into, because });
        if data.odd_edges().is_some() {
            return refuse(block, "it has edges that no terminator implies");
        }
        let first_two = self.store.ask_predecessors(|chains| {
            let mut preds = chains.to(block);
            (preds.next(), preds.next())
        });
        let (Some(into), None) = first_two else {
            return refuse(block, "it has not exactly one predecessor");
        };
        if into == block || self.entry() == Some(block) {
            return refuse(into, "it is its own predecessor, or the entry");
        }
        if self.block(into).is_some_and(|data| data.odd_edges().is_some_and(|odd| odd.leaves())) {
            return refuse(into, "control leaves the predecessor in ways that no terminator names");
        }
        let names_it = |data: &BBlock| data.odd_edges().is_some_and(|odd| odd.missing_succs.contains(&block));
        if self.store.stale_targets && self.blocks().filter_map(|other| self.block(other)).any(names_it) {
            return refuse(into, "a terminator names the block that does not lead to it");
        }
        match self.terminator(into).map(|(_, inst)| &inst.stmt) {
            None | Some(Stmt::Goto(_)) => {}
            Some(_) => return refuse(into, "the predecessor does not end in a goto"),
        }
        let mut values: Vec<(InstId, Operand<Ids>)> = Vec::new();
        for (id, inst) in self.phi_nodes(block) {
            let Stmt::Phi(phi) = &inst.stmt else { continue };
            match phi.entries.as_slice() {
                [entry] if entry.edge == into && !self.is_phi_of(block, entry.value.as_ref()) => match &entry.value {
                    Some(value) => values.push((id, value.clone())),
                    None => return refuse(into, "a φ is undefined"),
                },
                _ => return refuse(into, "a φ takes its value from elsewhere"),
            }
        }
        let succs = self.successors(block);
        for (id, value) in values {
            let mut users = self.users(id);
            users.dedup();
            for user in users {
                self.store.rewrite_operands(user, &mut |operand| {
                    if operand.as_value() == Some(id) {
                        *operand = value.clone();
                    }
                });
            }
            self.remove_unchecked(id)?;
        }
        self.append_block_unchecked(into, block)?;
        for succ in succs {
            self.rename_incoming(succ, block, into);
        }
        Ok(into)
    }

    /// Whether the operand is a φ of the block: φs are read together, so that only where control never comes one takes
    /// another.
    fn is_phi_of(&self, block: BlockId, operand: Option<&Operand<Ids>>) -> bool {
        let value = operand.and_then(Operand::as_value);
        value.is_some_and(|value| self.block_of(value) == Some(block) && matches!(self.stmt(value), Some(Stmt::Phi(_))))
    }
}
