//! Reading statements.

use std::sync::Arc;

use super::balanced::{balanced_length, is_balanced};
use super::expression::{Context, Cursor, Scope};
use super::labels::is_builtin;
use super::number_object::Side;
use super::operators::{infix_operator, is_unary, operator_prefix};
use super::statement_end::{ends_statement, type_length, type_shown};
use crate::constant::{Constant, is_identifier_part, is_identifier_start, spelled};
use crate::diagnostic::Diagnostic;
use crate::head::Head;
use crate::json::sharing;
use crate::names::{BlockNumber, Positions};
use crate::operand::{GlobalRef, Operand};
use crate::stmt::{EnterNode, InvokeNode, MethodInstance, PhiCNode, Stmt, UpsilonNode};
use crate::types::Type;

type Read<T> = Result<T, Diagnostic>;

impl<'a> Cursor<'a> {
    /// A statement and, if it shows one, its type.
    pub(super) fn typed_statement(&mut self, scope: &mut Scope) -> Read<(Stmt<Positions>, Option<Type>)> {
        let stmt = self.statement(scope)?;
        if !self.eat("::") {
            return Ok((stmt, None));
        }
        let start = self.pos();
        self.seek(start + type_length(self.rest()));
        let text = self.text(start..self.pos()).trim_end();
        if text.is_empty() {
            return Err(self.expected("a type"));
        }
        self.check_brackets(start, text)?;
        let text = type_shown(text);
        // Julia 1.12 shows an operator of the module that is active as it shows a symbol; the constant that it is is
        // none.
        let stmt = match &stmt {
            Stmt::Value(Operand::Quote(quoted)) => match &**quoted {
                Constant::Symbol(name) if *text == *format!("Core.Const({name})") => {
                    Stmt::Value(Operand::global("Main", name))
                }
                _ => stmt,
            },
            _ => stmt,
        };
        // `::#UNDEF` is a type that Julia has not assigned.
        Ok((stmt, (text != "#UNDEF").then(|| sharing::parse_type(text))))
    }

    /// A statement without its type.
    pub(super) fn statement(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        if self.peek().is_some_and(|first| matches!(first, 'φ' | 'ϒ' | 'π' | 'g' | 'r' | 'u' | 'e'))
            && let Some(node) = self.node(scope)?
        {
            return Ok(node);
        }
        let labelled = self.label();
        if self.eat("invoke ") {
            self.skip_spaces();
            return self.invoke(scope);
        }
        if labelled {
            return self.expression(scope, Context::Call);
        }
        for head in [Head::New, Head::SplatNew] {
            let start = self.pos();
            // Betas of Julia 0.7 wrote `new(`.
            if (self.eat("%") || head == Head::New) && self.eat(head.name()) && self.eat("(") {
                let is_name = !self.starts_with("$(");
                let mut operands = self.operands(scope, Context::Call)?;
                if is_name {
                    name_a_type(&mut operands);
                }
                return Ok(Stmt::expr(head, operands));
            }
            self.seek(start);
        }
        let start = self.pos();
        if self.eat_word("#undef") || self.eat_word("#UNDEF") {
            let error = Diagnostic::error(self.span(start, self.pos()), "there is no statement here", "not assigned");
            return Err(error.with_help("this is how Julia shows a statement that its compiler has not set yet"));
        }
        if self.starts_with("Core.NewvarNode(") {
            return Err(self.lowered("this is of a variable"));
        }
        if self.is_quoted_control() {
            self.expect(":(")?;
            let stmt = self.expr(scope)?;
            self.expect(")")?;
            return Ok(stmt);
        }
        if self.starts_with("$(Expr(") {
            let stmt = self.expr(scope)?;
            return match infix_operator(self.rest().trim_start()) {
                Some(_) => self.infix(scope, Context::Call, Operand::Nested(Box::new(stmt))),
                None => Ok(stmt),
            };
        }
        self.expression(scope, Context::Call)
    }

    pub(super) fn lowered(&self, what: &str) -> Diagnostic {
        let error = Diagnostic::error(self.span(self.pos(), self.pos() + 1), what, "not in SSA form");
        error.with_help("lowered code is not typed SSA code: print it with code_typed or code_ircode")
    }

