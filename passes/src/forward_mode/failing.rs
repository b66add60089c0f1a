//! What runs only where a run is about to fail: no derivative comes out of it.

use bbcode::BBCode;
use ircode::{Body, CallGraph, IRCode, Module, Stmt};

use super::operation::Operation;
use crate::failing::failing_statements;

/// For each function of a module, whose invokes name what they call, whether an exception that it throws may be caught: something that contains a `try`
/// block is it, or leads to it by calls. Where there is such a block, what is used as a value may be called in it, and what an unknown call leads to may be
/// any function.
pub(super) fn may_be_caught(module: &Module<BBCode>) -> Vec<bool> {
    let catches = |body: &BBCode| body.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_)));
    let mut caught: Vec<bool> = module.functions().iter().map(|function| catches(&function.body)).collect();
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

/// Leaves calls as they are in blocks from which no way leads to a return, in a function of which exceptions end the run: they make
/// messages, and print what is in the arguments.
pub(super) fn leave_calls(ir: &IRCode, operations: &mut [Operation]) {
    for statements in failing_statements(&ir.view()) {
        for operation in operations.get_mut(statements).unwrap_or_default() {
            if matches!(operation, Operation::Call { .. } | Operation::Unknown) {
                *operation = Operation::Steps;
            }
        }
    }
}
