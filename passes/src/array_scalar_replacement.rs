//! Makes values of the elements of small arrays.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Constant, ElementAccess, LineInfo, Module, NewInstruction, Operand, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::analyses::local_arrays::{dimensions, local_arrays};
use crate::manager::Context;
use crate::{PassError, PassResult, mem2reg};

/// The pass's name on the command line.
pub const NAME: &str = "array-scalar-replacement";

/// Arrays of more elements stay.
const MOST_ELEMENTS: usize = 64;

/// At most this many elements of a function become variables: each may need a φ wherever ways meet.
const MOST_VARIABLES: usize = 1024;

/// Makes a variable of each element of an array of known size, if all indices into it are known, and values of the
/// variables. True if there was such an array. Copies stand where the loads were.
///
/// Nobody must be able to tell: the array was made in the function, and all that is done with it there are loads and
/// stores of elements that exist. It has at most 64 elements, which are numbers; all arrays of a function 1024. After
/// [`loop-unrolling`](crate::loop_unrolling) many indices are known.
///
/// Left alone are functions with try/catch.
///
/// This is the scalar replacement of aggregates for arrays, as in LLVM's SROA; it is [`mem2reg`] that makes the values.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    if bb.has_handlers() {
        return Ok(false);
    }
    let arrays = replaceable(bb, context.module);
    if arrays.is_empty() {
        return Ok(false);
    }
    let before = bb.clone();
    let mut slots: SecondaryMap<InstId, ()> = SecondaryMap::new();
    let result = arrays.iter().try_for_each(|array| replace(bb, array, &mut slots));
    result.map_err(|error| PassError::because(NAME, context.function, error))?;
    Ok(mem2reg::promote_all(bb, context.module, &slots, before))
}

/// An array whose elements can be variables.
struct Array {
    made: InstId,
    element: Type,
    dims: Vec<usize>,
    accesses: Vec<Access>,
}

/// A load or a store of an element.
struct Access {
    id: InstId,
    /// Which element, in memory order, from 0.
    element: usize,
    /// What is stored.
    stored: Option<Operand<Ids>>,
}

/// The arrays whose elements can be variables.
fn replaceable(bb: &BBCode, module: &Module<BBCode>) -> Vec<Array> {
    let mut found: SecondaryMap<InstId, Array> = SecondaryMap::new();
    for (made, element) in local_arrays(bb, module) {
        let Some(dims) = bb.stmt(made).and_then(|stmt| dimensions(module, bb, stmt)) else { continue };
        let dims: Option<Vec<usize>> =
            dims.iter().map(|dim| dim.as_int64().and_then(|dim| usize::try_from(dim).ok())).collect();
        let Some(dims) = dims else { continue };
        let length = dims.iter().try_fold(1_usize, |length, dim| length.checked_mul(*dim));
        if length.is_some_and(|length| length <= MOST_ELEMENTS) && zero(&element).is_some() {
            found.insert(made, Array { made, element, dims, accesses: Vec::new() });
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    for (id, inst) in bb.all_insts() {
        let (mut array, mut access) = (None, None);
        if let Some(ElementAccess { array: of, indices, stored, .. }) = module.element_access(&inst.stmt) {
            array = of.as_value().filter(|of| found.contains_key(*of));
            if let Some(of) = array.and_then(|of| found.get(of)) {
                let fits = match stored {
                    Some(stored) => bb.operand_type(stored) == of.element,
                    None => inst.ty == of.element,
                };
                access = position(&of.dims, indices).filter(|_| fits);
                access = access.filter(|_| !matches!(stored, Some(Operand::Global(_) | Operand::Nested(_))));
            }
            if let (Some(of), Some(element)) = (array.and_then(|of| found.get_mut(of)), access) {
                of.accesses.push(Access { id, element, stored: stored.cloned() });
            }
        }
        let known = array.filter(|_| access.is_some());
        inst.stmt.for_each_use(|used| {
            if Some(used) != known {
                found.remove(used);
            }
        });
    }
    // What a store gives is the array.
    let mut stores: SecondaryMap<InstId, InstId> = SecondaryMap::new();
    for (made, array) in &found {
        stores.extend(array.accesses.iter().filter(|access| access.stored.is_some()).map(|access| (access.id, made)));
    }
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_use(|used| {
            if let Some(&made) = stores.get(used) {
                found.remove(made);
            }
        });
    }
    let mut left = MOST_VARIABLES;
    let mut fits = |array: &Array| {
        let rest = left.checked_sub(array.dims.iter().product());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    found.into_iter().map(|(_, array)| array).filter(|array| fits(array)).collect()
}

/// Which element constant indices name, in memory order, from 0; `None` if they are not constant or there is no such
/// element.
fn position(dims: &[usize], indices: &[Operand<Ids>]) -> Option<usize> {
    let index = |operand: &Operand<Ids>| usize::try_from(operand.as_int64()?).ok()?.checked_sub(1);
    if let [only] = indices {
        return index(only).filter(|&index| index < dims.iter().product());
    }
    if indices.len() != dims.len() {
        return None;
    }
    let (mut position, mut stride) = (0, 1);
    for (operand, &dim) in indices.iter().zip(dims) {
        position += stride * index(operand).filter(|&index| index < dim)?;
        stride *= dim;
    }
    Some(position)
}

/// What an element of a new array is.
fn zero(element: &Type) -> Option<Operand<Ids>> {
    Some(Operand::from(Scalar::from_bits(element.as_scalar()?, 0)))
}

/// Puts variables in the place of an array.
fn replace(bb: &mut BBCode, array: &Array, slots: &mut SecondaryMap<InstId, ()>) -> Result<(), EditError> {
    let Some(zero) = zero(&array.element) else { return Ok(()) };
    let call = |name: &str, args: Vec<Operand<Ids>>, ty: Type, line: LineInfo| {
        NewInstruction::new(Stmt::call(Operand::global("BBKit", name), args), ty).with_line(line)
    };
    let line = |bb: &BBCode, id: InstId| bb.inst(id).map(|inst| inst.line).unwrap_or_default();
    let made = line(bb, array.made);
    let mut elements: Vec<InstId> = Vec::new();
    for _ in 0..array.dims.iter().product() {
        let ty = Operand::Constant(Constant::of_type(array.element.clone()));
        let new = call("new_slot", vec![ty], Type::slot(array.element.clone()), made);
        let slot = bb.insert_before(array.made, new)?;
        let start = vec![Operand::Value(slot), zero.clone()];
        bb.insert_before(array.made, call("slot_set!", start, Type::Nothing, made))?;
        slots.insert(slot, ());
        elements.push(slot);
    }
    for access in &array.accesses {
        let Some(&slot) = elements.get(access.element) else { continue };
        let slot = Operand::Value(slot);
        let at = line(bb, access.id);
        match &access.stored {
            Some(stored) => {
                bb.insert_before(access.id, call("slot_set!", vec![slot, stored.clone()], Type::Nothing, at))?;
                bb.remove_unchecked(access.id)?;
            }
            None => {
                let get = bb.insert_before(access.id, call("slot_get", vec![slot], array.element.clone(), at))?;
                bb.replace(access.id, Stmt::Value(Operand::Value(get)))?;
            }
        }
    }
    bb.remove_unchecked(array.made)?;
    Ok(())
}
