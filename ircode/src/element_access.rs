//! Loads of elements of arrays, and stores to them.

use crate::module::Module;
use crate::names::Names;
use crate::operand::Operand;
use crate::stmt::Stmt;

/// A load of an element of an array, or a store to one, with the operands that say which.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ElementAccess<'s, N: Names> {
    /// Whether the indices are checked.
    pub check: &'s Operand<N>,
    /// The array.
    pub array: &'s Operand<N>,
    /// One index into all elements, or one for each dimension, from 1 on.
    pub indices: &'s [Operand<N>],
    /// What is stored; `None` for a load.
    pub stored: Option<&'s Operand<N>>,
}

impl<F> Module<F> {
    /// The element that a statement loads or stores by `arrayref`, `const_arrayref` or `arrayset`, if it does.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Operand};
    ///
    /// let function = ircode::parse_function("
    /// function f(x::Vector{Float64}, i::Int64)
    /// 1 ─ %1 = Base.arrayref(true, x, i)::Float64
    /// │        Base.arrayset(true, x, %1, 1)::Vector{Float64}
    /// └──      return %1
    /// end
    /// ")?;
    /// let module: Module<IRCode> = Module::new();
    /// let access = |at: usize| module.element_access(&function.body.stmts.stmts()[at]);
    /// assert_eq!(access(0).unwrap().indices, [Operand::argument(3)]);
    /// assert_eq!(access(0).unwrap().stored, None);
    /// assert!(access(1).unwrap().stored.is_some());
    /// assert_eq!(access(2), None);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn element_access<'s, N: Names>(&self, stmt: &'s Stmt<N>) -> Option<ElementAccess<'s, N>> {
        let (primitive, args) = self.primitive_call(stmt)?;
        match (primitive.name, args) {
            ("arrayref" | "const_arrayref", [check, array, indices @ ..]) => {
                Some(ElementAccess { check, array, indices, stored: None })
            }
            ("arrayset", [check, array, stored, indices @ ..]) => {
                Some(ElementAccess { check, array, indices, stored: Some(stored) })
            }
            _ => None,
        }
    }
}
