//! Copying blocks.

use hashbrown::HashMap;
use ircode::{Argument, Instruction, LineInfo, Operand, PhiEntry, Rename, Stmt};
use slotmap::SecondaryMap;

use crate::code::{BBCode, BBlock, OddEdges};
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId, Switch};

/// A region of so many times fewer statements than the function is a few of them.
const FEW: usize = 16;

/// What became of the blocks and statements of a region that was copied: the copies by the names of the originals.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClonedRegion {
    /// The copies of the blocks.
    pub blocks: HashMap<BlockId, BlockId>,
    /// The copies of the statements.
    pub insts: CopiedInsts,
}

/// The copies of statements, by the statements.
///
/// Of a whole function they are a list; of a few statements of a large one, a table: making many such copies must not
/// take a list as long as the function for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopiedInsts {
    /// Most statements of a function.
    Many(SecondaryMap<InstId, InstId>),
    /// Some of them.
    Few(HashMap<InstId, InstId>),
}

impl Default for CopiedInsts {
    fn default() -> Self {
        CopiedInsts::Few(HashMap::new())
    }
}

impl CopiedInsts {
    /// The copy of a statement.
    pub fn get(&self, inst: InstId) -> Option<InstId> {
        match self {
            CopiedInsts::Many(copies) => copies.get(inst).copied(),
            CopiedInsts::Few(copies) => copies.get(&inst).copied(),
        }
    }

    /// Whether a statement was copied.
    pub fn contains(&self, inst: InstId) -> bool {
        self.get(inst).is_some()
    }

    /// Lets this be the copy of a statement.
    pub fn insert(&mut self, inst: InstId, copy: InstId) {
        match self {
            CopiedInsts::Many(copies) => copies.insert(inst, copy),
            CopiedInsts::Few(copies) => copies.insert(inst, copy),
        };
    }

    /// The copies, in no order that can be relied on.
    pub fn values(&self) -> Box<dyn Iterator<Item = InstId> + '_> {
        match self {
            CopiedInsts::Many(copies) => Box::new(copies.values().copied()),
            CopiedInsts::Few(copies) => Box::new(copies.values().copied()),
        }
    }

    /// How many statements were copied.
    pub fn len(&self) -> usize {
        match self {
            CopiedInsts::Many(copies) => copies.len(),
            CopiedInsts::Few(copies) => copies.len(),
        }
    }

    /// Whether none was copied.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ClonedRegion {
    /// What an operand is in the copy.
    pub fn operand(&self, operand: &Operand<Ids>) -> Operand<Ids> {
        match operand {
            Operand::Value(value) => Operand::Value(self.insts.get(*value).unwrap_or(*value)),
            other => other.clone(),
        }
    }

    /// What a block is in the copy.
    pub fn block(&self, block: BlockId) -> BlockId {
        self.blocks.get(&block).copied().unwrap_or(block)
    }
}

/// Renames what is of the region and leaves the rest: names of the region become those of the copy, all others stay.
impl Rename<Ids, Ids> for &ClonedRegion {
    type Error = std::convert::Infallible;

    fn value(&mut self, value: InstId) -> Result<InstId, Self::Error> {
        Ok(self.insts.get(value).unwrap_or(value))
    }

    fn block(&mut self, block: BlockId) -> Result<BlockId, Self::Error> {
        Ok(ClonedRegion::block(self, block))
    }

    fn switch(&mut self, switch: &Switch<Ids>) -> Result<Switch<Ids>, Self::Error> {
        switch.map(self)
    }
}

