//! Simplifies the control flow.

use bbcode::{BBCode, BlockId, Ids, InstId, PhiEdgeChange, Switch};
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, Instruction, Operand, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;
use crate::replace::Replacements;

/// The pass's name on the command line.
pub const NAME: &str = "simplify-cfg";

/// Turns branches on constants into gotos, removes what is not reached then, lets what goes to a block with nothing but
/// a goto go on directly, and joins a block to the next where that is the only way on and the only way there. φs with
/// a single edge become the value. True if anything changed.
pub fn run(bb: &mut BBCode, _: &Context<'_>) -> PassResult {
    forget_idle_next(bb);
    // Which block dominates which changes, and with it what φs take from edges that they do not name.
    let mut changed = bb.name_phi_edges();
    changed |= fold_constant_branches(bb);
    changed |= bb.remove_unreachable_blocks();
    changed |= forward_empty_blocks(bb);
    changed |= merge_chains(bb);
    bb.fill_empty_blocks();
    Ok(changed)
}

/// Blocks that control cannot fall out of need not say where it would go: that block may be joined to another.
fn forget_idle_next(bb: &mut BBCode) {
    let idle = |bb: &BBCode, block| {
        bb.next(block).is_some() && bb.terminator(block).is_some_and(|(_, inst)| !inst.stmt.falls_through())
    };
    let blocks: Vec<BlockId> = bb.blocks().filter(|&block| idle(bb, block)).collect();
    for block in blocks {
        // The block is there.
        let _ = bb.set_next(block, None);
    }
}

/// Lets the predecessors of blocks that hold nothing but a goto, or nothing at all, go where that goes. Uses of
/// a `nothing` there become the constant.
///
/// What φs took from the block they take from its predecessors. That needs them to be no predecessors yet: two edges
/// between the same blocks would bring one value.
fn forward_empty_blocks(bb: &mut BBCode) -> bool {
    nothings(bb).apply(bb);
    let graph = bb.cfg();
    // Both kept up to date, as forwarding one block changes the predecessors of the next; they may name blocks that are
    // gone.
    let mut preds: HashMap<BlockId, Vec<BlockId>> =
        graph.order().iter().map(|&block| (block, graph.predecessors(block).collect())).collect();
    let mut brings: HashSet<(BlockId, BlockId)> = HashSet::new();
    for &block in graph.order().iter().filter(|&&block| bb.phi_nodes(block).next().is_some()) {
        brings.extend(graph.predecessors(block).map(|pred| (block, pred)));
    }
    // Where what goes to a block that is gone goes instead. Switches are rewritten at the end, each once: one may go to
    // very many such blocks.
    let mut gone: SecondaryMap<BlockId, BlockId> = SecondaryMap::new();
    // For φs in a block, what they are to name in the place of a block that is gone.
    let mut instead: HashMap<(BlockId, BlockId), Vec<BlockId>> = HashMap::new();
    let mut forwarded: Vec<(BlockId, BlockId)> = Vec::new();
    let mut moved: HashSet<(BlockId, BlockId)> = HashSet::new();
    for block in targets_first(bb, graph.order()) {
        let Some(target) = only_way_on(bb, block).filter(|target| *target != block) else { continue };
        let only_goes_on =
            bb.insts(block).all(|(_, inst)| inst.stmt.is_nothing() || matches!(inst.stmt, Stmt::Goto(_)));
        let odd = [block, target].iter().any(|block| bb.has_odd_edges(*block));
        if !only_goes_on || odd || bb.block(target).is_none() {
            continue;
        }
        let mut from = preds.remove(&block).unwrap_or_default();
        from.retain(|pred| bb.block(*pred).is_some());
        from.sort_unstable();
        from.dedup();
        let has_phis = bb.phi_nodes(target).next().is_some();
        let stays = |pred: &BlockId| {
            *pred == block
                || bb.has_odd_edges(*pred)
                || has_phis && brings.contains(&(target, *pred))
                || matches!(bb.terminator(*pred).map(|(_, inst)| &inst.stmt), Some(Stmt::Enter(_)))
        };
        if from.is_empty() || from.iter().any(stays) {
            preds.insert(block, from);
            continue;
        }
        for &pred in &from {
            retarget(bb, pred, block, target);
        }
        if has_phis {
            brings.extend(from.iter().map(|&pred| (target, pred)));
            // One that came here by another is found on the way from that.
            if !moved.contains(&(target, block)) {
                forwarded.push((target, block));
            }
            moved.extend(from.iter().map(|&pred| (target, pred)));
            instead.insert((target, block), from.clone());
        }
        preds.entry(target).or_default().extend(from);
        let _ = bb.remove_block_unchecked(block);
        gone.insert(block, target);
    }
    retarget_switches(bb, gone);
    let changed = bb.block_count() < graph.order().len();
    rename_forwarded(bb, &forwarded, &instead);
    changed
}

