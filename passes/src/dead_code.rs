//! Removes statements whose values nobody uses.

use bbcode::{BBCode, InstId};
use ircode::Stmt;
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::effects::effects;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "dead-code";

/// Removes statements that have no effect and whose values no statement with an effect needs, cycles of φs included.
/// Whether a call has an effect is looked up in the table of primitives, not in its flags. True if there was one.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut needed: SecondaryMap<InstId, ()> = SecondaryMap::new();
    let mut work: Vec<InstId> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let jumps = inst.stmt.is_terminator() || matches!(inst.stmt, Stmt::PhiC(_) | Stmt::Upsilon(_));
        if jumps || !effects(context.module, bb, inst).removable() {
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
    let dead: Vec<InstId> = bb.all_insts().map(|(id, _)| id).filter(|id| !needed.contains_key(*id)).collect();
    for &id in &dead {
        // The statement is there: it was found in its block.
        let _ = bb.remove(id);
    }
    Ok(!dead.is_empty())
}
