//! The compact form of the interpreter's code where it is left half-way: at limits, by exceptions, where types are not
//! what they claim.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Type, parse_module};
use kit::compact::compact_agrees;

fn module(text: &str) -> Module<IRCode> {
    parse_module(text).unwrap().module
}

/// Runs a function with every limit on the number of steps up to that which it needs, and some more.
fn agrees_at_each_limit(module: &Module<IRCode>, args: &dyn Fn() -> Vec<Value>) {
    let mut machine = Machine::new(module);
    let _ = machine.call("f", &args());
    let steps = machine.steps();
    assert!(steps < 1_000);
    for steps in 0..=steps + 2 {
        let limits = Limits { steps, ..Limits::default() };
        compact_agrees(module, "f", args, limits, &|_| ()).unwrap();
    }
}

#[test]
fn a_limit_ends_a_loop_at_each_of_its_statements() {
    let module = module(
        "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.slt_int(0, n)::Bool
└── %2 = goto #5 if not %1
2 ┄ %3 = φ (#1 => 1, #4 => %12)::Int64
│   %4 = φ (#1 => x, #4 => %5)::Float64
│   %5 = φ (#1 => 1.0, #4 => %4)::Float64
│   %6 = φ (#1 => 0.0, #4 => %8)::Float64
│   %7 = Base.mul_float(%4, %5)::Float64
│   %8 = Base.add_float(%6, %7)::Float64
│   %9 = Base.:(===)(%3, n)::Bool
└── %10 = goto #4 if not %9
3 ─ %11 = goto #5
4 ─ %12 = Base.add_int(%3, 1)::Int64
└── %13 = goto #2
5 ┄ %14 = φ (#1 => 0.0, #3 => %8)::Float64
└── %15 = return %14
end
",
    );
    agrees_at_each_limit(&module, &|| vec![Value::from(1.5), Value::from(4)]);
}

#[test]
fn bounds_end_a_loop_where_they_are_passed() {
    let module = module(
        "
function f(v::Vector{Float64}, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 1, #2 => %6)::Int64
│   %3 = φ (#1 => 0.0, #2 => %5)::Float64
│   %4 = Base.arrayref(true, v, %2)::Float64
│   %5 = Base.add_float(%3, %4)::Float64
│   %6 = Base.add_int(%2, 1)::Int64
│   %7 = Base.arrayset(true, v, %5, %2)::Vector{Float64}
│   %8 = Base.slt_int(n, %6)::Bool
└── %9 = goto #2 if not %8
3 ─ %10 = return %5
end
",
    );
    for n in [1, 3, 5] {
        let args = || {
            let machine = Machine::new(&module);
            let elements = [0.1, 0.2, 0.3].map(Value::from).to_vec();
            vec![machine.array(Type::FLOAT64, vec![3], elements).unwrap(), Value::from(n)]
        };
        agrees_at_each_limit(&module, &args);
    }
}

/// Indices at the ends of their type are outside of every array.
#[test]
fn indices_do_not_wrap() {
    let module = module(
        "
function f(v::Vector{Float64}, i::Int64)::Float64
1 ─ %1 = Base.arraysize(v, i)::Int64
│   %2 = Base.sitofp(Float64, %1)::Float64
│   %3 = Base.arrayref(true, v, i)::Float64
│   %4 = Base.add_float(%2, %3)::Float64
└── %5 = return %4
end
",
    );
    for i in [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, 3, i64::MAX] {
        let args = || {
            let machine = Machine::new(&module);
            let elements = [0.5, 0.25].map(Value::from).to_vec();
            vec![machine.array(Type::FLOAT64, vec![2], elements).unwrap(), Value::from(i)]
        };
        agrees_at_each_limit(&module, &args);
    }
}

/// Types are claims: what is added are other numbers, a string, and nothing at all.
#[test]
fn types_need_not_be_true() {
    let module = module(
        "
function f(x::Any, y::Any)::Float64
1 ─ %1 = Base.identity(x)::Float64
│   %2 = Base.identity(y)::Float64
│   %3 = Base.add_float(%1, %2)::Float64
│   %4 = Base.lt_float(%1, %2)::Bool
└── %5 = goto #3 if not %4
2 ─ %6 = return %3
3 ─ %7 = Base.mul_float(%3, %2)::Float64
└── %8 = return %7
end
",
    );
    let single = |x: f32| Value::Scalar(ircode::Scalar::Float32(x));
    let text = || Value::String("text".into());
    for (x, y) in [
        (Value::from(1.5), Value::from(2.5)),
        (Value::from(f64::NAN), Value::from(-0.0)),
        (Value::from(f64::from_bits(0x7ff8_0000_0000_0123)), Value::from(f64::from_bits(0xfff8_0000_0000_0456))),
        (single(1.5), single(0.5)),
        (single(1.5), Value::from(0.5)),
        (Value::from(1), Value::from(2)),
        (text(), Value::Nothing),
    ] {
        agrees_at_each_limit(&module, &|| vec![x.clone(), y.clone()]);
    }
}

/// What calls nest in is counted as before: neither the depth nor the memory of frames may change.
#[test]
fn calls_nest_as_deep() {
    let module = module(
        "
function f(n::Int64)::Int64
1 ─ %1 = Base.slt_int(n, 1)::Bool
└── %2 = goto #3 if not %1
2 ─ %3 = return 7
3 ─ %4 = Base.sub_int(n, 1)::Int64
│   %5 = Main.f(%4)::Int64
│   %6 = Base.add_int(%5, 3)::Int64
└── %7 = return %6
end
",
    );
    let args = || vec![Value::from(40)];
    agrees_at_each_limit(&module, &args);
    for memory in (0..40).map(|i| i * 160) {
        compact_agrees(&module, "f", &args, Limits { memory, ..Limits::default() }, &|_| ()).unwrap();
    }
    for depth in 0..43 {
        compact_agrees(&module, "f", &args, Limits { depth, ..Limits::default() }, &|_| ()).unwrap();
    }
}

/// A φ that takes nothing from the edge taken is undefined, and using it an error.
#[test]
fn undefined_values_are_seen() {
    let module = module(
        "
function f(c::Bool, x::Float64)::Float64
1 ─ %1 = goto #3 if not c
2 ─ %2 = goto #4
3 ─ %3 = goto #4
4 ┄ %4 = φ (#2 => x)::Float64
│   %5 = Base.ifelse(c, x, %4)::Float64
│   %6 = Base.add_float(%4, %5)::Float64
└── %7 = return %6
end
",
    );
    for c in [true, false] {
        agrees_at_each_limit(&module, &|| vec![Value::from(c), Value::from(0.5)]);
    }
}
