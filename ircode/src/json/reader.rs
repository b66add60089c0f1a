//! Reading a dump as a stream: one function at a time, in memory that does not depend on how many there are.

use std::io::Read;

use serde::Deserialize;

use super::JsonError;
use super::declaration::DeclarationForm;
use super::module::{Dump, FunctionForm, VERSION};
use super::sharing::{Shared, with_sharing};
use crate::module::Function;
use crate::tables::Declaration;

/// How much is read at once, in bytes.
const CHUNK: usize = 1 << 16;

/// Reads the functions of a dump one after another.
///
/// ```
/// use ircode::json::DumpReader;
/// use ircode::{IRCode, Module, parse_function, to_json};
///
/// let mut module: Module<IRCode> = Module::new();
/// module.add_function(parse_function("function f()\n1 ─ return 1\nend")?)?;
/// let dump = to_json(&module)?;
/// let mut reader = DumpReader::new(dump.as_bytes());
/// assert_eq!(reader.representation()?, "ircode");
/// while let Some(function) = reader.next_function::<IRCode>()? {
///     assert_eq!(function.name, "f");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DumpReader<R> {
    input: Buffered<R>,
    state: State,
    version: Option<u32>,
    representation: Option<String>,
    declarations: Vec<Declaration>,
    /// The list of functions, where it stood before the name of the representation.
    early: Option<Buffered<std::io::Empty>>,
    /// Whether the list of functions was met.
    listed: bool,
    shared: Shared,
}

#[derive(Debug)]
enum State {
    /// Nothing is read yet.
    Start,
    /// Behind `{` or a member; whether there was a member.
    Members(bool),
    /// Inside the list of functions; whether there was one.
    Functions(bool),
    /// All members are read; the early functions are not. Whether there was one.
    Early(bool),
    /// Everything is read.
    End,
}

/// What is wrong, at a byte of a piece of the input.
struct Fault<'a> {
    piece: &'a [u8],
    at: usize,
    message: String,
    line: usize,
    offset: usize,
}

impl Fault<'_> {
    fn error(self) -> JsonError {
        let source = String::from_utf8_lossy(self.piece);
        JsonError::in_piece(&source, self.at, self.message, self.line, self.offset)
    }
}

impl<R: Read> DumpReader<R> {
    /// A reader of this input. Nothing is read yet.
    pub fn new(input: R) -> Self {
        let input = Buffered { input, bytes: Vec::new(), at: 0, line: 1, offset: 0, ended: false };
        DumpReader {
            input,
            state: State::Start,
            version: None,
            representation: None,
            declarations: Vec::new(),
            early: None,
            listed: false,
            shared: Shared::default(),
        }
    }

    /// What the dump calls its representation: `ircode` or `bbcode`. Reads up to the first function.
    ///
    /// # Errors
    ///
    /// [`JsonError`] if the input cannot be read, is no JSON, or no dump of this version.
    pub fn representation(&mut self) -> Result<&str, JsonError> {
        if self.representation.is_none() || self.version.is_none() {
            self.members()?;
        }
        self.check_heading()?;
        Ok(self.representation.as_deref().unwrap_or_default())
    }

    /// What is declared so far, in order: it may stand behind the functions.
    pub fn declarations(&self) -> &[Declaration] {
        &self.declarations
    }

    /// The next function; `None` if there are no more, and the dump is read to its end.
    ///
    /// # Errors
    ///
    /// [`JsonError`] as [`DumpReader::representation`]; also if the dump holds another representation than `F`, or code
    /// that names what does not exist. The code is not verified.
    pub fn next_function<F: Dump>(&mut self) -> Result<Option<Function<F>>, JsonError> {
        let representation = self.representation()?;
        if representation != F::REPRESENTATION {
            let message = format!("this is a dump of {representation}, expected {}", F::REPRESENTATION);
            return Err(self.input.fault(message));
        }
        loop {
            match self.state {
                State::Start | State::Members(_) => self.members()?,
                State::Functions(any) => {
                    if !self.input.another(any, b']', "a function")? {
                        self.state = State::Members(true);
                        continue;
                    }
                    self.state = State::Functions(true);
                    let (piece, line, offset) = self.input.value()?;
                    return with_sharing(&mut self.shared, || function(piece, line, offset)).map(Some);
                }
                State::Early(any) => {
                    let Some(early) = &mut self.early else { return Ok(None) };
                    if !early.another(any, b']', "a function")? {
                        self.state = State::End;
                        continue;
                    }
                    self.state = State::Early(true);
                    let (piece, line, offset) = early.value()?;
                    return with_sharing(&mut self.shared, || function(piece, line, offset)).map(Some);
                }
                State::End => return Ok(None),
            }
        }
    }

