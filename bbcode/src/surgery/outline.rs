//! Making a function of a region.

use hashbrown::{HashMap, HashSet};
use ircode::{
    Argument, Function, Head, Instruction, Name, NewInstruction, Operand, PhiEntries, PhiEntry, PhiNode, Stmt, Type,
};

use super::ClonedRegion;
use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// A region that has become a function of its own.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The function: it takes what the region used from outside, in order of first use, and returns what was used of
    /// the region outside, in order of definition — `nothing`, the value, or a tuple of the values.
    pub function: Function<BBCode>,
    /// The call in its place.
    pub call: InstId,
    /// The names of the region's blocks and statements in the function.
    pub names: ClonedRegion,
}

/// What is known of a region before anything is changed.
struct Plan {
    region: Vec<BlockId>,
    inside: HashSet<BlockId>,
    entry: BlockId,
    exit: BlockId,
    /// The blocks outside from which control comes in, each once.
    outside_preds: Vec<BlockId>,
    outputs: Vec<InstId>,
}

/// Where control comes into a region and leaves it.
struct Boundary {
    entry: BlockId,
    exit: BlockId,
    /// The blocks outside from which control comes in, each once.
    outside_preds: Vec<BlockId>,
}

/// What the function takes from outside, in order of first use.
#[derive(Default)]
struct Inputs {
    operands: Vec<Operand<Ids>>,
    values: HashMap<InstId, Argument>,
    arguments: HashMap<Argument, Argument>,
}

impl Inputs {
    fn add(&mut self, operand: &Operand<Ids>) {
        let next = Argument::from_index(self.operands.len() + 1);
        let known = match operand {
            Operand::Value(value) => *self.values.entry(*value).or_insert(next),
            Operand::Argument(argument) => *self.arguments.entry(*argument).or_insert(next),
            _ => return,
        };
        if known == next {
            self.operands.push(operand.clone());
        }
    }

    fn argument(&self, operand: &Operand<Ids>) -> Option<Argument> {
        match operand {
            Operand::Value(value) => self.values.get(value).copied(),
            Operand::Argument(argument) => self.arguments.get(argument).copied(),
            _ => None,
        }
    }
}

/// The region when control comes in by one block.
struct Entered<'p> {
    plan: &'p Plan,
    /// That block, in which the call will stand.
    before: BlockId,
    /// What the region's first φs take from outside.
    merged: HashMap<InstId, Operand<Ids>>,
    /// The φs behind the region that take something on the edges from there.
    exit_phis: Vec<(InstId, Instruction<Ids>)>,
    inputs: Inputs,
}

/// The body of the function.
struct Body {
    body: BBCode,
    names: ClonedRegion,
    /// The types of what it returns: the outputs, then what the φs behind the region take.
    results: Vec<Type>,
}

