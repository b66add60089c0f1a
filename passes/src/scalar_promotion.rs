//! Keeps in a value what a loop reads from a place of an array and stores there again on every round.

use bbcode::{BBCode, BlockGraph, BlockId, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::LoopId;
use ircode::{ElementAccess, NewInstruction, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::analyses::effects::effects;
use crate::analyses::local_arrays::local_arrays;
use crate::analyses::loop_ranges::LoopRanges;
use crate::manager::Context;
use crate::preheaders::{Preheaders, can_have_preheader, outside_predecessors};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "scalar-promotion";

/// Indices that differ by less are compared as if integers had no bounds: no array is so long that the sum of such a
/// number and an index into it would leave 64 bits.
const NEAR: i64 = 1 << 32;

/// Keeps an element of an array in a value while an innermost loop runs that reads it and stores to it on every round:
/// it is loaded before the loop, is a φ at the header, and is stored where control leaves the loop. True if there was
/// one. In the loop, copies stand where the loads and stores were.
///
/// Nobody must be able to tell: the array was made in the function, outside of the loop, and everything that is done
/// with it there are loads, stores, questions about its size and returning it, so that no callee and no exception shows
/// what is in it. The index does not change in the loop, and every other access of the array in the loop has the same
/// index or one that is seen to be another: by a constant that was added, or as the counter of the loop stays below or
/// above it (`loop_ranges.rs`). The first load comes before all in the loop that may fail, so that it fails as before
/// if there is no such element.
///
/// Left alone are elements that hold objects, accesses that are not made on every round, loops that are irreducible or
/// with others inside, and functions with try/catch.
///
/// This is the scalar promotion of memory in LLVM's loop-invariant code motion; Lu and Cooper, *Register Promotion in C
/// Programs* (1997). It takes time linear in the function, but for loops that access an array at several places: these
/// are compared with each other.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let loops = graph.loops();
    if loops.iter().len() == 0 || bb.has_handlers() {
        return Ok(false);
    }
    let arrays = local_arrays(bb, context.module);
    if arrays.is_empty() {
        return Ok(false);
    }
    let domtree = graph.dominators();
    let ranges = LoopRanges { module: context.module, bb, graph: &graph, loops: &loops, domtree: &domtree };
    let found = Search { ranges, arrays }.promotions();
    if found.is_empty() {
        return Ok(false);
    }
    // Dominance changes, and φs must not get less by it.
    bb.name_phi_edges();
    let mut preheaders = Preheaders::new(&graph, &loops);
    let mut entered = Vec::new();
    for (around, promotions) in found {
        entered.extend(preheaders.of(bb, around.id).map(|before| (around, promotions, before)));
    }
    let graph = bb.cfg();
    for (around, promotions, before) in &entered {
        around
            .apply(bb, &graph, promotions, *before)
            .map_err(|error| PassError::because(NAME, context.function, error))?;
    }
    Ok(!entered.is_empty())
}

/// A load or a store of an element.
#[derive(Clone, Debug)]
struct Access {
    id: InstId,
    /// Whether the index is checked.
    check: Operand<Ids>,
    array: InstId,
    indices: Vec<Operand<Ids>>,
    /// What is stored.
    stored: Option<Operand<Ids>>,
    block: BlockId,
}

/// An element that is kept in a value while a loop runs: its loads and stores, in the order in which each round makes
/// them.
type Promotion = Vec<Access>;

/// An innermost loop.
struct Around {
    id: LoopId,
    header: BlockId,
    /// Its blocks, in an order in which each comes after those that dominate it.
    blocks: Vec<BlockId>,
    latches: Vec<BlockId>,
    /// The blocks that run on every round, in their order, with their places there.
    every_round: HashMap<BlockId, usize>,
    /// How many of these have run where each of its blocks ends.
    run_before: HashMap<BlockId, usize>,
}

/// The accesses of a loop.
struct Accesses {
    list: Vec<Access>,
    /// The places in the list, by statement and by array.
    of_statement: HashMap<InstId, usize>,
    of_array: HashMap<InstId, Vec<usize>>,
}

struct Search<'a> {
    ranges: LoopRanges<'a>,
    arrays: SecondaryMap<InstId, Type>,
}

