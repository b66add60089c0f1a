//! A function body with everything numbered densely: the form in which what holds for both representations is written
//! once — verifying, printing, drawing.

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use crate::code::IRCode;
use crate::graph::FlowGraph;
use crate::instruction::{CallInfo, DebugInfo, LineInfo};
use crate::names::{BlockNumber, Names, Positions, SSAValue};
use crate::operand::Operand;
use crate::stmt::Stmt;
use crate::types::Type;
use crate::version::JuliaVersion;

/// A function body in either representation.
pub trait Body {
    /// How it names values and blocks.
    type Names: Names;

    /// The body with statements and blocks in layout order, densely numbered. Takes time linear in the program, and
    /// works on any program, valid or not.
    fn view(&self) -> View<'_, Self::Names>;

    /// Visits all statements, in layout order.
    fn for_each_stmt<'s>(&'s self, visit: &mut dyn FnMut(&'s Stmt<Self::Names>)) {
        self.view().statements.iter().for_each(|statement| visit(statement.stmt));
    }
}

/// A body, densely numbered. See [`Body::view`].
pub struct View<'a, N: Names> {
    /// The statements in layout order; pending ones after all that have a place.
    pub statements: Vec<StatementView<'a, N>>,
    /// The blocks in layout order.
    pub blocks: Vec<BlockView<N>>,
    /// The types of the arguments, the function itself first.
    pub argtypes: &'a [Type],
    /// The types of the static parameters.
    pub sptypes: &'a [Type],
    /// Names for the places in the source.
    pub debuginfo: &'a DebugInfo,
    /// The version of Julia whose compiler made the code, where that is known.
    pub julia: Option<JuliaVersion>,
    value_index: Lookup<'a, N::Value>,
    block_index: Lookup<'a, N::Block>,
}

type Lookup<'a, K> = Box<dyn Fn(K) -> Option<usize> + 'a>;

/// A statement of a [`View`].
#[derive(Clone, Copy, Debug)]
pub struct StatementView<'a, N: Names> {
    /// Its name.
    pub name: N::Value,
    /// The statement.
    pub stmt: &'a Stmt<N>,
    /// The type of its result.
    pub ty: &'a Type,
    /// What inference found out about the call.
    pub info: &'a CallInfo,
    /// Where it comes from.
    pub line: LineInfo,
    /// Its flags.
    pub flag: u32,
    /// The block, as index into [`View::blocks`]; `None` where no block holds the statement, which is invalid.
    pub block: Option<usize>,
    /// Statements of one block stand in the order of these numbers, pending ones included.
    pub order: u64,
    /// Where it goes, for a pending node.
    pub pending: Option<PendingView>,
}

/// Where a pending node goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingView {
    /// The statement next to which it goes, as index into [`View::statements`]; `None` if there is no such statement.
    pub anchor: Option<usize>,
    /// Whether it goes behind.
    pub attach_after: bool,
}

/// Names of blocks; no more than two, as most have, are kept without an allocation.
pub type BlockNames<N> = SmallVec<[<N as Names>::Block; 2]>;

/// A block of a [`View`].
#[derive(Clone, Debug)]
pub struct BlockView<N: Names> {
    /// Its name.
    pub name: N::Block,
    /// Its statements, as indices into [`View::statements`].
    pub statements: Range<usize>,
    /// The block to which control falls through, where there is one.
    pub fallthrough: Option<N::Block>,
    /// The predecessors. [`Names::virtual_block`] is among them where Julia has its virtual predecessor.
    pub preds: BlockNames<N>,
    /// The successors.
    pub succs: BlockNames<N>,
}

