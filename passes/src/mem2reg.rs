//! Turns slots into values.

mod contents;

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::{LineInfo, Module, NewInstruction, Operand, PhiEntries, PhiEntry, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::slots::{SlotCall, slot_call};
use crate::manager::Context;
use crate::replace::Replacements;
use contents::{Content, Contents};

/// The pass's name on the command line.
pub const NAME: &str = "mem2reg";

/// Turns slots into values: SSA construction. True if there was one to turn.
///
/// A slot is a local variable: made by `new_slot(T)`, read by `slot_get`, written by `slot_set!`, ended by `slot_end!`.
/// One that is used in any other way (it escapes, it goes into a φ) stays, and so do one that is live into a catch
/// block, as exceptions may come from the middle of a block, and one that may be used after its end. Where parts of a
/// slot have addresses, [`lower_projections`](crate::lower_projections) comes first.
///
/// Reading a slot where it was not set is an error of the run; afterwards it is reading an undefined φ, or none if
/// nobody uses what was read.
///
/// The result is pruned: φs stand only where the variable is read later. And it is optimistic: where all ways bring the
/// same value — the same constant included — there is no φ, around loops too. All slots are followed in one walk over
/// the dominator tree, so that this takes time linear in the code and the places where ways that assign differently
/// meet.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let changed = bb.remove_unreachable_blocks();
    let promoted = promote(bb, context.module, |_| true);
    Ok(changed || promoted > 0)
}

/// Turns all of these slots into values, or puts the code back as it was `before` they were made. True if they are values.
/// A slot stays where what it holds is undefined on all ways to a use: that is no value.
pub(crate) fn promote_all(
    bb: &mut BBCode,
    module: &Module<BBCode>,
    slots: &SecondaryMap<InstId, ()>,
    before: BBCode,
) -> bool {
    bb.remove_unreachable_blocks();
    let left = slots.iter().filter(|(slot, ())| bb.block_of(*slot).is_some()).count();
    let promoted = promote(bb, module, |slot| slots.contains_key(slot)) == left;
    if !promoted {
        *bb = before;
    }
    promoted
}

/// Turns those slots into values that are wanted and of which that can be done, and tells how many these are. Every
/// block is reachable.
fn promote(bb: &mut BBCode, module: &Module<BBCode>, wanted: impl Fn(InstId) -> bool) -> usize {
    let slots = Slots::find(bb, module, wanted);
    if slots.accesses.is_empty() {
        return 0;
    }
    let graph = bb.cfg();
    let contents = Contents::of(&slots, &graph);
    let phis = insert_phis(bb, &graph, &slots, &contents);
    let mut replaced = Replacements::new();
    let mut promoted = 0;
    for (number, access) in slots.accesses.iter().enumerate().filter(|(_, access)| contents.is_known(access.slot)) {
        match access.kind {
            Kind::Start => promoted += 1,
            Kind::Write(_) | Kind::End => replaced.insert(access.inst, Operand::nothing()),
            Kind::Read => {
                if let Some(value) = operand(&contents.before(number), &phis) {
                    replaced.insert(access.inst, value);
                }
            }
        }
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(access.inst);
    }
    replaced.apply(bb);
    bb.fill_empty_blocks();
    promoted
}

/// The slots of a function that are used as local variables and in no other way.
struct Slots {
    /// All slots that are wanted; those that are used in another way have no accesses.
    slots: Vec<Slot>,
    /// In the order of the code.
    accesses: Vec<Access>,
}

struct Slot {
    ty: Type,
    line: LineInfo,
}

/// A statement that has to do with one slot.
struct Access {
    inst: InstId,
    /// The number of the slot.
    slot: usize,
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

impl Kind {
    /// Whether it matters what the slot is before. Where a slot `ends` somewhere, it is an error to read or write it
    /// afterwards.
    fn uses(&self, ends: bool) -> bool {
        match self {
            Kind::Start => false,
            Kind::Read => true,
            Kind::Write(_) | Kind::End => ends,
        }
    }
}

impl Slots {
    /// Which slots end somewhere.
    fn that_end(&self) -> Vec<bool> {
        let mut ends = vec![false; self.slots.len()];
        for access in self.accesses.iter().filter(|access| matches!(access.kind, Kind::End)) {
            ends[access.slot] = true;
        }
        ends
    }

    fn find(bb: &BBCode, module: &Module<BBCode>, wanted: impl Fn(InstId) -> bool) -> Slots {
        let (mut slots, mut accesses) = (Vec::new(), Vec::new());
        let mut index: SecondaryMap<InstId, usize> = SecondaryMap::new();
        for (id, inst) in bb.all_insts() {
            if let Type::Slot(ty) = &inst.ty
                && let Some(SlotCall::New(_)) = slot_call(module, &inst.stmt)
                && wanted(id)
            {
                index.insert(id, slots.len());
                slots.push(Slot { ty: (**ty).clone(), line: inst.line });
            }
        }
        if slots.is_empty() {
            return Slots { slots, accesses };
        }
        let mut escapes = vec![false; slots.len()];
        for (block, name) in bb.blocks().enumerate() {
            for (id, inst) in bb.insts(name) {
                if let Some(&slot) = index.get(id) {
                    accesses.push(Access { inst: id, slot, block, kind: Kind::Start });
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
                    accesses.push(Access { inst: id, slot, block, kind });
                }
            }
        }
        accesses.retain(|access| !escapes[access.slot]);
        Slots { slots, accesses }
    }
}

/// Puts the φs where they are needed, and tells which they are, by number.
fn insert_phis(bb: &mut BBCode, graph: &BlockGraph, slots: &Slots, contents: &Contents) -> Vec<Option<InstId>> {
    let mut inserted = vec![None; contents.phis().len()];
    let mut standing: Vec<usize> = (0..inserted.len()).filter(|&phi| contents.stands(phi)).collect();
    standing.sort_by_key(|&phi| (contents.phis()[phi].slot, contents.phis()[phi].block));
    for &number in &standing {
        let phi = &contents.phis()[number];
        let (Some(slot), Some(block)) = (slots.slots.get(phi.slot), graph.block(phi.block)) else { continue };
        let new = NewInstruction::new(Stmt::phi([]), slot.ty.clone()).with_line(slot.line);
        inserted[number] = bb.insert_at_start(block, new).ok();
    }
    for number in standing {
        let mut incoming = contents.incoming(number);
        // In the order of the predecessors.
        incoming.sort_by_key(|(pred, _)| *pred);
        let mut entries = PhiEntries::new();
        for (pred, content) in incoming {
            let Some(edge) = graph.block(pred) else { continue };
            entries.push(PhiEntry { edge, value: operand(&content, &inserted) });
        }
        if let Some(inst) = inserted[number]
            && let Some(Stmt::Phi(node)) = bb.stmt_mut(inst)
        {
            node.entries = entries;
        }
    }
    inserted
}

/// The operand for what a variable is, given the φs by number; `None` where it is not assigned.
fn operand(content: &Content, phis: &[Option<InstId>]) -> Option<Operand<Ids>> {
    match content {
        Content::Value(value) => Some(value.clone()),
        Content::Phi(phi) => phis.get(*phi).copied().flatten().map(Operand::Value),
        Content::Open | Content::Unassigned | Content::Ended | Content::Caught => None,
    }
}
