//! Calling segments in the place of loops.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, PhiEdgeChange};
use hashbrown::{HashMap, HashSet};
use ircode::{Argument, Constant, Function, LineInfo, NewInstruction, Operand, PhiEntry, Stmt, Type};

use super::regions::Region;
use super::segment::Layout;

/// What is left to do once all loops of a function are calls.
#[derive(Default)]
pub(super) struct Outside {
    /// What is used in the place of a value that was computed in a loop.
    outputs: HashMap<InstId, Operand<Ids>>,
    /// The values that go through segments, and what comes out, in the order of the calls.
    threaded: Vec<(Operand<Ids>, InstId)>,
    removed: Vec<BlockId>,
    /// The blocks that took the place of edges out of loops.
    left: HashMap<(BlockId, BlockId), BlockId>,
    /// The blocks that took the place of headers.
    entered: HashMap<BlockId, BlockId>,
}

/// Writes at the ends of blocks.
struct Writer<'b> {
    bb: &'b mut BBCode,
    line: LineInfo,
}

impl Writer<'_> {
    fn push(&mut self, block: BlockId, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        self.bb.push(block, NewInstruction::new(stmt, ty).with_line(self.line))
    }

    fn call(
        &mut self,
        block: BlockId,
        callee: (&str, &str),
        args: impl IntoIterator<Item = Operand<Ids>>,
        ty: Type,
    ) -> Result<InstId, EditError> {
        self.push(block, Stmt::call(Operand::global(callee.0, callee.1), args), ty)
    }

    /// An element of a tuple, counted from 0.
    fn element(&mut self, block: BlockId, tuple: InstId, index: usize, ty: Type) -> Result<InstId, EditError> {
        let number = Operand::from(index as i64 + 1);
        self.call(block, ("Core", "getfield"), [Operand::Value(tuple), number], ty)
    }
}

impl Outside {
    /// Puts calls of a segment in the place of a loop.
    pub(super) fn replace(
        &mut self,
        bb: &mut BBCode,
        region: &Region,
        segment: &Function<BBCode>,
    ) -> Result<(), EditError> {
        let line = bb.last_line(region.header);
        // Control may come from another loop, and go to one.
        let left = |&block: &BlockId| self.left.get(&(block, region.header)).copied().unwrap_or(block);
        let before: Vec<BlockId> = region.before.iter().map(left).collect();
        let mut write = Writer { bb, line };
        let calls = write.bb.insert_block_before(region.header)?;
        let again = write.bb.insert_block_after(calls)?;
        // What is used behind the loop is taken out of the last tuple only, so that it is saved only once.
        let done = write.bb.insert_block_after(again)?;
        let exit = self.call_segment(&mut write, region, segment, &before, [calls, again, done])?;
        self.go_on(&mut write, region, exit, [calls, again, done])?;
        for &block in &before {
            bb.retarget_unchecked(block, region.header, calls);
        }
        self.entered.insert(region.header, calls);
        self.removed.extend(&region.blocks);
        Ok(())
    }

    /// Calls a segment, with the number of the round and what goes around in φs; gives the number of the exit that it
    /// says.
    fn call_segment(
        &mut self,
        write: &mut Writer<'_>,
        region: &Region,
        segment: &Function<BBCode>,
        before: &[BlockId],
        [calls, again, done]: [BlockId; 3],
    ) -> Result<InstId, EditError> {
        let layout = Layout::of(region);
        let mut phis: Vec<InstId> = Vec::new();
        let mut args: Vec<Operand<Ids>> = Vec::new();
        let one = Operand::from(Constant::int64(1));
        let first = before.iter().map(|&edge| (edge, Some(one.clone())));
        let rounds = write.push(calls, Stmt::phi(first), Type::INT64)?;
        args.push(Operand::Value(rounds));
        for &phi in &region.carried {
            let ty = write.bb.operand_type(&Operand::Value(phi));
            let Some(Stmt::Phi(node)) = write.bb.stmt(phi) else { continue };
            let from = |edge: &BlockId| {
                let entry = node.entries.iter().find(|entry| entry.edge == *edge);
                (*edge, entry.and_then(|entry| entry.value.clone()))
            };
            let entries: Vec<_> = before.iter().map(from).collect();
            let made = write.push(calls, Stmt::phi(entries), ty)?;
            phis.push(made);
            args.push(Operand::Value(made));
        }
        args.extend(region.inputs.iter().map(|input| input.operand.clone()));
        let called = write.call(calls, ("Main", &segment.name), args, segment.result.clone())?;

        let exit = write.element(calls, called, 0, Type::INT64)?;
        for (index, &phi) in phis.iter().enumerate() {
            let ty = write.bb.operand_type(&Operand::Value(phi));
            let part = write.element(calls, called, layout.carried + index, ty)?;
            add_entry(write.bb, phi, again, Operand::Value(part));
        }
        for (index, output) in region.outputs.iter().enumerate() {
            let ty = write.bb.operand_type(&Operand::Value(output.value));
            let part = write.element(done, called, layout.outputs + index, ty)?;
            self.outputs.insert(output.value, Operand::Value(part));
        }
        for (index, input) in region.inputs.iter().filter(|input| input.is_threaded).enumerate() {
            for block in [calls, done] {
                let part = write.element(block, called, layout.threaded + index, input.ty.clone())?;
                self.threaded.push((input.operand.clone(), part));
            }
        }
        let more = write.call(calls, ("Base", "add_int"), [Operand::Value(rounds), one], Type::INT64)?;
        add_entry(write.bb, rounds, again, Operand::Value(more));
        Ok(exit)
    }