    /// Whether this is `:($(Expr(:enter, 4)))` or alike: how Julia 0.7 printed the statements of `try`.
    fn is_quoted_control(&self) -> bool {
        let Some(head) = self.rest().strip_prefix(":($(Expr(:") else { return false };
        ["enter,", "leave,", "pop_exception,", "the_exception)"].iter().any(|start| head.starts_with(start))
    }

    /// Whether this is `:(Base.mul_float)(`: how Julia 0.7-alpha printed what a call calls.
    fn is_quoted_callee(&self) -> bool {
        let Some(name) = self.rest().strip_prefix(":(") else { return false };
        name.trim_start_matches(|c| is_identifier_part(c) || c == '.').starts_with(")(")
    }

    /// The word that Julia 1.12 prints before a call: what kind of function it calls. Whether there was one.
    fn label(&mut self) -> bool {
        let start = self.pos();
        let mut found = false;
        self.skip_spaces();
        for word in ["dynamic", "intrinsic", "builtin", "unknown"] {
            let before = self.pos();
            if self.eat_word(word) && self.starts_with(" ") {
                self.skip_spaces();
                found = infix_operator(self.rest()).is_none() && !self.at_end();
            }
            if !found {
                self.seek(before);
            }
        }
        if !found && !self.starts_with("invoke ") {
            self.seek(start);
        }
        found
    }

    /// A φ, a jump, or another statement that starts with a word or a sign of its own.
    fn node(&mut self, scope: &mut Scope) -> Read<Option<Stmt<Positions>>> {
        if self.eat_node("φᶜ")? {
            return Ok(Some(Stmt::PhiC(PhiCNode { values: self.operands(scope, Context::Call)?.into() })));
        }
        if self.eat_node("φ")? {
            return self.phi(scope).map(Some);
        }
        if self.eat("ϒ (") {
            let value = self.optional_operand(scope)?;
            self.expect(")")?;
            return Ok(Some(Stmt::Upsilon(UpsilonNode { value })));
        }
        if self.eat("π (") {
            return self.pi(scope).map(Some);
        }
        if self.eat("goto ") {
            let label = BlockNumber(self.block()?);
            if !self.eat(" if not ") {
                return Ok(Some(Stmt::goto(label)));
            }
            let start = self.pos();
            let cond = self.operand(scope, Context::Call)?;
            // To which a listing shows a variable narrowed; jumps have no type there.
            let is_name = scope.slots.is_some() && !self.text(start..self.pos()).starts_with(['%', '_']);
            if is_name && matches!(cond, Operand::Argument(_)) && self.eat("::") {
                self.seek(self.pos() + type_length(self.rest()));
            }
            return Ok(Some(Stmt::goto_if_not(cond, label)));
        }
        if self.eat_word("return") {
            self.skip_spaces();
            return Ok(Some(Stmt::ret(self.returned(scope)?)));
        }
        if self.eat_word("unreachable") {
            return Ok(Some(Stmt::unreachable()));
        }
        if self.eat("enter ") {
            let block = self.block()?;
            let scope = if self.eat(" with scope ") { Some(self.operand(scope, Context::Call)?) } else { None };
            let catch_dest = (block != 0).then_some(BlockNumber(block));
            return Ok(Some(Stmt::Enter(Box::new(EnterNode { catch_dest, scope }))));
        }
        Ok(None)
    }

    /// What is returned: an operand, or an object that prints as something else would, such as `1//2`.
    fn returned(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        let start = self.pos();
        let operand = self.operand(scope, Context::Call);
        let end = self.pos();
        let rest = self.rest();
        if start == end && rest.trim().is_empty() {
            // Old versions print no `nothing` behind `return`.
            return Ok(Operand::nothing());
        }
        if rest.trim().is_empty() || ends_statement(rest) || rest.starts_with("::") {
            return operand;
        }
        self.seek(start);
        let text = self.rest();
        let length = balanced_length(text, |rest| rest.is_empty() || ends_statement(rest));
        let text = text.get(..length).unwrap_or_default();
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !text.contains('%') {
            self.seek(start + length);
            return Ok(Operand::Constant(Constant::Text(text.trim_end().into())));
        }
        self.seek(end);
        operand
    }

