//! Values in JSON: how arguments are given on the command line, and how results are printed for machines.

use ircode::{IRCode, Module, Scalar, ScalarType, Type, TypeKind};
use serde_json::{Map, Number, Value as Json};

use crate::error::RunErrorKind;
use crate::machine::Machine;
use crate::value::Value;

/// Values nested deeper than this are not written.
const MAX_DEPTH: usize = 100;

impl Machine<'_> {
    /// The value of this type that JSON gives.
    ///
    /// A number takes the type, which may be unknown: then it is a `Float64` if it is written with a point or an exponent,
    /// else an `Int64`. `"NaN"`, `"Infinity"` and `"-Infinity"` are floats; large integers may be strings. An array is an
    /// array, of rank two or more if the type says so: then its elements are the slices along the last dimension, so a
    /// matrix is a list of its columns. It is a tuple if the type says that. A struct is an object.
    ///
    /// # Errors
    ///
    /// What the JSON is, and what was expected.
    pub fn value_from_json(&self, module: &Module<IRCode>, json: &Json, ty: &Type) -> Result<Value, String> {
        match (json, ty) {
            (_, Type::Union(members)) => {
                // Of several number types, the one that the number has by itself.
                if let (Json::Number(_), Ok(value)) = (json, self.value_from_json(module, json, &Type::Untyped))
                    && members.contains(&value.type_of())
                {
                    return Ok(value);
                }
                let mut errors = Vec::new();
                for member in members.iter() {
                    match self.value_from_json(module, json, member) {
                        Ok(value) => return Ok(value),
                        Err(error) => errors.push(error),
                    }
                }
                Err(errors.join("; "))
            }
            (Json::Null, Type::Nothing) => Ok(Value::Nothing),
            (Json::Null, ty) if ty.is_unknown() => Ok(Value::Nothing),
            (Json::Bool(value), Type::Scalar(ScalarType::Bool)) => Ok(Value::from(*value)),
            (Json::Bool(value), ty) if ty.is_unknown() => Ok(Value::from(*value)),
            (Json::Number(number), Type::Scalar(scalar)) => number_as(number, *scalar),
            (Json::Number(number), ty) if ty.is_unknown() => {
                let written_as_float = number.to_string().contains(['.', 'e', 'E']);
                number_as(number, if written_as_float { ScalarType::Float64 } else { ScalarType::Int64 })
            }
            (Json::String(text), Type::Scalar(scalar)) => {
                text_as(text, *scalar).ok_or_else(|| format!("{text:?} is no {scalar}"))
            }
            (Json::String(text), Type::String) => Ok(Value::String(text.as_str().into())),
            (Json::String(text), Type::Symbol) => Ok(Value::Symbol(text.as_str().into())),
            (Json::String(text), ty) if ty.is_unknown() => Ok(match text_as(text, ScalarType::Float64) {
                Some(value) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => value,
                _ => Value::String(text.as_str().into()),
            }),
            (Json::Array(elements), Type::Tuple(types)) => {
                if elements.len() != types.len() {
                    return Err(format!("{} elements, expected {} for a {ty}", elements.len(), types.len()));
                }
                let values = elements.iter().zip(types.iter());
                let values =
                    values.map(|(json, ty)| self.value_from_json(module, json, ty)).collect::<Result<_, _>>()?;
                self.tuple(values).map_err(|kind| kind.to_string())
            }
            (Json::Array(_), Type::Array(array)) => self.array_from_json(module, json, &array.element, array.rank),
            (Json::Array(elements), ty) if ty.is_unknown() => self.untyped_array(module, elements),
            (Json::Object(members), Type::Named(name)) => match module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { fields, .. }) => {
                    let mut values = Vec::with_capacity(fields.len());
                    for (name, ty) in fields {
                        let member =
                            members.get(name.as_str()).ok_or_else(|| format!("the field {name} is missing"))?;
                        values.push(self.value_from_json(module, member, ty)?);
                    }
                    if let Some(other) = members.keys().find(|key| fields.iter().all(|(name, _)| name != key.as_str()))
                    {
                        return Err(format!("{ty} has no field {other}"));
                    }
                    self.structure(ty, values).map_err(|kind| kind.to_string())
                }
                _ => Err(format!("an object cannot be a {ty}: the module declares no struct of that name")),
            },
            (json, ty) => Err(format!("{} cannot be a {ty:?}", kind_of(json))),
        }
    }

    fn array_from_json(
        &self,
        module: &Module<IRCode>,
        json: &Json,
        element: &Type,
        rank: u32,
    ) -> Result<Value, String> {
        let mut dims: Vec<Option<usize>> = vec![None; rank as usize];
        let mut values = Vec::new();
        self.collect(module, json, element, &mut dims, &mut values)?;
        let dims = dims.into_iter().map(|dim| dim.unwrap_or(0)).collect();
        self.array(element.clone(), dims, values).map_err(|kind| kind.to_string())
    }

    /// Collects the elements of nested lists in memory order: the outermost list runs along the last dimension.
    fn collect(
        &self,
        module: &Module<IRCode>,
        json: &Json,
        element: &Type,
        dims: &mut [Option<usize>],
        values: &mut Vec<Value>,
    ) -> Result<(), String> {
        let Some((last, inner)) = dims.split_last_mut() else {
            values.push(self.value_from_json(module, json, element)?);
            return Ok(());
        };
        let Json::Array(elements) = json else {
            return Err(format!("{} cannot be a list of an array's elements", kind_of(json)));
        };
        if last.replace(elements.len()).is_some_and(|known| known != elements.len()) {
            return Err("the lists of an array's elements differ in length".into());
        }
        elements.iter().try_for_each(|json| self.collect(module, json, element, inner, values))
    }

    /// A vector whose element type is that of its elements: floats if one of them is.
    fn untyped_array(&self, module: &Module<IRCode>, elements: &[Json]) -> Result<Value, String> {
        let float = elements.iter().any(|json| match json {
            Json::Number(number) => number.to_string().contains(['.', 'e', 'E']),
            Json::String(text) => matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity"),
            _ => false,
        });
        let all_numbers = elements.iter().all(|json| matches!(json, Json::Number(_) | Json::String(_)));
        let element = match (float || elements.is_empty(), all_numbers) {
            (true, true) => Type::FLOAT64,
            (false, true) => Type::INT64,
            _ => Type::Any,
        };
        let values =
            elements.iter().map(|json| self.value_from_json(module, json, &element)).collect::<Result<_, _>>()?;
        self.array(element, vec![elements.len()], values).map_err(|kind| kind.to_string())
    }
}

