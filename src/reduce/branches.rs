//! Making branches unconditional.

use bbcode::{BBCode, BlockId};
use ircode::{Head, Module, Name, Operand, Stmt};

use super::{Reducer, forget_edge, simplest};

/// Lets blocks return at once.
pub(super) fn returns(reducer: &mut Reducer<'_>) {
    let blocks = reducer.blocks();
    reducer.each(blocks, |module, (name, block)| end(module, name, *block));
}

/// Lets branches take their ways: the first, then the second, …
pub(super) fn run(reducer: &mut Reducer<'_>) {
    let branches: Vec<(Name, BlockId)> = reducer.blocks();
    let most =
        branches.iter().filter_map(|(name, block)| Some(ways(&reducer.state.function(name)?.body, *block).len()));
    for way in 0..most.max().unwrap_or_default() {
        let branches: Vec<(Name, BlockId)> = reducer.blocks();
        reducer.each(branches, |module, (name, block)| {
            let Some(body) = module.body_mut(name) else { return false };
            let ways = ways(body, *block);
            ways.get(way).is_some_and(|&to| go(body, *block, to))
        });
    }
}

/// Where a block with several ways on could go instead of branching.
fn ways(bb: &BBCode, block: BlockId) -> Vec<BlockId> {
    let succs = bb.successors(block);
    let Some((_, inst)) = bb.terminator(block) else { return Vec::new() };
    match &inst.stmt {
        Stmt::GotoIfNot(_) | Stmt::Switch(_) => succs,
        // What an enter begins ends in a leave: both go on to the next block.
        Stmt::Enter(_) => bb.next(block).into_iter().collect(),
        Stmt::Expr(expr) if expr.head == Head::Leave => bb.next(block).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Lets a block go to one of its successors.
fn go(bb: &mut BBCode, block: BlockId, to: BlockId) -> bool {
    let before = bb.successors(block);
    let Some((id, _)) = bb.terminator(block) else { return false };
    if let Some(inst) = bb.inst_mut(id) {
        inst.stmt = Stmt::goto(to);
    }
    let _ = bb.set_next(block, None);
    before.into_iter().filter(|&succ| succ != to).for_each(|lost| forget_edge(bb, block, lost));
    true
}

/// Lets a block return the simplest value.
fn end(module: &mut Module<BBCode>, name: &Name, block: BlockId) -> bool {
    let Some(result) = module.function(name).map(|function| function.result.clone()) else { return false };
    let Some(bb) = module.body_mut(name) else { return false };
    let before = bb.successors(block);
    if before.is_empty() {
        return false;
    }
    let value = simplest(&result).unwrap_or_else(Operand::nothing);
    let ret = Stmt::ret(value);
    match bb.terminator(block).map(|(id, _)| id) {
        Some(id) => {
            if let Some(inst) = bb.inst_mut(id) {
                inst.stmt = ret;
                inst.ty = result;
            }
        }
        None => {
            let _ = bb.push(block, ircode::NewInstruction::new(ret, result));
        }
    }
    let _ = bb.set_next(block, None);
    before.into_iter().for_each(|lost| forget_edge(bb, block, lost));
    true
}
