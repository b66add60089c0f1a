//! What the pullback computes again instead of having it saved.
//!
//! Of what the reverses need, and of what that can be computed from, a minimum cut says what is saved: between what
//! cannot be computed again and what is needed, each value can be cut at the price of saving it, which is its size
//! times how often the block runs, ten times for each loop. This is what Enzyme does; Moses and others, *Reverse-mode
//! automatic differentiation and optimization of GPU kernels via Enzyme* (2021) and *Scalable automatic differentiation
//! of multiple parallel paradigms through compiler augmentation* (2022). Beyond that, computing a value again has a
//! price, too: the cut goes through an edge from what cannot be computed again to each value that is. What an integer
//! that runs backwards gives costs nothing where it gives it.

use bbcode::{Ids, InstId};
use hashbrown::HashSet;
use ircode::graph::DomTree;
use ircode::{LineInfo, Operand, Stmt, Type};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use crate::analyses::cheap::is_cheap;

use super::minimum_cut::{Network, UNCUT};
use super::needs::Need;
use super::objects::{Class, only_reads};
use super::operation::Operation;
use super::places::Places;
use super::plan::{Plan, SavedArgument};
use super::saved::Saved;

/// A value is computed again in at most so many blocks.
const MOST_PLACES: usize = 4;

/// So many operations lead at most from what is saved to what is needed, if there is no shorter way.
const MOST_STEPS: usize = 24;

/// A condition, and what runs once, is computed again in at most so many statements.
const MOST_STATEMENTS: usize = 8;

/// What it costs to compute a float again, if saving a byte costs 1. Integers cost nothing: they are mostly indices,
/// which become part of addresses. With 0 the gradient of the kernel gmm, which would do a hundred operations again for
/// ten floats, takes a sixth more time; with 8, and as much for loads, floats are saved that could be loaded again, and
/// it takes nearly three times as long.
const OPERATION: u64 = 3;

/// What it costs to load a float again from where it was loaded from: what is saved is loaded, too.
const LOAD: u64 = 1;

/// Deeper loops do not count as running still more often.
const DEEPEST: usize = 6;

/// What is saved and what is computed again, by the block in the reverse of which that is done.
#[derive(Debug, Default)]
pub(super) struct Recomputed {
    /// What is loaded there, with the line of what needs it.
    pub(super) loaded: Vec<Vec<(Saved, LineInfo)>>,
    /// What is computed there, operands first.
    pub(super) computed: Vec<Vec<InstId>>,
    /// What is used there and is got in the reverse of another block, which runs before.
    pub(super) elsewhere: Vec<Vec<(Saved, usize)>>,
    /// What is needed of the arguments.
    pub(super) arguments: Vec<SavedArgument>,
    /// The variables that run backwards of which values are computed.
    pub(super) running: Vec<usize>,
}

impl Recomputed {
    /// For a function of so many blocks, nothing.
    pub(super) fn of(count: usize) -> Self {
        Recomputed {
            loaded: vec![Vec::new(); count],
            computed: vec![Vec::new(); count],
            elsewhere: vec![Vec::new(); count],
            arguments: Vec::new(),
            running: Vec::new(),
        }
    }
}

/// Which statements give the same again on the way back.
pub(super) struct Repeatable {
    /// Classes of objects that the function changes.
    written: HashSet<Class>,
    /// Loads from objects that nothing changes between the load and the end of its block, nor anywhere by what has no
    /// reverse: such objects are not as they were on the way back.
    unchanged: SecondaryMap<InstId, ()>,
}

