//! Products and sums of arrays of floats. Every sum goes from the first element to the last.

use ircode::Scalar;

use super::floats::{Floats, factor, rounded, update};
use super::whole_arrays::{apart, dimension_mismatch, scalar};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::Value;

type Result<T> = std::result::Result<T, Fault>;

const FLOATS: &str = "arrays of floats of one type";

/// `dot(a, b)`: the sum of the products of the elements in memory order; zero of nothing.
pub(super) fn dot(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err(expected("two arrays of numbers")) };
    let lengths = |value: &Value| value.array_dims().map(|dims| dims.iter().product::<usize>());
    let (Some(m), Some(n)) = (lengths(a), lengths(b)) else { return Err(expected("two arrays of numbers")) };
    if m != n {
        let message = format!("first array has length {m} which does not match the length of the second, {n}.");
        return Err(dimension_mismatch(runtime, message));
    }
    if let (Ok(a), Ok(b)) = (Floats::of(a), Floats::of(b))
        && a.ty == b.ty
    {
        let products = a.values.iter().zip(&b.values).map(|(x, y)| rounded(a.ty, x * y));
        let sum = products.reduce(|sum, product| rounded(a.ty, sum + product)).unwrap_or(0.0);
        return Scalar::from_float(a.ty, sum).map(Value::Scalar).ok_or_else(|| expected(FLOATS));
    }
    let (a, b) = (a.array_elements().unwrap_or_default(), b.array_elements().unwrap_or_default());
    let mut sum = None;
    for (a, b) in a.iter().zip(&b) {
        let product = scalar(runtime, "*", a, b)?;
        sum = Some(match sum {
            Some(sum) => scalar(runtime, "+", &sum, &product)?,
            None => product,
        });
    }
    sum.ok_or_else(|| expected("two arrays of numbers, of floats if they are empty"))
}

/// `scaled(factor, a)`: a new array of the elements times the factor.
pub(super) fn scaled(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [by, target] = args else { return Err(expected("a float and an array of such floats")) };
    let Floats { ty, dims, values } = Floats::of(target)?;
    let by = factor(ty, by)?;
    let values = values.into_iter().map(|value| rounded(ty, by * value)).collect();
    Floats { ty, dims, values }.into_value(runtime)
}

/// `add_scaled!(a, factor, b)`: adds the elements of `b` times the factor to those of `a`. `b` must not be stored in
/// the memory of `a`.
pub(super) fn add_scaled(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, by, other] = args else { return Err(expected("an array of floats, a float and such an array")) };
    apart(runtime, target, &[other])?;
    let (a, b) = (Floats::of(target)?, Floats::of(other)?);
    if a.ty != b.ty {
        return Err(expected(FLOATS));
    }
    if a.dims != b.dims {
        let message = format!("dimensions must match: a has dims {}, b has dims {}", dims(&a), dims(&b));
        return Err(dimension_mismatch(runtime, message));
    }
    let by = factor(a.ty, by)?;
    let addend = |i: usize| rounded(a.ty, by * b.values.get(i).copied().unwrap_or(0.0));
    update(target, 0, b.values.len(), |i, old| rounded(a.ty, old + addend(i)))?;
    Ok(target.clone())
}

/// `(2, 3)`, as Julia shows dimensions.
fn dims(array: &Floats) -> String {
    let dims: Vec<String> = array.dims.iter().map(usize::to_string).collect();
    if dims.len() == 1 { format!("({},)", dims.concat()) } else { format!("({})", dims.join(", ")) }
}

/// The product of two matrices, of which vectors are such of one column: its elements and its dimensions.
fn product(runtime: &Runtime<'_>, a: &Value, b: &Value) -> Result<Floats> {
    let what = "two matrices or vectors of floats of one type";
    let (left, right) = (Floats::of(a)?, Floats::of(b)?);
    let (Some((rows, inner)), Some((height, columns))) = (left.shape(), right.shape()) else {
        return Err(expected(what));
    };
    if left.ty != right.ty || (left.dims.len() == 1 && right.dims.len() == 1) {
        return Err(expected(what));
    }
    if inner != height {
        let message = format!("A has dimensions ({rows},{inner}) but B has dimensions ({height},{columns})");
        return Err(dimension_mismatch(runtime, message));
    }
    let ty = left.ty;
    let length = rows.checked_mul(columns).ok_or_else(|| expected(what))?;
    runtime.meter.would_fit(length)?;
    let mut values = Vec::with_capacity(length);
    for column in right.values.chunks(height.max(1)).take(columns) {
        // Column by column of the left, so that memory is read in order.
        let mut sums: Vec<Option<f64>> = vec![None; rows];
        for (factor, part) in column.iter().zip(left.values.chunks(rows.max(1))) {
            for (sum, value) in sums.iter_mut().zip(part) {
                let product = rounded(ty, value * factor);
                *sum = Some(sum.map_or(product, |sum| rounded(ty, sum + product)));
            }
        }
        values.extend(sums.into_iter().map(|sum| sum.unwrap_or(0.0)));
    }
    values.resize(length, 0.0);
    let dims = if right.dims.len() == 1 { vec![rows] } else { vec![rows, columns] };
    Ok(Floats { ty, dims, values })
}

/// `matmul(a, b)`: the product of two matrices, of a matrix and a vector, or of a vector and a matrix of one row.
pub(super) fn matmul(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err(expected("two matrices or vectors")) };
    product(runtime, a, b)?.into_value(runtime)
}

/// `matmul_add!(c, a, b)`: adds the product of `a` and `b` to `c`, which must not be stored in the memory of either.
/// Where the product is a matrix of one column, `c` may be a vector.
pub(super) fn matmul_add(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [target, a, b] = args else { return Err(expected("three matrices or vectors")) };
    apart(runtime, target, &[a, b])?;
    let (sum, product) = (Floats::of(target)?, product(runtime, a, b)?);
    if sum.ty != product.ty {
        return Err(expected(FLOATS));
    }
    if sum.shape() != product.shape() || sum.dims.len() > product.dims.len().max(2) {
        let message = format!("result has dims {}, but needs dims {}", dims(&sum), dims(&product));
        return Err(dimension_mismatch(runtime, message));
    }
    let ty = sum.ty;
    update(target, 0, product.values.len(), |i, old| rounded(ty, old + product.values.get(i).copied().unwrap_or(0.0)))?;
    Ok(target.clone())
}
