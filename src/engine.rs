//! What runs a program: the interpreter, or native code.

#[cfg(feature = "native")]
use exec::RunErrorKind;
use exec::{Limits, Machine, RunError, Value};
use ircode::{IRCode, Module};

/// What runs a program. The results are the same to the last bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// The interpreter, which runs everything, and counts what it does.
    #[default]
    Interpreter,
    /// Machine code. What is not compiled is an error.
    Native,
    /// Machine code, or the interpreter for what is not compiled.
    Auto,
}

/// How a program is run.
///
/// ```
/// use bbkit::{Engine, RunOptions};
///
/// assert_eq!(RunOptions::default().engine, Engine::Interpreter);
/// assert_eq!(RunOptions::default().engine(Engine::Auto).engine, Engine::Auto);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunOptions {
    /// What the run may use. Native code does not count statements: where their number is not the default, it is not
    /// taken.
    pub limits: Limits,
    /// What runs it.
    pub engine: Engine,
}

impl RunOptions {
    /// With these limits.
    pub fn limits(self, limits: Limits) -> Self {
        RunOptions { limits, ..self }
    }

    /// On this engine.
    pub fn engine(self, engine: Engine) -> Self {
        RunOptions { engine, ..self }
    }
}

impl From<Limits> for RunOptions {
    fn from(limits: Limits) -> Self {
        RunOptions::default().limits(limits)
    }
}

/// What has run a function, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    /// The function, with which all that it calls was run.
    pub function: String,
    /// The engine: never [`Engine::Auto`].
    pub engine: Engine,
    /// Why it was not native code, if that was asked for, or not all of it: the interpreter may run what is called only
    /// where a run is about to fail.
    pub why: Option<String>,
    /// The statements of native code that the interpreter does.
    pub helped: Vec<String>,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let function = if self.function.is_empty() { "the listing" } else { &self.function };
        match (self.engine, &self.why) {
            (Engine::Native | Engine::Auto, None) => write!(f, "{function}: native code")?,
            (Engine::Native | Engine::Auto, Some(why)) => write!(f, "{function}: native code, but for errors: {why}")?,
            (Engine::Interpreter, None) => write!(f, "{function}: interpreter")?,
            (Engine::Interpreter, Some(why)) => write!(f, "{function}: interpreter: {why}")?,
        }
        self.helped.iter().try_for_each(|statement| write!(f, "\n{statement}"))
    }
}

/// Why a run gives no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Native code was asked for, and cannot run this.
    #[error(transparent)]
    NotNative(#[from] NotNative),
}

/// Why native code does not run something, or not to its end. Nothing of the caller's was changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotNative {
    /// There is a limit of statements, which the interpreter alone counts.
    #[error("native code does not count statements, of which there is a limit")]
    Counted,
    /// There is no machine code of it.
    #[cfg(feature = "native")]
    #[error(transparent)]
    NotCompiled(#[from] exec::native::NotCompiled),
    /// A value was met that native code does not take.
    #[cfg(feature = "native")]
    #[error(transparent)]
    Refused(Box<exec::native::CallError>),
    /// Native code needs more memory than there may be, as it frees what it made when the call is over.
    #[error("in native code {0}")]
    OutOfMemory(Box<RunError>),
    /// This was built without native code.
    #[error("this program was built without native code")]
    NotBuilt,
}

/// Calls a function of a module, on the engine that the options say, and says which one that was. What the program
/// prints goes nowhere.
///
/// ```
/// use bbkit::exec::Value;
/// use bbkit::ircode::parse_module;
/// use bbkit::{Engine, RunOptions};
///
/// let module = parse_module("
/// function tripled(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, 3.0)::Float64
/// └──      return %1
/// end
/// ")?.module;
/// for engine in [Engine::Interpreter, Engine::Auto] {
///     let (value, _) = bbkit::run(&module, "tripled", &[Value::from(0.5)], &RunOptions::default().engine(engine))?;
///     assert_eq!(value.to_string(), "1.5");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`EngineError`].
pub fn run(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &RunOptions,
) -> Result<(Value, Ran), EngineError> {
    run_with_output(module, name, args, options, &mut |_| ())
}

/// As [`run`], with what the program prints given to `output`: by native code when the call is over.
///
/// # Errors
///
/// [`EngineError`].
pub fn run_with_output(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &RunOptions,
    output: &mut dyn FnMut(&str),
) -> Result<(Value, Ran), EngineError> {
    let mut calls = Calls::new(module, name, options, output)?;
    let value = calls.call(args)?;
    Ok((value, calls.ran()))
}

/// A function that is called several times, on the engine that the options say, and is compiled once at most.
pub(crate) struct Calls<'m, 'o> {
    module: &'m Module<IRCode>,
    name: &'m str,
    options: RunOptions,
    native: Option<Native>,
    /// Why it is not run natively, if that was asked for.
    why: Option<String>,
    output: &'o mut dyn FnMut(&str),
}

