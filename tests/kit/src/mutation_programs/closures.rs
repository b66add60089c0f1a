//! Closures whose derivatives go through what they capture: floats, arrays and mutable structs that others hold, too,
//! and other closures.

use arbitrary::{Result, Unstructured};
use bbcode::{BBCode, Ids};
use ircode::{Function, NewInstruction, Operand, Stmt, Type, TypeDef, TypeKind};

use super::{Writer, cell, vector, vectors};

/// A closure that is called with a float and how often it may go on calling.
pub(super) fn closure() -> Type {
    Type::closure([Type::FLOAT64, Type::INT64], Type::FLOAT64)
}

/// An enum one of whose cases holds a closure.
pub(super) fn task() -> Type {
    Type::named("Task")
}

pub(super) fn task_def() -> TypeDef {
    let cases = vec![("run".into(), vec![closure()]), ("scale".into(), vec![Type::FLOAT64]), ("none".into(), vec![])];
    TypeDef { name: "Task".into(), supertypes: None, kind: TypeKind::Enum { cases } }
}

/// What closures are made of beside the functions of the program: `scaled` captures a float, `apply` another closure,
/// and `stored` changes the array that it captures.
pub(super) fn helpers() -> Result<Vec<Function<BBCode>>> {
    let float = Type::FLOAT64;
    let mut scaled = Helper::new("scaled", [Type::FLOAT64]);
    let product = scaled.call("Base", "mul_float", [Operand::argument(2), Operand::argument(4)], float.clone())?;
    let value = scaled.call("", "sin", [product], float.clone())?;
    let mut apply = Helper::new("apply", [closure()]);
    let args = [Operand::argument(2), Operand::argument(3)];
    let applied = apply.push(Stmt::call(Operand::argument(4), args), float.clone())?;
    let mut stored = Helper::new("stored", [vector()]);
    let of = Operand::argument(4);
    let old = stored.call("Base", "arrayref", [true.into(), of.clone(), 1.into()], float.clone())?;
    let sum = stored.call("Base", "add_float", [old.clone(), Operand::argument(2)], float.clone())?;
    let sum = stored.call("", "sin", [sum], float)?;
    stored.call("Base", "arrayset", [true.into(), of, sum, 1.into()], vector())?;
    Ok(vec![scaled.finish(value)?, apply.finish(applied)?, stored.finish(old)?])
}

/// A function of a float, a number, and what closures of it capture.
struct Helper {
    name: &'static str,
    bb: BBCode,
    block: bbcode::BlockId,
}

impl Helper {
    fn new(name: &'static str, captured: impl IntoIterator<Item = Type>) -> Helper {
        let types = [Type::function(name), Type::FLOAT64, Type::INT64].into_iter().chain(captured);
        let mut bb = BBCode::new(types.collect());
        let block = bb.push_block();
        Helper { name, bb, block }
    }

    fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Result<Operand<Ids>> {
        let inst = self.bb.push(self.block, NewInstruction::new(stmt, ty));
        inst.map(Operand::Value).map_err(|_| arbitrary::Error::IncorrectFormat)
    }

    fn call(
        &mut self,
        module: &str,
        name: &str,
        args: impl IntoIterator<Item = Operand<Ids>>,
        ty: Type,
    ) -> Result<Operand<Ids>> {
        self.push(Stmt::call(Operand::global(module, name), args), ty)
    }

    fn finish(mut self, value: Operand<Ids>) -> Result<Function<BBCode>> {
        self.push(Stmt::ret(value), Type::Any)?;
        Ok(Function::new(self.name, Type::FLOAT64, self.bb))
    }
}

