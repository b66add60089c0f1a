//! What is done to code before it is compiled: Cranelift moves little out of loops.

use bbcode::BBCode;
use exec::native::Effort;
use ircode::{Module, Name};
use passes::{
    Context, PassError, PassResult, arithmetic_splitting, array_scalar_replacement, branch_combining,
    common_subexpressions, constant_folding, copy_propagation, dead_code, increment_merging, infer_types,
    jump_threading, loop_invariant_motion, loop_unrolling, lower_arithmetic, lower_broadcast, mem2reg,
    negation_propagation, preaccumulation, run_on_function, scalar_promotion, simplify_cfg, stack_hoisting,
    type_literals, typed_boxes, unreachable_code, unroll_and_jam,
};

type FunctionPass = fn(&mut BBCode, &Context<'_>) -> PassResult;

/// For functions as they come from a listing or from Julia: generic arithmetic becomes intrinsics, slots become values,
/// loops lose the flags that Julia's iteration leaves, and what is the same on every round goes before the loop.
const PRIMAL: &[FunctionPass] = &[
    unreachable_code::run,
    constant_folding::run,
    type_literals::run,
    infer_types::run,
    lower_broadcast::run,
    arithmetic_splitting::run,
    lower_arithmetic::run,
    mem2reg::run,
    jump_threading::run,
    constant_folding::run,
    copy_propagation::run,
    simplify_cfg::run,
    loop_unrolling::run,
    array_scalar_replacement::run,
    copy_propagation::run,
    common_subexpressions::run,
    dead_code::run,
    simplify_cfg::run,
    branch_combining::run,
    loop_invariant_motion::run,
    scalar_promotion::run,
    copy_propagation::run,
];

/// For functions that are not differentiated any more, and of which the first pass has changed something.
const JAMMED: &[FunctionPass] =
    &[unroll_and_jam::run, common_subexpressions::run, dead_code::run, loop_invariant_motion::run];

/// For derivatives, which are clean but for what forward mode leaves.
const CLEAN_UP: &[FunctionPass] = &[constant_folding::run, copy_propagation::run, simplify_cfg::run];

/// For derivatives that are clean, and of which inner loops may have been joined.
const DERIVATIVE: &[FunctionPass] = &[
    common_subexpressions::run,
    negation_propagation::run,
    dead_code::run,
    loop_invariant_motion::run,
    stack_hoisting::run,
];

/// Makes all functions of a module ready to be differentiated or compiled, of which the one named is called from
/// outside.
///
/// # Errors
///
/// [`PassError`], which verified code never gives.
pub fn primal(module: &mut Module<BBCode>, function: &Name) -> Result<(), PassError> {
    typed_boxes::run(module, Some(function))?;
    names(module).iter().try_for_each(|name| run(module, name, PRIMAL))
}

/// Makes functions that are ready faster, by passes in front of which they would be differentiated.
///
/// # Errors
///
/// [`PassError`], which verified code never gives.
pub fn jammed(module: &mut Module<BBCode>) -> Result<(), PassError> {
    let Some((first, others)) = JAMMED.split_first() else { return Ok(()) };
    for name in names(module) {
        if run_on_function(module, &name, *first)? {
            run(module, &name, others)?;
        }
    }
    Ok(())
}

fn names(module: &Module<BBCode>) -> Vec<Name> {
    module.functions().iter().map(|function| function.name.clone()).collect()
}

/// Makes a derivative ready to be compiled: with [`unroll_and_jam`], which makes more code, if that is worth the
/// effort; with [`preaccumulation`] and [`increment_merging`] if it may be rounded in another way.
///
/// # Errors
///
/// [`PassError`], which verified code never gives.
pub fn derivative(
    module: &mut Module<BBCode>,
    name: &Name,
    effort: Effort,
    reassociate: bool,
) -> Result<(), PassError> {
    if reassociate {
        run(module, name, &[preaccumulation::run])?;
    }
    run(module, name, CLEAN_UP)?;
    if effort == Effort::Full {
        run(module, name, &[unroll_and_jam::run])?;
    }
    run(module, name, DERIVATIVE)?;
    if reassociate {
        run(module, name, &[increment_merging::run])?;
    }
    Ok(())
}

fn run(module: &mut Module<BBCode>, name: &Name, passes: &[FunctionPass]) -> Result<(), PassError> {
    for pass in passes {
        run_on_function(module, name, *pass)?;
    }
    Ok(())
}
