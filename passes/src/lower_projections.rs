//! Takes slots apart whose parts have addresses of their own.
//!
//! Slots are the stack memory of Swift's intermediate language, and projections the addresses of its parts:
//!
//! | Swift | here |
//! |---|---|
//! | `%1 = alloc_stack $T` | `%1 = BBKit.new_slot(T)` |
//! | `dealloc_stack %1` | `BBKit.slot_end!(%1)` |
//! | `%2 = load %1` | `%2 = BBKit.slot_get(%1)` |
//! | `store %2 to %1` | `BBKit.slot_set!(%1, %2)` |
//! | `copy_addr %1 to %2` | `BBKit.slot_copy!(%1, %2)` |
//! | `%2 = struct_element_addr %1, #x` | `%2 = BBKit.slot_element(%1, :x)` |
//! | `%2 = tuple_element_addr %1, 0` | `%2 = BBKit.slot_element(%1, 1)` |
//! | `%2 = struct $T (%1)` | `%2 = %new(T, %1)` |
//! | `%2 = struct_extract %1, #x` | `%2 = Base.getfield(%1, :x)` |
//! | `%2 = tuple (%1)` | `%2 = Core.tuple(%1)` |
//! | `%2 = tuple_extract %1, 0` | `%2 = Base.getfield(%1, 1)` |
//!
//! Both modes of differentiation take slots apart and turn them into values ([`mem2reg`](crate::mem2reg)) before
//! anything else, so that the tangent of a load is a load of the tangent, and that of an address the same address in
//! the tangent, without any address being left.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Constant, Head, Module, NewInstruction, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::slots::{MAX_PARTS, SlotCall, slot_call};
use crate::manager::Context;
use crate::replace::Replacements;

/// The pass's name on the command line.
pub const NAME: &str = "lower-projections";

/// Turns a slot of a tuple or immutable struct, of which a part has an address of its own, into a slot for each part
/// that is not taken apart further. A load of the whole makes the value of the parts, a store takes it apart. A
/// `slot_copy!` becomes a load and a store. True if there was something to do.
///
/// What stays: slots that escape (their address or that of a part is returned, stored, given to a function, or goes
/// into a φ or a copy), slots of which a part is not named by a constant or not known from the type, and slots of more
/// than 1024 parts, those that have parts themselves included.
///
/// A struct that was made with fewer fields than it has, and is stored as a whole in a slot that is taken apart, is an
/// error at the store and not where the field is read.
///
/// This is scalar replacement as Muchnick, *Advanced Compiler Design and Implementation* (1997), 12.2, has it, of
/// memory instead of values. It takes time linear in the function and in the loads and stores that it makes.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut changed = bb.remove_unreachable_blocks();
    changed |= lower_copies(bb, context.module);
    let mut slots = Slots::find(bb, context.module);
    slots.check_uses(bb, context.module);
    if slots.roots.iter().any(|root| slots.is_taken_apart(root)) {
        slots.rewrite(bb, context.module);
        bb.fill_empty_blocks();
        changed = true;
    }
    Ok(changed)
}

/// Turns every `slot_copy!` into a load and a store.
fn lower_copies(bb: &mut BBCode, module: &Module<BBCode>) -> bool {
    let copy = |stmt: &Stmt<Ids>| match slot_call(module, stmt) {
        Some(SlotCall::Copy(from, to)) => Some((from.clone(), to.clone())),
        _ => None,
    };
    let copies: Vec<_> = bb.all_insts().filter_map(|(id, inst)| Some((id, copy(&inst.stmt)?))).collect();
    for (id, (from, to)) in &copies {
        let ty = match (bb.operand_type(from), bb.operand_type(to)) {
            (Type::Slot(ty), _) | (_, Type::Slot(ty)) => (*ty).clone(),
            _ => Type::Any,
        };
        let Some(value) = insert(bb, *id, load(from.clone()), ty) else { continue };
        if let Some(inst) = bb.inst_mut(*id) {
            inst.stmt = store(to.clone(), value);
        }
    }
    !copies.is_empty()
}

/// A slot, or a part of one.
struct Part {
    /// The slot of which it is a part, by its place among the roots.
    root: usize,
    ty: Type,
    /// The parts of the fields, if one of them has an address.
    fields: Vec<usize>,
    /// The slot that holds it in the end, if it has no such fields.
    slot: Option<InstId>,
}

