//! Values from JSON, by their type.

use ircode::wording::{counted, with_article};
use ircode::{IRCode, Module, Name, Scalar, ScalarType, Type, TypeKind};
use serde_json::{Map, Number, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::write::{CAPTURED, FUNCTION};
use crate::error::RunErrorKind;
use crate::machine::Machine;
use crate::value::{Value, isa};

/// Why JSON is no value of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    /// Where in the value: `.weights[1,2]`; empty for the value as a whole.
    pub place: String,
    /// What the JSON is there, and what was expected.
    pub message: String,
}

impl std::fmt::Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let separator = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.place, self.message)
    }
}

impl std::error::Error for ValueError {}

impl From<String> for ValueError {
    fn from(message: String) -> Self {
        ValueError { place: String::new(), message }
    }
}

impl From<RunErrorKind> for ValueError {
    fn from(kind: RunErrorKind) -> Self {
        kind.to_string().into()
    }
}

impl ValueError {
    /// The same of a part of a larger value.
    pub(super) fn inside(self, part: impl std::fmt::Display) -> Self {
        ValueError { place: format!("{part}{}", self.place), message: self.message }
    }

    /// In how many parts within each other it is.
    fn depth(&self) -> usize {
        self.place.matches(['.', '[']).count()
    }
}

type Result<T> = std::result::Result<T, ValueError>;

impl Machine<'_> {
    /// The value of this type that JSON gives.
    ///
    /// A number takes the type, which may be unknown: then it is a `Float64` if it is written with a point or an
    /// exponent, else an `Int64`. `"NaN"`, `"Infinity"` and `"-Infinity"` are floats; large integers may be strings. An
    /// array is a list, of rank two or more if the type says so: then its elements are the slices along the last
    /// dimension, so a matrix is a list of its columns.
    ///
    /// A tuple is a list. A struct or a named tuple is a list of its fields or an object with a member a field, and so
    /// is a `Ref`, whose field is called `x`. A case of an enum is an object of one member, the list of its payload
    /// (`{"circle": [1.5]}`), or a string where there is none. A closure is an object of a function and the list of
    /// what it captures, which may be left out where that is nothing (`{"function": "scaled", "captured": [1.5]}`).
    /// Where nothing is known of the type, any other object is a named tuple, whose fields are in the order of their
    /// names. Of a union the first member counts that fits; a number goes to the one that it is by itself, if that is
    /// among them.
    ///
    /// ```
    /// use exec::Machine;
    /// use ircode::{Type, parse_module};
    ///
    /// let text = "struct Point\n    x::Float64\n    n::Int64\nend\n";
    /// let module = parse_module(text)?.module;
    /// let machine = Machine::new(&module);
    /// let of_type = Type::parse("Vector{Point}");
    /// let value = machine.value_from_json(&serde_json::from_str(r#"[[1, 2], {"n": 4, "x": 3}]"#)?, &of_type)?;
    /// assert_eq!(value.to_string(), "[Point(1.0, 2), Point(3.0, 4)]");
    /// let error = machine.value_from_json(&serde_json::from_str("[[1, 2.5]]")?, &of_type).unwrap_err();
    /// assert_eq!(error.to_string(), "[1].n: 2.5 is no Int64");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ValueError`]: where in the value, what the JSON is there, and what was expected.
    pub fn value_from_json(&self, json: &Json, ty: &Type) -> Result<Value> {
        Reader { machine: self, of_unions: RefCell::default() }.value(json, ty)
    }
}

/// A union, and what came of reading some JSON as a value of it.
type OfUnion = (Type, Result<Value>);

/// One reading of a value, as far as it has come.
struct Reader<'r, 'm> {
    machine: &'r Machine<'m>,
    /// By the address of a list or an object of the JSON, the unions that it was read as, with what came of it. A
    /// member that does not fit after all has read what the next one reads again: with unions within unions that would
    /// be twice the work for each level.
    of_unions: RefCell<BTreeMap<*const Json, Vec<OfUnion>>>,
}

