//! The cases of Swift's tests of differentiation, and the table that says which function in IR each is: the files of
//! `tests/swift`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "files that are not what they should be end the test")]

use std::fs;

use ircode::{IRCode, Module, parse_module};
use serde_json::{Map, Value as Json};

/// What a file there holds.
///
/// # Panics
///
/// If there is none.
pub fn read(file: &str) -> String {
    let path = format!("{}/../swift/{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap_or_else(|error| panic!("tests/swift/{file}: {error}"))
}

/// What a file there holds that is a list.
///
/// # Panics
///
/// If there is none.
pub fn list(file: &str) -> Vec<Json> {
    serde_json::from_str(&read(file)).unwrap()
}

/// The program of a file there.
///
/// # Panics
///
/// If there is none.
pub fn program(file: &str) -> Module<IRCode> {
    parse_module(&read(file)).unwrap().module
}

/// The file of a case, without its folder and extension, and its name.
///
/// # Panics
///
/// If it is no case.
pub fn key(case: &Json) -> (&str, &str) {
    let file = case["source_file"].as_str().unwrap();
    (file.rsplit('/').next().unwrap().strip_suffix(".swift").unwrap(), case["name"].as_str().unwrap())
}

/// Whether the entry of the table is for the case.
///
/// # Panics
///
/// If it is no entry.
pub fn is_for(entry: &Json, case: &Json) -> bool {
    let inputs = entry["inputs"].as_object().into_iter().flatten();
    key(case) == (entry["file"].as_str().unwrap(), entry["name"].as_str().unwrap())
        && inputs.into_iter().all(|(name, value)| case["inputs"][name] == *value)
}

/// The arguments of a case: in those of the entry, the names of inputs stand for their values.
///
/// # Panics
///
/// If it is no entry.
pub fn arguments(entry: &Json, case: &Json) -> Vec<Json> {
    entry["args"].as_array().unwrap().iter().map(|template| filled(template, &case["inputs"])).collect()
}

fn filled(template: &Json, inputs: &Json) -> Json {
    match template {
        Json::String(name) => inputs[name].clone(),
        Json::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), filled(member, inputs))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}
