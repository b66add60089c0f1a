//! Tangents from JSON, by the value whose tangent it is.

use std::collections::BTreeMap;
use std::rc::Rc;

use ircode::wording::with_article;
use ircode::{Name, Type};
use serde_json::Value as Json;

use super::read::{ValueError, elements_of, fields_of, kind_of, number_as, text_as};
use crate::machine::Machine;
use crate::value::Value;

type Result<T> = std::result::Result<T, ValueError>;

impl Machine<'_> {
    /// The tangent that JSON gives of a value. `zero` is its tangent with all floats zero, from
    /// [`zero_tangents`](Self::zero_tangents), and says what there is.
    ///
    /// A float is a number; what may be one and is none has zero. What has fields is a list of these, or an object by
    /// name, with `null` for those that have no tangent; an array is a list as in
    /// [`value_from_json`](Self::value_from_json); a struct that can be changed is a list or an object. The name of the
    /// class of an object, or of the case of an enum, may stand before that, as it does before the value. `null` stands
    /// for zeros. Where one object is met again, `null` or the same JSON stands for the tangent that it has already.
    ///
    /// ```
    /// use exec::Machine;
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// let machine = Machine::new(&module);
    /// let ty = Type::parse("Tuple{Int64, Vector{Float64}}");
    /// let value = machine.value_from_json(&serde_json::from_str("[7, [1, 2]]")?, &ty)?;
    /// let zero = &machine.zero_tangents(&[value.clone()], &[ty])?[0];
    /// let tangent = machine.tangent_from_json(&serde_json::from_str("[null, [0.5, 1]]")?, &value, zero)?;
    /// assert_eq!(tangent.to_string(), "(nothing, [0.5, 1.0])");
    /// let error = machine.tangent_from_json(&serde_json::from_str("[null, [0.5]]")?, &value, zero).unwrap_err();
    /// assert_eq!(error.to_string(), ".2: a list of 1, but the value has 2 there");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ValueError`]: where in the tangent, what the JSON is there, and what was expected.
    pub fn tangent_from_json(&self, json: &Json, value: &Value, zero: &Value) -> Result<Value> {
        Reader { machine: self, objects: BTreeMap::new() }.tangent(json, value, zero)
    }
}

struct Reader<'r, 'm> {
    machine: &'r Machine<'m>,
    /// By the address of the zero: what was read for an object, and from what.
    objects: BTreeMap<*const (), (Json, Value)>,
}

impl Reader<'_, '_> {
    fn tangent(&mut self, json: &Json, value: &Value, zero: &Value) -> Result<Value> {
        let identity: Option<*const ()> = match zero {
            Value::Array(array) => Some(Rc::as_ptr(&array.0).cast()),
            Value::Struct(object) => Some(Rc::as_ptr(&object.0).cast()),
            _ => None,
        };
        let Some(identity) = identity else { return self.part(json, value, zero) };
        if let Some((known, tangent)) = self.objects.get(&identity) {
            if !json.is_null() && json != known {
                let message = "this is an object that was met before, whose tangent is given there: give null";
                return Err(message.to_string().into());
            }
            return Ok(tangent.clone());
        }
        if json.is_null() {
            self.objects.insert(identity, (Json::Null, zero.clone()));
            return Ok(zero.clone());
        }
        let tangent = self.part(json, value, zero)?;
        self.objects.insert(identity, (json.clone(), tangent.clone()));
        Ok(tangent)
    }

    fn part(&mut self, json: &Json, value: &Value, zero: &Value) -> Result<Value> {
        let fail = |message: String| Err(message.into());
        match (zero, json) {
            (zero, Json::Null) => Ok(zero.clone()),
            // What may be a float, and is none.
            (Value::Scalar(_), json) if value.as_float().is_none() && json.as_f64() != Some(0.0) => {
                fail(format!("the value is {value}, which has no tangent: give null"))
            }
            (Value::Scalar(zero), Json::Number(number)) => number_as(number, zero.scalar_type()),
            (Value::Scalar(zero), Json::String(text)) => {
                let ty = zero.scalar_type();
                text_as(text, ty).ok_or_else(|| format!("{text:?} is no {ty}").into())
            }
            (Value::Scalar(zero), json) => {
                fail(format!("{}, where the tangent is {}", kind_of(json), with_article(zero.scalar_type())))
            }
            (Value::Nothing | Value::Undefined, json) => {
                fail(format!("{}, where the value has no tangent: give null", kind_of(json)))
            }
            (Value::Tuple(tuple), json) => {
                let zeros = tuple.0.fields.values();
                let tangents = self.fields(json, value, zeros)?;
                Ok(self.machine.tuple(tangents)?)
            }
            (Value::Struct(object), json) => {
                let zeros = object.0.fields.borrow().values().to_vec();
                let tangents = self.fields(json, value, &zeros)?;
                let object = self.machine.copies(std::slice::from_ref(zero))?.into_iter().next();
                if let Some(Value::Struct(copy)) = &object {
                    for (slot, tangent) in copy.0.fields.borrow_mut().values_mut().iter_mut().zip(tangents) {
                        *slot = tangent;
                    }
                }
                Ok(object.unwrap_or(Value::Nothing))
            }
            (Value::Array(_), json) => self.array(json, value, zero),
            (other, _) => fail(format!("the tangent of {} cannot be given", other.type_of().with_article())),
        }
    }

