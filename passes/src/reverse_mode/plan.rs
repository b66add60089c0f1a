//! What the derivative of a function consists of: which blocks run backwards, what the forward pass saves for them, and
//! how that travels.

use std::sync::Arc;

use bbcode::{BBCode, BlockGraph, BlockId, EditError, InstId};
use hashbrown::HashMap;
use ircode::graph::{DomTree, LoopForest};
use ircode::{Argument, LineInfo, Name, Operand, Stmt, Type, TypeDef};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::activity::{Activity, Subject};
use super::at_hand::AtHand;
use super::contents;
use super::derivation::{Called, Derivation, DerivativeNames, Prepared};
use super::fields::MOST_SLOT_WORK;
use super::inductions::{Inductions, Scope};
use super::linear_maps::rule_pullbacks::RulePullback;
use super::linear_maps::traces::Traces;
use super::objects::Class;
use super::operation::Operation;
use super::recompute::{Facts, Recomputation, Recomputed};
use super::recompute_in_block;
use super::same_loads::same_loads;
use super::saved::Saved;
use super::sharing::External;
use super::ways::Ways;
use super::{Carrier, NAME};
use crate::PassError;
use crate::tangents::Tangent;

/// How what a block saves travels.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Travel {
    /// The block runs exactly once, before every return: the values are fields of the trace.
    Fields(Vec<usize>),
    /// The block runs once or not at all: the values are fields of the trace, zeros if it did not run.
    Slots(Vec<usize>),
    /// A stack, which is a field of the trace: each run of the block pushes once, a tuple if there are several values.
    Stack(usize),
    /// The linear-map tuple, along the edge that control takes out of the block.
    Edge,
}

/// What a block saves.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Saves {
    pub(super) items: Vec<Saved>,
    pub(super) types: Vec<Type>,
    pub(super) travel: Travel,
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

/// What the pullback gets of an argument.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SavedArgument {
    pub(super) argument: Argument,
    /// Whether it is the shadow, and not the value.
    pub(super) shadow: bool,
}

/// A function that is to be differentiated, and what was found out about it.
pub(super) struct Plan<'a> {
    pub(super) derivation: &'a Derivation<'a>,
    pub(super) names: DerivativeNames,
    pub(super) carrier: Carrier,
    /// Which linear-map tuples travel where.
    pub(super) traces: Traces,
    /// The pullbacks of what has a rule, for linear maps.
    pub(super) rule_pullbacks: SecondaryMap<InstId, RulePullback>,
    /// By argument, `_1` first: whether the function is differentiated with respect to it.
    pub(super) wanted: Vec<bool>,
    /// The function, without unreachable blocks.
    pub(super) primal: Arc<BBCode>,
    pub(super) parameters: Vec<Option<Name>>,
    pub(super) graph: Arc<BlockGraph>,
    pub(super) loops: LoopForest,
    domtree: Arc<DomTree>,
    pub(super) activity: Arc<Activity>,
    /// What a rule would compute, and the function has computed.
    pub(super) at_hand: AtHand,
    /// Which ways control takes, and how that is found on the way back.
    pub(super) ways: Ways,
    /// Integers that run backwards.
    pub(super) inductions: Inductions,
    /// What each block saves, by number.
    pub(super) saves: Vec<Option<Saves>>,
    /// What the reverse of each block needs of that, by number, each item once.
    pub(super) loads: Vec<Vec<Load>>,
    /// What the reverse of each block computes from that, by number, in order.
    pub(super) recomputed: Vec<Vec<InstId>>,
    /// What the reverse of each block uses of what is got in the reverse of another, by number.
    pub(super) elsewhere: Vec<Vec<(Saved, usize)>>,
    /// Loads that give again what another one gave, with that.
    same_loads: SecondaryMap<InstId, InstId>,
    /// Values that may be undefined at the end of the block that computes them: φs of which an edge has no value. Only
    /// a block that uses such a value can save it.
    maybe_undefined: SecondaryMap<InstId, ()>,
    /// What the pullback needs of the arguments, with the fields in the trace.
    pub(super) saved_arguments: Vec<(SavedArgument, usize)>,
    /// The fields of the trace.
    pub(super) fields: Vec<(Name, Type)>,
    /// The field of the stack of blocks, if any block records.
    pub(super) block_stack: Option<usize>,
    /// The field that says which block returned, if several can.
    pub(super) exit: Option<usize>,
    /// The field that says whether the pullback was called, if it can be called only once.
    pub(super) used: Option<usize>,
    /// Whether the pullback may put back what is in objects that the function makes: it can be called once then.
    once: bool,
    /// Whether less would be saved if it might.
    pub(super) better_once: bool,
    /// By class of objects that were there before: those that may be the same.
    sharing: HashMap<Class, SmallVec<[Class; 2]>>,
    /// Classes of objects whose contents the pullback reads.
    contents_needed: Vec<bool>,
    /// Classes of objects that are copied, or made by a rule, as a whole.
    lengths_needed: Vec<bool>,
    /// The type of the result.
    pub(super) result: Type,
}

