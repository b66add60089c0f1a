//! What exceptions hold: it is not followed.

use bbcode::InstId;
use slotmap::SecondaryMap;

use super::super::operation::Operation;
use super::Subject;
use crate::differentiation::exceptions::is_exception_of_library;

/// A statement that takes something that may have a derivative out of an exception of Julia's library: what is in there
/// is not followed.
pub(super) fn taken_from_exception(
    subject: &Subject<'_>,
    operations: &SecondaryMap<InstId, Operation>,
) -> Option<InstId> {
    let mut taking = operations.iter().filter(|(id, _)| {
        let Some(inst) = subject.bb.inst(*id) else { return false };
        let called = subject.module.primitive_call(&inst.stmt);
        let object = called.filter(|(primitive, _)| matches!(primitive.name, "getfield" | "getproperty" | "getindex"));
        object.and_then(|(_, args)| args.first()).is_some_and(|object| {
            is_exception_of_library(subject.module, &subject.bb.operand_type(object))
                && !subject.tangents.of(&inst.ty).is_none()
        })
    });
    taking.next().map(|(id, _)| id)
}
