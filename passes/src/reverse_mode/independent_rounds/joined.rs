//! The function that runs both passes of a function whose loops have independent rounds: one loop instead of two.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Argument, Function, LineInfo, NewInstruction, Operand, Stmt, Type};

use super::{IndependentLoop, IndependentRounds, Round, SeedStep};
use crate::reverse_mode::closed::{Closed, seed_of, zero_tangents};
use crate::reverse_mode::emit::{Emitter, type_operand};
use crate::reverse_mode::forward::move_virtual_edge;
use crate::reverse_mode::operation::argument;
use crate::reverse_mode::plan::Plan;
use crate::reverse_mode::tangent_code::zero;
use crate::tangents::Tangent;

/// Generates the function, as [`closed::generate`](crate::reverse_mode::closed::generate) does, of what calls the
/// derivatives of the `rounds`.
pub(in crate::reverse_mode) fn joined(
    plan: &Plan<'_>,
    kind: Closed,
    found: &IndependentRounds,
    rounds: &[Round],
) -> Result<Function<BBCode>, EditError> {
    let mut bb = (*plan.primal).clone();
    let name = kind.name(&plan.names);
    if let Some(own) = bb.argtypes.first_mut() {
        *own = Type::function(name.clone());
    }
    let tangents = plan.argument_tangents();
    let result = plan.result_tangent();
    let mut joined = Joined { plan, bb, seed: seed_of(&result), shadows: HashMap::new(), sums: HashMap::new() };
    let first = joined.first_block()?;
    match kind {
        Closed::Accumulate => {
            joined.seed = argument(joined.bb.argtypes.len());
            joined.bb.argtypes.push(result.ty());
            for (index, tangent) in tangents.iter().enumerate().filter(|(_, tangent)| !tangent.shadow().is_none()) {
                joined.shadows.insert(Argument::from_index(index), argument(joined.bb.argtypes.len()));
                joined.bb.argtypes.push(tangent.shadow().ty());
            }
        }
        Closed::Gradient | Closed::Vjp => {
            let mut emit = Emitter::new(&mut joined.bb, first, LineInfo::NONE);
            let zeros = zero_tangents(plan, &mut emit, &tangents)?.into_iter().enumerate();
            let zeros = zeros.filter_map(|(index, zero)| Some((Argument::from_index(index), zero?)));
            joined.shadows = zeros.collect();
        }
    }
    joined.make_sums(first, &tangents)?;
    for (found, round) in found.loops.iter().zip(rounds) {
        joined.replace(found, round)?;
    }
    let types = joined.leave(kind, &tangents)?;
    let mut parameters = plan.parameters.clone();
    // Those that are added have no names.
    if parameters.iter().any(Option::is_some) && kind == Closed::Accumulate {
        parameters.resize(joined.bb.argtypes.len().saturating_sub(1), None);
    }
    Ok(Function { name: name.clone(), parameters, varargs: false, result: Type::tuple(types), body: joined.bb })
}

struct Joined<'p, 'a> {
    plan: &'p Plan<'a>,
    bb: BBCode,
    /// The cotangent of the result.
    seed: Operand<Ids>,
    shadows: HashMap<Argument, Operand<Ids>>,
    /// The slots in which cotangents of floats are added up.
    sums: HashMap<Argument, Operand<Ids>>,
}

impl Joined<'_, '_> {
    /// A block before the entry.
    fn first_block(&mut self) -> Result<BlockId, EditError> {
        let Some(entry) = self.bb.entry() else { return Ok(self.bb.push_block()) };
        let first = self.bb.insert_block_before(entry)?;
        self.bb.set_next(first, Some(entry))?;
        move_virtual_edge(&mut self.bb, entry, first)?;
        Ok(first)
    }

    fn make_sums(&mut self, first: BlockId, tangents: &[Tangent]) -> Result<(), EditError> {
        for (index, tangent) in tangents.iter().enumerate().filter(|(_, tangent)| matches!(tangent, Tangent::Float(_)))
        {
            let mut emit = Emitter::new(&mut self.bb, first, LineInfo::NONE);
            let slot = emit.own("new_slot", [type_operand(tangent.ty())], Type::slot(tangent.ty()))?;
            emit.own("slot_set!", [slot.clone(), zero(tangent)], Type::Nothing)?;
            self.sums.insert(Argument::from_index(index), slot);
        }
        Ok(())
    }

