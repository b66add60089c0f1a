//! Edges that close a loop: each is led up beside the blocks of its loop, at the side where it crosses less.

use super::Layered;
use super::order::{crossings, positions};

/// Leads the edges that close a loop up, those of small loops first, so that loops around them go around.
pub(super) fn close(layered: &mut Layered, boxes: usize, edges: &[(usize, usize)]) {
    let preds = predecessors(boxes, edges);
    let closing = (0..edges.len()).filter(|&edge| layered.back[edge]);
    let mut loops: Vec<(usize, Vec<bool>)> = closing.map(|edge| (edge, body(&preds, edges[edge]))).collect();
    loops.sort_by_key(|(edge, body)| (body.iter().filter(|inside| **inside).count(), *edge));
    for (edge, body) in loops {
        let (from, to) = edges[edge];
        let path = pass_up(layered, from, to);
        let before = layered.layers.clone();
        let left = put(layered, &path, &body, false);
        let at_left = std::mem::replace(&mut layered.layers, before);
        if left < put(layered, &path, &body, true) {
            layered.layers = at_left;
        }
        layered.paths[edge] = path;
    }
}

/// The places through which the edge passes, from beside the one box up to beside the other.
fn pass_up(layered: &mut Layered, from: usize, to: usize) -> Vec<usize> {
    let (bottom, top) = (layered.vertices[from].layer, layered.vertices[to].layer);
    let mut path: Vec<usize> = Vec::new();
    for layer in (top..=bottom).rev() {
        let beside = if layer == bottom { Some(from) } else { (layer == top).then_some(to) };
        let next = layered.add(layer, (from, to), beside);
        if let Some(&last) = path.last() {
            layered.link(next, last);
        }
        path.push(next);
    }
    path
}

/// Puts the places of an edge at one side of the loop, and says how much crosses then.
fn put(layered: &mut Layered, path: &[usize], body: &[bool], right: bool) -> usize {
    let (Some(&bottom), Some(&top)) = (path.first(), path.last()) else { return 0 };
    for &vertex in path {
        let layer = layered.vertices[vertex].layer;
        let vertices = &layered.vertices;
        let inside = |&other: &usize| match vertices[other].passing {
            Some((from, to)) => body[from] && body[to],
            None => body[other],
        };
        let layer = &mut layered.layers[layer];
        let at = match right {
            true => layer.iter().rposition(inside).map_or(layer.len(), |at| at + 1),
            false => layer.iter().position(inside).unwrap_or(0),
        };
        layer.insert(at, vertex);
    }
    let position = positions(layered);
    // Where it turns around, it crosses what leaves or reaches the boxes that it passes.
    let passed = |vertex: usize, links: &[Vec<(usize, f64)>]| {
        let Some(beside) = layered.vertices[vertex].beside else { return 0 };
        let (a, b) = (position[vertex], position[beside]);
        let layer = &layered.layers[layered.vertices[vertex].layer];
        layer[a.min(b) + 1..a.max(b)].iter().map(|&other| links[other].len()).sum::<usize>()
    };
    crossings(layered, &position) + passed(bottom, &layered.below) + passed(top, &layered.above)
}

fn predecessors(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut preds = vec![Vec::new(); count];
    for &(from, to) in edges {
        preds[to].push(from);
    }
    preds
}

/// The boxes of the loop that an edge closes: what leads to its start without passing its end.
fn body(preds: &[Vec<usize>], (from, to): (usize, usize)) -> Vec<bool> {
    let mut body = vec![false; preds.len()];
    body[to] = true;
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut body[node], true) {
            open.extend(&preds[node]);
        }
    }
    body
}
