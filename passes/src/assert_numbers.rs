//! Lets arithmetic say that its operands are numbers, where they may be nothing.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::primitives::Primitive;
use ircode::{Constant, LineInfo, Module, NewInstruction, Operand, ScalarType, Stmt, Type};
use smallvec::SmallVec;

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "assert-numbers";

/// At most this many tests on the way to a statement are looked at.
const MOST_TESTS: usize = 16;

/// Puts a `BBKit.assert_number` before arithmetic on a number that may be `nothing` as far as its type says, as what
/// `findlast` and `get` give, or may be no value yet, as in reductions: what follows knows the number. True if there
/// was such an operand.
///
/// What `isa` has found not to be there on the only way to a statement is not: where Julia goes through the types of a
/// union, the last arm has what is no number.
///
/// Where the run has `nothing` there, it throws a `MethodError`, as it did, but one of `convert`. It takes time linear in
/// the function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut found: Vec<(InstId, LineInfo, Operand<Ids>, Type)> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let Some((primitive, args)) = context.module.primitive_call(&inst.stmt) else { continue };
        for (index, arg) in args.iter().enumerate() {
            let tested = |ty: &Type| tests_before(bb, context.module, id, arg).contains(ty);
            // One that comes twice is replaced in both places.
            if let Some(ty) = number(bb, primitive, args, index, &inst.ty, &tested)
                && !args.iter().take(index).any(|earlier| earlier == arg)
            {
                found.push((id, inst.line, arg.clone(), ty));
            }
        }
    }
    let changed = !found.is_empty();
    for (id, line, operand, ty) in found {
        assert(bb, id, line, &operand, ty)
            .map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
    }
    Ok(changed)
}

/// The number that an operand has to be for a result of this type, if its own type does not say so; `tested` says of
/// which types it is not.
fn number(
    bb: &BBCode,
    primitive: &Primitive,
    args: &[Operand<Ids>],
    index: usize,
    result: &Type,
    tested: &dyn Fn(&Type) -> bool,
) -> Option<Type> {
    let ty = bb.operand_type(args.get(index)?);
    let members = match &ty {
        Type::Union(members) => members.as_slice(),
        // It is never a number, as where Julia has split a union and kept the type that the call had before.
        ty if primitive.fails_on(ty) => std::slice::from_ref(ty),
        _ => return None,
    };
    let converts = match (primitive.name, args) {
        ("convert", [Operand::Constant(Constant::Type(to)), _]) => index == 1 && to.as_scalar().is_some(),
        _ => false,
    };
    if !converts && !primitive.is_arithmetic() {
        return None;
    }
    let is_float = |ty: &Type| ty.as_scalar().is_some_and(ScalarType::is_float);
    let numbers: Vec<&Type> = members.iter().filter(|ty| !primitive.fails_on(ty)).collect();
    if !numbers.iter().all(|ty| ty.as_scalar().is_some()) {
        return None;
    }
    let left = |ty: &&Type| numbers.len() == 1 || !tested(ty);
    match *numbers.iter().copied().filter(left).collect::<Vec<_>>().as_slice() {
        [number] => Some(number.clone()),
        // There is no number, so that it fails whichever is asked for.
        [] => {
            let any = numbers.iter().find(|ty| is_float(ty)).or(numbers.first()).map(|ty| (**ty).clone());
            any.or_else(|| Some(result).filter(|ty| ty.as_scalar().is_some() && **ty != Type::BOOL).cloned())
                .or(Some(Type::FLOAT64))
        }
        _ => None,
    }
}

/// The types that a value was found not to be of by tests before a statement, on the only way to it.
fn tests_before(bb: &BBCode, module: &Module<BBCode>, id: InstId, value: &Operand<Ids>) -> SmallVec<[Type; 4]> {
    let mut found = SmallVec::new();
    let graph = bb.cfg();
    let Some(mut block) = bb.block_of(id) else { return found };
    for _ in 0..MOST_TESTS {
        let mut before = graph.predecessors(block);
        let (Some(test), None) = (before.next(), before.next()) else { break };
        if let Some((_, inst)) = bb.terminator(test)
            && let Stmt::GotoIfNot(goto) = &inst.stmt
            && goto.dest == block
            && let Some(asked) = goto.cond.as_value().and_then(|asked| bb.stmt(asked))
            && let Some((primitive, [of, ty])) = module.primitive_call(asked)
            && (primitive.name, of) == ("isa", value)
        {
            found.extend(module.named_type(ty));
        }
        block = test;
    }
    found
}

fn assert(bb: &mut BBCode, id: InstId, line: LineInfo, operand: &Operand<Ids>, ty: Type) -> Result<(), EditError> {
    let named = Operand::Constant(Constant::of_type(ty.clone()));
    let asserted = Stmt::call(Operand::global("BBKit", "assert_number"), [operand.clone(), named]);
    let asserted = bb.insert_before(id, NewInstruction::new(asserted, ty).with_line(line))?;
    if let Some(inst) = bb.inst_mut(id) {
        inst.stmt.for_each_operand_mut(&mut |own| {
            if own == operand {
                *own = Operand::Value(asserted);
            }
        });
    }
    Ok(())
}
