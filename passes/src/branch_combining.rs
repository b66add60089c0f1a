//! Decides once where two branches in a row lead to the same block.

use std::sync::Arc;

use bbcode::{BBCode, BlockGraph, BlockId, EditError, Ids, InstId, PhiEdgeChange};
use hashbrown::{HashMap, HashSet};
use ircode::{Callee, Instruction, Module, NewInstruction, Operand, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use crate::analyses::cheap::is_cheap;
use crate::analyses::effects::is_total;
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "branch-combining";

/// So many statements at most, beside the branches, are executed though the first condition has decided: they have to
/// take less time than a branch that was not foreseen.
const MAX_STATEMENTS: usize = 4;

/// Conditions that are made of conditions are looked into up to this depth.
const MAX_DEPTH: usize = 4;

/// What the conditions are joined by.
const AND: &str = "and_int";
const OR: &str = "or_int";
const NOT: &str = "not_int";

/// Lets a branch on floats take in the next one, where one way out of each leads to the same block with the same values:
/// `a || b` and `a && b` become one branch on `or_int` or `and_int`. True if there was such a branch.
///
/// What is computed between the two is executed in any case then: a few conditions, cheap ones that give a value
/// whatever their operands are, of operands that are defined on every way. Nothing of it has a derivative, which might
/// be NaN on the other way. A derivative records one way less, and a processor has to foresee one branch less.
/// Conditions on integers stay branches: from these the compiler and other passes learn which indices there are. LLVM
/// does this as folding of branches to common destinations, GCC as `ifcombine`.
///
/// Takes time linear in the function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    // A module may have functions of these names.
    let is_primitive = |name: &&str| {
        let callee = context.module.callee(&Operand::<Ids>::global("Base", name));
        matches!(callee, Some(Callee::Primitive(_)))
    };
    if ![AND, OR, NOT].iter().all(is_primitive) {
        return Ok(false);
    }
    let chains = Finder::new(bb, context.module).chains();
    for chain in &chains {
        chain.combine(bb).map_err(|error| PassError::because(NAME, context.function, error))?;
    }
    bb.replace_phi_edges(chains.iter().flat_map(Chain::phi_edge_changes));
    Ok(!chains.is_empty())
}

/// A block that ends in a condition, by its two ways on.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// The `goto … if not`.
    id: InstId,
    if_true: BlockId,
    if_false: BlockId,
}

impl Branch {
    /// At the end of a block, if it is one between two blocks on a condition that is known to be a `Bool`, and no edge
    /// of the block is odd.
    fn of(bb: &BBCode, block: BlockId) -> Option<Branch> {
        let (id, inst) = bb.terminator(block)?;
        let Stmt::GotoIfNot(goto) = &inst.stmt else { return None };
        let branch = Branch { id, if_true: bb.next(block)?, if_false: goto.dest };
        let fits = branch.if_true != branch.if_false && bb.operand_type(&goto.cond) == Type::BOOL;
        (fits && !bb.has_odd_edges(block)).then_some(branch)
    }

    /// The other way on.
    fn other(self, way: BlockId) -> BlockId {
        if way == self.if_true { self.if_false } else { self.if_true }
    }

    /// The ways on.
    fn ways(self) -> [BlockId; 2] {
        [self.if_true, self.if_false]
    }
}

/// A block and those that it takes in, one after the other.
#[derive(Debug)]
struct Chain {
    head: BlockId,
    /// The branch of the head and those of the blocks that are taken in.
    branches: Vec<Branch>,
    /// The blocks that are taken in.
    taken_in: Vec<BlockId>,
    /// The block to which one way out of each leads.
    common: BlockId,
}

impl Chain {
    /// Where control goes on to if no branch leads to the common block.
    fn way_on(&self) -> Option<BlockId> {
        Some(self.branches.last()?.other(self.common))
    }

    /// Puts all in the head, with one branch at the end.
    fn combine(&self, bb: &mut BBCode) -> Result<(), EditError> {
        let mut conditions = Vec::with_capacity(self.branches.len());
        for branch in &self.branches {
            let Some(Stmt::GotoIfNot(goto)) = bb.stmt(branch.id) else { return Ok(()) };
            conditions.push((goto.cond.clone(), branch.if_false == self.common));
        }
        for (branch, &block) in self.branches.iter().zip(&self.taken_in) {
            bb.remove_unchecked(branch.id)?;
            bb.set_next(self.head, Some(block))?;
            bb.append_block_unchecked(self.head, block)?;
        }
        let (Some((last, inst)), Some(on)) = (bb.terminator(self.head), self.way_on()) else { return Ok(()) };
        let line = inst.line;
        let mut call = |name: &str, operands: Vec<Operand<Ids>>| {
            let call = Stmt::call(Operand::global("Base", name), operands);
            bb.insert_before(last, NewInstruction::new(call, Type::BOOL).with_line(line)).map(Operand::Value)
        };
        // Either all have to be false, or all true, some of them negated.
        let any = conditions.iter().all(|(_, goes_on_if)| !goes_on_if);
        let mut together: Option<Operand<Ids>> = None;
        for (condition, goes_on_if) in conditions {
            let condition = if any || goes_on_if { condition } else { call(NOT, vec![condition])? };
            together = Some(match together {
                None => condition,
                Some(before) => call(if any { OR } else { AND }, vec![before, condition])?,
            });
        }
        let Some(together) = together else { return Ok(()) };
        let (if_true, if_false) = if any { (self.common, on) } else { (on, self.common) };
        bb.replace(last, Stmt::goto_if_not(together, if_false))?;
        bb.set_next(self.head, Some(if_true))
    }

