//! `bbkit roundtrip`: take programs every way there and back.

use bbkit::{Input, Mismatch, roundtrip, roundtrip_declarations};
use clap::Args;
use ircode::wording::counted;

use super::tables::Tables;
use super::{Failure, diagnose, fail, output, read_once};

/// Take programs every way there and back — between the representations, through text and JSON — and compare.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit roundtrip examples/*.ir        the last line counts functions, statements and mismatches")]
pub(crate) struct Roundtrip {
    /// The files; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
}

impl Roundtrip {
    pub(crate) fn run(self) -> Result<(), Failure> {
        read_once(&self.files)?;
        let (mut functions, mut statements, mut mismatches, mut unreadable) = (0, 0, 0, false);
        for file in &self.files {
            let (mut tables, mut broken) = (Tables::default(), false);
            let mut report = |name: &str, mismatch: Mismatch| {
                mismatches += 1;
                diagnose(&format!("{file}: {name}: {mismatch}"));
            };
            let read = Input::read_pieces(file, &mut |piece| {
                let input = match piece {
                    Ok(input) => input,
                    Err(error) => {
                        broken = true;
                        return diagnose(&error.to_string());
                    }
                };
                tables.add(&input);
                roundtrip_declarations(&input.module).into_iter().for_each(|mismatch| report("declarations", mismatch));
                for function in input.module.functions() {
                    functions += 1;
                    statements += function.body.value_count();
                    let name = if function.name.is_empty() { "the listing" } else { &function.name };
                    roundtrip(function).into_iter().for_each(|mismatch| report(name, mismatch));
                }
            });
            match read {
                // Declarations may stand in what could not be read.
                Ok(()) if broken => unreadable = true,
                Ok(()) => {
                    for problem in tables.problems() {
                        report("declarations", Mismatch { way: "verify", problem });
                    }
                }
                Err(error) => {
                    diagnose(&error.to_string());
                    unreadable = true;
                }
            }
        }
        let (functions, statements) = (counted(functions, "function"), counted(statements, "statement"));
        let found = if mismatches == 1 { "1 mismatch".to_string() } else { format!("{mismatches} mismatches") };
        output(&format!("{functions}, {statements}, {found}\n"));
        if mismatches > 0 || unreadable { fail("") } else { Ok(()) }
    }
}
