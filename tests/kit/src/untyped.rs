//! Programs of which nothing is known of the types of statements, as listings show them that were not inferred.

use ircode::{IRCode, Module, Stmt, Type};

/// The program with `Any` in the place of the types of all statements but π nodes, which would say nothing without
/// them.
pub fn without_types(module: &Module<IRCode>) -> Module<IRCode> {
    let mut module = module.clone();
    let names: Vec<_> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in names {
        let Some(body) = module.body_mut(&name) else { continue };
        let narrows: Vec<bool> = body.stmts.stmts().iter().map(|stmt| matches!(stmt, Stmt::Pi(_))).collect();
        for (ty, narrows) in body.stmts.types_mut().iter_mut().zip(narrows) {
            if !narrows {
                *ty = Type::Any;
            }
        }
    }
    module
}
