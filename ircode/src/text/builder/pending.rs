//! Nodes that are pending in a listing: statements that were inserted, and get their numbers behind all others when the
//! code is compacted.
//!
//! Julia prints them where they will stand, by their numbers if they are used, and without a name if not; those that
//! are attached behind the last statement of a block each as if they ended it, `└──` (since 1.9).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{Building, Read};
use crate::code::NewNode;
use crate::diagnostic::Diagnostic;
use crate::instruction::Instruction;
use crate::names::{Positions, SSAValue};
use crate::stmt::Stmt;
use crate::types::Type;

/// A pending node that was read.
pub(super) struct Pending {
    pub(super) at: PendingAt,
    pub(super) inst: Instruction<Positions>,
    pub(super) span: Range<usize>,
    /// What it is called, if it is.
    id: Option<u32>,
    /// The number of the block in which it was shown, counted from 1.
    block: usize,
}

/// Where a pending node was shown: before the statement of this index, or behind the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingAt {
    Before(usize),
    After(usize),
}

/// A line with a statement.
pub(super) struct Line {
    pub(super) inst: Instruction<Positions>,
    pub(super) span: Range<usize>,
    /// What it is called, if it is, and where that stands.
    pub(super) id: Option<(u32, Range<usize>)>,
    /// In the exact style, where it is pending: whether it is attached behind a statement.
    pub(super) pending: Option<bool>,
    /// Whether the margin ends a block.
    pub(super) ends_block: bool,
}

/// Where more lines are missing, the numbers say nothing of the rest.
const MOST_MISSING: usize = 64;

/// What stands in the place of a statement whose line is missing.
fn missing(next: &Instruction<Positions>) -> Instruction<Positions> {
    Instruction { stmt: Stmt::nothing(), ty: Type::Nothing, ..next.clone() }
}

impl Building {
    /// Takes a line as a statement, or as a pending node.
    pub(super) fn take(&mut self, line: Line) -> Read<()> {
        let Line { inst, span, id, pending, ends_block } = line;
        let number = id.as_ref().map(|(id, _)| *id);
        let ordinal = self.stmts.len() as u32 + 1;
        match (pending, id) {
            (Some(behind), _) => self.push_pending(inst, span, number, behind),
            (None, Some((id, id_span))) if id != ordinal => {
                if !self.may_have_pending() {
                    // Those behind it may have their right numbers.
                    while self.stmts.len() + 1 < id as usize && self.stmts.len() < ordinal as usize + MOST_MISSING {
                        self.push_statement(missing(&inst), span.clone(), false);
                    }
                    self.push_statement(inst, span, ends_block);
                    let message = format!("this is the statement %{ordinal}, but it is called %{id}");
                    let error = Diagnostic::error(id_span, message, "names are the numbers of statements");
                    return Err(error.with_help("a line of the listing may be missing"));
                }
                if id < ordinal && self.take_unnamed_as_pending((ordinal - id) as usize) {
                    self.push_statement(inst, span, ends_block);
                    self.named = self.stmts.len();
                    return Ok(());
                }
                if id < ordinal {
                    let message = format!("this is the statement %{ordinal}, but it is called %{id}");
                    return Err(Diagnostic::error(id_span, message, "names are the numbers of statements"));
                }
                self.push_pending(inst, span, number, ends_block && self.has_statement_in_block());
            }
            (None, None) if ends_block && self.may_have_pending() && self.take_end_of_block_as_pending() => {
                self.push_pending(inst, span, None, true);
            }
            (_, id) => {
                self.push_statement(inst, span, ends_block);
                if id.is_some() {
                    self.named = self.stmts.len();
                }
            }
        }
        Ok(())
    }

    fn push_pending(&mut self, inst: Instruction<Positions>, span: Range<usize>, id: Option<u32>, behind: bool) {
        let next = self.stmts.len();
        let at = if behind { PendingAt::After(next.saturating_sub(1)) } else { PendingAt::Before(next) };
        self.pending.push(Pending { at, inst, span, id, block: self.block_starts.len() });
    }

    fn has_statement_in_block(&self) -> bool {
        self.block_starts.last().is_some_and(|&start| start < self.stmts.len())
    }

