//! The floats among the arguments of a function, and the directions along each of them.

use bbcode::BBCode;
use exec::{Limits, Machine, Value, first_shared_tangent, float_places, tangent_floats, value_floats};
use ircode::wording::{counted, with_article};
use ircode::{IRCode, Module, Type};

use crate::GradientError;
use crate::gradient::{Selection, check_arity, run_error, selection, shape_error, specialize, to_ircode, verified};
use crate::jvp::packed;

/// At most this many directions are taken at once, where nothing else is asked for: more would save little of what
/// they share.
const CHUNK: usize = 8;

/// How far values are followed into what holds others; objects may hold themselves.
const DEEPEST: usize = 16;

/// The forms of arguments, as far as their tangents are known to have the same.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    forms: Vec<Form>,
    /// The arguments, of which tangents are not to say different things where they share objects.
    args: Vec<Value>,
    /// The types that the function declares for them, or their own.
    types: Vec<Type>,
}

#[derive(Clone, Debug)]
enum Form {
    /// A float of this type.
    Float(Type),
    /// An array of these dimensions, with the forms of its elements where they are no scalars.
    Array(Vec<usize>, Vec<Form>),
    Tuple(Vec<Form>),
    Other,
}

impl Forms {
    /// Of the arguments for a function.
    pub(crate) fn of(module: &Module<IRCode>, name: &str, args: &[Value]) -> Self {
        let function = module.function(&module.full_name(name));
        let declared = function.and_then(|function| {
            let count =
                function.body.argtypes.len() - usize::from(function.varargs && !function.body.argtypes.is_empty());
            function.body.argtypes.get(1..count)
        });
        Forms {
            forms: args.iter().map(|arg| Form::of(arg, DEEPEST)).collect(),
            args: args.to_vec(),
            types: declared_types(declared.unwrap_or_default(), args),
        }
    }

    /// A direction as derivatives take it: with zeros for the tangents that are left out, as `nothing`. There must be
    /// one tangent for each argument, of its form, and each object must have one of its own.
    pub(crate) fn complete(&self, machine: &Machine<'_>, direction: &[Value]) -> Result<Vec<Value>, GradientError> {
        if self.forms.len() != direction.len() {
            return Err(GradientError::Direction { arguments: self.forms.len(), tangents: direction.len() });
        }
        let left_out = direction.iter().enumerate().filter(|(_, tangent)| matches!(tangent, Value::Nothing));
        let left_out: Vec<usize> = left_out.map(|(index, _)| index).collect();
        // They are made together, as they may be of one object.
        let args: Vec<Value> = left_out.iter().filter_map(|&index| self.args.get(index).cloned()).collect();
        let types: Vec<Type> = left_out.iter().filter_map(|&index| self.types.get(index).cloned()).collect();
        let zeros = machine.zero_tangents(&args, &types).map_err(run_error)?;
        let mut direction = direction.to_vec();
        for (index, zero) in left_out.into_iter().zip(zeros) {
            if let Some(tangent) = direction.get_mut(index) {
                *tangent = zero;
            }
        }
        for (index, (form, tangent)) in self.forms.iter().zip(&direction).enumerate() {
            form.check(tangent).map_err(|because| GradientError::Tangent { argument: index + 2, because })?;
        }
        match first_shared_tangent(&self.args, &direction) {
            Some(index) => {
                let because = "an object in the argument has two tangents, or the one of another object".into();
                Err(GradientError::Tangent { argument: index + 2, because })
            }
            None => Ok(direction),
        }
    }
}

/// The types that are declared for arguments, or those of the arguments themselves.
fn declared_types(declared: &[Type], args: &[Value]) -> Vec<Type> {
    let type_of = |(index, arg): (usize, &Value)| match declared.get(index) {
        Some(ty) if !ty.is_unknown() => ty.clone(),
        _ => arg.type_of(),
    };
    args.iter().enumerate().map(type_of).collect()
}

impl Form {
    fn of(value: &Value, depth: usize) -> Self {
        let all = |values: &[Value]| values.iter().map(|value| Form::of(value, depth - 1)).collect();
        let is_of_scalars = |ty: Type| matches!(ty, Type::Array(array) if matches!(array.element, Type::Scalar(_)));
        if depth == 0 {
            return Form::Other;
        }
        match value {
            _ if value.as_float().is_some() => Form::Float(value.type_of()),
            Value::Tuple(_) => Form::Tuple(all(value.as_tuple().unwrap_or_default())),
            Value::Array(_) => {
                let dims = value.array_dims().unwrap_or_default();
                match is_of_scalars(value.type_of()) {
                    true => Form::Array(dims, Vec::new()),
                    false => Form::Array(dims, all(&value.array_elements().unwrap_or_default())),
                }
            }
            _ => Form::Other,
        }
    }

