//! Constants in JSON.
//!
//! `nothing` and `Bool` are JSON's `null`, `true` and `false`; everything else is an object with one member that names
//! the type: `{"Int64": 5}`, `{"Float64": 0.1}`, `{"Symbol": "x"}`, `{"Tuple": [{"Int64": 1}]}`. Integers that do not
//! fit in 53 bits, and floats that JSON has no number for, are strings: `{"Int64": "9223372036854775807"}`,
//! `{"Float64": "NaN"}`, `"Infinity"`, `"-Infinity"`, `"-0.0"`. NaNs of another payload are their bits:
//! `{"Float64": "0x7ff8000000000001"}`.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::constant::Constant;
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;

/// The largest integer up to which every integer is a JavaScript number.
const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

impl Serialize for Constant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Constant::Nothing => serializer.serialize_unit(),
            Constant::Scalar(scalar) => scalar.serialize(serializer),
            Constant::String(text) => member(serializer, "String", text),
            Constant::Symbol(name) => member(serializer, "Symbol", name),
            Constant::Type(ty) => member(serializer, "Type", &**ty),
            Constant::Function(name) => member(serializer, "Function", name),
            Constant::Tuple(elements) => member(serializer, "Tuple", &**elements),
            Constant::NamedTuple(fields) => member(serializer, "NamedTuple", &**fields),
            Constant::SimpleVector(elements) => member(serializer, "SimpleVector", &**elements),
            Constant::SSAValue(number) => member(serializer, "SSAValue", number),
            Constant::Text(text) => member(serializer, "Text", text),
        }
    }
}

/// An object with one member.
fn member<S: Serializer, T: Serialize + ?Sized>(serializer: S, key: &str, value: &T) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Scalar::Bool(value) = self {
            return serializer.serialize_bool(*value);
        }
        let name = self.scalar_type().name();
        match (number_text(self), self) {
            (Some(text), _) => member(serializer, name, &text),
            (None, Scalar::Float64(value)) => member(serializer, name, value),
            (None, Scalar::Float32(value)) => member(serializer, name, value),
            (None, Scalar::Float16(value)) => member(serializer, name, &value.to_f32()),
            // Everything else that is no text fits in 53 bits.
            (None, other) => member(serializer, name, &(other.to_i128() as i64)),
        }
    }
}

/// The text of a number that JSON has no exact number for.
fn number_text(scalar: &Scalar) -> Option<String> {
    if let Some(float) = scalar.as_float() {
        return match float {
            _ if scalar.is_unusual_nan() => {
                Some(format!("0x{:0width$x}", scalar.to_bits(), width = scalar.scalar_type().bytes() * 2))
            }
            v if v.is_nan() => Some("NaN".into()),
            f64::INFINITY => Some("Infinity".into()),
            f64::NEG_INFINITY => Some("-Infinity".into()),
            v if v == 0.0 && v.is_sign_negative() => Some("-0.0".into()),
            _ => None,
        };
    }
    match scalar {
        Scalar::UInt128(value) => (**value > MAX_SAFE_INTEGER as u128).then(|| value.to_string()),
        other => {
            let value = other.to_i128();
            (value.unsigned_abs() > MAX_SAFE_INTEGER as u128).then(|| value.to_string())
        }
    }
}

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConstantVisitor)
    }
}

struct ConstantVisitor;

impl<'de> Visitor<'de> for ConstantVisitor {
    type Value = Constant;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a constant: null, true, false, or an object like {\"Int64\": 5}")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Constant, E> {
        Ok(Constant::Nothing)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Constant, E> {
        Ok(Constant::bool(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Constant, A::Error> {
        let Some(key) = map.next_key::<String>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let constant = match key.as_str() {
            "String" => Constant::String(map.next_value()?),
            "Symbol" => Constant::Symbol(map.next_value()?),
            "Type" => Constant::of_type(map.next_value::<Type>()?),
            "Function" => Constant::Function(map.next_value()?),
            "Tuple" => Constant::Tuple(Arc::new(map.next_value()?)),
            "NamedTuple" => Constant::NamedTuple(Arc::new(map.next_value()?)),
            "SimpleVector" => Constant::SimpleVector(Arc::new(map.next_value()?)),
            "SSAValue" => Constant::SSAValue(map.next_value()?),
            "Text" => Constant::Text(map.next_value()?),
            name => match ScalarType::ALL.into_iter().find(|ty| ty.name() == name) {
                Some(ty) => {
                    let number: Number = map.next_value()?;
                    let scalar =
                        number.scalar(ty).ok_or_else(|| de::Error::custom(format_args!("{number} is no {ty}")))?;
                    Constant::Scalar(scalar)
                }
                None => return Err(de::Error::unknown_variant(name, KINDS)),
            },
        };
        if map.next_key::<String>()?.is_some() {
            return Err(de::Error::custom("a constant has one member only"));
        }
        Ok(constant)
    }
}

const KINDS: &[&str] = &[
    "Int64",
    "Float64",
    "String",
    "Symbol",
    "Type",
    "Function",
    "Tuple",
    "NamedTuple",
    "SimpleVector",
    "SSAValue",
    "Text",
];

/// A number as JSON has it, or a string in place of one.
#[derive(Debug)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
    Text(String),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => write!(f, "{value}"),
            Number::Float(value) => write!(f, "{value}"),
            Number::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl From<&Scalar> for Number {
    fn from(scalar: &Scalar) -> Number {
        match (number_text(scalar), scalar.as_float()) {
            (Some(text), _) => Number::Text(text),
            (None, Some(value)) => Number::Float(value),
            (None, None) => Number::Integer(scalar.to_i128()),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // What does not fit is text.
            Number::Integer(value) => serializer.serialize_i64(*value as i64),
            Number::Float(value) => serializer.serialize_f64(*value),
            Number::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Number {
    /// The number as one of this type, if it is one.
    pub(super) fn scalar(&self, ty: ScalarType) -> Option<Scalar> {
        if ty.is_float() {
            return match self {
                // What the type does not have would become another number.
                Number::Integer(value) => {
                    let float = Scalar::from_float(ty, *value as f64)?;
                    (float.as_float()? as i128 == *value).then_some(float)
                }
                Number::Float(value) => Scalar::from_float(ty, *value)
                    .filter(|float| float.as_float().is_some_and(|float| float.is_finite() || !value.is_finite())),
                Number::Text(text) => match text.as_str() {
                    "NaN" => Scalar::from_float(ty, f64::NAN),
                    "Infinity" => Scalar::from_float(ty, f64::INFINITY),
                    "-Infinity" => Scalar::from_float(ty, f64::NEG_INFINITY),
                    "-0.0" => Scalar::from_float(ty, -0.0),
                    bits => {
                        let digits = bits.strip_prefix("0x")?;
                        let bits = u128::from_str_radix(digits, 16).ok()?;
                        (bits >> ty.bits() == 0).then(|| Scalar::from_bits(ty, bits))
                    }
                },
            };
        }
        match (ty, self) {
            (ScalarType::Char, Number::Integer(value)) => u32::try_from(*value).ok().map(Scalar::Char),
            (_, Number::Integer(value)) => Scalar::from_i128(ty, *value),
            (_, Number::Text(text)) => Scalar::parse_integer(ty, text),
            (_, Number::Float(_)) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a string in place of one")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                Ok(Number::Text(text.into()))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}
