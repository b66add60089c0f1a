//! Making code ready to run: names resolved, operands found, φs turned into moves on edges.

mod code;

use std::sync::Arc;

use ircode::primitives::{Compute, Primitive, Scope, foreign_primitive};
use ircode::{
    BlockNumber, Callee, Constant, Function, HandlerStyle, Head, IRCode, InvokeNode, Module, Name, Operand, Positions,
    SSAValue, Scalar, Stmt, Type, TypeKind, exception_fields, with_element_copies,
};

use crate::builtins::{Runtime, builtin};
use crate::compact::{Compact, translate};
use crate::constants::global_value;
use crate::error::RunErrorKind;
use crate::machine::MAPPING;
use crate::phi_edges::PhiEdges;
use crate::value::{StructInfo, Value};

pub(crate) use code::{After, Code, Edge, Op, ScalarFunction, Source};

/// Primitives that are run in the place of Julia's own methods, even where a dump has those: they print, or copy by
/// pointers.
const PREFERRED: &[&str] = &[
    "print",
    "println",
    "string",
    "print_to_string",
    "error",
    "throw_boundserror",
    "ErrorException",
    "DomainError",
    "ArgumentError",
    "BoundsError",
    "DivideError",
];

const PREFERRED_FOR_ARRAYS: &[&str] = &["copy"];

/// Whether a primitive is one for arrays, so that a module may have methods of the same name for what is no array.
pub(crate) fn is_for_arrays(primitive: &Primitive) -> bool {
    primitive.scope == Scope::Arrays || PREFERRED_FOR_ARRAYS.contains(&primitive.name)
}

/// Whether a call of a primitive with operands of these types may be one of a method of the module, which is found when
/// it is known what the operands are.
pub(crate) fn may_be_of_method<'a>(
    module: &Module<IRCode>,
    primitive: &Primitive,
    mut operands: impl Iterator<Item = &'a Type>,
) -> bool {
    // Objects without fields stand for something else in unions with numbers, such as that there is no value yet.
    let has_parts =
        |ty: &Type| matches!(ty, Type::Array(_)) || module.struct_fields(ty).is_some_and(|fields| !fields.is_empty());
    let possible = match primitive.is_arithmetic() {
        true => operands.any(|ty| may_be(ty, has_parts)),
        false => {
            let is_open = |ty: &Type| matches!(ty, Type::Named(_) | Type::Any | Type::Untyped);
            let mut of_elements = || operands.next().is_none_or(|first| may_be(first, is_open));
            is_for_arrays(primitive) || primitive.is_of_elements() && of_elements()
        }
    };
    possible && !module.methods(primitive.name).is_empty()
}

fn may_be(ty: &Type, is: impl Fn(&Type) -> bool) -> bool {
    match ty {
        Type::Union(members) => members.iter().any(is),
        ty => is(ty),
    }
}

/// Whether a module may have methods of a primitive for these values.
pub(crate) fn may_be_method_for(primitive: &Primitive, args: &[Value]) -> bool {
    let is_struct = |arg: &Value| matches!(arg, Value::Struct(object) if !matches!(object.0.ty.ty, Type::Ref(_)));
    let is_array = |arg: &Value| matches!(arg, Value::Array(_));
    if primitive.is_of_elements() {
        args.first().is_some_and(is_struct)
    } else if primitive.is_arithmetic() {
        args.iter().any(|arg| is_array(arg) || is_struct(arg))
    } else {
        is_for_arrays(primitive) && !args.iter().any(is_array)
    }
}

