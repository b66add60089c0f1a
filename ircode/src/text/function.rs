//! Printing functions and modules.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::Style;
use super::declaration::print_declaration;
use super::header::own_type;
use super::print::{StatementPrinter, default_type, on_one_line};
use crate::cfg::Cfg;
use crate::code::IRCode;
use crate::constant::{is_identifier, write_string};
use crate::instruction::LineInfo;
use crate::module::{Function, Module};
use crate::names::{Names, Positions};
use crate::stmt::Stmt;
use crate::types::Type;
use crate::view::{Body, StatementView, View};

/// Prints a module: declarations, then the functions, each with its header.
pub fn print_module(module: &Module<IRCode>, style: Style) -> String {
    let mut out = String::new();
    for declaration in module.declarations() {
        out.push_str(&print_declaration(&declaration));
        out.push('\n');
    }
    for (i, function) in module.functions().iter().enumerate() {
        out.push_str(if i > 0 { "\n" } else { "" });
        out.push_str(&print_function(function, style));
    }
    out
}

/// Prints a function with its header.
pub fn print_function(function: &Function<IRCode>, style: Style) -> String {
    let mut out = String::new();
    let _ = write_function(&mut out, function, style);
    out
}

/// Whether the name of a function needs no `var"…"` in a header.
pub(super) fn is_plain_function_name(name: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '(' | ')' | '"' | ';');
    name.chars().all(plain)
}

/// Writes `function NAME(_2::T, …)::R`, without the end of the line.
pub fn write_header<F>(out: &mut dyn Write, function: &Function<F>, argtypes: &[Type], style: Style) -> fmt::Result {
    out.write_str("function ")?;
    match is_plain_function_name(&function.name) {
        true => out.write_str(&function.name)?,
        false => {
            out.write_str("var")?;
            write_string(out, &function.name)?;
        }
    }
    out.write_char('(')?;
    let mut first = true;
    let own = argtypes.first().unwrap_or(&Type::Untyped);
    if *own != own_type(&function.name) && (style == Style::Bbkit || *own != Type::Untyped) && !argtypes.is_empty() {
        write!(out, "_1")?;
        write_annotation(out, own, style)?;
        first = false;
    }
    for (i, ty) in argtypes.iter().enumerate().skip(1) {
        out.write_str(if first { "" } else { ", " })?;
        first = false;
        match function.parameters.get(i - 1) {
            Some(Some(name)) if style != Style::Bbkit && is_identifier(name) => write!(out, "{name}")?,
            _ => write!(out, "_{}", i + 1)?,
        }
        write_annotation(out, ty, style)?;
    }
    out.write_char(')')?;
    write_annotation(out, &function.result, style)
}

fn write_annotation(out: &mut dyn Write, ty: &Type, style: Style) -> fmt::Result {
    if *ty == Type::Untyped {
        return Ok(());
    }
    out.write_str("::")?;
    match StatementPrinter::new(style).type_text(ty) {
        text if style == Style::Bbkit && !super::print::is_one_type(&text) => write_string(out, &text),
        text => out.write_str(&on_one_line(text)),
    }
}

fn write_function(out: &mut dyn Write, function: &Function<IRCode>, style: Style) -> fmt::Result {
    let ir = &function.body;
    write_header(out, function, &ir.argtypes, style)?;
    out.write_char('\n')?;
    if style == Style::Bbkit {
        write_attribute_lines(out, function)?;
    }
    write_body(out, ir, style)?;
    out.write_str("end\n")
}

/// Attributes of the function that its header does not show.
fn write_attribute_lines(out: &mut dyn Write, function: &Function<IRCode>) -> fmt::Result {
    let ir = &function.body;
    if let Some(version) = ir.julia {
        writeln!(out, "; julia {version}")?;
    }
    if function.varargs {
        out.write_str("; varargs\n")?;
    }
    if ir.argtypes.is_empty() {
        out.write_str("; argtypes\n")?;
    }
    if !function.parameters.is_empty() {
        out.write_str("; parameters")?;
        for name in &function.parameters {
            out.write_char(' ')?;
            match name {
                Some(name) => write_string(out, name)?,
                None => out.write_char('_')?,
            }
        }
        out.write_char('\n')?;
    }
    if !ir.sptypes.is_empty() {
        out.write_str("; sptypes")?;
        for ty in &ir.sptypes {
            out.write_char(' ')?;
            write_string(out, &ty.to_string())?;
        }
        out.write_char('\n')?;
    }
    let printer = StatementPrinter::new(Style::Bbkit);
    for stmt in &ir.meta {
        out.write_str("; meta ")?;
        printer.write(out, stmt, true)?;
        out.write_char('\n')?;
    }
    if *ir.debuginfo != crate::DebugInfo::default() {
        let json = serde_json::to_string(&*ir.debuginfo).map_err(|_| fmt::Error)?;
        writeln!(out, "; debuginfo {json}")?;
    }
    let ranges: Vec<_> = ir.cfg.blocks.iter().map(|block| block.stmts.clone()).collect();
    let implied = Cfg::from_ranges(ir.stmts.stmts(), &ranges);
    for (i, (block, implied)) in ir.cfg.blocks.iter().zip(&implied.blocks).enumerate() {
        if block != implied {
            write!(out, "; #{} preds", i + 1)?;
            block.preds.iter().try_for_each(|pred| write!(out, " {pred}"))?;
            out.write_str(" succs")?;
            block.succs.iter().try_for_each(|succ| write!(out, " {succ}"))?;
            out.write_char('\n')?;
        }
    }
    Ok(())
}

