//! Gives integer literals the width that their use needs.

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::{Primitive, ResultType};
use ircode::{Constant, Head, Instruction, Module, Operand, Scalar, ScalarType, Stmt, Type, field_position};

use crate::PassResult;
use crate::link_methods::{function_called, type_of};
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "type-literals";

/// Turns `Int64` literals into those of another integer type where their use needs that. True if there was one.
///
/// Julia prints `Int32(5)` as `5` in a listing, so a listing read back has an `Int64` there. Where the other operand
/// of an intrinsic, what its statement is said to give, the type of a φ, of a field, an element or a parameter, or the
/// type of the result says that only another width makes sense, the literal is given that. No program in which the
/// literals had their widths is changed.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut found: Vec<(InstId, Vec<Option<ScalarType>>)> = Vec::new();
    for (id, inst) in bb.all_insts().filter(|(_, inst)| has_literal(&inst.stmt)) {
        let wanted = match &inst.stmt {
            Stmt::Return(_) => {
                let function = context.module.function(context.function);
                vec![function.and_then(|function| narrow(&function.result))]
            }
            _ => wanted_types(bb, context.module, inst),
        };
        if wanted.iter().any(Option::is_some) {
            found.push((id, wanted));
        }
    }
    let mut changed = false;
    for (id, wanted) in found {
        let Some(inst) = bb.inst_mut(id) else { continue };
        let mut retyped = |operand: &mut Operand<Ids>, wanted: &Option<ScalarType>| {
            if let (Operand::Constant(constant), Some(ty)) = (&*operand, wanted)
                && let Some(constant) = of_type(constant, *ty)
            {
                *operand = Operand::Constant(constant);
                changed = true;
            }
        };
        match &mut inst.stmt {
            Stmt::Call(call) => call.args.iter_mut().zip(&wanted).for_each(|(arg, ty)| retyped(arg, ty)),
            Stmt::Invoke(invoke) => invoke.args.iter_mut().zip(&wanted).for_each(|(arg, ty)| retyped(arg, ty)),
            Stmt::Expr(expr) => expr.args.iter_mut().zip(&wanted).for_each(|(arg, ty)| retyped(arg, ty)),
            Stmt::Return(ret) => ret.value.iter_mut().zip(&wanted).for_each(|(value, ty)| retyped(value, ty)),
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

/// A literal, or a tuple of literals, with numbers of this type, if it can be written so.
fn of_type(constant: &Constant, ty: ScalarType) -> Option<Constant> {
    match constant {
        Constant::Scalar(Scalar::Int64(value)) => Scalar::from_i128(ty, i128::from(*value)).map(Constant::Scalar),
        Constant::Tuple(parts) => {
            let parts: Option<Vec<Constant>> = parts.iter().map(|part| of_type(part, ty)).collect();
            parts.map(|parts| Constant::Tuple(parts.into()))
        }
        _ => None,
    }
}

/// Whether a literal may be meant to be of another width.
fn is_literal(operand: &Operand<Ids>) -> bool {
    let is_number = |constant: &Constant| matches!(constant, Constant::Scalar(Scalar::Int64(_)));
    match operand {
        Operand::Constant(Constant::Tuple(parts)) => !parts.is_empty() && parts.iter().all(is_number),
        Operand::Constant(constant) => is_number(constant),
        _ => false,
    }
}

fn has_literal(stmt: &Stmt<Ids>) -> bool {
    let mut has_literal = false;
    stmt.for_each_operand(&mut |operand| has_literal |= is_literal(operand));
    has_literal
}

/// Whether [`run`] would change this call.
pub(crate) fn changes(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> bool {
    let Some((_, args)) = inst.stmt.as_call() else { return false };
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
        if let Some(wanted) = stored_types(bb, module, inst, primitive.name, args) {
            return wanted;
        }
        return operand_types(bb, inst, primitive, args);
    }
    match &inst.stmt {
        Stmt::Invoke(invoke) => {
            let types = &invoke.instance.argtypes;
            let own = parameters(module, &inst.stmt);
            // What the instance says comes first.
            let of = |index: usize| match types.get(index).filter(|ty| **ty != Type::Untyped) {
                Some(ty) => narrow(ty),
                None => own?.get(index).and_then(narrow),
            };
            (0..invoke.args.len()).map(of).collect()
        }
        Stmt::Call(call) => {
            let own = parameters(module, &inst.stmt).unwrap_or_default();
            (0..call.args.len()).map(|index| own.get(index).and_then(narrow)).collect()
        }
        Stmt::Expr(expr) if expr.head == Head::New => {
            let made = expr.args.first().and_then(|ty| module.named_type(ty));
            let fields = made.as_ref().and_then(|ty| module.struct_fields(ty)).unwrap_or_default();
            let fields = fields.into_iter().map(|(_, ty)| narrow(ty));
            [None].into_iter().chain(fields).collect()
        }
        _ => Vec::new(),
    }
}

/// The types of the operands of an intrinsic on integers, by those of the others and by what its statement is said to
/// give.
fn operand_types(
    bb: &BBCode,
    inst: &Instruction<Ids>,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> Vec<Option<ScalarType>> {
    let name = primitive.name;
    let given = match (primitive.result, &inst.ty) {
        (ResultType::Operand(_), ty) => narrow(ty).filter(|ty| *ty != ScalarType::Bool),
        (ResultType::WithFlag, Type::Tuple(parts)) => parts.first().and_then(narrow),
        _ => None,
    };
    match args {
        [_] if name.ends_with("_int") => vec![given],
        [_, _] if matches!(name, "shl_int" | "lshr_int" | "ashr_int") => vec![given, None],
        [_, _] if name.ends_with("_int") || matches!(name, "===" | "!==") => {
            // What one operand is, the others must be.
            let known = args.iter().filter(|arg| arg.as_constant().is_none());
            let known = known.map(|arg| bb.operand_type(arg)).find(|ty| ty.as_scalar().is_some());
            vec![known.as_ref().map_or(given, narrow); 2]
        }
        // The same bits.
        [_, _] if name == "bitcast" => {
            let all = [ScalarType::Int8, ScalarType::Int16, ScalarType::Int32, ScalarType::Int128];
            let of_its_size = |bits: u32| all.into_iter().find(|ty| ty.bits() == bits);
            vec![None, inst.ty.as_scalar().and_then(|ty| of_its_size(ty.bits()))]
        }
        _ => Vec::new(),
    }
}

/// The types of the parameters of the function that a statement calls, without the function itself.
fn parameters<'m>(module: &'m Module<BBCode>, stmt: &Stmt<Ids>) -> Option<&'m [Type]> {
    let function = module.functions().get(function_called(module, stmt)?)?;
    // What it collects has the type of the tuple.
    let count = function.body.argtypes.len().saturating_sub(usize::from(function.varargs));
    function.body.argtypes.get(1..count)
}

/// The types of what a primitive stores in something, or chooses from; `None` if it does neither.
fn stored_types(
    bb: &BBCode,
    module: &Module<BBCode>,
    inst: &Instruction<Ids>,
    name: &str,
    args: &[Operand<Ids>],
) -> Option<Vec<Option<ScalarType>>> {
    let element = |of: usize| match args.get(of).map(|object| type_of(module, bb, object)) {
        Some(Type::Array(array)) => narrow(&array.element),
        Some(Type::Memory(element) | Type::Stack(element)) => narrow(&element),
        _ => None,
    };
    Some(match (name, args) {
        ("tuple", _) => match &inst.ty {
            Type::Tuple(elements) => elements.iter().map(narrow).collect(),
            _ => Vec::new(),
        },
        ("ifelse", _) => vec![None, narrow(&inst.ty), narrow(&inst.ty)],
        // An element of a tuple of literals.
        ("getfield", [Operand::Constant(Constant::Tuple(_)), _, ..]) => vec![narrow(&inst.ty)],
        ("arrayset", _) => vec![None, None, element(1)],
        ("stack_push!", _) => vec![None, element(0)],
        ("setfield!", [object, field, ..]) => {
            let object = type_of(module, bb, object);
            let fields = module.struct_fields(&object)?;
            let at = field_position(&fields, field.as_constant()?)?;
            vec![None, None, fields.get(at).and_then(|(_, ty)| narrow(ty))]
        }
        _ => return None,
    })
}
