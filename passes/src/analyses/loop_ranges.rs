//! What integers differ by, and between which bounds a loop counts.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Module, Operand, Stmt, Type};

/// At most this many sums are looked through for what an integer is.
const DEEPEST: usize = 16;

/// At most this many blocks before a loop are looked at for what is known where it is entered.
const MOST_BLOCKS: usize = 32;

/// An integer of 64 bits: what it is more than, if it is no constant, and by how much, modulo 2⁶⁴.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sum {
    pub(crate) root: Option<Operand<Ids>>,
    pub(crate) offset: i64,
}

impl Sum {
    /// How much more this is than another integer, if that is known.
    pub(crate) fn minus(&self, other: &Sum) -> Option<i64> {
        (self.root == other.root).then(|| self.offset.wrapping_sub(other.offset))
    }
}

/// The bounds of a φ that counts upwards by one: it is never less than the one and never more than the other.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) least: Operand<Ids>,
    pub(crate) greatest: Operand<Ids>,
}

/// Where integers and loops are looked at.
pub(crate) struct LoopRanges<'a> {
    pub(crate) module: &'a Module<BBCode>,
    pub(crate) bb: &'a BBCode,
    pub(crate) graph: &'a BlockGraph,
    pub(crate) loops: &'a LoopForest,
    pub(crate) domtree: &'a DomTree,
}

/// A call of a primitive with two operands.
type Binary<'a> = (&'static str, &'a Operand<Ids>, &'a Operand<Ids>);

impl<'a> LoopRanges<'a> {
    fn primitive(&self, operand: &Operand<Ids>) -> Option<(&'static str, &'a [Operand<Ids>])> {
        let (primitive, args) = self.module.primitive_call(self.bb.stmt(operand.as_value()?)?)?;
        Some((primitive.name, args))
    }

