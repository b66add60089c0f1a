//! What stands for what in two functions that are equal up to renaming.

use std::hash::Hash;

use ircode::Stmt;

use super::keys::{hash, operand_key};
use super::matching::{Matching, Pairing};
use super::side::{Side, SideBlock};

/// Matches all blocks and statements of two functions, in such a manner that they are equal, if they can be: `None` if
/// they differ. What comes out has still to be compared, as colours are hashes.
///
/// The blocks, statements and entries of φs of both functions are one graph, of which each node has a colour: at first
/// what it says without what it names (`shapes`, for statements), then also what colours are at the other ends of its
/// edges in both directions, until no colour is split any more. That is colour refinement (the 1-dimensional method of
/// Weisfeiler and Leman) with Hopcroft's rule that the largest part of a split colour need not be looked at again,
/// which makes it O(m log n) (Cardon and Crochemore 1982; Berkholz, Bonsma and Grohe, "Tight Lower and Upper Bounds for
/// the Complexity of Canonical Colour Refinement", 2017). As everything that the entry reaches has a place of its own,
/// only what nothing tells apart shares a colour then: φs that nothing uses, blocks that nothing reaches. Of these one
/// of each function is given a colour of their own, and so on. If the two turn out to differ after all — loops of
/// different lengths may look the same to all of their blocks — it is taken back, and another one tried.
///
/// With `all`, gotos in the same place must have the same attributes if both functions have one there. What tells
/// blocks apart at once if all gotos are in both functions only makes some pairs of alike blocks better than others if
/// not.
pub(super) fn isomorphism(a: &Side<'_>, b: &Side<'_>, shapes: (&[u64], &[u64]), all: bool) -> Option<Matching> {
    let none = |side: &Side<'_>| vec![None; side.blocks.len()];
    let without = (none(a), none(b));
    if !all {
        return isomorphism_with(a, b, shapes, &without, &without);
    }
    let gotos = (goto_keys(a), goto_keys(b));
    isomorphism_with(a, b, shapes, &gotos, &gotos).or_else(|| isomorphism_with(a, b, shapes, &without, &gotos))
}

/// For each block, a hash of the attributes of its goto.
type GotoKeys = Vec<Option<u64>>;

fn goto_keys(side: &Side<'_>) -> GotoKeys {
    let goto = |block: &SideBlock| side.bb.inst(block.goto?);
    side.blocks.iter().map(|block| goto(block).map(|goto| hash((&goto.info, goto.line, goto.flag)))).collect()
}

/// With gotos that must be the same, and gotos that must not differ.
fn isomorphism_with(
    a: &Side<'_>,
    b: &Side<'_>,
    shapes: (&[u64], &[u64]),
    same: &(GotoKeys, GotoKeys),
    alike: &(GotoKeys, GotoKeys),
) -> Option<Matching> {
    if a.statements.len() != b.statements.len() || a.blocks.len() != b.blocks.len() {
        return None;
    }
    let (mut colours, mut edges) = (Vec::new(), Vec::new());
    describe(a, shapes.0, &same.0, &mut colours, &mut edges);
    let count = colours.len();
    describe(b, shapes.1, &same.1, &mut colours, &mut edges);
    if colours.len() != 2 * count {
        return None;
    }
    let mut partition = Partition::new(colours, edges)?;
    let mut queue = (0..partition.ranges.len() as u32).collect();
    let goto = |node: u32| match (node as usize).checked_sub(count) {
        Some(node) => alike.1.get(node).copied().flatten(),
        None => alike.0.get(node as usize).copied().flatten(),
    };
    if !partition.refine(&mut queue) || !partition.tell_apart(goto) {
        return None;
    }
    // A block could stand for a statement only if their hashes were the same.
    let other = |x: usize, first: usize| (partition.others(x).next()? as usize).checked_sub(count + first);
    let mut matching = Matching {
        blocks: Pairing::new(a.blocks.len(), b.blocks.len()),
        statements: Pairing::new(a.statements.len(), b.statements.len()),
    };
    for x in 0..a.blocks.len() {
        matching.blocks.pair(x, other(x, 0)?);
    }
    for x in 0..a.statements.len() {
        matching.statements.pair(x, other(a.blocks.len() + x, b.blocks.len())?);
    }
    Some(matching)
}

