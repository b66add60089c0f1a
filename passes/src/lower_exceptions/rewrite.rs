//! A body in which exceptions go by edges.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, OddEdges};
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, Head, Instruction, LineInfo, Name, Names, NewInstruction, Operand, Stmt, Type};

use super::probes::Tried;
use super::regions::{Regions, ended};
use super::stand_ins::{anything, stand_in};
use super::throwing::Throws;
use super::{Lowering, NAME, failure, probes};
use crate::manager::Context;
use crate::{PassError, mem2reg};

/// Where an exception goes.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// To the handler that this statement entered.
    Handler(InstId),
    /// Out of the function, which returns it.
    Caller,
    /// Out of the function, which throws it.
    Out,
}

/// A statement that may throw, and what becomes of that.
struct Site {
    inst: InstId,
    throws: Throws,
    target: Target,
}

/// What is known of a function that is being rewritten.
struct Rewriter<'l, 'm> {
    lowering: &'l mut Lowering<'m>,
    function: &'l Name,
    /// As it was, where errors are told of.
    original: &'l BBCode,
    bb: BBCode,
    /// By the statement that entered a handler, where its exceptions go.
    landings: HashMap<InstId, BlockId>,
    /// The variable with the exception that is being handled, if somebody asks for it.
    current: Option<InstId>,
    /// The type of what the function returns, if it returns exceptions.
    returns: Option<Type>,
    /// The variables that were made of φᶜs.
    stored: Vec<InstId>,
}

/// The body of a function in which no handler is entered: exceptions go to where they are handled by edges. With a type
/// of its results, the function returns those that come out of it.
pub(super) fn rewrite(
    lowering: &mut Lowering<'_>,
    function: &Name,
    body: &BBCode,
    returns: Option<Type>,
) -> Result<BBCode, PassError> {
    let mut bb = body.clone();
    bb.name_phi_edges();
    bb.remove_unreachable_blocks();
    let mut rewriter = Rewriter {
        lowering,
        function,
        original: body,
        bb,
        landings: HashMap::new(),
        current: None,
        returns,
        stored: Vec::new(),
    };
    rewriter.run()?;
    let (mut bb, module, stored) = (rewriter.bb, rewriter.lowering.module, rewriter.stored);
    let context = Context { module, function };
    mem2reg::run(&mut bb, &context)?;
    // Where nothing was stored on some way, nobody uses what a φᶜ gives there: it may be anything.
    let mut left = false;
    for slot in stored {
        let Some(Type::Slot(ty)) = bb.inst(slot).map(|inst| inst.ty.clone()) else { continue };
        let set = anything(module, &mut bb, slot, &ty).and_then(|(value, last)| {
            let set = own("slot_set!", [Operand::Value(slot), value]);
            bb.insert_after(last, NewInstruction::new(set, Type::Nothing))
        });
        set.map_err(|error| PassError::because(NAME, function, error))?;
        left = true;
    }
    if left {
        mem2reg::run(&mut bb, &context)?;
    }
    Ok(bb)
}

impl Rewriter<'_, '_> {
    fn error(&self, at: InstId, message: &str) -> PassError {
        PassError::new(NAME, self.function, message).at(self.original, at)
    }

    fn edited<T>(&self, result: Result<T, EditError>) -> Result<T, PassError> {
        result.map_err(|error| PassError::because(NAME, self.function, error))
    }

    fn run(&mut self) -> Result<(), PassError> {
        let regions = Regions::of(&self.bb).map_err(|block| {
            let message = "control comes here in the care of different handlers, or a handler is entered or left in the middle of the block";
            PassError::new(NAME, self.function, message).at_block(&self.bb, block)
        })?;
        let sites = self.sites(&regions)?;
        let asked = self.exceptions_asked_for(&regions)?;
        // Before there are others, which return exceptions.
        if self.returns.is_some() {
            self.return_outcomes()?;
        }
        self.make_landings()?;
        if self.lowering.carries {
            self.keep_exceptions(&regions)?;
        }
        for exception in asked {
            let get = self.current_exception(exception)?;
            self.put(exception, get)?;
        }
        let cuts = self.cut(&sites)?;
        for (site, (block, rest)) in sites.into_iter().zip(cuts) {
            self.divert(site, block, rest)?;
        }
        self.pass_through_variables()?;
        self.remove_handlers()?;
        Ok(())
    }

