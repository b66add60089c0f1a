//! `bbkit verify`: check programs.

use std::convert::Infallible;

use bbkit::Input;
use clap::Args;
use ircode::{Module, Type, verify_tables};

use super::{Failure, diagnose, fail, output};

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
        let mut failed = false;
        for file in &self.files {
            let (mut count, mut violations) = (0, 0);
            // Tables are checked against all functions of the file, of which only the types of arguments are kept.
            let mut outline: Module<Vec<Type>> = Module::new();
            let mut problems = Vec::new();
            let read = Input::read_pieces(file, &mut |input| {
                for declaration in input.module.declarations() {
                    problems.extend(outline.declare(declaration).err().map(|twice| format!("error: {twice}")));
                }
                for function in input.module.functions() {
                    let Ok(signature) = function.map(|body| Ok::<_, Infallible>(body.argtypes.clone()));
                    // A second function of a name is refused when it is read.
                    let _ = outline.add_function(signature);
                    count += 1;
                    if let Err(problem) = input.verify(&function.name) {
                        diagnose(&problem);
                        violations += 1;
                    }
                }
            });
            match read {
                Ok(()) => {
                    let tables = verify_tables(&outline, Vec::as_slice).err();
                    problems.extend(tables.map(|found| found.to_string()));
                    problems.iter().for_each(|problem| diagnose(problem));
                    let plural = if count == 1 { "" } else { "s" };
                    if violations == 0 {
                        let tables = if problems.is_empty() { "valid" } else { "valid, but the tables are not" };
                        output(&format!("{file}: {count} function{plural}, {tables}\n"));
                        failed |= !problems.is_empty();
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
