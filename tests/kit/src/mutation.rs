//! Changes to code that nobody would make: what comes out may be valid or not.

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids, InstId, OddEdges, Switch};
use ircode::{
    BlockNumber, Cfg, Constant, Function, IRCode, InstructionStream, JuliaVersion, LineInfo, LineInfoNode, Names,
    NewInstruction, NewNode, Operand, SSAValue, Stmt, Type,
};

use crate::anything::random_type;

/// Changes a function a few times.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn mutate(u: &mut Unstructured<'_>, function: &mut Function<IRCode>) -> Result<()> {
    for _ in 0..u.int_in_range(1..=4)? {
        mutate_once(u, &mut function.body)?;
    }
    match u.int_in_range(0..=15)? {
        0 => function.varargs = !function.varargs,
        1 => function.parameters.push(Some("extra".into())),
        _ => {}
    }
    Ok(())
}

/// Any position, one too many and the invalid 0 included.
fn position(u: &mut Unstructured<'_>, body: &IRCode) -> Result<SSAValue> {
    Ok(SSAValue(u.int_in_range(0..=u32::try_from(body.value_count()).unwrap_or(0) + 1)?))
}

fn block_number(u: &mut Unstructured<'_>, body: &IRCode) -> Result<BlockNumber> {
    Ok(BlockNumber(u.int_in_range(0..=u32::try_from(body.cfg.blocks.len()).unwrap_or(0) + 1)?))
}

fn operand<N: Names>(u: &mut Unstructured<'_>, value: N::Value) -> Result<Operand<N>> {
    Ok(match u.int_in_range(0..=7)? {
        0..=3 => Operand::Value(value),
        4 => Operand::argument(u.int_in_range(0..=5)?),
        5 => Constant::int64(u.int_in_range(-1..=2)?).into(),
        6 => Operand::nothing(),
        _ => Constant::of_type(Type::FLOAT64).into(),
    })
}

/// Puts another operand in the place of the one of this number, if there are so many.
fn replace_operand<N: Names>(stmt: &mut Stmt<N>, number: usize, new: &Operand<N>) {
    let mut left = number;
    stmt.for_each_operand_mut(&mut |operand| {
        if left == 0 {
            *operand = new.clone();
        }
        left = left.wrapping_sub(1);
    });
}

