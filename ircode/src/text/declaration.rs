//! Reading and printing what is declared beside functions: types, classes, protocols, witness tables,
//! differentiability witnesses, global constants.

use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::Style;
use super::balanced::{balanced_length, find_depth_0, is_balanced, parted, split_depth_0};
use super::expression::{Cursor, read_operand};
use super::function::is_plain_function_name;
use super::header;
use super::print::{StatementPrinter, write_exact_scalar};
use crate::constant::{Constant, is_identifier, write_string};
use crate::diagnostic::Diagnostic;
use crate::differentiability::DifferentiabilityWitness;
use crate::globals::{GlobalConstant, GlobalConstantError, GlobalPart, GlobalValue};
use crate::module::{TypeDef, TypeKind};
use crate::name::Name;
use crate::names::Positions;
use crate::operand::Operand;
use crate::scalar::Scalar;
use crate::tables::{
    Class, Declaration, DerivativeKey, DerivativeKind, Entries, Entry, Protocol, Requirement, Witness,
};
use crate::types::Type;

type Read<T> = Result<T, Diagnostic>;

/// What may stand before the name of what is declared.
const KEYWORDS: [&str; 8] =
    ["struct ", "mutable struct ", "enum ", "class ", "protocol ", "witness ", "differentiability witness ", "const "];

/// Whether the line starts a declaration.
pub(super) fn starts_declaration(line: &str) -> bool {
    KEYWORDS.iter().any(|keyword| line.starts_with(keyword))
}

/// A declaration of which not all lines were read.
pub(super) enum Unfinished {
    /// One that may be over with any of its lines, and the names of its fields, cases or requirements.
    Declaration(Declaration, HashSet<Name>),
    /// A global constant, whose elements or fields are counted when it is over.
    Global { name: Name, ty: Type, size: Option<Vec<usize>>, parts: Vec<GlobalPart> },
}

impl Unfinished {
    /// The declaration, whose first line is at this place.
    pub(super) fn finish(self, start: &Range<usize>) -> Read<Declaration> {
        match self {
            Unfinished::Declaration(declaration, _) => Ok(declaration),
            Unfinished::Global { name, ty, size, parts } => {
                let constant = match ty {
                    Type::Array(array) => {
                        let size = size.unwrap_or_else(|| vec![parts.len()]);
                        GlobalConstant::elements(name, array.element.clone(), size, parts)
                    }
                    ty => GlobalConstant::fields(name, ty, parts),
                };
                let error =
                    |error: GlobalConstantError| Diagnostic::error(start.clone(), error.to_string(), "this constant");
                Ok(Declaration::Global(Arc::new(constant.map_err(error)?)))
            }
        }
    }
}

