//! The pullback: where what it applies comes from, and where control goes on.

use bbcode::{BlockId, Ids};
use ircode::graph::LoopId;
use ircode::{Argument, LineInfo, Operand, Scalar, Stmt, Type};

use super::traces::{EdgeKind, Part, case_name};
use crate::reverse_mode::emit::type_operand;
use crate::reverse_mode::pullback::{Generated, Generator};
use crate::reverse_mode::shape::ENTRY;

impl Generator<'_, '_> {
    /// Makes a slot for each part of a trace, and puts the tuple of the block that returned in its slots.
    pub(in crate::reverse_mode) fn receive(&mut self) -> Generated<()> {
        let plan = self.plan;
        let Some(&ret) = plan.ways.returns.first() else { return Ok(()) };
        let exit = plan.parts(ret, None);
        let first = plan.fields.len();
        for (index, &part) in exit.iter().enumerate() {
            let value = Operand::Argument(Argument::from_index(2 + first + index));
            self.put(ENTRY, part, value)?;
        }
        match self.shape.reverse.get(ret).copied().flatten() {
            Some(target) => {
                let target = self.blocks[target];
                self.emit(ENTRY, LineInfo::NONE).goto(target)
            }
            None => Ok(()),
        }
    }

    fn part_slot(&mut self, part: Part) -> Generated<Operand<Ids>> {
        if let Some(slot) = self.parts.get(&part) {
            return Ok(slot.clone());
        }
        let ty = self.plan.part_type(part);
        let slot = self.emit(ENTRY, LineInfo::NONE).own("new_slot", [type_operand(ty.clone())], Type::slot(ty))?;
        self.parts.insert(part, slot.clone());
        Ok(slot)
    }

    fn trace_cursor(&mut self, part: Part) -> Generated<Operand<Ids>> {
        if let Some(slot) = self.trace_cursors.get(&part) {
            return Ok(slot.clone());
        }
        let of = type_operand(Type::INT64);
        let slot = self.emit(ENTRY, LineInfo::NONE).own("new_slot", [of], Type::slot(Type::INT64))?;
        self.trace_cursors.insert(part, slot.clone());
        Ok(slot)
    }

    /// Puts a part in its slot; the cursor of a stack then points at the last entry.
    fn put(&mut self, block: usize, part: Part, value: Operand<Ids>) -> Generated<()> {
        let slot = self.part_slot(part)?;
        self.emit(block, LineInfo::NONE).own("slot_set!", [slot, value.clone()], Type::Nothing)?;
        if let Part::Stack(_) = part {
            let cursor = self.trace_cursor(part)?;
            let mut emit = self.emit(block, LineInfo::NONE);
            let length = emit.own("stack_length", [value], Type::INT64)?;
            emit.own("slot_set!", [cursor, length], Type::Nothing)?;
        }
        Ok(())
    }

    /// What is in the slot of a part.
    pub(in crate::reverse_mode) fn get(&mut self, block: usize, part: Part, line: LineInfo) -> Generated<Operand<Ids>> {
        let (slot, ty) = (self.part_slot(part)?, self.plan.part_type(part));
        self.emit(block, line).own("slot_get", [slot], ty)
    }

