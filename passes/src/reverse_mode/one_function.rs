//! The forward pass and the pullback in one function: where both are wanted, nothing has to travel in a trace.

use std::borrow::Cow;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{CallGraph, Callee, Function, Module, Name, Stmt};

use super::Savings;
use crate::manager::Context;
use crate::{
    PassError, PassResult, common_subexpressions, constant_folding, copy_propagation, dead_code, loop_invariant_motion,
    mem2reg, run_on_function, scalar_replacement, simplify_cfg,
};

/// A function that was made for a derivative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MadeFunction {
    pub(super) name: Name,
    /// Whether it is a pullback.
    pub(super) is_pullback: bool,
}

/// What is there only until it is part of another function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Temporary {
    pub(super) functions: Vec<Name>,
    /// The type of what they hand to each other, if nothing else has it.
    pub(super) trace: Option<Name>,
}

/// The function grows to at most this many times the size of all that was made.
const FACTOR: usize = 3;

/// And by this many statements on top, so that small derivatives are not held short.
const FREE: usize = 512;

type FunctionPass = fn(&mut BBCode, &Context<'_>) -> PassResult;

/// Turns slots into values, takes the trace apart, and joins what both passes compute.
const CLEAN_UP: &[FunctionPass] = &[
    mem2reg::run,
    dead_code::run,
    copy_propagation::run,
    scalar_replacement::run,
    constant_folding::run,
    copy_propagation::run,
    common_subexpressions::run,
    dead_code::run,
    simplify_cfg::run,
];

/// Puts the forward pass and the pullback into the function that calls both, and those of what is called there, and
/// takes apart what went from the one to the other. Recursive functions are called as they were, and so is what would
/// make the function more than three times as large as all that was `made`.
///
/// A pullback that may be called once only does not ask whether it was: it is called once here. What is `called_once`,
/// and so not needed any more, loses its body: of large functions there would be two copies.
pub(super) fn run(
    module: &mut Module<BBCode>,
    function: &Name,
    made: &[MadeFunction],
    called_once: &[Name],
    savings: Savings,
) -> Result<(), PassError> {
    if module.edit_beside(function, |module, body| inline_all(module, body, made, called_once)).is_none() {
        return Ok(());
    }
    for pass in CLEAN_UP {
        run_on_function(module, function, *pass)?;
    }
    if savings.loop_invariants {
        run_on_function(module, function, loop_invariant_motion::run)?;
    }
    Ok(())
}

/// Removes the functions that nothing calls any more, and the types of those of which none is left.
pub(super) fn remove_what_is_not_called(module: &mut Module<BBCode>, temporary: &[Temporary]) {
    let names = temporary.iter().flat_map(|temporary| &temporary.functions);
    let among: HashMap<usize, bool> = names.filter_map(|name| Some((module.function_index(name)?, false))).collect();
    let called = |function: &Function<BBCode>| {
        let statements = function.body.all_insts().map(|(id, inst)| (id, &inst.stmt));
        calls(module, statements, &among).into_iter().map(|(_, callee)| callee)
    };
    let functions = module.functions();
    let others = functions.iter().enumerate().filter(|(index, _)| !among.contains_key(index));
    let mut work: Vec<usize> = match among.is_empty() {
        true => return,
        false => others.flat_map(|(_, function)| called(function)).collect(),
    };
    let mut kept: HashSet<usize> = HashSet::new();
    while let Some(index) = work.pop() {
        if kept.insert(index) {
            work.extend(functions.get(index).into_iter().flat_map(called));
        }
    }
    let removed: HashSet<Name> = among
        .keys()
        .filter(|index| !kept.contains(*index))
        .filter_map(|index| functions.get(*index))
        .map(|function| function.name.clone())
        .collect();
    let is_left = |name: &Name| module.function(name).is_some() && !removed.contains(name);
    let gone = temporary.iter().filter(|temporary| !temporary.functions.iter().any(is_left));
    let mut types: HashSet<Name> = gone.filter_map(|temporary| temporary.trace.clone()).collect();
    // A large trace may not have been taken apart where several ways bring one.
    if !types.is_empty() {
        for (_, inst) in functions.iter().filter(|each| is_left(&each.name)).flat_map(|each| each.body.all_insts()) {
            inst.ty.for_each_name(&mut |name| {
                types.remove(name);
            });
        }
    }
    module.retain(|function| !removed.contains(&function.name), |def| !types.contains(&def.name));
}

/// Inlines what was made, from the outside in.
fn inline_all(module: &mut Module<BBCode>, body: &mut BBCode, made: &[MadeFunction], called_once: &[Name]) {
    let graph = CallGraph::new(module);
    let mut pullbacks: HashMap<usize, bool> = HashMap::with_capacity(made.len());
    let mut left = FREE;
    for each in made {
        let Some(index) = module.function_index(&each.name) else { continue };
        left += FACTOR * module.functions().get(index).map_or(0, |function| function.body.inst_count());
        if !graph.is_recursive(index) {
            pullbacks.insert(index, each.is_pullback);
        }
    }
    let calls_others: HashSet<usize> = pullbacks
        .keys()
        .copied()
        .filter(|index| graph.callees(*index).any(|callee| pullbacks.contains_key(&callee)))
        .collect();
    // What was called by something that is inlined already is found among the new statements.
    let mut work = calls(module, body.all_insts().map(|(id, inst)| (id, &inst.stmt)), &pullbacks);
    while let Some((call, callee)) = work.pop() {
        let Some(function) = module.functions().get(callee) else { continue };
        let size = function.body.inst_count();
        if size > left {
            continue;
        }
        let is_pullback = pullbacks.get(&callee).copied().unwrap_or_default();
        let asks = is_pullback.then(|| asks_whether_used(module, function)).flatten();
        let function = match called_once.contains(&function.name) {
            true => take(module, callee).map(Cow::Owned),
            false => Some(Cow::Borrowed(function)),
        };
        let Some(mut function) = function else { continue };
        if let Some(asks) = asks {
            // The statement was found in this body.
            let _ = function.to_mut().body.remove(asks);
        }
        let Ok(inlined) = body.inline_call(call, &function) else {
            if let Cow::Owned(function) = function {
                module.replace_function(function);
            }
            continue;
        };
        left -= size;
        if !calls_others.contains(&callee) {
            continue;
        }
        let statements = inlined.body.insts.values().filter_map(|id| Some((id, body.stmt(id)?)));
        work.extend(calls(module, statements, &pullbacks));
    }
}

/// The function at this position, of which an empty one is left.
fn take(module: &mut Module<BBCode>, index: usize) -> Option<Function<BBCode>> {
    let Function { name, parameters, varargs, result, .. } = module.functions().get(index)?;
    let (name, parameters, varargs, result) = (name.clone(), parameters.clone(), *varargs, result.clone());
    let body = std::mem::take(module.body_mut(&name)?);
    Some(Function { name, parameters, varargs, result, body })
}

/// The calls of functions among these.
fn calls<'s>(
    module: &Module<BBCode>,
    statements: impl Iterator<Item = (InstId, &'s Stmt<Ids>)>,
    among: &HashMap<usize, bool>,
) -> Vec<(InstId, usize)> {
    let called = |stmt: &Stmt<Ids>| match module.callee(stmt.as_call()?.0)? {
        Callee::Function(index) if among.contains_key(&index) => Some(index),
        _ => None,
    };
    let mut found: Vec<(InstId, usize)> = statements.filter_map(|(id, stmt)| Some((id, called(stmt)?))).collect();
    found.sort_unstable();
    found
}

/// The statement with which a pullback that can be called once asks whether it was.
fn asks_whether_used(module: &Module<BBCode>, pullback: &Function<BBCode>) -> Option<InstId> {
    let body = &pullback.body;
    let asks = |id: &InstId| {
        let call = body.stmt(*id).and_then(|stmt| module.primitive_call(stmt));
        call.is_some_and(|(primitive, _)| primitive.name == "use_once!")
    };
    body.entry().and_then(|entry| body.inst_ids(entry).find(asks))
}
