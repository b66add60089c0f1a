//! Values as Julia shows them.

use std::fmt;

use ircode::Constant;

use crate::value::Value;

/// Values nested deeper than this are shown as `…`.
const MAX_DEPTH: usize = 64;

/// As are those in others, after so many values: what is shared is shown wherever it is, and forty tuples can hold more
/// than there is paper for.
const MOST: usize = 1 << 24;

/// Shows the value as Julia's `repr` does: `1.0`, `"text"`, `(1, 2.0)`, `[1.0, 2.0]`, `Point(1.0, 2.0)`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Writer { f, left: MOST }.write_value(self, 0)
    }
}

struct Writer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    /// How many values may be shown in others from here on.
    left: usize,
}

impl Writer<'_, '_> {
    fn write_value(&mut self, value: &Value, depth: usize) -> fmt::Result {
        self.left = self.left.saturating_sub(usize::from(depth > 0));
        if depth > MAX_DEPTH || self.left == 0 {
            return self.f.write_str("…");
        }
        match value {
            Value::Undefined => self.f.write_str("#undef"),
            Value::Nothing => self.f.write_str("nothing"),
            Value::Scalar(scalar) => write!(self.f, "{scalar}"),
            Value::String(text) => write!(self.f, "{}", Constant::String(text.clone())),
            Value::Symbol(name) => write!(self.f, "{}", Constant::Symbol(name.clone())),
            Value::Type(ty) => write!(self.f, "{ty}"),
            Value::Function(name) | Value::Text(name) => write!(self.f, "{name}"),
            Value::Tuple(tuple) => {
                let fields = tuple.0.fields.values();
                self.f.write_str("(")?;
                self.write_list(fields, ", ", depth)?;
                self.f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
            Value::NamedTuple(tuple) if tuple.0.names.is_empty() => self.f.write_str("NamedTuple()"),
            Value::NamedTuple(tuple) => {
                self.f.write_str("(")?;
                for (i, (name, value)) in tuple.0.names.iter().zip(tuple.0.fields.values()).enumerate() {
                    write!(self.f, "{}{name} = ", if i > 0 { ", " } else { "" })?;
                    self.write_value(value, depth + 1)?;
                }
                self.f.write_str(if tuple.0.names.len() == 1 { ",)" } else { ")" })
            }
            Value::SimpleVector(tuple) => {
                self.f.write_str("svec(")?;
                self.write_list(tuple.0.fields.values(), ", ", depth)?;
                self.f.write_str(")")
            }
            Value::Struct(object) => {
                write!(self.f, "{}(", object.0.ty.ty)?;
                self.write_list(object.0.fields.borrow().values(), ", ", depth)?;
                self.f.write_str(")")
            }
            Value::Enum(object) => {
                write!(self.f, "{}.{}(", object.0.ty, object.0.case)?;
                self.write_list(object.0.fields.values(), ", ", depth)?;
                self.f.write_str(")")
            }
            Value::Closure(object) => {
                write!(self.f, "{}(", object.0.function)?;
                self.write_list(object.0.fields.values(), ", ", depth)?;
                self.f.write_str(")…")
            }
            Value::DifferentiableFunction(object) => {
                self.f.write_str("differentiable(")?;
                self.write_list(object.0.fields.values(), ", ", depth)?;
                self.f.write_str(")")
            }
            Value::Array(array) => {
                let elements = value.array_elements().unwrap_or_default();
                self.write_array(&elements, &array.0.dims.borrow(), depth)
            }
            Value::Memory(memory) => {
                self.f.write_str("Memory[")?;
                self.write_list(memory.0.fields.borrow().values(), ", ", depth)?;
                self.f.write_str("]")
            }
            Value::MemoryRef(place) => write!(self.f, "MemoryRef(@{})", place.0.offset + 1),
            Value::Stack(stack) => {
                self.f.write_str("Stack[")?;
                self.write_list(stack.0.fields.borrow().values(), ", ", depth)?;
                self.f.write_str("]")
            }
            Value::Slot(slot) => {
                self.f.write_str("Slot(")?;
                self.write_list(slot.0.fields.borrow().values(), ", ", depth)?;
                self.f.write_str(")")
            }
        }
    }

    fn write_list(&mut self, values: &[Value], separator: &str, depth: usize) -> fmt::Result {
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                self.f.write_str(separator)?;
            }
            self.write_value(value, depth + 1)?;
        }
        Ok(())
    }

    /// `[1, 2]`, `[1 3; 2 4]`, and for higher ranks the slices one after another.
    fn write_array(&mut self, elements: &[Value], dims: &[usize], depth: usize) -> fmt::Result {
        match dims {
            // However many rows of nothing there are.
            [_, _, ..] if elements.is_empty() => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                write!(self.f, "[] ({})", dims.join("×"))
            }
            [] | [_] => {
                self.f.write_str("[")?;
                self.write_list(elements, ", ", depth)?;
                self.f.write_str("]")
            }
            [rows, columns] => {
                self.f.write_str("[")?;
                for row in 0..*rows {
                    self.f.write_str(if row > 0 { "; " } else { "" })?;
                    for column in 0..*columns {
                        self.f.write_str(if column > 0 { " " } else { "" })?;
                        if let Some(element) = elements.get(row + column * rows) {
                            self.write_value(element, depth + 1)?;
                        }
                    }
                }
                self.f.write_str("]")
            }
            [inner @ .., last] => {
                let size: usize = inner.iter().product();
                self.f.write_str("[")?;
                for slice in 0..*last {
                    self.f.write_str(if slice > 0 { ";;; " } else { "" })?;
                    self.write_array(
                        elements.get(slice * size..(slice + 1) * size).unwrap_or_default(),
                        inner,
                        depth + 1,
                    )?;
                }
                self.f.write_str("]")
            }
        }
    }
}

