//! The VJP: the function with linear maps along its edges.

use bbcode::{BlockId, EditError, Ids};
use hashbrown::HashMap;
use ircode::graph::LoopId;
use ircode::{Constant, LineInfo, NewInstruction, Operand, PhiEntry, Stmt, Type};

use super::traces::{EdgeKind, Part, case_name};
use crate::reverse_mode::emit::{Emitter, type_operand};
use crate::reverse_mode::forward::{Forward, Generated};
use crate::reverse_mode::plan::Plan;

/// The traces that are known so far.
#[derive(Default)]
struct Made {
    stacks: HashMap<LoopId, Operand<Ids>>,
    entries: HashMap<LoopId, Operand<Ids>>,
    traces: HashMap<usize, Operand<Ids>>,
}

/// Where the code of an edge is written.
#[derive(Clone, Copy)]
enum Spot {
    EndOf(BlockId),
    StartOf(BlockId),
}

impl Forward<'_, '_> {
    /// Writes what travels along each edge, and returns the pullback beside the value.
    pub(in crate::reverse_mode) fn linear_maps(&mut self) -> Generated<()> {
        let plan = self.plan;
        let mut made = Made::default();
        let mut phis: Vec<(usize, bbcode::InstId)> = Vec::new();
        for number in plan.ways.relevant_blocks() {
            let several = plan.relevant_predecessors(number).len() > 1;
            if let (true, Some(block)) = (several && plan.traces.has_trace(number), plan.block(number)) {
                let line = self.bb.last_line(block);
                let phi = NewInstruction::new(Stmt::phi(std::iter::empty()), plan.block_enum(number)).with_line(line);
                let phi = self.bb.insert_at_start(block, phi)?;
                made.traces.insert(number, Operand::Value(phi));
                phis.push((number, phi));
            }
        }
        let mut entries: HashMap<usize, Vec<PhiEntry<Ids>>> = HashMap::new();
        let mut order = plan.graph.graph().postorder();
        order.reverse();
        for from in order.into_iter().filter(|&number| plan.ways.relevant.get(number) == Some(&true)) {
            self.begin_nests(from, &mut made)?;
            let mut targets: Vec<usize> = plan.graph.graph().successors(from).collect();
            targets.sort_unstable();
            targets.dedup();
            let only = targets.len() == 1;
            for to in targets.into_iter().filter(|&to| plan.ways.relevant.get(to) == Some(&true)) {
                let (Some(source), Some(target)) = (plan.block(from), plan.block(to)) else { continue };
                let spot = if only { Spot::EndOf(source) } else { Spot::StartOf(target) };
                let case = self.edge(from, to, spot, &mut made)?;
                if let Some(case) = case {
                    if plan.relevant_predecessors(to).len() > 1 {
                        entries.entry(to).or_default().push(PhiEntry { edge: source, value: Some(case) });
                    } else {
                        made.traces.insert(to, case);
                    }
                }
            }
        }
        for (number, phi) in phis {
            if let Some(Stmt::Phi(phi)) = self.bb.stmt_mut(phi) {
                phi.entries = entries.remove(&number).unwrap_or_default().into_iter().collect();
            }
        }
        for &number in &plan.ways.returns {
            if let Some(block) = plan.block(number) {
                self.return_pullback(block, number, &made)?;
            }
        }
        Ok(())
    }

    /// Makes the stacks of the nests behind a block that have several entries.
    fn begin_nests(&mut self, number: usize, made: &mut Made) -> Generated<()> {
        let plan = self.plan;
        for id in plan.traces.nests_begun_at(number) {
            let Some(block) = plan.block(number) else { continue };
            let element = plan.element_type(id);
            let args = [type_operand(element.clone())];
            let stack = self.at(Spot::EndOf(block)).own("new_stack", args, Type::stack(element))?;
            made.stacks.insert(id, stack);
        }
        Ok(())
    }

