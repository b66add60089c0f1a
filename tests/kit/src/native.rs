//! The law for native code: it does what the interpreter does.

use std::fmt;

use exec::native::{CallError, Effort, Program};
use exec::{Limits, Machine, RunError, RunErrorKind, Value, first_difference};
use ircode::{IRCode, Module, Type, parse_module};

use crate::laws::{Broken, broken};

/// What became of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was compiled and did what the interpreter does.
    Same,
    /// It was not compiled, or its arguments cannot be passed to native code: why.
    Refused(String),
    /// A limit ended the run, which one in the interpreter or the memory of native code: what would have come of it
    /// nobody knows.
    Limited,
}

/// The module of this text, if it can be read and is right.
///
/// # Errors
///
/// What is wrong with it, and the text.
pub fn verified(text: &str) -> Result<Module<IRCode>, String> {
    let module = parse_module(text).map_err(|error| format!("{error}\n{text}"))?.module;
    for function in module.functions() {
        function.body.verify().map_err(|violations| format!("{violations}\n{text}"))?;
    }
    Ok(module)
}

/// A vector of these numbers; `nothing` if they are more than the machine may hold.
pub fn vector(machine: &Machine<'_>, numbers: &[f64]) -> Value {
    let values = numbers.iter().map(|&x| Value::from(x)).collect();
    machine.array(Type::FLOAT64, vec![numbers.len()], values).unwrap_or(Value::Nothing)
}

/// Native code gives the value that the interpreter gives to the last bit, but for what is in a NaN, or the same error
/// at the same place, and leaves the same in the arguments; what is one object there is one object here. It does so
/// again when it is called a second time, and when it was compiled with little effort. `args` makes the arguments anew
/// for each run, as a run may change them. What is compiled is what `changed` makes of the module: the same, or one
/// with a planted bug.
///
/// A function that the interpreter does not finish is not run: native code counts no steps.
///
/// # Errors
///
/// [`Broken`].
pub fn native_agrees(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<IRCode>),
) -> Result<Verdict, Broken> {
    const LAW: &str = "native code does what the interpreter does";
    let mut printed = String::new();
    let given = args();
    let mut machine = Machine::with_limits(module, limits).on_output(|text| printed.push_str(text));
    let expected = machine.call(name, &given).map_err(|error| (machine.exception().cloned(), error));
    drop(machine);
    if let Err((_, error)) = &expected
        && matches!(error.kind, RunErrorKind::StepLimit(_) | RunErrorKind::MemoryLimit(_))
    {
        return Ok(Verdict::Limited);
    }
    let mut compiled = module.clone();
    changed(&mut compiled);
    let runs: [(Effort, &[&str]); 2] =
        [(Effort::Full, &["", " the second time"]), (Effort::Quick, &[" with little effort"])];
    for (effort, times) in runs {
        let program = match Program::compile_with(&compiled, &[name], limits, effort) {
            Ok(program) => program,
            Err(not_compiled) if effort == Effort::Full => return Ok(Verdict::Refused(not_compiled.what)),
            Err(not_compiled) => return Err(broken(LAW, format!("with little effort: {not_compiled}"))),
        };
        for time in times {
            let own = args();
            let mut printed_now = String::new();
            let found = match program.call_catching(name, &own, &mut |text| printed_now.push_str(text)) {
                Ok(Ok(value)) => Ok(value),
                Ok(Err((exception, error))) => Err((Some(exception), error)),
                Err(CallError::Refused { what, .. }) => return Ok(Verdict::Refused(format!("{what}, passed on"))),
                Err(CallError::OutOfMemory(_)) => return Ok(Verdict::Limited),
                Err(CallError::Run(error)) => Err((None, error)),
                Err(other) => return Err(broken(LAW, other.to_string())),
            };
            let problem = match (&expected, &found) {
                (Ok(expected), Ok(found)) => difference(module, expected, &given, found, &own),
                (Err(expected), Err(found)) => error_difference(module, expected, &given, found, &own),
                _ => Some("one is an error".into()),
            };
            let problem = problem.or_else(|| (printed != printed_now).then(|| format!("{printed_now:?} is printed")));
            if let Some(problem) = problem {
                let shown = |result: &Result<Value, Failed>, args: &[Value]| match result {
                    Ok(value) => format!("{value} and {args:?}", args = Shown(args)),
                    Err((_, error)) => format!("{error} and {args:?}", args = Shown(args)),
                };
                let (expected, found) = (shown(&expected, &given), shown(&found, &own));
                return Err(broken(LAW, format!("{problem}: expected {expected}, but there is{time} {found}")));
            }
        }
    }
    Ok(Verdict::Same)
}

/// An error, and the exception if it is one.
type Failed = (Option<Value>, RunError);

/// Values as a user sees them.
struct Shown<'v>(&'v [Value]);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|value| format_args!("{value}").to_string())).finish()
    }
}

/// Where the results and the arguments after two runs differ, be it in which objects are the same.
fn difference(module: &Module<IRCode>, a: &Value, a_args: &[Value], b: &Value, b_args: &[Value]) -> Option<String> {
    let all = |result: &Value, args: &[Value]| -> Vec<Value> { std::iter::once(result).chain(args).cloned().collect() };
    let (a, b) = (all(a, a_args), all(b, b_args));
    first_difference(&a, &b)?;
    // Every NaN is made the same one.
    let machine = Machine::new(module);
    let plain = |values: &[Value]| machine.with_floats(values, |x| if x.is_nan() { f64::NAN } else { x });
    match (plain(&a), plain(&b)) {
        (Ok(a), Ok(b)) => first_difference(&a, &b).map(|place| format!("they differ in {place} (_2 is the result)")),
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    }
}

/// How two errors differ: in what they are, or where.
fn error_difference(
    module: &Module<IRCode>,
    (a_exception, a): &Failed,
    a_args: &[Value],
    (b_exception, b): &Failed,
    b_args: &[Value],
) -> Option<String> {
    let problem = match (a_exception, b_exception) {
        (Some(a), Some(b)) => difference(module, a, a_args, b, b_args),
        _ if a.kind.to_string() != b.kind.to_string() => Some("the errors differ".into()),
        _ => difference(module, &Value::Nothing, a_args, &Value::Nothing, b_args),
    };
    problem.or_else(|| (a.trace != b.trace).then(|| "the places of the errors differ".into()))
}
