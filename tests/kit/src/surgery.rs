//! Random scripts of editing verbs on BBCode, against a naive model that keeps lists and rebuilds everything, and
//! against the interpreter: the verbs used here keep the meaning of a program.

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use exec::{Limits, Value};
use ircode::{Function, IRCode, Module, NewInstruction, Operand, Stmt, Type};

use crate::laws::{Checked, broken, outcome};

const LAW: &str = "surgery";

/// The size up to which a program may be doubled: the model takes its time.
const MOST_STATEMENTS: usize = 400;

/// A block of the model.
#[derive(Clone, PartialEq, Debug)]
struct ModelBlock {
    name: BlockId,
    next: Option<BlockId>,
    insts: Vec<(InstId, Stmt<Ids>)>,
}

/// What a [`BBCode`] is, as plain lists under the same names.
#[derive(Clone, PartialEq, Debug)]
pub struct Model(Vec<ModelBlock>);

impl Model {
    /// What the code is now.
    pub fn of(bb: &BBCode) -> Model {
        let block = |name: BlockId| ModelBlock {
            name,
            next: bb.next(name),
            insts: bb.insts(name).map(|(id, inst)| (id, inst.stmt.clone())).collect(),
        };
        Model(bb.blocks().map(block).collect())
    }

    /// The block and the place in it where a statement stands.
    fn find(&self, inst: InstId) -> Option<(usize, usize)> {
        self.0
            .iter()
            .enumerate()
            .find_map(|(number, block)| Some((number, block.insts.iter().position(|(id, _)| *id == inst)?)))
    }

    fn block(&mut self, name: BlockId) -> Option<&mut ModelBlock> {
        self.0.iter_mut().find(|block| block.name == name)
    }

    fn number(&self, name: BlockId) -> Option<usize> {
        self.0.iter().position(|block| block.name == name)
    }

    /// The statements that use a value, once a use.
    fn users(&self, value: InstId) -> Vec<InstId> {
        let mut users = Vec::new();
        for (id, stmt) in self.0.iter().flat_map(|block| &block.insts) {
            stmt.for_each_use(|used| {
                if used == value {
                    users.push(*id);
                }
            });
        }
        users
    }

    /// The blocks to which control comes without going through this one.
    fn reached_around(&self, avoided: Option<BlockId>) -> BTreeSet<BlockId> {
        let mut reached = BTreeSet::new();
        let mut todo: Vec<BlockId> = self.0.first().map(|entry| entry.name).into_iter().collect();
        while let Some(block) = todo.pop() {
            if Some(block) == avoided || !reached.insert(block) {
                continue;
            }
            todo.extend(self.successors(block));
        }
        reached
    }

    /// The blocks to which control comes through this one alone.
    fn dominated_by(&self, block: BlockId) -> BTreeSet<BlockId> {
        &self.reached_around(None) - &self.reached_around(Some(block))
    }

    fn insert(&mut self, before: InstId, id: InstId, stmt: Stmt<Ids>) -> Option<()> {
        let (block, at) = self.find(before)?;
        self.0.get_mut(block)?.insts.insert(at, (id, stmt));
        Some(())
    }

    fn remove(&mut self, inst: InstId) -> Option<(InstId, Stmt<Ids>)> {
        let (block, at) = self.find(inst)?;
        Some(self.0.get_mut(block)?.insts.remove(at))
    }

    fn replace_operands(&mut self, value: InstId, by: &Operand<Ids>) {
        for (_, stmt) in self.0.iter_mut().flat_map(|block| &mut block.insts) {
            stmt.for_each_operand_mut(&mut |operand| {
                if operand.as_value() == Some(value) {
                    *operand = by.clone();
                }
            });
        }
    }

    /// In the φs of a block, an edge gets another name.
    fn rename_edge(&mut self, block: BlockId, from: BlockId, to: BlockId) {
        let Some(block) = self.block(block) else { return };
        for (_, stmt) in &mut block.insts {
            if let Stmt::Phi(phi) = stmt {
                phi.entries.iter_mut().filter(|entry| entry.edge == from).for_each(|entry| entry.edge = to);
            }
        }
    }

