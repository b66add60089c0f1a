//! Minimum cuts of networks, by Dinic's algorithm.

use std::collections::VecDeque;

/// More than any cut is worth: an edge that must not be cut.
pub(super) const UNCUT: u64 = u64::MAX / 4;

struct Edge {
    to: usize,
    capacity: u64,
}

/// A network: nodes by number, edges with capacities.
pub(super) struct Network {
    /// Each edge stands beside the one that takes back what flows along it.
    edges: Vec<Edge>,
    of_node: Vec<Vec<usize>>,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Self {
        Network { edges: Vec::new(), of_node: vec![Vec::new(); nodes] }
    }

    /// Adds an edge between two nodes that there are.
    pub(super) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.of_node[from].push(self.edges.len());
            self.edges.push(Edge { to, capacity });
        }
    }

    /// The nodes on the sink's side of a minimum cut; of several, of the one that is nearest to the sink.
    ///
    /// Dinic, *Algorithm for solution of a problem of maximum flow in networks with power estimation* (1970): the paths
    /// along which more can flow are found by breadth-first searches, so that they get longer and there are at most as
    /// many searches as the longest simple path has nodes.
    pub(super) fn sink_side(mut self, source: usize, sink: usize) -> Vec<bool> {
        loop {
            let levels = self.levels(source);
            if levels[sink].is_none() {
                break;
            }
            self.block(source, sink, &levels);
        }
        let mut side = vec![false; self.of_node.len()];
        side[sink] = true;
        let mut work = vec![sink];
        while let Some(node) = work.pop() {
            for &edge in &self.of_node[node] {
                // The edge that leads here is the other one of the pair.
                let from = self.edges[edge].to;
                if self.edges[edge ^ 1].capacity > 0 && !side[from] {
                    side[from] = true;
                    work.push(from);
                }
            }
        }
        side
    }

    /// How far each node is from the source along edges with capacity.
    fn levels(&self, source: usize) -> Vec<Option<usize>> {
        let mut levels = vec![None; self.of_node.len()];
        levels[source] = Some(0);
        let mut queue = VecDeque::from([(source, 0)]);
        while let Some((node, level)) = queue.pop_front() {
            for edge in self.of_node[node].iter().map(|&edge| &self.edges[edge]) {
                if edge.capacity > 0 && levels[edge.to].is_none() {
                    levels[edge.to] = Some(level + 1);
                    queue.push_back((edge.to, level + 1));
                }
            }
        }
        levels
    }

    /// Lets flow what can along shortest paths, until each has an edge that is full.
    fn block(&mut self, source: usize, sink: usize, levels: &[Option<usize>]) {
        let mut next = vec![0; self.of_node.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        loop {
            if node == sink {
                let most = path.iter().map(|&edge| self.edges[edge].capacity).min().unwrap_or_default();
                for &edge in &path {
                    self.edges[edge].capacity -= most;
                    self.edges[edge ^ 1].capacity += most;
                }
                // On from the start of the first edge that is full.
                let full = path.iter().position(|&edge| self.edges[edge].capacity == 0).unwrap_or_default();
                node = self.edges[path[full] ^ 1].to;
                path.truncate(full);
                continue;
            }
            let on = self.of_node[node][next[node]..].iter().position(|&edge| {
                let Edge { to, capacity } = self.edges[edge];
                capacity > 0 && levels[to].is_some() && levels[to] == levels[node].map(|level| level + 1)
            });
            match on {
                Some(skipped) => {
                    next[node] += skipped;
                    let edge = self.of_node[node][next[node]];
                    path.push(edge);
                    node = self.edges[edge].to;
                }
                None => {
                    next[node] = self.of_node[node].len();
                    let Some(edge) = path.pop() else { return };
                    node = self.edges[edge ^ 1].to;
                    next[node] += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, UNCUT};

    /// The least capacity of edges between all ways to divide the nodes, tried one after the other.
    fn least(nodes: usize, edges: &[(usize, usize, u64)]) -> u64 {
        let divided = (0..1_u32 << nodes).filter(|set| set & 1 == 1 && set & 2 == 0);
        let cut = |set: u32| {
            let across = |(from, to, _): &&(usize, usize, u64)| set >> from & 1 == 1 && set >> to & 1 == 0;
            edges.iter().filter(across).map(|(_, _, capacity)| capacity).sum::<u64>()
        };
        divided.map(cut).min().unwrap_or_default()
    }

    #[test]
    fn cuts_are_least() {
        let mut random = 1_u64;
        let mut number = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..300 {
            let nodes = 3 + number(6) as usize;
            let edges: Vec<(usize, usize, u64)> = (0..number(20))
                .map(|_| (number(nodes as u64) as usize, number(nodes as u64) as usize, number(9)))
                .filter(|(from, to, _)| from != to)
                .collect();
            let mut network = Network::new(nodes);
            edges.iter().for_each(|&(from, to, capacity)| network.edge(from, to, capacity));
            let side = network.sink_side(0, 1);
            assert!(side[1] && !side[0], "{edges:?}");
            let cut: u64 = edges.iter().filter(|(from, to, _)| !side[*from] && side[*to]).map(|edge| edge.2).sum();
            assert_eq!(cut, least(nodes, &edges), "{edges:?}");
        }
    }

    #[test]
    fn of_several_cuts_it_is_the_one_nearest_to_the_sink() {
        let mut network = Network::new(4);
        for (from, to, capacity) in [(0, 2, UNCUT), (2, 3, 8), (3, 1, 8)] {
            network.edge(from, to, capacity);
        }
        assert_eq!(network.sink_side(0, 1), [false, true, false, false]);
    }
}
