//! Shadows of arrays, which are emptied where their arrays are filled anew.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::types as clif;
use ircode::Type;
use ircode::primitives::Primitive;

use super::function::{Compiled, FunctionCompiler, Typed};
use super::helpers::ZERO;
use super::layout::{Layout, Shape, array};

impl FunctionCompiler<'_, '_> {
    /// `reset_shadow!` of an array whose elements are floats and tuples of floats; what is not such goes through the interpreter.
    pub(super) fn shadow_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let ("reset_shadow!", [shadow]) = (primitive.name, operands) else { return Ok(None) };
        let (Shape::Array(element, _), Some(header)) = (&shadow.layout.shape, shadow.one()) else { return Ok(None) };
        let element = self.compiler.layouts.element(element);
        if !is_of_floats(&element) {
            return Ok(None);
        }
        let length = self.header_word(header, array::LENGTH);
        let bytes = self.builder.ins().imul_imm_s(length, i64::from(element.size));
        let data = self.header_word(header, array::DATA);
        let helper = self.compiler.helper(ZERO, self.builder.func);
        self.builder.ins().call(helper, &[data, bytes]);
        Ok(Some(self.unit(Type::Nothing)))
    }
}

/// Whether an element is floats and nothing else, so that one whose bytes are zero is zeros.
fn is_of_floats(element: &Layout) -> bool {
    let is_float = |part: &_| matches!(*part, clif::F32 | clif::F64);
    !element.parts.is_empty() && element.assigned.is_none() && element.parts.iter().all(is_float)
}
