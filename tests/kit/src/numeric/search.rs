//! Random programs of loops that are left in the middle, as those are that search for something: a round goes through
//! some of the blocks, in some of which it may be the last.

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids};
use ircode::{Constant, Module, Operand, ScalarType, Type};
use passes::{FunctionBuilder, Variable};

use super::{Program, Writer, add, float_value, number};

/// A loop that runs for more rounds than this has searched in vain, which is an error.
const MOST_ROUNDS: i64 = 12;

/// A random program of one function `f` of two floats: a loop, perhaps with others in it, that is only left from the
/// middle of a round.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn search(u: &mut Unstructured<'_>) -> Result<Program> {
    let float = ScalarType::Float64;
    let mut f = FunctionBuilder::new("f", float.into());
    let given = [f.parameter("x", float.into()), f.parameter("y", float.into())];
    let args = [number(u)?, number(u)?].map(|value| float_value(float, value)).to_vec();
    let (floats, callees, calls_left) = (Vec::new(), Vec::new(), None);
    let mut writer = Writer { f, float, floats, ints: Vec::new(), bools: Vec::new(), callees, calls_left };
    for index in 0..u.int_in_range(2..=4)? {
        let variable = writer.f.variable(format!("v{index}"), float.into());
        let start = u.choose(&given)?.clone();
        writer.f.set(variable, start);
        writer.floats.push(variable);
    }
    let count = writer.f.variable("count", Type::INT64);
    writer.f.set(count, 2);
    writer.ints = vec![count, count];
    let found = writer.f.block();
    search_loop(u, &mut writer, found, 0)?;
    writer.f.switch_to(found);
    let result = writer.sum();
    writer.f.ret(result);
    let mut bbcode: Module<BBCode> = Module::new();
    add(&mut bbcode, writer)?;
    let module = bbkit::to_ircode(&bbcode).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    Ok(Program { module, bbcode, args })
}

/// A loop, from the block at hand on, that is left for `found` or returns.
fn search_loop(u: &mut Unstructured<'_>, writer: &mut Writer<'_>, found: BlockId, depth: usize) -> Result<()> {
    let round: Variable = writer.f.variable(format!("round{depth}"), Type::INT64);
    writer.f.set(round, 0);
    writer.ints.push(round);
    let blocks: Vec<BlockId> = (0..=u.int_in_range(2..=4)?).map(|_| writer.f.block()).collect();
    let (Some(&header), Some((&last, inner))) = (blocks.first(), blocks.split_last()) else { return Ok(()) };
    writer.f.goto(header);
    for (here, &block) in inner.iter().enumerate() {
        writer.f.switch_to(block);
        if block == header {
            // What rounds do not carry.
            for variable in writer.floats.clone() {
                if u.ratio(1, 2)? {
                    let number = writer.f.get(round);
                    let number = writer.f.call(
                        "Base.sitofp",
                        [Operand::Constant(Constant::of_type(Type::FLOAT64)), number],
                        Type::FLOAT64,
                    );
                    let other = writer.any_float(u)?;
                    let value = writer.f.call("Base.add_float", [number, other], Type::FLOAT64);
                    writer.f.set(variable, value);
                }
            }
        }
        writer.statements(u)?;
        if depth == 0 && u.ratio(1, 5)? {
            let after = writer.f.block();
            search_loop(u, writer, after, depth + 1)?;
            writer.f.switch_to(after);
        }
        let next = blocks.get(here + 1).copied().unwrap_or(last);
        let condition = condition(u, writer, round)?;
        match u.int_in_range(0..=3)? {
            0 => writer.f.goto(next),
            1 => {
                let skipped = *u.choose(blocks.get(here + 1..).unwrap_or_default())?;
                writer.f.branch(condition, next, skipped);
            }
            _ => {
                let leaves = writer.f.block();
                writer.f.branch(condition, leaves, next);
                writer.f.switch_to(leaves);
                writer.statements(u)?;
                match u.ratio(1, 2)? {
                    true => writer.f.goto(found),
                    false => {
                        let value = if u.ratio(1, 2)? { writer.any_float(u)? } else { writer.sum() };
                        writer.f.ret(value);
                    }
                }
            }
        }
    }
    let in_vain = writer.f.block();
    writer.f.switch_to(last);
    let number = writer.f.get(round);
    let next = writer.f.call("Base.add_int", [number, 1.into()], Type::INT64);
    writer.f.set(round, next.clone());
    let goes_on = writer.f.call("Base.slt_int", [next, MOST_ROUNDS.into()], Type::BOOL);
    writer.f.branch(goes_on, header, in_vain);
    writer.f.switch_to(in_vain);
    writer.f.call("throw", [0.into()], Type::Bottom);
    writer.f.unreachable();
    writer.ints.pop();
    Ok(())
}

/// Something that holds in some of the first rounds, mostly.
fn condition(u: &mut Unstructured<'_>, writer: &mut Writer<'_>, round: Variable) -> Result<Operand<Ids>> {
    let number = writer.f.get(round);
    Ok(match u.int_in_range(0..=4)? {
        0 => writer.any_bool(u)?,
        1 => {
            let odd = writer.f.call("Base.and_int", [number, 1.into()], Type::INT64);
            let is = i64::from(u.int_in_range(0u8..=1)?);
            writer.f.call("===", [odd, is.into()], Type::BOOL)
        }
        _ => {
            let after = i64::from(u.int_in_range(0u8..=4)?);
            writer.f.call("Base.slt_int", [after.into(), number], Type::BOOL)
        }
    })
}
