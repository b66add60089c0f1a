//! What the derivative of a function consists of: which blocks run backwards, what the forward pass saves for them, and
//! how that travels.

use std::sync::Arc;

use bbcode::{BBCode, BlockGraph, BlockId, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{DomTree, LoopForest};
use ircode::{Argument, LineInfo, Module, Name, Operand, ScalarType, Stmt, Type, TypeDef, method_of};
use slotmap::SecondaryMap;

use super::NAME;
use super::activity::{Activity, Derivative};
use super::tangent::tangent_type;
use crate::PassError;
use crate::infer_types::returned_type;
use crate::rules::RuleTable;

/// The names of what belongs to the derivative of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivativeNames {
    /// The forward pass: `f_fwd(args…) -> (value, trace)`.
    pub forward: Name,
    /// The pullback: `f_pb(trace, seed) -> (nothing, cotangents of the arguments…)`.
    pub pullback: Name,
    /// Both: `f_value_and_gradient(args…) -> (value, cotangents of the arguments…)`.
    pub value_and_gradient: Name,
    /// The type of the trace.
    pub trace: Name,
}

impl DerivativeNames {
    /// The names for the function of this name.
    pub fn of(function: &str) -> Self {
        let base = match method_of(function) {
            _ if function.is_empty() => "listing".into(),
            Some(of) => plain_name(function, of),
            None => function.to_string(),
        };
        DerivativeNames {
            forward: format!("{base}_fwd").into(),
            pullback: format!("{base}_pb").into(),
            value_and_gradient: format!("{base}_value_and_gradient").into(),
            trace: format!("{base}_trace").into(),
        }
    }
}

/// A name for the method `Main.f(::Float64, ::Int64)` that needs no quoting: `f_Float64_Int64`.
fn plain_name(method: &str, of: &str) -> String {
    let last = of.rsplit('.').next().unwrap_or(of);
    let types = method.strip_prefix(of).unwrap_or_default();
    let words = last.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.chain(types.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    if name.starts_with(|c: char| c.is_alphabetic()) { name } else { format!("method_{name}") }
}

/// What the forward pass hands to the pullback.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Saved {
    /// The value of a statement.
    Value(InstId),
    /// The trace of the call that a statement is.
    Trace(InstId),
}

/// How what a block saves travels.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Carrier {
    /// The block runs exactly once, before every return: the values are fields of the trace.
    Fields(Vec<usize>),
    /// A stack, which is a field of the trace: each run of the block pushes once, a tuple if there are several values.
    Stack(usize),
}

/// What a block saves.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Saves {
    pub(super) items: Vec<Saved>,
    pub(super) types: Vec<Type>,
    pub(super) carrier: Carrier,
}

/// What the reverse of a block gets of what was saved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) item: Saved,
    /// The number of the block that saved it, and the place of the item among those that it saves.
    pub(super) saver: usize,
    pub(super) position: usize,
    /// The line of the first statement that needs it.
    pub(super) line: LineInfo,
}

/// A function that is to be differentiated, and what was found out about it.
pub(super) struct Plan<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) names: DerivativeNames,
    /// The function, without unreachable blocks.
    pub(super) primal: BBCode,
    pub(super) parameters: Vec<Option<Name>>,
    pub(super) graph: Arc<BlockGraph>,
    pub(super) loops: LoopForest,
    pub(super) activity: Activity,
    /// Blocks from which a return is reached, by number.
    pub(super) relevant: Vec<bool>,
    /// The blocks that return, by number.
    pub(super) returns: Vec<usize>,
    /// Whether the block records that control left it, by number.
    pub(super) records: Vec<bool>,
    /// What each block saves, by number.
    pub(super) saves: Vec<Option<Saves>>,
    /// What the reverse of each block needs of that, by number, each item once.
    pub(super) loads: Vec<Vec<Load>>,
    /// Values that may be undefined at the end of the block that computes them: φs of which an edge has no value. Only
    /// a block that uses such a value can save it.
    maybe_undefined: SecondaryMap<InstId, ()>,
    /// The arguments that the pullback needs, with their fields in the trace.
    pub(super) saved_arguments: Vec<(Argument, usize)>,
    /// The fields of the trace.
    pub(super) fields: Vec<(Name, Type)>,
    /// The field of the stack of blocks, if any block records.
    pub(super) block_stack: Option<usize>,
    /// The field that says which block returned, if several can.
    pub(super) exit: Option<usize>,
    /// The type of the result.
    pub(super) result: Type,
}

