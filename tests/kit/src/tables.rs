//! Random declarations: structs, enums, classes, protocols and witness tables, most of which fit together, and global
//! constants.

use std::sync::Arc;

use arbitrary::{Error, Result, Unstructured};
use ircode::{
    Class, Constant, Declaration, DerivativeKey, DerivativeKind, Entries, Entry, GlobalConstant, GlobalPart, GlobalRef,
    IRCode, Module, Name, Protocol, Requirement, Scalar, ScalarType, Type, TypeDef, TypeKind, Witness,
};

/// Fields that are no identifiers, as those of closures that capture functions.
const OF_CLOSURES: &[&str] = &["#f#3", "a::b # c"];

const NAMES: &[&str] = &["area", "scale!", "f", "x", "größe", "n_1"];
const FUNCTIONS: &[&str] = &["f", "g", "Base.sin", "h(::Float64)", "an odd name", "f_vjp"];
const TYPES: &[&str] =
    &["Float64", "Int64", "Any", "A0", "A1", "Vector{A0}", "Tuple{Float64, Int64}", "Union{Nothing, A1}"];

/// A module of random declarations and of no functions. No two declarations have one name.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn tables(u: &mut Unstructured<'_>) -> Result<Module<IRCode>> {
    let mut module = Module::new();
    for number in 0..u.int_in_range(0..=6)? {
        let declaration = declaration(u, number)?;
        // A class may have a field of its superclass again, and two witness tables may be for the same: these are left
        // out.
        let _ = module.declare(declaration);
    }
    Ok(module)
}

fn declaration(u: &mut Unstructured<'_>, number: usize) -> Result<Declaration> {
    let name: Name = format!("A{number}").into();
    Ok(match u.int_in_range(0..=6)? {
        0 => {
            let above = ["Shape", "Real", "AbstractArray{Ref{<:Real},1}"].map(Type::parse);
            let supertypes = match u.ratio(1, 2)? {
                true => None,
                false => Some(above.into_iter().take(u.int_in_range(0..=3)?).collect()),
            };
            let kind = TypeKind::Struct { mutable: u.arbitrary()?, fields: fields(u)? };
            Declaration::Type(TypeDef { name, supertypes, kind })
        }
        1 => {
            let mut cases: Vec<(Name, Vec<Type>)> = Vec::new();
            for (case, first) in parameters(u)? {
                let rest = (0..u.int_in_range(0..=2)?).map(|_| ty(u)).collect::<Result<Vec<_>>>()?;
                cases.push((case, if rest.is_empty() { rest } else { [vec![first], rest].concat() }));
            }
            Declaration::Type(TypeDef { name, supertypes: None, kind: TypeKind::Enum { cases } })
        }
        2 | 3 => {
            let above = u.int_in_range(0..=number)?;
            let superclass = u.arbitrary::<bool>()?.then(|| Name::from(format!("A{above}")));
            Declaration::Class(Class { name, superclass, fields: fields(u)?, methods: entries(u)? })
        }
        4 => {
            let mut requirements: Vec<Requirement> = Vec::new();
            for (name, result) in parameters(u)? {
                let parameters = parameters(u)?.into_iter();
                let parameters = parameters.map(|(name, ty)| Ok((u.arbitrary::<bool>()?.then_some(name), ty)));
                let parameters = parameters.collect::<Result<_>>()?;
                let result = if u.arbitrary()? { result } else { Type::Untyped };
                requirements.push(Requirement { name, parameters, result });
            }
            Declaration::Protocol(Protocol { name, requirements })
        }
        5 if u.arbitrary()? => {
            let parts = (0..u.int_in_range(0..=3)?).map(|_| part(u, number)).collect::<Result<Vec<_>>>()?;
            let constant = match u.int_in_range(0..=2)? {
                0 => GlobalConstant::elements(name, Type::Any, vec![parts.len()], parts),
                1 => GlobalConstant::fields(name, Type::named("A0"), parts),
                _ => GlobalConstant::fields(name, Type::tuple(parts.iter().map(|_| Type::Any)), parts),
            };
            Declaration::Global(Arc::new(constant.map_err(|_| Error::IncorrectFormat)?))
        }
        5 => {
            let element = *u.choose(&ScalarType::ALL)?;
            let size: Vec<usize> = (0..u.int_in_range(1..=3)?).map(|_| u.int_in_range(0..=3)).collect::<Result<_>>()?;
            let elements = (0..size.iter().product()).map(|_| scalar(u, element)).collect::<Result<Vec<_>>>()?;
            let array = GlobalConstant::numbers(name, element, size, elements);
            Declaration::Global(Arc::new(array.map_err(|_| Error::IncorrectFormat)?))
        }
        _ => {
            let protocol = Name::from(format!("A{}", u.int_in_range(0..=number)?));
            Declaration::Witness(Witness { of: ty(u)?, protocol, entries: entries(u)? })
        }
    })
}

