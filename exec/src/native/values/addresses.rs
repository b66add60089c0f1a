//! Addresses of arrays and numbers of objects, which Julia's library compares to see whether two of them share memory.
//!
//! The interpreter numbers storages in the order in which they are asked for. In native code it is where the elements
//! lie, as long as addresses are only found to be the same or not; the number of an object is made of where it lies, or
//! of what its fields are. Where arrays grow that may change, but then each has elements of its own, so its header says
//! as much, as long as first elements stay where they are.

use std::hash::{DefaultHasher, Hash, Hasher};

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use hashbrown::HashMap;
use ircode::{IRCode, Module, Operand, ScalarType, Stmt, Type};

use crate::native::compiler::call_graph;
use crate::native::function::{FunctionCompiler, Typed};
use crate::native::layout::{Parts, Shape, array};

/// What gives the address of an array.
pub(crate) const ADDRESS: &str = "jl_array_ptr";

/// What gives the number of an object.
pub(crate) const OBJECT_ID: &str = "jl_object_id";

/// What gives the same number in another type.
const SAME: &[&str] = &["bitcast"];

/// What sees whether two numbers are the same.
const COMPARISONS: &[&str] = &["===", "!==", "eq_int", "ne_int"];

/// By statement that gives an address or the number of an object: whether that is only compared, in the block in which
/// it was asked for, and where `shifts` says that something in the program moves first elements, before anything there
/// may do so.
pub(crate) fn compared_addresses(module: &Module<IRCode>, ir: &IRCode, shifts: bool) -> HashMap<usize, bool> {
    let mut found: HashMap<usize, bool> = HashMap::new();
    // By statement whose value is an address: the statement that gives it.
    let mut origins: HashMap<usize, usize> = HashMap::new();
    for block in &ir.cfg.blocks {
        // What was asked for before this statement is out of date.
        let mut current = block.stmts.start;
        for index in block.stmts.clone() {
            let Some(stmt) = ir.stmts.stmts().get(index) else { continue };
            let primitive = module.primitive_call(stmt).map(|(primitive, _)| primitive);
            let calls = matches!(stmt, Stmt::Call(_) | Stmt::Invoke(_)) && primitive.is_none();
            if shifts && (calls || primitive.is_some_and(call_graph::shifts)) {
                current = index;
            }
            let primitive = primitive.map(|primitive| primitive.name);
            if matches!(primitive, Some(ADDRESS | OBJECT_ID)) {
                found.insert(index, true);
                origins.insert(index, index);
                continue;
            }
            let mut used = Vec::new();
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Value(value) = operand {
                    used.extend(value.index().and_then(|index| origins.get(&index)).copied());
                }
            });
            let is_word =
                matches!(ir.stmts.types().get(index), Some(Type::Scalar(ty)) if ty.is_integer() && ty.bits() == 64);
            match (primitive, used.as_slice()) {
                (_, []) => {}
                (_, used) if used.iter().any(|origin| *origin < current) => {
                    found.extend(used.iter().map(|origin| (*origin, false)));
                }
                (Some(name), [one]) if SAME.contains(&name) && is_word && block.stmts.contains(one) => {
                    origins.insert(index, *one);
                }
                (Some(name), [a, b])
                    if COMPARISONS.contains(&name) && [a, b].iter().all(|at| block.stmts.contains(at)) => {}
                _ => found.extend(used.into_iter().map(|origin| (origin, false))),
            }
        }
    }
    // What is used in a block or a φ that stands before it was not seen.
    for block in &ir.cfg.blocks {
        for stmt in ir.stmts.stmts().get(block.stmts.clone()).unwrap_or_default() {
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Value(value) = operand
                    && let Some(origin) = value.index().and_then(|index| origins.get(&index))
                    && (stmt.as_phi().is_some() || !block.stmts.contains(origin))
                {
                    found.insert(*origin, false);
                }
            });
        }
    }
    found
}

impl FunctionCompiler<'_, '_> {
    /// The value of a primitive that gives an address or the number of an object, if that is used for nothing but to
    /// see whether another is the same.
    pub(crate) fn address_primitive(&mut self, ir: &IRCode, primitive: &str, operands: &[Typed]) -> Option<Typed> {
        let ([value], ADDRESS | OBJECT_ID) = (operands, primitive) else { return None };
        if self.addresses.is_none() {
            self.addresses = Some(compared_addresses(&self.module, ir, self.compiler.shifts()));
        }
        let compared = self.addresses.as_ref().and_then(|known| known.get(&self.statement)).copied();
        compared.filter(|only| *only)?;
        if primitive == OBJECT_ID {
            let number = self.object_id(value)?;
            return Some(self.scalar(ScalarType::UInt64, number));
        }
        let parts = self.array(value)?;
        let address = match self.compiler.resized().contains_elements(&parts.element.ty) {
            true => parts.header,
            false => self.header_word(&parts, array::DATA),
        };
        Some(self.scalar(ScalarType::UInt64, address))
    }

