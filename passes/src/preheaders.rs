//! Blocks before loops: from which control comes to the header and goes nowhere else.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId, PhiEdgeChange};
use hashbrown::HashMap;
use ircode::graph::{LoopForest, LoopId};
use ircode::{NewInstruction, Operand, PhiEntry, Stmt, Type};

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
        join_edges(bb, header, self.outside.get(&target)?)
    }
}

/// Puts a new block on the edges to a block from these others, sorted: control comes from all of them by the new block.
/// `None` if there is no such block.
pub(crate) fn join_edges(bb: &mut BBCode, header: BlockId, outside: &[BlockId]) -> Option<BlockId> {
    let new = bb.insert_block_before(header).ok()?;
    for &from in outside {
        if let Some((id, _)) = bb.terminator(from)
            && let Some(inst) = bb.inst_mut(id)
        {
            inst.stmt.for_each_target_mut(|target| {
                if *target == header {
                    *target = new;
                }
            });
        }
        if bb.next(from) == Some(header) {
            bb.set_next(from, Some(new)).ok()?;
        }
    }
    bb.push(new, NewInstruction::new(Stmt::goto(header), Type::Any)).ok()?;
    let [only] = outside else {
        merge_phis(bb, header, outside, new);
        return Some(new);
    };
    bb.replace_phi_edges([PhiEdgeChange { block: header, old: *only, new: vec![new] }]);
    Some(new)
}

/// Lets the φs of a block take from the new block before it what they took from these others, which a φ there brings
/// together.
fn merge_phis(bb: &mut BBCode, header: BlockId, outside: &[BlockId], new: BlockId) {
    let phis: Vec<InstId> = bb.phi_nodes(header).map(|(id, _)| id).collect();
    let mut last: Option<InstId> = None;
    for id in phis {
        let Some(inst) = bb.inst(id) else { continue };
        let (ty, line) = (inst.ty.clone(), inst.line);
        let Some(phi) = inst.stmt.as_phi() else { continue };
        let comes = |entry: &PhiEntry<Ids>| outside.binary_search_by_key(&entry.edge, |edge| *edge).is_ok();
        let (moved, mut entries): (Vec<PhiEntry<Ids>>, Vec<_>) = phi.entries.iter().cloned().partition(comes);
        if moved.is_empty() {
            continue;
        }
        let first = moved.first().and_then(|entry| entry.value.clone());
        let same = moved.len() == outside.len() && moved.iter().all(|entry| entry.value == first);
        let value = match (same, first) {
            (true, value) => value,
            (false, _) => {
                let phi = Stmt::phi(moved.into_iter().map(|entry| (entry.edge, entry.value)));
                let phi = NewInstruction::new(phi, ty).with_line(line);
                let made = match last {
                    Some(last) => bb.insert_after(last, phi),
                    None => bb.insert_at_start(new, phi),
                };
                let made = made.ok();
                last = made.or(last);
                made.map(Operand::Value)
            }
        };
        entries.insert(0, PhiEntry { edge: new, value });
        if let Some(Stmt::Phi(phi)) = bb.inst_mut(id).map(|inst| &mut inst.stmt) {
            phi.entries = entries.into();
        }
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