/// An edge from one node to another, with what it means.
type Edge = (u32, u32, u32);

/// The first colours and the edges of a function: its blocks, its statements, then the entries of its φs.
fn describe(side: &Side<'_>, shapes: &[u64], gotos: &[Option<u64>], colours: &mut Vec<u64>, edges: &mut Vec<Edge>) {
    let first = colours.len();
    let first_statement = first + side.blocks.len();
    let block_of = |number: usize| (first + number) as u32;
    let statement_of = |index: usize| (first_statement + index) as u32;
    for (number, block) in side.blocks.iter().enumerate() {
        let odd = side.bb.block(block.id).and_then(|block| block.odd_edges());
        let outside = odd.map(|odd| odd.virtual_preds);
        let lengths = (block.phis.len(), block.body.len());
        colours.push(hash(("block", number == 0, block.exit.is_some(), outside, gotos[number], lengths)));
        edges.extend(block.phis.clone().map(|phi| (block_of(number), statement_of(phi), label("phi", 0))));
        let body = block.body.clone().enumerate();
        edges.extend(body.map(|(place, index)| (block_of(number), statement_of(index), label("statement", place))));
        let mut to = |block, what, place| {
            edges.extend(side.number(block).map(|to| (block_of(number), block_of(to), label(what, place))));
        };
        if let Some(last) = block.body.clone().last() {
            let mut place = 0;
            side.stmt(last).for_each_target(|target| {
                to(target, "target", place);
                place += 1;
            });
        }
        block.exit.into_iter().for_each(|exit| to(exit, "exit", 0));
        if let Some(odd) = odd {
            odd.extra_succs.iter().for_each(|&block| to(block, "also to", 0));
            odd.missing_succs.iter().for_each(|&block| to(block, "not to", 0));
            odd.extra_preds.iter().for_each(|&block| to(block, "also from", 0));
        }
    }
    colours.extend_from_slice(shapes);
    for index in 0..side.statements.len() {
        let Stmt::Phi(phi) = side.stmt(index) else {
            let mut place = 0;
            side.stmt(index).for_each_use(|value| {
                edges.extend(side.value(value).map(|of| (statement_of(index), statement_of(of), label("use", place))));
                place += 1;
            });
            continue;
        };
        for entry in &phi.entries {
            let node = colours.len() as u32;
            colours.push(hash(("entry", entry.value.as_ref().map(operand_key))));
            edges.push((statement_of(index), node, label("entry", 0)));
            edges.extend(side.number(entry.edge).map(|from| (node, block_of(from), label("edge", 0))));
            let value = entry.value.as_ref().and_then(|value| side.value(value.as_value()?));
            edges.extend(value.map(|value| (node, statement_of(value), label("value", 0))));
        }
    }
}

/// What an edge means; even, so that its way back can be told from it.
fn label(what: &str, place: impl Hash) -> u32 {
    hash((what, place)) as u32 & !1
}

/// The nodes of both functions by colour. Each colour has as many nodes of the one as of the other.
struct Partition {
    /// The nodes, those of a colour together.
    nodes: Vec<u32>,
    /// For every node, its place among them and its colour.
    places: Vec<u32>,
    colours: Vec<u32>,
    /// For every colour, where its nodes begin and end.
    ranges: Vec<(u32, u32)>,
    /// Each colour that was split off, with the one that it had before.
    splits: Vec<(u32, u32)>,
    /// For every node, where its edges begin among the edges: the nodes at the other ends with what it is to them.
    starts: Vec<u32>,
    edges: Vec<(u32, u32)>,
    /// For every node, a hash of its edges to the nodes that are looked at.
    signatures: Vec<u64>,
}

