//! Which traces there are: what travels along each edge, and in which enum.

use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Name, Type, TypeDef, TypeKind};

use crate::reverse_mode::plan::Plan;

/// A part of what travels along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::reverse_mode) enum Part {
    /// The trace from before a loop with one entry that is left.
    Entry(LoopId),
    /// The stack of a loop or region that is left.
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
    /// The edge enters a loop at its header: it is the trace from before the loop.
    Enters(LoopId),
    /// The edge comes around a loop: it is pushed on the loop's stack.
    ComesAround(LoopId),
    /// The edge leads into or through an irreducible region: it is pushed on the region's stack.
    Steps(LoopId),
}

/// The traces of a function.
#[derive(Debug, Default)]
pub(in crate::reverse_mode) struct Traces {
    /// The innermost loop, or the outermost irreducible one, of each block.
    region_of: Vec<Option<LoopId>>,
    /// The loop of which each block is the header, of those with one entry.
    headed: HashMap<usize, LoopId>,
    /// The irreducible regions, each with the block at whose end its stack is made.
    irreducible: HashMap<LoopId, usize>,
    /// The names of the enums.
    base: String,
}

impl Traces {
    pub(in crate::reverse_mode) fn new(
        loops: &LoopForest,
        domtree: &DomTree,
        relevant: &[bool],
        base: &Name,
    ) -> Traces {
        let outermost_irreducible = |block: usize| {
            let mut at = loops.innermost(block);
            let mut found = None;
            while let Some((id, here)) = at.and_then(|id| Some((id, loops.get(id)?))) {
                if here.irreducible {
                    found = Some(id);
                }
                at = here.parent;
            }
            found
        };
        let region_of: Vec<Option<LoopId>> =
            (0..relevant.len()).map(|block| outermost_irreducible(block).or(loops.innermost(block))).collect();
        let is_relevant = |block: usize| relevant.get(block) == Some(&true);
        let mut headed = HashMap::new();
        let mut irreducible: HashMap<LoopId, usize> = HashMap::new();
        for (id, found) in loops.iter().filter(|(_, found)| is_relevant(found.header)) {
            if region_of.get(found.header) == Some(&Some(id)) && !found.irreducible {
                headed.insert(found.header, id);
            }
        }
        for (block, region) in region_of.iter().enumerate().filter(|(block, _)| is_relevant(*block)) {
            let Some(id) = region.filter(|&id| loops.get(id).is_some_and(|found| found.irreducible)) else { continue };
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
        Traces { region_of, headed, irreducible, base: base.to_string() }
    }

    pub(in crate::reverse_mode) fn region(&self, block: usize) -> Option<LoopId> {
        self.region_of.get(block).copied().flatten()
    }

    /// The loop with one entry of which the block is the header.
    pub(in crate::reverse_mode) fn headed_by(&self, block: usize) -> Option<LoopId> {
        self.headed.get(&block).copied()
    }

    /// The irreducible region in which the block is.
    pub(in crate::reverse_mode) fn irreducible_around(&self, block: usize) -> Option<LoopId> {
        self.region(block).filter(|id| self.irreducible.contains_key(id))
    }

    /// The irreducible regions whose stacks are made at the end of a block, in the order of their names.
    pub(in crate::reverse_mode) fn regions_begun_at(&self, block: usize) -> Vec<LoopId> {
        let mut found: Vec<LoopId> =
            self.irreducible.iter().filter(|(_, begun)| **begun == block).map(|(&id, _)| id).collect();
        found.sort_unstable();
        found
    }

    /// Whether a block has a trace of its own.
    pub(in crate::reverse_mode) fn has_trace(&self, block: usize) -> bool {
        block != 0 && self.headed_by(block).is_none() && self.irreducible_around(block).is_none()
    }

    pub(in crate::reverse_mode) fn edge_kind(&self, loops: &LoopForest, from: usize, to: usize) -> EdgeKind {
        match (self.headed_by(to), self.irreducible_around(to)) {
            (Some(id), _) if loops.contains(id, from) => EdgeKind::ComesAround(id),
            (Some(id), _) => EdgeKind::Enters(id),
            (None, Some(id)) => EdgeKind::Steps(id),
            (None, None) => EdgeKind::Joins,
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
        let mut left: Vec<LoopId> = Vec::new();
        let mut at = self.traces.region(from);
        while let Some(id) = at.filter(|&id| to.is_none_or(|to| !self.loops.contains(id, to))) {
            left.push(id);
            at = self.loops.get(id).and_then(|found| found.parent);
        }
        let mut parts = Vec::new();
        for &id in left.iter().rev() {
            if !self.traces.irreducible.contains_key(&id) {
                parts.push(Part::Entry(id));
            }
            parts.push(Part::Stack(id));
        }
        if self.traces.has_trace(from) {
            parts.push(Part::Trace(from));
        }
        let items = self.saves.get(from).and_then(Option::as_ref).map_or(0, |saves| saves.items.len());
        parts.extend((0..items).map(|position| Part::Item(from, position)));
        parts
    }

    /// Whether the pullback looks at a part. A trace is not looked at if there is only one way and nothing came along it.
    pub(in crate::reverse_mode) fn is_looked_at(&self, part: Part) -> bool {
        let block = match part {
            Part::Trace(block) => block,
            Part::Entry(id) => self.loops.get(id).map_or(0, |found| found.header),
            Part::Stack(_) | Part::Item(..) => return true,
        };
        let preds = self.relevant_predecessors(block);
        let comes = |pred: &&usize| match part {
            Part::Entry(id) => !self.loops.contains(id, **pred),
            _ => true,
        };
        match preds.iter().filter(comes).collect::<Vec<_>>().as_slice() {
            [only] => !self.parts(**only, Some(block)).is_empty(),
            _ => true,
        }
    }

    /// The type of a part.
    pub(in crate::reverse_mode) fn part_type(&self, part: Part) -> Type {
        match part {
            Part::Entry(id) => self.block_enum(self.loops.get(id).map_or(0, |found| found.header)),
            Part::Stack(id) => Type::stack(self.stack_enum(id)),
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

    /// The enum of which a loop or region has a stack.
    pub(in crate::reverse_mode) fn stack_enum(&self, id: LoopId) -> Type {
        let kind = if self.traces.irreducible.contains_key(&id) { "region" } else { "loop" };
        let header = self.loops.get(id).map_or(0, |found| found.header);
        Type::named(format!("{}_{kind}{}", self.traces.base, header + 1))
    }

    /// The predecessors of a block from which control may come on a way that returns.
    pub(in crate::reverse_mode) fn relevant_predecessors(&self, block: usize) -> Vec<usize> {
        self.predecessors(block).into_iter().filter(|&pred| self.relevant.get(pred) == Some(&true)).collect()
    }

    /// The enums in which the traces of the function travel.
    pub(in crate::reverse_mode) fn enum_defs(&self) -> Vec<TypeDef> {
        let mut names: Vec<Type> = Vec::new();
        let mut cases: HashMap<Type, Vec<(Name, Vec<Type>)>> = HashMap::new();
        for to in self.relevant_blocks() {
            for from in self.relevant_predecessors(to) {
                let of = match self.traces.edge_kind(&self.loops, from, to) {
                    EdgeKind::Joins | EdgeKind::Enters(_) => self.block_enum(to),
                    EdgeKind::ComesAround(id) | EdgeKind::Steps(id) => self.stack_enum(id),
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
            TypeDef { name: name.to_string().into(), kind: TypeKind::Enum { cases } }
        };
        names.into_iter().map(def).collect()
    }
}