    fn successors(&self, name: BlockId) -> Vec<BlockId> {
        let Some(block) = self.0.iter().find(|block| block.name == name) else { return Vec::new() };
        let mut succs = Vec::new();
        let last = block.insts.last().map(|(_, stmt)| stmt);
        if let Some(last) = last {
            last.for_each_target(|target| succs.push(target));
        }
        if last.is_none_or(Stmt::falls_through) {
            succs.extend(block.next);
        }
        succs
    }

    fn split(&mut self, at: InstId, new: BlockId, goto: Option<(InstId, Stmt<Ids>)>) -> Option<()> {
        let (number, at) = self.find(at)?;
        let old = self.0.get(number)?.name;
        let succs = self.successors(old);
        let block = self.0.get_mut(number)?;
        let insts = block.insts.split_off(at);
        let next = block.next;
        block.next = if goto.is_some() { None } else { Some(new) };
        block.insts.extend(goto);
        self.0.insert(number + 1, ModelBlock { name: new, next, insts });
        for succ in succs {
            self.rename_edge(succ, old, new);
        }
        Some(())
    }

    fn split_edge(&mut self, from: BlockId, to: BlockId, new: BlockId, insts: Vec<(InstId, Stmt<Ids>)>) -> Option<()> {
        let number = self.number(from)?;
        let block = self.0.get_mut(number)?;
        if let Some((_, last)) = block.insts.last_mut() {
            last.for_each_target_mut(|target| {
                if *target == to {
                    *target = new;
                }
            });
        }
        let falls = block.next == Some(to);
        if falls {
            block.next = Some(new);
        }
        let at = if falls { number + 1 } else { self.0.len() };
        self.0.insert(at, ModelBlock { name: new, next: None, insts });
        self.rename_edge(to, from, new);
        Some(())
    }

    fn merge(&mut self, block: BlockId, into: BlockId) -> Option<()> {
        let succs = self.successors(block);
        let merged = self.0.remove(self.number(block)?);
        let first = self.block(into)?;
        if matches!(first.insts.last(), Some((_, Stmt::Goto(_)))) {
            first.insts.pop();
        }
        first.next = merged.next;
        let mut values = Vec::new();
        for (id, stmt) in merged.insts {
            match &stmt {
                Stmt::Phi(phi) => values.push((id, phi.entries.first()?.value.clone()?)),
                _ => self.block(into)?.insts.push((id, stmt)),
            }
        }
        for (id, value) in values {
            self.replace_operands(id, &value);
        }
        for succ in succs {
            self.rename_edge(succ, block, into);
        }
        Some(())
    }
}

/// The code under the knife, with its model.
struct Script<'a, 'b> {
    u: &'a mut Unstructured<'b>,
    bb: BBCode,
    model: Model,
    /// Statements that this script has inserted, each an `Int64` that the program itself does not use.
    own: Vec<InstId>,
    /// Functions that were outlined.
    outlined: Vec<Function<BBCode>>,
    callee: &'a Function<BBCode>,
    /// Which step is taken, for messages.
    doing: &'static str,
    verbs: &'a Verbs<'a>,
}

/// Splits an edge, from a block to a block.
pub type SplitEdge<'v> = dyn Fn(&mut BBCode, BlockId, BlockId) -> std::result::Result<BlockId, EditError> + 'v;

/// Gives a header the block before it.
pub type InsertPreheader<'v> = dyn Fn(&mut BBCode, BlockId) -> std::result::Result<BlockId, EditError> + 'v;

/// Verbs of which there may be one with a bug in the place of that of `BBCode`, to see that it is found.
pub struct Verbs<'v> {
    /// `BBCode::split_edge`.
    pub split_edge: &'v SplitEdge<'v>,
    /// `BBCode::insert_preheader`.
    pub insert_preheader: &'v InsertPreheader<'v>,
}

impl std::fmt::Debug for Verbs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verbs").finish_non_exhaustive()
    }
}

impl Default for Verbs<'_> {
    fn default() -> Self {
        Verbs { split_edge: &BBCode::split_edge, insert_preheader: &BBCode::insert_preheader }
    }
}