impl Reader<'_, '_> {
    fn value(&self, json: &Json, ty: &Type) -> Result<Value> {
        match (json, ty) {
            (_, Type::Union(members)) => self.member(json, ty, members),
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
                text_as(text, *scalar).ok_or_else(|| format!("{text:?} is no {scalar}").into())
            }
            (Json::String(text), Type::String) => Ok(Value::String(text.as_str().into())),
            (Json::String(text), Type::Symbol) => Ok(Value::Symbol(text.as_str().into())),
            (Json::String(text), Type::Function(name)) if text == name.as_str() => Ok(Value::Function(name.clone())),
            // An argument of which inference knows which function it is.
            (Json::String(text), ty) if ty.known_function() == Some(text) => Ok(Value::Function(text.as_str().into())),
            (Json::String(text), ty) if ty.is_unknown() => Ok(match text_as(text, ScalarType::Float64) {
                Some(value) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => value,
                _ => Value::String(text.as_str().into()),
            }),
            (Json::Array(elements), Type::Tuple(types)) => {
                if elements.len() != types.len() {
                    return Err(format!(
                        "{}, expected {} for {}",
                        counted(elements.len(), "element"),
                        types.len(),
                        with_article(ty)
                    )
                    .into());
                }
                let values = elements.iter().zip(types.iter()).enumerate().map(|(at, (json, ty))| {
                    let value = self.value(json, ty);
                    value.map_err(|error| error.inside(format_args!(".{}", at + 1)))
                });
                Ok(self.machine.tuple(values.collect::<Result<_>>()?)?)
            }
            (Json::Array(_) | Json::Object(_), Type::NamedTuple(fields)) => {
                let values = self.fields(json, ty, fields)?;
                Ok(self.machine.named_tuple_of(fields, values)?)
            }
            (Json::Array(_), Type::Array(array)) => self.array(json, &array.element, array.rank),
            (Json::Array(_) | Json::Object(_), Type::Ref(element)) => {
                let fields = [(Name::from("x"), (**element).clone())];
                Ok(self.machine.structure(ty, self.fields(json, ty, &fields)?)?)
            }
            (json, Type::Closure(_)) => self.closure(json, ty),
            (Json::Array(elements), ty) if ty.is_unknown() => self.untyped_array(elements),
            (Json::Object(members), ty) if ty.is_unknown() && members.contains_key(FUNCTION) => {
                self.closure(json, &Type::Any)
            }
            (Json::Object(members), ty) if ty.is_unknown() => {
                let fields: Vec<(Name, Type)> =
                    members.keys().map(|name| (name.as_str().into(), Type::Untyped)).collect();
                let values = self.fields(json, ty, &fields)?;
                Ok(self.machine.named_tuple(fields.into_iter().map(|(name, _)| name).collect(), values)?)
            }
            (_, Type::Named(name)) => match self.machine.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { fields, .. }) => {
                    if let Some((class, json)) = of_class(self.machine.module, name, json, fields) {
                        return self.value(json, &class);
                    }
                    Ok(self.machine.structure(ty, self.fields(json, ty, fields)?)?)
                }
                Some(TypeKind::Enum { cases }) => self.case(json, ty, cases),
                None if json.is_object() => {
                    Err(format!("an object cannot be {}: the module declares no struct of that name", with_article(ty))
                        .into())
                }
                // An abstract type, such as Real: what the JSON is by itself, if that is one.
                None => match self.value(json, &Type::Untyped) {
                    Ok(value) if isa(&value, ty) => Ok(value),
                    _ => Err(format!("{} cannot be {}", kind_of(json), with_article(ty)).into()),
                },
            },
            (json, Type::Nothing) => Err(format!("{} cannot be a Nothing: give null", kind_of(json)).into()),
            (json, ty) => Err(format!("{} cannot be {}", kind_of(json), ty.with_article()).into()),
        }
    }

    /// The first member of a union that fits.
    fn member(&self, json: &Json, union: &Type, members: &[Type]) -> Result<Value> {
        // Of several number types, the one that the number has by itself.
        if let (Json::Number(_), Ok(value)) = (json, self.value(json, &Type::Untyped))
            && members.contains(&value.type_of())
        {
            return Ok(value);
        }
        if !json.is_array() && !json.is_object() {
            return self.first_member(json, members);
        }
        let address = std::ptr::from_ref(json);
        if let Some(known) = self.of_unions.borrow().get(&address)
            && let Some((_, read)) = known.iter().find(|(ty, _)| ty == union)
        {
            return read.clone();
        }
        let read = self.first_member(json, members);
        self.of_unions.borrow_mut().entry(address).or_default().push((union.clone(), read.clone()));
        read
    }

    /// The first of these types that the JSON fits; else what is wrong with each, or if one comes further into the JSON
    /// than others, with that one, as it was probably meant.
    fn first_member(&self, json: &Json, members: &[Type]) -> Result<Value> {
        let mut errors = Vec::new();
        for member in members {
            match self.value(json, member) {
                Ok(value) => return Ok(value),
                Err(error) => errors.push(error),
            }
        }
        let furthest = errors.iter().rev().max_by_key(|error| error.depth());
        match furthest.filter(|error| error.depth() > 0) {
            Some(error) => Err(error.clone()),
            None => {
                let messages: Vec<String> = errors.into_iter().map(|error| error.message).collect();
                Err(messages.join("; ").into())
            }
        }
    }

    /// The values of fields: a list of all in order, or an object by name.
    fn fields(&self, json: &Json, ty: &Type, fields: &[(Name, Type)]) -> Result<Vec<Value>> {
        let members = fields_of(json, ty, fields.iter().map(|(name, _)| name))?;
        let values = members.into_iter().zip(fields).map(|(json, (name, ty))| {
            let value = self.value(json, ty);
            value.map_err(|error| error.inside(format_args!(".{name}")))
        });
        values.collect()
    }

    fn case(&self, json: &Json, ty: &Type, cases: &[(Name, Vec<Type>)]) -> Result<Value> {
        let (name, payload): (&str, &[Json]) = match json {
            Json::String(name) => (name, &[]),
            Json::Object(members) => match members.iter().next() {
                Some((name, Json::Array(payload))) if members.len() == 1 => (name, payload),
                _ => {
                    return Err(
                        format!("{} is an object of one case, with the list of its payload", with_article(ty)).into()
                    );
                }
            },
            _ => {
                let expected = "it is an object such as {\"case\": [payload]}";
                return Err(format!("{} cannot be {}: {expected}", kind_of(json), with_article(ty)).into());
            }
        };
        let Some((case, types)) = cases.iter().find(|(case, _)| case.as_str() == name) else {
            let names: Vec<&str> = cases.iter().map(|(case, _)| case.as_str()).collect();
            return Err(format!("{ty} has no case `{name}`; its cases are {}", names.join(", ")).into());
        };
        if types.len() != payload.len() {
            let (expected, given) = (types.len(), payload.len());
            return Err(format!("the payload of {ty}.{case} has {expected} parts, but {given} are given").into());
        }
        let values = payload.iter().zip(types).enumerate().map(|(at, (json, ty))| {
            let value = self.value(json, ty);
            value.map_err(|error| error.inside(format_args!(".{case}.{}", at + 1)))
        });
        Ok(self.machine.enum_case(ty, case, values.collect::<Result<_>>()?)?)
    }

    fn closure(&self, json: &Json, ty: &Type) -> Result<Value> {
        let expected = || {
            let expected = format!("it is an object such as {{\"{FUNCTION}\": \"f\", \"{CAPTURED}\": [values]}}");
            ValueError::from(format!("{} cannot be {}: {expected}", kind_of(json), with_article(ty)))
        };
        let Json::Object(members) = json else { return Err(expected()) };
        let nothing = Json::Array(Vec::new());
        let (Some(Json::String(function)), Json::Array(captured)) =
            (members.get(FUNCTION), members.get(CAPTURED).unwrap_or(&nothing))
        else {
            return Err(expected());
        };
        if let Some(other) = unknown_member(members, [FUNCTION.into(), CAPTURED.into()].iter()) {
            return Err(format!("a closure has no {other}").into());
        }
        let function = Name::from(function.as_str());
        let types = self.machine.captured_types(&function, captured.len());
        let types = types.ok_or_else(|| {
            ValueError::from(match self.machine.module.parameters_of_function(&function) {
                Some(parameters) => format!(
                    "{function} has {} parameters, and cannot capture {} of them",
                    parameters.len(),
                    captured.len()
                ),
                None => format!("there is no function {function}"),
            })
        })?;
        let values = captured.iter().zip(types).enumerate().map(|(at, (json, ty))| {
            let value = self.value(json, &ty);
            value.map_err(|error| error.inside(format_args!(".{CAPTURED}[{}]", at + 1)))
        });
        let closure = self.machine.closure(&function, values.collect::<Result<_>>()?)?;
        match isa(&closure, ty) {
            true => Ok(closure),
            false => {
                Err(format!("{closure} is {}, and cannot be {}", with_article(closure.type_of()), with_article(ty))
                    .into())
            }
        }
    }

    fn array(&self, json: &Json, element: &Type, rank: u32) -> Result<Value> {
        let mut read = |json: &Json, _: usize| self.value(json, element);
        let (dims, values) = elements_of(json, rank as usize, &mut read)?;
        Ok(self.machine.array(element.clone(), dims, values)?)
    }

    /// A vector whose element type is that of its elements: floats if one of them is.
    fn untyped_array(&self, elements: &[Json]) -> Result<Value> {
        let is_no_finite = |text: &str| matches!(text, "NaN" | "Infinity" | "-Infinity");
        let is_float = |json: &Json| match json {
            Json::Number(number) => number.to_string().contains(['.', 'e', 'E']),
            Json::String(text) => is_no_finite(text),
            _ => false,
        };
        let is_number = |json: &Json| json.is_number() || is_float(json);
        let element = match elements {
            _ if elements.iter().all(is_number) => match elements.is_empty() || elements.iter().any(is_float) {
                true => Type::FLOAT64,
                false => Type::INT64,
            },
            _ if elements.iter().all(|json| json.as_str().is_some_and(|text| !is_no_finite(text))) => Type::String,
            _ => Type::Any,
        };
        let values = elements.iter().enumerate().map(|(at, json)| {
            let value = self.value(json, &element);
            value.map_err(|error| error.inside(format_args!("[{}]", at + 1)))
        });
        Ok(self.machine.array(element.clone(), vec![elements.len()], values.collect::<Result<_>>()?)?)
    }
}

