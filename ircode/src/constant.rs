//! Values that stand in the program itself.

use std::fmt;
use std::sync::Arc;

use crate::name::Name;
use crate::scalar::{Scalar, ScalarType};
use crate::text::balanced::{find_depth_0, is_balanced, split_depth_0};
use crate::text::read_constant;
use crate::types::Type;

/// A literal, or an object that the compiler embedded in the code.
///
/// Equality is that of Julia's `===` on the printed value: floats compare by their bits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Constant {
    /// `nothing`.
    Nothing,
    /// A number, `Bool` or `Char`.
    Scalar(Scalar),
    /// A string.
    String(Name),
    /// A symbol that is data of an expression, such as the name in `$(Expr(:throw_undef_if_not, :x, false))`. As an
    /// operand of a call it must be quoted, see [`Operand::Quote`](crate::Operand::Quote).
    Symbol(Name),
    /// A type as a value.
    Type(Arc<Type>),
    /// A function object, by its printed name: `println`, `Core.Intrinsics.mul_int`.
    Function(Name),
    /// A tuple.
    Tuple(Arc<Vec<Constant>>),
    /// A named tuple.
    NamedTuple(Arc<Vec<(Name, Constant)>>),
    /// A simple vector, `svec(…)`: the argument types of a foreigncall.
    SimpleVector(Arc<Vec<Constant>>),
    /// `%n` in an expression whose operands are no uses (`$(Expr(:meta, %3))`): Julia's passes never rename it, so it
    /// is a plain number here.
    SSAValue(u32),
    /// Any other object, as its text.
    Text(Name),
}

impl Constant {
    /// The constant `true` or `false`.
    pub fn bool(value: bool) -> Constant {
        Constant::Scalar(Scalar::Bool(value))
    }

    /// An `Int64`.
    pub fn int64(value: i64) -> Constant {
        Constant::Scalar(Scalar::Int64(value))
    }

    /// A `Float64`.
    pub fn float64(value: f64) -> Constant {
        Constant::Scalar(Scalar::Float64(value))
    }

    /// A type as a value.
    pub fn of_type(ty: Type) -> Constant {
        Constant::Type(Arc::new(ty))
    }

    /// The type of the constant; [`Type::Untyped`] where it is not known.
    pub fn ty(&self) -> Type {
        match self {
            Constant::Nothing => Type::Nothing,
            Constant::Scalar(scalar) => Type::Scalar(scalar.scalar_type()),
            Constant::String(_) => Type::String,
            Constant::Symbol(_) => Type::Symbol,
            Constant::Type(ty) => Type::TypeOf(ty.clone()),
            Constant::Function(name) => Type::Function(name.clone()),
            Constant::Tuple(elements) => Type::tuple(elements.iter().map(Constant::ty)),
            Constant::NamedTuple(fields) => {
                Type::NamedTuple(Arc::new(fields.iter().map(|(name, value)| (name.clone(), value.ty())).collect()))
            }
            Constant::SimpleVector(_) => Type::named("Core.SimpleVector"),
            Constant::SSAValue(_) | Constant::Text(_) => Type::Untyped,
        }
    }

    /// The type and the fields of an object of which only the text is known, where Julia shows it as a call of its
    /// type, or as a range of integers. Whether the type has such fields, the text does not say.
    ///
    /// ```
    /// use ircode::{Constant, Type};
    ///
    /// let (ty, fields) = Constant::Text("Base.Fix2{typeof(>), Float64}(>, 0.5)".into()).shown_object().unwrap();
    /// assert_eq!(ty, Type::parse("Base.Fix2{typeof(>), Float64}"));
    /// assert_eq!(fields, [Constant::Function(">".into()), Constant::float64(0.5)]);
    /// let (ty, fields) = Constant::Text("2:4".into()).shown_object().unwrap();
    /// assert_eq!((ty.to_string().as_str(), fields.len()), ("UnitRange{Int64}", 2));
    /// assert_eq!(Constant::Text("1.0 + 2.0im".into()).shown_object(), None);
    /// ```
    pub fn shown_object(&self) -> Option<(Type, Vec<Constant>)> {
        let Constant::Text(text) = self else { return None };
        let Some(inside) = text.strip_suffix(')') else { return range(text) };
        let open = find_depth_0(text, "(")?;
        let (name, arguments) = (text.get(..open)?, inside.get(open + 1..)?);
        if !name.starts_with(is_identifier_start) || !is_balanced(arguments) {
            return None;
        }
        Some((Type::parse(name), shown_list(arguments, 0)?))
    }

