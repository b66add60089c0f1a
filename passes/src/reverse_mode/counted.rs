//! Loops that save a count: control comes into them by one way and around by one way, so that how often it came around
//! says all that the pullback has to know.

use bbcode::{BBCode, BlockGraph, BlockId, EditError};
use hashbrown::HashSet;
use ircode::graph::{LoopForest, LoopId};

/// A loop that saves how often control came around.
#[derive(Clone, Debug)]
pub(super) struct CountedLoop {
    pub(super) header: usize,
    /// The predecessor of the header from which the loop is entered.
    pub(super) before: usize,
    /// The predecessor of the header from which control comes around.
    pub(super) latch: usize,
    /// The blocks outside of the loop to which control leaves it. The loop is their only predecessor.
    pub(super) exits: Vec<usize>,
    /// The field of the trace with the counts.
    pub(super) field: usize,
}

/// The edges that leave loops, with the loops that each leaves, innermost first.
fn exits(graph: &BlockGraph, loops: &LoopForest) -> Vec<(usize, usize, Vec<LoopId>)> {
    let mut found = Vec::new();
    for block in 0..graph.order().len() {
        for target in graph.graph().successors(block) {
            let mut left = Vec::new();
            let mut at = loops.innermost(block);
            while let Some(id) = at.filter(|&id| !loops.contains(id, target)) {
                left.push(id);
                at = loops.get(id).and_then(|found| found.parent);
            }
            if !left.is_empty() {
                found.push((block, target, left));
            }
        }
    }
    found
}

/// Lets control come into each loop by one way, and around by one way, where it came by several.
fn join_ways(bb: &mut BBCode) -> Result<(), EditError> {
    let graph = bb.cfg();
    let loops = graph.loops();
    let mut joined: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
    for (id, found) in loops.iter().filter(|(_, found)| !found.irreducible && found.header != 0) {
        let mut preds: Vec<usize> = graph.graph().predecessors(found.header).collect();
        preds.sort_unstable();
        preds.dedup();
        let (inside, outside): (Vec<usize>, Vec<usize>) = preds.into_iter().partition(|&pred| loops.contains(id, pred));
        let Some(header) = graph.block(found.header) else { continue };
        for from in [outside, inside].into_iter().filter(|from| from.len() > 1) {
            let mut from: Vec<BlockId> = from.into_iter().filter_map(|pred| graph.block(pred)).collect();
            from.sort_unstable();
            joined.push((header, from));
        }
    }
    for (header, from) in joined {
        if !bb.has_odd_edges(header) && !from.iter().any(|&from| bb.has_odd_edges(from)) {
            bb.join_edges_unchecked(&from, header)?;
        }
    }
    Ok(())
}

/// Puts blocks of their own on the ways into, around and out of the loops that can be counted, where these are several
/// or shared with others.
pub(super) fn isolate(bb: &mut BBCode) -> Result<(), EditError> {
    join_ways(bb)?;
    let graph = bb.cfg();
    let loops = graph.loops();
    let several = |mut blocks: Box<dyn Iterator<Item = usize> + '_>| blocks.nth(1).is_some();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut countable: HashSet<LoopId> = HashSet::new();
    for (id, found) in loops.iter() {
        let Some((before, latch)) = loops.entry_and_latch(graph.graph(), id) else { continue };
        countable.insert(id);
        for pred in [before, latch] {
            if several(Box::new(graph.graph().successors(pred))) {
                edges.push((pred, found.header));
            }
        }
    }
    for (block, target, left) in exits(&graph, &loops) {
        // Into the entry control comes from outside, too.
        let shared = target == 0 || several(Box::new(graph.graph().predecessors(target)));
        if shared && left.iter().any(|id| countable.contains(id)) {
            edges.push((block, target));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let names: Vec<(BlockId, BlockId)> =
        edges.iter().filter_map(|&(from, to)| Some((graph.block(from)?, graph.block(to)?))).collect();
    for (from, to) in names {
        match bb.split_edge(from, to) {
            // The loop keeps the numbers of blocks then.
            Ok(_) | Err(EditError::FixedEdge { .. } | EditError::NoSuchEdge { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The loops that save a count, of those with relevant blocks; fields are not given yet.
pub(super) fn counted_loops(graph: &BlockGraph, loops: &LoopForest, relevant: &[bool]) -> Vec<CountedLoop> {
    let is_relevant = |block: usize| relevant.get(block) == Some(&true);
    let all_exits = exits(graph, loops);
    let mut exits_of: Vec<(LoopId, usize)> = Vec::new();
    let mut shared: HashSet<LoopId> = HashSet::new();
    for (_, target, left) in all_exits.into_iter().filter(|(_, target, _)| is_relevant(*target)) {
        let alone = target != 0 && graph.graph().predecessors(target).len() == 1;
        for id in left {
            match alone {
                true => exits_of.push((id, target)),
                false => {
                    shared.insert(id);
                }
            }
        }
    }
    let mut found = Vec::new();
    for (id, of) in loops.iter().filter(|(id, of)| !shared.contains(id) && is_relevant(of.header)) {
        let Some((before, latch)) = loops.entry_and_latch(graph.graph(), id) else { continue };
        let only = |block: usize| graph.graph().successors(block).len() == 1;
        if !only(before) || !only(latch) {
            continue;
        }
        found.push((id, CountedLoop { header: of.header, before, latch, exits: Vec::new(), field: 0 }));
    }
    let positions: hashbrown::HashMap<LoopId, usize> =
        found.iter().enumerate().map(|(position, (id, _))| (*id, position)).collect();
    for (id, target) in exits_of {
        if let Some((_, counted)) = positions.get(&id).and_then(|&position| found.get_mut(position)) {
            counted.exits.push(target);
        }
    }
    found.into_iter().map(|(_, counted)| counted).collect()
}