/// Reads the first line of a declaration.
pub(super) fn declare(mut cursor: Cursor<'_>) -> Read<Unfinished> {
    let keyword = KEYWORDS.into_iter().find(|keyword| cursor.eat(keyword)).unwrap_or_default();
    cursor.skip_spaces();
    let start = cursor.pos();
    let length = balanced_length(cursor.rest(), |rest| rest.starts_with(" # "));
    let text = cursor.text(start..start + length).trim();
    let span = cursor.span(start, start + length);
    check_brackets(text, &span)?;
    let new_type = |text: &str| match Type::parse(text.trim()) {
        Type::Named(name) if is_declarable(&name) => Ok(name),
        _ => {
            let message = format!("`{}` cannot be declared", text.trim());
            Err(Diagnostic::error(span.clone(), message, "expected the name of a new type"))
        }
    };
    if keyword == "const " {
        return global(text).ok_or_else(|| {
            let message = "this is no array, tuple or struct";
            Diagnostic::error(span.clone(), message, "expected `NAME::T`, or `NAME::Array{T,N} size M N`")
        });
    }
    let declaration = match keyword {
        "class " => {
            let (name, superclass) = match text.split_once("<:") {
                Some((name, superclass)) => (name, Some(new_type(superclass)?)),
                None => (text, None),
            };
            let methods = Entries::default();
            Declaration::Class(Class { name: new_type(name)?, superclass, fields: Vec::new(), methods })
        }
        "protocol " => Declaration::Protocol(Protocol { name: new_type(text)?, requirements: Vec::new() }),
        "witness " => {
            let missing = || Diagnostic::error(span.clone(), "this is no witness table", "expected `T: PROTOCOL`");
            let (of, protocol) = text.split_once(':').ok_or_else(missing)?;
            let of = Type::parse(of.trim());
            if of == Type::Untyped {
                return Err(missing());
            }
            Declaration::Witness(Witness { of, protocol: new_type(protocol)?, entries: Entries::default() })
        }
        "differentiability witness " => {
            let mut rest = Cursor::new(text, start);
            let function = function_name(&mut rest)?;
            let numbers = with_respect_to(&mut rest, "wrt").filter(|_| !function.is_empty() && rest.at_end());
            let wrong = || {
                let message = "this is no differentiability witness";
                Diagnostic::error(span.clone(), message, "expected `FUNCTION wrt 2 3`")
            };
            Declaration::Differentiability(DifferentiabilityWitness::open(function, numbers.ok_or_else(wrong)?))
        }
        "enum " => {
            let kind = TypeKind::Enum { cases: Vec::new() };
            Declaration::Type(TypeDef { name: new_type(text)?, supertypes: None, kind })
        }
        other => {
            let (first, mut rest) = parted(text, "<:");
            let name = new_type(first)?;
            let mut above = Vec::new();
            while let Some(names) = rest {
                let (next, further) = parted(names, "<:");
                above.push(match Type::parse(next.trim()) {
                    Type::Any => Type::Any,
                    _ => Type::Named(new_type(next)?),
                });
                rest = further;
            }
            let supertypes = (!above.is_empty()).then_some(above);
            let kind = TypeKind::Struct { mutable: other.starts_with("mutable"), fields: Vec::new() };
            Declaration::Type(TypeDef { name, supertypes, kind })
        }
    };
    Ok(Unfinished::Declaration(declaration, HashSet::new()))
}

/// Reads `NAME::Vector{T}`, `NAME::Array{T,N} size M N`, or `NAME::T`.
fn global(text: &str) -> Option<Unfinished> {
    let (name, rest) = text.split_once("::")?;
    let (ty, size) = match rest.split_once(" size ") {
        Some((ty, size)) => {
            (ty, Some(size.split_whitespace().map(|dim| dim.parse().ok()).collect::<Option<Vec<_>>>()?))
        }
        None => (rest, None),
    };
    let ty = Type::parse(ty.trim());
    let fits = match (&ty, &size) {
        (Type::Array(array), Some(size)) => usize::try_from(array.rank) == Ok(size.len()) && !size.is_empty(),
        (Type::Array(array), None) => array.rank == 1,
        (Type::Tuple(_) | Type::NamedTuple(_) | Type::Named(_) | Type::Ref(_), None) => true,
        _ => false,
    };
    let is_path = !name.is_empty() && !name.contains(char::is_whitespace);
    (fits && is_path).then(|| Unfinished::Global { name: name.into(), ty, size, parts: Vec::new() })
}

/// Reads a line inside a declaration: a field `name::T`, a case `name(T, …)`, an entry `name => function`, a
/// requirement `name(x::T)::R`, elements of an array or fields of an object.
pub(super) fn declare_member(unfinished: &mut Unfinished, mut cursor: Cursor<'_>) -> Read<()> {
    let start = cursor.pos();
    let length = balanced_length(cursor.rest(), |rest| rest.starts_with(" # "));
    let text = cursor.text(start..start + length).trim_end();
    let span = cursor.span(start, start + text.len());
    let (declaration, names) = match unfinished {
        Unfinished::Declaration(declaration, names) => (declaration, names),
        Unfinished::Global { ty, parts, .. } => return add_parts(parts, ty, text, &span),
    };
    check_brackets(text, &span)?;
    match declaration {
        Declaration::Class(Class { methods, .. }) if cursor.eat("method ") => add_entry(methods, cursor, span),
        Declaration::Witness(Witness { entries, .. }) => add_entry(entries, cursor, span),
        Declaration::Differentiability(witness) => add_derivative(witness, cursor, span),
        Declaration::Protocol(Protocol { requirements, .. }) => {
            let requirement = requirement(text, &span, cursor.pos())?;
            if !names.insert(requirement.name.clone()) {
                let message = format!("there are two requirements `{}`", requirement.name);
                return Err(Diagnostic::error(span, message, "the second one"));
            }
            requirements.push(requirement);
            Ok(())
        }
        Declaration::Class(Class { fields, .. })
        | Declaration::Type(TypeDef { kind: TypeKind::Struct { fields, .. }, .. }) => {
            add_field(fields, names, text, span)
        }
        Declaration::Type(TypeDef { kind: TypeKind::Enum { cases }, .. }) => add_case(cases, names, text, span),
        // It is unfinished as long as it has members.
        Declaration::Global(_) => Ok(()),
    }
}

