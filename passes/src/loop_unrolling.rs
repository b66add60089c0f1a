//! Writes short loops out, whose number of rounds is known.

use std::cell::Cell;

use bbcode::{BBCode, BlockGraph, BlockId, ClonedRegion, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Constant, Module, Operand, Scalar, Stmt};

use crate::analyses::local_arrays::fold_sizes;
use crate::constant_folding::{self, folded};
use crate::manager::Context;
use crate::replace::Replacements;
use crate::{PassError, PassResult, simplify_cfg};

/// The pass's name on the command line.
pub const NAME: &str = "loop-unrolling";

/// Loops of more rounds stay: vectors and loads before the loop pay there.
const MOST_ROUNDS: usize = 16;

/// A loop stays if it came to more statements.
const MOST_STATEMENTS: usize = 512;

/// All loops of a function may come to so many statements more.
const MOST_ADDED: usize = 8192;

/// Loops in loops come out one level at a time, from the outside if the inner ones depend on the outer one.
const LEVELS: usize = 6;

/// At most this many values are looked at to know a condition.
const MOST_VALUES: usize = 128;

/// Writes out loops of at most 16 rounds, if their number is known. True if there was one.
///
/// It is known where the condition that ends the loop, at its only way out, comes to be known if it is computed from
/// the first constants of φs, round by round: counters may have any start, step and end. A loop around others is
/// written out if what their conditions depend on is known then. What is written out may have 512 statements, all that
/// comes in addition in a function 8192. Sizes of arrays that the function makes and shows to nobody are known from
/// where they are made.
///
/// Left alone are loops that are irreducible, left at several places, or entered or gone around from several blocks,
/// and functions with try/catch.
///
/// This is complete loop unrolling (Muchnick, *Advanced Compiler Design and Implementation* (1997), 17.4.3, with the
/// number of rounds from running the condition, as LLVM's brute-force trip counts are found). Each level takes time
/// linear in the function and in what it comes to.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    if bb.cfg().loops().iter().len() == 0 || bb.has_handlers() {
        return Ok(false);
    }
    let mut changed = false;
    if fold_sizes(bb, context.module) {
        constant_folding::run(bb, context)?;
        simplify_cfg::run(bb, context)?;
        changed = true;
    }
    let mut left = MOST_ADDED;
    for _ in 0..LEVELS {
        let graph = bb.cfg();
        let loops = graph.loops();
        let domtree = graph.dominators();
        let search = Search { module: context.module, bb, graph: &graph, loops: &loops, domtree: &domtree };
        let found = search.counted(&mut left);
        if found.is_empty() {
            break;
        }
        changed = true;
        bb.name_phi_edges();
        let (mut replaced, mut removed) = (Replacements::new(), Vec::new());
        let failed = |error: EditError| PassError::because(NAME, context.function, error);
        // All copies first: they need not name the edges of φs again and again.
        let rounds = found.iter().map(|each| each.copies(bb)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for (each, rounds) in found.iter().zip(&rounds) {
            each.join(bb, rounds, &mut replaced, &mut removed).map_err(failed)?;
        }
        replaced.apply(bb);
        for &phi in &removed {
            // Each was found in the function and is removed once.
            let _ = bb.remove_unchecked(phi);
        }
        constant_folding::run(bb, context)?;
        simplify_cfg::run(bb, context)?;
    }
    Ok(changed)
}

/// A loop with one way in, around and out.
struct Counted {
    header: BlockId,
    blocks: Vec<BlockId>,
    before: BlockId,
    latch: BlockId,
    exit: Exit,
    counters: Vec<Counter>,
    rounds: usize,
}

/// Where a loop is left.
struct Exit {
    block: BlockId,
    condition: Operand<Ids>,
    /// What the condition is as long as the loop goes on.
    stays: bool,
}

