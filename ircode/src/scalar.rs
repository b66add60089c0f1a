//! Numbers, `Bool` and `Char`: the values that pure primitives compute with.

use std::fmt;
use std::hash::{Hash, Hasher};

use half::f16;

use crate::constant::write_escaped;

/// The type of a [`Scalar`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "each variant is the Julia type of that name")]
pub enum ScalarType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    Float16,
    Float32,
    Float64,
    Char,
}

impl ScalarType {
    /// All scalar types.
    pub const ALL: [ScalarType; 15] = [
        ScalarType::Bool,
        ScalarType::Int8,
        ScalarType::Int16,
        ScalarType::Int32,
        ScalarType::Int64,
        ScalarType::Int128,
        ScalarType::UInt8,
        ScalarType::UInt16,
        ScalarType::UInt32,
        ScalarType::UInt64,
        ScalarType::UInt128,
        ScalarType::Float16,
        ScalarType::Float32,
        ScalarType::Float64,
        ScalarType::Char,
    ];

    /// Julia's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "Bool",
            ScalarType::Int8 => "Int8",
            ScalarType::Int16 => "Int16",
            ScalarType::Int32 => "Int32",
            ScalarType::Int64 => "Int64",
            ScalarType::Int128 => "Int128",
            ScalarType::UInt8 => "UInt8",
            ScalarType::UInt16 => "UInt16",
            ScalarType::UInt32 => "UInt32",
            ScalarType::UInt64 => "UInt64",
            ScalarType::UInt128 => "UInt128",
            ScalarType::Float16 => "Float16",
            ScalarType::Float32 => "Float32",
            ScalarType::Float64 => "Float64",
            ScalarType::Char => "Char",
        }
    }

    /// The type of this Julia name; `Int` and `UInt` are those of a 64-bit machine.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "Int" => Some(ScalarType::Int64),
            "UInt" => Some(ScalarType::UInt64),
            _ => ScalarType::ALL.into_iter().find(|ty| ty.name() == name),
        }
    }

    /// The width in bits. `Bool` takes 8 bits of memory in Julia but computes with one, and 1 is what this returns.
    pub fn bits(self) -> u32 {
        match self {
            ScalarType::Bool => 1,
            ScalarType::Int8 | ScalarType::UInt8 => 8,
            ScalarType::Int16 | ScalarType::UInt16 | ScalarType::Float16 => 16,
            ScalarType::Int32 | ScalarType::UInt32 | ScalarType::Float32 | ScalarType::Char => 32,
            ScalarType::Int64 | ScalarType::UInt64 | ScalarType::Float64 => 64,
            ScalarType::Int128 | ScalarType::UInt128 => 128,
        }
    }

    /// The size in memory, in bytes.
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// The integer type of this width in bits.
    pub(crate) fn integer(bits: u32, signed: bool) -> Option<ScalarType> {
        let mut all = ScalarType::ALL.into_iter().filter(|ty| ty.is_integer());
        all.find(|ty| ty.bits() == bits && ty.is_signed_integer() == signed)
    }

    /// The type in which numbers of this one are added up: that of integers narrower than 64 bits, and of `Bool`, has
    /// 64 bits, as Julia's `sum`.
    ///
    /// ```
    /// use ircode::ScalarType::{Bool, Float32, Int8, Int64, UInt8, UInt64};
    ///
    /// assert_eq!([Bool, Int8, UInt8, Float32].map(|ty| ty.summed()), [Int64, Int64, UInt64, Float32]);
    /// ```
    pub fn summed(self) -> ScalarType {
        match self {
            ScalarType::Bool | ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 => ScalarType::Int64,
            ScalarType::UInt8 | ScalarType::UInt16 | ScalarType::UInt32 => ScalarType::UInt64,
            wide => wide,
        }
    }

    /// Whether this is one of the ten integer types; `Bool` and `Char` are not.
    pub fn is_integer(self) -> bool {
        self.is_signed_integer()
            || matches!(
                self,
                ScalarType::UInt8 | ScalarType::UInt16 | ScalarType::UInt32 | ScalarType::UInt64 | ScalarType::UInt128
            )
    }

    /// Whether this is one of the five signed integer types.
    pub fn is_signed_integer(self) -> bool {
        matches!(
            self,
            ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 | ScalarType::Int64 | ScalarType::Int128
        )
    }

    /// Whether this is one of the three floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::Float16 | ScalarType::Float32 | ScalarType::Float64)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number, a `Bool` or a `Char`.
