//! Lets calls of what nobody knows end the run, as they do.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Callee, Constant, Head, Instruction, Module, NewInstruction, Operand, Stmt, Type, TypeKind, unqualified};

use crate::link_methods::function_called;
use crate::manager::Context;
use crate::{PassError, PassResult, copy_elements};

/// The pass's name on the command line.
pub const NAME: &str = "unknown-calls";

/// Ends the code behind each call of a function that is neither in the module nor a primitive, and behind each call of
/// a foreign function of which nothing is known, where a run can return without them. True if there was one.
///
/// Such a call is an error when it runs, so what stands behind it does not. That matters to derivatives: code that
/// chooses between methods when it runs, as much of Julia's library does, has ways that these arguments never take.
/// Where every run that returns would come to such a call the code stays as it is, so that whoever asks for its
/// derivative learns at once what is missing. In functions that catch errors, and in listings that do not say their own
/// name, which may be the one that is called, everything stays, too.
///
/// So does taking a field out of a struct whose type has none of this name, which code does that is for several types,
/// and a call of arithmetic, or of a function of arrays, or of a field, on what is `nothing` where it stands: Julia
/// has no such methods, and no such fields. Its compiler writes such calls where it has asked whether a value is of
/// another type.
///
/// Foreign functions that copy elements are known to [`copy_elements`], which this does first.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let catches = bb.has_handlers();
    if catches || context.function.is_empty() {
        return Ok(false);
    }
    let copied = copy_elements::run(bb, context)?;
    let mut first: Vec<(BlockId, InstId)> = Vec::new();
    for block in bb.blocks().collect::<Vec<_>>() {
        let may_end = bb.insts(block).filter(|(_, inst)| inst.ty != Type::Bottom).filter_map(|(id, inst)| {
            if is_unknown(context.module, &inst.stmt) || takes_field_that_is_not_there(context.module, bb, &inst.stmt) {
                return Some((id, None));
            }
            let operands = without_method_for_nothing(context.module, &inst.stmt)?;
            let operands =
                operands.iter().filter(|operand| bb.operand_type(operand).members().contains(&Type::Nothing));
            Some((id, Some(operands.cloned().collect::<Vec<_>>())))
                .filter(|(_, operands)| operands != &Some(Vec::new()))
        });
        for (id, operands) in may_end.collect::<Vec<_>>() {
            let ends = |operands: Vec<Operand<Ids>>| {
                operands.iter().any(|operand| is_nothing(bb, context.module, block, operand))
            };
            if operands.is_none_or(ends) {
                first.push((block, id));
                break;
            }
        }
    }
    if first.is_empty() || !returns_without(bb, first.iter().map(|(block, _)| *block).collect()) {
        return Ok(copied);
    }
    for (block, id) in first {
        end_behind(bb, block, id).map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
    }
    bb.remove_unreachable_blocks();
    Ok(true)
}

/// Whether a statement calls something of which nothing is known: neither by its name nor by that of its instance, which
/// is another one where a constant is called or where the dump has a function of its own in the place of the library's.
fn is_unknown(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    if module.primitive_call(stmt).is_some() {
        return false;
    }
    match (module.called(stmt), stmt) {
        (_, Stmt::Expr(expr)) => expr.head == Head::Foreigncall,
        (Some(Callee::Unknown(path)), Stmt::Call(_) | Stmt::Invoke(_)) => {
            let name = unqualified(&path);
            // What calls others with the elements of tuples is done by the interpreter, which chooses between methods,
            // too.
            !path.starts_with("Core._apply")
                && module.methods(&path).is_empty()
                && module.methods(name).is_empty()
                && function_called(module, stmt).is_none()
        }
        _ => false,
    }
}

/// Whether a statement takes a field out of a struct of a type that has no such field. Objects of classes may be of
/// others below.
fn takes_field_that_is_not_there(module: &Module<BBCode>, bb: &BBCode, stmt: &Stmt<Ids>) -> bool {
    let Some((primitive, [object, field, ..])) = module.primitive_call(stmt) else { return false };
    let (true, Some(Constant::Symbol(field)), Type::Named(name)) =
        (primitive.name == "getfield", field.as_constant(), bb.operand_type(object))
    else {
        return false;
    };
    let Some(TypeKind::Struct { fields, .. }) = module.type_def(&name).map(|def| &def.kind) else { return false };
    !fields.iter().any(|(known, _)| known == field) && !module.may_be_of_subclass(&name)
}

