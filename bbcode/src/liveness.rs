//! Which values are still needed where.

use ircode::{Body, Operand, Stmt};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::ids::{BlockId, InstId};

/// Which values are live at the start and at the end of each block. It borrows the code, so that it cannot be out of
/// date.
///
/// A value is live where some way leads on to a use of it without coming to its definition again. What a φ takes from
/// an edge is used at the end of the block where the edge starts — on an edge that the φ does not name, see
/// [`ircode::UnnamedPhiEdge`] — and the φ itself is defined at the start of its block, so that it is not live there.
/// Computed value by value, from the uses backwards (Brandner and others, *Computing Liveness Sets for SSA-Form
/// Programs*, 2011), in time linear in the code and the result. The result can be larger than the code: a value is in
/// the set of each block through which it lives.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_function;
///
/// let bb = BBCode::try_from(&parse_function("
/// 1 ─ %1 = Base.neg_int(_2)::Int64
/// │   %2 = Base.neg_int(%1)::Int64
/// └──      goto #3 if not _3
/// 2 ─      return %1
/// 3 ─ %5 = φ (#1 => %2)::Int64
/// └──      return %5
/// ")?.body)?;
/// let blocks: Vec<_> = bb.blocks().collect();
/// let insts: Vec<_> = bb.inst_ids(blocks[0]).collect();
/// let liveness = bb.liveness();
/// assert_eq!(liveness.live_out(blocks[0]), [insts[0], insts[1]]);
/// assert_eq!(liveness.live_in(blocks[1]), [insts[0]]);
/// assert!(liveness.live_in(blocks[2]).is_empty());
/// // `%1` is used by the return of the second block, `%2` only by the φ.
/// assert!(liveness.is_live_after(insts[0], insts[1]));
/// assert!(!liveness.is_live_after(insts[0], bb.last_inst(blocks[1]).unwrap()));
/// assert!(liveness.is_live_after(insts[1], insts[2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Liveness<'a> {
    bb: &'a BBCode,
    live_in: SecondaryMap<BlockId, Vec<InstId>>,
    live_out: SecondaryMap<BlockId, Vec<InstId>>,
}

impl BBCode {
    /// Which values are live at the start and at the end of each block.
    pub fn liveness(&self) -> Liveness<'_> {
        // Where each value is used: in which block by its statements, at the end of which block by φs.
        let mut uses: SecondaryMap<InstId, Vec<(BlockId, bool)>> =
            SecondaryMap::with_capacity(self.store.inst_capacity());
        let mut add = |value: InstId, place: (BlockId, bool)| {
            if let Some(entry) = uses.entry(value) {
                let places = entry.or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        };
        for block in self.blocks() {
            for (_, inst) in self.insts(block) {
                match &inst.stmt {
                    Stmt::Phi(phi) => phi.entries.iter().for_each(|entry| {
                        if let Some(value) = entry.value.as_ref().and_then(Operand::as_value) {
                            add(value, (entry.edge, true));
                        }
                    }),
                    stmt => stmt.for_each_use(|value| add(value, (block, false))),
                }
            }
        }
        for edge in self.view().unnamed_phi_edges() {
            if let Some(value) = edge.value.as_value() {
                add(value, (edge.pred, true));
            }
        }
        let cfg = self.cfg();
        let mut found = Liveness { bb: self, live_in: SecondaryMap::default(), live_out: SecondaryMap::default() };
        let mut work: Vec<BlockId> = Vec::new();
        for defined in self.blocks() {
            for (value, _) in self.insts(defined) {
                let Some(places) = uses.remove(value) else { continue };
                for (block, at_end) in places {
                    if at_end {
                        push_new(&mut found.live_out, block, value);
                    }
                    work.push(block);
                    while let Some(block) = work.pop() {
                        if block == defined || !push_new(&mut found.live_in, block, value) {
                            continue;
                        }
                        for pred in cfg.predecessors(block) {
                            push_new(&mut found.live_out, pred, value);
                            work.push(pred);
                        }
                    }
                }
            }
        }
        found
    }
}

/// Adds the value to the set of a block, of which it can only be the last yet. False if it is there.
fn push_new(sets: &mut SecondaryMap<BlockId, Vec<InstId>>, block: BlockId, value: InstId) -> bool {
    let Some(entry) = sets.entry(block) else { return false };
    let set = entry.or_default();
    let new = set.last() != Some(&value);
    if new {
        set.push(value);
    }
    new
}

impl Liveness<'_> {
    /// The values that are live at the start of a block, in the order of their definitions.
    pub fn live_in(&self, block: BlockId) -> &[InstId] {
        self.live_in.get(block).map(Vec::as_slice).unwrap_or_default()
    }

    /// The values that are live at the end of a block, in the order of their definitions.
    pub fn live_out(&self, block: BlockId) -> &[InstId] {
        self.live_out.get(block).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a value is still used behind a statement, on some way. Takes time linear in the block of the statement.
    pub fn is_live_after(&self, value: InstId, at: InstId) -> bool {
        let Some(block) = self.bb.block_of(at) else { return false };
        let known = self.bb.block_of(value) != Some(block) || value == at || self.bb.comes_before(value, at);
        let mut uses = false;
        let behind = std::iter::successors(self.bb.next_inst(at), |&inst| self.bb.next_inst(inst));
        for stmt in behind.filter_map(|inst| self.bb.stmt(inst)).filter(|stmt| stmt.as_phi().is_none()) {
            stmt.for_each_use(|used| uses |= used == value);
        }
        known && (uses || self.live_out(block).contains(&value))
    }
}
