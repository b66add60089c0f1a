//! The cases of Swift's tests of differentiation, `tests/swift/cases.json`. Each function is written in IR, as a
//! compiler would leave it, in a file named after Swift's; its comments say how classes, enums, closures, inout
//! parameters and so on are expressed.
//!
//! `table.json` says of each case which function it is. A string in `args` is the name of an input, also in a struct;
//! anything else is a constant. `wrt` are the inputs whose derivatives the case gives, if those are not all; `rules`
//! says that the derivatives in `FILE.rules.ir` are registered; `inputs` tells cases of one name apart; `seed` replaces
//! the seed of the case.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fs;

use bbcode::BBCode;
use bbkit::Ways;
use exec::{Limits, Machine, Value, value_to_json};
use ircode::{IRCode, Module, Type, TypeKind};
use kit::laws::{keeps_meaning, round_trips};
use kit::swift::{self, is_for, key, list, program, read};
use passes::{PASSES, PassManager, Run};
use serde_json::Value as Json;

/// Gradients agree up to this, relative to the larger of 1 and the one expected.
const TOLERANCE: f64 = 1e-10;

/// Value and pullback of `seed`: a gradient whose seed is not 1, or whose value is no number.
fn vjp(module: &Module<IRCode>, name: &str, args: &[Value], seed: &Json) -> Result<(Value, Vec<Value>), String> {
    let result = bbkit::vjp(module, name, args, seed, Limits::default()).map_err(|error| error.to_string())?;
    Ok((result.value, result.gradient))
}

/// Value and tangent, from the tangents of the arguments.
fn jvp(module: &Module<IRCode>, name: &str, args: &[Value], tangents: &[Value]) -> Result<(Value, Value), String> {
    let result = bbkit::jvp(module, name, args, &[tangents.to_vec()], Limits::default());
    let mut result = result.map_err(|error| error.to_string())?;
    Ok((result.value, result.tangents.swap_remove(0)))
}

fn gradient(module: &Module<IRCode>, name: &str, args: &[Value]) -> Result<(Value, Vec<Value>), String> {
    let result = bbkit::gradient(module, name, args, Limits::default()).map_err(|error| error.to_string())?;
    Ok((result.value, result.gradient))
}

/// The names of the inputs in a template, in order.
fn names<'a>(template: &'a Json, found: &mut Vec<&'a str>) {
    match template {
        Json::String(name) => found.push(name),
        Json::Object(members) => members.values().for_each(|member| names(member, found)),
        _ => {}
    }
}

