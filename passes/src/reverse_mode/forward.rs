//! The forward pass: the function with shadows beside what has identity, and with statements that save what the
//! pullback needs and return it beside the value.

mod changes;
mod shadows;

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Argument, Constant, Head, LineInfo, NewInstruction, Operand, PhiEntry, Scalar, Stmt, Type};

use super::Carrier;
use super::conditions::{Meeting, choice, choice_type};
use super::emit::{Emitter, block_number, type_operand};
use super::linear_maps::rule_pullbacks::{Captured, RulePullback};
use super::operation::Operation;
use super::plan::{Plan, SavedArgument, Travel};
use super::saved::Saved;
use crate::differentiation::checkpointed::unmark;
use crate::tangents::Tangent;

/// Generates `f_fwd(args…, shadows…) -> (value, shadow, trace)` from the function, which is taken out of the plan.
pub(super) fn generate(plan: &Plan<'_>, primal: BBCode) -> Result<BBCode, EditError> {
    let mut bb = primal;
    unmark(&mut bb);
    if let Some(own) = bb.argtypes.first_mut() {
        *own = Type::function(plan.names.forward.clone());
    }
    let mut arguments = HashMap::new();
    for (argument, shadow) in plan.shadowed_arguments() {
        arguments.insert(argument, super::operation::argument(bb.argtypes.len()));
        bb.argtypes.push(shadow.ty());
    }
    let mut forward = Forward { plan, bb, arguments, made: HashMap::new(), slots: HashMap::new() };
    let stacks = forward.preheader()?;
    forward.shadows()?;
    match plan.carrier {
        Carrier::Stacks => {
            forward.count(&stacks)?;
            forward.choices()?;
            forward.save(&stacks)?;
        }
        Carrier::LinearMaps => forward.linear_maps()?,
    }
    Ok(forward.bb)
}

pub(super) struct Forward<'p, 'a> {
    pub(super) plan: &'p Plan<'a>,
    pub(super) bb: BBCode,
    /// The shadows of the arguments.
    arguments: HashMap<Argument, Operand<Ids>>,
    /// What was made beside the statements of the function.
    made: HashMap<Saved, Operand<Ids>>,
    /// The slots for what is saved once or not at all, by field of the trace.
    slots: HashMap<usize, Operand<Ids>>,
}

pub(super) type Generated<T> = Result<T, EditError>;

impl Forward<'_, '_> {
    /// Adds a block before the entry that makes the stacks, if there are any or the entry can be entered again, and the
    /// shadows of arguments that nobody hands in. Returns the stacks by field.
    fn preheader(&mut self) -> Generated<HashMap<usize, Operand<Ids>>> {
        let plan = self.plan;
        let mut stacks = HashMap::new();
        let Some(entry) = self.bb.entry().filter(|_| plan.needs_preheader()) else { return Ok(stacks) };
        let preheader = self.bb.insert_block_before(entry)?;
        self.bb.set_next(preheader, Some(entry))?;
        let first = self.bb.first_inst(entry).and_then(|first| self.bb.inst(first));
        let line = first.map_or(LineInfo::NONE, |inst| inst.line);
        let mut emit = Emitter::new(&mut self.bb, preheader, line);
        for (field, (_, ty)) in plan.fields.iter().enumerate() {
            if let Type::Stack(element) = ty {
                let stack = emit.own("new_stack", [type_operand((**element).clone())], ty.clone())?;
                stacks.insert(field, stack);
            }
        }
        for (field, ty) in plan.slots() {
            let slot = emit.own("new_slot", [type_operand(ty.clone())], Type::slot(ty.clone()))?;
            let zero = ty.as_scalar().map_or_else(Operand::nothing, |ty| Operand::from(Scalar::from_bits(ty, 0)));
            emit.own("slot_set!", [slot.clone(), zero], Type::Nothing)?;
            self.slots.insert(field, slot);
        }
        if let (Some(field), true) = (plan.block_stack, plan.entry_has_predecessors()) {
            // 0 is where the function was called.
            let stack = stacks.get(&field).cloned().unwrap_or_else(Operand::nothing);
            emit.own("stack_push!", [stack, block_number(0)], Type::Nothing)?;
        }
        let scratch = plan.scratch_arguments();
        if !scratch.is_empty() {
            // One call for all, as they may be the same object.
            let operands: Vec<Operand<Ids>> = scratch.iter().map(|(arg, _)| Operand::Argument(*arg)).collect();
            let types: Vec<Type> = operands.iter().map(|operand| emit.bb.operand_type(operand)).collect();
            let tangents: Vec<Tangent> = types.iter().map(|ty| plan.derivation.tangents.of(ty)).collect();
            let all = emit.tuple(operands, types)?;
            let zeros = emit.zero_tangent(all, &Tangent::Fields(tangents.as_slice().into()))?;
            for (index, ((argument, _), tangent)) in scratch.iter().zip(&tangents).enumerate() {
                let zero = emit.field(zeros.clone(), index, tangent.ty())?;
                let shadow = emit.shadow_part(zero, tangent)?;
                self.arguments.insert(*argument, shadow);
            }
        }
        move_virtual_edge(&mut self.bb, entry, preheader)?;
        Ok(stacks)
    }

