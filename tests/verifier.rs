//! The verifier's conditions: each is broken by a program in `tests/verifier`, and by that program alone; the table
//! there is held against the code. Both representations must find the same.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

use std::fs;
use std::path::Path;

use bbcode::{BBCode, OddEdges};
use bbkit::Input;
use ircode::{
    Check, Declaration, DifferentiabilityWitness, GlobalRef, IRCode, Module, TableCheck, Type, parse_function,
    parse_module, verify, verify_tables, verify_with_globals,
};

const TABLE: &str = include_str!("verifier/README.md");

fn rows() -> Vec<Vec<&'static str>> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| IR"));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

fn read(file: &str) -> Result<IRCode, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier").join(file);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let input = Input::parse(file, &text, &[]).map_err(|error| error.to_string())?;
    Ok(input.module.functions()[0].body.clone())
}

/// Somebody who knows that `Main.counter` is no constant.
fn is_constant(global: &GlobalRef) -> bool {
    global.name != "counter"
}

fn violations(ir: &IRCode) -> Vec<Check> {
    let violations = verify_with_globals(ir, is_constant).err().map(|violations| violations.0).unwrap_or_default();
    violations.iter().map(|violation| violation.check).collect()
}

fn program(check: Check, file: &str) -> IRCode {
    if check != Check::RangeInside {
        return read(file).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut ir = read("IR29.ir").expect("a valid program");
    ir.cfg.blocks[0].stmts.end += 1;
    ir
}

#[test]
fn each_condition_is_broken_by_its_program_alone() {
    let rows = rows();
    for &check in Check::ALL {
        let row =
            rows.iter().find(|row| row[0] == check.code()).unwrap_or_else(|| panic!("{check} is not in the table"));
        let found = violations(&program(check, row[4]));
        assert_eq!(found, [check], "{check}");
    }
}

/// Conditions that say several things have further programs, named after them: `IR04_successor_twice.json`.
#[test]
fn further_programs_break_one_condition_each() {
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier")).expect("the folder") {
        let file = entry.expect("a file").file_name().into_string().expect("a name");
        let Some((code, _)) = file.split_once('_') else { continue };
        count += 1;
        if let Some(check) = TableCheck::ALL.iter().find(|check| check.code() == code) {
            assert_eq!(table_violations(&read_module(&file)), [*check], "{file}");
        } else {
            let check = Check::ALL.iter().find(|check| check.code() == code).expect("a condition");
            let ir = read(&file).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(violations(&ir), [*check], "{file}");
        }
    }
    assert!(count >= 7, "{count}");
}

#[test]
fn bbcode_finds_the_same() {
    let mut converted = 0;
    for row in rows().iter().filter(|row| Check::ALL.iter().any(|check| check.code() == row[0])) {
        let check = *Check::ALL.iter().find(|check| check.code() == row[0]).expect("a check of this code");
        let ir = program(check, row[4]);
        let Ok(bb) = BBCode::try_from(&ir) else {
            // What names or ranges break has no other representation.
            assert!(check.applies_to_unreachable(), "{check} cannot be converted");
            continue;
        };
        converted += 1;
        let found = verify_with_globals(&bb, is_constant).err().map(|violations| violations.0).unwrap_or_default();
        let found: Vec<Check> = found.iter().map(|violation| violation.check).collect();
        assert_eq!(found, [check], "{check}");
    }
    assert!(converted >= 21, "only {converted} programs could be converted");
}

#[test]
fn the_table_says_what_the_code_says() {
    let rows = rows();
    for &check in Check::ALL {
        let row = rows.iter().find(|row| row[0] == check.code()).expect("a row");
        let since = check.since().map_or("always".to_string(), |version| version.to_string());
        let everywhere = if check.applies_to_unreachable() { "yes" } else { "no" };
        assert_eq!((row[1], row[2], row[3]), (check.condition(), everywhere, since.as_str()), "{check}");
    }
    // Every number of Julia's is there.
    let codes: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    for number in 1..=31 {
        assert!(codes.contains(&format!("IR{number:02}").as_str()), "IR{number:02} is missing");
    }
}

