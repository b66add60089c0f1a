//! Turns Julia's generic arithmetic into intrinsics, where the types are known.

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::{lookup, promoted};
use ircode::{Callee, Constant, Instruction, Module, NewInstruction, Operand, Scalar, ScalarType, Stmt, Type};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-arithmetic";

/// Turns calls of `+`, `-`, `*`, `/`, comparisons, `min`, `max`, `abs`, `muladd` and `fma` on floats into the
/// intrinsics that they are on those types, promoting operands of different types first, also those of `rem`, `mod`,
/// `clamp`, `copysign`, `hypot` and `atan`; a factor or summand of type `Bool` chooses. Lets `setindex!` of another
/// number in an array of floats take that number as such a float, and turns calls of types of floats, `Float64(x)`, into
/// the conversions that they are. What is not on floats, or of unknown types, stays. True if there was something.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    let mut changed = false;
    for id in ids {
        let Some(inst) = bb.inst(id) else { continue };
        let done = if let Some((intrinsic, args, ty)) = lowered(bb, context.module, inst) {
            lower(bb, id, intrinsic, &args, ty)
        } else if let Some((value, ty)) = converted(bb, context.module, inst) {
            convert_stored(bb, id, &value, ty)
        } else if let Some((value, ty)) = constructed(bb, context.module, inst) {
            construct(bb, id, &value, ty)
        } else {
            continue;
        };
        done.map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
        changed = true;
    }
    Ok(changed)
}

/// The intrinsic that a generic call is, with its operands and the type to which they are promoted.
fn lowered(
    bb: &BBCode,
    module: &Module<BBCode>,
    inst: &Instruction<Ids>,
) -> Option<(&'static str, Vec<Operand<Ids>>, ScalarType)> {
    let (primitive, args) = module.primitive_call(&inst.stmt)?;
    let intrinsic = match (primitive.name, args.len()) {
        ("+", 2..) => "add_float",
        ("-", 1) => "neg_float",
        ("-", 2) => "sub_float",
        ("*", 2..) => "mul_float",
        ("/", 2) => "div_float",
        ("min", 2) => "min_float",
        ("max", 2) => "max_float",
        ("abs", 1) => "abs_float",
        ("<", 2) => "lt_float",
        ("<=", 2) => "le_float",
        (">", 2) => "lt_float",
        (">=", 2) => "le_float",
        ("==", 2) => "eq_float",
        ("!=", 2) => "ne_float",
        ("muladd", 3) => "muladd_float",
        ("fma", 3) => "fma_float",
        // These stay what they are. What is raised to a float becomes one; a power that is an integer is no float.
        ("^", 2) if args.get(1).is_some_and(|power| bb.operand_type(power).as_float().is_some()) => "^",
        ("hypot", 2) => "hypot",
        ("rem", 2) => "rem",
        ("mod", 2) => "mod",
        ("clamp", 3) => "clamp",
        // The sign of an integer; that of another float keeps the type.
        ("copysign", 2) if args.get(1).is_some_and(|sign| bb.operand_type(sign).as_float().is_none()) => "copysign",
        ("atan", 2) => "atan",
        _ => return None,
    };
    let types: Option<Vec<ScalarType>> = args.iter().map(|arg| bb.operand_type(arg).as_scalar()).collect();
    let types = types?;
    let is_mixed = types.iter().any(|ty| Some(ty) != types.first());
    // Comparing numbers of different types is exact in Julia, not by promotion.
    if compares(intrinsic) && is_mixed || primitive.name == intrinsic && !is_mixed {
        return None;
    }
    // There Julia makes a Float64 of the integer.
    if intrinsic == "atan" && types.iter().any(|ty| !ty.is_float()) && !types.contains(&ScalarType::Float64) {
        return None;
    }
    let mut types = types.into_iter();
    let first = types.next()?;
    let ty = types.try_fold(first, promoted).filter(|ty| ty.is_float())?;
    let mut args = args.to_vec();
    if matches!(primitive.name, ">" | ">=") {
        args.reverse();
    }
    Some((intrinsic, args, ty))
}

