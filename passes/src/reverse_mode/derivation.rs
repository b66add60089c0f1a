//! Deriving a function and all that it calls: what was prepared, what is to be made, and what it is called.

use std::cell::{OnceCell, RefCell};
use std::sync::{Arc, OnceLock};

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Body, Callee, DerivativeKind, Function, LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::activity::Activity;
use super::counted;
use super::linear_maps::normal_form;
use super::linear_maps::rule_pullbacks::RulePullbacks;
use super::operation::{Classifier, Operation};
use super::sharing::Sharing;
use super::summary::Summaries;
use super::{Carrier, NAME, Savings};
use crate::analyses::failing::{failing_statements, phi_from_outside};
use crate::analyses::{changed_globals, changing_rules};
use crate::derivative_entries::RegisteredDerivatives;
use crate::differentiation::base_names::{BaseNames, base_name};
use crate::differentiation::dispatch::{self, Candidate};
use crate::differentiation::preparation::{OpenArithmetic, by_its_rule, prepared_body};
use crate::differentiation::signatures::Signature;
use crate::differentiation::witnesses::given_derivative;
use crate::infer_types::returned_type;
use crate::manager::Context;
use crate::rules::{RuleKind, RuleTable};
use crate::tangents::{Tangent, TangentTypes};
use crate::{
    PassError, PassErrorKind, array_scalar_replacement, common_subexpressions, constant_folding, copy_propagation,
    dead_code, jump_threading, loop_unrolling, scalar_promotion, simplify_cfg,
};

/// The names of what belongs to the derivative of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivativeNames {
    /// The forward pass: `f_fwd(args…, shadows…) -> (value, trace)`, or `(value, shadow, trace)`.
    pub forward: Name,
    /// The pullback: `f_pb(trace, seed) -> (nothing, cotangents of the arguments…)`.
    pub pullback: Name,
    /// Both: `f_value_and_gradient(args…) -> (value, gradient…)`.
    pub value_and_gradient: Name,
    /// Both, for any result: `f_value_and_vjp(args…, seed) -> (value, gradient…)`.
    pub vjp: Name,
    /// Both, for any result, with the gradient added into memory of the caller: `f_accumulate_gradient(args…, seed,
    /// shadows…) -> (value, cotangents…)`. The shadows are of the wanted arguments whose type holds something with
    /// identity, in order, as the forward pass takes them: for a `Vector{Float64}` a `Vector{Float64}`. An object that
    /// is in several arguments must come with one shadow. To them is added what changes of their objects do to the
    /// result; of an object that the function changes, the shadow holds the cotangent of its final contents before, and
    /// that of its first contents then. No shadow may be an array that the function reads; where the function fails,
    /// shadows may hold part of the gradient. The cotangents are those of the arguments from `_2` on, `nothing` for
    /// what has none or is in a shadow.
    pub accumulate_gradient: Name,
    /// The type of the trace.
    pub trace: Name,
}

impl DerivativeNames {
    /// The names for the function of this name, with respect to all its arguments that have tangents.
    pub fn of(function: &str) -> Self {
        Self::with_base(&base_name(function))
    }

    /// The names for the function of this name, with respect to some of its arguments, by their numbers.
    pub fn with_respect_to(function: &str, arguments: &[usize]) -> Self {
        Self::with_base(&with_numbers(&base_name(function), arguments))
    }

    /// The names that begin with this, given which of the function's arguments have tangents, and which are wanted;
    /// `_1` first.
    pub(super) fn for_arguments(base: &str, has_tangents: impl IntoIterator<Item = bool>, wanted: &[bool]) -> Self {
        let mut tangents = has_tangents.into_iter().enumerate();
        let all = tangents.all(|(index, has)| index == 0 || has == (wanted.get(index) == Some(&true)));
        if all && wanted.first() != Some(&true) {
            return Self::with_base(base);
        }
        let wanted = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        let numbers: Vec<usize> = wanted.map(|(index, _)| index + 1).collect();
        Self::with_base(&with_numbers(base, &numbers))
    }

