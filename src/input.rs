//! Reading programs: text or JSON, told apart by content.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bbcode::{BBCode, ConversionError, Ids};
use exec::RunError;
use ircode::diagnostic::{Diagnostic, Severity, render_from_line};
use ircode::json::{Dump, DumpReader};
use ircode::text::SourceMap;
use ircode::{
    BlockNumber, CompactError, Compaction, IRCode, JsonError, Module, Name, Names, Origin, Positions, Renumbered,
    SSAValue, TextError, Violation, Violations, from_json, parse_module_with_parameters,
};
use passes::PassError;
use passes::rules::{RuleError, RuleErrorKind};

use crate::GradientError;

/// At most this many violations of a function are drawn.
const MOST_VIOLATIONS: usize = 100;

/// A program that was read.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it came from: a path, or `-`.
    pub path: String,
    /// The text of the file.
    pub source: Arc<str>,
    /// The text in which functions stand, if that is not the text of the file: without colours, prompts and what else
    /// is around listings.
    pub cleaned: Option<Arc<str>>,
    /// The functions.
    pub module: Module<IRCode>,
    /// Of a dump of BBCode, what it holds: blocks and statements are numbered there as they come, and switches are
    /// statements, where the IRCode has branches.
    pub bbcode: Option<Module<BBCode>>,
    /// For text: where each function stands in it, in the order of the functions.
    pub maps: Vec<SourceMap>,
    /// The number of the text's first line in the file, counted from 1.
    pub first_line: usize,
    /// Where the lines of the text start, once somebody asked.
    line_starts: OnceLock<Vec<usize>>,
}

/// Why a program cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be read.
    #[error("{path}: {message}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The text has errors.
    #[error("{}", render_from_line(&.error.source, *.first_line, Some(.path.as_str()), &.error.diagnostics).trim_end())]
    Text {
        /// The file.
        path: String,
        /// The errors.
        error: TextError,
        /// The number of the text's first line in the file, counted from 1.
        first_line: usize,
    },
    /// The JSON has an error.
    #[error("{}", .error.render(Some(.path.as_str())))]
    Json {
        /// The file.
        path: String,
        /// The error.
        error: JsonError,
    },
    /// A dump of BBCode cannot be converted.
    #[error("{path}: {message}")]
    Conversion {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// A function of a dump of BBCode cannot be converted, as it is not valid.
    #[error("{violations}")]
    Invalid {
        /// The conditions that it violates, a line each, with the file and the function.
        violations: String,
    },
}

impl InputError {
    /// The same error, of a text that begins with this line of the file.
    pub(crate) fn at_line(self, line: usize) -> Self {
        match self {
            InputError::Text { path, error, .. } => InputError::Text { path, error, first_line: line },
            other => other,
        }
    }
}

impl Input {
    /// A program that was not read from text.
    pub fn of_module(path: &str, module: Module<IRCode>) -> Input {
        let maps = Vec::new();
        Input {
            path: path.into(),
            source: "".into(),
            cleaned: None,
            module,
            bbcode: None,
            maps,
            first_line: 1,
            line_starts: OnceLock::new(),
        }
    }

    /// A program that was read from a dump of BBCode.
    ///
    /// # Errors
    ///
    /// [`InputError::Invalid`] if the code cannot be converted as it is not valid, [`InputError::Conversion`] if that
    /// has another reason.
    pub fn of_bbcode(path: &str, module: Module<BBCode>) -> Result<Input, InputError> {
        let converted = crate::to_ircode(&module).map_err(|error| {
            let failing = module.functions().iter().find(|function| IRCode::try_from(&function.body).is_err());
            match failing.and_then(|function| Some((&function.name, function.body.verify().err()?))) {
                Some((name, violations)) => {
                    InputError::Invalid { violations: violation_lines::<Ids>(path, name, &violations) }
                }
                None => InputError::Conversion { path: path.into(), message: error.to_string() },
            }
        })?;
        Ok(Input { bbcode: Some(module), ..Input::of_module(path, converted) })
    }

    /// The program as BBCode, with the functions as they were read where that is what was read.
    ///
    /// # Errors
    ///
    /// [`ConversionError`] if IRCode names what does not exist.
    pub fn to_bbcode(&self) -> Result<Module<BBCode>, ConversionError> {
        let mut module = crate::to_bbcode(&self.module)?;
        for function in self.bbcode.iter().flat_map(|read| read.functions()) {
            if let Some(body) = module.body_mut(&function.name) {
                body.clone_from(&function.body);
            }
        }
        Ok(module)
    }