#[test]
fn what_cannot_be_held_is_refused_when_it_is_read() {
    let refused: Vec<_> =
        rows().into_iter().filter(|row| Check::ALL.iter().all(|check| check.code() != row[0])).collect();
    assert_eq!(refused.len(), 5);
    for row in refused {
        let error = read(row[3]).expect_err("it is read");
        assert!(error.contains(row[4]), "{}: {error}", row[0]);
    }
    let error = read("IR06.json").expect_err("it is read");
    assert!(error.contains("IR06: "), "{error}");
}

#[test]
fn unreachable_blocks_may_hold_anything_that_names_what_exists() {
    for &check in Check::ALL {
        if check.applies_to_unreachable() {
            continue;
        }
        let rows = rows();
        let file = rows.iter().find(|row| row[0] == check.code()).expect("a row")[4];
        // The same program behind a block that returns, and so never reached.
        let ir = program(check, file);
        let before = "function f(x::Int64, c::Bool)::Int64\n1 ─ return 0\nend\n";
        let unreachable = behind(&Input::parse("f", before, &[]).expect("a program").module.functions()[0].body, &ir);
        assert_eq!(violations(&unreachable), [], "{check}");
    }
}

/// The blocks of `dead` behind those of `ir`, with nothing leading there.
fn behind(ir: &IRCode, dead: &IRCode) -> IRCode {
    use ircode::{BlockNumber, Operand, SSAValue, Stmt};
    let (blocks, stmts) = (ir.cfg.blocks.len() as u32, ir.stmts.len() as u32);
    let shift = |block: BlockNumber| if block.0 == 0 { block } else { BlockNumber(block.0 + blocks) };
    let mut all = ir.clone();
    for mut row in dead.stmts.clone().into_rows() {
        row.stmt.for_each_target_mut(|block| *block = shift(*block));
        if let Stmt::Phi(phi) = &mut row.stmt {
            phi.entries.iter_mut().for_each(|entry| entry.edge = shift(entry.edge));
        }
        row.stmt.for_each_operand_mut(&mut |operand| {
            if let Operand::Value(value) = operand {
                *value = SSAValue(value.0 + stmts);
            }
        });
        all.stmts.push(row);
    }
    for block in &dead.cfg.blocks {
        let mut block = block.clone();
        block.stmts = block.stmts.start + stmts as usize..block.stmts.end + stmts as usize;
        block.preds.iter_mut().chain(&mut block.succs).for_each(|edge| *edge = shift(*edge));
        all.cfg.blocks.push(block);
    }
    all
}

#[test]
fn code_of_an_old_julia_need_not_meet_what_came_later() {
    for code in ["IR22", "IR23"] {
        let mut ir = read(&format!("{code}.ir")).expect("a program");
        ir.julia = Some("1.9".parse().expect("a version"));
        assert!(verify(&ir).is_ok(), "{code}");
        ir.julia = Some("1.10".parse().expect("a version"));
        assert!(verify(&ir).is_err(), "{code}");
    }
}

fn read_module(file: &str) -> Module<IRCode> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Input::parse(file, &text, &[]).unwrap_or_else(|error| panic!("{error}")).module
}

fn table_violations(module: &Module<IRCode>) -> Vec<TableCheck> {
    let violations = verify_tables(module, |body| &body.argtypes).err();
    violations.map(|found| found.0.iter().map(|found| found.check).collect()).unwrap_or_default()
}

#[test]
fn what_collects_arguments_has_one_for_them() {
    let module = parse_module("function f()::Float64\n; varargs\n1 ─ return 1.0\nend").unwrap().module;
    assert_eq!(table_violations(&module), [TableCheck::ParametersFit]);
    // In a tuple.
    let text = "function f(all::Tuple{Float64, Float64})::Float64\n; varargs\n1 ─ return 1.0\nend";
    let mut module = parse_module(text).unwrap().module;
    assert_eq!(table_violations(&module), []);
    module.edit_function("f", |function| function.body.argtypes[1] = Type::FLOAT64);
    assert_eq!(table_violations(&module), [TableCheck::ParametersFit]);
}

