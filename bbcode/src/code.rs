//! The ID-keyed representation: how it is stored, and what can be asked of it.

use std::sync::Arc;

use ircode::{DebugInfo, Instruction, JuliaVersion, Operand, Stmt, Type};

use crate::ids::{BlockId, Ids, InstId};
use crate::store::Store;

/// A function body in which every statement and every block has a name that never changes.
///
/// The control flow is in the blocks themselves: terminators name their targets, and a block that control can fall out
/// of names the block it falls into ([`BBlock::next`]). So blocks and statements can be inserted, moved and removed
/// without renumbering anything. Statements of a block form a linked list, and so do the blocks: inserting takes
/// constant time.
///
/// The layout order of the blocks means nothing to execution, except that the first is the entry; it is the order in
/// which conversion to [`IRCode`](ircode::IRCode) emits them.
///
/// `==` means equal up to renaming, in layout order.
#[derive(Clone, Debug, Default)]
pub struct BBCode {
    pub(crate) store: Store,
    /// The types of the arguments; the first is that of the function itself.
    pub argtypes: Vec<Type>,
    /// The types of the static parameters.
    pub sptypes: Vec<Type>,
    /// Names for the places in the source.
    pub debuginfo: Arc<DebugInfo>,
    /// The version of Julia whose compiler made the code, where that is known.
    pub julia: Option<JuliaVersion>,
    /// Expressions about the function as a whole.
    pub meta: Vec<Stmt<ircode::Positions>>,
}

/// A basic block. Its statements are found through [`BBCode::insts`].
#[derive(Clone, Debug, Default)]
pub struct BBlock {
    pub(crate) first: Option<InstId>,
    pub(crate) last: Option<InstId>,
    pub(crate) next: Option<BlockId>,
    pub(crate) before: Option<BlockId>,
    pub(crate) after: Option<BlockId>,
    pub(crate) edges: Option<Arc<OddEdges>>,
    /// Whether a transaction that is still open has removed the block.
    pub(crate) removed: bool,
}

/// Edges of a control-flow graph that the terminators do not imply, kept with the block so that conversion is lossless.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OddEdges {
    /// How often Julia's virtual block is a predecessor: once for a catch block, and from Julia 1.12 on for the entry.
    pub virtual_preds: u32,
    /// Successors that the last statement does not name.
    pub extra_succs: Vec<BlockId>,
    /// Targets of the last statement that are no successors, which only a block that is never reached may have.
    pub missing_succs: Vec<BlockId>,
    /// Predecessors that are named more often than they name this block. They count as long as they lead to it.
    pub extra_preds: Vec<BlockId>,
    /// Predecessors that are named and do not lead to this block, which the verifier complains of.
    pub stale_preds: Vec<BlockId>,
}

impl OddEdges {
    /// The blocks that are named.
    pub(crate) fn named(&self) -> impl Iterator<Item = BlockId> + '_ {
        let preds = self.extra_preds.iter().chain(&self.stale_preds);
        self.extra_succs.iter().chain(&self.missing_succs).chain(preds).copied()
    }

    /// Forgets edges from and to blocks that are gone.
    pub(crate) fn forget(&mut self, gone: impl Fn(BlockId) -> bool) {
        let preds = [&mut self.extra_preds, &mut self.stale_preds];
        for blocks in [&mut self.extra_succs, &mut self.missing_succs].into_iter().chain(preds) {
            blocks.retain(|&block| !gone(block));
        }
    }

    /// Whether control leaves the block otherwise than its terminator says.
    pub(crate) fn leaves(&self) -> bool {
        !self.extra_succs.is_empty() || !self.missing_succs.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == OddEdges::default()
    }
}

impl BBlock {
    /// The fallthrough successor: the else-target of a goto-if-not, and what follows an enter, a leave or a block
    /// without terminator. `None` where control cannot fall out of the block.
    pub fn next(&self) -> Option<BlockId> {
        self.next
    }

    /// Edges that the terminator does not imply.
    pub fn odd_edges(&self) -> Option<&OddEdges> {
        self.edges.as_deref()
    }
}

impl BBCode {
    /// The predecessors of a block that no edge accounts for, those outside of the function left aside.
    pub(crate) fn unaccounted_preds(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let odd = self.block(block).and_then(BBlock::odd_edges);
        let leads = move |pred: &&BlockId| self.successors(**pred).contains(&block);
        let exists = |pred: &&BlockId| self.block(**pred).is_some();
        let extra = odd.into_iter().flat_map(move |odd| odd.extra_preds.iter().filter(leads));
        let stale = odd.into_iter().flat_map(move |odd| odd.stale_preds.iter().filter(exists));
        extra.chain(stale).copied()
    }

    /// Says of the predecessors that no edge accounts for whether there are edges at all.
    pub(crate) fn tell_stale_preds(&mut self, block: BlockId) {
        let Some(odd) = self.block(block).and_then(BBlock::odd_edges) else { return };
        let (extra, stale): (Vec<BlockId>, Vec<BlockId>) =
            odd.extra_preds.iter().partition(|pred| self.successors(**pred).contains(&block));
        if !stale.is_empty() {
            let mut odd = odd.clone();
            odd.extra_preds = extra;
            odd.stale_preds.extend(stale);
            // The block is there.
            let _ = self.set_odd_edges(block, odd);
        }
    }

    /// A function without blocks, of these argument types, the function itself first.
    pub fn new(argtypes: Vec<Type>) -> Self {
        BBCode { argtypes, ..BBCode::default() }
    }