/// A slot that a statement makes.
struct Root {
    inst: InstId,
    /// Its place among the parts.
    part: usize,
    /// How many parts it has.
    count: usize,
    /// Whether it has to stay as it is.
    stays: bool,
}

#[derive(Default)]
struct Slots {
    roots: Vec<Root>,
    parts: Vec<Part>,
    /// The part of which a value is the address.
    addresses: SecondaryMap<InstId, usize>,
}

impl Slots {
    /// Finds the slots, and their parts that have addresses.
    fn find(bb: &BBCode, module: &Module<BBCode>) -> Slots {
        let mut slots = Slots::default();
        let mut elements: SecondaryMap<InstId, Vec<(InstId, Option<Constant>)>> = SecondaryMap::new();
        let mut work: Vec<InstId> = Vec::new();
        for (id, inst) in bb.all_insts() {
            match (slot_call(module, &inst.stmt), &inst.ty) {
                (Some(SlotCall::New(of)), Type::Slot(ty)) if module.named_type(of).as_ref() == Some(&**ty) => {
                    let part = slots.part(slots.roots.len(), (**ty).clone());
                    slots.roots.push(Root { inst: id, part, count: 1, stays: false });
                    slots.addresses.insert(id, part);
                    work.push(id);
                }
                (Some(SlotCall::Element(Operand::Value(of), field)), _) => {
                    if let Some(list) = elements.get_mut(*of) {
                        list.push((id, field.as_constant().cloned()));
                    } else {
                        elements.insert(*of, vec![(id, field.as_constant().cloned())]);
                    }
                }
                _ => {}
            }
        }
        while let Some(address) = work.pop() {
            let Some(&part) = slots.addresses.get(address) else { continue };
            for (id, field) in elements.remove(address).unwrap_or_default() {
                // One that is not found is a use like any other, which lets the slot stay.
                if let Some(field) = field.and_then(|field| slots.field(module, part, &field)) {
                    slots.addresses.insert(id, field);
                    work.push(id);
                }
            }
        }
        slots
    }

    fn part(&mut self, root: usize, ty: Type) -> usize {
        self.parts.push(Part { root, ty, fields: Vec::new(), slot: None });
        self.parts.len() - 1
    }

    /// The part that is a field of another.
    fn field(&mut self, module: &Module<BBCode>, of: usize, field: &Constant) -> Option<usize> {
        let Part { root, ty, .. } = self.parts.get(of)?;
        let (root, ty) = (*root, ty.clone());
        let (position, _) = module.immutable_field(&ty, field)?;
        if self.parts.get(of).is_some_and(|part| part.fields.is_empty()) {
            let fields = module.immutable_fields(&ty)?;
            let known = self.roots.get_mut(root)?;
            known.count += fields.len();
            if known.count > MAX_PARTS {
                known.stays = true;
                return None;
            }
            let parts = fields.iter().map(|(_, ty)| self.part(root, (*ty).clone())).collect();
            self.parts.get_mut(of)?.fields = parts;
        }
        self.parts.get(of)?.fields.get(position).copied()
    }

    /// Finds the slots that are used in other ways than as memory.
    fn check_uses(&mut self, bb: &BBCode, module: &Module<BBCode>) {
        for (id, inst) in bb.all_insts() {
            let address = match slot_call(module, &inst.stmt) {
                Some(SlotCall::Get(slot) | SlotCall::Set(slot, _)) => slot.as_value(),
                Some(SlotCall::Element(slot, _)) => slot.as_value().filter(|_| self.addresses.contains_key(id)),
                // The end of a part is an error when the program runs.
                Some(SlotCall::End(slot)) => slot.as_value().filter(|slot| self.is_root(*slot)),
                _ => None,
            };
            let mut uses = 0;
            inst.stmt.for_each_use(|used| {
                uses += usize::from(Some(used) == address);
                if (Some(used) != address || uses > 1)
                    && let Some(part) = self.addresses.get(used).and_then(|&part| self.parts.get(part))
                    && let Some(root) = self.roots.get_mut(part.root)
                {
                    root.stays = true;
                }
            });
        }
    }

    fn is_root(&self, id: InstId) -> bool {
        let part = self.addresses.get(id).and_then(|&part| self.parts.get(part));
        part.and_then(|part| self.roots.get(part.root)).is_some_and(|root| root.inst == id)
    }

