//! What runs only where a run is about to fail: no derivative comes out of it.

use std::ops::Range;

use bbcode::{BBCode, Ids, InstId};
use ircode::{Names, Stmt, View};

/// A φ of the first block that takes something from outside of the function, which is undefined when it runs.
pub(crate) fn phi_from_outside(bb: &BBCode) -> Option<InstId> {
    let outside = Ids::virtual_block();
    let takes = |stmt: &Stmt<Ids>| {
        let entries = stmt.as_phi().map(|phi| phi.entries.as_slice()).unwrap_or_default();
        entries.iter().any(|entry| entry.edge == outside && entry.value.is_some())
    };
    bb.insts(bb.entry()?).find(|(_, inst)| takes(&inst.stmt)).map(|(id, _)| id)
}

/// The indices of the statements in blocks from which no way leads to a return.
pub(crate) fn failing_statements<N: Names>(view: &View<'_, N>) -> Vec<Range<usize>> {
    let returns = |block: &usize| {
        let statements = view.blocks.get(*block).map(|block| view.block_statements(block)).unwrap_or_default();
        matches!(statements.last().map(|last| last.stmt), Some(Stmt::Return(ret)) if ret.value.is_some())
    };
    let reaches = view.graph().reaching((0..view.blocks.len()).filter(returns));
    view.blocks.iter().zip(reaches).filter(|(_, reaches)| !reaches).map(|(block, _)| block.statements.clone()).collect()
}