/// The number that a `setindex!` stores as a float of another type, and that type.
fn converted(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<(Operand<Ids>, ScalarType)> {
    let ("setindex!", [array, value, _, ..]) =
        module.primitive_call(&inst.stmt).map(|(known, args)| (known.name, args))?
    else {
        return None;
    };
    let Type::Array(array) = bb.operand_type(array) else { return None };
    let ty = array.element.as_scalar().filter(|ty| ty.is_float())?;
    (number_type(bb, value)? != ty).then(|| (value.clone(), ty))
}

/// The number of which a call of a type of floats makes one, and that type.
fn constructed(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<(Operand<Ids>, ScalarType)> {
    let (_, [value]) = inst.stmt.as_call()? else { return None };
    let Some(Callee::Type(ty)) = module.called(&inst.stmt) else { return None };
    let ty = ty.as_scalar().filter(|ty| ty.is_float())?;
    number_type(bb, value)?;
    Some((value.clone(), ty))
}

/// The type of an operand that is a number.
fn number_type(bb: &BBCode, operand: &Operand<Ids>) -> Option<ScalarType> {
    bb.operand_type(operand).as_scalar().filter(|ty| ty.is_float() || ty.is_integer() || *ty == ScalarType::Bool)
}

fn construct(bb: &mut BBCode, id: InstId, value: &Operand<Ids>, ty: ScalarType) -> Result<(), bbcode::EditError> {
    let float = promote(bb, id, value, ty)?;
    if let Some(inst) = bb.inst_mut(id) {
        inst.stmt = Stmt::Value(float);
    }
    Ok(())
}

fn convert_stored(bb: &mut BBCode, id: InstId, value: &Operand<Ids>, ty: ScalarType) -> Result<(), bbcode::EditError> {
    let float = promote(bb, id, value, ty)?;
    if let Some(Stmt::Call(call)) = bb.stmt_mut(id)
        && let Some(stored) = call.args.get_mut(1)
    {
        *stored = float;
    } else if let Some(inst) = bb.inst_mut(id)
        && let Stmt::Invoke(invoke) = &inst.stmt
    {
        // The instance is that for the other number.
        let mut args = invoke.args.clone();
        if let Some(stored) = args.get_mut(1) {
            *stored = float;
        }
        inst.stmt = Stmt::call(invoke.callee.clone(), args);
    }
    Ok(())
}

fn lower(
    bb: &mut BBCode,
    id: InstId,
    intrinsic: &'static str,
    args: &[Operand<Ids>],
    ty: ScalarType,
) -> Result<(), bbcode::EditError> {
    let result = bb.inst(id).map(|inst| inst.ty.clone()).unwrap_or(Type::Untyped);
    let stmt = match (intrinsic, args) {
        ("add_float" | "mul_float", [first, rest @ .., last]) => {
            // `a + b + c` is `(a + b) + c`: the first sum is in the type that a and b have together, which may be
            // another one.
            let mut left = first.clone();
            for other in rest {
                let (stmt, of) = folded(bb, id, intrinsic, &left, other, ty)?;
                left = Operand::Value(bb.insert_before(id, NewInstruction::new(stmt, of.into()))?);
            }
            folded(bb, id, intrinsic, &left, last, ty)?.0
        }
        _ => {
            let operands: Result<Vec<Operand<Ids>>, _> = args.iter().map(|arg| promote(bb, id, arg, ty)).collect();
            Stmt::call(Operand::global("Base", intrinsic), operands?)
        }
    };
    if let Some(inst) = bb.inst_mut(id) {
        inst.stmt = stmt;
        if result.is_unknown() {
            inst.ty = if compares(intrinsic) { Type::BOOL } else { ty.into() };
        }
    }
    Ok(())
}

/// The sum or product of two numbers, and its type. One of which the type is not known is of the type `ty`.
fn folded(
    bb: &mut BBCode,
    id: InstId,
    intrinsic: &'static str,
    a: &Operand<Ids>,
    b: &Operand<Ids>,
    ty: ScalarType,
) -> Result<(Stmt<Ids>, ScalarType), bbcode::EditError> {
    let types = [a, b].map(|operand| bb.operand_type(operand).as_scalar().unwrap_or(ty));
    let of = promoted(types[0], types[1]).unwrap_or(ty);
    if !of.is_float() {
        let name = if intrinsic == "mul_float" { "*" } else { "+" };
        let of = lookup(name).and_then(|primitive| primitive.result.of_numbers(&types)).unwrap_or(of);
        return Ok((Stmt::call(Operand::global("Base", name), [a.clone(), b.clone()]), of));
    }
    let mut before = |name: &str, operands: [Operand<Ids>; 2]| {
        let stmt = Stmt::call(Operand::global("Base", name), operands);
        bb.insert_before(id, NewInstruction::new(stmt, of.into())).map(Operand::Value)
    };
    let (keep, x) = match types {
        [ScalarType::Bool, _] => (a, b),
        [_, ScalarType::Bool] => (b, a),
        _ => {
            let operands = [promote(bb, id, a, of)?, promote(bb, id, b, of)?];
            return Ok((Stmt::call(Operand::global("Base", intrinsic), operands), of));
        }
    };
    // Julia's own methods: `false` leaves what it is added to as it is, `-0.0` too, and is a zero with the sign of what
    // it is multiplied by.
    let number = |x: f64| Scalar::from_float(of, x).map_or_else(Operand::nothing, Operand::from);
    let (then, otherwise) = match intrinsic {
        "mul_float" => (x.clone(), before("copysign_float", [number(0.0), x.clone()])?),
        _ => (before("add_float", [number(1.0), x.clone()])?, x.clone()),
    };
    Ok((Stmt::call(Operand::global("Core", "ifelse"), [keep.clone(), then, otherwise]), of))
}

fn compares(intrinsic: &str) -> bool {
    matches!(intrinsic, "lt_float" | "le_float" | "eq_float" | "ne_float")
}

/// An operand as a float of this type.
fn promote(
    bb: &mut BBCode,
    before: InstId,
    operand: &Operand<Ids>,
    ty: ScalarType,
) -> Result<Operand<Ids>, bbcode::EditError> {
    let from = bb.operand_type(operand).as_scalar();
    let conversion = match from {
        Some(from) if from == ty => return Ok(operand.clone()),
        Some(from) if from.is_float() && from.bits() > ty.bits() => "fptrunc",
        Some(from) if from.is_float() => "fpext",
        Some(from) if from.is_signed_integer() => "sitofp",
        _ => "uitofp",
    };
    let named = Operand::Constant(Constant::of_type(ty.into()));
    let stmt = Stmt::call(Operand::global("Base", conversion), [named, operand.clone()]);
    Ok(Operand::Value(bb.insert_before(before, NewInstruction::new(stmt, ty.into()))?))
}
