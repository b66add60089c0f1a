//! The arrows.

use std::fmt::Write;

use super::{Drawing, LAYER_GAP, Layered, MARGIN, Size};

/// Between the places at which arrows leave a box.
const LEAVE_GAP: f64 = 40.0;
/// Between the places at which arrows reach a box.
const ARRIVE_GAP: f64 = 18.0;
/// How far an arrow goes straight down before it bends.
const STRAIGHT: f64 = 13.0;
/// How long an arrow's head is.
const HEAD: f64 = 7.0;
/// How far an arrow that turns around reaches, at most.
const TURN: f64 = 34.0;
/// How far it reaches, at least.
const LEAST_TURN: f64 = 18.0;

/// An edge as it is drawn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EdgePath {
    /// The line, as the `d` of an SVG path.
    pub(crate) line: String,
    /// The head.
    pub(crate) head: String,
    /// Where it leaves its box.
    pub(crate) start: (f64, f64),
    /// On which side of its start there is place for a label.
    pub(crate) side: Side,
    /// Whether it closes a loop.
    pub(crate) back: bool,
}

/// A side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Draws the edges, and says where the boxes are.
pub(super) fn route(layered: &Layered, sizes: &[Size], edges: &[(usize, usize)], x: &[f64]) -> Drawing {
    let mut tops = Vec::with_capacity(layered.layers.len());
    let mut bottoms = Vec::with_capacity(layered.layers.len());
    // A loop back to the first layer turns around above it.
    let turns = layered.vertices.iter().any(|vertex| vertex.layer == 0 && vertex.beside.is_some());
    let mut y = if turns { MARGIN + TURN } else { MARGIN };
    for layer in &layered.layers {
        let height = |&vertex: &usize| layered.vertices[vertex].node.map_or(0.0, |node| sizes[node].height);
        let height = layer.iter().map(height).fold(0.0, f64::max);
        tops.push(y);
        bottoms.push(y + height);
        y += height + LAYER_GAP;
    }
    let top_of = |node: usize| tops[layered.vertices[node].layer];
    let boxes: Vec<(f64, f64)> =
        sizes.iter().enumerate().map(|(node, size)| (x[node] - size.width / 2.0, top_of(node))).collect();
    let (leaving, arriving) = (ends(layered, sizes, edges, x, true), ends(layered, sizes, edges, x, false));
    let mut leave = vec![0; sizes.len()];
    edges.iter().for_each(|&(from, _)| leave[from] += 1);
    let mut paths = Vec::with_capacity(edges.len());
    for (edge, &(from, to)) in edges.iter().enumerate() {
        let (start_x, side) = leaving[edge];
        let (end_x, _) = arriving[edge];
        let start = (start_x, boxes[from].1 + sizes[from].height);
        let mut line = Line::new(start);
        let passes: Vec<(f64, f64, f64)> = layered.paths[edge]
            .iter()
            .map(|&vertex| {
                let layer = layered.vertices[vertex].layer;
                (x[vertex], tops[layer], bottoms[layer])
            })
            .collect();
        let end = (end_x, boxes[to].1);
        let bottom = bottoms[layered.vertices[from].layer];
        if layered.back[edge] {
            // Where several edges leave a box, they have labels.
            line.straight_to(if leave[from] > 1 { bottom + STRAIGHT } else { bottom });
            for (i, &(x, top, bottom)) in passes.iter().enumerate() {
                if i == 0 {
                    line.turn_to(x, bottom, 1.0)
                } else {
                    line.curve_to(x, bottom)
                }
                line.straight_to(top);
            }
            line.turn_to(end.0, end.1 - HEAD, -1.0);
        } else {
            // Some way straight down first, where the label is.
            line.straight_to(bottom + STRAIGHT);
            for &(x, top, bottom) in &passes {
                line.curve_to(x, top);
                line.straight_to(bottom);
            }
            line.curve_to(end.0, end.1 - HEAD);
        }
        let half = HEAD * 0.6;
        let (left, right, base) = (rounded(end.0 - half), rounded(end.0 + half), rounded(end.1 - HEAD - 1.0));
        let head = format!("M{left} {base}L{} {}L{right} {base}Z", rounded(end.0), rounded(end.1));
        paths.push(EdgePath { line: line.path, head, start, side, back: layered.back[edge] });
    }
    let right = layered.vertices.iter().zip(x).map(|(vertex, x)| x + vertex.width / 2.0).fold(0.0, f64::max);
    let turns = layered.paths.iter().zip(&layered.back).any(|(path, back)| {
        *back && path.first().is_some_and(|&first| layered.vertices[first].layer + 1 == layered.layers.len())
    });
    let below = if turns { TURN + STRAIGHT } else { 0.0 };
    let height = bottoms.last().map_or(0.0, |bottom| bottom + MARGIN + below);
    Drawing { size: Size { width: right + MARGIN, height }, boxes, edges: paths }
}

