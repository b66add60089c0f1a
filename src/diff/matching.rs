//! Which blocks and statements of two functions stand for each other.

use std::collections::VecDeque;

use bbcode::InstId;
use hashbrown::HashMap;
use ircode::Stmt;

use super::align::align_levels;
use super::keys::{Keys, alike, shapes};
use super::refinement::isomorphism;
use super::side::Side;

/// Pairs of numbers, each in one pair at most.
pub(super) struct Pairing {
    of_a: Vec<u32>,
    of_b: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Pairing {
    pub(super) fn new(a: usize, b: usize) -> Self {
        Pairing { of_a: vec![NONE; a], of_b: vec![NONE; b] }
    }

    /// What stands for this of the first function.
    pub(super) fn of_a(&self, a: usize) -> Option<usize> {
        self.of_a.get(a).filter(|&&b| b != NONE).map(|&b| b as usize)
    }

    /// What stands for this of the second function.
    pub(super) fn of_b(&self, b: usize) -> Option<usize> {
        self.of_b.get(b).filter(|&&a| a != NONE).map(|&a| a as usize)
    }

    /// Pairs two that are in no pair yet. False if one is.
    pub(super) fn pair(&mut self, a: usize, b: usize) -> bool {
        let free = self.of_a.get(a) == Some(&NONE) && self.of_b.get(b) == Some(&NONE);
        if free {
            (self.of_a[a], self.of_b[b]) = (b as u32, a as u32);
        }
        free
    }
}

/// What stands for what.
pub(super) struct Matching {
    pub(super) blocks: Pairing,
    pub(super) statements: Pairing,
}

/// Matches two functions: exactly if they are equal up to renaming, and by likeness if not. With `all`, lines, flags
/// and infos tell statements apart.
pub(super) fn matched(a: &Side<'_>, b: &Side<'_>, all: bool) -> Matching {
    let shapes = (shapes(a, all), shapes(b, all));
    isomorphism(a, b, (&shapes.0, &shapes.1), all).unwrap_or_else(|| matched_by_likeness(a, b, shapes))
}

/// Matches blocks, then the statements of each two by the keys of both, then φs.
fn matched_by_likeness(a: &Side<'_>, b: &Side<'_>, shapes: (Vec<u64>, Vec<u64>)) -> Matching {
    let keys = (Keys::new(a, shapes.0), Keys::new(b, shapes.1));
    let blocks = matched_blocks(a, b, &keys.0, &keys.1);
    let mut statements = Pairing::new(a.statements.len(), b.statements.len());
    for (number, block) in a.blocks.iter().enumerate() {
        let Some(other) = blocks.of_a(number).map(|other| &b.blocks[other]) else { continue };
        let (of_a, of_b) = (block.body.clone(), other.body.clone());
        let levels = [
            (&keys.0.deep, &keys.1.deep),
            (&keys.0.near, &keys.1.near),
            (&keys.0.shape, &keys.1.shape),
            (&keys.0.kind, &keys.1.kind),
            (&keys.0.class, &keys.1.class),
        ];
        let levels = levels.map(|(a, b)| (&a[of_a.clone()], &b[of_b.clone()]));
        for (x, y) in align_levels(levels) {
            statements.pair(of_a.start + x, of_b.start + y);
        }
    }
    let mut phis = Phis { a, b, keys: (&keys.0, &keys.1), blocks: &blocks, statements, work: VecDeque::new() };
    phis.run();
    let statements = phis.statements;
    Matching { blocks, statements }
}

/// Walks both graphs from the entry in parallel. Where a block has no likeness to the one in the same place, as where a
/// block was inserted on an edge, other ways to find its counterpart go first.
fn matched_blocks(a: &Side<'_>, b: &Side<'_>, of_a: &Keys, of_b: &Keys) -> Pairing {
    let mut walk = Walk { a, b, of_a, of_b, blocks: Pairing::new(a.blocks.len(), b.blocks.len()), seen: Vec::new() };
    if !a.blocks.is_empty() && !b.blocks.is_empty() {
        walk.pair(0, 0);
    }
    let levels =
        [(&of_a.surroundings, &of_b.surroundings), (&of_a.content, &of_b.content), (&of_a.outline, &of_b.outline)];
    for (of_a, of_b) in levels {
        walk.follow(0, true);
        walk.pair_equal(of_a, of_b, true);
    }
    walk.follow(0, true);
    for (of_a, of_b) in levels {
        walk.pair_equal(of_a, of_b, false);
    }
    walk.follow(0, false);
    walk.blocks
}

struct Walk<'s, 'a> {
    a: &'s Side<'a>,
    b: &'s Side<'a>,
    of_a: &'s Keys,
    of_b: &'s Keys,
    blocks: Pairing,
    /// The pairs, in the order in which they were found.
    seen: Vec<(usize, usize)>,
}

impl Walk<'_, '_> {
    fn pair(&mut self, a: usize, b: usize) {
        if self.blocks.pair(a, b) {
            self.seen.push((a, b));
        }
    }

    /// Pairs the corresponding successors of the pairs from this one on, and so on; if asked, only those that are
    /// alike.
    fn follow(&mut self, mut at: usize, only_alike: bool) {
        while let Some(&(x, y)) = self.seen.get(at) {
            at += 1;
            for (&x, &y) in self.a.blocks[x].succs.iter().zip(&self.b.blocks[y].succs) {
                if !only_alike || alike(&self.of_a.sketch[x], &self.of_b.sketch[y]) {
                    self.pair(x, y);
                }
            }
        }
    }

