//! Listings as people paste them: the tables in `tests/listings/README.md` say what is expected of each.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use bbkit::{Input, roundtrip};
use ircode::{JuliaVersion, Style, parse_module, print_function};

/// The rows of the table below this heading: file and expectation.
fn table(heading: &str) -> Vec<(String, String)> {
    let readme = include_str!("listings/README.md");
    let section = readme.split("\n## ").find(|section| section.starts_with(heading)).expect("a section of that name");
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains(".txt |"));
    let cells =
        rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect::<Vec<_>>());
    cells.map(|cells| (cells[0].clone(), cells[2].trim_end_matches('|').trim().to_string())).collect()
}

fn check(folder: &Path, file: &str, expected: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let input = match Input::parse(file, &text, &[]) {
        Ok(input) => input,
        Err(error) => {
            let message = error.to_string();
            assert!(expected != "valid" && !expected.starts_with("invalid") && message.contains(expected), "{message}");
            return;
        }
    };
    let mut codes = Vec::new();
    for function in input.module.functions() {
        let violations = function.body.verify().err().map(|violations| violations.0).unwrap_or_default();
        codes.extend(violations.iter().map(|violation| violation.check.code()));
        let mismatches = roundtrip(function);
        // A function that is not valid must survive all the same.
        let other: Vec<_> = mismatches.iter().filter(|mismatch| mismatch.way != "verify").collect();
        assert!(other.is_empty(), "{file}: {other:?}");
    }
    codes.sort_unstable();
    codes.dedup();
    let found = if codes.is_empty() { "valid".to_string() } else { format!("invalid: {}", codes.join(" ")) };
    assert_eq!(found, expected, "{file}");
}

#[test]
fn the_listings_of_this_folder_are_as_their_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let rows = table("Of this folder");
    for (file, expected) in &rows {
        check(&folder, file, expected);
    }
    let files = fs::read_dir(&folder).expect("a folder").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let missing: Vec<String> =
        files.filter(|file| file.ends_with(".txt") && rows.iter().all(|(row, _)| row != file)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
}

#[test]
fn the_collection_is_as_its_table_says() {
    let Some(folder) = std::env::var_os("BBKIT_LISTINGS").map(PathBuf::from) else { return };
    let rows = table("Of the collection");
    for (file, expected) in &rows {
        check(&folder, file, expected);
    }
}

/// Of another process, in a comment, and with another arrow before the result.
#[test]
fn what_others_put_around_a_listing_is_no_part_of_it() {
    let plain = "CodeInfo(\n1 ─ %1 = Base.add_int(x, 1)::Int64\n└──      return %1\n) => Int64\n";
    let read = |text: &str| parse_module(text).unwrap().module.functions().to_vec();
    let by_worker: String = plain.lines().map(|line| format!("# From worker 3:\t{line}\n")).collect();
    for text in [by_worker, plain.replace("=>", "⇒")] {
        assert_eq!(read(&text), read(plain), "{text}");
    }
}

#[test]
fn a_planted_bug_is_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    for (file, wrong) in [("straight.txt", "invalid: IR27"), ("lowered.txt", "valid"), ("lowered.txt", "other words")] {
        let outcome = std::panic::catch_unwind(|| check(&folder, file, wrong));
        assert!(outcome.is_err(), "{file} passes for {wrong:?}");
    }
}

/// Errors of what a session or a page shows are drawn where it stands there, like those of a listing alone.
#[test]
fn what_is_around_a_listing_moves_no_error() {
    let text = "julia> @code_typed f(1)\nCodeInfo(\n1 ─      goto #2\n2 ─ %2 = Base.sub_int(%9, 1)::Int64\n└──      return %2\n) => Int64\n";
    let input = Input::parse("session", text, &[]).expect("a listing");
    let violations = input.module.functions()[0].body.verify().expect_err("%9 is not there");
    let error = input.describe_violations("", &violations);
    assert!(
        error.contains("--> session:4:5\n") && error.contains("4 | 2 ─ %2 = Base.sub_int(%9, 1)::Int64\n"),
        "{error}"
    );
}

/// Julia shows a block without statements by a gap in the numbers: at the ends there is none, so it is written there.
#[test]
fn blocks_without_statements_are_read_again() {
    let text = "function f(x::Float64)::Float64\n1 ─\n2 ─ %1 = Base.sin(x)::Float64\n4 ─      return %1\n5 ─\nend\n";
    let function = parse_module(text).expect("a listing").module.functions()[0].clone();
    assert_eq!(function.body.cfg.blocks.len(), 5);
    for style in [Style::Julia, Style::Version(JuliaVersion::new(1, 5)), Style::Bbkit] {
        let printed = print_function(&function, style);
        let again = parse_module(&printed).expect("what was printed").module.functions()[0].clone();
        assert_eq!(again.body.cfg.blocks.len(), 5, "{printed}");
        assert_eq!(print_function(&again, style), printed);
    }
}
