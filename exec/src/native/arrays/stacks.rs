//! Stacks, on which derivatives save values: as arrays that grow.
//!
//! Of a stack that the function makes and gives to nobody, the address of the values, their number and the room for
//! them are variables, which Cranelift keeps in registers through loops; its header is written only when it grows.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use hashbrown::HashSet;
use ircode::primitives::{MemoryEffect, Primitive};
use ircode::{Constant, IRCode, Module, Operand, Positions, ScalarType, Stmt, Type};

use crate::native::compiler::preserving::Preserving;
use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed, trusted};
use crate::native::layout::{Layout, Layouts, Parts, Shape, array};

/// Where a function makes more stacks than this, none is in variables: there are not so many registers, and all that is
/// alive costs time to compile in all blocks.
const MOST: usize = 64;

/// A stack that nobody else knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalStack {
    data: Variable,
    length: Variable,
    room: Variable,
}

impl LocalStack {
    pub(crate) fn variables(&self) -> [Variable; 3] {
        [self.data, self.length, self.room]
    }
}

/// The statements that make stacks on which nothing but operations on stacks work, in this function; those that are the
/// interpreter's left aside.
pub(crate) fn local_stacks(module: &Module<IRCode>, ir: &IRCode, layouts: &mut Layouts) -> HashSet<usize> {
    let primitive = |stmt: &Stmt<Positions>| module.primitive_call(stmt).map(|(primitive, _)| primitive);
    let mut makes = |stmt: &Stmt<Positions>| match module.primitive_call(stmt) {
        Some((primitive, [Operand::Constant(Constant::Type(element))])) if primitive.name == "new_stack" => {
            matches!(layouts.of(&Type::stack((**element).clone())).shape, Shape::Stack(_))
        }
        _ => false,
    };
    let made = ir.stmts.stmts().iter().enumerate().filter(|(_, stmt)| makes(stmt));
    let mut local: HashSet<usize> = made.map(|(index, _)| index).collect();
    if local.is_empty() {
        return local;
    }
    for stmt in ir.stmts.stmts() {
        let operates = primitive(stmt).is_some_and(|primitive| primitive.memory == MemoryEffect::Stack);
        let mut first = operates;
        stmt.for_each_operand(&mut |operand| {
            if let Operand::Value(value) = operand
                && let Some(index) = value.index()
                && !first
            {
                local.remove(&index);
            }
            // The callee is an operand, too, but no value.
            first &= !matches!(operand, Operand::Value(_));
        });
    }
    if local.len() > MOST {
        local.clear();
    }
    local
}

/// Where the words of a stack are found.
#[derive(Clone, Copy)]
struct Stack {
    header: ir::Value,
    local: Option<LocalStack>,
}

impl FunctionCompiler<'_, '_> {
    pub(crate) fn stack_primitive(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        if primitive.name == "new_stack" {
            return self.new_stack(operands);
        }
        let Some((stack, rest)) = operands.split_first() else { return Ok(None) };
        let Shape::Stack(element) = &stack.layout.shape else { return Ok(None) };
        let (element, Some(header)) = (self.compiler.layouts.of(element), stack.one()) else { return Ok(None) };
        let made_here = match args.first() {
            Some(Operand::Value(value)) => value.index(),
            _ => None,
        };
        let local = made_here.and_then(|made| self.local_stacks.get(&made).copied().flatten());
        let words = Stack { header, local };
        let done = match (primitive.name, rest) {
            ("stack_push!", [value]) => {
                let value = self.convert(value.clone(), &element)?;
                self.push_on_stack(words, &value)?;
                Some(self.unit(Type::Nothing))
            }
            ("stack_empty!", []) => {
                let zero = self.word(0);
                self.set_stack_length(words, zero);
                Some(self.unit(Type::Nothing))
            }
            ("stack_length", []) => {
                let length = self.stack_length(words);
                Some(self.scalar(ScalarType::Int64, length))
            }
            ("stack_get", [at]) => {
                let place = self.stack_place(stack, words, &element, at);
                place.map(|(address, behind)| self.load_value(&element, address, behind))
            }
            ("stack_set!", [value, at]) => {
                let value = self.convert(value.clone(), &element)?;
                match self.stack_place(stack, words, &element, at) {
                    Some((address, behind)) => {
                        self.store_value(&value, address, behind);
                        Some(self.unit(Type::Nothing))
                    }
                    None => None,
                }
            }
            ("stack_pop!", []) => {
                let length = self.stack_length(words);
                let shorter = self.builder.ins().iadd_imm_s(length, -1);
                let some = self.builder.ins().icmp_imm_s(IntCC::NotEqual, length, 0);
                self.guard(some, What::Message("ArgumentError", "a stack that is empty has no last element"), &[]);
                self.set_stack_length(words, shorter);
                let data = self.stack_data(words);
                let address = self.at(data, shorter, &element);
                Some(self.load_value(&element, address, 0))
            }
            _ => None,
        };
        if done.is_none() && local.is_some() {
            // Nobody else sees the length of a local stack.
            return self.refuse(format!("`{}` of such operands", primitive.name));
        }
        Ok(done)
    }

