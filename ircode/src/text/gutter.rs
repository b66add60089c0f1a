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
    /// Whether it ends a block: `└`.
    pub(super) ends_block: bool,
}

/// Reads the margin of a line; `None` if the line has none.
pub(super) fn gutter(cursor: &mut Cursor<'_>) -> Result<Option<Gutter>, Diagnostic> {
    cursor.skip_spaces();
    let start = cursor.pos();
    skip_escape_mark(cursor);
    let first = cursor.digits();
    cursor.skip_spaces();
    skip_escape_mark(cursor);
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
    let ends_block = cursor.starts_with("└");
    let gutter = Gutter {
        line: number(line, "line", i32::MAX)?.map(|n| n as i32),
        block: number(block, "block", i32::MAX - 1)?,
        ends_block,
    };
    // The rule, and after it one bar for each scope that a listing with source locations has open.
    while cursor.eat("│") || cursor.eat("└") || cursor.eat("─") || cursor.eat("┄") {}
    let end = cursor.pos();
    cursor.skip_spaces();
    let bars = cursor.pos();
    while cursor.eat("│") {}
    if cursor.pos() == bars || !cursor.starts_with(" ") {
        cursor.seek(end);
    }
    skip_cost(cursor);
    Ok(Some(gutter))
}

/// What `code_escapes` puts before a line: how the value of the statement escapes, and a `′` if the object does too.
fn skip_escape_mark(cursor: &mut Cursor<'_>) {
    let start = cursor.pos();
    let Some(mark) = cursor.peek().filter(|mark| matches!(mark, '◌' | '✓' | '↑' | 'X' | '*' | '→' | '↓' | '➥' | '⮬'))
    else {
        return;
    };
    cursor.seek(start + mark.len_utf8());
    cursor.eat("′");
    match cursor.starts_with(" ") {
        true => cursor.skip_spaces(),
        false => cursor.seek(start),
    }
}

/// What inlining the statement costs, which Cthulhu puts before it: a number, and behind it something that does not go
/// on with an expression.
fn skip_cost(cursor: &mut Cursor<'_>) {
    let start = cursor.pos();
    cursor.skip_spaces();
    let is_number = !cursor.digits().is_empty() && cursor.starts_with(" ");
    let number = cursor.pos();
    cursor.skip_spaces();
    // The scopes that a listing with source locations has open.
    let bars = cursor.pos();
    while cursor.eat("│") {}
    let cost = if cursor.pos() > bars { cursor.pos() } else { number };
    cursor.skip_spaces();
    let rest = cursor.rest();
    let goes_on = ["isa ", "in ", ": ", "% "].iter().any(|operator| rest.starts_with(operator));
    let starts = rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '%' | '(' | '$' | ':' | '"'));
    cursor.seek(if is_number && starts && !goes_on { cost } else { start });
}

fn is_rule(cursor: &Cursor<'_>) -> bool {
    cursor.starts_with("─") || cursor.starts_with("┄")
}

#[cfg(test)]
mod tests {
    use crate::parse_function;

    #[test]
    fn costs_and_escape_marks_are_no_part_of_a_statement() {
        let plain =
            parse_function("1 ─ %1 = Base.add_int(_2, 1)::Int64\n│        Main.f(%1)::Any\n└──      return %1\n")
                .unwrap();
        let costs = "1 ─    1 %1 = Base.add_int(_2, 1)::Int64\n│   1000 Main.f(%1)::Any\n└──    0 return %1\n";
        assert_eq!(parse_function(costs).unwrap(), plain);
        let scopes = "     ┌ @ a.jl:2 within `f`\n1 ─    1 │ %1 = Base.add_int(_2, 1)::Int64\n│        │┌ @ b.jl:3 within `g`\n│   1000 ││      Main.f(%1)::Any\n│        └└\n└──    0        return %1\n";
        assert_eq!(parse_function(scopes).unwrap().body.to_string(), plain.body.to_string());
        let marks = "◌  1 ─ %1 = Base.add_int(_2, 1)::Int64\n*′ │        Main.f(%1)::Any\n◌  └──      return %1\n";
        assert_eq!(parse_function(marks).unwrap(), plain);
        // Those of older versions.
        assert_eq!(parse_function(&marks.replace('*', "⮬").replace('◌', "↓")).unwrap(), plain);
    }

    #[test]
    fn what_all_statements_cost_is_no_line() {
        let body = |text: &str| parse_function(text).unwrap().body;
        let plain =
            body("1 ─ %1 = Base.add_int(x, 1)::Int64\n│   %2 = Base.sdiv_int(%1, 2)::Int64\n└──      return %2\n");
        let costs = "  1 1 ─ %1 = Base.add_int(x, 1)::Int64\n 20 │   %2 = Base.sdiv_int(%1, 2)::Int64\n  0 └──      return %2\n";
        assert_eq!(body(costs), plain);
        let lines = body(&costs.replace("  0 └", "  3 └").replace('x', "_2"));
        assert_eq!(lines.stmts.lines().iter().map(|line| line.line).collect::<Vec<_>>(), [1, 20, 3]);
    }

    #[test]
    fn a_literal_at_the_start_of_a_statement_stays() {
        for stmt in ["1 + 2", "5", "1 isa T", "(1, 2)", "3 % x"] {
            let text = format!("1 ─      {stmt}\n└──      return 1\n");
            let body = parse_function(&text).map(|function| function.body.stmts.stmts().len());
            assert_eq!(body.ok(), Some(2), "{text}");
        }
        assert!(parse_function("? 1 ─      return 1\n").is_err());
    }
}
