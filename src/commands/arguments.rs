//! Arguments of functions, as the command line gives them.

use bbkit::Input;
use clap::Args;
use exec::{Limits, Machine, Value, ValueError};
use ircode::wording::counted;
use ircode::{Name, Positions, SSAValue, Stmt, Type};
use serde_json::Value as Json;

use super::argument_order::{Found, Order, order_of_names};
use super::unique_keys::UniqueKeys;
use super::{Failure, diagnose, fail};

/// How a function is called.
#[derive(Args)]
pub(crate) struct CallOptions {
    /// The function; a listing without header is given this name, so that its calls of itself are found.
    #[arg(long = "fn", value_name = "NAME")]
    pub(crate) function: Option<String>,
    /// The arguments `_2`, `_3`, …: a JSON array, or an object by name. A number takes the type of its parameter, else
    /// it is a Float64 if it is written with a point or an exponent, else an Int64. "NaN", "Infinity" and "-Infinity"
    /// are strings; a matrix is a list of its columns; a tuple, a struct or a Ref is a list of its fields, or an object
    /// by name; a case of an enum is {"case": [payload]}, a closure {"function": "f", "captured": [values]}.
    #[arg(long, value_name = "JSON", default_value = "[]")]
    pub(crate) args: String,
    /// What the function is called on, if it is the method of a closure or of a callable struct: a list of its fields,
    /// or an object by name. It becomes the first argument, `_2`, named `self`; all other options count and name it
    /// with the others.
    #[arg(long = "self", value_name = "JSON")]
    pub(crate) called_on: Option<String>,
    /// The names of the arguments `_2`, `_3`, … of a listing without header, which does not say in which order they
    /// come.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) params: Vec<String>,
    /// Stop after so many statements: a billion, if nothing is said. Native code does not count them: with `--engine
    /// auto` the interpreter runs then.
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u64>,
}

