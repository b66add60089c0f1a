//! Loops whose rounds do not wait for each other: each is reversed as soon as it was run, and nothing of it is saved.
//!
//! A function that adds up what its rounds give, and does nothing else with the sum than scale it, knows the cotangent
//! of the sum before its loop starts. So the function that runs both passes needs no second loop:
//!
//! ```text
//! s = 0                                        seed of s = what becomes of the seed on the way back from the return
//! for i in 1:n                                 for i in 1:n
//!     s = s + exp(x[i])          becomes           s, … = f_round1_accumulate_gradient(i, x, s, seed of s, shadow of x)
//! return 2s                                    return 2s, …
//! ```
//!
//! A round is made a function, `f_round1`, and what accumulates its gradient is called, and inlined, in its place. This
//! is the adjoint of iteration-independent loops (Hascoët, Fidanova, Held, "Adjoining independent computations", 2001;
//! Tapenade's `II-LOOP`).
//!
//! The rounds run forwards and not backwards then. That makes no difference to the bits of the gradient if no two of
//! them add to the same number: if each reads elements of its own. Else sums are rounded in another order, and it is
//! done only where that [may be](super::Options::reassociate).

mod accesses;
mod joined;
mod round;
mod search;

use bbcode::{BlockId, EditError, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Function, Name, Operand, Type};

pub(super) use self::joined::joined;

use super::derivation::DerivativeNames;
use super::plan::Plan;
use crate::differentiation::base_names::base_name;

/// A loop of independent rounds.
#[derive(Debug)]
struct IndependentLoop {
    header: BlockId,
    /// Where control comes from to the header: from before the loop, and from the round before.
    before: BlockId,
    latch: BlockId,
    /// The block from which control leaves the loop.
    leaves: BlockId,
    /// If that is the header, before anything is done in the round: where it goes on.
    body: Option<BlockId>,
    /// All blocks, in layout order, with those in which an error ends a round.
    blocks: Vec<BlockId>,
    /// The φ to which the rounds add, and what it is in the next round.
    sum: InstId,
    next: InstId,
    /// The statements that say which round it is and whether there is another one.
    kept: HashSet<InstId>,
    /// What a round uses beside the sum.
    inputs: Vec<Input>,
    /// What becomes of the seed on the way back from the return to the sum: the last step is the first on that way.
    seed: Vec<SeedStep>,
}

/// Something that a round uses and does not compute.
#[derive(Debug)]
struct Input {
    operand: Operand<Ids>,
    ty: Type,
    /// Whether the function is differentiated with respect to it.
    wanted: bool,
}

/// What a cotangent goes through on the way back.
#[derive(Debug)]
enum SeedStep {
    Negate,
    MultiplyBy(Operand<Ids>),
    DivideBy(Operand<Ids>),
}

/// A round as a function, which is to be differentiated with respect to the arguments of these numbers, and what its
/// derivative is called.
pub(super) struct Round {
    pub(super) function: Function<bbcode::BBCode>,
    pub(super) with_respect_to: Vec<usize>,
    pub(super) names: DerivativeNames,
}

/// All loops of a function on which its result depends: they are independent, and the result depends on nothing else.
pub(super) struct IndependentRounds {
    loops: Vec<IndependentLoop>,
    /// By loop.
    names: Vec<Name>,
}

impl IndependentRounds {
    /// The loops of a function, if it is such a one.
    pub(super) fn find(plan: &Plan<'_>, function: &str, reassociate: bool) -> Option<IndependentRounds> {
        let loops = search::find(plan, reassociate)?;
        let base = base_name(function);
        let mut names: Vec<Name> = Vec::with_capacity(loops.len());
        let mut number = 0;
        while names.len() < loops.len() {
            number += 1;
            let name = Name::from(format!("{base}_round{number}"));
            if plan.derivation.module.function(&name).is_none() {
                names.push(name);
            }
        }
        Some(IndependentRounds { loops, names })
    }

    /// The rounds as functions.
    ///
    /// # Errors
    ///
    /// None for verified code.
    pub(super) fn rounds(&self, plan: &Plan<'_>) -> Result<Vec<Round>, EditError> {
        let rounds = self.loops.iter().zip(&self.names).map(|(found, name)| {
            let with_respect_to = found.with_respect_to();
            let names = DerivativeNames::with_respect_to(name, &with_respect_to);
            Ok(Round { function: round::round(plan, found, name)?, with_respect_to, names })
        });
        rounds.collect()
    }
}

impl IndependentLoop {
    /// The numbers of the arguments of a round that are wanted.
    fn with_respect_to(&self) -> Vec<usize> {
        self.inputs.iter().zip(2..).filter(|(input, _)| input.wanted).map(|(_, number)| number).collect()
    }

    /// The blocks that a round goes through: all but one that does nothing else than count.
    fn round_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let counts_only = self.body.is_none() && self.latch != self.leaves;
        self.blocks.iter().copied().filter(move |&block| !(counts_only && block == self.latch))
    }
}