impl<'a> Plan<'a> {
    /// Plans the derivative of a function. `primal` is its body with what it comes from in its lines.
    pub(super) fn new(
        module: &'a Module<BBCode>,
        name: &Name,
        mut primal: BBCode,
        declared_result: &Type,
        parameters: Vec<Option<Name>>,
        rules: &RuleTable,
    ) -> Result<Plan<'a>, PassError> {
        primal.remove_unreachable_blocks();
        for (id, inst) in primal.all_insts() {
            let message = match inst.stmt {
                Stmt::Enter(_) => "a function with try/catch cannot be differentiated in reverse mode",
                Stmt::PhiC(_) | Stmt::Upsilon(_) => "φᶜ and ϒ, which belong to try/catch, cannot be differentiated",
                _ => continue,
            };
            return Err(PassError::new(NAME, name, message).at(&primal, id));
        }
        let activity = Activity::of(module, name, &primal, rules)?;
        let graph = primal.cfg();
        let domtree = graph.dominators();
        let loops = graph.loops();
        let count = graph.order().len();
        let returned = |number: &usize| {
            let terminator = graph.block(*number).and_then(|block| primal.terminator(block));
            matches!(terminator.map(|(_, inst)| &inst.stmt), Some(Stmt::Return(ret)) if ret.value.is_some())
        };
        let returns: Vec<usize> = (0..count).filter(returned).collect();
        let unique = graph.unique_predecessors(&primal);
        let records = graph
            .order()
            .iter()
            .map(|&block| graph.successors(block).next().is_some() && !unique.is_unique_predecessor(block));
        let inferred = returned_type(&primal);
        let result = if declared_result.is_unknown() { inferred } else { declared_result.clone() };
        let mut plan = Plan {
            module,
            names: DerivativeNames::of(name),
            parameters,
            relevant: backward_reachable(&graph, &returns),
            returns,
            records: records.collect(),
            saves: vec![None; count],
            loads: vec![Vec::new(); count],
            maybe_undefined: maybe_undefined(&primal, &graph),
            saved_arguments: Vec::new(),
            fields: Vec::new(),
            block_stack: None,
            exit: None,
            result,
            activity,
            graph,
            loops,
            primal,
        };
        plan.choose_carriers(&domtree);
        Ok(plan)
    }

    /// The block of this number, which exists.
    pub(super) fn block(&self, number: usize) -> Option<BlockId> {
        self.graph.block(number)
    }

    /// The relevant blocks, in layout order.
    pub(super) fn relevant_blocks(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.relevant.len()).filter(|&number| self.relevant[number])
    }

    /// The φs of a block whose values are active.
    pub(super) fn active_phis(&self, number: usize) -> impl Iterator<Item = InstId> + '_ {
        self.block(number).into_iter().flat_map(|block| {
            let phis = self.primal.phi_nodes(block).map(|(id, _)| id);
            phis.filter(|id| self.activity.derivative(*id).is_some())
        })
    }

    /// The different predecessors of a block, in layout order.
    pub(super) fn predecessors(&self, number: usize) -> Vec<usize> {
        let mut preds: Vec<usize> = self.graph.graph().predecessors(number).collect();
        preds.sort_unstable();
        preds.dedup();
        preds
    }

    /// The type of the cotangent of the result, if it has one.
    pub(super) fn seed_type(&self) -> Option<ScalarType> {
        tangent_type(&self.result)
    }

    /// The types of the cotangents of the arguments, `_1` first.
    pub(super) fn cotangent_types(&self) -> Vec<Type> {
        cotangent_types(&self.primal.argtypes)
    }

    /// The declaration of the trace's type.
    pub(super) fn trace_def(&self) -> TypeDef {
        TypeDef::structure(self.names.trace.clone(), self.fields.iter().cloned())
    }

    /// The type of the trace.
    pub(super) fn trace_type(&self) -> Type {
        Type::named(self.names.trace.clone())
    }

    /// Whether the forward pass needs a block before the entry: where stacks are made, and from which control comes only
    /// once.
    pub(super) fn needs_preheader(&self) -> bool {
        let has_stack = self.fields.iter().any(|(_, ty)| matches!(ty, Type::Stack(_)));
        has_stack || self.graph.graph().predecessors(0).len() > 0
    }

    /// Whether the entry of the function can be entered again, so that the block before it counts among its
    /// predecessors.
    pub(super) fn entry_has_predecessors(&self) -> bool {
        self.graph.graph().predecessors(0).len() > 0
    }

    /// Whether a block may run more than once, so that its stack needs a cursor.
    pub(super) fn repeats(&self, number: usize) -> bool {
        self.loops.innermost(number).is_some()
    }

    /// Whether the block's reverse has to look at the stack of blocks for where control came from.
    pub(super) fn pops_block_stack(&self, number: usize) -> bool {
        match self.predecessors(number).as_slice() {
            [] => false,
            [pred] if number != 0 => self.records[*pred],
            _ => true,
        }
    }

    /// The block that saves what a statement of block `user` needs.
    fn saving_block(&self, item: Saved, user: usize) -> usize {
        let (Saved::Value(id) | Saved::Trace(id)) = item;
        if self.maybe_undefined.contains_key(id) {
            return user;
        }
        self.primal.block_of(id).and_then(|block| self.graph.number(block)).unwrap_or(user)
    }

    fn add_field(&mut self, name: String, ty: Type) -> usize {
        self.fields.push((name.into(), ty));
        self.fields.len() - 1
    }

    /// Finds what the pullback needs of the forward pass, and how each part travels.
    fn choose_carriers(&mut self, domtree: &DomTree) {
        let mut items: Vec<Vec<Saved>> = vec![Vec::new(); self.relevant.len()];
        let mut arguments = Vec::new();
        let mut positions: HashMap<(usize, Saved), usize> = HashMap::new();
        let mut loads = Vec::new();
        for number in 0..self.relevant.len() {
            let mut loaded: HashSet<Saved> = HashSet::new();
            let mut of_block = Vec::new();
            let block = self.block(number).filter(|_| self.relevant[number]);
            for (id, inst) in block.into_iter().flat_map(|block| self.primal.insts(block)) {
                self.for_each_need(id, |need| match need {
                    Need::Argument(argument) => arguments.push(argument),
                    Need::Saved(item) if loaded.insert(item) => {
                        let saver = self.saving_block(item, number);
                        let position = *positions.entry((saver, item)).or_insert_with(|| {
                            items[saver].push(item);
                            items[saver].len() - 1
                        });
                        of_block.push(Load { item, saver, position, line: inst.line });
                    }
                    Need::Saved(_) => {}
                });
            }
            loads.push(of_block);
        }
        self.loads = loads;
        arguments.sort_unstable();
        arguments.dedup();
        for argument in arguments {
            let ty = self.primal.operand_type(&Operand::Argument(argument));
            let field = self.add_field(format!("argument{}", argument.0), ty);
            self.saved_arguments.push((argument, field));
        }
        for (number, items) in items.into_iter().enumerate() {
            let types: Vec<Type> = items.iter().map(|item| self.saved_type(*item)).collect();
            if items.is_empty() {
                continue;
            }
            let once = !self.repeats(number) && self.returns.iter().all(|&ret| domtree.dominates(number, ret));
            let carrier = if once {
                let field =
                    |(i, ty): (usize, &Type)| self.add_field(format!("block{}_{}", number + 1, i + 1), ty.clone());
                Carrier::Fields(types.iter().enumerate().map(field).collect())
            } else {
                let element = match types.as_slice() {
                    [only] => only.clone(),
                    several => Type::tuple(several.iter().cloned()),
                };
                Carrier::Stack(self.add_field(format!("block{}", number + 1), Type::stack(element)))
            };
            self.saves[number] = Some(Saves { items, types, carrier });
        }
        let records = self.relevant_blocks().any(|number| self.pops_block_stack(number));
        if records {
            self.block_stack = Some(self.add_field("blocks".into(), Type::stack(Type::INT64)));
        }
        if self.returns.len() > 1 {
            self.exit = Some(self.add_field("exit".into(), Type::INT64));
        }
    }
}