impl<'a> Plan<'a> {
    /// The other classes that objects of this one may be of, as arguments may be one object.
    pub(super) fn sharing(&self, class: Class) -> &[Class] {
        self.sharing.get(&class).map_or(&[], SmallVec::as_slice)
    }

    /// What is found out about a function that is to be differentiated with respect to the arguments that are wanted;
    /// what its passes hand to each other, [`decide`](Plan::decide) decides. `once` says that the pullback is called
    /// only once for each forward pass.
    pub(super) fn new(
        derivation: &'a Derivation<'a>,
        name: &Name,
        names: DerivativeNames,
        prepared: &Prepared,
        wanted: Vec<bool>,
        parameters: Vec<Option<Name>>,
        once: bool,
    ) -> Result<Plan<'a>, PassError> {
        let primal = prepared.body.clone();
        let subject = Subject {
            module: derivation.module,
            name,
            bb: &primal,
            tangents: &derivation.tangents,
            summaries: &derivation.summaries,
            wanted: &wanted,
        };
        let activity = match prepared.activity.get().filter(|(of, _)| *of == wanted) {
            Some((_, known)) => known.clone(),
            None => {
                let found = Arc::new(Activity::of(&subject, prepared.operations.clone())?);
                // Another signature may have been first.
                let _ = prepared.activity.set((wanted.clone(), found.clone()));
                found
            }
        };
        let graph = primal.cfg();
        let domtree = Arc::new(graph.dominators());
        let loops = graph.loops();
        let count = graph.order().len();
        let carrier = derivation.carrier;
        let ways = Ways::new(&primal, &graph, &loops, carrier, derivation.savings.conditions);
        let traces = match carrier {
            Carrier::Stacks => Traces::default(),
            Carrier::LinearMaps => Traces::new(&loops, &domtree, &ways.relevant, &names.forward),
        };
        let maybe_undefined = primal.maybe_undefined();
        let scope = Scope {
            module: derivation.module,
            bb: &primal,
            graph: &graph,
            loops: &loops,
            domtree: &domtree,
            undefined: &maybe_undefined,
        };
        let inductions = Inductions::new(&scope, &ways.counted, derivation.savings);
        let external = External::of(derivation.module, &primal, &activity.objects);
        let sharing = external.others(derivation.shared_arguments(name));
        let mut plan = Plan {
            derivation,
            names,
            carrier,
            traces,
            rule_pullbacks: SecondaryMap::new(),
            wanted,
            parameters,
            at_hand: AtHand::of(derivation.module, &primal),
            ways,
            inductions,
            saves: vec![None; count],
            loads: vec![Vec::new(); count],
            recomputed: vec![Vec::new(); count],
            elsewhere: vec![Vec::new(); count],
            same_loads: SecondaryMap::new(),
            maybe_undefined,
            saved_arguments: Vec::new(),
            fields: Vec::new(),
            block_stack: None,
            exit: None,
            used: None,
            once,
            better_once: false,
            sharing,
            contents_needed: vec![false; activity.objects.bound()],
            lengths_needed: vec![false; activity.objects.bound()],
            result: prepared.result.clone(),
            activity,
            graph,
            loops,
            domtree,
            primal,
        };
        // What is reversed follows from these, and so what is called.
        plan.find_needed_contents();
        plan.find_needed_lengths();
        if carrier == Carrier::LinearMaps {
            plan.make_rule_pullbacks().map_err(|error| PassError::because(NAME, name, error))?;
        }
        Ok(plan)
    }

    /// Decides what the forward pass hands to the pullback, and how: before either is generated, and once.
    pub(super) fn decide(&mut self) {
        self.same_loads = same_loads(self);
        let domtree = self.domtree.clone();
        self.choose_carriers(&domtree);
        if self.carrier == Carrier::LinearMaps {
            self.find_informative_traces();
        }
    }

    /// The block of this number, which exists.
    pub(super) fn block(&self, number: usize) -> Option<BlockId> {
        self.graph.block(number)
    }

    /// The φs of a block whose values are active.
    pub(super) fn active_phis(&self, number: usize) -> impl Iterator<Item = InstId> + '_ {
        self.block(number).into_iter().flat_map(|block| {
            let phis = self.primal.phi_nodes(block).map(|(id, _)| id);
            phis.filter(|id| self.activity.is_active_value(*id))
        })
    }

    /// The different predecessors of a block, in layout order.
    pub(super) fn predecessors(&self, number: usize) -> Vec<usize> {
        let mut preds: Vec<usize> = self.graph.graph().predecessors(number).collect();
        preds.sort_unstable();
        preds.dedup();
        preds
    }

    /// The tangent of the result.
    pub(super) fn result_tangent(&self) -> Tangent {
        self.derivation.tangents.of(&self.result)
    }

    /// The tangents of the wanted arguments, `_1` first; none for the others.
    pub(super) fn argument_tangents(&self) -> Vec<Tangent> {
        self.derivation.argument_tangents(&self.primal.argtypes, &self.wanted)
    }

    /// The arguments whose shadows the forward pass takes, in order.
    pub(super) fn shadowed_arguments(&self) -> Vec<(Argument, Tangent)> {
        let tangents = self.argument_tangents().into_iter().enumerate();
        let shadows = tangents.map(|(index, tangent)| (Argument::from_index(index), tangent.shadow()));
        shadows.filter(|(_, shadow)| !shadow.is_none()).collect()
    }

    /// The arguments that are not wanted, but whose class is active: what is stored in them may be read again.
    pub(super) fn scratch_arguments(&self) -> Vec<(Argument, Tangent)> {
        let taken = self.shadowed_arguments();
        let arguments = (0..self.primal.argtypes.len()).map(Argument::from_index);
        let others = arguments.filter(|argument| taken.iter().all(|(other, _)| other != argument));
        let shadows = others.map(|argument| (argument, self.activity.shadow(&Operand::Argument(argument))));
        shadows.filter(|(_, shadow)| !shadow.is_none()).collect()
    }

    /// The types of the cotangents of the arguments, `_1` first.
    pub(super) fn cotangent_types(&self) -> Vec<Type> {
        self.argument_tangents().iter().map(|tangent| tangent.cotangent().ty()).collect()
    }

    /// The declaration of the trace's type.
    pub(super) fn trace_def(&self) -> TypeDef {
        TypeDef::structure(self.names.trace.clone(), self.fields.iter().cloned())
    }

    /// The type of what the forward pass returns beside the value: the trace, or the pullback.
    pub(super) fn trace_type(&self) -> Type {
        match self.carrier {
            Carrier::Stacks => Type::named(self.names.trace.clone()),
            Carrier::LinearMaps => {
                Type::closure([self.result_tangent().cotangent().ty()], Type::tuple(self.cotangent_types()))
            }
        }
    }

    /// Whether the forward pass needs a block before the entry: where stacks and slots are made, and from which control
    /// comes only once.
    pub(super) fn needs_preheader(&self) -> bool {
        let has_stack = self.fields.iter().any(|(_, ty)| matches!(ty, Type::Stack(_)));
        let has_slot = self.slots().next().is_some();
        has_stack || has_slot || self.graph.graph().predecessors(0).len() > 0 || !self.scratch_arguments().is_empty()
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
        self.ways.pops_block_stack(number, &self.predecessors(number))
    }

    fn make_rule_pullbacks(&mut self) -> Result<(), EditError> {
        for number in 0..self.ways.relevant.len() {
            let Some(block) = self.block(number).filter(|_| self.ways.relevant[number]) else { continue };
            for id in self.primal.inst_ids(block) {
                if let Some(pullback) = self.rule_pullback(id)? {
                    self.rule_pullbacks.insert(id, pullback);
                }
            }
        }
        Ok(())
    }

    /// The block that saves what a statement of block `user` needs.
    fn saving_block(&self, item: Saved, user: usize) -> usize {
        let Some(id) = item.statement().filter(|id| self.has_own_saver(*id)) else { return user };
        self.primal.block_of(id).and_then(|block| self.graph.number(block)).unwrap_or(user)
    }

    /// Whether what is saved of a statement is saved by the block that has it.
    fn has_own_saver(&self, id: InstId) -> bool {
        // What travels along edges is found in the order in which the blocks run backwards.
        self.carrier == Carrier::Stacks && !self.maybe_undefined.contains_key(id)
    }

    fn add_field(&mut self, name: String, ty: Type) -> usize {
        self.fields.push((name.into(), ty));
        self.fields.len() - 1
    }

    /// Finds what the pullback needs of the forward pass, and how each part travels.
    fn choose_carriers(&mut self, domtree: &DomTree) {
        let mut items: Vec<Vec<Saved>> = vec![Vec::new(); self.ways.relevant.len()];
        let mut positions: HashMap<(usize, Saved), usize> = HashMap::new();
        // Of values, which only their own block saves, most are saved.
        let mut of_values: SecondaryMap<InstId, u32> = SecondaryMap::new();
        let Recomputed { loaded, computed, elsewhere, mut arguments, .. } = match self.carrier {
            Carrier::Stacks => self.decide_saves(domtree),
            Carrier::LinearMaps => recompute_in_block::decide(self),
        };
        (self.recomputed, self.elsewhere) = (computed, elsewhere);
        self.loads = loaded
            .into_iter()
            .enumerate()
            .map(|(number, loaded)| {
                let load = |(item, line): (Saved, LineInfo)| {
                    let saver = self.saving_block(item, number);
                    let mut save = || {
                        items[saver].push(item);
                        items[saver].len() - 1
                    };
                    let position = match item {
                        Saved::Value(id) if self.has_own_saver(id) => match of_values.get(id) {
                            Some(&position) => position as usize,
                            None => {
                                let position = save();
                                of_values.insert(id, position as u32);
                                position
                            }
                        },
                        _ => *positions.entry((saver, item)).or_insert_with(save),
                    };
                    Load { item, saver, position, line }
                };
                loaded.into_iter().map(load).collect()
            })
            .collect();
        arguments.sort_unstable();
        arguments.dedup();
        for saved in arguments {
            let operand = Operand::Argument(saved.argument);
            let (kind, ty) = match saved.shadow {
                true => ("shadow", self.activity.shadow(&operand).ty()),
                false => ("argument", self.primal.operand_type(&operand)),
            };
            let field = self.add_field(format!("{kind}{}", saved.argument.0), ty);
            self.saved_arguments.push((saved, field));
        }
        let mut slots_left = MOST_SLOT_WORK / self.ways.relevant.len().max(1);
        for (number, items) in items.into_iter().enumerate() {
            let types: Vec<Type> = items.iter().map(|item| self.saved_type(*item)).collect();
            if items.is_empty() {
                continue;
            }
            let at_most_once = !self.repeats(number);
            let once = at_most_once && self.ways.returns.iter().all(|&ret| domtree.dominates(number, ret));
            let fields = |plan: &mut Self| -> Vec<usize> {
                let names = (1..).map(|place| format!("block{}_{place}", number + 1));
                names.zip(&types).map(|(name, ty)| plan.add_field(name, ty.clone())).collect()
            };
            let travel = if self.carrier == Carrier::LinearMaps {
                Travel::Edge
            } else if once {
                Travel::Fields(fields(self))
            } else if at_most_once && types.iter().all(|ty| matches!(ty, Type::Scalar(_))) && types.len() <= slots_left
            {
                slots_left -= types.len();
                Travel::Slots(fields(self))
            } else {
                let element = match types.as_slice() {
                    [only] => only.clone(),
                    several => Type::tuple(several.iter().cloned()),
                };
                Travel::Stack(self.add_field(format!("block{}", number + 1), Type::stack(element)))
            };
            self.saves[number] = Some(Saves { items, types, travel });
        }
        for index in 0..self.ways.counted.len() {
            let header = self.ways.counted[index].header;
            if self.inductions.control(header).is_some() {
                continue;
            }
            let once = self.ways.counted[index].exits.iter().all(|&exit| !self.repeats(exit));
            let ty = if once && slots_left > 0 { Type::INT64 } else { Type::stack(Type::INT64) };
            slots_left = slots_left.saturating_sub(usize::from(once));
            self.ways.counted[index].field = self.add_field(format!("count{}", header + 1), ty);
        }
        let records = self.ways.relevant_blocks().any(|number| self.pops_block_stack(number));
        if records && self.carrier == Carrier::Stacks {
            self.block_stack = Some(self.add_field("blocks".into(), Type::stack(Type::INT64)));
        }
        if self.ways.returns.len() > 1 {
            self.exit = Some(self.add_field("exit".into(), Type::INT64));
        }
        if self.undoes() {
            self.used = Some(self.add_field("used".into(), Type::Ref(Arc::new(Type::BOOL))));
        }
    }
}