/// Runs a script that the bytes say on the function `f` of a program that computes, and checks after each step that the
/// code is that of the model, that it is valid, that chains and analyses are up to date, and in the end that the
/// program computes what it did. `callee` is a function that can be inlined, of one `Int64`.
///
/// # Errors
///
/// If there are no more bytes.
pub fn surgery_is_right(
    u: &mut Unstructured<'_>,
    module: &Module<BBCode>,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    verbs: &Verbs<'_>,
) -> Result<Checked> {
    let (Some(f), Some(callee)) = (module.function("f"), module.function("callee")) else { return Ok(Ok(())) };
    let before = bbkit::to_ircode(module).ok().and_then(|module| outcome(&module, "f", &args(), limits));
    // The verbs that change edges name those that φs leave out, of which the model knows nothing.
    let mut bb = f.body.clone();
    bb.name_phi_edges();
    let mut script =
        Script { u, model: Model::of(&bb), bb, own: Vec::new(), outlined: Vec::new(), callee, doing: "nothing", verbs };
    let steps = script.u.int_in_range(1..=24)?;
    for _ in 0..steps {
        if let Err(found) = script.step()? {
            return Ok(Err(found));
        }
    }
    let Script { bb, outlined, .. } = script;
    let mut after = module.clone();
    if let Some(body) = after.body_mut("f") {
        *body = bb;
    }
    for function in outlined {
        // A program has no function of this name.
        let _ = after.add_function(function);
    }
    let ran = match bbkit::to_ircode(&after) {
        Ok(after) => outcome(&after, "f", &args(), limits),
        Err(error) => return Ok(Err(broken(LAW, error))),
    };
    // Where either runs out of steps there is nothing to compare.
    if let (Some(before), Some(ran)) = (&before, &ran)
        && before != ran
    {
        return Ok(Err(broken(LAW, format!("{before:?} became {ran:?}:\n{}", bbcode::print_module(&after)))));
    }
    Ok(Ok(()))
}

impl Script<'_, '_> {
    fn wrong(&self, problem: impl std::fmt::Display) -> Checked {
        Err(broken(LAW, format!("{}: {problem}\n{}", self.doing, self.bb)))
    }

    fn step(&mut self) -> Result<Checked> {
        if self.u.ratio(1, 8)? {
            return self.roll_back();
        }
        let changed = self.change()?;
        Ok(changed.and_then(|()| self.compare()))
    }

    /// The code is what the model is, and everything known of it is up to date.
    fn compare(&mut self) -> Checked {
        let now = Model::of(&self.bb);
        if now != self.model {
            return self.wrong(format!("the model is {:#?}\nbut the code is {now:#?}", self.model));
        }
        if let Err(violations) = self.bb.verify() {
            return self.wrong(bbcode::display_violations(&self.bb, &violations));
        }
        let fresh = self.bb.clone();
        let mut users: BTreeMap<InstId, Vec<InstId>> = fresh.all_insts().map(|(id, _)| (id, Vec::new())).collect();
        for (id, stmt) in self.model.0.iter().flat_map(|block| &block.insts) {
            stmt.for_each_use(|used| users.entry(used).or_default().push(*id));
        }
        for (id, mut scanned) in users {
            let mut chained = self.bb.users(id);
            chained.sort_unstable();
            scanned.sort_unstable();
            if chained != scanned {
                return self.wrong(format!("{id} is used by {scanned:?}, but the chains say {chained:?}"));
            }
        }
        for block in &self.model.0 {
            let mut pairs = block.insts.iter().zip(block.insts.iter().skip(1));
            if let Some((a, b)) = pairs.find(|(a, b)| !self.bb.comes_before(a.0, b.0) || self.bb.comes_before(b.0, a.0))
            {
                return self.wrong(format!("{} stands before {}, but is not said to come before it", a.0, b.0));
            }
            let (cached, succs) = (self.bb.cfg(), self.model.successors(block.name));
            if !cached.successors(block.name).eq(succs.iter().copied()) {
                return self.wrong(format!("the graph is out of date at {}", block.name));
            }
            let (mut chained, mut scanned) = (self.bb.predecessors(block.name), Vec::new());
            for from in &self.model.0 {
                let edges = self.model.successors(from.name).into_iter().filter(|to| *to == block.name);
                scanned.extend(edges.map(|_| from.name));
            }
            chained.sort_unstable();
            scanned.sort_unstable();
            if chained != scanned {
                return self.wrong(format!("{} is led to by {scanned:?}, but the chains say {chained:?}", block.name));
            }
        }
        Ok(())
    }