/// What a global constant of this number is made of.
fn part(u: &mut Unstructured<'_>, number: usize) -> Result<GlobalPart> {
    Ok(match u.int_in_range(0..=5)? {
        0 => GlobalPart::Undefined,
        1 => GlobalPart::Global(GlobalRef::new("Main", format!("A{}", u.int_in_range(0..=number)?))),
        2 => GlobalPart::Global(GlobalRef::new("Main.M", "ROWS[1].x")),
        3 => GlobalPart::Constant(Constant::Symbol((*u.choose(NAMES)?).into())),
        4 => {
            GlobalPart::Constant(Constant::Tuple(vec![Constant::String("a, \"b\" (".into()), Constant::Nothing].into()))
        }
        _ => {
            let ty = *u.choose(&ScalarType::ALL)?;
            GlobalPart::Constant(Constant::Scalar(scalar(u, ty)?))
        }
    })
}

/// Any number of a type.
fn scalar(u: &mut Unstructured<'_>, ty: ScalarType) -> Result<Scalar> {
    Ok(match ty {
        ScalarType::Char => Scalar::from_char(u.arbitrary()?),
        _ => Scalar::from_bits(ty, u.arbitrary::<u128>()? & (u128::MAX >> (128 - ty.bits()))),
    })
}

fn ty(u: &mut Unstructured<'_>) -> Result<Type> {
    Ok(Type::parse(u.choose(TYPES)?))
}

/// Different identifiers with types.
fn parameters(u: &mut Unstructured<'_>) -> Result<Vec<(Name, Type)>> {
    let mut parameters = Vec::new();
    for name in NAMES.iter().filter(|name| !name.ends_with('!')) {
        if u.ratio(1, 3)? {
            parameters.push((Name::from(*name), ty(u)?));
        }
    }
    Ok(parameters)
}

/// Different names with types.
fn fields(u: &mut Unstructured<'_>) -> Result<Vec<(Name, Type)>> {
    let mut fields = parameters(u)?;
    for name in OF_CLOSURES {
        if u.ratio(1, 3)? {
            fields.push((Name::from(*name), ty(u)?));
        }
    }
    Ok(fields)
}

fn numbers(u: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for number in 2..=4 {
        if u.ratio(1, 3)? {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn entries(u: &mut Unstructured<'_>) -> Result<Entries> {
    let mut entries = Entries::default();
    for _ in 0..u.int_in_range(0..=5)? {
        let mut entry = Entry::method(*u.choose(NAMES)?, *u.choose(FUNCTIONS)?);
        match u.int_in_range(0..=3)? {
            0 => {}
            1 => entry.differentiable = Some(numbers(u)?),
            kind => {
                let kind = if kind == 2 { DerivativeKind::Vjp } else { DerivativeKind::Jvp };
                entry.derivative = Some(DerivativeKey { kind, with_respect_to: numbers(u)? });
                entry.generated = u.arbitrary()?;
            }
        }
        // The second of two for the same is left out.
        let _ = entries.add(entry);
    }
    Ok(entries)
}
