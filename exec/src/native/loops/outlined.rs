//! Loops as they are written in functions of their own, where all rounds are done by turns: what is left to them are
//! rounds that fail, and arrays that share memory. So they are compiled with little effort, in a fraction of the time.
//!
//! Such a function finds what it needs from around the loop in memory of its caller, and leaves there what is needed
//! behind it and by which way the loop was left (outlining, as in LLVM's `CodeExtractor`). It is compiled by the
//! compiler of the function around it, so that errors name the same places and values have the same layouts.

use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, StackSlotData, StackSlotKind};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use cranelift_module::{FuncId, Module as _};
use hashbrown::{HashMap, HashSet};
use ircode::{IRCode, Operand, PhiEntry, Positions, Stmt};

use crate::native::arrays::stacks::LocalStack;
use crate::native::function::phis::successors;
use crate::native::function::variables::Held;
use crate::native::function::{Compiled, FunctionCompiler, trusted};

/// At most this many loops of a function are compiled as functions of their own.
pub(crate) const MOST: usize = 8;

/// Where a function of its own is made.
pub(crate) struct Spare {
    pub(crate) context: CodegenContext,
    frontend: FunctionBuilderContext,
}

impl Spare {
    pub(crate) fn new() -> Spare {
        Spare { context: CodegenContext::new(), frontend: FunctionBuilderContext::new() }
    }
}

/// The bytes from one value in memory to the next.
const SLOT: i32 = 16;

/// What goes into a loop and comes out of it.
#[derive(Debug)]
struct Boundary {
    /// The blocks to which control leaves the loop.
    exits: Vec<usize>,
    into: Vec<Variable>,
    out: Vec<Variable>,
}

impl Boundary {
    /// Where a variable lies in memory: behind the number of the exit.
    fn places(variables: &[Variable]) -> impl Iterator<Item = (Variable, i32)> {
        variables.iter().enumerate().map(|(number, variable)| (*variable, SLOT * (number as i32 + 1)))
    }

    fn bytes(&self) -> u32 {
        SLOT as u32 * (self.into.len().max(self.out.len()) as u32 + 1)
    }
}

