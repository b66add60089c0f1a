//! The conditions on which a pass does something: a program for each, at which nothing else forbids it. The files in
//! `tests/conditions` are named after their passes; a comment says of each function what the condition is, and `# at`
//! with which arguments it is called. The pass keeps its meaning.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;

use bbcode::BBCode;
use bbkit::{to_bbcode, to_ircode};
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Operand, Stmt, parse_module};
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

/// Both edges of a block may lead to one φ, in code that is keyed by ID: such a block goes around nothing.
#[test]
fn a_block_with_two_edges_to_a_condition_goes_through_it() {
    let text = "function f(c::Bool, x::Float64, y::Float64)::Float64
1 ─ %1 = Base.mul_float(x, y)::Float64
└── goto #3 if not c
2 ─ goto #3
3 ─ %4 = φ (#1 => c, #2 => true)::Bool
│   %5 = φ (#1 => x, #2 => %1)::Float64
└── goto #5 if not %4
4 ─ return %5
5 ─ return x
end";
    let mut module = to_bbcode(&parse_module(text).unwrap().module).unwrap();
    let body = module.body_mut("f").unwrap();
    let blocks: Vec<_> = body.blocks().collect();
    let goto = body.last_inst(blocks[1]).unwrap();
    body.replace(goto, Stmt::goto_if_not(Operand::argument(2), blocks[2])).unwrap();
    body.set_next(blocks[1], Some(blocks[2])).unwrap();
    PassManager::new([find_pass("jump-threading").unwrap()]).run(&mut module, None).unwrap();
    let module = to_ircode(&module).unwrap();
    module.function("f").unwrap().body.verify().unwrap();
    for (c, expected) in [(true, 12.0), (false, 3.0)] {
        let args = [c.into(), Value::from(3.0), Value::from(4.0)];
        assert_eq!(Machine::new(&module).call("f", &args).unwrap().to_string(), Value::from(expected).to_string());
    }
}
