//! Random code in blocks that are laid out anyhow, with switches.

use std::convert::Infallible;

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids, InstId, OddEdges, Switch};
use ircode::{Constant, Function, NewInstruction, Operand, Rename, Stmt, Type};

/// As [`anything`](super::anything), keyed by ID: branches have become switches, blocks were put on edges, and the
/// layout is shuffled, so that most fallthroughs go elsewhere than to the next block.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn anything_bbcode(u: &mut Unstructured<'_>) -> Result<Function<BBCode>> {
    let function = super::anything(u)?;
    let refused = |_| arbitrary::Error::IncorrectFormat;
    let body = match function.body.new_nodes.is_empty() {
        true => function.body.clone(),
        false => function.body.compact().map_err(|_| arbitrary::Error::IncorrectFormat)?.ir,
    };
    let mut bb = BBCode::try_from(&body).map_err(refused)?;
    for block in bb.blocks().collect::<Vec<_>>() {
        match u.int_in_range(0..=5)? {
            0 | 1 => branch_to_switch(u, &mut bb, block)?,
            2 => put_on_fallthrough(&mut bb, block),
            _ => {}
        }
    }
    if u.ratio(2, 3)? {
        bb = shuffled(u, &bb)?;
    }
    Ok(Function {
        name: function.name,
        parameters: function.parameters,
        varargs: function.varargs,
        result: function.result,
        body: bb,
    })
}

/// Lets a branch be a switch to the same blocks, so that no φ has anything to learn.
fn branch_to_switch(u: &mut Unstructured<'_>, bb: &mut BBCode, block: BlockId) -> Result<()> {
    let Some((last, terminator)) = bb.terminator(block) else { return Ok(()) };
    let condition = |u: &mut Unstructured<'_>| -> Result<Operand<Ids>> {
        Ok(match u.ratio(1, 2)? {
            true => Operand::argument(1),
            false => Constant::bool(u.arbitrary()?).into(),
        })
    };
    let switch = match (&terminator.stmt, bb.next(block)) {
        (Stmt::Goto(goto), _) => {
            let mut branches = Vec::new();
            for _ in 0..u.int_in_range(0..=2)? {
                branches.push((condition(u)?, goto.label));
            }
            Switch::new(branches, goto.label)
        }
        (Stmt::GotoIfNot(goto), Some(next)) => {
            let mut branches = vec![(goto.cond.clone(), goto.dest)];
            for _ in 0..u.int_in_range(0..=2)? {
                branches.push((condition(u)?, *u.choose(&[goto.dest, next])?));
            }
            Switch::new(branches, next)
        }
        _ => return Ok(()),
    };
    // A block that is not reached may have edges of its own kind; those stay with the branch they were of.
    if bb.block(block).is_some_and(|block| block.odd_edges().is_some_and(|odd| !odd.missing_succs.is_empty())) {
        return Ok(());
    }
    if bb.replace(last, Stmt::Switch(switch)).is_ok() {
        // The block is there.
        let _ = bb.set_next(block, None);
    }
    Ok(())
}

/// Puts an empty block on the way on which control falls out of one.
fn put_on_fallthrough(bb: &mut BBCode, block: BlockId) {
    let Some(next) = bb.next(block) else { return };
    let last = bb.last_inst(block).and_then(|last| bb.stmt(last));
    let mut also_jumps = false;
    if let Some(last) = last {
        last.for_each_target(|target| also_jumps |= target == next);
        if !last.falls_through() || matches!(last, Stmt::Call(_)) {
            return;
        }
    }
    if also_jumps {
        return;
    }
    let Ok(between) = bb.insert_block_after(block) else { return };
    // Both blocks are there.
    let _ = bb.set_next(between, Some(next));
    let _ = bb.set_next(block, Some(between));
    let phis: Vec<InstId> = bb.phi_nodes(next).map(|(id, _)| id).collect();
    for phi in phis {
        if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
            phi.entries.iter_mut().filter(|entry| entry.edge == block).for_each(|entry| entry.edge = between);
        }
    }
}

