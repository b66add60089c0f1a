//! Removes statements whose values nobody uses.

use bbcode::{BBCode, BlockId, Ids, InstId};
use ircode::{Instruction, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::effects::effects;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "dead-code";

/// Removes statements that have no effect and whose values no statement with an effect needs, cycles of φs included.
/// Whether a call has an effect is what its primitive says, not its flags. True if there was one.
///
/// What is needed is marked from the effects backwards along uses, as in Cytron, Ferrante, Rosen, Wegman and Zadeck,
/// *Efficiently Computing Static Single Assignment Form and the Control Dependence Graph* (1991), but that all branches
/// count as needed. Linear in the function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    // Whether a statement is needed: false if it was looked at when nothing had needed it yet.
    let mut needed: SecondaryMap<InstId, bool> = SecondaryMap::with_capacity(bb.inst_count());
    let mut work: Vec<InstId> = Vec::new();
    let mut not_needed = 0;
    let blocks: Vec<BlockId> = bb.blocks().collect();
    // Backwards: so most statements are known to be needed before it is asked what they do.
    for &block in blocks.iter().rev() {
        let mut at = bb.last_inst(block);
        while let Some(id) = at
            && let Some(inst) = bb.inst(id)
        {
            if needed.contains_key(id) || has_effect(bb, context, block, id, inst) {
                needed.insert(id, true);
                inst.stmt.for_each_use(|used| {
                    if needed.insert(used, true) == Some(false) {
                        not_needed -= 1;
                        work.push(used);
                    }
                });
            } else {
                needed.insert(id, false);
                not_needed += 1;
            }
            at = bb.prev_inst(id);
        }
    }
    while let Some(id) = work.pop() {
        if let Some(stmt) = bb.stmt(id) {
            stmt.for_each_use(|used| {
                if needed.insert(used, true) == Some(false) {
                    not_needed -= 1;
                    work.push(used);
                }
            });
        }
    }
    let mut dead: Vec<InstId> = Vec::with_capacity(not_needed);
    if not_needed > 0 {
        for block in blocks {
            let here = dead.len();
            dead.extend(bb.inst_ids(block).filter(|id| needed.get(*id) != Some(&true)));
            // A `nothing` that a block consists of keeps it from being empty.
            if let [only] = &dead[here..]
                && bb.first_inst(block) == bb.last_inst(block)
                && bb.stmt(*only).is_some_and(Stmt::is_nothing)
            {
                dead.pop();
            }
        }
    }
    for &id in &dead {
        // The statement is there: it was found in its block.
        let _ = bb.remove_unchecked(id);
    }
    bb.fill_empty_blocks();
    Ok(!dead.is_empty())
}

/// Whether a statement is needed for what it does, whoever uses its value.
fn has_effect(bb: &BBCode, context: &Context<'_>, block: BlockId, id: InstId, inst: &Instruction<Ids>) -> bool {
    let jumps = inst.stmt.is_terminator() || matches!(inst.stmt, Stmt::PhiC(_) | Stmt::Upsilon(_));
    // The type of the last statement may be all that says why control does not go on.
    let stops = inst.ty == Type::Bottom && bb.last_inst(block) == Some(id) && bb.next(block).is_none();
    jumps || stops || !effects(context.module, bb, inst).removable()
}
