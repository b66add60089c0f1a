//! Which functions a value may be that was looked up in a table of methods.

use bbcode::{BBCode, Ids};
use hashbrown::HashSet;
use ircode::{DerivativeKey, DerivativeKind, Entry, Module, Name, Operand, Stmt, Type};

/// The positions of the functions that the value may be, in the order of the tables, each once: what `class_method` and
/// `witness_method` find for the static type of the object and all that inherits from it. `None` if the value is not
/// seen to come from a table, or nothing is known of the lookup.
pub(super) fn looked_up(module: &Module<BBCode>, bb: &BBCode, value: &Operand<Ids>) -> Option<Vec<usize>> {
    let stmt = definition(bb, value)?;
    let (primitive, args) = module.primitive_call(stmt)?;
    let found: Vec<&Entry> = match (primitive.name, args) {
        ("class_method", [object, method, derivative @ ..]) => {
            let (method, key) = (method.as_symbol()?, derivative_key(derivative)?);
            let entry = |class: &Name| module.class_method(class, method, key.as_ref());
            match classes(module, &bb.operand_type(object)) {
                Some(classes) => classes.into_iter().filter_map(entry).collect(),
                None => module.classes().iter().filter_map(|class| entry(&class.name)).collect(),
            }
        }
        ("witness_method", [object, protocol, method, derivative @ ..]) => {
            let (protocol, method, key) = (protocol.as_symbol()?, method.as_symbol()?, derivative_key(derivative)?);
            let entry = |of: &Type| module.witness_method(of, protocol, method, key.as_ref());
            let all = || {
                let tables = module.witnesses().iter();
                tables.filter(|witness| witness.protocol.as_str() == protocol.as_str())
            };
            let own = |ty: &Type| match classes(module, ty) {
                Some(classes) => Some(classes.into_iter().map(|name| Type::named(name.clone())).collect()),
                None => module.witness(ty, protocol).map(|_| vec![ty.clone()]),
            };
            let types: Option<Vec<Type>> = match module.named_type(object) {
                Some(ty) => Some(vec![ty]),
                None => own(&bb.operand_type(object)),
            };
            match types {
                Some(types) => types.iter().filter_map(entry).collect(),
                None => all().filter_map(|witness| witness.entries.get(method, key.as_ref())).collect(),
            }
        }
        _ => return None,
    };
    let mut seen = HashSet::new();
    let positions = found.into_iter().filter_map(|entry| module.function_index(&entry.function));
    Some(positions.filter(|position| seen.insert(*position)).collect())
}

/// How the value is computed, through copies.
pub(super) fn definition<'b>(bb: &'b BBCode, value: &Operand<Ids>) -> Option<&'b Stmt<Ids>> {
    let mut at = value.as_value()?;
    let mut seen = HashSet::new();
    // What cannot be reached may be defined by itself.
    while seen.insert(at) {
        match &bb.inst(at)?.stmt {
            Stmt::Value(operand) => at = operand.as_value()?,
            Stmt::Pi(pi) => at = pi.value.as_value()?,
            stmt => return Some(stmt),
        }
    }
    None
}

/// The names of the classes of which a value of this type may be; `None` if that is not known.
fn classes<'m>(module: &'m Module<BBCode>, ty: &Type) -> Option<Vec<&'m Name>> {
    let Type::Named(name) = ty else { return None };
    module.class(name)?;
    Some(module.class_and_subclasses(name).into_iter().map(|class| &class.name).collect())
}

/// The derivative that the last operands name: no derivative where there are none. `None` if they name nothing.
fn derivative_key(operands: &[Operand<Ids>]) -> Option<Option<DerivativeKey>> {
    let Some((kind, numbers)) = operands.split_first() else { return Some(None) };
    let kind = DerivativeKind::of_name(kind.as_symbol()?)?;
    let number = |operand: &Operand<Ids>| u32::try_from(operand.as_constant()?.as_scalar()?.to_i128()).ok();
    let with_respect_to = numbers.iter().map(number).collect::<Option<Vec<u32>>>()?;
    Some(Some(DerivativeKey { kind, with_respect_to }))
}