///
/// Equality is Julia's `===`: same type, same bits. So `NaN` equals itself when the payloads agree, and `0.0` differs
/// from `-0.0`. 128-bit integers are boxed, so that a scalar takes 16 bytes.
#[derive(Clone)]
#[allow(missing_docs, reason = "each variant is the Julia type of that name")]
pub enum Scalar {
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Int128(Box<i128>),
    UInt8(u8),
    UInt16(u16),
    UInt32(u32),
    UInt64(u64),
    UInt128(Box<u128>),
    Float16(f16),
    Float32(f32),
    Float64(f64),
    /// Julia's own representation: the UTF-8 bytes of the character, left-aligned. `'a'` is `0x61000000`.
    Char(u32),
}

impl Scalar {
    /// The type of the scalar.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            Scalar::Bool(_) => ScalarType::Bool,
            Scalar::Int8(_) => ScalarType::Int8,
            Scalar::Int16(_) => ScalarType::Int16,
            Scalar::Int32(_) => ScalarType::Int32,
            Scalar::Int64(_) => ScalarType::Int64,
            Scalar::Int128(_) => ScalarType::Int128,
            Scalar::UInt8(_) => ScalarType::UInt8,
            Scalar::UInt16(_) => ScalarType::UInt16,
            Scalar::UInt32(_) => ScalarType::UInt32,
            Scalar::UInt64(_) => ScalarType::UInt64,
            Scalar::UInt128(_) => ScalarType::UInt128,
            Scalar::Float16(_) => ScalarType::Float16,
            Scalar::Float32(_) => ScalarType::Float32,
            Scalar::Float64(_) => ScalarType::Float64,
            Scalar::Char(_) => ScalarType::Char,
        }
    }

    /// The bits, zero-extended.
    pub fn to_bits(&self) -> u128 {
        match self {
            Scalar::Bool(v) => u128::from(*v),
            Scalar::Int8(v) => u128::from(*v as u8),
            Scalar::Int16(v) => u128::from(*v as u16),
            Scalar::Int32(v) => u128::from(*v as u32),
            Scalar::Int64(v) => u128::from(*v as u64),
            Scalar::Int128(v) => **v as u128,
            Scalar::UInt8(v) => u128::from(*v),
            Scalar::UInt16(v) => u128::from(*v),
            Scalar::UInt32(v) => u128::from(*v),
            Scalar::UInt64(v) => u128::from(*v),
            Scalar::UInt128(v) => **v,
            Scalar::Float16(v) => u128::from(v.to_bits()),
            Scalar::Float32(v) => u128::from(v.to_bits()),
            Scalar::Float64(v) => u128::from(v.to_bits()),
            Scalar::Char(v) => u128::from(*v),
        }
    }

    /// The scalar of this type with these bits; bits past the width of the type are cut off.
    pub fn from_bits(ty: ScalarType, bits: u128) -> Scalar {
        match ty {
            ScalarType::Bool => Scalar::Bool(bits & 1 == 1),
            ScalarType::Int8 => Scalar::Int8(bits as i8),
            ScalarType::Int16 => Scalar::Int16(bits as i16),
            ScalarType::Int32 => Scalar::Int32(bits as i32),
            ScalarType::Int64 => Scalar::Int64(bits as i64),
            ScalarType::Int128 => Scalar::Int128(Box::new(bits as i128)),
            ScalarType::UInt8 => Scalar::UInt8(bits as u8),
            ScalarType::UInt16 => Scalar::UInt16(bits as u16),
            ScalarType::UInt32 => Scalar::UInt32(bits as u32),
            ScalarType::UInt64 => Scalar::UInt64(bits as u64),
            ScalarType::UInt128 => Scalar::UInt128(Box::new(bits)),
            ScalarType::Float16 => Scalar::Float16(f16::from_bits(bits as u16)),
            ScalarType::Float32 => Scalar::Float32(f32::from_bits(bits as u32)),
            ScalarType::Float64 => Scalar::Float64(f64::from_bits(bits as u64)),
            ScalarType::Char => Scalar::Char(bits as u32),
        }
    }

    /// The bits as a signed number: sign-extended for the signed integer types, zero-extended for the others.
    /// A `UInt128` past `i128::MAX` wraps.
    pub fn to_i128(&self) -> i128 {
        match self {
            Scalar::Int8(v) => i128::from(*v),
            Scalar::Int16(v) => i128::from(*v),
            Scalar::Int32(v) => i128::from(*v),
            Scalar::Int64(v) => i128::from(*v),
            other => other.to_bits() as i128,
        }
    }

    /// The number, for a float of any width.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Scalar::Float16(v) => Some(v.to_f64()),
            Scalar::Float32(v) => Some(f64::from(*v)),
            Scalar::Float64(v) => Some(*v),
            _ => None,
        }
    }

    /// The float of this type nearest to `value`, for a `Float16` after rounding to a `Float32` as in Julia; `None` if
    /// `ty` is no float type.
    pub fn from_float(ty: ScalarType, value: f64) -> Option<Scalar> {
        match ty {
            ScalarType::Float16 => Some(Scalar::Float16(f16::from_f32(value as f32))),
            ScalarType::Float32 => Some(Scalar::Float32(value as f32)),
            ScalarType::Float64 => Some(Scalar::Float64(value)),
            _ => None,
        }
    }

    /// The integer of this type, if `ty` is an integer type that can hold it.
    pub fn from_i128(ty: ScalarType, value: i128) -> Option<Scalar> {
        if !ty.is_integer() {
            return None;
        }
        let scalar = Scalar::from_bits(ty, value as u128);
        let fits = scalar.to_i128() == value && (value >= 0 || ty.is_signed_integer());
        fits.then_some(scalar)
    }

    /// The integer of this type that is written in decimal digits; `None` if `ty` is no integer type, or the number is
    /// beyond it.
    ///
    /// ```
    /// use ircode::{Scalar, ScalarType};
    ///
    /// assert_eq!(Scalar::parse_integer(ScalarType::Int8, "-3"), Some(Scalar::Int8(-3)));
    /// let greatest = Scalar::UInt128(Box::new(u128::MAX));
    /// assert_eq!(Scalar::parse_integer(ScalarType::UInt128, "340282366920938463463374607431768211455"), Some(greatest));
    /// assert_eq!(Scalar::parse_integer(ScalarType::UInt8, "256"), None);
    /// ```
    pub fn parse_integer(ty: ScalarType, text: &str) -> Option<Scalar> {
        match ty {
            ScalarType::UInt128 => text.parse().ok().map(|value| Scalar::UInt128(Box::new(value))),
            _ => Scalar::from_i128(ty, text.parse().ok()?),
        }
    }

    /// The `Char` of a Unicode scalar value.
    pub fn from_char(c: char) -> Scalar {
        let mut bytes = [0; 4];
        c.encode_utf8(&mut bytes);
        Scalar::Char(u32::from_be_bytes(bytes))
    }

    /// The Unicode scalar value of a `Char`; `None` for other scalars and for Julia's malformed characters.
    pub fn as_char(&self) -> Option<char> {
        let Scalar::Char(raw) = self else { return None };
        let bytes = raw.to_be_bytes();
        let length = bytes.iter().rposition(|&b| b != 0).map_or(1, |last| last + 1);
        let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
        let mut chars = text.chars();
        let c = chars.next()?;
        chars.next().is_none().then_some(c)
    }

    /// Whether this is a NaN that Julia's printed `NaN` does not stand for, because its sign or payload differs.
    pub fn is_unusual_nan(&self) -> bool {
        match self {
            Scalar::Float16(v) => v.is_nan() && v.to_bits() != 0x7e00,
            Scalar::Float32(v) => v.is_nan() && v.to_bits() != 0x7fc0_0000,
            Scalar::Float64(v) => v.is_nan() && v.to_bits() != 0x7ff8_0000_0000_0000,
            _ => false,
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.scalar_type() == other.scalar_type() && self.to_bits() == other.to_bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scalar_type().hash(state);
        self.to_bits().hash(state);
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}::{}", self.scalar_type())
    }
}

