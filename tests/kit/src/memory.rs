//! Random programs that work on memory: arguments that are changed, tuples, structs, enums, arrays, references, calls
//! of each other, closures, exceptions thrown and caught, integers of several widths, floats at the edges, output. They
//! always end.

mod closures;

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids, InstId};
use exec::{Machine, Value};
use ircode::{
    Constant, EnterNode, Function, Head, IRCode, Module, Name, NewInstruction, Operand, Scalar, ScalarType, Stmt, Type,
    TypeDef, TypeKind,
};

/// A program with arguments, which a run may change.
#[derive(Clone, Debug)]
pub struct MemoryProgram {
    /// The function `f` and what it calls.
    pub module: Module<IRCode>,
    integer: i64,
    float: f64,
    integers: Vec<i64>,
    floats: Vec<f64>,
    count: i64,
}

impl MemoryProgram {
    /// The arguments of `f`, made anew.
    pub fn args(&self) -> Vec<Value> {
        let machine = Machine::new(&self.module);
        let array = |element: Type, values: Vec<Value>| {
            machine.array(element, vec![values.len()], values).unwrap_or(Value::Nothing)
        };
        vec![
            Value::from(self.integer),
            Value::from(self.float),
            array(Type::INT64, self.integers.iter().map(|&n| Value::from(n)).collect()),
            array(Type::FLOAT64, self.floats.iter().map(|&x| Value::from(x)).collect()),
            machine.structure(&Type::named("Counter"), vec![Value::from(self.count)]).unwrap_or(Value::Nothing),
        ]
    }
}

/// A random program.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn memory(u: &mut Unstructured<'_>) -> Result<MemoryProgram> {
    let mut module: Module<BBCode> = Module::new();
    let field = |name: &str, ty: Type| (Name::from(name), ty);
    let counter = TypeKind::Struct { fields: vec![field("count", Type::INT64)], mutable: true };
    let defs = [
        TypeDef { name: "Counter".into(), supertypes: None, kind: counter },
        TypeDef::structure("Point", [field("x", Type::FLOAT64), field("n", Type::INT64)]),
        TypeDef {
            name: "Shape".into(),
            supertypes: None,
            kind: TypeKind::Enum {
                cases: vec![
                    ("dot".into(), vec![Type::FLOAT64]),
                    ("box".into(), vec![Type::FLOAT64, Type::INT64]),
                    ("task".into(), vec![closures::of_both()]),
                ],
            },
        },
    ];
    for def in defs {
        // The names are different.
        let _ = module.add_type(def);
    }
    let invalid = |_| arbitrary::Error::IncorrectFormat;
    for (name, callees) in [("g", vec!["g"]), ("h", vec!["g"]), ("f", vec!["g", "h"])] {
        let function = function(u, name, &callees)?;
        if let Err(violations) = function.body.verify() {
            debug_assert!(false, "{}", bbcode::display_violations(&function.body, &violations));
            return Err(arbitrary::Error::IncorrectFormat);
        }
        module.add_function(function).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    }
    module.add_function(closures::thunk()?).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    let integers = (0..u.int_in_range(0..=4)?).map(|_| integer(u)).collect::<Result<_>>()?;
    let floats = (0..u.int_in_range(0..=4)?).map(|_| float(u)).collect::<Result<_>>()?;
    Ok(MemoryProgram {
        module: bbkit::to_ircode(&module).map_err(invalid)?,
        integer: integer(u)?,
        float: float(u)?,
        integers,
        floats,
        count: integer(u)?,
    })
}

fn integer(u: &mut Unstructured<'_>) -> Result<i64> {
    const EDGES: &[i64] = &[0, 1, -1, 2, 3, 7, 63, 64, 255, 256, i32::MAX as i64, i64::MAX, i64::MIN];
    if u.ratio(1, 3)? { Ok(*u.choose(EDGES)?) } else { Ok(u.int_in_range(-3..=5)?) }
}

fn float(u: &mut Unstructured<'_>) -> Result<f64> {
    const EDGES: &[f64] = &[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e300, 0.1, 9e18, -1.5];
    if u.ratio(1, 2)? { Ok(*u.choose(EDGES)?) } else { Ok(f64::from(u.int_in_range(-20i8..=20)?) / 4.0) }
}

const INT32: Type = Type::Scalar(ScalarType::Int32);
const UINT8: Type = Type::Scalar(ScalarType::UInt8);

