//! Modules made machine code: which functions, how they call one another, and the memory of the code.

pub(super) mod call_graph;
pub(super) mod code;
pub(super) mod lifted;
pub(super) mod preserving;
pub(super) mod read_only;
pub(super) mod stack;

use std::sync::Arc;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, MemFlagsData, Signature as Abi};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_codegen::{CodegenError, Context as CodegenContext};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module as _, ModuleError, ModuleReloc, default_libcall_names};
use hashbrown::{HashMap, HashSet};
use ircode::{Callee, Check, Head, IRCode, Module, Positions, Stmt, Type, Violation};

use super::arrays::resized::Resized;
use super::effort::Effort;
use super::function::scopes::Summarized;
use super::function::sites::{Site, What, Work};
use super::function::statement::made_type;
use super::function::{Compiled, FunctionCompiler, Refusal};
use super::layout::{Layout, Layouts, Parts};
use super::loops::outlined::{self, Spare};
use super::runtime::context::Shared;
use super::runtime::helpers::{Helper, HelperSignature, math_symbol, single_math_symbol, symbols};
use super::values::cells::closures_made;
use super::values::constants::Constants;
use super::values::globals::Global;
use crate::limits::Limits;
use call_graph::{ANY_VALUE, Calls, INTERPRETED, callees_first, enters_a_handler, never_returns};
use code::Code;
use lifted::Lifted;
use preserving::Preserving;
use read_only::Changed;

/// What a function takes and gives.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// From `_2` on.
    pub(crate) parameters: Vec<Arc<Layout>>,
    /// Whether the last parameter is a tuple of all that is passed from there on.
    pub(crate) varargs: bool,
    pub(crate) result: Arc<Layout>,
}

/// What is known while a module is being compiled.
pub(crate) struct Compiler {
    pub(crate) module: Arc<Module<IRCode>>,
    pub(crate) layouts: Layouts,
    /// The functions that can be called as values.
    pub(crate) callable: HashSet<usize>,
    /// The functions that the interpreter runs.
    pub(crate) interpreted: HashSet<usize>,
    pub(crate) jit: Code,
    signatures: HashMap<usize, Signature>,
    functions: HashMap<usize, FuncId>,
    /// What is declared of the helpers and the functions of mathematics, by name.
    helpers: HashMap<Helper, FuncId>,
    mathematics: HashMap<String, FuncId>,
    /// Why one of these could not be declared.
    undeclared: Option<String>,
    /// What is called by functions that leave all registers as they are.
    pub(crate) preserving: HashMap<Preserving, FuncId>,
    /// What the function that is being compiled calls.
    pub(crate) called: HashMap<FuncId, ir::FuncRef>,
    /// Whether functions count how deep calls nest.
    counted: bool,
    /// The functions that may call themselves, directly or not.
    recursive: HashSet<usize>,
    /// The functions that may run while nothing says that the run is about to fail, if that was looked for.
    warm: HashSet<usize>,
    resized: Arc<Resized>,
    shifts: bool,
    catches: bool,
    /// The types of which objects are made without all of their fields.
    pub(crate) incomplete: HashSet<Type>,
    pub(crate) constants: Constants,
    /// The global arrays and objects that the code uses.
    pub(crate) globals: Vec<Global>,
    effort: Effort,
    pub(crate) sites: Vec<Site>,
    hints: usize,
    /// What the functions do to objects, if memory is to be given back before a call is over.
    pub(crate) summarized: Option<Summarized>,
}

/// A function that can be called from outside.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The address of its trampoline: of the context, the address of the arguments, and that for the result.
    pub(crate) address: usize,
    pub(crate) signature: Signature,
    /// By argument, `_2` first: whether the function does nothing but read it.
    pub(crate) reads_only: Vec<bool>,
}

/// What is ready to run.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Held for as long as the entries may be called.
    _code: Code,
    pub(crate) shared: Arc<Shared>,
    pub(crate) entries: Vec<Entry>,
    /// The bytes of the stack that it may need, or between two recursive calls.
    pub(crate) stack: u64,
    /// The bytes of machine code.
    pub(crate) bytes: usize,
    /// What the interpreter runs of it, and why.
    pub(crate) interpreted: Vec<Rejected>,
}