/// The blocks but the entry, each behind the one to which alone control goes on from it: what goes to a chain of empty
/// blocks is sent on once then, and not by each of them.
fn targets_first(bb: &BBCode, order: &[BlockId]) -> Vec<BlockId> {
    let mut sorted = Vec::with_capacity(order.len());
    let mut seen: SecondaryMap<BlockId, ()> = SecondaryMap::new();
    let mut chain = Vec::new();
    for &first in order {
        let mut next = Some(first);
        while let Some(block) = next.filter(|block| bb.block(*block).is_some() && seen.insert(*block, ()).is_none()) {
            chain.push(block);
            next = only_way_on(bb, block);
        }
        sorted.extend(chain.drain(..).rev().filter(|block| Some(*block) != bb.entry()));
    }
    sorted
}

/// All values that are `nothing`, copies of copies included: a copy is a `nothing` itself when what it copies has been
/// replaced, and goes with its block.
fn nothings(bb: &BBCode) -> Replacements {
    let mut known = Replacements::new();
    let (mut found, mut copies) = (Vec::new(), Vec::new());
    for (id, inst) in bb.all_insts() {
        match &inst.stmt {
            stmt if stmt.is_nothing() => found.push(id),
            Stmt::Value(Operand::Value(of)) => copies.push((id, *of)),
            _ => {}
        }
    }
    let mut nothings = Replacements::new();
    if found.is_empty() {
        return nothings;
    }
    for id in found {
        known.insert(id, Operand::nothing());
        nothings.insert(id, Operand::nothing());
    }
    for &(id, of) in &copies {
        known.insert(id, Operand::Value(of));
    }
    for (id, _) in copies.into_iter().filter(|(id, _)| known.resolve(&Operand::Value(*id)) == Operand::nothing()) {
        nothings.insert(id, Operand::nothing());
    }
    nothings
}

/// Lets φs name the blocks from which control comes now. What came by a block that is gone may have come to it by
/// another such.
fn rename_forwarded(
    bb: &mut BBCode,
    forwarded: &[(BlockId, BlockId)],
    instead: &HashMap<(BlockId, BlockId), Vec<BlockId>>,
) {
    let mut changes = Vec::new();
    for &(target, block) in forwarded {
        let mut new = Vec::new();
        let mut work = vec![block];
        while let Some(edge) = work.pop() {
            match instead.get(&(target, edge)) {
                Some(from) => work.extend(from.iter().rev()),
                None => new.push(edge),
            }
        }
        changes.push(PhiEdgeChange { block: target, old: block, new });
    }
    bb.replace_phi_edges(changes);
}

