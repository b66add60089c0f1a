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
#[serde(untagged, expecting = "expected the number of a line, or three numbers, of 32 bits each")]
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
    /// The line numbers in the outermost function that statements with these line infos belong to, each 0 if there is
    /// none. All are found in time linear in how many there are, and in the line table.
    ///
    /// ```
    /// use ircode::{DebugInfo, LineInfoNode};
    ///
    /// let node = |method: &str, line, inlined_at| LineInfoNode { method: method.into(), file: "f.jl".into(), line, inlined_at };
    /// // Line 7 of `g` was inlined in line 3 of `f`.
    /// let linetable = vec![node("f", 3, 0), node("g", 7, 1)];
    /// let info = DebugInfo { linetable, ..DebugInfo::default() };
    /// let lines: Vec<i32> = info.outermost_lines([1, 2, 0].map(Into::into)).collect();
    /// assert_eq!(lines, [3, 3, 0]);
    /// ```
    pub fn outermost_lines<'d>(
        &'d self,
        infos: impl IntoIterator<Item = LineInfo> + 'd,
    ) -> impl Iterator<Item = i32> + 'd {
        let position = |index: i32| usize::try_from(index).ok()?.checked_sub(1).filter(|at| *at < self.linetable.len());
        // The line of each entry that was asked for. One that is not known yet, but met again, names itself in a
        // circle.
        let mut known: Vec<Option<i32>> = vec![None; self.linetable.len()];
        let mut line_of = move |index: i32| {
            let (mut next, mut met) = (position(index), Vec::new());
            let line = loop {
                let Some(at) = next else { break 0 };
                let (Some(known), Some(node)) = (known.get_mut(at), self.linetable.get(at)) else { break 0 };
                match *known {
                    Some(line) => break line,
                    None if node.inlined_at == 0 => break node.line,
                    None => {
                        *known = Some(0);
                        met.push(at);
                        next = position(node.inlined_at);
                    }
                }
            };
            for at in met {
                if let Some(known) = known.get_mut(at) {
                    *known = Some(line);
                }
            }
            line
        };
        infos.into_iter().map(move |info| if self.linetable.is_empty() { info.line } else { line_of(info.line) })
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

#[cfg(test)]
mod tests {
    use super::{DebugInfo, LineInfoNode};

    fn table(inlined_at: impl Iterator<Item = i32>) -> DebugInfo {
        let node = |(line, inlined_at)| LineInfoNode { method: "f".into(), file: "f.jl".into(), line, inlined_at };
        DebugInfo { linetable: (1..).zip(inlined_at).map(node).collect(), ..DebugInfo::default() }
    }

    /// Each entry stands in the one before: one by one, that would be ten thousand million steps.
    #[test]
    fn deep_inlining_takes_linear_time() {
        const DEPTH: i32 = 100_000;
        let info = table(0..DEPTH);
        assert_eq!(info.linetable.len(), DEPTH as usize);
        let mut lines = info.outermost_lines((1..=DEPTH).rev().map(Into::into));
        assert!(lines.all(|line| line == 1));
        assert_eq!(info.outermost_lines((1..=DEPTH).map(Into::into)).count(), DEPTH as usize);
    }

    #[test]
    fn circles_and_what_is_not_there_have_no_line() {
        let info = table([2, 3, 2, 9, -1, 1, 0].into_iter());
        let lines: Vec<i32> = info.outermost_lines([1, 2, 3, 4, 5, 6, 7, 8, 0, -1].map(Into::into)).collect();
        assert_eq!(lines, [0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    }
}
