//! Random programs whose variables hold values of any type, which is asked for before they are used, as in Julia code
//! that could not be inferred. They always end.

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, Ids};
use exec::{Machine, Value};
use ircode::{Constant, Head, IRCode, Module, Operand, Stmt, Type, TypeDef};
use passes::{FunctionBuilder, Variable};

use crate::numeric::Program;

/// The kinds of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Nothing,
    Int,
    Float,
    Bool,
    /// An integer behind a float.
    Pair,
    /// A struct of the same fields, `x` and `n`.
    Point,
}

const KINDS: [Kind; 6] = [Kind::Nothing, Kind::Int, Kind::Float, Kind::Bool, Kind::Pair, Kind::Point];

impl Kind {
    fn ty(self) -> Type {
        match self {
            Kind::Nothing => Type::Nothing,
            Kind::Int => Type::INT64,
            Kind::Float => Type::FLOAT64,
            Kind::Bool => Type::BOOL,
            Kind::Pair => Type::tuple([Type::FLOAT64, Type::INT64]),
            Kind::Point => Type::named("Point"),
        }
    }
}

/// A random program of two functions that take and return values of any type.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn dynamic(u: &mut Unstructured<'_>) -> Result<Program> {
    let mut bbcode: Module<BBCode> = Module::new();
    let fields = [("x".into(), Type::FLOAT64), ("n".into(), Type::INT64)];
    // It is the only one.
    let _ = bbcode.add_type(TypeDef::structure("Point", fields));
    for (name, callees) in [("g", vec![]), ("f", vec!["g"])] {
        let function = function(u, name, callees)?.finish();
        let function = function.map_err(|_| arbitrary::Error::IncorrectFormat)?;
        bbcode.add_function(function).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    }
    let module = bbkit::to_ircode(&bbcode).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    let args = (0..2).map(|_| argument(u, &module)).collect::<Result<_>>()?;
    Ok(Program { module, bbcode, args })
}

/// A value of any kind.
fn argument(u: &mut Unstructured<'_>, module: &Module<IRCode>) -> Result<Value> {
    let (number, float) = (i64::from(u.int_in_range(-2i8..=3)?), f64::from(u.int_in_range(-6i8..=6)?) / 4.0);
    let both = vec![Value::from(float), Value::from(number)];
    let made = match u.choose(&KINDS)? {
        Kind::Nothing => Ok(Value::Nothing),
        Kind::Int => Ok(Value::from(number)),
        Kind::Float => Ok(Value::from(float)),
        Kind::Bool => Ok(Value::from(number > 0)),
        Kind::Pair => Machine::new(module).tuple(both),
        Kind::Point => Machine::new(module).structure(&Type::named("Point"), both),
    };
    made.map_err(|_| arbitrary::Error::IncorrectFormat)
}

/// A function of two values of any type that returns its variables.
fn function(u: &mut Unstructured<'_>, name: &str, callees: Vec<&str>) -> Result<FunctionBuilder> {
    let mut f = FunctionBuilder::new(name, Type::Any);
    let parameters = [f.parameter("a", Type::Any), f.parameter("b", Type::Any)];
    let variables: Vec<Variable> = (0..4).map(|index| f.variable(format!("v{index}"), Type::Any)).collect();
    let mut writer = Writer { f, variables, callees, knows: u.ratio(1, 2)? };
    for (index, variable) in writer.variables.clone().into_iter().enumerate() {
        let start = match parameters.get(index) {
            Some(parameter) => parameter.clone(),
            None => writer.constant(u)?,
        };
        writer.f.set(variable, start);
    }
    writer.statements(u, 3)?;
    let values: Vec<_> = writer.variables.clone().into_iter().map(|variable| writer.f.get(variable)).collect();
    let all = writer.f.call("Core.tuple", values, Type::Any);
    writer.f.ret(all);
    Ok(writer.f)
}

