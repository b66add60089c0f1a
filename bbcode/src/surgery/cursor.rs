//! A place in the code that moves with the work.

use ircode::{Instruction, NewInstruction, Stmt};

use crate::code::BBCode;
use crate::edit::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// A place in a [`BBCode`]: before a statement, or at the end of a block. It is always somewhere: whatever it does, it
/// knows its block and what comes next.
///
/// What is inserted goes before the place, so that the cursor never comes to it.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{NewInstruction, Operand, Stmt, Type, parse_function};
///
/// let mut bb = BBCode::try_from(&parse_function("
/// 1 ─ %1 = Base.neg_int(_2)::Int64
/// │   %2 = Base.neg_int(%1)::Int64
/// └──      return %2
/// ")?.body)?;
/// // A call of `visit` before every statement.
/// let mut cursor = bb.cursor_at_start(bb.entry().unwrap())?;
/// while let Some(at) = cursor.current() {
///     cursor.insert(NewInstruction::new(Stmt::call(Operand::global("Main", "visit"), []), Type::Any))?;
///     assert_eq!(cursor.current(), Some(at));
///     cursor.step();
/// }
/// assert_eq!(bb.to_string(), "\
/// 1 ─ %4 = Main.visit()::Any
/// │   %1 = Base.neg_int(_2)::Int64
/// │   %5 = Main.visit()::Any
/// │   %2 = Base.neg_int(%1)::Int64
/// │   %6 = Main.visit()::Any
/// └── %3 = return %2
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cursor<'a> {
    bb: &'a mut BBCode,
    block: BlockId,
    /// The statement before which the cursor stands; `None` at the end of the block.
    before: Option<InstId>,
}

impl BBCode {
    /// A cursor before a statement.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`].
    pub fn cursor_before(&mut self, inst: InstId) -> Result<Cursor<'_>, EditError> {
        let block = self.block_of(inst).ok_or(EditError::NoSuchInst(inst))?;
        Ok(Cursor { bb: self, block, before: Some(inst) })
    }

    /// A cursor behind the φs of a block.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn cursor_at_start(&mut self, block: BlockId) -> Result<Cursor<'_>, EditError> {
        self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        let before = match self.phi_nodes(block).last() {
            Some((phi, _)) => self.next_inst(phi),
            None => self.first_inst(block),
        };
        Ok(Cursor { bb: self, block, before })
    }

    /// A cursor before the terminator of a block, or at its end if it has none.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn cursor_at_end(&mut self, block: BlockId) -> Result<Cursor<'_>, EditError> {
        self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        let before = self.terminator(block).map(|(id, _)| id);
        Ok(Cursor { bb: self, block, before })
    }
}

impl Cursor<'_> {
    /// The code.
    pub fn code(&self) -> &BBCode {
        self.bb
    }

    /// The block in which the cursor is.
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// The statement before which the cursor stands; `None` at the end of the block.
    pub fn current(&self) -> Option<InstId> {
        self.before
    }

    /// That statement.
    pub fn stmt(&self) -> Option<&Stmt<Ids>> {
        self.bb.stmt(self.before?)
    }

    /// Goes behind the statement, and says which it was. `None` at the end of the block, where the cursor stays.
    pub fn step(&mut self) -> Option<InstId> {
        let passed = self.before?;
        self.before = self.bb.next_inst(passed);
        Some(passed)
    }

    /// Goes to the start of the block behind this one in the layout, φs included, and says which that is. `None` in the last block,
    /// where the cursor stays.
    pub fn step_block(&mut self) -> Option<BlockId> {
        let next = self.bb.layout_next(self.block)?;
        (self.block, self.before) = (next, self.bb.first_inst(next));
        Some(next)
    }

    /// Inserts a statement before the cursor.
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`] and [`BBCode::push`].
    pub fn insert(&mut self, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        match self.before {
            Some(before) => self.bb.insert_before(before, inst),
            None => self.bb.push(self.block, inst),
        }
    }

    /// Removes the statement before which the cursor stands, and goes to the one behind it.
    ///
    /// # Errors
    ///
    /// As [`BBCode::remove`]; at the end of the block, [`EditError::NothingHere`].
    pub fn remove(&mut self) -> Result<Instruction<Ids>, EditError> {
        let inst = self.before.ok_or(EditError::NothingHere(self.block))?;
        let next = self.bb.next_inst(inst);
        let removed = self.bb.remove(inst)?;
        self.before = next;
        Ok(removed)
    }

    /// Puts another statement in the place of the one before which the cursor stands.
    ///
    /// # Errors
    ///
    /// As [`BBCode::replace`]; at the end of the block, [`EditError::NothingHere`].
    pub fn replace(&mut self, stmt: Stmt<Ids>) -> Result<Stmt<Ids>, EditError> {
        let inst = self.before.ok_or(EditError::NothingHere(self.block))?;
        self.bb.replace(inst, stmt)
    }

    /// Splits the block: what is behind the cursor goes to a new block, where the cursor is then.
    ///
    /// # Errors
    ///
    /// As [`BBCode::split_block`]; at the end of the block, [`EditError::NothingHere`].
    pub fn split(&mut self) -> Result<BlockId, EditError> {
        let inst = self.before.ok_or(EditError::NothingHere(self.block))?;
        self.block = self.bb.split_block(inst)?;
        Ok(self.block)
    }
}
