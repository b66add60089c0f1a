//! Tests in IR text with what must hold of it: where they are, and how their commands are read.

#![allow(clippy::unwrap_used, reason = "a folder that is not there ends the test, and there is a word from the start")]

use std::fs;
use std::path::{Path, PathBuf};

/// The files, sorted. The programs of the tables of the verifier and of Swift, and those at which the conditions of
/// passes decide, have tests of their own.
///
/// # Panics
///
/// If the folder of the tests is not there.
pub fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    find(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(), &mut files);
    files.sort();
    files
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !["conditions", "verifier", "swift"].iter().any(|own| path.ends_with(own)) {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ir") {
            files.push(path);
        }
    }
}

/// The words of a command, between spaces; single quotes keep spaces.
pub fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
