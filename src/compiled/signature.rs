//! What a function takes, as far as native code takes it from slices.

use std::fmt;

use bbcode::BBCode;
use exec::native::{Argument, Program};
use ircode::wording::{counted, with_article};
use ircode::{Module, Name, ScalarType, Type, TypeKind};
use smallvec::{SmallVec, smallvec};

use super::arguments::{List, Output};
use super::{CallError, CompileError};

/// What an argument is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// A `Float64` or a `Float32`.
    Float(ScalarType),
    /// An array of these.
    Floats(ScalarType),
    /// A tuple or an immutable struct of so many `Float64`s and nothing else.
    Fields(usize),
    /// Anything else. There may be calls with it, but no derivative with respect to it.
    Other(Type),
}

impl Parameter {
    pub(super) fn of<F>(module: &Module<F>, ty: &Type) -> Parameter {
        match ty {
            Type::Array(array) => {
                float_type(&array.element).map_or_else(|| Parameter::Other(ty.clone()), Parameter::Floats)
            }
            ty => match float_type(ty) {
                Some(float) => Parameter::Float(float),
                None => floats_in(module, ty).map_or_else(|| Parameter::Other(ty.clone()), Parameter::Fields),
            },
        }
    }

    /// The number of floats, unless the value tells.
    pub(super) fn count(&self) -> Option<usize> {
        match self {
            Parameter::Float(_) => Some(1),
            Parameter::Fields(count) => Some(*count),
            Parameter::Floats(_) | Parameter::Other(_) => None,
        }
    }

    /// The type of its floats.
    fn float(&self) -> Option<ScalarType> {
        match self {
            Parameter::Float(ty) | Parameter::Floats(ty) => Some(*ty),
            Parameter::Fields(_) => Some(ScalarType::Float64),
            Parameter::Other(_) => None,
        }
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, Parameter::Floats(_))
    }
}

/// The type of a number, if what is compiled has derivatives of it, and with respect to it.
pub(super) fn float_type(ty: &Type) -> Option<ScalarType> {
    match ty {
        Type::Scalar(float @ (ScalarType::Float64 | ScalarType::Float32)) => Some(*float),
        _ => None,
    }
}

/// Whether types that are given for arguments are those of arguments that the function has, and that it does not
/// declare otherwise.
pub(super) fn check_types(module: &Module<BBCode>, name: &Name, types: &[Type]) -> Result<(), CompileError> {
    let Some(function) = module.function(name) else { return Err(CompileError::NoSuchFunction(name.clone())) };
    let declared: Vec<&Type> = match function.body.argtypes.get(1..).unwrap_or_default() {
        // What it collects.
        [first @ .., Type::Tuple(rest)] if function.varargs => first.iter().chain(rest.iter()).collect(),
        [first @ .., _] if function.varargs => first.iter().collect(),
        declared => declared.iter().collect(),
    };
    // A listing without a header does not say how many it takes.
    let is_open = function.name.is_empty() || function.varargs || function.body.argtypes.is_empty();
    for (number, given) in types.iter().enumerate() {
        let problem = match declared.get(number) {
            None if is_open => continue,
            None => format!("is given a type, {given}, but the function does not take it"),
            Some(ty) if ty.is_unknown() || given.is_unknown() || module.is_a(given, ty) != Some(false) => continue,
            Some(ty) => format!("is given the type {given}, but is declared to be {}", with_article(ty)),
        };
        let parameter = function.parameters.get(number).cloned().flatten();
        return Err(CompileError::Argument { function: name.clone(), number, name: parameter, problem });
    }
    Ok(())
}

/// The most floats that an argument which is no array may have.
const MOST_FIELDS: usize = 1024;

