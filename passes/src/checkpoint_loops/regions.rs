//! Which loops become segments, and what goes into them, around them and out of them.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest, LoopId};
use ircode::{Operand, Stmt, Type};
use slotmap::SecondaryMap;

use crate::reverse_mode::survey::{Obstacle, Part, Surveyed};

/// A loop with more ways out stays: each value that is used outside takes an operand for each.
const MOST_EXITS: usize = 64;

/// A loop that becomes segments.
pub(super) struct Region {
    pub(super) header: BlockId,
    /// Its blocks, in the order of the layout.
    pub(super) blocks: Vec<BlockId>,
    /// The blocks outside from which control comes to the header, each once.
    pub(super) before: Vec<BlockId>,
    /// The blocks inside from which control comes to the header, each once.
    pub(super) latches: Vec<BlockId>,
    /// The edges on which control leaves it.
    pub(super) exits: Vec<(BlockId, BlockId)>,
    /// The φs of the header.
    pub(super) carried: Vec<InstId>,
    /// What is computed outside and used inside, in the order of first use.
    pub(super) inputs: Vec<Input>,
    /// What is computed inside and used outside.
    pub(super) outputs: Vec<Output>,
}

/// What is computed outside of a loop and used inside.
pub(super) struct Input {
    pub(super) operand: Operand<Ids>,
    pub(super) ty: Type,
    /// Whether it goes through the segments as a carried value does.
    pub(super) is_threaded: bool,
}

/// What is computed in a loop and used outside.
pub(super) struct Output {
    pub(super) value: InstId,
    /// By exit: whether it is computed whenever control leaves there.
    pub(super) at: Vec<bool>,
}

/// What was found of a loop.
pub(super) enum Found {
    Region(Region),
    /// It stays, for this reason. It is named by its header.
    Left(BlockId, String),
}

/// The outermost loops that become segments, and those that stay, loops inside before those around them. The loop with
/// the header `own` is not looked at; those in it are.
pub(super) fn regions(bb: &BBCode, surveyed: &Surveyed<'_>, own: Option<BlockId>) -> Vec<Found> {
    let graph = bb.cfg();
    let forest = graph.loops();
    if forest.iter().len() == 0 {
        return Vec::new();
    }
    let mut problems = problems(bb, surveyed, &graph, &forest);
    let mut blocks: HashMap<LoopId, Vec<usize>> = HashMap::new();
    for number in 0..graph.order().len() {
        if let Some(id) = forest.innermost(number) {
            blocks.entry(id).or_default().push(number);
        }
    }
    let mut children: HashMap<LoopId, Vec<LoopId>> = HashMap::new();
    for (id, each) in forest.iter() {
        each.parent.into_iter().for_each(|parent| children.entry(parent).or_default().push(id));
    }
    let undefined = bb.maybe_undefined();
    let survey = Regions {
        bb,
        surveyed,
        domtree: graph.dominators(),
        users: users(bb, &graph, |_, _| true),
        strict_users: users(bb, &graph, |stmt, value| !matches!(stmt, Stmt::Phi(_)) && undefined.contains_key(value)),
        undefined,
        graph: &graph,
        forest: &forest,
    };
    let mut found = Vec::new();
    let mut inside: HashSet<LoopId> = HashSet::new();
    let loops: Vec<_> = forest.iter().collect();
    // Outer loops come last, so they are looked at first.
    for (id, each) in loops.into_iter().rev() {
        let Some(header) = graph.block(each.header) else { continue };
        if each.parent.is_some_and(|parent| inside.contains(&parent)) {
            inside.insert(id);
            continue;
        }
        if own == Some(header) {
            continue;
        }
        let region = match problems.remove(&id) {
            Some(Obstacle::IsCheckpointed) => continue,
            Some(Obstacle::Because(why)) => Err(why),
            None => survey.region(id, header, gather(id, &blocks, &children)),
        };
        found.push(match region {
            Ok(region) => {
                inside.insert(id);
                Found::Region(region)
            }
            Err(why) => Found::Left(header, why),
        });
    }
    found.reverse();
    found
}

/// The blocks of a loop and of those in it, sorted.
fn gather(id: LoopId, blocks: &HashMap<LoopId, Vec<usize>>, children: &HashMap<LoopId, Vec<LoopId>>) -> Vec<usize> {
    let mut all = Vec::new();
    let mut work = vec![id];
    while let Some(id) = work.pop() {
        all.extend(blocks.get(&id).into_iter().flatten());
        work.extend(children.get(&id).into_iter().flatten());
    }
    all.sort_unstable();
    all
}

