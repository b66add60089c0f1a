//! The laws of the design on random programs, and each check against a bug that is planted for it.

use bbcode::{BBCode, Ids, InstId};
use exec::Limits;
use ircode::{IRCode, Module, Operand, Stmt, Style, Type, parse_module, print_module};
use kit::anything::anything;
use kit::carriers::carriers_agree;
use kit::compact::compact_agrees;
use kit::dynamic::dynamic;
use kit::laws::{
    Checked, Downstream, bbcode_is_safe, comes_back, gradient_is_dual, gradient_is_right, is_deterministic, is_safe,
    keeps_meaning, round_trips, tangents_are_dual,
};
use kit::memory::{MemoryProgram, memory};
use kit::memory_gradient::memory_gradient_is_right;
use kit::mutation::mutate;
use kit::mutation_programs::mutation_program;
use kit::native::native_agrees;
use kit::numeric::{Options, Program, numeric, numeric_with, search};
use kit::savings::savings_agree;
use kit::seeds::for_each;
use kit::surgery::Verbs;
use kit::untyped::without_types;
use passes::reverse_mode::{self, DerivativeNames, Savings, differentiate};
use passes::{PASSES, Pass, PassError, PassManager, PassResult, Run, run_on_function, scalar_promotion};

const LIMITS: Limits = Limits { steps: 100_000, memory: 1 << 24, depth: 100 };

fn derive(module: &mut Module<BBCode>) -> Result<DerivativeNames, PassError> {
    differentiate(module, &"f".into())
}

/// With the pullback called by the function that gives value and gradient: a mistake in the one shows in the other.
fn derive_apart(module: &mut Module<BBCode>) -> Result<DerivativeNames, PassError> {
    let mut savings = Savings::default();
    savings.one_function = false;
    let options = reverse_mode::Options { savings, ..Default::default() };
    reverse_mode::derive(module, &"f".into(), &options).map(|derivative| derivative.names)
}

#[test]
fn numeric_programs_come_back_from_every_way() {
    for_each(400, numeric, |program: &Program| round_trips(&program.module.functions()[0], &bbkit::Ways::default()))
        .unwrap();
}

#[test]
fn numeric_programs_are_safe() {
    for_each(200, numeric, |program: &Program| {
        is_safe(&program.module.functions()[0], &program.args, LIMITS, Downstream::default(), &[])
    })
    .unwrap();
}

#[test]
fn passes_keep_the_meaning_of_numeric_programs() {
    for pass in PASSES.iter().filter(|pass| pass.is_exact && matches!(pass.run, Run::Function(_))) {
        let run = |module: &mut Module<BBCode>| PassManager::new([pass]).run(module, None);
        for_each(250, numeric, |program: &Program| {
            keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &run)
        })
        .unwrap_or_else(|error| panic!("{}: {error}", pass.name));
    }
}

#[test]
fn gradients_of_numeric_programs_are_right() {
    for_each(1000, numeric, |program: &Program| {
        gradient_is_right(&program.module, "f", &program.args, LIMITS, &derive)
    })
    .unwrap();
}

#[test]
fn gradients_of_loops_that_are_left_in_the_middle_are_right() {
    let linear_maps = |module: &mut Module<BBCode>| {
        let options = reverse_mode::Options { carrier: reverse_mode::Carrier::LinearMaps, ..Default::default() };
        reverse_mode::derive(module, &"f".into(), &options).map(|derivative| derivative.names)
    };
    for_each(600, search, |program: &Program| {
        gradient_is_dual(&program.module, "f", &program.args, LIMITS, &derive)?;
        gradient_is_dual(&program.module, "f", &program.args, LIMITS, &linear_maps)
    })
    .unwrap();
}

