//! Linearization on every function of the file tests at the points that they name, and a planted bug in it.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::path::Path;

use bbcode::BBCode;
use bbkit::{GradientError, Input};
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, Stmt};
use kit::linearization::differential_is_right;
use kit::mutation_programs::mutation_program;
use passes::linearization::LinearizationNames;
use serde_json::Value as Json;

const LIMITS: Limits = Limits { steps: 1_000_000, memory: 1 << 26, depth: 1_000 };

/// Each call of a function that the files in a folder have after `# grad` or `# jvp`, as the file, the function and the
/// JSON of the arguments.
fn calls(folder: &str) -> Vec<(Module<IRCode>, String, Vec<Json>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut calls = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "ir")) {
        let text = std::fs::read_to_string(file).unwrap();
        let Ok(input) = Input::read(file.to_str().unwrap()) else { continue };
        for line in text.lines() {
            let Some(call) = line.strip_prefix("# grad ").or(line.strip_prefix("# jvp ")) else { continue };
            let (function, rest) = call.split_once(' ').unwrap();
            if input.module.function(function).is_none() {
                continue;
            }
            let args = serde_json::Deserializer::from_str(rest).into_iter::<Vec<Json>>().next().unwrap().unwrap();
            calls.push((input.module.clone(), function.to_string(), args));
        }
    }
    calls
}

fn values(module: &Module<IRCode>, function: &str, args: &[Json]) -> Option<Vec<Value>> {
    let types = passes::argument_types(module, module.function(function)?);
    let machine = Machine::new(module);
    let value = |(json, ty): (&Json, _)| machine.value_from_json(json, ty).ok();
    (args.len() == types.len()).then(|| args.iter().zip(&types).map(value).collect()).flatten()
}

#[test]
fn tangents_that_do_not_belong_to_the_arguments_are_refused() {
    let module = ircode::parse_module(
        "
function f(x::Vector{Float64}, pair::Tuple{Float64, Int64}, y::Float32)::Float64
1 ─ %1 = Base.arrayref(true, x, 1)::Float64
│   %2 = Core.getfield(pair, 1)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
└──      return %3
end
",
    )
    .unwrap()
    .module;
    let machine = Machine::new(&module);
    let array = |values: &[f64]| {
        let values: Vec<Value> = values.iter().map(|&value| Value::from(value)).collect();
        machine.array(ircode::Type::FLOAT64, vec![values.len()], values).unwrap()
    };
    let single = |value: f32| Value::from(ircode::Scalar::Float32(value));
    let args = [array(&[2.0, 3.0]), machine.tuple(vec![Value::from(5.0), Value::from(1)]).unwrap(), single(1.0)];
    let pair = machine.tuple(vec![Value::from(10.0), Value::Nothing]).unwrap();
    let linear = bbkit::linearize(&module, "f", &args, LIMITS).unwrap();
    let right = [array(&[1.0, 0.0]), pair.clone(), single(0.0)];
    let expected = 5.0 + 2.0 * 10.0;
    assert_eq!(linear.apply(&right, LIMITS).unwrap().as_float(), Some(expected));
    let found = bbkit::jvp(&module, "f", &args, &[right.to_vec()], LIMITS).unwrap();
    assert_eq!(found.tangents[0].as_float(), Some(expected));

    let short = machine.tuple(vec![Value::from(10.0)]).unwrap();
    for (direction, message) in [
        (vec![array(&[1.0, 0.0]), pair.clone()], "a direction of 2 tangents, where there are 3 arguments"),
        (
            vec![array(&[1.0, 0.0, 0.0]), pair.clone(), single(0.0)],
            "the tangent of the argument _2: its dimensions are [3], and those of the argument [2]",
        ),
        (vec![Value::from(1.0), pair.clone(), single(0.0)], "the tangent of the argument _2: a Float64 is no array"),
        (
            vec![array(&[1.0, 0.0]), short, single(0.0)],
            "the tangent of the argument _3: it has 1 element, and the argument 2",
        ),
        (vec![array(&[1.0, 0.0]), pair, Value::from(0.0)], "the tangent of the argument _4: 0.0 is no Float32"),
    ] {
        assert_eq!(linear.apply(&direction, LIMITS).unwrap_err().to_string(), message);
        assert_eq!(bbkit::jvp(&module, "f", &args, &[direction], LIMITS).unwrap_err().to_string(), message);
    }
}