/// For each loop the first statement in it that cannot be run again, and why.
fn problems(
    bb: &BBCode,
    surveyed: &Surveyed<'_>,
    graph: &BlockGraph,
    forest: &LoopForest,
) -> HashMap<LoopId, Obstacle> {
    let mut problems: HashMap<LoopId, Obstacle> = HashMap::new();
    for (number, &block) in graph.order().iter().enumerate() {
        let mut at = forest.innermost(number).filter(|id| !problems.contains_key(id));
        if at.is_none() {
            continue;
        }
        let Some(why) = bb.inst_ids(block).find_map(|id| surveyed.obstacle(bb, id)) else { continue };
        // What is wrong with a loop is wrong with those around it.
        while let Some(id) = at.filter(|id| !problems.contains_key(id)) {
            problems.insert(id, why.clone());
            at = forest.get(id).and_then(|each| each.parent);
        }
    }
    problems
}

/// The blocks in which values are used, by value: those uses that count.
fn users(
    bb: &BBCode,
    graph: &BlockGraph,
    counts: impl Fn(&Stmt<Ids>, InstId) -> bool,
) -> SecondaryMap<InstId, Vec<usize>> {
    let mut users: SecondaryMap<InstId, Vec<usize>> = SecondaryMap::new();
    for (number, &block) in graph.order().iter().enumerate() {
        for (_, inst) in bb.insts(block) {
            inst.stmt.for_each_use(|used| {
                if counts(&inst.stmt, used)
                    && let Some(entry) = users.entry(used)
                {
                    entry.or_default().push(number);
                }
            });
        }
    }
    users
}

struct Regions<'r> {
    bb: &'r BBCode,
    surveyed: &'r Surveyed<'r>,
    graph: &'r BlockGraph,
    forest: &'r LoopForest,
    domtree: DomTree,
    undefined: SecondaryMap<InstId, ()>,
    users: SecondaryMap<InstId, Vec<usize>>,
    /// Of values that may be undefined, where they are used and have to be defined.
    strict_users: SecondaryMap<InstId, Vec<usize>>,
}