/// Why a module is not compiled: the function, the statement, and what about it.
#[derive(Clone, Debug)]
pub(crate) struct Rejected {
    pub(crate) function: usize,
    pub(crate) refusal: Refusal,
}

impl Rejected {
    /// A function that is not compiled as a whole.
    fn of(function: usize, what: String) -> Self {
        Rejected { function, refusal: Refusal { statement: None, what } }
    }
}

/// Where functions are compiled, one after the other, and what is used again for the next.
struct Bench {
    context: CodegenContext,
    frontend: FunctionBuilderContext,
    /// For loops that are functions of their own.
    spares: Vec<Spare>,
    /// The bytes of machine code so far.
    bytes: usize,
}

impl Compiler {
    /// Compiles the functions of these numbers, and all that they call.
    ///
    /// What may be called as a value is compiled too, unless it cannot be. What is called only where the run is about
    /// to fail is left to the interpreter if nobody catches the error, or if it cannot be compiled.
    pub(crate) fn run(
        lifted: &Lifted,
        entries: &[usize],
        limits: Limits,
        effort: Effort,
    ) -> Result<Finished, Rejected> {
        let module = lifted.module.clone();
        let mut excluded = HashSet::new();
        let mut reasons: Vec<Rejected> = Vec::new();
        // The interpreter has the functions of the program only.
        let runs = |function: &usize| lifted.original(*function) == *function;
        let mut calls = Calls::of(&module, entries, &excluded, &HashSet::new());
        let mut interpreted: HashSet<usize> = calls.cold_callees(&module).into_iter().filter(runs).collect();
        if !interpreted.is_empty() {
            calls = Calls::of(&module, entries, &excluded, &interpreted);
        }
        loop {
            let by_value: HashSet<usize> =
                calls.escaping.iter().copied().filter(|function| calls.by_value.contains(function)).collect();
            match Self::run_on(module.clone(), entries, &calls, limits, effort) {
                Ok(finished) => return Ok(Finished { interpreted: reasons, ..finished }),
                Err(rejected) => {
                    let cold = calls.cold_callees_that_reach(&module, rejected.function);
                    if !cold.is_empty() && cold.iter().all(runs) && reasons.len() < MOST_INTERPRETED {
                        interpreted.extend(cold);
                        reasons.push(rejected);
                    } else if by_value.contains(&rejected.function) && excluded.len() < MOST_EXCLUDED {
                        excluded.insert(rejected.function);
                    } else {
                        return Err(rejected);
                    }
                    calls = Calls::of(&module, entries, &excluded, &interpreted);
                }
            }
        }
    }

    /// Refuses code that is not valid: what Cranelift makes of it could be anything.
    fn verify(module: &Module<IRCode>, calls: &Calls) -> Result<(), Rejected> {
        for &function in &calls.reached {
            if module.functions().get(function).is_some_and(|function| !function.body.new_nodes.is_empty()) {
                let what = "code with pending nodes, which is to be compacted first,".into();
                return Err(Rejected::of(function, what));
            }
            let verified = module.functions().get(function).map(|function| function.body.verify());
            // What types terminators have does not matter here, and inlining keeps those of the program.
            let is_wrong = |violation: &&Violation<Positions>| violation.check != Check::TerminatorType;
            if let Some(Err(violations)) = verified
                && violations.0.iter().any(|violation| is_wrong(&violation))
            {
                let first = violations.0.iter().find(is_wrong);
                let statement = first.and_then(|violation| violation.statement?.index());
                let what = format!("code that is not valid ({})", first.map(ToString::to_string).unwrap_or_default());
                return Err(Rejected { function, refusal: Refusal { statement, what } });
            }
        }
        Ok(())
    }

    fn run_on(
        module: Arc<Module<IRCode>>,
        entries: &[usize],
        calls: &Calls,
        limits: Limits,
        effort: Effort,
    ) -> Result<Finished, Rejected> {
        Self::verify(&module, calls)?;
        match Self::run_as(module.clone(), entries, calls, limits, effort, true)? {
            Some(finished) => Ok(finished),
            None => match Self::run_as(module, entries, calls, limits, effort, false)? {
                Some(finished) => Ok(finished),
                None => {
                    let first = entries.first().copied().unwrap_or(0);
                    Err(Rejected::of(first, "code that is not what its types say".into()))
                }
            },
        }
    }