/// A φ at the header, with what it starts with and what it takes from the end of each round.
struct Counter {
    phi: InstId,
    start: Operand<Ids>,
    next: Operand<Ids>,
}

struct Search<'a> {
    module: &'a Module<BBCode>,
    bb: &'a BBCode,
    graph: &'a BlockGraph,
    loops: &'a LoopForest,
    domtree: &'a DomTree,
}

impl Search<'_> {
    /// The loops to write out, none of which is in another one, as long as there are statements `left`.
    fn counted(&self, left: &mut usize) -> Vec<Counted> {
        let mut own: HashMap<LoopId, Vec<usize>> = HashMap::new();
        for number in self.domtree.preorder() {
            if let Some(id) = self.loops.innermost(number) {
                own.entry(id).or_default().push(number);
            }
        }
        let mut children: HashMap<LoopId, Vec<LoopId>> = HashMap::new();
        for (id, each) in self.loops.iter() {
            if let Some(parent) = each.parent {
                children.entry(parent).or_default().push(id);
            }
        }
        let mut work: Vec<LoopId> =
            self.loops.iter().filter(|(_, each)| each.parent.is_none()).map(|(id, _)| id).collect();
        let mut found = Vec::new();
        let mut order = Vec::new();
        while let Some(id) = work.pop() {
            order.push(id);
            work.extend(children.get(&id).into_iter().flatten());
        }
        // From the inside: whether a loop was chosen in it, and its blocks, if they are few.
        let mut inside: HashMap<LoopId, Inside> = HashMap::new();
        for id in order.into_iter().rev() {
            let mut all = Inside { numbers: own.remove(&id).unwrap_or_default(), ..Inside::default() };
            for block in all.numbers.iter().filter_map(|&number| self.graph.block(number)) {
                all.statements += self.bb.insts(block).take(MOST_STATEMENTS + 1).count();
            }
            for child in children.get(&id).into_iter().flatten() {
                let Some(child) = inside.remove(child) else { continue };
                all.statements = all.statements.saturating_add(child.statements);
                all.chosen |= child.chosen;
                if all.statements <= MOST_STATEMENTS {
                    all.numbers.extend(child.numbers);
                }
            }
            if !all.chosen
                && all.statements <= MOST_STATEMENTS
                && let Some(counted) = self.rounds_of(id, &all.numbers, &children)
            {
                let added = all.statements * (counted.rounds - 1);
                if added + all.statements <= MOST_STATEMENTS && added <= *left {
                    *left -= added;
                    all.chosen = true;
                    found.push(counted);
                }
            }
            inside.insert(id, all);
        }
        found
    }

    /// The loop with the number of its rounds, if that is known, and if that of the loops in it is known when it is
    /// written out.
    fn rounds_of(&self, id: LoopId, numbers: &[usize], children: &HashMap<LoopId, Vec<LoopId>>) -> Option<Counted> {
        let mut counted = self.shape(id, numbers)?;
        counted.rounds = self.rounds(id, &counted)?;
        let inner = |id: LoopId| children.get(&id).into_iter().flatten().copied();
        let mut loops: Vec<LoopId> = inner(id).collect();
        while let Some(child) = loops.pop() {
            let numbers: Vec<usize> =
                numbers.iter().copied().filter(|&number| self.loops.contains(child, number)).collect();
            let shape = self.shape(child, &numbers)?;
            self.is_known_with(id, &shape.exit.condition).then_some(())?;
            loops.extend(inner(child));
        }
        Some(counted)
    }

    /// The parts of a loop that is entered, gone around and left in one way each.
    fn shape(&self, id: LoopId, numbers: &[usize]) -> Option<Counted> {
        let found = self.loops.get(id).filter(|found| !found.irreducible)?;
        let block = |number: usize| self.graph.block(number);
        let inside = |block: BlockId| self.graph.number(block).is_some_and(|number| self.loops.contains(id, number));
        let header = block(found.header)?;
        if self.graph.has_virtual_predecessor(header) {
            return None;
        }
        let (before, latch) = self.loops.entry_and_latch(self.graph.graph(), id)?;
        let blocks: Vec<BlockId> = numbers.iter().filter_map(|&number| block(number)).collect();
        let mut exit = None;
        for &from in &blocks {
            if self.bb.has_odd_edges(from) {
                return None;
            }
            let left = self.graph.successors(from).filter(|&to| !inside(to)).count();
            if left == 0 {
                continue;
            }
            let Stmt::GotoIfNot(goto) = &self.bb.terminator(from)?.1.stmt else { return None };
            let (if_true, if_false) = (inside(self.bb.next(from)?), inside(goto.dest));
            let decides = self.domtree.dominates(self.graph.number(from)?, latch);
            if exit.is_some() || if_true == if_false || !decides {
                return None;
            }
            exit = Some(Exit { block: from, condition: goto.cond.clone(), stays: if_true });
        }
        let (before, latch) = (block(before)?, block(latch)?);
        let mut counters = Vec::new();
        for (phi, inst) in self.bb.phi_nodes(header) {
            let node = inst.stmt.as_phi()?;
            let from = |edge: BlockId| node.value_from(edge).cloned();
            counters.push(Counter { phi, start: from(before)?, next: from(latch)? });
        }
        Some(Counted { header, blocks, before, latch, exit: exit?, counters, rounds: 0 })
    }

    /// How many rounds a loop has, if that is found by computing its condition for one after the other.
    fn rounds(&self, id: LoopId, counted: &Counted) -> Option<usize> {
        let starts = counted.counters.iter().map(|counter| (counter.phi, counter.start.clone()));
        let mut known: HashMap<InstId, Operand<Ids>> =
            starts.filter(|(_, start)| start.as_constant().is_some()).collect();
        for round in 1..=MOST_ROUNDS {
            let left = Cell::new(MOST_VALUES);
            let condition = self.value(id, &counted.exit.condition, &known, &left)?;
            let Constant::Scalar(Scalar::Bool(condition)) = condition.as_constant()? else { return None };
            if *condition != counted.exit.stays {
                return Some(round);
            }
            let next = counted
                .counters
                .iter()
                .filter_map(|counter| Some((counter.phi, self.value(id, &counter.next, &known, &left)?)));
            known = next.collect();
        }
        None
    }

    /// What a value in a loop is, if that follows from what is known of φs. At most so many values are looked at as are
    /// left.
    fn value(
        &self,
        id: LoopId,
        operand: &Operand<Ids>,
        known: &HashMap<InstId, Operand<Ids>>,
        left: &Cell<usize>,
    ) -> Option<Operand<Ids>> {
        if operand.as_constant().is_some() {
            return Some(operand.clone());
        }
        let value = operand.as_value()?;
        if let Some(known) = known.get(&value) {
            return Some(known.clone());
        }
        left.set(left.get().checked_sub(1)?);
        let number = self.graph.number(self.bb.block_of(value)?)?;
        let stmt = self.bb.stmt(value).filter(|_| self.loops.contains(id, number))?;
        let (primitive, args) = match stmt {
            Stmt::Value(copied) => return self.value(id, copied, known, left),
            Stmt::Pi(pi) => return self.value(id, &pi.value, known, left),
            stmt => self.module.primitive_call(stmt)?,
        };
        if !primitive.effects.foldable() {
            return None;
        }
        let args: Option<Vec<Operand<Ids>>> = args.iter().map(|arg| self.value(id, arg, known, left)).collect();
        folded(self.module, primitive, &args?)
    }

    /// Whether a condition in a loop can be computed from constants and the φs at headers of the loop and of those in
    /// it.
    fn is_known_with(&self, id: LoopId, condition: &Operand<Ids>) -> bool {
        let mut seen: HashSet<InstId> = HashSet::new();
        let mut work = vec![condition.clone()];
        while let Some(operand) = work.pop() {
            let value = match operand {
                Operand::Value(value) => value,
                Operand::Constant(_) => continue,
                _ => return false,
            };
            if !seen.insert(value) {
                continue;
            }
            let number = self.bb.block_of(value).and_then(|block| self.graph.number(block));
            let Some(number) = number.filter(|&number| self.loops.contains(id, number)) else { return false };
            let header = |id: Option<LoopId>| id.and_then(|id| self.loops.get(id)).map(|found| found.header);
            match self.bb.stmt(value) {
                _ if seen.len() > MOST_VALUES => return false,
                Some(Stmt::Phi(_)) if header(Some(id)) == Some(number) => {}
                Some(Stmt::Phi(phi)) if header(self.loops.innermost(number)) == Some(number) => {
                    work.extend(phi.entries.iter().filter_map(|entry| entry.value.clone()));
                }
                Some(Stmt::Value(copied)) => work.push(copied.clone()),
                Some(Stmt::Pi(pi)) => work.push(pi.value.clone()),
                Some(stmt) => match self.module.primitive_call(stmt) {
                    Some((primitive, args)) if primitive.effects.foldable() => work.extend(args.iter().cloned()),
                    _ => return false,
                },
                None => return false,
            }
        }
        true
    }
}

