//! The conditions that the verifier checks.

use std::fmt;

use crate::version::JuliaVersion;

macro_rules! checks {
    ($( $name:ident = $code:literal, $everywhere:literal, $since:expr, $what:literal; )*) => {
        /// A condition that a valid program meets. The codes are stable: up to 31 their numbers follow the order in
        /// which Julia's `verify_ir` makes its checks, those past 31 are bbkit's own. `tests/verifier/README.md` is the
        /// table of all of them, with a program that breaks each.
        ///
        /// Some of Julia's checks have no variant here because no program can be built that fails them: columns have
        /// the same length (2), there is no separate index of block starts (1, 7), φ edges and values come in pairs
        /// (16), and there are no slots and no values of an unfinished compaction (31). A dump that has such a fault is
        /// refused when it is read.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Check { $( #[doc = concat!($code, ": ", $what, ".")] $name, )* }

        impl Check {
            /// All checks, in the order of their codes.
            pub const ALL: &[Check] = &[$(Check::$name),*];

            /// The code, such as `IR27`.
            pub fn code(self) -> &'static str {
                match self { $(Check::$name => $code),* }
            }

            /// What holds where there is no violation.
            pub fn condition(self) -> &'static str {
                match self { $(Check::$name => $what),* }
            }

            /// Whether it is demanded of blocks that the entry does not reach, too.
            pub fn applies_to_unreachable(self) -> bool {
                match self { $(Check::$name => $everywhere),* }
            }

            /// The version of Julia whose compiler is the first to keep the condition, where older ones did not. Code
            /// that says it is of an older one ([`IRCode::julia`](crate::IRCode::julia)) need not meet it.
            pub fn since(self) -> Option<JuliaVersion> {
                match self { $(Check::$name => $since),* }
            }
        }
    };
}

/// The release after the one whose compiler types terminators as it likes and assigns to globals.
const V1_10: Option<JuliaVersion> = Some(JuliaVersion::new(1, 10));

checks! {
    EdgeExists = "IR03", true, None, "the blocks named by the control-flow graph exist";
    PredecessorHasEdge = "IR04", true, None, "a predecessor has the block among its successors";
    SuccessorHasEdge = "IR05", true, None, "a successor has the block among its predecessors";
    RangeInside = "IR06", true, None, "the range of a block lies within the statements";
    RangesContiguous = "IR08", true, None, "the ranges of the blocks start at the first statement and follow one another";
    RangesComplete = "IR09", true, None, "the last block ends with the last statement";
    ReturnEdges = "IR10", false, None, "a block that returns has no successors";
    GotoEdges = "IR11", false, None, "the only successor of a block that ends in a goto is its target";
    GotoIfNotEdges = "IR12", false, None, "the successors of a goto-if-not are its target and another block, the next one";
    EnterEdges = "IR13", false, None, "the successors of an enter are its catch block and the next block";
    FallthroughEdges = "IR14", false, None, "the only successor of a block without a jump is the next block, unless its last statement never returns";
    PhiAtStart = "IR15", false, None, "φs stand at the start of their block";
    PhiEdgesUnique = "IR17", false, None, "a φ names each edge once";
    PhiEdgesArePredecessors = "IR18", false, None, "the edges of a φ are predecessors of its block";
    PhiValueDominates = "IR19", false, None, "the value of a φ is defined at the end of the edge's block";
    PhiCNamesUpsilons = "IR20", false, None, "the operands of φᶜ are ϒ statements";
    TerminatorLast = "IR21", false, None, "a terminator is the last statement of its block";
    TerminatorType = "IR22", false, V1_10, "a terminator other than a return has the type Any";
    NoAssignment = "IR23", false, V1_10, "there are no assignments: variables are values already";
    OperandCount = "IR24", false, None, "an expression has as many operands as its head takes";
    LeaveTokens = "IR25", false, None, "the operands of leave are results of enter, or nothing";
    ValueExists = "IR26", true, None, "the values named exist";
    DefinitionDominates = "IR27", false, None, "a value is defined before it is used, on every path";
    JumpHasNoResult = "IR28", false, None, "the result of a goto, goto-if-not or return is not used";
    GlobalIsConstant = "IR29", false, None, "a global that is an operand is a defined constant, as far as the caller knows";
    NestedExpression = "IR30", false, None, "only static parameters, bounds checks and the names of foreign functions are nested expressions";
    TargetExists = "IR32", true, None, "the blocks named by statements exist";
    ArgumentExists = "IR33", true, None, "the arguments and static parameters named exist";
    PendingAnchor = "IR34", true, None, "the statement next to which a pending node goes exists";
    EntryExists = "IR35", true, None, "a function has a block";
    OperandsAreUses = "IR36", true, None, "values are named only where the head of an expression lets operands be uses";
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}
