//! What runs only where a run is about to fail: no derivative comes out of it.

use bbcode::{BBCode, InstId};
use ircode::{Body, CallGraph, IRCode, Module, Name, Stmt};

use super::operation::Operation;
use crate::analyses::failing::failing_statements;
use crate::differentiation::dispatch::Candidate;

/// For each function of a module, whose invokes name what they call, whether an exception that it throws may be caught
/// where something is differentiated: something that contains a `try` block is it, or leads to it by calls. Where there
/// is such a block, what is used as a value may be called in it, and what an unknown call leads to may be any function.
///
/// What only those call that are about to fail, to make a message, is not differentiated, unless that may be caught.
/// `roots` are the functions to differentiate, `candidates` what a value that is called may be.
pub(super) fn may_be_caught(module: &Module<BBCode>, roots: &[usize], candidates: &[Candidate]) -> Vec<bool> {
    let catches = |body: &BBCode| body.has_handlers();
    let mut caught: Vec<bool> = module.functions().iter().map(|function| catches(&function.body)).collect();
    if !caught.contains(&true) {
        return caught;
    }
    let run = runs_where_nothing_fails(module, roots, candidates);
    caught.iter_mut().zip(run).for_each(|(caught, run)| *caught &= run);
    if !caught.contains(&true) {
        return caught;
    }
    let graph = CallGraph::new(module);
    for (function, caught) in caught.iter_mut().enumerate() {
        *caught |= graph.escapes(function);
    }
    let mut work: Vec<usize> = (0..caught.len()).filter(|&function| caught[function]).collect();
    while let Some(function) = work.pop() {
        if graph.calls_unknown(function) {
            return vec![true; caught.len()];
        }
        for callee in graph.callees(function) {
            if let Some(place) = caught.get_mut(callee)
                && !std::mem::replace(place, true)
            {
                work.push(callee);
            }
        }
    }
    caught
}

/// For each function, whether something calls it from where a return can be reached.
fn runs_where_nothing_fails(module: &Module<BBCode>, roots: &[usize], candidates: &[Candidate]) -> Vec<bool> {
    let mut without_failing = module.clone();
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in names {
        let Some(body) = without_failing.body_mut(&name) else { continue };
        let failing: Vec<InstId> = {
            let view = body.view();
            let ranges = failing_statements(&view).into_iter();
            ranges.filter_map(|range| view.statements.get(range)).flatten().map(|statement| statement.name).collect()
        };
        for id in failing {
            if let Some(inst) = body.inst_mut(id) {
                inst.stmt = Stmt::nothing();
            }
        }
    }
    let graph = CallGraph::new(&without_failing);
    let mut reached = graph.reachable(roots.iter().copied());
    if reached.iter().any(|&function| graph.calls_unknown(function)) {
        let called = candidates.iter().filter_map(|candidate| candidate.function(module));
        reached = graph.reachable(reached.into_iter().chain(called));
    }
    let mut run = vec![false; module.functions().len()];
    for function in reached {
        if let Some(run) = run.get_mut(function) {
            *run = true;
        }
    }
    run
}

/// Leaves calls as they are in blocks from which no way leads to a return, in a function of which exceptions end the
/// run: they make messages, and print what is in the arguments.
pub(super) fn leave_calls(ir: &IRCode, operations: &mut [Operation]) {
    for statements in failing_statements(&ir.view()) {
        for operation in operations.get_mut(statements).unwrap_or_default() {
            if matches!(operation, Operation::Call { .. } | Operation::Unknown) {
                *operation = Operation::Steps;
            }
        }
    }
}
