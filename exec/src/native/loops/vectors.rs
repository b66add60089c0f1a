//! Several rounds of a straight loop at once: two by two in vectors of two `Float64`s where the order of the accesses
//! allows it, and without going through memory for what a round has just read or written.
//!
//! As a superword-level vectoriser does (Larsen and Amarasinghe, "Exploiting superword level parallelism", PLDI 2000),
//! but on rounds: each operation is done for two rounds before the next one. What depends on a number that the round
//! before left in a φ is done one after the other, so that every result has the bits that the loop as it is written
//! gives. Addresses are an address from before the loop and a distance that grows by the same in each turn (strength
//! reduction).

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use ircode::{IRCode, ScalarType};
use smallvec::SmallVec;

use super::residents::Residents;
use super::straight::{Access, Object, Source, Start, Step, StraightLoop};
use crate::native::function::{Compiled, FunctionCompiler};
use crate::native::layout::{Layout, Shape, array};

/// So many rounds are one turn, for bodies of up to so many steps.
const TURNS: [(usize, i64); 2] = [(24, 4), (80, 2)];

/// At most this many clusters of one object are compared before a large loop.
const MOST_COMPARED: usize = 4;

/// The bytes of a number.
pub(crate) const BYTES: i64 = 8;

/// A straight loop that is ready to be entered, with what is the same in all turns.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) straight: Rc<StraightLoop>,
    /// How many rounds a turn has.
    pub(crate) rounds: i64,
    /// How many of them are done at once: 1 or 2.
    pub(crate) lanes: i64,
    /// The steps that are done for one round after the other.
    pub(crate) serial: Vec<bool>,
    /// Whether the later one of two rounds is the first in a vector.
    pub(crate) reversed: bool,
    places: Vec<Place>,
    pub(crate) clusters: Vec<Cluster>,
    /// The cluster of a group's elements that move by a factor.
    cluster_numbers: HashMap<(usize, i64), usize>,
    /// By cluster and place in round 0, how many bytes from there the number lies with which it is loaded.
    beside: HashMap<(usize, i64), i64>,
    pub(crate) uniform: Vec<ir::Value>,
    /// Eight times the rounds that are done.
    pub(crate) done: Variable,
}

/// Elements of a group that move by the same from round to round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster {
    pub(crate) group: usize,
    object: usize,
    /// Bytes from round to round.
    pub(crate) step: i64,
    /// Two clusters share no memory if these numbers differ.
    pub(crate) region: usize,
    /// Whether the loop changes something in the object.
    pub(crate) stored: bool,
    /// Bytes from the start of the group to where the first and behind where the last of its numbers in round 0 lie.
    from: i64,
    to: i64,
}

impl Window {
    /// The cluster of an access, and the bytes from the start of its group in round 0.
    pub(crate) fn cluster_of(&self, access: &Access) -> Option<(usize, i64)> {
        let place = self.places.get(access.group)?;
        let cluster = *self.cluster_numbers.get(&(access.group, access.factor))?;
        Some((cluster, access.offset * place.size + place.offsets.get(access.part)?))
    }

    /// How many bytes from what is accessed the number lies with which it is loaded and stored; 0 if there is none.
    pub(crate) fn beside(&self, access: &Access) -> i64 {
        self.cluster_of(access).and_then(|place| self.beside.get(&place)).copied().unwrap_or(0)
    }

    /// Where the group of a cluster starts, and how many bytes the cluster moves in a round.
    pub(crate) fn start_of(&self, cluster: usize) -> Option<(ir::Value, i64)> {
        let cluster = self.clusters.get(cluster)?;
        Some((self.places.get(cluster.group)?.start, cluster.step))
    }

    /// Whether its body is so long that there is no other version without checks.
    pub(crate) fn is_large(&self) -> bool {
        self.straight.is_large()
    }

    /// The groups and offsets of elements that stay in registers.
    pub(crate) fn places_of(&self, residents: &Residents) -> Vec<Option<(usize, i64)>> {
        residents.in_straight(&self.straight)
    }
}

