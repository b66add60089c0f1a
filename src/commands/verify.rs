//! `bbkit verify`: check programs.

use bbkit::Input;
use clap::Args;
use ircode::wording::counted;

use super::tables::Tables;
use super::{Failure, diagnose, fail, output, read_once};

/// Check programs: that all names name something, that values are defined before they are used, that edges agree with
/// terminators.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit verify file.ir                 violations go to standard error, with their places
  bbkit verify examples/*.ir && echo fine")]
pub(crate) struct Verify {
    /// The files; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
}

impl Verify {
    pub(crate) fn run(self) -> Result<(), Failure> {
        read_once(&self.files)?;
        let mut failed = false;
        for file in &self.files {
            let (mut count, mut violations) = (0, 0);
            let (mut tables, mut unreadable) = (Tables::default(), false);
            let read = Input::read_pieces(file, &mut |piece| {
                let input = match piece {
                    Ok(input) => input,
                    Err(error) => {
                        unreadable = true;
                        return diagnose(&error.to_string());
                    }
                };
                tables.add(&input);
                for function in input.module.functions() {
                    count += 1;
                    if let Some(found) = input.violations_of(&function.name) {
                        diagnose(&found);
                        violations += 1;
                    }
                }
            });
            match read {
                Ok(()) if unreadable => failed = true,
                Ok(()) => {
                    let problems = tables.problems();
                    problems.iter().for_each(|problem| diagnose(&format!("{problem}\n --> {file}")));
                    let functions = counted(count, "function");
                    if violations == 0 {
                        let verdict = if problems.is_empty() { "valid" } else { "valid, but a declaration is not" };
                        output(&format!("{file}: {functions}, {verdict}\n"));
                        failed |= !problems.is_empty();
                    } else {
                        output(&format!("{file}: {functions}, {violations} not valid\n"));
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
