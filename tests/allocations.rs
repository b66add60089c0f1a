//! What a gradient allocates once closures are specialised: nothing in code without loops, one growing stack a nest of
//! loops. And what a queue takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::exec::{Allocations, Limits, Machine, Value};
use bbkit::ircode::{IRCode, Module, Type, parse_module};
use bbkit::passes::reverse_mode::{Carrier, Options, derive};
use bbkit::{to_bbcode, to_ircode};
use kit::carriers::specialized;

/// The derivative with linear maps; specialised and cleaned up or not.
fn derived(text: &str, name: &str, specialise: bool) -> Module<IRCode> {
    let mut module = to_bbcode(&parse_module(text).unwrap().module).unwrap();
    let options = Options { carrier: Carrier::LinearMaps, ..Options::default() };
    let names = derive(&mut module, &name.into(), &options).unwrap().names;
    if specialise {
        specialized(&mut module, &names);
    }
    to_ircode(&module).unwrap()
}

/// What `value_and_gradient` makes, and what it gives.
fn made(module: &Module<IRCode>, name: &str, args: &[Value]) -> (Allocations, String) {
    let mut machine = Machine::new(module);
    let value = machine.call(&format!("{name}_value_and_gradient"), args).unwrap();
    (machine.statistics().allocations, value.to_string())
}

