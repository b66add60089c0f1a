//! Which traces there are: what travels along each edge, and in which enum.

use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Name, Type, TypeDef, TypeKind};

use crate::reverse_mode::plan::Plan;

/// A part of what travels along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::reverse_mode) enum Part {
    /// The trace from before a nest of loops that is left.
    Entry(LoopId),
    /// The stack of a nest that is left.
    Stack(LoopId),
    /// The trace of a block: how control came there.
    Trace(usize),
    /// Of the linear-map tuple of a block, the element at this position.
    Item(usize, usize),
}

/// Where what travels along an edge goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::reverse_mode) enum EdgeKind {
    /// It is the trace of the target.
    Joins,
    /// The edge enters a nest at the header of its outermost loop: it is the trace from before the nest.
    Enters(LoopId),
    /// The edge comes around a loop of a nest, enters one inside, or leads through a part with several entries: it is
    /// pushed on the stack of the nest.
    Pushes(LoopId),
}

/// The traces of a function. A nest of loops goes by the name of its outermost loop.
#[derive(Debug, Default)]
pub(in crate::reverse_mode) struct Traces {
    /// The outermost loop around each block.
    nest_of: Vec<Option<LoopId>>,
    /// Whether a block is in a loop with several entries.
    in_irreducible: Vec<bool>,
    /// The loop of which each block is the header, of loops that are not in or of a loop with several entries.
    headed: HashMap<usize, LoopId>,
    /// The nests whose outermost loop has several entries, each with the block at whose end its stack is made.
    irreducible: HashMap<LoopId, usize>,
    /// Whether the trace of each block says anything: whether control can come by several ways, or something came
    /// along.
    informative: Vec<bool>,
    /// The nests whose trace from before says anything.
    informative_entries: HashSet<LoopId>,
    /// The edges that are the only ones to push on the stacks of their nests.
    only_pushes: HashMap<LoopId, (usize, usize)>,
    /// The names of the enums.
    base: String,
}

impl Traces {
    pub(in crate::reverse_mode) fn new(loops: &LoopForest, domtree: &DomTree, relevant: &[bool], base: &Name) -> Self {
        let is_relevant = |block: usize| relevant.get(block) == Some(&true);
        let (mut nest_of, mut in_irreducible) = (vec![None; relevant.len()], vec![false; relevant.len()]);
        for block in 0..relevant.len() {
            let mut at = loops.innermost(block);
            while let Some((id, here)) = at.and_then(|id| Some((id, loops.get(id)?))) {
                nest_of[block] = Some(id);
                in_irreducible[block] |= here.irreducible;
                at = here.parent;
            }
        }
        let single = |header: usize| is_relevant(header) && !in_irreducible[header];
        let headed = loops.iter().filter(|(_, found)| single(found.header)).map(|(id, found)| (found.header, id));
        let headed = headed.collect();
        let mut irreducible: HashMap<LoopId, usize> = HashMap::new();
        for (block, nest) in nest_of.iter().enumerate().filter(|(block, _)| is_relevant(*block)) {
            let Some(id) = nest.filter(|&id| loops.get(id).is_some_and(|found| found.irreducible)) else { continue };
            let nearest = irreducible.get(&id).and_then(|&other| domtree.nearest_common_dominator(other, block));
            irreducible.insert(id, nearest.unwrap_or(block));
        }
        for (&id, block) in &mut irreducible {
            while loops.contains(id, *block) {
                match domtree.immediate_dominator(*block) {
                    Some(up) => *block = up,
                    None => break,
                }
            }
        }
        let informative = vec![true; relevant.len()];
        let informative_entries = HashSet::new();
        let base = base.to_string();
        let only_pushes = HashMap::new();
        Traces { nest_of, in_irreducible, headed, irreducible, informative, informative_entries, only_pushes, base }
    }

    pub(in crate::reverse_mode) fn nest(&self, block: usize) -> Option<LoopId> {
        self.nest_of.get(block).copied().flatten()
    }

    /// The nest of which the block is the header of the outermost loop, which has one entry.
    pub(in crate::reverse_mode) fn nest_headed_by(&self, block: usize) -> Option<LoopId> {
        self.headed.get(&block).copied().filter(|&id| self.nest(block) == Some(id))
    }

