//! Giving pending nodes their place, and every statement its number.

use crate::cfg::{BasicBlock, Cfg};
use crate::code::IRCode;
use crate::instruction::Instruction;
use crate::names::{BlockNumber, Positions, SSAValue};
use crate::operand::Operand;
use crate::stmt::Stmt;
use crate::stream::InstructionStream;

/// What [`IRCode::compact`] returns.
#[derive(Clone, PartialEq, Debug)]
pub struct Compaction {
    /// The compacted code; it has no pending nodes.
    pub ir: IRCode,
    /// What became of each value, by its old index: statements first, then pending nodes.
    pub renumbering: Vec<Renumbered>,
}

impl Compaction {
    /// The values that are gone, in their old numbers.
    pub fn dropped(&self) -> impl Iterator<Item = SSAValue> + '_ {
        let gone = |(index, what): (usize, &Renumbered)| match what {
            Renumbered::Kept(_) => None,
            Renumbered::Replaced(_) => Some(SSAValue::from_index(index)),
        };
        self.renumbering.iter().enumerate().filter_map(gone)
    }
}

/// What became of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Renumbered {
    /// The statement has this number now.
    Kept(SSAValue),
    /// The statement is gone: it was a copy of this operand (in new numbers), which its uses name instead. For an empty
    /// statement that is `nothing`.
    Replaced(Operand<Positions>),
}

/// Why code cannot be compacted. Verified code always can.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// A statement uses a value that does not exist.
    #[error("{user} uses {used}, which does not exist")]
    NoSuchValue {
        /// The name that names nothing.
        used: SSAValue,
        /// The statement.
        user: SSAValue,
    },
    /// A pending node has no place: its anchor does not exist.
    #[error("the pending node {node} goes next to {anchor}, which does not exist")]
    NoSuchAnchor {
        /// The pending node.
        node: SSAValue,
        /// The statement named as its anchor.
        anchor: SSAValue,
    },
    /// The ranges of the blocks do not cover the statements one after another.
    #[error("the ranges of the blocks do not cover the statements one after another, at {0}")]
    BadRange(BlockNumber),
}

impl IRCode {
    /// Merges the pending nodes into the statements, in one linear pass, and numbers everything anew.
    ///
    /// What is dropped on the way:
    ///
    /// * `nothing` statements,
    /// * copies (`%4 = %2`, `%4 = 1.0`): their uses name the original,
    /// * a φ with a single edge whose block has no other predecessor and is not the entry, and a π that names the type
    ///   which its value has already: copies too.
    ///
    /// What has the type `Union{}` stays, as it may end its block: behind it control does not go on.
    ///
    /// A block that would be left without a statement keeps one `nothing`. Blocks are neither added nor removed, so
    /// edges stay as they are. This is Julia's `compact!` without its folding of control flow and without its removal
    /// of unused statements, which are passes of their own here.
    ///
    /// # Errors
    ///
    /// [`CompactError`] if the code names values or places that do not exist; verified code does not.
    pub fn compact(&self) -> Result<Compaction, CompactError> {
        let order = self.merged_order()?;
        let copies = Copies::find(self)?;
        let mut new_number = vec![None; self.value_count()];
        let mut emitted: Vec<(usize, bool)> = Vec::with_capacity(order.len());
        let mut blocks = Vec::with_capacity(self.cfg.blocks.len());
        let mut rest = order.as_slice();
        for block in &self.cfg.blocks {
            let inside = rest.partition_point(|&old| self.anchor_index(old) < block.stmts.end);
            let (here, after) = rest.split_at(inside);
            rest = after;
            let start = emitted.len();
            for &old in here.iter().filter(|&&old| copies.original(old).is_none()) {
                new_number[old] = Some(SSAValue::from_index(emitted.len()));
                emitted.push((old, true));
            }
            if emitted.len() == start {
                emitted.extend(here.first().map(|&old| (old, false)));
            }
            blocks.push(BasicBlock { stmts: start..emitted.len(), ..block.clone() });
        }
        let rename = |value: SSAValue, user: usize| {
            let missing = CompactError::NoSuchValue { used: value, user: SSAValue::from_index(user) };
            let old = value.index().filter(|&old| old < self.value_count()).ok_or(missing)?;
            Ok(match copies.original(old) {
                Some(Operand::Value(original)) => {
                    Operand::Value(original.index().and_then(|o| new_number[o]).ok_or(missing)?)
                }
                Some(other) => other.clone(),
                None => Operand::Value(new_number[old].ok_or(missing)?),
            })
        };
        let mut stmts = InstructionStream::with_capacity(emitted.len());
        for (old, kept) in emitted {
            let Some(mut inst) = self.instruction(old) else { continue };
            let mut problem = None;
            if kept {
                inst.stmt.for_each_operand_mut(&mut |operand| {
                    if let Operand::Value(value) = operand {
                        match rename(*value, old) {
                            Ok(renamed) => *operand = renamed,
                            Err(error) => problem = Some(error),
                        }
                    }
                });
            } else {
                inst.stmt = Stmt::nothing();
                inst.ty = crate::Type::Nothing;
            }
            match problem {
                Some(error) => return Err(error),
                None => stmts.push(inst),
            }
        }
        let mut renumbering = Vec::with_capacity(self.value_count());
        for (old, number) in new_number.iter().enumerate() {
            renumbering.push(match number {
                Some(number) => Renumbered::Kept(*number),
                None => Renumbered::Replaced(rename(SSAValue::from_index(old), old)?),
            });
        }
        let ir = IRCode {
            stmts,
            argtypes: self.argtypes.clone(),
            sptypes: self.sptypes.clone(),
            julia: self.julia,
            debuginfo: self.debuginfo.clone(),
            meta: self.meta.clone(),
            cfg: Cfg { blocks },
            new_nodes: Vec::new(),
        };
        Ok(Compaction { ir, renumbering })
    }

