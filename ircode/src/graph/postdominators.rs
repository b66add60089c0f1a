//! Post-dominators.

use super::{DomTree, FlowGraph};

/// The post-dominator tree of a flow graph: `a` post-dominates `b` if every path from `b` to the end goes through `a`.
///
/// The end is a node of its own behind all nodes without successors. What never gets there ends too: of each region
/// that is not left, the node that a depth-first search from the entry finishes first counts as leading to the end. It
/// is the dominator tree of the graph turned around.
#[derive(Clone, Debug)]
pub struct PostDomTree(DomTree);

/// The number of a node in the graph turned around, in which the end is node 0. Of no node the graph is that large.
fn turned(node: usize) -> usize {
    node.saturating_add(1)
}

impl PostDomTree {
    /// The post-dominators of a graph, unreachable nodes included.
    pub fn new(graph: &FlowGraph) -> Self {
        let len = graph.len();
        let mut ends: Vec<usize> = (0..len).filter(|&node| graph.successors(node).len() == 0).collect();
        let mut reaches_end = vec![false; len];
        let mut work = ends.clone();
        let mut candidates = graph.postorder().into_iter().chain(0..len);
        loop {
            while let Some(node) = work.pop() {
                if !std::mem::replace(&mut reaches_end[node], true) {
                    work.extend(graph.predecessors(node));
                }
            }
            match candidates.find(|&node| !reaches_end[node]) {
                Some(node) => {
                    ends.push(node);
                    work.push(node);
                }
                None => break,
            }
        }
        let to_end = ends.iter().map(|&node| (0, turned(node)));
        let edges = (0..len).flat_map(|node| graph.successors(node).map(move |to| (turned(to), turned(node))));
        PostDomTree(FlowGraph::new(len + 1, to_end.chain(edges)).dominators())
    }

    /// The immediate post-dominator; `None` if that is the end.
    pub fn immediate_post_dominator(&self, node: usize) -> Option<usize> {
        self.0.immediate_dominator(turned(node))?.checked_sub(1)
    }

    /// Whether `a` post-dominates `b`; every node post-dominates itself.
    pub fn post_dominates(&self, a: usize, b: usize) -> bool {
        self.0.dominates(turned(a), turned(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::random_graph;

    /// Whether `from` reaches a node without successors when `without` is taken out.
    fn gets_out(graph: &FlowGraph, from: usize, without: Option<usize>) -> bool {
        let mut seen = vec![false; graph.len()];
        let mut work: Vec<usize> = Some(from).into_iter().filter(|from| Some(*from) != without).collect();
        while let Some(node) = work.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if graph.successors(node).len() == 0 {
                return true;
            }
            work.extend(graph.successors(node).filter(|next| Some(*next) != without));
        }
        false
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        for seed in 0..300 {
            let graph = random_graph(seed, 9, 12);
            let tree = PostDomTree::new(&graph);
            for b in (0..graph.len()).filter(|&b| gets_out(&graph, b, None)) {
                for a in (0..graph.len()).filter(|&a| gets_out(&graph, a, None)) {
                    // Regions that are never left have ends of their own, which the definition does not know.
                    let all_leave = (0..graph.len()).all(|node| gets_out(&graph, node, None));
                    if all_leave {
                        let expected = a == b || !gets_out(&graph, b, Some(a));
                        assert_eq!(tree.post_dominates(a, b), expected, "seed {seed}: {a}, {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_never_left_has_an_end_too() {
        // 0 branches to the return 1 and to the loop of 2 and 3.
        let graph = FlowGraph::new(4, [(0, 1), (0, 2), (2, 3), (3, 2)]);
        let tree = PostDomTree::new(&graph);
        assert_eq!(tree.immediate_post_dominator(0), None);
        assert_eq!(tree.immediate_post_dominator(usize::MAX), None);
        assert!(!tree.post_dominates(0, usize::MAX));
        assert_eq!(tree.immediate_post_dominator(2), Some(3));
        assert!(tree.post_dominates(3, 2) && !tree.post_dominates(2, 0) && !tree.post_dominates(1, 0));
    }
}
