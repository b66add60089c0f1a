//! `bbkit jvp`: the derivative of a function in a direction.

use bbkit::{Engine, Input, Jvp, Ran, RunOptions, jvp_with, linearize};
use clap::Args;
use exec::{Machine, Value, ValueError, value_to_json};
use ircode::wording::{counted, with_article};
use ircode::{Name, Type};
use serde_json::Value as Json;

use super::arguments::{CallOptions, parse_json};
use super::derivative::{ShowOption, describe};
use super::engine::EngineOptions;
use super::rules::RuleOptions;
use super::{Failure, fail, output};

/// The value of a function and its derivative in a direction, by forward-mode differentiation.
///
/// A direction has one tangent an argument: a number for a float, a list for an array and for the fields of a tuple or
/// a struct, null where there is none. null in the place of an argument that has one is zero; with respect to a number
/// that is null in all directions the function is not differentiated.
#[derive(Args)]
#[command(
    name = "jvp",
    after_help = "\
Examples:
  bbkit jvp examples/power.ir --args '[1.5, 3]' --tangents '[1, null]'     value and tangent
  bbkit jvp file.ir --args '[2.0, [1.0, 2.0]]' --tangents '[1, [0, 1]]' --tangents '[0, [1, 0]]'
                                                                           two directions, the value computed once
  bbkit jvp file.ir --args '[2.0]' --tangents '[1]' --json                 {\"value\": 4.0, \"tangent\": 4.0}
  bbkit jvp file.ir --args '[2.0]' --tangents '[1]' --show                 the function that computes both, too
  bbkit jvp file.ir --args '[2.0]' --tangents '[1]' --tangents '[3]' --linearize
                                                                           the function runs once, its differential twice"
)]
pub(crate) struct JvpCommand {
    /// The file, or `-`.
    file: String,
    #[command(flatten)]
    call: CallOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    engine: EngineOptions,
    /// A direction: a JSON array of the tangents of the arguments. May be given several times.
    #[arg(long, value_name = "JSON", required = true)]
    tangents: Vec<String>,
    /// Print {"value": …, "tangent": …}, or "tangents" with a list if there are several directions.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ShowOption,
    /// Run the linearized function, which gives a differential beside the value, and apply that to each direction.
    #[arg(long)]
    linearize: bool,
}

impl JvpCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, name, args) = self.call.prepare(&self.file)?;
        self.rules.add_to(&mut input)?;
        let directions = self.tangents.iter().map(|given| direction("--tangents", given, &input, &name, &args));
        let directions = directions.collect::<Result<Vec<_>, _>>()?;
        let limits = self.call.limits();
        let engine = self.engine.get(&self.call)?;
        if self.linearize && engine == Engine::Native {
            return Err(Failure::of_usage("--linearize is run by the interpreter; use --engine interp or auto"));
        }
        let result = match self.linearize {
            false => jvp_with(&input.module, &name, &args, &directions, &RunOptions { limits, engine }),
            true => linearize(&input.module, &name, &args, limits).and_then(|linear| {
                let tangents = directions.iter().map(|direction| linear.apply(direction, limits));
                let tangents = tangents.collect::<Result<_, _>>()?;
                let name = linear.names.linearized;
                let why = (engine == Engine::Auto)
                    .then(|| "a differential is a closure, which native code does not keep".into());
                let ran = Ran { function: name.to_string(), engine: Engine::Interpreter, why, helped: Vec::new() };
                Ok(Jvp { value: linear.value, tangents, module: linear.module, name, ran })
            }),
        };
        let result = result.map_err(|error| describe(&input, &error))?;
        self.engine.explain(&result.ran);
        self.show.print_new(&input, &result.module, self.json)?;
        match self.json {
            true => output(&format!("{}\n", json(&result)?)),
            false => output(&text(&result)),
        }
        Ok(())
    }
}

/// A direction as a JSON array of the tangents of the arguments, which this option gives.
pub(super) fn direction(
    option: &str,
    given: &str,
    input: &Input,
    name: &Name,
    args: &[Value],
) -> Result<Vec<Value>, Failure> {
    let machine = Machine::new(&input.module);
    let function = input.module.function(name);
    let mut declared = function.map(|function| function.body.argtypes.clone()).unwrap_or_default();
    // What is collected is given one by one.
    if function.is_some_and(|function| function.varargs) {
        declared.pop();
    }
    let Json::Array(tangents) = parse_json(option, given)? else {
        return Err(Failure::of_usage(format!("{option} must be a JSON array, not {given}")));
    };
    if tangents.len() != args.len() {
        let (given, taken) = (tangents.len(), args.len());
        let (there, taken) = (if taken == 1 { "is" } else { "are" }, counted(taken, "argument"));
        return fail(format!("{option} has {}, but there {there} {taken}", counted(given, "tangent")));
    }
    let mut direction = Vec::new();
    for (index, (json, arg)) in tangents.iter().zip(args).enumerate() {
        if json.is_null() {
            direction.push(Value::Nothing);
            continue;
        }
        let ty = declared.get(index + 1).filter(|ty| !ty.is_unknown()).cloned().unwrap_or_else(|| arg.type_of());
        let problem =
            |place: &str, what: String| Failure::new(format!("{option}: the argument _{}{place}: {what}", index + 2));
        let zero = machine.zero_tangent(arg, &ty).map_err(|kind| problem("", kind.to_string()))?;
        let tangent = machine.tangent_from_json(json, arg, &zero);
        direction.push(tangent.map_err(|ValueError { place, message }| problem(&place, message))?);
    }
    Ok(direction)
}

/// The members in the order in which people read them, which a JSON map would not keep.
fn json(result: &Jvp) -> Result<String, Failure> {
    let convert = |value: &Value| value_to_json(value).map_err(|kind| Failure::new(kind.to_string()));
    let tangents = result.tangents.iter().map(convert).collect::<Result<Vec<_>, _>>()?;
    let value = convert(&result.value)?;
    Ok(match tangents.as_slice() {
        [tangent] => format!("{{\"value\": {value}, \"tangent\": {tangent}}}"),
        _ => format!("{{\"value\": {value}, \"tangents\": {}}}", Json::Array(tangents)),
    })
}

fn text(result: &Jvp) -> String {
    let mut text = format!("value: {}\n", result.value);
    let several = result.tangents.len() > 1;
    for (index, tangent) in result.tangents.iter().enumerate() {
        let number = if several { format!(" {}", index + 1) } else { String::new() };
        let shown = match tangent {
            Value::Nothing => format!("none, {} has no tangent", with_article(kind(&result.value))),
            other => other.to_string(),
        };
        text.push_str(&format!("tangent{number}: {shown}\n"));
    }
    text
}

fn kind(value: &Value) -> Type {
    value.type_of()
}