/// Where a group of elements lies.
#[derive(Clone, Debug)]
struct Place {
    start: ir::Value,
    size: i64,
    offsets: SmallVec<[i64; 2]>,
}

impl FunctionCompiler<'_, '_> {
    /// Prepares a loop to be entered, in front of it: there is none if its types or its accesses do not allow it.
    /// Control goes to `otherwise` where objects turn out to share memory.
    pub(crate) fn prepare_window(
        &mut self,
        ir: &IRCode,
        straight: &Rc<StraightLoop>,
        last: ir::Value,
        otherwise: ir::Block,
    ) -> Compiled<Option<Window>> {
        let steps = straight.steps.len();
        let rounds = TURNS.iter().find(|(most, _)| steps <= *most).map(|(_, rounds)| *rounds);
        let phis = straight.carried.iter().map(|(phi, _)| phi).chain(straight.counters.iter().map(|(phi, _)| phi));
        if phis.clone().any(|phi| self.phi_variable(*phi).is_none()) {
            return Ok(None);
        }
        let mut uniform = Vec::with_capacity(straight.uniform.len());
        for operand in &straight.uniform {
            let (value, defined) = self.peek(ir, operand)?;
            match (value.layout.scalar(), value.one(), defined) {
                (Some(ScalarType::Float64), Some(number), None) => uniform.push(number),
                _ => return Ok(None),
            }
        }
        let mut places = Vec::with_capacity(straight.groups.len());
        for group in 0..straight.groups.len() {
            match self.place(ir, straight, group)? {
                Some(place) => places.push(place),
                None => return Ok(None),
            }
        }
        let in_bytes = |access: &Access| {
            let place = places.get(access.group)?;
            let at = access.offset.checked_mul(place.size)?.checked_add(*place.offsets.get(access.part)?)?;
            let step = access.factor.checked_mul(place.size)?;
            let far = step.checked_mul(rounds.unwrap_or(2))?.checked_add(at)?;
            (i32::try_from(at).is_ok() && i32::try_from(far).is_ok()).then_some(step)
        };
        let accesses = || {
            straight.steps.iter().filter_map(|step| match step {
                Step::Load(access) | Step::Store(access, _) => Some(access),
                Step::Compute(..) | Step::Check(..) => None,
            })
        };
        let Some(distances) = accesses().map(in_bytes).collect::<Option<Vec<i64>>>() else { return Ok(None) };
        let mut clusters: Vec<Cluster> = Vec::new();
        let mut cluster_numbers = HashMap::new();
        for (access, step) in accesses().zip(&distances) {
            let (Some(place), Some(object)) = (places.get(access.group), straight.object_of(access)) else {
                return Ok(None);
            };
            let number = *cluster_numbers.entry((access.group, access.factor)).or_insert(clusters.len());
            let from = access.offset * place.size + place.offsets.get(access.part).copied().unwrap_or(0);
            let to = from + BYTES;
            match clusters.get_mut(number) {
                Some(cluster) => (cluster.from, cluster.to) = (cluster.from.min(from), cluster.to.max(to)),
                None => {
                    let stored = straight.objects.get(object).is_none_or(|object| object.stored);
                    let group = access.group;
                    clusters.push(Cluster { group, object, step: *step, region: object, stored, from, to });
                }
            }
        }
        if rounds.is_none() {
            number_regions(&mut clusters, straight.objects.len());
        }
        let region = |access: &Access| {
            let cluster = cluster_numbers.get(&(access.group, access.factor)).and_then(|number| clusters.get(*number));
            cluster.map_or(0, |cluster| cluster.region)
        };
        let serial = straight.serial(&region);
        let lanes = if pays(straight, &serial, &distances) { 2 } else { 1 };
        if lanes == 1 && (straight.has_functions() || straight.checks()) || straight.checks_in(&serial) {
            return Ok(None);
        }
        // A check sends what is left to the loop as it is written: as if the turn had not begun.
        let rounds = if straight.checks() { lanes } else { rounds.unwrap_or(lanes) };
        let count = |step: i64| distances.iter().filter(|distance| **distance == step).count();
        let mut apart = self.apart(ir, &straight.objects)?;
        if let Some(these) = self.clusters_apart(&clusters, &places, last) {
            apart = Some(apart.map_or(these, |others| self.builder.ins().band(others, these)));
        }
        if let Some(apart) = apart {
            let on = self.builder.create_block();
            self.builder.ins().brif(apart, on, &[], otherwise, &[]);
            self.seal(&[on]);
            self.builder.switch_to_block(on);
        }
        let done = self.variable(clif::I64);
        let zero = self.builder.ins().iconst(clif::I64, 0);
        self.write_variable(done, zero);
        let reversed = count(-BYTES) > count(BYTES);
        let mut window = Window {
            straight: straight.clone(),
            rounds,
            lanes,
            serial,
            reversed,
            places,
            clusters,
            cluster_numbers,
            beside: HashMap::new(),
            uniform,
            done,
        };
        window.beside = side_by_side(accesses().filter_map(|access| window.cluster_of(access)).collect());
        Ok(Some(window))
    }

