//! Native code against the interpreter, and the interpreter's compact form against itself, on every function that the
//! other tests run, and on its derivatives: what file tests differentiate or run at the points that they name, the
//! cases of Swift's tests, the kernels and the functions that go through Julia's library.
//!
//! `native/refused.txt` says what is not compiled, and why; anything else that is not is a failure. `BBKIT_BLESS=1
//! scripts/corpora` writes it: that takes all of the library's functions, where each run of the tests takes some.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]
#![allow(clippy::print_stdout, reason = "what is asked for of one file is printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bbkit::Input;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Type, from_json};
use kit::compact::compact_agrees;
use kit::file_tests::{files, shell_words};
use kit::kernels::{KERNELS, inputs};
use kit::library::{self, Case};
use kit::native::{Verdict, native_agrees};
use kit::swift;
use passes::forward_mode;
use passes::reverse_mode::{Carrier, Options, derive};
use serde_json::Value as Json;

const LIMITS: Limits = Limits { steps: 2_000_000, memory: 1 << 26, depth: 1_000 };
/// Where each statement is shown.
const SHOWN: Limits = Limits { steps: 3_000, ..LIMITS };

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

/// What became of each program of a file: the program, how it was derived, and what.
type Found = Vec<(String, Result<Verdict, String>)>;

/// Makes the arguments of a function anew.
type Args<'a> = dyn Fn(&Module<IRCode>) -> Option<Vec<Value>> + 'a;

/// Runs a function natively, and its derivatives if it is to be differentiated.
fn check(module: &Module<IRCode>, name: &str, args: &Args<'_>, differentiate: bool, found: &mut Found, label: &str) {
    let Some(first) = args(module) else { return };
    // A listing does not show all types.
    let Ok(module) = bbkit::specialized(module, name, &first) else { return };
    if module.functions().iter().any(|function| function.body.verify().is_err() || !function.body.new_nodes.is_empty())
    {
        return;
    }
    let again = || args(&module).unwrap();
    let mut run = |module: &Module<IRCode>, name: &str, args: &dyn Fn() -> Vec<Value>, way: &str| {
        if let Err(broken) = compact_agrees(module, name, args, SHOWN, &|_| ()) {
            found.push((format!("{label}{way}"), Err(broken.to_string())));
        }
        let verdict = native_agrees(module, name, args, LIMITS, &|_| ()).map_err(|broken| broken.to_string());
        found.push((format!("{label}{way}"), verdict));
    };
    run(&module, name, &again, "");
    if !differentiate || module.function(name).is_none_or(|function| function.varargs) {
        return;
    }
    for (carrier, way) in [(Carrier::Stacks, ", gradient"), (Carrier::LinearMaps, ", gradient with linear maps")] {
        let mut derived = bbkit::to_bbcode(&module).unwrap();
        let Ok(derivative) = derive(&mut derived, &name.into(), &Options { carrier, ..Options::default() }) else {
            continue;
        };
        let derived = bbkit::to_ircode(&derived).unwrap();
        if derived.function(&derivative.names.value_and_gradient).is_some() {
            run(&derived, &derivative.names.value_and_gradient, &again, way);
        }
    }
    let types: Vec<Type> = first.iter().map(Value::type_of).collect();
    let options = forward_mode::Options::default();
    if let Ok((derived, name)) = bbkit::jvp_function(&module, name, &types, &options) {
        let with_tangents = || {
            let args = again();
            let machine = Machine::new(&module);
            let zeros = machine.zero_tangents(&args, &types).unwrap();
            // Some direction: the numbers of each tangent are 1.
            let tangents = machine.with_floats(&zeros, |_| 1.0).unwrap();
            args.into_iter().chain(tangents).collect()
        };
        run(&derived, &name, &with_tangents, ", forward");
    }
}

/// What a file test says of one function: its arguments, and whether it is differentiated.
struct Call {
    function: String,
    args: String,
    differentiate: bool,
}

