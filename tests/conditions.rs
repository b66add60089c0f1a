//! The conditions on which a pass does something: a program for each, at which nothing else forbids it. The files in
//! `tests/conditions` are named after their passes; a comment says of each function what the condition is, and `# at`
//! with which arguments it is called. The pass keeps its meaning.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;

use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, parse_module};
use kit::laws::keeps_meaning;
use passes::{PassManager, find_pass};
use serde_json::Value as Json;

fn arguments(module: &Module<IRCode>, name: &str, json: &str) -> Vec<Value> {
    let json: Vec<Json> = serde_json::from_str(json).unwrap();
    let types = passes::argument_types(module, module.function(name).unwrap());
    assert_eq!(json.len(), types.len(), "{name}");
    let machine = Machine::new(module);
    json.iter().zip(&types).map(|(json, ty)| machine.value_from_json(json, ty).unwrap()).collect()
}

#[test]
fn passes_keep_the_meaning_of_what_they_must_leave() {
    let mut calls = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conditions");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().replace('_', "-");
        let pass = find_pass(&name).unwrap_or_else(|error| panic!("{error}"));
        let text = fs::read_to_string(&path).unwrap();
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{name}: {error}")).module;
        for (function, args) in text.lines().filter_map(|line| line.strip_prefix("# at ")?.split_once(' ')) {
            let args = || arguments(&module, function, args);
            let run = |module: &mut Module<BBCode>| PassManager::new([pass]).run(module, None);
            keeps_meaning(&module, function, &args, Limits::default(), &run)
                .unwrap_or_else(|error| panic!("{name}, {function}: {error}"));
            calls += 1;
        }
    }
    assert!(calls > 20, "{calls}");
}
