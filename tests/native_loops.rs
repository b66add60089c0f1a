//! Loops that native code does several rounds of at once, against the interpreter: on random bodies in which rounds meet in memory in all ways.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::{Type, parse_module};
use kit::native::{Verdict, native_agrees};
use kit::seeds::for_each;
use kit::straight::{StraightLoop, straight_loop};

/// Runs a loop on both engines.
fn agrees(made: &StraightLoop) -> Result<(), String> {
    let module = parse_module(&made.text).map_err(|error| format!("{error}\n{}", made.text))?.module;
    for function in module.functions() {
        function.body.verify().map_err(|violations| format!("{violations}\n{}", made.text))?;
    }
    let args = || {
        let machine = Machine::new(&module);
        let vector = |by: f64| {
            let numbers = (0..made.length).map(|n| Value::from(0.25 + by * n as f64 - 1.0 / (n + 1) as f64));
            machine.array(Type::FLOAT64, vec![made.length], numbers.collect()).unwrap()
        };
        let x = vector(0.5);
        let y = if made.alias { x.clone() } else { vector(-0.375) };
        vec![x, y, Value::from(made.rounds), Value::from(-1.25)]
    };
    match native_agrees(&module, "f", &args, Limits::default(), &|_| ()) {
        Ok(Verdict::Same) => Ok(()),
        Ok(verdict) => Err(format!("{verdict:?}\n{}", made.text)),
        Err(broken) => Err(format!("{broken}\n{}", made.text)),
    }
}

#[test]
fn several_rounds_at_once_are_the_same_as_one_after_the_other() {
    for_each(1500, straight_loop, agrees).unwrap_or_else(|error| panic!("{error}"));
}