    /// Makes the shadows, and what else stands beside the statements of the function, from definitions to uses.
    fn shadows(&mut self) -> Generated<()> {
        let plan = self.plan;
        let relevant: Vec<usize> = plan.ways.relevant_blocks().collect();
        // φs may take what is made later.
        for &number in &relevant {
            let Some(block) = plan.block(number) else { continue };
            let phis: Vec<(InstId, LineInfo)> = self.bb.phi_nodes(block).map(|(id, inst)| (id, inst.line)).collect();
            for (id, line) in phis {
                let shadow = plan.activity.shadow(&Operand::Value(id));
                if !shadow.is_none() {
                    let phi = Stmt::phi(std::iter::empty());
                    let made = self.bb.insert_after(id, NewInstruction::new(phi, shadow.ty()).with_line(line))?;
                    self.made.insert(Saved::Shadow(id), Operand::Value(made));
                }
            }
        }
        let mut order = plan.graph.graph().postorder();
        order.reverse();
        for number in order.into_iter().filter(|number| plan.ways.relevant.get(*number) == Some(&true)) {
            let Some(block) = plan.block(number) else { continue };
            // The statements of the function; what is made stands between them.
            let ids: Vec<InstId> = self.bb.inst_ids(block).collect();
            for id in ids {
                self.statement(id)?;
            }
        }
        for &number in &relevant {
            let Some(block) = plan.block(number) else { continue };
            let phis: Vec<InstId> = self.bb.phi_nodes(block).map(|(id, _)| id).collect();
            for id in phis {
                self.fill_phi(id)?;
            }
        }
        Ok(())
    }

    /// Gives the shadow of a φ its entries.
    fn fill_phi(&mut self, id: InstId) -> Generated<()> {
        let Some(&Operand::Value(made)) = self.made.get(&Saved::Shadow(id)) else { return Ok(()) };
        let Some(Stmt::Phi(phi)) = self.bb.stmt(id).cloned() else { return Ok(()) };
        let shape = self.plan.activity.shadow(&Operand::Value(id));
        let mut entries = Vec::with_capacity(phi.entries.len());
        for entry in phi.entries {
            let is_edge = self.plan.graph.number(entry.edge).is_some();
            let value = match &entry.value {
                Some(value) if is_edge => Some(self.shadow_on_edge(value, &shape, entry.edge)?),
                Some(value) => Some(self.known_shadow(value).unwrap_or_else(Operand::nothing)),
                None => None,
            };
            entries.push(PhiEntry { edge: entry.edge, value });
        }
        if let Some(Stmt::Phi(phi)) = self.bb.stmt_mut(made) {
            phi.entries = entries.into_iter().collect();
        }
        Ok(())
    }

    /// The shadow of what a φ takes, in the shape of that of the φ: what has to be made for it is made where control leaves
    /// the predecessor.
    fn shadow_on_edge(&mut self, value: &Operand<Ids>, shape: &Tangent, from: BlockId) -> Generated<Operand<Ids>> {
        let last = self.bb.last_inst(from).and_then(|last| self.bb.inst(last));
        let line = last.map_or(LineInfo::NONE, |inst| inst.line);
        let shadow = match self.known_shadow(value) {
            Some(known) => known,
            None => self.fresh_shadow(value, |bb| Ok(Emitter::new(bb, from, line)))?,
        };
        let own = self.plan.derivation.tangents.of(&self.bb.operand_type(value)).shadow();
        Emitter::new(&mut self.bb, from, line).shadow_as(shadow, &own, shape)
    }

