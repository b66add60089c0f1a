//! φs that name all edges, for code that follows edges or takes them away: what stands for an edge without a name
//! depends on the others.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ircode::{BlockNumber, IRCode, PhiEntry, Positions, Stmt};

use crate::phi_edges::PhiEdges;

/// The body with an entry for each edge in every φ, with an undefined value where it has none. Statements and blocks
/// keep their numbers.
pub(crate) fn with_named_edges(ir: &IRCode) -> Cow<'_, IRCode> {
    let mut missing: Vec<(usize, BlockNumber)> = Vec::new();
    for block in &ir.cfg.blocks {
        for index in block.stmts.clone() {
            let Some(Stmt::Phi(phi)) = ir.stmts.stmts().get(index) else { continue };
            if phi.entries.len() == block.preds.len() {
                continue;
            }
            let named: BTreeSet<BlockNumber> = phi.entries.iter().map(|entry| entry.edge).collect();
            let unnamed = block.preds.iter().filter(|pred| **pred != BlockNumber::VIRTUAL && !named.contains(*pred));
            let unnamed: BTreeSet<BlockNumber> = unnamed.copied().collect();
            missing.extend(unnamed.into_iter().map(|edge| (index, edge)));
        }
    }
    if missing.is_empty() {
        return Cow::Borrowed(ir);
    }
    let edges = PhiEdges::of(ir);
    let mut named = ir.clone();
    for (index, edge) in missing {
        let Some(Stmt::Phi(phi)) = ir.stmts.stmts().get(index) else { continue };
        let entry: PhiEntry<Positions> = PhiEntry { edge, value: edges.taken(index, phi, edge).cloned() };
        if let Some(Stmt::Phi(phi)) = named.stmts.stmts_mut().get_mut(index) {
            phi.entries.push(entry);
        }
    }
    Cow::Owned(named)
}