/// The derivatives by input, from that of an argument: that of a struct has an element or a member a field.
fn by_input<'a>(
    module: &Module<IRCode>,
    ty: &Type,
    template: &'a Json,
    gradient: &Json,
    found: &mut Vec<(&'a str, Json)>,
) -> Result<(), String> {
    match template {
        Json::String(name) => found.push((name, gradient.clone())),
        Json::Object(members) => {
            let Some(TypeKind::Struct { fields, .. }) = module.type_def(&ty.to_string()).map(|def| &def.kind) else {
                return Err(format!("{ty} is no struct"));
            };
            for (at, (name, ty)) in fields.iter().enumerate() {
                let field = gradient.get(at).or_else(|| gradient.get(name.as_str()));
                let field = field.ok_or_else(|| format!("the gradient {gradient} has no field {name}"))?;
                by_input(module, ty, &members[name.as_str()], field, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a number, or each of a list, is what is expected.
fn agrees(expected: &Json, found: &Json) -> bool {
    match (expected, found) {
        (Json::Array(expected), Json::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(expected, found)| agrees(expected, found))
        }
        _ => match (expected.as_f64(), found.as_f64()) {
            (Some(expected), Some(found)) => (expected - found).abs() <= TOLERANCE * expected.abs().max(1.0),
            _ => false,
        },
    }
}

/// Which inputs have which derivatives. Where the source says that its own expectation is wrong, it is the true one.
fn expectation<'a>(case: &'a Json, entry: &'a Json) -> Vec<(&'a str, &'a Json)> {
    let wrong = case["known_wrong"] == true;
    let expected = &case[if wrong { "true_gradient" } else { "expected_gradient" }];
    if let Json::Object(members) = expected {
        return members.iter().map(|(name, expected)| (name.as_str(), expected)).collect();
    }
    let mut wrt = Vec::new();
    match &entry["wrt"] {
        Json::Array(chosen) => chosen.iter().for_each(|name| names(name, &mut wrt)),
        _ => entry["args"].as_array().unwrap().iter().for_each(|template| names(template, &mut wrt)),
    }
    match (wrt.as_slice(), expected) {
        ([only], expected) => vec![(*only, expected)],
        (several, Json::Array(expected)) => {
            assert_eq!(several.len(), expected.len(), "{case}");
            several.iter().copied().zip(expected).collect()
        }
        _ => unreachable!("{case}"),
    }
}

/// The types of the arguments, from `_2` on.
fn types(module: &Module<IRCode>, function: &str) -> Vec<Type> {
    module.function(function).unwrap().body.argtypes.iter().skip(1).cloned().collect()
}

fn of_json(module: &Module<IRCode>, json: &Json, ty: &Type) -> Value {
    Machine::new(module).value_from_json(json, ty).unwrap()
}

/// The arguments of a case, made anew, as a run may change them.
fn arguments(module: &Module<IRCode>, case: &Json, entry: &Json) -> Vec<Value> {
    let types = types(module, entry["function"].as_str().unwrap());
    let templates = entry["args"].as_array().unwrap();
    assert_eq!(templates.len(), types.len(), "{entry}");
    swift::arguments(entry, case).into_iter().zip(&types).map(|(json, ty)| of_json(module, &json, ty)).collect()
}

/// Runs and differentiates a case; what is wrong, if anything is.
fn check(case: &Json, entry: &Json) -> Result<(), String> {
    let file = entry["file"].as_str().unwrap();
    let function = entry["function"].as_str().unwrap();
    let mut module = program(&format!("{file}.ir"));
    let types = types(&module, function);
    let args = |module: &Module<IRCode>| arguments(module, case, entry);
    let is_value = |value: &Value| match &case["expected_value"] {
        Json::Null => Ok(()),
        expected => match value_to_json(value) {
            Ok(found) if agrees(expected, &found) => Ok(()),
            _ => Err(format!("the value is {value}, expected {expected}")),
        },
    };
    // What the function computes does not depend on rules.
    let value = Machine::new(&module).call(function, &args(&module)).unwrap();
    is_value(&value).unwrap();
    if entry["rules"] == true {
        module.add_rules(&read(&format!("{file}.rules.ir"))).map_err(|error| error.to_string())?;
    }

    if case["mode"] == "forward" {
        let tangents = case["tangents"].as_array().unwrap().iter().zip(&types);
        let tangents: Vec<Value> = tangents.map(|(json, ty)| of_json(&module, json, ty)).collect();
        let (value, tangent) = jvp(&module, function, &args(&module), &tangents)?;
        is_value(&value)?;
        let found = value_to_json(&tangent).map_err(|error| error.to_string())?;
        let expected = &case["expected_gradient"];
        return if agrees(expected, &found) { Ok(()) } else { Err(format!("{found}, expected {expected}")) };
    }
    let seed = entry.get("seed").or_else(|| case.get("seed"));
    let (value, gradient) = match seed {
        Some(seed) => vjp(&module, function, &args(&module), seed)?,
        None => gradient(&module, function, &args(&module))?,
    };
    is_value(&value)?;
    if gradient.len() != types.len() {
        return Err(format!("the gradient has {} elements for {} arguments", gradient.len(), types.len()));
    }
    let mut found = Vec::new();
    for ((template, ty), gradient) in entry["args"].as_array().unwrap().iter().zip(&types).zip(&gradient) {
        let gradient = value_to_json(gradient).map_err(|error| error.to_string())?;
        by_input(&module, ty, template, &gradient, &mut found)?;
    }
    for (input, expected) in expectation(case, entry) {
        let Some((_, found)) = found.iter().find(|(name, _)| *name == input) else {
            return Err(format!("there is no derivative with respect to {input}"));
        };
        // An optional that holds nothing has no tangent: that stands for zero.
        let nothing = case["inputs"][input].is_null() && found.is_null() && expected.as_f64() == Some(0.0);
        if !nothing && !agrees(expected, found) {
            return Err(format!("with respect to {input}: {found}, expected {expected}"));
        }
    }
    Ok(())
}

#[test]
fn cases_have_the_gradients_that_swift_expects() {
    let (cases, table) = (list("cases.json"), list("table.json"));
    assert_eq!(cases.len(), 171);
    for entry in &table {
        assert!(cases.iter().any(|case| is_for(entry, case)), "no case is {entry}");
    }
    let mut problems = Vec::new();
    for case in &cases {
        let entries: Vec<&Json> = table.iter().filter(|entry| is_for(entry, case)).collect();
        let [entry] = entries.as_slice() else {
            problems.push(format!("{} entries in the table are for {case}", entries.len()));
            continue;
        };
        let (file, name) = key(case);
        problems.extend(check(case, entry).err().map(|error| format!("{file} {name} {}: {error}", case["inputs"])));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_wrong_gradient_is_noticed() {
    let (cases, table) = (list("cases.json"), list("table.json"));
    let mut case = cases[20].clone();
    let entry = table.iter().find(|entry| is_for(entry, &case)).unwrap();
    assert_eq!(check(&case, entry), Ok(()));
    case["expected_gradient"][1] = 10.5.into();
    assert_eq!(check(&case, entry).unwrap_err(), "with respect to y: 10.0, expected 10.5");
    case["expected_gradient"] = serde_json::json!({ "z": 0 });
    assert_eq!(check(&case, entry).unwrap_err(), "there is no derivative with respect to z");
}

#[test]
fn the_programs_are_valid_and_come_back() {
    let folder = fs::read_dir(format!("{}/tests/swift", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let files = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = files.filter(|file| file.ends_with(".ir")).collect();
    assert!(!files.is_empty());
    for file in files {
        for function in program(&file).functions() {
            function.body.verify().unwrap();
            round_trips(function, &Ways::default()).unwrap();
        }
    }
}

#[test]
fn passes_keep_the_meaning_of_the_programs() {
    let (cases, table) = (list("cases.json"), list("table.json"));
    for entry in &table {
        let module = program(&format!("{}.ir", entry["file"].as_str().unwrap()));
        let function = entry["function"].as_str().unwrap();
        for pass in PASSES.iter().filter(|pass| pass.is_exact && matches!(pass.run, Run::Function(_))) {
            let run = |module: &mut Module<BBCode>| PassManager::new([pass]).verify_each(true).run(module, None);
            for case in cases.iter().filter(|case| is_for(entry, case)) {
                let args = || arguments(&module, case, entry);
                keeps_meaning(&module, function, &args, Limits::default(), &run).unwrap();
            }
        }
    }
}
