//! Reverse-mode differentiation, on BBCode.
//!
//! From a function `f` come a forward pass, a pullback, and the function that runs both:
//!
//! ```text
//! f_fwd(args…) -> (value, trace)
//! f_pb(trace, seed) -> (nothing, cotangents of the arguments…)
//! f_value_and_gradient(args…) -> (value, cotangents of the arguments…)
//! ```
//!
//! The forward pass is a clone of `f` that saves what the pullback needs: as fields of the trace where a block runs exactly
//! once, on a stack a block elsewhere, each value where it is computed and once. Where control came from goes on a stack of
//! block numbers, which blocks that are the only predecessor of their successors never touch (Mooncake's unique-predecessor
//! analysis). The trace is fresh for each call, and the pullback reads it with cursors: it may be called any number of
//! times. The pullback runs the blocks backwards. Adjoints are slots, which [`mem2reg`] turns into values.
//!
//! What depends on the arguments by steps only (integers, comparisons, rounding) has no derivative and is computed as it
//! was. Memory, tuples and structs that depend on the arguments are refused where the result depends on them, as is
//! try/catch.

mod activity;
mod emit;
mod forward;
mod plan;
mod pullback;
mod shape;
mod tangent;

use std::sync::Arc;

use bbcode::{BBCode, EditError};
use hashbrown::HashSet;
use ircode::{
    Argument, Body, Constant, DebugInfo, Function, LineInfo, Module, Name, Operand, PhiEntry, Scalar, Stmt, Type,
};

use self::emit::Emitter;
use self::plan::Plan;
use crate::infer_types;
use crate::manager::{Context, PassResult, run_on_function};
use crate::rules::RuleTable;
use crate::{
    PassError, constant_folding, dead_code, link_methods, lower_arithmetic, mem2reg, simplify_cfg, type_literals,
    unreachable_code,
};

pub use self::plan::DerivativeNames;
pub use self::tangent::tangent_type;

/// The pass's name on the command line.
pub const NAME: &str = "reverse-mode";

/// Adds the derivative of a function to its module: of the one named, or of the only one.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let name = match (function, module.functions()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.name.clone(),
        (None, functions) => {
            let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
            let error = PassError::new(NAME, &"the module".into(), "which function is to be differentiated?");
            return Err(error.with_help(format!("name one of {}", names.join(", "))));
        }
    };
    differentiate(module, &name)?;
    Ok(true)
}

/// Adds the derivative of a function, and those of the functions that it calls, to their module.
///
/// The types of the function's arguments must be known, or follow from [`infer_types::specialize`]. What was generated is
/// cleaned up: slots become values, and what is not needed is removed.
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
/// [`PassError`] at the first statement of which no derivative is known and on which the result depends, at one that
/// stores what depends on the arguments in memory, and at a try/catch. Nothing is added to the module then.
pub fn differentiate(module: &mut Module<BBCode>, name: &Name) -> Result<DerivativeNames, PassError> {
    // What dumps of Julia's code invoke is found in the module.
    for function in module.functions().iter().map(|function| function.name.clone()).collect::<Vec<_>>() {
        run_on_function(module, &function, link_methods::run)?;
    }
    let derived = derive_all(module, name)?;
    let mut generated = Vec::new();
    for derivative in derived {
        for def in derivative.types {
            let error = |twice: ircode::DefinedTwice| PassError::new(NAME, name, twice.to_string());
            module.add_type(def).map_err(error)?;
        }
        module.replace_function(derivative.forward);
        for function in derivative.backward {
            generated.push(function.name.clone());
            module.replace_function(function);
        }
    }
    for name in &generated {
        clean_up(module, name)?;
    }
    Ok(DerivativeNames::of(name))
}

/// Turns slots into values, and removes what is not needed.
fn clean_up(module: &mut Module<BBCode>, name: &Name) -> Result<(), PassError> {
    for pass in [mem2reg::run, constant_folding::run, dead_code::run, simplify_cfg::run] {
        run_on_function(module, name, pass)?;
    }
    Ok(())
}

