//! Who names what, as lists that follow every change: which statements use a value, which blocks lead to a block.

use std::sync::{Mutex, PoisonError};

use slotmap::{Key, SecondaryMap};

/// No link.
const NONE: u32 = u32::MAX;

/// Links from things to things, as doubly linked lists by where they lead to, so that a link is added and taken out in
/// constant time. Everything that has links is either entered here or suspended.
#[derive(Debug)]
pub(crate) struct Chains<K: Key> {
    /// The first link to each thing.
    to: SecondaryMap<K, u32>,
    /// The first of the links from each thing.
    from: SecondaryMap<K, u32>,
    links: Vec<Link<K>>,
    /// The first place of `links` that is free; the next is in its `next`.
    free: u32,
    /// What may have been rewritten, whose links are in no list.
    suspended: Vec<K>,
}

/// Chains that are made when somebody first asks. Asking takes a lock, so that it needs no `&mut`; changing does not.
#[derive(Debug)]
pub(crate) struct OnDemand<K: Key>(Mutex<Option<Box<Chains<K>>>>);

impl<K: Key> Default for OnDemand<K> {
    fn default() -> Self {
        OnDemand(Mutex::new(None))
    }
}

impl<K: Key> OnDemand<K> {
    /// The chains, if somebody has asked for them, to follow a change.
    pub(crate) fn known(&mut self) -> Option<&mut Chains<K>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_deref_mut()
    }

    /// Forgets the chains, until somebody asks again.
    pub(crate) fn clear(&mut self) {
        *self = OnDemand::default();
    }

    /// Gives the chains to `ask`, made by `make` if there are none yet.
    pub(crate) fn with<T>(&self, make: impl FnOnce() -> Chains<K>, ask: impl FnOnce(&mut Chains<K>) -> T) -> T {
        // Nobody leaves them half changed: what runs under the lock does not panic.
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ask(chains.get_or_insert_with(|| Box::new(make())))
    }
}

#[derive(Clone, Copy, Debug)]
struct Link<K> {
    from: K,
    to: K,
    prev: u32,
    next: u32,
    next_from: u32,
}

impl<K: Key> Chains<K> {
    /// Chains of these, of which all are suspended at first.
    pub(crate) fn new(all: impl Iterator<Item = K>) -> Self {
        let suspended: Vec<K> = all.collect();
        Chains {
            to: SecondaryMap::with_capacity(suspended.len()),
            from: SecondaryMap::with_capacity(suspended.len()),
            links: Vec::with_capacity(suspended.len()),
            free: NONE,
            suspended,
        }
    }

    /// Enters the links from something, which `each` goes over.
    fn enter(&mut self, from: K, each: impl FnOnce(&mut dyn FnMut(K))) {
        let mut first_from = NONE;
        each(&mut |to| {
            let next = self.to.get(to).copied().unwrap_or(NONE);
            let entry = Link { from, to, prev: NONE, next, next_from: first_from };
            let at = match self.links.get_mut(self.free as usize) {
                Some(place) => {
                    let at = self.free;
                    self.free = place.next;
                    *place = entry;
                    at
                }
                None => {
                    self.links.push(entry);
                    (self.links.len() - 1) as u32
                }
            };
            if let Some(next) = self.links.get_mut(next as usize) {
                next.prev = at;
            }
            // What does not exist has no list to be in.
            self.to.insert(to, at);
            first_from = at;
        });
        self.from.insert(from, first_from);
    }

    /// Takes the links from something out, and says whether it was entered.
    fn take_out(&mut self, from: K) -> bool {
        let Some(mut at) = self.from.remove(from) else { return false };
        while let Some(&Link { to, prev, next, next_from, .. }) = self.links.get(at as usize) {
            match self.links.get_mut(prev as usize) {
                Some(prev) => prev.next = next,
                None if next == NONE => drop(self.to.remove(to)),
                None => drop(self.to.insert(to, next)),
            }
            if let Some(next) = self.links.get_mut(next as usize) {
                next.prev = prev;
            }
            if let Some(place) = self.links.get_mut(at as usize) {
                place.next = self.free;
                place.prev = NONE;
            }
            self.free = at;
            at = next_from;
        }
        true
    }

    /// Something is new, and may be rewritten until the chains are asked for.
    pub(crate) fn add(&mut self, from: K) {
        self.suspended.push(from);
    }

    /// Something may be rewritten from now on, until the chains are asked for.
    pub(crate) fn suspend(&mut self, from: K) {
        if self.take_out(from) {
            self.suspended.push(from);
        }
    }

    /// Something is gone.
    pub(crate) fn forget(&mut self, from: K) {
        self.take_out(from);
    }

    /// Enters what was suspended and is still there, with the links that `each` goes over now.
    pub(crate) fn resume(&mut self, is_there: impl Fn(K) -> bool, each: impl Fn(K, &mut dyn FnMut(K))) {
        for from in std::mem::take(&mut self.suspended) {
            if !self.from.contains_key(from) && is_there(from) {
                self.enter(from, |visit| each(from, visit));
            }
        }
    }

    /// From where links lead to something, once a link.
    pub(crate) fn to(&self, to: K) -> impl Iterator<Item = K> + '_ {
        let first = self.to.get(to).copied().unwrap_or(NONE);
        let links = std::iter::successors(self.links.get(first as usize), |one| self.links.get(one.next as usize));
        links.map(|one| one.from)
    }
}
