//! What this library makes of a function as machine code: the only file that knows how it is compiled and called.

use std::time::Instant;

use bbkit::compiled::{Argument as Passed, Arguments, Differentiate, Function, Gradient, pipeline};
use bbkit::exec::Limits;
use bbkit::exec::native::{Effort, Program};
use bbkit::ircode::{IRCode, Module, Name, parse_module};
use bbkit::passes::reverse_mode::{Options, derive};

use super::Failure;
use super::ours::{Argument, Phases};

/// What is compiled, for the heading of the table.
pub(crate) const ENGINE: &str = "native code, subnormal numbers taken for zero";

/// Enough for the trace of a million rounds.
const LIMITS: Limits = Limits { steps: u64::MAX, memory: 8 << 30, depth: 100_000 };

/// A function with its gradient for the first argument, as machine code.
#[derive(Debug)]
pub(crate) struct Compiled {
    function: Function,
    gradient: Gradient,
}

impl Compiled {
    /// The first function of a module.
    pub(crate) fn of_text(text: &str, effort: Effort) -> Result<Compiled, Failure> {
        let module = parse_module(text)?.module;
        let name = first(&module)?;
        let function = module.primal(&name).limits(LIMITS).effort(effort).compile()?;
        let gradient = module.gradient(&name).wrt([0]).limits(LIMITS).effort(effort);
        let gradient = gradient.flush_subnormals(true).reassociate(true).compile()?;
        Ok(Compiled { function, gradient })
    }

    /// How long each step takes from text to a gradient that can be called, in nanoseconds: once.
    pub(crate) fn phases(text: &str, effort: Effort) -> Result<Phases, Failure> {
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
        let function = first(&module)?;
        let mut derived = bbkit::into_bbcode(module)?;
        let options = Options {
            with_respect_to: Some(vec![2]),
            accumulate: true,
            only_joined: true,
            reassociate: true,
            ..Options::default()
        };
        let names = derive(&mut derived, &function, &options)?.names;
        done("derive");
        let gradient = derived.function(&names.accumulate_gradient).ok_or("no gradient")?;
        gradient.body.verify()?;
        done("verify derivative");
        pipeline::derivative(&mut derived, &names.accumulate_gradient, effort, true)?;
        let derived = bbkit::into_ircode(derived)?;
        done("optimise");
        let program = Program::compile_with(&derived, &[&names.accumulate_gradient], LIMITS, effort)?;
        done("compile");
        drop(program);
        Ok(phases)
    }

    /// How long it takes from text until there is a gradient that can be called, and until it is the fast one, in
    /// nanoseconds: once.
    pub(crate) fn tiers(text: &str) -> Result<[f64; 2], Failure> {
        let start = Instant::now();
        let module = parse_module(text)?.module;
        let gradient = module.gradient(&first(&module)?).wrt([0]).limits(LIMITS);
        let gradient = gradient.flush_subnormals(true).reassociate(true).compile_tiered()?;
        let quick = start.elapsed().as_nanos() as f64;
        gradient.wait();
        Ok([quick, start.elapsed().as_nanos() as f64])
    }

    /// What can be called again and again on the same arguments.
    pub(crate) fn session<'s>(&'s self, arguments: &'s [Argument]) -> Result<Session<'s>, Failure> {
        let Some(Argument::Vector(x)) = arguments.first() else { return Err("the first argument is no vector".into()) };
        Ok(Session { compiled: self, arguments, partials: vec![f64::NAN; x.len()] })
    }
}

/// The name of the first function.
fn first(module: &Module<IRCode>) -> Result<Name, Failure> {
    Ok(module.functions().first().ok_or("a module without functions")?.name.clone())
}

/// A function on its arguments.
pub(crate) struct Session<'s> {
    compiled: &'s Compiled,
    arguments: &'s [Argument],
    partials: Vec<f64>,
}

/// The arguments where they lie.
struct Lent<'s>(&'s [Argument]);

impl<'s> Arguments<'s> for Lent<'s> {
    fn each(self, take: &mut dyn FnMut(Passed<'s>)) {
        for argument in self.0 {
            take(match argument {
                Argument::Float(x) => Passed::Float64(*x),
                Argument::Integer(n) => Passed::Int64(i64::try_from(*n).unwrap_or(i64::MAX)),
                Argument::Vector(x) => Passed::Floats(x),
            });
        }
    }
}

impl Session<'_> {
    /// The value.
    pub(crate) fn value(&mut self) -> Result<f64, Failure> {
        let numbers = self.compiled.function.call(Lent(self.arguments))?;
        Ok(numbers.float(0).ok_or("the value is no number")?)
    }

    /// The value, with a gradient that [`partials`](Self::partials) gives.
    pub(crate) fn gradient(&mut self) -> Result<f64, Failure> {
        Ok(self.compiled.gradient.call(Lent(self.arguments), &mut self.partials)?)
    }

    /// The latest gradient.
    pub(crate) fn partials(&self) -> &[f64] {
        &self.partials
    }
}
