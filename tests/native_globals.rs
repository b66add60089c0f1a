//! Arrays that are global constants, in native code: each call has its own, as the interpreter has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::native::Program;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module};
use kit::native::{Verdict, native_agrees, vector, verified};

const COUNTING: &str = "
const COUNTS::Vector{Float64}
    1.5, 2.5, 4.0
end

function count()::Float64
1 ─ %1 = Main.COUNTS::Vector{Float64}
│   %2 = Base.arrayref(true, %1, 1)::Float64
│   %3 = Base.add_float(%2, 1.0)::Float64
│        Base.arrayset(true, %1, %3, 1)::Vector{Float64}
└──      return %2
end

function count_on(n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 1, #3 => %6)::Int64
│   %3 = Base.slt_int(%2, n)::Bool
└──      goto #4 if not %3
3 ─      Main.count()::Float64
│   %6 = Base.add_int(%2, 1)::Int64
└──      goto #2
4 ─ %8 = Main.count()::Float64
└──      return %8
end
";

const SQUARE: &str = "
function square(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
";

/// A function that counts, and lets `fail` end the call where `x` is negative.
fn counts_or_fails(parameters: &str, failing: &str) -> String {
    format!(
        "function f({parameters})::Float64
1 ─ %1 = Main.count()::Float64
│   %2 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %2
2 ─      Main.fail({failing})::Union{{}}
└──      unreachable
3 ─ %6 = Base.mul_float(%1, x)::Float64
└──      return %6
end
"
    )
}

fn module(text: &str) -> Module<IRCode> {
    verified(text).unwrap_or_else(|error| panic!("{error}"))
}

fn shown(value: &Value) -> String {
    value.to_string()
}

#[test]
fn every_call_finds_what_is_declared() {
    let module = module(COUNTING);
    let program = Program::compile(&module, &["count", "count_on"], Limits::default()).unwrap();
    assert!(program.interpreted().is_empty());
    let mut machine = Machine::new(&module);
    for _ in 0..3 {
        assert_eq!(shown(&program.call("count", &[]).unwrap()), "1.5");
        assert_eq!(shown(&machine.call("count", &[]).unwrap()), "1.5");
        assert_eq!(shown(&program.call("count_on", &[Value::from(100)]).unwrap()), "100.5");
        assert_eq!(shown(&machine.call("count_on", &[Value::from(100)]).unwrap()), "100.5");
    }
}

#[test]
fn threads_do_not_see_what_others_change() {
    let module = module(COUNTING);
    let program = Program::compile(&module, &["count_on"], Limits::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 1..300 {
                    let found = shown(&program.call("count_on", &[Value::from(n)]).unwrap());
                    assert_eq!(found, format!("{n}.5"));
                }
            });
        }
    });
    let most = program.most_memory();
    program.call("count_on", &[Value::from(1_000)]).unwrap();
    assert_eq!(program.most_memory(), most);
}

#[test]
fn the_interpreter_goes_on_with_the_arrays_of_the_call() {
    // `fail` never returns: it is left to the interpreter.
    let text = format!(
        "{COUNTING}{SQUARE}function fail(a::Vector{{Float64}})::Union{{}}
1 ─ %1 = Base.map(Main.square, a)::Vector{{Float64}}
│   %2 = Main.count()::Float64
│   %3 = Base.arrayref(true, Main.COUNTS, 1)::Float64
│   %4 = Core.tuple(%1, %2, %3)::Tuple{{Vector{{Float64}}, Float64, Float64}}
│   %5 = %new(Core.DomainError, %4, a)::DomainError
│        Base.throw(%5)::Union{{}}
└──      unreachable
end
{}",
        counts_or_fails("a::Vector{Float64}, x::Float64", "a")
    );
    let module = module(&text);
    for x in [2.0, -1.0] {
        let args = || vec![vector(&Machine::new(&module), &[3.0]), Value::from(x)];
        let verdict = native_agrees(&module, "f", &args, Limits::default(), &|_| ());
        assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
    }
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let args = [vector(&Machine::new(&module), &[3.0]), Value::from(-1.0)];
    let error = program.call("f", &args).unwrap_err().to_string();
    // It was counted twice: natively, and by the interpreter.
    assert!(error.contains("([9.0], 2.5, 3.5)"), "{error}");
}

