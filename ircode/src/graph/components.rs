//! Strongly connected components.

use super::FlowGraph;

/// The strongly connected components of a graph (Tarjan, "Depth-first search and linear graph algorithms", 1972).
#[derive(Debug)]
pub(crate) struct Components {
    /// The nodes of each, in order; a component comes behind those that it reaches.
    pub(crate) members: Vec<Vec<usize>>,
    on_cycle: Vec<bool>,
}

impl Components {
    pub(crate) fn new(graph: &FlowGraph) -> Self {
        let members = strongly_connected(graph);
        let mut on_cycle: Vec<bool> =
            (0..graph.len()).map(|node| graph.successors(node).any(|next| next == node)).collect();
        for &member in members.iter().filter(|members| members.len() > 1).flatten() {
            on_cycle[member] = true;
        }
        Components { members, on_cycle }
    }

    /// Whether a way leads from the node back to it.
    pub(crate) fn is_on_cycle(&self, node: usize) -> bool {
        self.on_cycle.get(node).copied().unwrap_or(false)
    }
}

/// The components of all nodes, successors first.
fn strongly_connected(graph: &FlowGraph) -> Vec<Vec<usize>> {
    const UNSEEN: u32 = u32::MAX;
    let mut number = vec![UNSEEN; graph.len()];
    let mut low = vec![UNSEEN; graph.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut is_open = vec![false; graph.len()];
    let mut components = Vec::new();
    let mut count = 0;
    for root in 0..graph.len() {
        if number[root] != UNSEEN {
            continue;
        }
        let mut stack = vec![(root, graph.successors(root))];
        (number[root], low[root]) = (count, count);
        count += 1;
        open.push(root);
        is_open[root] = true;
        while let Some((node, succs)) = stack.last_mut() {
            let node = *node;
            match succs.next() {
                Some(next) if number[next] == UNSEEN => {
                    (number[next], low[next]) = (count, count);
                    count += 1;
                    open.push(next);
                    is_open[next] = true;
                    stack.push((next, graph.successors(next)));
                }
                Some(next) if is_open[next] => low[node] = low[node].min(number[next]),
                Some(_) => {}
                None => {
                    stack.pop();
                    if let Some((parent, _)) = stack.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == number[node] {
                        let start = open.iter().rposition(|&other| other == node).unwrap_or(0);
                        let mut component = open.split_off(start);
                        for &member in &component {
                            is_open[member] = false;
                        }
                        component.sort_unstable();
                        components.push(component);
                    }
                }
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_behind_what_they_reach() {
        let graph = FlowGraph::new(6, [(0, 1), (1, 2), (2, 1), (2, 3), (4, 4), (5, 0)]);
        assert_eq!(strongly_connected(&graph), [vec![3], vec![1, 2], vec![0], vec![4], vec![5]]);
        let chain = FlowGraph::new(200_000, (1..200_000).map(|node| (node - 1, node)));
        assert_eq!(strongly_connected(&chain).len(), 200_000);
    }
}
