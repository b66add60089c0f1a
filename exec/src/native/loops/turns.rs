//! The code of a turn: what several rounds of a straight loop do, as a graph of values first, of which code is made
//! where a value is stored.
//!
//! Cranelift keeps loads where they were written, and puts what computes with them where its result is wanted. So a
//! long body whose loads come first would keep all that they give in registers, or on the stack. Here each load is
//! written where something wants it, but in front of the stores that change its place. Of objects that the loop does
//! not change, Cranelift is told so, and puts the load beside its use itself.

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};
use cranelift_frontend::{FunctionBuilder, Variable};
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::straight::{Access, Operation, Source, Step};
use super::vectors::{BYTES, Window};
use crate::native::function::{Compiled, FunctionCompiler, trusted};

/// The number of a node.
type NodeId = usize;

/// A value of which code is made when it is wanted.
#[derive(Clone, Debug)]
enum Node {
    /// It is there already.
    Made,
    Compute(Operation, SmallVec<[NodeId; 3]>),
    /// What lies so many bytes from where a cluster starts.
    Load {
        cluster: usize,
        at: i64,
        vector: bool,
    },
    /// One of the numbers in a vector.
    Lane(NodeId, u8),
    /// The low or the high halves of two vectors.
    Halves(NodeId, NodeId, bool),
    /// A vector of one number twice.
    Twice(NodeId),
    /// A vector of two numbers.
    Both(NodeId, NodeId),
    /// A vector with its halves exchanged.
    Swapped(NodeId),
}

/// A number in each of the rounds that are done at once.
#[derive(Clone, Copy, Debug)]
enum Wide {
    Same(NodeId),
    Each([NodeId; 2]),
    Vector(NodeId),
}

/// Where a number or several lie: bytes from the start of the cluster in the first of its rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Spot {
    cluster: usize,
    at: i64,
    /// How many rounds it is of.
    lanes: i64,
}

/// What is known of memory.
#[derive(Clone, Copy, Debug)]
struct Known {
    value: Wide,
    /// Whether it is still to be stored.
    pending: bool,
    /// How many bytes from here the number lies with which it is loaded and stored; 0 if there is none.
    beside: i64,
}

/// What is known of the places of a cluster.
#[derive(Clone, Default, Debug)]
struct Places {
    /// What is known; some of it may be known no more.
    known: Vec<Spot>,
    /// What was loaded by nodes that are no code yet; some of it may be.
    loaded: Vec<Spot>,
    /// How much is still to be stored.
    pending: usize,
}

/// Clusters that may share memory.
#[derive(Clone, Default, Debug)]
struct Region {
    /// How much is still to be stored.
    pending: usize,
    /// The clusters of which something is known, and those of which something was loaded.
    known: Vec<usize>,
    loaded: Vec<usize>,
}

/// A turn that is being compiled.
struct Turn<'w> {
    window: &'w Window,
    serial: &'w [bool],
    values: Vec<Option<Wide>>,
    carried: Vec<NodeId>,
    nodes: Vec<Node>,
    /// The code of nodes that have some.
    made: Vec<Option<ir::Value>>,
    /// The vectors of two numbers.
    vectors: HashMap<(NodeId, NodeId), NodeId>,
    /// Vectors of numbers that lie side by side, by cluster and place.
    rows: HashMap<(usize, i64), NodeId>,
    known: HashMap<Spot, Known>,
    /// The nodes of loads that may be no code yet.
    loaded: HashMap<Spot, Wide>,
    places: Vec<Places>,
    regions: Vec<Region>,
    /// What is still to be stored, in order; some of it may be no more.
    pending: Vec<Spot>,
    /// Addresses by cluster, and how far the rounds that are done have moved them, by bytes a round.
    addresses: HashMap<usize, ir::Value>,
    moved: HashMap<i64, ir::Value>,
    /// The first round that is being compiled.
    round: i64,
    /// Where control goes if a check fails.
    otherwise: ir::Block,
}