    /// What stands beside a statement: its shadow, what is kept of what it changes, and the pullback of what has a
    /// rule.
    fn statement(&mut self, id: InstId) -> Generated<()> {
        let plan = self.plan;
        let shadow = plan.activity.shadow(&Operand::Value(id));
        let operation = plan.activity.operation(id);
        // Most statements have a rule, no shadow, and nothing to keep.
        if let Operation::Rule { rule, .. } = operation
            && shadow.is_none()
            && plan.carrier == Carrier::Stacks
            && !rule.changes_first()
        {
            return Ok(());
        }
        if let Operation::Call { .. } = operation {
            return self.call(id);
        }
        let next = self.bb.next_inst(id);
        self.change(id, operation)?;
        if !shadow.is_none()
            && let Some(made) = self.shadow_of_result(id, operation, &shadow)?
        {
            self.made.insert(Saved::Shadow(id), made);
        }
        // It captures shadows that were just made.
        if let Operation::Rule { .. } = operation
            && let Some(pullback) = plan.rule_pullbacks.get(id)
        {
            self.rule_pullback(id, next, pullback)?;
        }
        Ok(())
    }

    /// Makes the pullback of what has a rule.
    fn rule_pullback(&mut self, id: InstId, next: Option<InstId>, pullback: &RulePullback) -> Generated<()> {
        let mut args = vec![Operand::global("Main", &pullback.name)];
        for captured in &pullback.captured {
            args.push(match captured {
                Captured::Value(operand) => operand.clone(),
                Captured::Shadow(operand) => self.shadow(operand, id)?,
            });
        }
        let mut emit = match (next, self.bb.block_of(id)) {
            (None, Some(block)) => {
                let line = self.bb.last_line(block);
                Emitter::new(&mut self.bb, block, line)
            }
            (next, _) => Emitter::before(&mut self.bb, next.unwrap_or(id)),
        };
        let closure = emit.own("partial_apply", args, pullback.ty.clone())?;
        self.made.insert(Saved::Trace(id), closure);
        Ok(())
    }

    /// Replaces a call that is differentiated by one of the forward pass of what it calls. The statement that was the
    /// call becomes the value.
    fn call(&mut self, id: InstId) -> Generated<()> {
        let plan = self.plan;
        let Operation::Call { args, .. } = plan.activity.operation(id) else { return Ok(()) };
        let Some(called) = plan.called(id).filter(|_| plan.is_reversed(id)) else { return Ok(()) };
        if called.is_checkpointed {
            return Ok(());
        }
        let ty = self.bb.operand_type(&Operand::Value(id));
        let trace_type = called.trace_type(plan.carrier);
        let mut operands = args.clone();
        for (arg, tangent) in args.iter().zip(called.arguments.iter().skip(1)) {
            if !tangent.shadow().is_none() {
                let own = plan.derivation.tangents.of(&self.bb.operand_type(arg)).shadow();
                let shadow = self.shadow(arg, id)?;
                operands.push(Emitter::before(&mut self.bb, id).shadow_as(shadow, &own, &tangent.shadow())?);
            }
        }
        let result_shadow = called.result.shadow();
        let mut types = vec![called.result_type.clone()];
        types.extend((!result_shadow.is_none()).then(|| result_shadow.ty()));
        types.push(trace_type.clone());
        let trace_field = types.len() as i64;
        let mut emit = Emitter::before(&mut self.bb, id);
        let results = emit.call("Main", &called.names.forward, operands, Type::tuple(types))?;
        if !result_shadow.is_none() {
            let shadow = emit.field(results.clone(), 1, result_shadow.ty())?;
            self.made.insert(Saved::Shadow(id), shadow);
        }
        let mut emit = Emitter::before(&mut self.bb, id);
        let trace = emit.field(results.clone(), trace_field as usize - 1, trace_type)?;
        self.made.insert(Saved::Trace(id), trace);
        let get = Stmt::call(Operand::global("Base", "getfield"), [results, Constant::int64(1).into()]);
        self.bb.replace(id, get)?;
        if let Some(inst) = self.bb.inst_mut(id) {
            inst.ty = ty;
        }
        Ok(())
    }

    pub(super) fn saved(&self, item: Saved) -> Operand<Ids> {
        match item {
            Saved::Value(id) => Operand::Value(id),
            other => self.made.get(&other).cloned().unwrap_or_else(Operand::nothing),
        }
    }

