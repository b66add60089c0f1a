//! Calls of operators, which stand between their operands for the most part, and ranges.

use std::cell::Cell;

use super::balanced::balanced_length;
use super::expression::{Context, Cursor, Read, Scope, read_constant};
use super::number_object::{Side, number};
use super::operators::{infix_operator, is_n_ary, is_operator, is_unary, operator_prefix};
use super::words::word;
use crate::constant::{is_identifier_part, is_identifier_start};
use crate::head::Head;
use crate::names::Positions;
use crate::operand::Operand;
use crate::stmt::Stmt;

impl<'a> Cursor<'a> {
    /// What follows an operand, if an operator does.
    pub(super) fn infix(
        &mut self,
        scope: &mut Scope,
        context: Context,
        first: Operand<Positions>,
    ) -> Read<Stmt<Positions>> {
        let start = self.pos();
        self.narrowed_type(start, |behind| {
            behind.starts_with(':') || behind.strip_prefix(' ').is_some_and(|behind| infix_operator(behind).is_some())
        });
        self.skip_spaces();
        let Some(op) = infix_operator(self.rest()) else {
            if self.starts_with(":") && !self.starts_with("::") {
                return self.range(scope, context, first);
            }
            if let (Operand::Global(global), true) = (&first, self.starts_with("= "))
                && !global.module.is_empty()
            {
                // Up to Julia 1.11 compiled code assigns to globals.
                self.eat("= ");
                let value = self.operand(scope, context)?;
                return Ok(Stmt::expr(Head::Assign, [first, value]));
            }
            // Of several variables of a name Julia tells which it is: `x#274 = …`.
            let number = self.rest().strip_prefix('#').filter(|_| self.pos() == start);
            let behind = number.map(|number| number.trim_start_matches(|c: char| c.is_ascii_digit()));
            if self.starts_with("= ") || behind.is_some_and(|behind| behind.starts_with(" = ")) {
                return Err(self.lowered("this is an assignment to a variable"));
            }
            self.seek(start);
            return Ok(Stmt::Value(first));
        };
        let mut args = vec![first];
        while infix_operator(self.rest()) == Some(op) && (args.len() == 1 || is_n_ary(op)) {
            self.eat(op);
            self.skip_spaces();
            args.push(self.infix_operand(scope, context, Side::Right)?);
            self.narrowed_type(start, |behind| behind.starts_with([')', ' ']));
            let end = self.pos();
            self.skip_spaces();
            if infix_operator(self.rest()).is_none() {
                self.seek(end);
            }
        }
        Ok(Stmt::call(Operand::global("", op), args))
    }

    /// `1:n`, `1:2:n`.
    fn range(&mut self, scope: &mut Scope, context: Context, first: Operand<Positions>) -> Read<Stmt<Positions>> {
        let start = self.pos();
        let mut args = vec![first];
        while !self.starts_with("::") && self.eat(":") {
            args.push(self.range_operand(scope, context)?);
            self.narrowed_type(start, |behind| behind.starts_with([')', ':']));
        }
        Ok(Stmt::call(Operand::global("", ":"), args))
    }

    /// The operator of `∪(x, y, z)`: one that does not stand between its operands, as it has another number of them.
    pub(super) fn called_operator(&mut self) -> Option<&'a str> {
        let op = operator_prefix(self.rest()).filter(|op| is_operator(op) && !matches!(*op, ":" | "%"))?;
        let inside = self.rest().get(op.len()..)?.strip_prefix('(')?;
        let commas = Cell::new(0);
        let length = balanced_length(inside, |rest| {
            commas.set(commas.get() + usize::from(rest.starts_with(',')));
            rest.starts_with(')')
        });
        // A sign before two things in parentheses is before a tuple.
        if inside.get(length..).is_none_or(str::is_empty) || is_unary(op) && commas.get() < 2 {
            return None;
        }
        self.eat(op);
        Some(op)
    }

    /// The number in `2x`, which is how lowered code shows `2 * x`. Numbers that Julia does not print so are none, as
    /// `0x1p3` and `2_000`.
    pub(super) fn coefficient(&mut self) -> Option<Operand<Positions>> {
        let rest = self.rest();
        let length = number(rest).filter(|length| {
            let digits = rest.strip_prefix('-').unwrap_or(rest);
            let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.starts_with("0x");
            is_decimal && rest.get(..*length) != Some("0")
        })?;
        let name = rest.get(length..).filter(|rest| rest.starts_with(|c| is_identifier_start(c) && c != '_'))?;
        let behind = name.trim_start_matches(is_identifier_part);
        let name = name.get(..name.len() - behind.len())?;
        let is_digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        let is_exponent = name.strip_prefix(['E', 'F']).is_some_and(|digits| !digits.is_empty() && is_digits(digits));
        let is_object = word(name).is_some() || matches!(name, "Base" | "Core" | "Main");
        // What goes on is something else.
        let ends = behind.is_empty() || behind.starts_with([' ', ')']) || behind.starts_with("::");
        if is_exponent || is_object || !ends {
            return None;
        }
        let read = read_constant(rest.get(..length)?)?;
        self.seek(self.pos() + length);
        Some(Operand::Constant(read))
    }

    /// The operator in `(==)`, which stands here: how symbols of some operators are printed behind the colon.
    pub(super) fn parenthesised_operator(&self) -> Option<&'a str> {
        let rest = self.rest().strip_prefix('(')?;
        let quoted = operator_prefix(rest).into_iter().chain([":", "::", "=", ":="]);
        let mut closed = quoted.filter(|op| rest.strip_prefix(op).is_some_and(|rest| rest.starts_with(')')));
        closed.next()
    }

    /// Inside of parentheses: the type to which code_warntype shows a variable narrowed, `(2.0 * x::Int64)`, if this is
    /// what follows it.
    pub(super) fn narrowed_type(&mut self, infix: usize, follows: impl Fn(&str) -> bool) {
        let Some(ty) = self.rest().strip_prefix("::") else { return };
        let opened = self.text(0..infix).matches('(').count() > self.text(0..infix).matches(')').count();
        let ends = |rest: &str| rest.starts_with([')', ' ']) || rest.starts_with(':') && !rest.starts_with(":(");
        let mut length = balanced_length(ty, ends);
        while let Some(bounds) = ty.get(length..).and_then(|rest| rest.strip_prefix(" where ")) {
            length += " where ".len() + balanced_length(bounds, |rest| rest.starts_with([')', ' ']));
        }
        if opened && ty.get(length..).is_some_and(follows) {
            self.seek(self.pos() + 2 + length);
        }
    }
}