fn kind_of(json: &Json) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => format!("the string {text:?}"),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "an object".into(),
    }
}

fn number_as(number: &Number, ty: ScalarType) -> Result<Value, String> {
    let fail = || format!("{number} is no {ty}");
    let scalar = if ty.is_float() {
        Scalar::from_float(ty, number.as_f64().ok_or_else(fail)?)
    } else {
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        // `3.0` is the integer 3.
        let whole = number.as_f64().filter(|float| float.trunc() == *float && float.abs() < 2f64.powi(53));
        let integer = integer.or(whole.map(|float| float as i128));
        integer.and_then(|integer| Scalar::from_i128(ty, integer))
    };
    scalar.map(Value::Scalar).ok_or_else(fail)
}

fn text_as(text: &str, ty: ScalarType) -> Option<Value> {
    let scalar = match text {
        "NaN" => Scalar::from_float(ty, f64::NAN),
        "Infinity" => Scalar::from_float(ty, f64::INFINITY),
        "-Infinity" => Scalar::from_float(ty, f64::NEG_INFINITY),
        _ if ty == ScalarType::Char => {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none()).map(Scalar::from_char)
        }
        _ if ty.is_integer() => text.parse().ok().and_then(|value| Scalar::from_i128(ty, value)),
        _ => None,
    };
    scalar.map(Value::Scalar)
}

/// A value as JSON: numbers as numbers, or as strings where JSON has none; tuples and vectors as lists, arrays of higher
/// rank as lists of the slices along their last dimension; structs as objects; `nothing` as `null`.
///
/// # Errors
///
/// [`RunErrorKind::Unsupported`] for values that have no JSON, and for those that nest too deep.
pub fn value_to_json(value: &Value) -> Result<Json, RunErrorKind> {
    to_json(value, 0)
}

