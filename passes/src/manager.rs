//! Running passes: which there are, in which order, checked and watched.

use std::time::{Duration, Instant};

use bbcode::BBCode;
use ircode::{Module, Name};

use crate::reverse_mode::linear_maps;
use crate::{
    PassError, PassErrorKind, arithmetic_splitting, array_scalar_replacement, assert_numbers, branch_combining,
    captured_types, checkpoint_loops, closure_folding, closure_specialization, common_subexpressions, constant_folding,
    constant_propagation, copy_elements, copy_propagation, dead_code, derivative_entries, differentiability,
    forward_mode, increment_merging, infer_types, inlining, jump_threading, lambda_lifting, linearization,
    link_methods, loop_invariant_motion, loop_unrolling, lower_arithmetic, lower_broadcast, lower_copies,
    lower_exceptions, lower_fields, lower_projections, lower_signs, lower_switch, mem2reg, negation_propagation,
    preaccumulation, result_types, reverse_mode, scalar_promotion, scalar_replacement, simplify, simplify_cfg,
    split_critical_edges, stack_hoisting, type_literals, typed_boxes, union_splitting, unknown_calls, unreachable_code,
    unroll_and_jam,
};

/// What a pass returns: whether it changed anything.
pub type PassResult = Result<bool, PassError>;

/// What a function pass may look at beside the function.
#[derive(Clone, Copy, Debug)]
pub struct Context<'m> {
    /// The module that the function belongs to. The body of the function at hand is not in it while the pass runs; its
    /// name is.
    pub module: &'m Module<BBCode>,
    /// The name of the function.
    pub function: &'m Name,
}

/// A pass: its name, what it does, and on what it works.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name on the command line, which is also that of its file.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// How it is run.
    pub run: Run,
    /// Whether the program computes the same as before, to the last bit, but for the sign of a NaN, and fails as
    /// before. All passes keep to that but [`preaccumulation`] and [`increment_merging`], which compute in another
    /// order, [`assert_numbers`], which fails with another error, and [`lower_copies`], which fails where what is
    /// copied is not assigned. That a wrong case of an enum is taken apart is no failure any more where closures are
    /// specialised and nothing is left of what is taken (`closure-specialization`, `simplify`). A read of a φ that is
    /// undefined on the way taken does not count as a failure: that nothing does so is what such a φ says, and
    /// `copy-propagation` and `simplify-cfg` make use of it. Nor does the read of a field that an immutable struct
    /// lacks, where nobody uses it ([`dead_code`]; in memory that [`lower_projections`] takes apart, the store of such a
    /// struct fails instead), or a condition that is no Bool, where both ways lead to one block ([`simplify_cfg`]); and
    /// [`lower_exceptions`] says of which failure it takes the handler away.
    pub is_exact: bool,
}

impl Pass {
    /// The same pass, which is not [exact](Pass::is_exact).
    const fn inexact(self) -> Pass {
        Pass { is_exact: false, ..self }
    }
}

/// An exact pass on functions.
const fn function_pass(
    name: &'static str,
    about: &'static str,
    run: fn(&mut BBCode, &Context<'_>) -> PassResult,
) -> Pass {
    Pass { name, about, run: Run::Function(run), is_exact: true }
}

/// An exact pass on modules.
const fn module_pass(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Module<BBCode>, Option<&Name>) -> PassResult,
) -> Pass {
    Pass { name, about, run: Run::Module(run), is_exact: true }
}

