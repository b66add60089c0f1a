//! Text with balanced brackets: how far something reaches that need not be understood.

/// Scans text for its nesting: brackets of the three kinds, string literals, character literals.
///
/// Used on the printed form of Julia values and types, where text that is not understood is kept whole.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    /// Steps over one byte, or over a whole string or character literal. `false` at the end, at a bracket that closes
    /// nothing, and at a string that does not end.
    fn step(&mut self) -> bool {
        let Some(&byte) = self.bytes.get(self.at) else { return false };
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => {
                if self.depth == 0 {
                    return false;
                }
                self.depth -= 1;
            }
            b'"' => return self.skip_literal(b'"'),
            b'\'' => {
                // A quote that closes within a few bytes is a character; otherwise it is part of a name.
                let start = self.at;
                if let Some(length) = character_length(self.bytes.get(start..).unwrap_or_default()) {
                    self.at = start + length;
                    return true;
                }
            }
            _ => {}
        }
        self.at += 1;
        true
    }

    fn skip_literal(&mut self, quote: u8) -> bool {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            if byte == b'\\' {
                self.at += 1;
            } else if byte == quote {
                return true;
            }
        }
        false
    }
}

/// The length in bytes of the character literal that the text starts with, quotes included.
pub(crate) fn character_length(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(24))?)
        .or_else(|error| std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default()));
    let text = text.ok()?;
    let mut chars = text.char_indices();
    if chars.next()?.1 != '\'' {
        return None;
    }
    let (_, first) = chars.next()?;
    if first == '\\' {
        let end = chars.skip(1).find(|&(_, c)| c == '\'')?.0;
        return Some(end + 1);
    }
    let (end, close) = chars.next()?;
    (close == '\'' && first != '\'').then_some(end + 1)
}

/// Splits at every `separator` outside of brackets and literals. Empty text gives no parts. `None` if the brackets do
/// not balance.
pub(crate) fn split_depth_0(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, depth: 0 };
    let mut start = 0;
    loop {
        let at = scanner.at;
        if scanner.depth == 0 && text.as_bytes().get(at).is_some_and(|&b| char::from(b) == separator) {
            parts.push(text.get(start..at)?);
            start = at + 1;
        }
        if !scanner.step() {
            break;
        }
    }
    if scanner.at < text.len() || scanner.depth > 0 {
        return None;
    }
    let last = text.get(start..)?;
    if !(parts.is_empty() && last.trim().is_empty()) {
        parts.push(last);
    }
    Some(parts)
}

/// Whether every bracket outside of literals is closed by one of its kind, and every string ends.
pub(crate) fn is_balanced(text: &str) -> bool {
    // What has none of these cannot be unbalanced, which is most types.
    if !text.bytes().any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"')) {
        return true;
    }
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, depth: 0 };
    while scanner.at < text.len() {
        if !scanner.step() {
            return false;
        }
    }
    scanner.at == text.len() && scanner.depth == 0
}

/// The position of the first `pattern` outside of brackets and literals.
pub(crate) fn find_depth_0(text: &str, pattern: &str) -> Option<usize> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, depth: 0 };
    loop {
        if scanner.depth == 0
            && text.as_bytes().get(scanner.at..).is_some_and(|rest| rest.starts_with(pattern.as_bytes()))
        {
            return Some(scanner.at);
        }
        if !scanner.step() {
            return None;
        }
    }
}

/// What stands before a separator outside of brackets and literals, and what behind it, if there is one.
pub(crate) fn parted<'t>(text: &'t str, separator: &str) -> (&'t str, Option<&'t str>) {
    match find_depth_0(text, separator) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + separator.len()..)),
        None => (text, None),
    }
}

/// The length of the balanced text at the start: up to the first byte outside of brackets and literals for which
/// `stop` holds, to the first bracket that closes nothing, or to the end.
pub(crate) fn balanced_length(text: &str, stop: impl Fn(&str) -> bool) -> usize {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, depth: 0 };
    loop {
        if scanner.depth == 0 && text.get(scanner.at..).is_some_and(&stop) {
            return scanner.at;
        }
        if !scanner.step() {
            return scanner.at.min(text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_respects_brackets_and_literals() {
        assert_eq!(split_depth_0("a, {b, c}, \",\", ','", ',').unwrap(), ["a", " {b, c}", " \",\"", " ','"]);
        assert_eq!(split_depth_0("", ',').unwrap(), Vec::<&str>::new());
        assert_eq!(split_depth_0("a,", ',').unwrap(), ["a", ""]);
        assert_eq!(split_depth_0("(a", ','), None);
        assert_eq!(split_depth_0("a)", ','), None);
        assert_eq!(split_depth_0("x', y", ',').unwrap(), ["x'", " y"]);
    }

    #[test]
    fn literals_hide_brackets() {
        for balanced in ["Core.Const(['\"', '{', '\\'', '('], false)", "a'", "Tuple{\"}\"}", "'\"'"] {
            assert!(is_balanced(balanced), "{balanced}");
        }
        for unbalanced in ["Tuple{", "a)", "\"", "(\")", "\"\\"] {
            assert!(!is_balanced(unbalanced), "{unbalanced}");
        }
    }

    #[test]
    fn balanced_text_ends_where_it_should() {
        let stop = |rest: &str| rest.starts_with(',');
        assert_eq!(balanced_length("Tuple{A,B}, c", stop), 10);
        assert_eq!(balanced_length("Float64)", stop), 7);
        assert_eq!(balanced_length("\"a", stop), 2);
    }
}
