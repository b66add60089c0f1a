//! Linearization: forward mode in two functions, of which the first computes the value and the second applies the
//! derivative to tangents, as often as one likes.
//!
//! ```text
//! f_linearized(args…) -> (value, differential)
//! f_differential(tangents of the arguments…, captured…) -> tangent
//! ```
//!
//! The differential is a closure of the second function. Swift calls the first the JVP of f and has it for code without
//! branches only; JAX calls the two `linearize`. Here `f_jvp` is the function of [forward mode](crate::forward_mode)
//! that computes value and tangent at once.
//!
//! The linearized function is f, in which each active call of a primitive with a [rule](crate::rules) makes a closure
//! `sin_differential(dx, x)` of what the rule needs of the values, and each active call of a function is one of its
//! linearization, which gives a differential. The differential of f has the blocks of f; in them, it applies these to
//! tangents in the order in which the values were computed. What needs no rule — fields, φs, loads, stores — is done to
//! tangents as in forward mode.
//!
//! # Control flow
//!
//! The differential runs forward, so that it reads in the order in which the function wrote: each block that is
//! executed pushes what it leaves for the differential on one stack, as the payload of a case of the enum
//! `f_linearized_step`, which has a case for each block. Which case comes next says where control went. A loop is so
//! many entries more, whatever its shape; nothing is taken off the stack, which can be read any number of times. Of a
//! function of one block the differential captures all directly.
//!
//! # Memory
//!
//! What is done to arrays and other objects is done to their tangents when the differential runs, and as in forward
//! mode those that it is given are changed in place: so give it new ones each time. The shadows of objects that the
//! function itself makes are made anew each time. Arrays whose contents a rule needs are copied when the function runs.
//!
//! Refused: code with try/catch, as a block may be left in its middle; objects whose contents a rule needs and that are
//! no arrays of values; new shadows whose own tangents would be of another type, as those of mutable structs; and what
//! forward mode refuses.

mod apart;
mod calls;
mod rule_differentials;

use bbcode::{BBCode, ConversionError};
use hashbrown::HashSet;
use ircode::{Function, IRCode, Module, Name, Type, TypeDef};

pub(super) use self::apart::Apart;
pub use self::apart::LinearizationNames;
pub(super) use self::calls::CallApart;
use self::rule_differentials::RuleDifferentials;
use super::derivation::{Derivation, Prepared};
use super::transform::{Failure, Transform};
use crate::differentiation::additions::add_generated;
use crate::differentiation::preparation::derived;
use crate::differentiation::signatures::{Signature, Signatures};
use crate::manager::{PassResult, named_or_only, run_on_function};
use crate::rules::RuleTable;
use crate::{PassError, constant_folding, dead_code, link_methods, mem2reg};

/// The pass's name on the command line.
pub const NAME: &str = "linearization";

/// What is to be derived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The arguments with respect to which the function is differentiated, by their numbers: 2 is `_2`. `None` for all
    /// that have tangents. The differential takes `nothing` for the others.
    pub with_respect_to: Option<Vec<usize>>,
}

/// Adds the linearization of a function to its module: of the one named, or of the only one.
///
/// # Errors
///
/// As [`differentiate`].
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let name = named_or_only(module, function).map_err(|none| none.of(NAME, "linearized"))?;
    differentiate(module, &name, &Options::default())?;
    Ok(true)
}

