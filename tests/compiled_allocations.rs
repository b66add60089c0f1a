//! Compiled functions and derivatives ask the system for no memory once they have been called.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;

use allocation_counter::measure;
use bbkit::Differentiate;
use bbkit::compiled::CallError;
use bbkit::ircode::{IRCode, Module, from_json, parse_module};
use kit::kernels::{Inputs, KERNELS, inputs};

/// Fails unless the third call and the fourth one allocate nothing. The second one may: it makes one chunk of those of
/// the first.
fn settled<T>(what: &str, mut call: impl FnMut() -> Result<T, CallError>) {
    let mut one = || measure(|| drop(call().unwrap_or_else(|error| panic!("{what}: {error}")))).count_total;
    let counts = [one(), one(), one(), one()];
    // What the first call works with is made for it: so it is seen that allocations are counted.
    assert!(counts[0] > 0, "{what}: {counts:?}");
    assert_eq!(counts[2..], [0, 0], "{what}: {counts:?}");
}

#[test]
fn derivatives_of_the_kernels_allocate_only_at_first() {
    for kernel in &KERNELS {
        let n = if kernel.name == "gmm" { 4 } else { 12 };
        let Inputs { x, c } = inputs(kernel, n);
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels"));
        let text = fs::read_to_string(folder.join(format!("{}.json", kernel.name))).unwrap();
        let module: Module<IRCode> = from_json(&text).unwrap();
        let (name, n) = (module.functions()[0].name.to_string(), n as i64);
        let (mut dx, mut product) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let what = |mode: &str| format!("{} of {}", mode, kernel.name);
        let primal = module.primal(&name).compile().unwrap();
        settled(&what("value"), || primal.call((&x, &c, n)));
        let gradient = module.gradient(&name).wrt([0]).compile().unwrap();
        settled(&what("gradient"), || gradient.call((&x, &c, n), &mut dx));
        let vjp = module.vjp(&name).wrt([0]).compile().unwrap();
        settled(&what("vjp"), || vjp.call((&x, &c, n))?.call(&[1.0], &mut dx));
        let jvp = module.jvp(&name).wrt([0]).compile().unwrap();
        settled(&what("jvp"), || jvp.call((&x, &c, n), &x));
        let hvp = module.hvp(&name).wrt([0]).compile().unwrap();
        settled(&what("hvp"), || hvp.call((&x, &c, n), &x, &mut dx, &mut product));
    }
}

/// A loop over a loop, whose number of rounds the pullback has to know; a vector of Float32; a sum of eight vectors; an
/// index that may be out of bounds, in the care of a handler.
const FUNCTIONS: &str = "
function powers(v::Vector{Float64}, n::Int64)::Float64
1 ─ %1  = Base.arraylen(v)::Int64
2 ┄ %2  = φ (#1 => 1, #6 => %15)::Int64
│   %3  = φ (#1 => 0.0, #6 => %14)::Float64
│   %4  = Base.sle_int(%2, %1)::Bool
└──       goto #7 if not %4
3 ─ %6  = Base.arrayref(true, v, %2)::Float64
4 ┄ %7  = φ (#3 => 0, #5 => %12)::Int64
│   %8  = φ (#3 => %6, #5 => %11)::Float64
│   %9  = Base.slt_int(%7, n)::Bool
└──       goto #6 if not %9
5 ─ %11 = Base.mul_float(%8, %8)::Float64
│   %12 = Base.add_int(%7, 1)::Int64
└──       goto #4
6 ─ %14 = Base.add_float(%3, %8)::Float64
│   %15 = Base.add_int(%2, 1)::Int64
└──       goto #2
7 ─       return %3
end
function squares(v::Vector{Float32})::Float32
1 ─ %1 = Base.arrayref(true, v, 1)::Float32
│   %2 = Base.arrayref(true, v, 3)::Float32
│   %3 = Base.mul_float(%1, %2)::Float32
│   %4 = Base.sin(%3)::Float32
└──      return %4
end
function eight(a::Vector{Float64}, b::Vector{Float64}, c::Vector{Float64}, d::Vector{Float64}, e::Vector{Float64}, f::Vector{Float64}, g::Vector{Float64}, h::Vector{Float64})::Float64
1 ─ %1  = Base.arrayref(true, a, 1)::Float64
│   %2  = Base.arrayref(true, b, 1)::Float64
│   %3  = Base.arrayref(true, c, 1)::Float64
│   %4  = Base.arrayref(true, d, 1)::Float64
│   %5  = Base.arrayref(true, e, 1)::Float64
│   %6  = Base.arrayref(true, f, 1)::Float64
│   %7  = Base.arrayref(true, g, 1)::Float64
│   %8  = Base.arrayref(true, h, 1)::Float64
│   %9  = Base.mul_float(%1, %2)::Float64
│   %10 = Base.mul_float(%3, %4)::Float64
│   %11 = Base.mul_float(%5, %6)::Float64
│   %12 = Base.mul_float(%7, %8)::Float64
│   %13 = Base.mul_float(%9, %10)::Float64
│   %14 = Base.mul_float(%11, %12)::Float64
│   %15 = Base.mul_float(%13, %14)::Float64
└──       return %15
end
function caught(v::Vector{Float64}, at::Int64)::Float64
1 ─ %1 = enter #4
2 ─ %2 = Base.arrayref(true, v, at)::Float64
│   %3 = Base.mul_float(%2, %2)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      goto #5
4 ┄      $(Expr(:leave, :(%1)))
5 ┄ %7 = φ (#3 => %3, #4 => 7.0)::Float64
└──      return %7
end
";

#[test]
fn derivatives_of_loops_and_of_many_vectors_allocate_only_at_first() {
    let module = parse_module(FUNCTIONS).unwrap().module;
    let v = [0.3, 0.6, 0.9];
    let (mut dv, mut product) = ([0.0; 3], [0.0; 3]);
    let gradient = module.gradient("powers").compile().unwrap();
    settled("gradient of powers", || gradient.call((&v, 4), &mut dv));
    let vjp = module.vjp("powers").compile().unwrap();
    settled("vjp of powers", || vjp.call((&v, 4))?.call(&[1.0], &mut dv));
    let hvp = module.hvp("powers").compile().unwrap();
    settled("hvp of powers", || hvp.call((&v, 4), &v, &mut dv, &mut product));
    let checkpointed = module.gradient("powers").checkpoint(true).compile().unwrap();
    settled("checkpointed gradient of powers", || checkpointed.call((&v, 100), &mut dv));

    let one = [2.0];
    let (mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h) =
        ([0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0]);
    let args = || (&one, &one, &one, &one, &one, &one, &one, &one);
    let gradient = module.gradient("eight").compile().unwrap();
    settled("gradient of eight", || {
        gradient.call(args(), (&mut a, &mut b, &mut c, &mut d, &mut e, &mut f, &mut g, &mut h))
    });
    let jvp = module.jvp("eight").compile().unwrap();
    settled("jvp of eight", || jvp.call(args(), args()));

    let singles = [0.3_f32, 0.6, 0.9];
    let mut of_singles = [0.0_f32; 3];
    let gradient = module.gradient("squares").compile().unwrap();
    settled("gradient of squares", || gradient.call(&singles, &mut of_singles));
    let vjp = module.vjp("squares").compile().unwrap();
    settled("vjp of squares", || vjp.call(&singles)?.call(&[1.0], &mut of_singles));

    let gradient = module.gradient("caught").compile().unwrap();
    settled("gradient of caught, in bounds", || gradient.call((&v, 3), &mut dv));
}
