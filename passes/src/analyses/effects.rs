//! What statements do beside giving a value.

use bbcode::{BBCode, Ids};
use ircode::primitives::{Compute, Effects, Overflow, Primitive, overflowing};
use ircode::{Constant, Head, Instruction, Module, Names, Operand, Scalar, Stmt, Type, TypeKind};

/// What executing the statement may do beside giving a value, where it stands.
///
/// A statement without effects may be left out if nobody uses it, or be moved behind others. To where it would not have
/// run, as out of a loop or before a branch, only what [`is_total`] may be moved: there its operands may be of other
/// types than declared, as the check that stands before it has not run.
pub fn effects<F>(module: &Module<F>, bb: &BBCode, inst: &Instruction<Ids>) -> Effects {
    const ANYTHING: Effects = Effects { throws: true, reads: true, writes: true, allocates: true };
    match &inst.stmt {
        Stmt::Value(operand) => match operand {
            Operand::Global(global) if module.global_constant(global).is_some() => Effects::PURE,
            // Reading another global may find it undefined.
            Operand::Global(_) => Effects::READS,
            Operand::Nested(nested) => match &**nested {
                Stmt::Expr(expr) if matches!(expr.head, Head::StaticParameter | Head::Boundscheck) => Effects::PURE,
                _ => ANYTHING,
            },
            _ => Effects::PURE,
        },
        Stmt::Phi(_) | Stmt::Pi(_) => Effects::PURE,
        Stmt::Call(_) | Stmt::Invoke(_) => match module.primitive_call(&inst.stmt) {
            Some((primitive, args)) => call_effects(module, bb, primitive, args),
            None => ANYTHING,
        },
        Stmt::Expr(expr) => match expr.head {
            Head::New => Effects { throws: false, ..Effects::ALLOCATES },
            Head::Boundscheck | Head::StaticParameter => Effects::PURE,
            Head::Foreigncall => module.primitive_call(&inst.stmt).map_or(ANYTHING, |(primitive, _)| primitive.effects),
            _ => ANYTHING,
        },
        _ => ANYTHING,
    }
}