/// Adds the linearization of a function, and those of the functions that it calls, to their module, and gives its
/// names.
///
/// The types of the function's arguments must be known, or follow from
/// [`infer_types::specialize`](crate::infer_types::specialize).
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{IRCode, parse_module};
///
/// let parsed = parse_module("
/// function f(x::Float64)::Float64
/// 1 ─ %1 = Base.sin(x)::Float64
/// │   %2 = Base.mul_float(%1, 3.0)::Float64
/// └──      return %2
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let names = passes::linearization::differentiate(&mut module, &"f".into(), &Default::default())?;
/// let shown = |name: &str| IRCode::try_from(&module.function(name).unwrap().body).unwrap().to_string();
/// assert_eq!(shown(&names.linearized), "\
/// 1 ─ %1 = Base.sin(_2)::Float64
/// │   %2 = BBKit.partial_apply(Main.sin_differential, _2)::BBKit.Closure{Tuple{Float64}, Float64}
/// │   %3 = Base.mul_float(%1, 3.0)::Float64
/// │   %4 = BBKit.partial_apply(Main.f_differential, %2)::BBKit.Closure{Tuple{Float64}, Float64}
/// │   %5 = Core.tuple(%3, %4)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Float64}}
/// └──      return %5
/// ");
/// assert_eq!(shown(&names.differential), "\
/// 1 ─ %1 = (_3)(_2)::Float64
/// │   %2 = Main.mul_float_differential_wrt_2(%1, 3.0)::Float64
/// └──      return %2
/// ");
/// assert_eq!(shown("sin_differential"), "\
/// 1 ─ %1 = libm.cos(_3)::Float64
/// │   %2 = Base.mul_float(_2, %1)::Float64
/// └──      return %2
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PassError`] at the first statement of which no differential is known and whose tangent is needed. Nothing is added
/// to the module then.
pub fn differentiate(
    module: &mut Module<BBCode>,
    name: &Name,
    options: &Options,
) -> Result<LinearizationNames, PassError> {
    link_methods::run_on_all(module, &[name])?;
    let generated = generate_all(module, name, options).map_err(|error| PassError { pass: NAME, ..error })?;
    let error = |twice| PassError::because(NAME, name, twice);
    let names = add_generated(module, generated.types, generated.functions, error)?;
    for name in &names {
        for pass in [mem2reg::run, constant_folding::run, dead_code::run] {
            run_on_function(module, name, pass)?;
        }
    }
    Ok(generated.names)
}

/// What was generated for a function and all that it calls.
struct Generated {
    names: LinearizationNames,
    functions: Vec<Function<BBCode>>,
    types: Vec<TypeDef>,
}

fn generate_all(module: &Module<BBCode>, name: &Name, options: &Options) -> Result<Generated, PassError> {
    let table = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, name, error))?;
    let Some(root) = module.function_index(name) else {
        return Err(PassError::no_such_function(NAME, name));
    };
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &table, &[root], 1);
        derivation.frees_entry = true;
        derivation.open_arithmetic = open_arithmetic;
        generate_root(&derivation, name, root, options)
    })
}

/// Derives the function of this name, which is at this position, and all that it calls.
fn generate_root(
    derivation: &Derivation<'_>,
    name: &Name,
    root: usize,
    options: &Options,
) -> Result<Generated, PassError> {
    let error = |error: ConversionError| PassError::because(NAME, name, error);
    let module = derivation.module;
    derivation.check_globals(&[root])?;
    let wanted = super::wanted(derivation, name, root, options.with_respect_to.as_deref())?;
    let root = Signature { function: root, wanted };
    let names = LinearizationNames::with_base(&derivation.base(&root));
    let mut generated = Generated { names, functions: Vec::new(), types: Vec::new() };
    let rules = RuleDifferentials::default();
    let mut signatures = Signatures::default();
    signatures.add([root]);
    let mut added: HashSet<Name> = HashSet::new();
    while let Some(signature) = signatures.next() {
        let Some(function) = module.functions().get(signature.function) else { continue };
        let names = LinearizationNames::with_base(&derivation.base(&signature));
        for made in [&names.linearized, &names.differential] {
            if module.function(made).is_some() {
                return Err(PassError::generated_twice(NAME, &function.name, made));
            }
        }
        let Some(prepared) = derivation.prepared(signature.function)? else { continue };
        let made = linearized(derivation, &prepared, &signature, names.clone(), &rules)
            .map_err(|failure| failure.of(function, &prepared))?;
        signatures.add(made.called);
        generated.types.extend(made.step);
        let own = |name: &Name, ir: IRCode, parameters: Vec<Option<Name>>, result: Type| {
            let body = BBCode::try_from(ir).map_err(error)?;
            let mut made = Function { name: name.clone(), parameters, varargs: false, result, body };
            if let Some(own) = made.body.argtypes.first_mut() {
                *own = Type::function(name.clone());
            }
            Ok::<_, PassError>(made)
        };
        let arguments = prepared.ir.argtypes.len().saturating_sub(1);
        let mut parameters = function.parameters.clone();
        parameters.resize(arguments, None);
        let tangent = |(parameter, wanted): (&Option<Name>, &bool)| {
            parameter.as_ref().filter(|_| *wanted).map(|name| Name::from(format!("d{name}")))
        };
        let mut of_tangents: Vec<Option<Name>> =
            parameters.iter().zip(signature.wanted.iter().skip(1)).map(tangent).collect();
        of_tangents.resize(made.differential.argtypes.len().saturating_sub(1), None);
        let tangent = derivation.tangents.of(&prepared.result).ty();
        let pair = Type::tuple([prepared.result.clone().or_any(), made.closure]);
        generated.functions.push(own(&names.linearized, made.linearized, parameters, pair)?);
        generated.functions.push(own(&names.differential, made.differential, of_tangents, tangent)?);
        for rule in made.rules {
            if added.insert(rule.name.clone()) {
                let body = BBCode::try_from(&rule.body).map_err(error)?;
                generated.functions.push(rule.map(|_| Ok::<_, PassError>(body.clone()))?);
            }
        }
    }
    generated.functions.extend(rules.take());
    generated.types.extend(derivation.tangents.declarations());
    Ok(generated)
}

/// What was made of one function.
struct Linearized {
    linearized: IRCode,
    differential: IRCode,
    /// The type of the differential as a closure.
    closure: Type,
    /// The enum of what the blocks leave.
    step: Option<TypeDef>,
    called: Vec<Signature>,
    rules: Vec<Function<IRCode>>,
}

fn linearized(
    derivation: &Derivation<'_>,
    prepared: &Prepared,
    signature: &Signature,
    names: LinearizationNames,
    rules: &RuleDifferentials,
) -> Result<Linearized, Failure> {
    let argtypes = prepared.ir.argtypes.iter().zip(&signature.wanted);
    let tangents = argtypes.map(|(ty, wanted)| if *wanted { derivation.tangents.of(ty).ty() } else { Type::Nothing });
    let apart = Apart::new(&prepared.ir, names, tangents.collect(), rules);
    let mut transform = Transform::apart(derivation, prepared, &signature.wanted, apart);
    transform.write()?;
    let step = transform.finish_apart()?;
    let closure = transform.closure_type();
    let compacted = |ir: &IRCode| match ir.compact() {
        Ok(compacted) => Ok(compacted.ir),
        Err(error) => Err(Failure::Function(error.to_string())),
    };
    let Some(apart) = &transform.apart else { return Err(Failure::Function("no differential".into())) };
    Ok(Linearized {
        linearized: compacted(&transform.ir)?,
        differential: compacted(&apart.differential)?,
        closure,
        step,
        called: transform.called,
        rules: transform.rules,
    })
}