    /// The nests whose stacks are made at the end of a block, in the order of their names.
    pub(in crate::reverse_mode) fn nests_begun_at(&self, block: usize) -> Vec<LoopId> {
        let begun = self.irreducible.iter().filter(|(_, begun)| **begun == block).map(|(&id, _)| id);
        let mut found: Vec<LoopId> = begun.collect();
        found.sort_unstable();
        found
    }

    /// Whether a block has a trace of its own; else what there is to know is on the stack of its nest.
    pub(in crate::reverse_mode) fn has_trace(&self, block: usize) -> bool {
        block != 0 && !self.headed.contains_key(&block) && self.in_irreducible.get(block) == Some(&false)
    }

    pub(in crate::reverse_mode) fn edge_kind(&self, from: usize, to: usize) -> EdgeKind {
        match (self.has_trace(to), self.nest(to), self.nest_headed_by(to)) {
            (true, _, _) | (_, None, _) => EdgeKind::Joins,
            (false, Some(nest), Some(_)) if self.nest(from) != Some(nest) => EdgeKind::Enters(nest),
            (false, Some(nest), _) => EdgeKind::Pushes(nest),
        }
    }
}

/// The name of the case for a block.
pub(in crate::reverse_mode) fn case_name(block: usize) -> Name {
    format!("bb{}", block + 1).into()
}