    /// Changes that are taken back leave everything as it was.
    fn roll_back(&mut self) -> Result<Checked> {
        let (model, own, outlined) = (self.model.clone(), self.own.clone(), self.outlined.len());
        // The transaction borrows the code, which a script owns.
        let mut bb = std::mem::take(&mut self.bb);
        let mut transaction = bb.transaction();
        std::mem::swap(&mut *transaction, &mut self.bb);
        let mut result = Ok(());
        for _ in 0..self.u.int_in_range(1..=5)? {
            result = result.and(self.change()?).and_then(|()| self.compare());
        }
        std::mem::swap(&mut *transaction, &mut self.bb);
        match self.u.ratio(1, 4)? {
            true => transaction.commit(),
            false => {
                transaction.rollback();
                (self.model, self.own) = (model, own);
                self.outlined.truncate(outlined);
            }
        }
        self.bb = bb;
        self.doing = "a transaction";
        Ok(result.and_then(|()| self.compare()))
    }

    fn any_block(&mut self) -> Result<BlockId> {
        let blocks: Vec<BlockId> = self.bb.blocks().collect();
        self.u.choose(&blocks).copied()
    }

    fn any_inst(&mut self) -> Result<InstId> {
        let insts: Vec<InstId> = self.bb.all_insts().map(|(id, _)| id).collect();
        self.u.choose(&insts).copied()
    }

    /// An `Int64` that is there at a statement.
    fn number_at(&mut self, at: InstId) -> Result<Operand<Ids>> {
        let available: Vec<InstId> = self.own.iter().copied().filter(|&own| self.bb.is_available(own, at)).collect();
        Ok(match self.u.choose_index(available.len() + 1)?.checked_sub(1).and_then(|index| available.get(index)) {
            Some(&own) => own.into(),
            None => i64::from(self.u.int_in_range(0..=9u8)?).into(),
        })
    }

    /// A statement that does nothing but compute an `Int64`.
    fn sum_at(&mut self, at: InstId) -> Result<Stmt<Ids>> {
        let (a, b) = (self.number_at(at)?, self.number_at(at)?);
        Ok(Stmt::call(Operand::global("Base", "add_int"), [a, b]))
    }

    /// One step, in the code and in the model.
    fn change(&mut self) -> Result<Checked> {
        match self.u.int_in_range(0..=17)? {
            0..=3 => self.insert(),
            4 => self.remove(),
            5 => self.replace(),
            6 => self.replace_all_uses(),
            7 => self.split_block(),
            8 | 9 => self.split_edge(),
            10 => self.merge(),
            11 => self.walk(),
            12 => self.move_before(),
            13 => self.clone_region(),
            14 => self.inline(),
            15 => self.join_edges(),
            16 => self.insert_preheader(),
            _ => self.outline(),
        }
    }

    fn insert(&mut self) -> Result<Checked> {
        self.doing = "insert";
        let at = self.any_inst()?;
        let stmt = self.sum_at(at)?;
        let new = NewInstruction::new(stmt.clone(), Type::INT64);
        let before_phi = matches!(self.bb.stmt(at), Some(Stmt::Phi(_)));
        match self.bb.insert_before(at, new) {
            Ok(id) if !before_phi => {
                self.own.push(id);
                self.model.insert(at, id, stmt);
                Ok(Ok(()))
            }
            Err(EditError::BeforePhi(_)) if before_phi => Ok(Ok(())),
            other => Ok(self.wrong(format!("{other:?}"))),
        }
    }

