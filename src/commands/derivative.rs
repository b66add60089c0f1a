//! What the commands that differentiate share: what they are with respect to, and how their results are printed.

use bbkit::{Carrier, Gradient, GradientError, GradientOptions, Input, Savings};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use exec::{Limits, Value, value_to_json};
use ircode::{Declaration, Function, IRCode, Module, Name, Style};
use serde_json::Value as Json;

use super::show::Form;
use super::{Failure, before_result, diagnose};

/// What a derivative is with respect to.
#[derive(Args)]
pub(crate) struct WithRespectTo {
    /// Differentiate with respect to these only: arguments by number or name, or fields of them
    /// (`x,model.weights,_3.1`). The gradient has an entry for each, in this order.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) wrt: Vec<String>,
}

/// How what a pullback needs travels to it.
#[derive(Args)]
pub(crate) struct CarrierOption {
    /// How what the pullback needs travels to it: on stacks, one for each block (Mooncake), or in closures and enums
    /// (Swift).
    #[arg(long, value_enum, value_name = "CARRIER", default_value = "stacks")]
    carrier: CarrierName,
    /// Checkpoint loops: hold memory for about √(2n) of n rounds at a time, and run their bodies once more. The
    /// gradient is the same, but for the order of a sum in few programs. Loops of which this is not possible are named.
    #[arg(long)]
    checkpoint: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CarrierName {
    Stacks,
    LinearMaps,
}

impl CarrierOption {
    pub(crate) fn checkpoint(&self) -> bool {
        self.checkpoint
    }

    pub(crate) fn get(&self) -> Carrier {
        match self.carrier {
            CarrierName::Stacks => Carrier::Stacks,
            CarrierName::LinearMaps => Carrier::LinearMaps,
        }
    }
}

/// What makes the derivative small.
#[derive(Args)]
pub(crate) struct SavingsOption {
    /// Without these techniques that make the derivative small: `one-function`, `recompute` and others, or `all`. Their
    /// names are those of the lines of --stats.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    without: Vec<String>,
}

impl SavingsOption {
    /// The techniques that are left.
    pub(crate) fn get(&self) -> Result<Savings, Failure> {
        let mut savings = Savings::default();
        for name in &self.without {
            savings = match savings.without(name.trim()) {
                Some(savings) => savings,
                None => {
                    let known: Vec<&str> = Savings::names().collect();
                    return Err(Failure::of_usage(format!(
                        "--without {name}: there is no such technique; there are {} and all",
                        known.join(", ")
                    )));
                }
            };
        }
        Ok(savings)
    }
}

/// What was named by --wrt; `None` if nothing was.
pub(crate) fn names(wrt: &[String]) -> Option<Vec<String>> {
    (!wrt.is_empty()).then(|| wrt.iter().map(|name| name.trim().to_string()).collect())
}

impl WithRespectTo {
    pub(crate) fn options(&self, limits: Limits) -> GradientOptions {
        GradientOptions { wrt: names(&self.wrt), ..GradientOptions::new().limits(limits) }
    }
}

/// Says what is not wrong but may not be meant.
pub(crate) fn warn(warnings: &[passes::PassError]) {
    for warning in warnings {
        diagnose(&format!("warning: {warning}"));
    }
}

pub(crate) fn describe(input: &Input, error: &GradientError) -> Failure {
    Failure::new(match error {
        GradientError::Pass(error) => input.describe_pass_error(error),
        GradientError::Run(error) => input.describe_run_error(error),
        GradientError::Wrt(error) => format!("--wrt {error}"),
        GradientError::Seed(error) => format!("--seed{}: {}", error.place, error.message),
        GradientError::Misdeclared { function, statement, declares, gives } => {
            input.describe_at(function, *statement, &format!("it declares {declares}, but gives {gives}"))
        }
        GradientError::NotNative(why) => format!("--engine native: {why}"),
        other => other.to_string(),
    })
}

/// Which form of the derivative is printed.
#[derive(Args)]
pub(crate) struct ShowOption {
    /// Print the functions of the derivative before the result, with the types that they have for themselves; with
    /// --json, to standard error.
    #[arg(
        long, value_parser = printed_forms(), value_name = "FORM",
        num_args = 0..=1, require_equals = true, default_missing_value = "ircode"
    )]
    show: Option<Form>,
}

