//! Writing code, block by block.

use std::sync::{Arc, LazyLock};

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{Constant, GlobalRef, LineInfo, NewInstruction, Operand, Stmt, Type};

/// Writes statements one after another.
pub(super) struct Emitter<'b> {
    pub(super) bb: &'b mut BBCode,
    at: At,
    pub(super) line: LineInfo,
}

/// Where the next statement goes.
#[derive(Clone, Copy)]
enum At {
    /// To the end of the block, or before its terminator if it has one.
    End(BlockId),
    Before(InstId),
    After(InstId),
}

type Emitted = Result<Operand<Ids>, EditError>;

impl<'b> Emitter<'b> {
    /// Writes at the end of a block, or before its terminator if it has one.
    pub(super) fn new(bb: &'b mut BBCode, block: BlockId, line: LineInfo) -> Self {
        Emitter { bb, at: At::End(block), line }
    }

    /// Writes before a statement.
    pub(super) fn before(bb: &'b mut BBCode, inst: InstId) -> Self {
        let line = bb.inst(inst).map_or(LineInfo::NONE, |inst| inst.line);
        Emitter { bb, at: At::Before(inst), line }
    }

    /// Writes behind a statement.
    pub(super) fn after(bb: &'b mut BBCode, inst: InstId) -> Self {
        let line = bb.inst(inst).map_or(LineInfo::NONE, |inst| inst.line);
        Emitter { bb, at: At::After(inst), line }
    }

    pub(super) fn stmt(&mut self, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        let inst = NewInstruction::new(stmt, ty).with_line(self.line);
        match &mut self.at {
            At::End(block) => self.bb.insert_before_terminator(*block, inst),
            At::Before(anchor) => self.bb.insert_before(*anchor, inst),
            At::After(last) => {
                *last = self.bb.insert_after(*last, inst)?;
                Ok(*last)
            }
        }
    }

    /// Calls one of bbkit's own primitives.
    pub(super) fn own(&mut self, name: &str, args: impl IntoIterator<Item = Operand<Ids>>, ty: Type) -> Emitted {
        self.call("BBKit", name, args, ty)
    }

    pub(super) fn call(
        &mut self,
        module: &str,
        name: &str,
        args: impl IntoIterator<Item = Operand<Ids>>,
        ty: Type,
    ) -> Emitted {
        self.stmt(Stmt::call(callee(module, name), args), ty).map(Operand::Value)
    }

    pub(super) fn tuple(&mut self, elements: Vec<Operand<Ids>>, types: Vec<Type>) -> Emitted {
        self.call("Core", "tuple", elements, Type::tuple(types.into_iter().map(Type::or_any)))
    }

    /// Field number `field`, counted from 0.
    pub(super) fn field(&mut self, object: Operand<Ids>, field: usize, ty: Type) -> Emitted {
        let number = Constant::int64(field as i64 + 1);
        self.call("Base", "getfield", [object, number.into()], ty)
    }

    pub(super) fn goto(&mut self, target: BlockId) -> Result<(), EditError> {
        self.stmt(Stmt::goto(target), Type::Any).map(|_| ())
    }
}

/// The callees that stand in many statements, so that these share them.
static SHARED: LazyLock<Vec<Arc<GlobalRef>>> = LazyLock::new(|| {
    let own = ["new_slot", "slot_get", "slot_set!", "stack_push!", "stack_get"].map(|name| ("BBKit", name));
    let base = ["add_float", "sub_int", "getfield"].map(|name| ("Base", name));
    own.into_iter().chain(base).map(|(module, name)| Arc::new(GlobalRef::new(module, name))).collect()
});

/// What a call of a primitive calls.
pub(super) fn callee(module: &str, name: &str) -> Operand<Ids> {
    let shared = SHARED.iter().find(|shared| shared.name == name && shared.module == module);
    shared.map_or_else(|| Operand::global(module, name), |shared| Operand::Global(Arc::clone(shared)))
}

/// A type as an operand.
pub(super) fn type_operand(ty: Type) -> Operand<Ids> {
    Operand::Constant(Constant::of_type(ty))
}

/// The number of a block as the stack of blocks holds it.
pub(super) fn block_number(number: usize) -> Operand<Ids> {
    Operand::from(number as i64)
}
