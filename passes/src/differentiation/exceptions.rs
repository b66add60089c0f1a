//! Exceptions of Julia's library: they are made to be thrown, and what they hold is not followed.

use bbcode::BBCode;
use ircode::primitives::lookup;
use ircode::{Callee, Head, Module, Names, Stmt, Type, TypeKind, unqualified};

/// Whether values of a type are exceptions that the module does not declare, or that a primitive makes.
pub(crate) fn is_exception_of_library(module: &Module<BBCode>, ty: &Type) -> bool {
    let Type::Named(name) = ty else { return false };
    let plain = unqualified(name);
    module.is_undeclared_exception(ty) || plain.ends_with("Error") && lookup(plain).is_some()
}

/// Types nested deeper than this may hold anything.
const DEEPEST: usize = 8;

/// Whether values of a type may be or hold such exceptions.
pub(crate) fn may_be_exception_of_library(module: &Module<BBCode>, ty: &Type) -> bool {
    fn may_be(module: &Module<BBCode>, ty: &Type, depth: usize) -> bool {
        if depth > DEEPEST || ty.is_unknown() || is_exception_of_library(module, ty) {
            return true;
        }
        match ty {
            // What is not declared may be a type above those of exceptions.
            Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { fields, .. }) => fields.iter().any(|(_, ty)| may_be(module, ty, depth + 1)),
                Some(TypeKind::Enum { cases }) => {
                    cases.iter().flat_map(|(_, payload)| payload).any(|ty| may_be(module, ty, depth + 1))
                }
                None => true,
            },
            ty => ty.any_part(&mut |part| may_be(module, part, depth + 1)),
        }
    }
    may_be(module, ty, 0)
}

/// Whether values of a type are seen to have no derivative.
pub(crate) fn is_without_derivative(ty: &Type) -> bool {
    match ty {
        Type::Scalar(scalar) => !scalar.is_float(),
        Type::Nothing | Type::Bottom | Type::String | Type::Symbol | Type::TypeOf(_) | Type::Function(_) => true,
        _ => false,
    }
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
