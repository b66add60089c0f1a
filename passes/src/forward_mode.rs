//! Forward-mode differentiation, on IRCode.
//!
//! From a function `f` comes one that computes its value and its tangent together:
//!
//! ```text
//! f_jvp(args…, tangents…) -> (value, tangent)
//! ```
//!
//! There is one tangent for each argument from `_2` on, `nothing` for those that have none;
//! [`tangents`](crate::tangents) says what the tangent of a value of some type is. For several directions the tangents
//! of all arguments for the first are followed by those for the second, and so on: `f_jvp_2(args…, tangents…,
//! tangents…) -> (value, tangent, tangent)`. The value, and what the tangents have in common, is computed once.
//!
//! No block and no jump is added. Every statement stays where it is, and what it does to tangents is written next to
//! it: by a [rule](crate::rules) for a primitive, a φ for a φ, the same on the shadow for what reads or changes an
//! object. Jumps and what belongs to exceptions are as before, so that try/catch needs nothing of its own. The result
//! is what inserting nodes and one [`compact`](ircode::IRCode::compact) leave.
//!
//! Objects (arrays, references, mutable structs) have a shadow, in which their tangents are; it is changed in place
//! when they are. Two arguments that are one object have one shadow: who calls sees to that.
//!
//! What does not depend on the arguments stays as it is, and has the tangent 0. What depends on them by steps only
//! (integers, comparisons, rounding) has no derivative.

mod activity;
mod calls;
mod derivation;
mod failing;
pub mod linearization;
mod operation;
mod rule;
mod transform;
mod writer;

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::{Function, IRCode, Module, Name, Type};

use self::derivation::{Derivation, Prepared};
use self::transform::{Transform, Transformed};
use crate::differentiability::Made;
use crate::differentiation::additions::add_generated;
use crate::differentiation::preparation::derived;
use crate::differentiation::signatures::{Signature, Signatures, generate_several};
use crate::differentiation::with_respect_to::wanted_arguments;
use crate::manager::{PassResult, named_or_only, run_on_function};
use crate::rules::RuleTable;
use crate::{PassError, PassErrorKind, constant_folding, dead_code, link_methods};

/// The pass's name on the command line.
pub const NAME: &str = "forward-mode";

/// What is to be derived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The arguments with respect to which the function is differentiated, by their numbers: 2 is `_2`. `None` for all
    /// that have tangents.
    pub with_respect_to: Option<Vec<usize>>,
    /// The number of directions. At least one.
    pub directions: usize,
}

impl Default for Options {
    /// One direction, with respect to all arguments.
    fn default() -> Self {
        Options { with_respect_to: None, directions: 1 }
    }
}

/// Adds the derivative of a function to its module: of the one named, or of the only one.
///
/// # Errors
///
/// As [`differentiate`].
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let name = named_or_only(module, function).map_err(|none| none.of(NAME, "differentiated"))?;
    differentiate(module, &name, &Options::default())?;
    Ok(true)
}

