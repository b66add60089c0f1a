//! Finding loops of independent rounds.

use bbcode::{BlockId, Ids, InstId};
use hashbrown::HashSet;
use ircode::graph::{DomTree, LoopId};
use ircode::{Instruction, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::accesses::rounds_meet;
use super::{IndependentLoop, Input, SeedStep};
use crate::analyses::effects::effects;
use crate::reverse_mode::operation::Operation;
use crate::reverse_mode::plan::Plan;
use crate::tangents::Tangent;

/// Functions with more such loops are left as they are: the way from each to the return is looked at.
const MOST_LOOPS: usize = 64;

/// All loops on which the result of a function depends, if each is independent and the result depends on nothing else.
pub(super) fn find(plan: &Plan<'_>, reassociate: bool) -> Option<Vec<IndependentLoop>> {
    let [result] = *plan.ways.returns.as_slice() else { return None };
    if plan.loops.iter().len() == 0 || plan.graph.graph().predecessors(0).len() > 0 {
        return None;
    }
    if !matches!(plan.result_tangent(), Tangent::Float(_)) || !arguments_fit(plan) || !only_reads(plan) {
        return None;
    }
    let mut loops: Vec<LoopId> = Vec::new();
    let mut outside: Vec<InstId> = Vec::new();
    for number in plan.ways.relevant_blocks() {
        let outermost = outermost(plan, number);
        for id in plan.primal.inst_ids(plan.block(number)?).filter(|id| plan.activity.is_active_value(*id)) {
            match outermost {
                Some(found) if loops.contains(&found) => {}
                Some(found) => loops.push(found),
                None => outside.push(id),
            }
        }
        if loops.len() > MOST_LOOPS {
            return None;
        }
    }
    if loops.is_empty() {
        return None;
    }
    let search = Search { plan, result, domtree: plan.graph.dominators(), uses: uses(plan) };
    let mut on_the_way: HashSet<InstId> = HashSet::new();
    let mut found = Vec::with_capacity(loops.len());
    for id in loops {
        let independent = search.independent(id, &mut on_the_way)?;
        if !reassociate && rounds_meet(plan, &independent) {
            return None;
        }
        found.push(independent);
    }
    outside.iter().all(|id| on_the_way.contains(id)).then_some(found)
}

/// Whether all that the function is differentiated with respect to is floats and arrays of floats.
fn arguments_fit(plan: &Plan<'_>) -> bool {
    plan.argument_tangents().iter().enumerate().all(|(index, tangent)| match tangent {
        Tangent::None => true,
        Tangent::Float(_) => index > 0,
        Tangent::Object(Type::Array(array)) => index > 0 && matches!(array.element, Type::Scalar(_)),
        _ => false,
    })
}

/// Whether what the result depends on in memory is in arguments, and stays as it is.
fn only_reads(plan: &Plan<'_>) -> bool {
    plan.primal.all_insts().all(|(id, inst)| {
        if !plan.activity.shadow(&Operand::Value(id)).is_none() {
            return false;
        }
        let mut touches = false;
        let operation = plan.activity.operation(id);
        operation.for_each_input(&plan.primal, id, &mut |operand| {
            touches |= !plan.activity.shadow(operand).is_none();
        });
        if !touches || inst.stmt.is_terminator() {
            return true;
        }
        match operation {
            Operation::Load(_) | Operation::Steps => true,
            Operation::Rule { rule, .. } => !rule.changes_first(),
            Operation::Call { function, .. } => !plan.derivation.summaries.get(*function).writes,
            Operation::Unknown => only_asks(plan, id, inst),
            _ => false,
        }
    })
}

/// Whether a statement changes nothing, and gives something that has no derivative: a length.
pub(super) fn only_asks(plan: &Plan<'_>, id: InstId, inst: &Instruction<Ids>) -> bool {
    let changes = effects(plan.derivation.module, &plan.primal, inst).writes;
    !changes && plan.activity.tangent(&Operand::Value(id)).is_none()
}

/// The outermost loop around a block.
fn outermost(plan: &Plan<'_>, number: usize) -> Option<LoopId> {
    let mut at = plan.loops.innermost(number)?;
    while let Some(parent) = plan.loops.get(at).and_then(|found| found.parent) {
        at = parent;
    }
    Some(at)
}

/// The users of each value, one for each use.
fn uses(plan: &Plan<'_>) -> SecondaryMap<InstId, Vec<InstId>> {
    let mut uses: SecondaryMap<InstId, Vec<InstId>> = SecondaryMap::new();
    for (user, inst) in plan.primal.all_insts() {
        inst.stmt.for_each_use(|used| {
            if let Some(entry) = uses.entry(used) {
                entry.or_default().push(user);
            }
        });
    }
    uses
}

struct Search<'p, 'a> {
    plan: &'p Plan<'a>,
    /// The block that returns.
    result: usize,
    domtree: DomTree,
    uses: SecondaryMap<InstId, Vec<InstId>>,
}

/// The blocks of a loop, by number.
struct Blocks {
    header: usize,
    latch: usize,
    leaves: usize,
    /// Where it goes on behind the loop.
    exit: usize,
    /// All blocks, in layout order, with those in which an error ends a round.
    numbers: Vec<usize>,
    members: HashSet<usize>,
}

impl Search<'_, '_> {
    fn block_number(&self, id: InstId) -> Option<usize> {
        self.plan.primal.block_of(id).and_then(|block| self.plan.graph.number(block))
    }

    fn is_inside(&self, blocks: &Blocks, id: InstId) -> bool {
        self.block_number(id).is_some_and(|number| blocks.members.contains(&number))
    }

    fn users(&self, id: InstId) -> &[InstId] {
        self.uses.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The loop, if its rounds are independent. What its sum goes through behind it is added to `on_the_way`.
    fn independent(&self, id: LoopId, on_the_way: &mut HashSet<InstId>) -> Option<IndependentLoop> {
        let plan = self.plan;
        let (blocks, before) = self.blocks(id)?;
        let header = plan.block(blocks.header)?;
        let (sum, next) = self.sum(&blocks, header, before)?;
        // The rounds are over before it is asked whether there is another one, or have not started.
        let next_block = self.block_number(next)?;
        let is_asked_late = self.domtree.dominates(next_block, blocks.leaves);
        let body = match is_asked_late {
            true => None,
            false if blocks.leaves == blocks.header => {
                let mut on = plan.graph.graph().successors(blocks.header);
                Some(on.find(|&to| to != blocks.exit)?).filter(|&to| to != blocks.header)
            }
            false => return None,
        };
        if is_asked_late && blocks.latch != blocks.leaves {
            let preds = plan.predecessors(blocks.latch);
            if preds != [blocks.leaves] {
                return None;
            }
        }
        let result = if is_asked_late { next } else { sum };
        if !self.only_adds(&blocks, sum, next, result) {
            return None;
        }
        let kept = self.kept(&blocks, sum, result)?;
        self.may_be_taken_apart(&blocks, &kept, is_asked_late).then_some(())?;
        let seed = self.way_back(&blocks, result, before, on_the_way)?;
        let mut found = IndependentLoop {
            header,
            before: plan.block(before)?,
            latch: plan.block(blocks.latch)?,
            leaves: plan.block(blocks.leaves)?,
            body: body.and_then(|number| plan.block(number)),
            blocks: blocks.numbers.iter().filter_map(|&number| plan.block(number)).collect(),
            sum,
            next,
            kept,
            inputs: Vec::new(),
            seed,
        };
        found.inputs = self.inputs(&blocks, &found)?;
        Some(found)
    }

    /// The blocks of a loop that has one way in, one around and one out, which every round passes.
    fn blocks(&self, id: LoopId) -> Option<(Blocks, usize)> {
        let plan = self.plan;
        let found = plan.loops.get(id).filter(|found| !found.irreducible)?;
        let graph = plan.graph.graph();
        let (before, latch) = plan.loops.entry_and_latch(graph, id)?;
        let mut numbers: Vec<usize> =
            (0..plan.ways.relevant.len()).filter(|&number| plan.loops.contains(id, number)).collect();
        let mut members: HashSet<usize> = numbers.iter().copied().collect();
        let mut exits = Vec::new();
        let mut work = numbers.clone();
        while let Some(from) = work.pop() {
            for to in graph.successors(from).filter(|&to| !plan.loops.contains(id, to)) {
                // Where nothing returns any more, there is an error.
                match plan.ways.relevant.get(to) {
                    Some(false) if members.insert(to) => work.push(to),
                    Some(false) => {}
                    _ => exits.push((from, to)),
                }
            }
        }
        let [(leaves, exit)] = *exits.as_slice() else { return None };
        let errors = members.iter().copied().filter(|&number| !plan.loops.contains(id, number));
        let errors: Vec<usize> = errors.collect();
        if errors.iter().any(|&number| graph.predecessors(number).any(|pred| !members.contains(&pred))) {
            return None;
        }
        numbers.extend(errors);
        numbers.sort_unstable();
        let odd = |&number: &usize| plan.block(number).is_none_or(|block| plan.primal.has_odd_edges(block));
        if numbers.iter().chain([&before, &exit]).any(odd) || !self.domtree.dominates(leaves, latch) {
            return None;
        }
        Some((Blocks { header: found.header, latch, leaves, exit, numbers, members }, before))
    }

    /// The φ to which the rounds add: the only one of the header that is active. With what it is in the next round.
    fn sum(&self, blocks: &Blocks, header: BlockId, before: usize) -> Option<(InstId, InstId)> {
        let plan = self.plan;
        let mut active = plan.primal.phi_nodes(header).filter(|(id, _)| plan.activity.is_active_value(*id));
        let (sum, inst) = active.next().filter(|_| active.next().is_none())?;
        let from = |number: usize| {
            let entries = inst.stmt.as_phi()?.entries.iter();
            let mut entries = entries.filter(|entry| plan.graph.number(entry.edge) == Some(number));
            entries.next().and_then(|entry| entry.value.as_ref())
        };
        let (first, next) = (from(before)?, from(blocks.latch)?.as_value()?);
        let starts_inactive = !plan.activity.has_cotangent(first);
        let fits = starts_inactive && next != sum && self.is_inside(blocks, next) && inst.ty == plan.result;
        fits.then_some((sum, next))
    }

    /// Whether all that is done with the sum in the loop is that something is added to it, or taken from it, and
    /// whether what it is in the next round is that. Behind the loop only the `result` is used.
    fn only_adds(&self, blocks: &Blocks, sum: InstId, next: InstId, result: InstId) -> bool {
        let plan = self.plan;
        let mut carrying: HashSet<InstId> = HashSet::from_iter([sum]);
        let mut work = vec![sum];
        while let Some(value) = work.pop() {
            for &user in self.users(value) {
                if !self.is_inside(blocks, user) {
                    if value != result {
                        return false;
                    }
                    continue;
                }
                if user == sum || carrying.contains(&user) {
                    continue;
                }
                let Some(inst) = plan.primal.inst(user) else { return false };
                let called = plan.derivation.module.primitive_call(&inst.stmt);
                let is_value = |operand: &Operand<Ids>| operand.as_value() == Some(value);
                let fits = match (plan.activity.operation(user), called.map(|(primitive, args)| (primitive.name, args)))
                {
                    (Operation::Phi | Operation::Copy(_), _) => true,
                    (_, Some(("add_float", [_, _]))) => true,
                    (_, Some(("sub_float", [a, _]))) => is_value(a),
                    _ => false,
                };
                if !fits || inst.ty != plan.result {
                    return false;
                }
                carrying.insert(user);
                work.push(user);
            }
        }
        let carries = |operand: &Operand<Ids>| operand.as_value().is_some_and(|value| carrying.contains(&value));
        let adds_once = |&id: &InstId| {
            let Some(inst) = plan.primal.inst(id) else { return false };
            let mut count = 0;
            inst.stmt.for_each_operand(&mut |operand| count += usize::from(carries(operand)));
            match &inst.stmt {
                Stmt::Phi(_) if id == sum => true,
                Stmt::Phi(phi) => phi.entries.iter().all(|entry| entry.value.as_ref().is_some_and(carries)),
                _ => count == 1,
            }
        };
        carrying.contains(&next) && carrying.iter().all(adds_once)
    }

    /// The statements that say which round it is and whether there is another one, and what is used of that behind the
    /// loop. They depend on nothing else, and only give a value.
    fn kept(&self, blocks: &Blocks, sum: InstId, result: InstId) -> Option<HashSet<InstId>> {
        let plan = self.plan;
        let bb = &plan.primal;
        let header = plan.block(blocks.header)?;
        let mut work: Vec<Operand<Ids>> = Vec::new();
        for (phi, _) in bb.phi_nodes(header).filter(|(phi, _)| *phi != sum) {
            work.push(Operand::Value(phi));
        }
        match bb.terminator(plan.block(blocks.leaves)?).map(|(_, inst)| &inst.stmt) {
            Some(Stmt::GotoIfNot(goto)) => work.push(goto.cond.clone()),
            _ => return None,
        }
        for &number in &blocks.numbers {
            for id in bb.inst_ids(plan.block(number)?) {
                if id != result && self.users(id).iter().any(|&user| !self.is_inside(blocks, user)) {
                    work.push(Operand::Value(id));
                }
            }
        }
        let mut kept: HashSet<InstId> = HashSet::new();
        while let Some(operand) = work.pop() {
            let Some(value) = operand.as_value().filter(|&value| self.is_inside(blocks, value)) else { continue };
            if value == sum {
                return None;
            }
            if !kept.insert(value) {
                continue;
            }
            let inst = bb.inst(value)?;
            let number = self.block_number(value)?;
            match &inst.stmt {
                Stmt::Phi(phi) if number == blocks.header => {
                    work.extend(phi.entries.iter().filter_map(|entry| entry.value.clone()));
                }
                Stmt::Phi(_) => return None,
                stmt if [blocks.header, blocks.leaves, blocks.latch].contains(&number) && self.only_gives(value) => {
                    stmt.for_each_operand(&mut |operand| work.push(operand.clone()));
                }
                _ => return None,
            }
        }
        Some(kept)
    }

    /// Whether a statement does nothing but give a value.
    fn only_gives(&self, id: InstId) -> bool {
        let Some(inst) = self.plan.primal.inst(id) else { return false };
        let effects = effects(self.plan.derivation.module, &self.plan.primal, inst);
        !effects.throws && !effects.writes && !effects.allocates
    }

    /// Whether rounds change nothing, and whether what is done in a block that decides can be done elsewhere.
    fn may_be_taken_apart(&self, blocks: &Blocks, kept: &HashSet<InstId>, is_asked_late: bool) -> bool {
        let plan = self.plan;
        let bb = &plan.primal;
        blocks.numbers.iter().filter_map(|&number| Some((number, plan.block(number)?))).all(|(number, block)| {
            bb.insts(block).filter(|(_, inst)| !inst.stmt.is_terminator()).all(|(id, inst)| {
                let changes = match plan.activity.operation(id) {
                    // An error comes in any case, and this is told of it.
                    _ if plan.ways.relevant.get(number) == Some(&false) => false,
                    Operation::Call { function, .. } => {
                        let summary = plan.derivation.summaries.get(*function);
                        summary.writes || summary.acts
                    }
                    _ => effects(plan.derivation.module, bb, inst).writes,
                };
                let is_phi = matches!(inst.stmt, Stmt::Phi(_));
                let stays = kept.contains(&id) || is_phi && number == blocks.header;
                let fits = match (is_asked_late, number) {
                    (true, number) if number == blocks.latch && number != blocks.leaves => stays,
                    (false, number) if number == blocks.header => stays || self.only_gives(id),
                    _ => true,
                };
                fits && !changes
            })
        })
    }

    /// What a round uses beside the sum, in the order in which it does.
    fn inputs(&self, blocks: &Blocks, found: &IndependentLoop) -> Option<Vec<Input>> {
        let plan = self.plan;
        let bb = &plan.primal;
        let mut inputs: Vec<Input> = Vec::new();
        let (mut values, mut arguments) = (HashSet::new(), HashSet::new());
        let mut fits = bb.sptypes.is_empty();
        for block in found.round_blocks() {
            for (id, inst) in bb.insts(block) {
                let is_phi = matches!(inst.stmt, Stmt::Phi(_));
                if block == found.header && is_phi || inst.stmt.is_terminator() && self.ends_round(found, block) {
                    continue;
                }
                inst.stmt.for_each_operand(&mut |operand| {
                    let is_new = match operand {
                        Operand::Value(value) => {
                            let is_round = bb.block_of(*value) == Some(found.header)
                                && matches!(bb.stmt(*value), Some(Stmt::Phi(_)))
                                && *value != found.sum;
                            (is_round || !self.is_inside(blocks, *value)) && values.insert(*value)
                        }
                        Operand::Argument(argument) => arguments.insert(*argument),
                        _ => false,
                    };
                    if !is_new {
                        return;
                    }
                    let is_active = plan.activity.has_cotangent(operand) || plan.has_shadow(operand);
                    let wanted = match operand {
                        Operand::Argument(argument) => argument.index().and_then(|index| plan.wanted.get(index)),
                        _ => None,
                    };
                    let wanted = is_active && wanted == Some(&true);
                    fits &= wanted == is_active;
                    inputs.push(Input { operand: operand.clone(), ty: bb.operand_type(operand), wanted });
                });
                fits &= bb.block_of(id) == Some(block);
            }
        }
        fits.then_some(inputs)
    }

    /// Whether what control does at the end of a block is not part of a round.
    fn ends_round(&self, found: &IndependentLoop, block: BlockId) -> bool {
        match found.body {
            Some(_) => block == found.header || block == found.latch,
            None => block == found.leaves,
        }
    }

    /// What the seed goes through from the return back to the result of a loop: only that is done with it, on the only
    /// way there is.
    fn way_back(
        &self,
        blocks: &Blocks,
        result: InstId,
        before: usize,
        on_the_way: &mut HashSet<InstId>,
    ) -> Option<Vec<SeedStep>> {
        let plan = self.plan;
        let reached = self.reached(blocks.exit);
        let mut steps = Vec::new();
        let mut value = result;
        loop {
            let mut users = self.users(value).iter().copied().filter(|&user| !self.is_inside(blocks, user));
            let user = users.next().filter(|_| users.next().is_none())?;
            let number = self.block_number(user)?;
            if !self.domtree.dominates(number, self.result) || plan.loops.innermost(number).is_some() {
                return None;
            }
            let inst = plan.primal.inst(user)?;
            if matches!(inst.stmt, Stmt::Return(_)) {
                return (number == self.result).then_some(steps);
            }
            if inst.ty != plan.result {
                return None;
            }
            let is_value = |operand: &Operand<Ids>| operand.as_value() == Some(value);
            let known = |operand: &Operand<Ids>| self.is_known(operand, before).then(|| operand.clone());
            // What else the result depends on, and no statement computes, would get no cotangent.
            let mut depends_on_argument = false;
            inst.stmt.for_each_operand(&mut |operand| {
                depends_on_argument |= matches!(operand, Operand::Argument(_)) && plan.activity.has_cotangent(operand);
            });
            if depends_on_argument {
                return None;
            }
            let called = plan.derivation.module.primitive_call(&inst.stmt);
            match (&inst.stmt, called.map(|(primitive, args)| (primitive.name, args))) {
                (Stmt::Phi(phi), _) => {
                    // Whoever comes out of the loop comes by the edge of its value.
                    let by_others = phi.entries.iter().filter(|entry| !entry.value.as_ref().is_some_and(is_value));
                    let mut others = by_others.filter_map(|entry| plan.graph.number(entry.edge));
                    if others.any(|edge| reached.contains(&edge) || edge == blocks.leaves)
                        || phi.entries.len() != plan.predecessors(number).len()
                    {
                        return None;
                    }
                }
                (_, Some(("add_float", [_, _]))) => {}
                (_, Some(("sub_float", [a, _]))) => {
                    if !is_value(a) {
                        steps.push(SeedStep::Negate);
                    }
                }
                (_, Some(("neg_float", [_]))) => steps.push(SeedStep::Negate),
                (_, Some(("mul_float", [a, b]))) => {
                    steps.push(SeedStep::MultiplyBy(known(if is_value(a) { b } else { a })?));
                }
                (_, Some(("div_float", [a, b]))) if is_value(a) => steps.push(SeedStep::DivideBy(known(b)?)),
                _ if matches!(plan.activity.operation(user), Operation::Copy(_)) => {}
                _ => return None,
            }
            on_the_way.insert(user);
            value = user;
        }
    }

    /// Whether something does not depend on what is differentiated, and is there before the loop.
    fn is_known(&self, operand: &Operand<Ids>, before: usize) -> bool {
        if self.plan.activity.has_cotangent(operand) {
            return false;
        }
        match operand {
            Operand::Constant(_) | Operand::Argument(_) => true,
            Operand::Value(value) => {
                self.block_number(*value).is_some_and(|number| self.domtree.dominates(number, before))
            }
            _ => false,
        }
    }

    /// The blocks to which control may come from this one, itself included.
    fn reached(&self, from: usize) -> HashSet<usize> {
        let mut reached = HashSet::from_iter([from]);
        let mut work = vec![from];
        while let Some(number) = work.pop() {
            work.extend(self.plan.graph.graph().successors(number).filter(|&to| reached.insert(to)));
        }
        reached
    }
}
