//! Several rounds of a straight loop at once: two by two in vectors of two `Float64`s where the order of the accesses allows
//! it, and without going through memory for what a round has just read or written.
//!
//! As a superword-level vectoriser does (Larsen and Amarasinghe, "Exploiting superword level parallelism", PLDI 2000), but on
//! rounds: each operation is done for two rounds before the next one. What depends on a number that the round before left in
//! a φ is done one after the other, so that every result has the bits that the loop as it is written gives. Addresses are an
//! address from before the loop and a distance that grows by the same in each turn (strength reduction).

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use ircode::{IRCode, ScalarType};
use smallvec::SmallVec;

use super::function::{Compiled, FunctionCompiler, trusted};
use super::layout::{Layout, Shape, array};
use super::residents::Residents;
use super::straight::{Access, Object, Operation, Source, Start, Step, StraightLoop};

/// So many rounds are one turn, for bodies of up to so many steps.
const TURNS: [(usize, i64); 2] = [(24, 4), (80, 2)];

/// The bytes of a number.
const BYTES: i64 = 8;

/// A straight loop that is ready to be entered, with what is the same in all turns.
#[derive(Debug)]
pub(super) struct Window {
    straight: Rc<StraightLoop>,
    /// How many rounds a turn has.
    pub(super) rounds: i64,
    /// How many of them are done at once: 1 or 2.
    lanes: i64,
    /// Whether the later one of two rounds is the first in a vector.
    reversed: bool,
    places: Vec<Place>,
    uniform: Vec<ir::Value>,
    /// Eight times the rounds that are done.
    done: Variable,
}

impl Window {
    /// The groups and offsets of elements that stay in registers.
    pub(super) fn places_of(&self, residents: &Residents) -> Vec<Option<(usize, i64)>> {
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

/// A number in each of the rounds that are done at once.
#[derive(Clone, Debug)]
enum Wide {
    Same(ir::Value),
    Each([ir::Value; 2]),
    Vector(ir::Value),
}

/// What is known of memory.
#[derive(Clone, Debug)]
struct Known {
    group: usize,
    object: usize,
    /// Bytes from the start of the group in the first of its rounds, and between rounds.
    at: i64,
    step: i64,
    /// How many rounds it is of.
    lanes: i64,
    value: Wide,
    /// Whether it is still to be stored.
    pending: bool,
}

/// A turn that is being compiled.
struct Turn<'w> {
    window: &'w Window,
    serial: &'w [bool],
    values: Vec<Option<Wide>>,
    carried: Vec<ir::Value>,
    known: Vec<Known>,
    /// How far the rounds that are done have moved addresses, by bytes a round.
    moved: HashMap<i64, ir::Value>,
    /// The first round that is being compiled.
    round: i64,
}

impl FunctionCompiler<'_, '_> {
    /// Prepares a loop to be entered, in front of it: there is none if its types or its accesses do not allow it. Control goes
    /// to `otherwise` where objects turn out to share memory.
    pub(super) fn prepare_window(
        &mut self,
        ir: &IRCode,
        straight: &Rc<StraightLoop>,
        otherwise: ir::Block,
    ) -> Compiled<Option<Window>> {
        let steps = straight.steps.len();
        let Some((_, rounds)) = TURNS.iter().find(|(most, _)| steps <= *most) else { return Ok(None) };
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
            let far = step.checked_mul(*rounds)?.checked_add(at)?;
            (i32::try_from(at).is_ok() && i32::try_from(far).is_ok()).then_some(step)
        };
        let accesses = || {
            straight.steps.iter().filter_map(|step| match step {
                Step::Load(access) | Step::Store(access, _) => Some(access),
                Step::Compute(..) => None,
            })
        };
        let Some(distances) = accesses().map(in_bytes).collect::<Option<Vec<i64>>>() else { return Ok(None) };
        let serial = straight.serial();
        let lanes = if pays(straight, &serial, &distances) { 2 } else { 1 };
        let count = |step: i64| distances.iter().filter(|distance| **distance == step).count();
        self.check_apart(ir, straight, otherwise)?;
        let done = self.builder.declare_var(clif::I64);
        let zero = self.builder.ins().iconst(clif::I64, 0);
        self.builder.def_var(done, zero);
        let reversed = count(-BYTES) > count(BYTES);
        Ok(Some(Window { straight: straight.clone(), rounds: *rounds, lanes, reversed, places, uniform, done }))
    }

