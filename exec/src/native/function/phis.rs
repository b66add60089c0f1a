//! What is known of blocks and φs before they are compiled: in which order, of which types, and whether they may have
//! no value.

use hashbrown::HashMap;
use ircode::graph::{LoopForest, LoopId};
use ircode::{BlockNumber, IRCode, Operand, Positions, Stmt, Type};

use super::sites::What;
use crate::native::layout::Parts;
use crate::prepare::goes_nowhere;

/// The blocks to which control may go at the end of a block; where it enters a handler, also the one that catches.
pub(crate) fn successors(ir: &IRCode, block: usize) -> Parts<usize> {
    let blocks = &ir.cfg.blocks;
    let last = blocks.get(block).and_then(|block| block.stmts.clone().next_back());
    let next = (block + 1 < blocks.len()).then_some(block + 1);
    let found = match last.and_then(|last| ir.stmts.stmts().get(last)) {
        Some(Stmt::Goto(goto)) => [goto.label.index(), None],
        Some(Stmt::GotoIfNot(goto)) => [goto.dest.index(), next],
        Some(Stmt::Enter(enter)) => [enter.catch_dest.and_then(|catch| catch.index()), next],
        Some(Stmt::Return(_)) => [None, None],
        _ if goes_nowhere(ir, block) => [None, None],
        _ => [next, None],
    };
    found.into_iter().flatten().filter(|to| *to < blocks.len()).collect()
}

/// The block that comes after one that does not end with a jump; or what is wrong where control is there nevertheless.
pub(crate) fn after_block(ir: &IRCode, block: usize) -> Result<usize, What> {
    match block + 1 < ir.cfg.blocks.len() {
        true if goes_nowhere(ir, block) => Err(What::ReturnedFromBottom),
        true => Ok(block + 1),
        false => Err(What::FellThrough),
    }
}

/// The blocks that can be reached, in reverse postorder.
pub(crate) fn reverse_postorder(ir: &IRCode) -> Vec<usize> {
    depth_first(ir, |block| successors(ir, block))
}

/// The blocks that can be reached, in the reverse of the order in which a depth-first search leaves them that visits
/// the last of what is given first.
fn depth_first(ir: &IRCode, successors: impl Fn(usize) -> Parts<usize>) -> Vec<usize> {
    let blocks = &ir.cfg.blocks;
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    let mut work: Vec<(usize, Parts<usize>)> = Vec::new();
    if let Some(first) = seen.first_mut() {
        *first = true;
        work.push((0, successors(0)));
    }
    while let Some((block, rest)) = work.last_mut() {
        match rest.pop() {
            Some(next) if !std::mem::replace(&mut seen[next], true) => work.push((next, successors(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                work.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The same for code that is compiled: what is in a loop comes right behind its header, so that soon all edges to that
/// are known.
pub(crate) fn compile_order(ir: &IRCode, loops: &LoopForest) -> Vec<usize> {
    let depth_of = |id: Option<LoopId>| id.and_then(|id| loops.get(id)).map_or(0, |found| loops.depth(found.header));
    // What a block visits last stands behind it first.
    depth_first(ir, |block| {
        let mut to = successors(ir, block);
        let here = loops.innermost(block);
        to.sort_by_key(|to| std::cmp::Reverse(depth_of(loops.common(here, loops.innermost(*to)))));
        to
    })
}

/// For each place in an order in which blocks are compiled, the blocks to which no more edges from blocks of the order
/// lead when it is done. Blocks to which none leads are left out.
///
/// A block is complete before it is compiled, but for headers of loops: variables in a loop are found to have one value
/// only if that is known of all that is inside before it is asked at the header.
pub(crate) fn completed(ir: &IRCode, order: &[usize]) -> Vec<Parts<usize>> {
    let mut last: HashMap<usize, usize> = HashMap::with_capacity(order.len());
    for (place, block) in order.iter().enumerate() {
        last.extend(successors(ir, *block).into_iter().map(|to| (to, place)));
    }
    let mut completed = vec![Parts::new(); order.len()];
    // In the order itself, so that code is the same each time.
    for block in order {
        if let Some(blocks) = last.get(block).and_then(|&place| completed.get_mut(place)) {
            blocks.push(*block);
        }
    }
    completed
}

/// By statement: whether it is a φ that may have no value, as an edge has none, or as what it takes has none. A φᶜ may
/// always be one.
pub(crate) fn open_phis(ir: &IRCode, order: &[usize]) -> Vec<bool> {
    let mut open = vec![false; ir.stmts.len()];
    let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut work = Vec::new();
    let reached: hashbrown::HashSet<usize> = order.iter().copied().collect();
    for &number in order {
        let Some(block) = ir.cfg.blocks.get(number) else { continue };
        for index in block.stmts.clone() {
            let phi = match ir.stmts.stmts().get(index) {
                Some(Stmt::Phi(phi)) => phi,
                Some(Stmt::PhiC(_)) => {
                    open[index] = true;
                    work.push(index);
                    continue;
                }
                _ => continue,
            };
            let mut preds = block.preds.iter().filter(|pred| pred.index().is_some_and(|pred| reached.contains(&pred)));
            let defined = phi.entries.iter().filter(|entry| entry.value.is_some());
            let mut edges: Vec<BlockNumber> = defined.map(|entry| entry.edge).collect();
            edges.sort_unstable();
            let has_value = |pred: &BlockNumber| edges.binary_search(pred).is_ok();
            // Control comes into the first block from outside, too.
            if number == 0 || !preds.all(has_value) {
                open[index] = true;
                work.push(index);
            }
            for value in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
                if let Operand::Value(value) = value
                    && let Some(value) = value.index()
                {
                    users.entry(value).or_default().push(index);
                }
            }
        }
    }
    while let Some(index) = work.pop() {
        for &user in users.get(&index).map(Vec::as_slice).unwrap_or_default() {
            if let Some(flag) = open.get_mut(user).filter(|flag| !**flag) {
                *flag = true;
                work.push(user);
            }
        }
    }
    open
}

/// The type of a φ or a φᶜ: as it is annotated, or that of all that it takes.
pub(crate) fn phi_type(ir: &IRCode, index: usize) -> Type {
    let annotated = ir.stmts.types().get(index).cloned().unwrap_or(Type::Any);
    let annotated = annotated.widened().unwrap_or(annotated);
    if !annotated.is_unknown() {
        return annotated;
    }
    let stored = |value: &Operand<Positions>| match value.as_value().and_then(|value| ir.stmt(value)) {
        Some(Stmt::Upsilon(upsilon)) => upsilon.value.clone(),
        _ => None,
    };
    let taken: Vec<Operand<Positions>> = match ir.stmts.stmts().get(index) {
        Some(Stmt::Phi(phi)) => phi.entries.iter().filter_map(|entry| entry.value.clone()).collect(),
        Some(Stmt::PhiC(phi)) => phi.values.iter().filter_map(stored).collect(),
        _ => return Type::Any,
    };
    let types = taken.iter().map(|value| {
        let ty = ir.operand_type(value);
        ty.widened().unwrap_or(ty)
    });
    match Type::union(types) {
        Type::Bottom => Type::Any,
        one => one,
    }
}