    /// The same program, where the text that was read is a part of a file that begins with this line.
    pub(crate) fn beginning_at(mut self, first_line: usize) -> Input {
        self.first_line = first_line;
        self
    }

    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    ///
    /// [`InputError`].
    pub fn read(path: &str) -> Result<Input, InputError> {
        let unreadable = |message: String| InputError::Unreadable { path: path.into(), message };
        let bytes = if path == "-" {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
                .map_err(|error| unreadable(error.to_string()))?;
            bytes
        } else {
            std::fs::read(path).map_err(|error| unreadable(error.to_string()))?
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(format!("the file is no UTF-8 text: byte {} is wrong", error.utf8_error().valid_up_to() + 1))
        })?;
        Input::parse(path, &text, &[])
    }

    /// Reads a program from a text. `path` names it in errors; `parameters` are the names of the arguments `_2`, `_3`,
    /// … of a listing without header, as far as they are known.
    ///
    /// # Errors
    ///
    /// [`InputError`].
    pub fn parse(path: &str, text: &str, parameters: &[Option<Name>]) -> Result<Input, InputError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_json(text.as_bytes()) {
            return Input::parse_json(path, text);
        }
        let parsed = parse_module_with_parameters(text, parameters).map_err(|error| InputError::Text {
            path: path.into(),
            error,
            first_line: 1,
        })?;
        Ok(Input {
            path: path.into(),
            source: text.into(),
            cleaned: parsed.cleaned,
            module: parsed.module,
            bbcode: None,
            maps: parsed.functions,
            first_line: 1,
            line_starts: OnceLock::new(),
        })
    }

    fn parse_json(path: &str, text: &str) -> Result<Input, InputError> {
        let fail = |error: JsonError| InputError::Json { path: path.into(), error };
        let bbcode = DumpReader::new(text.as_bytes()).representation().map_err(fail)? == BBCode::REPRESENTATION;
        let read = match bbcode {
            true => Input::of_bbcode(path, from_json(text).map_err(fail)?)?,
            false => Input::of_module(path, from_json(text).map_err(fail)?),
        };
        Ok(Input { source: text.into(), line_starts: OnceLock::new(), ..read })
    }

    /// Adds a copy of the method of a closure or of a callable struct that [takes what it is called
    /// on](passes::lambda_lifting::lift) as its first argument, and gives its name.
    ///
    /// # Errors
    ///
    /// [`GradientError`] if there is no such function, or code cannot be converted, which verified code always can.
    pub fn lift(&mut self, method: &Name) -> Result<Name, GradientError> {
        let mut module = crate::to_bbcode(&self.module)?;
        let lifted = passes::lambda_lifting::lift(&mut module, method)?;
        // It stands where the method stands.
        let map = self.map(method).cloned();
        self.module = crate::into_ircode(module)?;
        self.bbcode = None;
        self.maps.extend(map);
        Ok(lifted)
    }

    /// What is known of the source of a function.
    pub fn map(&self, function: &str) -> Option<&SourceMap> {
        self.maps.get(self.module.function_index(function)?)
    }

    /// Compacts the functions that have pending nodes, so that the program can be converted and run.
    ///
    /// # Errors
    ///
    /// [`CompactError`], which verified code never gives.
    pub fn compact(&mut self) -> Result<(), CompactError> {
        for index in 0..self.module.functions().len() {
            let Some(function) = self.module.functions().get(index) else { continue };
            if function.body.new_nodes.is_empty() {
                continue;
            }
            let name = function.name.clone();
            let compaction = function.body.compact()?;
            if let Some(map) = self.maps.get_mut(index) {
                map.statements = renumbered(&map.statements, &compaction);
            }
            if let Some(body) = self.module.body_mut(&name) {
                *body = compaction.ir;
            }
        }
        Ok(())
    }

    /// What an error of a pass says, drawn on the line of the source where that is known.
    pub fn describe_pass_error(&self, error: &PassError) -> String {
        let place = error.place.as_deref();
        let at = place.and_then(|place| self.find(&error.function, place.statement?, place.origin.as_ref()));
        let Some(span) = at else { return error.to_string() };
        let label = place.map(|place| in_function(&error.function, place.block)).unwrap_or_default();
        let diagnostic = Diagnostic::error(span, format!("{}: {}", error.pass, error.message), label);
        let diagnostic = Diagnostic { help: error.help.clone(), ..diagnostic };
        self.drawn(diagnostic).trim_end().to_string()
    }

    /// A message about a statement, drawn on its line where that is known.
    pub fn describe_at(&self, function: &Name, statement: SSAValue, message: &str) -> String {
        let body = self.module.function(function).map(|function| &function.body);
        let block = body.and_then(|body| body.cfg.block_of(statement.index()?));
        match (self.find(function, statement, None), block) {
            (Some(span), Some(block)) => {
                let diagnostic = Diagnostic::error(span, message, in_function(function, block));
                self.drawn(diagnostic).trim_end().to_string()
            }
            _ => format!("`{function}`, {statement}: {message}"),
        }
    }

    /// What a failure of the interpreter says, drawn on the line of the source where that is known.
    pub fn describe_run_error(&self, error: &RunError) -> String {
        let Some(place) = error.trace.first() else { return error.to_string() };
        let Some(span) = self.find(&place.function, place.statement, place.origin.as_ref()) else {
            return error.to_string();
        };
        let diagnostic = Diagnostic::error(span, error.kind.to_string(), in_function(&place.function, place.block));
        format!("{}{}", self.drawn(diagnostic).trim_end(), error.callers())
    }

    /// What an error of a derivative rule says that stands in this file, drawn on its line where that is known.
    pub fn describe_rule_error(&self, error: &RuleError) -> String {
        let Some(rule) = &error.rule else { return error.to_string() };
        let message = format!("`{rule}`: {}", error.kind);
        if let Some(span) = error.statement.and_then(|statement| self.find(rule, statement, None)) {
            return self.drawn(Diagnostic::error(span, message, "here")).trim_end().to_string();
        }
        let parameter = match &error.kind {
            RuleErrorKind::ParameterType { name: Some(name), given, .. } => Some(format!("{name}::{given}")),
            _ => None,
        };
        self.describe_at_header(rule, parameter.as_deref(), &message)
    }

    /// A message about a function, drawn on its header, or on the part of it that reads so.
    pub fn describe_at_header(&self, function: &str, part: Option<&str>, message: &str) -> String {
        let header = || {
            let first = self.map(function)?.statements.iter().map(|span| span.start).min()?;
            let before = self.text().get(..first)?;
            let start = before.rfind("\nfunction ").map_or(0, |newline| newline + 1);
            let length = before.get(start..)?.find('\n')?;
            let header = before.get(start..start + length)?;
            header.starts_with("function ").then_some(())?;
            match part.and_then(|part| Some((header.find(part)?, part.len()))) {
                Some((at, length)) => Some(start + at..start + at + length),
                None => Some(start..start + header.trim_end().len()),
            }
        };
        match header() {
            Some(span) => self.drawn(Diagnostic::error(span, message, "here")).trim_end().to_string(),
            None => format!("{}: {message}", self.path),
        }
    }

    /// The text to which places refer.
    fn text(&self) -> &str {
        self.cleaned.as_ref().unwrap_or(&self.source)
    }

    /// A diagnostic, drawn on its lines of the source. Only these are looked at.
    fn drawn(&self, diagnostic: Diagnostic) -> String {
        let text = self.text();
        let starts = self.line_starts.get_or_init(|| {
            let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect()
        });
        let Range { start, end } = diagnostic.span;
        let line = starts.partition_point(|&first| first <= start).max(1);
        let from = starts.get(line - 1).copied().unwrap_or(0);
        let behind = starts.partition_point(|&first| first <= end.max(start));
        let lines = text.get(from..starts.get(behind).copied().unwrap_or(text.len())).unwrap_or_default();
        let diagnostic = Diagnostic { span: start - from..end.max(start) - from, ..diagnostic };
        render_from_line(lines, self.first_line + line - 1, Some(&self.path), &[diagnostic])
    }

    /// Where a statement stands in the source, or else the one from which it was made.
    fn find(&self, function: &str, statement: SSAValue, origin: Option<&Origin>) -> Option<Range<usize>> {
        let place = |function: &str, index: Option<usize>| {
            let span = self.map(function)?.statements.get(index?).cloned()?;
            (!span.is_empty()).then_some(span)
        };
        place(function, statement.index())
            .or_else(|| place(origin?.def.as_ref()?, (origin?.statement as usize).checked_sub(1)))
    }

    /// Whether the only function is a listing without header.
    pub fn is_listing(&self) -> bool {
        matches!(self.maps.as_slice(), [only] if only.headerless)
    }

    /// What violates the verifier's conditions in a function, drawn on the source where there is one.
    pub fn describe_violations(&self, function: &str, violations: &Violations<Positions>) -> String {
        let map = self.map(function);
        let mut text = String::new();
        for violation in violations.0.iter().take(MOST_VIOLATIONS) {
            let span = violation.statement.and_then(|statement| map?.statements.get(statement.index()?).cloned());
            match span {
                Some(span) => {
                    let diagnostic = Diagnostic {
                        severity: Severity::Error,
                        code: Some(violation.check.code()),
                        message: format!("{}: {}", place(function, violation), violation.message),
                        span,
                        label: violation.check.condition().into(),
                        help: violation.help.clone(),
                    };
                    text.push_str(&self.drawn(diagnostic));
                }
                None => text.push_str(&violation_line(&self.path, function, violation)),
            }
        }
        text.push_str(&more_violations(violations.0.len()));
        text.trim_end().to_string()
    }

    /// What is wrong with a function; `None` if it is valid. The places are those of the program as it was read.
    pub fn violations_of(&self, function: &str) -> Option<String> {
        let read = self.bbcode.as_ref().and_then(|module| module.function(function));
        match read {
            Some(read) => {
                let violations = read.body.verify().err()?;
                Some(violation_lines::<Ids>(&self.path, function, &violations))
            }
            None => {
                let violations = self.module.function(function)?.body.verify().err()?;
                Some(self.describe_violations(function, &violations))
            }
        }
    }
}

