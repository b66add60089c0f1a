//! What both modes say of a statement that has no derivative.

use ircode::primitives::Primitive;
use ircode::{Module, Type};

use crate::PassErrorKind;

/// Why there is no derivative, and what would mend that.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
    pub(crate) kind: PassErrorKind,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>, help: Option<&'static str>) -> Refusal {
        Refusal { message: message.into(), help, kind: PassErrorKind::Unsupported }
    }
}

/// Why there is no derivative of what is made of the bits of a float, also where an integer is, and that becomes a float.
pub(crate) fn float_of_bits() -> Refusal {
    let message = "a float is made of bits that depend on the arguments";
    Refusal::new(message, Some("register a derivative rule for the function that does this"))
}

/// Why there is no derivative of a primitive on operands of these types, and what would mend it. `of_registered` is
/// that for primitives of the host.
pub(crate) fn without_rule<F>(
    module: &Module<F>,
    primitive: &Primitive,
    types: impl Iterator<Item = Type>,
    of_registered: &'static str,
) -> Refusal {
    if primitive.name == "bitcast" {
        return float_of_bits();
    }
    let types: Vec<Type> = types.collect();
    if !primitive.takes(types.len()) {
        let message =
            format!("`{}` takes {}, but is given {}", primitive.name, primitive.operand_counts(), types.len());
        return Refusal::new(message, None);
    }
    let is_undeclared = |ty: &Type| matches!(ty, Type::Named(name) if module.type_def(name).is_none());
    let is_open = types.iter().any(|ty| ty.is_unknown() || is_undeclared(ty));
    let types: Vec<String> = types.iter().map(|ty| format!("{ty:?}")).collect();
    let help = match module.is_registered(primitive.name) {
        true => Some(of_registered),
        false => is_open.then_some(
            "the types of the operands are not known: a typeassert or the declared types of the arguments tell them",
        ),
    };
    let message = format!("there is no derivative rule for `{}` of ({})", primitive.name, types.join(", "));
    Refusal { kind: PassErrorKind::NoRule(primitive.name), ..Refusal::new(message, help) }
}