impl Regions<'_> {
    fn region(&self, id: LoopId, header: BlockId, numbers: Vec<usize>) -> Result<Region, String> {
        let (bb, graph) = (self.bb, self.graph);
        let is_irreducible = self.forest.get(id).is_none_or(|each| each.irreducible);
        if is_irreducible {
            return Err("control comes in at more than one block".into());
        }
        let inside = |block: BlockId| graph.number(block).is_some_and(|number| self.forest.contains(id, number));
        let blocks: Vec<BlockId> = numbers.into_iter().filter_map(|number| graph.block(number)).collect();
        let once = |mut blocks: Vec<BlockId>| {
            let mut seen = HashSet::new();
            blocks.retain(|block| seen.insert(*block));
            blocks
        };
        let (latches, before): (Vec<BlockId>, Vec<BlockId>) =
            graph.predecessors(header).partition(|&pred| inside(pred));
        let (latches, before) = (once(latches), once(before));
        let mut exits: Vec<(BlockId, BlockId)> = Vec::new();
        for &block in &blocks {
            for target in once(graph.successors(block).filter(|&target| !inside(target)).collect()) {
                exits.push((block, target));
            }
        }
        let odd = |block: &BlockId| bb.has_odd_edges(*block);
        if blocks.iter().chain(&before).any(odd) || exits.iter().any(|(_, target)| odd(target)) {
            return Err("it has edges that no terminator implies".into());
        }
        if before.is_empty() || exits.is_empty() {
            return Err("control never leaves it".into());
        }
        if exits.len() > MOST_EXITS {
            return Err(format!("control leaves it in more than {MOST_EXITS} ways"));
        }
        // Where an error is thrown behind an exit, there may be another error instead.
        let throws = |block: BlockId| {
            let returns = matches!(bb.terminator(block).map(|(_, inst)| &inst.stmt), Some(Stmt::Return(ret)) if ret.value.is_some());
            graph.successors(block).next().is_none() && !returns
        };
        let left = exits.iter().filter(|(_, target)| !throws(*target)).map(|(from, _)| from);
        let common = self.in_every_round(latches.iter().chain(left));
        // Where a value is used in each round, that it is undefined would be an error without segments, too.
        let is_used = |value: InstId| {
            let mut users = self.strict_users.get(value).into_iter().flatten();
            users.any(|&user| common.is_some_and(|common| self.domtree.dominates(user, common)))
        };
        let is_defined = |value: InstId| !self.undefined.contains_key(value) || is_used(value);
        let undefined = || Err("a value that goes into it may be undefined".to_string());
        let mut carried = Vec::new();
        for (phi, inst) in bb.phi_nodes(header) {
            if !matches!(inst.ty, Type::Scalar(_)) {
                return Err(format!("what goes around it is no number but {}", inst.ty.with_article()));
            }
            if !is_defined(phi) {
                return undefined();
            }
            carried.push(phi);
        }
        let inputs = self.inputs(&blocks, header, &inside)?;
        if inputs.iter().filter_map(|input| input.operand.as_value()).any(|value| !is_defined(value)) {
            return undefined();
        }
        let outputs = self.outputs(id, &blocks, &exits)?;
        Ok(Region { header, blocks, before, latches, exits, carried, inputs, outputs })
    }

    /// The last block through which each round goes, whichever way it ends.
    fn in_every_round<'b>(&self, ends: impl Iterator<Item = &'b BlockId>) -> Option<usize> {
        let mut ends = ends.filter_map(|&block| self.graph.number(block));
        let first = ends.next()?;
        ends.try_fold(first, |common, end| self.domtree.nearest_common_dominator(common, end))
    }

    /// What is computed outside and used inside. What the φs of the header take from outside goes in beside it.
    fn inputs(
        &self,
        blocks: &[BlockId],
        header: BlockId,
        inside: &impl Fn(BlockId) -> bool,
    ) -> Result<Vec<Input>, String> {
        let bb = self.bb;
        let mut operands: Vec<Operand<Ids>> = Vec::new();
        let (mut values, mut arguments) = (HashSet::new(), HashSet::new());
        for &block in blocks {
            for (_, inst) in bb.insts(block) {
                let mut add = |operand: &Operand<Ids>| {
                    let is_new = match operand {
                        Operand::Value(value) => !bb.block_of(*value).is_some_and(inside) && values.insert(*value),
                        Operand::Argument(argument) => arguments.insert(*argument),
                        _ => false,
                    };
                    if is_new {
                        operands.push(operand.clone());
                    }
                };
                match &inst.stmt {
                    Stmt::Phi(phi) if block == header => {
                        let around = phi.entries.iter().filter(|entry| inside(entry.edge));
                        around.filter_map(|entry| entry.value.as_ref()).for_each(&mut add);
                    }
                    stmt => stmt.for_each_operand(&mut add),
                }
            }
        }
        let input = |operand: Operand<Ids>| {
            let ty = bb.operand_type(&operand);
            match self.surveyed.part(&operand, &ty) {
                Part::Mixed => Err(format!(
                    "what it uses from outside is {}, which may hold objects beside floats",
                    ty.with_article()
                )),
                part => Ok(Input { operand, ty, is_threaded: part == Part::Differentiable }),
            }
        };
        operands.into_iter().map(input).collect()
    }

    /// What is computed inside and used outside.
    fn outputs(&self, id: LoopId, blocks: &[BlockId], exits: &[(BlockId, BlockId)]) -> Result<Vec<Output>, String> {
        let mut outputs = Vec::new();
        for &block in blocks {
            let Some(number) = self.graph.number(block) else { continue };
            for (value, inst) in self.bb.insts(block) {
                let users = self.users.get(value).map(Vec::as_slice).unwrap_or_default();
                if users.iter().all(|&user| self.forest.contains(id, user)) {
                    continue;
                }
                if !matches!(inst.ty, Type::Scalar(_)) {
                    return Err(format!("what is used of it outside is no number but {}", inst.ty.with_article()));
                }
                if self.undefined.contains_key(value) {
                    return Err("a value that is used of it outside may be undefined".into());
                }
                let from = |&(from, _): &(BlockId, BlockId)| {
                    self.graph.number(from).is_some_and(|from| self.domtree.dominates(number, from))
                };
                outputs.push(Output { value, at: exits.iter().map(from).collect() });
            }
        }
        Ok(outputs)
    }
}
