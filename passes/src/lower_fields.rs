//! Turns names of fields that are known only when the program runs into numbers.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type, TypeKind};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-fields";

/// Lets accesses to fields of named tuples and structs say the number of the field where they say its name by a symbol
/// that is not a constant, as loops over `pairs` of a named tuple do: what follows need not know names. True if there
/// was such an access.
///
/// The number is that of the first field of this name. Where there is none, the access is still made by the symbol, and
/// throws as before.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let found: Vec<(InstId, LineInfo, Operand<Ids>, Vec<Name>)> = bb
        .all_insts()
        .filter_map(|(id, inst)| {
            let (symbol, names) = by_symbol(bb, context.module, &inst.stmt)?;
            Some((id, inst.line, symbol.clone(), names))
        })
        .collect();
    let changed = !found.is_empty();
    // The last first: what follows one in its block moves, and so moves once.
    for (id, line, symbol, names) in found.into_iter().rev() {
        lower(bb, id, line, &symbol, &names)
            .map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
    }
    Ok(changed)
}

fn lower(bb: &mut BBCode, id: InstId, line: LineInfo, symbol: &Operand<Ids>, names: &[Name]) -> Result<(), EditError> {
    let new = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty).with_line(line);
    let original = bb.inst(id).map(|inst| inst.stmt.clone()).ok_or(EditError::NoSuchInst(id))?;
    let (before, rest) = bb.cut_block(id)?;
    let fails = bb.insert_block_before(rest)?;
    let number = number_of(bb, before, line, symbol, names)?;
    let some = Stmt::call(Operand::global("Base", "slt_int"), [Operand::from(0i64), number.clone()]);
    let some = bb.push(before, new(some, Type::BOOL))?;
    bb.push(before, new(Stmt::goto_if_not(some, fails), Type::Any))?;
    bb.set_next(before, Some(rest))?;
    bb.push(fails, new(original, Type::Bottom))?;
    bb.push(fails, new(Stmt::unreachable(), Type::Any))?;
    if let Some(inst) = bb.inst_mut(id)
        && let Stmt::Call(call) = &mut inst.stmt
        && let Some(field) = call.args.get_mut(1)
    {
        *field = number;
    }
    Ok(())
}

/// The symbol by which a statement says of which field it is, if that is no constant, and the names of the fields.
fn by_symbol<'s>(bb: &BBCode, module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<(&'s Operand<Ids>, Vec<Name>)> {
    let (primitive, [object, field, ..]) = module.primitive_call(stmt)? else { return None };
    if !matches!(primitive.name, "getfield" | "getproperty" | "setfield!" | "setproperty!") {
        return None;
    }
    let is_symbol = matches!(field, Operand::Value(_) | Operand::Argument(_)) && bb.operand_type(field) == Type::Symbol;
    // Invokes of methods are left to those.
    if !is_symbol || !matches!(stmt, Stmt::Call(_)) {
        return None;
    }
    let names = |fields: &[(Name, Type)]| fields.iter().map(|(name, _)| name.clone()).collect();
    match bb.operand_type(object) {
        Type::NamedTuple(fields) => Some((field, names(&fields))),
        Type::Named(name) => match &module.type_def(&name)?.kind {
            TypeKind::Struct { fields, .. } => Some((field, names(fields))),
            TypeKind::Enum { .. } => None,
        },
        _ => None,
    }
}

/// The number of the field that a symbol names, 0 if none, computed at the end of a block.
fn number_of(
    bb: &mut BBCode,
    block: BlockId,
    line: LineInfo,
    symbol: &Operand<Ids>,
    names: &[Name],
) -> Result<Operand<Ids>, EditError> {
    let mut call = |module: &str, name: &str, args: Vec<Operand<Ids>>, ty: Type| {
        let stmt = Stmt::call(Operand::global(module, name), args);
        bb.push(block, NewInstruction::new(stmt, ty).with_line(line)).map(Operand::Value)
    };
    let mut number = Operand::from(0i64);
    // From the last to the first, so that the first of a name is found.
    for (index, name) in names.iter().enumerate().rev() {
        let quoted = Operand::symbol(name.as_str());
        let same = call("Core", "===", vec![symbol.clone(), quoted], Type::BOOL)?;
        let position = Operand::from(index as i64 + 1);
        number = call("Core", "ifelse", vec![same, position, number], Type::INT64)?;
    }
    Ok(number)
}
