//! The reverse of a single statement.

use bbcode::{BlockId, Ids, InstId, Switch};
use ircode::{LineInfo, Operand, Positions, Rename, SSAValue, Stmt, Type};
use smallvec::{SmallVec, smallvec};

use super::Carrier;
use super::checkpointed::run_again;
use super::emit::Emitter;
use super::got::Got;
use super::needs::element_type;
use super::operation::{Access, Operation, Place, Resize, Whole};
use super::plan::SavedArgument;
use super::pullback::{Generated, Generator};
use super::saved::Saved;
use super::tangent_code::{Leaves, zero};
use crate::analyses::effects::mutable_field_type;
use crate::rules::{Bindings, Rule, RuleTarget};
use crate::tangents::Tangent;

/// What a block of the pullback has got of what was saved.
pub(super) type Loaded = Got;

/// Where the reverse of a statement is written.
#[derive(Clone, Copy)]
struct Here<'l> {
    block: usize,
    line: LineInfo,
    loaded: &'l Loaded,
}

impl Generator<'_, '_> {
    /// Writes the reverse of a statement at the end of a block of the pullback.
    pub(super) fn reverse_statement(
        &mut self,
        block: usize,
        id: InstId,
        line: LineInfo,
        loaded: &Loaded,
    ) -> Generated<()> {
        let plan = self.plan;
        if !plan.is_reversed(id) {
            return Ok(());
        }
        let here = Here { block, line, loaded };
        let result = Operand::Value(id);
        let shape = plan.activity.cotangent(&result);
        let operation = plan.activity.operation(id);
        // φs are concluded together, at the end of the block.
        if matches!(operation, Operation::Phi) {
            return Ok(());
        }
        let seed = self.take_adjoint(block, line, &result)?;
        match operation {
            Operation::Copy(of) => self.accumulate(block, line, of, seed, &shape),
            Operation::Choose { condition, then, otherwise } => {
                let condition = self.available(condition, loaded);
                self.choose(here, &condition, (then, otherwise), seed, &shape)
            }
            Operation::Aggregate(fields) => self.aggregate(here, fields, seed, &shape),
            Operation::Field { object, index, count } => self.field(here, object, (*index, *count), seed, &shape),
            Operation::AnyField { object, index, count } => {
                let index = self.available(index, loaded);
                self.any_field(here, object, (&index, *count), seed, &shape)
            }
            Operation::Load(place) => self.load_reversed(here, place, seed, &shape),
            Operation::Store { place, value, gives_value } => {
                if *gives_value {
                    self.accumulate(block, line, value, seed, &shape)?;
                }
                self.store_reversed(here, id, place, value)
            }
            Operation::Whole { object, from, kind } => self.whole_reversed(here, id, object, from.as_ref(), *kind),
            Operation::Sum(a, b) => {
                self.accumulate(block, line, a, seed.clone(), &shape)?;
                self.accumulate(block, line, b, seed, &shape)
            }
            Operation::Append { object, value } => self.append_reversed(here, id, object, value),
            Operation::StackPop { stack } => self.pop_reversed(here, id, stack, seed, &shape),
            Operation::Resize { object, rest, kind } => self.resize_reversed(here, id, object, rest, *kind),
            Operation::Allocate => {
                let shadow = self.shadow(&result, loaded);
                self.emit(block, line).reset(shadow, &plan.activity.shadow(&result))
            }
            Operation::NewObject(fields) => self.new_object_reversed(here, &result, fields),
            Operation::CopyObject(source) => {
                let (from, to) = (self.shadow(&result, loaded), self.shadow(source, loaded));
                let mut emit = self.emit(block, line);
                emit.own("add_shadow!", [to, from.clone()], Type::Nothing)?;
                emit.own("reset_shadow!", [from], Type::Nothing).map(|_| ())
            }
            Operation::Rule { rule, bindings, args } => {
                self.rule_reversed(here, id, (rule, bindings), args, (seed, &shape))
            }
            Operation::Call { args, .. } => self.call_reversed(here, id, args, seed, &shape),
            Operation::Phi | Operation::Part { .. } | Operation::Steps | Operation::Unknown => Ok(()),
        }
    }

