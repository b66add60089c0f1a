//! What compact code consists of.

use crate::prepare::ScalarFunction;
use crate::value::Value;

/// Where a value is: the registers of a frame are those of the arguments and statements, then the constants, then a
/// spare one.
pub(super) type Register = u32;

/// A statement whose operands are found without looking. What has no `to` writes the register of its statement.
#[derive(Clone, Copy, Debug)]
#[rustfmt::skip]
pub(super) enum Instruction {
    /// What the general path does.
    General,
    Copy { from: Register, to: Register },
    AddFloat { a: Register, b: Register, to: Register },
    SubFloat { a: Register, b: Register, to: Register },
    MulFloat { a: Register, b: Register, to: Register },
    DivFloat { a: Register, b: Register, to: Register },
    NegFloat { a: Register, to: Register },
    LtFloat { a: Register, b: Register, to: Register },
    LeFloat { a: Register, b: Register, to: Register },
    EqFloat { a: Register, b: Register, to: Register },
    NeFloat { a: Register, b: Register, to: Register },
    AddInt { a: Register, b: Register, to: Register },
    SubInt { a: Register, b: Register, to: Register },
    MulInt { a: Register, b: Register, to: Register },
    LtInt { a: Register, b: Register, to: Register },
    LeInt { a: Register, b: Register, to: Register },
    EqInt { a: Register, b: Register, to: Register },
    NeInt { a: Register, b: Register, to: Register },
    /// The float nearest to an integer.
    FloatOfInt { from: Register, to: Register },
    Not { a: Register, to: Register },
    /// `===` or its opposite, of scalars.
    Same { a: Register, b: Register, to: Register },
    NotSame { a: Register, b: Register, to: Register },
    /// `ifelse`.
    Select { cond: Register, a: Register, b: Register },
    /// A function of so many scalars. It is pure: where it fails, the general path calls it once more for the error.
    Scalar { function: u32, a: Register, to: Register },
    Scalars { function: u32, a: Register, b: Register },
    Scalars3 { function: u32, operands: u32 },
    /// An element by its number in memory order, or by row and column.
    ArrayRef { array: Register, index: Register, to: Register },
    ArrayRef2 { array: Register, row: Register, column: Register },
    ArraySet { array: Register, value: Register, index: Register },
    ArraySet2 { operands: u32 },
    ArrayLength { array: Register, to: Register },
    ArraySize { array: Register, dimension: Register, to: Register },
    /// A field of a tuple or struct, by number or name.
    Field { object: Register, field: Register, to: Register },
    /// A new tuple of so many operands.
    Tuple { operands: u32, count: u32, to: Register },
    StackPush { stack: Register, value: Register, to: Register },
    StackGet { stack: Register, index: Register, to: Register },
    StackPop { stack: Register, to: Register },
    StackLength { stack: Register, to: Register },
    Goto { edge: u32 },
    GotoIfNot { cond: Register, dest: u32, next: u32 },
    /// A condition and the `GotoIfNot` on it, which is the next instruction.
    GotoIfNotLtFloat { a: Register, b: Register, to: Register },
    GotoIfNotLtInt { a: Register, b: Register, to: Register },
    GotoIfNotLeInt { a: Register, b: Register, to: Register },
    GotoIfNotSame { a: Register, b: Register, to: Register },
    /// The same, of a condition's opposite.
    GotoIf { a: Register, to: Register },
    /// The way from the end of a block into the next one, where φs take values. It is no statement.
    Fall { edge: u32 },
}

/// A way from one block to another: moves, one after the other, and where it leads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edge {
    pub(super) moves: u32,
    pub(super) moves_end: u32,
    /// The instruction to go on with, and the statement that it is made of.
    pub(super) target: u32,
    pub(super) statement: u32,
    /// How many statements are executed on the way and from there up to the next edge.
    pub(super) cost: u32,
}

/// What a register takes from another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub(super) from: Register,
    pub(super) to: Register,
}

/// The compact form of a function.
///
/// Statements are counted ahead: all up to the end of a *segment*, which is a goto, a fall, or what the general path
/// does. Where control leaves before, those that were not executed are taken off again.
#[derive(Debug, Default)]
pub(crate) struct Compact {
    pub(super) instructions: Vec<Instruction>,
    /// The statement of each instruction.
    pub(super) statements: Vec<u32>,
    /// The instruction with which each statement begins: its own, or that of the next statement that has one.
    pub(super) entries: Vec<u32>,
    /// How many statements are executed from each statement to the end of its segment, itself included.
    pub(super) costs: Vec<u32>,
    pub(super) edges: Vec<Edge>,
    pub(super) moves: Vec<Move>,
    /// The operands of instructions with many.
    pub(super) operands: Vec<Register>,
    pub(super) functions: Vec<ScalarFunction>,
    /// What is in the registers behind those of the statements.
    pub(crate) constants: Vec<Value>,
    /// The register of the first statement.
    pub(super) first: Register,
    /// A register that is undefined but within the moves of an edge.
    pub(super) spare: Register,
}
