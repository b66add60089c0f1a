//! The bridge, with a real Julia: what it exports comes into bbkit, back into Julia, and does there what it did before.
//!
//! Without a Julia (see `scripts/julia`) these tests are skipped, and say so.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on should stop")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bbkit::{roundtrip, to_bbcode, to_ircode};
use exec::{Machine, RunErrorKind, Value, value_to_json};
use ircode::{IRCode, Module, from_json, to_json};
use libtest_mimic::{Arguments, Failed, Trial};
use passes::{Pass, PassManager, find_pass};
use serde_json::Value as Json;

/// Passes that keep what Julia's own compiler knows nothing of out of the code.
const PASSES: [&str; 11] = [
    "inlining",
    "copy-propagation",
    "constant-propagation",
    "constant-folding",
    "common-subexpressions",
    "loop-invariant-motion",
    "scalar-replacement",
    "split-critical-edges",
    "unreachable-code",
    "dead-code",
    "simplify-cfg",
];

fn main() {
    let args = Arguments::from_args();
    let julia = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/julia");
    let found = Command::new(&julia).arg("--found").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("no Julia was found: the tests of the bridge are skipped; scripts/julia --install gets one");
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bridge");
    let for_values = julia.clone();
    let trials = vec![
        Trial::test("functions_go_from_julia_to_bbkit_and_back", move || there_and_back(&julia, &folder)),
        Trial::test("complex_functions_have_julias_values", move || complex_values(&for_values)),
    ];
    libtest_mimic::run(&args, trials.into_iter().map(|trial| trial.with_ignored_flag(!found)).collect()).exit();
}

fn complex_values(julia: &Path) -> Result<(), Failed> {
    let compared = |arguments: &[&str]| run(julia, "tests/bridge/complex_values.jl", arguments);
    assert_eq!(compared(&[])?, "");
    assert!(compared(&["with one that is wrong"])?.contains("but Julia has"), "the wrong function was not found");
    Ok(())
}

