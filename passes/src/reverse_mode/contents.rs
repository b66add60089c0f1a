//! Whether the contents of objects that a function makes are put back on the way back, so that what was read from them
//! can be read again.

use bbcode::InstId;
use hashbrown::{HashMap, HashSet};

use super::objects::Class;
use super::operation::Operation;
use super::plan::Plan;
use super::recompute::{Recomputed, Repeatable, changed_classes};
use super::saved::Saved;

/// What the stores into the objects of a class and the loads from them cost, each counted ten times for each loop
/// around it.
#[derive(Default)]
struct Cost {
    stores: u64,
    loads: u64,
    /// Whether something else than a store of a plain value changes the objects.
    otherwise: bool,
}

/// The classes of objects of which it takes less to save what stores overwrite than what loads read, given what would
/// be saved of the latter; in order. They are changed by stores of numbers only.
///
/// Where there are as many of the one as of the other, the loads are saved: the pullback can be called again then.
pub(super) fn worth_putting_back(plan: &Plan<'_>, saved: &Recomputed) -> Vec<Class> {
    let mut loads: HashSet<InstId> = HashSet::new();
    let mut used_elsewhere: HashSet<InstId> = HashSet::new();
    for (number, loaded) in saved.loaded.iter().enumerate() {
        for (item, _) in loaded {
            let Saved::Value(id) = *item else { continue };
            let home = plan.primal.block_of(id).and_then(|block| plan.graph.number(block));
            match home == Some(number) {
                true => loads.insert(id),
                false => used_elsewhere.insert(id),
            };
        }
    }
    loads.retain(|id| !used_elsewhere.contains(id));
    let mut costs: HashMap<Class, Cost> = HashMap::new();
    let repeatable = Repeatable::new(plan);
    for number in plan.ways.relevant_blocks() {
        let runs = 10_u64.pow(plan.loops.depth(number).min(6) as u32);
        for id in plan.block(number).into_iter().flat_map(|block| plan.primal.inst_ids(block)) {
            match plan.activity.operation(id) {
                Operation::Store { place, .. } => {
                    if let Some(class) = plan.activity.objects.class(&place.object) {
                        let cost = costs.entry(class).or_default();
                        cost.stores += runs;
                        cost.otherwise |= !plan.is_plain(&plan.place_type(place));
                    }
                }
                Operation::Load(place) if loads.contains(&id) => {
                    if let Some(class) = plan.activity.objects.class(&place.object)
                        && repeatable.is_unchanged_to_the_end(id)
                    {
                        costs.entry(class).or_default().loads += runs;
                    }
                }
                _ => {
                    for class in changed_classes(plan, id) {
                        costs.entry(class).or_default().otherwise = true;
                    }
                }
            }
        }
    }
    let mut found: Vec<Class> = costs
        .into_iter()
        .filter(|(class, cost)| {
            let stays = !plan.activity.objects.is_external(*class) && !plan.reads_contents(*class);
            stays && !cost.otherwise && cost.loads > cost.stores
        })
        .map(|(class, _)| class)
        .collect();
    found.sort_unstable();
    found
}