    /// Compiles, with code that gives memory back in time or without; `None` if what was concluded for that has turned
    /// out to be wrong.
    fn run_as(
        module: Arc<Module<IRCode>>,
        entries: &[usize],
        calls: &Calls,
        limits: Limits,
        effort: Effort,
        gives_back: bool,
    ) -> Result<Option<Finished>, Rejected> {
        let first = entries.first().copied().unwrap_or(0);
        let mut compiler = Self::new(module, calls, limits, effort).map_err(|what| Rejected::of(first, what))?;
        if gives_back {
            compiler.summarized = Some(compiler.summarize(&calls.called));
        }
        let mut bench = Bench {
            context: compiler.jit.make_context(),
            frontend: FunctionBuilderContext::new(),
            spares: (0..outlined::MOST).map(|_| Spare::new()).collect(),
            bytes: 0,
        };
        let mut frames: HashMap<usize, u64> = [(ANY_VALUE, stack::VALUE_CALL), (INTERPRETED, stack::VALUE_CALL)].into();
        for &number in &calls.reached {
            frames.insert(number, compiler.compile_function(number, &mut bench)?);
        }
        if compiler.summarized.as_ref().is_some_and(|summarized| summarized.surprised) {
            return Ok(None);
        }
        for (what, id) in compiler.all_preserving() {
            compiler.compile_preserving(what, &mut bench.context, &mut bench.frontend);
            compiler.finish(id, &mut bench).map_err(|what| Rejected::of(first, what))?;
        }
        // The entries first, then what may be called as a value.
        let values = calls.escaping.iter().filter(|number| !entries.contains(number));
        let callable: Vec<usize> = entries.iter().chain(values).copied().collect();
        for &number in calls.reached.iter().filter(|number| calls.recursive.contains(*number)) {
            if !callable.contains(&number) {
                compiler.compile_trampoline(number, &mut bench)?;
            }
        }
        let mut trampolines = Vec::with_capacity(callable.len());
        for &number in &callable {
            trampolines.push(compiler.compile_trampoline(number, &mut bench)?);
        }
        compiler.keep_globals_of_interpreted().map_err(|(function, ty)| {
            let what = format!("a global constant of the type {ty}, in a function that is left to the interpreter,");
            Rejected::of(function, what)
        })?;
        if let Some(error) = compiler.undeclared.take() {
            return Err(Rejected::of(first, error));
        }
        compiler.jit.finalize_definitions().map_err(|error| Rejected::of(first, error.to_string()))?;
        let changed = Changed::of(&compiler.module, &calls.reached);
        let mut made = Vec::with_capacity(callable.len());
        for (&number, id) in callable.iter().zip(trampolines) {
            made.push(compiler.callable_entry(number, id, &changed)?);
        }
        let stack = stack::need(&calls.called, &calls.recursive, &frames).bytes;
        let by_number = callable.iter().copied().zip(made.iter().cloned()).collect();
        made.truncate(entries.len());
        Ok(Some(compiler.finished(made, by_number, limits, stack, bench.bytes)))
    }

    /// Ready to compile the functions that calls reach.
    fn new(module: Arc<Module<IRCode>>, calls: &Calls, limits: Limits, effort: Effort) -> Result<Self, String> {
        let reached = || calls.reached.iter().filter_map(|&number| module.functions().get(number));
        let largest = reached().map(|function| function.body.stmts.len()).max().unwrap_or(0);
        let mut builder = JITBuilder::with_isa(effort.isa(largest)?, default_libcall_names());
        for (name, address) in symbols() {
            builder.symbol(name, address);
        }
        // The interpreter goes on counting where native code was.
        let counted = !calls.recursive.is_empty()
            || !calls.interpreted.is_empty()
            || stack::need(&calls.called, &calls.recursive, &HashMap::new()).calls > limits.depth;
        Ok(Compiler {
            layouts: Layouts::new(module.clone(), Arc::new(closures_made(&module, &calls.reached))),
            callable: calls.escaping.iter().copied().collect(),
            interpreted: calls.interpreted.clone(),
            jit: Code::new(JITModule::new(builder)),
            signatures: HashMap::new(),
            functions: HashMap::new(),
            helpers: HashMap::new(),
            mathematics: HashMap::new(),
            undeclared: None,
            preserving: HashMap::new(),
            called: HashMap::new(),
            counted,
            recursive: calls.recursive.clone(),
            warm: calls.warm.clone(),
            resized: Arc::new(calls.resized.clone()),
            shifts: calls.shifts,
            catches: reached().any(enters_a_handler),
            effort,
            sites: Vec::new(),
            incomplete: incomplete_types(&module, &calls.reached),
            constants: Constants::default(),
            globals: Vec::new(),
            hints: 0,
            summarized: None,
            module,
        })
    }

