//! Turns slots into values.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::{LineInfo, Module, NewInstruction, Operand, PhiEntries, PhiEntry, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::slots::{SlotCall, slot_call};
use crate::manager::Context;
use crate::replace::Replacements;
use crate::simplify_cfg::fill_empty_blocks;

/// The pass's name on the command line.
pub const NAME: &str = "mem2reg";

/// Turns slots into values: SSA construction. True if there was one to turn.
///
/// A slot is a local variable: made by `new_slot(T)`, read by `slot_get`, written by `slot_set!`, ended by `slot_end!`. One that is
/// used in any other way (it escapes, it goes into a φ) stays, and so do one that is live into a catch block, as exceptions may
/// come from the middle of a block, and one that may be used after its end. Where parts of a slot have addresses,
/// [`lower_projections`](crate::lower_projections) comes first.
///
/// The result is pruned: φs stand only where the variable is read later. And it is optimistic: where all ways bring the
/// same value — the same constant included — there is no φ, around loops too. Per slot this takes time linear in the blocks in
/// which it is live.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let changed = bb.remove_unreachable_blocks();
    let promoted = promote(bb, context.module, |_| true);
    Ok(changed || promoted > 0)
}

/// Turns those slots into values that are wanted and of which that can be done, and tells how many these are. Every block is
/// reachable.
pub(crate) fn promote(bb: &mut BBCode, module: &Module<BBCode>, wanted: impl Fn(InstId) -> bool) -> usize {
    let slots = find_slots(bb, module, wanted);
    if slots.is_empty() {
        return 0;
    }
    let graph = bb.cfg();
    let mut rank = vec![u32::MAX; graph.order().len()];
    for (position, block) in graph.graph().postorder().into_iter().rev().enumerate() {
        rank[block] = position as u32;
    }
    let mut builder = Builder {
        rank,
        replaced: Replacements::new(),
        removed: Vec::new(),
        live: (0..graph.order().len()).map(|_| None).collect(),
        order: Vec::new(),
    };
    let promoted = slots.iter().filter(|slot| builder.promote(bb, &graph, slot)).count();
    for &inst in &builder.removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(inst);
    }
    builder.replaced.apply(bb);
    fill_empty_blocks(bb);
    promoted
}

/// A slot, and how it is used.
struct Slot {
    ty: Type,
    line: LineInfo,
    accesses: Vec<Access>,
}

struct Access {
    inst: InstId,
    /// The number of the block.
    block: usize,
    kind: Kind,
}

enum Kind {
    /// The slot is made: from here on it is not assigned, also if this is not the first round of a loop.
    Start,
    Read,
    /// This value is written.
    Write(Operand<Ids>),
    /// From here on it is not to be used.
    End,
}

/// The slots that are used as local variables and in no other way.
fn find_slots(bb: &BBCode, module: &Module<BBCode>, wanted: impl Fn(InstId) -> bool) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut index: SecondaryMap<InstId, usize> = SecondaryMap::new();
    for (id, inst) in bb.all_insts() {
        if let Type::Slot(ty) = &inst.ty
            && let Some(SlotCall::New(_)) = slot_call(module, &inst.stmt)
            && wanted(id)
        {
            index.insert(id, slots.len());
            slots.push(Slot { ty: (**ty).clone(), line: inst.line, accesses: Vec::new() });
        }
    }
    if slots.is_empty() {
        return slots;
    }
    let mut escapes = vec![false; slots.len()];
    for (block, name) in bb.blocks().enumerate() {
        for (id, inst) in bb.insts(name) {
            if let Some(slot) = index.get(id).and_then(|&slot| slots.get_mut(slot)) {
                slot.accesses.push(Access { inst: id, block, kind: Kind::Start });
            }
            // Most statements have nothing to do with slots.
            let mut uses_slots = false;
            inst.stmt.for_each_use(|used| uses_slots |= index.contains_key(used));
            if !uses_slots {
                continue;
            }
            let access = match slot_call(module, &inst.stmt) {
                Some(SlotCall::Get(slot)) => slot.as_value().map(|slot| (slot, Kind::Read)),
                Some(SlotCall::Set(slot, value)) => slot.as_value().map(|slot| (slot, Kind::Write(value.clone()))),
                Some(SlotCall::End(slot)) => slot.as_value().map(|slot| (slot, Kind::End)),
                _ => None,
            };
            let target = access.as_ref().map(|(slot, _)| *slot);
            let mut uses = 0;
            inst.stmt.for_each_use(|used| {
                if let Some(&slot) = index.get(used) {
                    uses += usize::from(Some(used) == target);
                    escapes[slot] |= Some(used) != target || uses > 1;
                }
            });
            if let Some((slot, kind)) = access
                && let Some(&slot) = index.get(slot)
            {
                slots[slot].accesses.push(Access { inst: id, block, kind });
            }
        }
    }
    let mut escapes = escapes.into_iter();
    slots.retain(|_| !escapes.next().unwrap_or(true));
    slots
}

