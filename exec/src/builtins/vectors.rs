//! What Julia's runtime does for arrays up to 1.10: allocating, growing, shrinking. The functions are called by their C
//! names, in foreigncalls.

use std::rc::Rc;

use ircode::Type;

use super::arrays::{array, undefined_array};
use super::control::{index, unsupported};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{ArrayRef, PlaceObject, PlaceRef, Value};

type Result<T> = std::result::Result<T, Fault>;

/// `jl_alloc_array_1d(Array{T,1}, n)`, and so on for more dimensions; `jl_new_array(Array{T,N}, dims)`.
pub(super) fn alloc_array(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Type(ty), dims @ ..] => match &**ty {
            Type::Array(array) => undefined_array(runtime, &array.element, Some(array.rank), dims),
            _ => Err(expected("the type of an array and its dimensions")),
        },
        _ => Err(expected("the type of an array and its dimensions")),
    }
}

/// The vector, its element type, and how many elements to add or to remove.
fn vector(args: &[Value]) -> Result<(&ArrayRef, Type, usize)> {
    let what = "a vector and a number of elements";
    let (Some(target), Some(count)) = (args.first(), args.last()) else { return Err(expected(what)) };
    let target = array(target)?;
    if target.0.dims.borrow().len() != 1 {
        return Err(expected(what));
    }
    refuse_shared(target)?;
    let element = target.0.place.borrow().0.memory.0.element.clone();
    let count = usize::try_from(index(count)?).map_err(|_| expected(what))?;
    Ok((target, element, count))
}

/// Refuses to give another length to an array whose elements are those of another one, as `vec` and `reshape` make
/// them: Julia gives the later one a copy of them then, and lets nobody resize the other.
pub(super) fn refuse_shared(array: &ArrayRef) -> Result<()> {
    match array.0.is_shared.get() {
        true => {
            Err(unsupported("resizing an array that shares its elements with another, by `vec` or `reshape`,".into()))
        }
        false => Ok(()),
    }
}

fn set_length(array: &ArrayRef, length: usize) {
    let mut dims = array.0.dims.borrow_mut();
    dims.clear();
    dims.push(length);
}

/// Gives the vector other elements, with room for as many more in front of them.
fn replace(runtime: &Runtime<'_>, array: &ArrayRef, element: &Type, elements: Vec<Value>, room: usize) -> Result<()> {
    let length = elements.len();
    let mut all = vec![runtime.unassigned(element)?; room];
    all.extend(elements);
    let memory = runtime.memory(element.clone(), all)?;
    *array.0.place.borrow_mut() = PlaceRef(Rc::new(PlaceObject { memory, offset: room }));
    set_length(array, length);
    Ok(())
}

/// `jl_array_grow_end(a, n)`: unassigned elements behind the last.
pub(super) fn grow_end(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    runtime.meter.would_fit(count)?;
    let unassigned = runtime.unassigned(&element)?;
    append(runtime, array, &element, &unassigned, count)?;
    Ok(Value::Nothing)
}

/// Puts a value so many times behind the last element of a vector. Where more room is free in front of the elements
/// than they take, they move there, so that a queue takes no more memory than twice what is in it.
pub(super) fn append(
    runtime: &Runtime<'_>,
    array: &ArrayRef,
    element: &Type,
    value: &Value,
    count: usize,
) -> Result<()> {
    let place = array.0.place.borrow().clone();
    let needed = array.length() + count;
    let room = place.0.memory.0.fields.borrow().values().len().saturating_sub(place.0.offset);
    if needed > room && place.0.offset > needed {
        let mut elements = Value::Array(array.clone()).array_elements().unwrap_or_default();
        elements.resize(needed, value.clone());
        return replace(runtime, array, element, elements, 0);
    }
    let mut memory = place.0.memory.0.fields.borrow_mut();
    for at in (place.0.offset + array.length()..).take(count) {
        match memory.values_mut().get_mut(at) {
            Some(slot) => *slot = value.clone(),
            None => memory.push(value.clone())?,
        }
    }
    set_length(array, needed);
    Ok(())
}

