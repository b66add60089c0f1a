//! Redirecting edges.

use ircode::{Operand, PhiEntry, Stmt};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

impl BBCode {
    /// Whether the edge is there, and can be changed.
    pub(crate) fn check_edge(&self, from: BlockId, to: BlockId) -> Result<(), EditError> {
        for block in [from, to] {
            self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        }
        let fixed = match self.terminator(from).map(|(_, inst)| &inst.stmt) {
            Some(Stmt::Enter(enter)) => enter.catch_dest == Some(to),
            _ => false,
        };
        let odd = self.block(from).and_then(|data| data.odd_edges());
        let odd = odd.is_some_and(|odd| odd.extra_succs.contains(&to) || odd.missing_succs.contains(&to));
        let there = self.successors(from).contains(&to);
        match (there, fixed || odd) {
            (false, _) => Err(EditError::NoSuchEdge { from, to }),
            (true, true) => Err(EditError::FixedEdge { from, to }),
            (true, false) => Ok(()),
        }
    }

    /// Lets control go from `from` to `new` where it went to `old`. φs of `old` forget the edge; those of `new` take
    /// from it what `values` says of each, by name.
    ///
    /// What is not on every way to its uses any more makes the change impossible, so the whole code is verified: this
    /// takes time linear in the function. Passes that know what they do set targets with [`BBCode::replace`] and
    /// [`BBCode::set_next`].
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      return 0
    /// 3 ─      goto #4
    /// 4 ─ %4 = φ (#3 => 3)::Int64
    /// └──      return %4
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let phi = bb.first_inst(blocks[3]).unwrap();
    /// bb.redirect_edge(blocks[0], blocks[2], blocks[3], &[(phi, 1.into())])?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1 = goto #4 if not _2
    /// └── next #2
    /// 2 ─ %2 = return 0
    /// 3 ─ %3 = goto #4
    /// 4 ┄ %4 = φ (#3 => 3, #1 => 1)::Int64
    /// └── %5 = return %4
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`], [`EditError::NoSuchEdge`], [`EditError::FixedEdge`] as [`BBCode::split_edge`];
    /// [`EditError::MissingPhiValue`]; [`EditError::NotAPhi`] if `values` names what is none of `new`;
    /// [`EditError::AlreadyAnEdge`] if there is an edge from `from` to `new` on which a φ takes something else, or
    /// `values` has two for one;
    /// [`EditError::NotValid`] with what would not hold.
    pub fn redirect_edge(
        &mut self,
        from: BlockId,
        old: BlockId,
        new: BlockId,
        values: &[(InstId, Operand<Ids>)],
    ) -> Result<(), EditError> {
        self.check_edge(from, old)?;
        self.block(new).ok_or(EditError::NoSuchBlock(new))?;
        if old == new && values.is_empty() {
            return Ok(());
        }
        self.checked(|bb| {
            bb.ensure_phis_named();
            let mut given: SecondaryMap<InstId, &Operand<Ids>> = SecondaryMap::new();
            for (phi, value) in values {
                let is_there =
                    bb.block_of(*phi) == Some(new) && bb.stmt(*phi).is_some_and(|stmt| stmt.as_phi().is_some());
                if !is_there {
                    return Err(EditError::NotAPhi { inst: *phi, block: new });
                }
                if given.insert(*phi, value).is_some_and(|other| other != value) {
                    return Err(EditError::AlreadyAnEdge { from, to: new });
                }
            }
            let already = bb.successors(from).contains(&new);
            if already {
                // φs do not tell two edges from one block apart.
                let takes = |phi: InstId, value: &Operand<Ids>| {
                    let phi = bb.stmt(phi).and_then(Stmt::as_phi);
                    let entry = phi.and_then(|phi| phi.entries.iter().find(|entry| entry.edge == from));
                    entry.is_some_and(|entry| entry.value.as_ref() == Some(value))
                };
                if !given.iter().all(|(phi, value)| takes(phi, value)) {
                    return Err(EditError::AlreadyAnEdge { from, to: new });
                }
            }
            if old == new {
                return Ok(());
            }
            let mut missing = None;
            if !already {
                bb.for_each_phi_mut(new, |id, phi| match given.get(id) {
                    Some(&value) => phi.entries.push(PhiEntry { edge: from, value: Some(value.clone()) }),
                    None => missing = missing.or(Some(id)),
                });
            }
            bb.retarget_unchecked(from, old, new);
            bb.for_each_phi_mut(old, |_, phi| phi.entries.retain(|entry| entry.edge != from));
            match missing {
                Some(phi) => Err(EditError::MissingPhiValue { phi, edge: from }),
                None => Ok(()),
            }
        })
    }
}