#[test]
fn arguments_have_names_of_their_own() {
    let mut module = parse_module("function f(x::Float64, y::Float64)\n1 ─ return 1.0\nend").unwrap().module;
    assert_eq!(table_violations(&module), []);
    module.edit_function("f", |function| function.parameters.swap(0, 1));
    assert_eq!(table_violations(&module), []);
    module.edit_function("f", |function| function.parameters[1] = Some("y".into()));
    assert_eq!(table_violations(&module), [TableCheck::ParametersFit]);
}

#[test]
fn each_condition_of_tables_is_broken_by_its_program_alone() {
    let rows = TABLE.lines().filter(|line| line.starts_with("| DT"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect();
    assert_eq!(rows.len(), TableCheck::ALL.len());
    for (&check, row) in TableCheck::ALL.iter().zip(rows) {
        assert_eq!((row[0], row[1]), (check.code(), check.condition()));
        let module = read_module(row[2]);
        assert_eq!(table_violations(&module), [check], "{check}");
        for function in module.functions() {
            assert!(function.body.verify().is_ok(), "{check}: {}", function.name);
        }
        let bbcode = bbkit::to_bbcode(&module).expect("verified code converts");
        let found = verify_tables(&bbcode, |body| &body.argtypes).expect_err("the same tables");
        assert_eq!(found.0.iter().map(|found| found.check).collect::<Vec<_>>(), [check], "{check}");
    }
}

#[test]
fn a_witness_of_another_convention_is_told_of_thunks() {
    let module = read_module("DT07.ir");
    let found = verify_tables(&module, |body| &body.argtypes).expect_err("it does not fit");
    assert_eq!(
        found.to_string(),
        "error[DT07]: Square: HasArea, `area`: `square_area` takes 3 arguments, but is given 2\n  = help: an entry may name \
         a thunk: a function that takes what is given, and calls this one with what it takes"
    );
}

/// A dump may say anything of the parameters of a derivative; a text that does is not read.
#[test]
fn the_parameters_of_a_witness_are_ascending_and_there() {
    let text = "function f(x::Float64, y::Float64)::Float64\n1 ─ return x\nend\n";
    for numbers in [vec![3, 2], vec![2, 2], vec![0], vec![4]] {
        let mut module = parse_module(text).expect("a function").module;
        let witness = DifferentiabilityWitness::open("f", numbers.clone());
        module.declare(Declaration::Differentiability(witness)).expect("one witness");
        assert_eq!(table_violations(&module), [TableCheck::WitnessParameters], "{numbers:?}");
    }
}

/// Code that is made by hand may name any statements, and is told where it is wrong.
#[test]
fn ranges_of_blocks_may_be_anything() {
    let stmts = parse_function("1 ─ return 1").unwrap().body.stmts;
    for start in [0, usize::MAX] {
        let range = start..usize::MAX;
        let found = IRCode::from_blocks(stmts.clone(), std::slice::from_ref(&range)).verify().unwrap_err();
        assert!(found.to_string().contains("statement"), "{found}");
    }
}

/// IRCode need not list the block to which another one falls through. Where that becomes a goto, it must.
#[test]
fn a_fallthrough_that_is_not_listed_becomes_a_goto_that_is() {
    let mut bb = BBCode::new(vec![Type::Any]);
    let block = bb.push_block();
    bb.set_next(block, Some(block)).unwrap();
    bb.set_odd_edges(block, OddEdges { missing_succs: vec![block], ..OddEdges::default() }).unwrap();
    bb.verify().unwrap();
    IRCode::try_from(&bb).unwrap().verify().unwrap();
}