    fn choose(
        &mut self,
        here: Here<'_>,
        condition: &Operand<Ids>,
        (then, otherwise): (&Operand<Ids>, &Operand<Ids>),
        seed: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        let (mut to_then, mut to_otherwise) = (Leaves::new(), Leaves::new());
        let mut kinds = Vec::new();
        shape.for_each_leaf(&mut |leaf| kinds.push(leaf.clone()));
        for (leaf, kind) in seed.into_iter().zip(&kinds) {
            let mut emit = self.emit(here.block, here.line);
            let args = [condition.clone(), leaf.clone(), zero(kind)];
            to_then.push(emit.call("Core", "ifelse", args, kind.ty())?);
            let args = [condition.clone(), zero(kind), leaf];
            to_otherwise.push(emit.call("Core", "ifelse", args, kind.ty())?);
        }
        self.accumulate(here.block, here.line, then, to_then, shape)?;
        self.accumulate(here.block, here.line, otherwise, to_otherwise, shape)
    }

    /// Each field gets its part.
    fn aggregate(&mut self, here: Here<'_>, fields: &[Operand<Ids>], seed: Leaves, shape: &Tangent) -> Generated<()> {
        match shape {
            Tangent::Fields(shapes) => {
                let mut leaves = seed.into_iter();
                for (field, shape) in fields.iter().zip(shapes.iter()) {
                    let part = leaves.by_ref().take(shape.leaf_count()).collect();
                    self.accumulate(here.block, here.line, field, part, shape)?;
                }
                Ok(())
            }
            dynamic => {
                let Some(whole) = seed.into_iter().next() else { return Ok(()) };
                for (index, field) in fields.iter().enumerate() {
                    if self.plan.activity.cotangent(field).is_none() {
                        continue;
                    }
                    let number = Operand::from(index as i64 + 1);
                    let mut emit = self.emit(here.block, here.line);
                    let part = emit.own("tangent_field", [whole.clone(), number], Type::Any)?;
                    self.accumulate(here.block, here.line, field, Leaves::from_iter([part]), dynamic)?;
                }
                Ok(())
            }
        }
    }

    fn field(
        &mut self,
        here: Here<'_>,
        object: &Operand<Ids>,
        (index, count): (usize, usize),
        seed: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        match self.plan.activity.cotangent(object) {
            Tangent::Fields(shapes) => {
                let Some(to) = shapes.get(index) else { return Ok(()) };
                let skip = shapes.iter().take(index).map(Tangent::leaf_count).sum();
                let part = self.emit(here.block, here.line).convert(seed, shape, to)?;
                self.accumulate_part(here.block, here.line, object, skip, part)
            }
            Tangent::None => Ok(()),
            dynamic => {
                let mut emit = self.emit(here.block, here.line);
                let packed = emit.pack(shape, &mut seed.into_iter())?;
                let mut parts = vec![Operand::nothing(); count];
                let mut types = vec![Type::Nothing; count];
                if let (Some(part), Some(ty)) = (parts.get_mut(index), types.get_mut(index)) {
                    (*part, *ty) = (packed, shape.ty());
                }
                let whole = emit.tuple(parts, types)?;
                self.accumulate(here.block, here.line, object, Leaves::from_iter([whole]), &dynamic)
            }
        }
    }

    /// The field of this number gets the cotangent, every other zero.
    fn any_field(
        &mut self,
        here: Here<'_>,
        object: &Operand<Ids>,
        (index, count): (&Operand<Ids>, usize),
        seed: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        let shapes = match self.plan.activity.cotangent(object) {
            Tangent::Fields(shapes) => shapes,
            Tangent::None => return Ok(()),
            dynamic => return self.any_dynamic_field(here, object, (index, count), seed, (shape, &dynamic)),
        };
        let mut skip = 0;
        for (position, to) in shapes.iter().enumerate() {
            if !to.is_none() {
                let number = Operand::from(position as i64 + 1);
                let mut emit = self.emit(here.block, here.line);
                let same = emit.call("Core", "===", [index.clone(), number], Type::BOOL)?;
                let mut given = seed.clone();
                if matches!(shape, Tangent::Dynamic { .. }) {
                    // What is none of this field is not taken for one: `nothing` stands for zero.
                    for leaf in &mut given {
                        let args = [same.clone(), leaf.clone(), Operand::nothing()];
                        *leaf = emit.call("Core", "ifelse", args, Type::Any)?;
                    }
                }
                let converted = emit.convert(given, shape, to)?;
                let mut kinds = Vec::new();
                to.for_each_leaf(&mut |leaf| kinds.push(leaf.clone()));
                let mut part = Leaves::new();
                for (leaf, kind) in converted.into_iter().zip(&kinds) {
                    part.push(emit.call("Core", "ifelse", [same.clone(), leaf, zero(kind)], kind.ty())?);
                }
                self.accumulate_part(here.block, here.line, object, skip, part)?;
            }
            skip += to.leaf_count();
        }
        Ok(())
    }

