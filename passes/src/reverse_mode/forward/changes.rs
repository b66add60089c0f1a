//! What changes memory: what is lost by it is kept, and the shadow is changed in the same way.

use bbcode::{Ids, InstId};
use ircode::{Operand, Type};

use super::super::emit::Emitter;
use super::super::needs::element_type;
use super::super::operation::{Operation, Place, Resize, Whole};
use super::super::saved::{Saved, kept_type};
use super::{Forward, Generated};
use crate::tangents::Tangent;

impl Forward<'_, '_> {
    /// Keeps what a statement takes away, if the pullback puts it back or reads it, and does to the shadow of an object
    /// what is done to the object.
    pub(super) fn change(&mut self, id: InstId, operation: &Operation) -> Generated<()> {
        let plan = self.plan;
        match operation {
            Operation::Store { place, value, .. } => self.store(id, place, value),
            Operation::Append { object, value } if plan.has_shadow(object) => self.append(id, object, value),
            Operation::StackPop { stack } if plan.has_shadow(stack) => self.pop(id, stack),
            Operation::Resize { object, rest, kind } => self.resize(id, object, rest, *kind),
            Operation::Whole { object, from, kind } => self.whole(id, object, from.as_ref(), *kind),
            Operation::Rule { rule, args, .. } => match args.first().filter(|_| rule.changes_first()) {
                Some(first) if plan.is_reversed(id) && plan.restores(first) => self.snapshot(id, first),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Keeps a copy of an object as it is before a statement.
    fn snapshot(&mut self, id: InstId, object: &Operand<Ids>) -> Generated<()> {
        let ty = self.bb.operand_type(object);
        let saved = Emitter::before(&mut self.bb, id).own("snapshot", [object.clone()], ty)?;
        self.made.insert(Saved::Old(id), saved);
        Ok(())
    }

    fn append(&mut self, id: InstId, object: &Operand<Ids>, value: &Operand<Ids>) -> Generated<()> {
        let plan = self.plan;
        let of = element_type(&self.bb.operand_type(object));
        let tangent = plan.derivation.tangents.of(&of);
        let target = self.shadow(object, id)?;
        let from = self.shadow(value, id)?;
        let is_stack = matches!(self.bb.operand_type(object), Type::Stack(_));
        let mut emit = Emitter::after(&mut self.bb, id);
        let element = emit.stored_tangent(&tangent, from)?;
        let ty = emit.bb.operand_type(&target);
        match is_stack {
            true => emit.own("stack_push!", [target, element], Type::Nothing)?,
            false => emit.call("Base", "push!", [target, element], ty)?,
        };
        if !plan.takes_back_length(object) {
            let length = match is_stack {
                true => emit.own("stack_length", [object.clone()], Type::INT64)?,
                false => emit.call("Base", "arraylen", [object.clone()], Type::INT64)?,
            };
            self.made.insert(Saved::Old(id), length);
        }
        Ok(())
    }

    fn pop(&mut self, id: InstId, stack: &Operand<Ids>) -> Generated<()> {
        let plan = self.plan;
        let target = self.shadow(stack, id)?;
        let of = element_type(&self.bb.operand_type(stack));
        let tangent = plan.derivation.tangents.of(&of);
        let mut emit = Emitter::before(&mut self.bb, id);
        let popped = emit.own("stack_pop!", [target], tangent.ty())?;
        self.made.insert(Saved::OldShadow(id), popped.clone());
        if !plan.activity.shadow(&Operand::Value(id)).is_none() {
            let part = emit.shadow_part(popped, &tangent)?;
            self.made.insert(Saved::Shadow(id), part);
        }
        Ok(())
    }

    fn resize(&mut self, id: InstId, object: &Operand<Ids>, rest: &[Operand<Ids>], kind: Resize) -> Generated<()> {
        let plan = self.plan;
        if !kind.grows && plan.restores(object) {
            let saved = self.removed(id, object, kind.removes_last(rest))?;
            self.made.insert(Saved::Old(id), saved);
        }
        if plan.has_shadow(object) {
            let target = self.shadow(object, id)?;
            if plan.keeps_shadow_of_removed(object, rest, kind) {
                let saved = self.removed(id, &target, kind.removes_last(rest))?;
                self.made.insert(Saved::OldShadow(id), saved);
            }
            let mut emit = Emitter::after(&mut self.bb, id);
            let operands = std::iter::once(target).chain(rest.iter().cloned());
            emit.call("Base", &kind.primitive(), operands, Type::Nothing)?;
        }
        Ok(())
    }

    /// What has to be kept of a vector before elements of it are taken away: the last one, or a copy of all.
    fn removed(&mut self, id: InstId, vector: &Operand<Ids>, only_last: bool) -> Generated<Operand<Ids>> {
        let ty = self.bb.operand_type(vector);
        let mut emit = Emitter::before(&mut self.bb, id);
        if !only_last {
            return emit.own("snapshot", [vector.clone()], ty);
        }
        let last = emit.call("Base", "arraylen", [vector.clone()], Type::INT64)?;
        emit.own("saved_element", [vector.clone(), last], kept_type(&element_type(&ty)))
    }

    fn whole(&mut self, id: InstId, object: &Operand<Ids>, from: Option<&Operand<Ids>>, kind: Whole) -> Generated<()> {
        let plan = self.plan;
        if plan.restores(object) {
            self.snapshot(id, object)?;
        }
        // What the shadow of a restored object holds besides floats is restored, too.
        let of = element_type(&self.bb.operand_type(object));
        let holds_objects = !plan.derivation.tangents.of(&of).shadow().is_none();
        if let (Whole::Restore, Some(from), true) = (kind, from, holds_objects && plan.has_shadow(object)) {
            let (target, source) = (self.shadow(object, id)?, self.shadow(from, id)?);
            Emitter::after(&mut self.bb, id).own("restore!", [target, source], Type::Nothing)?;
        }
        Ok(())
    }

    /// Before a store: what was there is kept, and the shadow gets the shadow of the value.
    fn store(&mut self, id: InstId, place: &Place, value: &Operand<Ids>) -> Generated<()> {
        let plan = self.plan;
        let ty = plan.place_type(place);
        let (keep, _) = place.keepers();
        let kept_indices = Place::keeper_indices(&place.indices, &place.access);
        if plan.restores(&place.object) {
            let mut emit = Emitter::before(&mut self.bb, id);
            let old = match plan.is_plain(&ty) {
                true => Operand::Value(emit.stmt(place.load(), ty.clone())?),
                false => {
                    let args = std::iter::once(place.object.clone()).chain(kept_indices.iter().cloned());
                    emit.own(keep, args, kept_type(&ty))?
                }
            };
            self.made.insert(Saved::Old(id), old);
        }
        let tangent = plan.place_tangent(place);
        if !plan.has_shadow(&place.object) || matches!(tangent, Tangent::Float(_) | Tangent::None) {
            return Ok(());
        }
        let object = self.shadow(&place.object, id)?;
        let from = self.shadow(value, id)?;
        let mut emit = Emitter::before(&mut self.bb, id);
        if !tangent.shadow().is_none() && plan.restores(&place.object) {
            let args = std::iter::once(object.clone()).chain(kept_indices);
            let old = emit.own(keep, args, kept_type(&tangent.ty()))?;
            self.made.insert(Saved::OldShadow(id), old);
        }
        let mut emit = Emitter::after(&mut self.bb, id);
        let element = emit.stored_tangent(&tangent, from)?;
        let store = place.at(object, place.indices.clone()).store(element);
        emit.stmt(store, Type::Any)?;
        Ok(())
    }
}
