//! Loops that native code does several rounds of at once, against the interpreter: on random bodies in which rounds meet in memory in all ways.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::{Type, parse_module};
use kit::native::{Verdict, native_agrees, vector};
use kit::seeds::for_each;
use kit::straight::{StraightLoop, straight_loop};

/// Runs a loop on both engines.
fn agrees(made: &StraightLoop) -> Result<(), String> {
    for function in made.module.functions() {
        function.body.verify().map_err(|violations| format!("{violations}\n{}", made.text))?;
    }
    match native_agrees(&made.module, "f", &|| made.args(), Limits::default(), &|_| ()) {
        Ok(Verdict::Same) => Ok(()),
        Ok(verdict) => Err(format!("{verdict:?}\n{}", made.text)),
        Err(broken) => Err(format!("{broken}\n{}", made.text)),
    }
}

#[test]
fn several_rounds_at_once_are_the_same_as_one_after_the_other() {
    let run = Cell::new(0);
    let check = |made: &StraightLoop| {
        run.set(run.get() + 1);
        agrees(made)
    };
    for_each(1500, straight_loop, check).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.get(), 1500, "some loops were not made");
}

/// On every round `a[1]` or `a[2]` changes, and what of `b` is read decides which.
const TWO_WAYS: &str = "
function f(a::Vector{Float64}, b::Vector{Float64}, n::Int64)::Float64
1 ─       goto #2
2 ┄ %2  = φ (#1 => 1, #7 => %17)::Int64
│   %3  = Base.arrayref(true, b, %2)::Float64
│   %4  = Base.lt_float(%3, 2.0)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, a, 1)::Float64
│   %7  = Base.add_float(%6, %3)::Float64
│         Base.arrayset(true, a, %7, 1)::Vector{Float64}
└──       goto #5
4 ─ %10 = Base.arrayref(true, a, 2)::Float64
│   %11 = Base.mul_float(%10, %3)::Float64
│         Base.arrayset(true, a, %11, 2)::Vector{Float64}
└──       goto #5
5 ┄ %14 = (%2 === n)::Bool
└──       goto #7 if not %14
6 ─       goto #8
7 ─ %17 = Base.add_int(%2, 1)::Int64
└──       goto #2
8 ─ %19 = Base.arrayref(true, a, 1)::Float64
│   %20 = Base.arrayref(true, a, 2)::Float64
│   %21 = Base.sub_float(%19, %20)::Float64
└──       return %21
end
";

/// Elements that stay in registers are in memory when the loop is over, also if it ends with an error, and are not kept if another array is
/// the same one.
#[test]
fn elements_that_stay_in_registers_are_stored() {
    let module = parse_module(TWO_WAYS).unwrap().module;
    let limits = Limits::default();
    let agrees = |what: &str, args: &dyn Fn() -> Vec<Value>| match native_agrees(&module, "f", args, limits, &|_| ()) {
        Ok(Verdict::Same) => {}
        Ok(verdict) => panic!("{what}: {verdict:?}"),
        Err(broken) => panic!("{what}: {broken}"),
    };
    let machine = Machine::new(&module);
    let vector = |numbers: &[f64]| vector(&machine, numbers);
    let (a, b) = ([1.5, 2.5, 3.5], [0.5, 3.0, 1.25, 4.0, 0.75]);
    agrees("two arrays", &|| vec![vector(&a), vector(&b), 5.into()]);
    agrees("more rounds than elements", &|| vec![vector(&a), vector(&b), 6.into()]);
    agrees("an element that is not there", &|| vec![vector(&a[..1]), vector(&b), 5.into()]);
    agrees("one array", &|| {
        let same = vector(&a);
        vec![same.clone(), same, 3.into()]
    });
}

/// Two indices into an array of three dimensions name no element unless the third dimension is 1, and a value of a type that is known only when the loop runs may end
/// it: what was added before is in memory then.
#[test]
fn loops_that_fail_leave_what_they_did() {
    let agrees = |text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>| {
        let module = parse_module(text).unwrap().module;
        let machine = Machine::new(&module);
        let verdict = native_agrees(&module, "f", &|| args(&machine), Limits::default(), &|_| ());
        verdict.unwrap_or_else(|broken| panic!("{broken}"))
    };
    let too_few = "
function f(a::Array{Float64,3}, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 1, #4 => %9)::Int64
│   %3 = Base.arrayref(true, a, 1, 1)::Float64
│   %4 = Base.add_float(%3, 1.0)::Float64
│        Base.arrayset(true, a, %4, 1, 1)::Array{Float64,3}
│   %6 = (%2 === n)::Bool
└──      goto #4 if not %6
3 ─      return %4
4 ─ %9 = Base.add_int(%2, 1)::Int64
└──      goto #2
end
";
    let cube = |machine: &Machine<'_>, side: usize| {
        let numbers = (0..2 * 2 * side).map(|number| Value::from(number as f64)).collect();
        machine.array(Type::FLOAT64, vec![2, 2, side], numbers).unwrap()
    };
    for side in [1, 2] {
        assert_eq!(agrees(too_few, &|machine| vec![cube(machine, side), 3.into()]), Verdict::Same);
    }
    let of_any = "
function f(a::Vector{Float64}, x::Any, n::Int64)::Float64
1 ─       goto #2
2 ┄ %2  = φ (#1 => 1, #4 => %10)::Int64
│   %3  = Base.arrayref(true, a, 1)::Float64
│   %4  = Base.add_float(%3, 1.0)::Float64
│         Base.arrayset(true, a, %4, 1)::Vector{Float64}
│   %6  = Base.add_float(x, 1.0)::Float64
│   %7  = (%2 === n)::Bool
└──       goto #4 if not %7
3 ─       return %6
4 ─ %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
end
";
    for x in [Value::from(2.5), Value::from(2)] {
        let verdict = agrees(of_any, &|machine| vec![vector(machine, &[0.5]), x.clone(), 3.into()]);
        assert!(!matches!(verdict, Verdict::Limited));
    }
}