    /// The statements of which exceptions go elsewhere.
    fn sites(&self, regions: &Regions) -> Result<Vec<Site>, PassError> {
        let mut sites = Vec::new();
        for block in self.bb.blocks().filter(|block| regions.reaches(*block)) {
            let target = match regions.handler(block) {
                Some(enter) => Target::Handler(enter),
                None if self.returns.is_some() => Target::Caller,
                None => Target::Out,
            };
            for (inst, data) in self.bb.insts(block) {
                let Some(throws) = self.lowering.throwing.how(self.lowering.module, &self.bb, data) else { continue };
                // What is thrown there goes its way. But there will be no current exception that could be thrown again.
                if matches!(target, Target::Out) && !matches!(throws, Throws::Again) {
                    continue;
                }
                if matches!(throws, Throws::Again) && !regions.is_handling(&self.bb, block, inst) {
                    return Err(self.error(inst, "no exception is being handled here"));
                }
                sites.push(Site { inst, throws, target });
            }
        }
        Ok(sites)
    }

    /// The statements that ask for the exception that is being handled.
    fn exceptions_asked_for(&self, regions: &Regions) -> Result<Vec<InstId>, PassError> {
        let mut asked = Vec::new();
        for block in self.bb.blocks().filter(|block| regions.reaches(*block)) {
            for (id, inst) in self.bb.insts(block) {
                if matches!(&inst.stmt, Stmt::Expr(expr) if expr.head == Head::TheException) && self.lowering.carries {
                    match regions.is_handling(&self.bb, block, id) {
                        true => asked.push(id),
                        false => return Err(self.error(id, "no exception is being handled here")),
                    }
                }
            }
        }
        Ok(asked)
    }

    /// Makes the blocks to which exceptions go, on their way to catch blocks.
    fn make_landings(&mut self) -> Result<(), PassError> {
        let enters = self.bb.all_insts().filter_map(|(id, inst)| match &inst.stmt {
            Stmt::Enter(enter) => Some((id, enter.catch_dest?, inst.line)),
            _ => None,
        });
        let enters: Vec<(InstId, BlockId, LineInfo)> = enters.collect();
        for (enter, catch, line) in enters {
            let landing = self.bb.push_block();
            self.push(landing, Stmt::goto(catch), Type::Any, line)?;
            // No exception comes here any more as Julia's edges from nowhere do.
            let set = self.bb.set_odd_edges(catch, OddEdges::default());
            self.edited(set)?;
            // What φs take where an exception comes.
            let from = self.bb.block_of(enter);
            let phis: Vec<InstId> = self.bb.phi_nodes(catch).map(|(id, _)| id).collect();
            for phi in phis {
                if let Some(Stmt::Phi(node)) = self.bb.stmt_mut(phi) {
                    node.entries.retain(|entry| entry.edge != Ids::virtual_block());
                    for entry in node.entries.iter_mut().filter(|entry| Some(entry.edge) == from) {
                        entry.edge = landing;
                    }
                }
            }
            self.landings.insert(enter, landing);
        }
        Ok(())
    }

