//! `bbkit jacobian`: all first derivatives.

use bbkit::{Jacobian, JacobianOptions, Mode, jacobian};
use clap::{Args, ValueEnum};

use super::arguments::CallOptions;
use super::derivative::{ShowOption, describe, json_of};
use super::engine::EngineOptions;
use super::matrix::{json_labels, json_rows};
use super::rules::RuleOptions;
use super::{Failure, output};

/// The derivatives of all floats of a function's result with respect to all floats of its arguments.
///
/// A row is a float of the result, a column one of the arguments; arrays, tuples and structs are taken apart in their
/// order, and each object once. Forward mode computes columns, several directions at once, and reverse mode rows, each
/// with a run of its own.
#[derive(Args)]
#[command(
    name = "jacobian",
    after_help = "\
Examples:
  bbkit jacobian file.ir --fn polar --args '[2.0, 0.5]'               a table
  bbkit jacobian file.ir --fn f --args '[[1.0, 2.0], 3.0]' --wrt _2   with respect to the first argument only
  bbkit jacobian file.ir --fn f --args '[[1.0, 2.0]]' --mode forward --chunk 16
                                                                      sixteen columns at once
  bbkit jacobian file.ir --fn f --args '[2.0]' --json                 {\"value\": …, \"rows\": […], \"columns\": […], …}
  bbkit jacobian file.ir --fn f --args '[2.0]' --show                 the function that computes them, too

How it is computed: with `--mode auto`, forward where the result has as many floats as the arguments or more, and where reverse mode
cannot differentiate the function; reverse otherwise. The function is run once before to count the floats of its result. Forward
mode takes as many directions at once as --chunk says, or eight, and makes all chunks about as large: 17 columns are 6, 6 and 5."
)]
pub(crate) struct JacobianCommand {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    columns: Columns,
    /// By columns, by rows, or as the result has floats: forward where these are as many as those of the arguments or
    /// more, else reverse.
    #[arg(long, value_enum, value_name = "MODE", default_value = "auto")]
    mode: ModeOption,
    /// Print {"value": …, "rows": […], "columns": […], "jacobian": [[…], …], "mode": …, "chunk": …}: where the rows and
    /// columns are, and the rows of the matrix.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ShowOption,
}

/// Which columns a matrix has, and how many are computed at once.
#[derive(Args)]
pub(crate) struct Columns {
    /// Differentiate with respect to these only: arguments by number or name, or fields of them
    /// (`x,model.weights,_3.1`). Columns keep the order of the arguments.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    wrt: Vec<String>,
    /// The most directions that forward mode takes at once; 8, if nothing is said.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    chunk: Option<u16>,
}

impl Columns {
    pub(super) fn options(&self, call: &CallOptions) -> JacobianOptions {
        let wrt = (!self.wrt.is_empty()).then(|| self.wrt.iter().map(|name| name.trim().to_string()).collect());
        JacobianOptions { wrt, chunk: self.chunk.map(usize::from), limits: call.limits(), ..Default::default() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeOption {
    Forward,
    Reverse,
    Auto,
}

impl JacobianCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let mode = match self.mode {
            ModeOption::Forward => Some(Mode::Forward),
            ModeOption::Reverse => Some(Mode::Reverse),
            ModeOption::Auto => None,
        };
        let options =
            JacobianOptions { mode, engine: self.engine.get(&self.call)?, ..self.columns.options(&self.call) };
        let result = jacobian(&input.module, &name, &args, &options).map_err(|error| describe(&input, &error))?;
        self.engine.explain(&result.ran);
        self.show.print_new(&input, &result.module, self.json)?;
        match self.json {
            true => output(&format!("{}\n", json(&result)?)),
            false => output(&result.to_string()),
        }
        Ok(())
    }
}

/// The members in the order in which people read them, which a JSON map would not keep.
fn json(result: &Jacobian) -> Result<String, Failure> {
    let (value, matrix) = (json_of(&result.value)?, json_rows(&result.matrix)?);
    let (rows, columns) = (json_labels(&result.rows), json_labels(&result.columns));
    let mode = if result.mode == Mode::Forward { "forward" } else { "reverse" };
    let chunk = result.chunk;
    Ok(format!(
        "{{\"value\": {value}, \"rows\": {rows}, \"columns\": {columns}, \"jacobian\": {matrix}, \"mode\": \"{mode}\", \
         \"chunk\": {chunk}}}"
    ))
}
