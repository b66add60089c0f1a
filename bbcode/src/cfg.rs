//! The control-flow graph, computed when asked for.

use std::sync::Arc;

use ircode::graph::{DomTree, FlowGraph, LoopForest};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::ids::BlockId;
use crate::store::Store;

/// The control-flow graph of a [`BBCode`] at one moment: blocks by number in layout order, and their edges. It does not
/// follow later changes of the code.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    order: Vec<BlockId>,
    index: SecondaryMap<BlockId, u32>,
    graph: FlowGraph,
    virtual_preds: Vec<bool>,
}

impl BBCode {
    /// The successors of a block: the targets of its terminator in order, then the fallthrough, then what
    /// [`OddEdges`](crate::OddEdges) says. An edge that is there twice is named twice; blocks that do not exist are
    /// named too.
    pub fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let mut succs = Vec::new();
        self.push_successors(block, &mut succs);
        succs
    }

    /// Puts the successors of a block into an empty list.
    pub(crate) fn push_successors(&self, block: BlockId, succs: &mut Vec<BlockId>) {
        // What was removed since is no successor any more.
        self.store.push_edges(block, succs, |succ| self.store.block(succ).is_some());
    }

    /// The blocks that lead to a block, once an edge, in an order that is the same on every run and means nothing.
    ///
    /// As [`BBCode::users`], the first call takes time linear in the function; a later one takes time linear in what it
    /// returns and in what was changed since. [`BlockGraph::predecessors`] has them in layout order.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      nothing
    /// 3 ┄      return 1
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let new = bb.split_edge(blocks[0], blocks[2])?;
    /// let mut preds = bb.predecessors(blocks[2]);
    /// preds.sort();
    /// assert_eq!(preds, [blocks[1], new]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn predecessors(&self, block: BlockId) -> Vec<BlockId> {
        self.store.ask_predecessors(|chains| chains.to(block).collect())
    }

    /// Computes the control-flow graph.
    pub(crate) fn control_flow(&self) -> BlockGraph {
        let order: Vec<BlockId> = self.blocks().collect();
        let mut index = SecondaryMap::with_capacity(self.store.block_capacity());
        for (number, &block) in order.iter().enumerate() {
            index.insert(block, number as u32);
        }
        let mut edges = Vec::with_capacity(2 * order.len());
        let mut succs = Vec::new();
        for (from, &block) in order.iter().enumerate() {
            succs.clear();
            self.push_successors(block, &mut succs);
            edges.extend(succs.iter().filter_map(|&to| index.get(to).map(|&to| (from, to as usize))));
        }
        let has_virtual = |&block: &BlockId| {
            self.store.block(block).and_then(|data| data.edges.as_deref()).is_some_and(|odd| odd.virtual_preds > 0)
        };
        BlockGraph {
            graph: FlowGraph::new(order.len(), edges),
            virtual_preds: order.iter().map(has_virtual).collect(),
            order,
            index,
        }
    }

    /// Mooncake's unique-predecessor analysis. See [`UniquePredecessors`].
    pub fn characterise_unique_predecessor_blocks(&self) -> UniquePredecessors {
        self.cfg().unique_predecessors(self)
    }
}

impl Store {
    /// Puts where the edges of a block lead into an empty list. `is_there` is asked about those that no statement
    /// names.
    pub(crate) fn push_edges(&self, block: BlockId, succs: &mut Vec<BlockId>, is_there: impl Fn(BlockId) -> bool) {
        let Some(data) = self.block(block) else { return };
        let last = data.last.and_then(|last| self.node(last)).map(|node| &node.inst.stmt);
        if let Some(last) = last {
            last.for_each_target(|target| succs.push(target));
        }
        let odd = data.edges.as_deref();
        for missing in odd.map(|odd| odd.missing_succs.as_slice()).unwrap_or_default() {
            if let Some(at) = succs.iter().position(|succ| succ == missing) {
                succs.remove(at);
            }
        }
        if last.is_none_or(|last| last.falls_through()) {
            succs.extend(data.next);
        }
        let extra = odd.map(|odd| odd.extra_succs.as_slice()).unwrap_or_default();
        succs.extend(extra.iter().filter(|&&succ| is_there(succ)));
    }
}

impl BlockGraph {
    /// The blocks in layout order: the block of number `n` is at index `n`.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The number of a block.
    pub fn number(&self, block: BlockId) -> Option<usize> {
        self.index.get(block).map(|&number| number as usize)
    }