/// The value as Julia's `print` writes it: strings and characters without quotes.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Symbol(name) => name.to_string(),
        Value::Scalar(scalar) => match scalar.as_char() {
            Some(c) => c.to_string(),
            None => printed_number(scalar),
        },
        other => other.to_string(),
    }
}

/// `print` shows a `Float32` without the marks of its type.
fn printed_number(scalar: &ircode::Scalar) -> String {
    let text = scalar.to_string();
    match scalar {
        ircode::Scalar::Float32(value) if value.is_finite() => {
            text.strip_suffix("f0").map_or_else(|| text.replace('f', "e"), str::to_string)
        }
        ircode::Scalar::Float32(_) => text.replace("32", ""),
        ircode::Scalar::Float16(_) => match text.strip_prefix("Float16(").and_then(|rest| rest.strip_suffix(')')) {
            Some(digits) => digits.to_string(),
            None => text.replace("16", ""),
        },
        ircode::Scalar::UInt8(v) => v.to_string(),
        ircode::Scalar::UInt16(v) => v.to_string(),
        ircode::Scalar::UInt32(v) => v.to_string(),
        ircode::Scalar::UInt64(v) => v.to_string(),
        ircode::Scalar::UInt128(v) => v.to_string(),
        _ => text,
    }
}

/// What Julia says about an exception that nobody catches.
pub(crate) fn exception_text(value: &Value) -> String {
    let Value::Struct(object) = value else {
        return format!("the value {value} was thrown");
    };
    let fields = object.0.fields.borrow();
    let name = object.0.ty.ty.to_string();
    match (name.as_str(), fields.values()) {
        ("DivideError", _) => "DivideError: integer division error".into(),
        ("ErrorException", [Value::String(message)]) => message.to_string(),
        ("DomainError", [value, Value::String(message)]) => format!("DomainError with {value}: {message}"),
        ("ArgumentError" | "DimensionMismatch" | "OverflowError", [Value::String(message)]) => {
            format!("{name}: {message}")
        }
        ("InexactError", [Value::Symbol(function), ty, value]) => {
            format!("InexactError: {function}({ty}, {value})")
        }
        ("BoundsError", [array, index]) => {
            // The indices of an array are a tuple; one of a tuple is a number.
            let indices = index.as_tuple().unwrap_or(std::slice::from_ref(index));
            let indices = indices.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            format!("BoundsError: attempt to access {} at index [{indices}]", summary(array))
        }
        ("MethodError", [Value::Function(function), Value::Tuple(args), _]) => {
            let types = args.0.fields.values().iter().map(|arg| format!("::{}", arg.type_of())).collect::<Vec<_>>();
            format!("MethodError: no method matching {function}({})", types.join(", "))
        }
        ("UndefVarError", [Value::Symbol(name)]) => format!("UndefVarError: {name} not defined"),
        _ => value.to_string(),
    }
}

/// A value, or what it is if it is an array of many elements, as Julia's `summary` says that.
fn summary(value: &Value) -> String {
    const MOST: usize = 100;
    let dims = value.array_dims().unwrap_or_default();
    if dims.iter().product::<usize>() <= MOST || dims.is_empty() {
        return value.to_string();
    }
    let ty = value.type_of();
    match dims.as_slice() {
        [length] => format!("{length}-element {ty}"),
        dims => format!("{} {ty}", dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ircode::Scalar;

    #[test]
    fn numbers_print_as_julia_prints_them() {
        // From a Julia 1.5 session: print(…) of each.
        assert_eq!(printed(&Value::Scalar(Scalar::Float32(0.5))), "0.5");
        assert_eq!(printed(&Value::Scalar(Scalar::Float32(1e-7))), "1.0e-7");
        assert_eq!(printed(&Value::Scalar(Scalar::UInt8(5))), "5");
        assert_eq!(printed(&Value::String("a\"b".into())), "a\"b");
        assert_eq!(Value::String("a\"b".into()).to_string(), "\"a\\\"b\"");
        assert_eq!(printed(&Value::Scalar(Scalar::Float16(ircode::half::f16::from_f32(1.6)))), "1.6");
        assert_eq!(printed(&Value::Scalar(Scalar::Float16(ircode::half::f16::INFINITY))), "Inf");
        assert_eq!(printed(&Value::Scalar(Scalar::Float32(f32::INFINITY))), "Inf");
        assert_eq!(printed(&Value::Scalar(Scalar::from_char('x'))), "x");
    }
}
