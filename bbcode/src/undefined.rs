//! Which values may be undefined.

use ircode::{Operand, Stmt};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::ids::InstId;

impl BBCode {
    /// The values that may be undefined where they are computed: φs that have no value on some edge, and all φs of the
    /// entry, φᶜ nodes, and φs, copies and π nodes of such. Code reads these only where they are defined, so that a
    /// read must not be moved to where they may not be. Takes time linear in the function.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─ %2 = Base.neg_int(_3)::Int64
    /// 3 ┄ %3 = φ (#2 => %2)::Int64
    /// └──      goto #5 if not _2
    /// 4 ─      return %3
    /// 5 ─      return 0
    /// ")?.body)?;
    /// let join = bb.blocks().nth(2).unwrap();
    /// let phis = bb.phi_nodes(join).map(|(id, _)| id);
    /// assert!(bb.maybe_undefined().keys().eq(phis));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn maybe_undefined(&self) -> SecondaryMap<InstId, ()> {
        let graph = self.cfg();
        let mut undefined: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut work: Vec<InstId> = Vec::new();
        let mut made_of: SecondaryMap<InstId, Vec<InstId>> = SecondaryMap::new();
        for (number, &block) in graph.order().iter().enumerate() {
            // Counted once; φs name an edge once however often it is there.
            let mut preds: Option<usize> = None;
            for (id, inst) in self.insts(block) {
                let mut note = |operand: &Operand<_>| {
                    if let Some(users) = operand.as_value().and_then(|value| made_of.entry(value)) {
                        users.or_default().push(id);
                    }
                };
                let unsure = match &inst.stmt {
                    Stmt::Phi(phi) => {
                        phi.entries.iter().filter_map(|entry| entry.value.as_ref()).for_each(note);
                        let preds = *preds.get_or_insert_with(|| {
                            let mut preds: Vec<usize> = graph.graph().predecessors(number).collect();
                            preds.sort_unstable();
                            preds.dedup();
                            preds.len()
                        });
                        number == 0
                            || phi.entries.len() < preds
                            || phi.entries.iter().any(|entry| entry.value.is_none())
                    }
                    Stmt::Value(operand) => {
                        note(operand);
                        false
                    }
                    Stmt::Pi(pi) => {
                        note(&pi.value);
                        false
                    }
                    Stmt::PhiC(_) | Stmt::Upsilon(_) => true,
                    _ => false,
                };
                if unsure {
                    undefined.insert(id, ());
                    work.push(id);
                }
            }
        }
        while let Some(id) = work.pop() {
            for &user in made_of.get(id).map(Vec::as_slice).unwrap_or_default() {
                if undefined.insert(user, ()).is_none() {
                    work.push(user);
                }
            }
        }
        undefined
    }
}
