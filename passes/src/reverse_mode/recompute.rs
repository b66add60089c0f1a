//! What the pullback computes again instead of having it saved: cheap operations on what it has anyway.

use bbcode::{Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::Compute;
use ircode::{Operand, Stmt};
use slotmap::SecondaryMap;

use super::Carrier;
use super::objects::Class;
use super::operation::Operation;
use super::plan::Plan;

/// Scalar primitives that take about as long as a load.
const CHEAP: &[&str] = &[
    "neg_int",
    "add_int",
    "sub_int",
    "mul_int",
    "and_int",
    "or_int",
    "xor_int",
    "not_int",
    "shl_int",
    "eq_int",
    "ne_int",
    "slt_int",
    "sle_int",
    "ult_int",
    "ule_int",
    "zext_int",
    "sext_int",
    "trunc_int",
    "bitcast",
    "sitofp",
    "uitofp",
    "neg_float",
    "add_float",
    "sub_float",
    "mul_float",
    "abs_float",
    "fpext",
    "eq_float",
    "ne_float",
    "lt_float",
    "le_float",
];

/// More statements than these are not repeated for one value.
const MOST_STEPS: usize = 8;

/// The places of statements, and the classes of objects that the function changes.
pub(super) struct Recomputation {
    positions: SecondaryMap<InstId, usize>,
    written: HashSet<Class>,
}

impl Recomputation {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let mut positions = SecondaryMap::new();
        let mut written = HashSet::new();
        for (position, (id, _)) in plan.primal.all_insts().enumerate() {
            positions.insert(id, position);
            let operation = plan.activity.operation(id);
            let mut write = |operand: &Operand<Ids>| written.extend(plan.activity.objects.class(operand));
            match operation {
                Operation::Call { function, args } if plan.derivation.summaries.get(*function).writes => {
                    args.iter().for_each(&mut write);
                }
                Operation::Rule { rule, args, .. } if rule.changes_first() => args.iter().take(1).for_each(&mut write),
                Operation::Unknown => operation.for_each_input(&plan.primal, id, &mut write),
                operation => operation.changed_object().into_iter().for_each(&mut write),
            }
        }
        Recomputation { positions, written }
    }

    /// Of the values that a block needs, those that can be computed from the others, from constants and from arguments; in
    /// the order in which they are to be computed.
    ///
    /// Where values are saved on stacks, these are also values that others are computed from.
    pub(super) fn choose(&self, plan: &Plan<'_>, number: usize, needed: &[InstId]) -> Vec<InstId> {
        let saves_all = plan.carrier == Carrier::Stacks && !plan.derivation.savings.recompute;
        // Values that run backwards come first: they are computed from nothing else.
        let place = |id: InstId| match plan.inductions.at(id, number) {
            Some(_) => 0,
            None => self.place(id),
        };
        let mut order: HashMap<InstId, usize> = HashMap::with_capacity(needed.len());
        order.extend(needed.iter().map(|&id| (id, place(id))));
        let mut descending = needed.to_vec();
        if plan.carrier == Carrier::Stacks {
            let known: HashSet<InstId> = needed.iter().copied().collect();
            let runs = |value| plan.inductions.at(value, number).is_some();
            for value in needed.iter().filter_map(|&value| self.derived(plan, value, &known, runs)).flatten() {
                if order.insert(value, place(value)).is_none() {
                    descending.push(value);
                }
            }
        }
        descending.sort_unstable_by_key(|id| std::cmp::Reverse(place(*id)));
        // What a value is computed from comes before it, and is there whether it is computed or loaded itself.
        let is_there = |operand: &Operand<Ids>, before: usize| match operand {
            Operand::Value(value) => order.get(value).is_some_and(|&position| position < before),
            Operand::Argument(_) | Operand::Constant(_) | Operand::Global(_) | Operand::Quote(_) => true,
            Operand::Nested(_) => false,
        };
        let mut chosen: Vec<InstId> = descending
            .into_iter()
            .filter(|&id| {
                if plan.inductions.at(id, number).is_some() {
                    return true;
                }
                let mut all = !saves_all && self.is_cheap(plan, id);
                if let Some(stmt) = plan.primal.stmt(id).filter(|_| all) {
                    stmt.for_each_operand(&mut |operand| all &= is_there(operand, place(id)));
                }
                all
            })
            .collect();
        chosen.reverse();
        chosen
    }

    /// When a statement comes, from 1 on.
    fn place(&self, id: InstId) -> usize {
        self.positions.get(id).map_or(usize::MAX, |position| position + 1)
    }

    /// What is to be computed for a value to be computed, itself included, from what is known, from constants, arguments and what runs
    /// backwards; `None` if that is not possible, or takes too much.
    fn derived(
        &self,
        plan: &Plan<'_>,
        value: InstId,
        known: &HashSet<InstId>,
        runs: impl Fn(InstId) -> bool,
    ) -> Option<Vec<InstId>> {
        let mut found: Vec<InstId> = Vec::new();
        let mut work = vec![value];
        while let Some(at) = work.pop() {
            if found.contains(&at) || at != value && known.contains(&at) {
                continue;
            }
            if found.len() == MOST_STEPS {
                return None;
            }
            found.push(at);
            if runs(at) {
                continue;
            }
            if !plan.derivation.savings.recompute || !self.is_cheap(plan, at) {
                return None;
            }
            let mut fits = true;
            plan.primal.stmt(at)?.for_each_operand(&mut |operand| match operand {
                Operand::Value(of) => {
                    fits &= runs(*of) || self.place(*of) < self.place(at);
                    work.push(*of);
                }
                Operand::Argument(_) | Operand::Constant(_) | Operand::Global(_) | Operand::Quote(_) => {}
                Operand::Nested(_) => fits = false,
            });
            if !fits {
                return None;
            }
        }
        Some(found)
    }

    /// Whether the reverse of a block can compute a value, from nothing that was saved for it.
    pub(super) fn can_derive(&self, plan: &Plan<'_>, value: InstId, number: usize) -> bool {
        let runs = |value| plan.inductions.offers(value, number).is_some();
        self.derived(plan, value, &HashSet::new(), runs).is_some()
    }

    /// Finds the values that run backwards and are needed: what the reverse of a statement needs is computed from them.
    pub(super) fn use_inductions(&self, plan: &mut Plan<'_>) {
        if !plan.inductions.are_offered() {
            return;
        }
        let mut work: Vec<(usize, InstId)> = Vec::new();
        let nothing = HashSet::new();
        for number in 0..plan.relevant.len() {
            work.extend(plan.needed_values(number).into_iter().map(|value| (number, value)));
        }
        while let Some((number, value)) = work.pop() {
            let runs = |value| plan.inductions.offers(value, number).is_some();
            let Some(derived) = self.derived(plan, value, &nothing, runs) else { continue };
            for index in
                derived.into_iter().filter_map(|value| plan.inductions.offers(value, number)).collect::<Vec<_>>()
            {
                work.extend(plan.inductions.make_used(index));
            }
        }
    }

    /// Whether a statement gives the same again on the way back, and fast.
    fn is_cheap(&self, plan: &Plan<'_>, id: InstId) -> bool {
        // What may be undefined is loaded, and not computed.
        if plan.maybe_undefined.contains_key(id) {
            return false;
        }
        if let Operation::Load(place) = plan.activity.operation(id) {
            let class = plan.activity.objects.class(&place.object);
            return class.is_some_and(|class| !self.written.contains(&class));
        }
        let Some(stmt @ (Stmt::Call(_) | Stmt::Invoke(_))) = plan.primal.stmt(id) else { return false };
        let scalars =
            |args: &[Operand<Ids>]| args.iter().all(|arg| plan.primal.operand_type(arg).as_scalar().is_some());
        plan.derivation.module.primitive_call(stmt).is_some_and(|(primitive, args)| match primitive.name {
            "===" | "!==" | "ifelse" => scalars(args),
            name => matches!(primitive.compute, Compute::Scalars(_) | Compute::Convert(_)) && CHEAP.contains(&name),
        })
    }
}