/// The function of the module that is the method invoked, as dumps of Julia's code name it. Where Julia's own is made
/// of pointers and streams, the primitive is preferred.
pub(crate) fn invoked(module: &Module<IRCode>, invoke: &InvokeNode<Positions>) -> Option<usize> {
    let function = module.function_index(invoke.instance.name.as_ref()?)?;
    let types = &invoke.instance.argtypes;
    let is_array = || types.iter().any(|ty| ty.is_unknown() || matches!(ty, Type::Array(_)));
    match module.callee(&invoke.callee) {
        Some(Callee::Primitive(primitive)) if PREFERRED.contains(&primitive.name) => None,
        Some(Callee::Primitive(primitive)) if PREFERRED_FOR_ARRAYS.contains(&primitive.name) && is_array() => None,
        _ => Some(function),
    }
}

/// The types that statements declare. A statement that Julia has removed, which is `nothing`, may have the type that it
/// had before.
fn declared_types(ir: &IRCode) -> Vec<Type> {
    let declared = |(stmt, ty): (&Stmt<Positions>, &Type)| if stmt.is_nothing() { Type::Any } else { value_type(ty) };
    ir.stmts.stmts().iter().zip(ir.stmts.types()).map(declared).collect()
}

/// What a static parameter is, by the element of the lattice that the code has for it: a type, or a value, such as the
/// one in `Val{true}`.
pub(crate) fn static_parameter(module: &Module<IRCode>, parameter: &Type) -> Constant {
    let is_type = |name: &str| module.type_def(name).is_some();
    match parameter {
        Type::TypeOf(ty) => Constant::of_type((**ty).clone()),
        ty => match ty.known_value() {
            Some(value) => value,
            None => Constant::of_type(ty.known_type(is_type).unwrap_or_else(|| ty.clone())),
        },
    }
}

/// Whether a block says of its last statement, which is no jump, that it never returns: control goes nowhere from
/// there, also where it does.
pub(crate) fn goes_nowhere(ir: &IRCode, block: usize) -> bool {
    let Some(block) = ir.cfg.blocks.get(block).filter(|block| block.succs.is_empty()) else { return false };
    let last = block.stmts.clone().next_back();
    let jumps = last.and_then(|last| ir.stmts.stmts().get(last)).is_some_and(Stmt::is_terminator);
    !jumps && last.and_then(|last| ir.stmts.types().get(last)) == Some(&Type::Bottom)
}

/// Makes a function ready, with the types that its statements declare or without.
pub(crate) fn prepare(
    module: &Module<IRCode>,
    function: &Function<IRCode>,
    runtime: &Runtime<'_>,
    with_types: bool,
) -> Result<Code, RunErrorKind> {
    let ir = &*with_element_copies(module, &function.body);
    let invalid = |what: String| RunErrorKind::InvalidCode(what);
    if !ir.new_nodes.is_empty() {
        return Err(invalid("it has pending nodes; compact it first".into()));
    }
    let mut end = 0;
    for block in &ir.cfg.blocks {
        if block.stmts.start != end || block.stmts.end < end || block.stmts.end > ir.stmts.len() {
            return Err(invalid("the ranges of its blocks do not follow one another".into()));
        }
        end = block.stmts.end;
    }
    if end != ir.stmts.len() || ir.cfg.blocks.is_empty() {
        return Err(invalid("its blocks do not hold all statements".into()));
    }
    let arguments = argument_count(ir);
    let mut preparer = Preparer {
        module,
        ir,
        runtime,
        arguments,
        handler_style: HandlerStyle::of(ir.stmts.stmts()),
        edges: Vec::new(),
        constants: Vec::new(),
        phi_edges: PhiEdges::of(ir),
        filled: filled_blocks(ir),
    };
    let mut ops = Vec::with_capacity(ir.stmts.len());
    let mut after = Vec::with_capacity(ir.stmts.len());
    for (number, block) in ir.cfg.blocks.iter().enumerate() {
        for index in block.stmts.clone() {
            ops.push(preparer.op(number, index)?);
            after.push(After::Next);
        }
        if let Some(last) = block.stmts.clone().next_back() {
            let falls = ir.stmts.stmts().get(last).is_some_and(|last| !last.is_terminator());
            after[last] = match falls && number + 1 < ir.cfg.blocks.len() {
                true if goes_nowhere(ir, number) => After::Nowhere,
                true => After::Edge(preparer.edge(number, number + 1)?),
                false => After::End,
            };
        }
    }
    let starts_empty = ir.cfg.blocks.first().is_some_and(|block| block.stmts.is_empty()) && !ir.stmts.is_empty();
    let entry = if starts_empty { Some(preparer.edge(0, 0)?) } else { None };
    let block_starts = ir.cfg.blocks.iter().map(|block| block.stmts.start as u32).chain([ir.stmts.len() as u32]);
    let mut code = Code {
        name: function.name.clone(),
        arguments: (!ir.argtypes.is_empty()).then_some(ir.argtypes.len()),
        argtypes: ir.argtypes.iter().map(|ty| module.dispatch_type(ty)).collect(),
        varargs: function.varargs,
        registers: arguments + ops.len(),
        types: if with_types { declared_types(ir) } else { Vec::new() },
        ops,
        after,
        block_starts: block_starts.collect(),
        entry,
        edges: preparer.edges,
        constants: preparer.constants,
        compact: Compact::default(),
    };
    code.compact = translate(&code, ir);
    Ok(code)
}

