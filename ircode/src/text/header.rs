//! Reading headers of functions.

use std::ops::Range;

use hashbrown::HashSet;

use super::balanced::{balanced_length, find_depth_0, is_balanced, split_depth_0};
use super::expression::Cursor;
use crate::constant::is_identifier;
use crate::diagnostic::Diagnostic;
use crate::json::sharing;
use crate::module::method_of;
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
    let mut names = HashSet::new();
    for (i, parameter) in split_depth_0(parameters, ',').ok_or_else(bad_list)?.into_iter().enumerate() {
        let span = cursor.span(at, at + parameter.len());
        at += parameter.len() + 1;
        header.add_parameter(i, parameter.trim(), span.clone())?;
        // `_1` adds none, and there is none before it.
        if let Some((Some(name), _)) = header.parameters.last()
            && !names.insert(name.clone())
        {
            return Err(Diagnostic::error(span, format!("there are two parameters `{name}`"), "the second one"));
        }
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
        if text.ends_with("...") {
            let message = "a parameter that collects arguments is the tuple of them here";
            let help = "declare the tuple, `rest::Tuple{Float64, Float64}`, and write `; varargs` on the line below the header";
            return Err(Diagnostic::error(span, message, "ends with `...`").with_help(help));
        }
        let (name, ty) = match find_depth_0(text, "::") {
            Some(colon) => {
                let ty = text.get(colon + 2..).unwrap_or_default().trim();
                if ty.is_empty() {
                    return Err(Diagnostic::error(span, "the type of this parameter is missing", "expected a type"));
                }
                if find_depth_0(ty, "::").is_some() {
                    return Err(Diagnostic::error(span, "these are several parameters", "expected a `,` between them"));
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
        if !name.starts_with("var\"") && !is_identifier(name) {
            let message = format!("`{name}` is no name of a parameter");
            return Err(Diagnostic::error(span, message, "expected a name or `_n`"));
        }
        self.parameters.push((Some(parameter_name(name, span.start)?), ty));
        Ok(())
    }
}

/// A name as it is written, or in `var"…"`.
fn parameter_name(text: &str, at: usize) -> Read<Name> {
    let mut cursor = Cursor::new(text, at);
    if !cursor.starts_with("var\"") {
        return Ok(Name::from(text));
    }
    cursor.expect("var")?;
    let name = cursor.string()?;
    match cursor.at_end() {
        true => Ok(Name::from(name)),
        false => Err(cursor.expected("`::` and the type of the parameter")),
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
