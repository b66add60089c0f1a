//! Naming by ID.

use std::fmt;

use ircode::{BlockNumber, Names, Operand, SSAValue, SwitchNode, write_name};
use serde::{Deserialize, Serialize};
use slotmap::{Key, new_key_type};

new_key_type! {
    /// Names a statement of one [`BBCode`](crate::BBCode). It is given when the statement is inserted and never
    /// changes; once the statement is removed it names nothing, never another statement. In another code it may name
    /// something else, as the first statements of all are called the same.
    pub struct InstId;

    /// Names a block of one [`BBCode`](crate::BBCode), in the same manner. The null key is Julia's virtual block 0.
    pub struct BlockId;
}

fn write_key(f: &mut fmt::Formatter<'_>, sigil: char, key: impl Key) -> fmt::Result {
    let bits = key.data().as_ffi();
    let (index, version) = (bits as u32, bits >> 32);
    if key.is_null() {
        return write!(f, "{sigil}0");
    }
    match version {
        // The first thing to have the slot; others show how often it was used before.
        1 => write_name(f, sigil, index),
        version => write!(f, "{sigil}{index}v{}", version.div_ceil(2)),
    }
}

/// `%7`; the second statement to use the slot of a removed one is `%7v2`.
impl fmt::Display for InstId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(f, '%', *self)
    }
}

/// `#2`; the second block to use the slot of a removed one is `#2v2`.
impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(f, '#', *self)
    }
}

impl From<InstId> for Operand<Ids> {
    fn from(value: InstId) -> Self {
        Operand::Value(value)
    }
}

/// Naming by ID, as Mooncake's BBCode does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ids;

impl Names for Ids {
    type Value = InstId;
    type Block = BlockId;
    type Switch = Switch<Ids>;
    const POSITIONAL: bool = false;

    fn virtual_block() -> BlockId {
        BlockId::null()
    }
}

/// Naming by number in layout order, for comparing and for files: like [`ircode::Positions`], but with switches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numbers;

impl Names for Numbers {
    type Value = SSAValue;
    type Block = BlockNumber;
    type Switch = Switch<Numbers>;
    const POSITIONAL: bool = false;

    fn virtual_block() -> BlockNumber {
        BlockNumber::VIRTUAL
    }
}

impl ircode::NumberedNames for Numbers {}

/// A multi-way branch: `goto dests[0] if not conds[0]`, else `goto dests[1] if not conds[1]`, …, else
/// `goto fallthrough_dest`. As in Mooncake, a condition that is *false* takes its branch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(
    try_from = "SwitchForm<N>",
    into = "SwitchForm<N>",
    bound(serialize = "N: ircode::NumberedNames", deserialize = "N: ircode::NumberedNames")
)]
pub struct Switch<N: Names> {
    conds: Vec<Operand<N>>,
    dests: Vec<N::Block>,
    fallthrough_dest: N::Block,
}

/// There are not as many conditions as destinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a switch has {conds} conditions but {dests} destinations")]
pub struct UnequalSwitch {
    /// How many conditions there are.
    pub conds: usize,
    /// How many destinations there are.
    pub dests: usize,
}

impl<N: Names> Switch<N> {
    /// A switch: where control goes if a condition is the first that is false, and where if all are true.
    pub fn new(branches: impl IntoIterator<Item = (Operand<N>, N::Block)>, fallthrough_dest: N::Block) -> Self {
        let (conds, dests) = branches.into_iter().unzip();
        Switch { conds, dests, fallthrough_dest }
    }

    /// The conditions.
    pub fn conds(&self) -> &[Operand<N>] {
        &self.conds
    }

    /// Where control goes if the condition of the same index is the first that is false.
    pub fn dests(&self) -> &[N::Block] {
        &self.dests
    }

    /// Where control goes if all conditions are true.
    pub fn fallthrough_dest(&self) -> N::Block {
        self.fallthrough_dest
    }

    /// The same switch in other names.
    pub(crate) fn map<M: Names, R: ircode::Rename<N, M>>(&self, rename: &mut R) -> Result<Switch<M>, R::Error> {
        Ok(Switch {
            conds: self.conds.iter().map(|cond| cond.map_names(rename)).collect::<Result<_, _>>()?,
            dests: self.dests.iter().map(|&dest| rename.block(dest)).collect::<Result<_, _>>()?,
            fallthrough_dest: rename.block(self.fallthrough_dest)?,
        })
    }
}

impl<N: Names<Switch = Switch<N>>> SwitchNode<N> for Switch<N> {
    fn conditions(&self) -> &[Operand<N>] {
        &self.conds
    }

    fn conditions_mut(&mut self) -> &mut [Operand<N>] {
        &mut self.conds
    }

    fn for_each_target(&self, visit: &mut dyn FnMut(N::Block)) {
        self.dests.iter().copied().for_each(&mut *visit);
        visit(self.fallthrough_dest);
    }

    fn for_each_target_mut(&mut self, visit: &mut dyn FnMut(&mut N::Block)) {
        self.dests.iter_mut().for_each(&mut *visit);
        visit(&mut self.fallthrough_dest);
    }
}

/// A switch as it stands in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "N: ircode::NumberedNames")]
struct SwitchForm<N: Names> {
    conds: Vec<Operand<N>>,
    dests: Vec<N::Block>,
    fallthrough_dest: N::Block,
}

impl<N: Names> TryFrom<SwitchForm<N>> for Switch<N> {
    type Error = UnequalSwitch;

    fn try_from(form: SwitchForm<N>) -> Result<Self, UnequalSwitch> {
        if form.conds.len() != form.dests.len() {
            return Err(UnequalSwitch { conds: form.conds.len(), dests: form.dests.len() });
        }
        Ok(Switch { conds: form.conds, dests: form.dests, fallthrough_dest: form.fallthrough_dest })
    }
}

impl<N: Names> From<Switch<N>> for SwitchForm<N> {
    fn from(switch: Switch<N>) -> Self {
        let Switch { conds, dests, fallthrough_dest } = switch;
        SwitchForm { conds, dests, fallthrough_dest }
    }
}