    /// A number that is the same for what is egal, and another one for other objects, but for a chance of one in 2⁶⁴
    /// where objects are values.
    fn object_id(&mut self, value: &Typed) -> Option<ir::Value> {
        let layout = &value.layout;
        match layout.shape {
            Shape::Array(..) | Shape::Object | Shape::Reference | Shape::Stack(_) => return value.one(),
            Shape::Scalar(_) | Shape::Unit | Shape::Fields(_) if !layout.holds_boxed() && !layout.holds_cells() => {}
            _ => return None,
        }
        let mut hasher = DefaultHasher::new();
        layout.ty.hash(&mut hasher);
        let mut number = self.builder.ins().iconst(clif::I64, hasher.finish() as i64);
        for part in &value.parts {
            for word in self.words_of(*part) {
                // As in FxHash: rotated, so that where a word stands counts, and multiplied by an odd number.
                let turned = self.builder.ins().rotl_imm_u(number, 5);
                let mixed = self.builder.ins().bxor(turned, word);
                number = self.builder.ins().imul_imm_s(mixed, 0x517c_c1b7_2722_0a95);
            }
        }
        Some(number)
    }

    /// The bits of a part, as words.
    fn words_of(&mut self, part: ir::Value) -> Parts<ir::Value> {
        let ty = self.builder.func.dfg.value_type(part);
        let bits = match ty.is_float() {
            true => self.builder.ins().bitcast(ty.as_truthy_pedantic(), ir::MemFlagsData::new(), part),
            false => part,
        };
        match ty.bits() {
            128 => {
                let (low, high) = self.builder.ins().isplit(bits);
                Parts::from_slice(&[low, high])
            }
            64 => Parts::from_slice(&[bits]),
            _ => Parts::from_slice(&[self.builder.ins().uextend(clif::I64, bits)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use ircode::parse_module;

    use super::compared_addresses;

    #[test]
    fn addresses_that_are_more_than_compared_are_told_apart() {
        let text = "
function f(a::Vector{Float64}, b::Vector{Float64})::Bool
1 ─ %1 = Base.jl_array_ptr(a)::Any
│   %2 = Base.bitcast(UInt64, %1)::UInt64
│   %3 = Base.jl_array_ptr(b)::Any
│   %4 = Base.bitcast(UInt64, %3)::UInt64
│   %5 = (%2 === %4)::Bool
│   %6 = Base.jl_array_ptr(a)::Any
│   %7 = Base.bitcast(UInt64, %6)::UInt64
│   %8 = Base.ult_int(%7, %4)::Bool
│   %9 = Base.jl_array_ptr(a)::Any
│   %10 = Base.jl_array_ptr(a)::Any
│   %11 = Base.bitcast(UInt32, %10)::UInt32
│   %12 = (%11 === %11)::Bool
└──      goto #3 if not %5
2 ─      return %8
3 ─ %15 = (%9 === %9)::Bool
└──      return %15
end
";
        let module = parse_module(text).unwrap().module;
        let ir = &module.function("f").unwrap().body;
        let found = |shifts: bool| {
            let mut found: Vec<(usize, bool)> = compared_addresses(&module, ir, shifts).into_iter().collect();
            found.sort_unstable();
            found
        };
        // %3 is also ordered, %9 is compared in another block, and no address fits in 32 bits.
        assert_eq!(found(true), [(0, true), (2, false), (5, false), (8, false), (9, false)]);
        assert_eq!(found(true), found(false));
    }

    #[test]
    fn what_moves_first_elements_puts_addresses_out_of_date() {
        let text = "
function f(a::Vector{Float64}, b::Vector{Float64}, old::Vector{Float64})::Bool
1 ─ %1 = Base.jl_array_ptr(a)::Any
│   %2 = Base.bitcast(UInt64, %1)::UInt64
│        BBKit.restore!(a, old)::Nothing
│   %4 = Base.jl_array_ptr(a)::Any
│   %5 = Base.bitcast(UInt64, %4)::UInt64
│   %6 = Base.jl_array_ptr(b)::Any
│   %7 = Base.bitcast(UInt64, %6)::UInt64
│   %8 = (%5 === %7)::Bool
│   %9 = (%2 === %7)::Bool
└──      return %9
end
";
        let module = parse_module(text).unwrap().module;
        let ir = &module.function("f").unwrap().body;
        let mut found: Vec<(usize, bool)> = compared_addresses(&module, ir, true).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [(0, false), (3, true), (5, false)]);
        assert!(compared_addresses(&module, ir, false).values().all(|only| *only));
    }
}
