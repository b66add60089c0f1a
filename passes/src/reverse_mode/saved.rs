//! What the forward pass hands to the pullback, and of which types that is.

use bbcode::InstId;
use ircode::{Operand, Type};

use super::conditions::choice_type;
use super::needs::element_type;
use super::operation::Operation;
use super::plan::Plan;

/// What the forward pass hands to the pullback.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Saved {
    /// The value of a statement.
    Value(InstId),
    /// The shadow of the value of a statement.
    Shadow(InstId),
    /// What the reverse of a call gets of it: the trace, or the pullback.
    Trace(InstId),
    /// What was in the place that a statement changes.
    Old(InstId),
    /// What was in that place of the shadow.
    OldShadow(InstId),
    /// By which of the edges to the block of this number control came.
    Edge(usize),
    /// What an induction variable, by its index, is where control comes to a block from its loop.
    Left(usize),
}

impl Saved {
    /// The statement that it is of, if it is of one.
    pub(super) fn statement(self) -> Option<InstId> {
        match self {
            Saved::Value(id) | Saved::Shadow(id) | Saved::Trace(id) | Saved::Old(id) | Saved::OldShadow(id) => Some(id),
            Saved::Edge(_) | Saved::Left(_) => None,
        }
    }
}

impl Plan<'_> {
    /// The type of something that is saved; `Any` where it is not known.
    pub(super) fn saved_type(&self, item: Saved) -> Type {
        let known = |ty: Type| if ty.is_unknown() { Type::Any } else { ty };
        match item {
            Saved::Value(id) => self.primal.operand_type(&Operand::Value(id)),
            Saved::Shadow(id) => self.activity.shadow(&Operand::Value(id)).ty(),
            Saved::Trace(id) => match self.rule_pullbacks.get(id) {
                Some(pullback) => pullback.ty.clone(),
                None => self.called(id).map_or(Type::Untyped, |called| called.trace_type(self.carrier)),
            },
            Saved::Old(id) => match self.activity.operation(id) {
                Operation::Store { place, .. } if self.is_plain(&self.place_type(place)) => self.place_type(place),
                Operation::Store { place, .. } => kept_type(&self.place_type(place)),
                // Where the value was put.
                Operation::Append { .. } => Type::INT64,
                Operation::Resize { object, rest, kind } if kind.removes_last(rest) => {
                    kept_type(&element_type(&self.primal.operand_type(object)))
                }
                // A copy of the object.
                Operation::Resize { object, .. } | Operation::Whole { object, .. } => {
                    known(self.primal.operand_type(object))
                }
                // A copy of what the primitive changes.
                Operation::Rule { args, .. } => {
                    args.first().map_or(Type::Any, |first| known(self.primal.operand_type(first)))
                }
                _ => Type::Any,
            },
            Saved::OldShadow(id) => match self.activity.operation(id) {
                Operation::Resize { object, rest, kind } => match self.activity.shadow(object).ty() {
                    shadow if kind.removes_last(rest) => kept_type(&element_type(&shadow)),
                    shadow => known(shadow),
                },
                Operation::Store { place, .. } => kept_type(&self.place_tangent(place).ty()),
                Operation::StackPop { stack } => {
                    self.derivation.tangents.of(&element_type(&self.primal.operand_type(stack))).ty()
                }
                _ => Type::Any,
            },
            Saved::Edge(number) => choice_type(self.predecessors(number).len()),
            Saved::Left(index) => self.inductions.type_of(index),
        }
    }
}

/// The type of what is kept of a place of this type: alone in a tuple, or `nothing` if nothing is assigned there.
pub(super) fn kept_type(of: &Type) -> Type {
    match of.is_unknown() || matches!(of, Type::Any | Type::Bottom) {
        true => Type::Any,
        false => Type::union([Type::Nothing, Type::tuple([of.clone()])]),
    }
}
