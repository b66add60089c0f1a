//! Adjoints: what adds up the cotangents of a value, one for each leaf of its cotangent.

use bbcode::{Ids, InstId};
use ircode::{Argument, LineInfo, Operand, Stmt, Type};

use super::emit::type_operand;
use super::operation::Operation;
use super::pullback::{Generated, Generator};
use super::shape::ENTRY;
use super::tangent_code::{Leaves, zero};
use crate::tangents::Tangent;

/// A place that has adjoints: an active value, or an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Value(InstId),
    Argument,
}

/// Adds up the cotangents of a leaf of a value or argument.
pub(super) struct Adjoint {
    place: Place,
    leaf: Tangent,
    /// The nearest block that dominates all its uses.
    dominator: usize,
    /// The nearest block that comes before all its uses in each round of a loop.
    since_round: usize,
    /// The highest [rank](super::shape::Shape::rank) of a block that uses it.
    last_use: u32,
    /// The only block that uses it, if there is only one.
    only_block: Option<usize>,
    sum: Sum,
}

/// Where the sum of the cotangents is.
enum Sum {
    /// In a slot, which is zeroed again when the sum is taken if its life started outside of the loop of the place.
    Slot { slot: Operand<Ids>, zeroed: bool },
    /// It is this value, in the only block that uses it; `None` is the zero.
    Value(Option<Operand<Ids>>),
}

impl Generator<'_, '_> {
    /// Finds what has an adjoint, and where it is used.
    pub(super) fn find_adjoints(&mut self) {
        let plan = self.plan;
        // Most values have one.
        self.adjoints.reserve(plan.primal.inst_count());
        self.values.set_capacity(plan.primal.inst_count());
        for index in 0..self.cotangents.len() {
            let first = self.adjoints.len();
            let cotangent = self.cotangents[index].clone();
            if self.add_adjoints(Place::Argument, &cotangent, self.shape.exit)
                && let Some(slot) = self.arguments.get_mut(index)
            {
                *slot = Some(first);
            }
        }
        for number in plan.ways.relevant_blocks() {
            let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { continue };
            for (id, _) in plan.primal.insts(block) {
                let first = self.adjoints.len();
                if self.add_adjoints(Place::Value(id), &plan.activity.cotangent(&Operand::Value(id)), here) {
                    self.values.insert(id, first);
                }
            }
        }
        for number in plan.ways.relevant_blocks() {
            let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { continue };
            for (id, inst) in plan.primal.insts(block) {
                if let Stmt::Return(ret) = &inst.stmt {
                    ret.value.iter().for_each(|value| self.used(value, here));
                }
                if !plan.is_reversed(id) {
                    continue;
                }
                match plan.activity.operation(id) {
                    Operation::Phi => {
                        let Stmt::Phi(phi) = &inst.stmt else { continue };
                        for entry in &phi.entries {
                            let between =
                                plan.graph.number(entry.edge).and_then(|pred| self.shape.edges.get(&(number, pred)));
                            if let (Some(value), Some(&between)) = (&entry.value, between) {
                                self.used(value, between);
                            }
                        }
                    }
                    operation => {
                        operation.for_each_input(&plan.primal, id, &mut |operand| self.used(operand, here));
                    }
                }
            }
        }
    }

    /// Adds the adjoints of a place; false if it has none.
    fn add_adjoints(&mut self, place: Place, cotangent: &Tangent, home: usize) -> bool {
        let last_use = self.shape.rank(home);
        let mut any = false;
        cotangent.for_each_leaf(&mut |leaf| {
            any = true;
            let (leaf, sum) = (leaf.clone(), Sum::Value(None));
            self.adjoints.push(Adjoint {
                place,
                leaf,
                dominator: home,
                since_round: home,
                last_use,
                only_block: Some(home),
                sum,
            });
        });
        any
    }