/// The operands of a call of a function that Julia has no method of for `nothing` in the place of one of these.
fn without_method_for_nothing<'s>(module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<&'s [Operand<Ids>]> {
    const ON_NUMBERS: &[&str] = &["+", "-", "*", "/", "^", "<", "<=", ">", ">=", "min", "max", "abs"];
    const ON_ARRAYS: &[&str] = &["getindex", "setindex!", "length", "sum", "dot", "maximum", "minimum"];
    const ON_FIELDS: &[&str] = &["getfield", "getproperty", "setfield!", "setproperty!"];
    let (primitive, args) = module.primitive_call(stmt)?;
    // The program may have such a method.
    let methods = module.methods(primitive.name).iter().filter_map(|&method| module.functions().get(method));
    if methods
        .into_iter()
        .any(|method| method.body.argtypes.iter().skip(1).any(|ty| ty.members().contains(&Type::Nothing)))
    {
        return None;
    }
    match primitive.name {
        name if ON_NUMBERS.contains(&name) => Some(args),
        name if ON_ARRAYS.contains(&name) || ON_FIELDS.contains(&name) => args.get(..1),
        _ => None,
    }
}

/// Whether an operand is `nothing` in a block: by its type, or as the branches say by which control gets there from the
/// blocks that have no other way.
fn is_nothing(bb: &BBCode, module: &Module<BBCode>, block: BlockId, operand: &Operand<Ids>) -> bool {
    /// No compiler asks longer before.
    const MOST_BLOCKS: usize = 16;
    let ty = bb.operand_type(operand);
    let (true, [a, b]) = (operand.as_value().is_some(), ty.members()) else { return ty == Type::Nothing };
    let other = match (a, b) {
        (Type::Nothing, other) | (other, Type::Nothing) => other,
        _ => return false,
    };
    let mut to = block;
    for _ in 0..MOST_BLOCKS {
        let [from] = *bb.predecessors(to) else { return false };
        if let Some((_, Instruction { stmt: Stmt::GotoIfNot(branch), .. })) = bb.terminator(from)
            && bb.next(from) != Some(branch.dest)
            && let Some(asks) = branch.cond.as_value().and_then(|cond| bb.stmt(cond))
            && let Some((primitive, [value, of])) = module.primitive_call(asks)
            && value == operand
        {
            let holds = to != branch.dest;
            let asked = match (primitive.name, of.as_constant(), module.callee(of)) {
                ("isa", Some(Constant::Type(ty)), _) => Some((**ty).clone()),
                ("isa", _, Some(Callee::Type(ty))) => Some(ty),
                ("===", Some(Constant::Nothing), _) => Some(Type::Nothing),
                _ => None,
            };
            match asked {
                Some(Type::Nothing) => return holds,
                Some(ty) if ty == *other => return !holds,
                _ => {}
            }
        }
        to = from;
    }
    false
}

/// Whether the entry reaches a return without these blocks.
fn returns_without(bb: &BBCode, blocks: HashSet<BlockId>) -> bool {
    let mut seen = blocks;
    let mut work: Vec<BlockId> = bb.entry().into_iter().collect();
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        if bb.terminator(block).is_some_and(|(_, inst)| matches!(&inst.stmt, Stmt::Return(ret) if ret.value.is_some()))
        {
            return true;
        }
        work.extend(bb.successors(block));
    }
    false
}

/// Ends a block behind a statement.
fn end_behind(bb: &mut BBCode, block: BlockId, id: InstId) -> Result<(), EditError> {
    let next = bb.insts(block).map(|(other, _)| other).skip_while(|other| *other != id).nth(1);
    let line = bb.inst(id).map(|inst| inst.line).unwrap_or_default();
    let written = |stmt| NewInstruction::new(stmt, Type::Any).with_line(line);
    let next = match next {
        Some(next) => next,
        None => bb.push(block, written(Stmt::Value(Operand::nothing())))?,
    };
    // The rest is a block that nothing reaches, from which the edges lead that are gone.
    bb.split_block(next)?;
    if let Some(inst) = bb.inst_mut(id) {
        inst.ty = Type::Bottom;
    }
    bb.push(block, written(Stmt::unreachable()))?;
    bb.set_next(block, None)
}
