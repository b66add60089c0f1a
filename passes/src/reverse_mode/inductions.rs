//! Integers that change by known steps in loops, and can therefore be run backwards instead of being saved.
//!
//! Such an integer is a variable of which SSA made several values: φs at the headers of loops and where ways meet, and
//! sums of one of them and a constant. At each place one of these values is the current one. The pullback has a slot
//! for the variable. On the way back, what a block adds is subtracted once its reverse is done, so that in the reverse
//! of a block the slot holds what was current at its end; the other values follow from it by known differences. Where
//! the reverse of the loop is entered, the slot gets what was current when control left the loop: often the exit
//! condition says what that was (`i === n`).
//!
//! This is what compilers know as basic induction variables (Aho, Lam, Sethi, Ullman, section 9.1.8), extended to nests
//! of loops: `l += 1` in an inner loop goes on counting in the next round of the outer one.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Constant, Module, Operand, Scalar, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use super::Savings;
use super::counted::CountedLoop;

/// A variable that runs backwards.
#[derive(Debug)]
pub(super) struct Induction {
    /// The type of its values: a 64-bit integer.
    pub(super) ty: Type,
    /// Its values.
    members: HashMap<InstId, Member>,
    /// What is current in each block of the loop, by number.
    places: HashMap<usize, Place>,
    /// Where control leaves the loop to, and what is current then.
    pub(super) exits: Vec<(usize, Final)>,
    /// How it counts, if each round of the loop adds the same.
    pub(super) counts: Option<Counting>,
    /// Whether the pullback has a slot for it.
    pub(super) used: bool,
}

/// A value of a variable: the last φ of the variable before it, and what was added since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    root: InstId,
    offset: i64,
}

/// What is current in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// The last φ of the variable before the end of the block.
    root: InstId,
    /// What was added to it up to the start of the block, and up to its end.
    start: i64,
    end: i64,
    /// The value that is current at the start, and at the end.
    first: InstId,
    last: InstId,
}

/// What is current when control leaves a loop.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Final {
    /// This operand, which does not change in the loop, and so much more.
    Known(Operand<Ids>, i64),
    /// The loop goes on as long as a comparison with a bound holds, and may end at once.
    Bounded(Bounded),
    /// This value, which is saved.
    Saved(InstId),
}

impl Final {
    /// Visits the operands from which it is computed.
    fn for_each_operand(&self, visit: &mut dyn FnMut(&Operand<Ids>)) {
        match self {
            Final::Known(operand, _) => visit(operand),
            Final::Bounded(Bounded { start, bound, .. }) => {
                visit(start);
                visit(bound);
            }
            Final::Saved(_) => {}
        }
    }
}

/// A loop that goes on as long as a comparison with a bound holds for a variable that counts by one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bounded {
    /// What the variable is in the first round.
    pub(super) start: Operand<Ids>,
    /// What is added to that where it is compared first, and where the loop ends if it ends then.
    pub(super) compared: i64,
    pub(super) ended: i64,
    pub(super) comparison: &'static str,
    /// Whether the bound is the second operand of the comparison.
    pub(super) variable_first: bool,
    pub(super) bound: Operand<Ids>,
    /// What is added to the bound if the loop ends later.
    pub(super) beyond: i64,
}

/// How a variable counts the rounds of a loop.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Counting {
    /// The header of the loop.
    pub(super) header: usize,
    /// What the variable is in the first round.
    pub(super) start: Operand<Ids>,
    step: i64,
}

impl Counting {
    /// Whether the start comes again only after more rounds than can be run: a variable of 64 bits that counts by an
    /// odd number takes 2⁶⁴ rounds, one that counts by 256 takes 2⁵⁶.
    fn comes_back_late(&self) -> bool {
        self.step != 0 && self.step.trailing_zeros() <= 8
    }
}

/// What the search looks at.
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module<bbcode::BBCode>,
    pub(super) bb: &'a BBCode,
    pub(super) graph: &'a BlockGraph,
    pub(super) loops: &'a LoopForest,
    pub(super) domtree: &'a DomTree,
    /// Values that may be undefined.
    pub(super) undefined: &'a SecondaryMap<InstId, ()>,
}

