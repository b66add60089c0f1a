//! bbkit on what Julia's compiler makes of its own library: the way between the representations, JSON, text.
//!
//! With a Julia (see `scripts/julia`) the code is exported first, and Julia's own `compact!(copy(ir))` is timed on the
//! same functions in the same run. Without one, `BBKIT_BASE` names a dump.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench that cannot run should stop, and prints what it measures"
)]

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bbcode::BBCode;
use ircode::json::{DumpReader, DumpWriter};
use ircode::{Function, IRCode, Style, parse_module, print_function};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs of each step; the fastest counts.
const RUNS: usize = 5;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, compact) = match std::env::var_os("BBKIT_BASE") {
        Some(path) => (PathBuf::from(path), None),
        None => {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("base.json");
            let output = Command::new(root.join("scripts/julia"))
                .current_dir(root)
                .args(["--startup-file=no", "benches/base.jl"])
                .arg(&path)
                .output()
                .expect("scripts/julia can be run");
            if !output.status.success() {
                println!("skipped: {}", String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("no Julia"));
                println!("BBKIT_BASE=FILE cargo bench --bench base takes a dump that is there already");
                return;
            }
            let text = String::from_utf8_lossy(&output.stdout);
            (path, text.trim().lines().last().and_then(|line| line.parse::<f64>().ok()))
        }
    };
    let bytes = std::fs::read(&path).expect("the dump can be read");
    let functions = read(&bytes);
    let statements: usize = functions.iter().map(|function| function.body.stmts.len()).sum();
    let megabytes = bytes.len() as f64 / 1e6;
    println!("{} functions, {statements} statements, {megabytes:.0} MB of JSON", functions.len());

    let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / statements as f64;
    // What the last step gives is dropped outside of the measurement, as benches do.
    let there = best_of_each(&functions, |function| BBCode::try_from(&function.body).expect("exported code converts"));
    let both = best_of_each(&functions, |function| {
        let bb = BBCode::try_from(&function.body).expect("exported code converts");
        IRCode::try_from(bb).expect("converted code converts back")
    });
    println!("IRCode → BBCode            {:6.1} ns a statement", nanoseconds(there));
    println!("IRCode → BBCode → IRCode   {:6.1} ns a statement", nanoseconds(both));
    if let Some(compact) = compact {
        println!(
            "Julia's compact!(copy(ir)) {compact:6.1} ns a statement, {:.1} times as long",
            compact / nanoseconds(both)
        );
    }
    let verified = best(|| functions.iter().for_each(|function| drop(black_box(function.body.verify()))));
    println!("verify                     {:6.1} ns a statement", nanoseconds(verified));
    println!(
        "JSON read                  {:6.1} MB/s",
        megabytes / best(|| drop(black_box(read(&bytes)))).as_secs_f64()
    );
    let mut written = 0;
    let time = best(|| written = black_box(write(&functions)).len());
    println!("JSON written               {:6.1} MB/s", written as f64 / 1e6 / time.as_secs_f64());
    for (name, style) in [("julia", Style::Julia), ("bbkit", Style::Bbkit)] {
        let texts: Vec<String> = functions.iter().map(|function| print_function(function, style)).collect();
        let rate = |time: Duration| statements as f64 / 1e6 / time.as_secs_f64();
        let print = best(|| functions.iter().for_each(|function| drop(black_box(print_function(function, style)))));
        let parse = best(|| texts.iter().for_each(|text| drop(black_box(parse_module(text)))));
        println!("text ({name}) printed       {:6.2} million statements a second", rate(print));
        println!("text ({name}) parsed        {:6.2} million statements a second", rate(parse));
    }
    // Reading from a file takes no more memory than one function.
    let time = best(|| {
        let mut reader = DumpReader::new(File::open(&path).expect("the dump can be opened"));
        while let Some(function) = reader.next_function::<IRCode>().expect("the dump can be read") {
            black_box(function);
        }
    });
    println!("JSON read from the file    {:6.1} MB/s", megabytes / time.as_secs_f64());
}

/// The time of a step on each function, without that of dropping what it gives.
fn best_of_each<T>(functions: &[Function<IRCode>], step: impl Fn(&Function<IRCode>) -> T) -> Duration {
    let run = || {
        let mut time = Duration::ZERO;
        for function in functions {
            let start = Instant::now();
            let result = black_box(step(function));
            time += start.elapsed();
            drop(result);
        }
        time
    };
    (0..RUNS).map(|_| run()).min().unwrap_or_default()
}

fn best(mut step: impl FnMut()) -> Duration {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        step();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

fn read(bytes: &[u8]) -> Vec<Function<IRCode>> {
    let mut reader = DumpReader::new(bytes);
    std::iter::from_fn(|| reader.next_function().expect("the dump can be read")).collect()
}

fn write(functions: &[Function<IRCode>]) -> Vec<u8> {
    let mut writer = DumpWriter::new::<IRCode>(Vec::new()).expect("memory can be written to");
    for function in functions {
        writer.function(function).expect("exported code can be dumped");
    }
    writer.finish([]).expect("memory can be written to")
}
