//! BBCode → IRCode.

use ircode::{BasicBlock, BlockNumber, Cfg, IRCode, Instruction, InstructionStream, Stmt, Type};

use super::ConversionError;
use crate::code::BBCode;
use crate::numbering::Numbering;

impl TryFrom<&BBCode> for IRCode {
    type Error = ConversionError;

    /// The same code numbered by position, in layout order. Code that is not laid out is laid out first, see
    /// [`BBCode::laid_out`]; so switches are lowered, and where control does not fall through to the next block of the
    /// layout, gotos are inserted.
    fn try_from(bb: &BBCode) -> Result<IRCode, ConversionError> {
        if !bb.is_laid_out() {
            return IRCode::try_from(bb.laid_out()?);
        }
        let mut numbered = Numbered::new(bb)?;
        for block in bb.blocks() {
            for (_, inst) in bb.insts(block) {
                let stmt = inst.stmt.map_names(&mut numbered.rename)?;
                let (ty, info) = (inst.ty.clone(), inst.info.clone());
                numbered.stmts.push(Instruction { stmt, ty, info, line: inst.line, flag: inst.flag });
            }
        }
        Ok(numbered.finish(BBCode {
            argtypes: bb.argtypes.clone(),
            sptypes: bb.sptypes.clone(),
            debuginfo: bb.debuginfo.clone(),
            julia: bb.julia,
            meta: bb.meta.clone(),
            ..BBCode::default()
        }))
    }
}

impl TryFrom<BBCode> for IRCode {
    type Error = ConversionError;

    /// As the conversion of a reference, of code that is not needed any more: statements move and are not copied.
    fn try_from(mut bb: BBCode) -> Result<IRCode, ConversionError> {
        if !bb.is_laid_out() {
            bb = bb.laid_out()?;
        }
        let mut numbered = Numbered::new(&bb)?;
        let mut block = bb.entry();
        while let Some(id) = block {
            let mut inst = bb.first_inst(id);
            while let Some(node) = inst.and_then(|inst| bb.store.consume(inst)) {
                inst = node.next;
                let Instruction { stmt, ty, info, line, flag } = &mut node.inst;
                let stmt = std::mem::replace(stmt, Stmt::nothing()).into_names(&mut numbered.rename)?;
                let (ty, info) = (std::mem::replace(ty, Type::Untyped), std::mem::take(info));
                numbered.stmts.push(Instruction { stmt, ty, info, line: *line, flag: *flag });
            }
            block = bb.layout_next(id);
        }
        Ok(numbered.finish(bb))
    }
}

impl BBCode {
    /// The control-flow graph that this code, which is laid out, has as IRCode.
    pub(crate) fn laid_out_cfg(&self) -> Result<Cfg, ConversionError> {
        Ok(Numbered::new(self)?.cfg)
    }
}

/// An IRCode whose blocks and edges are there, and whose statements are not yet.
struct Numbered {
    rename: Numbering,
    cfg: Cfg,
    stmts: InstructionStream,
}

impl Numbered {
    fn new(bb: &BBCode) -> Result<Numbered, ConversionError> {
        let rename = Numbering::new(bb)?;
        let mut blocks: Vec<BasicBlock> = Vec::with_capacity(bb.block_count());
        let mut start = 0;
        for block in bb.blocks() {
            let end = start + bb.inst_ids(block).count();
            blocks.push(BasicBlock { stmts: start..end, ..BasicBlock::default() });
            start = end;
        }
        let mut succs = Vec::new();
        for (number, block) in bb.blocks().enumerate() {
            succs.clear();
            bb.push_successors(block, &mut succs);
            if let Some(source) = blocks.get_mut(number) {
                source.succs.reserve_exact(succs.len());
            }
            for &succ in &succs {
                let succ: BlockNumber = rename.find_block(succ)?;
                if let Some(source) = blocks.get_mut(number) {
                    source.succs.push(succ);
                }
                if let Some(target) = succ.index().and_then(|index| blocks.get_mut(index)) {
                    target.preds.push(BlockNumber::from_index(number));
                }
            }
        }
        for (block, data) in bb.blocks().zip(&mut blocks) {
            if let Some(odd) = bb.block(block).and_then(|block| block.odd_edges()) {
                data.preds.extend((0..odd.virtual_preds).map(|_| BlockNumber::VIRTUAL));
                data.preds.extend(bb.unaccounted_preds(block).filter_map(|pred| rename.blocks.get(pred)));
            }
        }
        Ok(Numbered { rename, cfg: Cfg { blocks }, stmts: InstructionStream::with_capacity(bb.inst_count()) })
    }

    /// The code, with what `rest` says of the function as a whole.
    fn finish(self, rest: BBCode) -> IRCode {
        IRCode {
            stmts: self.stmts,
            argtypes: rest.argtypes,
            sptypes: rest.sptypes,
            debuginfo: rest.debuginfo,
            julia: rest.julia,
            meta: rest.meta,
            cfg: self.cfg,
            new_nodes: Vec::new(),
        }
    }
}
