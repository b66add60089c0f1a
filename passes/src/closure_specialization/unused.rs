//! Functions that nobody mentions any more.

use bbcode::BBCode;
use ircode::{Callee, Constant, Module, Name, Operand};

/// Removes the functions that were replaced, and that no function which stays mentions; not `kept`. Returns their names, in the order of
/// the module. Linear in the module.
pub(super) fn remove(module: &mut Module<BBCode>, replaced: &[bool], kept: Option<&Name>) -> Vec<Name> {
    let functions = module.functions();
    let may_go = |index: usize| {
        replaced.get(index) == Some(&true) && functions.get(index).map(|function| &function.name) != kept
    };
    let mut stays: Vec<bool> = (0..functions.len()).map(|index| !may_go(index)).collect();
    let mut work: Vec<usize> = (0..functions.len()).filter(|&index| !may_go(index)).collect();
    while let Some(index) = work.pop() {
        let Some(function) = functions.get(index) else { continue };
        for (_, inst) in function.body.all_insts() {
            inst.stmt.for_each_operand(&mut |operand| {
                if !matches!(operand, Operand::Global(_) | Operand::Quote(_) | Operand::Constant(Constant::Function(_)))
                {
                    return;
                }
                let mut mention = |mentioned: usize| {
                    if let Some(stays @ false) = stays.get_mut(mentioned) {
                        *stays = true;
                        work.push(mentioned);
                    }
                };
                match module.callee(operand) {
                    Some(Callee::Function(mentioned)) => mention(mentioned),
                    // A function of Julia's means its methods.
                    Some(Callee::Unknown(path)) => module.methods(&path).iter().copied().for_each(mention),
                    _ => {}
                }
            });
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
