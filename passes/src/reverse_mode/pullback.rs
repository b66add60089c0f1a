//! The pullback: the blocks of the function backwards, adding up cotangents in slots.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, Switch};
use hashbrown::HashMap;
use ircode::{Argument, Constant, LineInfo, Operand, Positions, Rename, SSAValue, Scalar, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use super::activity::Derivative;
use super::emit::{Emitter, block_number, type_operand};
use super::plan::{Carrier, DerivativeNames, Load, Plan, Saved, cotangent_types};
use super::shape::{ENTRY, Shape};
use crate::rules::{Bindings, Rule};

/// A place that has an adjoint: an active value, or an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Value(InstId),
    Argument(Argument),
}

/// Adds up the cotangents of a place.
struct Adjoint {
    place: Place,
    ty: ScalarType,
    /// The nearest block that dominates all its uses.
    dominator: usize,
    /// The highest [rank](Shape::rank) of a block that uses it.
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

/// The cotangent of a φ, on its way to what the φ took from a predecessor.
struct Handed {
    to: Operand<Ids>,
    cotangent: Operand<Ids>,
    line: LineInfo,
}

struct Generator<'p, 'a> {
    plan: &'p Plan<'a>,
    shape: Shape,
    bb: BBCode,
    /// The blocks of the pullback, by the numbers of the shape.
    blocks: Vec<BlockId>,
    adjoints: Vec<Adjoint>,
    values: SecondaryMap<InstId, usize>,
    arguments: Vec<Option<usize>>,
    /// The fields of the trace, unpacked in the entry.
    fields: Vec<Option<Operand<Ids>>>,
    /// For each field that is a stack, the slot of its cursor.
    cursors: HashMap<usize, Operand<Ids>>,
}

type Generated<T> = Result<T, EditError>;

/// Generates `f_pb(trace, seed) -> (nothing, cotangents of the arguments…)`.
pub(super) fn generate(plan: &Plan<'_>) -> Generated<BBCode> {
    let seed = plan.seed_type().map_or(Type::Nothing, Type::from);
    let own = Type::function(plan.names.pullback.clone());
    let mut bb = BBCode::new(vec![own, plan.trace_type(), seed]);
    bb.debuginfo = plan.primal.debuginfo.clone();
    if plan.returns.is_empty() {
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
        adjoints: Vec::new(),
        values: SecondaryMap::new(),
        arguments: vec![None; plan.primal.argtypes.len()],
        fields: vec![None; plan.fields.len()],
        cursors: HashMap::new(),
    };
    generator.find_adjoints();
    generator.entry()?;
    generator.make_cursors()?;
    generator.make_slots()?;
    for number in plan.relevant_blocks() {
        generator.reverse_block(number)?;
    }
    generator.exit()?;
    Ok(generator.bb)
}

impl<'p> Generator<'p, '_> {
    /// Finds what has an adjoint, and where it is used.
    fn find_adjoints(&mut self) {
        let plan = self.plan;
        for index in 1..plan.primal.argtypes.len() {
            let argument = Argument::from_index(index);
            if let Some(ty) = plan.activity.cotangent(&Operand::Argument(argument)) {
                let exit = self.shape.exit;
                self.add_adjoint(Place::Argument(argument), ty, exit);
            }
        }
        for number in plan.relevant_blocks() {
            let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { continue };
            for (id, _) in plan.primal.insts(block) {
                if plan.activity.derivative(id).is_some()
                    && let Some(ty) = plan.activity.cotangent(&Operand::Value(id))
                {
                    self.add_adjoint(Place::Value(id), ty, here);
                }
            }
        }
        for number in plan.relevant_blocks() {
            let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { continue };
            for (id, inst) in plan.primal.insts(block) {
                if let Stmt::Return(ret) = &inst.stmt {
                    ret.value.iter().for_each(|value| self.used(value, here));
                }
                match plan.activity.derivative(id) {
                    Some(Derivative::Copy(operand)) => self.used(operand, here),
                    Some(Derivative::Rule { args, wanted, .. } | Derivative::Call { args, wanted, .. }) => {
                        wanted.iter().filter_map(|&i| args.get(i)).for_each(|arg| self.used(arg, here));
                    }
                    Some(Derivative::Phi) => {
                        let Stmt::Phi(phi) = &inst.stmt else { continue };
                        for entry in &phi.entries {
                            let between =
                                plan.graph.number(entry.edge).and_then(|pred| self.shape.edges.get(&(number, pred)));
                            if let (Some(value), Some(&between)) = (&entry.value, between) {
                                self.used(value, between);
                            }
                        }
                    }
                    None => {}
                }
            }
        }
    }

