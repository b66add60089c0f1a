//! The rows of the table: each kernel at each of its sizes, measured.

use std::time::Duration;

use bbkit::exec::native::Effort;
use bbkit::ircode::{IRCode, Module, Style, from_json, print_module};
use kit::kernels::{Inputs, KERNELS, REFERENCES, Reference, checksum, inputs, kernel};
use serde_json::json;

use super::compiled::{Arguments, Measured, Program, programs};
use super::native::{Compiled, ENGINE};
use super::ours::{Argument, Ours, Phases, Trace};
use super::table;
use super::table::QUICK;
use super::tape::Taped;
use super::{Failure, clock, folder};

/// How often all rows are measured: what others do on the machine may slow it down for seconds, and where code and data
/// lie in memory matters. Ours is compiled anew each time; of everything the least time counts.
const PASSES: usize = 6;

/// How often contestants take turns in a row, and how long each is measured at a time.
const ROUNDS: usize = 5;
const TURN: u32 = 10;

/// The time of what was fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    /// In nanoseconds.
    pub(crate) ns: f64,
    /// How it was compiled.
    pub(crate) flags: &'static str,
}

impl Best {
    const NONE: Best = Best { ns: f64::INFINITY, flags: "" };

    fn take(&mut self, ns: f64, flags: &'static str) {
        if ns < self.ns {
            *self = Best { ns, flags };
        }
    }
}

/// A kernel at a size, measured.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Which, and what it has to give.
    pub(crate) reference: Reference,
    /// The fastest primal that a compiler makes.
    pub(crate) primal: Best,
    /// The fastest gradient by hand.
    pub(crate) hand: Best,
    /// The gradient on a tape, in nanoseconds.
    pub(crate) tape: f64,
    /// Our primal, in nanoseconds.
    pub(crate) value: f64,
    /// Our value and gradient, in nanoseconds.
    pub(crate) gradient: f64,
    /// The same, compiled with little effort.
    pub(crate) quick_gradient: f64,
    /// What ours executes and saves.
    pub(crate) trace: Trace,
    /// From text to a gradient that can be called.
    pub(crate) phases: Phases,
    /// The same with little effort.
    pub(crate) quick_phases: Phases,
}

impl Row {
    /// Takes what is faster in another measurement of the same.
    fn take(&mut self, other: Row) {
        self.primal.take(other.primal.ns, other.primal.flags);
        self.hand.take(other.hand.ns, other.hand.flags);
        self.tape = self.tape.min(other.tape);
        self.value = self.value.min(other.value);
        self.gradient = self.gradient.min(other.gradient);
        self.quick_gradient = self.quick_gradient.min(other.quick_gradient);
        take_phases(&mut self.phases, other.phases);
        take_phases(&mut self.quick_phases, other.quick_phases);
    }

    /// A time as a multiple of the fastest primal.
    pub(crate) fn ratio(&self, ns: f64) -> f64 {
        ns / self.primal.ns
    }
}

/// Measures the kernels whose names contain the filter.
pub(crate) fn run(filter: &str) -> Result<(), Failure> {
    let references: Vec<&Reference> = REFERENCES.iter().filter(|row| row.name.contains(filter)).collect();
    if references.is_empty() {
        return Err(format!("no kernel's name contains `{filter}`").into());
    }
    let mut programs = programs()?;
    let mut rows: Vec<Row> = Vec::new();
    for pass in 0..PASSES {
        for (number, reference) in references.iter().enumerate() {
            eprintln!("{} {}, {} of {PASSES}", reference.name, reference.n, pass + 1);
            let row = measured(reference, &mut programs)?;
            match rows.get_mut(number) {
                Some(known) => known.take(row),
                None => rows.push(row),
            }
        }
    }
    print!("{}", table::text(&rows, ENGINE));
    let path = folder().join("kernels.json");
    std::fs::write(&path, serde_json::to_string_pretty(&table::json(&rows, ENGINE))? + "\n")?;
    println!("\n{}", path.display());
    Ok(())
}

/// Measures only how long the way from text to gradient takes, many times: what a profiler may look at.
pub(crate) fn phases(filter: &str) -> Result<(), Failure> {
    for (effort, heading) in [(Effort::Full, ""), (Effort::Quick, QUICK)] {
        let mut all = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| kernel.name.contains(filter)) {
            all.push((kernel.name, least_phases(&text(kernel.name)?, effort, 500)?));
        }
        print!("{heading}{}", table::phases(all.iter().map(|(name, phases)| (*name, phases))));
    }
    let mut tiers = Vec::new();
    for kernel in KERNELS.iter().filter(|kernel| kernel.name.contains(filter)) {
        let text = text(kernel.name)?;
        let mut least = [f64::INFINITY; 2];
        for _ in 0..100 {
            let now = Compiled::tiers(&text)?;
            least.iter_mut().zip(now).for_each(|(least, now)| *least = least.min(now));
        }
        tiers.push((kernel.name, least));
    }
    print!("{}", table::tiers(&tiers));
    Ok(())
}

/// The least time of each phase.
fn least_phases(text: &str, effort: Effort, times: usize) -> Result<Phases, Failure> {
    let mut least = Compiled::phases(text, effort)?;
    for _ in 1..times {
        take_phases(&mut least, Compiled::phases(text, effort)?);
    }
    Ok(least)
}