/// The class that an object names, `{"Circle": fields}`, where one of a class is expected that the class is or inherits
/// from; and what its fields are.
fn of_class<'j>(
    module: &Module<IRCode>,
    expected: &Name,
    json: &'j Json,
    fields: &[(Name, Type)],
) -> Option<(Type, &'j Json)> {
    let Json::Object(members) = json else { return None };
    let (name, inside) = members.iter().next().filter(|_| members.len() == 1)?;
    let is_field = fields.iter().any(|(field, _)| field.as_str() == name);
    let is_class = !is_field && module.is_subclass(name, expected) && (inside.is_object() || inside.is_array());
    is_class.then(|| (Type::named(name.as_str()), inside))
}

/// The fields that a list or an object gives, in the order of the names.
pub(super) fn fields_of<'j, 'n>(
    json: &'j Json,
    ty: &Type,
    names: impl ExactSizeIterator<Item = &'n Name> + Clone,
) -> Result<Vec<&'j Json>> {
    match json {
        Json::Array(values) if values.len() == names.len() => Ok(values.iter().collect()),
        Json::Array(values) => {
            let known: Vec<&str> = names.map(Name::as_str).collect();
            let (given, expected) = (values.len(), known.len());
            Err(format!("a list of {given}, but {ty} has {expected} fields: {}", known.join(", ")).into())
        }
        Json::Object(members) => {
            let member = |name: &Name| members.get(name.as_str()).ok_or_else(|| missing(name));
            let values = names.clone().map(member).collect::<Result<Vec<_>>>()?;
            match unknown_member(members, names) {
                Some(other) => Err(format!("{ty} has no field {other}").into()),
                None => Ok(values),
            }
        }
        _ => Err(format!("{} cannot be {}", kind_of(json), with_article(ty)).into()),
    }
}

