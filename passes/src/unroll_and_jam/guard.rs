//! What must hold before several rounds are run at once.

use bbcode::{BlockId, EditError, Ids};
use ircode::{Constant, Operand, Type};

use super::nests::{Load, MOST_ROUNDS, Nest};
use super::rows::{Rows, Writer};

/// A call with two operands, and what it gives.
struct Made {
    name: &'static str,
    args: [Operand<Ids>; 2],
    value: Operand<Ids>,
}

/// A condition that is put together.
struct Guard<'w, 'a> {
    writer: &'w mut Writer<'a>,
    rows: &'w mut Rows,
    nest: &'w Nest<'w>,
    at: BlockId,
    holds: Operand<Ids>,
    /// Conditions, and what they must be.
    required: Vec<(Operand<Ids>, bool)>,
    lengths: Vec<(Operand<Ids>, Operand<Ids>)>,
    /// What calls have given.
    made: Vec<Made>,
}

/// Computes, at the end of a block in front of the inner loop, the number of its last round, counted from 0, in so many
/// rounds of the outer loop from this one on: the same operand where it is the same.
pub(super) fn lasts(
    writer: &mut Writer<'_>,
    rows: &mut Rows,
    nest: &Nest<'_>,
    at: BlockId,
    rounds: usize,
) -> Result<Vec<Operand<Ids>>, EditError> {
    let inner = &nest.inner;
    let counter = inner.carried.iter().find(|carried| carried.phi == inner.counter);
    let first = counter.map(|counter| &counter.start).ok_or(EditError::NoSuchInst(inner.counter))?;
    let upwards = inner.step(writer.bb, writer.module, inner.counter) == Some(1);
    let mut lasts: Vec<Operand<Ids>> = Vec::new();
    let mut before = None;
    for later in 0..rounds {
        let first = rows.operand(writer, nest, at, first, later)?;
        let bound = rows.operand(writer, nest, at, &inner.bound, later)?;
        let ends = if upwards { [bound, first] } else { [first, bound] };
        let last = match lasts.last().filter(|_| before.as_ref() == Some(&ends)) {
            Some(last) => last.clone(),
            None => writer.call(at, "sub_int", ends.clone(), Type::INT64)?,
        };
        lasts.push(last);
        before = Some(ends);
    }
    Ok(lasts)
}

/// Computes whether so many other rounds of the outer loop follow, all run the inner loop, the one that leads not more
/// often than the others, all that they load is there, and nothing of it is what the rest of a round stores. Given are
/// the numbers of the last rounds of the inner loop.
pub(super) fn guard(
    writer: &mut Writer<'_>,
    rows: &mut Rows,
    nest: &Nest<'_>,
    at: BlockId,
    lasts: &[Operand<Ids>],
    lead: usize,
) -> Result<Operand<Ids>, EditError> {
    let (outer, inner) = (&nest.outer, &nest.inner);
    let holds = Constant::bool(true).into();
    let mut guard =
        Guard { writer, rows, nest, at, holds, required: Vec::new(), lengths: Vec::new(), made: Vec::new() };
    for later in 1..lasts.len() {
        let condition = guard.rows.operand(guard.writer, nest, at, &outer.goes_on.0, later - 1)?;
        guard.require(condition, outer.goes_on.1)?;
        if let Some((condition, entered)) = &nest.entered {
            let condition = guard.rows.operand(guard.writer, nest, at, condition, later)?;
            guard.require(condition, *entered)?;
        }
    }
    let least = lasts.get(lead).cloned().unwrap_or(Operand::from(0));
    guard.in_order(&Operand::from(0), &least)?;
    for (later, last) in lasts.iter().enumerate() {
        if *last != least {
            guard.in_order(&least, last)?;
        }
        if later == lead || *last != least {
            guard.in_order(last, &Operand::from(MOST_ROUNDS))?;
        }
    }
    for (a, b) in &nest.disjoint {
        let shares = guard.call("mightalias", [a.clone(), b.clone()], Type::BOOL)?;
        guard.require(shares, false)?;
    }
    for load in inner.loads(guard.writer.bb, guard.writer.module) {
        for (later, last) in lasts.iter().enumerate() {
            for (dimension, index) in load.indices.iter().enumerate() {
                let first = guard.index(index, later, None)?;
                let end = guard.index(index, later, Some(last))?;
                guard.inside(&load, dimension, &first)?;
                if end != first {
                    guard.inside(&load, dimension, &end)?;
                }
            }
        }
    }
    for load in &nest.loaded_before {
        for later in 1..lasts.len() {
            for (dimension, index) in load.indices.iter().enumerate() {
                let index = guard.rows.operand(guard.writer, nest, at, index, later)?;
                guard.inside(load, dimension, &index)?;
            }
        }
    }
    Ok(guard.holds)
}

