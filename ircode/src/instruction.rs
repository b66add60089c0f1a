//! A statement with the other four columns of Julia's instruction stream.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::names::{Names, NumberedNames};
use crate::stmt::Stmt;
use crate::types::Type;

/// A statement together with its type, call info, line and flags: one row of an instruction stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct Instruction<N: Names> {
    /// The statement.
    pub stmt: Stmt<N>,
    /// The type of its result. Terminators other than return have the type `Any`.
    #[serde(rename = "type", default = "untyped", skip_serializing_if = "is_untyped")]
    pub ty: Type,
    /// What inference found out about a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub info: CallInfo,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: LineInfo,
    /// Julia's `IR_FLAG_…` bits. Their meaning differs between versions of Julia; bbkit carries them along and reads
    /// none of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flag: u32,
}

fn untyped() -> Type {
    Type::Untyped
}

fn is_untyped(ty: &Type) -> bool {
    *ty == Type::Untyped
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An instruction to be inserted: what is not given is taken from the statement it is inserted next to.
#[derive(Clone, PartialEq, Debug)]
pub struct NewInstruction<N: Names> {
    /// The statement.
    pub stmt: Stmt<N>,
    /// The type of its result.
    pub ty: Type,
    /// What inference found out about a call.
    pub info: CallInfo,
    /// Where it comes from; `None` copies the line of the statement next to which it is inserted.
    pub line: Option<LineInfo>,
    /// Julia's `IR_FLAG_…` bits.
    pub flag: u32,
}

impl<N: Names> NewInstruction<N> {
    /// An instruction without info and flags, on the line of the statement next to which it is inserted.
    pub fn new(stmt: Stmt<N>, ty: Type) -> Self {
        NewInstruction { stmt, ty, info: CallInfo::default(), line: None, flag: 0 }
    }

    /// The same on a line of its own.
    pub fn with_line(self, line: impl Into<LineInfo>) -> Self {
        NewInstruction { line: Some(line.into()), ..self }
    }

    /// The instruction, where `anchor` gives the line if there is none.
    pub fn into_instruction(self, anchor: LineInfo) -> Instruction<N> {
        let NewInstruction { stmt, ty, info, line, flag } = self;
        Instruction { stmt, ty, info, line: line.unwrap_or(anchor), flag }
    }
}

impl<N: Names> From<Instruction<N>> for NewInstruction<N> {
    fn from(inst: Instruction<N>) -> Self {
        let Instruction { stmt, ty, info, line, flag } = inst;
        NewInstruction { stmt, ty, info, line: Some(line), flag }
    }
}

/// Where a statement comes from: the three integers of Julia 1.12, of which earlier versions use the first.
///
/// With a line table ([`DebugInfo::linetable`]) `line` is an index into it, counted from 1; without one it is a line
/// number. `edge` names one of [`DebugInfo::edges`], counted from 1, and `pc` the statement there from which this one
/// comes: by inlining, or by differentiation. In JSON it is the line alone where the others are 0, else the three.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(from = "LineForm", into = "LineForm")]
pub struct LineInfo {
    /// The line number, or the index into the line table. 0 is no line.
    pub line: i32,
    /// The debug info from which the statement comes, counted from 1. 0 is none.
    pub edge: i32,
    /// The statement there, counted from 1.
    pub pc: i32,
}

impl LineInfo {
    /// No line.
    pub const NONE: LineInfo = LineInfo { line: 0, edge: 0, pc: 0 };
}

impl From<[i32; 3]> for LineInfo {
    fn from([line, edge, pc]: [i32; 3]) -> Self {
        LineInfo { line, edge, pc }
    }
}

/// A [`LineInfo`] as it stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LineForm {
    Line(i32),
    Triple([i32; 3]),
}

impl From<LineForm> for LineInfo {
    fn from(form: LineForm) -> Self {
        match form {
            LineForm::Line(line) => line.into(),
            LineForm::Triple(triple) => triple.into(),
        }
    }
}

impl From<LineInfo> for LineForm {
    fn from(LineInfo { line, edge, pc }: LineInfo) -> Self {
        if edge == 0 && pc == 0 { LineForm::Line(line) } else { LineForm::Triple([line, edge, pc]) }
    }
}

impl From<i32> for LineInfo {
    fn from(line: i32) -> Self {
        LineInfo { line, edge: 0, pc: 0 }
    }
}

/// Names for the places in the source, Julia's `DebugInfo` (a line table up to 1.11).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DebugInfo {
    /// What the code belongs to: the name of a method or of a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub def: Option<Name>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Name>,
    /// The line table; empty where lines are plain numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linetable: Vec<LineInfoNode>,
    /// Code from which statements were taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Arc<DebugInfo>>,
    /// The lines of the statements, for code that stands in another's `edges`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codelocs: Vec<LineInfo>,
}

/// An entry of a line table.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineInfoNode {
    /// The method.
    pub method: Name,
    /// The file.
    pub file: Name,
    /// The line number.
    pub line: i32,
    /// The entry of the line table in which this one was inlined, counted from 1; 0 if it was not.
    pub inlined_at: i32,
}

impl DebugInfo {
    /// The line number in the outermost function that a statement with this line info belongs to; 0 if there is none.
    pub fn outermost_line(&self, info: LineInfo) -> i32 {
        if self.linetable.is_empty() {
            return info.line;
        }
        let entry = |index: i32| usize::try_from(index).ok()?.checked_sub(1).and_then(|i| self.linetable.get(i));
        let mut index = info.line;
        // A table that names itself in a circle would not end; a chain is never longer than the table.
        for _ in 0..self.linetable.len() {
            match entry(index) {
                None => return 0,
                Some(node) if node.inlined_at == 0 => return node.line,
                Some(node) => index = node.inlined_at,
            }
        }
        0
    }

    /// The statement from which one with this line info comes: the name of the function it stands in, and its number
    /// there. Followed through every edge, the innermost last.
    pub fn origins(&self, info: LineInfo) -> Vec<Origin> {
        let mut origins = Vec::new();
        let mut debuginfo = self;
        let mut info = info;
        while let Some(edge) = usize::try_from(info.edge).ok().and_then(|edge| edge.checked_sub(1)) {
            let Some(next) = debuginfo.edges.get(edge) else { break };
            let Some(pc) = u32::try_from(info.pc).ok().filter(|&pc| pc > 0) else { break };
            origins.push(Origin { def: next.def.clone(), statement: pc });
            let Some(&outer) = next.codelocs.get(pc as usize - 1) else { break };
            debuginfo = next;
            info = outer;
        }
        origins
    }
}

/// The statement from which another one was made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The function in which it stands.
    pub def: Option<Name>,
    /// Its number there, counted from 1.
    pub statement: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.def {
            Some(def) => write!(f, "%{} of {def}", self.statement),
            None => write!(f, "%{}", self.statement),
        }
    }
}

/// What inference found out about a call, as the text of Julia's object; `None` is `NoCallInfo()`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallInfo(pub Option<Name>);
