//! Removes blocks that the entry does not reach.

use bbcode::{BBCode, OddEdges};
use hashbrown::HashSet;
use ircode::Stmt;

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "unreachable-code";

/// Removes every block that the entry does not reach, and what the φs of the others take from them. True if there was
/// one.
///
/// A φ that is left with one edge stays a φ.
pub fn run(bb: &mut BBCode, _: &Context<'_>) -> PassResult {
    Ok(remove_unreachable_blocks(bb))
}

/// As [`run`], for other passes.
pub fn remove_unreachable_blocks(bb: &mut BBCode) -> bool {
    let graph = bb.cfg();
    let reachable = graph.reachable();
    let order = graph.order();
    let dead: Vec<_> = order.iter().zip(&reachable).filter(|(_, live)| !**live).map(|(&block, _)| block).collect();
    if dead.is_empty() {
        return false;
    }
    let gone: HashSet<_> = dead.iter().copied().collect();
    let live: Vec<_> = order.iter().copied().filter(|block| !gone.contains(block)).collect();
    for &block in &dead {
        // The block is there: it was found in the layout.
        let _ = bb.remove_block(block);
    }
    for block in live {
        let phis: Vec<_> = bb.phi_nodes(block).map(|(id, _)| id).collect();
        for id in phis {
            if let Some(Stmt::Phi(phi)) = bb.inst_mut(id).map(|inst| &mut inst.stmt) {
                phi.entries.retain(|entry| !gone.contains(&entry.edge));
            }
        }
        let odd = bb.block(block).and_then(|block| block.odd_edges()).filter(|odd| names_any(odd, &gone)).cloned();
        if let Some(mut odd) = odd {
            for list in [&mut odd.extra_preds, &mut odd.extra_succs, &mut odd.missing_succs] {
                list.retain(|block| !gone.contains(block));
            }
            let _ = bb.set_odd_edges(block, odd);
        }
    }
    true
}

fn names_any(odd: &OddEdges, gone: &HashSet<bbcode::BlockId>) -> bool {
    odd.extra_preds.iter().chain(&odd.extra_succs).chain(&odd.missing_succs).any(|block| gone.contains(block))
}