fn take_phases(least: &mut Phases, others: Phases) {
    for (least, (_, now)) in least.iter_mut().zip(others) {
        least.1 = least.1.min(now);
    }
}

/// The text of what Julia made of a kernel: dumps are read where the bench starts, as text is what it is about.
pub(crate) fn text(name: &str) -> Result<String, Failure> {
    let path = format!("{}/tests/kernels/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let module: Module<IRCode> = from_json(&std::fs::read_to_string(path)?)?;
    Ok(print_module(&module, Style::Bbkit))
}

/// What is measured must be right: to a billionth of the reference, which has twelve digits.
pub(crate) fn check(what: &str, value: f64, expected: f64) -> Result<(), Failure> {
    // Written so that NaN fails.
    match (value - expected).abs() <= 1e-9 * expected.abs() {
        true => Ok(()),
        false => Err(format!("{what}: {value:?}, expected {expected:?}").into()),
    }
}

fn check_both(what: &str, reference: &Reference, value: f64, gradient: f64) -> Result<(), Failure> {
    let of = format!("{what} of {} {}", reference.name, reference.n);
    check(&format!("value, {of}"), value, reference.value)?;
    check(&format!("checksum of the gradient, {of}"), gradient, reference.checksum)
}

fn measured(reference: &Reference, programs: &mut [Program]) -> Result<Row, Failure> {
    let kernel = kernel(reference.name).ok_or("a row without kernel")?;
    let Inputs { x, c } = inputs(kernel, reference.n);
    let n = reference.n;
    let files = Arguments::write(reference.name, n, &x, &c)?;
    let taped = Taped::find(reference.name).ok_or("a kernel that the tape does not have")?;
    let text = text(reference.name)?;
    let (ours, phases) = (Compiled::of_text(&text, Effort::Full)?, least_phases(&text, Effort::Full, 20)?);
    let (quick, quick_phases) = (Compiled::of_text(&text, Effort::Quick)?, least_phases(&text, Effort::Quick, 20)?);
    let arguments = [Argument::Vector(x.clone()), Argument::Vector(c.clone()), Argument::Integer(n)];
    let (mut session, mut quick) = (ours.session(&arguments)?, quick.session(&arguments)?);

    // First that everybody is right.
    for program in programs.iter_mut() {
        let Measured { value, .. } = program.measure(false, &files, 0)?;
        check(&format!("{} of {} {n}", program.flags, reference.name), value, reference.value)?;
        if program.gradients {
            let Measured { value, checksum, .. } = program.measure(true, &files, 0)?;
            check_both(program.flags, reference, value, checksum)?;
        }
    }
    let (value, gradient) = taped.gradient(&x, &c, n);
    check_both("tape", reference, value, checksum(&gradient))?;
    check("ours", session.value()?, reference.value)?;
    let value = session.gradient()?;
    check_both("ours", reference, value, checksum(session.partials()))?;
    let value = quick.gradient()?;
    check_both("ours, compiled quickly,", reference, value, checksum(quick.partials()))?;

    let (mut primal, mut hand) = (Best::NONE, Best::NONE);
    let [mut tape, mut value, mut gradient, mut quick_gradient] = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        for program in programs.iter_mut() {
            primal.take(program.measure(false, &files, TURN)?.ns, program.flags);
            if program.gradients {
                hand.take(program.measure(true, &files, TURN)?.ns, program.flags);
            }
        }
        let turn = Duration::from_millis(TURN.into());
        tape = tape.min(clock::least(turn, || drop(std::hint::black_box(taped.gradient(&x, &c, n)))));
        // What takes long varies little.
        if value.max(gradient) < 1e8 || value.is_infinite() {
            let mut failed = None;
            value = value.min(clock::least(turn, || failed = session.value().err().or(failed.take())));
            gradient = gradient.min(clock::least(turn, || failed = session.gradient().err().or(failed.take())));
            quick_gradient =
                quick_gradient.min(clock::least(turn, || failed = quick.gradient().err().or(failed.take())));
            if let Some(error) = failed {
                return Err(error);
            }
        }
    }
    drop((session, quick));
    let trace = Ours::trace(&text, &arguments)?;
    Ok(Row { reference: *reference, primal, hand, tape, value, gradient, quick_gradient, trace, phases, quick_phases })
}

/// A row as JSON.
pub(crate) fn json(row: &Row, enzyme: f64) -> serde_json::Value {
    let phases = |phases: &Phases| -> serde_json::Map<String, serde_json::Value> {
        phases.iter().map(|(phase, ns)| ((*phase).into(), json!(ns / 1e3))).collect()
    };
    json!({
        "kernel": row.reference.name,
        "n": row.reference.n,
        "primal_us": row.primal.ns / 1e3,
        "primal_flags": row.primal.flags,
        "our_primal": row.ratio(row.value),
        "our_gradient": row.ratio(row.gradient),
        "quick_gradient": row.ratio(row.quick_gradient),
        "hand": row.ratio(row.hand.ns),
        "hand_flags": row.hand.flags,
        "tape": row.ratio(row.tape),
        "enzyme": enzyme,
        "statements": row.trace.statements,
        "gradient_statements": row.trace.gradient_statements,
        "values_saved": row.trace.saved,
        "trace_bytes": 8 * row.trace.saved,
        "peak_bytes": row.trace.peak,
        "latency_us": phases(&row.phases),
        "quick_latency_us": phases(&row.quick_phases),
    })
}
