//! Which types have objects that lack fields.

use hashbrown::HashSet;

use crate::globals::{GlobalPart, GlobalValue};
use crate::module::{Module, TypeKind};
use crate::name::{Name, unqualified};
use crate::types::Type;

impl<F> Module<F> {
    /// The types, by the names under which they are declared, of which there are objects that lack fields: `new` may
    /// give fewer values than the type has fields, and a global constant may hold such an object. To read what is
    /// missing is an error.
    ///
    /// `made` are the objects that code makes: the type, or `None` where it is known only when the code runs, which may
    /// be each of the declared ones; and how many values are given.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Point", [("x".into(), Type::FLOAT64), ("y".into(), Type::FLOAT64)]))?;
    /// let point = Type::named("Main.Point");
    /// assert!(module.incomplete_types([(Some(point.clone()), 2)]).is_empty());
    /// assert!(module.incomplete_types([(Some(point), 1)]).contains(&Type::named("Point")));
    /// assert!(module.incomplete_types([(None, 1)]).contains(&Type::named("Point")));
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn incomplete_types(&self, made: impl IntoIterator<Item = (Option<Type>, usize)>) -> HashSet<Type> {
        let mut found = HashSet::new();
        // Of how many values objects are made whose type is not known: the fewest.
        let mut fewest = usize::MAX;
        for (ty, given) in made {
            match ty {
                Some(ty) => found.extend(self.with_more_fields(&ty, given)),
                None => fewest = fewest.min(given),
            }
        }
        for constant in self.global_constants() {
            if let GlobalValue::Fields(parts) = constant.value()
                && parts.contains(&GlobalPart::Undefined)
            {
                found.extend(self.with_more_fields(constant.ty(), 0));
            }
        }
        let declared = self.types().iter().map(|def| Type::Named(def.name.clone()));
        found.extend(declared.filter_map(|ty| self.with_more_fields(&ty, fewest)));
        found
    }

    /// This type, as it is declared, if its objects have more fields than this.
    fn with_more_fields(&self, ty: &Type, given: usize) -> Option<Type> {
        let (ty, count) = match ty {
            Type::Ref(_) => (ty.clone(), 1),
            Type::Named(name) => match self.type_def(name).map(|def| (def, &def.kind)) {
                Some((def, TypeKind::Struct { fields, .. })) => (Type::Named(def.name.clone()), fields.len()),
                Some((_, TypeKind::Enum { .. })) => return None,
                None => (ty.clone(), exception_fields(name).len()),
            },
            _ => return None,
        };
        (given < count).then_some(ty)
    }
}

/// The names of the fields that exceptions of Julia's library have; none for what is no such exception.
///
/// ```
/// assert_eq!(ircode::exception_fields("Core.DomainError"), ["val", "msg"]);
/// ```
pub fn exception_fields(name: &str) -> Vec<Name> {
    let fields: &[&str] = match unqualified(name) {
        "ErrorException" | "ArgumentError" | "OverflowError" | "DimensionMismatch" | "AssertionError" => &["msg"],
        "DomainError" => &["val", "msg"],
        "BoundsError" => &["a", "i"],
        "InexactError" => &["func", "T", "val"],
        "KeyError" => &["key"],
        "UndefVarError" => &["var"],
        "TypeError" => &["func", "context", "expected", "got"],
        "MethodError" => &["f", "args", "world"],
        _ => &[],
    };
    fields.iter().map(|&field| Name::from(field)).collect()
}