/// What is in a loop, those in it included.
#[derive(Default)]
struct Inside {
    numbers: Vec<usize>,
    statements: usize,
    /// Whether it, or one in it, is written out.
    chosen: bool,
}

impl Counted {
    /// Copies the loop for each round but the last, which is the loop itself: so what is used after it stays what it
    /// is.
    fn copies(&self, bb: &mut BBCode) -> Result<Vec<ClonedRegion>, EditError> {
        let copies = (1..self.rounds).map(|_| bb.clone_region(&self.blocks));
        copies.chain([Ok(ClonedRegion::default())]).collect()
    }

    /// Puts the rounds one behind the other. The φs at the headers are to be replaced and removed.
    fn join(
        &self,
        bb: &mut BBCode,
        rounds: &[ClonedRegion],
        replaced: &mut Replacements,
        removed: &mut Vec<InstId>,
    ) -> Result<(), EditError> {
        let mut current: Vec<Operand<Ids>> = self.counters.iter().map(|counter| counter.start.clone()).collect();
        for (number, round) in rounds.iter().enumerate() {
            let is_last = number + 1 == rounds.len();
            let phis = self.counters.iter().map(|counter| counter.phi);
            let of_phi: HashMap<InstId, Operand<Ids>> = phis.zip(current.iter().cloned()).collect();
            let next =
                self.counters.iter().map(|counter| match counter.next.as_value().and_then(|phi| of_phi.get(&phi)) {
                    Some(current) => current.clone(),
                    None => round.operand(&counter.next),
                });
            let next: Vec<Operand<Ids>> = next.collect();
            for (counter, value) in self.counters.iter().zip(current) {
                if let Some(phi) = round.operand(&Operand::Value(counter.phi)).as_value() {
                    replaced.insert(phi, value);
                    removed.push(phi);
                }
            }
            current = next;
            // Which way it goes is known, so that the other one goes away.
            let condition = Constant::from(Scalar::Bool(self.exit.stays != is_last));
            if let Some((id, _)) = bb.terminator(round.block(self.exit.block))
                && let Some(Stmt::GotoIfNot(goto)) = bb.stmt_mut(id)
            {
                goto.cond = Operand::Constant(condition);
            }
            if let Some(following) = rounds.get(number + 1) {
                let header = following.block(self.header);
                bb.retarget_unchecked(round.block(self.latch), round.block(self.header), header);
            }
        }
        if let Some(first) = rounds.first() {
            bb.retarget_unchecked(self.before, self.header, first.block(self.header));
        }
        Ok(())
    }
}
