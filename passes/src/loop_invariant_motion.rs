//! Moves out of loops what is the same on every round.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::graph::{LoopForest, LoopId};
use ircode::primitives::{Compute, Effects, Overflow, overflowing};
use ircode::{Instruction, Module, Operand, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::effects::field_type;
use crate::infer_types::result_type;
use crate::manager::Context;
use crate::preheaders::{Preheaders, outside_predecessors};

/// The pass's name on the command line.
pub const NAME: &str = "loop-invariant-motion";

/// Moves statements whose operands are defined outside of a loop to before the outermost loop of which that is true. True if
/// there was one. Statements keep their names.
///
/// They come to run where they would not have run, so only those move that can do nothing but give a value, whatever their
/// operands are: pure primitives on numbers whose types are known and fit, comparisons with `===`, choices, tuples and their
/// fields. What may throw, what reads memory or makes something new stays; so does a π, which is true only where it stands, what declares a narrower type
/// than follows from its operands, and
/// what uses a value that may be undefined: a φ with an edge on which it is, or a φᶜ.
///
/// They move to the end of the only block from which the loop is entered, if there is one that goes nowhere else; else to a new
/// block before the header, in which φs bring together what comes from several. Nothing moves out of a loop that is
/// irreducible, or that is entered by an exception, from outside of the function or by edges that no terminator implies.
///
/// One walk in reverse postorder over the nested loops finds where each statement goes: n log d for loops nested d deep.
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
            if here.is_none() || inst.ty == Type::Bottom || !is_total(bb, module, &inst.stmt) {
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

/// Whether a statement has a value of the type that it declares wherever it stands: that may be a narrower one than follows from
/// its operands, where it stands behind a test.
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

/// For each loop, the innermost of it and those around it out of which nothing can move.
pub(crate) fn closed_loops(bb: &BBCode, graph: &BlockGraph, forest: &LoopForest) -> HashMap<LoopId, Option<LoopId>> {
    let outside = outside_predecessors(graph, forest);
    let mut closed: HashMap<LoopId, Option<LoopId>> = HashMap::new();
    let loops: Vec<_> = forest.iter().collect();
    // Outer loops come last, so they are looked at first.
    for (id, each) in loops.into_iter().rev() {
        let from = outside.get(&id).map(Vec::as_slice).unwrap_or_default();
        let here = each.irreducible || !can_have_preheader(bb, graph, each.header, from);
        let around = each.parent.and_then(|parent| closed.get(&parent).copied().flatten());
        closed.insert(id, if here { Some(id) } else { around });
    }
    closed
}

/// Whether a block can be put before a loop that is entered from these blocks.
pub(crate) fn can_have_preheader(bb: &BBCode, graph: &BlockGraph, header: usize, outside: &[BlockId]) -> bool {
    let Some(block) = graph.block(header) else { return false };
    let odd = |block: BlockId| bb.block(block).is_none_or(|data| data.odd_edges().is_some());
    let caught = |from: BlockId| match bb.terminator(from).map(|(_, inst)| &inst.stmt) {
        Some(Stmt::Enter(enter)) => enter.catch_dest == Some(block),
        _ => false,
    };
    header != 0 && !odd(block) && !outside.is_empty() && outside.iter().all(|&from| !odd(from) && !caught(from))
}

/// Whether a statement gives a value whatever values of their types its operands are, and does nothing else.
pub(crate) fn is_total(bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    let plain = |operand: &Operand<Ids>| !matches!(operand, Operand::Global(_) | Operand::Nested(_));
    if let Stmt::Value(value) = stmt {
        return match value {
            Operand::Global(global) => module.global_constant(global).is_some(),
            value => value.as_value().is_some(),
        };
    }
    if !matches!(stmt, Stmt::Call(_) | Stmt::Invoke(_)) {
        return false;
    }
    let Some((primitive, args)) = module.primitive_call(stmt) else { return false };
    let types = || args.iter().map(|arg| bb.operand_type(arg).as_scalar()).collect::<Option<Vec<_>>>();
    match (primitive.compute, primitive.name, args) {
        // Of operands of these types, none or all are taken.
        (Compute::Scalars(f), ..) if primitive.effects == Effects::PURE => types().is_some_and(|types| {
            let scalars: Vec<Scalar> = types.into_iter().map(|ty| Scalar::from_bits(ty, 0)).collect();
            args.iter().all(plain) && f(&scalars).is_ok()
        }),
        (Compute::Convert(f), _, [ty, value]) if primitive.effects == Effects::PURE => {
            let to = module.named_type(ty).and_then(|ty| ty.as_scalar());
            let from = bb.operand_type(value).as_scalar();
            plain(value) && to.zip(from).is_some_and(|(to, from)| f(to, &Scalar::from_bits(from, 0)).is_ok())
        }
        (_, "===" | "!==", [a, b]) => plain(a) && plain(b),
        (_, "tuple", args) => args.iter().all(plain),
        (_, "ifelse", [condition, a, b]) => bb.operand_type(condition) == Type::BOOL && plain(a) && plain(b),
        (_, "getfield", [object, field]) => {
            let ty = bb.operand_type(object);
            let whole = matches!(ty, Type::Tuple(_) | Type::NamedTuple(_));
            whole && plain(object) && field_type(module, &ty, field).is_some()
        }
        (_, name, [_, _]) if name.starts_with("checked_") && primitive.effects == Effects::PURE => {
            types().is_some_and(|types| match types.as_slice() {
                [a, b] => {
                    let zero = |ty| Scalar::from_bits(ty, 0);
                    args.iter().all(plain) && overflowing(Overflow::Add, true, &zero(*a), &zero(*b)).is_ok()
                }
                _ => false,
            })
        }
        _ => false,
    }
}