    /// As [`Self::any_field`], of an object of which only the run tells what its tangent is.
    fn any_dynamic_field(
        &mut self,
        here: Here<'_>,
        object: &Operand<Ids>,
        (index, count): (&Operand<Ids>, usize),
        seed: Leaves,
        (shape, dynamic): (&Tangent, &Tangent),
    ) -> Generated<()> {
        let mut emit = self.emit(here.block, here.line);
        let packed = emit.pack(shape, &mut seed.into_iter())?;
        let mut parts = Vec::with_capacity(count);
        for number in 1..=count {
            let same = emit.call("Core", "===", [index.clone(), Operand::from(number as i64)], Type::BOOL)?;
            // `nothing` stands for zero.
            parts.push(emit.call("Core", "ifelse", [same, packed.clone(), Operand::nothing()], Type::Any)?);
        }
        let whole = emit.tuple(parts, vec![Type::Any; count])?;
        self.accumulate(here.block, here.line, object, Leaves::from_iter([whole]), dynamic)
    }

    /// A place in another object, with the indices as they are in the pullback.
    fn place(&self, here: Here<'_>, place: &Place, object: Operand<Ids>) -> Place {
        place.at(object, place.indices.iter().map(|index| self.available(index, here.loaded)).collect())
    }

    /// What was read adds to the shadow of where it was read.
    fn load_reversed(&mut self, here: Here<'_>, place: &Place, seed: Leaves, shape: &Tangent) -> Generated<()> {
        let tangent = self.plan.place_tangent(place);
        let at = self.place(here, place, self.shadow(&place.object, here.loaded));
        let mut emit = self.emit(here.block, here.line);
        let before = Operand::Value(emit.stmt(at.load(), tangent.ty())?);
        let seed = emit.convert(seed, shape, &tangent.cotangent())?;
        let sum = emit.add_cotangent(before, &tangent, &mut seed.into_iter())?;
        emit.stmt(at.store(sum), Type::Any).map(|_| ())
    }

    /// What was stored gets what the shadow of the place holds; the place is as it was before.
    fn store_reversed(&mut self, here: Here<'_>, id: InstId, place: &Place, value: &Operand<Ids>) -> Generated<()> {
        let plan = self.plan;
        let (_, put_back) = place.keepers();
        let tangent = plan.place_tangent(place);
        if plan.has_shadow(&place.object) && !tangent.is_none() {
            let at = self.place(here, place, self.shadow(&place.object, here.loaded));
            let mut emit = self.emit(here.block, here.line);
            let element = Operand::Value(emit.stmt(at.load(), tangent.ty())?);
            let leaves = emit.cotangent_part(element.clone(), &tangent)?;
            match tangent.shadow().is_none() || !plan.restores(&place.object) {
                // What has identity there may stay where nobody looks for what was there before.
                true => {
                    let part = emit.staying_part(element, &tangent)?;
                    let zeros = emit.stored_tangent(&tangent, part)?;
                    emit.stmt(at.store(zeros), Type::Any)?;
                }
                false => {
                    let old = here.loaded.get(&Saved::OldShadow(id)).cloned().unwrap_or_else(Operand::nothing);
                    let indices = Place::keeper_indices(&at.indices, &at.access);
                    let args = put_back_args(&at, old, indices);
                    emit.own(put_back, args, Type::Nothing)?;
                }
            }
            self.accumulate(here.block, here.line, value, leaves, &tangent.cotangent())?;
        }
        if plan.restores(&place.object) {
            let at = self.place(here, place, self.available(&place.object, here.loaded));
            let old = here.loaded.get(&Saved::Old(id)).cloned().unwrap_or_else(Operand::nothing);
            let plain = plan.is_plain(&plan.place_type(place));
            let mut emit = self.emit(here.block, here.line);
            if plain {
                emit.stmt(at.store(old), Type::Any)?;
            } else {
                let indices = Place::keeper_indices(&at.indices, &at.access);
                emit.own(put_back, put_back_args(&at, old, indices), Type::Nothing)?;
            }
        }
        Ok(())
    }

