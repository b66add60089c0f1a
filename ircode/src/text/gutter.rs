//! The left margin of a listing: line numbers, block numbers, and the rules that show where blocks begin and end.

use super::expression::Cursor;
use crate::diagnostic::Diagnostic;

/// What the margin of a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Gutter {
    /// The line number before the margin, in listings of an IRCode.
    pub(super) line: Option<i32>,
    /// The number of the block that starts here.
    pub(super) block: Option<u32>,
}

/// Reads the margin of a line; `None` if the line has none.
pub(super) fn gutter(cursor: &mut Cursor<'_>) -> Result<Option<Gutter>, Diagnostic> {
    cursor.skip_spaces();
    let start = cursor.pos();
    let first = cursor.digits();
    cursor.skip_spaces();
    let second = if first.is_empty() { "" } else { cursor.digits() };
    cursor.skip_spaces();
    let (line, block) = match (first, second) {
        (line, "") if cursor.starts_with("│") || cursor.starts_with("└") => (line, ""),
        (block, "") if !block.is_empty() && is_rule(cursor) => ("", block),
        (line, block) if !block.is_empty() && is_rule(cursor) => (line, block),
        _ => return Ok(None),
    };
    let number = |text: &str, what: &str, most: i32| -> Result<Option<u32>, Diagnostic> {
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().ok().filter(|&n| n <= most as u32).map(Some).ok_or_else(|| {
            let span = cursor.span(start, cursor.pos());
            Diagnostic::error(span, format!("{text} is no {what} number"), "too large")
        })
    };
    let gutter = Gutter {
        line: number(line, "line", i32::MAX)?.map(|n| n as i32),
        block: number(block, "block", i32::MAX - 1)?,
    };
    // The rule, and after it one bar for each scope that a listing with source locations has open.
    while cursor.eat("│") || cursor.eat("└") || cursor.eat("─") || cursor.eat("┄") {}
    let end = cursor.pos();
    cursor.skip_spaces();
    while cursor.eat("│") {}
    if !cursor.starts_with(" ") || !cursor.text(end..cursor.pos()).contains('│') {
        cursor.seek(end);
    }
    Ok(Some(gutter))
}

fn is_rule(cursor: &Cursor<'_>) -> bool {
    cursor.starts_with("─") || cursor.starts_with("┄")
}
