//! `bbkit run`: run a function.

use clap::Args;
use exec::{Machine, value_to_json};

use super::arguments::CallOptions;
use super::{Failure, output, say};

/// Run a function in the interpreter.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit run examples/factorial.ir --args '[5]'              120
  bbkit run listing.txt --fn f --args '[1.5, 3]' --trace    every statement with its value
  bbkit run file.ir --fn g --args '{\"x\": 1.5}' --json")]
pub(crate) struct Run {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    /// Print each statement that is executed, with its value.
    #[arg(long)]
    trace: bool,
    /// Print the result as JSON; the trace goes to standard error then.
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        // Types that a listing does not show, and so the widths of its literals, are taken from the arguments.
        input.module = bbkit::specialized(&input.module, &name, &args)?;
        let mut machine = Machine::with_limits(&input.module, self.call.limits()).on_output(output);
        if self.trace {
            let to_stderr = self.json;
            machine = machine.on_step(move |line| match to_stderr {
                true => say(line),
                false => output(&format!("{line}\n")),
            });
        }
        let value = machine.call(&name, &args).map_err(|error| Failure(input.describe_run_error(&error)))?;
        match self.json {
            true => output(&format!("{}\n", value_to_json(&value).map_err(|kind| Failure(kind.to_string()))?)),
            false => output(&format!("{value}\n")),
        }
        Ok(())
    }
}