/// The types in a line must close the brackets that they open.
fn check_brackets(text: &str, span: &Range<usize>) -> Read<()> {
    match is_balanced(text) {
        true => Ok(()),
        false => {
            Err(Diagnostic::error(span.clone(), "the brackets of this declaration do not match", "expected a type"))
        }
    }
}

/// Reads elements of an array, or fields of an object, with commas between them.
fn add_parts(parts: &mut Vec<GlobalPart>, ty: &Type, text: &str, span: &Range<usize>) -> Read<()> {
    let number = match ty {
        Type::Array(array) => array.element.as_scalar(),
        _ => None,
    };
    let text = text.strip_suffix(',').unwrap_or(text);
    for part in split_depth_0(text, ',').unwrap_or_default() {
        let part = part.trim();
        let read = match (read_part(part), number) {
            // How an integer is written does not say its width.
            (Some(GlobalPart::Constant(Constant::Scalar(Scalar::Int64(value)))), Some(ty)) => {
                let number = Scalar::from_i128(ty, value.into());
                number.map(|number| GlobalPart::Constant(Constant::Scalar(number)))
            }
            (read, None) => read,
            (Some(GlobalPart::Constant(Constant::Scalar(number))), Some(ty)) => {
                (number.scalar_type() == ty).then_some(GlobalPart::Constant(Constant::Scalar(number)))
            }
            _ => None,
        };
        let Some(read) = read else {
            let message = match number {
                Some(ty) => format!("`{part}` is no {ty}"),
                None => format!("`{part}` is no constant, and not the name of one"),
            };
            return Err(Diagnostic::error(span.clone(), message, "among these elements"));
        };
        parts.push(read);
    }
    Ok(())
}

/// The constant, or the global, that a text is.
fn read_part(text: &str) -> Option<GlobalPart> {
    if text == UNDEFINED {
        return Some(GlobalPart::Undefined);
    }
    match read_operand(text)? {
        Operand::Constant(constant) => Some(GlobalPart::Constant(constant)),
        Operand::Quote(constant) => Some(GlobalPart::Constant((*constant).clone())),
        Operand::Global(global) => Some(GlobalPart::Global((*global).clone())),
        _ => None,
    }
}

fn add_field(fields: &mut Vec<(Name, Type)>, names: &mut HashSet<Name>, text: &str, span: Range<usize>) -> Read<()> {
    let colon = find_depth_0(text, "::");
    let written = colon.and_then(|colon| text.get(..colon)).unwrap_or(text).trim();
    let ty = colon.and_then(|colon| text.get(colon + 2..)).map_or(Type::Any, Type::parse);
    let mut cursor = Cursor::new(written, span.start);
    let (name, is_name): (Name, bool) = match written.starts_with("var\"") {
        true => (function_name(&mut cursor)?.into(), cursor.at_end()),
        false => (written.into(), is_identifier(written)),
    };
    if !is_name || ty == Type::Untyped {
        return Err(Diagnostic::error(span, "this is no field of a struct", "expected `name::T`"));
    }
    if !names.insert(name.clone()) {
        return Err(Diagnostic::error(span, format!("there are two fields `{name}`"), "the second one"));
    }
    fields.push((name, ty));
    Ok(())
}