    fn at(&mut self, spot: Spot) -> Emitter<'_> {
        match spot {
            Spot::EndOf(block) => {
                let line = self.bb.last_line(block);
                Emitter::new(&mut self.bb, block, line)
            }
            Spot::StartOf(block) => {
                let first = self.bb.insts(block).find(|(_, inst)| !inst.stmt.may_stand_among_phis()).map(|(id, _)| id);
                match first {
                    Some(first) => Emitter::before(&mut self.bb, first),
                    None => Emitter::new(&mut self.bb, block, LineInfo::NONE),
                }
            }
        }
    }

    /// Writes what happens on an edge; gives the case of the enum that was made.
    fn edge(&mut self, from: usize, to: usize, spot: Spot, made: &mut Made) -> Generated<Option<Operand<Ids>>> {
        let plan = self.plan;
        let kind = plan.traces.edge_kind(from, to);
        let of = match kind {
            EdgeKind::Joins if !plan.is_informative(to) => return Ok(None),
            EdgeKind::Joins | EdgeKind::Enters(_) => plan.block_enum(to),
            EdgeKind::Pushes(nest) => plan.stack_enum(nest),
        };
        let payload: Vec<Operand<Ids>> =
            plan.parts(from, Some(to)).into_iter().map(|part| self.part(part, made)).collect();
        let parts = payload.clone();
        let args = [type_operand(of.clone()), Operand::symbol(case_name(from))].into_iter().chain(payload);
        let mut emit = self.at(spot);
        match kind {
            EdgeKind::Joins => return emit.own("new_case", args, of).map(Some),
            EdgeKind::Enters(nest) => {
                if plan.is_entry_informative(nest) {
                    made.entries.insert(nest, emit.own("new_case", args, of)?);
                }
                let element = plan.element_type(nest);
                let stack = emit.own("new_stack", [type_operand(element.clone())], Type::stack(element))?;
                made.stacks.insert(nest, stack);
            }
            EdgeKind::Pushes(nest) => {
                let case = match (plan.only_push(nest).is_some(), plan.element_type(nest)) {
                    (false, _) => emit.own("new_case", args, of)?,
                    (true, Type::Tuple(types)) if parts.len() > 1 => emit.tuple(parts, types.to_vec())?,
                    (true, _) => parts.into_iter().next().unwrap_or_else(Operand::nothing),
                };
                let stack = made.stacks.get(&nest).cloned().unwrap_or_else(Operand::nothing);
                emit.own("stack_push!", [stack, case], Type::Nothing)?;
            }
        }
        Ok(None)
    }

    fn part(&self, part: Part, made: &Made) -> Operand<Ids> {
        let known = match part {
            Part::Entry(id) => made.entries.get(&id).cloned(),
            Part::Stack(id) => made.stacks.get(&id).cloned(),
            Part::Trace(block) => made.traces.get(&block).cloned(),
            Part::Item(block, position) => {
                let saves = self.plan.saves.get(block).and_then(Option::as_ref);
                saves.and_then(|saves| saves.items.get(position)).map(|&item| self.saved(item))
            }
        };
        // Blocks are gone through so that what an edge takes along was made before.
        known.unwrap_or_else(Operand::nothing)
    }

    /// Puts the pullback beside what the function returns.
    fn return_pullback(&mut self, block: BlockId, number: usize, made: &Made) -> Generated<()> {
        let plan = self.plan;
        let mut captured = self.captured(block)?;
        captured.extend(plan.parts(number, None).into_iter().map(|part| self.part(part, made)));
        let function = Operand::global("Main", &plan.names.pullback);
        let line = self.bb.last_line(block);
        let args = std::iter::once(function).chain(captured);
        let pullback = Emitter::new(&mut self.bb, block, line).own("partial_apply", args, plan.trace_type())?;
        self.return_beside(block, pullback)
    }

    /// What the pullback captures beside the tuple of the block that returns.
    fn captured(&mut self, block: BlockId) -> Result<Vec<Operand<Ids>>, EditError> {
        let plan = self.plan;
        let mut captured: Vec<Operand<Ids>> = vec![Operand::nothing(); plan.fields.len()];
        for &(saved, field) in &plan.saved_arguments {
            captured[field] = self.saved_argument(saved);
        }
        if let Some(field) = plan.used {
            captured[field] = self.unused_flag(block)?;
        }
        Ok(captured)
    }
}

impl Plan<'_> {
    /// The types of what the pullback captures, in order.
    pub(in crate::reverse_mode) fn captured_types(&self) -> Vec<Type> {
        let fields = self.fields.iter().map(|(_, ty)| ty.clone());
        let exit = self.ways.returns.first().map_or_else(Vec::new, |&ret| self.parts(ret, None));
        fields.chain(exit.into_iter().map(|part| self.part_type(part))).collect()
    }
}

/// A constant that is no value of the program: it stays where it is named.
pub(super) fn is_literal(operand: &Operand<Ids>) -> bool {
    match operand {
        Operand::Constant(Constant::Scalar(scalar)) => !scalar.scalar_type().is_float(),
        Operand::Value(_) | Operand::Argument(_) => false,
        _ => true,
    }
}