/// At most this many loops around a block are looked at.
const MOST_LEVELS: usize = 32;

/// How many blocks may be looked at in all, for each statement of the function. Each variable takes a walk over its
/// loop, and a loop may have many.
const WORK_PER_STATEMENT: usize = 32;

impl Scope<'_> {
    /// Finds the variables that can be run backwards, those of outer loops first.
    pub(super) fn inductions(&self, counted: &[CountedLoop]) -> Vec<Induction> {
        let mut blocks_of: HashMap<LoopId, Vec<usize>> = HashMap::new();
        for number in self.graph.graph().postorder().into_iter().rev() {
            let mut at = self.loops.innermost(number);
            // A loop of which blocks are missing here has no variable: control comes from one that nothing is known of.
            for _ in 0..MOST_LEVELS {
                let Some((id, found)) = at.and_then(|id| Some((id, self.loops.get(id)?))) else { break };
                blocks_of.entry(id).or_default().push(number);
                at = found.parent;
            }
        }
        let mut by_depth: Vec<&CountedLoop> = counted.iter().collect();
        by_depth.sort_by_key(|counted| (self.loops.depth(counted.header), counted.header));
        let mut taken: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut found: Vec<Induction> = Vec::new();
        let mut budget = WORK_PER_STATEMENT.saturating_mul(self.bb.inst_count());
        for counted in by_depth {
            let Some(id) = self.loops.innermost(counted.header) else { continue };
            let Some(block) = self.graph.block(counted.header) else { continue };
            let Some(blocks) = blocks_of.get(&id) else { continue };
            for (phi, _) in self.bb.phi_nodes(block) {
                if taken.contains_key(phi) || budget < blocks.len() {
                    continue;
                }
                let Some(phis) = self.values_of(id, counted, phi, &mut budget) else { continue };
                budget = budget.saturating_sub(blocks.len());
                if let Some(induction) = self.induction(id, counted, phi, &phis, blocks) {
                    phis.iter().for_each(|value| {
                        taken.insert(*value, ());
                    });
                    found.push(induction);
                }
            }
        }
        found
    }

    fn is_inside(&self, id: LoopId, value: InstId) -> bool {
        let number = self.bb.block_of(value).and_then(|block| self.graph.number(block));
        number.is_some_and(|number| self.loops.contains(id, number))
    }

    /// The value to which a statement adds a constant, and the constant.
    fn sum(&self, value: InstId) -> Option<(InstId, i64)> {
        let stmt @ (Stmt::Call(_) | Stmt::Invoke(_)) = self.bb.stmt(value)? else { return None };
        let (primitive, args) = self.module.primitive_call(stmt)?;
        let number = |operand: &Operand<Ids>| integer(operand.as_constant()?);
        match (primitive.name, args) {
            ("add_int", [a, b]) => match (a.as_value(), b.as_value()) {
                (Some(a), None) => Some((a, number(b)?)),
                (None, Some(b)) => Some((b, number(a)?)),
                _ => None,
            },
            ("sub_int", [a, b]) => Some((a.as_value()?, number(b)?.wrapping_neg())),
            _ => None,
        }
    }

    /// The values that a φ of a loop's header goes through in a round, itself included, if all of them are φs and sums
    /// with constants.
    fn values_of(&self, id: LoopId, counted: &CountedLoop, phi: InstId, budget: &mut usize) -> Option<Vec<InstId>> {
        let ty = &self.bb.inst(phi)?.ty;
        if *ty != Type::INT64 && *ty != Type::from(ScalarType::UInt64) {
            return None;
        }
        let latch = self.graph.block(counted.latch)?;
        let node = self.bb.stmt(phi)?.as_phi()?;
        let next = node.value_from(latch)?.as_value()?;
        let mut values = vec![phi];
        // A map as long as all values would be made for each loop.
        let mut seen: HashSet<InstId> = HashSet::from_iter([phi]);
        let mut work = vec![next];
        while let Some(value) = work.pop() {
            if !seen.insert(value) {
                continue;
            }
            *budget = budget.checked_sub(1)?;
            let inst = self.bb.inst(value)?;
            if inst.ty != *ty || self.undefined.contains_key(value) || !self.is_inside(id, value) {
                return None;
            }
            values.push(value);
            match &inst.stmt {
                Stmt::Phi(phi) => {
                    for entry in &phi.entries {
                        work.push(entry.value.as_ref()?.as_value()?);
                    }
                }
                _ => work.push(self.sum(value)?.0),
            }
        }
        (!self.undefined.contains_key(phi)).then_some(values)
    }

    /// The variable of which these are the values, if at each place of the loop one of them is current.
    fn induction(
        &self,
        id: LoopId,
        counted: &CountedLoop,
        phi: InstId,
        values: &[InstId],
        blocks: &[usize],
    ) -> Option<Induction> {
        let mut here: HashMap<usize, Vec<InstId>> = HashMap::new();
        for &value in values {
            here.entry(self.bb.block_of(value).and_then(|block| self.graph.number(block))?).or_default().push(value);
        }
        let mut members: HashMap<InstId, Member> = HashMap::with_capacity(values.len());
        let mut places: HashMap<usize, Place> = HashMap::with_capacity(blocks.len());
        let is_phi = |value: &InstId| matches!(self.bb.stmt(*value), Some(Stmt::Phi(_)));
        for &number in blocks {
            let of_block = here.get(&number).map(Vec::as_slice).unwrap_or_default();
            let mut phis = of_block.iter().copied().filter(is_phi);
            let (root, first, start) = match (phis.next(), phis.next()) {
                (Some(phi), None) => match self.brought(number, &places) {
                    Some((root, offset)) => (root, phi, offset),
                    None => (phi, phi, 0),
                },
                (None, _) => {
                    let before = self.graph.graph().predecessors(number).find_map(|pred| places.get(&pred))?;
                    (before.root, before.last, before.end)
                }
                _ => return None,
            };
            if of_block.contains(&first) {
                members.insert(first, Member { root, offset: start });
            }
            let mut place = Place { root, start, end: start, first, last: first };
            for value in self.in_order(number, of_block.iter().copied().filter(|value| !is_phi(value)).collect()) {
                let (of, step) = self.sum(value)?;
                if of != place.last {
                    return None;
                }
                place.end = place.end.wrapping_add(step);
                place.last = value;
                members.insert(value, Member { root, offset: place.end });
            }
            places.insert(number, place);
        }
        self.every_edge_agrees(counted.header, id, &places).then_some(())?;
        let node = self.bb.stmt(phi)?.as_phi()?;
        let before = self.graph.block(counted.before)?;
        let start = node.value_from(before)?.clone();
        let latch = places.get(&counted.latch)?;
        let counts = (latch.root == phi).then(|| Counting { header: counted.header, start, step: latch.end });
        let ty = self.bb.inst(phi)?.ty.clone();
        let mut induction = Induction { ty, members, places, exits: Vec::new(), counts, used: false };
        for &exit in &counted.exits {
            let from = self.graph.graph().predecessors(exit).next()?;
            let found = self.final_value(id, counted, &induction, from, exit)?;
            induction.exits.push((exit, found));
        }
        Some(induction)
    }

    /// What a φ is if it brings together what is the same on all ways, and these are known.
    fn brought(&self, number: usize, places: &HashMap<usize, Place>) -> Option<(InstId, i64)> {
        let mut preds = self.graph.graph().predecessors(number).map(|pred| places.get(&pred));
        let first = preds.next()??;
        let same = |place: &Place| (place.root, place.end) == (first.root, first.end);
        preds.all(|place| place.is_some_and(same)).then_some((first.root, first.end))
    }

    /// Some statements of a block, in the order in which they stand. There are seldom two.
    fn in_order(&self, number: usize, mut some: Vec<InstId>) -> Vec<InstId> {
        if some.len() > 1
            && let Some(block) = self.graph.block(number)
        {
            let wanted: HashSet<InstId> = some.into_iter().collect();
            some = self.bb.inst_ids(block).filter(|value| wanted.contains(value)).collect();
        }
        some
    }

    /// Whether what is current at the end of each block of the loop is current at the start of the next, or what its φ
    /// takes.
    fn every_edge_agrees(&self, header: usize, id: LoopId, places: &HashMap<usize, Place>) -> bool {
        places.iter().all(|(&number, place)| {
            let Some(block) = self.graph.block(number) else { return false };
            let phi = self.bb.stmt(place.first).filter(|_| self.bb.block_of(place.first) == Some(block));
            self.graph.graph().predecessors(number).all(|pred| {
                let Some(before) = places.get(&pred) else { return number == header && !self.loops.contains(id, pred) };
                match phi.and_then(Stmt::as_phi) {
                    Some(phi) => {
                        let edge = self.graph.block(pred);
                        let entry = phi.entries.iter().find(|entry| Some(entry.edge) == edge);
                        let value = entry.and_then(|entry| entry.value.as_ref()).and_then(Operand::as_value);
                        let is_root = place.root == place.first;
                        value == Some(before.last)
                            && (is_root || (before.root, before.end) == (place.root, place.start))
                    }
                    None => (before.root, before.end, before.last) == (place.root, place.start, place.first),
                }
            })
        })
    }

    /// What is current when control leaves the loop from one block to another.
    fn final_value(
        &self,
        id: LoopId,
        counted: &CountedLoop,
        induction: &Induction,
        from: usize,
        exit: usize,
    ) -> Option<Final> {
        let place = induction.places.get(&from)?;
        let by_condition = || {
            let block = self.graph.block(from)?;
            let (_, inst) = self.bb.terminator(block)?;
            let Stmt::GotoIfNot(goto) = &inst.stmt else { return None };
            let target = self.graph.block(exit)?;
            let holds = self.bb.next(block) == Some(target);
            if holds == (goto.dest == target) {
                return None;
            }
            let (primitive, args) = self.module.primitive_call(self.bb.stmt(goto.cond.as_value()?)?)?;
            let [a, b] = args else { return None };
            self.by_comparison(id, counted, induction, place, from, primitive.name, [a, b], holds)
        };
        Some(by_condition().unwrap_or(Final::Saved(place.last)))
    }

    /// What is current where a comparison with something that does not change in the loop has just ended it.
    #[expect(clippy::too_many_arguments, reason = "they say where and by what the loop ends")]
    fn by_comparison(
        &self,
        id: LoopId,
        counted: &CountedLoop,
        induction: &Induction,
        place: &Place,
        from: usize,
        comparison: &str,
        [a, b]: [&Operand<Ids>; 2],
        holds: bool,
    ) -> Option<Final> {
        let member = |operand: &Operand<Ids>| {
            let member = induction.members.get(&operand.as_value()?)?;
            (member.root == place.root).then_some(*member)
        };
        let (member, bound, variable_first) = match (member(a), member(b)) {
            (Some(member), None) => (member, b, true),
            (None, Some(member)) => (member, a, false),
            _ => return None,
        };
        let fixed = match bound {
            Operand::Constant(_) | Operand::Argument(_) => true,
            Operand::Value(value) => !self.is_inside(id, *value) && !self.undefined.contains_key(*value),
            _ => false,
        };
        if !fixed || self.bb.operand_type(bound) != induction.ty {
            return None;
        }
        let further = place.end.wrapping_sub(member.offset);
        match (comparison, holds) {
            ("===" | "eq_int", true) | ("!==" | "ne_int", false) => return Some(Final::Known(bound.clone(), further)),
            _ => {}
        }
        // The comparison is made in each round, and the variable takes one step a round: the first time that the loop
        // does not go on, the variable is at the bound or next to it, unless it was there from the start.
        let counting = induction.counts.as_ref()?;
        if !self.domtree.dominates(from, counted.latch) {
            return None;
        }
        // It goes on as long as `a < b` does not hold: as long as `b ≤ a`.
        let variable_first = variable_first != holds;
        let (comparison, or_equal) = match (comparison, holds) {
            ("slt_int", false) | ("sle_int", true) => ("slt_int", false),
            ("sle_int", false) | ("slt_int", true) => ("sle_int", true),
            ("ult_int", false) | ("ule_int", true) => ("ult_int", false),
            ("ule_int", false) | ("ult_int", true) => ("ule_int", true),
            _ => return None,
        };
        let one_on = match (counting.step, variable_first) {
            (1, true) => i64::from(or_equal),
            (-1, false) => -i64::from(or_equal),
            _ => return None,
        };
        Some(Final::Bounded(Bounded {
            start: counting.start.clone(),
            compared: member.offset,
            ended: place.end,
            comparison,
            variable_first,
            bound: bound.clone(),
            beyond: further.wrapping_add(one_on),
        }))
    }
}