fn add_case(cases: &mut Vec<(Name, Vec<Type>)>, names: &mut HashSet<Name>, text: &str, span: Range<usize>) -> Read<()> {
    let (name, payload) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')').and_then(|inside| split_depth_0(inside, ','))),
        None => (text, Some(Vec::new())),
    };
    let payload = payload.filter(|types| types.iter().all(|ty| !ty.trim().is_empty()));
    let (true, Some(payload)) = (is_identifier(name), payload) else {
        return Err(Diagnostic::error(span, "this is no case of an enum", "expected `name(T, …)`"));
    };
    let name = Name::from(name);
    if !names.insert(name.clone()) {
        return Err(Diagnostic::error(span, format!("there are two cases `{name}`"), "the second one"));
    }
    cases.push((name, payload.into_iter().map(Type::parse).collect()));
    Ok(())
}

/// Reads `name => function`, with ` differentiable` and the numbers of parameters behind it perhaps, or
/// `name vjp => function`, `name jvp wrt 2 3 => function generated`.
fn add_entry(entries: &mut Entries, mut cursor: Cursor<'_>, span: Range<usize>) -> Read<()> {
    let wrong = || Diagnostic::error(span.clone(), "this is no entry of a table", "expected `name => function`");
    cursor.skip_spaces();
    let name = word(&mut cursor);
    if !is_identifier(name) {
        return Err(wrong());
    }
    cursor.skip_spaces();
    let derivative = match cursor.starts_with("=>") {
        true => None,
        false => {
            let kind = DerivativeKind::of_name(word(&mut cursor)).ok_or_else(wrong)?;
            Some(DerivativeKey { kind, with_respect_to: with_respect_to(&mut cursor, "wrt").ok_or_else(wrong)? })
        }
    };
    cursor.skip_spaces();
    cursor.expect("=>")?;
    cursor.skip_spaces();
    let function = function_name(&mut cursor)?;
    cursor.skip_spaces();
    let differentiable = match cursor.starts_with("differentiable") {
        true => Some(with_respect_to(&mut cursor, "differentiable").ok_or_else(wrong)?),
        false => None,
    };
    let generated = derivative.is_some() && cursor.eat("generated");
    let ends = cursor.at_end() || cursor.starts_with("# ");
    if function.is_empty() || !ends || differentiable.is_some() && derivative.is_some() {
        return Err(wrong());
    }
    let entry = Entry { name: name.into(), derivative, function: function.into(), generated, differentiable };
    entries.add(entry).map_err(|twice| {
        Diagnostic::error(span.clone(), format!("there are two such entries for `{}`", twice.0), "the second one")
    })
}

/// Reads `vjp => function` or `jvp => function`.
fn add_derivative(witness: &mut DifferentiabilityWitness, mut cursor: Cursor<'_>, span: Range<usize>) -> Read<()> {
    let wrong = || Diagnostic::error(span.clone(), "this is no derivative", "expected `vjp => function`");
    let kind = DerivativeKind::of_name(word(&mut cursor)).ok_or_else(wrong)?;
    cursor.skip_spaces();
    cursor.expect("=>")?;
    cursor.skip_spaces();
    let function = function_name(&mut cursor)?;
    cursor.skip_spaces();
    if function.is_empty() || !(cursor.at_end() || cursor.starts_with("# ")) {
        return Err(wrong());
    }
    let place = match kind {
        DerivativeKind::Jvp => &mut witness.jvp,
        DerivativeKind::Vjp => &mut witness.vjp,
    };
    match place.replace(function.into()) {
        None => Ok(()),
        Some(_) => {
            let message = format!("there are two derivatives `{}`", kind.name());
            Err(Diagnostic::error(span.clone(), message, "the second one"))
        }
    }
}

/// Reads the name of a function; the empty one if there is none.
fn function_name(cursor: &mut Cursor<'_>) -> Read<String> {
    match cursor.starts_with("var\"") {
        true => {
            cursor.seek(cursor.pos() + "var".len());
            cursor.string()
        }
        false => Ok(word(cursor).to_string()),
    }
}

/// Writes a name that is no identifier as `var"name"`.
fn write_quoted(out: &mut dyn Write, name: &Name) -> fmt::Result {
    out.write_str("var")?;
    write_string(out, name)
}

/// Writes the name of a function so that it can be read.
fn write_function_name(out: &mut dyn Write, name: &Name) -> fmt::Result {
    match is_plain_function_name(name) {
        true => out.write_str(name),
        false => write_quoted(out, name),
    }
}

fn word<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    cursor.take_while(|c| !c.is_whitespace())
}