    /// Whether clusters of one object that are in different regions share no memory, up to the round of this number;
    /// `None` if there are none.
    fn clusters_apart(&mut self, clusters: &[Cluster], places: &[Place], last: ir::Value) -> Option<ir::Value> {
        let mut apart: Option<ir::Value> = None;
        for (number, one) in clusters.iter().enumerate() {
            let others = clusters.iter().skip(number + 1);
            for other in others.filter(|other| other.object == one.object && other.region != one.region) {
                let place = |cluster: &Cluster| places.get(cluster.group).map(|place| place.start);
                let starts = if one.group == other.group { None } else { place(one).zip(place(other)) };
                let (from, to) = self.reach(one, starts.map(|(start, _)| start), last);
                let (other_from, other_to) = self.reach(other, starts.map(|(_, start)| start), last);
                let before = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, to, other_from);
                let behind = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, other_to, from);
                let either = self.builder.ins().bor(before, behind);
                apart = Some(apart.map_or(either, |others| self.builder.ins().band(others, either)));
            }
        }
        apart
    }

    /// Where what a cluster accesses starts and ends, from where its group starts unless that is given.
    fn reach(&mut self, cluster: &Cluster, start: Option<ir::Value>, last: ir::Value) -> (ir::Value, ir::Value) {
        let moved = self.builder.ins().imul_imm_s(last, cluster.step);
        let (before, behind) = if cluster.step < 0 { (Some(moved), None) } else { (None, Some(moved)) };
        let mut end = |at: i64, moved: Option<ir::Value>| {
            let at = self.builder.ins().iconst(clif::I64, at);
            let further = [moved, start].into_iter().flatten();
            further.fold(at, |at, by| self.builder.ins().iadd(at, by))
        };
        (end(cluster.from, before), end(cluster.to, behind))
    }

    fn place(&mut self, ir: &IRCode, straight: &StraightLoop, group: usize) -> Compiled<Option<Place>> {
        let Some(group) = straight.groups.get(group) else { return Ok(None) };
        let Some(object) = straight.objects.get(group.object) else { return Ok(None) };
        let (value, defined) = self.peek(ir, &object.operand)?;
        if defined.is_some() {
            return Ok(None);
        }
        let array = self.array(&value);
        let (element, data, above) = match (&value.layout.shape, &array, &group.start) {
            (_, Some(array), Start::Index(_, others)) => {
                let whole = others.is_empty() || others.len() + 1 == array.rank as usize;
                if !whole || array.element.assigned.is_some() {
                    return Ok(None);
                }
                (array.element.clone(), self.header_word(array, array::DATA), None)
            }
            (Shape::Stack(element), _, start) => {
                let element = self.compiler.layouts.of(element);
                let Some((data, length)) = self.stack_words(&object.operand) else { return Ok(None) };
                (element, data, matches!(start, Start::Top(_)).then_some(length))
            }
            _ => return Ok(None),
        };
        if !is_of_numbers(&element, group.parts) {
            return Ok(None);
        }
        let size = i64::from(element.size);
        let mut start = data;
        let mut further = |this: &mut Self, count: ir::Value| {
            let bytes = this.builder.ins().imul_imm_s(count, size);
            start = this.builder.ins().iadd(start, bytes);
        };
        if let Some(length) = above {
            further(self, length);
        }
        if let Start::Index(index, others) = &group.start {
            for (factor, operand) in &index.terms {
                let Some(term) = self.invariant(ir, operand)? else { return Ok(None) };
                let term = if *factor == 1 { term } else { self.builder.ins().imul_imm_s(term, *factor) };
                further(self, term);
            }
            let mut stride: Option<ir::Value> = None;
            for (dimension, other) in (0..).zip(others) {
                let Some(array) = &array else { return Ok(None) };
                let Some(at) = self.index_at_start(ir, other)? else { return Ok(None) };
                let size = self.header_word(array, array::dimension(dimension));
                let behind = stride.map_or(size, |stride| self.builder.ins().imul(stride, size));
                let count = self.builder.ins().imul(at, behind);
                further(self, count);
                stride = Some(behind);
            }
        }
        let offsets = element.offsets.iter().map(|offset| i64::from(*offset)).collect();
        Ok(Some(Place { start, size, offsets }))
    }

    /// Whether what is stored to shares no memory with anything else that is accessed; `None` if there is nothing to
    /// compare.
    pub(crate) fn apart(&mut self, ir: &IRCode, objects: &[Object]) -> Compiled<Option<ir::Value>> {
        let mut apart: Option<ir::Value> = None;
        for (number, one) in objects.iter().enumerate() {
            for other in objects.iter().skip(number + 1) {
                if !(one.stored || other.stored) || one.is_apart_from(other) {
                    continue;
                }
                let ((from, to), (other_from, other_to)) = (self.extent(ir, one)?, self.extent(ir, other)?);
                let before = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, to, other_from);
                let behind = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, other_to, from);
                let either = self.builder.ins().bor(before, behind);
                apart = Some(match apart {
                    Some(apart) => self.builder.ins().band(apart, either),
                    None => either,
                });
            }
        }
        Ok(apart)
    }

    /// Where the elements of an array start and end.
    fn extent(&mut self, ir: &IRCode, object: &Object) -> Compiled<(ir::Value, ir::Value)> {
        let (value, _) = self.peek(ir, &object.operand)?;
        let Some(parts) = self.array(&value) else { return self.refuse("an array that is not there") };
        let (data, length) = (self.header_word(&parts, array::DATA), self.header_word(&parts, array::LENGTH));
        let bytes = self.builder.ins().imul_imm_s(length, i64::from(parts.element.size));
        let end = self.builder.ins().iadd(data, bytes);
        Ok((data, end))
    }

    /// Moves counters, stacks and addresses on behind a turn.
    pub(crate) fn count_rounds(&mut self, window: &Window) {
        let straight = window.straight.clone();
        for (phi, step) in &straight.counters {
            if let Some(variable) = self.phi_variable(*phi) {
                let before = self.read_variable(variable);
                let after = self.builder.ins().iadd_imm_s(before, step * window.rounds);
                self.write_variable(variable, after);
            }
        }
        for group in &straight.groups {
            if let (Start::Top(times), Some(object)) = (&group.start, straight.objects.get(group.object)) {
                self.lengthen_stack(&object.operand, times * window.rounds);
            }
        }
        let before = self.read_variable(window.done);
        let after = self.builder.ins().iadd_imm_s(before, BYTES * window.rounds);
        self.write_variable(window.done, after);
    }
}