impl<'a, N: Names> View<'a, N> {
    /// A view of these parts. The two functions give the index of a value, pending ones included, and of a block.
    #[allow(
        clippy::too_many_arguments,
        reason = "called by the two representations only; the parts have no order of their own"
    )]
    pub fn new(
        statements: Vec<StatementView<'a, N>>,
        blocks: Vec<BlockView<N>>,
        argtypes: &'a [Type],
        sptypes: &'a [Type],
        debuginfo: &'a DebugInfo,
        julia: Option<JuliaVersion>,
        value_index: impl Fn(N::Value) -> Option<usize> + 'a,
        block_index: impl Fn(N::Block) -> Option<usize> + 'a,
    ) -> Self {
        View {
            statements,
            blocks,
            argtypes,
            sptypes,
            debuginfo,
            julia,
            value_index: Box::new(value_index),
            block_index: Box::new(block_index),
        }
    }

    /// The index of a value in [`View::statements`]; `None` if there is no such value.
    pub fn value_index(&self, value: N::Value) -> Option<usize> {
        (self.value_index)(value)
    }

    /// The index of a block in [`View::blocks`]; `None` if there is no such block, and for the virtual one.
    pub fn block_index(&self, block: N::Block) -> Option<usize> {
        (self.block_index)(block)
    }

    /// The statements of a block.
    pub fn block_statements(&self, block: &BlockView<N>) -> &[StatementView<'a, N>] {
        self.statements.get(block.statements.clone()).unwrap_or_default()
    }

    /// The flow graph of the blocks, with the edges that the successor lists give. Virtual edges are left out.
    pub fn graph(&self) -> FlowGraph {
        let edges = self.blocks.iter().enumerate().flat_map(|(from, block)| {
            block.succs.iter().filter_map(move |&to| self.block_index(to).map(|to| (from, to)))
        });
        FlowGraph::new(self.blocks.len(), edges)
    }

    /// The type of an operand, as far as the body says.
    pub fn operand_type(&self, operand: &Operand<N>) -> Type {
        operand.ty(self.argtypes, |value| Some(self.statements.get(self.value_index(value)?)?.ty.clone()))
    }
}

impl<N: Names> fmt::Debug for View<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("statements", &self.statements)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

impl Body for IRCode {
    type Names = Positions;

    fn view(&self) -> View<'_, Positions> {
        let len = self.stmts.len();
        let mut statements: Vec<StatementView<'_, Positions>> = Vec::with_capacity(self.value_count());
        let rows = self.stmts.stmts().iter().zip(self.stmts.types()).zip(self.stmts.infos());
        let rows = rows.zip(self.stmts.lines()).zip(self.stmts.flags());
        for (index, ((((stmt, ty), info), line), flag)) in rows.enumerate() {
            let (name, order) = (SSAValue::from_index(index), index as u64);
            let (line, flag) = (*line, *flag);
            statements.push(StatementView { name, stmt, ty, info, line, flag, block: None, order, pending: None });
        }
        for (number, block) in self.cfg.blocks.iter().enumerate() {
            for statement in statements.get_mut(block.stmts.clone()).unwrap_or_default() {
                statement.block = Some(number);
            }
        }
        for (index, node) in self.new_nodes.iter().enumerate() {
            let anchor = node.anchor.index().filter(|&anchor| anchor < len);
            let inst = &node.inst;
            statements.push(StatementView {
                name: SSAValue::from_index(len + index),
                stmt: &inst.stmt,
                ty: &inst.ty,
                info: &inst.info,
                line: inst.line,
                flag: inst.flag,
                block: anchor.and_then(|anchor| statements.get(anchor)?.block),
                order: 0,
                pending: Some(PendingView { anchor, attach_after: node.attach_after }),
            });
        }
        if !self.new_nodes.is_empty()
            && let Ok(merged) = self.merged_order()
        {
            for (order, index) in merged.into_iter().enumerate() {
                statements[index].order = order as u64;
            }
        }
        let count = self.cfg.blocks.len();
        let block = |(index, block): (usize, &crate::BasicBlock)| BlockView {
            name: BlockNumber::from_index(index),
            statements: block.stmts.clone(),
            fallthrough: (index + 1 < count).then(|| BlockNumber::from_index(index + 1)),
            preds: SmallVec::from_slice(&block.preds),
            succs: SmallVec::from_slice(&block.succs),
        };
        let blocks = self.cfg.blocks.iter().enumerate().map(block).collect();
        let values = self.value_count();
        View::new(
            statements,
            blocks,
            &self.argtypes,
            &self.sptypes,
            &self.debuginfo,
            self.julia,
            move |value: SSAValue| value.index().filter(|&index| index < values),
            move |block: BlockNumber| block.index().filter(|&index| index < count),
        )
    }
}