    fn remove(&mut self) -> Result<Checked> {
        self.doing = "remove";
        let Some(id) = self.any_own()? else { return Ok(Ok(())) };
        let used = !self.model.users(id).is_empty();
        match self.bb.remove(id) {
            Ok(_) if !used => {
                self.model.remove(id);
                self.own.retain(|own| *own != id);
                let gone = self.bb.inst(id).is_none() && self.bb.remove(id).is_err();
                Ok(if gone { Ok(()) } else { self.wrong("what was removed is still there") })
            }
            Err(EditError::InUse { .. }) if used => Ok(Ok(())),
            other => Ok(self.wrong(format!("{other:?}"))),
        }
    }

    fn any_own(&mut self) -> Result<Option<InstId>> {
        match self.own.as_slice() {
            [] => Ok(None),
            own => self.u.choose(own).copied().map(Some),
        }
    }

    fn replace(&mut self) -> Result<Checked> {
        self.doing = "replace";
        let Some(id) = self.any_own()? else { return Ok(Ok(())) };
        let stmt = self.sum_at(id)?;
        if let Err(error) = self.bb.replace(id, stmt.clone()) {
            return Ok(self.wrong(error));
        }
        if let Some((block, at)) = self.model.find(id)
            && let Some(place) = self.model.0.get_mut(block).and_then(|block| block.insts.get_mut(at))
        {
            place.1 = stmt;
        }
        Ok(Ok(()))
    }

    fn replace_all_uses(&mut self) -> Result<Checked> {
        self.doing = "replace all uses";
        let (Some(value), Some(by)) = (self.any_own()?, self.any_own()?) else { return Ok(Ok(())) };
        let by: Operand<Ids> = if self.u.ratio(1, 3)? { 7.into() } else { by.into() };
        let users = self.model.users(value);
        let fits = by.as_value().is_none_or(|by| users.iter().all(|&user| self.bb.is_available(by, user)));
        match self.bb.replace_all_uses(value, &by) {
            Ok(count) if fits || by.as_value() == Some(value) => {
                self.model.replace_operands(value, &by);
                let expected = if by.as_value() == Some(value) { 0 } else { users.len() };
                Ok(if count == expected { Ok(()) } else { self.wrong(format!("{count} uses of {expected}")) })
            }
            Err(EditError::NotAvailable { .. }) if !fits => Ok(Ok(())),
            other => Ok(self.wrong(format!("{other:?} ({value} by {by:?})"))),
        }
    }

    fn split_block(&mut self) -> Result<Checked> {
        self.doing = "split a block";
        let at = self.any_inst()?;
        let (block, first) = (self.bb.block_of(at), self.bb.prev_inst(at).is_none());
        match self.bb.split_block(at) {
            Ok(new) => {
                let old = block.and_then(|block| self.bb.last_inst(block));
                let goto = old.filter(|_| first).map(|goto| (goto, Stmt::goto(new)));
                self.model.split(at, new, goto);
                Ok(Ok(()))
            }
            Err(EditError::BeforePhi(_)) => Ok(Ok(())),
            other => Ok(self.wrong(format!("{other:?}"))),
        }
    }

    fn split_edge(&mut self) -> Result<Checked> {
        self.doing = "split an edge";
        let from = self.any_block()?;
        let succs = self.bb.successors(from);
        if succs.is_empty() {
            return Ok(Ok(()));
        }
        let to = *self.u.choose(&succs)?;
        match (self.verbs.split_edge)(&mut self.bb, from, to) {
            Ok(new) => {
                let goto = self.bb.last_inst(new).map(|goto| (goto, Stmt::goto(to)));
                self.model.split_edge(from, to, new, goto.into_iter().collect());
                Ok(Ok(()))
            }
            Err(EditError::FixedEdge { .. }) => Ok(Ok(())),
            Err(error) => Ok(self.wrong(error)),
        }
    }

    fn merge(&mut self) -> Result<Checked> {
        self.doing = "merge";
        let block = self.any_block()?;
        match self.bb.merge(block) {
            Ok(into) => {
                self.model.merge(block, into);
                Ok(Ok(()))
            }
            Err(EditError::NotMergeable { .. }) => Ok(Ok(())),
            Err(error) => Ok(self.wrong(error)),
        }
    }