/// The types of the cotangents of arguments of these types, `_1` first: `Nothing` where there is none.
pub(super) fn cotangent_types(argtypes: &[Type]) -> Vec<Type> {
    let cotangent = |(index, ty): (usize, &Type)| match tangent_type(ty) {
        Some(float) if index > 0 => Type::from(float),
        _ => Type::Nothing,
    };
    argtypes.iter().enumerate().map(cotangent).collect()
}

/// Which blocks reach one of `targets`.
fn backward_reachable(graph: &BlockGraph, targets: &[usize]) -> Vec<bool> {
    let mut reached = vec![false; graph.order().len()];
    let mut work = targets.to_vec();
    for &target in targets {
        reached[target] = true;
    }
    while let Some(number) = work.pop() {
        for pred in graph.graph().predecessors(number) {
            if !std::mem::replace(&mut reached[pred], true) {
                work.push(pred);
            }
        }
    }
    reached
}

/// What the reverse of a statement needs of the forward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Argument(Argument),
    Saved(Saved),
}

impl Plan<'_> {
    /// Visits what the reverse of a statement needs of the forward pass.
    fn for_each_need(&self, id: InstId, mut visit: impl FnMut(Need)) {
        match self.activity.derivative(id) {
            Some(Derivative::Rule { rule, args, wanted, .. }) => {
                let slice = rule.slice(wanted);
                let used = |parameter: usize| slice.parameters.get(parameter) == Some(&true);
                for (_, arg) in args.iter().enumerate().filter(|(i, _)| used(i + 1)) {
                    match arg {
                        Operand::Value(value) => visit(Need::Saved(Saved::Value(*value))),
                        Operand::Argument(argument) => visit(Need::Argument(*argument)),
                        _ => {}
                    }
                }
                if used(args.len() + 1) {
                    visit(Need::Saved(Saved::Value(id)));
                }
            }
            Some(Derivative::Call { .. }) => visit(Need::Saved(Saved::Trace(id))),
            Some(Derivative::Copy(_) | Derivative::Phi) | None => {}
        }
    }

    fn saved_type(&self, item: Saved) -> Type {
        match item {
            Saved::Value(id) => self.primal.operand_type(&Operand::Value(id)),
            Saved::Trace(id) => match self.activity.derivative(id) {
                Some(Derivative::Call { function, .. }) => {
                    let callee = self.module.functions().get(*function).map_or("", |callee| &callee.name);
                    Type::named(DerivativeNames::of(callee).trace)
                }
                _ => Type::Untyped,
            },
        }
    }
}

/// The φs that have no value on some edge, and the copies and φs of them.
fn maybe_undefined(bb: &BBCode, graph: &BlockGraph) -> SecondaryMap<InstId, ()> {
    let mut found: SecondaryMap<InstId, ()> = SecondaryMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (number, &block) in graph.order().iter().enumerate() {
            for (id, inst) in bb.insts(block) {
                let undefined =
                    |operand: &Operand<bbcode::Ids>| operand.as_value().is_some_and(|value| found.contains_key(value));
                let open = match &inst.stmt {
                    Stmt::Phi(phi) => {
                        let has_value = |pred: usize| {
                            let entry = phi.entries.iter().find(|entry| graph.number(entry.edge) == Some(pred));
                            entry.and_then(|entry| entry.value.as_ref()).is_some_and(|value| !undefined(value))
                        };
                        !graph.graph().predecessors(number).all(has_value)
                    }
                    Stmt::Value(operand) => undefined(operand),
                    Stmt::Pi(pi) => undefined(&pi.value),
                    _ => false,
                };
                if open && found.insert(id, ()).is_none() {
                    changed = true;
                }
            }
        }
    }
    found
}
