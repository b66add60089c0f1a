//! Derivatives of functions that are given one vector as several arguments, and store through one what they read
//! through another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::{IRCode, Module, Style, Type, parse_module, print_module};
use bbkit::passes::reverse_mode::{Options, derive};
use bbkit::{CheckOptions, check_derived, hvp, jvp, linearize, vjp};
use kit::in_place::{InPlace, in_place};
use kit::seeds::for_each;

/// What is wrong with the derivative of a module if it is taken for that of the functions of another one.
fn wrong(of: &Module<IRCode>, taken_for: &Module<IRCode>, made: &InPlace) -> Option<String> {
    let mut derived = bbkit::to_bbcode(of).unwrap();
    let names = derive(&mut derived, &"f".into(), &Options { vjp: true, ..Options::default() }).unwrap().names;
    let mut derived = bbkit::to_ircode(&derived).unwrap();
    for function in taken_for.functions() {
        derived.replace_function(function.clone());
    }
    let report = check_derived(&derived, "f", &names, &made.args(), &CheckOptions::default()).unwrap();
    (!report.is_right()).then(|| report.to_string())
}

#[test]
fn gradients_are_right_where_arguments_are_one_vector() {
    let (all, found) = (Cell::new(0), Cell::new(0));
    let check = |made: &InPlace| -> Result<(), String> {
        all.set(all.get() + 1);
        // The planted bug: a derivative that counts on vectors that are apart.
        found.set(found.get() + usize::from(wrong(&made.apart, &made.shared, made).is_some()));
        match wrong(&made.shared, &made.shared, made).or_else(|| wrong(&made.apart, &made.apart, made)) {
            Some(report) => Err(format!("{}\n{report}", print_module(&made.shared, Style::Bbkit))),
            None => Ok(()),
        }
    };
    for_each(300, in_place, check).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.get(), 300, "some functions were not made");
    assert!(found.get() > 100, "the planted bug was found {} times only", found.get());
}

/// The square of the first element is stored there, and multiplied with the second one squared: x² y².
const IN_PLACE: &str = "
function in_place(a::Vector{Float64})::Float64
1 ─ %1 = Base.arrayref(true, a, 1)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
│        Base.arrayset(true, a, %2, 1)::Vector{Float64}
│   %4 = Base.arrayref(true, a, 2)::Float64
│   %5 = Base.arrayref(true, a, 1)::Float64
│   %6 = Base.mul_float(%4, %5)::Float64
│   %7 = Base.mul_float(%6, %4)::Float64
└──      return %7
end
function squared(a::Vector{Float64})::Vector{Float64}
1 ─ %1 = Base.arrayref(true, a, 1)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
│        Base.arrayset(true, a, %2, 1)::Vector{Float64}
└──      return a
end
function of_two(a::Vector{Float64}, b::Vector{Float64})::Float64
1 ─ %1 = Base.arrayref(true, a, 1)::Float64
│   %2 = Base.arrayref(true, b, 1)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
└──      return %3
end
";

fn vector(machine: &Machine<'_>, floats: &[f64]) -> Value {
    let values = floats.iter().map(|&float| Value::from(float)).collect();
    machine.array(Type::FLOAT64, vec![floats.len()], values).unwrap()
}

fn one(value: &Value) -> &[Value] {
    std::slice::from_ref(value)
}

#[test]
fn a_direction_may_be_the_argument_itself() {
    let module = parse_module(IN_PLACE).unwrap().module;
    let machine = Machine::new(&module);
    let at = || vector(&machine, &[1.5, 2.0]);
    // d(x² y²) = 2x y² dx + 2x² y dy.
    let a = at();
    let pushed = jvp(&module, "in_place", one(&a), &[vec![a.clone()]], Limits::default()).unwrap();
    assert_eq!(pushed.tangents[0].as_float(), Some(36.0));
    // The Hessian is (2y², 4xy; 4xy, 2x²).
    let a = at();
    let product = hvp(&module, "in_place", one(&a), one(&a), Limits::default()).unwrap().product;
    assert_eq!(product[0].to_string(), "[36.0, 27.0]");
    let a = at();
    let linear = linearize(&module, "in_place", one(&a), Limits::default()).unwrap();
    let direction = at();
    for _ in 0..2 {
        assert_eq!(linear.apply(one(&direction), Limits::default()).unwrap().as_float(), Some(36.0));
    }
    let a = at();
    let pulled = vjp(&module, "squared", one(&a), &a, Limits::default()).unwrap();
    assert_eq!(pulled.gradient[0].to_string(), "[4.5, 2.0]");
}

#[test]
fn objects_have_a_tangent_each() {
    let module = parse_module(IN_PLACE).unwrap().module;
    let machine = Machine::new(&module);
    let new = |float: f64| vector(&machine, &[float]);
    let tangent = |args: &[Value], direction: Vec<Value>| {
        jvp(&module, "of_two", args, &[direction], Limits::default())
            .map(|result| result.tangents[0].as_float().unwrap())
    };
    let (a, b) = (new(3.0), new(4.0));
    assert_eq!(tangent(&[a.clone(), b.clone()], vec![new(1.0), new(0.5)]).unwrap(), 5.5);
    // d(x²) = 2x dx.
    let one = new(0.5);
    assert_eq!(tangent(&[a.clone(), a.clone()], vec![one.clone(), one.clone()]).unwrap(), 3.0);
    for (args, direction) in [([a.clone(), a.clone()], vec![new(1.0), new(0.5)]), ([a, b], vec![one.clone(), one])] {
        let error = tangent(&args, direction).unwrap_err().to_string();
        assert!(error.contains("two tangents"), "{error}");
    }
}
