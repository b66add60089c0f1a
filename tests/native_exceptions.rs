//! Native code that catches exceptions, against the interpreter: which handler takes what, what it sees, and what no
//! handler takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::native::{CallError, Program};
use exec::{Limits, Machine, RunErrorKind, Value};
use ircode::{IRCode, Module, Type, parse_module};
use kit::native::{Verdict, native_agrees, vector, verified};
use passes::FunctionBuilder;

fn module(text: &str) -> Module<IRCode> {
    verified(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `f` on both engines, and says what became of it.
fn verdict(text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>) -> Verdict {
    let module = module(text);
    let args = || args(&Machine::new(&module));
    native_agrees(&module, "f", &args, Limits::default(), &|_| ()).unwrap_or_else(|broken| panic!("{broken}"))
}

/// Runs `f` on both engines at these integers.
fn runs_at(text: &str, points: &[&[i64]]) {
    for point in points {
        let verdict = verdict(text, &|_| point.iter().map(|&n| Value::from(n)).collect());
        assert_eq!(verdict, Verdict::Same, "{point:?}\n{text}");
    }
}

/// What native code gives for `f`, as text.
fn result(text: &str, args: &[Value]) -> String {
    let program = Program::compile(&module(text), &["f"], Limits::default()).unwrap();
    program.call("f", args).map_or_else(|error| error.to_string(), |value| value.to_string())
}

/// A variable that a catch block reads holds what it held when it was thrown.
#[test]
fn functions_with_handlers_can_be_built() {
    let mut f = FunctionBuilder::new("at", Type::FLOAT64);
    let (a, i) = (f.parameter("a", Type::array(Type::FLOAT64, 1)), f.parameter("i", Type::INT64));
    let last = f.variable("last", Type::FLOAT64);
    let (body, catch, rest) = (f.block(), f.block(), f.block());
    let first = f.call("Base.getindex", [a.clone(), 1.into()], Type::FLOAT64);
    f.set(last, first);
    let handler = f.enter(body, catch);
    f.switch_to(body);
    let element = f.call("Base.getindex", [a, i], Type::FLOAT64);
    f.set(last, element);
    f.leave(handler.clone(), rest);
    f.switch_to(catch);
    f.pop_exception(handler);
    f.goto(rest);
    f.switch_to(rest);
    let result = f.get(last);
    f.ret(result);

    let mut module: Module<IRCode> = Module::new();
    module.add_function(f.finish().unwrap().map(|body| IRCode::try_from(body)).unwrap()).unwrap();
    let program = Program::compile(&module, &["at"], Limits::default()).unwrap();
    for (i, expected, gradient) in [(2, 4.0, [0.0, 1.0]), (3, 2.0, [1.0, 0.0])] {
        let args = || {
            let floats = vec![Value::from(2.0), Value::from(4.0)];
            [Machine::new(&module).array(Type::FLOAT64, vec![2], floats).unwrap(), Value::from(i)]
        };
        assert_eq!(Machine::new(&module).call("at", &args()).unwrap().as_float(), Some(expected));
        assert_eq!(program.call("at", &args()).unwrap().as_float(), Some(expected));
        let found = bbkit::gradient(&module, "at", &args(), Limits::default()).unwrap();
        assert_eq!(found.gradient[0].as_floats().unwrap(), gradient);
    }
}

#[test]
fn the_innermost_handler_takes_an_exception() {
    // Divides 100 by `n` in two handlers; what the inner one does with an exception divides by `m`.
    let text = "
function f(n::Int64, m::Int64)::Tuple{Int64, Int64}
1 ─ %1  = enter #8
2 ─ %2  = enter #5
3 ─ %3  = Base.checked_sdiv_int(100, n)::Int64
└──       $(Expr(:leave, :(%2)))
4 ─       goto #6
5 ┄ %6  = Base.checked_sdiv_int(1000, m)::Int64
└──       $(Expr(:pop_exception, :(%2)))
6 ┄ %8  = φ (#4 => %3, #5 => %6)::Int64
│   %9  = φ (#4 => 0, #5 => 1)::Int64
└──       $(Expr(:leave, :(%1)))
7 ─ %11 = Core.tuple(%8, %9)::Tuple{Int64, Int64}
└──       return %11
8 ┄       $(Expr(:pop_exception, :(%1)))
│   %14 = Core.tuple(-1, 2)::Tuple{Int64, Int64}
└──       return %14
end
";
    runs_at(text, &[&[7, 0], &[0, 9], &[0, 0]]);
    assert_eq!(result(text, &[Value::from(0), Value::from(9)]), "(111, 1)");
    assert_eq!(result(text, &[Value::from(0), Value::from(0)]), "(-1, 2)");
}

#[test]
fn after_its_end_a_handler_takes_nothing() {
    let new_style = "
function f(n::Int64, m::Int64)::Int64
1 ─ %1 = enter #4
2 ─ %2 = Base.checked_sdiv_int(100, n)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─ %4 = Base.checked_sdiv_int(%2, m)::Int64
└──      return %4
4 ┄      $(Expr(:pop_exception, :(%1)))
│   %7 = Base.checked_sdiv_int(-100, m)::Int64
└──      return %7
end
";
    let old_style = "
function f(n::Int64, m::Int64)::Int64
1 ─      $(Expr(:enter, #4))
2 ─ %2 = Base.checked_sdiv_int(100, n)::Int64
└──      $(Expr(:leave, 1))
3 ─ %4 = Base.checked_sdiv_int(%2, m)::Int64
└──      return %4
4 ┄      $(Expr(:leave, 1))
5 ─      $(Expr(:pop_exception, :(%1)))
│   %8 = Base.checked_sdiv_int(-100, m)::Int64
└──      return %8
end
";
    for text in [new_style, old_style] {
        runs_at(text, &[&[7, 2], &[7, 0], &[0, 2], &[0, 0]]);
    }
}

/// A function that throws an exception of its own where `n` is 1, divides by 0 where it is 0, and calls another one
/// that does.
const THROWS: &str = "
function g(n::Int64)::Int64
1 ─ %1 = (n === 1)::Bool
└──      goto #3 if not %1
2 ─ %3 = Main.ErrorException(\"no one\")::ErrorException
│        throw(%3)::Union{}
└──      unreachable
3 ─ %6 = invoke Main.h(n::Int64)::Int64
└──      return %6
end
function h(n::Int64)::Int64
1 ─ %1 = Base.checked_sdiv_int(100, n)::Int64
└──      return %1
end
";

#[test]
fn exceptions_come_through_calls_to_the_handler() {
    let text = format!(
        "{THROWS}
function f(n::Int64)::Any
1 ─ %1 = enter #4
2 ─ %2 = invoke Main.g(n::Int64)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄ %5 = $(Expr(:the_exception))::Any
│        $(Expr(:pop_exception, :(%1)))
└──      return %5
end
"
    );
    runs_at(&text, &[&[5], &[1], &[0]]);
    assert_eq!(result(&text, &[Value::from(1)]), "ErrorException(\"no one\")");
}

#[test]
fn what_is_thrown_again_names_the_place_where_it_was() {
    let text = format!(
        "{THROWS}
function k(n::Int64)::Int64
1 ─ %1 = enter #4
2 ─ %2 = invoke Main.g(n::Int64)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄ %5 = $(Expr(:the_exception))::Any
│   %6 = (%5 isa Main.DivideError)::Bool
└──      goto #6 if not %6
5 ─      $(Expr(:pop_exception, :(%1)))
└──      return -1
6 ─      throw(%5)::Union{{}}
└──      unreachable
end
function f(n::Int64)::Int64
1 ─ %1 = invoke Main.k(n::Int64)::Int64
└──      return %1
end
"
    );
    runs_at(&text, &[&[5], &[1], &[0]]);
    let module = module(&text);
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let Err(CallError::Run(error)) = program.call("f", &[Value::from(1)]) else { panic!("nothing is thrown") };
    let functions: Vec<&str> = error.trace.iter().map(|place| place.function.as_str()).collect();
    assert_eq!(functions, ["k", "f"], "{error}");
}

#[test]
fn the_current_exception_is_the_one_before_when_another_was_popped() {
    let text = "
function f(n::Int64)::Tuple{Any, Any}
1 ─ %1  = enter #3
2 ─ %2  = Main.ErrorException(\"first\")::ErrorException
│         throw(%2)::Union{}
└──       unreachable
3 ┄ %5  = enter #6
4 ─ %6  = Base.checked_sdiv_int(100, n)::Int64
└──       $(Expr(:leave, :(%5)))
5 ─ %8  = $(Expr(:the_exception))::Any
│   %9  = Core.tuple(%6, %8)::Tuple{Any, Any}
└──       return %9
6 ┄ %11 = $(Expr(:the_exception))::Any
│         $(Expr(:pop_exception, :(%5)))
│   %13 = $(Expr(:the_exception))::Any
│         $(Expr(:pop_exception, :(%1)))
│   %15 = Core.tuple(%11, %13)::Tuple{Any, Any}
└──       return %15
end
";
    runs_at(text, &[&[0], &[8]]);
    assert_eq!(result(text, &[Value::from(0)]), "(DivideError(), ErrorException(\"first\"))");
    // Handled exceptions do not stay until the next call, and without one there is none.
    let without = "
function f(n::Int64)::Any
1 ─ %1 = $(Expr(:the_exception))::Any
└──      return %1
end
";
    runs_at(without, &[&[0]]);
}

#[test]
fn a_loop_in_the_care_of_a_handler_leaves_it_where_it_failed() {
    // The sum of `v[1]` to `v[n]`, and how far it came.
    let text = "
function f(v::Vector{Float64}, n::Int64)::Tuple{Float64, Int64, Bool}
1 ─ %1  = ϒ (0.0)::Float64
│   %2  = ϒ (0)::Int64
└── %3  = enter #6
2 ┄ %4  = φ (#1 => 1, #3 => %12)::Int64
│   %5  = φ (#1 => 0.0, #3 => %9)::Float64
│   %6  = Base.sle_int(%4, n)::Bool
└──       goto #4 if not %6
3 ─ %8  = Base.arrayref(true, v, %4)::Float64
│   %9  = Base.add_float(%5, %8)::Float64
│   %10 = ϒ (%9)::Float64
│   %11 = ϒ (%4)::Int64
│   %12 = Base.add_int(%4, 1)::Int64
└──       goto #2
4 ─       $(Expr(:leave, :(%3)))
5 ─ %15 = Core.tuple(%5, n, true)::Tuple{Float64, Int64, Bool}
└──       return %15
6 ┄ %17 = φᶜ (%1, %10)::Float64
│   %18 = φᶜ (%2, %11)::Int64
│         $(Expr(:pop_exception, :(%3)))
│   %20 = Core.tuple(%17, %18, false)::Tuple{Float64, Int64, Bool}
└──       return %20
end
";
    for (numbers, n) in [(&[1.5, 2.5, 4.0][..], 3), (&[1.5, 2.5, 4.0], 9), (&[], 2), (&[0.5; 40], 50), (&[], 0)] {
        let args = |machine: &Machine<'_>| vec![vector(machine, numbers), Value::from(n)];
        assert_eq!(verdict(text, &args), Verdict::Same, "{numbers:?} {n}");
    }
    let module = module(text);
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let v = vector(&Machine::new(&module), &[1.5, 2.5, 4.0]);
    assert_eq!(program.call("f", &[v, Value::from(9)]).unwrap().to_string(), "(8.0, 3, false)");
}

#[test]
fn a_handler_in_a_loop_is_entered_each_time() {
    // How often `100 ÷ (i - n)` and `v[i]` fail for `i` from 1 to 6, and what `v[i]` is in sum where they do not.
    let text = "
function f(v::Vector{Float64}, n::Int64)::Tuple{Int64, Float64}
1 ─ %1  = Base.add_int(n, 0)::Int64
2 ┄ %2  = φ (#1 => 1, #6 => %16)::Int64
│   %3  = φ (#1 => 0, #6 => %14)::Int64
│   %4  = φ (#1 => 0.0, #6 => %15)::Float64
└── %5  = enter #5
3 ─ %6  = Base.sub_int(%2, %1)::Int64
│   %7  = Base.checked_sdiv_int(100, %6)::Int64
│   %8  = Base.arrayref(true, v, %2)::Float64
│   %9  = Base.add_float(%4, %8)::Float64
└──       $(Expr(:leave, :(%5)))
4 ─       goto #6
5 ┄ %12 = Base.add_int(%3, 1)::Int64
└──       $(Expr(:pop_exception, :(%5)))
6 ┄ %14 = φ (#4 => %3, #5 => %12)::Int64
│   %15 = φ (#4 => %9, #5 => %4)::Float64
│   %16 = Base.add_int(%2, 1)::Int64
│   %17 = Base.sle_int(%16, 6)::Bool
│   %18 = Base.not_int(%17)::Bool
└──       goto #2 if not %18
7 ─ %20 = Core.tuple(%14, %15)::Tuple{Int64, Float64}
└──       return %20
end
";
    for numbers in [&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0][..], &[1.0, 2.0], &[]] {
        for n in [0, 1, 4, 6] {
            let args = |machine: &Machine<'_>| vec![vector(machine, numbers), Value::from(n)];
            assert_eq!(verdict(text, &args), Verdict::Same, "{numbers:?} {n}");
        }
    }
}

#[test]
fn a_variable_that_holds_nothing_is_an_error_in_the_handler_too() {
    let text = "
function f(n::Int64)::Int64
1 ─ %1 = enter #4
2 ─ %2 = Base.checked_sdiv_int(100, n)::Int64
│   %3 = ϒ (%2)::Int64
│   %4 = Base.sub_int(n, 5)::Int64
│   %5 = Base.checked_sdiv_int(100, %4)::Int64
│   %6 = ϒ (#undef)::Int64
│   %7 = Base.sub_int(n, 7)::Int64
│   %8 = Base.checked_sdiv_int(100, %7)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─      return %8
4 ┄ %11 = φᶜ (%3, %6)::Int64
│        $(Expr(:pop_exception, :(%1)))
│   %13 = Base.add_int(%11, 1)::Int64
└──      return %13
end
";
    runs_at(text, &[&[0], &[5], &[7], &[9]]);
}

/// Reads behind the end of an array, and does `handle` with the exception.
fn out_of_bounds(handle: &str, result: &str) -> String {
    format!(
        "
function f(v::Vector{{Float64}})::{result}
1 ─ %1 = enter #4
2 ─ %2 = Base.arrayref(true, v, 4)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄ %5 = $(Expr(:the_exception))::Any
│        Base.arrayset(true, v, 9.0, 1)::Vector{{Float64}}
{handle}
end
"
    )
}

#[test]
fn an_array_in_an_exception_is_not_two_arrays() {
    let short = |machine: &Machine<'_>| vec![vector(machine, &[1.0, 2.0])];
    // Its type may be asked for, and it may be thrown again, with the array of the caller in it.
    let asked = out_of_bounds("│   %7 = (%5 isa Main.BoundsError)::Bool\n└──      return %7", "Any");
    assert_eq!(verdict(&asked, &short), Verdict::Same);
    let thrown = out_of_bounds("│        throw(%5)::Union{}\n└──      unreachable", "Float64");
    assert_eq!(verdict(&thrown, &short), Verdict::Same);
    // What looks into it is for the interpreter.
    let returned = out_of_bounds("└──      return %5", "Any");
    assert!(matches!(verdict(&returned, &short), Verdict::Refused(_)));
    let read = out_of_bounds(
        "│   %7 = Base.getfield(%5, :a)::Any\n│   %8 = Base.getindex(%7, 1)::Any\n└──      return %8",
        "Any",
    );
    assert!(matches!(verdict(&read, &short), Verdict::Refused(_)));
    // Without an exception there is nothing to look into.
    let long = |machine: &Machine<'_>| vec![vector(machine, &[1.0, 2.0, 3.0, 4.0])];
    assert_eq!(verdict(&read, &long), Verdict::Same);
}

#[test]
fn an_array_of_the_functions_own_is_thrown_as_it_is_in_the_end() {
    let text = "
function f(n::Int64)::Float64
1 ─ %1  = BBKit.new_array(Float64, 2)::Vector{Float64}
│         Base.arrayset(true, %1, 1.0, 1)::Vector{Float64}
│         Base.arrayset(true, %1, 2.0, 2)::Vector{Float64}
└── %4  = enter #4
2 ─ %5  = Base.arrayref(true, %1, n)::Float64
└──       $(Expr(:leave, :(%4)))
3 ─       return %5
4 ┄ %8  = $(Expr(:the_exception))::Any
│         Base.arrayset(true, %1, 9.0, 1)::Vector{Float64}
│         throw(%8)::Union{}
└──       unreachable
end
";
    runs_at(text, &[&[1], &[2], &[3]]);
}

#[test]
fn limits_are_not_caught() {
    let recursive = "
function g(n::Int64)::Int64
1 ─ %1 = Base.add_int(n, 1)::Int64
│   %2 = invoke Main.g(%1::Int64)::Int64
│   %3 = Base.add_int(%2, 1)::Int64
└──      return %3
end
function f(n::Int64)::Int64
1 ─ %1 = enter #4
2 ─ %2 = invoke Main.g(n::Int64)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄      $(Expr(:pop_exception, :(%1)))
└──      return -1
end
";
    let limits = Limits { depth: 50, ..Limits::default() };
    let module = module(recursive);
    let verdict = native_agrees(&module, "f", &|| vec![Value::from(0)], limits, &|_| ()).unwrap();
    assert_eq!(verdict, Verdict::Same);
    let program = Program::compile(&module, &["f"], limits).unwrap();
    let Err(CallError::Run(error)) = program.call("f", &[Value::from(0)]) else { panic!("it came back") };
    assert!(matches!(error.kind, RunErrorKind::DepthLimit(50)), "{error}");
    // A function that catches what comes after a chain of calls counts its depth anew each time.
    let descending = "
function g(n::Int64)::Int64
1 ─ %1 = Base.sle_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─ %3 = Base.checked_sdiv_int(1, 0)::Int64
└──      return %3
3 ─ %5 = Base.sub_int(n, 1)::Int64
│   %6 = invoke Main.g(%5::Int64)::Int64
└──      return %6
end
function f(n::Int64)::Int64
1 ─ %1  = Base.add_int(n, 0)::Int64
2 ┄ %2  = φ (#1 => 0, #5 => %8)::Int64
└── %3  = enter #5
3 ─ %4  = invoke Main.g(%1::Int64)::Int64
└──       $(Expr(:leave, :(%3)))
4 ─       return %4
5 ┄       $(Expr(:pop_exception, :(%3)))
│   %8  = Base.add_int(%2, 1)::Int64
│   %9  = Base.slt_int(9, %8)::Bool
└──       goto #2 if not %9
6 ─       return %8
end
";
    let module = self::module(descending);
    let limits = Limits { depth: 40, ..Limits::default() };
    let verdict = native_agrees(&module, "f", &|| vec![Value::from(35)], limits, &|_| ()).unwrap();
    assert_eq!(verdict, Verdict::Same);
    let program = Program::compile(&module, &["f"], limits).unwrap();
    assert_eq!(program.call("f", &[Value::from(35)]).unwrap().to_string(), "10");
}

#[test]
fn a_block_in_the_care_of_different_handlers_is_for_the_interpreter() {
    let text = "
function f(n::Int64)::Int64
1 ─ %1 = Base.slt_int(0, n)::Bool
└──      goto #3 if not %1
2 ─ %3 = enter #4
3 ┄ %4 = Base.checked_sdiv_int(100, n)::Int64
└──      return %4
4 ┄      return -1
end
";
    let module = parse_module(text).unwrap().module;
    let refused = Program::compile(&module, &["f"], Limits::default()).unwrap_err();
    assert!(refused.what.contains("different handlers"), "{refused}");
}
