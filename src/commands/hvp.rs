//! `bbkit hvp`: the product of a Hessian and a vector.

use bbkit::{Hvp, RunOptions, hvp_with};
use clap::Args;
use exec::Value;
use ircode::{Function, IRCode, Name};
use serde_json::Value as Json;

use super::arguments::CallOptions;
use super::derivative::{ShowOption, describe, json_of};
use super::engine::EngineOptions;
use super::jvp::direction;
use super::rules::RuleOptions;
use super::{Failure, output};

/// The value of a function, its gradient, and the product of its Hessian and a vector, by forward mode over reverse
/// mode.
///
/// The vector has one tangent an argument: a number for a float, a list for an array and for the fields of a tuple or a
/// struct, null where there is none. null in the place of an argument that has one is zero. What this costs does not
/// depend on how many arguments there are.
#[derive(Args)]
#[command(
    name = "hvp",
    after_help = "\
Examples:
  bbkit hvp examples/power.ir --args '[1.5, 3]' --vector '[1, null]'      value, gradient and product
  bbkit hvp file.ir --args '[[1.0, 2.0]]' --vector '[[1, 0]]'             the first column of the Hessian
  bbkit hvp file.ir --args '[2.0]' --vector '[1]' --json                  {\"value\": 8.0, \"gradient\": [12.0], \"product\": [12.0]}
  bbkit hvp file.ir --args '[2.0]' --vector '[1]' --show                  the functions that compute all three, too"
)]
pub(crate) struct HvpCommand {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    engine: EngineOptions,
    /// The vector: a JSON array of the tangents of the arguments.
    #[arg(long, value_name = "JSON")]
    vector: String,
    /// Print {"value": …, "gradient": […], "product": […]}: one entry for each argument, null where there is no
    /// tangent.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ShowOption,
}

impl HvpCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let vector = direction("--vector", &self.vector, &input, &name, &args)?;
        let options = RunOptions { limits: self.call.limits(), engine: self.engine.get(&self.call)? };
        let result =
            hvp_with(&input.module, &name, &args, &vector, &options).map_err(|error| describe(&input, &error))?;
        self.engine.explain(&result.ran);
        self.show.print_new(&input, &result.module, self.json)?;
        match self.json {
            true => output(&format!("{}\n", json(&result)?)),
            false => output(&text(&result, input.module.function(&name))),
        }
        Ok(())
    }
}

/// The members in the order in which people read them, which a JSON map would not keep.
fn json(result: &Hvp) -> Result<String, Failure> {
    let list = |values: &[Value]| Ok::<_, Failure>(Json::Array(values.iter().map(json_of).collect::<Result<_, _>>()?));
    let (value, gradient, product) = (json_of(&result.value)?, list(&result.gradient)?, list(&result.product)?);
    Ok(format!("{{\"value\": {value}, \"gradient\": {gradient}, \"product\": {product}}}"))
}

fn text(result: &Hvp, function: Option<&Function<IRCode>>) -> String {
    let mut text = format!("value: {}\n", result.value);
    let width = result.gradient.len().saturating_add(1).to_string().len() + 1;
    for (what, values) in [("gradient", &result.gradient), ("product", &result.product)] {
        for (index, value) in values.iter().enumerate() {
            let place = format!("_{}", index + 2);
            let name = function.and_then(|function| function.parameters.get(index)).and_then(Option::as_ref);
            let name = name.map(Name::as_str).map(|name| format!(" ({name})")).unwrap_or_default();
            let shown = match value {
                Value::Nothing => "none, it is no float".to_string(),
                other => other.to_string(),
            };
            text.push_str(&format!("{what:<8} {place:<width$}{name}: {shown}\n"));
        }
    }
    text
}
