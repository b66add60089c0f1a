//! Flow graphs over dense block indices, and what is computed on them. Both representations number their blocks
//! densely to use these: [`IRCode`](crate::IRCode) by position, `BBCode` by layout order.

mod components;
mod domtree;
mod frontiers;
mod loops;
mod postdominators;
#[cfg(test)]
mod testing;
mod tree;

pub(crate) use components::Components;
pub use domtree::DomTree;
pub use frontiers::Frontiers;
pub use loops::{Loop, LoopForest, LoopId};
pub use postdominators::PostDomTree;

/// A directed graph whose nodes are `0..len`, with node 0 as its entry; adjacency lists keep the order of the edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowGraph {
    successors: Adjacency,
    predecessors: Adjacency,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Adjacency {
    /// The neighbours of node `n` are `targets[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    fn new(
        len: usize,
        edges: &[(u32, u32)],
        from: impl Fn(&(u32, u32)) -> u32,
        to: impl Fn(&(u32, u32)) -> u32,
    ) -> Self {
        let mut starts = vec![0u32; len + 1];
        for edge in edges {
            starts[from(edge) as usize + 1] += 1;
        }
        for node in 0..len {
            starts[node + 1] += starts[node];
        }
        let mut at = starts.clone();
        let mut targets = vec![0u32; edges.len()];
        for edge in edges {
            let slot = &mut at[from(edge) as usize];
            targets[*slot as usize] = to(edge);
            *slot += 1;
        }
        Adjacency { starts, targets }
    }

    fn of(&self, node: usize) -> &[u32] {
        // A node that is not there may have any number.
        let end = node.checked_add(1).and_then(|next| self.starts.get(next));
        match (self.starts.get(node), end) {
            (Some(&start), Some(&end)) => &self.targets[start as usize..end as usize],
            _ => &[],
        }
    }
}

impl FlowGraph {
    /// The graph of `len` nodes with these edges. Successors come in the order of `edges`, predecessors too; an edge
    /// given twice is there twice. Edges to or from nodes that do not exist are left out.
    pub fn new(len: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let edges: Vec<(u32, u32)> = edges
            .into_iter()
            .filter(|&(from, to)| from < len && to < len)
            .map(|(from, to)| (from as u32, to as u32))
            .collect();
        FlowGraph {
            successors: Adjacency::new(len, &edges, |e| e.0, |e| e.1),
            predecessors: Adjacency::new(len, &edges, |e| e.1, |e| e.0),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.successors.starts.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The successors of a node, in the order of its edges.
    pub fn successors(&self, node: usize) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.successors.of(node).iter().map(|&n| n as usize)
    }

    /// The predecessors of a node, in the order of the edges.
    pub fn predecessors(&self, node: usize) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.predecessors.of(node).iter().map(|&n| n as usize)
    }

    /// Which nodes the entry reaches.
    pub fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut stack = Vec::new();
        if let Some(entry) = seen.first_mut() {
            *entry = true;
            stack.push(0);
        }
        while let Some(node) = stack.pop() {
            for next in self.successors(node) {
                if !seen[next] {
                    seen[next] = true;
                    stack.push(next);
                }
            }
        }
        seen
    }

    /// Which nodes reach one of these; they do themselves.
    ///
    /// ```
    /// use ircode::graph::FlowGraph;
    ///
    /// let graph = FlowGraph::new(4, [(0, 1), (1, 2), (0, 3)]);
    /// assert_eq!(graph.reaching([2]), [true, true, true, false]);
    /// ```
    pub fn reaching(&self, targets: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut reaching = vec![false; self.len()];
        let mut work: Vec<usize> = targets.into_iter().filter(|&target| target < self.len()).collect();
        work.iter().for_each(|&target| reaching[target] = true);
        while let Some(node) = work.pop() {
            for before in self.predecessors(node) {
                if !std::mem::replace(&mut reaching[before], true) {
                    work.push(before);
                }
            }
        }
        reaching
    }

    /// The nodes that the entry reaches, every node after those that the depth-first search went on to from it.
    pub fn postorder(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.len());
        let mut seen = vec![false; self.len()];
        if self.is_empty() {
            return order;
        }
        seen[0] = true;
        let mut stack = vec![(0, 0)];
        while let Some((node, edge)) = stack.last_mut() {
            match self.successors.of(*node).get(*edge) {
                Some(&next) => {
                    *edge += 1;
                    let next = next as usize;
                    if !seen[next] {
                        seen[next] = true;
                        stack.push((next, 0));
                    }
                }
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
        order
    }

    /// The dominator tree, from node 0.
    pub fn dominators(&self) -> DomTree {
        DomTree::new(self)
    }

    /// The post-dominator tree, towards the nodes without successors.
    pub fn post_dominators(&self) -> PostDomTree {
        PostDomTree::new(self)
    }

    /// The nested loops of the graph.
    pub fn loops(&self) -> LoopForest {
        LoopForest::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_keep_their_order_and_multiplicity() {
        let graph = FlowGraph::new(3, [(0, 2), (0, 1), (1, 2), (0, 2), (5, 0)]);
        assert_eq!(graph.successors(0).collect::<Vec<_>>(), [2, 1, 2]);
        assert_eq!(graph.predecessors(2).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(graph.reachable(), [true, true, true]);
        assert_eq!(graph.postorder(), [2, 1, 0]);
        assert!(FlowGraph::new(0, []).postorder().is_empty());
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 300_000;
        let graph = FlowGraph::new(n, (1..n).map(|i| (i - 1, i)));
        assert_eq!(graph.postorder().len(), n);
        let domtree = graph.dominators();
        assert!(domtree.dominates(5, n - 1));
        assert!(!domtree.dominates(n - 1, 5));
    }
}
