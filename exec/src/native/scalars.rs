//! Operations on numbers, as machine instructions where there are such that do just what the interpreter does.

pub(super) mod mathematics;
pub(super) mod operations;
mod overflow;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::Primitive;
use ircode::{ScalarType, Type};

use super::function::sites::{What, Work};
use super::function::{Compiled, FunctionCompiler, Typed, trusted};
use super::layout::{Layout, Shape, part_of};
use super::runtime::helpers::{Helper, MATH};

/// Whether the operand is an integer of a register's width, and what machine instructions on integers may be used for.
fn is_word(ty: ScalarType) -> bool {
    ty.is_integer() && ty.bits() <= 64
}

fn is_plain_float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Float64 | ScalarType::Float32)
}

impl FunctionCompiler<'_, '_> {
    /// The value of a primitive on numbers, if machine instructions compute it; `None` if not.
    pub(crate) fn scalar_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        if let Some(value) = self.comparison_of_values(primitive.name, operands)? {
            return Ok(Some(value));
        }
        if let [ty, value] = operands
            && let Type::TypeOf(target) = &ty.layout.ty
            && let (Some(to), Some(from), Some(part)) = (target.as_scalar(), value.layout.scalar(), value.one())
        {
            return Ok(self.conversion(primitive.name, to, from, part));
        }
        let mut types = operands.iter().map(|operand| operand.layout.scalar());
        let mut parts = operands.iter().map(Typed::one);
        Ok(match operands.len() {
            1 => match (types.next().flatten(), parts.next().flatten()) {
                (Some(ty), Some(a)) => self.unary(primitive, ty, a, operands)?,
                _ => None,
            },
            2 => match (types.next().flatten(), types.next().flatten(), parts.next().flatten(), parts.next().flatten())
            {
                (Some(ty), Some(other), Some(a), Some(b)) => self.binary(primitive.name, (ty, other), a, b),
                _ => None,
            },
            3 => self.ternary(primitive.name, operands),
            _ => None,
        })
    }

    fn unary(
        &mut self,
        primitive: &'static Primitive,
        ty: ScalarType,
        a: ir::Value,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let name = primitive.name;
        if matches!(name, "not_int" | "!") && ty == ScalarType::Bool {
            let flipped = self.builder.ins().bxor_imm_u(a, 1);
            return Ok(Some(self.scalar(ty, flipped)));
        }
        let math = name.strip_prefix("libm.").unwrap_or(name);
        if is_plain_float(ty) && MATH.contains(&math) {
            let result = match ty {
                ScalarType::Float32 => self.single_function_of(math, a),
                _ => self.function_of(math, a),
            };
            let result = if primitive.effects.throws { self.unless_nan(primitive, operands, result)? } else { result };
            return Ok(Some(self.scalar(ty, result)));
        }
        if is_plain_float(ty) && matches!(name, "sqrt_llvm" | "libm.sqrt" | "sqrt" | "√") {
            let result = self.builder.ins().sqrt(a);
            let result = if primitive.effects.throws { self.unless_nan(primitive, operands, result)? } else { result };
            return Ok(Some(self.scalar(ty, result)));
        }
        let ins = self.builder.ins();
        let result = if is_plain_float(ty) {
            match name {
                "neg_float" | "-" => ins.fneg(a),
                "abs_float" | "abs" => ins.fabs(a),
                "ceil_llvm" => ins.ceil(a),
                "floor_llvm" => ins.floor(a),
                "trunc_llvm" => ins.trunc(a),
                "rint_llvm" => ins.nearest(a),
                _ => return Ok(None),
            }
        } else if is_word(ty) {
            match name {
                "neg_int" => ins.ineg(a),
                "not_int" => ins.bnot(a),
                "ctpop_int" => ins.popcnt(a),
                "ctlz_int" => ins.clz(a),
                "cttz_int" => ins.ctz(a),
                "bswap_int" if ty.bits() > 8 => ins.bswap(a),
                _ => return Ok(None),
            }
        } else {
            return Ok(None);
        };
        Ok(Some(self.scalar(ty, result)))
    }

    /// Where the result is NaN and the operand is not, that is outside of the domain: the interpreter's primitive knows
    /// what to throw. From there control does not come back, so that nothing has to lie in memory around the call.
    fn unless_nan(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
        result: ir::Value,
    ) -> Compiled<ir::Value> {
        let Some((operand, x)) = operands.first().and_then(|operand| Some((operand, operand.one()?))) else {
            return self.refuse("a function without operand");
        };
        let nan = self.builder.ins().fcmp(FloatCC::Unordered, result, result);
        let [off, outside, on] = [(); 3].map(|()| self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.set_cold_block(outside);
        self.builder.ins().brif(nan, off, &[], on, &[]);
        self.seal(&[off]);
        self.builder.switch_to_block(off);
        let of_nan = self.builder.ins().fcmp(FloatCC::Unordered, x, x);
        self.builder.ins().brif(of_nan, on, &[], outside, &[]);
        self.seal(&[outside]);
        self.builder.switch_to_block(outside);
        self.interpret_seldom(Work::Primitive(primitive), operands, operand.layout.clone())?;
        self.fail(What::Refused("a number outside of the domain"), &[]);
        self.seal(&[on]);
        self.builder.switch_to_block(on);
        Ok(result)
    }

    fn binary(
        &mut self,
        name: &str,
        (ty, other): (ScalarType, ScalarType),
        a: ir::Value,
        b: ir::Value,
    ) -> Option<Typed> {
        if matches!(name, "shl_int" | "lshr_int" | "ashr_int") {
            return self.shift(name, (ty, other), a, b);
        }
        if ty != other {
            return None;
        }
        if is_plain_float(ty) && integer_condition(name, ScalarType::UInt64).is_some() {
            // Julia sorts floats by their bits.
            let [(whole, a), (_, b)] = [a, b].map(|float| self.bits(float));
            return self.binary(name, (whole, whole), a, b);
        }
        if is_plain_float(ty) {
            return self.float_binary(name, ty, a, b);
        }
        if let Some(condition) = integer_condition(name, ty)
            // A `Bool` has one bit, which is its sign.
            && (is_word(ty) || ty == ScalarType::Char || ty == ScalarType::Bool && !name.starts_with('s'))
        {
            let result = self.builder.ins().icmp(condition, a, b);
            return Some(self.scalar(ScalarType::Bool, result));
        }
        if matches!(name, "and_int" | "or_int" | "xor_int") && (is_word(ty) || ty == ScalarType::Bool) {
            let ins = self.builder.ins();
            let result = match name {
                "and_int" => ins.band(a, b),
                "or_int" => ins.bor(a, b),
                _ => ins.bxor(a, b),
            };
            return Some(self.scalar(ty, result));
        }
        if !is_word(ty) {
            return None;
        }
        if let Some(value) = self.overflowing(name, ty, a, b) {
            return Some(value);
        }
        let wide = ty == ScalarType::Int64;
        let result = match name {
            "add_int" => self.builder.ins().iadd(a, b),
            "sub_int" => self.builder.ins().isub(a, b),
            "mul_int" => self.builder.ins().imul(a, b),
            "+" if wide => self.builder.ins().iadd(a, b),
            "-" if wide => self.builder.ins().isub(a, b),
            "*" if wide => self.builder.ins().imul(a, b),
            "sdiv_int" | "checked_sdiv_int" => self.divide(ty, a, b, true, false),
            "srem_int" | "checked_srem_int" => self.divide(ty, a, b, true, true),
            "udiv_int" | "checked_udiv_int" => self.divide(ty, a, b, false, false),
            "urem_int" | "checked_urem_int" => self.divide(ty, a, b, false, true),
            "flipsign_int" => {
                let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, b, 0);
                let negated = self.builder.ins().ineg(a);
                self.builder.ins().select(negative, negated, a)
            }
            _ => return None,
        };
        Some(self.scalar(ty, result))
    }

    fn float_binary(&mut self, name: &str, ty: ScalarType, a: ir::Value, b: ir::Value) -> Option<Typed> {
        let condition = match name {
            "eq_float" | "==" => Some(FloatCC::Equal),
            "ne_float" | "!=" => Some(FloatCC::NotEqual),
            "lt_float" | "<" => Some(FloatCC::LessThan),
            "le_float" | "<=" => Some(FloatCC::LessThanOrEqual),
            ">" => Some(FloatCC::GreaterThan),
            ">=" => Some(FloatCC::GreaterThanOrEqual),
            _ => None,
        };
        if let Some(condition) = condition {
            let result = self.builder.ins().fcmp(condition, a, b);
            return Some(self.scalar(ScalarType::Bool, result));
        }
        if let Some(result) = self.total_order(name, a, b) {
            return Some(self.scalar(ScalarType::Bool, result));
        }
        let ins = self.builder.ins();
        let result = match name {
            "add_float" | "+" => operations::add(&mut self.builder, a, b),
            "sub_float" | "-" => ins.fsub(a, b),
            "mul_float" | "*" => operations::multiply(&mut self.builder, a, b),
            "div_float" | "/" => ins.fdiv(a, b),
            "copysign_float" => ins.fcopysign(a, b),
            "min_float" => ins.fmin(a, b),
            "max_float" => ins.fmax(a, b),
            "rem_float" | "libm.pow" => {
                let helper = match (name, ty) {
                    ("rem_float", ScalarType::Float32) => Helper::SingleRemainder,
                    (_, ScalarType::Float32) => Helper::SinglePower,
                    ("rem_float", _) => Helper::Remainder,
                    _ => Helper::Power,
                };
                let callee = self.compiler.helper(helper, self.builder.func);
                let call = self.builder.ins().call(callee, &[a, b]);
                self.builder.inst_results(call).first().copied()?
            }
            _ => return None,
        };
        Some(self.scalar(ty, result))
    }

    /// `isless` and `isequal` of floats: zeros differ by their sign, every number is less than NaN, and NaNs are equal.
    fn total_order(&mut self, name: &str, a: ir::Value, b: ir::Value) -> Option<ir::Value> {
        if !matches!(name, "fpislt" | "fpiseq") {
            return None;
        }
        let [(_, a_bits), (_, b_bits)] = [a, b].map(|float| self.bits(float));
        match name {
            "fpislt" => {
                let less = self.builder.ins().fcmp(FloatCC::LessThan, a, b);
                // Equal floats of different bits are zeros.
                let equal = self.builder.ins().fcmp(FloatCC::Equal, a, b);
                let by_sign = self.builder.ins().icmp(IntCC::SignedLessThan, a_bits, b_bits);
                let zeros = self.builder.ins().band(equal, by_sign);
                let a_number = self.builder.ins().fcmp(FloatCC::Ordered, a, a);
                let b_nan = self.builder.ins().fcmp(FloatCC::Unordered, b, b);
                let before_nan = self.builder.ins().band(a_number, b_nan);
                let either = self.builder.ins().bor(less, zeros);
                Some(self.builder.ins().bor(either, before_nan))
            }
            "fpiseq" => {
                let same = self.builder.ins().icmp(IntCC::Equal, a_bits, b_bits);
                let [a_nan, b_nan] = [a, b].map(|float| self.builder.ins().fcmp(FloatCC::Unordered, float, float));
                let nans = self.builder.ins().band(a_nan, b_nan);
                Some(self.builder.ins().bor(same, nans))
            }
            _ => None,
        }
    }

    /// The bits of a float as an integer, and the type of that.
    fn bits(&mut self, float: ir::Value) -> (ScalarType, ir::Value) {
        let (ty, part) = match self.builder.func.dfg.value_type(float) {
            clif::F32 => (ScalarType::Int32, clif::I32),
            _ => (ScalarType::Int64, clif::I64),
        };
        (ty, self.builder.ins().bitcast(part, ir::MemFlagsData::new(), float))
    }

    /// Julia's division, which throws where the result does not exist or does not fit.
    fn divide(&mut self, ty: ScalarType, a: ir::Value, b: ir::Value, signed: bool, remainder: bool) -> ir::Value {
        let nonzero = self.builder.ins().icmp_imm_s(IntCC::NotEqual, b, 0);
        self.guard(nonzero, What::Exception("DivideError"), &[]);
        let mut divisor = b;
        if signed {
            let minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
            if remainder {
                // The remainder is 0 then, also that of the smallest number, on which the instruction traps.
                let one = self.builder.ins().iconst(part_of(ty), 1);
                divisor = self.builder.ins().select(minus_one, one, b);
            } else {
                let bits = ty.bits();
                let smallest = self.builder.ins().iconst(part_of(ty), ((1_u64 << (bits - 1)) & mask(bits)) as i64);
                let is_smallest = self.builder.ins().icmp(IntCC::Equal, a, smallest);
                let overflows = self.builder.ins().band(minus_one, is_smallest);
                let fine = self.builder.ins().bxor_imm_u(overflows, 1);
                self.guard(fine, What::Exception("DivideError"), &[]);
            }
        }
        let ins = self.builder.ins();
        match (signed, remainder) {
            (true, false) => ins.sdiv(a, divisor),
            (true, true) => ins.srem(a, divisor),
            (false, false) => ins.udiv(a, divisor),
            (false, true) => ins.urem(a, divisor),
        }
    }

    /// A shift by as many bits as the number has, or more, leaves nothing, or the sign.
    fn shift(&mut self, name: &str, (ty, by): (ScalarType, ScalarType), a: ir::Value, b: ir::Value) -> Option<Typed> {
        if !is_word(ty) || !is_word(by) {
            return None;
        }
        let width = i64::from(ty.bits());
        let inside = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, b, width);
        let shifted = match name {
            "shl_int" => self.builder.ins().ishl(a, b),
            "lshr_int" => self.builder.ins().ushr(a, b),
            _ => self.builder.ins().sshr(a, b),
        };
        let rest = match name {
            "ashr_int" => self.builder.ins().sshr_imm_u(a, width - 1),
            _ => self.builder.ins().iconst(part_of(ty), 0),
        };
        let result = self.builder.ins().select(inside, shifted, rest);
        Some(self.scalar(ty, result))
    }

    fn ternary(&mut self, name: &str, operands: &[Typed]) -> Option<Typed> {
        let [a, b, c] = operands else { return None };
        let ty = a.layout.scalar().filter(|ty| is_plain_float(*ty))?;
        if b.layout.scalar() != Some(ty) || c.layout.scalar() != Some(ty) {
            return None;
        }
        let (a, b, c) = (a.one()?, b.one()?, c.one()?);
        let result = match name {
            "muladd_float" | "muladd" => {
                let product = operations::multiply(&mut self.builder, a, b);
                operations::add(&mut self.builder, product, c)
            }
            "fma_float" | "fma" => self.builder.ins().fma(a, b, c),
            _ => return None,
        };
        Some(self.scalar(ty, result))
    }

    fn conversion(&mut self, name: &str, to: ScalarType, from: ScalarType, a: ir::Value) -> Option<Typed> {
        let (target, source) = (part_of(to), part_of(from));
        let words = is_word(to) && (is_word(from) || from == ScalarType::Bool && name == "zext_int");
        let wide = matches!(from, ScalarType::Int64 | ScalarType::Int32);
        let result = match name {
            "convert" if to == from => a,
            "convert" if to == ScalarType::Float64 && wide => self.builder.ins().fcvt_from_sint(target, a),
            "bitcast" if to == from => a,
            "bitcast" if to != ScalarType::Bool && to.bytes() == from.bytes() && to.bytes() <= 8 => {
                match (target, source) {
                    (target, source) if target == source => a,
                    (clif::F64 | clif::F32, _) | (_, clif::F64 | clif::F32) => {
                        self.builder.ins().bitcast(target, ir::MemFlagsData::new(), a)
                    }
                    _ => return None,
                }
            }
            "zext_int" if words && target.bits() > source.bits() => self.builder.ins().uextend(target, a),
            "sext_int" if words && target.bits() > source.bits() => self.builder.ins().sextend(target, a),
            "trunc_int" if words && target.bits() < source.bits() => self.builder.ins().ireduce(target, a),
            "sitofp" if is_plain_float(to) && wide => self.builder.ins().fcvt_from_sint(target, a),
            "sitofp" if is_plain_float(to) && matches!(from, ScalarType::Int8 | ScalarType::Int16) => {
                let wider = self.builder.ins().sextend(clif::I32, a);
                self.builder.ins().fcvt_from_sint(target, wider)
            }
            "uitofp" if is_plain_float(to) && matches!(from, ScalarType::UInt64 | ScalarType::UInt32) => {
                self.builder.ins().fcvt_from_uint(target, a)
            }
            "uitofp"
                if is_plain_float(to) && matches!(from, ScalarType::UInt8 | ScalarType::UInt16 | ScalarType::Bool) =>
            {
                let wider = self.builder.ins().uextend(clif::I32, a);
                self.builder.ins().fcvt_from_sint(target, wider)
            }
            "fptosi" if matches!(to, ScalarType::Int64 | ScalarType::Int32) && is_plain_float(from) => {
                self.builder.ins().fcvt_to_sint_sat(target, a)
            }
            "fptoui" if matches!(to, ScalarType::UInt64 | ScalarType::UInt32) && is_plain_float(from) => {
                self.builder.ins().fcvt_to_uint_sat(target, a)
            }
            "fptrunc" if (to, from) == (ScalarType::Float32, ScalarType::Float64) => {
                self.builder.ins().fdemote(target, a)
            }
            "fpext" if (to, from) == (ScalarType::Float64, ScalarType::Float32) => {
                self.builder.ins().fpromote(target, a)
            }
            _ => return None,
        };
        Some(self.scalar(to, result))
    }

    /// `===`, `ifelse`, and what asks for types, on values of which all is known but the bits.
    fn comparison_of_values(&mut self, name: &str, operands: &[Typed]) -> Compiled<Option<Typed>> {
        Ok(match (name, operands) {
            ("===" | "!==", [a, b]) => {
                let Some(same) = self.egal(a, b) else { return Ok(None) };
                let same = if name == "===" { same } else { self.builder.ins().bxor_imm_u(same, 1) };
                Some(self.scalar(ScalarType::Bool, same))
            }
            ("ifelse", [condition, a, b]) if condition.layout.scalar() == Some(ScalarType::Bool) => {
                let Some(condition) = condition.one() else { return Ok(None) };
                let a = match (&a.layout.shape, &b.layout.shape) {
                    (Shape::Union(_), _) => None,
                    (_, Shape::Union(_)) => self.widen_to_union(a, &b.layout),
                    _ if a.layout.ty == b.layout.ty => None,
                    _ => {
                        let either = Type::union([a.layout.ty.clone(), b.layout.ty.clone()]);
                        let either = self.compiler.layouts.of(&either);
                        self.widen_to_union(a, &either)
                    }
                }
                .unwrap_or_else(|| a.clone());
                let b = self.convert(b.clone(), &a.layout)?;
                let pairs = a.parts.iter().zip(&b.parts);
                let parts = pairs.map(|(a, b)| self.builder.ins().select(condition, *a, *b)).collect();
                Some(Typed { layout: a.layout.clone(), parts })
            }
            ("identity", [value]) => Some(value.clone()),
            ("typeassert" | "assert_number", [value, ty]) if !value.layout.is_boxed() => match &ty.layout.ty {
                Type::TypeOf(ty) if **ty == value.layout.ty || **ty == Type::Any => Some(value.clone()),
                _ => None,
            },
            ("isa", [value, ty]) if !value.layout.is_boxed() => match &ty.layout.ty {
                Type::TypeOf(ty) if **ty == value.layout.ty || **ty == Type::Any => {
                    let yes = self.builder.ins().iconst(clif::I8, 1);
                    Some(self.scalar(ScalarType::Bool, yes))
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether two values are the same: the same bits, or the same object. `None` if only the interpreter can say it.
    pub(crate) fn egal(&mut self, a: &Typed, b: &Typed) -> Option<ir::Value> {
        let is_open = |value: &Typed| value.layout.is_boxed() || matches!(value.layout.shape, Shape::Union(_));
        if is_open(a) || is_open(b) {
            return None;
        }
        if a.layout.ty != b.layout.ty {
            let differ = are_apart(&a.layout, &b.layout);
            return differ.then(|| self.builder.ins().iconst(clif::I8, 0));
        }
        if a.layout.holds_boxed() || a.layout.holds_cells() || matches!(a.layout.shape, Shape::Record(..)) {
            return None;
        }
        let mut all: Option<ir::Value> = None;
        for (a, b) in a.parts.iter().zip(&b.parts) {
            let (mut a, mut b) = (*a, *b);
            let ty = self.builder.func.dfg.value_type(a);
            if ty.is_float() {
                let bits = if ty == clif::F64 { clif::I64 } else { clif::I32 };
                a = self.builder.ins().bitcast(bits, ir::MemFlagsData::new(), a);
                b = self.builder.ins().bitcast(bits, ir::MemFlagsData::new(), b);
            }
            let same = self.builder.ins().icmp(IntCC::Equal, a, b);
            all = Some(match all {
                Some(all) => self.builder.ins().band(all, same),
                None => same,
            });
        }
        Some(all.unwrap_or_else(|| self.builder.ins().iconst(clif::I8, 1)))
    }

    /// One word of memory.
    pub(crate) fn load_word(&mut self, address: ir::Value, at: i32) -> ir::Value {
        self.builder.ins().load(clif::I64, trusted(), address, at)
    }
}

/// Whether no value of one layout is one of the other, which is of another type. Fields of unknown type may make tuples
/// of different static types equal, and two names of a type may make arrays and objects so.
fn are_apart(a: &Layout, b: &Layout) -> bool {
    let is_pointer = |shape: &Shape| matches!(shape, Shape::Object | Shape::Reference);
    match (&a.shape, &b.shape) {
        (Shape::Scalar(_) | Shape::Unit, Shape::Scalar(_) | Shape::Unit) => true,
        (Shape::Array(_, rank), Shape::Array(_, other)) => rank != other,
        // An object without fields may be a function.
        (Shape::Unit, Shape::Fields(fields)) | (Shape::Fields(fields), Shape::Unit) => {
            !fields.is_empty() || a.ty == Type::Nothing || b.ty == Type::Nothing
        }
        (Shape::Fields(_), Shape::Fields(_)) => matches!(
            (&a.ty, &b.ty),
            (Type::Named(_), Type::Named(_) | Type::Tuple(_)) | (Type::Tuple(_), Type::Named(_))
        ),
        (one, other) => {
            let is_known = |shape: &Shape| {
                is_pointer(shape)
                    || matches!(shape, Shape::Scalar(_) | Shape::Unit | Shape::Array(..) | Shape::Fields(_))
            };
            is_known(one) && is_known(other) && !(is_pointer(one) && is_pointer(other))
        }
    }
}

fn mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn integer_condition(name: &str, ty: ScalarType) -> Option<IntCC> {
    Some(match name {
        "eq_int" => IntCC::Equal,
        "ne_int" => IntCC::NotEqual,
        "slt_int" => IntCC::SignedLessThan,
        "sle_int" => IntCC::SignedLessThanOrEqual,
        "ult_int" => IntCC::UnsignedLessThan,
        "ule_int" => IntCC::UnsignedLessThanOrEqual,
        "<" if ty == ScalarType::Int64 => IntCC::SignedLessThan,
        "<=" if ty == ScalarType::Int64 => IntCC::SignedLessThanOrEqual,
        ">" if ty == ScalarType::Int64 => IntCC::SignedGreaterThan,
        ">=" if ty == ScalarType::Int64 => IntCC::SignedGreaterThanOrEqual,
        "==" if ty == ScalarType::Int64 => IntCC::Equal,
        "!=" if ty == ScalarType::Int64 => IntCC::NotEqual,
        _ => return None,
    })
}
