//! Where functions are given arguments, and what the arguments are.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Callee, Module, Operand, Stmt, Type, TypeKind};

/// A place where a function of the module is given values of its parameters.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The function, by its number in the module.
    pub(super) function: usize,
    /// The number of the parameter that the first of the values is for, 0 being `_2`.
    pub(super) first: usize,
    /// The values.
    pub(super) given: Vec<Operand<Ids>>,
    /// Whether a closure captures them, and not a call passes them.
    pub(super) captured: bool,
}

/// What is wrong with a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// The function takes any number of arguments.
    AnyNumber,
    /// It takes another number.
    WrongNumber,
}

impl Place {
    /// The place that a statement is, if it is one, and what is wrong with it.
    pub(super) fn of(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<(Place, Option<Misfit>)> {
        let (callee, given, captured) = match (module.primitive_call(stmt), stmt.as_call()) {
            (Some((primitive, [function, captured @ ..])), _) if primitive.name == "partial_apply" => {
                (function, captured, true)
            }
            (None, Some((callee, args))) => (callee, args, false),
            _ => return None,
        };
        let Callee::Function(function) = module.callee(callee)? else { return None };
        let target = module.functions().get(function)?;
        let takes = target.body.argtypes.len().saturating_sub(1);
        let first = takes.checked_sub(given.len()).filter(|&first| captured || first == 0);
        let misfit = match first {
            _ if target.varargs => Some(Misfit::AnyNumber),
            None => Some(Misfit::WrongNumber),
            Some(_) => None,
        };
        Some((Place { function, first: first.unwrap_or(0), given: given.to_vec(), captured }, misfit))
    }
}

impl Place {
    /// The same place of another function.
    pub(super) fn of_function(&self, function: Operand<Ids>, given: Vec<Operand<Ids>>) -> Stmt<Ids> {
        match self.captured {
            true => {
                let args = std::iter::once(function).chain(given);
                Stmt::call(Operand::global("BBKit", "partial_apply"), args)
            }
            false => Stmt::call(function, given),
        }
    }
}

/// The functions of which the module asks whether a closure is one of them: all, where it asks of one that only the run
/// tells, or whether two closures are the same. A closure of such a function must stay one: of a clone it would be
/// another. Linear in the module.
pub(super) fn asked(module: &Module<BBCode>) -> HashSet<usize> {
    let mut found = HashSet::new();
    for function in module.functions() {
        let bb = &function.body;
        for (_, inst) in bb.all_insts() {
            let is_closure = |operand: &Operand<Ids>| may_hold_closure(module, &bb.operand_type(operand));
            let may_be = |operand: &Operand<Ids>| is_closure(operand) || bb.operand_type(operand).is_unknown();
            match module.primitive_call(&inst.stmt) {
                Some((primitive, [_, asked, ..])) if matches!(primitive.name, "applies" | "captured") => {
                    match module.callee(asked) {
                        Some(Callee::Function(function)) => {
                            found.insert(function);
                        }
                        Some(_) => {}
                        None => return (0..module.functions().len()).collect(),
                    }
                }
                Some((primitive, [a, b]))
                    if matches!(primitive.name, "===" | "!==")
                        && (is_closure(a) && may_be(b) || may_be(a) && is_closure(b)) =>
                {
                    return (0..module.functions().len()).collect();
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether a value of a type may be a closure, or hold one by which two of them differ.
fn may_hold_closure(module: &Module<BBCode>, ty: &Type) -> bool {
    let mut seen: HashSet<Type> = HashSet::new();
    let mut work = vec![ty.clone()];
    while let Some(next) = work.pop() {
        match &next {
            Type::Closure(_) => return true,
            // What is not known at all, others ask about.
            inside if inside.is_unknown() && next != *ty => return true,
            _ if !seen.insert(next.clone()) => {}
            Type::Tuple(parts) | Type::Union(parts) => work.extend(parts.iter().cloned()),
            Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty.clone())),
            Type::Named(name) => {
                if let Some(TypeKind::Struct { mutable: false, fields }) = module.type_def(name).map(|def| &def.kind) {
                    work.extend(fields.iter().map(|(_, ty)| ty.clone()));
                }
            }
            _ => {}
        }
    }
    false
}

/// What an operand is, over copies and π.
pub(super) fn seen_through(bb: &BBCode, operand: &Operand<Ids>) -> Operand<Ids> {
    let mut at = operand;
    // Up to a limit: a cycle of copies can stand in code that is not reached.
    for _ in 0..64 {
        at = match at.as_value().and_then(|value| bb.stmt(value)) {
            Some(Stmt::Value(of @ (Operand::Value(_) | Operand::Argument(_)))) => of,
            Some(Stmt::Pi(pi)) => &pi.value,
            _ => break,
        };
    }
    at.clone()
}

/// The statements that are reached, so that each stands behind those whose values it uses, φs that loops come around to
/// aside.
pub(super) fn in_order(bb: &BBCode) -> Vec<InstId> {
    let graph = bb.cfg();
    let order = graph.graph().postorder().into_iter().rev();
    order.filter_map(|number| graph.block(number)).flat_map(|block| bb.inst_ids(block).collect::<Vec<_>>()).collect()
}