    /// How φs name the edges out of the chain afterwards: that of the head to the common block is there.
    fn phi_edge_changes(&self) -> impl Iterator<Item = PhiEdgeChange> + '_ {
        let left_out = self.taken_in.iter().map(|&old| PhiEdgeChange { block: self.common, old, new: Vec::new() });
        let on = self.way_on().zip(self.taken_in.last());
        left_out.chain(on.map(|(block, &old)| PhiEdgeChange { block, old, new: vec![self.head] }))
    }
}

/// Finds what can be combined.
struct Finder<'a> {
    bb: &'a BBCode,
    module: &'a Module<BBCode>,
    graph: Arc<BlockGraph>,
    /// Values that may be undefined.
    undefined: SecondaryMap<InstId, ()>,
    /// What the φs of blocks that were asked for take from each edge.
    brought: HashMap<BlockId, Brought<'a>>,
}

/// What the φs of a block take, one after the other, by the edges.
type Brought<'a> = HashMap<BlockId, Vec<Option<&'a Operand<Ids>>>>;

impl<'a> Finder<'a> {
    fn new(bb: &'a BBCode, module: &'a Module<BBCode>) -> Self {
        Finder { bb, module, graph: bb.cfg(), undefined: bb.maybe_undefined(), brought: HashMap::new() }
    }

    /// All chains, none of which has a block of another.
    fn chains(mut self) -> Vec<Chain> {
        let mut order = self.graph.graph().postorder();
        // What is taken in comes behind what takes it in.
        order.reverse();
        let mut taken: HashSet<BlockId> = HashSet::new();
        let mut chains = Vec::new();
        for number in order {
            if let Some(head) = self.graph.block(number)
                && !taken.contains(&head)
                && let Some(chain) = self.chain(head)
            {
                taken.extend(&chain.taken_in);
                chains.push(chain);
            }
        }
        chains
    }

    /// The longest chain from a block on.
    fn chain(&mut self, head: BlockId) -> Option<Chain> {
        let first = self.branch(head)?;
        let mut left = MAX_STATEMENTS;
        let (block, second, common) = first.ways().into_iter().find_map(|block| {
            let common = first.other(block);
            Some((block, self.taken_in(head, head, block, common, &mut left)?, common))
        })?;
        let mut chain = Chain { head, branches: vec![first, second], taken_in: vec![block], common };
        let (mut last, mut at) = (block, second);
        while let Some(branch) = self.taken_in(head, last, at.other(common), common, &mut left) {
            (last, at) = (at.other(common), branch);
            chain.taken_in.push(last);
            chain.branches.push(branch);
        }
        Some(chain)
    }

    /// The branch of a block that can be taken in behind another, if so; what is `left` of [`MAX_STATEMENTS`] is less
    /// then.
    fn taken_in(
        &mut self,
        head: BlockId,
        behind: BlockId,
        block: BlockId,
        common: BlockId,
        left: &mut usize,
    ) -> Option<Branch> {
        if block == head || !self.graph.predecessors(block).eq([behind]) || self.graph.has_virtual_predecessor(block) {
            return None;
        }
        let branch = self.branch(block).filter(|branch| branch.ways().contains(&common))?;
        let mut statements = 0;
        for (_, inst) in self.bb.insts(block).filter(|(id, _)| *id != branch.id) {
            statements += 1;
            if statements > *left || !self.may_be_executed(inst) {
                return None;
            }
        }
        if !self.brings_the_same(common, head, block) {
            return None;
        }
        *left -= statements;
        Some(branch)
    }

    /// The branch at the end of a block, if it is on floats.
    fn branch(&self, block: BlockId) -> Option<Branch> {
        let branch = Branch::of(self.bb, block)?;
        let Stmt::GotoIfNot(goto) = self.bb.stmt(branch.id)? else { return None };
        self.is_on_floats(&goto.cond, MAX_DEPTH).then_some(branch)
    }

    /// Whether a condition compares floats, or is made of conditions that do.
    fn is_on_floats(&self, condition: &Operand<Ids>, depth: usize) -> bool {
        let stmt = condition.as_value().and_then(|value| self.bb.stmt(value));
        let Some((primitive, args)) = stmt.and_then(|stmt| self.module.primitive_call(stmt)) else { return false };
        match primitive.name {
            NOT | AND | OR => depth > 0 && args.iter().all(|condition| self.is_on_floats(condition, depth - 1)),
            _ => args.iter().any(|arg| self.bb.operand_type(arg).as_scalar().is_some_and(ScalarType::is_float)),
        }
    }

    /// Whether a statement computes a condition fast, and can also where the first branch goes the other way.
    fn may_be_executed(&self, inst: &Instruction<Ids>) -> bool {
        let primitive = self.module.primitive_call(&inst.stmt);
        let mut defined = true;
        inst.stmt.for_each_use(|value| defined &= !self.undefined.contains_key(value));
        defined
            && inst.ty == Type::BOOL
            && primitive.is_some_and(|(primitive, _)| is_cheap(primitive))
            && is_total(self.module, self.bb, &inst.stmt)
    }

    /// Whether each φ of a block names both edges, and takes the same from both.
    fn brings_the_same(&mut self, block: BlockId, a: BlockId, b: BlockId) -> bool {
        let bb = self.bb;
        let phis = bb.phi_nodes(block).count();
        let brought = self.brought.entry(block).or_insert_with(|| {
            let mut brought = Brought::new();
            for (_, inst) in bb.phi_nodes(block) {
                for entry in inst.stmt.as_phi().into_iter().flat_map(|phi| &phi.entries) {
                    brought.entry(entry.edge).or_default().push(entry.value.as_ref());
                }
            }
            brought
        });
        let by = |edge: BlockId| brought.get(&edge).map_or(&[][..], Vec::as_slice);
        by(a).len() == phis && by(a) == by(b)
    }
}
