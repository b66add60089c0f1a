//! Blocks through which several edges go together: before loops, and wherever else something is to be done once.

use ircode::{NewInstruction, Operand, PhiEntry, Stmt, Type};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

impl BBCode {
    /// Puts a new block before `to`, and lets control come there through it from all of these blocks. φs of `to` take
    /// from the new block what they took from these; where that differs, a φ in the new block brings it together. φs
    /// first name the edges that they leave out, in time linear in the function unless that is known to be done.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      goto #4
    /// 3 ─      goto #4 if not _3
    /// 4 ┄ %4 = φ (#2 => 1, #3 => 2)::Int64
    /// └──      return %4
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// bb.join_edges(&[blocks[1], blocks[2]], blocks[3])?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1 = goto #3 if not _2
    /// └── next #2
    /// 2 ─ %2 = goto #5
    /// 3 ─ %3 = goto #5 if not _3
    /// 5 ┄ %7 = φ (#2 => 1, #3 => 2)::Int64
    /// └── %6 = goto #4
    /// 4 ─ %4 = φ (#5 => %7)::Int64
    /// └── %5 = return %4
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`], [`EditError::NoSuchEdge`]; [`EditError::NoEdges`] where no block is given;
    /// [`EditError::FixedEdge`] for an edge that an exception takes, or no statement; [`EditError::EntryBlock`] for the
    /// block with which the function begins, before which there is none. Nothing is changed then.
    pub fn join_edges(&mut self, from: &[BlockId], to: BlockId) -> Result<BlockId, EditError> {
        let mut from = from.to_vec();
        from.sort_unstable();
        from.dedup();
        from.iter().try_for_each(|&from| self.check_edge(from, to))?;
        if from.is_empty() {
            return Err(EditError::NoEdges(to));
        }
        if self.entry() == Some(to) {
            return Err(EditError::EntryBlock(to));
        }
        self.ensure_phis_named();
        let new = self.join_edges_unchecked(&from, to)?;
        self.store.phis_named = true;
        Ok(new)
    }

    /// Joins edges as [`BBCode::join_edges`] does, from blocks that are sorted and each there once, but looks neither
    /// at whether there are such edges nor at what φs leave out. This is for passes that have looked, and join very
    /// many: it takes time linear in the edges and the φs of `to`.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      nothing
    /// 3 ┄ %3 = φ (#1 => 1, #2 => 2)::Int64
    /// └──      return %3
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let joined = bb.join_edges_unchecked(&[blocks[0], blocks[1]], blocks[2])?;
    /// assert_eq!(bb.predecessors(blocks[2]), [joined]);
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`].
    pub fn join_edges_unchecked(&mut self, from: &[BlockId], to: BlockId) -> Result<BlockId, EditError> {
        let new = self.insert_block_before(to)?;
        let line = from.first().map_or(ircode::LineInfo::NONE, |&first| self.last_line(first));
        from.iter().for_each(|&from| self.retarget_unchecked(from, to, new));
        self.push(new, NewInstruction::new(Stmt::goto(to), Type::Any).with_line(line))?;
        match from {
            [only] => self.rename_incoming(to, *only, new),
            _ => self.join_phis(from, to, new)?,
        }
        Ok(new)
    }

    /// Lets the φs of `to` take from the block `new` what they took from these others, which are sorted.
    fn join_phis(&mut self, from: &[BlockId], to: BlockId, new: BlockId) -> Result<(), EditError> {
        let phis: Vec<InstId> = self.phi_nodes(to).map(|(id, _)| id).collect();
        let mut last: Option<InstId> = None;
        for id in phis {
            let Some(inst) = self.inst(id) else { continue };
            let (ty, line) = (inst.ty.clone(), inst.line);
            let Some(phi) = inst.stmt.as_phi() else { continue };
            let comes = |entry: &PhiEntry<Ids>| from.binary_search(&entry.edge).is_ok();
            let (moved, mut entries): (Vec<PhiEntry<Ids>>, Vec<_>) = phi.entries.iter().cloned().partition(comes);
            let Some(taken) = moved.first().map(|entry| entry.value.clone()) else { continue };
            let same = moved.len() == from.len() && moved.iter().all(|entry| entry.value == taken);
            let value = if same {
                taken
            } else {
                let joined = Stmt::phi(moved.into_iter().map(|entry| (entry.edge, entry.value)));
                let joined = NewInstruction::new(joined, ty).with_line(line);
                let joined = match last {
                    Some(last) => self.insert_after(last, joined),
                    None => self.insert_at_start(new, joined),
                }?;
                last = Some(joined);
                Some(Operand::Value(joined))
            };
            entries.insert(0, PhiEntry { edge: new, value });
            if let Some(Stmt::Phi(phi)) = self.stmt_mut(id) {
                phi.entries = entries.into();
            }
        }
        Ok(())
    }

    /// The block before a loop: it goes to the header and nowhere else, and control comes into the loop through it
    /// alone. What is put before its terminator is done once, before the first round. It is made if there is none, as
    /// [`BBCode::join_edges`] does it. Which loops there are is computed as [`BBCode::loops`] says.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      goto #3
    /// 3 ┄ %3 = φ (#1 => 0, #2 => 1, #4 => %5)::Int64
    /// └──      goto #5 if not _3
    /// 4 ─ %5 = Base.add_int(%3, 2)::Int64
    /// └──      goto #3
    /// 5 ─      return %3
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let preheader = bb.insert_preheader(blocks[2])?;
    /// assert_eq!(bb.predecessors(preheader).len(), 2);
    /// assert_eq!(bb.insert_preheader(blocks[2])?, preheader);
    /// assert_eq!(bb.insert_preheader(blocks[4]), Err(EditError::NoLoop(blocks[4])));
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`]; [`EditError::NoLoop`] for a block that is the header of no loop, or of one that can
    /// be entered elsewhere, too; and as [`BBCode::join_edges`].
    pub fn insert_preheader(&mut self, header: BlockId) -> Result<BlockId, EditError> {
        self.block(header).ok_or(EditError::NoSuchBlock(header))?;
        let loops = self.loops();
        if loops.header_of(header) != Some(header) || loops.is_irreducible(header) {
            return Err(EditError::NoLoop(header));
        }
        if self.entry() == Some(header) {
            return Err(EditError::EntryBlock(header));
        }
        let outside: Vec<BlockId> =
            loops.cfg().predecessors(header).filter(|&from| !loops.contains(header, from)).collect();
        match outside.as_slice() {
            [only] if self.successors(*only).len() == 1 => Ok(*only),
            _ => self.join_edges(&outside, header),
        }
    }
}