/// On what a pass works.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// On one function at a time.
    Function(fn(&mut BBCode, &Context<'_>) -> PassResult),
    /// On the module, where the function named may be singled out.
    Module(fn(&mut Module<BBCode>, Option<&Name>) -> PassResult),
}

/// All passes, by name.
#[rustfmt::skip]
pub const PASSES: &[Pass] = &[
    function_pass(arithmetic_splitting::NAME, "choose by branches on which types of numbers arithmetic is done", arithmetic_splitting::run),
    function_pass(array_scalar_replacement::NAME, "make values of the elements of small arrays", array_scalar_replacement::run),
    function_pass(assert_numbers::NAME, "let arithmetic on what may be nothing say that it is a number", assert_numbers::run).inexact(),
    function_pass(branch_combining::NAME, "decide once where two branches on floats lead to the same block", branch_combining::run),
    module_pass(captured_types::NAME, "give types to variables that closures capture and change", captured_types::run),
    module_pass(checkpoint_loops::NAME, "turn loops into calls of some rounds, which reverse mode runs again", checkpoint_loops::run),
    function_pass(closure_folding::NAME, "call what a closure applies, where it is seen to be made", closure_folding::run),
    module_pass(closure_specialization::NAME, "give functions what closures capture in the place of closures", closure_specialization::run),
    function_pass(common_subexpressions::NAME, "compute once what is computed twice", common_subexpressions::run),
    function_pass(constant_folding::NAME, "compute what is known before the program runs", constant_folding::run),
    function_pass(constant_propagation::NAME, "find what is constant on the ways that can be taken", constant_propagation::run),
    function_pass(copy_elements::NAME, "copy elements where code copies from address to address", copy_elements::run),
    function_pass(copy_propagation::NAME, "replace copies by what they are copies of", copy_propagation::run),
    function_pass(dead_code::NAME, "remove statements whose values nobody uses", dead_code::run),
    module_pass(derivative_entries::NAME, "add the derivatives of differentiable methods to tables", derivative_entries::run),
    module_pass(differentiability::NAME, "fill in the derivatives of differentiable functions", differentiability::run),
    module_pass(forward_mode::NAME, "add a function of the value and its tangent", forward_mode::run),
    function_pass(increment_merging::NAME, "add to an element once what is added to it several times", increment_merging::run).inexact(),
    function_pass(infer_types::NAME, "find types that the listing does not show", infer_types::run),
    module_pass(inlining::NAME, "put the bodies of functions in the place of calls", inlining::run),
    function_pass(jump_threading::NAME, "go straight to where a condition leads that is known on an edge", jump_threading::run),
    module_pass(lambda_lifting::NAME, "call methods of closures as functions that take the closure", lambda_lifting::run),
    module_pass(linear_maps::NAME, "add the functions of the derivative, with linear maps as closures", linear_maps::run),
    module_pass(linearization::NAME, "add functions of the value and of the differential", linearization::run),
    function_pass(link_methods::NAME, "let invokes name the functions of the module", link_methods::run),
    function_pass(loop_invariant_motion::NAME, "move out of loops what is the same on every round", loop_invariant_motion::run),
    function_pass(loop_unrolling::NAME, "write out short loops of a known number of rounds", loop_unrolling::run),
    function_pass(lower_arithmetic::NAME, "turn generic arithmetic on known types into intrinsics", lower_arithmetic::run),
    function_pass(lower_broadcast::NAME, "turn maps over arrays into loops", lower_broadcast::run),
    function_pass(lower_copies::NAME, "turn copies of elements that are no numbers into loops", lower_copies::run).inexact(),
    module_pass(lower_exceptions::NAME, "turn try/catch into branches", lower_exceptions::run),
    function_pass(lower_fields::NAME, "turn names of fields that the run tells into numbers", lower_fields::run),
    function_pass(lower_projections::NAME, "give parts of slots that have addresses slots of their own", lower_projections::run),
    function_pass(lower_signs::NAME, "turn signs that are changed by bits into negations", lower_signs::run),
    function_pass(lower_switch::NAME, "turn switches into branches", lower_switch::run),
    function_pass(mem2reg::NAME, "turn slots into values", mem2reg::run),
    function_pass(negation_propagation::NAME, "subtract what is added negated", negation_propagation::run),
    function_pass(preaccumulation::NAME, "multiply adjoints that loops carry by one number a round", preaccumulation::run).inexact(),
    module_pass(result_types::NAME, "find what functions return that do not say so", result_types::run),
    module_pass(reverse_mode::NAME, "add the functions of the derivative", reverse_mode::run),
    function_pass(scalar_promotion::NAME, "keep in a value what a loop changes in one place of an array", scalar_promotion::run),
    function_pass(scalar_replacement::NAME, "take tuples, structs and enums apart", scalar_replacement::run),
    module_pass(simplify::NAME, "inline, specialise closures and take objects apart, until nothing changes", simplify::run),
    function_pass(simplify_cfg::NAME, "fold branches and join blocks", simplify_cfg::run),
    function_pass(split_critical_edges::NAME, "give edges between branches and meetings blocks of their own", split_critical_edges::run),
    function_pass(stack_hoisting::NAME, "make stacks of loops once, before the loop", stack_hoisting::run),
    function_pass(type_literals::NAME, "give integer literals the width their use needs", type_literals::run),
    module_pass(typed_boxes::NAME, "give boxes of captured variables the type of what is in them", typed_boxes::run),
    module_pass(union_splitting::NAME, "choose by branches which method is called", union_splitting::run),
    function_pass(unknown_calls::NAME, "end the code behind calls of what nobody knows", unknown_calls::run),
    function_pass(unreachable_code::NAME, "remove blocks that are not reached", unreachable_code::run),
    function_pass(unroll_and_jam::NAME, "run sums of several rounds of a loop side by side", unroll_and_jam::run),
];

/// There is no pass of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no pass `{0}`; {meant}", meant = meant(.0))]
pub struct NoSuchPass(pub String);

/// The pass that is called nearly so, or all that there are.
fn meant(name: &str) -> String {
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match PASSES.iter().find(|pass| plain(pass.name) == plain(name)) {
        Some(pass) => format!("it is called `{}`", pass.name),
        None => format!("there are {}", PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", ")),
    }
}