/// What a constant of 64 bits is, as what is added.
fn integer(constant: &Constant) -> Option<i64> {
    match constant.as_scalar()? {
        Scalar::Int64(number) => Some(*number),
        Scalar::UInt64(number) => Some(*number as i64),
        _ => None,
    }
}

/// Steps back: what the end of a block's reverse subtracts from a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StepBack {
    pub(super) induction: usize,
    pub(super) by: i64,
}

/// The variables of a function that run backwards.
#[derive(Debug, Default)]
pub(super) struct Inductions {
    pub(super) all: Vec<Induction>,
    of_value: SecondaryMap<InstId, usize>,
    /// By the header of a loop: the variable that says when its first round is reached.
    controls: HashMap<usize, usize>,
    /// By block: the variables of loops that control leaves to it, with the places of the exits in their lists.
    left: HashMap<usize, Vec<(usize, usize)>>,
    /// By block: what its reverse subtracts at its end.
    steps: HashMap<usize, Vec<StepBack>>,
    /// Whether values that the reverse of a statement needs are taken from the variables.
    offered: bool,
}

impl Inductions {
    /// Those of a function with these counted loops, as far as they are wanted.
    pub(super) fn new(scope: &Scope<'_>, counted: &[CountedLoop], savings: Savings) -> Self {
        let (trip_counts, offered) = (savings.trip_counts, savings.induction_variables);
        if counted.is_empty() || !trip_counts && !offered {
            return Inductions::default();
        }
        let all = scope.inductions(counted);
        let mut inductions = Inductions { all, offered, ..Inductions::default() };
        for (index, induction) in inductions.all.iter().enumerate() {
            for &value in induction.members.keys() {
                inductions.of_value.insert(value, index);
            }
            for (position, (exit, _)) in induction.exits.iter().enumerate() {
                inductions.left.entry(*exit).or_default().push((index, position));
            }
            let mut numbers: Vec<(&usize, &Place)> = induction.places.iter().collect();
            numbers.sort_unstable_by_key(|(number, _)| **number);
            for (&number, place) in numbers.into_iter().filter(|(_, place)| place.start != place.end) {
                let by = place.end.wrapping_sub(place.start);
                inductions.steps.entry(number).or_default().push(StepBack { induction: index, by });
            }
        }
        if trip_counts {
            inductions.choose_controls();
        }
        inductions
    }