    fn is_taken_apart(&self, root: &Root) -> bool {
        !root.stays && self.parts.get(root.part).is_some_and(|part| !part.fields.is_empty())
    }

    /// The part of which an operand is the address, if its slot is taken apart.
    fn part_of(&self, operand: &Operand<Ids>) -> Option<usize> {
        let part = *self.addresses.get(operand.as_value()?)?;
        let root = self.roots.get(self.parts.get(part)?.root)?;
        self.is_taken_apart(root).then_some(part)
    }

    fn rewrite(&mut self, bb: &mut BBCode, module: &Module<BBCode>) {
        let mut removed: Vec<InstId> = Vec::new();
        let mut replaced = Replacements::new();
        let apart: Vec<(InstId, usize)> =
            self.roots.iter().filter(|root| self.is_taken_apart(root)).map(|root| (root.inst, root.part)).collect();
        for (inst, part) in apart {
            for leaf in self.leaves(part) {
                let Some(leaf) = self.parts.get_mut(leaf) else { continue };
                let new = Stmt::call(Operand::global("BBKit", "new_slot"), [type_operand(&leaf.ty)]);
                let ty = Type::slot(leaf.ty.clone());
                leaf.slot = bb.insert_before(inst, NewInstruction::new(new, ty)).ok();
            }
            removed.push(inst);
        }
        let accesses: Vec<(InstId, Stmt<Ids>)> = bb
            .all_insts()
            .filter(|(_, inst)| slot_call(module, &inst.stmt).is_some())
            .map(|(id, inst)| (id, inst.stmt.clone()))
            .collect();
        for (id, stmt) in accesses {
            let stays = match slot_call(module, &stmt) {
                Some(SlotCall::Get(slot)) => match self.part_of(slot) {
                    Some(part) => self.rewrite_load(bb, id, part),
                    None => true,
                },
                Some(SlotCall::Set(slot, value)) => match self.part_of(slot) {
                    Some(part) => self.rewrite_store(bb, id, part, value.clone()),
                    None => true,
                },
                Some(SlotCall::End(slot)) => match self.part_of(slot) {
                    Some(part) => self.rewrite_end(bb, id, part),
                    None => true,
                },
                Some(SlotCall::Element(..)) => self.part_of(&Operand::Value(id)).is_none(),
                _ => true,
            };
            if !stays {
                // What a store or an end gives.
                replaced.insert(id, Operand::nothing());
                removed.push(id);
            }
        }
        replaced.apply(bb);
        for id in removed {
            // Each was found in the function and is removed once.
            let _ = bb.remove_unchecked(id);
        }
    }

    /// The parts of a part that are not taken apart further, in order.
    fn leaves(&self, part: usize) -> Vec<usize> {
        let mut leaves = Vec::new();
        let mut work = vec![part];
        while let Some(part) = work.pop() {
            match self.parts.get(part).map(|part| part.fields.as_slice()) {
                None | Some([]) => leaves.push(part),
                Some(fields) => work.extend(fields.iter().rev()),
            }
        }
        leaves
    }

    fn slot(&self, part: usize) -> Option<Operand<Ids>> {
        self.parts.get(part)?.slot.map(Operand::Value)
    }

    /// Lets a load read a part. True, as the statement is still there.
    fn rewrite_load(&self, bb: &mut BBCode, id: InstId, part: usize) -> bool {
        let mut done: Vec<Operand<Ids>> = Vec::new();
        // A part with `true` when the values of its fields are there.
        let mut work = vec![(part, false)];
        while let Some((at, fields_are_done)) = work.pop() {
            let Some(known) = self.parts.get(at) else { continue };
            if !known.fields.is_empty() && !fields_are_done {
                work.push((at, true));
                work.extend(known.fields.iter().rev().map(|&field| (field, false)));
                continue;
            }
            let stmt = match self.slot(at) {
                Some(slot) => load(slot),
                None => {
                    let values = done.split_off(done.len().saturating_sub(known.fields.len()));
                    match known.ty {
                        Type::Tuple(_) => Stmt::call(Operand::global("Core", "tuple"), values),
                        _ => Stmt::expr(Head::New, std::iter::once(type_operand(&known.ty)).chain(values)),
                    }
                }
            };
            // The statement itself becomes the last one, and keeps its name.
            if at == part {
                if let Some(inst) = bb.inst_mut(id) {
                    inst.stmt = stmt;
                    // The same bits mean something else of another statement.
                    inst.flag = 0;
                }
            } else {
                done.extend(insert(bb, id, stmt, known.ty.clone()));
            }
        }
        true
    }

