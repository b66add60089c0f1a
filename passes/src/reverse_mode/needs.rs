//! What the reverse of a statement needs of the forward pass.

use std::borrow::Cow;

use bbcode::{Ids, InstId};
use ircode::{LineInfo, Operand, Type};
use smallvec::SmallVec;

use super::Carrier;
use super::conditions::Meeting;
use super::operation::{Access, Operation, Place, Resize};
use super::plan::{Plan, SavedArgument};
use super::saved::Saved;
use crate::analyses::effects::mutable_field_type;
use crate::rules::{Bindings, Rule, RuleTarget};
use crate::tangents::Tangent;

/// Something that the reverse of a statement needs of the forward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Argument(SavedArgument),
    Saved(Saved),
}

fn value(operand: &Operand<Ids>, visit: &mut dyn FnMut(Need)) {
    match operand {
        Operand::Value(value) => visit(Need::Saved(Saved::Value(*value))),
        Operand::Argument(argument) => visit(Need::Argument(SavedArgument { argument: *argument, shadow: false })),
        _ => {}
    }
}

fn shadow(operand: &Operand<Ids>, visit: &mut dyn FnMut(Need)) {
    match operand {
        Operand::Value(value) => visit(Need::Saved(Saved::Shadow(*value))),
        Operand::Argument(argument) => visit(Need::Argument(SavedArgument { argument: *argument, shadow: true })),
        _ => {}
    }
}