impl Repeatable {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        // Of what has a global name, what the function changes may not be put back where the pullback runs: on another
        // machine there is another object of that name.
        let mut lost: HashSet<Class> = HashSet::from_iter([plan.activity.objects.outside()]);
        let mut written: HashSet<Class> = HashSet::new();
        let mut unchanged = SecondaryMap::new();
        for block in plan.graph.order() {
            let ids: Vec<InstId> = plan.primal.inst_ids(*block).collect();
            let mut changed_later: HashSet<Class> = HashSet::new();
            for &id in ids.iter().rev() {
                if let Operation::Load(place) = plan.activity.operation(id)
                    && let Some(class) = plan.activity.objects.class(&place.object)
                    && !changed_later.contains(&class)
                {
                    unchanged.insert(id, ());
                }
                let changed = changed_classes(plan, id);
                if is_lost(plan, id) {
                    lost.extend(changed.iter().copied());
                }
                changed_later.extend(changed);
            }
            written.extend(changed_later);
        }
        unchanged.retain(|load, ()| match plan.activity.operation(load) {
            Operation::Load(place) => {
                plan.activity.objects.class(&place.object).is_none_or(|class| !lost.contains(&class))
            }
            _ => true,
        });
        Repeatable { written, unchanged }
    }

    /// Whether a load gives the same at the end of its block.
    pub(super) fn is_unchanged_to_the_end(&self, load: InstId) -> bool {
        self.unchanged.contains_key(load)
    }

    /// Whether a statement gives the same again on the way back, and fast: in the reverse of its own block, or of any
    /// other.
    pub(super) fn is_cheap(&self, plan: &Plan<'_>, id: InstId, own: bool) -> bool {
        if let Operation::Load(place) = plan.activity.operation(id) {
            let class = plan.activity.objects.class(&place.object);
            let put_back = own && plan.restores(&place.object) && self.is_unchanged_to_the_end(id);
            return class.is_some_and(|class| put_back || !self.written.contains(&class));
        }
        let Some(stmt @ (Stmt::Call(_) | Stmt::Invoke(_))) = plan.primal.stmt(id) else { return false };
        let mut nested = false;
        stmt.for_each_operand(&mut |operand| nested |= matches!(operand, Operand::Nested(_)));
        let called = plan.derivation.module.primitive_call(stmt).filter(|_| !nested);
        let scalars =
            |args: &[Operand<Ids>]| args.iter().all(|arg| plan.primal.operand_type(arg).as_scalar().is_some());
        called.is_some_and(|(primitive, args)| match primitive.name {
            "===" | "!==" | "ifelse" => scalars(args),
            _ => is_cheap(primitive),
        })
    }
}

/// What is known of the values of a function, whatever is decided.
pub(super) struct Facts {
    places: Places,
    /// Operands come before what is computed from them, φs aside.
    order: SecondaryMap<InstId, (usize, usize)>,
    repeatable: Repeatable,
}

impl Facts {
    pub(super) fn new(plan: &Plan<'_>, domtree: &DomTree) -> Self {
        let mut order = SecondaryMap::with_capacity(plan.primal.inst_count());
        for (at, number) in plan.graph.graph().postorder().into_iter().rev().enumerate() {
            let block = plan.block(number).into_iter();
            let ids = block.flat_map(|block| plan.primal.inst_ids(block).enumerate());
            order.extend(ids.map(|(index, id)| (id, (at, index))));
        }
        Facts { places: Places::new(plan, domtree), order, repeatable: Repeatable::new(plan) }
    }
}

/// Decides what is computed again.
pub(super) struct Recomputation<'p, 'a> {
    plan: &'p Plan<'a>,
    facts: &'p Facts,
}

/// A value and the block in the reverse of which it is needed.
type Demand = (InstId, usize, LineInfo);

impl<'p, 'a> Recomputation<'p, 'a> {
    pub(super) fn new(plan: &'p Plan<'a>, facts: &'p Facts) -> Self {
        Recomputation { plan, facts }
    }

    /// Whether the reverse of a block can compute a value from nothing that is saved for it.
    pub(super) fn costs_nothing(&self, value: InstId, user: usize) -> bool {
        let mut found: Vec<(InstId, usize)> = Vec::new();
        let mut work = vec![(value, self.place(user, Saved::Value(value)))];
        while let Some((value, place)) = work.pop() {
            if self.runs(value, place).is_some() || found.contains(&(value, place)) {
                continue;
            }
            let may_repeat = self.plan.derivation.savings.recompute && found.len() < MOST_STATEMENTS;
            if !may_repeat || !self.can_be_repeated(value, place) {
                return false;
            }
            found.push((value, place));
            self.for_each_operand(value, &mut |operand| {
                work.extend(operand.as_value().map(|value| (value, self.place(place, Saved::Value(value)))));
            });
        }
        true
    }

