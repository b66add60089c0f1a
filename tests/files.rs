//! File tests: every `.ir` file below `tests/` says in comments what must hold of it.
//!
//! - `# grad f [1.5, 3] = 3.375 [6.75, null]`: the value and the gradient of `f` there. The numbers come from
//!   elsewhere: closed forms, or Julia's. An array is a list, a matrix a list of its columns, a tuple a list of its
//!   elements.
//! - `# jvp f [1.5, 3] [1, null] = 3.375 6.75`: the value of `f` and its derivative in a direction, or behind one
//!   another those in several. Tangents as `bbkit jvp` takes them.
//! - `# Waits until …` as the first line: what the file says does not hold yet, and why.
//! - `#$ opt - --passes mem2reg`: a command line, `-` being the file, without what starts with `#$`. What it prints
//!   stands below it, behind `#> ` what goes to standard output, behind `#! ` what goes to standard error; `#= 1` is an
//!   exit status other than 0. `BBKIT_BLESS=1` writes these lines.
//!
//! And of every function that a file holds and the verifier accepts, the laws hold: it comes back from every way,
//! nothing panics on it, forward mode gives the gradient of each point, passes keep its meaning at the points given,
//! and differentiating it twice gives the same bytes.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use bbcode::BBCode;
use bbkit::{Input, Ways};
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Style, Type, print_module};
use kit::file_tests::{files, shell_words};
use kit::laws::{Downstream, gradient_is_right, is_deterministic, is_safe, keeps_meaning, round_trips};
use libtest_mimic::{Arguments, Failed, Trial};
use passes::reverse_mode::differentiate;
use passes::{PASSES, PassManager, Run};
use serde_json::Value as Json;

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let trials = files().into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let waits = fs::read_to_string(&path).unwrap().starts_with("# Waits until ");
        Trial::test(name, move || check(&path)).with_ignored_flag(waits)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let points: Vec<Point> = text.lines().filter_map(|line| line.strip_prefix("# grad ")).map(Point::read).collect();
    let directions: Vec<Direction> =
        text.lines().filter_map(|line| line.strip_prefix("# jvp ")).map(Direction::read).collect();
    let commands = text.lines().any(|line| line.starts_with("#$ "));
    if points.is_empty() && directions.is_empty() && !commands {
        return Err("the file says nothing that must hold".into());
    }
    let tolerance = if text.contains("Float32") { 1e-5 } else { 1e-12 };
    for point in &points {
        point.check(path, tolerance)?;
    }
    for direction in &directions {
        direction.check(path, tolerance)?;
    }
    if commands {
        check_commands(path, &text)?;
    }
    check_laws(path, &points, tolerance)
}

/// A point at which the value and the gradient are known.
struct Point {
    function: String,
    args: String,
    value: String,
    gradient: String,
}

impl Point {
    fn read(line: &str) -> Point {
        let (call, result) = line.split_once(" = ").unwrap();
        let (function, args) = call.split_once(' ').unwrap();
        let (value, gradient) = result.split_once(' ').unwrap();
        Point { function: function.into(), args: args.into(), value: value.into(), gradient: gradient.into() }
    }

    fn check(&self, path: &Path, tolerance: f64) -> Result<(), Failed> {
        let output = Command::new(env!("CARGO_BIN_EXE_bbkit"))
            .args(["grad", path.to_str().unwrap(), "--fn", &self.function, "--args", &self.args, "--json"])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let found: Json = serde_json::from_slice(&output.stdout)?;
        let close = |expected: &str, found: &Json| match (expected, found) {
            ("null", found) => found.is_null(),
            (_, Json::String(text)) => *text == expected.replace("Inf", "Infinity"),
            (_, found) => {
                let (Ok(expected), Some(found)) = (expected.parse::<f64>(), found.as_f64()) else { return false };
                (expected - found).abs() <= tolerance * expected.abs().max(1.0)
            }
        };
        let expected = [self.value.clone(), self.gradient.clone()].map(|text| flattened(&text));
        let found = [&found["value"], &found["gradient"]].map(|value| {
            let (mut marks, mut leaves) = (String::new(), Vec::new());
            flatten(value, &mut marks, &mut leaves);
            (marks, leaves)
        });
        let right = expected.iter().zip(&found).all(|((marks, leaves), (other_marks, values))| {
            marks == other_marks
                && leaves.len() == values.len()
                && leaves.iter().zip(values).all(|(expected, found)| close(expected, found))
        });
        match right {
            true => Ok(()),
            false => Err(format!("{} {}: expected {expected:?}, found {found:?}", self.function, self.args).into()),
        }
    }
}

