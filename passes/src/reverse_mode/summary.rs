//! What calls of the functions of a module may do to the memory that they are given.

use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::{Compute, Effects};
use ircode::{Instruction, Module, Operand, ScalarType, Stmt, Type, TypeKind};

use super::objects::is_global;
use super::operation::{Classifier, Operation};
use crate::differentiation::bits::{BitsOfFloats, is_pointer};
use crate::differentiation::exceptions::{is_exception_of_library, is_without_derivative, may_be_exception_of_library};
use crate::rules::RuleTable;

/// What a call of a function may do to memory that was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Summary {
    /// It may change it.
    pub(super) writes: bool,
    /// It may store an object in another, so that what is reached from its arguments is no longer apart.
    pub(super) links: bool,
    /// It may make integers of the bits of floats, or floats of such.
    pub(super) bits: BitsOfFloats,
    /// It may take something that may have a derivative out of an exception that it is given.
    pub(super) takes_from_exceptions: bool,
    /// It may do what is seen from outside beside that: print.
    pub(super) acts: bool,
    /// It may change it by what has no reverse, so that it is not put back.
    pub(super) loses: bool,
}

impl Summary {
    /// What a call of which nothing is known may do.
    const ANYTHING: Summary = Summary {
        writes: true,
        links: true,
        // What is unknown would make floats of what is unknown otherwise, wherever functions are values.
        bits: BitsOfFloats { taken: true, are_seen: false, made: false },
        takes_from_exceptions: true,
        acts: true,
        loses: true,
    };

    fn join(self, other: Summary) -> Summary {
        Summary {
            writes: self.writes || other.writes,
            links: self.links || other.links,
            bits: BitsOfFloats {
                taken: self.bits.taken || other.bits.taken,
                are_seen: self.bits.are_seen || other.bits.are_seen,
                made: self.bits.made || other.bits.made,
            },
            takes_from_exceptions: self.takes_from_exceptions || other.takes_from_exceptions,
            acts: self.acts || other.acts,
            loses: self.loses || other.loses,
        }
    }
}

/// The summaries of functions, by their position in the module.
#[derive(Debug, Default)]
pub(super) struct Summaries(HashMap<usize, Summary>);

impl Summaries {
    /// Of the functions that one of these calls, directly or not, and of themselves. A value that is called may be each
    /// of the `candidates`.
    pub(super) fn of(
        module: &Module<BBCode>,
        rules: &RuleTable,
        roots: &[usize],
        candidates: Option<&[usize]>,
    ) -> Summaries {
        let mut summaries: HashMap<usize, Summary> = HashMap::new();
        let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut work = roots.to_vec();
        if let Some(candidates) = candidates {
            summaries.insert(ANY_CANDIDATE, Summary::default());
            candidates.iter().for_each(|&callee| callers.entry(callee).or_default().push(ANY_CANDIDATE));
            work.extend_from_slice(candidates);
        }
        let mut seen: HashSet<usize> = work.iter().copied().collect();
        while let Some(position) = work.pop() {
            let Some(function) = module.functions().get(position) else { continue };
            let (summary, callees) = direct(module, rules, &function.body, candidates.is_some());
            summaries.insert(position, summary);
            for callee in callees {
                callers.entry(callee).or_default().push(position);
                if callee != ANY_CANDIDATE && seen.insert(callee) {
                    work.push(callee);
                }
            }
        }
        // What a function may do, its callers may do.
        let mut work: Vec<usize> = summaries.keys().copied().collect();
        work.sort_unstable();
        while let Some(position) = work.pop() {
            let Some(&of) = summaries.get(&position) else { continue };
            for caller in callers.get(&position).into_iter().flatten() {
                if let Some(summary) = summaries.get_mut(caller) {
                    let joined = summary.join(of);
                    if joined != *summary {
                        *summary = joined;
                        work.push(*caller);
                    }
                }
            }
        }
        Summaries(summaries)
    }