    /// Calls the segment again where it says 0, else goes on where the loop was left by the exit of this number.
    fn go_on(
        &mut self,
        write: &mut Writer<'_>,
        region: &Region,
        exit: InstId,
        [calls, again, done]: [BlockId; 3],
    ) -> Result<(), EditError> {
        let mut after = done;
        let mut ways: Vec<BlockId> = Vec::with_capacity(region.exits.len());
        for _ in &region.exits {
            after = write.bb.insert_block_after(after)?;
            ways.push(after);
        }
        let zero = Operand::from(Constant::int64(0));
        let goes_on = write.call(calls, ("Core", "==="), [Operand::Value(exit), zero], Type::BOOL)?;
        write.push(again, Stmt::goto(calls), Type::Any)?;
        write.push(calls, Stmt::goto_if_not(Operand::Value(goes_on), done), Type::Any)?;
        write.bb.set_next(calls, Some(again))?;
        let mut from = done;
        for (index, (&way, others)) in ways.iter().zip((0..ways.len()).rev()).enumerate() {
            // The last is what is left.
            if others == 0 {
                write.push(from, Stmt::goto(way), Type::Any)?;
                break;
            }
            let number = Operand::from(index as i64 + 1);
            let takes = write.call(from, ("Core", "==="), [Operand::Value(exit), number], Type::BOOL)?;
            let other = write.bb.insert_block_after(way)?;
            write.push(from, Stmt::goto_if_not(Operand::Value(takes), other), Type::Any)?;
            write.bb.set_next(from, Some(way))?;
            from = other;
        }
        let mut changes: Vec<PhiEdgeChange> = Vec::new();
        for (&(old, target), &way) in region.exits.iter().zip(&ways) {
            self.left.insert((old, target), way);
            let target = self.entered.get(&target).copied().unwrap_or(target);
            write.push(way, Stmt::goto(target), Type::Any)?;
            changes.push(PhiEdgeChange { block: target, old, new: vec![way] });
        }
        write.bb.replace_phi_edges(changes);
        Ok(())
    }

    /// Removes the loops, and lets what stands behind them use what came out of the calls. What is threaded becomes
    /// a variable.
    pub(super) fn finish(mut self, bb: &mut BBCode) -> Result<(), EditError> {
        let removed: HashSet<BlockId> = self.removed.iter().copied().collect();
        let leads_into = |block: &BlockId| bb.next(*block).is_some_and(|next| removed.contains(&next));
        let left: Vec<BlockId> = bb.blocks().filter(|block| !removed.contains(block) && leads_into(block)).collect();
        // Control does not fall out of these: what does was redirected.
        for block in left {
            bb.set_next(block, None)?;
        }
        for block in std::mem::take(&mut self.removed) {
            bb.remove_block_unchecked(block)?;
        }
        let outputs = std::mem::take(&mut self.outputs);
        let part = |operand: &Operand<Ids>| operand.as_value().and_then(|value| outputs.get(&value)).cloned();
        bb.for_each_operand_mut(|operand| {
            if let Some(part) = part(operand) {
                *operand = part;
            }
        });
        let mut variables = Variables::default();
        for (operand, out) in std::mem::take(&mut self.threaded) {
            variables.add(part(&operand).unwrap_or(operand), out);
        }
        variables.write(bb)
    }
}

fn add_entry(bb: &mut BBCode, phi: InstId, edge: BlockId, value: Operand<Ids>) {
    if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
        phi.entries.push(PhiEntry { edge, value: Some(value) });
    }
}