/// The same code with its blocks in another order; the entry stays the first.
fn shuffled(u: &mut Unstructured<'_>, bb: &BBCode) -> Result<BBCode> {
    let mut order: Vec<BlockId> = bb.blocks().collect();
    for at in 1..order.len() {
        let other = u.int_in_range(at..=order.len() - 1)?;
        order.swap(at, other);
    }
    let mut new = BBCode::new(bb.argtypes.clone());
    new.sptypes.clone_from(&bb.sptypes);
    new.debuginfo = bb.debuginfo.clone();
    new.julia = bb.julia;
    new.meta.clone_from(&bb.meta);
    let mut rename = Renaming { blocks: Vec::new(), insts: Vec::new() };
    for &block in &order {
        let copy = new.push_block();
        rename.blocks.push((block, copy));
        for inst in bb.inst_ids(block) {
            // Names come first, as a φ may name what follows.
            let placeholder = new.push(copy, NewInstruction::new(Stmt::nothing(), Type::Nothing));
            rename.insts.extend(placeholder.ok().map(|placeholder| (inst, placeholder)));
        }
    }
    for (old, copy) in rename.insts.clone() {
        if let (Some(inst), Some(place)) = (bb.inst(old), new.inst_mut(copy)) {
            let Ok(stmt) = inst.stmt.map_names(&mut rename);
            *place = ircode::Instruction {
                stmt,
                ty: inst.ty.clone(),
                info: inst.info.clone(),
                line: inst.line,
                flag: inst.flag,
            };
        }
    }
    for (old, copy) in rename.blocks.clone() {
        // All blocks are there.
        let _ = new.set_next(copy, bb.next(old).map(|next| rename.block_name(next)));
        if let Some(odd) = bb.block(old).and_then(|block| block.odd_edges()) {
            let all = |blocks: &[BlockId]| blocks.iter().map(|&block| rename.block_name(block)).collect();
            let odd = OddEdges {
                virtual_preds: odd.virtual_preds,
                extra_succs: all(&odd.extra_succs),
                missing_succs: all(&odd.missing_succs),
                extra_preds: all(&odd.extra_preds),
                stale_preds: all(&odd.stale_preds),
            };
            let _ = new.set_odd_edges(copy, odd);
        }
    }
    Ok(new)
}

struct Renaming {
    blocks: Vec<(BlockId, BlockId)>,
    insts: Vec<(InstId, InstId)>,
}

impl Renaming {
    fn block_name(&self, block: BlockId) -> BlockId {
        self.blocks.iter().find(|(old, _)| *old == block).map_or(block, |(_, new)| *new)
    }
}

impl Rename<Ids, Ids> for Renaming {
    type Error = Infallible;

    fn value(&mut self, value: InstId) -> std::result::Result<InstId, Infallible> {
        Ok(self.insts.iter().find(|(old, _)| *old == value).map_or(value, |(_, new)| *new))
    }

    fn block(&mut self, block: BlockId) -> std::result::Result<BlockId, Infallible> {
        Ok(self.block_name(block))
    }

    fn switch(&mut self, switch: &Switch<Ids>) -> std::result::Result<Switch<Ids>, Infallible> {
        let branches = switch.conds().iter().zip(switch.dests());
        let branches = branches.map(|(cond, &dest)| (rename_operand(self, cond), self.block_name(dest)));
        Ok(Switch::new(branches.collect::<Vec<_>>(), self.block_name(switch.fallthrough_dest())))
    }
}

fn rename_operand(rename: &Renaming, operand: &Operand<Ids>) -> Operand<Ids> {
    match operand {
        Operand::Value(value) => {
            Operand::Value(rename.insts.iter().find(|(old, _)| old == value).map_or(*value, |(_, new)| *new))
        }
        other => other.clone(),
    }
}
