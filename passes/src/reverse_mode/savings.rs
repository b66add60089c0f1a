//! What makes a derivative small, by name, so that each can be turned off.

/// Which techniques make a derivative small: a field each. All are on unless they are turned off.
///
/// The derivative is the same without them, to the last bit, but for `unrolling`, without which a sum may be added up
/// in another order; what they save is time and memory. They apply to the carrier of [stacks](super::Carrier::Stacks),
/// `jump_threading` to both.
///
/// ```
/// use passes::reverse_mode::Savings;
///
/// let savings = Savings::default().without("recompute").unwrap();
/// assert!(savings.one_function && !savings.recompute);
/// assert_eq!(Savings::default().without("everything"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Savings {
    /// Control goes straight to where a condition leads that is known on an edge: Julia's loops become plain ones. This
    /// goes for both carriers.
    pub jump_threading: bool,
    /// Short loops whose number of rounds is known are written out, and elements of small local arrays are values where
    /// all indices are known.
    pub unrolling: bool,
    /// An element of a local array that a loop changes on every round is a value while the loop runs, and not put there
    /// on each.
    pub scalar_promotion: bool,
    /// Where control came from is found by a value that the block at which ways meet saves, not by a stack of block
    /// numbers.
    pub conditions: bool,
    /// Loops that count run backwards until the count is where it started: how often they ran is not saved.
    pub trip_counts: bool,
    /// Integers that change by known steps in loops are run backwards, not saved.
    pub induction_variables: bool,
    /// The forward pass and the pullback are one function where both are wanted.
    pub one_function: bool,
    /// Where no round of a loop waits for another, each is reversed as soon as it was run: there is no second loop, and
    /// nothing is saved. This goes for functions that add up what their rounds give, and is for `one_function` only.
    pub independent_rounds: bool,
    /// What is cheap is computed again where that makes less to save: a minimum cut decides.
    pub recompute: bool,
    /// What does not change in a loop is saved once, before it.
    pub loop_invariants: bool,
    /// Local arrays are put back as they were, where that takes less than saving what is read from them.
    pub contents: bool,
}

/// A technique: its name, and its field.
type Technique = (&'static str, fn(&mut Savings) -> &mut bool);

/// The techniques, in the order in which they are told of.
const TECHNIQUES: &[Technique] = &[
    ("jump-threading", |savings| &mut savings.jump_threading),
    ("unrolling", |savings| &mut savings.unrolling),
    ("scalar-promotion", |savings| &mut savings.scalar_promotion),
    ("conditions", |savings| &mut savings.conditions),
    ("trip-counts", |savings| &mut savings.trip_counts),
    ("induction-variables", |savings| &mut savings.induction_variables),
    ("one-function", |savings| &mut savings.one_function),
    ("independent-rounds", |savings| &mut savings.independent_rounds),
    ("recompute", |savings| &mut savings.recompute),
    ("loop-invariants", |savings| &mut savings.loop_invariants),
    ("contents", |savings| &mut savings.contents),
];

impl Savings {
    /// No technique.
    #[must_use]
    pub fn none() -> Self {
        Savings {
            jump_threading: false,
            unrolling: false,
            scalar_promotion: false,
            conditions: false,
            trip_counts: false,
            induction_variables: false,
            one_function: false,
            independent_rounds: false,
            recompute: false,
            loop_invariants: false,
            contents: false,
        }
    }

    /// The names of all techniques, in a fixed order: that in which `grad --stats` turns on one after the other.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        TECHNIQUES.iter().map(|(name, _)| *name)
    }

    /// The same without the technique of this name, or without all of them for `all`; `None` if there is none of this
    /// name.
    #[must_use]
    pub fn without(self, name: &str) -> Option<Self> {
        if name == "all" { Some(Savings::none()) } else { self.set(name, false) }
    }

    /// The same with the technique of this name; `None` if there is none.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        self.set(name, true)
    }

    fn set(mut self, name: &str, to: bool) -> Option<Self> {
        let (_, field) = TECHNIQUES.iter().find(|(known, _)| *known == name)?;
        *field(&mut self) = to;
        Some(self)
    }
}

impl Default for Savings {
    fn default() -> Self {
        let mut savings = Savings::none();
        for (_, field) in TECHNIQUES {
            *field(&mut savings) = true;
        }
        savings
    }
}
