//! Functions as people write them, exported by Julia with all that they call: our primal and our value with gradient
//! beside Julia's own code for the primal, in one run. `cargo bench --bench julia -- NAME` measures those of that name.
//!
//! Julia runs as `scripts/julia` finds it; its value is what ours must be before anything is timed.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench that cannot run should stop, and prints what it measures"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bbkit::Differentiate;
use bbkit::compiled::{Argument, Output};
use bbkit::exec::Limits;
use bbkit::ircode::{IRCode, Module, from_json};
use serde_json::Value as Json;

const LIMITS: Limits = Limits { steps: u64::MAX, memory: 4 << 30, depth: 100_000 };

/// How far from Julia's value ours may be: libraries add in another order.
const TOLERANCE: f64 = 1e-9;

/// Calls that are timed together take so long, and this many times as long is timed.
const BATCH: Duration = Duration::from_millis(2);
const BATCHES: usize = 30;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("julia");
    fs::create_dir_all(&folder).expect("a folder for what Julia writes");
    let run = Command::new(root.join("scripts/julia"))
        .current_dir(root)
        .args(["--startup-file=no", "benches/julia.jl"])
        .arg(&folder)
        .output()
        .expect("scripts/julia can be run");
    if !run.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&run.stderr).lines().next().unwrap_or("no Julia"));
        return;
    }
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let files = fs::read_dir(&folder).expect("the folder can be read").map(|entry| entry.expect("a file").path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "args")).collect();
    files.sort();
    println!(
        "as multiples of Julia's time for the primal\n{:<18}{:>10}{:>10}{:>10}",
        "", "Julia µs", "primal", "gradient"
    );
    for file in files {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let case = Case::read(&file);
        let code = fs::read_to_string(file.with_extension("json")).expect("the dump can be read");
        let module: Module<IRCode> = from_json(&code).expect("a dump");
        println!(
            "{name:<18}{:>10.2}{:>10}{:>10}",
            case.julia / 1e3,
            case.shown(case.primal(&module)),
            case.shown(case.gradient(&module))
        );
    }
}

/// An argument.
enum Given {
    Float(f64),
    Integer(i64),
    Vector(Vec<f64>),
    /// With its dimensions.
    Matrix(Vec<f64>, [usize; 2]),
}

impl Given {
    fn read(json: &Json) -> Given {
        let floats = |json: &Json| -> Vec<f64> {
            json.as_array().into_iter().flatten().map(|number| number.as_f64().expect("a float")).collect()
        };
        match json {
            Json::Array(columns) if columns.first().is_some_and(Json::is_array) => {
                let numbers: Vec<f64> = columns.iter().flat_map(floats).collect();
                let dims = [numbers.len() / columns.len(), columns.len()];
                Given::Matrix(numbers, dims)
            }
            Json::Array(_) => Given::Vector(floats(json)),
            number => match number.as_i64() {
                Some(integer) => Given::Integer(integer),
                None => Given::Float(number.as_f64().expect("a number")),
            },
        }
    }

    fn passed(&self) -> Argument<'_> {
        match self {
            Given::Float(float) => Argument::Float64(*float),
            Given::Integer(integer) => Argument::Int64(*integer),
            Given::Vector(numbers) => Argument::Floats(numbers),
            Given::Matrix(numbers, dims) => Argument::Array(numbers, dims),
        }
    }

    /// Room for its part of the gradient; none for an integer.
    fn zeros(&self) -> Option<Vec<f64>> {
        match self {
            Given::Integer(_) => None,
            Given::Float(_) => Some(vec![0.0]),
            Given::Vector(numbers) | Given::Matrix(numbers, _) => Some(vec![0.0; numbers.len()]),
        }
    }
}

/// A function on arguments, with what Julia says of it.
struct Case {
    name: String,
    args: Vec<Given>,
    value: f64,
    /// Nanoseconds a call.
    julia: f64,
}

impl Case {
    fn read(file: &Path) -> Case {
        let text = fs::read_to_string(file).expect("what Julia wrote");
        let mut lines = text.lines();
        let mut line = || lines.next().expect("four lines");
        let name = format!("Main.Functions.{}", line());
        let args: Json = serde_json::from_str(line()).expect("arguments");
        let args = args.as_array().into_iter().flatten().map(Given::read).collect();
        let mut number = || line().parse().expect("a number");
        Case { name, args, value: number(), julia: number() }
    }

    /// Nanoseconds a call, or why there is no code.
    fn primal(&self, module: &Module<IRCode>) -> Result<f64, String> {
        let function = module.primal(&self.name).limits(LIMITS).compile().map_err(|error| error.to_string())?;
        let passed = || self.args.iter().map(Given::passed).collect::<Vec<_>>();
        let value = function.call(passed()).map_err(|error| error.to_string())?;
        self.expect(value.float(0));
        Ok(least(|| drop(function.call(passed()))))
    }

    fn gradient(&self, module: &Module<IRCode>) -> Result<f64, String> {
        let builder = module.gradient(&self.name).limits(LIMITS).reassociate(true).flush_subnormals(true);
        let gradient = builder.compile().map_err(|error| error.to_string())?;
        let mut partials: Vec<Vec<f64>> = self.args.iter().filter_map(Given::zeros).collect();
        let mut call = || {
            let places: Vec<Output<'_>> = partials.iter_mut().map(|part| Output::Numbers(part)).collect();
            gradient.call(self.args.iter().map(Given::passed).collect::<Vec<_>>(), places)
        };
        self.expect(Some(call().map_err(|error| error.to_string())?));
        Ok(least(|| drop(call())))
    }

    fn expect(&self, value: Option<f64>) {
        let value = value.unwrap_or(f64::NAN);
        let off = (value - self.value).abs() / self.value.abs().max(1.0);
        assert!(off <= TOLERANCE, "{}: {value}, in Julia {}", self.name, self.value);
    }

    fn shown(&self, time: Result<f64, String>) -> String {
        match time {
            Ok(time) => format!("{:.2}", time / self.julia),
            Err(why) => format!("  {}", why.lines().next().unwrap_or("refused")),
        }
    }
}

/// The least time of a call, in nanoseconds.
fn least(mut call: impl FnMut()) -> f64 {
    call();
    let once = Instant::now();
    call();
    let calls = BATCH.as_nanos().div_ceil(once.elapsed().as_nanos().max(1)).clamp(1, 100_000) as u32;
    let batches = (0..BATCHES).map(|_| {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    });
    batches.fold(f64::INFINITY, f64::min)
}
