//! Exceptions of Julia's library: they are made to be thrown, and what they hold is not followed.

use bbcode::BBCode;
use ircode::primitives::lookup;
use ircode::{Callee, Head, Module, Names, Stmt, Type};

/// Whether values of a type are exceptions that the module does not declare, or that a primitive makes.
pub(crate) fn is_exception_of_library(module: &Module<BBCode>, ty: &Type) -> bool {
    let Type::Named(name) = ty else { return false };
    let plain = name.rsplit('.').next().unwrap_or(name);
    module.is_undeclared_exception(ty) || plain.ends_with("Error") && lookup(plain).is_some()
}

/// Whether a statement, which has a value of type `ty`, makes an exception of Julia's library, and does nothing else.
pub(crate) fn makes_exception<N: Names>(module: &Module<BBCode>, stmt: &Stmt<N>, ty: &Type) -> bool {
    // This is asked of every statement, and few are of such types.
    if !is_exception_of_library(module, ty) {
        return false;
    }
    match (stmt, module.called(stmt)) {
        (_, Some(Callee::Primitive(primitive))) => {
            let made = Type::named(primitive.name);
            module.is_undeclared_exception(&made) || made == *ty
        }
        (Stmt::Expr(expr), _) => expr.head == Head::New && module.is_undeclared_exception(ty),
        (_, called) => matches!(called, Some(Callee::Type(_))) && module.is_undeclared_exception(ty),
    }
}
