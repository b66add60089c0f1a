//! A function built from Rust, differentiated, run, and its pullback printed. `cargo run --example
//! build_and_differentiate`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use bbkit::exec::{Limits, Value};
use bbkit::ircode::{IRCode, Module, Style, Type, print_function};
use bbkit::passes::FunctionBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    // Newton's iteration for the square root of x, five times.
    let mut f = FunctionBuilder::new("newton_sqrt", Type::FLOAT64);
    let x = f.parameter("x", Type::FLOAT64);
    let (guess, count) = (f.variable("guess", Type::FLOAT64), f.variable("count", Type::INT64));
    let (head, body, exit) = (f.block(), f.block(), f.block());
    f.set(guess, x.clone());
    f.set(count, 0);
    f.goto(head);

    f.switch_to(head);
    let n = f.get(count);
    let more = f.call("Base.slt_int", [n.clone(), 5.into()], Type::BOOL);
    f.branch(more, body, exit);

    f.switch_to(body);
    let old = f.get(guess);
    let quotient = f.call("Base.div_float", [x, old.clone()], Type::FLOAT64);
    let sum = f.call("Base.add_float", [old, quotient], Type::FLOAT64);
    let new = f.call("Base.mul_float", [sum, 0.5.into()], Type::FLOAT64);
    f.set(guess, new);
    let next = f.call("Base.add_int", [n, 1.into()], Type::INT64);
    f.set(count, next);
    f.goto(head);

    f.switch_to(exit);
    let result = f.get(guess);
    f.ret(result);

    let function = f.finish()?.map(|body| IRCode::try_from(body))?;
    let mut module = Module::new();
    module.add_function(function)?;
    let result = bbkit::gradient(&module, "newton_sqrt", &[Value::from(2.0)], Limits::default())?;
    if let Some(pullback) = result.module.function(&result.names.pullback) {
        println!("{}", print_function(pullback, Style::Julia));
    }
    println!("√2 ≈ {}, its derivative {}", result.value, result.gradient[0]);

    let exact = 0.5 / 2f64.sqrt();
    assert!(result.gradient[0].as_float().is_some_and(|gradient| (gradient - exact).abs() < 1e-12));
    Ok(())
}

#[test]
fn the_derivative_is_that_of_the_root() -> Result<(), Box<dyn Error>> {
    main()
}