/// The pass of this name.
///
/// # Errors
///
/// [`NoSuchPass`], which names the one that is meant, or lists those that there are.
pub fn find_pass(name: &str) -> Result<&'static Pass, NoSuchPass> {
    PASSES.iter().find(|pass| pass.name == name).ok_or_else(|| NoSuchPass(name.into()))
}

/// One run of a pass, for a report.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number, counted from 1 over the whole run of the manager; what a bisection limit counts.
    pub number: usize,
    /// The pass.
    pub pass: &'static str,
    /// The function; `None` for a pass on the module.
    pub function: Option<Name>,
    /// Whether it changed anything, as the pass says; true where it failed, which may be in the middle of its work.
    pub changed: bool,
    /// How long it took.
    pub time: Duration,
    /// Whether it was left out because of the limit.
    pub skipped: bool,
    /// Whether it failed, or left a program that is not valid: the last step then.
    pub failed: bool,
}

/// What is called after each step.
type Observer<'o> = Box<dyn FnMut(&Step, &Module<BBCode>) + 'o>;

/// What a manager runs on functions, one at a time.
type OnFunctions<'o> = Box<dyn FnMut(&mut BBCode, &Context<'_>) -> PassResult + 'o>;

/// What a manager runs on the module.
type OnModule<'o> = Box<dyn FnMut(&mut Module<BBCode>, Option<&Name>) -> PassResult + 'o>;

/// A pass of a manager, which may have a state.
enum Work<'o> {
    Functions(OnFunctions<'o>),
    Module(OnModule<'o>),
}

/// A pass of a manager, by name.
struct Entry<'o> {
    name: &'static str,
    work: Work<'o>,
}

impl<'o> From<&Pass> for Entry<'o> {
    fn from(pass: &Pass) -> Entry<'o> {
        let work = match pass.run {
            Run::Function(run) => Work::Functions(Box::new(run)),
            Run::Module(run) => Work::Module(Box::new(run)),
        };
        Entry { name: pass.name, work }
    }
}

