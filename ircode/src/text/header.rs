//! Reading headers of functions and declarations of types.

use std::ops::Range;

use super::balanced::is_balanced;
use super::balanced::{balanced_length, find_depth_0, split_depth_0};
use super::expression::Cursor;
use crate::constant::is_identifier;
use crate::diagnostic::Diagnostic;
use crate::json::sharing;
use crate::module::{TypeDef, TypeKind, method_of};
use crate::name::Name;
use crate::types::Type;

type Read<T> = Result<T, Diagnostic>;

/// The header of a function: `function NAME(_2::T, …)::R`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Header {
    pub(super) name: Name,
    /// The type of `_1`: that of a parameter of this name, or `typeof(NAME)`.
    pub(super) own_type: Type,
    /// The names, where they are given, and the types of `_2`, `_3`, ….
    pub(super) parameters: Vec<(Option<Name>, Type)>,
    pub(super) result: Type,
    pub(super) span: Range<usize>,
}

/// The type of a function that its header does not give.
pub(super) fn own_type(name: &Name) -> Type {
    if name.is_empty() {
        return Type::Untyped;
    }
    // Of a method, `f(::Float64)` or `(::T)(::Float64)`, that of what is called.
    let of = method_of(name).unwrap_or(name);
    if !is_balanced(of) {
        // No type is spelled so.
        return Type::Untyped;
    }
    match of.strip_prefix("(::").and_then(|of| of.strip_suffix(')')) {
        Some(ty) => Type::parse(ty),
        None => Type::parse(&format!("typeof({of})")),
    }
}

/// Reads `function NAME(_2::T, …)::R`.
pub(super) fn function(mut cursor: Cursor<'_>) -> Read<Header> {
    let start = cursor.pos();
    cursor.expect("function ")?;
    cursor.skip_spaces();
    let name_start = cursor.pos();
    let quoted = cursor.eat("var\"");
    let name = if quoted {
        cursor.seek(name_start + "var".len());
        cursor.string()?
    } else {
        cursor.take_while(|c| c != '(').trim_end().to_string()
    };
    if !quoted && (name.contains(char::is_whitespace) || name.contains(['"', ';', ')'])) {
        let span = cursor.span(name_start, name_start + name.len());
        return Err(Diagnostic::error(span, format!("`{name}` is no name of a function"), "expected a name"));
    }
    let name = Name::from(name);
    cursor.expect("(")?;
    let inside = cursor.pos();
    let length = balanced_length(cursor.rest(), |rest| rest.starts_with(')'));
    cursor.seek(inside + length);
    let parameters = cursor.text(inside..inside + length);
    cursor.expect(")")?;
    let mut header = Header {
        own_type: own_type(&name),
        name,
        parameters: Vec::new(),
        result: Type::Untyped,
        span: cursor.span(start, cursor.pos()),
    };
    let bad_list = || {
        let span = cursor.span(inside, inside + length);
        Diagnostic::error(span, "this list of parameters cannot be read", "expected `_2::T, _3::T`")
    };
    let mut at = inside;
    for (i, parameter) in split_depth_0(parameters, ',').ok_or_else(bad_list)?.into_iter().enumerate() {
        let span = cursor.span(at, at + parameter.len());
        at += parameter.len() + 1;
        header.add_parameter(i, parameter.trim(), span)?;
    }
    if cursor.eat("::") {
        let from = cursor.pos();
        let length = balanced_length(cursor.rest(), |rest| rest.starts_with(" # "));
        cursor.seek(from + length);
        header.result = annotation(cursor.text(from..from + length).trim(), &cursor.span(from, from + length))?;
    }
    if !cursor.at_end() && !cursor.starts_with(" # ") {
        return Err(cursor.expected("`::` and the type of the result, or the end of the line"));
    }
    Ok(header)
}

