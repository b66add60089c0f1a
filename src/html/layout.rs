//! Where the boxes and the arrows of a control-flow graph are drawn.
//!
//! The method is that of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system
//! structures", 1981): edges that close a loop are set aside (`layers`), every block gets a layer below those that it
//! is reached from, edges that cross layers are cut into links from one layer to the next, the order inside of the
//! layers is improved by sweeps that put everything at the mean of its neighbours (`order`), edges that close a loop
//! are led up beside the blocks of the loop (`loops`), and then everything gets a place as near to its neighbours as
//! that order allows (`place`).

mod layers;
mod loops;
mod order;
mod place;
mod route;

pub(crate) use self::route::{EdgePath, Side, rounded};

/// At most this many blocks are drawn; a graph of more is no picture that anybody could read.
pub(crate) const MOST_BLOCKS: usize = 400;
/// So many places where edges cross layers: a bound on the time that drawing takes.
const MOST_CROSSINGS_OF_LAYERS: usize = 20_000;
/// Between layers, for arrows.
const LAYER_GAP: f64 = 56.0;
/// Around everything.
const MARGIN: f64 = 14.0;

/// How large a box is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A drawing: where the boxes and the arrows are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Drawing {
    pub(crate) size: Size,
    /// The left upper corners of the boxes.
    pub(crate) boxes: Vec<(f64, f64)>,
    /// The edges, in the order in which they were given.
    pub(crate) edges: Vec<EdgePath>,
}

/// What stands in a layer: a box, or a place where an edge passes.
#[derive(Clone, Copy, Debug)]
struct Vertex {
    layer: usize,
    width: f64,
    /// The box; `None` where an edge passes.
    node: Option<usize>,
    /// The ends of the edge that passes.
    passing: Option<(usize, usize)>,
    /// The box beside which this stands, for an end of an edge that closes a loop.
    beside: Option<usize>,
}

/// Boxes and passing edges in layers.
struct Layered {
    /// The boxes first, then the others.
    vertices: Vec<Vertex>,
    /// The neighbours in the layer above and in the layer below, each with how much it matters that they stand in line.
    above: Vec<Vec<(usize, f64)>>,
    below: Vec<Vec<(usize, f64)>>,
    /// The vertices of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// Through which vertices each edge passes: downwards, or upwards for one that closes a loop.
    paths: Vec<Vec<usize>>,
    /// Which edges close a loop.
    back: Vec<bool>,
}

/// Draws a graph whose boxes have these sizes: box 0 is the entry. `None` if it is too large.
pub(crate) fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Option<Drawing> {
    if sizes.len() > MOST_BLOCKS {
        return None;
    }
    let mut layered = layers::layered(sizes, edges)?;
    order::order(&mut layered);
    loops::close(&mut layered, sizes.len(), edges);
    let centres = place::place(&layered);
    Some(route::route(&layered, sizes, edges, &centres))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<Size> {
        vec![Size { width: 100.0, height: 40.0 }; count]
    }

    #[test]
    fn blocks_stand_below_those_that_lead_to_them() {
        let drawing = layout(&boxes(5), &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (4, 3)]).unwrap();
        let y = |node: usize| drawing.boxes[node].1;
        assert!(y(0) < y(1) && y(1) == y(2) && y(2) < y(3));
        // What nothing leads to stands right above what it leads to.
        assert_eq!(y(4), y(2));
        assert_eq!(
            drawing.edges.iter().map(|edge| edge.back).collect::<Vec<_>>(),
            [false, false, false, false, true, false]
        );
    }

    #[test]
    fn boxes_never_overlap() {
        for seed in 0..60u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            let count = 1 + random(30);
            let sizes: Vec<Size> = (0..count)
                .map(|_| Size { width: 40.0 + random(200) as f64, height: 20.0 + random(90) as f64 })
                .collect();
            let edges: Vec<(usize, usize)> = (0..random(60)).map(|_| (random(count), random(count))).collect();
            let drawing = layout(&sizes, &edges).unwrap();
            assert_eq!(drawing, layout(&sizes, &edges).unwrap());
            assert_eq!(drawing.edges.len(), edges.len());
            for (a, (at, size)) in drawing.boxes.iter().zip(&sizes).enumerate() {
                assert!(at.0 >= 0.0 && at.1 >= 0.0);
                assert!(at.0 + size.width <= drawing.size.width && at.1 + size.height <= drawing.size.height);
                for (other, other_size) in drawing.boxes.iter().zip(&sizes).skip(a + 1) {
                    let apart_x = at.0 + size.width <= other.0 || other.0 + other_size.width <= at.0;
                    let apart_y = at.1 + size.height <= other.1 || other.1 + other_size.height <= at.1;
                    assert!(apart_x || apart_y, "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        assert!(layout(&boxes(MOST_BLOCKS + 1), &[]).is_none());
        let back: Vec<(usize, usize)> =
            (1..MOST_BLOCKS).map(|i| (i - 1, i)).chain((1..MOST_BLOCKS).map(|i| (i, 0))).collect();
        assert!(layout(&boxes(MOST_BLOCKS), &back).is_none());
        assert!(layout(&boxes(MOST_BLOCKS), &back[..MOST_BLOCKS]).is_some());
        assert!(layout(&[], &[]).is_some());
    }
}
