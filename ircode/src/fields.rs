//! The fields of tuples and structs.

use crate::constant::Constant;
use crate::module::{Module, TypeKind};
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::Type;

/// A field of a type: its name, if fields of the type have names, and its type.
pub type Field<'t> = (Option<&'t Name>, &'t Type);

impl<F> Module<F> {
    /// The fields of values of this type, in order, if it is a tuple type, a named tuple type or an immutable struct
    /// that the module declares; `None` for every other type, and for tuples of which the type leaves the length open.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Point", [("x".into(), Type::FLOAT64), ("n".into(), Type::INT64)]))?;
    /// let point = Type::named("Point");
    /// let fields = module.immutable_fields(&point).unwrap_or_default();
    /// assert_eq!(fields, [(Some(&"x".into()), &Type::FLOAT64), (Some(&"n".into()), &Type::INT64)]);
    /// assert_eq!(module.immutable_fields(&Type::FLOAT64), None);
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn immutable_fields<'t>(&'t self, ty: &'t Type) -> Option<Vec<Field<'t>>> {
        match ty {
            Type::Tuple(elements) if is_open(elements) => None,
            Type::Tuple(elements) => Some(elements.iter().map(|ty| (None, ty)).collect()),
            Type::NamedTuple(fields) => Some(named(fields)),
            Type::Named(_) => self.struct_fields(ty).filter(|_| !self.is_mutable_struct(ty)),
            _ => None,
        }
    }

    /// The type of the field of such a value that a constant names, by its name or by its number, which counts from 1,
    /// and its position, which counts from 0. A number is looked up in constant time.
    ///
    /// ```
    /// use ircode::{Constant, IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// let pair = Type::tuple([Type::FLOAT64, Type::INT64]);
    /// assert_eq!(module.immutable_field(&pair, &Constant::int64(2)), Some((1, &Type::INT64)));
    /// assert_eq!(module.immutable_field(&pair, &Constant::int64(3)), None);
    /// ```
    pub fn immutable_field<'t>(&'t self, ty: &'t Type, field: &Constant) -> Option<(usize, &'t Type)> {
        let fields: &[(Name, Type)] = match (ty, field) {
            (Type::Tuple(elements), Constant::Scalar(number)) => {
                let position = position_of_number(number).filter(|_| !is_open(elements))?;
                return elements.get(position).map(|ty| (position, ty));
            }
            (Type::NamedTuple(fields), _) => fields,
            (Type::Named(name), _) => match &self.type_def(name)?.kind {
                TypeKind::Struct { mutable: false, fields } => fields,
                _ => return None,
            },
            _ => return None,
        };
        let position = match field {
            Constant::Symbol(name) => fields.iter().position(|(known, _)| known == name)?,
            Constant::Scalar(number) => position_of_number(number)?,
            _ => return None,
        };
        fields.get(position).map(|(_, ty)| (position, ty))
    }

    /// The fields of values of this type, in order, if it is a struct that the module declares, mutable or not.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef, TypeKind};
    ///
    /// let kind = TypeKind::Struct { mutable: true, fields: vec![("n".into(), Type::INT64)] };
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef { name: "Counter".into(), supertypes: None, kind })?;
    /// let counter = Type::named("Counter");
    /// assert_eq!(module.struct_fields(&counter), Some(vec![(Some(&"n".into()), &Type::INT64)]));
    /// assert_eq!(module.immutable_fields(&counter), None);
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn struct_fields<'t>(&'t self, ty: &'t Type) -> Option<Vec<Field<'t>>> {
        let Type::Named(name) = ty else { return None };
        match &self.type_def(name)?.kind {
            TypeKind::Struct { fields, .. } => Some(named(fields)),
            _ => None,
        }
    }

    /// The types of the fields, in order, of a struct that the module declares, mutable or not, or of a reference; none
    /// of what is neither.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Point", [("x".into(), Type::FLOAT64), ("n".into(), Type::INT64)]))?;
    /// assert_eq!(module.field_types(&Type::named("Point")), [Type::FLOAT64, Type::INT64]);
    /// assert_eq!(module.field_types(&Type::Ref(Type::FLOAT64.into())), [Type::FLOAT64]);
    /// assert!(module.field_types(&Type::FLOAT64).is_empty());
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn field_types(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Ref(element) => vec![(**element).clone()],
            ty => self.struct_fields(ty).unwrap_or_default().into_iter().map(|(_, ty)| ty.clone()).collect(),
        }
    }

    /// Whether this is a mutable struct that the module declares.
    pub fn is_mutable_struct(&self, ty: &Type) -> bool {
        let Type::Named(name) = ty else { return false };
        matches!(self.type_def(name).map(|def| &def.kind), Some(TypeKind::Struct { mutable: true, .. }))
    }
}

fn named(fields: &[(Name, Type)]) -> Vec<Field<'_>> {
    fields.iter().map(|(name, ty)| (Some(name), ty)).collect()
}

/// Whether the type of a tuple of these elements leaves open how many there are.
fn is_open(elements: &[Type]) -> bool {
    elements.last().is_some_and(is_vararg)
}

fn position_of_number(number: &Scalar) -> Option<usize> {
    usize::try_from(number.to_i128()).ok().filter(|_| number.scalar_type().is_integer())?.checked_sub(1)
}

/// Of how many elements a tuple is, its type may leave open, by the last of them.
pub(crate) fn is_vararg(ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if name.starts_with("Vararg"))
}

/// Which of these fields a constant names, counted from 0: by its name, or by its number, which counts from 1.
///
/// ```
/// use ircode::{Constant, Name, Type, field_position};
///
/// let (x, y) = (Name::from("x"), Name::from("y"));
/// let fields = [(Some(&x), &Type::FLOAT64), (Some(&y), &Type::INT64)];
/// assert_eq!(field_position(&fields, &Constant::Symbol("y".into())), Some(1));
/// assert_eq!(field_position(&fields, &Constant::int64(1)), Some(0));
/// assert_eq!(field_position(&fields, &Constant::int64(3)), None);
/// ```
pub fn field_position(fields: &[Field<'_>], field: &Constant) -> Option<usize> {
    match field {
        Constant::Symbol(name) => fields.iter().position(|(known, _)| *known == Some(name)),
        Constant::Scalar(number) => position_of_number(number).filter(|position| *position < fields.len()),
        _ => None,
    }
}

/// Whether arrays may have a field of this name or number: they have `ref` and `size` from Julia 1.11 on.
///
/// ```
/// use ircode::{Constant, arrays_may_have};
///
/// assert!(arrays_may_have(&Constant::Symbol("size".into())));
/// assert!(!arrays_may_have(&Constant::Symbol("factors".into())));
/// ```
pub fn arrays_may_have(field: &Constant) -> bool {
    !matches!(field, Constant::Symbol(name) if !matches!(name.as_str(), "ref" | "size"))
}
