//! Sums, differences and products of integers with a flag that says whether they overflowed: what Julia's checked
//! arithmetic is made of.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::Overflow;
use ircode::{ScalarType, Type};

use crate::native::function::{FunctionCompiler, Typed};
use crate::native::layout::{Parts, part_of};

/// The operation of a primitive, and whether its operands are signed.
fn operation(name: &str) -> Option<(Overflow, bool)> {
    Some(match name {
        "checked_sadd_int" => (Overflow::Add, true),
        "checked_uadd_int" => (Overflow::Add, false),
        "checked_ssub_int" => (Overflow::Sub, true),
        "checked_usub_int" => (Overflow::Sub, false),
        "checked_smul_int" => (Overflow::Mul, true),
        "checked_umul_int" => (Overflow::Mul, false),
        _ => return None,
    })
}

impl FunctionCompiler<'_, '_> {
    /// The result of an operation on two integers of this type, which fit a register, beside the flag; `None` if it is
    /// another primitive.
    pub(crate) fn overflowing(&mut self, name: &str, ty: ScalarType, a: ir::Value, b: ir::Value) -> Option<Typed> {
        let (operation, signed) = operation(name)?;
        let ins = self.builder.ins();
        let result = match operation {
            Overflow::Add => ins.iadd(a, b),
            Overflow::Sub => ins.isub(a, b),
            Overflow::Mul => ins.imul(a, b),
        };
        let overflows = match (operation, signed) {
            (Overflow::Mul, _) => self.product_overflows(ty, signed, (a, b), result),
            (Overflow::Add, false) => self.builder.ins().icmp(IntCC::UnsignedLessThan, result, a),
            (Overflow::Sub, false) => self.builder.ins().icmp(IntCC::UnsignedLessThan, a, b),
            // The sign of the result is not that of either operand, or for a difference, of the first and the negated
            // second.
            (_, true) => {
                let of_a = self.builder.ins().bxor(result, a);
                let other = if operation == Overflow::Add { result } else { a };
                let of_b = self.builder.ins().bxor(other, b);
                let both = self.builder.ins().band(of_a, of_b);
                self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, both, 0)
            }
        };
        let layout = self.compiler.layouts.of(&Type::tuple([Type::Scalar(ty), Type::BOOL]));
        Some(Typed { layout, parts: Parts::from_slice(&[result, overflows]) })
    }

    /// Whether the exact product is another number than the wrapped one.
    pub(crate) fn product_overflows(
        &mut self,
        ty: ScalarType,
        signed: bool,
        (a, b): (ir::Value, ir::Value),
        wrapped: ir::Value,
    ) -> ir::Value {
        if part_of(ty) == clif::I64 {
            let ins = self.builder.ins();
            let high = if signed { ins.smulhi(a, b) } else { ins.umulhi(a, b) };
            return match signed {
                true => {
                    let sign = self.builder.ins().sshr_imm_u(wrapped, 63);
                    self.builder.ins().icmp(IntCC::NotEqual, high, sign)
                }
                false => self.builder.ins().icmp_imm_s(IntCC::NotEqual, high, 0),
            };
        }
        let mut widened = |value: ir::Value| match signed {
            true => self.builder.ins().sextend(clif::I64, value),
            false => self.builder.ins().uextend(clif::I64, value),
        };
        let [a, b, wrapped] = [a, b, wrapped].map(&mut widened);
        let exact = self.builder.ins().imul(a, b);
        self.builder.ins().icmp(IntCC::NotEqual, exact, wrapped)
    }
}
