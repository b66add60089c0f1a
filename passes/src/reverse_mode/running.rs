//! What the pullback does with integers that run backwards: they start where control left their loops, and in the
//! reverse of each block what the block adds is subtracted.

use bbcode::{Ids, InstId};
use ircode::{LineInfo, Operand, Scalar, ScalarType, Type};

use super::emit::type_operand;
use super::inductions::{Final, StepBack};
use super::pullback::{Generated, Generator};
use super::saved::Saved;
use super::shape::ENTRY;

type Loaded = super::got::Got;

/// A number of the type of a variable.
fn number(ty: &Type, value: i64) -> Operand<Ids> {
    match *ty == Type::from(ScalarType::UInt64) {
        true => Operand::from(Scalar::UInt64(value as u64)),
        false => Operand::from(value),
    }
}

impl Generator<'_, '_> {
    /// Makes a slot for each variable that is used.
    pub(super) fn make_running(&mut self) -> Generated<()> {
        for (index, induction) in self.plan.inductions.all.iter().enumerate().filter(|(_, induction)| induction.used) {
            let (ty, zero) = (induction.ty.clone(), number(&induction.ty, 0));
            let mut emit = self.emit(ENTRY, LineInfo::NONE);
            let slot = emit.own("new_slot", [type_operand(ty.clone())], Type::slot(ty))?;
            emit.own("slot_set!", [slot.clone(), zero], Type::Nothing)?;
            self.running.insert(index, slot);
        }
        Ok(())
    }

    /// A value of a variable, in the reverse of a block before its end; `None` if it is not one that is known there.
    pub(super) fn running_value(
        &mut self,
        value: InstId,
        block: usize,
        here: usize,
    ) -> Generated<Option<Operand<Ids>>> {
        let Some((index, offset)) = self.plan.inductions.at(value, block) else { return Ok(None) };
        let Some(slot) = self.running.get(&index).cloned() else { return Ok(None) };
        let ty = self.plan.inductions.type_of(index);
        let line = self.plan.primal.inst(value).map_or(LineInfo::NONE, |inst| inst.line);
        let current = self.emit(here, line).own("slot_get", [slot], ty.clone())?;
        self.plus(here, line, current, offset, &ty).map(Some)
    }

    fn plus(&mut self, here: usize, line: LineInfo, of: Operand<Ids>, more: i64, ty: &Type) -> Generated<Operand<Ids>> {
        match more {
            0 => Ok(of),
            1.. => self.emit(here, line).call("Base", "add_int", [of, number(ty, more)], ty.clone()),
            less => self.emit(here, line).call("Base", "sub_int", [of, number(ty, less.wrapping_neg())], ty.clone()),
        }
    }

    /// The end of a block's reverse: variables of loops that control left to the block start, others step back.
    pub(super) fn run_back(&mut self, block: usize, here: usize, loaded: &Loaded) -> Generated<()> {
        let plan = self.plan;
        for (index, at) in plan.inductions.left_to(block) {
            let Some(slot) = self.running.get(&index).cloned() else { continue };
            let start = self.final_value(index, at, here, loaded)?;
            self.emit(here, LineInfo::NONE).own("slot_set!", [slot, start], Type::Nothing)?;
        }
        for StepBack { induction, by } in plan.inductions.steps(block) {
            let Some(slot) = self.running.get(&induction).cloned() else { continue };
            let ty = plan.inductions.type_of(induction);
            let current = self.emit(here, LineInfo::NONE).own("slot_get", [slot.clone()], ty.clone())?;
            let before = self.plus(here, LineInfo::NONE, current, by.wrapping_neg(), &ty)?;
            self.emit(here, LineInfo::NONE).own("slot_set!", [slot, before], Type::Nothing)?;
        }
        Ok(())
    }

    fn final_value(&mut self, index: usize, at: &Final, here: usize, loaded: &Loaded) -> Generated<Operand<Ids>> {
        let (ty, line) = (self.plan.inductions.type_of(index), LineInfo::NONE);
        match at {
            Final::Known(operand, more) => {
                let known = self.available(operand, loaded);
                self.plus(here, line, known, *more, &ty)
            }
            Final::Bounded(of) => {
                let (start, bound) = (self.available(&of.start, loaded), self.available(&of.bound, loaded));
                let compared = self.plus(here, line, start.clone(), of.compared, &ty)?;
                let ended = self.plus(here, line, start, of.ended, &ty)?;
                let beyond = self.plus(here, line, bound.clone(), of.beyond, &ty)?;
                let operands = if of.variable_first { [compared, bound] } else { [bound, compared] };
                let goes_on = self.emit(here, line).call("Base", of.comparison, operands, Type::BOOL)?;
                self.emit(here, line).call("Core", "ifelse", [goes_on, beyond, ended], ty)
            }
            Final::Saved(_) => Ok(loaded.get(&Saved::Left(index)).cloned().unwrap_or_else(|| number(&ty, 0))),
        }
    }

    /// Whether this is the reverse of the first round of the loop with this header, if a variable says that.
    pub(super) fn is_first_round(
        &mut self,
        header: usize,
        here: usize,
        loaded: &Loaded,
    ) -> Generated<Option<Operand<Ids>>> {
        let plan = self.plan;
        let Some((index, start)) = plan.inductions.control(header) else { return Ok(None) };
        let Some(slot) = self.running.get(&index).cloned() else { return Ok(None) };
        let start = self.available(start, loaded);
        let current = self.emit(here, LineInfo::NONE).own("slot_get", [slot], plan.inductions.type_of(index))?;
        self.emit(here, LineInfo::NONE).call("Core", "===", [current, start], Type::BOOL).map(Some)
    }
}