impl Guard<'_, '_> {
    /// A call with two operands, made once.
    fn call(&mut self, name: &'static str, args: [Operand<Ids>; 2], ty: Type) -> Result<Operand<Ids>, EditError> {
        if let Some(made) = self.made.iter().find(|made| made.name == name && made.args == args) {
            return Ok(made.value.clone());
        }
        let value = self.writer.call(self.at, name, args.clone(), ty)?;
        self.made.push(Made { name, args, value: value.clone() });
        Ok(value)
    }

    fn require(&mut self, condition: Operand<Ids>, holds: bool) -> Result<(), EditError> {
        let yes = |condition: &Operand<Ids>| *condition == Operand::from(Constant::bool(true));
        let required = (condition.clone(), holds);
        if self.required.contains(&required) {
            return Ok(());
        }
        self.required.push(required);
        let condition = match holds {
            true => condition,
            false => self.writer.call(self.at, "not_int", [condition], Type::BOOL)?,
        };
        if yes(&self.holds) {
            self.holds = condition;
        } else if !yes(&condition) {
            self.holds = self.writer.call(self.at, "and_int", [self.holds.clone(), condition], Type::BOOL)?;
        }
        Ok(())
    }

    fn in_order(&mut self, less: &Operand<Ids>, more: &Operand<Ids>) -> Result<(), EditError> {
        let fine = self.call("sle_int", [less.clone(), more.clone()], Type::BOOL)?;
        self.require(fine, true)
    }

    /// An index in the first round of the inner loop, or in the one of this number.
    fn index(
        &mut self,
        index: &Operand<Ids>,
        later: usize,
        round: Option<&Operand<Ids>>,
    ) -> Result<Operand<Ids>, EditError> {
        let inner = &self.nest.inner;
        let Some(value) = index.as_value().filter(|_| !inner.is_outside(index)) else {
            return self.rows.operand(self.writer, self.nest, self.at, index, later);
        };
        if let Some(carried) = inner.carried.iter().find(|carried| carried.phi == value) {
            let first = self.rows.operand(self.writer, self.nest, self.at, &carried.start, later)?;
            let Some(round) = round else { return Ok(first) };
            let way = match inner.step(self.writer.bb, self.writer.module, value).unwrap_or(0) {
                1 => round.clone(),
                step => self.call("mul_int", [round.clone(), Operand::from(step)], Type::INT64)?,
            };
            return self.call("add_int", [first, way], Type::INT64);
        }
        let stmt = self.writer.bb.stmt(value).cloned().ok_or(EditError::NoSuchInst(value))?;
        let Some((primitive, [a, b])) = self.writer.module.primitive_call(&stmt) else {
            return Err(EditError::NoSuchInst(value));
        };
        let (a, b) = (self.index(a, later, round)?, self.index(b, later, round)?);
        self.call(primitive.name, [a, b], Type::INT64)
    }

    /// The length of an array, asked once.
    fn length(&mut self, array: Operand<Ids>) -> Result<Operand<Ids>, EditError> {
        if let Some((_, length)) = self.lengths.iter().find(|(of, _)| *of == array) {
            return Ok(length.clone());
        }
        let length = self.writer.call(self.at, "arraylen", [array.clone()], Type::INT64)?;
        self.lengths.push((array, length.clone()));
        Ok(length)
    }

    fn inside(&mut self, load: &Load, dimension: usize, index: &Operand<Ids>) -> Result<(), EditError> {
        let array = load.array.clone();
        let size = match load.indices.len() {
            1 => self.length(array)?,
            _ => self.call("arraysize", [array, Operand::from(dimension as i64 + 1)], Type::INT64)?,
        };
        if index.as_int64().is_some_and(|index| index > 0) {
            return self.in_order(index, &size);
        }
        // Less than 1 is more than any size, without a sign.
        let at = self.call("sub_int", [index.clone(), Operand::from(1)], Type::INT64)?;
        let fine = self.call("ult_int", [at, size], Type::BOOL)?;
        self.require(fine, true)
    }
}
