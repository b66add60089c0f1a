//! Addresses of arrays and numbers of objects, which Julia's library compares to see whether two of them share memory,
//! and arrays that share elements.
//!
//! Nothing can be read or written by an address.

use std::cell::Cell;

use ircode::{Scalar, Type};

use super::arrays::{array, dimensions};
use super::{Runtime, expected};
use crate::machine::Fault;
use crate::value::{MemoryObject, Value};

type Result<T> = std::result::Result<T, Fault>;

/// How far apart storages lie: further than any of them is long.
const DISTANCE: u64 = 1 << 36;

thread_local! {
    /// How many storages were asked for their address. Values stay on their thread, but are passed between machines.
    static ADDRESSED: Cell<u64> = const { Cell::new(0) };
}

/// Where a storage lies: storages that were asked lie in the order in which they were asked first.
fn address(memory: &MemoryObject) -> u64 {
    if memory.address.get() == 0 {
        let count = ADDRESSED.get() + 1;
        ADDRESSED.set(count);
        memory.address.set(count.wrapping_mul(DISTANCE));
    }
    memory.address.get()
}

/// `jl_array_ptr(a)`: the address of the first element, as an integer.
pub(super) fn array_address(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value] = args else { return Err(expected("an array")) };
    let place = array(value)?.0.place.borrow();
    let memory = &place.0.memory.0;
    let width = memory.element.as_scalar().map_or(8, |ty| ty.bytes());
    Ok(Value::Scalar(Scalar::UInt64(address(memory) + (place.0.offset * width) as u64)))
}

/// `jl_object_id(x)`: a number that is the same for what is egal, and another one for other objects.
pub(super) fn object_id(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let [value] = args else { return Err(expected("a value")) };
    Ok(Value::Scalar(Scalar::UInt64(value.identity_hash())))
}

/// `jl_reshape_array(Array{T,N}, a, dims)`: the same elements in other dimensions.
pub(super) fn reshape(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let what = "the type of an array, an array, and dimensions for as many elements";
    let [Value::Type(ty), value, dims] = args else { return Err(expected(what)) };
    let source = array(value)?;
    let (sizes, count) = dimensions(dims.as_tuple().unwrap_or_default()).ok_or_else(|| expected(what))?;
    let right_type = matches!(&**ty, Type::Array(array) if array.rank as usize == sizes.len()
        && array.element == source.0.place.borrow().0.memory.0.element);
    if count != source.length() || !right_type {
        return Err(expected(what));
    }
    Ok(Value::Array(source.reshaped(sizes)))
}