    /// A type as a string literal.
    pub(super) fn quoted_type(&mut self) -> Read<Type> {
        let start = self.pos();
        let text = self.string()?;
        self.check_brackets(start, &text)?;
        Ok(sharing::parse_type(&text))
    }

    /// The type from `start` to here must close the brackets that it opens.
    pub(super) fn check_brackets(&self, start: usize, ty: &str) -> Read<()> {
        if is_balanced(ty) {
            return Ok(());
        }
        let span = self.span(start, self.pos());
        Err(Diagnostic::error(span, "the brackets of this type do not match", "expected a type"))
    }

    fn optional_operand(&mut self, scope: &mut Scope) -> Read<Option<Operand<Positions>>> {
        if self.eat("#undef") { Ok(None) } else { self.operand(scope, Context::Call).map(Some) }
    }

    fn phi(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        let mut entries = Vec::new();
        loop {
            self.skip_spaces();
            if self.eat(")") {
                return Ok(Stmt::phi(entries));
            }
            if !entries.is_empty() {
                self.expect(",")?;
                self.skip_spaces();
            }
            let edge = BlockNumber(self.block()?);
            self.skip_spaces();
            self.expect("=>")?;
            self.skip_spaces();
            let value = if self.eat("#undef") { None } else { Some(self.listed_operand(scope, Context::Call)?) };
            entries.push((edge, value));
        }
    }

    fn pi(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        let value = self.operand(scope, Context::Call)?;
        self.expect(",")?;
        self.skip_spaces();
        let ty = if self.starts_with(")") { Type::Untyped } else { self.operand_type()? };
        self.expect(")")?;
        Ok(Stmt::pi(value, ty))
    }

    /// A type among operands: up to the next comma or closing parenthesis. Quoted where that would cut it short.
    pub(super) fn operand_type(&mut self) -> Read<Type> {
        if self.starts_with("\"") {
            return self.quoted_type();
        }
        let start = self.pos();
        let length = balanced_length(self.rest(), |rest| rest.starts_with([',', ')']));
        self.seek(start + length);
        let text = self.text(start..self.pos());
        if text.trim().is_empty() {
            return Err(self.expected("a type"));
        }
        self.check_brackets(start, text)?;
        Ok(sharing::parse_type(text))
    }

    /// Behind `invoke`: the function, and its arguments with the types of the signature.
    fn invoke(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        let callee = self.callee(scope)?;
        self.expect("(")?;
        let mut args = Vec::new();
        let mut argtypes = Vec::new();
        loop {
            self.skip_spaces();
            if self.eat(")") {
                break;
            }
            if !args.is_empty() {
                self.expect(",")?;
                self.skip_spaces();
            }
            args.push(match self.function_of_its_type() {
                Some(function) => function,
                None => self.listed_operand(scope, Context::Call)?,
            });
            argtypes.push(if self.eat("::") { self.operand_type()? } else { Type::Untyped });
        }
        // Arguments that a vararg collects have no type of their own.
        while argtypes.last() == Some(&Type::Untyped) {
            argtypes.pop();
        }
        let instance = Arc::new(MethodInstance { argtypes, ..MethodInstance::default() });
        Ok(Stmt::Invoke(Box::new(InvokeNode { instance, callee, args: args.into() })))
    }

    /// `sprint` in `sprint::typeof(sprint)`: the function of that name, and no argument.
    fn function_of_its_type(&mut self) -> Option<Operand<Positions>> {
        let rest = self.rest();
        let end = rest.find(|char| !is_identifier_part(char)).filter(|end| *end > 0)?;
        let (name, behind) = rest.split_at(end);
        let ty = behind.strip_prefix("::typeof(")?;
        ty.strip_prefix(name).is_some_and(|ty| ty.starts_with(')')).then(|| {
            self.seek(self.pos() + name.len());
            Operand::Constant(Constant::Function(name.into()))
        })
    }