/// The type of which values are, in the place of an element of the compiler's lattice; `Any` for a value that is not
/// understood.
fn value_type(ty: &Type) -> Type {
    match ty.widened() {
        Some(ty) => ty,
        None if ty.is_known_value() => Type::Any,
        None => ty.clone(),
    }
}

/// The number of arguments that the code has or uses.
fn argument_count(ir: &IRCode) -> usize {
    let mut count = ir.argtypes.len().max(1);
    if ir.argtypes.is_empty() {
        for stmt in ir.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Argument(argument) = operand {
                    count = count.max((argument.0 as usize).min(1 << 16));
                }
            });
        }
    }
    count
}

/// By block, the first one from there on that has statements; the number of blocks if there is none.
fn filled_blocks(ir: &IRCode) -> Vec<usize> {
    let mut filled = ir.cfg.blocks.len();
    let from_the_last = ir.cfg.blocks.iter().enumerate().rev().map(|(number, block)| {
        if !block.stmts.is_empty() {
            filled = number;
        }
        filled
    });
    let mut all: Vec<usize> = from_the_last.collect();
    all.reverse();
    all
}

struct Preparer<'a> {
    module: &'a Module<IRCode>,
    ir: &'a IRCode,
    runtime: &'a Runtime<'a>,
    arguments: usize,
    handler_style: HandlerStyle,
    edges: Vec<Edge>,
    constants: Vec<Value>,
    phi_edges: PhiEdges,
    /// What [`filled_blocks`] finds.
    filled: Vec<usize>,
}

type Prepared<T> = Result<T, RunErrorKind>;

