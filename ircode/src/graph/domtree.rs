//! Dominators.

use super::FlowGraph;
use super::tree::{OUTSIDE, RootedTree};

/// The dominator tree of a flow graph: `a` dominates `b` if every path from the entry to `b` goes through `a`.
///
/// Computed by the Semi-NCA algorithm (Georgiadis, *Linear-Time Algorithms for Dominators and Related Problems*, 2005),
/// which Julia and LLVM use too: semidominators with path compression as in Lengauer and Tarjan, then the nearest
/// common ancestor by walking up. Unlike iterating to a fixed point, it is not quadratic on deep or irreducible graphs.
#[derive(Clone, Debug)]
pub struct DomTree {
    tree: RootedTree,
}

impl DomTree {
    /// The dominator tree of `graph`, from node 0.
    pub fn new(graph: &FlowGraph) -> Self {
        DomTree { tree: RootedTree::new(immediate_dominators(graph), 0) }
    }

    /// The immediate dominator; `None` for the entry and for unreachable nodes.
    pub fn immediate_dominator(&self, node: usize) -> Option<usize> {
        self.tree.parent(node)
    }

    /// Whether the entry reaches the node.
    pub fn is_reachable(&self, node: usize) -> bool {
        self.tree.contains(node)
    }

    /// Whether `a` dominates `b`; every reachable node dominates itself. False if either is unreachable.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// The depth in the tree; 0 for the entry and for unreachable nodes.
    pub fn depth(&self, node: usize) -> usize {
        self.tree.depth(node)
    }

    /// The nearest node that dominates both, in logarithmic time. `None` if either is unreachable.
    pub fn nearest_common_dominator(&self, a: usize, b: usize) -> Option<usize> {
        self.tree.nearest_common_ancestor(a, b)
    }

    /// The reachable nodes in preorder: every node after its immediate dominator, and what a node dominates right
    /// after it.
    pub fn preorder(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.tree.preorder()
    }
}

fn immediate_dominators(graph: &FlowGraph) -> Vec<u32> {
    let len = graph.len();
    let mut idom = vec![OUTSIDE; len];
    if len == 0 {
        return idom;
    }
    // Number the nodes in depth-first preorder; everything below is in these numbers.
    let mut number = vec![OUTSIDE; len];
    let mut node_of: Vec<u32> = Vec::new();
    let mut parent: Vec<u32> = Vec::new();
    let mut stack: Vec<(usize, u32)> = vec![(0, 0)];
    while let Some((node, from)) = stack.pop() {
        if number[node] != OUTSIDE {
            continue;
        }
        let n = node_of.len() as u32;
        number[node] = n;
        node_of.push(node as u32);
        parent.push(from);
        stack.extend(graph.successors(node).rev().filter(|&next| number[next] == OUTSIDE).map(|next| (next, n)));
    }
    let count = node_of.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label: Vec<u32> = (0..count as u32).collect();
    let mut ancestor = parent.clone();
    let mut path = Vec::new();
    for w in (1..count).rev() {
        let mut best = semi[w];
        for pred in graph.predecessors(node_of[w] as usize) {
            let v = number[pred];
            if v == OUTSIDE {
                continue;
            }
            evaluate(v as usize, w as u32, &mut ancestor, &mut label, &semi, &mut path);
            best = best.min(semi[label[v as usize] as usize]);
        }
        semi[w] = best;
        label[w] = w as u32;
    }
    let mut dominator = parent;
    for w in 1..count {
        while dominator[w] > semi[w] {
            dominator[w] = dominator[dominator[w] as usize];
        }
    }
    for (w, &dominator) in dominator.iter().enumerate() {
        idom[node_of[w] as usize] = node_of[dominator as usize];
    }
    idom
}

/// Makes `label[v]` the node of least semidominator on the path from `v` up to, not including, the first ancestor below
/// `last_linked`, and shortens that path.
fn evaluate(v: usize, last_linked: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<usize>) {
    if ancestor[v] <= last_linked {
        // Nodes numbered at most `last_linked` are not linked yet: v is a root of the forest, or its child.
        return;
    }
    path.clear();
    let mut node = v;
    while ancestor[node] > last_linked {
        path.push(node);
        node = ancestor[node] as usize;
    }
    let mut root_label = label[node];
    let root = ancestor[node];
    for &node in path.iter().rev() {
        if semi[label[node] as usize] > semi[root_label as usize] {
            label[node] = root_label;
        } else {
            root_label = label[node];
        }
        ancestor[node] = root;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::random_graph;

    /// Dominance by its definition: `a` dominates `b` if `b` cannot be reached once `a` is removed.
    fn dominates_by_definition(graph: &FlowGraph, a: usize, b: usize) -> bool {
        let reachable = graph.reachable();
        if !reachable[a] || !reachable[b] {
            return false;
        }
        let edges = (0..graph.len()).flat_map(|from| graph.successors(from).map(move |to| (from, to)));
        let without: Vec<_> = edges.filter(|&(from, to)| from != a && to != a).collect();
        a == b || a == 0 || !FlowGraph::new(graph.len(), without).reachable()[b]
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        for seed in 1..200 {
            let nodes = 2 + seed as usize % 11;
            let graph = random_graph(seed, nodes, nodes + seed as usize % 9);
            let domtree = graph.dominators();
            for a in 0..nodes {
                for b in 0..nodes {
                    assert_eq!(domtree.dominates(a, b), dominates_by_definition(&graph, a, b), "{seed}: {a} {b}");
                    let common = domtree.nearest_common_dominator(a, b);
                    let best = (0..nodes)
                        .filter(|&d| domtree.dominates(d, a) && domtree.dominates(d, b))
                        .max_by_key(|&d| domtree.depth(d));
                    assert_eq!(common, best, "{seed}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn immediate_dominators_of_a_diamond_with_a_loop() {
        let graph = FlowGraph::new(6, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (3, 4)]);
        let domtree = graph.dominators();
        let idoms: Vec<_> = (0..6).map(|n| domtree.immediate_dominator(n)).collect();
        assert_eq!(idoms, [None, Some(0), Some(0), Some(0), Some(3), None]);
        assert!(!domtree.is_reachable(5));
        assert_eq!(domtree.preorder().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