    /// Compiles a function, and the loops that are functions of their own. Gives the bytes of the stack that a call
    /// takes.
    fn compile_function(&mut self, number: usize, bench: &mut Bench) -> Result<u64, Rejected> {
        let refused = |refusal| Rejected { function: number, refusal };
        self.called.clear();
        let abi = self.abi(number).map_err(refused)?;
        let id = self.declare(number).map_err(refused)?;
        bench.context.func.signature = abi;
        let builder = FunctionBuilder::new(&mut bench.context.func, &mut bench.frontend);
        let outlined = FunctionCompiler::run(self, builder, &mut bench.spares, number).map_err(refused)?;
        let frame = self.finish(id, bench).map_err(|what| Rejected::of(number, what))?;
        let mut below = 0;
        for (id, spare) in outlined.into_iter().zip(&mut bench.spares) {
            let (size, frame) = self.finish_soon(id, &mut spare.context).map_err(|what| Rejected::of(number, what))?;
            bench.bytes += size;
            below = below.max(frame + stack::CALL);
        }
        Ok(frame + below)
    }

    /// Compiles what a function is called through from outside.
    fn compile_trampoline(&mut self, number: usize, bench: &mut Bench) -> Result<FuncId, Rejected> {
        let made = self.trampoline(number, &mut bench.context, &mut bench.frontend);
        let id = made.map_err(|refusal| Rejected { function: number, refusal })?;
        self.finish(id, bench).map_err(|what| Rejected::of(number, what))?;
        Ok(id)
    }

    /// A function that can be called through this trampoline, whose code is where it stays.
    fn callable_entry(&mut self, number: usize, trampoline: FuncId, changed: &Changed) -> Result<Entry, Rejected> {
        let signature = self.signature(number).map_err(|refusal| Rejected { function: number, refusal })?.clone();
        let count = signature.parameters.len();
        Ok(Entry {
            address: self.jit.get_finalized_function(trampoline) as usize,
            signature,
            reads_only: (0..count).map(|argument| !changed.is_changed(number, argument)).collect(),
        })
    }

    fn finished(
        self,
        entries: Vec<Entry>,
        callable: HashMap<usize, Entry>,
        limits: Limits,
        stack: u64,
        bytes: usize,
    ) -> Finished {
        let asks = |site: &Site| match &site.what {
            What::Interpreted(interpreted) => matches!(interpreted.work, Work::TheException { .. }),
            _ => false,
        };
        let shared = Shared {
            looks_at_exceptions: self.sites.iter().any(asks),
            closures: self.layouts.closures(),
            module: self.module,
            sites: self.sites,
            constants: self.constants,
            globals: self.globals,
            hints: self.hints,
            callable,
            resized: self.resized,
            incomplete: self.incomplete,
            limits,
        };
        Finished { entries, shared: Arc::new(shared), stack, _code: self.jit, bytes, interpreted: Vec::new() }
    }

    /// What the functions do to objects: those first that call no others. What calls itself is not known.
    fn summarize(&mut self, called: &HashMap<usize, Vec<usize>>) -> Summarized {
        let module = self.module.clone();
        let mut summarized = Summarized::default();
        for number in self.interpreted.clone() {
            if let (Some(function), Ok(signature)) = (module.functions().get(number), self.signature(number).cloned()) {
                summarized.add_interpreted(&module, number, never_returns(function), &signature);
            }
        }
        for number in callees_first(called) {
            if let (Some(function), Ok(signature)) = (module.functions().get(number), self.signature(number).cloned()) {
                summarized.add(&module, number, &function.body, &mut self.layouts, &signature);
            }
        }
        summarized
    }