/// What was generated for one function.
struct Derived {
    /// The forward pass: the function as it was prepared, so that there is nothing to clean up.
    forward: Function<BBCode>,
    /// The pullback, and the function that runs both.
    backward: Vec<Function<BBCode>>,
    types: Vec<ircode::TypeDef>,
}

/// Derives a function and all that it calls with what is differentiated.
fn derive_all(module: &Module<BBCode>, name: &Name) -> Result<Vec<Derived>, PassError> {
    let rules = RuleTable::of_module(module).map_err(|error| PassError::new(NAME, name, error.to_string()))?;
    let Some(position) = module.function_index(name) else {
        return Err(PassError::new(NAME, name, format!("there is no function `{name}`")));
    };
    let mut work = vec![position];
    let mut seen: HashSet<usize> = work.iter().copied().collect();
    let mut derived = Vec::new();
    while let Some(position) = work.pop() {
        let Some(function) = module.functions().get(position) else { continue };
        let names = DerivativeNames::of(&function.name);
        for generated in [&names.forward, &names.pullback, &names.value_and_gradient] {
            if module.function(generated).is_some() {
                let message = format!("the module has a function `{generated}` already, which is to be generated");
                return Err(PassError::new(NAME, &function.name, message));
            }
        }
        let primal = prepared(module, function)?;
        let plan = Plan::new(module, &function.name, primal, &function.result, function.parameters.clone(), &rules)
            .map_err(|error| error.at_origin(function))?;
        // Where no argument has a derivative either, there is nothing to ask of the result.
        let asks = plan.cotangent_types().iter().any(|ty| *ty != Type::Nothing);
        if *name == function.name && asks && plan.seed_type().is_none() && !plan.returns.is_empty() {
            let message = format!("the result is a {:?}, which has no derivative", plan.result);
            return Err(PassError::new(NAME, name, message).with_help("the result must be a float"));
        }
        for callee in plan.called_functions() {
            if seen.insert(callee) {
                work.push(callee);
            }
        }
        derived.push(generate(plan).map_err(|error| PassError::new(NAME, &function.name, error.to_string()))?);
    }
    Ok(derived)
}

impl Plan<'_> {
    /// The functions whose derivatives are called, in the order in which the calls stand.
    fn called_functions(&self) -> Vec<usize> {
        let called = self.primal.all_insts().filter_map(|(id, _)| match self.activity.derivative(id) {
            Some(activity::Derivative::Call { function, .. }) => Some(*function),
            _ => None,
        });
        called.collect()
    }
}

/// A copy of the function that can be differentiated: slots are values, generic arithmetic is intrinsics, types and
/// callees are known as far as they follow, and every statement remembers that it comes from the one of the original.
fn prepared(module: &Module<BBCode>, function: &Function<BBCode>) -> Result<BBCode, PassError> {
    let mut bb = function.body.clone();
    name_phi_edges(&mut bb);
    remember_origins(&mut bb, &function.name);
    let context = Context { module, function: &function.name };
    for pass in [
        unreachable_code::run,
        constant_folding::run,
        type_literals::run,
        infer_types::run,
        lower_arithmetic::run,
        mem2reg::run,
        infer_types::run,
    ] {
        pass(&mut bb, &context)?;
    }
    Ok(bb)
}

impl PassError {
    /// The same error at the statement of the function as it was given, instead of the one in the prepared copy.
    fn at_origin(self, function: &Function<BBCode>) -> Self {
        let origin = self.place.as_ref().and_then(|place| place.origin.as_ref());
        let index = origin.and_then(|origin| (origin.statement as usize).checked_sub(1));
        match index.and_then(|index| function.body.all_insts().nth(index)) {
            Some((id, _)) => self.at(&function.body, id),
            None => self,
        }
    }
}

/// Gives φs an entry for every edge on which they have a value.
fn name_phi_edges(bb: &mut BBCode) {
    let edges = bb.view().unnamed_phi_edges();
    for edge in edges {
        if let Some(Stmt::Phi(phi)) = bb.inst_mut(edge.phi).map(|inst| &mut inst.stmt) {
            phi.entries.push(PhiEntry { edge: edge.pred, value: Some(edge.value) });
        }
    }
}