    /// Pairs blocks of equal keys: those that only one block on each side has, or else in layout order, following their
    /// successors.
    fn pair_equal(&mut self, of_a: &[u64], of_b: &[u64], unique: bool) {
        let mut places: HashMap<u64, (usize, VecDeque<usize>)> = HashMap::new();
        for (_, &key) in of_a.iter().enumerate().filter(|(number, _)| self.blocks.of_a(*number).is_none()) {
            places.entry(key).or_default().0 += 1;
        }
        for (number, &key) in of_b.iter().enumerate().filter(|(number, _)| self.blocks.of_b(*number).is_none()) {
            places.entry(key).or_default().1.push_back(number);
        }
        // In layout order, not in that of hashing.
        for (number, key) in of_a.iter().enumerate() {
            let Some((count, others)) = places.get_mut(key) else { continue };
            if unique && (*count != 1 || others.len() != 1) || self.blocks.of_a(number).is_some() {
                continue;
            }
            let free = std::iter::from_fn(|| others.pop_front()).find(|&other| self.blocks.of_b(other).is_none());
            if let Some(other) = free {
                let before = self.seen.len();
                self.pair(number, other);
                if !unique {
                    self.follow(before, true);
                }
            }
        }
    }
}

/// Pairs φs: by keys that one φ of a block has alone, then by what uses them, then what is left in order.
struct Phis<'s, 'a> {
    a: &'s Side<'a>,
    b: &'s Side<'a>,
    keys: (&'s Keys, &'s Keys),
    blocks: &'s Pairing,
    statements: Pairing,
    /// Pairs of φs whose values are to be paired.
    work: VecDeque<(usize, usize)>,
}

impl Phis<'_, '_> {
    fn run(&mut self) {
        let keys = self.keys;
        self.pair_equal(&keys.0.deep, &keys.1.deep, true);
        self.follow();
        for (of_a, of_b) in [(&keys.0.deep, &keys.1.deep), (&keys.0.shape, &keys.1.shape)] {
            for (x, key) in of_a.iter().enumerate() {
                if let Some(y) = self.statements.of_a(x).filter(|&y| *key == of_b[y]) {
                    self.pair_operands(x, y);
                    self.follow();
                }
            }
        }
        for (of_a, of_b) in [
            (&keys.0.deep, &keys.1.deep),
            (&keys.0.near, &keys.1.near),
            (&keys.0.shape, &keys.1.shape),
            (&keys.0.class, &keys.1.class),
        ] {
            self.pair_equal(of_a, of_b, false);
            self.follow();
        }
    }

    /// Pairs φs of equal keys in paired blocks.
    fn pair_equal(&mut self, of_a: &[u64], of_b: &[u64], unique: bool) {
        for (number, block) in self.a.blocks.iter().enumerate() {
            let Some(other) = self.blocks.of_a(number).map(|other| &self.b.blocks[other]) else { continue };
            let mut places: HashMap<u64, (usize, VecDeque<usize>)> = HashMap::new();
            for x in block.phis.clone().filter(|&x| self.statements.of_a(x).is_none()) {
                places.entry(of_a[x]).or_default().0 += 1;
            }
            for y in other.phis.clone().filter(|&y| self.statements.of_b(y).is_none()) {
                places.entry(of_b[y]).or_default().1.push_back(y);
            }
            for x in block.phis.clone() {
                let Some((count, others)) = places.get_mut(&of_a[x]) else { continue };
                if unique && (*count != 1 || others.len() != 1) || self.statements.of_a(x).is_some() {
                    continue;
                }
                while let Some(y) = others.pop_front() {
                    if self.statements.pair(x, y) {
                        self.work.push_back((x, y));
                        if !unique {
                            self.follow();
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Pairs what the φs that were paired take from corresponding edges.
    fn follow(&mut self) {
        while let Some((x, y)) = self.work.pop_front() {
            let (Stmt::Phi(of_a), Stmt::Phi(of_b)) = (self.a.stmt(x), self.b.stmt(y)) else { continue };
            let mut values: Vec<(usize, InstId)> = of_b
                .entries
                .iter()
                .filter_map(|entry| Some((self.b.number(entry.edge)?, entry.value.as_ref()?.as_value()?)))
                .collect();
            values.sort_unstable();
            for entry in &of_a.entries {
                let edge = self.a.number(entry.edge).and_then(|edge| self.blocks.of_a(edge));
                let (Some(edge), Some(value)) = (edge, entry.value.as_ref().and_then(|value| value.as_value())) else {
                    continue;
                };
                if let Ok(found) = values.binary_search_by_key(&edge, |(edge, _)| *edge) {
                    self.pair_phis(value, values[found].1);
                }
            }
        }
    }

    /// Pairs the φs that two statements use in the same place.
    fn pair_operands(&mut self, x: usize, y: usize) {
        if matches!(self.a.stmt(x), Stmt::Phi(_)) {
            return;
        }
        let uses = |side: &Side<'_>, index: usize| {
            let mut uses = Vec::new();
            side.stmt(index).for_each_use(|value| uses.push(value));
            uses
        };
        for (value, other) in uses(self.a, x).into_iter().zip(uses(self.b, y)) {
            self.pair_phis(value, other);
        }
    }

    /// Pairs two values if they are φs of blocks that stand for each other.
    fn pair_phis(&mut self, value: InstId, other: InstId) {
        let (Some(x), Some(y)) = (self.a.value(value), self.b.value(other)) else { return };
        let both_phis = matches!((self.a.stmt(x), self.b.stmt(y)), (Stmt::Phi(_), Stmt::Phi(_)));
        if both_phis && self.blocks.of_a(self.a.home[x]) == Some(self.b.home[y]) && self.statements.pair(x, y) {
            self.work.push_back((x, y));
        }
    }
}
