//! What a round of the outer loop and the one after it compute in the inner loop.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{LineInfo, Module, NewInstruction, Operand, PhiEntry, Stmt, Type};

use super::nests::{Inner, Nest, load};
use crate::constant_folding::folded;

/// What values are in a round.
pub(super) type Names = HashMap<InstId, Operand<Ids>>;

/// Statements at the ends of blocks.
pub(super) struct Writer<'a> {
    pub(super) bb: &'a mut BBCode,
    pub(super) module: &'a Module<BBCode>,
    pub(super) line: LineInfo,
}

impl Writer<'_> {
    pub(super) fn push(&mut self, block: BlockId, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        self.bb.push(block, NewInstruction::new(stmt, ty).with_line(self.line))
    }

    /// A call of a function of `Base`, or what it gives, if that is known.
    pub(super) fn call(
        &mut self,
        block: BlockId,
        name: &str,
        args: impl IntoIterator<Item = Operand<Ids>>,
        ty: Type,
    ) -> Result<Operand<Ids>, EditError> {
        let stmt = Stmt::call(Operand::global("Base", name), args);
        let known =
            self.module.primitive_call(&stmt).and_then(|(primitive, args)| folded(self.module, primitive, args));
        match known {
            Some(known) => Ok(known),
            None => self.push(block, stmt, ty).map(Operand::Value),
        }
    }

    /// A copy of a statement, with other names.
    pub(super) fn copy(&mut self, block: BlockId, id: InstId, names: &Names) -> Result<Operand<Ids>, EditError> {
        let Some(inst) = self.bb.inst(id).cloned() else { return Err(EditError::NoSuchInst(id)) };
        let mut copy = inst;
        copy.stmt.for_each_operand_mut(&mut |operand| *operand = named(names, operand));
        let copy = NewInstruction { line: Some(copy.line), flag: copy.flag, ..NewInstruction::new(copy.stmt, copy.ty) };
        self.bb.push(block, copy).map(Operand::Value)
    }

    pub(super) fn goto(&mut self, from: BlockId, to: BlockId) -> Result<(), EditError> {
        self.push(from, Stmt::goto(to), Type::Any).map(drop)
    }

    /// Lets a block go to one block if a condition holds, and to the other if not.
    pub(super) fn branch(
        &mut self,
        from: BlockId,
        condition: Operand<Ids>,
        if_true: BlockId,
        if_false: BlockId,
    ) -> Result<(), EditError> {
        self.push(from, Stmt::goto_if_not(condition, if_false), Type::Any)?;
        self.bb.set_next(from, Some(if_true))
    }
}

/// What an operand is called.
pub(super) fn named(names: &Names, operand: &Operand<Ids>) -> Operand<Ids> {
    operand.as_value().and_then(|value| names.get(&value)).unwrap_or(operand).clone()
}

/// What values outside of the inner loop are in a round of the outer one and in those after it.
pub(super) struct Rows(Vec<Names>);

impl Rows {
    pub(super) fn new(rounds: usize) -> Self {
        Rows(vec![Names::new(); rounds])
    }

    /// What is known of the round that comes so much later.
    pub(super) fn of(&self, later: usize) -> Names {
        self.0.get(later).cloned().unwrap_or_default()
    }

    /// Computes what an operand is in the round that comes so much later, where the inner loop is entered.
    pub(super) fn operand(
        &mut self,
        writer: &mut Writer<'_>,
        nest: &Nest<'_>,
        at: BlockId,
        operand: &Operand<Ids>,
        later: usize,
    ) -> Result<Operand<Ids>, EditError> {
        let Some(value) = operand.as_value() else { return Ok(operand.clone()) };
        if let Some(known) = self.0.get(later).and_then(|names| names.get(&value)) {
            return Ok(known.clone());
        }
        let block = writer.bb.block_of(value).ok_or(EditError::NoSuchInst(value))?;
        let is_there = nest.entering.contains(&block);
        let result = match (nest.outer.carried.get(&value), later.checked_sub(1)) {
            _ if !nest.outer.around.has(block) || is_there && later == 0 => operand.clone(),
            (Some(carried), Some(earlier)) => self.operand(writer, nest, at, &carried.next, earlier)?,
            _ => {
                let mut used = Vec::new();
                let stmt = writer.bb.stmt(value).ok_or(EditError::NoSuchInst(value))?;
                stmt.for_each_use(|value| used.push(value));
                let mut same = is_there && load(writer.module, stmt).is_none();
                for &value in &used {
                    let operand = Operand::Value(value);
                    same &= self.operand(writer, nest, at, &operand, later)? == operand;
                }
                match self.0.get(later).filter(|_| !same) {
                    Some(names) => writer.copy(at, value, names)?,
                    None => operand.clone(),
                }
            }
        };
        if let Some(names) = self.0.get_mut(later) {
            names.insert(value, result.clone());
        }
        Ok(result)
    }
}

