//! What runs a program, as the command line says it.

use bbkit::{Engine, Ran};
use clap::Args;

use super::arguments::CallOptions;
use super::{Failure, say};

/// What runs a program.
#[derive(Args)]
pub(crate) struct EngineOptions {
    /// What runs the program: the interpreter, which counts and traces; machine code; or machine code where all that is
    /// called can be compiled, else the interpreter. The results are the same.
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "interp")]
    engine: EngineName,
    /// Say on standard error what has run the program, why it was not native code, and with which statements the
    /// interpreter helped.
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    Interp,
    Native,
    Auto,
}

impl EngineOptions {
    /// The engine. What native code does not do is an error if that was asked for, and else done by the interpreter.
    pub(crate) fn get(&self, call: &CallOptions) -> Result<Engine, Failure> {
        match self.engine {
            EngineName::Interp => Ok(Engine::Interpreter),
            EngineName::Native if call.max_steps.is_some() => {
                let message = "--max-steps: native code does not count statements; use --engine interp or auto";
                Err(Failure::of_usage(message))
            }
            EngineName::Native => Ok(Engine::Native),
            EngineName::Auto => Ok(Engine::Auto),
        }
    }

    /// Says what has run the program, if that is wanted.
    pub(crate) fn explain(&self, ran: &Ran) {
        if self.explain {
            say(&ran.to_string());
        }
    }
}