fn mutate_once(u: &mut Unstructured<'_>, body: &mut IRCode) -> Result<()> {
    let len = body.stmts.len();
    if len == 0 {
        return Ok(());
    }
    let at = u.choose_index(len)?;
    let other = u.choose_index(len)?;
    match u.int_in_range(0..=19)? {
        0..=4 => {
            let value = position(u, body)?;
            let new = operand(u, value)?;
            let number = u.int_in_range(0..=3)?;
            replace_operand(&mut body.stmts.stmts_mut()[at], number, &new);
        }
        5 => body.stmts.stmts_mut().swap(at, other),
        6 | 7 => {
            let target = block_number(u, body)?;
            body.stmts.stmts_mut()[at].for_each_target_mut(|block| *block = target);
            if u.ratio(2, 3)? {
                edges_as_said(body);
            }
        }
        8 | 9 => {
            let edge = block_number(u, body)?;
            let kind = u.int_in_range(0..=3)?;
            let phis = body.stmts.stmts_mut().iter_mut().filter_map(|stmt| match stmt {
                Stmt::Phi(phi) => Some(phi),
                _ => None,
            });
            if let Some(phi) = phis.take(1 + at % 4).last() {
                match (kind, phi.entries.first().cloned()) {
                    (0, Some(first)) => phi.entries.push(first),
                    (1, _) => drop(phi.entries.pop()),
                    (_, Some(_)) => phi.entries[0].edge = edge,
                    (_, None) => phi.entries.push(ircode::PhiEntry { edge, value: None }),
                }
            }
        }
        10 => {
            let block = u.choose_index(body.cfg.blocks.len().max(1))?;
            if let Some(block) = body.cfg.blocks.get_mut(block) {
                match u.int_in_range(0..=3)? {
                    0 => block.stmts.start = at,
                    1 => block.stmts.end = other,
                    2 => block.stmts.end += 1,
                    _ => block.stmts = at..other,
                }
            }
        }
        11 => {
            let edge = block_number(u, body)?;
            let block = u.choose_index(body.cfg.blocks.len().max(1))?;
            if let Some(block) = body.cfg.blocks.get_mut(block) {
                let list = if u.ratio(1, 2)? { &mut block.preds } else { &mut block.succs };
                match u.int_in_range(0..=2)? {
                    0 => list.push(edge),
                    1 => drop(list.pop()),
                    _ => list.iter_mut().take(1).for_each(|first| *first = edge),
                }
            }
        }
        12 => body.stmts.types_mut()[at] = random_type(u)?,
        13 => match u.int_in_range(0..=4)? {
            0 => drop(body.argtypes.pop()),
            1 => body.argtypes.push(random_type(u)?),
            2 => body.argtypes.clear(),
            3 => body.sptypes.push(random_type(u)?),
            _ => body.julia = Some(JuliaVersion::new(1, u.int_in_range(0..=13)?)),
        },
        14 => {
            let number = *u.choose(&[i32::MIN, -1, 0, 1, 2, 1000, i32::MAX])?;
            body.stmts.lines_mut()[at] = LineInfo { line: number, edge: number, pc: number };
            body.stmts.flags_mut()[other] = u.arbitrary()?;
            if u.ratio(1, 2)? {
                let mut info = (*body.debuginfo).clone();
                let inlined_at = *u.choose(&[0, 1, 2, -1, i32::MAX])?;
                info.linetable.push(LineInfoNode { method: "m".into(), file: "f".into(), line: number, inlined_at });
                body.debuginfo = info.into();
            }
        }
        15 | 16 => {
            // One row fewer, or one twice.
            let twice = u.ratio(1, 2)?;
            let mut stmts = InstructionStream::default();
            for (index, row) in body.stmts.clone().into_rows().enumerate() {
                if index != at || twice {
                    stmts.push(row.clone());
                }
                if index == at && twice {
                    stmts.push(row);
                }
            }
            body.stmts = stmts;
            if u.ratio(3, 4)? {
                let moved = |end: &mut usize| match twice {
                    true => *end += 1,
                    false => *end = end.saturating_sub(1),
                };
                for block in &mut body.cfg.blocks {
                    if block.stmts.start > at {
                        moved(&mut block.stmts.start);
                    }
                    if block.stmts.end > at {
                        moved(&mut block.stmts.end);
                    }
                }
            }
        }
        17 => {
            let inst = body.stmts.get(other).map(|row| NewInstruction::from(row).into_instruction(LineInfo::NONE));
            if let Some(inst) = inst {
                let anchor = position(u, body)?;
                body.new_nodes.push(NewNode { anchor, attach_after: u.arbitrary()?, inst });
            }
        }
        18 => {
            let stmt = body.stmts.stmts()[other].clone();
            body.stmts.stmts_mut()[at] = stmt;
            if u.ratio(1, 2)? {
                edges_as_said(body);
            }
        }
        _ => edges_as_said(body),
    }
    Ok(())
}

/// Lets the edges follow from the statements.
fn edges_as_said(body: &mut IRCode) {
    let ranges: Vec<_> = body.cfg.blocks.iter().map(|block| block.stmts.clone()).collect();
    body.cfg = Cfg::from_ranges(body.stmts.stmts(), &ranges);
}