    /// What stands before the parenthesis of a call.
    fn callee(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        match self.peek() {
            Some('(') => {
                let callee = self.parenthesised_callee(scope)?;
                if self.starts_with("(") { Ok(callee) } else { Err(self.expected("`(` and the arguments")) }
            }
            Some('%' | '_' | '@' | '$' | '#') => self.operand(scope, Context::Call),
            _ => self.global_callee(),
        }
    }

    /// A global as callee, or a type with parameters.
    fn global_callee(&mut self) -> Read<Operand<Positions>> {
        let start = self.pos();
        let (module, name) = self.global_path()?;
        if self.starts_with("{") {
            self.seek(start);
            // Before an operator it is no callee but an operand, and what is called behind the operator is another.
            let ends = |rest: &str| {
                let before_operator = |rest: &str| infix_operator(rest).is_some();
                rest.starts_with('(') || rest.starts_with("::") || rest.strip_prefix(' ').is_some_and(before_operator)
            };
            let length = balanced_length(self.rest(), ends);
            self.seek(start + length);
            if let Some(object) = self.called_object(start) {
                return Ok(object);
            }
            return Ok(Operand::Constant(Constant::of_type(sharing::parse_type(self.text(start..self.pos())))));
        }
        if let Some(object) = self.called_object(start) {
            return Ok(object);
        }
        Ok(Operand::Global(sharing::global(GlobalRef::new(sharing::name(&module), sharing::name(&name)))))
    }

    /// Behind its type an object that is called, `Main.Scaled(2.0)(%1)`; of no fields functions of keyword arguments
    /// are, `#f#12()(%1)`.
    fn called_object(&mut self, start: usize) -> Option<Operand<Positions>> {
        let fields = self.rest().strip_prefix('(')?;
        let length = balanced_length(fields, |rest| rest.starts_with(')'));
        let called = fields.get(length..)?.starts_with(")(") && !fields.get(..length)?.contains('%');
        called.then(|| {
            self.seek(self.pos() + length + "()".len());
            Operand::Constant(Constant::Text(self.text(start..self.pos()).into()))
        })
    }

    /// `(println)`, `(%24)`, `(Core.Intrinsics.mul_int)`: in parentheses, a name is a function object.
    fn parenthesised_callee(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        self.expect("(")?;
        let start = self.pos();
        let operand = match infix_or_name(self) {
            Some(name) => {
                self.seek(start + name);
                Operand::Constant(Constant::Function(self.text(start..self.pos()).into()))
            }
            None if self.is_builtin_alone() => {
                self.global_path()?;
                Operand::Constant(Constant::Function(self.text(start..self.pos()).into()))
            }
            None => self.operand(scope, Context::Call)?,
        };
        let text = self.spelled_today(start);
        if self.eat("::") {
            // Julia 1.12 shows the type of what is called, where that is no function of a name.
            let _ = self.operand_type()?;
        }
        self.expect(")")?;
        Ok(match operand {
            Operand::Global(_) => Operand::Constant(Constant::Function(text.into())),
            // Among operands, `Main.var"#f#12"` is a type.
            Operand::Constant(Constant::Type(_)) if text.ends_with('"') => {
                Operand::Constant(Constant::Function(text.into()))
            }
            // `(::Foo)(x)` calls something by its type.
            other => other,
        })
    }

