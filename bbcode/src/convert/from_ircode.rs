//! IRCode → BBCode.

use ircode::{
    BlockNumber, IRCode, Instruction, LineInfo, NewInstruction, NoSwitch, Positions, Rename, SSAValue, Stmt, Type,
};

use super::ConversionError;
use crate::code::{BBCode, OddEdges};
use crate::ids::{BlockId, Ids, InstId, Switch};

impl TryFrom<&IRCode> for BBCode {
    type Error = ConversionError;

    /// The same code keyed by ID. Nothing is lost: `IRCode::try_from(&BBCode::try_from(&ir)?)? == ir` for every
    /// verified IRCode without pending nodes.
    fn try_from(ir: &IRCode) -> Result<BBCode, ConversionError> {
        if !ir.new_nodes.is_empty() {
            return Err(ConversionError::PendingNodes(ir.new_nodes.len()));
        }
        if ir.stmts.len() >= u32::MAX as usize / 2 || ir.cfg.blocks.len() >= u32::MAX as usize / 2 {
            return Err(ConversionError::TooLarge);
        }
        check_ranges(ir)?;
        let mut bb = BBCode {
            argtypes: ir.argtypes.clone(),
            sptypes: ir.sptypes.clone(),
            julia: ir.julia,
            debuginfo: ir.debuginfo.clone(),
            meta: ir.meta.clone(),
            ..BBCode::default()
        };
        bb.insts.reserve(ir.stmts.len());
        let blocks: Vec<BlockId> = ir.cfg.blocks.iter().map(|_| bb.push_block()).collect();
        // Names first, so that statements can use what comes later.
        let mut insts: Vec<InstId> = Vec::with_capacity(ir.stmts.len());
        for (block, id) in ir.cfg.blocks.iter().zip(&blocks) {
            for _ in block.stmts.clone() {
                insts.push(bb.append_placeholder(*id));
            }
        }
        let mut rename = ToIds { insts: &insts, blocks: &blocks };
        let columns = ir.stmts.stmts().iter().zip(ir.stmts.types()).zip(ir.stmts.infos());
        let columns = columns.zip(ir.stmts.lines()).zip(ir.stmts.flags());
        for (id, ((((stmt, ty), info), line), flag)) in insts.iter().zip(columns) {
            let stmt = stmt.map_names(&mut rename)?;
            if let Some(inst) = bb.inst_mut(*id) {
                *inst = Instruction { stmt, ty: ty.clone(), info: info.clone(), line: *line, flag: *flag };
            }
        }
        set_edges(ir, &mut bb, &blocks)?;
        Ok(bb)
    }
}

impl BBCode {
    fn append_placeholder(&mut self, block: BlockId) -> InstId {
        self.append_unchecked(
            block,
            NewInstruction::new(Stmt::nothing(), Type::Untyped).into_instruction(LineInfo::NONE),
        )
    }
}

fn check_ranges(ir: &IRCode) -> Result<(), ConversionError> {
    let mut end = 0;
    for (i, block) in ir.cfg.blocks.iter().enumerate() {
        if block.stmts.start != end || block.stmts.end < end {
            return Err(ConversionError::BadRange(BlockNumber::from_index(i)));
        }
        end = block.stmts.end;
    }
    if end != ir.stmts.len() {
        return Err(ConversionError::BadRange(BlockNumber::from_index(ir.cfg.blocks.len())));
    }
    Ok(())
}

struct ToIds<'a> {
    insts: &'a [InstId],
    blocks: &'a [BlockId],
}

impl ToIds<'_> {
    fn find_block(&self, block: BlockNumber) -> Result<BlockId, ConversionError> {
        let found = block.index().and_then(|index| self.blocks.get(index)).copied();
        found.ok_or(ConversionError::NoSuchBlock(block))
    }
}

impl Rename<Positions, Ids> for ToIds<'_> {
    type Error = ConversionError;

    fn value(&mut self, value: SSAValue) -> Result<InstId, ConversionError> {
        let found = value.index().and_then(|index| self.insts.get(index)).copied();
        found.ok_or(ConversionError::NoSuchValue(value))
    }

    fn block(&mut self, block: BlockNumber) -> Result<BlockId, ConversionError> {
        if block == BlockNumber::VIRTUAL {
            return Ok(<Ids as ircode::Names>::virtual_block());
        }
        self.find_block(block)
    }

    fn switch(&mut self, switch: &NoSwitch) -> Result<Switch<Ids>, ConversionError> {
        match *switch {}
    }
}

/// Sets the fallthroughs, and keeps the edges that do not follow from the terminators.
fn set_edges(ir: &IRCode, bb: &mut BBCode, blocks: &[BlockId]) -> Result<(), ConversionError> {
    let rename = ToIds { insts: &[], blocks };
    let mut odd: Vec<OddEdges> = vec![OddEdges::default(); blocks.len()];
    for (number, (block, &id)) in ir.cfg.blocks.iter().zip(blocks).enumerate() {
        let mut rest = block.succs.clone();
        let mut take = |target: BlockNumber| match rest.iter().position(|&succ| succ == target) {
            Some(at) => {
                rest.remove(at);
                true
            }
            None => false,
        };
        let last = block.stmts.clone().next_back().and_then(|last| ir.stmts.stmts().get(last));
        let mut missing = Vec::new();
        if let Some(last) = last {
            last.for_each_target(|target| {
                if !take(target) {
                    missing.push(target);
                }
            });
        }
        let fallthrough = BlockNumber::from_index(number + 1);
        if last.is_none_or(|last| last.falls_through()) && take(fallthrough) {
            let next = rename.find_block(fallthrough)?;
            bb.set_next(id, Some(next)).map_err(|_| ConversionError::NoSuchBlock(fallthrough))?;
        }
        let odd = &mut odd[number];
        odd.missing_succs = missing.into_iter().map(|target| rename.find_block(target)).collect::<Result<_, _>>()?;
        odd.extra_succs = rest.into_iter().map(|succ| rename.find_block(succ)).collect::<Result<_, _>>()?;
    }
    // The successor lists turned around, against the predecessor lists.
    let mut expected: Vec<Vec<BlockNumber>> = vec![Vec::new(); blocks.len()];
    for (number, block) in ir.cfg.blocks.iter().enumerate() {
        for succ in &block.succs {
            let to = succ.index().and_then(|to| expected.get_mut(to)).ok_or(ConversionError::NoSuchBlock(*succ))?;
            to.push(BlockNumber::from_index(number));
        }
    }
    for (number, (block, mut expected)) in ir.cfg.blocks.iter().zip(expected).enumerate() {
        let mut actual: Vec<BlockNumber> = block.preds.clone();
        actual.sort_unstable();
        expected.sort_unstable();
        let mut expected = expected.into_iter().peekable();
        for pred in actual {
            if pred == BlockNumber::VIRTUAL {
                odd[number].virtual_preds += 1;
                continue;
            }
            if let Some(&from) = expected.peek()
                && from < pred
            {
                return Err(ConversionError::EdgesDisagree { from, to: BlockNumber::from_index(number) });
            }
            if expected.next_if_eq(&pred).is_none() {
                odd[number].extra_preds.push(rename.find_block(pred)?);
            }
        }
        if let Some(from) = expected.next() {
            return Err(ConversionError::EdgesDisagree { from, to: BlockNumber::from_index(number) });
        }
    }
    for (odd, &block) in odd.into_iter().zip(blocks) {
        bb.set_odd_edges(block, odd).map_err(|_| ConversionError::NoSuchBlockId(block))?;
    }
    Ok(())
}
