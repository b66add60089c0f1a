//! Arrays of floats as numbers, for what works on whole arrays.
//!
//! Everything is computed in double precision and rounded to the width of the elements after each operation. For sums
//! and products of `Float32` and `Float16` that gives what computing in their width does: a double has more than twice
//! their digits.

use std::rc::Rc;

use ircode::{Scalar, ScalarType, Type};

use super::arrays::array;
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{ArrayRef, Value};

type Result<T> = std::result::Result<T, Fault>;

/// The elements of an array of floats.
pub(super) struct Floats {
    pub(super) ty: ScalarType,
    pub(super) dims: Vec<usize>,
    /// In memory order.
    pub(super) values: Vec<f64>,
}

const FLOATS: &str = "arrays of floats of one type";

/// The element type of an array, if it is a float.
pub(super) fn float_type(array: &ArrayRef) -> Result<ScalarType> {
    array.0.place.borrow().0.memory.0.element.as_float().ok_or_else(|| expected(FLOATS))
}

/// The value nearest to a number among those of the type.
pub(super) fn rounded(ty: ScalarType, value: f64) -> f64 {
    match ty {
        ScalarType::Float64 => value,
        ScalarType::Float32 => f64::from(value as f32),
        _ => Scalar::from_float(ty, value).and_then(|scalar| scalar.as_float()).unwrap_or(value),
    }
}

impl Floats {
    pub(super) fn of(value: &Value) -> Result<Floats> {
        let array = array(value)?;
        let ty = float_type(array)?;
        let place = array.0.place.borrow();
        let dims = array.0.dims.borrow().clone();
        let length = array.length();
        let memory = place.0.memory.0.fields.borrow();
        let elements = memory.values().get(place.0.offset..place.0.offset + length);
        let values: Option<Vec<f64>> = elements.and_then(|elements| elements.iter().map(Value::as_float).collect());
        Ok(Floats { ty, dims, values: values.ok_or_else(|| expected(FLOATS))? })
    }

    /// A new array of these elements.
    pub(super) fn into_value(self, runtime: &Runtime<'_>) -> Result<Value> {
        runtime.meter.would_fit(self.values.len())?;
        let element = |&value: &f64| Scalar::from_float(self.ty, value).map(Value::Scalar).unwrap_or(Value::Undefined);
        let elements = self.values.iter().map(element).collect();
        runtime.array(Type::Scalar(self.ty), self.dims, elements)
    }

    /// As a matrix: the numbers of rows and columns. A vector is a matrix of one column.
    pub(super) fn shape(&self) -> Option<(usize, usize)> {
        match self.dims.as_slice() {
            [rows] => Some((*rows, 1)),
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }
}

/// A float of the type that the elements of an array have.
pub(super) fn factor(ty: ScalarType, value: &Value) -> Result<f64> {
    let scalar = value.as_scalar().filter(|scalar| scalar.scalar_type() == ty);
    scalar.and_then(Scalar::as_float).ok_or_else(|| expected("a float of the type of the elements"))
}

/// Replaces elements of an array of floats, from the element `first` on, counted from 0: each by what `f` makes of its
/// number, counted from 0, and of what it was.
pub(super) fn update(
    value: &Value,
    first: usize,
    count: usize,
    mut f: impl FnMut(usize, f64) -> f64,
) -> Result<ScalarType> {
    let array = array(value)?;
    let ty = float_type(array)?;
    let place = array.0.place.borrow();
    let mut memory = place.0.memory.0.fields.borrow_mut();
    let start = place.0.offset + first;
    let elements = memory.values_mut().get_mut(start..start + count).ok_or_else(|| expected(FLOATS))?;
    for (i, element) in elements.iter_mut().enumerate() {
        let old = element.as_float().ok_or_else(|| expected(FLOATS))?;
        let new = Scalar::from_float(ty, f(i, old)).ok_or_else(|| expected(FLOATS))?;
        *element = Value::Scalar(new);
    }
    Ok(ty)
}

/// Whether two arrays that have elements are stored in the same memory.
pub(super) fn share_memory(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let (one, other) = (a.0.place.borrow(), b.0.place.borrow());
            Rc::ptr_eq(&one.0.memory.0, &other.0.memory.0) && a.length() > 0 && b.length() > 0
        }
        _ => false,
    }
}
