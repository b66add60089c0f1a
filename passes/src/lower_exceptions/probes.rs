//! Functions that try whether a primitive fails.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, OddEdges};
use ircode::primitives::{Primitive, ResultType};
use ircode::{Argument, EnterNode, Function, Head, Name, NewInstruction, Operand, Stmt, Type};

use super::{Lowering, NAME, exception_type};
use crate::PassError;

/// A call that tries.
pub(super) struct Probe {
    pub(super) name: Name,
    pub(super) args: Vec<Operand<Ids>>,
}

/// How a call of this primitive at a statement is tried: by doing the same, where that changes nothing but may fail. The function is given as it is now
/// and as it was.
pub(super) fn of(
    lowering: &mut Lowering<'_>,
    function: &Name,
    (bb, original): (&BBCode, &BBCode),
    at: InstId,
    primitive: &'static Primitive,
) -> Result<Probe, PassError> {
    let refused = |message: String| PassError::new(NAME, function, message).at(original, at);
    let Some(inst) = bb.inst(at) else { return Err(refused("it is gone".into())) };
    let (mut stmt, mut ty) = (inst.stmt.clone(), inst.ty.clone());
    if primitive.name == "arrayset" {
        // Where an element can be read it can be written, if there are no elements that are not assigned.
        let operands = operands_of(&stmt);
        let element = match operands.get(1).map(|array| bb.operand_type(array)) {
            Some(Type::Array(array)) if matches!(array.element, Type::Scalar(_)) => array.element.clone(),
            _ => {
                return Err(refused(
                    "inside of try, this cannot be made a branch: it may fail, and changes something".into(),
                ));
            }
        };
        let read = operands.iter().enumerate().filter(|(number, _)| *number != 2).map(|(_, operand)| operand.clone());
        stmt = Stmt::call(Operand::global("Base", "arrayref"), read.collect::<Vec<_>>());
        ty = element;
    } else if primitive.effects.writes && primitive.result != ResultType::Bottom {
        let message = format!(
            "inside of try, a call of `{}` cannot be made a branch: it may fail, and changes something",
            primitive.name
        );
        return Err(refused(message));
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
    let key = format!("{stmt:?}({argtypes:?})");
    if let Some(name) = lowering.probes.get(&key) {
        return Ok(Probe { name: name.clone(), args });
    }
    let name = lowering.free_name(&format!("{}_throws", primitive.name.trim_end_matches('!')));
    argtypes.insert(0, Type::function(name.clone()));
    let body = body(stmt, ty, argtypes, lowering.carries).map_err(|error| refused(error.to_string()))?;
    let result = lowering.outcome(&Type::Bottom);
    lowering.add(Function { result, ..Function::new(name.clone(), Type::Any, body) });
    lowering.probes.insert(key, name.clone());
    Ok(Probe { name, args })
}

fn operands_of(stmt: &Stmt<Ids>) -> Vec<Operand<Ids>> {
    match stmt {
        Stmt::Call(call) => call.args.to_vec(),
        Stmt::Invoke(invoke) => invoke.args.to_vec(),
        _ => Vec::new(),
    }
}

/// `try stmt; (false, nothing) catch e; (true, nothing, e) end`.
fn body(stmt: Stmt<Ids>, ty: Type, argtypes: Vec<Type>, carries: bool) -> Result<BBCode, EditError> {
    let mut bb = BBCode::new(argtypes);
    let [entry, tries, fine, catch]: [BlockId; 4] = std::array::from_fn(|_| bb.push_block());
    let inst = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty);
    let token =
        bb.push(entry, inst(Stmt::Enter(Box::new(EnterNode { catch_dest: Some(catch), scope: None })), Type::Any))?;
    bb.set_next(entry, Some(tries))?;
    bb.set_odd_edges(catch, OddEdges { virtual_preds: 1, ..OddEdges::default() })?;
    bb.push(tries, inst(stmt, ty))?;
    bb.push(tries, inst(expr(Head::Leave, [Operand::Value(token)]), Type::Any))?;
    bb.set_next(tries, Some(fine))?;
    let outcome = |bb: &mut BBCode, block: BlockId, threw: bool, exception: Operand<Ids>| {
        let mut parts = vec![threw.into(), Operand::nothing()];
        let mut types = vec![Type::BOOL, Type::Nothing];
        if carries {
            parts.push(exception);
            types.push(exception_type());
        }
        let tuple = bb.push(block, inst(Stmt::call(Operand::global("Core", "tuple"), parts), Type::tuple(types)))?;
        bb.push(block, inst(Stmt::ret(Operand::Value(tuple)), Type::Any))
    };
    outcome(&mut bb, fine, false, Operand::nothing())?;
    let exception = match carries {
        true => Operand::Value(bb.push(catch, inst(expr(Head::TheException, []), exception_type()))?),
        false => Operand::nothing(),
    };
    bb.push(catch, inst(expr(Head::PopException, [Operand::Value(token)]), Type::Any))?;
    outcome(&mut bb, catch, true, exception)?;
    Ok(bb)
}

fn expr<const N: usize>(head: Head, args: [Operand<Ids>; N]) -> Stmt<Ids> {
    Stmt::expr(head, args)
}
