//! The forward pass and the pullback in one function: where both are wanted, nothing has to travel in a trace.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{CallGraph, Callee, Function, Module, Name, Operand, Stmt};

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

/// The function grows to at most this many times the size of all that was made.
const FACTOR: usize = 3;

/// And by this many statements on top, so that small derivatives are not held short.
const FREE: usize = 512;

type FunctionPass = fn(&mut BBCode, &Context<'_>) -> PassResult;

/// Turns slots into values, takes the trace apart, and joins what both passes compute.
const CLEAN_UP: &[FunctionPass] = &[
    mem2reg::run,
    constant_folding::run,
    dead_code::run,
    simplify_cfg::run,
    copy_propagation::run,
    scalar_replacement::run,
    constant_folding::run,
    copy_propagation::run,
    simplify_cfg::run,
    common_subexpressions::run,
    dead_code::run,
];

/// Puts the forward pass and the pullback into the function that calls both, and those of what is called there, and takes
/// apart what went from the one to the other. Recursive functions are called as they were, and so is what would make the
/// function more than three times as large as all that was `made`.
///
/// A pullback that may be called once only does not ask whether it was: it is called once here.
pub(super) fn run(
    module: &mut Module<BBCode>,
    function: &Name,
    made: &[MadeFunction],
    savings: Savings,
) -> Result<(), PassError> {
    let Some(mut body) = module.body_mut(function).map(std::mem::take) else { return Ok(()) };
    inline_all(module, &mut body, made);
    if let Some(place) = module.body_mut(function) {
        *place = body;
    }
    for pass in CLEAN_UP {
        run_on_function(module, function, *pass)?;
    }
    if savings.loop_invariants {
        run_on_function(module, function, loop_invariant_motion::run)?;
    }
    Ok(())
}

/// Removes the functions of these names that nothing calls any more, and the types, if none of the functions is left.
pub(super) fn remove_what_is_not_called(module: &mut Module<BBCode>, temporary: &[Name]) {
    let among: HashMap<usize, bool> =
        temporary.iter().filter_map(|name| Some((module.function_index(name)?, false))).collect();
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
    let keeps_types = !kept.is_empty();
    module.retain(|function| !removed.contains(&function.name), |def| keeps_types || !temporary.contains(&def.name));
}

/// Inlines what was made, from the outside in.
fn inline_all(module: &Module<BBCode>, body: &mut BBCode, made: &[MadeFunction]) {
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
    // What was called by something that is inlined already is found among the new statements.
    let mut work = calls(module, body.all_insts().map(|(id, inst)| (id, &inst.stmt)), &pullbacks);
    while let Some((call, callee)) = work.pop() {
        let Some(function) = module.functions().get(callee) else { continue };
        let size = function.body.inst_count();
        if size > left {
            continue;
        }
        let used =
            pullbacks.get(&callee).copied().unwrap_or_default().then(|| asks_whether_used(module, function)).flatten();
        let without_asking = used.map(|id| {
            let mut function = function.clone();
            // The statement was found in this body.
            let _ = function.body.remove(id);
            function
        });
        let function = without_asking.as_ref().unwrap_or(function);
        let Ok(inlined) = body.inline_call(call, function) else { continue };
        left -= size;
        if !graph.callees(callee).any(|callee| pullbacks.contains_key(&callee)) {
            continue;
        }
        let statements = inlined.body.insts.values().filter_map(|id| Some((id, body.stmt(id)?)));
        work.extend(calls(module, statements, &pullbacks));
    }
}

/// The calls of functions among these.
fn calls<'s>(
    module: &Module<BBCode>,
    statements: impl Iterator<Item = (InstId, &'s Stmt<Ids>)>,
    among: &HashMap<usize, bool>,
) -> Vec<(InstId, usize)> {
    let called = |stmt: &Stmt<Ids>| {
        let callee: &Operand<Ids> = match stmt {
            Stmt::Call(call) => &call.callee,
            Stmt::Invoke(invoke) => &invoke.callee,
            _ => return None,
        };
        match module.callee(callee)? {
            Callee::Function(index) if among.contains_key(&index) => Some(index),
            _ => None,
        }
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
