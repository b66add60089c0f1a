//! Values that stand for what is not there, where a function returns an exception.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{Constant, Head, LineInfo, Module, NewInstruction, Operand, Scalar, Stmt, Type, TypeKind};

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
        Type::Array(array) => array.rank > 0,
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
    make(module, ty, &mut |stmt, ty| bb.push(block, NewInstruction::new(stmt, ty).with_line(line)))
}

/// What is put in a variable of a type behind this statement, where nobody looks at what is there. An object of a
/// mutable struct has fields that are not defined.
pub(super) fn anything(
    module: &Module<BBCode>,
    bb: &mut BBCode,
    behind: InstId,
    ty: &Type,
) -> Result<(Operand<Ids>, InstId), EditError> {
    let line = bb.inst(behind).map_or(LineInfo::default(), |inst| inst.line);
    let mut last = behind;
    let mut push = |stmt, ty| {
        last = bb.insert_after(last, NewInstruction::new(stmt, ty).with_line(line))?;
        Ok(last)
    };
    let is_mutable =
        |name| module.type_def(name).is_some_and(|def| matches!(def.kind, TypeKind::Struct { mutable: true, .. }));
    let value = match ty {
        ty if has_stand_in(module, ty) => make(module, ty, &mut push)?,
        Type::Named(name) if is_mutable(name) => {
            Operand::Value(push(Stmt::expr(Head::New, [Operand::from(Constant::of_type(ty.clone()))]), ty.clone())?)
        }
        _ => Operand::nothing(),
    };
    Ok((value, last))
}

/// How a statement of a type is added.
type Push<'p> = dyn FnMut(Stmt<Ids>, Type) -> Result<InstId, EditError> + 'p;

/// Makes a value of a type that has a stand-in.
fn make(module: &Module<BBCode>, ty: &Type, push: &mut Push<'_>) -> Result<Operand<Ids>, EditError> {
    let mut parts = |types: &mut dyn Iterator<Item = &Type>| {
        types.map(|ty| make(module, ty, push)).collect::<Result<Vec<Operand<Ids>>, EditError>>()
    };
    let stmt = match ty {
        Type::Scalar(scalar) => return Ok(Operand::Constant(Constant::Scalar(Scalar::from_bits(*scalar, 0)))),
        Type::String => return Ok(Operand::Constant(Constant::String("".into()))),
        Type::Array(array) => {
            let element = Operand::Constant(Constant::of_type(array.element.clone()));
            let operands = [element].into_iter().chain((0..array.rank).map(|_| 0_i64.into()));
            Stmt::call(Operand::global("BBKit", "new_array"), operands)
        }
        Type::Tuple(elements) => Stmt::call(Operand::global("Core", "tuple"), parts(&mut elements.iter())?),
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) => {
                let of_type = Operand::Constant(Constant::of_type(ty.clone()));
                let fields = parts(&mut fields.iter().map(|(_, field)| field))?;
                Stmt::expr(Head::New, [of_type].into_iter().chain(fields))
            }
            _ => return Ok(Operand::nothing()),
        },
        _ => return Ok(Operand::nothing()),
    };
    push(stmt, ty.clone()).map(Operand::Value)
}
