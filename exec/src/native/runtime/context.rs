//! What a call of native code works with: its memory, the interpreter's values that it holds, and the error that ended
//! it.
#![allow(unsafe_code, reason = "reads and writes the memory that machine code works on")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};
use ircode::{IRCode, Module, Name, Type};

use super::memory::Memory;
use crate::builtins::Runtime;
use crate::error::{Place, RunErrorKind};
use crate::limits::Limits;
use crate::machine::TRACE_ENDS;
use crate::machine::{Fault, Machine};
use crate::native::arrays::resized::Resized;
use crate::native::compiler::Entry;
use crate::native::function::sites::Site;
use crate::native::layout::Layouts;
use crate::native::program::marshal::{Marshal, Refused};
use crate::native::values::cells::Made;
use crate::native::values::constants::Constants;
use crate::native::values::globals::Global;
use crate::object::Meter;
use crate::value::Value;

/// The stack of recursions that go deep. Memory that is not used costs nothing.
const RECURSIVE_STACK: usize = 256 << 20;

/// What does not change from call to call.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) module: Arc<Module<IRCode>>,
    pub(crate) sites: Vec<Site>,
    pub(crate) constants: Constants,
    /// The global arrays and objects that the code uses.
    pub(crate) globals: Vec<Global>,
    /// How many stacks remember how long they became.
    pub(crate) hints: usize,
    /// The functions that can be called as values, by their numbers.
    pub(crate) callable: HashMap<usize, Entry>,
    /// The closures that the code makes.
    pub(crate) closures: Arc<Vec<Made>>,
    /// The arrays that the code expects to become longer or shorter.
    pub(crate) resized: Arc<Resized>,
    /// The types of which objects are made without all of their fields.
    pub(crate) incomplete: HashSet<Type>,
    /// Whether the code asks for exceptions that it catches.
    pub(crate) looks_at_exceptions: bool,
    pub(crate) limits: Limits,
}

/// What a call works with. Machine code reads and writes the fields that [`offset`] names.
pub(crate) struct Context {
    /// How deep recursive functions have called one another.
    depth: u64,
    depth_limit: u64,
    /// The lowest address to which the stack may grow.
    stack_limit: u64,
    /// How many exceptions are being handled.
    caught: u64,
    pub(crate) memory: Memory,
    /// Where the addresses of the global arrays and objects lie.
    pub(crate) globals: u64,
    pub(crate) global_constants: Vec<u64>,
    exceptions: Vec<Value>,
    /// The bytes of the stack that are needed between two recursive calls.
    need: usize,
    is_on_another_stack: bool,
    pub(crate) shared: Arc<Shared>,
    /// For each stack that the code makes, how long the longest became.
    pub(crate) hints: Vec<u64>,
    /// The interpreter's values that the code names by number.
    pub(crate) values: Vec<Value>,
    /// Those that were known when it was compiled, by their numbers, as far as they were looked at.
    pub(crate) known: HashMap<usize, Value>,
    pub(crate) marshal: Marshal,
    /// What closures apply that is no function of the module, by numbers from
    /// [`OTHERS`](crate::native::program::cell_values::OTHERS) on.
    pub(crate) others: Vec<Name>,
    /// The layouts of the module's types, as far as they were asked for.
    layouts: Option<Layouts>,
    /// Made when something is done that the interpreter does.
    runtime: Option<Box<Runtime<'static>>>,
    /// What the program has printed.
    output: Arc<Mutex<String>>,
    pub(crate) error: Option<Fault>,
    /// Why native code cannot go on where the interpreter can: what it met is of another type than the code says, for
    /// instance.
    pub(crate) refused: Option<String>,
    /// What a function of the host panicked with, to be gone on with outside of machine code.
    pub(crate) panic: Option<Box<dyn std::any::Any + Send>>,
    /// The places in functions that the interpreter has run through which the error came, innermost first.
    pub(crate) inner_places: Vec<Place>,
    /// The sites through which it came from there on: as many as are told at the start, and the last ones.
    pub(crate) first_sites: Vec<u32>,
    pub(crate) last_sites: std::collections::VecDeque<u32>,
}

/// Where machine code finds the fields.
pub(crate) mod offset {
    use std::mem::offset_of;

    use super::Context;

    pub(crate) const DEPTH: i32 = offset_of!(Context, depth) as i32;
    pub(crate) const DEPTH_LIMIT: i32 = offset_of!(Context, depth_limit) as i32;
    pub(crate) const STACK_LIMIT: i32 = offset_of!(Context, stack_limit) as i32;
    pub(crate) const CAUGHT: i32 = offset_of!(Context, caught) as i32;
    pub(crate) const POSITION: i32 = offset_of!(Context, memory.position) as i32;
    pub(crate) const GLOBALS: i32 = offset_of!(Context, globals) as i32;
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("memory", &self.memory).finish_non_exhaustive()
    }
}

