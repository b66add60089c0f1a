//! The second call of native code asks the system for no memory.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use allocation_counter::measure;
use exec::Limits;
use exec::native::{Argument, Program};
use ircode::parse_module;

/// Pushes the numbers on a stack that grows, and takes them off again: as a trace does.
const SUM: &str = "
function f(v::Vector{Float64})::Float64
1 ─ %1  = BBKit.new_stack(Float64)::Stack{Float64}
│   %2  = Base.arraylen(v)::Int64
2 ┄ %3  = φ (#1 => 1, #3 => %8)::Int64
│   %4  = Base.sle_int(%3, %2)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, v, %3)::Float64
│         BBKit.stack_push!(%1, %6)::Nothing
│   %8  = Base.add_int(%3, 1)::Int64
└──       goto #2
4 ─       nothing::Nothing
5 ┄ %11 = φ (#4 => 0.0, #6 => %16)::Float64
│   %12 = BBKit.stack_length(%1)::Int64
│   %13 = Base.slt_int(0, %12)::Bool
└──       goto #7 if not %13
6 ─ %15 = BBKit.stack_pop!(%1)::Float64
│   %16 = Base.add_float(%11, %15)::Float64
└──       goto #5
7 ─       return %11
end
";

#[test]
fn the_second_call_asks_for_no_memory() {
    let module = parse_module(SUM).unwrap().module;
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let numbers: Vec<f64> = (0..100_000).map(f64::from).collect();
    let call = || {
        let mut result = None;
        let asked = measure(|| result = program.call_in_place(0, &mut [Argument::Floats(&numbers)]).unwrap().float(0));
        assert_eq!(result, Some(4_999_950_000.0));
        asked.count_total
    };
    assert!(call() > 0);
    // The chunks of the first call are made one.
    call();
    assert_eq!(call(), 0);
    assert_eq!(call(), 0);
}
