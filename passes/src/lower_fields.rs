//! Turns names of fields that are known only when the program runs into numbers.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type, TypeKind};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-fields";

/// Lets accesses to fields of named tuples and structs say the number of the field where they say its name by a symbol
/// that is not a constant, as loops over `pairs` of a named tuple do: what follows need not know names. True if there
/// was such an access.
///
/// The number is that of the first field of this name; 0, which no field has, if there is none, so that reading it is
/// an error as before, of another kind.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let found: Vec<(InstId, LineInfo, Operand<Ids>, Vec<Name>)> = bb
        .all_insts()
        .filter_map(|(id, inst)| {
            let (symbol, names) = by_symbol(bb, context.module, &inst.stmt)?;
            Some((id, inst.line, symbol.clone(), names))
        })
        .collect();
    let changed = !found.is_empty();
    for (id, line, symbol, names) in found {
        let number = number_of(bb, id, line, &symbol, &names)
            .map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
        if let Some(inst) = bb.inst_mut(id)
            && let Stmt::Call(call) = &mut inst.stmt
            && let Some(field) = call.args.get_mut(1)
        {
            *field = number;
        }
    }
    Ok(changed)
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

/// The number of the field that a symbol names, computed before a statement.
fn number_of(
    bb: &mut BBCode,
    before: InstId,
    line: LineInfo,
    symbol: &Operand<Ids>,
    names: &[Name],
) -> Result<Operand<Ids>, EditError> {
    let mut call = |module: &str, name: &str, args: Vec<Operand<Ids>>, ty: Type| {
        let stmt = Stmt::call(Operand::global(module, name), args);
        bb.insert_before(before, NewInstruction::new(stmt, ty).with_line(line)).map(Operand::Value)
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
