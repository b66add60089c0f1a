//! What the reverse of a statement computes by its rule and the function has computed itself: the cosine in the
//! derivative of a sine, where both are taken of one value.

use bbcode::{BBCode, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::{Compute, Primitive};
use ircode::{Module, Operand, Stmt};

use super::Carrier;
use super::plan::Plan;
use crate::rules::{Bindings, Rule};

/// Functions of one number that take so long that saving their value is cheaper.
const COSTLY: &[&str] = &["sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "sqrt_llvm"];

/// The statements that compute a costly function of a value, by their block, the function and the value; the first of
/// several.
#[derive(Debug, Default)]
pub(super) struct AtHand(HashMap<(BlockId, &'static str, InstId), InstId>);

impl AtHand {
    pub(super) fn of(module: &Module<BBCode>, bb: &BBCode) -> AtHand {
        let mut found = HashMap::new();
        for (id, inst) in bb.all_insts() {
            if let Some((name, Operand::Value(operand))) = costly(module, &inst.stmt)
                && let Some(block) = bb.block_of(id)
            {
                found.entry((block, name, *operand)).or_insert(id);
            }
        }
        AtHand(found)
    }
}

/// The costly function that a statement computes, and of what.
fn costly<'s, N: ircode::Names>(module: &Module<BBCode>, stmt: &'s Stmt<N>) -> Option<(&'static str, &'s Operand<N>)> {
    let (primitive, [operand]) = module.primitive_call(stmt)? else { return None };
    Some((costly_name(primitive)?, operand))
}

/// The name of a costly function.
pub(super) fn costly_name(primitive: &'static Primitive) -> Option<&'static str> {
    let Compute::Scalars(_) = primitive.compute else { return None };
    // `libm.sin` is what `sin` gives where it gives something.
    let name = primitive.name.strip_prefix("libm.").unwrap_or(primitive.name);
    COSTLY.contains(&name).then_some(name)
}

impl Plan<'_> {
    /// The statements of a rule, as far as the wanted outputs need them, of which the function has the value: with the
    /// statement that has it, in the block of the statement that the rule is for.
    pub(super) fn at_hand(
        &self,
        id: InstId,
        rule: &Rule,
        bindings: &Bindings,
        args: &[Operand<Ids>],
    ) -> Vec<(usize, InstId)> {
        let savings = &self.derivation.savings;
        if self.at_hand.0.is_empty() {
            return Vec::new();
        }
        let Some(block) = self.primal.block_of(id).filter(|_| savings.recompute && self.carrier == Carrier::Stacks)
        else {
            return Vec::new();
        };
        let slice = rule.slice(&self.wanted_args(rule, args));
        let found = |index: usize| {
            // What the type variables stand for changes neither what is called nor which arguments it is given.
            let (name, operand) = costly(self.derivation.module, rule.function.body.stmts.stmts().get(index)?)?;
            let Operand::Argument(argument) = operand else { return None };
            // `_1` is the rule itself.
            let value = args.get(argument.index()?.checked_sub(1)?)?.as_value()?;
            let same = *self.at_hand.0.get(&(block, name, value))?;
            let (_, ty) = rule.statement(index, bindings)?;
            (self.primal.operand_type(&Operand::Value(same)) == ty).then_some((index, same))
        };
        (0..slice.statements.len()).filter(|&index| slice.statements[index]).filter_map(found).collect()
    }
}
