//! Declaring primitives: those of the table, and those that a host registers.

use super::{Compute, Effects, Failure, MemoryEffect, Primitive, ResultType, Scope, Transfer};
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;
use crate::wording::counted;

/// Hosts declare a primitive as a `static`, and [register](crate::Module::register) it with a module.
///
/// ```
/// use ircode::primitives::{Effects, Failure, Primitive, ResultType};
/// use ircode::{Callee, GlobalRef, IRCode, Module, Scalar};
///
/// fn softplus(operands: &[Scalar]) -> Result<Scalar, Failure> {
///     match operands {
///         [Scalar::Float64(x)] => Ok(Scalar::Float64(x.exp().ln_1p())),
///         _ => Err(Failure::Operands("a Float64")),
///     }
/// }
/// static SOFTPLUS: Primitive = Primitive::scalars("softplus", 1, ResultType::Operand(0), Effects::PURE, softplus);
///
/// let mut module: Module<IRCode> = Module::new();
/// module.register(&SOFTPLUS)?;
/// let callee = module.global_callee(&GlobalRef::new("Main", "softplus"));
/// assert!(matches!(callee, Callee::Primitive(primitive) if primitive.name == "softplus"));
/// # Ok::<(), ircode::ExtensionError>(())
/// ```
impl Primitive {
    /// A function of scalars that takes this number of operands. It must give the same result for the same operands
    /// unless its effects say otherwise: calls of constants are computed before the program runs. It is never called
    /// with another number of operands. Where it panics, so does what runs the program, in machine code too.
    pub const fn scalars(
        name: &'static str,
        operands: usize,
        result: ResultType,
        effects: Effects,
        f: fn(&[Scalar]) -> Result<Scalar, Failure>,
    ) -> Primitive {
        Primitive {
            name,
            min_operands: operands,
            max_operands: Some(operands),
            result,
            effects,
            compute: Compute::Scalars(f),
            rule: name,
            scope: Scope::Anywhere,
            memory: MemoryEffect::Other,
            transfer: Transfer::None,
        }
    }

    /// A conversion of a scalar, the second operand, to the type that the first operand names.
    pub const fn conversion(
        name: &'static str,
        effects: Effects,
        f: fn(ScalarType, &Scalar) -> Result<Scalar, Failure>,
    ) -> Primitive {
        Primitive {
            name,
            min_operands: 2,
            max_operands: Some(2),
            result: ResultType::Named,
            effects,
            compute: Compute::Convert(f),
            rule: name,
            scope: Scope::Anywhere,
            memory: MemoryEffect::Other,
            transfer: Transfer::None,
        }
    }

    /// What works on other things than scalars, and takes this number of operands. What it does is said where it runs
    /// (`exec::Machine::define`).
    pub const fn machine(name: &'static str, operands: usize, result: ResultType, effects: Effects) -> Primitive {
        Primitive {
            name,
            min_operands: operands,
            max_operands: Some(operands),
            result,
            effects,
            compute: Compute::Machine,
            rule: name,
            scope: Scope::Anywhere,
            memory: MemoryEffect::Other,
            transfer: Transfer::None,
        }
    }

    /// The same with up to this number of operands.
    pub const fn up_to(self, max: usize) -> Primitive {
        Primitive { max_operands: Some(max), ..self }
    }

    /// The same without a limit to the number of operands.
    pub const fn any_number(self) -> Primitive {
        Primitive { max_operands: None, ..self }
    }

    /// The same with the derivative rules of another primitive.
    pub const fn with_rule(self, rule: &'static str) -> Primitive {
        Primitive { rule, ..self }
    }

    /// The same, meant by other names.
    pub const fn in_scope(self, scope: Scope) -> Primitive {
        Primitive { scope, ..self }
    }

    /// The same, which does this with arrays or stacks.
    pub const fn on_memory(self, memory: MemoryEffect) -> Primitive {
        Primitive { memory, ..self }
    }

    /// The same, whose value lies in the operand with this number, from 0 on.
    pub const fn loads(self, object: usize) -> Primitive {
        Primitive { transfer: Transfer::Load { object }, ..self }
    }

    /// The same, which puts the second of these operands in the first; they are numbered from 0.
    pub const fn stores(self, object: usize, value: usize) -> Primitive {
        Primitive { transfer: Transfer::Store { object, value }, ..self }
    }

    /// The same, which makes a value that holds its operands and does not change.
    pub const fn holds_operands(self) -> Primitive {
        Primitive { transfer: Transfer::Aggregate, ..self }
    }

    /// Whether an invoke of a method for operands of these types may mean it: as far as the primitives for arrays
    /// ([`Scope::Arrays`]) are concerned, whether there is an array among them, or something unknown.
    pub fn may_take(&self, argtypes: &[Type]) -> bool {
        self.scope != Scope::Arrays
            || argtypes.is_empty()
            || argtypes.iter().any(|ty| ty.is_unknown() || matches!(ty, Type::Array(_)))
    }

    /// Whether it takes this number of operands.
    pub fn takes(&self, operands: usize) -> bool {
        operands >= self.min_operands && self.max_operands.is_none_or(|max| operands <= max)
    }

    /// How many operands it takes, in words: `2 operands`, `1 to 3 operands`, `at least 1 operand`.
    pub fn operand_counts(&self) -> String {
        match self.max_operands {
            Some(max) if max == self.min_operands => counted(max, "operand"),
            Some(max) => format!("{} to {max} operands", self.min_operands),
            None => format!("at least {}", counted(self.min_operands, "operand")),
        }
    }
}
