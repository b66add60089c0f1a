//! What runs only where a run is about to fail: no derivative comes out of it.

use std::ops::Range;

use ircode::{Names, Stmt, View};

/// The indices of the statements in blocks from which no way leads to a return.
pub(crate) fn failing_statements<N: Names>(view: &View<'_, N>) -> Vec<Range<usize>> {
    let returns = |block: &usize| {
        let statements = view.blocks.get(*block).map(|block| view.block_statements(block)).unwrap_or_default();
        matches!(statements.last().map(|last| last.stmt), Some(Stmt::Return(ret)) if ret.value.is_some())
    };
    let reaches = view.graph().reaching((0..view.blocks.len()).filter(returns));
    view.blocks.iter().zip(reaches).filter(|(_, reaches)| !reaches).map(|(block, _)| block.statements.clone()).collect()
}
