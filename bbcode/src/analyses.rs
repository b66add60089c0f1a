//! What is computed of the control flow when asked for, and forgotten when the control flow changes.

use std::sync::{Arc, OnceLock};

use ircode::Stmt;
use ircode::graph::{DomTree, Frontiers, LoopForest, LoopId, PostDomTree};

use crate::cfg::BlockGraph;
use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// The analyses that are known. Changing the control flow forgets them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analyses {
    cfg: OnceLock<Arc<BlockGraph>>,
    dominators: OnceLock<Arc<Dominators>>,
    post_dominators: OnceLock<Arc<PostDominators>>,
    loops: OnceLock<Arc<Loops>>,
}

impl Analyses {
    pub(crate) fn forget(&mut self) {
        // Everything else follows from the graph.
        if self.cfg.get().is_some() {
            *self = Analyses::default();
        }
    }
}

/// Which blocks every way to a block goes through: the dominator tree, and the dominance frontiers.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_function;
///
/// let bb = BBCode::try_from(&parse_function("
/// 1 ─      goto #3 if not _2
/// 2 ─      goto #4
/// 3 ─      nothing
/// 4 ┄      return _3
/// ")?.body)?;
/// let blocks: Vec<_> = bb.blocks().collect();
/// let dominators = bb.dominators();
/// assert!(dominators.dominates(blocks[0], blocks[3]) && !dominators.dominates(blocks[1], blocks[3]));
/// assert_eq!(dominators.nearest_common(blocks[1], blocks[2]), Some(blocks[0]));
/// assert_eq!(dominators.immediate(blocks[3]), Some(blocks[0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Dominators {
    cfg: Arc<BlockGraph>,
    tree: DomTree,
    frontiers: OnceLock<Frontiers>,
}

/// Which blocks every way from a block to the end goes through. The end is a return, an `unreachable`, or never: of
/// every region that control does not leave, one block counts as an end.
#[derive(Debug)]
pub struct PostDominators {
    cfg: Arc<BlockGraph>,
    tree: PostDomTree,
}

/// The loops and how they nest, see [`LoopForest`].
#[derive(Debug)]
pub struct Loops {
    cfg: Arc<BlockGraph>,
    forest: LoopForest,
}

impl BBCode {
    /// The control-flow graph as it is now. It takes time linear in the number of blocks, and none if control flow has
    /// not changed since the last time. What was returned does not follow later changes.
    pub fn cfg(&self) -> Arc<BlockGraph> {
        self.store.analyses.cfg.get_or_init(|| Arc::new(self.control_flow())).clone()
    }

