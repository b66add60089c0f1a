//! Gradients of functions of one block, which are written as one function at once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::bbcode::BBCode;
use bbkit::exec::Limits;
use bbkit::ircode::{Module, Name, Operand, Stmt};
use kit::one_block::{block_agrees, one_block};
use kit::seeds::for_each;

const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

#[test]
fn the_gradient_of_a_block_is_that_of_its_two_passes() {
    for_each(5_000, one_block, |made| block_agrees(made, LIMITS, &|_, _| {})).unwrap();
}

/// A mistake in a rule, a sum that is not added up, or a cotangent that is another one's is found.
#[test]
fn a_wrong_gradient_is_caught() {
    let caught = |from: &str, to: &str| {
        let mistaken = |module: &mut Module<BBCode>, name: &Name| {
            let body = module.body_mut(name).unwrap();
            // The last one is of the way backwards.
            let called = |stmt: &Stmt<_>| matches!(stmt, Stmt::Call(call) if matches!(&call.callee, Operand::Global(global) if *global.name == *from));
            let last = body.all_insts().filter(|(_, inst)| called(&inst.stmt)).map(|(id, _)| id).last();
            if let Some(Stmt::Call(call)) = last.and_then(|id| body.inst_mut(id)).map(|inst| &mut inst.stmt) {
                call.callee = Operand::global("Base", to);
            }
        };
        let found = std::cell::Cell::new(0);
        for_each(400, one_block, |made| {
            found.set(found.get() + usize::from(block_agrees(made, LIMITS, &mistaken).is_err()));
            Ok::<(), String>(())
        })
        .unwrap();
        found.get()
    };
    for (from, to) in [("mul_float", "add_float"), ("add_float", "sub_float"), ("div_float", "mul_float")] {
        let found = caught(from, to);
        assert!(found > 10, "{to} for {from}: {found}");
    }
}
