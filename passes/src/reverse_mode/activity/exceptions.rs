//! What exceptions hold: it is not followed, and what takes it out has no derivative.

use bbcode::{Ids, InstId};
use ircode::{Instruction, Operand, Type};

use super::super::operation::Operation;
use super::super::summary::taken_from;
use super::{Analysis, Dependence};
use crate::differentiation::exceptions::{is_exception_of_library, may_be_exception_of_library};
use crate::differentiation::refusals::Refusal;

impl Analysis<'_> {
    /// Whether a statement takes something that depends on the arguments out of an exception of Julia's library, or
    /// gives one to a function that does so.
    pub(super) fn takes_out_of_exception(&self, inst: &Instruction<Ids>, operation: &Operation) -> bool {
        match operation {
            Operation::Call { function, args } => {
                self.subject.summaries.get(*function).takes_from_exceptions
                    && args.iter().any(|arg| self.varied.of(arg).hidden.in_exception)
            }
            Operation::Unknown => {
                taken_from(self.subject.module, &inst.stmt).is_some_and(|object| self.holds_in_exception(object, inst))
            }
            // Parts of what only holds an exception may be others.
            Operation::Field { object, .. } | Operation::AnyField { object, .. } => {
                self.holds_in_exception(object, inst) && self.is_exception(&self.subject.bb.operand_type(object))
            }
            _ => false,
        }
    }

    /// Whether a value is or holds an exception that holds something, and a part of it that may have a derivative is what
    /// a statement gives.
    fn holds_in_exception(&self, object: &Operand<Ids>, part: &Instruction<Ids>) -> bool {
        self.varied.of(object).hidden.in_exception && !self.subject.tangents.of(&part.ty).is_none()
    }

    /// The dependence of what is taken out there.
    pub(super) fn taken_from_exception(&self, at: InstId) -> Dependence {
        self.opaque(at, Refusal::new("what an exception holds cannot be differentiated in reverse mode", None))
    }

    /// Whether values of a type are exceptions of Julia's library, or some of them are.
    pub(super) fn is_exception(&self, ty: &Type) -> bool {
        match ty {
            Type::Union(members) => members.iter().any(|member| self.is_exception(member)),
            ty => is_exception_of_library(self.subject.module, ty),
        }
    }

    /// Whether values of a type may be or hold exceptions of Julia's library.
    pub(super) fn may_be_exception(&self, ty: &Type) -> bool {
        may_be_exception_of_library(self.subject.module, ty)
    }
}
