//! BBCode densely numbered, and what follows from that: verifying and comparing.

use ircode::{BlockNames, BlockView, Body, StatementView, Stmt, View, Violations, verify};
use slotmap::{Key, SecondaryMap};

use crate::code::BBCode;
use crate::ids::{BlockId, Ids, InstId};

impl Body for BBCode {
    type Names = Ids;

    fn for_each_stmt<'s>(&'s self, visit: &mut dyn FnMut(&'s Stmt<Ids>)) {
        self.all_insts().for_each(|(_, inst)| visit(&inst.stmt));
    }

    fn view(&self) -> View<'_, Ids> {
        let mut statements = Vec::with_capacity(self.inst_count());
        let mut blocks = Vec::with_capacity(self.block_count());
        let mut values: SecondaryMap<InstId, u32> = SecondaryMap::with_capacity(self.store.inst_capacity());
        let mut numbers: SecondaryMap<BlockId, u32> = SecondaryMap::with_capacity(self.store.block_capacity());
        let mut succs = Vec::new();
        for (number, name) in self.blocks().enumerate() {
            numbers.insert(name, number as u32);
            let start = statements.len();
            for (id, inst) in self.insts(name) {
                let order = statements.len() as u64;
                values.insert(id, order as u32);
                statements.push(StatementView {
                    name: id,
                    stmt: &inst.stmt,
                    ty: &inst.ty,
                    info: &inst.info,
                    line: inst.line,
                    flag: inst.flag,
                    block: Some(number),
                    order,
                    pending: None,
                });
            }
            succs.clear();
            self.push_successors(name, &mut succs);
            blocks.push(BlockView {
                name,
                statements: start..statements.len(),
                fallthrough: self.next(name),
                preds: BlockNames::<Ids>::new(),
                succs: BlockNames::<Ids>::from_slice(&succs),
            });
        }
        let mut preds: Vec<BlockNames<Ids>> = vec![BlockNames::<Ids>::new(); blocks.len()];
        for block in &blocks {
            for succ in &block.succs {
                if let Some(preds) = numbers.get(*succ).and_then(|&to| preds.get_mut(to as usize)) {
                    preds.push(block.name);
                }
            }
        }
        for (block, mut preds) in blocks.iter_mut().zip(preds) {
            if let Some(odd) = self.block(block.name).and_then(|block| block.odd_edges()) {
                preds.extend((0..odd.virtual_preds).map(|_| BlockId::null()));
                preds.extend(self.unaccounted_preds(block.name));
            }
            block.preds = preds;
        }
        View::new(
            statements,
            blocks,
            &self.argtypes,
            &self.sptypes,
            &self.debuginfo,
            self.julia,
            move |value| values.get(value).map(|&index| index as usize),
            move |block| numbers.get(block).map(|&number| number as usize),
        )
    }
}

impl BBCode {
    /// Checks the code, see [`Check`](ircode::Check) for the conditions: the same as those of IRCode.
    ///
    /// # Errors
    ///
    /// All violations.
    pub fn verify(&self) -> Result<(), Violations<Ids>> {
        verify(self)
    }
}
