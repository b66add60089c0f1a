//! From a module to a derivative in a direction, in one step.

use bbcode::BBCode;
use exec::{Limits, Machine, Value, share_objects};
use ircode::tangents::{TangentTypes, shadow_name, shadowed_name};
use ircode::{Declaration, IRCode, Module, Name, Type, TypeKind};
use passes::forward_mode::{Options, differentiate};
use serde_json::Value as Json;

use crate::GradientError;
use crate::directions::Forms;
use crate::engine::{Ran, RunOptions, run};
use crate::gradient::{into_ircode, run_error, specialize, verified};

/// A value with its tangents.
#[derive(Clone, Debug)]
pub struct Jvp {
    /// The value of the function.
    pub value: Value,
    /// Its tangents, one a direction; `nothing` for a value that has none.
    pub tangents: Vec<Value>,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What the derivative is called.
    pub name: Name,
    /// What has run it.
    pub ran: Ran,
}

/// The value of a function and its derivatives in some directions, by forward-mode differentiation. A direction has one
/// tangent for each argument, in the form that [`ircode::tangents`] describes: a float for a float, a tuple for a tuple or an immutable
/// struct, an array for an array, `nothing` where the type has none. [`tangent_from_json`] and [`Machine::zero_tangent`] make
/// them. Types of arguments that the function does not declare are taken from `args`.
///
/// Objects among the arguments and tangents are changed in place as the function changes them; a direction that shares objects with the arguments,
/// or with a direction before it, is copied first. Where two arguments are one object, their tangents must be one object, too, and only there.
///
/// ```
/// use exec::Value;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, y)::Float64
/// └──      return %1
/// end
/// ")?;
/// let at = [Value::from(3.0), Value::from(4.0)];
/// let directions = [vec![Value::from(1.0), Value::from(0.0)], vec![Value::from(0.5), Value::from(2.0)]];
/// let result = bbkit::jvp(&parsed.module, "f", &at, &directions, Default::default())?;
/// assert_eq!(result.value.to_string(), "12.0");
/// assert_eq!(result.tangents.iter().map(Value::to_string).collect::<Vec<_>>(), ["4.0", "8.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated, or fails on these arguments; [`GradientError::Direction`] and
/// [`GradientError::Tangent`] for tangents that do not belong to the arguments.
pub fn jvp(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    directions: &[Vec<Value>],
    limits: Limits,
) -> Result<Jvp, GradientError> {
    jvp_with(module, name, args, directions, &limits.into())
}

/// The value of a function and its derivatives in some directions, as [`jvp`] gives them, run as the options say.
///
/// # Errors
///
/// As [`jvp`]; [`GradientError::NotNative`] too.
pub fn jvp_with(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    directions: &[Vec<Value>],
    options: &RunOptions,
) -> Result<Jvp, GradientError> {
    let forms = Forms::of(args);
    directions.iter().try_for_each(|direction| forms.check(direction))?;
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let name = &module.full_name(name);
    let derived_as = Options { directions: directions.len(), ..Options::default() };
    let (derived, derivative) = jvp_function(module, name, &types, &derived_as)?;
    let machine = Machine::with_limits(&derived, options.limits);
    let mut all = packed(&machine, module, name, args)?;
    for direction in directions {
        let given = packed(&machine, module, name, direction)?;
        // What changes its argument would change the tangent, too, or that of another direction.
        let own = if share_objects(&all, &given) { machine.copies(&given).map_err(run_error)? } else { given };
        all.extend(own);
    }
    drop(machine);
    let (result, ran) = run(&derived, &derivative, &all, options)?;
    let mut elements = result.as_tuple().unwrap_or_default().iter().cloned();
    let value = elements.next().unwrap_or(Value::Nothing);
    let tangents = elements.collect();
    Ok(Jvp { value, tangents, module: derived, name: derivative, ran })
}

/// Arguments, or their tangents, as a derivative takes them: what the function collects, its derivative takes as a tuple.
pub(crate) fn packed(
    machine: &Machine<'_>,
    module: &Module<IRCode>,
    name: &str,
    values: &[Value],
) -> Result<Vec<Value>, GradientError> {
    let collecting = module.function(name).filter(|function| function.varargs);
    let Some(fixed) = collecting.map(|function| function.body.argtypes.len().saturating_sub(2)) else {
        return Ok(values.to_vec());
    };
    let (own, collected) = values.split_at(fixed.min(values.len()));
    let mut all = own.to_vec();
    all.push(machine.tuple(collected.to_vec()).map_err(run_error)?);
    Ok(all)
}

