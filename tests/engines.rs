//! The engines print the same: every command of the file tests that runs something, with `--engine auto`.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The arguments of a command line, where what stands in single quotes is one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_string)),
            _ => words.push(part.to_string()),
        }
    }
    words
}

fn bbkit(folder: &Path, args: &[String], more: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bbkit"))
        .current_dir(folder)
        .args(args)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn both_print_the_same() {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let (mut native, mut checked, mut problems) = (0, 0, Vec::new());
    for folder in ["run", "grad", "jvp"].map(|folder| tests.join(folder)) {
        let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "ir")) {
            let text = fs::read_to_string(path).unwrap();
            let program: String =
                text.lines().filter(|line| !line.starts_with("#$")).flat_map(|line| [line, "\n"]).collect();
            for line in text.lines().filter_map(|line| line.strip_prefix("#$ ")) {
                let args = words(line);
                let runs = ["run", "grad", "jvp", "hvp", "vjp"].contains(&args[0].as_str());
                if !runs
                    || ["--engine", "--max-steps", "--trace", "--stats", "--help"].iter().any(|own| line.contains(own))
                {
                    continue;
                }
                let expected = bbkit(&folder, &args, &[], program.as_bytes());
                let found = bbkit(&folder, &args, &["--engine", "auto"], program.as_bytes());
                checked += 1;
                if expected != found {
                    problems.push(format!("{}: {line}:\n{expected:?}\n{found:?}", path.display()));
                }
                let explained = bbkit(&folder, &args, &["--engine", "auto", "--explain"], program.as_bytes());
                native += usize::from(String::from_utf8_lossy(&explained.stderr).contains(": native code"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 50 && native > 20, "{native} of {checked}");
}
