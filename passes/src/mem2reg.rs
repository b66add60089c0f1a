//! Turns slots into values.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::{CallNode, Callee, Module, NewInstruction, Operand, PhiEntries, PhiEntry, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;
use crate::replace::Replacements;
use crate::simplify_cfg::fill_empty_blocks;

/// The pass's name on the command line.
pub const NAME: &str = "mem2reg";

/// Turns slots into values: SSA construction. True if there was one to turn.
///
/// A slot is a local variable: made by `new_slot(T)`, read by `slot_get`, written by `slot_set!`. One that is used in any
/// other way (it escapes, it goes into a φ) stays, and so does one that is live into a catch block, as exceptions may
/// come from the middle of a block.
///
/// The result is pruned: φs stand only where the variable is read later. And it is optimistic: where all ways bring the
/// same value — the same constant included — there is no φ, around loops too. Per slot this takes time linear in the blocks in
/// which it is live.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut changed = bb.remove_unreachable_blocks();
    let slots = find_slots(bb, context.module);
    if slots.is_empty() {
        return Ok(changed);
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
    for slot in &slots {
        changed |= builder.promote(bb, &graph, slot);
    }
    for &inst in &builder.removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(inst);
    }
    builder.replaced.apply(bb);
    fill_empty_blocks(bb);
    Ok(changed)
}

/// A slot, and how it is used.
struct Slot {
    inst: InstId,
    ty: Type,
    accesses: Vec<Access>,
}

struct Access {
    inst: InstId,
    /// The number of the block.
    block: usize,
    /// The value written; `None` for a read.
    write: Option<Operand<Ids>>,
}

/// The slots that are used as local variables and in no other way.
fn find_slots(bb: &BBCode, module: &Module<BBCode>) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut index: SecondaryMap<InstId, usize> = SecondaryMap::new();
    let primitive = |stmt: &Stmt<Ids>| match stmt {
        Stmt::Call(CallNode { callee: Operand::Global(global), .. })
            if matches!(global.name.as_str(), "new_slot" | "slot_get" | "slot_set!") =>
        {
            match module.global_callee(global) {
                Callee::Primitive(primitive) => Some(primitive.name),
                _ => None,
            }
        }
        _ => None,
    };
    for (id, inst) in bb.all_insts() {
        if primitive(&inst.stmt) == Some("new_slot")
            && let Type::Slot(ty) = &inst.ty
        {
            index.insert(id, slots.len());
            slots.push(Slot { inst: id, ty: (**ty).clone(), accesses: Vec::new() });
        }
    }
    if slots.is_empty() {
        return slots;
    }
    let mut escapes = vec![false; slots.len()];
    for (block, name) in bb.blocks().enumerate() {
        for (id, inst) in bb.insts(name) {
            let access = match (&inst.stmt, primitive(&inst.stmt)) {
                (Stmt::Call(call), Some("slot_get")) => match call.args.as_slice() {
                    [slot] => slot.as_value().map(|slot| (slot, None)),
                    _ => None,
                },
                (Stmt::Call(call), Some("slot_set!")) => match call.args.as_slice() {
                    [slot, value] => slot.as_value().map(|slot| (slot, Some(value.clone()))),
                    _ => None,
                },
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
            if let Some((slot, write)) = access
                && let Some(&slot) = index.get(slot)
            {
                slots[slot].accesses.push(Access { inst: id, block, write });
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
    /// At its end, if the block writes it.
    end: Option<Operand<Ids>>,
    /// Whether it is needed at the start.
    needed: bool,
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
            match &access.write {
                Some(value) => state.end = Some(value.clone()),
                None if state.end.is_none() && !state.needed => {
                    state.needed = true;
                    work.push_back(access.block);
                }
                None => {}
            }
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
        self.removed.push(slot.inst);
        true
    }

    fn state(&mut self, block: usize) -> &mut Live {
        let state = &mut self.live[block];
        if state.is_none() {
            self.order.push(block);
        }
        state.get_or_insert(Live { start: Content::Unknown, end: None, needed: false, queued: false, phi: None })
    }

    /// What the variable is at the end of a block.
    fn at_end(&self, block: usize) -> Content {
        match &self.live[block] {
            Some(Live { end: Some(value), .. }) => Content::Value(value.clone()),
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
        let mut written = None;
        slot.accesses.iter().all(|access| {
            if access.write.is_some() {
                written = Some(access.block);
                return true;
            }
            let start = self.live[access.block].as_ref().map(|state| &state.start);
            written == Some(access.block) || matches!(start, Some(Content::Value(_) | Content::Phi(_)))
        })
    }

    fn insert_phis(&mut self, bb: &mut BBCode, graph: &BlockGraph, slot: &Slot) {
        let has_phi =
            |&block: &usize| self.live[block].as_ref().is_some_and(|state| state.start == Content::Phi(block));
        let mut blocks: Vec<usize> = self.order.iter().copied().filter(has_phi).collect();
        blocks.sort_unstable();
        for &block in &blocks {
            let Some(name) = graph.block(block) else { continue };
            let phi = bb.insert_at_start(name, NewInstruction::new(Stmt::phi([]), slot.ty.clone()));
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
            let value = match (&access.write, value) {
                (Some(written), _) => Some(written.clone()),
                (None, Some(value)) => {
                    self.replaced.insert(access.inst, value.clone());
                    Some(value)
                }
                (None, None) => None,
            };
            current = Some((access.block, value));
        }
    }
}
