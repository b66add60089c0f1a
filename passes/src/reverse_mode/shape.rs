//! The control flow of the pullback, and where in it the life of an adjoint starts.

use hashbrown::HashMap;
use ircode::graph::{DomTree, FlowGraph, LoopForest, LoopId};

use super::Carrier;
use super::plan::Plan;

/// The blocks of a pullback, numbered: the entry, the reverse of each relevant block, the blocks in which φs hand their
/// cotangents to one predecessor, and the exit.
pub(super) struct Shape {
    /// The reverse of each block of the function, by that block's number.
    pub(super) reverse: Vec<Option<usize>>,
    /// The block between the reverse of a block and that of one of its predecessors: by both their numbers.
    pub(super) edges: HashMap<(usize, usize), usize>,
    pub(super) exit: usize,
    domtree: DomTree,
    /// What every way to a block goes through since the reverse of the last round of any loop began: the dominators
    /// with an edge more from the entry to where each such round begins. `None` if the function has no loops.
    since_round: Option<DomTree>,
    /// The innermost loop of the function that each block of the pullback is the reverse of a part of.
    loops: Vec<Option<LoopId>>,
    /// For each loop, a block outside of it that every way into its reverse goes through.
    before_loop: HashMap<LoopId, usize>,
    /// For each block, its [rank](Self::rank); `None` if the function has irreducible loops.
    ranks: Option<Vec<u32>>,
}

/// The number of the entry.
pub(super) const ENTRY: usize = 0;

impl Shape {
    pub(super) fn new(plan: &Plan<'_>) -> Shape {
        let order = contiguous_order(plan);
        let mut reverse = vec![None; plan.ways.relevant.len()];
        let mut loops: Vec<Option<LoopId>> = vec![None];
        let mut ranks = vec![u32::MAX];
        // Between the ranks of two blocks there is room for that of an edge.
        let rank = |number: usize| order.as_ref().and_then(|order| order.get(number)).map_or(0, |rank| 2 * rank + 2);
        for number in plan.ways.relevant_blocks() {
            reverse[number] = Some(loops.len());
            loops.push(plan.loops.innermost(number));
            ranks.push(rank(number));
        }
        let mut edges = HashMap::new();
        let mut arrows: Vec<(usize, usize)> = Vec::new();
        for number in plan.ways.relevant_blocks() {
            let Some(from) = reverse[number] else { continue };
            // Traces are unpacked between blocks.
            let has_phis = plan.carrier == Carrier::LinearMaps || plan.active_phis(number).next().is_some();
            for pred in plan.predecessors(number) {
                let Some(to) = reverse[pred] else { continue };
                if has_phis {
                    let between = loops.len();
                    loops.push(plan.loops.common(plan.loops.innermost(number), plan.loops.innermost(pred)));
                    ranks.push((rank(pred) + 1).max(rank(number).saturating_sub(1)));
                    edges.insert((number, pred), between);
                    arrows.extend([(from, between), (between, to)]);
                } else {
                    arrows.push((from, to));
                }
            }
        }
        let exit = loops.len();
        loops.push(None);
        ranks.push(0);
        arrows.extend(plan.ways.returns.iter().filter_map(|&ret| Some((ENTRY, reverse[ret]?))));
        arrows.extend(reverse.first().copied().flatten().map(|entry| (entry, exit)));
        let mut rounds = Vec::new();
        for (id, found) in plan.loops.iter() {
            for latch in plan.predecessors(found.header).into_iter().filter(|&pred| plan.loops.contains(id, pred)) {
                rounds.extend(edges.get(&(found.header, latch)).copied().or(reverse[latch]));
            }
        }
        let domtree = FlowGraph::new(loops.len(), arrows.iter().copied()).dominators();
        let before_loop = blocks_before_loops(&plan.loops, &domtree, &loops);
        let since_round = (!rounds.is_empty()).then(|| {
            arrows.extend(rounds.into_iter().map(|round| (ENTRY, round)));
            FlowGraph::new(loops.len(), arrows).dominators()
        });
        Shape { reverse, edges, exit, domtree, since_round, loops, before_loop, ranks: order.map(|_| ranks) }
    }

    /// The nearest block through which every way to both goes.
    pub(super) fn common(&self, a: usize, b: usize) -> usize {
        self.domtree.nearest_common_dominator(a, b).unwrap_or(ENTRY)
    }

    /// The nearest block through which every way to both goes in each round of the reverse of a loop. Control may come
    /// into that in the middle of a round, where the loop is left there, and then the first round goes through blocks
    /// that others do not.
    pub(super) fn common_since_round(&self, a: usize, b: usize) -> usize {
        let domtree = self.since_round.as_ref().unwrap_or(&self.domtree);
        domtree.nearest_common_dominator(a, b).unwrap_or(ENTRY)
    }

    /// When control gets to what a block of the pullback is the reverse of: in an order of the function in which loops
    /// are contiguous and only their back edges lead backwards.
    pub(super) fn rank(&self, block: usize) -> u32 {
        self.ranks.as_ref().and_then(|ranks| ranks.get(block)).copied().unwrap_or(u32::MAX)
    }