    /// Makes the variable with the exception that is being handled. Where one is over it has again what it had when the
    /// handler was entered: what was being handled then, or anything.
    fn keep_exceptions(&mut self, regions: &Regions) -> Result<(), PassError> {
        let entered = self.bb.all_insts().find(|(id, _)| self.landings.contains_key(id));
        let Some(line) = entered.map(|(_, inst)| inst.line) else { return Ok(()) };
        let ty = self.lowering.exception.clone();
        let current = self.variable(ty.clone(), line)?;
        self.current = Some(current);
        let ends = self.bb.all_insts().filter_map(|(id, inst)| match &inst.stmt {
            Stmt::Expr(expr) if expr.head == Head::PopException => Some((id, ended(&expr.args)?)),
            _ => None,
        });
        let ends: Vec<_> = ends.filter(|(_, enter)| regions.is_entered_while_handling(*enter)).collect();
        let mut kept: HashMap<InstId, InstId> = HashMap::new();
        for (end, enter) in ends {
            let variable = match kept.get(&enter) {
                Some(variable) => *variable,
                None => {
                    let variable = self.variable(ty.clone(), line)?;
                    self.copy_before(enter, current, variable)?;
                    kept.insert(enter, variable);
                    variable
                }
            };
            self.copy_before(end, variable, current)?;
        }
        if !kept.is_empty() {
            let none =
                Stmt::call(Operand::global("Core", "ErrorException"), [Operand::Constant(Constant::String("".into()))]);
            let none = self.bb.insert_after(current, NewInstruction::new(none, ty).with_line(line));
            let none = self.edited(none)?;
            let set = own("slot_set!", [Operand::Value(current), Operand::Value(none)]);
            let set = self.bb.insert_after(none, NewInstruction::new(set, Type::Nothing).with_line(line));
            self.edited(set)?;
        }
        Ok(())
    }

    /// Puts the exception that is in one variable in another one, before a statement.
    fn copy_before(&mut self, at: InstId, from: InstId, to: InstId) -> Result<(), PassError> {
        let line = self.bb.inst(at).map_or(LineInfo::NONE, |inst| inst.line);
        let get = NewInstruction::new(own("slot_get", [Operand::Value(from)]), self.lowering.exception.clone());
        let got = self.bb.insert_before(at, get.with_line(line));
        let got = self.edited(got)?;
        let set = NewInstruction::new(own("slot_set!", [Operand::Value(to), Operand::Value(got)]), Type::Nothing);
        let set = self.bb.insert_before(at, set.with_line(line));
        self.edited(set).map(|_| ())
    }

    /// What gives the exception that is being handled; `at` is where that is asked for.
    fn current_exception(&self, at: InstId) -> Result<Stmt<Ids>, PassError> {
        let current = self.current.ok_or_else(|| self.error(at, "no exception is being handled here"))?;
        Ok(own("slot_get", [Operand::Value(current)]))
    }

    /// A new variable, which is there from the start.
    fn variable(&mut self, ty: Type, line: LineInfo) -> Result<InstId, PassError> {
        let of = Operand::Constant(Constant::of_type(ty.clone()));
        let new = NewInstruction::new(own("new_slot", [of]), Type::slot(ty)).with_line(line);
        let made = match self.bb.entry() {
            Some(entry) => match self.bb.phi_nodes(entry).last().map(|(id, _)| id) {
                Some(phi) => self.bb.insert_after(phi, new),
                None => self.bb.insert_at_start(entry, new),
            },
            None => return Err(PassError::new(NAME, self.function, "there is no block")),
        };
        self.edited(made)
    }

    fn put(&mut self, id: InstId, stmt: Stmt<Ids>) -> Result<(), PassError> {
        let replaced = self.bb.replace(id, stmt);
        self.edited(replaced).map(|_| ())
    }

    fn push(&mut self, block: BlockId, stmt: Stmt<Ids>, ty: Type, line: LineInfo) -> Result<InstId, PassError> {
        let pushed = self.bb.push(block, NewInstruction::new(stmt, ty).with_line(line));
        self.edited(pushed)
    }

    /// Cuts the blocks before each of these statements, which are in the order of the code, and gives the block that
    /// now ends before it and the one that begins with it.
    fn cut(&mut self, sites: &[Site]) -> Result<Vec<(BlockId, BlockId)>, PassError> {
        let mut cuts: Vec<(BlockId, BlockId)> = Vec::with_capacity(sites.len());
        // From the last one on, so that no statement moves twice.
        for site in sites.iter().rev() {
            let cut = self.bb.cut_block(site.inst);
            let (block, rest) = self.edited(cut)?;
            // What was cut off before begins behind this.
            if let Some((end, _)) = cuts.last_mut().filter(|(end, _)| *end == block) {
                *end = rest;
            }
            cuts.push((block, rest));
        }
        cuts.reverse();
        Ok(cuts)
    }