/// Values that become variables: each is set where it is computed, and anew behind each segment it goes through.
#[derive(Default)]
struct Variables {
    values: HashMap<InstId, usize>,
    arguments: HashMap<Argument, usize>,
    variables: Vec<(Operand<Ids>, Vec<InstId>)>,
}

impl Variables {
    fn add(&mut self, operand: Operand<Ids>, out: InstId) {
        let next = self.variables.len();
        let index = match &operand {
            Operand::Value(value) => *self.values.entry(*value).or_insert(next),
            Operand::Argument(argument) => *self.arguments.entry(*argument).or_insert(next),
            _ => return,
        };
        match self.variables.get_mut(index) {
            Some((_, outs)) => outs.push(out),
            None => self.variables.push((operand, vec![out])),
        }
    }

    fn of(&self, operand: &Operand<Ids>) -> Option<usize> {
        match operand {
            Operand::Value(value) => self.values.get(value).copied(),
            Operand::Argument(argument) => self.arguments.get(argument).copied(),
            _ => None,
        }
    }

    fn write(&self, bb: &mut BBCode) -> Result<(), EditError> {
        let Some(entry) = bb.entry().filter(|_| !self.variables.is_empty()) else { return Ok(()) };
        // Uses that were there before: on edges, for φs.
        let mut uses: Vec<(InstId, Option<BlockId>, usize)> = Vec::new();
        for (id, inst) in bb.all_insts() {
            match &inst.stmt {
                Stmt::Phi(phi) => {
                    for entry in &phi.entries {
                        let variable = entry.value.as_ref().and_then(|value| self.of(value));
                        uses.extend(variable.map(|variable| (id, Some(entry.edge), variable)));
                    }
                }
                stmt => {
                    let mut seen = HashSet::new();
                    stmt.for_each_operand(&mut |operand| {
                        let variable = self.of(operand).filter(|variable| seen.insert(*variable));
                        uses.extend(variable.map(|variable| (id, None, variable)));
                    });
                }
            }
        }
        let own = |name: &str, args: Vec<Operand<Ids>>| Stmt::call(Operand::global("BBKit", name), args);
        let mut slots: Vec<(Operand<Ids>, Type)> = Vec::new();
        let mut last = None;
        for (operand, outs) in &self.variables {
            let ty = bb.operand_type(operand);
            let new = own("new_slot", vec![Operand::Constant(Constant::of_type(ty.clone()))]);
            let new = NewInstruction::new(new, Type::slot(ty.clone()));
            let made = match last {
                Some(last) => bb.insert_after(last, new)?,
                None => bb.insert_at_start(entry, new)?,
            };
            last = Some(made);
            let slot = Operand::Value(made);
            slots.push((slot.clone(), ty));
            for &out in outs {
                let set = own("slot_set!", vec![slot.clone(), Operand::Value(out)]);
                bb.insert_after(out, NewInstruction::new(set, Type::Nothing))?;
            }
        }
        for (index, (operand, _)) in self.variables.iter().enumerate() {
            let Some((slot, _)) = slots.get(index) else { continue };
            let set = NewInstruction::new(own("slot_set!", vec![slot.clone(), operand.clone()]), Type::Nothing);
            match operand.as_value() {
                // Behind all φs.
                Some(value) if matches!(bb.stmt(value), Some(Stmt::Phi(_))) => {
                    let Some(block) = bb.block_of(value) else { continue };
                    bb.insert_at_start(block, set)?;
                }
                Some(value) => {
                    bb.insert_after(value, set)?;
                }
                None => match last {
                    Some(last) => drop(bb.insert_after(last, set)?),
                    None => continue,
                },
            }
        }
        for (id, edge, variable) in uses {
            let Some((slot, ty)) = slots.get(variable) else { continue };
            let get = NewInstruction::new(own("slot_get", vec![slot.clone()]), ty.clone());
            let got = Operand::Value(match edge {
                Some(edge) => bb.insert_before_terminator(edge, get)?,
                None => bb.insert_before(id, get)?,
            });
            let Some(inst) = bb.inst_mut(id) else { continue };
            match (&mut inst.stmt, edge) {
                (Stmt::Phi(phi), Some(edge)) => {
                    for entry in phi.entries.iter_mut().filter(|entry| entry.edge == edge) {
                        entry.value = Some(got.clone());
                    }
                }
                (stmt, _) => stmt.for_each_operand_mut(&mut |operand| {
                    if self.of(operand) == Some(variable) {
                        *operand = got.clone();
                    }
                }),
            }
        }
        Ok(())
    }
}
