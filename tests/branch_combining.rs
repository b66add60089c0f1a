//! Branches in a row that are put together decide as they did before: all of three conditions, on all ways, against what
//! the same conditions give in Rust.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fmt::Write;

use bbkit::exec::{Machine, Value, first_difference};
use bbkit::ircode::{IRCode, Module, Stmt, parse_module};
use bbkit::passes::{branch_combining, run_on_function, simplify_cfg};

/// Numbers that are in every order, and in none.
const NUMBERS: [f64; 6] = [-1.0, -0.0, 0.0, 1.0, 2.0, f64::NAN];

/// Whether each condition leads on where it holds, else where it does not.
type LeadsOn = [bool; 3];

/// A function of four numbers that compares each with the next, and gives 1.0 if all comparisons lead on. Where one does
/// not it gives `elsewhere`, a value for each.
fn in_a_row(leads_on: LeadsOn, elsewhere: [f64; 3]) -> String {
    let mut text = String::from("function f(a::Float64, b::Float64, c::Float64, d::Float64)::Float64\n");
    let mut phi = Vec::new();
    for (at, pair) in [["a", "b"], ["b", "c"], ["c", "d"]].iter().enumerate() {
        // Each has a block that decides, and an empty one to which it falls through.
        let (block, value) = (2 * at + 1, 2 * at + 1 + at);
        let [x, y] = pair;
        let dest = if leads_on[at] { 8 } else { block + 2 };
        writeln!(text, "{block} ─ %{value} = Base.lt_float({x}, {y})::Bool").unwrap();
        writeln!(text, "└── goto #{dest} if not %{value}").unwrap();
        writeln!(text, "{} ─ goto #{}", block + 1, if leads_on[at] { block + 2 } else { 8 }).unwrap();
        let edge = if leads_on[at] { block } else { block + 1 };
        phi.push(format!("#{edge} => {:?}", elsewhere[at]));
    }
    writeln!(text, "7 ─ return 1.0\n8 ┄ %11 = φ ({})::Float64\n└── return %11\nend", phi.join(", ")).unwrap();
    text
}

fn combined(text: &str) -> Module<IRCode> {
    let mut module = bbkit::into_bbcode(parse_module(text).unwrap().module).unwrap();
    for pass in [simplify_cfg::run, branch_combining::run, simplify_cfg::run] {
        run_on_function(&mut module, &"f".into(), pass).unwrap();
    }
    let module = bbkit::into_ircode(module).unwrap();
    module.functions()[0].body.verify().unwrap();
    module
}

fn branches(module: &Module<IRCode>) -> usize {
    module.functions()[0].body.stmts.stmts().iter().filter(|stmt| matches!(stmt, Stmt::GotoIfNot(_))).count()
}

/// What is wrong with what a function gives; how many calls of it came to each end.
fn check(module: &Module<IRCode>, leads_on: LeadsOn, elsewhere: [f64; 3]) -> Result<[usize; 2], String> {
    let mut machine = Machine::new(module);
    let mut ends = [0; 2];
    for index in 0..NUMBERS.len().pow(4) {
        let numbers = [0, 1, 2, 3].map(|at| NUMBERS[index / NUMBERS.len().pow(at) % NUMBERS.len()]);
        let stops = (0..3).find(|&at| (numbers[at] < numbers[at + 1]) != leads_on[at]);
        let expected = stops.map_or(1.0, |at| elsewhere[at]);
        let result = machine.call("f", &numbers.map(Value::from)).unwrap();
        if first_difference(std::slice::from_ref(&result), &[Value::from(expected)]).is_some() {
            return Err(format!("{leads_on:?} {numbers:?}: {result:?} instead of {expected}"));
        }
        ends[usize::from(stops.is_none())] += 1;
    }
    Ok(ends)
}

fn all_ways() -> impl Iterator<Item = LeadsOn> {
    (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0])
}

#[test]
fn one_branch_decides_what_three_did() {
    for leads_on in all_ways() {
        let module = combined(&in_a_row(leads_on, [0.5; 3]));
        assert_eq!(branches(&module), 1, "{leads_on:?}");
        let ends = check(&module, leads_on, [0.5; 3]).unwrap();
        assert!(ends[0] > 0 && ends[1] > 0, "{leads_on:?}: {ends:?}");
    }
}

/// Two of the three bring the same value to the φ; only neighbours can be put together.
#[test]
fn branches_that_bring_other_values_stay() {
    for (elsewhere, left) in [([0.5, 0.5, 2.0], 2), ([2.0, 0.5, 0.5], 2), ([0.5, 2.0, 0.5], 3), ([0.0, -0.0, 0.5], 3)] {
        for leads_on in all_ways() {
            let module = combined(&in_a_row(leads_on, elsewhere));
            assert_eq!(branches(&module), left, "{leads_on:?} {elsewhere:?}");
            check(&module, leads_on, elsewhere).unwrap();
        }
    }
}

#[test]
fn a_condition_that_was_turned_around_is_caught() {
    for leads_on in all_ways() {
        let mut wrong = leads_on;
        wrong[1] = !wrong[1];
        check(&combined(&in_a_row(wrong, [0.5; 3])), leads_on, [0.5; 3]).unwrap_err();
    }
}
