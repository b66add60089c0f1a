//! Inserting a block into a listing that Julia printed, on BBCode: the walk through of Mooncake's documentation
//! ("IR representation", inserting new basic blocks). `cargo run --example insert_block`
//!
//! The loop is to print its accumulator whenever that is even. That takes a new block, and a branch to it. No statement
//! and no block is renumbered by hand: names stay, and the numbers are made anew when the code becomes IRCode again.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use bbkit::bbcode::BBCode;
use bbkit::exec::{Machine, Value};
use bbkit::ircode::{Constant, Function, IRCode, Module, NewInstruction, Operand, Stmt, Type, parse_function};

const LISTING: &str = "
  1 ─      nothing::Nothing
4 2 ┄ %2 = φ (#1 => 1, #3 => %8)::Int64
  │   %3 = φ (#1 => 0, #3 => %7)::Int64
  │   %4 = Base.slt_int(%3, _2)::Bool
  └──      goto #4 if not %4
2 3 ─ %6 = (Core.Intrinsics.mul_int)(%3, 2)::Int64
5 │   %7 = Base.add_int(%6, 1)::Int64
6 │   %8 = (Core.Intrinsics.add_int)(%2, %7)::Int64
7 └──      goto #2
8 4 ─      return %2
";

const EXPECTED: &str = "  \
  1 ─      nothing::Nothing
4 2 ┄ %2 = φ (#1 => 1, #3 => %8)::Int64
  │   %3 = φ (#1 => 0, #3 => %7)::Int64
  │   %4 = Base.slt_int(%3, _2)::Bool
  └──      goto #5 if not %4
2 3 ─ %6 = (Core.Intrinsics.mul_int)(%3, 2)::Int64
5 │   %7 = Base.add_int(%6, 1)::Int64
6 │   %8 = (Core.Intrinsics.add_int)(%2, %7)::Int64
2 │   %9 = (iseven)(%2)::Any
  └──      goto #2 if not %9
  4 ─      (println)(%2)::Any
  └──      goto #2
8 5 ─      return %2
";

fn main() -> Result<(), Box<dyn Error>> {
    let function = parse_function(LISTING)?;
    let mut bb = BBCode::try_from(&function.body)?;
    let blocks: Vec<_> = bb.blocks().collect();
    let [_, header, body, _] = blocks[..] else { return Err("the listing has four blocks".into()) };
    let (accumulator, _) = bb.phi_nodes(header).next().ok_or("the header starts with φs")?;
    let call =
        |name: &str| Stmt::call(Operand::Constant(Constant::Function(name.into())), [Operand::Value(accumulator)]);

    // A block that prints the accumulator and goes on with the loop.
    let printing = bb.insert_block_after(body)?;
    bb.push(printing, NewInstruction::new(call("println"), Type::Any).with_line(2))?;
    bb.push(printing, NewInstruction::new(Stmt::goto(header), Type::Any).with_line(2))?;

    // The body goes there if the accumulator is even, and on with the loop if not. The φs name no value for the new
    // edge: then they take what they take from the body, which dominates it.
    let (goto, _) = bb.terminator(body).ok_or("the body ends with a goto")?;
    let even = bb.insert_before(goto, NewInstruction::new(call("iseven"), Type::Any).with_line(2))?;
    bb.replace(goto, Stmt::goto_if_not(Operand::Value(even), header))?;
    if let Some(inst) = bb.inst_mut(goto) {
        inst.line = 2.into();
    }
    bb.set_next(body, Some(printing))?;
    bb.verify()?;

    let ir = IRCode::try_from(&bb)?;
    print!("{ir}");
    assert_eq!(ir.to_string(), EXPECTED);

    let mut module = Module::new();
    module.add_function(Function::new("f", Type::INT64, ir))?;
    let mut printed = String::new();
    let result = Machine::new(&module).on_output(|text| printed.push_str(text)).call("f", &[Value::from(1000)])?;
    print!("{printed}");
    println!("{result}");
    assert_eq!((printed.as_str(), result.to_string().as_str()), ("2\n12\n58\n248\n1014\n", "2037"));
    Ok(())
}

#[test]
fn it_prints_what_the_documentation_shows() -> Result<(), Box<dyn Error>> {
    main()
}
