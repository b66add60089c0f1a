//! Loops in loops of which several rounds can be run at once.

use std::rc::Rc;

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::primitives::MemoryEffect;
use ircode::{Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::early::Early;
use super::rows::{Names, named};
use crate::analyses::effects::effects;
use crate::analyses::effects::is_total;

/// Bodies of inner loops may have so many statements.
const MOST_STATEMENTS: usize = 16;

/// At most this many steps are taken to what an expression consists of.
pub(super) const DEEPEST: usize = 8;

/// Factors of counters in indices are no larger, and no loop has more rounds than [`MOST_ROUNDS`]: so no index leaves
/// 64 bits on its way from the first to the last.
const MOST_FACTOR: i64 = 1 << 16;

/// See [`MOST_FACTOR`].
pub(super) const MOST_ROUNDS: i64 = 1 << 40;

/// Loops that store to more arrays stay: each would be compared with each that is loaded from.
const MOST_STORED: usize = 8;

/// At most this many blocks are looked through on the way to the inner loop, and for what ends the outer one.
const MOST_BLOCKS: usize = 32;

/// So many rounds are run at once if the inner loop has as many rounds in each.
const ROUNDS: usize = 4;

/// And so many if not: all but one may have to do the rest alone.
const ROUNDS_THAT_DIFFER: usize = 2;

/// A φ at the header of a loop, with what it starts with and what it takes from the end of each round.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    pub(super) phi: InstId,
    pub(super) start: Operand<Ids>,
    pub(super) next: Operand<Ids>,
}

/// A loop in a loop.
#[derive(Debug)]
pub(super) struct Nest<'a> {
    pub(super) outer: Outer<'a>,
    pub(super) inner: Inner,
    /// The condition on which the inner loop is entered at all, and what it is then.
    pub(super) entered: Option<(Operand<Ids>, bool)>,
    pub(super) meeting: Option<Meeting>,
    /// The blocks of the outer loop that lead to the inner one, in this order.
    pub(super) entering: Vec<BlockId>,
    /// So many rounds of the outer loop can be run at once.
    pub(super) rounds: usize,
    /// What later rounds load there that the inner loop needs.
    pub(super) loaded_before: Vec<Load>,
    /// Arrays of which a round of the outer loop reads elements in the inner loop, and others to which it stores
    /// somewhere else, which may be the same.
    pub(super) disjoint: Vec<(Operand<Ids>, Operand<Ids>)>,
}

/// The loop around.
#[derive(Debug)]
pub(super) struct Outer<'a> {
    pub(super) header: BlockId,
    pub(super) before: BlockId,
    pub(super) latch: BlockId,
    pub(super) carried: HashMap<InstId, Carried>,
    /// What decides, early in a round, whether another one follows, and what it is then.
    pub(super) goes_on: (Operand<Ids>, bool),
    pub(super) around: Rc<Around<'a>>,
}

/// What all nests of a loop have in common.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub(super) id: LoopId,
    graph: &'a BlockGraph,
    loops: &'a LoopForest,
    /// The arrays to which it stores.
    stored: Vec<Operand<Ids>>,
}

impl Around<'_> {
    /// Whether a block was in the loop when it was found.
    pub(super) fn has(&self, block: BlockId) -> bool {
        is_inside(self.graph, self.loops, self.id, block)
    }
}

fn is_inside(graph: &BlockGraph, loops: &LoopForest, id: LoopId, block: BlockId) -> bool {
    graph.number(block).is_some_and(|number| loops.contains(id, number))
}

/// Adds an array to a list of few. False if there are too many.
fn add(stored: &mut Vec<Operand<Ids>>, array: &Operand<Ids>) -> bool {
    if !stored.contains(array) {
        stored.push(array.clone());
    }
    stored.len() <= MOST_STORED
}

