//! Loops and how they nest.

use super::FlowGraph;
use super::tree::{OUTSIDE, RootedTree};

/// The nested loops of a flow graph: its strongly connected regions, then those of each region without its header, and
/// so on.
///
/// The header of a loop is its first node in depth-first order, so every cycle goes through the header of the innermost
/// loop that holds all of it. A loop that can be entered elsewhere than at its header is irreducible. Computed by
/// Havlak's algorithm in the almost linear form of Ramalingam (*Identifying Loops in Almost Linear Time*, TOPLAS 1999).
#[derive(Clone, Debug)]
pub struct LoopForest {
    loops: Vec<Loop>,
    /// The innermost loop of each node.
    loop_of: Vec<Option<LoopId>>,
    /// The loops as a tree under a root 0 that stands for the whole graph; loop `i` is node `i + 1`.
    tree: RootedTree,
}

/// A loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The first node of the loop in depth-first order.
    pub header: usize,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Whether the loop can be entered elsewhere than at its header.
    pub irreducible: bool,
}

/// Names a loop of a [`LoopForest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(u32);

impl LoopForest {
    /// The loops of `graph` that its entry reaches.
    pub fn new(graph: &FlowGraph) -> Self {
        let (dfs, order) = depth_first_tree(graph);
        let mut builder = Builder {
            header_loop: vec![None; graph.len()],
            loop_of: vec![None; graph.len()],
            loops: Vec::new(),
            union: (0..graph.len() as u32).collect(),
            preds: vec![Vec::new(); graph.len()],
            mark: vec![OUTSIDE; graph.len()],
        };
        // Edges that are neither of the tree nor back edges wait at the nearest common ancestor of their ends.
        let mut waiting: Vec<Vec<(u32, u32)>> = vec![Vec::new(); graph.len()];
        for &to in &order {
            if let Some(parent) = dfs.parent(to) {
                builder.preds[to].push(parent as u32);
            }
            for from in graph.predecessors(to).filter(|&from| dfs.contains(from)) {
                if !dfs.is_ancestor(to, from)
                    && let Some(common) = dfs.nearest_common_ancestor(from, to)
                {
                    waiting[common].push((from as u32, to as u32));
                }
            }
        }
        for &node in order.iter().rev() {
            for (from, to) in std::mem::take(&mut waiting[node]) {
                builder.mark_irreducible(to as usize);
                let (from, to) = (builder.find(from as usize), builder.find(to as usize));
                builder.preds[to].push(from as u32);
            }
            let backs = graph.predecessors(node).filter(|&from| dfs.is_ancestor(node, from)).collect();
            builder.find_loop(node, backs);
        }
        let Builder { loops, loop_of, .. } = builder;
        let mut parents = vec![0u32];
        parents.extend(loops.iter().map(|l| l.parent.map_or(0, |LoopId(parent)| parent + 1)));
        LoopForest { loops, loop_of, tree: RootedTree::new(parents, 0) }
    }

    /// All loops with their names. Loops inside come before those around them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (LoopId, &Loop)> {
        self.loops.iter().enumerate().map(|(i, l)| (LoopId(i as u32), l))
    }

    /// The loop of this name; `None` for one of another forest.
    pub fn get(&self, id: LoopId) -> Option<&Loop> {
        self.loops.get(id.0 as usize)
    }

    /// The innermost loop that holds the node.
    pub fn innermost(&self, node: usize) -> Option<LoopId> {
        self.loop_of.get(node).copied().flatten()
    }

    /// The number of loops around a node.
    pub fn depth(&self, node: usize) -> usize {
        self.tree.depth(tree_node(self.innermost(node)))
    }

    /// Whether the loop holds the node.
    pub fn contains(&self, id: LoopId, node: usize) -> bool {
        self.tree.is_ancestor(id.0 as usize + 1, tree_node(self.innermost(node)))
    }

    /// The node from which alone a loop is entered, and the one from which alone it is gone around (its latch); `None`
    /// if there are others, or one goes to the header by two edges. The entry of the graph is entered from outside of
    /// it.
    ///
    /// ```
    /// use ircode::graph::{FlowGraph, LoopForest};
    ///
    /// let graph = FlowGraph::new(4, [(0, 1), (1, 2), (2, 1), (1, 3)]);
    /// let loops = LoopForest::new(&graph);
    /// let id = loops.innermost(2).unwrap();
    /// assert_eq!(loops.entry_and_latch(&graph, id), Some((0, 2)));
    /// ```
    pub fn entry_and_latch(&self, graph: &FlowGraph, id: LoopId) -> Option<(usize, usize)> {
        let found = self.get(id).filter(|found| !found.irreducible && found.header != 0)?;
        let preds: Vec<usize> = graph.predecessors(found.header).collect();
        match *preds.as_slice() {
            [a, b] if !self.contains(id, a) && self.contains(id, b) => Some((a, b)),
            [a, b] if self.contains(id, a) && !self.contains(id, b) => Some((b, a)),
            _ => None,
        }
    }

    /// The innermost loop that holds both loops; `None` is the whole graph.
    pub fn common(&self, a: Option<LoopId>, b: Option<LoopId>) -> Option<LoopId> {
        loop_id(self.tree.nearest_common_ancestor(tree_node(a), tree_node(b)).unwrap_or(0))
    }

    /// The outermost loop that holds `inner` but is not, and does not hold, `outer`: a child of `outer`, where `None`
    /// is the whole graph. `None` if `inner` is `outer`.
    pub fn child_toward(&self, outer: Option<LoopId>, inner: Option<LoopId>) -> Option<LoopId> {
        if outer == inner {
            return None;
        }
        let depth = self.tree.depth(tree_node(outer)) + 1;
        loop_id(self.tree.ancestor_at_depth(tree_node(inner), depth))
    }
}