impl FunctionCompiler<'_, '_> {
    /// Compiles a turn, and leaves φs, stacks and addresses as they are behind it.
    /// Of elements that stay in registers, the groups and offsets are given, and where they are.
    /// Control goes to `otherwise`, with nothing done, where a round would fail.
    pub(crate) fn compile_turn(
        &mut self,
        window: &Window,
        residents: &[(usize, i64, Variable)],
        otherwise: ir::Block,
    ) -> Compiled<()> {
        let straight = window.straight.clone();
        let regions = window.clusters.iter().map(|cluster| cluster.region + 1).max().unwrap_or(0);
        let mut turn = Turn {
            window,
            serial: &window.serial,
            values: vec![None; straight.steps.len()],
            carried: Vec::with_capacity(straight.carried.len()),
            nodes: Vec::new(),
            made: Vec::new(),
            vectors: HashMap::new(),
            rows: HashMap::new(),
            known: HashMap::new(),
            loaded: HashMap::new(),
            places: vec![Places::default(); window.clusters.len()],
            regions: vec![Region::default(); regions],
            pending: Vec::new(),
            addresses: HashMap::new(),
            moved: HashMap::new(),
            round: 0,
            otherwise,
        };
        for (phi, _) in &straight.carried {
            match self.phi_variable(*phi) {
                Some(variable) => {
                    let before = self.read_variable(variable);
                    let node = turn.given(before);
                    turn.carried.push(node);
                }
                None => return self.refuse("a φ that is not there"),
            }
        }
        let mut spots = Vec::with_capacity(residents.len());
        for &(group, offset, variable) in residents {
            let number = self.read_variable(variable);
            let node = turn.given(number);
            let spot = turn.spot(self, &Access { group, factor: 0, offset, part: 0 }, Some(0))?;
            turn.know(spot, Known { value: Wide::Same(node), pending: false, beside: 0 });
            spots.push((spot, variable));
        }
        while turn.round < window.rounds {
            match window.lanes {
                2 => turn.pair(self)?,
                _ => turn.single(self)?,
            }
            turn.round += window.lanes;
        }
        for (spot, variable) in spots {
            let Some(value) = turn.keep_in_register(spot) else { continue };
            let node = turn.of_round(value, 0);
            let number = turn.code(self, node)?;
            self.write_variable(variable, number);
        }
        turn.store_pending(self)?;
        for (slot, (phi, _)) in straight.carried.iter().enumerate() {
            if let (Some(variable), Some(node)) = (self.phi_variable(*phi), turn.carried.get(slot).copied()) {
                let value = turn.code(self, node)?;
                self.write_variable(variable, value);
            }
        }
        self.count_rounds(window);
        Ok(())
    }
}

