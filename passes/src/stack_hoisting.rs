//! Makes stacks of loops once, before the loop.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::primitives::MemoryEffect;
use ircode::{NewInstruction, Operand, Stmt, Type};

use crate::PassResult;
use crate::manager::Context;
use crate::preheaders::{Preheaders, closed_loops};

/// The pass's name on the command line.
pub const NAME: &str = "stack-hoisting";

/// Makes a stack that is new on every round of a loop before the loop, and empties it where it was made. True if there
/// was one.
///
/// ```text
/// loop                                 %1 = new_stack(Float64)
///     %1 = new_stack(Float64)          loop
///     …                         becomes    stack_empty!(%1)
/// end                                      …
///                                      end
/// ```
///
/// Nobody may have the stack of a round before: it is used by operations on stacks only. Each use comes behind the
/// statement that makes it, so that it sees the stack of its own round. So what rounds push is put where the rounds
/// before put theirs, and no memory is taken for it again. It goes before the outermost loop before which a block can
/// be put. Takes time linear in the function.
///
/// Made for derivatives that are to be compiled: neither mode differentiates `stack_empty!`.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let made = stacks_of_their_own(bb, context);
    if made.is_empty() {
        return Ok(false);
    }
    let graph = bb.cfg();
    let forest = graph.loops();
    let closed = closed_loops(bb, &graph, &forest);
    let targets: Vec<_> = made
        .into_iter()
        .filter_map(|id| {
            let here = forest.innermost(graph.number(bb.block_of(id)?)?)?;
            Some((id, forest.child_toward(closed.get(&here).copied().flatten(), Some(here))?))
        })
        .collect();
    if targets.is_empty() {
        return Ok(false);
    }
    let mut preheaders = Preheaders::new(&graph, &forest);
    if targets.iter().any(|(_, target)| preheaders.existing(*target).is_none()) {
        // Dominance changes, and φs must not get less by it.
        bb.name_phi_edges();
    }
    let mut changed = false;
    for (id, target) in targets {
        let Some(block) = preheaders.of(bb, target) else { continue };
        let line = bb.inst(id).map(|inst| inst.line).unwrap_or_default();
        let empty = Stmt::call(Operand::global("BBKit", "stack_empty!"), [Operand::Value(id)]);
        let Ok(emptied) = bb.insert_before(id, NewInstruction::new(empty, Type::Nothing).with_line(line)) else {
            continue;
        };
        match bb.hoist_unchecked(id, block) {
            Ok(()) => changed = true,
            // It was just made.
            Err(_) => drop(bb.remove_unchecked(emptied)),
        }
    }
    Ok(changed)
}

/// The statements that make stacks on which nothing but operations on stacks work, in the order of the function.
fn stacks_of_their_own(bb: &BBCode, context: &Context<'_>) -> Vec<InstId> {
    let primitive = |stmt: &Stmt<Ids>| context.module.primitive_call(stmt).map(|(primitive, _)| primitive);
    // The type may be a value that is not there before the loop.
    let makes = |stmt: &Stmt<Ids>| {
        let call = context.module.primitive_call(stmt);
        call.is_some_and(|(primitive, args)| {
            primitive.name == "new_stack" && matches!(args, [of] if of.as_value().is_none())
        })
    };
    let made: Vec<InstId> = bb.all_insts().filter(|(_, inst)| makes(&inst.stmt)).map(|(id, _)| id).collect();
    if made.is_empty() {
        return made;
    }
    let mut shared: HashSet<InstId> = HashSet::new();
    for (_, inst) in bb.all_insts() {
        let mut is_first = primitive(&inst.stmt).is_some_and(|primitive| primitive.memory == MemoryEffect::Stack);
        inst.stmt.for_each_use(|used| {
            if !is_first {
                shared.insert(used);
            }
            is_first = false;
        });
    }
    made.into_iter().filter(|id| !shared.contains(id)).collect()
}