    /// Lets what a statement throws go where it is handled. `block` ends before it, `rest` begins with it.
    fn divert(&mut self, site: Site, block: BlockId, rest: BlockId) -> Result<(), PassError> {
        let id = site.inst;
        let Some(inst) = self.bb.inst(id).cloned() else { return Ok(()) };
        let line = inst.line;
        let mut ends = inst.ty == Type::Bottom;
        // What is called, the type of its result and of what it throws, and what then becomes of the statement.
        let (call, ty, throws, becomes) = match site.throws {
            Throws::Always | Throws::Again => {
                let exception = match (site.throws, inst.stmt.as_call()) {
                    (Throws::Always, Some((_, args))) => args.first().cloned(),
                    _ => {
                        let get = self.current_exception(id)?;
                        Some(Operand::Value(self.push(block, get, self.lowering.exception.clone(), line)?))
                    }
                };
                return self.leave(block, site.target, exception, line);
            }
            // What never returns throws, whatever that is, or the run does not go on.
            Throws::Unknown if ends && !self.lowering.carries => return self.leave(block, site.target, None, line),
            Throws::Unknown => {
                let message = "inside of try, this cannot be made a branch: nobody knows what it may throw";
                return Err(self.error(id, message));
            }
            Throws::Function(position) if !self.lowering.is_tried(position) => {
                let (name, result) = self.lowering.variant(position)?;
                let Some((_, args)) = inst.stmt.as_call() else { return Ok(()) };
                ends |= result == Type::Bottom;
                let call = Stmt::call(Operand::global("", &name), args.iter().cloned());
                (call, self.lowering.outcome(&result), self.lowering.exception.clone(), Some(result))
            }
            Throws::Primitive(_) | Throws::Undefined | Throws::Function(_) => {
                let tried = match site.throws {
                    Throws::Primitive(primitive) => Tried::Primitive(primitive),
                    Throws::Function(position) => {
                        Tried::Function(self.lowering.tried_twice(position, |message| self.error(id, message))?)
                    }
                    _ => Tried::Undefined,
                };
                let probe = probes::of(self.lowering, self.function, (&self.bb, self.original), id, &tried)?;
                let call = Stmt::call(Operand::global("", &probe.name), probe.args);
                (call, self.lowering.tried(), failure(), None)
            }
        };
        let outcome = self.push(block, call, ty, line)?;
        let thrown = match ends {
            true => block,
            false => {
                let threw = self.part(block, outcome, 1, Type::BOOL, line)?;
                let thrown = self.bb.push_block();
                let fine = Stmt::call(Operand::global("Base", "not_int"), [Operand::Value(threw)]);
                let fine = self.push(block, fine, Type::BOOL, line)?;
                self.push(block, Stmt::goto_if_not(Operand::Value(fine), thrown), Type::Any, line)?;
                let next = self.bb.set_next(block, Some(rest));
                self.edited(next)?;
                if let Some(result) = becomes {
                    self.take(id, outcome, result, inst.ty, line)?;
                }
                thrown
            }
        };
        let exception = match self.lowering.carries {
            true => Some(Operand::Value(self.part(thrown, outcome, 3, throws, line)?)),
            false => None,
        };
        self.leave(thrown, site.target, exception, line)
    }

    /// The part of an outcome of this number.
    fn part(&mut self, block: BlockId, of: InstId, number: i64, ty: Type, line: LineInfo) -> Result<InstId, PassError> {
        let get = Stmt::call(Operand::global("Core", "getfield"), [Operand::Value(of), number.into()]);
        self.push(block, get, ty, line)
    }