/// What a variable is at some place.
#[derive(Clone, PartialEq, Debug)]
enum Content {
    /// Not known yet.
    Unknown,
    /// Not assigned on every way here.
    Unassigned,
    /// This value.
    Value(Operand<Ids>),
    /// What a φ at the start of the block of this number gives.
    Phi(usize),
}

/// What is known about one variable in one block.
struct Live {
    /// At the start of the block.
    start: Content,
    /// At its end, if the block writes, makes or ends it.
    end: Option<Content>,
    /// Whether it is needed at the start.
    needed: bool,
    /// Whether the block makes the slot, ends it, or leads to a use of it without making it.
    makes: bool,
    ends: bool,
    used_later: bool,
    queued: bool,
    phi: Option<InstId>,
}

struct Builder {
    replaced: Replacements,
    removed: Vec<InstId>,
    /// For the slot at hand, by block; `None` where nothing is known of it.
    live: Vec<Option<Live>>,
    /// The blocks of which something is known.
    order: Vec<usize>,
    /// Where the blocks come in reverse postorder.
    rank: Vec<u32>,
}

impl Builder {
    /// Turns one slot into values. False if that cannot be.
    fn promote(&mut self, bb: &mut BBCode, graph: &BlockGraph, slot: &Slot) -> bool {
        for block in std::mem::take(&mut self.order) {
            self.live[block] = None;
        }
        let mut work: VecDeque<usize> = VecDeque::new();
        // What the blocks do by themselves.
        for access in &slot.accesses {
            let state = self.state(access.block);
            match &access.kind {
                Kind::Write(value) => state.end = Some(Content::Value(value.clone())),
                Kind::Start | Kind::End => state.end = Some(Content::Unassigned),
                Kind::Read if state.end.is_none() && !state.needed => {
                    state.needed = true;
                    work.push_back(access.block);
                }
                Kind::Read => {}
            }
        }
        // Using it after its end is an error, and stays one.
        if self.may_be_used_after_its_end(graph, slot) {
            return false;
        }
        // Where it is live.
        while let Some(block) = work.pop_front() {
            if graph.block(block).is_none_or(|block| graph.has_virtual_predecessor(block)) && block != 0 {
                return false;
            }
            for pred in graph.graph().predecessors(block) {
                let state = self.state(pred);
                if state.end.is_none() && !state.needed {
                    state.needed = true;
                    work.push_back(pred);
                }
            }
        }
        self.solve(graph);
        // Reading what is not assigned is an error, and stays one.
        if !self.reads_are_assigned(slot) {
            return false;
        }
        self.insert_phis(bb, graph, slot);
        self.replace(slot);
        true
    }

    fn state(&mut self, block: usize) -> &mut Live {
        let state = &mut self.live[block];
        if state.is_none() {
            self.order.push(block);
        }
        let nothing_known = Live {
            start: Content::Unknown,
            end: None,
            needed: false,
            makes: false,
            ends: false,
            used_later: false,
            queued: false,
            phi: None,
        };
        state.get_or_insert(nothing_known)
    }

    /// What the variable is at the end of a block.
    fn at_end(&self, block: usize) -> Content {
        match &self.live[block] {
            Some(Live { end: Some(content), .. }) => content.clone(),
            Some(state) => state.start.clone(),
            None => Content::Unknown,
        }
    }

    /// Finds what the variable is at the start of each block where it is needed. Contents only go from unknown to one
    /// thing, and from there to φs; blocks are visited in reverse postorder, so that a φ is placed only once what
    /// comes before it is known.
    fn solve(&mut self, graph: &BlockGraph) {
        let mut work: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
        for &block in &self.order {
            if let Some(state) = self.live[block].as_mut().filter(|state| state.needed) {
                state.queued = true;
                work.push(Reverse((self.rank[block], block)));
            }
        }
        while let Some(Reverse((_, block))) = work.pop() {
            let mut joined = if block == 0 { Content::Unassigned } else { Content::Unknown };
            for pred in graph.graph().predecessors(block) {
                joined = match (joined, self.at_end(pred)) {
                    (joined, Content::Unknown) => joined,
                    (Content::Unknown, there) => there,
                    (joined, there) if joined == there => joined,
                    _ => {
                        joined = Content::Phi(block);
                        break;
                    }
                };
            }
            let Some(state) = &mut self.live[block] else { continue };
            state.queued = false;
            // Once a φ stands here it stays.
            if state.start == Content::Phi(block) || state.start == joined {
                continue;
            }
            state.start = joined;
            if state.end.is_some() {
                continue;
            }
            for succ in graph.graph().successors(block) {
                if let Some(state) = self.live[succ].as_mut().filter(|state| state.needed && !state.queued) {
                    state.queued = true;
                    work.push(Reverse((self.rank[succ], succ)));
                }
            }
        }
    }

