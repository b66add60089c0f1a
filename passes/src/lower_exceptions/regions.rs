//! Which handler takes the exceptions of a block, and whether an exception is being handled there.

use bbcode::{BBCode, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::{HandlerStyle, Head, Operand, Stmt, left_handlers};

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
    /// Whether an exception may be being handled. Behind a `finally` it may still be, if there was one.
    handled: bool,
}

/// What holds in the blocks that are reached.
#[derive(Debug, Default)]
pub(super) struct Regions {
    blocks: HashMap<BlockId, Here>,
    /// By the statement that enters a handler, whether an exception may be being handled there.
    enters: HashMap<InstId, bool>,
}

impl Regions {
    /// As error, a block to which several ways lead with different handlers, or of which a handler is entered or left
    /// in the middle.
    pub(super) fn of(bb: &BBCode) -> Result<Regions, BlockId> {
        let mut regions = Regions::default();
        // What is known of enters grows, too, and with it what is known behind what ends their exceptions.
        let style = HandlerStyle::of(bb.all_insts().map(|(_, inst)| &inst.stmt));
        while regions.go(bb, style)? {}
        Ok(regions)
    }

    /// Goes through the blocks once. True if more may be being handled at an enter than was known before.
    fn go(&mut self, bb: &BBCode, style: HandlerStyle) -> Result<bool, BlockId> {
        let mut grown = false;
        self.blocks.clear();
        let mut work: Vec<(BlockId, Here)> = bb.entry().map(|entry| (entry, Here::default())).into_iter().collect();
        while let Some((block, here)) = work.pop() {
            match self.blocks.get(&block) {
                Some(known) if known.entered != here.entered => return Err(block),
                Some(known) if known.handled || !here.handled => continue,
                _ => {}
            }
            self.blocks.insert(block, here.clone());
            let mut on = here;
            let mut insts = bb.insts(block).peekable();
            while let Some((id, inst)) = insts.next() {
                let ends = insts.peek().is_none();
                match &inst.stmt {
                    Stmt::Enter(_) if !ends => return Err(block),
                    Stmt::Enter(enter) => {
                        let known = self.enters.entry(id).or_default();
                        grown |= on.handled && !*known;
                        *known |= on.handled;
                        let caught = enter.catch_dest.map(|catch| {
                            let mut caught = on.clone();
                            if style.catch_block_leaves(bb.insts(catch).map(|(_, inst)| &inst.stmt)) {
                                caught.entered.push(Entered::Idle);
                            }
                            caught.handled = true;
                            (catch, caught)
                        });
                        on.entered.push(if caught.is_some() { Entered::Catching(id) } else { Entered::Idle });
                        work.extend(caught);
                    }
                    Stmt::Expr(expr) if expr.head == Head::Leave => {
                        if !ends {
                            return Err(block);
                        }
                        let left = left_handlers(&expr.args, |value: InstId| bb.stmt(value));
                        on.entered.truncate(on.entered.len().saturating_sub(left));
                    }
                    Stmt::Expr(expr) if expr.head == Head::PopException => self.pop(&mut on.handled, &expr.args),
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
        Ok(grown)
    }

    /// What is being handled when an exception is over: what was when its handler was entered.
    fn pop(&self, handled: &mut bool, args: &[Operand<Ids>]) {
        if let Some(at_enter) = ended(args).and_then(|enter| self.enters.get(&enter)) {
            *handled = *at_enter;
        }
    }

    /// Whether a block is reached.
    pub(super) fn reaches(&self, block: BlockId) -> bool {
        self.blocks.contains_key(&block)
    }

    /// The statement that entered the handler which takes the exceptions of a block, if one does.
    pub(super) fn handler(&self, block: BlockId) -> Option<InstId> {
        let entered = &self.blocks.get(&block)?.entered;
        entered.iter().rev().find_map(|handler| match handler {
            Entered::Catching(enter) => Some(*enter),
            Entered::Idle => None,
        })
    }

    /// Whether an exception may be being handled where this statement enters a handler.
    pub(super) fn is_entered_while_handling(&self, enter: InstId) -> bool {
        self.enters.get(&enter).is_some_and(|handled| *handled)
    }

    /// Whether an exception may be being handled at a statement of a block.
    pub(super) fn is_handling(&self, bb: &BBCode, block: BlockId, at: InstId) -> bool {
        let mut handled = self.blocks.get(&block).is_some_and(|here| here.handled);
        for (_, inst) in bb.insts(block).take_while(|(id, _)| *id != at) {
            if let Stmt::Expr(expr) = &inst.stmt
                && expr.head == Head::PopException
            {
                self.pop(&mut handled, &expr.args);
            }
        }
        handled
    }
}

/// The statement that entered the handler of the exception that ends with a `pop_exception` of these operands.
pub(super) fn ended(args: &[Operand<Ids>]) -> Option<InstId> {
    args.first().and_then(Operand::as_value)
}