    /// Reads members up to the list of functions, or to the end.
    fn members(&mut self) -> Result<(), JsonError> {
        if let State::Start = self.state {
            self.input.skip_byte_order_mark()?;
            if self.input.peek()? != Some(b'{') {
                return Err(self.input.fault("a dump is a JSON object, which this is not".into()));
            }
            self.input.at += 1;
            self.state = State::Members(false);
        }
        while let State::Members(any) = self.state {
            if !self.input.another(any, b'}', "a member")? {
                self.state = if self.early.is_some() { State::Early(false) } else { State::End };
                if self.input.peek()?.is_some() {
                    return Err(self.input.fault("trailing characters".into()));
                }
                self.check_heading()?;
                if !self.listed {
                    return Err(JsonError::in_piece("", 0, "the member `functions` is missing".into(), 1, 0));
                }
                return Ok(());
            }
            let (key, line, offset) = self.input.value()?;
            let key: String = parse(key, line, offset)?;
            if self.input.peek()? != Some(b':') {
                return Err(self.input.fault("expected `:`".into()));
            }
            self.input.at += 1;
            self.state = State::Members(true);
            match key.as_str() {
                "bbkit" if self.version.is_some() => return Err(self.input.fault("there are two versions".into())),
                "representation" if self.representation.is_some() => {
                    return Err(self.input.fault("there are two representations".into()));
                }
                "bbkit" => {
                    let (piece, line, offset) = self.input.value()?;
                    self.version = Some(parse(piece, line, offset)?);
                }
                "representation" => {
                    let (piece, line, offset) = self.input.value()?;
                    self.representation = Some(parse(piece, line, offset)?);
                }
                "types" => {
                    let (piece, line, offset) = self.input.value()?;
                    let forms: Vec<DeclarationForm> = parse(piece, line, offset)?;
                    for form in forms {
                        let declaration = Declaration::try_from(form)
                            .map_err(|error| JsonError::in_piece("", 0, error.to_string(), line, offset))?;
                        self.declarations.push(declaration);
                    }
                }
                "functions" if self.listed => return Err(self.input.fault("there are two lists of functions".into())),
                "functions" if self.version.is_some() && self.representation.is_some() => {
                    self.listed = true;
                    if self.input.peek()? != Some(b'[') {
                        return Err(self.input.fault("expected the list of functions".into()));
                    }
                    self.input.at += 1;
                    self.state = State::Functions(false);
                }
                // Tools that sort members put the functions first.
                "functions" => {
                    self.listed = true;
                    let (piece, line, offset) = self.input.value()?;
                    if !piece.starts_with(b"[") {
                        let message = "expected the list of functions".into();
                        return Err(Fault { piece, at: 0, message, line, offset }.error());
                    }
                    let bytes = piece.to_vec();
                    self.early = Some(Buffered { input: std::io::empty(), bytes, at: 1, line, offset, ended: true });
                }
                other if self.version.is_none() => {
                    return Err(self
                        .input
                        .fault(format!("this is no dump of bbkit: the member `bbkit` is missing before `{other}`")));
                }
                other => return Err(self.input.fault(format!("unknown member `{other}` of a dump"))),
            }
        }
        Ok(())
    }

    fn check_heading(&self) -> Result<(), JsonError> {
        let problem = match (self.version, &self.representation) {
            (None, _) => "this is no dump of bbkit: the member `bbkit` is missing".into(),
            (Some(VERSION), Some(_)) => return Ok(()),
            (Some(VERSION), None) => "the member `representation` is missing".into(),
            (Some(other), _) => format!("this is version {other} of the format, expected version {VERSION}"),
        };
        Err(JsonError::in_piece("", 0, problem, 1, 0))
    }
}

fn function<F: Dump>(piece: &[u8], line: usize, offset: usize) -> Result<Function<F>, JsonError> {
    let form: FunctionForm<F::Form> = parse(piece, line, offset)?;
    let FunctionForm { name, parameters, varargs, result, body } = form;
    let body = F::load(body).map_err(|problem| {
        let message = format!("in the function `{name}`: {problem}");
        Fault { piece, at: 0, message, line, offset }.error()
    })?;
    Ok(Function { name, parameters, varargs, result, body })
}