    /// What is wrong with the tangent of a value of this form.
    fn check(&self, tangent: &Value) -> Result<(), String> {
        let given = tangent.type_of();
        let parts;
        let forms = match self {
            // A part that has no tangent.
            _ if matches!(tangent, Value::Nothing) && !matches!(self, Form::Float(_)) => return Ok(()),
            Form::Float(ty) if *ty != given => return Err(format!("{tangent} is no {ty}")),
            Form::Float(_) | Form::Other => return Ok(()),
            Form::Array(dims, forms) => {
                match tangent.array_dims() {
                    Some(others) if *dims == others => {}
                    Some(others) => {
                        return Err(format!("its dimensions are {others:?}, and those of the argument {dims:?}"));
                    }
                    None => return Err(format!("{} is no array", with_article(given))),
                }
                parts = if forms.is_empty() { Vec::new() } else { tangent.array_elements().unwrap_or_default() };
                forms
            }
            Form::Tuple(forms) => {
                parts = tangent.as_tuple().ok_or_else(|| format!("{} is no tuple", with_article(given)))?.to_vec();
                if parts.len() != forms.len() {
                    return Err(format!(
                        "it has {}, and the argument {}",
                        counted(parts.len(), "element"),
                        forms.len()
                    ));
                }
                forms
            }
        };
        forms.iter().zip(&parts).try_for_each(|(form, part)| form.check(part))
    }
}

/// A function made ready to be differentiated at some arguments.
pub(crate) struct Prepared {
    /// Its module, with types as far as they are known from the arguments.
    pub(crate) module: Module<IRCode>,
    pub(crate) code: Module<BBCode>,
    pub(crate) selection: Option<Selection>,
}

impl Prepared {
    pub(crate) fn new(
        module: &Module<IRCode>,
        name: &str,
        args: &[Value],
        wrt: Option<&[String]>,
    ) -> Result<Self, GradientError> {
        let types: Vec<Type> = args.iter().map(Value::type_of).collect();
        check_arity(module, &module.full_name(name), args.len())?;
        let mut code = verified(module, &module.full_name(name))?;
        specialize(&mut code, &name.into(), &types)?;
        let selection = selection(&code, name, wrt)?;
        Ok(Prepared { module: to_ircode(&code)?, code, selection })
    }

    /// The arguments with respect to which the function is differentiated.
    pub(crate) fn with_respect_to(&self) -> Option<Vec<usize>> {
        self.selection.as_ref().map(|selection| selection.arguments.clone())
    }
}