    /// The block of this number.
    pub fn block(&self, number: usize) -> Option<BlockId> {
        self.order.get(number).copied()
    }

    /// The graph on the numbers.
    pub fn graph(&self) -> &FlowGraph {
        &self.graph
    }

    /// The successors of a block, in the order of [`BBCode::successors`].
    pub fn successors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let number = self.number(block).unwrap_or(usize::MAX);
        self.graph.successors(number).filter_map(|number| self.block(number))
    }

    /// The predecessors of a block, in layout order; one that has two edges to the block comes twice.
    pub fn predecessors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let number = self.number(block).unwrap_or(usize::MAX);
        self.graph.predecessors(number).filter_map(|number| self.block(number))
    }

    /// Whether Julia's virtual block is a predecessor of this one.
    pub fn has_virtual_predecessor(&self, block: BlockId) -> bool {
        self.number(block).and_then(|number| self.virtual_preds.get(number)).is_some_and(|&has| has)
    }

    /// Which blocks the entry reaches, by number.
    pub fn reachable(&self) -> Vec<bool> {
        self.graph.reachable()
    }

    /// The dominator tree, on the numbers.
    pub fn dominators(&self) -> DomTree {
        self.graph.dominators()
    }

    /// The loops, on the numbers.
    pub fn loops(&self) -> LoopForest {
        self.graph.loops()
    }

    /// Mooncake's unique-predecessor analysis of the code of which this is the graph.
    pub fn unique_predecessors(&self, bb: &BBCode) -> UniquePredecessors {
        let reachable = self.reachable();
        let mut is_unique = vec![false; self.order.len()];
        for (number, unique) in is_unique.iter_mut().enumerate() {
            let mut succs = self.graph.successors(number).peekable();
            *unique = succs.peek().is_some() && succs.all(|succ| self.graph.predecessors(succ).len() == 1);
        }
        let returns = |number: usize| {
            let terminator = self.block(number).and_then(|block| bb.terminator(block));
            terminator.is_some_and(|(_, inst)| matches!(&inst.stmt, ircode::Stmt::Return(ret) if ret.value.is_some()))
        };
        let mut returning = (0..self.order.len()).filter(|&number| reachable[number] && returns(number));
        if let (Some(only), None) = (returning.next(), returning.next()) {
            is_unique[only] = true;
        }
        let mut pred_is_unique = vec![false; self.order.len()];
        for (number, unique) in pred_is_unique.iter_mut().enumerate() {
            let mut preds = self.graph.predecessors(number);
            *unique = match (number, preds.next(), preds.next()) {
                (0, first, _) => first.is_none(),
                (_, Some(pred), None) => is_unique[pred],
                _ => false,
            };
        }
        UniquePredecessors {
            order: Arc::from(self.order.as_slice()),
            index: self.index.clone(),
            is_unique,
            pred_is_unique,
        }
    }
}

/// Which blocks are unique predecessors: the only predecessor of each of their successors. When control arrives in a
/// successor of such a block, it is known where it came from, so that derivatives need not record it.
///
/// The block that returns, if exactly one reachable block does, counts as one too; the entry's predecessor is known if
/// it has none.
#[derive(Clone, Debug)]
pub struct UniquePredecessors {
    order: Arc<[BlockId]>,
    index: SecondaryMap<BlockId, u32>,
    is_unique: Vec<bool>,
    pred_is_unique: Vec<bool>,
}

impl UniquePredecessors {
    /// Whether the block is the only predecessor of all its successors, of which it has some.
    pub fn is_unique_predecessor(&self, block: BlockId) -> bool {
        self.find(&self.is_unique, block)
    }

    /// Whether the block has a single predecessor, and that is a unique one.
    pub fn predecessor_is_unique(&self, block: BlockId) -> bool {
        self.find(&self.pred_is_unique, block)
    }

    /// The blocks that are unique predecessors, in layout order.
    pub fn unique_predecessors(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.order.iter().zip(&self.is_unique).filter(|(_, unique)| **unique).map(|(&block, _)| block)
    }

    fn find(&self, flags: &[bool], block: BlockId) -> bool {
        self.index.get(block).and_then(|&number| flags.get(number as usize)).is_some_and(|&flag| flag)
    }
}
