//! What a block of the pullback has got of what was saved.

use bbcode::{Ids, InstId};
use hashbrown::HashMap;
use ircode::Operand;
use slotmap::SecondaryMap;

use super::saved::Saved;

/// A block that gets the values of so many times fewer statements than the function has gets few of them.
const FEW: usize = 16;

/// What the reverse of a block has got of what was saved, and computed from that.
#[derive(Debug, Default)]
pub(super) struct Got {
    /// The values of statements, where these are many: a list as long as the function for each of many blocks would be
    /// too much.
    values: Option<SecondaryMap<InstId, Operand<Ids>>>,
    others: HashMap<Saved, Operand<Ids>>,
}

impl Got {
    /// Room for so many things, in the reverse of a function of so many statements.
    pub(super) fn with_capacity(count: usize, statements: usize) -> Self {
        match count.saturating_mul(FEW) >= statements {
            true => Got { values: Some(SecondaryMap::with_capacity(statements)), others: HashMap::new() },
            false => Got { values: None, others: HashMap::with_capacity(count) },
        }
    }

    /// What was got for an item.
    pub(super) fn get(&self, item: &Saved) -> Option<&Operand<Ids>> {
        match (item, &self.values) {
            (Saved::Value(id), Some(values)) => values.get(*id),
            _ => self.others.get(item),
        }
    }

    /// Lets this be what was got for an item.
    pub(super) fn insert(&mut self, item: Saved, operand: Operand<Ids>) {
        if let (Saved::Value(id), Some(values)) = (item, &mut self.values) {
            values.insert(id, operand);
        } else {
            self.others.insert(item, operand);
        }
    }
}