impl Partition {
    /// `None` if a colour is more frequent in one function. The first half of the colours are those of the first.
    fn new(of_nodes: Vec<u64>, edges: Vec<Edge>) -> Option<Self> {
        let count = of_nodes.len();
        let mut nodes: Vec<u32> = (0..count as u32).collect();
        // Nodes of the two functions by turns, so that one of either is soon found.
        let half = count as u32 / 2;
        nodes.sort_unstable_by_key(|&node| (of_nodes[node as usize], node % half.max(1), node));
        let mut places = vec![0; count];
        let mut colours = vec![0; count];
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut start = 0;
        for of_colour in nodes.chunk_by(|&x, &y| of_nodes[x as usize] == of_nodes[y as usize]) {
            if !is_balanced(of_colour.iter().copied(), half) {
                return None;
            }
            for (place, &node) in of_colour.iter().enumerate() {
                places[node as usize] = start + place as u32;
                colours[node as usize] = ranges.len() as u32;
            }
            ranges.push((start, start + of_colour.len() as u32));
            start += of_colour.len() as u32;
        }
        let mut starts = vec![0; count + 1];
        for &(from, to, _) in &edges {
            starts[from as usize] += 1;
            starts[to as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut sorted = vec![(0, 0); 2 * edges.len()];
        for (from, to, label) in edges {
            for (of, edge) in [(from, (to, label | 1)), (to, (from, label))] {
                starts[of as usize] -= 1;
                sorted[starts[of as usize] as usize] = edge;
            }
        }
        let splits = Vec::new();
        Some(Partition { nodes, places, colours, ranges, splits, starts, edges: sorted, signatures: vec![0; count] })
    }

    fn half(&self) -> u32 {
        self.colours.len() as u32 / 2
    }

    /// The nodes of a colour.
    fn of_colour(&self, colour: u32) -> &[u32] {
        let (start, end) = self.ranges[colour as usize];
        &self.nodes[start as usize..end as usize]
    }

    /// The nodes of the second function with the colour of this one.
    fn others(&self, node: usize) -> impl Iterator<Item = u32> + '_ {
        let half = self.half();
        self.of_colour(self.colours[node]).iter().copied().filter(move |&other| other >= half)
    }

    /// Splits colours by their edges to each colour in the queue and to those that are split off. False if the two
    /// functions differ.
    fn refine(&mut self, queue: &mut Vec<u32>) -> bool {
        let mut touched = Vec::new();
        while let Some(colour) = queue.pop() {
            let (start, end) = self.ranges[colour as usize];
            for place in start..end {
                let node = self.nodes[place as usize] as usize;
                for edge in self.starts[node]..self.starts[node + 1] {
                    let (other, label) = self.edges[edge as usize];
                    let signature = &mut self.signatures[other as usize];
                    if *signature == 0 {
                        touched.push(other);
                    }
                    // Odd, so that only a sum of many could be taken for none; the multiplier is that of splitmix64.
                    let label = u64::from(label).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    *signature = signature.wrapping_add((label ^ (label >> 29)) | 1).max(1);
                }
            }
            touched.sort_unstable_by_key(|&node| (self.colours[node as usize], self.signatures[node as usize], node));
            let mut rest = touched.as_slice();
            let mut balanced = true;
            while let Some(&node) = rest.first().filter(|_| balanced) {
                let colour = self.colours[node as usize];
                let count = rest.iter().take_while(|&&node| self.colours[node as usize] == colour).count();
                let (of_colour, others) = rest.split_at(count);
                balanced = self.split(colour, of_colour, queue);
                rest = others;
            }
            for node in touched.drain(..) {
                self.signatures[node as usize] = 0;
            }
            if !balanced {
                queue.clear();
                return false;
            }
        }
        true
    }

    /// Splits a colour by the signatures of some of its nodes, which are sorted by them; the other nodes have none. All
    /// parts but the largest are queued. False if one of them has more nodes of one function.
    fn split(&mut self, colour: u32, some: &[u32], queue: &mut Vec<u32>) -> bool {
        let (start, end) = self.ranges[colour as usize];
        let mut parts: Vec<(u32, u32)> = Vec::new();
        let mut to = end;
        for part in some.chunk_by(|&x, &y| self.signatures[x as usize] == self.signatures[y as usize]) {
            if !is_balanced(part.iter().copied(), self.half()) {
                return false;
            }
            parts.push((to - part.len() as u32, to));
            to -= part.len() as u32;
        }
        // From the end of the colour, in order: a place that is taken has nothing in it that has moved already.
        for (&node, place) in some.iter().zip((to..end).rev()) {
            let (from, other) = (self.places[node as usize], self.nodes[place as usize]);
            self.nodes.swap(from as usize, place as usize);
            (self.places[node as usize], self.places[other as usize]) = (place, from);
        }
        parts.extend((start < to).then_some((start, to)));
        let largest = (0..parts.len()).max_by_key(|&part| parts[part].1 - parts[part].0).unwrap_or_default();
        for (part, (start, end)) in parts.into_iter().enumerate() {
            let new = if part == largest { colour } else { self.ranges.len() as u32 };
            if part == largest {
                self.ranges[colour as usize] = (start, end);
                continue;
            }
            self.ranges.push((start, end));
            for place in start..end {
                self.colours[self.nodes[place as usize] as usize] = new;
            }
            self.splits.push((new, colour));
            queue.push(new);
        }
        true
    }

    /// Gives each node of the first function a colour that it shares with one of the second only. False if no way to do
    /// so was found. Of two blocks with a goto each, these must be the same.
    fn tell_apart(&mut self, goto: impl Fn(u32) -> Option<u64>) -> bool {
        // Work that is taken back, in nodes: linear altogether.
        let mut patience = 4 * self.colours.len() + MOST_TRIES;
        let half = self.half();
        let (first, then) = ((0..half).filter(|&x| goto(x).is_some()), (0..half).filter(|&x| goto(x).is_none()));
        for x in first.chain(then) {
            if self.of_colour(self.colours[x as usize]).len() == 2 {
                continue;
            }
            let may_be = |y: &u32| goto(x).is_none() || goto(*y).is_none() || goto(x) == goto(*y);
            let mut candidates: Vec<u32> = self.others(x as usize).take(MOST_TRIES).filter(may_be).collect();
            candidates.sort_by_key(|&y| goto(x) != goto(y));
            let before = self.splits.len();
            let mut found = false;
            for y in candidates {
                if self.single_out(x, y) {
                    found = true;
                    break;
                }
                let undone = self.undo(before) + 1;
                if undone > patience {
                    return false;
                }
                patience -= undone;
            }
            if !found {
                return false;
            }
        }
        true
    }

    /// Gives two nodes of a colour one of their own, and refines. False if the two functions differ then.
    fn single_out(&mut self, x: u32, y: u32) -> bool {
        for node in [x, y] {
            self.signatures[node as usize] = 1;
        }
        let mut queue = Vec::new();
        let split = self.split(self.colours[x as usize], &[x, y], &mut queue);
        for node in [x, y] {
            self.signatures[node as usize] = 0;
        }
        split && self.refine(&mut queue)
    }

    /// Takes all splits back but so many, and says of how many nodes.
    fn undo(&mut self, splits: usize) -> usize {
        let mut undone = 0;
        for (new, colour) in self.splits.split_off(splits).into_iter().rev() {
            let (start, end) = self.ranges[new as usize];
            for place in start..end {
                self.colours[self.nodes[place as usize] as usize] = colour;
            }
            let range = &mut self.ranges[colour as usize];
            *range = (range.0.min(start), range.1.max(end));
            undone += (end - start) as usize;
            self.ranges.truncate(new as usize);
        }
        undone
    }
}

/// At most this many nodes of the second function are tried for one of the first.
const MOST_TRIES: usize = 64;

/// Whether there are as many nodes of the first function, which come first, as of the second.
fn is_balanced(nodes: impl ExactSizeIterator<Item = u32>, half: u32) -> bool {
    let count = nodes.len();
    2 * nodes.filter(|&node| node < half).count() == count
}
