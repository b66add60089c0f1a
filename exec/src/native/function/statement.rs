//! What a statement is: an operation on scalars, on memory, a call, or something that the interpreter does.

use std::sync::Arc;

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::{Compute, Primitive, ResultType, Transfer, foreign_primitive};
use ircode::{
    BlockNumber, Callee, ExprNode, Head, IRCode, Module, Operand, Positions, SSAValue, Scalar, Stmt, Type, unqualified,
};

use super::sites::{ValueCall, What, Work};
use super::{Compiled, FunctionCompiler, Typed};
use crate::machine::MAPPING;
use crate::native::compiler::call_graph::never_returns;
use crate::native::layout::{Layout, Parts, Shape};
use crate::native::runtime::helpers::Helper;
use crate::native::values::addresses::{ADDRESS, OBJECT_ID};
use crate::prepare::{foreign_text, invoked, may_be_of_method, static_parameter, struct_info};

/// Primitives to which copies are not the same: they ask where elements lie, or make another array of the same
/// elements.
const SHARING: &[&str] = &[ADDRESS, OBJECT_ID, "jl_reshape_array", "memoryref", "memoryrefnew", "memoryrefoffset"];

/// At most this many statements may stand between an exception and the end of its block, for it to be seen that it is
/// only thrown.
const MOST_BEFORE_THROW: usize = 16;

/// Of how many types the type of a tuple of tuples is made, at most: it is laid out, moved and looked up as a whole,
/// and grows with each tuple around it.
const LARGEST_TUPLE: usize = 1 << 12;

impl FunctionCompiler<'_, '_> {
    /// The value of a statement that is no φ and no jump.
    pub(crate) fn value_of(&mut self, ir: &IRCode, stmt: &Stmt<Positions>, annotated: &Type) -> Compiled<Typed> {
        match stmt {
            Stmt::Value(operand) if operand.is_nothing() => Ok(self.unit(Type::Nothing)),
            Stmt::Value(Operand::Nested(nested)) => self.value_of(ir, &(**nested).clone(), annotated),
            Stmt::Value(operand @ Operand::Global(_)) => match annotated.known_value() {
                Some(known) => self.operand(ir, &Operand::Constant(known)),
                None => self.operand(ir, operand),
            },
            Stmt::Value(operand) => self.operand(ir, operand),
            Stmt::Pi(pi) => {
                let value = self.operand(ir, &pi.value)?;
                let ty = pi.ty.widened().unwrap_or_else(|| pi.ty.clone());
                if ty.is_unknown() {
                    return Ok(value);
                }
                let to = self.compiler.layouts.of(&ty);
                if let Shape::Union(_) = value.layout.shape {
                    let narrowed = self.narrow_union(&value, &to);
                    return Ok(narrowed.unwrap_or(value));
                }
                if !value.layout.is_boxed() {
                    return Ok(value);
                }
                self.convert(value, &to)
            }
            Stmt::Call(call) => self.call_of(ir, stmt, &call.callee, &call.args, annotated),
            Stmt::Invoke(invoke) => match invoked(&self.module, invoke) {
                Some(function) => {
                    if self.module.callee(&invoke.callee).is_none() && self.uses_itself(function) {
                        return self.refuse("a call of an object");
                    }
                    let arguments = self.operands(ir, &invoke.args)?;
                    self.call_of_function(function, arguments, annotated)
                }
                None => self.call_of(ir, stmt, &invoke.callee, &invoke.args, annotated),
            },
            Stmt::Expr(expr) => self.expression(ir, expr, annotated),
            _ => self.refuse("a statement in the place of another's value"),
        }
    }

