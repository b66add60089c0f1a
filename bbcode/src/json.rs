//! BBCode in JSON, and equality up to renaming.

use std::sync::Arc;

use ircode::json::Dump;
use ircode::{
    BlockNumber, DebugInfo, Instruction, JuliaVersion, LineInfo, NewInstruction, Positions, Rename, SSAValue, Stmt,
    Type,
};
use serde::{Deserialize, Serialize};
use slotmap::Key;

use crate::code::{BBCode, OddEdges};
use crate::convert::ConversionError;
use crate::ids::{BlockId, Ids, InstId, Numbers, Switch};
use crate::numbering::Numbering;

/// A [`BBCode`] as it stands in JSON: statements and blocks are numbered from 1 in layout order. Two BBCodes are equal
/// if their forms are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BBCodeForm {
    argtypes: Vec<Type>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sptypes: Vec<Type>,
    #[serde(default, skip_serializing_if = "is_default")]
    debuginfo: Arc<DebugInfo>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    meta: Vec<Stmt<Positions>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    julia: Option<JuliaVersion>,
    blocks: Vec<BlockForm>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<BlockNumber>,
    #[serde(default, skip_serializing_if = "is_default")]
    virtual_preds: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra_succs: Vec<BlockNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing_succs: Vec<BlockNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra_preds: Vec<BlockNumber>,
    statements: Vec<Instruction<Numbers>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl BBCode {
    /// The form to write.
    ///
    /// # Errors
    ///
    /// [`ConversionError`] if something is named that does not exist.
    pub fn to_form(&self) -> Result<BBCodeForm, ConversionError> {
        let mut rename = Numbering::new(self)?;
        let mut blocks = Vec::with_capacity(self.block_count());
        for block in self.blocks() {
            let mut statements = Vec::new();
            for (_, inst) in self.insts(block) {
                let stmt = inst.stmt.map_names::<Numbers, _>(&mut rename)?;
                let (ty, info) = (inst.ty.clone(), inst.info.clone());
                statements.push(Instruction { stmt, ty, info, line: inst.line, flag: inst.flag });
            }
            let odd = self.block(block).and_then(|block| block.odd_edges()).cloned().unwrap_or_default();
            // Edges to blocks that were removed since are gone.
            let numbers = |blocks: &[BlockId]| {
                let mut numbers: Vec<BlockNumber> =
                    blocks.iter().filter_map(|&block| rename.blocks.get(block).copied()).collect();
                numbers.sort_unstable();
                numbers
            };
            blocks.push(BlockForm {
                next: self.next(block).map(|next| rename.find_block(next)).transpose()?,
                virtual_preds: odd.virtual_preds,
                extra_succs: numbers(&odd.extra_succs),
                missing_succs: numbers(&odd.missing_succs),
                extra_preds: numbers(&self.unaccounted_preds(block).collect::<Vec<BlockId>>()),
                statements,
            });
        }
        Ok(BBCodeForm {
            argtypes: self.argtypes.clone(),
            sptypes: self.sptypes.clone(),
            julia: self.julia,
            debuginfo: self.debuginfo.clone(),
            meta: self.meta.clone(),
            blocks,
        })
    }

    /// The code that was written.
    ///
    /// # Errors
    ///
    /// [`ConversionError`] if something is named that does not exist.
    pub fn from_form(form: BBCodeForm) -> Result<BBCode, ConversionError> {
        let mut bb = BBCode {
            argtypes: form.argtypes,
            sptypes: form.sptypes,
            julia: form.julia,
            debuginfo: form.debuginfo,
            meta: form.meta,
            ..BBCode::default()
        };
        let blocks: Vec<BlockId> = form.blocks.iter().map(|_| bb.push_block()).collect();
        let mut insts: Vec<InstId> = Vec::new();
        for (block, &id) in form.blocks.iter().zip(&blocks) {
            for _ in &block.statements {
                let nothing = NewInstruction::new(Stmt::nothing(), Type::Untyped);
                insts.push(bb.append_unchecked(id, nothing.into_instruction(LineInfo::NONE)));
            }
        }
        let mut rename = FromNumbers { insts: &insts, blocks: &blocks };
        let mut at = insts.iter();
        for (block, &id) in form.blocks.into_iter().zip(&blocks) {
            for (row, &inst) in block.statements.into_iter().zip(at.by_ref()) {
                let stmt = row.stmt.map_names::<Ids, _>(&mut rename)?;
                if let Some(inst) = bb.inst_mut(inst) {
                    *inst = Instruction { stmt, ty: row.ty, info: row.info, line: row.line, flag: row.flag };
                }
            }
            let mut ids = |numbers: Vec<BlockNumber>| -> Result<Vec<BlockId>, ConversionError> {
                numbers.into_iter().map(|number| rename.block(number)).collect()
            };
            if block.virtual_preds > MAX_VIRTUAL_PREDS {
                return Err(ConversionError::TooManyVirtualEdges(block.virtual_preds));
            }
            let odd = OddEdges {
                virtual_preds: block.virtual_preds,
                extra_succs: ids(block.extra_succs)?,
                missing_succs: ids(block.missing_succs)?,
                extra_preds: ids(block.extra_preds)?,
                stale_preds: Vec::new(),
            };
            let next = block.next.map(|next| rename.block(next)).transpose()?;
            bb.set_odd_edges(id, odd).map_err(|_| ConversionError::NoSuchBlockId(id))?;
            bb.set_next(id, next).map_err(|_| ConversionError::NoSuchBlockId(next.unwrap_or(id)))?;
        }
        for block in blocks {
            bb.tell_stale_preds(block);
        }
        Ok(bb)
    }
}

/// IRCode lists edges from outside one by one, and code has one where a handler is entered.
const MAX_VIRTUAL_PREDS: u32 = 1 << 16;

struct FromNumbers<'a> {
    insts: &'a [InstId],
    blocks: &'a [BlockId],
}

impl Rename<Numbers, Ids> for FromNumbers<'_> {
    type Error = ConversionError;

    fn value(&mut self, value: SSAValue) -> Result<InstId, ConversionError> {
        let found = value.index().and_then(|index| self.insts.get(index));
        found.copied().ok_or(ConversionError::NoSuchValue(value))
    }

    fn block(&mut self, block: BlockNumber) -> Result<BlockId, ConversionError> {
        if block == BlockNumber::VIRTUAL {
            return Ok(BlockId::null());
        }
        let found = block.index().and_then(|index| self.blocks.get(index));
        found.copied().ok_or(ConversionError::NoSuchBlock(block))
    }

    fn switch(&mut self, switch: &Switch<Numbers>) -> Result<Switch<Ids>, ConversionError> {
        switch.map(self)
    }
}

impl Dump for BBCode {
    const REPRESENTATION: &'static str = "bbcode";
    type Form = BBCodeForm;

    fn dump(&self) -> Result<BBCodeForm, String> {
        self.to_form().map_err(|error| error.to_string())
    }

    fn load(form: BBCodeForm) -> Result<Self, String> {
        BBCode::from_form(form).map_err(|error| error.to_string())
    }
}

/// Equal up to renaming, in layout order. Code that names what does not exist equals nothing, not even itself.
impl PartialEq for BBCode {
    fn eq(&self, other: &Self) -> bool {
        match (self.to_form(), other.to_form()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
    }
}
