//! Julia's control-flow graph: blocks as ranges of statements, with their edges.

use std::ops::Range;

use crate::names::{BlockNumber, Names, Positions};
use crate::stmt::Stmt;
use crate::wording::counted;

/// The control-flow graph that an [`IRCode`](crate::IRCode) carries.
///
/// Julia keeps an `index` of block starts beside the blocks; here it is left out, as it follows from the ranges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cfg {
    /// The blocks, in the order in which their statements stand.
    pub blocks: Vec<BasicBlock>,
}

/// A basic block: a range of statements, and the edges.
///
/// Two blocks are equal if their ranges are and their edges are the same multisets: Julia gives the order of edges no
/// meaning.
#[derive(Clone, Debug, Default)]
pub struct BasicBlock {
    /// Indices of the statements, counted from 0. May be empty.
    pub stmts: Range<usize>,
    /// The predecessors; [`BlockNumber::VIRTUAL`] is Julia's virtual one.
    pub preds: Vec<BlockNumber>,
    /// The successors.
    pub succs: Vec<BlockNumber>,
}

impl PartialEq for BasicBlock {
    fn eq(&self, other: &Self) -> bool {
        self.stmts == other.stmts
            && same_multiset(&self.preds, &other.preds)
            && same_multiset(&self.succs, &other.succs)
    }
}

impl Eq for BasicBlock {}

/// Prints as Julia does: `bb 1 (stmts 1:3) → bb 3, 2`, a line a block.
impl std::fmt::Display for Cfg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "CFG with {}:", counted(self.blocks.len(), "block"))?;
        for (i, block) in self.blocks.iter().enumerate() {
            write!(f, "  bb {} ", i + 1)?;
            match (block.stmts.len(), block.stmts.start + 1, block.stmts.end) {
                (1, only, _) => write!(f, "(stmt {only})")?,
                (_, first, last) => write!(f, "(stmts {first}:{last})")?,
            }
            for (i, succ) in block.succs.iter().enumerate() {
                write!(f, "{}{}", if i == 0 { " → bb " } else { ", " }, succ.0)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn same_multiset(a: &[BlockNumber], b: &[BlockNumber]) -> bool {
    if a == b {
        return true;
    }
    let sorted = |edges: &[BlockNumber]| {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        edges
    };
    a.len() == b.len() && sorted(a) == sorted(b)
}

/// The statement that ends a block of these: the last one, or an `enter` behind which there are only ϒs, or an
/// `unreachable` behind which there is only [what does nothing](Stmt::may_follow_unreachable). Julia up to 1.10 puts
/// those there that belong to the `try` region.
fn ending<N: Names>(stmts: &[Stmt<N>]) -> Option<&Stmt<N>> {
    if let Some(enter @ Stmt::Enter(_)) = stmts.iter().rev().find(|stmt| !matches!(stmt, Stmt::Upsilon(_))) {
        return Some(enter);
    }
    match stmts.iter().rev().find(|stmt| !stmt.may_follow_unreachable()) {
        Some(unreachable) if unreachable.is_unreachable() => Some(unreachable),
        _ => stmts.last(),
    }
}

impl Cfg {
    /// The block that holds the statement at this index, by binary search; `None` past the last statement.
    pub fn block_of(&self, index: usize) -> Option<BlockNumber> {
        let at = self.blocks.partition_point(|block| block.stmts.end <= index);
        let block = self.blocks.get(at)?;
        block.stmts.contains(&index).then(|| BlockNumber::from_index(at))
    }

    /// The graph of statements whose blocks are these ranges: edges follow from the terminators. Catch blocks get
    /// Julia's virtual predecessor. Targets that do not exist give no edge.
    pub fn from_ranges(stmts: &[Stmt<Positions>], ranges: &[Range<usize>]) -> Cfg {
        let mut blocks: Vec<BasicBlock> =
            ranges.iter().map(|range| BasicBlock { stmts: range.clone(), ..BasicBlock::default() }).collect();
        let mut edges: Vec<(usize, BlockNumber)> = Vec::new();
        let mut catch_blocks = Vec::new();
        for (from, range) in ranges.iter().enumerate() {
            let last = stmts.get(range.clone()).and_then(ending);
            let fallthrough = BlockNumber::from_index(from + 1);
            if let Some(last) = last {
                last.for_each_target(|target| edges.push((from, target)));
                if let Stmt::Enter(enter) = last {
                    catch_blocks.extend(enter.catch_dest);
                }
            }
            let already = edges.iter().rev().take_while(|edge| edge.0 == from).any(|edge| edge.1 == fallthrough);
            if last.is_none_or(Stmt::falls_through) && !already {
                edges.push((from, fallthrough));
            }
        }
        for (from, to) in edges {
            let Some(target) = to.index().and_then(|to| blocks.get_mut(to)) else { continue };
            target.preds.push(BlockNumber::from_index(from));
            if let Some(source) = blocks.get_mut(from) {
                source.succs.push(to);
            }
        }
        for catch in catch_blocks {
            if let Some(block) = catch.index().and_then(|catch| blocks.get_mut(catch))
                && !block.preds.contains(&BlockNumber::VIRTUAL)
            {
                block.preds.push(BlockNumber::VIRTUAL);
            }
        }
        Cfg { blocks }
    }
}