    /// The variable that gives a value in the reverse of a block.
    fn runs(&self, value: InstId, place: usize) -> Option<usize> {
        self.plan.inductions.offers(value, place)
    }

    /// Decides what is saved and what is computed again.
    pub(super) fn decide(&self) -> Recomputed {
        let plan = self.plan;
        let mut result = Recomputed::of(plan.ways.relevant.len());
        let mut demands: Vec<Demand> = Vec::new();
        let mut others: HashSet<(usize, Saved)> = HashSet::new();
        // The block that was the last to need a value.
        let mut needed_in: SecondaryMap<InstId, usize> = SecondaryMap::with_capacity(plan.primal.inst_count());
        for number in plan.ways.relevant_blocks() {
            let mut seen: HashSet<Saved> = HashSet::new();
            let mut is_new = |item: Saved| match item {
                Saved::Value(id) => needed_in.insert(id, number) != Some(number),
                other => seen.insert(other),
            };
            plan.for_each_need_of_block(number, &mut |need, line| match need {
                Need::Argument(argument) => result.arguments.push(argument),
                Need::Saved(item) if is_new(item) => {
                    let place = self.place(number, item);
                    if place != number {
                        result.elsewhere[number].push((item, place));
                    }
                    match item {
                        Saved::Value(value) => demands.push((value, place, line)),
                        other if others.insert((place, other)) => result.loaded[place].push((other, line)),
                        _ => {}
                    }
                }
                Need::Saved(_) => {}
            });
        }
        let saved = self.saved(&demands);
        self.follow(demands, &saved, &mut result);
        for computed in &mut result.computed {
            computed.sort_unstable_by_key(|id| self.facts.order.get(*id).copied());
        }
        result.running.sort_unstable();
        result.running.dedup();
        result
    }

    /// Where in the pullback something that the reverse of a block needs is got.
    fn place(&self, user: usize, item: Saved) -> usize {
        if !self.plan.derivation.savings.loop_invariants {
            return user;
        }
        let Some(id) = item.statement().filter(|id| !self.plan.may_be_undefined(*id)) else { return user };
        let home = self.plan.primal.block_of(id).and_then(|block| self.plan.graph.number(block));
        home.map_or(user, |home| self.facts.places.of(home, user))
    }

    /// From what is needed back to what is saved.
    fn follow(&self, mut work: Vec<Demand>, saved: &SecondaryMap<InstId, ()>, result: &mut Recomputed) {
        // Most values are needed in one place.
        let mut first: SecondaryMap<InstId, usize> = SecondaryMap::with_capacity(self.plan.primal.inst_count());
        let mut others: HashSet<(InstId, usize)> = HashSet::new();
        // In the order in which they are needed.
        work.reverse();
        while let Some((value, place, line)) = work.pop() {
            match first.get(value) {
                None => {
                    first.insert(value, place);
                }
                Some(&known) if known == place || !others.insert((value, place)) => continue,
                Some(_) => {}
            }
            if let Some(index) = self.runs(value, place) {
                result.running.push(index);
                result.computed[place].push(value);
                continue;
            }
            if saved.contains_key(value) {
                result.loaded[place].push((Saved::Value(value), line));
                continue;
            }
            result.computed[place].push(value);
            self.for_each_operand(value, &mut |operand| match operand {
                Operand::Value(operand) => {
                    let item = Saved::Value(*operand);
                    let at = self.place(place, item);
                    if at != place {
                        result.elsewhere[place].push((item, at));
                    }
                    work.push((*operand, at, line));
                }
                Operand::Argument(argument) => {
                    result.arguments.push(SavedArgument { argument: *argument, shadow: false });
                }
                _ => {}
            });
        }
    }

