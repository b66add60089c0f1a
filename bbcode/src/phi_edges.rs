//! Keeping φs in agreement with edges.

use ircode::{Body, PhiEntries, PhiEntry, Stmt};

use crate::code::{BBCode, BBlock};
use crate::ids::{BlockId, InstId};

/// An edge whose φ entries go to other edges, see [`BBCode::replace_phi_edges`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhiEdgeChange {
    /// The block whose φs change.
    pub block: BlockId,
    /// The edge that they name.
    pub old: BlockId,
    /// The edges that they are to name in its place; none if the edge is gone.
    pub new: Vec<BlockId>,
}

impl BBCode {
    /// Gives φs entries for the edges that they do not name but have a value on, see
    /// [`UnnamedPhiEdge`](ircode::UnnamedPhiEdge). True if there was one. The meaning is the same, and it stays the
    /// same when edges are removed or get blocks of their own, which can change what dominates what. Takes time linear
    /// in the function.
    pub fn name_phi_edges(&mut self) -> bool {
        let graph = self.cfg();
        let incomplete = |block: &BlockId| {
            let preds = graph.predecessors(*block).count();
            self.phi_nodes(*block).any(|(_, inst)| inst.stmt.as_phi().is_some_and(|phi| phi.entries.len() < preds))
        };
        if !graph.order().iter().any(incomplete) {
            return false;
        }
        let edges = self.view().unnamed_phi_edges();
        for edge in &edges {
            if let Some(Stmt::Phi(phi)) = self.stmt_mut(edge.phi) {
                phi.entries.push(PhiEntry { edge: edge.pred, value: Some(edge.value.clone()) });
            }
        }
        !edges.is_empty()
    }

    /// Lets φs take from other edges what they took from one: from the blocks of a lowered switch, from the block that
    /// was put on an edge, from none where the edge is gone. New entries stand where the old one stood. An edge named
    /// by two changes becomes the edges of both. However many edges of a block change, it takes time linear in its φs,
    /// but for a logarithm.
    ///
    /// ```
    /// use bbcode::{BBCode, PhiEdgeChange};
    /// use ircode::{Argument, NewInstruction, Stmt, Type};
    ///
    /// let mut bb = BBCode::new(vec![Type::Untyped, Type::INT64]);
    /// let [old, new, block] = [(); 3].map(|()| bb.push_block());
    /// let phi = Stmt::phi([(old, Some(Argument(2).into()))]);
    /// let id = bb.push(block, NewInstruction::new(phi, Type::INT64))?;
    /// bb.replace_phi_edges([PhiEdgeChange { block, old, new: vec![new] }]);
    /// assert_eq!(bb.stmt(id), Some(&Stmt::phi([(new, Some(Argument(2).into()))])));
    /// # Ok::<(), bbcode::EditError>(())
    /// ```
    pub fn replace_phi_edges(&mut self, changes: impl IntoIterator<Item = PhiEdgeChange>) {
        let mut changes: Vec<PhiEdgeChange> = changes.into_iter().collect();
        // Stable, so that new edges come in the order of the changes.
        changes.sort_by_key(|change| (change.block, change.old));
        for changes in changes.chunk_by(|a, b| a.block == b.block) {
            let Some(&PhiEdgeChange { block, .. }) = changes.first() else { continue };
            let changes_of = |edge: BlockId| {
                let start = changes.partition_point(|change| change.old < edge);
                let end = changes.partition_point(|change| change.old <= edge);
                changes.get(start..end).unwrap_or_default()
            };
            let phis: Vec<InstId> = self.phi_nodes(block).map(|(id, _)| id).collect();
            for phi in phis {
                let Some(Stmt::Phi(phi)) = self.stmt_mut(phi) else { continue };
                let mut entries = PhiEntries::with_capacity(phi.entries.len());
                for entry in std::mem::take(&mut phi.entries) {
                    match changes_of(entry.edge) {
                        [] => entries.push(entry),
                        changes => {
                            let new = changes.iter().flat_map(|change| &change.new);
                            entries.extend(new.map(|&edge| PhiEntry { edge, value: entry.value.clone() }));
                        }
                    }
                }
                phi.entries = entries;
            }
            if let Some(odd) = self.block(block).and_then(BBlock::odd_edges)
                && odd.extra_preds.iter().any(|pred| !changes_of(*pred).is_empty())
            {
                let mut odd = odd.clone();
                odd.extra_preds = std::mem::take(&mut odd.extra_preds)
                    .into_iter()
                    .flat_map(|pred| match changes_of(pred) {
                        [] => vec![pred],
                        changes => changes.iter().flat_map(|change| change.new.iter().copied()).collect(),
                    })
                    .collect();
                // The block is there.
                let _ = self.set_odd_edges(block, odd);
            }
        }
    }
}
