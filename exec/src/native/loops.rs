//! Loops whose number of rounds is known before they start, and what follows from it: which indices stay inside of
//! their arrays, as all are between the first and the last (range-check elimination by predication before the loop, as
//! in Gupta, "Optimizing array bound checks using flow analysis", 1993, and in the compilers of Java).

pub(super) mod endings;
pub(super) mod outlined;
mod paths;
pub(super) mod residents;
pub(super) mod straight;
pub(super) mod turns;
mod vectors;
pub(super) mod versions;

use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use ircode::graph::FlowGraph;
use ircode::primitives::MemoryEffect;
use ircode::{IRCode, Module, Operand, Positions, Stmt, Type};
use smallvec::SmallVec;

use super::arrays::resized::Resized;
use super::function::phis::successors;
use endings::{Ending, endings, used_behind};
use residents::Residents;
use straight::{StraightLoop, straight_loop};

/// Steps of induction variables and factors of indices up to this size are followed: no product of one with a number of
/// rounds leaves 64 bits.
const MOST: i64 = 1 << 16;

/// Loops with larger bodies stay as they are.
const LARGEST: usize = 2000;

/// More rounds than this are no use to a program, and indices stay far from the ends of 64 bits.
pub(crate) const MOST_ROUNDS: i64 = 1 << 40;

/// How deep expressions of indices are looked into.
pub(crate) const DEPTH: u32 = 16;

/// An innermost loop of which the number of rounds is known before it starts.
#[derive(Debug)]
pub(crate) struct CountedLoop {
    pub(crate) header: usize,
    /// The only block outside of the loop from which control enters it.
    pub(crate) before: usize,
    /// The blocks, header first, in an order in which each comes after those that dominate it.
    pub(crate) blocks: Vec<usize>,
    pub(crate) rounds: Rounds,
    /// The block whose branch decides whether the loop goes on, and where it goes on.
    pub(crate) test: usize,
    pub(crate) stays: usize,
    /// What must hold before the loop starts, so that no access leaves its array.
    pub(crate) checks: Vec<Check>,
    /// The accesses that need no check then, with the number of the (first) check that covers them.
    pub(crate) covered: HashMap<usize, usize>,
    /// The stacks that grow by one value in each round, by the statements that make them, with how often.
    pub(crate) grown: Vec<(usize, i64)>,
    /// The statements that push on these.
    pub(crate) pushes: HashSet<usize>,
    /// The number of statements.
    pub(crate) statements: usize,
    /// What a round does, if it is one sequence of operations on numbers.
    pub(crate) straight: Option<Rc<StraightLoop>>,
    /// The elements that can stay in registers.
    pub(crate) residents: Option<Rc<Residents>>,
    /// The statements whose values are used behind the loop.
    pub(crate) behind: Vec<usize>,
    /// How those are had where turns have done the last round; `None` if they are not, or a turn cannot do it.
    pub(crate) endings: Option<Vec<Ending>>,
}

impl CountedLoop {
    /// The block to which the test leads when the loop is done.
    pub(crate) fn exit(&self, ir: &IRCode) -> Option<usize> {
        successors(ir, self.test).into_iter().find(|to| !self.blocks.contains(to))
    }
}

/// The number of the last round, counted from 0: `step · (bound − first) − less`.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) first: Operand<Positions>,
    pub(crate) bound: Operand<Positions>,
    pub(crate) step: i64,
    pub(crate) less: i64,
    /// Whether the test runs once more after the last round.
    pub(crate) tests_beyond: bool,
    /// Whether there is a round at the bound itself: one at the greatest integer, or at the least one downwards, holds
    /// for all, and the loop does not end by its test.
    pub(crate) inclusive: bool,
}

/// An index, in terms of the number of the round: `factor · round + Σ factorᵢ · valueᵢ + constant`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Index {
    pub(crate) factor: i64,
    pub(crate) terms: SmallVec<[(i64, Operand<Positions>); 3]>,
    pub(crate) constant: i64,
}

