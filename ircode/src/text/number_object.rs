//! Objects made of numbers that stand beside an operator: `1//2`, `0 + 2im`, `(im)`, `(-2)`, `1:3`, `[1, 2]`.
//!
//! Of these only the text is known. They print with what looks like operators and calls, but no call of Julia's
//! compiler has another call for an operand.

use std::ops::Range;

use super::balanced::balanced_length;
use super::expression::{Context, Cursor, Read, Scope};
use super::operators::infix_operator;
use crate::constant::Constant;
use crate::names::Positions;
use crate::operand::Operand;

/// On which side of an operator an operand stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Cursor<'_> {
    /// An operand beside an operator: as others, or an object made of numbers.
    pub(super) fn infix_operand(
        &mut self,
        scope: &mut Scope,
        context: Context,
        side: Side,
    ) -> Read<Operand<Positions>> {
        let rest = self.rest();
        match number_object(rest, side) {
            Some((length, object)) => {
                let text = rest.get(object).unwrap_or_default();
                let operand = match number(text) == Some(text.len()) {
                    true => Cursor::new(text, 0).operand(scope, context)?,
                    false => Operand::Constant(Constant::Text(text.into())),
                };
                self.at += length;
                Ok(operand)
            }
            None => self.operand(scope, context),
        }
    }
}

impl Cursor<'_> {
    /// An operand of a range: as others, or a rational number.
    pub(super) fn range_operand(&mut self, scope: &mut Scope, context: Context) -> Read<Operand<Positions>> {
        match rational(self.rest()) {
            Some(length) => {
                let text = self.text(self.at..self.at + length);
                self.at += length;
                Ok(Operand::Constant(Constant::Text(text.into())))
            }
            None => self.operand(scope, context),
        }
    }
}

/// Whether an object of this text is put into parentheses beside an operator that binds as closely as `+`, or closer.
pub(super) fn is_sum(text: &str) -> bool {
    text == "im" || text.ends_with("im") && complex(text) == Some(text.len())
}

/// The length of the object that the text starts with, and where it stands in there: without parentheses around it.
fn number_object(rest: &str, side: Side) -> Option<(usize, Range<usize>)> {
    // Most operands are none, and that shows at once.
    let first = *rest.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'(' | b'[' | b'-' | b'I' | b'N')) {
        return None;
    }
    let (length, object) = match first {
        b'(' => {
            let inside = rest.get(1..)?;
            let length = balanced_length(inside, |rest| rest.starts_with(')'));
            let text = inside.get(..length)?;
            let whole = |read: fn(&str) -> Option<usize>| read(text) == Some(length);
            // The base of a power, and the imaginary unit.
            let is_single = text.starts_with('-') && whole(number) || text == "im";
            if !(is_single || whole(complex) || whole(range) || whole(complex_call)) {
                return None;
            }
            (length + 2, 1..length + 1)
        }
        b'[' => {
            let length = balanced_length(rest, |rest| !rest.starts_with('['));
            if rest.get(..length)?.contains('%') {
                return None;
            }
            (length, 0..length)
        }
        _ => {
            // What is written `1:3` and nothing else beside it is a call, and what a range of others starts with is no
            // range.
            let is_longer = |rest: &str| rest.starts_with(':') && !rest.starts_with("::");
            let whole = |length: &usize| side == Side::Right || !rest.get(*length..).is_some_and(is_longer);
            let found = complex(rest).or_else(|| range(rest).filter(whole)).or_else(|| rational(rest))?;
            (found, 0..found)
        }
    };
    let behind = rest.get(length..)?;
    let operator = behind.strip_prefix(' ').is_some_and(|behind| infix_operator(behind).is_some());
    // Of what a range of other things starts with.
    let starts_range = rational(rest) == Some(length)
        && behind.strip_prefix(':').is_some_and(|behind| !behind.starts_with([':', '(']));
    let ends = match side {
        // Alone in a statement only what cannot be a call of numbers.
        Side::Left => operator || starts_range || rational(rest) == Some(length) && behind.starts_with("::"),
        Side::Right => operator || behind.is_empty() || behind.starts_with([')', ',', ' ', ':']),
    };
    ends.then_some((length, object))
}

/// The length of the number that the text starts with, as Julia prints it.
pub(super) fn number(text: &str) -> Option<usize> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - unsigned.len();
    for word in ["Inf16", "Inf32", "Inf", "NaN16", "NaN32", "NaN"] {
        if unsigned.starts_with(word) {
            return Some(sign + word.len());
        }
    }
    let digits = |text: &str, accept: fn(&u8) -> bool| text.bytes().take_while(accept).count();
    if let Some(hexadecimal) = unsigned.strip_prefix("0x") {
        let count = digits(hexadecimal, u8::is_ascii_hexdigit);
        return (count > 0).then_some(sign + 2 + count);
    }
    let mut length = digits(unsigned, u8::is_ascii_digit);
    if length == 0 {
        return None;
    }
    let behind = |length: usize| unsigned.get(length..).unwrap_or_default();
    if let Some(fraction) = behind(length).strip_prefix('.')
        && digits(fraction, u8::is_ascii_digit) > 0
    {
        length += 1 + digits(fraction, u8::is_ascii_digit);
    }
    if let Some(exponent) = behind(length).strip_prefix(['e', 'f']) {
        let minus = usize::from(exponent.starts_with('-'));
        let count = digits(exponent.get(minus..).unwrap_or_default(), u8::is_ascii_digit);
        if count > 0 {
            length += 1 + minus + count;
        }
    }
    Some(sign + length)
}

