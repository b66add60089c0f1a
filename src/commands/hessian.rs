//! `bbkit hessian`: all second derivatives.

use bbkit::{Hessian, JacobianOptions, hessian};
use clap::Args;
use exec::Value;

use super::arguments::CallOptions;
use super::derivative::{ShowOption, describe, json_of};
use super::engine::EngineOptions;
use super::jacobian::Columns;
use super::matrix::{json_labels, json_row, json_rows};
use super::rules::RuleOptions;
use super::{Failure, output};

/// The second derivatives of a function whose result is a float, with respect to all floats of its arguments, by
/// forward mode over reverse mode.
#[derive(Args)]
#[command(
    name = "hessian",
    after_help = "\
Examples:
  bbkit hessian file.ir --fn rosenbrock --args '[[1.0, 1.0]]'         a table
  bbkit hessian file.ir --fn f --args '[[1.0, 2.0], 3.0]' --wrt _2    with respect to the first argument only
  bbkit hessian file.ir --fn f --args '[2.0]' --json                  {\"value\": …, \"labels\": […], \"gradient\": […], …}
  bbkit hessian file.ir --fn f --args '[2.0]' --show                  the functions that compute them, too

The columns are computed eight at once, or as many as --chunk says, and the whole matrix is: that both sides of the diagonal agree is a check,
of which the last line tells. Where the function is smooth, rounding alone makes them differ. A mistake that is the same on both sides
passes it, as at the points that julia/README.md names."
)]
pub(crate) struct HessianCommand {
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
    /// Print {"value": …, "labels": […], "gradient": […], "hessian": [[…], …], "asymmetry": …, "chunk": …}: where rows
    /// and columns are, and the rows of the matrix.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ShowOption,
}

impl HessianCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let options = JacobianOptions { engine: self.engine.get(&self.call)?, ..self.columns.options(&self.call) };
        let result = hessian(&input.module, &name, &args, &options).map_err(|error| describe(&input, &error))?;
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
fn json(result: &Hessian) -> Result<String, Failure> {
    let value = json_of(&Value::from(result.value))?;
    let (gradient, matrix) = (json_row(&result.gradient)?, json_rows(&result.matrix)?);
    let asymmetry = json_of(&Value::from(result.asymmetry()))?;
    let (labels, chunk) = (json_labels(&result.labels), result.chunk);
    Ok(format!(
        "{{\"value\": {value}, \"labels\": {labels}, \"gradient\": {gradient}, \"hessian\": {matrix}, \"asymmetry\": {asymmetry}, \
         \"chunk\": {chunk}}}"
    ))
}
