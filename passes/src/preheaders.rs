//! Blocks before loops: from which control comes to the header and goes nowhere else.

use bbcode::{BBCode, BlockGraph, BlockId};
use hashbrown::HashMap;
use ircode::Stmt;
use ircode::graph::{LoopForest, LoopId};

/// The blocks before the headers of loops, made where there are none.
pub(crate) struct Preheaders<'g> {
    graph: &'g BlockGraph,
    forest: &'g LoopForest,
    outside: HashMap<LoopId, Vec<BlockId>>,
    made: HashMap<LoopId, Option<BlockId>>,
}

impl<'g> Preheaders<'g> {
    pub(crate) fn new(graph: &'g BlockGraph, forest: &'g LoopForest) -> Self {
        Preheaders { graph, forest, outside: outside_predecessors(graph, forest), made: HashMap::new() }
    }

    /// The block outside of a loop that goes to its header and nowhere else, if it is the only one to go there.
    pub(crate) fn existing(&self, target: LoopId) -> Option<BlockId> {
        match self.outside.get(&target)?.as_slice() {
            [only] => (self.graph.successors(*only).count() == 1).then_some(*only),
            _ => None,
        }
    }

    /// The block before the header of a loop, made if there is none; `None` if there cannot be one.
    pub(crate) fn of(&mut self, bb: &mut BBCode, target: LoopId) -> Option<BlockId> {
        if let Some(&block) = self.made.get(&target) {
            return block;
        }
        let block = self.existing(target).or_else(|| self.make(bb, target));
        self.made.insert(target, block);
        block
    }

    fn make(&self, bb: &mut BBCode, target: LoopId) -> Option<BlockId> {
        let header = self.graph.block(self.forest.get(target)?.header)?;
        bb.join_edges_unchecked(self.outside.get(&target)?, header).ok()
    }
}

/// The blocks outside of each loop that go to its header, each once, sorted.
pub(crate) fn outside_predecessors(graph: &BlockGraph, forest: &LoopForest) -> HashMap<LoopId, Vec<BlockId>> {
    let mut found = HashMap::new();
    for (id, each) in forest.iter() {
        let outside = graph.graph().predecessors(each.header).filter(|&from| !forest.contains(id, from));
        let mut outside: Vec<BlockId> = outside.filter_map(|from| graph.block(from)).collect();
        outside.sort_unstable();
        outside.dedup();
        found.insert(id, outside);
    }
    found
}

/// For each loop, the innermost of it and those around it out of which nothing can move.
pub(crate) fn closed_loops(bb: &BBCode, graph: &BlockGraph, forest: &LoopForest) -> HashMap<LoopId, Option<LoopId>> {
    let outside = outside_predecessors(graph, forest);
    let mut closed: HashMap<LoopId, Option<LoopId>> = HashMap::new();
    let loops: Vec<_> = forest.iter().collect();
    // Outer loops come last, so they are looked at first.
    for (id, each) in loops.into_iter().rev() {
        let from = outside.get(&id).map(Vec::as_slice).unwrap_or_default();
        let here = each.irreducible || !can_have_preheader(bb, graph, each.header, from);
        let around = each.parent.and_then(|parent| closed.get(&parent).copied().flatten());
        closed.insert(id, if here { Some(id) } else { around });
    }
    closed
}

/// Whether a block can be put before a loop that is entered from these blocks.
pub(crate) fn can_have_preheader(bb: &BBCode, graph: &BlockGraph, header: usize, outside: &[BlockId]) -> bool {
    let Some(block) = graph.block(header) else { return false };
    let caught = |from: BlockId| match bb.terminator(from).map(|(_, inst)| &inst.stmt) {
        Some(Stmt::Enter(enter)) => enter.catch_dest == Some(block),
        _ => false,
    };
    header != 0
        && !bb.has_odd_edges(block)
        && !outside.is_empty()
        && outside.iter().all(|&from| !bb.has_odd_edges(from) && !caught(from))
}
