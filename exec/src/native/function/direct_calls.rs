//! Calls of functions of the module, by machine code or left to the interpreter.

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::Type;

use super::sites::{What, Work};
use super::{Compiled, FunctionCompiler, Typed};
use crate::native::compiler::call_graph::never_returns;
use crate::native::layout::Parts;
use crate::native::runtime::helpers::Helper;

impl FunctionCompiler<'_, '_> {
    /// Lets the interpreter run a function of the module.
    fn call_interpreted(&mut self, function: usize, arguments: &[Typed], ends: bool) -> Compiled<Typed> {
        let ends = ends || self.module.functions().get(function).is_none_or(never_returns);
        let result = match ends {
            true => self.compiler.layouts.of(&Type::Nothing),
            false => self.compiler.signature(function)?.result.clone(),
        };
        if !ends && self.mixes_objects(arguments, &result) && !self.makes_what_nobody_catches() {
            return self.refuse("a call that the interpreter runs, of objects and of values of unknown type,");
        }
        self.interpret(Work::Function(function), arguments, result)
    }

    /// Calls a function of the module.
    pub(crate) fn call(&mut self, function: usize, arguments: Vec<Typed>) -> Compiled<Typed> {
        self.call_as(function, arguments, false)
    }

    /// Calls a function of the module, of which may be known that it does not return with these arguments.
    pub(crate) fn call_as(&mut self, function: usize, mut arguments: Vec<Typed>, ends: bool) -> Compiled<Typed> {
        if self.compiler.interpreted.contains(&function) {
            return self.call_interpreted(function, &arguments, ends);
        }
        let signature = self.compiler.signature(function)?;
        let (parameters, result, varargs) = (signature.parameters.clone(), signature.result.clone(), signature.varargs);
        let given = arguments.clone();
        if let (true, Some(fixed)) = (varargs, parameters.len().checked_sub(1))
            && arguments.len() >= fixed
        {
            let collected = arguments.split_off(fixed);
            arguments.push(self.tuple(&collected)?);
        }
        if parameters.len() != arguments.len() {
            return self.refuse("a call with another number of arguments");
        }
        let mut operands: Vec<ir::Value> = vec![self.context];
        let slot = (result.parts.len() > 1).then(|| self.slot(result.size));
        if let Some(slot) = slot {
            operands.push(self.builder.ins().stack_addr(clif::I64, slot, 0));
        }
        let pairs = arguments.into_iter().zip(&parameters);
        let converted: Compiled<Vec<Typed>> = pairs.map(|(argument, layout)| self.convert(argument, layout)).collect();
        match converted {
            Ok(converted) => operands.extend(converted.into_iter().flat_map(|argument| argument.parts)),
            // An object that is given where the function says nothing of the type.
            Err(_) if self.makes_what_nobody_catches() => return self.call_interpreted(function, &given, ends),
            Err(refusal) => return Err(refusal),
        }
        let callee = self.compiler.callee(function, self.builder.func)?;
        let call = self.builder.ins().call(callee, &operands);
        let results = self.builder.inst_results(call).to_vec();
        let Some((&status, rest)) = results.split_first() else { return self.refuse("a call without a result") };
        let (on, off) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.ins().brif(status, off, &[], on, &[]);
        self.seal(&[on, off]);
        self.builder.switch_to_block(off);
        let site = self.site(What::Call);
        let pass = self.compiler.helper(Helper::PassThrough, self.builder.func);
        self.builder.ins().call(pass, &[self.context, site]);
        self.builder.ins().jump(self.unwinding, &[]);
        self.builder.switch_to_block(on);
        let parts = match slot {
            Some(slot) => {
                let fields = result.parts.iter().zip(&result.offsets);
                fields
                    .map(|(part, offset)| self.builder.ins().stack_load(clif::I64, *part, slot, *offset as i32))
                    .collect()
            }
            None => Parts::from_slice(rest),
        };
        Ok(Typed { layout: result, parts })
    }
}