/// A switch is differentiated as it is, and the same comes out as when it is lowered first.
#[test]
fn switches_are_differentiated() {
    let differentiated = std::cell::Cell::new(0);
    for_each(300, numeric, |program: &Program| {
        let body = &program.bbcode.functions()[0].body;
        if !body.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Switch(_))) {
            return Ok(());
        }
        body.verify().map_err(|violations| violations.to_string())?;
        let gradient = |mut module: Module<BBCode>| -> Result<String, String> {
            let names = derive(&mut module).map_err(|error| error.to_string())?;
            for function in module.functions() {
                function.body.verify().map_err(|violations| violations.to_string())?;
            }
            let module = bbkit::to_ircode(&module).map_err(|error| error.to_string())?;
            let result = exec::Machine::with_limits(&module, LIMITS).call(&names.value_and_gradient, &program.args);
            Ok(result.map_or_else(|error| error.kind.to_string(), |value| value.to_string()))
        };
        let (with, without) =
            (gradient(program.bbcode.clone())?, gradient(bbkit::to_bbcode(&program.module).unwrap())?);
        differentiated.set(differentiated.get() + 1);
        if with == without { Ok(()) } else { Err(format!("{with} with switches, {without} without")) }
    })
    .unwrap();
    assert!(differentiated.get() > 50, "only {}", differentiated.get());
}

#[test]
fn everything_is_deterministic() {
    for_each(60, numeric, |program: &Program| {
        is_deterministic(&|| {
            let mut module = bbkit::to_bbcode(&program.module).unwrap();
            let _ = derive(&mut module);
            let module = bbkit::to_ircode(&module).unwrap();
            print_module(&module, Style::Bbkit) + &ircode::to_json(&module).unwrap()
        })
    })
    .unwrap();
}

#[test]
fn a_pass_that_lets_a_program_run_for_ever_is_caught() {
    let never_returns = |module: &mut Module<BBCode>| -> PassResult {
        let body = module.body_mut("f").unwrap();
        let blocks: Vec<_> = body.blocks().collect();
        for block in blocks {
            let returns = body.terminator(block).filter(|(_, inst)| matches!(inst.stmt, Stmt::Return(_)));
            if let Some(id) = returns.map(|(id, _)| id)
                && Some(block) != body.entry()
                && body.phi_nodes(block).next().is_none()
            {
                body.replace(id, Stmt::goto(block)).unwrap();
            }
        }
        Ok(true)
    };
    let limits = Limits { steps: 1_000, ..LIMITS };
    assert!(
        caught(|program| keeps_meaning(&program.module, "f", &|| program.args.clone(), limits, &never_returns)) > 3
    );
}

/// How many of the first programs a check refuses.
fn caught(check: impl Fn(&Program) -> kit::laws::Checked) -> usize {
    let mut caught = 0;
    for seed in 0..100 {
        let bytes = kit::seeds::bytes(seed);
        let Ok(program) = numeric(&mut arbitrary::Unstructured::new(&bytes)) else { continue };
        caught += usize::from(check(&program).is_err());
    }
    caught
}

/// A way on which constants become others.
fn forgets_constants() -> bbkit::Ways {
    bbkit::Ways { carry: |text| text.replacen("1.0", "1.5", 1), ..bbkit::Ways::default() }
}

/// A way on which φs take from one edge what they took from another.
fn swaps_edges() -> bbkit::Ways {
    bbkit::Ways {
        to_ircode: |bb| {
            let mut ir = IRCode::try_from(bb)?;
            for stmt in ir.stmts.stmts_mut() {
                if let Stmt::Phi(phi) = stmt
                    && let [first, second, ..] = phi.entries.as_mut_slice()
                {
                    std::mem::swap(&mut first.value, &mut second.value);
                }
            }
            Ok(ir)
        },
        ..bbkit::Ways::default()
    }
}

#[test]
fn a_conversion_that_loses_something_is_caught() {
    let drops_lines = bbkit::Ways {
        to_bbcode: |ir| {
            let mut ir = ir.clone();
            ir.stmts.flags_mut().iter_mut().for_each(|flag| *flag = 1);
            BBCode::try_from(&ir)
        },
        ..bbkit::Ways::default()
    };
    for ways in [drops_lines, forgets_constants(), swaps_edges()] {
        assert!(caught(|program| round_trips(&program.module.functions()[0], &ways)) > 20);
    }
}