    /// Whether the name of one of Julia's own functions stands alone in parentheses: among operands it may be that of
    /// an argument.
    fn is_builtin_alone(&self) -> bool {
        let rest = self.rest();
        let (name, behind) = rest.split_at(rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len()));
        behind.starts_with(')') && is_builtin(name)
    }

    /// A call, an infix call, or a bare operand.
    pub(super) fn expression(&mut self, scope: &mut Scope, context: Context) -> Read<Stmt<Positions>> {
        if self.is_quoted_callee() {
            self.expect(":")?;
        }
        let start = self.pos();
        if self.starts_with("Symbol(\"") {
            // A symbol that is no identifier: a call would name the module of `Symbol`.
            if let Ok(symbol @ Operand::Quote(_)) = self.operand(scope, context) {
                return self.infix(scope, context, symbol);
            }
            self.seek(start);
        }
        if self.starts_with("(") {
            if let Some(stmt) = self.parenthesised(scope, context)? {
                return Ok(stmt);
            }
            self.seek(start);
        } else if let Some(op) = self.called_operator() {
            self.expect("(")?;
            return Ok(Stmt::call(Operand::global("", op), self.operands(scope, context)?));
        } else if let Some(op) = self.unary_operator() {
            let operand = self.operand(scope, context)?;
            return Ok(Stmt::call(Operand::global("", op), [operand]));
        } else if let Some(coefficient) = self.coefficient() {
            let name = self.operand(scope, context)?;
            return Ok(Stmt::call(Operand::global("", "*"), [coefficient, name]));
        } else if let Some(literal) = self.typed_literal(scope, context) {
            return self.infix(scope, context, literal);
        } else if let Some(ty) = self.function_type(scope, |_| false) {
            return Ok(Stmt::Value(Operand::Constant(Constant::of_type(ty))));
        } else if let Some(callee) = self.called_global() {
            self.expect("(")?;
            return Ok(Stmt::call(callee, self.operands(scope, context)?));
        }
        let interpolated = self.starts_with("$");
        let first = self.infix_operand(scope, context, Side::Left)?;
        if self.starts_with("(") && (interpolated || matches!(first, Operand::Value(_) | Operand::Argument(_))) {
            self.expect("(")?;
            return Ok(Stmt::call(first, self.operands(scope, context)?));
        }
        self.infix(scope, context, first)
    }

    /// What starts with a parenthesis: `(%1 === 1)`, `(println)(%2)`. `None` for an object, such as a tuple.
    fn parenthesised(&mut self, scope: &mut Scope, context: Context) -> Read<Option<Stmt<Positions>>> {
        if self.rest().get(first_group(self.rest())..).is_some_and(|rest| rest.starts_with('(')) {
            let callee = self.parenthesised_callee(scope)?;
            self.expect("(")?;
            return Ok(Some(Stmt::call(callee, self.operands(scope, context)?)));
        }
        self.expect("(")?;
        let behind_name = match self.starts_with("var\"") {
            true => self.rest().get(balanced_length(self.rest(), |rest| rest.starts_with(' '))..).unwrap_or_default(),
            false => self.rest().trim_start_matches(is_identifier_part),
        };
        if behind_name.len() < self.rest().len() && behind_name.starts_with(" = ") {
            // `(a = 1,)` is a named tuple, `(a = 1)` an assignment.
            let length = balanced_length(self.rest(), |rest| rest.starts_with([',', ')']));
            if self.rest().get(length..).is_some_and(|rest| rest.starts_with(',')) {
                return Ok(None);
            }
        }
        let Ok(first) = self.infix_operand(scope, context, Side::Left) else { return Ok(None) };
        match self.infix(scope, context, first)? {
            Stmt::Value(alone @ (Operand::Value(_) | Operand::Argument(_))) if self.eat(")") => {
                Ok(Some(Stmt::Value(alone)))
            }
            Stmt::Value(_) => Ok(None),
            call => {
                self.expect(")")?;
                Ok(Some(call))
            }
        }
    }

    fn unary_operator(&mut self) -> Option<&'a str> {
        let op = operator_prefix(self.rest()).filter(|op| is_unary(op))?;
        let rest = self.rest().get(op.len()..)?;
        let operand = rest.starts_with(['%', '_', '@', '(', '$', '"']) || rest.starts_with(is_identifier_start);
        if !operand || rest.starts_with("Inf") {
            return None;
        }
        self.eat(op);
        Some(op)
    }

    /// `Float16(0.5)`, as Julia prints a literal of this type, and `Int32(5)` before an operator: with nothing behind
    /// it, that is a call.
    fn typed_literal(&mut self, scope: &mut Scope, context: Context) -> Option<Operand<Positions>> {
        let start = self.pos();
        let is_float16 = self.starts_with("Float16(");
        if matches!(self.peek(), Some('F' | 'I' | 'r'))
            && let Ok(operand @ Operand::Constant(Constant::Scalar(_))) = self.operand(scope, context)
            && (is_float16 || infix_operator(self.rest().trim_start()).is_some())
        {
            return Some(operand);
        }
        self.seek(start);
        None
    }

    /// `typeof(sin)`, the type of a function: a constant, as calls name the module of `typeof`. `is_function` says
    /// which names without a module are taken for those of functions where the listing has no such argument.
    pub(super) fn function_type(&mut self, scope: &Scope, is_function: impl Fn(&str) -> bool) -> Option<Type> {
        let inside = self.rest().strip_prefix("typeof(")?;
        let name = inside.get(..inside.find(')')?)?;
        let named = name.contains('.') || crate::primitives::lookup(name).is_some() || is_function(name);
        if !named || scope.parameters.contains_key(name) {
            return None;
        }
        let text = self.rest().get(.."typeof(".len() + name.len() + 1)?;
        match sharing::parse_type(text) {
            ty @ Type::Function(_) => {
                self.seek(self.pos() + text.len());
                Some(ty)
            }
            _ => None,
        }
    }

    /// A global or a type, if it is called here.
    fn called_global(&mut self) -> Option<Operand<Positions>> {
        let start = self.pos();
        // `_2(…)` calls an argument, `_2d(…)` a function.
        let number =
            self.rest().strip_prefix('_').map(|rest| (rest, rest.trim_start_matches(|c: char| c.is_ascii_digit())));
        if number.is_some_and(|(rest, behind)| behind.len() < rest.len() && behind.starts_with('(')) {
            return None;
        }
        match self.global_callee() {
            Ok(callee) if self.starts_with("(") => Some(callee),
            _ => {
                self.seek(start);
                None
            }
        }
    }

    /// `$(Expr(:head, …))`.
    pub(super) fn expr(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        self.nested(|cursor| cursor.expr_inside(scope))
    }

    fn expr_inside(&mut self, scope: &mut Scope) -> Read<Stmt<Positions>> {
        self.expect("$(Expr(")?;
        let head_start = self.pos();
        let name = if self.eat("Symbol(") {
            let name = self.string()?;
            self.expect(")")?;
            name
        } else {
            self.expect(":")?;
            let parenthesised = self.parenthesised_operator().is_none() && self.eat("(");
            let name = self.symbol()?;
            if parenthesised {
                self.expect(")")?;
            }
            name
        };
        let head_end = self.pos();
        let more = self.eat(",");
        self.skip_spaces();
        let stmt = match name.as_str() {
            // Spellings of Julia up to 1.10 for what has a node of its own since.
            "enter" if more => {
                let block = self.block()?;
                self.skip_spaces();
                self.expect(")")?;
                Stmt::Enter(Box::new(EnterNode { catch_dest: Some(BlockNumber(block)), scope: None }))
            }
            "unreachable" if !more => {
                self.expect(")")?;
                Stmt::unreachable()
            }
            "thunk" | "lambda" | "toplevel" | "slot" | "gotoifnot" => {
                let message = format!("`{name}` stands in lowered code only");
                return Err(Diagnostic::error(self.span(head_start, head_end), message, "not in SSA form"));
            }
            _ => {
                let head = Head::from_name(&name);
                let uses = head.operands_are_uses();
                let is_new = matches!(head, Head::New | Head::SplatNew) && !self.starts_with("$(");
                let mut args = self.operands(scope, Context::Expr { uses, quoted: false })?;
                if is_new {
                    name_a_type(&mut args);
                }
                match (name.as_str(), args.is_empty()) {
                    ("call", false) => {
                        let callee = args.remove(0);
                        Stmt::call(callee, args)
                    }
                    _ => Stmt::expr(head, args),
                }
            }
        };
        self.expect(")")?;
        Ok(stmt)
    }
}

