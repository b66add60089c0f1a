//! What the pullback computes again of what a block needs, for linear maps: cheap operations on what the block needs
//! anyway.

use bbcode::{Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{LineInfo, Operand};
use slotmap::SecondaryMap;

use super::needs::Need;
use super::plan::{Plan, SavedArgument};
use super::recompute::{Recomputed, Repeatable};
use super::saved::Saved;

/// Decides what is saved and what is computed again.
pub(super) fn decide(plan: &Plan<'_>) -> Recomputed {
    let repeatable = Repeatable::new(plan);
    let mut positions = SecondaryMap::new();
    positions.extend(plan.primal.all_insts().enumerate().map(|(position, (id, _))| (id, position)));
    let mut result = Recomputed::of(plan.ways.relevant.len());
    for number in plan.ways.relevant_blocks() {
        let mut needed: Vec<(Saved, LineInfo)> = Vec::new();
        let mut seen: HashSet<Saved> = HashSet::new();
        plan.for_each_need_of_block(number, &mut |need, line| match need {
            Need::Argument(argument) => result.arguments.push(argument),
            Need::Saved(item) if seen.insert(item) => needed.push((item, line)),
            Need::Saved(_) => {}
        });
        let computed = choose(plan, &repeatable, &positions, &needed);
        for stmt in computed.iter().filter_map(|&id| plan.primal.stmt(id)) {
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Argument(argument) = operand {
                    result.arguments.push(SavedArgument { argument: *argument, shadow: false });
                }
            });
        }
        let again: HashSet<Saved> = computed.iter().map(|&id| Saved::Value(id)).collect();
        needed.retain(|(item, _)| !again.contains(item));
        (result.loaded[number], result.computed[number]) = (needed, computed);
    }
    result
}

/// Of the values that a block needs, those that can be computed from the others, from constants and from arguments; in
/// the order in which they are to be computed.
fn choose(
    plan: &Plan<'_>,
    repeatable: &Repeatable,
    positions: &SecondaryMap<InstId, usize>,
    needed: &[(Saved, LineInfo)],
) -> Vec<InstId> {
    let place = |id: InstId| positions.get(id).copied().unwrap_or(usize::MAX);
    let values = needed.iter().filter_map(|(item, _)| match item {
        Saved::Value(id) => Some(*id),
        _ => None,
    });
    let mut descending: Vec<InstId> = values.collect();
    let mut order: HashMap<InstId, usize> = HashMap::with_capacity(descending.len());
    order.extend(descending.iter().map(|&id| (id, place(id))));
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
            let mut all = !plan.may_be_undefined(id) && repeatable.is_cheap(plan, id, false);
            if let Some(stmt) = plan.primal.stmt(id).filter(|_| all) {
                stmt.for_each_operand(&mut |operand| all &= is_there(operand, place(id)));
            }
            all
        })
        .collect();
    chosen.reverse();
    chosen
}