/// Reads a keyword and numbers of parameters, in ascending order; an empty list where the keyword is missing.
fn with_respect_to(cursor: &mut Cursor<'_>, keyword: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    cursor.skip_spaces();
    if cursor.eat(keyword) {
        cursor.skip_spaces();
        while cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            numbers.push(word(cursor).parse::<u32>().ok()?);
            cursor.skip_spaces();
        }
    }
    numbers.is_sorted_by(|a, b| a < b).then_some(numbers)
}

fn requirement(text: &str, span: &Range<usize>, at: usize) -> Read<Requirement> {
    let header = header::function(Cursor::new(&format!("function {text}"), at.saturating_sub("function ".len())));
    let wrong = || Diagnostic::error(span.clone(), "this is no requirement", "expected `name(x::T)::R`");
    let header = header.map_err(|_| wrong())?;
    if !is_identifier(&header.name) {
        return Err(wrong());
    }
    Ok(Requirement { name: header.name, parameters: header.parameters, result: header.result })
}

/// Whether this can be the name of a type: spaces are in brackets only, as in `Pairs{(:a, :b)}`.
pub(crate) fn is_declarable(name: &str) -> bool {
    find_depth_0(name, " ").is_none() && !name.contains(['\t', '\n', '\r'])
}

/// Prints a declaration.
///
/// ```
/// use ircode::{Class, Declaration, Entries, Entry, Type, text::print_declaration};
///
/// let mut methods = Entries::default();
/// methods.add(Entry::method("area", "circle_area"))?;
/// let fields = vec![("r".into(), Type::FLOAT64)];
/// let class = Class { name: "Circle".into(), superclass: Some("Shape".into()), fields, methods };
/// assert_eq!(print_declaration(&Declaration::Class(class)), "\
/// class Circle <: Shape
///     r::Float64
///     method area => circle_area
/// end
/// ");
/// # Ok::<(), ircode::DefinedTwice>(())
/// ```
pub fn print_declaration(declaration: &Declaration) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_declaration(&mut out, declaration);
    out
}

/// What was not assigned.
const UNDEFINED: &str = "$(undef)";

/// Elements of an array, or fields of an object, on a line.
const ELEMENTS: usize = 8;

/// Writes `struct … end`, `class … end` and so on.
fn write_declaration(out: &mut dyn Write, declaration: &Declaration) -> fmt::Result {
    match declaration {
        Declaration::Type(TypeDef { name, supertypes, kind: TypeKind::Struct { mutable, fields } }) => {
            write!(out, "{}struct {name}", if *mutable { "mutable " } else { "" })?;
            match supertypes.as_deref() {
                Some([]) => out.write_str(" <: Any")?,
                Some(above) => above.iter().try_for_each(|ty| write!(out, " <: {ty}"))?,
                None => {}
            }
            writeln!(out)?;
            write_fields(out, fields)?;
        }
        Declaration::Type(TypeDef { name, kind: TypeKind::Enum { cases }, .. }) => {
            writeln!(out, "enum {name}")?;
            for (name, payload) in cases {
                let payload: Vec<String> = payload.iter().map(Type::to_string).collect();
                match payload.is_empty() {
                    true => writeln!(out, "    {name}")?,
                    false => writeln!(out, "    {name}({})", payload.join(", "))?,
                }
            }
        }
        Declaration::Class(class) => {
            write!(out, "class {}", class.name)?;
            match &class.superclass {
                Some(superclass) => writeln!(out, " <: {superclass}")?,
                None => writeln!(out)?,
            }
            write_fields(out, &class.fields)?;
            write_entries(out, &class.methods, "method ")?;
        }
        Declaration::Protocol(protocol) => {
            writeln!(out, "protocol {}", protocol.name)?;
            for requirement in &protocol.requirements {
                write!(out, "    {}(", requirement.name)?;
                for (i, (name, ty)) in requirement.parameters.iter().enumerate() {
                    out.write_str(if i > 0 { ", " } else { "" })?;
                    match name {
                        Some(name) if is_identifier(name) => write!(out, "{name}")?,
                        _ => write!(out, "_{}", i + 2)?,
                    }
                    write_type(out, ty)?;
                }
                out.write_char(')')?;
                write_type(out, &requirement.result)?;
                writeln!(out)?;
            }
        }
        Declaration::Witness(witness) => {
            writeln!(out, "witness {}: {}", witness.of, witness.protocol)?;
            write_entries(out, &witness.entries, "")?;
        }
        Declaration::Differentiability(witness) => {
            out.write_str("differentiability witness ")?;
            write_function_name(out, &witness.function)?;
            write_with_respect_to(out, &witness.with_respect_to)?;
            writeln!(out)?;
            for kind in [DerivativeKind::Jvp, DerivativeKind::Vjp] {
                if let Some(derivative) = witness.derivative(kind) {
                    write!(out, "    {} => ", kind.name())?;
                    write_function_name(out, derivative)?;
                    writeln!(out)?;
                }
            }
        }
        Declaration::Global(constant) => write_global(out, constant)?,
    }
    writeln!(out, "end")
}

