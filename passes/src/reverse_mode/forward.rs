//! The forward pass: the function with statements that save what the pullback needs, and return it beside the value.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Head, LineInfo, Operand, Stmt, Type};

use super::activity::Derivative;
use super::emit::{Emitter, block_number, type_operand};
use super::plan::{Carrier, DerivativeNames, Plan, Saved};

/// Generates `f_fwd(args…) -> (value, trace)` from the function, which is taken out of the plan.
pub(super) fn generate(plan: &Plan<'_>, primal: BBCode) -> Result<BBCode, EditError> {
    let mut bb = primal;
    if let Some(own) = bb.argtypes.first_mut() {
        *own = Type::function(plan.names.forward.clone());
    }
    let stacks = make_stacks(plan, &mut bb)?;
    let traces = replace_calls(plan, &mut bb)?;
    let saved = |item: Saved| match item {
        Saved::Value(id) => Operand::Value(id),
        Saved::Trace(id) => traces.get(&id).map_or_else(Operand::nothing, |&trace| Operand::Value(trace)),
    };
    for number in plan.relevant_blocks() {
        let Some(block) = plan.block(number) else { continue };
        let line = last_line(&bb, block);
        let mut emit = Emitter::new(&mut bb, block, line);
        if let Some(saves) = &plan.saves[number]
            && let Carrier::Stack(field) = saves.carrier
        {
            let items: Vec<Operand<Ids>> = saves.items.iter().map(|&item| saved(item)).collect();
            let value = match items.as_slice() {
                [only] => only.clone(),
                _ => emit.tuple(items, saves.types.clone())?,
            };
            emit.own("stack_push!", [stacks[&field].clone(), value], Type::Nothing)?;
        }
        if let (Some(field), true) = (plan.block_stack, plan.records[number]) {
            emit.own("stack_push!", [stacks[&field].clone(), block_number(number + 1)], Type::Nothing)?;
        }
    }
    for &number in &plan.returns {
        let Some(block) = plan.block(number) else { continue };
        return_with_trace(plan, &mut bb, block, number, &stacks, &saved)?;
    }
    Ok(bb)
}

fn last_line(bb: &BBCode, block: BlockId) -> LineInfo {
    bb.last_inst(block).and_then(|last| bb.inst(last)).map_or(LineInfo::NONE, |inst| inst.line)
}

/// Adds a block before the entry that makes the stacks, if there are any or the entry can be entered again. By field.
fn make_stacks(plan: &Plan<'_>, bb: &mut BBCode) -> Result<HashMap<usize, Operand<Ids>>, EditError> {
    let mut stacks = HashMap::new();
    let Some(entry) = bb.entry().filter(|_| plan.needs_preheader()) else { return Ok(stacks) };
    let preheader = bb.insert_block_before(entry)?;
    bb.set_next(preheader, Some(entry))?;
    let line = bb.first_inst(entry).and_then(|first| bb.inst(first)).map_or(LineInfo::NONE, |inst| inst.line);
    let mut emit = Emitter::new(bb, preheader, line);
    for (field, (_, ty)) in plan.fields.iter().enumerate() {
        if let Type::Stack(element) = ty {
            let stack = emit.own("new_stack", [type_operand((**element).clone())], ty.clone())?;
            stacks.insert(field, stack);
        }
    }
    if let (Some(field), true) = (plan.block_stack, plan.entry_has_predecessors()) {
        // 0 is where the function was called.
        let stack = stacks.get(&field).cloned().unwrap_or_else(Operand::nothing);
        emit.own("stack_push!", [stack, block_number(0)], Type::Nothing)?;
    }
    move_virtual_edge(bb, entry, preheader)?;
    Ok(stacks)
}

/// What the old entry took from Julia's virtual predecessor comes from the new one now.
fn move_virtual_edge(bb: &mut BBCode, entry: BlockId, preheader: BlockId) -> Result<(), EditError> {
    let outside = <Ids as ircode::Names>::virtual_block();
    let phis: Vec<InstId> = bb.phi_nodes(entry).map(|(id, _)| id).collect();
    for phi in phis {
        if let Some(Stmt::Phi(phi)) = bb.inst_mut(phi).map(|inst| &mut inst.stmt) {
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

/// Replaces active calls by calls of the forward passes of what they call. The statement that was the call becomes the
/// value; returned are the statements that are the traces.
fn replace_calls(plan: &Plan<'_>, bb: &mut BBCode) -> Result<HashMap<InstId, InstId>, EditError> {
    let mut traces = HashMap::new();
    let calls: Vec<(InstId, usize, Vec<Operand<Ids>>)> = bb
        .all_insts()
        .filter_map(|(id, _)| match plan.activity.derivative(id) {
            Some(Derivative::Call { function, args, .. }) => Some((id, *function, args.clone())),
            _ => None,
        })
        .collect();
    for (id, function, args) in calls {
        let Some(callee) = plan.module.functions().get(function) else { continue };
        let names = DerivativeNames::of(&callee.name);
        let ty = bb.inst(id).map_or(Type::Untyped, |inst| inst.ty.clone());
        let trace_type = Type::named(names.trace);
        let pair = Type::tuple([ty.clone(), trace_type.clone()]);
        let call = Stmt::call(Operand::global("Main", &names.forward), args);
        let result = bb.insert_before(id, ircode::NewInstruction::new(call, pair))?;
        let get = |field: i64| {
            let args = [Operand::Value(result), ircode::Constant::int64(field).into()];
            Stmt::call(Operand::global("Base", "getfield"), args)
        };
        bb.replace(id, get(1))?;
        traces.insert(id, bb.insert_after(id, ircode::NewInstruction::new(get(2), trace_type))?);
    }
    Ok(traces)
}

/// Puts the trace beside what a block returns.
fn return_with_trace(
    plan: &Plan<'_>,
    bb: &mut BBCode,
    block: BlockId,
    number: usize,
    stacks: &HashMap<usize, Operand<Ids>>,
    saved: &dyn Fn(Saved) -> Operand<Ids>,
) -> Result<(), EditError> {
    let Some((ret, inst)) = bb.terminator(block) else { return Ok(()) };
    let (Stmt::Return(node), line) = (inst.stmt.clone(), inst.line) else { return Ok(()) };
    let Some(value) = node.value else { return Ok(()) };
    let mut fields: Vec<Operand<Ids>> = vec![Operand::nothing(); plan.fields.len()];
    for (&field, stack) in stacks {
        fields[field] = stack.clone();
    }
    for &(argument, field) in &plan.saved_arguments {
        fields[field] = Operand::Argument(argument);
    }
    for saves in plan.saves.iter().flatten() {
        if let Carrier::Fields(numbers) = &saves.carrier {
            for (&field, &item) in numbers.iter().zip(&saves.items) {
                fields[field] = saved(item);
            }
        }
    }
    if let Some(field) = plan.exit {
        fields[field] = block_number(number + 1);
    }
    let mut emit = Emitter::new(bb, block, line);
    let args = std::iter::once(type_operand(plan.trace_type())).chain(fields);
    let trace = emit.stmt(Stmt::expr(Head::New, args), plan.trace_type())?;
    let types = vec![plan.result.clone(), plan.trace_type()];
    let pair = emit.tuple(vec![value, Operand::Value(trace)], types)?;
    bb.replace(ret, Stmt::ret(pair))?;
    Ok(())
}
