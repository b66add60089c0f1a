//! The interpreter.

mod calls;
mod handlers;
mod mapping;
mod types;
mod values;

use std::collections::BTreeSet;
use std::rc::Rc;

use ircode::primitives::{Compute, Primitive};
use ircode::text::{StatementPrinter, write_typed};
use ircode::{BlockNumber, IRCode, Module, Name, SSAValue, Scalar, Style, Type};

use crate::builtins::{Runtime, splatted};
use crate::compact::{self, Steps};
use crate::error::{Exception, Place, RunError, RunErrorKind};
use crate::host::{HostError, Objects};
use crate::limits::Limits;
use crate::object::{Meter, OutOfMemory};
use crate::prepare::{After, Code, Op, ScalarFunction, Source, prepare};
use crate::statistics::Statistics;
use crate::value::Value;
pub(crate) use mapping::MAPPING;
use mapping::Mapping;

/// Calls in a chain that are named in an error, at each end: the same by both engines.
pub(crate) const TRACE_ENDS: usize = 8;

/// Runs the functions of a module.
///
/// It is simple and exact, and the oracle of everything else: φs of a block are read together, every statement does
/// what Julia says, and every failure is a value that names its place. Calls need no stack of the host's, so recursion
/// is bounded by [`Limits`] only.
///
/// ```
/// use exec::{Machine, Value};
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function square(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?;
/// let value = Machine::new(&parsed.module).call("square", &[Value::from(1.5)])?;
/// assert_eq!(value.to_string(), "2.25");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machine<'m> {
    pub(crate) module: &'m Module<IRCode>,
    codes: Vec<Option<Rc<Code>>>,
    limits: Limits,
    steps: u64,
    runtime: Runtime<'m>,
    tracer: Option<Tracer<'m>>,
    /// What came out of the last call.
    exception: Option<Value>,
    /// Whether values are held against the types of statements.
    checks_types: bool,
    /// The structs whose fields count as saved, by the names of their types.
    saves: BTreeSet<Name>,
}

/// What is shown each statement that was executed, with its value.
type Tracer<'m> = Box<dyn FnMut(&str) + 'm>;

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("limits", &self.limits).field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// A call that is under way.
struct Frame {
    code: Rc<Code>,
    /// Where its registers start.
    base: usize,
    /// How many registers for arguments and statements it and the frames below it have.
    counted: usize,
    statement: usize,
    handlers: Vec<Handler>,
    /// By register, when its ϒ statement was executed, counted from 1; 0 or nothing if it was not. A φᶜ takes the
    /// latest.
    stores: Vec<u64>,
    /// The map that its statement is.
    mapping: Option<Box<Mapping>>,
}

/// Who handles exceptions.
struct Handler {
    /// The edge to the catch block; `None` for a handler that has caught already and waits to be left.
    catch: Option<u32>,
    /// Whether the catch block leaves the handler itself.
    old_style: bool,
    /// How many exceptions were being handled when it was entered.
    exceptions: usize,
}

/// Why a statement did not complete.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An exception that the program may catch.
    Throw(Value),
    /// The end of the run.
    Fatal(RunErrorKind),
    /// The memory limit.
    OutOfMemory,
}

impl From<OutOfMemory> for Fault {
    fn from(_: OutOfMemory) -> Self {
        Fault::OutOfMemory
    }
}

/// What happens after a statement.
enum Step {
    /// It had no value to give.
    Done,
    Value(Value),
    Jump(u32),
    /// A call of this function of the module, by what is called where that is a value of its own.
    Call(usize, Option<Value>, Vec<Value>),
    /// A call that was started.
    Entered,
    /// Calls of a function on the elements of arrays.
    Map(Box<Mapping>),
    Return(Value),
}

impl<'m> Machine<'m> {
    /// A machine for this module, with the default limits, whose output goes nowhere.
    pub fn new(module: &'m Module<IRCode>) -> Self {
        Machine::with_limits(module, Limits::default())
    }

    /// A machine with these limits.
    pub fn with_limits(module: &'m Module<IRCode>, limits: Limits) -> Self {
        Machine {
            module,
            codes: vec![None; module.functions().len()],
            limits,
            steps: 0,
            runtime: Runtime::new(module, Meter::new(limits.memory)),
            tracer: None,
            exception: None,
            checks_types: false,
            saves: BTreeSet::new(),
        }
    }

