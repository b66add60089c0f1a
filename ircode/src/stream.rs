//! The columns of an [`IRCode`](crate::IRCode).

use crate::instruction::{CallInfo, Instruction, LineInfo};
use crate::names::Positions;
use crate::stmt::Stmt;
use crate::types::Type;

/// Julia's `InstructionStream`: five columns of the same length, one row a statement.
///
/// Rows are added and replaced whole or column by column, never so that the columns differ in length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstructionStream {
    stmt: Vec<Stmt<Positions>>,
    ty: Vec<Type>,
    info: Vec<CallInfo>,
    line: Vec<LineInfo>,
    flag: Vec<u32>,
}

impl InstructionStream {
    /// A stream with room for `capacity` rows.
    pub fn with_capacity(capacity: usize) -> Self {
        InstructionStream {
            stmt: Vec::with_capacity(capacity),
            ty: Vec::with_capacity(capacity),
            info: Vec::with_capacity(capacity),
            line: Vec::with_capacity(capacity),
            flag: Vec::with_capacity(capacity),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.stmt.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.stmt.is_empty()
    }

    /// Adds a row at the end.
    #[inline]
    pub fn push(&mut self, inst: Instruction<Positions>) {
        let Instruction { stmt, ty, info, line, flag } = inst;
        self.stmt.push(stmt);
        self.ty.push(ty);
        self.info.push(info);
        self.line.push(line);
        self.flag.push(flag);
    }

    /// A copy of the row at this index, counted from 0.
    pub fn get(&self, index: usize) -> Option<Instruction<Positions>> {
        Some(Instruction {
            stmt: self.stmt.get(index)?.clone(),
            ty: self.ty.get(index)?.clone(),
            info: self.info.get(index)?.clone(),
            line: *self.line.get(index)?,
            flag: *self.flag.get(index)?,
        })
    }

    /// The statements.
    pub fn stmts(&self) -> &[Stmt<Positions>] {
        &self.stmt
    }

    /// The statements, to be rewritten.
    pub fn stmts_mut(&mut self) -> &mut [Stmt<Positions>] {
        &mut self.stmt
    }

    /// The types.
    pub fn types(&self) -> &[Type] {
        &self.ty
    }

    /// The types, to be rewritten.
    pub fn types_mut(&mut self) -> &mut [Type] {
        &mut self.ty
    }

    /// The call infos.
    pub fn infos(&self) -> &[CallInfo] {
        &self.info
    }

    /// The lines.
    pub fn lines(&self) -> &[LineInfo] {
        &self.line
    }

    /// The lines, to be rewritten.
    pub fn lines_mut(&mut self) -> &mut [LineInfo] {
        &mut self.line
    }

    /// The flags.
    pub fn flags(&self) -> &[u32] {
        &self.flag
    }

    /// The flags, to be rewritten.
    pub fn flags_mut(&mut self) -> &mut [u32] {
        &mut self.flag
    }

    /// Takes the rows from this position on; none if there are not so many.
    pub(crate) fn split_off(&mut self, at: usize) -> InstructionStream {
        let at = at.min(self.stmt.len());
        InstructionStream {
            stmt: self.stmt.split_off(at),
            ty: self.ty.split_off(at),
            info: self.info.split_off(at),
            line: self.line.split_off(at),
            flag: self.flag.split_off(at),
        }
    }

    /// Removes all rows and gives them out one after another.
    pub fn into_rows(self) -> impl Iterator<Item = Instruction<Positions>> {
        let InstructionStream { stmt, ty, info, line, flag } = self;
        stmt.into_iter().zip(ty).zip(info).zip(line).zip(flag).map(|((((stmt, ty), info), line), flag)| Instruction {
            stmt,
            ty,
            info,
            line,
            flag,
        })
    }
}

impl FromIterator<Instruction<Positions>> for InstructionStream {
    fn from_iter<I: IntoIterator<Item = Instruction<Positions>>>(rows: I) -> Self {
        let rows = rows.into_iter();
        let mut stream = InstructionStream::with_capacity(rows.size_hint().0);
        rows.for_each(|row| stream.push(row));
        stream
    }
}