impl Turn<'_> {
    /// Does one round.
    fn single(&mut self, compiler: &mut FunctionCompiler<'_, '_>) -> Compiled<()> {
        let straight = self.window.straight.clone();
        for (number, step) in straight.steps.iter().enumerate() {
            let value = self.step_of_round(compiler, step, 0)?;
            self.set(number, value.map(Wide::Same));
        }
        self.carry(compiler, 0)
    }

    /// Does two rounds at once.
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
    ) -> Compiled<Option<NodeId>> {
        Ok(match step {
            Step::Compute(operation, sources) => {
                let numbers: SmallVec<[NodeId; 3]> =
                    sources.iter().map(|source| self.number(compiler, *source, round)).collect::<Compiled<_>>()?;
                Some(self.add(Node::Compute(*operation, numbers)))
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
            Step::Check(comparison, holds, [a, b]) => {
                let mut number = |source: &Source| {
                    let number = self.number(compiler, *source, round)?;
                    self.code(compiler, number)
                };
                let (a, b) = (number(a)?, number(b)?);
                compiler.check_numbers((*comparison, *holds), a, b, self.otherwise);
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
                if let Some(same) = values.iter().map(Wide::same).collect::<Option<SmallVec<[NodeId; 3]>>>() {
                    return Ok(Some(Wide::Same(self.add(Node::Compute(*operation, same)))));
                }
                let vectors: SmallVec<[NodeId; 3]> = values.into_iter().map(|value| self.vector(value)).collect();
                Some(Wide::Vector(self.add(Node::Compute(*operation, vectors))))
            }
            Step::Load(access) => Some(self.load(compiler, access, None)?),
            Step::Store(access, source) => {
                let value = self.wide(compiler, *source)?;
                self.store(compiler, access, None, value)?;
                None
            }
            Step::Check(comparison, holds, [a, b]) => {
                let mut vector = |source: &Source| {
                    let value = self.wide(compiler, *source)?;
                    let vector = self.vector(value);
                    self.code(compiler, vector)
                };
                let (a, b) = (vector(a)?, vector(b)?);
                compiler.check_numbers((*comparison, *holds), a, b, self.otherwise);
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

    fn wide(&mut self, compiler: &FunctionCompiler<'_, '_>, source: Source) -> Compiled<Wide> {
        let value = match source {
            Source::Step(step) => self.values.get(step).copied().flatten(),
            Source::Carried(slot) => self.carried.get(slot).map(|node| Wide::Same(*node)),
            Source::Uniform(slot) => self.window.uniform.get(slot).copied().map(|value| Wide::Same(self.given(value))),
        };
        match value {
            Some(value) => Ok(value),
            None => compiler.refuse("a number that is not there"),
        }
    }

    /// The number in the first or the second of the rounds that are done at once.
    fn number(&mut self, compiler: &FunctionCompiler<'_, '_>, source: Source, round: usize) -> Compiled<NodeId> {
        let value = self.wide(compiler, source)?;
        Ok(self.of_round(value, round))
    }

    fn of_round(&mut self, value: Wide, round: usize) -> NodeId {
        match value {
            Wide::Same(value) => value,
            Wide::Each([first, _]) if round == 0 => first,
            Wide::Each([_, second]) => second,
            Wide::Vector(vector) => {
                let lane = u8::from((round == 1) != self.window.reversed);
                self.add(Node::Lane(vector, lane))
            }
        }
    }

    fn vector(&mut self, value: Wide) -> NodeId {
        match value {
            Wide::Vector(vector) => vector,
            Wide::Same(value) => self.both(value, value),
            Wide::Each([first, second]) if self.window.reversed => self.both(second, first),
            Wide::Each([first, second]) => self.both(first, second),
        }
    }

    /// A vector of two numbers; the same as before, if there was one.
    fn both(&mut self, low: NodeId, high: NodeId) -> NodeId {
        if let Some(known) = self.vectors.get(&(low, high)) {
            return *known;
        }
        let vector = self.add(if low == high { Node::Twice(low) } else { Node::Both(low, high) });
        self.vectors.insert((low, high), vector);
        vector
    }

    /// A vector as it lies in memory where the order of rounds is the other way round, and back.
    fn in_order(&mut self, vector: NodeId, step: i64) -> NodeId {
        if (step < 0) == self.window.reversed { vector } else { self.add(Node::Swapped(vector)) }
    }

    /// The vector of two numbers that lie side by side.
    fn row(&mut self, cluster: usize, at: i64) -> NodeId {
        if let Some(known) = self.rows.get(&(cluster, at)) {
            return *known;
        }
        let row = self.add(Node::Load { cluster, at, vector: true });
        self.rows.insert((cluster, at), row);
        row
    }

    /// The low or the high halves of what belongs to the first and to the second round.
    fn halves(&mut self, first: NodeId, second: NodeId, high: bool) -> NodeId {
        match self.window.reversed {
            true => self.add(Node::Halves(second, first, high)),
            false => self.add(Node::Halves(first, second, high)),
        }
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.made.push(None);
        self.nodes.len() - 1
    }

    fn given(&mut self, value: ir::Value) -> NodeId {
        self.nodes.push(Node::Made);
        self.made.push(Some(value));
        self.nodes.len() - 1
    }
}

/// Memory.
impl Turn<'_> {
    /// Bytes from round to round.
    fn step_of(&self, cluster: usize) -> i64 {
        self.window.clusters.get(cluster).map_or(0, |cluster| cluster.step)
    }

    fn region_of(&self, cluster: usize) -> usize {
        self.window.clusters.get(cluster).map_or(0, |cluster| cluster.region)
    }

    /// What is accessed, in one round or in all that are done at once.
    fn spot(&self, compiler: &FunctionCompiler<'_, '_>, access: &Access, round: Option<usize>) -> Compiled<Spot> {
        let Some((cluster, at)) = self.window.cluster_of(access) else {
            return compiler.refuse("an array that is not there");
        };
        let first = self.round + round.unwrap_or(0) as i64;
        let lanes = if round.is_some() { 1 } else { self.window.lanes };
        Ok(Spot { cluster, at: at + self.step_of(cluster) * first, lanes })
    }

    /// All spots of the same cluster that hold a number of this one, itself among them.
    fn meeting(&self, spot: Spot) -> SmallVec<[Spot; 6]> {
        let step = self.step_of(spot.cluster);
        let mut all: SmallVec<[Spot; 6]> = SmallVec::new();
        for lane in 0..spot.lanes {
            let at = spot.at + lane * step;
            for (at, lanes) in [(at, 1), (at, 2), (at - step, 2)] {
                let other = Spot { at, lanes, ..spot };
                if !all.contains(&other) {
                    all.push(other);
                }
            }
        }
        all
    }

    fn know(&mut self, spot: Spot, known: Known) {
        let region = self.region_of(spot.cluster);
        if self.known.insert(spot, known).is_none()
            && let (Some(places), Some(region)) = (self.places.get_mut(spot.cluster), self.regions.get_mut(region))
        {
            if places.known.is_empty() {
                region.known.push(spot.cluster);
            }
            places.known.push(spot);
        }
    }

    fn remember_load(&mut self, spot: Spot, value: Wide) {
        let region = self.region_of(spot.cluster);
        self.loaded.insert(spot, value);
        if let (Some(places), Some(region)) = (self.places.get_mut(spot.cluster), self.regions.get_mut(region)) {
            if places.loaded.is_empty() {
                region.loaded.push(spot.cluster);
            }
            places.loaded.push(spot);
        }
    }

    /// Whether what is still to be stored may lie in the same place, under another name.
    fn meets_pending(&self, spot: Spot) -> bool {
        let in_region = self.regions.get(self.region_of(spot.cluster)).map_or(0, |region| region.pending);
        let in_cluster = self.places.get(spot.cluster).map_or(0, |places| places.pending);
        in_region > in_cluster
            || self
                .meeting(spot)
                .into_iter()
                .any(|other| other != spot && self.known.get(&other).is_some_and(|known| known.pending))
    }

    /// The value of an access in one round, or in those that are done at once.
    fn load(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        access: &Access,
        round: Option<usize>,
    ) -> Compiled<Wide> {
        let spot = self.spot(compiler, access, round)?;
        if let Some(known) = self.known.get(&spot) {
            return Ok(known.value);
        }
        if self.meets_pending(spot) {
            self.store_pending(compiler)?;
        }
        let Spot { cluster, at, lanes } = spot;
        let beside = self.window.beside(access);
        let step = self.step_of(cluster);
        let load = |at: i64, vector: bool| Node::Load { cluster, at, vector };
        let value = if lanes == 1 || step == 0 {
            Wide::Same(self.add(load(at, false)))
        } else if step.abs() == BYTES {
            let vector = self.add(load(at.min(at + step), true));
            Wide::Vector(self.in_order(vector, step))
        } else if beside != 0 {
            // Two numbers that lie side by side are loaded at once in each round, and sorted by rounds.
            let lower = at.min(at + beside);
            let (first, second) = (self.row(cluster, lower), self.row(cluster, lower + step));
            Wide::Vector(self.halves(first, second, lower != at))
        } else {
            Wide::Each([self.add(load(at, false)), self.add(load(at + step, false))])
        };
        self.know(spot, Known { value, pending: false, beside });
        self.remember_load(spot, value);
        Ok(value)
    }

    fn store(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        access: &Access,
        round: Option<usize>,
        value: Wide,
    ) -> Compiled<()> {
        let spot = self.spot(compiler, access, round)?;
        if self.meets_pending(spot) {
            self.store_pending(compiler)?;
        }
        for other in self.meeting(spot) {
            if other != spot {
                self.known.remove(&other);
            }
        }
        // What other clusters of the region hold is not known any more.
        let region = self.region_of(spot.cluster);
        let known = self.regions.get_mut(region).map(|region| take_others(&mut region.known, spot.cluster));
        for cluster in known.unwrap_or_default() {
            let known = self.places.get_mut(cluster).map(|places| std::mem::take(&mut places.known));
            known.unwrap_or_default().iter().for_each(|spot| {
                self.known.remove(spot);
            });
        }
        let before = self.known.get(&spot).is_some_and(|known| known.pending);
        self.know(spot, Known { value, pending: true, beside: self.window.beside(access) });
        if !before {
            self.pending.push(spot);
            self.count_pending(spot.cluster, 1);
        }
        Ok(())
    }

    fn count_pending(&mut self, cluster: usize, by: isize) {
        let region = self.region_of(cluster);
        if let Some(region) = self.regions.get_mut(region) {
            region.pending = region.pending.saturating_add_signed(by);
        }
        if let Some(places) = self.places.get_mut(cluster) {
            places.pending = places.pending.saturating_add_signed(by);
        }
    }

    /// The last value of an element that stays in a register: it is not stored here.
    fn keep_in_register(&mut self, spot: Spot) -> Option<Wide> {
        let known = self.known.get_mut(&spot)?;
        let (value, pending) = (known.value, known.pending);
        known.pending = false;
        if pending {
            self.count_pending(spot.cluster, -1);
        }
        Some(value)
    }

    /// Stores what was not stored yet: of what was stored twice in the same place, the last.
    fn store_pending(&mut self, compiler: &mut FunctionCompiler<'_, '_>) -> Compiled<()> {
        // What is loaded from here on is another number.
        self.rows.clear();
        for spot in std::mem::take(&mut self.pending) {
            let Some(value) = self.take_pending(spot) else { continue };
            self.load_before(compiler, spot)?;
            let step = self.step_of(spot.cluster);
            let places = [spot.at, spot.at + step];
            if spot.lanes == 2 && step.abs() == BYTES {
                let vector = self.vector(value);
                let vector = self.in_order(vector, step);
                self.store_node(compiler, spot.cluster, places[0].min(places[1]), vector)?;
                continue;
            }
            if let Some((other, its)) = self.take_beside(spot) {
                self.load_before(compiler, other)?;
                let (low, high) = if other.at < spot.at { (its, value) } else { (value, its) };
                let (low, high) = (self.vector(low), self.vector(high));
                for (round, at) in [0, step].into_iter().enumerate() {
                    let row = self.add(Node::Halves(low, high, (round == 1) != self.window.reversed));
                    self.store_node(compiler, spot.cluster, spot.at.min(other.at) + at, row)?;
                }
                continue;
            }
            for (round, at) in places.into_iter().enumerate().take(spot.lanes as usize) {
                let number = self.of_round(value, round);
                self.store_node(compiler, spot.cluster, at, number)?;
            }
        }
        Ok(())
    }

    /// What is still to be stored here, which from now on it is not.
    fn take_pending(&mut self, spot: Spot) -> Option<Wide> {
        let known = self.known.get_mut(&spot).filter(|known| known.pending)?;
        known.pending = false;
        let value = known.value;
        self.count_pending(spot.cluster, -1);
        Some(value)
    }

    /// What is still to be stored beside this, if the two make vectors.
    fn take_beside(&mut self, spot: Spot) -> Option<(Spot, Wide)> {
        let beside = self.known.get(&spot)?.beside;
        let other = Spot { at: spot.at + beside, ..spot };
        let mutual = self.known.get(&other).is_some_and(|known| known.beside == -beside);
        if beside == 0 || spot.lanes != 2 || !mutual {
            return None;
        }
        self.take_pending(other).map(|value| (other, value))
    }

    fn store_node(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        cluster: usize,
        at: i64,
        node: NodeId,
    ) -> Compiled<()> {
        let value = self.code(compiler, node)?;
        let address = self.address(compiler, cluster)?;
        let vector = compiler.builder.func.dfg.value_type(value) == clif::F64X2;
        let flags = if vector { unaligned() } else { trusted() };
        compiler.builder.ins().store(flags, value, address, at as i32);
        Ok(())
    }

    /// Makes code of the loads that must come before something is stored here.
    fn load_before(&mut self, compiler: &mut FunctionCompiler<'_, '_>, spot: Spot) -> Compiled<()> {
        let mut first: Vec<Wide> =
            self.meeting(spot).into_iter().filter_map(|other| self.loaded.remove(&other)).collect();
        let region = self.region_of(spot.cluster);
        let loaded = self.regions.get_mut(region).map(|region| take_others(&mut region.loaded, spot.cluster));
        for cluster in loaded.unwrap_or_default() {
            let loaded = self.places.get_mut(cluster).map(|places| std::mem::take(&mut places.loaded));
            first.extend(loaded.unwrap_or_default().iter().filter_map(|spot| self.loaded.remove(spot)));
        }
        for value in first {
            match value {
                Wide::Same(node) | Wide::Vector(node) => self.code(compiler, node)?,
                Wide::Each([first, second]) => {
                    self.code(compiler, first)?;
                    self.code(compiler, second)?
                }
            };
        }
        Ok(())
    }
}

/// Code.
impl Turn<'_> {
    /// Makes code of a node and of what it needs, unless there is some.
    fn code(&mut self, compiler: &mut FunctionCompiler<'_, '_>, node: NodeId) -> Compiled<ir::Value> {
        let mut work = vec![node];
        while let Some(&node) = work.last() {
            if self.made.get(node).copied().flatten().is_some() {
                work.pop();
                continue;
            }
            let Some(wanted) = self.nodes.get(node).cloned() else {
                return compiler.refuse("a node that is not there");
            };
            let operands: SmallVec<[NodeId; 3]> = match &wanted {
                Node::Made | Node::Load { .. } => SmallVec::new(),
                Node::Compute(_, operands) => operands.clone(),
                Node::Lane(one, _) | Node::Twice(one) | Node::Swapped(one) => smallvec![*one],
                Node::Both(low, high) | Node::Halves(low, high, _) => smallvec![*low, *high],
            };
            let made = work.len();
            work.extend(operands.iter().rev().filter(|operand| matches!(self.made.get(**operand), Some(None))));
            if work.len() > made {
                continue;
            }
            let values: SmallVec<[ir::Value; 3]> =
                operands.iter().filter_map(|operand| self.made.get(*operand).copied().flatten()).collect();
            let value = self.make(compiler, &wanted, &values)?;
            if let Some(slot) = self.made.get_mut(node) {
                *slot = Some(value);
            }
            work.pop();
        }
        match self.made.get(node).copied().flatten() {
            Some(value) => Ok(value),
            None => compiler.refuse("a number that is not there"),
        }
    }

    /// Whether the loop changes nothing where a cluster lies.
    fn is_read_only(&self, cluster: usize) -> bool {
        self.window.clusters.get(cluster).is_some_and(|cluster| !cluster.stored && cluster.step != 0)
    }

    fn make(
        &mut self,
        compiler: &mut FunctionCompiler<'_, '_>,
        node: &Node,
        operands: &[ir::Value],
    ) -> Compiled<ir::Value> {
        Ok(match (node, operands) {
            (Node::Load { cluster, at, vector }, _) => {
                let address = self.address(compiler, *cluster)?;
                let (ty, flags) = if *vector { (clif::F64X2, unaligned()) } else { (clif::F64, trusted()) };
                // An address that moves with the rounds is of this turn alone, so Cranelift does not take the load out
                // of the loop.
                let flags = if self.is_read_only(*cluster) { flags.with_readonly().with_can_move() } else { flags };
                compiler.builder.ins().load(ty, flags, address, *at as i32)
            }
            (Node::Compute(operation, _), operands) => compiler.compute(*operation, operands),
            (Node::Lane(_, lane), [vector]) => compiler.builder.ins().extractlane(*vector, *lane),
            (Node::Twice(_), [number]) => compiler.builder.ins().splat(clif::F64X2, *number),
            (Node::Both(..), [low, high]) => {
                let vector = compiler.builder.ins().splat(clif::F64X2, *low);
                compiler.builder.ins().insertlane(vector, *high, 1)
            }
            (Node::Swapped(_), [vector]) => shuffle(&mut compiler.builder, *vector, *vector, [1, 0]),
            (Node::Halves(_, _, high), [a, b]) => {
                let half = u8::from(*high);
                shuffle(&mut compiler.builder, *a, *b, [half, 2 + half])
            }
            _ => return compiler.refuse("a node without operands"),
        })
    }

    /// The address of the start of a cluster, moved by what the turns before have done.
    fn address(&mut self, compiler: &mut FunctionCompiler<'_, '_>, cluster: usize) -> Compiled<ir::Value> {
        if let Some(known) = self.addresses.get(&cluster) {
            return Ok(*known);
        }
        let Some((start, step)) = self.window.start_of(cluster) else {
            return compiler.refuse("an array that is not there");
        };
        let address = if step == 0 {
            start
        } else {
            let moved = match self.moved.get(&step) {
                Some(moved) => *moved,
                None => {
                    let done = compiler.read_variable(self.window.done);
                    let moved = match step / BYTES {
                        1 => done,
                        factor => compiler.builder.ins().imul_imm_s(done, factor),
                    };
                    self.moved.insert(step, moved);
                    moved
                }
            };
            compiler.builder.ins().iadd(start, moved)
        };
        self.addresses.insert(cluster, address);
        Ok(address)
    }
}

/// Takes all clusters out of a list but one.
fn take_others(clusters: &mut Vec<usize>, cluster: usize) -> Vec<usize> {
    let (this, others) = std::mem::take(clusters).into_iter().partition(|known| *known == cluster);
    *clusters = this;
    others
}

/// Two halves out of the four of two vectors.
pub(crate) fn shuffle(builder: &mut FunctionBuilder<'_>, a: ir::Value, b: ir::Value, halves: [u8; 2]) -> ir::Value {
    let little = MemFlagsData::new().with_endianness(ir::Endianness::Little);
    let [a, b] = [a, b].map(|vector| builder.ins().bitcast(clif::I8X16, little, vector));
    let order: Vec<u8> = halves.iter().flat_map(|half| 8 * half..8 * half + 8).collect();
    let order = builder.func.dfg.immediates.push(ir::ConstantData::from(order));
    let shuffled = builder.ins().shuffle(a, b, order);
    builder.ins().bitcast(clif::F64X2, little, shuffled)
}

impl Wide {
    fn same(&self) -> Option<NodeId> {
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
