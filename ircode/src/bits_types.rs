//! Which types are bits.

use hashbrown::HashMap;

use crate::module::{Module, TypeKind};
use crate::name::Name;
use crate::types::Type;

/// Types nested deeper are not looked into.
const NESTED: usize = 64;

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
        self.is_bits_inside(ty, 0, &mut HashMap::new())
    }

    /// `known` are the answers for declared types that were asked for on the way; none while it is being found.
    fn is_bits_inside(&self, ty: &Type, depth: usize, known: &mut HashMap<Name, Option<bool>>) -> Option<bool> {
        if depth > NESTED {
            return None;
        }
        match ty {
            Type::Scalar(_) | Type::Nothing => Some(true),
            Type::Array(_) | Type::Ref(_) | Type::Memory(_) | Type::String | Type::Symbol => Some(false),
            Type::Tuple(types) => self.are_bits(types.iter(), depth, known),
            Type::NamedTuple(fields) => self.are_bits(fields.iter().map(|(_, ty)| ty), depth, known),
            Type::Named(name) => match &self.type_def(name)?.kind {
                TypeKind::Struct { mutable: true, .. } => Some(false),
                TypeKind::Struct { fields, .. } => {
                    if let Some(known) = known.get(name) {
                        return *known;
                    }
                    known.insert(name.clone(), None);
                    let answer = self.are_bits(fields.iter().map(|(_, ty)| ty), depth, known);
                    known.insert(name.clone(), answer);
                    answer
                }
                TypeKind::Enum { .. } => None,
            },
            _ => None,
        }
    }

    /// One part with references decides, whatever the others are.
    fn are_bits<'t>(
        &self,
        parts: impl IntoIterator<Item = &'t Type>,
        depth: usize,
        known: &mut HashMap<Name, Option<bool>>,
    ) -> Option<bool> {
        let mut answer = Some(true);
        for part in parts {
            match self.is_bits_inside(part, depth + 1, known) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => answer = None,
            }
        }
        answer
    }
}
