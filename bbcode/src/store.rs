//! Where statements and blocks are kept. Every change goes through here, so that transactions can undo it, use chains
//! follow it, and analyses that it makes wrong are forgotten.

use std::sync::Arc;

use ircode::{Instruction, Operand, Stmt};
use slotmap::{Key, SlotMap};

use crate::analyses::Analyses;
use crate::chains::{Chains, OnDemand};
use crate::code::{BBlock, OddEdges};
use crate::ids::{BlockId, Ids, InstId};
use crate::transaction::{Journal, Notes};

/// A statement in its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) inst: Instruction<Ids>,
    /// The block; null if the statement was removed by a transaction that is still open.
    pub(crate) block: BlockId,
    pub(crate) prev: Option<InstId>,
    pub(crate) next: Option<InstId>,
    /// Statements of one block stand in the order of these numbers.
    pub(crate) order: u64,
}

/// The distance between the order numbers of statements that were put behind each other.
pub(crate) const STRIDE: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Store {
    insts: SlotMap<InstId, Node>,
    blocks: SlotMap<BlockId, BBlock>,
    first: Option<BlockId>,
    last: Option<BlockId>,
    /// How many statements and blocks are only marked as removed, see [`Journal`].
    marked_insts: usize,
    marked_blocks: usize,
    pub(crate) journals: Vec<Journal>,
    /// How many transactions there were.
    transactions: u64,
    pub(crate) noted_insts: Notes,
    pub(crate) noted_blocks: Notes,
    /// Which statements use each value.
    uses: OnDemand<InstId>,
    /// Which blocks lead to each block.
    predecessors: OnDemand<BlockId>,
    pub(crate) analyses: Analyses,
    /// Whether φs name all edges on which they have a value, as far as is known: see [`crate::BBCode::name_phi_edges`].
    pub(crate) phis_named: bool,
    /// Whether some block has had targets that are no successors.
    pub(crate) stale_targets: bool,
}

/// A copy is not part of the transactions that are open for the original.
impl Clone for Store {
    fn clone(&self) -> Self {
        // A copy is made to be changed: with the first new statement a list without room would move.
        let mut insts = SlotMap::with_capacity_and_key(self.insts.len() + self.insts.len() / 8);
        insts.clone_from(&self.insts);
        let mut copy = Store {
            insts,
            blocks: self.blocks.clone(),
            first: self.first,
            last: self.last,
            marked_insts: self.marked_insts,
            marked_blocks: self.marked_blocks,
            journals: Vec::new(),
            transactions: 0,
            noted_insts: Notes::default(),
            noted_blocks: Notes::default(),
            uses: OnDemand::default(),
            predecessors: OnDemand::default(),
            analyses: self.analyses.clone(),
            phis_named: self.phis_named,
            stale_targets: self.stale_targets,
        };
        for journal in &self.journals {
            copy.sweep(journal);
        }
        copy
    }
}

impl Store {
    /// Begins to note what was there before it is changed; gives how many transactions are open now.
    pub(crate) fn open_journal(&mut self) -> usize {
        self.transactions += 1;
        self.journals.push(Journal::new(self.transactions));
        self.journals.len()
    }

    pub(crate) fn reserve(&mut self, insts: usize, blocks: usize) {
        self.insts.reserve(insts);
        self.blocks.reserve(blocks);
    }

    pub(crate) fn inst_count(&self) -> usize {
        self.insts.len() - self.marked_insts
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len() - self.marked_blocks
    }

    /// An upper bound on the indices of statement keys, to size maps by.
    pub(crate) fn inst_capacity(&self) -> usize {
        self.insts.capacity()
    }

    pub(crate) fn block_capacity(&self) -> usize {
        self.blocks.capacity()
    }

    pub(crate) fn first(&self) -> Option<BlockId> {
        self.first
    }

    pub(crate) fn last(&self) -> Option<BlockId> {
        self.last
    }

    pub(crate) fn set_ends(&mut self, first: Option<BlockId>, last: Option<BlockId>) {
        (self.first, self.last) = (first, last);
        self.forget_control_flow();
    }

    pub(crate) fn node(&self, inst: InstId) -> Option<&Node> {
        self.insts.get(inst).filter(|node| !node.block.is_null())
    }

    pub(crate) fn block(&self, block: BlockId) -> Option<&BBlock> {
        self.blocks.get(block).filter(|block| !block.removed)
    }