/// The module with the forward-mode derivative of a function, and what that is called: to be run by a machine of the caller's own.
/// `types` are those of the arguments from `_2` on, for those that the function does not declare.
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated.
pub fn jvp_function(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
    options: &Options,
) -> Result<(Module<IRCode>, Name), GradientError> {
    let name = module.full_name(name);
    let mut module: Module<BBCode> = verified(module, &name)?;
    specialize(&mut module, &name, types)?;
    let derivative = differentiate(&mut module, &name, options)?;
    Ok((into_ircode(module)?, derivative))
}

/// The tangent of an argument of this type that JSON gives: a number for a float; a list for an array, and for the fields of a
/// tuple or a struct; `null` where there is none, and for zero in the place of a number.
///
/// ```
/// use exec::Machine;
/// use ircode::{IRCode, Module, Type};
///
/// let module: Module<IRCode> = Module::new();
/// let machine = Machine::new(&module);
/// let ty = Type::parse("Tuple{Vector{Float64}, Int64, Float64}");
/// let tangent = bbkit::tangent_from_json(&machine, &module, &serde_json::json!([[1, 2.5], null, null]), &ty)?;
/// assert_eq!(tangent.to_string(), "([1.0, 2.5], nothing, 0.0)");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// What the JSON is, and what was expected.
pub fn tangent_from_json(
    machine: &Machine<'_>,
    module: &Module<IRCode>,
    json: &Json,
    ty: &Type,
) -> Result<Value, String> {
    let tangents = TangentTypes::new(module);
    let tangent = tangents.of(ty).ty();
    // With the types of shadows, which the module does not declare.
    let mut known: Module<IRCode> = Module::new();
    for declaration in module.declarations().chain(tangents.declarations().into_iter().map(Declaration::Type)) {
        known.declare(declaration).map_err(|error| error.to_string())?;
    }
    read(machine, &known, json, &tangent)
}

/// The JSON as a value of the type of a tangent. As deep as the JSON, whose depth the reader bounds.
fn read(machine: &Machine<'_>, module: &Module<IRCode>, json: &Json, ty: &Type) -> Result<Value, String> {
    let all = |elements: &[Json], types: &mut dyn Iterator<Item = Type>| -> Result<Vec<Value>, String> {
        elements.iter().zip(types).map(|(json, ty)| read(machine, module, json, &ty)).collect()
    };
    let counted = |elements: &[Json], count: usize| match elements.len() == count {
        true => Ok(()),
        false => Err(format!("{} elements, expected {count} for a {ty}", elements.len())),
    };
    match (json, ty) {
        (Json::Null, Type::Scalar(scalar)) if scalar.is_float() => {
            Ok(Value::from(ircode::Scalar::from_bits(*scalar, 0)))
        }
        (Json::Null, Type::Tuple(types)) => {
            let zeros = types.iter().map(|ty| read(machine, module, json, ty)).collect::<Result<_, _>>()?;
            machine.tuple(zeros).map_err(|kind| kind.to_string())
        }
        (Json::Array(elements), Type::Tuple(types)) => {
            counted(elements, types.len())?;
            machine.tuple(all(elements, &mut types.iter().cloned())?).map_err(|kind| kind.to_string())
        }
        (Json::Array(elements), Type::Any) => {
            machine.tuple(all(elements, &mut std::iter::repeat(Type::Any))?).map_err(|kind| kind.to_string())
        }
        (Json::Array(elements), Type::Named(name)) => {
            let Some(TypeKind::Struct { fields, .. }) = module.type_def(name).map(|def| &def.kind) else {
                return machine.value_from_json(module, json, ty).map_err(|error| error.to_string());
            };
            counted(elements, fields.len())?;
            let values = all(elements, &mut fields.iter().map(|(_, ty)| ty.clone()))?;
            machine.object(module, ty, values).map_err(|kind| kind.to_string())
        }
        // The tangent of an object of a class that inherits from the one that is expected.
        (Json::Object(members), Type::Named(name)) => {
            let expected = shadowed_name(name).unwrap_or_default();
            match members.iter().next().filter(|(class, _)| members.len() == 1 && module.is_subclass(class, expected)) {
                Some((class, inside)) => read(machine, module, inside, &Type::named(shadow_name(class))),
                None => machine.value_from_json(module, json, ty).map_err(|error| error.to_string()),
            }
        }
        (Json::Array(elements), Type::Ref(element)) => {
            counted(elements, 1)?;
            let values = all(elements, &mut std::iter::once((**element).clone()))?;
            machine.object(module, ty, values).map_err(|kind| kind.to_string())
        }
        (Json::Array(elements), Type::Array(array)) if array.rank == 1 => {
            let values = all(elements, &mut std::iter::repeat(array.element.clone()))?;
            let count = values.len();
            machine.array(array.element.clone(), vec![count], values).map_err(|kind| kind.to_string())
        }
        _ => machine.value_from_json(module, json, ty).map_err(|error| error.to_string()),
    }
}
