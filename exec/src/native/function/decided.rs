//! Branches of which it is known before the program runs where they lead: what a value of another type would do is not
//! compiled, as it may be what cannot be.

use std::borrow::Cow;

use hashbrown::HashSet;
use ircode::{BlockNumber, Constant, GotoNode, IRCode, Module, Operand, Positions, Scalar, Stmt, Type};

use super::phis::reverse_postorder;

/// How many negations are looked through.
const NEGATIONS: usize = 8;

/// The body with gotos in the place of branches that are decided, and without edges from what is not reached then.
/// Statements and blocks keep their numbers.
pub(crate) fn with_decided_branches<'i>(module: &Module<IRCode>, ir: &'i IRCode) -> Cow<'i, IRCode> {
    let mut decided = Cow::Borrowed(ir);
    let mut left: HashSet<(BlockNumber, BlockNumber)> = HashSet::new();
    for number in 0..ir.cfg.blocks.len() {
        let Some(last) = ir.cfg.blocks.get(number).and_then(|block| block.stmts.clone().next_back()) else { continue };
        let Some(Stmt::GotoIfNot(goto)) = ir.stmts.stmts().get(last) else { continue };
        let Some(holds) = value_of(module, ir, &goto.cond) else { continue };
        let (next, there) = (BlockNumber::from_index(number + 1), goto.dest);
        let (taken, other) = if holds { (next, there) } else { (there, next) };
        if let Some(place) = decided.to_mut().stmts.stmts_mut().get_mut(last) {
            *place = Stmt::Goto(GotoNode { label: taken });
        }
        if taken != other {
            left.insert((BlockNumber::from_index(number), other));
        }
    }
    if let Cow::Owned(body) = &mut decided {
        add_edges_from_unreached(body, &mut left);
        remove_edges(body, &left);
    }
    decided
}

/// The statements of whose values the declared types say what they are asked for.
pub(crate) fn deciding(module: &Module<IRCode>, ir: &IRCode) -> HashSet<usize> {
    let asked = ir.stmts.stmts().iter().filter_map(|stmt| {
        let (primitive, [Operand::Value(value), Operand::Constant(Constant::Type(asked))]) =
            module.primitive_call(stmt)?
        else {
            return None;
        };
        let decides = || is_declared(module, ir, &Operand::Value(*value), asked).is_some();
        value.index().filter(|_| primitive.name == "isa" && decides())
    });
    asked.collect()
}

/// Whether what is declared of a value makes it one of a type, if that is known.
fn is_declared(module: &Module<IRCode>, ir: &IRCode, value: &Operand<Positions>, asked: &Type) -> Option<bool> {
    let declared = ir.operand_type(value);
    module.is_a(&declared.widened().unwrap_or(declared), asked)
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
                return is_declared(module, ir, value, asked).map(|is_a| is_a != negated);
            }
            _ => return None,
        }
    }
    None
}

fn add_edges_from_unreached(ir: &IRCode, edges: &mut HashSet<(BlockNumber, BlockNumber)>) {
    let reached: HashSet<usize> = reverse_postorder(ir).into_iter().collect();
    for (number, block) in ir.cfg.blocks.iter().enumerate().filter(|(number, _)| !reached.contains(number)) {
        edges.extend(block.succs.iter().map(|to| (BlockNumber::from_index(number), *to)));
    }
}

fn remove_edges(ir: &mut IRCode, edges: &HashSet<(BlockNumber, BlockNumber)>) {
    for (number, block) in ir.cfg.blocks.iter_mut().enumerate() {
        let here = BlockNumber::from_index(number);
        block.succs.retain(|to| !edges.contains(&(here, *to)));
        block.preds.retain(|from| !edges.contains(&(*from, here)));
        for stmt in ir.stmts.stmts_mut().get_mut(block.stmts.clone()).unwrap_or_default() {
            if let Stmt::Phi(phi) = stmt {
                phi.entries.retain(|entry| !edges.contains(&(entry.edge, here)));
            }
        }
    }
}
