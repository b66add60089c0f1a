//! A random control-flow graph, with how each block ends.

use arbitrary::{Result, Unstructured};
use ircode::graph::{DomTree, FlowGraph};
use ircode::{BasicBlock, BlockNumber, Cfg, JuliaVersion};

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    Goto(BlockNumber),
    GotoIfNot(BlockNumber),
    Return,
    Unreachable,
    Enter {
        catch: Option<BlockNumber>,
        scope: bool,
    },
    Leave,
    /// A call that never returns, without a terminator behind it.
    Never,
    Fallthrough,
}

impl Ending {
    fn falls_through(self) -> bool {
        matches!(self, Ending::GotoIfNot(_) | Ending::Enter { .. } | Ending::Leave | Ending::Fallthrough)
    }

    fn target(self) -> Option<BlockNumber> {
        match self {
            Ending::Goto(target) | Ending::GotoIfNot(target) => Some(target),
            Ending::Enter { catch, .. } => catch,
            _ => None,
        }
    }

    /// Whether a statement stands for it at the end of the block.
    pub(super) fn is_statement(self) -> bool {
        self != Ending::Fallthrough
    }
}

/// Blocks without statements.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) endings: Vec<Ending>,
    /// Predecessors and successors, to which ranges are to be added.
    pub(super) cfg: Cfg,
    pub(super) domtree: DomTree,
}

impl Shape {
    pub(super) fn random(u: &mut Unstructured<'_>, julia: Option<JuliaVersion>) -> Result<Shape> {
        let count = u.int_in_range(1..=9u32)?;
        // Julia's compiler keeps the entry free of edges from within.
        let first_target = if count == 1 || u.ratio(1, 16)? { 1 } else { 2 };
        let scopes = julia.is_none_or(|julia| julia >= JuliaVersion::new(1, 11));
        let mut endings = Vec::new();
        for block in 1..=count {
            endings.push(ending(u, block, count, first_target, scopes)?);
        }
        let mut blocks = vec![BasicBlock::default(); count as usize];
        for (block, ending) in (1..).map(BlockNumber).zip(&endings) {
            let next = ending.falls_through().then_some(BlockNumber(block.0 + 1));
            for succ in ending.target().into_iter().chain(next) {
                connect(&mut blocks, block, succ);
            }
        }
        for ending in &endings {
            if let Ending::Enter { catch: Some(catch), .. } = ending
                && let Some(catch) = catch.index().and_then(|catch| blocks.get_mut(catch))
                && !catch.preds.contains(&BlockNumber::VIRTUAL)
            {
                catch.preds.push(BlockNumber::VIRTUAL);
            }
        }
        if julia.is_some_and(|julia| julia >= JuliaVersion::new(1, 12))
            && let Some(entry) = blocks.first_mut()
        {
            entry.preds.insert(0, BlockNumber::VIRTUAL);
        }
        let domtree = graph(&blocks).dominators();
        // What is not reached may have edges that nothing implies, as long as they do not reach it.
        for block in (1..=count).map(BlockNumber) {
            let unreachable = block.index().is_some_and(|index| !domtree.is_reachable(index));
            if unreachable && u.ratio(1, 4)? {
                match u.ratio(1, 2)? {
                    true => connect(&mut blocks, block, BlockNumber(u.int_in_range(1..=count)?)),
                    false => disconnect(&mut blocks, block),
                }
            }
        }
        let domtree = graph(&blocks).dominators();
        Ok(Shape { endings, cfg: Cfg { blocks }, domtree })
    }

    /// The predecessors of a block, each once, the virtual one left out unless it is the entry.
    pub(super) fn preds(&self, block: usize) -> Vec<BlockNumber> {
        let mut preds = self.cfg.blocks.get(block).map(|block| block.preds.clone()).unwrap_or_default();
        preds.retain(|&pred| pred != BlockNumber::VIRTUAL || block == 0);
        preds.sort_unstable();
        preds.dedup();
        preds
    }
}

fn ending(u: &mut Unstructured<'_>, block: u32, count: u32, first_target: u32, scopes: bool) -> Result<Ending> {
    let next = block + 1;
    // One that is not the next, where there is one.
    let aside = |u: &mut Unstructured<'_>| -> Result<Option<BlockNumber>> {
        let target = u.int_in_range(first_target..=count)?;
        Ok((target != next).then_some(BlockNumber(target)))
    };
    let kind = u.int_in_range(0..=if block == count { 7 } else { 23 })?;
    Ok(match kind {
        0 | 1 | 8..=10 => Ending::Goto(BlockNumber(u.int_in_range(first_target.min(count)..=count)?)),
        2..=4 => Ending::Return,
        5 | 6 => Ending::Unreachable,
        7 => Ending::Never,
        11..=16 => aside(u)?.map_or(Ending::Fallthrough, Ending::GotoIfNot),
        17 | 18 if next < count => {
            let scope = scopes && u.ratio(1, 4)?;
            let catch =
                if scope && u.ratio(1, 2)? { None } else { Some(BlockNumber(u.int_in_range(next + 1..=count)?)) };
            Ending::Enter { catch, scope }
        }
        19 | 20 => Ending::Leave,
        _ => Ending::Fallthrough,
    })
}

fn connect(blocks: &mut [BasicBlock], from: BlockNumber, to: BlockNumber) {
    if let Some(block) = from.index().and_then(|from| blocks.get_mut(from)) {
        block.succs.push(to);
    }
    if let Some(block) = to.index().and_then(|to| blocks.get_mut(to)) {
        block.preds.push(from);
    }
}

/// Removes the last edge out of a block.
fn disconnect(blocks: &mut [BasicBlock], from: BlockNumber) {
    let to = from.index().and_then(|from| blocks.get_mut(from)?.succs.pop());
    if let Some(block) = to.and_then(BlockNumber::index).and_then(|to| blocks.get_mut(to))
        && let Some(at) = block.preds.iter().rposition(|&pred| pred == from)
    {
        block.preds.remove(at);
    }
}

fn graph(blocks: &[BasicBlock]) -> FlowGraph {
    let edges = blocks
        .iter()
        .enumerate()
        .flat_map(|(from, block)| block.succs.iter().filter_map(move |to| Some((from, to.index()?))));
    FlowGraph::new(blocks.len(), edges)
}
