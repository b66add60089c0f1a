//! Running compact code.

use super::code::{Compact, Instruction, Register};
use super::values::{
    array, boolean, copy, defined, element, field, float, float_element, integer, place, place_in_matrix, put,
    put_array, put_boolean, put_float, put_integer, same, scalar, store_scalar,
};
use crate::builtins::Runtime;
use crate::value::Value;

/// The statements that were executed, and how many may be.
#[derive(Debug)]
pub(crate) struct Steps<'s> {
    pub(crate) made: &'s mut u64,
    pub(crate) limit: u64,
}

/// Where control leaves compact code.
enum Pause {
    /// Before this instruction.
    Before(usize),
    /// Before this statement, which an edge leads to.
    At(u32),
}

/// Runs a frame from a statement on, as far as that goes. What it returns is the statement with which the general path
/// goes on: nothing of it has been done, and it is not counted.
pub(crate) fn run(
    compact: &Compact,
    registers: &mut [Value],
    runtime: &mut Runtime<'_>,
    steps: Steps<'_>,
    statement: usize,
) -> usize {
    let allowed = steps.limit.saturating_sub(*steps.made);
    let cost = u64::from(compact.costs[statement]);
    if cost > allowed {
        return statement;
    }
    let mut left = allowed - cost;
    let mut pc = compact.entries[statement] as usize;
    let pause = loop {
        let at = pc;
        pc += 1;
        /// Leaves the statement, and what would follow it in its segment, to the general path.
        macro_rules! leave {
            () => {
                break Pause::Before(at)
            };
        }
        /// What is of the kind that the instruction is made for.
        macro_rules! expect {
            ($value:expr) => {
                match $value {
                    Some(value) => value,
                    None => leave!(),
                }
            };
        }
        macro_rules! compute {
            ($kind:ident($a:expr, $b:expr), $put:ident($to:expr), $f:expr) => {{
                let a = expect!($kind(registers, $a));
                let b = expect!($kind(registers, $b));
                $put(registers, $to, $f(a, b));
            }};
        }
        /// What is in a NaN depends on the order of operands, which is the compiler's; so that is left to the general
        /// path, too.
        macro_rules! arithmetic {
            ($a:ident $operator:tt $b:ident, $to:expr) => {{
                let value = expect!(float(registers, $a)) $operator expect!(float(registers, $b));
                if value.is_nan() {
                    leave!();
                }
                put_float(registers, $to, value);
            }};
        }
        macro_rules! load {
            ($array:expr, $place:expr, $to:expr) => {
                match float_element($array, $place) {
                    Some(value) => put_float(registers, $to, value),
                    None => {
                        let value = expect!(element($array, $place));
                        put(registers, $to, value);
                    }
                }
            };
        }
        macro_rules! move_along {
            ($edge:expr) => {
                for step in &compact.moves[$edge.moves as usize..$edge.moves_end as usize] {
                    copy(registers, step.from, step.to);
                }
            };
        }
        macro_rules! take {
            ($edge:expr) => {{
                let edge = &compact.edges[$edge as usize];
                let cost = u64::from(edge.cost);
                if cost > left {
                    leave!();
                }
                left -= cost;
                move_along!(edge);
                pc = edge.target as usize;
            }};
        }
        /// Writes a condition, and goes where the next instruction says. Whoever leaves here computes the condition
        /// once more.
        macro_rules! take_if {
            ($to:expr, $value:expr) => {{
                let value = $value;
                put_boolean(registers, $to, value);
                let Instruction::GotoIfNot { dest, next, .. } = compact.instructions[pc] else { leave!() };
                take!(if value { next } else { dest });
            }};
        }
        match compact.instructions[at] {
            Instruction::General => leave!(),
            Instruction::Copy { from, to } => {
                if matches!(registers[from as usize], Value::Undefined) {
                    leave!();
                }
                copy(registers, from, to);
            }
            Instruction::AddFloat { a, b, to } => arithmetic!(a + b, to),
            Instruction::SubFloat { a, b, to } => arithmetic!(a - b, to),
            Instruction::MulFloat { a, b, to } => arithmetic!(a * b, to),
            Instruction::DivFloat { a, b, to } => arithmetic!(a / b, to),
            Instruction::NegFloat { a, to } => {
                // The sign bit and nothing else, of NaNs too.
                let value = expect!(float(registers, a));
                put_float(registers, to, f64::from_bits(value.to_bits() ^ 1 << 63));
            }
            Instruction::LtFloat { a, b, to } => compute!(float(a, b), put_boolean(to), |a: f64, b: f64| a < b),
            Instruction::LeFloat { a, b, to } => compute!(float(a, b), put_boolean(to), |a: f64, b: f64| a <= b),
            Instruction::EqFloat { a, b, to } => compute!(float(a, b), put_boolean(to), |a: f64, b: f64| a == b),
            Instruction::NeFloat { a, b, to } => compute!(float(a, b), put_boolean(to), |a: f64, b: f64| a != b),
            Instruction::AddInt { a, b, to } => compute!(integer(a, b), put_integer(to), i64::wrapping_add),
            Instruction::SubInt { a, b, to } => compute!(integer(a, b), put_integer(to), i64::wrapping_sub),
            Instruction::MulInt { a, b, to } => compute!(integer(a, b), put_integer(to), i64::wrapping_mul),
            Instruction::LtInt { a, b, to } => compute!(integer(a, b), put_boolean(to), |a: i64, b: i64| a < b),
            Instruction::LeInt { a, b, to } => compute!(integer(a, b), put_boolean(to), |a: i64, b: i64| a <= b),
            Instruction::EqInt { a, b, to } => compute!(integer(a, b), put_boolean(to), |a: i64, b: i64| a == b),
            Instruction::NeInt { a, b, to } => compute!(integer(a, b), put_boolean(to), |a: i64, b: i64| a != b),
            Instruction::FloatOfInt { from, to } => {
                let value = expect!(integer(registers, from));
                put_float(registers, to, value as f64);
            }
            Instruction::Not { a, to } => {
                let value = expect!(boolean(registers, a));
                put_boolean(registers, to, !value);
            }
            Instruction::Same { a, b, to } => {
                let same = expect!(same(registers, a, b));
                put_boolean(registers, to, same);
            }
            Instruction::NotSame { a, b, to } => {
                let same = expect!(same(registers, a, b));
                put_boolean(registers, to, !same);
            }
            Instruction::Select { cond, a, b } => {
                let cond = expect!(boolean(registers, cond));
                if [a, b].iter().any(|&a| matches!(registers[a as usize], Value::Undefined)) {
                    leave!();
                }
                copy(registers, if cond { a } else { b }, compact.own(at));
            }
            Instruction::Scalar { function, a, to } => {
                let value = expect!(compact.on_scalars(function, registers, &[a]));
                put(registers, to, value);
            }
            Instruction::Scalars { function, a, b } => {
                let value = expect!(compact.on_scalars(function, registers, &[a, b]));
                put(registers, compact.own(at), value);
            }
            Instruction::Scalars3 { function, operands } => {
                let value = expect!(compact.on_scalars(function, registers, compact.operands(operands, 3)));
                put(registers, compact.own(at), value);
            }
            Instruction::ArrayRef { array: target, index, to } => {
                let target = expect!(array(registers, target));
                let offset = expect!(place(target, expect!(integer(registers, index))));
                load!(target, offset, to);
            }
            Instruction::ArrayRef2 { array: target, row, column } => {
                let target = expect!(array(registers, target));
                let (row, column) = (expect!(integer(registers, row)), expect!(integer(registers, column)));
                let offset = expect!(place_in_matrix(target, row, column));
                load!(target, offset, compact.own(at));
            }
            Instruction::ArraySet { array: from, value, index } => {
                let target = expect!(array(registers, from));
                let offset = expect!(place(target, expect!(integer(registers, index))));
                if !store_scalar(target, offset, &registers[value as usize]) {
                    leave!();
                }
                put_array(registers, compact.own(at), from);
            }
            Instruction::ArraySet2 { operands } => {
                let &[from, value, row, column] = compact.operands(operands, 4) else { leave!() };
                let target = expect!(array(registers, from));
                let (row, column) = (expect!(integer(registers, row)), expect!(integer(registers, column)));
                let offset = expect!(place_in_matrix(target, row, column));
                if !store_scalar(target, offset, &registers[value as usize]) {
                    leave!();
                }
                put_array(registers, compact.own(at), from);
            }
            Instruction::ArrayLength { array: target, to } => {
                let length = expect!(array(registers, target)).length();
                put_integer(registers, to, length as i64);
            }
            Instruction::ArraySize { array: target, dimension, to } => {
                let number = expect!(integer(registers, dimension)).checked_sub(1);
                let number = expect!(number.and_then(|number| usize::try_from(number).ok()));
                let size = expect!(array(registers, target)).0.dims.borrow().get(number).copied().unwrap_or(1);
                put_integer(registers, to, size as i64);
            }
            Instruction::Field { object, field: of, to } => {
                let value = expect!(field(&registers[object as usize], &registers[of as usize]));
                put(registers, to, value);
            }
            Instruction::Tuple { operands, count, to } => {
                let sources = compact.operands(operands, count);
                let mut values = Vec::with_capacity(sources.len());
                values.extend(sources.iter().map_while(|&source| defined(registers, source)));
                if values.len() < sources.len() {
                    leave!();
                }
                let value = expect!(runtime.tuple(values).ok());
                put(registers, to, value);
            }
            Instruction::StackPush { stack, value, to } => {
                let value = expect!(defined(registers, value));
                let Value::Stack(stack) = &registers[stack as usize] else { leave!() };
                let saved = value.as_tuple().map_or(1, <[Value]>::len);
                if stack.0.fields.borrow_mut().push(value).is_err() {
                    leave!();
                }
                runtime.saved += saved as u64;
                put(registers, to, Value::Nothing);
            }
            Instruction::StackGet { stack, index, to } => {
                let index = expect!(integer(registers, index)).wrapping_sub(1);
                let Value::Stack(stack) = &registers[stack as usize] else { leave!() };
                let value =
                    usize::try_from(index).ok().and_then(|at| stack.0.fields.borrow().values().get(at).cloned());
                let value = expect!(value);
                put(registers, to, value);
            }
            Instruction::StackPop { stack, to } => {
                let Value::Stack(stack) = &registers[stack as usize] else { leave!() };
                let value = stack.0.fields.borrow_mut().pop();
                let value = expect!(value);
                put(registers, to, value);
            }
            Instruction::StackLength { stack, to } => {
                let Value::Stack(stack) = &registers[stack as usize] else { leave!() };
                let length = stack.0.fields.borrow().values().len();
                put_integer(registers, to, length as i64);
            }
            Instruction::Goto { edge } => take!(edge),
            Instruction::GotoIfNot { cond, dest, next } => {
                let edge = if expect!(boolean(registers, cond)) { next } else { dest };
                take!(edge);
            }
            Instruction::GotoIfNotLtFloat { a, b, to } => {
                take_if!(to, expect!(float(registers, a)) < expect!(float(registers, b)));
            }
            Instruction::GotoIfNotLtInt { a, b, to } => {
                take_if!(to, expect!(integer(registers, a)) < expect!(integer(registers, b)));
            }
            Instruction::GotoIfNotLeInt { a, b, to } => {
                take_if!(to, expect!(integer(registers, a)) <= expect!(integer(registers, b)));
            }
            Instruction::GotoIfNotSame { a, b, to } => take_if!(to, expect!(same(registers, a, b))),
            Instruction::GotoIf { a, to } => take_if!(to, !expect!(boolean(registers, a))),
            Instruction::Fall { edge } => {
                let edge = &compact.edges[edge as usize];
                move_along!(edge);
                let cost = u64::from(edge.cost);
                if cost > left {
                    break Pause::At(edge.statement);
                }
                left -= cost;
                pc = edge.target as usize;
            }
        }
    };
    let statement = match pause {
        Pause::Before(at) => {
            let statement = compact.statements[at] as usize;
            left += u64::from(compact.costs[statement]);
            statement
        }
        Pause::At(statement) => statement as usize,
    };
    *steps.made += allowed - left;
    statement
}

/// What only some instructions need is apart, so that the loop has few things to keep in registers of the processor.
impl Compact {
    /// The register that the statement of an instruction writes.
    #[inline(never)]
    fn own(&self, instruction: usize) -> Register {
        self.first + self.statements[instruction]
    }

    #[inline(never)]
    fn operands(&self, start: u32, count: u32) -> &[Register] {
        &self.operands[start as usize..(start + count) as usize]
    }

    /// What a function gives for scalars, up to three, if they are that and it does not fail.
    #[inline(never)]
    fn on_scalars(&self, function: u32, registers: &[Value], operands: &[Register]) -> Option<Value> {
        let function = self.functions[function as usize];
        let result = match *operands {
            [a] => function(std::slice::from_ref(scalar(registers, a)?)),
            [a, b] => function(&[scalar(registers, a)?.clone(), scalar(registers, b)?.clone()]),
            [a, b, c] => {
                let (a, b, c) = (scalar(registers, a)?, scalar(registers, b)?, scalar(registers, c)?);
                function(&[a.clone(), b.clone(), c.clone()])
            }
            _ => return None,
        };
        result.ok().map(Value::Scalar)
    }
}
