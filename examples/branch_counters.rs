//! Instrumenting a real function: every way out of every branch gets a counter. `cargo run --example branch_counters`
//!
//! The function is a listing that Julia printed. The counters are an array that the instrumented function takes as one
//! more argument; each way out of a branch gets a block of its own that adds one to its element, whatever the φs of the
//! target are.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::fmt::Write;

use bbkit::bbcode::{BBCode, BlockId, EditError, Ids};
use bbkit::exec::{Machine, Value};
use bbkit::ircode::{Argument, Function, IRCode, Module, NewInstruction, Operand, Stmt, Type, parse_function};

const LISTING: &str = include_str!("../tests/julia/ircode/collatz_like.ir");

/// A counter: the block that branches, and the block that it goes to.
type Counter = (BlockId, BlockId);

/// Adds an argument for the counters and counts every way out of every branch. Returns what the elements count.
fn count_branches(bb: &mut BBCode) -> Result<Vec<Counter>, EditError> {
    let counters = bb.add_argument(Type::array(Type::INT64, 1));
    let mut counted: Vec<Counter> = Vec::new();
    let blocks: Vec<BlockId> = bb.blocks().collect();
    for block in blocks {
        if matches!(bb.terminator(block).map(|(_, inst)| &inst.stmt), Some(Stmt::GotoIfNot(_))) {
            for target in bb.successors(block) {
                counted.push((block, target));
                count(bb, counters, block, target, counted.len())?;
            }
        }
    }
    Ok(counted)
}

/// Puts a block on the edge that adds one to the counter.
fn count(bb: &mut BBCode, counters: Argument, from: BlockId, to: BlockId, number: usize) -> Result<(), EditError> {
    let base = |name: &str, args: Vec<Operand<Ids>>, ty: Type| {
        NewInstruction::new(Stmt::call(Operand::global("Base", name), args), ty)
    };
    let index = Operand::from(i64::try_from(number).unwrap_or(i64::MAX));
    let (block, _) = bb.insert_block_on_edge(from, to, [])?;
    let mut cursor = bb.cursor_at_end(block)?;
    let old = cursor.insert(base("arrayref", vec![true.into(), counters.into(), index.clone()], Type::INT64))?;
    let new = cursor.insert(base("add_int", vec![old.into(), 1.into()], Type::INT64))?;
    let array = Type::array(Type::INT64, 1);
    cursor.insert(base("arrayset", vec![true.into(), counters.into(), new.into(), index], array))?;
    Ok(())
}

/// The instrumented code, the value, and what was counted.
fn report() -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    let function = parse_function(LISTING)?;
    let mut bb = BBCode::try_from(&function.body)?;
    bb.argtypes = vec![Type::function("collatz_like"), Type::FLOAT64, Type::INT64];
    let before = bb.block_count();
    let counted = count_branches(&mut bb)?;
    bb.verify()?;
    writeln!(out, "{} counters, {before} blocks became {}:", counted.len(), bb.block_count())?;
    let ir = IRCode::try_from(&bb)?;
    write!(out, "{ir}")?;

    let mut module = Module::new();
    module.add_function(Function::new("collatz_like", Type::FLOAT64, ir))?;
    let mut machine = Machine::new(&module);
    let zeros = vec![Value::from(0); counted.len()];
    let counters = machine.array(Type::INT64, vec![zeros.len()], zeros).map_err(|error| error.to_string())?;
    let value = machine.call("collatz_like", &[Value::from(0.3), Value::from(6), counters.clone()])?;
    writeln!(out, "collatz_like(0.3, 6) = {value}")?;
    for ((from, to), count) in counted.iter().zip(counters.array_elements().unwrap_or_default()) {
        writeln!(out, "{from} → {to}: {count}")?;
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}

/// 6 is halved, 3 tripled, and so on: 6, 3, 10, 5, 16, 8, 4, 2, 1. So the loop is left once after eight rounds, of
/// which six halve and two triple.
#[test]
fn the_counters_are_those_of_the_collatz_sequence() -> Result<(), Box<dyn Error>> {
    let report = report()?;
    let (mut n, mut halved, mut tripled) = (6u64, 0, 0);
    while n > 1 {
        if n % 2 == 0 {
            (n, halved) = (n / 2, halved + 1);
        } else {
            (n, tripled) = (3 * n + 1, tripled + 1);
        }
    }
    let rounds = halved + tripled;
    let counts = format!("#2 → #7: 1\n#2 → #3: {rounds}\n#3 → #5: {tripled}\n#3 → #4: {halved}\n");
    assert!(report.ends_with(&counts), "{report}");
    assert!(report.contains("collatz_like(0.3, 6) = 4.214276681753136\n"), "the value is that of Julia: {report}");
    assert_eq!(report, include_str!("../docs/branch_counters.txt"));
    Ok(())
}
