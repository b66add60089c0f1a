//! The words of a printed statement, told apart for colours and links.

use std::ops::Range;

use ircode::text::StatementPrinter;
use ircode::{Names, Stmt, Type, View};

/// What a piece of a statement's text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Operators, brackets, names of globals: nothing special.
    Plain,
    /// A value that the statement uses, `%4`.
    Value,
    /// A block that the statement names, `#2`.
    Block,
    /// An argument, `_2`.
    Argument,
    /// A type behind `::`.
    Type,
    /// A literal.
    Constant,
    /// A word of the language: `goto`, `return`, `φ`.
    Keyword,
    /// The module of a global, `Base.`.
    Module,
    /// What is called.
    Callee,
}

/// A statement as it is printed, and its pieces in order; together they are the whole text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tokens {
    pub(crate) text: String,
    pub(crate) pieces: Vec<(Kind, Range<usize>)>,
}

impl Tokens {
    /// The pieces with their texts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.pieces.iter().filter_map(|(kind, range)| Some((*kind, self.text.get(range.clone())?)))
    }

    /// A statement with its type, if asked for.
    ///
    /// Values and blocks are found in the printed text, and are links only where the statement has them among its uses
    /// and its targets, and they exist: a string that happens to hold `%4` is none.
    pub(crate) fn of_statement<N: Names>(
        view: &View<'_, N>,
        printer: &StatementPrinter,
        stmt: &Stmt<N>,
        ty: Option<&Type>,
    ) -> Tokens {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = match ty {
            Some(ty) => ircode::text::write_typed(&mut text, printer, stmt, ty),
            None => printer.write(&mut text, stmt, false),
        };
        let mut links: Vec<String> = Vec::new();
        stmt.for_each_use(|value| links.extend(view.value_index(value).map(|_| value.to_string())));
        let mut block = |block: N::Block| links.extend(view.block_index(block).map(|_| block.to_string()));
        stmt.for_each_target(&mut block);
        if let Stmt::Phi(phi) = stmt {
            phi.entries.iter().for_each(|entry| block(entry.edge));
        }
        links.sort_unstable();
        links.dedup();
        let pieces = pieces(&text, |name| links.binary_search_by(|link| link.as_str().cmp(name)).is_ok());
        Tokens { text, pieces }
    }

    /// A text that names nothing.
    pub(crate) fn of_text(text: String) -> Tokens {
        let pieces = pieces(&text, |_| false);
        Tokens { text, pieces }
    }
}

/// Cuts a text into pieces. `is_link` tells whether `%4` or `#2` means a statement or a block here.
fn pieces(text: &str, is_link: impl Fn(&str) -> bool) -> Vec<(Kind, Range<usize>)> {
    let mut pieces: Vec<(Kind, Range<usize>)> = Vec::new();
    let mut at = 0;
    let mut before = ' ';
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = piece(rest, before, &is_link);
        let end = at + length;
        match pieces.last_mut() {
            Some((Kind::Plain, range)) if kind == Kind::Plain => range.end = end,
            _ => pieces.push((kind, at..end)),
        }
        before = text.get(..end).and_then(|text| text.chars().next_back()).unwrap_or(' ');
        at = end;
    }
    pieces
}

/// The first piece of a text, and how long it is: at least a character.
fn piece(rest: &str, before: char, is_link: &impl Fn(&str) -> bool) -> (Kind, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    let second = rest.chars().nth(1).unwrap_or(' ');
    let in_word = is_word(before);
    match first {
        '"' => (Kind::Constant, string_length(rest)),
        '\'' if !in_word => match character_length(rest) {
            Some(length) => (Kind::Constant, length),
            None => (Kind::Plain, 1),
        },
        '%' | '#' if !in_word && second.is_ascii_digit() => {
            let length = 1 + length_while(&rest[1..], |c| c.is_ascii_digit() || c == 'v');
            match (first, is_link(&rest[..length])) {
                ('%', true) => (Kind::Value, length),
                ('#', true) => (Kind::Block, length),
                _ => (Kind::Plain, length),
            }
        }
        '_' if !in_word && second.is_ascii_digit() => {
            (Kind::Argument, 1 + length_while(&rest[1..], |c| c.is_ascii_digit()))
        }
        ':' if second == ':' => (Kind::Type, 2 + type_length(&rest[2..])),
        ':' if !in_word && is_word(second) => (Kind::Constant, 1 + length_while(&rest[1..], is_word)),
        c if c.is_ascii_digit() && !matches!(before, '#' | '%') => (Kind::Constant, number_length(rest)),
        '-' if second.is_ascii_digit() && matches!(before, ' ' | '(' | ',') => {
            (Kind::Constant, 1 + number_length(&rest[1..]))
        }
        c if is_word(c) => {
            let length = length_while(rest, is_word);
            (word(&rest[..length], &rest[length..]), length + usize::from(is_module(&rest[length..])))
        }
        c => (Kind::Plain, c.len_utf8()),
    }
}