    /// Lets a call be the value in an outcome.
    fn take(&mut self, id: InstId, outcome: InstId, result: Type, ty: Type, line: LineInfo) -> Result<(), PassError> {
        let get = Stmt::call(Operand::global("Core", "getfield"), [Operand::Value(outcome), 2_i64.into()]);
        let (stood_for, is_own) = self.lowering.standing_in(&result);
        if is_own {
            return self.put(id, get);
        }
        let got = self.bb.insert_before(id, NewInstruction::new(get, stood_for).with_line(line));
        let got = self.edited(got)?;
        let ty = if ty.is_unknown() { result } else { ty };
        self.put(id, Stmt::pi(Operand::Value(got), ty))
    }

    /// Ends a block: an exception goes from there.
    fn leave(
        &mut self,
        block: BlockId,
        target: Target,
        exception: Option<Operand<Ids>>,
        line: LineInfo,
    ) -> Result<(), PassError> {
        match target {
            Target::Handler(enter) => {
                let Some(landing) = self.landings.get(&enter).copied() else { return Ok(()) };
                if let (Some(current), Some(exception)) = (self.current, exception) {
                    let set = own("slot_set!", [Operand::Value(current), exception]);
                    self.push(block, set, Type::Nothing, line)?;
                }
                self.push(block, Stmt::goto(landing), Type::Any, line)?;
            }
            Target::Caller => {
                let result = self.returns.clone().unwrap_or(Type::Bottom);
                let value = stand_in(self.lowering.module, &mut self.bb, block, &result, line);
                let value = self.edited(value)?;
                let (outcome, ty) = (self.outcome(true, value, exception), self.lowering.outcome(&result));
                let outcome = self.push(block, outcome, ty, line)?;
                self.push(block, Stmt::ret(Operand::Value(outcome)), Type::Any, line)?;
            }
            Target::Out => {
                let throw = Stmt::call(Operand::global("Core", "throw"), exception);
                self.push(block, throw, Type::Bottom, line)?;
                self.push(block, Stmt::unreachable(), Type::Any, line)?;
            }
        }
        Ok(())
    }

    /// What says whether the function threw, and what.
    fn outcome(&self, threw: bool, value: Operand<Ids>, exception: Option<Operand<Ids>>) -> Stmt<Ids> {
        let carried = self.lowering.carries.then(|| exception.unwrap_or_else(Operand::nothing));
        Stmt::call(Operand::global("Core", "tuple"), [threw.into(), value].into_iter().chain(carried))
    }

    /// Lets the function return what says that no exception came out of it.
    fn return_outcomes(&mut self) -> Result<(), PassError> {
        let result = self.returns.clone().unwrap_or(Type::Bottom);
        let ty = self.lowering.outcome(&result);
        let returns = self.bb.all_insts().filter_map(|(id, inst)| match &inst.stmt {
            Stmt::Return(ret) => Some((id, ret.value.clone()?, inst.line)),
            _ => None,
        });
        let returns: Vec<_> = returns.collect();
        for (id, value, line) in returns {
            let tuple = self.outcome(false, value, None);
            let made = self.bb.insert_before(id, NewInstruction::new(tuple, ty.clone()).with_line(line));
            let made = self.edited(made)?;
            self.put(id, Stmt::ret(Operand::Value(made)))?;
        }
        Ok(())
    }

    /// Makes variables of what ϒ statements store for φᶜs.
    fn pass_through_variables(&mut self) -> Result<(), PassError> {
        self.forget_what_is_never_assigned();
        let phis = self.bb.all_insts().filter_map(|(id, inst)| match &inst.stmt {
            Stmt::PhiC(phi) => {
                let stores: Vec<InstId> = phi.values.iter().filter_map(Operand::as_value).collect();
                Some((id, stores, inst.ty.clone(), inst.line))
            }
            _ => None,
        });
        let phis: Vec<_> = phis.collect();
        for (phi, stores, ty, line) in phis {
            // What may be missing is of its type where it is there.
            let slot = self.variable(ty.widened().unwrap_or(ty), line)?;
            self.stored.push(slot);
            for store in stores {
                let value = match self.bb.stmt(store) {
                    Some(Stmt::Upsilon(upsilon)) => upsilon.value.clone(),
                    _ => None,
                };
                if let Some(value) = value {
                    let set = own("slot_set!", [Operand::Value(slot), value]);
                    let set = self.bb.insert_before(store, NewInstruction::new(set, Type::Nothing).with_line(line));
                    self.edited(set)?;
                }
            }
            let block = self.bb.block_of(phi);
            let last = block.and_then(|block| self.bb.phi_nodes(block).last().map(|(id, _)| id));
            if last.is_some_and(|last| self.bb.comes_before(phi, last)) {
                return Err(self.error(phi, "φs stand behind this"));
            }
            self.put(phi, own("slot_get", [Operand::Value(slot)]))?;
        }
        Ok(())
    }