    fn new_stack(&mut self, operands: &[Typed]) -> Compiled<Option<Typed>> {
        let [element] = operands else { return Ok(None) };
        let Type::TypeOf(element) = &element.layout.ty else { return Ok(None) };
        let layout = self.compiler.layouts.of(&Type::stack((**element).clone()));
        if !matches!(layout.shape, Shape::Stack(_)) {
            return Ok(None);
        }
        let element = self.compiler.layouts.of(element);
        let hint = self.compiler.new_hint();
        let made = self.allocate(What::NewStack { element, hint }, &[])?;
        if let Some(known) = self.local_stacks.get(&self.statement).copied() {
            let mut declare = || self.variable(clif::I64);
            // In another version of a loop it has variables already.
            let local = known.unwrap_or_else(|| LocalStack { data: declare(), length: declare(), room: declare() });
            self.local_stacks.insert(self.statement, Some(local));
            let zero = self.builder.ins().iconst(clif::I64, 0);
            self.write_variable(local.length, zero);
            self.reload(made, local);
        }
        Ok(Some(Typed { layout, parts: Parts::from_slice(&[made]) }))
    }

    /// Reads from the header of a local stack what changes when it grows.
    fn reload(&mut self, header: ir::Value, local: LocalStack) {
        let data = self.load_word(header, array::DATA);
        self.write_variable(local.data, data);
        let room = self.load_word(header, array::CAPACITY);
        self.write_variable(local.room, room);
    }

    fn stack_length(&mut self, stack: Stack) -> ir::Value {
        match stack.local {
            Some(local) => self.read_variable(local.length),
            None => self.load_word(stack.header, array::LENGTH),
        }
    }

    fn set_stack_length(&mut self, stack: Stack, length: ir::Value) {
        match stack.local {
            Some(local) => self.write_variable(local.length, length),
            None => {
                self.builder.ins().store(trusted(), length, stack.header, array::LENGTH);
            }
        }
    }

    fn stack_data(&mut self, stack: Stack) -> ir::Value {
        match stack.local {
            Some(local) => self.read_variable(local.data),
            None => self.load_word(stack.header, array::DATA),
        }
    }

    /// The address of the values of a local stack, and their number.
    pub(crate) fn stack_words(&mut self, stack: &Operand<Positions>) -> Option<(ir::Value, ir::Value)> {
        let Operand::Value(made) = stack else { return None };
        let local = self.local_stacks.get(&made.index()?).copied().flatten()?;
        Some((self.read_variable(local.data), self.read_variable(local.length)))
    }

    /// So many values were put on a local stack, behind the others.
    pub(crate) fn lengthen_stack(&mut self, stack: &Operand<Positions>, by: i64) {
        let Operand::Value(made) = stack else { return };
        let local = made.index().and_then(|made| self.local_stacks.get(&made)).copied().flatten();
        if let Some(local) = local {
            let length = self.read_variable(local.length);
            let longer = self.builder.ins().iadd_imm_s(length, by);
            self.write_variable(local.length, longer);
        }
    }

