//! What the pullback computes again instead of having it saved: cheap operations on what it has anyway.

use bbcode::{Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::Compute;
use ircode::{Operand, Stmt};
use slotmap::SecondaryMap;

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
    /// `may_be_undefined` says of which values that is so: these are loaded, and not computed.
    pub(super) fn choose(
        &self,
        plan: &Plan<'_>,
        needed: &[InstId],
        may_be_undefined: impl Fn(InstId) -> bool,
    ) -> Vec<InstId> {
        let place = |id: InstId| self.positions.get(id).copied().unwrap_or(usize::MAX);
        let mut order: HashMap<InstId, usize> = HashMap::with_capacity(needed.len());
        order.extend(needed.iter().map(|&id| (id, place(id))));
        let mut descending = needed.to_vec();
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
                let mut all = !may_be_undefined(id) && self.is_cheap(plan, id);
                if let Some(stmt) = plan.primal.stmt(id).filter(|_| all) {
                    stmt.for_each_operand(&mut |operand| all &= is_there(operand, place(id)));
                }
                all
            })
            .collect();
        chosen.reverse();
        chosen
    }

    /// Whether a statement gives the same again on the way back, and fast.
    fn is_cheap(&self, plan: &Plan<'_>, id: InstId) -> bool {
        if let Operation::Load(place) = plan.activity.operation(id) {
            let class = plan.activity.objects.class(&place.object);
            return class.is_some_and(|class| !self.written.contains(&class));
        }
        let Some(stmt @ (Stmt::Call(_) | Stmt::Invoke(_))) = plan.primal.stmt(id) else { return false };
        plan.derivation.module.primitive_call(stmt).is_some_and(|(primitive, _)| {
            matches!(primitive.compute, Compute::Scalars(_) | Compute::Convert(_)) && CHEAP.contains(&primitive.name)
        })
    }
}
