//! What of later rounds can be known where the inner loop is entered.

use bbcode::{Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Operand, Stmt, Type};

use super::nests::{DEEPEST, Inner, Load, Nest, Outer, Search, load};
use crate::analyses::effects::is_total;

/// At most this many steps are taken to what a value of a later round consists of.
const STEPS: usize = 32;

/// Looks at what values of the outer loop consist of: each once.
pub(super) struct Early<'a> {
    search: &'a Search<'a, 'a>,
    outer: &'a Outer<'a>,
    inner: &'a Inner,
    /// For values, how many rounds later, and whether loads may be made for them: whether they are known.
    known: HashMap<(InstId, usize, bool), bool>,
    loaded: HashSet<InstId>,
    loads: Vec<Load>,
}

impl<'a> Early<'a> {
    pub(super) fn new(search: &'a Search<'a, 'a>, outer: &'a Outer<'a>, inner: &'a Inner) -> Self {
        let (known, loaded) = (HashMap::new(), HashSet::new());
        Early { search, outer, inner, known, loaded, loads: Vec::new() }
    }

    /// Whether an operand is computed before the outer loop.
    pub(super) fn is_known_before(&self, operand: &Operand<Ids>) -> bool {
        match operand {
            Operand::Constant(_) | Operand::Argument(_) => true,
            Operand::Value(value) => {
                let block = self.search.bb.block_of(*value).filter(|_| !self.search.undefined.contains_key(*value));
                block.is_some_and(|block| !self.outer.around.has(block))
            }
            _ => false,
        }
    }

    /// Whether what an operand is in the round that comes so much later can be computed, without loads.
    pub(super) fn is_known(&mut self, operand: &Operand<Ids>, later: usize) -> bool {
        self.is_early(operand, later, false, STEPS)
    }

    /// What has to be loaded so that so many rounds can be run at once; `None` if they cannot, as something is not
    /// known.
    pub(super) fn loads_of(mut self, nest: &Nest<'_>, rounds: usize) -> Option<Vec<Load>> {
        let (bb, module) = (self.search.bb, self.search.module);
        let counter = nest.inner.carried.iter().find(|carried| carried.phi == nest.inner.counter)?;
        // What conditions and indices consist of decides whether anything may be loaded.
        let mut needed = vec![counter.start.clone(), nest.inner.bound.clone()];
        for load in nest.inner.loads(bb, module) {
            self.is_known_before(&load.array).then_some(())?;
            for index in &load.indices {
                nest.inner.factor(bb, module, index, DEEPEST, &mut needed)?;
            }
        }
        let is_bool = |(condition, _): &(Operand<Ids>, bool)| bb.operand_type(condition) == Type::BOOL;
        if !is_bool(&nest.outer.goes_on) || !nest.entered.iter().all(is_bool) {
            return None;
        }
        for later in 0..rounds {
            let mut fine = needed.iter().all(|operand| self.is_known(operand, later));
            if later + 1 < rounds {
                fine &= self.is_known(&nest.outer.goes_on.0, later);
            }
            if later > 0 {
                fine &= nest.entered.iter().all(|(condition, _)| self.is_known(condition, later));
                let used = nest.inner.operands(bb);
                fine &= used.iter().all(|operand| self.is_early(operand, later, true, STEPS));
                let mut starts = nest.inner.carried.iter().map(|carried| &carried.start);
                fine &= starts.all(|start| self.is_early(start, later, true, STEPS));
            }
            fine.then_some(())?;
        }
        let loads = std::mem::take(&mut self.loads);
        for later in 1..rounds {
            let mut indices = loads.iter().flat_map(|load| &load.indices);
            indices.all(|index| self.is_known(index, later)).then_some(())?;
        }
        Some(loads)
    }

    fn is_early(&mut self, operand: &Operand<Ids>, later: usize, may_load: bool, depth: usize) -> bool {
        if self.is_known_before(operand) {
            return true;
        }
        let value = operand.as_value().filter(|&value| !self.search.undefined.contains_key(value));
        let (Some(value), Some(depth)) = (value, depth.checked_sub(1)) else { return false };
        if let Some(&known) = self.known.get(&(value, later, may_load)) {
            return known;
        }
        let known = self.is_early_value(value, later, may_load, depth);
        self.known.insert((value, later, may_load), known);
        known
    }

    fn is_early_value(&mut self, value: InstId, later: usize, may_load: bool, depth: usize) -> bool {
        let Search { bb, module, graph, loops, .. } = *self.search;
        let (Some(block), Some(stmt)) = (bb.block_of(value), bb.stmt(value)) else { return false };
        match (later.checked_sub(1), self.outer.carried.get(&value)) {
            (None, _) if self.search.dominates(block, self.inner.before) => return true,
            (Some(earlier), Some(carried)) => return self.is_early(&carried.next, earlier, may_load, depth),
            _ => {}
        }
        // Of what stands in loops inside, other nests may change how it is called.
        let innermost = graph.number(block).and_then(|number| loops.innermost(number));
        if matches!(stmt, Stmt::Phi(_)) || innermost != Some(self.outer.around.id) {
            return false;
        }
        let loaded = load(module, stmt).filter(|load| may_load && later > 0 && self.is_known_before(&load.array));
        if loaded.is_none() && !is_total(module, bb, stmt) {
            return false;
        }
        let mut used = Vec::new();
        stmt.for_each_use(|value| used.push(value));
        if !used.into_iter().all(|used| self.is_early(&Operand::Value(used), later, may_load, depth)) {
            return false;
        }
        if let Some(load) = loaded
            && self.loaded.insert(value)
        {
            self.loads.push(load);
        }
        true
    }
}
