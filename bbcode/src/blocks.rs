//! What Mooncake's helpers tell of blocks and statements, under their names.

use ircode::graph::FlowGraph;
use ircode::{Cfg, Instruction, LineInfo, NewInstruction, Operand, ReturnNode, Stmt, Type};
use slotmap::SecondaryMap;

use crate::code::BBCode;
use crate::convert::ConversionError;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// Julia's flag for a statement whose type inference should look at again, `IR_FLAG_REFINED` of Julia 1.12: what
/// Mooncake gives to new statements.
pub const IR_FLAG_REFINED: u32 = 1 << 16;

/// A new instruction without call info, on line 1 and flagged as refined: Mooncake's `new_inst`.
///
/// ```
/// use bbcode::{IR_FLAG_REFINED, new_inst};
/// use ircode::{Stmt, Type};
///
/// let inst = new_inst(Stmt::nothing(), Type::FLOAT64);
/// assert_eq!((inst.ty, inst.flag, inst.info.0), (Type::FLOAT64, IR_FLAG_REFINED, None));
/// ```
pub fn new_inst(stmt: Stmt<Ids>, ty: Type) -> NewInstruction<Ids> {
    NewInstruction { flag: IR_FLAG_REFINED, ..NewInstruction::new(stmt, ty) }.with_line(LineInfo::from(1))
}

/// Whether a statement is a return that returns something, and not `unreachable`.
///
/// ```
/// use bbcode::{Ids, is_reachable_return_node};
/// use ircode::Stmt;
///
/// assert!(is_reachable_return_node(&Stmt::<Ids>::ret(5)));
/// assert!(!is_reachable_return_node(&Stmt::<Ids>::unreachable()));
/// assert!(!is_reachable_return_node(&Stmt::<Ids>::nothing()));
/// ```
pub fn is_reachable_return_node(stmt: &Stmt<Ids>) -> bool {
    matches!(stmt, Stmt::Return(ReturnNode { value: Some(_) }))
}

impl BBCode {
    /// Inserts a statement into a block before the one at index `n`, counted from 0; behind all if there is none:
    /// Mooncake's `insert!`. Takes time linear in `n`; [`BBCode::insert_before`] takes none.
    ///
    /// ```
    /// use bbcode::{BBCode, new_inst};
    /// use ircode::{Stmt, Type};
    ///
    /// let mut bb = BBCode::new(vec![]);
    /// let block = bb.push_block();
    /// bb.push(block, new_inst(Stmt::ret(5), Type::Any))?;
    /// let first = bb.insert(block, 0, new_inst(Stmt::nothing(), Type::Nothing))?;
    /// assert_eq!(bb.first_inst(block), Some(first));
    /// # Ok::<(), bbcode::EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BBCode::insert_before`] and [`BBCode::push`].
    pub fn insert(&mut self, block: BlockId, n: usize, inst: NewInstruction<Ids>) -> Result<InstId, EditError> {
        let anchor = self.inst_ids(block).nth(n);
        match anchor {
            Some(anchor) => self.insert_before(anchor, inst),
            None => self.push(block, inst),
        }
    }

    /// All statements with their names, in layout order.
    pub fn collect_stmts(&self) -> Vec<(InstId, &Instruction<Ids>)> {
        self.all_insts().collect()
    }

