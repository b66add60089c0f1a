//! BBCode on the screen.

use std::fmt::{self, Write};

use ircode::text::{StatementPrinter, write_header, write_typed};
use ircode::{Body, Function, Module, Style, Violation, Violations};

use crate::code::BBCode;
use crate::ids::Ids;

/// The listing: every statement and every block by its name, and where control falls through. Statements that were made
/// from others, as those of a derivative are, show the one they come from.
impl fmt::Display for BBCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_listing(f, self, &[])
    }
}

/// Shows the violations under the statements that they concern, with a caret line for each.
///
/// ```
/// use bbcode::{BBCode, display_violations};
/// use ircode::parse_function;
///
/// let mut bb = BBCode::try_from(&parse_function("
/// 1 ─ %1 = Base.add_float(_2, _2)::Float64
/// └──      return %1
/// ")?.body)?;
/// let first = bb.first_inst(bb.entry().unwrap()).unwrap();
/// bb.remove_unchecked(first)?;
/// let violations = bb.verify().unwrap_err();
/// assert_eq!(display_violations(&bb, &violations), "\
/// 1 ─ %2 = return %1
///          ^^^^^^^^^ IR26: it uses %1, which does not exist
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn display_violations(bb: &BBCode, violations: &Violations<Ids>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_listing(&mut out, bb, &violations.0);
    out
}

/// Prints a function with its header.
pub fn print_function(function: &Function<BBCode>) -> String {
    let mut out = String::new();
    let _ = write_header(&mut out, function, &function.body.argtypes, Style::Julia);
    let _ = writeln!(out, "\n{}end", function.body);
    out
}

/// Prints the functions of a module.
pub fn print_module(module: &Module<BBCode>) -> String {
    let functions: Vec<String> = module.functions().iter().map(print_function).collect();
    functions.join("\n")
}

fn write_listing(out: &mut dyn Write, bb: &BBCode, violations: &[Violation<Ids>]) -> fmt::Result {
    let view = bb.view();
    let printer = StatementPrinter::new(Style::Julia);
    let mut name = String::new();
    let mut id_width = 0;
    for statement in &view.statements {
        name.clear();
        write!(name, "{}", statement.name)?;
        id_width = id_width.max(name.len());
    }
    let mut line = String::new();
    let block_name = |block: &ircode::BlockView<Ids>| block.name.to_string().trim_start_matches('#').to_string();
    let block_width = view.blocks.iter().map(|block| block_name(block).len()).max().unwrap_or(0);
    for violation in violations.iter().filter(|violation| violation.block.is_none() && violation.statement.is_none()) {
        writeln!(out, "{violation}")?;
    }
    let blank = " ".repeat(block_width + 2);
    let bar = format!("│{}", " ".repeat(block_width + 1));
    let last_bar = format!("└{}", "─".repeat(block_width + 1));
    for block in &view.blocks {
        let name = block_name(block);
        let rule = if block.preds.len() <= 1 { '─' } else { '┄' };
        let header = format!("{name} {rule}{}", "─".repeat(block_width - name.len()));
        let statements = view.block_statements(block);
        let falls = statements.last().is_none_or(|last| last.stmt.falls_through());
        let next = block.fallthrough.filter(|_| falls);
        let rows = statements.len() + usize::from(next.is_some());
        if rows == 0 {
            writeln!(out, "{header}")?;
        }
        for row in 0..rows {
            line.clear();
            line.push_str(match row {
                0 => &header,
                row if row + 1 == rows => &last_bar,
                _ => &bar,
            });
            let Some(statement) = statements.get(row) else {
                if let Some(next) = next {
                    writeln!(out, "{line} next {next}")?;
                }
                continue;
            };
            line.push(' ');
            let start = line.len();
            write!(line, "{}", statement.name)?;
            line.extend(std::iter::repeat_n(' ', (start + id_width).saturating_sub(line.len())));
            line.push_str(" = ");
            let start = line.len();
            write_typed(&mut line, &printer, statement.stmt, statement.ty)?;
            let end = line.len();
            if let Some(origin) = view.debuginfo.origins(statement.line).last() {
                write!(line, "  ← {origin}")?;
            }
            line.push('\n');
            out.write_str(&line)?;
            let concerned = violations.iter().filter(|violation| violation.statement == Some(statement.name));
            for violation in concerned {
                let text = line.get(start..end).unwrap_or_default();
                let carets = "^".repeat(text.chars().count().max(1));
                let indent = " ".repeat(id_width + 4);
                writeln!(out, "{blank}{indent}{carets} {}: {}", violation.check, violation.message)?;
                if let Some(help) = &violation.help {
                    writeln!(out, "{blank}{indent}help: {help}")?;
                }
            }
        }
        let concerned = violations.iter().filter(|v| v.block == Some(block.name) && v.statement.is_none());
        for violation in concerned {
            writeln!(out, "{blank} ^ {}: {}", violation.check, violation.message)?;
        }
    }
    Ok(())
}
