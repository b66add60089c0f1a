//! IRCode → BBCode.

use ircode::{BasicBlock, BlockNumber, IRCode, Instruction, NoSwitch, Operand, Positions, Rename, SSAValue};
use slotmap::Key;

use super::ConversionError;
use crate::code::{BBCode, OddEdges};
use crate::ids::{BlockId, Ids, InstId, Switch};
use crate::store::{Node, STRIDE};

impl TryFrom<&IRCode> for BBCode {
    type Error = ConversionError;

    /// The same code keyed by ID. Nothing is lost: `IRCode::try_from(&BBCode::try_from(&ir)?)? == ir` for every
    /// verified IRCode without pending nodes.
    fn try_from(ir: &IRCode) -> Result<BBCode, ConversionError> {
        let columns = ir.stmts.stmts().iter().zip(ir.stmts.types()).zip(ir.stmts.infos());
        let rows = columns.zip(ir.stmts.lines()).zip(ir.stmts.flags());
        Laid::new(ir)?.fill(rows, |rename, ((((stmt, ty), info), line), flag)| {
            let (ty, info) = (ty.clone(), info.clone());
            Ok(Instruction { stmt: stmt.map_names(rename)?, ty, info, line: *line, flag: *flag })
        })
    }
}

impl TryFrom<IRCode> for BBCode {
    type Error = ConversionError;

    /// As the conversion of a reference, of code that is not needed any more: statements move and are not copied.
    fn try_from(ir: IRCode) -> Result<BBCode, ConversionError> {
        Laid::new(&ir)?.fill(ir.stmts.into_rows(), |rename, row| {
            let Instruction { stmt, ty, info, line, flag } = row;
            Ok(Instruction { stmt: stmt.into_names(rename)?, ty, info, line, flag })
        })
    }
}

/// A BBCode whose blocks and edges are there, and whose statements are not yet.
struct Laid {
    bb: BBCode,
    blocks: Vec<BlockId>,
    /// How many statements each block holds.
    counts: Vec<usize>,
}

impl Laid {
    fn new(ir: &IRCode) -> Result<Laid, ConversionError> {
        if !ir.new_nodes.is_empty() {
            return Err(ConversionError::PendingNodes(ir.new_nodes.len()));
        }
        if ir.stmts.len() >= u32::MAX as usize / 2 || ir.cfg.blocks.len() >= u32::MAX as usize / 2 {
            return Err(ConversionError::TooLarge);
        }
        check_ranges(ir)?;
        let mut bb = BBCode {
            argtypes: ir.argtypes.clone(),
            sptypes: ir.sptypes.clone(),
            debuginfo: ir.debuginfo.clone(),
            julia: ir.julia,
            meta: ir.meta.clone(),
            ..BBCode::default()
        };
        bb.store.reserve(ir.stmts.len(), ir.cfg.blocks.len());
        let blocks: Vec<BlockId> = ir.cfg.blocks.iter().map(|_| bb.push_block()).collect();
        set_edges(ir, &mut bb, &blocks)?;
        Ok(Laid { bb, blocks, counts: ir.cfg.blocks.iter().map(|block| block.stmts.len()).collect() })
    }

    /// Puts the statements in their places, each as `renamed` makes it from a row.
    fn fill<T>(
        self,
        mut rows: impl Iterator<Item = T>,
        renamed: impl Fn(&mut ToIds<'_>, T) -> Result<Instruction<Ids>, ConversionError>,
    ) -> Result<BBCode, ConversionError> {
        let Laid { mut bb, blocks, counts } = self;
        let total = counts.iter().sum();
        let mut rename = ToIds { insts: Vec::with_capacity(total), total, blocks: &blocks, later: Vec::new() };
        // What is used before it has a name: by φs, mostly.
        let mut later: Vec<(InstId, Vec<usize>)> = Vec::new();
        for (&block, count) in blocks.iter().zip(counts) {
            let (mut first, mut prev, mut order) = (None, None, 0);
            for row in rows.by_ref().take(count) {
                let inst = renamed(&mut rename, row)?;
                order += STRIDE;
                let id = bb.store.add_node(Node { inst, block, prev, next: None, order });
                if let Some(prev) = prev.and_then(|prev| bb.store.links_mut(prev)) {
                    prev.next = Some(id);
                }
                first = first.or(Some(id));
                prev = Some(id);
                rename.insts.push(id);
                if !rename.later.is_empty() {
                    later.push((id, std::mem::take(&mut rename.later)));
                }
            }
            if let Some(block) = bb.store.block_mut(block) {
                (block.first, block.last) = (first, prev);
            }
        }
        for (id, indices) in later {
            let mut names = indices.iter().filter_map(|&index| rename.insts.get(index));
            if let Some(inst) = bb.inst_mut(id) {
                // Operands are visited in the order in which they were renamed.
                inst.stmt.for_each_operand_mut(&mut |operand| {
                    if let Operand::Value(value) = operand
                        && value.is_null()
                        && let Some(name) = names.next()
                    {
                        *value = *name;
                    }
                });
            }
        }
        Ok(bb)
    }
}

fn check_ranges(ir: &IRCode) -> Result<(), ConversionError> {
    let mut end = 0;
    for (i, block) in ir.cfg.blocks.iter().enumerate() {
        if block.stmts.start != end || block.stmts.end < end {
            return Err(ConversionError::BadRange(BlockNumber::from_index(i)));
        }
        end = block.stmts.end;
    }
    if end != ir.stmts.len() {
        return Err(ConversionError::BadRange(BlockNumber::from_index(ir.cfg.blocks.len())));
    }
    Ok(())
}

struct ToIds<'a> {
    /// The names of the statements so far.
    insts: Vec<InstId>,
    /// How many statements there are.
    total: usize,
    blocks: &'a [BlockId],
    /// The statements used that have no name yet.
    later: Vec<usize>,
}