/// Lets every edge of a switch to a block that is gone go where that went.
fn retarget_switches(bb: &mut BBCode, mut gone: SecondaryMap<BlockId, BlockId>) {
    let goes_there = |(id, inst): (InstId, &Instruction<Ids>)| {
        let mut any = false;
        if matches!(inst.stmt, Stmt::Switch(_)) {
            inst.stmt.for_each_target(|target| any |= gone.contains_key(target));
        }
        any.then_some(id)
    };
    let switches: Vec<InstId> = bb.blocks().filter_map(|block| bb.terminator(block).and_then(goes_there)).collect();
    let mut path = Vec::new();
    for id in switches {
        let Some(inst) = bb.inst_mut(id) else { continue };
        inst.stmt.for_each_target_mut(|target| {
            while let Some(&next) = gone.get(*target) {
                path.push(*target);
                *target = next;
            }
            // So that the next walk along here is short.
            for block in path.drain(..) {
                gone.insert(block, *target);
            }
        });
    }
}

/// Lets every edge from `pred` to `old` go to `new`, but for those of a switch.
fn retarget(bb: &mut BBCode, pred: BlockId, old: BlockId, new: BlockId) {
    if !matches!(bb.terminator(pred), Some((_, Instruction { stmt: Stmt::Switch(_), .. }))) {
        bb.retarget_unchecked(pred, old, new);
    } else if bb.next(pred) == Some(old) {
        // The block is there: it is the target of a block that is.
        let _ = bb.set_next(pred, Some(new));
    }
}

fn as_bool(operand: &Operand<Ids>) -> Option<bool> {
    match operand.as_constant() {
        Some(Constant::Scalar(Scalar::Bool(value))) => Some(*value),
        _ => None,
    }
}

/// `goto #4 if not true` goes on, `goto #4 if not false` goes to #4.
pub(crate) fn fold_constant_branches(bb: &mut BBCode) -> bool {
    let mut changed = false;
    let mut lost = Vec::new();
    let blocks: Vec<BlockId> = bb.blocks().collect();
    for block in blocks {
        let Some((id, inst)) = bb.terminator(block) else { continue };
        let before = bb.successors(block);
        let (target, keeps_next) = match &inst.stmt {
            Stmt::GotoIfNot(goto) => match as_bool(&goto.cond) {
                Some(true) => (None, true),
                Some(false) => (Some(goto.dest), false),
                None if bb.next(block) == Some(goto.dest) => (Some(goto.dest), false),
                None => continue,
            },
            Stmt::Switch(switch) => match decided_switch(switch) {
                Some(Ok(target)) => (Some(target), false),
                Some(Err(switch)) => {
                    if let Some(inst) = bb.inst_mut(id) {
                        inst.stmt = Stmt::Switch(switch);
                    }
                    lost_edges(bb, block, &before, &mut lost);
                    changed = true;
                    continue;
                }
                None => continue,
            },
            _ => continue,
        };
        match target {
            Some(target) => {
                if let Some(inst) = bb.inst_mut(id) {
                    inst.stmt = Stmt::goto(target);
                }
            }
            None => {
                let _ = bb.remove_unchecked(id);
            }
        }
        if !keeps_next {
            let _ = bb.set_next(block, None);
        }
        lost_edges(bb, block, &before, &mut lost);
        changed = true;
    }
    bb.replace_phi_edges(lost);
    changed
}

/// Where a switch goes, if that is known; else the switch without the conditions that are known, if there are such.
fn decided_switch(switch: &Switch<Ids>) -> Option<Result<BlockId, Switch<Ids>>> {
    let mut open: Vec<(Operand<Ids>, BlockId)> = Vec::new();
    let mut otherwise = switch.fallthrough_dest();
    for (cond, &dest) in switch.conds().iter().zip(switch.dests()) {
        match as_bool(cond) {
            Some(true) => {}
            Some(false) => {
                otherwise = dest;
                break;
            }
            None => open.push((cond.clone(), dest)),
        }
    }
    if open.is_empty() {
        return Some(Ok(otherwise));
    }
    let fewer = open.len() < switch.conds().len();
    fewer.then(|| Err(Switch::new(open, otherwise)))
}

