//! Reading objects: what stands among operands and is known by its text alone.

use std::cell::Cell;
use std::sync::Arc;

use super::balanced::{balanced_length, is_balanced};
use super::expression::{Context, Cursor, Read, Scope};
use super::operators::operator_prefix;
use super::statement_end::ends_statement;
use crate::constant::{Constant, is_identifier_part, is_identifier_start};
use crate::diagnostic::Diagnostic;
use crate::json::sharing;
use crate::name::Name;
use crate::names::Positions;
use crate::operand::Operand;

impl Cursor<'_> {
    /// An operand in a list. An object that prints as something else would, `1 + 2im` or `Ptr{Nothing} @0x00`, is kept
    /// as its text, up to what ends it there, as long as it names no value.
    pub(super) fn listed_operand(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        let start = self.at;
        let operand = self.operand(scope, context);
        let ends = |rest: &str| rest.starts_with([',', ')']) || rest.starts_with("::");
        if operand.is_ok() && ends(self.rest().trim_start()) {
            return operand;
        }
        let end = self.at;
        // Behind an argument of a function with a header comes no other operand without a comma.
        let behind = self.rest().trim_start();
        let is_another = behind.starts_with(|c: char| is_identifier_start(c) || c == '%' || c.is_ascii_digit())
            && !["isa ", "in "].iter().any(|word| behind.starts_with(word));
        if matches!(operand, Ok(Operand::Argument(_))) && scope.slots.is_none() && is_another {
            return operand;
        }
        self.at = start;
        let length = balanced_length(self.rest(), ends);
        let text = self.rest().get(..length).unwrap_or_default();
        // Pairs of a string, a symbol or a character, and ranges of characters.
        let is_pair = text.starts_with(['"', ':', '\'']) && text.contains(" => ")
            || text.starts_with('\'') && text.contains("':");
        let object = (is_pair || text.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
            && !text.contains(['%', '│', '═', '─'])
            && !names_argument(text);
        let closed = self.rest().get(length..).is_some_and(|rest| !rest.is_empty());
        if !object || !closed || !text.contains(' ') && !text.contains("//") && !text.contains(':') {
            self.at = end;
            return operand;
        }
        self.at = start + length;
        Ok(Operand::Constant(Constant::Text(text.trim_end().into())))
    }

    /// Behind `r` or another name: a string that a macro reads, such as `r"^a"i`.
    pub(super) fn string_macro(&mut self, start: usize) -> Read<Operand<Positions>> {
        let open = self.at;
        let length = balanced_length(self.rest(), |rest| !rest.starts_with('"'));
        self.at += length;
        if length < 2 || !self.text(open..self.at).ends_with('"') {
            return Err(Diagnostic::error(self.span(open, self.at), "this string does not end", "expected `\"`"));
        }
        let _ = self.take_while(is_identifier_part);
        Ok(Operand::Constant(Constant::Text(self.text(start..self.at).into())))
    }

    /// A type with parameters, or an object of such a type: `Ptr{UInt8}`, `Val{1}()`.
    pub(super) fn parametric(&mut self, start: usize) -> Read<Operand<Positions>> {
        let length = balanced_length(self.rest(), |rest| !rest.starts_with('{'));
        self.at += length;
        if self.starts_with("(") || self.starts_with("[") {
            self.at += balanced_length(self.rest(), |rest| !rest.starts_with(['(', '[']));
            return self.object_from(start);
        }
        let address = self.rest().strip_prefix(" @0x");
        if address.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit())) {
            // A pointer.
            self.at += " @0x".len();
            let _ = self.take_while(|c| c.is_ascii_hexdigit());
            return self.object_from(start);
        }
        if self.starts_with(" where ") {
            self.at += balanced_length(self.rest(), |rest| {
                rest.starts_with([',', ')']) || rest.starts_with("::") || ends_statement(rest)
            });
        }
        let text = self.text(start..self.at);
        if names_value(text) {
            return self.object_from(start);
        }
        self.check_brackets(start, text)?;
        Ok(Operand::Constant(Constant::of_type(sharing::parse_type(text))))
    }

    /// A tuple or a named tuple of constants; `None` if something in it is none.
    pub(super) fn tuple_of_constants(&mut self, scope: &mut Scope) -> Read<Option<Constant>> {
        self.expect("(")?;
        let mut elements = Vec::new();
        let mut names: Vec<Name> = Vec::new();
        let mut comma = true;
        loop {
            self.skip_spaces();
            if self.eat(")") {
                break;
            }
            if !comma {
                return Ok(None);
            }
            let start = self.at;
            let name: Name = match self.eat("var") && self.starts_with("\"") {
                true => self.string()?.into(),
                false => {
                    self.at = start;
                    self.take_while(is_identifier_part).into()
                }
            };
            if !name.is_empty() && self.eat(" = ") {
                names.push(name);
            } else {
                self.at = start;
            }
            match self.operand(scope, Context::Call)? {
                Operand::Constant(constant) => elements.push(constant),
                Operand::Quote(quoted) if matches!(*quoted, Constant::Symbol(_)) => elements.push((*quoted).clone()),
                _ => return Ok(None),
            }
            self.skip_spaces();
            comma = self.eat(",");
        }
        if elements.len() == 1 && !comma {
            return Ok(None);
        }
        Ok(if names.is_empty() {
            Some(Constant::Tuple(Arc::new(elements)))
        } else if names.len() == elements.len() {
            Some(Constant::NamedTuple(Arc::new(names.into_iter().zip(elements).collect())))
        } else {
            None
        })
    }

    /// The sign of a node, as φ, and the parenthesis that has to follow it. Whether the sign is there.
    pub(super) fn eat_node(&mut self, sign: &str) -> Read<bool> {
        let start = self.at;
        if !self.eat(sign) || !self.eat(" ") {
            self.at = start;
            return Ok(false);
        }
        self.expect("(")?;
        Ok(true)
    }

    /// An object of which only the text is known: what stands up to the next comma or parenthesis.
    pub(super) fn other_object(&mut self) -> Read<Operand<Positions>> {
        let start = self.at;
        if let Some(dots) = ["...", "…", "⋮", "⋯"].iter().find(|dots| self.starts_with(dots)) {
            let span = self.span(start, start + dots.len());
            let error = Diagnostic::error(span, "a part of the listing is left out here", "left out");
            return Err(error.with_help("only whole functions can be read"));
        }
        if let Some(op) = operator_alone(self.rest()) {
            self.at += op.len();
            return Ok(Operand::Constant(Constant::Function(op.into())));
        }
        // A parenthesis that opens here belongs to the object.
        let whole = self.rest();
        // Commands have words with spaces in quotes of their own.
        let seen = Cell::new((0, false));
        let in_command = |rest: &str| {
            let ((from, open), at) = (seen.get(), whole.len() - rest.len());
            let changes = whole.get(from..at).unwrap_or_default().matches('`').count() % 2 == 1;
            seen.set((at, open ^ changes));
            open ^ changes
        };
        let length = balanced_length(whole, |rest| {
            rest.starts_with([',', ')']) || rest.starts_with("::") || ends_statement(rest) && !in_command(rest)
        });
        self.at += length;
        let text = self.text(start..self.at).trim_end();
        if text.is_empty() || text.starts_with(['│', '└', '#', '=', '╻', '╷', '┃']) {
            self.at = start;
            return Err(self.expected("an operand"));
        }
        if !is_balanced(text) {
            let span = self.span(start, self.at);
            return Err(Diagnostic::error(span, "the brackets of this object do not match", "it does not end"));
        }
        self.object_from(start)
    }

    /// The object whose text stands from `start` to here. In code that is quoted values are named, and not used.
    pub(super) fn object_from(&self, start: usize) -> Read<Operand<Positions>> {
        let text = self.text(start..self.at).trim_end();
        let is_quoted = text.contains(":(") && (!text.starts_with("$(") || text.starts_with("$(QuoteNode("));
        if !is_quoted && (names_value(text) || names_argument(text)) {
            let span = self.span(start, self.at);
            return Err(Diagnostic::error(span, "this cannot be read", "it names a value, and is no object"));
        }
        Ok(Operand::Constant(Constant::Text(text.into())))
    }
}

