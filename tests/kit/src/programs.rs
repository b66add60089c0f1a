//! Programs of any size, to measure and to look for steps that are not linear.

use ircode::{Function, IRCode, Module, Operand, Type};
use passes::{BuildError, FunctionBuilder};

/// Makes a program of about this many statements.
pub type Make = fn(usize) -> Result<Module<IRCode>, BuildError>;

/// The shapes of program that there are, by name.
pub const SHAPES: &[(&str, Make)] =
    &[("straight", straight), ("branches", branches), ("loops", loops), ("nested", nested)];

/// Binary arithmetic that neither grows nor vanishes, by turns.
fn step(
    f: &mut FunctionBuilder,
    turn: usize,
    a: Operand<bbcode::Ids>,
    b: Operand<bbcode::Ids>,
) -> Operand<bbcode::Ids> {
    match turn % 4 {
        0 => f.call("Base.mul_float", [a, b], Type::FLOAT64),
        1 => f.call("sin", [a], Type::FLOAT64),
        2 => f.call("Base.add_float", [a, b], Type::FLOAT64),
        _ => f.call("Base.mul_float", [a, 0.5.into()], Type::FLOAT64),
    }
}

/// The module with this one function, as IRCode.
fn alone(f: FunctionBuilder) -> Result<Module<IRCode>, BuildError> {
    let function = f.finish()?;
    let name = function.name.clone();
    let error =
        |error: bbcode::ConversionError| BuildError::Invalid { function: name.clone(), listing: error.to_string() };
    let function: Function<IRCode> = function.map(|body| IRCode::try_from(body)).map_err(error)?;
    let mut module = Module::new();
    // The module is empty, so no name is taken.
    let _ = module.add_function(function);
    Ok(module)
}

/// A function of about `size` statements in one block.
///
/// # Errors
///
/// None: the function is well formed.
pub fn straight(size: usize) -> Result<Module<IRCode>, BuildError> {
    let mut f = FunctionBuilder::new("straight", Type::FLOAT64);
    let x = f.parameter("x", Type::FLOAT64);
    let mut value = x.clone();
    for turn in 0..size {
        value = step(&mut f, turn, value, x.clone());
    }
    f.ret(value);
    alone(f)
}

/// A function of about `size` statements, an if-else after every tenth.
///
/// # Errors
///
/// None: the function is well formed.
pub fn branches(size: usize) -> Result<Module<IRCode>, BuildError> {
    let mut f = FunctionBuilder::new("branches", Type::FLOAT64);
    let x = f.parameter("x", Type::FLOAT64);
    let value = f.variable("value", Type::FLOAT64);
    f.set(value, x.clone());
    for turn in 0..size / 10 {
        let (then, otherwise, join) = (f.block(), f.block(), f.block());
        let old = f.get(value);
        let condition = f.call("Base.lt_float", [old.clone(), x.clone()], Type::BOOL);
        f.branch(condition, then, otherwise);
        for (block, shift) in [(then, 0), (otherwise, 2)] {
            f.switch_to(block);
            let mut new = old.clone();
            for each in 0..2 {
                new = step(&mut f, turn + shift + each, new, x.clone());
            }
            f.set(value, new);
            f.goto(join);
        }
        f.switch_to(join);
    }
    let result = f.get(value);
    f.ret(result);
    alone(f)
}

/// A function of about `size` statements in loops that follow each other, each run `2` times.
///
/// # Errors
///
/// None: the function is well formed.
pub fn loops(size: usize) -> Result<Module<IRCode>, BuildError> {
    let mut f = FunctionBuilder::new("loops", Type::FLOAT64);
    let x = f.parameter("x", Type::FLOAT64);
    let (value, counter) = (f.variable("value", Type::FLOAT64), f.variable("counter", Type::INT64));
    f.set(value, x.clone());
    for turn in 0..size / 10 {
        let (head, body, exit) = (f.block(), f.block(), f.block());
        f.set(counter, 0);
        f.goto(head);
        f.switch_to(head);
        let count = f.get(counter);
        let more = f.call("Base.slt_int", [count.clone(), 2.into()], Type::BOOL);
        f.branch(more, body, exit);
        f.switch_to(body);
        let old = f.get(value);
        let once = step(&mut f, turn, old, x.clone());
        let twice = step(&mut f, turn + 1, once, x.clone());
        f.set(value, twice);
        let next = f.call("Base.add_int", [count, 1.into()], Type::INT64);
        f.set(counter, next);
        f.goto(head);
        f.switch_to(exit);
    }
    let result = f.get(value);
    f.ret(result);
    alone(f)
}

/// How deep the loops of [`nested`] are in each other.
const DEPTH: usize = 8;

/// A function of about `size` statements in nests of loops that follow each other, each loop run once.
///
/// # Errors
///
/// None: the function is well formed.
pub fn nested(size: usize) -> Result<Module<IRCode>, BuildError> {
    let mut f = FunctionBuilder::new("nested", Type::FLOAT64);
    let x = f.parameter("x", Type::FLOAT64);
    let value = f.variable("value", Type::FLOAT64);
    f.set(value, x.clone());
    for _ in 0..size / (8 * DEPTH) {
        let mut loops = Vec::with_capacity(DEPTH);
        for turn in 0..DEPTH {
            let (head, latch, exit) = (f.block(), f.block(), f.block());
            f.goto(head);
            f.switch_to(head);
            let old = f.get(value);
            let new = step(&mut f, turn, old, x.clone());
            f.set(value, new);
            loops.push((head, latch, exit));
        }
        while let Some((head, latch, exit)) = loops.pop() {
            f.goto(latch);
            f.switch_to(latch);
            let current = f.get(value);
            let again = f.call("Base.lt_float", [1e9.into(), current], Type::BOOL);
            f.branch(again, head, exit);
            f.switch_to(exit);
        }
    }
    let result = f.get(value);
    f.ret(result);
    alone(f)
}
