//! What the variables of a function are at every place: SSA construction for all of them together.
//!
//! φs may be needed at the iterated dominance frontiers of the assignments, and a walk over the dominator tree says
//! what comes to them and to the reads (Cytron, Ferrante, Rosen, Wegman and Zadeck, *Efficiently Computing Static
//! Single Assignment Form and the Control Dependence Graph*, 1991). A variable is first taken to live only below the
//! block that dominates all that reads or writes it, as most do: most places where ways meet have nothing to do with
//! it. Where that is not so, it is followed through the whole function. Places from where control does not come to a
//! read are left out, and where there are many still, those where the variable is not live (pruned SSA: Choi, Cytron,
//! Ferrante, *Automatic Construction of Sparse Data Flow Evaluation Graphs*, 1991). Those φs that a read needs are then
//! solved for, optimistically: one stands only where different contents meet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bbcode::{BlockGraph, Ids};
use ircode::Operand;
use ircode::graph::{DomTree, Frontiers};

use super::{Kind, Slots};

/// What a variable is at some place.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Content {
    /// What it is where the block starts below which it is followed: it may have been made there, or written in an
    /// earlier round of a loop.
    Open,
    /// Not assigned.
    Unassigned,
    /// Not to be used any more.
    Ended,
    /// What it was when an exception came: any of what the code before made it.
    Caught,
    /// This value.
    Value(Operand<Ids>),
    /// What the φ of this number gives.
    Phi(usize),
}

/// A place where ways meet that may bring different contents.
pub(super) struct Phi {
    /// The number of the variable.
    pub(super) slot: usize,
    /// The number of the block.
    pub(super) block: usize,
    /// What comes from each predecessor, once each.
    incoming: Vec<(usize, Content)>,
    /// What all ways bring, the φ itself if they differ; `None` as long as nothing is known.
    joined: Option<Content>,
}

/// What the variables are before each access.
pub(super) struct Contents {
    phis: Vec<Phi>,
    /// By access.
    before: Vec<Content>,
    /// Whether a variable is known wherever it is used, by slot.
    known: Vec<bool>,
}

impl Contents {
    /// Follows the variables through code of which every block is reachable.
    pub(super) fn of(slots: &Slots, graph: &BlockGraph) -> Contents {
        let tree = graph.dominators();
        let frontiers = Frontiers::new(graph.graph(), &tree);
        let mut construction = Construction::new(slots, graph, &tree, &frontiers);
        let all: Vec<usize> = (0..slots.slots.len()).collect();
        construction.follow(&all, Root::CommonDominator);
        let open = construction.judge();
        construction.follow(&open, Root::Entry);
        construction.judge();
        construction.solve();
        construction.contents
    }

    pub(super) fn phis(&self) -> &[Phi] {
        &self.phis
    }

    /// Whether a variable is known wherever it is used.
    pub(super) fn is_known(&self, slot: usize) -> bool {
        self.known.get(slot).is_some_and(|&known| known)
    }

    /// What the variable of an access is before it.
    pub(super) fn before(&self, access: usize) -> Content {
        self.before
            .get(access)
            .map_or(Content::Unassigned, |content| self.settled(content).unwrap_or(Content::Unassigned))
    }

    /// Whether different contents meet at a φ that is needed.
    pub(super) fn stands(&self, phi: usize) -> bool {
        let is_own = |found: &Phi| self.is_known(found.slot) && found.joined == Some(Content::Phi(phi));
        self.phis.get(phi).is_some_and(is_own)
    }

    /// What a φ gets, by the numbers of the blocks from which it comes.
    pub(super) fn incoming(&self, phi: usize) -> Vec<(usize, Content)> {
        let incoming = self.phis.get(phi).map(|phi| phi.incoming.as_slice()).unwrap_or_default();
        let settled =
            |(pred, content): &(usize, Content)| (*pred, self.settled(content).unwrap_or(Content::Unassigned));
        incoming.iter().map(settled).collect()
    }

