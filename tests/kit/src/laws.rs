//! The laws of the design, each as a function that checks one program. Tests, file tests and fuzz targets call these.

use std::fmt;

use bbcode::{BBCode, OddEdges};
use exec::{Limits, Machine, RunErrorKind, Value, value_to_json};
use ircode::{Function, IRCode, JuliaVersion, Module, Stmt, Style, print_module};
use passes::{Pass, PassError, PassManager, PassResult};

use crate::dual::{Dual, NoDerivative, dual};

/// A law that does not hold for a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The law.
    pub law: &'static str,
    /// How it was seen.
    pub problem: String,
    /// The program as a file test, where there is one.
    pub file: Option<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not hold: {}", self.law, self.problem)?;
        match &self.file {
            Some(file) => write!(f, "\n\n{KEEP}\n\n{file}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Broken {}

/// What to do with the program of a failure.
const KEEP: &str = "Once mended, keep this as tests/fuzz/WHAT_IT_SHOWS.ir; BBKIT_BLESS=1 cargo test --test files writes \
                    what its commands print:";

impl Broken {
    /// The same with the program as a file test: exact text, the arguments, and the command lines that show it, `-`
    /// being the file.
    pub(crate) fn on(self, module: &Module<IRCode>, args: &[Value], commands: &[String]) -> Broken {
        let first = self.problem.lines().next().unwrap_or_default();
        let mut file = format!("# {}: {first}\n{}\n", self.law, print_module(module, Style::Bbkit).trim_end());
        let args = args.iter().map(exact).collect::<Vec<_>>().join(", ");
        for command in commands {
            let args = format!("--fn f --args '[{args}]'");
            file.push_str(&format!("\n#$ {}\n", command.replace("ARGS", &args)));
        }
        Broken { file: Some(file), ..self }
    }

    /// As [`Broken::on`], of one function.
    pub(crate) fn on_function(self, function: &Function<IRCode>, args: &[Value], commands: &[String]) -> Broken {
        let mut module = Module::new();
        // The module is empty, so no name is taken.
        let _ = module.add_function(function.clone());
        self.on(&module, args, commands)
    }

    /// The same, seen after these passes.
    pub(crate) fn after(self, passes: &str) -> Broken {
        Broken { problem: format!("after {passes}: {}", self.problem), ..self }
    }
}

/// What a check gives.
pub type Checked = Result<(), Broken>;

/// A law that does not hold, and how that was seen.
pub(crate) fn broken(law: &'static str, problem: impl fmt::Display) -> Broken {
    Broken { law, problem: problem.to_string(), file: None }
}

/// Laws 1 to 3: a function comes back from every way as it was.
///
/// # Errors
///
/// [`Broken`] with the ways on which it did not.
pub fn round_trips(function: &Function<IRCode>, ways: &bbkit::Ways) -> Checked {
    let mut mismatches = ways.check(function);
    if has_edges_of_its_own(&function.body) {
        // Julia's text tells of them by the mark of a block with several predecessors only.
        mismatches.retain(|found| !found.way.starts_with("text (") || found.way == "text (bbkit)");
    }
    if mismatches.is_empty() {
        return Ok(());
    }
    let problems: Vec<String> = mismatches.iter().map(|found| format!("{}: {}", found.way, found.problem)).collect();
    Err(broken("there and back", format!("{}: {}", function.name, problems.join("; "))))
}

/// Whether there are edges that no statement implies, which code that is not reached may have, or a block that ends in
/// a call that never returns without a terminator saying so, an entry without a statement, or an entry with
/// predecessors among which is the virtual one.
fn has_edges_of_its_own(body: &IRCode) -> bool {
    let Ok(bb) = BBCode::try_from(body) else { return false };
    let entry = body.cfg.blocks.first().map(|entry| entry.preds.as_slice()).unwrap_or_default();
    let empty = body.cfg.blocks.first().is_some_and(|entry| entry.stmts.is_empty());
    let ranges: Vec<_> = body.cfg.blocks.iter().map(|block| block.stmts.clone()).collect();
    let said = ircode::Cfg::from_ranges(body.stmts.stmts(), &ranges);
    let virtual_edges =
        |block: &ircode::BasicBlock| block.preds.iter().filter(|&&pred| pred == ircode::BlockNumber::VIRTUAL).count();
    let more_virtual =
        body.cfg.blocks.iter().zip(&said.blocks).skip(1).any(|(is, said)| virtual_edges(is) != virtual_edges(said));
    if empty || more_virtual || entry.len() > 1 && entry.contains(&ircode::BlockNumber::VIRTUAL) {
        return true;
    }
    bb.blocks().any(|block| {
        let odd = bb.block(block).and_then(|block| block.odd_edges());
        let stops = bb.next(block).is_none()
            && bb.last_inst(block).and_then(|last| bb.stmt(last)).is_none_or(Stmt::falls_through);
        stops || odd.is_some_and(|odd| !has_real_edges_only(odd))
    })
}

/// Whether the terminators and fallthroughs account for all edges, but for those from outside of the function.
fn has_real_edges_only(odd: &OddEdges) -> bool {
    *odd == OddEdges { virtual_preds: odd.virtual_preds, ..OddEdges::default() }
}

/// Whether the edges are said as conversion says them: by the terminators and fallthroughs alone. Those of code that is
/// not reached can be said in several ways.
fn says_edges_once(bb: &BBCode) -> bool {
    bb.blocks().all(|block| {
        let last = bb.last_inst(block).and_then(|last| bb.inst(last));
        let stops = bb.next(block).is_none()
            && last.is_none_or(|last| last.stmt.falls_through() && last.ty != ircode::Type::Bottom);
        let goes_twice = bb.next(block).is_some() && last.is_some_and(|last| !last.stmt.falls_through());
        let odd = bb.block(block).and_then(|block| block.odd_edges());
        let plain = odd.is_none_or(has_real_edges_only);
        plain && !stops && !goes_twice
    })
}

/// Whether the result of a switch is used, which it has none of: the verifier allows that where control never comes,
/// but nothing stands for it once the switch is lowered.
fn uses_switches(bb: &BBCode) -> bool {
    let mut found = false;
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_use(|value| found |= matches!(bb.stmt(value), Some(Stmt::Switch(_))));
    }
    found
}

/// Law 2, and 3 for dumps, of code with switches in any layout: once it is laid out it comes back as it was, laying out
/// what is laid out changes nothing, and what was valid stays so on all of these ways.
///
/// # Errors
///
/// [`Broken`] with the way on which it did not.
pub fn comes_back(function: &Function<BBCode>, ways: &bbkit::Ways) -> Checked {
    const LAW: &str = "BBCode there and back";
    if function.body.verify().is_err() || uses_switches(&function.body) {
        return Ok(());
    }
    let refused = |way: &'static str| move |error: bbcode::ConversionError| broken(LAW, format!("{way}: {error}"));
    let different =
        |way: &str, one: &BBCode, other: &BBCode| broken(LAW, format!("{way}:\n{one}came back as\n{other}"));
    let laid_out = function.body.laid_out().map_err(refused("laying out"))?;
    if let Err(violations) = laid_out.verify() {
        let listing = bbcode::display_violations(&laid_out, &violations);
        return Err(broken(LAW, format!("not valid once laid out: {listing}\nbefore:\n{}", function.body)));
    }
    let again = laid_out.laid_out().map_err(refused("laying out again"))?;
    if again != laid_out {
        return Err(different("laying out again", &laid_out, &again));
    }
    let ir =
        (ways.to_ircode)(&laid_out).map_err(|error| broken(LAW, format!("bbcode → ircode: {error}:\n{laid_out}")))?;
    ir.verify().map_err(|violations| broken(LAW, format!("not valid as IRCode: {violations}")))?;
    if IRCode::try_from(&function.body).map_err(refused("bbcode → ircode"))? != ir {
        return Err(broken(LAW, "converting is not laying out and then converting"));
    }
    let back = (ways.to_bbcode)(&ir).map_err(refused("ircode → bbcode"))?;
    if says_edges_once(&laid_out) {
        if back != laid_out {
            return Err(different("bbcode → ircode → bbcode", &laid_out, &back));
        }
    } else {
        // The edges come back as conversion says them, which then is for good.
        let again = (ways.to_ircode)(&back).map_err(refused("bbcode → ircode again"))?;
        if again != ir || (ways.to_bbcode)(&again).map_err(refused("ircode → bbcode again"))? != back {
            return Err(different("bbcode → ircode → bbcode a second time", &laid_out, &back));
        }
    }
    let mut module = Module::new();
    module.add_function(function.clone()).map_err(|twice| broken(LAW, twice))?;
    let json = (ways.carry)(ircode::to_json(&module).map_err(|error| broken(LAW, error))?);
    let read: Module<BBCode> = ircode::from_json(&json).map_err(|error| broken(LAW, error))?;
    match read.functions() {
        [read] if *read == *function => Ok(()),
        _ => Err(broken(LAW, "JSON came back as something else")),
    }
}

/// What law 5 is checked of. Tests put broken ones in the place of the verifier and the passes, to see that they are
/// found.
#[derive(Clone, Copy, Debug)]
pub struct Downstream {
    /// Whether the verifier accepts code.
    pub accepts: fn(&IRCode) -> bool,
    /// The passes, each run alone.
    pub passes: &'static [Pass],
}

impl Default for Downstream {
    fn default() -> Self {
        Downstream { accepts: |body| body.verify().is_ok(), passes: passes::PASSES }
    }
}

/// Law 5: whatever can be done with a function that the verifier accepts, or refuses, is done or refused with an error:
/// printing, dumping, drawing, compacting, running, converting, each of the passes, and `pipeline`, passes one after
/// another. It is the panic of a caller that shows this law broken. What is accepted obeys laws 1 to 3 too.
///
/// # Errors
///
/// [`Broken`] where something that is verified is refused that must not be, or becomes invalid.
pub fn is_safe(
    function: &Function<IRCode>,
    args: &[Value],
    limits: Limits,
    downstream: Downstream,
    pipeline: &[&'static Pass],
) -> Checked {
    let mut module = Module::new();
    module.add_function(function.clone()).map_err(|twice| broken(SAFETY, twice))?;
    let versions = [(1, 5), (1, 10), (1, 12)].map(|(major, minor)| Style::Version(JuliaVersion::new(major, minor)));
    for style in [Style::Bbkit, Style::Julia].into_iter().chain(versions) {
        let _ = print_module(&module, style);
    }
    let _ = (ircode::to_json(&module), bbkit::dot(&module), function.body.to_string(), function.body.cfg.to_string());
    let verified = (downstream.accepts)(&function.body);
    if verified {
        round_trips(function, &bbkit::Ways::default())?;
    }
    let compacted = match function.body.new_nodes.is_empty() {
        true => Ok(function.body.clone()),
        false => function.body.compact().map(|compaction| compaction.ir),
    };
    match compacted {
        Ok(body) => module.replace_function(Function { body, ..function.clone() }),
        Err(error) if verified => return Err(broken(SAFETY, error)),
        Err(_) => return Ok(()),
    }
    if let (true, Some(Err(violations))) = (verified, module.functions().first().map(|function| function.body.verify()))
    {
        return Err(broken(SAFETY, format!("not valid once compacted: {violations}")));
    }
    let _ = Machine::with_limits(&module, limits).call(&function.name, args);
    let bbcode = match bbkit::to_bbcode(&module) {
        Ok(bbcode) => bbcode,
        Err(error) if verified => return Err(broken(SAFETY, error)),
        Err(_) => return Ok(()),
    };
    passes_are_safe(&bbcode, &function.name, args, limits, verified, downstream.passes, pipeline)
}

const SAFETY: &str = "verified means safe";

/// Law 5 for code keyed by ID.
///
/// # Errors
///
/// As [`is_safe`].
pub fn bbcode_is_safe(
    function: &Function<BBCode>,
    args: &[Value],
    limits: Limits,
    passes: &'static [Pass],
    pipeline: &[&'static Pass],
) -> Checked {
    let mut module = Module::new();
    module.add_function(function.clone()).map_err(|twice| broken(SAFETY, twice))?;
    let _ = (bbcode::print_module(&module), function.body.to_string(), ircode::to_json(&module));
    if uses_switches(&function.body) {
        return Ok(());
    }
    let verdict = function.body.verify();
    if let Err(violations) = &verdict {
        let _ = bbcode::display_violations(&function.body, violations);
    }
    comes_back(function, &bbkit::Ways::default())?;
    match bbkit::to_ircode(&module) {
        Ok(module) => {
            let _ = (print_module(&module, Style::Bbkit), bbkit::dot(&module));
            let _ = Machine::with_limits(&module, limits).call(&function.name, args);
        }
        Err(error) if verdict.is_ok() => return Err(broken(SAFETY, format!("{error}:\n{}", function.body))),
        Err(_) => {}
    }
    passes_are_safe(&module, &function.name, args, limits, verdict.is_ok(), passes, pipeline)
}

fn passes_are_safe(
    module: &Module<BBCode>,
    name: &ircode::Name,
    args: &[Value],
    limits: Limits,
    verified: bool,
    passes: &'static [Pass],
    pipeline: &[&'static Pass],
) -> Checked {
    let tables_hold = tables_verify(module).is_ok();
    let alone = passes.iter().map(|pass| std::slice::from_ref(pass).iter().collect::<Vec<_>>());
    for sequence in alone.chain([pipeline.to_vec()]) {
        let mut changed = module.clone();
        for (step, pass) in sequence.iter().enumerate() {
            if PassManager::new([*pass]).run(&mut changed, Some(name)).is_err() {
                break;
            }
            if verified {
                let so_far = || sequence.iter().take(step + 1).map(|pass| pass.name).collect::<Vec<_>>().join(", ");
                let after = |problem| broken(SAFETY, format!("after {}: {problem}", so_far()));
                bodies_verify(&changed).map_err(after)?;
                if tables_hold {
                    tables_verify(&changed).map_err(after)?;
                }
            }
        }
        if let Ok(changed) = bbkit::to_ircode(&changed) {
            let _ = Machine::with_limits(&changed, limits).call(name, args);
        }
    }
    Ok(())
}

pub(crate) fn all_verify(module: &Module<BBCode>) -> Result<(), String> {
    bodies_verify(module).and_then(|()| tables_verify(module))
}

fn bodies_verify(module: &Module<BBCode>) -> Result<(), String> {
    for function in module.functions() {
        if let Err(violations) = function.body.verify() {
            return Err(bbcode::display_violations(&function.body, &violations).to_string());
        }
    }
    Ok(())
}

fn tables_verify(module: &Module<BBCode>) -> Result<(), String> {
    ircode::verify_tables(module, |body| &body.argtypes).map_err(|violations| violations.to_string())
}

/// What can be seen of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The value to the last bit, or the error without its place.
    pub result: Result<String, String>,
    /// What was printed.
    pub printed: String,
    /// The arguments afterwards.
    pub args: String,
}

pub(crate) fn exact(value: &Value) -> String {
    value_to_json(value).map_or_else(|_| format!("{value:?}"), |json| json.to_string())
}

/// Runs a function. `None` if a limit ended the run: what is seen of it then says nothing.
pub fn outcome(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> Option<Outcome> {
    let mut printed = String::new();
    let mut machine = Machine::with_limits(module, limits).on_output(|text| printed.push_str(text));
    let called = machine.call(name, args);
    let exception = machine.exception().map(exact);
    drop(machine);
    let result = match called {
        Ok(value) => Ok(exact(&value)),
        Err(error) => match error.kind {
            limit if is_limit(&limit) => return None,
            other => Err(exception.unwrap_or_else(|| other.to_string())),
        },
    };
    Some(Outcome { result, printed, args: args.iter().map(exact).collect::<Vec<_>>().join(", ") })
}

/// What a run finds that is not of the type that its statement declares.
///
/// # Errors
///
/// A description of the value and of the statement.
pub fn types_are_true(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> Result<(), String> {
    match Machine::with_limits(module, limits).on_output(|_| ()).check_types().call(name, args) {
        Err(error) if matches!(error.kind, RunErrorKind::WrongType { .. }) => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Law 6: a pass takes verified code to verified code and keeps its meaning; where values are of the types that their
/// statements declare, they are so afterwards. `args` makes the arguments anew for each run, as a run may change them.
///
/// # Errors
///
/// [`Broken`] if what comes out is not verified, does something else or declares wrong types.
pub fn keeps_meaning(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    pass: &dyn Fn(&mut Module<BBCode>) -> PassResult,
) -> Checked {
    const LAW: &str = "passes keep the meaning";
    let Some(before) = outcome(module, name, &args(), limits) else { return Ok(()) };
    let mut changed = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    pass(&mut changed).map_err(|error: PassError| broken(LAW, error))?;
    all_verify(&changed).map_err(|problem| broken(LAW, problem))?;
    let changed = bbkit::to_ircode(&changed).map_err(|error| broken(LAW, error))?;
    match outcome(&changed, name, &args(), limits) {
        Some(after) if after != before => Err(broken(LAW, format!("{before:?} before, but {after:?} after"))),
        Some(_) => match types_are_true(&changed, name, &args(), limits) {
            Err(problem) if types_are_true(module, name, &args(), limits).is_ok() => Err(broken(LAW, problem)),
            _ => Ok(()),
        },
        None if runs_on(&changed, name, &args(), limits) => Err(broken(LAW, "it ended before, and goes on now")),
        None => Ok(()),
    }
}

/// So many times the steps of a program are enough for what passes make of it, and for its derivative.
const MORE: u64 = 100;

fn longer(limits: Limits) -> Limits {
    Limits { steps: limits.steps.saturating_mul(MORE), ..limits }
}

/// Whether a run needs many times the steps that it may have.
fn runs_on(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> bool {
    let called = Machine::with_limits(module, longer(limits)).on_output(|_| ()).call(name, args);
    called.is_err_and(|error| matches!(error.kind, RunErrorKind::StepLimit(_)))
}

/// Derives a module, adding the functions of the derivative.
pub type Derive<'d> = &'d dyn Fn(&mut Module<BBCode>) -> Result<passes::reverse_mode::DerivativeNames, PassError>;

/// Adds the forward-mode derivative of a function in so many directions to a module, and gives its name.
pub type DeriveForward<'d> = &'d dyn Fn(&mut Module<BBCode>, usize) -> Result<ircode::Name, PassError>;

/// Law 6 for a derivative: it gives the value of the function to the last bit, and a gradient that agrees with
/// differences and is the same when the pullback is called again. What is generated verifies, and obeys laws 1 to 3.
///
/// Nothing is said of a function that fails, or that cannot be differentiated, or that has a jump or a kink nearby.
///
/// # Errors
///
/// [`Broken`].
pub fn gradient_is_right(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
    derive: Derive<'_>,
) -> Checked {
    const LAW: &str = "reverse mode is right";
    // What is run may change its arguments.
    let fresh = || Machine::new(module).copies(args).map_err(|error| broken(LAW, error));
    let Some(Outcome { result: Ok(value), .. }) = outcome(module, name, &fresh()?, limits) else { return Ok(()) };
    let mut derived = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let Ok(names) = derive(&mut derived) else { return Ok(()) };
    all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
    let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
    for function in derived.functions() {
        round_trips(function, &bbkit::Ways::default())?;
    }
    let run = |name: &str, args: &[Value]| Machine::with_limits(&derived, longer(limits)).call(name, args);
    let both = match run(&names.value_and_gradient, &fresh()?) {
        Ok(both) => both,
        Err(error) if needs_memory(&error.kind) => return Ok(()),
        Err(error) => return Err(broken(LAW, error)),
    };
    let Some((first, gradient)) = both.as_tuple().and_then(<[Value]>::split_first) else {
        return Err(broken(LAW, format!("value and gradient are {both}")));
    };
    if exact(first) != value {
        return Err(broken(LAW, format!("the value is {value}, but {} with the gradient", exact(first))));
    }
    pullback_can_be_called_again(&run, &names, args, gradient).map_err(|problem| broken(LAW, problem))?;
    if types_are_true(module, name, &fresh()?, limits).is_ok() {
        types_are_true(&derived, &names.value_and_gradient, &fresh()?, limits)
            .map_err(|problem| broken(LAW, problem))?;
    }
    let report = bbkit::compare_with_differences(module, name, &fresh()?, gradient, limits)
        .map_err(|error| broken(LAW, error))?;
    // What is rounded inside is part of the law, but for arguments that are small themselves.
    let tolerance = if args.iter().any(is_small) { 1e-2 } else { 1e-5 };
    if report.worst() > tolerance && is_smooth(module, name, args, limits) {
        let problem = format!("gradient {gradient:?}, differences {:?}", report.differences);
        return Err(broken(LAW, problem));
    }
    Ok(())
}

/// Law 6 for a derivative, against dual numbers ([`dual`](crate::dual)): exact but for rounding, however the function
/// bends nearby.
///
/// Nothing is said of a function that fails, that cannot be differentiated, or that has a kink just there.
///
/// # Errors
///
/// [`Broken`].
pub fn gradient_is_dual(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
    derive: Derive<'_>,
) -> Checked {
    const LAW: &str = "reverse mode is dual numbers";
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, args, limits) else { return Ok(()) };
    let mut derived = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let Ok(names) = derive(&mut derived) else { return Ok(()) };
    let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
    let both = match Machine::with_limits(&derived, longer(limits)).call(&names.value_and_gradient, args) {
        Ok(both) => both,
        Err(error) if needs_memory(&error.kind) => return Ok(()),
        Err(error) => return Err(broken(LAW, error)),
    };
    let gradient = both.as_tuple().and_then(|both| both.get(1..)).unwrap_or_default();
    let single = args.iter().any(is_small);
    for (index, cotangent) in gradient.iter().enumerate() {
        let Some(cotangent) = cotangent.as_float() else { continue };
        let seeded: Option<Vec<Dual>> = args
            .iter()
            .enumerate()
            .map(|(at, arg)| {
                Some(Dual { value: arg.as_scalar()?.clone(), tangent: if at == index { 1.0 } else { 0.0 } })
            })
            .collect();
        let Some(seeded) = seeded else { return Ok(()) };
        let found = match dual(module, name, &seeded, limits.steps) {
            Ok(found) => found,
            Err(NoDerivative::Unknown(what)) => return Err(broken(LAW, format!("no formula for {what}"))),
            Err(NoDerivative::Fails | NoDerivative::Kink) => continue,
        };
        let tangent = found.result.tangent;
        let scale = found.largest.max(1.0);
        let tolerance = if single { 1e-3 } else { 1e-9 } * scale;
        if tangent.is_finite() && is_off(cotangent, tangent, tolerance) {
            return Err(broken(
                LAW,
                format!("the cotangent of _{} is {cotangent}, but {tangent} by dual numbers", index + 2),
            ));
        }
    }
    Ok(())
}

/// Law 6 for forward mode, against dual numbers: all directions at once, each exact but for rounding, and the value as
/// without them.
///
/// Nothing is said of a function that fails, that cannot be differentiated, or that has a kink just there.
///
/// # Errors
///
/// [`Broken`].
pub fn tangents_are_dual(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
    derive: DeriveForward<'_>,
) -> Checked {
    const LAW: &str = "forward mode is dual numbers";
    let Some(Outcome { result: Ok(value), .. }) = outcome(module, name, args, limits) else { return Ok(()) };
    let directions: Vec<usize> = (0..args.len()).filter(|&index| args[index].as_float().is_some()).collect();
    if directions.is_empty() {
        return Ok(());
    }
    let mut derived = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let Ok(derivative) = derive(&mut derived, directions.len()) else { return Ok(()) };
    all_verify(&derived).map_err(|problem| broken(LAW, problem))?;
    let derived = bbkit::to_ircode(&derived).map_err(|error| broken(LAW, error))?;
    for function in derived.functions() {
        round_trips(function, &bbkit::Ways::default())?;
    }
    let mut all = args.to_vec();
    for &direction in &directions {
        for (index, arg) in args.iter().enumerate() {
            let seed = if index == direction { 1.0 } else { 0.0 };
            let seed = arg.as_scalar().and_then(|arg| ircode::Scalar::from_float(arg.scalar_type(), seed));
            all.push(seed.map_or(Value::Nothing, Value::from));
        }
    }
    let found = match Machine::with_limits(&derived, longer(limits)).call(&derivative, &all) {
        Ok(found) => found,
        Err(error) if needs_memory(&error.kind) => return Ok(()),
        Err(error) => return Err(broken(LAW, error)),
    };
    let Some((first, tangents)) = found.as_tuple().and_then(<[Value]>::split_first) else {
        return Err(broken(LAW, format!("value and tangents are {found}")));
    };
    if exact(first) != value {
        return Err(broken(LAW, format!("the value is {value}, but {} with the tangents", exact(first))));
    }
    if types_are_true(module, name, args, limits).is_ok() {
        types_are_true(&derived, &derivative, &all, limits).map_err(|problem| broken(LAW, problem))?;
    }
    let single = args.iter().any(is_small);
    for (&index, tangent) in directions.iter().zip(tangents) {
        let Some(tangent) = tangent.as_float() else { continue };
        let seeded: Option<Vec<Dual>> = args
            .iter()
            .enumerate()
            .map(|(at, arg)| {
                Some(Dual { value: arg.as_scalar()?.clone(), tangent: if at == index { 1.0 } else { 0.0 } })
            })
            .collect();
        let Some(seeded) = seeded else { return Ok(()) };
        let found = match dual(module, name, &seeded, limits.steps) {
            Ok(found) => found,
            Err(NoDerivative::Unknown(what)) => return Err(broken(LAW, format!("no formula for {what}"))),
            Err(NoDerivative::Fails | NoDerivative::Kink) => continue,
        };
        let expected = found.result.tangent;
        let tolerance = if single { 1e-3 } else { 1e-9 } * found.largest.max(1.0);
        if expected.is_finite() && is_off(tangent, expected, tolerance) {
            let problem = format!("the tangent along _{} is {tangent}, but {expected} by dual numbers", index + 2);
            return Err(broken(LAW, problem));
        }
    }
    Ok(())
}

/// Whether a limit ended a run.
pub(crate) fn is_limit(kind: &RunErrorKind) -> bool {
    matches!(kind, RunErrorKind::StepLimit(_)) || needs_memory(kind)
}

/// Derivatives may need more memory than there is, and call deeper than is allowed, where the function does not.
fn needs_memory(kind: &RunErrorKind) -> bool {
    matches!(kind, RunErrorKind::MemoryLimit(_) | RunErrorKind::DepthLimit(_))
}

/// Whether a number is not what is expected, be it no number at all.
fn is_off(found: f64, expected: f64, tolerance: f64) -> bool {
    let off = (found - expected).abs();
    off.is_nan() || off > tolerance
}

fn is_small(value: &Value) -> bool {
    value.as_scalar().is_some_and(|scalar| scalar.scalar_type().is_float() && scalar.scalar_type().bits() < 64)
}

/// Calls a function of a module.
type Call<'c> = &'c dyn Fn(&str, &[Value]) -> Result<Value, exec::RunError>;

fn pullback_can_be_called_again(
    run: Call<'_>,
    names: &passes::reverse_mode::DerivativeNames,
    args: &[Value],
    gradient: &[Value],
) -> Result<(), String> {
    if args.iter().any(|arg| arg.as_scalar().is_none()) {
        // Shadows are handed in and added to: `check_gradient` of the library looks at these.
        return Ok(());
    }
    let pair = run(&names.forward, args).map_err(|error| error.to_string())?;
    let Some([value, trace]) = pair.as_tuple() else { return Err(format!("the forward pass gives {pair}")) };
    let Some(one) = value.as_scalar().and_then(|scalar| ircode::Scalar::from_float(scalar.scalar_type(), 1.0)) else {
        return Ok(());
    };
    let seed = [trace.clone(), Value::Scalar(one)];
    for call in ["first", "second"] {
        let cotangents = match run(&names.pullback, &seed) {
            Ok(cotangents) => cotangents,
            // One that takes back changes of memory says so.
            Err(error) if call == "second" && error.to_string().contains("can be called only once") => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let same = cotangents.as_tuple().is_some_and(|all| {
            all.len() == gradient.len() + 1 && all.iter().skip(1).zip(gradient).all(|(a, b)| exact(a) == exact(b))
        });
        if !same {
            return Err(format!("the {call} call of the pullback gives {cotangents} instead of {gradient:?}"));
        }
    }
    Ok(())
}

/// Whether the function looks smooth at these arguments: the differences to both sides agree.
fn is_smooth(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> bool {
    let at =
        |args: &[Value]| Machine::with_limits(module, limits).call(name, args).ok().and_then(|value| value.as_float());
    let Some(here) = at(args) else { return false };
    (0..args.len()).all(|index| {
        let Some(x) = args[index].as_float() else { return true };
        let small = is_small(&args[index]);
        [1e-2, 1e-4, 1e-6].iter().filter(|step| !small || **step > 1e-3).all(|&step| {
            let side = |step: f64| {
                let mut args = args.to_vec();
                let ty = args[index].as_scalar()?.scalar_type();
                args[index] = Value::Scalar(ircode::Scalar::from_float(ty, x + step)?);
                Some((at(&args)? - here) / step)
            };
            match (side(step * x.abs().max(1.0)), side(-step * x.abs().max(1.0))) {
                // The curvature of what the generator makes is less than this; a kink or a jump is more.
                (Some(right), Some(left)) => (right - left).abs() <= 0.2 * right.abs().max(left.abs()).max(1e-3),
                _ => false,
            }
        })
    })
}

/// Law 7: the same input gives the same bytes, whenever it is asked for.
///
/// # Errors
///
/// [`Broken`] with the first line that differs.
pub fn is_deterministic(make: &dyn Fn() -> String) -> Checked {
    let (first, second) = (make(), make());
    match first.lines().zip(second.lines()).find(|(a, b)| a != b) {
        Some((a, b)) => Err(broken("same input, same bytes", format!("{a:?} first, then {b:?}"))),
        None if first.len() != second.len() => Err(broken("same input, same bytes", "one is longer")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::memory;
    use crate::seeds::bytes;

    #[test]
    fn what_is_no_number_is_off() {
        assert!(is_off(f64::NAN, 1.0, 1e-9) && is_off(1.1, 1.0, 1e-9) && !is_off(1.0, 1.0 + 1e-10, 1e-9));
    }

    #[test]
    fn a_failure_prints_as_a_file_test() {
        for seed in 0..50 {
            let bytes = bytes(seed);
            let Ok(program) = memory(&mut arbitrary::Unstructured::new(&bytes)) else { continue };
            let broken = broken("a law", "two\nlines").on(&program.module, &program.args(), &["run - ARGS".into()]);
            let file = broken.file.clone().unwrap();
            let parsed = ircode::parse_module(&file).unwrap();
            assert_eq!(parsed.module, program.module);
            assert!(file.starts_with("# a law: two\n") && broken.to_string().ends_with(&file), "{broken}");
            // The arguments are read back as they were.
            let line = file.lines().last().unwrap();
            let json = line.strip_prefix("#$ run - --fn f --args '").and_then(|line| line.strip_suffix('\'')).unwrap();
            let json: Vec<serde_json::Value> = serde_json::from_str(json).unwrap();
            let machine = Machine::new(&program.module);
            let types = &program.module.function("f").unwrap().body.argtypes;
            for ((json, ty), arg) in json.iter().zip(&types[1..]).zip(program.args()) {
                let value = machine.value_from_json(json, ty).unwrap();
                assert_eq!(exact(&value), exact(&arg));
            }
        }
    }
}
