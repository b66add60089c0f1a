//! Graphs for tests.

use super::FlowGraph;

/// A graph of random edges, the same for the same seed on every run (xorshift, Marsaglia 2003).
pub(super) fn random_graph(seed: u64, nodes: usize, edges: usize) -> FlowGraph {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % bound
    };
    let edges: Vec<_> = (0..edges).map(|_| (next(nodes), next(nodes))).collect();
    FlowGraph::new(nodes, edges)
}
