//! Declarations in JSON: types, classes, protocols, witness tables, differentiability witnesses, global constants.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::constant::Number;
use super::module::{is_untyped, untyped};
use crate::constant::Constant;
use crate::differentiability::DifferentiabilityWitness;
use crate::globals::{GlobalConstant, GlobalConstantError, GlobalPart, GlobalValue};
use crate::module::{DefinedTwice, TypeDef, TypeKind};
use crate::name::Name;
use crate::operand::GlobalRef;
use crate::scalar::{Scalar, ScalarType};
use crate::tables::{
    Class, Declaration, DerivativeKey, DerivativeKind, Entries, Entry, Protocol, Requirement, Witness,
};
use crate::types::Type;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum DeclarationForm {
    Struct {
        name: Name,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supertypes: Option<Vec<Type>>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        mutable: bool,
        fields: Vec<(Name, Type)>,
    },
    Enum {
        name: Name,
        cases: Vec<(Name, Vec<Type>)>,
    },
    Class {
        name: Name,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superclass: Option<Name>,
        fields: Vec<(Name, Type)>,
        methods: Vec<EntryForm>,
    },
    Protocol {
        name: Name,
        requirements: Vec<RequirementForm>,
    },
    Witness {
        of: Type,
        protocol: Name,
        entries: Vec<EntryForm>,
    },
    DifferentiabilityWitness {
        function: Name,
        with_respect_to: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        jvp: Option<Name>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vjp: Option<Name>,
    },
    Const {
        name: Name,
        #[serde(rename = "type")]
        ty: Type,
        /// Of an array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Vec<usize>>,
        /// The elements of an array of numbers, without their type, which is that of the array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elements: Option<Vec<Number>>,
        /// The elements of another array, or the fields of an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parts: Option<Vec<PartForm>>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartForm {
    Constant(Constant),
    Global(GlobalRef),
    Undefined,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryForm {
    name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derivative: Option<DerivativeForm>,
    function: Name,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    generated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differentiable: Option<Vec<u32>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum DerivativeForm {
    Vjp(Vec<u32>),
    Jvp(Vec<u32>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequirementForm {
    name: Name,
    parameters: Vec<(Option<Name>, Type)>,
    #[serde(default = "untyped", skip_serializing_if = "is_untyped")]
    result: Type,
}

fn entry_form(entry: &Entry) -> EntryForm {
    let derivative = entry.derivative.as_ref().map(|key| match key.kind {
        DerivativeKind::Vjp => DerivativeForm::Vjp(key.with_respect_to.clone()),
        DerivativeKind::Jvp => DerivativeForm::Jvp(key.with_respect_to.clone()),
    });
    let Entry { name, function, generated, differentiable, .. } = entry.clone();
    EntryForm { name, derivative, function, generated, differentiable }
}

fn entries(forms: Vec<EntryForm>) -> Result<Entries, DefinedTwice> {
    let mut entries = Entries::default();
    for EntryForm { name, derivative, function, generated, differentiable } in forms {
        let derivative = derivative.map(|form| match form {
            DerivativeForm::Vjp(with_respect_to) => DerivativeKey { kind: DerivativeKind::Vjp, with_respect_to },
            DerivativeForm::Jvp(with_respect_to) => DerivativeKey { kind: DerivativeKind::Jvp, with_respect_to },
        });
        entries.add(Entry { name, derivative, function, generated, differentiable })?;
    }
    Ok(entries)
}

impl From<Declaration> for DeclarationForm {
    fn from(declaration: Declaration) -> Self {
        match declaration {
            Declaration::Type(TypeDef { name, supertypes, kind: TypeKind::Struct { mutable, fields } }) => {
                DeclarationForm::Struct { name, supertypes, mutable, fields }
            }
            Declaration::Type(TypeDef { name, kind: TypeKind::Enum { cases }, .. }) => {
                DeclarationForm::Enum { name, cases }
            }
            Declaration::Class(Class { name, superclass, fields, methods }) => {
                let methods = methods.iter().map(entry_form).collect();
                DeclarationForm::Class { name, superclass, fields, methods }
            }
            Declaration::Protocol(Protocol { name, requirements }) => {
                let form = |Requirement { name, parameters, result }| RequirementForm { name, parameters, result };
                DeclarationForm::Protocol { name, requirements: requirements.into_iter().map(form).collect() }
            }
            Declaration::Witness(Witness { of, protocol, entries }) => {
                DeclarationForm::Witness { of, protocol, entries: entries.iter().map(entry_form).collect() }
            }
            Declaration::Differentiability(DifferentiabilityWitness { function, with_respect_to, jvp, vjp }) => {
                DeclarationForm::DifferentiabilityWitness { function, with_respect_to, jvp, vjp }
            }
            Declaration::Global(constant) => constant_form(&constant),
        }
    }
}

fn constant_form(constant: &GlobalConstant) -> DeclarationForm {
    let (name, ty) = (constant.name().clone(), constant.ty().clone());
    let forms = |parts: &[GlobalPart]| {
        let form = |part: &GlobalPart| match part.clone() {
            GlobalPart::Constant(constant) => PartForm::Constant(constant),
            GlobalPart::Global(global) => PartForm::Global(global),
            GlobalPart::Undefined => PartForm::Undefined,
        };
        Some(parts.iter().map(form).collect())
    };
    let (size, elements, parts) = match constant.value() {
        GlobalValue::Numbers { size, elements } => {
            (Some(size.clone()), Some(elements.iter().map(Number::from).collect()), None)
        }
        GlobalValue::Elements { size, elements } => (Some(size.clone()), None, forms(elements)),
        GlobalValue::Fields(fields) => (None, None, forms(fields)),
    };
    DeclarationForm::Const { name, ty, size, elements, parts }
}

/// Why a form is no declaration.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoDeclaration {
    #[error("there are two entries for {0}")]
    Twice(#[from] DefinedTwice),
    #[error(transparent)]
    Constant(#[from] GlobalConstantError),
    #[error("the type of `{0}` is no array of numbers of as many dimensions")]
    NoNumbers(Name),
    #[error("`{0}` has either elements, which are numbers, or parts, and an array has a size")]
    Members(Name),
    #[error("{1} among the elements of `{0}` is none of its type")]
    Element(Name, Number),
}

impl TryFrom<DeclarationForm> for Declaration {
    type Error = NoDeclaration;

    fn try_from(form: DeclarationForm) -> Result<Self, NoDeclaration> {
        Ok(match form {
            DeclarationForm::Struct { name, supertypes, mutable, fields } => {
                Declaration::Type(TypeDef { name, supertypes, kind: TypeKind::Struct { mutable, fields } })
            }
            DeclarationForm::Enum { name, cases } => {
                Declaration::Type(TypeDef { name, supertypes: None, kind: TypeKind::Enum { cases } })
            }
            DeclarationForm::Class { name, superclass, fields, methods } => {
                Declaration::Class(Class { name, superclass, fields, methods: entries(methods)? })
            }
            DeclarationForm::Protocol { name, requirements } => {
                let requirement =
                    |RequirementForm { name, parameters, result }| Requirement { name, parameters, result };
                let requirements = requirements.into_iter().map(requirement).collect();
                Declaration::Protocol(Protocol { name, requirements })
            }
            DeclarationForm::Witness { of, protocol, entries: forms } => {
                Declaration::Witness(Witness { of, protocol, entries: entries(forms)? })
            }
            DeclarationForm::DifferentiabilityWitness { function, with_respect_to, jvp, vjp } => {
                Declaration::Differentiability(DifferentiabilityWitness { function, with_respect_to, jvp, vjp })
            }
            DeclarationForm::Const { name, ty, size, elements, parts } => {
                let constant = match (size, elements, parts) {
                    (Some(size), Some(numbers), None) => array_of_numbers(name, &ty, size, numbers)?,
                    (size, None, Some(parts)) => {
                        let part = |form| match form {
                            PartForm::Constant(constant) => GlobalPart::Constant(constant),
                            PartForm::Global(global) => GlobalPart::Global(global),
                            PartForm::Undefined => GlobalPart::Undefined,
                        };
                        let parts = parts.into_iter().map(part).collect();
                        match (ty, size) {
                            (Type::Array(array), Some(size)) if usize::try_from(array.rank) == Ok(size.len()) => {
                                GlobalConstant::elements(name, array.element.clone(), size, parts)?
                            }
                            (ty, None) => GlobalConstant::fields(name, ty, parts)?,
                            _ => return Err(NoDeclaration::Members(name)),
                        }
                    }
                    _ => return Err(NoDeclaration::Members(name)),
                };
                Declaration::Global(Arc::new(constant))
            }
        })
    }
}

fn array_of_numbers(
    name: Name,
    ty: &Type,
    size: Vec<usize>,
    numbers: Vec<Number>,
) -> Result<GlobalConstant, NoDeclaration> {
    let element = match ty {
        Type::Array(array) if usize::try_from(array.rank) == Ok(size.len()) => array.element.as_scalar(),
        _ => None,
    };
    let Some(element) = element else { return Err(NoDeclaration::NoNumbers(name)) };
    let mut elements = Vec::with_capacity(numbers.len());
    for number in numbers {
        let scalar = match (element, &number) {
            (ScalarType::Bool, Number::Integer(bit @ (0 | 1))) => Some(Scalar::Bool(*bit == 1)),
            _ => number.scalar(element),
        };
        match scalar {
            Some(scalar) => elements.push(scalar),
            None => return Err(NoDeclaration::Element(name, number)),
        }
    }
    Ok(GlobalConstant::numbers(name, element, size, elements)?)
}
