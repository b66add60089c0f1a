//! Reading operands.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::balanced::balanced_length;
use super::object::operator_alone;
use super::operators::operator_symbol;
use super::slot_names::{FIRST_SLOT, SlotNames};
use super::words::{is_known_type_name, word};
use crate::constant::{Constant, is_identifier, is_identifier_part, is_identifier_start};
use crate::diagnostic::Diagnostic;
use crate::json::sharing;
use crate::name::Name;
use crate::names::{Positions, SSAValue};
use crate::operand::{Argument, GlobalRef, Operand};
use crate::scalar::{Scalar, ScalarType};
use crate::stmt::Stmt;
use crate::types::Type;

/// Expressions nested deeper than this are refused, so that reading needs a bounded stack.
const MAX_DEPTH: usize = 24;

/// No function has more arguments than this.
const MAX_ARGUMENT: u32 = 1 << 16;

pub(super) type Read<T> = Result<T, Diagnostic>;

/// The constant that a text is, as it stands among operands. `None` if it is something else.
pub(crate) fn read_constant(text: &str) -> Option<Constant> {
    match read_operand(text)? {
        Operand::Constant(constant) => Some(constant),
        _ => None,
    }
}

/// The operand that a text is. `None` if it is none.
pub(super) fn read_operand(text: &str) -> Option<Operand<Positions>> {
    let mut cursor = Cursor::new(text, 0);
    let operand = cursor.operand(&mut Scope::default(), Context::Call).ok()?;
    cursor.at_end().then_some(operand)
}

/// What the names in a listing mean.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Names of arguments that the header gives.
    pub(super) parameters: HashMap<Name, Argument>,
    /// In a listing without header: names that may be those of arguments.
    pub(super) slots: Option<SlotNames>,
    /// Arguments whose numbers stand beside their names, or in the place of them: `x@_3`, `@_3`.
    pub(super) numbered: HashSet<Argument>,
}

impl Scope {
    /// What a name that stands alone means: an argument, or an object of that name.
    pub(super) fn resolve(&mut self, name: &str) -> Operand<Positions> {
        if let Some(argument) = self.parameters.get(name) {
            return Operand::Argument(*argument);
        }
        if let Some(slots) = &mut self.slots
            && crate::primitives::lookup(name).is_none()
        {
            return Operand::Argument(slots.argument(name));
        }
        Operand::Constant(Constant::Function(name.into()))
    }

    /// What a name means that is known to be no function.
    fn variable(&mut self, name: &str) -> Operand<Positions> {
        match (self.parameters.get(name), &mut self.slots) {
            (None, Some(slots)) => Operand::Argument(slots.argument(name)),
            _ => self.resolve(name),
        }
    }
}

/// A place in a line of a listing.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    pub(super) at: usize,
    /// Where the line starts in the source.
    offset: usize,
    depth: usize,
}

/// What `:(…)` and `%3` mean where an operand stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    /// In a call: `:x` is a quoted symbol.
    Call,
    /// In `$(Expr(:head, …))`: `:x` is a symbol, `:(%3)` a value if the head's operands are uses.
    Expr {
        /// Whether they are.
        uses: bool,
        /// Whether it is inside `:(…)`, where a path is a global; outside it is a type.
        quoted: bool,
    },
}

impl<'a> Cursor<'a> {
    /// The start of a line that stands at `offset` in the source.
    pub(super) fn new(line: &'a str, offset: usize) -> Self {
        Cursor { line, at: 0, offset, depth: 0 }
    }

    pub(super) fn pos(&self) -> usize {
        self.at
    }

    pub(super) fn seek(&mut self, pos: usize) {
        self.at = pos;
    }