    /// Whether this may be the listing of an IRCode: what the compiler is done with has no pending nodes.
    fn may_have_pending(&self) -> bool {
        !self.is_code_info && self.code_info.is_none() && !self.in_warntype
    }

    /// Whether the block has ended before this line, which says so again. The line before is pending then, too, and is
    /// taken for that.
    fn take_end_of_block_as_pending(&mut self) -> bool {
        let Some(last) = self.stmts.len().checked_sub(1).filter(|_| self.has_statement_in_block()) else {
            return false;
        };
        if self.pending.last().is_some_and(|pending| matches!(pending.at, PendingAt::After(index) if index == last)) {
            return true;
        }
        let is_first = self.block_starts.last() == Some(&last);
        let ends = self.stmts.stmts().get(last).is_some_and(Stmt::is_terminator);
        if self.ends_block.get(last) != Some(&true) || is_first || self.named > last || ends {
            return false;
        }
        self.ends_block.truncate(last);
        let spans = self.spans.split_off(last);
        for (inst, span) in self.stmts.split_off(last).into_rows().zip(spans) {
            self.push_pending(inst, span, None, true);
        }
        true
    }

    /// Julia prints no name for a pending node that is not used: there is one statement more then than numbers. Takes
    /// the last so many of those without a name for such nodes, if no others can be. Whether it did.
    fn take_unnamed_as_pending(&mut self, count: usize) -> bool {
        let unnamed = self.named..self.stmts.len();
        let may_be = |index: &usize| {
            let stmt = self.stmts.stmts().get(*index);
            stmt.is_some_and(|stmt| !stmt.is_terminator() && !matches!(stmt, Stmt::Phi(_)))
        };
        let mut found: Vec<usize> = unnamed.filter(may_be).collect();
        // Nothing else stands behind a jump in its block.
        let must_be = |index: &usize| {
            let before = index.checked_sub(1).filter(|_| self.block_starts.binary_search(index).is_err());
            before.is_some_and(|before| {
                let stmt = self.stmts.stmts().get(before);
                matches!(stmt, Some(Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_)))
            })
        };
        let behind_jumps: Vec<usize> = found.iter().copied().filter(must_be).collect();
        if behind_jumps.len() == count {
            found = behind_jumps;
        }
        if found.len() != count {
            return false;
        }
        let blocks: Vec<usize> =
            found.iter().map(|index| self.block_starts.partition_point(|start| start <= index)).collect();
        let first = self.block_starts.partition_point(|&start| start <= self.named);
        for start in self.block_starts.iter_mut().skip(first) {
            *start -= found.partition_point(|index| index < start);
        }
        // What has names stays where it is: this may happen once for every statement.
        let spans = self.spans.split_off(self.named);
        let ends = self.ends_block.split_off(self.named);
        let rows = self.stmts.split_off(self.named).into_rows().zip(spans.into_iter().zip(ends));
        // Those that were shown since the last name stand before fewer statements now.
        let since = |pending: &&mut Pending| match pending.at {
            PendingAt::Before(index) | PendingAt::After(index) => index >= self.named,
        };
        for pending in self.pending.iter_mut().rev().take_while(since) {
            pending.at = match pending.at {
                PendingAt::Before(next) => PendingAt::Before(next - found.partition_point(|&index| index < next)),
                PendingAt::After(last) => {
                    let left = last + 1 - found.partition_point(|&index| index <= last);
                    if left == 0 { PendingAt::Before(0) } else { PendingAt::After(left - 1) }
                }
            };
        }
        let mut found = found.into_iter().zip(blocks).peekable();
        for (index, (inst, (span, ends_block))) in (self.named..).zip(rows) {
            if let Some((_, block)) = found.next_if(|(found, _)| *found == index) {
                self.push_pending(inst, span, None, ends_block && !self.stmts.is_empty());
                if let Some(pending) = self.pending.last_mut() {
                    pending.block = block;
                }
            } else {
                self.push_statement(inst, span, ends_block);
            }
        }
        true
    }

    /// Takes those for pending nodes of which only the names of others tell: a name that is too small for a pending node
    /// says that there are more of them.
    pub(super) fn take_last_unnamed(&mut self) {
        let least = self.pending.iter().filter_map(|pending| pending.id).min().map_or(usize::MAX, |id| id as usize);
        if least <= self.stmts.len() && !self.has_refused {
            self.take_unnamed_as_pending(self.stmts.len() - least + 1);
        }
    }

    /// Gives pending nodes the numbers behind the statements: named ones must be called by them, the others get those
    /// that are left. Of several in one place the numbers ascend.
    pub(super) fn place_pending(&mut self, errors: &mut Vec<Diagnostic>) -> Vec<NewNode> {
        let len = self.stmts.len();
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|pending| pending.span.start);
        for node in &mut pending {
            // What was shown behind the last statement of its block is attached behind that.
            let start = node.block.checked_sub(1).and_then(|block| self.block_starts.get(block)).copied();
            let end = self.block_starts.get(node.block).copied().unwrap_or(len);
            if node.at == PendingAt::Before(end) && start.is_some_and(|start| start < end) {
                node.at = PendingAt::After(end - 1);
            }
        }
        attach_by_numbers(&mut pending, &self.block_starts);
        let named = named_places(&pending, len);
        for (Pending { span, id, .. }, place) in pending.iter().zip(&named) {
            if let (Some(id), None) = (id, place) {
                let message = format!("%{id} is neither the number of this statement nor that of a pending one");
                let label = format!("expected a number from %1 to %{}", len + pending.len());
                errors.push(Diagnostic::error(span.clone(), message, label));
            }
        }
        let places = places(&pending, &named);
        let mut nodes: Vec<(usize, Pending)> = places.into_iter().zip(pending).collect();
        nodes.sort_by_key(|(place, _)| *place);
        let node = |(_, Pending { at, inst, span, .. })| {
            let (anchor, attach_after) = match at {
                PendingAt::Before(index) => (index, false),
                PendingAt::After(index) => (index, true),
            };
            self.spans.push(span);
            NewNode { anchor: SSAValue::from_index(anchor), attach_after, inst }
        };
        nodes.into_iter().map(node).collect()
    }
}

