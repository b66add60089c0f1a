//! Modules in JSON.

use std::io::{self, Read};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{DumpReader, DumpWriter};
use crate::cfg::{BasicBlock, Cfg};
use crate::code::{IRCode, NewNode};
use crate::diagnostic::{Diagnostic, render_from_line};
use crate::instruction::{DebugInfo, Instruction};
use crate::module::{DefinedTwice, Module};
use crate::name::Name;
use crate::names::{BlockNumber, Positions, SSAValue};
use crate::stmt::Stmt;
use crate::types::Type;
use crate::version::JuliaVersion;

/// The version of the format. A reader refuses every other.
pub const VERSION: u32 = 1;

/// A representation that can be written to JSON and read back.
pub trait Dump: Sized {
    /// What the file calls the representation.
    const REPRESENTATION: &'static str;
    /// The form that is written.
    type Form: Serialize + DeserializeOwned;

    /// The form to write.
    ///
    /// # Errors
    ///
    /// Why the code cannot be written: it names what does not exist.
    fn dump(&self) -> Result<Self::Form, String>;

    /// The code that was written.
    ///
    /// # Errors
    ///
    /// What is wrong with the form.
    fn load(form: Self::Form) -> Result<Self, String>;
}

/// A function as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FunctionForm<F> {
    pub(super) name: Name,
    #[serde(default)]
    pub(super) parameters: Vec<Option<Name>>,
    #[serde(default)]
    pub(super) varargs: bool,
    #[serde(default = "untyped")]
    pub(super) result: Type,
    pub(super) body: F,
}

/// A function as it is written.
#[derive(Serialize)]
pub(super) struct FunctionRef<'a, F> {
    pub(super) name: &'a Name,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) parameters: &'a [Option<Name>],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) varargs: bool,
    #[serde(skip_serializing_if = "is_untyped")]
    pub(super) result: &'a Type,
    pub(super) body: F,
}

pub(super) fn untyped() -> Type {
    Type::Untyped
}

pub(super) fn is_untyped(ty: &Type) -> bool {
    *ty == Type::Untyped
}

/// Writes a module, a statement a line.
///
/// # Errors
///
/// As [`DumpWriter::function`], which verified code never gives.
pub fn to_json<F: Dump>(module: &Module<F>) -> io::Result<String> {
    let mut writer = DumpWriter::new::<F>(Vec::new())?;
    for function in module.functions() {
        writer.function(function)?;
    }
    let bytes = writer.finish(module.declarations())?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a module.
///
/// # Errors
///
/// [`JsonError`] if the text is no JSON, or JSON of another form or version. The code is not verified.
pub fn from_json<F: Dump>(text: &str) -> Result<Module<F>, JsonError> {
    read_module(DumpReader::new(text.as_bytes())).map_err(|error| error.in_whole(text))
}

/// Reads what is left of a dump into a module, where no two functions or declarations have the same name.
fn read_module<F: Dump, R: Read>(mut reader: DumpReader<R>) -> Result<Module<F>, JsonError> {
    let mut module = Module::new();
    let twice = |twice: DefinedTwice| JsonError::in_piece("", 0, twice.to_string(), 1, 0);
    while let Some(function) = reader.next_function::<F>()? {
        module.add_function(function).map_err(twice)?;
    }
    for declaration in reader.declarations() {
        module.declare(declaration.clone()).map_err(twice)?;
    }
    Ok(module)
}

/// Why JSON cannot be read, with the place where there is one. `{:?}` shows it as `{}` does: that is what a `main` prints
/// that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, and where in the source.
    pub diagnostic: Box<Diagnostic>,
    /// The text, or the part of it that was being read.
    pub source: Arc<str>,
    /// The number of the source's first line in the file, counted from 1.
    pub first_line: usize,
    /// The number of bytes before the source in the file.
    offset: usize,
}

impl JsonError {
    pub(super) fn in_piece(source: &str, at: usize, message: String, first_line: usize, offset: usize) -> Self {
        let at = at.min(source.len());
        let label = if source.is_empty() { "" } else { "up to here it could be read" };
        let diagnostic = Diagnostic::error(at..at, message, label);
        JsonError { diagnostic: Box::new(diagnostic), source: source.into(), first_line, offset }
    }

    /// The same error in the whole text.
    fn in_whole(mut self, text: &str) -> Self {
        let at = (self.offset + self.diagnostic.span.start).min(text.len());
        self.diagnostic.span = at..at;
        JsonError { source: text.into(), first_line: 1, offset: 0, ..self }
    }

