//! A function of IRCode made machine code: its blocks, its φs, and how it returns.
//!
//! Every part of a value is a variable of Cranelift's frontend, which makes SSA form of it; a φ is assigned on the
//! edges that lead to it. Blocks are visited in reverse postorder, so that what a statement uses is known before it.
//!
//! A function takes the context, the address for its result if that has several parts, and the parts of its arguments
//! from `_2` on. It returns whether it failed, and its result if that is one part.

pub(super) mod calls;
pub(super) mod decided;
mod direct_calls;
mod escapes;
pub(super) mod handlers;
pub(super) mod named_edges;
pub(super) mod phis;
mod recursion;
pub(super) mod scopes;
pub(super) mod sites;
pub(super) mod statement;
pub(super) mod variables;

use std::sync::Arc;

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::FuncId;
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, GlobalRef, Head, IRCode, Module, Operand, Positions, Scalar, ScalarType, Stmt, Type};

use super::arrays::stacks::{LocalStack, local_stacks};
use super::compiler::Compiler;
use super::compiler::call_graph::failing_blocks;
use super::layout::{Layout, Parts, Shape};
use super::loops::outlined::Spare;
use super::loops::versions::{Version, VersionedLoop};
use super::loops::{counted_loops, flow_graph};
use super::runtime::helpers::Helper;
use super::values::unions::covering_member;
use crate::constants::global_value;
use crate::phi_edges::PhiEdges;
use crate::shown_objects::shown_struct;
use crate::value::Value;
use decided::deciding;
use handlers::{Handlers, ends_block, enters_handlers};
use phis::{after_block, compile_order, completed, open_phis, phi_type};
use scopes::Scopes;
use sites::{Interpreted, What, Work};
pub(crate) use variables::Typed;
use variables::{Frame, Held};

/// Why a function is not compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The statement, counted from 0.
    pub(crate) statement: Option<usize>,
    pub(crate) what: String,
}

pub(crate) type Compiled<T> = Result<T, Refusal>;

/// What is known while a function is being compiled.
pub(crate) struct FunctionCompiler<'c, 'f> {
    pub(crate) compiler: &'c mut Compiler,
    pub(crate) builder: FunctionBuilder<'f>,
    pub(crate) module: Arc<Module<IRCode>>,
    /// The number of the function in its module.
    pub(crate) number: usize,
    /// The statement that is being compiled.
    pub(crate) statement: usize,
    pub(crate) context: ir::Value,
    pub(crate) result: Arc<Layout>,
    pub(crate) result_address: Option<ir::Value>,
    pub(crate) values: Vec<Option<Held>>,
    pub(crate) arguments: Vec<Option<Held>>,
    frame: Frame,
    /// By statement, whether it is used behind a loop that it is in and of which there are several versions.
    pub(crate) of_several: Vec<bool>,
    /// Whether the builder is that of a loop that becomes a function of its own.
    pub(crate) outlining: bool,
    pub(crate) blocks: Vec<Option<ir::Block>>,
    /// By block, whether it is only reached where a run is about to fail.
    seldom: Vec<bool>,
    /// The number of the block that is being compiled.
    block_number: usize,
    /// Where control goes when the call has failed.
    pub(crate) failed: ir::Block,
    /// Where control goes with an error now: there, or to a handler.
    pub(crate) unwinding: ir::Block,
    pub(crate) handlers: Handlers,
    /// Places for operands of helpers, by their size.
    pub(crate) slots: HashMap<u32, ir::StackSlot>,
    /// Where a call fails with so many operands, by where control goes then. Hundreds of checks would each have a call,
    /// and the register allocator's time grows with their number times the values that live around them.
    pub(crate) exits: HashMap<(ir::Block, usize), ir::Block>,
    /// The stacks that the function makes for itself, by the statements that make them; known once these are compiled.
    pub(crate) local_stacks: HashMap<usize, Option<LocalStack>>,
    /// Arrays and indices that were compared in this block: the first time decides.
    pub(crate) checked: HashSet<(ir::Value, ir::Value)>,
    /// The statements by whose declared types branches may have been decided.
    deciding: HashSet<usize>,
    /// The loops that are compiled in several versions, by their headers.
    pub(crate) loops: Vec<VersionedLoop>,
    pub(crate) versioned: HashMap<usize, usize>,
    /// The version that is being compiled.
    pub(crate) version: Option<Version>,
    /// What φs take on each edge.
    phi_edges: PhiEdges,
    /// Whether calls count how deep they nest.
    pub(crate) counted: bool,
    pub(crate) scopes: Scopes,
    /// Which addresses of arrays are only compared, if it was asked for.
    pub(crate) addresses: Option<HashMap<usize, bool>>,
    /// How many functions of mathematics have been written out.
    pub(crate) written: usize,
    /// The types of the variables.
    pub(crate) variable_types: Vec<ir::Type>,
    /// Where loops are made functions of their own.
    pub(crate) spares: std::slice::IterMut<'f, Spare>,
    /// The functions that are such loops, in the order of the spares.
    pub(crate) outlined: Vec<FuncId>,
    /// The blocks of such loops.
    pub(crate) outlined_blocks: HashSet<usize>,
}

