//! Lets edges on which a condition is known go straight to where it leads.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::graph::LoopForest;
use ircode::{Constant, LineInfo, Module, NewInstruction, Operand, PhiEntry, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::effects::effects;
use crate::constant_folding::folded;
use crate::manager::Context;
use crate::mem2reg;

/// The pass's name on the command line.
pub const NAME: &str = "jump-threading";

/// A block of more statements between its φs and its condition is not looked at: what is known on an edge is found by
/// going through them once for each edge.
const MAX_STATEMENTS: usize = 8;

/// Lets control that comes to a block by an edge on which the condition at its end is known go straight to where that
/// leads. True if there was such an edge.
///
/// The condition is known where it is a φ that takes a constant from the edge, or is computed from such φs. The block
/// holds nothing else that has an effect or is needed elsewhere, but for its φs. Edges that go the same way share a new
/// block with φs for what they bring. What the block defined and is used further on is a variable then, of which
/// [`mem2reg`] makes values. Headers of loops are left alone: loops stay loops with one entry.
///
/// Julia's `for` loops are full of such blocks: a branch sets a flag, and the flag is tested right behind. After this
/// pass and [`simplify-cfg`](crate::simplify_cfg) the loop is a test before it, and one at the end of each round.
///
/// Blocks are visited once, in reverse postorder, so that what is known in one is known in the next. It takes time
/// linear in the function, but for [`mem2reg`].
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    bb.name_phi_edges();
    let graph = bb.cfg();
    let loops = graph.loops();
    let candidates = candidates(bb, context.module, &graph, &loops);
    if candidates.is_empty() {
        return Ok(false);
    }
    let before = bb.clone();
    let mut threader = Threader { module: context.module, preds: HashMap::new(), slots: SecondaryMap::new() };
    for &block in graph.order() {
        let mut preds: Vec<BlockId> = graph.predecessors(block).collect();
        preds.sort_unstable();
        threader.preds.insert(block, preds);
    }
    let mut changed = false;
    for block in candidates {
        changed |= threader.thread(bb, block).unwrap_or(false);
    }
    Ok(changed && mem2reg::promote_all(bb, context.module, &threader.slots, before))
}

/// The blocks that can be gone around, in reverse postorder.
fn candidates(bb: &BBCode, module: &Module<BBCode>, graph: &BlockGraph, loops: &LoopForest) -> Vec<BlockId> {
    let mut is_header = vec![false; graph.order().len()];
    for (_, found) in loops.iter() {
        if let Some(header) = is_header.get_mut(found.header) {
            *header = true;
        }
    }
    let mut order = graph.graph().postorder();
    order.reverse();
    let in_irreducible = |number: usize| {
        let mut at = loops.innermost(number);
        while let Some(found) = at.and_then(|id| loops.get(id)) {
            if found.irreducible {
                return true;
            }
            at = found.parent;
        }
        false
    };
    // Where loops have several entries, any block may be one.
    let any_irreducible = loops.iter().any(|(_, found)| found.irreducible);
    let fits = |&number: &usize| {
        let Some(block) = graph.block(number) else { return false };
        number != 0
            && is_header.get(number) == Some(&false)
            && !(any_irreducible && in_irreducible(number))
            && !bb.has_odd_edges(block)
            && tests_a_phi(bb, module, block)
    };
    order.into_iter().filter(fits).filter_map(|number| graph.block(number)).collect()
}

/// Whether a block has φs, little else, and ends with a condition that it computes from them.
fn tests_a_phi(bb: &BBCode, module: &Module<BBCode>, block: BlockId) -> bool {
    let Some((last, inst)) = bb.terminator(block) else { return false };
    let Stmt::GotoIfNot(goto) = &inst.stmt else { return false };
    let (Some(cond), Some(next)) = (goto.cond.as_value(), bb.next(block)) else { return false };
    if next == goto.dest || bb.block_of(cond) != Some(block) {
        return false;
    }
    let Some((last_phi, _)) = bb.phi_nodes(block).last() else { return false };
    let mut at = bb.next_inst(last_phi);
    for _ in 0..=MAX_STATEMENTS {
        match at {
            Some(id) if id == last => return true,
            Some(id) if bb.inst(id).is_some_and(|inst| is_plain(bb, module, inst)) => at = bb.next_inst(id),
            _ => return false,
        }
    }
    false
}

