//! Branches of which it is known before the program runs where they lead: what a value of another type would do is not compiled, as it may be what cannot be.

use std::borrow::Cow;

use ircode::{BlockNumber, Constant, GotoNode, IRCode, Module, Operand, Positions, Scalar, Stmt};

use super::phis::reverse_postorder;

/// How many negations are looked through.
const NEGATIONS: usize = 8;

/// The body with gotos in the place of branches that are decided, and without edges from what is not reached then. Statements and blocks keep their numbers.
pub(super) fn with_decided_branches<'i>(module: &Module<IRCode>, ir: &'i IRCode) -> Cow<'i, IRCode> {
    let mut decided = Cow::Borrowed(ir);
    for number in 0..ir.cfg.blocks.len() {
        let Some(last) = ir.cfg.blocks.get(number).and_then(|block| block.stmts.clone().next_back()) else { continue };
        let Some(Stmt::GotoIfNot(goto)) = ir.stmts.stmts().get(last) else { continue };
        let Some(holds) = value_of(module, ir, &goto.cond) else { continue };
        let (next, there) = (BlockNumber::from_index(number + 1), goto.dest);
        let (taken, left) = if holds { (next, there) } else { (there, next) };
        let body = decided.to_mut();
        if let Some(place) = body.stmts.stmts_mut().get_mut(last) {
            *place = Stmt::Goto(GotoNode { label: taken });
        }
        if taken != left {
            remove_edge(body, BlockNumber::from_index(number), left);
        }
    }
    if let Cow::Owned(body) = &mut decided {
        remove_edges_from_unreached(body);
    }
    decided
}

/// What a condition is, if that is known.
fn value_of(module: &Module<IRCode>, ir: &IRCode, condition: &Operand<Positions>) -> Option<bool> {
    let (mut condition, mut negated) = (condition, false);
    for _ in 0..NEGATIONS {
        let value = match condition {
            Operand::Constant(Constant::Scalar(Scalar::Bool(value))) => return Some(*value != negated),
            Operand::Value(value) => value.index()?,
            _ => return None,
        };
        let stmt = ir.stmts.stmts().get(value)?;
        if let Stmt::Value(operand) = stmt {
            condition = operand;
            continue;
        }
        let (primitive, args) = module.primitive_call(stmt)?;
        match (primitive.name, args) {
            ("not_int", [operand]) => (condition, negated) = (operand, !negated),
            ("isa", [value, Operand::Constant(Constant::Type(asked))]) => {
                let given = ir.operand_type(value);
                let given = given.widened().unwrap_or(given);
                return module.is_a(&given, asked).map(|is_a| is_a != negated);
            }
            _ => return None,
        }
    }
    None
}

fn remove_edge(ir: &mut IRCode, from: BlockNumber, to: BlockNumber) {
    if let Some(block) = from.index().and_then(|from| ir.cfg.blocks.get_mut(from)) {
        block.succs.retain(|succ| *succ != to);
    }
    let Some(block) = to.index().and_then(|to| ir.cfg.blocks.get_mut(to)) else { return };
    block.preds.retain(|pred| *pred != from);
    let range = block.stmts.clone();
    for stmt in ir.stmts.stmts_mut().get_mut(range).unwrap_or_default() {
        if let Stmt::Phi(phi) = stmt {
            phi.entries.retain(|entry| entry.edge != from);
        }
    }
}

fn remove_edges_from_unreached(ir: &mut IRCode) {
    let mut unreached = vec![true; ir.cfg.blocks.len()];
    for block in reverse_postorder(ir) {
        if let Some(unreached) = unreached.get_mut(block) {
            *unreached = false;
        }
    }
    for number in (0..unreached.len()).filter(|number| unreached.get(*number) == Some(&true)).collect::<Vec<_>>() {
        let successors = ir.cfg.blocks.get(number).map(|block| block.succs.clone()).unwrap_or_default();
        for to in successors {
            remove_edge(ir, BlockNumber::from_index(number), to);
        }
    }
}
