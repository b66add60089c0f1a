//! Which types are bits.

use crate::module::{Module, TypeKind};
use crate::types::Type;

/// Types nested deeper are not looked into.
const NESTED: usize = 8;

impl<F> Module<F> {
    /// Julia's `isbitstype`: whether values of this type are bits without references. Places of such types, as the
    /// elements of arrays are, always hold a value. `None` if it is not known.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Point", [("x".into(), Type::FLOAT64), ("n".into(), Type::INT64)]))?;
    /// let is_bits = |ty: &str| module.is_bits_type(&Type::parse(ty));
    /// assert_eq!(is_bits("Tuple{Point, Bool}"), Some(true));
    /// assert_eq!(is_bits("Tuple{Point, Vector{Float64}}"), Some(false));
    /// assert_eq!(is_bits("Tuple{Point, Any}"), None);
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn is_bits_type(&self, ty: &Type) -> Option<bool> {
        self.is_bits_inside(ty, 0)
    }

    fn is_bits_inside(&self, ty: &Type, depth: usize) -> Option<bool> {
        if depth > NESTED {
            return None;
        }
        let parts: Vec<&Type> = match ty {
            Type::Scalar(_) | Type::Nothing => return Some(true),
            Type::Array(_) | Type::Ref(_) | Type::Memory(_) | Type::String | Type::Symbol => return Some(false),
            Type::Tuple(types) => types.iter().collect(),
            Type::NamedTuple(fields) => fields.iter().map(|(_, ty)| ty).collect(),
            Type::Named(name) => match &self.type_def(name)?.kind {
                TypeKind::Struct { mutable: true, .. } => return Some(false),
                TypeKind::Struct { fields, .. } => fields.iter().map(|(_, ty)| ty).collect(),
                TypeKind::Enum { .. } => return None,
            },
            _ => return None,
        };
        // One part with references decides, whatever the others are.
        let mut answer = Some(true);
        for part in parts {
            match self.is_bits_inside(part, depth + 1) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => answer = None,
            }
        }
        answer
    }
}