    /// The error, drawn on its line, in the file of this name.
    pub fn render(&self, path: Option<&str>) -> String {
        let text = render_from_line(&self.source, self.first_line, path, std::slice::from_ref(&*self.diagnostic));
        text.trim_end().to_string()
    }
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(None))
    }
}

impl std::fmt::Debug for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for JsonError {}

/// An [`IRCode`] as it stands in JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IRCodeForm {
    argtypes: Vec<Type>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sptypes: Vec<Type>,
    #[serde(default, skip_serializing_if = "is_default_debuginfo")]
    debuginfo: Arc<DebugInfo>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    meta: Vec<Stmt<Positions>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    julia: Option<JuliaVersion>,
    blocks: Vec<BlockForm>,
    /// Julia's index of block starts. It is checked and not kept, as the ranges say the same.
    #[serde(default, skip_serializing)]
    index: Option<Vec<usize>>,
    statements: Vec<Instruction<Positions>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    new_nodes: Vec<NewNodeForm>,
}

fn is_default_debuginfo(debuginfo: &Arc<DebugInfo>) -> bool {
    **debuginfo == DebugInfo::default()
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockForm {
    /// The first and the last statement, counted from 1; an empty block ends before it starts.
    statements: (usize, usize),
    preds: Vec<BlockNumber>,
    succs: Vec<BlockNumber>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewNodeForm {
    anchor: SSAValue,
    attach_after: bool,
    instruction: Instruction<Positions>,
}

impl Dump for IRCode {
    const REPRESENTATION: &'static str = "ircode";
    type Form = IRCodeForm;

    fn dump(&self) -> Result<IRCodeForm, String> {
        let block = |block: &BasicBlock| BlockForm {
            statements: (block.stmts.start + 1, block.stmts.end),
            preds: block.preds.clone(),
            succs: block.succs.clone(),
        };
        let node = |node: &NewNode| NewNodeForm {
            anchor: node.anchor,
            attach_after: node.attach_after,
            instruction: node.inst.clone(),
        };
        Ok(IRCodeForm {
            argtypes: self.argtypes.clone(),
            sptypes: self.sptypes.clone(),
            julia: self.julia,
            debuginfo: self.debuginfo.clone(),
            meta: self.meta.clone(),
            blocks: self.cfg.blocks.iter().map(block).collect(),
            index: None,
            statements: self.stmts.clone().into_rows().collect(),
            new_nodes: self.new_nodes.iter().map(node).collect(),
        })
    }

    fn load(form: IRCodeForm) -> Result<Self, String> {
        let mut blocks = Vec::with_capacity(form.blocks.len());
        for (i, block) in form.blocks.into_iter().enumerate() {
            let (first, last) = block.statements;
            let start = first
                .checked_sub(1)
                .ok_or_else(|| format!("block #{} starts at statement 0, but they are counted from 1", i + 1))?;
            if last > form.statements.len() || start > last {
                let count = form.statements.len();
                let number = i + 1;
                return Err(format!(
                    "IR06: block #{number} holds the statements {first} to {last}, but there are {count}"
                ));
            }
            blocks.push(BasicBlock { stmts: start..last, preds: block.preds, succs: block.succs });
        }
        if let Some(index) = &form.index {
            check_index(&blocks, index)?;
        }
        let node = |node: NewNodeForm| NewNode {
            anchor: node.anchor,
            attach_after: node.attach_after,
            inst: node.instruction,
        };
        Ok(IRCode {
            stmts: form.statements.into_iter().collect(),
            argtypes: form.argtypes,
            sptypes: form.sptypes,
            julia: form.julia,
            debuginfo: form.debuginfo,
            meta: form.meta,
            cfg: Cfg { blocks },
            new_nodes: form.new_nodes.into_iter().map(node).collect(),
        })
    }
}

/// Julia's checks 1 and 7: the index holds the first statement of every block but the first, and perhaps the end.
fn check_index(blocks: &[BasicBlock], index: &[usize]) -> Result<(), String> {
    let count = blocks.len();
    if index.len() > count || index.len() + 1 < count {
        return Err(format!("IR01: the index of blocks has {} entries, but there are {count} blocks", index.len()));
    }
    for (number, (start, block)) in index.iter().zip(blocks).enumerate() {
        if *start != block.stmts.end + 1 {
            let (block, end) = (number + 1, block.stmts.end);
            return Err(format!(
                "IR07: block #{block} ends with statement {end}, but the index has the next start at {start}"
            ));
        }
    }
    Ok(())
}
