//! Reading literals: strings, characters, numbers.

use half::f16;

use super::balanced::character_length;
use super::expression::{Cursor, Read};
use crate::constant::{Constant, is_identifier_part};
use crate::diagnostic::Diagnostic;
use crate::names::Positions;
use crate::operand::Operand;
use crate::scalar::{Scalar, ScalarType};

impl Cursor<'_> {
    /// A string literal with Julia's escapes.
    pub(super) fn string(&mut self) -> Read<String> {
        let start = self.at;
        String::from_utf8(self.string_bytes()?).map_err(|_| {
            let span = self.span(start, self.at);
            Diagnostic::error(span, "the bytes of this string are no UTF-8", "expected characters")
        })
    }

    /// A string that is an operand. Julia's may have any bytes; of one that is no UTF-8 the literal is kept.
    pub(super) fn string_operand(&mut self) -> Read<Operand<Positions>> {
        let start = self.at;
        Ok(Operand::Constant(match String::from_utf8(self.string_bytes()?) {
            Ok(text) => Constant::String(text.into()),
            Err(_) => Constant::Text(self.text(start..self.at).into()),
        }))
    }

    fn string_bytes(&mut self) -> Read<Vec<u8>> {
        let start = self.at;
        self.expect("\"")?;
        let mut bytes = Vec::new();
        loop {
            let Some(c) = self.peek() else {
                let span = self.span(start, self.at);
                return Err(Diagnostic::error(span, "this string does not end", "expected `\"`"));
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(bytes),
                '\\' => self.escape(&mut bytes)?,
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Adds the bytes for which an escape stands.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Read<()> {
        let start = self.at;
        let Some(c) = self.peek() else { return Err(self.expected("an escaped character")) };
        self.at += c.len_utf8();
        let hex = |cursor: &mut Self, most: usize| {
            let digits = cursor.rest();
            let length = digits.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
            let value = digits.get(..length).and_then(|d| u32::from_str_radix(d, 16).ok());
            cursor.at += length;
            value.filter(|value| *value <= u32::from(char::MAX)).ok_or_else(|| {
                Diagnostic::error(cursor.span(start, cursor.at), "this escape is no character", "expected hex digits")
            })
        };
        let c = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            // A byte, which may be a part of a character.
            'x' => {
                bytes.push(hex(self, 2)? as u8);
                return Ok(());
            }
            'u' | 'U' => {
                let value = hex(self, if c == 'u' { 4 } else { 8 })?;
                match char::from_u32(value) {
                    Some(c) => c,
                    // Half of a surrogate pair, which Julia writes as if it were a character.
                    None => {
                        let part = |shift: u32| 0x80 | (value >> shift) as u8 & 0x3f;
                        bytes.extend([0xe0 | (value >> 12) as u8, part(6), part(0)]);
                        return Ok(());
                    }
                }
            }
            '\\' | '"' | '\'' | '$' | '`' => c,
            other => {
                let span = self.span(start, self.at);
                return Err(Diagnostic::error(span, format!("`\\{other}` is no escape"), "unknown escape"));
            }
        };
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// A character literal: a character, an escape, or the bytes of one, which need not be whole.
    pub(super) fn character(&mut self) -> Read<Operand<Positions>> {
        let start = self.at;
        let Some(length) = character_length(self.rest().as_bytes()) else {
            return Err(self.expected("a character literal"));
        };
        let end = self.at + length;
        self.at += 1;
        let mut bytes = Vec::new();
        while self.at + 1 < end {
            let Some(c) = self.peek() else { break };
            self.at += c.len_utf8();
            match c {
                '\\' => self.escape(&mut bytes)?,
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        self.at = end;
        let whole = std::str::from_utf8(&bytes).map(|text| text.chars().count() == 1);
        let mut raw = [0; 4];
        match raw.get_mut(..bytes.len()) {
            Some(first) if whole.unwrap_or(!bytes.is_empty()) => first.copy_from_slice(&bytes),
            _ => {
                let span = self.span(start, end);
                return Err(Diagnostic::error(span, "this is no single character", "expected one character"));
            }
        }
        Ok(Operand::from(Scalar::Char(u32::from_be_bytes(raw))))
    }

    pub(super) fn is_negative_number(&self) -> bool {
        let negative = self.rest().strip_prefix('-').unwrap_or_default();
        negative.starts_with(|c: char| c.is_ascii_digit()) || negative.starts_with("Inf")
    }

    pub(super) fn numeral(&mut self) -> Read<Operand<Positions>> {
        let start = self.at;
        let scalar = self.scalar()?;
        if self.peek().is_some_and(is_identifier_part) {
            let _ = self.take_while(is_identifier_part);
            let span = self.span(start, self.at);
            let text = self.text(start..self.at);
            return Err(Diagnostic::error(span, format!("`{text}` is no number"), "expected a number"));
        }
        Ok(match scalar {
            Some(scalar) => Operand::from(scalar),
            // An integer that no machine type holds.
            None => Operand::Constant(Constant::Text(self.text(start..self.at).into())),
        })
    }

    /// A number as Julia prints it. `None` for an integer that no machine type holds.
    pub(super) fn scalar(&mut self) -> Read<Option<Scalar>> {
        let start = self.at;
        let negative = self.eat("-");
        for (word, value) in [
            ("Inf16", Scalar::Float16(f16::INFINITY)),
            ("Inf32", Scalar::Float32(f32::INFINITY)),
            ("Inf", Scalar::Float64(f64::INFINITY)),
        ] {
            if self.eat_word(word) {
                return Ok(Some(if negative { negated(&value) } else { value }));
            }
        }
        if !negative && self.eat("0x") {
            return self.hexadecimal(start).map(Some);
        }
        let _ = self.digits();
        let mut float = false;
        let fraction = self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if fraction {
            float = true;
            self.at += 1;
            let _ = self.digits();
        }
        let mut single = false;
        let mantissa_end = self.at;
        if let Some(letter @ ('e' | 'f')) = self.peek() {
            self.at += 1;
            let _ = self.eat("-") || self.eat("+");
            if self.digits().is_empty() {
                self.at = mantissa_end;
            } else {
                float = true;
                single = letter == 'f';
            }
        }
        let text = self.text(start..self.at);
        let bad =
            || Diagnostic::error(self.span(start, self.at), format!("`{text}` is no number"), "expected a number");
        if single {
            return text.replace('f', "e").parse().map(|v| Some(Scalar::Float32(v))).map_err(|_| bad());
        }
        if float {
            return text.parse().map(|v| Some(Scalar::Float64(v))).map_err(|_| bad());
        }
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Some(Scalar::Int64(value)));
        }
        Ok(text.parse::<i128>().ok().map(|value| Scalar::Int128(Box::new(value))))
    }

    /// `0x05` is a `UInt8`: the number of digits gives the width.
    pub(super) fn hexadecimal(&mut self, start: usize) -> Read<Scalar> {
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        let ty = match digits.len() {
            1..=2 => ScalarType::UInt8,
            3..=4 => ScalarType::UInt16,
            5..=8 => ScalarType::UInt32,
            9..=16 => ScalarType::UInt64,
            17..=32 => ScalarType::UInt128,
            _ => {
                let span = self.span(start, self.at);
                return Err(Diagnostic::error(span, "this is no hexadecimal number", "expected 1 to 32 digits"));
            }
        };
        let bits = u128::from_str_radix(digits, 16).map_err(|_| self.expected("a hexadecimal number"))?;
        Ok(Scalar::from_bits(ty, bits))
    }
}

fn negated(scalar: &Scalar) -> Scalar {
    let ty = scalar.scalar_type();
    Scalar::from_bits(ty, scalar.to_bits() ^ (1 << (ty.bits() - 1)))
}

#[cfg(test)]
mod tests {
    use crate::{Constant, Operand, Scalar, Stmt, parse_function};

    /// The operands of a call that is read.
    fn operands(text: &str) -> Vec<Constant> {
        let function = parse_function(&format!("1 ─ %1 = Core.tuple({text})::Any\n└──      return %1\n")).unwrap();
        let Stmt::Call(call) = &function.body.stmts.stmts()[0] else { panic!("no call") };
        call.args.iter().filter_map(Operand::as_constant).cloned().collect()
    }

    #[test]
    fn bytes_are_bytes() {
        // As a Julia 1.5 session shows them: repr(reinterpret(Char, bits)) of each.
        let characters = [
            ("'\\xff'", 0xff00_0000_u32),
            ("'\\ud800'", 0xeda0_8000),
            ("'\\xe2\\x88'", 0xe288_0000),
            ("'\\xc0\\x80'", 0xc080_0000),
            ("'€'", 0xe282_ac00),
        ];
        for (text, bits) in characters {
            assert_eq!(operands(text), [Constant::Scalar(Scalar::Char(bits))], "{text}");
        }
        assert_eq!(operands(r#""\xe2\x82\xac""#), [Constant::String("€".into())]);
        assert_eq!(operands(r#""\xff\xfe""#), [Constant::Text(r#""\xff\xfe""#.into())]);
        assert!(parse_function("1 ─ return '\\nabc'\n").is_err());
    }

    /// As a Julia 1.5 session shows each of them.
    #[test]
    fn what_cannot_be_seen_is_printed_by_its_number() {
        let strings = [
            r#""\e[31m""#,
            r#""\a\b\t\n\v\f\r\0""#,
            r#""\x7fa\u200b""#,
            r#""\0a\0""#,
            r#""\x001""#,
            r#""\u200bA\u200bz""#,
            r#""\U10ffff""#,
            r#""\U0010ffffa""#,
            r#""\u2028\u80\ue000\uad""#,
            r#""\$\"\\'é☃""#,
        ];
        let characters = [
            r"'\e'",
            r"'\a'",
            r"'\0'",
            r"'\x7f'",
            r"'\u200b'",
            r"'\U10ffff'",
            r"'\u80'",
            r"'\''",
            r"'\\'",
            "'\"'",
            "'$'",
            "'☃'",
        ];
        for text in strings.into_iter().chain(characters) {
            let shown: Vec<String> = operands(text).iter().map(Constant::to_string).collect();
            assert_eq!(shown, [text]);
        }
    }

    #[test]
    fn operators_have_symbols() {
        let names = ["&&", "||", "->", "$", "+=", ".+=", "//=", "=>", "?", "∫", "😀"];
        for name in names {
            assert_eq!(operands(&format!(":{name}, 1"))[0], Constant::Symbol(name.into()));
        }
    }
}
