//! Whether two rounds of a loop read the same number: then their derivatives are added up, and the order matters to the
//! last bit. Arguments of one type may be one array. That arrays of different dimensions share their elements is not
//! taken into account: of such arguments the last bits may differ.

use bbcode::{BlockId, Ids, InstId};
use ircode::{Operand, Stmt, Type};

use super::IndependentLoop;
use super::search::only_asks;
use crate::reverse_mode::operation::{Access, Operation};
use crate::reverse_mode::plan::Plan;

/// How deep the expressions of indices are looked into.
const DEPTH: u32 = 16;

/// An integer: multiples of what does not change in a round, and a constant, modulo 2⁶⁴.
#[derive(Clone, PartialEq, Debug, Default)]
struct Linear {
    terms: Vec<(Operand<Ids>, i64)>,
    constant: i64,
}

impl Linear {
    fn plus(mut self, other: &Linear, sign: i64) -> Linear {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(sign));
        for (operand, factor) in &other.terms {
            let factor = factor.wrapping_mul(sign);
            match self.terms.iter_mut().find(|(known, _)| known == operand) {
                Some((_, known)) => *known = known.wrapping_add(factor),
                None => self.terms.push((operand.clone(), factor)),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self
    }

    fn times(mut self, by: i64) -> Linear {
        self.constant = self.constant.wrapping_mul(by);
        self.terms.iter_mut().for_each(|(_, factor)| *factor = factor.wrapping_mul(by));
        self.terms.retain(|(_, factor)| *factor != 0);
        self
    }
}

/// Whether two rounds may add to the same number: to the derivative of an element that both read, or of an argument
/// that is no array.
pub(super) fn rounds_meet(plan: &Plan<'_>, found: &IndependentLoop) -> bool {
    let of_floats = |ty: &Type| matches!(ty, Type::Scalar(_));
    if found.inputs.iter().any(|input| input.wanted && of_floats(&input.ty)) {
        return true;
    }
    let accesses = Accesses { plan, found };
    // By the type of the array: arguments of one type may be one array, so that their accesses are looked at together.
    let mut indices: Vec<(Type, Vec<Vec<Option<Linear>>>)> = Vec::new();
    for block in found.round_blocks() {
        for (id, inst) in plan.primal.insts(block) {
            let operation = plan.activity.operation(id);
            let mut touches = false;
            operation.for_each_input(&plan.primal, id, &mut |operand| touches |= plan.has_shadow(operand));
            match operation {
                _ if !touches || inst.stmt.is_terminator() => {}
                Operation::Steps => {}
                Operation::Unknown if only_asks(plan, id, inst) => {}
                Operation::Load(place) if matches!(place.access, Access::Array(_) | Access::Index) => {
                    let of_access = place.indices.iter().map(|index| accesses.linear(index, DEPTH)).collect();
                    let ty = plan.primal.operand_type(&place.object);
                    match indices.iter_mut().find(|(known, _)| *known == ty) {
                        Some((_, known)) => known.push(of_access),
                        None => indices.push((ty, vec![of_access])),
                    }
                }
                _ => return true,
            }
        }
    }
    !indices.iter().all(|(_, of_type)| accesses.are_apart_somewhere(of_type))
}

struct Accesses<'p, 'a> {
    plan: &'p Plan<'a>,
    found: &'p IndependentLoop,
}

impl Accesses<'_, '_> {
    fn is_in(&self, block: BlockId) -> bool {
        self.found.blocks.contains(&block)
    }

    /// An index, in terms of what does not change in the loop and of the φs of the header.
    fn linear(&self, operand: &Operand<Ids>, depth: u32) -> Option<Linear> {
        if let Some(constant) = operand.as_int64() {
            return Some(Linear { terms: Vec::new(), constant });
        }
        let one = || Some(Linear { terms: vec![(operand.clone(), 1)], constant: 0 });
        let value = match operand {
            Operand::Value(value) => *value,
            Operand::Argument(_) => return one(),
            _ => return None,
        };
        let block = self.plan.primal.block_of(value)?;
        let stmt = self.plan.primal.stmt(value)?;
        if !self.is_in(block) || block == self.found.header && matches!(stmt, Stmt::Phi(_)) {
            return one();
        }
        let depth = depth.checked_sub(1)?;
        if let Operation::Copy(of) = self.plan.activity.operation(value) {
            return self.linear(of, depth);
        }
        let (primitive, [a, b]) = self.plan.derivation.module.primitive_call(stmt)? else { return None };
        if self.plan.primal.operand_type(operand) != Type::INT64 {
            return None;
        }
        match primitive.name {
            "add_int" => Some(self.linear(a, depth)?.plus(&self.linear(b, depth)?, 1)),
            "sub_int" => Some(self.linear(a, depth)?.plus(&self.linear(b, depth)?, -1)),
            "mul_int" => match (a.as_int64(), b.as_int64()) {
                (_, Some(factor)) => Some(self.linear(a, depth)?.times(factor)),
                (Some(factor), _) => Some(self.linear(b, depth)?.times(factor)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether there is a dimension in which each round uses indices of its own.
    fn are_apart_somewhere(&self, indices: &[Vec<Option<Linear>>]) -> bool {
        let dimensions = indices.iter().map(Vec::len).min().unwrap_or(0);
        let same_rank = indices.iter().all(|of_access| of_access.len() == dimensions);
        let apart = |dimension: usize| {
            let in_dimension = indices.iter().map(|of_access| of_access.get(dimension).and_then(Option::as_ref));
            in_dimension.collect::<Option<Vec<&Linear>>>().is_some_and(|all| self.are_apart(&all))
        };
        same_rank && (0..dimensions).any(apart)
    }

    /// By how much an index grows in each round.
    fn stride(&self, index: &Linear) -> Option<i64> {
        let mut stride: i64 = 0;
        for (operand, factor) in &index.terms {
            let changes = operand
                .as_value()
                .filter(|value| self.plan.primal.block_of(*value).is_some_and(|block| self.is_in(block)));
            if let Some(phi) = changes {
                stride = stride.checked_add(factor.checked_mul(self.step(phi)?)?)?;
            }
        }
        Some(stride)
    }

    /// By how much a φ of the header grows in each round.
    fn step(&self, phi: InstId) -> Option<i64> {
        let entries = self.plan.primal.stmt(phi)?.as_phi()?.entries.iter();
        let next = entries.filter(|entry| entry.edge == self.found.latch).find_map(|entry| entry.value.as_ref())?;
        let Linear { terms, constant } = self.linear(next, DEPTH)?;
        (terms == [(Operand::Value(phi), 1)]).then_some(constant)
    }

    /// Whether each round uses indices of its own: they differ by less in one round than from one to the next.
    fn are_apart(&self, all: &[&Linear]) -> bool {
        let Some(first) = all.first() else { return true };
        let Some(stride) = self.stride(first) else { return false };
        let (mut least, mut most) = (0, 0);
        for other in all {
            let difference = (*other).clone().plus(first, -1);
            if !difference.terms.is_empty() {
                return false;
            }
            least = least.min(difference.constant);
            most = most.max(difference.constant);
        }
        most.checked_sub(least).is_some_and(|spread| spread.unsigned_abs() < stride.unsigned_abs())
    }
}