/// Whether a text names a value, `%1`, outside of strings, commands and characters.
fn names_value(text: &str) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '`' => {
                let mut escaped = false;
                for inside in rest.by_ref() {
                    match inside {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        _ if inside == c => break,
                        _ => {}
                    }
                }
            }
            '\'' => {
                let literal = rest.as_str();
                let length = if literal.starts_with('\\') { 2 } else { 1 };
                // A character, and not an adjoint.
                if literal.chars().nth(length) == Some('\'') {
                    rest.by_ref().take(length + 1).for_each(drop);
                }
            }
            '%' if rest.as_str().starts_with(|next: char| next.is_ascii_digit()) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a text names an argument by its number, `_2`, where no name of another thing is.
fn names_argument(text: &str) -> bool {
    if text.contains(['"', '`']) {
        return false;
    }
    text.match_indices('_').any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let digits = text.get(at + 1..).unwrap_or_default();
        let behind = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_alone = |c: char| !is_identifier_part(c) && !matches!(c, '.' | '@' | '#' | ':');
        behind.len() < digits.len()
            && before.chars().next_back().is_none_or(is_alone)
            && !behind.starts_with(|c: char| is_identifier_part(c) || c == '"')
    })
}

/// An operator that is an operand itself.
pub(super) fn operator_alone(rest: &str) -> Option<&str> {
    let op = operator_prefix(rest)?;
    let after = rest.get(op.len()..)?;
    (after.is_empty() || after.starts_with([',', ')', ' ']) || after.starts_with("::")).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::{Constant, Operand};
    use crate::parse_function;

    #[test]
    fn a_call_is_no_object_where_it_names_a_value() {
        for operand in ["Base.neg_float(%1)", "[%1]", "Dict(:a => %1)", "Foo{%1}"] {
            let text = format!("1 ─ %1 = Main.f()::Any\n│   %2 = Main.g({operand}, 1.0)::Any\n└──      return %2\n");
            let error = parse_function(&text).map(|_| operand).unwrap_err();
            assert!(error.to_string().contains("it names a value, and is no object"), "{operand}: {error}");
        }
    }

    #[test]
    fn texts_in_objects_name_no_values() {
        for object in [
            r#"Foo("\\", "%1")"#,
            r#"Dict("\\" => "%1")"#,
            "`cmd %1`",
            "`sh -c 'a  # b'`",
            r#"Foo('"', "%1")"#,
            r#"Foo("\"%1")"#,
        ] {
            let text = format!("1 ─ %1 = Main.g({object}, _2)::Any\n└──      return %1\n");
            assert!(parse_function(&text).is_ok(), "{object}");
        }
    }

    #[test]
    fn pairs_and_ranges_of_characters_are_objects() {
        for object in ["\"a\" => 1", ":x => 1", "'a' => 2", "'a':1:'z'"] {
            let text = format!("1 ─ %1 = invoke Main.g({object}::Any, _2::Int64)::Any\n└──      return %1\n");
            let body = parse_function(&text).unwrap().body;
            let crate::Stmt::Invoke(invoke) = &body.stmts.stmts()[0] else { panic!("{text}") };
            assert_eq!(invoke.args[0], Operand::Constant(Constant::Text(object.into())));
            assert_eq!(invoke.args.len(), 2);
        }
    }

    #[test]
    fn an_object_ends() {
        let error = parse_function("1 ─ %1 = (Main.:(f)(1)::Int64\n└──      return %1\n").unwrap_err();
        assert!(error.to_string().contains("the brackets of this object do not match"), "{error}");
    }

    #[test]
    fn objects_print_as_julia_prints_them() {
        for line in [
            "invoke $(QuoteNode(Main.Map{typeof(+)}()))(_2::Int64)::Int64",
            "Core.Compiler.Const(:(Core.throw(%5)), false)",
        ] {
            let text = format!("1 ─ %1 = {line}\n└──      return %1\n");
            let body = parse_function(&text).unwrap().body;
            assert!(body.to_string().contains(line), "{body}");
            assert_eq!(parse_function(&body.to_string()).unwrap().body, body);
        }
    }

    #[test]
    fn what_is_left_out_is_an_error() {
        for line in ["...", "… many computations …", "⋮", "Main.f(%1, ...)"] {
            let text = format!("1 ─ %1 = Main.f(_2)::Any\n│        {line}\n└──      return %1\n");
            let error = parse_function(&text).unwrap_err();
            assert!(error.to_string().contains("a part of the listing is left out here"), "{error}");
        }
        let comment = "# 1 ─ %1 = Main.f(_2)::Any\n# ...\n# └──      return %1\n";
        assert!(parse_function(comment).is_err());
    }

    #[test]
    fn what_names_a_value_is_no_object() {
        for object in ["(%1 .+ _2)", "Main.f((%1 .+ _2))", "Main.f(g(_2))", "$(foo(:(%1), 2))"] {
            let text = format!("1 ─ %1 = Main.f(_2)::Any\n│   %2 = {object}::Any\n└──      return %2\n");
            let error = parse_function(&text).unwrap_err();
            assert!(error.to_string().contains("this cannot be read"), "{error}");
        }
        assert!(parse_function("1 ─ %1 = (\"%1\", 2)::Any\n└──      return %1\n").is_ok());
        for call in ["Core.tuple(1.0 + _2)", "Core.tuple(2, -_2)"] {
            assert!(parse_function(&format!("1 ─ %1 = {call}::Any\n└──      return %1\n")).is_err(), "{call}");
        }
    }

    #[test]
    fn what_a_module_without_a_plain_name_has_is_a_global() {
        let body =
            |path: &str| parse_function(&format!("1 ─ %1 = Base.getindex({path}, 1)::Any\n└──      return %1\n"));
        let read = body("Main.var\"workspace#12\".gl").unwrap();
        assert_eq!(read, body("Main.workspace#12.gl").unwrap());
    }
}
