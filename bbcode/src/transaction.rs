//! Transactions: changes that can be taken back.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ircode::{DebugInfo, JuliaVersion, Positions, Stmt, Type};
use slotmap::Key;

use crate::code::{BBCode, BBlock};
use crate::ids::{BlockId, InstId};
use crate::store::Node;

/// What a transaction has changed.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) insts: Changes<InstId, Node>,
    pub(crate) blocks: Changes<BlockId, BBlock>,
}

/// Which transaction was the last to note each thing, by the places of their keys. A table of all things is faster than
/// a set of those that a transaction has changed, and is there for the next transaction.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<u64>);

impl Notes {
    /// The number of the transaction that was the last to note a thing; 0 if none was.
    fn note<K: Key>(&mut self, key: K, transaction: u64) -> u64 {
        // The lower half of a key is its place.
        let place = key.data().as_ffi() as u32 as usize;
        if place >= self.0.len() {
            self.0.resize((place + 1).next_power_of_two(), 0);
        }
        std::mem::replace(&mut self.0[place], transaction)
    }
}

/// What a transaction has changed of one kind of things.
#[derive(Debug)]
pub(crate) struct Changes<K, T> {
    /// The number of the transaction, which no other one of this code has.
    transaction: u64,
    /// What was changed, each once.
    changes: Vec<Change<K>>,
    /// What was there before of what was not added, in the order of the changes. Most changes of large functions add,
    /// and should not take the place of a statement each.
    before: Vec<T>,
    /// What is marked as removed: it keeps its place until the outermost transaction is committed, so that it can come
    /// back under its name.
    pub(crate) removed: Vec<K>,
}

/// A thing that a transaction has changed.
#[derive(Clone, Copy, Debug)]
struct Change<K> {
    key: K,
    /// Whether it was there before.
    was_there: bool,
    /// The transaction that had noted it before.
    noted: u64,
}

impl Journal {
    pub(crate) fn new(transaction: u64) -> Self {
        Journal { insts: Changes::new(transaction), blocks: Changes::new(transaction) }
    }
}

impl<K, T> Default for Changes<K, T> {
    fn default() -> Self {
        Changes { transaction: 0, changes: Vec::new(), before: Vec::new(), removed: Vec::new() }
    }
}

impl<K: Key, T: Clone> Changes<K, T> {
    fn new(transaction: u64) -> Self {
        Changes { transaction, ..Changes::default() }
    }

    pub(crate) fn added(&mut self, key: K, notes: &mut Notes) {
        let noted = notes.note(key, self.transaction);
        self.changes.push(Change { key, was_there: false, noted });
    }

    pub(crate) fn changing(&mut self, key: K, value: &T, notes: &mut Notes) {
        let noted = notes.note(key, self.transaction);
        if noted != self.transaction {
            self.changes.push(Change { key, was_there: true, noted });
            self.before.push(value.clone());
        }
    }

    /// Takes over what a transaction inside of this one has changed.
    fn absorb(&mut self, inner: Self, notes: &mut Notes) {
        let mut before = inner.before.into_iter();
        for change in inner.changes {
            notes.note(change.key, self.transaction);
            let value = if change.was_there { before.next() } else { None };
            if change.noted != self.transaction {
                self.changes.push(change);
                self.before.extend(value);
            }
        }
        self.removed.extend(inner.removed);
    }

    /// What was there before, each once; `None` for what was added. Backwards, so that free places are given out again
    /// in the same order on every run.
    pub(crate) fn take_back(self, notes: &mut Notes) -> impl Iterator<Item = (K, Option<T>)> {
        let mut before = self.before;
        self.changes.into_iter().rev().map(move |Change { key, was_there, noted }| {
            notes.note(key, noted);
            (key, if was_there { before.pop() } else { None })
        })
    }
}

/// What a function says beside its blocks.
#[derive(Debug)]
struct Heading {
    argtypes: Vec<Type>,
    sptypes: Vec<Type>,
    debuginfo: Arc<DebugInfo>,
    julia: Option<JuliaVersion>,
    meta: Vec<Stmt<Positions>>,
    first: Option<BlockId>,
    last: Option<BlockId>,
}

/// Changes of a [`BBCode`] that can be taken back. See [`BBCode::transaction`].
#[derive(Debug)]
pub struct Transaction<'a> {
    bb: &'a mut BBCode,
    /// `None` once the transaction is over.
    heading: Option<Heading>,
    /// How many transactions were open with this one.
    depth: usize,
}