impl CallOptions {
    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits { steps: self.max_steps.unwrap_or(limits.steps), ..limits }
    }

    /// Reads the program and finds the function, its arguments and their types. The program is read anew where it takes
    /// the arguments to tell in which order they come.
    pub(crate) fn prepare(&self, file: &str) -> Result<(Input, Name, Vec<Value>), Failure> {
        let mut input = Input::read(file)?;
        let json = parse_json("--args", &self.args)?;
        let given: Order = self.params.iter().map(|name| Some(name.trim().into())).collect();
        if !given.is_empty() {
            if !input.is_listing() {
                return fail("--params names the arguments of a listing without header; this file has headers");
            }
            if let Some((_, twice)) = given.iter().enumerate().find(|(i, name)| given[..*i].contains(name)) {
                let name = twice.as_ref().map_or("", Name::as_str);
                return fail(format!("--params names `{name}` twice"));
            }
            let unknown = input.maps.first().map(|map| map.guessed_order.clone()).unwrap_or_default();
            if let Some(missing) = unknown.iter().find(|name| !given.contains(&Some((*name).clone()))) {
                return fail(format!("--params does not name `{missing}`, which the listing uses"));
            }
            input = Input::parse(&input.path, &input.source, &given)?;
        } else if let Some(Found { order, ambiguous }) = order_of_names(&input, &json) {
            input = Input::parse(&input.path, &input.source, &order)?;
            if ambiguous {
                let names: Vec<&str> = order.iter().map(|name| name.as_ref().map_or("_", Name::as_str)).collect();
                diagnose(&format!(
                    "warning: the listing does not say in which order its arguments come; taken as ({}). \
                     Give the order with --params {}, or the arguments by name",
                    names.join(", "),
                    names.join(",")
                ));
            }
        }
        let name = super::select(&mut input, self.function.as_deref())?;
        super::verified(&input)?;
        input.compact()?;
        let Some(called_on) = &self.called_on else {
            let values = self.values(&mut input, &name, &json)?;
            if let Some(at) = first_read_of_self(&input, &name) {
                let message = "the function reads what it is called on (`_1`): --self gives that, \
                               as a list of its fields or an object by name";
                return Err(Failure::new(input.describe_at(&name, at, message)));
            }
            return Ok((input, name, values));
        };
        let called_on = parse_json("--self", called_on)?;
        if !name.starts_with("(::") && first_read_of_self(&input, &name).is_none() {
            return fail(format!("--self: `{name}` is no method of a closure or a callable struct"));
        }
        let lifted = input.lift(&name)?;
        let parameter = input.module.function(&lifted).and_then(|function| function.parameters.first()?.clone());
        let json = with_self(called_on, json, parameter.as_ref().map_or("_2", Name::as_str));
        let values = self.values(&mut input, &lifted, &json)?;
        Ok((input, lifted, values))
    }

    /// The arguments as values of the types of the parameters. A listing may have more arguments than it uses.
    fn values(&self, input: &mut Input, name: &Name, json: &Json) -> Result<Vec<Value>, Failure> {
        let listing = input.is_listing();
        let Some(function) = input.module.function(name) else { return fail(format!("there is no function `{name}`")) };
        let mut types = passes::argument_types(&input.module, function);
        let varargs = function.varargs;
        if let (true, Some(rest)) = (varargs, types.pop_if(|_| varargs)) {
            match rest.widened().unwrap_or(rest) {
                Type::Tuple(collected) => types.extend(collected.iter().cloned()),
                // How many there are, the type does not say.
                _ => types.resize(json.as_array().map_or(0, Vec::len).max(types.len()), Type::Untyped),
            }
        }
        let function_types = function.body.argtypes.clone();
        let values: Vec<&Json> = match json {
            Json::Array(values) => values.iter().collect(),
            Json::Object(members) => {
                let mut values = Vec::new();
                let parameter = |index: usize| function.parameters.get(index).and_then(Option::as_ref);
                let key = |index: usize| parameter(index).map_or_else(|| format!("_{}", index + 2), Name::to_string);
                let keys: Vec<String> = (0..types.len()).map(key).collect();
                if let Some(other) = members.keys().find(|key| !keys.contains(key)) {
                    return fail(format!("--args: the function has no argument `{other}`"));
                }
                for key in &keys {
                    match members.get(key) {
                        Some(value) => values.push(value),
                        None => return fail(format!("--args: the argument `{key}` is missing")),
                    }
                }
                values
            }
            _ => return Err(Failure::of_usage("--args must be a JSON array, or an object by name")),
        };
        let expected = types.len();
        if values.len() < expected || values.len() > expected && !listing {
            // What it is called on is counted apart.
            let own = usize::from(self.called_on.is_some());
            let name = name.strip_prefix("lifted ").filter(|_| own > 0).unwrap_or(name);
            let shown = if name.is_empty() { "the listing".to_string() } else { format!("`{name}`") };
            let (takes, given) = (expected - own.min(expected), values.len() - own.min(values.len()));
            return fail(format!("--args: {shown} takes {}, but got {given}", counted(takes, "argument")));
        }
        if let Some(body) = input.module.body_mut(name)
            && listing
        {
            body.argtypes.resize(values.len() + 1, Type::Untyped);
        }
        let machine = Machine::new(&input.module);
        let mut converted = Vec::with_capacity(values.len());
        for (index, json) in values.into_iter().enumerate() {
            let ty = types.get(index).unwrap_or(&Type::Untyped);
            // Of an argument that is always the same, a dump says what it is. A number that is declared to be anything
            // is what it is by itself, where its uses do not show that it is a small one.
            let ty = match function_types.get(index + 1) {
                Some(Type::Any) if json.is_number() && matches!(*ty, Type::FLOAT64 | Type::INT64) => &Type::Any,
                _ => &ty.widened().unwrap_or_else(|| ty.clone()),
            };
            let declared = function_types.get(index + 1).is_some_and(|ty| !ty.is_unknown());
            let value = machine.value_from_json(json, ty).or_else(|problem| match declared {
                true => Err(problem),
                // What the uses show is a guess where they do not show the width.
                false => machine.value_from_json(json, &Type::Untyped),
            });
            match value {
                Ok(value) => converted.push(value),
                Err(ValueError { place, message }) if index == 0 && self.called_on.is_some() => {
                    let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
                    return fail(format!("--self: {at}{message}"));
                }
                Err(ValueError { place, message }) => {
                    return fail(format!("--args: the argument _{}{place}: {message}", index + 2));
                }
            }
        }
        Ok(converted)
    }
}

/// The arguments with what the function is called on before the others.
fn with_self(called_on: Json, args: Json, parameter: &str) -> Json {
    match args {
        Json::Array(values) => [called_on].into_iter().chain(values).collect(),
        Json::Object(mut members) => {
            members.insert(parameter.into(), called_on);
            Json::Object(members)
        }
        other => other,
    }
}

/// The first statement of a function that reads what it is called on.
fn first_read_of_self(input: &Input, name: &Name) -> Option<SSAValue> {
    let body = &input.module.function(name)?.body;
    let reads = |stmt: &Stmt<Positions>| passes::lambda_lifting::reads_self(&input.module, body.argtypes.first(), stmt);
    body.stmts.stmts().iter().position(reads).map(SSAValue::from_index)
}

/// What an option says in JSON.
pub(super) fn parse_json(option: &str, text: &str) -> Result<Json, Failure> {
    serde_json::from_str::<UniqueKeys>(text).and_then(|_| serde_json::from_str(text)).map_err(|error| {
        let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = (before + error.column().saturating_sub(1)).min(text.len());
        let diagnostic = ircode::diagnostic::Diagnostic::error(at..at, format!("{option} is no JSON: {error}"), "here");
        Failure::of_usage(ircode::diagnostic::render(text, None, &[diagnostic]))
    })
}