/// Adds the derivative of a function, and those of the functions that it calls, to their module, and gives its name.
///
/// The types of the function's arguments must be known, or follow from
/// [`infer_types::specialize`](crate::infer_types::specialize).
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function scaled(x::Float64, n::Int64)::Float64
/// 1 ─ %1 = Base.mul_float(x, 3.0)::Float64
/// └──      return %1
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let name = passes::forward_mode::differentiate(&mut module, &"scaled".into(), &Default::default())?;
/// let derivative = module.function(&name).unwrap();
/// assert_eq!(derivative.name, "scaled_jvp");
/// assert_eq!(ircode::IRCode::try_from(&derivative.body)?.to_string(), "\
/// 1 ─ %1 = Base.mul_float(_2, 3.0)::Float64
/// │   %2 = Base.mul_float(_4, 3.0)::Float64
/// │   %3 = Core.tuple(%1, %2)::Tuple{Float64, Float64}
/// └──      return %3
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PassError`] at the first statement of which no derivative is known and whose tangent is needed: for the result,
/// for what is put in an object, or for a call. Nothing is added to the module then.
pub fn differentiate(module: &mut Module<BBCode>, name: &Name, options: &Options) -> Result<Name, PassError> {
    let root = (name.clone(), options.with_respect_to.clone());
    let names = differentiate_all(module, &[root], options.directions)?;
    names.into_iter().next().ok_or_else(|| PassError::new(NAME, name, "no derivative was made"))
}

/// Adds the derivatives of several functions together, so that what they share is made once: each with respect to the
/// arguments of these numbers, `None` for all that have tangents. Gives their names in the order of the functions.
///
/// # Errors
///
/// As [`differentiate`].
pub fn differentiate_all(
    module: &mut Module<BBCode>,
    functions: &[(Name, Option<Vec<usize>>)],
    directions: usize,
) -> Result<Vec<Name>, PassError> {
    let entries: Vec<&Name> = functions.iter().map(|(name, _)| name).collect();
    link_methods::run_on_all(module, &entries)?;
    let Some((first, _)) = functions.first() else { return Ok(Vec::new()) };
    let (generated, names) = generate_all(module, first, functions, directions)?;
    add(module, generated)?;
    Ok(names)
}

/// Adds the derivatives in one direction of functions with respect to parameters, and those of the functions that they
/// call, to their module, and tells which these are.
///
/// # Errors
///
/// All that there are, one for each function that has no derivative. Nothing is added to the module then.
pub(crate) fn derive_all(module: &mut Module<BBCode>, roots: &[(Name, Vec<u32>)]) -> Result<Vec<Made>, Vec<PassError>> {
    let entries: Vec<&Name> = roots.iter().map(|(name, _)| name).collect();
    link_methods::run_on_all(module, &entries).map_err(|error| vec![error])?;
    let (generated, made) = generate_jvps(module, roots)?;
    add(module, generated).map_err(|error| vec![error])?;
    Ok(made)
}

/// Adds what was generated to the module.
fn add(module: &mut Module<BBCode>, generated: Generated) -> Result<(), PassError> {
    let name = &generated.name;
    let error = |twice| PassError::because(NAME, name, twice);
    let names = add_generated(module, generated.types, generated.functions, error)?;
    for name in &names {
        for pass in [constant_folding::run, dead_code::run] {
            run_on_function(module, name, pass)?;
        }
    }
    Ok(())
}

/// What was generated for a function and all that it calls.
struct Generated {
    /// The function whose derivative was asked for, first if there are several.
    name: Name,
    functions: Vec<Function<BBCode>>,
    types: Vec<ircode::TypeDef>,
    /// The rules among the functions.
    rules: HashSet<Name>,
}

impl Generated {
    /// Nothing yet, for the function whose derivative has this name.
    fn new(name: Name) -> Self {
        Generated { name, functions: Vec::new(), types: Vec::new(), rules: HashSet::new() }
    }

    /// Adds what belongs to all derivatives that were made together.
    fn finish(&mut self, derivation: &Derivation<'_>) {
        self.functions.extend(derivation.thunks.take());
        self.types = derivation.tangents.declarations();
    }
}

fn generate_all(
    module: &Module<BBCode>,
    first: &Name,
    functions: &[(Name, Option<Vec<usize>>)],
    directions: usize,
) -> Result<(Generated, Vec<Name>), PassError> {
    if directions == 0 {
        let error = PassError::new(NAME, first, "a derivative has at least one direction");
        return Err(error.of_kind(PassErrorKind::Request));
    }
    let rules = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, first, error))?;
    let mut roots = Vec::with_capacity(functions.len());
    for (name, with_respect_to) in functions {
        let absent = || PassError::no_such_function(NAME, name);
        roots.push((name, module.function_index(name).ok_or_else(absent)?, with_respect_to.as_deref()));
    }
    let positions: Vec<usize> = roots.iter().map(|(_, root, _)| *root).collect();
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &rules, &positions, directions);
        derivation.open_arithmetic = open_arithmetic;
        derivation.check_globals(&positions)?;
        generate_roots(&derivation, first, &roots)
    })
}

/// A function, where it is in the module, and what it is differentiated with respect to.
type Root<'a> = (&'a Name, usize, Option<&'a [usize]>);

/// Derives these functions, and all that they call; `first` names the first one.
fn generate_roots(
    derivation: &Derivation<'_>,
    first: &Name,
    roots: &[Root<'_>],
) -> Result<(Generated, Vec<Name>), PassError> {
    let (mut generated, mut names) = (Generated::new(first.clone()), Vec::new());
    let mut signatures = Signatures::default();
    for (name, root, with_respect_to) in roots {
        let signature = Signature { function: *root, wanted: wanted(derivation, name, *root, *with_respect_to)? };
        names.push(derivation.name(&signature));
        signatures.add([signature]);
    }
    while let Some(signature) = signatures.next() {
        signatures.add(generate(derivation, &signature, &mut generated)?);
    }
    generated.finish(derivation);
    Ok((generated, names))
}

/// Derives several functions, and all that they call.
fn generate_jvps(
    module: &Module<BBCode>,
    roots: &[(Name, Vec<u32>)],
) -> Result<(Generated, Vec<Made>), Vec<PassError>> {
    let first = roots.first().map_or_else(|| Name::from(""), |(name, _)| name.clone());
    let rules = RuleTable::of_module(module).map_err(|problem| vec![PassError::because(NAME, &first, problem)])?;
    let positions: Vec<usize> = roots.iter().filter_map(|(name, _)| module.function_index(name)).collect();
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &rules, &positions, 1);
        derivation.open_arithmetic = open_arithmetic;
        derivation.check_globals(&positions).map_err(|error| vec![error])?;
        let mut generated = Generated::new(first.clone());
        let made = generate_several(
            module,
            roots,
            |name, function, numbers| wanted(&derivation, name, function, Some(numbers)),
            |signature| generate(&derivation, signature, &mut generated),
            |signature| derivation.name(signature),
        )?;
        generated.finish(&derivation);
        Ok((generated, made))
    })
}

/// Makes a derivative, and gives those that it calls.
fn generate(
    derivation: &Derivation<'_>,
    signature: &Signature,
    generated: &mut Generated,
) -> Result<Vec<Signature>, PassError> {
    let Some(function) = derivation.module.functions().get(signature.function) else { return Ok(Vec::new()) };
    let made = derivation.name(signature);
    if derivation.module.function(&made).is_some() {
        return Err(PassError::generated_twice(NAME, &function.name, &made));
    }
    let Some(prepared) = derivation.prepared(signature.function)? else { return Ok(Vec::new()) };
    let transformed = Transform::new(derivation, &prepared, &signature.wanted)
        .run()
        .map_err(|failure| failure.of(function, &prepared))?;
    let Transformed { ir, called, rules } = transformed;
    generated.functions.push(made_function(derivation, signature, made, function, &prepared, ir)?);
    for rule in rules {
        if generated.rules.insert(rule.name.clone()) {
            let error = |problem: bbcode::ConversionError| PassError::because(NAME, &function.name, problem);
            let body = BBCode::try_from(&rule.body).map_err(error)?;
            generated.functions.push(rule.map(|_| Ok::<_, PassError>(body.clone()))?);
        }
    }
    Ok(called)
}

fn made_function(
    derivation: &Derivation<'_>,
    signature: &Signature,
    name: Name,
    function: &Function<BBCode>,
    prepared: &Prepared,
    ir: IRCode,
) -> Result<Function<BBCode>, PassError> {
    let mut body = BBCode::try_from(ir).map_err(|problem| PassError::because(NAME, &function.name, problem))?;
    if let Some(own) = body.argtypes.first_mut() {
        *own = Type::function(name.clone());
    }
    let mut parameters = function.parameters.clone();
    let arguments = prepared.ir.argtypes.len().saturating_sub(1);
    parameters.resize(arguments, None);
    let primal = parameters.clone();
    for direction in 1..=derivation.directions {
        for (parameter, wanted) in primal.iter().zip(signature.wanted.iter().skip(1)) {
            let tangent = |name: &Name| match derivation.directions {
                1 => Name::from(format!("d{name}")),
                _ => Name::from(format!("d{name}_{direction}")),
            };
            let name = parameter.as_ref().filter(|_| *wanted).map(tangent);
            // Not twice: an argument may be called as the tangent of another.
            let free = |name: &Name| !parameters.iter().flatten().any(|known| known == name);
            parameters.push(name.filter(free));
        }
    }
    let result = Type::tuple(derivation.result_types(&prepared.result));
    Ok(Function { name, parameters, varargs: false, result, body })
}

/// Which arguments the function is differentiated with respect to, `_1` first.
fn wanted(
    derivation: &Derivation<'_>,
    name: &Name,
    root: usize,
    with_respect_to: Option<&[usize]>,
) -> Result<Vec<bool>, PassError> {
    let Some(prepared) = derivation.prepared(root)? else { return Ok(Vec::new()) };
    let argtypes = &prepared.ir.argtypes;
    let has_tangent = |ty: &Type| !derivation.tangents.of(ty).is_none();
    wanted_arguments(argtypes, has_tangent, with_respect_to).map_err(|error| error.of(NAME, name))
}