impl Plan<'_> {
    /// What travels along the edge from a block: to another, or out of the function.
    pub(in crate::reverse_mode) fn parts(&self, from: usize, to: Option<usize>) -> Vec<Part> {
        let traces = &self.traces;
        let mut parts = Vec::new();
        if let Some(nest) = traces.nest(from).filter(|&nest| to.is_none_or(|to| traces.nest(to) != Some(nest))) {
            if traces.informative_entries.contains(&nest) {
                parts.push(Part::Entry(nest));
            }
            parts.push(Part::Stack(nest));
        }
        if traces.has_trace(from) && traces.informative.get(from) == Some(&true) {
            parts.push(Part::Trace(from));
        }
        let items = self.saves.get(from).and_then(Option::as_ref).map_or(0, |saves| saves.items.len());
        parts.extend((0..items).map(|position| Part::Item(from, position)));
        parts
    }

    /// Finds which traces say anything: once it is known what each block saves.
    pub(in crate::reverse_mode) fn find_informative_traces(&mut self) {
        self.find_only_pushes();
        let mut order = self.graph.graph().postorder();
        order.reverse();
        for block in order.into_iter().filter(|&block| block != 0 && self.ways.relevant.get(block) == Some(&true)) {
            let preds = self.relevant_predecessors(block);
            match self.traces.nest_headed_by(block) {
                Some(nest) => {
                    let before = preds.iter().find(|&&pred| self.traces.nest(pred) != Some(nest));
                    if before.is_some_and(|&before| !self.parts(before, Some(block)).is_empty()) {
                        self.traces.informative_entries.insert(nest);
                    }
                }
                None => {
                    let says = match preds.as_slice() {
                        [only] => !self.parts(*only, Some(block)).is_empty(),
                        _ => true,
                    };
                    if let Some(informative) = self.traces.informative.get_mut(block) {
                        *informative = says;
                    }
                }
            }
        }
    }

    /// What the only edge that pushes on the stack of a nest pushes, if there is only one: no enum is needed then.
    pub(in crate::reverse_mode) fn only_push(&self, nest: LoopId) -> Option<Vec<Part>> {
        let &(from, to) = self.traces.only_pushes.get(&nest)?;
        Some(self.parts(from, Some(to)))
    }

    /// The type of the elements of the stack of a nest.
    pub(in crate::reverse_mode) fn element_type(&self, nest: LoopId) -> Type {
        let Some(parts) = self.only_push(nest) else { return self.stack_enum(nest) };
        match parts.as_slice() {
            [] => Type::Nothing,
            [only] => self.part_type(*only),
            several => Type::tuple(several.iter().map(|&part| self.part_type(part))),
        }
    }

    fn find_only_pushes(&mut self) {
        let mut pushes: HashMap<LoopId, Vec<(usize, usize)>> = HashMap::new();
        for to in self.ways.relevant_blocks() {
            for from in self.relevant_predecessors(to) {
                if let EdgeKind::Pushes(nest) = self.traces.edge_kind(from, to) {
                    pushes.entry(nest).or_default().push((from, to));
                }
            }
        }
        for (nest, pushes) in pushes {
            // Where a loop has several entries, the case says where control came from.
            if let ([only], false) = (pushes.as_slice(), self.traces.irreducible.contains_key(&nest)) {
                self.traces.only_pushes.insert(nest, *only);
            }
        }
    }

    /// Whether the trace of a block says anything.
    pub(in crate::reverse_mode) fn is_informative(&self, block: usize) -> bool {
        self.traces.informative.get(block) == Some(&true)
    }

    /// Whether the trace from before a nest says anything.
    pub(in crate::reverse_mode) fn is_entry_informative(&self, nest: LoopId) -> bool {
        self.traces.informative_entries.contains(&nest)
    }

    /// The type of a part.
    pub(in crate::reverse_mode) fn part_type(&self, part: Part) -> Type {
        match part {
            Part::Entry(id) => self.block_enum(self.loops.get(id).map_or(0, |found| found.header)),
            Part::Stack(id) => Type::stack(self.element_type(id)),
            Part::Trace(block) => self.block_enum(block),
            Part::Item(block, position) => {
                let saves = self.saves.get(block).and_then(Option::as_ref);
                saves.and_then(|saves| saves.types.get(position)).cloned().unwrap_or(Type::Any)
            }
        }
    }

    /// The enum that says how control came to a block.
    pub(in crate::reverse_mode) fn block_enum(&self, block: usize) -> Type {
        Type::named(format!("{}_bb{}", self.traces.base, block + 1))
    }

    /// The enum of which a nest has a stack.
    pub(in crate::reverse_mode) fn stack_enum(&self, id: LoopId) -> Type {
        let kind = if self.traces.irreducible.contains_key(&id) { "region" } else { "loop" };
        let header = self.loops.get(id).map_or(0, |found| found.header);
        Type::named(format!("{}_{kind}{}", self.traces.base, header + 1))
    }

    /// The predecessors of a block from which control may come on a way that returns.
    pub(in crate::reverse_mode) fn relevant_predecessors(&self, block: usize) -> Vec<usize> {
        self.predecessors(block).into_iter().filter(|&pred| self.ways.relevant.get(pred) == Some(&true)).collect()
    }

    /// The enums in which the traces of the function travel.
    pub(in crate::reverse_mode) fn enum_defs(&self) -> Vec<TypeDef> {
        let mut names: Vec<Type> = Vec::new();
        let mut cases: HashMap<Type, Vec<(Name, Vec<Type>)>> = HashMap::new();
        for to in self.ways.relevant_blocks() {
            for from in self.relevant_predecessors(to) {
                let of = match self.traces.edge_kind(from, to) {
                    EdgeKind::Joins if !self.is_informative(to) => continue,
                    EdgeKind::Enters(nest) if !self.is_entry_informative(nest) => continue,
                    EdgeKind::Joins | EdgeKind::Enters(_) => self.block_enum(to),
                    EdgeKind::Pushes(nest) if self.only_push(nest).is_some() => continue,
                    EdgeKind::Pushes(nest) => self.stack_enum(nest),
                };
                let cases = cases.entry(of.clone()).or_insert_with(|| {
                    names.push(of);
                    Vec::new()
                });
                let name = case_name(from);
                if cases.iter().all(|(known, _)| *known != name) {
                    let payload = self.parts(from, Some(to)).into_iter().map(|part| self.part_type(part));
                    cases.push((name, payload.collect()));
                }
            }
        }
        let mut seen: HashSet<Type> = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let def = |name: Type| {
            let cases = cases.remove(&name).unwrap_or_default();
            TypeDef { name: name.to_string().into(), supertypes: None, kind: TypeKind::Enum { cases } }
        };
        names.into_iter().map(def).collect()
    }
}
