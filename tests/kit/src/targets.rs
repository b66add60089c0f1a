//! What the fuzz targets check, one file a target: each a function of bytes. They run briefly under `cargo test` too,
//! on the kept corpus of `fuzz/corpus` first.

mod carriers;
mod checkpoints;
mod compaction;
mod compiled;
mod determinism;
mod gradient;
mod independent_rounds;
mod linearization;
mod meaning;
mod memory_gradient;
mod mutation;
mod native;
mod one_block;
mod read_json;
mod read_text;
mod safety;
mod savings;
mod surgery;
mod there_and_back;
mod unroll_and_jam;

pub use compiled::compiled_agrees;

use arbitrary::{Result, Unstructured};
use exec::Limits;
use passes::{PASSES, Pass};

use crate::laws::Checked;

/// A fuzz target: its name, which is that of its file here and in `fuzz/fuzz_targets`, and its check.
pub type Target = (&'static str, fn(&[u8]) -> Checked);

/// All fuzz targets. A new one is a file here with a function `check` and a line in this list; a file in
/// `fuzz/fuzz_targets` and a `[[bin]]` in `fuzz/Cargo.toml`; a test in `tests/fuzz_targets.rs`; and a folder in
/// `fuzz/corpus` with some inputs, which `scripts/fuzz keep` chooses.
pub const TARGETS: &[Target] = &[
    ("there_and_back", there_and_back::check),
    ("safety", safety::check),
    ("mutation", mutation::check),
    ("compaction", compaction::check),
    ("surgery", surgery::check),
    ("meaning", meaning::check),
    ("gradient", gradient::check),
    ("memory_gradient", memory_gradient::check),
    ("carriers", carriers::check),
    ("savings", savings::check),
    ("checkpoints", checkpoints::check),
    ("linearization", linearization::check),
    ("native", native::check),
    ("compiled", compiled::check),
    ("unroll_and_jam", unroll_and_jam::check),
    ("independent_rounds", independent_rounds::check),
    ("one_block", one_block::check),
    ("determinism", determinism::check),
    ("read_text", read_text::check),
    ("read_json", read_json::check),
];

/// What a program may use in one run.
const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

/// Passes in any order, some of them several times.
fn pipeline(u: &mut Unstructured<'_>) -> Result<Vec<&'static Pass>> {
    (0..u.int_in_range(0..=6)?).map(|_| u.choose(PASSES)).collect()
}

/// The command lines of a file test for law 5.
fn safety_commands(pipeline: &[&'static Pass]) -> Vec<String> {
    let mut commands = vec!["verify -".to_string(), "roundtrip -".into(), "run - ARGS".into()];
    if !pipeline.is_empty() {
        let names: Vec<&str> = pipeline.iter().map(|pass| pass.name).collect();
        commands.push(format!("opt - --passes {} --verify-each", names.join(",")));
    }
    commands
}

/// Checks the target of this name.
///
/// # Panics
///
/// With what was found if a law does not hold, as a fuzzer wants it, and if there is no such target.
#[allow(clippy::panic, reason = "a fuzzer sees panics only")]
pub fn fuzz(name: &str, data: &[u8]) {
    let check = TARGETS.iter().find(|(target, _)| *target == name).map(|(_, check)| check);
    match check.map(|check| check(data)) {
        Some(Ok(())) => {}
        Some(Err(broken)) => panic!("{broken}"),
        None => panic!("there is no target {name}"),
    }
}
