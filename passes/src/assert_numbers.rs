//! Lets arithmetic say that its operands are numbers, where they may be nothing.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::primitives::Primitive;
use ircode::{Constant, LineInfo, NewInstruction, Operand, Stmt, Type};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "assert-numbers";

/// What fails on `nothing` and `missing`, or is `missing` again: no number comes out of it.
const ON_NUMBERS: &[&str] = &[
    "+", "-", "*", "/", "^", "min", "max", "abs", "abs2", "<", "<=", ">", ">=", "sqrt", "cbrt", "exp", "exp2", "exp10",
    "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "hypot", "float", "muladd", "fma",
];

/// Puts a `Core.typeassert` before arithmetic on a number that may be `nothing` as far as its type says, as what
/// `findlast` and `get` give, or may be no value yet, as in reductions: what follows knows the number. True if there was such an operand.
///
/// Where the run has `nothing` there, it fails as it did, with another error: a `TypeError`, not a `MethodError`. It takes time linear in the function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut found: Vec<(InstId, LineInfo, Operand<Ids>, Type)> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let Some((primitive, args)) = context.module.primitive_call(&inst.stmt) else { continue };
        for (index, arg) in args.iter().enumerate() {
            // One that comes twice is replaced in both places.
            if let Some(ty) = number(bb, primitive, args, index)
                && !args.iter().take(index).any(|earlier| earlier == arg)
            {
                found.push((id, inst.line, arg.clone(), ty));
            }
        }
    }
    let changed = !found.is_empty();
    for (id, line, operand, ty) in found {
        assert(bb, id, line, &operand, ty)
            .map_err(|error| PassError::new(NAME, context.function, error.to_string()).at(bb, id))?;
    }
    Ok(changed)
}

/// The number that an operand has to be, if its type does not say so.
fn number(bb: &BBCode, primitive: &Primitive, args: &[Operand<Ids>], index: usize) -> Option<Type> {
    let Type::Union(members) = bb.operand_type(args.get(index)?) else { return None };
    let converts = match (primitive.name, args) {
        ("convert", [Operand::Constant(Constant::Type(to)), _]) => index == 1 && to.as_scalar().is_some(),
        _ => false,
    };
    if !converts && !ON_NUMBERS.contains(&primitive.name) {
        return None;
    }
    let is_none = |ty: &Type| match ty {
        Type::Nothing => true,
        Type::Named(name) => match name.rsplit('.').next() {
            // Where a reduction starts with no value.
            Some("_InitialValue") => true,
            // Arithmetic with `missing` is `missing`.
            Some("Missing") => converts,
            _ => false,
        },
        _ => false,
    };
    let mut numbers = members.iter().filter(|ty| !is_none(ty));
    let number = numbers.next().filter(|ty| ty.as_scalar().is_some())?;
    numbers.next().is_none().then(|| number.clone())
}

fn assert(bb: &mut BBCode, id: InstId, line: LineInfo, operand: &Operand<Ids>, ty: Type) -> Result<(), EditError> {
    let named = Operand::Constant(Constant::of_type(ty.clone()));
    let asserted = Stmt::call(Operand::global("Core", "typeassert"), [operand.clone(), named]);
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
