//! Removing statements.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Instruction, Module, Name, Operand, Stmt};
use passes::Replacements;

use super::{Reducer, argument_of_type, simplest};

/// What takes the place of a statement's value.
type Replacement = fn(&BBCode, &Instruction<Ids>) -> Option<Operand<Ids>>;

/// From the last to the first, so that what uses a value goes before it.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    for replacement in [constant as Replacement, operand, argument] {
        let mut statements = reducer.statements();
        statements.reverse();
        reducer.each_part(statements, |module, gone| {
            let mut module = module.clone();
            let mut removed = false;
            for part in gone.chunk_by(|a, b| a.0 == b.0) {
                removed |= remove(&mut module, part, replacement);
            }
            removed.then_some(module)
        });
    }
}

fn constant(_: &BBCode, inst: &Instruction<Ids>) -> Option<Operand<Ids>> {
    simplest(&inst.ty)
}

fn argument(bb: &BBCode, inst: &Instruction<Ids>) -> Option<Operand<Ids>> {
    argument_of_type(bb, &inst.ty)
}

fn operand(bb: &BBCode, inst: &Instruction<Ids>) -> Option<Operand<Ids>> {
    let mut found = None;
    inst.stmt.for_each_operand(&mut |operand| {
        if found.is_none() && bb.operand_type(operand) == inst.ty {
            found = Some(operand.clone());
        }
    });
    found
}

/// Removes statements of a function that are no terminators. What has uses and no replacement stays.
/// False if nothing was removed.
fn remove(module: &mut Module<BBCode>, statements: &[(Name, InstId)], replacement: Replacement) -> bool {
    let Some(bb) = statements.first().and_then(|(name, _)| module.body_mut(name)) else { return false };
    let mut used: HashSet<InstId> = HashSet::new();
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_use(|value| {
            used.insert(value);
        });
    }
    let mut replaced = Replacements::new();
    let mut gone = Vec::new();
    for &(_, id) in statements {
        let Some(inst) = bb.inst(id).filter(|inst| !inst.stmt.is_terminator()) else { continue };
        // A `nothing` that a block consists of would only be put there again.
        let alone = bb.block_of(id).is_some_and(|block| bb.first_inst(block) == bb.last_inst(block));
        if alone && matches!(&inst.stmt, Stmt::Value(value) if value.is_nothing()) {
            continue;
        }
        if used.contains(&id) {
            match replacement(bb, inst) {
                Some(by) => replaced.insert(id, by),
                None => continue,
            }
        }
        gone.push(id);
    }
    replaced.apply(bb);
    for &id in &gone {
        // The statement is there: it was just looked at.
        let _ = bb.remove_unchecked(id);
    }
    !gone.is_empty()
}