/// The length of a character that the text starts with, `'a'` or `'\''`; `None` if it is an adjoint.
fn character_length(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let skipped = if inside.starts_with('\\') { 2 } else { inside.chars().next()?.len_utf8() };
    let end = inside.get(skipped..)?.find('\'')?;
    (end == 0 || inside.starts_with('\\') && end < "U0010ffff".len()).then_some(1 + skipped + end + 1)
}

/// What a word is, by itself and by what follows.
fn word(word: &str, rest: &str) -> Kind {
    match word {
        "goto" | "if" | "not" | "return" | "unreachable" | "invoke" | "enter" | "with" | "scope" | "switch"
        | "next" | "function" | "end" | "φ" | "φᶜ" | "ϒ" | "π" => Kind::Keyword,
        "nothing" | "true" | "false" | "missing" | "Inf" | "NaN" | "Inf32" | "NaN32" | "Inf16" | "NaN16" => {
            Kind::Constant
        }
        _ if is_module(rest) => Kind::Module,
        _ if rest.starts_with('(') => Kind::Callee,
        _ => Kind::Plain,
    }
}

/// Whether a name is followed by a point and a name.
fn is_module(rest: &str) -> bool {
    rest.strip_prefix('.').and_then(|rest| rest.chars().next()).is_some_and(|c| is_word(c) || c == ':')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '!'
}

fn length_while(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|c| !holds(c)).unwrap_or(text.len())
}

/// `12`, `0x1f`, `1.5e-10`, `1.5f0`.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let mut length = 0;
    for c in text.chars() {
        let sign = matches!(c, '-' | '+') && matches!(before, 'e' | 'f') && !text.starts_with("0x");
        if !(c.is_ascii_alphanumeric() || c == '.' || sign) {
            break;
        }
        length += c.len_utf8();
        before = c;
    }
    length.max(1)
}

/// The length of a string with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            c => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// The length of a type: up to what cannot follow in one.
fn type_length(text: &str) -> usize {
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '"' => {
                at += string_length(&text[at..]);
                continue;
            }
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth > 0 => depth -= 1,
            ',' | ' ' | ')' | ']' | '}' if depth == 0 => break,
            _ => {}
        }
        at += c.len_utf8();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(Kind, String)> {
        let pieces = pieces(text, |name| matches!(name, "%4" | "#2" | "%12v2"));
        pieces.into_iter().map(|(kind, range)| (kind, text[range].to_string())).collect()
    }

    /// A quotation mark that is a character begins no string, and what is no character is an adjoint.
    #[test]
    fn characters_are_told_from_strings() {
        for call in ["g('\"', %4)", "g('\\'', %4)", "g('\\u00e9', %4)", "g(x', %4)", "g('λ', %4)"] {
            assert!(cut(call).contains(&(Kind::Value, "%4".into())), "{call}");
        }
        assert!(cut("g('\"', %4)").contains(&(Kind::Constant, "'\"'".into())));
        assert!(cut("g('\\'', %4)").contains(&(Kind::Constant, "'\\''".into())));
    }

    #[test]
    fn pieces_are_told_apart() {
        use Kind::*;
        let expect = |text: &str, expected: &[(Kind, &str)]| {
            let expected: Vec<_> = expected.iter().map(|(kind, text)| (*kind, text.to_string())).collect();
            assert_eq!(cut(text), expected);
        };
        expect(
            "goto #2 if not %4",
            &[
                (Keyword, "goto"),
                (Plain, " "),
                (Block, "#2"),
                (Plain, " "),
                (Keyword, "if"),
                (Plain, " "),
                (Keyword, "not"),
                (Plain, " "),
                (Value, "%4"),
            ],
        );
        expect(
            "Base.f(\"%4\\\"\", %12v2, _2, -1.5e-3)::Tuple{A, B}",
            &[
                (Module, "Base."),
                (Callee, "f"),
                (Plain, "("),
                (Constant, "\"%4\\\"\""),
                (Plain, ", "),
                (Value, "%12v2"),
                (Plain, ", "),
                (Argument, "_2"),
                (Plain, ", "),
                (Constant, "-1.5e-3"),
                (Plain, ")"),
                (Type, "::Tuple{A, B}"),
            ],
        );
        expect("%7 + x#2", &[(Plain, "%7 + x#2")]);
    }

    #[test]
    fn every_text_is_cut_without_loss() {
        for text in ["", "\"", "::", ":", "%", "#", "_", "-", "é\"é", "::{(", "x.", "1e", "\\\"%4"] {
            assert_eq!(cut(text).into_iter().map(|(_, text)| text).collect::<String>(), text);
        }
    }
}