impl BBCode {
    /// Copies blocks with their statements to the end of the layout. Edges and values inside of the region become those
    /// of the copy; the copy leaves to the same blocks outside, whose φs take from it the copies of what they take from
    /// the region. Nothing goes into the copy: that takes a [redirected edge](BBCode::redirect_edge). φs of the copy
    /// forget the edges from outside of the region, and φᶜs outside take the copies of ϒs too. What else uses values of
    /// the region outside of it goes on using those of the original, which the copy does not compute: give such values
    /// φs where control leaves, before control is sent through the copy (as in loop-closed SSA form). Takes time linear
    /// in the function.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─ %2 = Base.neg_int(_3)::Int64
    /// └──      goto #3
    /// 3 ┄ %4 = φ (#1 => 0, #2 => %2)::Int64
    /// └──      return %4
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let copy = bb.clone_region(&[blocks[1]])?;
    /// bb.redirect_edge(blocks[0], blocks[1], copy.block(blocks[1]), &[])?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1 = goto #3 if not _2
    /// └── next #4
    /// 2 ─ %2 = Base.neg_int(_3)::Int64
    /// └── %3 = goto #3
    /// 3 ┄ %4 = φ (#1 => 0, #2 => %2, #4 => %6)::Int64
    /// └── %5 = return %4
    /// 4 ─ %6 = Base.neg_int(_3)::Int64
    /// └── %7 = goto #3
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn clone_region(&mut self, region: &[BlockId]) -> Result<ClonedRegion, EditError> {
        let mut copy = ClonedRegion::default();
        for &block in region {
            self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        }
        self.ensure_phis_named();
        let mut order: Vec<BlockId> = Vec::with_capacity(region.len());
        for &block in region {
            if !copy.blocks.contains_key(&block) {
                copy.blocks.insert(block, self.push_block());
                order.push(block);
            }
        }
        let count: usize = order.iter().map(|&block| self.inst_ids(block).count()).sum();
        if count.saturating_mul(FEW) >= self.store.inst_capacity() {
            copy.insts = CopiedInsts::Many(SecondaryMap::with_capacity(self.store.inst_capacity()));
        }
        for &block in &order {
            self.copy_statements(block, copy.block(block), &mut copy.insts);
        }
        for &block in &order {
            self.rename_copy(block, &copy);
        }
        // φs outside hear of the new edges, and φᶜs of the new ϒs.
        let mut outside: Vec<BlockId> = order.iter().flat_map(|&block| self.successors(block)).collect();
        outside.retain(|succ| !copy.blocks.contains_key(succ));
        outside.sort_unstable();
        outside.dedup();
        for succ in outside {
            self.for_each_phi_mut(succ, |_, phi| {
                let taken = phi.entries.iter().filter_map(|entry| {
                    let edge = *copy.blocks.get(&entry.edge)?;
                    Some(PhiEntry { edge, value: entry.value.as_ref().map(|value| copy.operand(value)) })
                });
                let taken: Vec<PhiEntry<Ids>> = taken.collect();
                phi.entries.extend(taken);
            });
        }
        let stores = |inst: &InstId| matches!(self.stmt(*inst), Some(Stmt::Upsilon(_)));
        let stored: Vec<InstId> = order.iter().flat_map(|&block| self.inst_ids(block)).filter(stores).collect();
        for old in stored {
            let Some(new) = copy.insts.get(old) else { continue };
            let mut users = self.users(old);
            users.dedup();
            for user in users.into_iter().filter(|user| !copy.insts.contains(*user)) {
                if let Some(Stmt::PhiC(phic)) = self.stmt_mut(user) {
                    phic.values.push(Operand::Value(new));
                }
            }
        }
        // Those of the copy name their edges as the originals do, so that the next copy need not look at the whole
        // function.
        self.store.phis_named = true;
        Ok(copy)
    }

    /// Puts copies of the statements of one block into another, with the names that they use as they are.
    fn copy_statements(&mut self, from: BlockId, to: BlockId, names: &mut CopiedInsts) {
        let mut at = self.first_inst(from);
        while let Some(id) = at {
            let Some(inst) = self.inst(id).cloned() else { break };
            names.insert(id, self.append_unchecked(to, inst));
            at = self.next_inst(id);
        }
    }

