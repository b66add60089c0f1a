//! Loops that native code does several rounds of at once, against the interpreter: on random bodies in which rounds meet in memory in all ways.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::exec::Limits;
use kit::native::{Verdict, native_agrees};
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
