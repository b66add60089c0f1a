//! Who uses a value: chains that follow every change.

use ircode::{Operand, PhiEntry, Stmt};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{Ids, InstId};

impl BBCode {
    /// The statements that use a value, once a use; the order is the same on every run and means nothing.
    ///
    /// The first call takes time linear in the function. From then on the chains are kept up to date by whatever
    /// changes the code, and a call takes time linear in what it returns and in what was changed since.
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
    /// assert_eq!(bb.any_user(insts[1]), None);
    /// assert_eq!(bb.any_user(insts[0]), Some(insts[2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn users(&self, value: InstId) -> Vec<InstId> {
        self.store.ask_uses(|uses| uses.to(value).collect())
    }

    /// A statement that uses a value, if there is one. Takes time as [`BBCode::users`], but for the result.
    pub fn any_user(&self, value: InstId) -> Option<InstId> {
        self.store.ask_uses(|uses| uses.to(value).next())
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
    /// [`EditError::NoSuchInst`], [`EditError::NoValue`], [`EditError::NotAvailable`] if some use would come before what
    /// it uses, and [`EditError::NoToken`] if it uses the token of an `enter` and is to use something else: then nothing
    /// is replaced. Whether a value is there at a use in another block is looked up in the dominator tree.
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
        let is_token = |id| matches!(self.stmt(id), Some(Stmt::Enter(_)));
        if is_token(value) && !by.as_value().is_some_and(is_token) && *by != Operand::nothing() {
            return Err(EditError::NoToken { token: value, user });
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
