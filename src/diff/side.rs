//! One of two functions that are compared: numbered densely, without what only its layout asks for.

use std::ops::Range;

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Instruction, Stmt};
use slotmap::SecondaryMap;

/// A function, numbered densely.
///
/// Where control goes on at the end of a block is the same whether a goto says so or the layout: a final goto is no
/// statement here, unless something that is not reached names it as if it had a value. A block with nothing but a goto,
/// which only the fallthrough of one block leads to, is what laying out puts behind a goto-if-not: it counts as a part
/// of that block.
pub(super) struct Side<'a> {
    pub(super) bb: &'a BBCode,
    /// The blocks in layout order.
    pub(super) blocks: Vec<SideBlock>,
    /// The statements in layout order, without final gotos.
    pub(super) statements: Vec<(InstId, &'a Instruction<Ids>)>,
    /// The block of each statement.
    pub(super) home: Vec<usize>,
    values: SecondaryMap<InstId, u32>,
    numbers: SecondaryMap<BlockId, u32>,
}

/// A block of a [`Side`].
pub(super) struct SideBlock {
    pub(super) id: BlockId,
    /// The φs at its start, then the other statements.
    pub(super) phis: Range<usize>,
    pub(super) body: Range<usize>,
    /// The goto at its end.
    pub(super) goto: Option<InstId>,
    /// Where control goes that its last statement does not send elsewhere.
    pub(super) exit: Option<BlockId>,
    /// The successors, by number: targets in order, then the exit, then edges that nothing implies.
    pub(super) succs: Vec<usize>,
}

impl<'a> Side<'a> {
    pub(super) fn new(bb: &'a BBCode) -> Self {
        let graph = bb.cfg();
        let named = named_gotos(bb);
        let mut parts: SecondaryMap<BlockId, BlockId> = SecondaryMap::new();
        let mut exits: SecondaryMap<BlockId, BlockId> = SecondaryMap::new();
        for block in bb.blocks() {
            let mut exit = exit(bb, &named, block);
            if let Some((_, last)) = bb.terminator(block)
                && last.stmt.falls_through()
            {
                while let Some((part, on)) =
                    exit.and_then(|exit| Some((exit, passes_on(bb, &graph, &named, &last.stmt, exit)?)))
                {
                    parts.insert(part, block);
                    exit = Some(on);
                }
            }
            if let Some(exit) = exit {
                exits.insert(block, exit);
            }
        }
        let mut side = Side {
            bb,
            blocks: Vec::new(),
            statements: Vec::with_capacity(bb.inst_count()),
            home: Vec::with_capacity(bb.inst_count()),
            values: SecondaryMap::new(),
            numbers: SecondaryMap::new(),
        };
        for block in bb.blocks().filter(|block| !parts.contains_key(*block)) {
            side.add_block(block, exits.get(block).copied(), &named);
        }
        for (part, block) in &parts {
            if let Some(&number) = side.numbers.get(*block) {
                side.numbers.insert(part, number);
            }
        }
        for index in 0..side.blocks.len() {
            side.blocks[index].succs = side.successors(&side.blocks[index]);
        }
        side
    }

    fn add_block(&mut self, block: BlockId, exit: Option<BlockId>, named: &HashSet<InstId>) {
        let bb = self.bb;
        let number = self.blocks.len();
        let is_goto = |id: &InstId, last: &Instruction<Ids>| matches!(last.stmt, Stmt::Goto(_)) && !named.contains(id);
        let goto = bb.terminator(block).filter(|(id, last)| is_goto(id, last)).map(|(id, _)| id);
        let start = self.statements.len();
        self.statements.extend(bb.phi_nodes(block));
        let middle = self.statements.len();
        let leading = middle - start;
        let mut phis = 0;
        for (id, inst) in bb.insts(block) {
            if phis < leading && matches!(inst.stmt, Stmt::Phi(_)) {
                phis += 1;
            } else if Some(id) != goto {
                self.statements.push((id, inst));
            }
        }
        let end = self.statements.len();
        for index in start..end {
            self.values.insert(self.statements[index].0, index as u32);
        }
        self.home.resize(end, number);
        self.numbers.insert(block, number as u32);
        self.blocks.push(SideBlock {
            id: block,
            phis: start..middle,
            body: middle..end,
            goto,
            exit,
            succs: Vec::new(),
        });
    }

    fn successors(&self, block: &SideBlock) -> Vec<usize> {
        let mut succs = Vec::new();
        if let Some((_, last)) = self.bb.terminator(block.id)
            && block.goto.is_none()
        {
            last.stmt.for_each_target(|target| succs.push(target));
        }
        succs.extend(block.exit);
        if let Some(odd) = self.bb.block(block.id).and_then(|block| block.odd_edges()) {
            succs.extend(&odd.extra_succs);
        }
        succs.into_iter().filter_map(|succ| self.number(succ)).collect()
    }

    /// The statement whose value this is; `None` for what does not exist, and for gotos.
    pub(super) fn value(&self, value: InstId) -> Option<usize> {
        self.values.get(value).map(|&index| index as usize)
    }

    /// The number of a block, or of the block whose part it is.
    pub(super) fn number(&self, block: BlockId) -> Option<usize> {
        self.numbers.get(block).map(|&number| number as usize)
    }

    /// A statement.
    pub(super) fn stmt(&self, index: usize) -> &'a Stmt<Ids> {
        &self.statements[index].1.stmt
    }
}

/// The gotos that are named as if they had a value, which only code that is not reached may do.
fn named_gotos(bb: &BBCode) -> HashSet<InstId> {
    let mut named = HashSet::new();
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_use(|value| {
            if matches!(bb.stmt(value), Some(Stmt::Goto(_))) {
                named.insert(value);
            }
        });
    }
    named
}

/// Where control goes at the end of a block that its last statement does not send elsewhere.
fn exit(bb: &BBCode, named: &HashSet<InstId>, block: BlockId) -> Option<BlockId> {
    let last = bb.last_inst(block);
    match last.and_then(|last| bb.stmt(last)) {
        Some(Stmt::Goto(goto)) => Some(goto.label).filter(|_| last.is_none_or(|last| !named.contains(&last))),
        Some(last) if !last.falls_through() => None,
        _ => bb.next(block),
    }
}

/// Where a block goes on to, if it does nothing but that for the block that ends in `last`.
fn passes_on(
    bb: &BBCode,
    graph: &BlockGraph,
    named: &HashSet<InstId>,
    last: &Stmt<Ids>,
    block: BlockId,
) -> Option<BlockId> {
    let only_goto = match bb.first_inst(block) {
        None => true,
        Some(first) => bb.last_inst(block) == Some(first) && matches!(bb.stmt(first), Some(Stmt::Goto(_))),
    };
    let on = exit(bb, named, block).filter(|on| *on != block)?;
    // φs tell the two ways apart where the block before also goes there directly.
    let mut direct = false;
    last.for_each_target(|target| direct |= target == on);
    let alone = graph.predecessors(block).take(2).count() == 1;
    let plain = bb.block(block)?.odd_edges().is_none() && Some(block) != bb.entry();
    (only_goto && alone && plain && !direct).then_some(on)
}