fn find_block(blocks: &[BlockId], block: BlockNumber) -> Result<BlockId, ConversionError> {
    let found = block.index().and_then(|index| blocks.get(index)).copied();
    found.ok_or(ConversionError::NoSuchBlock(block))
}

impl Rename<Positions, Ids> for ToIds<'_> {
    type Error = ConversionError;

    fn value(&mut self, value: SSAValue) -> Result<InstId, ConversionError> {
        let missing = ConversionError::NoSuchValue(value);
        let index = value.index().filter(|&index| index < self.total).ok_or(missing)?;
        Ok(self.insts.get(index).copied().unwrap_or_else(|| {
            self.later.push(index);
            InstId::null()
        }))
    }

    fn block(&mut self, block: BlockNumber) -> Result<BlockId, ConversionError> {
        if block == BlockNumber::VIRTUAL {
            return Ok(<Ids as ircode::Names>::virtual_block());
        }
        find_block(self.blocks, block)
    }

    fn switch(&mut self, switch: &NoSwitch) -> Result<Switch<Ids>, ConversionError> {
        match *switch {}
    }
}

/// Sets the fallthroughs, and keeps the edges that do not follow from the terminators.
fn set_edges(ir: &IRCode, bb: &mut BBCode, blocks: &[BlockId]) -> Result<(), ConversionError> {
    let mut odd: Vec<OddEdges> = Vec::with_capacity(blocks.len());
    let mut rest: Vec<BlockNumber> = Vec::new();
    for (number, (block, &id)) in ir.cfg.blocks.iter().zip(blocks).enumerate() {
        rest.clear();
        rest.extend_from_slice(&block.succs);
        let mut take = |target: BlockNumber| match rest.iter().position(|&succ| succ == target) {
            Some(at) => {
                rest.remove(at);
                true
            }
            None => false,
        };
        let last = block.stmts.clone().next_back().and_then(|last| ir.stmts.stmts().get(last));
        let mut missing = Vec::new();
        if let Some(last) = last {
            last.for_each_target(|target| {
                if !take(target) {
                    missing.push(target);
                }
            });
        }
        let fallthrough = BlockNumber::from_index(number + 1);
        if last.is_none_or(|last| last.falls_through()) && take(fallthrough) {
            let next = find_block(blocks, fallthrough)?;
            bb.set_next(id, Some(next)).map_err(|_| ConversionError::NoSuchBlock(fallthrough))?;
        }
        let ids = |numbers: &[BlockNumber]| numbers.iter().map(|&number| find_block(blocks, number)).collect();
        let (missing_succs, extra_succs): (Result<Vec<BlockId>, _>, Result<Vec<BlockId>, _>) =
            (ids(&missing), ids(&rest));
        odd.push(OddEdges { missing_succs: missing_succs?, extra_succs: extra_succs?, ..OddEdges::default() });
    }
    let incoming = Incoming::new(&ir.cfg.blocks)?;
    let mut actual: Vec<BlockNumber> = Vec::new();
    for (number, ((block, odd), &id)) in ir.cfg.blocks.iter().zip(&mut odd).zip(blocks).enumerate() {
        actual.clear();
        actual.extend_from_slice(&block.preds);
        actual.sort_unstable();
        let mut expected = incoming.of(number).iter().copied().peekable();
        for &pred in &actual {
            if pred == BlockNumber::VIRTUAL {
                odd.virtual_preds += 1;
                continue;
            }
            if let Some(&from) = expected.peek()
                && from < pred
            {
                return Err(ConversionError::EdgesDisagree { from, to: BlockNumber::from_index(number) });
            }
            if expected.next_if_eq(&pred).is_none() {
                let leads = incoming.of(number).binary_search(&pred).is_ok();
                let preds = if leads { &mut odd.extra_preds } else { &mut odd.stale_preds };
                preds.push(find_block(blocks, pred)?);
            }
        }
        if let Some(from) = expected.next() {
            return Err(ConversionError::EdgesDisagree { from, to: BlockNumber::from_index(number) });
        }
        if !odd.is_empty() {
            bb.set_odd_edges(id, std::mem::take(odd)).map_err(|_| ConversionError::NoSuchBlockId(id))?;
        }
    }
    Ok(())
}

/// The successor lists turned around: from which blocks each is reached, in ascending order.
struct Incoming {
    sources: Vec<BlockNumber>,
    /// Where the sources of each block start, and the end.
    starts: Vec<usize>,
}

impl Incoming {
    fn new(blocks: &[BasicBlock]) -> Result<Self, ConversionError> {
        let mut starts = vec![0; blocks.len() + 1];
        for succ in blocks.iter().flat_map(|block| &block.succs) {
            let to = succ.index().filter(|&to| to < blocks.len()).ok_or(ConversionError::NoSuchBlock(*succ))?;
            starts[to + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut ends = starts.clone();
        let mut sources = vec![BlockNumber::VIRTUAL; starts.last().copied().unwrap_or(0)];
        for (from, block) in blocks.iter().enumerate() {
            for to in block.succs.iter().filter_map(|succ| succ.index()) {
                sources[ends[to]] = BlockNumber::from_index(from);
                ends[to] += 1;
            }
        }
        Ok(Incoming { sources, starts })
    }

    fn of(&self, block: usize) -> &[BlockNumber] {
        let range = self.starts.get(block).zip(self.starts.get(block + 1));
        range.and_then(|(&start, &end)| self.sources.get(start..end)).unwrap_or_default()
    }
}