fn run(julia: &Path, script: &str, arguments: &[impl AsRef<OsStr>]) -> Result<String, Failed> {
    let output = Command::new(julia)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--startup-file=no", script])
        .args(arguments)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{script} failed:\n{text}\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn there_and_back(julia: &Path, folder: &Path) -> Result<(), Failed> {
    // Nothing of an earlier run may be left.
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    run(julia, "tests/bridge/export.jl", &[folder])?;
    let entries: Vec<Json> = serde_json::from_str(&fs::read_to_string(folder.join("calls.json"))?)?;
    assert!(entries.len() >= 40, "only {} functions were exported", entries.len());
    let mut problems = Vec::new();
    for entry in &entries {
        let name = entry["name"].as_str().unwrap_or_default();
        if let Err(problem) = through_bbkit(folder, name, entry) {
            problems.push(format!("{name}: {problem}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let report = run(julia, "tests/bridge/import.jl", &[folder])?;
    let count = |prefix: &str| report.lines().filter(|line| line.starts_with(prefix)).count();
    let gradients = entries.iter().filter(|entry| has_mark(entry, "grad")).count();
    // Each function comes back twice: as it was, and changed by passes.
    assert_eq!(count("same "), 2 * entries.len() + gradients, "{report}");
    Ok(())
}

fn has_mark(entry: &Json, mark: &str) -> bool {
    entry["marks"].as_array().is_some_and(|marks| marks.iter().any(|other| other == mark))
}

fn read(path: PathBuf) -> Result<Module<IRCode>, String> {
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    from_json(&text).map_err(|error| error.to_string())
}

fn write(path: PathBuf, module: &Module<IRCode>) -> Result<(), String> {
    to_json(module).and_then(|json| fs::write(path, json)).map_err(|error| error.to_string())
}

fn through_bbkit(folder: &Path, name: &str, entry: &Json) -> Result<(), String> {
    let path = |suffix: &str| folder.join(format!("{name}{suffix}"));
    let module = read(path(".json"))?;
    let function = &module.functions().first().ok_or("nothing was exported")?.name;
    let with_callees = read(path(".callees.json"))?;
    for function in module.functions().iter().chain(with_callees.functions()) {
        let mismatches = roundtrip(function);
        if !mismatches.is_empty() {
            return Err(format!("{}: {mismatches:?}", function.name));
        }
    }
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut bbcode = to_bbcode(&module).map_err(|error| text(&error))?;
    write(path(".json"), &to_ircode(&bbcode).map_err(|error| text(&error))?)?;
    let passes: Vec<&Pass> =
        PASSES.map(find_pass).into_iter().collect::<Result<_, _>>().map_err(|error| text(&error))?;
    PassManager::new(passes).run(&mut bbcode, None).map_err(|error| text(&error))?;
    write(path(".passes.json"), &to_ircode(&bbcode).map_err(|error| text(&error))?)?;
    if has_mark(entry, "run") {
        for call in entry["calls"].as_array().into_iter().flatten() {
            run_here(&with_callees, function, call)?;
        }
    }
    if has_mark(entry, "grad") {
        let first = &entry["calls"][0]["args"];
        let args = arguments(&with_callees, function, first)?;
        let gradient = bbkit::gradient(&with_callees, function, &args, Default::default());
        let gradient = gradient.map_err(|error| text(&error))?;
        let names = &gradient.names;
        let mut derived = Module::new();
        for def in gradient.module.types() {
            derived.add_type(def.clone()).map_err(|error| text(&error))?;
        }
        // Everything that was added, the function to be called first.
        let first = gradient.module.function(&names.value_and_gradient);
        let added = gradient.module.functions().iter().filter(|part| with_callees.function(&part.name).is_none());
        for part in first.into_iter().chain(added.filter(|part| part.name != names.value_and_gradient)) {
            derived.add_function(part.clone()).map_err(|error| text(&error))?;
        }
        write(path(".gradient.json"), &derived)?;
    }
    Ok(())
}

fn arguments(module: &Module<IRCode>, function: &str, args: &Json) -> Result<Vec<Value>, String> {
    let types = &module.function(function).ok_or("no such function")?.body.argtypes;
    let machine = Machine::new(module);
    let varargs = module.function(function).is_some_and(|function| function.varargs);
    let convert = |(i, json): (usize, &Json)| {
        let ty = types.get(i + 1).filter(|_| !varargs).cloned().unwrap_or(ircode::Type::Untyped);
        machine.value_from_json(json, &ty.widened().unwrap_or(ty)).map_err(|error| error.to_string())
    };
    args.as_array().into_iter().flatten().enumerate().map(convert).collect()
}

/// Runs a call in bbkit's interpreter, and compares the value or the exception, and the arguments afterwards, with
/// Julia's.
fn run_here(module: &Module<IRCode>, function: &str, call: &Json) -> Result<(), String> {
    let args = arguments(module, function, &call["args"])?;
    let outcome = &call["outcome"];
    let json = |value: &Value| value_to_json(value).map_err(|kind| kind.to_string());
    match Machine::new(module).call(function, &args) {
        Ok(value) if json(&value)? == outcome["value"] => {}
        Err(error) => match (&error.kind, outcome["error"].as_str()) {
            (RunErrorKind::Exception(exception), Some(expected)) if exception.ty().to_string() == expected => {}
            _ => return Err(format!("{}: {error}, expected {outcome}", call["args"])),
        },
        Ok(value) => return Err(format!("{}: {value}, expected {outcome}", call["args"])),
    }
    let after: Vec<Json> = args.iter().map(json).collect::<Result<_, _>>()?;
    let expected = outcome["args"].as_array().cloned().unwrap_or_default();
    if after == expected {
        Ok(())
    } else {
        Err(format!("the arguments are {after:?} afterwards, expected {expected:?}"))
    }
}
