//! What exceptions hold: it is not followed.

use bbcode::InstId;
use slotmap::SecondaryMap;

use super::super::operation::Operation;
use super::Subject;

/// A statement that takes something that may have a derivative out of an exception of Julia's library: what is in there is not followed.
pub(super) fn taken_from_exception(
    subject: &Subject<'_>,
    operations: &SecondaryMap<InstId, Operation>,
) -> Option<InstId> {
    let unknown = operations.iter().filter(|(_, operation)| matches!(operation, Operation::Unknown));
    let mut taking = unknown.filter(|(id, _)| {
        let Some(inst) = subject.bb.inst(*id) else { return false };
        let called = subject.module.primitive_call(&inst.stmt);
        let object = called.filter(|(primitive, _)| matches!(primitive.name, "getfield" | "getproperty" | "getindex"));
        object.and_then(|(_, args)| args.first()).is_some_and(|object| {
            subject.module.is_undeclared_exception(&subject.bb.operand_type(object))
                && !subject.tangents.of(&inst.ty).is_none()
        })
    });
    taking.next().map(|(id, _)| id)
}
