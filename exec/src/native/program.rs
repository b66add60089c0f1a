//! Compiled programs: calling them with values of the interpreter, and with memory of the caller.
#![allow(unsafe_code, reason = "calls machine code")]

mod argument;
pub(super) mod cell_values;
mod in_place;
pub(super) mod marshal;
mod pending;
mod write_back;

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ircode::wording::by_name;
use ircode::{IRCode, Module, Name, SSAValue, Type, with_element_copies};

pub use argument::{Argument, Float};
pub use in_place::Numbers;
pub use pending::Pending;

use super::compiler::lifted::Lifted;
use super::compiler::{Compiler, Entry, Finished, Rejected};
use super::effort::Effort;
use super::function::Refusal;
use super::function::decided::with_decided_branches;
use super::function::named_edges::with_named_edges;
use super::function::sites::What;
use super::runtime::context::Context;
use crate::error::{Place, RunError, RunErrorKind, shown_trace};
use crate::limits::Limits;
use crate::machine::{Fault, TRACE_ENDS, place};
use crate::value::{Value, known_isa};
use marshal::{Refused, are_assigned};

/// The stack with which a call starts, at least.
const STACK: usize = 1 << 20;

/// What must be left of the stack for helpers, when recursion is stopped.
const RESERVE: usize = 128 << 10;

/// Why a program is not compiled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct NotCompiled {
    /// The function.
    pub function: Name,
    /// The statement, as it is printed, with its number.
    pub statement: Option<(SSAValue, String)>,
    /// What it is that is not compiled.
    pub what: String,
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not compiled", self.what)?;
        match &self.statement {
            Some((number, text)) => write!(f, "\n  in {}: {number} = {text}", self.function),
            None => write!(f, "\n  in {}", self.function),
        }
    }
}

/// Why a call of native code gives no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The run failed, as it would in the interpreter.
    #[error(transparent)]
    Run(RunError),
    /// What was passed [in place](Program::call_in_place) is not of the type of its parameter.
    #[error("argument {argument}{} must be of type {expected}, but is {given}", by_name(.name))]
    Argument {
        /// The argument, counted from 0.
        argument: usize,
        /// Its name, if it has one.
        name: Option<Name>,
        /// The declared type.
        expected: Type,
        /// What was passed.
        given: String,
    },
    /// An argument, a result or something met on the way cannot be passed to or from native code: two arrays that share
    /// their elements, for instance. The interpreter can run the function: [`Program::call`] has changed nothing then.
    #[error("native code does not take {what}{}", shown_trace(trace))]
    Refused {
        /// What it does not take.
        what: String,
        /// The statement that met it, and the calls that led there, the innermost first; empty if it was passed.
        trace: Vec<Place>,
    },
    /// There was not enough memory, of which native code may need more than the interpreter: it frees what it made when
    /// the call is over. [`Program::call`] has changed nothing of the caller's; what the program printed was given out.
    #[error(transparent)]
    OutOfMemory(RunError),
}

impl CallError {
    /// The error for something that was passed.
    pub(super) fn refused(what: impl Into<String>) -> CallError {
        CallError::Refused { what: what.into(), trace: Vec::new() }
    }

    /// Why a call that has changed nothing of the caller's gives no value.
    fn unchanged(stopped: Stopped) -> CallError {
        match stopped {
            Stopped::Ended(kind @ RunErrorKind::MemoryLimit(_), trace) => {
                CallError::OutOfMemory(RunError { kind, trace })
            }
            other => other.into(),
        }
    }
}

impl From<RunError> for CallError {
    fn from(error: RunError) -> Self {
        CallError::Run(error)
    }
}