    /// Where the slot of an adjoint is to be zeroed: in a block after which all contributions come and before which
    /// there are none that count. `dominator` is the nearest block that dominates all places where the slot is used,
    /// `since_round` the nearest that does in each round, `home` the loop in which the value is computed, `last_use`
    /// the highest rank of those places.
    ///
    /// In the loop of the value itself a block must come before the uses in each round. Outside of it, the slot is
    /// zeroed when the value's own block takes what is in it, too.
    ///
    /// A block is right if it stands in no loop that `home` is not in — there the contributions of several iterations
    /// would have to add up — and if no contribution reaches it before the value's own block takes them. In terms of
    /// the function: there is no way from the block to a use that avoids the block that computes the value. A way that
    /// takes the back edge of a loop around both comes through that loop's header, and from there every way to the use
    /// goes through the block that computes the value, which dominates it. A way without back edge can only lead to
    /// higher ranks; so it is enough that no use has a higher rank than the block. That argument needs loops with one
    /// entry; with others, the entry of the pullback is right for every adjoint.
    pub(super) fn start_of_life(
        &self,
        loops: &LoopForest,
        dominator: usize,
        since_round: usize,
        home: Option<LoopId>,
        last_use: u32,
    ) -> usize {
        if self.ranks.is_none() {
            return ENTRY;
        }
        let is_in_home = |block: usize| home.is_some() && self.innermost(block) == home;
        if is_in_home(since_round) && self.rank(since_round) >= last_use {
            return since_round;
        }
        let mut block = dominator;
        while block != ENTRY {
            let here = self.innermost(block);
            let outermost_too_deep = loops.child_toward(loops.common(here, home), here);
            let left = match outermost_too_deep {
                None if self.rank(block) >= last_use && !is_in_home(block) => return block,
                None => here,
                too_deep => too_deep,
            };
            block = left.and_then(|left| self.before_loop.get(&left)).copied().unwrap_or(ENTRY);
        }
        ENTRY
    }
}

impl Shape {
    /// The innermost loop of the function that the block is the reverse of a part of.
    pub(super) fn innermost(&self, block: usize) -> Option<LoopId> {
        self.loops.get(block).copied().flatten()
    }

    /// The nearest block on every way to this one that runs at most once.
    pub(super) fn before_all_loops(&self, block: usize) -> usize {
        let mut block = block;
        while let Some(inside) = self.innermost(block) {
            block = self.before_loop.get(&inside).copied().unwrap_or(ENTRY);
        }
        block
    }
}

/// The place of each block of the function in an order in which loops are contiguous and only their back edges lead
/// backwards: a reverse postorder, sorted by loops. `None` if there are irreducible loops.
fn contiguous_order(plan: &Plan<'_>) -> Option<Vec<u32>> {
    enum Child {
        Block(usize),
        Loop(LoopId),
    }
    if plan.loops.iter().any(|(_, found)| found.irreducible) {
        return None;
    }
    let graph = plan.graph.graph();
    let mut reverse_postorder = graph.postorder();
    reverse_postorder.reverse();
    // A loop stands where its header does, which comes before the rest of it.
    let mut children: HashMap<Option<LoopId>, Vec<Child>> = HashMap::new();
    for block in reverse_postorder {
        let innermost = plan.loops.innermost(block);
        let mut outward = innermost;
        while let Some((id, found)) = outward.and_then(|id| Some((id, plan.loops.get(id)?)))
            && found.header == block
        {
            children.entry(found.parent).or_default().push(Child::Loop(id));
            outward = found.parent;
        }
        children.entry(innermost).or_default().push(Child::Block(block));
    }
    let mut order = vec![0; graph.len()];
    let mut next = 0;
    let mut open: Vec<std::vec::IntoIter<Child>> = Vec::new();
    open.extend(children.remove(&None).map(Vec::into_iter));
    while let Some(items) = open.last_mut() {
        match items.next() {
            Some(Child::Block(block)) => {
                if let Some(place) = order.get_mut(block) {
                    *place = next;
                }
                next += 1;
            }
            Some(Child::Loop(id)) => open.extend(children.remove(&Some(id)).map(Vec::into_iter)),
            None => {
                open.pop();
            }
        }
    }
    Some(order)
}

/// For each loop, the nearest block outside of its reverse that dominates all of it.
fn blocks_before_loops(forest: &LoopForest, domtree: &DomTree, loops: &[Option<LoopId>]) -> HashMap<LoopId, usize> {
    let mut common: HashMap<LoopId, usize> = HashMap::new();
    for (block, innermost) in loops.iter().enumerate().filter(|(block, _)| domtree.is_reachable(*block)) {
        let mut at = *innermost;
        while let Some(id) = at {
            let nearest = match common.get(&id) {
                Some(&other) => domtree.nearest_common_dominator(other, block).unwrap_or(ENTRY),
                None => block,
            };
            common.insert(id, nearest);
            at = forest.get(id).and_then(|found| found.parent);
        }
    }
    let inside = |id: LoopId, block: usize| forest.common(loops.get(block).copied().flatten(), Some(id)) == Some(id);
    common
        .into_iter()
        .map(|(id, mut block)| {
            while inside(id, block) {
                match domtree.immediate_dominator(block) {
                    Some(up) => block = up,
                    None => break,
                }
            }
            (id, block)
        })
        .collect()
}