#[test]
fn the_interpreter_finds_what_it_changed_before() {
    // `mapped` is called only where the run is about to fail, and native code has no `map`: it is left to the
    // interpreter. Native code itself uses no array.
    let text = format!(
        "{COUNTING}{SQUARE}function mapped(a::Vector{{Float64}})::Float64
1 ─ %1 = Base.map(Main.square, a)::Vector{{Float64}}
│   %2 = Main.count()::Float64
│   %3 = Base.arrayref(true, %1, 1)::Float64
│   %4 = Base.add_float(%2, %3)::Float64
└──      return %4
end
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─      Main.mapped(a)::Float64
│        Main.mapped(a)::Float64
│   %5 = Main.mapped(a)::Float64
│        Main.fail(%5, a)::Union{{}}
└──      unreachable
3 ─      return x
end
function fail(value::Float64, a::Vector{{Float64}})::Union{{}}
1 ─ %1 = %new(Core.DomainError, value, a)::DomainError
│        Base.throw(%1)::Union{{}}
└──      unreachable
end
"
    );
    let module = module(&text);
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    for _ in 0..3 {
        let args = [vector(&Machine::new(&module), &[3.0]), Value::from(-1.0)];
        let error = program.call("f", &args).unwrap_err().to_string();
        // It was counted thrice: 9 + 1.5 + 2.
        assert!(error.contains("12.5"), "{error}");
    }
    let args = || vec![vector(&Machine::new(&module), &[3.0]), Value::from(-1.0)];
    let verdict = native_agrees(&module, "f", &args, Limits::default(), &|_| ());
    assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
}

const OBJECTS: &str = "
mutable struct Counter
    count::Int64
    rows::Vector{Vector{Float64}}
end
const ROW::Vector{Float64}
    1.5, 2.5
end
const ROWS::Vector{Vector{Float64}}
    ROW, ROW
end
const COUNTER::Counter
    7, ROWS
end
function count()::Float64
1 ─ %1  = Main.COUNTER::Counter
│   %2  = Base.getfield(%1, :count)::Int64
│   %3  = Base.add_int(%2, 1)::Int64
│         Base.setfield!(%1, :count, %3)::Int64
│   %5  = Base.getfield(%1, :rows)::Vector{Vector{Float64}}
│   %6  = Base.arrayref(true, %5, 1)::Vector{Float64}
│   %7  = Base.arrayref(true, Main.ROW, 2)::Float64
│   %8  = Base.add_float(%7, 1.0)::Float64
│         Base.arrayset(true, %6, %8, 2)::Vector{Float64}
│   %10 = Base.arrayref(true, Main.ROWS, 2)::Vector{Float64}
│   %11 = Base.arrayref(true, %10, 2)::Float64
│   %12 = Base.sitofp(Float64, %3)::Float64
│   %13 = Base.mul_float(%11, %12)::Float64
└──       return %13
end
";

#[test]
fn objects_are_one_however_they_are_reached() {
    let module = module(OBJECTS);
    let program = Program::compile(&module, &["count"], Limits::default()).unwrap();
    assert!(program.interpreted().is_empty());
    let mut machine = Machine::new(&module);
    for _ in 0..3 {
        // 3.5 rows · 8 counts.
        assert_eq!(shown(&program.call("count", &[]).unwrap()), "28.0");
        assert_eq!(shown(&machine.call("count", &[]).unwrap()), "28.0");
    }
}

#[test]
fn the_interpreter_goes_on_with_the_objects_of_the_call() {
    // `fail` never returns: it is left to the interpreter.
    let text = format!(
        "{OBJECTS}function fail(x::Float64)::Union{{}}
1 ─ %1 = Main.count()::Float64
│   %2 = %new(Core.DomainError, %1, x)::DomainError
│        Base.throw(%2)::Union{{}}
└──      unreachable
end
{}",
        counts_or_fails("x::Float64", "x")
    );
    let module = module(&text);
    for x in [2.0, -1.0] {
        let args = || vec![Value::from(x)];
        let verdict = native_agrees(&module, "f", &args, Limits::default(), &|_| ());
        assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
    }
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let error = program.call("f", &[Value::from(-1.0)]).unwrap_err().to_string();
    // 4.5 rows · 9 counts: it was counted twice, natively and by the interpreter.
    assert!(error.contains("40.5"), "{error}");
}

#[test]
fn constants_that_native_code_does_not_hold_are_the_interpreters() {
    let text = "
const NAMES::Vector{Any}
    1, 2.5
end
function second()::Float64
1 ─ %1 = Base.arrayref(true, Main.NAMES, 2)::Any
│   %2 = π (%1, Float64)
└──      return %2
end
";
    let module = module(text);
    let error = Program::compile(&module, &["second"], Limits::default()).unwrap_err().to_string();
    assert!(error.contains("the global constant `NAMES` is not compiled"), "{error}");
    assert_eq!(shown(&Machine::new(&module).call("second", &[]).unwrap()), "2.5");
}
