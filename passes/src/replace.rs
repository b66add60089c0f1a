//! Replacing values throughout a function.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Constant, Module, Operand, Type};
use slotmap::SecondaryMap;

/// Whether an operand may be put in the place of a value of this type. A constant of another type comes there only
/// where the run never does, and put there it would make the types that are declared untrue.
pub(crate) fn may_be_of(module: &Module<BBCode>, bb: &BBCode, operand: &Operand<Ids>, ty: &Type) -> bool {
    match (operand.as_constant(), ty) {
        // A name may be one of the compiler's lattice.
        (_, Type::Named(_)) => true,
        (Some(Constant::Nothing | Constant::Scalar(_) | Constant::String(_)), ty) => {
            module.is_a(&bb.operand_type(operand), ty) != Some(false)
        }
        _ => true,
    }
}

/// Values that are to be replaced, each by an operand that may itself be replaced.
#[derive(Clone, Debug, Default)]
pub struct Replacements {
    map: SecondaryMap<InstId, Operand<Ids>>,
}

impl Replacements {
    /// None yet.
    pub fn new() -> Self {
        Replacements::default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Whether `value` is to be replaced.
    pub fn contains(&self, value: InstId) -> bool {
        self.map.contains_key(value)
    }

    /// Lets `value` be replaced by `by`.
    pub fn insert(&mut self, value: InstId, by: Operand<Ids>) {
        self.map.insert(value, by);
    }

    /// What an operand is in the end. A value that is replaced by itself, over whatever steps, stays as it is.
    pub fn resolve(&mut self, operand: &Operand<Ids>) -> Operand<Ids> {
        let known = |operand: &Operand<Ids>| operand.as_value().and_then(|value| self.map.get(value));
        // Mostly it takes one step.
        match known(operand).map(|next| (next, known(next))) {
            None => return operand.clone(),
            Some((next, None)) => return next.clone(),
            Some(_) => {}
        }
        let mut path: Vec<InstId> = Vec::new();
        let mut at = operand.clone();
        while let Some((value, next)) = at.as_value().and_then(|value| Some((value, self.map.get(value)?))) {
            if path.len() > self.map.len() {
                break;
            }
            path.push(value);
            at = next.clone();
        }
        // So that the next walk along here is short.
        for value in path {
            if at.as_value() != Some(value) {
                self.map.insert(value, at.clone());
            }
        }
        at
    }

    /// Puts the replacements in place everywhere, in time linear in the function. True if some operand was replaced.
    pub fn apply(mut self, bb: &mut BBCode) -> bool {
        let mut changed = false;
        if self.map.is_empty() {
            return changed;
        }
        bb.for_each_operand_mut(|operand| {
            if operand.as_value().is_some_and(|value| self.map.contains_key(value)) {
                *operand = self.resolve(operand);
                changed = true;
            }
        });
        changed
    }
}