    /// The names for the carrier of linear maps, of which those of the forward pass and of the pullback differ.
    #[must_use]
    pub fn carried_by(self, carrier: Carrier) -> Self {
        let base = self.forward.strip_suffix("_fwd").unwrap_or(&self.forward);
        match carrier {
            Carrier::Stacks => self,
            Carrier::LinearMaps => DerivativeNames {
                forward: format!("{base}_vjp").into(),
                pullback: format!("{base}_pullback").into(),
                ..self
            },
        }
    }

    /// Those of a forward pass of which the pullback is called once, and that are not kept.
    pub(super) fn once(&self) -> Self {
        let once = |name: &Name| format!("{name}_once").into();
        DerivativeNames {
            forward: once(&self.forward),
            pullback: once(&self.pullback),
            trace: once(&self.trace),
            ..self.clone()
        }
    }

    fn with_base(base: &str) -> Self {
        DerivativeNames {
            forward: format!("{base}_fwd").into(),
            pullback: format!("{base}_pb").into(),
            value_and_gradient: format!("{base}_value_and_gradient").into(),
            vjp: format!("{base}_value_and_vjp").into(),
            accumulate_gradient: format!("{base}_accumulate_gradient").into(),
            trace: format!("{base}_trace").into(),
        }
    }
}

/// What names begin with of derivatives with respect to the arguments of these numbers.
fn with_numbers(base: &str, arguments: &[usize]) -> String {
    let numbers: String = arguments.iter().map(|number| format!("_{number}")).collect();
    format!("{base}_wrt{numbers}")
}

/// A function made ready to be differentiated.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The body: slots are values, generic arithmetic is intrinsics, types and callees are known as far as they follow,
    /// every block is reachable, every statement remembers which one of the original it comes from, and arguments that
    /// a callee collects stand in a tuple.
    pub(super) body: Arc<BBCode>,
    /// What its statements do.
    pub(super) operations: Arc<SecondaryMap<InstId, Operation>>,
    /// The type of what it returns.
    pub(super) result: Type,
    /// What was found about it, with respect to the arguments for which that was first asked: plans for one signature
    /// share it.
    pub(super) activity: OnceLock<(Vec<bool>, Arc<Activity>)>,
}

/// Thunks, each once, in the order in which they were first needed.
#[derive(Debug, Default)]
pub(crate) struct Thunks {
    names: RefCell<HashSet<Name>>,
    made: RefCell<Vec<Function<BBCode>>>,
}

impl Thunks {
    pub(crate) fn add(&self, thunks: Vec<Function<BBCode>>) {
        let new = thunks.into_iter().filter(|thunk| self.names.borrow_mut().insert(thunk.name.clone()));
        self.made.borrow_mut().extend(new);
    }

    pub(crate) fn take(&self) -> Vec<Function<BBCode>> {
        self.made.take()
    }
}

/// The derivative that a call calls.
#[derive(Clone, Debug)]
pub(super) struct Called {
    pub(super) signature: Signature,
    /// Whether a witness of the module gives it, so that it need not be made.
    pub(super) is_given: bool,
    pub(super) names: DerivativeNames,
    /// The tangents of the arguments with respect to which it is differentiated, none for the others; `_1` first.
    pub(super) arguments: Vec<Tangent>,
    /// The tangent of the result.
    pub(super) result: Tangent,
    /// The type of the result.
    pub(super) result_type: Type,
    /// Whether the pullback runs its forward pass, so that only the arguments are saved.
    pub(super) is_checkpointed: bool,
}

impl Called {
    /// The type of what the forward pass gives for the reverse: the trace, or the pullback.
    pub(super) fn trace_type(&self, carrier: Carrier) -> Type {
        match carrier {
            Carrier::Stacks => Type::named(self.names.trace.clone()),
            Carrier::LinearMaps => {
                let cotangents = self.arguments.iter().map(|tangent| tangent.cotangent().ty());
                Type::closure([self.result.cotangent().ty()], Type::tuple(cotangents))
            }
        }
    }
}