    fn place(&mut self, ir: &IRCode, straight: &StraightLoop, group: usize) -> Compiled<Option<Place>> {
        let Some(group) = straight.groups.get(group) else { return Ok(None) };
        let Some(object) = straight.objects.get(group.object) else { return Ok(None) };
        let (value, defined) = self.peek(ir, &object.operand)?;
        let (Some(header), None) = (value.one(), defined) else { return Ok(None) };
        let (element, data, above) = match (&value.layout.shape, &group.start) {
            (Shape::Array(element, rank), Start::Index(_, others)) => {
                let whole = others.is_empty() || others.len() + 1 == *rank as usize;
                let element = self.compiler.layouts.element(element);
                if !whole || element.assigned.is_some() {
                    return Ok(None);
                }
                (element, self.header_word(header, array::DATA), None)
            }
            (Shape::Stack(element), start) => {
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
            let mut stride = self.header_word(header, array::DIMENSIONS);
            for (dimension, other) in others.iter().enumerate() {
                let Some(at) = self.index_at_start(ir, other)? else { return Ok(None) };
                let count = self.builder.ins().imul(at, stride);
                further(self, count);
                if dimension + 1 < others.len() {
                    let behind = array::DIMENSIONS + 8 * (dimension as i32 + 1);
                    let next = self.header_word(header, behind);
                    stride = self.builder.ins().imul(stride, next);
                }
            }
        }
        let offsets = element.offsets.iter().map(|offset| i64::from(*offset)).collect();
        Ok(Some(Place { start, size, offsets }))
    }

    /// Control goes on if what is stored to shares no memory with anything else that is accessed.
    fn check_apart(&mut self, ir: &IRCode, straight: &StraightLoop, otherwise: ir::Block) -> Compiled<()> {
        if let Some(apart) = self.apart(ir, &straight.objects)? {
            let on = self.builder.create_block();
            self.builder.ins().brif(apart, on, &[], otherwise, &[]);
            self.seal(&[on]);
            self.builder.switch_to_block(on);
        }
        Ok(())
    }

    /// Whether what is stored to shares no memory with anything else that is accessed; `None` if there is nothing to compare.
    pub(super) fn apart(&mut self, ir: &IRCode, objects: &[Object]) -> Compiled<Option<ir::Value>> {
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
        let (Shape::Array(element, _), Some(header)) = (&value.layout.shape, value.one()) else {
            return self.refuse("an array that is not there");
        };
        let size = i64::from(self.compiler.layouts.element(element).size);
        let (data, length) = (self.header_word(header, array::DATA), self.header_word(header, array::LENGTH));
        let bytes = self.builder.ins().imul_imm_s(length, size);
        let end = self.builder.ins().iadd(data, bytes);
        Ok((data, end))
    }

    /// Compiles a turn, and leaves φs, stacks and addresses as they are behind it.
    /// Of elements that stay in registers, the groups and offsets are given, and where they are.
    pub(super) fn compile_turn(&mut self, window: &Window, residents: &[(usize, i64, Variable)]) -> Compiled<()> {
        let straight = window.straight.clone();
        let serial = straight.serial();
        let mut carried = Vec::with_capacity(straight.carried.len());
        for (phi, _) in &straight.carried {
            match self.phi_variable(*phi) {
                Some(variable) => carried.push(self.builder.use_var(variable)),
                None => return self.refuse("a φ that is not there"),
            }
        }
        let mut turn = Turn {
            window,
            serial: &serial,
            values: vec![None; straight.steps.len()],
            carried,
            known: Vec::new(),
            moved: HashMap::new(),
            round: 0,
        };
        for &(group, offset, variable) in residents {
            let number = self.builder.use_var(variable);
            let access = Access { group, factor: 0, offset, part: 0 };
            let place = turn.place_of(self, &access, Some(0), Wide::Same(number))?;
            turn.known.push(place);
        }
        while turn.round < window.rounds {
            match window.lanes {
                2 => turn.pair(self)?,
                _ => turn.single(self)?,
            }
            turn.round += window.lanes;
        }
        for &(group, offset, variable) in residents {
            let access = Access { group, factor: 0, offset, part: 0 };
            let before = self.builder.use_var(variable);
            let place = turn.place_of(self, &access, Some(0), Wide::Same(before))?;
            let Some(known) = turn.known.iter_mut().find(|known| known.is_same_place(&place)) else { continue };
            known.pending = false;
            let value = known.value.clone();
            let number = turn.of_round(self, &value, 0);
            self.builder.def_var(variable, number);
        }
        turn.store_pending(self)?;
        let carried = turn.carried;
        for ((phi, _), value) in straight.carried.iter().zip(carried) {
            if let Some(variable) = self.phi_variable(*phi) {
                self.builder.def_var(variable, value);
            }
        }
        for (phi, step) in &straight.counters {
            if let Some(variable) = self.phi_variable(*phi) {
                let before = self.builder.use_var(variable);
                let after = self.builder.ins().iadd_imm_s(before, step * window.rounds);
                self.builder.def_var(variable, after);
            }
        }
        for group in &straight.groups {
            if let (Start::Top(times), Some(object)) = (&group.start, straight.objects.get(group.object)) {
                self.lengthen_stack(&object.operand, times * window.rounds);
            }
        }
        let before = self.builder.use_var(window.done);
        let after = self.builder.ins().iadd_imm_s(before, BYTES * window.rounds);
        self.builder.def_var(window.done, after);
        Ok(())
    }
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

impl Turn<'_> {
    /// Compiles one round.
    fn single(&mut self, compiler: &mut FunctionCompiler<'_, '_>) -> Compiled<()> {
        let straight = self.window.straight.clone();
        for (number, step) in straight.steps.iter().enumerate() {
            let value = self.step_of_round(compiler, step, 0)?;
            self.set(number, value.map(Wide::Same));
        }
        self.carry(compiler, 0)
    }

    /// Compiles two rounds at once.
    fn pair(&mut self, compiler: &mut FunctionCompiler<'_, '_>) -> Compiled<()> {
        let straight = self.window.straight.clone();
        for (number, step) in straight.steps.iter().enumerate() {
            if !self.is_serial(number) {
                let value = self.step_of_pair(compiler, step)?;
                self.set(number, value);
            }
        }
        for round in 0..2 {
            for (number, step) in straight.steps.iter().enumerate() {
                if !self.is_serial(number) {
                    continue;
                }
                let result = self.step_of_round(compiler, step, round)?;
                let value = result.map(|result| match (round, self.values.get(number)) {
                    (1, Some(Some(Wide::Each([first, _])))) => Wide::Each([*first, result]),
                    _ => Wide::Each([result, result]),
                });
                self.set(number, value);
            }
            self.carry(compiler, round)?;
        }
        Ok(())
    }

    /// A step for one round, the first or the second of those that are done at once.
    fn step_of_round(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        step: &Step,
        round: usize,
    ) -> Compiled<Option<ir::Value>> {
        Ok(match step {
            Step::Compute(operation, sources) => {
                let numbers: SmallVec<[ir::Value; 3]> =
                    sources.iter().map(|source| self.number(compiler, *source, round)).collect::<Compiled<_>>()?;
                Some(compute(compiler, *operation, &numbers))
            }
            Step::Load(access) => match self.load(compiler, access, Some(round))? {
                Wide::Same(number) => Some(number),
                _ => return compiler.refuse("a vector in one round"),
            },
            Step::Store(access, source) => {
                let number = self.number(compiler, *source, round)?;
                self.store(compiler, access, Some(round), Wide::Same(number))?;
                None
            }
        })
    }

    /// A step for two rounds.
    fn step_of_pair(&mut self, compiler: &mut FunctionCompiler<'_, '_>, step: &Step) -> Compiled<Option<Wide>> {
        Ok(match step {
            Step::Compute(operation, sources) => {
                let values: SmallVec<[Wide; 3]> =
                    sources.iter().map(|source| self.wide(compiler, *source)).collect::<Compiled<_>>()?;
                if let Some(same) = values.iter().map(Wide::same).collect::<Option<SmallVec<[ir::Value; 3]>>>() {
                    return Ok(Some(Wide::Same(compute(compiler, *operation, &same))));
                }
                let vectors: SmallVec<[ir::Value; 3]> =
                    values.iter().map(|value| self.vector(compiler, value)).collect();
                Some(Wide::Vector(compute(compiler, *operation, &vectors)))
            }
            Step::Load(access) => Some(self.load(compiler, access, None)?),
            Step::Store(access, source) => {
                let value = self.wide(compiler, *source)?;
                self.store(compiler, access, None, value)?;
                None
            }
        })
    }

    fn is_serial(&self, step: usize) -> bool {
        self.serial.get(step) == Some(&true)
    }

    fn set(&mut self, step: usize, value: Option<Wide>) {
        if let Some(slot) = self.values.get_mut(step) {
            *slot = value;
        }
    }

    /// Leaves to the next round what φs carry.
    fn carry(&mut self, compiler: &mut FunctionCompiler<'_, '_>, round: usize) -> Compiled<()> {
        let straight = self.window.straight.clone();
        let next = straight.carried.iter().map(|(_, source)| self.number(compiler, *source, round));
        self.carried = next.collect::<Compiled<_>>()?;
        Ok(())
    }

    fn wide(&self, compiler: &FunctionCompiler<'_, '_>, source: Source) -> Compiled<Wide> {
        let value = match source {
            Source::Step(step) => self.values.get(step).cloned().flatten(),
            Source::Carried(slot) => self.carried.get(slot).map(|value| Wide::Same(*value)),
            Source::Uniform(slot) => self.window.uniform.get(slot).map(|value| Wide::Same(*value)),
        };
        match value {
            Some(value) => Ok(value),
            None => compiler.refuse("a number that is not there"),
        }
    }

    /// The number in the first or the second of the rounds that are done at once.
    fn number(&self, compiler: &mut FunctionCompiler<'_, '_>, source: Source, round: usize) -> Compiled<ir::Value> {
        let value = self.wide(compiler, source)?;
        Ok(self.of_round(compiler, &value, round))
    }

    fn of_round(&self, compiler: &mut FunctionCompiler<'_, '_>, value: &Wide, round: usize) -> ir::Value {
        match value {
            Wide::Same(value) => *value,
            Wide::Each([first, _]) if round == 0 => *first,
            Wide::Each([_, second]) => *second,
            Wide::Vector(vector) => {
                let lane = u8::from((round == 1) != self.window.reversed);
                compiler.builder.ins().extractlane(*vector, lane)
            }
        }
    }

    fn vector(&self, compiler: &mut FunctionCompiler<'_, '_>, value: &Wide) -> ir::Value {
        match value {
            Wide::Vector(vector) => *vector,
            Wide::Same(value) => compiler.builder.ins().splat(clif::F64X2, *value),
            Wide::Each([first, second]) => {
                let (low, high) = if self.window.reversed { (second, first) } else { (first, second) };
                let vector = compiler.builder.ins().scalar_to_vector(clif::F64X2, *low);
                compiler.builder.ins().insertlane(vector, *high, 1)
            }
        }
    }

    /// Bytes from the start of the group in round 0.
    fn at(&self, access: &Access) -> i64 {
        let place = self.window.places.get(access.group);
        place.map_or(0, |place| access.offset * place.size + place.offsets.get(access.part).copied().unwrap_or(0))
    }

    /// Bytes from round to round.
    fn step(&self, access: &Access) -> i64 {
        self.window.places.get(access.group).map_or(0, |place| access.factor * place.size)
    }

    fn address(&mut self, compiler: &mut FunctionCompiler<'_, '_>, access: &Access) -> Compiled<ir::Value> {
        self.moved(compiler, access.group, self.step(access))
    }

    /// The address of the start of a group, moved by what the turns before have done.
    fn moved(&mut self, compiler: &mut FunctionCompiler<'_, '_>, group: usize, step: i64) -> Compiled<ir::Value> {
        let Some(place) = self.window.places.get(group) else { return compiler.refuse("an array that is not there") };
        if step == 0 {
            return Ok(place.start);
        }
        let moved = match self.moved.get(&step) {
            Some(moved) => *moved,
            None => {
                let done = compiler.builder.use_var(self.window.done);
                let moved = match step / BYTES {
                    1 => done,
                    factor => compiler.builder.ins().imul_imm_s(done, factor),
                };
                self.moved.insert(step, moved);
                moved
            }
        };
        Ok(compiler.builder.ins().iadd(place.start, moved))
    }

    /// What is accessed, in one round or in all that are done at once; its value is not known yet.
    fn place_of(
        &self,
        compiler: &FunctionCompiler<'_, '_>,
        access: &Access,
        round: Option<usize>,
        value: Wide,
    ) -> Compiled<Known> {
        let Some(object) = self.window.straight.object_of(access) else {
            return compiler.refuse("an array that is not there");
        };
        let step = self.step(access);
        let first = self.round + round.unwrap_or(0) as i64;
        let lanes = if round.is_some() { 1 } else { self.window.lanes };
        let at = self.at(access) + step * first;
        Ok(Known { group: access.group, object, at, step, lanes, value, pending: false })
    }

    /// The value of an access in one round, or in those that are done at once.
    fn load(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        access: &Access,
        round: Option<usize>,
    ) -> Compiled<Wide> {
        let address = self.address(compiler, access)?;
        let mut place = self.place_of(compiler, access, round, Wide::Same(address))?;
        if let Some(known) = self.known.iter().find(|known| known.is_same_place(&place)) {
            return Ok(known.value.clone());
        }
        if self.known.iter().any(|known| known.pending && known.meets(&place)) {
            self.store_pending(compiler)?;
        }
        let (at, step) = (place.at, place.step);
        place.value = if place.lanes == 1 || step == 0 {
            Wide::Same(compiler.builder.ins().load(clif::F64, trusted(), address, at as i32))
        } else if step.abs() == BYTES {
            let vector = compiler.builder.ins().load(clif::F64X2, unaligned(), address, at.min(at + step) as i32);
            Wide::Vector(self.in_order(compiler, vector, step))
        } else {
            let first = compiler.builder.ins().load(clif::F64, trusted(), address, at as i32);
            let second = compiler.builder.ins().load(clif::F64, trusted(), address, (at + step) as i32);
            Wide::Each([first, second])
        };
        let value = place.value.clone();
        self.known.push(place);
        Ok(value)
    }

    fn store(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        access: &Access,
        round: Option<usize>,
        value: Wide,
    ) -> Compiled<()> {
        let mut place = self.place_of(compiler, access, round, value)?;
        if self.known.iter().any(|known| known.pending && !known.is_same_place(&place) && known.meets(&place)) {
            self.store_pending(compiler)?;
        }
        self.known.retain(|known| !known.meets(&place));
        place.pending = true;
        self.known.push(place);
        Ok(())
    }

    /// Stores what was not stored yet: of what was stored twice in the same place, the last.
    fn store_pending(&mut self, compiler: &mut FunctionCompiler<'_, '_>) -> Compiled<()> {
        for number in 0..self.known.len() {
            let Some(known) = self.known.get_mut(number).filter(|known| known.pending) else { continue };
            known.pending = false;
            let known = known.clone();
            let address = self.moved(compiler, known.group, known.step)?;
            let places = [known.at, known.at + known.step];
            if known.lanes == 2 && known.step.abs() == BYTES {
                let vector = self.vector(compiler, &known.value);
                let vector = self.in_order(compiler, vector, known.step);
                compiler.builder.ins().store(unaligned(), vector, address, places[0].min(places[1]) as i32);
                continue;
            }
            for (round, at) in places.into_iter().enumerate().take(known.lanes as usize) {
                let number = self.of_round(compiler, &known.value, round);
                compiler.builder.ins().store(trusted(), number, address, at as i32);
            }
        }
        Ok(())
    }

    /// A vector as it lies in memory where the order of rounds is the other way round, and back.
    fn in_order(&self, compiler: &mut FunctionCompiler<'_, '_>, vector: ir::Value, step: i64) -> ir::Value {
        if (step < 0) == self.window.reversed {
            return vector;
        }
        let little = MemFlagsData::new().with_endianness(ir::Endianness::Little);
        let bytes = compiler.builder.ins().bitcast(clif::I8X16, little, vector);
        let order = compiler.builder.func.dfg.immediates.push(ir::ConstantData::from(SWAPPED.as_slice()));
        let swapped = compiler.builder.ins().shuffle(bytes, bytes, order);
        compiler.builder.ins().bitcast(clif::F64X2, little, swapped)
    }
}

/// The bytes of a vector with its halves exchanged.
const SWAPPED: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];

