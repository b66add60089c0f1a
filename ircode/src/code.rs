//! The position-numbered representation.

use std::ops::Range;
use std::sync::Arc;

use crate::cfg::Cfg;
use crate::instruction::{DebugInfo, Instruction, LineInfo, NewInstruction};
use crate::names::{Positions, SSAValue};
use crate::operand::Operand;
use crate::stmt::Stmt;
use crate::stream::InstructionStream;
use crate::types::Type;
use crate::version::JuliaVersion;

/// A function body as the Julia compiler holds it: statements numbered by position, blocks as ranges of them.
///
/// ```
/// use ircode::{IRCode, SSAValue, parse_function};
///
/// let ir: IRCode = parse_function("
/// 2 1 ─ %1 = invoke sin(_2::Float64)::Float64
/// 3 │   %2 = invoke cos(%1::Float64)::Float64
/// 4 └──      return %2
/// ")?.body;
/// assert_eq!(ir.stmts.len(), 3);
/// assert_eq!(ir.block_of(SSAValue(3)).unwrap().to_string(), "#1");
/// # Ok::<(), ircode::TextError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IRCode {
    /// The statements with their types, call infos, lines and flags.
    pub stmts: InstructionStream,
    /// The types of the arguments; the first is that of the function itself.
    pub argtypes: Vec<Type>,
    /// The types of the static parameters.
    pub sptypes: Vec<Type>,
    /// Names for the places in the source.
    pub debuginfo: Arc<DebugInfo>,
    /// The version of Julia whose compiler made the code, where that is known: code of old versions need not meet the
    /// conditions that came later, see [`Check::since`](crate::Check::since).
    pub julia: Option<JuliaVersion>,
    /// Expressions about the function as a whole.
    pub meta: Vec<Stmt<Positions>>,
    /// The control-flow graph.
    pub cfg: Cfg,
    /// Instructions that are inserted but have no position of their own yet, in the order of their insertion. The
    /// first is named by the number after that of the last statement. See [`IRCode::insert_node`].
    pub new_nodes: Vec<NewNode>,
}

/// An instruction that waits for [`IRCode::compact`] to be given its place.
#[derive(Clone, PartialEq, Debug)]
pub struct NewNode {
    /// The statement next to which the instruction goes: one that has a place.
    pub anchor: SSAValue,
    /// Whether it goes behind the anchor, and stays in the anchor's block even where the block ends there; else before.
    pub attach_after: bool,
    /// The instruction.
    pub inst: Instruction<Positions>,
}

impl IRCode {
    /// The code of these statements in blocks of these ranges, edges as the terminators say.
    pub fn from_blocks(stmts: InstructionStream, ranges: &[Range<usize>]) -> Self {
        let cfg = Cfg::from_ranges(stmts.stmts(), ranges);
        IRCode { stmts, cfg, ..IRCode::default() }
    }

    /// The number of values that have a name: statements and pending nodes.
    pub fn value_count(&self) -> usize {
        self.stmts.len() + self.new_nodes.len()
    }

    /// The statement of this name, pending ones included.
    pub fn stmt(&self, value: SSAValue) -> Option<&Stmt<Positions>> {
        let index = value.index()?;
        match self.stmts.stmts().get(index) {
            Some(stmt) => Some(stmt),
            None => self.new_nodes.get(index - self.stmts.len()).map(|node| &node.inst.stmt),
        }
    }

    /// The statement of this name, to be rewritten in place: what Julia's `ir[SSAValue(7)][:stmt] = …` does.
    pub fn stmt_mut(&mut self, value: SSAValue) -> Option<&mut Stmt<Positions>> {
        let index = value.index()?;
        let len = self.stmts.len();
        if index < len {
            self.stmts.stmts_mut().get_mut(index)
        } else {
            self.new_nodes.get_mut(index - len).map(|node| &mut node.inst.stmt)
        }
    }

    /// The type of this value.
    pub fn ty(&self, value: SSAValue) -> Option<&Type> {
        let index = value.index()?;
        match self.stmts.types().get(index) {
            Some(ty) => Some(ty),
            None => self.new_nodes.get(index - self.stmts.len()).map(|node| &node.inst.ty),
        }
    }

    /// The type of an operand, as far as the code says.
    pub fn operand_type(&self, operand: &Operand<Positions>) -> Type {
        operand.ty(&self.argtypes, |value| self.ty(value).cloned())
    }

    /// The line of this value.
    pub fn line(&self, value: SSAValue) -> Option<LineInfo> {
        let index = value.index()?;
        match self.stmts.lines().get(index) {
            Some(line) => Some(*line),
            None => self.new_nodes.get(index - self.stmts.len()).map(|node| node.inst.line),
        }
    }

    /// The block in which a value is computed: that of its anchor, for a pending node.
    pub fn block_of(&self, value: SSAValue) -> Option<crate::BlockNumber> {
        let index = value.index()?;
        let index = match index.checked_sub(self.stmts.len()) {
            None => index,
            Some(pending) => self.new_nodes.get(pending)?.anchor.index()?,
        };
        self.cfg.block_of(index)
    }

