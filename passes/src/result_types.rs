//! Finds what functions return that do not say so.

use std::collections::BTreeSet;

use bbcode::BBCode;
use ircode::{Callee, Function, Module, Name, Type};

use crate::infer_types::{self, returned_type};
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "result-types";

/// At most this many times types are followed through functions that call each other. What still changes then stays
/// unknown: tuples that get longer with each call have no last type.
const ROUNDS: usize = 12;

/// Gives a type to the result of every function that declares none, or `Any`, and is called by a statement without a
/// type, where it follows from what the functions of the module do; and to the statements of that function. True if
/// one was found.
///
/// It is optimistic, as [`infer_types`] is around loops: a function that calls itself returns what it does where it
/// does not, until that is seen to be wrong (a fixpoint in the manner of Kildall, "A unified approach to global program
/// optimization", 1973). Julia's compiler gives up where a function calls itself through a variable.
pub fn run(module: &mut Module<BBCode>, _: Option<&Name>) -> PassResult {
    let open = called_open(module);
    if open.is_empty() {
        return Ok(false);
    }
    // Nothing is known to be returned at first.
    let mut trial = module.clone();
    let mut known: Vec<Type> = vec![Type::Bottom; open.len()];
    open.iter().for_each(|(name, _)| set_result(&mut trial, name, Type::Bottom));
    for round in 0.. {
        let mut changed = false;
        for ((name, body), known) in open.iter().zip(&mut known) {
            let result = returned_type(&inferred(&trial, name, body)?);
            let wider = if result.is_unknown() { Type::Any } else { Type::union([known.clone(), result]) };
            if wider != *known {
                // Whatever the order of rounds, there is nothing wider.
                *known = if round < ROUNDS { wider } else { Type::Any };
                set_result(&mut trial, name, known.clone());
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut found = false;
    for ((name, body), known) in open.iter().zip(known) {
        if known == Type::Any || known == Type::Bottom {
            continue;
        }
        let body = inferred(&trial, name, body)?;
        set_result(module, name, known);
        if let Some(place) = module.body_mut(name) {
            *place = body;
        }
        found = true;
    }
    Ok(found)
}

/// The functions of unknown result that statements of unknown type call.
fn called_open(module: &Module<BBCode>) -> Vec<(Name, BBCode)> {
    let mut called: BTreeSet<usize> = BTreeSet::new();
    for function in module.functions() {
        for (_, inst) in function.body.all_insts().filter(|(_, inst)| inst.ty.is_unknown()) {
            if let Some(Callee::Function(index)) = module.called(&inst.stmt) {
                called.insert(index);
            }
        }
    }
    let functions = called.into_iter().filter_map(|index| module.functions().get(index));
    let open = functions.filter(|function| function.result.is_unknown());
    open.map(|function| (function.name.clone(), function.body.clone())).collect()
}

fn set_result(module: &mut Module<BBCode>, name: &Name, result: Type) {
    if let Some(function) = module.function(name) {
        module.replace_function(Function { result, ..function.clone() });
    }
}

/// The code with the types that follow from what is known of the others' results.
fn inferred(module: &Module<BBCode>, name: &Name, body: &BBCode) -> Result<BBCode, PassError> {
    let mut body = body.clone();
    infer_types::run(&mut body, &Context { module, function: name })?;
    Ok(body)
}