/// What is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    /// An array, by one index.
    Array,
    /// A dimension of an array, by one of several indices.
    Dimension(u32),
    Stack,
}

/// An index must stay inside of an object in all rounds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Check {
    pub(crate) object: Operand<Positions>,
    pub(crate) space: Space,
    pub(crate) index: Index,
    /// How far apart the indices are that were brought together: the index is the least of them.
    pub(crate) spread: i64,
    /// Whether the access happens once more after the last round.
    pub(crate) beyond: bool,
}

/// The loops of a function that can be counted.
pub(crate) fn counted_loops(
    module: &Module<IRCode>,
    ir: &IRCode,
    graph: &FlowGraph,
    local_stacks: &dyn Fn(usize) -> bool,
    resized: &Resized,
) -> Vec<CountedLoop> {
    let loops = graph.loops();
    if loops.iter().len() == 0 {
        return Vec::new();
    }
    let dominators = graph.dominators();
    let parents: HashSet<usize> = loops
        .iter()
        .filter_map(|(_, found)| found.parent.and_then(|parent| loops.get(parent)).map(|parent| parent.header))
        .collect();
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    for block in dominators.preorder() {
        if let Some(found) = loops.innermost(block).and_then(|id| loops.get(id)) {
            members.entry(found.header).or_default().push(block);
        }
    }
    let mut behind = used_behind(ir, &loops);
    let mut counted = Vec::new();
    for (id, found) in loops.iter() {
        if found.irreducible || found.header == 0 || parents.contains(&found.header) {
            continue;
        }
        let preds: Vec<usize> = graph.predecessors(found.header).collect();
        let &[a, b] = preds.as_slice() else { continue };
        let (before, latch) = match (loops.contains(id, a), loops.contains(id, b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => continue,
        };
        let Some(blocks) = members.remove(&found.header) else { continue };
        let mut finder =
            Finder { module, ir, blocks: &blocks, header: found.header, before, latch, variables: HashMap::new() };
        finder.find_variables();
        let Some((test, stays, rounds)) = finder.find_test(&|block| dominators.dominates(block, latch)) else {
            continue;
        };
        let exits =
            blocks.iter().flat_map(|&block| graph.successors(block)).filter(|&to| !loops.contains(id, to)).count();
        let mut result = CountedLoop {
            header: found.header,
            before,
            rounds,
            test,
            stays,
            checks: Vec::new(),
            covered: HashMap::new(),
            grown: Vec::new(),
            pushes: HashSet::new(),
            statements: blocks
                .iter()
                .filter_map(|&block| ir.cfg.blocks.get(block))
                .map(|block| block.stmts.len())
                .sum(),
            straight: None,
            residents: None,
            behind: behind.remove(&found.header).unwrap_or_default(),
            endings: None,
            blocks: Vec::new(),
        };
        // What does not come behind the test may run once more, also where not every round comes there.
        let beyond = |block: usize| block == test || !dominators.dominates(test, block);
        let every_round = |block: usize| exits == 1 && dominators.dominates(block, latch);
        if result.statements > LARGEST {
            continue;
        }
        finder.find_accesses(&mut result, local_stacks, resized, &beyond, &every_round);
        result.straight = straight_loop(&finder, &result, &blocks).map(Rc::new);
        result.residents = Residents::find(&finder, &result, &blocks).map(Rc::new);
        if result.straight.as_ref().is_some_and(|straight| straight.ends_with_test) && !result.rounds.tests_beyond {
            result.endings = endings(&finder, &result.behind);
        }
        result.blocks = blocks;
        counted.push(result);
    }
    counted
}

/// The edges between blocks, each once. What catches is in the loop into which it leads back, and so is the `enter`
/// before it.
pub(crate) fn flow_graph(ir: &IRCode) -> FlowGraph {
    let count = ir.cfg.blocks.len();
    let edges = (0..count).flat_map(|number| {
        let mut targets = successors(ir, number);
        targets.dedup();
        targets.into_iter().map(move |to| (number, to))
    });
    FlowGraph::new(count, edges.collect::<Vec<_>>())
}

/// A loop that is being looked at.
pub(crate) struct Finder<'a> {
    pub(crate) module: &'a Module<IRCode>,
    pub(crate) ir: &'a IRCode,
    blocks: &'a [usize],
    header: usize,
    before: usize,
    latch: usize,
    /// The φs of the header that change by the same in each round: what they start with, and by how much.
    pub(crate) variables: HashMap<usize, (Operand<Positions>, i64)>,
}

