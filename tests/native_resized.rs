//! Arrays that become longer while native code runs, beside arrays that do not: what the code takes for granted of
//! those of one type holds only if no array of it is resized.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::Type;
use bbkit::{Engine, RunOptions};
use kit::native::{Verdict, native_agrees, vector, verified};

fn verdict(text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>) -> Verdict {
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    let given = || args(&Machine::new(&module));
    native_agrees(&module, "f", &given, Limits::default(), &|_| ()).unwrap_or_else(|broken| panic!("{broken}\n{text}"))
}

/// Looks at a vector as a matrix, lets another one, of this type, grow, changes the matrix and reads the vector.
fn reshaping(grown: &str, element: &str) -> String {
    format!(
        "
function f(v::Vector{{Float64}}, other::{grown})::Tuple{{Float64, Int64}}
1 ─ %1 = Core.tuple(2, 2)::Tuple{{Int64, Int64}}
│   %2 = $(Expr(:foreigncall, :(:jl_reshape_array), Matrix{{Float64}}, svec(Any, Any, Any), 0, :(:ccall), Matrix{{Float64}}, :(_2), :(%1)))::Matrix{{Float64}}
│        Base.push!(other, {element})::{grown}
│        Base.arrayset(true, %2, 5.0, 2, 1)::Matrix{{Float64}}
│   %5 = Base.arrayref(true, v, 2)::Float64
│   %6 = Base.arraylen(other)::Int64
│   %7 = Core.tuple(%5, %6)::Tuple{{Float64, Int64}}
└──      return %7
end
"
    )
}

#[test]
fn an_array_is_reshaped_where_only_others_grow() {
    let args = |machine: &Machine<'_>| {
        let words = machine.array(Type::INT64, vec![1], vec![Value::from(1_i64)]).unwrap();
        vec![vector(machine, &[1.0, 2.0, 3.0, 4.0]), words]
    };
    assert_eq!(verdict(&reshaping("Vector{Int64}", "7"), &args), Verdict::Same);
    let args = |machine: &Machine<'_>| vec![vector(machine, &[1.0, 2.0, 3.0, 4.0]), vector(machine, &[1.0])];
    let refused = verdict(&reshaping("Vector{Float64}", "7.0"), &args);
    assert!(matches!(&refused, Verdict::Refused(what) if what.contains("jl_reshape_array")), "{refused:?}");
}

/// Reads `v` in a loop that goes on as long as it has elements, and lets it grow by a call on each until it is long
/// enough.
fn reading(parameter: &str) -> String {
    format!(
        "
function grow(v::{parameter}, x::Float64)::Nothing
1 ─      Base.push!(v, x)::Vector{{Float64}}
└──      return nothing
end
function f(v::Vector{{Float64}}, m::Matrix{{Float64}}, most::Int64)::Float64
1 ─      nothing
2 ┄ %2  = φ (#1 => 1, #6 => %15)::Int64
│   %3  = φ (#1 => 0.0, #6 => %14)::Float64
│   %4  = Base.arraylen(v)::Int64
│   %5  = Base.sle_int(%2, %4)::Bool
└──       goto #7 if not %5
3 ─ %7  = Base.slt_int(%4, most)::Bool
└──       goto #5 if not %7
4 ─       invoke Main.grow(v::{parameter}, %3::Float64)::Nothing
5 ┄       nothing
6 ─ %11 = Base.arrayref(true, v, %2)::Float64
│   %12 = Base.arrayref(true, m, 1, 1)::Float64
│   %13 = Base.mul_float(%11, %12)::Float64
│   %14 = Base.add_float(%3, %13)::Float64
│   %15 = Base.add_int(%2, 1)::Int64
└──       goto #2
7 ─       return %3
end
"
    )
}

#[test]
fn what_grows_by_a_call_is_read_anew() {
    let args = |machine: &Machine<'_>| {
        let matrix = machine.array(Type::FLOAT64, vec![1, 2], [0.5, 2.0].map(Value::from).to_vec()).unwrap();
        vec![vector(machine, &[1.0, 2.0]), matrix, Value::from(300_i64)]
    };
    assert_eq!(verdict(&reading("Vector{Float64}"), &args), Verdict::Same);
    // Of which type it is is not known where it grows: native code may refuse it, and never goes on with an old length.
    verdict(&reading("Any"), &args);
}

/// Says that an array has more elements than there is memory for, as growing does before there is, and reads one.
#[test]
fn an_array_is_never_larger_than_its_memory() {
    let text = |made: &str, dims: &str, indices: &str| {
        format!(
            "
function f(v::Vector{{Vector{{Float64}}}}, w::Vector{{Float64}})::Float64
1 ─      Base.push!(v, w)::Vector{{Vector{{Float64}}}}
│   %2 = BBKit.new_array(Vector{{Float64}}, 1, 1)::Matrix{{Vector{{Float64}}}}
│   %3 = Core.tuple({dims})
│        Base.push!(w, 1.0)::Vector{{Float64}}
│        Base.setfield!({made}, :size, %3)
│        Base.arrayref(true, {made}, {indices})
└──      return 0.0
end
"
        )
    };
    let args = |machine: &Machine<'_>| {
        let of_vectors = machine.array(Type::array(Type::FLOAT64, 1), vec![0], Vec::new()).unwrap();
        vec![of_vectors, vector(machine, &[1.0])]
    };
    for (made, dims, indices) in [("%2", "1000, 1000", "900, 900"), ("w", "1000", "900")] {
        let refused = verdict(&text(made, dims, indices), &args);
        let is_told = matches!(&refused, Verdict::Refused(what) if what.contains("larger than its memory"));
        assert!(is_told, "{made} {dims}: {refused:?}");
    }
    // Another number of dimensions is an error of both.
    assert_eq!(verdict(&text("w", "3, 1", "1"), &args), Verdict::Same);
}

