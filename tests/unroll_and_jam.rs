//! Sums of two rounds of a loop side by side are the sums of these rounds, and errors and stores are those that there were.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;
use std::fmt::Write as _;

use arbitrary::Unstructured;
use bbcode::{BBCode, Ids};
use exec::{Limits, Machine, Value};
use ircode::{Constant, IRCode, Module, Operand, Stmt, parse_module};
use kit::laws::keeps_meaning;
use kit::native::{native_agrees, vector};
use kit::seeds::for_each;
use passes::{PassResult, run_on_function, unroll_and_jam};

const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

/// Lines of a listing, with the numbers of blocks and statements as they come.
#[derive(Default)]
struct Listing {
    text: String,
    statements: usize,
}

impl Listing {
    fn line(&mut self, edge: &str, text: &str) {
        self.statements += 1;
        let _ = writeln!(self.text, "{edge} {text}");
    }

    /// A statement with a result, and its name.
    fn value(&mut self, edge: &str, text: &str) -> String {
        let name = format!("%{}", self.statements + 1);
        self.line(edge, &format!("{name} = {text}"));
        name
    }
}

/// A loop over the sums of an inner loop: `for i in 1:n; a = …; for j in …; a += x[…] * y[…]; end; …; end`.
fn sums(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Module<IRCode>> {
    let mut out = Listing::default();
    let upwards = bytes.ratio(2, 3)?;
    let local = bytes.ratio(1, 4)?;
    let guarded = bytes.ratio(5, 6)?;
    let starts_loaded = bytes.ratio(1, 4)?;
    // 1: where w comes from.
    let w = match local {
        true => out.value("1 ─", "BBKit.new_array(Float64, 9)::Vector{Float64}"),
        false => "_3".to_owned(),
    };
    let made = local.then(|| {
        out.value("│", &format!("invoke Base.fill!({w}::Vector{{Float64}}, 0.5::Float64)::Vector{{Float64}}"))
    });
    out.value(if made.is_some() { "│" } else { "1 ─" }, "Base.slt_int(_4, 1)::Bool");
    let few = format!("%{}", out.statements);
    out.line("└──", &format!("goto #3 if not {few}"));
    out.line("2 ─", "return 0.0");
    // 3: the outer loop. What φs take is known when the rest is written.
    let phis = out.statements;
    let (i, s) = (format!("%{}", phis + 1), format!("%{}", phis + 2));
    out.line("3 ┄", "I");
    out.line("│", "S");
    let bound = match bytes.int_in_range(0..=4)? {
        0 => "_5".to_owned(),
        1 => i.clone(),
        2 => out.value("│", &format!("Base.sub_int(_4, {i})::Int64")),
        3 => out.value("│", &format!("Base.add_int({i}, 2)::Int64")),
        _ => "4".to_owned(),
    };
    let first = match bytes.int_in_range(0..=3)? {
        0 => i.clone(),
        1 => out.value("│", &format!("Base.sub_int({i}, 1)::Int64")),
        _ => "1".to_owned(),
    };
    let (from, to) = if upwards { (&first, &bound) } else { (&bound, &first) };
    let start = match starts_loaded {
        true => out.value("│", &format!("Base.arrayref(true, {}, {i})::Float64", bytes.choose(&["_2", w.as_str()])?)),
        false => "0.25".to_owned(),
    };
    if guarded {
        let none = out.value("│", &format!("Base.slt_int({bound}, {first})::Bool"));
        out.line("└──", &format!("goto #5 if not {none}"));
    } else {
        out.line("└──", "goto #5");
    }
    out.line("4 ─", "goto #7");
    // 5: the inner loop.
    let inner = out.statements;
    let (j, a) = (format!("%{}", inner + 1), format!("%{}", inner + 2));
    out.line("5 ┄", "J");
    out.line("│", "A");
    let mut product = Vec::new();
    for _ in 0..2 {
        let at = match bytes.int_in_range(0..=5)? {
            0 | 1 => j.clone(),
            2 => {
                let less = out.value("│", &format!("Base.sub_int({i}, {j})::Int64"));
                out.value("│", &format!("Base.add_int({less}, 1)::Int64"))
            }
            3 => out.value("│", &format!("Base.mul_int(2, {j})::Int64")),
            4 => {
                let more = out.value("│", &format!("Base.add_int({i}, {j})::Int64"));
                out.value("│", &format!("Base.sub_int({more}, 1)::Int64"))
            }
            _ => i.clone(),
        };
        let array = *bytes.choose(&["_2", "_3", w.as_str()])?;
        product.push(out.value("│", &format!("Base.arrayref(true, {array}, {at})::Float64")));
    }
    let product = out.value("│", &format!("Base.mul_float({})::Float64", product.join(", ")));
    let sum = out.value("│", &format!("Base.add_float({a}, {product})::Float64"));
    let last = out.value("│", &format!("({j} === {to})::Bool"));
    out.line("└──", &format!("goto #6 if not {last}"));
    out.line("X ─", "goto #7");
    let step = if upwards { "add_int" } else { "sub_int" };
    let next = out.value("6 ─", &format!("Base.{step}({j}, 1)::Int64"));
    out.line("└──", "goto #5");
    // 7: the rest of the round.
    let mut skipped = String::new();
    if guarded {
        let _ = write!(skipped, "#4 => {start}, ");
    }
    let found = out.value("7 ┄", &format!("φ ({skipped}#X => {sum})::Float64"));
    let total = out.value("│", &format!("Base.sub_float({s}, {found})::Float64"));
    if bytes.ratio(2, 3)? {
        let array = *bytes.choose(&["_2", "_3", w.as_str()])?;
        let at = if bytes.arbitrary()? { i.as_str() } else { "1" };
        out.line("│", &format!("Base.arrayset(true, {array}, {found}, {at})::Vector{{Float64}}"));
    }
    let done = out.value("│", &format!("({i} === _4)::Bool"));
    out.line("└──", &format!("goto #9 if not {done}"));
    out.line("8 ─", &format!("return {total}"));
    let later = out.value("9 ─", &format!("Base.add_int({i}, 1)::Int64"));
    out.line("└──", "goto #3");

    let text = out.text.replace("3 ┄ I\n", &format!("3 ┄ {i} = φ (#1 => 1, #9 => {later})::Int64\n"));
    let text = text.replace("│ S\n", &format!("│ {s} = φ (#1 => 0.0, #9 => {total})::Float64\n"));
    let text = text.replace("5 ┄ J\n", &format!("5 ┄ {j} = φ (#3 => {from}, #6 => {next})::Int64\n"));
    let text = text.replace("│ A\n", &format!("│ {a} = φ (#3 => {start}, #6 => {sum})::Float64\n"));
    let head = "function f(x::Vector{Float64}, y::Vector{Float64}, n::Int64, m::Int64)::Float64\n";
    Ok(parse_module(&format!("{head}{}end\n", renumbered(&text))).unwrap().module)
}

/// The block X gets the number 6, and those behind it one more.
fn renumbered(text: &str) -> String {
    let mut text = text.to_owned();
    for number in (6..=9).rev() {
        text = text.replace(&format!("#{number}"), &format!("#{}", number + 1));
        text = text.replace(&format!("\n{number} "), &format!("\n{} ", number + 1));
    }
    text.replace("#X", "#6").replace("\nX ", "\n6 ")
}

/// Calls with arrays that are long enough and that are not, and with the same one twice.
fn calls(module: &Module<IRCode>) -> Vec<Vec<Value>> {
    let machine = Machine::new(module);
    let numbers = |count: usize, factor: f64| -> Vec<f64> { (0..count).map(|at| factor * (at as f64 - 2.3)).collect() };
    let mut calls = Vec::new();
    for (n, m) in [(1, 3), (2, 2), (5, 4), (6, 0), (0, 2), (4, 9)] {
        for (x, y) in [(20, 20), (20, 5), (4, 20)] {
            let (x, y) = (vector(&machine, &numbers(x, 0.7)), vector(&machine, &numbers(y, 1.3)));
            calls.push(vec![x, y, Value::from(n), Value::from(m)]);
        }
        let both = vector(&machine, &numbers(20, 0.9));
        calls.push(vec![both.clone(), both, Value::from(n), Value::from(m)]);
    }
    calls
}

fn check(module: &Module<IRCode>, pass: &dyn Fn(&mut Module<BBCode>) -> PassResult) -> Result<(), String> {
    (0..calls(module).len()).try_for_each(|number| {
        let args = || calls(module).swap_remove(number);
        keeps_meaning(module, "f", &args, LIMITS, pass).map_err(|error| error.to_string())
    })
}

fn jam(module: &mut Module<BBCode>) -> PassResult {
    run_on_function(module, &"f".into(), unroll_and_jam::run)
}

#[test]
fn rounds_side_by_side_compute_the_same() {
    let changed = Cell::new(0);
    let counted = |module: &mut Module<BBCode>| {
        let jammed = jam(module)?;
        changed.set(changed.get() + i32::from(jammed));
        Ok(jammed)
    };
    for_each(300, sums, |module| check(module, &counted)).unwrap();
    assert!(changed.get() > 24 * 150, "{}", changed.get());
}

#[test]
fn native_code_computes_the_same() {
    for_each(20, sums, |module| {
        let mut changed = bbkit::to_bbcode(module).unwrap();
        jam(&mut changed).unwrap();
        let module = bbkit::to_ircode(&changed).unwrap();
        (0..calls(&module).len()).try_for_each(|number| {
            let args = || calls(&module).swap_remove(number);
            let verdict = native_agrees(&module, "f", &args, LIMITS, &|_| {});
            verdict.map(drop).map_err(|error| error.to_string())
        })
    })
    .unwrap();
}

/// What a condition is without one of the things that are looked at before two rounds are run at once.
fn without(name: &'static str, value: bool) -> impl Fn(&mut Module<BBCode>) -> PassResult {
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

#[test]
fn what_is_looked_at_before_is_needed() {
    // Stores to what the next round reads; elements that are not there.
    for (name, value) in [("mightalias", false), ("ult_int", true)] {
        assert!(for_each(100, sums, |module| check(module, &without(name, value))).is_err(), "{name}");
    }
}