    /// The adjoints of an operand: their number, and the first.
    fn adjoints_of(&self, operand: &Operand<Ids>) -> Option<std::ops::Range<usize>> {
        let first = match operand {
            Operand::Value(value) => {
                let first = self.values.get(*value).copied()?;
                // All leaves stand behind each other: most values have one.
                let next = self.adjoints.get(first + 1);
                if next.is_none_or(|next| next.place != Place::Value(*value)) {
                    return Some(first..first + 1);
                }
                first
            }
            Operand::Argument(argument) => self.of_argument(*argument)?,
            _ => return None,
        };
        let count = match operand {
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.cotangents.get(index)).map(Tangent::leaf_count)
            }
            _ => Some(self.plan.activity.cotangent(operand).leaf_count()),
        };
        Some(first..first + count?)
    }

    fn of_argument(&self, argument: Argument) -> Option<usize> {
        argument.index().and_then(|index| self.arguments.get(index).copied().flatten())
    }

    fn used(&mut self, operand: &Operand<Ids>, block: usize) {
        // What only its own block has used so far. All leaves of a value are used together.
        if let Operand::Value(value) = operand {
            match self.values.get(*value).and_then(|&first| self.adjoints.get(first)) {
                None => return,
                Some(first) if first.only_block == Some(block) => return,
                Some(_) => {}
            }
        }
        for index in self.adjoints_of(operand).into_iter().flatten() {
            let Some(adjoint) = self.adjoints.get(index) else { continue };
            let dominator = self.shape.common(adjoint.dominator, block);
            let since_round = self.shape.common_since_round(adjoint.since_round, block);
            let rank = self.shape.rank(block);
            if let Some(adjoint) = self.adjoints.get_mut(index) {
                adjoint.dominator = dominator;
                adjoint.since_round = since_round;
                adjoint.last_use = adjoint.last_use.max(rank);
                adjoint.only_block = adjoint.only_block.filter(|&only| only == block);
            }
        }
    }

    /// Makes the slots of adjoints that are used in several blocks, and zeroes each where its life starts.
    pub(super) fn make_slots(&mut self) -> Generated<()> {
        for index in 0..self.adjoints.len() {
            let adjoint = &self.adjoints[index];
            if adjoint.only_block.is_some() {
                continue;
            }
            let home = match adjoint.place {
                Place::Value(id) => {
                    let number = self.plan.primal.block_of(id).and_then(|block| self.plan.graph.number(block));
                    number.and_then(|number| self.plan.loops.innermost(number))
                }
                Place::Argument => None,
            };
            let place = self.shape.start_of_life(
                &self.plan.loops,
                adjoint.dominator,
                adjoint.since_round,
                home,
                adjoint.last_use,
            );
            let (ty, zeroed) = (adjoint.leaf.ty(), self.shape.innermost(place) != home);
            let zero = zero(&adjoint.leaf);
            let slot = self.emit(ENTRY, LineInfo::NONE).own("new_slot", [type_operand(ty.clone())], Type::slot(ty))?;
            self.emit(place, LineInfo::NONE).own("slot_set!", [slot.clone(), zero], Type::Nothing)?;
            self.adjoints[index].sum = Sum::Slot { slot, zeroed };
        }
        Ok(())
    }

    /// The adjoints of a value or argument. If the block runs again, they are zero then.
    pub(super) fn take_adjoint(&mut self, block: usize, line: LineInfo, of: &Operand<Ids>) -> Generated<Leaves> {
        let mut leaves = Leaves::new();
        for index in self.adjoints_of(of).into_iter().flatten() {
            let leaf = self.adjoints[index].leaf.clone();
            leaves.push(match &mut self.adjoints[index].sum {
                Sum::Value(value) => value.take().unwrap_or_else(|| zero(&leaf)),
                Sum::Slot { slot, zeroed } => {
                    let (slot, zeroed) = (slot.clone(), *zeroed);
                    let mut emit = self.emit(block, line);
                    let value = emit.own("slot_get", [slot.clone()], leaf.ty())?;
                    if zeroed {
                        emit.own("slot_set!", [slot, zero(&leaf)], Type::Nothing)?;
                    }
                    value
                }
            });
        }
        Ok(leaves)
    }

    /// Adds a cotangent of this shape to the adjoints of an operand, if that has some.
    pub(super) fn accumulate(
        &mut self,
        block: usize,
        line: LineInfo,
        operand: &Operand<Ids>,
        cotangent: Leaves,
        shape: &Tangent,
    ) -> Generated<()> {
        let Some(adjoints) = self.adjoints_of(operand) else { return Ok(()) };
        let to = match operand {
            Operand::Argument(_) => self.plan.activity.tangent(operand).cotangent(),
            _ => self.plan.activity.cotangent(operand),
        };
        let leaves = self.emit(block, line).convert(cotangent, shape, &to)?;
        for (index, leaf) in adjoints.zip(leaves) {
            self.accumulate_leaf(block, line, index, leaf)?;
        }
        Ok(())
    }

    /// Adds to some of the leaves of an operand: those from `skip` on.
    pub(super) fn accumulate_part(
        &mut self,
        block: usize,
        line: LineInfo,
        operand: &Operand<Ids>,
        skip: usize,
        leaves: Leaves,
    ) -> Generated<()> {
        let Some(adjoints) = self.adjoints_of(operand) else { return Ok(()) };
        for (index, leaf) in adjoints.skip(skip).zip(leaves) {
            self.accumulate_leaf(block, line, index, leaf)?;
        }
        Ok(())
    }

    fn accumulate_leaf(&mut self, block: usize, line: LineInfo, index: usize, added: Operand<Ids>) -> Generated<()> {
        let Some(adjoint) = self.adjoints.get_mut(index) else { return Ok(()) };
        let leaf = adjoint.leaf.clone();
        if added == zero(&leaf) {
            return Ok(());
        }
        let (before, slot) = match &mut adjoint.sum {
            Sum::Value(Some(value)) => (value.clone(), None),
            Sum::Value(value) => {
                *value = Some(added);
                return Ok(());
            }
            Sum::Slot { slot, .. } => {
                let slot = slot.clone();
                let before = self.emit(block, line).own("slot_get", [slot.clone()], leaf.ty())?;
                (before, Some(slot))
            }
        };
        let mut emit = self.emit(block, line);
        let sum = emit.add_leaves(&leaf, before, added)?;
        match slot {
            Some(slot) => emit.own("slot_set!", [slot, sum], Type::Nothing).map(|_| ()),
            None => {
                if let Some(adjoint) = self.adjoints.get_mut(index) {
                    adjoint.sum = Sum::Value(Some(sum));
                }
                Ok(())
            }
        }
    }
}
