//! Code that is ready to run.

use std::ops::Range;
use std::sync::Arc;

use ircode::primitives::Primitive;
use ircode::{Name, SSAValue, Scalar, ScalarType, Type};

use crate::builtins::Builtin;
use crate::compact::Compact;
use crate::error::RunErrorKind;
use crate::value::{StructInfo, Value};

/// Where an operand is found: an index into the registers of the frame, or into the constants of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Register(u32),
    Constant(u32),
}

/// A statement, ready to run.
#[derive(Debug)]
pub(crate) enum Op {
    /// φs and empty statements: nothing happens when control passes them.
    Nothing,
    Copy(Source),
    PhiC(Vec<u32>),
    Upsilon(Option<Source>),
    Goto(u32),
    GotoIfNot {
        cond: Source,
        dest: u32,
        next: u32,
    },
    Return(Source),
    Unreachable,
    Enter {
        catch: Option<u32>,
        old_style: bool,
        next: u32,
    },
    Leave {
        handlers: usize,
        next: u32,
    },
    PopException(Source),
    TheException,
    /// Throws the exception that is being handled.
    Rethrow,
    Scalars {
        primitive: &'static Primitive,
        f: ScalarFunction,
        args: Vec<Source>,
    },
    Convert {
        primitive: &'static Primitive,
        f: ConvertFunction,
        args: [Source; 2],
    },
    Builtin {
        primitive: &'static Primitive,
        f: Builtin,
        args: Vec<Source>,
    },
    /// A primitive that the host has registered and defines.
    Host {
        primitive: &'static Primitive,
        args: Vec<Source>,
    },
    Call {
        function: usize,
        /// What is called, where that is a value of its own, such as a closure.
        callee: Option<Source>,
        args: Vec<Source>,
    },
    /// Calls a value with the elements of these, one after the other.
    Splat {
        callee: Source,
        args: Vec<Source>,
    },
    /// A call of a function of this path, of which the methods are in the module or not.
    CallName {
        path: Name,
        args: Vec<Source>,
    },
    CallValue {
        callee: Source,
        args: Vec<Source>,
    },
    Construct {
        ty: Type,
        args: Vec<Source>,
    },
    NewStruct {
        info: Arc<StructInfo>,
        args: Vec<Source>,
    },
    SplatNew {
        ty: Source,
        fields: Source,
    },
    NewTuple {
        args: Vec<Source>,
    },
    NewOf {
        ty: Source,
        args: Vec<Source>,
    },
    ThrowUndefIfNot {
        name: Name,
        cond: Source,
    },
    /// Running it is an error of which the text says why.
    Fail(RunErrorKind),
}

pub(crate) type ScalarFunction = fn(&[Scalar]) -> Result<Scalar, ircode::primitives::Failure>;
pub(crate) type ConvertFunction = fn(ScalarType, &Scalar) -> Result<Scalar, ircode::primitives::Failure>;

/// An edge of the control-flow graph: where it leads, and what the φs there take from it, all read before any is
/// written.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    /// The first statement there; `None` if control falls out of the function.
    pub(crate) statement: Option<u32>,
    pub(crate) moves: Vec<(u32, Option<Source>)>,
}

/// Where control goes when a statement is done that is no jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    /// To the next statement of the block.
    Next,
    /// Out of the block.
    Edge(u32),
    /// Out of the last block.
    End,
    /// Nowhere, as it says that it never returns.
    Nowhere,
}

/// A function, ready to run.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) name: Name,
    /// The number of arguments, the function itself included; `None` where the code does not say.
    pub(crate) arguments: Option<usize>,
    pub(crate) argtypes: Vec<Type>,
    /// Whether the last argument is a tuple of all that is passed from there on.
    pub(crate) varargs: bool,
    pub(crate) ops: Vec<Op>,
    /// Where control goes from each statement that is no jump.
    pub(crate) after: Vec<After>,
    /// The first statement of each block, and the number of statements at the end.
    pub(super) block_starts: Vec<u32>,
    /// The edge to the first block with statements, if that is not the first.
    pub(crate) entry: Option<u32>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) constants: Vec<Value>,
    /// The number of registers: arguments, then statements.
    pub(crate) registers: usize,
    /// The types that the statements declare, if they are asked for.
    pub(crate) types: Vec<Type>,
    /// The same code in the form in which most of it runs.
    pub(crate) compact: Compact,
}

impl Code {
    /// The register of a statement.
    pub(crate) fn statement_register(&self, statement: usize) -> usize {
        self.registers - self.ops.len() + statement
    }

    /// The statement of a register that is no argument's.
    pub(crate) fn statement_of(&self, register: usize) -> usize {
        register - (self.registers - self.ops.len())
    }

    /// The name of a register, for messages.
    pub(crate) fn register_name(&self, register: usize) -> String {
        match register.checked_sub(self.registers - self.ops.len()) {
            Some(statement) => SSAValue::from_index(statement).to_string(),
            None => format!("_{}", register + 1),
        }
    }

    /// Whether the statement gives a value that is worth showing.
    pub(crate) fn has_value(&self, statement: usize) -> bool {
        !matches!(
            self.ops.get(statement),
            Some(
                Op::Goto(_)
                    | Op::GotoIfNot { .. }
                    | Op::Return(_)
                    | Op::Leave { .. }
                    | Op::Enter { .. }
                    | Op::Unreachable
            )
        )
    }

    /// The statements of a block.
    pub(crate) fn block_range(&self, block: usize) -> Option<Range<usize>> {
        Some(*self.block_starts.get(block)? as usize..*self.block_starts.get(block + 1)? as usize)
    }
}
