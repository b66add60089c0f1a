//! The form of control flow in which linear maps travel along edges.

use bbcode::{BBCode, BlockId, EditError};
use ircode::{LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type};

use crate::PassError;
use crate::manager::Context;
use crate::preheaders::Preheaders;
use crate::reverse_mode::NAME;
use crate::split_critical_edges;

/// Brings a function into this form: there is one block that returns, nothing goes to the entry, each loop with one
/// entry has a block before it that goes nowhere else, and each edge has a place of its own: the end of its source, or
/// the start of its target.
pub(in crate::reverse_mode) fn normalize(
    bb: &mut BBCode,
    module: &Module<BBCode>,
    name: &Name,
) -> Result<(), PassError> {
    let error = |error: EditError| PassError::because(NAME, name, error);
    bb.name_phi_edges();
    unite_returns(bb).map_err(error)?;
    free_entry(bb).map_err(error)?;
    let graph = bb.cfg();
    let forest = graph.loops();
    let mut preheaders = Preheaders::new(&graph, &forest);
    let loops: Vec<_> = forest.iter().filter(|(_, found)| !found.irreducible).map(|(id, _)| id).collect();
    for id in loops {
        preheaders.of(bb, id);
    }
    split_critical_edges::run(bb, &Context { module, function: name })?;
    Ok(())
}

/// Lets all returns go to one block, where a φ takes what each returned.
fn unite_returns(bb: &mut BBCode) -> Result<(), EditError> {
    let blocks: Vec<BlockId> = bb.cfg().order().to_vec();
    let mut returned = Vec::new();
    for block in blocks {
        if let Some((id, inst)) = bb.terminator(block)
            && let Stmt::Return(ret) = &inst.stmt
            && let Some(value) = &ret.value
        {
            returned.push((block, id, value.clone()));
        }
    }
    if returned.len() < 2 {
        return Ok(());
    }
    let exit = bb.push_block();
    let ty = Type::union(returned.iter().map(|(_, _, value)| bb.operand_type(value)));
    let line = returned.last().map_or(LineInfo::NONE, |(block, _, _)| bb.last_line(*block));
    let entries = returned.iter().map(|(block, _, value)| (*block, Some(value.clone())));
    let phi = NewInstruction::new(Stmt::phi(entries.collect::<Vec<_>>()), ty).with_line(line);
    let phi = bb.push(exit, phi)?;
    bb.push(exit, NewInstruction::new(Stmt::ret(Operand::Value(phi)), Type::Any).with_line(line))?;
    for (_, id, _) in returned {
        bb.replace(id, Stmt::goto(exit))?;
        // A return may have a type, and a goto has none.
        if let Some(inst) = bb.inst_mut(id) {
            inst.ty = Type::Any;
        }
    }
    Ok(())
}

/// Puts a block before the entry, if something goes there.
pub(crate) fn free_entry(bb: &mut BBCode) -> Result<(), EditError> {
    let Some(entry) = bb.entry() else { return Ok(()) };
    if bb.cfg().predecessors(entry).next().is_none() {
        return Ok(());
    }
    let line = bb.last_line(entry);
    let new = bb.insert_block_before(entry)?;
    bb.push(new, NewInstruction::new(Stmt::goto(entry), Type::Any).with_line(line))?;
    crate::reverse_mode::forward::move_virtual_edge(bb, entry, new)
}