/// Prints a body without a header, as a listing.
pub fn print_body(body: &IRCode, style: Style) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_body(&mut out, body, style);
    out
}

/// The listing, as Julia's `show` of an IRCode prints it: line numbers, blocks, statements, types.
impl fmt::Display for IRCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_body(f, self, Style::Julia)
    }
}

fn write_body(out: &mut dyn Write, ir: &IRCode, style: Style) -> fmt::Result {
    Listing::new(&ir.view(), style).write(out)
}

/// A listing being printed: how wide its columns are.
struct Listing<'v, 'a> {
    view: &'v View<'a, Positions>,
    style: Style,
    printer: StatementPrinter,
    /// Which values are used, and so get their names printed.
    used: Vec<bool>,
    id_width: usize,
    block_width: usize,
    line_numbers: Vec<i32>,
    line_width: usize,
    /// The pending nodes shown before each statement.
    pending: BTreeMap<usize, Vec<usize>>,
}

impl<'v, 'a> Listing<'v, 'a> {
    fn new(view: &'v View<'a, Positions>, style: Style) -> Self {
        let mut used = vec![style == Style::Bbkit; view.statements.len()];
        let mut widest = if style == Style::Bbkit { view.statements.len() as u32 } else { 0 };
        for statement in &view.statements {
            statement.stmt.for_each_use(|value| {
                widest = widest.max(value.0);
                if let Some(used) = view.value_index(value).and_then(|index| used.get_mut(index)) {
                    *used = true;
                }
            });
        }
        let mut last = 0;
        let mut line_numbers = Vec::with_capacity(view.statements.len());
        let exact_needs_table = style == Style::Bbkit && !view.debuginfo.linetable.is_empty();
        let lines = view.debuginfo.outermost_lines(view.statements.iter().map(|statement| statement.line));
        for (statement, line) in view.statements.iter().zip(lines) {
            let shown = !exact_needs_table && line > 0 && line != last && statement.pending.is_none();
            line_numbers.push(if shown { line } else { 0 });
            if shown {
                last = line;
            }
        }
        let mut pending: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, statement) in view.statements.iter().enumerate() {
            if let Some(place) = statement.pending {
                let anchor = place.anchor.unwrap_or(usize::MAX);
                let key = if place.attach_after { anchor.saturating_add(1) } else { anchor };
                pending.entry(key).or_default().push(index);
            }
        }
        for nodes in pending.values_mut() {
            nodes.sort_by_key(|&index| view.statements.get(index).map(|statement| statement.order));
        }
        let digits = |n: usize| n.checked_ilog10().map_or(0, |log| log as usize + 1);
        Listing {
            view,
            style,
            printer: StatementPrinter::new(style),
            used,
            id_width: digits(widest as usize),
            block_width: digits(view.blocks.len()),
            line_width: line_numbers.iter().map(|&line| digits(line as usize)).max().unwrap_or(0),
            line_numbers,
            pending,
        }
    }

    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        let mut last_line = 0;
        let last_filled = self.view.blocks.iter().rposition(|block| !block.statements.is_empty());
        for (number, block) in self.view.blocks.iter().enumerate() {
            // Julia prints nothing for a block without statements. A gap in the numbers shows it, but not at the ends.
            let is_shown = self.style == Style::Bbkit || number == 0 || Some(number) > last_filled;
            // Each row with its line number: that of a statement stands beside what is pending before it.
            let mut rows = Vec::new();
            for index in block.statements.clone() {
                let line = self.line_numbers.get(index).copied().unwrap_or(0);
                let first = rows.len();
                rows.extend(self.pending_at(index, false).map(|node| (node, 0)));
                rows.push((index, 0));
                if let Some(row) = rows.get_mut(first) {
                    row.1 = line;
                }
                rows.extend(self.pending_at(index + 1, true).map(|node| (node, 0)));
            }
            let number = (number + 1).to_string();
            let virtual_counted = if block.preds.len() <= 1 { '─' } else { '┄' };
            let rules = "─".repeat(self.block_width.saturating_sub(number.len()));
            let header = format!("{number} {virtual_counted}{rules}");
            if rows.is_empty() && is_shown {
                self.write_line_number(out, 0)?;
                writeln!(out, "{header}")?;
            }
            // What is attached behind the last statement ends the block each, as Julia prints it since 1.9.
            let behind = rows.iter().rev().take_while(|(index, _)| self.is_attached_behind(*index)).count();
            let ends = if self.style == Style::Bbkit { 1 } else { behind.max(1) };
            let last = rows.len().saturating_sub(ends);
            for (i, &(index, line)) in rows.iter().enumerate() {
                self.write_line_number(out, line)?;
                if line > 0 {
                    last_line = line;
                }
                if i == 0 {
                    out.write_str(&header)?;
                } else if i >= last {
                    write!(out, "└{}", "─".repeat(self.block_width + 1))?;
                } else {
                    write!(out, "│{}", " ".repeat(self.block_width + 1))?;
                }
                out.write_char(' ')?;
                if let Some(statement) = self.view.statements.get(index) {
                    self.write_statement(out, index, statement, last_line)?;
                }
                out.write_char('\n')?;
            }
        }
        Ok(())
    }

    /// Pending nodes shown before the statement at `index`: those that go before it, or those that go behind the one
    /// before it, which belong to the block of that one.
    fn pending_at(&self, index: usize, behind: bool) -> impl Iterator<Item = usize> + '_ {
        let nodes = self.pending.get(&index).map(Vec::as_slice).unwrap_or_default();
        nodes.iter().copied().filter(move |&node| {
            let place = self.view.statements.get(node).and_then(|statement| statement.pending);
            place.is_some_and(|place| place.attach_after == behind)
        })
    }

    fn is_attached_behind(&self, index: usize) -> bool {
        let place = self.view.statements.get(index).and_then(|statement| statement.pending);
        place.is_some_and(|place| place.attach_after)
    }

    fn write_line_number(&self, out: &mut dyn Write, line: i32) -> fmt::Result {
        match (self.line_width, line) {
            (0, _) => Ok(()),
            (width, 0) => write!(out, "{:width$} ", ""),
            (width, line) => write!(out, "{line:<width$} "),
        }
    }

    fn write_statement(
        &self,
        out: &mut dyn Write,
        index: usize,
        statement: &StatementView<'_, Positions>,
        last_line: i32,
    ) -> fmt::Result {
        let width = self.id_width;
        if self.used.get(index).is_some_and(|&used| used) {
            write!(out, "%{:<width$} = ", statement.name.0)?;
        } else {
            write!(out, "{:width$}    ", "")?;
        }
        write_typed(out, &self.printer, statement.stmt, statement.ty)?;
        if self.style == Style::Bbkit {
            write_attributes(out, statement, last_line)?;
        }
        Ok(())
    }
}

