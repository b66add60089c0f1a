//! Loads that give again what another one has just given: they need not be saved twice.

use bbcode::InstId;
use slotmap::SecondaryMap;

use super::objects::Class;
use super::operation::{Operation, Place};
use super::plan::Plan;
use super::recompute::changed_classes;

/// The loads of numbers from a place that an earlier statement of the block has read, with nothing in between that may
/// change it, each with the first such load.
///
/// Both stay, as each adds to the shadow what belongs to it.
pub(super) fn same_loads(plan: &Plan<'_>) -> SecondaryMap<InstId, InstId> {
    let mut same: SecondaryMap<InstId, InstId> = SecondaryMap::new();
    let mut known: Vec<(InstId, Class, &Place)> = Vec::new();
    for number in plan.ways.relevant_blocks() {
        known.clear();
        for id in plan.block(number).into_iter().flat_map(|block| plan.primal.inst_ids(block)) {
            match plan.activity.operation(id) {
                Operation::Load(place) if plan.is_plain(&plan.place_type(place)) => {
                    let Some(class) = plan.activity.objects.class(&place.object) else { continue };
                    match known.iter().find(|(_, _, other)| *other == place) {
                        Some((first, ..)) => {
                            same.insert(id, *first);
                        }
                        None if known.len() < MOST => known.push((id, class, place)),
                        None => {}
                    }
                }
                _ if known.is_empty() => {}
                _ => {
                    for changed in changed_classes(plan, id) {
                        known.retain(|(_, class, _)| *class != changed);
                    }
                }
            }
        }
    }
    same
}

/// At most this many loads of a block are remembered at once.
const MOST: usize = 64;
