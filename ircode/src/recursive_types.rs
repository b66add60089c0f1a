//! Which types hold themselves.

use hashbrown::HashSet;

use crate::graph::{Components, FlowGraph};
use crate::module::{Module, TypeDef, TypeKind};
use crate::name::Name;
use crate::types::Type;

impl<F> Module<F> {
    /// The names of the declared types whose values may hold others of the same type, in a field or further in. In time
    /// linear in the declarations.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Wood", [("trees".into(), Type::parse("Vector{Tree}"))]))?;
    /// module.add_type(TypeDef::structure("Tree", [("branches".into(), Type::parse("Vector{Branch}"))]))?;
    /// module.add_type(TypeDef::structure("Branch", [("length".into(), Type::FLOAT64), ("tree".into(), Type::named("Tree"))]))?;
    /// let recursive = module.recursive_types();
    /// assert!(recursive.contains("Tree") && recursive.contains("Branch"));
    /// assert!(!recursive.contains("Wood"));
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn recursive_types(&self) -> HashSet<Name> {
        let mut edges = Vec::new();
        for (holder, def) in self.types().iter().enumerate() {
            for_each_type_in(def, &mut |ty| {
                for_each_held(ty, &mut |held| edges.extend(self.type_index(held).map(|held| (holder, held))));
            });
        }
        let components = Components::new(&FlowGraph::new(self.types().len(), edges));
        let defs = self.types().iter().enumerate();
        defs.filter(|(index, _)| components.is_on_cycle(*index)).map(|(_, def)| def.name.clone()).collect()
    }
}

/// Visits the types of the fields of a struct, or of what the cases of an enum hold.
fn for_each_type_in(def: &TypeDef, visit: &mut dyn FnMut(&Type)) {
    match &def.kind {
        TypeKind::Struct { fields, .. } => fields.iter().for_each(|(_, ty)| visit(ty)),
        TypeKind::Enum { cases } => cases.iter().flat_map(|(_, payload)| payload).for_each(visit),
    }
}

/// Visits the names of the types of which a value of this type may hold values. A type that is a value holds none, and
/// what a closure holds its type does not say.
fn for_each_held(ty: &Type, visit: &mut dyn FnMut(&Name)) {
    match ty {
        Type::Named(name) => visit(name),
        Type::TypeOf(_) | Type::Closure(_) | Type::DifferentiableFunction(_) => {}
        ty => {
            ty.any_part(&mut |part| {
                for_each_held(part, visit);
                false
            });
        }
    }
}
