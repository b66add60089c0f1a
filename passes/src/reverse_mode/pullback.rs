//! The pullback: the blocks of the function backwards, adding up cotangents in slots.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, Switch};
use hashbrown::HashMap;
use ircode::{Argument, Constant, LineInfo, Operand, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use super::Carrier;
use super::adjoints::Adjoint;
use super::conditions::{Decision, Meeting, choice};
use super::emit::{Emitter, block_number, type_operand};
use super::got::Got;
use super::linear_maps::traces::Part;
use super::plan::{Load, Plan, Travel};
use super::saved::Saved;
use super::shape::{ENTRY, Shape};
use super::tangent_code::Leaves;
use crate::tangents::Tangent;

/// The cotangent of a φ, on its way to what the φ took from a predecessor.
struct Handed {
    to: Operand<Ids>,
    cotangent: Leaves,
    shape: Tangent,
    line: LineInfo,
}

pub(super) struct Generator<'p, 'a> {
    pub(super) plan: &'p Plan<'a>,
    pub(super) shape: Shape,
    bb: BBCode,
    /// The blocks of the pullback, by the numbers of the shape; others behind them.
    pub(super) blocks: Vec<BlockId>,
    /// For linear maps, the slots of what travels along the edges.
    pub(super) parts: HashMap<Part, Operand<Ids>>,
    /// And of the cursors of stacks among them.
    pub(super) trace_cursors: HashMap<Part, Operand<Ids>>,
    pub(super) adjoints: Vec<Adjoint>,
    /// The first adjoint of each value that has some: one for each leaf of its cotangent.
    pub(super) values: SecondaryMap<InstId, usize>,
    pub(super) arguments: Vec<Option<usize>>,
    /// The cotangents of the wanted arguments, none for the others.
    pub(super) cotangents: Vec<Tangent>,
    /// The fields of the trace, unpacked in the entry.
    pub(super) fields: Vec<Option<Operand<Ids>>>,
    /// For each counted loop, the slot of how often control is yet to come around.
    counters: HashMap<usize, Operand<Ids>>,
    /// The slots of the integers that run backwards, by their indices.
    pub(super) running: HashMap<usize, Operand<Ids>>,
    /// By block: the counted loops that control leaves to it.
    left: HashMap<usize, Vec<usize>>,
    /// For each field that is a stack, the slot of its cursor.
    cursors: HashMap<usize, Operand<Ids>>,
    /// By block of the function: what its reverse has got of what was saved, and computed from that.
    got: Vec<Got>,
}

pub(super) type Generated<T> = Result<T, EditError>;

/// About how many statements a pullback has for each of the function.
const ROOM: usize = 4;

/// Generates `f_pb(trace, seed) -> (nothing, cotangents of the arguments…)`, or `f_pullback(seed, captured…)` for
/// linear maps.
pub(super) fn generate(plan: &Plan<'_>) -> Generated<BBCode> {
    let seed = plan.result_tangent().cotangent().ty();
    let own = Type::function(plan.names.pullback.clone());
    let mut bb = BBCode::new(match plan.carrier {
        Carrier::Stacks => vec![own, plan.trace_type(), seed],
        Carrier::LinearMaps => [own, seed].into_iter().chain(plan.captured_types()).collect(),
    });
    bb.debuginfo = plan.primal.debuginfo.clone();
    bb.reserve(ROOM * plan.primal.inst_count());
    if plan.ways.returns.is_empty() {
        // The function never returns, so nobody has a trace of it.
        let block = bb.push_block();
        Emitter::new(&mut bb, block, LineInfo::NONE).stmt(Stmt::unreachable(), Type::Any)?;
        return Ok(bb);
    }
    let shape = Shape::new(plan);
    let blocks = (0..=shape.exit).map(|_| bb.push_block()).collect();
    let mut generator = Generator {
        plan,
        shape,
        bb,
        blocks,
        parts: HashMap::new(),
        trace_cursors: HashMap::new(),
        adjoints: Vec::new(),
        values: SecondaryMap::new(),
        arguments: vec![None; plan.primal.argtypes.len()],
        cotangents: plan.argument_tangents().iter().map(Tangent::cotangent).collect(),
        fields: vec![None; plan.fields.len()],
        cursors: HashMap::new(),
        counters: HashMap::new(),
        running: HashMap::new(),
        left: HashMap::new(),
        got: std::iter::repeat_with(Got::default).take(plan.ways.relevant.len()).collect(),
    };
    generator.find_adjoints();
    generator.entry()?;
    generator.make_cursors()?;
    generator.make_counters()?;
    generator.make_running()?;
    generator.make_slots()?;
    // What is got before a loop is used in it.
    let mut inward: Vec<usize> = plan.ways.relevant_blocks().collect();
    inward.sort_by_key(|&number| plan.loops.depth(number));
    for number in inward {
        generator.load(number)?;
    }
    for number in plan.ways.relevant_blocks() {
        generator.reverse_block(number)?;
    }
    generator.exit()?;
    Ok(generator.bb)
}

impl<'p> Generator<'p, '_> {
    pub(super) fn emit(&mut self, block: usize, line: LineInfo) -> Emitter<'_> {
        Emitter::new(&mut self.bb, self.blocks[block], line)
    }

    pub(super) fn push_block(&mut self) -> BlockId {
        let block = self.bb.push_block();
        self.blocks.push(block);
        block
    }

    pub(super) fn set_next(&mut self, block: BlockId, next: BlockId) -> Generated<()> {
        self.bb.set_next(block, Some(next))
    }

    /// Unpacks the trace and goes to the reverse of the block that returned.
    fn entry(&mut self) -> Generated<()> {
        let plan = self.plan;
        let trace = Operand::Argument(Argument(2));
        for (field, (_, ty)) in plan.fields.iter().enumerate() {
            let value = match plan.carrier {
                Carrier::Stacks => self.emit(ENTRY, LineInfo::NONE).field(trace.clone(), field, ty.clone())?,
                Carrier::LinearMaps => Operand::Argument(Argument::from_index(2 + field)),
            };
            self.fields[field] = Some(value);
        }
        if let Some(used) = plan.used.and_then(|field| self.fields[field].clone()) {
            self.emit(ENTRY, LineInfo::NONE).own("use_once!", [used], Type::Nothing)?;
        }
        if plan.carrier == Carrier::LinearMaps {
            return self.receive();
        }
        let targets: Vec<(usize, BlockId)> =
            plan.ways.returns.iter().filter_map(|&ret| Some((ret, self.blocks[self.shape.reverse[ret]?]))).collect();
        match plan.exit.and_then(|field| self.fields[field].clone()) {
            Some(exit) => self.branch(ENTRY, exit, &numbered(&targets)),
            None => match targets.first() {
                Some(&(_, target)) => self.emit(ENTRY, LineInfo::NONE).goto(target),
                None => Ok(()),
            },
        }
    }

    /// Makes a cursor for each stack to which a block may push several times, and lets it point at the last entry
    /// before the first place that reads it.
    fn make_cursors(&mut self) -> Generated<()> {
        let plan = self.plan;
        let mut places: Vec<(usize, usize)> = plan.block_stack.map(|field| (field, ENTRY)).into_iter().collect();
        let counts =
            self.saved_counts().map(|index| plan.ways.counted[index].field).filter(|&field| plan.is_stack(field));
        places.extend(counts.map(|field| (field, ENTRY)));
        let mut dominators: Vec<Option<usize>> = self.shape.reverse.clone();
        for (number, loads) in plan.loads.iter().enumerate() {
            let Some(here) = self.shape.reverse[number] else { continue };
            for load in loads {
                let dominator = dominators[load.saver].map_or(here, |other| self.shape.common(other, here));
                dominators[load.saver] = Some(dominator);
            }
        }
        for (number, saves) in plan.saves.iter().enumerate() {
            if let (Some(Travel::Stack(field)), Some(dominator)) =
                (saves.as_ref().map(|saves| &saves.travel), dominators[number])
                && plan.repeats(number)
            {
                places.push((*field, self.shape.before_all_loops(dominator)));
            }
        }
        for (field, place) in places {
            let stack = self.fields[field].clone().unwrap_or_else(Operand::nothing);
            let of = type_operand(Type::INT64);
            let slot = self.emit(ENTRY, LineInfo::NONE).own("new_slot", [of], Type::slot(Type::INT64))?;
            let mut emit = self.emit(place, LineInfo::NONE);
            let length = emit.own("stack_length", [stack], Type::INT64)?;
            emit.own("slot_set!", [slot.clone(), length], Type::Nothing)?;
            self.cursors.insert(field, slot);
        }
        Ok(())
    }

    /// Makes a slot for each counted loop, for how often control is yet to come around.
    fn make_counters(&mut self) -> Generated<()> {
        for index in self.saved_counts().collect::<Vec<_>>() {
            let counted = &self.plan.ways.counted[index];
            counted.exits.iter().for_each(|&exit| self.left.entry(exit).or_default().push(index));
            let mut emit = self.emit(ENTRY, LineInfo::NONE);
            let counter = emit.own("new_slot", [type_operand(Type::INT64)], Type::slot(Type::INT64))?;
            emit.own("slot_set!", [counter.clone(), Constant::int64(0).into()], Type::Nothing)?;
            self.counters.insert(index, counter);
        }
        Ok(())
    }

    /// The counted loops of which the count is saved.
    fn saved_counts(&self) -> impl Iterator<Item = usize> + use<'p, '_> {
        let plan = self.plan;
        (0..plan.ways.counted.len()).filter(|&index| plan.inductions.control(plan.ways.counted[index].header).is_none())
    }

    /// Before the reverse of a loop that control left to this block: how often control came around.
    fn load_counts(&mut self, number: usize, here: usize) -> Generated<()> {
        let plan = self.plan;
        for index in self.left.get(&number).cloned().unwrap_or_default() {
            let (Some(counted), Some(counter)) = (plan.ways.counted.get(index), self.counters.get(&index).cloned())
            else {
                continue;
            };
            let count = match plan.is_stack(counted.field) {
                true => self.top(here, counted.field, LineInfo::NONE)?,
                false => self.fields[counted.field].clone().unwrap_or_else(Operand::nothing),
            };
            self.emit(here, LineInfo::NONE).own("slot_set!", [counter, count], Type::Nothing)?;
            self.step_back(here, counted.field)?;
        }
        Ok(())
    }

    /// The end of the reverse of a counted loop's header: control came from before the loop if it came around no more.
    fn branch_on_count(
        &mut self,
        index: usize,
        here: usize,
        loaded: &Got,
        targets: &[(usize, BlockId)],
    ) -> Generated<()> {
        let Some(counted) = self.plan.ways.counted.get(index) else { return Ok(()) };
        let target = |of: usize| targets.iter().find(|(pred, _)| *pred == of).map(|(_, target)| *target);
        let (Some(before), Some(latch)) = (target(counted.before), target(counted.latch)) else { return Ok(()) };
        let first = match (self.is_first_round(counted.header, here, loaded)?, self.counters.get(&index).cloned()) {
            (Some(first), _) => first,
            (None, Some(counter)) => {
                let mut emit = self.emit(here, LineInfo::NONE);
                let count = emit.own("slot_get", [counter.clone()], Type::INT64)?;
                let fewer = emit.call("Base", "sub_int", [count.clone(), Constant::int64(1).into()], Type::INT64)?;
                emit.own("slot_set!", [counter, fewer], Type::Nothing)?;
                emit.call("Core", "===", [count, Constant::int64(0).into()], Type::BOOL)?
            }
            (None, None) => return Ok(()),
        };
        self.emit(here, LineInfo::NONE).stmt(Stmt::goto_if_not(first, latch), Type::Any)?;
        let name = self.blocks[here];
        self.bb.set_next(name, Some(before))
    }

    /// Ends a block by going to the target whose constant, a number or a `Bool`, this is.
    fn branch(&mut self, block: usize, number: Operand<Ids>, targets: &[(Operand<Ids>, BlockId)]) -> Generated<()> {
        let Some(((constant, last), others)) = targets.split_last() else { return Ok(()) };
        let (name, last) = (self.blocks[block], *last);
        let mut emit = self.emit(block, LineInfo::NONE);
        if others.is_empty() {
            return emit.goto(last);
        }
        if let (Some(Constant::Scalar(Scalar::Bool(true))), [(_, first)]) = (constant.as_constant(), others) {
            emit.stmt(Stmt::goto_if_not(number, *first), Type::Any)?;
            return self.bb.set_next(name, Some(last));
        }
        let mut conds = Vec::with_capacity(others.len());
        for (candidate, _) in others {
            let same = emit.call("Core", "===", [number.clone(), candidate.clone()], Type::BOOL)?;
            conds.push(same);
        }
        if let ([cond], [(_, only)]) = (conds.as_slice(), others) {
            emit.stmt(Stmt::goto_if_not(cond.clone(), last), Type::Any)?;
            return self.bb.set_next(name, Some(*only));
        }
        // A switch takes the branch of the first condition that is false.
        let mut branches = Vec::with_capacity(conds.len());
        for (cond, (_, dest)) in conds.into_iter().zip(others) {
            branches.push((emit.call("Base", "not_int", [cond], Type::BOOL)?, *dest));
        }
        emit.stmt(Stmt::Switch(Switch::new(branches, last)), Type::Any).map(|_| ())
    }

    /// The reverse of a block: its statements backwards, then on to the predecessor from which control came.
    fn reverse_block(&mut self, number: usize) -> Generated<()> {
        let plan = self.plan;
        let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { return Ok(()) };
        let loaded = std::mem::take(&mut self.got[number]);
        let insts: Vec<InstId> = plan.primal.inst_ids(block).collect();
        for &id in insts.iter().rev() {
            let Some(inst) = plan.primal.inst(id) else { continue };
            if let Stmt::Return(ret) = &inst.stmt
                && let Some(value) = &ret.value
            {
                let shape = plan.result_tangent().cotangent();
                let whole = Operand::Argument(Argument(match plan.carrier {
                    Carrier::Stacks => 3,
                    Carrier::LinearMaps => 2,
                }));
                let seed = self.emit(here, inst.line).cotangent_part(whole, &shape)?;
                self.accumulate(here, inst.line, value, seed, &shape)?;
            }
            self.reverse_statement(here, id, inst.line, &loaded)?;
        }
        self.conclude(number, here, &loaded)
    }

    /// Gets what the reverse of a block needs of what was saved.
    fn load(&mut self, number: usize) -> Generated<()> {
        let plan = self.plan;
        let Some(here) = self.shape.reverse[number] else { return Ok(()) };
        let count = plan.elsewhere[number].len() + plan.loads[number].len() + plan.recomputed[number].len();
        let mut loaded = Got::with_capacity(count, plan.primal.inst_count());
        for (item, place) in &plan.elsewhere[number] {
            if let Some(operand) = self.got[*place].get(item) {
                loaded.insert(*item, operand.clone());
            }
        }
        let mut entries: HashMap<usize, Operand<Ids>> = HashMap::new();
        for &Load { item, saver, position, line } in &plan.loads[number] {
            let Some(saves) = plan.saves.get(saver).and_then(Option::as_ref) else { continue };
            let value = match &saves.travel {
                Travel::Edge => Some(self.get(here, Part::Item(saver, position), line)?),
                Travel::Fields(fields) | Travel::Slots(fields) => {
                    fields.get(position).and_then(|&field| self.fields[field].clone())
                }
                Travel::Stack(field) => {
                    let entry = match entries.get(&saver) {
                        Some(entry) => entry.clone(),
                        None => {
                            let entry = self.top(here, *field, line)?;
                            entries.insert(saver, entry.clone());
                            entry
                        }
                    };
                    match saves.types.as_slice() {
                        [_] => Some(entry),
                        types => {
                            let ty = types.get(position).cloned().unwrap_or(Type::Untyped);
                            Some(self.emit(here, line).field(entry, position, ty)?)
                        }
                    }
                }
            };
            if let Some(value) = value {
                loaded.insert(item, value);
            }
        }
        for &id in &plan.recomputed[number] {
            if let Some(value) = self.running_value(id, number, here)? {
                loaded.insert(Saved::Value(id), value);
                continue;
            }
            let Some(inst) = plan.primal.inst(id) else { continue };
            if let Some(of) = plan.copied(id).filter(|_| plan.carrier == Carrier::Stacks) {
                loaded.insert(Saved::Value(id), self.available(&of, &loaded));
                continue;
            }
            let (mut stmt, ty, line) = (inst.stmt.clone(), inst.ty.clone(), inst.line);
            stmt.for_each_operand_mut(&mut |operand| *operand = self.available(operand, &loaded));
            let again = self.emit(here, line).stmt(stmt, ty)?;
            loaded.insert(Saved::Value(id), Operand::Value(again));
        }
        self.got[number] = loaded;
        Ok(())
    }

    /// What the cursor of a stack points at. A stack without cursor has one entry.
    fn top(&mut self, here: usize, field: usize, line: LineInfo) -> Generated<Operand<Ids>> {
        let stack = self.fields[field].clone().unwrap_or_else(Operand::nothing);
        let cursor = self.cursors.get(&field).cloned();
        let element = match self.plan.fields.get(field) {
            Some((_, Type::Stack(element))) => (**element).clone(),
            _ => Type::Untyped,
        };
        let mut emit = self.emit(here, line);
        let position = match cursor {
            Some(cursor) => emit.own("slot_get", [cursor], Type::INT64)?,
            None => Operand::from(1),
        };
        emit.own("stack_get", [stack, position], element)
    }

    /// Moves the cursor of a stack, if it has one, to the entry before.
    fn step_back(&mut self, here: usize, field: usize) -> Generated<()> {
        let Some(cursor) = self.cursors.get(&field).cloned() else { return Ok(()) };
        let mut emit = self.emit(here, LineInfo::NONE);
        let position = emit.own("slot_get", [cursor.clone()], Type::INT64)?;
        let before = emit.call("Base", "sub_int", [position, Constant::int64(1).into()], Type::INT64)?;
        emit.own("slot_set!", [cursor, before], Type::Nothing).map(|_| ())
    }

    /// The end of a block's reverse: φs hand their cotangents on, cursors step back, and control goes to the reverse of
    /// the block that control came from.
    fn conclude(&mut self, number: usize, here: usize, loaded: &Got) -> Generated<()> {
        let plan = self.plan;
        // All φs are read and zeroed before any operand is added to: they may name each other.
        let mut handed: HashMap<usize, Vec<Handed>> = HashMap::new();
        let phis: Vec<InstId> = plan.active_phis(number).collect();
        for id in phis {
            let Some(inst) = plan.primal.inst(id) else { continue };
            let shape = plan.activity.cotangent(&Operand::Value(id));
            let cotangent = self.take_adjoint(here, inst.line, &Operand::Value(id))?;
            for entry in inst.stmt.as_phi().into_iter().flat_map(|phi| &phi.entries) {
                if let (Some(pred), Some(value)) = (plan.graph.number(entry.edge), &entry.value) {
                    let (to, cotangent, shape) = (value.clone(), cotangent.clone(), shape.clone());
                    handed.entry(pred).or_default().push(Handed { to, cotangent, shape, line: inst.line });
                }
            }
        }
        if plan.carrier == Carrier::LinearMaps {
            for (pred, handed) in
                plan.predecessors(number).into_iter().filter_map(|pred| Some((pred, handed.remove(&pred)?)))
            {
                if let Some(&between) = self.shape.edges.get(&(number, pred)) {
                    self.add_handed(between, handed)?;
                }
            }
            return self.follow_trace(number, here);
        }
        if let Some(Travel::Stack(field)) = plan.saves[number].as_ref().map(|saves| &saves.travel) {
            self.step_back(here, *field)?;
        }
        self.load_counts(number, here)?;
        self.run_back(number, here, loaded)?;
        let mut from = None;
        if let Some(field) = plan.block_stack.filter(|_| plan.pops_block_stack(number)) {
            let preds = plan.predecessors(number);
            if preds.len() > 1 || number == 0 {
                from = Some(self.top(here, field, LineInfo::NONE)?);
            }
            self.step_back(here, field)?;
        }
        let mut targets: Vec<(usize, BlockId)> = Vec::new();
        for pred in plan.predecessors(number) {
            let Some(back) = self.shape.reverse[pred] else { continue };
            let target = match self.shape.edges.get(&(number, pred)) {
                Some(&between) => {
                    self.hand_on(between, back, handed.remove(&pred).unwrap_or_default())?;
                    between
                }
                None => back,
            };
            targets.push((pred, self.blocks[target]));
        }
        if number == 0 {
            let exit = self.blocks[self.shape.exit];
            if targets.is_empty() {
                return self.emit(here, LineInfo::NONE).goto(exit);
            }
            // The function was called with nothing before: the stack of blocks says 0 then.
            return self.branch_or_exit(here, from, &targets, exit);
        }
        if let Some(index) = plan.ways.counted_at(number) {
            return self.branch_on_count(index, here, loaded, &targets);
        }
        if let Some(meeting) = plan.ways.meeting(number) {
            return self.branch_at_meeting(meeting, number, here, loaded, &targets);
        }
        match from {
            Some(from) => self.branch(here, from, &numbered(&targets)),
            None => match targets.first() {
                Some(&(_, target)) => self.emit(here, LineInfo::NONE).goto(target),
                None => self.emit(here, LineInfo::NONE).stmt(Stmt::unreachable(), Type::Any).map(|_| ()),
            },
        }
    }

    /// The end of the reverse of a block at which ways meet.
    fn branch_at_meeting(
        &mut self,
        meeting: &Meeting,
        number: usize,
        here: usize,
        loaded: &Got,
        targets: &[(usize, BlockId)],
    ) -> Generated<()> {
        let edges = self.plan.predecessors(number);
        let (edge, choices): (_, Vec<(Operand<Ids>, BlockId)>) = match meeting {
            Meeting::Saved => {
                let edge = loaded.get(&Saved::Edge(number)).cloned().unwrap_or_else(Operand::nothing);
                let place = |pred: usize| edges.iter().position(|other| *other == pred).unwrap_or_default();
                let constant = |pred: usize| choice(place(pred), edges.len());
                (edge, targets.iter().map(|&(pred, target)| (constant(pred), target)).collect())
            }
            Meeting::Decided(Decision { condition, if_true }) => {
                let mut choices: Vec<_> = targets.iter().map(|&(pred, target)| (pred == *if_true, target)).collect();
                choices.sort_by_key(|(holds, _)| *holds);
                let condition = self.available(condition, loaded);
                (condition, choices.into_iter().map(|(holds, to)| (Constant::bool(holds).into(), to)).collect())
            }
            Meeting::Any(pred) => {
                let chosen = targets.iter().find(|(other, _)| other == pred).map(|(_, target)| *target);
                return chosen.map_or(Ok(()), |target| self.emit(here, LineInfo::NONE).goto(target));
            }
        };
        self.branch(here, edge, &choices)
    }

    /// As [`Self::branch`], for the entry of the function: 0 means that this is where it was called.
    fn branch_or_exit(
        &mut self,
        here: usize,
        from: Option<Operand<Ids>>,
        targets: &[(usize, BlockId)],
        exit: BlockId,
    ) -> Generated<()> {
        let Some(from) = from else { return self.emit(here, LineInfo::NONE).goto(exit) };
        let mut all = numbered(targets);
        all.push((block_number(0), exit));
        self.branch(here, from, &all)
    }

    /// Between the reverses of a block and of its predecessor: the operands that the φs took from there get the
    /// cotangents.
    fn hand_on(&mut self, between: usize, back: usize, handed: Vec<Handed>) -> Generated<()> {
        self.add_handed(between, handed)?;
        let back = self.blocks[back];
        self.emit(between, LineInfo::NONE).goto(back)
    }

    fn add_handed(&mut self, between: usize, handed: Vec<Handed>) -> Generated<()> {
        for Handed { to, cotangent, shape, line } in handed {
            self.accumulate(between, line, &to, cotangent, &shape)?;
        }
        Ok(())
    }

    /// Returns the cotangents. Adding 0.0 turns the zero of the adjoints, which is -0.0, into the usual one.
    fn exit(&mut self) -> Generated<()> {
        let plan = self.plan;
        let exit = self.shape.exit;
        let mut elements = Vec::with_capacity(self.cotangents.len());
        for index in 0..self.cotangents.len() {
            let shape = self.cotangents[index].clone();
            let leaves = self.take_adjoint(exit, LineInfo::NONE, &super::operation::argument(index))?;
            let mut kinds = Vec::with_capacity(leaves.len());
            shape.for_each_leaf(&mut |leaf| kinds.push(leaf.clone()));
            let mut positive = Vec::with_capacity(leaves.len());
            for (leaf, kind) in leaves.into_iter().zip(&kinds) {
                positive.push(match kind {
                    Tangent::Float(float) => {
                        let zero = Operand::from(Scalar::from_bits(*float, 0));
                        self.emit(exit, LineInfo::NONE).call("Base", "add_float", [leaf, zero], Type::from(*float))?
                    }
                    _ => leaf,
                });
            }
            elements.push(self.emit(exit, LineInfo::NONE).pack(&shape, &mut positive.into_iter())?);
        }
        let mut emit = self.emit(exit, LineInfo::NONE);
        let tuple = emit.tuple(elements, plan.cotangent_types())?;
        emit.stmt(Stmt::ret(tuple), Type::Any).map(|_| ())
    }
}

/// The targets with the numbers of their blocks, as the stack of blocks holds them.
fn numbered(targets: &[(usize, BlockId)]) -> Vec<(Operand<Ids>, BlockId)> {
    targets.iter().map(|&(number, target)| (block_number(number + 1), target)).collect()
}
