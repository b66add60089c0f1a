//! What the activity analysis found, for people: which statements depend on the arguments, and on which the results do.

use bbcode::{BBCode, InstId};
use ircode::{Argument, Module, Name, Operand, Stmt};
use slotmap::SecondaryMap;

use super::derivation::Derivation;
use super::plan::Plan;
use super::without_handlers::without_handlers;
use super::{Carrier, Savings};
use super::{NAME, Options, wanted};
use crate::differentiation::preparation::derived;
use crate::rules::RuleTable;
use crate::{PassError, link_methods};

/// What is known of a statement or an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Activity {
    /// It depends smoothly on the arguments with respect to which the function is differentiated.
    pub varied: bool,
    /// The result, or what is in memory that the caller sees, depends on it.
    pub useful: bool,
}

impl Activity {
    /// Whether it is differentiated.
    pub fn is_active(self) -> bool {
        self.varied && self.useful
    }
}

/// The activity of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityReport {
    /// Of the arguments, from `_2` on: whether each is one with respect to which the function is differentiated.
    pub arguments: Vec<bool>,
    /// Of the statements, in the order in which they stand in the function. Of a statement that stands for several
    /// (generic arithmetic), what holds of any; of one that is never reached, nothing.
    pub statements: Vec<Activity>,
}

/// Analyses which statements of a function are varied, useful, and both (active), with respect to the arguments that
/// the options name.
///
/// # Errors
///
/// [`PassError`], as for the derivative: at the first statement that is active and of which no derivative is known;
/// also for a function that has a try/catch itself.
pub fn activity(module: &mut Module<BBCode>, name: &Name, options: &Options) -> Result<ActivityReport, PassError> {
    link_methods::run_on_all(module, &[name])?;
    let lowered = without_handlers(module, std::slice::from_ref(name));
    if let Some(function) = module.function(name)
        && let Some((enter, _)) = function.body.all_insts().find(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_)))
    {
        let message =
            "try/catch is differentiated as the branches that it is, so that its own statements have no activity";
        let error = PassError::new(NAME, name, message).at(&function.body, enter);
        return Err(
            error.with_help("the pass lower-exceptions makes code with branches of it, of which it can be shown")
        );
    }
    let module = lowered.as_ref().map_or(&*module, |lowered| &lowered.module);
    let rules = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, name, error))?;
    let absent = || PassError::no_such_function(NAME, name);
    let root = module.function_index(name).ok_or_else(absent)?;
    derived(module, |open_arithmetic| {
        let mut derivation = Derivation::new(module, &rules, &[root], Carrier::Stacks, Savings::none());
        derivation.open_arithmetic = open_arithmetic;
        report_of(&derivation, root, options)
    })
}

/// The activity of the function at this position.
fn report_of(derivation: &Derivation<'_>, root: usize, options: &Options) -> Result<ActivityReport, PassError> {
    let Some(function) = derivation.module.functions().get(root) else { return Ok(ActivityReport::default()) };
    let name = &function.name;
    let wanted = wanted(derivation, name, root, options.with_respect_to.as_deref())?;
    let arguments = wanted.iter().skip(1).copied().collect();
    let mut statements = vec![Activity::default(); function.body.all_insts().count()];
    let Some(prepared) = derivation.prepared(root)? else { return Ok(ActivityReport::default()) };
    let names = super::DerivativeNames::of(name);
    let plan = Plan::new(derivation, name, names, &prepared, wanted, function.parameters.clone(), false)
        .map_err(|error| error.at_origin(function))?;
    let useful = useful(&plan);
    for (id, inst) in plan.primal.all_insts() {
        let origin = plan.primal.debuginfo.origins(inst.line).into_iter().next();
        let position = origin.and_then(|origin| (origin.statement as usize).checked_sub(1));
        let Some(known) = position.and_then(|position| statements.get_mut(position)) else { continue };
        known.varied |= plan.activity.is_varied(&Operand::Value(id));
        known.useful |= useful.contains_key(id);
    }
    // A return hands on what it returns.
    for &number in &plan.ways.returns {
        let terminator = plan.block(number).and_then(|block| plan.primal.terminator(block));
        let Some((_, inst)) = terminator else { continue };
        let origin = plan.primal.debuginfo.origins(inst.line).into_iter().next();
        let position = origin.and_then(|origin| (origin.statement as usize).checked_sub(1));
        if let (Some(known), Stmt::Return(ret)) =
            (position.and_then(|position| statements.get_mut(position)), &inst.stmt)
        {
            known.useful = true;
            known.varied = ret.value.as_ref().is_some_and(|value| match value {
                Operand::Argument(Argument(_)) | Operand::Value(_) => plan.activity.is_varied(value),
                _ => false,
            });
        }
    }
    Ok(ActivityReport { arguments, statements })
}

/// The values on which the results depend, whether they depend on the arguments or not: of what is not varied, the
/// analysis itself does not ask. What has no tangent is not useful.
fn useful(plan: &Plan<'_>) -> SecondaryMap<InstId, ()> {
    let mut work: Vec<InstId> = Vec::new();
    for (id, inst) in plan.primal.all_insts() {
        if plan.activity.is_useful(id) {
            work.push(id);
        }
        if let Stmt::Return(ret) = &inst.stmt {
            work.extend(ret.value.iter().filter_map(Operand::as_value));
        }
    }
    let mut useful = SecondaryMap::new();
    while let Some(id) = work.pop() {
        let has_tangent = !plan.activity.tangent(&Operand::Value(id)).is_none() || plan.activity.is_useful(id);
        if !has_tangent || useful.insert(id, ()).is_some() {
            continue;
        }
        if let Some(inst) = plan.primal.inst(id) {
            inst.stmt.for_each_use(|used| work.push(used));
        }
    }
    useful
}
