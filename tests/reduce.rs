//! Shrinking programs as long as something holds of them.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbcode::BBCode;
use bbkit::{ReduceError, ReduceOptions, reduce, reduce_with, to_bbcode, to_ircode};
use ircode::{
    Function, IRCode, Module, NewInstruction, Operand, Stmt, Style, Type, parse_module, print_module, verify_tables,
};
use kit::anything::anything;
use kit::numeric::{Program, numeric};
use kit::seeds::for_each;

/// How often a primitive is called, in blocks of which this holds.
fn calls(module: &Module<IRCode>, name: &str, in_block: impl Fn(&BBCode, bbcode::BlockId) -> bool) -> usize {
    let Ok(module) = to_bbcode(module) else { return 0 };
    let mut count = 0;
    for function in module.functions() {
        let body = &function.body;
        let is_call = |stmt: &Stmt<bbcode::Ids>| matches!(stmt, Stmt::Call(call) if matches!(&call.callee, Operand::Global(global) if global.name == name));
        for (id, _) in body.all_insts().filter(|(_, inst)| is_call(&inst.stmt)) {
            count += usize::from(in_block(body, body.block_of(id).unwrap()));
        }
    }
    count
}

/// Whether control comes back to the block, and can come there.
fn in_reached_loop(body: &BBCode, block: bbcode::BlockId) -> bool {
    let graph = body.cfg();
    let mut seen = vec![block];
    let mut at = 0;
    while let Some(&from) = seen.get(at) {
        at += 1;
        for succ in graph.successors(from) {
            if succ == block {
                return graph.reachable()[graph.number(block).unwrap()];
            }
            if !seen.contains(&succ) {
                seen.push(succ);
            }
        }
    }
    false
}

fn statements(module: &Module<IRCode>) -> usize {
    module.functions().iter().map(|function| function.body.stmts.len()).sum()
}

/// The program of this shape, with one bad statement in the block in its middle.
fn with_bad_statement(name: &str, make: kit::programs::Make) -> Module<IRCode> {
    let mut module = to_bbcode(&make(1_000).unwrap()).unwrap();
    let body = module.body_mut(name).unwrap();
    let calls: Vec<_> = body.all_insts().filter(|(_, inst)| matches!(inst.stmt, Stmt::Call(_))).collect();
    let middle = calls[calls.len() / 2].0;
    let bad = Stmt::call(Operand::global("Base", "xor_int"), [1.into(), 77.into()]);
    body.insert_before(middle, NewInstruction::new(bad, Type::INT64)).unwrap();
    to_ircode(&module).unwrap()
}

#[test]
fn one_bad_statement_of_a_thousand_is_what_is_left() {
    for (name, make) in kit::programs::SHAPES {
        let module = with_bad_statement(name, *make);
        let tests = Cell::new(0);
        let mut interesting = |module: &Module<IRCode>| {
            tests.set(tests.get() + 1);
            assert!(module.functions().iter().all(|function| function.body.verify().is_ok()));
            calls(module, "xor_int", |_, _| true) > 0
        };
        let reduced = reduce(&module, &mut interesting, &mut |_| {}).unwrap();
        let listing = print_module(&reduced, Style::Julia);
        assert_eq!(statements(&reduced), 2, "{listing}");
        assert!(listing.contains("Base.xor_int(0, 0)::Int64"), "{listing}");
        assert!(tests.get() < 150, "{name}: {}", tests.get());
    }
}

#[test]
fn one_bad_statement_in_a_loop_is_left_in_a_loop() {
    for (name, make) in kit::programs::SHAPES.iter().filter(|(name, _)| matches!(*name, "loops" | "nested")) {
        let module = with_bad_statement(name, *make);
        let tests = Cell::new(0);
        let mut interesting = |module: &Module<IRCode>| {
            tests.set(tests.get() + 1);
            calls(module, "xor_int", in_reached_loop) > 0
        };
        assert!(interesting(&module), "{name}");
        let reduced = reduce(&module, &mut interesting, &mut |_| {}).unwrap();
        let listing = print_module(&reduced, Style::Julia);
        assert!(statements(&reduced) <= 6, "{listing}");
        assert!(tests.get() < 600, "{name}: {}", tests.get());
    }
}

/// What comes out is valid, interesting and no larger, the same on each run, and cannot be made smaller in the same
/// way.
fn is_sound(module: &Module<IRCode>, interesting: &dyn Fn(&Module<IRCode>) -> bool) -> Result<(), String> {
    let mut last = None;
    let reduced = reduce(module, &mut |module| interesting(module), &mut |progress| last = Some(progress.statements))
        .map_err(|error| error.to_string())?;
    let listing = print_module(&reduced, Style::Bbkit);
    let check = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}\n{listing}")) };
    check(reduced.functions().iter().all(|function| function.body.verify().is_ok()), "not valid")?;
    check(interesting(&reduced), "not interesting")?;
    check(statements(&reduced) <= statements(module), "larger")?;
    let again = |module| reduce(module, &mut |module| interesting(module), &mut |_| {}).as_ref() == Ok(&reduced);
    check(again(module), "another result")?;
    check(again(&reduced), "not a fixed point")?;
    // The exact text reads back as the same program: what a command is shown is what is meant.
    check(parse_module(&listing).is_ok_and(|parsed| parsed.module == reduced), "not what its text says")
}

