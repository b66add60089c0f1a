//! Recursion: how deep calls nest is counted, and where the stack ends they go on with another one.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};

use super::sites::What;
use super::{Compiled, FunctionCompiler, trusted};
use crate::native::compiler::Signature;
use crate::native::layout::Parts;
use crate::native::runtime::context::offset;
use crate::native::runtime::helpers::Helper;

impl FunctionCompiler<'_, '_> {
    /// What a function does first in programs where calls may nest too deep, with its parameters as they came in.
    pub(crate) fn enter_recursion(&mut self, signature: &Signature, parameters: &[ir::Value]) -> Compiled<()> {
        if !self.counted {
            return Ok(());
        }
        if self.compiler.is_recursive(self.number) {
            self.find_room(signature, parameters)?;
        }
        let depth = self.builder.ins().load(clif::I64, trusted(), self.context, offset::DEPTH);
        let limit = self.builder.ins().load(clif::I64, trusted(), self.context, offset::DEPTH_LIMIT);
        let deeper = self.builder.ins().iadd_imm_s(depth, 1);
        self.builder.ins().store(trusted(), deeper, self.context, offset::DEPTH);
        let shallow = self.builder.ins().icmp(IntCC::UnsignedLessThan, depth, limit);
        self.guard(shallow, What::Depth, &[]);
        Ok(())
    }

    /// What it does before it returns.
    pub(crate) fn leave_recursion(&mut self) {
        if self.counted {
            let depth = self.builder.ins().load(clif::I64, trusted(), self.context, offset::DEPTH);
            let less = self.builder.ins().iadd_imm_s(depth, -1);
            self.builder.ins().store(trusted(), less, self.context, offset::DEPTH);
        }
    }

    /// Where too little is left of the stack, the function is called once more, on another one.
    fn find_room(&mut self, signature: &Signature, parameters: &[ir::Value]) -> Compiled<()> {
        let here = self.builder.ins().get_stack_pointer(clif::I64);
        let lowest = self.builder.ins().load(clif::I64, trusted(), self.context, offset::STACK_LIMIT);
        let room = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, here, lowest);
        let [on, off] = [(); 2].map(|()| self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.ins().brif(room, on, &[], off, &[]);
        self.seal(&[on, off]);
        self.builder.switch_to_block(off);
        let bytes: u32 = signature.parameters.iter().map(|layout| layout.size.next_multiple_of(16)).sum();
        let result_at = bytes;
        let slot = self.slot(bytes + 16);
        let mut rest = parameters.iter();
        let mut at = 0;
        for layout in &signature.parameters {
            for (offset, part) in layout.offsets.iter().zip(&mut rest) {
                self.builder.ins().stack_store(clif::I64, *part, slot, (at + offset) as i32);
            }
            at += layout.size.next_multiple_of(16);
        }
        let arguments = self.builder.ins().stack_addr(clif::I64, slot, 0);
        let own_result = self.builder.ins().stack_addr(clif::I64, slot, result_at as i32);
        let result = self.result_address.unwrap_or(own_result);
        let trampoline = self.compiler.entry(self.number, self.builder.func)?;
        let code = self.builder.ins().func_addr(clif::I64, trampoline);
        let helper = self.compiler.helper(Helper::Continue, self.builder.func);
        let call = self.builder.ins().call(helper, &[self.context, code, arguments, result]);
        let mut returned: Parts<ir::Value> = self.builder.inst_results(call).iter().copied().collect();
        if let [part] = self.result.parts.as_slice() {
            let part = *part;
            returned.push(self.builder.ins().stack_load(clif::I64, part, slot, result_at as i32));
        }
        self.builder.ins().return_(&returned);
        self.builder.switch_to_block(on);
        Ok(())
    }
}
