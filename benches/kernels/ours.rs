//! What this library makes of a function that the interpreter runs: the only file that knows how that is done.

use std::time::Instant;

use bbkit::GradientOptions;
use bbkit::exec::native::Program;
use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::{IRCode, Module, Name, Type, parse_module};
use bbkit::passes::reverse_mode::{Options, derive};

use super::Failure;

/// How functions are run, for the heading of the table.
pub(crate) const ENGINE: &str = "interpreter";

/// No limit on steps: a bench knows how long it runs.
const LIMITS: Limits = Limits { steps: u64::MAX, memory: 8 << 30, depth: 100_000 };

/// A function that can be called, with its derivative.
#[derive(Debug)]
pub(crate) struct Ours {
    module: Module<IRCode>,
    function: Name,
    gradient: Name,
}

/// Steps on the way from text to a gradient that can be called, with what each took, in nanoseconds.
pub(crate) type Phases = Vec<(&'static str, f64)>;

/// An argument.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A number.
    Float(f64),
    /// A size.
    Integer(usize),
    /// A vector.
    Vector(Vec<f64>),
}

/// What a call leaves for later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    /// Statements that the function executes.
    pub(crate) statements: u64,
    /// Statements that its value with gradient executes.
    pub(crate) gradient_statements: u64,
    /// Values saved on the way forward for the way back.
    pub(crate) saved: u64,
    /// The most memory that the gradient has at one time, beside its arguments, in bytes.
    pub(crate) peak: u64,
}

impl Ours {
    /// The first function of a module, from text to what can be called, and how long each step took.
    pub(crate) fn of_text(text: &str) -> Result<(Ours, Phases), Failure> {
        let mut phases = Phases::new();
        let mut start = Instant::now();
        let mut done = |phase| {
            phases.push((phase, start.elapsed().as_nanos() as f64));
            start = Instant::now();
        };
        let module = parse_module(text)?.module;
        done("parse");
        for function in module.functions() {
            function.body.verify()?;
        }
        done("verify");
        let function = module.functions().first().ok_or("a module without functions")?.name.clone();
        let given = module.functions().len();
        let mut derived = bbkit::into_bbcode(module)?;
        done("to BBCode");
        let names = derive(&mut derived, &function, &Options { only_joined: true, ..Options::default() })?.names;
        done("derive");
        // What is made stands behind what was given.
        for made in derived.functions().iter().skip(given) {
            made.body.verify()?;
        }
        done("verify derivative");
        let derived = bbkit::into_ircode(derived)?;
        done("to IRCode");
        Ok((Ours { module: derived, function, gradient: names.value_and_gradient }, phases))
    }

    /// The gradient as machine code.
    pub(crate) fn compiled(&self) -> Result<Program, Failure> {
        Ok(Program::compile(&self.module, &[&self.gradient], LIMITS)?)
    }

    /// What can be called again and again on the same arguments.
    pub(crate) fn session(&self, arguments: &[Argument]) -> Result<Session<'_>, Failure> {
        let machine = Machine::with_limits(&self.module, LIMITS);
        let arguments = arguments.iter().map(|argument| value(&machine, argument)).collect::<Result<_, _>>()?;
        Ok(Session { ours: self, machine, arguments, partials: Vec::new() })
    }

    /// What value and gradient cost, counted in a run of their own.
    pub(crate) fn trace(text: &str, arguments: &[Argument]) -> Result<Trace, Failure> {
        let module = parse_module(text)?.module;
        let name = module.functions().first().ok_or("a module without functions")?.name.clone();
        let machine = Machine::with_limits(&module, LIMITS);
        let arguments: Vec<Value> =
            arguments.iter().map(|argument| value(&machine, argument)).collect::<Result<_, Failure>>()?;
        let options = GradientOptions::new().limits(LIMITS);
        let counted = bbkit::gradient_statistics(&module, &name, &arguments, &options)?;
        Ok(Trace {
            statements: counted.primal.statements,
            gradient_statements: counted.gradient.statements,
            saved: counted.gradient.saved,
            peak: counted.gradient.peak,
        })
    }
}

/// What the interpreter takes for an argument.
fn value(machine: &Machine<'_>, argument: &Argument) -> Result<Value, Failure> {
    Ok(match argument {
        Argument::Float(x) => Value::from(*x),
        Argument::Integer(n) => Value::from(i64::try_from(*n)?),
        Argument::Vector(x) => {
            let elements = x.iter().map(|&x| Value::from(x)).collect();
            machine.array(Type::FLOAT64, vec![x.len()], elements)?
        }
    })
}

/// A function on its arguments.
pub(crate) struct Session<'o> {
    ours: &'o Ours,
    machine: Machine<'o>,
    arguments: Vec<Value>,
    partials: Vec<Value>,
}

impl Session<'_> {
    /// The value.
    pub(crate) fn value(&mut self) -> Result<f64, Failure> {
        let value = self.machine.call(&self.ours.function, &self.arguments)?;
        Ok(value.as_float().ok_or("the value is no number")?)
    }

    /// The value, with a gradient that [`partials`](Self::partials) gives.
    pub(crate) fn gradient(&mut self) -> Result<f64, Failure> {
        let result = self.machine.call(&self.ours.gradient, &self.arguments)?;
        let Some([value, partials @ ..]) = result.as_tuple() else { return Err("the gradient is no tuple".into()) };
        self.partials = partials.to_vec();
        Ok(value.as_float().ok_or("the value is no number")?)
    }

    /// The latest gradient: the derivatives for the floats among the arguments, one after the other.
    pub(crate) fn partials(&self) -> Vec<f64> {
        let numbers = |value: &Value| match value.array_elements() {
            Some(elements) => elements.iter().filter_map(Value::as_float).collect(),
            None => value.as_float().into_iter().collect::<Vec<_>>(),
        };
        self.partials.iter().flat_map(numbers).collect()
    }

    /// How many statements were executed so far.
    pub(crate) fn statements(&self) -> u64 {
        self.machine.steps()
    }
}