#[test]
fn results_are_valid_and_interesting() {
    let reduced = Cell::new(0);
    for_each(60, numeric, |program: &Program| -> Result<(), String> {
        for name in ["sin", "sub_int", "max_float"] {
            let count = calls(&program.module, name, |_, _| true);
            if count == 0 {
                continue;
            }
            reduced.set(reduced.get() + 1);
            is_sound(&program.module, &|module| calls(module, name, |_, _| true) > 0)?;
        }
        // The same value comes out.
        let value = |module: &Module<IRCode>| {
            let limits = exec::Limits { steps: 10_000, ..Default::default() };
            let result = exec::Machine::with_limits(module, limits).call("f", &program.args);
            result.map_or_else(|error| error.kind.to_string(), |value| value.to_string())
        };
        let wanted = value(&program.module);
        is_sound(&program.module, &|module| value(module) == wanted)
    })
    .unwrap();
    assert!(reduced.get() > 50, "{}", reduced.get());
}

#[test]
fn programs_of_any_statements_are_reduced() {
    let reduced = Cell::new(0);
    for_each(300, anything, |function: &Function<IRCode>| -> Result<(), String> {
        if function.body.verify().is_err() || !function.body.new_nodes.is_empty() {
            return Ok(());
        }
        let mut module = Module::new();
        module.add_function(function.clone()).unwrap();
        if verify_tables(&module, |body| &body.argtypes).is_err() {
            return Ok(());
        }
        for part in ["invoke", "enter", "φ (", "foreigncall", "quoted"] {
            let interesting = |module: &Module<IRCode>| print_module(module, Style::Julia).contains(part);
            if interesting(&module) {
                reduced.set(reduced.get() + 1);
                is_sound(&module, &interesting)?;
            }
        }
        Ok(())
    })
    .unwrap();
    assert!(reduced.get() > 200, "{}", reduced.get());
}

const TWO: &str = "struct S
    a::Int64
end

function f(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, 3.75)::Float64
│   %2 = Main.g(%1)::Float64
└──      return %2
end

function g(x::Float64)::Float64
1 ─ %1 = Base.add_float(x, 100.0)::Float64
└──      return %1
end
";

#[test]
fn functions_types_and_constants_go() {
    let module = parse_module(TWO).unwrap().module;
    let contains =
        |part: &'static str| move |module: &Module<IRCode>| print_module(module, Style::Julia).contains(part);
    let reduced = |part| print_module(&reduce(&module, &mut contains(part), &mut |_| {}).unwrap(), Style::Julia);
    assert_eq!(
        reduced("add_float"),
        "function g()::Float64\n1 ─     Base.add_float(0.0, 0.0)::Float64\n└──     return 0.0\nend\n"
    );
    assert_eq!(reduced("function f"), "function f()::Float64\n1 ─     return 0.0\nend\n");
    let options = ReduceOptions { only: Some("g".into()), ..ReduceOptions::default() };
    let kept = reduce_with(&module, &options, &mut contains("function g"), &mut |_| {}).unwrap();
    assert_eq!(kept.function("f"), module.function("f"));
    assert_eq!(kept.function("g").unwrap().body.stmts.len(), 1);
}

#[test]
fn a_function_is_left_where_everything_is_interesting() {
    let module = parse_module(TWO).unwrap().module;
    let left = reduce(&module, &mut |_| true, &mut |_| {}).unwrap();
    assert_eq!(left.functions().len(), 1);
    assert_eq!(parse_module(&print_module(&left, Style::Bbkit)).unwrap().module, left);
}

#[test]
fn without_an_interesting_valid_program_there_is_nothing_to_reduce() {
    let module = parse_module(TWO).unwrap().module;
    assert_eq!(reduce(&module, &mut |_| false, &mut |_| {}), Err(ReduceError::NotInteresting));
    let of = |name: &str| ReduceOptions { only: Some(name.into()), ..ReduceOptions::default() };
    let missing = reduce_with(&module, &of("h"), &mut |_| true, &mut |_| {});
    assert_eq!(missing, Err(ReduceError::NoSuchFunction("h".into())));

    // A value that is used before it is there.
    let text = TWO.replace("Base.add_float(x, 100.0)", "Base.add_float(%1, 100.0)");
    let module = parse_module(&text).unwrap().module;
    let invalid = reduce(&module, &mut |_| panic!("nothing is tried"), &mut |_| {});
    assert!(matches!(&invalid, Err(ReduceError::Invalid { function, .. }) if function.as_str() == "g"), "{invalid:?}");
    let options = ReduceOptions { allow_invalid: true, ..ReduceOptions::default() };
    let reduced = reduce_with(&module, &options, &mut |module| module.function("g").is_some(), &mut |_| {}).unwrap();
    assert_eq!(reduced.functions().len(), 1);
}
