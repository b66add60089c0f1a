//! Random programs of which the derivative goes through memory: floats in arrays, references, structs and tuples that
//! are made, copied, aliased, swapped, captured and changed, also by functions and closures that are called, under
//! branches and loops. They always end, and what they compute is smooth but where a branch changes.

mod closures;
mod stretches;

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, BlockId, Ids, InstId};
use exec::{Machine, Value};
use ircode::{Constant, Function, Head, IRCode, Module, Name, NewInstruction, Operand, Stmt, Type, TypeDef, TypeKind};
use passes::{PassManager, find_pass};

/// A program with arguments, which a run may change.
#[derive(Clone, Debug)]
pub struct MutationProgram {
    /// The function `f` and what it calls.
    pub module: Module<IRCode>,
    numbers: Vec<f64>,
    count: i64,
}

impl MutationProgram {
    /// The arguments of `f`, made anew.
    pub fn args(&self) -> Vec<Value> {
        let machine = Machine::new(&self.module);
        let float = |index: usize| Value::from(self.numbers.get(index).copied().unwrap_or(0.5));
        let vector = |from: usize| {
            let values = (from..from + LENGTH).map(float).collect();
            machine.array(Type::FLOAT64, vec![LENGTH], values).unwrap_or(Value::Nothing)
        };
        let vectors = vec![vector(7), vector(10)];
        let element = Type::array(Type::FLOAT64, 1);
        vec![
            float(0),
            Value::from(self.count),
            vector(1),
            vector(4),
            machine.structure(&cell(), vec![float(13), vector(14)]).unwrap_or(Value::Nothing),
            machine.array(element, vec![vectors.len()], vectors).unwrap_or(Value::Nothing),
        ]
    }
}

/// The least length of an array of floats.
const LENGTH: usize = 3;

fn cell() -> Type {
    Type::named("Cell")
}

fn pair() -> Type {
    Type::named("Pair")
}

fn vector() -> Type {
    Type::array(Type::FLOAT64, 1)
}

fn vectors() -> Type {
    Type::array(vector(), 1)
}

fn tagged() -> Type {
    Type::tuple([Type::FLOAT64, Type::INT64])
}

fn mixed() -> Type {
    Type::tuple([Type::FLOAT64, vector()])
}

fn reference(of: Type) -> Type {
    Type::Ref(std::sync::Arc::new(of))
}

/// A random program.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn mutation_program(u: &mut Unstructured<'_>) -> Result<MutationProgram> {
    let mut module: Module<BBCode> = Module::new();
    let field = |name: &str, ty: Type| (Name::from(name), ty);
    let fields = vec![field("x", Type::FLOAT64), field("v", vector())];
    let defs = [
        TypeDef { name: "Cell".into(), supertypes: None, kind: TypeKind::Struct { fields, mutable: true } },
        TypeDef::structure("Pair", [field("x", Type::FLOAT64), field("n", Type::INT64), field("v", vector())]),
        closures::task_def(),
    ];
    for def in defs {
        // The names are different.
        let _ = module.add_type(def);
    }
    let functions: [(&str, Type, &[&str]); 4] = [
        ("g", Type::FLOAT64, &["g"]),
        ("h", vector(), &["g"]),
        ("k", cell(), &["g", "h"]),
        ("f", Type::FLOAT64, &["g", "h", "k"]),
    ];
    let mut all = closures::helpers()?;
    for (name, result, callees) in functions {
        all.push(function(u, name, result, callees)?);
    }
    for function in all {
        if let Err(violations) = function.body.verify() {
            debug_assert!(false, "{}", bbcode::display_violations(&function.body, &violations));
            return Err(arbitrary::Error::IncorrectFormat);
        }
        module.add_function(function).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    }
    let invalid = |_| arbitrary::Error::IncorrectFormat;
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in &names {
        let pass = find_pass("mem2reg").map_err(|_| arbitrary::Error::IncorrectFormat)?;
        let ran = PassManager::new([pass]).run(&mut module, Some(name));
        ran.map_err(|_| arbitrary::Error::IncorrectFormat)?;
    }
    let mut numbers = Vec::new();
    for index in 0..17u8 {
        // No two are the same, so that no branch changes just there.
        numbers.push(f64::from(u.int_in_range(-30i8..=30)?) / 32.0 + f64::from(index) * 0.003_7 + 0.001_3);
    }
    let module = bbkit::to_ircode(&module).map_err(invalid)?;
    Ok(MutationProgram { module, numbers, count: u.int_in_range(0..=3)? })
}