    /// Counts how often control comes around the loops that save that, and pushes the count where control leaves them.
    fn count(&mut self, stacks: &HashMap<usize, Operand<Ids>>) -> Generated<()> {
        let plan = self.plan;
        for counted in plan.ways.counted.iter().filter(|counted| plan.inductions.control(counted.header).is_none()) {
            let blocks = (plan.block(counted.header), plan.block(counted.before), plan.block(counted.latch));
            let (Some(header), Some(before), Some(latch)) = blocks else { continue };
            let line = self.bb.last_line(header);
            let empty = NewInstruction::new(Stmt::phi(std::iter::empty()), Type::INT64).with_line(line);
            let count = self.bb.insert_at_start(header, empty)?;
            let mut emit = Emitter::new(&mut self.bb, latch, line);
            let args = [Operand::Value(count), Constant::int64(1).into()];
            let next = emit.call("Base", "add_int", args, Type::INT64)?;
            if let Some(Stmt::Phi(phi)) = self.bb.stmt_mut(count) {
                phi.entries.push(PhiEntry { edge: before, value: Some(Constant::int64(0).into()) });
                phi.entries.push(PhiEntry { edge: latch, value: Some(next) });
            }
            for block in counted.exits.iter().filter_map(|&exit| plan.block(exit)) {
                let mut emit = Emitter::new(&mut self.bb, block, line);
                match (self.slots.get(&counted.field), stacks.get(&counted.field)) {
                    (Some(slot), _) => emit.own("slot_set!", [slot.clone(), Operand::Value(count)], Type::Nothing)?,
                    (None, stack) => {
                        let stack = stack.cloned().unwrap_or_else(Operand::nothing);
                        emit.own("stack_push!", [stack, Operand::Value(count)], Type::Nothing)?
                    }
                };
            }
        }
        Ok(())
    }

    /// Makes the φs that say by which edge control came to the blocks that save that.
    fn choices(&mut self) -> Generated<()> {
        let plan = self.plan;
        for number in plan.ways.relevant_blocks().filter(|&number| plan.ways.meeting(number) == Some(&Meeting::Saved)) {
            let Some(block) = plan.block(number) else { continue };
            let preds = plan.predecessors(number);
            let edges = preds.iter().enumerate().filter_map(|(edge, &pred)| Some((edge, plan.block(pred)?)));
            let phi = Stmt::phi(edges.map(|(edge, pred)| (pred, Some(choice(edge, preds.len())))));
            let line = self.bb.last_line(block);
            let phi = NewInstruction::new(phi, choice_type(preds.len())).with_line(line);
            let made = self.bb.insert_at_start(block, phi)?;
            self.made.insert(Saved::Edge(number), Operand::Value(made));
        }
        Ok(())
    }

    /// What a block saves.
    fn saved_at(&self, item: Saved, number: usize) -> Operand<Ids> {
        match item {
            Saved::Left(index) => {
                self.plan.inductions.saved_value(index, number).map_or_else(Operand::nothing, Operand::Value)
            }
            item => self.saved(item),
        }
    }

    /// Pushes what is saved at the ends of blocks, and returns the trace beside the value.
    fn save(&mut self, stacks: &HashMap<usize, Operand<Ids>>) -> Generated<()> {
        let plan = self.plan;
        let stack = |field: usize| stacks.get(&field).cloned().unwrap_or_else(Operand::nothing);
        for number in plan.ways.relevant_blocks() {
            let Some(block) = plan.block(number) else { continue };
            let line = self.bb.last_line(block);
            if let Some(saves) = &plan.saves[number]
                && let Travel::Stack(field) = saves.travel
            {
                let items: Vec<Operand<Ids>> = saves.items.iter().map(|&item| self.saved_at(item, number)).collect();
                let mut emit = Emitter::new(&mut self.bb, block, line);
                let value = match items.as_slice() {
                    [only] => only.clone(),
                    _ => emit.tuple(items, saves.types.clone())?,
                };
                emit.own("stack_push!", [stack(field), value], Type::Nothing)?;
            }
            if let Some(saves) = &plan.saves[number]
                && let Travel::Slots(fields) = &saves.travel
            {
                for (field, &item) in fields.iter().zip(&saves.items) {
                    let value = self.saved_at(item, number);
                    let slot = self.slots.get(field).cloned().unwrap_or_else(Operand::nothing);
                    Emitter::new(&mut self.bb, block, line).own("slot_set!", [slot, value], Type::Nothing)?;
                }
            }
            if let (Some(field), true) = (plan.block_stack, plan.ways.records[number]) {
                let mut emit = Emitter::new(&mut self.bb, block, line);
                emit.own("stack_push!", [stack(field), block_number(number + 1)], Type::Nothing)?;
            }
        }
        for &number in &plan.ways.returns {
            if let Some(block) = plan.block(number) {
                self.return_with_trace(block, number, stacks)?;
            }
        }
        Ok(())
    }