    /// Puts a call of the derivative of a round in the place of what a loop does.
    fn replace(&mut self, found: &IndependentLoop, round: &Round) -> Result<(), EditError> {
        let seed = self.seed_of_sum(found)?;
        let here = self.place(found)?;
        let sum = self.call(found, round, here, seed)?;
        self.remove_round(found, here)?;
        self.bb.replace_all_uses(found.next, &sum)?;
        self.bb.remove_unreachable_blocks();
        match self.bb.inst(found.next) {
            Some(_) => self.bb.remove_unchecked(found.next).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The cotangent of the sum, computed before the loop.
    fn seed_of_sum(&mut self, found: &IndependentLoop) -> Result<Operand<Ids>, EditError> {
        let line = self.bb.last_inst(found.before).and_then(|last| self.bb.inst(last));
        let line = line.map_or(LineInfo::NONE, |last| last.line);
        let mut emit = Emitter::new(&mut self.bb, found.before, line);
        let mut seed = self.seed.clone();
        let ty = self.plan.result.clone();
        for step in found.seed.iter().rev() {
            seed = match step {
                SeedStep::Negate => emit.call("Base", "neg_float", [seed], ty.clone())?,
                SeedStep::MultiplyBy(by) => emit.call("Base", "mul_float", [seed, by.clone()], ty.clone())?,
                SeedStep::DivideBy(by) => emit.call("Base", "div_float", [seed, by.clone()], ty.clone())?,
            };
        }
        Ok(seed)
    }

    /// The block in which the round is: control goes through it and what decides whether there is another one, and
    /// nothing else.
    fn place(&mut self, found: &IndependentLoop) -> Result<BlockId, EditError> {
        let (from, to) = match found.body {
            // What decides stands in the only block.
            None if found.header == found.leaves => return Ok(found.header),
            None => (found.header, found.leaves),
            Some(_) => (found.header, found.latch),
        };
        let here = self.bb.insert_block_after(found.header)?;
        match found.body {
            None => {
                if let Some((last, _)) = self.bb.terminator(from) {
                    self.bb.remove_unchecked(last)?;
                }
                self.bb.set_next(from, Some(here))?;
            }
            Some(body) => self.bb.retarget_unchecked(from, body, here),
        }
        self.bb.push(here, NewInstruction::new(Stmt::goto(to), Type::Any))?;
        Ok(here)
    }

    /// Calls the derivative of a round; gives the sum.
    fn call(
        &mut self,
        found: &IndependentLoop,
        round: &Round,
        here: BlockId,
        seed: Operand<Ids>,
    ) -> Result<Operand<Ids>, EditError> {
        let line = self.bb.inst(found.next).map_or(LineInfo::NONE, |inst| inst.line);
        let mut operands: Vec<Operand<Ids>> = found.inputs.iter().map(|input| input.operand.clone()).collect();
        operands.extend([Operand::Value(found.sum), seed]);
        let mut types = vec![self.plan.result.clone()];
        let mut parts: Vec<(usize, Type, Operand<Ids>)> = Vec::new();
        for input in &found.inputs {
            let argument = match &input.operand {
                Operand::Argument(argument) if input.wanted => argument,
                _ => {
                    types.push(Type::Nothing);
                    continue;
                }
            };
            if let Some(shadow) = self.shadows.get(argument) {
                operands.push(shadow.clone());
                types.push(Type::Nothing);
            } else if let Some(slot) = self.sums.get(argument) {
                parts.push((types.len(), input.ty.clone(), slot.clone()));
                types.push(input.ty.clone());
            }
        }
        types.push(Type::Nothing);
        let mut emit = Emitter::new(&mut self.bb, here, line);
        let results = emit.call("Main", &round.names.accumulate_gradient, operands, Type::tuple(types))?;
        let sum = emit.field(results.clone(), 0, self.plan.result.clone())?;
        for (index, ty, slot) in parts {
            let part = emit.field(results.clone(), index, ty.clone())?;
            let before = emit.own("slot_get", [slot.clone()], ty.clone())?;
            let after = emit.call("Base", "add_float", [before, part], ty)?;
            emit.own("slot_set!", [slot, after], Type::Nothing)?;
        }
        Ok(sum)
    }

    /// Removes what the call does now from the blocks that stay, but for what the sum is then: copies of that may stand
    /// before the call.
    fn remove_round(&mut self, found: &IndependentLoop, here: BlockId) -> Result<(), EditError> {
        let stays: HashSet<BlockId> = HashSet::from_iter([found.header, found.leaves, found.latch]);
        for block in found.blocks.iter().copied().filter(|block| stays.contains(block)) {
            let of_call: HashSet<InstId> = match block == here {
                // The call stands behind all that was there.
                true => self.bb.inst_ids(block).filter(|id| self.plan.primal.inst(*id).is_none()).collect(),
                false => HashSet::new(),
            };
            let gone = self.bb.insts(block).filter(|(id, inst)| {
                let is_kept = found.kept.contains(id) || [found.sum, found.next].contains(id) || of_call.contains(id);
                !is_kept && !inst.stmt.is_terminator()
            });
            for id in gone.map(|(id, _)| id).collect::<Vec<_>>() {
                self.bb.remove_unchecked(id)?;
            }
        }
        Ok(())
    }

    /// Returns the value with the gradient, or the cotangents. Gives the types.
    fn leave(&mut self, kind: Closed, tangents: &[Tangent]) -> Result<Vec<Type>, EditError> {
        let mut types = vec![self.plan.result.clone()];
        for tangent in tangents.iter().skip(1) {
            types.push(if kind == Closed::Accumulate { tangent.cotangent().ty() } else { tangent.ty() });
        }
        let returns = self.plan.ways.returns.first().and_then(|&number| self.plan.block(number));
        let last = returns.and_then(|block| self.bb.terminator(block)).map(|(id, inst)| (id, inst.stmt.clone()));
        let Some((id, Stmt::Return(ret))) = last else { return Ok(types) };
        let Some(value) = ret.value else { return Ok(types) };
        let mut emit = Emitter::before(&mut self.bb, id);
        let mut elements = vec![value];
        for (index, tangent) in tangents.iter().enumerate().skip(1) {
            let argument = Argument::from_index(index);
            elements.push(match (tangent, self.sums.get(&argument)) {
                // Adding 0.0 turns the zero of the adjoints, which is -0.0, into the usual one.
                (Tangent::Float(float), Some(slot)) => {
                    let sum = emit.own("slot_get", [slot.clone()], tangent.ty())?;
                    let zero = ircode::Scalar::from_bits(*float, 0);
                    emit.call("Base", "add_float", [sum, Operand::from(zero)], tangent.ty())?
                }
                _ => match self.shadows.get(&argument) {
                    Some(shadow) if kind != Closed::Accumulate => shadow.clone(),
                    _ => Operand::nothing(),
                },
            });
        }
        let tuple = emit.tuple(elements, types.clone())?;
        self.bb.replace(id, Stmt::ret(tuple))?;
        Ok(types)
    }
}