    /// Inserts an instruction before the statement `position`, or behind it, and returns its name, which may be used as
    /// an operand at once.
    ///
    /// No statement is renumbered: the instruction waits in [`IRCode::new_nodes`] until [`IRCode::compact`]. Several
    /// instructions at the same place come out in the order in which they were inserted: before `%6` insert `a`, then
    /// `b`, and the result is `a; b; %6`. Behind `%6` insert `a`, then `b`, and it is `%6; a; b`. Next to a pending
    /// node only "behind" is allowed, and the new one goes to the same place after it.
    ///
    /// # Errors
    ///
    /// [`InsertError`] if `position` does not exist, or if the place would break its block: nothing but φs before a φ,
    /// no φ elsewhere, nothing behind a terminator, no terminator elsewhere. Other pending nodes at the same place are
    /// not looked at; the verifier does that.
    ///
    /// ```
    /// use ircode::{IRCode, NewInstruction, Operand, SSAValue, Stmt, Type, parse_function};
    ///
    /// let mut ir: IRCode = parse_function("
    /// 1 ─ %1 = Base.add_int(_2, 1)::Int64
    /// └──      return %1
    /// ")?.body;
    /// let twice = Stmt::call(Operand::global("Base", "mul_int"), [Operand::argument(2), ircode::Constant::int64(2).into()]);
    /// let inserted = ir.insert_node(SSAValue(1), NewInstruction::new(twice, Type::INT64), false)?;
    /// assert_eq!(inserted, SSAValue(3));
    /// if let Some(Stmt::Call(add)) = ir.stmt_mut(SSAValue(1)) {
    ///     add.args[0] = inserted.into();
    /// }
    /// let compacted = ir.compact()?;
    /// assert_eq!(compacted.ir.to_string(), "\
    /// 1 ─ %1 = Base.mul_int(_2, 2)::Int64
    /// │   %2 = Base.add_int(%1, 1)::Int64
    /// └──      return %2
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_node(
        &mut self,
        position: SSAValue,
        inst: NewInstruction<Positions>,
        attach_after: bool,
    ) -> Result<SSAValue, InsertError> {
        let index = position.index().ok_or(InsertError::NoSuchValue(position))?;
        let (anchor, attach_after) = match index.checked_sub(self.stmts.len()) {
            None => (position, attach_after),
            Some(pending) => {
                let node = self.new_nodes.get(pending).ok_or(InsertError::NoSuchValue(position))?;
                if !attach_after {
                    return Err(InsertError::BeforePending(position));
                }
                (node.anchor, node.attach_after)
            }
        };
        self.check_place(anchor, attach_after, &inst.stmt)?;
        let line = self.line(anchor).unwrap_or_default();
        self.new_nodes.push(NewNode { anchor, attach_after, inst: inst.into_instruction(line) });
        Ok(SSAValue::from_index(self.value_count() - 1))
    }
}

impl IRCode {
    /// Whether a statement may stand next to `anchor`, a statement with a place.
    fn check_place(&self, anchor: SSAValue, attach_after: bool, stmt: &Stmt<Positions>) -> Result<(), InsertError> {
        let index = anchor.index().ok_or(InsertError::NoSuchValue(anchor))?;
        let in_block = self.cfg.block_of(index);
        let placed = |index: Option<usize>| {
            let index = index.filter(|&index| self.cfg.block_of(index) == in_block)?;
            Some((SSAValue::from_index(index), self.stmts.stmts().get(index)?))
        };
        if placed(Some(index)).is_none() {
            return Err(InsertError::NoSuchValue(anchor));
        }
        let (before, after) =
            if attach_after { (Some(index), index.checked_add(1)) } else { (index.checked_sub(1), Some(index)) };
        if let Some((before, _)) = placed(before).filter(|(_, before)| before.is_terminator()) {
            return Err(InsertError::BehindTerminator(before));
        }
        if let Some((before, other)) = placed(before)
            && matches!(stmt, Stmt::Phi(_))
            && !other.may_stand_among_phis()
        {
            return Err(InsertError::PhiInside(before));
        }
        if let Some((after, other)) = placed(after) {
            if stmt.is_terminator() {
                return Err(InsertError::TerminatorInside(after));
            }
            if matches!(other, Stmt::Phi(_)) && !stmt.may_stand_among_phis() {
                return Err(InsertError::BeforePhi(after));
            }
        }
        Ok(())
    }
}

/// Why an instruction cannot be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// There is no such value.
    #[error("there is no statement {0} to insert at")]
    NoSuchValue(SSAValue),
    /// Only "behind" is allowed next to a pending node.
    #[error("{0} is itself pending: only what goes behind it can be inserted there")]
    BeforePending(SSAValue),
    /// The block ends with the statement.
    #[error("{0} ends its block: nothing can be inserted behind it; insert before it instead")]
    BehindTerminator(SSAValue),
    /// Only φs may stand before a φ.
    #[error("{0} is a φ: only another φ can be inserted before it; insert behind the last φ of the block instead")]
    BeforePhi(SSAValue),
    /// A φ can only stand at the start of a block.
    #[error("a φ can only be inserted at the start of a block, not behind {0}")]
    PhiInside(SSAValue),
    /// A terminator can only stand at the end of a block.
    #[error("a terminator can only be the last statement of a block, but {0} would follow")]
    TerminatorInside(SSAValue),
}