    /// Gives the local stack that a statement made room for so many values more, or goes on elsewhere if that is more
    /// than there is.
    pub(crate) fn make_room_on(&mut self, made: usize, more: ir::Value, otherwise: ir::Block) -> Compiled<()> {
        let Some(local) = self.local_stacks.get(&made).copied().flatten() else {
            return self.refuse("a stack that is not there");
        };
        let Some((header, bytes)) = self.stack_header(made) else { return self.refuse("a stack that is not there") };
        let length = self.read_variable(local.length);
        let room = self.read_variable(local.room);
        let least = self.builder.ins().iadd(length, more);
        self.where_full(least, room, |this| {
            this.builder.ins().store(trusted(), length, header, array::LENGTH);
            let short = this.ask_for_room(header, least, What::Grow { bytes, stack: true, ahead: true })?;
            this.reload(header, local);
            let on = this.builder.create_block();
            this.builder.ins().brif(short, otherwise, &[], on, &[]);
            this.seal(&[on]);
            this.builder.switch_to_block(on);
            Ok(())
        })
    }

    fn push_on_stack(&mut self, stack: Stack, value: &Typed) -> Compiled<()> {
        let length = self.stack_length(stack);
        if self.has_room() {
            let data = self.stack_data(stack);
            let address = self.at(data, length, &value.layout);
            self.store_value(value, address, 0);
            let longer = self.builder.ins().iadd_imm_s(length, 1);
            self.set_stack_length(stack, longer);
            return Ok(());
        }
        let room = match stack.local {
            Some(local) => self.read_variable(local.room),
            None => self.load_word(stack.header, array::CAPACITY),
        };
        let longer = self.builder.ins().iadd_imm_s(length, 1);
        self.where_full(longer, room, |this| {
            this.builder.ins().store(trusted(), length, stack.header, array::LENGTH);
            this.grow(stack.header, longer, value.layout.size, true)?;
            if let Some(local) = stack.local {
                this.reload(stack.header, local);
            }
            Ok(())
        })?;
        let data = self.stack_data(stack);
        let address = self.at(data, length, &value.layout);
        self.store_value(value, address, 0);
        self.set_stack_length(stack, longer);
        Ok(())
    }

    /// Makes room in a vector or on a stack for at least so many values of so many bytes each, and leaves all registers
    /// as they are.
    pub(crate) fn grow(&mut self, header: ir::Value, least: ir::Value, bytes: u32, stack: bool) -> Compiled<()> {
        // Where there is no more memory, the call has failed.
        let short = self.ask_for_room(header, least, What::Grow { bytes, stack, ahead: false })?;
        self.check(short);
        Ok(())
    }

    /// Asks for room for at least so many values, and leaves all registers as they are. Gives whether there still is
    /// less.
    fn ask_for_room(&mut self, header: ir::Value, least: ir::Value, what: What) -> Compiled<ir::Value> {
        let site = self.site(what);
        let grower = self.compiler.preserving(Preserving::Grow, self.builder.func)?;
        self.builder.ins().call(grower, &[self.context, site, header, least]);
        let room = self.load_word(header, array::CAPACITY);
        Ok(self.builder.ins().icmp(IntCC::UnsignedLessThan, room, least))
    }

    /// Where the value at this number, counted from 1, lies in a stack: an address, and how far behind it.
    fn stack_place(
        &mut self,
        stack: &Typed,
        words: Stack,
        element: &Arc<Layout>,
        at: &Typed,
    ) -> Option<(ir::Value, i32)> {
        let (Some(ScalarType::Int64), Some(at)) = (at.layout.scalar(), at.one()) else { return None };
        if let Some(data) = self.unchecked_data() {
            return Some((self.at(data, at, element), -(element.size as i32)));
        }
        let offset = self.builder.ins().iadd_imm_s(at, -1);
        let length = self.stack_length(words);
        let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, offset, length);
        let (on, off) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.ins().brif(inside, on, &[], off, &[]);
        self.seal(&[on, off]);
        self.builder.switch_to_block(off);
        // The error shows the stack.
        self.builder.ins().store(trusted(), length, words.header, array::LENGTH);
        self.fail(What::Bounds { array: stack.layout.clone(), indices: 1 }, &[words.header, at]);
        self.builder.switch_to_block(on);
        let data = self.stack_data(words);
        Some((self.at(data, offset, element), 0))
    }
}
