//! The larger verbs: each is a change of several statements or blocks that keeps the code valid, or says why it cannot.

mod arguments;
mod blocks;
mod cursor;
mod edges;
mod inline;
mod joining;
mod motion;
mod outline;
mod region;

pub use arguments::{add_argument, remove_argument};
pub use cursor::Cursor;
pub use inline::Inlined;
pub use outline::Outlined;
pub use region::{ClonedRegion, CopiedInsts};

use ircode::Stmt;

use crate::code::{BBCode, BBlock};
use crate::ids::{BlockId, InstId};

impl BBCode {
    /// Calls `edit` with every φ of a block.
    pub(crate) fn for_each_phi_mut(
        &mut self,
        block: BlockId,
        mut edit: impl FnMut(InstId, &mut ircode::PhiNode<crate::Ids>),
    ) {
        let phis: Vec<InstId> = self.phi_nodes(block).map(|(id, _)| id).collect();
        for id in phis {
            if let Some(Stmt::Phi(phi)) = self.stmt_mut(id) {
                edit(id, phi);
            }
        }
    }

    /// Names the edges that φs leave out, before an edge changes: what a φ takes there depends on which blocks
    /// dominate. Takes time linear in the function, and none if that is known to be done.
    pub(crate) fn ensure_phis_named(&mut self) {
        if !self.store.phis_named {
            self.name_phi_edges();
            self.store.phis_named = true;
        }
    }

    /// Whether nothing can stand behind a statement in its block: it is a terminator, or the last and never returns.
    pub(crate) fn ends_block(&self, inst: InstId) -> bool {
        self.inst(inst).is_some_and(|found| {
            found.stmt.is_terminator() || found.ty == ircode::Type::Bottom && self.next_inst(inst).is_none()
        })
    }

    /// The statement behind which nothing can stand in a block, if it has one.
    pub(crate) fn end_of(&self, block: BlockId) -> Option<InstId> {
        self.last_inst(block).filter(|&last| self.ends_block(last))
    }

    /// Lets what came to `block` from `from` come from `to`: in its φs, and where `from` is named more often than it
    /// leads there.
    pub(crate) fn rename_incoming(&mut self, block: BlockId, from: BlockId, to: BlockId) {
        if let Some(odd) = self.block(block).and_then(BBlock::odd_edges)
            && odd.extra_preds.contains(&from)
        {
            let mut odd = odd.clone();
            odd.extra_preds.iter_mut().filter(|pred| **pred == from).for_each(|pred| *pred = to);
            // The block is there.
            let _ = self.set_odd_edges(block, odd);
        }
        self.for_each_phi_mut(block, |_, phi| {
            for entry in phi.entries.iter_mut().filter(|entry| entry.edge == from) {
                entry.edge = to;
            }
        });
    }

    /// Lets the terminator of a block, and the block's fallthrough, go to `to` where they went to `from`, and leaves the
    /// φs of both to the caller. Nothing happens if the block is not there or did not go to `from`.
    /// [`redirect_edge`](BBCode::redirect_edge) does the same with φs, and keeps code valid.
    pub fn retarget_unchecked(&mut self, block: BlockId, from: BlockId, to: BlockId) {
        if let Some((terminator, _)) = self.terminator(block)
            && let Some(inst) = self.inst_mut(terminator)
        {
            inst.stmt.for_each_target_mut(|target| {
                if *target == from {
                    *target = to;
                }
            });
        }
        if self.next(block) == Some(from) {
            // Both blocks exist: control goes from the one to the other.
            let _ = self.set_next(block, Some(to));
        }
    }

    /// The line of the last statement of a block, for what is inserted behind it; none if the block is empty or not
    /// there.
    pub fn last_line(&self, block: BlockId) -> ircode::LineInfo {
        self.last_inst(block).and_then(|last| self.inst(last)).map_or(ircode::LineInfo::NONE, |inst| inst.line)
    }
}
