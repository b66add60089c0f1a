//! Lets invokes name the functions of the module that they call.

use bbcode::{BBCode, InstId};
use ircode::{Callee, Operand, Stmt};

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "link-methods";

/// Where an invoke calls a method that the module has under the name of its instance, names it as the callee. True if there
/// was one.
///
/// Dumps of Julia's code name their functions by signature, `helper(::Float64)`, and an invoke there names `Main.helper` with
/// that instance. Primitives stay primitives, as they have rules; a closure stays the value that is called.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let module = context.module;
    let mut linked: Vec<(InstId, Operand<bbcode::Ids>)> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let Stmt::Invoke(invoke) = &inst.stmt else { continue };
        let Some(name) = &invoke.instance.name else { continue };
        // That a primitive is none here was found by the types: it is a method for what is no array.
        let named = matches!(module.callee(&invoke.callee), Some(Callee::Unknown(_) | Callee::Primitive(_)));
        if named && module.function_index(name).is_some() && module.primitive_call(&inst.stmt).is_none() {
            linked.push((id, Operand::global("", name)));
        }
    }
    let changed = !linked.is_empty();
    for (id, callee) in linked {
        if let Some(Stmt::Invoke(invoke)) = bb.inst_mut(id).map(|inst| &mut inst.stmt) {
            invoke.callee = callee;
        }
    }
    Ok(changed)
}
