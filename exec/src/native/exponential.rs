//! The exponential function written where it is called, for one number or for two at once: a call would have to save what registers hold.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};
use cranelift_frontend::FunctionBuilder;
use ircode::primitives::float64::exponential::{Arithmetic, POWERS, exponential};

use super::function::FunctionCompiler;
use super::turns::shuffle;

/// How often it is written in a function; beyond that it is called, but
/// for vectors, so that long straight-line code stays as long as it is.
const WRITTEN: usize = 64;

impl FunctionCompiler<'_, '_> {
    /// e to the power of a number, or of each of two.
    pub(super) fn exponential(&mut self, x: ir::Value) -> ir::Value {
        let vector = self.builder.func.dfg.value_type(x) == clif::F64X2;
        if self.exponentials == WRITTEN && !vector {
            return self.math_call("exp", x);
        }
        self.exponentials = (self.exponentials + 1).min(WRITTEN);
        exponential(&mut Code { builder: &mut self.builder, vector }, x)
    }
}

/// Arithmetic on values of the code that is being made.
struct Code<'a, 'b> {
    builder: &'a mut FunctionBuilder<'b>,
    vector: bool,
}

impl Code<'_, '_> {
    fn integers(&self) -> ir::Type {
        if self.vector { clif::I64X2 } else { clif::I64 }
    }

    fn floats(&self) -> ir::Type {
        if self.vector { clif::F64X2 } else { clif::F64 }
    }

    fn integer(&mut self, constant: i64) -> ir::Value {
        let value = self.builder.ins().iconst(clif::I64, constant);
        if self.vector { self.builder.ins().splat(clif::I64X2, value) } else { value }
    }

    fn select(&mut self, condition: FloatCC, a: ir::Value, limit: f64) -> ir::Value {
        let limit = self.constant(limit);
        let beyond = self.builder.ins().fcmp(condition, limit, a);
        match self.vector {
            true => {
                let mask = self.cast(beyond, clif::F64X2);
                self.builder.ins().bitselect(mask, limit, a)
            }
            false => self.builder.ins().select(beyond, limit, a),
        }
    }

    fn cast(&mut self, value: ir::Value, to: ir::Type) -> ir::Value {
        self.builder.ins().bitcast(to, MemFlagsData::new().with_endianness(ir::Endianness::Little), value)
    }

    /// The address of the row of powers for an integer.
    fn row(&mut self, bits: ir::Value) -> ir::Value {
        let row = self.builder.ins().band_imm_u(bits, POWERS.len() as i64 - 1);
        let place = self.builder.ins().ishl_imm_u(row, 4);
        let table = self.builder.ins().iconst(clif::I64, POWERS.as_ptr() as i64);
        self.builder.ins().iadd(table, place)
    }
}

/// The rows never change, and each is sixteen bytes at a multiple of eight.
fn of_table() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly().with_can_move()
}

impl Arithmetic for Code<'_, '_> {
    type Float = ir::Value;
    type Bits = ir::Value;

    fn constant(&mut self, value: f64) -> ir::Value {
        let value = self.builder.ins().f64const(value);
        if self.vector { self.builder.ins().splat(clif::F64X2, value) } else { value }
    }
    fn add(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().fadd(a, b)
    }
    fn subtract(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().fsub(a, b)
    }
    fn multiply(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().fmul(a, b)
    }
    fn at_most(&mut self, a: ir::Value, limit: f64) -> ir::Value {
        self.select(FloatCC::LessThan, a, limit)
    }
    fn at_least(&mut self, a: ir::Value, limit: f64) -> ir::Value {
        self.select(FloatCC::GreaterThan, a, limit)
    }
    fn bits(&mut self, a: ir::Value) -> ir::Value {
        let to = self.integers();
        self.cast(a, to)
    }
    fn float(&mut self, bits: ir::Value) -> ir::Value {
        let to = self.floats();
        self.cast(bits, to)
    }
    fn add_bits(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().iadd(a, b)
    }
    fn add_to_bits(&mut self, a: ir::Value, constant: i64) -> ir::Value {
        let constant = self.integer(constant);
        self.builder.ins().iadd(a, constant)
    }
    fn to_exponent(&mut self, a: ir::Value) -> ir::Value {
        let multiple = self.builder.ins().ushr_imm_u(a, 8);
        self.builder.ins().ishl_imm_u(multiple, 52)
    }
    fn powers(&mut self, a: ir::Value) -> (ir::Value, ir::Value) {
        if !self.vector {
            let row = self.row(a);
            let rest = self.builder.ins().load(clif::F64, of_table(), row, 0);
            return (rest, self.builder.ins().load(clif::I64, of_table(), row, 8));
        }
        let rows = [0, 1].map(|lane| {
            let number = self.builder.ins().extractlane(a, lane);
            let row = self.row(number);
            self.builder.ins().load(clif::F64X2, of_table(), row, 0)
        });
        let [rests, powers] = [0, 1].map(|half| shuffle(self.builder, rows[0], rows[1], [half, 2 + half]));
        (rests, self.cast(powers, clif::I64X2))
    }
}