/// `jl_array_grow_beg(a, n)`: unassigned elements before the first. There is room for as many again afterwards, so that
/// growing one by one takes linear time.
pub(super) fn grow_begin(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    runtime.meter.would_fit(count)?;
    let place = array.0.place.borrow().clone();
    let unassigned = runtime.unassigned(&element)?;
    match place.0.offset.checked_sub(count) {
        Some(offset) => {
            let moved = PlaceObject { memory: place.0.memory.clone(), offset };
            for slot in moved.memory.0.fields.borrow_mut().values_mut().iter_mut().skip(offset).take(count) {
                *slot = unassigned.clone();
            }
            *array.0.place.borrow_mut() = PlaceRef(Rc::new(moved));
            set_length(array, array.length() + count);
        }
        None => {
            let mut elements = vec![unassigned; count];
            elements.extend(Value::Array(array.clone()).array_elements().unwrap_or_default());
            let room = elements.len();
            replace(runtime, array, &element, elements, room)?;
        }
    }
    Ok(Value::Nothing)
}

/// `jl_array_grow_at(a, i, n)`: unassigned elements from the index `i` on, counted from 0.
pub(super) fn grow_at(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    let Some(at) = index_in(args, array.length())? else { return out_of_bounds(runtime, array, args) };
    runtime.meter.would_fit(count)?;
    let mut elements = Value::Array(array.clone()).array_elements().unwrap_or_default();
    elements.splice(at..at, vec![runtime.unassigned(&element)?; count]);
    replace(runtime, array, &element, elements, 0)?;
    Ok(Value::Nothing)
}

/// `jl_array_del_end(a, n)`.
pub(super) fn delete_end(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    let Some(left) = array.length().checked_sub(count) else { return too_many(runtime, array) };
    let unassigned = runtime.unassigned(&element)?;
    let place = array.0.place.borrow().clone();
    for slot in place.0.memory.0.fields.borrow_mut().values_mut().iter_mut().skip(place.0.offset + left).take(count) {
        *slot = unassigned.clone();
    }
    set_length(array, left);
    Ok(Value::Nothing)
}

/// `jl_array_del_beg(a, n)`.
pub(super) fn delete_begin(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    let Some(left) = array.length().checked_sub(count) else { return too_many(runtime, array) };
    let unassigned = runtime.unassigned(&element)?;
    let place = array.0.place.borrow().clone();
    for slot in place.0.memory.0.fields.borrow_mut().values_mut().iter_mut().skip(place.0.offset).take(count) {
        *slot = unassigned.clone();
    }
    let moved = PlaceObject { memory: place.0.memory.clone(), offset: place.0.offset + count };
    *array.0.place.borrow_mut() = PlaceRef(Rc::new(moved));
    set_length(array, left);
    Ok(Value::Nothing)
}

/// `jl_array_del_at(a, i, n)`, the index counted from 0.
pub(super) fn delete_at(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let (array, element, count) = vector(args)?;
    let Some(at) = index_in(args, array.length())? else { return out_of_bounds(runtime, array, args) };
    let Some(end) = at.checked_add(count).filter(|&end| end <= array.length()) else {
        return too_many(runtime, array);
    };
    let mut elements = Value::Array(array.clone()).array_elements().unwrap_or_default();
    elements.drain(at..end);
    replace(runtime, array, &element, elements, 0)?;
    Ok(Value::Nothing)
}

/// The index in `(a, i, n)`; `None` if it is less than zero, or more than the length.
fn index_in(args: &[Value], length: usize) -> Result<Option<usize>> {
    let what = "a vector, an index inside of it and a number of elements";
    let at = args.get(1).map(index).transpose()?.ok_or_else(|| expected(what))?;
    Ok(usize::try_from(at).ok().filter(|&at| at <= length))
}

