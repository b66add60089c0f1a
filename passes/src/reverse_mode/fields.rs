//! The fields of a trace: stacks, and what is saved at most once.

use ircode::Type;

use super::plan::{Plan, Travel};

/// How many slots there may be for values of blocks that run once or not at all, times blocks: each slot may be live in
/// all blocks, when it becomes a value.
pub(super) const MOST_SLOT_WORK: usize = 1 << 18;

impl Plan<'_> {
    /// The fields of the trace that the forward pass has in slots, with their types.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, &Type)> + '_ {
        let saved = self.saves.iter().flatten().flat_map(|saves| match &saves.travel {
            Travel::Slots(fields) => fields.as_slice(),
            _ => &[],
        });
        let counts = self.ways.counted.iter().filter(|counted| self.inductions.control(counted.header).is_none());
        let counts = counts.map(|counted| counted.field).filter(|&field| !self.is_stack(field));
        saved.copied().chain(counts).filter_map(|field| Some((field, &self.fields.get(field)?.1)))
    }

    /// Whether a field of the trace is a stack.
    pub(super) fn is_stack(&self, field: usize) -> bool {
        self.fields.get(field).is_some_and(|(_, ty)| matches!(ty, Type::Stack(_)))
    }
}
