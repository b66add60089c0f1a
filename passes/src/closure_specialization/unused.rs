//! Functions and enums that nobody mentions any more.

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::{Callee, Constant, Module, Name, Stmt, Type, TypeDef, TypeKind};

/// Removes the functions that were replaced, and that no function which stays and no declaration mentions; not `kept`.
/// Returns their names, in the order of the module. Linear in the module.
pub(super) fn remove(module: &mut Module<BBCode>, replaced: &[bool], kept: Option<&Name>) -> Vec<Name> {
    let functions = module.functions();
    let may_go = |index: usize| {
        replaced.get(index) == Some(&true) && functions.get(index).map(|function| &function.name) != kept
    };
    let mut stays = vec![false; functions.len()];
    let mut work: Vec<usize> = (0..functions.len()).filter(|&index| !may_go(index)).collect();
    module.for_each_declared_function(&mut |named| work.push(named));
    while let Some(index) = work.pop() {
        match stays.get_mut(index) {
            Some(stays @ false) => *stays = true,
            _ => continue,
        }
        for (_, inst) in functions.get(index).into_iter().flat_map(|function| function.body.all_insts()) {
            let mut mention = |named| work.push(named);
            inst.stmt.for_each_operand(&mut |operand| module.for_each_named_function(operand, &mut mention));
        }
    }
    let gone = functions.iter().zip(&stays).filter(|(_, stays)| !**stays);
    let names: Vec<Name> = gone.map(|(function, _)| function.name.clone()).collect();
    if !names.is_empty() {
        let mut stays = stays.into_iter();
        module.retain(|_| stays.next().unwrap_or(true), |_| true);
    }
    names
}

/// Removes the declared types among these that nothing mentions any more. Returns their names, in the order of the
/// module. Linear in the module.
pub(super) fn remove_types(module: &mut Module<BBCode>, candidates: &[Name]) -> Vec<Name> {
    let candidates: HashSet<Name> =
        candidates.iter().filter_map(|name| Some(module.type_def(name)?.name.clone())).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut mentioned: HashSet<Name> = HashSet::new();
    let mut work: Vec<Name> = Vec::new();
    let mut mention = |module: &Module<BBCode>, ty: &Type, work: &mut Vec<Name>| {
        ty.for_each_name(&mut |name| {
            if let Some(def) = module.type_def(name)
                && mentioned.insert(def.name.clone())
            {
                work.push(def.name.clone());
            }
        });
    };
    for function in module.functions() {
        mention(module, &function.result, &mut work);
        function.body.argtypes.iter().for_each(|ty| mention(module, ty, &mut work));
        for (_, inst) in function.body.all_insts() {
            mention(module, &inst.ty, &mut work);
            if let Stmt::Pi(pi) = &inst.stmt {
                mention(module, &pi.ty, &mut work);
            }
            inst.stmt.for_each_operand(&mut |operand| {
                if let Some(Constant::Type(ty)) = operand.as_constant() {
                    mention(module, ty, &mut work);
                }
                if let Some(Callee::Type(ty)) = module.callee(operand) {
                    mention(module, &ty, &mut work);
                }
            });
        }
    }
    module.global_constants().iter().for_each(|constant| mention(module, constant.ty(), &mut work));
    // Other types than these stay whether they are mentioned or not.
    for def in module.types().iter().filter(|def| !candidates.contains(&def.name)) {
        mention(module, &Type::named(def.name.clone()), &mut work);
    }
    while let Some(name) = work.pop() {
        let Some(def) = module.type_def(&name) else { continue };
        match &def.kind {
            TypeKind::Struct { fields, .. } => fields.iter().for_each(|(_, ty)| mention(module, ty, &mut work)),
            TypeKind::Enum { cases } => {
                cases.iter().flat_map(|(_, types)| types).for_each(|ty| mention(module, ty, &mut work));
            }
        }
    }
    let goes = |def: &TypeDef| candidates.contains(&def.name) && !mentioned.contains(&def.name);
    let names: Vec<Name> = module.types().iter().filter(|def| goes(def)).map(|def| def.name.clone()).collect();
    if !names.is_empty() {
        module.retain(|_| true, |def| !goes(def));
    }
    names
}
