//! The functions that run a forward pass and then its pullback.

use bbcode::{BBCode, EditError, Ids};
use ircode::{Argument, Function, LineInfo, Name, Operand, Scalar, Stmt, Type};

use super::Carrier;
use super::derivation::DerivativeNames;
use super::emit::{Emitter, type_operand};
use super::operation::argument;
use super::plan::Plan;
use crate::tangents::Tangent;

/// What a function that runs both is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Closed {
    /// `f_value_and_gradient(args…) -> (value, gradient…)`, for a float result, which has the seed 1.
    Gradient,
    /// `f_value_and_vjp(args…, seed) -> (value, gradient…)`.
    Vjp,
    /// `f_accumulate_gradient(args…, seed, shadows…) -> (value, cotangents…)`.
    Accumulate,
}

impl Closed {
    /// What the function is called.
    pub(super) fn name(self, names: &DerivativeNames) -> &Name {
        match self {
            Closed::Gradient => &names.value_and_gradient,
            Closed::Vjp => &names.vjp,
            Closed::Accumulate => &names.accumulate_gradient,
        }
    }
}

/// Generates a function that runs both. Gradient and cotangents have an entry for each argument from `_2` on, which is
/// `nothing` for those that are not differentiated; cotangents have one too for what is in the shadow. `None` if the
/// function never returns.
pub(super) fn generate(plan: &Plan<'_>, kind: Closed) -> Result<Option<Function<BBCode>>, EditError> {
    if plan.ways.returns.is_empty() {
        return Ok(None);
    }
    let name = kind.name(&plan.names);
    let mut argtypes = plan.primal.argtypes.clone();
    let count = argtypes.len();
    if let Some(own) = argtypes.first_mut() {
        *own = Type::function(name.clone());
    }
    let result = plan.result_tangent();
    let tangents = plan.argument_tangents();
    let value_type = match kind {
        Closed::Vjp => plan.result.clone(),
        Closed::Gradient | Closed::Accumulate => value_with_gradient(plan),
    };
    // A value whose type shows when it runs is a `Float64` where it is to have a gradient.
    let asserts = value_type != plan.result;
    match kind {
        Closed::Gradient => {}
        Closed::Vjp | Closed::Accumulate => argtypes.push(if asserts { value_type.clone() } else { result.ty() }),
    }
    let mut operands: Vec<Operand<_>> = (1..count).map(|index| Argument::from_index(index).into()).collect();
    if kind == Closed::Accumulate {
        for shadow in tangents.iter().map(Tangent::shadow).filter(|shadow| !shadow.is_none()) {
            operands.push(argument(argtypes.len()));
            argtypes.push(shadow.ty());
        }
    }
    let mut bb = BBCode::new(argtypes);
    let block = bb.push_block();
    let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
    let zeros = match kind {
        Closed::Accumulate => vec![None; tangents.len()],
        Closed::Gradient | Closed::Vjp => zero_tangents(plan, &mut emit, &tangents)?,
    };
    for (zero, tangent) in zeros.iter().zip(&tangents) {
        if let Some(zero) = zero {
            operands.push(emit.shadow_part(zero.clone(), tangent)?);
        }
    }
    let shadow = result.shadow();
    let mut types = vec![plan.result.clone()];
    types.extend((!shadow.is_none()).then(|| shadow.ty()));
    types.push(plan.trace_type());
    let last = types.len() - 1;
    let results = emit.call("Main", &plan.names.forward, operands, Type::tuple(types))?;
    let mut value = emit.field(results.clone(), 0, plan.result.clone())?;
    if asserts {
        let operands = [value, type_operand(value_type.clone())];
        value = emit.call("Core", "typeassert", operands, value_type.clone())?;
    }
    let seed = match kind {
        Closed::Gradient => seed_of(&result),
        Closed::Vjp | Closed::Accumulate => {
            let whole = argument(count);
            if !shadow.is_none() {
                let of_result = emit.field(results.clone(), 1, shadow.ty())?;
                emit.own("add_seed!", [of_result, whole.clone()], Type::Nothing)?;
            }
            let leaves = emit.cotangent_part(whole, &result)?;
            emit.pack(&result.cotangent(), &mut leaves.into_iter())?
        }
    };
    let trace = emit.field(results, last, plan.trace_type())?;
    let cotangent_types = plan.cotangent_types();
    let all = match plan.carrier {
        Carrier::Stacks => {
            emit.call("Main", &plan.names.pullback, [trace, seed], Type::tuple(cotangent_types.clone()))?
        }
        Carrier::LinearMaps => {
            Operand::Value(emit.stmt(Stmt::call(trace, [seed]), Type::tuple(cotangent_types.clone()))?)
        }
    };
    let mut elements = vec![value];
    let mut types = vec![value_type];
    for (index, tangent) in tangents.iter().enumerate().skip(1) {
        let cotangent = tangent.cotangent();
        types.push(if kind == Closed::Accumulate { cotangent.ty() } else { tangent.ty() });
        elements.push(match (zeros.get(index).cloned().flatten(), cotangent.is_none()) {
            (None, true) => Operand::nothing(),
            (Some(zero), true) => zero,
            (None, false) => emit.field(all.clone(), index, cotangent.ty())?,
            (Some(zero), false) => {
                let part = emit.field(all.clone(), index, cotangent.ty())?;
                let leaves = emit.cotangent_part(part, &cotangent)?;
                emit.add_cotangent(zero, tangent, &mut leaves.into_iter())?
            }
        });
    }
    let gradient = Type::tuple(types.clone());
    let tuple = emit.tuple(elements, types)?;
    emit.stmt(Stmt::ret(tuple), Type::Any)?;
    let mut parameters = plan.parameters.clone();
    // Those that are added have no names.
    if parameters.iter().any(Option::is_some) && kind == Closed::Accumulate {
        parameters.resize(bb.argtypes.len().saturating_sub(1), None);
    }
    Ok(Some(Function { name: name.clone(), parameters, varargs: false, result: gradient, body: bb }))
}

