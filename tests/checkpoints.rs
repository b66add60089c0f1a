//! Checkpointing of loops: the gradient stays the same to the last bit, and the memory that it takes grows as the root
//! of the number of rounds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;

use bbcode::{BBCode, Ids};
use bbkit::exec::{Limits, Machine, Value, first_difference};
use bbkit::ircode::{IRCode, Module, Name, Operand, Stmt, Type, from_json};
use bbkit::{GradientOptions, gradient_statistics, gradient_with};
use kit::checkpoints::checkpointing_agrees;
use kit::kernels::{KERNELS, inputs, kernel};
use kit::mutation_programs::mutation_program;
use kit::numeric::{Options, numeric_with};
use passes::reverse_mode::DerivativeNames;

const LIMITS: Limits = Limits { steps: 400_000, memory: 1 << 24, depth: 100 };

fn exported(kernel: &str) -> (Module<IRCode>, Name) {
    let path = format!("{}/tests/kernels/{kernel}.json", env!("CARGO_MANIFEST_DIR"));
    let module: Module<IRCode> = from_json(&fs::read_to_string(path).unwrap()).unwrap();
    let name = module.functions()[0].name.clone();
    (module, name)
}

fn arguments(module: &Module<IRCode>, name: &str, n: usize) -> Vec<Value> {
    let inputs = inputs(kernel(name).unwrap(), n);
    let machine = Machine::new(module);
    let vector = |numbers: &[f64]| {
        let values = numbers.iter().map(|&x| Value::from(x)).collect();
        machine.array(Type::FLOAT64, vec![numbers.len()], values).unwrap()
    };
    vec![vector(&inputs.x), vector(&inputs.c), Value::from(i64::try_from(n).unwrap())]
}

#[test]
fn the_gradients_of_kernels_stay_the_same() {
    let mut segments: Vec<(&str, usize)> = Vec::new();
    for kernel in KERNELS {
        let (module, function) = exported(kernel.name);
        let args = || arguments(&module, kernel.name, 16);
        let made = checkpointing_agrees(&module, &function, &args, Limits::default(), &|_, _| {});
        segments.push((kernel.name, made.unwrap_or_else(|broken| panic!("{}: {broken}", kernel.name))));
    }
    let expected = [("bs", 1), ("branch", 1), ("sincos", 1), ("logistic", 1), ("newton", 2), ("tri", 2), ("sumsq", 1)];
    let more = [("fsub", 1), ("lse", 2), ("rosen", 1), ("mlp", 3), ("gmm", 5), ("ba", 1), ("ode", 1)];
    assert_eq!(segments, [expected, more].concat());
}

/// The most bytes that the gradient takes at once.
fn peak(name: &str, n: usize, checkpoint: bool) -> u64 {
    let (module, function) = exported(name);
    let options = GradientOptions::new().checkpoint(checkpoint);
    gradient_statistics(&module, &function, &arguments(&module, name, n), &options).unwrap().gradient.peak
}

#[test]
fn memory_grows_as_the_root_of_the_number_of_rounds() {
    for name in ["sincos", "logistic"] {
        let [small, large] = [1000, 100_000].map(|n| peak(name, n, true));
        // Ten times as much for a hundred times as many rounds, if there is nothing else.
        assert!(large < 12 * small, "{name}: {small} bytes, then {large}");
        let all = peak(name, 100_000, false);
        assert!(large * 20 < all, "{name}: {large} bytes, {all} without checkpoints");
        let (module, function) = exported(name);
        let gradient = |checkpoint| {
            let options = GradientOptions::new().checkpoint(checkpoint);
            let result = gradient_with(&module, &function, &arguments(&module, name, 100_000), &options).unwrap();
            assert!(result.warnings.is_empty(), "{name}: {:?}", result.warnings);
            result.gradient
        };
        assert_eq!(first_difference(&gradient(true), &gradient(false)), None, "{name}");
    }
}

/// Checks random programs, and tells how many segments there were and how many derivatives were wrong.
fn check(
    seeds: std::ops::Range<u64>,
    memory: bool,
    changed: &dyn Fn(&mut Module<BBCode>, &DerivativeNames),
) -> (usize, usize) {
    let (mut segments, mut wrong) = (0, 0);
    for seed in seeds {
        let bytes = kit::seeds::bytes(seed);
        let mut u = arbitrary::Unstructured::new(&bytes);
        let checked = match memory {
            true => {
                let Ok(program) = mutation_program(&mut u) else { continue };
                checkpointing_agrees(&program.module, "f", &|| program.args(), LIMITS, changed)
            }
            false => {
                let Ok(program) = numeric_with(&mut u, Options { calls: seed % 2 == 0 }) else { continue };
                checkpointing_agrees(&program.module, "f", &|| program.args.clone(), LIMITS, changed)
            }
        };
        match checked {
            Ok(made) => segments += made,
            Err(_) => wrong += 1,
        }
    }
    (segments, wrong)
}

#[test]
fn the_gradients_of_random_programs_stay_the_same() {
    let (segments, wrong) = check(0..400, false, &|_, _| {});
    assert_eq!(wrong, 0);
    assert!(segments > 50, "{segments}");
    let (segments, wrong) = check(0..200, true, &|_, _| {});
    assert_eq!(wrong, 0);
    assert!(segments > 10, "{segments}");
}

/// Changes the calls by which pullbacks run segments again.
fn in_runs(module: &mut Module<BBCode>, change: impl Fn(&mut [Operand<Ids>])) {
    let pullbacks: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in pullbacks.iter().filter(|name| name.ends_with("_pb") || name.ends_with("_pullback")) {
        let body = module.body_mut(name).unwrap();
        let ids: Vec<_> = body.all_insts().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(Stmt::Call(call)) = body.stmt_mut(id)
                && matches!(&call.callee, Operand::Global(global) if global.name.contains("_segment") && !global.name.ends_with("_pb"))
            {
                change(&mut call.args);
            }
        }
    }
}

#[test]
fn a_segment_that_is_run_again_otherwise_is_caught() {
    // One round only.
    let short = |module: &mut Module<BBCode>, _: &DerivativeNames| in_runs(module, |args| args[0] = 1.into());
    let (_, wrong) = check(0..400, false, &short);
    assert!(wrong > 5, "{wrong}");
    // With another number than the one that was saved.
    let other = |module: &mut Module<BBCode>, _: &DerivativeNames| {
        in_runs(module, |args| {
            if let [.., before, last @ Operand::Value(_)] = args {
                *last = before.clone();
            }
        });
    };
    let (_, wrong) = check(0..400, false, &other);
    assert!(wrong > 5, "{wrong}");
}
