//! A `CodeInfo(` inside of something else that is printed: `ci = CodeInfo(`, `Any[CodeInfo(`, `Out[3]: CodeInfo(`, and
//! the next of a vector.

use super::balanced::balanced_length;

const OPEN: &str = "CodeInfo(";

/// What stands before a `CodeInfo(` on its line.
pub(super) struct Enclosed {
    before: String,
}

impl Enclosed {
    /// The line, if it ends with a `CodeInfo(` that something stands before, and that is no statement.
    pub(super) fn opening(line: &str) -> Option<Enclosed> {
        let before = line.strip_suffix(OPEN)?;
        let encloses = ["(", "[", "= ", "=> ", ": ", ", "].iter().any(|end| before.ends_with(end));
        // Inside of an expression it is the code of a method, not in SSA form.
        let other = before.contains(['│', '└', '─', '┄', '%']) || before.contains("Expr(");
        let prompt = before.starts_with("julia>") || before.starts_with("In [");
        (encloses && !other && !prompt).then(|| Enclosed { before: before.to_string() })
    }

    /// The type of the result, if there is one, on a line that closes the `CodeInfo(` and all that it stands in. `None`
    /// for a line that does not close that.
    pub(super) fn closing<'a>(&self, line: &'a str) -> Option<Option<&'a str>> {
        let rest = line.strip_prefix(')')?;
        if !brackets_match(&format!("{}{OPEN}{line}", self.before)) {
            return None;
        }
        // As a pair, or as a tuple of both.
        let arrow = rest.trim_start().strip_prefix("=>");
        let result = arrow.or_else(|| if self.before == "(" { rest.strip_prefix(", ") } else { None });
        let known = result.is_some() || rest.is_empty() || rest.starts_with([',', ')', ']']);
        let length = |result: &str| balanced_length(result, |rest| rest.starts_with(','));
        known.then(|| result.and_then(|result| result.get(..length(result))))
    }

    /// The type of the result, if there is one, on a line that closes the `CodeInfo(` and opens the next of a vector,
    /// and what stands before that.
    pub(super) fn next<'a>(&self, line: &'a str) -> Option<(Option<&'a str>, Enclosed)> {
        let between = line.strip_suffix(OPEN)?;
        let rest = between.strip_prefix(')')?.strip_suffix(", ")?;
        let result = rest.trim_start().strip_prefix("=>");
        let before = format!("{}{OPEN}{between}", self.before);
        (result.is_some() || rest.is_empty()).then_some((result, Enclosed { before }))
    }
}

/// Whether every bracket is closed by one of its kind, in strings too.
fn brackets_match(text: &str) -> bool {
    let mut open = Vec::new();
    let mut closes = |bracket: char| match bracket {
        '(' | '[' | '{' => {
            open.push(bracket);
            true
        }
        ')' => open.pop() == Some('('),
        ']' => open.pop() == Some('['),
        '}' => open.pop() == Some('{'),
        _ => true,
    };
    text.chars().all(&mut closes) && open.is_empty()
}

#[cfg(test)]
mod tests {
    use crate::{parse_function, parse_module};

    #[test]
    fn what_opens_is_closed() {
        let plain = parse_function("CodeInfo(\n1 ─     return 1\n) => Int64\n").unwrap();
        for (before, behind) in [
            ("ci = ", ") => Int64"),
            ("Any[", ") => Int64]"),
            ("f(g, (Int,)) = Any[", ") => Int64]"),
            ("(", "), Int64)"),
            ("Out[3]: ", ") => Int64"),
            ("  1 => ", ")=>Int64"),
        ] {
            let text = format!("{before}CodeInfo(\n1 ─     return 1\n{behind}\n");
            assert_eq!(parse_function(&text).unwrap(), plain, "{text}");
        }
        let untyped = parse_function("CodeInfo(\n1 ─     return 1\n)\n").unwrap();
        let frame = "Frame(f(x) in Main at none:1, CodeInfo(\n1 ─     return 1\n), Any[#undef], BitSet([]), false)\n";
        assert_eq!(parse_function(frame).unwrap(), untyped);
    }

    #[test]
    fn several_share_lines() {
        let text = "Any[CodeInfo(\n1 ─     return 1\n) => Tuple{Int64, Int64}, CodeInfo(\n1 ─     return _2\n), CodeInfo(\n1 ─     return 3\n) => Any]\n";
        let module = parse_module(text).unwrap().module;
        let results: Vec<String> = module.functions().iter().map(|function| function.result.to_string()).collect();
        let untyped = parse_function("CodeInfo(\n1 ─     return 1\n)\n").unwrap().result.to_string();
        assert_eq!(results, ["Tuple{Int64, Int64}", &untyped, "Any"]);
    }

    #[test]
    fn what_is_closed_otherwise_is_none() {
        for (before, behind) in [
            ("Any[", ") => Int64"),
            ("Any[", ")"),
            ("Any[", ")]]"),
            ("(", ") => Int64]"),
            ("ci = ", ") and more"),
            ("ci = ", ""),
            ("Any[", ") => Int64, CodeInfo("),
            ("Any[", ") => Int64, CodeInfo(\n1 ─     return 2\n) => Int64"),
            ("Any[", ") => Int64, CodeInfo(\n1 ─     return 2\n)) => Int64]"),
            ("%1 = ", ")"),
            ("$(Expr(:method, ", ")))"),
            ("word ", ")"),
        ] {
            let text = format!("{before}CodeInfo(\n1 ─     return 1\n{behind}\n");
            assert!(parse_function(&text).is_err(), "{text}");
        }
    }
}