/// The forms in which the functions of a derivative are printed: a page goes to a file.
fn printed_forms() -> impl TypedValueParser<Value = Form> {
    let forms = Form::value_variants().iter().filter(|form| **form != Form::Html);
    let names = forms.filter_map(Form::to_possible_value);
    PossibleValuesParser::new(names).try_map(|name| Form::from_str(&name, false))
}

impl ShowOption {
    /// Prints what a module with derivatives has of these names, if that is wanted.
    pub(crate) fn print(
        &self,
        derived: &Module<IRCode>,
        json: bool,
        is_shown: impl Fn(&Name) -> bool,
    ) -> Result<(), Failure> {
        let Some(form) = self.show else { return Ok(()) };
        let mut module: Module<IRCode> = Module::new();
        for declaration in derived.declarations() {
            if matches!(&declaration, Declaration::Type(def) if is_shown(&def.name)) {
                module.declare(declaration)?;
            }
        }
        for function in derived.functions().iter().filter(|function| is_shown(&function.name)) {
            module.add_function(function.clone())?;
        }
        let text = super::show::shown(&mut Input::of_module("-", module), form, Style::Julia)?;
        before_result(&format!("{}\n\n", text.trim_end()), json);
        Ok(())
    }

    /// Prints the forward pass and the pullback of a gradient, if that is wanted.
    pub(crate) fn print_gradient(&self, result: &Gradient, json: bool) -> Result<(), Failure> {
        let names = [&result.names.forward, &result.names.pullback, &result.names.trace];
        self.print(&result.module, json, |name| names.contains(&name))
    }

    /// Prints what a derivative has that the program does not, if that is wanted.
    pub(crate) fn print_new(&self, input: &Input, derived: &Module<IRCode>, json: bool) -> Result<(), Failure> {
        self.print(derived, json, |name| {
            input.module.function(name).is_none() && input.module.types().iter().all(|def| def.name != *name)
        })
    }
}

/// `"value": …, "gradient": […]`: the members in the order in which people read them, which a JSON map would not keep.
pub(crate) fn json_members(result: &Gradient) -> Result<String, Failure> {
    let gradient = result.gradient.iter().map(json_of).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("\"value\": {}, \"gradient\": {}", json_of(&result.value)?, Json::Array(gradient)))
}

/// A value as JSON.
pub(crate) fn json_of(value: &Value) -> Result<Json, Failure> {
    value_to_json(value).map_err(|kind| Failure::new(kind.to_string()))
}

/// The value and the cotangents, a line each, with what `more` says of the cotangent of this index.
pub(crate) fn text(
    result: &Gradient,
    function: Option<&Function<IRCode>>,
    more: impl Fn(usize) -> Option<String>,
) -> String {
    let mut text = format!("value: {}\n", result.value);
    let width = result.wrt.iter().map(String::len).max().unwrap_or(0);
    for (index, (cotangent, wrt)) in result.gradient.iter().zip(&result.wrt).enumerate() {
        let argument = wrt.strip_prefix('_').and_then(|number| number.parse::<usize>().ok());
        let parameter = |number: usize| function?.parameters.get(number.checked_sub(2)?)?.as_ref();
        let name = argument.and_then(parameter).map(Name::as_str);
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let shown = match cotangent {
            Value::Nothing => "none, it is no float".to_string(),
            other => other.to_string(),
        };
        let more = more(index).unwrap_or_default();
        text.push_str(&format!("gradient {wrt:<width$}{name}: {shown}{more}\n"));
    }
    text
}
