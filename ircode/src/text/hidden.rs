//! Names that lowering makes up, as Julia prints them up to 1.2: `#sort#8`, which is `var"#sort#8"` since.

use super::expression::{Cursor, Read, Scope};
use crate::constant::is_identifier_part;
use crate::names::Positions;
use crate::operand::Operand;

/// The function itself, where that is a constructor, since Julia 1.13.
const CONSTRUCTOR: &str = "#ctor-self#";

impl<'a> Cursor<'a> {
    /// A made-up name that stands bare: `#sort#8`, `##3#4`.
    pub(super) fn hidden(&mut self) -> Read<&'a str> {
        let start = self.at;
        if self.eat(CONSTRUCTOR) {
            return Ok(CONSTRUCTOR);
        }
        let name = self.take_while(|c| c == '#' || is_identifier_part(c));
        if name.starts_with('#') && name.contains(is_identifier_part) {
            return Ok(name);
        }
        self.at = start;
        Err(self.expected("an operand"))
    }

    /// What stands behind a point and a colon: a symbol, or a made-up name.
    pub(super) fn symbol_or_hidden(&mut self) -> Read<String> {
        if self.starts_with("#") { Ok(self.hidden()?.to_string()) } else { self.symbol() }
    }

    /// `#self#`, the function itself; the name that lowering gave an argument or a variable, `#8`; or a type of that
    /// name with parameters, `##3#4{Int64}`.
    pub(super) fn hidden_operand(&mut self, scope: &mut Scope) -> Read<Operand<Positions>> {
        let start = self.at;
        match self.hidden()? {
            "#self#" | CONSTRUCTOR => Ok(Operand::argument(1)),
            _ if self.starts_with("{") => self.parametric(start),
            name => Ok(scope.resolve(name)),
        }
    }

    /// What is called in parentheses, from `start` to here, as it is spelled today: for `Base.Sort.:(#sort#8)` and
    /// `Base.Sort.#sort#8`, `Base.Sort.:(var"#sort#8")`.
    pub(super) fn spelled_today(&self, start: usize) -> String {
        let text = self.text(start..self.pos());
        let in_parentheses = text.strip_suffix(')').and_then(|text| text.split_once(".:(#"));
        match in_parentheses.or_else(|| text.split_once(".#")) {
            Some((module, name)) => format!("{module}.:(var\"#{name}\")"),
            None => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Function, IRCode, parse_function};

    fn read(calls: &str) -> Function<IRCode> {
        parse_function(&format!("1 ─ %1 = {calls}\n└──      return %1\n")).unwrap()
    }

    #[test]
    fn a_bare_name_is_what_it_is_in_quotes() {
        let today = read("(Base.Sort.:(var\"#sort#8\"))(1, _1)");
        assert_eq!(read("(Base.Sort.:(#sort#8))(1, #self#)"), today);
        assert_eq!(read("(Base.Sort.#sort#8)(1, #self#)"), today);
        let today = read("invoke Main.:(var\"#f#3\")(1::Int64)::Int64");
        assert_eq!(read("invoke Main.:(#f#3)(1::Int64)::Int64"), today);
        assert_eq!(read("invoke Main.#f#3(1::Int64)::Int64"), today);
    }

    #[test]
    fn a_quoted_static_parameter_is_one() {
        let today = read("Base.f($(Expr(:static_parameter, 2)))");
        assert_eq!(read("Base.f(:($(Expr(:static_parameter, 2))))"), today);
    }

    #[test]
    fn a_constructor_is_called_on_itself() {
        let of = |name: &str| {
            let table = format!("Arguments\n  {name}::Core.Const(Foo)\n  x::Int64\nBody::Foo\n");
            parse_function(&format!("{table}1 ─ %1 = %new({name}, x)::Foo\n└──      return %1\n")).unwrap()
        };
        assert_eq!(of("#ctor-self#").body, of("#self#").body);
        assert_eq!(of("#self#").body.argtypes.len(), 2);
        assert_eq!(read("%new(#ctor-self#)").body, read("%new(#self#)").body);
    }

    #[test]
    fn a_name_without_letters_is_none() {
        for text in ["(Main.:(#))(1)", "(Main.#)(1)", "%new(##3#4{Int64, 1)", "Main.: #f"] {
            assert!(parse_function(&format!("1 ─ %1 = {text}\n└──      return %1\n")).is_err(), "{text}");
        }
    }
}