    /// What a content is once φs that do not stand are what comes to them.
    fn settled(&self, content: &Content) -> Option<Content> {
        match content {
            Content::Phi(phi) => self.phis.get(*phi).and_then(|phi| phi.joined.clone()),
            content => Some(content.clone()),
        }
    }
}

/// Below which block a variable is followed.
#[derive(Clone, Copy, PartialEq)]
enum Root {
    /// The nearest one that dominates all that reads, writes and ends it. What makes the variable above it is left out.
    CommonDominator,
    Entry,
}

/// What a variable is, and since which depth of the dominator tree.
#[derive(Clone)]
struct Current {
    content: Content,
    depth: usize,
}

/// The blocks that have to do with a variable.
#[derive(Clone, Default)]
struct BlocksOf {
    /// Those that use it before they change it.
    used: Vec<usize>,
    /// Those that change it.
    changed: Vec<usize>,
}

/// If more ways than this lead to places where different contents of a variable may meet, it is found out first where
/// it is live. That takes time in the blocks where it is, and mostly there are few such places.
const FEW: usize = 32;

struct Construction<'a> {
    slots: &'a Slots,
    graph: &'a BlockGraph,
    tree: &'a DomTree,
    frontiers: &'a Frontiers,
    /// The accesses of block `n` are those from `starts[n]` to `starts[n + 1]`.
    starts: Vec<usize>,
    /// By block: the depth of the deepest catch block that dominates it, 0 if none does.
    caught: Vec<usize>,
    /// Where what exceptions bring meets other ways.
    behind_catches: Vec<usize>,
    /// By block: its place in reverse postorder.
    rank: Vec<usize>,
    /// By block: the first place in reverse postorder of a block that control may come to from there: a way back leads
    /// to the header of a loop.
    first_ahead: Vec<usize>,
    contents: Contents,
    /// The φs that some read needs, by number.
    needed: Vec<bool>,
}

impl<'a> Construction<'a> {
    fn new(slots: &'a Slots, graph: &'a BlockGraph, tree: &'a DomTree, frontiers: &'a Frontiers) -> Self {
        let blocks = graph.order().len();
        let starts = (0..=blocks).map(|block| slots.accesses.partition_point(|access| access.block < block)).collect();
        let is_catch =
            |block: usize| block != 0 && graph.block(block).is_some_and(|id| graph.has_virtual_predecessor(id));
        let mut caught = vec![0; blocks];
        for block in tree.preorder() {
            caught[block] = match tree.immediate_dominator(block) {
                _ if is_catch(block) => tree.depth(block),
                Some(above) => caught[above],
                None => 0,
            };
        }
        let catches: Vec<usize> = (0..blocks).filter(|&block| is_catch(block)).collect();
        let mut rank = vec![0; blocks];
        for (position, block) in graph.graph().postorder().into_iter().rev().enumerate() {
            rank[block] = position;
        }
        let loops = graph.graph().loops();
        let first_ahead = (0..blocks).map(|block| {
            let outermost = loops.child_toward(None, loops.innermost(block)).and_then(|id| loops.get(id));
            outermost.map_or(rank[block], |outermost| rank[outermost.header].min(rank[block]))
        });
        let first_ahead = first_ahead.collect();
        let mut construction = Construction {
            slots,
            graph,
            tree,
            frontiers,
            starts,
            caught,
            behind_catches: Vec::new(),
            rank,
            first_ahead,
            contents: Contents { phis: Vec::new(), before: Vec::new(), known: vec![true; slots.slots.len()] },
            needed: Vec::new(),
        };
        construction.contents.before = vec![Content::Open; slots.accesses.len()];
        let mut seen = vec![usize::MAX; blocks];
        construction.behind_catches =
            construction.joins(&catches, (&mut seen, 0), usize::MAX, |_| true).unwrap_or_default();
        construction
    }

    fn is_catch(&self, block: usize) -> bool {
        self.caught[block] > 0 && self.caught[block] == self.tree.depth(block)
    }

