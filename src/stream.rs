//! Reading programs function by function, in memory that does not depend on how many there are.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use bbcode::BBCode;
use ircode::diagnostic::Diagnostic;
use ircode::json::{Dump, DumpReader};
use ircode::{DefinedTwice, Function, IRCode, JsonError, Module, Name, TextError};

use crate::input::{Input, InputError, is_json};

impl Input {
    /// Reads a file piece by piece, and calls `visit` with each: a piece holds a function, or declarations (all those
    /// of a dump together, at its end), and all errors know their place in the whole file. `-` is standard input.
    ///
    /// A text is cut behind each function with a header; one without such functions is a single piece. A piece of text
    /// that cannot be read is an error by itself, and the next one is read.
    ///
    /// # Errors
    ///
    /// [`InputError`] if nothing more can be read. Pieces before the error have been visited by then.
    pub fn read_pieces(path: &str, visit: &mut dyn FnMut(Result<Input, InputError>)) -> Result<(), InputError> {
        let unreadable = |message: String| InputError::Unreadable { path: path.into(), message };
        if path == "-" {
            return read(path, BufReader::new(std::io::stdin()), visit);
        }
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        read(path, BufReader::with_capacity(1 << 16, file), visit)
    }
}

/// What is done with each piece.
type Visit<'v> = &'v mut dyn FnMut(Result<Input, InputError>);

fn read(path: &str, mut input: impl BufRead, visit: Visit<'_>) -> Result<(), InputError> {
    let unreadable = |message: String| InputError::Unreadable { path: path.into(), message };
    let start = input.fill_buf().map_err(|error| unreadable(error.to_string()))?;
    let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start);
    match is_json(text) {
        true => read_dump(path, input, visit),
        false => read_text(path, input, visit),
    }
}

fn read_dump(path: &str, input: impl Read, visit: Visit<'_>) -> Result<(), InputError> {
    let fail = |error: JsonError| InputError::Json { path: path.into(), error };
    let mut reader = DumpReader::new(input);
    let bbcode = reader.representation().map_err(fail)? == BBCode::REPRESENTATION;
    let twice = |twice: DefinedTwice| InputError::Unreadable { path: path.into(), message: twice.to_string() };
    let mut names: BTreeSet<Name> = BTreeSet::new();
    loop {
        let input = match bbcode {
            true => match reader.next_function::<BBCode>().map_err(fail)? {
                Some(function) => Some(Input::of_bbcode(path, alone(function).map_err(twice)?)?),
                None => None,
            },
            false => match reader.next_function::<IRCode>().map_err(fail)? {
                Some(function) => Some(Input::of_module(path, alone(function).map_err(twice)?)),
                None => None,
            },
        };
        let Some(input) = input else {
            let mut module = Module::new();
            for declaration in reader.declarations() {
                module.declare(declaration.clone()).map_err(twice)?;
            }
            if module.declarations().next().is_some() {
                visit(Ok(Input::of_module(path, module)));
            }
            return Ok(());
        };
        for function in input.module.functions() {
            if !names.insert(function.name.clone()) {
                return Err(twice(DefinedTwice(function.name.clone())));
            }
        }
        visit(Ok(input));
    }
}

/// A module of one function.
fn alone<F>(function: Function<F>) -> Result<Module<F>, DefinedTwice> {
    let mut module = Module::new();
    module.add_function(function)?;
    Ok(module)
}

/// Where a line stands in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the header of a function, if it is one: code of Julia begins like that too.
    Header,
    /// In the body of a function.
    Body,
    Outside,
}

impl Place {
    fn behind(self, line: &[u8]) -> Place {
        let trimmed = line.trim_ascii();
        // A block begins with its number; code of Julia may have lines in its strings.
        let starts_block = || {
            trimmed.first().is_some_and(u8::is_ascii_digit)
                && trimmed.windows("─".len()).any(|window| window == "─".as_bytes())
        };
        match self {
            _ if trimmed.starts_with(b"function ") => Place::Header,
            Place::Header if trimmed.is_empty() || trimmed.starts_with(b";") || trimmed.starts_with(b"#") => self,
            Place::Header if starts_block() => Place::Body,
            Place::Header => Place::Outside,
            Place::Body | Place::Outside => self,
        }
    }
}

/// What is wrong with a piece of text that has a function of which there was one of the same name.
fn second_function(path: &str, text: &str, first_line: usize, name: &Name) -> InputError {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    // A piece has one function.
    let header = lines.into_iter().find(|(_, line)| line.starts_with("function "));
    let (start, line) = header.unwrap_or_default();
    let span = start..start + line.trim_end().len();
    let message = DefinedTwice(name.clone()).to_string();
    let diagnostics = vec![Diagnostic::error(span, message, "the second function of that name")];
    InputError::Text { path: path.into(), error: TextError { diagnostics, source: text.into() }, first_line }
}

fn read_text(path: &str, mut input: impl BufRead, visit: Visit<'_>) -> Result<(), InputError> {
    let unreadable = |message: String| InputError::Unreadable { path: path.into(), message };
    let mut names: BTreeSet<Name> = BTreeSet::new();
    let (mut piece, mut first_line, mut line_number) = (Vec::new(), 1, 0);
    let mut pieces = 0;
    // The last function, with its first line.
    let mut before = (String::new(), 1);
    let mut place = Place::Outside;
    loop {
        let start = piece.len();
        let length = input.read_until(b'\n', &mut piece).map_err(|error| unreadable(error.to_string()))?;
        line_number += 1;
        let line = piece.get(start..).unwrap_or_default();
        place = place.behind(line);
        let behind = line.trim_ascii().strip_prefix(b"end").map(|behind| behind.trim_ascii_start());
        let is_cut =
            place == Place::Body && behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(b"# "));
        if length > 0 && !is_cut {
            continue;
        }
        place = Place::Outside;
        let text = std::str::from_utf8(&piece)
            .map_err(|_| unreadable(format!("the file is no UTF-8 text, in line {first_line} or one that follows")))?;
        // Behind the last function there may be nothing but comments.
        let blank = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if !(blank && pieces > 0 && length == 0) {
            // A listing without header may have words around it, but not in a file of functions.
            let alone = match pieces > 0 && !is_cut {
                true => Input::parse(path, &format!("{}{text}", before.0), &[]).map(|_| ()),
                false => Ok(()),
            };
            let read = alone.map_err(|error| error.at_line(before.1)).and_then(|()| {
                let read = Input::parse(path, text, &[]).map_err(|error| error.at_line(first_line))?;
                match read.module.functions().iter().find(|function| !names.insert(function.name.clone())) {
                    Some(twice) => Err(second_function(path, text, first_line, &twice.name)),
                    None => Ok(read.beginning_at(first_line)),
                }
            });
            pieces += 1;
            visit(read);
            before = (text.into(), first_line);
        }
        if length == 0 {
            return Ok(());
        }
        piece.clear();
        first_line = line_number + 1;
    }
}
