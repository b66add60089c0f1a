//! Calls what a closure applies, where the closure is seen to be made.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Constant, Module, Operand, Stmt};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;
use crate::replace::Replacements;
use crate::simplify_cfg::fill_empty_blocks;

/// The pass's name on the command line.
pub const NAME: &str = "closure-folding";

/// Replaces the application of a closure that `partial_apply` makes in the same function by a call of its function with what it
/// captures behind the arguments, `captured` by what is captured, and `applies` by the answer. Copies and π on the way are looked
/// through. True if there was one. The closure itself stays until `dead-code` finds that nobody uses it.
///
/// A call with another number of arguments than the function takes stays, as it is an error when the program runs. Linear in the
/// function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let closures = Closures::find(bb, context.module);
    if closures.made.is_empty() {
        return Ok(false);
    }
    let mut changed = false;
    let mut replaced = Replacements::new();
    let mut answered: Vec<InstId> = Vec::new();
    let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    for id in ids {
        let Some(stmt) = bb.stmt(id) else { continue };
        match closures.folded(bb, context.module, stmt) {
            Some(Folded::Call(call)) => {
                bb.replace(id, call)
                    .map_err(|error| crate::PassError::new(NAME, context.function, error.to_string()))?;
                changed = true;
            }
            Some(Folded::Value(value)) => {
                replaced.insert(id, value);
                answered.push(id);
            }
            None => {}
        }
    }
    replaced.apply(bb);
    for &id in &answered {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    fill_empty_blocks(bb);
    Ok(changed || !answered.is_empty())
}

/// A closure that is seen to be made.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    /// What names the function.
    pub(crate) function: Operand<Ids>,
    /// The values of the function's last parameters.
    pub(crate) captured: Vec<Operand<Ids>>,
}

/// The closure that a statement makes.
pub(crate) fn made_closure(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Closure> {
    let (primitive, args) = module.primitive_call(stmt)?;
    let [function, captured @ ..] = args else { return None };
    (primitive.name == "partial_apply").then(|| Closure { function: function.clone(), captured: captured.to_vec() })
}

/// The closures that a function makes.
struct Closures {
    made: SecondaryMap<InstId, Closure>,
}

enum Folded {
    Call(Stmt<Ids>),
    Value(Operand<Ids>),
}

impl Closures {
    fn find(bb: &BBCode, module: &Module<BBCode>) -> Closures {
        Closures {
            made: bb.all_insts().filter_map(|(id, inst)| Some((id, made_closure(module, &inst.stmt)?))).collect(),
        }
    }

    /// The closure that an operand is, over copies and π.
    fn get(&self, bb: &BBCode, operand: &Operand<Ids>) -> Option<&Closure> {
        let mut at = operand.as_value()?;
        // Copies of copies: a chain is as long as it is, and a cycle of copies can only stand in code that is not reached.
        for _ in 0..64 {
            if let Some(made) = self.made.get(at) {
                return Some(made);
            }
            at = match bb.stmt(at)? {
                Stmt::Value(Operand::Value(of)) => *of,
                Stmt::Pi(pi) => pi.value.as_value()?,
                _ => return None,
            };
        }
        None
    }

    fn folded(&self, bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Folded> {
        let (callee, args) = match stmt {
            Stmt::Call(call) => (&call.callee, &call.args),
            Stmt::Invoke(invoke) => (&invoke.callee, &invoke.args),
            _ => return None,
        };
        if let Some(closure) = self.get(bb, callee) {
            let takes = module.parameters_of(&closure.function)?.len();
            let all = args.iter().chain(&closure.captured).cloned();
            return (args.len() + closure.captured.len() == takes)
                .then(|| Folded::Call(Stmt::call(closure.function.clone(), all)));
        }
        let (primitive, args) = module.primitive_call(stmt)?;
        let (closure, function) = match (primitive.name, args) {
            ("applies" | "captured", [closure, function, ..]) => (self.get(bb, closure)?, function),
            _ => return None,
        };
        let same = same_function(module, &closure.function, function)?;
        match args.get(2) {
            None => Some(Folded::Value(Operand::Constant(Constant::bool(same)))),
            Some(number) if same => {
                let index = usize::try_from(number.as_constant()?.as_scalar()?.to_i128()).ok()?.checked_sub(1)?;
                closure.captured.get(index).cloned().map(Folded::Value)
            }
            Some(_) => None,
        }
    }
}

/// Whether two operands name the same function; `None` if one names none.
pub(crate) fn same_function(module: &Module<BBCode>, a: &Operand<Ids>, b: &Operand<Ids>) -> Option<bool> {
    use ircode::Callee;
    Some(match (module.callee(a)?, module.callee(b)?) {
        (Callee::Function(a), Callee::Function(b)) => a == b,
        (Callee::Primitive(a), Callee::Primitive(b)) => a.name == b.name,
        (Callee::Function(_), Callee::Primitive(_)) | (Callee::Primitive(_), Callee::Function(_)) => false,
        _ => return None,
    })
}