    /// Lets φs and ϒs that take what is never assigned take nothing. That is `nothing` instead: no value is of its type.
    fn forget_what_is_never_assigned(&mut self) {
        let is_never = |inst: &Instruction<Ids>| {
            let ty = inst.ty.widened().unwrap_or_else(|| inst.ty.clone());
            matches!(inst.stmt, Stmt::Phi(_) | Stmt::PhiC(_)) && ty == Type::Bottom
        };
        let never = self.bb.all_insts().filter(|(_, inst)| is_never(inst)).map(|(id, _)| id);
        let never: HashSet<InstId> = never.collect();
        if never.is_empty() {
            return;
        }
        let forget = |value: &mut Option<Operand<Ids>>| {
            *value = value.take().filter(|value| value.as_value().is_none_or(|value| !never.contains(&value)));
        };
        for id in self.bb.all_insts().map(|(id, _)| id).collect::<Vec<_>>() {
            let Some(inst) = self.bb.inst_mut(id) else { continue };
            match &mut inst.stmt {
                Stmt::Phi(phi) => phi.entries.iter_mut().for_each(|entry| forget(&mut entry.value)),
                Stmt::Upsilon(upsilon) => forget(&mut upsilon.value),
                _ => {}
            }
            if never.contains(&id) {
                inst.ty = Type::Nothing;
            }
        }
    }

    /// Removes what enters and leaves handlers.
    fn remove_handlers(&mut self) -> Result<(), PassError> {
        let gone = |stmt: &Stmt<Ids>| match stmt {
            Stmt::Enter(_) | Stmt::Upsilon(_) => true,
            Stmt::Expr(expr) => matches!(expr.head, Head::Leave | Head::PopException | Head::TheException),
            _ => false,
        };
        let gone: Vec<InstId> = self.bb.all_insts().filter(|(_, inst)| gone(&inst.stmt)).map(|(id, _)| id).collect();
        let names: HashSet<InstId> = gone.iter().copied().collect();
        let mut used: HashSet<InstId> = HashSet::new();
        for (_, inst) in self.bb.all_insts().filter(|(id, _)| !names.contains(id)) {
            inst.stmt.for_each_use(|value| used.extend(names.get(&value)));
        }
        for id in gone {
            // A token may be used where it means nothing.
            if used.contains(&id) {
                if let Some(inst) = self.bb.inst_mut(id) {
                    (inst.stmt, inst.ty) = (Stmt::nothing(), Type::Nothing);
                }
                continue;
            }
            // One that is said never to return ends its block. (The type of a ϒ is that of its value, which may be none.)
            let ends = |inst: &Instruction<Ids>| inst.ty == Type::Bottom && matches!(inst.stmt, Stmt::Expr(_));
            if self.bb.inst(id).is_some_and(ends) && self.bb.next_inst(id).is_none() {
                if let Some(inst) = self.bb.inst_mut(id) {
                    (inst.stmt, inst.ty) = (Stmt::unreachable(), Type::Any);
                }
                continue;
            }
            let removed = self.bb.remove_unchecked(id);
            self.edited(removed)?;
        }
        self.bb.fill_empty_blocks();
        Ok(())
    }
}

/// A call of one of our primitives.
fn own<const N: usize>(name: &str, args: [Operand<Ids>; N]) -> Stmt<Ids> {
    Stmt::call(Operand::global("BBKit", name), args)
}
