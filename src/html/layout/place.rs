//! Where everything stands in its layer.

use super::{Layered, MARGIN};

/// Between boxes of one layer.
const BOX_GAP: f64 = 26.0;
/// Between an edge that passes and what is beside it.
const PASS_GAP: f64 = 12.0;
/// How much it matters that an edge which closes a loop is near its boxes.
const BESIDE: f64 = 1.0;
/// Sweeps down and up.
const SWEEPS: usize = 16;
/// How much a vertex without neighbours holds to its place.
const IDLE: f64 = 0.05;

/// The centres of all vertices, from left to right.
///
/// Each layer in its turn is placed so that the squares of the distances from the means of the neighbours are least,
/// with the order and the gaps kept: a regression by pooling adjacent violators (Ayer and others, "An empirical
/// distribution function for sampling with incomplete information", 1955), linear in the layer.
pub(super) fn place(layered: &Layered) -> Vec<f64> {
    let mut x = vec![0.0; layered.vertices.len()];
    for layer in &layered.layers {
        let offsets = offsets(layered, layer);
        let middle = offsets.last().copied().unwrap_or(0.0) / 2.0;
        for (&vertex, offset) in layer.iter().zip(offsets) {
            x[vertex] = offset - middle;
        }
    }
    let count = layered.layers.len();
    for sweep in 0..SWEEPS {
        let last = sweep + 2 >= SWEEPS;
        let down = sweep % 2 == 0;
        for step in 0..count {
            let layer = if down { step } else { count - 1 - step };
            // The last sweeps look both ways.
            place_layer(layered, layer, down || last, !down || last, &mut x);
        }
    }
    straighten(layered, &mut x);
    let left = layered.vertices.iter().zip(&x).map(|(vertex, x)| x - vertex.width / 2.0).fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|x| *x += MARGIN - left);
    x
}

/// How far each vertex of a layer is from the first, at least.
fn offsets(layered: &Layered, layer: &[usize]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    for (i, &vertex) in layer.iter().enumerate() {
        if let Some(&before) = i.checked_sub(1).and_then(|before| layer.get(before)) {
            let (left, right) = (layered.vertices[before], layered.vertices[vertex]);
            let boxes = left.node.is_some() && right.node.is_some();
            offset += (left.width + right.width) / 2.0 + if boxes { BOX_GAP } else { PASS_GAP };
        }
        offsets.push(offset);
    }
    offsets
}

fn place_layer(layered: &Layered, layer: usize, above: bool, below: bool, x: &mut [f64]) {
    let layer = &layered.layers[layer];
    let offsets = offsets(layered, layer);
    // Runs of vertices that stand as near to each other as they may: where the first would stand, how much that
    // weighs, and how many they are.
    let mut runs: Vec<(f64, f64, usize)> = Vec::new();
    for (&vertex, offset) in layer.iter().zip(&offsets) {
        let (wanted, weight) = wanted(layered, vertex, above, below, x);
        let mut run = (wanted - offset, weight, 1);
        while let Some(&(place, weight, count)) = runs.last().filter(|last| last.0 > run.0) {
            runs.pop();
            let total = weight + run.1;
            run = ((place * weight + run.0 * run.1) / total, total, count + run.2);
        }
        runs.push(run);
    }
    let places = runs.iter().flat_map(|&(place, _, count)| std::iter::repeat_n(place, count));
    for ((&vertex, offset), place) in layer.iter().zip(&offsets).zip(places) {
        x[vertex] = place + offset;
    }
}

/// Puts the places of an edge that closes a loop into one line, as far out as one of them is, where there is room.
fn straighten(layered: &Layered, x: &mut [f64]) {
    let mut beside = vec![(None, None); layered.vertices.len()];
    for layer in &layered.layers {
        for pair in layer.windows(2) {
            beside[pair[0]].1 = Some(pair[1]);
            beside[pair[1]].0 = Some(pair[0]);
        }
    }
    for (path, _) in layered.paths.iter().zip(&layered.back).filter(|(_, back)| **back) {
        let Some(&first) = path.first() else { continue };
        let Some(from) = layered.vertices[first].beside else { continue };
        let at_left = x[first] < x[from];
        let places = path.iter().map(|&vertex| x[vertex]);
        let line =
            if at_left { places.fold(f64::INFINITY, f64::min) } else { places.fold(f64::NEG_INFINITY, f64::max) };
        for &vertex in path {
            let neighbour = if at_left { beside[vertex].0 } else { beside[vertex].1 };
            let reach =
                |other: usize| (layered.vertices[other].width + layered.vertices[vertex].width) / 2.0 + PASS_GAP;
            if neighbour.is_none_or(|other| (x[other] - line).abs() >= reach(other) && (x[other] < line) == at_left) {
                x[vertex] = line;
            }
        }
    }
}

/// Where a vertex would stand if it were alone, and how much that matters.
fn wanted(layered: &Layered, vertex: usize, above: bool, below: bool, x: &[f64]) -> (f64, f64) {
    let (mut sum, mut total) = (0.0, 0.0);
    let above = layered.above[vertex].iter().filter(|_| above);
    for &(other, weight) in above.chain(layered.below[vertex].iter().filter(|_| below)) {
        sum += x[other] * weight;
        total += weight;
    }
    if let Some(beside) = layered.vertices[vertex].beside {
        let reach = layered.vertices[beside].width / 2.0 + PASS_GAP;
        let side = if x[vertex] < x[beside] { -reach } else { reach };
        sum += (x[beside] + side) * BESIDE;
        total += BESIDE;
    }
    if total == 0.0 { (x[vertex], IDLE) } else { (sum / total, total) }
}