/// Notes the edges of a block that went there before and do not any more.
fn lost_edges(bb: &BBCode, block: BlockId, before: &[BlockId], lost: &mut Vec<PhiEdgeChange>) {
    let mut after = bb.successors(block);
    after.sort_unstable();
    let gone = before.iter().filter(|succ| after.binary_search(succ).is_err());
    lost.extend(gone.map(|&succ| PhiEdgeChange { block: succ, old: block, new: Vec::new() }));
}

/// Joins chains of blocks, in time linear in the function.
fn merge_chains(bb: &mut BBCode) -> bool {
    let graph = bb.cfg();
    let order: Vec<BlockId> = graph.order().to_vec();
    // Whether a block is joined to its only predecessor, and which that is.
    let mut joined: HashMap<BlockId, BlockId> = HashMap::new();
    for &block in &order {
        if let Some(target) = only_way_on(bb, block)
            && Some(target) != bb.entry()
            && target != block
            && graph.predecessors(target).eq([block])
            && !graph.has_virtual_predecessor(target)
            && !bb.has_odd_edges(target)
            && single_values(bb, target).is_some()
        {
            joined.insert(target, block);
        }
    }
    if joined.is_empty() {
        return false;
    }
    let mut replaced = Replacements::new();
    // Where the statements of a joined block go: the first block of its chain.
    let mut head: HashMap<BlockId, BlockId> = HashMap::new();
    let follows: HashMap<BlockId, BlockId> = joined.iter().map(|(&target, &block)| (block, target)).collect();
    for &start in order.iter().filter(|block| !joined.contains_key(*block)) {
        let mut at = start;
        while let Some(&next) = follows.get(&at) {
            for (id, value) in single_values(bb, next).unwrap_or_default() {
                replaced.insert(id, value);
                let _ = bb.remove_unchecked(id);
            }
            // The blocks are there, and the chain so far ends in a goto or in nothing.
            let _ = bb.append_block_unchecked(start, next);
            head.insert(next, start);
            at = next;
        }
    }
    replaced.apply(bb);
    rename_phi_edges(bb, &head);
    true
}

/// The φs of a block with their values, if each has exactly one, and if none is needed to say that control stops there.
fn single_values(bb: &BBCode, block: BlockId) -> Option<Vec<(InstId, Operand<Ids>)>> {
    let last = bb.last_inst(block).and_then(|last| bb.inst(last));
    if last.is_some_and(|last| matches!(last.stmt, Stmt::Phi(_)) && last.ty == Type::Bottom) {
        return None;
    }
    bb.phi_nodes(block)
        .map(|(id, inst)| match inst.stmt.as_phi()?.entries.as_slice() {
            [entry] => Some((id, entry.value.clone()?)),
            _ => None,
        })
        .collect()
}

/// The block that control goes on to, if there is one way only and nothing is decided there.
fn only_way_on(bb: &BBCode, block: BlockId) -> Option<BlockId> {
    let odd = bb.block(block)?.odd_edges();
    if odd.is_some_and(|odd| !odd.extra_succs.is_empty() || !odd.missing_succs.is_empty()) {
        return None;
    }
    match bb.terminator(block).map(|(_, inst)| &inst.stmt) {
        Some(Stmt::Goto(goto)) => Some(goto.label),
        Some(_) => None,
        None => bb.next(block),
    }
}

/// Puts the first block of a chain in the place of the others in φs.
fn rename_phi_edges(bb: &mut BBCode, head: &HashMap<BlockId, BlockId>) {
    let blocks: Vec<BlockId> = bb.blocks().collect();
    for block in blocks {
        let phis: Vec<InstId> = bb.phi_nodes(block).map(|(id, _)| id).collect();
        for phi in phis {
            if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
                for entry in &mut phi.entries {
                    if let Some(&start) = head.get(&entry.edge) {
                        entry.edge = start;
                    }
                }
            }
        }
    }
}
