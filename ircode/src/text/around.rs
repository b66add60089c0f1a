//! Words around listings that nothing marks as such: sentences, what was typed, what else a program printed.

use super::cthulhu::Menu;
use super::declaration::starts_declaration;
use super::decoration::{Decoration, decoration, variable};
use super::enclosed::Enclosed;
use super::page::{is_part_of_listing, margin, starts_block, with_comments};

/// What a line is to the listings of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing: white space, a comment.
    Blank,
    /// What begins a listing, or stands above one.
    Start,
    /// More of a listing.
    Part,
    /// Something else.
    Other,
}

/// The text with words before, between and behind its listings as comments. Inside of a listing every line stays what
/// it is, so that what is damaged is an error, and so does all of a file of functions with headers.
pub(super) fn without_words(text: &str) -> Option<String> {
    if has_header(text) || has_misspelled_header(text) || !text.lines().any(starts_block) {
        return None;
    }
    let lines = kinds(text);
    // From the end: whether a listing goes on below.
    let mut goes_on = false;
    let mut dropped: Vec<bool> = Vec::with_capacity(lines.len());
    for (kind, line) in lines.iter().zip(text.lines().collect::<Vec<_>>()).rev() {
        match kind {
            Line::Part => goes_on = true,
            Line::Start => goes_on = false,
            Line::Blank | Line::Other => {}
        }
        dropped.push(*kind == Line::Other && !goes_on && is_words(line.trim()));
    }
    if !dropped.contains(&true) {
        return None;
    }
    Some(with_comments(text, |_| dropped.pop() != Some(true)))
}

fn kinds(text: &str) -> Vec<Line> {
    // In a table of variables, or a declaration.
    let (mut table, mut declaration) = (false, false);
    let mut behind_blank = false;
    let mut menu = Menu::default();
    let kind = |line: &str| {
        let trimmed = line.trim();
        if menu.line(trimmed) {
            return Line::Blank;
        }
        if declaration {
            declaration = trimmed != "end";
            return Line::Start;
        }
        if trimmed.is_empty() || trimmed.starts_with('#') {
            behind_blank = trimmed.is_empty();
            return Line::Blank;
        }
        // Some pages put an empty line between all lines.
        let is_entry = || line.starts_with(' ') && trimmed.contains("::") && variable(trimmed).is_some();
        table &= !std::mem::take(&mut behind_blank) || is_entry();
        if let Some(gutter) = margin(line) {
            table = false;
            return if gutter.block == Some(1) { Line::Start } else { Line::Part };
        }
        declaration = starts_declaration(trimmed) && !trimmed.ends_with("end");
        if let Some(kind) = decoration(trimmed) {
            table |= matches!(kind, Decoration::Variables | Decoration::Others);
            return Line::Start;
        }
        let opens =
            trimmed.starts_with("CodeInfo(") || trimmed.contains("CodeInfo(") && Enclosed::opening(trimmed).is_some();
        match opens || table || declaration {
            true => Line::Start,
            false if is_part_of_listing(line) => Line::Part,
            false => Line::Other,
        }
    };
    text.lines().map(kind).collect()
}

/// Whether there is a function with a header, which its first block follows.
pub(super) fn has_header(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("function ") && lines.peek().is_some_and(|next| starts_block(next)) {
            return true;
        }
    }
    false
}

/// Whether a line before a first block was meant as the header of a function: its first word is nearly `function`, or
/// how other languages write that.
fn has_misspelled_header(text: &str) -> bool {
    let is_meant = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        let common = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
        let start = common(&mut word.bytes().zip("function".bytes()));
        let end = common(&mut word.bytes().rev().zip("function".bytes().rev()));
        let is_near = (6..=10).contains(&word.len()) && start + end >= 6;
        (is_near || ["func", "fn", "fun", "def"].contains(&word)) && line.contains('(')
    };
    let mut lines = text.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_some_and(|next| starts_block(next)) && is_meant(line) {
            return true;
        }
    }
    false
}

/// Whether a line is nothing that a damaged statement could be.
fn is_words(line: &str) -> bool {
    // `%1`, `_2`, and no `x_2`.
    let mut before = ' ';
    let mut names_value = false;
    for (c, next) in line.chars().zip(line.chars().skip(1)) {
        let is_name = c == '%' || c == '_' && !before.is_alphanumeric() && before != '_';
        names_value |= is_name && next.is_ascii_digit();
        before = c;
    }
    let is_statement = ["return", "goto", "unreachable", "φ", "π", ";"].iter().any(|start| line.starts_with(start));
    !names_value && !is_statement && !line.contains(['│', '└', '─', '┄']) && !line.contains("Expr(")
}

#[cfg(test)]
mod tests {
    use crate::{parse_function, parse_module};

    const LISTING: &str = "CodeInfo(\n1 ─ %1 = Base.add_int(x, 1)::Int64\n└──      return %1\n) => Int64\n";

    #[test]
    fn words_around_a_listing_are_not_read() {
        let plain = parse_function(LISTING).unwrap();
        for (before, behind) in [
            ("Here is the output of @code_typed:\n\n", "\nNote the add_int.\n"),
            ("f(x) = x + 1\n@code_typed f(1)\n\n", ""),
            ("function f(x)\n    x + 1\nend\n", "\nend of the story\n"),
            ("julia> code_typed((Int,)) do x\n    x + 1\nend |> only\n", ""),
            ("\"\"\"\n", "\"\"\"\n"),
            ("PTX CompilerJob of MethodInstance f(::Int64) for sm_86\n\n", ""),
        ] {
            let text = format!("{before}{LISTING}{behind}");
            assert_eq!(parse_function(&text).unwrap(), plain, "{text}");
        }
        let two = format!("One:\n{LISTING}Another:\n{LISTING}That was it.\n");
        assert_eq!(parse_module(&two).unwrap().module.functions().len(), 2);
    }

    #[test]
    fn what_stands_in_a_listing_or_could_be_of_one_is_read() {
        for text in [
            "1 ─ %1 = Base.add_int(_2, 1)::Int64\nwords\n└──      return %1\n",
            "1 ─ %1 = Base.add_int(_2, 1)::Int64\n\nwords\n2 ─      return %1\n",
            "1 ─ %1 = Base.add_int(_2, 1)::Int64\nreturn %1\n",
            "1 ─      goto #2\n2 ─ nothing\nreturn nothing\n",
            "%1 = Base.add_int(_2, 1)::Int64\n1 ─      return %1\n",
            "words\nfunction f(_2::Int64)::Int64\n1 ─      return _2\nend\n",
        ] {
            assert!(parse_module(text).is_err(), "{text}");
        }
    }
}