fn write_global(out: &mut dyn Write, constant: &GlobalConstant) -> fmt::Result {
    write!(out, "const {}::{}", constant.name(), constant.ty())?;
    if let GlobalValue::Numbers { size, .. } | GlobalValue::Elements { size, .. } = constant.value()
        && size.len() > 1
    {
        out.write_str(" size")?;
        size.iter().try_for_each(|dim| write!(out, " {dim}"))?;
    }
    writeln!(out)?;
    match constant.value() {
        GlobalValue::Numbers { elements, .. } => write_parts(out, elements, |out, number| {
            // The type of the array says the width of an integer.
            match number.is_unusual_nan() {
                true => write_exact_scalar(out, number),
                false => write!(out, "{number}"),
            }
        }),
        GlobalValue::Elements { elements: parts, .. } | GlobalValue::Fields(parts) => {
            let printer = StatementPrinter::new(Style::Bbkit);
            write_parts(out, parts, |out, part| {
                let operand: Operand<Positions> = match part {
                    GlobalPart::Constant(constant) => Operand::Constant(constant.clone()),
                    GlobalPart::Global(global) => Operand::Global(Arc::new(global.clone())),
                    GlobalPart::Undefined => return out.write_str(UNDEFINED),
                };
                out.write_str(&printer.operand(&operand))
            })
        }
    }
}

/// Writes lines of some parts each, with commas between them.
fn write_parts<T>(out: &mut dyn Write, parts: &[T], write: impl Fn(&mut dyn Write, &T) -> fmt::Result) -> fmt::Result {
    for line in parts.chunks(ELEMENTS) {
        for (index, part) in line.iter().enumerate() {
            out.write_str(if index > 0 { ", " } else { "    " })?;
            write(out, part)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_fields(out: &mut dyn Write, fields: &[(Name, Type)]) -> fmt::Result {
    fields.iter().try_for_each(|(name, ty)| {
        out.write_str("    ")?;
        match is_identifier(name) {
            true => out.write_str(name)?,
            false => write_quoted(out, name)?,
        }
        writeln!(out, "::{ty}")
    })
}

fn write_type(out: &mut dyn Write, ty: &Type) -> fmt::Result {
    if *ty == Type::Untyped { Ok(()) } else { write!(out, "::{ty}") }
}

fn write_entries(out: &mut dyn Write, entries: &Entries, keyword: &str) -> fmt::Result {
    for entry in entries {
        write!(out, "    {keyword}{}", entry.name)?;
        if let Some(DerivativeKey { kind, with_respect_to }) = &entry.derivative {
            write!(out, " {}", kind.name())?;
            write_with_respect_to(out, with_respect_to)?;
        }
        out.write_str(" => ")?;
        write_function_name(out, &entry.function)?;
        out.write_str(if entry.generated { " generated" } else { "" })?;
        if let Some(with_respect_to) = &entry.differentiable {
            out.write_str(" differentiable")?;
            with_respect_to.iter().try_for_each(|number| write!(out, " {number}"))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes with respect to which parameters something is the derivative; nothing if there are none.
fn write_with_respect_to(out: &mut dyn Write, numbers: &[u32]) -> fmt::Result {
    out.write_str(if numbers.is_empty() { "" } else { " wrt" })?;
    numbers.iter().try_for_each(|number| write!(out, " {number}"))
}