/// What a call of this primitive may do beside giving a value.
pub(crate) fn call_effects<F>(
    module: &Module<F>,
    bb: &BBCode,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> Effects {
    let effects = primitive.effects;
    let throws = match effects.throws {
        true => !cannot_throw(module, bb, primitive.name, args),
        false => args.iter().any(|arg| may_fail_on(primitive, &bb.operand_type(arg))),
    };
    Effects { throws, ..effects }
}

/// Whether an operand of this type may be one for which a primitive has no method, which is an exception. Of numbers
/// this is asked at every call in every pass.
fn may_fail_on(primitive: &Primitive, ty: &Type) -> bool {
    match ty {
        Type::Union(members) => members.iter().any(|member| primitive.fails_on(member)),
        ty if ty.is_unknown() => primitive.fails_on(&Type::Nothing),
        ty => primitive.fails_on(ty),
    }
}

/// Whether a call of a primitive that may throw is seen not to.
fn cannot_throw<F>(module: &Module<F>, bb: &BBCode, name: &str, args: &[Operand<Ids>]) -> bool {
    match (name, args) {
        ("getfield", [object, field, ..]) => field_type(module, &bb.operand_type(object), field).is_some(),
        ("ifelse", [condition, ..]) => bb.operand_type(condition) == Type::BOOL,
        ("new_stack" | "new_slot", [ty]) => matches!(ty, Operand::Constant(Constant::Type(_))),
        ("stack_length", [stack]) => matches!(bb.operand_type(stack), Type::Stack(_)),
        _ => false,
    }
}

/// The type of the field of an immutable object that a constant names; `None` if it is not seen to exist.
pub fn field_type<F>(module: &Module<F>, object: &Type, field: &Operand<Ids>) -> Option<Type> {
    module.immutable_field(object, field.as_constant()?).map(|(_, ty)| ty.clone())
}

/// The type of the field of a mutable struct that an operand names. Where only the run tells which it is, that which
/// all of its fields have; `None` if they have different ones.
pub(crate) fn mutable_field_type<F, N: Names>(module: &Module<F>, object: &Type, field: &Operand<N>) -> Option<Type> {
    let name = match object {
        Type::Ref(element) => return Some((**element).clone()),
        Type::Named(name) => name,
        _ => return None,
    };
    let TypeKind::Struct { fields, .. } = &module.type_def(name)?.kind else { return None };
    match field.as_constant() {
        Some(Constant::Symbol(name)) => fields.iter().find(|(known, _)| known == name).map(|(_, ty)| ty.clone()),
        Some(constant) => {
            let index = usize::try_from(constant.as_scalar()?.to_i128()).ok()?.checked_sub(1)?;
            fields.get(index).map(|(_, ty)| ty.clone())
        }
        None => {
            let (_, first) = fields.first()?;
            fields.iter().all(|(_, ty)| ty == first).then(|| first.clone())
        }
    }
}

/// Whether a statement gives a value whatever values of their types its operands are, and does nothing else: it may run
/// where it would not have run, if its operands are defined there. Those that may be undefined, as a φ is that leaves
/// out edges, are not asked here.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{Module, parse_function};
/// use passes::effects::{effects, is_total};
///
/// let function = parse_function("
/// function f(x::Float64, i::Int64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// │   %2 = Base.mul_float(x, i)::Float64
/// └──      return %1
/// end
/// ")?;
/// let (bb, module) = (BBCode::try_from(&function.body)?, Module::new());
/// let insts: Vec<_> = bb.all_insts().map(|(_, inst)| inst).take(2).collect();
/// assert!(insts.iter().all(|inst| effects(&module, &bb, inst).removable()));
/// // The second is a mistake: were it moved, it would fail where it was not reached.
/// assert_eq!([0, 1].map(|index| is_total(&module, &bb, &insts[index].stmt)), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_total(module: &Module<BBCode>, bb: &BBCode, stmt: &Stmt<Ids>) -> bool {
    let plain = |operand: &Operand<Ids>| !matches!(operand, Operand::Global(_) | Operand::Nested(_));
    if let Stmt::Value(value) = stmt {
        return match value {
            Operand::Global(global) => module.global_constant(global).is_some(),
            value => value.as_value().is_some(),
        };
    }
    if !matches!(stmt, Stmt::Call(_) | Stmt::Invoke(_)) {
        return false;
    }
    let Some((primitive, args)) = module.primitive_call(stmt) else { return false };
    let types = || args.iter().map(|arg| bb.operand_type(arg).as_scalar()).collect::<Option<Vec<_>>>();
    match (primitive.compute, primitive.name, args) {
        // Of operands of these types, none or all are taken.
        (Compute::Scalars(f), ..) if primitive.effects == Effects::PURE => types().is_some_and(|types| {
            let scalars: Vec<Scalar> = types.into_iter().map(|ty| Scalar::from_bits(ty, 0)).collect();
            args.iter().all(plain) && f(&scalars).is_ok()
        }),
        (Compute::Convert(f), _, [ty, value]) if primitive.effects == Effects::PURE => {
            let to = module.named_type(ty).and_then(|ty| ty.as_scalar());
            let from = bb.operand_type(value).as_scalar();
            plain(value) && to.zip(from).is_some_and(|(to, from)| f(to, &Scalar::from_bits(from, 0)).is_ok())
        }
        (_, "===" | "!==", [a, b]) => plain(a) && plain(b),
        (_, "tuple", args) => args.iter().all(plain),
        (_, "ifelse", [condition, a, b]) => bb.operand_type(condition) == Type::BOOL && plain(a) && plain(b),
        (_, "getfield", [object, field]) => {
            let ty = bb.operand_type(object);
            let whole = matches!(ty, Type::Tuple(_) | Type::NamedTuple(_));
            whole && plain(object) && field_type(module, &ty, field).is_some()
        }
        (_, name, [_, _]) if name.starts_with("checked_") && primitive.effects == Effects::PURE => {
            types().is_some_and(|types| match types.as_slice() {
                [a, b] => {
                    let zero = |ty| Scalar::from_bits(ty, 0);
                    args.iter().all(plain) && overflowing(Overflow::Add, true, &zero(*a), &zero(*b)).is_ok()
                }
                _ => false,
            })
        }
        _ => false,
    }
}