/// Whether a statement does nothing but give a value.
fn is_plain(bb: &BBCode, module: &Module<BBCode>, inst: &ircode::Instruction<Ids>) -> bool {
    let kind = match &inst.stmt {
        Stmt::Call(_) | Stmt::Invoke(_) | Stmt::Pi(_) => true,
        Stmt::Value(operand) => !matches!(operand, Operand::Global(_) | Operand::Nested(_)),
        _ => false,
    };
    let effects = effects(module, bb, inst);
    kind && inst.ty != Type::Bottom && !(effects.throws || effects.reads || effects.writes || effects.allocates)
}

/// What the values of a block are when control comes by an edge; `None` for what is undefined.
type Known = HashMap<InstId, Option<Operand<Ids>>>;

/// A φ, and what it takes from an edge.
type Taken = (InstId, Option<Operand<Ids>>);

struct Threader<'m> {
    module: &'m Module<BBCode>,
    /// The predecessors of each block, sorted, kept up to date; one that has two edges to the block comes twice.
    preds: HashMap<BlockId, Vec<BlockId>>,
    /// The variables that were made of values.
    slots: SecondaryMap<InstId, ()>,
}

impl Threader<'_> {
    /// Lets edges to a block go around it. False if there is none on which its condition is known; `None` where nothing
    /// can be inserted, which is nowhere.
    fn thread(&mut self, bb: &mut BBCode, block: BlockId) -> Option<bool> {
        let preds = self.preds.get(&block).cloned().unwrap_or_default();
        let (_, terminator) = bb.terminator(block)?;
        let Stmt::GotoIfNot(goto) = &terminator.stmt else { return Some(false) };
        let (cond, line, targets) = (goto.cond.as_value()?, terminator.line, [goto.dest, bb.next(block)?]);
        let insts: Vec<InstId> = bb.inst_ids(block).collect();
        let escaping: Vec<InstId> = insts.iter().copied().filter(|&id| escapes(bb, id, block)).collect();
        let mut ways: [Vec<(BlockId, Known)>; 2] = Default::default();
        let entries = entries_by_edge(bb, &insts);
        for (position, &pred) in preds.iter().enumerate() {
            let twice =
                preds.get(position + 1) == Some(&pred) || position > 0 && preds.get(position - 1) == Some(&pred);
            if twice || !can_retarget(bb, pred) {
                continue;
            }
            let known = self.known(bb, &insts, entries.get(&pred).map(Vec::as_slice).unwrap_or_default());
            let Some(Some(Operand::Constant(Constant::Scalar(Scalar::Bool(holds))))) = known.get(&cond) else {
                continue;
            };
            let way = usize::from(*holds);
            if escaping.iter().all(|value| known.contains_key(value)) {
                ways[way].push((pred, known));
            }
        }
        if ways.iter().all(Vec::is_empty) {
            return Some(false);
        }
        let mut slots: Vec<(InstId, InstId)> = Vec::new();
        for &value in &escaping {
            if is_used_elsewhere(bb, value, block) {
                slots.push((value, self.make_slot(bb, block, value)?));
            }
        }
        let mut left = preds;
        for (target, way) in targets.into_iter().zip(ways) {
            if way.is_empty() {
                continue;
            }
            left.retain(|pred| way.binary_search_by_key(pred, |(pred, _)| *pred).is_err());
            self.go_around(bb, block, target, line, &way, &slots)?;
        }
        self.preds.insert(block, left);
        Some(true)
    }

    /// What is known of the values of a block where its φs have these values.
    fn known(&self, bb: &BBCode, insts: &[InstId], entries: &[Taken]) -> Known {
        let mut known: Known = entries.iter().cloned().collect();
        for &id in insts {
            let Some(inst) = bb.inst(id) else { continue };
            if matches!(inst.stmt, Stmt::Phi(_)) {
                // An edge that a φ does not name leaves it undefined.
                known.entry(id).or_insert(None);
                continue;
            }
            let mut all = true;
            let mut stmt = inst.stmt.clone();
            stmt.for_each_operand_mut(&mut |operand| {
                if let Some(of) = operand.as_value().and_then(|value| known.get(&value)) {
                    match of {
                        Some(of) => *operand = of.clone(),
                        None => all = false,
                    }
                }
            });
            if let Some(value) = all.then(|| self.value_of(&stmt)).flatten() {
                known.insert(id, Some(value));
            }
        }
        known
    }

    /// The operand that a statement is, if it is one.
    fn value_of(&self, stmt: &Stmt<Ids>) -> Option<Operand<Ids>> {
        match stmt {
            Stmt::Value(value @ Operand::Constant(_)) => Some(value.clone()),
            Stmt::Pi(pi) if pi.value.as_constant().is_some() => Some(pi.value.clone()),
            Stmt::Call(_) | Stmt::Invoke(_) => {
                let (primitive, args) = self.module.primitive_call(stmt)?;
                folded(self.module, primitive, args).filter(|value| value.as_constant().is_some())
            }
            _ => None,
        }
    }

    /// Makes a variable of a value that is used outside of its block.
    fn make_slot(&mut self, bb: &mut BBCode, block: BlockId, value: InstId) -> Option<InstId> {
        let (ty, line) = bb.inst(value).map(|inst| (inst.ty.clone(), inst.line))?;
        let call = |name: &str, args: Vec<Operand<Ids>>, ty: Type| {
            NewInstruction::new(Stmt::call(Operand::global("BBKit", name), args), ty).with_line(line)
        };
        let uses: Vec<InstId> = {
            let mut uses = bb.users(value);
            uses.sort_unstable();
            uses.dedup();
            uses
        };
        let of = Operand::Constant(Constant::of_type(ty.clone()));
        // Before the φs of the first block nothing can stand.
        let entry = bb.entry()?;
        let new = call("new_slot", vec![of], Type::slot(ty.clone()));
        let slot = match bb.phi_nodes(entry).last().map(|(id, _)| id) {
            Some(phi) => bb.insert_after(phi, new).ok()?,
            None => bb.insert_at_start(entry, new).ok()?,
        };
        self.slots.insert(slot, ());
        let get = || call("slot_get", vec![Operand::Value(slot)], ty.clone());
        for user in uses {
            let home = bb.block_of(user)?;
            let edges = match bb.stmt(user)? {
                Stmt::Phi(phi) => {
                    let of_value = |entry: &&PhiEntry<Ids>| {
                        entry.edge != block && entry.value.as_ref().and_then(Operand::as_value) == Some(value)
                    };
                    phi.entries.iter().filter(of_value).map(|entry| entry.edge).collect::<Vec<_>>()
                }
                _ if home == block => continue,
                _ => {
                    let read = bb.insert_before(user, get()).ok()?;
                    bb.inst_mut(user)?.stmt.for_each_operand_mut(&mut |operand| {
                        if operand.as_value() == Some(value) {
                            *operand = Operand::Value(read);
                        }
                    });
                    continue;
                }
            };
            for edge in edges {
                let read = bb.insert_before_terminator(edge, get()).ok()?;
                if let Some(Stmt::Phi(phi)) = bb.stmt_mut(user) {
                    for entry in phi.entries.iter_mut().filter(|entry| entry.edge == edge) {
                        entry.value = Some(Operand::Value(read));
                    }
                }
            }
        }
        let set = call("slot_set!", vec![Operand::Value(slot), Operand::Value(value)], Type::Nothing);
        let after = match bb.stmt(value)? {
            Stmt::Phi(_) => bb.phi_nodes(block).last().map(|(id, _)| id)?,
            _ => value,
        };
        bb.insert_after(after, set).ok()?;
        Some(slot)
    }

    /// Lets control that comes from these predecessors go to the target by way of a new block.
    fn go_around(
        &mut self,
        bb: &mut BBCode,
        block: BlockId,
        target: BlockId,
        line: LineInfo,
        way: &[(BlockId, Known)],
        slots: &[(InstId, InstId)],
    ) -> Option<()> {
        let new = bb.insert_block_after(block).ok()?;
        bb.push(new, NewInstruction::new(Stmt::goto(target), Type::Any).with_line(line)).ok()?;
        let mut made: Known = HashMap::new();
        for &(value, slot) in slots {
            let brought = bring(bb, new, way, value, &mut made)?;
            let line = bb.inst(value).map_or(LineInfo::NONE, |inst| inst.line);
            if let Some(brought) = brought {
                let set = Stmt::call(Operand::global("BBKit", "slot_set!"), [Operand::Value(slot), brought]);
                bb.insert_before_terminator(new, NewInstruction::new(set, Type::Nothing).with_line(line)).ok()?;
            }
        }
        let phis: Vec<InstId> = bb.phi_nodes(target).map(|(id, _)| id).collect();
        for phi in phis {
            let node = bb.stmt(phi).and_then(Stmt::as_phi)?;
            let Some(entry) = node.entries.iter().find(|entry| entry.edge == block) else { continue };
            let value = match &entry.value {
                Some(Operand::Value(value)) if bb.block_of(*value) == Some(block) => {
                    bring(bb, new, way, *value, &mut made)?
                }
                value => value.clone(),
            };
            if let Some(Stmt::Phi(node)) = bb.stmt_mut(phi) {
                node.entries.push(PhiEntry { edge: new, value });
            }
        }
        let gone = |edge: &BlockId| way.binary_search_by_key(edge, |(pred, _)| *pred).is_ok();
        let phis: Vec<InstId> = bb.phi_nodes(block).map(|(id, _)| id).collect();
        for phi in phis {
            if let Some(Stmt::Phi(node)) = bb.stmt_mut(phi) {
                node.entries.retain(|entry| !gone(&entry.edge));
            }
        }
        for (pred, _) in way {
            bb.retarget_unchecked(*pred, block, new);
        }
        self.preds.insert(new, way.iter().map(|(pred, _)| *pred).collect());
        let of_target = self.preds.entry(target).or_default();
        let place = of_target.partition_point(|pred| *pred < new);
        of_target.insert(place, new);
        Some(())
    }
}

