//! Puts the inner loop of several rounds in front of the inner loop of one.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{Constant, Module, NewInstruction, Operand, PhiEntry, Scalar, Stmt, Type};

use super::guard::{guard, lasts};
use super::nests::{Changes, Nest};
use super::rows::{Jammed, Names, Round, Rows, Writer, named};

/// A value of the inner loop that is used behind it.
struct Found {
    value: InstId,
    ty: Type,
    users: Vec<InstId>,
    /// What it was in the rounds that come next, as far as they were run.
    there: Vec<InstId>,
}

impl Found {
    fn zero(&self) -> Operand<Ids> {
        match self.ty.as_scalar() {
            Some(ty) => Constant::from(Scalar::from_bits(ty, 0)).into(),
            None => Constant::Nothing.into(),
        }
    }
}

/// What the results are in one round.
type Values = Vec<Operand<Ids>>;

/// The blocks in front of the inner loop and behind it.
struct Blocks {
    /// Where it is seen whether the loop has been run for this round.
    choice: BlockId,
    reuse: BlockId,
    /// Where it is seen whether several rounds can be run.
    check: BlockId,
    prepare: BlockId,
    /// In front of the loop as it was.
    single: BlockId,
    /// Where all ways come together.
    exit: BlockId,
}

impl Nest<'_> {
    /// Runs the inner loop for several rounds at once. False if it gives nothing that can be carried to other rounds.
    pub(super) fn jam(
        &mut self,
        bb: &mut BBCode,
        module: &Module<BBCode>,
        changes: &mut Changes,
    ) -> Result<bool, EditError> {
        let mut results = self.results(bb);
        if results.is_empty() || results.iter().any(|result| result.ty.as_scalar().is_none()) {
            return Ok(false);
        }
        let rounds = self.rounds;
        // The round that has the fewest rounds of the inner loop ends it.
        let lead = if self.rounds_grow(bb, module).is_some_and(|growth| growth < 0) { rounds - 1 } else { 0 };
        let line = bb.terminator(self.inner.test).map(|(_, inst)| inst.line).unwrap_or_default();
        let blocks = self.open(bb, changes)?;
        let mut writer = Writer { bb, module, line };

        // For how many rounds from this one on the loop has been run before, and what came out.
        let zero = Operand::from(0);
        let left = self.carry(&mut writer, zero.clone(), Type::INT64)?;
        for result in &mut results {
            let phis = (1..rounds).map(|_| self.carry(&mut writer, result.zero(), result.ty.clone()));
            result.there = phis.collect::<Result<_, _>>()?;
        }
        let none = Stmt::call(Operand::global("Core", "==="), [Operand::Value(left), zero.clone()]);
        let none = writer.push(blocks.choice, none, Type::BOOL)?;
        writer.branch(blocks.choice, Operand::Value(none), blocks.check, blocks.reuse)?;
        let fewer = writer.call(blocks.reuse, "sub_int", [Operand::Value(left), Operand::from(1)], Type::INT64)?;
        writer.goto(blocks.reuse, blocks.exit)?;

        let runs = self.prepare(&mut writer, &blocks, rounds, lead)?;
        let (end, found) = self.run_at_once(&mut writer, &blocks, &results, &runs, lead)?;
        writer.goto(end, blocks.exit)?;

        let meet = |writer: &mut Writer<'_>, ways: [Operand<Ids>; 3], ty: &Type| {
            let edges = [self.inner.test, blocks.reuse, end].into_iter().zip(ways.map(Some));
            let phi = NewInstruction::new(Stmt::phi(edges), ty.clone()).with_line(line);
            writer.bb.insert_at_start(blocks.exit, phi)
        };
        let others = Operand::from(rounds as i64 - 1);
        let still_left = meet(&mut writer, [zero.clone(), fewer, others], &Type::INT64)?;
        self.carry_on(&mut writer, left, zero, still_left)?;
        for (number, result) in results.iter().enumerate() {
            // What the rounds have, from this one on, and what is there when the loop was not run for others.
            let found = |later: usize| {
                found.get(later).and_then(|values| values.get(number)).cloned().unwrap_or_else(|| result.zero())
            };
            let before =
                |later: usize| result.there.get(later).map_or_else(|| result.zero(), |phi| Operand::Value(*phi));
            let this = meet(&mut writer, [Operand::Value(result.value), before(0), found(0)], &result.ty)?;
            changes.values.insert(result.value, Operand::Value(this));
            for &user in &result.users {
                if let Some(inst) = writer.bb.inst_mut(user) {
                    inst.stmt.for_each_operand_mut(&mut |operand| {
                        if operand.as_value() == Some(result.value) {
                            *operand = Operand::Value(this);
                        }
                    });
                }
            }
            for (later, &phi) in result.there.iter().enumerate() {
                let ways = [result.zero(), before(later + 1), found(later + 1)];
                let value = meet(&mut writer, ways, &result.ty)?;
                self.carry_on(&mut writer, phi, result.zero(), value)?;
            }
        }
        Ok(true)
    }

    /// Makes the blocks around the inner loop.
    fn open(&mut self, bb: &mut BBCode, changes: &mut Changes) -> Result<Blocks, EditError> {
        let inner = &self.inner;
        let single = bb.join_edges_unchecked(&[inner.before], inner.header)?;
        let exit = bb.join_edges_unchecked(&[inner.test], inner.exit)?;
        changes.edges.insert((inner.test, inner.exit), exit);
        let choice = bb.insert_block_before(single)?;
        let reuse = bb.insert_block_after(choice)?;
        let check = bb.insert_block_after(reuse)?;
        let prepare = bb.insert_block_after(check)?;
        bb.retarget_unchecked(inner.before, single, choice);
        self.update(changes);
        Ok(Blocks { choice, reuse, check, prepare, single, exit })
    }

    /// Looks whether so many rounds can be run at once, and computes what they start with. The one that leads changes
    /// places with the first.
    fn prepare(
        &self,
        writer: &mut Writer<'_>,
        blocks: &Blocks,
        rounds: usize,
        lead: usize,
    ) -> Result<Vec<Round>, EditError> {
        let mut rows = Rows::new(rounds);
        let lasts = lasts(writer, &mut rows, self, blocks.check, rounds)?;
        let holds = guard(writer, &mut rows, self, blocks.check, &lasts, lead)?;
        writer.branch(blocks.check, holds, blocks.prepare, blocks.single)?;
        let mut runs = Vec::new();
        for (later, last) in lasts.into_iter().enumerate() {
            for operand in self.inner.operands(writer.bb) {
                rows.operand(writer, self, blocks.prepare, &operand, later)?;
            }
            let starts = self.inner.carried.iter();
            let starts = starts.map(|carried| rows.operand(writer, self, blocks.prepare, &carried.start, later));
            let starts = starts.collect::<Result<Vec<_>, _>>()?;
            runs.push(Round { names: rows.of(later), starts, last });
        }
        runs.swap(0, lead);
        Ok(runs)
    }

    /// Runs the inner loop for several rounds as long as the first of them goes on, and then what is left of those that
    /// have more rounds, one after the other. Gives where that ends, and what the results are in each round.
    fn run_at_once(
        &self,
        writer: &mut Writer<'_>,
        blocks: &Blocks,
        results: &[Found],
        runs: &[Round],
        lead: usize,
    ) -> Result<(BlockId, Vec<Values>), EditError> {
        let inner = &self.inner;
        let jammed = Jammed::write(writer, inner, blocks.prepare, runs)?;
        let value = |names: &Names, result: &Found| named(names, &Operand::Value(result.value));
        let mut end = jammed.exit;
        let mut found: Vec<Values> = Vec::new();
        for (run, names) in runs.iter().zip(&jammed.names) {
            let mut values: Values = results.iter().map(|result| value(names, result)).collect();
            if let Some(first) = runs.first().filter(|first| first.last != run.last) {
                let more = writer.bb.insert_block_after(end)?;
                let mut names = names.clone();
                for &id in &inner.behind {
                    let copy = writer.copy(more, id, &names)?;
                    names.insert(id, copy);
                }
                let starts = inner.carried.iter().map(|carried| named(&names, &carried.next)).collect();
                let left = Round { names: run.names.clone(), starts, last: run.last.clone() };
                let left = Jammed::write(writer, inner, more, &[left])?;
                let done = writer.bb.insert_block_after(left.exit)?;
                let same = Stmt::call(Operand::global("Core", "==="), [first.last.clone(), run.last.clone()]);
                let same = writer.push(end, same, Type::BOOL)?;
                writer.branch(end, Operand::Value(same), done, more)?;
                writer.goto(left.exit, done)?;
                for (now, result) in values.iter_mut().zip(results) {
                    let of_left = left.names.first().map(|names| value(names, result));
                    let phi = Stmt::phi([(end, Some(now.clone())), (left.exit, of_left)]);
                    *now = Operand::Value(writer.push(done, phi, result.ty.clone())?);
                }
                end = done;
            }
            found.push(values);
        }
        found.swap(0, lead);
        Ok((end, found))
    }

    /// A φ at the header of the outer loop, which takes nothing yet from the end of a round.
    fn carry(&self, writer: &mut Writer<'_>, start: Operand<Ids>, ty: Type) -> Result<InstId, EditError> {
        let phi = NewInstruction::new(Stmt::phi([(self.outer.before, Some(start))]), ty).with_line(writer.line);
        writer.bb.insert_at_start(self.outer.header, phi)
    }

    /// Lets such a φ take a value that is there where the inner loop was left, and zero where it was passed by.
    fn carry_on(
        &self,
        writer: &mut Writer<'_>,
        phi: InstId,
        zero: Operand<Ids>,
        value: InstId,
    ) -> Result<(), EditError> {
        let value = match &self.meeting {
            None => value,
            Some(meeting) => {
                let ty = writer.bb.operand_type(&Operand::Value(value));
                let edges = [(meeting.skipped, Some(zero)), (meeting.left, Some(Operand::Value(value)))];
                let joined = NewInstruction::new(Stmt::phi(edges), ty).with_line(writer.line);
                writer.bb.insert_at_start(meeting.block, joined)?
            }
        };
        if let Some(Stmt::Phi(phi)) = writer.bb.stmt_mut(phi) {
            phi.entries.push(PhiEntry { edge: self.outer.latch, value: Some(Operand::Value(value)) });
        }
        Ok(())
    }

    /// The values of the inner loop that are used behind it.
    fn results(&self, bb: &BBCode) -> Vec<Found> {
        let inner = &self.inner;
        let of_loop = inner.carried.iter().map(|carried| carried.phi).chain(inner.body.iter().copied());
        let values: Vec<InstId> = of_loop.collect();
        let mut results = Vec::new();
        for value in values {
            let mut users = bb.users(value);
            users.dedup();
            users.retain(|&user| match bb.block_of(user) {
                Some(block) if block == inner.header || block == inner.test => false,
                _ => inner.is_outside(&Operand::Value(user)),
            });
            if !users.is_empty() {
                let ty = bb.operand_type(&Operand::Value(value));
                results.push(Found { value, ty, users, there: Vec::new() });
            }
        }
        results
    }
}