impl Point {
    /// Checks that forward mode gives the same: in the direction of each argument that is a number.
    fn check_forward(&self, module: &Module<IRCode>, args: &[Value], tolerance: f64) -> Result<(), Failed> {
        let text = self.gradient.replace("NaN", "\"NaN\"").replace("-Inf", "\"-Infinity\"");
        let text = text.replace("Inf", "\"Infinity\"").replace("-\"Infinity\"inity", "-Infinity");
        let Json::Array(gradient) = serde_json::from_str(&text)? else {
            return Err(format!("{}: the gradient is no array", self.gradient).into());
        };
        let numbers: Vec<usize> =
            (0..args.len()).filter(|&index| args[index].as_float().is_some() && !gradient[index].is_null()).collect();
        let machine = Machine::new(module);
        let unit = |index: usize, number: usize, arg: &Value| {
            let zero = machine.zero_tangent(arg, &arg.type_of()).unwrap();
            match arg.as_scalar().and_then(|arg| ircode::Scalar::from_float(arg.scalar_type(), 1.0)) {
                Some(one) if index == number => Value::from(one),
                _ => zero,
            }
        };
        let directions: Vec<Vec<Value>> = numbers
            .iter()
            .map(|&number| args.iter().enumerate().map(|(index, arg)| unit(index, number, arg)).collect())
            .collect();
        if directions.is_empty() {
            return Ok(());
        }
        let found = bbkit::jvp(module, &self.function, args, &directions, LIMITS)?;
        for (number, tangent) in numbers.into_iter().zip(&found.tangents) {
            let tangent = exec::value_to_json(tangent).map_err(|error| error.to_string())?;
            if !close(&tangent, &gradient[number], tolerance) {
                let expected = &gradient[number];
                let call = format!("{} {}", self.function, self.args);
                return Err(format!("{call}: forward mode gives {tangent} for _{}, not {expected}", number + 2).into());
            }
        }
        Ok(())
    }
}

/// A point and directions in which the derivatives are known.
struct Direction {
    function: String,
    /// The arguments, and the tangents for each direction.
    given: Vec<Json>,
    /// The value, and its tangent in each direction.
    expected: Vec<Json>,
}

impl Direction {
    fn read(line: &str) -> Direction {
        let all = |text: &str| serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap();
        let (call, result) = line.split_once(" = ").unwrap();
        let (function, given) = call.split_once(' ').unwrap();
        Direction { function: function.into(), given: all(given), expected: all(result) }
    }

    fn check(&self, path: &Path, tolerance: f64) -> Result<(), Failed> {
        let (args, directions) = self.given.split_first().unwrap();
        let args = args.to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bbkit"));
        command.args(["jvp", path.to_str().unwrap(), "--fn", &self.function, "--args", &args, "--json"]);
        for direction in directions {
            command.args(["--tangents", &direction.to_string()]);
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let found: Json = serde_json::from_slice(&output.stdout)?;
        let mut values = vec![found["value"].clone()];
        match directions {
            [_] => values.push(found["tangent"].clone()),
            _ => values.extend(found["tangents"].as_array().unwrap().clone()),
        }
        match values.len() == self.expected.len()
            && values.iter().zip(&self.expected).all(|(a, b)| close(a, b, tolerance))
        {
            true => Ok(()),
            false => Err(format!("{} {args}: expected {:?}, found {values:?}", self.function, self.expected).into()),
        }
    }
}

/// Whether two values are the same but for rounding.
fn close(a: &Json, b: &Json, tolerance: f64) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= tolerance * b.abs().max(1.0)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b, tolerance)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| close(a, b, tolerance)))
        }
        (a, b) => a == b,
    }
}

/// The brackets, braces, colons and commas of nested lists and objects, and what stands between them.
fn flattened(text: &str) -> (String, Vec<String>) {
    let is_mark = |c: char| matches!(c, '[' | ',' | ']' | '{' | ':' | '}');
    let leaves = text.split(is_mark).map(str::trim).filter(|leaf| !leaf.is_empty()).map(str::to_string);
    (text.chars().filter(|&c| is_mark(c)).collect(), leaves.collect())
}

/// The same of what was printed.
fn flatten(value: &Json, marks: &mut String, leaves: &mut Vec<Json>) {
    let (open, close) = match value {
        Json::Array(_) => ('[', ']'),
        Json::Object(_) => ('{', '}'),
        leaf => return leaves.push(leaf.clone()),
    };
    let elements = value.as_array().into_iter().flatten().map(|part| (None, part));
    let members = value.as_object().into_iter().flatten().map(|(key, part)| (Some(key), part));
    marks.push(open);
    for (i, (key, part)) in elements.chain(members).enumerate() {
        marks.push_str(if i > 0 { "," } else { "" });
        if let Some(key) = key {
            leaves.push(Json::String(format!("\"{key}\"")));
            marks.push(':');
        }
        flatten(part, marks, leaves);
    }
    marks.push(close);
}