/// The same for code keyed by ID, and for passes on it.
#[test]
fn what_goes_wrong_with_code_keyed_by_id_is_caught() {
    let keyed = |program: &Program| program.module.functions()[0].map(|body| BBCode::try_from(body)).unwrap();
    for ways in [forgets_constants(), swaps_edges()] {
        assert!(caught(|program| comes_back(&keyed(program), &ways)) > 20);
    }
    let breaks = |program: &Program| bbcode_is_safe(&keyed(program), &program.args, LIMITS, &BREAKS, &[]);
    assert!(caught(breaks) > 50);
    let panics = |program: &Program| bbcode_is_safe(&keyed(program), &program.args, LIMITS, &PANICS, &[]);
    assert!(std::panic::catch_unwind(|| caught(panics)).is_err());
}

#[test]
fn passes_keep_the_meaning_of_programs_that_ask_for_types() {
    for pass in PASSES.iter().filter(|pass| pass.is_exact && matches!(pass.run, Run::Function(_))) {
        let run = |module: &mut Module<BBCode>| PassManager::new([pass]).run(module, None);
        for_each(250, dynamic, |program: &Program| {
            keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &run)
        })
        .unwrap_or_else(|error| panic!("{}: {error}", pass.name));
    }
}

/// The pass of this name.
fn named(name: &str) -> impl Iterator<Item = &'static Pass> {
    PASSES.iter().filter(move |pass| pass.name == name)
}

/// Finds the types of statements that have none.
fn inferred(module: &mut Module<BBCode>) -> PassResult {
    PassManager::new(named("infer-types")).run(module, None)
}

/// Programs of which no types are known, types found, and what is done with them.
fn inference_keeps_meaning(pass: &dyn Fn(&mut Module<BBCode>) -> PassResult) -> impl Fn(&Program) -> Checked {
    move |program| {
        keeps_meaning(&without_types(&program.module), "f", &|| program.args.clone(), LIMITS, &|module| {
            inferred(module)?;
            pass(module)
        })
    }
}

#[test]
fn types_that_are_found_are_true_and_nothing_goes_wrong_with_them() {
    let simplified = |module: &mut Module<BBCode>| {
        PassManager::new(["simplify", "infer-types", "simplify"].into_iter().flat_map(named)).run(module, None)
    };
    for_each(1500, dynamic, inference_keeps_meaning(&simplified)).unwrap();
    for_each(300, numeric, inference_keeps_meaning(&simplified)).unwrap();
    // A φ of which something is known and something is not, is of any type.
    let wrong = |module: &mut Module<BBCode>| {
        let body = module.body_mut("f").unwrap();
        let merges: Vec<_> = body.all_insts().filter(|(_, inst)| inst.ty == Type::Any).map(|(id, _)| id).collect();
        for id in merges {
            let Some(Stmt::Phi(phi)) = body.stmt(id) else { continue };
            let known = phi
                .entries
                .iter()
                .filter_map(|entry| entry.value.as_ref()?.as_value())
                .map(|value| body.inst(value).unwrap().ty.clone());
            if let Some(ty) = known.into_iter().find(|ty| *ty != Type::Any) {
                body.inst_mut(id).unwrap().ty = ty;
            }
        }
        Ok(true)
    };
    assert!(for_each(100, dynamic, inference_keeps_meaning(&wrong)).is_err());
}

/// Lets the calls of one primitive be calls of another.
fn mistake(module: &mut Module<BBCode>, name: &str, from: &str, to: &str) -> bool {
    let Some(body) = module.body_mut(name) else { return false };
    let ids: Vec<_> = body.all_insts().map(|(id, _)| id).collect();
    let mut made = false;
    for id in ids {
        if let Some(Stmt::Call(call)) = body.stmt_mut(id)
            && matches!(&call.callee, ircode::Operand::Global(global) if global.name == from)
        {
            call.callee = ircode::Operand::global("Base", to);
            made = true;
        }
    }
    made
}

#[test]
fn a_pass_that_changes_the_meaning_is_caught() {
    let wrong = |module: &mut Module<BBCode>| -> PassResult { Ok(mistake(module, "f", "max_float", "min_float")) };
    assert!(caught(|program| keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &wrong)) > 3);
    let invalid = |module: &mut Module<BBCode>| -> PassResult {
        let body = module.body_mut("f").unwrap();
        let first = body.all_insts().map(|(id, _)| id).next().unwrap();
        body.remove_unchecked(first).unwrap();
        Ok(true)
    };
    assert!(caught(|program| keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &invalid)) > 20);
}