    fn whole_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        object: &Operand<Ids>,
        from: Option<&Operand<Ids>>,
        kind: Whole,
    ) -> Generated<()> {
        let plan = self.plan;
        if plan.has_shadow(object) {
            let shadow = self.shadow(object, here.loaded);
            if let Some(from) = from.filter(|from| plan.has_shadow(from)) {
                let target = self.shadow(from, here.loaded);
                self.emit(here.block, here.line).own("add_shadow!", [target, shadow.clone()], Type::Nothing)?;
            }
            if kind != Whole::Add {
                self.emit(here.block, here.line).own("reset_shadow!", [shadow], Type::Nothing)?;
            }
        }
        if plan.restores(object) {
            let target = self.available(object, here.loaded);
            let old = here.loaded.get(&Saved::Old(id)).cloned().unwrap_or_else(Operand::nothing);
            self.emit(here.block, here.line).own("restore!", [target, old], Type::Nothing)?;
        }
        Ok(())
    }

    /// What was put behind the last gets what the shadow holds there. Where the object is restored, both get shorter
    /// again; otherwise they stay, so that the pullback can be called again.
    fn append_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        object: &Operand<Ids>,
        value: &Operand<Ids>,
    ) -> Generated<()> {
        let plan = self.plan;
        let ty = plan.primal.operand_type(object);
        let is_stack = matches!(ty, Type::Stack(_));
        if plan.has_shadow(object) && !plan.takes_back_length(object) {
            let tangent = plan.derivation.tangents.of(&element_type(&ty));
            let access = if is_stack { Access::Stack } else { Access::Index };
            let position = here.loaded.get(&Saved::Old(id)).cloned().unwrap_or_else(Operand::nothing);
            let place = Place { access, object: self.shadow(object, here.loaded), indices: vec![position] };
            let mut emit = self.emit(here.block, here.line);
            let element = Operand::Value(emit.stmt(place.load(), tangent.ty())?);
            let leaves = emit.cotangent_part(element.clone(), &tangent)?;
            let part = emit.shadow_part(element, &tangent)?;
            let zeros = emit.stored_tangent(&tangent, part)?;
            emit.stmt(place.store(zeros), Type::Any)?;
            return self.accumulate(here.block, here.line, value, leaves, &tangent.cotangent());
        }
        if plan.has_shadow(object) {
            let tangent = plan.derivation.tangents.of(&element_type(&ty));
            let shadow = self.shadow(object, here.loaded);
            let mut emit = self.emit(here.block, here.line);
            let element = match is_stack {
                true => emit.own("stack_pop!", [shadow], tangent.ty())?,
                false => {
                    let last = emit.call("Base", "arraylen", [shadow.clone()], Type::INT64)?;
                    let element = emit.call("Base", "getindex", [shadow.clone(), last], tangent.ty())?;
                    emit.call("Base", "jl_array_del_end", [shadow, Operand::from(1)], Type::Nothing)?;
                    element
                }
            };
            let leaves = emit.cotangent_part(element, &tangent)?;
            self.accumulate(here.block, here.line, value, leaves, &tangent.cotangent())?;
        }
        if plan.restores(object) {
            let object = self.available(object, here.loaded);
            let mut emit = self.emit(here.block, here.line);
            match is_stack {
                true => emit.own("stack_pop!", [object], Type::Any)?,
                false => emit.call("Base", "jl_array_del_end", [object, Operand::from(1)], Type::Nothing)?,
            };
        }
        Ok(())
    }

    fn pop_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        stack: &Operand<Ids>,
        seed: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        let plan = self.plan;
        if plan.has_shadow(stack) {
            let tangent = plan.derivation.tangents.of(&element_type(&plan.primal.operand_type(stack)));
            let shadow = self.shadow(stack, here.loaded);
            let old = here.loaded.get(&Saved::OldShadow(id)).cloned().unwrap_or_else(Operand::nothing);
            let mut emit = self.emit(here.block, here.line);
            let seed = emit.convert(seed, shape, &tangent.cotangent())?;
            let sum = emit.add_cotangent(old, &tangent, &mut seed.into_iter())?;
            emit.own("stack_push!", [shadow, sum], Type::Nothing)?;
        }
        if plan.restores(stack) {
            let (target, value) =
                (self.available(stack, here.loaded), self.available(&Operand::Value(id), here.loaded));
            self.emit(here.block, here.line).own("stack_push!", [target, value], Type::Nothing)?;
        }
        Ok(())
    }

    fn resize_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        object: &Operand<Ids>,
        rest: &[Operand<Ids>],
        kind: Resize,
    ) -> Generated<()> {
        let plan = self.plan;
        let only_last = kind.removes_last(rest);
        let sizes: Vec<Operand<Ids>> = rest.iter().map(|size| self.available(size, here.loaded)).collect();
        let back = |generator: &mut Self, object: Operand<Ids>| {
            let args = std::iter::once(object).chain(sizes.iter().cloned());
            generator.emit(here.block, here.line).call("Base", &kind.inverse().primitive(), args, Type::Nothing)
        };
        if plan.stays_longer(object, kind) {
            return Ok(());
        }
        if plan.has_shadow(object) {
            let shadow = self.shadow(object, here.loaded);
            back(self, shadow.clone())?;
            let tangent = plan.derivation.tangents.of(&element_type(&plan.primal.operand_type(object)));
            if plan.keeps_shadow_of_removed(object, rest, kind) {
                let old = here.loaded.get(&Saved::OldShadow(id)).cloned().unwrap_or_else(Operand::nothing);
                match only_last {
                    true => self.last_put_back(here, shadow, old)?,
                    false => {
                        self.emit(here.block, here.line).own("fill_unassigned!", [shadow, old], Type::Nothing)?;
                    }
                }
            } else if only_last && !matches!(tangent, Tangent::Float(_)) {
                let mut emit = self.emit(here.block, here.line);
                let zeros = emit.stored_tangent(&tangent, Operand::nothing())?;
                let last = emit.call("Base", "arraylen", [shadow.clone()], Type::INT64)?;
                emit.call("Base", "setindex!", [shadow, zeros, last], Type::Any)?;
            }
        }
        if plan.restores(object) {
            let target = self.available(object, here.loaded);
            match here.loaded.get(&Saved::Old(id)).cloned() {
                Some(old) if only_last => {
                    back(self, target.clone())?;
                    self.last_put_back(here, target, old)?;
                }
                Some(old) => {
                    self.emit(here.block, here.line).own("restore!", [target, old], Type::Nothing)?;
                }
                None => {
                    back(self, target)?;
                }
            }
        }
        Ok(())
    }

    /// The last element of a vector becomes what was kept of it.
    fn last_put_back(&mut self, here: Here<'_>, vector: Operand<Ids>, kept: Operand<Ids>) -> Generated<()> {
        let mut emit = self.emit(here.block, here.line);
        let last = emit.call("Base", "arraylen", [vector.clone()], Type::INT64)?;
        emit.own("restore_element!", [vector, kept, last], Type::Nothing).map(|_| ())
    }

    fn new_object_reversed(&mut self, here: Here<'_>, result: &Operand<Ids>, fields: &[Operand<Ids>]) -> Generated<()> {
        let shadow = self.shadow(result, here.loaded);
        let object = self.plan.primal.operand_type(result);
        for (index, field) in fields.iter().enumerate() {
            if self.plan.activity.cotangent(field).is_none() {
                continue;
            }
            let ty = match &object {
                Type::Ref(element) => (**element).clone(),
                other => {
                    let number: Operand<Ids> = Operand::from(index as i64 + 1);
                    mutable_field_type(self.plan.derivation.module, other, &number).unwrap_or(Type::Any)
                }
            };
            let tangent = self.plan.derivation.tangents.of(&ty);
            let mut emit = self.emit(here.block, here.line);
            let part = emit.field(shadow.clone(), index, tangent.ty())?;
            let leaves = emit.cotangent_part(part, &tangent)?;
            self.accumulate(here.block, here.line, field, leaves, &tangent.cotangent())?;
        }
        self.emit(here.block, here.line).own("reset_shadow!", [shadow], Type::Nothing).map(|_| ())
    }

    fn rule_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        (rule, bindings): (&Rule, &Bindings),
        args: &[Operand<Ids>],
        (seed, shape): (Leaves, &Tangent),
    ) -> Generated<()> {
        let plan = self.plan;
        if plan.only_puts_back(rule, args) {
            return self.conclude_rule(here, id, rule, args);
        }
        if plan.carrier == Carrier::LinearMaps {
            self.apply_pullback(here, id, rule, args, (seed, shape))?;
            return self.conclude_rule(here, id, rule, args);
        }
        let result = Operand::Value(id);
        let wanted = plan.wanted_args(rule, args);
        let is_function = matches!(rule.target, RuleTarget::Function(_));
        let mut parameters: SmallVec<[Operand<Ids>; 8]> = SmallVec::with_capacity(args.len() + 3);
        parameters.push(Operand::nothing());
        parameters.extend(args.iter().map(|arg| self.available(arg, here.loaded)));
        parameters.push(self.available(&result, here.loaded));
        parameters.push(match plan.seed_of_rule(id, rule) {
            Some(tangent) => {
                let shadow = match plan.has_shadow(&result) {
                    true => self.shadow(&result, here.loaded),
                    false => self.unused_shadow(here, &parameters, args.len())?,
                };
                self.emit(here.block, here.line).join(&tangent, shadow, &mut seed.into_iter())?
            }
            None => self.emit(here.block, here.line).pack(shape, &mut seed.into_iter())?,
        });
        for (index, arg) in
            args.iter().enumerate().filter(|(index, _)| rule.shadows.get(*index).is_some_and(Option::is_some))
        {
            parameters.push(match plan.has_shadow(arg) {
                true => self.shadow(arg, here.loaded),
                // What is not active has a shadow only where the rule is called, and cannot tell.
                false if is_function => self.unused_shadow(here, &parameters, index)?,
                false => Operand::nothing(),
            });
        }
        if rule.out_shadow.is_some() {
            parameters.push(match plan.has_shadow(&result) {
                true => self.shadow(&result, here.loaded),
                false if is_function => self.unused_shadow(here, &parameters, args.len())?,
                false => Operand::nothing(),
            });
        }
        if is_function {
            self.call_rule(here, rule, parameters, args)?;
        } else {
            let at_hand: Vec<(usize, Operand<Ids>)> = plan
                .at_hand(id, rule, bindings, args)
                .into_iter()
                .map(|(index, same)| (index, self.available(&Operand::Value(same), here.loaded)))
                .collect();
            let mut emit = self.emit(here.block, here.line);
            let outputs = write_rule(&mut emit, (rule, bindings), &parameters, &wanted, &at_hand)?;
            for (&i, cotangent) in wanted.iter().zip(outputs) {
                if let Some(arg) = args.get(i) {
                    let shape = plan.activity.cotangent(arg);
                    let leaves = self.emit(here.block, here.line).cotangent_part(cotangent, &shape)?;
                    self.accumulate(here.block, here.line, arg, leaves, &shape)?;
                }
            }
        }
        self.conclude_rule(here, id, rule, args)
    }

    /// Applies the pullback of a rule.
    fn apply_pullback(
        &mut self,
        here: Here<'_>,
        id: InstId,
        rule: &Rule,
        args: &[Operand<Ids>],
        (seed, shape): (Leaves, &Tangent),
    ) -> Generated<()> {
        let plan = self.plan;
        let Some(pullback) = plan.rule_pullbacks.get(id) else { return Ok(()) };
        let closure = here.loaded.get(&Saved::Trace(id)).cloned().unwrap_or_else(Operand::nothing);
        let mut emit = self.emit(here.block, here.line);
        let seed = emit.pack(shape, &mut seed.into_iter())?;
        let all = Operand::Value(emit.stmt(Stmt::call(closure, [seed]), pullback.result.clone())?);
        if matches!(rule.target, RuleTarget::Function(_)) {
            return self.take_from_rule(here, all, &pullback.result, args);
        }
        let wanted = plan.wanted_args(rule, args);
        let with_cotangent: Vec<&Operand<Ids>> = wanted
            .iter()
            .filter_map(|&index| args.get(index))
            .filter(|arg| !plan.activity.cotangent(arg).is_none())
            .collect();
        for (index, arg) in with_cotangent.iter().enumerate() {
            let shape = plan.activity.cotangent(arg);
            let mut emit = self.emit(here.block, here.line);
            let cotangent = match with_cotangent.len() {
                1 => all.clone(),
                _ => emit.field(all.clone(), index, shape.ty())?,
            };
            let leaves = emit.cotangent_part(cotangent, &shape)?;
            self.accumulate(here.block, here.line, arg, leaves, &shape)?;
        }
        Ok(())
    }

    /// After the reverse of what a rule is for: what was changed is as before, what was made has a shadow of zeros.
    fn conclude_rule(&mut self, here: Here<'_>, id: InstId, rule: &Rule, args: &[Operand<Ids>]) -> Generated<()> {
        let plan = self.plan;
        let result = Operand::Value(id);
        if let Some(first) = args.first().filter(|_| rule.changes_first()) {
            if plan.restores(first) {
                let (target, old) = (self.available(first, here.loaded), here.loaded.get(&Saved::Old(id)).cloned());
                let old = old.unwrap_or_else(Operand::nothing);
                self.emit(here.block, here.line).own("restore!", [target, old], Type::Nothing)?;
            }
        } else if plan.has_shadow(&result) {
            let shadow = self.shadow(&result, here.loaded);
            self.emit(here.block, here.line).reset(shadow, &plan.activity.shadow(&result))?;
        }
        Ok(())
    }

    /// A shadow that nobody reads, for a parameter of a rule.
    fn unused_shadow(&mut self, here: Here<'_>, parameters: &[Operand<Ids>], index: usize) -> Generated<Operand<Ids>> {
        let of = parameters.get(index + 1).cloned().unwrap_or_else(Operand::nothing);
        let ty = self.emit(here.block, here.line).bb.operand_type(&of);
        let tangent = self.plan.derivation.tangents.of(&ty);
        let mut emit = self.emit(here.block, here.line);
        let zero = emit.zero_tangent(of, &tangent)?;
        emit.shadow_part(zero, &tangent)
    }

    /// Calls the function that is the rule of a function.
    fn call_rule(
        &mut self,
        here: Here<'_>,
        rule: &Rule,
        parameters: SmallVec<[Operand<Ids>; 8]>,
        args: &[Operand<Ids>],
    ) -> Generated<()> {
        let ty = rule.function.result.clone();
        let mut emit = self.emit(here.block, here.line);
        let all = emit.call("Main", &rule.called_name(), parameters.into_iter().skip(1), ty.clone())?;
        self.take_from_rule(here, all, &ty, args)
    }

    /// Adds up the cotangents that the rule of a function gave.
    fn take_from_rule(&mut self, here: Here<'_>, all: Operand<Ids>, ty: &Type, args: &[Operand<Ids>]) -> Generated<()> {
        let plan = self.plan;
        let tangents: Vec<Tangent> = match ty {
            Type::Tuple(elements) => elements.iter().map(|ty| plan.derivation.tangents.of(ty)).collect(),
            _ => Vec::new(),
        };
        for (index, arg) in args.iter().enumerate() {
            if plan.activity.cotangent(arg).is_none() {
                continue;
            }
            let given = tangents.get(index).cloned().unwrap_or(Tangent::ANY).cotangent();
            let mut emit = self.emit(here.block, here.line);
            let cotangent = emit.field(all.clone(), index, given.ty())?;
            let leaves = emit.cotangent_part(cotangent, &given)?;
            self.accumulate(here.block, here.line, arg, leaves, &given)?;
        }
        Ok(())
    }

    fn call_reversed(
        &mut self,
        here: Here<'_>,
        id: InstId,
        args: &[Operand<Ids>],
        seed: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        let plan = self.plan;
        let Some(called) = plan.called(id) else { return Ok(()) };
        let trace = match called.is_checkpointed {
            true => {
                let values = args.iter().map(|arg| self.available(arg, here.loaded)).collect();
                let shadow = |arg| plan.has_shadow(arg).then(|| self.shadow(arg, here.loaded));
                let shadows = args.iter().map(shadow).collect();
                let mut emit = self.emit(here.block, here.line);
                run_again(&mut emit, &called, called.trace_type(plan.carrier), values, shadows)?
            }
            false => here.loaded.get(&Saved::Trace(id)).cloned().unwrap_or_else(Operand::nothing),
        };
        let to = called.result.cotangent();
        let mut emit = self.emit(here.block, here.line);
        let leaves = emit.convert(seed, shape, &to)?;
        let packed = emit.pack(&to, &mut leaves.into_iter())?;
        let types = called.arguments.iter().map(|tangent| tangent.cotangent().ty());
        let types = Type::tuple(types);
        let all = match plan.carrier {
            Carrier::Stacks => emit.call("Main", &called.names.pullback, [trace, packed], types)?,
            // The trace is the pullback itself, a closure.
            Carrier::LinearMaps => Operand::Value(emit.stmt(Stmt::call(trace, [packed]), types)?),
        };
        for (index, arg) in args.iter().enumerate() {
            let Some(tangent) = called.arguments.get(index + 1).map(Tangent::cotangent) else { continue };
            if tangent.is_none() || plan.activity.cotangent(arg).is_none() {
                continue;
            }
            let mut emit = self.emit(here.block, here.line);
            let cotangent = emit.field(all.clone(), index + 1, tangent.ty())?;
            let leaves = emit.cotangent_part(cotangent, &tangent)?;
            self.accumulate(here.block, here.line, arg, leaves, &tangent)?;
        }
        Ok(())
    }

    /// What an operand of the function is in the pullback.
    pub(super) fn available(&self, operand: &Operand<Ids>, loaded: &Loaded) -> Operand<Ids> {
        self.found(operand, loaded, false)
    }

    /// The shadow of an operand of the function.
    pub(super) fn shadow(&self, operand: &Operand<Ids>, loaded: &Loaded) -> Operand<Ids> {
        self.found(operand, loaded, true)
    }

    fn found(&self, operand: &Operand<Ids>, loaded: &Loaded, shadow: bool) -> Operand<Ids> {
        let found = match operand {
            Operand::Value(value) if shadow => loaded.get(&Saved::Shadow(*value)).cloned(),
            Operand::Value(value) => loaded.get(&Saved::Value(*value)).cloned(),
            Operand::Argument(argument) => {
                let wanted = SavedArgument { argument: *argument, shadow };
                let saved = self.plan.saved_arguments.iter().find(|(saved, _)| *saved == wanted);
                saved.and_then(|&(_, field)| self.fields.get(field).cloned().flatten())
            }
            _ if shadow => None,
            other => Some(other.clone()),
        };
        // What is not loaded is not needed.
        found.unwrap_or_else(Operand::nothing)
    }
}