    /// A cursor that inserts a statement before each that it passes never comes to one of its own.
    fn walk(&mut self) -> Result<Checked> {
        self.doing = "walk";
        if self.bb.inst_count() > MOST_STATEMENTS {
            return Ok(Ok(()));
        }
        let block = self.any_block()?;
        let old: Vec<InstId> = self.bb.inst_ids(block).collect();
        let mut passed = Vec::new();
        let mut inserted = Vec::new();
        if let Ok(mut cursor) = self.bb.cursor_at_start(block) {
            while let Some(at) = cursor.current().filter(|_| passed.len() <= old.len()) {
                let stmt = Stmt::call(Operand::global("Base", "add_int"), [1.into(), 2.into()]);
                match cursor.insert(NewInstruction::new(stmt.clone(), Type::INT64)) {
                    Ok(id) => inserted.push((at, id, stmt)),
                    Err(error) => return Ok(Err(broken(LAW, error))),
                }
                passed.extend(cursor.step());
            }
        }
        let phis = self.bb.phi_nodes(block).count();
        let expected = old.get(old.len().saturating_sub(passed.len())..).unwrap_or_default();
        if passed != expected || passed.len() + phis > old.len() {
            return Ok(self.wrong(format!("the cursor passed {passed:?} of {old:?}")));
        }
        for (at, id, stmt) in inserted {
            self.model.insert(at, id, stmt);
            self.own.push(id);
        }
        Ok(Ok(()))
    }

    fn move_before(&mut self) -> Result<Checked> {
        self.doing = "move";
        let Some(id) = self.any_own()? else { return Ok(Ok(())) };
        let anchor = self.any_inst()?;
        match self.bb.move_before(id, anchor) {
            Ok(()) if id == anchor => Ok(Ok(())),
            Ok(()) => {
                if let Some((id, stmt)) = self.model.remove(id) {
                    self.model.insert(anchor, id, stmt);
                }
                Ok(Ok(()))
            }
            Err(EditError::NotAvailable { .. } | EditError::BeforePhi(_)) => Ok(Ok(())),
            Err(error) => Ok(self.wrong(error)),
        }
    }

    /// A copy to which nothing leads changes nothing, and goes again as unreachable.
    fn clone_region(&mut self) -> Result<Checked> {
        self.doing = "clone a region";
        let (first, second) = (self.any_block()?, self.any_block()?);
        if self.bb.is_reachable().contains(&false) {
            return Ok(Ok(()));
        }
        let copy = match self.bb.clone_region(&[first, second]) {
            Ok(copy) => copy,
            Err(error) => return Ok(self.wrong(error)),
        };
        if let Err(violations) = self.bb.verify() {
            return Ok(self.wrong(bbcode::display_violations(&self.bb, &violations)));
        }
        if copy.blocks.len() > 2 || self.bb.block_count() != self.model.0.len() + copy.blocks.len() {
            return Ok(self.wrong("there are not as many copies as blocks"));
        }
        self.bb.remove_unreachable_blocks();
        Ok(Ok(()))
    }

    fn inline(&mut self) -> Result<Checked> {
        self.doing = "inline";
        if self.bb.inst_count() > MOST_STATEMENTS {
            return Ok(Ok(()));
        }
        let at = self.any_inst()?;
        let number = self.number_at(at)?;
        let call = Stmt::call(Operand::global("Main", "callee"), [number]);
        let Ok(call) = self.bb.insert_before(at, NewInstruction::new(call, Type::INT64)) else { return Ok(Ok(())) };
        match self.bb.inline_call(call, self.callee) {
            Ok(inlined) => {
                let here = self.bb.block_of(call) == Some(inlined.after);
                // The model does not know how: it learns what came out, which is verified and run.
                self.model = Model::of(&self.bb);
                Ok(if here { Ok(()) } else { self.wrong("the call is not where it goes on") })
            }
            Err(error) => Ok(self.wrong(error)),
        }
    }

