//! Replaces copies by what they are copies of.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use ircode::graph::DomTree;
use ircode::{Constant, Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;
use crate::replace::{Replacements, may_be_of};

/// The pass's name on the command line.
pub const NAME: &str = "copy-propagation";

/// Replaces copies, π that show no narrower type, and φs that bring the same value on all edges — around loops too,
/// where one of the values is the φ itself — by the original, and removes them. True if there was one.
///
/// What stays: a copy or π whose type says more than that of the original, as passes look at types; one of a constant
/// that is not of its type, where the run never comes; a read of a global, which may find it undefined; an object of
/// which only the text is known, as two texts need not be the same object; a φ whose value is not defined where the φ
/// stands. An undefined or missing edge of a φ says that nobody reads the φ when control comes from there, and does not
/// count.
///
/// The rule for φs is that of Braun et al., *Simple and Efficient Construction of Static Single Assignment Form*
/// (2013), applied until nothing changes: in a program without irreducible loops no superfluous φ is left, in one with
/// such loops φs may be that name each other and one other value. Each φ remembers up to where its values are known to
/// be the same, and goes on from there when one of them is replaced, so that all of it takes n log n steps.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let mut search = Search::new(context.module, bb, &graph);
    search.solve(bb, &graph);
    let Search { mut replaced, removed, .. } = search;
    if removed.is_empty() {
        return Ok(false);
    }
    let mut originals = Replacements::new();
    for &id in &removed {
        originals.insert(id, replaced.resolve(&Operand::Value(id)));
    }
    originals.apply(bb);
    for &id in &removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    bb.fill_empty_blocks();
    Ok(true)
}

/// A φ, and how far its values are known to be the same.
struct Phi {
    id: InstId,
    /// The number of its block.
    block: usize,
    /// What it takes from the edges on which control can come.
    values: Vec<Operand<Ids>>,
    /// The values before this one are the φ itself, or the same as the one at `other`.
    at: usize,
    /// The first value that is not the φ itself.
    other: Option<usize>,
    queued: bool,
}

struct Search<'m> {
    module: &'m Module<BBCode>,
    domtree: DomTree,
    replaced: Replacements,
    /// What is replaced, in the order in which it was found.
    removed: Vec<InstId>,
    phis: Vec<Phi>,
    /// The φs, by index, that take a φ from an edge, or what was replaced by that φ.
    users: SecondaryMap<InstId, Vec<usize>>,
}

impl<'m> Search<'m> {
    fn new(module: &'m Module<BBCode>, bb: &BBCode, graph: &BlockGraph) -> Self {
        let domtree = graph.dominators();
        let mut search = Search {
            module,
            domtree,
            replaced: Replacements::new(),
            removed: Vec::new(),
            phis: Vec::new(),
            users: SecondaryMap::new(),
        };
        let reachable = |block: usize| search.domtree.is_reachable(block);
        for (number, &block) in graph.order().iter().enumerate().filter(|(number, _)| reachable(*number)) {
            // The type of the last statement may be all that says why control does not go on.
            for (id, inst) in bb.insts(block).filter(|(_, inst)| inst.ty != Type::Bottom) {
                match &inst.stmt {
                    Stmt::Value(value) if is_copy(module, bb, &inst.ty, value) && !value.is_nothing() => {
                        search.replaced.insert(id, value.clone());
                        search.removed.push(id);
                    }
                    Stmt::Pi(pi) if [&pi.ty, &inst.ty].iter().all(|ty| is_copy(module, bb, ty, &pi.value)) => {
                        search.replaced.insert(id, pi.value.clone());
                        search.removed.push(id);
                    }
                    Stmt::Phi(phi) => {
                        let comes = |edge| graph.number(edge).is_some_and(reachable);
                        let entries = phi.entries.iter().filter(|entry| comes(entry.edge));
                        let values: Vec<_> = entries.filter_map(|entry| entry.value.clone()).collect();
                        search.phis.push(Phi { id, block: number, values, at: 0, other: None, queued: true });
                        search.users.insert(id, Vec::new());
                    }
                    _ => {}
                }
            }
        }
        for (index, phi) in search.phis.iter_mut().enumerate() {
            for value in &mut phi.values {
                *value = search.replaced.resolve(value);
                if let Some(users) = value.as_value().and_then(|value| search.users.get_mut(value)) {
                    users.push(index);
                }
            }
        }
        search
    }

    fn solve(&mut self, bb: &BBCode, graph: &BlockGraph) {
        let mut work: Vec<usize> = (0..self.phis.len()).rev().collect();
        while let Some(index) = work.pop() {
            let Some(value) = self.only_value(index) else { continue };
            let Some(phi) = self.phis.get(index) else { continue };
            let id = phi.id;
            let inside = match value.as_value() {
                Some(value) => {
                    let from = bb.block_of(value).and_then(|block| graph.number(block));
                    from.is_some_and(|from| from != phi.block && self.domtree.dominates(from, phi.block))
                }
                None => true,
            };
            if !inside || bb.inst(id).is_none_or(|inst| !is_copy(self.module, bb, &inst.ty, &value)) {
                continue;
            }
            self.replaced.insert(id, value.clone());
            self.removed.push(id);
            let users = self.users.remove(id).unwrap_or_default();
            for &user in &users {
                if let Some(phi) = self.phis.get_mut(user).filter(|phi| !phi.queued) {
                    phi.queued = true;
                    work.push(user);
                }
            }
            if let Some(others) = value.as_value().and_then(|value| self.users.get_mut(value)) {
                // The smaller list goes to the larger, so that no user moves more than a logarithm of times.
                let mut users = users;
                if users.len() > others.len() {
                    std::mem::swap(&mut users, others);
                }
                others.append(&mut users);
            }
        }
    }

    /// The one value of a φ beside itself, if there is one.
    fn only_value(&mut self, index: usize) -> Option<Operand<Ids>> {
        let phi = self.phis.get_mut(index)?;
        phi.queued = false;
        let mut other = phi.other.and_then(|other| phi.values.get(other)).map(|value| self.replaced.resolve(value));
        if other.as_ref().is_some_and(|other| other.as_value() == Some(phi.id)) {
            other = None;
        }
        while let Some(value) = phi.values.get(phi.at) {
            let value = self.replaced.resolve(value);
            if value.as_value() != Some(phi.id) {
                match &other {
                    Some(other) if *other != value => return None,
                    Some(_) => {}
                    None => {
                        phi.other = Some(phi.at);
                        other = Some(value);
                    }
                }
            }
            phi.at += 1;
        }
        other
    }
}

/// Whether an operand is the same wherever it stands.
fn can_spread(operand: &Operand<Ids>) -> bool {
    match operand {
        Operand::Value(_) | Operand::Argument(_) => true,
        Operand::Constant(constant) => {
            !matches!(constant, Constant::Text(_) | Constant::SSAValue(_) | Constant::Symbol(_))
        }
        Operand::Quote(constant) => !matches!(**constant, Constant::Text(_) | Constant::SSAValue(_)),
        Operand::Global(_) | Operand::Nested(_) => false,
    }
}

/// Whether an operand can stand for a copy of it of this type: the type says nothing that the operand's own does not.
fn is_copy(module: &Module<BBCode>, bb: &BBCode, ty: &Type, operand: &Operand<Ids>) -> bool {
    if !can_spread(operand) {
        return false;
    }
    if ty.is_unknown() {
        return true;
    }
    if operand.as_constant().is_some() {
        return may_be_of(module, bb, operand, ty);
    }
    let known = bb.operand_type(operand);
    !known.is_unknown() && known.members().iter().all(|member| ty.members().contains(member))
}
