//! Functions of mathematics written where they are called, for one number or for two at once: a call would have to save
//! what registers hold.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};
use cranelift_frontend::FunctionBuilder;
use ircode::primitives::float64::functions::{self, Arithmetic, Row};

use super::operations;
use crate::native::compiler::preserving::Preserving;
use crate::native::function::FunctionCompiler;
use crate::native::loops::turns::shuffle;

/// How many of them are written for single numbers in a function; beyond that they are called, so that long
/// straight-line code stays as long as it is.
const WRITTEN: usize = 64;

impl FunctionCompiler<'_, '_> {
    /// A function of one `Float64`, of a number or of each of two: written if there is a way to do so, else called.
    pub(crate) fn function_of(&mut self, name: &str, x: ir::Value) -> ir::Value {
        let vector = self.builder.func.dfg.value_type(x) == clif::F64X2;
        if vector || self.written < WRITTEN {
            let mut code = Code { builder: &mut self.builder, vector };
            let written = match name {
                "exp" => Some(functions::exp(&mut code, x)),
                "log" => Some(functions::log(&mut code, x)),
                "erf" => Some(functions::erf(&mut code, x)),
                "tanh" => Some(functions::tanh(&mut code, x)),
                "sin" if vector => Some(functions::sin(&mut code, x)),
                "cos" if vector => Some(functions::cos(&mut code, x)),
                "sin" => Some(functions::sin_near_zero(&mut code, x)),
                "cos" => Some(functions::cos_near_zero(&mut code, x)),
                _ => None,
            };
            if let Some(result) = written {
                self.written += 1;
                return match limited(name) {
                    // Vectors are of loops that have checked their limit.
                    Some((name, _)) if !vector => self.up_to(functions::NEAR, name, x, result),
                    _ => result,
                };
            }
        }
        if !vector {
            return self.call_function(name, x);
        }
        let [low, high] = [0, 1].map(|lane| {
            let number = self.builder.ins().extractlane(x, lane);
            self.call_function(name, number)
        });
        let vector = self.builder.ins().splat(clif::F64X2, low);
        self.builder.ins().insertlane(vector, high, 1)
    }

    /// What was computed if a number is within a limit, and else what the function gives that is called.
    fn up_to(&mut self, limit: f64, name: &'static str, x: ir::Value, result: ir::Value) -> ir::Value {
        let (beyond, done) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(beyond);
        let found = self.builder.append_block_param(done, clif::F64);
        let (size, limit) = (self.builder.ins().fabs(x), self.builder.ins().f64const(limit));
        let within = self.builder.ins().fcmp(FloatCC::LessThan, size, limit);
        self.builder.ins().brif(within, done, &[result.into()], beyond, &[]);
        self.seal(&[beyond]);
        self.builder.switch_to_block(beyond);
        let called = match self.compiler.preserving(Preserving::Function(name), self.builder.func) {
            Ok(callee) => {
                let slot = self.slot(8);
                let address = self.builder.ins().stack_addr(clif::I64, slot, 0);
                self.builder.ins().call(callee, &[x, address]);
                self.builder.ins().stack_load(clif::I64, clif::F64, slot, 0)
            }
            Err(_) => self.call_function(name, x),
        };
        self.builder.ins().jump(done, &[called.into()]);
        self.seal(&[done]);
        self.builder.switch_to_block(done);
        found
    }

    /// A function of one `Float32`, which is called.
    pub(crate) fn single_function_of(&mut self, name: &str, x: ir::Value) -> ir::Value {
        let callee = self.compiler.single_math(name, self.builder.func);
        let call = self.builder.ins().call(callee, &[x]);
        // It has one result.
        self.builder.inst_results(call).first().copied().unwrap_or(x)
    }

    fn call_function(&mut self, name: &str, x: ir::Value) -> ir::Value {
        let callee = self.compiler.math(name, self.builder.func);
        let call = self.builder.ins().call(callee, &[x]);
        // It has one result.
        self.builder.inst_results(call).first().copied().unwrap_or(x)
    }
}

/// The functions that are written for numbers up to some size, and that size for vectors; beyond it they are called.
pub(crate) fn limited(name: &str) -> Option<(&'static str, f64)> {
    let name = ["sin", "cos"].into_iter().find(|known| *known == name)?;
    Some((name, functions::LIMIT))
}

/// Arithmetic on values of the code that is being made.
struct Code<'a, 'b> {
    builder: &'a mut FunctionBuilder<'b>,
    vector: bool,
}