impl Header {
    fn add_parameter(&mut self, position: usize, text: &str, span: Range<usize>) -> Read<()> {
        let (name, ty) = match find_depth_0(text, "::") {
            Some(colon) => {
                let ty = text.get(colon + 2..).unwrap_or_default().trim();
                if ty.is_empty() {
                    return Err(Diagnostic::error(span, "the type of this parameter is missing", "expected a type"));
                }
                (text.get(..colon).unwrap_or_default().trim(), annotation(ty, &span)?)
            }
            None => (text, Type::Untyped),
        };
        let number = name.strip_prefix('_').and_then(|digits| digits.parse::<usize>().ok());
        if position == 0 && number == Some(1) {
            self.own_type = ty;
            self.parameters.clear();
            self.span.end = span.end.max(self.span.end);
            return Ok(());
        }
        let expected = self.parameters.len() + 2;
        if let Some(number) = number {
            if number != expected {
                let message = format!("this is parameter _{expected}, but it is called _{number}");
                return Err(Diagnostic::error(span, message, format!("expected _{expected}")));
            }
            self.parameters.push((None, ty));
            return Ok(());
        }
        if name.is_empty() && !text.is_empty() {
            self.parameters.push((None, ty));
            return Ok(());
        }
        if !is_identifier(name) {
            let message = format!("`{name}` is no name of a parameter");
            return Err(Diagnostic::error(span, message, "expected a name or `_n`"));
        }
        let name = Name::from(name);
        if self.parameters.iter().any(|(other, _)| other.as_ref() == Some(&name)) {
            return Err(Diagnostic::error(span, format!("there are two parameters `{name}`"), "the second one"));
        }
        self.parameters.push((Some(name), ty));
        Ok(())
    }
}

/// A type behind `::`. One whose text would be cut short is quoted, in the exact style.
fn annotation(text: &str, span: &Range<usize>) -> Read<Type> {
    if text.starts_with('"') {
        return Cursor::new(text, span.start).quoted_type();
    }
    match is_balanced(text) {
        true => Ok(sharing::parse_type(text)),
        false => Err(Diagnostic::error(span.clone(), "the brackets of this type do not match", "expected a type")),
    }
}

/// The kind of declaration that the line starts, if it starts one.
pub(super) fn type_declaration(line: &str) -> Option<TypeKind> {
    if line.starts_with("struct ") {
        Some(TypeKind::Struct { mutable: false, fields: Vec::new() })
    } else if line.starts_with("mutable struct ") {
        Some(TypeKind::Struct { mutable: true, fields: Vec::new() })
    } else if line.starts_with("enum ") {
        Some(TypeKind::Enum { cases: Vec::new() })
    } else {
        None
    }
}

/// Reads the first line of a declaration.
pub(super) fn declare(kind: TypeKind, mut cursor: Cursor<'_>) -> Read<TypeDef> {
    let _ = cursor.eat("mutable ");
    let _ = cursor.eat("struct ") || cursor.eat("enum ");
    cursor.skip_spaces();
    let start = cursor.pos();
    let length = balanced_length(cursor.rest(), |rest| rest.starts_with(" # "));
    let name = cursor.text(start..start + length).trim();
    match Type::parse(name) {
        Type::Named(name) if !name.contains(char::is_whitespace) => Ok(TypeDef { name, kind }),
        _ => {
            let span = cursor.span(start, start + length);
            Err(Diagnostic::error(span, format!("`{name}` cannot be declared"), "expected the name of a new type"))
        }
    }
}

/// Reads a line inside a declaration: a field `name::T`, or a case `name(T, …)`.
pub(super) fn declare_member(kind: &mut TypeKind, mut cursor: Cursor<'_>) -> Read<()> {
    let start = cursor.pos();
    let length = balanced_length(cursor.rest(), |rest| rest.starts_with(" # "));
    let text = cursor.text(start..start + length).trim_end();
    let span = cursor.span(start, start + text.len());
    cursor.seek(start + length);
    match kind {
        TypeKind::Struct { fields, .. } => {
            let colon = find_depth_0(text, "::");
            let name = colon.and_then(|colon| text.get(..colon)).unwrap_or(text).trim();
            let ty = colon.and_then(|colon| text.get(colon + 2..)).map_or(Type::Any, Type::parse);
            if !is_identifier(name) || ty == Type::Untyped {
                return Err(Diagnostic::error(span, "this is no field of a struct", "expected `name::T`"));
            }
            if fields.iter().any(|(other, _)| *other == name) {
                return Err(Diagnostic::error(span, format!("there are two fields `{name}`"), "the second one"));
            }
            fields.push((name.into(), ty));
        }
        TypeKind::Enum { cases } => {
            let (name, payload) = match text.split_once('(') {
                Some((name, rest)) => (name, rest.strip_suffix(')').and_then(|inside| split_depth_0(inside, ','))),
                None => (text, Some(Vec::new())),
            };
            let payload = payload.filter(|types| types.iter().all(|ty| !ty.trim().is_empty()));
            let (true, Some(payload)) = (is_identifier(name), payload) else {
                return Err(Diagnostic::error(span, "this is no case of an enum", "expected `name(T, …)`"));
            };
            if cases.iter().any(|(other, _)| *other == name) {
                return Err(Diagnostic::error(span, format!("there are two cases `{name}`"), "the second one"));
            }
            cases.push((name.into(), payload.into_iter().map(Type::parse).collect()));
        }
    }
    Ok(())
}
