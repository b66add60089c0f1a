//! What exceptions hold: it is not followed.

use bbcode::{BBCode, InstId};
use ircode::primitives::lookup;
use ircode::{Module, Type};
use slotmap::SecondaryMap;

use super::super::operation::Operation;
use super::Subject;

/// Whether values of a type are exceptions that the module does not declare, or that a primitive makes.
pub(in super::super) fn is_exception_of_library(module: &Module<BBCode>, ty: &Type) -> bool {
    let Type::Named(name) = ty else { return false };
    let plain = name.rsplit('.').next().unwrap_or(name);
    module.is_undeclared_exception(ty) || plain.ends_with("Error") && lookup(plain).is_some()
}

/// A statement that takes something that may have a derivative out of an exception of Julia's library: what is in there is not followed.
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