    /// A statement whose links are to be changed, but not its operands.
    pub(crate) fn links_mut(&mut self, inst: InstId) -> Option<&mut Node> {
        self.record_inst(inst);
        self.insts.get_mut(inst).filter(|node| !node.block.is_null())
    }

    /// A statement that is to be rewritten.
    pub(crate) fn inst_mut(&mut self, inst: InstId) -> Option<&mut Instruction<Ids>> {
        self.record_inst(inst);
        let node = self.insts.get_mut(inst).filter(|node| !node.block.is_null())?;
        if node.next.is_none() {
            self.analyses.forget();
            if let Some(chains) = self.predecessors.known() {
                chains.suspend(node.block);
            }
        }
        if node.next.is_none() || matches!(node.inst.stmt, Stmt::Phi(_)) {
            self.phis_named = false;
        }
        if let Some(chains) = self.uses.known() {
            chains.suspend(inst);
        }
        Some(&mut node.inst)
    }

    /// Rewrites the operands of a statement, but not its targets, so that the control flow stays what it is known to
    /// be.
    pub(crate) fn rewrite_operands(&mut self, inst: InstId, visit: &mut dyn FnMut(&mut Operand<Ids>)) {
        self.record_inst(inst);
        if let Some(node) = self.insts.get_mut(inst).filter(|node| !node.block.is_null()) {
            if let Some(chains) = self.uses.known() {
                chains.suspend(inst);
            }
            node.inst.stmt.for_each_operand_mut(visit);
        }
    }

    /// The statement itself, for code that nobody will look at again.
    pub(crate) fn consume(&mut self, inst: InstId) -> Option<&mut Node> {
        self.insts.get_mut(inst)
    }

    /// All statements, to have their operands rewritten but not their targets.
    pub(crate) fn operands_mut(&mut self) -> impl Iterator<Item = &mut Instruction<Ids>> {
        if !self.journals.is_empty() {
            let all: Vec<InstId> = self.insts.keys().collect();
            for inst in all {
                self.record_inst(inst);
            }
        }
        self.uses.clear();
        self.insts.values_mut().filter(|node| !node.block.is_null()).map(|node| &mut node.inst)
    }

    /// A block of which anything is to be changed.
    pub(crate) fn block_mut(&mut self, block: BlockId) -> Option<&mut BBlock> {
        self.forget_control_flow();
        if let Some(chains) = self.predecessors.known() {
            chains.suspend(block);
        }
        self.block_links_mut(block)
    }

    /// A block of which something is to be changed that has no influence on the control-flow graph.
    pub(crate) fn block_links_mut(&mut self, block: BlockId) -> Option<&mut BBlock> {
        self.record_block(block);
        self.blocks.get_mut(block).filter(|block| !block.removed)
    }

    pub(crate) fn set_odd_edges(&mut self, block: BlockId, edges: OddEdges) -> Option<()> {
        self.stale_targets |= !edges.missing_succs.is_empty();
        self.block_mut(block)?.edges = (!edges.is_empty()).then(|| Arc::new(edges));
        Some(())
    }

    pub(crate) fn add_node(&mut self, node: Node) -> InstId {
        self.phis_named &= !matches!(node.inst.stmt, Stmt::Phi(_));
        let inst = self.insts.insert(node);
        if let Some(journal) = self.journals.last_mut() {
            journal.insts.added(inst, &mut self.noted_insts);
        }
        if let Some(chains) = self.uses.known() {
            chains.add(inst);
        }
        inst
    }

    pub(crate) fn add_block(&mut self, block: BBlock) -> BlockId {
        self.forget_control_flow();
        let block = self.blocks.insert(block);
        if let Some(journal) = self.journals.last_mut() {
            journal.blocks.added(block, &mut self.noted_blocks);
        }
        if let Some(chains) = self.predecessors.known() {
            chains.add(block);
        }
        block
    }

    /// Removes a statement that nothing links to any more; in a transaction, it is only marked.
    pub(crate) fn remove_node(&mut self, inst: InstId) -> Option<Node> {
        self.record_inst(inst);
        let node = self.insts.get_mut(inst).filter(|node| !node.block.is_null())?;
        if let Some(chains) = self.uses.known() {
            chains.forget(inst);
        }
        match self.journals.last_mut() {
            None => self.insts.remove(inst),
            Some(journal) => {
                let removed = node.clone();
                node.block = BlockId::null();
                journal.insts.removed.push(inst);
                self.marked_insts += 1;
                Some(removed)
            }
        }
    }

