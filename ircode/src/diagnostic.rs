//! Messages about text, drawn with the line and a caret.

use std::fmt::Write;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used, but may not mean what was meant.
    Warning,
}

/// A message about a place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code, such as that of a [`Check`](crate::Check).
    pub code: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// Where: a range of bytes.
    pub span: Range<usize>,
    /// What stands under the carets.
    pub label: String,
    /// What would mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at this place.
    pub fn error(span: Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code: None,
            message: message.into(),
            span,
            label: label.into(),
            help: None,
        }
    }

    /// The same with a hint at what would mend it.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Diagnostic { help: Some(help.into()), ..self }
    }
}

/// The line and column of a place, both counted from 1; columns count characters.
pub fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..floor_boundary(source, at)).unwrap_or_default();
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

/// Draws the messages one under another, each with its line of the source and a caret.
///
/// ```
/// use ircode::diagnostic::{Diagnostic, render};
///
/// let text = render("goto #9", Some("f.ir"), &[Diagnostic::error(5..7, "there is no block #9", "goes nowhere")]);
/// assert_eq!(text, "\
/// error: there is no block #9
///  --> f.ir:1:6
///   |
/// 1 | goto #9
///   |      ^^ goes nowhere
/// ");
/// ```
pub fn render(source: &str, path: Option<&str>, diagnostics: &[Diagnostic]) -> String {
    render_from_line(source, 1, path, diagnostics)
}

/// As [`render`], where the source is a part of a file that begins with this line, counted from 1.
pub fn render_from_line(source: &str, first_line: usize, path: Option<&str>, diagnostics: &[Diagnostic]) -> String {
    let renderer = Renderer::plain();
    let mut out = String::new();
    // Lines are counted on from the last place: neither that nor drawing must take time in proportion to the whole
    // source for each.
    let (mut counted, mut line) = (0, 1);
    for diagnostic in diagnostics {
        let start = floor_boundary(source, diagnostic.span.start);
        if start < counted {
            (counted, line) = (0, 1);
        }
        line += source.get(counted..start).map_or(0, |between| between.bytes().filter(|&b| b == b'\n').count());
        counted = start;
        let end = floor_boundary(source, diagnostic.span.end.max(start));
        let from = source.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        let to = source.get(end..).and_then(|after| after.find('\n')).map_or(source.len(), |length| end + length);
        let lines = source.get(from..to).unwrap_or_default();
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let snippet = Snippet::source(lines).line_start(line + first_line - 1);
        let snippet = match path {
            Some(path) => snippet.path(path),
            None => snippet,
        };
        let annotation = AnnotationKind::Primary.span(start - from..end - from).label(diagnostic.label.as_str());
        let title = level.clone().primary_title(diagnostic.message.as_str());
        let title = match diagnostic.code {
            Some(code) => title.id(code),
            None => title,
        };
        let mut group: Group<'_> = match path {
            // A line with nothing in it shows nothing.
            Some(path) if lines.trim().is_empty() => title.element(Origin::path(path).line(line + first_line - 1)),
            _ => title.element(snippet.annotation(annotation)),
        };
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let _ = writeln!(out, "{}", renderer.render(&[group]).trim_end());
    }
    out
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
