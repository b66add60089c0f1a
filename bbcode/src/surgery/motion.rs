//! Moving statements.

use ircode::{Head, Stmt};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, InstId};

impl BBCode {
    /// Moves a statement to the place before another one. Its name stays. Whether its operands are there and its uses
    /// behind it is looked up in the dominator tree and the use chains; whether it may run more or less often than
    /// before is not: that depends on what it does.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// │   %2 = Base.not_int(_2)::Int64
    /// │   %3 = Base.add_int(%1, %2)::Int64
    /// └──      return %3
    /// ")?.body)?;
    /// let insts: Vec<_> = bb.inst_ids(bb.entry().unwrap()).collect();
    /// bb.move_before(insts[1], insts[0])?;
    /// assert!(bb.comes_before(insts[1], insts[0]));
    /// let early = EditError::NotAvailable { value: insts[0], at: insts[2] };
    /// assert_eq!(bb.move_before(insts[2], insts[0]), Err(early));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`]; [`EditError::Immovable`] for φs, φᶜs, ϒs, πs, terminators and what belongs to a `try`
    /// region; [`EditError::BeforePhi`]; [`EditError::NotAvailable`] if an operand would not be there, or the statement
    /// not be there where it is used.
    pub fn move_before(&mut self, inst: InstId, anchor: InstId) -> Result<(), EditError> {
        let block = self.block_of(anchor).ok_or(EditError::NoSuchInst(anchor))?;
        self.move_into(inst, block, Some(anchor))
    }

    /// Moves a statement to the place before `anchor`, or to the end of a block.
    fn move_into(&mut self, inst: InstId, block: BlockId, anchor: Option<InstId>) -> Result<(), EditError> {
        let stmt = self.stmt(inst).ok_or(EditError::NoSuchInst(inst))?;
        let before = match anchor {
            Some(anchor) => self.prev_inst(anchor),
            None => self.last_inst(block),
        };
        if Some(inst) == anchor || anchor.is_none() && before == Some(inst) {
            return Ok(());
        }
        let bound = match stmt {
            Stmt::Phi(_) | Stmt::Pi(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => true,
            Stmt::Expr(expr) => matches!(expr.head, Head::PopException | Head::TheException),
            _ => self.ends_block(inst),
        };
        if bound {
            return Err(EditError::Immovable(inst));
        }
        self.check_place(before, anchor, stmt)?;
        let mut operands: Vec<InstId> = Vec::new();
        stmt.for_each_use(|value| operands.push(value));
        for value in operands {
            let is_there = match anchor {
                Some(anchor) => self.is_available(value, anchor),
                None => self.is_available_at_end(value, block),
            };
            if value == inst || !is_there {
                return Err(EditError::NotAvailable { value, at: inst });
            }
        }
        let mut users = self.users(inst);
        users.dedup();
        for user in users {
            let behind = match self.stmt(user) {
                Some(Stmt::Phi(phi)) => phi
                    .entries
                    .iter()
                    .filter(|entry| entry.value.as_ref().and_then(|value| value.as_value()) == Some(inst))
                    .all(|entry| self.is_place_above(block, entry.edge)),
                _ if self.block_of(user) == Some(block) => {
                    anchor.is_some_and(|anchor| user == anchor || self.comes_before(anchor, user))
                }
                _ => self.block_of(user).is_some_and(|below| self.is_place_above(block, below)),
            };
            if !behind {
                return Err(EditError::NotAvailable { value: inst, at: user });
            }
        }
        self.relink(inst, block, anchor)
    }

    /// Moves a statement to the end of a block, before the terminator if there is one: out of a loop, or before a
    /// branch.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _3
    /// 2 ─ %2 = Base.neg_int(_2)::Int64
    /// └──      return %2
    /// 3 ─      return _2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let negated = bb.first_inst(blocks[1]).unwrap();
    /// bb.hoist(negated, blocks[0])?;
    /// assert_eq!(bb.block_of(negated), Some(blocks[0]));
    /// bb.sink(negated, blocks[1])?;
    /// assert_eq!(bb.first_inst(blocks[1]), Some(negated));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BBCode::move_before`].
    pub fn hoist(&mut self, inst: InstId, to: BlockId) -> Result<(), EditError> {
        self.block(to).ok_or(EditError::NoSuchBlock(to))?;
        self.move_into(inst, to, self.end_of(to))
    }

    /// Moves a statement to the start of a block, behind its φs: to where it is used.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └──      goto #3 if not _3
    /// 2 ─      return %1
    /// 3 ─      return _2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let negated = bb.first_inst(blocks[0]).unwrap();
    /// assert!(matches!(bb.sink(negated, blocks[2]), Err(EditError::NotAvailable { .. })));
    /// bb.sink(negated, blocks[1])?;
    /// assert_eq!(bb.first_inst(blocks[1]), Some(negated));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BBCode::move_before`].
    pub fn sink(&mut self, inst: InstId, to: BlockId) -> Result<(), EditError> {
        self.block(to).ok_or(EditError::NoSuchBlock(to))?;
        let anchor = match self.phi_nodes(to).last() {
            Some((phi, _)) => self.next_inst(phi),
            None => self.first_inst(to),
        };
        self.move_into(inst, to, anchor)
    }

    /// Moves a statement as [`BBCode::hoist`] does, but looks neither at operands nor at uses, and takes constant time.
    /// This is for passes that have looked, and move very many.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// 2 ─ %2 = Base.neg_int(%1)::Int64
    /// └──      return %2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let again = bb.first_inst(blocks[1]).unwrap();
    /// bb.hoist_unchecked(again, blocks[0])?;
    /// assert_eq!(bb.last_inst(blocks[0]), Some(again));
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], [`EditError::NoSuchBlock`]; [`EditError::Immovable`] for φs and terminators.
    pub fn hoist_unchecked(&mut self, inst: InstId, to: BlockId) -> Result<(), EditError> {
        let stmt = self.stmt(inst).ok_or(EditError::NoSuchInst(inst))?;
        if matches!(stmt, Stmt::Phi(_)) || stmt.is_terminator() {
            return Err(EditError::Immovable(inst));
        }
        self.block(to).ok_or(EditError::NoSuchBlock(to))?;
        match self.terminator(to) {
            None if self.last_inst(to) == Some(inst) => Ok(()),
            terminator => {
                let anchor = terminator.map(|(id, _)| id);
                self.relink(inst, to, anchor)
            }
        }
    }

    /// Whether control comes through all of `above` before it gets to `below`, which is another block or the edge at
    /// the end of the same.
    fn is_place_above(&self, above: BlockId, below: BlockId) -> bool {
        let dominators = self.dominators();
        above == below || dominators.dominates(above, below) || !dominators.is_reachable(below)
    }

    /// Takes a statement out of its block and puts it before another, or at the end of the block.
    fn relink(&mut self, inst: InstId, block: BlockId, anchor: Option<InstId>) -> Result<(), EditError> {
        let (from, prev, next) = match self.store.node(inst) {
            Some(node) => (node.block, node.prev, node.next),
            None => return Err(EditError::NoSuchInst(inst)),
        };
        self.set_neighbours(from, prev, next, next, prev);
        let before = match anchor {
            Some(anchor) => self.prev_inst(anchor),
            None => self.last_inst(block),
        };
        let order = self.order_between(before, anchor);
        if let Some(node) = self.store.links_mut(inst) {
            (node.block, node.prev, node.next, node.order) = (block, before, anchor, order);
        }
        self.set_neighbours(block, before, anchor, Some(inst), Some(inst));
        Ok(())
    }
}