    /// The entry: the first block of the layout.
    pub fn entry(&self) -> Option<BlockId> {
        self.store.first()
    }

    /// The last block of the layout.
    pub fn last_block(&self) -> Option<BlockId> {
        self.store.last()
    }

    /// The blocks, in layout order.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        std::iter::successors(self.store.first(), |&block| self.store.block(block)?.after)
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.store.block_count()
    }

    /// The number of statements.
    pub fn inst_count(&self) -> usize {
        self.store.inst_count()
    }

    /// Makes room for so many more statements, so that those that are there need not move when they come.
    pub fn reserve(&mut self, statements: usize) {
        self.store.reserve(statements, 0);
    }

    /// The block of this name; `None` if it was removed. A name of another function may be that of a block here: names
    /// are not told apart by function.
    pub fn block(&self, block: BlockId) -> Option<&BBlock> {
        self.store.block(block)
    }

    /// Whether a block has [edges that its terminator does not imply](OddEdges). So it is said of one that is not
    /// there, too.
    pub fn has_odd_edges(&self, block: BlockId) -> bool {
        self.block(block).is_none_or(|block| block.edges.is_some())
    }

    /// The block behind this one in the layout.
    pub fn layout_next(&self, block: BlockId) -> Option<BlockId> {
        self.store.block(block)?.after
    }

    /// The block before this one in the layout.
    pub fn layout_prev(&self, block: BlockId) -> Option<BlockId> {
        self.store.block(block)?.before
    }

    /// The fallthrough successor of a block, see [`BBlock::next`].
    pub fn next(&self, block: BlockId) -> Option<BlockId> {
        self.store.block(block)?.next
    }

    /// The names of the statements of a block, in order. Empty if there is no such block.
    pub fn inst_ids(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.insts(block).map(|(id, _)| id)
    }

    /// The statements of a block, in order.
    pub fn insts(&self, block: BlockId) -> impl Iterator<Item = (InstId, &Instruction<Ids>)> + '_ {
        let mut next = self.store.block(block).and_then(|block| block.first);
        std::iter::from_fn(move || {
            let id = next?;
            let node = self.store.node(id)?;
            next = node.next;
            Some((id, &node.inst))
        })
    }

    /// All statements, in layout order: Mooncake's `collect_stmts`.
    pub fn all_insts(&self) -> impl Iterator<Item = (InstId, &Instruction<Ids>)> + '_ {
        self.blocks().flat_map(|block| self.insts(block))
    }

    /// The instruction of this name; `None` if it was removed. A name of another function may be that of an instruction
    /// here, as with [blocks](Self::block).
    pub fn inst(&self, inst: InstId) -> Option<&Instruction<Ids>> {
        self.store.node(inst).map(|node| &node.inst)
    }

    /// The instruction of this name, to be rewritten in place.
    pub fn inst_mut(&mut self, inst: InstId) -> Option<&mut Instruction<Ids>> {
        self.store.inst_mut(inst)
    }

    /// The statement of this name.
    pub fn stmt(&self, inst: InstId) -> Option<&Stmt<Ids>> {
        self.inst(inst).map(|inst| &inst.stmt)
    }

    /// The statement of this name, to be rewritten in place, as [`IRCode::stmt_mut`](ircode::IRCode::stmt_mut).
    pub fn stmt_mut(&mut self, inst: InstId) -> Option<&mut Stmt<Ids>> {
        self.inst_mut(inst).map(|inst| &mut inst.stmt)
    }

    /// The block that holds the statement.
    pub fn block_of(&self, inst: InstId) -> Option<BlockId> {
        self.store.node(inst).map(|node| node.block)
    }

    /// The first statement of a block.
    pub fn first_inst(&self, block: BlockId) -> Option<InstId> {
        self.store.block(block)?.first
    }

    /// The last statement of a block.
    pub fn last_inst(&self, block: BlockId) -> Option<InstId> {
        self.store.block(block)?.last
    }

    /// The statement behind this one in its block.
    pub fn next_inst(&self, inst: InstId) -> Option<InstId> {
        self.store.node(inst)?.next
    }

    /// The statement before this one in its block.
    pub fn prev_inst(&self, inst: InstId) -> Option<InstId> {
        self.store.node(inst)?.prev
    }

    /// The last statement of the block, if it is a terminator.
    pub fn terminator(&self, block: BlockId) -> Option<(InstId, &Instruction<Ids>)> {
        let last = self.last_inst(block)?;
        let inst = self.inst(last)?;
        inst.stmt.is_terminator().then_some((last, inst))
    }

    /// The φs at the start of a block. Other statements that Julia allows among them are left out.
    pub fn phi_nodes(&self, block: BlockId) -> impl Iterator<Item = (InstId, &Instruction<Ids>)> + '_ {
        self.insts(block)
            .take_while(|(_, inst)| inst.stmt.may_stand_among_phis())
            .filter(|(_, inst)| matches!(inst.stmt, Stmt::Phi(_)))
    }

    /// The type of an operand, as far as the code says.
    pub fn operand_type(&self, operand: &Operand<Ids>) -> Type {
        operand.ty(&self.argtypes, |value| self.inst(value).map(|inst| inst.ty.clone()))
    }

    /// Whether a statement enters a handler of exceptions: control may leave blocks in their middle then.
    pub fn has_handlers(&self) -> bool {
        self.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_)))
    }
}

impl ircode::Parameters for BBCode {
    fn argument_types(&self) -> &[Type] {
        &self.argtypes
    }
}
