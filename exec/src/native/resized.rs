//! Which arrays may get another length while code runs: of the others what their headers say is read once.

use hashbrown::HashSet;
use ircode::{IRCode, Module, Positions, Stmt, Type};

/// Primitives that may give an array another length, beside `restore!`. It is their first operand.
const RESIZING: &[&str] = &[
    "push!",
    "jl_array_grow_end",
    "jl_array_grow_beg",
    "jl_array_grow_at",
    "jl_array_del_end",
    "jl_array_del_beg",
    "jl_array_del_at",
];

/// The arrays that may get another length, by their types. Texts of errors are put together in vectors of bytes that grow: those of
/// numbers do not because of that.
#[derive(Clone, Debug, Default)]
pub(super) struct Resized {
    types: HashSet<Type>,
    /// Whether one does of which the type is not known.
    any: bool,
}

impl Resized {
    /// Whether a value of this type may be an array that gets another length.
    pub(super) fn contains(&self, ty: &Type) -> bool {
        match ty {
            Type::Array(_) => self.any || self.types.contains(ty),
            _ => self.any || !self.types.is_empty(),
        }
    }

    /// Whether an array of such elements may get another length, in whatever dimensions they are.
    pub(super) fn contains_elements(&self, element: &Type) -> bool {
        let has = |ty: &Type| matches!(ty, Type::Array(array) if array.element == *element);
        self.any || self.types.iter().any(has)
    }

    /// Takes on what a statement may give another length.
    pub(super) fn add(&mut self, module: &Module<IRCode>, ir: &IRCode, stmt: &Stmt<Positions>) {
        let Some((primitive, args)) = module.primitive_call(stmt) else { return };
        if !RESIZING.contains(&primitive.name) && primitive.name != "restore!" {
            return;
        }
        let types: Vec<Type> = args.iter().map(|arg| ir.operand_type(arg)).collect();
        if primitive.name == "restore!" && keeps_size(&types) {
            return;
        }
        match types.into_iter().next() {
            Some(ty @ Type::Array(_)) => {
                self.types.insert(ty);
            }
            _ => self.any = true,
        }
    }
}

/// Whether what is restored has the size that it had: numbers have it if nothing else gives arrays another one.
fn keeps_size(types: &[Type]) -> bool {
    // The interpreter restores those of wider ones.
    let fits = |element: &Type| element.as_scalar().is_some_and(|scalar| scalar.bits() <= 64);
    let of_numbers = |ty: &Type| matches!(ty, Type::Array(array) if fits(&array.element));
    matches!(types, [whole, saved] if whole == saved && of_numbers(whole))
}
