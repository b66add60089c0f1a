//! What a function is differentiated with respect to: arguments, and fields of arguments.

use bbcode::BBCode;
use exec::Value;
use ircode::tangents::TangentTypes;
use ircode::{Function, Module, Name, Type, TypeKind};

/// There is nothing of this name to differentiate with respect to, or it is named twice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{wrt}: {message}")]
pub struct WrtError {
    /// What was asked for.
    pub wrt: String,
    /// Why it cannot be had, and what there is.
    pub message: String,
}

/// An argument, or a field of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Selected {
    /// The index of the argument in the gradient: 0 for `_2`.
    argument: usize,
    /// The fields that lead to the part, outermost first, counted from 0.
    path: Vec<usize>,
    /// `_2.weights`.
    pub(super) shown: String,
}

impl Selected {
    /// The part of a gradient of all arguments.
    pub(super) fn part_of(&self, gradient: &[Value]) -> Value {
        let mut part = gradient.get(self.argument).cloned().unwrap_or(Value::Nothing);
        for &field in &self.path {
            // A dynamic tangent of zeros is `nothing`, and has parts that are.
            part = part.tangent_field(field).unwrap_or(Value::Nothing);
        }
        part
    }
}

/// The numbers of the arguments that are selected: 2 for `_2`.
pub(super) fn arguments(selected: &[Selected]) -> Vec<usize> {
    let mut numbers: Vec<usize> = selected.iter().map(|selected| selected.argument + 2).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Finds arguments and fields by their names.
pub(super) fn selected(
    module: &Module<BBCode>,
    function: &Function<BBCode>,
    wrt: &[String],
) -> Result<Vec<Selected>, WrtError> {
    let mut all: Vec<Selected> = Vec::with_capacity(wrt.len());
    for wrt in wrt {
        let found = find(module, function, wrt)?;
        if all.iter().any(|other| other.shown == found.shown) {
            return Err(WrtError { wrt: wrt.clone(), message: "it is named twice".into() });
        }
        all.push(found);
    }
    Ok(all)
}

fn find(module: &Module<BBCode>, function: &Function<BBCode>, wrt: &str) -> Result<Selected, WrtError> {
    let fail = |message: String| WrtError { wrt: wrt.into(), message };
    let types = function.body.argtypes.get(1..).unwrap_or_default();
    let parameter = |index: usize| function.parameters.get(index).and_then(Option::as_ref);
    let mut words = wrt.split('.');
    let first = words.next().unwrap_or_default();
    let named = (0..types.len()).find(|&index| parameter(index).is_some_and(|name| name == first));
    let number = first.strip_prefix('_').and_then(|number| number.parse::<usize>().ok());
    let numbered = number.and_then(|number| number.checked_sub(2)).filter(|&index| index < types.len());
    let Some(argument) = named.or(numbered) else {
        let shown = |index: usize| match parameter(index) {
            Some(name) => format!("_{} ({name})", index + 2),
            None => format!("_{}", index + 2),
        };
        let known: Vec<String> = (0..types.len()).map(shown).collect();
        return Err(fail(match known.as_slice() {
            [] => "there are no arguments to differentiate with respect to".into(),
            known => format!("there is no argument `{first}`; the arguments are {}", known.join(", ")),
        }));
    };
    let mut selected = Selected { argument, path: Vec::new(), shown: format!("_{}", argument + 2) };
    let mut ty = types.get(argument).cloned().unwrap_or(Type::Untyped);
    for word in words {
        let fields = fields_of(module, &ty);
        if fields.is_empty() {
            return Err(fail(format!(
                "{} is {}, which has no fields that are known",
                selected.shown,
                ty.with_article()
            )));
        }
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = fields.iter().position(|(name, _)| name.as_str() == word);
        let found = named.or(number).and_then(|index| Some((index, fields.get(index)?)));
        let Some((index, (name, field))) = found else {
            let known: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let shown = &selected.shown;
            return Err(fail(format!("{shown} has no field `{word}`; its fields are {}", known.join(", "))));
        };
        selected.path.push(index);
        selected.shown.push_str(&format!(".{name}"));
        ty = field.clone();
    }
    if TangentTypes::new(module).of(&ty).is_none() {
        let message =
            format!("{} is {}, with respect to which nothing can be differentiated", selected.shown, ty.with_article());
        return Err(fail(message));
    }
    Ok(selected)
}

/// The fields of values of a type, those of a tuple by number.
fn fields_of(module: &Module<BBCode>, ty: &Type) -> Vec<(Name, Type)> {
    match ty {
        Type::Tuple(elements) => {
            elements.iter().enumerate().map(|(at, ty)| (Name::from((at + 1).to_string()), ty.clone())).collect()
        }
        Type::NamedTuple(fields) => fields.to_vec(),
        Type::Ref(element) => vec![("x".into(), (**element).clone())],
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) => fields.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