fn check_commands(path: &Path, text: &str) -> Result<(), Failed> {
    let lines: Vec<&str> = text.lines().collect();
    let is_expectation = |line: &&str| ["#$ ", "#>", "#!", "#="].iter().any(|mark| line.starts_with(mark));
    let input: String = lines.iter().filter(|line| !is_expectation(line)).flat_map(|line| [line, "\n"]).collect();
    let mut written = input.trim_end().to_string() + "\n";
    for line in lines.iter().filter(|line| line.starts_with("#$ ")) {
        written.push_str(&format!("\n{line}\n"));
        let words = shell_words(line.trim_start_matches("#$ "));
        let mut child = Command::new(env!("CARGO_BIN_EXE_bbkit"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // A command that does not read all of its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input.trim_end().as_bytes());
        let output = child.wait_with_output()?;
        for (mark, bytes) in [("#>", &output.stdout), ("#!", &output.stderr)] {
            for line in String::from_utf8_lossy(bytes).lines() {
                written.push_str(format!("{mark} {line}").trim_end());
                written.push('\n');
            }
        }
        if let Some(code) = output.status.code().filter(|&code| code != 0) {
            written.push_str(&format!("#= {code}\n"));
        }
    }
    let squeezed = |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    if squeezed(&written) == squeezed(text) {
        return Ok(());
    }
    if std::env::var_os("BBKIT_BLESS").is_some() {
        fs::write(path, written)?;
        return Ok(());
    }
    let new: Vec<&str> = written.lines().filter(|line| !line.is_empty()).collect();
    let old: Vec<&str> = lines.iter().copied().filter(|line| !line.is_empty()).collect();
    let at = new.iter().zip(&old).take_while(|(a, b)| a == b).count();
    let shown = |lines: &[&str]| lines.iter().skip(at).take(8).map(|line| format!("  {line}\n")).collect::<String>();
    Err(format!("expected\n{}but it is\n{}(BBKIT_BLESS=1 takes that over)", shown(&old), shown(&new)).into())
}

const LIMITS: Limits = Limits { steps: 1_000_000, memory: 1 << 26, depth: 1_000 };

fn check_laws(path: &Path, points: &[Point], tolerance: f64) -> Result<(), Failed> {
    let Ok(mut input) = Input::read(path.to_str().unwrap()) else { return Ok(()) };
    let valid = |module: &Module<IRCode>| module.functions().iter().all(|function| function.body.verify().is_ok());
    if !valid(&input.module) {
        return Ok(());
    }
    if let (true, Some(point)) = (input.is_listing(), points.first()) {
        input.module.rename_function("", point.function.as_str()).map_err(|error| error.to_string())?;
    }
    for function in input.module.functions() {
        round_trips(function, &Ways::default())?;
    }
    if input.module.functions().iter().any(|function| !function.body.new_nodes.is_empty()) {
        return Ok(());
    }
    for point in points {
        let name = point.function.as_str();
        let Some(args) = arguments(&input.module, point) else { continue };
        let module = bbkit::specialized(&input.module, name, &args)?;
        // Made anew for each run, which may change them.
        let fresh = || arguments(&input.module, point).unwrap();
        is_safe(module.function(name).unwrap(), &fresh(), LIMITS, Downstream::default(), &[])?;
        for pass in PASSES.iter().filter(|pass| pass.is_exact && matches!(pass.run, Run::Function(_))) {
            let run = |module: &mut Module<BBCode>| PassManager::new([pass]).verify_each(true).run(module, None);
            keeps_meaning(&module, name, &fresh, LIMITS, &run).map_err(|broken| format!("{}: {broken}", pass.name))?;
        }
        let derive = |module: &mut Module<BBCode>| differentiate(module, &name.into());
        gradient_is_right(&module, name, &fresh(), LIMITS, &derive)?;
        point.check_forward(&module, &fresh(), tolerance)?;
        is_deterministic(&|| {
            let mut module = bbkit::to_bbcode(&module).unwrap();
            let _ = derive(&mut module);
            let module = bbkit::to_ircode(&module).unwrap();
            print_module(&module, Style::Bbkit) + &ircode::to_json(&module).unwrap()
        })?;
    }
    Ok(())
}

/// The arguments of a point, if the file says in which order they come.
fn arguments(module: &Module<IRCode>, point: &Point) -> Option<Vec<Value>> {
    let function = module.function(&point.function)?;
    let types = passes::argument_types(module, function);
    let json: Vec<Json> = serde_json::from_str(&point.args).ok()?;
    if json.len() > 1 && function.body.argtypes.iter().skip(1).all(Type::is_unknown) {
        return None;
    }
    let machine = Machine::new(module);
    let value = |(json, ty): (&Json, &Type)| machine.value_from_json(json, ty).ok();
    (json.len() == types.len()).then(|| json.iter().zip(&types).map(value).collect()).flatten()
}
