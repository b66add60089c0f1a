//! Dominance frontiers.

use super::{DomTree, FlowGraph};

/// The dominance frontier of each node: the nodes that it does not strictly dominate but of which it dominates a
/// predecessor.
///
/// Computed from the nodes where ways meet, each of which is in the frontiers of what lies on the tree between a
/// predecessor and its immediate dominator (Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*, 2001).
/// Takes time linear in the graph and the result; the result itself grows with the depth of nested loops.
#[derive(Clone, Debug)]
pub struct Frontiers(Vec<Vec<u32>>);

impl Frontiers {
    /// The frontiers of the nodes that the entry of `graph` reaches, whose dominator tree is `tree`.
    pub fn new(graph: &FlowGraph, tree: &DomTree) -> Self {
        let mut frontiers: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
        for node in 0..graph.len() {
            if !tree.is_reachable(node) {
                continue;
            }
            let idom = tree.immediate_dominator(node);
            for pred in graph.predecessors(node) {
                let mut runner = tree.is_reachable(pred).then_some(pred);
                while runner != idom
                    && let Some(at) = runner
                {
                    // What is further up has the node already, too.
                    if frontiers[at].last() == Some(&(node as u32)) {
                        break;
                    }
                    frontiers[at].push(node as u32);
                    runner = tree.immediate_dominator(at);
                }
            }
        }
        Frontiers(frontiers)
    }

    /// The frontier of a node, in ascending order. Empty for what is not reached.
    pub fn of(&self, node: usize) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.0.get(node).map(Vec::as_slice).unwrap_or_default().iter().map(|&node| node as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::random_graph;

    #[test]
    fn frontiers_are_what_the_definition_says() {
        for seed in 0..300 {
            let graph = random_graph(seed, 9, 16);
            let tree = graph.dominators();
            let frontiers = Frontiers::new(&graph, &tree);
            for a in 0..graph.len() {
                let expected: Vec<usize> = (0..graph.len())
                    .filter(|&b| tree.is_reachable(a) && tree.is_reachable(b))
                    .filter(|&b| graph.predecessors(b).any(|pred| tree.dominates(a, pred)))
                    .filter(|&b| a == b || !tree.dominates(a, b))
                    .collect();
                assert_eq!(frontiers.of(a).collect::<Vec<_>>(), expected, "seed {seed}, node {a}");
            }
        }
    }
}