    /// That of the function at this position.
    pub(super) fn get(&self, function: usize) -> Summary {
        self.0.get(&function).copied().unwrap_or(Summary::ANYTHING)
    }
}

/// Stands for each function that a value which is called may be.
const ANY_CANDIDATE: usize = usize::MAX;

/// What the function itself does, and the functions that it calls. `closed` says whether it is known which functions a
/// value that is called may be.
fn direct(module: &Module<BBCode>, rules: &RuleTable, bb: &BBCode, closed: bool) -> (Summary, Vec<usize>) {
    let classifier = Classifier { module, rules, bb };
    let mut summary = Summary::default();
    let mut callees = Vec::new();
    for (id, inst) in bb.all_insts() {
        if computes_numbers(module, &inst.stmt) {
            continue;
        }
        let operation = classifier.operation(id, &|_| Some(id));
        summary.takes_from_exceptions |= takes_from_exception(module, bb, inst, &operation);
        match &operation {
            Operation::Call { function, .. } => callees.push(*function),
            Operation::Unknown => {
                let primitive = module.primitive_call(&inst.stmt);
                let pure = primitive.is_some_and(|(primitive, _)| !primitive.effects.writes);
                if let Some((_, args)) = primitive.filter(|(primitive, _)| primitive.name == "bitcast") {
                    let of_float = args.get(1).is_none_or(|arg| may_be_float(&bb.operand_type(arg)));
                    summary.bits.taken |= of_float;
                    summary.bits.are_seen |= of_float;
                    summary.bits.made |= may_be_float(&inst.ty);
                }
                if closed && is_call_of_function(module, bb, &inst.stmt) {
                    callees.push(ANY_CANDIDATE);
                } else if !pure && matches!(inst.stmt, Stmt::Call(_) | Stmt::Invoke(_) | Stmt::Expr(_)) {
                    summary = Summary::ANYTHING;
                }
            }
            // An error that was not raised is not raised the second time either.
            Operation::Steps if inst.ty != Type::Bottom => {
                summary.acts |=
                    module.primitive_call(&inst.stmt).is_some_and(|(primitive, _)| primitive.effects.writes);
            }
            Operation::Rule { rule, args, .. } if rule.changes_first() => {
                summary.writes |= args.first().is_some_and(|first| !is_made_here(&classifier, first));
            }
            _ => {
                if let Some(object) = operation.changed_object() {
                    summary.writes |= !is_made_here(&classifier, object);
                    let value = match &operation {
                        Operation::Store { value, .. } | Operation::Append { value, .. } => Some(value),
                        _ => None,
                    };
                    summary.links |= value.is_some_and(|value| holds_objects(module, &bb.operand_type(value)));
                }
            }
        }
    }
    (summary, callees)
}

/// Whether the bits of a value of this type may be those of a float: characters and addresses have bits of their own.
fn may_be_float(ty: &Type) -> bool {
    let ty = ty.widened().unwrap_or_else(|| ty.clone());
    ty.as_scalar().map_or(!is_pointer(&ty), ScalarType::is_float)
}

/// Whether a statement computes a number from numbers and does nothing else. Most do, and need not be looked at more
/// closely.
pub(super) fn computes_numbers(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    module.primitive_call(stmt).is_some_and(|(primitive, _)| {
        let pure = matches!(primitive.compute, Compute::Scalars(_)) && primitive.effects == Effects::PURE;
        pure && primitive.name != "bitcast"
    })
}

/// The object out of which a statement takes a part, if it calls a primitive that does so.
pub(super) fn taken_from<'s>(module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<&'s Operand<Ids>> {
    let (primitive, args) = module.primitive_call(stmt)?;
    matches!(primitive.name, "getfield" | "getproperty" | "getindex").then(|| args.first()).flatten()
}

