//! Listings as rows, so that they can be coloured, linked and compared.

use std::fmt::Write;

use bbcode::{BBCode, BlockId, Ids};
use ircode::text::StatementPrinter;
use ircode::{Body, Function, IRCode, Name, Names, Origin, StatementView, Style, View};

use super::escape::{escape_into, escaped};
use super::token::{Kind, Tokens};

/// A row of a listing.
pub(crate) struct Row {
    /// What the row is: the same name means the same statement in two listings of one function.
    pub(crate) key: String,
    /// The statement, without its sigil; `None` for a row that shows where control falls through.
    pub(crate) value: Option<String>,
    /// The block, without its sigil.
    pub(crate) block: String,
    /// The line number, as wide as its column.
    line: String,
    /// The rule at the left; the first row of a block has the block's number there.
    gutter: String,
    /// Whether this is the first row of the block.
    pub(crate) first: bool,
    /// `%4  = `, or as many blanks; empty for a row that shows where control falls through.
    name: String,
    /// What is computed.
    pub(crate) tokens: Tokens,
    /// From which statement this one was made, and how the listing says so.
    origin: Option<(Vec<Origin>, String)>,
}

/// A listing of a function.
pub(crate) struct Listing {
    /// The header, without the end of its line; empty for a listing without one.
    header: Header,
    pub(crate) rows: Vec<Row>,
}

/// The header of a function, cut at its parameters.
#[derive(Default)]
struct Header {
    before: String,
    parameters: Vec<String>,
    after: String,
}

/// How a listing is put into a page.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner<'a> {
    /// What the keys of statements and blocks begin with: where two functions stand side by side, they differ.
    pub(crate) prefix: &'a str,
    /// The function whose statements those of this one come from, and what its keys begin with.
    pub(crate) primal: Option<(&'a Name, &'a str)>,
}

impl Listing {
    /// The listing that [`ircode::print_function`] prints.
    pub(crate) fn of_ircode(function: &Function<IRCode>, style: Style) -> Listing {
        let view = function.body.view();
        let printer = StatementPrinter::new(style);
        let digits = |n: usize| n.checked_ilog10().map_or(0, |log| log as usize + 1);
        let mut used = vec![false; view.statements.len()];
        let mut widest = 0;
        for statement in &view.statements {
            statement.stmt.for_each_use(|value| {
                widest = widest.max(value.0);
                if let Some(used) = view.value_index(value).and_then(|index| used.get_mut(index)) {
                    *used = true;
                }
            });
        }
        let (id_width, block_width) = (digits(widest as usize), digits(view.blocks.len()));
        let mut last = 0;
        let mut lines: Vec<i32> = Vec::with_capacity(view.statements.len());
        for line in view.debuginfo.outermost_lines(view.statements.iter().map(|statement| statement.line)) {
            lines.push(if line > 0 && line != last { line } else { 0 });
            last = if line > 0 { line } else { last };
        }
        let line_width = lines.iter().map(|&line| digits(line as usize)).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(view.statements.len());
        for (number, block) in view.blocks.iter().enumerate() {
            let number = (number + 1).to_string();
            let statements = view.block_statements(block);
            for (row, (statement, index)) in statements.iter().zip(block.statements.clone()).enumerate() {
                let is_used = used.get(index).is_some_and(|&used| used);
                let line = lines.get(index).copied().unwrap_or(0);
                rows.push(Row {
                    key: without_sigil(statement.name),
                    value: Some(without_sigil(statement.name)),
                    block: number.clone(),
                    line: match (line_width, line) {
                        (0, _) => String::new(),
                        (width, 0) => format!("{:width$} ", ""),
                        (width, line) => format!("{line:<width$} "),
                    },
                    gutter: gutter(&number, block_width, block.preds.len(), row, statements.len()),
                    first: row == 0,
                    name: match is_used {
                        true => format!("%{:<id_width$} = ", statement.name.0),
                        false => format!("{:id_width$}    ", ""),
                    },
                    tokens: Tokens::of_statement(&view, &printer, statement.stmt, Some(statement.ty)),
                    origin: origin(&view, statement).map(|origin| (origin, String::new())),
                });
            }
        }
        Listing { header: Header::of(function, &function.body.argtypes, style), rows }
    }