/// Functions of a module as machine code.
///
/// It can be called from several threads at once: each call has memory of its own, which is kept for the next one. The
/// code is given back to the system with the object.
///
/// ```
/// use exec::{Limits, Value};
/// use exec::native::Program;
/// use ircode::parse_module;
///
/// let module = parse_module("
/// function square(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?.module;
/// let program = Program::compile(&module, &["square"], Limits::default())?;
/// assert_eq!(program.call("square", &[Value::from(1.5)])?.to_string(), "2.25");
/// assert!((1..1000).contains(&program.code_size()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Program {
    names: Vec<Name>,
    interpreted: Vec<NotCompiled>,
    pub(crate) finished: Finished,
    /// What calls work with, while nobody uses it.
    #[allow(clippy::vec_box, reason = "each goes to a call and comes back, and is large")]
    idle: Mutex<Vec<Box<Context>>>,
    /// The bytes that a call has taken, at most.
    most_memory: AtomicUsize,
    flushes_subnormals: bool,
}

impl Program {
    /// Compiles these functions of a module, and all that they call.
    ///
    /// # Errors
    ///
    /// [`NotCompiled`] for the first statement found that cannot be compiled.
    pub fn compile(module: &Module<IRCode>, functions: &[&str], limits: Limits) -> Result<Program, NotCompiled> {
        Self::compile_with(module, functions, limits, Effort::Full)
    }

