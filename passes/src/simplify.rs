//! What makes a module small and flat: the passes that do it, until nothing changes.

use bbcode::BBCode;
use ircode::{Module, Name};

use crate::manager::{Run, run_on_function};
use crate::{
    PassResult, closure_folding, closure_specialization, common_subexpressions, constant_folding, copy_propagation,
    dead_code, inlining, scalar_replacement, simplify_cfg,
};

/// The pass's name on the command line.
pub const NAME: &str = "simplify";

/// One round, in this order: closures give way to what they capture and calls to what is called, and then each function
/// is cleaned up. Objects in objects may hold the same part on several ways, of which there would be a φ for each, and
/// more with each round: of φs that are the same one is kept.
const ROUND: &[Run] = &[
    Run::Function(closure_folding::run),
    Run::Module(inlining::run),
    Run::Function(simplify_cfg::run),
    Run::Function(copy_propagation::run),
    Run::Function(closure_folding::run),
    Run::Module(closure_specialization::run),
    Run::Function(scalar_replacement::run),
    Run::Function(common_subexpressions::run),
    Run::Function(closure_folding::run),
    Run::Function(constant_folding::run),
    Run::Function(copy_propagation::run),
    Run::Function(simplify_cfg::run),
    Run::Function(dead_code::run),
];

/// Each round looks through one more layer of calls, closures and objects; few programs have more than some.
const ROUNDS: usize = 8;

/// Inlines, folds and specialises closures, and takes objects apart until nothing changes, at most eight times. True if
/// something did. With a function given, others stay as they are.
///
/// This is what comes after [`closure_specialization`], which is part of it as inlining shows more closures: of a
/// derivative with linear maps of code without loops it leaves no closure, enum or tuple between the forward pass and
/// the pullback.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let mut again = false;
        for pass in ROUND {
            match *pass {
                Run::Module(run) => again |= run(module, function)?,
                Run::Function(run) => {
                    let names: Vec<Name> = match function {
                        Some(only) => vec![only.clone()],
                        None => module.functions().iter().map(|function| function.name.clone()).collect(),
                    };
                    for name in &names {
                        again |= run_on_function(module, name, run)?;
                    }
                }
            }
        }
        if !again {
            break;
        }
        changed = true;
    }
    Ok(changed)
}
