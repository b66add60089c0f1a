//! `bbkit grad`: the gradient of a function.

use bbkit::{Gradient, GradientError, Input, check_gradient, gradient, html, to_bbcode};
use clap::Args;
use exec::{Value, value_to_json};
use ircode::{Function, IRCode, Module, Name, Style, print_function};
use serde_json::Value as Json;

use super::arguments::CallOptions;
use super::rules::RuleOptions;
use super::show::{Form, title};
use super::{Failure, fail, output, write_page};

/// The value of a function and its gradient, by reverse-mode differentiation.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit grad examples/power.ir --args '[1.5, 3]'            value and gradient
  bbkit grad listing.txt --fn f --args '[2.0]' --check      compare with central differences
  bbkit grad file.ir --args '[2.0]' --rules my_rules.ir     with derivatives that are known better
  bbkit grad file.ir --args '[2.0]' --json                  {\"value\": 4.0, \"gradient\": [4.0]}
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
    /// Print {"value": …, "gradient": […]}: one entry an argument, null where it has no tangent.
    #[arg(long)]
    json: bool,
    /// Compare with central differences, and fail if they differ by more than their error explains.
    #[arg(long)]
    check: bool,
    /// Print the functions of the derivative before the result.
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "ircode")]
    show: Option<Form>,
    /// Write a page with the functions of the derivative, each beside the function from which it was made.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

impl Grad {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input.module)?;
        let limits = self.call.limits();
        let result = gradient(&input.module, &name, &args, limits).map_err(|error| describe(&input, &error))?;
        if let Some(path) = &self.html {
            let gradient: Vec<String> = result.gradient.iter().map(Value::to_string).collect();
            let called = format!("{} at {}", if name.is_empty() { "the listing" } else { &name }, self.call.args);
            let call = format!("{called}: value {}, gradient ({})", result.value, gradient.join(", "));
            let page = html::derivative_page(title(&self.file), &call, &result.module, &name)?;
            write_page(path, &page)?;
        }
        if let Some(form) = self.show {
            output(&shown(&result, form)?);
        }
        let report = match self.check {
            true => {
                let module = bbkit::specialized(&input.module, &name, &args)?;
                Some(check_gradient(&module, &name, &args, &result.gradient, limits)?)
            }
            false => None,
        };
        let function = input.module.function(&name);
        match self.json {
            true => output(&format!("{}\n", json(&result, report.as_ref())?)),
            false => output(&text(&result, report.as_ref(), function)),
        }
        let single = args
            .iter()
            .any(|arg| matches!(arg.as_scalar(), Some(ircode::Scalar::Float32(_) | ircode::Scalar::Float16(_))));
        match report {
            Some(report) if report.worst() > report.tolerance(single) => {
                fail(format!("the gradient differs from central differences by {:.1e}", report.worst()))
            }
            _ => Ok(()),
        }
    }
}

fn describe(input: &Input, error: &GradientError) -> Failure {
    Failure(match error {
        GradientError::Pass(error) => input.describe_pass_error(error),
        GradientError::Run(error) => input.describe_run_error(error),
        GradientError::Conversion(_) | GradientError::NoNumber(_) => error.to_string(),
    })
}

/// The functions of the derivative.
fn shown(result: &Gradient, form: Form) -> Result<String, Failure> {
    if form == Form::Html {
        return fail("a page is written to a file: name it with --html FILE");
    }
    let names = [&result.names.forward, &result.names.pullback];
    let mut text = String::new();
    let bbcode = if form == Form::Bbcode { Some(to_bbcode(&result.module)?) } else { None };
    for name in names {
        match (&bbcode, form) {
            (Some(module), _) => text.extend(module.function(name).map(bbcode::print_function)),
            (None, Form::Ircode) => text.extend(result.module.function(name).map(|f| print_function(f, Style::Julia))),
            (None, form) => {
                let mut module: Module<IRCode> = Module::new();
                if let Some(function) = result.module.function(name) {
                    module.add_function(function.clone())?;
                }
                let mut input = bbkit::Input::of_module("-", module);
                text.push_str(&super::show::shown(&mut input, form, Style::Julia)?);
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// The members in the order in which people read them, which a JSON map would not keep.
fn json(result: &Gradient, report: Option<&bbkit::CheckReport>) -> Result<String, Failure> {
    let convert = |value: &Value| value_to_json(value).map_err(|kind| Failure(kind.to_string()));
    let gradient = result.gradient.iter().map(convert).collect::<Result<Vec<_>, _>>()?;
    let mut text = format!("{{\"value\": {}, \"gradient\": {}", convert(&result.value)?, Json::Array(gradient));
    if let Some(report) = report {
        let number = |value: &Option<f64>| match value {
            Some(value) => convert(&Value::from(*value)),
            None => Ok(Json::Null),
        };
        let differences = report.differences.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let error = convert(&Value::from(report.worst()))?;
        text.push_str(&format!(", \"differences\": {}, \"relative_error\": {error}", Json::Array(differences)));
    }
    text.push('}');
    Ok(text)
}

fn text(result: &Gradient, report: Option<&bbkit::CheckReport>, function: Option<&Function<IRCode>>) -> String {
    let mut text = format!("value: {}\n", result.value);
    let width = result.gradient.len().to_string().len() + 1;
    for (index, cotangent) in result.gradient.iter().enumerate() {
        let argument = format!("_{}", index + 2);
        let name = function.and_then(|f| f.parameters.get(index)).and_then(Option::as_ref).map(Name::as_str);
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let shown = match cotangent {
            Value::Nothing => "none, it is no float".to_string(),
            other => other.to_string(),
        };
        text.push_str(&format!("gradient {argument:<width$}{name}: {shown}"));
        if let Some(report) = report {
            let pair =
                report.differences.get(index).copied().flatten().zip(report.errors.get(index).copied().flatten());
            if let Some((difference, error)) = pair {
                text.push_str(&format!("   differences: {difference}, off by {error:.1e}"));
            }
        }
        text.push('\n');
    }
    text
}
