//! Removing blocks from the ways through them.

use bbcode::{BBCode, BlockId, InstId};
use ircode::{Module, Name, Operand, PhiEntry, Stmt};
use passes::{Context, Replacements, simplify_cfg};

use super::{Reducer, argument_of_type, simplest};

/// Lets edges to a block with one way on go where it goes; then joins blocks that follow each other.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    let blocks = reducer.blocks();
    reducer.each(blocks, |module, (name, block)| bypass(module, name, *block));
    let functions = reducer.functions();
    reducer.each(functions, |module, name| {
        let Some(body) = module.body_mut(name) else { return false };
        let mut taken = std::mem::take(body);
        let changed = simplify_cfg::run(&mut taken, &Context { module, function: name });
        if let Some(body) = module.body_mut(name) {
            *body = taken;
        }
        changed.unwrap_or(false)
    });
}

/// Removes a block: the edges to it go on to its only successor.
fn bypass(module: &mut Module<BBCode>, name: &Name, block: BlockId) -> bool {
    let Some(bb) = module.body_mut(name) else { return false };
    let succs = bb.successors(block);
    let [on] = succs.as_slice() else { return false };
    let on = *on;
    if on == block || Some(block) == bb.entry() || bb.has_odd_edges(block) {
        return false;
    }
    let mut preds: Vec<BlockId> = bb.cfg().predecessors(block).filter(|&pred| pred != block).collect();
    preds.dedup();
    if preds.iter().any(|&pred| bb.has_odd_edges(pred)) {
        return false;
    }
    let known: Vec<bool> = preds.iter().map(|&pred| bb.successors(pred).contains(&on)).collect();
    for &pred in &preds {
        retarget(bb, pred, block, on);
    }
    let phis: Vec<InstId> = bb.phi_nodes(on).map(|(id, _)| id).collect();
    for id in phis {
        let Some(Stmt::Phi(mut phi)) = bb.stmt(id).cloned() else { continue };
        let Some(at) = phi.entries.iter().position(|entry| entry.edge == block) else { continue };
        let through = phi.entries.remove(at).value;
        for (&pred, _) in preds.iter().zip(&known).filter(|(_, known)| !**known) {
            let value = through.as_ref().and_then(|value| on_edge(bb, block, pred, value));
            phi.entries.push(PhiEntry { edge: pred, value });
        }
        if let Some(inst) = bb.inst_mut(id) {
            inst.stmt = Stmt::Phi(phi);
        }
    }
    // What used its values takes something simple of their type.
    let mut replaced = Replacements::new();
    for (id, inst) in bb.insts(block) {
        let by = simplest(&inst.ty).or_else(|| argument_of_type(bb, &inst.ty)).unwrap_or_else(Operand::nothing);
        replaced.insert(id, by);
    }
    // The block is there.
    let _ = bb.remove_block_unchecked(block);
    replaced.apply(bb);
    true
}

/// What a value is on the edge from `pred`, where it may be a φ of `block`.
fn on_edge(bb: &BBCode, block: BlockId, pred: BlockId, value: &Operand<bbcode::Ids>) -> Option<Operand<bbcode::Ids>> {
    let Some(id) = value.as_value().filter(|&id| bb.block_of(id) == Some(block)) else { return Some(value.clone()) };
    match bb.stmt(id) {
        Some(Stmt::Phi(phi)) => phi.value_from(pred).cloned(),
        // It is removed with the block, and what used it is replaced then.
        _ => Some(value.clone()),
    }
}

/// Lets every edge from `pred` to `old` go to `new`; a branch of which all ways lead there becomes a goto.
fn retarget(bb: &mut BBCode, pred: BlockId, old: BlockId, new: BlockId) {
    bb.retarget_unchecked(pred, old, new);
    let next = bb.next(pred);
    let Some((id, _)) = bb.terminator(pred) else { return };
    let Some(inst) = bb.inst_mut(id) else { return };
    if matches!(&inst.stmt, Stmt::GotoIfNot(goto) if Some(goto.dest) == next) {
        inst.stmt = Stmt::goto(new);
        let _ = bb.set_next(pred, None);
    }
}
