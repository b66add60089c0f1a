//! What a call calls.

use crate::constant::Constant;
use crate::module::Module;
use crate::name::Name;
use crate::names::Names;
use crate::operand::{GlobalRef, Operand};
use crate::primitives::{self, Primitive};
use crate::types::Type;

/// What a name stands for that is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// The function of the module at this position.
    Function(usize),
    /// A primitive.
    Primitive(&'static Primitive),
    /// A type: calling it converts or constructs.
    Type(Type),
    /// Neither a function of the module nor a primitive.
    Unknown(Name),
}

impl<F> Module<F> {
    /// What a callee names; `None` if that is known only when the program runs.
    ///
    /// Names without a module and those of `Base`, `Core`, `Main` and `Core.Intrinsics` mean the module's function of that
    /// name first, then the primitive. Names of other modules mean a function called by its whole path, or a primitive
    /// of a module inside of `Base` or `Core`.
    pub fn callee<N: Names>(&self, operand: &Operand<N>) -> Option<Callee> {
        match operand {
            Operand::Global(global) => Some(self.global_callee(global)),
            Operand::Constant(Constant::Function(name)) => Some(self.function_callee(name)),
            Operand::Constant(Constant::Type(ty)) => Some(Callee::Type((**ty).clone())),
            Operand::Quote(constant) => self.callee(&Operand::<N>::Constant((**constant).clone())),
            _ => None,
        }
    }

    /// What the function object of this printed name is.
    pub fn function_callee(&self, name: &str) -> Callee {
        match name.rsplit_once('.') {
            Some((module, name)) if !name.is_empty() => self.global_callee(&GlobalRef::new(module, name)),
            _ => self.global_callee(&GlobalRef::new("", name)),
        }
    }

    /// What a global is.
    pub fn global_callee(&self, global: &GlobalRef) -> Callee {
        let GlobalRef { module, name } = global;
        let path = if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
        let found = self.function_index(&path).or_else(|| {
            let plain = matches!(module.as_str(), "Base" | "Core" | "Main" | "Core.Intrinsics");
            plain.then(|| self.function_index(name)).flatten()
        });
        if let Some(index) = found {
            return Callee::Function(index);
        }
        if let Some(primitive) = primitives::of_global(global) {
            return Callee::Primitive(primitive);
        }
        if self.type_def(&path).is_some() {
            return Callee::Type(Type::named(path));
        }
        if matches!(module.as_str(), "" | "Base" | "Core" | "Main") {
            match Type::parse(name) {
                Type::Named(_) | Type::Untyped => {}
                ty => return Callee::Type(ty),
            }
            match name.as_str() {
                "Int" => return Callee::Type(Type::INT64),
                "UInt" => return Callee::Type(crate::ScalarType::UInt64.into()),
                _ => {}
            }
        }
        Callee::Unknown(path.into())
    }
}