impl Writer<'_> {
    /// A new closure, or one that a variable holds.
    pub(super) fn new_closure(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let (helper, captured) = match u.int_in_range(0..=5)? {
            0 | 1 => ("scaled", vec![self.float(u)?]),
            2 => ("apply", vec![self.any(u, &closure())?]),
            3 => ("stored", vec![self.vector(u)?]),
            4 if self.callees.contains(&"g") => {
                let types = [vector(), vector(), cell(), vectors()];
                ("g", types.iter().map(|ty| self.any(u, ty)).collect::<Result<_>>()?)
            }
            _ => return self.any(u, &closure()),
        };
        Ok(self.partial_apply(helper, captured))
    }

    pub(super) fn partial_apply(
        &mut self,
        function: &str,
        captured: impl IntoIterator<Item = Operand<Ids>>,
    ) -> Operand<Ids> {
        let operands = std::iter::once(Operand::global("Main", function)).chain(captured);
        self.call("BBKit.partial_apply", operands, closure())
    }

    /// The value of a closure.
    pub(super) fn applied(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let fuel = self.fuel(u)?;
        let (callee, x) = (self.any(u, &closure())?, self.float(u)?);
        Ok(self.push(Stmt::call(callee, [x, fuel]), Type::FLOAT64))
    }

    /// Closures in variables, tuples and enums, and what is asked of them.
    pub(super) fn closures(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=6)? {
            0 | 1 => {
                let made = self.new_closure(u)?;
                self.assign(u, &closure(), made)
            }
            2 => {
                let (made, x) = (self.new_closure(u)?, self.float(u)?);
                let tuple = self.call("Core.tuple", [x, made], Type::tuple([Type::FLOAT64, closure()]));
                let (field, ty) = match u.ratio(1, 2)? {
                    true => (1, Type::FLOAT64),
                    false => (2, closure()),
                };
                let part = self.call("Core.getfield", [tuple, field.into()], ty.clone());
                self.assign(u, &ty, part)
            }
            3 => {
                let made = match u.int_in_range(0..=3)? {
                    0 | 1 => {
                        let payload = self.new_closure(u)?;
                        self.case("run", [payload])
                    }
                    2 => {
                        let payload = self.float(u)?;
                        self.case("scale", [payload])
                    }
                    _ => self.case("none", []),
                };
                self.assign(u, &task(), made)
            }
            4 => {
                let of = self.any(u, &task())?;
                let (case, ty) = match u.ratio(2, 3)? {
                    true => ("run", closure()),
                    false => ("scale", Type::FLOAT64),
                };
                let is = self.call("BBKit.is_case", [of.clone(), Operand::symbol(case)], Type::BOOL);
                self.where_it_is(u, is, |writer| {
                    let part = writer.call("BBKit.payload", [of, Operand::symbol(case), 1.into()], ty.clone());
                    (ty, part)
                })
            }
            5 => {
                let of = self.any(u, &closure())?;
                let (name, ty) = match u.int_in_range(0..=2)? {
                    0 => ("scaled", Type::FLOAT64),
                    1 => ("stored", vector()),
                    _ => ("apply", closure()),
                };
                let function = Operand::global("Main", name);
                let is = self.call("BBKit.applies", [of.clone(), function.clone()], Type::BOOL);
                self.where_it_is(u, is, |writer| {
                    let part = writer.call("BBKit.captured", [of, function, 1.into()], ty.clone());
                    (ty, part)
                })
            }
            _ => {
                let value = self.applied(u)?;
                self.assign(u, &Type::FLOAT64, value)
            }
        }
    }

    pub(super) fn case(&mut self, case: &str, payload: impl IntoIterator<Item = Operand<Ids>>) -> Operand<Ids> {
        let operands = [Operand::global("Main", "Task"), Operand::symbol(case)].into_iter().chain(payload);
        self.call("BBKit.new_case", operands, task())
    }

    /// Assigns a part of something to a variable where the condition holds.
    fn where_it_is(
        &mut self,
        u: &mut Unstructured<'_>,
        condition: Operand<Ids>,
        part: impl FnOnce(&mut Self) -> (Type, Operand<Ids>),
    ) -> Result<()> {
        let (then, join) = (self.bb.push_block(), self.bb.push_block());
        self.branch(condition, then, join);
        self.block = then;
        let (ty, part) = part(self);
        self.assign(u, &ty, part)?;
        self.goto(join);
        self.block = join;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arbitrary::Unstructured;
    use exec::Machine;

    use crate::mutation_programs::mutation_program;
    use crate::seeds::bytes;

    /// Closures are made beyond those that each function begins with, and applied: a program that applies none says
    /// nothing.
    #[test]
    fn programs_make_closures_and_apply_them() {
        let (mut more, mut applied) = (0, 0);
        for seed in 0..100 {
            let program = mutation_program(&mut Unstructured::new(&bytes(seed))).unwrap();
            let mut applications = 0;
            let mut machine =
                Machine::new(&program.module).on_step(|line| applications += usize::from(line.contains(" = (%")));
            machine.call("f", &program.args()).unwrap();
            more += usize::from(machine.statistics().allocations.closures > 2);
            drop(machine);
            applied += usize::from(applications > 0);
        }
        assert!(more > 20 && applied > 20, "{more} of 100 make closures of their own, {applied} apply some");
    }
}
