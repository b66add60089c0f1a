//! Copies, fillings and sums of stretches of arrays: what slices, `vcat` and `append!` are made of, and their
//! derivatives.
//!
//! Elements that are numbers, or consist of such, are moved as bytes. Other arrays go through the interpreter.

use cranelift_codegen::ir;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use ircode::primitives::Primitive;
use ircode::{ScalarType, Type};

use super::ArrayParts;
use super::shadows::adding;
use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Kind, Layout, Parts, array};
use crate::native::runtime::helpers::Helper;

/// Primitives that change elements of an array that are numbers, and nothing else. The first operand is the array.
pub(crate) const CHANGING: &[&str] = &["copyto!", "fill!", "fill_slice!", "add_slice!"];

/// A stretch of an array: the numbers of its first element and its last, counted from 1.
struct Stretch {
    first: ir::Value,
    last: ir::Value,
}

impl FunctionCompiler<'_, '_> {
    /// `copyto!`, `slice`, `fill!`, `fill_slice!` and `add_slice!` of arrays of one element type, and copies of whole
    /// arrays.
    pub(crate) fn slice_primitive(&mut self, name: &str, operands: &[Typed]) -> Compiled<Option<Typed>> {
        let (Some(first), Some(parts)) = (operands.first(), operands.first().and_then(|first| self.array(first)))
        else {
            return Ok(None);
        };
        if parts.element.kind != Kind::Plain {
            return Ok(None);
        }
        let done = match (name, operands) {
            ("copyto!", [_, from]) => {
                let one = self.word(1);
                let Some(source) = self.array(from) else { return Ok(None) };
                let count = self.load_word(source.header, array::LENGTH);
                self.copy_elements((first, &parts, one), (from, one), count)?
            }
            ("copyto!", [_, to_first, from, from_first, count]) => {
                match (integer(to_first), integer(from_first), integer(count)) {
                    (Some(to_first), Some(from_first), Some(count)) => {
                        self.copy_elements((first, &parts, to_first), (from, from_first), count)?
                    }
                    _ => false,
                }
            }
            ("slice", [_, from, to]) => match (integer(from), integer(to)) {
                (Some(from), Some(to)) => return self.slice(first, &parts, &Stretch { first: from, last: to }),
                _ => false,
            },
            ("fill!", [_, value]) => {
                let length = self.load_word(parts.header, array::LENGTH);
                let data = self.load_word(parts.header, array::DATA);
                self.fill_elements(&parts.element, data, length, value)
            }
            ("fill_slice!", [_, from, to, value]) => match (integer(from), integer(to)) {
                (Some(from), Some(to)) if value.layout.ty == parts.element.ty && is_filled(&parts.element) => {
                    let stretch = Stretch { first: from, last: to };
                    let (data, count) = self.stretch(first, &parts, &stretch);
                    self.fill_elements(&parts.element, data, count, value)
                }
                _ => false,
            },
            ("add_slice!", [_, from, added]) => match integer(from) {
                Some(from) => self.add_elements((first, &parts), from, added),
                None => false,
            },
            ("copy" | "jl_array_copy" | "snapshot", [_]) => return self.copy_array(first, &parts).map(Some),
            _ => false,
        };
        Ok(done.then(|| first.clone()))
    }

    /// A new array of the same elements and dimensions.
    fn copy_array(&mut self, whole: &Typed, parts: &ArrayParts) -> Compiled<Typed> {
        let (header, rank) = (parts.header, parts.rank);
        let sizes: Vec<_> = (0..rank).map(|dimension| self.dimension_word(header, rank, dimension)).collect();
        let made = self.allocate(What::NewArray { element: parts.element.clone(), rank }, &sizes)?;
        let [to, from] = [made, header].map(|header| self.load_word(header, array::DATA));
        let length = self.load_word(header, array::LENGTH);
        self.move_elements(&parts.element, to, from, length);
        Ok(Typed { layout: whole.layout.clone(), parts: Parts::from_slice(&[made]) })
    }

