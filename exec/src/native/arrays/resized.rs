//! Which arrays may get another length while code runs: of the others what their headers say is read once.

use hashbrown::HashSet;
use ircode::primitives::MemoryEffect;
use ircode::{IRCode, Module, Positions, ScalarType, Stmt, Type};

/// The arrays that may get another length: of numbers by their types, so that arrays of floats are not among them where
/// lists of integers grow, and all others as one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resized {
    /// The types of numbers in such arrays, and how many dimensions these have.
    numbers: HashSet<(ScalarType, u32)>,
    /// Whether arrays of something else may.
    others: bool,
    /// Whether one may of which it is not known what its elements are.
    any: bool,
}

impl Resized {
    /// Whether a value of this type may be an array that gets another length.
    pub(crate) fn contains(&self, ty: &Type) -> bool {
        match ty {
            Type::Array(array) => match array.element.as_scalar() {
                Some(scalar) => self.any || self.numbers.contains(&(scalar, array.rank)),
                None => self.any || self.others,
            },
            _ => self.any || self.others || !self.numbers.is_empty(),
        }
    }

    /// Whether an array of such elements may get another length, in whatever dimensions they are.
    pub(crate) fn contains_elements(&self, element: &Type) -> bool {
        match element.as_scalar() {
            Some(scalar) => self.any || self.numbers.iter().any(|(number, _)| *number == scalar),
            None => self.any || self.others,
        }
    }

    /// Takes on what a statement may give another length.
    pub(crate) fn add(&mut self, module: &Module<IRCode>, ir: &IRCode, stmt: &Stmt<Positions>) {
        let Some((primitive, args)) = module.primitive_call(stmt) else { return };
        if !matches!(primitive.memory, MemoryEffect::Resize { .. }) {
            return;
        }
        let types: Vec<Type> = args.iter().map(|arg| ir.operand_type(arg)).collect();
        if primitive.name == "restore!" && keeps_size(&types) {
            return;
        }
        match types.first() {
            Some(Type::Array(array)) => match array.element.as_scalar() {
                Some(scalar) => self.numbers.extend([(scalar, array.rank)]),
                None => self.others = true,
            },
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
