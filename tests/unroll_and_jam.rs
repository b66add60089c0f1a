//! Sums of several rounds of a loop side by side are the sums of these rounds, and errors and stores are those that
//! there were.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbcode::{BBCode, Ids};
use exec::{Limits, Machine, Value};
use ircode::{Constant, Module, Operand, Stmt, Type};
use kit::laws::keeps_meaning;
use kit::nested_sums::{CALLS, jam, keeps_meaning_of_sums, nested_sums};
use kit::seeds::for_each;
use passes::{PassResult, run_on_function, unroll_and_jam};

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

/// What later rounds need is not always known before, or only that of the next one.
#[test]
fn what_is_not_known_before_is_not_taken() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/passes/unroll_and_jam_limits.ir");
    let module = bbkit::Input::read(path).unwrap().module;
    let columns = |count: usize| {
        let machine = Machine::new(&module);
        let numbers = (0..2 * count).map(|at| Value::from(1.5 * at as f64 - 2.0)).collect();
        machine.array(Type::FLOAT64, vec![2, count], numbers).unwrap()
    };
    let integers = |numbers: &[i64]| {
        let numbers: Vec<Value> = numbers.iter().map(|&number| Value::from(number)).collect();
        Machine::new(&module).array(Type::INT64, vec![numbers.len()], numbers).unwrap()
    };
    let rounds = |n: i64| [Value::from(n), Value::from(2)];
    for n in 1..=6 {
        let indices: Vec<i64> = (1..=n).rev().collect();
        let goes_on: Vec<i64> = (0..n).rev().collect();
        let calls: [(&str, &dyn Fn() -> Vec<Value>); 4] = [
            ("indexed", &|| [columns(6), integers(&indices)].into_iter().chain(rounds(n)).collect()),
            ("popped", &|| std::iter::once(columns(6)).chain(rounds(n)).collect()),
            ("decided", &|| vec![integers(&goes_on), columns(6), Value::from(2)]),
            ("nests", &|| std::iter::once(columns(6)).chain(rounds(n)).collect()),
        ];
        for (name, args) in calls {
            let jammed = |module: &mut Module<BBCode>| run_on_function(module, &name.into(), unroll_and_jam::run);
            keeps_meaning(&module, name, args, Limits::default(), &jammed).unwrap();
        }
    }
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

/// Stores to what the next round reads, elements that are not there, and rounds that end the inner loop sooner would be
/// missed.
#[test]
fn what_is_looked_at_before_is_needed() {
    for (name, value) in [("mightalias", false), ("ult_int", true), ("sle_int", true)] {
        let broken = for_each(100, nested_sums, |module| keeps_meaning_of_sums(module, &with_constant(name, value)));
        assert!(broken.is_err(), "{name}");
    }
}
