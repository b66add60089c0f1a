//! Calls of which the pullback runs the forward pass itself, so that only their arguments are saved.

use bbcode::{BBCode, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Operand, Stmt};
use slotmap::SecondaryMap;

use super::derivation::{Called, Derivation};
use super::emit::Emitter;
use super::operation::Operation;
use super::pullback::Generated;
use crate::differentiation::checkpointed::marked;
use crate::tangents::Tangent;

impl Derivation<'_> {
    /// Whether calls of a function may be run again: it is marked, changes no memory and prints nothing. What it reads
    /// is, while the pullback runs its reverse, as it was at the call.
    pub(super) fn is_checkpointed(&self, function: usize) -> bool {
        let body = self.module.functions().get(function).map(|function| &function.body);
        let summary = self.summaries.get(function);
        body.is_some_and(|body| marked(body).is_some()) && !summary.writes && !summary.acts
    }

    /// Lets the elements of results that the [mark](crate::differentiation::checkpointed) names count as constants:
    /// where the function makes the tuple, and where what it calls is taken apart.
    pub(super) fn leave_out_constants(
        &self,
        original: &BBCode,
        bb: &BBCode,
        operations: &mut SecondaryMap<InstId, Operation>,
    ) {
        if let Some(constants) = marked(original) {
            for block in bb.blocks() {
                let Some(Stmt::Return(ret)) = bb.terminator(block).map(|(_, inst)| &inst.stmt) else { continue };
                let tuple = ret.value.as_ref().and_then(Operand::as_value);
                let Some(Operation::Aggregate(fields)) = tuple.and_then(|tuple| operations.get_mut(tuple)) else {
                    continue;
                };
                for field in constants.iter().filter_map(|number| number.checked_sub(1)) {
                    if let Some(field) = fields.get_mut(field) {
                        *field = Operand::nothing();
                    }
                }
            }
        }
        let constants_of = |operation: &Operation| match operation {
            Operation::Call { function, .. } => {
                let body = self.module.functions().get(*function).map(|function| &function.body);
                body.and_then(marked).map(HashSet::from_iter)
            }
            _ => None,
        };
        let calls: HashMap<InstId, HashSet<usize>> =
            operations.iter().filter_map(|(id, operation)| Some((id, constants_of(operation)?))).collect();
        if calls.is_empty() {
            return;
        }
        for (_, operation) in operations.iter_mut() {
            if let Operation::Field { object: Operand::Value(object), index, .. } = operation
                && calls.get(object).is_some_and(|constants| constants.contains(&(*index + 1)))
            {
                *operation = Operation::Steps;
            }
        }
    }
}

/// Writes the forward pass of what is called, in the pullback, and gives what its reverse takes.
pub(super) fn run_again(
    emit: &mut Emitter<'_>,
    called: &Called,
    trace_type: ircode::Type,
    args: Vec<Operand<bbcode::Ids>>,
    shadows: Vec<Option<Operand<bbcode::Ids>>>,
) -> Generated<Operand<bbcode::Ids>> {
    let mut operands = args.clone();
    for ((arg, shadow), tangent) in args.into_iter().zip(shadows).zip(called.arguments.iter().skip(1)) {
        if tangent.shadow().is_none() {
            continue;
        }
        operands.push(match shadow {
            Some(shadow) => shadow,
            // Nobody reads what is added to it.
            None => {
                let zero = emit.zero_tangent(arg, tangent)?;
                emit.shadow_part(zero, tangent)?
            }
        });
    }
    let types = ircode::Type::tuple([called.result_type.clone(), trace_type.clone()]);
    let results = emit.call("Main", &called.names.forward, operands, types)?;
    emit.field(results, 1, trace_type)
}

impl Called {
    /// Whether the shadow of the argument with this index, `_2` first, is handed in.
    pub(super) fn takes_shadow(&self, index: usize) -> bool {
        self.arguments.get(index + 1).is_some_and(|tangent: &Tangent| !tangent.shadow().is_none())
    }
}
