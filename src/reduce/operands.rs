//! Replacing operands by simpler ones.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Module, Name, Operand, Stmt, Type};

use super::{Reducer, argument_of_type, simplest};

/// An operand, by its place in a statement.
type Place = (Name, InstId, usize);

/// Replaces values by constants and by arguments, and arguments and globals by constants.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    let places = places(reducer, |operand| matches!(operand, Operand::Value(_) | Operand::Argument(_)));
    reducer.each(places, |module, place| replace(module, place, |_, ty| simplest(ty)));
    let places = self::places(reducer, |operand| matches!(operand, Operand::Value(_)));
    reducer.each(places, |module, place| replace(module, place, argument_of_type));
}

/// The operands of this kind. What a φᶜ, a leave and the like name are no values to compute with.
pub(super) fn places(reducer: &Reducer<'_>, wanted: fn(&Operand<Ids>) -> bool) -> Vec<Place> {
    let mut places = Vec::new();
    for (name, id) in reducer.statements() {
        let Some(stmt) = reducer.state.function(&name).and_then(|function| function.body.stmt(id)) else { continue };
        if matches!(stmt, Stmt::PhiC(_)) {
            continue;
        }
        let callee = usize::from(matches!(stmt, Stmt::Call(_) | Stmt::Invoke(_)));
        let mut index = 0;
        stmt.for_each_operand(&mut |operand| {
            if index >= callee && wanted(operand) {
                places.push((name.clone(), id, index));
            }
            index += 1;
        });
    }
    places
}

/// Rewrites the operand in a place. False if it is not there any more, or there is nothing to put there.
pub(super) fn rewrite(
    module: &mut Module<BBCode>,
    (name, id, place): &Place,
    new: impl FnOnce(&BBCode, &Operand<Ids>) -> Option<Operand<Ids>>,
) -> bool {
    let Some(bb) = module.body_mut(name) else { return false };
    let Some(stmt) = bb.stmt(*id) else { return false };
    let (mut at, mut found) = (0, None);
    stmt.for_each_operand(&mut |operand| {
        if at == *place {
            found = Some(operand.clone());
        }
        at += 1;
    });
    let Some(by) = found.as_ref().and_then(|old| new(bb, old)).filter(|by| Some(by) != found.as_ref()) else {
        return false;
    };
    let (mut at, mut by) = (0, Some(by));
    if let Some(inst) = bb.inst_mut(*id) {
        inst.stmt.for_each_operand_mut(&mut |operand| {
            if at == *place
                && let Some(by) = by.take()
            {
                *operand = by;
            }
            at += 1;
        });
    }
    true
}

fn replace(module: &mut Module<BBCode>, place: &Place, by: fn(&BBCode, &Type) -> Option<Operand<Ids>>) -> bool {
    rewrite(module, place, |bb, old| {
        let old = matches!(old, Operand::Value(_) | Operand::Argument(_)).then_some(old)?;
        by(bb, &bb.operand_type(old))
    })
}
