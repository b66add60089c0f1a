//! Lets sums and differences do what negations do.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Module, Operand, Stmt};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "negation-propagation";

/// Adds what is subtracted negated, and the other way round, also where products and quotients come in between. True if
/// there was such a negation.
///
/// ```text
/// %1 = neg_float(a)
/// %2 = mul_float(%1, b)         %2 = mul_float(a, b)
/// %3 = add_float(c, %2)         %3 = sub_float(c, %2)
/// ```
///
/// The adjoints of differences and quotients are negated, and then multiplied and added to others. Results stay the
/// same to the last bit, as numbers are rounded to the nearest, which is the same on both sides of zero; only a NaN may
/// have the other sign.
///
/// A product is computed with the other sign if all that use it can do with that: the sums, the differences of which it
/// is the second operand, and products and quotients of which that is true in turn. No statement is added; negations
/// that nobody uses any more are left to [`dead_code`](crate::dead_code). Takes time linear in the function. LLVM's
/// `Negator` does the like.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::{dead_code, negation_propagation, run_on_function};
///
/// let parsed = parse_module("
/// function f(a::Float64, b::Float64, c::Float64)::Float64
/// 1 ─ %1 = Base.neg_float(a)::Float64
/// │   %2 = Base.mul_float(%1, b)::Float64
/// │   %3 = Base.add_float(c, %2)::Float64
/// └──      return %3
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// assert!(run_on_function(&mut module, &"f".into(), negation_propagation::run)?);
/// run_on_function(&mut module, &"f".into(), dead_code::run)?;
/// assert_eq!(ircode::IRCode::try_from(&module.functions()[0].body)?.to_string(), "\
/// 1 ─ %1 = Base.mul_float(_2, _3)::Float64
/// │   %2 = Base.sub_float(_4, %1)::Float64
/// └──      return %2
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let module = context.module;
    let is_negation = |stmt: &Stmt<Ids>| matches!(arithmetic(module, stmt), Some(Arithmetic::Negate(_)));
    if !bb.all_insts().any(|(_, inst)| is_negation(&inst.stmt)) {
        return Ok(false);
    }
    let graph = bb.cfg();
    let blocks = graph.graph().postorder().into_iter().rev().filter_map(|number| graph.block(number));
    let order: Vec<InstId> = blocks.flat_map(|block| bb.inst_ids(block).collect::<Vec<_>>()).collect();
    let signed = Signs::of(bb, module, &order);
    let mut changed = false;
    // Those that have come to be computed with the other sign.
    let mut flipped: SecondaryMap<InstId, ()> = SecondaryMap::new();
    for &id in &order {
        let Some(inst) = bb.inst(id) else { continue };
        let Some(found) = arithmetic(module, &inst.stmt) else { continue };
        let negated = |operand: &Operand<Ids>| -> Option<Operand<Ids>> {
            let value = operand.as_value()?;
            match arithmetic(module, bb.stmt(value)?) {
                Some(Arithmetic::Negate(of)) => Some(of.clone()),
                _ => flipped.contains_key(value).then(|| operand.clone()),
            }
        };
        let rewritten = match found {
            Arithmetic::Add(a, b) if a == b => negated(a).filter(|_| signed.may_flip(id)).map(|a| {
                flipped.insert(id, ());
                ("add_float", a.clone(), a)
            }),
            Arithmetic::Add(a, b) => match signed.has_sign(b) {
                true => negated(b).map(|b| ("sub_float", a.clone(), b)),
                false => negated(a).map(|a| ("sub_float", b.clone(), a)),
            },
            Arithmetic::Subtract(a, b) if a != b => negated(b).map(|b| ("add_float", a.clone(), b)),
            Arithmetic::Multiply(name, a, b) if a == b => negated(a).map(|a| (name, a.clone(), a)),
            Arithmetic::Multiply(name, a, b) if signed.may_flip(id) => {
                let rewritten = match signed.has_sign(a) {
                    true => negated(a).map(|a| (name, a, b.clone())),
                    false => negated(b).map(|b| (name, a.clone(), b)),
                };
                if rewritten.is_some() {
                    flipped.insert(id, ());
                }
                rewritten
            }
            Arithmetic::Subtract(..) | Arithmetic::Multiply(..) | Arithmetic::Negate(_) => None,
        };
        if let Some((name, a, b)) = rewritten
            && let Some(inst) = bb.inst_mut(id)
        {
            inst.stmt = Stmt::call(Operand::global("Base", name), [a, b]);
            changed = true;
        }
    }
    Ok(changed)
}

