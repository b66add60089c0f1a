//! Every fuzz target, for a moment: on its kept corpus, and on bytes that are the same on every run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::path::Path;

use kit::seeds::bytes;
use kit::targets::TARGETS;

/// Runs a target on its kept corpus, and then on what these seeds give.
fn run(name: &str, seeds: std::ops::Range<u64>) {
    let (_, check) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut kept: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.sort();
    assert!(!kept.is_empty(), "{} is empty", corpus.display());
    for path in kept {
        check(&std::fs::read(&path).unwrap()).unwrap_or_else(|broken| panic!("{}: {broken}", path.display()));
    }
    for seed in seeds {
        check(&bytes(seed)).unwrap_or_else(|broken| panic!("{name}, seed {seed}: {broken}"));
    }
}

#[test]
fn there_and_back() {
    run("there_and_back", 10_000..12_500);
}

#[test]
fn safety() {
    run("safety", 20_000..21_000);
}

#[test]
fn mutation() {
    run("mutation", 25_000..26_500);
}

#[test]
fn compaction() {
    run("compaction", 80_000..100_000);
}

#[test]
fn surgery() {
    run("surgery", 110_000..110_400);
}

#[test]
fn meaning() {
    run("meaning", 30_000..30_450);
}

#[test]
fn savings() {
    run("savings", 150_000..150_300);
}

#[test]
fn carriers() {
    run("carriers", 140_000..140_300);
}

#[test]
fn compiled() {
    run("compiled", 170_000..170_300);
}

#[test]
fn checkpoints() {
    run("checkpoints", 160_000..160_300);
}

#[test]
fn linearization() {
    run("linearization", 150_000..150_300);
}

#[test]
fn gradient() {
    run("gradient", 40_000..40_200);
}

#[test]
fn memory_gradient() {
    run("memory_gradient", 120_000..120_150);
}

#[test]
fn native() {
    run("native", 170_000..170_300);
}

#[test]
fn unroll_and_jam() {
    run("unroll_and_jam", 180_000..180_040);
}

#[test]
fn independent_rounds() {
    run("independent_rounds", 190_000..190_060);
}

#[test]
fn one_block() {
    run("one_block", 200_000..201_000);
}

#[test]
fn determinism() {
    run("determinism", 50_000..50_500);
}

#[test]
fn read_text() {
    run("read_text", 60_000..67_000);
}

#[test]
fn read_json() {
    run("read_json", 70_000..76_000);
}

/// A file for cargo-fuzz, of which its manifest knows, and a test here.
#[test]
fn each_target_has_its_file() {
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".rs", ""))
        .collect();
    let mut names: Vec<String> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
    let (manifest, tests) = (include_str!("../fuzz/Cargo.toml"), include_str!("fuzz_targets.rs"));
    for name in names {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is not in fuzz/Cargo.toml");
        assert!(tests.contains(&format!("run(\"{name}\", ")), "{name} is not run here");
    }
}