impl Search<'_> {
    fn promotions(&self) -> Vec<(Around, Vec<Promotion>)> {
        let found = self.innermost_loops().into_iter().map(|around| {
            let promotions = self.promotions_in(&around);
            (around, promotions)
        });
        found.filter(|(_, promotions)| !promotions.is_empty()).collect()
    }

    /// The loops with no others inside that can have a block before them.
    fn innermost_loops(&self) -> Vec<Around> {
        let LoopRanges { bb, graph, loops, domtree, .. } = self.ranges;
        let parents: Vec<LoopId> = loops.iter().filter_map(|(_, found)| found.parent).collect();
        let outside = outside_predecessors(graph, loops);
        let mut blocks_of: HashMap<LoopId, Vec<(usize, BlockId)>> = HashMap::new();
        for number in domtree.preorder() {
            if let (Some(id), Some(block)) = (loops.innermost(number), graph.block(number)) {
                blocks_of.entry(id).or_default().push((number, block));
            }
        }
        let mut found = Vec::new();
        for (id, each) in loops.iter().filter(|(id, each)| !each.irreducible && !parents.contains(id)) {
            let from = outside.get(&id).map(Vec::as_slice).unwrap_or_default();
            let (Some(header), Some(numbered)) = (graph.block(each.header), blocks_of.remove(&id)) else { continue };
            let is_open = numbered.iter().any(|&(_, block)| {
                bb.has_odd_edges(block) || graph.successors(block).any(|next| bb.has_odd_edges(next))
            });
            if is_open || !can_have_preheader(bb, graph, each.header, from) {
                continue;
            }
            let inside = || graph.graph().predecessors(each.header).filter(|&pred| loops.contains(id, pred));
            let mut latches: Vec<BlockId> = inside().filter_map(|pred| graph.block(pred)).collect();
            latches.sort_unstable();
            latches.dedup();
            let common = inside().reduce(|a, b| domtree.nearest_common_dominator(a, b).unwrap_or(each.header));
            let (mut every_round, mut run_before) = (HashMap::new(), HashMap::new());
            for &(number, block) in &numbered {
                let dominator = domtree.immediate_dominator(number).and_then(|dominator| graph.block(dominator));
                let mut count = dominator.and_then(|dominator| run_before.get(&dominator)).copied().unwrap_or(0);
                if common.is_some_and(|common| domtree.dominates(number, common)) {
                    every_round.insert(block, count);
                    count += 1;
                }
                run_before.insert(block, count);
            }
            let blocks = numbered.into_iter().map(|(_, block)| block).collect();
            found.push(Around { id, header, blocks, latches, every_round, run_before });
        }
        found
    }

    /// The elements that can be kept in values while a loop runs.
    ///
    /// Of the loads that each round starts with: what fails in one of them fails before the loop in the same order.
    fn promotions_in(&self, of: &Around) -> Vec<Promotion> {
        let accesses = self.accesses(of);
        let mut found: Vec<Promotion> = Vec::new();
        if accesses.list.is_empty() {
            return found;
        }
        let LoopRanges { module, bb, .. } = self.ranges;
        let mut promoted: HashSet<InstId> = HashSet::new();
        for (id, inst) in bb.insts(of.header) {
            if promoted.contains(&id) {
                continue;
            }
            let access = accesses.of_statement.get(&id).and_then(|&place| accesses.list.get(place));
            if let Some(first) = access.filter(|access| access.stored.is_none())
                && let Some(promotion) = self.promotion(of, first, &accesses)
            {
                promoted.extend(promotion.iter().map(|access| access.id));
                found.push(promotion);
                continue;
            }
            let effects = effects(module, bb, inst);
            if inst.stmt.is_terminator() || effects.throws || effects.writes {
                break;
            }
        }
        found
    }

    /// The loads from local arrays and stores to them in a loop.
    fn accesses(&self, of: &Around) -> Accesses {
        let LoopRanges { module, bb, .. } = self.ranges;
        let mut found = Accesses { list: Vec::new(), of_statement: HashMap::new(), of_array: HashMap::new() };
        for &block in &of.blocks {
            for (id, inst) in bb.insts(block) {
                let Some(ElementAccess { check, array, indices, stored }) = module.element_access(&inst.stmt) else {
                    continue;
                };
                if let Some(array) = array.as_value().filter(|array| self.arrays.contains_key(*array)) {
                    let (check, indices, stored) = (check.clone(), indices.to_vec(), stored.cloned());
                    found.of_statement.insert(id, found.list.len());
                    found.of_array.entry(array).or_insert_with(Vec::new).push(found.list.len());
                    found.list.push(Access { id, check, array, indices, stored, block });
                }
            }
        }
        found
    }

    /// What a loop does with the element from which a load reads, if it can be kept in a value.
    fn promotion(&self, of: &Around, first: &Access, accesses: &Accesses) -> Option<Promotion> {
        let element = self.arrays.get(first.array)?;
        let is_inside = |operand: &Operand<Ids>| self.ranges.is_inside(of.id, operand);
        let is_invariant = |index: &Operand<Ids>| match index {
            Operand::Value(_) => !is_inside(index),
            Operand::Argument(_) | Operand::Constant(_) => true,
            _ => false,
        };
        if is_inside(&Operand::Value(first.array)) || !first.indices.iter().all(is_invariant) {
            return None;
        }
        let of_array = accesses.of_array.get(&first.array)?.iter().filter_map(|&place| accesses.list.get(place));
        let (same, others): (Vec<&Access>, Vec<&Access>) = of_array.partition(|access| self.is_same(first, access));
        let is_stored = same.iter().any(|access| access.stored.is_some());
        let can = is_stored
            && same.iter().all(|access| self.is_plain(of, access, element))
            && others.iter().all(|access| self.is_apart(of, first, access));
        can.then(|| same.into_iter().cloned().collect())
    }

    /// Whether an access is made on every round, and of a value of the type of the elements.
    fn is_plain(&self, of: &Around, access: &Access, element: &Type) -> bool {
        let bb = self.ranges.bb;
        let fits = match &access.stored {
            Some(value @ (Operand::Value(_) | Operand::Argument(_) | Operand::Constant(_))) => {
                bb.operand_type(value) == *element
            }
            Some(_) => false,
            None => bb.operand_type(&Operand::Value(access.id)) == *element,
        };
        fits && of.every_round.contains_key(&access.block)
    }

    fn is_same(&self, one: &Access, other: &Access) -> bool {
        let same = |(a, b): (&Operand<Ids>, &Operand<Ids>)| self.ranges.sum(a) == self.ranges.sum(b);
        one.indices.len() == other.indices.len() && one.indices.iter().zip(&other.indices).all(same)
    }

    /// Whether an access is seen never to be of the element that is read first in each round.
    fn is_apart(&self, of: &Around, first: &Access, other: &Access) -> bool {
        let ([index], [another]) = (first.indices.as_slice(), other.indices.as_slice()) else { return false };
        let ranges = &self.ranges;
        if [index, another].iter().any(|index| ranges.bb.operand_type(index) != Type::INT64) {
            return false;
        }
        let (index, another) = (ranges.sum(index), ranges.sum(another));
        if let Some(difference) = another.minus(&index) {
            return difference != 0;
        }
        let counter = another.root.as_ref().and_then(Operand::as_value);
        let Some(range) = counter.and_then(|counter| ranges.range(of.id, &of.blocks, counter)) else { return false };
        // There is an element at the index, so that it is small; what differs little from it does so as integers
        // without bounds do.
        let beyond = |bound: &Operand<Ids>| {
            let difference = ranges.sum(bound).minus(&index)?;
            let near = |number: i64| (-NEAR..=NEAR).contains(&number);
            (near(difference) && near(another.offset)).then(|| difference + another.offset)
        };
        beyond(&range.greatest).is_some_and(|most| most < 0) || beyond(&range.least).is_some_and(|least| least > 0)
    }
}