/// The loop in it: blocks one behind the other, of which one may leave it, where a counter is at its bound.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) header: BlockId,
    pub(super) before: BlockId,
    pub(super) test: BlockId,
    /// Where it goes then.
    pub(super) exit: BlockId,
    pub(super) carried: Vec<Carried>,
    /// The statements up to the test and those behind it, without φs and branches.
    pub(super) body: Vec<InstId>,
    pub(super) behind: Vec<InstId>,
    /// All of these, with φs.
    values: HashSet<InstId>,
    /// What is compared with its bound.
    pub(super) counter: InstId,
    pub(super) bound: Operand<Ids>,
    pub(super) condition: Operand<Ids>,
}

/// Where control comes together that enters the inner loop and that does not.
#[derive(Debug)]
pub(super) struct Meeting {
    pub(super) block: BlockId,
    pub(super) skipped: BlockId,
    pub(super) left: BlockId,
}

/// An element that is loaded.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) array: Operand<Ids>,
    pub(super) indices: Vec<Operand<Ids>>,
}

/// How a block ends.
enum End {
    Goes(BlockId),
    /// Where it goes if the condition holds, and if not.
    Decides(Operand<Ids>, BlockId, BlockId),
}

pub(super) struct Search<'a, 'b> {
    pub(super) module: &'b Module<BBCode>,
    pub(super) bb: &'b BBCode,
    pub(super) graph: &'a BlockGraph,
    pub(super) loops: &'a LoopForest,
    pub(super) domtree: &'b DomTree,
    /// The values that may be undefined: to ask for one sooner would be to fail sooner.
    pub(super) undefined: &'b SecondaryMap<InstId, ()>,
}

