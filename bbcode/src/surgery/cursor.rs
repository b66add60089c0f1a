//! A place in the code that moves with the work.

use ircode::{Instruction, Names, NewInstruction, Operand, Stmt};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// A place in a [`BBCode`]: before a statement, or at the end of a block. It is always somewhere: whatever it does, it
/// knows its block and what comes next.
///
/// What is inserted goes before the place, so that the cursor never comes to it. Unlike the insertions of [`BBCode`],
/// which look at places only, a cursor makes sure that what a statement uses is there: values are computed on every way
/// to it, arguments and targets exist. For values of other blocks it asks the [dominators](BBCode::dominators), which
/// are computed anew after each change of control flow.
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
///
/// // A value that is not there yet cannot be used.
/// let negated = bb.inst_ids(bb.entry().unwrap()).nth(3).unwrap();
/// let mut cursor = bb.cursor_at_start(bb.entry().unwrap())?;
/// let early = NewInstruction::new(Stmt::call(Operand::global("Base", "neg_int"), [negated.into()]), Type::INT64);
/// assert_eq!(cursor.insert(early).unwrap_err().to_string(), "%2 is not computed on every way to %4");
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

    /// A cursor before the terminator of a block, or before a last statement that never returns, or at the end.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn cursor_at_end(&mut self, block: BlockId) -> Result<Cursor<'_>, EditError> {
        self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        let before = self.end_of(block);
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

    /// Goes to the start of the block behind this one in the layout, φs included, and says which that is. `None` in the
    /// last block, where the cursor stays.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─ %2 = Base.neg_int(_3)::Int64
    /// └──      return %2
    /// 3 ─      return _3
    /// ")?.body)?;
    /// let (first, count) = (bb.first_inst(bb.entry().unwrap()).unwrap(), bb.inst_count());
    /// // All statements of all blocks.
    /// let mut cursor = bb.cursor_before(first)?;
    /// let mut seen = Vec::new();
    /// loop {
    ///     seen.extend(cursor.step());
    ///     if cursor.current().is_none() && cursor.step_block().is_none() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!((seen[0], seen.len()), (first, count));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_block(&mut self) -> Option<BlockId> {
        let next = self.bb.layout_next(self.block)?;
        (self.block, self.before) = (next, self.bb.first_inst(next));
        Some(next)
    }

    /// Inserts a statement before the cursor.
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`] and [`BBCode::push`]; [`EditError::NotAvailable`], [`EditError::NoValue`],
    /// [`EditError::NoSuchInst`], [`EditError::NoSuchArgument`] and [`EditError::NoSuchBlock`] for what the statement
    /// names.
    pub fn insert(&mut self, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        self.check(&inst.stmt)?;
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
    /// As [`BBCode::replace`], and for what the statement names as [`Cursor::insert`]; at the end of the block,
    /// [`EditError::NothingHere`].
    pub fn replace(&mut self, stmt: Stmt<Ids>) -> Result<Stmt<Ids>, EditError> {
        let inst = self.before.ok_or(EditError::NothingHere(self.block))?;
        self.check(&stmt)?;
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

    /// Whether what the statement names is there.
    fn check(&self, stmt: &Stmt<Ids>) -> Result<(), EditError> {
        let mut missing = Ok(());
        stmt.for_each_target(|target| {
            if missing.is_ok() && self.bb.block(target).is_none() {
                missing = Err(EditError::NoSuchBlock(target));
            }
        });
        missing?;
        if let Stmt::Phi(phi) = stmt {
            for entry in &phi.entries {
                if entry.edge != Ids::virtual_block() && self.bb.block(entry.edge).is_none() {
                    return Err(EditError::NoSuchBlock(entry.edge));
                }
                match &entry.value {
                    Some(Operand::Value(value)) => self.check_at_end(*value, entry.edge)?,
                    Some(operand) => self.bb.check_operand_exists(operand)?,
                    None => {}
                }
            }
            return Ok(());
        }
        let mut result = Ok(());
        stmt.for_each_operand(&mut |operand| {
            if result.is_ok() {
                result = match (operand, self.before) {
                    (Operand::Value(value), Some(at)) => self.bb.check_available(*value, at),
                    (Operand::Value(value), None) => self.check_at_end(*value, self.block),
                    (operand, _) => self.bb.check_operand_exists(operand),
                };
            }
        });
        result
    }

    fn check_at_end(&self, value: InstId, block: BlockId) -> Result<(), EditError> {
        // At an end there is no statement to name: the value is what is missing.
        self.bb.check_available_at_end(value, block, self.before.unwrap_or(value))
    }
}