fn to_json(value: &Value, depth: usize) -> Result<Json, RunErrorKind> {
    if depth > MAX_DEPTH {
        return Err(RunErrorKind::Unsupported(format!("writing a value nested deeper than {MAX_DEPTH}")));
    }
    let list = |values: &[Value]| -> Result<Json, RunErrorKind> {
        Ok(Json::Array(values.iter().map(|value| to_json(value, depth + 1)).collect::<Result<_, _>>()?))
    };
    Ok(match value {
        Value::Nothing => Json::Null,
        Value::Scalar(scalar) => scalar_to_json(scalar),
        Value::String(text) | Value::Symbol(text) | Value::Function(text) => Json::String(text.to_string()),
        Value::Type(ty) => Json::String(ty.to_string()),
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => list(tuple.0.fields.values())?,
        Value::NamedTuple(tuple) => {
            let mut members = Map::new();
            for (name, value) in tuple.0.names.iter().zip(tuple.0.fields.values()) {
                members.insert(name.to_string(), to_json(value, depth + 1)?);
            }
            Json::Object(members)
        }
        Value::Struct(object) => {
            let fields = object.0.fields.borrow();
            if object.0.ty.names.len() < fields.values().len() {
                return list(fields.values());
            }
            let mut members = Map::new();
            for (name, value) in object.0.ty.names.iter().zip(fields.values()) {
                members.insert(name.to_string(), to_json(value, depth + 1)?);
            }
            Json::Object(members)
        }
        Value::Enum(object) => {
            let mut members = Map::new();
            members.insert(object.0.case.to_string(), list(object.0.fields.values())?);
            Json::Object(members)
        }
        Value::Array(_) => {
            let elements = value.array_elements().unwrap_or_default();
            slices(&elements, &value.array_dims().unwrap_or_default(), depth)?
        }
        Value::Stack(stack) => list(stack.0.fields.borrow().values())?,
        Value::Memory(memory) => list(memory.0.fields.borrow().values())?,
        other => return Err(RunErrorKind::Unsupported(format!("writing {other} as JSON"))),
    })
}

fn slices(elements: &[Value], dims: &[usize], depth: usize) -> Result<Json, RunErrorKind> {
    let Some((last, inner)) = dims.split_last() else {
        return to_json(elements.first().unwrap_or(&Value::Nothing), depth + 1);
    };
    let size: usize = inner.iter().product();
    let mut list = Vec::with_capacity(*last);
    for slice in 0..*last {
        let elements = elements.get(slice * size..(slice + 1) * size).unwrap_or_default();
        list.push(slices(elements, inner, depth + 1)?);
    }
    Ok(Json::Array(list))
}

fn scalar_to_json(scalar: &Scalar) -> Json {
    if let Scalar::Bool(value) = scalar {
        return Json::Bool(*value);
    }
    if let Some(c) = scalar.as_char() {
        return Json::String(c.to_string());
    }
    if let Scalar::Float32(value) = scalar
        && let Some(number) = serde_json::from_str::<Number>(&format!("{value:?}")).ok().filter(|_| value.is_finite())
    {
        return Json::Number(number);
    }
    match scalar.as_float() {
        Some(float) if float.is_nan() => Json::String("NaN".into()),
        Some(f64::INFINITY) => Json::String("Infinity".into()),
        Some(f64::NEG_INFINITY) => Json::String("-Infinity".into()),
        Some(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
        None => match (i64::try_from(scalar.to_i128()), u64::try_from(scalar.to_bits())) {
            (Ok(integer), _) if scalar.scalar_type() != ScalarType::UInt64 => Json::Number(integer.into()),
            (_, Ok(integer)) if !scalar.scalar_type().is_signed_integer() => Json::Number(integer.into()),
            _ => match scalar {
                Scalar::UInt128(value) => Json::String(value.to_string()),
                other => Json::String(other.to_i128().to_string()),
            },
        },
    }
}