    /// For each loop the variable that says when its first round is reached: of several, one that needs least to be
    /// saved.
    fn choose_controls(&mut self) {
        let mut best: HashMap<usize, (usize, usize)> = HashMap::new();
        for (index, induction) in self.all.iter().enumerate() {
            let Some(counting) = induction.counts.as_ref().filter(|counting| counting.comes_back_late()) else {
                continue;
            };
            let saved = induction.exits.iter().filter(|(_, at)| matches!(at, Final::Saved(_))).count();
            let cost = 2 * saved + usize::from(counting.start.as_value().is_some());
            let entry = best.entry(counting.header).or_insert((cost, index));
            if cost < entry.0 {
                *entry = (cost, index);
            }
        }
        for (&header, &(_, index)) in &best {
            self.controls.insert(header, index);
            if let Some(induction) = self.all.get_mut(index) {
                induction.used = true;
            }
        }
    }

    /// The variable that says when the first round of the loop with this header is reached, with what it is then.
    pub(super) fn control(&self, header: usize) -> Option<(usize, &Operand<Ids>)> {
        let index = *self.controls.get(&header)?;
        Some((index, &self.all.get(index)?.counts.as_ref()?.start))
    }

    /// The used variable of which a value is one, and what is to be added to what the slot holds in the reverse of a
    /// block; `None` where that is not known.
    pub(super) fn at(&self, value: InstId, block: usize) -> Option<(usize, i64)> {
        let (index, offset) = self.find(value, block)?;
        self.all.get(index)?.used.then_some((index, offset))
    }

