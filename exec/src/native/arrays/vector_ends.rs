//! Vectors that grow and shrink at their end, as `push!`, `append!` and `pop!` of Julia's library do.

use cranelift_codegen::ir;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use ircode::primitives::Primitive;
use ircode::{ScalarType, Type};

use super::ArrayParts;
use crate::native::function::sites::Work;
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Kind, Shape, array};
use crate::native::runtime::helpers::Helper;

/// Longer by as many elements no vector becomes: the interpreter says so.
const MOST: i64 = 1 << 40;

impl FunctionCompiler<'_, '_> {
    /// `jl_array_grow_end`, `jl_array_del_end` and `jl_array_sizehint` of a vector of numbers.
    pub(crate) fn vector_end_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let [vector, count] = operands else { return Ok(None) };
        let is_word = matches!(count.layout.scalar(), Some(ScalarType::Int64 | ScalarType::UInt64));
        let (Shape::Array(_, 1), Some(count)) = (&vector.layout.shape, count.one().filter(|_| is_word)) else {
            return Ok(None);
        };
        let Some(parts) = self.array(vector).filter(|parts| {
            parts.element.kind == Kind::Plain && (parts.resizes || primitive.name == "jl_array_sizehint")
        }) else {
            return Ok(None);
        };
        let length = self.load_word(parts.header, array::LENGTH);
        match primitive.name {
            "jl_array_sizehint" => {}
            "jl_array_grow_end" => {
                let fine = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, count, MOST);
                self.unless(fine, primitive, operands, |compiler| compiler.grow_end(&parts, length, count))?;
            }
            "jl_array_del_end" => {
                let fine = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, count, length);
                self.unless(fine, primitive, operands, |compiler| {
                    let left = compiler.builder.ins().isub(length, count);
                    compiler.set_length(&parts, left);
                    Ok(())
                })?;
            }
            _ => return Ok(None),
        }
        Ok(Some(self.unit(Type::Nothing)))
    }

    /// Does this where it is fine, and else lets the interpreter do what the primitive does.
    pub(crate) fn unless(
        &mut self,
        fine: ir::Value,
        primitive: &'static Primitive,
        operands: &[Typed],
        done_natively: impl FnOnce(&mut Self) -> Compiled<()>,
    ) -> Compiled<()> {
        let [natively, otherwise, done] = [(); 3].map(|()| self.builder.create_block());
        self.builder.set_cold_block(otherwise);
        self.builder.ins().brif(fine, natively, &[], otherwise, &[]);
        self.seal(&[natively, otherwise]);
        self.builder.switch_to_block(otherwise);
        let unit = self.compiler.layouts.of(&Type::Nothing);
        self.interpret_seldom(Work::Primitive(primitive), operands, unit)?;
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(natively);
        done_natively(self)?;
        self.builder.ins().jump(done, &[]);
        self.seal(&[done]);
        self.builder.switch_to_block(done);
        Ok(())
    }

    /// New elements are zeros, or not assigned.
    fn grow_end(&mut self, parts: &ArrayParts, length: ir::Value, count: ir::Value) -> Compiled<()> {
        let longer = self.builder.ins().iadd(length, count);
        let room = self.load_word(parts.header, array::CAPACITY);
        self.where_full(longer, room, |this| this.grow(parts.header, longer, parts.element.size, false))?;
        let data = self.load_word(parts.header, array::DATA);
        let first = self.at(data, length, &parts.element);
        let bytes = self.builder.ins().imul_imm_s(count, i64::from(parts.element.size));
        let helper = self.compiler.helper(Helper::Zero, self.builder.func);
        self.builder.ins().call(helper, &[first, bytes]);
        self.set_length(parts, longer);
        Ok(())
    }

    fn set_length(&mut self, parts: &ArrayParts, length: ir::Value) {
        for at in [array::LENGTH, array::dimension(0)] {
            self.builder.ins().store(crate::native::function::trusted(), length, parts.header, at);
        }
    }
}
