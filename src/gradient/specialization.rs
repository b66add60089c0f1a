//! Taking the types that a function does not show from what it is called with.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bbcode::{BBCode, Ids};
use ircode::{Callee, Constant, Function, Module, Name, Operand, Type, method_of};
use passes::{PassError, infer_types, run_on_function};

/// Takes types that a function does not show from those of its arguments, of which it may collect the last in a tuple.
/// Where the module itself calls it with something else, it keeps its own.
pub(crate) fn specialize(module: &mut Module<BBCode>, name: &Name, types: &[Type]) -> Result<(), PassError> {
    let Some(function) = module.function(name) else { return Ok(()) };
    if function.body.julia.is_some() {
        // A dump of Julia's own code has all types and the widths of all literals.
        return Ok(());
    }
    let mut types = given(function, types).into_owned();
    let declared: Vec<Type> = function.body.argtypes.iter().skip(1).cloned().collect();
    // Most functions declare what they take, and are as they will stay.
    let is_open = declared.iter().any(|ty| ty.is_unknown() || matches!(ty, Type::Named(_)));
    let original = is_open.then(|| function.body.clone());
    loop {
        let specialized = module.edit_beside(name, |module, body| {
            infer_types::specialize(body, &passes::Context { module, function: name }, &types)
        });
        if specialized.transpose()?.is_none() {
            return Ok(());
        }
        let Some(original) = &original else { break };
        let kept = called_with_others(module, name, &declared, &types);
        if kept.is_empty() {
            break;
        }
        for index in kept {
            if let (Some(ty), Some(declared)) = (types.get_mut(index), declared.get(index)) {
                *ty = declared.clone();
            }
        }
        if let Some(place) = module.body_mut(name) {
            *place = original.clone();
        }
    }
    // What the others call is known better now.
    for other in module.functions().iter().map(|function| function.name.clone()).collect::<Vec<_>>() {
        run_on_function(module, &other, passes::type_literals::run)?;
    }
    Ok(())
}

/// The types given, with those that the function collects in a tuple.
fn given<'t>(function: &Function<BBCode>, types: &'t [Type]) -> Cow<'t, [Type]> {
    if !function.varargs {
        return types.into();
    }
    let (own, collected) = types.split_at(function.body.argtypes.len().saturating_sub(2).min(types.len()));
    [own, &[Type::tuple(collected.iter().cloned())]].concat().into()
}

/// The arguments, counted from 0, that a call in the module may give another type than the one given, where that is not
/// the one declared. Calls that show no type say nothing of an argument of which nothing is declared: listings have
/// many.
fn called_with_others(module: &Module<BBCode>, name: &Name, declared: &[Type], given: &[Type]) -> BTreeSet<usize> {
    let all = declared.iter().zip(given).enumerate();
    let narrowed: Vec<(usize, &Type, &Type)> = all
        .filter(|(_, (declared, given))| declared != given)
        .map(|(at, (declared, given))| (at, declared, given))
        .collect();
    let mut kept = BTreeSet::new();
    if narrowed.is_empty() {
        return kept;
    }
    let abstracts: Vec<usize> =
        narrowed.iter().filter(|(_, declared, _)| !declared.is_unknown()).map(|(at, ..)| *at).collect();
    if module.has_tables() || method_of(name).is_some() {
        kept.extend(&abstracts);
    }
    let root = module.function_index(name);
    let is_root = |operand: &Operand<Ids>| match module.callee(operand) {
        Some(Callee::Function(index)) => Some(index) == root,
        _ => false,
    };
    for function in module.functions() {
        for (_, inst) in function.body.all_insts() {
            let call = inst.stmt.as_call();
            if let Some((_, args)) = call.filter(|(callee, _)| is_root(callee)) {
                for (at, declared, given) in &narrowed {
                    let passed = args.get(*at).map_or(Type::Untyped, |arg| function.body.operand_type(arg));
                    let says_nothing = passed.is_unknown() && declared.is_unknown();
                    if passed != **given && !says_nothing {
                        kept.insert(*at);
                    }
                }
            }
            // As a value it may be called with anything.
            inst.stmt.for_each_operand(&mut |operand| {
                let may_be = matches!(operand, Operand::Constant(Constant::Function(_)) | Operand::Global(_));
                if may_be && !call.is_some_and(|(callee, _)| std::ptr::eq(callee, operand)) && is_root(operand) {
                    kept.extend(&abstracts);
                }
            });
        }
    }
    kept
}