/// A round of the outer loop, of which the inner one is run.
pub(super) struct Round {
    /// What values from outside are called.
    pub(super) names: Names,
    /// What the φs of the inner loop start with.
    pub(super) starts: Vec<Operand<Ids>>,
    /// The number of the last round of the inner loop, counted from 0.
    pub(super) last: Operand<Ids>,
}

/// An inner loop for one round of the outer one or for several at once.
pub(super) struct Jammed {
    /// Where control goes from the loop.
    pub(super) exit: BlockId,
    /// What the values of the loop are in each of the rounds.
    pub(super) names: Vec<Names>,
}

impl Jammed {
    /// Writes the loop behind a block that goes to it. The first of the rounds is the one that ends it.
    pub(super) fn write(
        writer: &mut Writer<'_>,
        inner: &Inner,
        before: BlockId,
        rounds: &[Round],
    ) -> Result<Self, EditError> {
        let header = writer.bb.insert_block_after(before)?;
        let latch = writer.bb.insert_block_after(header)?;
        let exit = writer.bb.insert_block_after(latch)?;
        let shared = shared(writer.bb, inner, rounds);
        let mut names: Vec<Names> = rounds.iter().map(|round| round.names.clone()).collect();
        let mut phis = Vec::new();
        for (number, carried) in inner.carried.iter().enumerate() {
            let ty = writer.bb.operand_type(&Operand::Value(carried.phi));
            let mut first = None;
            for (at, (names, round)) in names.iter_mut().zip(rounds).enumerate() {
                let name = match first.clone().filter(|_| shared.contains(&carried.phi)) {
                    Some(first) => first,
                    None => {
                        let start = round.starts.get(number).unwrap_or(&carried.start).clone();
                        let phi = writer.push(header, Stmt::phi([(before, Some(start))]), ty.clone())?;
                        phis.push((phi, at, &carried.next));
                        Operand::Value(phi)
                    }
                };
                first = first.or_else(|| Some(name.clone()));
                names.insert(carried.phi, name);
            }
        }
        for (block, statements) in [(header, &inner.body), (latch, &inner.behind)] {
            for &id in statements {
                let mut first = None;
                for names in &mut names {
                    let name = match first.clone().filter(|_| shared.contains(&id)) {
                        Some(first) => first,
                        None => writer.copy(block, id, names)?,
                    };
                    first = first.or_else(|| Some(name.clone()));
                    names.insert(id, name);
                }
            }
        }
        let condition = names.first().map_or(inner.condition.clone(), |names| named(names, &inner.condition));
        writer.branch(header, condition, exit, latch)?;
        writer.goto(latch, header)?;
        for (phi, at, next) in phis {
            let next = names.get(at).map(|names| named(names, next));
            if let Some(Stmt::Phi(phi)) = writer.bb.stmt_mut(phi) {
                phi.entries.push(PhiEntry { edge: latch, value: next });
            }
        }
        writer.goto(before, header)?;
        Ok(Jammed { exit, names })
    }
}

/// The φs and statements that are the same in all of the rounds.
fn shared(bb: &BBCode, inner: &Inner, rounds: &[Round]) -> HashSet<InstId> {
    let Some((first, others)) = rounds.split_first() else { return HashSet::new() };
    let same_outside = |operand: &Operand<Ids>| {
        others.iter().all(|other| named(&other.names, operand) == named(&first.names, operand))
    };
    let same_starts = |number: usize| others.iter().all(|other| other.starts.get(number) == first.starts.get(number));
    let of_loop = inner.body.iter().chain(&inner.behind).copied();
    let mut shared: HashSet<InstId> = of_loop.clone().collect();
    let same = inner.carried.iter().enumerate().filter(|(number, _)| same_starts(*number));
    shared.extend(same.map(|(_, carried)| carried.phi));
    // What depends on something that is not the same, until nothing else is found.
    loop {
        let is_same = |operand: &Operand<Ids>, shared: &HashSet<InstId>| match operand.as_value() {
            Some(value) if !inner.is_outside(operand) => shared.contains(&value),
            _ => same_outside(operand),
        };
        let before = shared.len();
        for id in of_loop.clone() {
            let mut same = true;
            if let Some(stmt) = bb.stmt(id) {
                stmt.for_each_use(|used| same = same && is_same(&Operand::Value(used), &shared));
            }
            if !same {
                shared.remove(&id);
            }
        }
        for carried in &inner.carried {
            if !is_same(&carried.next, &shared) {
                shared.remove(&carried.phi);
            }
        }
        if shared.len() == before {
            return shared;
        }
    }
}
