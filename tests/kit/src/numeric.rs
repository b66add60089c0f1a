//! Random programs that compute with numbers: any control flow, always ending, arguments included.

mod search;

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids};
use exec::Value;
use ircode::{IRCode, Module, Operand, ScalarType, Type};
use passes::{FunctionBuilder, Variable};

pub use search::search;

/// A program with arguments on which to run it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The function `f`, and what it calls.
    pub module: Module<IRCode>,
    /// The same as it was built, with its switches.
    pub bbcode: Module<BBCode>,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// With more fuel than this it is an error if there is none left.
const MUCH_FUEL: i64 = 5;

/// What programs have beside numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Calls of other functions, which call each other and themselves.
    pub calls: bool,
}

/// A random program of one function: blocks that go anywhere — into loops from the side, back to themselves, to several
/// returns, to a `throw` — on variables of a float type, of `Int64` and of `Bool`. Loops end, as each way backwards
/// costs of a fuel; where that ends, the program returns or, if there was much of it, throws: so there are loops that
/// are only left in the middle.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn numeric(u: &mut Unstructured<'_>) -> Result<Program> {
    numeric_with(u, Options::default())
}

/// As [`numeric`], with what the options say.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn numeric_with(u: &mut Unstructured<'_>, options: Options) -> Result<Program> {
    let float = *u.choose(&[ScalarType::Float64, ScalarType::Float64, ScalarType::Float64, ScalarType::Float32])?;
    let mut bbcode = Module::new();
    let mut callees = Vec::new();
    if options.calls {
        for name in ["g", "h"] {
            callees.push(name);
            add(&mut bbcode, callee(u, name, float, &callees)?)?;
        }
    }
    let mut f = FunctionBuilder::new("f", float.into());
    let mut args = Vec::new();
    let (mut floats, mut ints, mut bools) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..u.int_in_range(1..=3)? {
        floats.push(f.parameter(format!("x{index}"), float.into()));
        args.push(float_value(float, number(u)?));
    }
    for index in 0..u.int_in_range(0..=1)? {
        ints.push(f.parameter(format!("n{index}"), Type::INT64));
        args.push(Value::from(i64::from(u.int_in_range(-3i8..=6)?)));
    }
    for index in 0..u.int_in_range(0..=1)? {
        bools.push(f.parameter(format!("flag{index}"), Type::BOOL));
        args.push(Value::from(u.ratio(1, 2)?));
    }
    let mut writer = Writer { f, float, floats: Vec::new(), ints: Vec::new(), bools, callees, calls_left: None };
    let start = ints.first().cloned().unwrap_or_else(|| 2.into());
    writer.body(u, &floats, start, 7)?;
    add(&mut bbcode, writer)?;
    let Ok(module) = bbkit::to_ircode(&bbcode) else { return Err(arbitrary::Error::IncorrectFormat) };
    Ok(Program { module, bbcode, args })
}

/// A function of two floats that counts down how often it may call itself.
fn callee<'c>(u: &mut Unstructured<'_>, name: &str, float: ScalarType, callees: &[&'c str]) -> Result<Writer<'c>> {
    let mut f = FunctionBuilder::new(name, float.into());
    let left = f.parameter("left", Type::INT64);
    let floats = [f.parameter("x", float.into()), f.parameter("y", float.into())];
    let (go_on, stop) = (f.block(), f.block());
    let more = f.call("Base.slt_int", [0.into(), left.clone()], Type::BOOL);
    f.branch(more, go_on, stop);
    f.switch_to(stop);
    f.ret(floats[0].clone());
    f.switch_to(go_on);
    let less = f.call("Base.sub_int", [left, 1.into()], Type::INT64);
    let (callees, bools) = (callees.to_vec(), Vec::new());
    let mut writer =
        Writer { f, float, floats: Vec::new(), ints: Vec::new(), bools, callees, calls_left: Some(less.clone()) };
    writer.body(u, &floats, less, 3)?;
    Ok(writer)
}

fn add(module: &mut Module<BBCode>, writer: Writer<'_>) -> Result<()> {
    let Ok(function) = writer.f.finish() else { return Err(arbitrary::Error::IncorrectFormat) };
    module.add_function(function).map_err(|_| arbitrary::Error::IncorrectFormat)
}

/// A number that is not close to where most functions have their kinks.
fn number(u: &mut Unstructured<'_>) -> Result<f64> {
    let magnitude = f64::from(u.int_in_range(3u8..=40)?) / 16.0 + 0.013;
    Ok(if u.ratio(1, 2)? { magnitude } else { -magnitude })
}

fn float_value(ty: ScalarType, value: f64) -> Value {
    ircode::Scalar::from_float(ty, value).map_or(Value::Nothing, Value::Scalar)
}

struct Writer<'c> {
    f: FunctionBuilder,
    float: ScalarType,
    floats: Vec<Variable>,
    ints: Vec<Variable>,
    bools: Vec<Operand<Ids>>,
    /// The functions that it may call.
    callees: Vec<&'c str>,
    /// How often what is called may go on calling; `None` where calls start.
    calls_left: Option<Operand<Ids>>,
}