    /// The value of a statement, if it may be of the type that is declared for it: what is planned for loops and
    /// branches before they are compiled relies on that. Where a branch was decided by the type, the value is taken for
    /// one of it, and the call refused if it is none. A π of a value that cannot be what it says stands where control
    /// never comes, or the interpreter goes on.
    pub(crate) fn of_declared_type(
        &mut self,
        stmt: &Stmt<Positions>,
        annotated: &Type,
        value: Typed,
    ) -> Compiled<Typed> {
        let declared = annotated.widened().unwrap_or_else(|| annotated.clone());
        let decides = self.deciding.contains(&self.statement);
        // Where Julia took a statement out, `nothing` keeps its type; and not all of what the compiler knows is a type.
        let removed = !decides && matches!(stmt, Stmt::Value(operand) if operand.is_nothing());
        if removed || declared == Type::Bottom || declared.is_known_value() {
            return Ok(value);
        }
        match self.module.is_a(&value.layout.ty, &declared) {
            None if decides => return self.narrowed(value, &declared),
            None | Some(true) => return Ok(value),
            Some(false) => {}
        }
        if !matches!(stmt, Stmt::Pi(_)) {
            return self.refuse(format!("a value of the type {} where {declared} is declared", value.layout.ty));
        }
        self.fail(What::Refused("a value of another type than a π says"), &[]);
        let never = self.builder.create_block();
        self.builder.switch_to_block(never);
        self.seal(&[never]);
        let layout = self.compiler.layouts.of(&declared);
        let parts = self.placeholder(&layout);
        Ok(Typed { layout, parts })
    }

    /// The value as one of a type, if it can be one; the call is refused when it is none.
    fn narrowed(&mut self, value: Typed, ty: &Type) -> Compiled<Typed> {
        let to = self.compiler.layouts.of(ty);
        match self.narrow_union(&value, &to) {
            Some(narrowed) => Ok(narrowed),
            None => self.convert(value, &to),
        }
    }

