//! Values in variables of Cranelift's frontend, one for each part, and one that says whether there is a value where there may be none.

use std::sync::Arc;

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;

use super::function::{FunctionCompiler, Typed};
use super::layout::{Layout, Parts};

/// A value in variables.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) layout: Arc<Layout>,
    pub(super) variables: Parts<Variable>,
    /// Says whether the value is defined, where it may not be.
    pub(super) defined: Option<Variable>,
}

impl Held {
    /// All its variables.
    pub(super) fn all(&self) -> impl Iterator<Item = Variable> {
        self.variables.iter().copied().chain(self.defined)
    }
}

impl FunctionCompiler<'_, '_> {
    /// A variable for a part of this type.
    pub(super) fn variable(&mut self, part: ir::Type) -> Variable {
        self.variable_types.push(part);
        self.builder.declare_var(part)
    }

    /// Variables for a value.
    pub(super) fn hold(&mut self, layout: &Arc<Layout>) -> Held {
        let variables = layout.parts.iter().map(|part| self.variable(*part)).collect();
        Held { layout: layout.clone(), variables, defined: None }
    }

    /// Variables for a value that may be none.
    pub(super) fn hold_open(&mut self, layout: &Arc<Layout>) -> Held {
        let held = self.hold(layout);
        Held { defined: Some(self.variable(clif::I8)), ..held }
    }

    /// The variables of a statement.
    pub(super) fn held(&self, statement: usize) -> Option<Held> {
        self.values.get(statement).cloned().flatten()
    }

    pub(super) fn set_held(&mut self, statement: usize, held: Held) {
        if let Some(slot) = self.values.get_mut(statement) {
            *slot = Some(held);
        }
    }

    /// What variables hold, and whether that is a value, if it may be none.
    pub(super) fn value_in(&mut self, held: &Held) -> (Typed, Option<ir::Value>) {
        let parts = held.variables.iter().map(|variable| self.builder.use_var(*variable)).collect();
        let defined = held.defined.map(|flag| self.builder.use_var(flag));
        (Typed { layout: held.layout.clone(), parts }, defined)
    }

    /// Gives variables a value, which is there unless `defined` says that it may not be.
    pub(super) fn give(&mut self, held: &Held, parts: &[ir::Value], defined: Option<ir::Value>) {
        for (variable, part) in held.variables.iter().zip(parts) {
            self.builder.def_var(*variable, *part);
        }
        if let Some(flag) = held.defined {
            let defined = defined.unwrap_or_else(|| self.builder.ins().iconst(clif::I8, 1));
            self.builder.def_var(flag, defined);
        }
    }

    /// Gives variables no value.
    pub(super) fn give_nothing(&mut self, held: &Held) {
        let zeros: Parts<ir::Value> = held.layout.parts.iter().map(|part| self.zero(*part)).collect();
        let nothing = self.builder.ins().iconst(clif::I8, 0);
        self.give(held, &zeros, Some(nothing));
    }

    /// The variable of a φ that is one number.
    pub(super) fn phi_variable(&self, phi: usize) -> Option<Variable> {
        match self.values.get(phi)?.as_ref()? {
            Held { variables, defined: None, .. } if variables.len() == 1 => variables.first().copied(),
            _ => None,
        }
    }

    /// Whether the statement has a value already.
    pub(super) fn is_compiled(&self, statement: usize) -> bool {
        self.values.get(statement).is_some_and(Option::is_some)
    }

    /// Gives a statement its value.
    pub(super) fn define(&mut self, index: usize, value: &Typed) {
        // In another version of a loop it has variables already.
        let known = self.held(index).filter(|held| held.layout.ty == value.layout.ty);
        let held = known.unwrap_or_else(|| self.hold(&value.layout));
        self.give(&held, &value.parts, None);
        self.set_held(index, held);
    }
}
