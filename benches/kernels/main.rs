//! The kernels of `tests/kernels`, side by side: our primal and gradient, the fastest primal that rustc or gcc makes, a
//! reverse sweep by hand, and a tape.
//!
//! - `cargo bench --bench kernels` prints the table, and writes it as JSON to `target/bench/kernels.json`;
//! - `cargo bench --bench kernels -- tri` measures the kernels whose names contain that;
//! - `cargo bench --bench kernels -- sums` a sum over 1000 numbers, and a sum of their sines;
//! - `cargo bench --bench kernels -- phases` only the steps from text to gradient, many times, and how soon tiers can
//!   be called; `-- phases tri` of that kernel;
//! - `cargo bench --bench kernels -- latency` straight-line functions of 10³ to 10⁶ statements, and how fast the
//!   interpreter is.
//!
//! Everything runs on one core, if `taskset` is there; contestants take turns, and of each the least time counts. What
//! is measured must first give the value and the gradient of the table.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench says what it measures")]

mod clock;
mod compiled;
mod latency;
mod native;
mod ours;
mod rows;
mod sums;
mod table;
mod tape;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// That of the command line: the system's takes a third of the time of what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the bench.
type Failure = Box<dyn Error>;

/// Where files of the bench go.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target"))).join("bench")
}

/// Keeps this process, and those that it starts, on the last core. Where there is no `taskset`, they go where they
/// will.
fn pin() {
    let Ok(cores) = std::thread::available_parallelism() else { return };
    let (core, process) = ((cores.get() - 1).to_string(), std::process::id().to_string());
    match Command::new("taskset").args(["-cp", &core, &process]).output() {
        Ok(output) if output.status.success() => {}
        _ => eprintln!("not pinned to a core"),
    }
}

fn main() -> Result<(), Failure> {
    // Cargo passes `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    pin();
    match words.first().map(String::as_str) {
        // What is asked of the process that measures how much memory a size takes.
        Some("latency-of") => latency::measure_one(&words[1..]),
        Some("latency") => latency::run(),
        Some("sums") => sums::run(),
        Some("phases") => rows::phases(words.get(1).map_or("", String::as_str)),
        filter => rows::run(filter.unwrap_or("")),
    }
}