    fn add_adjoint(&mut self, place: Place, ty: ScalarType, home: usize) {
        let index = self.adjoints.len();
        let last_use = self.shape.rank(home);
        let sum = Sum::Value(None);
        self.adjoints.push(Adjoint { place, ty, dominator: home, last_use, only_block: Some(home), sum });
        match place {
            Place::Value(id) => {
                self.values.insert(id, index);
            }
            Place::Argument(argument) => {
                if let Some(slot) = argument.index().and_then(|index| self.arguments.get_mut(index)) {
                    *slot = Some(index);
                }
            }
        }
    }

    /// The adjoint of an operand, if it has one.
    fn adjoint(&self, operand: &Operand<Ids>) -> Option<usize> {
        match operand {
            Operand::Value(value) => self.values.get(*value).copied(),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.arguments.get(index).copied().flatten())
            }
            _ => None,
        }
    }

    fn used(&mut self, operand: &Operand<Ids>, block: usize) {
        if let Some(index) = self.adjoint(operand) {
            let adjoint = &mut self.adjoints[index];
            adjoint.dominator = self.shape.common(adjoint.dominator, block);
            adjoint.last_use = adjoint.last_use.max(self.shape.rank(block));
            adjoint.only_block = adjoint.only_block.filter(|&only| only == block);
        }
    }

    fn emit(&mut self, block: usize, line: LineInfo) -> Emitter<'_> {
        Emitter::new(&mut self.bb, self.blocks[block], line)
    }

    /// Unpacks the trace and goes to the reverse of the block that returned.
    fn entry(&mut self) -> Generated<()> {
        let plan = self.plan;
        let trace = Operand::Argument(Argument(2));
        for (field, (_, ty)) in plan.fields.iter().enumerate() {
            let value = self.emit(ENTRY, LineInfo::NONE).field(trace.clone(), field, ty.clone())?;
            self.fields[field] = Some(value);
        }
        let targets: Vec<(usize, BlockId)> =
            plan.returns.iter().filter_map(|&ret| Some((ret, self.blocks[self.shape.reverse[ret]?]))).collect();
        match plan.exit.and_then(|field| self.fields[field].clone()) {
            Some(exit) => self.branch(ENTRY, exit, &targets),
            None => match targets.first() {
                Some(&(_, target)) => self.emit(ENTRY, LineInfo::NONE).goto(target),
                None => Ok(()),
            },
        }
    }

    /// Makes a cursor for each stack to which a block may push several times, and lets it point at the last entry before the
    /// first place that reads it.
    fn make_cursors(&mut self) -> Generated<()> {
        let plan = self.plan;
        let mut places: Vec<(usize, usize)> = plan.block_stack.map(|field| (field, ENTRY)).into_iter().collect();
        let mut dominators: Vec<Option<usize>> = self.shape.reverse.clone();
        for (number, loads) in plan.loads.iter().enumerate() {
            let Some(here) = self.shape.reverse[number] else { continue };
            for load in loads {
                let dominator = dominators[load.saver].map_or(here, |other| self.shape.common(other, here));
                dominators[load.saver] = Some(dominator);
            }
        }
        for (number, saves) in plan.saves.iter().enumerate() {
            if let (Some(Carrier::Stack(field)), Some(dominator)) =
                (saves.as_ref().map(|saves| &saves.carrier), dominators[number])
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

    /// Ends a block by going to the target whose number `number` is.
    fn branch(&mut self, block: usize, number: Operand<Ids>, targets: &[(usize, BlockId)]) -> Generated<()> {
        let Some((&(_, last), others)) = targets.split_last() else { return Ok(()) };
        let name = self.blocks[block];
        let mut emit = self.emit(block, LineInfo::NONE);
        if others.is_empty() {
            return emit.goto(last);
        }
        let mut conds = Vec::with_capacity(others.len());
        for (candidate, _) in others {
            let same = emit.call("Core", "===", [number.clone(), block_number(*candidate + 1)], Type::BOOL)?;
            conds.push(same);
        }
        if let ([cond], [(_, only)]) = (conds.as_slice(), others) {
            emit.stmt(Stmt::goto_if_not(cond.clone(), last), Type::Any)?;
            return self.bb.set_next(name, Some(*only));
        }
        // A switch takes the branch of the first condition that is false.
        let mut branches = Vec::with_capacity(conds.len());
        for (cond, &(_, dest)) in conds.into_iter().zip(others) {
            branches.push((emit.call("Base", "not_int", [cond], Type::BOOL)?, dest));
        }
        emit.stmt(Stmt::Switch(Switch::new(branches, last)), Type::Any).map(|_| ())
    }

    /// Makes the slots of adjoints that are used in several blocks, and zeroes each where its life starts. The zero is -0.0,
    /// to which adding is exact: `-0.0 + x` is `x` for every `x`, signed zeros included, so that folding the sum away
    /// changes nothing.
    fn make_slots(&mut self) -> Generated<()> {
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
                Place::Argument(_) => None,
            };
            let place = self.shape.start_of_life(&self.plan.loops, adjoint.dominator, home, adjoint.last_use);
            let (ty, zeroed) = (Type::from(adjoint.ty), self.shape.innermost(place) != home);
            let zero = zero(adjoint.ty);
            let slot = self.emit(ENTRY, LineInfo::NONE).own("new_slot", [type_operand(ty.clone())], Type::slot(ty))?;
            self.emit(place, LineInfo::NONE).own("slot_set!", [slot.clone(), zero], Type::Nothing)?;
            self.adjoints[index].sum = Sum::Slot { slot, zeroed };
        }
        Ok(())
    }

    /// The adjoint of a value. If the block runs again, it is zero then.
    fn take_adjoint(&mut self, block: usize, line: LineInfo, adjoint: usize) -> Generated<Operand<Ids>> {
        let ty = self.adjoints[adjoint].ty;
        match &mut self.adjoints[adjoint].sum {
            Sum::Value(value) => Ok(value.take().unwrap_or_else(|| zero(ty))),
            Sum::Slot { slot, zeroed } => {
                let (slot, zeroed) = (slot.clone(), *zeroed);
                let mut emit = self.emit(block, line);
                let value = emit.own("slot_get", [slot.clone()], ty.into())?;
                if zeroed {
                    emit.own("slot_set!", [slot, zero(ty)], Type::Nothing)?;
                }
                Ok(value)
            }
        }
    }

    /// Adds a cotangent to the adjoint of an operand, if that has one.
    fn accumulate(
        &mut self,
        block: usize,
        line: LineInfo,
        operand: &Operand<Ids>,
        cotangent: Operand<Ids>,
    ) -> Generated<()> {
        let Some(index) = self.adjoint(operand) else { return Ok(()) };
        let adjoint = &mut self.adjoints[index];
        let ty = Type::from(adjoint.ty);
        let (before, slot) = match &mut adjoint.sum {
            Sum::Value(Some(value)) => (value.clone(), None),
            Sum::Value(value) => {
                *value = Some(cotangent);
                return Ok(());
            }
            Sum::Slot { slot, .. } => {
                let slot = slot.clone();
                let before = self.emit(block, line).own("slot_get", [slot.clone()], ty.clone())?;
                (before, Some(slot))
            }
        };
        let mut emit = self.emit(block, line);
        let sum = emit.call("Base", "add_float", [before, cotangent], ty)?;
        match slot {
            Some(slot) => emit.own("slot_set!", [slot, sum], Type::Nothing).map(|_| ()),
            None => {
                self.adjoints[index].sum = Sum::Value(Some(sum));
                Ok(())
            }
        }
    }

    /// The reverse of a block: its statements backwards, then on to the predecessor from which control came.
    fn reverse_block(&mut self, number: usize) -> Generated<()> {
        let plan = self.plan;
        let (Some(block), Some(here)) = (plan.block(number), self.shape.reverse[number]) else { return Ok(()) };
        let mut loaded: HashMap<Saved, Operand<Ids>> = HashMap::new();
        self.load(number, here, &mut loaded)?;
        let insts: Vec<InstId> = plan.primal.inst_ids(block).collect();
        for &id in insts.iter().rev() {
            let Some(inst) = plan.primal.inst(id) else { continue };
            if let Stmt::Return(ret) = &inst.stmt
                && let Some(value) = &ret.value
            {
                let seed = Operand::Argument(Argument(3));
                self.accumulate(here, inst.line, value, seed)?;
            }
            self.reverse_statement(here, id, inst.line, &loaded)?;
        }
        self.conclude(number, here)
    }

    /// Gets what the reverse of a block needs of what was saved.
    fn load(&mut self, number: usize, here: usize, loaded: &mut HashMap<Saved, Operand<Ids>>) -> Generated<()> {
        let plan = self.plan;
        let mut entries: HashMap<usize, Operand<Ids>> = HashMap::new();
        for &Load { item, saver, position, line } in &plan.loads[number] {
            let Some(saves) = plan.saves.get(saver).and_then(Option::as_ref) else { continue };
            let value = match &saves.carrier {
                Carrier::Fields(fields) => fields.get(position).and_then(|&field| self.fields[field].clone()),
                Carrier::Stack(field) => {
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

    fn reverse_statement(
        &mut self,
        here: usize,
        id: InstId,
        line: LineInfo,
        loaded: &HashMap<Saved, Operand<Ids>>,
    ) -> Generated<()> {
        let plan = self.plan;
        let (Some(derivative), Some(&adjoint)) = (plan.activity.derivative(id), self.values.get(id)) else {
            return Ok(());
        };
        match derivative {
            // φs are concluded together, at the end of the block.
            Derivative::Phi => Ok(()),
            Derivative::Copy(operand) => {
                let seed = self.take_adjoint(here, line, adjoint)?;
                self.accumulate(here, line, operand, seed)
            }
            Derivative::Rule { rule, bindings, args, wanted } => {
                let seed = self.take_adjoint(here, line, adjoint)?;
                let out = loaded.get(&Saved::Value(id)).cloned();
                let mut parameters: Vec<Operand<Ids>> = Vec::with_capacity(args.len() + 3);
                parameters.push(Operand::nothing());
                parameters.extend(args.iter().map(|arg| self.available(arg, loaded)));
                parameters.push(out.unwrap_or_else(Operand::nothing));
                parameters.push(seed);
                let outputs = self.apply(here, line, rule, bindings, &parameters, wanted)?;
                for (&i, cotangent) in wanted.iter().zip(outputs) {
                    if let Some(arg) = args.get(i) {
                        self.accumulate(here, line, arg, cotangent)?;
                    }
                }
                Ok(())
            }
            Derivative::Call { function, args, wanted } => {
                let Some(callee) = plan.module.functions().get(*function) else { return Ok(()) };
                let seed = self.take_adjoint(here, line, adjoint)?;
                let names = DerivativeNames::of(&callee.name);
                let types = cotangent_types(&callee.body.argtypes);
                let trace = loaded.get(&Saved::Trace(id)).cloned().unwrap_or_else(Operand::nothing);
                let all =
                    self.emit(here, line).call("Main", &names.pullback, [trace, seed], Type::tuple(types.clone()))?;
                for &i in wanted {
                    let (Some(arg), Some(ty)) = (args.get(i), types.get(i + 1)) else { continue };
                    let cotangent = self.emit(here, line).field(all.clone(), i + 1, ty.clone())?;
                    self.accumulate(here, line, arg, cotangent)?;
                }
                Ok(())
            }
        }
    }

    /// What an operand of the function is in the pullback.
    fn available(&self, operand: &Operand<Ids>, loaded: &HashMap<Saved, Operand<Ids>>) -> Operand<Ids> {
        let found = match operand {
            Operand::Value(value) => loaded.get(&Saved::Value(*value)).cloned(),
            Operand::Argument(argument) => {
                let saved = self.plan.saved_arguments.iter().find(|(saved, _)| saved == argument);
                saved.and_then(|&(_, field)| self.fields[field].clone())
            }
            other => Some(other.clone()),
        };
        // What is not loaded is not needed.
        found.unwrap_or_else(Operand::nothing)
    }

    /// Writes the part of a rule that the wanted outputs need.
    fn apply(
        &mut self,
        here: usize,
        line: LineInfo,
        rule: &Rule,
        bindings: &Bindings,
        parameters: &[Operand<Ids>],
        wanted: &[usize],
    ) -> Generated<Vec<Operand<Ids>>> {
        let slice = rule.slice(wanted);
        let mut results: Vec<Option<InstId>> = vec![None; slice.statements.len()];
        for index in (0..slice.statements.len()).filter(|&index| slice.statements[index]) {
            let Some((stmt, ty)) = rule.statement(index, bindings) else { continue };
            // Verified rules name only what is there.
            let Ok(mut stmt) = stmt.map_names(&mut Results(&results)) else { continue };
            substitute(&mut stmt, parameters);
            results[index] = Some(self.emit(here, line).stmt(stmt, ty)?);
        }
        let output = |operand: &Operand<Positions>| match bindings.substitute_operand(operand) {
            Operand::Argument(argument) => argument.index().and_then(|index| parameters.get(index).cloned()),
            Operand::Value(value) => {
                value.index().and_then(|index| results.get(index).copied().flatten()).map(Operand::Value)
            }
            Operand::Constant(constant) => Some(Operand::Constant(constant)),
            _ => None,
        };
        let outputs = wanted.iter().map(|&i| rule.outputs.get(i).and_then(output).unwrap_or_else(Operand::nothing));
        Ok(outputs.collect())
    }

    /// The end of a block's reverse: φs hand their cotangents on, cursors step back, and control goes to the reverse of the
    /// block that control came from.
    fn conclude(&mut self, number: usize, here: usize) -> Generated<()> {
        let plan = self.plan;
        // All φs are read and zeroed before any operand is added to: they may name each other.
        let mut handed: HashMap<usize, Vec<Handed>> = HashMap::new();
        let phis: Vec<InstId> = plan.active_phis(number).collect();
        for id in phis {
            let (Some(inst), Some(&adjoint)) = (plan.primal.inst(id), self.values.get(id)) else { continue };
            let cotangent = self.take_adjoint(here, inst.line, adjoint)?;
            for entry in inst.stmt.as_phi().into_iter().flat_map(|phi| &phi.entries) {
                if let (Some(pred), Some(value)) = (plan.graph.number(entry.edge), &entry.value) {
                    let (to, cotangent) = (value.clone(), cotangent.clone());
                    handed.entry(pred).or_default().push(Handed { to, cotangent, line: inst.line });
                }
            }
        }
        if let Some(Carrier::Stack(field)) = plan.saves[number].as_ref().map(|saves| &saves.carrier) {
            self.step_back(here, *field)?;
        }
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
        match from {
            Some(from) => self.branch(here, from, &targets),
            None => match targets.first() {
                Some(&(_, target)) => self.emit(here, LineInfo::NONE).goto(target),
                None => self.emit(here, LineInfo::NONE).stmt(Stmt::unreachable(), Type::Any).map(|_| ()),
            },
        }
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
        let mut all = targets.to_vec();
        all.push((usize::MAX, exit));
        self.branch(here, from, &all)
    }

    /// Between the reverses of a block and of its predecessor: the operands that the φs took from there get the
    /// cotangents.
    fn hand_on(&mut self, between: usize, back: usize, handed: Vec<Handed>) -> Generated<()> {
        for Handed { to, cotangent, line } in handed {
            self.accumulate(between, line, &to, cotangent)?;
        }
        let back = self.blocks[back];
        self.emit(between, LineInfo::NONE).goto(back)
    }

    /// Returns the cotangents. Adding 0.0 turns the zero of the adjoints, which is -0.0, into the usual one.
    fn exit(&mut self) -> Generated<()> {
        let plan = self.plan;
        let exit = self.shape.exit;
        let types = plan.cotangent_types();
        let mut elements = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate() {
            let Some(float) = ty.as_float() else {
                elements.push(Operand::nothing());
                continue;
            };
            let positive = Operand::from(Scalar::from_bits(float, 0));
            match self.arguments.get(index).copied().flatten() {
                Some(adjoint) => {
                    let value = self.take_adjoint(exit, LineInfo::NONE, adjoint)?;
                    let mut emit = self.emit(exit, LineInfo::NONE);
                    elements.push(emit.call("Base", "add_float", [value, positive], ty.clone())?);
                }
                None => elements.push(positive),
            }
        }
        let mut emit = self.emit(exit, LineInfo::NONE);
        let tuple = emit.tuple(elements, types)?;
        emit.stmt(Stmt::ret(tuple), Type::Any).map(|_| ())
    }
}

/// The zero that adjoints start with: adding to it changes nothing.
fn zero(ty: ScalarType) -> Operand<Ids> {
    Operand::from(Scalar::from_bits(ty, 1 << (ty.bits() - 1)))
}

/// Puts the parameters of a rule in the place of its arguments.
fn substitute(stmt: &mut Stmt<Ids>, parameters: &[Operand<Ids>]) {
    stmt.for_each_operand_mut(&mut |operand| {
        if let Operand::Argument(argument) = operand
            && let Some(parameter) = argument.index().and_then(|index| parameters.get(index))
        {
            *operand = parameter.clone();
        }
    });
}

/// Names the results of the statements of a rule that were written.
struct Results<'r>(&'r [Option<InstId>]);

impl Rename<Positions, Ids> for Results<'_> {
    type Error = ();

    fn value(&mut self, value: SSAValue) -> Result<InstId, ()> {
        value.index().and_then(|index| self.0.get(index).copied().flatten()).ok_or(())
    }

    fn block(&mut self, _: ircode::BlockNumber) -> Result<BlockId, ()> {
        Err(())
    }

    fn switch(&mut self, switch: &ircode::NoSwitch) -> Result<Switch<Ids>, ()> {
        match *switch {}
    }
}