impl Code<'_, '_> {
    fn cast(&mut self, value: ir::Value, to: ir::Type) -> ir::Value {
        self.builder.ins().bitcast(to, MemFlagsData::new().with_endianness(ir::Endianness::Little), value)
    }

    /// A number or a vector of two of the same.
    fn each(&mut self, ty: ir::Type, value: ir::Value) -> ir::Value {
        if self.vector { self.builder.ins().splat(ty, value) } else { value }
    }
}

/// Tables never change, and rows lie at multiples of sixteen bytes.
fn of_table() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Arithmetic for Code<'_, '_> {
    type Float = ir::Value;
    type Bits = ir::Value;
    /// The addresses of the rows of both numbers, or twice that of one.
    type Row = [ir::Value; 2];

    fn constant(&mut self, value: f64) -> ir::Value {
        let value = self.builder.ins().f64const(value);
        self.each(clif::F64X2, value)
    }
    fn add(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        operations::add(self.builder, a, b)
    }
    fn subtract(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().fsub(a, b)
    }
    fn multiply(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        operations::multiply(self.builder, a, b)
    }
    fn absolute(&mut self, a: ir::Value) -> ir::Value {
        self.builder.ins().fabs(a)
    }
    fn with_sign(&mut self, a: ir::Value, of: ir::Value) -> ir::Value {
        if !self.vector {
            return self.builder.ins().fcopysign(a, of);
        }
        let sign = self.constant(-0.0);
        self.builder.ins().bitselect(sign, of, a)
    }
    fn if_less(&mut self, a: ir::Value, b: ir::Value, then: ir::Value, other: ir::Value) -> ir::Value {
        let less = self.builder.ins().fcmp(FloatCC::LessThan, a, b);
        match self.vector {
            true => {
                let mask = self.cast(less, clif::F64X2);
                self.builder.ins().bitselect(mask, then, other)
            }
            false => self.builder.ins().select(less, then, other),
        }
    }
    fn bits(&mut self, a: ir::Value) -> ir::Value {
        self.cast(a, if self.vector { clif::I64X2 } else { clif::I64 })
    }
    fn float(&mut self, bits: ir::Value) -> ir::Value {
        self.cast(bits, if self.vector { clif::F64X2 } else { clif::F64 })
    }
    fn add_bits(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().iadd(a, b)
    }
    fn subtract_bits(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().isub(a, b)
    }
    fn constant_bits(&mut self, bits: u64) -> ir::Value {
        let value = self.builder.ins().iconst(clif::I64, bits.cast_signed());
        self.each(clif::I64X2, value)
    }
    fn and_bits(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.builder.ins().band(a, b)
    }
    fn shift_up(&mut self, a: ir::Value, by: u8) -> ir::Value {
        self.builder.ins().ishl_imm_u(a, i64::from(by))
    }
    fn shift_down(&mut self, a: ir::Value, by: u8) -> ir::Value {
        self.builder.ins().ushr_imm_u(a, i64::from(by))
    }
    fn row<const WORDS: usize>(&mut self, table: &'static [Row<WORDS>], number: ir::Value) -> [ir::Value; 2] {
        let address = |code: &mut Self, number: ir::Value| {
            let place = code.builder.ins().imul_imm_s(number, size_of::<Row<WORDS>>() as i64);
            let start = code.builder.ins().iconst(clif::I64, table.as_ptr() as i64);
            code.builder.ins().iadd(start, place)
        };
        if self.vector {
            return [0, 1].map(|lane| {
                let number = self.builder.ins().extractlane(number, lane);
                address(self, number)
            });
        }
        [address(self, number); 2]
    }
    fn pair<const WORDS: usize>(
        &mut self,
        _: &'static [Row<WORDS>],
        rows: [ir::Value; 2],
        place: usize,
    ) -> (ir::Value, ir::Value) {
        let at = 16 * place as i32;
        if !self.vector {
            let [row, _] = rows;
            let first = self.builder.ins().load(clif::F64, of_table(), row, at);
            return (first, self.builder.ins().load(clif::F64, of_table(), row, at + 8));
        }
        let [one, other] = rows.map(|row| self.builder.ins().load(clif::F64X2, of_table(), row, at));
        (shuffle(self.builder, one, other, [0, 2]), shuffle(self.builder, one, other, [1, 3]))
    }
}