    /// Goes on with these arrays in the place of the module's [global constants](Module::global_constants), by their
    /// positions.
    #[cfg(feature = "native")]
    pub(crate) fn with_globals(mut self, arrays: Vec<Option<Value>>) -> Self {
        self.runtime.lend_globals(arrays);
        self
    }

    /// Sends what the program prints to `output`, piece by piece.
    pub fn on_output(mut self, output: impl FnMut(&str) + 'm) -> Self {
        self.runtime.output = Box::new(output);
        self
    }

    /// Sends every statement that is executed, with its value, to `tracer`.
    pub fn on_step(mut self, tracer: impl FnMut(&str) + 'm) -> Self {
        self.tracer = Some(Box::new(tracer));
        self
    }

    /// Says what a primitive does that the host has registered with the module as
    /// [`Primitive::machine`](ircode::primitives::Primitive::machine): one that works on other things than scalars. It
    /// is given the operands, of which there are as many as the primitive takes, and what makes arrays and tuples. A
    /// name that is not registered so is an error of every call.
    ///
    /// ```
    /// use exec::{Machine, Value};
    /// use ircode::parse_module;
    /// use ircode::primitives::{Effects, Primitive, ResultType};
    ///
    /// static TOTAL: Primitive = Primitive::machine("total", 1, ResultType::Element(0), Effects::READS);
    ///
    /// let mut module = parse_module("
    /// function f(v::Vector{Float64})::Float64
    /// 1 ─ %1 = Main.total(v)::Float64
    /// └──      return %1
    /// end
    /// ")?.module;
    /// module.register(&TOTAL)?;
    /// let mut machine = Machine::new(&module).define("total", |operands, _| {
    ///     let elements = operands[0].array_elements().ok_or("total of something that is no array")?;
    ///     Ok(Value::from(elements.iter().filter_map(Value::as_float).sum::<f64>()))
    /// });
    /// let v = machine.array(ircode::Type::FLOAT64, vec![2], vec![Value::from(1.5), Value::from(2.0)])?;
    /// assert_eq!(machine.call("f", &[v])?.to_string(), "3.5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn define(
        mut self,
        primitive: impl Into<Name>,
        f: impl FnMut(&[Value], &Objects<'_>) -> Result<Value, HostError> + 'm,
    ) -> Self {
        self.runtime.host.insert(primitive.into(), Box::new(f));
        self
    }

    /// The number of statements executed so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts the fields of structs of these types as [saved](Statistics::saved): for the traces of derivatives.
    pub fn count_saves_in<N: Into<Name>>(mut self, types: impl IntoIterator<Item = N>) -> Self {
        self.saves.extend(types.into_iter().map(Into::into));
        self
    }