    /// The blocks where different contents of a variable that is assigned in these may meet: those of the iterated
    /// dominance frontier, and where what exceptions bring meets other ways. Only those that are wanted; none if more
    /// than `most` ways lead to them on the frontier. `seen` says with which stamp a block was seen last, and goes with
    /// the stamp of this time.
    fn joins(
        &self,
        assigned: &[usize],
        (seen, stamp): (&mut [usize], usize),
        most: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<Vec<usize>> {
        let mut work = assigned.to_vec();
        let (mut found, mut ways) = (Vec::new(), 0);
        while let Some(block) = work.pop() {
            for join in self.frontiers.of(block) {
                if wanted(join) && std::mem::replace(&mut seen[join], stamp) != stamp {
                    ways += self.graph.graph().predecessors(join).len();
                    if ways > most {
                        return None;
                    }
                    found.push(join);
                    work.push(join);
                }
            }
        }
        let behind_catches = self.behind_catches.iter().copied().filter(|&join| wanted(join));
        found.extend(behind_catches.filter(|&join| std::mem::replace(&mut seen[join], stamp) != stamp));
        Some(found)
    }

    /// Marks the blocks at whose start a variable is live, backwards from where it is used and no further than the
    /// root. `marks` says by which slot a block was marked last.
    fn mark_live(&self, slot: usize, of: &BlocksOf, root: Option<usize>, written: &mut [usize], marks: &mut [usize]) {
        of.changed.iter().for_each(|&block| written[block] = slot);
        of.used.iter().for_each(|&block| marks[block] = slot);
        let mut work = of.used.clone();
        while let Some(block) = work.pop() {
            if root == Some(block) {
                continue;
            }
            for pred in self.graph.graph().predecessors(block) {
                if written[pred] != slot && std::mem::replace(&mut marks[pred], slot) != slot {
                    work.push(pred);
                }
            }
        }
    }

    /// The blocks that have to do with each variable that is followed.
    fn blocks_of(&self, followed: &[bool]) -> Vec<BlocksOf> {
        let mut found = vec![BlocksOf::default(); followed.len()];
        let ends = self.slots.that_end();
        let mut last = vec![usize::MAX; followed.len()];
        for access in self.slots.accesses.iter().filter(|access| followed[access.slot]) {
            let of = &mut found[access.slot];
            let is_first = std::mem::replace(&mut last[access.slot], access.block) != access.block;
            if is_first && access.kind.uses(ends[access.slot]) {
                of.used.push(access.block);
            }
            if !matches!(access.kind, Kind::Read) && of.changed.last() != Some(&access.block) {
                of.changed.push(access.block);
            }
        }
        found
    }

    /// Finds what these variables are before each access and what comes to each φ that they may need.
    fn follow(&mut self, slots: &[usize], root: Root) {
        if slots.is_empty() {
            return;
        }
        let mut followed = vec![false; self.slots.slots.len()];
        slots.iter().for_each(|&slot| followed[slot] = true);
        let roots = match root {
            Root::CommonDominator => self.common_dominators(&followed),
            Root::Entry => vec![None; followed.len()],
        };
        let phis_of = self.place_phis(slots, &followed, &roots);
        let start = if root == Root::Entry { Content::Unassigned } else { Content::Open };
        let mut current = vec![Current { content: start, depth: 0 }; followed.len()];
        // The blocks from the entry to the one at hand, and what their changes have replaced.
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut replaced: Vec<(usize, Current)> = Vec::new();
        for block in self.tree.preorder() {
            let depth = self.tree.depth(block);
            while let Some((_, changes)) = path.pop_if(|(above, _)| *above >= depth) {
                for (slot, before) in replaced.drain(changes..).rev() {
                    current[slot] = before;
                }
            }
            path.push((depth, replaced.len()));
            let mut change = |current: &mut [Current], slot: usize, content: Content| {
                let before = std::mem::replace(&mut current[slot], Current { content, depth });
                replaced.push((slot, before));
            };
            for &phi in &phis_of[block] {
                change(&mut current, self.contents.phis[phi].slot, Content::Phi(phi));
            }
            for number in self.starts[block]..self.starts[block + 1] {
                let access = &self.slots.accesses[number];
                if !followed[access.slot] {
                    continue;
                }
                self.contents.before[number] = self.reaching(&current[access.slot], block);
                match &access.kind {
                    Kind::Start if roots[access.slot].is_some_and(|root| !self.tree.dominates(root, block)) => {}
                    Kind::Start => change(&mut current, access.slot, Content::Unassigned),
                    Kind::Write(value) => change(&mut current, access.slot, Content::Value(value.clone())),
                    Kind::End => change(&mut current, access.slot, Content::Ended),
                    Kind::Read => {}
                }
            }
            for succ in self.graph.graph().successors(block) {
                for &phi in &phis_of[succ] {
                    let content = self.reaching(&current[self.contents.phis[phi].slot], block);
                    let incoming = &mut self.contents.phis[phi].incoming;
                    // A block may lead to another one by several edges.
                    if incoming.last().is_none_or(|(pred, _)| *pred != block) {
                        incoming.push((block, content));
                    }
                }
            }
        }
    }

    /// The nearest blocks that dominate all that reads, writes and ends these variables.
    fn common_dominators(&self, followed: &[bool]) -> Vec<Option<usize>> {
        let mut roots: Vec<Option<usize>> = vec![None; followed.len()];
        for access in self.slots.accesses.iter().filter(|access| followed[access.slot]) {
            if !matches!(access.kind, Kind::Start) {
                let above = &mut roots[access.slot];
                *above = match *above {
                    Some(above) => self.tree.nearest_common_dominator(above, access.block),
                    None => Some(access.block),
                };
            }
        }
        roots
    }

    /// Makes the φs that these variables may need below these blocks, everywhere for those that have none, and tells
    /// which each block has.
    fn place_phis(&mut self, slots: &[usize], followed: &[bool], roots: &[Option<usize>]) -> Vec<Vec<usize>> {
        let mut blocks_of = self.blocks_of(followed);
        let blocks = self.starts.len();
        let mut phis_of: Vec<Vec<usize>> = vec![Vec::new(); blocks];
        let [mut seen, mut seen_live, mut written, mut live] = std::array::from_fn(|_| vec![usize::MAX; blocks]);
        for &slot in slots {
            let below = roots[slot];
            let is_below = |block: usize| below.is_none_or(|root| block != root && self.tree.dominates(root, block));
            let of = std::mem::take(&mut blocks_of[slot]);
            let mut work = of.changed.clone();
            work.retain(|&block| below == Some(block) || is_below(block));
            let last_use = of.used.iter().map(|&block| self.rank[block]).max();
            let may_be_used = |block: usize| last_use >= Some(self.first_ahead[block]) && is_below(block);
            let joins = self.joins(&work, (&mut seen, slot), FEW, may_be_used).unwrap_or_else(|| {
                self.mark_live(slot, &of, below, &mut written, &mut live);
                let is_live_below = |block: usize| is_below(block) && live[block] == slot;
                self.joins(&work, (&mut seen_live, slot), usize::MAX, is_live_below).unwrap_or_default()
            });
            for block in joins {
                // What a catch block finds is no one's choice.
                if self.is_catch(block) {
                    continue;
                }
                phis_of[block].push(self.contents.phis.len());
                // The entry is reached from outside, too.
                let joined = (block == 0).then_some(Content::Unassigned);
                self.contents.phis.push(Phi { slot, block, incoming: Vec::new(), joined });
            }
        }
        phis_of
    }

    /// What a variable is in a block if this was the last change of it on the tree.
    fn reaching(&self, current: &Current, block: usize) -> Content {
        match &current.content {
            Content::Open => Content::Open,
            _ if current.depth < self.caught[block] => Content::Caught,
            content => content.clone(),
        }
    }

    /// Finds which φs the reads need and which variables are not known where they are used. Gives those that were
    /// followed below too low a block: once they are followed from the entry there are none.
    fn judge(&mut self) -> Vec<usize> {
        let Contents { phis, before, known } = &mut self.contents;
        let ends = self.slots.that_end();
        let accesses = || self.slots.accesses.iter().zip(before.iter());
        let mut open = vec![false; known.len()];
        self.needed = vec![false; phis.len()];
        let mut found = |slot: usize, content: &Content| match content {
            Content::Open => open[slot] = true,
            Content::Caught | Content::Ended => known[slot] = false,
            Content::Unassigned | Content::Value(_) | Content::Phi(_) => {}
        };
        let reads = accesses().filter(|(access, _)| matches!(access.kind, Kind::Read));
        for_each_source(phis, reads, &mut self.needed, &mut found);
        // Using it after its end is an error, and stays one.
        let uses = accesses().filter(|(access, _)| ends[access.slot] && access.kind.uses(true));
        for_each_source(phis, uses, &mut vec![false; phis.len()], &mut found);
        (0..open.len()).filter(|&slot| open[slot] && known[slot]).collect()
    }

    /// Finds what the φs that are needed give. They only go from unknown to one thing, and from there to what differs;
    /// they are visited in reverse postorder, so that one stands only once what comes before it is known.
    fn solve(&mut self) {
        let rank = &self.rank;
        let phis = &mut self.contents.phis;
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); phis.len()];
        let mut queued = self.needed.clone();
        let mut work: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
        for (number, phi) in phis.iter().enumerate().filter(|(number, _)| self.needed[*number]) {
            for (_, content) in &phi.incoming {
                if let Content::Phi(from) = content {
                    users[*from].push(number);
                }
            }
            work.push(Reverse((rank[phi.block], number)));
        }
        while let Some(Reverse((_, number))) = work.pop() {
            queued[number] = false;
            let joined = joined(phis, number);
            // Once a φ stands it stays.
            if phis[number].joined == Some(Content::Phi(number)) || phis[number].joined == joined {
                continue;
            }
            phis[number].joined = joined;
            for &user in &users[number] {
                if !std::mem::replace(&mut queued[user], true) {
                    work.push(Reverse((rank[phis[user].block], user)));
                }
            }
        }
        // Reading what is not assigned is an error, and stays one.
        for (number, access) in self.slots.accesses.iter().enumerate() {
            let is_assigned = || matches!(self.contents.before(number), Content::Value(_) | Content::Phi(_));
            if matches!(access.kind, Kind::Read) && !is_assigned() {
                self.contents.known[access.slot] = false;
            }
        }
    }
}