impl Finder<'_> {
    fn stmt(&self, operand: &Operand<Positions>) -> Option<(usize, &Stmt<Positions>)> {
        let Operand::Value(value) = operand else { return None };
        let index = value.index()?;
        Some((index, self.ir.stmts.stmts().get(index)?))
    }

    /// The type that is known of a value or an argument.
    pub(crate) fn type_of(&self, operand: &Operand<Positions>) -> Option<&Type> {
        match operand {
            Operand::Value(value) => self.ir.stmts.types().get(value.index()?),
            Operand::Argument(argument) => self.ir.argtypes.get(argument.index()?),
            _ => None,
        }
    }

    pub(crate) fn has_block(&self, block: usize) -> bool {
        self.blocks.contains(&block)
    }

    pub(crate) fn is_inside(&self, statement: usize) -> bool {
        self.blocks
            .iter()
            .any(|&block| self.ir.cfg.blocks.get(block).is_some_and(|block| block.stmts.contains(&statement)))
    }

    fn find_variables(&mut self) {
        let Some(range) = self.ir.cfg.blocks.get(self.header).map(|block| block.stmts.clone()) else { return };
        for phi_index in range {
            let Some(Stmt::Phi(phi)) = self.ir.stmts.stmts().get(phi_index) else { continue };
            let from = |block: usize| {
                let mut entries = phi.entries.iter().filter(|entry| entry.edge.index() == Some(block));
                entries.next().and_then(|entry| entry.value.clone())
            };
            let (Some(first), Some(next)) = (from(self.before), from(self.latch)) else { continue };
            let step = match self.stmt(&next) {
                Some((index, _)) if index == phi_index => Some(0),
                Some((_, stmt)) => self.step(stmt, phi_index),
                None => None,
            };
            if let Some(step) = step.filter(|step| step.abs() <= MOST) {
                self.variables.insert(phi_index, (first, step));
            }
        }
    }

    /// The statements of the header.
    pub(crate) fn header_statements(&self) -> std::ops::Range<usize> {
        self.ir.cfg.blocks.get(self.header).map(|block| block.stmts.clone()).unwrap_or_default()
    }

    /// What a φ of the header takes from the round before.
    pub(crate) fn next_of(&self, phi: usize) -> Option<Operand<Positions>> {
        let Some(Stmt::Phi(phi)) = self.ir.stmts.stmts().get(phi) else { return None };
        let mut entries = phi.entries.iter().filter(|entry| entry.edge.index() == Some(self.latch));
        entries.next()?.value.clone()
    }

    /// By how much a statement is more than a φ.
    fn step(&self, stmt: &Stmt<Positions>, phi: usize) -> Option<i64> {
        let (primitive, args) = self.module.primitive_call(stmt)?;
        let [a, b] = args else { return None };
        let is_phi =
            |operand: &Operand<Positions>| matches!(operand, Operand::Value(value) if value.index() == Some(phi));
        match primitive.name {
            "add_int" if is_phi(a) => b.as_int64(),
            "add_int" if is_phi(b) => a.as_int64(),
            "sub_int" if is_phi(a) => b.as_int64()?.checked_neg(),
            _ => None,
        }
    }

    /// The branch that decides whether there is another round, in a block through which every round comes.
    fn find_test(&self, every_round: &dyn Fn(usize) -> bool) -> Option<(usize, usize, Rounds)> {
        for &block in self.blocks {
            let last = self.ir.cfg.blocks.get(block)?.stmts.clone().next_back()?;
            let Some(Stmt::GotoIfNot(goto)) = self.ir.stmts.stmts().get(last) else { continue };
            let (if_true, if_false) = (block + 1, goto.dest.index()?);
            let inside = |to: usize| self.blocks.contains(&to);
            let (stays, stays_if) = match (inside(if_true), inside(if_false)) {
                (true, false) => (if_true, true),
                (false, true) => (if_false, false),
                _ => continue,
            };
            if !every_round(block) {
                continue;
            }
            if let Some(rounds) = self.rounds(&goto.cond, stays_if) {
                return Some((block, stays, rounds));
            }
        }
        None
    }

    /// How many rounds there are while the condition is `stays_if`.
    fn rounds(&self, condition: &Operand<Positions>, stays_if: bool) -> Option<Rounds> {
        let (_, stmt) = self.stmt(condition)?;
        let (primitive, args) = self.module.primitive_call(stmt)?;
        let [a, b] = args else { return None };
        // One side changes in each round, the other does not.
        let ((first, step, ahead), bound, flipped) = match (self.variable(a), self.variable(b)) {
            (Some(variable), None) => (variable, b, false),
            (None, Some(variable)) => (variable, a, true),
            _ => return None,
        };
        if !matches!(step, 1 | -1) || !self.is_invariant(bound, DEPTH) {
            return None;
        }
        let (less, tests_beyond) = match (primitive.name, stays_if) {
            // It goes on until the two are equal: that round is the last.
            ("===" | "eq_int", false) | ("ne_int", true) => (ahead, false),
            // `variable < bound` upwards, `bound < variable` downwards: the last round is the last one in which that is
            // so.
            ("slt_int" | "sle_int", true) if flipped == (step < 0) => {
                (ahead + i64::from(primitive.name == "slt_int"), true)
            }
            _ => return None,
        };
        let inclusive = primitive.name == "sle_int";
        Some(Rounds { first, bound: bound.clone(), step, less, tests_beyond, inclusive })
    }

    /// What a value starts with that changes by the same in each round, by how much it does, and how many rounds it is
    /// ahead of the φ.
    fn variable(&self, operand: &Operand<Positions>) -> Option<(Operand<Positions>, i64, i64)> {
        let (statement, stmt) = self.stmt(operand)?;
        if let Some((first, step)) = self.variables.get(&statement) {
            return (*step != 0).then(|| (first.clone(), *step, 0));
        }
        let (primitive, args) = self.module.primitive_call(stmt).filter(|_| self.is_inside(statement))?;
        if !matches!(primitive.name, "add_int" | "sub_int") {
            return None;
        }
        args.iter().find_map(|arg| {
            let (phi, _) = self.stmt(arg)?;
            let (first, step) = self.variables.get(&phi)?;
            (*step != 0 && self.step(stmt, phi) == Some(*step)).then(|| (first.clone(), *step, 1))
        })
    }

    /// An integer expression in terms of the number of the round.
    pub(crate) fn index(&self, operand: &Operand<Positions>, depth: u32) -> Option<Index> {
        if let Some(constant) = operand.as_int64() {
            return Some(Index { constant, ..Index::default() });
        }
        let invariant = || Some(Index { terms: SmallVec::from_iter([(1, operand.clone())]), ..Index::default() });
        let Operand::Value(_) = operand else {
            return matches!(operand, Operand::Argument(_)).then(invariant).flatten();
        };
        let (statement, stmt) = self.stmt(operand)?;
        if let Some((first, step)) = self.variables.get(&statement) {
            let start = match first.as_int64() {
                Some(constant) => Index { constant, ..Index::default() },
                None => Index { terms: SmallVec::from_iter([(1, first.clone())]), ..Index::default() },
            };
            return Some(Index { factor: *step, ..start });
        }
        if !self.is_inside(statement) {
            return invariant();
        }
        let depth = depth.checked_sub(1)?;
        if let Stmt::Value(value) = stmt {
            return self.index(value, depth);
        }
        if let Stmt::Pi(pi) = stmt {
            return self.index(&pi.value, depth);
        }
        let (primitive, args) = self.module.primitive_call(stmt)?;
        let [a, b] = args else { return None };
        match primitive.name {
            "add_int" => self.index(a, depth)?.plus(&self.index(b, depth)?, 1),
            "sub_int" => self.index(a, depth)?.plus(&self.index(b, depth)?, -1),
            "mul_int" => match (a.as_int64(), b.as_int64()) {
                (_, Some(factor)) => self.index(a, depth)?.times(factor),
                (Some(factor), _) => self.index(b, depth)?.times(factor),
                // A product of what does not change is computed before the loop.
                _ if self.is_invariant(a, depth) && self.is_invariant(b, depth) => invariant(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an expression has the same value in all rounds, and can be computed before the first.
    fn is_invariant(&self, operand: &Operand<Positions>, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match operand {
            Operand::Constant(_) | Operand::Argument(_) => true,
            Operand::Value(_) => match self.stmt(operand) {
                Some((statement, _)) if !self.is_inside(statement) => true,
                Some((_, stmt)) => self.module.primitive_call(stmt).is_some_and(|(primitive, args)| {
                    matches!(primitive.name, "add_int" | "sub_int" | "mul_int")
                        && args.iter().all(|arg| self.is_invariant(arg, depth))
                }),
                None => false,
            },
            _ => false,
        }
    }

    fn find_accesses(
        &self,
        found: &mut CountedLoop,
        local_stacks: &dyn Fn(usize) -> bool,
        resized: &Resized,
        beyond: &dyn Fn(usize) -> bool,
        every_round: &dyn Fn(usize) -> bool,
    ) {
        let mut calls: Vec<(usize, usize, &str, &[Operand<Positions>])> = Vec::new();
        for &block in self.blocks {
            let Some(range) = self.ir.cfg.blocks.get(block).map(|block| block.stmts.clone()) else { continue };
            for statement in range {
                let Some(stmt) = self.ir.stmts.stmts().get(statement) else { continue };
                if let Some((primitive, args)) = self.module.primitive_call(stmt) {
                    calls.push((block, statement, primitive.name, args));
                }
            }
        }
        let stack_of = |args: &[Operand<Positions>]| match args.first() {
            Some(Operand::Value(value)) => value.index().filter(|&made| local_stacks(made) && !self.is_inside(made)),
            _ => None,
        };
        let mut changed: HashSet<usize> = HashSet::new();
        // Stacks of which it is not known before the loop how long it makes them.
        let mut irregular: HashSet<usize> = HashSet::new();
        for (block, _, name, args) in &calls {
            if let (true, Some(stack)) =
                (matches!(*name, "stack_push!" | "stack_pop!" | "stack_empty!"), stack_of(args))
            {
                changed.insert(stack);
                if *name != "stack_push!" || !every_round(*block) {
                    irregular.insert(stack);
                }
            }
        }
        for (block, statement, name, args) in &calls {
            let beyond = found.rounds.tests_beyond && beyond(*block);
            let accessed = match *name {
                "arrayref" | "const_arrayref" => args.get(1).zip(args.get(2..)),
                "arrayset" => args.get(1).zip(args.get(3..)),
                "getindex" => args.first().zip(args.get(1..)),
                "setindex!" => args.first().zip(args.get(2..)),
                "stack_push!" => {
                    if let Some(stack) = stack_of(args).filter(|stack| !irregular.contains(stack)) {
                        match found.grown.iter_mut().find(|(known, _)| *known == stack) {
                            Some((_, times)) => *times += 1,
                            None => found.grown.push((stack, 1)),
                        }
                        found.pushes.insert(*statement);
                    }
                    continue;
                }
                "stack_get" | "stack_set!" => {
                    let at = if *name == "stack_get" { args.get(1) } else { args.get(2) };
                    if let (Some(stack), Some(at), Some(object)) = (stack_of(args), at, args.first())
                        && !changed.contains(&stack)
                        && let Some(index) = self.index(at, DEPTH)
                    {
                        self.cover(
                            found,
                            *statement,
                            vec![Check { object: object.clone(), space: Space::Stack, index, spread: 0, beyond }],
                        );
                    }
                    continue;
                }
                _ => continue,
            };
            let Some((object, indices)) = accessed else { continue };
            let lies_outside = match object {
                Operand::Argument(_) => true,
                Operand::Value(value) => value.index().is_some_and(|made| !self.is_inside(made)),
                _ => false,
            };
            if !lies_outside || resized.contains(&self.ir.operand_type(object)) || indices.is_empty() {
                continue;
            }
            let checks = indices.iter().enumerate().map(|(dimension, index)| {
                let space = match indices.len() {
                    1 => Space::Array,
                    _ => Space::Dimension(dimension as u32),
                };
                Some(Check { object: object.clone(), space, index: self.index(index, DEPTH)?, spread: 0, beyond })
            });
            if let Some(checks) = checks.collect::<Option<Vec<_>>>() {
                self.cover(found, *statement, checks);
            }
        }
    }

    fn cover(&self, found: &mut CountedLoop, statement: usize, checks: Vec<Check>) {
        let mut first = None;
        for check in checks {
            let at = found.checks.iter_mut().position(|known| known.covers(&check)).unwrap_or(found.checks.len());
            if at == found.checks.len() {
                found.checks.push(check);
            }
            first = first.or(Some(at));
        }
        if let Some(first) = first {
            found.covered.insert(statement, first);
        }
    }
}

impl Check {
    /// Lets this check cover another one too, if their indices differ by a small constant.
    fn covers(&mut self, other: &Check) -> bool {
        let Index { factor, terms, constant } = &other.index;
        let same = self.object == other.object
            && (self.space, self.beyond) == (other.space, other.beyond)
            && self.index.factor == *factor
            && self.index.terms == *terms;
        let Some(more) =
            constant.checked_sub(self.index.constant).filter(|more| same && more.unsigned_abs() <= MOST as u64)
        else {
            return false;
        };
        let spread = self.spread.max(more) - more.min(0);
        let fits = spread <= MOST;
        if fits {
            self.index.constant = self.index.constant.wrapping_add(more.min(0));
            self.spread = spread;
        }
        fits
    }
}

impl Index {
    pub(crate) fn plus(mut self, other: &Index, sign: i64) -> Option<Index> {
        self.factor = self.factor.checked_add(other.factor.checked_mul(sign)?)?;
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(sign));
        for (factor, operand) in &other.terms {
            let factor = factor.checked_mul(sign)?;
            match self.terms.iter_mut().find(|(_, known)| known == operand) {
                Some((known, _)) => *known = known.checked_add(factor)?,
                None => self.terms.push((factor, operand.clone())),
            }
        }
        self.terms.retain(|(factor, _)| *factor != 0);
        (self.factor.abs() <= MOST && self.terms.len() <= 8).then_some(self)
    }

    pub(crate) fn times(mut self, by: i64) -> Option<Index> {
        if by.unsigned_abs() > MOST as u64 {
            return None;
        }
        self.factor = self.factor.checked_mul(by).filter(|factor| factor.abs() <= MOST)?;
        self.constant = self.constant.wrapping_mul(by);
        for (factor, _) in &mut self.terms {
            *factor = factor.checked_mul(by)?;
        }
        Some(self)
    }
}

/// The dimensions of an array that the function makes for numbers that it knows.
pub(crate) fn known_dims(module: &Module<IRCode>, ir: &IRCode, array: &Operand<Positions>) -> Option<Vec<i64>> {
    let made = |array: &Operand<Positions>| match array {
        Operand::Value(made) => module.primitive_call(ir.stmts.stmts().get(made.index()?)?),
        _ => None,
    };
    let (mut primitive, mut args) = made(array)?;
    if let ("zero_tangent", [like]) = (primitive.name, args) {
        // A shadow is as large as what it is the shadow of.
        (primitive, args) = made(like)?;
    }
    if primitive.memory != (MemoryEffect::NewArray { by_tuple: false }) {
        return None;
    }
    let dims = args.get(1..)?.iter().map(|dim| dim.as_int64().filter(|dim| (0..MOST_ROUNDS).contains(dim)));
    dims.collect()
}