fn calls(text: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for line in text.lines() {
        let point = line.strip_prefix("# grad ").or_else(|| line.strip_prefix("# jvp "));
        if let Some((function, rest)) = point.and_then(|point| point.split_once(' ')) {
            let args = serde_json::Deserializer::from_str(rest).into_iter::<Json>().next().unwrap().unwrap();
            calls.push(Call { function: function.into(), args: args.to_string(), differentiate: true });
        }
        let Some(words) = line.strip_prefix("#$ ").map(shell_words) else { continue };
        let differentiate = ["grad", "jvp", "vjp", "hvp", "jacobian"].contains(&words[0].as_str());
        if words.get(1).map(String::as_str) != Some("-") || !differentiate && words[0] != "run" {
            continue;
        }
        let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
        if words.iter().any(|word| word == "--params" || word == "--rules") {
            continue;
        }
        let args = option("--args").unwrap_or_else(|| "[]".into());
        calls.push(Call { function: option("--fn").unwrap_or_default(), args, differentiate });
    }
    calls.dedup_by(|a, b| a.function == b.function && a.args == b.args && a.differentiate == b.differentiate);
    calls
}

/// The arguments that JSON gives, if the file says in which order they come.
fn arguments(module: &Module<IRCode>, function: &str, json: &str) -> Option<Vec<Value>> {
    let function = module.function(function)?;
    let types = passes::argument_types(module, function);
    let json: Vec<Json> = serde_json::from_str(json).ok()?;
    if json.len() > 1 && function.body.argtypes.iter().skip(1).all(Type::is_unknown) {
        return None;
    }
    let machine = Machine::new(module);
    let value = |(json, ty): (&Json, &Type)| machine.value_from_json(json, ty).ok();
    (json.len() == types.len()).then(|| json.iter().zip(&types).map(value).collect()).flatten()
}

fn check_file(path: &Path) -> Found {
    let mut found = Vec::new();
    let Ok(input) = Input::read(path.to_str().unwrap()) else { return found };
    let text = fs::read_to_string(path).unwrap();
    let mut seen = Vec::new();
    for call in calls(&text) {
        let mut module = input.module.clone();
        let mut function = call.function.clone();
        if input.is_listing() {
            function = if function.is_empty() { "listing".into() } else { function };
            module.rename_function("", function.as_str()).unwrap();
        } else if function.is_empty() {
            let [only] = module.functions() else { continue };
            function = only.name.to_string();
        }
        if seen.contains(&(function.clone(), call.args.clone(), call.differentiate)) {
            continue;
        }
        seen.push((function.clone(), call.args.clone(), call.differentiate));
        let args = |module: &Module<IRCode>| arguments(module, &function, &call.args);
        let label = format!("{function} {}", call.args);
        check(&module, &function, &args, call.differentiate, &mut found, &label);
    }
    found
}

fn check_swift(file: &str) -> Found {
    let mut found = Vec::new();
    let module = swift::program(&format!("{file}.ir"));
    let cases = swift::list("cases.json");
    for entry in swift::list("table.json").iter().filter(|entry| entry["file"] == file) {
        for case in cases.iter().filter(|case| swift::is_for(entry, case)) {
            let function = entry["function"].as_str().unwrap();
            let json = Json::from(swift::arguments(entry, case)).to_string();
            let args = |module: &Module<IRCode>| arguments(module, function, &json);
            check(
                &module,
                function,
                &args,
                entry["rules"] != true,
                &mut found,
                &format!("{function} {}", case["inputs"]),
            );
        }
    }
    found
}

fn check_library(case: &Case) -> Found {
    let mut found = Vec::new();
    let json = case.expected["args"].to_string();
    let args = |module: &Module<IRCode>| arguments(module, &case.function, &json);
    check(&case.module, &case.function, &args, true, &mut found, &case.name);
    found
}

