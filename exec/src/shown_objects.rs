//! Objects in the code of which Julia has shown the text only: immutable structs that the module declares are made of
//! it.

use ircode::{Constant, IRCode, Module, Scalar, Type, TypeKind, unqualified};

/// The type and the fields of the immutable struct that a constant shows, if the module declares it with such fields.
/// Julia may leave out the parameters of a type, `Base.OneTo(3)`: then it is the only one that fits.
pub(crate) fn shown_struct(module: &Module<IRCode>, constant: &Constant) -> Option<(Type, Vec<Constant>)> {
    let (ty, shown) = constant.shown_object()?;
    if let Some(ty) = module.as_declared(&ty) {
        let Type::Named(name) = &ty else { return None };
        let fields = fields_of(module, &module.type_def(name)?.kind, &shown)?;
        return Some((ty, fields));
    }
    let Type::Named(name) = &ty else { return None };
    let is_without_parameters = |known: &str| known.split_once('{').is_some_and(|(plain, _)| plain == name.as_str());
    let candidates = module.types().iter().filter(|def| is_without_parameters(&def.name));
    let mut fitting =
        candidates.filter_map(|def| Some((Type::Named(def.name.clone()), fields_of(module, &def.kind, &shown)?)));
    let only = fitting.next()?;
    fitting.next().is_none().then_some(only)
}

/// The constants as fields of an immutable struct, if they are such.
fn fields_of(module: &Module<IRCode>, kind: &TypeKind, shown: &[Constant]) -> Option<Vec<Constant>> {
    match kind {
        TypeKind::Struct { mutable: false, fields } if fields.len() == shown.len() => {
            shown.iter().zip(fields).map(|(field, (_, ty))| of_type(module, field.clone(), ty)).collect()
        }
        _ => None,
    }
}

/// The constant as one of this type, if it is one. Functions are shown by their names alone.
fn of_type(module: &Module<IRCode>, constant: Constant, ty: &Type) -> Option<Constant> {
    match (&constant, ty) {
        (_, ty) if ty.is_unknown() => Some(constant),
        (Constant::Function(_), Type::Function(name)) => Some(Constant::Function(name.clone())),
        // By its path, which the type may leave out.
        (Constant::Text(text), Type::Function(name)) if unqualified(text) == unqualified(name) => {
            Some(Constant::Function(name.clone()))
        }
        // The only value of a type without fields, which dumps need not declare.
        (Constant::Text(text), Type::Named(name)) if module.type_def(name).is_none() => {
            (text.strip_suffix("()") == Some(name.as_str())).then_some(constant)
        }
        (Constant::Text(_), ty) => {
            let (own, _) = shown_struct(module, &constant)?;
            (own == module.as_declared(ty)?).then_some(constant)
        }
        (Constant::Tuple(elements), Type::Tuple(types)) if elements.len() == types.len() => {
            let elements = elements.iter().zip(types.iter()).map(|(element, ty)| of_type(module, element.clone(), ty));
            Some(Constant::Tuple(elements.collect::<Option<Vec<_>>>()?.into()))
        }
        // How an integer is shown does not say its width.
        (Constant::Scalar(Scalar::Int64(number)), Type::Scalar(of)) if of.is_signed_integer() => {
            Scalar::from_i128(*of, (*number).into()).map(Constant::Scalar)
        }
        (_, ty) => (constant.ty() == *ty).then_some(constant),
    }
}

#[cfg(test)]
mod tests {
    use ircode::parse_module;

    use super::*;

    const TYPES: &str = r##"
struct UnitRange{Int64}
    start::Int64
    stop::Int64
end
struct Pair{UnitRange{Int64},Bool}
    first::UnitRange{Int64}
    second::Tuple{Bool}
end
struct Base.OneTo{Int64}
    stop::Int64
end
mutable struct Counter
    n::Int64
end
struct Base.BottomRF{typeof(Base.add_sum)}
    rf::typeof(Base.add_sum)
end
struct Base.var"#3#4"{Main.var"#31#32"}
    f::Main.var"#31#32"
end
function f(x::Float64)::Float64
1 ─      return x
end
"##;

    fn shown(text: &str) -> Option<(Type, Vec<Constant>)> {
        let module = parse_module(TYPES).unwrap().module;
        shown_struct(&module, &Constant::Text(text.into()))
    }

    #[test]
    fn structs_that_are_declared_are_made_of_their_text() {
        let (ty, fields) = shown("2:4").unwrap();
        assert_eq!((ty, fields), (Type::parse("UnitRange{Int64}"), vec![Constant::int64(2), Constant::int64(4)]));
        let (_, fields) = shown("Pair{UnitRange{Int64},Bool}(2:4, (true,))").unwrap();
        assert_eq!(fields.first(), Some(&Constant::Text("2:4".into())));
        let (_, fields) = shown("Base.BottomRF{typeof(Base.add_sum)}(Base.add_sum)").unwrap();
        assert_eq!(fields, [Constant::Function("Base.add_sum".into())]);
        let (_, fields) = shown("Base.var\"#3#4\"{Main.var\"#31#32\"}(Main.var\"#31#32\"())").unwrap();
        assert_eq!(fields, [Constant::Text("Main.var\"#31#32\"()".into())]);
        let (ty, _) = shown("Base.OneTo(3)").unwrap();
        assert_eq!(ty, Type::parse("Base.OneTo{Int64}"));
    }

    #[test]
    fn what_does_not_fit_its_declaration_stays_text() {
        // A field too few, one of another type, a type that is not declared, an object with identity, another show.
        for text in
            ["UnitRange{Int64}(2)", "UnitRange{Int64}(2.0, 4.0)", "Base.OneTo(true)", "Counter(1)", "2.0:4.0", "f(1"]
        {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
