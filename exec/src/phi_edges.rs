//! What φs take on each edge.

use std::collections::BTreeMap;

use ircode::{BlockNumber, Body, IRCode, Operand, PhiNode, Positions, SSAValue, Stmt, UnnamedPhiEdge};

/// What φs take on each edge.
#[derive(Debug)]
pub(crate) struct PhiEdges {
    /// What they take from edges that they do not name, in the order of the φs and then of the edges.
    unnamed: Vec<UnnamedPhiEdge<Positions>>,
    /// The entries of φs that name many edges, by φ and edge: going over all of them on each edge would take quadratic
    /// time.
    wide: BTreeMap<(usize, BlockNumber), usize>,
}

/// φs that name more edges than this are found in a table.
const WIDE: usize = 16;

impl PhiEdges {
    pub(crate) fn of(ir: &IRCode) -> PhiEdges {
        let mut wide = BTreeMap::new();
        for (index, stmt) in ir.stmts.stmts().iter().enumerate() {
            if let Stmt::Phi(phi) = stmt
                && phi.entries.len() > WIDE
            {
                for (place, entry) in phi.entries.iter().enumerate() {
                    wide.entry((index, entry.edge)).or_insert(place);
                }
            }
        }
        PhiEdges { unnamed: ir.view().unnamed_phi_edges(), wide }
    }

    /// What the φ at this index takes on an edge, if it has a value there.
    pub(crate) fn taken<'e>(
        &'e self,
        index: usize,
        phi: &'e PhiNode<Positions>,
        from: BlockNumber,
    ) -> Option<&'e Operand<Positions>> {
        let entry = match phi.entries.len() > WIDE {
            true => self.wide.get(&(index, from)).and_then(|&place| phi.entries.get(place)),
            false => phi.entries.iter().find(|entry| entry.edge == from),
        };
        if let Some(entry) = entry {
            return entry.value.as_ref();
        }
        let edge = (SSAValue::from_index(index), from);
        let found = self.unnamed.binary_search_by_key(&edge, |edge| (edge.phi, edge.pred));
        found.ok().and_then(|found| self.unnamed.get(found)).map(|edge| &edge.value)
    }
}
