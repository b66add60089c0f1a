//! Values that stand for what is not there, where a function returns an exception.

use bbcode::{BBCode, BlockId, EditError, Ids};
use ircode::{Constant, LineInfo, Module, NewInstruction, Operand, Scalar, Stmt, Type, TypeKind};

/// How deep objects are made that nobody looks at.
const DEPTH: usize = 4;

/// Whether there is a value of a type that can be made anywhere.
pub(super) fn has_stand_in(module: &Module<BBCode>, ty: &Type) -> bool {
    has(module, ty, DEPTH)
}

fn has(module: &Module<BBCode>, ty: &Type, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match ty {
        Type::Scalar(_) | Type::Nothing | Type::Bottom | Type::String => true,
        Type::Array(array) => array.rank == 1,
        Type::Tuple(elements) => elements.iter().all(|element| has(module, element, depth)),
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { mutable: false, fields }) => fields.iter().all(|(_, ty)| has(module, ty, depth)),
            _ => false,
        },
        _ => false,
    }
}

/// A value of a type at the end of a block: `nothing` of one of which there is none that can be made anywhere.
pub(super) fn stand_in(
    module: &Module<BBCode>,
    bb: &mut BBCode,
    block: BlockId,
    ty: &Type,
    line: LineInfo,
) -> Result<Operand<Ids>, EditError> {
    if !has_stand_in(module, ty) {
        return Ok(Operand::nothing());
    }
    let push = |bb: &mut BBCode, stmt: Stmt<Ids>| {
        Ok(Operand::Value(bb.push(block, NewInstruction::new(stmt, ty.clone()).with_line(line))?))
    };
    let of_type = Operand::Constant(Constant::of_type(ty.clone()));
    match ty {
        Type::Scalar(scalar) => Ok(Operand::Constant(Constant::Scalar(Scalar::from_bits(*scalar, 0)))),
        Type::String => Ok(Operand::Constant(Constant::String("".into()))),
        Type::Array(array) => {
            let element = Operand::Constant(Constant::of_type(array.element.clone()));
            push(bb, Stmt::call(Operand::global("BBKit", "new_array"), [element, 0_i64.into()]))
        }
        Type::Tuple(elements) => {
            let parts: Result<Vec<_>, _> =
                elements.iter().map(|element| stand_in(module, bb, block, element, line)).collect();
            push(bb, Stmt::call(Operand::global("Core", "tuple"), parts?))
        }
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) => {
                let parts: Result<Vec<_>, _> =
                    fields.iter().map(|(_, field)| stand_in(module, bb, block, field, line)).collect();
                push(bb, Stmt::expr(ircode::Head::New, [of_type].into_iter().chain(parts?)))
            }
            _ => Ok(Operand::nothing()),
        },
        _ => Ok(Operand::nothing()),
    }
}
