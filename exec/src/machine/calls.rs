//! Starting calls, also of what is known only when the program runs.

use std::sync::Arc;

use ircode::{Callee, Name, Type, unqualified};

use super::mapping::{MAPPING, Mapping};
use super::{Fault, Frame, Run, Step, named};
use crate::error::RunErrorKind;
use crate::prepare::{Code, Source, may_be_method_for};
use crate::value::{Value, nearer_type, open_type};

impl Run<'_, '_> {
    /// Starts a call of a function by what is called, where that is a value of its own.
    pub(super) fn push_frame(&mut self, function: usize, callee: Option<Value>, args: Vec<Value>) -> Result<(), Fault> {
        let start = self.registers.len();
        self.registers.push(callee.unwrap_or(Value::Undefined));
        self.registers.extend(args);
        self.enter(function, start)
    }

    /// The same with the operands of a statement.
    pub(super) fn enter_with(
        &mut self,
        code: &Code,
        base: usize,
        function: usize,
        callee: Option<Source>,
        args: &[Source],
    ) -> Result<(), Fault> {
        let start = self.registers.len();
        self.registers.push(Value::Undefined);
        if let Some(callee) = callee {
            self.registers[start] = self.operand(code, base, callee, start)?;
        }
        for &arg in args {
            let value = self.operand(code, base, arg, start)?;
            self.registers.push(value);
        }
        self.enter(function, start)
    }

    /// An operand of a call. Where it is not defined, there is no call, of which the registers start here.
    fn operand(&mut self, code: &Code, base: usize, source: Source, start: usize) -> Result<Value, Fault> {
        let value = self.read(code, base, source).cloned();
        if value.is_err() {
            self.registers.truncate(start);
        }
        value
    }

    /// Starts a call whose registers start here: the value that is called, undefined if that is the function, and the
    /// arguments.
    fn enter(&mut self, function: usize, start: usize) -> Result<(), Fault> {
        let entered = self.try_enter(function, start);
        if entered.is_err() {
            self.registers.truncate(start);
        }
        entered
    }

    fn try_enter(&mut self, function: usize, base: usize) -> Result<(), Fault> {
        let code = self.machine.code(function).map_err(Fault::Fatal)?;
        if let (true, Some(arguments @ 2..)) = (code.varargs, code.arguments)
            && self.registers.len() - base >= arguments - 1
        {
            let rest = self.registers.split_off(base + arguments - 1);
            let rest = self.machine.runtime.tuple(rest)?;
            self.registers.push(rest);
        }
        let limits = self.machine.limits;
        if self.frames.len() >= limits.depth {
            return Err(Fault::Fatal(RunErrorKind::DepthLimit(limits.depth)));
        }
        let count = self.registers.len() - base;
        if let Some(expected) = code.arguments
            && count != expected
        {
            let function = code.name.clone();
            return Err(Fault::Fatal(RunErrorKind::Arity { function, expected: expected - 1, got: count - 1 }));
        }
        let counted = self.frames.last().map_or(0, |frame| frame.counted) + code.registers;
        if counted * size_of::<Value>() > limits.memory {
            return Err(Fault::OutOfMemory);
        }
        if matches!(self.registers[base], Value::Undefined) {
            self.registers[base] = Value::Function(code.name.clone());
        }
        self.registers.resize_with(base + code.registers, || Value::Undefined);
        self.registers.extend_from_slice(&code.compact.constants);
        let statement = match code.entry {
            Some(edge) => self.jump(&code, base, edge)?,
            None => self.first_statement(&code, 0)?,
        };
        self.frames.push(Frame {
            code,
            base,
            counted,
            statement,
            handlers: Vec::new(),
            stores: Vec::new(),
            mapping: None,
        });
        Ok(())
    }

    /// The first statement of a block, or of those that follow it while they are empty.
    fn first_statement(&self, code: &Code, mut block: usize) -> Result<usize, Fault> {
        loop {
            match code.block_range(block) {
                Some(range) if !range.is_empty() => return Ok(range.start),
                Some(_) => block += 1,
                None => return Err(Fault::Fatal(RunErrorKind::FellThrough)),
            }
        }
    }

    /// Calls a value, known only now.
    pub(super) fn call_value(&mut self, callee: Value, args: Vec<Value>) -> Result<Step, Fault> {
        match callee {
            Value::Function(name) | Value::Text(name) => self.call_function(&name, args),
            Value::Type(ty) => match self.method(&ty.to_string(), &args)? {
                Some(function) => Ok(Step::Call(function, None, args)),
                None => Ok(Step::Value(self.construct(&ty, &args)?)),
            },
            Value::Closure(closure) => {
                let captured = closure.0.fields.values().iter().cloned();
                self.call_function(&closure.0.function, args.into_iter().chain(captured).collect())
            }
            other => {
                // A closure of Julia's: its methods are named by its type.
                let of = format!("(::{})", other.type_of());
                if let Some(function) = self.method(&of, &args)? {
                    return Ok(Step::Call(function, Some(other), args));
                }
                let what = format!("a call of {other}, {}", other.type_of().with_article());
                Err(Fault::Fatal(RunErrorKind::Unsupported(what)))
            }
        }
    }