    /// As [`compile`](Program::compile), with as much work as that is worth.
    ///
    /// # Errors
    ///
    /// [`NotCompiled`], the same with any effort.
    pub fn compile_with(
        module: &Module<IRCode>,
        functions: &[&str],
        limits: Limits,
        effort: Effort,
    ) -> Result<Program, NotCompiled> {
        let numbers_in = |module: &Module<IRCode>| -> Result<Vec<usize>, NotCompiled> {
            let missing = |name: &str| {
                let what = "a function that the module does not have".into();
                NotCompiled { function: name.into(), statement: None, what }
            };
            functions.iter().map(|name| module.function_index(name).ok_or_else(|| missing(name))).collect()
        };
        let module = Arc::new(module.reached_from(numbers_in(module)?).into_owned());
        let numbers = numbers_in(&module)?;
        let lifted = Lifted::of(rewritten(&module));
        let told = |rejected: Rejected| {
            let function = lifted.original(rejected.function);
            not_compiled(&module, Rejected { function, ..rejected })
        };
        let mut finished = Compiler::run(&lifted, &numbers, limits, effort).map_err(told)?;
        // Errors show what the program says.
        if let Some(shared) = Arc::get_mut(&mut finished.shared) {
            shared.module = module.clone();
            for site in &mut shared.sites {
                site.function = lifted.original(site.function);
            }
        }
        let names = functions.iter().map(|name| Name::from(*name)).collect();
        let interpreted = finished.interpreted.iter().map(|rejected| told(rejected.clone())).collect();
        Ok(Program {
            names,
            interpreted,
            finished,
            idle: Mutex::new(Vec::new()),
            most_memory: AtomicUsize::new(0),
            flushes_subnormals: false,
        })
    }

    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.finished.shared.limits
    }

    /// Takes subnormal numbers for zero in calls, or not, as before. Processors take up to a hundred times as long for
    /// them, and adjoints of long recurrences become such numbers; results then differ from the interpreter's in them.
    ///
    /// Functions of the host run in this mode of the processor, too, which Rust's rules do not provide for: so far its
    /// compiler makes nothing of that.
    pub fn flush_subnormals(self, flush: bool) -> Self {
        Program { flushes_subnormals: flush, ..self }
    }

    /// What of the program cannot be compiled, and why, and is run by the interpreter, with what leads to it: it is
    /// called only where a run is about to fail, as what makes a message out of strings is. Where nobody catches errors
    /// and the host has no primitives, that is not tried at all.
    pub fn interpreted(&self) -> &[NotCompiled] {
        &self.interpreted
    }

    /// The statements of compiled functions that the interpreter does, each by a call that takes as long as hundreds of
    /// instructions, in the order of their compilation; without those that are reached only where a run is about to
    /// fail.
    pub fn helped(&self) -> Vec<NotCompiled> {
        let shared = &self.finished.shared;
        let helped = shared.sites.iter().filter_map(|site| {
            let What::Interpreted(interpreted) = &site.what else { return None };
            let what = interpreted.shown().filter(|_| !interpreted.seldom)?;
            let refusal = Refusal { statement: Some(site.statement), what };
            Some(not_compiled(&shared.module, Rejected { function: site.function, refusal }))
        });
        let mut all: Vec<NotCompiled> = helped.collect();
        all.dedup();
        all
    }

    /// The bytes of machine code.
    pub fn code_size(&self) -> usize {
        self.finished.bytes
    }

    /// The bytes that a call has taken for objects, at most, of those that are over or [pending](super::Pending).
    pub fn most_memory(&self) -> usize {
        self.most_memory.load(Ordering::Relaxed)
    }

    /// Remembers what a call has taken.
    pub(crate) fn measure(&self, context: &Context) {
        self.most_memory.fetch_max(context.memory.peak(), Ordering::Relaxed);
    }

    /// Calls a function on values of the interpreter. Arrays and other objects of the caller are copied for the call,
    /// and what it changed in them is written back.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call(&self, function: &str, args: &[Value]) -> Result<Value, CallError> {
        self.call_with_output(function, args, &mut |_| ())
    }

    /// The same, with what the program prints given to `output` when the call is over.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call_with_output(
        &self,
        function: &str,
        args: &[Value],
        output: &mut dyn FnMut(&str),
    ) -> Result<Value, CallError> {
        self.call_catching(function, args, output)?.map_err(|(_, error)| CallError::Run(error))
    }

    /// The same, of which an exception that comes out of the call is an outcome like any other: the value itself, with
    /// the objects that it holds, and what there is to say of it.
    ///
    /// # Errors
    ///
    /// [`CallError`], for all that is no exception.
    pub fn call_catching(
        &self,
        function: &str,
        args: &[Value],
        output: &mut dyn FnMut(&str),
    ) -> Result<Result<Value, (Value, RunError)>, CallError> {
        let outside = |kind: RunErrorKind| CallError::Run(kind.into());
        let entry = self.names.iter().position(|name| name.as_str() == function);
        let entry = entry.and_then(|entry| self.finished.entries.get(entry));
        let entry = entry.ok_or_else(|| outside(RunErrorKind::NoSuchFunction(function.into())))?;
        let expected = entry.signature.parameters.len();
        let fixed = if entry.signature.varargs { expected.saturating_sub(1) } else { expected };
        for (i, (arg, layout)) in args.iter().zip(&entry.signature.parameters).take(fixed).enumerate() {
            let is =
                known_isa(arg, &layout.ty).or_else(|| self.finished.shared.module.is_a(&arg.type_of(), &layout.ty));
            if is == Some(false) {
                let (expected, got) = (layout.ty.to_string(), arg.type_of().to_string());
                return Err(outside(RunErrorKind::ArgumentType { argument: i + 2, expected, got }));
            }
        }
        if args.len() < fixed || args.len() > fixed && !entry.signature.varargs {
            let kind = RunErrorKind::Arity { function: function.into(), expected, got: args.len() };
            return Err(outside(kind));
        }
        self.with_context(|context| match entry.signature.varargs {
            true => {
                let (own, collected) = args.split_at(fixed);
                let collected = context.runtime().tuple(collected.to_vec());
                let collected = collected.map_err(|fault| self.stopped(fault.into()))?;
                let args: Vec<Value> = own.iter().cloned().chain([collected]).collect();
                self.call_on(context, entry, &args, output)
            }
            false => self.call_on(context, entry, args, output),
        })
    }

    fn call_on(
        &self,
        context: &mut Context,
        entry: &Entry,
        args: &[Value],
        output: &mut dyn FnMut(&str),
    ) -> Result<Result<Value, (Value, RunError)>, CallError> {
        let sizes = entry.signature.parameters.iter().map(|layout| layout.size.next_multiple_of(16) as usize);
        let mut operands = vec![0_u128; sizes.sum::<usize>() / 16 + 1];
        let mut result = vec![0_u128; entry.signature.result.size as usize / 16 + 1];
        let address = operands.as_mut_ptr() as u64;
        let stored = context.with_layouts(|context, layouts| {
            are_assigned(args)?;
            let mut at = address;
            for (arg, layout) in args.iter().zip(&entry.signature.parameters) {
                // SAFETY: there is room for all arguments, each at a multiple of 16 bytes.
                unsafe { context.store(layouts, layout, arg, at)? };
                at += u64::from(layout.size.next_multiple_of(16));
            }
            let hiding = args.iter().zip(&entry.signature.parameters).filter(|(_, layout)| layout.hides_objects);
            context.check_apart(&hiding.map(|(arg, _)| arg.clone()).collect::<Vec<_>>())
        });
        stored.map_err(|refused| CallError::unchanged(self.stopped(refused)))?;
        // SAFETY: the arguments are those of the signature, and there is room for the result.
        let run = unsafe { self.run(context, entry, address, result.as_mut_ptr() as u64) };
        let printed = context.take_output();
        let had = context.with_layouts(|context, layouts| {
            let returned = match run {
                // SAFETY: the call has put its result there.
                Ok(()) => Ok(unsafe { context.load(layouts, &entry.signature.result, result.as_ptr() as u64)? }),
                // The caller's objects are as they were: the interpreter can start anew.
                Err(stopped @ (Stopped::Refused(..) | Stopped::Ended(RunErrorKind::MemoryLimit(_), _))) => {
                    return Ok(Err(stopped));
                }
                Err(stopped) => Err(stopped),
            };
            let changes = context.changes(layouts)?;
            Ok(Ok((returned, changes)))
        });
        let (returned, changes) = match had.unwrap_or_else(|refused| Err(self.stopped(refused))) {
            Ok(had) => had,
            Err(stopped) => {
                if !printed.is_empty() && !matches!(stopped, Stopped::Refused(..)) {
                    output(&printed);
                }
                return Err(CallError::unchanged(stopped));
            }
        };
        if !printed.is_empty() {
            output(&printed);
        }
        let written = context.with_layouts(|context, layouts| context.write_back(layouts, changes));
        let result = written.map_err(|refused| self.stopped(refused)).and(returned);
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(Stopped::Thrown(exception, trace)) => {
                let error = RunError::thrown(&exception, trace);
                Ok(Err((exception, error)))
            }
            Err(stopped) => Err(stopped.into()),
        }
    }

    fn stopped(&self, refused: Refused) -> Stopped {
        match refused {
            Refused::Value(what) => Stopped::Refused(what, Vec::new()),
            Refused::Fault(fault) => Stopped::failed(fault, Vec::new(), self.limits().memory),
        }
    }

    /// Lets somebody use what a call works with.
    pub(crate) fn with_context<T>(&self, work: impl FnOnce(&mut Context) -> T) -> T {
        let mut context = self.take_context();
        let done = work(&mut context);
        self.give_back(context);
        done
    }

    /// What a call works with, to be [given back](Self::give_back).
    pub(crate) fn take_context(&self) -> Box<Context> {
        let context = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        context.unwrap_or_else(|| Box::new(Context::new(self.finished.shared.clone())))
    }

    /// Keeps for the next call what one has worked with.
    pub(crate) fn give_back(&self, mut context: Box<Context>) {
        context.clear();
        self.measure(&context);
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(context);
    }

    /// Runs an entry.
    ///
    /// # Safety
    ///
    /// The arguments of its signature lie at `arguments`, each at a multiple of 16 bytes, and there is room for its
    /// result at `result`.
    pub(crate) unsafe fn run(
        &self,
        context: &mut Context,
        entry: &Entry,
        arguments: u64,
        result: u64,
    ) -> Result<(), Stopped> {
        if !context.make_globals() {
            return Err(Stopped::failed(Fault::OutOfMemory, Vec::new(), context.memory.limit()));
        }
        let address = entry.address as *const ();
        // SAFETY: the trampoline at this address has this signature; the code lives as long as `self`.
        let code: extern "C" fn(*mut Context, u64, u64) -> u8 = unsafe { std::mem::transmute(address) };
        let reserve = usize::try_from(self.finished.stack).unwrap_or(usize::MAX / 2).saturating_add(RESERVE);
        let mut call = || {
            context.start(reserve);
            match self.flushes_subnormals {
                true => super::runtime::subnormals::flushed(|| code(context, arguments, result)),
                false => code(context, arguments, result),
            }
        };
        let failed = stacker::maybe_grow(STACK / 2 + reserve, STACK + reserve, &mut call);
        if failed == 0 {
            return Ok(());
        }
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        let shared = &self.finished.shared;
        let sites = context.first_sites.iter().chain(&context.last_sites);
        let trace = sites.filter_map(|&site| {
            let site = shared.sites.get(site as usize)?;
            let name = &shared.module.functions().get(site.function)?.name;
            Some(place(&shared.module, Some(site.function), name, site.statement))
        });
        let mut trace: Vec<Place> = std::mem::take(&mut context.inner_places).into_iter().chain(trace).collect();
        if let Some(middle) = trace.len().checked_sub(2 * TRACE_ENDS) {
            trace.drain(TRACE_ENDS..TRACE_ENDS + middle);
        }
        if let Some(what) = context.refused.take() {
            return Err(Stopped::Refused(what, trace));
        }
        let fault = context.error.take().unwrap_or(Fault::Fatal(RunErrorKind::ReachedUnreachable));
        Err(Stopped::failed(fault, trace, shared.limits.memory))
    }
}