/// The counter of the loop comes to the element that would be kept: a pass that does not see this load there, as it is
/// hidden from it, computes something else.
#[test]
fn keeping_an_element_that_is_read_at_another_index_is_caught() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/passes/scalar_promotion.ir");
    let module = bbkit::Input::read(path).unwrap().module;
    let name = ircode::Name::from("overlapping");
    let promote = |module: &mut Module<BBCode>| run_on_function(module, &name, scalar_promotion::run);
    let wrong = |module: &mut Module<BBCode>| {
        let load = at_a_counter(&module.function(&name).unwrap().body).unwrap();
        let array = read_from(module.body_mut(&name).unwrap(), load, 2.into());
        let changed = promote(module);
        read_from(module.body_mut(&name).unwrap(), load, array);
        changed
    };
    let args = || vec![exec::Value::from(0.5), exec::Value::from(2)];
    keeps_meaning(&module, &name, &args, LIMITS, &promote).unwrap();
    assert!(keeps_meaning(&module, &name, &args, LIMITS, &wrong).is_err());
}

/// The load whose index is a φ of its block.
fn at_a_counter(bb: &BBCode) -> Option<InstId> {
    let found = bb.all_insts().find(|(id, inst)| match &inst.stmt {
        Stmt::Call(call) => call.args.get(2).and_then(Operand::as_value).is_some_and(|index| {
            bb.block_of(index) == bb.block_of(*id) && matches!(bb.stmt(index), Some(Stmt::Phi(_)))
        }),
        _ => false,
    });
    found.map(|(id, _)| id)
}

/// Lets a load read from another array, and gives that from which it read.
fn read_from(bb: &mut BBCode, load: InstId, array: Operand<Ids>) -> Operand<Ids> {
    match bb.stmt_mut(load) {
        Some(Stmt::Call(call)) => std::mem::replace(&mut call.args[1], array),
        _ => array,
    }
}

/// Leaves the uses of what it removes.
fn break_uses(bb: &mut BBCode, _: &passes::Context<'_>) -> PassResult {
    let used = bb.all_insts().find_map(|(_, inst)| {
        let mut used = None;
        inst.stmt.for_each_use(|value| used = Some(value));
        used
    });
    Ok(used.is_some_and(|value| bb.remove_unchecked(value).is_ok()))
}

#[allow(clippy::panic, reason = "the bug that is planted")]
fn panic_at_once(_: &mut BBCode, _: &passes::Context<'_>) -> PassResult {
    panic!("planted")
}

static BREAKS: [Pass; 1] = [Pass { name: "breaks", about: "", run: Run::Function(break_uses), is_exact: false }];
static PANICS: [passes::Pass; 1] =
    [passes::Pass { name: "panics", about: "", run: Run::Function(panic_at_once), is_exact: true }];

#[test]
fn a_pass_that_is_not_safe_is_caught() {
    let check = |program: &Program, passes| {
        let downstream = Downstream { passes, ..Downstream::default() };
        is_safe(&program.module.functions()[0], &program.args, LIMITS, downstream, &[])
    };
    assert!(caught(|program| check(program, &BREAKS)) > 50);
    assert!(std::panic::catch_unwind(|| caught(|program| check(program, &PANICS))).is_err());
}

#[test]
fn a_verifier_that_accepts_everything_is_caught() {
    let careless = Downstream { accepts: |_| true, ..Downstream::default() };
    let mut caught = 0;
    for seed in 0..200 {
        let bytes = kit::seeds::bytes(seed);
        let mut u = arbitrary::Unstructured::new(&bytes);
        let Ok(mut function) = anything(&mut u) else { continue };
        if mutate(&mut u, &mut function).is_ok() {
            caught += usize::from(is_safe(&function, &[], LIMITS, careless, &[]).is_err());
        }
    }
    assert!(caught > 50, "only {caught} of 200");
}

#[test]
fn a_pipeline_that_is_not_safe_is_caught() {
    let check = |program: &Program, pipeline: &[&'static passes::Pass]| {
        is_safe(&program.module.functions()[0], &program.args, LIMITS, Downstream::default(), pipeline)
    };
    assert!(caught(|program| check(program, &[&PASSES[0], &BREAKS[0]])) > 50);
    assert!(std::panic::catch_unwind(|| caught(|program| check(program, &[&PANICS[0]]))).is_err());
}

