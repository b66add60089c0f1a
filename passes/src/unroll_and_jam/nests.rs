//! Loops in loops of which several rounds can be run at once.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::rows::{Names, named};
use crate::effects::effects;
use crate::loop_invariant_motion::is_total;
use crate::loop_ranges::integer;

/// Bodies of inner loops may have so many statements.
const MOST_STATEMENTS: usize = 16;

/// So many steps are taken to what an expression consists of.
const DEEPEST: usize = 8;

/// Factors of counters in indices are no larger, and no loop has more rounds than [`MOST_ROUNDS`]: so no index leaves 64 bits on its way from the
/// first to the last.
const MOST_FACTOR: i64 = 1 << 16;

/// See [`MOST_FACTOR`].
pub(super) const MOST_ROUNDS: i64 = 1 << 40;

/// What makes an array that nothing else has.
const FRESH: &[&str] =
    &["jl_alloc_array_1d", "jl_alloc_array_2d", "jl_alloc_array_3d", "jl_new_array", "new_array", "zero_tangent"];

/// A φ at the header of a loop, with what it starts with and what it takes from the end of each round.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    pub(super) phi: InstId,
    pub(super) start: Operand<Ids>,
    pub(super) next: Operand<Ids>,
}

/// A loop in a loop.
#[derive(Debug)]
pub(super) struct Nest {
    pub(super) outer: Outer,
    pub(super) inner: Inner,
    /// The condition on which the inner loop is entered at all, and what it is then.
    pub(super) entered: Option<(Operand<Ids>, bool)>,
    pub(super) meeting: Option<Meeting>,
    /// The blocks of the outer loop that lead to the inner one, in this order.
    pub(super) entering: Vec<BlockId>,
    /// What the next round loads there that the inner loop needs.
    pub(super) loaded_before: Vec<Load>,
    /// Arrays of which a round of the outer loop reads elements in the inner loop, and others to which it stores somewhere else, which may be the same.
    pub(super) disjoint: Vec<(Operand<Ids>, Operand<Ids>)>,
}

/// The loop around.
#[derive(Debug)]
pub(super) struct Outer {
    pub(super) header: BlockId,
    pub(super) before: BlockId,
    pub(super) latch: BlockId,
    pub(super) carried: HashMap<InstId, Carried>,
    /// What decides, early in a round, whether another one follows, and what it is then.
    pub(super) goes_on: (Operand<Ids>, bool),
    pub(super) blocks: HashSet<BlockId>,
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

pub(super) struct Search<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) bb: &'a BBCode,
    pub(super) graph: &'a BlockGraph,
    pub(super) loops: &'a LoopForest,
    pub(super) domtree: &'a DomTree,
    /// The values that may be undefined: to ask for one sooner would be to fail sooner.
    pub(super) undefined: &'a SecondaryMap<InstId, ()>,
}