fn parse<'a, T: Deserialize<'a>>(piece: &'a [u8], line: usize, offset: usize) -> Result<T, JsonError> {
    serde_json::from_slice(piece).map_err(|error| {
        let line_start = match error.line() {
            0 | 1 => 0,
            number => {
                let newlines = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                newlines.map(|(at, _)| at + 1).nth(number - 2).unwrap_or(piece.len())
            }
        };
        let at = (line_start + error.column().saturating_sub(1)).min(piece.len());
        let message = error.to_string();
        // The place is shown, so its numbers need not be told too.
        let message = match message.split(" at line ").next().unwrap_or(&message) {
            // That is all that serde_json says of a kind, as of an operand, that is no object, or one of several members.
            "expected value" => {
                "expected a value; one of several kinds is an object with one member, named after the kind"
            }
            message => message,
        }
        .to_string();
        Fault { piece, at, message, line, offset }.error()
    })
}

/// Input of which a piece is held: what is not consumed yet.
#[derive(Debug)]
struct Buffered<R> {
    input: R,
    bytes: Vec<u8>,
    /// What stands before is consumed.
    at: usize,
    /// The line of what is not consumed, counted from 1.
    line: usize,
    /// How many bytes stood before `bytes`.
    offset: usize,
    ended: bool,
}

impl<R: Read> Buffered<R> {
    fn fault(&self, message: String) -> JsonError {
        let piece = self.bytes.get(self.at..).unwrap_or_default();
        let piece = piece.get(..piece.len().min(CHUNK)).unwrap_or_default();
        Fault { piece, at: 0, message, line: self.line, offset: self.offset + self.at }.error()
    }

