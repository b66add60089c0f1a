//! Places in the code that call the compiler's helpers, and what these have to know of them.

use std::sync::Arc;

use ircode::primitives::Primitive;
use ircode::{Name, Type};

use crate::native::layout::Layout;
use crate::value::StructInfo;

/// A statement, and what the helper that it calls has to do.
#[derive(Debug)]
pub(crate) struct Site {
    /// The number of the function in its module.
    pub(crate) function: usize,
    /// The statement, counted from 0.
    pub(crate) statement: usize,
    pub(crate) what: What,
}

/// What happens at a site.
#[derive(Debug)]
pub(crate) enum What {
    /// A call: the site is named in errors that come out of it.
    Call,
    /// An array is indexed out of bounds. The operands are the array and the indices.
    Bounds { array: Arc<Layout>, indices: usize },
    /// Elements of an array are used that it does not have. The operands are the array and the numbers of the first of
    /// them and the last.
    Stretch { array: Arc<Layout> },
    /// So many elements are to be copied, which is less than none. The operand is the number.
    NegativeCount,
    /// An exception without fields.
    Exception(&'static str),
    /// An exception with a message.
    Message(&'static str, &'static str),
    /// A variable of this name is used that was not assigned.
    NotAssigned(Name),
    /// A value is used that is not defined on the way taken.
    Undefined(String),
    /// A function is called that is not there.
    UnknownFunction(Name),
    /// Something is reached that nothing here runs.
    Unsupported(String),
    /// A statement is reached that says it cannot be.
    Unreachable,
    /// Control runs out of the last block.
    FellThrough,
    /// A statement returns of which its block says that it never does.
    ReturnedFromBottom,
    /// Calls nest too deep.
    Depth,
    /// An array is made: of elements of this layout.
    NewArray { element: Arc<Layout>, rank: u32 },
    /// The elements of an array in so many other dimensions.
    Reshape { rank: u32 },
    /// A stack is made, which starts with as much room as it had in the end the last time.
    NewStack { element: Arc<Layout>, hint: usize },
    /// A vector or a stack gets room for more elements of so many bytes. Where a loop wants it ahead, for all of its
    /// rounds, it can do without.
    Grow { bytes: u32, stack: bool, ahead: bool },
    /// An object of so many bytes is made.
    NewObject { bytes: u32 },
    /// What is for the interpreter is met.
    Refused(&'static str),
    /// A value is called.
    CallValue(ValueCall),
    /// Something that the interpreter does, on values.
    Interpreted(Interpreted),
}

/// Something that the interpreter does. The operands lie one behind the other, each at a multiple of 16 bytes; the
/// result is put in their place.
#[derive(Debug)]
pub(crate) struct Interpreted {
    pub(crate) work: Work,
    pub(crate) operands: Vec<Arc<Layout>>,
    pub(crate) result: Arc<Layout>,
    /// Whether this is only reached where something unusual happens: where a run is about to fail, or arrays overlap.
    pub(crate) seldom: bool,
}

impl Interpreted {
    /// What is done, for people; `None` if that is nothing that a statement says.
    pub(crate) fn shown(&self) -> Option<String> {
        let types = || {
            let types: Vec<String> = self.operands.iter().map(|operand| operand.ty.to_string()).collect();
            types.join(", ")
        };
        Some(match &self.work {
            // Nobody minds where what is printed is made into text.
            Work::Primitive(primitive) if matches!(primitive.name, "print" | "println") => return None,
            Work::Primitive(primitive) => format!("`{}` of ({})", primitive.name, types()),
            Work::Construct(ty) => format!("a call of the type {ty} with ({})", types()),
            Work::NewStruct(info) => format!("a new {} of ({})", info.ty, types()),
            Work::Condition => format!("a condition of the type {}", types()),
            Work::Convey => format!("a value of the type {} taken as one of {}", types(), self.result.ty),
            // What happens anyway, and the functions that are told of as such.
            Work::TheException { .. } | Work::Function(_) => return None,
        })
    }
}

/// A call of the first of these operands with the others. They lie one behind the other, each at a multiple of 16
/// bytes; the result is put in their place.
#[derive(Debug)]
pub(crate) struct ValueCall {
    pub(crate) operands: Vec<Arc<Layout>>,
    pub(crate) result: Arc<Layout>,
}

/// What the interpreter does.
#[derive(Debug)]
pub(crate) enum Work {
    Primitive(&'static Primitive),
    /// Runs the function of this number in the module.
    Function(usize),
    /// Calls a type.
    Construct(Type),
    NewStruct(Arc<StructInfo>),
    /// Sees whether a condition is a `Bool`.
    Condition,
    /// Gives the exception that is being handled; whether the function does more with it than to ask for its type and
    /// throw it again.
    TheException {
        looked_into: bool,
    },
    /// Nothing but making the operand a value of the interpreter, or the other way round.
    Convey,
}
