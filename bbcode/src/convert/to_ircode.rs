//! BBCode → IRCode.

use ircode::{BasicBlock, BlockNumber, Cfg, IRCode, Instruction, InstructionStream, Positions};

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
            return IRCode::try_from(&bb.laid_out()?);
        }
        let mut rename = Numbering::new(bb)?;
        let mut stmts = InstructionStream::with_capacity(bb.inst_count());
        let mut blocks = Vec::with_capacity(bb.block_count());
        let mut preds: Vec<Vec<BlockNumber>> = vec![Vec::new(); bb.block_count()];
        for (number, block) in bb.blocks().enumerate() {
            let start = stmts.len();
            for (_, inst) in bb.insts(block) {
                let stmt = inst.stmt.map_names::<Positions, _>(&mut rename)?;
                let (ty, info) = (inst.ty.clone(), inst.info.clone());
                stmts.push(Instruction { stmt, ty, info, line: inst.line, flag: inst.flag });
            }
            let mut succs = Vec::new();
            for succ in bb.successors(block) {
                let succ: BlockNumber = rename.find_block(succ)?;
                succs.push(succ);
                if let Some(preds) = succ.index().and_then(|index| preds.get_mut(index)) {
                    preds.push(BlockNumber::from_index(number));
                }
            }
            blocks.push(BasicBlock { stmts: start..stmts.len(), preds: Vec::new(), succs });
        }
        for ((block, data), mut preds) in bb.blocks().zip(&mut blocks).zip(preds) {
            if let Some(odd) = bb.block(block).and_then(|block| block.odd_edges()) {
                preds.extend((0..odd.virtual_preds).map(|_| BlockNumber::VIRTUAL));
                for pred in &odd.extra_preds {
                    // A predecessor that was removed since is none any more.
                    preds.extend(rename.blocks.get(*pred));
                }
            }
            data.preds = preds;
        }
        Ok(IRCode {
            stmts,
            argtypes: bb.argtypes.clone(),
            sptypes: bb.sptypes.clone(),
            julia: bb.julia,
            debuginfo: bb.debuginfo.clone(),
            meta: bb.meta.clone(),
            cfg: Cfg { blocks },
            new_nodes: Vec::new(),
        })
    }
}