    /// The variable, used or not, that gives a value in the reverse of a block.
    pub(super) fn offers(&self, value: InstId, block: usize) -> Option<usize> {
        self.find(value, block).map(|(index, _)| index)
    }

    fn find(&self, value: InstId, block: usize) -> Option<(usize, i64)> {
        if !self.offered {
            return None;
        }
        let index = *self.of_value.get(value)?;
        let induction = self.all.get(index)?;
        let (member, place) = (induction.members.get(&value)?, induction.places.get(&block)?);
        (member.root == place.root).then(|| (index, member.offset.wrapping_sub(place.end)))
    }

    /// Lets a variable be used. Whether it was not before.
    pub(super) fn make_used(&mut self, index: usize) -> bool {
        self.all.get_mut(index).is_some_and(|induction| !std::mem::replace(&mut induction.used, true))
    }

    /// The type of a variable.
    pub(super) fn type_of(&self, index: usize) -> Type {
        self.all.get(index).map_or(Type::Untyped, |induction| induction.ty.clone())
    }

    /// The variables that are saved where control comes to this block from their loops.
    pub(super) fn saved_at(&self, block: usize) -> impl Iterator<Item = usize> {
        self.left_to(block).filter(|(_, at)| matches!(at, Final::Saved(_))).map(|(index, _)| index)
    }

