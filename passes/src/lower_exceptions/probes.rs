//! Functions that try whether something fails.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, OddEdges};
use ircode::primitives::{Primitive, ResultType};
use ircode::{Argument, Constant, EnterNode, Function, Head, Name, NewInstruction, Operand, Stmt, Type};

use super::{Lowering, NAME, failure};
use crate::PassError;
use crate::differentiation::base_names::base_name;

/// What a statement does that is tried.
#[derive(Clone, Debug)]
pub(super) enum Tried {
    /// It is this primitive.
    Primitive(&'static Primitive),
    /// It asks whether a variable is assigned.
    Undefined,
    /// It calls the function of this name, which stays the one that is called.
    Function(Name),
}

/// A call that tries.
pub(super) struct Probe {
    pub(super) name: Name,
    pub(super) args: Vec<Operand<Ids>>,
}

/// How a statement is tried: by doing the same, where that changes nothing but may fail, and, where it changes
/// something, by what fails where it does, or on another vector of the same length. The function is given as it is now
/// and as it was.
pub(super) fn of(
    lowering: &mut Lowering<'_>,
    function: &Name,
    (bb, original): (&BBCode, &BBCode),
    at: InstId,
    tried: &Tried,
) -> Result<Probe, PassError> {
    let refused = |message: String| PassError::new(NAME, function, message).at(original, at);
    let Some(inst) = bb.inst(at) else { return Err(refused("it is gone".into())) };
    let (mut stmt, mut ty) = (inst.stmt.clone(), inst.ty.clone());
    let mut stands_in = false;
    if let Tried::Primitive(primitive) = tried
        && primitive.effects.writes
        && primitive.result != ResultType::Bottom
    {
        // Whether elements can be moved depends on the length alone, and another vector takes no longer to make than
        // they to move.
        stands_in = matches!(primitive.name, "jl_array_del_at" | "jl_array_grow_at")
            && lowering.module.primitive_call(&stmt).and_then(|(_, args)| args.first()).is_some_and(|array| {
                matches!(array, Operand::Value(_) | Operand::Argument(_))
                    && matches!(bb.operand_type(array), Type::Array(_))
            });
        match instead(lowering, bb, &stmt) {
            Some(other) => (stmt, ty) = other,
            None if stands_in => {}
            None => {
                let what = primitive.name;
                return Err(refused(format!(
                    "inside of try, a call of `{what}` cannot be made a branch: it may fail, and changes something"
                )));
            }
        }
    }
    let mut args: Vec<Operand<Ids>> = Vec::new();
    let mut argtypes: Vec<Type> = Vec::new();
    stmt.for_each_operand_mut(&mut |operand| {
        if matches!(operand, Operand::Value(_) | Operand::Argument(_)) {
            argtypes.push(bb.operand_type(operand));
            let parameter = Operand::Argument(Argument::from_index(argtypes.len()));
            args.push(std::mem::replace(operand, parameter));
        }
    });
    // What static parameters stand for is not in the statement.
    let key = format!("{stmt:?}({argtypes:?}){:?}", bb.sptypes);
    if let Some(name) = lowering.probes.get(&key).cloned() {
        lowering.tries.push((lowering.caller, name.clone()));
        return Ok(Probe { name, args });
    }
    let what = match tried {
        Tried::Primitive(primitive) => primitive.name.trim_end_matches('!').to_string(),
        Tried::Undefined => "undefined".to_string(),
        Tried::Function(name) => base_name(name),
    };
    let name = lowering.free_name(&format!("{what}_throws"));
    argtypes.insert(0, Type::function(name.clone()));
    let mut body = body(lowering, (stmt, ty), stands_in, argtypes).map_err(|error| refused(error.to_string()))?;
    body.sptypes.clone_from(&bb.sptypes);
    let result = lowering.tried();
    lowering.add(Function { result, ..Function::new(name.clone(), Type::Any, body) });
    lowering.probes.insert(key, name.clone());
    lowering.tries.push((lowering.caller, name.clone()));
    Ok(Probe { name, args })
}

/// What fails where a statement does that changes something, and its type. It only reads: where an element can be read
/// it can be written, whatever is there.
fn instead(lowering: &Lowering<'_>, bb: &BBCode, stmt: &Stmt<Ids>) -> Option<(Stmt<Ids>, Type)> {
    let module = lowering.module;
    let holds = |element: &Type, value: &Operand<Ids>| module.is_a(&bb.operand_type(value), element) == Some(true);
    let read = |array: &Operand<Ids>, element: &Type, indices: Vec<Operand<Ids>>| {
        let operands = std::iter::once(array.clone()).chain(indices);
        let kept = Type::union([Type::Nothing, Type::tuple([element.clone()])]);
        (Stmt::call(Operand::global("BBKit", "saved_element"), operands), kept)
    };
    let (primitive, args) = module.primitive_call(stmt)?;
    match (primitive.name, args) {
        ("arrayset", [_, array, value, indices @ ..]) | ("setindex!", [array, value, indices @ ..]) => {
            let Type::Array(of) = bb.operand_type(array) else { return None };
            holds(&of.element, value).then(|| read(array, &of.element, indices.to_vec()))
        }
        ("jl_array_del_beg" | "jl_array_del_end", [array, number]) => {
            let Type::Array(of) = bb.operand_type(array) else { return None };
            let number = number.as_constant()?.as_scalar()?.to_i128();
            let last = i64::try_from(number).ok().filter(|number| *number > 0)?;
            Some(read(array, &of.element, vec![last.into()]))
        }
        ("memoryrefset!", [place, value, ..]) => {
            let ty = bb.operand_type(place);
            let Type::MemoryRef(element) = &ty else { return None };
            let operands = [place.clone(), 1_i64.into(), true.into()];
            let same_place = Stmt::call(Operand::global("Base", "memoryrefnew"), operands);
            holds(element, value).then(|| (same_place, ty.clone()))
        }
        _ => None,
    }
}

/// `try stmt; (false, nothing) catch e; (true, nothing, e) end`. Where something stands in for the first argument, a
/// vector, the statement has another one of the same length in its place.
fn body(
    lowering: &Lowering<'_>,
    (mut stmt, ty): (Stmt<Ids>, Type),
    stands_in: bool,
    argtypes: Vec<Type>,
) -> Result<BBCode, EditError> {
    let mut bb = BBCode::new(argtypes);
    let [entry, tries, fine, catch]: [BlockId; 4] = std::array::from_fn(|_| bb.push_block());
    let inst = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty);
    let token =
        bb.push(entry, inst(Stmt::Enter(Box::new(EnterNode { catch_dest: Some(catch), scope: None })), Type::Any))?;
    bb.set_next(entry, Some(tries))?;
    bb.set_odd_edges(catch, OddEdges { virtual_preds: 1, ..OddEdges::default() })?;
    if stands_in {
        let first = Operand::Argument(Argument::from_index(1));
        let length = Stmt::call(Operand::global("Base", "arraylen"), [first.clone()]);
        let length = bb.push(tries, inst(length, Type::INT64))?;
        let bools = [Operand::Constant(Constant::of_type(Type::BOOL)), Operand::Value(length)];
        let other = inst(Stmt::call(Operand::global("BBKit", "new_array"), bools), Type::array(Type::BOOL, 1));
        let other = bb.push(tries, other)?;
        stmt.for_each_operand_mut(&mut |operand| {
            if *operand == first {
                *operand = Operand::Value(other);
            }
        });
    }
    bb.push(tries, inst(stmt, ty))?;
    bb.push(tries, inst(Stmt::expr(Head::Leave, [Operand::Value(token)]), Type::Any))?;
    bb.set_next(tries, Some(fine))?;
    let outcome = |bb: &mut BBCode, block: BlockId, threw: bool, exception: Operand<Ids>| {
        let carried = lowering.carries.then_some(exception);
        let parts = [threw.into(), Operand::nothing()].into_iter().chain(carried);
        let tuple = bb.push(block, inst(Stmt::call(Operand::global("Core", "tuple"), parts), lowering.tried()))?;
        bb.push(block, inst(Stmt::ret(Operand::Value(tuple)), Type::Any))
    };
    outcome(&mut bb, fine, false, Operand::nothing())?;
    let exception = match lowering.carries {
        true => {
            let exception = inst(Stmt::expr(Head::TheException, []), failure());
            Operand::Value(bb.push(catch, exception)?)
        }
        false => Operand::nothing(),
    };
    bb.push(catch, inst(Stmt::expr(Head::PopException, [Operand::Value(token)]), Type::Any))?;
    outcome(&mut bb, catch, true, exception)?;
    Ok(bb)
}