/// Changes code keyed by ID a few times.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn mutate_bbcode(u: &mut Unstructured<'_>, bb: &mut BBCode) -> Result<()> {
    // Names of what is removed stay here, so that stale ones are used too.
    let blocks: Vec<BlockId> = bb.blocks().collect();
    let insts: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    if blocks.is_empty() || insts.is_empty() {
        return Ok(());
    }
    for _ in 0..u.int_in_range(1..=4)? {
        let (at, other) = (*u.choose(&insts)?, *u.choose(&insts)?);
        let (block, target) = (*u.choose(&blocks)?, *u.choose(&blocks)?);
        let copy = bb.inst(other).cloned().map(NewInstruction::<Ids>::from);
        // What is refused has changed nothing.
        match (u.int_in_range(0..=15)?, copy) {
            (0..=3, _) => {
                let new = operand(u, other)?;
                let number = u.int_in_range(0..=3)?;
                if let Some(inst) = bb.inst_mut(at) {
                    replace_operand(&mut inst.stmt, number, &new);
                }
            }
            (4, _) => drop(bb.set_next(block, if u.ratio(1, 4)? { None } else { Some(target) })),
            (5, _) => {
                let mut odd = OddEdges { virtual_preds: u.int_in_range(0..=2)?, ..OddEdges::default() };
                // What is missing, and predecessors beyond those that name the block, conversion makes up from the
                // edges.
                if u.ratio(1, 2)? {
                    odd.extra_succs.push(target);
                }
                let _ = bb.set_odd_edges(block, odd);
            }
            (6, _) => drop(bb.remove(at)),
            (7, _) => drop(bb.remove_block_unchecked(block)),
            (8, _) => drop(bb.append_block_unchecked(block, target)),
            (9, Some(copy)) => drop(bb.insert_before(at, copy)),
            (10, Some(copy)) => drop(bb.insert_after(at, copy)),
            (11, Some(copy)) => drop(bb.replace(at, copy.stmt)),
            // A switch is the last of its block wherever it is.
            (12, Some(copy)) if !matches!(copy.stmt, Stmt::Switch(_)) => {
                if let Some(inst) = bb.inst_mut(at) {
                    inst.stmt = copy.stmt;
                }
            }
            (13, _) => {
                if let Some(inst) = bb.inst_mut(at) {
                    inst.stmt.for_each_target_mut(|block| *block = target);
                    if let Stmt::Phi(phi) = &mut inst.stmt {
                        phi.entries.push(ircode::PhiEntry { edge: target, value: None });
                    }
                }
            }
            (14, _) => {
                let switch = Stmt::Switch(Switch::new([(Operand::Value(other), target)], block));
                if let (Some(block), true) = (bb.block_of(at), bb.next_inst(at).is_none()) {
                    let _ = bb.replace(at, switch);
                    let _ = bb.set_next(block, None);
                }
            }
            (_, _) => {
                if let Some(inst) = bb.inst_mut(at) {
                    inst.ty = if u.ratio(1, 3)? { Type::Bottom } else { random_type(u)? };
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ircode::Positions;

    use super::*;
    use crate::anything::anything;
    use crate::seeds::bytes;

    #[test]
    fn some_mutants_are_valid_and_some_are_not() {
        let (mut valid, mut changed) = (0, 0);
        for seed in 0..1000 {
            let bytes = bytes(seed);
            let mut u = Unstructured::new(&bytes);
            let Ok(mut function) = anything(&mut u) else { continue };
            let before = function.clone();
            if mutate(&mut u, &mut function).is_ok() && function != before {
                changed += 1;
                valid += usize::from(function.body.verify().is_ok());
            }
        }
        assert!(changed > 800 && (200..700).contains(&valid), "{valid} of {changed} are valid");
    }

    /// The value that a use names is a value of the same function.
    #[test]
    fn operands_are_replaced_by_number() {
        let mut stmt: Stmt<Positions> = Stmt::call(Operand::global("Base", "add_int"), [1.into(), 2.into()]);
        replace_operand(&mut stmt, 2, &SSAValue(7).into());
        assert_eq!(stmt, Stmt::call(Operand::global("Base", "add_int"), [1.into(), SSAValue(7).into()]));
    }
}
