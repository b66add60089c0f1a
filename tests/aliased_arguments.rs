//! Derivatives of functions that are given one vector as several arguments, and store through one what they read through another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::ircode::{IRCode, Module, Style, print_module};
use bbkit::passes::reverse_mode::{Options, derive};
use bbkit::{CheckOptions, check_derived};
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
