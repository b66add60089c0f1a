//! The chapter "Code Transformations" of Mooncake's documentation, in both representations: replacing a statement,
//! inserting one, inserting a block, branching to it, and running the result. `cargo run --example
//! code_transformations`
//!
//! `docs/code_transformations.md` walks through it.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Write;

use bbkit::bbcode::{BBCode, Ids, new_inst};
use bbkit::exec::{Machine, Value};
use bbkit::ircode::{
    BlockNumber, Constant, Function, IRCode, Instruction, InstructionStream, Module, Names, NewInstruction, NoSwitch,
    Operand, Positions, Rename, SSAValue, Stmt, Type, parse_function,
};

/// What Julia prints of the factorial.
const FACTORIAL: &str = "
  1 ─      nothing::Nothing
4 2 ┄ %2 = φ (#1 => 1, #3 => %7)::Int64
  │   %3 = φ (#1 => 0, #3 => %6)::Int64
  │   %4 = Base.slt_int(%3, _2)::Bool
  └──      goto #4 if not %4
5 3 ─ %6 = Base.add_int(%3, 1)::Int64
6 │   %7 = Base.mul_int(%2, %6)::Int64
7 └──      goto #2
8 4 ─      return %2
";

/// A function object, as it stands in code.
fn function<N: Names>(name: &str) -> Operand<N> {
    Operand::Constant(Constant::Function(name.into()))
}

/// The arguments of a call.
fn arguments<N: Names>(stmt: &Stmt<N>) -> Vec<Operand<N>> {
    match stmt {
        Stmt::Call(call) => call.args.to_vec(),
        _ => Vec::new(),
    }
}

/// Replacing: `%7` becomes a sum.
fn replace_in_ircode(ir: &mut IRCode) -> Result<(), Box<dyn Error>> {
    let product = ir.stmt(SSAValue(7)).ok_or("there are nine statements")?;
    let sum = Stmt::call(function("Core.Intrinsics.add_int"), arguments(product));
    *ir.stmt_mut(SSAValue(7)).ok_or("there are nine statements")? = sum;
    Ok(())
}

fn replace_in_bbcode(bb: &mut BBCode) -> Result<(), Box<dyn Error>> {
    let body = bb.blocks().nth(2).ok_or("there are four blocks")?;
    let (product, inst) = bb.insts(body).nth(1).ok_or("the body has three statements")?;
    let sum = Stmt::call(function("Core.Intrinsics.add_int"), arguments(&inst.stmt));
    bb.replace(product, sum)?;
    Ok(())
}

/// Inserting: what is added to `%3` is doubled before.
fn insert_in_ircode(ir: &mut IRCode) -> Result<IRCode, Box<dyn Error>> {
    let twice = Stmt::call(function("Core.Intrinsics.mul_int"), [SSAValue(3).into(), 2.into()]);
    let twice = ir.insert_node(SSAValue(6), NewInstruction::new(twice, Type::INT64), false)?;
    if let Some(Stmt::Call(call)) = ir.stmt_mut(SSAValue(6)) {
        call.args[0] = twice.into();
    }
    Ok(ir.compact()?.ir)
}

fn insert_in_bbcode(bb: &mut BBCode) -> Result<(), Box<dyn Error>> {
    let body = bb.blocks().nth(2).ok_or("there are four blocks")?;
    let (sum, inst) = bb.insts(body).next().ok_or("the body has three statements")?;
    let counter = arguments(&inst.stmt).swap_remove(0);
    let twice = Stmt::call(function("Core.Intrinsics.mul_int"), [counter, 2.into()]);
    let twice = bb.insert_before(sum, new_inst(twice, Type::INT64).with_line(2))?;
    if let Some(Stmt::Call(call)) = bb.stmt_mut(sum) {
        call.args[0] = twice.into();
    }
    Ok(())
}

/// A block that prints `%2` and goes back to the loop, and the branch to it where `%2` is even.
fn insert_block_in_bbcode(bb: &mut BBCode) -> Result<(), Box<dyn Error>> {
    let blocks: Vec<_> = bb.blocks().collect();
    let [_, header, body, _] = blocks[..] else { return Err("there are four blocks".into()) };
    let (accumulator, _) = bb.phi_nodes(header).next().ok_or("the header starts with φs")?;
    let printing = bb.insert_block_after(body)?;
    let call = |name| Stmt::call(function::<Ids>(name), [accumulator.into()]);
    bb.push(printing, new_inst(call("println"), Type::Any).with_line(2))?;
    bb.push(printing, new_inst(Stmt::goto(header), Type::Any).with_line(2))?;

    let even = bb.insert_before_terminator(body, new_inst(call("iseven"), Type::Any).with_line(2))?;
    let (goto, _) = bb.terminator(body).ok_or("the body ends with a goto")?;
    bb.replace(goto, Stmt::goto_if_not(even, header))?;
    if let Some(inst) = bb.inst_mut(goto) {
        inst.line = 2.into();
    }
    bb.set_next(body, Some(printing))?;
    Ok(())
}

/// Blocks from the fourth on move up by one, statements from this one on by some.
struct Shift {
    from: u32,
    by: u32,
}

impl Rename<Positions, Positions> for Shift {
    type Error = Infallible;

    fn value(&mut self, value: SSAValue) -> Result<SSAValue, Infallible> {
        Ok(if value.0 >= self.from { SSAValue(value.0 + self.by) } else { value })
    }

    fn block(&mut self, block: BlockNumber) -> Result<BlockNumber, Infallible> {
        Ok(if block.0 >= 4 { BlockNumber(block.0 + 1) } else { block })
    }

    fn switch(&mut self, switch: &NoSwitch) -> Result<NoSwitch, Infallible> {
        match *switch {}
    }
}

/// The same in IRCode: everything that names a block or a statement behind the new ones has to be renumbered, and the
/// graph be made anew.
fn insert_block_in_ircode(ir: &IRCode) -> Result<IRCode, Box<dyn Error>> {
    let goto = 8; // the index of the goto that ends the body
    let mut shift = Shift { from: 9, by: 3 };
    let mut stmts = InstructionStream::with_capacity(ir.stmts.len() + 3);
    let row = |stmt| Instruction { stmt, ty: Type::Any, info: Default::default(), line: 2.into(), flag: 0 };
    for index in 0..ir.stmts.len() {
        let Instruction { stmt, ty, info, line, flag } = ir.stmts.get(index).ok_or("the index is in range")?;
        if index == goto {
            let header = BlockNumber(2);
            stmts.push(row(Stmt::call(function("iseven"), [SSAValue(2).into()])));
            let branch = Stmt::goto_if_not(Operand::Value(SSAValue(9)), header);
            stmts.push(row(branch));
            stmts.push(row(Stmt::call(function("println"), [SSAValue(2).into()])));
            stmts.push(row(Stmt::goto(header)));
        } else {
            let Ok(stmt) = stmt.map_names(&mut shift);
            stmts.push(Instruction { stmt, ty, info, line, flag });
        }
    }
    let with_block = IRCode::from_blocks(stmts, &[0..1, 1..5, 5..10, 10..12, 12..13]);
    Ok(IRCode { argtypes: ir.argtypes.clone(), debuginfo: ir.debuginfo.clone(), ..with_block })
}

/// Everything that the program prints.
fn report() -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    let mut ir = parse_function(FACTORIAL)?.body;
    let mut bb = BBCode::try_from(&ir)?;
    writeln!(out, "IRCode\n{ir}\nBBCode\n{bb}")?;

    replace_in_ircode(&mut ir)?;
    replace_in_bbcode(&mut bb)?;
    writeln!(out, "A statement replaced\n{ir}")?;
    assert_eq!(ir, IRCode::try_from(&bb)?, "both ways give the same code");

    let mut pending = ir.clone();
    let compacted = insert_in_ircode(&mut pending)?;
    writeln!(out, "A statement inserted, and not compacted yet\n{pending}\nCompacted\n{compacted}")?;
    insert_in_bbcode(&mut bb)?;
    let inserted = IRCode::try_from(&bb)?;
    assert_eq!(compacted.stmts.stmts(), inserted.stmts.stmts(), "both ways give the same statements");
    writeln!(out, "A statement inserted in BBCode\n{bb}")?;

    insert_block_in_bbcode(&mut bb)?;
    bb.verify()?;
    let with_block = IRCode::try_from(&bb)?;
    let by_hand = insert_block_in_ircode(&inserted)?;
    assert_eq!(by_hand.stmts.stmts(), with_block.stmts.stmts(), "both ways give the same statements");
    assert_eq!(by_hand.cfg, with_block.cfg, "and the same graph");
    writeln!(out, "A block inserted\n{with_block}\nThe same in BBCode\n{bb}")?;

    let mut module = Module::new();
    module.add_function(Function::new("f", Type::INT64, with_block))?;
    let mut printed = String::new();
    let result = Machine::new(&module).on_output(|text| printed.push_str(text)).call("f", &[Value::from(1000)])?;
    writeln!(out, "Run on 1000\n{printed}{result}")?;
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}

#[test]
fn it_prints_what_the_documentation_shows() -> Result<(), Box<dyn Error>> {
    assert_eq!(report()?, include_str!("../docs/code_transformations.txt"));
    Ok(())
}
