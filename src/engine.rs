//! What runs a program: the interpreter, or native code.

use exec::{Limits, Machine, RunError, RunErrorKind, Value};
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
    /// What the run may use. Native code does not count statements: where their number is not the default, it is not taken.
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
    /// Why it was not native code, if that was asked for.
    pub why: Option<String>,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let function = if self.function.is_empty() { "the listing" } else { &self.function };
        match (self.engine, &self.why) {
            (Engine::Native | Engine::Auto, _) => write!(f, "{function}: native code"),
            (Engine::Interpreter, None) => write!(f, "{function}: interpreter"),
            (Engine::Interpreter, Some(why)) => write!(f, "{function}: interpreter: {why}"),
        }
    }
}

/// Why a run gives no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The run failed.
    #[error("{0}")]
    Run(#[from] RunError),
    /// Native code was asked for, and cannot run this.
    #[error("{0}")]
    NotNative(String),
}

/// Calls a function of a module, on the engine that the options say, and says which one that was.
///
/// Where [`Engine::Auto`] finds in the middle of a run that native code cannot go on, the interpreter starts anew with copies of the
/// arguments as they were; what the run changes is not seen in the arguments then.
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
    run_or_interpret(module, name, args, options, |args| Machine::with_limits(module, options.limits).call(name, args))
}

/// As [`run`], with an interpreter of the caller's own, which [shows what is printed](Machine::on_output), for instance.
///
/// # Errors
///
/// [`EngineError`].
pub fn run_or_interpret(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &RunOptions,
    interpret: impl FnOnce(&[Value]) -> Result<Value, RunError>,
) -> Result<(Value, Ran), EngineError> {
    let ran = |engine, why| Ran { function: name.into(), engine, why };
    let mut why = None;
    let mut copies = None;
    if options.engine != Engine::Interpreter {
        if options.engine == Engine::Auto {
            let machine = Machine::with_limits(module, options.limits);
            let copied = machine.copies(args).map_err(|kind| RunError { kind, trace: Vec::new() })?;
            copies = Some(copied);
        }
        match native(module, name, args, options.limits) {
            Ok(value) => return Ok((value, ran(Engine::Native, None))),
            Err(EngineError::NotNative(reason)) if options.engine == Engine::Auto => why = Some(reason),
            Err(error) => return Err(error),
        }
    }
    let args = copies.as_deref().unwrap_or(args);
    Ok((interpret(args)?, ran(Engine::Interpreter, why)))
}

#[cfg(feature = "native")]
fn native(module: &Module<IRCode>, name: &str, args: &[Value], limits: Limits) -> Result<Value, EngineError> {
    use exec::native::{CallError, Program};

    if limits.steps != Limits::default().steps {
        return Err(EngineError::NotNative("native code does not count statements, of which there is a limit".into()));
    }
    let Some(function) = module.function_index(name) else {
        return Err(RunError { kind: RunErrorKind::NoSuchFunction(name.into()), trace: Vec::new() }.into());
    };
    if let Some(printing) = printing(module, function) {
        return Err(EngineError::NotNative(format!("{printing} prints, which native code does not")));
    }
    let program =
        Program::compile(module, &[name], limits).map_err(|refused| EngineError::NotNative(refused.to_string()))?;
    program.call(name, args).map_err(|error| match error {
        CallError::Run(error) => EngineError::Run(error),
        refused @ CallError::Refused(_) => EngineError::NotNative(refused.to_string()),
    })
}

#[cfg(not(feature = "native"))]
fn native(_: &Module<IRCode>, _: &str, _: &[Value], _: Limits) -> Result<Value, EngineError> {
    Err(EngineError::NotNative("this program was built without native code".into()))
}

/// The name of a function that prints, among this one and those that it may call.
#[cfg(feature = "native")]
fn printing(module: &Module<IRCode>, function: usize) -> Option<String> {
    let graph = ircode::CallGraph::new(module);
    let mut work = vec![function];
    let mut seen = vec![false; module.functions().len()];
    while let Some(number) = work.pop() {
        if seen.get_mut(number).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        let function = module.functions().get(number)?;
        let prints = |stmt| {
            module.primitive_call(stmt).is_some_and(|(primitive, _)| matches!(primitive.name, "print" | "println"))
        };
        if function.body.stmts.stmts().iter().any(prints) {
            return Some(if function.name.is_empty() { "the listing".into() } else { function.name.to_string() });
        }
        work.extend(graph.callees(number));
    }
    None
}
