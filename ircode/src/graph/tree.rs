//! Rooted trees with fast ancestor queries.

use super::FlowGraph;

/// A tree over dense nodes, given by parents. Nodes that are not connected to the root belong to no tree.
#[derive(Clone, Debug)]
pub(super) struct RootedTree {
    /// The parent of each node; the root's is itself, that of a node outside the tree `OUTSIDE`.
    parent: Vec<u32>,
    /// When a walk over the tree enters and leaves the node: `a` is an ancestor of `b` iff `a`'s interval contains
    /// `b`'s.
    interval: Vec<(u32, u32)>,
    depth: Vec<u32>,
    /// An ancestor further up, so that climbing takes logarithmic time (Myers, *An applicative random-access stack*).
    jump: Vec<u32>,
    /// The nodes in the order of the walk, parents first.
    preorder: Vec<u32>,
}

/// The parent of a node that is outside of the tree.
pub(super) const OUTSIDE: u32 = u32::MAX;

impl RootedTree {
    /// The tree with these parents, where the root is its own parent. Nodes with parent [`OUTSIDE`] are left out.
    pub(super) fn new(parent: Vec<u32>, root: usize) -> Self {
        let len = parent.len();
        let is_child = |(node, &up): (usize, &u32)| (up != OUTSIDE && node != root).then_some((up as usize, node));
        let children = FlowGraph::new(len, parent.iter().enumerate().filter_map(is_child));
        let mut tree = RootedTree {
            interval: vec![(0, 0); len],
            depth: vec![0; len],
            jump: (0..len as u32).collect(),
            preorder: Vec::with_capacity(len),
            parent,
        };
        let mut stack = Vec::new();
        if root < len {
            stack.push((root, false));
        }
        while let Some((node, leaving)) = stack.pop() {
            if leaving {
                tree.interval[node].1 = tree.preorder.len() as u32;
                continue;
            }
            tree.interval[node].0 = tree.preorder.len() as u32;
            tree.preorder.push(node as u32);
            if node != root {
                tree.link(node);
            }
            stack.push((node, true));
            stack.extend(children.successors(node).rev().map(|child| (child, false)));
        }
        tree
    }

    fn link(&mut self, node: usize) {
        let parent = self.parent[node] as usize;
        self.depth[node] = self.depth[parent] + 1;
        let first = self.jump[parent] as usize;
        let second = self.jump[first] as usize;
        let equal_steps = self.depth[parent] - self.depth[first] == self.depth[first] - self.depth[second];
        self.jump[node] = if equal_steps { second as u32 } else { parent as u32 };
    }

    pub(super) fn contains(&self, node: usize) -> bool {
        self.parent.get(node).is_some_and(|&parent| parent != OUTSIDE)
    }

    /// The parent; `None` for the root and outside the tree.
    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        let parent = *self.parent.get(node)?;
        (parent != OUTSIDE && parent as usize != node).then_some(parent as usize)
    }

    pub(super) fn depth(&self, node: usize) -> usize {
        self.depth.get(node).map_or(0, |&depth| depth as usize)
    }

    /// Whether `a` is `b` or an ancestor of it.
    pub(super) fn is_ancestor(&self, a: usize, b: usize) -> bool {
        if !self.contains(a) || !self.contains(b) {
            return false;
        }
        let (a, b) = (self.interval[a], self.interval[b]);
        a.0 <= b.0 && b.1 <= a.1
    }

    /// The ancestor of `node` at this depth, in logarithmic time; the node itself if it is not that deep.
    pub(super) fn ancestor_at_depth(&self, mut node: usize, depth: usize) -> usize {
        while self.depth(node) > depth {
            let jump = self.jump[node] as usize;
            node = if self.depth(jump) >= depth { jump } else { self.parent[node] as usize };
        }
        node
    }

    /// The nearest common ancestor, in logarithmic time. `None` if either is outside the tree.
    pub(super) fn nearest_common_ancestor(&self, a: usize, b: usize) -> Option<usize> {
        if !self.contains(a) || !self.contains(b) {
            return None;
        }
        let mut a = self.ancestor_at_depth(a, self.depth(b));
        let mut b = self.ancestor_at_depth(b, self.depth(a));
        while a != b {
            let (jump_a, jump_b) = (self.jump[a], self.jump[b]);
            (a, b) = if jump_a == jump_b {
                (self.parent[a] as usize, self.parent[b] as usize)
            } else {
                (jump_a as usize, jump_b as usize)
            };
        }
        Some(a)
    }

    pub(super) fn preorder(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.preorder.iter().map(|&node| node as usize)
    }
}
