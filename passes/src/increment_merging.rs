//! Adds to an element once what is added to it several times.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, ElementAccess, Instruction, Module, NewInstruction, Operand, Scalar, Stmt};
use smallvec::SmallVec;

use crate::analyses::effects::effects;
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "increment-merging";

/// Adds up first what a block adds to one element of an array, or subtracts from it, and then changes the element once.
/// True if there was such an element.
///
/// ```text
/// %1 = arrayref(true, a, i)         %1 = arrayref(true, a, i)
/// %2 = add_float(%1, p)
/// arrayset(true, a, %2, i)
/// %4 = arrayref(true, a, i)         %2 = sub_float(p, q)
/// %5 = sub_float(%4, q)             %3 = add_float(%1, %2)
/// arrayset(true, a, %5, i)          arrayset(true, a, %3, i)
/// ```
///
/// Adjoints of elements are incremented like that, once for each use of the element; each increment waits for the one
/// before. Others may come in between, of the same array or of another: whichever elements they are of, it does not
/// matter in which order numbers are added. Whatever else reads or writes memory in between, or may throw, keeps the
/// increments apart.
///
/// **It changes rounding**, and therefore is in no pipeline unless it is asked for. If an index is out of bounds, the
/// error is the same, but elements may lack what was to be added before. Takes time linear in the function, and knows
/// indices to be the same if they are the same value.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::{increment_merging, run_on_function};
///
/// let parsed = parse_module("
/// function f(a::Vector{Float64}, p::Float64, q::Float64)::Nothing
/// 1 ─ %1 = Base.arrayref(true, a, 1)::Float64
/// │   %2 = Base.add_float(%1, p)::Float64
/// │        Base.arrayset(true, a, %2, 1)::Vector{Float64}
/// │   %4 = Base.arrayref(true, a, 1)::Float64
/// │   %5 = Base.sub_float(%4, q)::Float64
/// │        Base.arrayset(true, a, %5, 1)::Vector{Float64}
/// └──      return nothing
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// assert!(run_on_function(&mut module, &"f".into(), increment_merging::run)?);
/// assert_eq!(ircode::IRCode::try_from(&module.functions()[0].body)?.to_string(), "\
/// 1 ─ %1 = Base.arrayref(true, _2, 1)::Float64
/// │   %2 = Base.sub_float(_3, _4)::Float64
/// │   %3 = Base.add_float(%1, %2)::Float64
/// │        Base.arrayset(true, _2, %3, 1)::Vector{Float64}
/// └──      return nothing
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let blocks: Vec<BlockId> = bb.blocks().collect();
    let mut changed = false;
    for block in blocks {
        changed |=
            merge_in(bb, context.module, block).map_err(|error| PassError::because(NAME, context.function, error))?;
    }
    Ok(changed)
}

/// What an element is named by: the array and the indices.
type Element = SmallVec<[Name; 3]>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Value(InstId),
    Argument(u32),
    Number(i128),
}

/// A load, what is made of it, and the store of that.
struct Increment {
    load: InstId,
    sum: InstId,
    store: InstId,
    /// What is added or, if it is not `added`, subtracted.
    term: Operand<Ids>,
    added: bool,
    /// How many increments came before it in the block.
    number: usize,
}

