//! Why code cannot be changed as asked.

use ircode::{Argument, Name, Violation};

use crate::ids::{BlockId, Ids, InstId};

/// Why code cannot be edited so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no such statement, or not any more.
    #[error("there is no statement {0}")]
    NoSuchInst(InstId),
    /// The statement has no value.
    #[error("{0} has no value that could be used")]
    NoValue(InstId),
    /// The statement is no φ of the block.
    #[error("{inst} is no φ of {block}")]
    NotAPhi {
        /// The statement.
        inst: InstId,
        /// The block.
        block: BlockId,
    },
    /// There is no such block, or not any more.
    #[error("there is no block {0}")]
    NoSuchBlock(BlockId),
    /// The block ends with the statement.
    #[error("{0} ends its block: nothing can be inserted behind it")]
    BehindTerminator(InstId),
    /// A terminator can only stand at the end of its block.
    #[error("a terminator can only be the last statement of a block, but {0} would follow")]
    TerminatorInside(InstId),
    /// Only φs may stand before a φ.
    #[error("{0} is a φ: only another φ can stand before it")]
    BeforePhi(InstId),
    /// A φ can only stand at the start of its block.
    #[error("a φ can only stand at the start of a block, not behind {0}")]
    PhiInside(InstId),
    /// There is no such argument.
    #[error("there is no argument {0}")]
    NoSuchArgument(Argument),
    /// Another argument has this name.
    #[error("there is an argument `{0}` already")]
    ArgumentNameTaken(Name),
    /// A statement would use a value that is not computed on every way to it.
    #[error("{value} is not computed on every way to {at}")]
    NotAvailable {
        /// The value.
        value: InstId,
        /// The statement that would use it.
        at: InstId,
    },
    /// Only the token of an `enter`, or `nothing` where the `enter` is gone, can stand for the token of another.
    #[error("{user} uses the token {token}: only the token of another `enter`, or `nothing`, can stand for it")]
    NoToken {
        /// The `enter`.
        token: InstId,
        /// The statement that uses its token.
        user: InstId,
    },
    /// There is no statement at this place.
    #[error("there is no statement at this place of {0}")]
    NothingHere(BlockId),
    /// A terminator cannot be taken away from its block.
    #[error("{0} ends its block: it can be replaced, but not removed or moved")]
    EndsBlock(InstId),
    /// There is no edge from the one block to the other.
    #[error("there is no edge from {from} to {to}")]
    NoSuchEdge {
        /// Where it would start.
        from: BlockId,
        /// Where it would go.
        to: BlockId,
    },
    /// The edge cannot be split or redirected, as no terminator names it: it is taken by an exception, or it is one of
    /// the block's [`OddEdges`](crate::OddEdges).
    #[error("the edge from {from} to {to} is taken by an exception or by no statement")]
    FixedEdge {
        /// Where it starts.
        from: BlockId,
        /// Where it goes.
        to: BlockId,
    },
    /// There is an edge already, and φs take something else from it; or two values are given for one φ.
    #[error("a φ takes another value on the edge from {from} to {to}")]
    AlreadyAnEdge {
        /// Where it starts.
        from: BlockId,
        /// Where it goes.
        to: BlockId,
    },
    /// A φ has to be told which value it takes from a new edge.
    #[error("{phi} needs a value for the edge from {edge}")]
    MissingPhiValue {
        /// The φ.
        phi: InstId,
        /// Where the edge starts.
        edge: BlockId,
    },
    /// No edge to the block was named, where one is needed.
    #[error("no edge to {0} is to be joined with others")]
    NoEdges(BlockId),
    /// There is no place before the block: the function begins with it.
    #[error("{0} is the entry: control comes to it from outside of the function")]
    EntryBlock(BlockId),
    /// The block is not the one place at which a loop is entered.
    #[error("{0} is not the only entry of a loop")]
    NoLoop(BlockId),
    /// Two blocks cannot be made one.
    #[error("{block} cannot be merged into its predecessor: {because}")]
    NotMergeable {
        /// The second of the blocks.
        block: BlockId,
        /// The first, or the block itself if there is not exactly one predecessor.
        into: BlockId,
        /// The reason.
        because: &'static str,
    },
    /// A statement of this kind cannot stand anywhere else.
    #[error("{0} cannot be moved: it depends on the place where it stands")]
    Immovable(InstId),
    /// The call cannot be replaced by the body of the function.
    #[error("{call} cannot be inlined: {because}")]
    NotInlinable {
        /// The call.
        call: InstId,
        /// The reason.
        because: String,
    },
    /// The blocks cannot become a function of their own.
    #[error("the blocks cannot be outlined: {0}")]
    NotOutlinable(String),
    /// The argument is used.
    #[error("the argument {argument} is used by {user}")]
    ArgumentInUse {
        /// The argument.
        argument: Argument,
        /// A statement that uses it.
        user: InstId,
    },
    /// A statement cannot be removed while its value is used.
    #[error("{used} is used by {user}")]
    InUse {
        /// The statement.
        used: InstId,
        /// One that uses it.
        user: InstId,
    },
    /// A block cannot be removed while control comes to it.
    #[error("{block} is reached from {}", from.map_or_else(|| "outside".to_string(), |from| from.to_string()))]
    Reached {
        /// The block.
        block: BlockId,
        /// One that leads to it; none for the entry.
        from: Option<BlockId>,
    },
    /// The code would not be valid after the change; this is the first thing that would be wrong.
    #[error("the code would not be valid: {0}")]
    NotValid(Box<Violation<Ids>>),
}