/// Float arithmetic in which signs play a part that is known.
enum Arithmetic<'s> {
    Add(&'s Operand<Ids>, &'s Operand<Ids>),
    Subtract(&'s Operand<Ids>, &'s Operand<Ids>),
    /// A product or a quotient: its sign is that of both together.
    Multiply(&'static str, &'s Operand<Ids>, &'s Operand<Ids>),
    Negate(&'s Operand<Ids>),
}

fn arithmetic<'s>(module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<Arithmetic<'s>> {
    let (primitive, args) = module.primitive_call(stmt)?;
    Some(match (primitive.name, args) {
        ("add_float", [a, b]) => Arithmetic::Add(a, b),
        ("sub_float", [a, b]) => Arithmetic::Subtract(a, b),
        (name @ ("mul_float" | "div_float"), [a, b]) => Arithmetic::Multiply(name, a, b),
        ("neg_float", [a]) => Arithmetic::Negate(a),
        _ => return None,
    })
}

/// The values that a negation decides the sign of, which are negations and products of them with what has no sign in
/// this sense; and whether all that use one can do with the other sign.
struct Signs(SecondaryMap<InstId, bool>);

impl Signs {
    /// Of statements in an order in which operands come first.
    fn of(bb: &BBCode, module: &Module<BBCode>, order: &[InstId]) -> Signs {
        let mut signs = Signs(SecondaryMap::new());
        for &id in order {
            let signed = match bb.stmt(id).and_then(|stmt| arithmetic(module, stmt)) {
                Some(Arithmetic::Negate(_)) => true,
                Some(Arithmetic::Add(a, b)) => a == b && signs.has_sign(a),
                Some(Arithmetic::Multiply(_, a, b)) => a != b && signs.has_sign(a) != signs.has_sign(b),
                _ => false,
            };
            if signed {
                signs.0.insert(id, true);
            }
        }
        // What is used by something else first: a φ may use what comes after it, around a loop. Arithmetic uses what
        // comes before it.
        let stmts = || order.iter().rev().filter_map(|&id| Some((id, bb.stmt(id)?)));
        for (_, stmt) in stmts().filter(|(_, stmt)| arithmetic(module, stmt).is_none()) {
            stmt.for_each_use(|value| {
                if let Some(may_flip) = signs.0.get_mut(value) {
                    *may_flip = false;
                }
            });
        }
        for (id, stmt) in stmts() {
            let Some(found) = arithmetic(module, stmt) else { continue };
            stmt.for_each_use(|value| {
                let operand = Operand::Value(value);
                let can_do = match found {
                    Arithmetic::Add(a, b) if a == b => signs.may_flip(id),
                    // Only one of two can be subtracted.
                    Arithmetic::Add(_, b) => *b == operand || !signs.has_sign(b),
                    Arithmetic::Subtract(a, b) => a != b && *b == operand,
                    Arithmetic::Multiply(_, a, b) => a == b || signs.may_flip(id),
                    Arithmetic::Negate(_) => false,
                };
                if let Some(may_flip) = signs.0.get_mut(value) {
                    *may_flip &= can_do;
                }
            });
        }
        signs
    }

    fn has_sign(&self, operand: &Operand<Ids>) -> bool {
        operand.as_value().is_some_and(|value| self.0.contains_key(value))
    }

    fn may_flip(&self, id: InstId) -> bool {
        self.0.get(id) == Some(&true)
    }
}