/// The variables of a function: their types, and which slots they are.
fn variables() -> Vec<Type> {
    let mut types = vec![Type::FLOAT64, Type::FLOAT64, Type::FLOAT64, Type::INT64, Type::INT64];
    types.extend([vector(), vector(), vector(), cell(), cell(), vectors(), vectors(), mixed(), pair()]);
    types.extend([reference(Type::FLOAT64), reference(vector()), Type::array(tagged(), 1), Type::Any]);
    types.extend([closures::closure(), closures::closure(), closures::task()]);
    types
}

/// A function of (x, n, v, w, c, a). Its last call of itself is before `n` ends.
fn function(u: &mut Unstructured<'_>, name: &str, result: Type, callees: &[&str]) -> Result<Function<BBCode>> {
    let argtypes = vec![Type::function(name), Type::FLOAT64, Type::INT64, vector(), vector(), cell(), vectors()];
    let mut bb = BBCode::new(argtypes);
    let block = bb.push_block();
    let variables = variables();
    let mut writer = Writer {
        bb,
        block,
        slots: Vec::new(),
        variables,
        result: result.clone(),
        outermost: name == "f",
        callees: callees.to_vec(),
    };
    writer.start(u)?;
    if !writer.outermost {
        // Who calls counts down.
        let more = writer.call("Base.slt_int", [0.into(), Operand::argument(3)], Type::BOOL);
        let (go_on, stop) = (writer.bb.push_block(), writer.bb.push_block());
        writer.branch(more, go_on, stop);
        writer.block = stop;
        let callees = std::mem::take(&mut writer.callees);
        writer.ret(u)?;
        writer.callees = callees;
        writer.block = go_on;
    }
    for _ in 0..u.int_in_range(1..=if writer.outermost { 8 } else { 4 })? {
        writer.step(u, if writer.outermost { 3 } else { 2 })?;
    }
    writer.ret(u)?;
    Ok(Function::new(name, result, writer.bb))
}

