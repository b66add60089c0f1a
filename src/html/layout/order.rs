//! The order inside of the layers: sweeps down and up, each vertex at the mean of its neighbours' places.

use super::Layered;

/// Sweeps down and up.
const SWEEPS: usize = 12;

/// Orders the layers so that few edges cross.
pub(super) fn order(layered: &mut Layered) {
    let mut position = positions(layered);
    let mut best = layered.layers.clone();
    let mut fewest = crossings(layered, &position);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        let count = layered.layers.len();
        for step in 1..count {
            sort_layer(layered, if down { step } else { count - 1 - step }, down, &mut position);
        }
        let now = crossings(layered, &position);
        if now < fewest {
            fewest = now;
            best.clone_from(&layered.layers);
        }
    }
    layered.layers = best;
}

/// Where each vertex stands in its layer.
pub(super) fn positions(layered: &Layered) -> Vec<usize> {
    let mut positions = vec![0; layered.vertices.len()];
    for layer in &layered.layers {
        for (position, &vertex) in layer.iter().enumerate() {
            positions[vertex] = position;
        }
    }
    positions
}

fn sort_layer(layered: &mut Layered, layer: usize, down: bool, position: &mut [usize]) {
    let links = if down { &layered.above } else { &layered.below };
    let mean = |vertex: usize| {
        let links = &links[vertex];
        let sum: usize = links.iter().map(|&(other, _)| position[other]).sum();
        if links.is_empty() { position[vertex] as f64 } else { sum as f64 / links.len() as f64 }
    };
    let mut sorted: Vec<(f64, usize)> = layered.layers[layer].iter().map(|&vertex| (mean(vertex), vertex)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, &(_, vertex)) in sorted.iter().enumerate() {
        position[vertex] = at;
    }
    layered.layers[layer] = sorted.into_iter().map(|(_, vertex)| vertex).collect();
}

/// How many links cross: for each pair of layers the inversions of the links sorted by their upper ends, counted with a
/// Fenwick tree (Barth, Jünger and Mutzel, "Simple and efficient bilayer cross counting", 2002).
pub(super) fn crossings(layered: &Layered, position: &[usize]) -> usize {
    let mut count = 0;
    for (layer, below) in layered.layers.iter().zip(layered.layers.iter().skip(1)) {
        let mut tree = vec![0usize; below.len() + 1];
        let mut seen = 0;
        for &upper in layer {
            let mut ends: Vec<usize> = layered.below[upper].iter().map(|&(lower, _)| position[lower]).collect();
            ends.sort_unstable();
            for &end in &ends {
                // Those so far that end further to the right.
                let mut not_right = 0;
                let mut at = end + 1;
                while at > 0 {
                    not_right += tree[at];
                    at &= at - 1;
                }
                count += seen - not_right;
            }
            for end in ends {
                seen += 1;
                let mut at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    count
}