fn missing(field: &Name) -> ValueError {
    format!("the field {field} is missing").into()
}

fn unknown_member<'j, 'n>(members: &'j Map<String, Json>, names: impl Iterator<Item = &'n Name>) -> Option<&'j str> {
    let known: BTreeSet<&str> = names.map(Name::as_str).collect();
    members.keys().map(String::as_str).find(|key| !known.contains(key))
}

/// The dimensions that nested lists have, and what they hold in memory order, each read as `read` says, which is told
/// how many elements come before: the outermost list runs along the last dimension.
pub(super) fn elements_of(
    json: &Json,
    rank: usize,
    read: &mut dyn FnMut(&Json, usize) -> Result<Value>,
) -> Result<(Vec<usize>, Vec<Value>)> {
    let mut dims: Vec<Option<usize>> = vec![None; rank];
    let mut values = Vec::new();
    collect(json, &mut dims, &mut Vec::new(), &mut values, read)?;
    Ok((dims.into_iter().map(|dim| dim.unwrap_or(0)).collect(), values))
}

fn collect(
    json: &Json,
    dims: &mut [Option<usize>],
    outer: &mut Vec<usize>,
    values: &mut Vec<Value>,
    read: &mut dyn FnMut(&Json, usize) -> Result<Value>,
) -> Result<()> {
    let Some((last, inner)) = dims.split_last_mut() else {
        let value = read(json, values.len());
        values.push(value.map_err(|error| error.inside(index_of(outer, 0)))?);
        return Ok(());
    };
    let Json::Array(elements) = json else {
        let message = format!("{} cannot be a list of an array's elements", kind_of(json));
        return Err(ValueError::from(message).inside(index_of(outer, inner.len() + 1)));
    };
    if last.replace(elements.len()).is_some_and(|known| known != elements.len()) {
        let message = "the lists of an array's elements differ in length".to_string();
        return Err(ValueError::from(message).inside(index_of(outer, inner.len() + 1)));
    }
    for (at, json) in elements.iter().enumerate() {
        outer.push(at + 1);
        collect(json, inner, outer, values, read)?;
        outer.pop();
    }
    Ok(())
}