/// Runs passes one after another over the functions of a module.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::{PassManager, find_pass};
///
/// let parsed = parse_module("
/// function three()::Int64
/// 1 ─ %1 = Base.add_int(1, 2)::Int64
/// └──      return %1
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let mut manager = PassManager::new([find_pass("constant-folding")?, find_pass("dead-code")?]).verify_each(true);
/// manager.run(&mut module, None)?;
/// assert_eq!(module.functions()[0].body.to_string(), "1 ─ %2 = return 3\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct PassManager<'o> {
    passes: Vec<Entry<'o>>,
    verify_each: bool,
    bisect_limit: Option<usize>,
    observer: Option<Observer<'o>>,
    steps: Vec<Step>,
}

impl std::fmt::Debug for PassManager<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let passes: Vec<&str> = self.passes.iter().map(|pass| pass.name).collect();
        f.debug_struct("PassManager").field("passes", &passes).field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl<'o> PassManager<'o> {
    /// A manager that runs these passes in this order.
    pub fn new(passes: impl IntoIterator<Item = &'static Pass>) -> Self {
        PassManager { passes: passes.into_iter().map(Entry::from).collect(), ..PassManager::default() }
    }

    /// Runs one more pass, behind those that there are, also behind [one of your own](Self::function_pass).
    ///
    /// ```
    /// use passes::{PassManager, find_pass};
    ///
    /// let manager = PassManager::default()
    ///     .module_pass("mine", |_, _| Ok(false))
    ///     .pass(find_pass("dead-code")?)
    ///     .pass(find_pass("simplify-cfg")?);
    /// assert!(format!("{manager:?}").contains(r#"["mine", "dead-code", "simplify-cfg"]"#));
    /// # Ok::<(), passes::NoSuchPass>(())
    /// ```
    pub fn pass(mut self, pass: &'static Pass) -> Self {
        self.passes.push(Entry::from(pass));
        self
    }

    /// Runs a pass of your own on each function, behind those that there are. It may have a state, as it is any
    /// closure, and returns whether it changed anything. `name` is what steps and errors call it, also those that come
    /// from an edit by `?`.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_module;
    /// use passes::{PassManager, find_pass};
    ///
    /// let text = "function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(2.0, 3.0)::Float64\n└──      return x\nend\n";
    /// let mut module = parse_module(text)?.module.map(|function| BBCode::try_from(&function.body))?;
    /// let mut counts = Vec::new();
    /// PassManager::new([find_pass("dead-code")?])
    ///     .function_pass("count", |body, context| {
    ///         counts.push((context.function.to_string(), body.inst_count()));
    ///         Ok(false)
    ///     })
    ///     .verify_each(true)
    ///     .run(&mut module, None)?;
    /// assert_eq!(counts, [("f".to_string(), 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn function_pass(
        mut self,
        name: &'static str,
        run: impl FnMut(&mut BBCode, &Context<'_>) -> PassResult + 'o,
    ) -> Self {
        self.passes.push(Entry { name, work: Work::Functions(Box::new(run)) });
        self
    }

    /// Runs a pass of your own on the module, as [`function_pass`](Self::function_pass) does on functions. It is given
    /// the name of the function that [`run`](Self::run) is to be confined to, if there is one.
    pub fn module_pass(
        mut self,
        name: &'static str,
        run: impl FnMut(&mut Module<BBCode>, Option<&Name>) -> PassResult + 'o,
    ) -> Self {
        self.passes.push(Entry { name, work: Work::Module(Box::new(run)) });
        self
    }

    /// Verifies the program before the first pass and after each: what a pass breaks is an error of that pass.
    pub fn verify_each(self, verify_each: bool) -> Self {
        PassManager { verify_each, ..self }
    }

    /// Runs only the first `limit` steps, to find by bisection which one breaks a program. A pass on one function is a
    /// step.
    pub fn bisect_limit(self, limit: Option<usize>) -> Self {
        PassManager { bisect_limit: limit, ..self }
    }

    /// Calls `observer` after each step, also one that fails, with the module as it is then.
    pub fn on_step(self, observer: impl FnMut(&Step, &Module<BBCode>) + 'o) -> Self {
        PassManager { observer: Some(Box::new(observer)), ..self }
    }

    /// The steps that were run or left out, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Runs the passes. A pass on functions runs on each in the order of the module, or on `function` only if that is
    /// given. True if anything changed.
    ///
    /// # Errors
    ///
    /// The first [`PassError`]. The module is then as the failing pass left it. Also if there is no such function.
    pub fn run(&mut self, module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
        if let Some(name) = function.filter(|name| module.function(name).is_none()) {
            return Err(PassError::no_such_function("pass-manager", name));
        }
        if self.verify_each {
            verify("verify", module, None, "before any pass")?;
        }
        let mut passes = std::mem::take(&mut self.passes);
        let changed =
            passes.iter_mut().try_fold(false, |changed, pass| Ok(changed | self.run_one(module, pass, function)?));
        self.passes = passes;
        changed
    }

    /// Runs one pass, on all that it is to work on.
    fn run_one(&mut self, module: &mut Module<BBCode>, pass: &mut Entry<'o>, function: Option<&Name>) -> PassResult {
        match &mut pass.work {
            Work::Module(run) => self.step(module, pass.name, None, |module| run(module, function)),
            Work::Functions(run) => {
                let mut changed = false;
                let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
                for name in names.iter().filter(|name| function.is_none_or(|function| function == *name)) {
                    changed |=
                        self.step(module, pass.name, Some(name), |module| run_on_function(module, name, &mut *run))?;
                }
                Ok(changed)
            }
        }
    }

    fn step(
        &mut self,
        module: &mut Module<BBCode>,
        pass: &'static str,
        function: Option<&Name>,
        run: impl FnOnce(&mut Module<BBCode>) -> PassResult,
    ) -> PassResult {
        let number = self.steps.len() + 1;
        let skipped = self.bisect_limit.is_some_and(|limit| number > limit);
        let start = Instant::now();
        let unnamed = Name::from("");
        let own = |error: PassError| error.or_of(pass, function.unwrap_or(&unnamed));
        let mut result = if skipped { Ok(false) } else { run(module).map_err(own) };
        let time = start.elapsed();
        if self.verify_each && !skipped {
            result = result.and_then(|changed| verify(pass, module, function, "after this").map(|()| changed));
        }
        let (changed, failed) = (!matches!(result, Ok(false)), result.is_err());
        let step = Step { number, pass, function: function.cloned(), changed, time, skipped, failed };
        if let Some(observer) = &mut self.observer {
            observer(&step, module);
        }
        self.steps.push(step);
        result
    }
}

