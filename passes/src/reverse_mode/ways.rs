//! Which blocks run backwards, and how the pullback finds by which edge control came to each.

use bbcode::{BBCode, BlockGraph};
use hashbrown::{HashMap, HashSet};
use ircode::Stmt;
use ircode::graph::LoopForest;

use super::Carrier;
use super::conditions::{Meeting, several_predecessors};
use super::counted::{CountedLoop, counted_loops};

/// Which ways control takes through a function, and what says on the way back which it was.
pub(super) struct Ways {
    /// Blocks from which a return is reached, by number.
    pub(super) relevant: Vec<bool>,
    /// The blocks that return, by number.
    pub(super) returns: Vec<usize>,
    /// Whether the block records that control left it, by number.
    pub(super) records: Vec<bool>,
    /// The loops that save a count.
    pub(super) counted: Vec<CountedLoop>,
    counted_by_header: HashMap<usize, usize>,
    /// How by number of the block is found by which edge control came, where that is not done by counting or by a stack
    /// of blocks.
    pub(super) meetings: Vec<Option<Meeting>>,
}

impl Ways {
    /// Those through a function. `conditions` says that a block may [save](Meeting::Saved) by which edge control came
    /// to it.
    pub(super) fn new(
        primal: &BBCode,
        graph: &BlockGraph,
        loops: &LoopForest,
        carrier: Carrier,
        conditions: bool,
    ) -> Self {
        let count = graph.order().len();
        let returned = |number: &usize| {
            let terminator = graph.block(*number).and_then(|block| primal.terminator(block));
            matches!(terminator.map(|(_, inst)| &inst.stmt), Some(Stmt::Return(ret)) if ret.value.is_some())
        };
        let returns: Vec<usize> = (0..count).filter(returned).collect();
        let relevant = graph.graph().reaching(returns.iter().copied());
        let counted = match carrier {
            Carrier::Stacks => counted_loops(graph, loops, &relevant),
            Carrier::LinearMaps => Vec::new(),
        };
        let counts: HashSet<usize> = counted.iter().map(|counted| counted.header).collect();
        // Into the entry control comes from outside, too, so that there a stack of blocks is needed.
        let can_choose = carrier == Carrier::Stacks && conditions && graph.graph().predecessors(0).len() == 0;
        let meetings = (0..count)
            .map(|block| can_choose && !counts.contains(&block) && several_predecessors(graph, block))
            .map(|chooses| chooses.then_some(Meeting::Saved))
            .collect();
        let comes_from_one = |next: usize| next != 0 && graph.graph().predecessors(next).len() == 1;
        let known = |block: usize| {
            let mut successors = graph.graph().successors(block);
            successors.all(|next| counts.contains(&next) || can_choose || comes_from_one(next))
        };
        let unique = graph.unique_predecessors(primal);
        let records = graph.order().iter().enumerate().map(|(number, &block)| {
            let goes_on = graph.successors(block).next().is_some();
            let is_only_one =
                unique.is_unique_predecessor(block) && graph.graph().successors(number).all(|next| next != 0);
            goes_on && !is_only_one && !known(number)
        });
        let records = records.collect();
        let counted_by_header = counted.iter().enumerate().map(|(index, counted)| (counted.header, index)).collect();
        Ways { relevant, returns, records, counted, counted_by_header, meetings }
    }

    /// The relevant blocks, in layout order.
    pub(super) fn relevant_blocks(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.relevant.len()).filter(|&number| self.relevant[number])
    }

    /// The counted loop of which the block is the header.
    pub(super) fn counted_at(&self, number: usize) -> Option<usize> {
        self.counted_by_header.get(&number).copied()
    }

    /// How it is found by which edge control came to a block, where that is not done by counting or by a stack of
    /// blocks.
    pub(super) fn meeting(&self, number: usize) -> Option<&Meeting> {
        self.meetings.get(number)?.as_ref()
    }

    /// Whether the reverse of a block has to look at the stack of blocks for where control came from. `predecessors`
    /// are those of the block, each once.
    pub(super) fn pops_block_stack(&self, number: usize, predecessors: &[usize]) -> bool {
        if self.counted_at(number).is_some() || self.meeting(number).is_some() {
            return false;
        }
        match predecessors {
            [] => false,
            [pred] if number != 0 => self.records[*pred],
            _ => true,
        }
    }
}