// SAFETY: between calls a context holds no values of the interpreter: `clear` drops them on the thread that made them.
unsafe impl Send for Context {}

impl Context {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Context {
            depth: 0,
            depth_limit: shared.limits.depth as u64,
            stack_limit: 0,
            caught: 0,
            need: 0,
            is_on_another_stack: false,
            memory: Memory::new(shared.limits.memory),
            globals: 0,
            global_constants: Vec::new(),
            exceptions: Vec::new(),
            hints: vec![0; shared.hints],
            values: Vec::new(),
            known: HashMap::new(),
            marshal: Marshal::default(),
            others: Vec::new(),
            layouts: None,
            runtime: None,
            output: Arc::default(),
            error: None,
            refused: None,
            panic: None,
            inner_places: Vec::new(),
            first_sites: Vec::new(),
            last_sites: std::collections::VecDeque::new(),
            shared,
        }
    }

    /// Prepares a call of a function that needs so much of the stack, or so much between two recursive calls, on the
    /// stack on which this runs.
    pub(crate) fn start(&mut self, need: usize) {
        self.depth = 0;
        self.stack_limit = lowest(need);
        self.need = need;
    }

    /// Goes on with another stack, where a recursive call has found too little left; there is one for a chain of calls.
    pub(crate) fn on_another_stack(&mut self, work: impl FnOnce(&mut Self) -> u8) -> u8 {
        if std::mem::replace(&mut self.is_on_another_stack, true) {
            return self.out_of_stack();
        }
        let before = self.stack_limit;
        let size = RECURSIVE_STACK + self.need;
        // It panics where the system has no such stack; code on it cannot, as a panic does not leave a helper.
        let status = catch_unwind(AssertUnwindSafe(|| {
            stacker::grow(size, || {
                self.stack_limit = lowest(self.need);
                work(self)
            })
        }));
        self.stack_limit = before;
        self.is_on_another_stack = false;
        status.unwrap_or_else(|_| self.out_of_stack())
    }

    /// Does something for machine code that may call a function of the host. Where that panics, the site fails, and the
    /// panic goes on where machine code was called: nothing unwinds through it.
    pub(crate) fn guarded<T>(&mut self, site: u32, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.panic = Some(panic);
                self.fail(site, Fault::Fatal(RunErrorKind::ReachedUnreachable));
                None
            }
        }
    }

    fn out_of_stack(&mut self) -> u8 {
        self.refused = Some("a recursion that needs so much of the stack".into());
        self.fail_outside(Fault::Fatal(RunErrorKind::DepthLimit(self.shared.limits.depth)));
        1
    }

    /// Forgets all values and objects, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
        self.forget_exceptions(0);
        self.marshal.clear();
        self.runtime = None;
        self.take_output();
        self.error = None;
        self.refused = None;
        self.inner_places.clear();
        self.first_sites.clear();
        self.last_sites.clear();
        self.global_constants.clear();
        self.memory.clear();
    }

    /// What the interpreter's primitives work with.
    pub(crate) fn runtime(&mut self) -> &mut Runtime<'static> {
        let (shared, output) = (&self.shared, &self.output);
        self.runtime.get_or_insert_with(|| {
            let module: *const Module<IRCode> = Arc::as_ptr(&shared.module);
            // SAFETY: the module lives as long as `shared`, which lives as long as the context, and the runtime is
            // dropped before either.
            let module: &'static Module<IRCode> = unsafe { &*module };
            let mut runtime = Runtime::new(module, Meter::new(shared.limits.memory));
            let output = output.clone();
            runtime.output = Box::new(move |text| output.lock().unwrap_or_else(PoisonError::into_inner).push_str(text));
            Box::new(runtime)
        })
    }

    /// What was printed since this was asked last.
    pub(crate) fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes that were printed since then.
    pub(crate) fn printed(&self) -> usize {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Keeps a value of the interpreter, and gives its number.
    pub(crate) fn keep(&mut self, value: Value) -> u64 {
        self.values.push(value);
        self.values.len() as u64 - 1
    }

    /// Ends the call with this error, at a site.
    pub(crate) fn fail(&mut self, site: u32, fault: Fault) {
        self.fail_outside(fault);
        self.pass_through(site);
    }

    /// The error for something that failed. What native code cannot do is remembered, as that is no error of the
    /// program.
    pub(crate) fn fault_of(&mut self, refused: Refused) -> Fault {
        match refused {
            Refused::Value(what) => {
                self.refused = Some(what.clone());
                Fault::Fatal(RunErrorKind::Unsupported(what))
            }
            Refused::Fault(fault) => fault,
        }
    }

    /// Ends the call with the error for something that failed at a site.
    pub(crate) fn refuse_or_fail(&mut self, site: u32, refused: Refused) {
        let fault = self.fault_of(refused);
        self.fail(site, fault);
    }

    /// Ends the call with this error, which has come about in no statement of the function that runs.
    pub(crate) fn fail_outside(&mut self, fault: Fault) {
        self.error = Some(fault);
        self.inner_places.clear();
        self.first_sites.clear();
        self.last_sites.clear();
    }

    /// The error came through the call at this site.
    pub(crate) fn pass_through(&mut self, site: u32) {
        if self.first_sites.len() < TRACE_ENDS {
            self.first_sites.push(site);
            return;
        }
        if self.last_sites.len() == TRACE_ENDS {
            self.last_sites.pop_front();
        }
        self.last_sites.push_back(site);
    }

    /// Lets the interpreter run a function, which may do what this call may still do, with these global constants.
    /// Where it fails, the places are kept.
    pub(crate) fn run_function(
        &mut self,
        number: usize,
        args: &[Value],
        globals: Vec<Option<Value>>,
    ) -> Result<Value, Refused> {
        let module = self.shared.module.clone();
        let Some(function) = module.functions().get(number) else {
            return Err(Fault::Fatal(RunErrorKind::InvalidCode(format!("there is no function {number}"))).into());
        };
        let nested = usize::try_from(self.depth).unwrap_or(usize::MAX);
        let limits = self.shared.limits;
        // Native code does not count statements.
        let rest = Limits { steps: u64::MAX, depth: limits.depth.saturating_sub(nested), ..limits };
        let output = self.output.clone();
        let print = move |text: &str| output.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        let mut machine = Machine::with_limits(&module, rest).on_output(print).with_globals(globals);
        let called = machine.call(&function.name, args);
        called.map_err(|error| {
            self.inner_places = error.trace;
            if let Some(exception) = machine.exception() {
                return Fault::Throw(exception.clone()).into();
            }
            match error.kind {
                RunErrorKind::DepthLimit(_) => Fault::Fatal(RunErrorKind::DepthLimit(limits.depth)).into(),
                // In the interpreter, calls of one function by another do not ask for this.
                RunErrorKind::ArgumentType { .. } => {
                    Refused::Value(format!("a call of `{}` with arguments of other types", function.name))
                }
                other => Fault::Fatal(other).into(),
            }
        })
    }

    /// Handles the error if it is an exception, as the only one beyond so many. What is no exception ends the run, as
    /// it does in the interpreter.
    pub(crate) fn catch(&mut self, depth: u64) -> bool {
        if self.refused.is_some() {
            return false;
        }
        match self.error.take() {
            Some(Fault::Throw(exception)) => {
                self.forget_exceptions(depth);
                self.exceptions.push(exception);
                self.caught = self.exceptions.len() as u64;
                true
            }
            other => {
                self.error = other;
                false
            }
        }
    }

    /// Leaves so many of the exceptions that are being handled.
    pub(crate) fn forget_exceptions(&mut self, depth: u64) {
        self.exceptions.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        self.caught = self.exceptions.len() as u64;
        if self.exceptions.is_empty() && !self.shared.looks_at_exceptions {
            self.marshal.forget_exceptions();
        }
    }

    /// The exception that is being handled.
    pub(crate) fn exception(&self) -> Option<Value> {
        self.exceptions.last().cloned()
    }

    /// Does something that needs layouts.
    pub(crate) fn with_layouts<T>(&mut self, work: impl FnOnce(&mut Self, &mut Layouts) -> T) -> T {
        let known = self.layouts.take();
        let mut layouts =
            known.unwrap_or_else(|| Layouts::new(self.shared.module.clone(), self.shared.closures.clone()));
        let done = work(self, &mut layouts);
        self.layouts = Some(layouts);
        done
    }
}

/// The address below which the stack must not be used by a function that needs so much more of it itself.
fn lowest(need: usize) -> u64 {
    let left = stacker::remaining_stack().unwrap_or(need);
    let here = std::ptr::from_ref(&left) as u64;
    here.saturating_sub(left.saturating_sub(need) as u64)
}

impl Drop for Context {
    fn drop(&mut self) {
        self.clear();
    }
}