/// Prints as Julia's `show` does: `5`, `0x05`, `1.0e-5`, `0.5f0`, `Float16(0.5)`, `'a'`. Signed integers of every width
/// print alike.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => write!(f, "{v}"),
            Scalar::Int8(v) => write!(f, "{v}"),
            Scalar::Int16(v) => write!(f, "{v}"),
            Scalar::Int32(v) => write!(f, "{v}"),
            Scalar::Int64(v) => write!(f, "{v}"),
            Scalar::Int128(v) => write!(f, "{v}"),
            Scalar::UInt8(v) => write!(f, "0x{v:02x}"),
            Scalar::UInt16(v) => write!(f, "0x{v:04x}"),
            Scalar::UInt32(v) => write!(f, "0x{v:08x}"),
            Scalar::UInt64(v) => write!(f, "0x{v:016x}"),
            Scalar::UInt128(v) => write!(f, "0x{:032x}", **v),
            Scalar::Float16(v) => write_float16(f, *v),
            Scalar::Float32(v) => write_float(f, &format!("{v:e}"), v.is_nan(), v.is_infinite(), 'f', "32"),
            Scalar::Float64(v) => write_float(f, &format!("{v:e}"), v.is_nan(), v.is_infinite(), 'e', ""),
            Scalar::Char(raw) => match self.as_char() {
                Some(c) => write_char(f, c),
                None => write!(f, "reinterpret(Char, 0x{raw:08x})"),
            },
        }
    }
}

