//! `bbkit diff`: compare programs up to renaming.

use std::io::ErrorKind;

use bbcode::BBCode;
use bbkit::{Change, DiffOptions, DiffRow, FunctionDiff, Input, diff};
use clap::Args;
use ircode::Module;
use serde_json::json;

use super::{Failure, fail, read_once, select, try_output};

/// Compare two programs up to renaming, and show what changed.
///
/// Names of values and blocks, the order of blocks and that of φs make no difference, nor do the names of two functions
/// that are all that the two files have. A row of the first program only has a `-` before it, one of the second a `+`;
/// what was changed is both. Rows are in the names of the second program, `%a5` and `#a5` being what only the first
/// has. As with diff(1), the exit status is 0 if there is no difference, 1 if there is one, 2 if something went wrong.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit diff before.ir after.ir                    what changed, function by function
  bbkit opt f.ir --passes dead-code | bbkit diff f.ir -
                                                   what a pass changes
  bbkit diff f.ir g.json --fn f --all              lines, flags and debug infos count, too
  bbkit diff before.ir after.ir > /dev/null && echo equal")]
pub(crate) struct Diff {
    /// The first file, or `-`.
    before: String,
    /// The second file, or `-`.
    after: String,
    /// Compare this function only.
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// Lines, flags, call infos, debug infos, meta expressions, names of arguments and versions of Julia count, too.
    #[arg(long)]
    all: bool,
    /// Print the rows that differ as JSON.
    #[arg(long)]
    json: bool,
}

/// The exit status that tells of a difference, and that of something that went wrong.
const DIFFERENT: u8 = 1;
const TROUBLE: u8 = 2;

impl Diff {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.compare() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure { message: String::new(), status: DIFFERENT }),
            Err(failure) => Err(Failure { status: TROUBLE, ..failure }),
        }
    }

    /// Whether the programs are equal.
    fn compare(&self) -> Result<bool, Failure> {
        read_once([&self.before, &self.after])?;
        let (before, after) = (self.read(&self.before)?, self.read(&self.after)?);
        let difference = diff(&before, &after, DiffOptions { all: self.all });
        let text = if self.json {
            let functions: Vec<_> = difference.functions.iter().map(function_json).collect();
            let types: Vec<_> = difference.types.iter().filter_map(row_json).collect();
            let equal = difference.is_equal();
            format!("{}\n", json!({ "equal": equal, "types": types, "functions": functions }))
        } else {
            difference.to_string()
        };
        match try_output(&text) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => fail(format!("standard output: {error}")),
            // A reader that has gone away has seen enough.
            _ => Ok(difference.is_equal()),
        }
    }

    /// The program, or the function of it that is asked for.
    fn read(&self, file: &str) -> Result<Module<BBCode>, Failure> {
        let mut input = Input::read(file)?;
        input.compact()?;
        let name = self.function.as_deref().map(|name| select(&mut input, Some(name))).transpose()?;
        let mut module = input.to_bbcode()?;
        if let Some(function) = name.and_then(|name| module.function(&name).cloned()) {
            module = Module::new();
            module.add_function(function)?;
        }
        Ok(module)
    }
}

fn function_json(function: &FunctionDiff) -> serde_json::Value {
    let change = match function.change {
        None => "changed",
        Some(Change::Removed) => "removed",
        Some(Change::Added) => "added",
    };
    let rows: Vec<_> = function.rows.iter().filter_map(row_json).collect();
    json!({ "name": function.name.as_str(), "change": change, "rows": rows })
}

fn row_json(row: &DiffRow) -> Option<serde_json::Value> {
    let change = match row.change? {
        Change::Removed => "removed",
        Change::Added => "added",
    };
    Some(json!({ "change": change, "block": row.block, "text": row.text }))
}
