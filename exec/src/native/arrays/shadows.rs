//! Shadows of arrays: made beside their arrays, and emptied where these are filled anew.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use ircode::primitives::Primitive;
use ircode::{ScalarType, Type};

use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Layout, Parts, array};
use crate::native::runtime::helpers::Helper;

impl FunctionCompiler<'_, '_> {
    /// `zero_tangent`, `reset_shadow!` and `add_shadow!` of an array whose elements are floats and tuples of floats;
    /// what is not such goes through the interpreter.
    pub(crate) fn shadow_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
        annotated: &Type,
    ) -> Compiled<Option<Typed>> {
        if let ("add_shadow!", [shadow, other]) = (primitive.name, operands) {
            return self.add_shadow(primitive, shadow, other);
        }
        let (("zero_tangent" | "reset_shadow!", [array]) | ("zero_tangent", [array, _])) = (primitive.name, operands)
        else {
            return Ok(None);
        };
        let Some(parts) = self.array(array).filter(|parts| is_of_floats(&parts.element)) else { return Ok(None) };
        if primitive.name == "zero_tangent" {
            // What is made is an array of the same type, where its elements are their own tangents.
            if *annotated != array.layout.ty {
                return Ok(None);
            }
            let (header, element, rank) = (parts.header, parts.element, parts.rank);
            let sizes: Vec<_> = (0..rank).map(|dimension| self.dimension_word(header, rank, dimension)).collect();
            let made = self.allocate(What::NewArray { element, rank }, &sizes)?;
            return Ok(Some(Typed { layout: array.layout.clone(), parts: Parts::from_slice(&[made]) }));
        }
        let length = self.header_word(&parts, array::LENGTH);
        let bytes = self.builder.ins().imul_imm_s(length, i64::from(parts.element.size));
        let data = self.header_word(&parts, array::DATA);
        let helper = self.compiler.helper(Helper::Zero, self.builder.func);
        self.builder.ins().call(helper, &[data, bytes]);
        Ok(Some(self.unit(Type::Nothing)))
    }

    /// `add_shadow!` of two arrays of floats. Where they are one, or not of one length, the interpreter does it.
    fn add_shadow(&mut self, primitive: &'static Primitive, shadow: &Typed, other: &Typed) -> Compiled<Option<Typed>> {
        let (Some(to), Some(from)) = (self.array(shadow), self.array(other)) else { return Ok(None) };
        let Some(helper) = adding(&to.element).filter(|_| from.element.ty == to.element.ty) else { return Ok(None) };
        let [own, others] = [&to, &from].map(|array| self.header_word(array, array::LENGTH));
        let apart = self.are_apart(&to, &from);
        let alike = self.builder.ins().icmp(IntCC::Equal, own, others);
        let fine = self.builder.ins().band(apart, alike);
        self.unless(fine, primitive, &[shadow.clone(), other.clone()], |compiler| {
            let [data, added] = [&to, &from].map(|array| compiler.header_word(array, array::DATA));
            let helper = compiler.compiler.helper(helper, compiler.builder.func);
            compiler.builder.ins().call(helper, &[data, added, own]);
            Ok(())
        })?;
        Ok(Some(self.unit(Type::Nothing)))
    }
}

/// The helper that adds such elements to others; `None` if they are no floats.
pub(crate) fn adding(element: &Layout) -> Option<Helper> {
    match element.scalar()? {
        ScalarType::Float64 => Some(Helper::AddFloats),
        ScalarType::Float32 => Some(Helper::AddSingles),
        _ => None,
    }
}

/// Whether an element is floats and nothing else, so that one whose bytes are zero is zeros.
fn is_of_floats(element: &Layout) -> bool {
    let is_float = |part: &_| matches!(*part, clif::F32 | clif::F64);
    !element.parts.is_empty() && element.assigned.is_none() && element.parts.iter().all(is_float)
}