fn write_char(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    f.write_str("'")?;
    match c {
        '\'' => f.write_str("\\'")?,
        c => write_escaped(f, c, 2)?,
    }
    f.write_str("'")
}

/// Writes a float whose shortest digits are given as `d.ddde±x`, in the layout of Julia's `Ryu.writeshortest`:
/// positional while the point lies within the first six digits or up to three zeros before them.
fn write_float(
    f: &mut fmt::Formatter<'_>,
    scientific: &str,
    nan: bool,
    infinite: bool,
    exponent_letter: char,
    suffix: &str,
) -> fmt::Result {
    if nan {
        return write!(f, "NaN{suffix}");
    }
    if infinite {
        let sign = if scientific.starts_with('-') { "-" } else { "" };
        return write!(f, "{sign}Inf{suffix}");
    }
    let single = exponent_letter == 'f';
    write_finite(f, scientific, exponent_letter, 6, if single { "f0" } else { "" })
}

fn write_float16(f: &mut fmt::Formatter<'_>, v: f16) -> fmt::Result {
    if v.is_nan() {
        return f.write_str("NaN16");
    }
    if v.is_infinite() {
        return f.write_str(if v.is_sign_negative() { "-Inf16" } else { "Inf16" });
    }
    let wide = v.to_f64();
    let shortest = (0..6)
        .map(|digits| format!("{wide:.digits$e}"))
        .find(|text| text.parse::<f64>().is_ok_and(|back| f16::from_f64(back) == v))
        .unwrap_or_else(|| format!("{wide:e}"));
    f.write_str("Float16(")?;
    write_finite(f, &shortest, 'e', 3, "")?;
    f.write_str(")")
}

fn write_finite(
    f: &mut fmt::Formatter<'_>,
    scientific: &str,
    exponent_letter: char,
    positional_digits: i32,
    positional_suffix: &str,
) -> fmt::Result {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    f.write_str(sign)?;
    let point = if digits == "0" { 1 } else { exponent + 1 };
    if -4 < point && point <= positional_digits {
        let length = digits.len() as i32;
        if point <= 0 {
            write!(f, "0.{}{digits}", "0".repeat((-point) as usize))?;
        } else if point >= length {
            write!(f, "{digits}{}.0", "0".repeat((point - length) as usize))?;
        } else {
            let (whole, fraction) = digits.split_at(point as usize);
            write!(f, "{whole}.{fraction}")?;
        }
        return f.write_str(positional_suffix);
    }
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    write!(f, "{first}.{rest}{exponent_letter}{}", point - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_julia_prints_them() {
        // Taken from a Julia 1.5 session.
        for (value, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (100000.0, "100000.0"),
            (1e6, "1.0e6"),
            (123456.7, "123456.7"),
            (1234567.0, "1.234567e6"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-5"),
            (9.223372036854776e18, "9.223372036854776e18"),
            (0.017453292519943295, "0.017453292519943295"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5.0e-324"),
            (f64::INFINITY, "Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(Scalar::Float64(value).to_string(), text);
        }
        assert_eq!(Scalar::Float32(0.5).to_string(), "0.5f0");
        assert_eq!(Scalar::Float32(1e-7).to_string(), "1.0f-7");
        assert_eq!(Scalar::Float32(f32::INFINITY).to_string(), "Inf32");
        assert_eq!(Scalar::Float16(f16::from_f32(0.1)).to_string(), "Float16(0.1)");
        assert_eq!(Scalar::Float16(f16::from_f32(2000.0)).to_string(), "Float16(2.0e3)");
    }

    #[test]
    fn equality_is_that_of_bits() {
        assert_eq!(Scalar::Float64(f64::NAN), Scalar::Float64(f64::NAN));
        assert_ne!(Scalar::Float64(0.0), Scalar::Float64(-0.0));
        assert_ne!(Scalar::Int64(1), Scalar::Int32(1));
    }

    #[test]
    fn characters_are_left_aligned_utf8() {
        assert_eq!(Scalar::from_char('a'), Scalar::Char(0x6100_0000));
        for c in ['a', 'φ', '€', '😀', '\0'] {
            assert_eq!(Scalar::from_char(c).as_char(), Some(c));
        }
        assert_eq!(Scalar::Char(0xff00_0000).as_char(), None);
    }

    #[test]
    fn integers_are_kept_in_range() {
        assert_eq!(Scalar::from_i128(ScalarType::Int8, 127), Some(Scalar::Int8(127)));
        assert_eq!(Scalar::from_i128(ScalarType::Int8, 128), None);
        assert_eq!(Scalar::from_i128(ScalarType::UInt8, -1), None);
        assert_eq!(Scalar::from_i128(ScalarType::Float64, 1), None);
        assert_eq!(size_of::<Scalar>(), 16);
    }
}
