//! Elements that are incremented several times get the same numbers from increments that were merged, where additions
//! are exact.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;
use std::fmt::Write as _;

use arbitrary::Unstructured;
use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Operand, Stmt, parse_module};
use kit::laws::keeps_meaning;
use kit::native::vector;
use kit::seeds::for_each;
use passes::{PassResult, increment_merging, run_on_function};

/// One block of increments of the elements of two arrays, of which some are read, too. Arrays have three elements; the
/// index that is an argument may be each of them.
fn increments(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Module<IRCode>> {
    let mut text =
        "function f(a::Vector{Float64}, b::Vector{Float64}, p::Float64, q::Float64, i::Int64)::Float64\n1 ─ %1 = Base.mul_float(p, q)::Float64\n".to_owned();
    let (mut next, mut read) = (2, "%1".to_owned());
    for _ in 0..bytes.int_in_range(2..=24)? {
        let (array, index) = (bytes.choose(&["a", "b"])?, bytes.choose(&["1", "2", "i"])?);
        let (before, after) = (next, next + 1);
        let _ = writeln!(text, "│   %{before} = Base.arrayref(true, {array}, {index})::Float64");
        if bytes.ratio(1, 12)? {
            let _ = writeln!(text, "│   %{after} = Base.add_float({read}, %{before})::Float64");
            read = format!("%{after}");
            next += 2;
            continue;
        }
        let term = bytes.choose(&["p", "q", "%1", "1.0"])?;
        let sum = match bytes.int_in_range(0..=2)? {
            0 => format!("add_float(%{before}, {term})"),
            1 => format!("add_float({term}, %{before})"),
            _ => format!("sub_float(%{before}, {term})"),
        };
        let _ = writeln!(text, "│   %{after} = Base.{sum}::Float64");
        let _ = writeln!(text, "│         Base.arrayset(true, {array}, %{after}, {index})::Vector{{Float64}}");
        next += 3;
    }
    let _ = writeln!(text, "└──       return {read}\nend");
    Ok(parse_module(&text).unwrap().module)
}

fn check(module: &Module<IRCode>, pass: &dyn Fn(&mut Module<BBCode>) -> PassResult) -> Result<(), String> {
    (1..=3).try_for_each(|index| {
        let args = || {
            let machine = Machine::new(module);
            let (a, b) = (vector(&machine, &[1.0, -20.0, 300.0]), vector(&machine, &[7.0, 0.0, -5.0]));
            vec![a, b, Value::from(3.0), Value::from(-11.0), Value::from(index)]
        };
        keeps_meaning(module, "f", &args, Limits::default(), pass).map_err(|error| error.to_string())
    })
}

fn merge(module: &mut Module<BBCode>) -> PassResult {
    run_on_function(module, &"f".into(), increment_merging::run)
}

#[test]
fn elements_get_the_same_numbers() {
    let changed = Cell::new(0);
    let counted = |module: &mut Module<BBCode>| {
        let merged = merge(module)?;
        changed.set(changed.get() + i32::from(merged));
        Ok(merged)
    };
    for_each(500, increments, |module| check(module, &counted)).unwrap();
    assert!(changed.get() > 1000, "{}", changed.get());
}

#[test]
fn a_wrong_sign_is_caught() {
    let wrong = |module: &mut Module<BBCode>| {
        let merged = merge(module)?;
        let bb = module.body_mut("f").unwrap();
        let difference = bb.all_insts().find_map(|(id, inst)| match &inst.stmt {
            Stmt::Call(call) if merged && call.callee == Operand::global("Base", "sub_float") => Some(id),
            _ => None,
        });
        if let Some(Stmt::Call(call)) = difference.and_then(|id| bb.inst_mut(id)).map(|inst| &mut inst.stmt) {
            call.callee = Operand::global("Base", "add_float");
        }
        Ok(merged)
    };
    assert!(for_each(100, increments, |module| check(module, &wrong)).is_err());
}