/// Failures with more operands have exits of their own.
const MOST_SHARED: usize = 4;

/// Memory that the code has made, or has checked to be inside of what was made.
pub(crate) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl<'c, 'f> FunctionCompiler<'c, 'f> {
    /// Compiles the function of this number into the builder's function, and loops of it into the spares: gives the
    /// functions that these are.
    pub(crate) fn run(
        compiler: &'c mut Compiler,
        mut builder: FunctionBuilder<'f>,
        spares: &'f mut [Spare],
        number: usize,
    ) -> Compiled<Vec<FuncId>> {
        let module = compiler.module.clone();
        let Some(function) = module.functions().get(number) else {
            return Err(Refusal { statement: None, what: "a function that is not there".into() });
        };
        let result = compiler.signature(number)?.result.clone();
        let counted = compiler.counts_calls();
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let parameters = builder.block_params(entry).to_vec();
        let Some(&context) = parameters.first() else {
            return Err(Refusal { statement: None, what: "a function without context".into() });
        };
        let failed = builder.create_block();
        builder.set_cold_block(failed);
        let by_address = result.parts.len() > 1;
        let mut this = FunctionCompiler {
            number,
            statement: 0,
            context,
            result_address: if by_address { parameters.get(1).copied() } else { None },
            result,
            values: vec![None; function.body.stmts.len()],
            arguments: Vec::new(),
            frame: Frame::new(function.body.stmts.len()),
            of_several: vec![false; function.body.stmts.len()],
            outlining: false,
            blocks: vec![None; function.body.cfg.blocks.len()],
            seldom: match compiler.runs_seldom(number) {
                true => vec![true; function.body.cfg.blocks.len()],
                false => failing_blocks(&function.body),
            },
            block_number: 0,
            failed,
            unwinding: failed,
            handlers: Handlers::default(),
            slots: HashMap::new(),
            exits: HashMap::new(),
            local_stacks: local_stacks(&module, &function.body, &mut compiler.layouts)
                .into_iter()
                .map(|made| (made, None))
                .collect(),
            checked: HashSet::new(),
            deciding: deciding(&module, &function.body),
            loops: Vec::new(),
            versioned: HashMap::new(),
            version: None,
            phi_edges: PhiEdges::of(&function.body),
            counted,
            scopes: Scopes::default(),
            addresses: None,
            written: 0,
            variable_types: Vec::new(),
            spares: spares.iter_mut(),
            outlined: Vec::new(),
            outlined_blocks: HashSet::new(),
            compiler,
            builder,
            module: module.clone(),
        };
        this.body(&function.body, parameters.get(if by_address { 2 } else { 1 }..).unwrap_or_default())?;
        this.builder.seal_all_blocks();
        let config = this.compiler.target();
        this.builder.finalize(config);
        Ok(this.outlined)
    }

    fn body(&mut self, ir: &IRCode, parameters: &[ir::Value]) -> Compiled<()> {
        let signature = self.compiler.signature(self.number)?.clone();
        self.plan_scopes(ir, &signature);
        self.enter_recursion(&signature, parameters)?;
        let layouts = signature.parameters;
        // `_1` is the function itself.
        self.arguments.push(None);
        let mut rest = parameters.iter();
        for layout in layouts {
            let parts = rest.by_ref().take(layout.parts.len()).copied().collect();
            self.arguments.push(Some(FunctionCompiler::fixed(&layout, parts)));
        }
        let graph = flow_graph(ir);
        let loops = graph.loops();
        let order = compile_order(ir, &loops);
        for &block in &order {
            self.blocks[block] = Some(self.builder.create_block());
        }
        self.declare_phis(ir, &order)?;
        self.plan_handlers(ir, &order)?;
        let is_local = |made: usize| self.local_stacks.contains_key(&made);
        let mut counted = match self.compiler.makes_versions() {
            true => counted_loops(&self.module, ir, &graph, &is_local, self.compiler.resized()),
            false => Vec::new(),
        };
        counted.retain(|counted| !enters_handlers(ir, counted));
        self.plan_versions(counted);
        let Some(first) = self.block(0) else { return self.refuse("code without blocks") };
        self.builder.ins().jump(first, &[]);
        for (&number, completed) in order.iter().zip(completed(ir, &order)) {
            self.compile_with_versions(ir, number)?;
            for block in completed {
                let block = self.block(block);
                self.seal(block.as_slice());
            }
        }
        self.builder.switch_to_block(self.failed);
        self.leave_recursion();
        let failure = self.builder.ins().iconst(clif::I8, 1);
        let mut returned: Parts<ir::Value> = Parts::from_slice(&[failure]);
        if let [part] = self.result.parts.as_slice() {
            let part = *part;
            returned.push(self.zero(part));
        }
        self.builder.ins().return_(&returned);
        Ok(())
    }

    /// Compiles a block as it is written, and the versions of a loop that it is the header of.
    fn compile_with_versions(&mut self, ir: &IRCode, number: usize) -> Compiled<()> {
        if self.outlined_blocks.contains(&number) {
            return Ok(());
        }
        if let Some(versioned) = self.versioned.get(&number).copied() {
            self.compile_versions(ir, versioned)?;
            if self.outline(ir, versioned)? {
                return Ok(());
            }
        }
        let Some(block) = self.block(number) else { return Ok(()) };
        self.builder.switch_to_block(block);
        self.compile_block(ir, number)
    }

    pub(crate) fn block(&self, number: usize) -> Option<ir::Block> {
        self.blocks.get(number).copied().flatten()
    }

    /// The error for something that is not compiled, at the current statement.
    pub(crate) fn refuse<T>(&self, what: impl Into<String>) -> Compiled<T> {
        Err(Refusal { statement: Some(self.statement), what: what.into() })
    }

    /// Zero of a register's type.
    pub(crate) fn zero(&mut self, ty: ir::Type) -> ir::Value {
        match ty {
            clif::F64 => self.builder.ins().f64const(0.0),
            clif::F32 => self.builder.ins().f32const(0.0),
            clif::I128 => {
                let zero = self.builder.ins().iconst(clif::I64, 0);
                self.builder.ins().iconcat(zero, zero)
            }
            ty => self.builder.ins().iconst(ty, 0),
        }
    }

    fn declare_phis(&mut self, ir: &IRCode, order: &[usize]) -> Compiled<()> {
        let open = open_phis(ir, order);
        for &block in order {
            let Some(range) = ir.cfg.blocks.get(block).map(|block| block.stmts.clone()) else { continue };
            for index in range {
                if let Some(Stmt::Phi(_)) = ir.stmts.stmts().get(index) {
                    self.statement = index;
                    let ty = phi_type(ir, index);
                    let layout = self.compiler.layouts.of(&ty);
                    self.values[index] = Some(match open.get(index) {
                        Some(true) => self.hold_open(&layout),
                        _ => self.hold(&layout),
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn compile_block(&mut self, ir: &IRCode, number: usize) -> Compiled<()> {
        let Some(range) = ir.cfg.blocks.get(number).map(|block| block.stmts.clone()) else { return Ok(()) };
        self.checked.clear();
        self.block_number = number;
        self.unwinding = self.unwinding_from(number);
        self.fix_phis(ir, range.clone());
        for index in range.clone() {
            self.statement = index;
            let Some(stmt) = ir.stmts.stmts().get(index) else { return self.refuse("a statement that is not there") };
            match stmt {
                Stmt::Phi(_) => {}
                Stmt::PhiC(_) => self.take_stored(),
                Stmt::Upsilon(upsilon) => self.store_for_catch(ir, upsilon.value.as_ref())?,
                Stmt::Enter(enter) => return self.enter(ir, number, enter),
                stmt if ends_block(stmt) => return self.jump(ir, number, Some(number + 1)),
                Stmt::Goto(goto) => return self.jump(ir, number, goto.label.index()),
                Stmt::GotoIfNot(goto) => {
                    if let Some(stays) = self.known_branch(number) {
                        return self.jump(ir, number, Some(stays));
                    }
                    let mut condition = self.operand(ir, &goto.cond)?;
                    if condition.layout.scalar() != Some(ScalarType::Bool) && condition.layout.copies() {
                        let layout = self.compiler.layouts.of(&Type::BOOL);
                        condition = self.interpret(Work::Condition, &[condition], layout)?;
                    }
                    let (Some(ScalarType::Bool), Some(condition)) = (condition.layout.scalar(), condition.one()) else {
                        return self.refuse("a condition that is no Bool");
                    };
                    let (taken, other) = (self.builder.create_block(), self.builder.create_block());
                    self.builder.ins().brif(condition, taken, &[], other, &[]);
                    self.seal(&[taken, other]);
                    self.builder.switch_to_block(taken);
                    self.jump(ir, number, Some(number + 1))?;
                    self.builder.switch_to_block(other);
                    return self.jump(ir, number, goto.dest.index());
                }
                Stmt::Return(ret) => {
                    return match &ret.value {
                        Some(value) => {
                            let value = self.operand(ir, value)?;
                            let result = self.result.clone();
                            let value = self.convert(value, &result)?;
                            self.return_value(&value)
                        }
                        None => {
                            self.fail(What::Unreachable, &[]);
                            Ok(())
                        }
                    };
                }
                stmt => {
                    let annotated = ir.stmts.types().get(index).cloned().unwrap_or(Type::Any);
                    let value = self.value_of(ir, stmt, &annotated)?;
                    let value = self.of_declared_type(stmt, &annotated, value)?;
                    self.expect_value(stmt, &annotated, &value.layout);
                    self.define(index, &value);
                }
            }
        }
        match after_block(ir, number) {
            Ok(next) => return self.jump(ir, number, Some(next)),
            Err(what) => self.fail(what, &[]),
        }
        Ok(())
    }

    fn return_value(&mut self, value: &Typed) -> Compiled<()> {
        self.release_whole();
        self.leave_recursion();
        let success = self.builder.ins().iconst(clif::I8, 0);
        let mut returned: Parts<ir::Value> = Parts::from_slice(&[success]);
        match (value.parts.as_slice(), self.result_address) {
            ([part], _) => returned.push(*part),
            (parts, Some(address)) => {
                for (part, offset) in parts.iter().zip(&value.layout.offsets) {
                    self.builder.ins().store(trusted(), *part, address, *offset as i32);
                }
            }
            ([], None) => {}
            _ => return self.refuse("a result without a place"),
        }
        self.builder.ins().return_(&returned);
        Ok(())
    }

    /// Goes to a block, with what its φs take from this edge.
    pub(crate) fn jump(&mut self, ir: &IRCode, from: usize, to: Option<usize>) -> Compiled<()> {
        let Some((to, block)) = to.and_then(|to| Some((to, self.block(to)?))) else {
            return self.refuse("a jump to a block that is not there");
        };
        let inside = self.target_in_version(to);
        if inside.is_none() {
            self.store_residents();
        }
        self.release_on_edge(from, to);
        let inside = self.target_in_version(to);
        let number = from;
        let from = ircode::BlockNumber::from_index(from);
        let statements = ir.cfg.blocks.get(to).map(|block| block.stmts.clone()).unwrap_or_default();
        let mut moves: Vec<(Held, Option<Typed>, Option<ir::Value>)> = Vec::new();
        for index in statements {
            match ir.stmts.stmts().get(index) {
                Some(Stmt::Phi(phi)) => {
                    let Some(held) = self.held(index) else { continue };
                    let taken = self.phi_edges.taken(index, phi, from).cloned();
                    let (value, defined) = match &taken {
                        Some(operand) => {
                            let (value, defined) = self.peek(ir, operand)?;
                            (Some(self.convert_if_there(value, defined, &held.layout)?), defined)
                        }
                        None => (None, None),
                    };
                    moves.push((held, value, defined));
                }
                Some(stmt) if stmt.may_stand_among_phis() => {}
                _ => break,
            }
        }
        for (held, value, defined) in moves {
            match value {
                Some(value) => self.give(&held, &value.parts, defined),
                None => self.give_nothing(&held),
            }
        }
        self.remember_on_edge(number, to);
        match (inside, self.versioned.get(&to).copied()) {
            (Some(block), _) => {
                self.builder.ins().jump(block, &[]);
            }
            (None, Some(versioned)) if self.enters(versioned, from) => self.enter_loop(ir, versioned, block)?,
            (None, _) => {
                self.builder.ins().jump(block, &[]);
            }
        }
        Ok(())
    }

    /// Whether control enters the loop from this block.
    fn enters(&self, versioned: usize, from: ircode::BlockNumber) -> bool {
        self.loops.get(versioned).is_some_and(|versioned| from.index() == Some(versioned.counted.before))
    }

    /// The header of a stack that a statement made, and the bytes of a value on it.
    pub(crate) fn stack_header(&mut self, made: usize) -> Option<(ir::Value, u32)> {
        let held = self.held(made)?;
        let Shape::Stack(element) = &held.layout.shape else { return None };
        let bytes = self.compiler.layouts.of(element).size;
        let header = self.value_in(&held).0.one()?;
        Some((header, bytes))
    }

    /// What an operand is, and whether it is defined if that is not sure.
    pub(crate) fn peek(&mut self, ir: &IRCode, operand: &Operand<Positions>) -> Compiled<(Typed, Option<ir::Value>)> {
        let held = match operand {
            Operand::Value(value) => value.index().and_then(|index| self.values.get(index)).cloned().flatten(),
            Operand::Argument(argument) => match argument.index() {
                Some(0) => {
                    let name = self.module.functions().get(self.number).map(|function| function.name.clone());
                    return Ok((self.unit(Type::Function(name.unwrap_or_else(|| "".into()))), None));
                }
                index => index.and_then(|index| self.arguments.get(index)).cloned().flatten(),
            },
            other => return Ok((self.constant_operand(ir, other)?, None)),
        };
        match held {
            Some(held) => Ok(self.value_in(&held)),
            None => self.refuse("an operand that is not there"),
        }
    }

    /// The value of an operand, which must be defined.
    pub(crate) fn operand(&mut self, ir: &IRCode, operand: &Operand<Positions>) -> Compiled<Typed> {
        let (value, defined) = self.peek(ir, operand)?;
        if let Some(defined) = defined {
            let name = match operand {
                Operand::Value(value) => value.to_string(),
                _ => String::new(),
            };
            self.guard(defined, What::Undefined(name), &[]);
        }
        Ok(value)
    }

    pub(crate) fn operands(&mut self, ir: &IRCode, operands: &[Operand<Positions>]) -> Compiled<Vec<Typed>> {
        operands.iter().map(|operand| self.operand(ir, operand)).collect()
    }

    /// The only value of a type.
    pub(crate) fn unit(&mut self, ty: Type) -> Typed {
        Typed { layout: self.compiler.layouts.of(&ty), parts: Parts::new() }
    }

    /// A number in one register.
    pub(crate) fn scalar(&mut self, ty: ScalarType, part: ir::Value) -> Typed {
        Typed { layout: self.compiler.layouts.of(&Type::Scalar(ty)), parts: Parts::from_slice(&[part]) }
    }

    /// A number that is known.
    pub(crate) fn scalar_constant(&mut self, scalar: &Scalar) -> Typed {
        let bits = scalar.to_bits();
        let part = match scalar {
            Scalar::Float64(value) => self.builder.ins().f64const(*value),
            Scalar::Float32(value) => self.builder.ins().f32const(*value),
            _ => match super::layout::part_of(scalar.scalar_type()) {
                clif::I128 => {
                    let low = self.builder.ins().iconst(clif::I64, bits as i64);
                    let high = self.builder.ins().iconst(clif::I64, (bits >> 64) as i64);
                    self.builder.ins().iconcat(low, high)
                }
                ty => {
                    let shift = 64 - ty.bits();
                    self.builder.ins().iconst(ty, (((bits as i64) << shift) as u64 >> shift) as i64)
                }
            },
        };
        self.scalar(scalar.scalar_type(), part)
    }

    fn constant_operand(&mut self, ir: &IRCode, operand: &Operand<Positions>) -> Compiled<Typed> {
        match operand {
            Operand::Constant(constant) => self.constant(constant),
            Operand::Quote(constant) => self.constant(constant),
            Operand::Global(global) => match self.module.global_constant(global) {
                Some(index) => self.global_constant(index),
                None => self.named_value(global),
            },
            Operand::Nested(nested) => match &**nested {
                Stmt::Expr(expr) if expr.head == Head::Boundscheck => Ok(self.scalar_constant(&Scalar::Bool(true))),
                Stmt::Expr(expr) if expr.head == Head::StaticParameter => self.value_of(ir, nested, &Type::Untyped),
                _ => self.refuse("a nested statement"),
            },
            Operand::Value(_) | Operand::Argument(_) => Ok(self.peek(ir, operand)?.0),
        }
    }

    /// What a global means that is no constant of the module.
    pub(crate) fn named_value(&mut self, global: &GlobalRef) -> Compiled<Typed> {
        Ok(match global_value(&self.module, global) {
            Value::Scalar(known) => self.scalar_constant(&known),
            Value::Function(name) => self.unit(Type::Function(name)),
            Value::Type(ty) => self.unit(Type::TypeOf(ty)),
            // An object of which only the text is known.
            Value::Text(path) => {
                let layout = self.compiler.layouts.of(&Type::Untyped);
                self.boxed_constant(Constant::Text(path), layout)
            }
            _ => self.unit(Type::Nothing),
        })
    }

    pub(crate) fn constant(&mut self, constant: &Constant) -> Compiled<Typed> {
        if let Some((ty, fields)) = shown_struct(&self.module, constant) {
            let fields = fields.iter().map(|field| self.constant(field)).collect::<Compiled<Vec<_>>>()?;
            return self.new_struct(&ty, &fields);
        }
        match constant {
            Constant::Scalar(scalar) => Ok(self.scalar_constant(scalar)),
            Constant::Nothing | Constant::Type(_) | Constant::Function(_) => Ok(self.unit(constant.ty())),
            Constant::Tuple(elements) => {
                let layout = self.compiler.layouts.of(&constant.ty());
                if let Some(tuple) = self.tuple_in_memory(&layout, constant) {
                    return Ok(tuple);
                }
                let fields = elements.iter().map(|element| self.constant(element)).collect::<Compiled<Vec<_>>>()?;
                self.tuple(&fields)
            }
            Constant::String(_) | Constant::Symbol(_) | Constant::Text(_) => {
                let layout = self.compiler.layouts.of(&constant.ty());
                Ok(self.boxed_constant(constant.clone(), layout))
            }
            Constant::NamedTuple(elements) => {
                let fields =
                    elements.iter().map(|(_, element)| self.constant(element)).collect::<Compiled<Vec<_>>>()?;
                let named =
                    elements.iter().zip(&fields).map(|((name, _), field)| (name.clone(), field.layout.ty.clone()));
                let layout = self.compiler.layouts.of(&Type::NamedTuple(Arc::new(named.collect())));
                self.assemble(layout, &fields)
            }
            other => self.refuse(format!("the constant {other:?}")),
        }
    }

    /// The value in another layout of the same value: boxed, or taken out of its box.
    pub(crate) fn convert(&mut self, value: Typed, to: &Arc<Layout>) -> Compiled<Typed> {
        if Arc::ptr_eq(&value.layout, to) || value.layout.ty == to.ty && value.layout.is_boxed() == to.is_boxed() {
            return Ok(value);
        }
        if value.layout.is_as(to) {
            return Ok(Typed { layout: to.clone(), parts: value.parts });
        }
        if value.layout.is_boxed() && to.is_boxed() {
            return Ok(Typed { layout: to.clone(), parts: value.parts });
        }
        if let (Shape::Fields(from), Shape::Fields(fields), Type::Tuple(_), Type::Tuple(_)) =
            (&value.layout.shape, &to.shape, &value.layout.ty, &to.ty)
            && from.len() == fields.len()
        {
            let fields = self.fields_of(&value);
            return self.assemble(to.clone(), &fields);
        }
        // A function that is not in the module, as one of which other code is called in its place: it holds nothing.
        if value.layout.ty == Type::Untyped && to.parts.is_empty() && matches!(to.ty, Type::Function(_)) {
            return Ok(self.unit(to.ty.clone()));
        }
        if to.is_boxed() && value.layout.parts.is_empty() {
            return Ok(self.boxed_only(&value.layout, to.clone()));
        }
        if let Some(union) = self.widen_to_union(&value, to) {
            return Ok(union);
        }
        if let Some(member) = self.narrow_union(&value, to) {
            return Ok(member);
        }
        if let Some(member) = covering_member(to, &value.layout.ty) {
            let member = self.convert(value, &member)?;
            return self.convert(member, to);
        }
        let copies = value.layout.copies() && to.copies();
        if copies && (value.layout.is_boxed() || to.is_boxed()) {
            return self.interpret(Work::Convey, std::slice::from_ref(&value), to.clone());
        }
        self.refuse(to.refusal(&value.layout.ty))
    }

    /// Control goes on if `fine` is not 0, and the call fails otherwise.
    pub(crate) fn guard(&mut self, fine: ir::Value, what: What, operands: &[ir::Value]) {
        let (on, off) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.ins().brif(fine, on, &[], off, &[]);
        self.seal(&[on, off]);
        self.builder.switch_to_block(off);
        self.fail(what, operands);
        self.builder.switch_to_block(on);
    }

    /// No more ways lead to these blocks than there are: Cranelift's frontend finds variables in them faster.
    pub(crate) fn seal(&mut self, blocks: &[ir::Block]) {
        blocks.iter().for_each(|block| self.builder.seal_block(*block));
    }

    /// The call fails; ends the block.
    pub(crate) fn fail(&mut self, what: What, operands: &[ir::Value]) {
        self.store_residents();
        let site = self.site(what);
        let words = operands.iter().all(|operand| self.builder.func.dfg.value_type(*operand) == clif::I64);
        if words && operands.len() <= MOST_SHARED {
            let key = (self.unwinding, operands.len());
            let known = self.exits.get(&key).copied();
            let exit = known.unwrap_or_else(|| self.builder.create_block());
            let arguments: Vec<ir::BlockArg> = [site].iter().chain(operands).map(|value| (*value).into()).collect();
            self.builder.ins().jump(exit, &arguments);
            if known.is_some() {
                return;
            }
            self.exits.insert(key, exit);
            self.builder.set_cold_block(exit);
            let site = self.builder.append_block_param(exit, clif::I32);
            let operands: Vec<ir::Value> =
                operands.iter().map(|_| self.builder.append_block_param(exit, clif::I64)).collect();
            self.builder.switch_to_block(exit);
            self.call_failure(site, &operands);
            return;
        }
        self.call_failure(site, operands);
    }

    /// Tells the helper why the call fails.
    fn call_failure(&mut self, site: ir::Value, operands: &[ir::Value]) {
        let address = self.words(operands);
        let fail = self.compiler.helper(Helper::Fail, self.builder.func);
        self.builder.ins().call(fail, &[self.context, site, address]);
        self.builder.ins().jump(self.unwinding, &[]);
    }

    /// Words in memory, each at a multiple of 16 bytes; their address.
    pub(crate) fn words(&mut self, words: &[ir::Value]) -> ir::Value {
        if words.is_empty() {
            return self.builder.ins().iconst(clif::I64, 0);
        }
        let slot = self.slot(16 * words.len() as u32);
        for (index, word) in words.iter().enumerate() {
            self.builder.ins().stack_store(clif::I64, *word, slot, 16 * index as i32);
        }
        self.builder.ins().stack_addr(clif::I64, slot, 0)
    }

    /// A place on the stack for operands and results of one call.
    pub(crate) fn slot(&mut self, bytes: u32) -> ir::StackSlot {
        let bytes = bytes.max(16).next_power_of_two();
        match self.slots.get(&bytes) {
            Some(slot) => *slot,
            None => {
                let slot =
                    self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4));
                self.slots.insert(bytes, slot);
                slot
            }
        }
    }

    /// The number of a new site at the current statement.
    pub(crate) fn site(&mut self, what: What) -> ir::Value {
        let site = self.compiler.add_site(self.number, self.statement, what);
        self.builder.ins().iconst(clif::I32, i64::from(site))
    }

    /// Goes on if the status of a helper is 0.
    pub(crate) fn check(&mut self, status: ir::Value) {
        let on = self.builder.create_block();
        if self.has_residents() {
            let off = self.builder.create_block();
            self.builder.set_cold_block(off);
            self.builder.ins().brif(status, off, &[], on, &[]);
            self.seal(&[off]);
            self.builder.switch_to_block(off);
            self.store_residents();
            self.builder.ins().jump(self.unwinding, &[]);
        } else {
            self.builder.ins().brif(status, self.unwinding, &[], on, &[]);
        }
        self.seal(&[on]);
        self.builder.switch_to_block(on);
    }

    /// Lets the interpreter do something.
    pub(crate) fn interpret(&mut self, work: Work, operands: &[Typed], result: Arc<Layout>) -> Compiled<Typed> {
        let seldom = self.seldom.get(self.block_number).copied().unwrap_or(false);
        self.interpret_as(work, operands, result, seldom)
    }

    /// As [`interpret`](Self::interpret), where machine code does it unless something unusual happens.
    pub(crate) fn interpret_seldom(&mut self, work: Work, operands: &[Typed], result: Arc<Layout>) -> Compiled<Typed> {
        self.interpret_as(work, operands, result, true)
    }

    fn interpret_as(&mut self, work: Work, operands: &[Typed], result: Arc<Layout>, seldom: bool) -> Compiled<Typed> {
        self.expect_interpreted(&work, operands, &result);
        let layouts = operands.iter().map(|operand| operand.layout.clone()).collect();
        let what = What::Interpreted(Interpreted { work, operands: layouts, result: result.clone(), seldom });
        self.helped(Helper::Interpret, what, operands, result)
    }

    /// Lets a helper do something that takes operands from memory, each at a multiple of 16 bytes, and puts its result
    /// in their place.
    pub(crate) fn helped(
        &mut self,
        helper: Helper,
        what: What,
        operands: &[Typed],
        result: Arc<Layout>,
    ) -> Compiled<Typed> {
        let mut sizes = operands.iter().map(|operand| operand.layout.size.next_multiple_of(16));
        let total: u32 = sizes.by_ref().sum();
        let slot = self.slot(total.max(result.size.next_multiple_of(16)));
        let mut at = 0;
        for operand in operands {
            for (part, offset) in operand.parts.iter().zip(&operand.layout.offsets) {
                self.builder.ins().stack_store(clif::I64, *part, slot, (at + offset) as i32);
            }
            at += operand.layout.size.next_multiple_of(16);
        }
        let site = self.site(what);
        let address = self.builder.ins().stack_addr(clif::I64, slot, 0);
        let helper = self.compiler.helper(helper, self.builder.func);
        let call = self.builder.ins().call(helper, &[self.context, site, address]);
        let status = self.builder.inst_results(call).first().copied();
        let Some(status) = status else { return self.refuse("a helper without a result") };
        self.check(status);
        let mut parts = Parts::new();
        for (part, offset) in result.parts.iter().zip(&result.offsets) {
            parts.push(self.builder.ins().stack_load(clif::I64, *part, slot, *offset as i32));
        }
        Ok(Typed { layout: result, parts })
    }
}

impl Shape {
    /// The fields, if the value has such in registers.
    pub(crate) fn fields(&self) -> Option<&[Arc<Layout>]> {
        match self {
            Shape::Fields(fields) => Some(fields),
            _ => None,
        }
    }
}