/// What all derivatives that are made together share.
pub(super) struct Derivation<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) rules: &'a RuleTable,
    pub(super) tangents: TangentTypes<'a, BBCode>,
    pub(super) summaries: Summaries,
    pub(super) carrier: Carrier,
    pub(super) savings: Savings,
    pub(super) rule_pullbacks: RulePullbacks,
    /// What tables of methods say the pullbacks of their functions are.
    pub(super) registered: RegisteredDerivatives,
    /// The thunks through which derivatives that the module has are called, and their pullbacks.
    pub(super) thunks: Thunks,
    /// Whether the run asks what the operands of open arithmetic are.
    pub(super) open_arithmetic: OpenArithmetic,
    /// What a value that is called may be.
    candidates: Vec<Candidate>,
    roots: Vec<usize>,
    sharing: OnceCell<Sharing>,
    base_names: BaseNames,
    prepared: RefCell<HashMap<usize, Arc<Prepared>>>,
}

impl<'a> Derivation<'a> {
    pub(super) fn new(
        module: &'a Module<BBCode>,
        rules: &'a RuleTable,
        roots: &[usize],
        carrier: Carrier,
        savings: Savings,
    ) -> Self {
        let candidates = dispatch::candidates(module, roots, true);
        let called: Vec<usize> = candidates.iter().filter_map(|candidate| candidate.function(module)).collect();
        let summaries = Summaries::of(module, rules, roots, Some(&called));
        Derivation {
            module,
            rules,
            tangents: TangentTypes::new(module),
            summaries,
            carrier,
            savings,
            rule_pullbacks: RulePullbacks::default(),
            registered: RegisteredDerivatives::of(module, DerivativeKind::Vjp),
            thunks: Thunks::default(),
            open_arithmetic: OpenArithmetic::Stays,
            candidates,
            roots: roots.to_vec(),
            sharing: OnceCell::new(),
            base_names: BaseNames::default(),
            prepared: RefCell::default(),
        }
    }

    /// The pairs of arguments of a function that may share objects; `None` if all may.
    pub(super) fn shared_arguments(&self, name: &Name) -> Option<&HashSet<(usize, usize)>> {
        let function = self.module.function_index(name).filter(|function| !self.roots.contains(function))?;
        let sharing = self.sharing.get_or_init(|| {
            let called = self.candidates.iter().filter_map(|candidate| candidate.function(self.module));
            let open = called.chain(self.roots.iter().copied()).collect();
            Sharing::of(self.module, self.rules, &open, &self.summaries)
        });
        sharing.pairs(function)
    }

    /// Refuses code that may change a global constant, and functions with rules that may change their arguments. The
    /// functions at these positions are differentiated.
    pub(super) fn check_changes(&self, roots: &[usize]) -> Result<(), PassError> {
        changed_globals::refuse(NAME, self.module, roots, &self.candidates)?;
        changing_rules::refuse(NAME, self.module, self.rules, roots, &self.candidates)
    }

    /// Whether the forward pass and the pullback become one function where both are wanted.
    pub(super) fn joins(&self) -> bool {
        self.carrier == Carrier::Stacks && self.savings.one_function
    }

    /// The function at this position, prepared.
    pub(super) fn prepared(&self, position: usize) -> Result<Option<Arc<Prepared>>, PassError> {
        if let Some(known) = self.prepared.borrow().get(&position) {
            return Ok(Some(known.clone()));
        }
        let Some(function) = self.module.functions().get(position) else { return Ok(None) };
        let prepared = Arc::new(self.prepare(function)?);
        self.prepared.borrow_mut().insert(position, prepared.clone());
        Ok(Some(prepared))
    }

