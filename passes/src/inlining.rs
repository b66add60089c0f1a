//! Puts the bodies of functions in the place of calls of them.

use bbcode::{BBCode, Ids, InstId};
use ircode::{CallGraph, Callee, Function, Module, Name, Stmt};

use crate::PassResult;

/// The pass's name on the command line.
pub const NAME: &str = "inlining";

/// A function of at most this many statements goes wherever it is called.
const SMALL: usize = 32;

/// The module grows to at most this many times its size.
const FACTOR: usize = 3;

/// And by this many statements on top, so that small modules are not held short.
const FREE: usize = 512;

/// Replaces calls of functions of the module by their bodies: of those of at most 32 statements, and of those that are
/// called in one place only. True if there was such a call. `function` is the only one into which others go, if it is
/// given.
///
/// Functions are visited bottom-up over the [`CallGraph`], so that what goes into a caller has taken in its own callees
/// before. A function that calls itself, over whatever detours, is inlined nowhere. The module does not grow beyond
/// three times its size and 512 statements: where that is reached, calls stay, in the order of the walk. So the pass is
/// linear in the module.
///
/// Left alone are functions with `try` regions, as leaving them by a return ends their handlers; calls through values,
/// and those that [`BBCode::inline_call`] refuses: other numbers or types of arguments than the function takes. No
/// function is removed: any may be called from outside.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    run_up_to(module, function, largest(module))
}

/// How large a module may become that is of its size now, in statements.
pub(crate) fn largest(module: &Module<BBCode>) -> usize {
    size(module) * FACTOR + FREE
}

fn size(module: &Module<BBCode>) -> usize {
    module.functions().iter().map(|each| each.body.inst_count()).sum()
}

/// Inlines as [`run`] does, up to this size of the module: for passes that inline several times.
pub(crate) fn run_up_to(module: &mut Module<BBCode>, function: Option<&Name>, largest: usize) -> PassResult {
    let calls = Calls::find(module);
    let mut left = largest.saturating_sub(size(module));
    let mut changed = false;
    for &caller in &calls.bottom_up {
        let Some(name) = module.functions().get(caller).map(|each| each.name.clone()) else { continue };
        if function.is_some_and(|only| *only != name) {
            continue;
        }
        let inlined = module.edit_beside(&name, |module, body| calls.inline_into(module, caller, body, &mut left));
        changed |= inlined.unwrap_or(false);
    }
    Ok(changed)
}

/// Who calls whom; functions by their number in the module.
struct Calls {
    /// The calls of each function, in the order of its statements.
    of: Vec<Vec<(InstId, usize)>>,
    /// Whether it may go elsewhere.
    movable: Vec<bool>,
    /// In how many places it is called.
    places: Vec<usize>,
    /// Callees before callers.
    bottom_up: Vec<usize>,
}

impl Calls {
    fn find(module: &Module<BBCode>) -> Calls {
        let functions = module.functions();
        let mut of: Vec<Vec<(InstId, usize)>> = Vec::with_capacity(functions.len());
        let mut places = vec![0; functions.len()];
        for function in functions {
            let calls = function.body.all_insts().filter_map(|(id, inst)| Some((id, callee(module, &inst.stmt)?)));
            let calls: Vec<_> = calls.collect();
            for &(_, callee) in &calls {
                if let Some(places) = places.get_mut(callee) {
                    *places += 1;
                }
            }
            of.push(calls);
        }
        let graph = CallGraph::new(module);
        let movable = |(index, each): (usize, &Function<BBCode>)| !graph.is_recursive(index) && is_plain(each);
        let movable = functions.iter().enumerate().map(movable).collect();
        let bottom_up = graph.bottom_up().concat();
        Calls { of, movable, places, bottom_up }
    }

    fn inline_into(&self, module: &Module<BBCode>, caller: usize, body: &mut BBCode, left: &mut usize) -> bool {
        let mut chosen: Vec<(InstId, usize)> = Vec::new();
        for &(call, callee) in self.of.get(caller).map(Vec::as_slice).unwrap_or_default() {
            let Some(function) = module.functions().get(callee) else { continue };
            let size = function.body.inst_count();
            let fits = size <= SMALL || self.places.get(callee) == Some(&1);
            if fits && size <= *left && callee != caller && self.movable.get(callee) == Some(&true) {
                *left -= size;
                chosen.push((call, callee));
            }
        }
        let mut changed = false;
        // The last first: what follows a call in its block moves, and so moves once.
        for &(call, callee) in chosen.iter().rev() {
            if let Some(function) = module.functions().get(callee) {
                changed |= body.inline_call(call, function).is_ok();
            }
        }
        changed
    }
}

/// The function of the module that a statement calls.
fn callee(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<usize> {
    match module.callee(stmt.as_call()?.0)? {
        Callee::Function(index) => Some(index),
        _ => None,
    }
}

/// Whether a function has no `try` region, and is not to be [run again](crate::differentiation::checkpointed) as a
/// whole.
fn is_plain(function: &Function<BBCode>) -> bool {
    let tries = |stmt: &Stmt<Ids>| matches!(stmt, Stmt::Enter(_) | Stmt::PhiC(_) | Stmt::Upsilon(_));
    crate::differentiation::checkpointed::marked(&function.body).is_none()
        && !function.body.all_insts().any(|(_, inst)| tries(&inst.stmt))
}