/// The type of the value in a function for its gradient: a `Float64`, where the type is known only when it runs, and
/// may be that of a float.
fn value_with_gradient(plan: &Plan<'_>) -> Type {
    match plan.result_tangent() {
        Tangent::Dynamic { cotangent: true, .. } => Type::FLOAT64,
        _ => plan.result.clone(),
    }
}

/// The cotangent of a float result in its gradient.
pub(super) fn seed_of(result: &Tangent) -> Operand<Ids> {
    match result {
        Tangent::Float(float) => Scalar::from_float(*float, 1.0).map_or_else(Operand::nothing, Operand::from),
        Tangent::Dynamic { cotangent: true, .. } => Operand::from(Scalar::Float64(1.0)),
        _ => Operand::nothing(),
    }
}

/// Tangents of zeros for the arguments that have shadows, made together: the same object among several has one shadow.
pub(super) fn zero_tangents(
    plan: &Plan<'_>,
    emit: &mut Emitter<'_>,
    tangents: &[Tangent],
) -> Result<Vec<Option<Operand<Ids>>>, EditError> {
    let mut zeros = vec![None; tangents.len()];
    let shadowed: Vec<usize> = (0..tangents.len()).filter(|&index| !tangents[index].shadow().is_none()).collect();
    if shadowed.is_empty() {
        return Ok(zeros);
    }
    if let [only] = *shadowed.as_slice() {
        zeros[only] = Some(emit.zero_tangent(argument(only), &tangents[only])?);
        return Ok(zeros);
    }
    let operands: Vec<Operand<_>> = shadowed.iter().map(|&index| argument(index)).collect();
    let types: Vec<Type> = shadowed.iter().map(|&index| plan.primal.argtypes[index].clone()).collect();
    let all = emit.tuple(operands, types)?;
    let all =
        emit.zero_tangent(all, &Tangent::Fields(shadowed.iter().map(|&index| tangents[index].clone()).collect()))?;
    for (position, &index) in shadowed.iter().enumerate() {
        zeros[index] = Some(emit.field(all.clone(), position, tangents[index].ty())?);
    }
    Ok(zeros)
}