/// The exception of a vector that has no element at the index in `(a, i, n)`, which is counted from 0.
fn out_of_bounds(runtime: &Runtime<'_>, array: &ArrayRef, args: &[Value]) -> Result<Value> {
    let at = args.get(1).map(index).transpose()?.unwrap_or_default();
    let at = i64::try_from(at.saturating_add(1)).unwrap_or(i64::MAX);
    Err(runtime.exception("BoundsError", &["a", "i"], vec![Value::Array(array.clone()), Value::from(at)]))
}

fn too_many(runtime: &Runtime<'_>, array: &ArrayRef) -> Result<Value> {
    let fields = vec![Value::Array(array.clone()), Value::from(0)];
    Err(runtime.exception("BoundsError", &["a", "i"], fields))
}

/// `jl_array_sizehint(a, n)`: nothing to see.
pub(super) fn size_hint(_: &mut Runtime<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Nothing)
}

/// `sizeof`: the bytes of a string, of an array's elements, of a number or of a number type.
pub(super) fn size_of(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let bytes = |ty: &Type| ty.as_scalar().map(|ty| ty.bytes());
    let size = match args {
        [Value::String(text)] => Some(text.len()),
        [Value::Symbol(name)] => Some(name.len()),
        [Value::Scalar(scalar)] => Some(scalar.scalar_type().bytes()),
        [Value::Type(ty)] => bytes(ty),
        [Value::Array(array)] => {
            bytes(&array.0.place.borrow().0.memory.0.element).and_then(|bytes| bytes.checked_mul(array.length()))
        }
        _ => None,
    };
    match size.and_then(|size| i64::try_from(size).ok()) {
        Some(size) => Ok(Value::from(size)),
        None => Err(expected("a string, a number, a number type or an array of numbers")),
    }
}

#[cfg(test)]
mod tests {
    use ircode::parse_module;

    use crate::{Limits, Machine, Value};

    /// The sum of what comes out of a queue that holds two numbers at most.
    const QUEUE: &str = "
function f(n::Int64)::Int64
1 ─ %1  = $(Expr(:foreigncall, :(:jl_alloc_array_1d), Vector{Int64}, svec(Any, Int64), 0, :(:ccall), Vector{Int64}, 0, 0))::Vector{Int64}
2 ┄ %2  = φ (#1 => 1, #5 => %13)::Int64
│   %3  = φ (#1 => 0, #5 => %12)::Int64
│         $(Expr(:foreigncall, :(:jl_array_grow_end), Nothing, svec(Any, UInt64), 0, :(:ccall), %1, 0x0000000000000001, 0x0000000000000001))::Nothing
│   %5  = Base.arraylen(%1)::Int64
│         Base.arrayset(true, %1, %2, %5)::Vector{Int64}
│   %7  = Base.slt_int(1, %5)::Bool
└──       goto #4 if not %7
3 ─ %9  = Base.arrayref(true, %1, 1)::Int64
│         $(Expr(:foreigncall, :(:jl_array_del_beg), Nothing, svec(Any, UInt64), 0, :(:ccall), %1, 0x0000000000000001, 0x0000000000000001))::Nothing
4 ┄ %11 = φ (#2 => 0, #3 => %9)::Int64
│   %12 = Base.add_int(%3, %11)::Int64
│   %13 = Base.add_int(%2, 1)::Int64
│   %14 = Base.sle_int(%13, n)::Bool
└──       goto #6 if not %14
5 ─       goto #2
6 ─       return %12
end
";

    #[test]
    fn a_queue_gives_memory_back() {
        let module = parse_module(QUEUE).unwrap().module;
        let limits = Limits { memory: 1 << 12, ..Limits::default() };
        let n = 10_000;
        let sum = Machine::with_limits(&module, limits).call("f", &[Value::from(n)]).unwrap();
        assert_eq!(sum.to_string(), (n * (n - 1) / 2).to_string());
    }
}