    /// The values that are saved, of those that are needed and that these can be computed from.
    fn saved(&self, demands: &[Demand]) -> SecondaryMap<InstId, ()> {
        let mut direct: SecondaryMap<InstId, ()> = SecondaryMap::new();
        direct.extend(demands.iter().map(|(value, ..)| (*value, ())));
        let mut saved = SecondaryMap::new();
        if !self.plan.derivation.savings.recompute {
            return direct;
        }
        let graph = self.graph(demands, &self.what_follows(&direct));
        // What runs once costs nothing worth a detour: of that, only what follows from what is needed anyway.
        for (&id, node) in graph.values.iter().zip(&graph.nodes) {
            if self.depth(id) == 0 && node.must_be_saved {
                saved.insert(id, ());
            }
        }
        if graph.values.iter().all(|&id| self.depth(id) == 0) {
            return saved;
        }
        let (source, sink) = (0, 1);
        let (into, out) = (|at: usize| 2 + 2 * at, |at: usize| 3 + 2 * at);
        let mut network = Network::new(2 + 2 * graph.values.len());
        for (at, (&id, node)) in graph.values.iter().zip(&graph.nodes).enumerate() {
            let depth = self.depth(id);
            if depth == 0 {
                continue;
            }
            network.edge(
                into(at),
                out(at),
                size(&self.plan.primal.operand_type(&Operand::Value(id))) * 10_u64.pow(depth),
            );
            // What is on the sink's side with all that it is computed from is computed again, and pays for that.
            let price = if node.must_be_saved { UNCUT } else { self.cost(id, &node.places) };
            if price > 0 {
                network.edge(source, into(at), price);
            }
            if node.is_needed {
                network.edge(out(at), sink, UNCUT);
            }
            for &operand in node.operands.iter().filter(|_| !node.must_be_saved) {
                if graph.values.get(operand).is_some_and(|&operand| self.depth(operand) > 0) {
                    network.edge(out(operand), into(at), UNCUT);
                }
            }
        }
        let side = network.sink_side(source, sink);
        for (at, &id) in graph.values.iter().enumerate() {
            if side[out(at)] && !side[into(at)] {
                saved.insert(id, ());
            }
        }
        self.save_what_does_not_follow(&graph, &mut saved);
        saved
    }

    /// What is needed, and what that can be computed from.
    ///
    /// A value may be in the graph several times: as it is needed in its loop, as it is needed after that, where only
    /// what it was in the last round counts, and as it must be saved if it is needed where it cannot be computed. So
    /// the cut is free to save what needs it after the loop, which runs less often, in its place.
    fn graph(&self, demands: &[Demand], follows: &SecondaryMap<InstId, usize>) -> Graph {
        let mut graph = Graph::default();
        let mut numbers = Numbers::default();
        let mut work: std::collections::VecDeque<(InstId, usize, usize, Option<usize>)> =
            demands.iter().map(|&(value, place, _)| (value, place, 0, None)).collect();
        while let Some((value, place, steps, user)) = work.pop_front() {
            if self.runs(value, place).is_some() {
                continue;
            }
            let computed = if self.is_in_loop_of(value, place) { Wanted::InLoop } else { Wanted::AfterLoop };
            let known = numbers.get(value, computed).and_then(|at| graph.nodes.get(at));
            let is_computed = known.is_some_and(|node| node.places.contains(&place))
                || steps <= MOST_STEPS && self.can_be_computed(value, place, follows);
            let wanted = if is_computed { computed } else { Wanted::Saved };
            let at = numbers.get(value, wanted).unwrap_or_else(|| {
                graph.values.push(value);
                graph.nodes.push(Node { must_be_saved: !is_computed, ..Node::default() });
                numbers.insert(value, wanted, graph.values.len() - 1);
                graph.values.len() - 1
            });
            match user.and_then(|user| graph.nodes.get_mut(user)) {
                Some(user) if !user.operands.contains(&at) => user.operands.push(at),
                _ => {}
            }
            let Some(node) = graph.nodes.get_mut(at) else { continue };
            node.is_needed |= user.is_none();
            if node.places.contains(&place) || node.must_be_saved {
                continue;
            }
            node.places.push(place);
            if node.places.len() > MOST_PLACES {
                node.must_be_saved = true;
                continue;
            }
            self.for_each_operand(value, &mut |operand| {
                if let Operand::Value(operand) = operand {
                    work.push_back((*operand, self.place(place, Saved::Value(*operand)), steps + 1, Some(at)));
                }
            });
        }
        // What is saved in any case costs nothing where it could be computed.
        for (at, &value) in graph.values.iter().enumerate() {
            let saved = numbers.get(value, Wanted::Saved).filter(|saved| *saved != at);
            let is_saved = saved.and_then(|saved| graph.nodes.get(saved)).is_some_and(|saved| saved.is_needed);
            if let Some(node) = graph.nodes.get_mut(at).filter(|_| is_saved) {
                (node.must_be_saved, node.places, node.operands) = (false, SmallVec::new(), Vec::new());
            }
        }
        graph
    }