    /// The listing that [`bbcode::print_function`] prints.
    pub(crate) fn of_bbcode(function: &Function<BBCode>) -> Listing {
        let view = function.body.view();
        let printer = StatementPrinter::new(Style::Julia);
        let id_width = view.statements.iter().map(|statement| statement.name.to_string().len()).max().unwrap_or(0);
        let block_width = view.blocks.iter().map(|block| without_sigil(block.name).len()).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(view.statements.len());
        for block in &view.blocks {
            let name = without_sigil(block.name);
            let statements = view.block_statements(block);
            let falls = statements.last().is_none_or(|last| last.stmt.falls_through());
            let next = block.fallthrough.filter(|_| falls);
            let count = (statements.len() + usize::from(next.is_some())).max(1);
            let gutter = |row: usize| gutter(&name, block_width, block.preds.len(), row, count);
            for (row, statement) in statements.iter().enumerate() {
                // The listing shows the innermost of the statements that this one comes from.
                let shown = view.debuginfo.origins(statement.line).last().map(|last| format!("  ← {last}"));
                rows.push(Row {
                    key: without_sigil(statement.name),
                    value: Some(without_sigil(statement.name)),
                    block: name.clone(),
                    line: String::new(),
                    gutter: gutter(row),
                    first: row == 0,
                    name: format!("{:<id_width$} = ", statement.name.to_string()),
                    tokens: Tokens::of_statement(&view, &printer, statement.stmt, Some(statement.ty)),
                    origin: origin(&view, statement).zip(shown),
                });
            }
            if next.is_some() || statements.is_empty() {
                rows.push(Row {
                    key: format!("next of {name}"),
                    value: None,
                    block: name.clone(),
                    line: String::new(),
                    gutter: gutter(statements.len()),
                    first: statements.is_empty(),
                    name: String::new(),
                    tokens: next_tokens(&view, next),
                    origin: None,
                });
            }
        }
        Listing { header: Header::of(function, &function.body.argtypes, Style::Julia), rows }
    }

    /// How many characters the widest row has.
    pub(crate) fn width(&self) -> usize {
        let row = |row: &Row| {
            let origin = row.origin.as_ref().map_or(0, |(_, shown)| shown.chars().count());
            let fixed = row.line.chars().count() + row.gutter.chars().count() + row.name.chars().count();
            fixed + row.tokens.text.chars().count() + origin + 1
        };
        let header = self.header.text().chars().count();
        self.rows.iter().map(row).max().unwrap_or(0).max(header)
    }

    /// Writes all rows, header and end included.
    pub(crate) fn write(&self, out: &mut String, manner: Manner<'_>) {
        self.write_header(out, manner);
        for row in &self.rows {
            row.write(out, manner, "", "");
        }
        self.write_end(out);
    }

    pub(crate) fn write_header(&self, out: &mut String, manner: Manner<'_>) {
        if self.header.before.is_empty() {
            return;
        }
        out.push_str("<div class=\"row head\">");
        write_tokens(out, &Tokens::of_text(self.header.before.clone()), "");
        for (i, parameter) in self.header.parameters.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let _ = write!(out, "<span data-d=\"{}a{}\">", manner.prefix, i + 2);
            write_tokens(out, &Tokens::of_text(parameter.clone()), "");
            out.push_str("</span>");
        }
        write_tokens(out, &Tokens::of_text(self.header.after.clone()), "");
        out.push_str("</div>\n");
    }

    pub(crate) fn write_end(&self, out: &mut String) {
        if !self.header.before.is_empty() {
            out.push_str("<div class=\"row head\"><span class=\"w\">end</span></div>\n");
        }
    }
}

impl Row {
    /// Whether both rows say the same, but for what stands in the margin.
    pub(crate) fn says_the_same(&self, other: &Row) -> bool {
        self.tokens.text == other.tokens.text
    }

    /// Writes the row. `class` is one more class for it, `block_class` one for the number of the block.
    pub(crate) fn write(&self, out: &mut String, manner: Manner<'_>, class: &str, block_class: &str) {
        let prefix = manner.prefix;
        let _ = write!(out, "<div class=\"row{class}\" data-in=\"{prefix}{}\"", self.block);
        if let Some(value) = &self.value {
            let _ = write!(out, " data-s=\"{prefix}{value}\"");
        }
        if let (Some((origins, _)), Some((primal, primal_prefix))) = (&self.origin, manner.primal)
            && let Some(origin) = origins.iter().find(|origin| origin.def.as_ref() == Some(primal))
        {
            let _ = write!(out, " data-o=\"{primal_prefix}{0}\" data-from=\"%{0}\"", origin.statement);
        }
        out.push('>');
        if !self.line.is_empty() {
            let _ = write!(out, "<span class=\"ln\">{}</span>", self.line);
        }
        let rule = match self.gutter.strip_prefix(&self.block).filter(|_| self.first) {
            Some(rule) => {
                let _ = write!(out, "<span class=\"bn{block_class}\" data-b=\"{prefix}{0}\">{0}</span>", self.block);
                rule
            }
            None => &self.gutter,
        };
        let _ = write!(out, "<span class=\"g\">{rule}</span>");
        if !(self.name.is_empty() && self.tokens.text.is_empty()) {
            out.push(' ');
        }
        match (self.name.split_once(' '), &self.value) {
            (Some((name, rest)), Some(value)) if !name.is_empty() => {
                let _ = write!(out, "<span class=\"v\" data-d=\"{prefix}{value}\">{name}</span> {rest}");
            }
            _ => out.push_str(&self.name),
        }
        write_tokens(out, &self.tokens, prefix);
        if let Some((_, shown)) = self.origin.as_ref().filter(|(_, shown)| !shown.is_empty()) {
            let _ = write!(out, "<span class=\"o\">{}</span>", escaped(shown));
        }
        out.push_str("</div>\n");
    }
}