    /// Puts what travelled along the edge between two blocks, the payload of a case, in its slots.
    fn unpack(&mut self, block: usize, trace: &Operand<Ids>, from: usize, to: usize) -> Generated<()> {
        let plan = self.plan;
        let alone = match plan.traces.edge_kind(from, to) {
            EdgeKind::Pushes(nest) => plan.only_push(nest).is_some(),
            _ => false,
        };
        let parts = plan.parts(from, Some(to));
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            let ty = plan.part_type(part);
            let mut emit = self.emit(block, LineInfo::NONE);
            let value = match (alone, count) {
                (true, 1) => trace.clone(),
                (true, _) => emit.field(trace.clone(), index, ty)?,
                (false, _) => {
                    let args = [trace.clone(), Operand::symbol(case_name(from)), Operand::from(index as i64 + 1)];
                    emit.own("payload", args, ty)?
                }
            };
            self.put(block, part, value)?;
        }
        Ok(())
    }

    /// The end of the reverse of a block: its trace says where control came from, and what that block's reverse needs.
    /// `edges` are the blocks of the pullback on the ways to the predecessors, which the traces are unpacked in.
    pub(in crate::reverse_mode) fn follow_trace(&mut self, number: usize, here: usize) -> Generated<()> {
        let plan = self.plan;
        if number == 0 {
            let exit = self.blocks[self.shape.exit];
            return self.emit(here, LineInfo::NONE).goto(exit);
        }
        let preds = plan.relevant_predecessors(number);
        if let Some(nest) = plan.traces.nest_headed_by(number) {
            // First the rounds that came around, then what was before the nest.
            let inside = |pred: &usize| plan.traces.nest(*pred) == Some(nest);
            let around: Vec<usize> = preds.iter().copied().filter(inside).collect();
            let before = preds.iter().copied().find(|pred| !inside(pred));
            let cursor = self.trace_cursor(Part::Stack(nest))?;
            let back = self.blocks.len();
            let back_name = self.push_block();
            let mut emit = self.emit(here, LineInfo::NONE);
            let left = emit.own("slot_get", [cursor], Type::INT64)?;
            let none = emit.call("Core", "===", [left, Operand::from(0)], Type::BOOL)?;
            emit.stmt(Stmt::goto_if_not(none, back_name), Type::Any)?;
            if let Some(before) = before
                && let Some(&between) = self.shape.edges.get(&(number, before))
            {
                let (name, target) = (self.blocks[here], self.blocks[between]);
                self.set_next(name, target)?;
                let entry = match plan.is_entry_informative(nest) {
                    true => self.get(between, Part::Entry(nest), LineInfo::NONE)?,
                    false => Operand::nothing(),
                };
                self.leave_edge(between, &entry, before, number)?;
            }
            let element = self.pop(back, nest)?;
            return self.branch_on_case(back, &element, &around, number);
        }
        let trace = match plan.traces.nest(number) {
            _ if plan.traces.has_trace(number) => match plan.is_informative(number) {
                true => self.get(here, Part::Trace(number), LineInfo::NONE)?,
                false => Operand::nothing(),
            },
            Some(nest) => self.pop(here, nest)?,
            None => Operand::nothing(),
        };
        self.branch_on_case(here, &trace, &preds, number)
    }

    /// What the cursor of a stack points at; it points at the entry before then.
    fn pop(&mut self, block: usize, nest: LoopId) -> Generated<Operand<Ids>> {
        let (stack, element) = (Part::Stack(nest), self.plan.element_type(nest));
        let cursor = self.trace_cursor(stack)?;
        let stack = self.get(block, stack, LineInfo::NONE)?;
        let mut emit = self.emit(block, LineInfo::NONE);
        let position = emit.own("slot_get", [cursor.clone()], Type::INT64)?;
        let element = emit.own("stack_get", [stack, position.clone()], element)?;
        let before = emit.call("Base", "sub_int", [position, Operand::from(Scalar::Int64(1))], Type::INT64)?;
        emit.own("slot_set!", [cursor, before], Type::Nothing)?;
        Ok(element)
    }

    /// Ends a block by going to the reverse of the predecessor of which the trace is.
    fn branch_on_case(&mut self, block: usize, trace: &Operand<Ids>, preds: &[usize], to: usize) -> Generated<()> {
        let mut targets = Vec::with_capacity(preds.len());
        for &pred in preds {
            let Some(&between) = self.shape.edges.get(&(to, pred)) else { continue };
            self.leave_edge(between, trace, pred, to)?;
            targets.push((pred, self.blocks[between]));
        }
        let mut here = block;
        match targets.as_slice() {
            [] => {}
            [(_, only)] => return self.emit(here, LineInfo::NONE).goto(*only),
            [(first, to_first), (_, to_second)] => {
                self.test_case(here, trace, *first, *to_second)?;
                let name = self.blocks[here];
                return self.set_next(name, *to_first);
            }
            // Each case is asked for, the last too: so each payload is seen to be of its case, and can be taken apart.
            several => {
                for &(pred, target) in several {
                    let (next, name) = (self.blocks.len(), self.blocks[here]);
                    let next_name = self.push_block();
                    self.test_case(here, trace, pred, next_name)?;
                    self.set_next(name, target)?;
                    here = next;
                }
            }
        }
        self.emit(here, LineInfo::NONE).stmt(Stmt::unreachable(), Type::Any).map(|_| ())
    }

    /// Ends a block by going on elsewhere if the trace is not one of this predecessor.
    fn test_case(&mut self, here: usize, trace: &Operand<Ids>, pred: usize, elsewhere: BlockId) -> Generated<()> {
        let mut emit = self.emit(here, LineInfo::NONE);
        let args = [trace.clone(), Operand::symbol(case_name(pred))];
        let same = emit.own("is_case", args, Type::BOOL)?;
        emit.stmt(Stmt::goto_if_not(same, elsewhere), Type::Any).map(|_| ())
    }

    /// Unpacks a trace on the way to the reverse of a predecessor, and goes there.
    fn leave_edge(&mut self, between: usize, trace: &Operand<Ids>, pred: usize, to: usize) -> Generated<()> {
        self.unpack(between, trace, pred, to)?;
        match self.shape.reverse.get(pred).copied().flatten() {
            Some(back) => {
                let back = self.blocks[back];
                self.emit(between, LineInfo::NONE).goto(back)
            }
            None => Ok(()),
        }
    }
}
