//! Gives integer literals the width that their use needs.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Constant, Instruction, Module, Operand, Scalar, ScalarType, Stmt, Type};

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "type-literals";

/// Turns `Int64` literals into those of another integer type where their use needs that. True if there was one.
///
/// Julia prints `Int32(5)` as `5` in a listing, so a listing read back has an `Int64` there. Where the other operand of
/// an intrinsic, the type of a φ or of an invoke's parameter, or the type of the result says that only another width
/// makes sense, the literal is given that. No program in which the literals had their widths is changed.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    let mut changed = false;
    for id in ids {
        let Some(inst) = bb.inst(id) else { continue };
        let wanted = wanted_types(bb, context.module, inst);
        if wanted.iter().all(Option::is_none) {
            continue;
        }
        let Some(inst) = bb.inst_mut(id) else { continue };
        let mut retyped = |operand: &mut Operand<Ids>, wanted: &Option<ScalarType>| {
            if let (Operand::Constant(Constant::Scalar(Scalar::Int64(value))), Some(ty)) = (&*operand, wanted)
                && let Some(scalar) = Scalar::from_i128(*ty, i128::from(*value))
            {
                *operand = Operand::from(scalar);
                changed = true;
            }
        };
        match &mut inst.stmt {
            Stmt::Call(call) => call.args.iter_mut().zip(&wanted).for_each(|(arg, ty)| retyped(arg, ty)),
            Stmt::Invoke(invoke) => invoke.args.iter_mut().zip(&wanted).for_each(|(arg, ty)| retyped(arg, ty)),
            Stmt::Phi(phi) => {
                for (entry, ty) in phi.entries.iter_mut().zip(&wanted) {
                    if let Some(value) = &mut entry.value {
                        retyped(value, ty);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(changed)
}

/// Whether [`run`] would change this call.
pub(crate) fn changes(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> bool {
    let Some((_, args)) = inst.stmt.as_call() else { return false };
    let is_literal = |arg: &Operand<Ids>| matches!(arg, Operand::Constant(Constant::Scalar(Scalar::Int64(_))));
    args.iter().any(is_literal)
        && args.iter().zip(wanted_types(bb, module, inst)).any(|(arg, wanted)| is_literal(arg) && wanted.is_some())
}

/// An integer type other than that of plain literals.
fn narrow(ty: &Type) -> Option<ScalarType> {
    ty.as_scalar().filter(|ty| ty.is_integer() && *ty != ScalarType::Int64)
}

/// The integer type that each operand's place asks for, as far as it is known and is not `Int64`.
fn wanted_types(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Vec<Option<ScalarType>> {
    if let Stmt::Phi(phi) = &inst.stmt {
        return vec![narrow(&inst.ty); phi.entries.len()];
    }
    if let Some((primitive, args)) = module.primitive_call(&inst.stmt)
        && !matches!(inst.stmt, Stmt::Expr(_))
    {
        // What the name says is true of the built-in ones.
        if module.is_registered(primitive.name) {
            return Vec::new();
        }
        let same_type = primitive.name.ends_with("_int") && !primitive.name.contains("sh") && args.len() == 2
            || matches!(primitive.name, "===" | "!==");
        if !same_type {
            return Vec::new();
        }
        // What one operand is, the others must be.
        let known = args.iter().filter(|arg| arg.as_constant().is_none());
        let known = known.map(|arg| bb.operand_type(arg)).find(|ty| ty.as_scalar().is_some());
        let ty = known.as_ref().and_then(narrow);
        return vec![ty; args.len()];
    }
    match &inst.stmt {
        Stmt::Invoke(invoke) => {
            let types = &invoke.instance.argtypes;
            (0..invoke.args.len()).map(|i| types.get(i).and_then(narrow)).collect()
        }
        _ => Vec::new(),
    }
}