    /// Calls a function by its name, known only now.
    pub(super) fn call_function(&mut self, name: &Name, args: Vec<Value>) -> Result<Step, Fault> {
        match self.machine.module.function_callee(name) {
            Callee::Function(function) => Ok(Step::Call(function, None, args)),
            Callee::Primitive(primitive) => {
                if may_be_method_for(primitive, &args)
                    && let Some(function) = self.method(primitive.name, &args)?
                {
                    return Ok(Step::Call(function, None, args));
                }
                if MAPPING.contains(&primitive.name) && primitive.takes(args.len()) {
                    let mapping = Mapping::new(primitive.name, args.clone());
                    return mapping.map(Box::new).map(Step::Map).map_err(|fault| named(fault, primitive, &args));
                }
                Ok(Step::Value(self.machine.runtime.call_primitive(primitive, &args)?))
            }
            Callee::Type(ty) => self.call_value(Value::Type(Arc::new(ty)), args),
            Callee::Unknown(name) => {
                let plain = unqualified(&name);
                let method = match self.method(&name, &args)? {
                    None => self.method(plain, &args)?,
                    method => method,
                };
                match method {
                    Some(function) => Ok(Step::Call(function, None, args)),
                    None => Err(Fault::Fatal(RunErrorKind::UnknownFunction(name))),
                }
            }
        }
    }

    /// The method for arguments of these types: the one whose types are theirs exactly, else the most specific of those
    /// that take them, by the types that are above those of the arguments. An error where the program does not tell
    /// which that is.
    pub(super) fn method(&mut self, of: &str, args: &[Value]) -> Result<Option<usize>, Fault> {
        let mut fitting: Vec<(usize, Vec<Type>)> = Vec::new();
        // Those that may take them, and what the program would have to tell.
        let mut open: Vec<(usize, Vec<Type>, RunErrorKind)> = Vec::new();
        for &function in self.machine.module.methods(of) {
            let Ok(code) = self.machine.code(function) else { continue };
            let (first, rest): (&[Type], &[Type]) = match code.argtypes.get(1..).unwrap_or_default() {
                // What it collects.
                [first @ .., Type::Tuple(rest)] if code.varargs => (first, rest),
                types => (types, &[]),
            };
            if first.len() + rest.len() != args.len() {
                continue;
            }
            let taken = || first.iter().chain(rest);
            if args.iter().zip(taken()).all(|(arg, ty)| arg.type_of() == *ty) {
                return Ok(Some(function));
            }
            let (mut fits, mut unknown) = (true, None);
            for (arg, ty) in args.iter().zip(taken()) {
                match self.machine.runtime.known_isa(arg, ty) {
                    Some(true) => {}
                    Some(false) => fits = false,
                    None if ty.is_known_value() => {
                        let what = format!("a call of {of}, of which a method is for the value {ty} alone,");
                        unknown = unknown.or(Some(RunErrorKind::Unsupported(what)));
                    }
                    None => unknown = unknown.or_else(|| Some(open_type(arg, ty))),
                }
            }
            let types = || taken().cloned().map(Type::or_any).collect();
            match unknown {
                _ if !fits => {}
                Some(unknown) => open.push((function, types(), unknown)),
                None => fitting.push((function, types())),
            }
        }
        // The one method that there is was made for what is passed, though it is not understood what that is.
        if let ([(function, types, _)], []) = (open.as_slice(), fitting.as_slice()) {
            let known = |arg, ty| self.machine.runtime.known_isa(arg, ty) == Some(true);
            if args.iter().zip(types).all(|(arg, ty)| ty.is_known_value() || known(arg, ty)) {
                return Ok(Some(*function));
            }
        }
        let module = self.machine.module;
        let is_below = |types: &[Type], others: &[Type]| {
            args.iter().zip(types).zip(others).all(|((arg, ty), other)| {
                ty == other || module.is_a(ty, other) == Some(true) || nearer_type(arg, ty, other) == Some(true)
            })
        };
        let best = fitting.iter().find(|(_, types)| fitting.iter().all(|(_, others)| is_below(types, others)));
        let is_open = |others: &[Type]| best.is_none_or(|(_, types)| !is_below(types, others));
        if let Some((_, _, unknown)) = open.into_iter().find(|(_, others, _)| is_open(others)) {
            return Err(Fault::Fatal(unknown));
        }
        match (best, fitting.is_empty()) {
            (Some((function, _)), _) => Ok(Some(*function)),
            (None, true) => Ok(None),
            (None, false) => {
                let what = format!(
                    "a call of {of} of which several methods take the arguments, and none is the most specific,"
                );
                Err(Fault::Fatal(RunErrorKind::Unsupported(what)))
            }
        }
    }

    pub(super) fn construct(&mut self, ty: &Type, args: &[Value]) -> Result<Value, Fault> {
        self.machine.runtime.construct(ty, args)
    }
}