    pub(super) fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    pub(super) fn text(&self, range: Range<usize>) -> &'a str {
        self.line.get(range).unwrap_or_default()
    }

    pub(super) fn span(&self, from: usize, to: usize) -> Range<usize> {
        self.offset + from..self.offset + to
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Eats a word that does not go on.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let ends = self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_identifier_part));
        ends && self.eat(word)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn skip_spaces(&mut self) {
        let rest = self.rest();
        // Nearly always there are none, or only what is one byte.
        let plain = rest.bytes().take_while(|byte| *byte == b' ').count();
        self.at += plain;
        if rest.as_bytes().get(plain).is_some_and(|byte| !byte.is_ascii_graphic()) {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest().trim().is_empty()
    }

    fn next_word(&self) -> &'a str {
        let rest = self.rest();
        rest.get(..rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len())).unwrap_or_default()
    }

    pub(super) fn digits(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// An error at this place, about the next word or symbol.
    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let rest = self.rest();
        let length = match rest.chars().next() {
            None => 0,
            Some(c) if is_identifier_part(c) => rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
        let found = match rest.get(..length) {
            None | Some("") => "the line ends here".to_string(),
            Some(text) => format!("found `{text}`"),
        };
        Diagnostic::error(
            self.span(self.at, self.at + length),
            format!("expected {what}, {found}"),
            format!("expected {what}"),
        )
    }

    pub(super) fn expect(&mut self, text: &str) -> Read<()> {
        if self.eat(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    /// A number behind a sigil, such as that of `%4` or `#2`.
    pub(super) fn number(&mut self, what: &str) -> Read<u32> {
        let start = self.at;
        let digits = self.digits();
        if digits.is_empty() {
            return Err(self.expected(what));
        }
        digits.parse().ok().filter(|&n| n < FIRST_SLOT).ok_or_else(|| {
            Diagnostic::error(self.span(start, self.at), format!("{digits} is too large for {what}"), "too large")
        })
    }

    /// `#2`, or `2` as Julia 0.7 printed it.
    pub(super) fn block(&mut self) -> Read<u32> {
        self.eat("#");
        self.number("the number of a block")
    }

    /// Reads `inner` one level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span(self.at, self.at + self.peek().map_or(0, char::len_utf8));
            return Err(Diagnostic::error(span, "this expression is nested too deep", format!("level {MAX_DEPTH}")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Operands up to the closing parenthesis, which is eaten.
    pub(super) fn operands(&mut self, scope: &mut Scope, context: Context) -> Read<Vec<Operand<Positions>>> {
        let mut operands = Vec::new();
        loop {
            self.skip_spaces();
            if self.eat(")") {
                return Ok(operands);
            }
            if !operands.is_empty() {
                self.expect(",")?;
                self.skip_spaces();
            }
            operands.push(self.listed_operand(scope, context)?);
            if self.eat("::") {
                // code_warntype shows to what a variable is narrowed here.
                let _ = self.operand_type()?;
            }
        }
    }

    /// One operand.
    pub(super) fn operand(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        let Some(first) = self.peek() else { return Err(self.expected("an operand")) };
        match first {
            '%' => self.value(scope, context),
            '_' | '@' if self.is_numbered_argument() => self.numbered_argument(scope),
            '"' => self.string_operand(),
            '\'' => self.character(),
            ':' => self.nested(|cursor| cursor.quoted(scope, context)),
            '$' => self.nested(|cursor| cursor.interpolated(scope)),
            '(' => self.nested(|cursor| cursor.tuple(scope)),
            '#' => self.hidden_operand(scope),
            _ if first.is_ascii_digit() || self.is_negative_number() => self.numeral(),
            _ if is_identifier_start(first) || self.starts_with("@NamedTuple{") => {
                self.nested(|cursor| cursor.path(scope, context))
            }
            _ => self.other_object(),
        }
    }

    fn value(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        self.expect("%")?;
        // Julia 0.7-alpha printed arguments so.
        if self.eat("%") {
            if !self.peek().is_some_and(is_identifier_start) {
                return self.argument_number();
            }
            if let Some(slots) = &mut scope.slots {
                slots.marked = true;
            }
            return Ok(scope.resolve(self.take_while(is_identifier_part)));
        }
        let number = self.number("the number of a value")?;
        Ok(named_value(number, context))
    }

    fn is_numbered_argument(&self) -> bool {
        let rest = self.rest();
        let digits = rest.strip_prefix('@').unwrap_or(rest).strip_prefix('_').unwrap_or_default();
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        length > 0 && !digits.get(length..).unwrap_or_default().starts_with(is_identifier_part)
    }

    fn numbered_argument(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        let is_slot = self.eat("@");
        self.expect("_")?;
        let operand = self.argument_number()?;
        if let (true, Operand::Argument(argument)) = (is_slot, &operand) {
            scope.numbered.insert(*argument);
        }
        Ok(operand)
    }

    fn argument_number(&mut self) -> Read<Operand<Positions>> {
        let start = self.at;
        match self.number("the number of an argument")? {
            number if number <= MAX_ARGUMENT => Ok(Operand::argument(number)),
            number => {
                let message = format!("{number} is too large for the number of an argument");
                Err(Diagnostic::error(self.span(start, self.at), message, "too large"))
            }
        }
    }

    /// `:x`, `:(…)`.
    fn quoted(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        let start = self.at;
        self.expect(":")?;
        if self.starts_with("(") && self.parenthesised_operator().is_none() {
            self.at += 1;
            return match context {
                // Static parameters, which no object is, are quoted by Julia 0.7.
                Context::Call if !self.starts_with("$(Expr(:static_parameter") => {
                    self.at = start;
                    self.other_object().map(quote)
                }
                _ => self.quoted_expression(scope, context),
            };
        }
        let name = self.symbol()?;
        Ok(match context {
            Context::Call | Context::Expr { quoted: true, .. } => Operand::symbol(name),
            Context::Expr { .. } => Operand::Constant(Constant::Symbol(name.into())),
        })
    }

    /// The inside of `:(…)` in `$(Expr(:head, …))`: how operands are printed there that are no constants.
    fn quoted_expression(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        self.skip_spaces();
        let inner = if self.eat(":") {
            Operand::symbol(self.symbol()?)
        } else if self.starts_with("Symbol(\"") {
            self.expect("Symbol(")?;
            let name = self.string()?;
            self.expect(")")?;
            Operand::symbol(name)
        } else {
            // Inside of the quotes names are globals, and symbols are quoted again.
            let inside = match context {
                Context::Expr { uses: false, .. } => Context::Expr { uses: false, quoted: true },
                _ => Context::Call,
            };
            match self.expression(scope, inside)? {
                // A function stands there without quotes: what has its name is a variable.
                Stmt::Value(Operand::Constant(Constant::Function(name)))
                    if matches!(context, Context::Expr { uses: true, .. })
                        && is_identifier(&name)
                        && scope.slots.is_some() =>
                {
                    scope.variable(&name)
                }
                Stmt::Value(operand) => {
                    self.narrowed_type(self.at, |behind| behind.starts_with(')'));
                    operand
                }
                call => Operand::Nested(Box::new(call)),
            }
        };
        self.skip_spaces();
        self.expect(")")?;
        Ok(inner)
    }

    /// The name of a symbol behind the colon.
    pub(super) fn symbol(&mut self) -> Read<String> {
        if let Some(op) = self.parenthesised_operator() {
            self.at += op.len() + 2;
            return Ok(op.to_string());
        }
        if self.starts_with("var\"") {
            self.at += 3;
            return self.string();
        }
        if self.peek().is_some_and(is_identifier_start) {
            return Ok(self.take_while(is_identifier_part).to_string());
        }
        let dots = self.take_while(|c| c == '.');
        if !dots.is_empty() {
            // `:.`, `:..`, or a broadcasted operator.
            let op = if dots.len() == 1 { operator_symbol(self.rest()).unwrap_or_default() } else { "" };
            self.at += op.len();
            return Ok(format!("{dots}{op}"));
        }
        if let Some(op) = operator_symbol(self.rest()) {
            self.at += op.len();
            return Ok(op.to_string());
        }
        // `:foo` may be any name that Julia's `Symbol("…")` is not needed for; others start with `#`.
        Err(self.expected("the name of a symbol"))
    }

    /// `$(…)`: quoted constants, expressions, and the tags of the exact style.
    fn interpolated(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        let start = self.at;
        self.expect("$(")?;
        let operand = if self.eat("QuoteNode(") {
            let inside = self.at;
            let constant = match self.constant(scope) {
                Ok(constant) if self.starts_with(")") => constant,
                // Any object may be quoted: `1:3`, which is no operand of ours.
                _ => {
                    self.at =
                        inside + balanced_length(self.text(inside..self.line.len()), |rest| rest.starts_with(')'));
                    if self.at == inside {
                        return Err(self.expected("a constant"));
                    }
                    Constant::Text(self.text(inside..self.at).into())
                }
            };
            self.expect(")")?;
            quote(Operand::Constant(constant))
        } else if self.starts_with("Expr(") {
            self.at = start;
            let stmt = self.expr(scope)?;
            return Ok(Operand::Nested(Box::new(stmt)));
        } else if self.eat("Nested(") {
            let stmt = self.statement(scope)?;
            self.expect(")")?;
            Operand::Nested(Box::new(stmt))
        } else if self.eat("Value(") {
            let value = self.operand(scope, Context::Call)?;
            self.expect(")")?;
            value
        } else if self.eat("GlobalRef(") {
            let module = self.string()?;
            self.expect(", ")?;
            let name = self.string()?;
            self.expect(")")?;
            Operand::Global(sharing::global(GlobalRef::new(sharing::name(&module), sharing::name(&name))))
        } else if self.eat("SSAValue(") {
            let number = self.number("the number of a value")?;
            self.expect(")")?;
            Operand::Constant(Constant::SSAValue(number))
        } else if self.starts_with("Type(\"") {
            self.expect("Type(")?;
            let ty = self.quoted_type()?;
            self.expect(")")?;
            Operand::Constant(Constant::of_type(ty))
        } else if self.starts_with("Text(\"") || self.starts_with("Function(\"") {
            let tag = self.take_while(char::is_alphabetic);
            self.expect("(")?;
            let text = self.string()?;
            self.expect(")")?;
            Operand::Constant(match tag {
                "Text" => Constant::Text(text.into()),
                _ => Constant::Function(text.into()),
            })
        } else if self.eat(":") {
            Operand::Constant(Constant::Symbol(self.symbol()?.into()))
        } else if self.eat("Symbol(") {
            let name = self.string()?;
            self.expect(")")?;
            Operand::Constant(Constant::Symbol(name.into()))
        } else {
            // Any other object that the compiler put into the code.
            let length = balanced_length(self.rest(), |rest| rest.starts_with(')'));
            self.at += length;
            self.expect(")")?;
            return self.object_from(start);
        };
        self.expect(")")?;
        Ok(operand)
    }

    /// A constant: an operand that names nothing.
    fn constant(&mut self, scope: &mut Scope) -> Read<Constant> {
        let start = self.at;
        match self.operand(scope, Context::Call)? {
            Operand::Constant(constant) => Ok(constant),
            Operand::Quote(quoted) => match &*quoted {
                Constant::Symbol(_) => Ok((*quoted).clone()),
                _ => Ok(Constant::Text(self.text(start..self.at).into())),
            },
            _ => Ok(Constant::Text(self.text(start..self.at).into())),
        }
    }

    /// `(1, 2)`, `(1,)`, `()`, `(a = 1, b = 2)`. A parenthesis that is no tuple of constants is an object of which only
    /// the text is known.
    fn tuple(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        let start = self.at;
        match self.tuple_of_constants(scope) {
            Ok(Some(constant)) => Ok(Operand::Constant(constant)),
            _ => {
                self.at = start;
                self.other_object()
            }
        }
    }

    /// The parts of a dotted path: the module, and the name.
    pub(super) fn global_path(&mut self) -> Read<(Cow<'a, str>, Cow<'a, str>)> {
        if let Some((module, name)) = self.plain_path() {
            return Ok((module.into(), name.into()));
        }
        let mut module = self.sandbox().unwrap_or_default().to_string();
        let mut name = self.path_part()?;
        loop {
            let point = self.at;
            if !self.eat(".") {
                return Ok((module.into(), name.into()));
            }
            let behind_colon = self.eat(":");
            if !behind_colon && !self.peek().is_some_and(|c| is_identifier_start(c) || matches!(c, '@' | '#')) {
                self.at = point;
                return Ok((module.into(), name.into()));
            }
            let next = if behind_colon {
                let parenthesised = self.eat("(");
                let symbol = self.symbol_or_hidden()?;
                if parenthesised {
                    self.expect(")")?;
                }
                symbol
            } else if self.starts_with("#") {
                self.hidden()?.to_string()
            } else {
                self.path_part()?
            };
            if !module.is_empty() {
                module.push('.');
            }
            module.push_str(&name);
            name = next;
        }
    }

    /// `Main.ex-chapter.` or `Main.workspace#4.` before a name: the module in which a page of documentation runs its
    /// examples, or a notebook its cells, whose name is no identifier.
    fn sandbox(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let name = rest.strip_prefix("Main.ex-").or_else(|| rest.strip_prefix("Main.workspace#"))?;
        let end = rest.len() - name.len() + name.find(|c| !is_identifier_part(c) && c != '-')?;
        let behind = rest.get(end..)?.strip_prefix('.')?;
        self.at += rest.len() - behind.len();
        rest.get(..end)
    }

    /// A path of plain names: `Base.Math.sin`. `None` if there is something else in it.
    fn plain_path(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_identifier_part(c) && c != '.').unwrap_or(rest.len());
        let path = rest.get(..end)?;
        // Operators, quoted names and objects of other kinds go the long way.
        let plain = path.split('.').all(|part| part.starts_with(is_identifier_start));
        let sandbox = |rest: &str| match path {
            "Main.ex" => rest.starts_with('-'),
            "Main.workspace" => rest.starts_with('#'),
            _ => false,
        };
        let goes_on = |rest: &str| rest.starts_with('"') || sandbox(rest);
        if !plain || rest.get(end..).is_some_and(goes_on) {
            return None;
        }
        self.at += end;
        Some(path.rsplit_once('.').unwrap_or(("", path)))
    }

    fn path_part(&mut self) -> Read<String> {
        if self.starts_with("var\"") {
            self.at += 3;
            return self.string();
        }
        let at = if self.eat("@") { "@" } else { "" };
        if !self.peek().is_some_and(is_identifier_start) {
            return Err(self.expected("a name"));
        }
        Ok(format!("{at}{}", self.take_while(is_identifier_part)))
    }

    /// What starts with a name: a global, an argument, a type, a word such as `nothing`, a constructed object.
    fn path(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        let start = self.at;
        let (module, name) = self.global_path()?;
        if self.starts_with("@_") {
            // `name@_4`: the fourth slot, of which there are several of that name.
            if self.is_numbered_argument() {
                return self.numbered_argument(scope);
            }
        }
        if self.starts_with("{") {
            return self.parametric(start);
        }
        if self.starts_with("\"") {
            return self.string_macro(start);
        }
        if self.starts_with("[") {
            // An array.
            self.at += balanced_length(self.rest(), |rest| !rest.starts_with('['));
            return self.object_from(start);
        }
        if let Some(op) = self.rest().strip_prefix('.').and_then(operator_alone) {
            // The function of an operator that another module defines: `Core.Compiler.<=`.
            self.at += 1 + op.len();
            return Ok(Operand::Constant(Constant::Function(self.text(start..self.at).into())));
        }
        if self.starts_with("(") {
            return self.constructed(scope, context, start, &module, &name);
        }
        if self.text(start..self.at).contains(".var\"") && self.text(start..self.at).ends_with('"')
            || !module.is_empty() && matches!(context, Context::Expr { quoted: false, .. })
        {
            // A type: a global is printed `Main.:(var"#1#2")`, and quoted inside of expressions.
            return Ok(Operand::Constant(Constant::of_type(sharing::parse_type(self.text(start..self.at)))));
        }
        if !module.is_empty() {
            return Ok(Operand::Global(sharing::global(GlobalRef::new(sharing::name(&module), sharing::name(&name)))));
        }
        if self.text(start..self.at).starts_with("var\"") {
            return Ok(scope.resolve(&name));
        }
        Ok(match word(&name) {
            Some(constant) => Operand::Constant(constant),
            None => match sharing::parse_type(&name) {
                Type::Named(_) if !is_known_type_name(&name) => match context {
                    Context::Call | Context::Expr { .. } => scope.resolve(&name),
                },
                ty => Operand::Constant(Constant::of_type(ty)),
            },
        })
    }

    /// `name(…)` among operands: an object that the compiler built, such as `Int32(5)` or `ErrorException("…")`.
    fn constructed(
        &mut self,
        scope: &mut Scope,
        context: Context,
        start: usize,
        module: &str,
        name: &str,
    ) -> Read<Operand<Positions>> {
        let open = self.at;
        self.expect("(")?;
        match (module, name) {
            ("", "svec") => {
                let mut elements = Vec::new();
                self.skip_spaces();
                while !self.eat(")") {
                    if !elements.is_empty() {
                        self.expect(",")?;
                        self.skip_spaces();
                    }
                    // A name is a type here, never an argument.
                    let is_name = self.peek().is_some_and(is_identifier_start) && word(self.next_word()).is_none();
                    elements.push(match is_name {
                        true => Constant::of_type(self.operand_type()?),
                        false => match self.operand(scope, Context::Call)? {
                            Operand::Constant(constant) => constant,
                            Operand::Quote(symbol) if matches!(*symbol, Constant::Symbol(_)) => (*symbol).clone(),
                            other => Constant::Text(format_operand(&other).into()),
                        },
                    });
                    self.skip_spaces();
                }
                return Ok(Operand::Constant(Constant::SimpleVector(Arc::new(elements))));
            }
            ("", "NamedTuple") if self.eat(")") => {
                return Ok(Operand::Constant(Constant::NamedTuple(Arc::new(Vec::new()))));
            }
            ("", "Symbol") if self.starts_with("\"") => {
                let symbol = self.string()?;
                self.expect(")")?;
                return Ok(match context {
                    Context::Call => Operand::symbol(symbol),
                    Context::Expr { .. } => Operand::Constant(Constant::Symbol(symbol.into())),
                });
            }
            ("", "typeof") => {
                self.at = start;
                // Of a value it would be a statement of its own.
                let is_function = |name: &str| is_identifier(name) && !name.starts_with('_');
                if let Some(ty) = self.function_type(scope, is_function) {
                    return Ok(Operand::Constant(Constant::of_type(ty)));
                }
            }
            ("", "reinterpret") => {
                let ty = ScalarType::from_name(self.take_while(is_identifier_part));
                if let (Some(ty), true) = (ty, self.eat(", 0x")) {
                    let scalar = self.hexadecimal(start)?;
                    self.expect(")")?;
                    return Ok(Operand::from(Scalar::from_bits(ty, scalar.to_bits())));
                }
            }
            ("Core.Compiler" | "Core", "Argument") => {
                let argument = self.argument_number()?;
                self.expect(")")?;
                return Ok(argument);
            }
            ("Core.Compiler" | "Core", "SSAValue") => {
                let number = self.number("the number of a value")?;
                self.expect(")")?;
                return Ok(named_value(number, context));
            }
            ("", name) => {
                if let Some(ty) = ScalarType::from_name(name)
                    && let Some(scalar) = self.converted(ty)
                {
                    return Ok(Operand::from(scalar));
                }
            }
            _ => {}
        }
        self.at = open;
        self.at += balanced_length(self.rest(), |rest| !rest.starts_with('('));
        self.object_from(start)
    }

    /// The number and the parenthesis behind `Int32(`.
    fn converted(&mut self, ty: ScalarType) -> Option<Scalar> {
        let value = self.scalar().ok().flatten()?;
        self.eat(")").then_some(())?;
        match value.as_float() {
            Some(float) => Scalar::from_float(ty, float),
            None if value.scalar_type() == ty => Some(value),
            None => Scalar::from_i128(ty, value.to_i128()),
        }
    }
}

/// `%n`, which is a use in some places and a plain number in others.
fn named_value(number: u32, context: Context) -> Operand<Positions> {
    match context {
        Context::Expr { uses: false, .. } => Operand::Constant(Constant::SSAValue(number)),
        _ => Operand::Value(SSAValue(number)),
    }
}

fn quote(operand: Operand<Positions>) -> Operand<Positions> {
    match operand {
        Operand::Constant(constant) => Operand::Quote(Arc::new(constant)),
        other => other,
    }
}

fn format_operand(operand: &Operand<Positions>) -> String {
    super::print::StatementPrinter::new(super::Style::Julia).operand(operand)
}

/// Whether the text starts like a type with parameters.
pub(crate) fn starts_type(text: &str) -> bool {
    let mut cursor = Cursor::new(text, 0);
    !cursor.starts_with("@") && cursor.global_path().is_ok() && cursor.starts_with("{")
}
