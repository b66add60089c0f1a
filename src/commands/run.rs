//! `bbkit run`: run a function.

use bbkit::{Engine, EngineError, Ran, RunOptions, run_with_output};
use clap::Args;
use exec::{Machine, value_to_json};

use super::arguments::CallOptions;
use super::engine::EngineOptions;
use super::{Failure, fail, output, output_to_stderr};

/// Run a function.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit run examples/factorial.ir --args '[5]'              120
  bbkit run listing.txt --fn f --args '[1.5, 3]' --trace    every statement with its value
  bbkit run listing.txt --args '[1.5]' --check-types        an error at the first value that is not of its declared type
  bbkit run file.ir --fn g --args '{\"x\": 1.5}' --json
  bbkit run file.ir --args '[2.0]' --engine auto --explain  as machine code, if that can be made of it")]
pub(crate) struct Run {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    #[command(flatten)]
    engine: EngineOptions,
    /// Print each statement that is executed, with its value.
    #[arg(long)]
    trace: bool,
    /// Hold each value against the type that its statement declares, and stop at the first that is of another one.
    #[arg(long)]
    check_types: bool,
    /// Print the result as JSON; what the program prints and the trace go to standard error then.
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        // Types that a listing does not show, and so the widths of its literals, are taken from the arguments.
        input.module = bbkit::specialized(&input.module, &name, &args)?;
        let engine = self.engine.get(&self.call)?;
        let options = RunOptions { limits: self.call.limits(), engine };
        // With JSON the result is all that is on standard output.
        let print = if self.json { output_to_stderr } else { output };
        let result = match self.watches() {
            Some((option, does)) if engine == Engine::Native => {
                return fail(format!("{option}: native code does not {does}; use --engine interp or auto"));
            }
            Some((_, does)) => {
                let mut machine = Machine::with_limits(&input.module, options.limits).on_output(print);
                if self.check_types {
                    machine = machine.check_types();
                }
                if self.trace {
                    machine = machine.on_step(move |line| print(&format!("{line}\n")));
                }
                let why = (engine == Engine::Auto).then(|| format!("native code does not {does}"));
                let ran = Ran { function: name.to_string(), engine: Engine::Interpreter, why, helped: Vec::new() };
                machine.call(&name, &args).map(|value| (value, ran)).map_err(EngineError::Run)
            }
            None => run_with_output(&input.module, &name, &args, &options, &mut |text: &str| print(text)),
        };
        let (value, ran) = result.map_err(|error| match error {
            EngineError::Run(error) => Failure::new(input.describe_run_error(&error)),
            EngineError::NotNative(why) => Failure::new(format!("--engine native: {why}")),
            other => Failure::new(other.to_string()),
        })?;
        self.engine.explain(&ran);
        match self.json {
            true => output(&format!("{}\n", value_to_json(&value).map_err(|kind| Failure::new(kind.to_string()))?)),
            false => output(&format!("{value}\n")),
        }
        Ok(())
    }

    /// What is asked for that only the interpreter does: the option, and what it does.
    fn watches(&self) -> Option<(&'static str, &'static str)> {
        match (self.trace, self.check_types) {
            (true, _) => Some(("--trace", "trace")),
            (_, true) => Some(("--check-types", "check types")),
            _ => None,
        }
    }
}