/// What `new` makes is of a type: a name that stands there alone is that of one, also a closure's, which is called like
/// its function.
fn name_a_type(operands: &mut [Operand<Positions>]) {
    if let Some(first @ Operand::Constant(Constant::Function(_))) = operands.first_mut()
        && let Operand::Constant(Constant::Function(name)) = &*first
    {
        *first = Operand::Constant(Constant::of_type(Type::named(spelled(name))));
    }
}

/// The length of the first parenthesised group of the text.
fn first_group(text: &str) -> usize {
    let inside = text.strip_prefix('(').unwrap_or(text);
    balanced_length(inside, |rest| rest.starts_with(')')) + 2
}

/// The length of an operator that stands alone in parentheses, as in `(===)(%1, 4)`.
fn infix_or_name(cursor: &Cursor<'_>) -> Option<usize> {
    let rest = cursor.rest();
    let op = super::operators::operator_prefix(rest)?;
    rest.get(op.len()..)?.starts_with(')').then_some(op.len())
}

#[cfg(test)]
mod tests {
    use super::{Operand, Stmt};
    use crate::parse_function;

    #[test]
    fn a_jump_of_lowered_code_is_refused() {
        let error =
            parse_function("1 ─ %1 = Main.f(_2)::Bool\n│        $(Expr(:gotoifnot, :(%1), 3))\n└──      return %1\n");
        assert!(error.unwrap_err().to_string().contains("`gotoifnot` stands in lowered code only"));
    }