/// The variables of a function: their types, and which slots they are.
const VARIABLES: &[Type] = &[
    Type::INT64,
    Type::INT64,
    Type::INT64,
    INT32,
    UINT8,
    Type::FLOAT64,
    Type::FLOAT64,
    Type::FLOAT64,
    Type::BOOL,
    Type::BOOL,
];

/// A function that takes two numbers; `f` takes arrays and a counter too. The last call of itself is before the fuel
/// ends.
fn function(u: &mut Unstructured<'_>, name: &str, callees: &[&str]) -> Result<Function<BBCode>> {
    let outermost = name == "f";
    let mut argtypes = vec![Type::function(name), Type::INT64, Type::FLOAT64];
    if outermost {
        argtypes.extend([Type::array(Type::INT64, 1), Type::array(Type::FLOAT64, 1), Type::named("Counter")]);
    }
    let mut bb = BBCode::new(argtypes);
    let block = bb.push_block();
    let mut writer = Writer { bb, block, slots: Vec::new(), shared: None, outermost, callees: callees.to_vec() };
    // Some variables may be parts of one: (float, (integer, float)).
    let inner = Type::tuple([Type::INT64, Type::FLOAT64]);
    let shared = match u.ratio(1, 2)? {
        true => Some(writer.new_slot(&Type::tuple([Type::FLOAT64, inner.clone()]))),
        false => None,
    };
    for (variable, ty) in VARIABLES.iter().enumerate() {
        let slot = match (&shared, variable) {
            (Some(shared), 5) => writer.part(shared, 1, ty),
            (Some(shared), 1 | 6) => {
                let inner = writer.part(shared, 2, &inner);
                writer.part(&inner, if variable == 1 { 1 } else { 2 }, ty)
            }
            _ => writer.new_slot(ty),
        };
        let start = writer.constant(u, ty)?;
        writer.slots.push(slot.clone());
        writer.push(Stmt::call(Operand::global("BBKit", "slot_set!"), [slot, start]), Type::Nothing);
    }
    writer.shared = shared;
    writer.set(0, Operand::argument(2));
    writer.set(5, Operand::argument(3));
    if !outermost {
        // Who calls counts down.
        let more = writer.call("Base.slt_int", [0.into(), Operand::argument(2)], Type::BOOL);
        let (go_on, stop) = (writer.bb.push_block(), writer.bb.push_block());
        writer.branch(more, go_on, stop);
        writer.block = stop;
        writer.push(Stmt::ret(Operand::argument(3)), Type::Any);
        writer.block = go_on;
    }
    let count = u.int_in_range(1..=if outermost { 6 } else { 2 })?;
    for _ in 0..count {
        writer.step(u, if outermost { 3 } else { 1 })?;
    }
    let result = if outermost {
        let values: Vec<_> = (0..VARIABLES.len()).map(|variable| writer.get(variable)).collect();
        let ty = Type::tuple(VARIABLES.iter().cloned());
        let tuple = writer.call("Core.tuple", values, ty.clone());
        writer.push(Stmt::ret(tuple), Type::Any);
        ty
    } else {
        let value = writer.get(5);
        writer.push(Stmt::ret(value), Type::Any);
        Type::FLOAT64
    };
    Ok(Function::new(name, result, writer.bb))
}

struct Writer<'c> {
    bb: BBCode,
    block: BlockId,
    slots: Vec<Operand<Ids>>,
    /// The slot of which some of the variables are parts.
    shared: Option<Operand<Ids>>,
    outermost: bool,
    callees: Vec<&'c str>,
}