fn tree_node(id: Option<LoopId>) -> usize {
    id.map_or(0, |LoopId(id)| id as usize + 1)
}

fn loop_id(tree_node: usize) -> Option<LoopId> {
    tree_node.checked_sub(1).map(|id| LoopId(id as u32))
}

/// A depth-first tree from node 0, and its nodes in preorder.
fn depth_first_tree(graph: &FlowGraph) -> (RootedTree, Vec<usize>) {
    let mut parent = vec![OUTSIDE; graph.len()];
    let mut stack: Vec<(usize, usize)> = if graph.is_empty() { vec![] } else { vec![(0, 0)] };
    while let Some((node, from)) = stack.pop() {
        if parent[node] != OUTSIDE {
            continue;
        }
        parent[node] = from as u32;
        stack.extend(graph.successors(node).rev().filter(|&next| parent[next] == OUTSIDE).map(|next| (next, node)));
    }
    let tree = RootedTree::new(parent, 0);
    let order = tree.preorder().collect();
    (tree, order)
}

struct Builder {
    /// The loop of which the node is the header.
    header_loop: Vec<Option<LoopId>>,
    loop_of: Vec<Option<LoopId>>,
    loops: Vec<Loop>,
    /// Union-find over collapsed loops; the representative is the header of the outermost loop found so far.
    union: Vec<u32>,
    /// The predecessors of each representative, back edges left out.
    preds: Vec<Vec<u32>>,
    /// The last header for which the node was put on the work list.
    mark: Vec<u32>,
}

impl Builder {
    fn find(&mut self, node: usize) -> usize {
        let mut root = node;
        while self.union[root] as usize != root {
            root = self.union[root] as usize;
        }
        let mut node = node;
        while self.union[node] as usize != root {
            let next = self.union[node] as usize;
            self.union[node] = root as u32;
            node = next;
        }
        root
    }

    /// Every loop found so far that holds `to`, but not as its header, is entered by an edge from outside.
    fn mark_irreducible(&mut self, to: usize) {
        let mut current = self.loop_of[to];
        while let Some(LoopId(id)) = current {
            let found = &mut self.loops[id as usize];
            found.irreducible |= found.header != to;
            current = found.parent;
        }
    }

    /// Collapses the loop whose back edges come from `backs`, if there are any.
    fn find_loop(&mut self, header: usize, backs: Vec<usize>) {
        if backs.is_empty() {
            return;
        }
        let id = LoopId(self.loops.len() as u32);
        self.loops.push(Loop { header, parent: None, irreducible: false });
        self.mark[header] = header as u32;
        let mut body = Vec::new();
        for back in backs {
            self.add_to_body(back, header, &mut body);
        }
        let mut at = 0;
        while let Some(&node) = body.get(at) {
            at += 1;
            for pred in std::mem::take(&mut self.preds[node]) {
                self.add_to_body(pred as usize, header, &mut body);
            }
        }
        for node in body {
            self.union[node] = header as u32;
            match self.header_loop[node] {
                Some(LoopId(inner)) => self.loops[inner as usize].parent = Some(id),
                None => self.loop_of[node] = Some(id),
            }
        }
        self.loop_of[header] = Some(id);
        self.header_loop[header] = Some(id);
    }