    /// What was done so far.
    ///
    /// ```
    /// use exec::{Machine, Value};
    /// use ircode::parse_module;
    ///
    /// let text = "function f(x::Float64)\n1 ─ %1 = Core.tuple(x, x)::Tuple{Float64, Float64}\n└──      return %1\nend\n";
    /// let module = parse_module(text)?.module;
    /// let mut machine = Machine::new(&module);
    /// machine.call("f", &[Value::from(1.5)])?;
    /// let statistics = machine.statistics();
    /// assert_eq!((statistics.statements, statistics.objects, statistics.saved), (2, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        let (allocations, bytes, peak) = self.runtime.meter.counts();
        let objects = allocations.made();
        Statistics { statements: self.steps, saved: self.runtime.saved, objects, allocations, bytes, peak }
    }

    /// Calls a function. `args` are `_2` onwards.
    ///
    /// # Errors
    ///
    /// [`RunError`]: an exception that was not caught, something that cannot be run, a limit.
    pub fn call(&mut self, function: &str, args: &[Value]) -> Result<Value, RunError> {
        let outside = |kind: RunErrorKind| RunError::from(kind);
        self.exception = None;
        let index = self.module.function_index(function);
        let index = index.ok_or_else(|| outside(RunErrorKind::NoSuchFunction(function.into())))?;
        let is_defined_by_machines = |name: &Name| {
            let primitive = self.module.primitive(name);
            primitive.is_some_and(|primitive| matches!(primitive.compute, Compute::Machine))
        };
        if let Some(unknown) = self.runtime.host.keys().find(|name| !is_defined_by_machines(name)) {
            return Err(outside(RunErrorKind::NoSuchPrimitive(unknown.clone())));
        }
        self.runtime.reset_globals().map_err(|fault| outside(self.fatal(fault)))?;
        let code = self.code(index).map_err(outside)?;
        let fixed = code.argtypes.len().saturating_sub(if code.varargs { 2 } else { 1 });
        for (i, (arg, ty)) in args.iter().zip(code.argtypes.iter().skip(1).take(fixed)).enumerate() {
            if self.runtime.known_isa(arg, ty) == Some(false) {
                let (expected, got) = (ty.to_string(), arg.type_of().to_string());
                return Err(outside(RunErrorKind::ArgumentType { argument: i + 2, expected, got }));
            }
        }
        let mut run = Run { machine: self, frames: Vec::new(), registers: Vec::new(), exceptions: Vec::new() };
        run.push_frame(index, None, args.to_vec()).map_err(|fault| outside(run.machine.over(fault)))?;
        run.execute()
    }

    /// The exception that came out of the last [call](Self::call), with the objects that it holds.
    pub fn exception(&self) -> Option<&Value> {
        self.exception.as_ref()
    }

    /// Why a call is over that comes to such an end.
    fn over(&mut self, fault: Fault) -> RunErrorKind {
        if let Fault::Throw(exception) = &fault {
            self.exception = Some(exception.clone());
        }
        self.fatal(fault)
    }

    fn fatal(&self, fault: Fault) -> RunErrorKind {
        match fault {
            Fault::Throw(exception) => RunErrorKind::Exception(Exception::of(&exception)),
            Fault::Fatal(kind) => kind,
            Fault::OutOfMemory => RunErrorKind::MemoryLimit(self.limits.memory),
        }
    }

    fn code(&mut self, index: usize) -> Result<Rc<Code>, RunErrorKind> {
        if let Some(Some(code)) = self.codes.get(index) {
            return Ok(code.clone());
        }
        let Some(function) = self.module.functions().get(index) else {
            return Err(RunErrorKind::InvalidCode(format!("there is no function {index}")));
        };
        let code = Rc::new(prepare(self.module, function, &self.runtime, self.checks_types)?);
        if let Some(slot) = self.codes.get_mut(index) {
            *slot = Some(code.clone());
        }
        Ok(code)
    }
}

/// A run: the calls that are under way and their registers.
struct Run<'r, 'm> {
    machine: &'r mut Machine<'m>,
    frames: Vec<Frame>,
    registers: Vec<Value>,
    /// The exceptions that are being handled.
    exceptions: Vec<Value>,
}

impl Run<'_, '_> {
    /// Runs until the first frame returns.
    fn execute(&mut self) -> Result<Value, RunError> {
        loop {
            match self.run_frame() {
                Ok(Some(value)) => return Ok(value),
                Ok(None) => {}
                Err(Fault::Throw(exception)) => {
                    // The place is that of the throw, not of the frame that is reached by looking for a handler.
                    let trace = if self.has_handler() { Vec::new() } else { self.trace() };
                    match self.unwind(&exception) {
                        Ok(true) => {}
                        Ok(false) => {
                            return Err(RunError { kind: self.machine.over(Fault::Throw(exception)), trace });
                        }
                        Err(fault) => return Err(self.error(fault)),
                    }
                }
                Err(fault) => return Err(self.error(fault)),
            }
        }
    }

    fn error(&mut self, fault: Fault) -> RunError {
        let trace = self.trace();
        RunError { kind: self.machine.over(fault), trace }
    }