    /// The dominators as they are now; computed as [`BBCode::cfg`].
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      goto #3
    /// 3 ┄      return 1
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let dominators = bb.dominators();
    /// assert!(dominators.dominates(blocks[0], blocks[2]) && !dominators.dominates(blocks[1], blocks[2]));
    /// assert_eq!(dominators.frontier(blocks[1]).collect::<Vec<_>>(), [blocks[2]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dominators(&self) -> Arc<Dominators> {
        let compute = || {
            let cfg = self.cfg();
            Arc::new(Dominators { tree: cfg.graph().dominators(), cfg, frontiers: OnceLock::new() })
        };
        self.store.analyses.dominators.get_or_init(compute).clone()
    }

    /// The post-dominators as they are now; computed as [`BBCode::cfg`].
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      goto #3
    /// 3 ┄      return 1
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let post_dominators = bb.post_dominators();
    /// assert!(post_dominators.post_dominates(blocks[2], blocks[0]));
    /// assert_eq!(post_dominators.immediate(blocks[1]), Some(blocks[2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn post_dominators(&self) -> Arc<PostDominators> {
        let compute = || {
            let cfg = self.cfg();
            Arc::new(PostDominators { tree: cfg.graph().post_dominators(), cfg })
        };
        self.store.analyses.post_dominators.get_or_init(compute).clone()
    }

    /// The loops as they are now; computed as [`BBCode::cfg`].
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      nothing
    /// 2 ┄      goto #4 if not _2
    /// 3 ─      goto #2
    /// 4 ─      return 1
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let loops = bb.loops();
    /// assert_eq!(loops.header_of(blocks[2]), Some(blocks[1]));
    /// assert_eq!((loops.depth(blocks[2]), loops.depth(blocks[3])), (1, 0));
    /// assert!(!loops.is_irreducible(blocks[2]));
    /// assert!(loops.blocks(blocks[1]).eq([blocks[1], blocks[2]]) && loops.latches(blocks[1]).eq([blocks[2]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loops(&self) -> Arc<Loops> {
        let compute = || {
            let cfg = self.cfg();
            Arc::new(Loops { forest: cfg.graph().loops(), cfg })
        };
        self.store.analyses.loops.get_or_init(compute).clone()
    }

    /// Whether one statement stands before another in the same block, in constant time. False if they stand in
    /// different blocks, or do not exist.
    pub fn comes_before(&self, a: InstId, b: InstId) -> bool {
        match (self.store.node(a), self.store.node(b)) {
            (Some(a), Some(b)) => a.block == b.block && a.order < b.order,
            _ => false,
        }
    }

    /// Whether a value has been computed on every way to a statement, which is not the same statement. In blocks that
    /// are not reached every value counts as computed, as in Julia. Values of other blocks are looked up in the
    /// [dominator tree](BBCode::dominators).
    pub fn is_available(&self, value: InstId, at: InstId) -> bool {
        let (Some(from), Some(to)) = (self.block_of(value), self.block_of(at)) else { return false };
        match from == to {
            true => self.comes_before(value, at) || !self.dominators().is_reachable(to),
            false => self.dominates_or_unreachable(from, to),
        }
    }

    /// Whether a value has been computed on every way to the end of a block.
    pub fn is_available_at_end(&self, value: InstId, block: BlockId) -> bool {
        let Some(from) = self.block_of(value) else { return false };
        from == block || self.dominates_or_unreachable(from, block)
    }

    fn dominates_or_unreachable(&self, a: BlockId, b: BlockId) -> bool {
        let dominators = self.dominators();
        dominators.dominates(a, b) || !dominators.is_reachable(b)
    }

    pub(crate) fn check_available(&self, value: InstId, at: InstId) -> Result<(), EditError> {
        self.check_has_result(value)?;
        if self.is_available(value, at) { Ok(()) } else { Err(EditError::NotAvailable { value, at }) }
    }

    pub(crate) fn check_available_at_end(&self, value: InstId, edge: BlockId, at: InstId) -> Result<(), EditError> {
        self.check_has_result(value)?;
        if self.is_available_at_end(value, edge) { Ok(()) } else { Err(EditError::NotAvailable { value, at }) }
    }

    /// Jumps and returns give no value.
    fn check_has_result(&self, value: InstId) -> Result<(), EditError> {
        match self.stmt(value).ok_or(EditError::NoSuchInst(value))? {
            Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_) | Stmt::Switch(_) => Err(EditError::NoValue(value)),
            _ => Ok(()),
        }
    }

    /// Whether the value that an operand names exists.
    pub(crate) fn check_operand_exists(&self, operand: &ircode::Operand<Ids>) -> Result<(), EditError> {
        match operand {
            ircode::Operand::Value(value) => self.store.node(*value).map(drop).ok_or(EditError::NoSuchInst(*value)),
            ircode::Operand::Argument(argument) => match argument.index() {
                Some(index) if index < self.argtypes.len() => Ok(()),
                _ => Err(EditError::NoSuchArgument(*argument)),
            },
            _ => Ok(()),
        }
    }
}