    /// Saves what runs once and was to follow from what is needed in a loop, where that is not saved: a variable that
    /// runs backwards is there in the reverse of its loop only, and so is what is computed from it again.
    fn save_what_does_not_follow(&self, graph: &Graph, saved: &mut SecondaryMap<InstId, ()>) {
        let mut once: Vec<usize> = (0..graph.values.len()).collect();
        once.retain(|&at| self.depth(graph.values[at]) == 0);
        once.sort_by_key(|&at| self.facts.order.get(graph.values[at]).copied());
        let mut known: Vec<Option<bool>> = vec![None; graph.values.len()];
        for at in once {
            if !follows(graph, saved, &mut known, at) {
                saved.insert(graph.values[at], ());
                known[at] = Some(true);
            }
        }
    }

    /// The values that run once and can be computed from what is needed anyway, from arguments and constants, each with
    /// how many statements that takes.
    fn what_follows(&self, direct: &SecondaryMap<InstId, ()>) -> SecondaryMap<InstId, usize> {
        let plan = self.plan;
        let mut found: SecondaryMap<InstId, usize> = SecondaryMap::new();
        let once = |number: &usize| plan.loops.depth(*number) == 0;
        for number in plan.graph.graph().postorder().into_iter().rev().filter(once) {
            for id in plan.block(number).into_iter().flat_map(|block| plan.primal.inst_ids(block)) {
                if !self.can_be_repeated(id, number) {
                    continue;
                }
                let mut statements = Some(1);
                self.for_each_operand(id, &mut |operand| {
                    let more = match operand.as_value() {
                        Some(value) if !direct.contains_key(value) => found.get(value).copied(),
                        _ => Some(0),
                    };
                    statements = statements.zip(more).map(|(all, more)| all + more);
                });
                if let Some(statements) = statements.filter(|statements| *statements <= MOST_STATEMENTS) {
                    found.insert(id, statements);
                }
            }
        }
        found
    }

    /// Whether a value can be computed in the reverse of a block, if its operands are there, and should be if that
    /// saves something.
    fn can_be_computed(&self, id: InstId, place: usize, follows: &SecondaryMap<InstId, usize>) -> bool {
        self.can_be_repeated(id, place) && (self.depth(id) > 0 || follows.contains_key(id))
    }

    /// Whether a value can be computed in the reverse of a block, fast, if its operands are there.
    fn can_be_repeated(&self, id: InstId, place: usize) -> bool {
        let plan = self.plan;
        let Some(home) = plan.primal.block_of(id).and_then(|block| plan.graph.number(block)) else { return false };
        // In a deeper loop it would be computed over and over.
        let here = plan.loops.innermost(place);
        let not_deeper = plan.loops.common(plan.loops.innermost(home), here) == here;
        let cheap = || plan.copied(id).is_some() || self.facts.repeatable.is_cheap(plan, id, home == place);
        !plan.may_be_undefined(id) && not_deeper && cheap()
    }

    /// The price of computing a value again in the reverses of these blocks.
    fn cost(&self, id: InstId, places: &[usize]) -> u64 {
        let plan = self.plan;
        let ty = plan.primal.operand_type(&Operand::Value(id));
        let each = match plan.activity.operation(id) {
            _ if plan.copied(id).is_some() || !ty.as_scalar().is_some_and(|ty| ty.is_float()) => return 0,
            Operation::Load(_) => LOAD,
            _ => OPERATION,
        };
        let often = |place: &usize| 10_u64.pow(plan.loops.depth(*place).min(DEEPEST) as u32);
        places.iter().map(often).sum::<u64>() * each
    }

    /// What a value is computed from: of a copy only that.
    fn for_each_operand(&self, id: InstId, visit: &mut dyn FnMut(&Operand<Ids>)) {
        match (self.plan.copied(id), self.plan.primal.stmt(id)) {
            (Some(of), _) => visit(&of),
            (None, Some(stmt)) => stmt.for_each_operand(visit),
            (None, None) => {}
        }
    }