impl<'a> Search<'a, '_> {
    /// One nest at most of each loop around others, in the order of the function.
    pub(super) fn nests(&self) -> Vec<Nest<'a>> {
        let parents: HashSet<LoopId> = self.loops.iter().filter_map(|(_, each)| each.parent).collect();
        let mut blocks_of: HashMap<LoopId, Vec<BlockId>> = HashMap::new();
        for number in self.domtree.preorder() {
            if let Some(id) = self.loops.innermost(number) {
                blocks_of.entry(id).or_default().extend(self.graph.block(number));
            }
        }
        let innermost = self.loops.iter().filter(|(id, _)| !parents.contains(id));
        let inners: Vec<(LoopId, Inner)> =
            innermost.filter_map(|(id, each)| Some((each.parent?, self.inner(id, blocks_of.get(&id)?)?))).collect();
        if inners.is_empty() {
            return Vec::new();
        }
        let around: HashMap<LoopId, Rc<Around<'a>>> = self
            .stored(&blocks_of)
            .into_iter()
            .map(|(id, stored)| (id, Rc::new(Around { id, graph: self.graph, loops: self.loops, stored })))
            .collect();
        let mut taken: HashSet<LoopId> = HashSet::new();
        let mut found = Vec::new();
        for (parent, inner) in inners {
            let Some(around) = around.get(&parent).filter(|_| !taken.contains(&parent)) else { continue };
            if let Some(nest) = self.nest(around, inner) {
                taken.insert(parent);
                found.push(nest);
            }
        }
        found
    }

    fn nest(&self, around: &Rc<Around<'a>>, inner: Inner) -> Option<Nest<'a>> {
        let mut nest = self.around(around, inner)?;
        let most = if nest.rounds_grow(self.bb, self.module) == Some(0) { ROUNDS } else { ROUNDS_THAT_DIFFER };
        // What later rounds need before this one has ended: of how many that can be known.
        let (rounds, loaded_before) = [most, ROUNDS_THAT_DIFFER].into_iter().find_map(|rounds| {
            let loads = Early::new(self, &nest.outer, &nest.inner).loads_of(&nest, rounds)?;
            Some((rounds, loads))
        })?;
        let in_loop = nest.inner.loads(self.bb, self.module);
        for load in loaded_before.iter().chain(&in_loop) {
            // A number is there in each element; an index counts along the whole array or along one dimension of it.
            let Type::Array(array) = self.bb.operand_type(&load.array) else { return None };
            let fits = load.indices.len() == 1 || load.indices.len() == array.rank as usize;
            let integers = load.indices.iter().all(|index| self.bb.operand_type(index) == Type::INT64);
            (fits && integers && array.element.as_scalar().is_some()).then_some(())?;
        }
        nest.disjoint = self.stored_elsewhere(&nest, loaded_before.iter().chain(&in_loop))?;
        (nest.loaded_before, nest.rounds) = (loaded_before, rounds);
        Some(nest)
    }

    fn end(&self, block: BlockId) -> Option<End> {
        let next = self.bb.next(block);
        match self.bb.terminator(block).map(|(_, inst)| &inst.stmt) {
            None => Some(End::Goes(next?)),
            Some(Stmt::Goto(goto)) => Some(End::Goes(goto.label)),
            Some(Stmt::GotoIfNot(goto)) => Some(End::Decides(goto.cond.clone(), next?, goto.dest)),
            Some(_) => None,
        }
    }

    fn carried(&self, header: BlockId, before: BlockId, latch: BlockId) -> Option<Vec<Carried>> {
        let phis = self.bb.phi_nodes(header).map(|(phi, inst)| {
            let node = inst.stmt.as_phi()?;
            let from = |edge: BlockId| node.value_from(edge).cloned();
            Some(Carried { phi, start: from(before)?, next: from(latch)? })
        });
        phis.collect()
    }

    /// The only block from which a loop is entered, and the only one from which it is gone around.
    fn ways_in(&self, id: LoopId) -> Option<(BlockId, BlockId)> {
        let (before, latch) = self.loops.entry_and_latch(self.graph.graph(), id)?;
        let (before, latch) = (self.graph.block(before)?, self.graph.block(latch)?);
        let header = self.graph.block(self.loops.get(id)?.header)?;
        (!self.graph.has_virtual_predecessor(header)).then_some((before, latch))
    }

    fn inner(&self, id: LoopId, blocks: &[BlockId]) -> Option<Inner> {
        let inside = |block: BlockId| is_inside(self.graph, self.loops, id, block);
        let header = *blocks.first()?;
        let (before, latch) = self.ways_in(id)?;
        let mut found: Option<(BlockId, BlockId, Operand<Ids>)> = None;
        let (mut body, mut behind, mut at) = (Vec::new(), Vec::new(), header);
        for _ in blocks {
            (!self.bb.has_odd_edges(at)).then_some(())?;
            for (id, inst) in self.bb.insts(at) {
                if inst.stmt.is_terminator() || at == header && matches!(inst.stmt, Stmt::Phi(_)) {
                    continue;
                }
                // One of another block takes one value, and goes where copies are propagated: it is not carried here.
                (!matches!(inst.stmt, Stmt::Phi(_))).then_some(())?;
                // What comes behind the test would also be loaded in a round of which nobody asked.
                let loads = found.is_none() && load(self.module, &inst.stmt).is_some();
                (loads || is_total(self.module, self.bb, &inst.stmt)).then_some(())?;
                if found.is_none() { &mut body } else { &mut behind }.push(id);
            }
            at = match self.end(at)? {
                End::Goes(to) => to,
                End::Decides(condition, exit, to) if inside(to) && !inside(exit) && found.is_none() => {
                    found = Some((at, exit, condition));
                    to
                }
                End::Decides(..) => return None,
            };
        }
        let (test, exit, condition) = found?;
        let carried = self.carried(header, before, latch)?;
        let floats = |carried: &Carried| {
            let ty = self.bb.operand_type(&Operand::Value(carried.phi));
            [Type::FLOAT64, Type::FLOAT32].contains(&ty) && carried.next != Operand::Value(carried.phi)
        };
        if at != header || body.len() + behind.len() > MOST_STATEMENTS || !carried.iter().any(floats) {
            return None;
        }
        let (primitive, args) = self.module.primitive_call(self.bb.stmt(condition.as_value()?)?)?;
        let ("===" | "eq_int", [a, b]) = (primitive.name, args) else { return None };
        let phis = carried.iter().map(|carried| carried.phi);
        let values = phis.chain(body.iter().chain(&behind).copied()).collect();
        let mut inner = Inner {
            header,
            before,
            test,
            exit,
            carried,
            body,
            behind,
            values,
            counter: InstId::default(),
            bound: b.clone(),
            condition,
        };
        let is_counter = |operand: &Operand<Ids>, inner: &Inner| {
            operand.as_value().filter(|&phi| matches!(inner.step(self.bb, self.module, phi), Some(1 | -1)))
        };
        inner.counter = match (is_counter(a, &inner), is_counter(b, &inner)) {
            (Some(counter), None) => counter,
            (None, Some(counter)) => {
                inner.bound = a.clone();
                counter
            }
            _ => return None,
        };
        (inner.is_outside(&inner.bound) && self.bb.operand_type(&inner.bound) == Type::INT64).then_some(inner)
    }

    /// The nest of an inner loop and the one around it, as far as the blocks show.
    fn around(&self, around: &Rc<Around<'a>>, inner: Inner) -> Option<Nest<'a>> {
        let found = self.loops.get(around.id).filter(|found| !found.irreducible)?;
        let header = self.graph.block(found.header)?;
        let (before, latch) = self.ways_in(around.id)?;

        // One block behind the other up to the inner loop, which one branch at most may pass by.
        let (mut at, mut entering, mut entered, mut meeting) = (header, vec![header], None, None);
        loop {
            let to = match self.end(at)? {
                End::Goes(to) => to,
                End::Decides(condition, if_true, if_false) => {
                    let leads = |to: BlockId| to == inner.header || self.dominates(to, inner.header);
                    let (to, passes_by) = match (leads(if_true), leads(if_false)) {
                        (true, false) => (if_true, if_false),
                        (false, true) => (if_false, if_true),
                        _ => return None,
                    };
                    if entered.replace((condition, to == if_true)).is_some() {
                        return None;
                    }
                    let (block, skipped) = self.past_empty_blocks(at, passes_by)?;
                    let (same, left) = self.past_empty_blocks(inner.test, inner.exit)?;
                    let meets = self.graph.predecessors(block).all(|from| [skipped, left].contains(&from));
                    if same != block || !meets {
                        return None;
                    }
                    meeting = Some(Meeting { block, skipped, left });
                    to
                }
            };
            if to == inner.header {
                break;
            }
            if self.graph.predecessors(to).count() != 1 || !around.has(to) || entering.len() == MOST_BLOCKS {
                return None;
            }
            entering.push(to);
            at = to;
        }
        let behind = meeting.as_ref().map_or(inner.exit, |meeting: &Meeting| meeting.block);
        if at != inner.before || !self.dominates(behind, latch) {
            return None;
        }
        let carried = self.carried(header, before, latch)?.into_iter().map(|carried| (carried.phi, carried)).collect();
        let goes_on = (Operand::from(0), true);
        let mut outer = Outer { header, before, latch, carried, goes_on, around: around.clone() };
        outer.goes_on = self.goes_on(&outer, &inner)?;
        let (loaded_before, disjoint) = (Vec::new(), Vec::new());
        let rounds = ROUNDS_THAT_DIFFER;
        Some(Nest { outer, inner, entered, meeting, entering, rounds, loaded_before, disjoint })
    }

    /// Where control goes from a block that comes from this one, behind blocks that do nothing, and from which of
    /// these.
    fn past_empty_blocks(&self, from: BlockId, to: BlockId) -> Option<(BlockId, BlockId)> {
        let (mut from, mut to) = (from, to);
        while self.graph.predecessors(to).count() == 1 && self.bb.insts(to).all(|(_, inst)| inst.stmt.is_terminator()) {
            let End::Goes(next) = self.end(to)? else { break };
            (from, to) = (to, next);
        }
        Some((to, from))
    }

    pub(super) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        matches!((self.graph.number(a), self.graph.number(b)), (Some(a), Some(b)) if self.domtree.dominates(a, b))
    }

    /// What decides whether another round of the outer loop follows, if that is known where the inner loop is entered.
    fn goes_on(&self, outer: &Outer<'_>, inner: &Inner) -> Option<(Operand<Ids>, bool)> {
        let mut at = self.graph.number(outer.latch)?;
        // From the end of the round on backwards: whatever dominates the latch is run in each round.
        for _ in 0..MOST_BLOCKS {
            let block = self.graph.block(at)?;
            if let Some(End::Decides(condition, if_true, if_false)) = self.end(block) {
                let (if_true, if_false) = (outer.around.has(if_true), outer.around.has(if_false));
                if if_true != if_false && Early::new(self, outer, inner).is_known(&condition, 0) {
                    return Some((condition, if_true));
                }
            }
            if block == outer.header {
                return None;
            }
            at = self.domtree.immediate_dominator(at)?;
        }
        None
    }

    /// The arrays to which loops store, each once, given the blocks that are in no loop inside. Left out are loops that
    /// may change something else, that store to many, or in which control goes another way than branches say.
    fn stored(&self, blocks_of: &HashMap<LoopId, Vec<BlockId>>) -> HashMap<LoopId, Vec<Operand<Ids>>> {
        let mut children: HashMap<LoopId, Vec<LoopId>> = HashMap::new();
        for (id, each) in self.loops.iter() {
            children.entry(id).or_default();
            if let Some(parent) = each.parent {
                children.entry(parent).or_default().push(id);
            }
        }
        let mut work: Vec<LoopId> =
            self.loops.iter().filter(|(_, each)| each.parent.is_none()).map(|(id, _)| id).collect();
        let mut order = Vec::new();
        while let Some(id) = work.pop() {
            order.push(id);
            work.extend(children.get(&id).into_iter().flatten());
        }
        // From the inside.
        let mut stored: HashMap<LoopId, Vec<Operand<Ids>>> = HashMap::new();
        for id in order.into_iter().rev() {
            let inside = children.get(&id).into_iter().flatten().map(|child| stored.get(child));
            let Some(inside) = inside.collect::<Option<Vec<_>>>() else { continue };
            let mut all: Vec<Operand<Ids>> = Vec::new();
            let mut few = inside.into_iter().flatten().all(|array| add(&mut all, array));
            for &block in blocks_of.get(&id).into_iter().flatten() {
                few = few && self.add_stored(block, &mut all).is_some();
            }
            if few {
                stored.insert(id, all);
            }
        }
        stored
    }

    /// Adds the arrays to which a block stores; `None` if it does something else, or there are many.
    fn add_stored(&self, block: BlockId, stored: &mut Vec<Operand<Ids>>) -> Option<()> {
        (!self.bb.has_odd_edges(block)).then_some(())?;
        for (_, inst) in self.bb.insts(block).filter(|(_, inst)| !inst.stmt.is_terminator()) {
            if !effects(self.module, self.bb, inst).writes {
                continue;
            }
            match self.module.primitive_call(&inst.stmt)? {
                (primitive, [_, array, ..]) if primitive.name == "arrayset" => add(stored, array).then_some(())?,
                (primitive, _) if primitive.name.starts_with("stack_") => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// The pairs of arrays of which it must be seen that they share nothing.
    fn stored_elsewhere<'l>(
        &self,
        nest: &Nest<'_>,
        loads: impl Iterator<Item = &'l Load>,
    ) -> Option<Vec<(Operand<Ids>, Operand<Ids>)>> {
        let mut pairs = Vec::new();
        for load in loads {
            for array in &nest.outer.around.stored {
                let pair = (load.array.clone(), array.clone());
                if self.are_apart(&load.array, array) || pairs.contains(&pair) {
                    continue;
                }
                let is_array = matches!(self.bb.operand_type(array), Type::Array(_));
                let known = Early::new(self, &nest.outer, &nest.inner).is_known_before(array);
                (is_array && known).then_some(())?;
                pairs.push(pair);
            }
        }
        Some(pairs)
    }

    /// Whether two arrays are seen to share no memory.
    fn are_apart(&self, a: &Operand<Ids>, b: &Operand<Ids>) -> bool {
        let fresh = |operand: &Operand<Ids>| {
            let stmt = operand.as_value().and_then(|value| self.bb.stmt(value));
            let call = stmt.and_then(|stmt| self.module.primitive_call(stmt));
            call.is_some_and(|(primitive, _)| {
                matches!(primitive.memory, MemoryEffect::NewArray { .. }) || primitive.name == "zero_tangent"
            })
        };
        let from_outside = |operand: &Operand<Ids>| matches!(operand, Operand::Argument(_));
        a != b && (fresh(a) && (fresh(b) || from_outside(b)) || from_outside(a) && fresh(b))
    }
}

/// What the transformation of other nests has changed.
#[derive(Default)]
pub(super) struct Changes {
    /// Values that have become others where they are used.
    pub(super) values: Names,
    /// Blocks that were put on edges.
    pub(super) edges: HashMap<(BlockId, BlockId), BlockId>,
}

impl Nest<'_> {
    /// Takes note of what was changed since it was found.
    pub(super) fn update(&mut self, changes: &Changes) {
        let Nest { outer, inner, entered, meeting, loaded_before, disjoint, .. } = self;
        let carried = outer.carried.values_mut().chain(&mut inner.carried);
        let carried = carried.flat_map(|carried| [&mut carried.start, &mut carried.next]);
        let conditions = entered.iter_mut().map(|(condition, _)| condition);
        let loaded =
            loaded_before.iter_mut().flat_map(|load| std::iter::once(&mut load.array).chain(&mut load.indices));
        let apart = disjoint.iter_mut().flat_map(|(a, b)| [a, b]);
        let of_inner = [&mut inner.bound, &mut inner.condition, &mut outer.goes_on.0];
        for operand in carried.chain(conditions).chain(loaded).chain(apart).chain(of_inner) {
            *operand = named(&changes.values, operand);
        }
        let edges = [(&mut outer.before, outer.header), (&mut outer.latch, outer.header)];
        let meetings =
            meeting.iter_mut().flat_map(|Meeting { block, skipped, left }| [(skipped, *block), (left, *block)]);
        for (from, to) in edges.into_iter().chain(meetings) {
            if let Some(between) = changes.edges.get(&(*from, to)) {
                *from = *between;
            }
        }
    }

    /// How many rounds more the inner loop has in each round of the outer one, if that is seen.
    pub(super) fn rounds_grow(&self, bb: &BBCode, module: &Module<BBCode>) -> Option<i64> {
        let counter = self.inner.carried.iter().find(|carried| carried.phi == self.inner.counter)?;
        let grows = |operand: &Operand<Ids>| self.outer.growth(bb, module, operand, DEEPEST);
        let more = grows(&self.inner.bound)?.checked_sub(grows(&counter.start)?)?;
        more.checked_mul(self.inner.step(bb, module, counter.phi)?)
    }
}

impl Outer<'_> {
    /// By how much an integer changes in each round, as far as that is seen; of a choice, what is no constant counts.
    fn growth(&self, bb: &BBCode, module: &Module<BBCode>, operand: &Operand<Ids>, depth: usize) -> Option<i64> {
        let (Some(value), Some(depth)) = (operand.as_value(), depth.checked_sub(1)) else { return Some(0) };
        if bb.block_of(value).is_none_or(|block| !self.around.has(block)) {
            return Some(0);
        }
        let growth = |operand: &Operand<Ids>| self.growth(bb, module, operand, depth);
        if let Some(carried) = self.carried.get(&value) {
            let (primitive, args) = module.primitive_call(bb.stmt(carried.next.as_value()?)?)?;
            return match (primitive.name, args) {
                ("add_int", [a, b]) if a.as_value() == Some(value) => b.as_int64(),
                ("sub_int", [a, b]) if a.as_value() == Some(value) => b.as_int64()?.checked_neg(),
                _ => None,
            };
        }
        let (primitive, args) = module.primitive_call(bb.stmt(value)?)?;
        match (primitive.name, args) {
            ("add_int", [a, b]) => growth(a)?.checked_add(growth(b)?),
            ("sub_int", [a, b]) => growth(a)?.checked_sub(growth(b)?),
            ("ifelse", [_, a, b]) => growth(if a.as_constant().is_some() { b } else { a }),
            _ => None,
        }
    }
}