/// The arguments of a function, as its derivatives take them, and the floats in those with respect to which it is
/// differentiated.
pub(crate) struct Inputs<'a> {
    machine: Machine<'a>,
    args: Vec<Value>,
    types: Vec<Type>,
    /// Whether the function is differentiated with respect to each argument.
    wanted: Vec<bool>,
    /// How many floats there are in all of these.
    floats: usize,
    /// Which of these floats are meant.
    columns: Vec<usize>,
    /// Where these stand.
    pub(crate) labels: Vec<String>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(
        prepared: &'a Prepared,
        name: &str,
        args: &[Value],
        limits: Limits,
    ) -> Result<Self, GradientError> {
        let machine = Machine::with_limits(&prepared.module, limits);
        let args = packed(&machine, &prepared.module, name, args)?;
        let function = prepared.module.function(name);
        let declared = function.and_then(|function| function.body.argtypes.get(1..)).unwrap_or_default();
        let types = declared_types(declared, &args);
        let is_wanted =
            |number: usize| prepared.selection.as_ref().is_none_or(|selection| selection.arguments.contains(&number));
        let wanted = (0..args.len()).map(|index| is_wanted(index + 2)).collect();
        let (columns, labels) = (Vec::new(), Vec::new());
        let mut inputs = Inputs { machine, args, types, wanted, floats: 0, columns, labels };
        let zeros = inputs.zeros()?;
        inputs.floats = tangent_floats(&inputs.args, &zeros, &zeros).map_err(shape_error)?.len();
        for (index, place) in held_floats(&inputs.args, &zeros)? {
            if prepared.selection.as_ref().is_none_or(|selection| is_part(&selection.places, &place)) {
                inputs.columns.push(index);
                inputs.labels.push(place);
            }
        }
        Ok(inputs)
    }

    /// The number of floats that are meant.
    pub(crate) fn count(&self) -> usize {
        self.columns.len()
    }

    /// Arguments for a call, which may change them.
    pub(crate) fn arguments(&self) -> Result<Vec<Value>, GradientError> {
        self.machine.copies(&self.args).map_err(run_error)
    }

    /// Arguments for a call, followed by the tangents along so many floats from this one on: zeros where there is none
    /// any more.
    pub(crate) fn along(&self, first: usize, count: usize) -> Result<Vec<Value>, GradientError> {
        let mut operands = self.arguments()?;
        for column in first..first + count {
            let mut floats = vec![0.0; self.floats];
            if let Some(along) = self.columns.get(column).and_then(|index| floats.get_mut(*index)) {
                *along = 1.0;
            }
            operands.extend(self.machine.tangents_of_floats(&self.zeros()?, &floats).map_err(run_error)?);
        }
        Ok(operands)
    }

    /// The floats that are meant in tangents of the arguments.
    pub(crate) fn floats(&self, tangents: &[Value]) -> Result<Vec<f64>, GradientError> {
        let all = tangent_floats(&self.args, &self.zeros()?, tangents).map_err(shape_error)?;
        Ok(self.columns.iter().map(|index| all.get(*index).copied().unwrap_or(0.0)).collect())
    }

    /// The floats that are meant in tangents of a gradient: tangents of tangents, whose types are others than those of
    /// the arguments'.
    pub(crate) fn floats_of_second(
        &self,
        machine: &Machine<'_>,
        gradient: &[Value],
        tangents: &[Value],
    ) -> Result<Vec<f64>, GradientError> {
        let types: Vec<Type> = gradient.iter().map(Value::type_of).collect();
        let zeros = machine.zero_tangents(gradient, &types).map_err(run_error)?;
        let all = tangent_floats(gradient, &zeros, tangents).map_err(shape_error)?;
        if all.len() != self.floats {
            let message = format!("the gradient holds {} floats, and the arguments {}", all.len(), self.floats);
            return Err(run_error(exec::RunErrorKind::BadValue(message)));
        }
        Ok(self.columns.iter().map(|index| all.get(*index).copied().unwrap_or(0.0)).collect())
    }

    /// The zeros of the tangents of the arguments, made together: what is one object has one. `nothing` for what is not
    /// wanted.
    fn zeros(&self) -> Result<Vec<Value>, GradientError> {
        let zeros = self.machine.zero_tangents(&self.args, &self.types).map_err(run_error)?;
        let pairs = zeros.into_iter().zip(&self.wanted);
        Ok(pairs.map(|(zero, wanted)| if *wanted { zero } else { Value::Nothing }).collect())
    }
}

/// The floats that these values hold: their numbers among those of tangents, and where they stand. What may be a float
/// and is none has a number, but does not count.
pub(crate) fn held_floats(values: &[Value], zeros: &[Value]) -> Result<Vec<(usize, String)>, GradientError> {
    let held = value_floats(values, zeros).map_err(shape_error)?;
    let places = float_places(values, zeros).map_err(shape_error)?;
    let all = places.into_iter().enumerate().zip(held);
    Ok(all.filter(|(_, held)| held.is_some()).map(|(place, _)| place).collect())
}

/// Whether a place is one of these, or in one.
fn is_part(places: &[String], place: &str) -> bool {
    places.iter().any(|outer| {
        place.strip_prefix(outer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

/// How many directions are taken at once, of so many in all: no more than are asked for, or eight, and such that all
/// calls have about the same number.
pub(crate) fn chunk(columns: usize, asked: Option<usize>) -> usize {
    let most = asked.unwrap_or(CHUNK).clamp(1, columns.max(1));
    columns.div_ceil(columns.div_ceil(most).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::{chunk, is_part};

    #[test]
    fn chunks_are_even() {
        assert_eq!(chunk(0, None), 1);
        assert_eq!(chunk(5, None), 5);
        assert_eq!(chunk(9, None), 5);
        assert_eq!(chunk(17, None), 6);
        assert_eq!(chunk(17, Some(17)), 17);
        assert_eq!(chunk(3, Some(100)), 3);
    }

    #[test]
    fn a_part_begins_where_a_name_ends() {
        let places = ["_2.weight".to_string()];
        assert!(is_part(&places, "_2.weight") && is_part(&places, "_2.weight[1]"));
        assert!(!is_part(&places, "_2.weights[1]") && !is_part(&places, "_2"));
    }
}
