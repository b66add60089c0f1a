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

/// What is done in a round.
enum Step {
    /// As [`inlining`], up to a size that is the same for all rounds.
    Inlining,
    /// As [`closure_specialization`], with as many statements of clones in all rounds as it makes at once.
    Specialization,
    Pass(Run),
}

/// One round, in this order: closures give way to what they capture and calls to what is called, and then each function
/// is cleaned up. Objects in objects may hold the same part on several ways, of which there would be a φ for each, and
/// more with each round: of φs that are the same one is kept.
const ROUND: &[Step] = &[
    Step::Pass(Run::Function(closure_folding::run)),
    Step::Inlining,
    Step::Pass(Run::Function(simplify_cfg::run)),
    Step::Pass(Run::Function(copy_propagation::run)),
    Step::Pass(Run::Function(closure_folding::run)),
    Step::Specialization,
    Step::Pass(Run::Function(scalar_replacement::run)),
    Step::Pass(Run::Function(common_subexpressions::run)),
    Step::Pass(Run::Function(closure_folding::run)),
    Step::Pass(Run::Function(constant_folding::run)),
    Step::Pass(Run::Function(copy_propagation::run)),
    Step::Pass(Run::Function(simplify_cfg::run)),
    Step::Pass(Run::Function(dead_code::run)),
];

/// Each round looks through one more layer of calls, closures and objects; few programs have more than some.
const ROUNDS: usize = 8;

/// Inlines, folds and specialises closures, and takes objects apart until nothing changes, at most eight times. True if
/// something did. With a function given, others stay as they are. By inlining and by clones, in all rounds together, the
/// module does not become larger than [`inlining`] and [`closure_specialization`] once make it.
///
/// This is what comes after [`closure_specialization`], which is part of it as inlining shows more closures: of a
/// derivative with linear maps of code without loops it leaves no closure, enum or tuple between the forward pass and
/// the pullback.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let largest = inlining::largest(module);
    let mut clones = closure_specialization::most_statements(module);
    let mut changed = false;
    for _ in 0..ROUNDS {
        let mut again = false;
        for step in ROUND {
            match *step {
                Step::Inlining => again |= inlining::run_up_to(module, function, largest)?,
                Step::Specialization => again |= closure_specialization::run_up_to(module, function, &mut clones)?,
                Step::Pass(Run::Module(run)) => again |= run(module, function)?,
                Step::Pass(Run::Function(run)) => {
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