    /// Indices of all values in the order in which they will stand. Checks what `compact` relies on.
    pub(crate) fn merged_order(&self) -> Result<Vec<usize>, CompactError> {
        let len = self.stmts.len();
        let mut end = 0;
        for (i, block) in self.cfg.blocks.iter().enumerate() {
            if block.stmts.start != end || block.stmts.end < end || block.stmts.end > len {
                return Err(CompactError::BadRange(BlockNumber::from_index(i)));
            }
            end = block.stmts.end;
        }
        if end != len {
            return Err(CompactError::BadRange(BlockNumber::from_index(self.cfg.blocks.len())));
        }
        let mut pending = Vec::with_capacity(self.new_nodes.len());
        for (i, node) in self.new_nodes.iter().enumerate() {
            let anchor = node
                .anchor
                .index()
                .filter(|&anchor| anchor < len)
                .ok_or(CompactError::NoSuchAnchor { node: SSAValue::from_index(len + i), anchor: node.anchor })?;
            pending.push((anchor, node.attach_after, len + i));
        }
        // Stable, so that nodes at one place keep the order of their insertion.
        pending.sort_by_key(|&(anchor, attach_after, _)| (anchor, attach_after));
        let mut pending = pending.into_iter().peekable();
        let mut order = Vec::with_capacity(self.value_count());
        for index in 0..len {
            while let Some((_, _, node)) = pending.next_if(|&(anchor, after, _)| anchor == index && !after) {
                order.push(node);
            }
            order.push(index);
            while let Some((_, _, node)) = pending.next_if(|&(anchor, _, _)| anchor == index) {
                order.push(node);
            }
        }
        Ok(order)
    }

    /// The index of the statement whose block a value belongs to: itself, or the anchor of a pending node.
    fn anchor_index(&self, index: usize) -> usize {
        let pending = index.checked_sub(self.stmts.len()).and_then(|pending| self.new_nodes.get(pending));
        pending.and_then(|node| node.anchor.index()).unwrap_or(index)
    }

    fn instruction(&self, index: usize) -> Option<Instruction<Positions>> {
        match index.checked_sub(self.stmts.len()) {
            None => self.stmts.get(index),
            Some(pending) => self.new_nodes.get(pending).map(|node| node.inst.clone()),
        }
    }
}

/// Which values are copies, and of what.
struct Copies(Vec<Option<Operand<Positions>>>);

impl Copies {
    fn find(ir: &IRCode) -> Result<Copies, CompactError> {
        let mut copies: Vec<_> = (0..ir.value_count()).map(|index| copied_operand(ir, index)).collect();
        let mut path: Vec<usize> = Vec::new();
        let mut on_path = vec![false; copies.len()];
        for start in 0..copies.len() {
            let mut at = start;
            let original = loop {
                match &copies[at] {
                    None => break Operand::Value(SSAValue::from_index(at)),
                    Some(Operand::Value(next)) => {
                        if on_path[at] {
                            // A circle of copies, which only unreachable code can hold: one of them stays.
                            copies[at] = None;
                            continue;
                        }
                        on_path[at] = true;
                        path.push(at);
                        let user = SSAValue::from_index(at);
                        at = next
                            .index()
                            .filter(|&next| next < on_path.len())
                            .ok_or(CompactError::NoSuchValue { used: *next, user })?;
                    }
                    Some(other) => break other.clone(),
                }
            };
            for at in path.drain(..) {
                on_path[at] = false;
                if copies[at].is_some() {
                    copies[at] = Some(original.clone());
                }
            }
        }
        Ok(Copies(copies))
    }

    /// What the value is a copy of: a constant, an argument, or a value that is no copy itself.
    fn original(&self, index: usize) -> Option<&Operand<Positions>> {
        self.0.get(index)?.as_ref()
    }
}

/// The operand that the statement at this index copies, if it is a copy.
fn copied_operand(ir: &IRCode, index: usize) -> Option<Operand<Positions>> {
    let value = SSAValue::from_index(index);
    // What has the type `Union{}` may be what ends its block.
    if ir.ty(value) == Some(&crate::Type::Bottom) {
        return None;
    }
    match ir.stmt(value)? {
        Stmt::Value(operand) => match operand {
            Operand::Value(_) | Operand::Argument(_) | Operand::Constant(_) | Operand::Quote(_) => {
                Some(operand.clone())
            }
            // Reading a global may throw.
            Operand::Global(_) | Operand::Nested(_) => None,
        },
        Stmt::Phi(phi) => {
            let [entry] = phi.entries.as_slice() else { return None };
            // Control comes to the entry from outside too, where the value of an edge need not be there.
            let index = ir.block_of(value)?.index().filter(|&index| index > 0)?;
            let block = ir.cfg.blocks.get(index)?;
            (block.preds == [entry.edge]).then(|| entry.value.clone()).flatten()
        }
        Stmt::Pi(pi) => (ir.operand_type(&pi.value) == pi.ty).then(|| pi.value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_function;

    #[test]
    fn a_phi_of_the_entry_is_no_copy() {
        let ir = parse_function(
            "
1 ┄ %1 = φ (#1 => %3)::Int64
│   %2 = Base.neg_int(%1)::Int64
│   %3 = Base.add_int(_2, 1)::Int64
└──      goto #1
",
        )
        .unwrap()
        .body;
        ir.verify().unwrap();
        let compacted = ir.compact().unwrap().ir;
        compacted.verify().unwrap();
        assert_eq!(compacted, ir);
    }
}
