//! Moves out of loops what is the same on every round.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::graph::{LoopForest, LoopId};
use ircode::{Instruction, Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::effects::is_total;
use crate::infer_types::result_type;
use crate::manager::Context;
use crate::preheaders::{Preheaders, closed_loops};

/// The pass's name on the command line.
pub const NAME: &str = "loop-invariant-motion";

/// Moves statements whose operands are defined outside of a loop to before the outermost loop of which that is true.
/// True if there was one. Statements keep their names.
///
/// They come to run where they would not have run, so only those move that can do nothing but give a value, whatever
/// their operands are: pure primitives on numbers whose types are known and fit, comparisons with `===`, choices,
/// tuples and their fields. What may throw, what reads memory or makes something new stays; so does a π, which is true
/// only where it stands, what declares a narrower type than follows from its operands, and what uses a value that may
/// be undefined: a φ with an edge on which it is, or a φᶜ.
///
/// They move to the end of the only block from which the loop is entered, if there is one that goes nowhere else; else
/// to a new block before the header, in which φs bring together what comes from several. Nothing moves out of a loop
/// that is irreducible, or that is entered by an exception, from outside of the function or by edges that no terminator
/// implies.
///
/// One walk in reverse postorder over the nested loops finds where each statement goes: n log d for loops nested d
/// deep.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let forest = graph.loops();
    if forest.iter().len() == 0 {
        return Ok(false);
    }
    let moves = find_moves(bb, context.module, &graph, &forest);
    if moves.is_empty() {
        return Ok(false);
    }
    let mut preheaders = Preheaders::new(&graph, &forest);
    if moves.iter().any(|(_, target)| preheaders.existing(*target).is_none()) {
        // Dominance changes, and φs must not get less by it.
        bb.name_phi_edges();
    }
    let mut changed = false;
    for (id, target) in moves {
        if let Some(block) = preheaders.of(bb, target) {
            changed |= bb.hoist_unchecked(id, block).is_ok();
        }
    }
    Ok(changed)
}

/// The statements that move, in an order in which operands come first, each with the loop before which it goes.
fn find_moves(bb: &BBCode, module: &Module<BBCode>, graph: &BlockGraph, forest: &LoopForest) -> Vec<(InstId, LoopId)> {
    let undefined = bb.maybe_undefined();
    let closed = closed_loops(bb, graph, forest);
    // The loops that values are in once they have moved.
    let mut home: SecondaryMap<InstId, Option<LoopId>> = SecondaryMap::new();
    let mut moves = Vec::new();
    for number in graph.graph().postorder().into_iter().rev() {
        let Some(block) = graph.block(number) else { continue };
        let here = forest.innermost(number);
        for (id, inst) in bb.insts(block) {
            if here.is_none() || inst.ty == Type::Bottom || !is_total(module, bb, &inst.stmt) {
                continue;
            }
            // The innermost loop in which an operand is defined, or out of which nothing moves.
            let mut bound = here.and_then(|here| closed.get(&here).copied().flatten());
            let mut defined = true;
            inst.stmt.for_each_use(|used| {
                defined &= !undefined.contains_key(used);
                let of_block =
                    || bb.block_of(used).and_then(|block| graph.number(block)).and_then(|n| forest.innermost(n));
                let common = forest.common(here, home.get(used).copied().unwrap_or_else(of_block));
                if depth(forest, common) > depth(forest, bound) {
                    bound = common;
                }
            });
            let target = forest.child_toward(bound, here).filter(|_| defined && is_of_its_type(bb, module, inst));
            if let Some(target) = target {
                home.insert(id, forest.get(target).and_then(|target| target.parent));
                moves.push((id, target));
            }
        }
    }
    moves
}

/// Whether a statement has a value of the type that it declares wherever it stands: that may be a narrower one than
/// follows from its operands, where it stands behind a test.
fn is_of_its_type(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> bool {
    if matches!(inst.stmt, Stmt::Value(Operand::Global(_))) || inst.ty.is_unknown() {
        return true;
    }
    result_type(bb, module, inst).is_some_and(|found| {
        let declared = inst.ty.widened();
        let declared = declared.as_ref().unwrap_or(&inst.ty);
        found == *declared || module.is_a(&found, declared) == Some(true)
    })
}

fn depth(forest: &LoopForest, of: Option<LoopId>) -> usize {
    of.and_then(|of| forest.get(of)).map_or(0, |of| forest.depth(of.header))
}
