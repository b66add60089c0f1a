//! Numbers for what has IDs.

use ircode::{BlockNumber, NoSwitch, Positions, Rename, SSAValue};
use slotmap::{Key, SecondaryMap};

use crate::code::BBCode;
use crate::convert::ConversionError;
use crate::ids::{BlockId, Ids, InstId, Numbers, Switch};

/// Numbers for the statements and blocks of a [`BBCode`], in layout order.
pub(crate) struct Numbering {
    insts: SecondaryMap<InstId, SSAValue>,
    pub(crate) blocks: SecondaryMap<BlockId, BlockNumber>,
}

impl Numbering {
    pub(crate) fn new(bb: &BBCode) -> Result<Self, ConversionError> {
        if bb.inst_count() >= u32::MAX as usize || bb.block_count() >= u32::MAX as usize {
            return Err(ConversionError::TooLarge);
        }
        let mut insts = SecondaryMap::with_capacity(bb.store.inst_capacity());
        let mut blocks = SecondaryMap::with_capacity(bb.store.block_capacity());
        let mut count = 0;
        for (number, block) in bb.blocks().enumerate() {
            blocks.insert(block, BlockNumber::from_index(number));
            for inst in bb.inst_ids(block) {
                insts.insert(inst, SSAValue::from_index(count));
                count += 1;
            }
        }
        Ok(Numbering { insts, blocks })
    }

    fn find_value(&self, value: InstId) -> Result<SSAValue, ConversionError> {
        self.insts.get(value).copied().ok_or(ConversionError::NoSuchInst(value))
    }

    pub(crate) fn find_block(&self, block: BlockId) -> Result<BlockNumber, ConversionError> {
        if block.is_null() {
            return Ok(BlockNumber::VIRTUAL);
        }
        self.blocks.get(block).copied().ok_or(ConversionError::NoSuchBlockId(block))
    }
}

impl Rename<Ids, Positions> for Numbering {
    type Error = ConversionError;

    fn value(&mut self, value: InstId) -> Result<SSAValue, ConversionError> {
        self.find_value(value)
    }

    fn block(&mut self, block: BlockId) -> Result<BlockNumber, ConversionError> {
        self.find_block(block)
    }

    fn switch(&mut self, switch: &Switch<Ids>) -> Result<NoSwitch, ConversionError> {
        // Laid-out code has none.
        Err(ConversionError::NoSuchBlockId(switch.fallthrough_dest()))
    }
}

impl Rename<Ids, Numbers> for Numbering {
    type Error = ConversionError;

    fn value(&mut self, value: InstId) -> Result<SSAValue, ConversionError> {
        self.find_value(value)
    }

    fn block(&mut self, block: BlockId) -> Result<BlockNumber, ConversionError> {
        self.find_block(block)
    }

    fn switch(&mut self, switch: &Switch<Ids>) -> Result<Switch<Numbers>, ConversionError> {
        switch.map(self)
    }
}
