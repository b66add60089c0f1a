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
/// So bbkit defines it: the φ takes the value of the edge from the nearest dominator of the predecessor that it does
/// name. If it names none, the value is undefined, and using it is an error.
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
        let mut dominance = None;
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
                let (domtree, positions) = dominance.get_or_insert_with(|| {
                    let domtree = self.graph().dominators();
                    let mut positions = vec![0; self.blocks.len()];
                    for (position, block) in domtree.preorder().enumerate() {
                        positions[block] = position;
                    }
                    (domtree, positions)
                });
                let mut named: Vec<N::Block> = phi.entries.iter().map(|entry| entry.edge).collect();
                named.sort_unstable();
                let unnamed = preds.iter().filter(|pred| named.binary_search(pred).is_err()).map(|&pred| (pred, None));
                let entries = phi.entries.iter().filter_map(|entry| Some((entry.edge, Some(entry.value.as_ref()?))));
                let mut places: Vec<_> = entries
                    .chain(unnamed)
                    .filter_map(|(name, value)| Some((self.block_index(name)?, name, value)))
                    .filter(|&(block, ..)| domtree.is_reachable(block))
                    .collect();
                // In preorder of the dominator tree, what dominates a place is among the last that came before it.
                places.sort_by_key(|&(block, ..)| positions[block]);
                let mut around: Vec<(usize, &Operand<N>)> = Vec::new();
                let first = found.len();
                for (block, name, value) in places {
                    while around.pop_if(|(outer, _)| !domtree.dominates(*outer, block)).is_some() {}
                    match (value, around.last()) {
                        (Some(value), _) => around.push((block, value)),
                        (None, Some(&(_, value))) => {
                            found.push(UnnamedPhiEdge { phi: statement.name, pred: name, value: value.clone() });
                        }
                        (None, None) => {}
                    }
                }
                found[first..].sort_by_key(|edge| edge.pred);
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