    fn prepare(&self, function: &Function<BBCode>) -> Result<Prepared, PassError> {
        let by_rule = by_its_rule(NAME, self.rules, RuleKind::Vjp, function)?;
        let mut bb = prepared_body(
            NAME,
            self.module,
            by_rule.as_ref().unwrap_or(function),
            &self.candidates,
            self.open_arithmetic,
        )?;
        if let Some(phi) = phi_from_outside(&bb) {
            let message = "what a φ of the first block takes from outside of the function is undefined when it runs";
            return Err(PassError::new(NAME, &function.name, message).at(&bb, phi).at_origin(function));
        }
        for (id, inst) in bb.all_insts() {
            let message = match inst.stmt {
                Stmt::Enter(_) => "a function with try/catch cannot be differentiated in reverse mode",
                Stmt::PhiC(_) | Stmt::Upsilon(_) => "φᶜ and ϒ, which belong to try/catch, cannot be differentiated",
                _ => continue,
            };
            let error = PassError::new(NAME, &function.name, message).of_kind(PassErrorKind::Catches).at(&bb, id);
            return Err(error.with_help("forward mode differentiates it").at_origin(function));
        }
        if self.savings.jump_threading {
            self.thread_jumps(&mut bb, &function.name)?;
        }
        let context = Context { module: self.module, function: &function.name };
        if self.savings.unrolling && self.carrier == Carrier::Stacks && loop_unrolling::run(&mut bb, &context)? {
            array_scalar_replacement::run(&mut bb, &context)?;
            dead_code::run(&mut bb, &context)?;
        }
        // The copies that these leave stay: what is added up, is so in the order in which it was at the element.
        if self.savings.scalar_promotion && self.carrier == Carrier::Stacks {
            scalar_promotion::run(&mut bb, &context)?;
        }
        match self.carrier {
            Carrier::Stacks => {
                counted::isolate(&mut bb).map_err(|error| PassError::because(NAME, &function.name, error))?;
            }
            Carrier::LinearMaps => normal_form::normalize(&mut bb, self.module, &function.name)?,
        }
        let packed =
            pack_collected(self.module, &mut bb).map_err(|error| PassError::because(NAME, &function.name, error))?;
        let classifier = Classifier { module: self.module, rules: self.rules, bb: &bb };
        let mut operations = SecondaryMap::with_capacity(bb.inst_count());
        operations
            .extend(bb.all_insts().map(|(id, _)| (id, classifier.operation(id, &|call| packed.get(call).copied()))));
        leave_failing(&bb, &mut operations);
        self.leave_out_constants(&function.body, &bb, &mut operations);
        let inferred = returned_type(&bb);
        let result = if function.result.is_unknown() { inferred } else { function.result.clone() };
        Ok(Prepared { body: Arc::new(bb), operations: Arc::new(operations), result, activity: OnceLock::new() })
    }

    /// Gives loops and branches the form in which a person would write them, if there are flags to go around.
    fn thread_jumps(&self, bb: &mut BBCode, name: &Name) -> Result<(), PassError> {
        let context = Context { module: self.module, function: name };
        if jump_threading::run(bb, &context)? {
            // Of φs that count the same, one is left.
            for pass in [
                constant_folding::run,
                copy_propagation::run,
                common_subexpressions::run_without_loads,
                dead_code::run,
                simplify_cfg::run,
            ] {
                pass(bb, &context)?;
            }
        }
        Ok(())
    }

    /// The names of a derivative.
    pub(super) fn names(&self, signature: &Signature) -> DerivativeNames {
        let Some(function) = self.module.functions().get(signature.function) else { return DerivativeNames::of("") };
        let tangents = function.body.argtypes.iter().map(|ty| !self.tangents.of(ty).is_none());
        let base = self.base_names.of(self.module, signature.function);
        DerivativeNames::for_arguments(&base, tangents, &signature.wanted).carried_by(self.carrier)
    }

    /// The tangents of the wanted arguments of these types, none for the others; `_1` first.
    pub(super) fn argument_tangents(&self, argtypes: &[Type], wanted: &[bool]) -> Vec<Tangent> {
        let tangent = |(index, ty): (usize, &Type)| match wanted.get(index) {
            Some(true) => self.tangents.of(ty),
            _ => Tangent::None,
        };
        argtypes.iter().enumerate().map(tangent).collect()
    }

    /// The derivative that a call of a function calls, given which of its arguments are active.
    pub(super) fn called(&self, function: usize, mut wanted: Vec<bool>) -> Option<Called> {
        // A function that cannot be prepared is told about when its derivative is made.
        let prepared = self.prepared(function).ok().flatten()?;
        for (wanted, ty) in wanted.iter_mut().zip(&prepared.body.argtypes) {
            *wanted = *wanted && !self.tangents.of(ty).is_none();
        }
        let signature = Signature { function, wanted };
        let arguments = self.argument_tangents(&prepared.body.argtypes, &signature.wanted);
        let result = self.tangents.of(&prepared.result);
        let mut names = self.names(&signature);
        let given = self.given(&signature);
        let is_given = given.is_some();
        names.forward = given.unwrap_or(names.forward);
        let result_type = prepared.result.clone();
        let is_checkpointed = self.is_checkpointed(function) && result.shadow().is_none();
        Some(Called { signature, is_given, names, arguments, result, result_type, is_checkpointed })
    }