/// Lets every statement say which statement of the function it is, in the manner of Julia 1.12: by an edge to the debug
/// info of the function and the number of the statement there.
fn remember_origins(bb: &mut BBCode, name: &Name) {
    let ids: Vec<_> = bb.all_insts().map(|(id, inst)| (id, inst.line)).collect();
    let original = DebugInfo {
        def: Some(name.clone()),
        codelocs: ids.iter().map(|(_, line)| *line).collect(),
        ..(*bb.debuginfo).clone()
    };
    Arc::make_mut(&mut bb.debuginfo).edges = vec![Arc::new(original)];
    for (position, (id, line)) in ids.into_iter().enumerate() {
        if let Some(inst) = bb.inst_mut(id) {
            inst.line = LineInfo { line: line.line, edge: 1, pc: position as i32 + 1 };
        }
    }
}

fn generate(mut plan: Plan<'_>) -> Result<Derived, EditError> {
    let (pullback, both) = (pullback::generate(&plan)?, value_and_gradient(&plan)?);
    let (cotangents, value_and_gradient) = (plan.cotangent_types(), value_and_gradient_type(&plan));
    // The forward pass is made of the function itself, which nobody needs any more: functions may be large.
    let primal = std::mem::take(&mut plan.primal);
    let forward = forward::generate(&plan, primal)?;
    let pair = Type::tuple([plan.result.clone(), plan.trace_type()]);
    let named = |name: &Name, result: Type, body: BBCode| Function {
        name: name.clone(),
        parameters: Vec::new(),
        varargs: false,
        result,
        body,
    };
    let forward = Function { parameters: plan.parameters.clone(), ..named(&plan.names.forward, pair, forward) };
    let mut backward = vec![named(&plan.names.pullback, Type::tuple(cotangents), pullback)];
    if let Some(body) = both {
        let function = named(&plan.names.value_and_gradient, value_and_gradient, body);
        backward.push(Function { parameters: plan.parameters.clone(), ..function });
    }
    Ok(Derived { forward, backward, types: vec![plan.trace_def()] })
}

fn value_and_gradient_type(plan: &Plan<'_>) -> Type {
    Type::tuple(std::iter::once(plan.result.clone()).chain(plan.cotangent_types().into_iter().skip(1)))
}

/// The function that runs the forward pass and then the pullback with a seed of 1, or of `nothing` if the result has no
/// derivative; `None` if the function never returns.
fn value_and_gradient(plan: &Plan<'_>) -> Result<Option<BBCode>, EditError> {
    if plan.returns.is_empty() {
        return Ok(None);
    }
    let mut argtypes = plan.primal.argtypes.clone();
    if let Some(own) = argtypes.first_mut() {
        *own = Type::function(plan.names.value_and_gradient.clone());
    }
    let arguments: Vec<Operand<_>> = (1..argtypes.len()).map(|index| Argument::from_index(index).into()).collect();
    let mut bb = BBCode::new(argtypes);
    let block = bb.push_block();
    let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
    let pair = Type::tuple([plan.result.clone(), plan.trace_type()]);
    let result = emit.call("Main", &plan.names.forward, arguments, pair)?;
    let value = emit.field(result.clone(), 0, plan.result.clone())?;
    let trace = emit.field(result, 1, plan.trace_type())?;
    let one = plan.seed_type().and_then(|ty| Scalar::from_float(ty, 1.0));
    let one = one.map_or_else(Operand::nothing, Operand::from);
    let types = plan.cotangent_types();
    let all = emit.call("Main", &plan.names.pullback, [trace, one], Type::tuple(types.clone()))?;
    let mut elements = vec![value];
    for (index, ty) in types.iter().enumerate().skip(1) {
        elements.push(match ty {
            Type::Nothing => Operand::Constant(Constant::Nothing),
            ty => emit.field(all.clone(), index, ty.clone())?,
        });
    }
    let Type::Tuple(element_types) = value_and_gradient_type(plan) else { return Ok(None) };
    let tuple = emit.tuple(elements, element_types.to_vec())?;
    emit.stmt(Stmt::ret(tuple), Type::Any)?;
    Ok(Some(bb))
}
