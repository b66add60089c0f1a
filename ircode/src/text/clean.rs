//! What surrounds a listing where people find it: colours of a terminal, comments of another program.

use std::borrow::Cow;

use super::expression::Cursor;
use super::gutter::gutter;

/// A text without escape sequences of terminals, and, where the whole of it stands in comments of another program, without
/// these: what is read is what a person sees.
///
/// What a terminal shows at the right by moving the cursor there and back (the names of inlined functions in a coloured
/// listing) is left out. Places in errors are places in the cleaned text.
///
/// ```
/// assert_eq!(ircode::text::clean("\u{1b}[90m1 ─\u{1b}[39m      return 1"), "1 ─      return 1");
/// assert_eq!(ircode::text::clean("# 1 ─      return 1\n"), "1 ─      return 1\n");
/// assert_eq!(ircode::text::clean("# a comment\n1 ─ return 1"), "# a comment\n1 ─ return 1");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    let text = if text.as_bytes().contains(&0x1b) { Cow::Owned(without_escapes(text)) } else { Cow::Borrowed(text) };
    // A space that does not break is what some pages make of one; in a string it stays.
    let unbroken = text.contains('\u{a0}') && (text.contains("─\u{a0}") || text.contains("│\u{a0}"));
    let text = if unbroken { Cow::Owned(text.replace('\u{a0}', " ")) } else { text };
    let fences = (text.contains('`') || text.contains('~')) && text.lines().any(is_fence);
    let text = if fences { Cow::Owned(fenced(&text)) } else { text };
    match comment_prefix(&text) {
        Some(prefix) => Cow::Owned(without_prefix(&text, prefix)),
        None => text,
    }
}

/// A line of three backticks or tildes, which encloses code in a page.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// What stands between fences; the rest of the page becomes comments.
fn fenced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let fence = is_fence(line);
        inside ^= fence;
        if fence || !inside {
            out.push('#');
        }
        out.push_str(line);
    }
    out
}

/// How other programs mark comments and quotations.
const PREFIXES: &[&str] = &["#", "//", ";", ">", "%", "--", "*", "|"];

/// The prefix that all lines share, if there is a listing behind it.
fn comment_prefix(text: &str) -> Option<&'static str> {
    let lines = || text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    let first = lines().next()?;
    let prefix = PREFIXES.iter().find(|prefix| first.starts_with(**prefix))?;
    let behind = |line: &str| line.strip_prefix(prefix).is_some_and(is_listing_line);
    (lines().all(|line| line.starts_with(prefix)) && lines().any(behind)).then_some(prefix)
}

fn is_listing_line(line: &str) -> bool {
    let mut cursor = Cursor::new(line, 0);
    matches!(gutter(&mut cursor), Ok(Some(_)))
}

fn without_prefix(text: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let behind = line.trim_start().strip_prefix(prefix);
        match behind.map(|behind| behind.strip_prefix(' ').unwrap_or(behind)) {
            Some(behind) if is_part_of_listing(behind) => out.push_str(behind),
            // Something else that the comment says.
            _ if line.trim().is_empty() => out.push_str(line),
            _ => {
                out.push('#');
                out.push_str(line);
            }
        }
    }
    out
}

fn is_part_of_listing(line: &str) -> bool {
    let trimmed = line.trim_start();
    is_listing_line(line) || ["CodeInfo(", ")", "=>", "Body::"].iter().any(|start| trimmed.starts_with(start))
}

fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Behind a move of the cursor to the right, until it comes back to the left margin.
    let mut aside = false;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        let sequence = if c == '\u{1b}' { rest.strip_prefix('[') } else { None };
        if let Some(sequence) = sequence {
            let length = sequence.find(|c: char| ('@'..='~').contains(&c)).unwrap_or(sequence.len());
            let parameters = sequence.get(..length).unwrap_or_default();
            if sequence.get(length..).is_some_and(|end| end.starts_with('G')) {
                aside = !matches!(parameters, "" | "0" | "1");
            }
            rest = sequence.get(length..).unwrap_or_default();
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        } else if c == '\u{1b}' {
            // A sequence of another kind: one character, or a title that a bell ends.
            if let Some(title) = rest.strip_prefix(']') {
                let length = title.find(['\u{7}', '\n']).unwrap_or(title.len());
                rest = title.get(length..).unwrap_or_default().trim_start_matches('\u{7}');
            } else {
                rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            }
        } else if c == '\n' {
            aside = false;
            out.push(c);
        } else if !aside {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_what_stands_aside_go() {
        let line = "\u{1b}[90m\u{1b}[72G│╻ Box\u{1b}[1G\u{1b}[39m\u{1b}[90m2 \u{1b}[39m\u{1b}[0m1 ── %1  = Core.Box\u{1b}[36m::T\u{1b}[39m\n";
        assert_eq!(clean(line), "2 1 ── %1  = Core.Box::T\n");
        assert_eq!(clean("\u{1b}]0;title\u{7}1 ─ return 1\u{1b}"), "1 ─ return 1");
    }

    #[test]
    fn comments_of_other_programs_go() {
        let text = "# source: somewhere\n# 1 ─      nothing::Nothing\n# 3 2 ┄ %2 = 1\n#   └──      goto #2\n";
        assert_eq!(clean(text), "## source: somewhere\n1 ─      nothing::Nothing\n3 2 ┄ %2 = 1\n  └──      goto #2\n");
        assert_eq!(clean("// 1 ─      return 1\n//"), "1 ─      return 1\n#//");
        assert_eq!(clean("# only words\n# more of them\n"), "# only words\n# more of them\n");
    }
}
