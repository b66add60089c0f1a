//! Where control came from at a block at which ways meet: it follows from the condition of the branch that decided,
//! where that can be computed again; else a φ of constants says it, and is saved with what else the block saves.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::graph::DomTree;
use ircode::{Constant, Operand, Scalar, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use super::plan::Plan;
use super::recompute::{Facts, Recomputation};

/// How it is found by which edge control came to a block.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Meeting {
    /// The block saves it.
    Saved,
    /// By a condition.
    Decided(Decision),
    /// It makes no difference: the ways part at one block, and there is nothing to reverse on them. The way from this
    /// predecessor is taken back.
    Any(usize),
}

/// A condition that decided by which of two edges control came.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decision {
    pub(super) condition: Operand<Ids>,
    /// The number of the predecessor from which control came if the condition held.
    pub(super) if_true: usize,
}

impl Plan<'_> {
    /// Finds the meetings of ways at which the condition that decided can be computed again.
    pub(super) fn find_conditions(&mut self, domtree: &DomTree, facts: &Facts) {
        let mut used_elsewhere: Option<SecondaryMap<InstId, ()>> = None;
        for number in 0..self.ways.meetings.len() {
            if self.ways.meetings[number].is_none() || !self.ways.relevant[number] {
                continue;
            }
            let used_elsewhere = used_elsewhere.get_or_insert_with(|| used_elsewhere_than_defined(&self.primal));
            if let Some(pred) = self.any_way(number, used_elsewhere) {
                self.ways.meetings[number] = Some(Meeting::Any(pred));
                continue;
            }
            let Some(decision) = self.decision(domtree, number) else { continue };
            let again = match &decision.condition {
                Operand::Value(value) => Recomputation::new(self, facts).costs_nothing(*value, number),
                Operand::Argument(_) => true,
                _ => false,
            };
            if again {
                self.ways.meetings[number] = Some(Meeting::Decided(decision));
            }
        }
    }

    /// A predecessor of a block from which control may as well have come, as the ways from all of them start at one
    /// block and leave nothing to reverse.
    fn any_way(&self, number: usize, used_elsewhere: &SecondaryMap<InstId, ()>) -> Option<usize> {
        /// Longer ways are not followed, so that each meeting takes constant time an edge.
        const MOST_BLOCKS: usize = 4;
        let preds = self.predecessors(number);
        let mut nearest: Option<(usize, usize)> = None;
        let mut start = None;
        for &pred in &preds {
            let (mut at, mut blocks) = (pred, 0);
            while blocks < MOST_BLOCKS
                && let [before] = *self.predecessors(at).as_slice()
                && self.leaves_nothing(at, used_elsewhere)
            {
                (at, blocks) = (before, blocks + 1);
            }
            if *start.get_or_insert(at) != at {
                return None;
            }
            nearest = nearest.filter(|(least, _)| *least <= blocks).or(Some((blocks, pred)));
        }
        let same = |id: InstId| {
            let Some(phi) = self.primal.stmt(id).and_then(Stmt::as_phi) else { return false };
            let first = phi.entries.first().and_then(|entry| entry.value.as_ref());
            first.is_some()
                && phi.entries.len() == preds.len()
                && phi.entries.iter().all(|entry| entry.value.as_ref() == first)
        };
        self.active_phis(number).all(same).then_some(nearest?.1)
    }

    /// Whether there is nothing to do in the reverse of a block, and nothing that others could need of it. Few
    /// statements are looked at, as there are seldom many of which that is true.
    fn leaves_nothing(&self, number: usize, used_elsewhere: &SecondaryMap<InstId, ()>) -> bool {
        const MOST_STATEMENTS: usize = 8;
        let Some(block) = self.block(number) else { return false };
        let mut count = 0;
        number != 0
            && self.primal.inst_ids(block).all(|id| {
                count += 1;
                count <= MOST_STATEMENTS && !self.is_reversed(id) && !used_elsewhere.contains_key(id)
            })
            && self.ways.meeting(number).is_none()
            && self.loops.innermost(number)
                == self.predecessors(number).first().and_then(|&pred| self.loops.innermost(pred))
            && self.inductions.adds_nothing(number)
    }

    /// The branch that decided by which of two edges control came to a block: the last one before it on all ways, of
    /// which each arm leads to one of the edges. The condition is then what it was when control last came there, as
    /// control cannot compute it again without coming to the branch again.
    fn decision(&self, domtree: &DomTree, number: usize) -> Option<Decision> {
        let preds = self.predecessors(number);
        let [a, b] = *preds.as_slice() else { return None };
        let before = domtree.immediate_dominator(number)?;
        let block = self.block(before)?;
        let (_, inst) = self.primal.terminator(block)?;
        let Stmt::GotoIfNot(goto) = &inst.stmt else { return None };
        let arms = [self.primal.next(block)?, goto.dest].map(|arm| self.graph.number(arm));
        let [Some(then), Some(otherwise)] = arms else { return None };
        if then == otherwise {
            return None;
        }
        let comes_by = |arm: usize, pred: usize| match arm == number {
            true => pred == before,
            false => domtree.dominates(arm, pred) && is_entered_from(&self.graph, domtree, arm, before),
        };
        let if_true = match (comes_by(then, a), comes_by(then, b), comes_by(otherwise, a), comes_by(otherwise, b)) {
            (true, false, false, true) => a,
            (false, true, true, false) => b,
            _ => return None,
        };
        Some(Decision { condition: goto.cond.clone(), if_true })
    }
}

/// The values that are used in other blocks than their own.
fn used_elsewhere_than_defined(bb: &BBCode) -> SecondaryMap<InstId, ()> {
    let mut found = SecondaryMap::new();
    for block in bb.blocks() {
        for (_, inst) in bb.insts(block) {
            inst.stmt.for_each_use(|used| {
                if bb.block_of(used) != Some(block) {
                    found.insert(used, ());
                }
            });
        }
    }
    found
}

/// Whether control comes to a block from one other only, but for what it dominates itself.
fn is_entered_from(graph: &BlockGraph, domtree: &DomTree, block: usize, from: usize) -> bool {
    const MOST_PREDECESSORS: usize = 8;
    let preds = graph.graph().predecessors(block);
    preds.len() <= MOST_PREDECESSORS
        && graph.graph().predecessors(block).all(|pred| pred == from || domtree.dominates(block, pred))
}

/// The type of what says by which of so many edges control came.
pub(super) fn choice_type(edges: usize) -> Type {
    match edges {
        0..=2 => Type::BOOL,
        3..=256 => Type::from(ScalarType::UInt8),
        _ => Type::INT64,
    }
}

/// The number of an edge, of so many, as a value of that type.
pub(super) fn choice(edge: usize, edges: usize) -> Operand<Ids> {
    match edges {
        0..=2 => Constant::bool(edge != 0).into(),
        3..=256 => Operand::from(Scalar::UInt8(edge as u8)),
        _ => Operand::from(edge as i64),
    }
}

/// Whether control comes to a block from several others.
pub(super) fn several_predecessors(graph: &BlockGraph, number: usize) -> bool {
    let mut preds = graph.graph().predecessors(number);
    let first = preds.next();
    preds.any(|pred| Some(pred) != first)
}