impl Known {
    fn is_same_place(&self, other: &Known) -> bool {
        (self.group, self.at, self.step, self.lanes) == (other.group, other.at, other.step, other.lanes)
    }

    /// Whether a number may be in both.
    fn meets(&self, other: &Known) -> bool {
        if self.object != other.object {
            return false;
        }
        if self.group != other.group || self.step != other.step {
            return true;
        }
        let places = |known: &Known| {
            let (at, step) = (known.at, known.step);
            (0..known.lanes).map(move |round| at + step * round)
        };
        places(self).any(|one| places(other).any(|other| one == other))
    }
}

impl Wide {
    fn same(&self) -> Option<ir::Value> {
        match self {
            Wide::Same(value) => Some(*value),
            _ => None,
        }
    }
}

/// Vectors lie where numbers do, at any multiple of eight bytes.
fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// An operation on numbers or on vectors of them.
fn compute(compiler: &mut FunctionCompiler<'_, '_>, operation: Operation, operands: &[ir::Value]) -> ir::Value {
    let ins = compiler.builder.ins();
    match (operation, operands) {
        (Operation::Add, [a, b]) => ins.fadd(*a, *b),
        (Operation::Subtract, [a, b]) => ins.fsub(*a, *b),
        (Operation::Multiply, [a, b]) => ins.fmul(*a, *b),
        (Operation::Divide, [a, b]) => ins.fdiv(*a, *b),
        (Operation::MultiplyAdd, [a, b, c]) => {
            let product = ins.fmul(*a, *b);
            compiler.builder.ins().fadd(product, *c)
        }
        (Operation::Negate, [a, ..]) => ins.fneg(*a),
        (Operation::Absolute, [a, ..]) => ins.fabs(*a),
        (Operation::SquareRoot, [a, ..]) => ins.sqrt(*a),
        _ => ins.f64const(f64::NAN),
    }
}
