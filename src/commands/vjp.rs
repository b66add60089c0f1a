//! `bbkit vjp`: the pullback of a function, for a result of any kind.

use bbkit::vjp_with;
use clap::Args;

use super::arguments::{CallOptions, parse_json};
use super::derivative::{CarrierOption, SavingsOption, ShowOption, WithRespectTo, describe, json_members, text, warn};
use super::engine::EngineOptions;
use super::rules::RuleOptions;
use super::{Failure, output};

/// The value of a function and the cotangents of its arguments, from a cotangent of its result.
///
/// The seed has the shape of the result: a number for a float, a list for an array, a list of the fields for a tuple or
/// a struct (or an object by field name), with null for what has no tangent.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit vjp file.ir --fn scale --args '[2.0, [1, 2]]' --seed '[1, 0]'   the cotangents for the first element of a vector
  bbkit vjp file.ir --fn polar --args '[[3.0, 4.0]]' --seed '[1, null]' of a tuple whose second part is no float
  bbkit vjp file.ir --args '[2.0, 3.0]' --seed 1 --wrt y --json         {\"value\": 6.0, \"gradient\": [2.0]}")]
pub(crate) struct Vjp {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    /// The cotangent of the result.
    #[arg(long, value_name = "JSON")]
    seed: String,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    with_respect_to: WithRespectTo,
    #[command(flatten)]
    carrier: CarrierOption,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    savings: SavingsOption,
    /// Print {"value": …, "gradient": […]}: one entry for each argument, or one for each that --wrt names; null where
    /// there is no tangent.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ShowOption,
}

impl Vjp {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let seed = parse_json("--seed", &self.seed)?;
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let options = self.with_respect_to.options(self.call.limits()).carrier(self.carrier.get());
        let options = options.checkpoint(self.carrier.checkpoint()).engine(self.engine.get(&self.call)?);
        let options = options.savings(self.savings.get()?);
        let result = vjp_with(&input.module, &name, &args, &seed, &options);
        let result = result.map_err(|error| describe(&input, &error))?;
        warn(&result.warnings);
        self.engine.explain(&result.ran);
        self.show.print_gradient(&result, self.json)?;
        match self.json {
            true => output(&format!("{{{}}}\n", json_members(&result)?)),
            false => output(&text(&result, input.module.function(&name), |_| None)),
        }
        Ok(())
    }
}
