//! Code with try/catch is differentiated as code with branches.

use bbcode::BBCode;
use ircode::{CallGraph, Module, Name};

use super::one_function::Temporary;
use super::{Generated, NAME};
use crate::differentiation::dispatch::{self, Candidate};
use crate::lower_exceptions::{self, looks_into_exception};
use crate::manager::run_on_function;
use crate::{PassError, PassErrorKind, closure_folding, lower_broadcast};

/// A module in which functions have branches where they had handlers.
pub(super) struct WithoutHandlers {
    pub(super) module: Module<BBCode>,
    /// The functions that these call, which were not there before.
    added: Vec<Name>,
    /// Why some functions still have handlers.
    left: Vec<(Name, PassError)>,
}

/// The module with branches in the place of try/catch, in these functions and what they may call; `None` if there is
/// nothing of the kind. The module itself stays as it is.
pub(super) fn without_handlers(module: &Module<BBCode>, names: &[Name]) -> Option<WithoutHandlers> {
    if !module.functions().iter().any(|function| function.body.has_handlers()) {
        return None;
    }
    let roots: Vec<usize> = names.iter().filter_map(|name| module.function_index(name)).collect();
    let candidates = dispatch::candidates(module, &roots, false);
    let graph = CallGraph::new(module);
    let reachable = called_from(&graph, &roots, &candidates);
    let catches =
        |position: &usize| module.functions().get(*position).is_some_and(|function| function.body.has_handlers());
    let catching: Vec<usize> = reachable.iter().copied().filter(catches).collect();
    if catching.is_empty() {
        return None;
    }
    let called_inside = called_from(&graph, &catching, &candidates);
    let named = |positions: Vec<usize>| -> Vec<Name> {
        positions.iter().filter_map(|&position| Some(module.functions().get(position)?.name.clone())).collect()
    };
    let (mut functions, reachable, called_inside) = (named(catching), named(reachable), named(called_inside));
    let known = module.functions().len();
    let mut module = module.clone();
    let mut left = Vec::new();
    // Of a closure that is called it must be known what it may throw.
    for name in reachable {
        left.extend(run_on_function(&mut module, &name, closure_folding::run).err().map(|error| (name, error)));
    }
    // So it must of functions that are called as values, also by maps over arrays.
    for name in called_inside {
        let lowered = run_on_function(&mut module, &name, lower_broadcast::run);
        left.extend(lowered.err().map(|error| (name.clone(), error)));
        left.extend(dispatch_calls(&mut module, &name, &candidates).err().map(|error| (name, error)));
    }
    functions.retain(|name| {
        let looked = module.function(name).and_then(|function| {
            let at = looks_into_exception(&module, &function.body)?;
            let message = "try/catch that looks at what an exception holds cannot be differentiated in reverse mode";
            let error = PassError::new(NAME, name, message).of_kind(PassErrorKind::Catches);
            Some((name.clone(), error.at(&function.body, at)))
        });
        let stays = looked.is_none();
        left.extend(looked);
        stays
    });
    left.extend(lower_exceptions::lower(&mut module, &functions));
    let added = module.functions().iter().skip(known).map(|added| added.name.clone()).collect();
    Some(WithoutHandlers { module, added, left })
}

/// The functions at these positions, and what they may call, also as values.
fn called_from(graph: &CallGraph<'_, BBCode>, roots: &[usize], candidates: &[Candidate]) -> Vec<usize> {
    let reached = graph.reachable(roots.iter().copied());
    if !reached.iter().any(|&position| graph.calls_unknown(position)) {
        return reached;
    }
    let called = candidates.iter().filter_map(|candidate| candidate.function(graph.module()));
    graph.reachable(reached.into_iter().chain(called))
}

/// Turns the calls of values in a function into branches.
fn dispatch_calls(module: &mut Module<BBCode>, name: &Name, candidates: &[Candidate]) -> Result<(), PassError> {
    let Some(mut body) = module.function(name).map(|function| function.body.clone()) else { return Ok(()) };
    let dispatched = dispatch::dispatch(module, &mut body, candidates);
    if dispatched.map_err(|error| PassError::because(NAME, name, error))?
        && let Some(place) = module.body_mut(name)
    {
        *place = body;
    }
    Ok(())
}

impl WithoutHandlers {
    /// The functions that were added are part of what was generated, as far as they are called.
    pub(super) fn add_to(self, generated: &mut Generated) {
        let functions = self.added.iter().filter_map(|name| self.module.function(name));
        generated.functions.extend(functions.cloned());
        generated.temporary.push(Temporary { functions: self.added, trace: None });
    }

    /// Why a function has no derivative: because of its handlers, if they are what is left of it.
    pub(super) fn reason_for(&self, error: PassError) -> PassError {
        let of_function = self.left.iter().find(|(function, _)| *function == error.function);
        match of_function.filter(|_| error.kind == PassErrorKind::Catches) {
            Some((_, left)) if left.help.is_some() => left.clone(),
            // Forward mode does not follow what exceptions hold either.
            Some((_, left)) if left.pass == NAME => left.clone(),
            Some((_, left)) => left.clone().with_help("forward mode differentiates it"),
            None => error,
        }
    }
}
