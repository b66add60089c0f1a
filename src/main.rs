//! The command line.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// Code is many small lists and names: the system's allocator takes a third of the time of a conversion.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Rewrite the basic blocks of SSA programs, and differentiate them.
///
/// Programs are listings as Julia prints them, files of functions with headers, or JSON dumps; which one a file is, is
/// told by its content. `-` is standard input. Results go to standard output, diagnostics to standard error. The exit
/// status is 0 on success, 1 if a program is not right or does not do what is asked of it, and 2 if the command line is
/// not understood.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 120,
    after_help = "\
Examples:
  bbkit show examples/factorial.ir --as bbcode       a listing keyed by ID
  bbkit run examples/factorial.ir --args '[5]'       run it
  bbkit grad examples/power.ir --args '[1.5, 3]' --show --check
                                                     its gradient, the code that computes it, and a check
  bbkit jvp examples/power.ir --args '[1.5, 3]' --tangents '[1, null]'
                                                     its derivative in a direction
  bbkit opt f.ir --passes dead-code | bbkit diff f.ir -
                                                     what a pass changes
  pbpaste | bbkit grad - --args '[2.0]'              the gradient of a listing from a Julia session"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Show(commands::show::Show),
    Verify(commands::verify::Verify),
    Roundtrip(commands::roundtrip::Roundtrip),
    Run(commands::run::Run),
    Grad(commands::grad::Grad),
    Jvp(commands::jvp::JvpCommand),
    Hvp(commands::hvp::HvpCommand),
    Jacobian(commands::jacobian::JacobianCommand),
    Hessian(commands::hessian::HessianCommand),
    Vjp(commands::vjp::Vjp),
    Opt(commands::opt::Opt),
    Diff(commands::diff::Diff),
    Reduce(commands::reduce::Reduce),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Show(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Roundtrip(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Grad(command) => command.run(),
        Command::Jvp(command) => command.run(),
        Command::Hvp(command) => command.run(),
        Command::Jacobian(command) => command.run(),
        Command::Hessian(command) => command.run(),
        Command::Vjp(command) => command.run(),
        Command::Opt(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Reduce(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            commands::diagnose(&failure.message);
            ExitCode::from(failure.status)
        }
    }
}