impl BBCode {
    /// Begins a transaction. The code is changed through what is returned; [`Transaction::commit`] keeps the changes,
    /// and [`Transaction::rollback`], or dropping it, takes them back: every statement and every block is there again
    /// under its own name. Transactions can be nested.
    ///
    /// What cannot be taken back is putting another `BBCode` in the place of the whole.
    ///
    /// What is removed is only marked until the outermost transaction is committed. Taking back takes time linear in
    /// what was changed, not in the function.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └──      return %1
    /// ")?.body)?;
    /// let block = bb.entry().unwrap();
    /// let negated = bb.first_inst(block).unwrap();
    ///
    /// let mut edit = bb.transaction();
    /// edit.remove_block_unchecked(block)?;
    /// assert_eq!((edit.inst_count(), edit.stmt(negated)), (0, None));
    /// edit.rollback();
    ///
    /// assert_eq!(bb.first_inst(block), Some(negated));
    /// assert_eq!(bb.to_string(), "1 ─ %1 = Base.neg_int(_2)::Int64\n└── %2 = return %1\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transaction(&mut self) -> Transaction<'_> {
        let heading = Heading {
            argtypes: self.argtypes.clone(),
            sptypes: self.sptypes.clone(),
            debuginfo: self.debuginfo.clone(),
            julia: self.julia,
            meta: self.meta.clone(),
            first: self.entry(),
            last: self.last_block(),
        };
        let depth = self.store.open_journal();
        Transaction { bb: self, heading: Some(heading), depth }
    }

    /// Makes changes and verifies what comes out. If `edit` fails or the code is not valid then, all changes are taken
    /// back. Takes time linear in the function.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Operand, Stmt, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.neg_int(_2)::Int64
    /// └──      return %1
    /// ")?.body)?;
    /// let negated = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// let itself = Stmt::call(Operand::global("Base", "neg_int"), [Operand::Value(negated)]);
    /// let error = bb.checked(|bb| bb.replace(negated, itself)).unwrap_err();
    /// assert_eq!(error.to_string(), "the code would not be valid: IR27: %1 in block #1: it uses its own result %1");
    /// assert!(bb.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of `edit`; [`EditError::NotValid`](crate::EditError::NotValid) with the first violation.
    pub fn checked<T, E: From<crate::EditError>>(
        &mut self,
        edit: impl FnOnce(&mut BBCode) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut transaction = self.transaction();
        let result = edit(&mut transaction)?;
        if let Err(violations) = transaction.verify()
            && let Some(first) = violations.0.into_iter().next()
        {
            return Err(crate::EditError::NotValid(Box::new(first)).into());
        }
        transaction.commit();
        Ok(result)
    }
}

impl Transaction<'_> {
    /// Keeps the changes.
    pub fn commit(mut self) {
        self.heading = None;
        let store = &mut self.bb.store;
        // Behind it there are those of transactions that were forgotten without being dropped, which are part of this
        // one.
        while store.journals.len() >= self.depth
            && let Some(journal) = store.journals.pop()
        {
            match store.journals.last_mut() {
                Some(outer) => {
                    outer.insts.absorb(journal.insts, &mut store.noted_insts);
                    outer.blocks.absorb(journal.blocks, &mut store.noted_blocks);
                }
                None => store.sweep(&journal),
            }
        }
    }

    /// Takes the changes back.
    pub fn rollback(self) {
        // Dropping does it.
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let Some(heading) = self.heading.take() else { return };
        let Heading { argtypes, sptypes, debuginfo, julia, meta, first, last } = heading;
        let bb = &mut *self.bb;
        // Other code was put in the place of the whole: there is nothing to go back to.
        if bb.store.journals.len() < self.depth {
            return;
        }
        (bb.argtypes, bb.sptypes, bb.debuginfo, bb.julia, bb.meta) = (argtypes, sptypes, debuginfo, julia, meta);
        // Transactions inside of it may have been forgotten without being dropped.
        while bb.store.journals.len() >= self.depth
            && let Some(journal) = bb.store.journals.pop()
        {
            bb.store.undo(journal);
        }
        bb.store.set_ends(first, last);
    }
}

impl Deref for Transaction<'_> {
    type Target = BBCode;

    fn deref(&self) -> &BBCode {
        self.bb
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut BBCode {
        self.bb
    }
}