    /// The VJP that a witness of the module gives for what is wanted, perhaps through a thunk. What is derived with
    /// stacks does not look at witnesses, as their VJPs return closures.
    fn given(&self, signature: &Signature) -> Option<Name> {
        if self.carrier != Carrier::LinearMaps {
            return None;
        }
        if let Some(registered) = self.registered_vjp(signature) {
            return Some(registered);
        }
        if self.module.differentiability_witnesses().is_empty() {
            return None;
        }
        let function = self.module.functions().get(signature.function).filter(|function| !function.varargs)?;
        if signature.wanted.first() == Some(&true) {
            return None;
        }
        let wanted = signature.numbers();
        let found = given_derivative(self.module, &self.tangents, function, &wanted, 0, DerivativeKind::Vjp);
        // Straight code is written where nothing stands yet, which does not fail.
        let given = found.ok().flatten()?;
        self.thunks.add(given.thunks);
        Some(given.name)
    }

    /// The VJP that a table of methods gives for just what is wanted.
    fn registered_vjp(&self, signature: &Signature) -> Option<Name> {
        let function = self.module.functions().get(signature.function)?;
        let all = function.body.argtypes.iter().zip(1..).skip(1);
        let all: Vec<u32> = all.filter(|(ty, _)| !self.tangents.of(ty).is_none()).map(|(_, number)| number).collect();
        let wanted = signature.numbers();
        let fits = |set: &[u32]| if set.is_empty() { wanted == all } else { wanted == set };
        let found = self.registered.get(signature.function).iter().find(|other| fits(&other.with_respect_to))?;
        self.module.function(&found.function).map(|function| function.name.clone())
    }
}

impl PassError {
    /// The same error at the statement of the function as it was given, instead of the one in the prepared copy.
    pub(super) fn at_origin(self, function: &Function<BBCode>) -> Self {
        let origin = self.place.as_ref().and_then(|place| place.origin.as_ref());
        let index = origin.and_then(|origin| (origin.statement as usize).checked_sub(1));
        match index.and_then(|index| function.body.all_insts().nth(index)) {
            Some((id, _)) => self.at(&function.body, id),
            None => self,
        }
    }
}

/// Puts the arguments that a callee collects into a tuple before each call of such a function, as its derivatives take
/// them. The calls stay as they are.
fn pack_collected(module: &Module<BBCode>, bb: &mut BBCode) -> Result<SecondaryMap<InstId, InstId>, bbcode::EditError> {
    let mut packed = SecondaryMap::new();
    let calls: Vec<(InstId, Vec<Operand<Ids>>, LineInfo)> = bb
        .all_insts()
        .filter_map(|(id, inst)| {
            let (callee, args) = inst.stmt.as_call()?;
            let Some(Callee::Function(function)) = module.callee(callee) else { return None };
            let target = module.functions().get(function).filter(|target| target.varargs)?;
            let fixed = target.body.argtypes.len().saturating_sub(2);
            Some((id, args.get(fixed..)?.to_vec(), inst.line))
        })
        .collect();
    for (id, collected, line) in calls {
        let ty = Type::tuple(collected.iter().map(|arg| bb.operand_type(arg)));
        let tuple = Stmt::call(Operand::global("Core", "tuple"), collected);
        packed.insert(id, bb.insert_before(id, NewInstruction::new(tuple, ty).with_line(line))?);
    }
    Ok(packed)
}

/// Leaves calls as they are where a run is about to fail: they make messages, and nothing comes back from there.
fn leave_failing(bb: &BBCode, operations: &mut SecondaryMap<InstId, Operation>) {
    if bb.blocks().nth(1).is_none() {
        return;
    }
    let view = bb.view();
    let failing = failing_statements(&view);
    // Where every run fails, whoever asks for the derivative should learn what is missing.
    if failing.first().is_some_and(|first| first.start == 0) {
        return;
    }
    for statement in failing.into_iter().filter_map(|range| view.statements.get(range)).flatten() {
        if let Some(operation) = operations.get_mut(statement.name)
            && matches!(operation, Operation::Call { .. } | Operation::Unknown)
        {
            *operation = Operation::Steps;
        }
    }
}
