//! Derivative rules, as the command line gives them.

use bbkit::Input;
use clap::Args;
use passes::rules::RuleTable;

use super::{Failure, read_once};

/// Where derivative rules are read from.
#[derive(Args)]
pub(crate) struct RuleOptions {
    /// A file of derivative rules in IR text, `NAME_vjp(args…, out, seed, shadows…)` and `NAME_jvp(args…, out,
    /// tangents…)`, for functions of the program and for primitives; they come before those that are built in. May be
    /// given several times.
    #[arg(long = "rules", value_name = "FILE")]
    rules: Vec<String>,
}

impl RuleOptions {
    /// Registers the rules of the files with the program, and checks that they fit what they are for.
    pub(crate) fn add_to(&self, input: &mut Input) -> Result<(), Failure> {
        read_once(self.rules.iter().chain([&input.path]))?;
        let module = &mut input.module;
        let mut files = Vec::with_capacity(self.rules.len());
        for path in &self.rules {
            let file = Input::read(path)?;
            for declaration in file.module.declarations() {
                module.declare(declaration)?;
            }
            for rule in file.module.functions() {
                if let Err(error) = module.add_rule(rule.clone()) {
                    return Err(Failure::new(file.describe_at_header(&rule.name, None, &error.to_string())));
                }
            }
            files.push(file);
        }
        if files.is_empty() {
            return Ok(());
        }
        match RuleTable::of_module(module) {
            Ok(_) => Ok(()),
            Err(error) => {
                let rule = error.rule.as_deref().unwrap_or_default();
                let file = files.iter().find(|file| file.module.function(rule).is_some());
                Err(Failure::new(file.map_or_else(|| error.to_string(), |file| file.describe_rule_error(&error))))
            }
        }
    }
}
