//! Which handler takes the exceptions of a block, and which exceptions are being handled there.

use bbcode::{BBCode, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, Head, Operand, Stmt};

/// A handler that has been entered and not been left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entered {
    /// By this statement, to catch.
    Catching(InstId),
    /// It catches nothing, or has caught already and waits to be left.
    Idle,
}

/// What holds where a block starts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Here {
    /// The handlers that have been entered, the innermost last.
    entered: Vec<Entered>,
    /// The statements that entered the handlers of which the exceptions are being handled, the latest last.
    handled: Vec<InstId>,
}

/// By block, as far as they are reached.
#[derive(Debug)]
pub(super) struct Regions(HashMap<BlockId, Here>);

impl Regions {
    /// As error, a block to which several ways lead with different handlers, or of which a handler is entered or left
    /// in the middle.
    pub(super) fn of(bb: &BBCode) -> Result<Regions, BlockId> {
        let mut found: HashMap<BlockId, Here> = HashMap::new();
        let mut work: Vec<(BlockId, Here)> = bb.entry().map(|entry| (entry, Here::default())).into_iter().collect();
        while let Some((block, here)) = work.pop() {
            let here = match found.get(&block) {
                Some(known) if known.entered != here.entered => return Err(block),
                Some(known) if is_part(&here.handled, &known.handled) => continue,
                // Behind a `finally` it is still being handled if there was one: in a loop, that of the round before,
                // too.
                Some(known) if is_part(&known.handled, &here.handled) => here,
                Some(_) => return Err(block),
                None => here,
            };
            found.insert(block, here.clone());
            let mut on = here;
            let mut insts = bb.insts(block).peekable();
            while let Some((id, inst)) = insts.next() {
                let ends = insts.peek().is_none();
                match &inst.stmt {
                    Stmt::Enter(_) if !ends => return Err(block),
                    Stmt::Enter(enter) => {
                        let caught = enter.catch_dest.map(|catch| {
                            let mut caught = on.clone();
                            if catch_block_leaves(bb, catch) {
                                caught.entered.push(Entered::Idle);
                            }
                            // In a loop it may be the second time, with the first one not yet over.
                            forget(&mut caught.handled, Some(id));
                            caught.handled.push(id);
                            (catch, caught)
                        });
                        on.entered.push(if caught.is_some() { Entered::Catching(id) } else { Entered::Idle });
                        work.extend(caught);
                    }
                    Stmt::Expr(expr) if expr.head == Head::Leave => {
                        if !ends {
                            return Err(block);
                        }
                        on.entered.truncate(on.entered.len().saturating_sub(left(bb, &expr.args)));
                    }
                    Stmt::Expr(expr) if expr.head == Head::PopException => pop(&mut on.handled, &expr.args),
                    _ => {}
                }
            }
            let catch = bb.terminator(block).and_then(|(_, inst)| match &inst.stmt {
                Stmt::Enter(enter) => enter.catch_dest,
                _ => None,
            });
            let next = bb.successors(block).into_iter().filter(|next| Some(*next) != catch);
            work.extend(next.map(|next| (next, on.clone())));
        }
        Ok(Regions(found))
    }

    /// Whether a block is reached.
    pub(super) fn reaches(&self, block: BlockId) -> bool {
        self.0.contains_key(&block)
    }

    /// The statement that entered the handler which takes the exceptions of a block, if one does.
    pub(super) fn handler(&self, block: BlockId) -> Option<InstId> {
        let entered = &self.0.get(&block)?.entered;
        entered.iter().rev().find_map(|handler| match handler {
            Entered::Catching(enter) => Some(*enter),
            Entered::Idle => None,
        })
    }

    /// The statement that entered the handler of which the exception is the current one at a statement of a block.
    pub(super) fn handled(&self, bb: &BBCode, block: BlockId, at: InstId) -> Option<InstId> {
        let mut handled = self.0.get(&block)?.handled.clone();
        for (_, inst) in bb.insts(block).take_while(|(id, _)| *id != at) {
            if let Stmt::Expr(expr) = &inst.stmt
                && expr.head == Head::PopException
            {
                pop(&mut handled, &expr.args);
            }
        }
        handled.last().copied()
    }
}

fn pop(handled: &mut Vec<InstId>, args: &[Operand<Ids>]) {
    forget(handled, args.first().and_then(Operand::as_value));
}

/// Whether all exceptions of one list are in the other, in the same order.
fn is_part(some: &[InstId], all: &[InstId]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|exception| rest.any(|other| other == exception))
}

/// Forgets the exception of a handler, and those that came later.
fn forget(handled: &mut Vec<InstId>, token: Option<InstId>) {
    if let Some(place) = handled.iter().rposition(|enter| Some(*enter) == token) {
        handled.truncate(place);
    }
}

/// Whether a catch block starts by leaving its handler, as it does up to Julia 1.10.
fn catch_block_leaves(bb: &BBCode, catch: BlockId) -> bool {
    let mut insts = bb.insts(catch).map(|(_, inst)| &inst.stmt);
    let first = insts.find(|stmt| !(matches!(stmt, Stmt::PhiC(_) | Stmt::Phi(_)) || stmt.is_nothing()));
    matches!(first, Some(Stmt::Expr(expr)) if expr.head == Head::Leave
        && matches!(expr.args.first(), Some(Operand::Constant(Constant::Scalar(_)))))
}

/// How many handlers a `leave` of these operands leaves.
fn left(bb: &BBCode, args: &[Operand<Ids>]) -> usize {
    // A token whose enter was removed is `nothing`.
    let is_token = |operand: &&Operand<Ids>| {
        operand.as_value().and_then(|value| bb.stmt(value)).is_some_and(|stmt| matches!(stmt, Stmt::Enter(_)))
    };
    match args.first() {
        Some(Operand::Constant(Constant::Scalar(count))) => usize::try_from(count.to_i128()).unwrap_or(0),
        _ => args.iter().filter(is_token).count(),
    }
}
