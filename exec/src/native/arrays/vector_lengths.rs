//! Vectors that grow and shrink, at their ends and in the middle, as `push!`, `popfirst!`, `insert!` and others of
//! Julia's library make them.

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
    /// `jl_array_grow_end`, `jl_array_del_end` and the like of a vector of numbers, and `jl_array_sizehint`.
    pub(crate) fn vector_length_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let (vector, at, count) = match operands {
            [vector, count] => (vector, None, count),
            [vector, at, count] => (vector, Some(at), count),
            _ => return Ok(None),
        };
        let word = |value: &Typed| {
            let is_word = matches!(value.layout.scalar(), Some(ScalarType::Int64 | ScalarType::UInt64));
            value.one().filter(|_| is_word)
        };
        let (Shape::Array(_, 1), Some(count)) = (&vector.layout.shape, word(count)) else { return Ok(None) };
        let Some(parts) = self.array(vector).filter(|parts| {
            parts.element.kind == Kind::Plain && (parts.resizes || primitive.name == "jl_array_sizehint")
        }) else {
            return Ok(None);
        };
        let length = self.load_word(parts.header, array::LENGTH);
        // Where elements come or go, counted from 0; nothing where the last ones go, as none stand behind them.
        let place = match (primitive.name, at) {
            ("jl_array_sizehint", None) => return Ok(Some(self.unit(Type::Nothing))),
            ("jl_array_grow_end", None) => Some(length),
            ("jl_array_del_end", None) => None,
            ("jl_array_grow_beg" | "jl_array_del_beg", None) => Some(self.word(0)),
            ("jl_array_grow_at" | "jl_array_del_at", Some(at)) => match word(at) {
                Some(at) => Some(at),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let is_inside = |compiler: &mut Self, place: ir::Value| {
            compiler.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, place, length)
        };
        if primitive.name.starts_with("jl_array_grow") {
            let place = place.unwrap_or(length);
            let few = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, count, MOST);
            let inside = is_inside(self, place);
            let fine = self.builder.ins().band(few, inside);
            self.unless(fine, primitive, operands, |compiler| compiler.grow_at(&parts, length, place, count))?;
        } else {
            let behind = match place {
                Some(place) => self.builder.ins().isub(length, place),
                None => length,
            };
            let enough = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, count, behind);
            let inside = place.map_or(enough, |place| is_inside(self, place));
            let fine = self.builder.ins().band(enough, inside);
            self.unless(fine, primitive, operands, |compiler| {
                compiler.delete_at(&parts, length, place, count);
                Ok(())
            })?;
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

    /// New elements at this place, which are zeros, or not assigned; those that were there stand behind them.
    fn grow_at(&mut self, parts: &ArrayParts, length: ir::Value, place: ir::Value, count: ir::Value) -> Compiled<()> {
        let longer = self.builder.ins().iadd(length, count);
        let room = self.load_word(parts.header, array::CAPACITY);
        self.where_full(longer, room, |this| this.grow(parts.header, longer, parts.element.size, false))?;
        let data = self.load_word(parts.header, array::DATA);
        let first = self.at(data, place, &parts.element);
        if place != length {
            let end = self.builder.ins().iadd(place, count);
            let to = self.at(data, end, &parts.element);
            let behind = self.builder.ins().isub(length, place);
            self.move_elements(&parts.element, to, first, behind);
        }
        let bytes = self.builder.ins().imul_imm_s(count, i64::from(parts.element.size));
        let helper = self.compiler.helper(Helper::Zero, self.builder.func);
        self.builder.ins().call(helper, &[first, bytes]);
        self.set_length(parts, longer);
        Ok(())
    }

    /// Takes out as many elements from this place on, or the last ones.
    fn delete_at(&mut self, parts: &ArrayParts, length: ir::Value, place: Option<ir::Value>, count: ir::Value) {
        let left = self.builder.ins().isub(length, count);
        if let Some(place) = place {
            let data = self.load_word(parts.header, array::DATA);
            let end = self.builder.ins().iadd(place, count);
            let (to, from) = (self.at(data, place, &parts.element), self.at(data, end, &parts.element));
            let behind = self.builder.ins().isub(left, place);
            self.move_elements(&parts.element, to, from, behind);
        }
        self.set_length(parts, left);
    }

    fn set_length(&mut self, parts: &ArrayParts, length: ir::Value) {
        for at in [array::LENGTH, array::dimension(0)] {
            self.builder.ins().store(crate::native::function::trusted(), length, parts.header, at);
        }
    }
}