/// The module has several functions, or none, and none was named. It holds their names.
pub(crate) struct NoneNamed(Vec<String>);

impl NoneNamed {
    /// The error of a pass that does this with a function.
    pub(crate) fn of(self, pass: &'static str, done: &str) -> PassError {
        let error = PassError::new(pass, &"the module".into(), format!("which function is to be {done}?"));
        let error = error.of_kind(PassErrorKind::Request);
        match self.0.as_slice() {
            [] => error.with_help("the module has no functions"),
            names => error.with_help(format!("name one of {}", names.join(", "))),
        }
    }
}

/// The function named, or the only one.
pub(crate) fn named_or_only(module: &Module<BBCode>, function: Option<&Name>) -> Result<Name, NoneNamed> {
    match (function, module.functions()) {
        (Some(name), _) => Ok(name.clone()),
        (None, [only]) => Ok(only.name.clone()),
        (None, functions) => Err(NoneNamed(functions.iter().map(|function| function.name.to_string()).collect())),
    }
}

/// Runs a pass on one function of a module.
///
/// # Errors
///
/// That of the pass; one that an edit gave says of which function it is.
pub fn run_on_function(
    module: &mut Module<BBCode>,
    name: &Name,
    run: impl FnOnce(&mut BBCode, &Context<'_>) -> PassResult,
) -> PassResult {
    let result = module.edit_beside(name, |module, body| run(body, &Context { module, function: name }));
    result.unwrap_or(Ok(false)).map_err(|error| error.or_of(PassError::EDIT, name))
}

/// Verifies a function, or all of them, and the tables. `stage` says when.
fn verify(pass: &'static str, module: &Module<BBCode>, function: Option<&Name>, stage: &str) -> Result<(), PassError> {
    let looked_at = match function {
        Some(name) => module.function_index(name).map_or(0..0, |index| index..index + 1),
        None => 0..module.functions().len(),
    };
    for each in module.functions().get(looked_at).unwrap_or_default() {
        each.body.verify().map_err(|violations| {
            let listing = bbcode::display_violations(&each.body, &violations);
            PassError::new(pass, &each.name, format!("the program is not valid {stage}:\n{listing}"))
                .of_kind(PassErrorKind::Invalid)
        })?;
    }
    ircode::verify_tables(module, |body| &body.argtypes).map_err(|tables| {
        let name = function.cloned().unwrap_or_else(|| Name::from(""));
        PassError::new(pass, &name, format!("the tables are not valid {stage}:\n{tables}"))
            .of_kind(PassErrorKind::Invalid)
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use ircode::parse_module;

    #[test]
    fn passes_are_listed_by_name() {
        assert!(PASSES.is_sorted_by_key(|pass| pass.name));
    }

    #[test]
    fn an_edit_that_fails_in_a_pass_says_in_which() {
        let module = parse_module("function f(x::Float64)::Float64\n1 ─      return x\nend\n").unwrap().module;
        let mut module: Module<BBCode> = module.map_into(BBCode::try_from).unwrap();
        let twice = |bb: &mut BBCode, _: &Context<'_>| {
            let Some((inst, _)) = bb.entry().and_then(|entry| bb.terminator(entry)) else { return Ok(false) };
            bb.remove_unchecked(inst)?;
            bb.remove_unchecked(inst)?;
            Ok(true)
        };
        let error = PassManager::new([]).function_pass("twice", twice).run(&mut module, None).unwrap_err();
        assert_eq!((error.pass, error.function.as_str()), ("twice", "f"));
        let error = run_on_function(&mut module, &"f".into(), |bb, _| {
            bb.set_next(bbcode::BlockId::default(), None)?;
            Ok(true)
        });
        assert_eq!(error.unwrap_err().to_string(), "edit: there is no block #0\n  in f");
    }

    #[test]
    fn a_pass_that_panics_leaves_the_function_in_its_module() {
        let module = parse_module("function f(x::Float64)::Float64\n1 ─      return x\nend\n").unwrap().module;
        let mut module: Module<BBCode> = module.map_into(BBCode::try_from).unwrap();
        let panics = |_: &mut BBCode, _: &Context<'_>| -> PassResult { panic!("the pass gives up") };
        let run = AssertUnwindSafe(|| run_on_function(&mut module, &"f".into(), panics));
        assert!(catch_unwind(run).is_err());
        assert_eq!(module.functions()[0].body.inst_count(), 1);
    }

    #[test]
    fn of_a_module_without_functions_none_can_be_named() {
        let error = |module: &Module<BBCode>| named_or_only(module, None).unwrap_err().of("pass", "run");
        assert_eq!(error(&Module::new()).help.as_deref(), Some("the module has no functions"));
        let text = "function f()\n1 ─ return 1\nend\nfunction g()\n1 ─ return 1\nend\n";
        let two: Module<BBCode> = parse_module(text).unwrap().module.map_into(BBCode::try_from).unwrap();
        assert_eq!(error(&two).help.as_deref(), Some("name one of f, g"));
    }

    #[test]
    fn a_function_that_is_not_there_is_an_error() {
        let module = parse_module("function f(x::Float64)::Float64\n1 ─      return x\nend\n").unwrap().module;
        let mut module: Module<BBCode> = module.map_into(BBCode::try_from).unwrap();
        let mut manager = PassManager::new([find_pass("dead-code").unwrap()]);
        assert!(!manager.run(&mut module, Some(&"f".into())).unwrap());
        let error = manager.run(&mut module, Some(&"g".into())).unwrap_err();
        assert!(error.to_string().contains("there is no function `g`"), "{error}");
    }
}