#[test]
fn directions_belong_to_the_arguments_as_they_were_before_the_call() {
    let module = ircode::parse_module(
        "
mutable struct Held
    x::Vector{Float64}
end

function f(held::Held, v::Vector{Float64})::Float64
1 ─      Base.setfield!(_2, :x, _3)::Vector{Float64}
│   %2 = Base.getfield(_2, :x)::Vector{Float64}
│   %3 = Base.arrayref(true, %2, 1)::Float64
│   %4 = Base.mul_float(%3, %3)::Float64
└──      return %4
end
",
    )
    .unwrap()
    .module;
    let machine = Machine::new(&module);
    let value = |json: Json, ty: &str| machine.value_from_json(&json, &ircode::Type::parse(ty)).unwrap();
    let held = || value(serde_json::json!([[1.0, 2.0]]), "Held");
    let vector = |first: f64| value(serde_json::json!([first]), "Vector{Float64}");
    let linear = bbkit::linearize(&module, "f", &[held(), vector(3.0)], LIMITS).unwrap();
    // What the object held is not what is squared.
    for (first, expected) in
        [(Value::Nothing, 6.0), (machine.zero_tangent(&held(), &ircode::Type::parse("Held")).unwrap(), 6.0)]
    {
        assert_eq!(linear.apply(&[first, vector(1.0)], LIMITS).unwrap().as_float(), Some(expected));
    }
}

#[test]
fn the_differential_is_the_derivative_of_every_function_with_a_known_one() {
    let (mut compared, mut all) = (0, 0);
    for (module, function, args) in ["grad", "jvp"].into_iter().flat_map(calls) {
        let Some(given) = values(&module, &function, &args) else { continue };
        let module = bbkit::specialized(&module, &function, &given).unwrap();
        let fresh = || values(&module, &function, &args).unwrap();
        let checked = differential_is_right(&module, &function, &fresh, LIMITS, &|_, _| {});
        // What is registered for a method computes value and tangent at once.
        if checked.as_ref().is_err_and(|broken| broken.to_string().contains("is registered")) {
            continue;
        }
        let is_compared = checked.unwrap_or_else(|broken| panic!("{function}{args:?}: {broken}"));
        all += 1;
        compared += usize::from(is_compared);
    }
    // The others catch exceptions, or throw at the point.
    assert!(compared * 10 > all * 8 && compared > 100, "{compared} of {all}");
}

/// Puts one primitive in the place of another in every differential of a rule.
fn mistake(module: &mut Module<BBCode>, from: &str, to: &str) {
    let names: Vec<_> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in names.iter().filter(|name| name.contains("_differential")) {
        let Some(body) = module.body_mut(name) else { continue };
        let ids: Vec<_> = body.all_insts().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(Stmt::Call(call)) = body.stmt_mut(id)
                && let ircode::Operand::Global(global) = &call.callee
                && global.name == *from
            {
                call.callee = ircode::Operand::global("Base", to);
            }
        }
    }
}

#[test]
fn most_programs_through_memory_have_a_differential() {
    let is_compared = |seed: &u64| {
        let bytes = kit::seeds::bytes(*seed);
        let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { return false };
        differential_is_right(&program.module, "f", &|| program.args(), LIMITS, &|_, _| {}).unwrap()
    };
    let compared = (0..100).filter(is_compared).count();
    assert!(compared > 50, "{compared} of 100");
}

#[test]
fn a_wrong_differential_is_caught() {
    let caught = |changed: &dyn Fn(&mut Module<BBCode>, &LinearizationNames)| {
        let is_wrong = |seed: &u64| {
            let bytes = kit::seeds::bytes(*seed);
            let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { return false };
            differential_is_right(&program.module, "f", &|| program.args(), LIMITS, changed).is_err()
        };
        (0..40).filter(is_wrong).count()
    };
    assert_eq!(caught(&|_, _| {}), 0);
    for (from, to) in [("add_float", "sub_float"), ("mul_float", "add_float"), ("cos", "sin")] {
        assert!(caught(&|module, _| mistake(module, from, to)) > 3, "{from} for {to}");
    }
}

#[test]
fn code_that_catches_is_refused_with_its_place() {
    let text = "function f(x::Float64)::Float64\n1 ─ %1 = enter #4\n2 ─      $(Expr(:leave, :(%1)))\n3 ─      return x\n\
                4 ┄      $(Expr(:pop_exception, :(%1)))::Any\n└──      return 0.0\nend\n";
    let module = ircode::parse_module(text).unwrap().module;
    let error = bbkit::linearize(&module, "f", &[Value::from(1.0)], LIMITS).unwrap_err();
    assert!(matches!(&error, GradientError::Pass(error) if error.pass == "linearization" && error.place.is_some()));
    assert!(error.to_string().contains("code that catches exceptions has no differential"), "{error}");
}
