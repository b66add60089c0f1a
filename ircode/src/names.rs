//! How a program names its values and its blocks: the one parameter in which the two representations differ.

use std::fmt::{self, Debug, Display};
use std::hash::Hash;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::operand::Operand;

/// A way of naming values and blocks.
///
/// Statements are generic in it: `Stmt<Positions>` is what [`IRCode`](crate::IRCode) holds, `Stmt<Ids>` (of the crate
/// `bbcode`) what `BBCode` holds. Converting a statement between the two is renaming, see
/// [`Stmt::map_names`](crate::Stmt::map_names).
pub trait Names: Copy + Eq + Hash + Debug + Default + 'static {
    /// Names the result of a statement; prints as `%4`.
    type Value: Copy + Eq + Ord + Hash + Debug + Display;
    /// Names a basic block; prints as `#2`.
    type Block: Copy + Eq + Ord + Hash + Debug + Display;
    /// The multi-way branch, where the representation has one; an uninhabited type where not.
    type Switch: SwitchNode<Self>;

    /// Whether control falls through to the next block by position. Then a goto-if-not to the next block would be two
    /// edges to one block, which Julia does not allow.
    const POSITIONAL: bool;

    /// Julia's virtual predecessor: the outside of the function, as predecessor of the entry block, or whatever
    /// statement of a `try` region may have thrown, as predecessor of a catch block.
    fn virtual_block() -> Self::Block;
}

/// Names that can be written to a file: numbers, not keys of some arena.
pub trait NumberedNames:
    Names<Value: Serialize + DeserializeOwned, Block: Serialize + DeserializeOwned, Switch: Serialize + DeserializeOwned>
{
}

impl NumberedNames for Positions {}

/// What the statement type needs to know of a multi-way branch.
pub trait SwitchNode<N: Names>: Clone + PartialEq + Debug {
    /// The conditions, in the order in which they are tested.
    fn conditions(&self) -> &[Operand<N>];
    /// The conditions, to be rewritten.
    fn conditions_mut(&mut self) -> &mut [Operand<N>];
    /// Calls `visit` with every block that the switch may go to, the fallthrough destination last.
    fn for_each_target(&self, visit: &mut dyn FnMut(N::Block));
    /// Calls `visit` with every block that the switch may go to, to be rewritten.
    fn for_each_target_mut(&mut self, visit: &mut dyn FnMut(&mut N::Block));
}

/// Naming by position, as the Julia compiler's IRCode does: `%4` is the fourth statement, `#2` the second block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Positions;

impl Names for Positions {
    type Value = SSAValue;
    type Block = BlockNumber;
    type Switch = NoSwitch;
    const POSITIONAL: bool = true;

    fn virtual_block() -> BlockNumber {
        BlockNumber::VIRTUAL
    }
}

/// The result of the statement at this position, counted from 1: `%4` is `SSAValue(4)`.
///
/// Numbers past the last statement name pending new nodes, in the order of their insertion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SSAValue(pub u32);

impl SSAValue {
    /// The value of the statement at this index, counted from 0. Indices past `u32::MAX - 1` do not occur: no program
    /// holds as many statements.
    pub fn from_index(index: usize) -> Self {
        SSAValue(u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX))
    }

    /// The index of the statement, counted from 0; `None` for the invalid `%0`.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// Writes a name that is a sign and a number. Listings consist of such names for the most part, so it is done without
/// the ways and means of formatting.
///
/// # Errors
///
/// Those of what is written to.
pub fn write_name(out: &mut dyn fmt::Write, sign: char, number: u32) -> fmt::Result {
    let mut digits = [0; 10];
    let (mut start, mut rest) = (digits.len(), number);
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.write_char(sign)?;
    out.write_str(std::str::from_utf8(&digits[start..]).unwrap_or_default())
}

impl fmt::Display for SSAValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, '%', self.0)
    }
}

impl Debug for SSAValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The block at this position, counted from 1: `#2` is `BlockNumber(2)`.
///
/// `BlockNumber(0)` is Julia's virtual predecessor: the outside of the function, as predecessor of the entry block, or
/// whatever statement of a `try` region may have thrown, as predecessor of a catch block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockNumber(pub u32);

impl BlockNumber {
    /// Julia's virtual predecessor.
    pub const VIRTUAL: BlockNumber = BlockNumber(0);

    /// The block at this index, counted from 0.
    pub fn from_index(index: usize) -> Self {
        BlockNumber(u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX))
    }

    /// The index of the block, counted from 0; `None` for the virtual block 0.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl fmt::Display for BlockNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, '#', self.0)
    }
}

impl Debug for BlockNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The switch of a representation that has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NoSwitch {}

impl SwitchNode<Positions> for NoSwitch {
    fn conditions(&self) -> &[Operand<Positions>] {
        match *self {}
    }

    fn conditions_mut(&mut self) -> &mut [Operand<Positions>] {
        match *self {}
    }

    fn for_each_target(&self, _: &mut dyn FnMut(BlockNumber)) {
        match *self {}
    }

    fn for_each_target_mut(&mut self, _: &mut dyn FnMut(&mut BlockNumber)) {
        match *self {}
    }
}