const BRANCHES: &str = "
function square(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function straight(x::Float64, y::Float64)::Float64
1 ─ %1 = Base.sin(x)::Float64
│   %2 = Base.mul_float(%1, y)::Float64
│   %3 = invoke Main.square(%2::Float64)::Float64
│   %4 = Base.exp(%3)::Float64
└──      return %4
end
function branches(x::Float64, y::Float64)::Float64
1 ─ %1  = Base.lt_float(5.0, x)::Bool
└──       goto #3 if not %1
2 ─ %3  = Base.sin(x)::Float64
│   %4  = Base.cos(y)::Float64
│   %5  = Base.mul_float(%3, %4)::Float64
└──       goto #6
3 ─ %7  = Base.lt_float(y, x)::Bool
└──       goto #5 if not %7
4 ─ %9  = invoke Main.square(x::Float64)::Float64
└──       return %9
5 ─ %11 = Base.add_float(x, y)::Float64
6 ┄ %12 = φ (#2 => %5, #5 => %11)::Float64
│   %13 = Base.exp(%12)::Float64
└──       return %13
end
";

#[test]
fn code_without_loops_allocates_nothing() {
    for (name, x, y) in [("straight", 0.5, 1.5), ("branches", 6.0, 0.5), ("branches", 2.0, 1.0), ("branches", 2.0, 3.0)]
    {
        let args = [Value::from(x), Value::from(y)];
        let (before, plain) = made(&derived(BRANCHES, name, false), name, &args);
        let (after, specialised) = made(&derived(BRANCHES, name, true), name, &args);
        assert_eq!(plain, specialised, "{name} at {x}, {y}");
        // So that the counters are seen to count.
        assert!(before.closures >= 2, "{name} at {x}, {y}: {before:?}");
        assert_eq!(after.on_heap(), 0, "{name} at {x}, {y}: {after:?}");
        // The result is a tuple.
        assert!(after.made() <= 1, "{name} at {x}, {y}: {after:?}");
    }
}

const LOOPS: &str = "
function power(x::Float64, n::Int64)::Float64
1 ─      nothing::Nothing
2 ┄ %2 = φ (#1 => 1.0, #3 => %6)::Float64
│   %3 = φ (#1 => 0, #3 => %7)::Int64
│   %4 = Base.slt_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.mul_float(%2, x)::Float64
│   %7 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─ %9 = Base.sin(%2)::Float64
└──      return %9
end
function nested(x::Float64, m::Int64)::Float64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0.0, #6 => %7)::Float64
│   %3  = φ (#1 => 0, #6 => %18)::Int64
│   %4  = Base.slt_int(%3, m)::Bool
└──       goto #8 if not %4
3 ─ %6  = Base.sitofp(Float64, %3)::Float64
4 ┄ %7  = φ (#3 => %2, #5 => %14)::Float64
│   %8  = φ (#3 => 1.0, #5 => %15)::Float64
│   %9  = φ (#3 => 0, #5 => %16)::Int64
│   %10 = Base.sle_int(%9, %3)::Bool
└──       goto #6 if not %10
5 ─ %12 = Base.sin(%8)::Float64
│   %13 = Base.mul_float(%6, %12)::Float64
│   %14 = Base.add_float(%7, %13)::Float64
│   %15 = Base.mul_float(%8, x)::Float64
│   %16 = Base.add_int(%9, 1)::Int64
└──       goto #4
6 ─ %18 = Base.add_int(%3, 1)::Int64
│   %19 = Base.lt_float(50.0, %7)::Bool
└──       goto #2 if not %19
7 ─       return %7
8 ─       return %2
end
";

#[test]
fn a_nest_of_loops_grows_one_stack() {
    for (name, x, n) in [("power", 1.25, 100), ("nested", 0.5, 12), ("nested", 1.5, 40)] {
        let args = [Value::from(x), Value::from(n)];
        let (before, plain) = made(&derived(LOOPS, name, false), name, &args);
        let (after, specialised) = made(&derived(LOOPS, name, true), name, &args);
        assert_eq!(plain, specialised, "{name} at {x}, {n}");
        assert!(before.closures > n as u64, "{name} at {x}, {n}: {before:?}");
        assert_eq!((after.stacks, after.closures, after.plain_closures), (1, 0, 0), "{name} at {x}, {n}: {after:?}");
        assert_eq!((after.objects, after.arrays, after.slots), (0, 0, 0), "{name} at {x}, {n}: {after:?}");
        // The logarithm of its length.
        assert!(after.stack_growths <= 12, "{name} at {x}, {n}: {after:?}");
        // In a single loop not even an enum is left.
        assert!(name != "power" || after.enums == 0, "{name} at {x}, {n}: {after:?}");
    }
}

/// What is left of closures and enums in the gradients of the functions that Swift's own tests of the pass have. Those
/// not named here leave nothing.
const LEFT: &[(&str, &str, &str)] = &[
    // It calls itself by way of another function.
    ("multi_bb_bte2", "myfoo10_through_indirect", "new_case"),
    // A loop.
    ("multi_bb_no_bte", "sum_first_three_concatenating2", "new_stack"),
];

#[test]
fn nothing_is_left_in_what_swift_specialises() {
    let (mut found, mut clean) = (Vec::new(), 0);
    for file in ["single_bb1", "multi_bb_bte", "multi_bb_bte2", "multi_bb_no_bte"] {
        let path = format!("{}/tests/swift/{file}.ir", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = parse_module(&text).unwrap().module;
        for function in parsed.functions() {
            let mut module = to_bbcode(&parsed).unwrap();
            let options = Options { carrier: Carrier::LinearMaps, ..Options::default() };
            let Ok(derivative) = derive(&mut module, &function.name, &options) else { continue };
            specialized(&mut module, &derivative.names);
            let Some(closed) = module.function(&derivative.names.value_and_gradient) else { continue };
            let left: Vec<&str> = ["partial_apply", "new_case", "new_stack"]
                .into_iter()
                .filter(|what| closed.body.to_string().contains(what))
                .collect();
            clean += usize::from(left.is_empty());
            if !left.is_empty() {
                found.push((file, function.name.to_string(), left.join(", ")));
            }
        }
    }
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(a, b, c)| (*a, b.as_str(), c.as_str())).collect();
    assert_eq!(found, LEFT);
    assert!(clean > 10, "{clean}");
}

#[test]
fn a_queue_takes_memory_for_what_is_in_it() {
    let text = "
function f(queue::Vector{Float64}, n::Int64)::Float64
1 ─      nothing
2 ┄ %2 = φ (#1 => 0, #3 => %7)::Int64
│   %3 = Base.slt_int(%2, n)::Bool
└──      goto #4 if not %3
3 ─      Base.push!(queue, 2.5)::Vector{Float64}
│        $(Expr(:foreigncall, :(:jl_array_del_beg), Nothing, svec(Any, UInt64), 0, :(:ccall), :(queue), 0x0000000000000001))::Nothing
│   %7 = Base.add_int(%2, 1)::Int64
└──      goto #2
4 ─ %9 = Base.arrayref(true, queue, 1)::Float64
└──      return %9
end
";
    let module = parse_module(text).unwrap().module;
    let mut machine = Machine::with_limits(&module, Limits { memory: 1 << 12, ..Limits::default() });
    let queue = machine.array(Type::FLOAT64, vec![1], vec![Value::from(0.5)]).unwrap();
    assert_eq!(machine.call("f", &[queue, Value::from(10_000_i64)]).unwrap().as_float(), Some(2.5));
}