    /// Compiles what is in the context; gives the bytes of its code, and of its frame on the stack.
    fn finish(&mut self, id: FuncId, bench: &mut Bench) -> Result<u64, String> {
        self.jit.define_function(id, &mut bench.context).map_err(|error| match error {
            ModuleError::Compilation(error) => shown(error),
            other => other.to_string(),
        })?;
        let (bytes, frame) = self.measured(&mut bench.context);
        bench.bytes += bytes;
        Ok(frame)
    }

    /// As [`Compiler::finish`], with little effort.
    fn finish_soon(&mut self, id: FuncId, context: &mut CodegenContext) -> Result<(usize, u64), String> {
        let isa = Effort::Quick.isa(0)?;
        context.compile(&*isa, &mut ControlPlane::default()).map_err(|error| shown(error.inner))?;
        let Some(code) = context.compiled_code() else { return Err("no code".into()) };
        let (bytes, alignment) = (code.code_buffer().to_vec(), u64::from(code.buffer.alignment));
        let relocations = code.buffer.relocs().iter();
        let relocations: Vec<ModuleReloc> =
            relocations.map(|reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id)).collect();
        let defined = self.jit.define_function_bytes(id, alignment, &bytes, &relocations);
        defined.map_err(|error| error.to_string())?;
        Ok(self.measured(context))
    }

    /// The bytes of the code in the context, and of its frame on the stack. Clears the context.
    fn measured(&mut self, context: &mut CodegenContext) -> (usize, u64) {
        let code = context.compiled_code();
        let bytes = code.map_or(0, |code| code.code_buffer().len());
        // Where the frame is not known, more than any call has.
        let frame = code.map_or(0, |code| match code.buffer.frame_layout() {
            Some(frame) => u64::from(frame.frame_to_fp_offset),
            None => u64::from(u32::MAX),
        });
        self.jit.clear_context(context);
        (bytes, frame)
    }

    pub(crate) fn target(&self) -> TargetFrontendConfig {
        self.jit.target_config()
    }

    /// What a function takes and gives.
    pub(crate) fn signature(&mut self, number: usize) -> Compiled<&Signature> {
        if !self.signatures.contains_key(&number) {
            let module = self.module.clone();
            let refuse = |what: &str| Refusal { statement: None, what: what.into() };
            let Some(function) = module.functions().get(number) else {
                return Err(refuse("a function that is not there"));
            };
            if function.body.argtypes.is_empty() {
                return Err(refuse("a function that does not say what it takes"));
            }
            let parameters = self.layouts.parameters(number).iter().map(|ty| self.layouts.of(ty)).collect();
            let result = self.layouts.of(&result_type(function));
            self.signatures.insert(number, Signature { parameters, varargs: function.varargs, result });
        }
        match self.signatures.get(&number) {
            Some(signature) => Ok(signature),
            None => Err(Refusal { statement: None, what: "a function that is not there".into() }),
        }
    }

    /// How a function is called.
    fn abi(&mut self, number: usize) -> Compiled<Abi> {
        let signature = self.signature(number)?.clone();
        let mut abi = self.jit.make_signature();
        abi.params.push(AbiParam::new(clif::I64));
        if signature.result.parts.len() > 1 {
            abi.params.push(AbiParam::new(clif::I64));
        }
        for layout in &signature.parameters {
            abi.params.extend(layout.parts.iter().map(|part| AbiParam::new(*part)));
        }
        abi.returns.push(AbiParam::new(clif::I8));
        if let [part] = signature.result.parts.as_slice() {
            abi.returns.push(AbiParam::new(*part));
        }
        Ok(abi)
    }

    fn declare(&mut self, number: usize) -> Compiled<FuncId> {
        if let Some(known) = self.functions.get(&number) {
            return Ok(*known);
        }
        let abi = self.abi(number)?;
        let id = self.jit.declare_function(&format!("function_{number}"), Linkage::Local, &abi);
        let id = id.map_err(|error| Refusal { statement: None, what: error.to_string() })?;
        self.functions.insert(number, id);
        Ok(id)
    }

    /// A function of the module, to be called by the one that is being compiled.
    pub(crate) fn callee(&mut self, number: usize, caller: &mut ir::Function) -> Compiled<ir::FuncRef> {
        let id = self.declare(number)?;
        Ok(self.reference(id, caller))
    }

    /// What is declared, to be called by the function that is being compiled.
    pub(crate) fn reference(&mut self, id: FuncId, caller: &mut ir::Function) -> ir::FuncRef {
        *self.called.entry(id).or_insert_with(|| self.jit.declare_func_in_func(id, caller))
    }

    /// A helper, to be called by the function that is being compiled.
    pub(crate) fn helper(&mut self, helper: Helper, caller: &mut ir::Function) -> ir::FuncRef {
        let id = match self.helpers.get(&helper) {
            Some(id) => *id,
            None => {
                let id = self.import(&helper.symbol(), helper.signature());
                self.helpers.insert(helper, id);
                id
            }
        };
        self.reference(id, caller)
    }

    /// A function of a `Float64`, by the primitive that it computes.
    pub(crate) fn math(&mut self, primitive: &str, caller: &mut ir::Function) -> ir::FuncRef {
        self.mathematics(math_symbol(primitive), clif::F64, caller)
    }

    /// The same of a `Float32`.
    pub(crate) fn single_math(&mut self, primitive: &str, caller: &mut ir::Function) -> ir::FuncRef {
        self.mathematics(single_math_symbol(primitive), clif::F32, caller)
    }

    fn mathematics(&mut self, symbol: String, float: ir::Type, caller: &mut ir::Function) -> ir::FuncRef {
        let id = match self.mathematics.get(&symbol) {
            Some(id) => *id,
            None => {
                let id = self.import(&symbol, (&[float], Some(float)));
                self.mathematics.insert(symbol, id);
                id
            }
        };
        self.reference(id, caller)
    }

    fn import(&mut self, symbol: &str, (operands, result): HelperSignature<'_>) -> FuncId {
        let mut abi = self.jit.make_signature();
        abi.params.extend(operands.iter().map(|part| AbiParam::new(*part)));
        abi.returns.extend(result.map(AbiParam::new));
        self.jit.declare_function(symbol, Linkage::Import, &abi).unwrap_or_else(|error| {
            // Nothing of the program is kept then, whatever stands in the place of the helper.
            self.undeclared.get_or_insert(error.to_string());
            FuncId::from_u32(0)
        })
    }

    fn entry_abi(&self) -> Abi {
        let mut abi = self.jit.make_signature();
        abi.params.extend([AbiParam::new(clif::I64); 3]);
        abi.returns.push(AbiParam::new(clif::I8));
        abi
    }

    fn declare_entry(&mut self, number: usize, abi: &Abi) -> Compiled<FuncId> {
        let id = self.jit.declare_function(&format!("entry_{number}"), Linkage::Export, abi);
        id.map_err(|error| Refusal { statement: None, what: error.to_string() })
    }

    /// The [trampoline](Self::trampoline) of a recursive function, for the function that is being compiled.
    pub(crate) fn entry(&mut self, number: usize, caller: &mut ir::Function) -> Compiled<ir::FuncRef> {
        let abi = self.entry_abi();
        let id = self.declare_entry(number, &abi)?;
        Ok(self.reference(id, caller))
    }

    /// What callers outside of native code call: it takes the arguments from memory and puts the result there.
    fn trampoline(
        &mut self,
        number: usize,
        context: &mut CodegenContext,
        frontend: &mut FunctionBuilderContext,
    ) -> Compiled<FuncId> {
        let signature = self.signature(number)?.clone();
        let abi = self.entry_abi();
        let id = self.declare_entry(number, &abi)?;
        context.func.signature = abi;
        self.called.clear();
        let mut builder = FunctionBuilder::new(&mut context.func, frontend);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let &[state, arguments, result] = builder.block_params(block) else {
            return Err(Refusal { statement: None, what: "a trampoline without parameters".into() });
        };
        let mut operands = vec![state];
        if signature.result.parts.len() > 1 {
            operands.push(result);
        }
        let mut at = 0;
        for layout in &signature.parameters {
            for (part, offset) in layout.parts.iter().zip(&layout.offsets) {
                operands.push(builder.ins().load(*part, MemFlagsData::trusted(), arguments, (at + offset) as i32));
            }
            at += layout.size.next_multiple_of(16);
        }
        let callee = self.callee(number, builder.func)?;
        let call = builder.ins().call(callee, &operands);
        let results: Parts<ir::Value> = builder.inst_results(call).iter().copied().collect();
        if let &[_, part] = results.as_slice() {
            builder.ins().store(MemFlagsData::trusted(), part, result, 0);
        }
        builder.ins().return_(results.get(..1).unwrap_or_default());
        builder.seal_all_blocks();
        let config = self.jit.target_config();
        builder.finalize(config);
        Ok(id)
    }

    /// Adds a site, and gives its number.
    pub(crate) fn add_site(&mut self, function: usize, statement: usize, what: What) -> u32 {
        self.sites.push(Site { function, statement, what });
        self.sites.len() as u32 - 1
    }

    /// A number under which a stack remembers how long it became.
    pub(crate) fn new_hint(&mut self) -> usize {
        self.hints += 1;
        self.hints - 1
    }

    /// Whether functions count how deep calls nest: all of them, if some call themselves.
    pub(crate) fn counts_calls(&self) -> bool {
        self.counted
    }

    /// Whether a function is only called where a run is about to fail.
    pub(crate) fn runs_seldom(&self, number: usize) -> bool {
        !self.warm.is_empty() && !self.warm.contains(&number)
    }

    /// Whether a function may call itself, directly or not.
    pub(crate) fn is_recursive(&self, number: usize) -> bool {
        self.recursive.contains(&number)
    }

    /// Whether loops are compiled in several versions.
    pub(crate) fn makes_versions(&self) -> bool {
        self.effort == Effort::Full
    }

    /// The arrays that may grow or shrink.
    pub(crate) fn resized(&self) -> &Arc<Resized> {
        &self.resized
    }

    /// Whether something may catch an exception.
    pub(crate) fn catches(&self) -> bool {
        self.catches
    }

    /// Whether it may do so at the front.
    pub(crate) fn shifts(&self) -> bool {
        self.shifts
    }
}