    /// The scalar, if the constant is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Constant::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

impl From<Scalar> for Constant {
    fn from(scalar: Scalar) -> Self {
        Constant::Scalar(scalar)
    }
}

impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Scalar(scalar) => fmt::Debug::fmt(scalar, f),
            other => fmt::Display::fmt(other, f),
        }
    }
}

/// Prints as Julia's `show` does.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Nothing => f.write_str("nothing"),
            Constant::Scalar(scalar) => write!(f, "{scalar}"),
            Constant::String(text) => write_string(f, text),
            Constant::Symbol(name) => write_symbol(f, name),
            Constant::Type(ty) => write!(f, "{ty}"),
            // Of what Julia has named itself.
            Constant::Function(name) if name.starts_with('#') => write!(f, "{}", spelled(name)),
            Constant::Function(name) => write!(f, "{name}"),
            Constant::Tuple(elements) => {
                let comma = if elements.len() == 1 { "," } else { "" };
                f.write_str("(")?;
                write_list(f, elements)?;
                write!(f, "{comma})")
            }
            Constant::NamedTuple(fields) if fields.is_empty() => f.write_str("NamedTuple()"),
            Constant::NamedTuple(fields) => {
                f.write_str("(")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{} = {value}", if i > 0 { ", " } else { "" }, spelled(name))?;
                }
                f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
            Constant::SimpleVector(elements) => {
                f.write_str("svec(")?;
                write_list(f, elements)?;
                f.write_str(")")
            }
            Constant::SSAValue(number) => write!(f, "%{number}"),
            Constant::Text(text) => f.write_str(text),
        }
    }
}

/// Tuples of objects that are nested deeper are texts.
const DEEPEST: usize = 32;

/// The constants of a list. Objects in tuples are known by their texts, too.
fn shown_list(text: &str, depth: usize) -> Option<Vec<Constant>> {
    let element = |text: &str| {
        let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).filter(|text| is_balanced(text));
        let inside = inside.filter(|_| depth < DEEPEST).and_then(|inside| shown_list(inside, depth + 1));
        match (read_constant(text), inside) {
            (Some(Constant::Text(_)) | None, Some(elements)) if elements.len() > 1 => Constant::Tuple(elements.into()),
            (known, _) => known.unwrap_or_else(|| Constant::Text(text.into())),
        }
    };
    Some(split_depth_0(text, ',')?.into_iter().map(|text| element(text.trim())).collect())
}

/// The range that is shown as `2:4` or `1:2:9`.
fn range(text: &str) -> Option<(Type, Vec<Constant>)> {
    let ends = split_depth_0(text, ':')?.into_iter().map(read_constant).collect::<Option<Vec<Constant>>>()?;
    let types = ends.iter().map(|end| end.as_scalar().map(Scalar::scalar_type));
    let types = types.collect::<Option<Vec<ScalarType>>>()?;
    let &[ty, ref others @ ..] = types.as_slice() else { return None };
    if !ty.is_integer() || others.iter().any(|other| *other != ty) {
        return None;
    }
    match others.len() {
        1 => Some((Type::parse(&format!("UnitRange{{{ty}}}")), ends)),
        2 => Some((Type::parse(&format!("StepRange{{{ty}, {ty}}}")), ends)),
        _ => None,
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, elements: &[Constant]) -> fmt::Result {
    for (i, element) in elements.iter().enumerate() {
        write!(f, "{}{element}", if i > 0 { ", " } else { "" })?;
    }
    Ok(())
}

/// Writes a string literal with Julia's escapes.
pub(crate) fn write_string(f: &mut dyn fmt::Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '"' => f.write_str("\\\"")?,
            '$' => f.write_str("\\$")?,
            // Digits that follow would be part of it.
            '\0' if next.is_some_and(|next| next.is_digit(8)) => f.write_str("\\x00")?,
            c => {
                let goes_on = next.is_some_and(|next| next.is_ascii_hexdigit());
                write_escaped(f, c, if goes_on { 4 } else { 2 })?;
            }
        }
    }
    f.write_char('"')
}