impl Preparer<'_> {
    fn op(&mut self, block: usize, index: usize) -> Prepared<Op> {
        let Some(stmt) = self.ir.stmts.stmts().get(index) else {
            return Err(RunErrorKind::InvalidCode(format!("there is no statement {}", index + 1)));
        };
        Ok(match stmt {
            Stmt::Value(operand) if operand.is_nothing() => Op::Copy(self.constant(Value::Nothing)),
            Stmt::Value(Operand::Nested(nested)) => self.nested(nested)?,
            Stmt::Value(operand @ Operand::Global(_)) => {
                // A listing shows the value of a constant in the place of its type.
                match self.ir.stmts.types().get(index).and_then(Type::known_value) {
                    Some(known) => {
                        let value = self.constant_value(&known)?;
                        Op::Copy(self.constant(value))
                    }
                    None => Op::Copy(self.source(operand)?),
                }
            }
            Stmt::Value(operand) => Op::Copy(self.source(operand)?),
            Stmt::Phi(_) => Op::Nothing,
            Stmt::Pi(pi) => Op::Copy(self.source(&pi.value)?),
            Stmt::PhiC(phic) => {
                let mut stores = Vec::with_capacity(phic.values.len());
                for value in &phic.values {
                    if let Source::Register(register) = self.source(value)? {
                        stores.push(register);
                    }
                }
                Op::PhiC(stores)
            }
            Stmt::Upsilon(upsilon) => Op::Upsilon(upsilon.value.as_ref().map(|value| self.source(value)).transpose()?),
            Stmt::Goto(goto) => Op::Goto(self.edge_to(block, goto.label)?),
            Stmt::GotoIfNot(goto) => Op::GotoIfNot {
                cond: self.source(&goto.cond)?,
                dest: self.edge_to(block, goto.dest)?,
                next: self.edge(block, block + 1)?,
            },
            Stmt::Return(ret) => match &ret.value {
                Some(value) => Op::Return(self.source(value)?),
                None => Op::Unreachable,
            },
            Stmt::Enter(_) if self.ir.cfg.blocks.get(block).is_some_and(|block| block.stmts.end != index + 1) => {
                Op::Fail(RunErrorKind::Unsupported("a handler that is entered in the middle of a block".into()))
            }
            Stmt::Enter(enter) => Op::Enter {
                catch: enter.catch_dest.map(|catch| self.edge_to(block, catch)).transpose()?,
                old_style: enter.catch_dest.is_some_and(|catch| catch_block_leaves(self.ir, self.handler_style, catch)),
                next: self.edge(block, block + 1)?,
            },
            Stmt::Switch(switch) => match *switch {},
            Stmt::Call(call) => self.call(stmt, &call.callee, &call.args)?,
            Stmt::Invoke(invoke) => match invoked(self.module, invoke) {
                Some(function) => {
                    let callee = match self.module.callee(&invoke.callee) {
                        Some(_) => None,
                        None => Some(self.source(&invoke.callee)?),
                    };
                    Op::Call { function, callee, args: self.sources(&invoke.args)? }
                }
                None => self.call(stmt, &invoke.callee, &invoke.args)?,
            },
            Stmt::Expr(expr) => self.expression(block, &expr.head, &expr.args, stmt)?,
        })
    }

    fn nested(&mut self, stmt: &Stmt<Positions>) -> Prepared<Op> {
        match stmt {
            Stmt::Expr(expr) => self.expression(0, &expr.head, &expr.args, stmt),
            Stmt::Call(call) => self.call(stmt, &call.callee, &call.args),
            _ => Ok(Op::Fail(RunErrorKind::Unsupported("a nested statement".into()))),
        }
    }

    fn sources(&mut self, operands: &[Operand<Positions>]) -> Prepared<Vec<Source>> {
        operands.iter().map(|operand| self.source(operand)).collect()
    }

    fn source(&mut self, operand: &Operand<Positions>) -> Prepared<Source> {
        Ok(match operand {
            Operand::Value(value) => {
                let index = value.index().filter(|&index| index < self.ir.stmts.len());
                let index = index.ok_or_else(|| RunErrorKind::InvalidCode(format!("{value} does not exist")))?;
                Source::Register((self.arguments + index) as u32)
            }
            Operand::Argument(argument) => {
                let index = argument.index().filter(|&index| index < self.arguments);
                let index = index.ok_or_else(|| RunErrorKind::InvalidCode(format!("{argument} does not exist")))?;
                Source::Register(index as u32)
            }
            Operand::Constant(constant) => {
                let value = self.constant_value(constant)?;
                self.constant(value)
            }
            Operand::Quote(constant) => {
                let value = self.constant_value(constant)?;
                self.constant(value)
            }
            Operand::Global(global) => {
                if let Some(index) = self.module.global_constant(global) {
                    let value = self.runtime.global_constant(index)?;
                    return Ok(self.constant(value));
                }
                self.constant(global_value(self.module, global))
            }
            Operand::Nested(nested) => match &**nested {
                Stmt::Expr(expr) if expr.head == Head::Boundscheck => self.constant(Value::from(true)),
                Stmt::Expr(expr) if expr.head == Head::StaticParameter => {
                    let value = self.static_parameter(&expr.args)?;
                    self.constant(value)
                }
                _ => self.constant(Value::Undefined),
            },
        })
    }

    fn constant(&mut self, value: Value) -> Source {
        self.constants.push(value);
        Source::Constant((self.constants.len() - 1) as u32)
    }

    fn constant_value(&self, constant: &Constant) -> Prepared<Value> {
        let memory = |_| RunErrorKind::InvalidCode("its constants do not fit in memory".into());
        self.runtime.constant(constant).map_err(memory)
    }

    fn static_parameter(&self, args: &[Operand<Positions>]) -> Prepared<Value> {
        let number = args.first().and_then(|arg| arg.as_constant()?.as_scalar().map(Scalar::to_i128)).unwrap_or(0);
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        match index.and_then(|index| self.ir.sptypes.get(index)) {
            Some(parameter) => match static_parameter(self.module, parameter) {
                Constant::Type(ty) => Ok(Value::Type(ty)),
                value => self.constant_value(&value),
            },
            None => Err(RunErrorKind::InvalidCode(format!("there is no static parameter {number}"))),
        }
    }

    fn edge_to(&mut self, from: usize, to: BlockNumber) -> Prepared<u32> {
        let index = to.index().filter(|&index| index < self.ir.cfg.blocks.len());
        let index = index.ok_or_else(|| RunErrorKind::InvalidCode(format!("{to} does not exist")))?;
        self.edge(from, index)
    }

    /// The edge between two blocks, with the moves of the φs in the second, or in the first one behind it that is not
    /// empty.
    fn edge(&mut self, from: usize, to: usize) -> Prepared<u32> {
        let blocks = &self.ir.cfg.blocks;
        // A φ there takes what comes from the last of the empty blocks.
        let (from, to) = match self.filled.get(to) {
            Some(&filled) if filled > to && filled < blocks.len() => (filled - 1, filled),
            _ => (from, to),
        };
        // Control may run out of a last block that is not reached.
        let Some(block) = blocks.get(to) else {
            self.edges.push(Edge { statement: None, moves: Vec::new() });
            return Ok((self.edges.len() - 1) as u32);
        };
        let from = BlockNumber::from_index(from);
        let mut moves = Vec::new();
        for index in block.stmts.clone() {
            match self.ir.stmts.stmts().get(index) {
                Some(Stmt::Phi(phi)) => {
                    let value = self.phi_edges.taken(index, phi, from).cloned();
                    let source = value.as_ref().map(|operand| self.source(operand)).transpose()?;
                    moves.push(((self.arguments + index) as u32, source));
                }
                Some(stmt) if stmt.may_stand_among_phis() => {}
                _ => break,
            }
        }
        let statement = (!block.stmts.is_empty()).then_some(block.stmts.start as u32);
        self.edges.push(Edge { statement, moves });
        Ok((self.edges.len() - 1) as u32)
    }

    fn call(
        &mut self,
        stmt: &Stmt<Positions>,
        callee: &Operand<Positions>,
        args: &[Operand<Positions>],
    ) -> Prepared<Op> {
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            let of_method = || {
                let types: Vec<Type> = args.iter().map(|arg| self.ir.operand_type(arg)).collect();
                may_be_of_method(self.module, primitive, types.iter())
            };
            if MAPPING.contains(&primitive.name) || of_method() {
                // By the same path: under another one the module may have a function of its own.
                let path = match callee {
                    Operand::Global(global) if !global.module.is_empty() => {
                        format!("{}.{}", global.module, global.name)
                    }
                    _ => format!("Base.{}", primitive.name),
                };
                return Ok(Op::CallName { path: Name::from(path.as_str()), args: self.sources(args)? });
            }
            return self.primitive(primitive, args);
        }
        Ok(match self.module.called(stmt) {
            Some(Callee::Function(function)) => Op::Call { function, callee: None, args: self.sources(args)? },
            Some(Callee::Type(ty)) => Op::Construct { ty, args: self.sources(args)? },
            Some(Callee::Unknown(path)) => match splatted(&path, args) {
                Some((callee, args)) => Op::Splat { callee: self.source(callee)?, args: self.sources(args)? },
                None => Op::CallName { path, args: self.sources(args)? },
            },
            Some(Callee::Primitive(_)) | None => {
                Op::CallValue { callee: self.source(callee)?, args: self.sources(args)? }
            }
        })
    }

    fn primitive(&mut self, primitive: &'static Primitive, args: &[Operand<Positions>]) -> Prepared<Op> {
        let count = args.len();
        if !primitive.takes(count) {
            return Ok(Op::Fail(RunErrorKind::Operands {
                primitive: primitive.name,
                expected: primitive.operand_counts(),
                got: count.to_string(),
            }));
        }
        if primitive.name == "rethrow" && count == 0 {
            return Ok(Op::Rethrow);
        }
        let args = self.sources(args)?;
        Ok(match (primitive.compute, args.as_slice()) {
            (Compute::Scalars(f), _) => Op::Scalars { primitive, f, args },
            (Compute::Convert(f), [ty, value]) => Op::Convert { primitive, f, args: [*ty, *value] },
            (Compute::Convert(_), _) => Op::Fail(RunErrorKind::Unsupported(primitive.name.into())),
            (Compute::Machine, _) => match builtin(primitive.name) {
                Some(f) => Op::Builtin { primitive, f, args },
                None => Op::Host { primitive, args },
            },
        })
    }

    fn expression(
        &mut self,
        block: usize,
        head: &Head,
        args: &[Operand<Positions>],
        stmt: &Stmt<Positions>,
    ) -> Prepared<Op> {
        Ok(match head {
            Head::New => {
                let Some((ty, args)) = args.split_first() else {
                    return Ok(Op::Fail(RunErrorKind::InvalidCode("`new` without a type".into())));
                };
                let args = self.sources(args)?;
                match self.static_type(ty) {
                    Some(Type::Tuple(_)) => Op::NewTuple { args },
                    Some(ty) => match struct_info(self.module, &ty, args.len()) {
                        Some(info) => Op::NewStruct { info, args },
                        None => Op::NewOf { ty: self.constant(Value::Type(Arc::new(ty))), args },
                    },
                    None => Op::NewOf { ty: self.source(ty)?, args },
                }
            }
            Head::SplatNew => match args {
                [ty, fields] => Op::SplatNew { ty: self.source(ty)?, fields: self.source(fields)? },
                _ => return Ok(Op::Fail(RunErrorKind::InvalidCode("`splatnew` takes a type and a tuple".into()))),
            },
            Head::Boundscheck => {
                let value = args.first().and_then(|arg| arg.as_constant()?.as_scalar().cloned());
                Op::Copy(self.constant(value.map_or(Value::from(true), Value::Scalar)))
            }
            Head::StaticParameter => {
                let value = self.static_parameter(args)?;
                Op::Copy(self.constant(value))
            }
            Head::Leave => Op::Leave { handlers: left_handlers(self.ir, args), next: self.edge(block, block + 1)? },
            Head::PopException => match args.first() {
                Some(token) => Op::PopException(self.source(token)?),
                None => Op::Fail(RunErrorKind::InvalidCode("`pop_exception` without a token".into())),
            },
            Head::TheException => Op::TheException,
            Head::ThrowUndefIfNot => match args {
                [name, cond, ..] => {
                    let name = match name.as_constant() {
                        Some(Constant::Symbol(name)) => name.clone(),
                        _ => "##getfield##".into(),
                    };
                    Op::ThrowUndefIfNot { name, cond: self.source(cond)? }
                }
                _ => Op::Fail(RunErrorKind::InvalidCode("`throw_undef_if_not` without a condition".into())),
            },
            Head::CopyAst => match args.first() {
                Some(value) => Op::Copy(self.source(value)?),
                None => Op::Copy(self.constant(Value::Nothing)),
            },
            head if head.is_for_compiler() => Op::Copy(self.constant(Value::Nothing)),
            Head::Foreigncall => match stmt {
                Stmt::Expr(expr) => match foreign_primitive(expr) {
                    Some((primitive, args)) => self.primitive(primitive, args)?,
                    None => Op::Fail(RunErrorKind::Unsupported(foreign_text(args))),
                },
                _ => Op::Fail(RunErrorKind::Unsupported("a foreigncall".into())),
            },
            other => Op::Fail(RunErrorKind::Unsupported(format!("an expression `{}`", other.name()))),
        })
    }

    /// The type that an operand names, if that is known before it runs.
    fn static_type(&self, operand: &Operand<Positions>) -> Option<Type> {
        match operand {
            Operand::Constant(Constant::Type(ty)) => Some((**ty).clone()),
            Operand::Global(global) => match self.module.global_callee(global) {
                Callee::Type(ty) => Some(ty),
                Callee::Function(_) => None,
                Callee::Primitive(primitive) => Some(Type::named(primitive.name)),
                Callee::Unknown(path) => Some(Type::parse(&path)),
            },
            _ => None,
        }
    }
}

