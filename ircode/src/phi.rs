//! What a φ means on an edge that it does not name.

use crate::names::Names;
use crate::operand::Operand;
use crate::stmt::Stmt;
use crate::view::View;

/// An edge that a φ does not name, and the entry whose value it takes there nevertheless.
///
/// Julia leaves out edges on which the value is never used, and what the φ gives there is undefined. But code in which
/// a block was put on an edge, without the φs being told, runs in Julia as if the φ named the new block too: undefined
/// may be anything, and the value of the old edge is what LLVM makes of it. (Mooncake's documentation has such code.)
/// So bbkit defines it: the φ takes the value of the edge from the nearest dominator of the predecessor that it does name.
/// If it names none, the value is undefined, and using it is an error.
#[derive(Clone, PartialEq, Debug)]
pub struct UnnamedPhiEdge<N: Names> {
    /// The φ.
    pub phi: N::Value,
    /// The predecessor that it does not name.
    pub pred: N::Block,
    /// What it takes from there.
    pub value: Operand<N>,
}

impl<N: Names> View<'_, N> {
    /// The edges that φs of reachable blocks do not name but have a value on, in layout order.
    pub fn unnamed_phi_edges(&self) -> Vec<UnnamedPhiEdge<N>> {
        let mut found = Vec::new();
        let mut domtree = None;
        for block in &self.blocks {
            let mut preds: Vec<N::Block> =
                block.preds.iter().copied().filter(|pred| *pred != N::virtual_block()).collect();
            preds.sort_unstable();
            preds.dedup();
            for statement in self.block_statements(block) {
                let Stmt::Phi(phi) = statement.stmt else {
                    if statement.stmt.may_stand_among_phis() {
                        continue;
                    }
                    break;
                };
                let named = phi.entries.iter().filter(|entry| preds.binary_search(&entry.edge).is_ok()).count();
                if named >= preds.len() {
                    continue;
                }
                let domtree = domtree.get_or_insert_with(|| self.graph().dominators());
                for &pred in preds.iter().filter(|pred| phi.entries.iter().all(|entry| entry.edge != **pred)) {
                    let Some(from) = self.block_index(pred).filter(|&from| domtree.is_reachable(from)) else {
                        continue;
                    };
                    let dominating = phi.entries.iter().filter_map(|entry| {
                        let edge = self.block_index(entry.edge).filter(|&edge| domtree.dominates(edge, from))?;
                        Some((domtree.depth(edge), entry.value.as_ref()?))
                    });
                    if let Some((_, value)) = dominating.max_by_key(|(depth, _)| *depth) {
                        found.push(UnnamedPhiEdge { phi: statement.name, pred, value: value.clone() });
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::text::parse_function;
    use crate::view::Body;

    #[test]
    fn a_block_put_on_an_edge_takes_its_value() {
        let ir = parse_function(
            "
1 ─      nothing::Nothing
2 ┄ %2 = φ (#1 => 1, #3 => %4)::Int64
└──      goto #5 if not _2
3 ─ %4 = Base.add_int(%2, 1)::Int64
└──      goto #2 if not _3
4 ─      goto #2
5 ─      return %2
",
        )
        .unwrap()
        .body;
        let view = ir.view();
        let edges = view.unnamed_phi_edges();
        assert_eq!(edges.len(), 1);
        assert_eq!(format!("{} {} {:?}", edges[0].phi, edges[0].pred, edges[0].value), "%2 #4 Value(%4)");
    }

    #[test]
    fn an_edge_on_which_the_value_is_not_used_stays_undefined() {
        let ir = parse_function(
            "
1 ─      goto #3 if not _2
2 ─      goto #4
3 ─      goto #4
4 ┄ %4 = φ (#3 => 1)::Int64
└──      return 0
",
        )
        .unwrap()
        .body;
        assert_eq!(ir.view().unnamed_phi_edges(), []);
    }
}