struct Writer<'c> {
    bb: BBCode,
    block: BlockId,
    slots: Vec<Operand<Ids>>,
    variables: Vec<Type>,
    result: Type,
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

    fn element(&mut self, array: Operand<Ids>, index: Operand<Ids>, ty: Type) -> Operand<Ids> {
        let check = self.bounds_check();
        self.call("Base.arrayref", [check, array, index], ty)
    }

    fn set_element(&mut self, array: Operand<Ids>, value: Operand<Ids>, index: Operand<Ids>, of: Type) {
        let check = self.bounds_check();
        self.call("Base.arrayset", [check, array, value, index], of);
    }

    /// Whether bounds are checked: a constant, or on some accesses what a statement says, as in Julia's functions that
    /// may be inlined into `@inbounds` code.
    fn bounds_check(&mut self) -> Operand<Ids> {
        match self.bb.inst_count() % 3 {
            0 => self.push(Stmt::expr(Head::Boundscheck, []), Type::BOOL),
            _ => true.into(),
        }
    }

    fn new_object(&mut self, ty: Type, fields: impl IntoIterator<Item = Operand<Ids>>) -> Operand<Ids> {
        let named = Operand::Constant(Constant::of_type(ty.clone()));
        self.push(Stmt::expr(Head::New, std::iter::once(named).chain(fields)), ty)
    }

    /// Ends the block: `then` if the condition is true.
    fn branch(&mut self, condition: Operand<Ids>, then: BlockId, otherwise: BlockId) {
        self.push(Stmt::goto_if_not(condition, otherwise), Type::Any);
        // Both are there.
        let _ = self.bb.set_next(self.block, Some(then));
    }

    fn goto(&mut self, target: BlockId) {
        self.push(Stmt::goto(target), Type::Any);
    }

    fn get(&mut self, variable: usize) -> Operand<Ids> {
        let (slot, ty) = (self.slots[variable].clone(), self.variables[variable].clone());
        self.call("BBKit.slot_get", [slot], ty)
    }

    fn set(&mut self, variable: usize, value: Operand<Ids>) {
        let slot = self.slots[variable].clone();
        self.call("BBKit.slot_set!", [slot, value], Type::Nothing);
    }

    /// Puts a value in a variable of this type.
    fn assign(&mut self, u: &mut Unstructured<'_>, ty: &Type, value: Operand<Ids>) -> Result<()> {
        let variable = self.variable(u, ty)?;
        self.set(variable, value);
        Ok(())
    }

    fn variable(&self, u: &mut Unstructured<'_>, ty: &Type) -> Result<usize> {
        let all: Vec<usize> = (0..self.variables.len()).filter(|&variable| self.variables[variable] == *ty).collect();
        Ok(*u.choose(&all)?)
    }

    /// What a variable of this type holds.
    fn any(&mut self, u: &mut Unstructured<'_>, ty: &Type) -> Result<Operand<Ids>> {
        let variable = self.variable(u, ty)?;
        Ok(self.get(variable))
    }

    fn float(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        if u.ratio(1, 6)? {
            return Ok((f64::from(u.int_in_range(-20i8..=20)?) / 16.0 + 0.011).into());
        }
        self.any(u, &Type::FLOAT64)
    }

    /// An index in an array of at least three elements, or of at least two.
    fn index(&mut self, u: &mut Unstructured<'_>, least: usize) -> Result<Operand<Ids>> {
        if u.ratio(1, 2)? {
            return Ok((u.int_in_range(1..=least)? as i64).into());
        }
        let n = self.any(u, &Type::INT64)?;
        let low = self.call("Base.and_int", [n, 1.into()], Type::INT64);
        Ok(self.call("Base.add_int", [low, 1.into()], Type::INT64))
    }

    /// Makes the variables: of the arguments, and of objects that are made here.
    fn start(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut first = Vec::new();
        let (x, n, v, w) = (Operand::argument(2), Operand::argument(3), Operand::argument(4), Operand::argument(5));
        let (mut c, mut a) = (Operand::argument(6), Operand::argument(7));
        let (mut v, mut w) = (v, w);
        if u.ratio(1, 2)? {
            // Nothing that is here was there before.
            (v, w) = (self.call("Base.copy", [v], vector()), self.call("Base.copy", [w], vector()));
            c = self.new_object(cell(), [x.clone(), v.clone()]);
            let of = Operand::Constant(Constant::of_type(vector()));
            a = self.call("BBKit.new_array", [of, 2.into()], vectors());
            for (index, element) in [(1, v.clone()), (2, w.clone())] {
                self.set_element(a.clone(), element, index.into(), vectors());
            }
        }
        first.extend([x.clone(), 0.75.into(), (-0.375).into(), n.clone(), 1.into()]);
        let made = self.new_vector([x.clone(), 0.25.into(), 0.625.into()]);
        first.extend([v.clone(), w.clone(), made.clone()]);
        let of_field = self.call("Core.getfield", [c.clone(), Operand::symbol("v")], vector());
        let other = self.new_object(cell(), [0.3.into(), of_field]);
        first.extend([c, other]);
        let of = Operand::Constant(Constant::of_type(vector()));
        let list = self.call("BBKit.new_array", [of, 2.into()], vectors());
        for (index, element) in [(1, w.clone()), (2, made.clone())] {
            self.set_element(list.clone(), element, index.into(), vectors());
        }
        first.extend([a, list]);
        first.push(self.call("Core.tuple", [0.5.into(), v.clone()], mixed()));
        first.push(self.new_object(pair(), [x.clone(), n.clone(), w]));
        first.push(self.new_object(reference(Type::FLOAT64), [x.clone()]));
        first.push(self.new_object(reference(vector()), [made]));
        let of = Operand::Constant(Constant::of_type(tagged()));
        let list = self.call("BBKit.new_array", [of, 2.into()], Type::array(tagged(), 1));
        for index in [1, 2] {
            let element = self.call("Core.tuple", [x.clone(), n.clone()], tagged());
            let args = [true.into(), list.clone(), element, index.into()];
            self.call("Base.arrayset", args, Type::array(tagged(), 1));
        }
        first.extend([list, x.clone()]);
        let one = self.partial_apply("scaled", [x]);
        let other = self.partial_apply("stored", [v]);
        let task = self.case("run", [one.clone()]);
        first.extend([one, other, task]);
        for (ty, value) in self.variables.clone().into_iter().zip(first) {
            let of = Operand::Constant(Constant::of_type(ty.clone()));
            let slot = self.call("BBKit.new_slot", [of], Type::slot(ty));
            self.slots.push(slot);
            self.set(self.slots.len() - 1, value);
        }
        Ok(())
    }

    /// Reads and writes parts of variables by their addresses. Slots of which a part has an address stay slots.
    fn parts(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let ty = if u.ratio(2, 3)? { Type::FLOAT64 } else { vector() };
        let (name, number) = if ty == Type::FLOAT64 { ("x", 1) } else { ("v", 2) };
        let (tuple, object) = (self.variable(u, &mixed())?, self.variable(u, &pair())?);
        let slots = [self.slots[tuple].clone(), self.slots[object].clone()];
        let [tuple, object] = slots;
        let of_tuple = self.call("BBKit.slot_element", [tuple, number.into()], Type::slot(ty.clone()));
        let of_object = self.call("BBKit.slot_element", [object, Operand::symbol(name)], Type::slot(ty.clone()));
        let (to, from) = if u.ratio(1, 2)? { (of_tuple, of_object) } else { (of_object, of_tuple) };
        match u.int_in_range(0..=3)? {
            0 => {
                let value = if ty == Type::FLOAT64 { self.expression(u)? } else { self.vector(u)? };
                self.call("BBKit.slot_set!", [to, value], Type::Nothing);
            }
            1 => {
                let value = self.call("BBKit.slot_get", [from], ty.clone());
                self.assign(u, &ty, value)?;
            }
            2 => {
                self.call("BBKit.slot_copy!", [from, to], Type::Nothing);
            }
            _ => {
                // By way of a slot that ends here, made part by part.
                let of = Operand::Constant(Constant::of_type(Type::tuple([Type::INT64, ty.clone()])));
                let whole = Type::tuple([Type::INT64, ty.clone()]);
                let made = self.call("BBKit.new_slot", [of], Type::slot(whole));
                let part = self.call("BBKit.slot_element", [made.clone(), 2.into()], Type::slot(ty));
                self.call("BBKit.slot_copy!", [from, part.clone()], Type::Nothing);
                self.call("BBKit.slot_copy!", [part, to], Type::Nothing);
                self.call("BBKit.slot_end!", [made], Type::Nothing);
            }
        }
        Ok(())
    }

    fn new_vector(&mut self, elements: [Operand<Ids>; LENGTH]) -> Operand<Ids> {
        let of = Operand::Constant(Constant::of_type(Type::FLOAT64));
        let made = self.call("BBKit.new_array", [of, (LENGTH as i64).into()], vector());
        for (index, element) in elements.into_iter().enumerate() {
            let args = [true.into(), made.clone(), element, (index as i64 + 1).into()];
            self.call("Base.arrayset", args, vector());
        }
        made
    }

    /// Returns something, the value of which depends on what is in memory.
    fn ret(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let ty = self.result.clone();
        let mut value = self.any(u, &ty)?;
        if ty == Type::FLOAT64 {
            for _ in 0..if self.outermost { 4 } else { 1 } {
                let other = self.expression(u)?;
                value = self.call("Base.add_float", [value, other], Type::FLOAT64);
            }
        }
        self.push(Stmt::ret(value), Type::Any);
        Ok(())
    }

    fn condition(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        Ok(match u.ratio(1, 2)? {
            true => {
                let (a, b) = (self.any(u, &Type::FLOAT64)?, self.float(u)?);
                self.call("Base.lt_float", [a, b], Type::BOOL)
            }
            false => {
                let (n, m) = (self.any(u, &Type::INT64)?, u.int_in_range(-1i64..=2)?);
                self.call("Base.slt_int", [n, m.into()], Type::BOOL)
            }
        })
    }

    /// A float.
    fn expression(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let float = Type::FLOAT64;
        Ok(match u.int_in_range(0..=15)? {
            0 => {
                let x = self.float(u)?;
                self.call("sin", [x], float)
            }
            1 | 2 => {
                let (x, y) = (self.float(u)?, self.float(u)?);
                let product = self.call("Base.mul_float", [x, y], float.clone());
                self.call("sin", [product], float)
            }
            3 => {
                let (x, y) = (self.float(u)?, self.float(u)?);
                self.call(u.choose(&["Base.add_float", "Base.sub_float"])?, [x, y], float)
            }
            4..=6 => {
                let (array, index) = (self.any(u, &vector())?, self.index(u, LENGTH)?);
                self.element(array, index, float)
            }
            7 => {
                let (object, x) = (self.any(u, &cell())?, Operand::symbol("x"));
                self.call("Core.getfield", [object, x], float)
            }
            8 => {
                let r = self.any(u, &reference(Type::FLOAT64))?;
                self.call("Core.getfield", [r, Operand::symbol("x")], float)
            }
            9 => {
                let tuple = self.any(u, &mixed())?;
                self.call("Core.getfield", [tuple, 1.into()], float)
            }
            10 => {
                let object = self.any(u, &pair())?;
                self.call("Core.getfield", [object, Operand::symbol("x")], float)
            }
            11 => {
                let (array, index) = (self.any(u, &Type::array(tagged(), 1))?, self.index(u, 2)?);
                let element = self.element(array, index, tagged());
                self.call("Core.getfield", [element, 1.into()], float)
            }
            12 => {
                let array = self.any(u, &vector())?;
                let product = self.call("LinearAlgebra.dot", [array.clone(), array], float.clone());
                self.call("sin", [product], float)
            }
            13 | 14 => self.applied(u)?,
            _ => self.called(u, "g", float)?,
        })
    }

    /// A call of a function, if this one may call it; else what a variable holds.
    fn called(&mut self, u: &mut Unstructured<'_>, callee: &str, ty: Type) -> Result<Operand<Ids>> {
        if !self.callees.contains(&callee) {
            return self.any(u, &ty);
        }
        let fuel = self.fuel(u)?;
        let mut args = vec![self.float(u)?, fuel];
        for ty in [vector(), vector(), cell(), vectors()] {
            args.push(self.any(u, &ty)?);
        }
        Ok(self.call(&format!("Main.{callee}"), args, ty))
    }

    /// How often what is called may go on calling.
    fn fuel(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        Ok(match self.outermost {
            true => u.int_in_range(0..=2i64)?.into(),
            false => self.call("Base.sub_int", [Operand::argument(3), 1.into()], Type::INT64),
        })
    }

    /// A vector.
    fn vector(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        Ok(match u.int_in_range(0..=10)? {
            0 | 1 => self.any(u, &vector())?,
            9 => self.slice(u)?,
            2 => {
                let elements = [self.float(u)?, self.float(u)?, self.float(u)?];
                self.new_vector(elements)
            }
            3 => {
                let of = self.any(u, &vector())?;
                self.call("Base.copy", [of], vector())
            }
            4 => {
                let (array, index) = (self.any(u, &vectors())?, self.index(u, 2)?);
                self.element(array, index, vector())
            }
            5 => {
                let object = self.any(u, &cell())?;
                self.call("Core.getfield", [object, Operand::symbol("v")], vector())
            }
            6 => {
                let tuple = self.any(u, &mixed())?;
                self.call("Core.getfield", [tuple, 2.into()], vector())
            }
            7 => {
                let object = self.any(u, &pair())?;
                self.call("Core.getfield", [object, Operand::symbol("v")], vector())
            }
            8 => {
                let r = self.any(u, &reference(vector()))?;
                self.call("Core.getfield", [r, Operand::symbol("x")], vector())
            }
            _ => self.called(u, "h", vector())?,
        })
    }

    /// A few statements, which may hold others so deep.
    fn step(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        match u.int_in_range(0..=if depth > 0 { 31 } else { 25 })? {
            0 if u.ratio(1, 2)? => self.parts(u)?,
            0..=2 => {
                let value = self.expression(u)?;
                self.assign(u, &Type::FLOAT64, value)?;
            }
            3 => {
                let (n, m) = (self.any(u, &Type::INT64)?, u.int_in_range(-1i64..=3)?);
                let sum = self.call("Base.add_int", [n, m.into()], Type::INT64);
                self.assign(u, &Type::INT64, sum)?;
            }
            4..=7 => {
                let (array, value, index) = (self.any(u, &vector())?, self.expression(u)?, self.index(u, LENGTH)?);
                self.set_element(array, value, index, vector());
            }
            8 | 9 => {
                let value = self.vector(u)?;
                self.assign(u, &vector(), value)?;
            }
            10 if u.ratio(2, 3)? => self.stretch(u)?,
            10 => {
                let (array, value) = (self.any(u, &vector())?, self.float(u)?);
                self.call("Base.push!", [array, value], vector());
            }
            11 => {
                let (value, array) = (self.float(u)?, self.vector(u)?);
                let tuple = self.call("Core.tuple", [value, array], mixed());
                self.assign(u, &mixed(), tuple)?;
            }
            12 => {
                let (value, n, array) = (self.float(u)?, self.any(u, &Type::INT64)?, self.vector(u)?);
                let object = self.new_object(pair(), [value, n, array]);
                self.assign(u, &pair(), object)?;
            }
            13 | 14 => self.cells(u)?,
            15 | 16 => self.references(u)?,
            17 | 18 => self.nested(u)?,
            19 => {
                let (array, value, n) = (self.any(u, &Type::array(tagged(), 1))?, self.float(u)?, self.index(u, 2)?);
                let element = self.call("Core.tuple", [value, n.clone()], tagged());
                let args = [true.into(), array, element, n];
                self.call("Base.arrayset", args, Type::array(tagged(), 1));
            }
            20 => self.swap(u)?,
            21 => {
                let condition = self.condition(u)?;
                let ty = u
                    .choose(&[
                        Type::FLOAT64,
                        vector(),
                        cell(),
                        vectors(),
                        mixed(),
                        closures::closure(),
                        closures::task(),
                    ])?
                    .clone();
                let (then, otherwise) = (self.any(u, &ty)?, self.any(u, &ty)?);
                let chosen = self.call("Core.ifelse", [condition, then, otherwise], ty.clone());
                self.assign(u, &ty, chosen)?;
            }
            22 => {
                let ty = u.choose(&[Type::FLOAT64, vector(), cell(), mixed(), closures::closure()])?.clone();
                let value = self.any(u, &ty)?;
                self.assign(u, &Type::Any, value)?;
            }
            23 => self.shrink(),
            24 | 25 => self.closures(u)?,
            26 | 27 => {
                let (go_on, stop) = (self.bb.push_block(), self.bb.push_block());
                let condition = self.condition(u)?;
                self.branch(condition, go_on, stop);
                self.block = stop;
                self.step(u, depth - 1)?;
                self.ret(u)?;
                self.block = go_on;
            }
            28 => self.narrow(u)?,
            29 | 30 => {
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
            _ => self.repeat(u, depth)?,
        }
        Ok(())
    }

    fn cells(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let object = self.any(u, &cell())?;
        match u.int_in_range(0..=4)? {
            0 => {
                let fields = [self.float(u)?, self.vector(u)?];
                let made = self.new_object(cell(), fields);
                self.assign(u, &cell(), made)?;
            }
            1 => self.assign(u, &cell(), object)?,
            2 => {
                let value = self.expression(u)?;
                let value = self.call("Core.setfield!", [object, Operand::symbol("x"), value], Type::FLOAT64);
                self.assign(u, &Type::FLOAT64, value)?;
            }
            3 => {
                let value = self.vector(u)?;
                self.call("Core.setfield!", [object, Operand::symbol("v"), value], vector());
            }
            _ => {
                let value = self.called(u, "k", cell())?;
                self.assign(u, &cell(), value)?;
            }
        }
        Ok(())
    }

    fn references(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (ty, value) = match u.ratio(1, 2)? {
            true => (Type::FLOAT64, self.expression(u)?),
            false => (vector(), self.vector(u)?),
        };
        let of = reference(ty.clone());
        match u.ratio(1, 3)? {
            true => {
                let made = self.new_object(of.clone(), [value]);
                self.assign(u, &of, made)?;
            }
            false => {
                let r = self.any(u, &of)?;
                self.call("Core.setfield!", [r, Operand::symbol("x"), value], ty);
            }
        }
        Ok(())
    }

    /// Arrays of arrays.
    fn nested(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let array = self.any(u, &vectors())?;
        match u.int_in_range(0..=3)? {
            0 => self.assign(u, &vectors(), array)?,
            1 => {
                let copied = self.call("Base.copy", [array], vectors());
                self.assign(u, &vectors(), copied)?;
            }
            2 => {
                let element = self.vector(u)?;
                self.call("Base.push!", [array, element], vectors());
            }
            _ => {
                let (element, index) = (self.vector(u)?, self.index(u, 2)?);
                self.set_element(array, element, index, vectors());
            }
        }
        Ok(())
    }

    /// Swaps two elements.
    fn swap(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (of, element, least) = match u.ratio(1, 2)? {
            true => (vector(), Type::FLOAT64, LENGTH),
            false => (vectors(), vector(), 2),
        };
        let array = self.any(u, &of)?;
        let (i, j) = (self.index(u, least)?, self.index(u, least)?);
        let a = self.element(array.clone(), i.clone(), element.clone());
        let b = self.element(array.clone(), j.clone(), element);
        self.set_element(array.clone(), a, j, of.clone());
        self.set_element(array, b, i, of);
        Ok(())
    }

    /// Takes the last element from the first vector, if it has more than it must have.
    fn shrink(&mut self) {
        let array = self.get(5);
        let length = self.call("Base.arraylen", [array.clone()], Type::INT64);
        let longer = self.call("Base.slt_int", [(LENGTH as i64).into(), length], Type::BOOL);
        let (then, join) = (self.bb.push_block(), self.bb.push_block());
        self.branch(longer, then, join);
        self.block = then;
        self.call("Base.jl_array_del_end", [array, 1.into()], Type::Nothing);
        self.goto(join);
        self.block = join;
    }

    /// What a variable of any type holds, if it is of this type.
    fn narrow(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let ty = u.choose(&[Type::FLOAT64, vector(), cell(), mixed(), closures::closure()])?.clone();
        let value = self.any(u, &Type::Any)?;
        let of = Operand::Constant(Constant::of_type(ty.clone()));
        let is = self.call("Core.isa", [value.clone(), of], Type::BOOL);
        let (then, join) = (self.bb.push_block(), self.bb.push_block());
        self.branch(is, then, join);
        self.block = then;
        let seen = self.push(Stmt::Pi(Box::new(ircode::PiNode { value, ty: ty.clone() })), ty.clone());
        self.assign(u, &ty, seen)?;
        self.goto(join);
        self.block = join;
        Ok(())
    }

    /// A loop of a few rounds.
    fn repeat(&mut self, u: &mut Unstructured<'_>, depth: usize) -> Result<()> {
        let of = Operand::Constant(Constant::of_type(Type::INT64));
        let slot = self.call("BBKit.new_slot", [of], Type::slot(Type::INT64));
        let count = u.int_in_range(0..=3i64)?;
        self.call("BBKit.slot_set!", [slot.clone(), count.into()], Type::Nothing);
        let (head, body, exit) = (self.bb.push_block(), self.bb.push_block(), self.bb.push_block());
        self.goto(head);
        self.block = head;
        let left = self.call("BBKit.slot_get", [slot.clone()], Type::INT64);
        let more = self.call("Base.slt_int", [0.into(), left.clone()], Type::BOOL);
        self.branch(more, body, exit);
        self.block = body;
        let less = self.call("Base.sub_int", [left.clone(), 1.into()], Type::INT64);
        self.call("BBKit.slot_set!", [slot, less], Type::Nothing);
        self.assign(u, &Type::INT64, left)?;
        for _ in 0..u.int_in_range(1..=3)? {
            self.step(u, depth - 1)?;
        }
        self.goto(head);
        self.block = exit;
        Ok(())
    }
}