    fn pop_frame(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.registers.truncate(frame.base);
        }
    }

    fn set_statement(&mut self, statement: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.statement = statement;
        }
    }

    /// Runs the innermost frame until it calls or returns. The value of the outermost, when that returns.
    fn run_frame(&mut self) -> Result<Option<Value>, Fault> {
        let Some(frame) = self.frames.last() else {
            return Err(Fault::Fatal(RunErrorKind::FellThrough));
        };
        let (code, base) = (frame.code.clone(), frame.base);
        let mut statement = frame.statement;
        loop {
            // Who watches is shown each statement.
            if self.machine.tracer.is_none() && !self.machine.checks_types {
                statement = self.run_compact(&code, base, statement);
            }
            let step = match self.step(&code, base, statement) {
                Ok(step) => step,
                Err(fault) => {
                    self.set_statement(statement);
                    return Err(fault);
                }
            };
            let next = match step {
                Step::Done => self.advance(&code, base, statement),
                Step::Value(value) => self.finish(&code, base, statement, value),
                Step::Jump(edge) => {
                    self.report(&code, base, statement);
                    self.jump(&code, base, edge)
                }
                Step::Call(function, callee, args) => {
                    self.set_statement(statement);
                    self.push_frame(function, callee, args)?;
                    return Ok(None);
                }
                Step::Entered => return Ok(None),
                Step::Map(mapping) => {
                    self.set_statement(statement);
                    if let Some(frame) = self.frames.last_mut() {
                        frame.mapping = Some(mapping);
                    }
                    let Some(value) = self.continue_map()? else { return Ok(None) };
                    self.finish(&code, base, statement, value)
                }
                Step::Return(value) => {
                    self.report(&code, base, statement);
                    self.pop_frame();
                    return self.give_result(value);
                }
            };
            match next {
                Ok(next) => statement = next,
                Err(fault) => {
                    self.set_statement(statement);
                    return Err(fault);
                }
            }
        }
    }

    /// Runs what the compact form of the code can. The statement that it cannot.
    fn run_compact(&mut self, code: &Code, base: usize, statement: usize) -> usize {
        let Machine { runtime, steps, limits, .. } = &mut *self.machine;
        let steps = Steps { made: steps, limit: limits.steps };
        compact::run(&code.compact, &mut self.registers[base..], runtime, steps, statement)
    }

    /// Hands the result of a call to the frame that made it; to the outside, if none did.
    fn give_result(&mut self, value: Value) -> Result<Option<Value>, Fault> {
        let Some(frame) = self.frames.last_mut() else { return Ok(Some(value)) };
        let (code, base, statement) = (frame.code.clone(), frame.base, frame.statement);
        let value = match &mut frame.mapping {
            Some(mapping) => {
                mapping.push(value);
                match self.continue_map()? {
                    Some(value) => value,
                    None => return Ok(None),
                }
            }
            None => value,
        };
        let next = self.finish(&code, base, statement, value)?;
        self.set_statement(next);
        Ok(None)
    }

    /// Gives a statement its value. The statement that follows it.
    fn finish(&mut self, code: &Code, base: usize, statement: usize, value: Value) -> Result<usize, Fault> {
        self.registers[base + code.statement_register(statement)] = value;
        if self.machine.checks_types {
            self.check_type(code, base, statement)?;
        }
        self.report(code, base, statement);
        self.advance(code, base, statement)
    }

    /// The statement that follows this one.
    fn advance(&mut self, code: &Code, base: usize, statement: usize) -> Result<usize, Fault> {
        match code.after[statement] {
            After::Next => Ok(statement + 1),
            After::Edge(edge) => self.jump(code, base, edge),
            After::End => Err(Fault::Fatal(RunErrorKind::FellThrough)),
            After::Nowhere => Err(Fault::Fatal(RunErrorKind::ReturnedFromBottom)),
        }
    }

    /// Takes an edge: reads what the φs there take from it, writes it, and returns the statement to go on with.
    fn jump(&mut self, code: &Code, base: usize, edge: u32) -> Result<usize, Fault> {
        let edge = &code.edges[edge as usize];
        match edge.moves.as_slice() {
            [] => {}
            [(to, source)] => {
                let value = source.map_or(Value::Undefined, |source| self.peek(code, base, source).clone());
                self.registers[base + *to as usize] = value;
            }
            moves => {
                let read = |(_, source): &(u32, Option<Source>)| {
                    source.map_or(Value::Undefined, |source| self.peek(code, base, source).clone())
                };
                let values: Vec<Value> = moves.iter().map(read).collect();
                for ((to, _), value) in moves.iter().zip(values) {
                    self.registers[base + *to as usize] = value;
                }
            }
        }
        if self.machine.checks_types {
            for (to, _) in &edge.moves {
                self.check_type(code, base, code.statement_of(*to as usize))?;
            }
        }
        match edge.statement {
            Some(statement) => Ok(statement as usize),
            None => Err(Fault::Fatal(RunErrorKind::FellThrough)),
        }
    }

    /// The value of an operand, whether it is defined or not.
    fn peek<'v>(&'v self, code: &'v Code, base: usize, source: Source) -> &'v Value {
        match source {
            Source::Register(register) => &self.registers[base + register as usize],
            Source::Constant(constant) => &code.constants[constant as usize],
        }
    }

    /// The value of an operand, which must be defined.
    fn read<'v>(&'v self, code: &'v Code, base: usize, source: Source) -> Result<&'v Value, Fault> {
        match (self.peek(code, base, source), source) {
            (Value::Undefined, Source::Register(register)) => {
                Err(Fault::Fatal(RunErrorKind::Undefined(code.register_name(register as usize))))
            }
            (value, _) => Ok(value),
        }
    }

    fn read_all(&self, code: &Code, base: usize, sources: &[Source]) -> Result<Vec<Value>, Fault> {
        sources.iter().map(|&source| self.read(code, base, source).cloned()).collect()
    }

    fn count_step(&mut self) -> Result<(), Fault> {
        self.machine.steps += 1;
        match self.machine.steps > self.machine.limits.steps {
            true => Err(Fault::Fatal(RunErrorKind::StepLimit(self.machine.limits.steps))),
            false => Ok(()),
        }
    }

    fn step(&mut self, code: &Code, base: usize, statement: usize) -> Result<Step, Fault> {
        self.count_step()?;
        Ok(match &code.ops[statement] {
            Op::Nothing => Step::Done,
            Op::Copy(source) => Step::Value(self.read(code, base, *source)?.clone()),
            Op::Scalars { primitive, f, args } => Step::Value(self.scalars(code, base, primitive, *f, args)?),
            Op::Convert { primitive, f, args: [ty, value] } => {
                let (ty, value) = (self.read(code, base, *ty)?, self.read(code, base, *value)?);
                match (ty, value) {
                    (Value::Type(ty), Value::Scalar(scalar)) => match ty.as_scalar() {
                        Some(ty) => Step::Value(Value::Scalar(f(ty, scalar).map_err(|failure| {
                            self.machine.runtime.failure(primitive, failure, std::slice::from_ref(value))
                        })?)),
                        None => return Err(wrong_operands(primitive, "a number type", &[Value::Type(ty.clone())])),
                    },
                    _ => {
                        let args = [ty.clone(), value.clone()];
                        return Err(self.machine.runtime.not_numbers(primitive, "a type and a number", &args));
                    }
                }
            }
            Op::Builtin { primitive, f, args } => {
                let args = self.read_all(code, base, args)?;
                Step::Value(f(&mut self.machine.runtime, &args).map_err(|fault| named(fault, primitive, &args))?)
            }
            Op::Host { primitive, args } => {
                let args = self.read_all(code, base, args)?;
                Step::Value(self.machine.runtime.call_host(primitive, &args)?)
            }
            Op::Goto(edge) => Step::Jump(*edge),
            Op::GotoIfNot { cond, dest, next } => match self.read(code, base, *cond)? {
                Value::Scalar(Scalar::Bool(true)) => Step::Jump(*next),
                Value::Scalar(Scalar::Bool(false)) => Step::Jump(*dest),
                other => return Err(Fault::Fatal(RunErrorKind::NotBool(other.to_string()))),
            },
            Op::Return(source) => Step::Return(self.read(code, base, *source)?.clone()),
            Op::Unreachable => return Err(Fault::Fatal(RunErrorKind::ReachedUnreachable)),
            Op::Call { function, callee, args } => {
                self.set_statement(statement);
                self.enter_with(code, base, *function, *callee, args)?;
                Step::Entered
            }
            Op::CallName { path, args } => {
                let args = self.read_all(code, base, args)?;
                self.call_function(path, args)?
            }
            Op::Splat { callee, args } => {
                let args = self.read_all(code, base, args)?;
                let callee = self.read(code, base, *callee)?.clone();
                let splatted = splatted(&args).map_err(|_| {
                    Fault::Fatal(RunErrorKind::Unsupported(
                        "splatting what is no tuple, array, short range or number".into(),
                    ))
                })?;
                self.call_value(callee, splatted)?
            }
            Op::CallValue { callee, args } => {
                let args = self.read_all(code, base, args)?;
                let callee = self.read(code, base, *callee)?.clone();
                self.call_value(callee, args)?
            }
            Op::Construct { ty, args } => {
                let args = self.read_all(code, base, args)?;
                Step::Value(self.construct(ty, &args)?)
            }
            Op::NewStruct { info, args } => {
                let args = self.read_all(code, base, args)?;
                if let Type::Named(name) = &info.ty
                    && self.machine.saves.contains(name)
                {
                    let values = args.iter().filter(|arg| !matches!(arg, Value::Stack(_)));
                    self.machine.runtime.saved += values.count() as u64;
                }
                Step::Value(self.machine.runtime.new_structure(info.clone(), args)?)
            }
            Op::SplatNew { ty, fields } => {
                let fields = self.read(code, base, *fields)?.clone();
                match (self.read(code, base, *ty)?.clone(), fields.as_tuple()) {
                    (Value::Type(ty), Some(fields)) => Step::Value(self.machine.runtime.new_of(&ty, fields.to_vec())?),
                    (other, _) => return Err(Fault::Fatal(RunErrorKind::Unsupported(format!("making a new {other}")))),
                }
            }
            Op::NewTuple { args } => {
                let args = self.read_all(code, base, args)?;
                Step::Value(self.machine.runtime.tuple(args)?)
            }
            Op::NewOf { ty, args } => {
                let args = self.read_all(code, base, args)?;
                match self.read(code, base, *ty)?.clone() {
                    Value::Type(ty) => Step::Value(self.machine.runtime.new_of(&ty, args)?),
                    Value::Text(name) => {
                        let ty = Type::named(name);
                        Step::Value(self.machine.runtime.new_of(&ty, args)?)
                    }
                    other => return Err(Fault::Fatal(RunErrorKind::Unsupported(format!("making a new {other}")))),
                }
            }
            Op::Enter { catch, old_style, next } => {
                let exceptions = self.exceptions.len();
                if let Some(frame) = self.frames.last_mut() {
                    frame.handlers.push(Handler { catch: *catch, old_style: *old_style, exceptions });
                }
                self.registers[base + code.statement_register(statement)] = Value::from(exceptions as i64);
                Step::Jump(*next)
            }
            Op::Leave { handlers, next } => {
                if let Some(frame) = self.frames.last_mut() {
                    let rest = frame.handlers.len().saturating_sub(*handlers);
                    frame.handlers.truncate(rest);
                }
                Step::Jump(*next)
            }
            Op::PopException(token) => {
                let depth = self.read(code, base, *token)?.as_integer().and_then(|depth| usize::try_from(depth).ok());
                let Some(depth) = depth else {
                    let what = "a pop_exception takes what an enter has given".into();
                    return Err(Fault::Fatal(RunErrorKind::InvalidCode(what)));
                };
                self.exceptions.truncate(depth);
                Step::Value(Value::Nothing)
            }
            Op::TheException => match self.exceptions.last() {
                Some(exception) => Step::Value(exception.clone()),
                None => return Err(Fault::Fatal(RunErrorKind::Undefined("the current exception".into()))),
            },
            Op::Rethrow => match self.exceptions.last() {
                Some(exception) => return Err(Fault::Throw(exception.clone())),
                None => return Err(Fault::Fatal(RunErrorKind::Undefined("the current exception".into()))),
            },
            Op::PhiC(stores) => Step::Value(self.latest_stored(base, stores)),
            Op::Upsilon(source) => {
                let value = source.map_or(Value::Undefined, |source| self.peek(code, base, source).clone());
                self.note_stored(code.statement_register(statement));
                Step::Value(value)
            }
            Op::ThrowUndefIfNot { name, cond } => match self.read(code, base, *cond)? {
                Value::Scalar(Scalar::Bool(true)) => Step::Value(Value::Nothing),
                _ => {
                    let name = Value::Symbol(name.clone());
                    return Err(self.machine.runtime.exception("UndefVarError", &["var"], vec![name]));
                }
            },
            Op::Fail(kind) => return Err(Fault::Fatal(kind.clone())),
        })
    }

    fn scalars(
        &self,
        code: &Code,
        base: usize,
        primitive: &'static Primitive,
        f: ScalarFunction,
        args: &[Source],
    ) -> Result<Value, Fault> {
        let mut scalars = [const { Scalar::Bool(false) }; 4];
        let mut more = Vec::new();
        let operands = match scalars.get_mut(..args.len()) {
            Some(operands) => operands,
            None => {
                more.resize(args.len(), Scalar::Bool(false));
                &mut more
            }
        };
        for (operand, &source) in operands.iter_mut().zip(args) {
            match self.read(code, base, source)? {
                Value::Scalar(scalar) => *operand = scalar.clone(),
                _ => {
                    let args = self.read_all(code, base, args)?;
                    return Err(self.machine.runtime.not_numbers(primitive, "numbers", &args));
                }
            }
        }
        f(operands).map(Value::Scalar).map_err(|failure| {
            let args: Vec<Value> = operands.iter().cloned().map(Value::Scalar).collect();
            self.machine.runtime.failure(primitive, failure, &args)
        })
    }

    /// Tells the tracer what the statement gave.
    fn report(&mut self, code: &Code, base: usize, statement: usize) {
        let Some(tracer) = &mut self.machine.tracer else { return };
        let body = self.machine.module.function(&code.name).map(|function| &function.body);
        let text = body.map(|body| statement_text(body, statement)).unwrap_or_default();
        let mut line = format!("{} %{} = {text}", code.name, statement + 1);
        let value = self.registers.get(base + code.statement_register(statement));
        if let Some(value) = value
            && code.has_value(statement)
        {
            line.push_str(&format!(" → {value}"));
        }
        tracer(&line);
    }

    /// The calls that are under way, innermost first; the middle of a long chain is left out.
    fn trace(&self) -> Vec<Place> {
        let count = self.frames.len();
        let shown = |i: usize| i < TRACE_ENDS || i + TRACE_ENDS >= count;
        let frames = self.frames.iter().rev().enumerate().filter(|(i, _)| shown(*i));
        frames.map(|(_, frame)| self.place(frame)).collect()
    }

    fn place(&self, frame: &Frame) -> Place {
        let module = self.machine.module;
        let at = module.functions().iter().position(|function| function.name == frame.code.name);
        place(module, at, &frame.code.name, frame.statement)
    }
}

