//! What cannot be compiled and is called only where a run is about to fail is left to the interpreter: the errors are
//! the interpreter's, with what native code has made of the arguments by then, and the rest is native.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::native::Program;
use exec::{Limits, Value};
use ircode::primitives::{Effects, Primitive, ResultType};
use ircode::{IRCode, Module, parse_module};
use kit::native::{Verdict, native_agrees, vector, verified};

fn module(text: &str) -> Module<IRCode> {
    verified(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `f` on both engines at a vector of three numbers and at a number.
fn agrees(module: &Module<IRCode>, x: f64) -> Verdict {
    let args = || vec![vector(&exec::Machine::new(module), &[1.5, 2.5, 3.5]), Value::from(x)];
    native_agrees(module, "f", &args, Limits::default(), &|_| ()).unwrap_or_else(|broken| panic!("{broken}"))
}

/// `map` is not compiled.
const MAPPING: &str = "
function square(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function squares(a::Vector{Float64})::Vector{Float64}
1 ─ %1 = Base.map(Main.square, a)::Vector{Float64}
└──      return %1
end
function first_square(a::Vector{Float64})::Float64
1 ─ %1 = Main.squares(a)::Vector{Float64}
│   %2 = Base.arrayref(true, %1, 1)::Float64
└──      return %2
end
function fail(a::Vector{Float64})::Union{}
1 ─      Base.arrayset(true, a, -7.0, 3)::Vector{Float64}
│   %2 = Main.first_square(a)::Float64
│   %3 = %new(Core.DomainError, %2, a)::DomainError
│        Base.throw(%3)::Union{}
└──      unreachable
end
";

#[test]
fn a_function_that_never_returns_sees_what_native_code_has_stored() {
    let text = format!(
        "{MAPPING}
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─      Base.arrayset(true, a, x, 1)::Vector{{Float64}}
│   %2 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %2
2 ─      Main.fail(a)::Union{{}}
└──      unreachable
3 ─ %6 = Base.arrayref(true, a, 2)::Float64
└──      return %6
end
"
    );
    let module = module(&text);
    assert_eq!(agrees(&module, 4.0), Verdict::Same);
    assert_eq!(agrees(&module, -3.0), Verdict::Same);
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    // It is left to the interpreter without being tried.
    assert!(program.interpreted().is_empty());
    let a = vector(&exec::Machine::new(&module), &[1.5, 2.5, 3.5]);
    let error = program.call("f", &[a.clone(), Value::from(-3.0)]).unwrap_err().to_string();
    assert_eq!(
        error,
        "DomainError(9.0, [-3.0, 2.5, -7.0])\n  \
         in fail, block #1: %4 = Base.throw(%3)::Union{}\n  \
         called from f, block #2: %4 = Main.fail(_2)::Union{}"
    );
    assert_eq!(a.to_string(), "[-3.0, 2.5, -7.0]");
}

#[test]
fn a_handler_takes_what_the_interpreter_has_thrown() {
    let text = format!(
        "{MAPPING}
function f(a::Vector{{Float64}}, x::Float64)::Tuple{{Float64, Bool}}
1 ─       Base.arrayset(true, a, x, 1)::Vector{{Float64}}
│   %2  = enter #6
2 ─ %3  = Base.lt_float(x, 0.0)::Bool
└──       goto #4 if not %3
3 ─       Main.fail(a)::Union{{}}
└──       unreachable
4 ─       $(Expr(:leave, :(%2)))
5 ─       goto #7
6 ┄       $(Expr(:pop_exception, :(%2)))
7 ┄ %10 = φ (#5 => false, #6 => true)::Bool
│   %11 = Base.arrayref(true, a, 3)::Float64
│   %12 = Core.tuple(%11, %10)::Tuple{{Float64, Bool}}
└──       return %12
end
"
    );
    let module = module(&text);
    for x in [4.0, -3.0] {
        assert_eq!(agrees(&module, x), Verdict::Same, "{x}");
    }
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let a = vector(&exec::Machine::new(&module), &[1.5, 2.5, 3.5]);
    assert_eq!(program.call("f", &[a, Value::from(-3.0)]).unwrap().to_string(), "(-7.0, true)");
}

#[test]
fn a_call_may_be_interpreted_where_no_way_leads_to_a_return_and_nowhere_else() {
    let failing = format!(
        "{MAPPING}
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─ %3 = Main.first_square(a)::Float64
│   %4 = %new(Core.DomainError, %3, x)::DomainError
│        Base.throw(%4)::Union{{}}
└──      unreachable
3 ─      return x
end
"
    );
    let failing = module(&failing);
    assert_eq!(agrees(&failing, 4.0), Verdict::Same);
    assert_eq!(agrees(&failing, -3.0), Verdict::Same);
    let returning = format!(
        "{MAPPING}
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─ %3 = Main.first_square(a)::Float64
└──      return %3
3 ─      return x
end
"
    );
    assert_eq!(agrees(&module(&returning), 4.0), Verdict::Refused("a call of `map`".into()));
}

#[test]
fn recursion_that_the_interpreter_takes_over_is_bounded() {
    let text = "
function square(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function fail(a::Vector{Float64})::Union{}
1 ─ %1 = Base.map(Main.square, a)::Vector{Float64}
│        Main.fail(%1)::Union{}
└──      unreachable
end
function f(a::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─      Main.fail(a)::Union{}
└──      unreachable
3 ─      return x
end
";
    let module = module(text);
    assert_eq!(agrees(&module, 1.0), Verdict::Same);
    let program = Program::compile(&module, &["f"], Limits { depth: 100, ..Limits::default() }).unwrap();
    let a = vector(&exec::Machine::new(&module), &[1.0]);
    let error = program.call("f", &[a, Value::from(-1.0)]).unwrap_err().to_string();
    assert!(error.starts_with("calls nested deeper than 100\n  in fail"), "{error}");
    // The last places that are told are those nearest to the caller.
    assert!(error.ends_with("called from f, block #2: %3 = Main.fail(_2)::Union{}"), "{error}");
    // Those between are the same again and again.
    assert_eq!(error.lines().count(), 1 + 3, "{error}");
}

#[test]
fn what_an_exception_would_hold_twice_is_refused() {
    // The handler changes the array that was thrown, which is the caller's, or lies in a tuple.
    for thrown in ["a", "%2"] {
        let text = format!(
            "{MAPPING}
function fail_with(a::Vector{{Float64}})::Union{{}}
1 ─ %1 = Base.map(Main.square, a)::Vector{{Float64}}
│   %2 = Core.tuple(a, %1)::Tuple{{Vector{{Float64}}, Vector{{Float64}}}}
│        Base.throw({thrown})::Union{{}}
└──      unreachable
end
function f(a::Vector{{Float64}}, x::Float64)::Any
1 ─ %1 = enter #3
2 ─      Main.fail_with(a)::Union{{}}
└──      unreachable
3 ┄ %4 = $(Expr(:the_exception))::Any
│        Base.arrayset(true, a, x, 2)::Vector{{Float64}}
│        $(Expr(:pop_exception, :(%1)))
└──      return %4
end
"
        );
        let verdict = agrees(&module(&text), 9.0);
        assert!(
            matches!(&verdict, Verdict::Refused(what) if what.contains("an exception that is an object")),
            "{verdict:?}"
        );
    }
}

#[test]
fn the_exception_that_native_code_has_caught_is_not_asked_for_elsewhere() {
    let text = format!(
        "{MAPPING}
function throw_again(a::Vector{{Float64}})::Union{{}}
1 ─ %1 = Base.map(Main.square, a)::Vector{{Float64}}
│   %2 = $(Expr(:the_exception))::Any
│        Base.throw(%2)::Union{{}}
└──      unreachable
end
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─ %1 = enter #4
2 ─ %2 = Base.arrayref(true, a, 99)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄      Main.throw_again(a)::Union{{}}
└──      unreachable
end
"
    );
    assert_eq!(agrees(&module(&text), 9.0), Verdict::Refused("a call of `map`".into()));
}

#[test]
fn calls_of_native_code_count_where_the_interpreter_goes_on() {
    let text = "
function square(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function fail(a::Vector{Float64}, n::Float64)::Union{}
1 ─ %1 = Base.lt_float(n, 1.0)::Bool
└──      goto #3 if not %1
2 ─      Base.throw(n)::Union{}
└──      unreachable
3 ─ %5 = Base.map(Main.square, a)::Vector{Float64}
│   %6 = Base.sub_float(n, 1.0)::Float64
│        Main.fail(%5, %6)::Union{}
└──      unreachable
end
function g(a::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─      return x
3 ─      Main.fail(a, x)::Union{}
└──      unreachable
end
function f(a::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Main.g(a, x)::Float64
└──      return %1
end
";
    let module = module(text);
    let limits = Limits { depth: 100, ..Limits::default() };
    for deep in 94..102 {
        let args = || vec![vector(&exec::Machine::new(&module), &[1.5]), Value::from(f64::from(deep))];
        let verdict = native_agrees(&module, "f", &args, limits, &|_| ()).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!(verdict, Verdict::Same, "{deep}");
    }
}

#[test]
fn arguments_of_other_types_than_declared_are_refused() {
    let text = format!(
        "{MAPPING}
function fail_at(a::Vector{{Float64}}, n::Int64)::Union{{}}
1 ─ %1 = Base.map(Main.square, a)::Vector{{Float64}}
│        Base.throw(n)::Union{{}}
└──      unreachable
end
function f(a::Vector{{Float64}}, x::Float64)::Float64
1 ─      Main.fail_at(a, x)::Union{{}}
└──      unreachable
end
"
    );
    let verdict = agrees(&module(&text), 9.0);
    assert!(matches!(&verdict, Verdict::Refused(what) if what.contains("arguments of other types")), "{verdict:?}");
}

#[test]
fn primitives_of_the_host_are_not_called_by_another_interpreter() {
    static TOTAL: Primitive = Primitive::machine("total", 1, ResultType::Element(0), Effects::READS);
    let text = "
function fail(a::Vector{Float64})::Union{}
1 ─ %1 = Main.total(a)::Float64
│        Base.throw(%1)::Union{}
└──      unreachable
end
function f(a::Vector{Float64}, x::Float64)::Float64
1 ─      Main.fail(a)::Union{}
└──      unreachable
end
";
    let mut module = parse_module(text).unwrap().module;
    module.register(&TOTAL).unwrap();
    let refused = Program::compile(&module, &["f"], Limits::default()).unwrap_err();
    assert_eq!(refused.what, "the primitive `total` of the host");
}