    /// Whether every read finds a value, or a φ that may have one.
    fn reads_are_assigned(&self, slot: &Slot) -> bool {
        // Whether it is assigned, in the block of the access before.
        let mut assigned: Option<(usize, bool)> = None;
        slot.accesses.iter().all(|access| {
            match access.kind {
                Kind::Write(_) => assigned = Some((access.block, true)),
                Kind::Start | Kind::End => assigned = Some((access.block, false)),
                Kind::Read => {
                    if let Some((_, assigned)) = assigned.filter(|(block, _)| *block == access.block) {
                        return assigned;
                    }
                    let start = self.live[access.block].as_ref().map(|state| &state.start);
                    return matches!(start, Some(Content::Value(_) | Content::Phi(_)));
                }
            }
            true
        })
    }

    /// Whether there is a way from an end of the slot to a use of it. Goes back from the uses to where the slot is made.
    fn may_be_used_after_its_end(&mut self, graph: &BlockGraph, slot: &Slot) -> bool {
        if !slot.accesses.iter().any(|access| matches!(access.kind, Kind::End)) {
            return false;
        }
        let mut work: Vec<usize> = Vec::new();
        let mut before: Option<&Access> = None;
        for access in &slot.accesses {
            match before.filter(|before| before.block == access.block).map(|before| &before.kind) {
                Some(Kind::End) => return true,
                None if !matches!(access.kind, Kind::Start) => {
                    self.state(access.block).used_later = true;
                    work.push(access.block);
                }
                _ => {}
            }
            match access.kind {
                Kind::Start => self.state(access.block).makes = true,
                Kind::End => self.state(access.block).ends = true,
                Kind::Read | Kind::Write(_) => {}
            }
            before = Some(access);
        }
        while let Some(block) = work.pop() {
            if graph.block(block).is_none_or(|block| graph.has_virtual_predecessor(block)) {
                return true;
            }
            for pred in graph.graph().predecessors(block) {
                let state = self.state(pred);
                if state.ends {
                    return true;
                }
                if !state.makes && !std::mem::replace(&mut state.used_later, true) {
                    work.push(pred);
                }
            }
        }
        false
    }

    fn insert_phis(&mut self, bb: &mut BBCode, graph: &BlockGraph, slot: &Slot) {
        let has_phi =
            |&block: &usize| self.live[block].as_ref().is_some_and(|state| state.start == Content::Phi(block));
        let mut blocks: Vec<usize> = self.order.iter().copied().filter(has_phi).collect();
        blocks.sort_unstable();
        for &block in &blocks {
            let Some(name) = graph.block(block) else { continue };
            let phi =
                bb.insert_at_start(name, NewInstruction::new(Stmt::phi([]), slot.ty.clone()).with_line(slot.line));
            if let (Ok(phi), Some(state)) = (phi, &mut self.live[block]) {
                state.phi = Some(phi);
            }
        }
        for &block in &blocks {
            let Some(phi) = self.live[block].as_ref().and_then(|state| state.phi) else { continue };
            let mut entries = PhiEntries::new();
            let mut before = None;
            for pred in graph.graph().predecessors(block) {
                // One that has several edges to the block comes several times in a row.
                let Some(edge) = graph.block(pred).filter(|edge| before != Some(*edge)) else { continue };
                before = Some(edge);
                let value = self.operand(&self.at_end(pred));
                entries.push(PhiEntry { edge, value });
            }
            if let Some(Stmt::Phi(node)) = bb.inst_mut(phi).map(|inst| &mut inst.stmt) {
                node.entries = entries;
            }
        }
    }

    /// The operand for what a variable is; `None` where it is not assigned.
    fn operand(&self, content: &Content) -> Option<Operand<Ids>> {
        match content {
            Content::Value(value) => Some(value.clone()),
            Content::Phi(block) => self.live[*block].as_ref().and_then(|state| state.phi).map(Operand::Value),
            Content::Unassigned | Content::Unknown => None,
        }
    }

    /// Lets every read be replaced by what was written before it.
    fn replace(&mut self, slot: &Slot) {
        let mut current: Option<(usize, Option<Operand<Ids>>)> = None;
        for access in &slot.accesses {
            let value = match current.take() {
                Some((block, value)) if block == access.block => value,
                _ => self.live[access.block].as_ref().and_then(|state| self.operand(&state.start)),
            };
            self.removed.push(access.inst);
            if matches!(access.kind, Kind::Write(_) | Kind::End) {
                self.replaced.insert(access.inst, Operand::nothing());
            }
            let value = match (&access.kind, value) {
                (Kind::Write(written), _) => Some(written.clone()),
                (Kind::Read, Some(value)) => {
                    self.replaced.insert(access.inst, value.clone());
                    Some(value)
                }
                (Kind::Read, None) | (Kind::Start | Kind::End, _) => None,
            };
            current = Some((access.block, value));
        }
    }
}
