//! Calls that hardly any round of a loop makes, and that leave all registers as they are: with the usual convention,
//! numbers that live around such a call would lie on the stack in every round.

use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, MemFlagsData, Signature as Abi};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module as _};

use super::Compiler;
use crate::native::function::{Compiled, Refusal};
use crate::native::runtime::helpers::Helper;

/// What is called so. It gives no result, which would be in a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Preserving {
    /// Lets a stack or a vector grow; its header says what came of it.
    Grow,
    /// A function of mathematics, of a number; what it gives is put at an address.
    Function(&'static str),
}

impl Compiler {
    /// A function that calls another and leaves all registers as they are, to be called by the one that is being
    /// compiled.
    pub(crate) fn preserving(&mut self, what: Preserving, caller: &mut ir::Function) -> Compiled<ir::FuncRef> {
        let id = match self.preserving.get(&what) {
            Some(id) => *id,
            None => {
                let name = match what {
                    Preserving::Grow => "grow_and_preserve".to_owned(),
                    Preserving::Function(name) => format!("{name}_and_preserve"),
                };
                let abi = self.preserving_abi(what);
                let id = self.jit.declare_function(&name, Linkage::Local, &abi);
                let id = id.map_err(|error| Refusal { statement: None, what: error.to_string() })?;
                self.preserving.insert(what, id);
                id
            }
        };
        Ok(self.reference(id, caller))
    }

    fn preserving_abi(&self, what: Preserving) -> Abi {
        let mut abi = self.jit.make_signature();
        abi.call_conv = CallConv::PreserveAll;
        match what {
            Preserving::Grow => abi.params.extend([clif::I64, clif::I32, clif::I64, clif::I64].map(AbiParam::new)),
            Preserving::Function(_) => abi.params.extend([clif::F64, clif::I64].map(AbiParam::new)),
        }
        abi
    }

    /// The functions that were called so, to be compiled when all others are.
    pub(crate) fn all_preserving(&self) -> Vec<(Preserving, FuncId)> {
        let mut all: Vec<(Preserving, FuncId)> = self.preserving.iter().map(|(what, id)| (*what, *id)).collect();
        all.sort_unstable_by_key(|(_, id)| *id);
        all
    }

    pub(crate) fn compile_preserving(
        &mut self,
        what: Preserving,
        context: &mut CodegenContext,
        frontend: &mut FunctionBuilderContext,
    ) {
        context.func.signature = self.preserving_abi(what);
        self.called.clear();
        let mut builder = FunctionBuilder::new(&mut context.func, frontend);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let operands = builder.block_params(block).to_vec();
        match (what, operands.as_slice()) {
            (Preserving::Function(name), [x, address]) => {
                let callee = self.math(name, builder.func);
                let call = builder.ins().call(callee, &[*x]);
                if let Some(result) = builder.inst_results(call).first().copied() {
                    builder.ins().store(MemFlagsData::trusted(), result, *address, 0);
                }
            }
            _ => {
                let helper = self.helper(Helper::Grow, builder.func);
                builder.ins().call(helper, &operands);
            }
        }
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        let config = self.jit.target_config();
        builder.finalize(config);
    }
}
