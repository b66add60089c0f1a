//! What is compiled of functions of `Float32`: on slices of `f32`, with the derivatives of closed forms and of the
//! interpreter.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::compiled::{Argument, CompileError};
use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::{IRCode, Module, Scalar, Type, parse_module};
use bbkit::{Differentiate, gradient};

fn module_of(text: &str) -> Module<IRCode> {
    parse_module(text).unwrap().module
}

/// The sum of cubes, scaled; what depends on both types of floats; a matrix; a vector that is changed and given back.
const FUNCTIONS: &str = "
function cubes(v::Vector{Float32}, by::Float32)::Float32
1 ─ %1  = Base.arraylen(v)::Int64
2 ┄ %2  = φ (#1 => 1, #3 => %10)::Int64
│   %3  = φ (#1 => 0.0f0, #3 => %9)::Float32
│   %4  = Base.sle_int(%2, %1)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, v, %2)::Float32
│   %7  = Base.mul_float(%6, %6)::Float32
│   %8  = Base.mul_float(%7, %6)::Float32
│   %9  = Base.add_float(%3, %8)::Float32
│   %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─ %12 = Base.mul_float(%3, by)::Float32
└──       return %12
end
function mixed(x::Float64, y::Float32)::Float64
1 ─ %1 = Base.fpext(Float64, y)::Float64
│   %2 = Base.mul_float(x, %1)::Float64
└──      return %2
end
function corner(m::Matrix{Float32})::Float32
1 ─ %1 = Base.arrayref(true, m, 1, 2)::Float32
│   %2 = Base.mul_float(%1, %1)::Float32
└──      return %2
end
function times_second(v::Vector{Float32})::Vector{Float32}
1 ─ %1 = Base.arrayref(true, v, 1)::Float32
│   %2 = Base.arrayref(true, v, 2)::Float32
│   %3 = Base.mul_float(%1, %2)::Float32
│        Base.arrayset(true, v, %3, 1)::Vector{Float32}
└──      return v
end
function waves(v::Vector{Float32})::Float32
1 ─ %1  = Base.arraylen(v)::Int64
2 ┄ %2  = φ (#1 => 1, #3 => %10)::Int64
│   %3  = φ (#1 => 1.0f0, #3 => %9)::Float32
│   %4  = Base.sle_int(%2, %1)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, v, %2)::Float32
│   %7  = Base.mul_float(%6, %3)::Float32
│   %8  = Base.sin(%7)::Float32
│   %9  = Base.sub_float(%8, %6)::Float32
│   %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─       return %3
end
";

const V: [f32; 3] = [0.5, 1.5, -2.0];

#[test]
fn gradients_and_products_are_those_of_closed_forms() {
    // All of these are numbers of few bits, which arithmetic on Float32 does not round.
    let module = module_of(FUNCTIONS);
    let gradient = module.gradient("cubes").compile().unwrap();
    let (mut dv, mut dby) = ([9.0_f32; 3], 9.0_f32);
    assert_eq!(gradient.call((&V, 2.0_f32), (&mut dv, &mut dby)).unwrap(), -9.0);
    assert_eq!((dv, dby), ([1.5, 13.5, 24.0], -4.5));
    let jvp = module.jvp("cubes").compile().unwrap();
    let direction = ([1.0_f32, 0.0, 2.0], 0.5_f32);
    assert_eq!(jvp.call((&V, 2.0_f32), (&direction.0, direction.1)).unwrap(), (-9.0, 47.25));
    let hvp = module.hvp("cubes").compile().unwrap();
    let (mut product_v, mut product_by) = ([0.0_f32; 3], 0.0_f32);
    let places = (&mut product_v, &mut product_by);
    let value = hvp.call((&V, 2.0_f32), (&direction.0, direction.1), (&mut dv, &mut dby), places).unwrap();
    assert_eq!((value, dv, dby), (-9.0, [1.5, 13.5, 24.0], -4.5));
    assert_eq!((product_v, product_by), ([6.375, 3.375, -42.0], 24.75));
    let vjp = module.vjp("cubes").compile().unwrap();
    let mut pullback = vjp.call((&V, 2.0_f32)).unwrap();
    assert_eq!(pullback.value(), [-9.0]);
    for seed in [1.0, -2.0] {
        pullback.call(&[seed], (&mut dv, &mut dby)).unwrap();
        let scaled = |d: f32| d * seed as f32;
        assert_eq!((dv, dby), ([1.5, 13.5, 24.0].map(scaled), scaled(-4.5)));
    }
}

#[test]
fn both_types_of_floats_and_matrices_have_gradients() {
    let module = module_of(FUNCTIONS);
    let gradient = module.gradient("mixed").compile().unwrap();
    let (mut dx, mut dy) = (0.0_f64, 0.0_f32);
    assert_eq!(gradient.call((3.0_f64, 0.25_f32), (&mut dx, &mut dy)).unwrap(), 0.75);
    assert_eq!((dx, dy), (0.25, 3.0));
    let gradient = module.gradient("corner").compile().unwrap();
    let m = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut dm = [7.0_f32; 6];
    assert_eq!(gradient.call(Argument::Array32(&m, &[2, 3]), &mut dm).unwrap(), 9.0);
    assert_eq!(dm, [0.0, 0.0, 6.0, 0.0, 0.0, 0.0]);
}

#[test]
fn vectors_are_changed_where_they_lie_and_taken_back() {
    let module = module_of(FUNCTIONS);
    let function = module.primal("times_second").compile().unwrap();
    let mut v = [3.0_f32, 5.0];
    assert_eq!(function.call_array(&mut v).unwrap(), [15.0, 5.0]);
    assert_eq!(v, [15.0, 5.0]);
    // A slice that is not to be changed is copied.
    assert_eq!(function.call_array(&v).unwrap(), [75.0, 5.0]);
    assert_eq!(v, [15.0, 5.0]);
    let vjp = module.vjp("times_second").compile().unwrap();
    let mut pullback = vjp.call(&[3.0_f32, 5.0]).unwrap();
    assert_eq!(pullback.value(), [15.0, 5.0]);
    let mut dv = [0.0_f32; 2];
    pullback.call(&[1.0, 10.0], &mut dv).unwrap();
    assert_eq!(dv, [5.0, 13.0]);
    assert_eq!(pullback.value(), [15.0, 5.0]);
}

#[test]
fn the_interpreter_gives_the_same_to_the_last_bit() {
    let module = module_of(FUNCTIONS);
    let compiled = module.gradient("waves").compile().unwrap();
    for length in [0, 1, 2, 7, 64] {
        let v: Vec<f32> = (0..length).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
        let mut dv = vec![f32::NAN; v.len()];
        let value = compiled.call(&v, &mut dv).unwrap();
        let machine = Machine::new(&module);
        let elements = v.iter().map(|&x| Value::from(Scalar::Float32(x))).collect();
        let argument = machine.array(Type::parse("Float32"), vec![v.len()], elements).unwrap();
        let run = gradient(&module, "waves", &[argument], Limits::default()).unwrap();
        assert_eq!(run.value.as_float(), Some(value), "{length}");
        let partials = run.gradient.first().and_then(Value::array_elements).unwrap();
        let partials: Vec<f64> = partials.iter().map(|x| x.as_float().unwrap()).collect();
        assert_eq!(partials, dv.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), "{length}");
    }
}

#[test]
fn floats_of_another_type_are_refused() {
    let module = module_of(FUNCTIONS);
    let gradient = module.gradient("cubes").compile().unwrap();
    let (mut dv, mut dby) = ([0.0_f32; 3], 0.0_f32);
    let (mut wide_dv, mut wide_dby) = ([0.0_f64; 3], 0.0_f64);
    let told = |result: Result<f64, bbkit::compiled::CallError>| result.unwrap_err().to_string();
    assert_eq!(
        told(gradient.call((&[0.5_f64, 1.5, -2.0], 2.0_f32), (&mut dv, &mut dby))),
        "argument 0 (`v`) must be of type Vector{Float32}, but is a Vector{Float64}"
    );
    assert_eq!(
        told(gradient.call((&V, 2.0_f64), (&mut dv, &mut dby))),
        "argument 1 (`by`) must be of type Float32, but is a Float64"
    );
    assert_eq!(
        told(gradient.call((&V, 2.0_f32), (&mut wide_dv, &mut dby))),
        "what is written to for argument 0 (`v`) must be of type Float32, but is of type Float64"
    );
    assert_eq!(
        told(gradient.call((&V, 2.0_f32), (&mut dv, &mut wide_dby))),
        "what is written to for argument 1 (`by`) must be of type Float32, but is of type Float64"
    );
    let jvp = module.jvp("cubes").wrt([0]).compile().unwrap();
    assert_eq!(
        jvp.call((&V, 2.0_f32), &[1.0_f64, 0.0, 0.0]).unwrap_err().to_string(),
        "the tangent of argument 0 (`v`) must be of elements of type Float32, but is a Vector{Float64}"
    );
    // Fields of Float32 are not passed in slices.
    let pair = module_of(
        "function f(p::Tuple{Float32, Float32})::Float32\n1 ─ %1 = Base.getfield(p, 1)::Float32\n└──      return %1\nend\n",
    );
    let error = pair.gradient("f").wrt([0]).compile().unwrap_err();
    assert!(matches!(error, CompileError::Argument { number: 0, .. }), "{error}");
}