/// Code that computes something else than what the interpreter runs is found, and code that does nothing wrong is not.
#[test]
fn wrong_native_code_is_caught() {
    let compiled_wrong = |program: &Program, from: &str, to: &str| {
        let changed = |module: &mut Module<IRCode>| {
            let mut wrong = bbkit::to_bbcode(module).unwrap();
            mistake(&mut wrong, "f", from, to);
            *module = bbkit::to_ircode(&wrong).unwrap();
        };
        native_agrees(&program.module, "f", &|| program.args.clone(), LIMITS, &changed).map(|_| ())
    };
    assert_eq!(caught(|program| compiled_wrong(program, "mul_float", "mul_float")), 0);
    for (from, to) in [("add_float", "sub_float"), ("max_float", "min_float"), ("lt_float", "le_float")] {
        let caught = caught(|program| compiled_wrong(program, from, to));
        assert!(caught > 2, "{from} for {to}: {caught}");
    }
}

/// The same for the compact form of the interpreter's code.
#[test]
fn wrong_compact_code_is_caught() {
    let wrong = |program: &Program, from: &str, to: &str| {
        let changed = |module: &mut Module<IRCode>| {
            let mut wrong = bbkit::to_bbcode(module).unwrap();
            mistake(&mut wrong, "f", from, to);
            *module = bbkit::to_ircode(&wrong).unwrap();
        };
        compact_agrees(&program.module, "f", &|| program.args.clone(), LIMITS, &changed)
    };
    assert_eq!(caught(|program| wrong(program, "mul_float", "mul_float")), 0);
    for (from, to) in [("add_float", "sub_float"), ("lt_float", "le_float"), ("add_int", "sub_int")] {
        let caught = caught(|program| wrong(program, from, to));
        assert!(caught > 3, "{from} for {to}: {caught}");
    }
}

#[test]
fn a_wrong_derivative_is_caught() {
    let mistaken = |from: &'static str, to: &'static str| {
        move |module: &mut Module<BBCode>| {
            let names = derive(module)?;
            mistake(module, &names.pullback, from, to);
            Ok(names)
        }
    };
    for (from, to) in [("cos", "sin"), ("mul_float", "add_float"), ("neg_float", "abs_float")] {
        let derive = mistaken(from, to);
        let check = |program: &Program| gradient_is_right(&program.module, "f", &program.args, LIMITS, &derive);
        assert!(caught(check) > 3, "{from} for {to}");
    }
}

/// How many of forty derivatives through memory are found wrong once their pullback was changed.
fn caught_in_memory(changed: impl Fn(&mut Module<BBCode>, &str)) -> usize {
    caught_when_changed(|module, names| changed(module, &names.pullback))
}

/// The same of any of their functions.
fn caught_when_changed(changed: impl Fn(&mut Module<BBCode>, &DerivativeNames)) -> usize {
    let is_wrong = |seed: &u64| {
        let bytes = kit::seeds::bytes(*seed);
        let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { return false };
        memory_gradient_is_right(&program.module, "f", &|| program.args(), LIMITS, &changed).is_err()
    };
    (0..40).filter(is_wrong).count()
}

/// Beside the value the gradient comes from a function of its own.
#[test]
fn a_wrong_gradient_beside_the_value_is_caught() {
    let wrong = |from: &'static str, to: &'static str| {
        caught_when_changed(|module, names| {
            mistake(module, &names.value_and_gradient, from, to);
        })
    };
    assert_eq!(wrong("cos", "cos"), 0);
    assert!(wrong("add_float", "sub_float") > 3);
}

#[test]
fn a_derivative_that_differs_where_more_is_saved_is_caught() {
    let changed = |module: &mut Module<BBCode>, names: &DerivativeNames| {
        mistake(module, &names.value_and_gradient, "add_float", "sub_float");
    };
    let is_wrong = |seed: &u64| {
        let bytes = kit::seeds::bytes(*seed);
        let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { return false };
        savings_agree(&program.module, "f", &|| program.args(), LIMITS, &[Savings::none()], &changed).is_err()
    };
    assert!((0..40).filter(is_wrong).count() > 3);
}