    fn binary(&self, operand: &Operand<Ids>) -> Option<Binary<'a>> {
        match self.primitive(operand)? {
            (name, [a, b]) => Some((name, a, b)),
            _ => None,
        }
    }

    /// What an integer is, as far as constants were added to it.
    pub(crate) fn sum(&self, operand: &Operand<Ids>) -> Sum {
        let mut sum = Sum { root: Some(operand.clone()), offset: 0 };
        for _ in 0..DEEPEST {
            let Some(root) = &sum.root else { break };
            if let Some(number) = root.as_int64() {
                sum = Sum { root: None, offset: sum.offset.wrapping_add(number) };
                break;
            }
            let (rest, more) = match self.binary(root) {
                Some(("add_int", a, b)) => match (a.as_int64(), b.as_int64()) {
                    (None, Some(number)) => (a, number),
                    (Some(number), None) => (b, number),
                    _ => break,
                },
                Some(("sub_int", a, b)) => match b.as_int64() {
                    Some(number) => (a, number.wrapping_neg()),
                    None => break,
                },
                _ => break,
            };
            if self.bb.operand_type(root) != Type::INT64 || self.bb.operand_type(rest) != Type::INT64 {
                break;
            }
            sum = Sum { root: Some(rest.clone()), offset: sum.offset.wrapping_add(more) };
        }
        sum
    }

    /// Whether a value is computed in a loop.
    pub(crate) fn is_inside(&self, id: LoopId, operand: &Operand<Ids>) -> bool {
        let block = operand.as_value().and_then(|value| self.bb.block_of(value));
        block.and_then(|block| self.graph.number(block)).is_some_and(|number| self.loops.contains(id, number))
    }

    /// Between which bounds a φ at the header of a loop counts, if it counts by one and one of these blocks of the loop
    /// ends it at a bound that does not change in it.
    pub(crate) fn range(&self, id: LoopId, blocks: &[BlockId], phi: InstId) -> Option<Range> {
        let header = self.loops.get(id)?.header;
        let block = self.graph.block(header)?;
        if self.bb.block_of(phi) != Some(block) || self.bb.operand_type(&Operand::Value(phi)) != Type::INT64 {
            return None;
        }
        let mut least: Option<Operand<Ids>> = None;
        let mut latches = Vec::new();
        let node = self.bb.stmt(phi)?.as_phi()?;
        for from in self.graph.graph().predecessors(header) {
            let edge = self.graph.block(from)?;
            let value = node.value_from(edge)?;
            if self.loops.contains(id, from) {
                latches.push(from);
                let next = Sum { root: Some(Operand::Value(phi)), offset: 1 };
                (self.sum(value) == next).then_some(())?;
            } else {
                least.get_or_insert_with(|| value.clone());
                (least.as_ref() == Some(value)).then_some(())?;
            }
        }
        let least = least?;
        let known = self.known_before(header);
        let every_round = |block: BlockId| {
            let number = self.graph.number(block)?;
            latches.iter().all(|&latch| self.domtree.dominates(number, latch)).then_some(block)
        };
        let ends = blocks.iter().filter_map(|&block| every_round(block));
        let mut bounds = ends.filter_map(|block| self.last_value(id, phi, block));
        let bound = bounds.find(|bound| self.is_at_least(bound, &least, &known))?;
        let greatest = self.without_lesser_choices(bound, &least);
        Some(Range { least, greatest })
    }

    /// What a φ is at most in the next round, if the end of a block goes on to that only as long as it is less, or not
    /// the same.
    fn last_value(&self, id: LoopId, phi: InstId, block: BlockId) -> Option<Operand<Ids>> {
        let Stmt::GotoIfNot(goto) = &self.bb.terminator(block)?.1.stmt else { return None };
        let inside = |to: BlockId| self.graph.number(to).is_some_and(|to| self.loops.contains(id, to));
        let (if_true, if_false) = (inside(self.bb.next(block)?), inside(goto.dest));
        let phi = Operand::Value(phi);
        let bound = match (self.binary(&goto.cond)?, if_true, if_false) {
            (("===" | "eq_int", a, b), false, true) if *a == phi => b,
            (("===" | "eq_int", a, b), false, true) if *b == phi => a,
            (("slt_int", a, b), true, false) if *a == phi => b,
            (("sle_int", a, b), false, true) if *b == phi => a,
            _ => return None,
        };
        (self.bb.operand_type(bound) == Type::INT64 && !self.is_inside(id, bound)).then(|| bound.clone())
    }

    /// The conditions that are known where control comes to a block for the first time, with what they are.
    fn known_before(&self, header: usize) -> Vec<(Operand<Ids>, bool)> {
        let mut known = Vec::new();
        let mut at = header;
        for _ in 0..MOST_BLOCKS {
            let Some(from) = self.domtree.immediate_dominator(at) else { break };
            // Other edges to the block come from what it dominates: only this one comes from before.
            let mut others = self.graph.graph().predecessors(at).filter(|&pred| pred != from);
            if others.all(|pred| self.domtree.dominates(at, pred)) {
                known.extend(self.condition(from, at));
            }
            at = from;
        }
        known
    }

    /// The condition on which a branch goes to a block, and whether it holds then.
    fn condition(&self, from: usize, to: usize) -> Option<(Operand<Ids>, bool)> {
        let block = self.graph.block(from)?;
        let Stmt::GotoIfNot(goto) = &self.bb.terminator(block)?.1.stmt else { return None };
        let to = self.graph.block(to);
        let holds = self.bb.next(block) == to;
        (holds != (Some(goto.dest) == to)).then(|| (goto.cond.clone(), holds))
    }

    /// Whether an integer is known not to be less than another one.
    fn is_at_least(&self, more: &Operand<Ids>, less: &Operand<Ids>, known: &[(Operand<Ids>, bool)]) -> bool {
        if let (Some(more), Some(less)) = (more.as_int64(), less.as_int64()) {
            return more >= less;
        }
        known.iter().any(|(condition, holds)| match (self.binary(condition), holds) {
            (Some(("slt_int", a, b)), false) => a == more && b == less,
            (Some(("sle_int", a, b)), true) | (Some(("slt_int", a, b)), true) => a == less && b == more,
            (Some(("sle_int", a, b)), false) => a == more && b == less,
            _ => false,
        })
    }

    /// What is chosen where the other choice is a constant that is less than a bound below which the integer is not.
    fn without_lesser_choices(&self, mut operand: Operand<Ids>, least: &Operand<Ids>) -> Operand<Ids> {
        let Some(least) = least.as_int64() else { return operand };
        for _ in 0..DEEPEST {
            let Some(("ifelse", [_, then, otherwise])) = self.primitive(&operand) else { break };
            let is_less = |choice: &Operand<Ids>| choice.as_int64().is_some_and(|number| number < least);
            operand = match (is_less(then), is_less(otherwise)) {
                (false, true) => then.clone(),
                (true, false) => otherwise.clone(),
                _ => break,
            };
        }
        operand
    }
}