impl BBCode {
    /// Makes a function of blocks, and puts a call of it in their place. Control must come in at one block only and
    /// leave to one block only. Takes time linear in the function.
    ///
    /// What is called is looked up by `name`: the function that this gives has to be added to the module
    /// ([`Module::add_function`](ircode::Module::add_function)), under a name that nothing else there has, neither a
    /// function nor a primitive.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_function;
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// function sum(n::Int64)::Int64
    /// 1 ─      goto #2
    /// 2 ┄ %2 = φ (#1 => 0, #3 => %6)::Int64
    /// │   %3 = φ (#1 => 0, #3 => %7)::Int64
    /// │   %4 = Base.slt_int(%3, n)::Bool
    /// └──      goto #4 if not %4
    /// 3 ─ %6 = Base.add_int(%2, %3)::Int64
    /// │   %7 = Base.add_int(%3, 1)::Int64
    /// └──      goto #2
    /// 4 ─      return %2
    /// end")?.body)?;
    /// let blocks: Vec<_> = bb.blocks().collect();
    /// let outlined = bb.outline("sum_loop", &[blocks[1], blocks[2]])?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %1  = goto #5
    /// 5 ─ %10 = sum_loop(_2)::Int64
    /// └── %11 = goto #4
    /// 4 ─ %9  = return %10
    /// ");
    /// assert_eq!(bbcode::print_function(&outlined.function), "\
    /// function sum_loop(_2::Int64)::Int64
    /// 1 ─ %1 = goto #2
    /// 2 ┄ %2 = φ (#1 => 0, #3 => %6)::Int64
    /// │   %3 = φ (#1 => 0, #3 => %7)::Int64
    /// │   %4 = Base.slt_int(%3, _2)::Bool
    /// │   %5 = goto #4 if not %4
    /// └── next #3
    /// 3 ─ %6 = Base.add_int(%2, %3)::Int64
    /// │   %7 = Base.add_int(%3, 1)::Int64
    /// └── %8 = goto #2
    /// 4 ─ %9 = return %2
    /// end
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchBlock`]; [`EditError::NotOutlinable`] if the region is empty, holds the function's entry, a
    /// return, or part of a `try`, uses static parameters, is entered at several blocks, or leaves to none or to
    /// several; also where a value that goes in or comes out [may be undefined](BBCode::maybe_undefined), as arguments
    /// and results are read.
    pub fn outline(&mut self, name: impl Into<Name>, region: &[BlockId]) -> Result<Outlined, EditError> {
        let mut edit = self.transaction();
        edit.ensure_phis_named();
        let plan = edit.plan_outlining(region)?;
        let outlined = edit.outline_as_planned(name.into(), &plan)?;
        if let Err(violations) = edit.verify().and_then(|()| outlined.function.body.verify())
            && let Some(first) = violations.0.into_iter().next()
        {
            return Err(EditError::NotValid(Box::new(first)));
        }
        edit.commit();
        Ok(outlined)
    }

    fn plan_outlining(&self, region: &[BlockId]) -> Result<Plan, EditError> {
        if region.is_empty() {
            return not_outlinable("there are none");
        }
        for &block in region {
            self.block(block).ok_or(EditError::NoSuchBlock(block))?;
        }
        let inside: HashSet<BlockId> = region.iter().copied().collect();
        let region: Vec<BlockId> = self.blocks().filter(|block| inside.contains(block)).collect();
        if self.entry().is_some_and(|entry| inside.contains(&entry)) {
            return not_outlinable("they hold the entry of the function");
        }
        let Boundary { entry, exit, outside_preds } = self.boundary(&region, &inside)?;
        // What is not reached may be as it likes, which a function may not.
        if !self.dominators().is_reachable(entry) {
            return not_outlinable("control does not come in");
        }
        for (_, inst) in region.iter().flat_map(|&block| self.insts(block)) {
            check_outlinable(&inst.stmt)?;
        }
        let cfg = self.cfg();
        let exits = region.iter().filter(|&&block| cfg.successors(block).any(|succ| succ == exit)).count();
        self.check_defined(&inside, [(entry, false, outside_preds.len()), (exit, true, exits)])?;
        let outputs = self.used_outside(&inside, entry, exit);
        let order = region.iter().flat_map(|&block| self.inst_ids(block));
        let outputs: Vec<InstId> = order.filter(|id| outputs.contains(id)).collect();
        let undefined = self.maybe_undefined();
        if outputs.iter().chain(&self.passed(&inside, entry, exit)).any(|id| undefined.contains_key(*id)) {
            return not_outlinable("a value that goes in or comes out may be undefined");
        }
        Ok(Plan { region, inside, entry, exit, outside_preds, outputs })
    }

    /// Where control comes into a region and leaves it, if it does so at one block each and by jumps alone.
    fn boundary(&self, region: &[BlockId], inside: &HashSet<BlockId>) -> Result<Boundary, EditError> {
        let cfg = self.cfg();
        let (mut entry, mut exit, mut outside_preds) = (None, None, Vec::new());
        for &block in region {
            if self.has_odd_edges(block) {
                return not_outlinable("they have edges that no terminator implies");
            }
            for pred in cfg.predecessors(block).filter(|pred| !inside.contains(pred)) {
                if entry.replace(block).is_some_and(|other| other != block) {
                    return not_outlinable("control comes in at more than one block");
                }
                if outside_preds.last() != Some(&pred) {
                    outside_preds.push(pred);
                }
            }
            for succ in cfg.successors(block).filter(|succ| !inside.contains(succ)) {
                if exit.replace(succ).is_some_and(|other| other != succ) {
                    return not_outlinable("control leaves to more than one block");
                }
            }
        }
        let Some(entry) = entry else { return not_outlinable("control does not come in") };
        let Some(exit) = exit else { return not_outlinable("control does not leave") };
        if outside_preds.iter().any(|&pred| self.check_edge(pred, entry).is_err()) {
            return not_outlinable("an exception leads to them");
        }
        Ok(Boundary { entry, exit, outside_preds })
    }

    /// Refuses φs where control comes in or leaves that have a value on some of the edges only: an argument and a
    /// result are used, which a φ that is undefined must not be. For each block: whether the edges are those from
    /// inside, and how many there are.
    fn check_defined(&self, inside: &HashSet<BlockId>, blocks: [(BlockId, bool, usize); 2]) -> Result<(), EditError> {
        for (block, mine, count) in blocks {
            for phi in self.phi_nodes(block).filter_map(|(_, inst)| inst.stmt.as_phi()) {
                let from = phi.entries.iter().filter(|entry| inside.contains(&entry.edge) == mine);
                let defined = from.clone().filter(|entry| entry.value.is_some()).count();
                if from.count() != defined || (defined != 0 && defined != count) {
                    return not_outlinable("a φ where control comes in or leaves is not defined on every edge");
                }
            }
        }
        Ok(())
    }

    /// The values of a region that are used outside of it. What the φs at its exit take on edges from inside is merged
    /// in the function, and so is what those of its entry take there.
    fn used_outside(&self, inside: &HashSet<BlockId>, entry: BlockId, exit: BlockId) -> HashSet<InstId> {
        let mut used = HashSet::new();
        for (id, inst) in self.all_insts() {
            let user = self.block_of(id);
            match &inst.stmt {
                Stmt::Phi(phi) if user == Some(exit) || user == Some(entry) => {
                    let outside = phi.entries.iter().filter(|entry| !inside.contains(&entry.edge));
                    used.extend(outside.filter_map(|entry| self.value_inside(entry.value.as_ref(), inside)));
                }
                stmt if !user.is_some_and(|user| inside.contains(&user)) => stmt.for_each_operand(&mut |operand| {
                    used.extend(self.value_inside(Some(operand), inside));
                }),
                _ => {}
            }
        }
        used
    }

    /// The values that become arguments of the function, or that the φs behind the region take from it.
    fn passed(&self, inside: &HashSet<BlockId>, entry: BlockId, exit: BlockId) -> Vec<InstId> {
        let mut passed = Vec::new();
        for &block in inside {
            for (_, inst) in self.insts(block) {
                inst.stmt.for_each_use(|value| {
                    if !self.block_of(value).is_some_and(|block| inside.contains(&block)) {
                        passed.push(value);
                    }
                });
            }
        }
        for (block, mine) in [(entry, false), (exit, true)] {
            for phi in self.phi_nodes(block).filter_map(|(_, inst)| inst.stmt.as_phi()) {
                let taken = phi.entries.iter().filter(|entry| inside.contains(&entry.edge) == mine);
                passed.extend(taken.filter_map(|entry| entry.value.as_ref()?.as_value()));
            }
        }
        passed
    }

    fn value_inside(&self, operand: Option<&Operand<Ids>>, inside: &HashSet<BlockId>) -> Option<InstId> {
        let value = operand?.as_value()?;
        self.block_of(value).is_some_and(|block| inside.contains(&block)).then_some(value)
    }

    fn outline_as_planned(&mut self, name: Name, plan: &Plan) -> Result<Outlined, EditError> {
        let (before, merged) = self.merge_entry(plan)?;
        let mut exit_phis: Vec<(InstId, Instruction<Ids>)> = Vec::new();
        for (id, inst) in self.phi_nodes(plan.exit) {
            let mut edges = inst.stmt.as_phi().into_iter().flat_map(|phi| phi.entries.iter().map(|entry| entry.edge));
            if edges.any(|edge| plan.inside.contains(&edge)) {
                exit_phis.push((id, inst.clone()));
            }
        }
        let inputs = self.inputs(plan, &merged, &exit_phis);
        let entered = Entered { plan, before, merged, exit_phis, inputs };
        let Body { body, names, results } = self.outlined_body(&name, &entered)?;
        let result = match results.as_slice() {
            [] => Type::Nothing,
            [only] => only.clone(),
            several => Type::tuple(several.iter().cloned().map(Type::or_any)),
        };
        let function = Function::new(name, result, body);
        let call = self.call_outlined(&function, &results, entered)?;
        for &block in &plan.region {
            self.remove_block_unchecked(block)?;
        }
        Ok(Outlined { function, call, names })
    }

    /// Makes one block from which control comes in, and there φs of what the region's first φs take from outside: these
    /// by the first φs.
    fn merge_entry(&mut self, plan: &Plan) -> Result<(BlockId, HashMap<InstId, Operand<Ids>>), EditError> {
        let before = self.insert_block_before(plan.entry)?;
        let mut merged: HashMap<InstId, Operand<Ids>> = HashMap::new();
        let entry_phis: Vec<(InstId, Instruction<Ids>)> =
            self.phi_nodes(plan.entry).map(|(id, inst)| (id, inst.clone())).collect();
        for (id, inst) in &entry_phis {
            let Stmt::Phi(phi) = &inst.stmt else { continue };
            let outside = phi.entries.iter().filter(|entry| !plan.inside.contains(&entry.edge)).cloned();
            let entries: PhiEntries<Ids> = outside.collect();
            let value = match entries.as_slice() {
                [] => continue,
                [PhiEntry { value: Some(value), .. }] if self.value_inside(Some(value), &plan.inside).is_none() => {
                    value.clone()
                }
                _ => {
                    let phi = NewInstruction::new(Stmt::Phi(PhiNode { entries }), inst.ty.clone());
                    Operand::Value(self.push(before, phi.with_line(inst.line))?)
                }
            };
            merged.insert(*id, value);
        }
        for &pred in &plan.outside_preds {
            self.retarget_unchecked(pred, plan.entry, before);
        }
        Ok((before, merged))
    }

    /// What the region, and the φs behind it on the edges from there, take from elsewhere.
    fn inputs(
        &self,
        plan: &Plan,
        merged: &HashMap<InstId, Operand<Ids>>,
        exit_phis: &[(InstId, Instruction<Ids>)],
    ) -> Inputs {
        let mut inputs = Inputs::default();
        let mut add = |operand: &Operand<Ids>| {
            if self.value_inside(Some(operand), &plan.inside).is_none() {
                inputs.add(operand);
            }
        };
        for &block in &plan.region {
            for (id, inst) in self.insts(block) {
                match &inst.stmt {
                    Stmt::Phi(phi) if block == plan.entry => {
                        merged.get(&id).into_iter().for_each(&mut add);
                        let own = phi.entries.iter().filter(|entry| plan.inside.contains(&entry.edge));
                        own.filter_map(|entry| entry.value.as_ref()).for_each(&mut add);
                    }
                    stmt => stmt.for_each_operand(&mut add),
                }
            }
        }
        for phi in exit_phis.iter().filter_map(|(_, inst)| inst.stmt.as_phi()) {
            let own = phi.entries.iter().filter(|entry| plan.inside.contains(&entry.edge));
            own.filter_map(|entry| entry.value.as_ref()).for_each(&mut add);
        }
        inputs
    }

    /// The region as the body of a function, between a first block and a last one that returns the outputs and what the
    /// φs behind the region take.
    fn outlined_body(&self, name: &Name, entered: &Entered<'_>) -> Result<Body, EditError> {
        let Entered { plan, before, merged, exit_phis, inputs } = entered;
        let mut argtypes = vec![Type::function(name.clone())];
        argtypes.extend(inputs.operands.iter().map(|input| self.operand_type(input)));
        let mut body = BBCode { debuginfo: self.debuginfo.clone(), julia: self.julia, ..BBCode::new(argtypes) };
        let (start, mut names) = (body.push_block(), ClonedRegion::default());
        for &block in &plan.region {
            names.blocks.insert(block, body.push_block());
        }
        let end = body.push_block();
        let goto = NewInstruction::new(Stmt::goto(names.block(plan.entry)), Type::Any);
        body.push(start, goto.with_line(self.last_line(*before)))?;
        for &block in &plan.region {
            for (id, inst) in self.insts(block) {
                names.insts.insert(id, body.append_unchecked(names.block(block), inst.clone()));
            }
        }
        let inner = |operand: &Operand<Ids>| match operand {
            Operand::Value(value) if names.insts.contains(*value) => names.operand(operand),
            Operand::Value(_) | Operand::Argument(_) => {
                inputs.argument(operand).map_or_else(|| operand.clone(), Operand::Argument)
            }
            other => other.clone(),
        };
        for &block in &plan.region {
            let new = names.block(block);
            for (old, id) in self.inst_ids(block).zip(body.inst_ids(new).collect::<Vec<_>>()) {
                let Some(inst) = body.inst_mut(id) else { continue };
                if let Stmt::Phi(phi) = &mut inst.stmt {
                    if block == plan.entry {
                        phi.entries.retain(|entry| plan.inside.contains(&entry.edge));
                    }
                    for entry in &mut phi.entries {
                        entry.edge = names.block(entry.edge);
                    }
                    if let Some(value) = merged.get(&old) {
                        phi.entries.insert(0, PhiEntry { edge: start, value: Some(value.clone()) });
                    }
                }
                inst.stmt.for_each_target_mut(|target| {
                    *target = names.blocks.get(target).copied().unwrap_or(end);
                });
                inst.stmt.for_each_operand_mut(&mut |operand| *operand = inner(operand));
            }
            let next = self.next(block).map(|next| names.blocks.get(&next).copied().unwrap_or(end));
            body.set_next(new, next)?;
        }
        let outputs = plan.outputs.iter().map(|output| Operand::Value(*output));
        let (mut returned, mut results): (Vec<Operand<Ids>>, Vec<Type>) =
            outputs.map(|output| (inner(&output), self.operand_type(&output))).unzip();
        for (_, inst) in exit_phis {
            let Stmt::Phi(phi) = &inst.stmt else { continue };
            let own = phi.entries.iter().filter(|entry| plan.inside.contains(&entry.edge));
            let entries: PhiEntries<Ids> = own
                .map(|entry| PhiEntry { edge: names.block(entry.edge), value: entry.value.as_ref().map(&inner) })
                .collect();
            let phi = NewInstruction::new(Stmt::Phi(PhiNode { entries }), inst.ty.clone()).with_line(inst.line);
            returned.push(Operand::Value(body.push(end, phi)?));
            results.push(inst.ty.clone());
        }
        let value = match returned.as_slice() {
            [] => Operand::nothing(),
            [only] => only.clone(),
            _ => {
                let tuple = Stmt::call(Operand::global("Core", "tuple"), returned);
                Operand::Value(
                    body.push(end, NewInstruction::new(tuple, Type::tuple(results.iter().cloned().map(Type::or_any))))?,
                )
            }
        };
        body.push(end, NewInstruction::new(Stmt::ret(value), Type::Any))?;
        Ok(Body { body, names, results })
    }

    /// Calls the function where control came in, goes on where it left, and takes from the result what was taken from
    /// the region.
    fn call_outlined(
        &mut self,
        function: &Function<BBCode>,
        results: &[Type],
        entered: Entered<'_>,
    ) -> Result<InstId, EditError> {
        let Entered { plan, before, exit_phis, inputs, .. } = entered;
        let line = self.last_line(plan.region.first().copied().unwrap_or(before));
        let call = Stmt::call(Operand::global("", &function.name), inputs.operands);
        let call = self.push(before, NewInstruction::new(call, function.result.clone()).with_line(line))?;
        let mut parts: Vec<Operand<Ids>> = Vec::new();
        for (index, ty) in results.iter().enumerate() {
            parts.push(match results.len() {
                1 => Operand::Value(call),
                _ => {
                    let number = Operand::from(i64::try_from(index + 1).unwrap_or(0));
                    let field = Stmt::call(Operand::global("Core", "getfield"), [Operand::Value(call), number]);
                    Operand::Value(self.push(before, NewInstruction::new(field, ty.clone()).with_line(line))?)
                }
            });
        }
        self.push(before, NewInstruction::new(Stmt::goto(plan.exit), Type::Any).with_line(line))?;
        let by_output: HashMap<InstId, Operand<Ids>> =
            plan.outputs.iter().copied().zip(parts.iter().cloned()).collect();
        self.for_each_operand_mut(|operand| {
            if let Some(part) = operand.as_value().and_then(|value| by_output.get(&value)) {
                *operand = part.clone();
            }
        });
        for ((id, _), part) in exit_phis.iter().zip(parts.iter().skip(plan.outputs.len())) {
            if let Some(Stmt::Phi(phi)) = self.stmt_mut(*id) {
                phi.entries.retain(|entry| !plan.inside.contains(&entry.edge));
                phi.entries.push(PhiEntry { edge: before, value: Some(part.clone()) });
            }
        }
        Ok(call)
    }
}

fn not_outlinable<T>(because: &str) -> Result<T, EditError> {
    Err(EditError::NotOutlinable(because.into()))
}

/// Refuses a statement that must stay in its function.
fn check_outlinable(stmt: &Stmt<Ids>) -> Result<(), EditError> {
    match stmt {
        Stmt::Return(ret) if ret.value.is_some() => return not_outlinable("one of them returns"),
        Stmt::Enter(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => return not_outlinable("they hold part of a `try`"),
        Stmt::Expr(expr) => match expr.head {
            Head::Leave | Head::PopException | Head::TheException => {
                return not_outlinable("they hold part of a `try`");
            }
            Head::StaticParameter => return not_outlinable("they use a static parameter"),
            Head::GcPreserveBegin | Head::GcPreserveEnd => return not_outlinable("they keep objects alive"),
            _ => {}
        },
        _ => {}
    }
    let mut nested = false;
    stmt.for_each_operand(&mut |operand| {
        if let Operand::Nested(stmt) = operand {
            nested |= matches!(&**stmt, Stmt::Expr(expr) if expr.head == Head::StaticParameter);
        }
    });
    if nested { not_outlinable("they use a static parameter") } else { Ok(()) }
}
