//! Writing a dump as a stream: one function at a time.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::declaration::DeclarationForm;
use super::module::{Dump, FunctionRef, VERSION};
use crate::module::Function;
use crate::tables::Declaration;

/// Writes the functions of a dump one after another, each as soon as it is given; a statement a line.
#[derive(Debug)]
pub struct DumpWriter<W> {
    out: W,
    representation: &'static str,
    functions: usize,
}

impl<W: Write> DumpWriter<W> {
    /// A writer of functions in the representation `F`.
    ///
    /// # Errors
    ///
    /// That of the output.
    pub fn new<F: Dump>(mut out: W) -> io::Result<Self> {
        write!(out, "{{\"bbkit\":{VERSION},\"representation\":\"{}\",\"functions\":[", F::REPRESENTATION)?;
        Ok(DumpWriter { out, representation: F::REPRESENTATION, functions: 0 })
    }

    /// Writes a function.
    ///
    /// # Errors
    ///
    /// That of the output; and one of the kind [`io::ErrorKind::InvalidData`] if the function names what does not
    /// exist, or is of another representation.
    pub fn function<F: Dump>(&mut self, function: &Function<F>) -> io::Result<()> {
        if F::REPRESENTATION != self.representation {
            let message = format!("a function in {} cannot be in a dump of {}", F::REPRESENTATION, self.representation);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let body = function.body.dump().map_err(|problem| {
            let message = format!("in the function `{}`: {problem}", function.name);
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        self.out.write_all(if self.functions > 0 { b",\n" } else { b"\n" })?;
        self.functions += 1;
        let form = FunctionRef {
            name: &function.name,
            parameters: &function.parameters,
            varargs: function.varargs,
            result: &function.result,
            body,
        };
        let formatter = Lines { depth: 1, ..Lines::default() };
        form.serialize(&mut Serializer::with_formatter(&mut self.out, formatter))?;
        Ok(())
    }

    /// Ends the dump with the declarations, in their order, and gives the output back.
    ///
    /// # Errors
    ///
    /// That of the output.
    pub fn finish(mut self, declarations: impl IntoIterator<Item = Declaration>) -> io::Result<W> {
        self.out.write_all(b"\n]")?;
        let forms: Vec<DeclarationForm> = declarations.into_iter().map(DeclarationForm::from).collect();
        if !forms.is_empty() {
            self.out.write_all(b",\"types\":")?;
            let formatter = Lines { depth: 1, ..Lines::default() };
            forms.serialize(&mut Serializer::with_formatter(&mut self.out, formatter))?;
        }
        self.out.write_all(b"}\n")?;
        Ok(self.out)
    }
}

/// Compact JSON, but that what stands in a list of statements, blocks or types begins a line.
#[derive(Default)]
struct Lines {
    depth: usize,
    element: bool,
}

/// Objects in lists begin a line down to this depth, which is that of the statements in a block of BBCode.
const LINE_DEPTH: usize = 5;

impl Formatter for Lines {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.element = true;
        CompactFormatter.begin_array_value(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if std::mem::take(&mut self.element) && self.depth <= LINE_DEPTH {
            writer.write_all(b"\n")?;
        }
        CompactFormatter.begin_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.element = false;
        CompactFormatter.begin_object_key(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.element = false;
        CompactFormatter.end_array_value(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        CompactFormatter.end_object(writer)
    }
}
