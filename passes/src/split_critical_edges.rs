//! Gives edges that join a branch to a meeting of ways blocks of their own.

use bbcode::{BBCode, BlockGraph, BlockId, PhiEdgeChange};
use ircode::{NewInstruction, Stmt, Type};

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "split-critical-edges";

/// Puts a block with a goto on every edge that goes from a block with several successors to a block with several
/// predecessors, so that there is a place where code runs only if control goes that way. φs take from the new block
/// what they took from the old. True if there was such an edge.
///
/// The entry counts as having one predecessor more: control comes from outside. Left alone are edges that cannot be
/// split: an exception's, as control leaves the `try` region in the middle of a block, and those that the terminator
/// does not imply; also those of blocks that are not reached. Linear in the function and in the φ entries.
pub fn run(bb: &mut BBCode, _: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let reachable = graph.reachable();
    let branches = |block: &BlockId| {
        graph.successors(*block).count() > 1 && graph.number(*block).is_some_and(|number| reachable[number])
    };
    let critical: Vec<BlockId> = graph
        .order()
        .iter()
        .copied()
        .filter(|block| branches(block) && !is_odd(bb, *block))
        .filter(|block| graph.successors(*block).any(|to| can_split(bb, &graph, *block, to)))
        .collect();
    if critical.is_empty() {
        return Ok(false);
    }
    // Dominance changes, and φs must not get less by it.
    bb.name_phi_edges();
    let mut moved = Vec::new();
    for block in critical {
        split_edges_of(bb, &graph, block, &mut moved);
    }
    let changed = !moved.is_empty();
    bb.replace_phi_edges(moved);
    Ok(changed)
}

fn is_odd(bb: &BBCode, block: BlockId) -> bool {
    let odd = bb.block(block).and_then(|data| data.odd_edges());
    odd.is_some_and(|odd| !odd.extra_succs.is_empty() || !odd.missing_succs.is_empty())
}

/// Whether edges from a block that branches to this one are critical, and can be split.
fn can_split(bb: &BBCode, graph: &BlockGraph, from: BlockId, to: BlockId) -> bool {
    let preds = graph.predecessors(to).take(2).count() + usize::from(Some(to) == bb.entry());
    let odd = bb.block(to).is_none_or(|data| data.odd_edges().is_some_and(|odd| odd.extra_preds.contains(&from)));
    preds > 1 && !odd
}

fn split_edges_of(bb: &mut BBCode, graph: &BlockGraph, block: BlockId, moved: &mut Vec<PhiEdgeChange>) {
    // Each target once for every edge that goes there.
    let mut made: Vec<(BlockId, BlockId)> = Vec::new();
    let mut kept: Vec<BlockId> = Vec::new();
    if let Some(next) = bb.next(block)
        && falls_through(bb, block)
        && can_split(bb, graph, block, next)
        && let Ok(new) = bb.insert_block_after(block)
    {
        let _ = bb.set_next(block, Some(new));
        made.push((next, new));
    }
    if let Some((id, inst)) = bb.terminator(block) {
        let mut targets: Vec<BlockId> = Vec::new();
        inst.stmt.for_each_target(|target| targets.push(target));
        let exceptional = matches!(inst.stmt, Stmt::Enter(_));
        for target in &mut targets {
            match !exceptional && can_split(bb, graph, block, *target) {
                true => {
                    let new = block_before(bb, graph, *target);
                    made.push((*target, new));
                    *target = new;
                }
                false => kept.push(*target),
            }
        }
        let mut targets = targets.into_iter();
        if let Some(inst) = bb.inst_mut(id) {
            inst.stmt.for_each_target_mut(|target| *target = targets.next().unwrap_or(*target));
        }
    }
    for &(target, new) in &made {
        let _ = bb.push(new, NewInstruction::new(Stmt::goto(target), Type::Any));
    }
    // Sorted, so that the edges to one block stand together; those made first come first.
    made.sort_by_key(|(target, _)| *target);
    kept.sort_unstable();
    for edges in made.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(target, _)) = edges.first() else { continue };
        let old = kept.binary_search(&target).is_ok().then_some(block);
        let new = old.into_iter().chain(edges.iter().map(|(_, new)| *new)).collect();
        moved.push(PhiEdgeChange { block: target, old: block, new });
    }
}

fn falls_through(bb: &BBCode, block: BlockId) -> bool {
    bb.terminator(block).is_none_or(|(_, inst)| inst.stmt.falls_through())
}

/// A new block before this one in the layout; at its end, if that would come between the block and what falls into it.
fn block_before(bb: &mut BBCode, graph: &BlockGraph, block: BlockId) -> BlockId {
    let before = graph.number(block).and_then(|number| graph.block(number.checked_sub(1)?));
    match before {
        Some(before) if !falls_through(bb, before) || bb.next(before) != Some(block) => {
            bb.insert_block_before(block).unwrap_or_else(|_| bb.push_block())
        }
        _ => bb.push_block(),
    }
}