impl Dominators {
    /// Whether every way from the entry to `b` goes through `a`; a block that is reached dominates itself. False if
    /// either is not reached.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.cfg.number(a), self.cfg.number(b)) {
            (Some(a), Some(b)) => self.tree.dominates(a, b),
            _ => false,
        }
    }

    /// Whether the entry reaches the block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.cfg.number(block).is_some_and(|number| self.tree.is_reachable(number))
    }

    /// The nearest other block that dominates this one; `None` for the entry and for what is not reached.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.cfg.block(self.tree.immediate_dominator(self.cfg.number(block)?)?)
    }

    /// The nearest block that dominates both. `None` if either is not reached.
    pub fn nearest_common(&self, a: BlockId, b: BlockId) -> Option<BlockId> {
        self.cfg.block(self.tree.nearest_common_dominator(self.cfg.number(a)?, self.cfg.number(b)?)?)
    }

    /// The blocks that are reached, every block after what dominates it, and what it dominates right after it.
    pub fn preorder(&self) -> impl DoubleEndedIterator<Item = BlockId> + '_ {
        self.tree.preorder().filter_map(|number| self.cfg.block(number))
    }

    /// Where the dominance of a block ends: the blocks that it does not dominate strictly but of which it dominates a
    /// predecessor. In layout order.
    pub fn frontier(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let frontiers = self.frontiers.get_or_init(|| Frontiers::new(self.cfg.graph(), &self.tree));
        let number = self.cfg.number(block).unwrap_or(usize::MAX);
        frontiers.of(number).filter_map(|number| self.cfg.block(number))
    }

    /// The tree on the numbers of [`Dominators::cfg`].
    pub fn tree(&self) -> &DomTree {
        &self.tree
    }

    /// The control-flow graph whose dominators they are.
    pub fn cfg(&self) -> &Arc<BlockGraph> {
        &self.cfg
    }
}

impl PostDominators {
    /// Whether every way from `b` to the end goes through `a`; a block post-dominates itself.
    pub fn post_dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.cfg.number(a), self.cfg.number(b)) {
            (Some(a), Some(b)) => self.tree.post_dominates(a, b),
            _ => false,
        }
    }

    /// The nearest other block that post-dominates this one; `None` if that is the end itself.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.cfg.block(self.tree.immediate_post_dominator(self.cfg.number(block)?)?)
    }

    /// The tree on the numbers of [`PostDominators::cfg`].
    pub fn tree(&self) -> &PostDomTree {
        &self.tree
    }

    /// The control-flow graph whose post-dominators they are.
    pub fn cfg(&self) -> &Arc<BlockGraph> {
        &self.cfg
    }
}

impl Loops {
    /// The header of the innermost loop that holds the block.
    pub fn header_of(&self, block: BlockId) -> Option<BlockId> {
        let forest = &self.forest;
        self.cfg.block(forest.get(forest.innermost(self.cfg.number(block)?)?)?.header)
    }

    /// The number of loops around a block.
    pub fn depth(&self, block: BlockId) -> usize {
        self.cfg.number(block).map_or(0, |number| self.forest.depth(number))
    }

    /// Whether the innermost loop that holds the block can be entered elsewhere than at its header.
    pub fn is_irreducible(&self, block: BlockId) -> bool {
        let innermost = self.cfg.number(block).and_then(|number| self.forest.innermost(number));
        innermost.and_then(|id| self.forest.get(id)).is_some_and(|found| found.irreducible)
    }

    /// The headers of all loops, those inside before those around them.
    pub fn headers(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.forest.iter().filter_map(|(_, found)| self.cfg.block(found.header))
    }

    /// Whether a block is in the loop with this header, or in one inside of it. False if there is no such loop.
    pub fn contains(&self, header: BlockId, block: BlockId) -> bool {
        let ids = self.id(header).zip(self.cfg.number(block));
        ids.is_some_and(|(id, number)| self.forest.contains(id, number))
    }

    /// The blocks of the loop with this header, those of loops inside included, in layout order. Takes time linear in
    /// the blocks of the function.
    pub fn blocks(&self, header: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.cfg.order().iter().copied().filter(move |&block| self.contains(header, block))
    }

    /// The header of the loop around the one with this header.
    pub fn parent(&self, header: BlockId) -> Option<BlockId> {
        let parent = self.forest.get(self.id(header)?)?.parent?;
        self.cfg.block(self.forest.get(parent)?.header)
    }

    /// The blocks of the loop from which control goes back to its header, in layout order.
    pub fn latches(&self, header: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.cfg.predecessors(header).filter(move |&pred| self.contains(header, pred))
    }

    /// The loop with this header.
    fn id(&self, header: BlockId) -> Option<LoopId> {
        let number = self.cfg.number(header)?;
        let id = self.forest.innermost(number)?;
        self.forest.get(id).filter(|found| found.header == number).map(|_| id)
    }

    /// The loops on the numbers of [`Loops::cfg`].
    pub fn forest(&self) -> &LoopForest {
        &self.forest
    }

    /// The control-flow graph whose loops they are.
    pub fn cfg(&self) -> &Arc<BlockGraph> {
        &self.cfg
    }
}
