//! The way that the rounds of a loop are expected to take: of two ways on which both the loop goes on, the longer one.
//!
//! Special cases are mostly shorter than what they are exceptions of (Ball and Larus, "Branch prediction for free",
//! 1993, have more such rules). What a branch must compare so that it is taken is checked, and a round that takes
//! another way leaves the code for this one. It is a trace in the sense of Fisher ("Trace scheduling", 1981), with
//! nothing to be put right where it is left.

use hashbrown::HashMap;
use ircode::{Constant, GotoIfNot, Operand, Positions, Stmt};

use super::{CountedLoop, Finder};

/// Loops of more blocks have no way that is worth it.
const MOST_BLOCKS: usize = 64;

/// A block on the way, the one before it, and what the condition of its branch must be if that has to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) from: Option<usize>,
    pub(crate) holds: Option<bool>,
    /// Whether the other way of the branch goes on, too.
    pub(crate) forks: bool,
}

/// The way through a loop from its header back to it; `None` if there is none, or it may end elsewhere than at the
/// loop's test.
pub(crate) fn path(finder: &Finder<'_>, found: &CountedLoop, members: &[usize]) -> Option<Vec<Visit>> {
    let mut paths = Paths { finder, found, lengths: HashMap::new(), constants: HashMap::new() };
    if members.len() <= MOST_BLOCKS {
        // Each block comes after those that dominate it, so that what follows a block is mostly measured before it.
        for _ in 0..2 {
            members.iter().rev().for_each(|block| paths.measure(*block));
        }
    }
    let mut visits: Vec<Visit> = Vec::with_capacity(members.len());
    let (mut block, mut from) = (found.header, None);
    loop {
        if visits.len() == members.len() {
            return None;
        }
        paths.learn(block, from);
        let (next, holds, forks) = paths.next(block)?;
        visits.push(Visit { block, from, holds, forks });
        if next == found.header {
            return Some(visits);
        }
        if !finder.has_block(next) {
            return None;
        }
        (block, from) = (next, Some(block));
    }
}

struct Paths<'a> {
    finder: &'a Finder<'a>,
    found: &'a CountedLoop,
    /// The statements on the longest way from a block to the header.
    lengths: HashMap<usize, usize>,
    /// The values of φs that are constant on the way.
    constants: HashMap<usize, Constant>,
}

impl Paths<'_> {
    fn last(&self, block: usize) -> Option<&Stmt<Positions>> {
        let last = self.finder.ir.cfg.blocks.get(block)?.stmts.clone().next_back()?;
        self.finder.ir.stmts.stmts().get(last)
    }

    /// Whether a block outside of the loop does nothing but fail.
    fn fails(&self, block: usize) -> bool {
        let unreachable = matches!(self.last(block), Some(Stmt::Return(end)) if end.value.is_none());
        unreachable && !self.finder.has_block(block)
    }

    fn measure(&mut self, block: usize) {
        let length = |to: Option<usize>| to.and_then(|to| self.lengths.get(&to)).copied().unwrap_or(0);
        let further = match self.last(block) {
            Some(Stmt::Goto(goto)) => length(goto.label.index().filter(|to| *to != self.found.header)),
            Some(Stmt::GotoIfNot(branch)) => length(Some(block + 1)).max(length(branch.dest.index())),
            _ => length(Some(block + 1)),
        };
        let own = self.finder.ir.cfg.blocks.get(block).map_or(0, |block| block.stmts.len());
        self.lengths.insert(block, own + further);
    }

    /// Remembers the φs of a block that are constant, coming from another one.
    fn learn(&mut self, block: usize, from: Option<usize>) {
        let statements = self.finder.ir.cfg.blocks.get(block).map(|block| block.stmts.clone());
        for statement in statements.into_iter().flatten() {
            let Some(Stmt::Phi(phi)) = self.finder.ir.stmts.stmts().get(statement) else { continue };
            let mut entries = phi.entries.iter().filter(|entry| entry.edge.index() == from);
            let constant = match entries.next().and_then(|entry| entry.value.as_ref()) {
                Some(Operand::Constant(constant)) if from.is_some() => Some(constant.clone()),
                Some(Operand::Value(value)) if from.is_some() => {
                    value.index().and_then(|value| self.constants.get(&value)).cloned()
                }
                _ => None,
            };
            match constant {
                Some(constant) => self.constants.insert(statement, constant),
                None => self.constants.remove(&statement),
            };
        }
    }

    /// The next block on the way, what a condition must be for that, and whether the loop also goes on if it is not.
    fn next(&self, block: usize) -> Option<(usize, Option<bool>, bool)> {
        let branch = match self.last(block)? {
            Stmt::GotoIfNot(_) if block == self.found.test => return Some((self.found.stays, None, false)),
            Stmt::GotoIfNot(branch) => branch,
            Stmt::Return(_) => return None,
            Stmt::Goto(goto) => return Some((goto.label.index()?, None, false)),
            _ => return Some((block + 1, None, false)),
        };
        let (on, off) = (block + 1, branch.dest.index()?);
        if let Some(known) = self.known(branch) {
            return Some((if known { on } else { off }, None, false));
        }
        let (holds, forks) = match (self.fails(on), self.fails(off)) {
            (true, false) => (false, false),
            (false, true) => (true, false),
            _ => (self.lengths.get(&on)? >= self.lengths.get(&off)?, true),
        };
        Some((if holds { on } else { off }, Some(holds), forks))
    }

    /// What the condition of a branch is on this way, if it compares a φ that is constant there.
    fn known(&self, branch: &GotoIfNot<Positions>) -> Option<bool> {
        let Operand::Value(condition) = &branch.cond else { return None };
        let stmt = self.finder.ir.stmts.stmts().get(condition.index()?)?;
        let (primitive, args) = self.finder.module.primitive_call(stmt)?;
        let constant = |operand: &Operand<Positions>| match operand {
            Operand::Constant(constant) => Some(constant.clone()),
            Operand::Value(value) => self.constants.get(&value.index()?).cloned(),
            _ => None,
        };
        match (primitive.name, args) {
            ("===", [a, b]) => match (constant(a)?, constant(b)?) {
                (Constant::Scalar(a), Constant::Scalar(b)) => Some(a == b),
                _ => None,
            },
            ("not_int", [negated]) => match constant(negated)? {
                Constant::Scalar(ircode::Scalar::Bool(value)) => Some(!value),
                _ => None,
            },
            _ => None,
        }
    }
}