/// Writes a character as Julia does in literals, by its number in hexadecimal digits if it cannot be seen: so many at
/// least, or twice as many where four are not enough.
pub(crate) fn write_escaped(f: &mut dyn fmt::Write, c: char, digits: usize) -> fmt::Result {
    let number = u32::from(c);
    match c {
        '\\' => f.write_str("\\\\"),
        '\0' => f.write_str("\\0"),
        '\u{7}' => f.write_str("\\a"),
        '\u{8}' => f.write_str("\\b"),
        '\t' => f.write_str("\\t"),
        '\n' => f.write_str("\\n"),
        '\u{b}' => f.write_str("\\v"),
        '\u{c}' => f.write_str("\\f"),
        '\r' => f.write_str("\\r"),
        '\u{1b}' => f.write_str("\\e"),
        c if !is_unseen(c) => f.write_char(c),
        '\0'..='\u{7f}' => write!(f, "\\x{number:02x}"),
        '\u{80}'..='\u{ffff}' => write!(f, "\\u{number:0digits$x}"),
        _ => write!(f, "\\U{number:0width$x}", width = 2 * digits),
    }
}

/// Whether a character is a control, a mark of format, the end of a line, or of private use: Julia prints its number.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{600}'..='\u{605}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..='\u{10ffff}')
}

/// Writes `:name`, or `Symbol("odd name")`.
pub(crate) fn write_symbol(f: &mut dyn fmt::Write, name: &str) -> fmt::Result {
    if crate::text::operators::is_quoted_in_parentheses(name) {
        write!(f, ":({name})")
    } else if is_identifier(name) || crate::text::operators::is_symbol_of_syntax(name) {
        write!(f, ":{name}")
    } else {
        f.write_str("Symbol(")?;
        write_string(f, name)?;
        f.write_str(")")
    }
}

/// Whether Julia prints this name as it is, without `var"…"` around it.
pub fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(is_identifier_start) && chars.all(is_identifier_part)
}

/// A name as it stands in types, paths and named tuples: `var"…"` around what is no identifier.
pub(crate) fn spelled(name: &str) -> Name {
    if is_identifier(name) {
        return name.into();
    }
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
    format!("var\"{escaped}\"").into()
}

pub(crate) fn is_identifier_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || (c as u32 > 0xa0 && !c.is_numeric() && is_symbol_letter(c))
}

pub(crate) fn is_identifier_part(c: char) -> bool {
    is_identifier_start(c) || c.is_numeric() || c == '!' || is_mark(c)
}

/// Marks and primes that go on a name in Julia: accents, also alone, and what is written above or below.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20f0}')
        || matches!(c, '¨' | '¯' | '´' | '¸' | '˂'..='˅' | '˒'..='˟' | '˥'..='˫' | '˭' | '˯'..='˿')
        || matches!(c, '′'..='‷' | '⁗' | '⁺'..='⁾' | '₊'..='₎')
}

/// Symbols that Julia takes as letters: ∂, ∇, ∞, signs of currencies, pictures and others, of Unicode's categories Sc
/// and So for the most part.
fn is_symbol_letter(c: char) -> bool {
    matches!(c, '∂' | '∇' | '∞' | '∅' | '∆' | '∎'..='∑' | '∟'..='∢' | '∫'..='∳' | '⊤' | '⊥' | '⊾' | '⊿' | '⋀'..='⋃')
        || matches!(c, '°' | '′' | '″' | '¢'..='¥' | '¦' | '©' | '®' | '₠'..='₿' | '⅀'..='⅄' | '■'..='▶' | '▸'..='❧')
        || matches!(c, '♯' | '➔'..='➿' | '⦛'..='⦴' | '⨀'..='⨆' | '⨉'..='⨖' | '⨛' | '⨜' | '\u{1f000}'..='\u{1faff}')
}
