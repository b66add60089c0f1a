//! Lets calls of what nobody knows end the run, as they do.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Callee, Head, Instruction, Module, NewInstruction, Operand, Stmt, Type};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "unknown-calls";

/// Ends the code behind each call of a function that is neither in the module nor a primitive, and behind each call of a foreign function of which nothing
/// is known, where a run can return without them. True if there was one.
///
/// Such a call is an error when it runs, so what stands behind it does not. That matters to derivatives: code that chooses between methods when it runs, as
/// much of Julia's library does, has ways that these arguments never take. Where every run that returns would come to such a call the code stays as it is, so
/// that whoever asks for its derivative learns at once what is missing. In functions that catch errors, and in listings that do not say their own name, which
/// may be the one that is called, everything stays, too.
///
/// Foreign functions that copy elements are known to [`copy_elements`](crate::copy_elements), which comes first.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let catches = bb.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_)));
    if catches || context.function.is_empty() {
        return Ok(false);
    }
    let ends = |inst: &Instruction<Ids>| inst.ty != Type::Bottom && is_unknown(context.module, &inst.stmt);
    let first_in = |block| bb.insts(block).find(|(_, inst)| ends(inst)).map(|(id, _)| (block, id));
    let first: Vec<(BlockId, InstId)> = bb.blocks().filter_map(first_in).collect();
    if first.is_empty() || !returns_without(bb, first.iter().map(|(block, _)| *block).collect()) {
        return Ok(false);
    }
    for (block, id) in first {
        end_behind(bb, block, id)
            .map_err(|error| PassError::new(NAME, context.function, error.to_string()).at(bb, id))?;
    }
    bb.remove_unreachable_blocks();
    Ok(true)
}

/// Whether a statement calls something by a name of which nothing is known.
fn is_unknown(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    if module.primitive_call(stmt).is_some() {
        return false;
    }
    match (module.called(stmt), stmt) {
        (_, Stmt::Expr(expr)) => expr.head == Head::Foreigncall,
        (Some(Callee::Unknown(path)), Stmt::Call(_) | Stmt::Invoke(_)) => {
            let name = path.rsplit('.').next().unwrap_or(&path);
            // What calls others with the elements of tuples is done by the interpreter, which chooses between methods, too.
            !path.starts_with("Core._apply") && module.methods(&path).is_empty() && module.methods(name).is_empty()
        }
        _ => false,
    }
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
