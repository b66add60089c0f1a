//! How values, and what is in objects, depend on the arguments.

use std::sync::Arc;

use bbcode::{Ids, InstId};
use ircode::Operand;
use slotmap::SecondaryMap;

use super::super::objects::Class;
use crate::differentiation::refusals::Refusal;

/// How a value depends on the arguments.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Dependence {
    pub(super) derivative: Derivative,
    /// What it holds beside, where no derivative goes.
    pub(super) hidden: Hidden,
}

/// Whether what depends on the arguments has a derivative.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Derivative {
    /// It does not depend on them, or only by steps.
    #[default]
    Zero,
    /// It has.
    Smooth,
    /// None that is known.
    Opaque(Arc<Reason>),
}

/// Where a value holds what depends on the arguments, but has no tangent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Hidden {
    /// In integers, made of the bits of floats.
    pub(super) bits: bool,
    /// In an exception of Julia's library.
    pub(super) in_exception: bool,
}

impl Dependence {
    pub(super) const NONE: Dependence = Dependence::of_hidden(Hidden { bits: false, in_exception: false });
    pub(super) const BITS: Dependence = Dependence::of_hidden(Hidden { bits: true, in_exception: false });
    pub(super) const IN_EXCEPTION: Dependence = Dependence::of_hidden(Hidden { bits: false, in_exception: true });
    pub(super) const SMOOTH: Dependence =
        Dependence { derivative: Derivative::Smooth, hidden: Hidden { bits: false, in_exception: false } };

    /// The dependence of what has no derivative, but holds this.
    pub(super) const fn of_hidden(hidden: Hidden) -> Dependence {
        Dependence { derivative: Derivative::Zero, hidden }
    }

    pub(super) fn opaque(reason: Reason) -> Dependence {
        Dependence { derivative: Derivative::Opaque(Arc::new(reason)), hidden: Hidden::default() }
    }

    /// Whether it does not depend on them at all.
    pub(super) fn is_none(&self) -> bool {
        *self == Dependence::NONE
    }

    /// The dependence of what depends on both. Of two reasons the first is told.
    pub(super) fn join(self, other: Dependence) -> Dependence {
        let derivative = match (self.derivative, other.derivative) {
            (Derivative::Opaque(reason), _) | (_, Derivative::Opaque(reason)) => Derivative::Opaque(reason),
            (Derivative::Smooth, _) | (_, Derivative::Smooth) => Derivative::Smooth,
            (Derivative::Zero, Derivative::Zero) => Derivative::Zero,
        };
        let (own, others) = (self.hidden, other.hidden);
        let hidden = Hidden { bits: own.bits || others.bits, in_exception: own.in_exception || others.in_exception };
        Dependence { derivative, hidden }
    }
}

/// Why no derivative is known.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Reason {
    /// Where that starts; `None` for an argument.
    pub(super) at: Option<InstId>,
    pub(super) refusal: Refusal,
}

/// The dependences of the values, arguments and classes of objects of a function.
#[derive(Debug, Default)]
pub(super) struct Dependences {
    pub(super) values: SecondaryMap<InstId, Dependence>,
    pub(super) arguments: Vec<Dependence>,
    pub(super) classes: Vec<Dependence>,
}

impl Dependences {
    pub(super) fn of(&self, operand: &Operand<Ids>) -> Dependence {
        self.known(operand).cloned().unwrap_or_default()
    }

    pub(super) fn known(&self, operand: &Operand<Ids>) -> Option<&Dependence> {
        match operand {
            Operand::Value(value) => self.values.get(*value),
            Operand::Argument(argument) => argument.index().and_then(|index| self.arguments.get(index)),
            _ => None,
        }
    }

    pub(super) fn of_class(&self, class: Option<Class>) -> Dependence {
        class.and_then(|class| self.classes.get(class)).cloned().unwrap_or_default()
    }
}