/// The index of an element or a slice: `[1,2]`, `[:,2]`.
fn index_of(outer: &[usize], free: usize) -> String {
    if outer.is_empty() {
        return String::new();
    }
    let free = std::iter::repeat_n(":".to_string(), free);
    let indices: Vec<String> = free.chain(outer.iter().rev().map(usize::to_string)).collect();
    format!("[{}]", indices.join(","))
}

pub(super) fn kind_of(json: &Json) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => format!("the string {text:?}"),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "an object".into(),
    }
}

pub(super) fn number_as(number: &Number, ty: ScalarType) -> Result<Value> {
    let fail = || {
        // Numbers that JSON has only as floats are not what was written.
        let wide = matches!(ty, ScalarType::Int128 | ScalarType::UInt128) && number.is_f64();
        let help = if wide { ": give integers of more than 64 bits as strings" } else { "" };
        ValueError::from(format!("{number} is no {ty}{help}"))
    };
    let scalar = if ty.is_float() {
        // Every number that is written is finite.
        let finite = |scalar: &Scalar| scalar.as_float().is_some_and(f64::is_finite);
        Scalar::from_float(ty, number.as_f64().ok_or_else(fail)?).filter(finite)
    } else {
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        // `3.0` is the integer 3.
        let whole = number.as_f64().filter(|float| float.trunc() == *float && float.abs() < 2f64.powi(53));
        let integer = integer.or(whole.map(|float| float as i128));
        integer.and_then(|integer| Scalar::from_i128(ty, integer))
    };
    scalar.map(Value::Scalar).ok_or_else(fail)
}

pub(super) fn text_as(text: &str, ty: ScalarType) -> Option<Value> {
    let scalar = match text {
        "NaN" => Scalar::from_float(ty, f64::NAN),
        "Infinity" => Scalar::from_float(ty, f64::INFINITY),
        "-Infinity" => Scalar::from_float(ty, f64::NEG_INFINITY),
        _ if ty == ScalarType::Char => {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none()).map(Scalar::from_char)
        }
        _ if ty.is_integer() => Scalar::parse_integer(ty, text),
        _ => None,
    };
    scalar.map(Value::Scalar)
}
