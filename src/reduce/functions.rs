//! Removing functions, types and arguments.

use bbcode::{BBCode, remove_argument};
use hashbrown::HashSet;
use ircode::{Argument, Constant, Declaration, Module, Name, Operand, unqualified};

use super::Reducer;

/// Removes functions.
pub(super) fn functions(reducer: &mut Reducer<'_>) {
    if reducer.options.only.is_none() {
        let names = reducer.functions();
        reducer.each_part(names, |module, gone| {
            let gone: HashSet<&Name> = gone.iter().collect();
            let kept = module.functions().iter().filter(|function| !gone.contains(&function.name)).cloned();
            Some(rebuilt(kept.collect(), module.declarations()))
        });
    }
}

/// Removes declarations of types and tables.
pub(super) fn types(reducer: &mut Reducer<'_>) {
    if reducer.options.only.is_some() {
        return;
    }
    let names = reducer.state.declarations().map(|declaration| declaration.name()).collect();
    reducer.each_part(names, |module, gone: &[Name]| {
        let gone: HashSet<&Name> = gone.iter().collect();
        let kept = module.declarations().filter(|declaration| !gone.contains(&declaration.name()));
        Some(rebuilt(module.functions().to_vec(), kept))
    });
}

/// Removes arguments that nothing uses, of functions that no function names.
pub(super) fn arguments(reducer: &mut Reducer<'_>) {
    let mut unused: Vec<(Name, usize)> = Vec::new();
    let named = named(&reducer.state);
    for name in reducer.functions() {
        let Some(function) = reducer.state.function(&name).filter(|function| !function.varargs) else { continue };
        if named.contains(last_part(&name)) {
            continue;
        }
        let used = used_arguments(&function.body);
        // The last first, so that the numbers of the others stay.
        let arguments = (1..function.body.argtypes.len()).rev();
        unused.extend(arguments.filter(|index| !used.contains(index)).map(|index| (name.clone(), index)));
    }
    reducer.each(unused, |module, (name, index)| remove_unused(module, name, *index));
}

/// A module of these functions and declarations. Tables lose their entries for functions that are gone.
fn rebuilt(
    functions: Vec<ircode::Function<BBCode>>,
    declarations: impl Iterator<Item = Declaration>,
) -> Module<BBCode> {
    let mut module = Module::new();
    for function in functions {
        // The names were unique before.
        let _ = module.add_function(function);
    }
    for mut declaration in declarations {
        if let Some(entries) = declaration.entries_mut() {
            entries.retain(|entry| module.function(&entry.function).is_some());
        }
        if let Declaration::Differentiability(witness) = &mut declaration {
            let there = |name: &Name| module.function(name).is_some();
            if !there(&witness.function) {
                continue;
            }
            witness.jvp = witness.jvp.take().filter(there);
            witness.vjp = witness.vjp.take().filter(there);
        }
        let _ = module.declare(declaration);
    }
    module
}

/// What operands and tables name, without the modules it is in.
fn named(module: &Module<BBCode>) -> HashSet<Name> {
    let declarations: Vec<Declaration> = module.declarations().collect();
    let entries = declarations.iter().filter_map(Declaration::entries).flatten();
    let mut named: HashSet<Name> = entries.map(|entry| last_part(&entry.function).into()).collect();
    for witness in module.differentiability_witnesses() {
        let names = std::iter::once(&witness.function).chain(&witness.jvp).chain(&witness.vjp);
        named.extend(names.map(|name| Name::from(last_part(name))));
    }
    for (_, inst) in module.functions().iter().flat_map(|function| function.body.all_insts()) {
        inst.stmt.for_each_operand(&mut |operand| match operand {
            Operand::Global(global) => named.extend([last_part(&global.name).into()]),
            Operand::Constant(Constant::Function(path)) => named.extend([last_part(path).into()]),
            _ => {}
        });
    }
    named
}

/// The last part of a path, of `Base.Math.sin` the `sin`; for `sin(::Float64)` that of what it is a method of.
fn last_part(path: &str) -> &str {
    unqualified(ircode::method_of(path).unwrap_or(path))
}

fn used_arguments(body: &BBCode) -> HashSet<usize> {
    let mut used = HashSet::new();
    for (_, inst) in body.all_insts() {
        inst.stmt.for_each_operand(&mut |operand| {
            if let Operand::Argument(argument) = operand {
                used.extend(argument.index());
            }
        });
    }
    used
}

fn remove_unused(module: &mut Module<BBCode>, name: &Name, index: usize) -> bool {
    let removed = module.edit_function(name, |function| remove_argument(function, Argument::from_index(index)));
    removed.is_some_and(|removed| removed.is_ok())
}