/// Why machine code has not come to its end.
pub(crate) enum Stopped {
    /// It cannot go on where the interpreter can, with this, at these places.
    Refused(String, Vec<Place>),
    /// An exception came out of it, from the statement and through the calls that are told.
    Thrown(Value, Vec<Place>),
    /// Another end of the run, and where.
    Ended(RunErrorKind, Vec<Place>),
}

impl Stopped {
    fn failed(fault: Fault, trace: Vec<Place>, memory: usize) -> Stopped {
        match fault {
            Fault::Throw(exception) => Stopped::Thrown(exception, trace),
            Fault::Fatal(kind) => Stopped::Ended(kind, trace),
            Fault::OutOfMemory => Stopped::Ended(RunErrorKind::MemoryLimit(memory), trace),
        }
    }
}

impl From<Stopped> for CallError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Refused(what, trace) => CallError::Refused { what, trace },
            Stopped::Thrown(exception, trace) => CallError::Run(RunError::thrown(&exception, trace)),
            Stopped::Ended(kind, trace) => CallError::Run(RunError { kind, trace }),
        }
    }
}

fn not_compiled(module: &Module<IRCode>, rejected: Rejected) -> NotCompiled {
    let name = module.functions().get(rejected.function).map(|function| function.name.clone());
    let name = name.unwrap_or_else(|| "".into());
    let statement = rejected.refusal.statement.map(|statement| {
        let place = place(module, Some(rejected.function), &name, statement);
        (place.statement, place.text)
    });
    NotCompiled { function: name, statement, what: rejected.refusal.what }
}

/// The module with φs that name all edges, with copies of elements in the place of those by addresses, and without
/// branches that are decided. Statements keep their numbers.
fn rewritten(module: &Arc<Module<IRCode>>) -> Arc<Module<IRCode>> {
    let mut rewritten = module.clone();
    for function in module.functions() {
        let mut body = with_named_edges(&function.body);
        for rewrite in [with_element_copies, with_decided_branches] {
            let changed = match rewrite(module, &body) {
                Cow::Owned(changed) => changed,
                Cow::Borrowed(_) => continue,
            };
            body = Cow::Owned(changed);
        }
        if let Cow::Owned(body) = body
            && let Some(place) = Arc::make_mut(&mut rewritten).body_mut(&function.name)
        {
            *place = body;
        }
    }
    rewritten
}
