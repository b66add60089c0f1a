//! Statements of both functions in the names of the second.

use std::convert::Infallible;
use std::fmt;

use bbcode::{BlockId, Ids, InstId, Switch};
use ircode::{Names, Rename, Stmt, SwitchNode};

use super::matching::Matching;
use super::side::Side;

/// Naming by the IDs of the second function, and by those of the first for what only that has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Shown;

/// A name: `%5`, or `%a5` for what only the first function has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ShownName<T> {
    pub(super) id: T,
    pub(super) only_a: bool,
}

impl<T: fmt::Display> fmt::Display for ShownName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.id.to_string();
        match self.only_a {
            true => {
                let (sigil, number) = text.split_at_checked(1).unwrap_or((&text, ""));
                f.pad(&format!("{sigil}a{number}"))
            }
            false => f.pad(&text),
        }
    }
}

impl Names for Shown {
    type Value = ShownName<InstId>;
    type Block = ShownName<BlockId>;
    type Switch = Switch<Shown>;
    const POSITIONAL: bool = false;

    fn virtual_block() -> Self::Block {
        ShownName { id: Ids::virtual_block(), only_a: false }
    }
}

/// Gives the statements of one of the functions the names in which they are shown.
pub(super) struct Namer<'s, 'a> {
    pub(super) side: &'s Side<'a>,
    /// For the first function: the second, and what stands for what.
    pub(super) other: Option<(&'s Side<'a>, &'s Matching)>,
}

impl Namer<'_, '_> {
    /// The statement, its φ entries in the order of the blocks.
    pub(super) fn stmt(&mut self, stmt: &Stmt<Ids>) -> Stmt<Shown> {
        let Ok(mut shown) = stmt.map_names(self);
        if let Stmt::Phi(phi) = &mut shown {
            phi.entries.sort_by_key(|entry| entry.edge);
        }
        shown
    }

    pub(super) fn value_name(&self, value: InstId) -> ShownName<InstId> {
        let Some((other, matching)) = self.other else { return ShownName { id: value, only_a: false } };
        let found = self.side.value(value).and_then(|index| matching.statements.of_a(index));
        match found {
            Some(index) => ShownName { id: other.statements[index].0, only_a: false },
            None => ShownName { id: value, only_a: true },
        }
    }

    pub(super) fn block_name(&self, block: BlockId) -> ShownName<BlockId> {
        let number = self.side.number(block);
        let id = number.map_or(block, |number| self.side.blocks[number].id);
        let Some((other, matching)) = self.other.filter(|_| block != Ids::virtual_block()) else {
            return ShownName { id, only_a: false };
        };
        match number.and_then(|number| matching.blocks.of_a(number)) {
            Some(number) => ShownName { id: other.blocks[number].id, only_a: false },
            None => ShownName { id, only_a: true },
        }
    }
}

impl Rename<Ids, Shown> for Namer<'_, '_> {
    type Error = Infallible;

    fn value(&mut self, value: InstId) -> Result<ShownName<InstId>, Infallible> {
        Ok(self.value_name(value))
    }

    fn block(&mut self, block: BlockId) -> Result<ShownName<BlockId>, Infallible> {
        Ok(self.block_name(block))
    }

    fn switch(&mut self, switch: &Switch<Ids>) -> Result<Switch<Shown>, Infallible> {
        let mut branches = Vec::with_capacity(switch.conds().len());
        for (cond, &dest) in switch.conditions().iter().zip(switch.dests()) {
            branches.push((cond.map_names(self)?, self.block_name(dest)));
        }
        Ok(Switch::new(branches, self.block_name(switch.fallthrough_dest())))
    }
}
