//! Making φs smaller.

use bbcode::{BlockId, InstId};
use ircode::{Module, Name, Stmt};
use passes::Replacements;

use super::Reducer;

/// Lets φs be others of their block and type, then removes entries, then puts what is left of a φ with one value in its
/// place.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    let mut pairs: Vec<(Name, InstId, InstId)> = Vec::new();
    for (name, block) in reducer.blocks() {
        let Some(body) = reducer.state.function(&name).map(|function| &function.body) else { continue };
        let phis: Vec<_> = body.phi_nodes(block).collect();
        for (at, (id, inst)) in phis.iter().enumerate().skip(1) {
            let earlier = phis[..at].iter().rev().find(|(_, other)| other.ty == inst.ty);
            pairs.extend(earlier.map(|(other, _)| (name.clone(), *id, *other)));
        }
    }
    pairs.reverse();
    reducer.each(pairs, |module, (name, id, other)| {
        let Some(body) = module.body_mut(name) else { return false };
        if body.inst(*id).is_none() || body.inst(*other).is_none() {
            return false;
        }
        let mut replaced = Replacements::new();
        replaced.insert(*id, ircode::Operand::Value(*other));
        replaced.apply(body);
        body.remove_unchecked(*id).is_ok()
    });
    let mut entries: Vec<(Name, InstId, BlockId)> = Vec::new();
    for (name, id) in reducer.statements() {
        if let Some(Stmt::Phi(phi)) = reducer.state.function(&name).and_then(|function| function.body.stmt(id)) {
            entries.extend(phi.entries.iter().map(|entry| (name.clone(), id, entry.edge)));
        }
    }
    reducer.each(entries, |module, (name, id, edge)| {
        let Some(Stmt::Phi(phi)) = module.body_mut(name).and_then(|body| Some(&mut body.inst_mut(*id)?.stmt)) else {
            return false;
        };
        let before = phi.entries.len();
        phi.entries.retain(|entry| entry.edge != *edge);
        phi.entries.len() < before
    });
    let statements = reducer.statements();
    reducer.each(statements, |module, (name, id)| single(module, name, *id));
}

/// Puts the value of a φ in its place, if all its edges bring the same.
fn single(module: &mut Module<bbcode::BBCode>, name: &Name, id: InstId) -> bool {
    let Some(body) = module.body_mut(name) else { return false };
    let Some(Stmt::Phi(phi)) = body.stmt(id) else { return false };
    let mut values =
        phi.entries.iter().filter_map(|entry| entry.value.clone()).filter(|value| value.as_value() != Some(id));
    let Some(value) = values.next() else { return false };
    if values.any(|other| other != value) {
        return false;
    }
    let mut replaced = Replacements::new();
    replaced.insert(id, value);
    replaced.apply(body);
    body.remove_unchecked(id).is_ok()
}
