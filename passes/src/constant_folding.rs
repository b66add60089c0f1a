//! Computes what is known before the program runs.

use bbcode::{BBCode, Ids};
use ircode::primitives::{Compute, Primitive};
use ircode::{CallNode, Callee, Constant, Instruction, Module, Operand, Scalar, ScalarType, Stmt, Type};

use crate::PassResult;
use crate::analyses::effects::field_type;
use crate::manager::Context;
use crate::replace::{Replacements, may_be_of};

/// The pass's name on the command line.
pub const NAME: &str = "constant-folding";

/// Replaces by constants what pure primitives compute from constants, exactly as the interpreter computes it, and
/// simplifies what is the same whatever the operand is. True if there was something.
///
/// The identities hold for every operand, signed zeros and infinities included: `x + -0.0`, `x - 0.0`, `x * 1.0`, `x /
/// 1.0` are `x`, `--x` and `!!x` are `x`; a field of a tuple that was just made is what it was made from; a choice
/// between the same value is that value; a name of a function is that function; whether a value is of a type, where its
/// own type tells; integers of 64 bits to which constants are added one after the other are one sum. `x + 0.0` is not
/// `x`, as it turns `-0.0` into `0.0`. (Of a NaN, which NaN comes out is left open, as in Julia.)
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let mut replaced = Replacements::new();
    let mut changed = false;
    // Definitions before uses, so that one walk finds all but what comes around a loop.
    let blocks: Vec<_> = graph.graph().postorder().into_iter().rev().filter_map(|block| graph.block(block)).collect();
    for block in blocks {
        let last_phi = bb.phi_nodes(block).last().map(|(id, _)| id);
        let mut among_phis = last_phi.is_some();
        let mut next = bb.first_inst(block);
        while let Some(id) = next {
            next = bb.next_inst(id);
            among_phis &= last_phi != Some(id);
            let before_last_phi = among_phis;
            // Most statements stay as they are, and should not be given out to be changed.
            let mut has_known = false;
            if let Some(stmt) = bb.stmt(id) {
                stmt.for_each_operand(&mut |operand| {
                    has_known |= match operand {
                        Operand::Global(global) => global.known_value().is_some(),
                        Operand::Value(value) => replaced.contains(*value),
                        _ => false,
                    };
                });
            }
            if has_known && let Some(inst) = bb.inst_mut(id) {
                inst.stmt.for_each_operand_mut(&mut |operand| {
                    let value = match operand {
                        Operand::Global(global) => match global.known_value() {
                            Some(known) => known.clone().into(),
                            None => return,
                        },
                        Operand::Value(value) if replaced.contains(*value) => replaced.resolve(operand),
                        _ => return,
                    };
                    changed |= value != *operand;
                    *operand = value;
                });
            }
            if let Some((rest, more)) = bb.stmt(id).and_then(|stmt| joined_sum(bb, context.module, stmt))
                && let Some(Stmt::Call(call)) = bb.stmt_mut(id)
            {
                *call = CallNode {
                    callee: Operand::global("Base", "add_int"),
                    args: [rest, more.into()].into_iter().collect(),
                };
                changed = true;
            }
            let Some(inst) = bb.inst(id) else { continue };
            let Some(value) = simplified(bb, context.module, inst) else { continue };
            if value.as_value() == Some(id) || !may_be_of(context.module, bb, &value, &inst.ty) {
                continue;
            }
            replaced.insert(id, value.clone());
            // A π may stand among φs, a copy may not: there it stays, without a use.
            if before_last_phi || matches!(&inst.stmt, Stmt::Value(already) if *already == value) {
                continue;
            }
            if let Some(inst) = bb.inst_mut(id) {
                inst.stmt = Stmt::Value(value);
            }
            changed = true;
        }
    }
    Ok(replaced.apply(bb) || changed)
}

/// What an integer is more than by how much, if it adds a constant to what adds a constant to something.
fn joined_sum(bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<(Operand<Ids>, i64)> {
    let (sum, more) = sum_with_constant(bb, module, stmt)?;
    let (rest, less) = sum_with_constant(bb, module, bb.stmt(sum.as_value()?)?)?;
    Some((rest.clone(), more.wrapping_add(less)))
}

/// The operand and the constant that an integer of 64 bits is the sum of.
fn sum_with_constant<'b>(bb: &BBCode, module: &Module<BBCode>, stmt: &'b Stmt<Ids>) -> Option<(&'b Operand<Ids>, i64)> {
    // Most calls are seen not to be one without asking what they call.
    if matches!(stmt, Stmt::Call(call) if !call.args.iter().any(|arg| arg.as_int64().is_some())) {
        return None;
    }
    let (primitive, [a, b]) = module.primitive_call(stmt)? else { return None };
    let (rest, more) = match (primitive.name, a.as_int64(), b.as_int64()) {
        ("add_int", None, Some(number)) => (a, number),
        ("add_int", Some(number), None) => (b, number),
        ("sub_int", None, Some(number)) => (a, number.wrapping_neg()),
        _ => return None,
    };
    (bb.operand_type(rest) == Type::INT64).then_some((rest, more))
}