struct Writer<'c> {
    f: FunctionBuilder,
    variables: Vec<Variable>,
    callees: Vec<&'c str>,
    /// Whether statements say their types where these are certain.
    knows: bool,
}

impl Writer<'_> {
    fn call(&mut self, callee: &str, args: impl IntoIterator<Item = Operand<Ids>>, kind: Kind) -> Operand<Ids> {
        let ty = self.stated(kind);
        self.f.call(callee, args, ty)
    }

    /// What a statement says of a value of this kind.
    fn stated(&self, kind: Kind) -> Type {
        if self.knows { kind.ty() } else { Type::Any }
    }

    fn any(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let variable = *u.choose(&self.variables)?;
        Ok(self.f.get(variable))
    }

    /// A value of a kind that is certain.
    fn constant(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let number: Operand<Ids> = i64::from(u.int_in_range(-2i8..=3)?).into();
        let float: Operand<Ids> = (f64::from(u.int_in_range(-6i8..=6)?) / 4.0).into();
        Ok(match u.choose(&KINDS)? {
            Kind::Nothing => Operand::nothing(),
            Kind::Int => number,
            Kind::Float => float,
            Kind::Bool => u.ratio(1, 2)?.into(),
            Kind::Pair => self.call("Core.tuple", [float, number], Kind::Pair),
            Kind::Point => {
                let ty = self.stated(Kind::Point);
                self.f.push(Stmt::expr(Head::New, [Operand::global("Main", "Point"), float, number]), ty)
            }
        })
    }

    fn statements(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        for _ in 0..u.int_in_range(1..=4)? {
            match u.int_in_range(0..=9)? {
                0..=2 => {
                    let value = self.value(u)?;
                    self.set(u, value)?;
                }
                3..=6 => self.guarded(u, depth)?,
                7 | 8 if depth > 0 => self.loop_of_few_rounds(u, depth)?,
                _ => self.branch(u, depth)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, u: &mut Unstructured<'_>, value: Operand<Ids>) -> Result<()> {
        let variable = *u.choose(&self.variables)?;
        self.f.set(variable, value);
        Ok(())
    }

    /// A value of which nothing has to be known to make it.
    fn value(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let (a, b) = (self.any(u)?, self.any(u)?);
        Ok(match u.int_in_range(0..=9)? {
            0 => self.f.call("Core.tuple", [a, b], Type::Any),
            1 => {
                let condition = self.condition(u)?;
                self.f.call("ifelse", [condition, a, b], Type::Any)
            }
            2 if !self.callees.is_empty() => {
                let callee = format!("Main.{}", u.choose(&self.callees)?);
                self.f.call(&callee, [a, b], Type::Any)
            }
            3 => self.call("===", [a, b], Kind::Bool),
            // Numbers are added, all else fails.
            4 if u.ratio(1, 4)? => self.f.call("Base.+", [a, b], Type::Any),
            4..=6 => a,
            _ => self.constant(u)?,
        })
    }

    /// A question that has an answer whatever the variables hold.
    fn condition(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let a = self.any(u)?;
        let kind = *u.choose(&KINDS)?;
        Ok(match u.int_in_range(0..=3)? {
            0 => {
                let b = self.any(u)?;
                self.call("===", [a, b], Kind::Bool)
            }
            1 => self.call("===", [a, Operand::nothing()], Kind::Bool),
            _ => self.call("isa", [a, Operand::Constant(Constant::of_type(kind.ty()))], Kind::Bool),
        })
    }

    /// A value is used where it is of the kind that is asked for.
    fn guarded(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let (value, kind) = (self.any(u)?, *u.choose(&KINDS)?);
        let is = match kind {
            Kind::Nothing if u.ratio(1, 2)? => self.call("===", [value.clone(), Operand::nothing()], Kind::Bool),
            _ => self.call("isa", [value.clone(), Operand::Constant(Constant::of_type(kind.ty()))], Kind::Bool),
        };
        let (yes, no, join) = (self.f.block(), self.f.block(), self.f.block());
        self.f.branch(is, yes, no);
        self.f.switch_to(yes);
        let narrowed = match u.ratio(1, 2)? {
            true => self.f.push(Stmt::pi(value, kind.ty()), kind.ty()),
            false => value,
        };
        let made = self.made_of(u, narrowed, kind)?;
        self.set(u, made)?;
        self.f.goto(join);
        self.f.switch_to(no);
        if depth > 0 && u.ratio(1, 3)? {
            self.statements(u, depth - 1)?;
        }
        self.f.goto(join);
        self.f.switch_to(join);
        Ok(())
    }

    /// What can be made of a value that is of this kind.
    fn made_of(&mut self, u: &mut Unstructured<'_>, value: Operand<Ids>, kind: Kind) -> Result<Operand<Ids>> {
        let choice = u.int_in_range(0..=2)?;
        Ok(match (kind, choice) {
            (Kind::Nothing, _) => self.constant(u)?,
            (Kind::Int, 0) => self.call("Base.sitofp", [Operand::global("Main", "Float64"), value], Kind::Float),
            (Kind::Int, 1) => self.call("Base.slt_int", [value, 1.into()], Kind::Bool),
            (Kind::Int, _) => self.call("Base.add_int", [value, 1.into()], Kind::Int),
            (Kind::Float, 0) => self.call("Base.lt_float", [value, 0.5.into()], Kind::Bool),
            (Kind::Float, 1) => self.call("Core.tuple", [value, 3.into()], Kind::Pair),
            (Kind::Float, _) => self.call("Base.mul_float", [value, 0.5.into()], Kind::Float),
            (Kind::Bool, 0) => self.call("Base.not_int", [value], Kind::Bool),
            (Kind::Bool, _) => {
                let (a, b) = (self.any(u)?, self.constant(u)?);
                self.f.call("ifelse", [value, a, b], Type::Any)
            }
            (Kind::Pair, 0) => self.call("getfield", [value, 1.into()], Kind::Float),
            (Kind::Pair, _) => self.call("getfield", [value, 2.into()], Kind::Int),
            (Kind::Point, 0) => self.call("getfield", [value, Operand::symbol("x")], Kind::Float),
            (Kind::Point, _) => self.call("getfield", [value, Operand::symbol("n")], Kind::Int),
        })
    }

    fn branch(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let condition = self.condition(u)?;
        let (then, otherwise, join) = (self.f.block(), self.f.block(), self.f.block());
        self.f.branch(condition, then, otherwise);
        for block in [then, otherwise] {
            self.f.switch_to(block);
            match depth {
                0 => {
                    let value = self.value(u)?;
                    self.set(u, value)?;
                }
                _ => self.statements(u, depth - 1)?,
            }
            self.f.goto(join);
        }
        self.f.switch_to(join);
        Ok(())
    }

    fn loop_of_few_rounds(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let rounds = self.f.variable("rounds", self.stated(Kind::Int));
        self.f.set(rounds, 0);
        let (head, body, exit) = (self.f.block(), self.f.block(), self.f.block());
        self.f.goto(head);
        self.f.switch_to(head);
        let round = self.f.get(rounds);
        let more = self.call("Base.slt_int", [round.clone(), i64::from(u.int_in_range(0u8..=3)?).into()], Kind::Bool);
        self.f.branch(more, body, exit);
        self.f.switch_to(body);
        let next = self.call("Base.add_int", [round, 1.into()], Kind::Int);
        self.f.set(rounds, next);
        self.statements(u, depth - 1)?;
        if u.ratio(1, 3)? {
            let (condition, stay) = (self.condition(u)?, self.f.block());
            self.f.branch(condition, stay, exit);
            self.f.switch_to(stay);
        }
        self.f.goto(head);
        self.f.switch_to(exit);
        Ok(())
    }
}