    /// `restore!` of an array of numbers. Where it has other dimensions now, the interpreter does it, if arrays of the
    /// program may get others; it is refused otherwise.
    pub(crate) fn restore_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let ("restore!", [whole, saved]) = (primitive.name, operands) else { return Ok(None) };
        let (Some(to), Some(from)) = (self.array(whole), self.array(saved)) else { return Ok(None) };
        if to.element.kind != Kind::Plain || whole.layout.ty != saved.layout.ty {
            return Ok(None);
        }
        let mut same: Option<ir::Value> = None;
        for dimension in 0..to.rank {
            let [a, b] = [to.header, from.header].map(|header| self.dimension_word(header, to.rank, dimension));
            let equal = self.builder.ins().icmp(IntCC::Equal, a, b);
            same = Some(same.map_or(equal, |same| self.builder.ins().band(same, equal)));
        }
        let Some(same) = same else { return Ok(None) };
        let copy = |compiler: &mut Self| {
            let [to_data, from_data] = [to.header, from.header].map(|header| compiler.load_word(header, array::DATA));
            let length = compiler.load_word(from.header, array::LENGTH);
            compiler.move_elements(&to.element, to_data, from_data, length);
            Ok(())
        };
        if to.resizes {
            self.unless(same, primitive, operands, copy)?;
        } else {
            self.guard(same, What::Refused("what restores an array to another size"), &[]);
            copy(self)?;
        }
        Ok(Some(self.unit(Type::Nothing)))
    }

    /// Copies so many elements from one array to another, or within one. False if their elements are not alike.
    fn copy_elements(
        &mut self,
        (to, to_parts, to_first): (&Typed, &ArrayParts, ir::Value),
        (from, from_first): (&Typed, ir::Value),
        count: ir::Value,
    ) -> Compiled<bool> {
        let Some(from_parts) = self.array(from).filter(|from| from.element.ty == to_parts.element.ty) else {
            return Ok(false);
        };
        let enough = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, count, 0);
        self.guard(enough, What::NegativeCount, &[count]);
        // Of nothing it does not matter where it is.
        let (some, done) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(count, some, &[], done, &[]);
        self.seal(&[some]);
        self.builder.switch_to_block(some);
        let before = self.builder.ins().iadd_imm_s(count, -1);
        let stretch = |compiler: &mut Self, first: ir::Value| {
            let last = compiler.saturating_sum(first, before);
            Stretch { first, last }
        };
        let to_stretch = stretch(self, to_first);
        let (to_data, _) = self.stretch(to, to_parts, &to_stretch);
        let from_stretch = stretch(self, from_first);
        let (from_data, count) = self.stretch(from, &from_parts, &from_stretch);
        self.move_elements(&to_parts.element, to_data, from_data, count);
        self.builder.ins().jump(done, &[]);
        self.seal(&[done]);
        self.builder.switch_to_block(done);
        Ok(true)
    }

    fn slice(&mut self, whole: &Typed, parts: &ArrayParts, stretch: &Stretch) -> Compiled<Option<Typed>> {
        let (data, count) = self.stretch(whole, parts, stretch);
        let layout = self.compiler.layouts.of(&Type::array(parts.element.ty.clone(), 1));
        let made = self.allocate(What::NewArray { element: parts.element.clone(), rank: 1 }, &[count])?;
        let to = self.load_word(made, array::DATA);
        self.move_elements(&parts.element, to, data, count);
        Ok(Some(Typed { layout, parts: Parts::from_slice(&[made]) }))
    }

    /// Where a stretch starts, as an address, and how many elements it has, once it is sure that it is part of the
    /// array. It is empty if its last element is before its first.
    fn stretch(&mut self, whole: &Typed, parts: &ArrayParts, stretch: &Stretch) -> (ir::Value, ir::Value) {
        let (first, last) = (stretch.first, stretch.last);
        let length = self.load_word(parts.header, array::LENGTH);
        let ins = self.builder.ins();
        let empty = ins.icmp(IntCC::SignedLessThan, last, first);
        let from = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, first, 1);
        let to = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, last, length);
        let inside = self.builder.ins().band(from, to);
        let fine = self.builder.ins().bor(inside, empty);
        self.guard(fine, What::Stretch { array: whole.layout.clone() }, &[parts.header, first, last]);
        let nothing = self.word(0);
        let offset = self.builder.ins().iadd_imm_s(first, -1);
        let count = self.builder.ins().isub(last, offset);
        let offset = self.builder.ins().select(empty, nothing, offset);
        let count = self.builder.ins().select(empty, nothing, count);
        let data = self.load_word(parts.header, array::DATA);
        (self.at(data, offset, &parts.element), count)
    }

    pub(super) fn move_elements(&mut self, element: &Layout, to: ir::Value, from: ir::Value, count: ir::Value) {
        let bytes = self.builder.ins().imul_imm_s(count, i64::from(element.size));
        let helper = self.compiler.helper(Helper::Move, self.builder.func);
        self.builder.ins().call(helper, &[to, from, bytes]);
    }

    /// Puts a value in the place of so many elements. False if it is not of their type.
    fn fill_elements(&mut self, element: &Layout, data: ir::Value, count: ir::Value, value: &Typed) -> bool {
        let Some(part) = value.one().filter(|_| value.layout.ty == element.ty && is_filled(element)) else {
            return false;
        };
        let bits = match self.builder.func.dfg.value_type(part) {
            clif::F64 => self.builder.ins().bitcast(clif::I64, ir::MemFlagsData::new(), part),
            clif::F32 => {
                let bits = self.builder.ins().bitcast(clif::I32, ir::MemFlagsData::new(), part);
                self.builder.ins().uextend(clif::I64, bits)
            }
            clif::I64 => part,
            _ => self.builder.ins().uextend(clif::I64, part),
        };
        let size = self.word(i64::from(element.size));
        let helper = self.compiler.helper(Helper::Fill, self.builder.func);
        self.builder.ins().call(helper, &[data, count, bits, size]);
        true
    }

    /// Adds the elements of an array to those of another from a place on. False if they are not floats of one type.
    fn add_elements(&mut self, (to, parts): (&Typed, &ArrayParts), first: ir::Value, added: &Typed) -> bool {
        let Some(source) = self.array(added).filter(|added| added.element.ty == parts.element.ty) else { return false };
        let Some(helper) = adding(&parts.element) else { return false };
        let length = self.load_word(source.header, array::LENGTH);
        let apart = self.are_apart(parts, &source);
        self.guard(apart, What::Message("ArgumentError", crate::builtins::whole_arrays::CHANGED_OPERAND), &[]);
        let before = self.builder.ins().iadd_imm_s(length, -1);
        let last = self.saturating_sum(first, before);
        let (data, count) = self.stretch(to, parts, &Stretch { first, last });
        let from = self.load_word(source.header, array::DATA);
        let helper = self.compiler.helper(helper, self.builder.func);
        self.builder.ins().call(helper, &[data, from, count]);
        true
    }

    /// The sum of two numbers, or the nearest number that there is.
    fn saturating_sum(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let (sum, overflows) = self.builder.ins().sadd_overflow(a, b);
        let sign = self.builder.ins().sshr_imm_u(a, 63);
        let largest = self.word(i64::MAX);
        let nearest = self.builder.ins().bxor(sign, largest);
        self.builder.ins().select(overflows, nearest, sum)
    }
}

/// An `Int64`.
fn integer(operand: &Typed) -> Option<ir::Value> {
    operand.one().filter(|_| operand.layout.scalar() == Some(ScalarType::Int64))
}

/// Whether elements are filled in as numbers of up to eight bytes.
fn is_filled(element: &Layout) -> bool {
    element.scalar().is_some() && element.assigned.is_none() && matches!(element.size, 1 | 2 | 4 | 8)
}