fn check_kernel(kernel: &kit::kernels::Kernel) -> Found {
    let mut found = Vec::new();
    let text = fs::read_to_string(root().join(format!("kernels/{}.json", kernel.name))).unwrap();
    let module: Module<IRCode> = from_json(&text).unwrap();
    let function = module.functions()[0].name.to_string();
    // Where the size is that of matrices, 20 is a number that the interpreter can take.
    for n in [1, 2, 20] {
        let inputs = inputs(kernel, n);
        let args = |module: &Module<IRCode>| {
            let machine = Machine::new(module);
            let vector = |numbers: &[f64]| {
                let values = numbers.iter().map(|&x| Value::from(x)).collect();
                machine.array(Type::FLOAT64, vec![numbers.len()], values).unwrap()
            };
            Some(vec![vector(&inputs.x), vector(&inputs.c), Value::from(i64::try_from(n).unwrap())])
        };
        check(&module, &function, &args, true, &mut found, &format!("{} {n}", kernel.name));
    }
    found
}

type Job = (String, Box<dyn Fn() -> Found + Send + Sync>);

fn jobs(of_library: Vec<Case>) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for path in files() {
        jobs.push((path.strip_prefix(root()).unwrap().display().to_string(), Box::new(move || check_file(&path))));
    }
    let table = swift::list("table.json");
    let mut files: Vec<String> = table.iter().map(|entry| entry["file"].as_str().unwrap().to_string()).collect();
    files.sort();
    files.dedup();
    for file in files {
        jobs.push((format!("swift/{file}.ir"), Box::new(move || check_swift(&file))));
    }
    for case in of_library {
        jobs.push((format!("library: {}", case.name), Box::new(move || check_library(&case))));
    }
    for kernel in KERNELS {
        jobs.push((format!("kernels/{}", kernel.name), Box::new(move || check_kernel(&kernel))));
    }
    jobs
}

#[test]
fn native_code_does_what_the_interpreter_does() {
    compare(library::sample(), false);
}

#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn native_code_does_what_the_interpreter_does_in_the_whole_library() {
    compare(library::cases(), true);
}

/// The file tests, and these functions of the library; if they are all that there are, it can be written what is not
/// compiled.
fn compare(of_library: Vec<Case>, all: bool) {
    let only = std::env::var("BBKIT_NATIVE").ok();
    let mut jobs = jobs(of_library);
    jobs.retain(|(label, _)| only.as_ref().is_none_or(|only| label.contains(only.as_str())));
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |count| count.get().min(8)) {
            scope.spawn(|| {
                while let Some((label, job)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = job();
                    results.lock().unwrap().insert(label.clone(), found);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    let (mut same, mut limited) = (0, 0);
    let (mut reasons, mut refused, mut problems) = (BTreeMap::<String, usize>::new(), Vec::new(), Vec::new());
    for (file, found) in &results {
        for (program, verdict) in found {
            match verdict {
                Ok(Verdict::Same) => same += 1,
                Ok(Verdict::Limited) => limited += 1,
                Ok(Verdict::Refused(why)) => {
                    *reasons.entry(why.clone()).or_default() += 1;
                    refused.push(format!("{file}: {program}: {why}"));
                }
                Err(problem) => problems.push(format!("{file}: {program}: {problem}")),
            }
        }
    }
    let mut table =
        String::from("Programs that are not compiled, and why: first the reasons, by how often there are such.\n\n");
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
    reasons.iter().for_each(|(why, count)| table.push_str(&format!("{count:5} {why}\n")));
    table.push('\n');
    refused.iter().for_each(|line| table.push_str(&format!("{line}\n")));
    let path = root().join("native/refused.txt");
    if only.is_some() {
        println!("{same} run natively, {limited} reach a limit\n{table}");
    } else if all && std::env::var_os("BBKIT_BLESS").is_some() {
        fs::write(&path, &table).unwrap();
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    if only.is_none() {
        let known = fs::read_to_string(&path).unwrap_or_default();
        let known: BTreeSet<&str> = known.lines().collect();
        let worse: Vec<&str> = refused.iter().map(String::as_str).filter(|line| !known.contains(line)).collect();
        assert!(
            worse.is_empty(),
            "not compiled any more:\n{}\n(BBKIT_BLESS=1 scripts/corpora takes that over)",
            worse.join("\n")
        );
        let enough = if all { 2500 } else { 1000 };
        assert!(same > enough && limited < 20, "{same} programs run natively, {limited} reach a limit");
    }
}
