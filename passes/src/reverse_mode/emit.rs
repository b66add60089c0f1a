//! Writing code, block by block.

use std::sync::{Arc, LazyLock};

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{Constant, GlobalRef, LineInfo, NewInstruction, Operand, Stmt, Type};

/// Writes statements at the end of a block, or before its terminator if it has one.
pub(super) struct Emitter<'b> {
    pub(super) bb: &'b mut BBCode,
    pub(super) block: BlockId,
    pub(super) line: LineInfo,
}

type Emitted = Result<Operand<Ids>, EditError>;

impl<'b> Emitter<'b> {
    pub(super) fn new(bb: &'b mut BBCode, block: BlockId, line: LineInfo) -> Self {
        Emitter { bb, block, line }
    }

    pub(super) fn stmt(&mut self, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        self.bb.insert_before_terminator(self.block, NewInstruction::new(stmt, ty).with_line(self.line))
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
        self.call("Core", "tuple", elements, Type::tuple(types))
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

fn callee(module: &str, name: &str) -> Operand<Ids> {
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