/// Between two statements first those are shown that are attached behind the one above, then those before the one below,
/// both in the order of their numbers: where the numbers fall the second begin. The nodes are in the order in which they
/// are shown.
fn attach_by_numbers(pending: &mut [Pending], block_starts: &[usize]) {
    let mut from = 0;
    while let Some(at) = pending.get(from).map(|node| node.at) {
        let count = pending.get(from..).unwrap_or_default().iter().take_while(|node| node.at == at).count();
        let group = pending.get_mut(from..from + count).unwrap_or_default();
        from += count;
        let PendingAt::Before(next) = at else { continue };
        if block_starts.binary_search(&next).is_ok() {
            continue;
        }
        let (mut last, mut falls) = (0, 0);
        for (index, node) in group.iter().enumerate() {
            if let Some(id) = node.id {
                if id < last {
                    falls = index;
                }
                last = id;
            }
        }
        group.iter_mut().take(falls).for_each(|node| node.at = PendingAt::After(next.saturating_sub(1)));
    }
}

/// The places among pending nodes behind so many statements that their names say; each is had by one only.
fn named_places(pending: &[Pending], statements: usize) -> Vec<Option<usize>> {
    let mut taken = vec![false; pending.len()];
    let mut place = |id: u32| {
        let place = (id as usize).checked_sub(statements + 1)?;
        let taken = taken.get_mut(place).filter(|taken| !**taken)?;
        *taken = true;
        Some(place)
    };
    pending.iter().map(|node| node.id.and_then(&mut place)).collect()
}