    #[test]
    fn quoted_statements_of_try_are_these_statements() {
        let listing = |enter: &str, leave: &str| {
            parse_function(&format!(
                "1 ─      {enter}\n2 ─      {leave}\n3 ─      goto #5\n4 ─      {leave}\n5 ┄      return 1\n"
            ))
        };
        let plain = listing("$(Expr(:enter, #4))", "$(Expr(:leave, 1))").unwrap();
        assert_eq!(listing(":($(Expr(:enter, 4)))", ":($(Expr(:leave, 1)))").unwrap(), plain);
        assert!(listing(":($(Expr(:enter, 4))", ":($(Expr(:leave, 1)))").is_err());
    }

    #[test]
    fn what_a_statement_is_printed_over_is_no_part_of_it() {
        let body = |ty: &str| parse_function(&format!("1 ─ %1 = Main.f(_2)::{ty}\n└──      return %1\n"));
        for ty in ["Tuple{Vector{Int64}, Int64}", "Core.Const(nothing)"] {
            let plain = body(ty).unwrap();
            for left in ["pansion", " expansion", "│╻        UInt64", "╻ oneto", "pansion  │"] {
                assert_eq!(body(&format!("{ty}{left}")).unwrap(), plain, "{left}");
            }
            for more in [" = 1", " return %1"] {
                assert!(body(&format!("{ty}{more}")).is_err(), "{more}");
            }
        }
        for ty in [
            "Vector{T} where T",
            "VECTOR{T} WHERE T",
            "Array{T, N} where {T<:Real, N}",
            "Vector{T} where #s1<:T",
            "Vector{T} where Int <: T <: Real",
        ] {
            assert_eq!(super::type_length(ty), ty.len(), "{ty}");
        }
        for stmt in ["Main.f(_2) in _3", "Main.f(_2) _3", "Main.f(_2) isa Foo"] {
            assert!(parse_function(&format!("1 ─ %1 = {stmt}\n└──      return %1\n")).is_err(), "{stmt}");
        }
    }

    #[test]
    fn what_is_called_may_be_an_argument() {
        let body = |stmt: &str| parse_function(&format!("1 ─ %1 = {stmt}::Any\n└──      return %1\n")).unwrap().body;
        assert_eq!(body("_2(1)"), body("(_2)(1)"));
        assert_ne!(body("_2d(1)"), body("(_2)(1)"));
    }

    #[test]
    fn objects_are_called() {
        for object in [
            "Base.var\"#62#63\"{typeof(sum),Main.var\"#4#7\"}(sum, Main.var\"#4#7\"())",
            "Main.Scaled(2.0)",
            "Main.var\"#f#12\"()",
        ] {
            let text = format!("1 ─ %1 = invoke {object}(_2::Vector{{Float64}})::Float64\n└──      return %1\n");
            let body = parse_function(&text).unwrap().body;
            let printed = body.to_string();
            assert_eq!(printed, text);
            assert_eq!(parse_function(&printed).unwrap().body, body);
        }
    }

