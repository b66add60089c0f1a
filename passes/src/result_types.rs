//! Finds what functions return that do not say so.

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::{CallGraph, Callee, Function, Module, Name, Type};

use crate::infer_types::{self, returned_type};
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "result-types";

/// At most this many times the type of a function's result gets wider. What still changes then stays unknown: tuples
/// that get longer with each call have no last type.
const MOST_WIDENED: usize = 12;

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
    let mut widened = vec![0; open.len()];
    loop {
        let mut changed = false;
        for (((name, body), known), widened) in open.iter().zip(&mut known).zip(&mut widened) {
            let result = returned_type(&inferred(&trial, name, body)?);
            let wider = if result.is_unknown() { Type::Any } else { Type::union([known.clone(), result]) };
            if wider != *known {
                // Whatever the order in which functions are looked at, there is nothing wider.
                *known = if *widened < MOST_WIDENED { wider } else { Type::Any };
                *widened += 1;
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

/// The functions of unknown result that statements of unknown type call, each behind those that it calls, so that types
/// are found at once where functions do not call each other.
fn called_open(module: &Module<BBCode>) -> Vec<(Name, BBCode)> {
    let mut called: HashSet<usize> = HashSet::new();
    for function in module.functions() {
        for (_, inst) in function.body.all_insts().filter(|(_, inst)| inst.ty.is_unknown()) {
            if let Some(Callee::Function(index)) = module.called(&inst.stmt) {
                called.insert(index);
            }
        }
    }
    let graph = CallGraph::new(module);
    let order = graph.bottom_up().iter().flatten().filter(|index| called.contains(*index));
    let functions = order.filter_map(|&index| module.functions().get(index));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_do_not_depend_on_the_order_of_functions() {
        // More functions than a type gets wider, each of which calls the next.
        const COUNT: usize = 3 * MOST_WIDENED;
        let function = |number: usize| {
            let body = match number + 1 {
                COUNT => "1 ─ return 0.5".to_string(),
                next => format!("1 ─ %1 = Main.f{next}(x)\n└── return %1"),
            };
            format!("function f{number}(x::Float64)\n{body}\nend\n")
        };
        let callers_first: String = (0..COUNT).map(function).collect();
        let callees_first: String = (0..COUNT).rev().map(function).collect();
        for text in [callers_first, callees_first] {
            let module = ircode::parse_module(&text).unwrap().module;
            let mut module = module.map(|function| BBCode::try_from(&function.body)).unwrap();
            assert_eq!(run(&mut module, None), Ok(true));
            // Nobody calls the first.
            for number in 1..COUNT {
                assert_eq!(module.function(&format!("f{number}")).unwrap().result, Type::FLOAT64, "f{number}");
            }
        }
    }
}