/// What a value is in the new block: one operand for all edges, or a φ; the inner `None` if it is undefined on all.
fn bring(
    bb: &mut BBCode,
    new: BlockId,
    way: &[(BlockId, Known)],
    value: InstId,
    made: &mut Known,
) -> Option<Option<Operand<Ids>>> {
    if let Some(known) = made.get(&value) {
        return Some(known.clone());
    }
    let of = |known: &Known| known.get(&value).cloned().flatten();
    let first = way.first().and_then(|(_, known)| of(known));
    let brought = match way.iter().all(|(_, known)| of(known) == first) {
        true if first.as_ref().is_none_or(|first| first.as_constant().is_some()) => first,
        _ => {
            let (ty, line) = bb.inst(value).map(|inst| (inst.ty.clone(), inst.line))?;
            let phi = Stmt::phi(way.iter().map(|(pred, known)| (*pred, of(known))));
            let phi = NewInstruction::new(phi, ty).with_line(line);
            Some(Operand::Value(bb.insert_at_start(new, phi).ok()?))
        }
    };
    made.insert(value, brought.clone());
    Some(brought)
}

/// What the φs among these statements take from each edge.
fn entries_by_edge(bb: &BBCode, insts: &[InstId]) -> HashMap<BlockId, Vec<Taken>> {
    let mut entries: HashMap<BlockId, Vec<Taken>> = HashMap::new();
    for &id in insts {
        let Some(Stmt::Phi(phi)) = bb.stmt(id) else { continue };
        for entry in &phi.entries {
            entries.entry(entry.edge).or_default().push((id, entry.value.clone()));
        }
    }
    entries
}