impl Plan<'_> {
    /// Decides what is saved and what is computed again, and which objects are put back for that.
    fn decide_saves(&mut self, domtree: &DomTree) -> Recomputed {
        let facts = Facts::new(self, domtree);
        self.find_conditions(domtree, &facts);
        let decided = self.decide_with_inductions(&facts);
        if !self.derivation.savings.contents || !self.derivation.savings.recompute {
            return decided;
        }
        let put_back = contents::worth_putting_back(self, &decided);
        if put_back.is_empty() || !self.once {
            self.better_once = !put_back.is_empty();
            return decided;
        }
        for class in put_back {
            if let Some(needed) = self.contents_needed.get_mut(class) {
                *needed = true;
            }
        }
        self.decide_with_inductions(&facts)
    }

    /// Decides what is saved and what is computed again, and which variables run backwards for that.
    ///
    /// Where such a variable starts is needed where control leaves its loop, so that it may take others, but only of
    /// loops around that: there are at most as many rounds as loops around each other are looked at for variables.
    fn decide_with_inductions(&mut self, facts: &Facts) -> Recomputed {
        loop {
            let decided = Recomputation::new(self, facts).decide();
            let mut more = false;
            for &index in &decided.running {
                more |= self.inductions.make_used(index);
            }
            if !more {
                return decided;
            }
        }
    }

    /// Whether a value may be undefined at the end of the block that computes it.
    pub(super) fn may_be_undefined(&self, id: InstId) -> bool {
        self.maybe_undefined.contains_key(id)
    }

    /// What a value is only another name of: a copy, a π of a constant, a φ of a block to which control comes from one
    /// other, or what was just read from the same place.
    pub(super) fn copied(&self, id: InstId) -> Option<Operand<bbcode::Ids>> {
        if let Some(first) = self.same_loads.get(id) {
            return Some(Operand::Value(*first));
        }
        match self.primal.stmt(id)? {
            Stmt::Value(of) if !matches!(of, Operand::Global(_) | Operand::Nested(_)) => Some(of.clone()),
            Stmt::Pi(pi) => Some(pi.value.clone()).filter(|of| matches!(of, Operand::Constant(_))),
            Stmt::Phi(phi) => {
                let number = self.graph.number(self.primal.block_of(id)?)?;
                match (self.predecessors(number).as_slice(), phi.entries.as_slice()) {
                    ([pred], [entry]) if number != 0 && self.graph.number(entry.edge) == Some(*pred) => {
                        entry.value.clone()
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether places of this type always hold a value, so that it can be read before it was set.
    pub(super) fn is_plain(&self, ty: &Type) -> bool {
        self.derivation.module.is_bits_type(ty) == Some(true)
    }

    /// The derivative that the call that a statement is calls.
    pub(super) fn called(&self, id: InstId) -> Option<Called> {
        let Operation::Call { function, args } = self.activity.operation(id) else { return None };
        let active = |arg: &Operand<bbcode::Ids>| !self.activity.cotangent(arg).is_none() || self.has_shadow(arg);
        let wanted = std::iter::once(false).chain(args.iter().map(active)).collect();
        self.derivation.called(*function, wanted)
    }

    /// Whether anything that the function returns depends on the wanted arguments.
    pub(super) fn result_varies(&self) -> bool {
        self.ways.returns.iter().any(|&number| {
            let terminator = self.block(number).and_then(|block| self.primal.terminator(block));
            match terminator.map(|(_, inst)| &inst.stmt) {
                Some(Stmt::Return(ret)) => ret.value.as_ref().is_some_and(|value| self.activity.is_varied(value)),
                _ => false,
            }
        })
    }

    /// Whether the pullback takes back changes of memory, so that it finds that memory changed if it is called again.
    fn undoes(&self) -> bool {
        let blocks = self.ways.relevant_blocks().filter_map(|number| self.block(number));
        blocks.flat_map(|block| self.primal.inst_ids(block)).any(|id| match self.activity.operation(id) {
            Operation::Call { function, args } => {
                let restored =
                    |arg: &Operand<bbcode::Ids>| self.activity.objects.class(arg).is_some() && self.restores(arg);
                self.is_reversed(id) && self.derivation.summaries.get(*function).writes && args.iter().any(restored)
            }
            Operation::Rule { rule, args, .. } => {
                rule.changes_first() && args.first().is_some_and(|first| self.restores(first))
            }
            // Their reverses take from the shadow what they added: a second time it is not there.
            Operation::Resize { object, kind, .. } if self.has_shadow(object) => !self.stays_longer(object, *kind),
            Operation::StackPop { stack } if self.has_shadow(stack) => true,
            Operation::Append { object, .. } if self.has_shadow(object) && self.takes_back_length(object) => true,
            operation => operation.changed_object().is_some_and(|object| self.restores(object)),
        })
    }

    /// Whether the pullback works on objects of the class as a whole.
    pub(super) fn needs_length(&self, class: usize) -> bool {
        self.lengths_needed.get(class) == Some(&true)
    }

    /// Finds the objects on which the pullback works as a whole.
    fn find_needed_lengths(&mut self) {
        if self.lengths_needed.is_empty() {
            return;
        }
        for number in 0..self.ways.relevant.len() {
            let Some(block) = self.block(number).filter(|_| self.ways.relevant[number]) else { continue };
            for id in self.primal.inst_ids(block) {
                let result = Operand::Value(id);
                let whole: Vec<&Operand<bbcode::Ids>> = match self.activity.operation(id) {
                    Operation::Rule { args, .. } => args.iter().chain([&result]).collect(),
                    Operation::CopyObject(source) => vec![source, &result],
                    // What is taken from the shadow is the last of it.
                    Operation::StackPop { stack } => vec![stack],
                    Operation::Whole { object, from, .. } => std::iter::once(object).chain(from).collect(),
                    // What is put back has its place.
                    Operation::Resize { object, rest, kind } if self.keeps_shadow_of_removed(object, rest, *kind) => {
                        vec![object]
                    }
                    _ => continue,
                };
                for class in whole.into_iter().filter_map(|operand| self.activity.objects.class(operand)) {
                    if let Some(needed) = self.lengths_needed.get_mut(class) {
                        *needed = true;
                    }
                }
            }
        }
    }

    /// Whether the pullback reads objects of the class.
    pub(super) fn reads_contents(&self, class: usize) -> bool {
        self.contents_needed.get(class) == Some(&true)
    }

    /// Finds the objects whose contents are needed on the way back: rules read them, or the pullbacks of calls work on
    /// them.
    fn find_needed_contents(&mut self) {
        if self.contents_needed.is_empty() {
            return;
        }
        let mut touching: Vec<Vec<InstId>> = vec![Vec::new(); self.contents_needed.len()];
        let mut work: Vec<InstId> = Vec::new();
        for number in 0..self.ways.relevant.len() {
            let Some(block) = self.block(number).filter(|_| self.ways.relevant[number]) else { continue };
            for id in self.primal.inst_ids(block) {
                let (Operation::Rule { args, .. } | Operation::Call { args, .. }) = self.activity.operation(id) else {
                    continue;
                };
                work.push(id);
                for class in args.iter().filter_map(|arg| self.activity.objects.class(arg)) {
                    if let Some(list) = touching.get_mut(class).filter(|list| list.last() != Some(&id)) {
                        list.push(id);
                    }
                }
            }
        }
        while let Some(id) = work.pop() {
            let read = match self.activity.operation(id) {
                Operation::Rule { rule, bindings, args } => self.read_by_rule(id, (rule, bindings), args),
                // The pullback of what is called may read again what is in its arguments.
                Operation::Call { args, .. } if self.is_reversed(id) => {
                    args.iter().cloned().chain([Operand::Value(id)]).collect()
                }
                _ => continue,
            };
            for class in read.iter().filter_map(|operand| self.activity.objects.class(operand)) {
                let Some(needed) = self.contents_needed.get_mut(class).filter(|needed| !**needed) else { continue };
                *needed = true;
                // What only changes objects of this class back is reversed now, and may read others.
                work.append(&mut touching[class]);
            }
        }
    }
}
