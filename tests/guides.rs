//! What the pages in `docs` quote is what the examples say and print.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;

/// The blocks of code on a page: their language, and their lines without indentation.
fn quotes(page: &str) -> Vec<(String, Vec<String>)> {
    let mut quotes = Vec::new();
    let mut open: Option<(String, Vec<String>)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(quote)) => quotes.push(quote),
            (Some(language), None) => open = Some((language.into(), Vec::new())),
            (None, Some((language, mut lines))) => {
                lines.push(line.trim().into());
                open = Some((language, lines));
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of code does not end");
    quotes
}

/// Where the lines stand behind each other in a text.
fn find(lines: &[String], text: &str) -> Option<usize> {
    let text: Vec<&str> = text.lines().map(str::trim).collect();
    text.windows(lines.len()).position(|window| window == lines)
}

#[test]
fn pages_quote_their_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["code_transformations", "branch_counters"] {
        let page = fs::read_to_string(root.join(format!("docs/{name}.md"))).unwrap();
        let source = fs::read_to_string(root.join(format!("examples/{name}.rs"))).unwrap();
        let output = fs::read_to_string(root.join(format!("docs/{name}.txt"))).unwrap();
        let quotes = quotes(&page);
        let count = |wanted: &str| quotes.iter().filter(|(language, _)| language == wanted).count();
        assert!(count("rust") > 1 && count("text") > 0, "{name}");
        let mut at = 0;
        for (language, lines) in &quotes {
            match language.as_str() {
                "rust" => {
                    assert!(find(lines, &source).is_some(), "{name}: not in the example: {lines:#?}")
                }
                "text" => {
                    let found = find(lines, &output).unwrap_or_else(|| panic!("{name}: not printed: {lines:#?}"));
                    assert!(found >= at, "{name}: printed earlier: {lines:#?}");
                    at = found;
                }
                other => panic!("{name}: a block of {other}"),
            }
        }
    }
}

#[test]
fn a_line_that_is_not_there_is_seen() {
    assert_eq!(find(&["b".into(), "c".into()], "a\n b\n  c\n"), Some(1));
    assert_eq!(find(&["b".into(), "d".into()], "a\nb\nc\n"), None);
}