/// What violates the verifier's conditions, a line each.
fn violation_lines<N: Names>(path: &str, function: &str, violations: &Violations<N>) -> String {
    let shown = violations.0.iter().take(MOST_VIOLATIONS);
    let text: String = shown.map(|violation| violation_line(path, function, violation)).collect();
    format!("{text}{}", more_violations(violations.0.len())).trim_end().to_string()
}

fn violation_line<N: Names>(path: &str, function: &str, violation: &Violation<N>) -> String {
    format!("error[{}]: {path}: {}\n", violation.check, violation_text(function, violation))
}

/// The places of the statements under their new numbers.
fn renumbered(statements: &[Range<usize>], compaction: &Compaction) -> Vec<Range<usize>> {
    let mut moved = vec![0..0; compaction.ir.stmts.len()];
    for (span, new) in statements.iter().zip(&compaction.renumbering) {
        if let Renumbered::Kept(value) = new
            && let Some(place) = value.index().and_then(|index| moved.get_mut(index))
        {
            *place = span.clone();
        }
    }
    moved
}

fn in_function(function: &str, block: BlockNumber) -> String {
    let name = if function.is_empty() { "the listing" } else { function };
    format!("in {name}, block {block}")
}

/// What is said of violations that are not shown.
fn more_violations(count: usize) -> String {
    match count.saturating_sub(MOST_VIOLATIONS) {
        0 => String::new(),
        more => format!("error: … and {more} more in this function\n"),
    }
}

fn place<N: Names>(function: &str, violation: &Violation<N>) -> String {
    let function = if function.is_empty() { String::new() } else { format!("{function}, ") };
    match (violation.block, violation.statement) {
        (Some(block), Some(statement)) => format!("{function}block {block}, {statement}"),
        (Some(block), None) => format!("{function}block {block}"),
        (None, Some(statement)) => format!("{function}{statement}"),
        (None, None) => function.trim_end_matches(", ").to_string(),
    }
}

fn violation_text<N: Names>(function: &str, violation: &Violation<N>) -> String {
    format!("{}: {}", place(function, violation), violation.message)
}

/// Whether a text is JSON rather than listings, before which a line such as `[1] f(x)` or, in the sources of pages,
/// `{% highlight julia %}` and `{{< highlight julia >}}` may stand.
pub(crate) fn is_json(text: &[u8]) -> bool {
    match text.trim_ascii_start() {
        [b'{', b'%' | b'{', ..] => false,
        [b'{', ..] => true,
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b'[' | b'"' | b']')),
        _ => false,
    }
}
