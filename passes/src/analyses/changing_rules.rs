//! Whether a function that has a derivative rule of its own changes what it is given, or gives it back. The rule says
//! nothing of that: derivatives would not put it back, and take what was read before for what is there afterwards. They
//! refuse functions that are seen to do so; of what is not known, C functions above all, for which rules are made, it
//! is taken that they do not. What is given back would have a shadow of its own beside that which it has.

use bbcode::BBCode;
use ircode::{Module, Stmt, Type, TypeKind};

use super::changes::{Counts, called, summaries};
use crate::PassError;
use crate::differentiation::dispatch::Candidate;
use crate::link_methods::type_of;
use crate::rules::{RuleKind, RuleTable};

/// An error of this pass if a function with a rule for reverse mode, which one of the functions at these positions
/// calls, directly or not, or one of the candidates for what is called as a value, is seen to change one of its
/// arguments, or to give it back. What a function with a rule calls is not looked at: it is not differentiated.
pub(crate) fn refuse(
    pass: &'static str,
    module: &Module<BBCode>,
    rules: &RuleTable,
    roots: &[usize],
    candidates: &[Candidate],
) -> Result<(), PassError> {
    let has_rule = |position: usize| {
        module.functions().get(position).is_some_and(|function| rules.has_function_rule(&function.name, RuleKind::Vjp))
    };
    if !(0..module.functions().len()).any(has_rule) {
        return Ok(());
    }
    let mut with_rules: Vec<usize> = Vec::new();
    let mut seen = vec![false; module.functions().len()];
    let mut work: Vec<usize> = roots.to_vec();
    work.extend(candidates.iter().filter_map(|candidate| candidate.function(module)));
    while let Some(position) = work.pop() {
        let (Some(seen), Some(function)) = (seen.get_mut(position), module.functions().get(position)) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        match has_rule(position) {
            true => with_rules.push(position),
            false => {
                work.extend(function.body.all_insts().filter_map(|(_, inst)| Some(called(module, &inst.stmt)?.0)));
            }
        }
    }
    with_rules.sort_unstable();
    // Global constants are looked at elsewhere.
    let Ok(summaries) = summaries(module, &with_rules, Counts::WhatIsSeen) else { return Ok(()) };
    for position in with_rules {
        let (Some(function), Some(summary)) = (module.functions().get(position), summaries.get(&position)) else {
            continue;
        };
        let all = 1..function.body.argtypes.len();
        let changed = all.clone().find(|&argument| summary.changes(argument));
        let is_object =
            |argument: usize| function.body.argtypes.get(argument).is_some_and(|ty| holds_object(module, ty, DEEPEST));
        let given_back = || {
            let argument = all.clone().find(|&argument| summary.gives_back(argument) && is_object(argument))?;
            returns_object(module, &function.body).then_some(argument)
        };
        let (argument, does, help) = match changed {
            Some(argument) => (argument, "changes", CHANGES_A_COPY),
            None => match given_back() {
                Some(argument) => (argument, "gives back", GIVES_A_COPY),
                None => continue,
            },
        };
        let name = argument.checked_sub(1).and_then(|index| function.parameters.get(index).cloned().flatten());
        let name = name.map_or_else(String::new, |name| format!(" ({name})"));
        let message = format!("it has a derivative rule, and {does} its argument _{}{name}", argument + 1);
        return Err(PassError::new(pass, &function.name, message).with_help(help));
    }
    Ok(())
}

const CHANGES_A_COPY: &str =
    "derivatives do not put back what such a function changes: let the rule be for one that changes a copy";
const GIVES_A_COPY: &str = "what can be changed in its result must be new: let the rule be for one that gives a copy";

/// Whether a function is seen to return something that can be changed, or holds such. Only that can be what it was
/// given.
fn returns_object(module: &Module<BBCode>, bb: &BBCode) -> bool {
    bb.all_insts().any(|(_, inst)| match &inst.stmt {
        Stmt::Return(ret) => ret.value.as_ref().is_some_and(|value| match type_of(module, bb, value) {
            Type::Union(members) => members.iter().any(|member| holds_object(module, member, DEEPEST)),
            ty => holds_object(module, &ty, DEEPEST),
        }),
        _ => false,
    })
}

/// Structs in structs are looked into so deep.
const DEEPEST: usize = 4;

/// Whether values of a type are or hold what can be changed: all of them, or those of some cases of an enum.
fn holds_object(module: &Module<BBCode>, ty: &Type, deepest: usize) -> bool {
    let Some(below) = deepest.checked_sub(1) else { return false };
    match ty {
        Type::Array(_) | Type::Ref(_) | Type::Memory(_) | Type::MemoryRef(_) | Type::Stack(_) => true,
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { mutable, fields }) => {
                *mutable || fields.iter().any(|(_, field)| holds_object(module, field, below))
            }
            Some(TypeKind::Enum { cases }) => {
                cases.iter().flat_map(|(_, payload)| payload).any(|part| holds_object(module, part, below))
            }
            None => false,
        },
        Type::NamedTuple(fields) => fields.iter().any(|(_, field)| holds_object(module, field, below)),
        Type::Tuple(parts) => parts.iter().any(|part| holds_object(module, part, below)),
        _ => false,
    }
}