impl<'f> FunctionCompiler<'_, 'f> {
    /// Compiles a loop as it is written into a function of its own, and the header as a call of that, if its rounds are
    /// done elsewhere. Says whether it did.
    pub(crate) fn outline(&mut self, ir: &IRCode, number: usize) -> Compiled<bool> {
        let Some(versioned) = self.loops.get(number).filter(|versioned| versioned.is_rarely_as_written()) else {
            return Ok(false);
        };
        let (blocks, header) = (versioned.counted.blocks.clone(), versioned.counted.header);
        let exits = self.exits_of(ir, &blocks);
        let Some(as_written) = self.block(header).filter(|_| !self.handlers.are_there() && !exits.is_empty()) else {
            return Ok(false);
        };
        let Some(spare) = self.spares.next() else { return Ok(false) };
        let mut abi = self.compiler.jit.make_signature();
        // What lives around the loop stays in registers.
        abi.call_conv = CallConv::PreserveAll;
        abi.params.extend([AbiParam::new(clif::I64); 2]);
        let id = self.compiler.jit.declare_anonymous_function(&abi);
        let Ok(id) = id else { return self.refuse("a loop of its own") };
        spare.context.func.signature = abi;
        self.builder.switch_to_block(as_written);
        let boundary = self.compile_outlined(ir, spare, number, exits)?;
        self.outlined.push(id);
        self.outlined_blocks.extend(blocks);
        self.call_outlined(id, &boundary, header)?;
        Ok(true)
    }

    /// The blocks outside of a loop to which control leaves it.
    fn exits_of(&self, ir: &IRCode, blocks: &[usize]) -> Vec<usize> {
        let mut exits: Vec<usize> = blocks.iter().flat_map(|block| successors(ir, *block)).collect();
        exits.retain(|to| !blocks.contains(to));
        exits.sort_unstable();
        exits.dedup();
        exits
    }

    /// The variables that hold what a loop uses from around it, where what it uses is put if it is in none.
    fn taken_into(&mut self, ir: &IRCode, blocks: &[usize], header: usize, exits: &[usize]) -> Vec<Variable> {
        let range = |block: &usize| ir.cfg.blocks.get(*block).map(|block| block.stmts.clone()).unwrap_or_default();
        let inside: HashSet<usize> = blocks.iter().flat_map(range).collect();
        let mut into = Vec::new();
        let mut take = |operand: &Operand<Positions>| match operand {
            Operand::Value(value) => {
                let Some(index) = value.index().filter(|index| !inside.contains(index)) else { return };
                into.extend(self.local_stacks.get(&index).copied().flatten().iter().flat_map(LocalStack::variables));
                if let Some(mut held) = self.held(index) {
                    into.extend(self.in_variables(&mut held));
                    self.set_held(index, held);
                }
            }
            Operand::Argument(argument) => {
                let Some(mut held) = argument.index().and_then(|index| self.arguments.get_mut(index)?.take()) else {
                    return;
                };
                into.extend(self.in_variables(&mut held));
                if let Some(slot) = argument.index().and_then(|index| self.arguments.get_mut(index)) {
                    *slot = Some(held);
                }
            }
            _ => {}
        };
        for statement in blocks.iter().chain(exits).flat_map(range) {
            match ir.stmts.stmts().get(statement) {
                Some(Stmt::Phi(phi)) => {
                    let inner =
                        |entry: &&PhiEntry<Positions>| entry.edge.index().is_some_and(|from| blocks.contains(&from));
                    phi.entries.iter().filter(inner).filter_map(|entry| entry.value.as_ref()).for_each(&mut take);
                }
                Some(stmt) if inside.contains(&statement) => stmt.for_each_operand(&mut take),
                _ => {}
            }
        }
        let phis = range(&header).filter_map(|phi| self.values.get(phi)).flatten();
        into.extend(phis.flat_map(Held::all));
        // An exit may be the header of a loop around this one, whose φs live on if another exit is taken.
        let of_exits = exits.iter().flat_map(range).filter_map(|phi| self.values.get(phi)).flatten();
        into.extend(of_exits.flat_map(Held::all));
        into.extend(self.scopes.marks_around(header));
        once_each(into)
    }

    /// The variables that hold what is used behind a loop, when it has been compiled.
    fn given_out(&self, ir: &IRCode, number: usize, into: &[Variable], exits: &[usize]) -> Vec<Variable> {
        let range = |block: &usize| ir.cfg.blocks.get(*block).map(|block| block.stmts.clone()).unwrap_or_default();
        let is_phi = |index: &usize| matches!(ir.stmts.stmts().get(*index), Some(Stmt::Phi(_)));
        let behind = self.loops.get(number).map(|versioned| versioned.counted.behind.clone()).unwrap_or_default();
        let values = behind.into_iter().chain(exits.iter().flat_map(range).filter(is_phi));
        let mut out: Vec<Variable> =
            values.filter_map(|index| self.values.get(index)).flatten().flat_map(Held::all).collect();
        let stacks = self.local_stacks.values().flatten().flat_map(LocalStack::variables);
        out.extend(stacks.filter(|variable| into.contains(variable)));
        out.extend(exits.iter().filter_map(|exit| self.scopes.mark_of(*exit)));
        once_each(out)
    }

    /// Compiles the blocks of a loop into a function of their own.
    fn compile_outlined(
        &mut self,
        ir: &IRCode,
        spare: &'f mut Spare,
        number: usize,
        exits: Vec<usize>,
    ) -> Compiled<Boundary> {
        let Some(counted) = self.loops.get(number).map(|versioned| &versioned.counted) else {
            return self.refuse("a loop that is not there");
        };
        let (blocks, header) = (counted.blocks.clone(), counted.header);
        let into = self.taken_into(ir, &blocks, header, &exits);
        let mut builder = FunctionBuilder::new(&mut spare.context.func, &mut spare.frontend);
        // The same variables have the same numbers in both.
        for part in &self.variable_types {
            builder.declare_var(*part);
        }
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let &[context, frame] = builder.block_params(entry) else { return self.refuse("a loop without parameters") };
        let failed = builder.create_block();
        builder.set_cold_block(failed);
        let mut places = vec![None; ir.cfg.blocks.len()];
        for block in blocks.iter().chain(&exits) {
            if let Some(place) = places.get_mut(*block) {
                *place = Some(builder.create_block());
            }
        }
        let known = self.variable_types.len();
        self.outlining = true;
        let around = Around {
            builder: std::mem::replace(&mut self.builder, builder),
            context: std::mem::replace(&mut self.context, context),
            blocks: std::mem::replace(&mut self.blocks, places),
            failed: std::mem::replace(&mut self.failed, failed),
            slots: std::mem::take(&mut self.slots),
            exits: std::mem::take(&mut self.exits),
            called: std::mem::take(&mut self.compiler.called),
            // Functions of mathematics are called.
            written: std::mem::replace(&mut self.written, usize::MAX),
        };
        for (variable, place) in Boundary::places(&into) {
            let part = self.type_of(variable);
            let value = self.builder.ins().load(part, trusted(), frame, place);
            self.write_variable(variable, value);
        }
        if let Some(header) = self.block(header) {
            self.builder.ins().jump(header, &[]);
        }
        for &block in &blocks {
            if let Some(place) = self.block(block) {
                self.builder.switch_to_block(place);
                self.compile_block(ir, block)?;
            }
        }
        let out = self.given_out(ir, number, &into, &exits);
        for (number, exit) in exits.iter().enumerate() {
            let Some(place) = self.block(*exit) else { continue };
            self.builder.switch_to_block(place);
            for (variable, place) in Boundary::places(&out) {
                let value = self.read_variable(variable);
                self.builder.ins().store(trusted(), value, frame, place);
            }
            self.leave_outlined(frame, number as i64 + 1);
        }
        self.builder.switch_to_block(failed);
        self.leave_outlined(frame, 0);
        self.builder.seal_all_blocks();
        let config = self.compiler.target();
        let finished = std::mem::replace(&mut self.builder, around.builder);
        finished.finalize(config);
        (self.context, self.blocks, self.failed) = (around.context, around.blocks, around.failed);
        (self.slots, self.exits, self.compiler.called) = (around.slots, around.exits, around.called);
        self.written = around.written;
        self.outlining = false;
        for part in self.variable_types.iter().skip(known) {
            self.builder.declare_var(*part);
        }
        Ok(Boundary { exits, into, out })
    }

    /// Returns from a function that is a loop, with the number of the exit, or 0 where it has failed.
    fn leave_outlined(&mut self, frame: ir::Value, exit: i64) {
        let exit = self.builder.ins().iconst(clif::I64, exit);
        self.builder.ins().store(trusted(), exit, frame, 0);
        self.builder.ins().return_(&[]);
    }

    /// Calls a function that is a loop, and goes on where the loop was left.
    fn call_outlined(&mut self, id: FuncId, boundary: &Boundary, header: usize) -> Compiled<()> {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, boundary.bytes(), 4);
        let slot = self.builder.create_sized_stack_slot(slot);
        for (variable, place) in Boundary::places(&boundary.into) {
            let value = self.read_variable(variable);
            self.builder.ins().stack_store(clif::I64, value, slot, place);
        }
        let frame = self.builder.ins().stack_addr(clif::I64, slot, 0);
        let callee = self.compiler.reference(id, self.builder.func);
        self.builder.ins().call(callee, &[self.context, frame]);
        let left_by = self.builder.ins().stack_load(clif::I64, clif::I64, slot, 0);
        for (variable, place) in Boundary::places(&boundary.out) {
            let part = self.type_of(variable);
            let value = self.builder.ins().stack_load(clif::I64, part, slot, place);
            self.write_variable(variable, value);
        }
        let mut ways = Switch::new();
        for (number, exit) in boundary.exits.iter().enumerate() {
            let Some(block) = self.block(*exit) else { return self.refuse("a jump to a block that is not there") };
            ways.set_entry(number as u128 + 1, block);
        }
        let failed = self.unwinding_from(header);
        ways.emit(&mut self.builder, left_by, failed);
        Ok(())
    }
}

fn once_each(mut variables: Vec<Variable>) -> Vec<Variable> {
    variables.sort_unstable_by_key(|variable| variable.as_u32());
    variables.dedup();
    variables
}

/// What belongs to the function around a loop, while the loop is compiled into one of its own.
struct Around<'f> {
    builder: FunctionBuilder<'f>,
    context: ir::Value,
    blocks: Vec<Option<ir::Block>>,
    failed: ir::Block,
    slots: HashMap<u32, ir::StackSlot>,
    exits: HashMap<(ir::Block, usize), ir::Block>,
    called: HashMap<FuncId, ir::FuncRef>,
    written: usize,
}
