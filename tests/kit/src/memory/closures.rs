//! Closures in random programs: made of the functions that there are, chosen between, captured in each other, kept in
//! tuples and enums, asked what they are, and applied.

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, Ids};
use ircode::{Constant, Function, Operand, Stmt, Type};

use super::Writer;

/// What the functions of a program are as closures without captures.
pub(super) fn of_both() -> Type {
    Type::closure([Type::INT64, Type::FLOAT64], Type::FLOAT64)
}

/// The thunk that the closures of a program are captured by: it applies its last parameter.
pub(super) fn thunk() -> Result<Function<BBCode>> {
    let mut bb = BBCode::new(vec![Type::function(THUNK), Type::INT64, Type::FLOAT64, of_both()]);
    let block = bb.push_block();
    let applied = Stmt::call(Operand::argument(4), [Operand::argument(2), Operand::argument(3)]);
    let invalid = |_| arbitrary::Error::IncorrectFormat;
    let value = bb.push(block, ircode::NewInstruction::new(applied, Type::FLOAT64)).map_err(invalid)?;
    bb.push(block, ircode::NewInstruction::new(Stmt::ret(Operand::Value(value)), Type::Any)).map_err(invalid)?;
    Ok(Function::new(THUNK, Type::FLOAT64, bb))
}

const THUNK: &str = "apply";

impl Writer<'_> {
    /// Makes closures, and does something with them.
    pub(super) fn closures(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        if u.ratio(1, 3)? {
            return self.partly_applied(u);
        }
        let mut closure = self.closure(u)?;
        for _ in 0..u.int_in_range(0..=3)? {
            closure = match u.int_in_range(0..=4)? {
                0 => self.call("BBKit.partial_apply", [Operand::global("Main", THUNK), closure], of_both()),
                1 => {
                    let (condition, other) = (self.condition(u)?, self.closure(u)?);
                    self.call("ifelse", [condition, closure, other], of_both())
                }
                2 => self.either(u, closure)?,
                3 => {
                    let tuple = self.call("Core.tuple", [closure, 1.into()], Type::tuple([of_both(), Type::INT64]));
                    self.call("Core.getfield", [tuple, 1.into()], of_both())
                }
                _ => {
                    let (of, task) = (Operand::global("Main", "Shape"), Operand::symbol("task"));
                    let made = self.call("BBKit.new_case", [of, task.clone(), closure], Type::named("Shape"));
                    self.call("BBKit.payload", [made, task, 1.into()], of_both())
                }
            };
        }
        if u.ratio(1, 4)? {
            let is = self.call("BBKit.applies", [closure.clone(), Operand::global("Main", "g")], Type::BOOL);
            self.set(8, is);
        }
        let args = [self.fuel(u)?, self.operand(u, &Type::FLOAT64)?];
        let value = self.push(Stmt::call(closure, args), Type::FLOAT64);
        self.set(7, value);
        Ok(())
    }

    /// A closure of two parameters.
    fn closure(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let callee = Operand::global("Main", u.choose(&self.callees)?);
        let closure = self.call("BBKit.partial_apply", [callee], of_both());
        Ok(match u.ratio(1, 3)? {
            true => self.call("BBKit.partial_apply", [Operand::global("Main", THUNK), closure], of_both()),
            false => closure,
        })
    }

    /// A closure or another, by the way that was taken.
    fn either(&mut self, u: &mut Unstructured<'_>, closure: Operand<Ids>) -> Result<Operand<Ids>> {
        let of = Operand::Constant(Constant::of_type(of_both()));
        let slot = self.call("BBKit.new_slot", [of], Type::slot(of_both()));
        self.call("BBKit.slot_set!", [slot.clone(), closure], Type::Nothing);
        let condition = self.condition(u)?;
        let (then, join) = (self.bb.push_block(), self.bb.push_block());
        self.branch(condition, then, join);
        self.block = then;
        let other = self.closure(u)?;
        self.call("BBKit.slot_set!", [slot.clone(), other], Type::Nothing);
        self.goto(join);
        self.block = join;
        Ok(self.call("BBKit.slot_get", [slot], of_both()))
    }

    /// A function of which one or both arguments are captured; what is captured is asked for.
    fn partly_applied(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (name, x) = (*u.choose(&self.callees)?, self.operand(u, &Type::FLOAT64)?);
        let (callee, fuel) = (Operand::global("Main", name), self.fuel(u)?);
        let (closure, args) = match u.ratio(1, 3)? {
            true => {
                let ty = Type::closure([], Type::FLOAT64);
                (self.call("BBKit.partial_apply", [callee, fuel, x], ty), Vec::new())
            }
            false => {
                let ty = Type::closure([Type::INT64], Type::FLOAT64);
                (self.call("BBKit.partial_apply", [callee, x], ty), vec![fuel])
            }
        };
        if u.ratio(1, 2)? {
            let asked = if u.ratio(3, 4)? { name } else { *u.choose(&self.callees)? };
            let is = self.call("BBKit.applies", [closure.clone(), Operand::global("Main", asked)], Type::BOOL);
            self.set(9, is);
            // One of another function, or the number of nothing, is an error that the program may catch.
            let number = i64::try_from(2 - args.len()).unwrap_or(1) + i64::from(u.ratio(1, 8)?);
            let operands = [closure.clone(), Operand::global("Main", asked), number.into()];
            let captured = self.call("BBKit.captured", operands, Type::FLOAT64);
            self.set(6, captured);
        }
        let value = self.push(Stmt::call(closure, args), Type::FLOAT64);
        self.set(5, value);
        Ok(())
    }

    /// How often what is called may go on calling.
    fn fuel(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        match self.outermost {
            true => {
                let n = self.operand(u, &Type::INT64)?;
                Ok(self.call("Base.and_int", [n, 3.into()], Type::INT64))
            }
            false => Ok(self.call("Base.sub_int", [Operand::argument(2), 1.into()], Type::INT64)),
        }
    }
}