impl Writer<'_> {
    /// Blocks that go anywhere, from the block at hand on.
    fn body(
        &mut self,
        u: &mut Unstructured<'_>,
        floats: &[Operand<Ids>],
        start_count: Operand<Ids>,
        most_blocks: usize,
    ) -> Result<()> {
        for index in 0..u.int_in_range(2..=4)? {
            let variable = self.f.variable(format!("v{index}"), self.float.into());
            let start = match u.ratio(1, 5)? {
                true => self.constant(number(u)?),
                false => u.choose(floats)?.clone(),
            };
            self.f.set(variable, start);
            self.floats.push(variable);
        }
        let fuel = self.f.variable("fuel", Type::INT64);
        let start = i64::from(u.int_in_range(1u8..=8)?);
        self.f.set(fuel, start);
        let count = self.f.variable("count", Type::INT64);
        self.f.set(count, start_count);
        self.ints = vec![fuel, count];

        let blocks: Vec<BlockId> = (0..u.int_in_range(1..=most_blocks)?).map(|_| self.f.block()).collect();
        let exit = self.f.block();
        let empty = if start > MUCH_FUEL { self.f.block() } else { exit };
        self.f.goto(*blocks.first().unwrap_or(&exit));
        for (here, &block) in blocks.iter().enumerate() {
            self.f.switch_to(block);
            self.statements(u)?;
            self.terminator(u, here, block, &blocks, (fuel, empty), exit)?;
        }
        if empty != exit {
            self.f.switch_to(empty);
            self.f.call("throw", [here_number(blocks.len())], Type::Bottom);
            self.f.unreachable();
        }
        self.f.switch_to(exit);
        let result = self.sum();
        self.f.ret(result);
        Ok(())
    }

    /// A call of another function, or of this one.
    fn any_call(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let (a, b) = (self.any_float(u)?, self.any_float(u)?);
        let left = match &self.calls_left {
            Some(left) => left.clone(),
            None => i64::from(u.int_in_range(0u8..=3)?).into(),
        };
        let callee = format!("Main.{}", u.choose(&self.callees)?);
        Ok(self.f.call(&callee, [left, a, b], self.float.into()))
    }

    fn constant(&self, value: f64) -> Operand<Ids> {
        ircode::Scalar::from_float(self.float, value).map_or_else(Operand::nothing, Operand::from)
    }

    fn any_float(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        if u.ratio(1, 10)? {
            return Ok(self.constant(number(u)?));
        }
        let variable = *u.choose(&self.floats)?;
        Ok(self.f.get(variable))
    }

    /// The sum of all variables, so that the result depends on most of what was computed.
    fn sum(&mut self) -> Operand<Ids> {
        let mut sum = self.constant(0.0);
        for variable in self.floats.clone() {
            let value = self.f.get(variable);
            sum = self.f.call("Base.add_float", [sum, value], self.float.into());
        }
        sum
    }

    fn any_int(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let variable = *u.choose(&self.ints)?;
        Ok(self.f.get(variable))
    }

    fn any_bool(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        Ok(match u.int_in_range(0..=4)? {
            0 if !self.bools.is_empty() => u.choose(&self.bools)?.clone(),
            1 => {
                let (a, b) = (self.any_float(u)?, self.any_float(u)?);
                self.f.call("Base.lt_float", [a, b], Type::BOOL)
            }
            2 => {
                let n = self.any_int(u)?;
                let odd = self.f.call("Base.and_int", [n, 1.into()], Type::INT64);
                self.f.call("===", [odd, 1.into()], Type::BOOL)
            }
            _ => {
                let n = self.any_int(u)?;
                let limit = i64::from(u.int_in_range(-1i8..=4)?);
                self.f.call("Base.slt_int", [limit.into(), n], Type::BOOL)
            }
        })
    }

    fn statements(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        for _ in 0..u.int_in_range(0..=4)? {
            if u.ratio(1, 6)? {
                let n = self.any_int(u)?;
                let by = i64::from(u.int_in_range(-2i8..=2)?);
                let next = self.f.call("Base.add_int", [n, by.into()], Type::INT64);
                self.f.set(self.ints[1], next);
            } else if u.ratio(1, 8)? {
                // Two variables change places: in a loop, the φs name each other.
                let (a, b) = (*u.choose(&self.floats)?, *u.choose(&self.floats)?);
                let (of_a, of_b) = (self.f.get(a), self.f.get(b));
                self.f.set(a, of_b);
                self.f.set(b, of_a);
            } else {
                let value = self.float_statement(u)?;
                let variable = *u.choose(&self.floats)?;
                self.f.set(variable, value);
            }
        }
        Ok(())
    }

    /// Smooth but for a few, without poles, and not growing without bound.
    fn float_statement(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        if !self.callees.is_empty() && u.ratio(1, 6)? {
            return self.any_call(u);
        }
        let (ty, a) = (Type::from(self.float), self.any_float(u)?);
        let unary = ["sin", "cos", "tanh", "atan", "Base.neg_float", "Base.abs_float", "erf", "asinh", "floor"];
        let binary =
            ["Base.add_float", "Base.sub_float", "Base.max_float", "Base.min_float", "hypot", "Base.copysign_float"];
        let name = u.int_in_range(0..=unary.len() + binary.len() + 4)?;
        if let Some(name) = unary.get(name) {
            return Ok(self.f.call(name, [a], ty));
        }
        let b = self.any_float(u)?;
        if let Some(name) = binary.get(name.saturating_sub(unary.len())) {
            return Ok(self.f.call(name, [a, b], ty));
        }
        let one = self.constant(1.0);
        Ok(match name - unary.len() - binary.len() {
            0 => {
                let product = self.f.call("Base.mul_float", [a, b], ty.clone());
                self.f.call("sin", [product], ty)
            }
            1 => {
                let square = self.f.call("Base.mul_float", [b.clone(), b], ty.clone());
                let more = self.f.call("Base.add_float", [one, square], ty.clone());
                self.f.call("Base.div_float", [a, more], ty)
            }
            2 => {
                let bounded = self.f.call("tanh", [a], ty.clone());
                self.f.call("exp", [bounded], ty)
            }
            3 => {
                let square = self.f.call("Base.mul_float", [a.clone(), a], ty.clone());
                let more = self.f.call("Base.muladd_float", [square, one.clone(), one], ty.clone());
                self.f.call("sqrt", [more], ty)
            }
            _ => {
                let condition = self.any_bool(u)?;
                self.f.call("ifelse", [condition, a, b], ty)
            }
        })
    }

    /// Ends the block `here` of `blocks`.
    fn terminator(
        &mut self,
        u: &mut Unstructured<'_>,
        here: usize,
        block: BlockId,
        blocks: &[BlockId],
        fuel: (Variable, BlockId),
        exit: BlockId,
    ) -> Result<()> {
        match u.int_in_range(0..=9)? {
            0 => {
                let value = match u.ratio(1, 2)? {
                    true => self.any_float(u)?,
                    false => self.sum(),
                };
                self.f.ret(value);
            }
            1 if here > 0 => {
                self.f.call("throw", [here_number(here)], Type::Bottom);
                self.f.unreachable();
            }
            2 => {
                let mut branches = Vec::new();
                for _ in 0..2 {
                    branches.push((self.any_bool(u)?, self.target(u, here, block, blocks, fuel, exit)?));
                }
                let otherwise = self.target(u, here, block, blocks, fuel, exit)?;
                self.f.switch(branches, otherwise);
            }
            3..=5 => {
                let target = self.target(u, here, block, blocks, fuel, exit)?;
                self.f.goto(target);
            }
            _ => {
                let condition = self.any_bool(u)?;
                let then = self.target(u, here, block, blocks, fuel, exit)?;
                let otherwise = self.target(u, here, block, blocks, fuel, exit)?;
                self.f.branch(condition, then, otherwise);
            }
        }
        Ok(())
    }

    /// A block to go to; on the way backwards there is one that looks at the fuel.
    fn target(
        &mut self,
        u: &mut Unstructured<'_>,
        here: usize,
        block: BlockId,
        blocks: &[BlockId],
        (fuel, empty): (Variable, BlockId),
        exit: BlockId,
    ) -> Result<BlockId> {
        let chosen = u.choose_index(blocks.len() + 1)?;
        let Some(&target) = blocks.get(chosen) else { return Ok(exit) };
        if chosen > here {
            return Ok(target);
        }
        let gate = self.f.block();
        self.f.switch_to(gate);
        let left = self.f.get(fuel);
        let less = self.f.call("Base.sub_int", [left, 1.into()], Type::INT64);
        self.f.set(fuel, less.clone());
        let more = self.f.call("Base.slt_int", [0.into(), less], Type::BOOL);
        self.f.branch(more, target, empty);
        self.f.switch_to(block);
        Ok(gate)
    }
}

fn here_number(here: usize) -> Operand<Ids> {
    i64::try_from(here).unwrap_or(0).into()
}