/// Writes the part of the rule of a primitive that the wanted outputs need. Of the statements that are at hand there is
/// the value.
pub(super) fn write_rule(
    emit: &mut Emitter<'_>,
    (rule, bindings): (&Rule, &Bindings),
    parameters: &[Operand<Ids>],
    wanted: &[usize],
    at_hand: &[(usize, Operand<Ids>)],
) -> Generated<SmallVec<[Operand<Ids>; 4]>> {
    let slice = rule.slice(wanted);
    let mut results: SmallVec<[Option<InstId>; 8]> = smallvec![None; slice.statements.len()];
    for index in (0..slice.statements.len()).filter(|&index| slice.statements[index]) {
        if let Some(value) = at_hand.iter().find(|(known, _)| *known == index).and_then(|(_, same)| same.as_value()) {
            results[index] = Some(value);
            continue;
        }
        let body = &rule.function.body.stmts;
        let (Some(stmt), Some(ty)) = (body.stmts().get(index), body.types().get(index)) else { continue };
        // Verified rules name only what is there.
        let Ok(mut stmt) = stmt.map_names(&mut Results(&results)) else { continue };
        substitute(&mut stmt, bindings, parameters);
        results[index] = Some(emit.stmt(stmt, bindings.substitute(ty))?);
    }
    let output = |operand: &Operand<Positions>| match bindings.substitute_operand(operand) {
        Operand::Argument(argument) => argument.index().and_then(|index| parameters.get(index).cloned()),
        Operand::Value(value) => {
            value.index().and_then(|index| results.get(index).copied().flatten()).map(Operand::Value)
        }
        Operand::Constant(constant) => Some(Operand::Constant(constant)),
        _ => None,
    };
    let outputs = wanted.iter().map(|&i| rule.outputs.get(i).and_then(output).unwrap_or_else(Operand::nothing));
    Ok(outputs.collect())
}