/// The places of all pending nodes, which are in the order in which they are shown: nodes in one place are shown in the
/// order of their numbers, so that one without a name has a number between those of the named ones around it. Each
/// number goes to the one that needs it most (by earliest deadline).
fn places(pending: &[Pending], named: &[Option<usize>]) -> Vec<usize> {
    let count = pending.len();
    let is_with_next =
        |index: usize| pending.get(index).map(|node| node.at) == pending.get(index + 1).map(|node| node.at);
    let mut deadlines = vec![count; count];
    for index in (0..count.saturating_sub(1)).rev().filter(|&index| is_with_next(index)) {
        deadlines[index] = named[index + 1].unwrap_or(deadlines[index + 1]);
    }
    let mut unnamed: Vec<(usize, usize)> = Vec::new();
    let mut behind = 0;
    for (index, place) in named.iter().enumerate() {
        match place {
            Some(place) => behind = place + 1,
            None => unnamed.push((behind, index)),
        }
        if !is_with_next(index) {
            behind = 0;
        }
    }
    unnamed.sort_unstable();
    let mut places: Vec<usize> = named.iter().map(|place| place.unwrap_or(count)).collect();
    let mut taken = vec![false; count];
    named.iter().flatten().for_each(|&place| taken[place] = true);
    let mut unnamed = unnamed.into_iter().peekable();
    let mut ready = BinaryHeap::new();
    let mut left = Vec::new();
    for place in (0..count).filter(|&place| !taken[place]) {
        while let Some((_, index)) = unnamed.next_if(|(behind, _)| *behind <= place) {
            ready.push(Reverse((deadlines[index], index)));
        }
        match ready.pop() {
            Some(Reverse((_, index))) => places[index] = place,
            None => left.push(place),
        }
    }
    // Where no order fits, they are in the order of the listing.
    let rest = ready.into_sorted_vec().into_iter().rev().map(|Reverse((_, index))| index);
    let rest: Vec<usize> = rest.chain(unnamed.map(|(_, index)| index)).collect();
    rest.into_iter().zip(left).for_each(|(index, place)| places[index] = place);
    places
}

#[cfg(test)]
mod tests {
    use crate::code::IRCode;
    use crate::text::{Style, print_function};
    use crate::{CompactError, parse_function};

    /// Where pending nodes are attached: the number of the statement, and whether behind it.
    fn anchors(ir: &IRCode) -> Vec<(String, bool)> {
        ir.new_nodes.iter().map(|node| (node.anchor.to_string(), node.attach_after)).collect()
    }

    fn anchor(of: &str, behind: bool) -> (String, bool) {
        (of.into(), behind)
    }

    #[test]
    fn what_ends_a_block_again_is_attached_behind_its_last_statement() {
        let body = |text: &str| parse_function(text).unwrap().body;
        // A node that is used, and one that is not.
        let loop_ = "1 ─ %1 = Main.f(_2)::Any\n└── %6 = Main.late(%1)::Any\n2 ┄ %2 = Main.g(%1)::Bool\n└──      goto #4 if not %2\n3 ─      goto #2\n4 ─      return %1\n";
        assert_eq!(anchors(&body(loop_)), [anchor("%1", true)]);
        assert_eq!(body(&loop_.replace("%6 =", "    ")), body(loop_));
        // Several, of which no number tells.
        let two = "1 ─      Main.f(_2)::Any\n│        Main.g(_2)::Any\n└──      Main.late(_2)::Any\n└──      Main.later(_2)::Any\n2 ─      return _2\n";
        assert_eq!(anchors(&body(two)), [anchor("%2", true), anchor("%2", true)]);
        assert_eq!(body(two).cfg.blocks[0].stmts.len(), 2);
        // Behind a jump, where the numbers say so.
        let jump = "1 ─      Main.f(_2)::Any\n│        goto #2\n└──      Main.late(_2)::Any\n2 ─ %3 = Main.g(_2)::Any\n└──      return %3\n";
        assert_eq!(anchors(&body(jump)), [anchor("%2", true)]);
        assert_eq!(anchors(&body(&jump.replace("%3", "%4"))), []);
        // A used one of several has no other margin.
        let several = "1 ─ %1 = Main.f(_2)::Any\n│   %4 = Main.late(%1)::Any\n└──      Main.later(%4)::Any\n2 ─ %2 = Main.g(%1)::Any\n└──      return %2\n";
        assert_eq!(anchors(&body(several)), [anchor("%1", true), anchor("%1", true)]);
        // A block that ends without a jump has one such line.
        let plain = "1 ─      Main.f(_2)::Any\n└──      Main.g(_2)::Any\n2 ─      return _2\n";
        assert_eq!(anchors(&body(plain)), []);
    }