    /// Lets a store write a part. False if the statement itself is to go.
    fn rewrite_store(&self, bb: &mut BBCode, id: InstId, part: usize, value: Operand<Ids>) -> bool {
        if let Some(slot) = self.slot(part) {
            if let Some(inst) = bb.inst_mut(id) {
                inst.stmt = store(slot, value);
            }
            return true;
        }
        // All is taken apart before anything is written, as it may be an error.
        let mut stores = Vec::new();
        let mut work = vec![(part, value)];
        while let Some((at, value)) = work.pop() {
            if let Some(slot) = self.slot(at) {
                stores.push(store(slot, value));
                continue;
            }
            let fields = self.parts.get(at).map(|part| part.fields.as_slice()).unwrap_or_default();
            let mut values = Vec::with_capacity(fields.len());
            let constants = match &value {
                Operand::Constant(Constant::Tuple(constants)) if constants.len() == fields.len() => constants.to_vec(),
                _ => Vec::new(),
            };
            for (position, &field) in fields.iter().enumerate() {
                if let Some(constant) = constants.get(position) {
                    values.push((field, Operand::Constant(constant.clone())));
                    continue;
                }
                let number = Operand::Constant(Constant::int64(position as i64 + 1));
                let stmt = Stmt::call(Operand::global("Base", "getfield"), [value.clone(), number]);
                let ty = self.parts.get(field).map_or(Type::Untyped, |part| part.ty.clone());
                values.extend(insert(bb, id, stmt, ty).map(|value| (field, value)));
            }
            work.extend(values.into_iter().rev());
        }
        for stmt in stores {
            insert(bb, id, stmt, Type::Nothing);
        }
        false
    }

    /// Ends the slots of all parts. False, as the statement itself is to go.
    fn rewrite_end(&self, bb: &mut BBCode, id: InstId, part: usize) -> bool {
        for slot in self.leaves(part).into_iter().filter_map(|leaf| self.slot(leaf)) {
            insert(bb, id, Stmt::call(Operand::global("BBKit", "slot_end!"), [slot]), Type::Nothing);
        }
        false
    }
}

fn load(slot: Operand<Ids>) -> Stmt<Ids> {
    Stmt::call(Operand::global("BBKit", "slot_get"), [slot])
}

fn store(slot: Operand<Ids>, value: Operand<Ids>) -> Stmt<Ids> {
    Stmt::call(Operand::global("BBKit", "slot_set!"), [slot, value])
}

fn type_operand(ty: &Type) -> Operand<Ids> {
    Operand::Constant(Constant::of_type(ty.clone()))
}

/// Puts a statement before another. It is given only statements that may stand before a call.
fn insert(bb: &mut BBCode, before: InstId, stmt: Stmt<Ids>, ty: Type) -> Option<Operand<Ids>> {
    bb.insert_before(before, NewInstruction::new(stmt, ty)).ok().map(Operand::Value)
}

#[cfg(test)]
mod tests {
    use bbcode::BBCode;
    use ircode::parse_module;

    use crate::{PassManager, find_pass};

    /// The text of a function that keeps a tuple of so many floats in a slot, one of which has an address.
    fn wide(count: usize) -> String {
        let ty = format!("Tuple{{{}}}", vec!["Float64"; count].join(", "));
        format!(
            "function f(x::Float64)::Float64
1 ─ %1 = BBKit.new_slot({ty})::BBKit.Slot{{{ty}}}
│   %2 = BBKit.slot_element(%1, 2)::BBKit.Slot{{Float64}}
│        BBKit.slot_set!(%2, x)::Nothing
│   %4 = BBKit.slot_get(%2)::Float64
└──      return %4
end
"
        )
    }

    #[test]
    fn slots_of_very_many_parts_stay() {
        for (count, apart) in [(super::MAX_PARTS - 1, true), (super::MAX_PARTS, false)] {
            let parsed = parse_module(&wide(count)).unwrap().module;
            let mut module = parsed.map(|function| BBCode::try_from(&function.body)).unwrap();
            let pass = find_pass(super::NAME).unwrap();
            assert_eq!(PassManager::new([pass]).verify_each(true).run(&mut module, None).unwrap(), apart, "{count}");
        }
    }
}
