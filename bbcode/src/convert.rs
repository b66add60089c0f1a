//! Conversion between the representations, both ways.

mod from_ircode;
mod layout;
mod to_ircode;

use ircode::wording::counted;
use ircode::{BlockNumber, SSAValue};

use crate::ids::{BlockId, InstId};

/// Why code cannot be converted. Verified code without pending nodes always can.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// IRCode has pending nodes.
    #[error("it has {}: compact the code first", counted(*.0, "pending node"))]
    PendingNodes(usize),
    /// The ranges of the blocks do not cover the statements one after another.
    #[error("the ranges of the blocks do not cover the statements one after another, at {0}")]
    BadRange(BlockNumber),
    /// A value is used that does not exist.
    #[error("{0} is used but does not exist")]
    NoSuchValue(SSAValue),
    /// A block is named that does not exist.
    #[error("{0} is named but does not exist")]
    NoSuchBlock(BlockNumber),
    /// The successors of one block and the predecessors of another do not agree.
    #[error("{from} names {to} as its successor, but {to} does not name it as predecessor")]
    EdgesDisagree {
        /// Where the edge starts.
        from: BlockNumber,
        /// Where it goes.
        to: BlockNumber,
    },
    /// A statement is used that does not exist, or not any more.
    #[error("{0} is used but does not exist")]
    NoSuchInst(InstId),
    /// A block is named that does not exist, or not any more.
    #[error("{0} is named but does not exist")]
    NoSuchBlockId(BlockId),
    /// So many edges come to a block from outside, which no code has.
    #[error("{0} edges come to a block from outside")]
    TooManyVirtualEdges(u32),
    /// There are more statements or blocks than 32 bits can number.
    #[error("the function is too large")]
    TooLarge,
}