    fn fields(&mut self, json: &Json, value: &Value, zeros: &[Value]) -> Result<Vec<Value>> {
        let (names, values, numbered): (Vec<Name>, Vec<Value>, bool) = match value {
            Value::NamedTuple(tuple) => (tuple.0.names.to_vec(), tuple.0.fields.values().to_vec(), false),
            Value::Struct(object) => {
                let values = object.0.fields.borrow().values().to_vec();
                (object.0.ty.names.iter().take(zeros.len()).cloned().collect(), values, false)
            }
            Value::Tuple(tuple) => (numbers(zeros.len()), tuple.0.fields.values().to_vec(), true),
            Value::Enum(object) => (numbers(zeros.len()), object.0.fields.values().to_vec(), true),
            Value::Closure(object) => (numbers(zeros.len()), object.0.fields.values().to_vec(), true),
            Value::DifferentiableFunction(object) => (numbers(zeros.len()), object.0.fields.values().to_vec(), true),
            _ => (numbers(zeros.len()), Vec::new(), true),
        };
        let parts = match behind_name(json, value) {
            Json::Array(parts) if parts.len() == zeros.len() => parts.iter().collect(),
            Json::Array(parts) => {
                return Err(format!("a list of {}, but the value has {} there", parts.len(), zeros.len()).into());
            }
            json @ Json::Object(_) if !numbered => fields_of(json, &value.type_of(), names.iter())?,
            json => return Err(format!("{}, where the tangent has {} parts", kind_of(json), zeros.len()).into()),
        };
        let mut tangents = Vec::with_capacity(zeros.len());
        for (at, ((json, zero), name)) in parts.into_iter().zip(zeros).zip(&names).enumerate() {
            let tangent = self.tangent(json, values.get(at).unwrap_or(&Value::Nothing), zero);
            tangents.push(tangent.map_err(|error| error.inside(format_args!(".{name}")))?);
        }
        Ok(tangents)
    }

    fn array(&mut self, json: &Json, value: &Value, zero: &Value) -> Result<Value> {
        let dims = zero.array_dims().unwrap_or_default();
        let zeros = zero.array_elements().unwrap_or_default();
        let values = value.array_elements().unwrap_or_default();
        let mut read = |json: &Json, at: usize| {
            let nothing = Value::Nothing;
            let zero = zeros.get(at).ok_or_else(|| ValueError::from("there is no such element".to_string()))?;
            self.tangent(json, values.get(at).unwrap_or(&nothing), zero)
        };
        let Json::Array(list) = json else {
            return Err(format!("{}, where the tangent is an array", kind_of(json)).into());
        };
        let length = dims.last().copied().unwrap_or(1);
        if list.len() != length {
            return Err(format!("a list of {}, but the value has {length} there", list.len()).into());
        }
        let (given, elements) = elements_of(json, dims.len(), &mut read)?;
        if given != dims && !elements.is_empty() {
            let shown = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
            return Err(format!("an array of {}, but the value is one of {}", shown(&given), shown(&dims)).into());
        }
        let element = match zero.type_of() {
            Type::Array(array) => array.element.clone(),
            _ => Type::Any,
        };
        Ok(self.machine.array(element, dims, elements)?)
    }
}

/// What stands behind the name of the class that a struct is of, or of the case of an enum, as in `{"Circle": [1.0]}`.
fn behind_name<'j>(json: &'j Json, value: &Value) -> &'j Json {
    let Json::Object(members) = json else { return json };
    let mut members = members.iter();
    let (Some((name, inside)), None) = (members.next(), members.next()) else { return json };
    let is_named = match value {
        Value::Struct(object) => {
            let is_field = object.0.ty.names.iter().any(|field| field.as_str() == name);
            !is_field && matches!(&object.0.ty.ty, Type::Named(class) if class.as_str() == name)
        }
        Value::Enum(case) => case.0.case.as_str() == name,
        _ => false,
    };
    if is_named && (inside.is_array() || inside.is_object()) { inside } else { json }
}

fn numbers(count: usize) -> Vec<Name> {
    (1..=count).map(|number| Name::from(number.to_string())).collect()
}
