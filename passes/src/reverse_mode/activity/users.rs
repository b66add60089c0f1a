//! Who uses a value, of code that does not change.

use bbcode::{BBCode, BlockGraph, InstId};
use slotmap::SecondaryMap;

/// The users of all values, behind each other in one list.
pub(super) struct Users {
    /// Where in the list the users of a value start and end.
    ranges: SecondaryMap<InstId, (u32, u32)>,
    list: Vec<InstId>,
}

impl Users {
    pub(super) fn of(bb: &BBCode) -> Users {
        let mut ranges: SecondaryMap<InstId, (u32, u32)> = SecondaryMap::with_capacity(bb.inst_count());
        for (id, _) in bb.all_insts() {
            ranges.insert(id, (0, 0));
        }
        for (_, inst) in bb.all_insts() {
            inst.stmt.for_each_use(|used| {
                if let Some((_, count)) = ranges.get_mut(used) {
                    *count += 1;
                }
            });
        }
        let mut total = 0;
        for (id, _) in bb.all_insts() {
            if let Some((start, end)) = ranges.get_mut(id) {
                let count = *end;
                (*start, *end) = (total, total);
                total += count;
            }
        }
        let mut list = vec![InstId::default(); total as usize];
        for (id, inst) in bb.all_insts() {
            inst.stmt.for_each_use(|used| {
                if let Some((_, end)) = ranges.get_mut(used)
                    && let Some(place) = list.get_mut(*end as usize)
                {
                    *place = id;
                    *end += 1;
                }
            });
        }
        Users { ranges, list }
    }

    /// The users of a value, in layout order, once a use.
    pub(super) fn of_value(&self, value: InstId) -> &[InstId] {
        let range = self.ranges.get(value).map(|&(start, end)| start as usize..end as usize);
        range.and_then(|range| self.list.get(range)).unwrap_or_default()
    }
}

/// Whether some edge leads back in this order of the blocks: otherwise everything stands before its users.
pub(super) fn goes_around(graph: &BlockGraph, order: &[usize]) -> bool {
    let mut places = vec![0; graph.order().len()];
    for (place, &block) in order.iter().enumerate() {
        places[block] = place;
    }
    order.iter().any(|&block| graph.graph().successors(block).any(|next| places[next] <= places[block]))
}