/// The operands of what puts back what was kept of a place.
fn put_back_args(at: &Place, old: Operand<Ids>, indices: Vec<Operand<Ids>>) -> Vec<Operand<Ids>> {
    [at.object.clone(), old].into_iter().chain(indices).collect()
}

/// Puts the parameters of a rule in the place of its arguments, and types in that of its type variables.
fn substitute(stmt: &mut Stmt<Ids>, bindings: &Bindings, parameters: &[Operand<Ids>]) {
    stmt.for_each_operand_mut(&mut |operand| match operand {
        Operand::Argument(argument) => {
            if let Some(parameter) = argument.index().and_then(|index| parameters.get(index)) {
                *operand = parameter.clone();
            }
        }
        Operand::Constant(_) => *operand = bindings.substitute_operand(operand),
        _ => {}
    });
}

/// Names the results of the statements of a rule that were written.
struct Results<'r>(&'r [Option<InstId>]);

impl Rename<Positions, Ids> for Results<'_> {
    type Error = ();

    fn value(&mut self, value: SSAValue) -> Result<InstId, ()> {
        value.index().and_then(|index| self.0.get(index).copied().flatten()).ok_or(())
    }

    fn block(&mut self, _: ircode::BlockNumber) -> Result<BlockId, ()> {
        Err(())
    }

    fn switch(&mut self, switch: &ircode::NoSwitch) -> Result<Switch<Ids>, ()> {
        match *switch {}
    }
}