    /// Whether a function uses `_1`, which is itself or the object that was called.
    fn uses_itself(&self, function: usize) -> bool {
        let is_itself =
            |operand: &Operand<Positions>| matches!(operand, Operand::Argument(argument) if argument.0 == 1);
        let Some(function) = self.module.functions().get(function) else { return true };
        let mut found = false;
        for stmt in function.body.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| found |= is_itself(operand));
        }
        found
    }

    fn call_of(
        &mut self,
        ir: &IRCode,
        stmt: &Stmt<Positions>,
        callee: &Operand<Positions>,
        args: &[Operand<Positions>],
        annotated: &Type,
    ) -> Compiled<Typed> {
        let module = self.module.clone();
        if let Some((primitive, args)) = module.primitive_call(stmt) {
            return self.primitive(ir, primitive, args, annotated);
        }
        match module.called(stmt) {
            Some(Callee::Function(function)) => {
                let arguments = self.operands(ir, args)?;
                self.call_of_function(function, arguments, annotated)
            }
            Some(Callee::Type(ty)) => {
                let operands = self.operands(ir, args)?;
                self.construct(&ty, &operands)
            }
            Some(Callee::Unknown(path)) => {
                if path.starts_with("Core._apply") {
                    return self.refuse("a call with the elements of tuples or arrays");
                }
                let plain = unqualified(&path);
                if !module.methods(&path).is_empty() || !module.methods(plain).is_empty() {
                    return self.refuse(format!("a call of `{path}`, of which there are methods"));
                }
                self.operands(ir, args)?;
                self.give_up(What::UnknownFunction(path), annotated)
            }
            Some(Callee::Primitive(_)) | None => self.call_of_value(ir, callee, args, annotated),
        }
    }

    /// A call of a function, which may say that it never returns where the statement says nothing of that.
    fn call_of_function(&mut self, function: usize, arguments: Vec<Typed>, annotated: &Type) -> Compiled<Typed> {
        let value = self.call_as(function, arguments, *annotated == Type::Bottom)?;
        let ends = self.module.functions().get(function).is_some_and(never_returns);
        match ends && *annotated != Type::Bottom {
            // Nothing holds a function to what it says of itself.
            true => self.give_up(What::Refused("the result of a function that returns none"), annotated),
            false => Ok(value),
        }
    }

    /// A call of a value: of the function that its type names, or of what the run finds.
    fn call_of_value(
        &mut self,
        ir: &IRCode,
        callee: &Operand<Positions>,
        args: &[Operand<Positions>],
        annotated: &Type,
    ) -> Compiled<Typed> {
        let callee = self.operand(ir, callee)?;
        let mut operands = vec![callee];
        operands.extend(self.operands(ir, args)?);
        if let Some(Type::Function(name)) = operands.first().map(|callee| callee.layout.ty.clone())
            && let Callee::Function(function) = self.module.function_callee(&name)
        {
            return self.call(function, operands.split_off(1));
        }
        let ty = annotated.widened().unwrap_or_else(|| annotated.clone());
        let result = self.compiler.layouts.of(if ty.is_unknown() { &Type::Any } else { &ty });
        if let Some((callee, arguments)) = operands.split_first()
            && matches!(callee.layout.shape, Shape::Closure)
        {
            return self.call_closure(callee, arguments, result);
        }
        self.call_unknown(&operands, result)
    }

    /// Calls the first of these values with the others: a helper finds out what that is.
    pub(crate) fn call_unknown(&mut self, operands: &[Typed], result: Arc<Layout>) -> Compiled<Typed> {
        let layouts = operands.iter().map(|operand| operand.layout.clone()).collect();
        let what = What::CallValue(ValueCall { operands: layouts, result: result.clone() });
        self.helped(Helper::CallValue, what, operands, result)
    }

    /// Ends the call with an error; what follows is compiled as if there were a value.
    fn give_up(&mut self, what: What, annotated: &Type) -> Compiled<Typed> {
        let never = self.builder.ins().iconst(clif::I8, 0);
        self.guard(never, what, &[]);
        Ok(self.never(annotated))
    }

    /// A value of what is never reached.
    fn never(&mut self, annotated: &Type) -> Typed {
        let ty = annotated.widened().unwrap_or_else(|| annotated.clone());
        let layout = self.compiler.layouts.of(&ty);
        Typed { parts: self.placeholder(&layout), layout }
    }

    fn construct(&mut self, ty: &Type, operands: &[Typed]) -> Compiled<Typed> {
        let module = self.module.clone();
        match ty {
            Type::Scalar(_) if operands.len() == 1 => {
                let layout = self.compiler.layouts.of(ty);
                self.interpret(Work::Construct(ty.clone()), operands, layout)
            }
            Type::Named(_) | Type::Ref(_) if struct_info(&module, ty, operands.len()).is_some() => {
                self.new_struct(ty, operands)
            }
            _ => self.refuse(format!("a call of the type {ty}")),
        }
    }

    fn primitive(
        &mut self,
        ir: &IRCode,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        annotated: &Type,
    ) -> Compiled<Typed> {
        if !primitive.takes(args.len()) {
            return self.refuse(format!("`{}` of another number of operands", primitive.name));
        }
        let mut operands = self.operands(ir, args)?;
        let types = operands.iter().map(|operand| &operand.layout.ty);
        let has_methods = may_be_of_method(&self.module, primitive, types);
        if primitive.name == "rethrow" && operands.is_empty() {
            operands.push(self.the_exception(ir, &Type::Any)?);
        }
        let has_array = || operands.iter().any(|operand| matches!(operand.layout.shape, Shape::Array(..)));
        if MAPPING.contains(&primitive.name) || has_methods && (primitive.is_arithmetic() || !has_array()) {
            return self.refuse(format!("a call of `{}`", primitive.name));
        }
        if let Some(value) = self.union_primitive(primitive, args, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.scalar_primitive(primitive, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.aggregate_primitive(primitive, args, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.cell_primitive(primitive, args, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.array_primitive(primitive, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.slice_primitive(primitive.name, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.kept_primitive(primitive, args, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.restore_primitive(primitive, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.vector_length_primitive(primitive, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.shadow_primitive(primitive, &operands, annotated)? {
            return Ok(value);
        }
        if let Some(value) = self.stack_primitive(primitive, args, &operands)? {
            return Ok(value);
        }
        if let Some(value) = self.address_primitive(ir, primitive.name, &operands) {
            return Ok(value);
        }
        self.interpreted_primitive(primitive, &operands, annotated)
    }

    /// Lets the interpreter run a primitive.
    fn interpreted_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
        annotated: &Type,
    ) -> Compiled<Typed> {
        if matches!(primitive.compute, Compute::Machine) && crate::builtins::builtin(primitive.name).is_none() {
            return self.refuse(format!("the primitive `{}` of the host", primitive.name));
        }
        let ends = primitive.result == ResultType::Bottom;
        let annotated = annotated.widened().unwrap_or_else(|| annotated.clone());
        let ty = match (&annotated, primitive.result) {
            (_, ResultType::Bottom) => Type::Nothing,
            // What it returns is one of its operands, or of that type, whatever the listing says.
            (Type::Any | Type::Untyped, ResultType::Operand(at)) => match operands.get(at) {
                Some(operand) => operand.layout.ty.clone(),
                None => annotated,
            },
            (Type::Any | Type::Untyped, ResultType::Nothing) => Type::Nothing,
            (Type::Any | Type::Untyped, ResultType::Bool) => Type::BOOL,
            (Type::Any | Type::Untyped, ResultType::Int64) => Type::INT64,
            _ => annotated,
        };
        let result = self.compiler.layouts.of(&ty);
        let objects = operands.iter().any(|operand| !operand.layout.copies());
        let kept = primitive.transfer == Transfer::Aggregate && objects && result.is_boxed();
        // What only looks at its operands, and gives no object, mixes nothing.
        let looks = matches!(primitive.name, "print" | "println") || !primitive.effects.writes;
        let harmless = ends || looks && result.copies() && !result.hides_objects;
        let mixes = kept || self.mixes_objects(operands, &result) && !harmless;
        if mixes && !self.makes_what_nobody_catches() {
            return self.refuse(format!("`{}` of objects and of values of unknown type", primitive.name));
        }
        if SHARING.contains(&primitive.name) && objects {
            return self.refuse(format!("`{}`, to which it matters where an array lies", primitive.name));
        }
        self.interpret(Work::Primitive(primitive), operands, result)
    }

    /// Goes on if `fine` is not 0. Otherwise the interpreter's primitive knows what to throw; it is refused should it
    /// not throw.
    pub(crate) fn throws_unless(
        &mut self,
        fine: ir::Value,
        primitive: &'static Primitive,
        operands: &[Typed],
        otherwise: &'static str,
    ) -> Compiled<()> {
        let [off, on] = [(); 2].map(|()| self.builder.create_block());
        self.builder.set_cold_block(off);
        self.builder.ins().brif(fine, on, &[], off, &[]);
        self.seal(&[off, on]);
        self.builder.switch_to_block(off);
        let nothing = self.compiler.layouts.of(&Type::Nothing);
        self.interpret_seldom(Work::Primitive(primitive), operands, nothing)?;
        self.fail(What::Refused(otherwise), &[]);
        self.builder.switch_to_block(on);
        Ok(())
    }

    /// Whether something that the interpreter does may mix objects with values of unknown type. Native objects are
    /// copied for the interpreter, and what it did to them is written back. So one must not come to lie in a value that
    /// stays the interpreter's, nor one of the interpreter's become a native one: there would be two of it.
    pub(crate) fn mixes_objects(&self, operands: &[Typed], result: &Layout) -> bool {
        let objects = operands.iter().any(|operand| !operand.layout.copies());
        let hides = result.hides_objects || operands.iter().any(|operand| operand.layout.hides_objects);
        (objects || !result.copies()) && hides
    }

    fn expression(&mut self, ir: &IRCode, expr: &ExprNode<Positions>, annotated: &Type) -> Compiled<Typed> {
        match &expr.head {
            Head::New => {
                let Some((ty, args)) = expr.args.split_first() else { return self.refuse("`new` without a type") };
                let Some(ty) = made_type(&self.module, ir, ty) else {
                    return self.refuse("`new` of a type that is known only when it runs");
                };
                let operands = self.operands(ir, args)?;
                match ty {
                    Type::Tuple(_) => self.tuple(&operands),
                    ty if self.lacks_fields(&ty, operands.len()) && self.is_only_thrown(ir) => {
                        self.new_exception(&ty, operands)
                    }
                    ty => self.new_struct(&ty, &operands),
                }
            }
            Head::Boundscheck => {
                let value = expr.args.first().and_then(|arg| arg.as_constant()?.as_scalar().cloned());
                Ok(self.scalar_constant(&value.unwrap_or(Scalar::Bool(true))))
            }
            Head::StaticParameter => {
                let number = expr.args.first().and_then(|arg| arg.as_constant()?.as_scalar().map(Scalar::to_i128));
                let index = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
                match index.and_then(|index| ir.sptypes.get(index)) {
                    Some(parameter) => match static_parameter(&self.module, parameter) {
                        ircode::Constant::Type(ty) => Ok(self.unit(Type::TypeOf(ty))),
                        value => self.operand(ir, &Operand::Constant(value)),
                    },
                    None => self.refuse("a static parameter that is not there"),
                }
            }
            Head::ThrowUndefIfNot => {
                let [name, condition, ..] = expr.args.as_slice() else {
                    return self.refuse("a check whether a variable is defined without a condition");
                };
                let name = match name.as_constant() {
                    Some(ircode::Constant::Symbol(name)) => name.clone(),
                    _ => "##getfield##".into(),
                };
                let condition = self.operand(ir, condition)?;
                let (Some(ircode::ScalarType::Bool), Some(fine)) = (condition.layout.scalar(), condition.one()) else {
                    return self.refuse("a condition that is no Bool");
                };
                self.guard(fine, What::NotAssigned(name), &[]);
                Ok(self.unit(Type::Nothing))
            }
            Head::CopyAst => match expr.args.first() {
                Some(value) => self.operand(ir, value),
                None => Ok(self.unit(Type::Nothing)),
            },
            Head::PopException => self.pop_exception(ir, expr.args.first()),
            Head::TheException => self.the_exception(ir, annotated),
            Head::Leave => self.refuse("a handler that is left in the middle of a block"),
            head if head.is_for_compiler() => Ok(self.unit(Type::Nothing)),
            Head::Foreigncall => match foreign_primitive(expr) {
                Some((primitive, args)) => self.primitive(ir, primitive, args, annotated),
                // As in the interpreter, that is an error where it is called.
                None => self.give_up(What::Unsupported(foreign_text(&expr.args)), annotated),
            },
            other => self.refuse(format!("an expression `{}`", other.name())),
        }
    }

    /// A new tuple.
    pub(crate) fn tuple(&mut self, fields: &[Typed]) -> Compiled<Typed> {
        let ty = Type::tuple(fields.iter().map(|field| field.layout.ty.clone()));
        let is_nested = fields.iter().any(|field| matches!(field.layout.ty, Type::Tuple(_)));
        if is_nested && ty.is_larger_than(LARGEST_TUPLE) {
            return self.refuse("a tuple of tuples of which the type is too large");
        }
        let layout = self.compiler.layouts.of(&ty);
        self.assemble(layout, fields)
    }

    /// Whether nothing is done with the value of this statement but to throw it: in its block, from which control goes
    /// nowhere else.
    fn is_only_thrown(&self, ir: &IRCode) -> bool {
        let block = ir.block_of(SSAValue::from_index(self.statement)).and_then(BlockNumber::index);
        let rest = block
            .and_then(|block| ir.cfg.blocks.get(block))
            .and_then(|block| ir.stmts.stmts().get(self.statement + 1..block.stmts.end));
        let Some((Stmt::Return(last), rest)) = rest.and_then(<[_]>::split_last) else {
            return false;
        };
        if last.value.is_some() || rest.len() > MOST_BEFORE_THROW {
            return false;
        }
        let uses = |stmt: &&Stmt<Positions>| {
            let mut used = false;
            stmt.for_each_use(|value| used |= value.index() == Some(self.statement));
            used
        };
        let throws = |stmt: &Stmt<Positions>| {
            self.module.primitive_call(stmt).is_some_and(|(primitive, _)| primitive.name == "throw")
        };
        let mut users = rest.iter().filter(uses).peekable();
        users.peek().is_some() && users.all(throws)
    }

    /// Whether the value of this statement is only thrown, and nothing in the program catches: then it may hold copies
    /// of objects, as nobody but who is told of the error sees them.
    pub(crate) fn makes_what_nobody_catches(&self) -> bool {
        let hosts = self.module.extensions().is_some_and(|extensions| !extensions.primitives().is_empty());
        let function = self.module.functions().get(self.number);
        !self.compiler.catches() && !hosts && function.is_some_and(|function| self.is_only_thrown(&function.body))
    }

    fn lacks_fields(&mut self, ty: &Type, count: usize) -> bool {
        let layout = self.compiler.layouts.of(ty);
        layout.shape.fields().is_some_and(|fields| count < fields.len())
    }

    /// An exception, of whose fields the last may be left undefined.
    fn new_exception(&mut self, ty: &Type, mut operands: Vec<Typed>) -> Compiled<Typed> {
        let layout = self.compiler.layouts.of(ty);
        for field in layout.shape.fields().unwrap_or_default().iter().skip(operands.len()) {
            if !field.is_boxed() {
                return self.new_struct(ty, &operands);
            }
            // The number of no value.
            let missing = self.word(-1);
            operands.push(Typed { layout: field.clone(), parts: Parts::from_slice(&[missing]) });
        }
        self.new_struct(ty, &operands)
    }

    pub(crate) fn new_struct(&mut self, ty: &Type, operands: &[Typed]) -> Compiled<Typed> {
        let layout = self.compiler.layouts.of(ty);
        if layout.is_boxed() {
            let module = self.module.clone();
            let copies = operands.iter().all(|operand| operand.layout.copies());
            return match struct_info(&module, ty, operands.len()).filter(|_| copies) {
                Some(info) => self.interpret(Work::NewStruct(info), operands, layout),
                None => self.refuse(format!("a new {ty}")),
            };
        }
        self.assemble(layout, operands)
    }
}

/// The type of which `new` makes a value, given the operand that names it.
pub(crate) fn made_type(module: &Module<IRCode>, ir: &IRCode, operand: &Operand<Positions>) -> Option<Type> {
    match copied(ir, operand) {
        Operand::Constant(ircode::Constant::Type(ty)) => Some((**ty).clone()),
        Operand::Global(global) => match module.global_callee(global) {
            Callee::Type(ty) => Some(ty),
            Callee::Unknown(path) => Some(Type::parse(&path)),
            Callee::Primitive(primitive) => Some(Type::named(primitive.name)),
            Callee::Function(_) => None,
        },
        _ => None,
    }
}

/// What a value is a copy of, or the value itself.
fn copied<'i>(ir: &'i IRCode, operand: &'i Operand<Positions>) -> &'i Operand<Positions> {
    match operand {
        Operand::Value(value) => match value.index().and_then(|index| ir.stmts.stmts().get(index)) {
            Some(Stmt::Value(copied @ (Operand::Global(_) | Operand::Constant(_)))) => copied,
            _ => operand,
        },
        _ => operand,
    }
}