    /// Reads more. `false` at the end.
    fn fill(&mut self) -> Result<bool, JsonError> {
        if self.ended {
            return Ok(false);
        }
        let length = self.bytes.len();
        self.bytes.resize(length + CHUNK, 0);
        let read = loop {
            match self.input.read(self.bytes.get_mut(length..).unwrap_or_default()) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let count = read.as_ref().copied().unwrap_or(0);
        self.bytes.truncate(length + count);
        match read {
            Ok(count) => {
                self.ended = count == 0;
                Ok(count > 0)
            }
            Err(error) => Err(self.fault(error.to_string())),
        }
    }

    /// Forgets what is consumed.
    fn forget(&mut self) {
        self.offset += self.at;
        self.bytes.drain(..self.at);
        self.at = 0;
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), JsonError> {
        self.fill()?;
        if self.bytes.starts_with("\u{feff}".as_bytes()) {
            self.at = 3;
        }
        Ok(())
    }

    /// The next byte that is no white space, which is not consumed.
    fn peek(&mut self) -> Result<Option<u8>, JsonError> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(b' ' | b'\r' | b'\t') => self.at += 1,
                Some(&byte) => return Ok(Some(byte)),
                None => {
                    self.forget();
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Whether another element follows in a list that ends with `close`: steps over the comma before it, or over the
    /// end.
    fn another(&mut self, any: bool, close: u8, what: &str) -> Result<bool, JsonError> {
        let next = self.peek()?;
        if next == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        if any && next.is_some() {
            if next != Some(b',') {
                return Err(self.fault(format!("expected `,` or `{}`", char::from(close))));
            }
            self.at += 1;
        }
        match self.peek()? {
            Some(byte) if byte == close => Err(self.fault(format!("expected {what} behind the comma"))),
            Some(_) => Ok(true),
            None => Err(self.fault("the dump ends in the middle".into())),
        }
    }

    /// The text of the next value, with the line and the offset of its start. Only brackets and quotes are looked at.
    fn value(&mut self) -> Result<(&[u8], usize, usize), JsonError> {
        self.peek()?;
        // What came before goes only now and then, so that it is not moved for every small value.
        if self.at > CHUNK {
            self.forget();
        }
        let mut scan = Scan::default();
        let mut end = self.at;
        loop {
            let rest = self.bytes.get(end..).unwrap_or_default();
            match scan.step(rest) {
                (length, true) => {
                    end += length;
                    break;
                }
                (length, false) => end += length,
            }
            if !self.fill()? {
                if scan.depth > 0 || scan.in_string {
                    self.at = end;
                    return Err(self.fault("the dump ends in the middle".into()));
                }
                break;
            }
        }
        if end == self.at {
            return Err(self.fault("expected a value".into()));
        }
        let (start, line) = (self.at, self.line);
        self.at = end;
        self.line += scan.newlines;
        Ok((self.bytes.get(start..end).unwrap_or_default(), line, self.offset + start))
    }
}

/// How deep in brackets the end of what was looked at is.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    started: bool,
    newlines: usize,
}

impl Scan {
    /// Looks at more of a value. Returns how much of it belongs to the value, and whether the value ends there.
    fn step(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' {
                self.newlines += 1;
            }
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (i + 1, true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' | b':' if self.depth == 0 => return (i, true),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (i + 1, true);
                    }
                }
                b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 && self.started => {
                    self.newlines -= usize::from(byte == b'\n');
                    return (i, true);
                }
                _ => {}
            }
            self.started = true;
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::IRCode;
    use crate::json::to_json;
    use crate::module::Module;
    use crate::text::parse_module;

    /// Gives out one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match (self.0.split_first(), buffer.first_mut()) {
                (Some((byte, rest)), Some(place)) => {
                    *place = *byte;
                    self.0 = rest;
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    fn module() -> Module<IRCode> {
        let text = "
struct Point
    x::Float64
end
function f(x::Float64)::Float64
1 ─ %1 = Base.add_float(x, 1.5)::Float64
└──      return %1
end
function g()::String
1 ─      return \"} ] , \\\" \\\\\"
end
";
        parse_module(text).unwrap().module
    }

    fn read(text: &str) -> Result<Vec<Function<IRCode>>, JsonError> {
        let mut reader = DumpReader::new(Trickle(text.as_bytes()));
        let mut functions = Vec::new();
        while let Some(function) = reader.next_function()? {
            functions.push(function);
        }
        Ok(functions)
    }

    #[test]
    fn pieces_of_any_length_are_read() {
        let module = module();
        assert_eq!(read(&to_json(&module).unwrap()).unwrap(), module.functions());
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let module = module();
        let json: serde_json::Value = serde_json::from_str(&to_json(&module).unwrap()).unwrap();
        // This sorts the members, so that the functions stand before the representation.
        let sorted = serde_json::to_string(&json).unwrap();
        assert!(sorted.find("functions") < sorted.find("representation"));
        let mut reader = DumpReader::new(sorted.as_bytes());
        let mut functions: Vec<Function<IRCode>> = Vec::new();
        while let Some(function) = reader.next_function().unwrap() {
            functions.push(function);
        }
        assert_eq!(functions.as_slice(), module.functions());
        assert_eq!(reader.declarations(), module.declarations().collect::<Vec<_>>());
    }

    #[test]
    fn errors_know_their_line() {
        let text = to_json(&module()).unwrap().replace("\"add_float\"", "7");
        let error = read(&text).unwrap_err();
        let line = text.lines().position(|line| line.contains("\"name\":7")).unwrap() + 1;
        let shown = error.render(Some("f.json"));
        assert!(shown.contains(&format!("f.json:{line}:")) && shown.contains("expected a string"), "{shown}");
        for (text, expected) in [
            ("", "is a JSON object"),
            ("[", "is a JSON object"),
            ("{\"bbkit\":1,\"representation\":\"ircode\"", "ends in the middle"),
            ("{\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[}", "expected"),
            ("{\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[]} x", "trailing"),
            ("{\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[],\"other\":1}", "unknown member `other`"),
            ("{\"bbkit\":2,\"representation\":\"ircode\",\"functions\":[]}", "version 2"),
            ("{\"bbkit\":1,\"representation\":\"bbcode\",\"functions\":[]}", "a dump of bbcode"),
            ("{\"bbkit\":1,\"functions\":[]}", "`representation` is missing"),
            ("{\"bbkit\":1,\"representation\":\"ircode\"}", "`functions` is missing"),
            ("{\"functions\":{},\"bbkit\":1}", "list of functions"),
            ("{\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[],\"functions\":[]}", "two lists of functions"),
            ("{\"bbkit\":1,\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[]}", "two versions"),
            ("{\"bbkit\":1,\"representation\":\"ircode\",\"representation\":\"bbcode\"}", "two representations"),
        ] {
            let error = read(text).map(|functions| functions.len()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let text = to_json(&module()).unwrap();
        assert!(text.contains("{\"arg\":2}"), "{text}");
        for wrong in ["7", "{}", "{\"arg\":2,\"ssa\":1}"] {
            let error = read(&text.replace("{\"arg\":2}", wrong)).unwrap_err().to_string();
            assert!(error.contains("an object with one member, named after the kind"), "{wrong}: {error}");
        }
    }
}