/// Gives the clusters of an object that the loop changes regions of their own, if they are few: it is seen before the
/// loop whether they are apart.
fn number_regions(clusters: &mut [Cluster], objects: usize) {
    let mut of_object = vec![0; objects];
    for cluster in clusters.iter() {
        if let Some(count) = of_object.get_mut(cluster.object) {
            *count += 1;
        }
    }
    let mut next = objects;
    for cluster in clusters {
        let count = of_object.get(cluster.object).copied().unwrap_or(0);
        if cluster.stored && (2..=MOST_COMPARED).contains(&count) {
            cluster.region = next;
            next += 1;
        }
    }
}

/// Which numbers lie beside which others that each round accesses, two by two. What is left over has one beside it that
/// has another one beside it.
fn side_by_side(mut places: Vec<(usize, i64)>) -> HashMap<(usize, i64), i64> {
    places.sort_unstable();
    places.dedup();
    let follow = |one: Option<&(usize, i64)>, other: Option<&(usize, i64)>| match (one, other) {
        (Some((cluster, at)), Some(other)) => (*cluster, at + BYTES) == *other,
        _ => false,
    };
    let mut beside = HashMap::with_capacity(places.len());
    let mut number = 0;
    while let Some(&place) = places.get(number) {
        let next = places.get(number + 1);
        if let Some(&next) = next.filter(|_| follow(Some(&place), next)) {
            beside.extend([(place, BYTES), (next, -BYTES)]);
            number += 2;
            continue;
        }
        if follow(number.checked_sub(1).and_then(|before| places.get(before)), Some(&place)) {
            beside.insert(place, -BYTES);
        }
        number += 1;
    }
    beside
}