    /// As [`Store::remove_node`], of a block.
    pub(crate) fn remove_block(&mut self, block: BlockId) -> Option<BBlock> {
        self.forget_control_flow();
        self.record_block(block);
        let data = self.blocks.get_mut(block).filter(|block| !block.removed)?;
        if let Some(chains) = self.predecessors.known() {
            chains.forget(block);
        }
        match self.journals.last_mut() {
            None => self.blocks.remove(block),
            Some(journal) => {
                let removed = data.clone();
                data.removed = true;
                journal.blocks.removed.push(block);
                self.marked_blocks += 1;
                Some(removed)
            }
        }
    }

    /// Asks the use chains, which are up to date.
    pub(crate) fn ask_uses<T>(&self, ask: impl FnOnce(&Chains<InstId>) -> T) -> T {
        self.uses.with(
            || Chains::new(self.insts.keys()),
            |chains| {
                chains.resume(
                    |inst| self.node(inst).is_some(),
                    |inst, visit| {
                        if let Some(node) = self.node(inst) {
                            node.inst.stmt.for_each_use(visit);
                        }
                    },
                );
                ask(chains)
            },
        )
    }

    /// Asks which blocks lead to a block; what is said is up to date.
    pub(crate) fn ask_predecessors<T>(&self, ask: impl FnOnce(&Chains<BlockId>) -> T) -> T {
        self.predecessors.with(
            || Chains::new(self.blocks.keys()),
            |chains| {
                chains.resume(
                    |block| self.block(block).is_some(),
                    |block, visit| {
                        let mut succs = Vec::new();
                        // A block that is only marked as removed may come back.
                        self.push_edges(block, &mut succs, |_| true);
                        succs.into_iter().for_each(visit);
                    },
                );
                ask(chains)
            },
        )
    }

    /// Control flow changes: what was computed of it is wrong, and φs may lack edges.
    fn forget_control_flow(&mut self) {
        self.analyses.forget();
        self.phis_named = false;
    }

    fn record_inst(&mut self, inst: InstId) {
        if let Some(journal) = self.journals.last_mut()
            && let Some(node) = self.insts.get(inst)
        {
            journal.insts.changing(inst, node, &mut self.noted_insts);
        }
    }

    fn record_block(&mut self, block: BlockId) {
        if let Some(journal) = self.journals.last_mut()
            && let Some(data) = self.blocks.get(block)
        {
            journal.blocks.changing(block, data, &mut self.noted_blocks);
        }
    }

    /// Takes out what a transaction that is now over has marked.
    pub(crate) fn sweep(&mut self, journal: &Journal) {
        for &inst in &journal.insts.removed {
            self.marked_insts -= usize::from(self.insts.remove(inst).is_some());
        }
        for &block in &journal.blocks.removed {
            self.marked_blocks -= usize::from(self.blocks.remove(block).is_some());
        }
    }

    /// Puts everything back that a transaction has changed.
    pub(crate) fn undo(&mut self, journal: Journal) {
        self.forget_control_flow();
        self.marked_insts -= journal.insts.removed.len();
        self.marked_blocks -= journal.blocks.removed.len();
        for (inst, before) in journal.insts.take_back(&mut self.noted_insts) {
            if let Some(chains) = self.uses.known() {
                chains.forget(inst);
            }
            match before {
                None => drop(self.insts.remove(inst)),
                Some(before) => {
                    if let Some(node) = self.insts.get_mut(inst) {
                        if let Some(chains) = self.predecessors.known() {
                            // It may be the terminator of that block, to which it comes back.
                            chains.suspend(before.block);
                        }
                        *node = before;
                        if let Some(chains) = self.uses.known() {
                            chains.add(inst);
                        }
                    }
                }
            }
        }
        for (block, before) in journal.blocks.take_back(&mut self.noted_blocks) {
            if let Some(chains) = self.predecessors.known() {
                chains.forget(block);
                chains.add(block);
            }
            match before {
                None => drop(self.blocks.remove(block)),
                Some(before) => {
                    if let Some(data) = self.blocks.get_mut(block) {
                        *data = before;
                    }
                }
            }
        }
    }
}
