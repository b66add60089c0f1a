//! Where in the pullback what a loop does not change is got: once before the reverse of the loop, not on every round.

use hashbrown::HashMap;
use ircode::graph::{DomTree, LoopForest, LoopId};

use super::plan::Plan;

/// The blocks to which control leaves loops, if all ways out of one lead to the same.
pub(super) struct Places {
    after: HashMap<LoopId, usize>,
    loops: LoopForest,
    domtree: DomTree,
}

impl Places {
    pub(super) fn new(plan: &Plan<'_>, domtree: &DomTree) -> Places {
        let mut targets: HashMap<LoopId, Option<usize>> = HashMap::new();
        for block in plan.ways.relevant_blocks() {
            for target in plan.graph.graph().successors(block).filter(|&target| plan.ways.relevant[target]) {
                let mut left = plan.loops.innermost(block);
                while let Some(id) = left.filter(|&id| !plan.loops.contains(id, target)) {
                    let known = targets.entry(id).or_insert(Some(target));
                    *known = known.filter(|&known| known == target);
                    left = plan.loops.get(id).and_then(|found| found.parent);
                }
            }
        }
        let after = targets.into_iter().filter_map(|(id, target)| Some((id, target?))).collect();
        Places { after, loops: plan.loops.clone(), domtree: domtree.clone() }
    }

    /// The block in the reverse of which something that was made in the block `home` is got for that of `user`.
    ///
    /// If `user` is in a loop that `home` is not in, that is the block to which control leaves the outermost such loop,
    /// if there is one only: every way into the reverse of the loop comes from there, so that between the two what is
    /// got is not made anew. What is got must have been made there, so `home` must dominate it; and it must not be in
    /// loops of its own.
    pub(super) fn of(&self, home: usize, user: usize) -> usize {
        let here = self.loops.innermost(user);
        let common = self.loops.common(self.loops.innermost(home), here);
        let Some(&after) = self.loops.child_toward(common, here).and_then(|id| self.after.get(&id)) else {
            return user;
        };
        let around = self.loops.innermost(after);
        let outside = self.loops.common(around, common) == around;
        if outside && self.domtree.dominates(home, after) { after } else { user }
    }
}