    fn join_edges(&mut self) -> Result<Checked> {
        self.doing = "join edges";
        let to = self.any_block()?;
        let (mut from, mut others): (Vec<BlockId>, Vec<BlockId>) = (Vec::new(), Vec::new());
        for pred in self.bb.predecessors(to) {
            let chosen = if self.u.ratio(2, 3)? { &mut from } else { &mut others };
            chosen.push(pred);
        }
        // Two edges from one block are one to φs.
        others.retain(|other| !from.contains(other));
        match self.bb.join_edges(&from, to) {
            Ok(new) => {
                let sorted = |blocks: Vec<BlockId>| blocks.into_iter().collect::<BTreeSet<_>>();
                others.push(new);
                let (before, at) = (sorted(self.bb.predecessors(new)), sorted(self.bb.predecessors(to)));
                // The model does not know how: it learns what came out, which is verified and run.
                self.model = Model::of(&self.bb);
                let right = before == sorted(from) && at == sorted(others);
                Ok(if right { Ok(()) } else { self.wrong("other edges than those asked for go through the new block") })
            }
            Err(EditError::NoEdges(_)) if from.is_empty() => Ok(Ok(())),
            Err(EditError::FixedEdge { .. } | EditError::EntryBlock(_)) => Ok(Ok(())),
            Err(error) => Ok(self.wrong(error)),
        }
    }

    fn insert_preheader(&mut self) -> Result<Checked> {
        self.doing = "insert a preheader";
        let header = self.any_block()?;
        match (self.verbs.insert_preheader)(&mut self.bb, header) {
            Ok(preheader) => {
                self.model = Model::of(&self.bb);
                let inside = self.model.dominated_by(header);
                let mut others = self.bb.predecessors(header);
                others.retain(|&pred| pred != preheader);
                let right = self.bb.successors(preheader) == [header]
                    && !inside.contains(&preheader)
                    && !others.is_empty()
                    && others.iter().all(|pred| inside.contains(pred));
                Ok(if right { Ok(()) } else { self.wrong("control comes into the loop elsewhere, too") })
            }
            Err(EditError::FixedEdge { .. } | EditError::EntryBlock(_)) => Ok(Ok(())),
            Err(EditError::NoLoop(_)) => {
                let inside = self.model.dominated_by(header);
                let is_loop = self.bb.predecessors(header).iter().any(|pred| inside.contains(pred));
                let missed = is_loop && !self.bb.loops().is_irreducible(header);
                Ok(if missed { self.wrong("there is a loop") } else { Ok(()) })
            }
            Err(error) => Ok(self.wrong(error)),
        }
    }

    fn outline(&mut self) -> Result<Checked> {
        self.doing = "outline";
        let mut region = Vec::new();
        for _ in 0..self.u.int_in_range(1..=4)? {
            region.push(self.any_block()?);
        }
        let name = format!("outlined_{}", self.outlined.len());
        match self.bb.outline(name.as_str(), &region) {
            Ok(outlined) => {
                if let Err(violations) = outlined.function.body.verify() {
                    let listing = bbcode::display_violations(&outlined.function.body, &violations);
                    return Ok(self.wrong(listing));
                }
                self.outlined.push(outlined.function);
                self.model = Model::of(&self.bb);
                self.own.retain(|&own| self.bb.inst(own).is_some());
                Ok(Ok(()))
            }
            Err(EditError::NotOutlinable(_)) => Ok(Ok(())),
            Err(error) => Ok(self.wrong(error)),
        }
    }
}

/// A function of one `Int64` with a branch and a loop, to be inlined.
///
/// # Errors
///
/// None: the text is that of a function.
pub fn callee() -> std::result::Result<Function<IRCode>, ircode::TextError> {
    ircode::parse_function(
        "
function callee(n::Int64)::Int64
1 ─ %1 = Base.slt_int(n, 3)::Bool
└──      goto #3 if not %1
2 ─      return n
3 ─      goto #4
4 ┄ %5 = φ (#3 => 0, #5 => %8)::Int64
│   %6 = Base.slt_int(%5, 3)::Bool
└──      goto #6 if not %6
5 ─ %8 = Base.add_int(%5, 1)::Int64
└──      goto #4
6 ─      return %5
end
",
    )
}
