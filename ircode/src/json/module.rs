//! Modules in JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cfg::{BasicBlock, Cfg};
use crate::code::{IRCode, NewNode};
use crate::diagnostic::{Diagnostic, render};
use crate::instruction::{DebugInfo, Instruction};
use crate::module::{Function, Module, TypeDef, TypeKind};
use crate::name::Name;
use crate::names::{BlockNumber, Positions, SSAValue};
use crate::stmt::Stmt;
use crate::types::Type;

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

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<F> {
    bbkit: u32,
    representation: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    types: Vec<TypeForm>,
    functions: Vec<FunctionForm<F>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionForm<F> {
    name: Name,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Option<Name>>,
    #[serde(default = "untyped", skip_serializing_if = "is_untyped")]
    result: Type,
    body: F,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum TypeForm {
    Struct {
        name: Name,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        mutable: bool,
        fields: Vec<(Name, Type)>,
    },
    Enum {
        name: Name,
        cases: Vec<(Name, Vec<Type>)>,
    },
}

fn untyped() -> Type {
    Type::Untyped
}

fn is_untyped(ty: &Type) -> bool {
    *ty == Type::Untyped
}

/// Writes a module.
///
/// # Errors
///
/// Why a function cannot be written, which is never so of verified code.
pub fn to_json<F: Dump>(module: &Module<F>) -> Result<String, String> {
    let mut functions = Vec::with_capacity(module.functions().len());
    for function in module.functions() {
        let body = function.body.dump().map_err(|problem| format!("in the function `{}`: {problem}", function.name))?;
        functions.push(FunctionForm {
            name: function.name.clone(),
            parameters: function.parameters.clone(),
            result: function.result.clone(),
            body,
        });
    }
    let document = Document {
        bbkit: VERSION,
        representation: F::REPRESENTATION.into(),
        types: module.types().iter().map(type_form).collect(),
        functions,
    };
    let mut text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Reads a module.
///
/// # Errors
///
/// [`JsonError`] if the text is no JSON, or JSON of another form or version. The code is not verified.
pub fn from_json<F: Dump>(text: &str) -> Result<Module<F>, JsonError> {
    let fail = |error: serde_json::Error| JsonError::at(text, &error);
    let representation = representation(text)?;
    if representation != F::REPRESENTATION {
        let message = format!("this is a dump of {representation}, expected {}", F::REPRESENTATION);
        return Err(JsonError::new(text, message));
    }
    let document: Document<F::Form> = serde_json::from_str(text).map_err(fail)?;
    let mut module = Module::new();
    for form in document.types {
        let def = type_def(form);
        module.add_type(def).map_err(|twice| JsonError::new(text, twice.to_string()))?;
    }
    for form in document.functions {
        let body = F::load(form.body)
            .map_err(|problem| JsonError::new(text, format!("in the function `{}`: {problem}", form.name)))?;
        let function = Function { name: form.name, parameters: form.parameters, result: form.result, body };
        module.add_function(function).map_err(|twice| JsonError::new(text, twice.to_string()))?;
    }
    Ok(module)
}

/// Which representation a dump holds, by its name. A file of another kind or version is told apart before its contents
/// are looked at.
///
/// # Errors
///
/// [`JsonError`] if the text is no JSON, or no dump of this version.
pub fn representation(text: &str) -> Result<String, JsonError> {
    #[derive(Deserialize)]
    struct Heading {
        bbkit: Option<u32>,
        representation: Option<String>,
    }
    if !text.trim_start().starts_with('{') {
        return Err(JsonError::new(text, "a dump is a JSON object, which this is not".into()));
    }
    let heading: Heading = serde_json::from_str(text).map_err(|error| JsonError::at(text, &error))?;
    match (heading.bbkit, heading.representation) {
        (Some(VERSION), Some(name)) => Ok(name),
        (Some(VERSION), None) => Err(JsonError::new(text, "the member `representation` is missing".into())),
        (Some(other), _) => {
            Err(JsonError::new(text, format!("this is version {other} of the format, expected version {VERSION}")))
        }
        (None, _) => Err(JsonError::new(text, "this is no dump of bbkit: the member `bbkit` is missing".into())),
    }
}

fn type_form(def: &TypeDef) -> TypeForm {
    let name = def.name.clone();
    match &def.kind {
        TypeKind::Struct { mutable, fields } => TypeForm::Struct { name, mutable: *mutable, fields: fields.clone() },
        TypeKind::Enum { cases } => TypeForm::Enum { name, cases: cases.clone() },
    }
}

fn type_def(form: TypeForm) -> TypeDef {
    match form {
        TypeForm::Struct { name, mutable, fields } => TypeDef { name, kind: TypeKind::Struct { mutable, fields } },
        TypeForm::Enum { name, cases } => TypeDef { name, kind: TypeKind::Enum { cases } },
    }
}

/// Why JSON cannot be read, with the place where there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    /// What is wrong, and where.
    pub diagnostic: Box<Diagnostic>,
    /// The text.
    pub source: Arc<str>,
}

impl JsonError {
    fn new(text: &str, message: String) -> Self {
        JsonError { diagnostic: Box::new(Diagnostic::error(0..0, message, "")), source: text.into() }
    }

    fn at(text: &str, error: &serde_json::Error) -> Self {
        let line_start = match error.line() {
            0 | 1 => 0,
            line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
        };
        let at = (line_start + error.column().saturating_sub(1)).min(text.len());
        let message = error.to_string();
        // The place is shown, so its numbers need not be told too.
        let message = message.split(" at line ").next().unwrap_or(&message).to_string();
        let diagnostic = Diagnostic::error(at..at, message, "up to here it could be read");
        JsonError { diagnostic: Box::new(diagnostic), source: text.into() }
    }
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(render(&self.source, None, std::slice::from_ref(&*self.diagnostic)).trim_end())
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
    debuginfo: DebugInfo,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    meta: Vec<Stmt<Positions>>,
    blocks: Vec<BlockForm>,
    statements: Vec<Instruction<Positions>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    new_nodes: Vec<NewNodeForm>,
}

fn is_default_debuginfo(debuginfo: &DebugInfo) -> bool {
    *debuginfo == DebugInfo::default()
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
            debuginfo: self.debuginfo.clone(),
            meta: self.meta.clone(),
            blocks: self.cfg.blocks.iter().map(block).collect(),
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
                return Err(format!("block #{} holds the statements {first} to {last}, but there are {count}", i + 1));
            }
            blocks.push(BasicBlock { stmts: start..last, preds: block.preds, succs: block.succs });
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
            debuginfo: form.debuginfo,
            meta: form.meta,
            cfg: Cfg { blocks },
            new_nodes: form.new_nodes.into_iter().map(node).collect(),
        })
    }
}
