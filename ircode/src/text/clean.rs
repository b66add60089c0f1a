//! What surrounds a listing where people find it: colours of a terminal, and the page that it is on.

use std::borrow::Cow;

use super::wrapped::{unbroken, with_whole_objects, with_whole_tables};
use super::{irtools, markup, page};

/// The listings of a text as a person sees them: without escape sequences of terminals, and of pages — with code
/// between fences, sessions, programs with listings in comments — only these, the rest being comments.
///
/// What a terminal shows at the right by moving the cursor there and back (the names of inlined functions in a coloured
/// listing) is left out. Places in errors are places in the cleaned text.
///
/// ```
/// assert_eq!(ircode::text::clean("\u{1b}[90m1 ─\u{1b}[39m      return 1"), "1 ─      return 1");
/// assert_eq!(ircode::text::clean("# 1 ─      return 1\n"), "1 ─      return 1\n");
/// assert_eq!(ircode::text::clean("\u{feff}1 ─      return 1"), "1 ─      return 1");
/// assert_eq!(ircode::text::clean("# a comment\n1 ─ return 1"), "# a comment\n1 ─ return 1");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    let text = match text.strip_prefix('\u{feff}') {
        // What some editors put in front of a file.
        Some(marked) => Cow::Owned(marked.to_string()),
        None => Cow::Borrowed(text),
    };
    let text = if text.as_bytes().contains(&0x1b) { Cow::Owned(without_escapes(&text)) } else { text };
    let text = markup::without_markup(&text).map_or(text, Cow::Owned);
    let text = markup::without_colours(&text).map_or(text, Cow::Owned);
    // A space that does not break is what some pages make of one; in a string it stays.
    let spaces = ["─\u{a0}", "│\u{a0}", "1:\u{a0}(%"];
    let spaced = text.contains('\u{a0}') && spaces.iter().any(|space| text.contains(space));
    let text = if spaced { Cow::Owned(text.replace('\u{a0}', " ")) } else { text };
    // In a string of a program the sign of an interpolation is escaped.
    let escaped = ESCAPED.iter().any(|escaped| text.contains(escaped));
    let text = if escaped { Cow::Owned(unescaped(&text)) } else { text };
    let text = page::logged(&text).map_or(text, Cow::Owned);
    let text = if text.lines().any(is_annotated) { Cow::Owned(without_annotations(&text)) } else { text };
    let text = page::in_block_comments(&text).map_or(text, Cow::Owned);
    let text = match irtools::as_listings(&text) {
        Cow::Owned(listings) => Cow::Owned(listings),
        Cow::Borrowed(_) => text,
    };
    let text = match unbroken(&text) {
        Cow::Owned(whole) => Cow::Owned(whole),
        Cow::Borrowed(_) => text,
    };
    let text = match with_whole_tables(&text) {
        Cow::Owned(whole) => Cow::Owned(whole),
        Cow::Borrowed(_) => text,
    };
    let text = match with_whole_objects(&text) {
        Cow::Owned(whole) => Cow::Owned(whole),
        Cow::Borrowed(_) => text,
    };
    match page::listings(&text) {
        Cow::Owned(listings) => Cow::Owned(listings),
        Cow::Borrowed(_) => text,
    }
}

/// How expressions start where the listing stands in a string.
const ESCAPED: [&str; 2] = ["\\$(Expr(", "\\$(QuoteNode("];

fn unescaped(text: &str) -> String {
    ESCAPED.iter().fold(text.to_string(), |text, escaped| text.replace(escaped, escaped.trim_start_matches('\\')))
}

/// The bars that show what is inlined where.
pub(super) const BARS: [char; 4] = ['│', '┃', '╻', '╷'];

/// Whether what Julia shows at the right by moving the cursor stands at the left, as where the moves of the cursor are
/// lost: `│╻ +1 1 ─ %1 = …`, `│ 1 ─ %1 = …`.
fn is_annotated(line: &str) -> bool {
    let line = line.trim_start();
    let behind = line.trim_start_matches(BARS);
    let bars = line.get(..line.len() - behind.len()).unwrap_or_default();
    bars.contains(['╻', '╷']) || !bars.is_empty() && page::starts_block(behind)
}

fn without_annotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_start();
        let behind = line.trim_start_matches(BARS);
        let margin = if line.starts_with(BARS) { behind.find(['─', '│', '└', '┄']) } else { None };
        let kept = margin.and_then(|margin| {
            // The numbers of the line and of the block.
            let before = behind.get(..margin)?;
            let numbers = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
            behind.get(numbers.len()..)
        });
        out.push_str(kept.unwrap_or(whole));
    }
    out
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
            // A sequence of another kind: one character, or a title or a link that a bell or `ESC \` ends.
            if let Some(title) = rest.strip_prefix(']') {
                let length = title.find(['\u{7}', '\n', '\u{1b}']).unwrap_or(title.len());
                let end = title.get(length..).unwrap_or_default();
                rest = end.strip_prefix("\u{1b}\\").or_else(|| end.strip_prefix('\u{7}')).unwrap_or(end);
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
        let link = "\u{1b}]8;;http://julialang.org\u{1b}\\goto\u{1b}]8;;\u{1b}\\ #3 if not %1";
        assert_eq!(clean(link), "goto #3 if not %1");
    }

    #[test]
    fn expressions_of_a_listing_in_a_string_are_read() {
        assert_eq!(clean("2 ─ %2 = \\$(Expr(:enter, #4))\n"), "2 ─ %2 = $(Expr(:enter, #4))\n");
        assert_eq!(clean("1 ─ return \"\\$5\"\n"), "1 ─ return \"\\$5\"\n");
    }

    #[test]
    fn annotations_of_which_the_place_is_lost_go() {
        let text = "Body::Int64\n│╻ +1 1 ─ %1 = (Base.add_int)(x, 1)::Int64\n│     └──      return %1\n";
        assert_eq!(clean(text), "Body::Int64\n1 1 ─ %1 = (Base.add_int)(x, 1)::Int64\n     └──      return %1\n");
    }
}
