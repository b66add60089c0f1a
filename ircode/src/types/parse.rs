//! Reading a type from its text.

use std::sync::Arc;

use super::{ClosureType, Type};
use crate::name::Name;
use crate::scalar::ScalarType;
use crate::text::balanced::{find_depth_0, split_depth_0};

/// Types nested deeper than this are kept as text: Julia prints none that deep, and it bounds the recursion.
pub(super) const MAX_DEPTH: usize = 32;

/// An `NTuple` that is longer is kept as text.
pub(super) const LONGEST: usize = 256;

/// And one that stands for more types than these, as others may be in it.
pub(super) const LARGEST: usize = 1 << 16;

/// An array type of more dimensions is kept as text.
const MAX_RANK: u32 = 64;

pub(super) fn parse(text: &str) -> Type {
    let text = text.trim();
    match structural(text, 0) {
        Some(ty) => ty,
        None if text.is_empty() => Type::Untyped,
        None => Type::Named(Name::from(text)),
    }
}

fn parse_nested(text: &str, depth: usize) -> Type {
    let text = text.trim();
    structural(text, depth + 1).unwrap_or_else(|| Type::Named(Name::from(text)))
}

/// The structural type that the text spells; `None` if it spells none.
fn structural(text: &str, depth: usize) -> Option<Type> {
    if depth > MAX_DEPTH || text.is_empty() {
        return None;
    }
    if let Some(ty) = without_parameters(text) {
        return Some(ty);
    }
    if let Some(inside) = text.strip_prefix("typeof(").and_then(|rest| rest.strip_suffix(')')) {
        let plain = !inside.is_empty() && inside.trim() == inside && !inside.contains(['(', ')', '{', '}', '"', ',']);
        return plain.then(|| Type::Function(Name::from(inside)));
    }
    let open = text.find('{')?;
    let (head, rest) = text.split_at(open);
    let inside = rest.strip_prefix('{')?.strip_suffix('}')?;
    let parameters = split_depth_0(inside, ',')?;
    match (head, parameters.as_slice()) {
        ("Tuple", parameters) => {
            if parameters.iter().any(|p| p.trim().starts_with("Vararg")) {
                return None;
            }
            Some(Type::tuple(all_nested(parameters, depth)?))
        }
        // Of a known length it is such a tuple.
        ("NTuple", [length, element]) => {
            let length: usize = length.trim().parse().ok().filter(|length| *length <= LONGEST)?;
            let element = nested(element, depth)?;
            Some(Type::tuple(std::iter::repeat_n(element, length))).filter(|ty| !ty.is_larger_than(LARGEST))
        }
        ("Union", []) => Some(Type::Bottom),
        ("Union", [_]) => None,
        ("Union", parameters) => {
            let members = all_nested(parameters, depth)?;
            // Flattening a union that Julia printed would change its text, and it prints none nested.
            let union = Type::union(members.iter().cloned());
            (union.members() == members.as_slice()).then_some(union)
        }
        ("@NamedTuple", fields) => named_tuple_macro(fields, depth),
        ("NamedTuple", [names, types]) => named_tuple(names.trim(), types.trim(), depth),
        ("Vector", [element]) => Some(Type::array(nested(element, depth)?, 1)),
        ("Matrix", [element]) => Some(Type::array(nested(element, depth)?, 2)),
        ("Array", [element, rank]) => {
            let rank = rank.trim();
            let value: u32 = rank.parse().ok()?;
            (value.to_string() == rank && value <= MAX_RANK).then_some(())?;
            Some(Type::array(nested(element, depth)?, value))
        }
        ("Base.RefValue", [element]) => Some(Type::Ref(Arc::new(nested(element, depth)?))),
        ("Memory", [element]) => Some(Type::Memory(Arc::new(nested(element, depth)?))),
        ("MemoryRef", [element]) => Some(Type::MemoryRef(Arc::new(nested(element, depth)?))),
        ("BBKit.Stack", [element]) => Some(Type::stack(nested(element, depth)?)),
        ("BBKit.Slot", [element]) => Some(Type::slot(nested(element, depth)?)),
        ("BBKit.Closure", [parameters, result]) => match nested(parameters, depth)? {
            Type::Tuple(parameters) => Some(Type::closure(parameters.iter().cloned(), nested(result, depth)?)),
            _ => None,
        },
        ("BBKit.DifferentiableFunction", [parameters, result]) => match nested(parameters, depth)? {
            Type::Tuple(parameters) => {
                let original = ClosureType { parameters: parameters.to_vec(), result: nested(result, depth)? };
                Some(Type::DifferentiableFunction(Arc::new(original)))
            }
            _ => None,
        },
        ("Type", [ty]) => Some(Type::type_of(nested(ty, depth)?)),
        _ => None,
    }
}

/// The type that is a parameter; `None` for a bound in the place of one, as in `Vector{<:Real}`, which is no array type
/// but what is above many.
fn nested(text: &str, depth: usize) -> Option<Type> {
    let text = text.trim();
    let is_type = !text.is_empty() && !["<:", ">:"].iter().any(|bound| text.starts_with(bound));
    is_type.then(|| parse_nested(text, depth))
}

fn all_nested(texts: &[&str], depth: usize) -> Option<Vec<Type>> {
    texts.iter().map(|text| nested(text, depth)).collect()
}

fn without_parameters(text: &str) -> Option<Type> {
    Some(match text {
        "Any" => Type::Any,
        "Nothing" => Type::Nothing,
        "String" => Type::String,
        "Symbol" => Type::Symbol,
        // The aliases print as what they stand for, so they are no names of their own.
        "Int" | "UInt" => return None,
        _ => Type::Scalar(ScalarType::from_name(text)?),
    })
}

fn named_tuple_macro(fields: &[&str], depth: usize) -> Option<Type> {
    let mut parsed = Vec::with_capacity(fields.len());
    for field in fields {
        let colon = find_depth_0(field, "::")?;
        let (name, ty) = (field.get(..colon)?.trim(), field.get(colon + 2..)?);
        parsed.push((field_name(name)?, nested(ty, depth)?));
    }
    Some(Type::NamedTuple(Arc::new(parsed)))
}

fn named_tuple(names: &str, types: &str, depth: usize) -> Option<Type> {
    let names = split_depth_0(names.strip_prefix('(')?.strip_suffix(')')?, ',')?;
    let Type::Tuple(types) = structural(types, depth)? else { return None };
    // A tuple of one name is printed `(:a,)`.
    let names: Vec<&str> = names.into_iter().filter(|name| !name.trim().is_empty()).collect();
    if names.len() != types.len() {
        return None;
    }
    let mut fields = Vec::with_capacity(names.len());
    for (name, ty) in names.iter().zip(types.iter()) {
        fields.push((field_name(name.trim().strip_prefix(':')?)?, ty.clone()));
    }
    Some(Type::NamedTuple(Arc::new(fields)))
}

fn field_name(text: &str) -> Option<Name> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '!');
    plain.then(|| Name::from(text))
}