    /// The value that is saved of a variable where control comes to this block.
    pub(super) fn saved_value(&self, index: usize, block: usize) -> Option<InstId> {
        self.left_to(block).find_map(|(of, at)| match at {
            Final::Saved(value) if of == index => Some(*value),
            _ => None,
        })
    }

    /// The used variables of the loops that control leaves to this block, with what they are then.
    pub(super) fn left_to(&self, block: usize) -> impl Iterator<Item = (usize, &Final)> {
        let left = self.left.get(&block).map(Vec::as_slice).unwrap_or_default();
        left.iter().filter_map(|&(index, position)| {
            let induction = self.all.get(index).filter(|induction| induction.used)?;
            Some((index, &induction.exits.get(position)?.1))
        })
    }

    /// Whether variables stay as they are in a block.
    pub(super) fn adds_nothing(&self, block: usize) -> bool {
        !self.steps.contains_key(&block)
    }

    /// What the end of a block's reverse subtracts from used variables.
    pub(super) fn steps(&self, block: usize) -> impl Iterator<Item = StepBack> {
        let steps = self.steps.get(&block).map(Vec::as_slice).unwrap_or_default();
        steps.iter().copied().filter(|step| self.all.get(step.induction).is_some_and(|induction| induction.used))
    }

    /// What the end of a block's reverse needs: what variables of loops that control leaves to it are, and where the
    /// variable that controls the loop of which it is the header starts.
    pub(super) fn for_each_need(&self, block: usize, visit: &mut dyn FnMut(&Operand<Ids>)) {
        for (_, at) in self.left_to(block) {
            at.for_each_operand(visit);
        }
        if let Some((_, start)) = self.control(block) {
            visit(start);
        }
    }
}
