//! How much a run may use.

/// Bounds on what a run may use. Reaching one ends the run with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The number of statements executed, in all functions together.
    pub steps: u64,
    /// The memory that the program's values hold, in bytes, strings left aside.
    pub memory: usize,
    /// How deep calls may nest.
    pub depth: usize,
}

impl Default for Limits {
    /// A billion statements, 4 GiB, and 100,000 calls inside one another.
    fn default() -> Self {
        Limits { steps: 1_000_000_000, memory: 4 << 30, depth: 100_000 }
    }
}