/// A mistake in a pullback, or in an enum that goes to it, is found by comparing the carriers.
#[test]
fn a_wrong_linear_map_is_caught() {
    let caught = |from: &str, to: &str, in_pullback: bool| {
        let changed = |module: &mut Module<BBCode>, names: &DerivativeNames| {
            mistake(module, if in_pullback { &names.pullback } else { &names.forward }, from, to);
        };
        let is_wrong = |seed: &u64| {
            let bytes = kit::seeds::bytes(*seed);
            let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { return false };
            carriers_agree(&program.module, "f", &|| program.args(), LIMITS, &changed).is_err()
        };
        (0..40).filter(is_wrong).count()
    };
    assert!(caught("add_float", "sub_float", true) > 3);
    assert!(caught("sin", "cos", false) > 3);
}

#[test]
fn a_wrong_derivative_through_memory_is_caught() {
    for (from, to) in [("cos", "sin"), ("add_float", "sub_float")] {
        let mistaken = |module: &mut Module<BBCode>, pullback: &str| {
            mistake(module, pullback, from, to);
        };
        assert!(caught_in_memory(mistaken) > 3, "{from} for {to}");
    }
    // What is stored in memory, or in its shadow, is not.
    let forgotten = |module: &mut Module<BBCode>, pullback: &str| {
        let body = module.body_mut(pullback).unwrap();
        let ids: Vec<_> = body.all_insts().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(stmt) = body.stmt_mut(id)
                && let Stmt::Call(call) = stmt
                && matches!(&call.callee, ircode::Operand::Global(global) if global.name == "arrayset")
            {
                *stmt = Stmt::Value(call.args[1].clone());
            }
        }
    };
    assert!(caught_in_memory(forgotten) > 10);
    assert_eq!(caught_in_memory(|_, _| {}), 0);
}

#[test]
fn a_wrong_derivative_is_no_dual_number() {
    for (from, to) in [("cos", "sin"), ("mul_float", "add_float"), ("neg_float", "abs_float")] {
        let derive = |module: &mut Module<BBCode>| {
            let names = derive_apart(module)?;
            mistake(module, &names.pullback, from, to);
            Ok(names)
        };
        let check = |program: &Program| gradient_is_dual(&program.module, "f", &program.args, LIMITS, &derive);
        assert!(caught(check) > 3, "{from} for {to}");
    }
}

#[test]
fn gradients_of_functions_that_call_each_other_are_dual_numbers() {
    let calls = |u: &mut arbitrary::Unstructured<'_>| numeric_with(u, Options { calls: true });
    for_each(500, calls, |program: &Program| gradient_is_dual(&program.module, "f", &program.args, LIMITS, &derive))
        .unwrap();
    // That of what is called is wrong.
    let wrong = |module: &mut Module<BBCode>| {
        let names = derive_apart(module)?;
        let others: Vec<_> = module.functions().iter().map(|function| function.name.clone()).collect();
        for name in others.iter().filter(|name| name.starts_with('g') && name.ends_with("_pb")) {
            mistake(module, name, "mul_float", "add_float");
        }
        Ok(names)
    };
    let caught =
        for_each(500, calls, |program: &Program| gradient_is_dual(&program.module, "f", &program.args, LIMITS, &wrong));
    assert!(caught.is_err());
}

#[test]
fn tangents_of_functions_that_call_each_other_are_dual_numbers() {
    let calls = |u: &mut arbitrary::Unstructured<'_>| numeric_with(u, Options { calls: true });
    let forward = |module: &mut Module<BBCode>, directions: usize| {
        let options = passes::forward_mode::Options { with_respect_to: None, directions };
        passes::forward_mode::differentiate(module, &"f".into(), &options)
    };
    for_each(500, calls, |program: &Program| tangents_are_dual(&program.module, "f", &program.args, LIMITS, &forward))
        .unwrap();
    // That of what is called is wrong.
    let wrong = |module: &mut Module<BBCode>, directions: usize| {
        let name = forward(module, directions)?;
        let others: Vec<_> = module.functions().iter().map(|function| function.name.clone()).collect();
        for name in others.iter().filter(|name| name.starts_with('g') && name.contains("_jvp")) {
            mistake(module, name, "mul_float", "add_float");
        }
        Ok(name)
    };
    let caught = for_each(500, calls, |program: &Program| {
        tangents_are_dual(&program.module, "f", &program.args, LIMITS, &wrong)
    });
    assert!(caught.is_err());
}