/// What a statement loads, if it is that.
pub(super) fn load(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Load> {
    let access = module.element_access(stmt)?;
    let is_load = access.stored.is_none() && !access.indices.is_empty();
    is_load.then(|| Load { array: access.array.clone(), indices: access.indices.to_vec() })
}

impl Inner {
    /// Whether an operand is not computed in the loop.
    pub(super) fn is_outside(&self, operand: &Operand<Ids>) -> bool {
        !operand.as_value().is_some_and(|value| self.values.contains(&value))
    }

    /// The values from outside that the statements use.
    pub(super) fn operands(&self, bb: &BBCode) -> Vec<Operand<Ids>> {
        let (mut used, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |value: InstId| {
            let operand = Operand::Value(value);
            if self.is_outside(&operand) && seen.insert(value) {
                used.push(operand);
            }
        };
        for stmt in self.body.iter().chain(&self.behind).filter_map(|&id| bb.stmt(id)) {
            stmt.for_each_use(&mut add);
        }
        self.carried.iter().filter_map(|carried| carried.next.as_value()).for_each(add);
        used
    }

    pub(super) fn loads(&self, bb: &BBCode, module: &Module<BBCode>) -> Vec<Load> {
        self.body.iter().filter_map(|&id| load(module, bb.stmt(id)?)).collect()
    }

    /// By how much a φ changes in each round.
    pub(super) fn step(&self, bb: &BBCode, module: &Module<BBCode>, phi: InstId) -> Option<i64> {
        let carried = self.carried.iter().find(|carried| carried.phi == phi)?;
        let (primitive, args) = module.primitive_call(bb.stmt(carried.next.as_value()?)?)?;
        let is_phi = |operand: &Operand<Ids>| operand.as_value() == Some(phi);
        let step = match (primitive.name, args) {
            ("add_int", [a, b]) if is_phi(a) => b.as_int64()?,
            ("add_int", [a, b]) if is_phi(b) => a.as_int64()?,
            ("sub_int", [a, b]) if is_phi(a) => b.as_int64()?.checked_neg()?,
            _ => return None,
        };
        (bb.operand_type(&Operand::Value(phi)) == Type::INT64 && step.abs() <= MOST_FACTOR).then_some(step)
    }

    /// By how much an index changes in each round, if it is a sum of counters and of what does not change; what that
    /// is, and what the counters start with, is put into the list.
    pub(super) fn factor(
        &self,
        bb: &BBCode,
        module: &Module<BBCode>,
        index: &Operand<Ids>,
        depth: usize,
        outside: &mut Vec<Operand<Ids>>,
    ) -> Option<i64> {
        if bb.operand_type(index) != Type::INT64 {
            return None;
        }
        if self.is_outside(index) {
            outside.push(index.clone());
            return Some(0);
        }
        let (value, depth) = (index.as_value()?, depth.checked_sub(1)?);
        if let Some(carried) = self.carried.iter().find(|carried| carried.phi == value) {
            outside.push(carried.start.clone());
            return self.step(bb, module, value);
        }
        let (primitive, args) = module.primitive_call(bb.stmt(value)?)?;
        let [a, b] = args else { return None };
        let mut factor = |operand: &Operand<Ids>| self.factor(bb, module, operand, depth, outside);
        let factor = match primitive.name {
            "add_int" => factor(a)?.checked_add(factor(b)?)?,
            "sub_int" => factor(a)?.checked_sub(factor(b)?)?,
            "mul_int" => match (a.as_int64(), b.as_int64()) {
                (_, Some(times)) => factor(a)?.checked_mul(times)?,
                (Some(times), _) => factor(b)?.checked_mul(times)?,
                _ => return None,
            },
            _ => return None,
        };
        (factor.abs() <= MOST_FACTOR).then_some(factor)
    }
}