    #[test]
    fn named_and_unnamed_nodes_share_the_numbers_behind_the_statements() {
        let named = |text: &str| {
            let function = parse_function(text).unwrap();
            let own = print_function(&function, Style::Bbkit);
            assert_eq!(parse_function(&own).unwrap().body, function.body, "{own}");
            own
        };
        // One place: the numbers ascend.
        let own = named(
            "1 ─ %1 = Main.f(_2)::Any\n│        Main.late(%1)::Any\n│   %5 = Main.later(%1)::Any\n│   %2 = Main.g(%5)::Any\n└──      return %2\n",
        );
        assert!(own.contains("%4 = Main.late(%1)::Any ; pending=before"), "{own}");
        // The first statement that is named comes behind one that is pending.
        let own = named(
            "1 ─      Main.late(_2)::Any\n└──      goto #3 if not _3\n2 ─      Main.later(1.0)::Any\n└── %2 = Main.g(_2)::Any\n3 ┄ %3 = φ (#2 => %2, #1 => _2)::Any\n└──      return %3\n",
        );
        assert!(own.contains("%5 = Main.late(_2)::Any") && own.contains("%6 = Main.later(1.0)::Any"), "{own}");
        // Only the names of pending nodes say how many there are.
        let own = named(
            "1 ─      goto #3 if not _3\n2 ─ %5 = Main.late1(1.0)::Any\n└── %2 = Main.g(_2)::Any\n3 ┄ %3 = φ (#2 => %2, #1 => _2)::Any\n│   %6 = Main.late2(%5)::Any\n│        Main.late3(%6)::Any\n└──      return %3\n",
        );
        assert!(own.contains("%7 = Main.late3(%6)::Any ; pending=before"), "{own}");
        // What is called by no number that is left.
        let error = parse_function("1 ─ %1 = Main.f(_2)::Any\n│   %9 = Main.late(%1)::Any\n└──      return %9\n");
        assert!(error.unwrap_err().to_string().contains("expected a number from %1 to %3"));
    }

    #[test]
    fn numbers_that_fall_tell_what_is_attached_behind() {
        let text = "1 ─ %1 = Main.f(_2)::Any\n│   %4 = Main.after_f(%1)::Any\n│   %3 = Main.before_return(%4)::Any\n└──      return %3\n";
        let body = parse_function(text).unwrap().body;
        assert_eq!(anchors(&body), [anchor("%2", false), anchor("%1", true)]);
        let printed = print_function(&parse_function(text).unwrap(), Style::Julia);
        assert_eq!(parse_function(&printed).unwrap().body.new_nodes, body.new_nodes, "{printed}");
    }

    #[test]
    fn what_the_compiler_is_done_with_has_no_pending_nodes() {
        let code = "1 ─ %1 = Main.f(_2)::Any\n│        Core.throw(%1)\n│        $(Expr(:unreachable))\n└──      $(Expr(:meta, :noinline))\n";
        let body = parse_function(&format!("CodeInfo(\n{code}) => Union{{}}\n")).unwrap().body;
        assert_eq!((body.stmts.len(), anchors(&body)), (4, Vec::new()));
        // A line is missing.
        let cut = "CodeInfo(\n1 ─ %1 = Main.f(x)::Any\n│   %3 = Main.g(%1)::Any\n└──      return %3\n) => Any\n";
        let error = parse_function(cut).unwrap_err();
        assert!(error.to_string().contains("this is the statement %2, but it is called %3"), "{error}");
        // It is said once.
        let more = cut.replace("└──      return %3", "│   %4 = Main.g(%3)::Any\n└──      return %4");
        assert_eq!(parse_function(&more).unwrap_err().diagnostics.len(), 1);
    }

    #[test]
    fn compacting_puts_nodes_where_they_were_shown() -> Result<(), CompactError> {
        let text = "1 ─ %1 = Main.f(_2)::Any\n│   %4 = Main.late(%1)::Any\n│        Main.later(%4)::Any\n│   %2 = Main.g(%1)::Any\n└──      return %2\n";
        let body = parse_function(text).unwrap().body;
        let compact = body.compact()?.ir;
        let expected = "1 ─ %1 = Main.f(_2)::Any\n│   %2 = Main.late(%1)::Any\n│        Main.later(%2)::Any\n│   %4 = Main.g(%1)::Any\n└──      return %4\n";
        assert_eq!(compact.stmts, parse_function(expected).unwrap().body.stmts);
        Ok(())
    }
}