/// Whether an element is so many numbers and nothing else.
fn is_of_numbers(element: &Layout, parts: usize) -> bool {
    element.parts.len() == parts && element.parts.iter().all(|part| *part == clif::F64)
}

/// Whether vectors save more operations than it takes to put numbers in them and to take them out.
fn pays(straight: &StraightLoop, serial: &[bool], distances: &[i64]) -> bool {
    let is_serial = |step: usize| serial.get(step) == Some(&true);
    let mut distances = distances.iter();
    let (mut saved, mut spent) = (0, 0);
    for (number, step) in straight.steps.iter().enumerate() {
        let (sources, distance) = match step {
            Step::Compute(_, sources) => (sources.as_slice(), None),
            Step::Load(_) => (&[][..], distances.next()),
            Step::Store(_, source) => (std::slice::from_ref(source), distances.next()),
            Step::Check(_, _, sources) => (sources.as_slice(), None),
        };
        if is_serial(number) {
            let taken_out = |source: &&Source| matches!(source, Source::Step(step) if !is_serial(*step));
            spent += sources.iter().filter(taken_out).count();
            continue;
        }
        match distance {
            None => saved += 1,
            Some(distance) if distance.abs() == BYTES => saved += 1,
            Some(0) => {}
            Some(_) => spent += 1,
        }
    }
    saved > spent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_side_by_side_go_in_pairs() {
        // Four in a row, three in another, one alone and one of another cluster where the next would be.
        let places = [(0, 8), (0, 0), (0, 24), (0, 16), (0, 24), (0, 48), (0, 56), (0, 64), (0, 200), (1, 208)];
        let found = side_by_side(places.to_vec());
        let expected =
            [((0, 0), 8), ((0, 8), -8), ((0, 16), 8), ((0, 24), -8), ((0, 48), 8), ((0, 56), -8), ((0, 64), -8)];
        assert_eq!(found, expected.into_iter().collect());
    }

    #[test]
    fn few_clusters_of_a_changed_object_are_regions() {
        let cluster =
            |object: usize, stored: bool| Cluster { group: 0, object, step: 8, region: object, stored, from: 0, to: 8 };
        let objects = [0, 0, 1, 2, 2, 3, 3, 3, 3, 3];
        let mut clusters: Vec<Cluster> = objects.iter().map(|object| cluster(*object, *object != 2)).collect();
        number_regions(&mut clusters, 4);
        let regions: Vec<usize> = clusters.iter().map(|cluster| cluster.region).collect();
        assert_eq!(regions, [4, 5, 1, 2, 2, 3, 3, 3, 3, 3]);
    }
}