/// Whether the edges of a block can be led elsewhere, all that go to one block together.
fn can_retarget(bb: &BBCode, block: BlockId) -> bool {
    let plain = !bb.has_odd_edges(block);
    let fixed = matches!(bb.terminator(block).map(|(_, inst)| &inst.stmt), Some(Stmt::Enter(_)));
    plain && !fixed
}

/// Whether a value is used outside of its block, or by a φ that takes it from there.
fn escapes(bb: &BBCode, value: InstId, block: BlockId) -> bool {
    bb.users(value).into_iter().any(|user| bb.block_of(user) != Some(block) || is_phi(bb, user))
}

/// Whether a value is used outside of its block, and not just where a φ takes it from there.
fn is_used_elsewhere(bb: &BBCode, value: InstId, block: BlockId) -> bool {
    bb.users(value).into_iter().any(|user| match bb.stmt(user) {
        Some(Stmt::Phi(phi)) => phi
            .entries
            .iter()
            .any(|entry| entry.edge != block && entry.value.as_ref().and_then(Operand::as_value) == Some(value)),
        _ => bb.block_of(user) != Some(block),
    })
}

fn is_phi(bb: &BBCode, id: InstId) -> bool {
    matches!(bb.stmt(id), Some(Stmt::Phi(_)))
}