impl Search<'_> {
    /// One nest at most of each loop around others, in the order of the function.
    pub(super) fn nests(&self) -> Vec<Nest> {
        let mut blocks_of: HashMap<LoopId, Vec<BlockId>> = HashMap::new();
        for number in self.domtree.preorder() {
            let mut around = self.loops.innermost(number);
            while let Some(id) = around {
                blocks_of.entry(id).or_default().extend(self.graph.block(number));
                around = self.loops.get(id).and_then(|each| each.parent);
            }
        }
        let parents: HashSet<LoopId> = self.loops.iter().filter_map(|(_, each)| each.parent).collect();
        let mut taken: HashSet<LoopId> = HashSet::new();
        let mut found = Vec::new();
        for (id, each) in self.loops.iter().filter(|(id, _)| !parents.contains(id)) {
            let Some(parent) = each.parent.filter(|parent| !taken.contains(parent)) else { continue };
            let (Some(blocks), Some(around)) = (blocks_of.get(&id), blocks_of.get(&parent)) else { continue };
            if let Some(nest) = self.nest(parent, around, blocks) {
                taken.insert(parent);
                found.push(nest);
            }
        }
        found
    }

    fn nest(&self, around: LoopId, outer: &[BlockId], inner: &[BlockId]) -> Option<Nest> {
        let outer: HashSet<BlockId> = outer.iter().copied().collect();
        let inner = self.inner(inner)?;
        let mut nest = self.around(around, outer, inner)?;
        // What a round needs before the one before it has ended.
        let mut loads = Vec::new();
        let mut early = |operand: &Operand<Ids>| self.is_early(&nest, operand, true, &mut loads, DEEPEST);
        let fine = nest.inner.operands(self.bb).iter().all(&mut early)
            && nest.inner.carried.iter().all(|carried| early(&carried.start));
        if !fine || !nest.entered.iter().all(|(condition, _)| self.is_early_without_loads(&nest, condition)) {
            return None;
        }
        let counter = nest.inner.carried.iter().find(|carried| carried.phi == nest.inner.counter)?;
        if ![&counter.start, &nest.inner.bound].iter().all(|operand| self.is_early_without_loads(&nest, operand)) {
            return None;
        }
        for load in &loads {
            load.indices.iter().all(|index| self.is_early_without_loads(&nest, index)).then_some(())?;
        }
        let in_loop = nest.inner.loads(self.bb, self.module);
        for load in &in_loop {
            self.is_known_before(&load.array, &nest.outer).then_some(())?;
            for index in &load.indices {
                nest.inner.factor(self.bb, self.module, index, DEEPEST)?;
            }
        }
        for load in loads.iter().chain(&in_loop) {
            // A number is there in each element; an index counts along the whole array or along one dimension of it.
            let Type::Array(array) = self.bb.operand_type(&load.array) else { return None };
            let fits = load.indices.len() == 1 || load.indices.len() == array.rank as usize;
            (fits && array.element.as_scalar().is_some()).then_some(())?;
        }
        nest.disjoint = self.stores_elsewhere(&nest, loads.iter().chain(&in_loop))?;
        nest.loaded_before = loads;
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
            let from = |edge: BlockId| node.entries.iter().find(|entry| entry.edge == edge)?.value.clone();
            Some(Carried { phi, start: from(before)?, next: from(latch)? })
        });
        phis.collect()
    }

    /// The only block that goes to a header from outside and the only one from inside.
    fn ways_to(&self, header: BlockId, inside: &dyn Fn(BlockId) -> bool) -> Option<(BlockId, BlockId)> {
        if self.graph.has_virtual_predecessor(header) {
            return None;
        }
        let (latches, before): (Vec<BlockId>, Vec<BlockId>) =
            self.graph.predecessors(header).partition(|&from| inside(from));
        match (before.as_slice(), latches.as_slice()) {
            ([before], [latch]) => Some((*before, *latch)),
            _ => None,
        }
    }

    fn inner(&self, blocks: &[BlockId]) -> Option<Inner> {
        let inside = |block: BlockId| blocks.contains(&block);
        let header = *blocks.first()?;
        let (before, latch) = self.ways_to(header, &inside)?;
        let mut found: Option<(BlockId, BlockId, Operand<Ids>)> = None;
        let (mut body, mut behind, mut at) = (Vec::new(), Vec::new(), header);
        for _ in blocks {
            self.bb.block(at)?.odd_edges().is_none().then_some(())?;
            for (id, inst) in self.bb.insts(at) {
                if inst.stmt.is_terminator() || matches!(inst.stmt, Stmt::Phi(_)) {
                    continue;
                }
                // What comes behind the test would also be loaded in a round of which nobody asked.
                let loads = found.is_none() && load(self.module, &inst.stmt).is_some();
                (loads || is_total(self.bb, self.module, &inst.stmt)).then_some(())?;
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
        let mut inner = Inner {
            header,
            before,
            test,
            exit,
            carried,
            body,
            behind,
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
    fn around(&self, id: LoopId, blocks: HashSet<BlockId>, inner: Inner) -> Option<Nest> {
        let found = self.loops.get(id).filter(|found| !found.irreducible)?;
        let header = self.graph.block(found.header)?;
        let (before, latch) = self.ways_to(header, &|block| blocks.contains(&block))?;
        if blocks.iter().any(|&block| self.bb.block(block).is_none_or(|block| block.odd_edges().is_some())) {
            return None;
        }
        let carried = self.carried(header, before, latch)?.into_iter().map(|carried| (carried.phi, carried)).collect();
        let mut outer = Outer { header, before, latch, carried, goes_on: (Operand::from(0), true), blocks };

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
            if self.graph.predecessors(to).count() != 1 || !outer.blocks.contains(&to) {
                return None;
            }
            entering.push(to);
            at = to;
        }
        let behind = meeting.as_ref().map_or(inner.exit, |meeting: &Meeting| meeting.block);
        if at != inner.before || !self.dominates(behind, latch) {
            return None;
        }
        outer.goes_on = self.goes_on(&outer, &inner)?;
        let (loaded_before, disjoint) = (Vec::new(), Vec::new());
        Some(Nest { outer, inner, entered, meeting, entering, loaded_before, disjoint })
    }

    /// Where control goes from a block that comes from this one, behind blocks that do nothing, and from which of these.
    fn past_empty_blocks(&self, from: BlockId, to: BlockId) -> Option<(BlockId, BlockId)> {
        let (mut from, mut to) = (from, to);
        while self.graph.predecessors(to).count() == 1 && self.bb.insts(to).all(|(_, inst)| inst.stmt.is_terminator()) {
            let End::Goes(next) = self.end(to)? else { break };
            (from, to) = (to, next);
        }
        Some((to, from))
    }

    fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        matches!((self.graph.number(a), self.graph.number(b)), (Some(a), Some(b)) if self.domtree.dominates(a, b))
    }

    /// What decides whether another round of the outer loop follows, known where the inner loop is entered.
    fn goes_on(&self, outer: &Outer, inner: &Inner) -> Option<(Operand<Ids>, bool)> {
        let mut at = self.graph.number(outer.latch)?;
        // From the end of the round on backwards: whatever dominates the latch is run in each round.
        loop {
            let block = self.graph.block(at)?;
            if let Some(End::Decides(condition, if_true, if_false)) = self.end(block) {
                let inside = |block: BlockId| outer.blocks.contains(&block);
                let known = self.is_early_in(outer, inner, &condition, false, &mut Vec::new(), DEEPEST);
                if inside(if_true) != inside(if_false) && known {
                    return Some((condition, inside(if_true)));
                }
            }
            if block == outer.header {
                return None;
            }
            at = self.domtree.immediate_dominator(at)?;
        }
    }

    fn is_known_before(&self, operand: &Operand<Ids>, outer: &Outer) -> bool {
        match operand {
            Operand::Constant(_) | Operand::Argument(_) => true,
            Operand::Value(value) => {
                let block = self.bb.block_of(*value).filter(|_| !self.undefined.contains_key(*value));
                block.is_some_and(|block| !outer.blocks.contains(&block))
            }
            _ => false,
        }
    }

    fn is_early_without_loads(&self, nest: &Nest, operand: &Operand<Ids>) -> bool {
        let mut loads = Vec::new();
        self.is_early(nest, operand, true, &mut loads, DEEPEST) && loads.is_empty()
    }

    fn is_early(&self, nest: &Nest, operand: &Operand<Ids>, next: bool, loads: &mut Vec<Load>, depth: usize) -> bool {
        self.is_early_in(&nest.outer, &nest.inner, operand, next, loads, depth)
    }

    /// Whether what an operand is in this round, or in the `next` one, can be computed where the inner loop is entered, and which elements
    /// that loads.
    fn is_early_in(
        &self,
        outer: &Outer,
        inner: &Inner,
        operand: &Operand<Ids>,
        next: bool,
        loads: &mut Vec<Load>,
        depth: usize,
    ) -> bool {
        if self.is_known_before(operand, outer) {
            return true;
        }
        let value = operand.as_value().filter(|&value| !self.undefined.contains_key(value));
        let (Some(value), Some(depth)) = (value, depth.checked_sub(1)) else { return false };
        let is_there = self.bb.block_of(value).is_some_and(|block| self.dominates(block, inner.before));
        let Some(stmt) = self.bb.stmt(value) else { return false };
        match (next, outer.carried.get(&value)) {
            (false, _) if is_there => true,
            (true, Some(carried)) => self.is_early_in(outer, inner, &carried.next, false, loads, depth),
            _ if matches!(stmt, Stmt::Phi(_)) => false,
            _ => {
                let loaded = load(self.module, stmt).filter(|load| next && self.is_known_before(&load.array, outer));
                if loaded.is_none() && !is_total(self.bb, self.module, stmt) {
                    return false;
                }
                loads.extend(loaded);
                let mut early = true;
                stmt.for_each_use(|used| {
                    early = early && self.is_early_in(outer, inner, &Operand::Value(used), next, loads, depth);
                });
                early
            }
        }
    }

    /// The pairs of arrays of which it must be seen that they share nothing; `None` if the rest of a round may change something else.
    fn stores_elsewhere<'l>(
        &self,
        nest: &Nest,
        loads: impl Iterator<Item = &'l Load>,
    ) -> Option<Vec<(Operand<Ids>, Operand<Ids>)>> {
        let mut stored: Vec<Operand<Ids>> = Vec::new();
        for &block in &nest.outer.blocks {
            for (_, inst) in self.bb.insts(block).filter(|(_, inst)| !inst.stmt.is_terminator()) {
                if !effects(self.module, self.bb, inst).writes {
                    continue;
                }
                match self.module.primitive_call(&inst.stmt)? {
                    (primitive, [_, array, ..]) if primitive.name == "arrayset" => stored.push(array.clone()),
                    (primitive, _) if primitive.name.starts_with("stack_") => {}
                    _ => return None,
                }
            }
        }
        let mut pairs = Vec::new();
        for load in loads {
            for array in &stored {
                let pair = (load.array.clone(), array.clone());
                if self.are_apart(&load.array, array) || pairs.contains(&pair) {
                    continue;
                }
                let is_array = matches!(self.bb.operand_type(array), Type::Array(_));
                (is_array && self.is_known_before(array, &nest.outer)).then_some(())?;
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
            call.is_some_and(|(primitive, _)| FRESH.contains(&primitive.name))
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

impl Nest {
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

impl Outer {
    /// By how much an integer changes in each round, as far as that is seen; of a choice, what is no constant counts.
    fn growth(&self, bb: &BBCode, module: &Module<BBCode>, operand: &Operand<Ids>, depth: usize) -> Option<i64> {
        let (Some(value), Some(depth)) = (operand.as_value(), depth.checked_sub(1)) else { return Some(0) };
        if bb.block_of(value).is_none_or(|block| !self.blocks.contains(&block)) {
            return Some(0);
        }
        let growth = |operand: &Operand<Ids>| self.growth(bb, module, operand, depth);
        if let Some(carried) = self.carried.get(&value) {
            let (primitive, args) = module.primitive_call(bb.stmt(carried.next.as_value()?)?)?;
            return match (primitive.name, args) {
                ("add_int", [a, b]) if a.as_value() == Some(value) => integer(b),
                ("sub_int", [a, b]) if a.as_value() == Some(value) => integer(b)?.checked_neg(),
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
    match module.primitive_call(stmt)? {
        (primitive, [_, array, indices @ ..])
            if matches!(primitive.name, "arrayref" | "const_arrayref") && !indices.is_empty() =>
        {
            Some(Load { array: array.clone(), indices: indices.to_vec() })
        }
        _ => None,
    }
}

impl Inner {
    /// Whether an operand is not computed in the loop.
    pub(super) fn is_outside(&self, operand: &Operand<Ids>) -> bool {
        let inside = |value: InstId| {
            self.carried.iter().any(|carried| carried.phi == value)
                || self.body.contains(&value)
                || self.behind.contains(&value)
        };
        !operand.as_value().is_some_and(inside)
    }

    /// The values from outside that the statements use.
    pub(super) fn operands(&self, bb: &BBCode) -> Vec<Operand<Ids>> {
        let mut used = Vec::new();
        let mut add = |value: InstId| {
            let operand = Operand::Value(value);
            if self.is_outside(&operand) && !used.contains(&operand) {
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
            ("add_int", [a, b]) if is_phi(a) => integer(b)?,
            ("add_int", [a, b]) if is_phi(b) => integer(a)?,
            ("sub_int", [a, b]) if is_phi(a) => integer(b)?.checked_neg()?,
            _ => return None,
        };
        (bb.operand_type(&Operand::Value(phi)) == Type::INT64 && step.abs() <= MOST_FACTOR).then_some(step)
    }

    /// By how much an index changes in each round, if it is a sum of counters and of what does not change.
    pub(super) fn factor(
        &self,
        bb: &BBCode,
        module: &Module<BBCode>,
        index: &Operand<Ids>,
        depth: usize,
    ) -> Option<i64> {
        if bb.operand_type(index) != Type::INT64 {
            return None;
        }
        if self.is_outside(index) {
            return Some(0);
        }
        let (value, depth) = (index.as_value()?, depth.checked_sub(1)?);
        if self.carried.iter().any(|carried| carried.phi == value) {
            return self.step(bb, module, value);
        }
        let (primitive, args) = module.primitive_call(bb.stmt(value)?)?;
        let [a, b] = args else { return None };
        let factor = |operand: &Operand<Ids>| self.factor(bb, module, operand, depth);
        let factor = match primitive.name {
            "add_int" => factor(a)?.checked_add(factor(b)?)?,
            "sub_int" => factor(a)?.checked_sub(factor(b)?)?,
            "mul_int" => match (integer(a), integer(b)) {
                (_, Some(times)) => factor(a)?.checked_mul(times)?,
                (Some(times), _) => factor(b)?.checked_mul(times)?,
                _ => return None,
            },
            _ => return None,
        };
        (factor.abs() <= MOST_FACTOR).then_some(factor)
    }
}
