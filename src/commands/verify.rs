//! `bbkit verify`: check programs.

use bbkit::Input;
use clap::Args;

use super::{Failure, diagnose, fail, output};

/// Check programs: that all names name something, that values are defined before they are used, that edges agree with
/// terminators.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit verify file.ir                 violations go to standard error, with their places
  bbkit verify tests/*.ir && echo fine")]
pub(crate) struct Verify {
    /// The files; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
}

impl Verify {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut failed = false;
        for file in &self.files {
            let (mut count, mut violations) = (0, 0);
            let read = Input::read_pieces(file, &mut |input| {
                for function in input.module.functions() {
                    count += 1;
                    if let Err(problem) = input.verify(&function.name) {
                        diagnose(&problem);
                        violations += 1;
                    }
                }
            });
            match read {
                Ok(()) => {
                    let plural = if count == 1 { "" } else { "s" };
                    if violations == 0 {
                        output(&format!("{file}: {count} function{plural}, valid\n"));
                    } else {
                        output(&format!("{file}: {count} function{plural}, {violations} not valid\n"));
                        failed = true;
                    }
                }
                Err(error) => {
                    diagnose(&error.to_string());
                    failed = true;
                }
            }
        }
        if failed { fail("") } else { Ok(()) }
    }
}