impl Plan<'_> {
    /// Visits what the reverse of a block needs of the forward pass, with the lines that need it: that of its
    /// statements, and what its end needs to find the way on.
    pub(super) fn for_each_need_of_block(&self, number: usize, visit: &mut dyn FnMut(Need, LineInfo)) {
        let Some(block) = self.block(number).filter(|_| self.ways.relevant.get(number) == Some(&true)) else { return };
        for (id, inst) in self.primal.insts(block) {
            self.for_each_need(id, &mut |need| visit(need, inst.line));
        }
        match self.ways.meeting(number) {
            Some(Meeting::Saved) => visit(Need::Saved(Saved::Edge(number)), LineInfo::NONE),
            Some(Meeting::Decided(of)) => value(&of.condition, &mut |need| visit(need, LineInfo::NONE)),
            Some(Meeting::Any(_)) | None => {}
        }
        self.inductions.for_each_need(number, &mut |operand| value(operand, &mut |need| visit(need, LineInfo::NONE)));
        for index in self.inductions.saved_at(number) {
            visit(Need::Saved(Saved::Left(index)), LineInfo::NONE);
        }
    }

    /// Visits what the reverse of a statement needs of the forward pass.
    pub(super) fn for_each_need(&self, id: InstId, visit: &mut dyn FnMut(Need)) {
        if !self.is_reversed(id) {
            return;
        }
        let result = Operand::Value(id);
        let active = self.activity.is_active_value(id);
        match self.activity.operation(id) {
            Operation::Rule { rule, bindings, args } => {
                if self.only_puts_back(rule, args) {
                    // Neither a pullback nor a rule is run.
                } else if self.carrier == Carrier::LinearMaps {
                    // Its pullback has captured what it reads.
                    visit(Need::Saved(Saved::Trace(id)));
                } else {
                    self.read_by_rule(id, (rule, bindings), args).iter().for_each(|operand| value(operand, visit));
                    for index in self.wanted_args(rule, args) {
                        if let Some(arg) = args.get(index).filter(|arg| self.has_shadow(arg)) {
                            shadow(arg, visit);
                        }
                    }
                }
                if self.has_shadow(&result) {
                    shadow(&result, visit);
                }
                if let Some(first) = args.first().filter(|first| rule.changes_first() && self.restores(first)) {
                    value(first, visit);
                    visit(Need::Saved(Saved::Old(id)));
                }
            }
            Operation::Call { args, .. } => match self.called(id).filter(|called| called.is_checkpointed) {
                Some(called) => {
                    args.iter().for_each(|arg| value(arg, visit));
                    let with_shadows = args.iter().enumerate().filter(|(index, _)| called.takes_shadow(*index));
                    with_shadows.filter(|(_, arg)| self.has_shadow(arg)).for_each(|(_, arg)| shadow(arg, visit));
                }
                None => visit(Need::Saved(Saved::Trace(id))),
            },
            Operation::Load(place) => {
                shadow(&place.object, visit);
                place.indices.iter().for_each(|index| value(index, visit));
            }
            Operation::Store { place, .. } => {
                place.indices.iter().for_each(|index| value(index, visit));
                if self.restores(&place.object) {
                    value(&place.object, visit);
                    visit(Need::Saved(Saved::Old(id)));
                }
                if self.has_shadow(&place.object) {
                    shadow(&place.object, visit);
                    if !self.place_tangent(place).shadow().is_none() && self.restores(&place.object) {
                        visit(Need::Saved(Saved::OldShadow(id)));
                    }
                }
            }
            Operation::Append { object, .. } => {
                if self.restores(object) {
                    value(object, visit);
                }
                if self.has_shadow(object) && !self.takes_back_length(object) {
                    visit(Need::Saved(Saved::Old(id)));
                }
                if self.has_shadow(object) {
                    shadow(object, visit);
                }
            }
            Operation::Whole { object, from, .. } => {
                if self.restores(object) {
                    value(object, visit);
                    visit(Need::Saved(Saved::Old(id)));
                }
                if self.has_shadow(object) {
                    shadow(object, visit);
                    from.iter().filter(|from| self.has_shadow(from)).for_each(|from| shadow(from, visit));
                }
            }
            Operation::StackPop { stack } => {
                if self.restores(stack) {
                    value(stack, visit);
                    value(&result, visit);
                }
                if self.has_shadow(stack) {
                    shadow(stack, visit);
                    visit(Need::Saved(Saved::OldShadow(id)));
                }
            }
            Operation::Resize { object, rest, kind } => {
                rest.iter().for_each(|size| value(size, visit));
                if self.restores(object) {
                    value(object, visit);
                    if !kind.grows {
                        visit(Need::Saved(Saved::Old(id)));
                    }
                }
                if self.has_shadow(object) {
                    shadow(object, visit);
                    if self.keeps_shadow_of_removed(object, rest, *kind) {
                        visit(Need::Saved(Saved::OldShadow(id)));
                    }
                }
            }
            Operation::Allocate | Operation::NewObject(_) => shadow(&result, visit),
            Operation::CopyObject(source) => {
                shadow(&result, visit);
                shadow(source, visit);
            }
            Operation::Choose { condition, .. } if active => value(condition, visit),
            Operation::AnyField { index, .. } if active => value(index, visit),
            _ => {}
        }
    }

    /// Whether there is anything to do for a statement on the way back.
    pub(super) fn is_reversed(&self, id: InstId) -> bool {
        let operation = self.activity.operation(id);
        if self.activity.is_active_value(id) {
            return true;
        }
        match operation {
            Operation::Store { .. }
            | Operation::Append { .. }
            | Operation::StackPop { .. }
            | Operation::Whole { .. }
            | Operation::Resize { .. } => {
                operation.changed_object().is_some_and(|object| self.has_shadow(object) || self.restores(object))
            }
            Operation::Allocate | Operation::NewObject(_) | Operation::CopyObject(_) => {
                self.has_shadow(&Operand::Value(id))
            }
            Operation::Rule { rule, args, .. } => {
                let changed = args.first().filter(|_| rule.changes_first());
                self.has_shadow(&Operand::Value(id))
                    || changed.is_some_and(|first| self.has_shadow(first) || self.restores(first))
            }
            Operation::Call { function, args } => {
                let active = |arg: &Operand<Ids>| self.activity.has_cotangent(arg) || self.has_shadow(arg);
                let writes = self.derivation.summaries.get(*function).writes;
                // What gives nothing that has a tangent and changes nothing is only asked something.
                let gives = self.primal.inst(id).is_none_or(|inst| !self.derivation.tangents.of(&inst.ty).is_none());
                (gives || writes) && args.iter().any(active)
                    || self.has_shadow(&Operand::Value(id))
                    || writes && args.iter().any(|arg| self.restores(arg))
            }
            _ => false,
        }
    }

    /// Whether a vector that the function made, and has made longer at its end, stays so on the way back: what is put
    /// there is found by its index, and the shadow is reset where the vector was made.
    pub(super) fn stays_longer(&self, object: &Operand<Ids>, kind: Resize) -> bool {
        kind.grows && kind.end == "end" && !self.takes_back_length(object)
    }

    /// Whether what was in the shadow of elements that are taken away is kept: of the last one not if that is zeros, of
    /// others not if they are numbers, which are zeros where the shadow grows again.
    pub(super) fn keeps_shadow_of_removed(&self, object: &Operand<Ids>, rest: &[Operand<Ids>], kind: Resize) -> bool {
        if !self.has_shadow(object) {
            return false;
        }
        let tangent = self.derivation.tangents.of(&element_type(&self.primal.operand_type(object)));
        match kind.removes_last(rest) {
            true => !tangent.shadow().is_none(),
            false => !kind.grows && !matches!(tangent, Tangent::Float(_)),
        }
    }

    /// Whether a vector, or its shadow, gets its length back on the way back: somebody looks at it as a whole there.
    pub(super) fn takes_back_length(&self, object: &Operand<Ids>) -> bool {
        self.restores(object) || self.activity.objects.class(object).is_some_and(|class| self.needs_length(class))
    }

    /// Whether the shadow of an operand goes beside it.
    pub(super) fn has_shadow(&self, operand: &Operand<Ids>) -> bool {
        !self.activity.shadow(operand).is_none()
    }

    /// Whether changes of an object are undone: it may have been there before, or the pullback reads it.
    pub(super) fn restores(&self, object: &Operand<Ids>) -> bool {
        match object {
            Operand::Value(_) | Operand::Argument(_) => self
                .activity
                .objects
                .class(object)
                .is_some_and(|class| self.activity.objects.is_external(class) || self.reads_contents(class)),
            _ => true,
        }
    }

    /// Whether the reverse of a rule does no more than to put back what was changed: from an object without a shadow no
    /// cotangent comes back.
    pub(super) fn only_puts_back(&self, rule: &Rule, args: &[Operand<Ids>]) -> bool {
        let is_function = matches!(rule.target, RuleTarget::Function(_));
        !is_function && rule.changes_first() && args.first().is_some_and(|first| !self.has_shadow(first))
    }

    /// The arguments of a rule that get a cotangent.
    pub(super) fn wanted_args(&self, rule: &Rule, args: &[Operand<Ids>]) -> SmallVec<[usize; 4]> {
        if self.only_puts_back(rule, args) {
            return SmallVec::new();
        }
        let wanted = |(i, arg): (usize, &Operand<Ids>)| {
            let active = self.activity.has_cotangent(arg) || self.has_shadow(arg);
            (!rule.is_zero(i) && active).then_some(i)
        };
        args.iter().enumerate().filter_map(wanted).collect()
    }

    /// The tangent that the rule of a function gets for a result that has a shadow, and is no array; `None` if it gets
    /// the cotangent alone.
    pub(super) fn seed_of_rule(&self, id: InstId, rule: &Rule) -> Option<Tangent> {
        let is_function = matches!(rule.target, RuleTarget::Function(_));
        let ty = self.primal.inst(id).filter(|_| is_function && rule.out_shadow.is_none())?.ty.clone();
        Some(self.derivation.tangents.of(&ty)).filter(|tangent| !tangent.shadow().is_none())
    }

    /// The operands, and the result, of which a rule takes the values. One that is called takes them all.
    pub(super) fn read_by_rule(
        &self,
        id: InstId,
        (rule, bindings): (&Rule, &Bindings),
        args: &[Operand<Ids>],
    ) -> SmallVec<[Operand<Ids>; 4]> {
        if !self.is_reversed(id) {
            return SmallVec::new();
        }
        let result = Operand::Value(id);
        let all = args.iter().chain([&result]);
        if matches!(rule.target, RuleTarget::Function(_)) {
            return all.cloned().collect();
        }
        let wanted = self.wanted_args(rule, args);
        let at_hand = self.at_hand(id, rule, bindings, args);
        let slice = rule.slice(&wanted);
        let parameters = match at_hand.is_empty() {
            true => Cow::Borrowed(&slice.parameters),
            false => {
                Cow::Owned(rule.parameters_without(&wanted, |index| at_hand.iter().any(|(known, _)| *known == index)))
            }
        };
        let used = |index: usize| parameters.get(index + 1) == Some(&true);
        let read = all.enumerate().filter(|(index, _)| used(*index)).map(|(_, operand)| operand.clone());
        read.chain(at_hand.iter().map(|(_, same)| Operand::Value(*same))).collect()
    }

    /// The type of what is at a place.
    pub(super) fn place_type(&self, place: &Place) -> Type {
        let object = self.primal.operand_type(&place.object);
        match (&place.access, &object) {
            (Access::Field, Type::Ref(element)) => (**element).clone(),
            (Access::Field, Type::Named(_)) => {
                let field = place.indices.first().unwrap_or(&Operand::Constant(ircode::Constant::Nothing)).clone();
                mutable_field_type(self.derivation.module, &object, &field).unwrap_or(Type::Any)
            }
            (_, ty) => element_type(ty),
        }
    }

    /// The tangent of what is at a place.
    pub(super) fn place_tangent(&self, place: &Place) -> Tangent {
        self.derivation.tangents.of(&self.place_type(place))
    }
}

/// The type of the elements of an object.
pub(super) fn element_type(ty: &Type) -> Type {
    match ty {
        Type::Array(array) => array.element.clone(),
        Type::Ref(element) | Type::Memory(element) | Type::MemoryRef(element) | Type::Stack(element) => {
            (**element).clone()
        }
        _ => Type::Any,
    }
}