/// The length of two things with something between them that the text starts with.
fn pair(
    text: &str,
    first: fn(&str) -> Option<usize>,
    between: &str,
    second: fn(&str) -> Option<usize>,
) -> Option<usize> {
    let start = first(text)?;
    let behind = text.get(start..)?.strip_prefix(between)?;
    Some(start + between.len() + second(behind)?)
}

/// `1//2`.
fn rational(text: &str) -> Option<usize> {
    pair(text, number, "//", number)
}

fn real(text: &str) -> Option<usize> {
    rational(text).or_else(|| number(text))
}

/// `0 + 2im`, `1.0 - Inf*im`.
fn complex(text: &str) -> Option<usize> {
    let length = pair(text, real, " + ", real).or_else(|| pair(text, real, " - ", real))?;
    let behind = text.get(length..)?;
    let unit = if behind.starts_with("*im") { "*im" } else { "im" };
    behind.starts_with(unit).then_some(length + unit.len())
}

/// `Complex(true,false)`, which is `im`.
fn complex_call(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("Complex(")?;
    let (arguments, behind) = inside.split_once(')')?;
    let known = arguments.split(',').all(|argument| {
        let argument = argument.trim();
        matches!(argument, "true" | "false") || real(argument) == Some(argument.len())
    });
    (known && behind.is_empty()).then_some(text.len())
}

/// `1:3`, `1.0:0.5:2.0`.
fn range(text: &str) -> Option<usize> {
    let length = pair(text, real, ":", real)?;
    let behind = text.get(length..)?;
    let last = behind.strip_prefix(':').filter(|behind| !behind.starts_with(':')).and_then(real);
    Some(length + last.map_or(0, |last| 1 + last))
}

#[cfg(test)]
mod tests {
    use crate::parse_function;
    use crate::stmt::Stmt;

    /// What a statement calls, with its operands.
    fn call(stmt: &str) -> Vec<String> {
        let function = parse_function(&format!("1 ─ %1 = {stmt}::Any\n└──      return %1\n")).unwrap();
        match function.body.stmts.stmts().first() {
            Some(Stmt::Call(call)) => {
                std::iter::once(&call.callee).chain(call.args.iter()).map(ToString::to_string).collect()
            }
            other => panic!("{stmt} is {other:?}"),
        }
    }

    #[test]
    fn objects_made_of_numbers_are_operands() {
        for object in ["1//2", "1:3", "1.0:0.5:2.0", "[1, 2]"] {
            assert_eq!(call(&format!("({object} * _2)"))[1..], [object, "_2"]);
            assert_eq!(call(&format!("(_2 * {object})"))[1..], ["_2", object]);
            assert_eq!(call(&format!("(_2 * {object} * _3)"))[1..], ["_2", object, "_3"]);
        }
        for object in ["0 + 2im", "1.5e-7 - Inf*im", "1//2 + 3//4*im", "Complex(true,false)"] {
            assert_eq!(call(&format!("(({object}) ^ _2)"))[1..], [object, "_2"]);
            assert_eq!(call(&format!("(_2 - ({object}))"))[1..], ["_2", object]);
        }
        assert_eq!(call("(0 + 2im === _2)")[1..], ["0 + 2im", "_2"]);
        assert_eq!(call("((-2) ^ _2)")[1..], ["-2", "_2"]);
        assert_eq!(call("(_2 + (im) + _3)")[1..], ["_2", "im", "_3"]);
        assert_eq!(call("(1//2:_2)")[1..], ["1//2", "_2"]);
        assert_eq!(call("(1//2:1//2:_2)")[1..], ["1//2", "1//2", "_2"]);
        assert_eq!(call("(1:1//2:_2)")[1..], ["1", "1//2", "_2"]);
        assert_eq!(call("(1//2:_2:3//2)")[1..], ["1//2", "_2", "3//2"]);
        assert_eq!(call("(_2 == 0 + 1im)")[1..], ["_2", "0 + 1im"]);
    }

    #[test]
    fn calls_of_operators_stay_what_they_are() {
        assert_eq!(call("(1:3)")[1..], ["1", "3"]);
        assert_eq!(call("(2:_2)")[1..], ["2", "_2"]);
        assert_eq!(call("(1 + 2)")[1..], ["1", "2"]);
        assert_eq!(call("(1 + 2 + _2)")[1..], ["1", "2", "_2"]);
        assert_eq!(call("(1 - _2)")[1..], ["1", "_2"]);
        assert_eq!(call("(_2 // 2)")[1..], ["_2", "2"]);
        // With too many operands they stand before them; a sign before a tuple is before one thing.
        assert_eq!(call("∪(_2, _3, 1)")[1..], ["_2", "_3", "1"]);
        assert_eq!(call("-(_2, 1, 2.5)")[1..], ["_2", "1", "2.5"]);
        assert_eq!(call("-(1, 2)")[1..], ["(1, 2)"]);
        // As lowered code shows products with a number.
        assert_eq!(call("2.5x"), ["*", "2.5", "_2"]);
        assert_eq!(call("2x3"), ["*", "2", "_2"]);
        assert_eq!(call("-∂x")[0], "-");
        for name in ["0b101", "1E5", "2_000", "3Inf", "2true", "2Main", "%(1, 2)"] {
            assert!(parse_function(&format!("1 ─ %1 = {name}\n└──      return %1\n")).is_err(), "{name}");
        }
        for name in ["Info", "NaNs"] {
            let function = parse_function(&format!("1 ─ %1 = {name}::Int64\n└──      return %1\n")).unwrap();
            assert!(matches!(function.body.stmts.stmts()[0], Stmt::Value(_)), "{name}");
        }
    }
}