    /// The number that each statement has in layout order, counted from 1: that of its `SSAValue` if the code is
    /// [laid out](BBCode::is_laid_out). Terminators have one too.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      return 1
    /// 3 ─      return 2
    /// ")?.body)?;
    /// let lines = bb.id_to_line_map();
    /// assert!(bb.all_insts().map(|(id, _)| lines[id]).eq([1, 2, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id_to_line_map(&self) -> SecondaryMap<InstId, u32> {
        let mut lines = SecondaryMap::with_capacity(self.store.inst_capacity());
        for (line, (id, _)) in (1..).zip(self.all_insts()) {
            lines.insert(id, line);
        }
        lines
    }

    /// The successors of every block, as [`BBCode::successors`] gives them.
    pub fn compute_all_successors(&self) -> SecondaryMap<BlockId, Vec<BlockId>> {
        self.blocks().map(|block| (block, self.successors(block))).collect()
    }

    /// The predecessors of every block, in layout order; one that has two edges to the block comes twice.
    pub fn compute_all_predecessors(&self) -> SecondaryMap<BlockId, Vec<BlockId>> {
        let cfg = self.cfg();
        self.blocks().map(|block| (block, cfg.predecessors(block).collect())).collect()
    }

    /// The control-flow graph that the code has as IRCode.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3 if not _2
    /// 2 ─      return 1
    /// 3 ─      return 2
    /// ")?.body)?;
    /// assert_eq!(bb.control_flow_graph()?.to_string(), "\
    /// CFG with 3 blocks:
    ///   bb 1 (stmt 1) → bb 3, 2
    ///   bb 2 (stmt 2)
    ///   bb 3 (stmt 3)
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConversionError`] if a block is named that does not exist.
    pub fn control_flow_graph(&self) -> Result<Cfg, ConversionError> {
        match self.is_laid_out() {
            true => self.laid_out_cfg(),
            false => self.laid_out()?.laid_out_cfg(),
        }
    }

    /// The number of edges on the shortest way from the entry to each block, in layout order; `None` for blocks that
    /// are not reached.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─      nothing
    /// 2 ┄      goto #2 if not _2
    /// 3 ─      return 1
    /// 4 ─      return 2
    /// ")?.body)?;
    /// assert_eq!(bb.distance_to_entry(), [Some(0), Some(1), Some(2), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn distance_to_entry(&self) -> Vec<Option<usize>> {
        let cfg = self.cfg();
        distances(cfg.graph())
    }

    /// Which blocks the entry reaches, in layout order.
    pub fn is_reachable(&self) -> Vec<bool> {
        self.cfg().reachable()
    }

    /// Which statements are used by some other statement, or by themselves.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = sin(_2)::Float64
    /// │   %2 = cos(%1)::Float64
    /// └──      return %2
    /// ")?.body)?;
    /// let used = bb.characterise_used_ids();
    /// assert!(bb.all_insts().map(|(id, _)| used[id]).eq([true, true, false]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn characterise_used_ids(&self) -> SecondaryMap<InstId, bool> {
        let mut used = SecondaryMap::with_capacity(self.store.inst_capacity());
        for (id, _) in self.all_insts() {
            used.insert(id, false);
        }
        for (_, inst) in self.all_insts() {
            inst.stmt.for_each_use(|value| {
                if let Some(used) = used.get_mut(value) {
                    *used = true;
                }
            });
        }
        used
    }

    /// Gives every block without statements a `nothing`, as Julia does: its printed form cannot show an empty block.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─ %1 = Base.sin(_2)::Float64
    /// 2 ─      return _2
    /// ")?.body)?;
    /// let first = bb.all_insts().next().map(|(id, _)| id);
    /// bb.remove(first.ok_or("no statement")?)?;
    /// let entry = bb.entry().ok_or("no block")?;
    /// assert_eq!(bb.insts(entry).count(), 0);
    /// bb.fill_empty_blocks();
    /// assert_eq!(bb.insts(entry).map(|(_, inst)| inst.stmt.is_nothing()).collect::<Vec<_>>(), [true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_empty_blocks(&mut self) {
        let empty: Vec<BlockId> = self.blocks().filter(|&block| self.first_inst(block).is_none()).collect();
        for block in empty {
            // The block is there and has no terminator.
            let _ = self.push(block, NewInstruction::new(Stmt::nothing(), Type::Nothing));
        }
    }

    /// Removes every block that the entry does not reach, and what the φs of the others take from them. True if there
    /// was one. A φ that is left with one edge stays a φ. Takes time linear in the function.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3
    /// 2 ─      nothing
    /// 3 ┄ %3 = φ (#2 => false, #1 => true)::Bool
    /// └──      return %3
    /// ")?.body)?;
    /// assert!(bb.remove_unreachable_blocks());
    /// assert_eq!(bb.to_string(), "1 ─ %1 = goto #3\n3 ─ %3 = φ (#1 => true)::Bool\n└── %4 = return %3\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_unreachable_blocks(&mut self) -> bool {
        let cfg = self.cfg();
        let reachable = cfg.reachable();
        let mut gone: SecondaryMap<BlockId, ()> = SecondaryMap::new();
        let mut gone_insts: SecondaryMap<InstId, ()> = SecondaryMap::new();
        for (&block, _) in cfg.order().iter().zip(&reachable).filter(|(_, reached)| !**reached) {
            gone.insert(block, ());
            gone_insts.extend(self.inst_ids(block).map(|inst| (inst, ())));
            // The block is there: it was found in the layout.
            let _ = self.remove_block_unchecked(block);
        }
        if gone.is_empty() {
            return false;
        }
        let left: Vec<BlockId> = self.blocks().collect();
        for block in left {
            // What ends in a return or a switch never falls through, whatever stands here.
            if self.next(block).is_some_and(|next| gone.contains_key(next)) {
                let _ = self.set_next(block, None);
            }
            self.forget_edges(block, |from| gone.contains_key(from));
        }
        self.forget_values(&gone_insts);
        true
    }

    /// Takes what comes from some blocks out of the φs and the odd edges of another one.
    pub(crate) fn forget_edges(&mut self, block: BlockId, is_gone: impl Fn(BlockId) -> bool) {
        let names_gone =
            |stmt: &Stmt<Ids>| stmt.as_phi().is_some_and(|phi| phi.entries.iter().any(|entry| is_gone(entry.edge)));
        if self.phi_nodes(block).any(|(_, inst)| names_gone(&inst.stmt)) {
            self.for_each_phi_mut(block, |_, phi| phi.entries.retain(|entry| !is_gone(entry.edge)));
        }
        let odd = self.block(block).and_then(|block| block.odd_edges());
        if let Some(mut odd) = odd.filter(|odd| odd.named().any(&is_gone)).cloned() {
            odd.forget(is_gone);
            // The block is there: it has such edges.
            let _ = self.set_odd_edges(block, odd);
        }
    }

    /// Takes values that are gone out of the statements that name them: φᶜs, and the ends of what keeps objects alive.
    fn forget_values(&mut self, gone: &SecondaryMap<InstId, ()>) {
        let is_gone = |operand: &Operand<Ids>| operand.as_value().is_some_and(|value| gone.contains_key(value));
        let mut users = Vec::new();
        for (id, inst) in self.all_insts() {
            let mut found = false;
            inst.stmt.for_each_operand(&mut |operand| found |= is_gone(operand));
            if found {
                users.push(id);
            }
        }
        for id in users {
            match self.stmt_mut(id) {
                Some(Stmt::PhiC(phic)) => phic.values.retain(|value| !is_gone(value)),
                Some(stmt) => stmt.for_each_operand_mut(&mut |operand| {
                    if is_gone(operand) {
                        *operand = Operand::nothing();
                    }
                }),
                None => {}
            }
        }
    }

    /// Orders the layout by the distance of the blocks from the entry; blocks of the same distance, and those that are
    /// not reached, which come last, keep their order. In Mooncake this may change what code means; here the layout
    /// means nothing.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// 1 ─      goto #3
    /// 2 ─      return 1
    /// 3 ─      goto #2
    /// ")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// bb.sort_blocks();
    /// assert!(bb.blocks().eq([blocks[0], blocks[2], blocks[1]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_blocks(&mut self) {
        let mut order: Vec<(Option<usize>, BlockId)> =
            self.distance_to_entry().into_iter().zip(self.blocks()).collect();
        order.sort_by_key(|&(distance, _)| distance.unwrap_or(usize::MAX));
        let order: Vec<BlockId> = order.into_iter().map(|(_, block)| block).collect();
        self.set_layout(&order);
    }

    /// Lays out the blocks in this order, which names each once.
    pub(crate) fn set_layout(&mut self, order: &[BlockId]) {
        for (index, &block) in order.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| order.get(before)).copied();
            let after = order.get(index + 1).copied();
            if let Some(data) = self.store.block_mut(block) {
                (data.before, data.after) = (before, after);
            }
        }
        self.store.set_ends(order.first().copied(), order.last().copied());
    }
}

/// Breadth-first from node 0.
fn distances(graph: &FlowGraph) -> Vec<Option<usize>> {
    let mut distances = vec![None; graph.len()];
    let mut wave: Vec<usize> = if graph.is_empty() { Vec::new() } else { vec![0] };
    let mut distance = 0;
    while !wave.is_empty() {
        let mut next = Vec::new();
        for node in wave {
            if distances[node].is_none() {
                distances[node] = Some(distance);
                next.extend(graph.successors(node).filter(|&succ| distances[succ].is_none()));
            }
        }
        wave = next;
        distance += 1;
    }
    distances
}
