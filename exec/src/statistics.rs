//! What runs used, counted.

use std::ops::Sub;

/// What a machine has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Statements executed, in all functions together.
    pub statements: u64,
    /// Values that were saved for later: those pushed on stacks, the elements of a tuple one by one, and the fields of
    /// structs whose type was [named](crate::Machine::count_saves_in), unless they are stacks.
    pub saved: u64,
    /// Objects that were made: arrays, structs, tuples, stacks, and so on.
    pub objects: u64,
    /// The memory that they took, in bytes, whether it was given back or not.
    pub bytes: u64,
    /// The most memory that was in use at one time, in bytes.
    pub peak: u64,
}

impl Sub for Statistics {
    type Output = Statistics;

    /// What was done since: the most memory is that of the later one.
    fn sub(self, earlier: Statistics) -> Statistics {
        Statistics {
            statements: self.statements.saturating_sub(earlier.statements),
            saved: self.saved.saturating_sub(earlier.saved),
            objects: self.objects.saturating_sub(earlier.objects),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            peak: self.peak,
        }
    }
}