/// What a call of this path calls with the elements of which operands, if it is how Julia calls `f(xs...)`.
fn splatted<'o>(
    path: &str,
    args: &'o [Operand<Positions>],
) -> Option<(&'o Operand<Positions>, &'o [Operand<Positions>])> {
    match (path, args) {
        ("Core._apply_iterate", [_, callee, args @ ..]) | ("Core._apply", [callee, args @ ..]) => Some((callee, args)),
        _ => None,
    }
}

/// Whether a catch block has to leave the handler that caught.
pub(crate) fn catch_block_leaves(ir: &IRCode, style: HandlerStyle, catch: BlockNumber) -> bool {
    let block = catch.index().and_then(|index| ir.cfg.blocks.get(index));
    block.is_some_and(|block| style.catch_block_leaves(ir.stmts.stmts().get(block.stmts.clone()).unwrap_or_default()))
}

/// How many handlers a `leave` of these operands leaves.
pub(crate) fn left_handlers(ir: &IRCode, args: &[Operand<Positions>]) -> usize {
    ircode::left_handlers(args, |value: SSAValue| ir.stmt(value))
}

/// What a foreign function is called in an error.
pub(crate) fn foreign_text(args: &[Operand<Positions>]) -> String {
    match args.first() {
        Some(name) => format!("the foreign function {name}"),
        None => "a foreigncall".into(),
    }
}

/// What is fixed about the structs of this type; `None` if it is no struct. A type that the module does not declare is
/// taken for an immutable struct whose fields have no names.
pub(crate) fn struct_info(module: &Module<IRCode>, ty: &Type, count: usize) -> Option<Arc<StructInfo>> {
    let info = |mutable: bool, names: Vec<Name>, supertypes: Option<Vec<Type>>| {
        let ty = module.as_declared(ty).unwrap_or_else(|| ty.clone());
        Some(Arc::new(StructInfo { ty, mutable, names, supertypes }))
    };
    match ty {
        Type::Ref(_) => info(true, vec!["x".into()], None),
        Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) if count > fields.len() => None,
            Some(TypeKind::Struct { mutable, fields }) => {
                let names = fields.iter().map(|(name, _)| name.clone()).collect();
                info(*mutable, names, module.supertypes(name))
            }
            Some(TypeKind::Enum { .. }) => None,
            None => info(false, exception_fields(name), None),
        },
        _ => None,
    }
}