fn merge_in(bb: &mut BBCode, module: &Module<BBCode>, block: BlockId) -> Result<bool, EditError> {
    let mut changed = false;
    let mut number = 0;
    // The last increment of each element since something else touched memory, and the load of one that is not complete.
    let mut before: HashMap<Element, Increment> = HashMap::new();
    let mut begun: Option<(InstId, Element)> = None;
    let ids: Vec<InstId> = bb.inst_ids(block).collect();
    for id in ids {
        let Some(inst) = bb.inst(id) else { continue };
        let effects = effects(module, bb, inst);
        if !effects.reads && !effects.writes && !effects.throws {
            continue;
        }
        let (load, store) = (loaded(module, inst), stored(module, inst));
        let complete = match begun.take() {
            Some((load, element)) if store.is_some_and(|store| store == element) => {
                increment(bb, module, load, id, number).map(|increment| (element, increment))
            }
            // That load was of something else.
            Some(_) => {
                before.clear();
                None
            }
            None => None,
        };
        if let Some((element, later)) = complete {
            number += 1;
            let merged = match before.remove(&element) {
                Some(earlier) => {
                    changed = true;
                    merge(bb, earlier, later)?
                }
                None => later,
            };
            before.insert(element, merged);
            continue;
        }
        match load {
            Some(element) => begun = Some((id, element)),
            None => before.clear(),
        }
    }
    Ok(changed)
}

/// The increment that a load and a store of one element are, if nothing else uses what lies between them.
fn increment(bb: &BBCode, module: &Module<BBCode>, load: InstId, store: InstId, number: usize) -> Option<Increment> {
    let [sum] = *bb.users(load) else { return None };
    if *bb.users(sum) != [store] || !bb.users(store).is_empty() {
        return None;
    }
    let (_, [_, _, stored, ..]) = module.primitive_call(bb.stmt(store)?)? else { return None };
    if stored.as_value() != Some(sum) {
        return None;
    }
    let of_load = |operand: &Operand<Ids>| operand.as_value() == Some(load);
    let (primitive, [a, b]) = module.primitive_call(bb.stmt(sum)?)? else { return None };
    let (term, added) = match primitive.name {
        "add_float" if of_load(a) => (b, true),
        "add_float" if of_load(b) => (a, true),
        "sub_float" if of_load(a) => (b, false),
        _ => return None,
    };
    Some(Increment { load, sum, store, term: term.clone(), added, number })
}

/// Leaves of two increments of one element the later one, of both terms.
fn merge(bb: &mut BBCode, earlier: Increment, later: Increment) -> Result<Increment, EditError> {
    let (name, a, b, added) = match (earlier.added, later.added) {
        (true, true) => ("add_float", earlier.term, later.term, true),
        (false, false) => ("add_float", earlier.term, later.term, false),
        (true, false) => ("sub_float", earlier.term, later.term, true),
        (false, true) => ("sub_float", later.term, earlier.term, true),
    };
    let ty = bb.operand_type(&Operand::Value(later.sum));
    let both = Stmt::call(Operand::global("Base", name), [a, b]);
    let term = Operand::Value(bb.insert_before(later.sum, NewInstruction::new(both, ty))?);
    let sum = match added {
        true => "add_float",
        false => "sub_float",
    };
    if let Some(inst) = bb.inst_mut(later.sum) {
        inst.stmt = Stmt::call(Operand::global("Base", sum), [Operand::Value(later.load), term.clone()]);
    }
    bb.remove(earlier.store)?;
    bb.remove(earlier.sum)?;
    // The first of two errors stays the first.
    if earlier.number + 1 == later.number {
        bb.remove(earlier.load)?;
    }
    Ok(Increment { term, added, ..later })
}

/// The element that a statement loads.
fn loaded(module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Element> {
    module.element_access(&inst.stmt).filter(|access| access.stored.is_none()).and_then(element)
}

/// The element that a statement stores.
fn stored(module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Element> {
    module.element_access(&inst.stmt).filter(|access| access.stored.is_some()).and_then(element)
}

fn element(access: ElementAccess<'_, Ids>) -> Option<Element> {
    std::iter::once(access.array)
        .chain(access.indices)
        .map(|operand| match operand {
            Operand::Value(value) => Some(Name::Value(*value)),
            Operand::Argument(argument) => Some(Name::Argument(argument.0)),
            Operand::Constant(Constant::Scalar(scalar @ Scalar::Int64(_))) => Some(Name::Number(scalar.to_i128())),
            _ => None,
        })
        .collect()
}