/// Writes a statement and its type, as far as Julia shows it.
pub fn write_typed<N: Names>(
    out: &mut dyn Write,
    printer: &StatementPrinter,
    stmt: &Stmt<N>,
    ty: &Type,
) -> fmt::Result {
    if printer.spells_unreachable(stmt) {
        return out.write_str("$(Expr(:unreachable))::Union{}");
    }
    let shown = default_type(stmt).is_none()
        && *ty != Type::Untyped
        && (!printer.exact() || ty.as_scalar().is_some() || reads_back_at_end(&ty.to_string()));
    printer.write(out, stmt, shown)?;
    if shown {
        out.write_str("::")?;
        printer.write_type_text(out, ty)?;
    }
    Ok(())
}

/// Writes what the line so far does not say.
fn write_attributes(out: &mut dyn Write, statement: &StatementView<'_, Positions>, last_line: i32) -> fmt::Result {
    let mut attributes = String::new();
    if statement.flag != 0 {
        write!(attributes, " flag=0x{:x}", statement.flag)?;
    }
    if let Some(info) = &statement.info.0 {
        attributes.push_str(" info=");
        write_string(&mut attributes, info)?;
    }
    if statement.line != LineInfo::from(last_line) {
        let LineInfo { line, edge, pc } = statement.line;
        write!(attributes, " line={line}:{edge}:{pc}")?;
    }
    let default = default_type(statement.stmt);
    let text = statement.ty.to_string();
    let unprinted = default.as_ref().is_some_and(|default| default != statement.ty);
    let misread = default.is_none() && *statement.ty != Type::Untyped && !reads_back_at_end(&text);
    if unprinted || misread {
        attributes.push_str(" type=");
        write_string(&mut attributes, &text)?;
    }
    if let Stmt::Invoke(invoke) = statement.stmt {
        let instance = &invoke.instance;
        if let Some(name) = &instance.name {
            attributes.push_str(" instance=");
            write_string(&mut attributes, name)?;
        }
        if instance.code_instance {
            attributes.push_str(" code_instance");
        }
        let types = &instance.argtypes;
        if types.len() > invoke.args.len() || types.last() == Some(&Type::Untyped) {
            attributes.push_str(" signature=(");
            for (i, ty) in types.iter().enumerate() {
                attributes.push_str(if i > 0 { "," } else { "" });
                write_string(&mut attributes, &ty.to_string())?;
            }
            attributes.push(')');
        }
    }
    if let Some(place) = statement.pending {
        attributes.push_str(if place.attach_after { " pending=after" } else { " pending=before" });
    }
    if attributes.is_empty() { Ok(()) } else { write!(out, " ;{attributes}") }
}

/// Whether a type that stands at the end of a statement is read whole.
fn reads_back_at_end(text: &str) -> bool {
    use super::balanced::is_balanced;
    text.trim() == text
        && !text.contains(['\n', '\r'])
        && text != "#UNDEF"
        && super::statement_end::type_length(text) == text.len()
        && is_balanced(text)
}