/// The outcomes of the first programs that change memory, with what is printed and how the arguments end.
#[test]
fn programs_that_change_memory_do_all_kinds_of_things() {
    let (mut ended, mut failed, mut caught, mut changed) = (0, std::collections::BTreeSet::new(), 0, 0);
    for seed in 0..500 {
        let bytes = kit::seeds::bytes(seed);
        let Ok(program) = memory(&mut arbitrary::Unstructured::new(&bytes)) else { continue };
        let Some(outcome) = kit::laws::outcome(&program.module, "f", &program.args(), LIMITS) else { continue };
        ended += usize::from(outcome.result.is_ok());
        caught += usize::from(outcome.printed.contains("caught"));
        let untouched = kit::laws::outcome(&program.module, "no such function", &program.args(), LIMITS).unwrap();
        changed += usize::from(outcome.args != untouched.args);
        if let Err(error) = outcome.result {
            failed.insert(error.split(':').next().unwrap_or_default().to_string());
        }
    }
    assert!(ended > 250 && failed.len() > 4 && caught > 20 && changed > 50, "{ended}, {failed:?}, {caught}, {changed}");
}

#[test]
fn a_pass_that_changes_what_is_done_to_memory_is_caught() {
    for (from, to) in [
        ("push!", "tuple"),
        ("println", "tuple"),
        ("sub_int", "add_int"),
        ("setfield!", "tuple"),
        ("slot_copy!", "tuple"),
    ] {
        let wrong = |module: &mut Module<BBCode>| -> PassResult { Ok(mistake(module, "f", from, to)) };
        let mut caught = 0;
        for seed in 0..500 {
            let bytes = kit::seeds::bytes(seed);
            let Ok(program) = memory(&mut arbitrary::Unstructured::new(&bytes)) else { continue };
            let MemoryProgram { module, .. } = &program;
            caught += usize::from(keeps_meaning(module, "f", &|| program.args(), LIMITS, &wrong).is_err());
        }
        assert!(caught > 2, "{from} for {to}: only {caught}");
    }
}

#[test]
fn what_depends_on_the_run_is_caught() {
    let count = std::cell::Cell::new(0);
    let counts = || {
        count.set(count.get() + 1);
        format!("{}", count.get())
    };
    assert!(is_deterministic(&counts).is_err());
    assert!(is_deterministic(&|| "a\nb".into()).is_ok());
}

#[test]
fn a_panic_is_caught() {
    let panics = |module: &mut Module<BBCode>| -> PassResult { panic!("on {} functions", module.functions().len()) };
    let check = |program: &Program| keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &panics);
    let caught = std::panic::catch_unwind(|| for_each(1, numeric, check));
    assert!(caught.is_err());
}

#[test]
fn anything_comes_back_from_every_way() {
    let verified = std::cell::Cell::new(0);
    for_each(1500, anything, |function| {
        if function.body.verify().is_err() {
            return Ok(());
        }
        verified.set(verified.get() + 1);
        round_trips(function, &bbkit::Ways::default())
    })
    .unwrap();
    assert!(verified.get() > 700, "only {} of 1500 are valid", verified.get());
}

#[test]
fn nothing_panics_on_anything() {
    for_each(700, anything, |function| {
        let args: Vec<_> = function.body.argtypes.iter().skip(1).map(|_| exec::Value::from(1.0)).collect();
        is_safe(function, &args, LIMITS, Downstream::default(), &[])
    })
    .unwrap();
}

/// The number of the programs, of these, on which surgery goes wrong.
#[allow(clippy::unwrap_used, reason = "a test that fails should stop")]
fn wrong_surgery(verbs: &Verbs<'_>) -> usize {
    let wrong = std::cell::Cell::new(0);
    for_each(
        150,
        |u| {
            let program = numeric(u)?;
            let mut module = program.module.clone();
            module.add_function(kit::surgery::callee().unwrap()).unwrap();
            let module = bbkit::to_bbcode(&module).unwrap();
            kit::surgery::surgery_is_right(u, &module, &|| program.args.clone(), LIMITS, verbs)
        },
        |checked| {
            wrong.set(wrong.get() + usize::from(checked.is_err()));
            Ok::<(), String>(())
        },
    )
    .unwrap();
    wrong.get()
}