/// Where the edges leave or reach their boxes: spread around the middle, in the order of where they go or come from.
fn ends(layered: &Layered, sizes: &[Size], edges: &[(usize, usize)], x: &[f64], leaving: bool) -> Vec<(f64, Side)> {
    let mut at: Vec<Vec<(f64, usize)>> = vec![Vec::new(); sizes.len()];
    for (edge, &(from, to)) in edges.iter().enumerate() {
        let path = &layered.paths[edge];
        let (node, other) = match leaving {
            true => (from, path.first().copied().unwrap_or(to)),
            false => (to, path.last().copied().unwrap_or(from)),
        };
        at[node].push((x[other], edge));
    }
    let mut ends = vec![(0.0, Side::Right); edges.len()];
    for (node, mut at) in at.into_iter().enumerate() {
        at.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let most = if leaving { LEAVE_GAP } else { ARRIVE_GAP };
        let gap = most.min((sizes[node].width - 16.0).max(8.0) / at.len().max(1) as f64);
        let middle = at.len().saturating_sub(1) as f64 / 2.0;
        for (i, &(_, edge)) in at.iter().enumerate() {
            let side = if (i as f64) < middle { Side::Left } else { Side::Right };
            ends[edge] = (x[node] + (i as f64 - middle) * gap, side);
        }
    }
    ends
}

/// A line being drawn.
struct Line {
    path: String,
    at: (f64, f64),
}

impl Line {
    fn new(start: (f64, f64)) -> Line {
        Line { path: format!("M{} {}", rounded(start.0), rounded(start.1)), at: start }
    }

    fn straight_to(&mut self, y: f64) {
        if (y - self.at.1).abs() > 0.05 {
            let _ = write!(self.path, "V{}", rounded(y));
            self.at.1 = y;
        }
    }

    /// A curve that leaves and arrives upright.
    fn curve_to(&mut self, x: f64, y: f64) {
        let bend = (y - self.at.1) * 0.5;
        self.cubic(bend, -bend, (x, y));
    }

    /// A half turn, downwards if `way` is 1, upwards if it is -1. A wide one goes around a narrow one.
    fn turn_to(&mut self, x: f64, y: f64, way: f64) {
        let reach = way * ((x - self.at.0).abs() / 10.0).clamp(LEAST_TURN, TURN);
        let far = if way > 0.0 { self.at.1.max(y) + reach } else { self.at.1.min(y) + reach };
        self.cubic(far - self.at.1, far - y, (x, y));
    }

    fn cubic(&mut self, first: f64, second: f64, end: (f64, f64)) {
        let (x0, y0) = self.at;
        let (x, y) = end;
        let (a, b) = (rounded(y0 + first), rounded(y + second));
        let _ = write!(self.path, "C{} {a} {} {b} {} {}", rounded(x0), rounded(x), rounded(x), rounded(y));
        self.at = end;
    }
}

/// A coordinate, to a tenth.
pub(crate) fn rounded(x: f64) -> f64 {
    // Adding zero turns -0 into 0.
    (x * 10.0).round() / 10.0 + 0.0
}