/// How many floats a tuple or an immutable struct consists of; `None` if it is something else, or has other fields.
fn floats_in<F>(module: &Module<F>, ty: &Type) -> Option<usize> {
    let mut count = 0;
    let mut work = vec![ty];
    // A type inside of itself would go on forever.
    for _ in 0..4 * MOST_FIELDS {
        let Some(ty) = work.pop() else { return (1..=MOST_FIELDS).contains(&count).then_some(count) };
        match ty {
            Type::Scalar(ScalarType::Float64) => count += 1,
            Type::Tuple(types) => work.extend(types.iter()),
            Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty)),
            Type::Named(name) => match &module.type_def(name)?.kind {
                TypeKind::Struct { mutable: false, fields } if module.class(name).is_none() => {
                    work.extend(fields.iter().map(|(_, ty)| ty));
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// What a function takes, and with respect to which arguments it is differentiated.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) function: Name,
    pub(super) parameters: Vec<Parameter>,
    /// The arguments with respect to which it is differentiated, counted from 0, in the order in which they were named.
    pub(super) wrt: Vec<usize>,
    /// The names of the arguments, as far as they are known.
    names: Vec<Option<Name>>,
}

/// The numbers that belong to the arguments with respect to which a function is differentiated.
pub(super) type Counts = SmallVec<[usize; 8]>;

impl Signature {
    /// Shows of what is compiled with this signature which function it is, and with respect to what it is
    /// differentiated.
    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name).field("function", &self.function).field("wrt", &self.wrt).finish_non_exhaustive()
    }

    /// With respect to these arguments, or all that can be differentiated with respect to.
    pub(super) fn new<F>(
        module: &Module<F>,
        function: &Name,
        types: &[Type],
        wrt: Option<&[usize]>,
    ) -> Result<Signature, CompileError> {
        let parameters: Vec<Parameter> = types.iter().map(|ty| Parameter::of(module, ty)).collect();
        let names = module.function(function).map(|function| function.parameters.clone()).unwrap_or_default();
        let error = |number: usize, problem: String| {
            let name = names.get(number).cloned().flatten();
            CompileError::Argument { function: function.clone(), number, name, problem }
        };
        let all: Vec<usize>;
        let wrt = match wrt {
            Some(wrt) => wrt,
            None => {
                let known = |parameter: &Parameter| !matches!(parameter, Parameter::Other(_));
                all = (0..parameters.len()).filter(|&number| parameters.get(number).is_some_and(known)).collect();
                &all
            }
        };
        let mut seen = vec![false; parameters.len()];
        for &number in wrt {
            match parameters.get(number) {
                None => {
                    return Err(error(
                        number,
                        format!("is not there: it has {}", counted(parameters.len(), "argument")),
                    ));
                }
                Some(Parameter::Other(ty)) => {
                    let problem = format!(
                        "is {}; floats, arrays of floats and tuples of Float64 have derivatives here",
                        with_article(ty)
                    );
                    return Err(error(number, problem));
                }
                Some(_) => {}
            }
            if let Some(seen) = seen.get_mut(number)
                && std::mem::replace(seen, true)
            {
                return Err(error(number, "is named twice".into()));
            }
        }
        Ok(Signature { function: function.clone(), parameters, wrt: wrt.to_vec(), names })
    }

    /// The name of an argument, counted from 0.
    pub(super) fn name(&self, argument: usize) -> Option<Name> {
        self.names.get(argument).cloned().flatten()
    }

    /// Where an argument is among those with respect to which the function is differentiated.
    pub(super) fn position(&self, argument: usize) -> Option<usize> {
        self.wrt.iter().position(|&number| number == argument)
    }

    /// As the passes name them: by number, where 2 is the first one, in ascending order.
    pub(super) fn with_respect_to(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.wrt.iter().map(|number| number + 2).collect();
        numbers.sort_unstable();
        numbers
    }

    /// How many numbers each argument has with respect to which the function is differentiated, in the order of these.
    pub(super) fn counts(&self, program: &Program, args: &List<'_>) -> Result<Counts, CallError> {
        let given = args.len();
        if given != self.parameters.len() {
            return Err(CallError::Count { what: "arguments", given, expected: self.parameters.len() });
        }
        program.check_first_arguments(0, args)?;
        let count = |&number: &usize| match self.parameters.get(number).and_then(Parameter::count) {
            Some(count) => count,
            None => args.get(number).map_or(0, Argument::numbers),
        };
        Ok(self.wrt.iter().map(count).collect())
    }

    /// Whether each place has the numbers of its argument.
    pub(super) fn check_places(
        &self,
        what: &'static str,
        counts: &Counts,
        places: &mut [Output<'_>],
    ) -> Result<(), CallError> {
        if places.len() != counts.len() {
            return Err(CallError::Count { what, given: places.len(), expected: counts.len() });
        }
        for ((place, &expected), &argument) in places.iter_mut().zip(counts).zip(&self.wrt) {
            let (given, ty) = (place.numbers().len(), place.numbers().ty());
            if given != expected {
                return Err(CallError::Length { what, argument, name: self.name(argument), given, expected });
            }
            if let Some(float) = self.parameters.get(argument).and_then(Parameter::float)
                && float != ty
            {
                let (expected, given) = (format!("of type {float}"), format!("of type {ty}"));
                let (what, name) = ("what is written to for argument", self.name(argument));
                return Err(CallError::Argument { what, argument, name, expected, given });
            }
        }
        Ok(())
    }

    /// Whether there is a tangent for each argument, with its numbers and dimensions.
    pub(super) fn check_tangents(
        &self,
        args: &List<'_>,
        counts: &Counts,
        tangents: &List<'_>,
    ) -> Result<(), CallError> {
        let what = "tangents";
        if tangents.len() != counts.len() {
            return Err(CallError::Count { what, given: tangents.len(), expected: counts.len() });
        }
        for ((tangent, &expected), &argument) in tangents.iter().zip(counts).zip(&self.wrt) {
            let (parameter, name) = (self.parameters.get(argument), || self.name(argument));
            let fits = match parameter {
                Some(Parameter::Float(ty)) => tangent.scalar_type() == Some(*ty),
                Some(Parameter::Fields(_)) => matches!(tangent, Argument::Fields(_)),
                Some(Parameter::Floats(ty)) => tangent.element() == Some(*ty) || matches!(tangent, Argument::Zeros(_)),
                Some(Parameter::Other(_)) | None => false,
            };
            let given = tangent.numbers();
            if fits && given != expected {
                return Err(CallError::Length { what: "tangent", argument, name: name(), given, expected });
            }
            let (own, of_argument) = (shape(tangent), args.get(argument).and_then(shape));
            // An argument that is no array itself is told about by the call.
            let is_array = parameter.is_some_and(Parameter::is_array) && of_argument.is_some();
            if fits && (!is_array || own == of_argument) {
                continue;
            }
            let wrong = |expected: String, given: String| {
                let what = "the tangent of argument";
                Err(CallError::Argument { what, argument, name: name(), expected, given })
            };
            let array = |dims: &[usize]| format!("an array of dimensions {dims:?}");
            if let (Some(Parameter::Floats(ty)), Some(_), false) = (parameter, &own, fits) {
                return wrong(format!("of elements of type {ty}"), tangent.to_string());
            }
            let expected = match (parameter, of_argument) {
                (Some(Parameter::Float(ty)), _) => format!("of type {ty}"),
                (Some(Parameter::Fields(count)), _) => {
                    format!("{} of type {}", counted(*count, "field"), Type::FLOAT64)
                }
                (_, dims) => array(&dims.unwrap_or_default()),
            };
            return wrong(expected, own.map_or_else(|| tangent.to_string(), |dims| array(&dims)));
        }
        Ok(())
    }
}

/// The dimensions of an array of floats.
fn shape(argument: &Argument<'_>) -> Option<SmallVec<[usize; 3]>> {
    match argument.dimensions() {
        Some(dims) => Some(SmallVec::from_slice(dims)),
        None => {
            let is_float = matches!(argument.element(), Some(ScalarType::Float64 | ScalarType::Float32));
            is_float.then(|| smallvec![argument.numbers()])
        }
    }
}