    /// Puts the trace beside what a block returns.
    fn return_with_trace(
        &mut self,
        block: BlockId,
        number: usize,
        stacks: &HashMap<usize, Operand<Ids>>,
    ) -> Generated<()> {
        let plan = self.plan;
        let line = self.bb.last_line(block);
        let mut fields: Vec<Operand<Ids>> = vec![Operand::nothing(); plan.fields.len()];
        for (&field, stack) in stacks {
            fields[field] = stack.clone();
        }
        for &(saved, field) in &plan.saved_arguments {
            fields[field] = self.saved_argument(saved);
        }
        for (saver, saves) in plan.saves.iter().enumerate().filter_map(|(saver, saves)| Some((saver, saves.as_ref()?)))
        {
            if let Travel::Fields(numbers) = &saves.travel {
                for (&field, &item) in numbers.iter().zip(&saves.items) {
                    fields[field] = self.saved_at(item, saver);
                }
            }
        }
        for (field, ty) in plan.slots() {
            let slot = self.slots.get(&field).cloned().unwrap_or_else(Operand::nothing);
            fields[field] = Emitter::new(&mut self.bb, block, line).own("slot_get", [slot], ty.clone())?;
        }
        if let Some(field) = plan.exit {
            fields[field] = block_number(number + 1);
        }
        if let Some(field) = plan.used {
            fields[field] = self.unused_flag(block)?;
        }
        let mut emit = Emitter::new(&mut self.bb, block, line);
        let args = std::iter::once(type_operand(plan.trace_type())).chain(fields);
        let trace = emit.stmt(Stmt::expr(Head::New, args), plan.trace_type())?;
        self.return_beside(block, Operand::Value(trace))
    }

    /// What the pullback gets of an argument.
    pub(super) fn saved_argument(&self, saved: SavedArgument) -> Operand<Ids> {
        match saved.shadow {
            true => self.arguments.get(&saved.argument).cloned().unwrap_or_else(Operand::nothing),
            false => Operand::Argument(saved.argument),
        }
    }

    /// Makes the reference that says whether the pullback was called.
    pub(super) fn unused_flag(&mut self, block: BlockId) -> Generated<Operand<Ids>> {
        let ty = Type::Ref(std::sync::Arc::new(Type::BOOL));
        let new = Stmt::expr(Head::New, [type_operand(ty.clone()), Operand::Constant(Constant::bool(false))]);
        let line = self.bb.last_line(block);
        Ok(Operand::Value(Emitter::new(&mut self.bb, block, line).stmt(new, ty)?))
    }

    /// Puts a trace, or a pullback, beside what a block returns.
    pub(super) fn return_beside(&mut self, block: BlockId, trace: Operand<Ids>) -> Generated<()> {
        let plan = self.plan;
        let Some((ret, inst)) = self.bb.terminator(block) else { return Ok(()) };
        let (Stmt::Return(node), line) = (inst.stmt.clone(), inst.line) else { return Ok(()) };
        let Some(value) = node.value else { return Ok(()) };
        let shadow = plan.result_tangent().shadow();
        let value_shadow = match shadow.is_none() {
            true => None,
            false => Some(self.shadow(&value, ret)?),
        };
        let mut emit = Emitter::new(&mut self.bb, block, line);
        let mut types = vec![plan.result.clone()];
        types.extend(value_shadow.is_some().then(|| shadow.ty()));
        types.push(plan.trace_type());
        let elements = std::iter::once(value).chain(value_shadow).chain([trace]).collect();
        let results = emit.tuple(elements, types)?;
        self.bb.replace(ret, Stmt::ret(results))?;
        Ok(())
    }
}

/// What the old entry took from Julia's virtual predecessor comes from the new one now.
pub(super) fn move_virtual_edge(bb: &mut BBCode, entry: BlockId, preheader: BlockId) -> Result<(), EditError> {
    let outside = <Ids as ircode::Names>::virtual_block();
    let phis: Vec<InstId> = bb.phi_nodes(entry).map(|(id, _)| id).collect();
    for phi in phis {
        if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
            for edge in phi.entries.iter_mut().filter(|entry| entry.edge == outside) {
                edge.edge = preheader;
            }
        }
    }
    if let Some(mut odd) = bb.block(entry).and_then(|block| block.odd_edges()).cloned() {
        let moved = bbcode::OddEdges { virtual_preds: odd.virtual_preds, ..bbcode::OddEdges::default() };
        odd.virtual_preds = 0;
        bb.set_odd_edges(entry, odd)?;
        bb.set_odd_edges(preheader, moved)?;
    }
    Ok(())
}
