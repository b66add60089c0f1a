//! `bbkit grad`: the gradient of a function.

use bbkit::{
    Carrier, Check, CheckOptions, CheckReport, Differences, Gradient, GradientStatistics, Outcome, SavingsReport,
    SavingsRow, check_gradient, compare_with_differences, gradient_statistics, gradient_with, html, savings_report,
};
use clap::Args;
use exec::{Machine, Statistics, Value};
use serde_json::Value as Json;

use super::arguments::CallOptions;
use super::derivative::{self, CarrierOption, SavingsOption, ShowOption, WithRespectTo, describe, json_of, text, warn};
use super::engine::EngineOptions;
use super::rules::RuleOptions;
use super::show::title;
use super::{Failure, fail, output, write_page};

/// The value of a function and its gradient, by reverse-mode differentiation.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit grad examples/power.ir --args '[1.5, 3]'            value and gradient
  bbkit grad listing.txt --fn f --args '[2.0]' --check      compare with central differences, and more
  bbkit grad file.ir --args '[2.0]' --rules my_rules.ir     with derivatives that are known better
  bbkit grad file.ir --args '[2.0, [1.5, 0]]' --wrt p.x     with respect to the field x of the argument p
  bbkit grad file.ir --args '[2.0]' --json                  {\"value\": 4.0, \"gradient\": [4.0]}
  bbkit grad file.ir --args '[2.0]' --stats                 what the gradient costs
  bbkit grad file.ir --args '[2.0]' --without recompute     without a technique that makes the derivative small
  bbkit grad file.ir --args '[2.0]' --checkpoint --stats    … with little memory for long loops, and more time
  bbkit grad file.ir --args '[2.0]' --show                  the forward pass and the pullback, too
  bbkit grad file.ir --args '[2.0]' --show=bbcode           … keyed by ID, with what each statement comes from
  bbkit grad file.ir --args '[2.0]' --html grad.html        a page: each function beside what it was made from")]
pub(crate) struct Grad {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
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
    /// Check the derivative: against central differences and forward mode, and what it does to memory. Fail if
    /// something is not right. The interpreter does that, whatever --engine says.
    #[arg(long)]
    check: bool,
    /// Count what the function and its gradient do: statements executed, values saved, objects made, memory taken; and
    /// what is saved with more and more of the techniques that make it small.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    show: ShowOption,
    /// Write a page with the functions of the derivative, each beside the function from which it was made.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

impl Grad {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let limits = self.call.limits();
        let options = self.with_respect_to.options(limits).carrier(self.carrier.get()).savings(self.savings.get()?);
        let options = options.checkpoint(self.carrier.checkpoint()).engine(self.engine.get(&self.call)?);
        // A derivative that is not right may leave the arguments changed, and what is compared with it is to start from
        // the same.
        let machine = Machine::new(&input.module);
        let own = || machine.copies(&args).map_err(|kind| Failure::new(kind.to_string()));
        let statistics = match self.stats {
            true => Some(gradient_statistics(&input.module, &name, &own()?, &options)),
            false => None,
        };
        let statistics = statistics.transpose().map_err(|error| describe(&input, &error))?;
        let savings = match self.stats && options.carrier == Carrier::Stacks {
            true => Some(savings_report(&input.module, &name, &own()?, &options)),
            false => None,
        };
        let savings = savings.transpose().map_err(|error| describe(&input, &error))?;
        let result = gradient_with(&input.module, &name, &own()?, &options);
        let result = result.map_err(|error| describe(&input, &error))?;
        warn(&result.warnings);
        self.engine.explain(&result.ran);
        if let Some(path) = &self.html {
            let gradient: Vec<String> = result.gradient.iter().map(Value::to_string).collect();
            let called = format!("{} at {}", if name.is_empty() { "the listing" } else { &name }, self.call.args);
            let call = format!("{called}: value {}, gradient ({})", result.value, gradient.join(", "));
            let page = html::derivative_page(title(&self.file), &call, &result.module, &name)?;
            write_page(path, &page)?;
        }
        self.show.print_gradient(&result, self.json)?;
        let module = bbkit::specialized(&input.module, &name, &args)?;
        // Differences are of whole arguments.
        let report = match self.check && self.with_respect_to.wrt.is_empty() {
            true => Some(compare_with_differences(&module, &name, &args, &result.gradient, limits)?),
            false => None,
        };
        let checks = match self.check {
            true => {
                let options = CheckOptions {
                    limits,
                    carrier: options.carrier,
                    checkpoint: options.checkpoint,
                    savings: options.savings,
                    ..CheckOptions::default()
                };
                let checked = check_gradient(&module, &name, &args, &options);
                Some(checked.map_err(|error| describe(&input, &error))?)
            }
            false => None,
        };
        let function = input.module.function(&name);
        match self.json {
            true => {
                let statistics = statistics.as_ref().zip(Some(savings.as_ref()));
                output(&format!("{}\n", json(&result, report.as_ref(), checks.as_ref(), statistics)?));
            }
            false => output(&text(&result, function, |index| {
                let report = report.as_ref()?;
                let difference = report.differences.get(index).copied().flatten()?;
                let error = report.errors.get(index).copied().flatten()?;
                Some(format!("   differences: {difference}, off by {error:.1e}"))
            })),
        }
        if !self.json {
            output(&checks.as_ref().map(CheckReport::to_string).unwrap_or_default());
            output(&statistics.map(|statistics| statistics.to_string()).unwrap_or_default());
            output(&savings.map(|savings| format!("\n{savings}")).unwrap_or_default());
        }
        match report {
            Some(report) if report.worst() > report.tolerance => {
                fail(format!("the gradient differs from central differences by {:.1e}", report.worst()))
            }
            _ => match checks.iter().flat_map(CheckReport::failures).next() {
                Some(check) => fail(format!("the derivative is not right: {}", check.name)),
                None => Ok(()),
            },
        }
    }
}

/// The result with what was compared.
fn json(
    result: &Gradient,
    report: Option<&Differences>,
    checks: Option<&CheckReport>,
    statistics: Option<(&GradientStatistics, Option<&SavingsReport>)>,
) -> Result<String, Failure> {
    let mut text = format!("{{{}", derivative::json_members(result)?);
    if let Some(report) = report {
        let number = |value: &Option<f64>| match value {
            Some(value) => json_of(&Value::from(*value)),
            None => Ok(Json::Null),
        };
        let differences = report.differences.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let error = json_of(&Value::from(report.worst()))?;
        text.push_str(&format!(", \"differences\": {}, \"relative_error\": {error}", Json::Array(differences)));
    }
    if let Some(checks) = checks {
        let check = |check: &Check| {
            let (passed, more) = match &check.outcome {
                Outcome::Passed(None) => (Json::Bool(true), String::new()),
                Outcome::Passed(Some(error)) => (Json::Bool(true), format!(", \"error\": {error:e}")),
                Outcome::Skipped(why) => (Json::Null, format!(", \"reason\": {}", Json::from(why.as_str()))),
                Outcome::Failed(what) => (Json::Bool(false), format!(", \"failure\": {}", Json::from(what.as_str()))),
            };
            format!("{{\"check\": {}, \"passed\": {passed}{more}}}", Json::from(check.name))
        };
        let checks: Vec<String> = checks.checks.iter().map(check).collect();
        text.push_str(&format!(", \"checks\": [{}]", checks.join(", ")));
    }
    if let Some((statistics, savings)) = statistics {
        let of = |of: &Statistics| {
            let Statistics { statements, saved, objects, allocations, bytes, peak } = of;
            let kinds = allocations.kinds().map(|(kind, count)| format!("\"{kind}\": {count}")).join(", ");
            format!(
                "{{\"statements\": {statements}, \"saved\": {saved}, \"objects\": {objects}, \"allocations\": {{{kinds}}}, \"bytes\": {bytes}, \"peak\": {peak}}}"
            )
        };
        let (primal, gradient) = (of(&statistics.primal), of(&statistics.gradient));
        text.push_str(&format!(", \"statistics\": {{\"primal\": {primal}, \"gradient\": {gradient}}}"));
        if let Some(SavingsReport { rows }) = savings {
            let row = |row: &SavingsRow| {
                let SavingsRow { technique, saved, statements } = row;
                let technique = technique.map_or(Json::Null, Json::from);
                format!("{{\"technique\": {technique}, \"saved\": {saved}, \"statements\": {statements}}}")
            };
            let rows: Vec<String> = rows.iter().map(row).collect();
            text.push_str(&format!(", \"savings\": [{}]", rows.join(", ")));
        }
    }
    text.push('}');
    Ok(text)
}