impl Header {
    fn of<F>(function: &Function<F>, argtypes: &[ircode::Type], style: Style) -> Header {
        if function.name.is_empty() {
            return Header::default();
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = ircode::text::write_header(&mut text, function, argtypes, style);
        // The parameters as they would stand behind each other: if they do, the header is cut there.
        let shown = |index: usize, ty: &ircode::Type| {
            let name = function.parameters.get(index).and_then(Option::as_ref);
            let name = name.filter(|name| text.contains(name.as_str()));
            let name = name.map_or_else(|| format!("_{}", index + 2), Name::to_string);
            if *ty == ircode::Type::Untyped { name } else { format!("{name}::{ty}") }
        };
        let parameters: Vec<String> = argtypes.iter().skip(1).enumerate().map(|(i, ty)| shown(i, ty)).collect();
        let joined = format!("{})", parameters.join(", "));
        match text.rfind(&joined).filter(|_| !parameters.is_empty()) {
            Some(at) => {
                let end = at + joined.len() - 1;
                Header { before: text[..at].into(), parameters, after: text[end..].into() }
            }
            None => Header { before: text, ..Header::default() },
        }
    }

    fn text(&self) -> String {
        format!("{}{}{}", self.before, self.parameters.join(", "), self.after)
    }
}

/// The rule before a row: the first of a block has the number of the block, the last one ends it.
fn gutter(number: &str, block_width: usize, preds: usize, row: usize, rows: usize) -> String {
    match row {
        0 => {
            let rule = if preds <= 1 { '─' } else { '┄' };
            format!("{number} {rule}{}", "─".repeat(block_width.saturating_sub(number.len())))
        }
        row if row + 1 == rows => format!("└{}", "─".repeat(block_width + 1)),
        _ => format!("│{}", " ".repeat(block_width + 1)),
    }
}

/// `next #3`.
fn next_tokens(view: &View<'_, Ids>, next: Option<BlockId>) -> Tokens {
    let Some(next) = next else { return Tokens::of_text(String::new()) };
    let text = format!("next {next}");
    let kind = if view.block_index(next).is_some() { Kind::Block } else { Kind::Plain };
    let pieces = vec![(Kind::Keyword, 0..4), (Kind::Plain, 4..5), (kind, 5..text.len())];
    Tokens { text, pieces }
}

/// The statements from which this one was made, if there are any, the innermost last.
fn origin<N: Names>(view: &View<'_, N>, statement: &StatementView<'_, N>) -> Option<Vec<Origin>> {
    Some(view.debuginfo.origins(statement.line)).filter(|origins| !origins.is_empty())
}

/// `%4` and `#4` without the first character.
pub(crate) fn without_sigil(name: impl std::fmt::Display) -> String {
    name.to_string().split_off(1)
}

/// Writes the pieces of a text, with links to the statements, blocks and arguments that they name.
pub(crate) fn write_tokens(out: &mut String, tokens: &Tokens, prefix: &str) {
    for (kind, text) in tokens.iter() {
        write_token(out, "span", kind, text, prefix);
    }
}

/// Writes a piece as an element of this name.
pub(crate) fn write_token(out: &mut String, element: &str, kind: Kind, text: &str, prefix: &str) {
    let name = text.get(1..).unwrap_or_default();
    let attributes = match kind {
        Kind::Plain => return escape_into(out, text),
        Kind::Value => format!("class=\"v\" data-u=\"{prefix}{name}\""),
        Kind::Block => format!("class=\"b\" data-k=\"{prefix}{name}\""),
        Kind::Argument => format!("class=\"a\" data-u=\"{prefix}a{name}\""),
        Kind::Type => "class=\"t\"".into(),
        Kind::Constant => "class=\"c\"".into(),
        Kind::Keyword => "class=\"w\"".into(),
        Kind::Module => "class=\"m\"".into(),
        Kind::Callee => "class=\"f\"".into(),
    };
    let _ = write!(out, "<{element} {attributes}>");
    escape_into(out, text);
    let _ = write!(out, "</{element}>");
}