/// At most this many functions that may be called as values are left out if they cannot be compiled.
const MOST_EXCLUDED: usize = 8;

/// At most this often functions that cannot be compiled are left to the interpreter.
const MOST_INTERPRETED: usize = 64;

fn shown(error: CodegenError) -> String {
    match error {
        CodegenError::Verifier(errors) => errors.to_string(),
        other => other.to_string(),
    }
}

/// The types of which these functions make objects without all of their fields.
fn incomplete_types(module: &Module<IRCode>, functions: &[usize]) -> HashSet<Type> {
    let functions = functions.iter().filter_map(|&number| module.functions().get(number));
    let statements =
        functions.flat_map(|function| function.body.stmts.stmts().iter().map(|stmt| (&function.body, stmt)));
    module.incomplete_types(statements.filter_map(|(body, stmt)| match (stmt, module.called(stmt)) {
        (Stmt::Expr(expr), _) if expr.head == Head::New => {
            let (ty, fields) = expr.args.split_first()?;
            Some((made_type(module, body, ty), fields.len()))
        }
        (stmt, Some(Callee::Type(ty))) => Some((Some(ty), stmt.as_call()?.1.len())),
        _ => None,
    }))
}

/// The type of what a function returns.
fn result_type(function: &ircode::Function<IRCode>) -> Type {
    let declared = function.result.widened().unwrap_or_else(|| function.result.clone());
    if !declared.is_unknown() {
        return declared;
    }
    let ir = &function.body;
    let returned = ir.stmts.stmts().iter().filter_map(|stmt| match stmt {
        Stmt::Return(ret) => ret.value.as_ref(),
        _ => None,
    });
    let types = returned.map(|value| {
        let ty = ir.operand_type(value);
        let ty = ty.widened().unwrap_or(ty);
        if ty.is_unknown() { Type::Any } else { ty }
    });
    match Type::union(types) {
        Type::Bottom => Type::Nothing,
        one => one,
    }
}
