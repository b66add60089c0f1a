//! Which edges close a loop, and in which layer everything stands.

use super::{Layered, MOST_CROSSINGS_OF_LAYERS, Size, Vertex};

/// How wide a place is through which an edge passes.
const PASS_WIDTH: f64 = 10.0;

/// Puts everything into layers; `None` if there are too many places where edges cross layers.
pub(super) fn layered(sizes: &[Size], edges: &[(usize, usize)]) -> Option<Layered> {
    let mut succs: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for (index, &(from, _)) in edges.iter().enumerate() {
        succs[from].push(index);
    }
    // Those of lower number first: where control falls through is at the left.
    for succs in &mut succs {
        succs.sort_by_key(|&edge| edges[edge].1);
    }
    let search = depth_first(&succs, edges);
    let layer = longest_paths(&succs, edges, &search.back);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); layer.iter().max().map_or(0, |max| max + 1)];
    for &node in &search.preorder {
        layers[layer[node]].push(node);
    }
    let vertex = |(node, size): (usize, &Size)| Vertex {
        layer: layer[node],
        width: size.width,
        node: Some(node),
        passing: None,
        beside: None,
    };
    let vertices: Vec<Vertex> = sizes.iter().enumerate().map(vertex).collect();
    let links = vec![Vec::new(); vertices.len()];
    let mut layered =
        Layered { vertices, above: links.clone(), below: links, layers, paths: Vec::new(), back: search.back };
    let span = |&(from, to): &(usize, usize)| layer[from].abs_diff(layer[to]) + 1;
    if edges.iter().map(span).sum::<usize>() > edges.len() + MOST_CROSSINGS_OF_LAYERS {
        return None;
    }
    for (index, &(from, to)) in edges.iter().enumerate() {
        // Those that close a loop are put beside the loop when everything else is in order.
        let path = if layered.back[index] { Vec::new() } else { layered.pass_down(from, to) };
        layered.paths.push(path);
    }
    Some(layered)
}

impl Layered {
    /// Cuts an edge into links from one layer to the next.
    fn pass_down(&mut self, from: usize, to: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut last = from;
        for layer in self.vertices[from].layer + 1..self.vertices[to].layer {
            let next = self.add(layer, (from, to), None);
            self.layers[layer].push(next);
            self.link(last, next);
            path.push(next);
            last = next;
        }
        self.link(last, to);
        path
    }

    /// A place in a layer through which an edge passes, to be put into its order.
    pub(super) fn add(&mut self, layer: usize, passing: (usize, usize), beside: Option<usize>) -> usize {
        let index = self.vertices.len();
        self.vertices.push(Vertex { layer, width: PASS_WIDTH, node: None, passing: Some(passing), beside });
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        index
    }

    /// Long edges are drawn straight before anything else is.
    pub(super) fn link(&mut self, upper: usize, lower: usize) {
        let passes = [upper, lower].iter().filter(|&&vertex| self.vertices[vertex].node.is_none()).count();
        let weight = [1.0, 2.0, 8.0][passes];
        self.below[upper].push((lower, weight));
        self.above[lower].push((upper, weight));
    }
}

struct Search {
    /// Which edges lead back to where the search came from.
    back: Vec<bool>,
    preorder: Vec<usize>,
}

/// Depth-first search from the entry, then from what the entry does not reach.
fn depth_first(succs: &[Vec<usize>], edges: &[(usize, usize)]) -> Search {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; succs.len()];
    let mut search = Search { back: vec![false; edges.len()], preorder: Vec::new() };
    for root in 0..succs.len() {
        if states[root] != State::New {
            continue;
        }
        let mut stack = vec![(root, 0)];
        states[root] = State::Open;
        search.preorder.push(root);
        while let Some((node, next)) = stack.last_mut() {
            let Some(&edge) = succs[*node].get(*next) else {
                states[*node] = State::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match states[to] {
                State::New => {
                    states[to] = State::Open;
                    search.preorder.push(to);
                    stack.push((to, 0));
                }
                State::Open => search.back[edge] = true,
                State::Done => {}
            }
        }
    }
    search
}

/// The layer of each node: the length of the longest path to it. What nothing leads to stands right above what it leads
/// to, the entry excepted.
fn longest_paths(succs: &[Vec<usize>], edges: &[(usize, usize)], back: &[bool]) -> Vec<usize> {
    let mut waits = vec![0usize; succs.len()];
    for (&(_, to), _) in edges.iter().zip(back).filter(|(_, back)| !**back) {
        waits[to] += 1;
    }
    let roots: Vec<usize> = (0..succs.len()).filter(|&node| waits[node] == 0).collect();
    let mut layer = vec![0usize; succs.len()];
    let mut ready = roots.clone();
    while let Some(node) = ready.pop() {
        for &edge in succs[node].iter().filter(|&&edge| !back[edge]) {
            let to = edges[edge].1;
            layer[to] = layer[to].max(layer[node] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    for root in roots.into_iter().filter(|&root| root != 0) {
        let below = succs[root].iter().filter(|&&edge| !back[edge]).map(|&edge| layer[edges[edge].1]).min();
        layer[root] = below.map_or(0, |below| below.saturating_sub(1));
    }
    layer
}