impl<'m, 'o> Calls<'m, 'o> {
    /// Compiles the function, if it is to be.
    pub(crate) fn new(
        module: &'m Module<IRCode>,
        name: &'m str,
        options: &RunOptions,
        output: &'o mut dyn FnMut(&str),
    ) -> Result<Self, EngineError> {
        let mut calls = Calls { module, name, options: *options, native: None, why: None, output };
        if options.engine != Engine::Interpreter {
            match native(module, name, options.limits) {
                Ok(program) => {
                    calls.why = interpreted_parts(&program);
                    calls.native = Some(program);
                }
                Err(error) => calls.go_on_interpreted(error)?,
            }
        }
        Ok(calls)
    }

    /// Calls it.
    pub(crate) fn call(&mut self, args: &[Value]) -> Result<Value, EngineError> {
        if let Some(program) = &self.native {
            let leaves_the_rest = self.options.engine == Engine::Auto;
            match call_native(program, self.name, args, leaves_the_rest, self.output) {
                // The arguments are as they were, and nothing was printed.
                Err(error @ EngineError::NotNative(_)) => self.go_on_interpreted(error)?,
                done => return done,
            }
        }
        let mut machine = Machine::with_limits(self.module, self.options.limits).on_output(|text| (self.output)(text));
        Ok(machine.call(self.name, args)?)
    }

    /// What has run it, the last time.
    pub(crate) fn ran(&self) -> Ran {
        let engine = if self.native.is_some() { Engine::Native } else { Engine::Interpreter };
        let helped = self.native.as_ref().map(helped).unwrap_or_default();
        Ran { function: self.name.into(), engine, why: self.why.clone(), helped }
    }

    /// Leaves the rest to the interpreter, if that may run it.
    fn go_on_interpreted(&mut self, error: EngineError) -> Result<(), EngineError> {
        match error {
            EngineError::NotNative(reason) if self.options.engine == Engine::Auto => {
                self.native = None;
                self.why = Some(reason.to_string());
                Ok(())
            }
            error => Err(error),
        }
    }
}

#[cfg(feature = "native")]
type Native = exec::native::Program;

#[cfg(not(feature = "native"))]
type Native = std::convert::Infallible;

#[cfg(feature = "native")]
fn native(module: &Module<IRCode>, name: &str, limits: Limits) -> Result<Native, EngineError> {
    // Without a limit there is nothing to count.
    if ![Limits::default().steps, u64::MAX].contains(&limits.steps) {
        return Err(NotNative::Counted.into());
    }
    if module.function(name).is_none() {
        return Err(RunError::from(RunErrorKind::NoSuchFunction(name.into())).into());
    }
    Ok(Native::compile(module, &[name], limits).map_err(NotNative::NotCompiled)?)
}

/// What the interpreter runs of a program, and why.
#[cfg(feature = "native")]
fn interpreted_parts(program: &Native) -> Option<String> {
    let parts: Vec<String> = program.interpreted().iter().map(ToString::to_string).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The statements that native code leaves to the interpreter.
#[cfg(feature = "native")]
fn helped(program: &Native) -> Vec<String> {
    program.helped().iter().map(ToString::to_string).collect()
}

#[cfg(not(feature = "native"))]
fn helped(program: &Native) -> Vec<String> {
    match *program {}
}

#[cfg(not(feature = "native"))]
fn interpreted_parts(program: &Native) -> Option<String> {
    match *program {}
}

/// Calls a program. Where the interpreter is there for what native code cannot do, it may also be able to do with the
/// memory that there is.
#[cfg(feature = "native")]
fn call_native(
    program: &Native,
    name: &str,
    args: &[Value],
    leaves_the_rest: bool,
    output: &mut dyn FnMut(&str),
) -> Result<Value, EngineError> {
    use exec::native::CallError;

    let mut printed = String::new();
    let called = program.call_with_output(name, args, &mut |text| printed.push_str(text));
    let result = called.map_err(|error| match error {
        CallError::OutOfMemory(error) if leaves_the_rest => NotNative::OutOfMemory(Box::new(error)).into(),
        CallError::Run(error) | CallError::OutOfMemory(error) => EngineError::Run(error),
        refused => NotNative::Refused(Box::new(refused)).into(),
    });
    if !printed.is_empty() && !matches!(result, Err(EngineError::NotNative(_))) {
        output(&printed);
    }
    result
}

#[cfg(not(feature = "native"))]
fn native(_: &Module<IRCode>, _: &str, _: Limits) -> Result<Native, EngineError> {
    Err(NotNative::NotBuilt.into())
}

#[cfg(not(feature = "native"))]
fn call_native(program: &Native, _: &str, _: &[Value], _: bool, _: &mut dyn FnMut(&str)) -> Result<Value, EngineError> {
    match *program {}
}