impl Around {
    /// Keeps elements in values while the loop runs.
    fn apply(
        &self,
        bb: &mut BBCode,
        graph: &BlockGraph,
        promotions: &[Promotion],
        before: BlockId,
    ) -> Result<(), EditError> {
        let mut exits: Vec<(BlockId, BlockId)> = Vec::new();
        for &from in &self.blocks {
            let mut left: Vec<BlockId> =
                graph.successors(from).filter(|to| !self.run_before.contains_key(to)).collect();
            left.sort_unstable();
            left.dedup();
            for to in left {
                let shared = graph.predecessors(to).nth(1).is_some();
                exits.push((from, if shared { bb.split_edge(from, to)? } else { to }));
            }
        }
        promotions.iter().try_for_each(|accesses| self.promote(bb, accesses, before, &exits))
    }

    /// Loads an element in the block before the loop, keeps it in a φ, and stores it where control leaves the loop.
    fn promote(
        &self,
        bb: &mut BBCode,
        accesses: &Promotion,
        before: BlockId,
        exits: &[(BlockId, BlockId)],
    ) -> Result<(), EditError> {
        let store = accesses.iter().rev().find(|access| access.stored.is_some());
        let (Some(first), Some(store)) = (accesses.first(), store) else { return Ok(()) };
        let (Some(load), Some(store)) = (bb.inst(first.id).cloned(), bb.inst(store.id).cloned()) else {
            return Ok(());
        };
        // What is checked is whether there is such an element; what says so in the loop may not be there outside.
        let check = match &first.check {
            check @ Operand::Constant(_) => check.clone(),
            _ => true.into(),
        };
        let place = |stored: Option<Operand<Ids>>| {
            let operands = [check.clone(), Operand::Value(first.array)].into_iter().chain(stored);
            operands.chain(first.indices.iter().cloned()).collect::<Vec<_>>()
        };
        let new = |stmt: Stmt<Ids>| NewInstruction::new(stmt, load.ty.clone()).with_line(load.line);
        let read = Stmt::call(Operand::global("Base", "arrayref"), place(None));
        let start = bb.insert_before_terminator(before, new(read))?;
        let phi = bb.insert_at_start(self.header, new(Stmt::phi([])))?;

        // The stores, by how many blocks of every round have run before theirs, in order.
        let mut stores: Vec<(usize, InstId)> = Vec::new();
        let mut current = phi;
        for access in accesses {
            let value = access.stored.clone().unwrap_or(Operand::Value(current));
            if let Some(inst) = bb.inst_mut(access.id) {
                (inst.stmt, inst.ty) = (Stmt::Value(value), load.ty.clone());
            }
            if access.stored.is_some() {
                current = access.id;
                stores.push((self.every_round.get(&access.block).copied().unwrap_or(0), current));
            }
        }
        // What the element is at the end of a block.
        let end = |block: &BlockId| {
            let run = self.run_before.get(block).copied().unwrap_or(0);
            let last = stores.partition_point(|(before, _)| *before < run).checked_sub(1);
            Operand::Value(last.and_then(|last| stores.get(last)).map_or(phi, |(_, store)| *store))
        };

        let around = self.latches.iter().map(|latch| (*latch, Some(end(latch))));
        bb.replace(phi, Stmt::phi(std::iter::once((before, Some(Operand::Value(start)))).chain(around)))?;
        for (from, to) in exits {
            let write = Stmt::call(Operand::global("Base", "arrayset"), place(Some(end(from))));
            bb.insert_at_start(*to, NewInstruction::new(write, store.ty.clone()).with_line(store.line))?;
        }
        Ok(())
    }
}
