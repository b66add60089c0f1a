//! The code of the operations of straight loops, on a number or on a vector of two.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, Opcode};

use cranelift_frontend::FunctionBuilder;

use crate::native::function::FunctionCompiler;
use crate::native::loops::straight::Operation;

/// A sum of two numbers or vectors, of which either may be the NaN that comes out.
pub(crate) fn add(builder: &mut FunctionBuilder<'_>, a: ir::Value, b: ir::Value) -> ir::Value {
    let (a, b) = constant_second(builder, a, b);
    builder.ins().fadd(a, b)
}

/// A product, likewise.
pub(crate) fn multiply(builder: &mut FunctionBuilder<'_>, a: ir::Value, b: ir::Value) -> ir::Value {
    let (a, b) = constant_second(builder, a, b);
    builder.ins().fmul(a, b)
}

/// A constant goes second: instructions of x86 take their second operand from memory, and for constants, unlike for
/// loads, Cranelift does not exchange them.
fn constant_second(builder: &FunctionBuilder<'_>, a: ir::Value, b: ir::Value) -> (ir::Value, ir::Value) {
    let dfg = &builder.func.dfg;
    let is_constant = |value: ir::Value| {
        let inst = dfg.value_def(value).inst();
        inst.is_some_and(|inst| matches!(dfg.insts[inst].opcode(), Opcode::F64const | Opcode::F32const))
    };
    if is_constant(a) { (b, a) } else { (a, b) }
}

impl FunctionCompiler<'_, '_> {
    /// An operation on numbers or on vectors of them.
    pub(crate) fn compute(&mut self, operation: Operation, operands: &[ir::Value]) -> ir::Value {
        let ins = self.builder.ins();
        match (operation, operands) {
            (Operation::Add, [a, b]) => add(&mut self.builder, *a, *b),
            (Operation::Subtract, [a, b]) => ins.fsub(*a, *b),
            (Operation::Multiply, [a, b]) => multiply(&mut self.builder, *a, *b),
            (Operation::Divide, [a, b]) => ins.fdiv(*a, *b),
            (Operation::MultiplyAdd, [a, b, c]) => {
                let product = multiply(&mut self.builder, *a, *b);
                add(&mut self.builder, product, *c)
            }
            (Operation::Negate, [a, ..]) => ins.fneg(*a),
            (Operation::Absolute, [a, ..]) => ins.fabs(*a),
            (Operation::SquareRoot, [a, ..]) => ins.sqrt(*a),
            (Operation::Function(name), [a, ..]) => self.function_of(name, *a),
            _ => ins.f64const(f64::NAN),
        }
    }

    /// Goes on if a comparison holds of two numbers, or if it does not, and to a block otherwise. Of vectors of two
    /// numbers, it must be so for both.
    pub(crate) fn check_numbers(
        &mut self,
        (comparison, holds): (FloatCC, bool),
        a: ir::Value,
        b: ir::Value,
        otherwise: ir::Block,
    ) {
        let on = self.builder.create_block();
        let is_vector = self.builder.func.dfg.value_type(a).is_vector();
        let mut compared = self.builder.ins().fcmp(comparison, a, b);
        if is_vector {
            let signs = self.builder.ins().vhigh_bits(clif::I32, compared);
            compared = self.builder.ins().icmp_imm_s(IntCC::Equal, signs, if holds { 0b11 } else { 0 });
        }
        let (then, or) = if holds || is_vector { (on, otherwise) } else { (otherwise, on) };
        self.builder.ins().brif(compared, then, &[], or, &[]);
        self.seal(&[on]);
        self.builder.switch_to_block(on);
    }
}