/// What comes to a φ: one thing, or the φ itself.
fn joined(phis: &[Phi], number: usize) -> Option<Content> {
    let mut joined = if phis[number].block == 0 { Some(Content::Unassigned) } else { None };
    for (_, content) in &phis[number].incoming {
        let there = match content {
            Content::Phi(from) => phis[*from].joined.clone(),
            content => Some(content.clone()),
        };
        joined = match (joined, there) {
            (joined, None) => joined,
            (None, there) => there,
            (joined, there) if joined == there => joined,
            _ => return Some(Content::Phi(number)),
        };
    }
    joined
}

/// Gives what comes to these accesses, over whatever φs, and marks these.
fn for_each_source<'s>(
    phis: &[Phi],
    accesses: impl Iterator<Item = (&'s super::Access, &'s Content)>,
    seen: &mut [bool],
    found: &mut impl FnMut(usize, &Content),
) {
    let mut work: Vec<usize> = Vec::new();
    for (access, content) in accesses {
        let mut content = content;
        let mut incoming: &[(usize, Content)] = &[];
        loop {
            match content {
                Content::Phi(phi) if !std::mem::replace(&mut seen[*phi], true) => work.push(*phi),
                content => found(access.slot, content),
            }
            while incoming.is_empty() {
                let Some(phi) = work.pop() else { break };
                incoming = &phis[phi].incoming;
            }
            let Some(((_, next), rest)) = incoming.split_first() else { break };
            (content, incoming) = (next, rest);
        }
    }
}