/// A statement of a function, counted from 0, of the function at this position in the module.
pub(crate) fn place(module: &Module<IRCode>, at: Option<usize>, name: &Name, statement: usize) -> Place {
    let value = SSAValue::from_index(statement);
    let body = at.and_then(|at| module.functions().get(at)).map(|function| &function.body);
    let origin = body.and_then(|body| body.debuginfo.origins(body.line(value)?).into_iter().last());
    Place {
        function: name.clone(),
        block: body.and_then(|body| body.block_of(value)).unwrap_or(BlockNumber::from_index(0)),
        statement: value,
        text: body.map(|body| statement_text(body, statement)).unwrap_or_default(),
        origin,
    }
}

/// The statement as it is printed.
fn statement_text(body: &IRCode, statement: usize) -> String {
    let value = SSAValue::from_index(statement);
    let mut text = String::new();
    if let (Some(stmt), Some(ty)) = (body.stmt(value), body.ty(value)) {
        // Writing to a string does not fail.
        let _ = write_typed(&mut text, &StatementPrinter::new(Style::Julia), stmt, ty);
    }
    text
}

/// The operands of a primitive, and what it takes instead.
pub(crate) fn wrong_operands(primitive: &Primitive, expected: &str, args: &[Value]) -> Fault {
    let got: Vec<String> = args.iter().map(|arg| format!("{arg}::{:?}", arg.type_of())).collect();
    let got = if got.is_empty() { "nothing".into() } else { got.join(", ") };
    Fault::Fatal(RunErrorKind::Operands { primitive: primitive.name, expected: expected.into(), got })
}

/// Gives a failure the name of the primitive that had it.
pub(crate) fn named(fault: Fault, primitive: &'static Primitive, args: &[Value]) -> Fault {
    match fault {
        Fault::Fatal(RunErrorKind::Operands { primitive: "", expected, .. }) => {
            wrong_operands(primitive, &expected, args)
        }
        other => other,
    }
}
