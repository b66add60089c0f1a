//! Reverse-mode differentiation, on BBCode.
//!
//! From a function `f` come a forward pass, a pullback, and the function that runs both:
//!
//! ```text
//! f_fwd(args…, shadows…) -> (value, shadow, trace)
//! f_pb(trace, seed) -> (nothing, cotangents of the arguments…)
//! f_value_and_gradient(args…) -> (value, gradient…)
//! f_accumulate_gradient(args…, seed, shadows…) -> (value, cotangents…)
//! ```
//!
//! The forward pass is a clone of `f` that saves what the pullback needs: as fields of the trace where a block runs at
//! most once, on a stack for each block elsewhere, each value where it is computed and once. Where control came from
//! follows from counters that run backwards and from conditions; where it does not, the block at which ways meet saves
//! it. A stack of block numbers, which blocks that are the only predecessor of their successors never touch (Mooncake's
//! unique-predecessor analysis), is left for functions whose first block is in a loop. The trace is fresh for each
//! call, and the pullback reads it with cursors: it may be called any number of times. The pullback runs the blocks
//! backwards. Adjoints are slots, which [`mem2reg`] turns into values.
//!
//! What has identity (arrays, references, mutable structs) goes forward with its shadow, to which the pullback adds in
//! place and which holds at last the cotangent of what was in the object first. The pullback takes back the changes
//! that the function made to memory; if there are such, it can be called once. Cotangents of values are trees of
//! floats, of which each has its own adjoint.
//!
//! What depends on the arguments by steps only (integers, comparisons, rounding) has no derivative and is computed as
//! it was. What has no known derivative is refused where the result depends on it, as is what an exception holds that
//! is caught; otherwise try/catch is [branches](crate::lower_exceptions).

mod activity;
mod adjoints;
mod at_hand;
mod checkpointed;
mod closed;
mod conditions;
mod contents;
mod counted;
mod derivation;
mod emit;
mod fields;
mod forward;
mod got;
mod independent_rounds;
mod inductions;
pub mod linear_maps;
mod minimum_cut;
mod needs;
mod objects;
mod one_function;
mod operation;
mod places;
mod plan;
mod pullback;
mod recompute;
mod recompute_in_block;
mod report;
mod running;
mod same_loads;
mod saved;
mod savings;
mod shape;
mod sharing;
mod statement;
mod straight;
mod subset;
mod summary;
pub(crate) mod survey;
mod tangent_code;
mod ways;
mod without_handlers;

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::{Function, Module, Name, Type, TypeDef, TypeKind};

use self::closed::Closed;
use self::derivation::Derivation;
use self::independent_rounds::{IndependentRounds, Round, joined};
use self::one_function::{MadeFunction, Temporary};
use self::operation::Operation;
use self::plan::Plan;
use self::without_handlers::without_handlers;
use crate::differentiability::Made;
use crate::differentiation::additions::add_generated;
use crate::differentiation::bits::BitsOfFloats;
use crate::differentiation::preparation::derived;
use crate::differentiation::signatures::{Signature, Signatures, generate_several};
use crate::differentiation::with_respect_to::wanted_arguments;
use crate::manager::{PassResult, named_or_only, run_on_function};
use crate::rules::{RuleTable, RuleTarget};
use crate::tangents::Tangent;
use crate::{PassError, checkpoint_loops, constant_folding, dead_code, link_methods, mem2reg, simplify_cfg};

pub use self::derivation::DerivativeNames;
pub(crate) use self::derivation::Thunks;
pub(crate) use self::linear_maps::normal_form::free_entry;
pub use self::report::{Activity, ActivityReport, activity};
pub use self::savings::Savings;
pub(crate) use self::subset::subset_thunk;

/// The pass's name on the command line.
pub const NAME: &str = "reverse-mode";

/// Adds the derivative of a function to its module: of the one named, or of the only one.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let name = named_or_only(module, function).map_err(|none| none.of(NAME, "differentiated"))?;
    differentiate(module, &name)?;
    Ok(true)
}