impl Writer<'_> {
    fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Operand<Ids> {
        // Blocks are written in order and ended once.
        let inst: std::result::Result<InstId, _> = self.bb.push(self.block, NewInstruction::new(stmt, ty));
        inst.map_or_else(|_| Operand::nothing(), Operand::Value)
    }

    fn call(&mut self, callee: &str, args: impl IntoIterator<Item = Operand<Ids>>, ty: Type) -> Operand<Ids> {
        let (module, name) = callee.rsplit_once('.').unwrap_or(("", callee));
        self.push(Stmt::call(Operand::global(module, name), args), ty)
    }

    fn new_slot(&mut self, ty: &Type) -> Operand<Ids> {
        let of = Operand::Constant(Constant::of_type(ty.clone()));
        self.call("BBKit.new_slot", [of], Type::slot(ty.clone()))
    }

    /// The address of a part of what is in a slot.
    fn part(&mut self, slot: &Operand<Ids>, number: i64, ty: &Type) -> Operand<Ids> {
        self.call("BBKit.slot_element", [slot.clone(), number.into()], Type::slot(ty.clone()))
    }

    /// Puts all variables that are parts of one in their places again, by way of a slot that ends here.
    fn slots_as_a_whole(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let Some(shared) = self.shared.clone() else { return Ok(()) };
        let inner = Type::tuple([Type::INT64, Type::FLOAT64]);
        let whole = Type::tuple([Type::FLOAT64, inner.clone()]);
        let copy = self.new_slot(&whole);
        if u.ratio(1, 2)? {
            self.call("BBKit.slot_copy!", [shared.clone(), copy.clone()], Type::Nothing);
        } else {
            let value = self.call("BBKit.slot_get", [shared.clone()], whole);
            self.call("BBKit.slot_set!", [copy.clone(), value], Type::Nothing);
        }
        let x = self.operand(u, &Type::FLOAT64)?;
        self.set(5, x);
        let (from, to) = (self.part(&copy, 2, &inner), self.part(&shared, 2, &inner));
        let x = self.part(&to, 2, &Type::FLOAT64);
        self.call("BBKit.slot_copy!", [self.slots[5].clone(), x], Type::Nothing);
        if u.ratio(1, 2)? {
            self.call("BBKit.slot_copy!", [from, to], Type::Nothing);
        } else {
            self.call("BBKit.slot_copy!", [copy.clone(), shared], Type::Nothing);
        }
        self.call("BBKit.slot_end!", [copy], Type::Nothing);
        Ok(())
    }

    /// Ends the block: `then` if the condition is true.
    fn branch(&mut self, condition: Operand<Ids>, then: BlockId, otherwise: BlockId) {
        self.push(Stmt::goto_if_not(condition, otherwise), Type::Any);
        self.falls_to(then);
    }

    fn falls_to(&mut self, next: BlockId) {
        // Both are there.
        let _ = self.bb.set_next(self.block, Some(next));
    }

    fn goto(&mut self, target: BlockId) {
        self.push(Stmt::goto(target), Type::Any);
    }

    fn set(&mut self, variable: usize, value: Operand<Ids>) {
        let slot = self.slots[variable].clone();
        self.call("BBKit.slot_set!", [slot, value], Type::Nothing);
    }

    fn get(&mut self, variable: usize) -> Operand<Ids> {
        let slot = self.slots[variable].clone();
        self.call("BBKit.slot_get", [slot], VARIABLES[variable].clone())
    }

    fn constant(&self, u: &mut Unstructured<'_>, ty: &Type) -> Result<Operand<Ids>> {
        Ok(match ty.as_scalar() {
            Some(ScalarType::Float64) => float(u)?.into(),
            Some(ScalarType::Bool) => u.arbitrary::<bool>()?.into(),
            Some(ScalarType::Int64) => integer(u)?.into(),
            Some(ty) => {
                let bits = u128::from(integer(u)? as u64) & ((1 << ty.bits()) - 1);
                Scalar::from_bits(ty, bits).into()
            }
            None => Operand::nothing(),
        })
    }

    /// A variable of this type.
    fn variable(&self, u: &mut Unstructured<'_>, ty: &Type) -> Result<usize> {
        let all: Vec<usize> = (0..VARIABLES.len()).filter(|&variable| VARIABLES[variable] == *ty).collect();
        Ok(*u.choose(&all)?)
    }

    fn operand(&mut self, u: &mut Unstructured<'_>, ty: &Type) -> Result<Operand<Ids>> {
        if u.ratio(1, 4)? {
            return self.constant(u, ty);
        }
        let variable = self.variable(u, ty)?;
        Ok(self.get(variable))
    }

    /// A value of this type.
    fn expression(&mut self, u: &mut Unstructured<'_>, ty: &Type) -> Result<Operand<Ids>> {
        let named = |ty: &Type| Operand::Constant(Constant::of_type(ty.clone()));
        Ok(match ty.as_scalar() {
            Some(ScalarType::Bool) => self.condition(u)?,
            Some(ScalarType::Float64) => match u.int_in_range(0..=9)? {
                0 => {
                    let n = self.operand(u, &Type::INT64)?;
                    self.call("Base.sitofp", [named(ty), n], ty.clone())
                }
                1 => {
                    let x = self.operand(u, ty)?;
                    self.call(
                        u.choose(&["sqrt", "sin", "log", "floor", "Base.neg_float", "Base.abs_float"])?,
                        [x],
                        ty.clone(),
                    )
                }
                2 => {
                    let (n, x) = (self.operand(u, &Type::INT64)?, self.operand(u, ty)?);
                    let less = self.call("Base.and_int", [n, 3.into()], Type::INT64);
                    let callee = *u.choose(&self.callees)?;
                    let itself = callee == "g" && !self.outermost && self.callees == ["g"];
                    let fuel = match itself {
                        true => self.call("Base.sub_int", [Operand::argument(2), 1.into()], Type::INT64),
                        false => less,
                    };
                    self.call(&format!("Main.{callee}"), [fuel, x], ty.clone())
                }
                _ => {
                    let (x, y) = (self.operand(u, ty)?, self.operand(u, ty)?);
                    let name =
                        *u.choose(&["add_float", "sub_float", "mul_float", "div_float", "min_float", "rem_float"])?;
                    self.call(&format!("Base.{name}"), [x, y], ty.clone())
                }
            },
            _ => match u.int_in_range(0..=9)? {
                0 if *ty == Type::INT64 => {
                    let n = self.operand(u, &INT32)?;
                    self.call("Base.sext_int", [named(ty), n], ty.clone())
                }
                0 if *ty == INT32 => {
                    let n = self.operand(u, &Type::INT64)?;
                    self.call(u.choose(&["Base.trunc_int", "Base.checked_trunc_sint"])?, [named(ty), n], ty.clone())
                }
                0 => {
                    let n = self.operand(u, &Type::INT64)?;
                    self.call(u.choose(&["Base.trunc_int", "Base.checked_trunc_uint"])?, [named(ty), n], ty.clone())
                }
                1 if *ty == Type::INT64 => {
                    let x = self.operand(u, &Type::FLOAT64)?;
                    self.call("Base.fptosi", [named(ty), x], ty.clone())
                }
                2 => {
                    let n = self.operand(u, ty)?;
                    self.call(u.choose(&["Base.neg_int", "Base.not_int", "Base.ctpop_int"])?, [n], ty.clone())
                }
                3 if *ty == Type::INT64 => {
                    let (n, m) = (self.operand(u, ty)?, self.operand(u, ty)?);
                    let pair = Type::tuple([Type::INT64, Type::BOOL]);
                    let name =
                        *u.choose(&["Base.checked_sadd_int", "Base.checked_ssub_int", "Base.checked_smul_int"])?;
                    let both = self.call(name, [n, m], pair);
                    let flag = self.call("Core.getfield", [both.clone(), 2.into()], Type::BOOL);
                    self.set(8, flag);
                    self.call("Core.getfield", [both, 1.into()], ty.clone())
                }
                _ => {
                    let (n, m) = (self.operand(u, ty)?, self.operand(u, ty)?);
                    let names = [
                        "add_int",
                        "sub_int",
                        "mul_int",
                        "sdiv_int",
                        "srem_int",
                        "udiv_int",
                        "urem_int",
                        "and_int",
                        "or_int",
                        "xor_int",
                        "shl_int",
                        "lshr_int",
                        "ashr_int",
                        "checked_sdiv_int",
                    ];
                    self.call(&format!("Base.{}", u.choose(&names)?), [n, m], ty.clone())
                }
            },
        })
    }

    fn condition(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let ty = u.choose(&[Type::INT64, INT32, UINT8, Type::FLOAT64, Type::BOOL])?.clone();
        let (a, b) = (self.operand(u, &ty)?, self.operand(u, &ty)?);
        let name = match ty.as_scalar() {
            Some(ScalarType::Float64) => *u.choose(&["Base.lt_float", "Base.eq_float", "Base.le_float", "==="])?,
            Some(ScalarType::Bool) => *u.choose(&["Base.and_int", "Base.or_int", "==="])?,
            _ => *u.choose(&["Base.slt_int", "Base.ule_int", "Base.eq_int", "==="])?,
        };
        Ok(self.call(name, [a, b], Type::BOOL))
    }

    /// A few statements, which may hold others so deep.
    fn step(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        match u.int_in_range(0..=if depth > 0 { 18 } else { 12 })? {
            0..=4 => {
                let variable = u.choose_index(VARIABLES.len())?;
                let value = self.expression(u, &VARIABLES[variable])?;
                self.set(variable, value);
            }
            5 | 6 if self.outermost => self.arrays(u)?,
            7 => self.structs(u)?,
            8 => self.enums(u)?,
            9 => {
                let variable = u.choose_index(VARIABLES.len())?;
                let value = self.get(variable);
                let text = Operand::Constant(Constant::String("v = ".into()));
                self.call("Main.println", [text, value], Type::Nothing);
            }
            10 if u.ratio(1, 2)? => self.slots_as_a_whole(u)?,
            10 => self.tuples(u)?,
            11 if u.ratio(1, 2)? => self.throw(u)?,
            12 => self.closures(u)?,
            13 | 14 => {
                let condition = self.condition(u)?;
                let (then, otherwise, join) = (self.bb.push_block(), self.bb.push_block(), self.bb.push_block());
                self.branch(condition, then, otherwise);
                for block in [then, otherwise] {
                    self.block = block;
                    for _ in 0..u.int_in_range(0..=2)? {
                        self.step(u, depth - 1)?;
                    }
                    self.goto(join);
                }
                self.block = join;
            }
            15 => self.repeat(u, depth)?,
            16..=18 => self.try_catch(u, depth)?,
            _ => {}
        }
        Ok(())
    }

    fn arrays(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let which = u.int_in_range(4..=5u32)?;
        let array = Operand::argument(which);
        let ty = if which == 4 { Type::INT64 } else { Type::FLOAT64 };
        let index = match u.ratio(2, 3)? {
            true => i64::from(u.int_in_range(0u8..=3)?).into(),
            false => self.operand(u, &Type::INT64)?,
        };
        match u.int_in_range(0..=4)? {
            0 | 1 => {
                let value = self.call("Base.arrayref", [true.into(), array, index], ty.clone());
                let variable = self.variable(u, &ty)?;
                self.set(variable, value);
            }
            2 => {
                let value = self.operand(u, &ty)?;
                self.call("Base.arrayset", [true.into(), array, value, index], Type::array(ty, 1));
            }
            3 => {
                let value = self.operand(u, &ty)?;
                self.call("Base.push!", [array, value], Type::array(ty, 1));
            }
            _ => {
                let length = self.call("Base.arraylen", [array], Type::INT64);
                self.set(1, length);
            }
        }
        Ok(())
    }

    fn structs(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (x, n) = (self.operand(u, &Type::FLOAT64)?, self.operand(u, &Type::INT64)?);
        let global = |name: &str| Operand::global("Main", name);
        match u.int_in_range(0..=2)? {
            0 => {
                let point = self.push(Stmt::expr(Head::New, [global("Point"), x, n]), Type::named("Point"));
                let y = self.call("Core.getfield", [point.clone(), Operand::symbol("x")], Type::FLOAT64);
                let m = self.call("Core.getfield", [point, Operand::symbol("n")], Type::INT64);
                self.set(6, y);
                self.set(2, m);
            }
            1 if self.outermost => {
                let field = Operand::symbol("count");
                let old = self.call("Core.getfield", [Operand::argument(6), field.clone()], Type::INT64);
                self.call("Core.setfield!", [Operand::argument(6), field, n], Type::INT64);
                self.set(1, old);
            }
            _ => {
                let ty = Type::named("Counter");
                let counter = self.push(Stmt::expr(Head::New, [global("Counter"), n]), ty);
                let again = self.operand(u, &Type::INT64)?;
                self.call("Core.setfield!", [counter.clone(), Operand::symbol("count"), again], Type::INT64);
                let now = self.call("Core.getfield", [counter, Operand::symbol("count")], Type::INT64);
                self.set(2, now);
            }
        }
        Ok(())
    }

    fn enums(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (x, n) = (self.operand(u, &Type::FLOAT64)?, self.operand(u, &Type::INT64)?);
        let (dot, boxed) = (Operand::symbol("dot"), Operand::symbol("box"));
        let shape = Type::named("Shape");
        let of = Operand::global("Main", "Shape");
        let made = match u.ratio(1, 2)? {
            true => self.call("BBKit.new_case", [of, dot.clone(), x], shape),
            false => self.call("BBKit.new_case", [of, boxed, x, n], shape),
        };
        let is_dot = self.call("BBKit.is_case", [made.clone(), dot.clone()], Type::BOOL);
        self.set(9, is_dot);
        if u.ratio(1, 2)? {
            let payload = self.call("BBKit.payload", [made, dot, 1.into()], Type::FLOAT64);
            self.set(7, payload);
        }
        Ok(())
    }

    fn tuples(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (x, n) = (self.operand(u, &Type::FLOAT64)?, self.operand(u, &Type::INT64)?);
        let tuple = self.call("Core.tuple", [x, n], Type::tuple([Type::FLOAT64, Type::INT64]));
        let index = i64::from(u.int_in_range(1u8..=2)?);
        let ty = if index == 1 { Type::FLOAT64 } else { Type::INT64 };
        let field = self.call("Core.getfield", [tuple, index.into()], ty.clone());
        let variable = self.variable(u, &ty)?;
        self.set(variable, field);
        Ok(())
    }

    /// Throws where a condition holds.
    fn throw(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let condition = self.condition(u)?;
        let (then, go_on) = (self.bb.push_block(), self.bb.push_block());
        self.branch(condition, then, go_on);
        self.block = then;
        let value = self.operand(u, &Type::INT64)?;
        let text = Operand::Constant(Constant::String("wrong".into()));
        match u.int_in_range(0..=3)? {
            0 => self.call("Core.throw", [value], Type::Bottom),
            1 => self.call("Base.error", [text, value], Type::Bottom),
            2 => {
                let exception = self.call("Base.DomainError", [value, text], Type::named("DomainError"));
                self.call("Core.throw", [exception], Type::Bottom)
            }
            _ => self.call("Base.throw_boundserror", [Operand::argument(2), value], Type::Bottom),
        };
        self.push(Stmt::unreachable(), Type::Any);
        self.block = go_on;
        Ok(())
    }

    /// A loop of a few rounds.
    fn repeat(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let of = Operand::Constant(Constant::of_type(Type::INT64));
        let slot = self.call("BBKit.new_slot", [of], Type::slot(Type::INT64));
        let rounds = i64::from(u.int_in_range(0u8..=3)?);
        self.call("BBKit.slot_set!", [slot.clone(), rounds.into()], Type::Nothing);
        let (head, body, exit) = (self.bb.push_block(), self.bb.push_block(), self.bb.push_block());
        self.goto(head);
        self.block = head;
        let left = self.call("BBKit.slot_get", [slot.clone()], Type::INT64);
        let more = self.call("Base.slt_int", [0.into(), left.clone()], Type::BOOL);
        self.branch(more, body, exit);
        self.block = body;
        let less = self.call("Base.sub_int", [left, 1.into()], Type::INT64);
        self.call("BBKit.slot_set!", [slot, less], Type::Nothing);
        for _ in 0..u.int_in_range(0..=2)? {
            self.step(u, depth - 1)?;
        }
        self.goto(head);
        self.block = exit;
        Ok(())
    }

    fn try_catch(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let (body, catch, join) = (self.bb.push_block(), self.bb.push_block(), self.bb.push_block());
        let enter = EnterNode { catch_dest: Some(catch), scope: None };
        let token = self.push(Stmt::Enter(Box::new(enter)), Type::Any);
        self.falls_to(body);
        let _ = self.bb.set_odd_edges(catch, bbcode::OddEdges { virtual_preds: 1, ..Default::default() });
        self.block = body;
        for _ in 0..u.int_in_range(1..=3)? {
            self.step(u, depth - 1)?;
        }
        self.push(Stmt::expr(Head::Leave, [token.clone()]), Type::Any);
        let behind = self.bb.push_block();
        self.falls_to(behind);
        self.block = behind;
        self.goto(join);
        self.block = catch;
        if u.ratio(1, 2)? {
            let exception = self.push(Stmt::expr(Head::TheException, []), Type::Any);
            let text = Operand::Quote(Arc::new(Constant::String("caught ".into())));
            self.call("Main.println", [text, exception], Type::Nothing);
        }
        self.push(Stmt::expr(Head::PopException, [token]), Type::Nothing);
        for _ in 0..u.int_in_range(0..=1)? {
            self.step(u, depth - 1)?;
        }
        self.goto(join);
        self.block = join;
        Ok(())
    }
}
