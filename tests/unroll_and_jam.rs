//! Sums of several rounds of a loop side by side are the sums of these rounds, and errors and stores are those that there were.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbcode::{BBCode, Ids};
use ircode::{Constant, Module, Operand, Stmt};
use kit::nested_sums::{CALLS, jam, keeps_meaning_of_sums, nested_sums};
use kit::seeds::for_each;
use passes::PassResult;

#[test]
fn rounds_side_by_side_compute_the_same() {
    let changed = Cell::new(0);
    let counted = |module: &mut Module<BBCode>| {
        let jammed = jam(module)?;
        changed.set(changed.get() + usize::from(jammed));
        Ok(jammed)
    };
    for_each(300, nested_sums, |module| keeps_meaning_of_sums(module, &counted)).unwrap();
    assert!(changed.get() > CALLS * 120, "{}", changed.get());
}

/// The pass, and then what calls of one function give for a known constant.
fn with_constant(name: &'static str, value: bool) -> impl Fn(&mut Module<BBCode>) -> PassResult {
    move |module| {
        let jammed = jam(module)?;
        let called =
            |stmt: &Stmt<Ids>| matches!(stmt, Stmt::Call(call) if call.callee == Operand::global("Base", name));
        let bb = module.body_mut("f").unwrap();
        let calls: Vec<_> = bb.all_insts().filter(|(_, inst)| called(&inst.stmt)).map(|(id, _)| id).collect();
        for id in calls {
            bb.replace(id, Stmt::Value(Constant::bool(value).into())).unwrap();
        }
        Ok(jammed)
    }
}

/// Stores to what the next round reads, elements that are not there, and rounds that end the inner loop sooner would be missed.
#[test]
fn what_is_looked_at_before_is_needed() {
    for (name, value) in [("mightalias", false), ("ult_int", true), ("sle_int", true)] {
        let broken = for_each(100, nested_sums, |module| keeps_meaning_of_sums(module, &with_constant(name, value)));
        assert!(broken.is_err(), "{name}");
    }
}