/// Whether a statement takes what may have a derivative out of what may be an exception of Julia's library.
fn takes_from_exception(module: &Module<BBCode>, bb: &BBCode, inst: &Instruction<Ids>, operation: &Operation) -> bool {
    let is_one = match operation {
        Operation::Unknown => taken_from(module, &inst.stmt)
            .is_some_and(|object| may_be_exception_of_library(module, &bb.operand_type(object))),
        Operation::Field { object, .. } | Operation::AnyField { object, .. } => {
            is_exception_of_library(module, &bb.operand_type(object))
        }
        _ => false,
    };
    is_one && !is_without_derivative(&inst.ty)
}

/// Whether a function is called that is known only when the program runs: no object, whose methods are none of the
/// functions that are called as values.
pub(super) fn is_call_of_function(module: &Module<BBCode>, bb: &BBCode, stmt: &Stmt<Ids>) -> bool {
    let Some((callee, _)) = stmt.as_call() else { return false };
    let is_object = || matches!(bb.operand_type(callee), Type::Named(name) if module.type_def(&name).is_some());
    matches!(callee, Operand::Value(_) | Operand::Argument(_)) && module.callee(callee).is_none() && !is_object()
}

/// Whether an object is seen to be made in the function.
fn is_made_here(classifier: &Classifier<'_>, object: &Operand<Ids>) -> bool {
    let mut at: Option<InstId> = object.as_value();
    // Copies of copies are followed a few steps: this is asked for every store.
    for _ in 0..8 {
        let Some(id) = at else { return false };
        if classifier.bb.stmt(id).is_some_and(|stmt| is_global(classifier.module, stmt)) {
            return false;
        }
        match classifier.operation(id, &|_| None) {
            Operation::Copy(of) | Operation::Part { of } => at = of.as_value(),
            Operation::Store { place, gives_value: false, .. } => at = place.object.as_value(),
            Operation::Allocate | Operation::NewObject(_) | Operation::CopyObject(_) => return true,
            _ => return false,
        }
    }
    false
}

/// Whether values of this type may hold something that has identity.
pub(super) fn holds_objects<F>(module: &Module<F>, ty: &Type) -> bool {
    mutable_parts(module, ty).is_none_or(|parts| !parts.is_empty())
}

/// The types of the objects that values of a type may be or hold: arrays by the numbers in them, structs by their names
/// where they are declared. Two types without a common one share no object. `None` if they may be of any.
pub(super) fn mutable_parts<F>(module: &Module<F>, ty: &Type) -> Option<HashSet<Type>> {
    let mut found: HashSet<Type> = HashSet::new();
    let mut seen: HashSet<Type> = HashSet::new();
    let mut work = vec![ty.clone()];
    while let Some(ty) = work.pop() {
        match &ty {
            Type::Scalar(_) | Type::Bottom | Type::Nothing | Type::String | Type::Symbol => {}
            Type::TypeOf(_) | Type::Function(_) => {}
            Type::Tuple(elements) | Type::Union(elements) => work.extend(elements.iter().cloned()),
            Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty.clone())),
            Type::Array(array) => {
                // Other types may be spelled in several ways.
                let element = if array.element.as_scalar().is_some() { array.element.clone() } else { Type::Any };
                found.insert(Type::Memory(Arc::new(element)));
                work.extend(seen.insert(ty.clone()).then(|| array.element.clone()));
            }
            Type::Named(name) => {
                let def = module.type_def(name)?;
                if module.may_be_of_subclass(name) {
                    // An object may be of a class below.
                    return None;
                }
                if !seen.insert(Type::named(def.name.clone())) {
                    continue;
                }
                match &def.kind {
                    TypeKind::Struct { mutable, fields } => {
                        found.extend(mutable.then(|| Type::named(def.name.clone())));
                        work.extend(fields.iter().map(|(_, ty)| ty.clone()));
                    }
                    TypeKind::Enum { cases } => work.extend(cases.iter().flat_map(|(_, payload)| payload).cloned()),
                }
            }
            _ => return None,
        }
    }
    Some(found)
}
