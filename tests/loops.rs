//! What loops save for the way back, on the functions of `grad/loops.ir`: nothing, where a counter says all that there
//! is to know.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use bbkit::exec::{Limits, Value};
use bbkit::{GradientOptions, Input, Savings};

/// How many values the gradient of a function of this file saves, at x = 2 and these integers.
fn saved(file: &str, name: &str, integers: &[i64], savings: Savings) -> u64 {
    let path = format!("{}/tests/grad/{file}.ir", env!("CARGO_MANIFEST_DIR"));
    let module = Input::read(&path).unwrap().module;
    let args: Vec<Value> =
        std::iter::once(Value::from(2.0)).chain(integers.iter().map(|&integer| Value::from(integer))).collect();
    let options = GradientOptions::new().savings(savings).limits(Limits::default());
    bbkit::gradient_statistics(&module, name, &args, &options).unwrap().gradient.saved
}

/// The functions that add up a counter times x, with integers for few and for many rounds.
const COUNTED: &[(&str, &[i64], &[i64])] = &[
    ("equal_at_the_bottom", &[5], &[50]),
    ("below", &[5], &[50]),
    ("at_most", &[1, 5], &[1, 50]),
    ("above", &[5, 0], &[50, 0]),
    ("at_least", &[5, 0], &[50, 0]),
    ("until_above", &[5], &[50]),
    ("until_at_most", &[5, 0], &[50, 0]),
    ("until_equal", &[15], &[150]),
    ("by_threes", &[15], &[150]),
    ("after_the_step", &[5], &[50]),
    ("two_exits", &[5, 60], &[50, 60]),
    ("two_latches", &[5], &[50]),
    ("both_ends", &[10], &[100]),
    ("unsigned_bound", &[5], &[50]),
];

#[test]
fn what_a_counted_loop_saves_does_not_grow_with_its_rounds() {
    for (name, few, many) in COUNTED {
        let counts = [few, many].map(|integers| saved("loops", name, integers, Savings::default()));
        assert_eq!(counts[0], counts[1], "{name}");
    }
}

/// Without any of the techniques something is saved on each round: the test above can fail.
#[test]
fn without_techniques_it_grows() {
    for (name, few, many) in COUNTED {
        let counts = [few, many].map(|integers| saved("loops", name, integers, Savings::none()));
        assert!(counts[0] < counts[1], "{name}: {counts:?}");
    }
}

/// A counter that runs on through an outer loop is saved once, at the end, and so is nothing of the inner loop.
#[test]
fn a_counter_that_runs_on_through_a_nest_is_saved_once() {
    let counts = [4, 40].map(|n| saved("loops", "running_on", &[n], Savings::default()));
    assert_eq!(counts[0], counts[1]);
    let without = Savings::default().without("induction-variables").unwrap();
    let counts = [4, 40].map(|n| saved("loops", "running_on", &[n], without));
    assert!(counts[0] < counts[1]);
}

/// Control may come around by either of two ways, neither of which has done anything: only how often is saved.
#[test]
fn ways_that_do_nothing_are_not_told_apart() {
    let counts = [2, 6].map(|n| saved("loops", "until_far", &[n], Savings::default()));
    // y before the product, once a round.
    assert_eq!(counts[1] - counts[0], 4, "{counts:?}");
}

/// Where the step differs from round to round, one choice a round and the counter are saved.
#[test]
fn steps_that_differ_save_one_choice_a_round() {
    let counts = [10, 1000].map(|n| saved("loops", "uneven_steps", &[n], Savings::default()));
    let rounds = |n: i64| {
        let (mut rounds, mut i) = (0, 0);
        while i < n {
            rounds += 1;
            i += if i % 2 == 0 && i > 3 { 2 } else { 1 };
        }
        rounds
    };
    assert!(counts[1] - counts[0] <= 2 * (rounds(1000) - rounds(10)), "{counts:?}");
}
