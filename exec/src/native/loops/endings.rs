//! What is used behind a loop, and how it is had where the loop was left by a turn of rounds: there only the φs of its
//! header are known, as another round would find them.

use hashbrown::HashMap;
use ircode::graph::LoopForest;
use ircode::{IRCode, Operand};

use super::Finder;

/// A value of the last round: what a φ of the header would be in the next one, or so much less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    pub(crate) statement: usize,
    pub(crate) phi: usize,
    pub(crate) less: i64,
}

/// By the headers of innermost loops: the statements in them whose values are used behind them.
pub(crate) fn used_behind(ir: &IRCode, loops: &LoopForest) -> HashMap<usize, Vec<usize>> {
    let mut block_of = vec![0; ir.stmts.len()];
    for (number, block) in ir.cfg.blocks.iter().enumerate() {
        block_of.get_mut(block.stmts.clone()).into_iter().for_each(|these| these.fill(number));
    }
    let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
    for (stmt, user) in ir.stmts.stmts().iter().zip(&block_of) {
        stmt.for_each_operand(&mut |operand| {
            if let Operand::Value(value) = operand
                && let Some(statement) = value.index()
                && let Some(id) = block_of.get(statement).and_then(|block| loops.innermost(*block))
                && !loops.contains(id, *user)
                && let Some(left) = loops.get(id)
            {
                behind.entry(left.header).or_default().push(statement);
            }
        });
    }
    for statements in behind.values_mut() {
        statements.sort_unstable();
        statements.dedup();
    }
    behind
}

/// How these statements are had from the φs of the loop's header; `None` if one of them cannot be.
pub(crate) fn endings(finder: &Finder<'_>, behind: &[usize]) -> Option<Vec<Ending>> {
    let types = finder.ir.stmts.types();
    let header = finder.header_statements();
    let mut by_next: HashMap<usize, usize> = HashMap::new();
    for phi in header {
        if let Some(Operand::Value(next)) = finder.next_of(phi)
            && let Some(next) = next.index()
        {
            by_next.entry(next).or_insert(phi);
        }
    }
    let ending = |&statement: &usize| {
        if let Some((_, step)) = finder.variables.get(&statement) {
            return Some(Ending { statement, phi: statement, less: *step });
        }
        let phi = *by_next.get(&statement)?;
        (types.get(statement) == types.get(phi)).then_some(Ending { statement, phi, less: 0 })
    };
    behind.iter().map(ending).collect()
}
