//! Who uses a value: chains that follow every change.

use ircode::{Operand, PhiEntry, Stmt};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{Ids, InstId};

/// No use.
const NONE: u32 = u32::MAX;

/// The uses of all values, as doubly linked lists, so that a use is added and taken out in constant time.
#[derive(Debug, Default)]
pub(crate) struct UseChains {
    /// The first use of each value.
    of_value: SecondaryMap<InstId, u32>,
    /// The first of the uses that each statement makes.
    by_user: SecondaryMap<InstId, u32>,
    uses: Vec<Use>,
    /// The first place of `uses` that is free; the next is in its `next`.
    free: u32,
    /// Statements that may have been rewritten, whose uses are in no chain.
    suspended: Vec<InstId>,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    user: InstId,
    value: InstId,
    prev: u32,
    next: u32,
    next_of_user: u32,
}

impl UseChains {
    pub(crate) fn with_capacity(insts: usize) -> Self {
        UseChains {
            of_value: SecondaryMap::with_capacity(insts),
            by_user: SecondaryMap::with_capacity(insts),
            uses: Vec::with_capacity(insts),
            free: NONE,
            suspended: Vec::new(),
        }
    }

    /// Enters the uses that a statement makes.
    pub(crate) fn link(&mut self, user: InstId, stmt: &Stmt<Ids>) {
        let mut first_of_user = NONE;
        stmt.for_each_use(|value| {
            let next = self.of_value.get(value).copied().unwrap_or(NONE);
            let entry = Use { user, value, prev: NONE, next, next_of_user: first_of_user };
            let at = match self.uses.get_mut(self.free as usize) {
                Some(place) => {
                    let at = self.free;
                    self.free = place.next;
                    *place = entry;
                    at
                }
                None => {
                    self.uses.push(entry);
                    (self.uses.len() - 1) as u32
                }
            };
            if let Some(next) = self.uses.get_mut(next as usize) {
                next.prev = at;
            }
            // A value that does not exist has no chain to be in.
            self.of_value.insert(value, at);
            first_of_user = at;
        });
        self.by_user.insert(user, first_of_user);
    }

    /// Takes the uses that a statement makes out of the chains.
    fn unlink(&mut self, user: InstId) {
        let mut at = self.by_user.remove(user).unwrap_or(NONE);
        while let Some(&Use { value, prev, next, next_of_user, .. }) = self.uses.get(at as usize) {
            match self.uses.get_mut(prev as usize) {
                Some(prev) => prev.next = next,
                None if next == NONE => drop(self.of_value.remove(value)),
                None => drop(self.of_value.insert(value, next)),
            }
            if let Some(next) = self.uses.get_mut(next as usize) {
                next.prev = prev;
            }
            if let Some(place) = self.uses.get_mut(at as usize) {
                place.next = self.free;
                place.prev = NONE;
            }
            self.free = at;
            at = next_of_user;
        }
    }

    /// The statement may be rewritten from now on, until the chains are asked for.
    pub(crate) fn suspend(&mut self, inst: InstId) {
        self.unlink(inst);
        self.suspended.push(inst);
    }

    /// The statement is gone.
    pub(crate) fn forget(&mut self, inst: InstId) {
        self.unlink(inst);
    }

    /// Enters what was suspended, as it is now.
    pub(crate) fn resume<'s>(&mut self, stmt: impl Fn(InstId) -> Option<&'s Stmt<Ids>>) {
        for inst in std::mem::take(&mut self.suspended) {
            if !self.by_user.contains_key(inst)
                && let Some(stmt) = stmt(inst)
            {
                self.link(inst, stmt);
            }
        }
    }

    /// The statements that use a value, once a use.
    pub(crate) fn users(&self, value: InstId) -> impl Iterator<Item = InstId> + '_ {
        let first = self.of_value.get(value).copied().unwrap_or(NONE);
        let uses = std::iter::successors(self.uses.get(first as usize), |one| self.uses.get(one.next as usize));
        uses.map(|one| one.user)
    }
}

impl BBCode {
    /// The statements that use a value, once a use; the order is the same on every run and means nothing.
    ///
    /// The first call takes time linear in the function. From then on the chains are kept up to date by whatever changes the
    /// code, and a call takes time linear in what it returns and in what was changed since.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// │   %2 = Base.add_int(%1, %1)::Int64
    /// └──      return %2
    /// ")?.body)?;
    /// let insts: Vec<_> = bb.inst_ids(bb.entry().unwrap()).collect();
    /// assert_eq!(bb.users(insts[0]), [insts[1], insts[1]]);
    /// bb.replace_all_uses(insts[1], &insts[0].into())?;
    /// assert_eq!(bb.users(insts[0]), [insts[2], insts[1], insts[1]]);
    /// assert!(bb.users(insts[1]).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn users(&mut self, value: InstId) -> Vec<InstId> {
        self.store.chains().users(value).collect()
    }

    /// A statement that uses a value, if there is one. Takes time as [`BBCode::users`], but for the result.
    pub fn any_user(&mut self, value: InstId) -> Option<InstId> {
        self.store.chains().users(value).next()
    }

    /// Puts an operand in the place of every use of a value, and says how many there were.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// │   %2 = Base.neg_int(%1)::Int64
    /// └──      return %2
    /// ")?.body)?;
    /// let insts: Vec<_> = bb.inst_ids(bb.entry().unwrap()).collect();
    /// let late = EditError::NotAvailable { value: insts[1], at: insts[1] };
    /// assert_eq!(bb.replace_all_uses(insts[0], &insts[1].into()), Err(late));
    /// assert_eq!(bb.replace_all_uses(insts[1], &insts[0].into())?, 1);
    /// assert_eq!(bb.users(insts[0]), [insts[2], insts[1]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], and [`EditError::NotAvailable`] if some use would come before what it uses: then
    /// nothing is replaced. Whether a value is there at a use in another block is looked up in the dominator tree.
    pub fn replace_all_uses(&mut self, value: InstId, by: &Operand<Ids>) -> Result<usize, EditError> {
        self.store.node(value).ok_or(EditError::NoSuchInst(value))?;
        if by.as_value() == Some(value) {
            return Ok(0);
        }
        let mut users = self.users(value);
        let count = users.len();
        // The uses that one statement makes follow each other in the chain.
        users.dedup();
        for &user in &users {
            self.check_replacement(value, by, user)?;
        }
        for &user in &users {
            self.store.rewrite_operands(user, &mut |operand| {
                if operand.as_value() == Some(value) {
                    *operand = by.clone();
                }
            });
        }
        Ok(count)
    }

    /// Whether `by` can stand for `value` in `user`.
    fn check_replacement(&self, value: InstId, by: &Operand<Ids>, user: InstId) -> Result<(), EditError> {
        if let Some(Stmt::PhiC(_)) = self.stmt(user)
            && !by.as_value().is_some_and(|by| matches!(self.stmt(by), Some(Stmt::Upsilon(_))))
        {
            // A φᶜ takes what ϒs have stored, and nothing else.
            return Err(EditError::NotAvailable { value: by.as_value().unwrap_or(value), at: user });
        }
        let Some(new) = by.as_value() else { return self.check_operand_exists(by) };
        match self.stmt(user) {
            Some(Stmt::Phi(phi)) => {
                let takes = |entry: &&PhiEntry<Ids>| entry.value.as_ref().and_then(Operand::as_value) == Some(value);
                for entry in phi.entries.iter().filter(takes) {
                    self.check_available_at_end(new, entry.edge, user)?;
                }
                Ok(())
            }
            _ => self.check_available(new, user),
        }
    }
}