    #[test]
    fn what_is_called_by_a_quoted_name_is_a_function() {
        for call in ["(Main.var\"f.g\")(_2)", "invoke (Main.var\"#f#1\")(_2::Any)"] {
            let body = parse_function(&format!("1 ─ %1 = {call}::Any\n└──      return %1\n")).unwrap().body;
            assert!(body.to_string().contains(call), "{body}");
            assert_eq!(parse_function(&body.to_string()).unwrap().body, body);
        }
    }

    #[test]
    fn constants_that_look_like_something_else_come_back() {
        let named = "(x = 1,)::@NamedTuple{x::Int64}";
        for text in [named, "(x = 1, y = 2.0)::@NamedTuple{x::Int64, y::Float64}", "Symbol(\"a b\")::Symbol"] {
            let body = parse_function(&format!("1 ─ %1 = {text}\n└──      return %1\n")).unwrap().body;
            let Stmt::Value(value) = &body.stmts.stmts()[0] else { panic!("{body}") };
            assert!(!text.starts_with("Symbol") || *value == Operand::symbol("a b"), "{body}");
            assert_eq!(parse_function(&body.to_string()).unwrap().body, body);
        }
        let call = "1 ─ %1 = Core.Symbol(\"a b\")::Symbol\n└──      return %1\n";
        assert!(matches!(parse_function(call).unwrap().body.stmts.stmts()[0], Stmt::Call(_)));
        assert!(parse_function("1 ─      x = 1\n└──      return 1\n").is_err());
    }

    #[test]
    fn what_is_not_assigned_is_no_argument() {
        let error = parse_function("1 ─ %1 = #UNDEF::Any\n└──      return _2\n").unwrap_err();
        assert!(error.to_string().contains("there is no statement here"), "{error}");
    }

    #[test]
    fn assignments_to_variables_are_refused_however_they_stand() {
        for line in ["(y = Main.pos(x))", "(y = 2)", "y = Main.pos(x)", "y#274 = Main.pos(x)"] {
            let text = format!(
                "Locals\n  y::Int64\nBody::Int64\n1 ─      {line}\n│   %2 = (y * x)::Int64\n└──      return %2\n"
            );
            let error = parse_function(&text).unwrap_err();
            assert!(error.to_string().contains("this is an assignment to a variable"), "{line}: {error}");
        }
    }

    #[test]
    fn a_jump_that_is_misspelt_is_no_argument() {
        let listing = |jump: &str| {
            parse_function(&format!(
                "CodeInfo(\n1 ─ %1 = Base.slt_int(x, 3)::Bool\n└──      {jump}\n2 ─      return 1\n3 ─      return 2\n) => Int64\n"
            ))
        };
        assert!(listing("goto #3 if not %1").is_ok());
        for jump in ["gto #3 if not %1", "got #3", "goto", "unreachble"] {
            let error = listing(jump).unwrap_err().to_string();
            assert!(error.contains("this is no statement"), "{error}");
        }
        // Code without types may have such statements, which nobody uses.
        assert!(parse_function("CodeInfo(\n1 ─      x\n└──      return 1\n)\n").is_ok());
    }

    #[test]
    fn one_operand_may_stand_in_parentheses() {
        let body = |operand: &str| {
            parse_function(&format!("CodeInfo(\n1 ─ %1 = {operand}::Bool\n└──      return %1\n) => Bool\n"))
        };
        assert_eq!(body("(flag)").unwrap(), body("flag").unwrap());
    }

    #[test]
    fn objects_were_made_by_new() {
        let body = |new: &str| {
            parse_function(&format!("1 ─ %1 = {new}(UnitRange{{Int64}}, 1, _2)::Any\n└──      return %1\n"))
        };
        assert_eq!(body("new").unwrap(), body("%new").unwrap());
    }
}