/// The operand that a statement is, if it is one.
fn simplified(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Operand<Ids>> {
    match &inst.stmt {
        Stmt::Phi(phi) => {
            // A φ of one and the same constant. An edge that is missing or undefined says that nobody reads the φ then.
            let mut values = phi.entries.iter().map(|entry| entry.value.as_ref());
            let first = values.next()??;
            let same = matches!(first, Operand::Constant(_)) && values.all(|value| value == Some(first));
            same.then(|| first.clone())
        }
        // A function that is first named and then called, or a type of which an object is made.
        Stmt::Value(operand @ Operand::Global(global)) => {
            if let Some(known) = inst.ty.known_value() {
                return Some(known.into());
            }
            match module.global_callee(global) {
                Callee::Function(_) | Callee::Primitive(_) => Some(operand.clone()),
                Callee::Type(ty) => Some(Constant::of_type(ty).into()),
                Callee::Unknown(_) => None,
            }
        }
        Stmt::Value(operand @ Operand::Constant(_)) => Some(operand.clone()),
        Stmt::Pi(pi) => (bb.operand_type(&pi.value) == pi.ty).then(|| pi.value.clone()),
        stmt => {
            let (primitive, args) = module.primitive_call(stmt)?;
            value_of_call(bb, module, primitive, args)
        }
    }
}

/// The operand or constant that a call of a primitive on numbers gives, if it is known to be one. Most calls have
/// several operands, none of them a constant, and are not looked at.
pub(crate) fn value_if_known(
    bb: &BBCode,
    module: &Module<BBCode>,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> Option<Operand<Ids>> {
    let may_be = args.len() == 1 || primitive.name == "ifelse" || args.iter().any(|arg| arg.as_constant().is_some());
    if may_be { value_of_call(bb, module, primitive, args) } else { None }
}

fn value_of_call(
    bb: &BBCode,
    module: &Module<BBCode>,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> Option<Operand<Ids>> {
    let is_a = |value: &Operand<Ids>, ty: &Type| {
        module.is_a(&bb.operand_type(value), ty).map(|known| Operand::from(Constant::bool(known)))
    };
    match (primitive.name, args) {
        ("isa", [value, ty]) => is_a(value, &module.named_type(ty)?),
        // There is one value of this type.
        ("===", [value, other] | [other, value]) if other.is_nothing() => is_a(value, &Type::Nothing),
        _ => folded(module, primitive, args).or_else(|| identity(bb, module, primitive, args)),
    }
}

/// What a primitive gives for constants, as the interpreter computes it; of a choice only the condition need be one.
pub(crate) fn folded(module: &Module<BBCode>, primitive: &Primitive, args: &[Operand<Ids>]) -> Option<Operand<Ids>> {
    if !primitive.takes(args.len()) || !primitive.effects.foldable() {
        return None;
    }
    let scalar = |operand: &Operand<Ids>| operand.as_constant()?.as_scalar().cloned();
    match (primitive.name, args) {
        ("===", [a, b]) => return Some(Constant::bool(scalar(a)? == scalar(b)?).into()),
        ("ifelse", [condition, a, b]) => {
            let Scalar::Bool(condition) = scalar(condition)? else { return None };
            return Some(if condition { a.clone() } else { b.clone() });
        }
        _ => {}
    }
    match (primitive.compute, args) {
        (Compute::Scalars(f), args) => {
            let scalars: Option<Vec<Scalar>> = args.iter().map(scalar).collect();
            f(&scalars?).ok().map(Operand::from)
        }
        (Compute::Convert(f), [ty, value]) => {
            let ty = module.named_type(ty)?.as_scalar()?;
            f(ty, &scalar(value)?).ok().map(Operand::from)
        }
        _ => None,
    }
}

fn identity(
    bb: &BBCode,
    module: &Module<BBCode>,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> Option<Operand<Ids>> {
    let inner = |operand: &Operand<Ids>, name: &str| -> Option<Operand<Ids>> {
        let stmt = bb.stmt(operand.as_value()?)?;
        let (primitive, args) = module.primitive_call(stmt)?;
        (primitive.name == name).then(|| args.first().cloned()).flatten()
    };
    // The one operand, if the other is this number: what is no float of its type fails.
    let same = |x: &Operand<Ids>, constant: &Operand<Ids>, value: f64| {
        let scalar = constant.as_constant().and_then(Constant::as_scalar).and_then(Scalar::as_float)?;
        let is_value = scalar.to_bits() == value.to_bits();
        (is_value && bb.operand_type(x) == bb.operand_type(constant)).then(|| x.clone())
    };
    let negated = |x: &Operand<Ids>| {
        inner(x, "neg_float").filter(|x| bb.operand_type(x).as_scalar().is_some_and(ScalarType::is_float))
    };
    match (primitive.name, args) {
        ("add_float", [a, b]) => same(a, b, -0.0).or_else(|| same(b, a, -0.0)),
        ("sub_float", [x, zero]) => same(x, zero, 0.0),
        ("mul_float", [a, b]) => same(a, b, 1.0).or_else(|| same(b, a, 1.0)),
        ("div_float", [x, one]) => same(x, one, 1.0),
        ("add_int" | "sub_int", [x, zero]) if zero.as_int64() == Some(0) && bb.operand_type(x) == Type::INT64 => {
            Some(x.clone())
        }
        ("neg_float", [x]) => negated(x),
        ("not_int", [x]) if bb.operand_type(x) == Type::BOOL => inner(x, "not_int"),
        ("ifelse", [condition, a, b]) => (a == b && bb.operand_type(condition) == Type::BOOL).then(|| a.clone()),
        ("getfield", [object, field, ..]) => {
            field_type(module, &bb.operand_type(object), field)?;
            let number = field.as_constant()?.as_scalar()?.to_i128();
            let index = usize::try_from(number).ok()?.checked_sub(1)?;
            let (made, parts) = module.primitive_call(bb.stmt(object.as_value()?)?)?;
            (made.name == "tuple").then(|| parts.get(index).cloned()).flatten()
        }
        _ => None,
    }
}