    /// Gives the copy of a block the names of the copy.
    fn rename_copy(&mut self, block: BlockId, copy: &ClonedRegion) {
        let new = copy.block(block);
        let insts: Vec<InstId> = self.inst_ids(new).collect();
        for id in insts {
            let Some(inst) = self.inst_mut(id) else { continue };
            if let Stmt::Phi(phi) = &mut inst.stmt {
                phi.entries.retain(|entry| copy.blocks.contains_key(&entry.edge));
            }
            let mut names = copy;
            let Ok(stmt) = std::mem::replace(&mut inst.stmt, Stmt::nothing()).into_names(&mut names);
            inst.stmt = stmt;
        }
        let Some(BBlock { next, edges, .. }) = self.block(block).cloned() else { return };
        // The blocks exist: they are those of the original.
        let _ = self.set_next(new, next.map(|next| copy.block(next)));
        if let Some(odd) = edges {
            let rename = |blocks: &[BlockId]| blocks.iter().map(|&block| copy.block(block)).collect();
            let inside = |preds: &[BlockId]| -> Vec<BlockId> {
                preds.iter().filter(|pred| copy.blocks.contains_key(*pred)).map(|&pred| copy.block(pred)).collect()
            };
            let edges = OddEdges {
                virtual_preds: if self.entry() == Some(block) { 0 } else { odd.virtual_preds },
                extra_succs: rename(&odd.extra_succs),
                missing_succs: rename(&odd.missing_succs),
                extra_preds: inside(&odd.extra_preds),
                stale_preds: inside(&odd.stale_preds),
            };
            let _ = self.set_odd_edges(new, edges);
        }
    }

    /// Copies the blocks of another function behind a block of this one. `argument` says what its arguments are here,
    /// and `line` on which line its statements are, by their number in layout order.
    pub(crate) fn copy_from(
        &mut self,
        other: &BBCode,
        mut behind: BlockId,
        argument: &dyn Fn(Argument) -> Operand<Ids>,
        line: &dyn Fn(usize) -> LineInfo,
    ) -> Result<ClonedRegion, EditError> {
        let insts = CopiedInsts::Many(SecondaryMap::with_capacity(other.store.inst_capacity()));
        let mut copy = ClonedRegion { insts, ..ClonedRegion::default() };
        self.store.reserve(other.inst_count(), other.block_count());
        for block in other.blocks() {
            behind = self.insert_block_after(behind)?;
            copy.blocks.insert(block, behind);
        }
        // First the names of the other function, then those of this one: they may look the same.
        let rename = |stmt: &Stmt<Ids>, has_arguments: bool, mut names: &ClonedRegion| {
            let Ok(mut stmt) = stmt.map_names(&mut names);
            if has_arguments {
                stmt.for_each_operand_mut(&mut |operand| {
                    if let Operand::Argument(number) = operand {
                        *operand = argument(*number);
                    }
                });
            }
            stmt
        };
        // Statements that name others which stand behind them are renamed once these are there.
        let mut early: Vec<InstId> = Vec::new();
        for block in other.blocks() {
            let to = copy.block(block);
            for (id, inst) in other.insts(block) {
                let line = line(copy.insts.len());
                let (mut names_later, mut has_arguments) = (false, false);
                inst.stmt.for_each_operand(&mut |operand| match operand {
                    Operand::Value(value) => names_later |= !copy.insts.contains(*value),
                    Operand::Argument(_) => has_arguments = true,
                    _ => {}
                });
                let stmt = if names_later { inst.stmt.clone() } else { rename(&inst.stmt, has_arguments, &copy) };
                let Instruction { ty, info, flag, .. } = inst;
                let new = Instruction { stmt, ty: ty.clone(), info: info.clone(), line, flag: *flag };
                let new = self.append_unchecked(to, new);
                copy.insts.insert(id, new);
                early.extend(names_later.then_some(new));
            }
        }
        for id in early {
            if let Some(inst) = self.inst_mut(id) {
                inst.stmt = rename(&inst.stmt, true, &copy);
            }
        }
        for block in other.blocks() {
            let new = copy.block(block);
            let Some(data) = other.block(block) else { continue };
            self.set_next(new, data.next().map(|next| copy.block(next)))?;
            if let Some(odd) = data.odd_edges() {
                let rename = |blocks: &[BlockId]| blocks.iter().map(|&block| copy.block(block)).collect();
                let edges = OddEdges {
                    virtual_preds: if other.entry() == Some(block) { 0 } else { odd.virtual_preds },
                    extra_succs: rename(&odd.extra_succs),
                    missing_succs: rename(&odd.missing_succs),
                    extra_preds: rename(&odd.extra_preds),
                    stale_preds: rename(&odd.stale_preds),
                };
                self.set_odd_edges(new, edges)?;
            }
        }
        Ok(copy)
    }
}
