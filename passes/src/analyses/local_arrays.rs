//! Arrays that a function makes and shows to nobody before it returns them.

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::MemoryEffect;
use ircode::{Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::replace::Replacements;

/// What makes an array of dimensions that are operands.
const NEW_ARRAY: MemoryEffect = MemoryEffect::NewArray { by_tuple: false };

/// The arrays of numbers that the function makes and shows to nobody while it runs, with the types of their elements.
/// It may return one, by the name of the statement that made it; what a store gives is the array, too, and is not
/// followed.
pub(crate) fn local_arrays(bb: &BBCode, module: &Module<BBCode>) -> SecondaryMap<InstId, Type> {
    let mut arrays: SecondaryMap<InstId, Type> = SecondaryMap::new();
    let mut stores: SecondaryMap<InstId, InstId> = SecondaryMap::new();
    for (id, inst) in bb.all_insts() {
        let Some((primitive, args)) = module.primitive_call(&inst.stmt) else { continue };
        match (primitive.name, args, &inst.ty) {
            (_, _, Type::Array(array)) if primitive.memory == NEW_ARRAY && array.element.as_scalar().is_some() => {
                arrays.insert(id, array.element.clone());
            }
            ("arrayset", [_, array, ..], _) => {
                stores.extend(array.as_value().map(|array| (id, array)));
            }
            _ => {}
        }
    }
    for (_, inst) in bb.all_insts() {
        let open = match (module.primitive_call(&inst.stmt), &inst.stmt) {
            (_, Stmt::Return(ret)) => ret.value.as_ref(),
            (Some((primitive, args)), Stmt::Call(_)) => match primitive.name {
                "arraysize" | "arraylen" => args.first(),
                _ => module.element_access(&inst.stmt).map(|access| access.array),
            },
            _ => None,
        };
        let mut open = open.and_then(Operand::as_value);
        inst.stmt.for_each_use(|used| match stores.get(used) {
            // What a store gives is the array.
            Some(&array) => {
                arrays.remove(array);
            }
            None if open == Some(used) => open = None,
            None => {
                arrays.remove(used);
            }
        });
    }
    arrays
}

/// The dimensions of an array that this statement makes; `None` if it makes none, or dimensions are not seen to be
/// integers of 64 bits.
pub(crate) fn dimensions<'a>(module: &Module<BBCode>, bb: &BBCode, stmt: &'a Stmt<Ids>) -> Option<&'a [Operand<Ids>]> {
    let (primitive, args) = module.primitive_call(stmt)?;
    let dims = match (primitive.memory, args) {
        (NEW_ARRAY, [_, dims @ ..]) => dims,
        _ => return None,
    };
    dims.iter().all(|dim| bb.operand_type(dim) == Type::INT64).then_some(dims)
}

/// Replaces the sizes of local arrays by what they were made of. True if there was one.
pub(crate) fn fold_sizes(bb: &mut BBCode, module: &Module<BBCode>) -> bool {
    let arrays = local_arrays(bb, module);
    if arrays.is_empty() {
        return false;
    }
    let (mut replaced, mut removed) = (Replacements::new(), Vec::new());
    for (id, inst) in bb.all_insts() {
        let Some((primitive, args)) = module.primitive_call(&inst.stmt) else { continue };
        let of = args.first().and_then(Operand::as_value).filter(|of| arrays.contains_key(*of));
        let Some(dims) = of.and_then(|of| dimensions(module, bb, bb.stmt(of)?)) else { continue };
        let size = match (primitive.name, args) {
            ("arraysize", [_, number]) => {
                number.as_int64().and_then(|number| dims.get(usize::try_from(number).ok()?.checked_sub(1)?))
            }
            ("arraylen", [_]) if dims.len() == 1 => dims.first(),
            _ => None,
        };
        if let Some(size) = size {
            replaced.insert(id, size.clone());
            removed.push(id);
        }
    }
    replaced.apply(bb);
    for &id in &removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    bb.fill_empty_blocks();
    !removed.is_empty()
}