/// Elements that come and go at the start of a vector, in the middle and at the end: as many as there are, none, and
/// more than there are; at places that there are not, which is an error of both.
#[test]
fn vectors_grow_and_shrink_anywhere() {
    let text = |primitive: &str, types: &str, operands: &str| {
        format!(
            "
function f(v::Vector{{Float64}}, at::Int64, count::Int64)::Float64
1 ─      $(Expr(:foreigncall, :(:{primitive}), Nothing, svec(Any, {types}), 0, :(:ccall), :(_2), {operands}))::Nothing
│   %2 = Base.arraylen(v)::Int64
│   %3 = Base.arrayref(true, v, %2)::Float64
│   %4 = Base.arrayref(true, v, 1)::Float64
│        Base.arrayset(true, v, 7.0, %2)::Vector{{Float64}}
│   %6 = Base.sub_float(%3, %4)::Float64
└──      return %6
end
"
        )
    };
    for (primitive, types, operands) in [
        ("jl_array_grow_beg", "UInt64", ":(_4)"),
        ("jl_array_grow_end", "UInt64", ":(_4)"),
        ("jl_array_grow_at", "Int64, UInt64", ":(_3), :(_4)"),
        ("jl_array_del_beg", "UInt64", ":(_4)"),
        ("jl_array_del_end", "UInt64", ":(_4)"),
        ("jl_array_del_at", "Int64, UInt64", ":(_3), :(_4)"),
    ] {
        for (at, count) in (-1..=4_i64).flat_map(|at| (-1..=4_i64).map(move |count| (at, count))) {
            let args = |machine: &Machine<'_>| vec![vector(machine, &[1.0, 2.0, 4.0]), at.into(), count.into()];
            let found = verdict(&text(primitive, types, operands), &args);
            assert_eq!(found, Verdict::Same, "{primitive} {at} {count}");
        }
    }
}

/// A vector that becomes longer at its start or in the middle is not given new memory for each element: that would be
/// 1.6 GB for twenty thousand of them, and there are 4 MB.
#[test]
fn growing_takes_no_new_memory_for_each_element() {
    for (primitive, types, operands) in [
        ("jl_array_grow_beg", "UInt64", "0x0000000000000001"),
        ("jl_array_grow_at", "Int64, UInt64", "0, 0x0000000000000001"),
    ] {
        let text = format!(
            "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = BBKit.new_array(Float64, 0)::Vector{{Float64}}
└──      goto #2
2 ─ %3 = φ (#1 => 1, #3 => %8)::Int64
│   %4 = Base.sle_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─      $(Expr(:foreigncall, :(:{primitive}), Nothing, svec(Any, {types}), 0, :(:ccall), :(%1), {operands}))::Nothing
│        Base.arrayset(true, %1, x, 1)::Vector{{Float64}}
│   %8 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─ %10 = Base.arrayref(true, %1, n)::Float64
└──      return %10
end
"
        );
        let module = verified(&text).unwrap();
        let limits = Limits { memory: 4 << 20, ..Limits::default() };
        let args = [Value::from(1.5), Value::from(20_000_i64)];
        let options = RunOptions::default().engine(Engine::Native).limits(limits);
        let (value, _) =
            bbkit::run(&module, "f", &args, &options).unwrap_or_else(|error| panic!("{primitive}: {error}"));
        assert_eq!(value.as_float(), Some(1.5));
    }
}