#[test]
fn surgery_that_does_not_tell_the_phis_is_caught() {
    let silent = |bb: &mut BBCode, from, to| {
        let new = bb.split_edge(from, to)?;
        let phis: Vec<_> = bb.phi_nodes(to).map(|(id, _)| id).collect();
        for phi in phis {
            if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
                phi.entries.iter_mut().filter(|entry| entry.edge == new).for_each(|entry| entry.edge = from);
            }
        }
        Ok(new)
    };
    assert_eq!(wrong_surgery(&Verbs::default()), 0);
    assert!(wrong_surgery(&Verbs { split_edge: &silent, ..Verbs::default() }) > 10);
}

#[test]
fn preheaders_beside_which_control_comes_into_a_loop_are_caught() {
    // The block before may go elsewhere, too.
    let block_before = |bb: &mut BBCode, header| {
        let loops = bb.loops();
        let outside: Vec<_> =
            bb.predecessors(header).into_iter().filter(|&from| !loops.contains(header, from)).collect();
        match outside.as_slice() {
            [only] if loops.header_of(header) == Some(header) && !loops.is_irreducible(header) => Ok(*only),
            _ => bb.insert_preheader(header),
        }
    };
    assert!(wrong_surgery(&Verbs { insert_preheader: &block_before, ..Verbs::default() }) > 0);
    let latch = |bb: &mut BBCode, header| {
        let preheader = bb.insert_preheader(header)?;
        Ok(bb.predecessors(header).into_iter().find(|&pred| pred != preheader).unwrap_or(preheader))
    };
    assert!(wrong_surgery(&Verbs { insert_preheader: &latch, ..Verbs::default() }) > 3);
}

#[test]
fn surgery_that_changes_a_name_is_caught() {
    let renaming = |bb: &mut BBCode, from, to| {
        let new = bb.split_edge(from, to)?;
        let old = bb.first_inst(from).filter(|&inst| bb.stmt(inst).is_some_and(|stmt| !stmt.is_terminator()));
        if let Some(old) = old
            && !matches!(bb.stmt(old), Some(Stmt::Phi(_)))
        {
            let inst = bb.inst(old).cloned().unwrap();
            let again = bb.insert_before(old, inst.into())?;
            bb.replace_all_uses(old, &again.into())?;
            bb.remove(old)?;
        }
        Ok(new)
    };
    assert!(wrong_surgery(&Verbs { split_edge: &renaming, ..Verbs::default() }) > 10);
}

/// Law 3 for what derivatives are called, and for the types that they are of, whatever their function is called and
/// declares.
#[test]
fn derivatives_of_functions_of_any_name_come_back() {
    let typed = "function original(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.lt_float(%1, 2.0)::Bool
└──      goto #3 if not %2
2 ─ %4 = Base.mul_float(%1, x)::Float64
└──      return %4
3 ─      return %1
end
";
    let untyped = "function original(x)\n1 ─ return x\nend\n";
    let names = ["f", "my f", "a-b", "1f", "f'", "f.g h", "x\"y", "f;g", "f(x", "f{x", "f}", "+", "listing 1"];
    for (text, name) in [typed, untyped].into_iter().flat_map(|text| names.map(|name| (text, name))) {
        let mut module = parse_module(text).unwrap().module;
        assert!(module.rename_function("original", name).unwrap());
        for pass in ["reverse-mode", "linear-maps", "forward-mode", "linearization"] {
            let mut derived = bbkit::to_bbcode(&module).unwrap();
            match PassManager::new([passes::find_pass(pass).unwrap()]).run(&mut derived, Some(&name.into())) {
                Err(error) => assert_eq!(text, untyped, "{pass} of `{name}`: {error}"),
                Ok(_) => {
                    let derived = bbkit::to_ircode(&derived).unwrap();
                    let printed = print_module(&derived, Style::Bbkit);
                    let read = parse_module(&printed).unwrap_or_else(|error| panic!("{pass} of `{name}`: {error}"));
                    assert!(read.module == derived, "{pass} of `{name}`:\n{printed}");
                }
            }
        }
    }
}