/// Adds the derivative of a function, and those of the functions that it calls, to their module.
///
/// The types of the function's arguments must be known, or follow from
/// [`infer_types::specialize`](crate::infer_types::specialize). What was generated is cleaned up: slots become values,
/// and what is not needed is removed.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function square(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let names = passes::reverse_mode::differentiate(&mut module, &"square".into())?;
/// let pullback = module.function(&names.pullback).unwrap();
/// assert_eq!(ircode::IRCode::try_from(&pullback.body)?.to_string(), "\
/// 1 ─ %1 = Base.getfield(_2, 1)::Float64
/// │   %2 = Base.mul_float(_3, %1)::Float64
/// │   %3 = Base.mul_float(_3, %1)::Float64
/// │   %4 = Base.add_float(%2, %3)::Float64
/// │   %5 = Base.add_float(%4, 0.0)::Float64
/// │   %6 = Core.tuple(nothing, %5)::Tuple{Nothing, Float64}
/// └──      return %6
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PassError`] at the first statement of which no derivative is known and on which the result depends, and at what
/// may fail in a try/catch and cannot be made a branch. Nothing is added to the module then.
pub fn differentiate(module: &mut Module<BBCode>, name: &Name) -> Result<DerivativeNames, PassError> {
    derive(module, name, &Options::default()).map(|derivative| derivative.names)
}

/// How what the pullback needs travels to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Carrier {
    /// In a trace: fields for blocks that run at most once, else one stack for each block (Mooncake). `f_fwd` returns
    /// the trace, and `f_pb` takes it.
    #[default]
    Stacks,
    /// In closures, and along the edges of the function in enums (Swift): `f_vjp`, which returns a pullback.
    LinearMaps,
}

/// What is to be derived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How what the pullback needs travels.
    pub carrier: Carrier,
    /// The arguments with respect to which the function is differentiated, by their numbers: 2 is `_2`. `None` for all
    /// that have tangents.
    pub with_respect_to: Option<Vec<usize>>,
    /// Whether the function that takes a cotangent of the result is made, and not the one for the gradient of a float.
    pub vjp: bool,
    /// Whether the function that adds the gradient into memory of the caller is made, for any result, and not the one
    /// for the gradient: [`accumulate_gradient`](DerivativeNames::accumulate_gradient). With `vjp`, both are made.
    pub accumulate: bool,
    /// Whether forward passes and pullbacks are left out that nothing calls any more, once they are part of the
    /// function for the gradient: it is all that is there of most derivatives then, and the other
    /// [names](Derivative::names) name nothing. This does nothing where passes stay apart: with `vjp`, with linear
    /// maps, and without [`Savings::one_function`].
    pub only_joined: bool,
    /// What makes the derivative small.
    pub savings: Savings,
    /// Whether loops are [checkpointed](checkpoint_loops): memory in proportion to the root of the number of rounds, at
    /// the price of running their bodies once more. The gradient is the same, but for the order of a sum in few
    /// programs.
    pub checkpoint: bool,
    /// Whether cotangents may be added up in another order than that in which they come on the way back, which rounds
    /// them in another way: then loops may have independent rounds (see [`Savings::independent_rounds`]) that read the
    /// same numbers.
    pub reassociate: bool,
}

/// A derivative that was added to a module.
#[derive(Clone, PartialEq, Debug)]
pub struct Derivative {
    /// What its functions are called.
    pub names: DerivativeNames,
    /// What is not wrong, but may not be what was meant: the result does not depend on the arguments, a loop is not
    /// checkpointed.
    pub warnings: Vec<PassError>,
}

/// Adds the derivative of a function, as [`differentiate`] does, with respect to some of its arguments or for any
/// result.
///
/// # Errors
///
/// As [`differentiate`]; [`PassError`] too if an argument is named that is not there or has no tangent.
pub fn derive(module: &mut Module<BBCode>, name: &Name, options: &Options) -> Result<Derivative, PassError> {
    if let Some(derivative) = straight::derive(module, name, options)? {
        return Ok(derivative);
    }
    link_methods::run_on_all(module, &[name])?;
    let Added { derivative, passes, temporary, unclean } = add_derivative(module, name, options)?;
    if options.savings.one_function && options.carrier == Carrier::Stacks {
        // The vector-Jacobian product stays apart: it is there for the pullback itself.
        for closed in closed_kinds(options).into_iter().filter(|closed| *closed != Closed::Vjp) {
            one_function::run(module, closed.name(&derivative.names), &passes, &unclean, options.savings)?;
        }
        one_function::remove_what_is_not_called(module, &temporary);
        // What was not inlined.
        for name in &unclean {
            if module.function(name).is_some() {
                clean_up(module, name)?;
            }
        }
    }
    Ok(derivative)
}

/// A derivative that was added, and of which no functions were joined yet.
struct Added {
    derivative: Derivative,
    /// The functions that may become part of others.
    passes: Vec<MadeFunction>,
    /// What is not kept, once they are.
    temporary: Vec<Temporary>,
    /// The functions that were not cleaned up, as they are called once, and become part of another one that will be.
    unclean: Vec<Name>,
}

/// Adds the functions of a derivative to the module.
fn add_derivative(module: &mut Module<BBCode>, name: &Name, options: &Options) -> Result<Added, PassError> {
    let lowered = without_handlers(module, std::slice::from_ref(name));
    let source = lowered.as_ref().map_or(&*module, |lowered| &lowered.module);
    let made = match options.checkpoint {
        true => generate_checkpointed(source, name, options),
        false => generate_all(source, name, options),
    };
    let (derivative, mut generated) = match (made, lowered) {
        (Ok((derivative, mut generated)), Some(lowered)) => {
            lowered.add_to(&mut generated);
            (derivative, generated)
        }
        (Err(error), Some(lowered)) => return Err(lowered.reason_for(error)),
        (made, None) => made?,
    };
    let (mut passes, mut temporary) = (std::mem::take(&mut generated.passes), std::mem::take(&mut generated.temporary));
    let mut unclean = generated.unclean.clone();
    let known = (module.functions().len(), module.types().len());
    for round in std::mem::take(&mut generated.rounds) {
        let round_name = round.function.name.clone();
        module.replace_function(round.function);
        let with_respect_to = Some(round.with_respect_to);
        let (savings, reassociate) = (options.savings, options.reassociate);
        let of_round = Options {
            with_respect_to,
            accumulate: true,
            only_joined: true,
            savings,
            reassociate,
            ..Options::default()
        };
        let Ok(added) = add_derivative(module, &round_name, &of_round) else {
            // Without the rounds the error is told of the function itself, if there is one.
            let functions: HashSet<Name> =
                module.functions().iter().skip(known.0).map(|added| added.name.clone()).collect();
            let types: HashSet<Name> = module.types().iter().skip(known.1).map(|added| added.name.clone()).collect();
            module.retain(|function| !functions.contains(&function.name), |def| !types.contains(&def.name));
            let savings = Savings { independent_rounds: false, ..options.savings };
            return add_derivative(module, name, &Options { savings, ..options.clone() });
        };
        passes.extend(added.passes);
        passes.push(MadeFunction { name: round.names.accumulate_gradient.clone(), is_pullback: false });
        unclean.extend(added.unclean);
        temporary.extend(added.temporary);
        let functions = vec![round_name, round.names.accumulate_gradient];
        temporary.push(Temporary { functions, trace: None });
    }
    add(module, name, generated)?;
    Ok(Added { derivative, passes, temporary, unclean })
}

/// As [`generate_all`], of the function with its loops as calls. Only what these call is added to the module: the
/// function itself stays as it is.
fn generate_checkpointed(
    module: &Module<BBCode>,
    name: &Name,
    options: &Options,
) -> Result<(Derivative, Generated), PassError> {
    let mut prepared = module.clone();
    let report = checkpoint_loops::checkpoint_loops_called(&mut prepared, name)?;
    let (mut derivative, mut generated) = match generate_all(&prepared, name, options) {
        Ok(made) => made,
        Err(error) => {
            // An error is told of the function as it was given. There is none if the segments are what cannot be
            // differentiated.
            let (mut derivative, generated) = generate_all(module, name, options)?;
            derivative.warnings.push(error.with_help("no loop is checkpointed because of this"));
            return Ok((derivative, generated));
        }
    };
    derivative.warnings.extend(report.left);
    generated.functions.extend(report.segments.iter().filter_map(|segment| prepared.function(segment)).cloned());
    Ok((derivative, generated))
}

/// Adds the VJPs of functions with respect to parameters, with linear maps, and those of the functions that they call,
/// to their module, and tells which these are.
///
/// # Errors
///
/// All that there are, one for each function that has no derivative. Nothing is added to the module then.
pub(crate) fn derive_all(module: &mut Module<BBCode>, roots: &[(Name, Vec<u32>)]) -> Result<Vec<Made>, Vec<PassError>> {
    let Some((first, _)) = roots.first() else { return Ok(Vec::new()) };
    let entries: Vec<&Name> = roots.iter().map(|(name, _)| name).collect();
    link_methods::run_on_all(module, &entries).map_err(|error| vec![error])?;
    let names: Vec<Name> = roots.iter().map(|(name, _)| name.clone()).collect();
    let lowered = without_handlers(module, &names);
    let source = lowered.as_ref().map_or(&*module, |lowered| &lowered.module);
    let (mut generated, made) = generate_vjps(source, first, roots).map_err(|errors| match &lowered {
        Some(lowered) => errors.into_iter().map(|error| lowered.reason_for(error)).collect(),
        None => errors,
    })?;
    if let Some(lowered) = lowered {
        lowered.add_to(&mut generated);
    }
    add(module, first, generated).map_err(|error| vec![error])?;
    Ok(made)
}

/// Adds what was generated to the module, for the function of this name.
fn add(module: &mut Module<BBCode>, name: &Name, generated: Generated) -> Result<(), PassError> {
    let types: Vec<Name> = generated.types.iter().map(|def| def.name.clone()).collect();
    let error = |twice| PassError::because(NAME, name, twice);
    let names = add_generated(module, generated.types, generated.functions, error)?;
    give_identity(module, &types);
    let mut clean = names.iter().filter(|name| !generated.unclean.contains(*name));
    clean.try_for_each(|name| clean_up(module, name))
}

/// Makes the traces of functions that call themselves mutable: the tangents of immutable structs that hold themselves
/// are known only at run time, so that the derivative of the derivative could not be compiled.
fn give_identity(module: &mut Module<BBCode>, types: &[Name]) {
    let recursive = module.recursive_types();
    for name in types.iter().filter(|name| recursive.contains(*name)) {
        let Some(TypeDef { name, supertypes, kind: TypeKind::Struct { fields, .. } }) = module.type_def(name).cloned()
        else {
            continue;
        };
        module.replace_type(TypeDef { name, supertypes, kind: TypeKind::Struct { mutable: true, fields } });
    }
}

/// Turns slots into values, and removes what is not needed.
fn clean_up(module: &mut Module<BBCode>, name: &Name) -> Result<(), PassError> {
    for pass in [mem2reg::run, constant_folding::run, dead_code::run, simplify_cfg::run] {
        run_on_function(module, name, pass)?;
    }
    Ok(())
}

/// What was generated for a function and all that it calls.
#[derive(Default)]
struct Generated {
    functions: Vec<Function<BBCode>>,
    types: Vec<ircode::TypeDef>,
    /// Which of the functions are forward passes and pullbacks.
    passes: Vec<MadeFunction>,
    /// What is not kept, once it is part of other functions.
    temporary: Vec<Temporary>,
    /// Those of the functions that need no cleaning up, as they are called once, and become part of another one that
    /// will be cleaned up.
    unclean: Vec<Name>,
    /// The rounds of loops of which the derivatives are called.
    rounds: Vec<Round>,
}

/// Derives a function and all that it calls with what is differentiated.
fn generate_all(module: &Module<BBCode>, name: &Name, options: &Options) -> Result<(Derivative, Generated), PassError> {
    let rules = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, name, error))?;
    let Some(root) = module.function_index(name) else {
        return Err(PassError::no_such_function(NAME, name));
    };
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &rules, &[root], options.carrier, options.savings);
        derivation.open_arithmetic = open_arithmetic;
        generate_root(&derivation, name, root, options)
    })
}

/// Derives the function of this name, which is at this position, and all that it calls with what is differentiated.
fn generate_root(
    derivation: &Derivation<'_>,
    name: &Name,
    root: usize,
    options: &Options,
) -> Result<(Derivative, Generated), PassError> {
    derivation.check_changes(&[root])?;
    let wanted = wanted(derivation, name, root, options.with_respect_to.as_deref())?;
    let root = Signature { function: root, wanted };
    let mut derivative = Derivative { names: derivation.names(&root), warnings: Vec::new() };
    let mut generated = Generated::default();
    let asked = Some((options, &mut derivative.warnings));
    let called = generate(derivation, &root, asked, &mut generated)?;
    let only_joined = leaves_passes_out(derivation, options);
    let mut signatures = Signatures::default();
    // Passes of the root that may be called are there already, unless they were left out.
    if !only_joined {
        signatures.leave_out(root);
    }
    signatures.add(called);
    while let Some(signature) = signatures.next() {
        if only_joined {
            // The type of its traces stays: a loop may have a stack of them.
            let DerivativeNames { forward, pullback, .. } = derivation.names(&signature);
            generated.temporary.push(Temporary { functions: vec![forward, pullback], trace: None });
        }
        signatures.add(generate(derivation, &signature, None, &mut generated)?);
    }
    generated.finish(derivation);
    Ok((derivative, generated))
}

/// Derives the VJPs of several functions and all that they call with what is differentiated, with linear maps.
fn generate_vjps(
    module: &Module<BBCode>,
    first: &Name,
    roots: &[(Name, Vec<u32>)],
) -> Result<(Generated, Vec<Made>), Vec<PassError>> {
    let rules = RuleTable::of_module(module).map_err(|error| vec![PassError::because(NAME, first, error)])?;
    let positions: Vec<usize> = roots.iter().filter_map(|(name, _)| module.function_index(name)).collect();
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &rules, &positions, Carrier::LinearMaps, Savings::default());
        derivation.open_arithmetic = open_arithmetic;
        derivation.check_changes(&positions).map_err(|error| vec![error])?;
        let mut generated = Generated::default();
        let made = generate_several(
            module,
            roots,
            |name, function, numbers| wanted(&derivation, name, function, Some(numbers)),
            |signature| generate(&derivation, signature, None, &mut generated),
            |signature| derivation.names(signature).forward,
        )?;
        generated.finish(&derivation);
        Ok((generated, made))
    })
}

/// Makes a derivative, and gives those that it calls. Of what was asked for itself there are the options, and where
/// warnings go.
fn generate(
    derivation: &Derivation<'_>,
    signature: &Signature,
    asked: Option<(&Options, &mut Vec<PassError>)>,
    generated: &mut Generated,
) -> Result<Vec<Signature>, PassError> {
    let module = derivation.module;
    let Some(function) = module.functions().get(signature.function) else { return Ok(Vec::new()) };
    refuse_registered(derivation, signature, &function.name)?;
    let names = derivation.names(signature);
    let closed: Vec<Closed> = asked.as_ref().map_or_else(Vec::new, |(options, _)| closed_kinds(options));
    // What is to be one function calls its pullback once, and needs no function that can be called again.
    let joins = closed.iter().any(|kind| *kind != Closed::Vjp) && derivation.joins();
    let (reassociate, checkpoint, only_joined) = asked.as_ref().map_or_else(Default::default, |(options, _)| {
        (options.reassociate, options.checkpoint, leaves_passes_out(derivation, options))
    });
    let free = |made: &Name| match module.function(made) {
        None => Ok(()),
        Some(_) => Err(PassError::generated_twice(NAME, &function.name, made)),
    };
    let names = if only_joined { names.once() } else { names };
    let closed_names = closed.iter().map(|kind| kind.name(&names));
    [&names.forward, &names.pullback].into_iter().chain(closed_names).try_for_each(free)?;
    let Some(prepared) = derivation.prepared(signature.function)? else { return Ok(Vec::new()) };
    let planned = |names: DerivativeNames, once: bool| {
        let (wanted, parameters) = (signature.wanted.clone(), function.parameters.clone());
        Plan::new(derivation, &function.name, names, &prepared, wanted, parameters, once)
            .map_err(|error| error.at_origin(function))
    };
    let mut plan = planned(names, only_joined)?;
    if let Some((options, warnings)) = asked {
        check_root(&plan, function, options, warnings)?;
    }
    // A callee that cannot be made ready is an error of its own.
    plan.called_functions().into_iter().try_for_each(|called| derivation.prepared(called).map(|_| ()))?;
    let error = |error: bbcode::EditError| PassError::because(NAME, &function.name, error);
    let independent = match joins && derivation.savings.independent_rounds && !checkpoint {
        true => IndependentRounds::find(&plan, &function.name, reassociate),
        false => None,
    };
    if let Some(independent) = &independent {
        generated.rounds = independent.rounds(&plan).map_err(error)?;
    }
    let mut called = Vec::new();
    let mut second = None;
    // Where the function has independent rounds, only these have passes, and call anything.
    if !only_joined || independent.is_none() {
        plan.decide();
        called = plan.called_signatures();
    }
    if !only_joined && joins && plan.better_once && independent.is_none() {
        let names = plan.names.once();
        [&names.forward, &names.pullback].into_iter().try_for_each(free)?;
        second = Some(planned(names, true)?);
    }
    // Which passes stay, and which become part of another function.
    let (kept, once) = match (only_joined, &mut second) {
        (true, _) => (None, Some(&plan).filter(|_| independent.is_none())),
        (false, Some(second)) => {
            second.decide();
            (Some(&plan), Some(&*second))
        }
        (false, None) => (Some(&plan), None),
    };
    if let Some(kept) = kept {
        generated.add_passes(kept).map_err(error)?;
    }
    if let Some(once) = once {
        generated.add_temporary(once).map_err(error)?;
    }
    for kind in closed {
        match independent.as_ref().filter(|_| kind != Closed::Vjp) {
            Some(independent) => {
                generated.functions.push(joined(&plan, kind, independent, &generated.rounds).map_err(error)?);
            }
            None => {
                let plan = once.filter(|_| kind != Closed::Vjp).unwrap_or(&plan);
                generated.functions.extend(closed::generate(plan, kind).map_err(error)?);
            }
        }
    }
    if let Some(kept) = kept {
        match kept.carrier {
            Carrier::Stacks => generated.types.push(kept.trace_def()),
            Carrier::LinearMaps => generated.types.extend(kept.enum_defs()),
        }
    }
    generated.add_rules(&plan)?;
    Ok(called)
}

/// Refuses a function of which the program has registered a derivative that cannot be called here. With linear maps it
/// would have been called, did it fit what is wanted.
fn refuse_registered(derivation: &Derivation<'_>, signature: &Signature, function: &Name) -> Result<(), PassError> {
    let Some(registered) = derivation.registered.get(signature.function).iter().find(|other| !other.generated) else {
        return Ok(());
    };
    let why = match derivation.carrier {
        Carrier::Stacks => "which code with traces cannot call",
        Carrier::LinearMaps => "which is with respect to other parameters than those that are wanted here",
    };
    let message = format!("`{}` is registered as its derivative, {why}", registered.function);
    let help = "a derivative rule for the function is called in its place";
    Err(PassError::new(NAME, function, message).with_help(help))
}

/// Whether forward passes and pullbacks become part of another function, and are wanted for nothing else.
fn leaves_passes_out(derivation: &Derivation<'_>, options: &Options) -> bool {
    options.only_joined && !options.vjp && derivation.joins()
}

/// Which functions that run both passes are asked for: each is as much work as both passes.
fn closed_kinds(options: &Options) -> Vec<Closed> {
    match (options.vjp, options.accumulate) {
        (false, false) => vec![Closed::Gradient],
        (false, true) => vec![Closed::Accumulate],
        (true, false) => vec![Closed::Vjp],
        (true, true) => vec![Closed::Vjp, Closed::Accumulate],
    }
}

impl Generated {
    /// Adds a forward pass and its pullback.
    fn add_passes(&mut self, plan: &Plan<'_>) -> Result<(), bbcode::EditError> {
        let names = &plan.names;
        for (name, is_pullback) in [(&names.forward, false), (&names.pullback, true)] {
            self.passes.push(MadeFunction { name: name.clone(), is_pullback });
        }
        self.functions.push(forward_pass(plan)?);
        self.functions.push(named(plan, &names.pullback, pullback_type(plan), pullback::generate(plan)?));
        Ok(())
    }

    /// Adds a forward pass and its pullback that are to become part of another function.
    fn add_temporary(&mut self, plan: &Plan<'_>) -> Result<(), bbcode::EditError> {
        self.add_passes(plan)?;
        self.types.push(plan.trace_def());
        let functions = vec![plan.names.forward.clone(), plan.names.pullback.clone()];
        self.unclean.extend(functions.iter().cloned());
        self.temporary.push(Temporary { functions, trace: Some(plan.names.trace.clone()) });
        Ok(())
    }

    /// Adds the rules that a derivative calls and the module does not have.
    fn add_rules(&mut self, plan: &Plan<'_>) -> Result<(), PassError> {
        for rule in plan.called_rules() {
            let absent = |function: &Function<BBCode>| function.name != rule.name;
            if plan.derivation.module.function(&rule.name).is_none() && self.functions.iter().all(absent) {
                let convert = |error: bbcode::ConversionError| PassError::because(NAME, &rule.name, error);
                self.functions.push(rule.map(|body| BBCode::try_from(body)).map_err(convert)?);
            }
        }
        Ok(())
    }

    /// Adds what belongs to all derivatives that were made together.
    fn finish(&mut self, derivation: &Derivation<'_>) {
        self.functions.extend(derivation.rule_pullbacks.take());
        self.functions.extend(derivation.thunks.take());
        self.types.splice(0..0, derivation.tangents.declarations());
    }
}

/// Which arguments the function is differentiated with respect to, `_1` first.
fn wanted(
    derivation: &Derivation<'_>,
    name: &Name,
    root: usize,
    numbers: Option<&[usize]>,
) -> Result<Vec<bool>, PassError> {
    let Some(prepared) = derivation.prepared(root)? else { return Ok(Vec::new()) };
    let argtypes = &prepared.body.argtypes;
    let has_tangent = |ty: &Type| !derivation.tangents.of(ty).is_none();
    wanted_arguments(argtypes, has_tangent, numbers).map_err(|error| error.of(NAME, name))
}

/// Whether the function that was asked for has a derivative, and depends on its arguments.
fn check_root(
    plan: &Plan<'_>,
    function: &Function<BBCode>,
    options: &Options,
    warnings: &mut Vec<PassError>,
) -> Result<(), PassError> {
    // Where no argument has a derivative either, there is nothing to ask of the result.
    let asks = plan.wanted.contains(&true) && !plan.ways.returns.is_empty();
    let tangent = plan.result_tangent();
    let has_gradient = matches!(tangent, Tangent::Float(_) | Tangent::Dynamic { cotangent: true, .. });
    if asks && !options.vjp && !has_gradient {
        let (message, help) = match tangent.is_none() {
            true => (
                format!("the result is {}, which has no derivative", plan.result.with_article()),
                "the result must be a float",
            ),
            false => (
                format!("the result is {}, which has no gradient", plan.result.with_article()),
                "the result must be a float; vjp takes a cotangent of any result",
            ),
        };
        return Err(PassError::new(NAME, &function.name, message).with_help(help));
    }
    if asks && !plan.result_varies() {
        warnings.push(PassError::new(
            NAME,
            &function.name,
            "the result does not depend on the arguments: its derivative is zero",
        ));
    }
    Ok(())
}

/// For each function of a module what it, or what it calls, may do with bits of floats; functions with derivative rules
/// aside.
pub(crate) fn bits_of_floats(module: &Module<BBCode>, rules: &RuleTable) -> Vec<BitsOfFloats> {
    let all: Vec<usize> = (0..module.functions().len()).collect();
    let summaries = summary::Summaries::of(module, rules, &all, None);
    all.into_iter().map(|function| summaries.get(function).bits).collect()
}

impl Plan<'_> {
    /// The functions of which a derivative is called.
    fn called_functions(&self) -> Vec<usize> {
        let blocks = self.ways.relevant_blocks().filter_map(|number| self.block(number));
        let ids = blocks.flat_map(|block| self.primal.inst_ids(block).collect::<Vec<_>>());
        let called = ids.filter(|id| self.is_reversed(*id)).filter_map(|id| match self.activity.operation(id) {
            Operation::Call { function, .. } => Some(*function),
            _ => None,
        });
        called.collect()
    }

    /// The derivatives that are called, in the order in which the calls stand.
    fn called_signatures(&self) -> Vec<Signature> {
        let blocks = self.ways.relevant_blocks().filter_map(|number| self.block(number));
        let ids = blocks.flat_map(|block| self.primal.inst_ids(block).collect::<Vec<_>>());
        let called = ids.filter(|id| self.is_reversed(*id)).filter_map(|id| self.called(id));
        called.filter(|called| !called.is_given).map(|called| called.signature).collect()
    }
}

impl Plan<'_> {
    /// The functions that are rules and are called, in the order in which the calls stand.
    fn called_rules(&self) -> Vec<Function<ircode::IRCode>> {
        let blocks = self.ways.relevant_blocks().filter_map(|number| self.block(number));
        let ids = blocks.flat_map(|block| self.primal.inst_ids(block).collect::<Vec<_>>());
        let rules = ids.filter(|id| self.is_reversed(*id)).filter_map(|id| match self.activity.operation(id) {
            Operation::Rule { rule, .. } if matches!(rule.target, RuleTarget::Function(_)) => {
                Some(Function { name: rule.called_name(), ..rule.function.clone() })
            }
            _ => None,
        });
        rules.collect()
    }
}

fn named(plan: &Plan<'_>, name: &Name, result: Type, body: BBCode) -> Function<BBCode> {
    let parameters = if *name == plan.names.pullback { Vec::new() } else { plan.parameters.clone() };
    Function { name: name.clone(), parameters, varargs: false, result, body }
}

fn forward_pass(plan: &Plan<'_>) -> Result<Function<BBCode>, bbcode::EditError> {
    let body = forward::generate(plan, (*plan.primal).clone())?;
    let mut types = vec![plan.result.clone()];
    let shadow = plan.result_tangent().shadow();
    types.extend((!shadow.is_none()).then(|| shadow.ty()));
    types.push(plan.trace_type());
    Ok(named(plan, &plan.names.forward, Type::tuple(types), body))
}

fn pullback_type(plan: &Plan<'_>) -> Type {
    Type::tuple(plan.cotangent_types())
}