    fn add_to_body(&mut self, node: usize, header: usize, body: &mut Vec<usize>) {
        let node = self.find(node);
        if self.mark[node] != header as u32 {
            self.mark[node] = header as u32;
            body.push(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_loops_with_a_break() {
        // 0 → 1 (outer header) → 2 (inner header) → 3 → 2, 3 → 5 (break), 2 → 4 → 1, 1 → 5.
        let graph = FlowGraph::new(6, [(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (3, 2), (3, 5), (4, 1)]);
        let forest = graph.loops();
        let depths: Vec<_> = (0..6).map(|n| forest.depth(n)).collect();
        assert_eq!(depths, [0, 1, 2, 2, 1, 0]);
        let inner = forest.innermost(3).unwrap();
        let outer = forest.innermost(4).unwrap();
        assert_eq!(forest.get(inner).unwrap(), &Loop { header: 2, parent: Some(outer), irreducible: false });
        assert!(forest.contains(outer, 3) && !forest.contains(inner, 4) && !forest.contains(outer, 5));
        assert_eq!(forest.common(Some(inner), Some(outer)), Some(outer));
        assert_eq!(forest.common(Some(inner), None), None);
        assert_eq!(forest.child_toward(None, Some(inner)), Some(outer));
        assert_eq!(forest.child_toward(Some(outer), Some(inner)), Some(inner));
    }

    #[test]
    fn an_irreducible_region_is_reported() {
        let graph = FlowGraph::new(4, [(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
        let forest = graph.loops();
        assert_eq!(forest.iter().len(), 1);
        assert!(forest.iter().all(|(_, l)| l.irreducible));
        assert_eq!((forest.depth(1), forest.depth(2), forest.depth(3)), (1, 1, 0));
    }

    #[test]
    fn self_loops_and_unreachable_loops() {
        let graph = FlowGraph::new(5, [(0, 0), (0, 1), (1, 1), (2, 3), (3, 2)]);
        let forest = graph.loops();
        assert_eq!((0..5).map(|n| forest.depth(n)).collect::<Vec<_>>(), [1, 1, 0, 0, 0]);
    }

    /// Strongly connected components by definition, for graphs of a few nodes.
    fn same_component(graph: &FlowGraph, allowed: &dyn Fn(usize) -> bool, a: usize, b: usize) -> bool {
        let reach = |from: usize, to: usize| {
            let mut seen = vec![false; graph.len()];
            let mut stack = vec![from];
            while let Some(node) = stack.pop() {
                for next in graph.successors(node).filter(|&next| allowed(next)) {
                    if next == to {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[next], true) {
                        stack.push(next);
                    }
                }
            }
            false
        };
        allowed(a) && allowed(b) && reach(a, b) && reach(b, a)
    }

    #[test]
    fn loops_are_the_nested_components_of_random_graphs() {
        for seed in 1..300u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = |bound: usize| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as usize % bound
            };
            let nodes = 2 + next(8);
            let edges: Vec<_> = (0..nodes + next(8)).map(|_| (next(nodes), next(nodes))).collect();
            let graph = FlowGraph::new(nodes, edges);
            let reachable = graph.reachable();
            let forest = graph.loops();
            for (id, l) in forest.iter() {
                // A loop is the component of its header among the nodes of the loop around it, headers outside
                // removed.
                let headers: Vec<usize> = std::iter::successors(l.parent, |p| forest.get(*p)?.parent)
                    .map(|p| forest.get(p).unwrap().header)
                    .collect();
                let allowed = |node: usize| reachable[node] && !headers.contains(&node);
                for node in 0..nodes {
                    let inside = same_component(&graph, &allowed, l.header, node);
                    assert_eq!(forest.contains(id, node), inside, "seed {seed} loop {l:?} node {node}");
                }
                let entered_elsewhere = (0..nodes)
                    .filter(|&n| reachable[n] && !forest.contains(id, n))
                    .any(|n| graph.successors(n).any(|to| to != l.header && forest.contains(id, to)));
                assert_eq!(l.irreducible, entered_elsewhere, "seed {seed} loop {l:?}");
            }
            // A node in no loop lies on no cycle.
            for node in (0..nodes).filter(|&n| reachable[n] && forest.innermost(n).is_none()) {
                assert!(!same_component(&graph, &|n| reachable[n], node, node), "seed {seed} node {node}");
            }
        }
    }
}