    /// Whether a block is in the innermost loop in which a value is computed.
    fn is_in_loop_of(&self, id: InstId, place: usize) -> bool {
        let home = self.plan.primal.block_of(id).and_then(|block| self.plan.graph.number(block));
        home.is_some_and(|home| self.plan.loops.innermost(home) == self.plan.loops.innermost(place))
    }

    /// In how many loops a value is computed.
    fn depth(&self, id: InstId) -> u32 {
        let block = self.plan.primal.block_of(id).and_then(|block| self.plan.graph.number(block));
        block.map_or(0, |block| self.plan.loops.depth(block).min(DEEPEST) as u32)
    }
}

/// Where a value is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// In the loop in which it is computed.
    InLoop,
    AfterLoop,
    /// Where it cannot be computed.
    Saved,
}

/// Where each value stands in the graph, by where it is needed.
#[derive(Default)]
struct Numbers([SecondaryMap<InstId, usize>; 3]);

impl Numbers {
    fn get(&self, value: InstId, wanted: Wanted) -> Option<usize> {
        self.0[wanted as usize].get(value).copied()
    }

    fn insert(&mut self, value: InstId, wanted: Wanted, at: usize) {
        self.0[wanted as usize].insert(value, at);
    }
}

/// What is needed, and what that can be computed from.
#[derive(Default)]
struct Graph {
    values: Vec<InstId>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// The blocks in the reverses of which it is computed.
    places: SmallVec<[usize; 2]>,
    must_be_saved: bool,
    /// Whether the reverse of a statement needs it, and not only what that can be computed from.
    is_needed: bool,
    /// The nodes that it is computed from.
    operands: Vec<usize>,
}

/// Whether a value is saved, or computed from what is. No deeper than [`MOST_STEPS`].
fn follows(graph: &Graph, saved: &SecondaryMap<InstId, ()>, known: &mut [Option<bool>], at: usize) -> bool {
    let (Some(&value), Some(node)) = (graph.values.get(at), graph.nodes.get(at)) else { return false };
    if let Some(known) = known.get(at).copied().flatten() {
        return known;
    }
    let found = saved.contains_key(value)
        || !node.must_be_saved && node.operands.iter().all(|&operand| follows(graph, saved, known, operand));
    if let Some(known) = known.get_mut(at) {
        *known = Some(found);
    }
    found
}

/// The classes of objects that a statement may change: arguments may be one object.
pub(super) fn changed_classes(plan: &Plan<'_>, id: InstId) -> Vec<Class> {
    let operation = plan.activity.operation(id);
    let mut changed = Vec::new();
    let mut write = |operand: &Operand<Ids>| changed.extend(plan.activity.objects.class(operand));
    match operation {
        Operation::Call { function, args } if plan.derivation.summaries.get(*function).writes => {
            args.iter().for_each(&mut write);
            // It may know an object by a global name.
            changed.push(plan.activity.objects.outside());
        }
        Operation::Rule { rule, args, .. } if rule.changes_first() => args.iter().take(1).for_each(&mut write),
        Operation::Unknown if plan.primal.stmt(id).is_some_and(|stmt| only_reads(plan.derivation.module, stmt)) => {}
        Operation::Unknown => operation.for_each_input(&plan.primal, id, &mut write),
        operation => operation.changed_object().into_iter().for_each(&mut write),
    }
    let shared: Vec<Class> = changed.iter().flat_map(|class| plan.sharing(*class)).copied().collect();
    changed.extend(shared);
    changed
}

/// Whether what a statement changes is not put back on the way back.
fn is_lost(plan: &Plan<'_>, id: InstId) -> bool {
    match plan.activity.operation(id) {
        Operation::Call { function, .. } => plan.derivation.summaries.get(*function).loses,
        operation => matches!(operation, Operation::Unknown),
    }
}

/// How many bytes a value takes on a stack, about.
fn size(ty: &Type) -> u64 {
    match ty {
        Type::Scalar(scalar) => u64::from(scalar.bits()).div_ceil(8),
        Type::Nothing => 1,
        Type::Tuple(elements) => elements.iter().map(size).sum::<u64>().max(1),
        _ => 8,
    }
}
