//! Removes statements whose values nobody uses.

use bbcode::{BBCode, InstId};
use ircode::{Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::effects::effects;
use crate::manager::Context;
use crate::simplify_cfg::fill_empty_blocks;

/// The pass's name on the command line.
pub const NAME: &str = "dead-code";

/// Removes statements that have no effect and whose values no statement with an effect needs, cycles of φs included.
/// Whether a call has an effect is what its primitive says, not its flags. True if there was one.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut needed: SecondaryMap<InstId, ()> = SecondaryMap::with_capacity(bb.inst_count());
    let mut work: Vec<InstId> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let jumps = inst.stmt.is_terminator() || matches!(inst.stmt, Stmt::PhiC(_) | Stmt::Upsilon(_));
        // The type of the last statement may be all that says why control does not go on.
        let stops = inst.ty == Type::Bottom
            && bb.next_inst(id).is_none()
            && bb.block_of(id).is_some_and(|block| bb.next(block).is_none());
        if jumps || stops || !effects(context.module, bb, inst).removable() {
            needed.insert(id, ());
            work.push(id);
        }
    }
    while let Some(id) = work.pop() {
        if let Some(stmt) = bb.stmt(id) {
            stmt.for_each_use(|used| {
                if needed.insert(used, ()).is_none() {
                    work.push(used);
                }
            });
        }
    }
    let mut dead: Vec<InstId> = Vec::new();
    for block in bb.blocks() {
        let here = dead.len();
        dead.extend(bb.inst_ids(block).filter(|id| !needed.contains_key(*id)));
        // A `nothing` that a block consists of keeps it from being empty.
        if let [only] = &dead[here..]
            && bb.first_inst(block) == bb.last_inst(block)
            && bb.stmt(*only).is_some_and(Stmt::is_nothing)
        {
            dead.pop();
        }
    }
    for &id in &dead {
        // The statement is there: it was found in its block.
        let _ = bb.remove_unchecked(id);
    }
    fill_empty_blocks(bb);
    Ok(!dead.is_empty())
}
